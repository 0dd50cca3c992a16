"""Many states of one size at once, as arrays, and what terms mean in all of them.

A term over variables is evaluated for every state and every assignment in one go: states run along the first axis,
assignments along the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import entries
from quorate.logic.structures import EvaluationError, Structure, domain
from quorate.logic.terms import (
    BOOL,
    And,
    Apply,
    Equal,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
)
from quorate.models.relational import RelationalModel

Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class States:
    """`tables` has, for each symbol, an array of its values: states along the first axis, arguments along the others."""

    sizes: Mapping[Sort, int]
    count: int
    tables: Mapping[Symbol, Array]

    def evaluate(self, term: Term, env: Mapping[Var, Any]) -> Array:
        """The values of a term: an array that broadcasts to (states, assignments), or to what the values in `env` do.

        `env` gives each free variable an element, or an array of elements, one per assignment; or an array of more axes, the
        first of which runs along the states.
        """
        arrays = {variable: numpy.asarray(value, numpy.intp) for variable, value in env.items()}
        arrays = {v: a if a.ndim > 1 else a.reshape(1, -1) for v, a in arrays.items()}
        return self._evaluate(term, arrays, max([2, *(a.ndim for a in arrays.values())]))

    def _evaluate(self, term: Term, env: Mapping[Var, Array], axes: int) -> Array:
        match term:
            case Var():
                return env[term]
            case Apply(symbol, args):
                return self._lookup(symbol, [self._evaluate(arg, env, axes) for arg in args], axes)
            case Not(arg):
                return numpy.logical_not(self._evaluate(arg, env, axes))
            case And(args) | Or(args):
                combine = numpy.logical_and if isinstance(term, And) else numpy.logical_or
                result = numpy.full((1,) * axes, isinstance(term, And))
                for arg in args:
                    result = combine(result, self._evaluate(arg, env, axes))
                return result
            case Implies(left, right):
                return numpy.logical_or(
                    numpy.logical_not(self._evaluate(left, env, axes)), self._evaluate(right, env, axes)
                )
            case Iff(left, right) | Equal(left, right):
                return numpy.equal(self._evaluate(left, env, axes), self._evaluate(right, env, axes))
            case If(condition, then, otherwise):
                return numpy.where(*(self._evaluate(part, env, axes) for part in (condition, then, otherwise)))
            case Quantified(variables, body):
                more = axes + len(variables)
                inner = {v: a.reshape(*a.shape, *[1] * len(variables)) for v, a in env.items() if v in body.free}
                inner |= grid(variables, self.sizes, axes, more)
                join = numpy.logical_and if isinstance(term, Forall) else numpy.logical_or
                joined: Array = join.reduce(self._evaluate(body, inner, more), axis=tuple(range(axes, more)))
                return joined
        raise EvaluationError(f"{type(term).__name__} terms have no value in a finite state")

    def _lookup(self, symbol: Symbol, args: Sequence[Array], axes: int) -> Array:
        if not args and symbol.name in symbol.sort.elements:
            return numpy.full((1,) * axes, symbol.sort.elements.index(symbol.name))
        table = self.tables[symbol]
        if not args:
            return table.reshape(-1, *[1] * (axes - 1))
        if all(len(arg) == 1 for arg in args):
            place = sum(arg * prod(table.shape[i + 2 :]) for i, arg in enumerate(args))
            assert isinstance(place, numpy.ndarray)
            lines = table.reshape(len(table), prod(table.shape[1:]))
            return lines[:, place.ravel()].reshape(len(table), *place.shape[1:])
        rows = numpy.arange(len(table)).reshape(-1, *[1] * (axes - 1))
        found: Array = table[(rows, *(arg.astype(numpy.intp, copy=False) for arg in args))]
        return found

    def part(self, start: int, end: int) -> States:
        """Some of the states."""
        chosen = {s: table if len(table) == 1 else table[start:end] for s, table in self.tables.items()}
        return States(self.sizes, end - start, chosen)

    def where(self, chosen: Array) -> States:
        """Those states that are chosen: by truth values, or by numbers."""
        tables = {s: table if len(table) == 1 else table[chosen] for s, table in self.tables.items()}
        return States(self.sizes, int(chosen.sum()) if chosen.dtype == bool else len(chosen), tables)

    def choose(self, random: Random, count: int, among: Array | None = None) -> States:
        """Some of the states, or of those that are `among` them, at random."""
        if among is None and count >= self.count:
            return self
        numbers = numpy.arange(self.count) if among is None else numpy.flatnonzero(among)
        if count >= len(numbers):
            return self.where(numbers)
        generator = numpy.random.default_rng(random.getrandbits(64))
        return self.where(generator.choice(numbers, count, replace=False, shuffle=False))


def grid(variables: Sequence[Var], sizes: Mapping[Sort, int], first: int, axes: int) -> dict[Var, Array]:
    """All values of variables, each along an axis of its own, from axis `first` on, of arrays with so many axes."""
    values = {}
    for axis, variable in enumerate(variables, first):
        size = len(domain(variable.sort, sizes))
        values[variable] = numpy.arange(size).reshape(*[1] * axis, size, *[1] * (axes - axis - 1))
    return values


def shape(symbol: Symbol, sizes: Mapping[Sort, int]) -> tuple[int, ...]:
    return tuple(len(domain(sort, sizes)) for sort in symbol.arguments)


def with_derived(model: RelationalModel, states: States) -> States:
    """The states with the tables of derived symbols."""
    for item in model.derived:
        assert item.definition is not None
        variables, body = item.definition
        sizes = shape(item.symbol, states.sizes)
        indices = numpy.indices(sizes).reshape(len(sizes), prod(sizes))
        values = states.evaluate(body, dict(zip(variables, indices, strict=True)))
        full = numpy.broadcast_to(values, (states.count, prod(sizes)))
        states = States(states.sizes, states.count, {**states.tables, item.symbol: full.reshape(states.count, *sizes)})
    return states


def from_instance(instance: Instance, rows: Array) -> States:
    """States as `Instance.states` gives them."""
    model, sizes = instance.model, instance.sizes
    tables: dict[Symbol, Array] = {}
    column = 0
    for symbol in model.state_symbols:
        width = len(entries(symbol, sizes))
        part = rows[:, column : column + width].reshape(len(rows), *shape(symbol, sizes))
        tables[symbol] = part.astype(bool) if symbol.sort is BOOL else part
        column += width
    worlds = numpy.array([world.values for world in instance.worlds], numpy.uint8).reshape(len(instance.worlds), -1)
    column = 0
    for symbol in instance.rigid_symbols:
        width = len(entries(symbol, sizes))
        part = worlds[rows[:, -1], column : column + width].reshape(len(rows), *shape(symbol, sizes))
        tables[symbol] = part.astype(bool) if symbol.sort is BOOL else part
        column += width
    return with_derived(model, States(sizes, len(rows), tables))


def from_structure(structure: Structure) -> States:
    """A single state."""
    tables = {}
    for symbol, table in structure.tables.items():
        sizes = shape(symbol, structure.sizes)
        values = numpy.zeros((1, *sizes), bool if symbol.sort is BOOL else numpy.uint8)
        for args, value in table.items():
            values[(0, *(int(arg) for arg in args))] = value
        tables[symbol] = values
    return States(structure.sizes, 1, tables)


def in_order(states: States, orders: Mapping[Sort, Symbol]) -> States:
    """The same states with the elements of each ordered sort renumbered by their order."""
    for sort, order in orders.items():
        size = states.sizes[sort]
        below = numpy.broadcast_to(states.tables[order], (states.count, size, size)).copy()
        below[:, range(size), range(size)] = True
        ranks = below.sum(axis=1) - 1
        elements = numpy.argsort(ranks, axis=1)
        if (ranks == numpy.arange(size)).all():
            continue
        tables = {}
        for symbol, table in states.tables.items():
            if sort not in symbol.arguments and symbol.sort is not sort:
                tables[symbol] = table
                continue
            table = numpy.broadcast_to(table, (states.count, *table.shape[1:]))
            for axis, argument in enumerate(symbol.arguments, 1):
                if argument is sort:
                    places = elements.reshape(states.count, *(size if i == axis else 1 for i in range(1, table.ndim)))
                    table = numpy.take_along_axis(table, places, axis)
            if symbol.sort is sort:
                flat = table.reshape(states.count, -1)
                table = numpy.take_along_axis(ranks, flat.astype(numpy.intp), 1).reshape(table.shape)
            tables[symbol] = table
        states = States(states.sizes, states.count, tables)
    return states
