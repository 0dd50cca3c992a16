"""How large the formulas of a language may be, and in which order that grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from math import comb, prod

from quorate.logic.terms import Quantified, Sort
from quorate.logic.transform import conjuncts, subterms
from quorate.methods.inference.library import LONGEST
from quorate.models.relational import RelationalModel

AT_FIRST = 7
"""How many variables the first clauses have at most, in all."""


@dataclass(frozen=True)
class Shape:
    """How large the formulas of a language may be: literals, variables per sort, and variables in all; and literals and
    variables together, if that is less."""

    variables: Mapping[Sort, int]
    literals: int
    total: int
    weight: int | None = None

    def __str__(self) -> str:
        counts = ", ".join(f"{n} of {sort}" for sort, n in self.variables.items())
        together = f" ({self.weight} in all)" if self.weight is not None else ""
        return f"clauses of {self.literals} literals, {self.total} variables{together}: {counts}"


def shapes(model: RelationalModel) -> Iterator[Shape]:
    """Growing shapes, one literal or variable more at a time.

    The first has as many variables of a sort as a relation, or a safety property, speaks of at once; none of a sort that
    neither a property nor what can change speaks of.
    """
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    formulas = [part for item in model.safety for part in conjuncts(item.formula)]

    def at_once(sort: Sort) -> int:
        counts = [sum(argument is sort for argument in symbol.arguments) for symbol in model.symbols]
        for term in subterms(*formulas):
            if isinstance(term, Quantified):
                counts.append(sum(variable.sort is sort for variable in term.variables))
        return max([1, *counts]) if sort in spoken else 0

    spoken = {sort for symbol in model.symbols if symbol.mutable for sort in (*symbol.arguments, symbol.sort)}
    spoken |= {
        variable.sort for term in subterms(*formulas) if isinstance(term, Quantified) for variable in term.variables
    }
    variables = {sort: at_once(sort) for sort in sorts}
    yield from growing(model, Shape(variables, 3, min(AT_FIRST, sum(variables.values()))))


def light_shapes(model: RelationalModel) -> Iterator[Shape]:
    """Growing shapes of clauses with many literals or many variables, but not both; all sorts have equally many at first."""
    spoken = {sort for sort, number in next(shapes(model)).variables.items() if number}
    for rank in count(5):
        for each in range(2, 2 + (rank - 3) // 2):
            weight = rank - 2 * (each - 2)
            variables = {sort: each if sort in spoken else 0 for sort in model.sorts if sort.uninterpreted}
            most = min(weight - 2, sum(variables.values()))
            yield Shape(variables, min(LONGEST, weight - 2), most, weight)


def growing(model: RelationalModel, first: Shape) -> Iterator[Shape]:
    """A shape and larger ones, those of the same rank by the number of their clauses."""

    def rank(shape: Shape) -> tuple[int, int]:
        atoms = sum(prod(1 + shape.variables.get(s, 1) for s in symbol.arguments) for symbol in model.symbols)
        return shape.literals + shape.total + sum(shape.variables.values()), comb(2 * atoms, shape.literals)

    queue = [first]
    seen: set[tuple[tuple[int, ...], int, int]] = set()
    while queue:
        shape = min(queue, key=rank)
        queue.remove(shape)
        yield shape
        variables, literals, total = shape.variables, shape.literals, shape.total
        following = [Shape(variables, literals + 1, total)] if literals < LONGEST else []
        following += [Shape(variables, literals, total + 1)] if total < sum(variables.values()) else []
        for sort, number in variables.items():
            more = total + 1 if total == sum(variables.values()) else max(total, number + 1)
            following.append(Shape({**variables, sort: number + 1}, literals, more))
        for item in following:
            key = tuple(item.variables.values()), item.literals, item.total
            if key not in seen:
                seen.add(key)
                queue.append(item)
