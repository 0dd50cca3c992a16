"""The part of a protocol that its safety properties depend on.

A relation that no guard reads and no property mentions (a log of messages sent, say) changes nothing about what can be
reached elsewhere.  Without it, states are smaller and there is less to speak of.  Nor does it matter that the functions which
a step looks values up in are elements of a sort, if nobody remembers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quorate.logic.terms import Apply, Sort, Symbol, Term, Var, conj
from quorate.logic.transform import replace_symbols, sorts_of, subterms, symbols_of
from quorate.models.relational import RelationalModel, Transition


def slice_for_safety(model: RelationalModel) -> RelationalModel:
    """The same protocol without the mutable symbols, and the transitions, that cannot matter to its safety properties.

    Every run of the protocol is a run of the slice, if one looks at the symbols of the slice and leaves out the steps that
    change none of them: what the slice satisfies, the protocol does.  Conversely, a run of the slice is a run of the protocol
    over sizes that are large enough.
    """
    needed = _needed(model)

    def keeps(symbol: Symbol) -> bool:
        return not symbol.mutable or symbol in needed

    transitions = [_sliced(t, needed) for t in model.transitions if t.modified & needed]
    found = replace(
        model,
        symbols=tuple(filter(keeps, model.symbols)),
        derived=tuple(item for item in model.derived if keeps(item.symbol)),
        axioms=tuple(item for item in model.axioms if all(map(keeps, symbols_of(item.formula)))),
        initial=tuple(item for item in model.initial if all(map(keeps, symbols_of(item.formula)))),
        transitions=tuple(transitions),
        invariants=tuple(item for item in model.invariants if all(map(keeps, symbols_of(item.formula)))),
        theorems=(),
        traces=(),
    )
    for sort in found.sorts:
        found = _without_lookups(found, sort) or found
    return found


def _without_lookups(model: RelationalModel, sort: Sort) -> RelationalModel | None:
    """The model with the tables that elements of a sort stand for chosen anew in each step, and without the sort.

    None unless all that is ever asked of an element, a parameter, is what its tables say: rigid symbols about which there is
    no axiom.
    """
    tables = [symbol for symbol in model.symbols if sort in symbol.arguments]
    if not tables or any(t.mutable or t.arguments.count(sort) > 1 for t in tables):
        return None
    named = (*model.axioms, *model.initial, *model.safety, *model.invariants)
    elsewhere = [item.formula for item in named] + [item.formula for item in model.derived]
    others = [symbol for symbol in model.symbols if symbol not in tables]
    if sort in sorts_of(*elsewhere) or any(symbol.sort is sort for symbol in others):
        return None
    transitions = [_with_choices(transition, sort, tables) for transition in model.transitions]
    if any(transition is None for transition in transitions):
        return None
    return replace(
        model,
        sorts=tuple(s for s in model.sorts if s is not sort),
        symbols=tuple(others),
        transitions=tuple(t for t in transitions if t is not None),
    )


def _with_choices(transition: Transition, sort: Sort, tables: Sequence[Symbol]) -> Transition | None:
    """The transition with choices for what it looks up in its parameter of a sort; None if it uses that in another way."""
    parameters = [p for p in transition.parameters if p.sort is sort]
    formulas = [transition.guard, *(update.value for update in transition.updates)]
    if not parameters:
        return transition if sort not in sorts_of(*formulas) else None
    lookups = [term for term in subterms(*formulas) if isinstance(term, Apply) and term.symbol in tables]
    if any(lookup.args[lookup.symbol.arguments.index(sort)] is not parameters[0] for lookup in lookups):
        return None
    chosen: dict[Symbol, tuple[tuple[Var, ...], Term]] = {}
    choices = []
    for table in symbols_of(*formulas).intersection(tables):
        variables = tuple(Var(f"X{i}", argument) for i, argument in enumerate(table.arguments))
        rest = tuple(variable for variable in variables if variable.sort is not sort)
        choice = Symbol(f"{table.name}@{parameters[0].name}", tuple(v.sort for v in rest), table.sort)
        choices.append(choice)
        chosen[table] = variables, choice(*rest)
    updates = [replace(update, value=replace_symbols(update.value, chosen)) for update in transition.updates]
    guard = replace_symbols(transition.guard, chosen)
    if sort in sorts_of(guard, *(update.value for update in updates)):
        return None
    left = tuple(p for p in transition.parameters if p not in parameters)
    choices.sort(key=lambda choice: choice.name)
    return replace(
        transition, parameters=left, choices=(*transition.choices, *choices), guard=guard, updates=tuple(updates)
    )


def _needed(model: RelationalModel) -> set[Symbol]:
    """The symbols of the properties, and all that decides how a needed one begins and changes."""
    needed = {symbol for item in model.safety for symbol in symbols_of(item.formula)}
    while True:
        wanted = set(needed)
        for group in (model.derived, model.axioms, model.initial):
            for item in group:
                symbols = {symbol for symbol in symbols_of(item.formula) if symbol.mutable}
                if symbols & needed:
                    wanted |= symbols
        for transition in model.transitions:
            if transition.modified & needed:
                updates = [update.value for update in transition.updates if update.symbol in needed]
                for formula in (transition.guard, *updates):
                    wanted |= symbols_of(formula)
        if wanted == needed:
            return needed
        needed = wanted


def _sliced(transition: Transition, needed: set[Symbol]) -> Transition:
    updates = tuple(update for update in transition.updates if update.symbol in needed)
    used = conj(transition.guard, *(update.formula() for update in updates))
    return replace(
        transition,
        parameters=tuple(p for p in transition.parameters if p in used.free),
        choices=tuple(c for c in transition.choices if c in symbols_of(used)),
        updates=updates,
    )
