"""What makes a verdict say less than it seems to: transitions that never fire, premises that never hold, fairness of no run.

All reachable states of instances with two elements of each sort, then three, are looked at, as far as a moment goes; most
protocols show everything that they can do within a hundredth of a second.  Of what does not show, the solvers are asked
whether the axioms and the invariants exclude it.  `proof/vacuity` has the contradictions, after which nothing is proved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

from quorate.engines.smt.session import Limits
from quorate.engines.smt.workers import guarded
from quorate.logic.structures import EvaluationError, cases, domain
from quorate.logic.terms import FALSE, TRUE, Forall, Implies, Term, Var, conj, exists, neg
from quorate.logic.transform import substitute
from quorate.models.forms import Model, NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.relational import Fairness, Liveness, Named, RelationalModel
from quorate.models.rounds import RoundModel
from quorate.models.temporal import TemporalError, all_fairness
from quorate.proof.vacuity import Contradiction, Remark, contradictory, foundation, satisfied_at
from quorate.proof.verdicts import Result

if TYPE_CHECKING:
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.reference import Reference, State

METHOD = "vacuity guard"
EFFORT, STEP = 60_000, 8
"""How many rules are tried on states in the search of instances, about a tenth of a second; a step costs as much as some
rules that cannot be taken.  Most protocols show what they can do with a tenth of that."""
LARGEST = 5
"""How many elements of each sort the largest instance has."""
MOST_CASES, MOST_WORLDS = 20_000, 50_000
"""How much work it may be to build an instance: cases of quantifiers, and interpretations of rigid symbols."""
OVERDUE = 3.0
"""Seconds after which a search is ended that takes much longer than its effort suggests."""
FEW = 2_000
"""Instances with more states than that are not searched for fair runs."""


def examine(model: Model, invariants: Sequence[Named] = (), limits: Limits | None = None) -> tuple[Remark, ...]:
    """What to know about a model beside its verdicts.  The invariants have been proved; they are over the relational form."""
    if isinstance(model, RelationalModel):
        return _relational(model, invariants, limits or Limits())
    if isinstance(model, ProcessModel):
        from quorate.methods.phases.vacuity import remarks as of_program

        return of_program(model)
    from quorate.methods.heardof.vacuity import remarks as of_rounds

    return of_rounds(model)


def unfounded(model: Model) -> Contradiction | Remark | None:
    """Why there is nothing to prove about a model, or that nobody knows whether there is; None if all is well."""
    if isinstance(model, RoundModel):
        from quorate.methods.heardof.vacuity import impossible

        if (found := impossible(model)) is not None:
            return found
    try:
        return foundation(relational_form(model))
    except NoForm:
        return None


def spoiled(model: Model, name: str, invariants: Sequence[Named] = ()) -> Contradiction | None:
    """Why a proof of one property says nothing: it assumes what no run does."""
    if isinstance(model, RoundModel) and name == "termination":
        from quorate.methods.heardof.vacuity import unsynchronised

        return unsynchronised(model)
    if isinstance(model, RelationalModel):
        for item in model.liveness:
            if item.name == name:
                return unfair(model, item, invariants)
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
    found = unfounded(model)
    if isinstance(found, Contradiction):
        return Judged(withheld(results, found), (), found)
    proved = {result.property for result in results if result.verdict == "proved"} if everywhere else set()
    known = [item for item in model.properties if item.name in proved]
    return Judged(tuple(results), (found,) if found else examine(model, known, limits))


def nothing_to_prove(model: RelationalModel, kind: Literal["safety", "liveness"]) -> Judged | None:
    """The results where there is nothing to prove, so that no method needs to try; None if there is."""
    found = unfounded(model)
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


def observe(model: RelationalModel, limits: Limits) -> Seen:
    """Look at all states of small instances until everything has shown, or the effort is spent."""
    hidden = Seen(frozenset(item.name for item in model.transitions), frozenset(premises(model)))
    if not hidden.transitions and not hidden.premises:
        return hidden
    return guarded(_observe, model, timeout=OVERDUE, memory_mb=limits.memory_mb) or hidden


def _observe(model: RelationalModel) -> Seen:
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.reference import Reference
    from quorate.engines.explicit.worlds import InstanceError

    watched = tuple(Named(name, neg(item.formula)) for name, item in premises(model).items())
    part = replace(model, safety=watched, liveness=())
    transitions, wanted = {item.name for item in model.transitions}, {item.name for item in watched}
    effort, states, largest = EFFORT, 0, 0
    for size in range(2, LARGEST + 1):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        try:
            instance = Instance(part, sizes)
            if not _is_small(instance):
                break
            reference = Reference(instance.system)
        except (InstanceError, EvaluationError):
            break
        count, effort = _explored(reference, transitions, wanted, effort)
        if count is None or not (transitions or wanted):
            break
        states, largest = states + count, size if count else largest
        if not sizes:
            break
    return Seen(frozenset(transitions), frozenset(wanted), states, largest)


def _is_small(instance: Instance) -> bool:
    """Is the instance built in a moment?"""
    model, sizes = instance.model, instance.sizes
    work = 0
    for transition in model.transitions:
        entries = [prod(len(domain(sort, sizes)) for sort in update.symbol.arguments) for update in transition.updates]
        values = sum(n * cases(update.value, sizes) for n, update in zip(entries, transition.updates, strict=True))
        rules = prod(len(domain(parameter.sort, sizes)) for parameter in transition.parameters)
        work += rules * (cases(transition.guard, sizes) + values)
    worlds = prod(
        len(domain(symbol.sort, sizes)) ** prod(len(domain(sort, sizes)) for sort in symbol.arguments)
        for symbol in instance.rigid_symbols
    )
    return work <= MOST_CASES and worlds <= MOST_WORLDS


def _explored(reference: Reference, transitions: set[str], wanted: set[str], effort: int) -> tuple[int | None, int]:
    """Search an instance and strike off what shows; how many states there are, None if the effort does not suffice for all.

    The second number is the effort that is left.
    """
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
        effort -= 1
        if effort < 0:
            return None, effort
    while waiting and (transitions or wanted):
        effort -= len(rules)
        if effort < 0:
            return None, effort
        for after, rule, _ in reference.successors(waiting.popleft()):
            transitions.discard(rules[rule])
            effort -= STEP
            add(after)
    return len(found), effort


# -- relational protocols --------------------------------------------------------------------------------------------------


def _relational(model: RelationalModel, invariants: Sequence[Named], limits: Limits) -> tuple[Remark, ...]:
    if not model.transitions:
        return (Remark("transitions", "", True),) if model.properties else ()
    seen = observe(model, limits)
    known = (*model.background(), *invariants)
    scope = _up_to(model, seen.largest)

    def excluded(formula: Term) -> bool:
        """Do the axioms and the invariants exclude it?"""
        formulas = (*known, Named("this", formula))
        sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
        return not satisfied_at(model, formulas, sizes) and contradictory(formulas)

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


def unfair(model: RelationalModel, item: Liveness, invariants: Sequence[Named] = ()) -> Contradiction | None:
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
    known = (*model.background(), *invariants)
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    for fairness, part in zip(demands, parts, strict=True):
        formulas = (*known, part)
        if fairness.when is TRUE and not satisfied_at(model, formulas, sizes) and contradictory(formulas):
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
    return _up_to(model, largest)


def _up_to(model: RelationalModel, size: int) -> str:
    sorts = [sort.name for sort in model.sorts if sort.uninterpreted]
    return f"up to {size} elements of {', '.join(sorts)}" if sorts else "the only size"
