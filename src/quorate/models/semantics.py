"""What a relational protocol does, on finite states: the plain semantics that traces are replayed on.

A state is a `Structure` that gives every symbol of the model a value.  `check_initial` and `check_step` return None if
all is well and otherwise say what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quorate.logic.structures import EvaluationError, Evaluator, Structure, Table, Value, argument_tuples
from quorate.logic.terms import Symbol, Term, Var
from quorate.models.relational import RelationalModel, Transition


@dataclass(frozen=True)
class Step:
    """The transition taken, the values of its parameters and the interpretation of its choices."""

    transition: str
    bindings: Mapping[str, Value]
    choices: Mapping[str, Table] = field(default_factory=dict)


def state_of(model: RelationalModel, structure: Structure) -> Structure:
    """The part of a structure that is a state of the model; a sort that the structure does not speak of has one element."""
    sizes = {sort: structure.sizes.get(sort, 1) for sort in model.sorts if sort.uninterpreted}
    return Structure(sizes, {symbol: structure.tables[symbol] for symbol in model.symbols})


def check_background(model: RelationalModel, state: Structure) -> str | None:
    """Do the axioms and the definitions of derived symbols hold?"""
    for item in model.background():
        if not state.holds(item.formula):
            return f"{item.name} does not hold"
    return None


def check_initial(model: RelationalModel, state: Structure) -> str | None:
    """Is this an initial state?"""
    for item in model.initial:
        if not state.holds(item.formula):
            return f"{item.name} does not hold"
    return check_background(model, state)


def bind(transition: Transition, step: Step, state: Structure) -> tuple[Structure, dict[Var, Value]]:
    """The state extended by the step's choices, and the values of its parameters."""
    tables: dict[Symbol, Table] = dict(state.tables)
    for choice in transition.choices:
        if choice.name not in step.choices:
            raise EvaluationError(f"the step gives no value to {choice.name}")
        tables[choice] = step.choices[choice.name]
    bindings = {parameter: step.bindings[parameter.name] for parameter in transition.parameters}
    return Structure(state.sizes, tables), bindings


def successor(model: RelationalModel, state: Structure, step: Step) -> Structure | str:
    """The state after the step, or why the step cannot be taken."""
    transition = model.transition(step.transition)
    before, bindings = bind(transition, step, state)
    if not before.holds(transition.guard, bindings):
        return f"the guard of {transition.name} does not hold"
    tables = dict(state.tables)
    for update in transition.updates:
        tables[update.symbol] = _tabulate(before, update.symbol, update.variables, update.value, bindings)
    return with_derived(model, Structure(state.sizes, tables))


def with_derived(model: RelationalModel, state: Structure) -> Structure:
    """The state with the values of the derived symbols worked out from the others."""
    for item in model.derived:
        if item.definition is None:
            raise EvaluationError(f"{item.symbol.name} has no explicit definition")
        table = _tabulate(state, item.symbol, *item.definition, {})
        state = Structure(state.sizes, {**state.tables, item.symbol: table})
    return state


def _tabulate(
    state: Structure, symbol: Symbol, variables: tuple[Var, ...], value: Term, bindings: dict[Var, Value]
) -> Table:
    compiled = Evaluator(state.sizes).compile(value)
    return {
        args: compiled(state, {**bindings, **dict(zip(variables, args, strict=True))})
        for args in argument_tuples(symbol.arguments, state.sizes)
    }


def check_step(model: RelationalModel, before: Structure, step: Step, after: Structure) -> str | None:
    """Does the step lead from one state to the other?"""
    if step.transition not in {transition.name for transition in model.transitions}:
        return f"there is no transition {step.transition}"
    expected = successor(model, before, step)
    if isinstance(expected, str):
        return expected
    for symbol in model.symbols:
        if dict(expected.tables[symbol]) != dict(after.tables[symbol]):
            return f"{step.transition} does not lead to this value of {symbol.name}"
    return check_background(model, after)
