"""The small instance is verified, not assumed: exhaustively where every sort has a size, by inference where one has none.

The states that a finite instance can reach are an inductive invariant, and this is how they enter the certificate: as a formula
that the checker proves inductive, like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import FINISHED, RUNNING, Reference, ReferenceSearch
from quorate.engines.explicit.worlds import InstanceError, entries
from quorate.engines.smt.session import Limits
from quorate.logic import sexpr
from quorate.logic.structures import EvaluationError, domain
from quorate.logic.terms import BOOL, FALSE, TRUE, Sort, Symbol, Term, conj, disj, equal, neg
from quorate.methods.explicit import check
from quorate.methods.inference.infer import Options, infer
from quorate.models.relational import Named, RelationalModel
from quorate.proof.certificates import Certificate, certify
from quorate.proof.traces import Trace

MOST_STATES, LONGEST = 4000, 400_000
"""Of how many states, and of how many characters, an invariant is made that lists what can be reached."""
PATIENCE = 30.0
"""Seconds by the clock that a solver has for a query about the small instance: candidates are many, it is one."""
MOST_SECONDS = 15.0
"""Processor seconds that an exploration may take."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Verification:
    """A certificate of the small instance, a run that violates it, or the reason why there is neither."""

    words: str
    certificate: Certificate | None = None
    trace: Trace | None = None
    states: int | None = None


def verify(model: RelationalModel, limits: Limits, seconds: float, progress: Progress) -> Verification:
    """Verify a small instance."""
    unbounded = [sort for sort in model.sorts if sort.uninterpreted]
    if not unbounded:
        found = explore(model)
        if found is not None:
            return found
    return inferred(model, limits, seconds, progress)


def explore(model: RelationalModel) -> Verification | None:
    """All states of an instance in which every sort is finite; None if there are too many to list."""
    try:
        instance = Instance(model, {})
        reference = few_initial_states(instance)
    except InstanceError:
        return None
    if reference is None:
        return None
    search = ReferenceSearch(reference, symmetry=False, keep_going=False)
    search.begin()
    ends = time.process_time() + MOST_SECONDS
    while search.status == RUNNING and len(search.seen) <= MOST_STATES and time.process_time() < ends:
        search.run(0.0)
    if search.first:
        outcome = check.check(instance, check.Options(engine="reference", symmetry=False))
        found = next(result.evidence for result in outcome.results if result.verdict == "violated")
        assert isinstance(found, Trace)
        return Verification("the small instance is violated", trace=found)
    if search.status != FINISHED:
        return None
    invariant = Named("reachable", reachable(instance, list(search.seen)))
    if len(sexpr.write(invariant.formula)) > LONGEST:
        return None
    count = len(search.seen)
    words = f"all {count:,} reachable states of the small instance are safe"
    if count == 1:
        words = "the only reachable state of the small instance is safe"
    return Verification(words, certify(model, model.safety, [invariant], {}), None, count)


def few_initial_states(instance: Instance, most: int = MOST_STATES) -> Reference | None:
    """The plain engine of an instance, if there are few enough states to begin with."""
    reference = Reference(instance.system)
    return reference if sum(1 for _ in islice(reference.initial(), most + 1)) <= most else None


def reachable(instance: Instance, states: Sequence[tuple[Sequence[int], int]]) -> Term:
    """The formula that holds in exactly these states: a decision tree over the values of the symbols."""
    rigid = [(symbol, args) for symbol in instance.rigid_symbols for args in entries(symbol, instance.sizes)]
    places = [*rigid, *instance.places]
    rows = [(*instance.worlds[world].values, *state) for state, world in states]
    memo: dict[tuple[frozenset[tuple[int, ...]], int], Term] = {}

    def tree(rows: frozenset[tuple[int, ...]], place: int) -> Term:
        if place == len(places):
            return TRUE
        done = memo.get((rows, place))
        if done is None:
            symbol, args = places[place]
            values = domain(symbol.sort, {})
            below = {int(v): frozenset(row[1:] for row in rows if row[0] == v) for v in values}
            trees = {value: tree(rest, place + 1) if rest else FALSE for value, rest in below.items()}
            if len(set(trees.values())) == 1:
                done = trees[int(values[0])]
            else:
                done = disj(*(conj(_is(symbol, args, value), inside) for value, inside in trees.items()))
            memo[rows, place] = done
        return done

    return tree(frozenset(rows), 0) if rows else FALSE


def _is(symbol: Symbol, args: Sequence[int], value: int) -> Term:
    """The symbol has that value at these arguments, all of which have names."""
    applied = symbol(*(_element(sort, arg) for sort, arg in zip(symbol.arguments, args, strict=True)))
    if symbol.sort is BOOL:
        return applied if value else neg(applied)
    return equal(applied, _element(symbol.sort, value))


def _element(sort: Sort, value: int) -> Term:
    if sort is BOOL:
        return TRUE if value else FALSE
    return Symbol(sort.elements[value], (), sort)()


def inferred(model: RelationalModel, limits: Limits, seconds: float, progress: Progress) -> Verification:
    """Invariants for the sorts that have no size."""
    patient = replace(limits, timeout=max(limits.timeout, PATIENCE))
    try:
        outcome = infer(model, patient, Options(seconds=seconds), progress)
    except (CompilerError, InstanceError, EvaluationError) as problem:
        return Verification(f"the small instance cannot be handled: {problem}")
    for result in outcome.results:
        if result.verdict == "violated" and isinstance(result.evidence, Trace):
            return Verification("the small instance is violated", trace=result.evidence)
    if outcome.certificate is None:
        reason = next((result.reason for result in outcome.results if result.reason), "no proof was found")
        return Verification(f"the small instance is not verified: {reason}")
    count = len(outcome.certificate.invariants) + len(outcome.certificate.refutations)
    return Verification(f"the small instance is proved by {count} inferred invariants", outcome.certificate)
