"""Does a run violate a liveness property?  Decided on the plain semantics, from the definitions.

The run ends where no step can be taken, or goes round a loop that is fair, without the goal being reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from quorate.logic.structures import Evaluator, Structure, Value, domain
from quorate.logic.terms import Term, Var
from quorate.models.relational import Fairness, Liveness, RelationalModel
from quorate.models.semantics import Step
from quorate.models.temporal import TemporalError, all_fairness, can_step, enabled


def values_of(variables: Sequence[Var], state: Structure) -> Iterator[dict[Var, Value]]:
    """All values of the variables."""
    for values in product(*(domain(variable.sort, state.sizes) for variable in variables)):
        yield dict(zip(variables, values, strict=True))


def starving(
    model: RelationalModel, property: Liveness, states: Sequence[Structure], loop: int | None
) -> dict[Var, Value] | None:
    """Values for which the property is triggered, and its goal never reached from then on."""
    for values in values_of(property.variables, states[0]):
        for number, state in enumerate(states):
            if state.holds(property.trigger, values):
                later = states[number if loop is None else min(number, loop) :]
                if not any(after.holds(property.goal, values) for after in later):
                    return values
    return None


def is_stuck(model: RelationalModel, state: Structure) -> bool:
    """Can no step be taken?"""
    try:
        return not state.holds(can_step(model))
    except TemporalError as problem:
        raise TemporalError(f"whether a step can be taken is not known: {problem}") from None


def unfair(
    model: RelationalModel, property: Liveness, states: Sequence[Structure], steps: Sequence[Step]
) -> str | None:
    """The assumption that a loop breaks, if there is one; the last state is the first one again."""
    for item in all_fairness(model, property):
        due = enabled(model, item)
        for values in values_of(item.variables, states[0]):
            if any(_happens(model, item, values, *moment) for moment in zip(states, steps, strict=False)):
                continue
            ready = [state.holds(due, values) for state in states[:-1]]
            if any(ready) if item.strong else all(ready):
                return item.name
    return None


def _happens(
    model: RelationalModel, item: Fairness, values: Mapping[Var, Value], state: Structure, taken: Step
) -> bool:
    if item.happens is not None:
        return state.holds(item.happens, dict(values))
    if taken.transition != item.transition:
        return False
    parameters = model.transition(taken.transition).parameters
    for parameter, argument in zip(parameters, item.arguments, strict=True):
        if argument is not None and _value(state, argument, values) != taken.bindings[parameter.name]:
            return False
    return True


def _value(state: Structure, term: Term, values: Mapping[Var, Value]) -> Value:
    return Evaluator(state.sizes).compile(term)(state, dict(values))
