"""Sets of states of any number of processes, by what a few of them look like.

A cube names some processes, and for each the local states it may be in (a bit each) and facts about its sets and identities
among the named ones.  It stands for all states, of any size, in which different processes look like that: an upward-closed set.
Read `coverability` next for how such sets are propagated backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from operator import itemgetter
from typing import Any

Fact = tuple[str, int, int]
"""A relation, its owner and another process: the other is in that set of the owner, or is what that identity names."""


@dataclass(frozen=True)
class Cube:
    """`masks[i]` has a bit for each local state that process i may be in; `facts` are known to be so or not."""

    masks: tuple[int, ...]
    facts: frozenset[tuple[Fact, bool]]

    @property
    def size(self) -> int:
        return len(self.masks)

    def weight(self) -> tuple[int, int]:
        """Small cubes first: they stand for more."""
        return len(self.masks), len(self.facts)

    def covers(self, other: Cube) -> bool:
        """Does every state of the other cube belong to this one, by the look of it?"""
        if len(self.masks) > len(other.masks) or len(self.facts) > len(other.facts):
            return False
        fitting = []
        for wide in self.masks:
            narrow = ~wide
            fitting.append([j for j, mask in enumerate(other.masks) if not mask & narrow])
            if not fitting[-1]:
                return False
        return any(self._matches(other, chosen) for chosen in _injections(fitting))

    def _matches(self, other: Cube, chosen: Sequence[int]) -> bool:
        return all(((name, chosen[i], chosen[j]), truth) in other.facts for (name, i, j), truth in self.facts)

    def holds_in(self, view: View) -> bool:
        """Does a view of as many processes, in this order, belong to it?"""
        locals_, true = view
        return all(mask >> local & 1 for mask, local in zip(self.masks, locals_, strict=True)) and all(
            (fact in true) == truth for fact, truth in self.facts
        )

    def only(self, chosen: Sequence[int]) -> Cube:
        """The cube that says nothing but of some of its processes."""
        place = {old: new for new, old in enumerate(chosen)}
        return Cube(
            tuple(self.masks[i] for i in chosen),
            frozenset(((n, place[i], place[j]), t) for (n, i, j), t in self.facts if i in place and j in place),
        )

    def ordered(self) -> Cube:
        """The same set of states, with the processes in an order that does not depend on how it was found (mostly)."""

        def look(process: int) -> tuple[object, ...]:
            own = sorted((n, i == j, t) for (n, i, j), t in self.facts if i == process)
            about = sorted((n, t) for (n, i, j), t in self.facts if j == process and i != process)
            return self.masks[process], own, about

        order = sorted(range(len(self.masks)), key=look)
        place = {old: new for new, old in enumerate(order)}
        return Cube(
            tuple(self.masks[i] for i in order),
            frozenset(((n, place[i], place[j]), t) for (n, i, j), t in self.facts),
        )


View = tuple[tuple[int, ...], frozenset[Fact]]
"""What some processes of one state look like: their local states, and the facts that are true among them."""


def _injections(options: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Different values, one from each list."""

    def extend(chosen: list[int]) -> Iterator[list[int]]:
        if len(chosen) == len(options):
            yield chosen
            return
        for value in options[len(chosen)]:
            if value not in chosen:
                yield from extend([*chosen, value])

    return extend([])


def views(states: Iterable[tuple[Sequence[int], Mapping[Fact, bool]]], size: int) -> set[View]:
    """All views of so many processes of some states, all of the same number of processes; a state gives local states and
    true facts."""
    seen: set[tuple[Any, ...]] = set()
    pick: list[Callable[[list[Any]], tuple[Any, ...]]] = []
    for locals_, facts in states:
        count = len(locals_)
        if not pick:
            for chosen in permutations(range(count), size):
                pick.append(itemgetter(*chosen, *(count + i * count + j for i, j in product(chosen, repeat=2))))
        ties: list[tuple[str, ...]] = [()] * (count * count)
        for name, i, j in sorted(facts):
            ties[i * count + j] += (name,)
        row = [*locals_, *ties]
        seen.update(get(row) for get in pick)
    pairs = list(product(range(size), repeat=2))
    return {
        (
            look[:size],
            frozenset((name, *pair) for pair, names in zip(pairs, look[size:], strict=True) for name in names),
        )
        for look in seen
    }
