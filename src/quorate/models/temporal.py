"""What fairness and liveness say about a single state and a single step, as formulas.

A step is spoken of in terms of the state before it: its parameters, and constants that it chooses, are variables.  Read
`proof/liveness` next for how these formulas become proof obligations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.logic.terms import FALSE, Symbol, Term, Var, conj, disj, equal, exists, neg
from quorate.logic.transform import Lambda, fresh_variables, replace_symbols, substitute, symbols_of
from quorate.models.relational import Fairness, Liveness, RelationalModel, Transition


class TemporalError(Exception):
    """No formula says this; the message says why."""


@dataclass(frozen=True)
class StepFormula:
    """One step of a transition: it may be taken where `guard` holds, for the values of `variables`.

    The first of these stand for the transition's parameters, in order; the others for constants that the step chooses.
    """

    transition: Transition
    variables: tuple[Var, ...]
    guard: Term
    changes: Mapping[Symbol, Lambda]

    def after(self, model: RelationalModel, formula: Term) -> Term:
        """The formula in the state after the step; its free variables must not be among those of the step."""
        result = replace_symbols(model.expand(formula), self.changes)
        _require_plain(self.transition, result)
        return result


def step(transition: Transition, avoid: Iterable[Var] = ()) -> StepFormula:
    """The step with variables that do not occur in `avoid`."""
    constants = [choice for choice in transition.choices if not choice.arguments]
    wanted = [*transition.parameters, *(Var(f"Chosen{i}", choice.sort) for i, choice in enumerate(constants, 1))]
    variables = fresh_variables(wanted, avoid)
    named = dict(zip(transition.parameters, variables, strict=False))
    chosen: dict[Symbol, Lambda] = {
        choice: ((), variable)
        for choice, variable in zip(constants, variables[len(transition.parameters) :], strict=True)
    }

    def instance(term: Term, bound: tuple[Var, ...] = ()) -> tuple[tuple[Var, ...], Term]:
        places = tuple(fresh_variables(bound, [*variables, *term.free, *avoid])) if bound else ()
        renamed = substitute(term, {**named, **dict(zip(bound, places, strict=True))})
        return places, replace_symbols(renamed, chosen)

    guard = instance(transition.guard)[1]
    _require_plain(transition, guard)
    changes = {update.symbol: instance(update.value, update.variables) for update in transition.updates}
    return StepFormula(transition, tuple(variables), guard, changes)


def _require_plain(transition: Transition, formula: Term) -> None:
    for symbol in symbols_of(formula):
        if symbol in transition.choices:
            raise TemporalError(f"{transition.name} chooses a whole relation or function at once ({symbol.name})")


def can_step(model: RelationalModel, avoid: Iterable[Var] = ()) -> Term:
    """Some transition can be taken."""
    found = []
    for transition in model.transitions:
        made = step(transition, avoid)
        found.append(exists(made.variables, made.guard))
    return disj(*found)


def all_fairness(model: RelationalModel, property: Liveness) -> tuple[Fairness, ...]:
    """What may be assumed about the runs for which the property is to hold."""
    return model.fairness + property.assuming


def renamed(fairness: Fairness, variables: Sequence[Var]) -> Fairness:
    """The same assumption over other variables."""
    values: dict[Var, Term] = dict(zip(fairness.variables, variables, strict=True))
    return replace(
        fairness,
        variables=tuple(variables),
        when=substitute(fairness.when, values),
        arguments=tuple(None if term is None else substitute(term, values) for term in fairness.arguments),
        happens=None if fairness.happens is None else substitute(fairness.happens, values),
    )


def enabled(model: RelationalModel, fairness: Fairness) -> Term:
    """A formula over the variables of an assumption: it is due to happen, if this goes on or comes back."""
    if fairness.transition is None:
        return fairness.when
    made = step(model.transition(fairness.transition), fairness.variables)
    values = {v: term for v, term in zip(made.variables, fairness.arguments, strict=False) if term is not None}
    others = [variable for variable in made.variables if variable not in values]
    return conj(fairness.when, exists(others, substitute(made.guard, values)))


def happens_in_state(fairness: Fairness) -> Term:
    """A formula over the variables of an assumption: it happens in this state."""
    return fairness.happens if fairness.happens is not None else FALSE


def happens_by_step(fairness: Fairness, made: StepFormula) -> Term:
    """A formula over the variables of an assumption and of a step: it happens by taking this step."""
    if fairness.transition != made.transition.name:
        return FALSE
    return _arguments(fairness, made)


def _arguments(fairness: Fairness, made: StepFormula) -> Term:
    pairs = zip(made.variables, fairness.arguments, strict=False)
    return conj(*(equal(variable, argument) for variable, argument in pairs if argument is not None))


def pending(property: Liveness) -> Term:
    """A formula over the variables of a property: it is triggered, and its goal has not been reached."""
    return conj(property.trigger, neg(property.goal))
