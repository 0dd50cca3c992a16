"""Finite states of the relational languages while they are looked at: tables whose entries are chosen when they are first read.

A `Table` is a relation, function or variable at one moment.  An assignment puts a new table on top of the old one, so that
what the old one leaves open is the same in both, whenever it is asked for.  `expressions` reads the tables, `relational`
makes states of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import product

from quorate.proof.twins import TwinError
from quorate.proof.twins.choices import Choices, Impossible

Value = bool | int
"""A truth value, an integer, or the number of an element of its sort, from 0."""

Arguments = tuple[Value, ...]

BOOL, INT = "bool", "int"

WINDOW = range(-2, 4)
"""The integers that are tried where a text leaves one open."""


class Hole:
    """A sort not known yet."""

    __slots__ = ("link",)

    def __init__(self) -> None:
        self.link: Hole | str | None = None


Kind = Hole | str
"""A sort by its name, or one still to be found out."""


def resolve(kind: Kind) -> Kind:
    while isinstance(kind, Hole) and kind.link is not None:
        kind = kind.link
    return kind


def unify(left: Kind, right: Kind, what: str) -> None:
    """Make two sorts one."""
    left, right = resolve(left), resolve(right)
    if left is right or left == right:
        return
    if isinstance(left, Hole):
        left.link = right
    elif isinstance(right, Hole):
        right.link = left
    else:
        raise TwinError(f"{what} is of sort {left} and of sort {right}")


def sort_of(kind: Kind, what: str) -> str:
    found = resolve(kind)
    if isinstance(found, Hole):
        raise TwinError(f"the sort of {what} is not known")
    return found


@dataclass(eq=False)
class Function:
    """A relation, function or constant of the text.  `computed` gives its values where the language fixes them."""

    name: str
    arguments: tuple[Kind, ...]
    result: Kind
    mutable: bool = False
    computed: Callable[[Arguments], Value] | None = None
    sorts: tuple[str, ...] = field(default=(), init=False)
    """The sorts of the arguments, once all are known."""

    def finish(self) -> None:
        self.sorts = tuple(sort_of(kind, f"an argument of {self.name}") for kind in self.arguments)
        self.result = sort_of(self.result, self.name)


class Domains:
    """How many elements each sort has."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self._values: dict[str, Collection[Value]] = {sort: range(size) for sort, size in sizes.items()}
        self._values[BOOL] = (False, True)
        self._places: dict[tuple[str, ...], list[Arguments]] = {}

    def values(self, sort: str) -> Collection[Value]:
        """All values of a sort."""
        try:
            return self._values[sort]
        except KeyError:
            raise TwinError(f"the sort {sort} is not finite") from None

    def options(self, sort: str) -> Collection[Value]:
        """The values that are tried where any is possible."""
        return WINDOW if sort == INT else self.values(sort)

    def places(self, sorts: tuple[str, ...]) -> list[Arguments]:
        """All tuples of values of the sorts."""
        if sorts not in self._places:
            self._places[sorts] = list(product(*map(self.values, sorts)))
        return self._places[sorts]

    def choose(self, sort: str, choices: Choices) -> Value:
        options = self.options(sort)
        number = choices.choose(len(options))
        return options[number] if isinstance(options, range | tuple) else number


class Table:
    """Values at some places.  What is missing is found in the table below; at the bottom it is chosen.

    `open` are places at which a table does not look below: their values are chosen anew.
    """

    __slots__ = ("base", "choose", "entries", "open")

    def __init__(
        self,
        entries: dict[Arguments, Value],
        choose: Callable[[], Value],
        base: Table | None = None,
        open: Collection[Arguments] = (),
    ) -> None:
        self.entries = entries
        self.choose = choose
        self.base = base
        self.open = open

    def _holder(self, place: Arguments) -> Table:
        """The table that has the value at a place, or that will have it."""
        table = self
        while place not in table.entries and table.base is not None and place not in table.open:
            table = table.base
        return table

    def knows(self, place: Arguments) -> bool:
        return place in self._holder(place).entries

    def read(self, place: Arguments) -> Value:
        entries = self.entries
        if place in entries:
            return entries[place]
        holder = self._holder(place)
        if place not in holder.entries:
            holder.entries[place] = holder.choose()
        return holder.entries[place]

    def make(self, place: Arguments, value: Value) -> None:
        """Let the value at a place be this one, unless it is another one already."""
        holder = self._holder(place)
        if holder.entries.setdefault(place, value) != value:
            raise Impossible

    def assigned(self, entries: dict[Arguments, Value], open: Collection[Arguments] = ()) -> Table:
        """The table after an assignment to some places; at those that are `open` any value may be assigned."""
        return Table(entries, self.choose, self, open)
