"""The prover against exhaustive search: of a protocol that was changed, nothing is proved that has a fair lasso."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from mutations import fairness_mutants, mutants
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic.structures import EvaluationError
from quorate.methods.liveness import samples
from quorate.methods.liveness.check import check_liveness
from quorate.methods.liveness.claims import Missing
from quorate.methods.liveness.live import Options, live, prove
from quorate.methods.liveness.samples import Samples
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.models.temporal import TemporalError
from quorate.proof.certificates import CertificateError

LIBRARY = Path(__file__).parents[3] / "protocols" / "liveness"


def is_proved(model: RelationalModel) -> bool:
    """By the prover alone, which does not look for violations."""
    try:
        prove(model, model.liveness[0], Limits(timeout=5.0, jobs=1), Options(30, propose=False))
    except (Missing, TemporalError, CertificateError, InstanceError, EvaluationError):
        return False
    return True


def is_violated(model: RelationalModel) -> bool:
    for size in (1, 2, 3):
        results, _ = check_liveness(Instance(model, dict.fromkeys(model.sorts, size)))
        if results[0].verdict == "violated":
            return True
    return False


@pytest.mark.parametrize("name", ["lease_lock", pytest.param("two_phase_commit", marks=pytest.mark.slow)])
def test_what_is_proved_without_an_assumption_holds_without_it(name: str) -> None:
    model = load(LIBRARY / f"{name}.pyv").model
    answers = [(is_violated(mutant), is_proved(mutant)) for _, mutant in fairness_mutants(model)]
    assert (True, True) not in answers
    assert (True, False) in answers


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lease_lock", "token_ring", "tlb_shootdown", "dijkstra_stabilisation"])
def test_nothing_is_proved_of_a_mutant_with_a_fair_lasso(name: str) -> None:
    """The rest of 200 of them: `python bench/fairness.py mutants`."""
    model = load(LIBRARY / f"{name}.pyv").model
    for what, mutant in Random(name).sample(list(mutants(model)), 8):
        assert not (is_proved(mutant) and is_violated(mutant)), what


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tlb_shootdown", "token_ring", "dijkstra_stabilisation"])
def test_protocols_are_proved_without_hints(name: str) -> None:
    model = load(LIBRARY / f"{name}.pyv").model
    assert not model.liveness[0].hints
    outcome = live(model, Limits(jobs=1), Options(seconds=120))
    assert [result.verdict for result in outcome.results] == ["proved"], outcome.results


def test_steps_that_refute_a_ranking_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a single step of each transition to begin with, the first rankings are wrong."""
    included = []
    include = Samples.include

    def watched(own: Samples, *arguments: Any) -> None:
        before = len(own.pairs)
        include(own, *arguments)
        included.append(len(own.pairs) - before)

    monkeypatch.setattr(samples, "MOST_PAIRS", 1)
    monkeypatch.setattr(Samples, "include", watched)
    model = load(LIBRARY / "ticket_lock.pyv").model
    prove(model, model.liveness[0], Limits(jobs=1), Options(60))
    assert included and all(included)


SPLITTING = """
finite sort node
immutable relation below(node, node)
axiom !below(X, X)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom X = Y | below(X, Y) | below(Y, X)
mutable relation at(node)
transition split(m: node)
  modifies at
  & at(m)
  & (new(at(X)) <-> at(X) & X != m | WHERE)
liveness [quiet] true ~> forall N. !at(N)
"""


def test_a_rank_along_an_order_is_found() -> None:
    """Tokens that split, but only upwards, are used up; not so if one half may go anywhere."""
    model = parse(Source("splitting.pyv", SPLITTING.replace("WHERE", "below(m, X)"))).model
    proved, _ = prove(model, model.liveness[0], Limits(jobs=1), Options(60))
    assert any(stage.order is not None for stage in proved.argument.stages)
    assert not is_proved(parse(Source("splitting.pyv", SPLITTING.replace("WHERE", "X != m"))).model)


@pytest.mark.slow
def test_a_ring_with_few_states_is_not_proved_to_stabilise() -> None:
    assert not is_proved(load(LIBRARY / "broken" / "dijkstra_few_states.pyv").model)


ORDER = """
sort number
immutable relation at_most(number, number)
axiom at_most(X, X)
axiom at_most(X, Y) & at_most(Y, Z) -> at_most(X, Z)
axiom at_most(X, Y) & at_most(Y, X) -> X = Y
axiom at_most(X, Y) | at_most(Y, X)
"""
STARVING = """
sort client
mutable relation used(number)
mutable relation waits(client)
mutable relation holds(client)
mutable relation taken
init !used(X) & !waits(C) & !holds(C) & !taken
transition request(c: client, n: number)
  modifies used, waits
  & !waits(c) & !holds(c) & !used(n)
  & (new(used(X)) <-> used(X) | X = n)
  & (new(waits(C)) <-> waits(C) | C = c)
transition grant(c: client)
  modifies waits, holds, taken
  & waits(c) & !taken & new(taken)
  & (new(waits(C)) <-> waits(C) & C != c)
  & (new(holds(C)) <-> holds(C) | C = c)
transition release(c: client)
  modifies holds, taken
  & holds(c) & !new(taken)
  & (new(holds(C)) <-> holds(C) & C != c)
fairness weak forall C. grant(C)
fairness weak forall C. release(C)
liveness [served] forall C. waits(C) ~> holds(C)
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (ORDER + STARVING, "unknown"),
        (ORDER.replace("sort number", "finite sort number") + STARVING, "proved"),
        ("unbounded sort number" + STARVING, "unknown"),
        (ORDER + STARVING.replace("weak forall C. grant(C)", "strong forall C. grant(C)"), "proved"),
    ],
)
def test_a_lock_that_draws_fresh_numbers_may_starve_a_client(text: str, verdict: str) -> None:
    """Requests come to an end only if numbers do."""
    model = parse(Source("lock.pyv", text)).model
    (result,) = live(model, Limits(jobs=1), Options(30, propose=False)).results
    assert result.verdict == verdict, result.reason
    assert ("number is finite" in result.reason) is ("finite sort" in text)


def test_tickets_need_not_be_finite() -> None:
    model = load(LIBRARY / "ticket_lock.pyv").model
    (result,) = live(model, Limits(jobs=1), Options(60)).results
    assert (result.verdict, result.reason) == (
        "proved",
        "in every fair run; below each ticket there are finitely many",
    )
