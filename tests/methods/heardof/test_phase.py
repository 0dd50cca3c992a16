"""Rounds as circuits against the naive reference, and the single-phase checks on known algorithms."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.rounds.symbolic import VALUE_KINDS, Symbolic
from quorate.engines.smt.session import Limits
from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof import phase
from quorate.methods.heardof.check import Options, check
from quorate.methods.heardof.checking import Single
from quorate.methods.heardof.phase import Runs, values_needed
from quorate.methods.heardof.single import single
from quorate.models import rounds as r
from quorate.models.evaluation import Machine, RoundsError, setting
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from quorate.proof.round_traces import holds, replay
from random_rounds import Generator

LIMITS = Limits(timeout=20.0)
LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"


def library(name: str) -> RoundModel:
    return load_rounds(LIBRARY / f"{name}.rounds").model


def variant(name: str, old: str, new: str) -> RoundModel:
    text = (LIBRARY / f"{name}.rounds").read_text(encoding="utf-8")
    assert old in text
    return parse_rounds(Source(f"{name}.rounds", text.replace(old, new))).model


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small questions need no process of their own."""
    monkeypatch.setattr(phase, "guarded", lambda function, *args, timeout, memory_mb: function(*args))


def naive_violations(model: RoundModel, n: int, phases: int) -> dict[str, int | None]:
    """After how many rounds each property can first be violated, by enumeration."""
    machine = Machine(model)
    parameters = setting(model, n, {})
    naive = Naive(machine, n, parameters)
    found: dict[str, int | None] = dict.fromkeys(item.name for item in model.safety)
    layer: dict[Configuration, None] = dict.fromkeys(naive.initial(n))
    for rounds in range(phases * len(model.rounds) + 1):
        for item in model.safety:
            if found[item.name] is None and not all(
                holds(machine, item.name, item.formula, n, parameters, at) for at in layer
            ):
                found[item.name] = rounds
        layer = dict.fromkeys(after for before in layer for after in naive.successors(before))
    return found


def bounded_violations(model: RoundModel, n: int, phases: int) -> dict[str, int | None]:
    runs = Runs(model, n, setting(model, n, {}), phases)
    found: dict[str, int | None] = {}
    for item in model.safety:
        trace = runs.first_violation(item, 60.0)
        if trace is not None:
            replay(model, trace)
        found[item.name] = None if trace is None else len(trace.happenings)
    return found


def searched(model: RoundModel, n: int, symmetry: bool) -> dict[str, int | None]:
    """The same by the search, with or without renaming states."""
    outcome = check(model, n, setting(model, n, {}), None, Options("all" if symmetry else "none", True))
    assert outcome.found.finished
    return {result.property: len(result.rounds.happenings) if result.rounds else None for result in outcome.results}


def compare(text: str, n: int = 2, phases: int = 2) -> None:
    model = parse_rounds(Source("random.rounds", text)).model
    model = replace(model, phases=model.phases or r.Number(phases))
    expected = naive_violations(model, n, phases)
    assert bounded_violations(model, n, phases) == expected, text
    assert searched(model, n, True) == expected, text
    assert searched(model, n, False) == expected, text


KINDS = ["", "", "crashes 1", "omissions 2 in 2 rounds", "omissions in 1 rounds"]


def random_text(seed: int) -> str:
    coordinators = seed % 3 == 2
    return Generator(Random(7 * 10**6 + seed), coordinators, "" if coordinators else KINDS[seed % 5]).text()


@pytest.mark.parametrize("block", range(4))
def test_random_algorithms(block: int) -> None:
    """Circuits, search with and without symmetry, and enumeration agree on the shortest violations."""
    for seed in range(block * 4 + 3, block * 4 + 7):
        compare(random_text(seed))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(30))
def test_three_thousand_random_algorithms_four_ways(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        compare(random_text(1000 + seed))


def verdicts(found: Single) -> dict[str, str]:
    return {result.property: result.verdict for result in found.results}


@pytest.mark.parametrize("name", ["last_voting", "coord_uniform_voting", "simplified_coord_uniform_voting"])
@pytest.mark.parametrize("lemmas", [True, False])
def test_the_algorithms_of_the_paper(name: str, lemmas: bool) -> None:
    model = library(name)
    found = single(model if lemmas else replace(model, invariants=(), univalent=None), 4, None, LIMITS)
    assert verdicts(found) == {"agreement": "proved", "validity": "proved", "termination": "proved"}
    assert {answer.status for answer in found.checks} == {"unsat"}


def test_a_weaker_univalence() -> None:
    """Half of the processes suffice to decide; U(v) of the file is too strong for that, another one is not."""
    found = single(variant("last_voting", "#<ack> > n/2", "#<ack> >= n/2"), 4, None, LIMITS)
    assert verdicts(found)["agreement"] == "proved"
    assert any("weaker" in note for note in found.notes)
    assert [answer.name for answer in found.checks if answer.status == "sat"] == ["agreement"]


def test_a_check_that_fails_is_not_a_bug() -> None:
    """Without the lemma that times are in the past nothing can be shown, and no run violates anything."""
    model = variant("one_third_rule", "univalent v: #{q : x(q) = v} > 2*n/3", "univalent v: forall q. x(q) = v")
    found = single(model, 4, None, replace(LIMITS, timeout=5.0))
    assert verdicts(found)["agreement"] == "proved"
    assert any("weaker" in note for note in found.notes)


def test_two_values_are_not_always_enough() -> None:
    """A lemma that compares the values of processes needs as many values as there are processes."""
    model = library("last_voting")
    lemma = parse_rounds(
        Source("lemma.rounds", (LIBRARY / "last_voting.rounds").read_text(encoding="utf-8") + SAME)
    ).model.invariants[-1]
    assert values_needed(model, 4, ()) == 2
    assert lemma.formula is not None
    assert values_needed(model, 4, [("same", lemma.formula)]) == 9


SAME = "invariant [same] forall p, q. x(p) = x(q) or ts(p) < ts(q)\n"


def test_many_processes_are_covered_by_a_proof_for_every_n() -> None:
    found = single(library("simplified_coord_uniform_voting"), 500, None, LIMITS)
    assert verdicts(found) == {"agreement": "proved", "validity": "proved", "termination": "proved"}
    assert {result.scope for result in found.results} == {"n=500"}
    assert found.univalent is not None and "proof for every n" in found.notes[0]


def test_a_check_that_says_nothing() -> None:
    text = """algorithm Mute

state
  x: value = proposal
  seen: bool = false

round
  send <x> to all
  if seen and <v> received: decide v

property agreement
univalent v: forall p. x(p) = v
"""
    with pytest.raises(RoundsError, match="nobody can decide"):
        single(parse_rounds(Source("mute.rounds", text)).model, 3, None, LIMITS)


@pytest.mark.parametrize(
    "name, broken", [("last_voting_any_vote", "agreement"), ("last_voting_both_inclusive", "agreement")]
)
def test_real_faults_are_runs(name: str, broken: str) -> None:
    model = load_rounds(LIBRARY / "broken" / f"{name}.rounds").model
    result = next(item for item in single(model, 4, None, LIMITS).results if item.property == broken)
    assert result.verdict == "violated" and result.rounds is not None and result.rounds.kind == "run"
    replay(model, result.rounds)


def test_fixed_names_leave_a_state_of_every_kind() -> None:
    """Whatever processes hold, some names of processes, and of values other than the v of U(v), meet the fixed order."""
    from pysat.solvers import Solver

    n, values = 3, 6
    for name, interchangeable in (("hybrid_one", True), ("hybrid_one", False), ("coord_uniform_voting", True)):
        model = library(name)
        s = Symbolic(Machine(model), n, {item.name: 0 for item in model.parameters}, values)
        state = s.anything()
        s.in_order(state, interchangeable)
        held = [item.name for item in model.variables if item.kind in VALUE_KINDS]
        flags = [item.name for item in model.variables if item.kind in ("bool", "time")]
        random = Random(7)
        with Solver(name="cadical195", bootstrap_with=s.circuit.clauses) as solver:
            for _ in range(60):
                rows = [
                    {x: random.randint(1, random.choice((2, values))) for x in held}
                    | {x: random.randrange(2) for x in flags}
                    for _ in range(n)
                ]
                found = False
                for order in permutations(rows):
                    for others in permutations(range(2, values + 1)) if interchangeable else [range(2, values + 1)]:
                        new = (0, 1, *others)
                        literals = []
                        for row, at in zip(order, state.variables, strict=True):
                            for x, value in row.items():
                                bits = [at[x]] if isinstance(at[x], int) else at[x]
                                number = new[value] if x in held else value
                                literals += [bit if number >> i & 1 else -bit for i, bit in enumerate(bits)]
                        found = found or solver.solve(assumptions=literals)
                    if found:
                        break
                assert found, (name, rows)
