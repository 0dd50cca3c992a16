"""What makes a verdict say less than it seems to: transitions that never fire, premises that never hold, fairness of no run.

All reachable states of instances with two elements of each sort, then three, are looked at, as far as a moment goes; most
protocols show everything that they can do within a hundredth of a second.  Of what does not show, the solvers are asked
whether the axioms and the invariants exclude it.  `proof/vacuity` has the contradictions, after which nothing is proved.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from quorate.engines.smt.session import Limits
from quorate.engines.smt.workers import guarded
from quorate.logic.structures import EvaluationError
from quorate.logic.terms import FALSE, TRUE, Forall, Implies, Term, Var, conj, exists, neg
from quorate.logic.transform import substitute
from quorate.models.forms import Model, NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.relational import Fairness, Liveness, Named, RelationalModel
from quorate.models.rounds import RoundModel
from quorate.models.temporal import TemporalError, all_fairness
from quorate.proof.vacuity import PATIENCE, Contradiction, Remark, contradictory, foundation, satisfied_at
from quorate.proof.verdicts import Result

if TYPE_CHECKING:
    from quorate.engines.explicit.reference import Reference, State

METHOD = "vacuity guard"
SECONDS = 0.15
"""For the search of instances: what a protocol can do shows within a tenth of that, as a rule."""
OVERDUE = 3.0
"""The search is ended after so many times its seconds, should it be stuck in the making of an instance."""
LARGEST = 5
"""How many elements of each sort the largest instance has."""
GROWTH = 30.0
"""An instance with one more element of each sort is built if there is time for this many times what the one before took."""
OFTEN = 64
"""After so many initial states the clock is looked at."""
FEW = 2_000
"""Instances with more states than that are not searched for fair runs."""


def examine(
    model: Model, invariants: Sequence[Named] = (), limits: Limits | None = None, seconds: float = SECONDS
) -> tuple[Remark, ...]:
    """What to know about a model beside its verdicts.  The invariants have been proved; they are over the relational form."""
    if isinstance(model, RelationalModel):
        return _relational(model, invariants, limits or Limits(), seconds)
    if isinstance(model, ProcessModel):
        from quorate.methods.phases.vacuity import remarks as of_program

        return of_program(model, seconds)
    from quorate.methods.heardof.vacuity import remarks as of_rounds

    return of_rounds(model)


def unfounded(model: Model, limits: Limits) -> Contradiction | Remark | None:
    """Why there is nothing to prove about a model, or that nobody knows whether there is; None if all is well."""
    if isinstance(model, RoundModel):
        from quorate.methods.heardof.vacuity import impossible

        if (found := impossible(model)) is not None:
            return found
    try:
        return foundation(relational_form(model), limits)
    except NoForm:
        return None


def spoiled(model: Model, name: str, limits: Limits, invariants: Sequence[Named] = ()) -> Contradiction | None:
    """Why a proof of one property says nothing: it assumes what no run does."""
    if isinstance(model, RoundModel) and name == "termination":
        from quorate.methods.heardof.vacuity import unsynchronised

        return unsynchronised(model)
    if isinstance(model, RelationalModel):
        for item in model.liveness:
            if item.name == name:
                return unfair(model, item, invariants, limits)
    return None


def withheld(results: Sequence[Result], found: Contradiction | Remark | None) -> tuple[Result, ...]:
    """The results, without the proofs that rest on a contradiction."""
    if not isinstance(found, Contradiction):
        return tuple(results)
    return tuple(
        replace(result, verdict="unknown", reason=str(found))
        if result.verdict in ("proved", "unknown") and result.kind in found.spoils
        else result
        for result in results
    )


@dataclass(frozen=True)
class Judged:
    """Results that rest on no contradiction, and what to know beside them."""

    results: tuple[Result, ...]
    remarks: tuple[Remark, ...]
    nothing: Contradiction | None = None
    """Why there is nothing to prove."""


def judged(model: RelationalModel, results: Sequence[Result], limits: Limits, everywhere: bool = True) -> Judged:
    """What of some results counts.  `everywhere`: those that are proved hold at all sizes, and may be built upon."""
    found = unfounded(model, limits)
    if isinstance(found, Contradiction):
        return Judged(withheld(results, found), (), found)
    proved = {result.property for result in results if result.verdict == "proved"} if everywhere else set()
    known = [item for item in model.properties if item.name in proved]
    remarks = examine(model, known, limits)
    return Judged(tuple(results), (found, *remarks) if found else remarks)


def nothing_to_prove(model: RelationalModel, limits: Limits, kind: Literal["safety", "liveness"]) -> Judged | None:
    """The results where there is nothing to prove, so that no method needs to try; None if there is."""
    found = unfounded(model, limits)
    if not isinstance(found, Contradiction):
        return None
    items = model.safety if kind == "safety" else model.liveness
    results = [Result(item.name, kind, "unknown", METHOD, "all sizes", str(found), None, item.span) for item in items]
    return Judged(tuple(results), (), found)


# -- what shows in instances -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What did not show, in so many states of instances; `largest` is the largest of which all states were looked at."""

    transitions: frozenset[str]
    premises: frozenset[str]
    states: int = 0
    largest: int = 0


def premises(model: RelationalModel) -> dict[str, Named]:
    """By the names of the properties, that the premise of an implication holds for some values of its variables."""
    found = {}
    for item in model.safety:
        variables: list[Var] = []
        body: Term = item.formula
        while isinstance(body, Forall):
            variables += body.variables
            body = body.body
        premise: list[Term] = []
        while isinstance(body, Implies):
            premise.append(body.left)
            body = body.right
        if premise and body is not FALSE:
            found[item.name] = Named(f"the premise of {item.name}", exists(variables, conj(*premise)), item.span)
    for property in model.liveness:
        if property.trigger is not TRUE:
            formula = exists(property.variables, property.trigger)
            found[property.name] = Named(f"the premise of {property.name}", formula, property.span)
    return found


def observe(model: RelationalModel, seconds: float, limits: Limits) -> Seen:
    """Look at all states of small instances until everything has shown, or the time is up."""
    hidden = Seen(frozenset(item.name for item in model.transitions), frozenset(premises(model)))
    if not hidden.transitions and not hidden.premises:
        return hidden
    patience = OVERDUE * seconds
    return guarded(_observe, model, seconds, timeout=patience, memory_mb=limits.memory_mb) or hidden


def _observe(model: RelationalModel, seconds: float) -> Seen:
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.reference import Reference
    from quorate.engines.explicit.worlds import InstanceError

    watched = tuple(Named(name, neg(item.formula)) for name, item in premises(model).items())
    part = replace(model, safety=watched, liveness=())
    transitions, wanted = {item.name for item in model.transitions}, {item.name for item in watched}
    ends = time.monotonic() + seconds
    states = largest = 0
    for size in range(2, LARGEST + 1):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        began = time.monotonic()
        try:
            reference = Reference(Instance(part, sizes).system)
        except (InstanceError, EvaluationError):
            break
        built = time.monotonic() - began
        count = _explored(reference, transitions, wanted, ends)
        if count is None or not (transitions or wanted):
            break
        states, largest = states + count, size if count else largest
        if not sizes or time.monotonic() + GROWTH * built > ends:
            break
    return Seen(frozenset(transitions), frozenset(wanted), states, largest)


def _explored(reference: Reference, transitions: set[str], wanted: set[str], ends: float) -> int | None:
    """Search an instance and strike off what shows; how many states there are, None if there was no time for all of them."""
    rules = [rule.name for rule in reference.system.rules]
    found: set[State] = set()
    waiting: deque[State] = deque()

    def add(state: State) -> None:
        if state not in found:
            found.add(state)
            waiting.append(state)
            wanted.difference_update(reference.violated(state) if wanted else ())

    for state in reference.initial():
        add(state)
        if len(found) % OFTEN == 0 and time.monotonic() > ends:
            return None
    while waiting and (transitions or wanted):
        if time.monotonic() > ends:
            return None
        for after, rule, _ in reference.successors(waiting.popleft()):
            transitions.discard(rules[rule])
            add(after)
    return len(found)


# -- relational protocols --------------------------------------------------------------------------------------------------


def _relational(
    model: RelationalModel, invariants: Sequence[Named], limits: Limits, seconds: float
) -> tuple[Remark, ...]:
    if not model.transitions:
        return (Remark("transitions", "", True),)
    seen = observe(model, seconds, limits)
    known = (*model.background(), *invariants)
    quick = replace(limits, timeout=min(limits.timeout, PATIENCE), dump=None)
    scope = ", ".join(f"up to {seen.largest} {sort}" for sort in model.sorts if sort.uninterpreted) or "the only size"

    def excluded(formula: Term) -> bool:
        """Do the axioms and the invariants exclude it?"""
        formulas = (*known, Named("this", formula))
        sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
        return not satisfied_at(model, formulas, sizes) and contradictory(formulas, quick)

    found = []
    for transition in model.transitions:
        if transition.name in seen.transitions:
            certain = excluded(substitute(transition.guard, transition.constants))
            if certain or seen.largest:
                remark = Remark("transition", transition.name, certain, scope, seen.states, transition.span)
                found.append(remark if not certain else replace(remark, scope="", states=0))
    if len(found) == len(model.transitions):
        certain = all(remark.certain for remark in found)
        found = [Remark("transitions", "all", certain, "" if certain else scope, 0 if certain else seen.states)]
    for name, item in premises(model).items():
        if name in seen.premises:
            certain = excluded(item.formula)
            if certain or seen.largest:
                where = ("", 0) if certain else (scope, seen.states)
                found.append(Remark("premise", name, certain, *where, item.span))
    return tuple(found)


# -- fairness --------------------------------------------------------------------------------------------------------------


def unfair(model: RelationalModel, item: Liveness, invariants: Sequence[Named], limits: Limits) -> Contradiction | None:
    """Fairness that no infinite run has: then a proof of liveness speaks of no run, or of those that end.

    Whoever demands that a transition is taken when it can be demands nothing impossible; whoever demands that a formula holds
    again and again may.  Either the axioms and the invariants exclude the formula, or small instances have infinite runs, none
    of them fair.
    """
    demands = [fairness for fairness in all_fairness(model, item) if fairness.happens is not None]
    if not demands:
        return None
    parts = tuple(
        Named(fairness.name, exists(fairness.variables, _happens(fairness)), fairness.span) for fairness in demands
    )
    quick = replace(limits, timeout=min(limits.timeout, PATIENCE), dump=None)
    known = (*model.background(), *invariants)
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    for fairness, part in zip(demands, parts, strict=True):
        formulas = (*known, part)
        if fairness.when is TRUE and not satisfied_at(model, formulas, sizes) and contradictory(formulas, quick):
            return Contradiction("fairness", (part,))
    scope = _no_fair_run(model, item)
    return Contradiction("fairness", parts, scope) if scope else None


def _happens(fairness: Fairness) -> Term:
    assert fairness.happens is not None
    return fairness.happens


def _no_fair_run(model: RelationalModel, item: Liveness) -> str:
    """The sizes of instances that have infinite runs, none of which is fair; nothing if there are none.

    Where a sort is ordered, numbers may run out in an instance that do not run out in general: there it counts only if what
    is demanded holds in no state at all.
    """
    import numpy

    from quorate.engines.explicit.fairness import Graph, components, fair_components
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.inference.language import total_orders
    from quorate.methods.liveness.check import requirements
    from quorate.methods.liveness.graph import StateGraph, TooManyStates

    ordered = bool(total_orders(model))
    demands = [place for place, one in enumerate(all_fairness(model, item)) if one.happens is not None]
    largest = 0
    for size in (1, 2, 3):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        try:
            states = StateGraph.of(Instance(model, sizes), FEW)
            if states is None:
                continue
            graph = Graph(states.states.count, states.source, states.target)
            everywhere = numpy.ones(graph.count, bool)
            if next(components(graph, everywhere, numpy.ones(len(graph.source), bool)), None) is None:
                continue
            if ordered:
                each = [states.happens_in_state(all_fairness(model, item)[place]) for place in demands]
                if all(bool(happens.any(axis=0).all()) for happens in each):
                    return ""
            elif next(fair_components(graph, everywhere, requirements(states, item)), None) is not None:
                return ""
        except (InstanceError, TemporalError, TooManyStates):
            break
        largest = size
    if not largest:
        return ""
    return ", ".join(f"up to {largest} {sort}" for sort in model.sorts if sort.uninterpreted) or "the only size"
