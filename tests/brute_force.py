"""Explicit search of small instances by plain enumeration: slow, simple, and independent of every engine.

States are tuples of tables; initial states are found by enumerating one symbol after the other and filtering with the
formulas whose symbols are all known.  Only `logic.structures` is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from quorate.logic.structures import Evaluator, Structure, Value, argument_tuples, domain
from quorate.logic.terms import Sort, Symbol, Term
from quorate.logic.transform import conjuncts, symbols_of
from quorate.models.relational import Derived, Named, RelationalModel, Transition

Tables = dict[Symbol, dict[tuple[Value, ...], Value]]
TOO_MANY_TABLES = 5_000


class TooLarge(Exception):
    """The instance has more states than the search is allowed to look at."""


def all_tables(symbol: Symbol, sizes: Mapping[Sort, int]) -> Iterator[dict[tuple[Value, ...], Value]]:
    places = list(argument_tuples(symbol.arguments, sizes))
    values = domain(symbol.sort, sizes)
    if len(values) ** len(places) > TOO_MANY_TABLES:
        raise TooLarge
    for row in product(values, repeat=len(places)):
        yield dict(zip(places, row, strict=True))


class Explorer:
    """Breadth-first search of one instance."""

    def __init__(self, model: RelationalModel, sizes: Mapping[Sort, int]) -> None:
        self.model = model
        self.sizes = dict(sizes)
        self.evaluator = Evaluator(self.sizes)
        self.work = 0

    def holds(self, formula: Term, tables: Tables) -> bool:
        return bool(self.evaluator.compile(formula)(Structure(self.sizes, tables), {}))

    def initial(self, limit: int) -> list[Tables]:
        """All initial states over all rigid interpretations."""
        formulas = [item.formula for item in (*self.model.background(), *self.model.initial)]
        formulas = [self.model.expand(part) for formula in formulas for part in conjuncts(formula)]
        derived = self.model.derived_symbols
        order = [s for s in self.model.symbols if not s.mutable] + [s for s in self.model.symbols if s.mutable]
        order = [symbol for symbol in order if symbol not in derived]
        elements = {Symbol(name, (), sort) for sort in self.model.sorts for name in sort.elements}
        states: list[Tables] = [{}]
        known: set[Symbol] = set(elements)
        pending = list(formulas)
        for symbol in order:
            known.add(symbol)
            ready = [formula for formula in pending if symbols_of(formula) <= known]
            pending = [formula for formula in pending if not symbols_of(formula) <= known]
            states = [
                extended
                for state in states
                for table in self.candidates(symbol, ready, state)
                for extended in [{**state, symbol: table}]
                if all(self.holds(formula, extended) for formula in ready)
            ]
            if len(states) > limit:
                raise TooLarge
        assert not pending
        return states

    def candidates(
        self, symbol: Symbol, ready: Sequence[Term], tables: Tables
    ) -> Iterator[dict[tuple[Value, ...], Value]]:
        """The tables a symbol may have: a formula that defines it outright leaves just one."""
        for formula in ready:
            definition = Derived(symbol, formula).definition
            if definition is not None:
                variables, value = definition
                compiled = self.evaluator.compile(value)
                structure = Structure(self.sizes, tables)
                places = argument_tuples(symbol.arguments, self.sizes)
                yield {args: compiled(structure, dict(zip(variables, args, strict=True))) for args in places}
                return
        yield from all_tables(symbol, self.sizes)

    def successors(self, tables: Tables) -> Iterator[tuple[Transition, Tables]]:
        for transition in self.model.transitions:
            guard = self.evaluator.compile(self.model.expand(transition.guard))
            values = [(u, self.evaluator.compile(self.model.expand(u.value))) for u in transition.updates]
            places = [domain(parameter.sort, self.sizes) for parameter in transition.parameters]
            for chosen in product(*(all_tables(choice, self.sizes) for choice in transition.choices)):
                structure = Structure(self.sizes, {**tables, **dict(zip(transition.choices, chosen, strict=True))})
                for row in product(*places):
                    self.work += 1
                    env = dict(zip(transition.parameters, row, strict=True))
                    if not guard(structure, env):
                        continue
                    following = dict(tables)
                    for update, value in values:
                        following[update.symbol] = {
                            args: value(structure, {**env, **dict(zip(update.variables, args, strict=True))})
                            for args in tables[update.symbol]
                        }
                    yield transition, following

    def violations(self, properties: Sequence[Named], depth: int, work: int) -> dict[str, int]:
        """The properties that a reachable state violates, with the depth at which, within limits on depth and work."""
        formulas = [(item.name, self.model.expand(item.formula)) for item in properties]
        found: dict[str, int] = {}
        frontier = self.initial(1_000)
        seen = {self.key(tables) for tables in frontier}
        for level in range(depth + 1):
            for tables in frontier:
                for name, formula in formulas:
                    if name not in found and not self.holds(formula, tables):
                        found[name] = level
            following: list[Tables] = []
            for tables in frontier:
                for _, after in self.successors(tables):
                    if self.work > work:
                        return found
                    key = self.key(after)
                    if key not in seen:
                        seen.add(key)
                        following.append(after)
            frontier = following
        return found

    def key(self, tables: Tables) -> tuple[tuple[Value, ...], ...]:
        return tuple(tuple(tables[symbol].values()) for symbol in sorted(tables, key=lambda s: (s.name, s.mutable)))
