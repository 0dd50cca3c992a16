"""Small instances: protocols in which one sort has a fixed number of elements, which get names; other sorts stay.

This is what a cutoff is about: the small instance is a protocol again, so everything that handles protocols handles it.
Read `quorate.proof.cutoffs` next for when it stands for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from quorate.logic.structures import Structure
from quorate.logic.terms import Apply, Quantified, Sort, Symbol, Term, Var
from quorate.logic.transform import fresh_name, symbols_of
from quorate.models.relational import Named, RelationalModel, Transition, Update


class SmallError(Exception):
    """The protocol has no small instances of this kind; the message says why."""


def flattened(model: RelationalModel) -> RelationalModel:
    """The same protocol without derived symbols: each is replaced by its definition.  What lemmas are on offer is left out."""
    for item in model.derived:
        if item.definition is None:
            raise SmallError(f"{item.symbol.name} has no explicit definition")

    def named(items: tuple[Named, ...]) -> tuple[Named, ...]:
        return tuple(replace(item, formula=model.expand(item.formula)) for item in items)

    transitions = tuple(
        replace(
            transition,
            guard=model.expand(transition.guard),
            updates=tuple(replace(update, value=model.expand(update.value)) for update in transition.updates),
        )
        for transition in model.transitions
    )
    axioms = named(model.axioms)
    if any(symbol.mutable for item in axioms for symbol in symbols_of(item.formula)):
        raise SmallError("an axiom speaks of what can change")
    derived = model.derived_symbols
    return replace(
        model,
        symbols=tuple(symbol for symbol in model.symbols if symbol not in derived),
        derived=(),
        axioms=axioms,
        initial=named(model.initial),
        transitions=transitions,
        safety=named(model.safety),
        invariants=(),
        theorems=(),
        traces=(),
    )


def small_sort(model: RelationalModel, sort: Sort, size: int, name: str | None = None) -> Sort:
    """A sort of exactly `size` elements, with names that the protocol does not use."""
    taken = {symbol.name for symbol in model.symbols} | {e for other in model.sorts for e in other.elements}
    taken |= {choice.name for transition in model.transitions for choice in transition.choices}
    stem = f"{sort.name}_" if sort.name[-1:].isdigit() else sort.name
    while True:
        elements = [f"{stem}{number}" for number in range(1, size + 1)]
        if taken.isdisjoint(elements):
            return Sort(name or sort.name, elements)
        stem = fresh_name(f"{stem}_", taken.__contains__)


def small_instance(
    model: RelationalModel, sort: Sort, target: Sort, rename: Callable[[Symbol], str] = lambda symbol: symbol.name
) -> RelationalModel:
    """The flattened protocol with the elements of `target` in place of those of `sort`, and perhaps with other names."""

    def symbol(old: Symbol) -> Symbol:
        arguments = [target if argument is sort else argument for argument in old.arguments]
        result = target if old.sort is sort else old.sort
        return Symbol(rename(old), arguments, result, old.mutable, old.primes)

    def variable(old: Var) -> Var:
        return Var(old.name, target) if old.sort is sort else old

    memo: dict[Term, Term] = {}

    def term(old: Term) -> Term:
        done = memo.get(old)
        if done is None:
            if isinstance(old, Var):
                done = variable(old)
            elif isinstance(old, Quantified):
                done = type(old)(tuple(map(variable, old.variables)), term(old.body))
            else:
                children = tuple(map(term, old.children))
                enumerated = isinstance(old, Apply) and old.symbol.name in old.symbol.sort.elements
                if isinstance(old, Apply) and not enumerated:
                    done = Apply(symbol(old.symbol), children)
                else:
                    done = old.rebuild(children)
            memo[old] = done
        return done

    def named(items: tuple[Named, ...]) -> tuple[Named, ...]:
        return tuple(replace(item, formula=term(item.formula)) for item in items)

    def transition(old: Transition) -> Transition:
        updates = [
            Update(symbol(update.symbol), tuple(map(variable, update.variables)), term(update.value))
            for update in old.updates
        ]
        return replace(
            old,
            parameters=tuple(map(variable, old.parameters)),
            choices=tuple(map(symbol, old.choices)),
            guard=term(old.guard),
            updates=tuple(updates),
        )

    return replace(
        model,
        sorts=tuple(target if old is sort else old for old in model.sorts),
        symbols=tuple(map(symbol, model.symbols)),
        axioms=named(model.axioms),
        initial=named(model.initial),
        transitions=tuple(map(transition, model.transitions)),
        safety=named(model.safety),
    )


def as_large(state: Structure, sort: Sort, target: Sort) -> Structure:
    """A state of a small instance as a state of the protocol, at the size of the small instance."""

    def symbol(old: Symbol) -> Symbol:
        arguments = [sort if argument is target else argument for argument in old.arguments]
        return Symbol(old.name, arguments, sort if old.sort is target else old.sort, old.mutable, old.primes)

    sizes = {**state.sizes, sort: len(target.elements)}
    tables = {symbol(old): table for old, table in state.tables.items()}
    return Structure(sizes, tables)
