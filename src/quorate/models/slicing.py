"""The part of a protocol that its safety properties depend on.

A relation that no guard reads and no property mentions (a log of messages sent, say) changes nothing about what can be
reached elsewhere.  Without it, states are smaller and there is less to speak of.
"""

from __future__ import annotations

from dataclasses import replace

from quorate.logic.terms import Symbol, conj
from quorate.logic.transform import symbols_of
from quorate.models.relational import RelationalModel, Transition


def slice_for_safety(model: RelationalModel) -> RelationalModel:
    """The same protocol without the mutable symbols, and the transitions, that cannot matter to its safety properties.

    Every run of the protocol is a run of the slice, if one looks at the symbols of the slice and leaves out the steps that
    change none of them: what the slice satisfies, the protocol does.
    """
    needed = _needed(model)

    def keeps(symbol: Symbol) -> bool:
        return not symbol.mutable or symbol in needed

    transitions = [_sliced(t, needed) for t in model.transitions if t.modified & needed]
    return replace(
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
