"""The twin of round-based algorithms: known successors, and comparison with the reference, the search and the form."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest

from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof.check import Options, check
from quorate.models.evaluation import RoundsError
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from quorate.proof.twins import twins
from quorate.proof.twins.choices import every
from quorate.proof.twins.rounds import RoundState, RoundTwin, settings
from random_rounds import Wide
from round_comparison import (
    FormSide,
    Recording,
    compare,
    compare_form,
    compare_hearings,
    every_phase,
    layers,
    phases,
)

LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"
FAMILIES = ("rounds", "rounds", "coordinators", "crashes", "omissions", "steps")
STATE = "state\n  x: value = proposal\n  y: value or ? = ?\n"


def read(text: str) -> RoundModel:
    return parse_rounds(Source("small.rounds", f"algorithm Small\n{text}")).model


def after(text: str, proposals: tuple[int, ...], rounds: int = 1, **parameters: int) -> set[RoundState]:
    """The states after some rounds, if these values are proposed."""
    twin = RoundTwin(read(text), len(proposals), 3, parameters)
    layer = {state for state in every(twin.start) if state.proposals == proposals}
    for _ in range(rounds):
        layer = {state for before in layer for _, state in every(partial(twin.step, before))}
    return layer


def column(states: set[RoundState], process: int, place: int) -> set[object]:
    return {state.processes[process].values[place] for state in states}


def decisions(states: set[RoundState]) -> set[tuple[object, ...]]:
    return {tuple(process.decision for process in state.processes) for state in states}


STATEMENTS: list[tuple[str, set[object]]] = [
    ("y := one v of <v>", {None, 1, 2, 3}),
    ("y := smallest v of <v>", {None, 1, 2, 3}),
    ("if #<_> = n: y := smallest v of <v>", {None, 1}),
    ("if #<_> = n: y := largest v of <v>", {None, 3}),
    ("if #<_> = n: y := most frequent v of <v>", {None, 1, 2, 3}),
    ("if #<_> = n: y := smallest most frequent v of <v>", {None, 1}),
    ("if #<_> = n: y := one v of <v> where v != x", {None, 2, 3}),
    ("if <v> received with v > x: y := v", {None, 2, 3}),
    ("if <v> received with v > x: y := v else: y := x", {1, 2, 3}),
    ("if all received are <v>: y := v", {None, 1, 2, 3}),
    ("if all received are <v> and #<_> >= 2: y := v", {None}),
    ("if #<x> > n/2: y := x", {None}),
    ("if 3*#<x> >= n: y := x", {None, 1}),
    ("if #<_> - #<x> >= 2: y := x", {None, 1}),
    ("y := x; if y = x: y := ?", {None}),
    ("if not (<v> received with v != x): y := x", {None, 1}),
    ("if phase = 2: y := x", {None}),
    ("if n - #<_> >= 2: y := x", {None, 1}),
    ("if n/2 < #<_>: y := x else: x := ?", {None, 1}),
]


@pytest.mark.parametrize("statement, expected", STATEMENTS)
def test_what_a_process_makes_of_messages(statement: str, expected: set[object]) -> None:
    states = after(f"{STATE}round\n  send <x> to all\n  {statement}\nproperty agreement\n", (1, 2, 3))
    assert column(states, 0, 1) == expected


FROM_COORDINATOR = (
    f"{STATE}round\n  if coordinator = self: send <x> to all\n  if <v> received from coordinator: y := v\n"
)
TO_COORDINATOR = f"{STATE}round\n  send <ack> to coordinator\n  if #<ack> = 2: y := x\n  if #<nack> > 0: x := ?\n"
TIMES = """state
  x: value = proposal
  t: time = 0
round
  send <x, t> to all
  if #<_, _> < 2: t := phase
round
  send <x, t> to all
  if #<_, _> >= 2: x := one v of <v, u> with largest u
"""
TEXTS = [f"{STATE}round\n  send <x> to all\n  {statement}\n" for statement, _ in STATEMENTS]
TEXTS += [FROM_COORDINATOR, f"tag ack, nack\n{TO_COORDINATOR}", TIMES]


@pytest.mark.parametrize("text", TEXTS)
def test_small_algorithms_against_the_reference_and_the_form(text: str) -> None:
    """With three processes: numbers of messages differ, and a coordinator is not the only other process."""
    model = read(f"{text}property agreement, validity\nsafety [mine] #{{q : x(q) != ?}} > n/2 or exists p. x(p) = ?\n")
    if "frequent" in text:
        assert compare(model, 3, 2, {}, 1)
    assert compare_hearings(model, 2, {}, len(model.rounds) - 1)
    assert compare_form(model, 2, 2, {}, Random(2), 3) and compare_form(model, 3, 2, {}, Random(3), 3)


def test_messages_of_coordinators() -> None:
    text = f"{FROM_COORDINATOR}safe forall p, q. coordinator(p) = coordinator(q)\nproperty agreement\n"
    states = after(text, (1, 2))
    assert {(p.values[1], q.values[1]) for s in states for p, q in [s.processes]} == {
        (a, b) for v in (1, 2) for a in (None, v) for b in (None, v)
    }


def test_messages_to_coordinators_and_tags() -> None:
    states = after(f"tag ack, nack\n{TO_COORDINATOR}property agreement\n", (1, 2))
    assert {tuple(p.values for p in s.processes) for s in states} == {
        ((1, None), (2, None)),
        ((1, 1), (2, None)),
        ((1, None), (2, 2)),
    }


def test_times_and_the_largest() -> None:
    text = "state\n  x: value = proposal\n  t: time = 0\nround\n  send <x, t> to all\n  if #<_, _> = 0: t := phase\n"
    text += "round\n  send <x, t> to all\n  if #<_, _> = n: x := one v of <v, u> with largest u\nproperty agreement\n"
    states = after(text, (1, 2), 2)
    assert {s.phase for s in states} == {2}
    assert {(p.values[1], q.values[1], p.values[0]) for s in states for p, q in [s.processes]} == {
        (0, 0, 1), (0, 0, 2), (0, 1, 1), (0, 1, 2), (1, 0, 1), (1, 1, 1), (1, 1, 2),
    }  # fmt: skip


def test_sets_and_unions() -> None:
    text = "state\n  s: set of value = {proposal}\n  b: bool = false\nround\n  send <s> to all\n"
    text += "  if <v> received and <w> received: s := v + w\n  b := 1/2 < #(s) - 1\nproperty agreement\n"
    assert column(after(text, (1, 2)), 0, 0) == {frozenset([1]), frozenset([2]), frozenset([1, 2])}
    union = text.replace("if <v> received and <w> received: s := v + w", "s := union w of <w>")
    assert column(after(union, (1, 2)), 0, 0) == {frozenset(), frozenset([1]), frozenset([2]), frozenset([1, 2])}


def test_kept_messages() -> None:
    text = f"{STATE}round\n  send <x> to all\n  if #kept <_> = n: y := x\nproperty agreement\n"
    heard_both = "safe forall p. #HO(p, 1) = 1\n"
    assert column(after(text + heard_both, (1, 2), 1), 0, 1) == {None}
    assert column(after(text + heard_both, (1, 2), 2), 0, 1) == {None, 1}


def test_decisions_are_events() -> None:
    text = f"{STATE}round\n  send <x> to all\n  decide one v of <v>\n  decide y\nproperty agreement\n"
    states = after(text, (1, 2))
    assert decisions(states) == {(a, b) for a in (None, 1, 2) for b in (None, 1, 2)}
    assert all(process.empty for state in states for process in state.processes)
    twin = RoundTwin(read(text.replace("agreement", "agreement, validity, irrevocability")), 2, 2, {})
    seen = {twin.falsified(state) for layer in layers(twin, 2) for state in layer}
    assert seen == {(), ("agreement", "validity"), ("validity",), ("agreement", "validity", "irrevocability")}


def test_crashes() -> None:
    text = f"{STATE}round\n  send <x> to all\n  if #<_> < n: y := x\nphases 1\nfaults crashes 1\nproperty termination\n"
    states = after(text, (1, 2))
    shown = {tuple("crashed" if p.crashed else p.values[1] for p in s.processes) for s in states}
    assert shown == {(None, None), ("crashed", None), ("crashed", 2), (None, "crashed"), (1, "crashed")}
    assert not after(text, (1, 2), 2)


def test_omissions() -> None:
    text = (
        f"{STATE}round\n  send <x> to all\n  if #<_> < n: y := x\nfaults omissions 1 in 1 rounds\nproperty agreement\n"
    )
    states = after(text, (1, 2), 2)
    assert {tuple(p.values[1] for p in s.processes) for s in states} == {(None, None), (1, None), (None, 2)}


def test_steps() -> None:
    text = "state\n  x: value = proposal\nshared\n  r: value or ? = ?\nstep\n  if r = ?: r := x\nstep\n  decide r\n"
    assert decisions(after(text + "property agreement\n", (1, 2), 4)) == {(1, 1), (2, 2)}


def test_safe_ties_rounds_together() -> None:
    text = f"{STATE}round\n  send <x> to all\n  y := smallest v of <v>\nround\n  send <x> to all\n"
    text += "  if #<_> = 0: y := ?\nsafe forall p. HO(p, 1) = HO(p, 2)\nproperty agreement\n"
    assert column(after(text, (1, 2), 2), 0, 1) == {None, 1, 2}
    assert column(after(text.replace("y := ?", "y := x"), (2, 1), 2), 0, 1) == {2, 1}


def test_sync_and_termination() -> None:
    twin = RoundTwin(load_rounds(LIBRARY / "one_third_rule.rounds").model, 2, 2, {})
    assert any(state.seen for state in list(layers(twin, 2))[-1])
    wrong = (LIBRARY / "one_third_rule.rounds").read_text(encoding="utf-8").replace("#<x> > 2*n/3", "#<x> > n")
    twin = RoundTwin(parse_rounds(Source("wrong.rounds", wrong)).model, 2, 2, {})
    late = list(layers(twin, 2))
    assert not any("termination" in twin.falsified(state) for state in (*late[0], *late[1]))
    assert any("termination" in twin.falsified(state) for state in late[2])


# -- comparison ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.rounds")), ids=lambda path: path.stem)
def test_library_against_the_reference(path: Path) -> None:
    model = load_rounds(path).model
    for n, depth in ((1, 4), (2, 2)):
        for parameters in settings(model, n):
            assert compare(model, n, 2, parameters, depth)


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.rounds")), ids=lambda path: path.stem)
def test_library_against_the_form(path: Path) -> None:
    model = load_rounds(path).model
    for n in (1, 2, 3):
        for parameters in list(settings(model, n))[-2:]:
            compare_form(model, n, 2, parameters, Random(n), 1)


@pytest.mark.parametrize("name", ["one_third_rule", "last_voting", "uniform_voting", "a_te"])
def test_every_phase_of_one_process_is_in_the_form(name: str) -> None:
    """Also those after `sync` was kept to."""
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    for parameters in settings(model, 1):
        twin = Recording(model, 1, 1, parameters)
        side = FormSide(twin)
        for before, rounds, after_ in every_phase(twin, 4 if len(twin.rounds) == 1 else 2):
            assert side.wrong(after_, False) == [] and side.allows(before, rounds, after_)


def test_random_formulas() -> None:
    """What the form makes of a formula is true in the same states, with one process up to three."""
    for seed in range(12):
        wide = Wide(Random(seed))
        wide.variables = {"x": "value", "y": "optional", "b": "bool"}
        body = f"{STATE}  b: bool = false\nround\n  send <x> to all\n  y := one v of <v>\n  b := false\n"
        wide.parameters = []
        for number in range(6):
            body += f"safety [f{number}] {wide.formula([], 3)}\n"
        model = read(body)
        for n in (1, 2, 3):
            twin = Recording(model, n, 2, {})
            if twin.form is not None:
                side = FormSide(twin)
                for before, _, end in phases(twin, Random(seed), 3):
                    assert side.wrong(before, False) == [] and side.wrong(end, False) == [], body


def test_univalence_with_a_name_that_the_form_uses() -> None:
    text = f"{STATE}round\n  send <x> to all\n  decide x\nproperty agreement\nunivalent v: forall P. x(P) = v\n"
    twin = RoundTwin(read(text), 2, 2, {})
    assert twin.form is not None
    univalence = next(item.formula for item in twin.form.model.invariants if item.name == "univalence")
    for state in list(layers(twin, 1))[1]:
        structure = twin.structure(state)
        assert structure is not None and structure.holds(univalence) == (len(set(state.proposals)) == 1)


def test_the_form_does_not_allow_everything() -> None:
    """The comparison notices a state that the phase does not lead to."""
    model = load_rounds(LIBRARY / "one_third_rule.rounds").model
    twin = Recording(model, 2, 2, {})
    side = FormSide(twin)
    for before, rounds, end in phases(twin, Random(0), 2):
        changed = end.__class__(**{**vars(end), "phase": end.phase + 1})
        assert side.allows(before, rounds, end) and side.allows(before, rounds, changed) is False


def random_model(seed: int) -> RoundModel:
    return parse_rounds(Source("random.rounds", Wide(Random(seed), FAMILIES[seed % len(FAMILIES)]).text())).model


def against_the_search(model: RoundModel, n: int, values: int, parameters: dict[str, int], depth: int) -> None:
    """What the twin falsifies the search finds violated, and the reverse if the search goes as deep."""
    twin = RoundTwin(model, n, values, parameters)
    wrong = {name for layer in layers(twin, depth) for state in layer for name in twin.falsified(state)}
    try:
        outcome = check(model, n, parameters, None, Options(keep_going=True, timeout=5.0))
    except RoundsError:
        return
    verdicts = {result.property: result for result in outcome.results}
    for name in twin.properties:
        result = verdicts[name]
        if name in wrong:
            assert result.verdict in ("violated", "unknown"), (name, result.verdict)
        elif result.rounds is not None and len(result.rounds.happenings) <= depth and values == n:
            assert name == "termination" or result.verdict != "violated", name


def test_random_algorithms() -> None:
    for seed in range(30):
        model = random_model(seed)
        for n, depth in ((1, 3), (2, 2)):
            for parameters in list(settings(model, n))[:2]:
                compare(model, n, n, parameters, depth)
                against_the_search(model, n, n, parameters, depth)
        for parameters in list(settings(model, 2))[-1:]:
            compare_form(model, 2, 2, parameters, Random(seed), 1)
            if model.rounds and model.faults is None:
                compare_hearings(model, 2, parameters, 0)


@pytest.mark.slow
def test_many_random_algorithms() -> None:
    for seed in range(1000, 1600):
        model = random_model(seed)
        for n, depth in ((1, 3), (2, 3)):
            for parameters in list(settings(model, n))[:3]:
                compare(model, n, n, parameters, depth)
                against_the_search(model, n, n, parameters, depth)
        for n in (1, 2, 3):
            for parameters in list(settings(model, n))[-2:]:
                compare_form(model, n, 2, parameters, Random(seed), 2)


def test_instances() -> None:
    model = load_rounds(LIBRARY / "a_te.rounds").model
    sizes = [twin.size for twin in twins(model)]
    assert sizes[:3] == [
        "n=1, e=1, t=0, 1 value, 3 phases",
        "n=1, e=1, t=1, 1 value, 3 phases",
        "n=2, e=1, t=2, 2 values, 2 phases",
    ]
    assert sizes[-1] == "n=3, e=3, t=3, 3 values"
