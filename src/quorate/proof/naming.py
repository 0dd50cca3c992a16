"""Names for the elements of a finite instance, the same wherever a trace is shown, saved or asked about.

`node0, node1, ...`: like a reader would write them, and never the name of something the protocol declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from quorate.logic.structures import Value
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.models.relational import RelationalModel

Names = Mapping[Sort, tuple[str, ...]]
"""The elements of each sort, in the order of their indices."""


def element_names(model: RelationalModel, sizes: Mapping[Sort, int]) -> dict[Sort, tuple[str, ...]]:
    """Distinct names for the elements of every sort that has a size; an enumerated sort uses its own."""
    taken = {symbol.name for symbol in model.symbols} | {sort.name for sort in model.sorts}
    taken.update(element for sort in model.sorts for element in sort.elements)
    names: dict[Sort, tuple[str, ...]] = {}
    for sort in model.sorts:
        if sort.elements:
            names[sort] = sort.elements
        elif sort in sizes:
            names[sort] = _numbered(sort, sizes[sort], taken)
            taken.update(names[sort])
    return names


def _numbered(sort: Sort, size: int, taken: set[str]) -> tuple[str, ...]:
    """`node0`, or `node_0`, `node__0`, ... where one of the former is taken."""
    candidates = (tuple(f"{sort.name}{'_' * marks}{i}" for i in range(size)) for marks in count())
    return next(names for names in candidates if taken.isdisjoint(names))


def value_name(value: Value, sort: Sort, names: Names) -> str:
    """A value of the given sort as text."""
    if sort is BOOL:
        return "true" if value else "false"
    return str(value) if sort is INT else names[sort][value]


def is_element(symbol: Symbol) -> bool:
    """Is this the constant that stands for an element of an enumerated sort?"""
    return not symbol.arguments and symbol.name in symbol.sort.elements
