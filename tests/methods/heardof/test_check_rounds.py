"""`check` on the library: every faulty variant is caught at the smallest n that shows the fault, with a run that replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quorate.engines.rounds.search import CLOCK
from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof.check import Options, check
from quorate.models.evaluation import Machine, RoundsError, setting
from quorate.models.source import Source
from quorate.proof.round_traces import RoundReplayError, replay, show

LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"

BROKEN = [
    ("coord_uniform_voting_decides_silence", 2, {}, "validity"),
    ("coord_uniform_voting_unsafe", 2, {}, "agreement"),
    ("flood_set_too_short", 3, {}, "agreement"),
    ("herlihy_cas_not_atomic", 2, {}, "agreement"),
    ("hybrid_one_small_quorum", 3, {"alpha": 1}, "agreement"),
    ("last_voting_acknowledges_anything", 2, {}, "validity"),
    ("last_voting_any_vote", 3, {}, "agreement"),
    ("last_voting_both_inclusive", 2, {}, "agreement"),
    ("last_voting_no_timestamp", 2, {}, "termination"),
    ("one_third_rule_inclusive", 3, {}, "agreement"),
    ("one_third_rule_majority", 5, {}, "agreement"),
    ("one_third_rule_stale", 4, {}, "agreement"),
    ("simplified_coord_uniform_voting_two_coordinators", 2, {}, "agreement"),
    ("uniform_voting_some_vote", 2, {}, "agreement"),
]


def test_every_faulty_variant_is_listed() -> None:
    assert {name for name, *_ in BROKEN} == {path.stem for path in (LIBRARY / "broken").glob("*.rounds")}


@pytest.mark.parametrize(("name", "n", "given", "wrong"), BROKEN, ids=[row[0] for row in BROKEN])
def test_faulty_variants(name: str, n: int, given: dict[str, int], wrong: str) -> None:
    model = load_rounds(LIBRARY / "broken" / f"{name}.rounds").model
    if n > 2 and not given:
        smaller = check(model, n - 1, setting(model, n - 1, given))
        assert not any(result.verdict == "violated" for result in smaller.results if result.property == wrong)
    outcome = check(model, n, setting(model, n, given))
    result = next(result for result in outcome.results if result.property == wrong)
    assert result.verdict == "violated" and result.rounds is not None
    replay(model, result.rounds)
    assert f"{wrong} is violated" in show(model, result.rounds)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("a_te", 4),
        ("chandra_toueg", 2),
        ("coord_uniform_voting", 2),
        ("flood_min", 4),
        ("flood_set", 4),
        ("herlihy_cas", 5),
        ("last_voting", 2),
        ("one_third_rule", 4),
        ("one_third_rule_lossy", 5),
        ("simplified_coord_uniform_voting", 3),
        ("uniform_voting", 3),
    ],
)
def test_the_library_holds(name: str, n: int) -> None:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    outcome = check(model, n, setting(model, n, {}))
    assert {result.verdict for result in outcome.results} == {"proved"}


def test_a_changed_run_does_not_replay() -> None:
    model = load_rounds(LIBRARY / "broken" / "coord_uniform_voting_unsafe.rounds").model
    trace = check(model, 2, {}).results[0].rounds
    assert trace is not None
    first = replace(trace.happenings[1], heard=(0, 0))
    for wrong in (
        replace(trace, happenings=(trace.happenings[0], first, *trace.happenings[2:])),
        replace(trace, configurations=trace.configurations[1:], happenings=trace.happenings[1:]),
        replace(trace, violated="validity"),
        replace(trace, violated="termination"),
    ):
        with pytest.raises(RoundReplayError):
            replay(model, wrong)


def test_what_holds_for_want_of_decisions_is_said_to() -> None:
    text = "algorithm A\nstate\n  x: value = proposal\nround\n  send <x> to all\n  x := x\nproperty agreement\n"
    outcome = check(parse_rounds(Source("a.rounds", text)).model, 2, {})
    assert "vacuously" in outcome.results[0].reason


def test_partition_symmetry_is_refused_where_values_are_ordered() -> None:
    ordered = check(load_rounds(LIBRARY / "one_third_rule.rounds").model, 2, {})
    assert any("partition symmetry is refused" in note and "line 11" in note for note in ordered.notes)
    free = check(load_rounds(LIBRARY / "herlihy_cas.rounds").model, 2, {})
    assert any("values are interchangeable" in note for note in free.notes)


def test_circles_without_decisions_are_found() -> None:
    """Nothing is lost any more, but a process that needs more than it can hear never decides."""
    text = (
        (LIBRARY / "one_third_rule_lossy.rounds")
        .read_text()
        .replace("if #<x> > 2*n/3: decide x", "if #<x> > n: decide x")
    )
    outcome = check(parse_rounds(Source("a.rounds", text)).model, 3, {"lossy": 1})
    result = next(item for item in outcome.results if item.property == "termination")
    assert result.verdict == "violated" and result.rounds is not None and result.rounds.loop is not None


def test_a_predicate_over_several_rounds_is_refused() -> None:
    text = (
        "algorithm A\nstate\n  x: value = proposal\nround\n  send <x> to all\n  x := x\nround\n  send <x> to all\n  x := x\n"
        "safe forall p, q. HO(p, 1) meets HO(q, 2)\nproperty agreement\n"
    )
    with pytest.raises(RoundsError, match="several rounds"):
        check(parse_rounds(Source("a.rounds", text)).model, 2, {})


def test_no_symmetry_gives_the_same_answers() -> None:
    model = load_rounds(LIBRARY / "broken" / "one_third_rule_inclusive.rounds").model
    with_names = check(model, 3, {}, None, Options(symmetry="none"))
    without = check(model, 3, {})
    assert [item.verdict for item in with_names.results] == [item.verdict for item in without.results]
    assert Machine(model).decision == 1


@pytest.mark.parametrize(
    ("name", "n", "given", "faults", "none", "partition", "everything"),
    [
        ("herlihy_cas", 3, {}, None, 138, 26, 10),
        ("herlihy_cas", 4, {}, None, 1732, 94, 19),
        ("flood_set", 3, {"f": 2}, None, 228, None, 36),
        ("one_third_rule_lossy", 3, {"lossy": 1}, None, 75, None, 11),
        ("one_third_rule_lossy", 4, {"lossy": 1}, 2, 436, None, 17),
    ],
)
def test_states_with_each_reduction(
    name: str, n: int, given: dict[str, int], faults: int | None, none: int, partition: int | None, everything: int
) -> None:
    """Counted by hand-written searches as well; partition symmetry is refused where the definition orders values."""
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    assert check(model, n, given, faults, Options(symmetry="none")).found.states == none
    assert check(model, n, given, faults).found.states == everything
    if partition is None:
        with pytest.raises(RoundsError, match="partition symmetry is refused"):
            check(model, n, given, faults, Options(symmetry="partition"))
    else:
        assert check(model, n, given, faults, Options(symmetry="partition")).found.states == partition


def test_a_search_ends_within_a_layer_when_the_time_is_up() -> None:
    model = load_rounds(LIBRARY / "one_third_rule_lossy.rounds").model
    outcome = check(model, 5, setting(model, 5, {"lossy": 1}), 2, Options(symmetry="none", timeout=1e-9))
    assert {result.verdict for result in outcome.results} == {"unknown"}
    assert all("the time is up" in result.reason for result in outcome.results)
    assert outcome.found.transitions == CLOCK


def verdicts(text: str, n: int, **parameters: int) -> dict[str, str]:
    model = parse_rounds(Source("small.rounds", f"algorithm Small\nstate\n  x: value = proposal\n{text}")).model
    outcome = check(model, n, setting(model, n, parameters), None, Options(keep_going=True))
    return {result.property: result.verdict for result in outcome.results}


def test_phases_that_a_property_tells_apart() -> None:
    """Late phases are one phase only if neither the rounds nor the properties compare their number with a constant."""
    body = "round\n  send <x> to all\n  x := one v of <v>\n"
    assert verdicts(f"{body}safety [early] phase < 4\nsafety [some] phase > 0\n", 2) == {
        "early": "violated",
        "some": "proved",
    }
    assert verdicts(f"parameter f with f <= n\n{body}safety [early] phase <= f\n", 2, f=2) == {"early": "violated"}
    assert verdicts(f"{body}invariant [early] phase < 4\nproperty agreement\n", 2)["early"] == "violated"


def test_coordinators_that_only_safe_speaks_of() -> None:
    """Everybody hears of somebody: not of one and the same process."""
    text = "round\n  send <x> to all\n  if #<_> = 1: decide one v of <v>\n"
    text += "safe forall p. coordinator(p) in HO(p, 1)\nproperty agreement\n"
    assert verdicts(text, 2) == {"agreement": "violated"}


def test_unions_of_sets_that_messages_bring() -> None:
    text = "  s: set of value = {proposal}\nround\n  send <s> to all\n  if <v> received and <w> received: s := v + w\n"
    assert verdicts(f"{text}safety [whole] forall p. #(s(p)) >= 1 and #(s(p)) <= n\n", 2) == {"whole": "proved"}
    assert verdicts(f"{text}safety [single] forall p, q. s(p) = s(q) or #(s(p)) = 1\n", 2) == {"single": "violated"}


def test_crashed_processes_are_not_spoken_of() -> None:
    text = "round\n  send <x> to all\n  x := x\nphases 1\nfaults crashes 1\nsafety [few] #{q : x(q) = ?} = 0\n"
    text += "safety [every] forall p. x(p) != ?\n"
    assert verdicts(text, 2) == {"few": "proved", "every": "proved"}


def test_less_than_none_is_none() -> None:
    text = "  y: bool = true\nround\n  send <x> to all\n  y := #<_> = n\nfaults {}\nsafety [all_heard] forall p. y(p)\n"
    for faults in ("omissions n - 3", "omissions 1 in n - 3 rounds", "crashes n - 3"):
        assert verdicts(text.format(faults), 2)["all_heard"] == "proved"
    with pytest.raises(RoundsError):
        verdicts("parameter f\nround\n  send <x> to all\n  x := x\nproperty agreement\n", 2, f=-1)
