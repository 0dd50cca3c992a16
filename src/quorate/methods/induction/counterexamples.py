"""The smallest counterexample to induction: fewest elements, then fewest true facts.

Sizes are tried in order of their sum over a finite expansion of the obligation; at the first that has a counterexample,
the number of true facts in the state before the step is pushed down by counting.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from quorate.engines.smt.session import Limits
from quorate.engines.smt.workers import guarded
from quorate.logic.structures import EvaluationError
from quorate.logic.terms import Sort
from quorate.methods.induction.obligations import Obligation
from quorate.methods.induction.unroll import FiniteRun, Move, Option
from quorate.models.relational import Named, RelationalModel
from quorate.proof.traces import Trace


def size_vectors(sorts: Sequence[Sort], largest: int) -> Iterator[dict[Sort, int]]:
    """All sizes of at least one whose sum is at most `largest`, smallest sums first, balanced ones first in each."""
    for total in range(len(sorts), largest + 1):
        spare = total - len(sorts)
        vectors = [v for v in product(range(spare + 1), repeat=len(sorts)) if sum(v) == spare]
        for vector in sorted(vectors, key=lambda v: (max(v, default=0), v)):
            yield {sort: 1 + extra for sort, extra in zip(sorts, vector, strict=True)}
        if not sorts:
            return


def smallest(
    model: RelationalModel,
    obligation: Obligation,
    assumed: Sequence[Named],
    largest: int,
    limits: Limits,
    budget: float,
) -> Trace | None:
    """The smallest counterexample with at most `largest` elements in all, or None if none was found in the budget."""
    return guarded(
        _search, model, obligation, tuple(assumed), largest, limits.seed, budget,
        timeout=2 * budget + 1, memory_mb=limits.memory_mb,
    )  # fmt: skip


def _search(
    model: RelationalModel, obligation: Obligation, assumed: Sequence[Named], largest: int, seed: int, budget: float
) -> Trace | None:
    ends = time.monotonic() + budget
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    for sizes in size_vectors(sorts, largest):
        left = ends - time.monotonic()
        if left <= 0:
            return None
        try:
            found = _at_sizes(model, obligation, assumed, sizes, seed, ends)
        except EvaluationError:
            return None
        if found is not None:
            return found
    return None


def _at_sizes(
    model: RelationalModel,
    obligation: Obligation,
    assumed: Sequence[Named],
    sizes: Mapping[Sort, int],
    seed: int,
    ends: float,
) -> Trace | None:
    transition = obligation.transition
    run = FiniteRun(model, sizes, transition is None, seed)
    circuit = run.circuit
    if transition is not None:
        for item in assumed:
            circuit.require(run.holds(item.formula))
        run.move(Move((Option(transition),)))
    circuit.require(-run.holds(obligation.claim.formula))
    if not run.solve((), ends - time.monotonic()):
        return None
    kind = "run" if transition is None else "cti"
    best = run.trace(kind, obligation.claim.name)
    facts = [
        literal
        for symbol, table in run.states[0].items()
        if symbol.is_relation and symbol.mutable
        for literal in table.values()
    ]
    count = sum(run.solver.holds(literal) for literal in facts)
    bound = circuit.at_most(facts, count)
    while count and run.solve((bound(count - 1),), max(0.1, ends - time.monotonic())):
        best = run.trace(kind, obligation.claim.name)
        count = sum(run.solver.holds(literal) for literal in facts)
    return best
