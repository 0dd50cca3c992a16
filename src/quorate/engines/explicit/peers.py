"""Things that are alike and that states speak of, as the processes of a program: one state for all that renaming leads to.

What can be said of a thing without names, its look, is its own fields, what it says about itself, and how it and the others,
by their looks, speak of each other.  Renaming does not change looks, so only orders of things by their looks are tried, and
of two things that can change places without any difference only one order.  `peers.c` is the same in compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import factorial, prod

MOST, MOST_TIES = 20, 32
"""So many things, with so many fields about another one or that may name it, are counted in a word."""


@dataclass(frozen=True)
class Peers:
    """For each thing the fields that are its own, those that hold the name of a thing (0: none, else its number and one), and
    for each thing the fields about that one, which have two values."""

    own: tuple[tuple[int, ...], ...]
    names: tuple[tuple[int, ...], ...]
    about: tuple[tuple[tuple[int, ...], ...], ...]

    def __len__(self) -> int:
        return len(self.own)

    @property
    def too_large(self) -> str:
        """Why no symmetry can be used, or nothing."""
        ties = len(self.names[0]) + len(self.about[0][0])
        return (
            f"{len(self)} processes with {ties} sets and names are too many"
            if len(self) > MOST or ties > MOST_TIES
            else ""
        )

    def images(self, values: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The state with its things in the order of their looks, in each way that there is."""
        view = _View(self, values)
        groups: dict[int, list[int]] = {}
        for thing, look in enumerate(view.looks):
            groups.setdefault(look, []).append(thing)
        ordered = [list(_orders(groups[look], view.twin)) for look in sorted(groups)]
        for chosen in product(*ordered):
            yield self._image(values, [thing for order in chosen for thing in order])

    def _image(self, values: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
        result = list(values)
        place = {old: new for new, old in enumerate(order)}
        for new, old in enumerate(order):
            for to, field in zip(self.own[new], self.own[old], strict=True):
                result[to] = values[field]
            for to, field in zip(self.names[new], self.names[old], strict=True):
                result[to] = values[field] and place[values[field] - 1] + 1
            for other, target in place.items():
                for to, field in zip(self.about[new][target], self.about[old][other], strict=True):
                    result[to] = values[field]
        return tuple(result)

    def orbit(self, values: Sequence[int], smallest: tuple[int, ...]) -> int:
        """How many states renaming makes of one, whose smallest image is given."""
        view = _View(self, values)
        twins = prod(factorial(view.twin.count(thing)) for thing in set(view.twin))
        same = sum(image == smallest for image in self.images(values))
        return factorial(len(self)) // (twins * same)


def _orders(things: Sequence[int], twin: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All orders of things, of twins always the smaller one first."""
    if not things:
        yield ()
    for i, first in enumerate(things):
        if all(twin[first] != twin[other] for other in things[:i]):
            for others in _orders([*things[:i], *things[i + 1 :]], twin):
                yield first, *others


class _View:
    """What a state says about its things: ties between them, looks, and the smallest twin of each."""

    def __init__(self, peers: Peers, values: Sequence[int]) -> None:
        self.everything = range(len(peers))
        self.own = [tuple(values[field] for field in fields) for fields in peers.own]
        self.ties = [[self._tie(peers, values, i, j) for j in self.everything] for i in self.everything]
        self.looks = [self._start(own) for own in self.own]
        for _ in range(2):
            self.looks = [self._finer(i) for i in self.everything]
        self.twin = [next(j for j in self.everything if j == i or self._alike(i, j)) for i in self.everything]

    def _tie(self, peers: Peers, values: Sequence[int], i: int, j: int) -> int:
        tie = 0
        for field in peers.about[i][j]:
            tie = tie << 1 | values[field]
        for field in peers.names[i]:
            tie = tie << 1 | (values[field] == j + 1)
        return tie

    def _both(self, i: int, j: int) -> int:
        return self.ties[i][j] | self.ties[j][i] << 32

    def _start(self, own: Sequence[int]) -> int:
        look = 1
        for value in own:
            look = _mix(look + value)
        return look

    def _finer(self, i: int) -> int:
        others = sum(_mix(self._both(i, j) ^ _mix(self.looks[j])) for j in self.everything if j != i)
        return _mix(self.looks[i] + _mix(self.ties[i][i]) + others)

    def _alike(self, i: int, j: int) -> bool:
        """Can two things change places, and nothing changes?"""
        ties = self.ties
        return (
            (self.looks[i], self.own[i], ties[i][i], ties[i][j]) == (self.looks[j], self.own[j], ties[j][j], ties[j][i])
        ) and all(self._both(i, r) == self._both(j, r) for r in self.everything if r not in (i, j))


def _mix(x: int) -> int:
    """The bits of a number stirred, in 64 bits; `common.c` has the same."""
    mask = (1 << 64) - 1
    x &= mask
    x ^= x >> 32
    x = x * 0x9E3779B97F4A7C15 & mask
    x ^= x >> 29
    x = x * 0xBF58476D1CE4E5B9 & mask
    return x ^ x >> 32
