"""Backwards from the violations, for every number of processes at once.

Cubes stand for upward-closed sets of states (`cubes`), and what leads into one in a step is cubes again (`backwards`).  This is
the backward search of well-structured transition systems (Abdulla et al., LICS 1996) with monotonic abstraction.  When nothing
new turns up and no cube contains an initial state, no run of any size violates the property, and the cubes say why: that none of
them is ever entered is an inductive invariant.  `invariant` turns it into formulas for the checker of certificates.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeVar

from quorate.methods.phases.backwards import Backwards
from quorate.methods.phases.cubes import Cube, View
from quorate.methods.phases.locals import LocalStates
from quorate.models.process import (
    Combination,
    Count,
    Specification,
)

Item = TypeVar("Item")


class NotUpwardClosed(Exception):
    """A violation that more processes can undo, as of `atleast`."""


def violations(states: LocalStates, item: Specification) -> list[Cube]:
    """Cubes that together contain exactly the states in which a specification does not hold."""
    found = []
    for needs in _needs(states, item, False):
        lists: list[tuple[int, ...]] = [()]
        for number, mask in needs:
            lists = [more for masks in lists for more in _placed(masks, number, mask)]
        found += [Cube(tuple(sorted(masks)), frozenset()) for masks in lists if all(masks)]
    return list(dict.fromkeys(found))


def _needs(states: LocalStates, item: Specification, truth: bool) -> list[list[tuple[int, int]]]:
    """When a specification is true (or false): alternatives, each a list of so many processes in a mask."""
    if isinstance(item, Count):
        if item.most == truth:
            raise NotUpwardClosed
        return [[(item.number + item.most, states.described(item))]]
    assert isinstance(item, Combination)
    if item.operator == "!":
        return _needs(states, item.operands[0], not truth)
    parts = [_needs(states, operand, truth) for operand in item.operands]
    if (item.operator == "|") == truth:
        return [needs for part in parts for needs in part]
    return [[need for needs in chosen for need in needs] for chosen in product(*parts)]


def _placed(masks: tuple[int, ...], number: int, mask: int) -> Iterator[tuple[int, ...]]:
    """Ways in which some of the processes so far, and new ones, are together `number` processes in the mask."""
    for reused in range(min(number, len(masks)) + 1):
        for chosen in combinations(range(len(masks)), reused):
            kept = tuple(old & mask if i in chosen else old for i, old in enumerate(masks))
            yield kept + (mask,) * (number - reused)


@dataclass(frozen=True)
class Limits:
    """When to give up: after so many cubes, beyond so many processes in one, after so many wrong guesses, at a time.

    `spent` is about the processor time of this process, so that what is found does not depend on what else runs.
    """

    cubes: int = 3000
    processes: int = 7
    guesses: int = 200
    ends: float = float("inf")
    spent: float = float("inf")


@dataclass(frozen=True)
class Found:
    """The end of a search: `closed` if nothing new turned up; else `reason` says what stopped it.

    `reached` is the number of processes with which an initial state was reached, in the abstraction.
    """

    closed: bool
    cubes: tuple[Cube, ...]
    reason: str = ""
    reached: int | None = None


class Search:
    """Cubes backwards from violations, made as weak as known reachable states allow.

    A cube that was made weaker is a guess.  Where a run leads from an initial state into a guess, the guess is taken back
    and the search begins again, so that only runs into a violation are believed.
    """

    def __init__(
        self, backwards: Backwards, samples: dict[int, set[View]], limits: Limits, turned: bool = False
    ) -> None:
        self.backwards, self.states = backwards, backwards.states
        self.samples, self.limits = samples, limits
        self.turned = turned
        """Whether guesses are tried in the opposite order: where one order leads astray, the other may not."""
        self.wrong: list[Cube] = []
        self.guesses = 0
        self._restart()

    def _restart(self) -> None:
        self.cubes: list[Cube] = []
        self.todo: list[tuple[tuple[int, int], int, Cube]] = []
        self.dropped: set[Cube] = set()
        self.origin: dict[Cube, tuple[Cube, bool]] = {}
        """For each cube one that it leads to in a step, and whether it is a guess."""
        self.count = 0

    def run(self, bad: Iterable[Cube], watch: Callable[[str], None] = lambda text: None) -> Found:
        """Search until nothing new turns up, or an initial state does."""
        listed = list(bad)
        while True:
            found, last = self._attempt(listed, watch)
            if last is None:
                return found
            guess = self._first_guess(last)
            if guess is None:
                return found
            self.wrong.append(guess)
            self.guesses += 1
            if self.guesses > self.limits.guesses:
                return Found(False, found.cubes, "too many guesses were wrong", found.reached)
            self._restart()

    def _first_guess(self, cube: Cube | None) -> Cube | None:
        """On the way from an initial state to a violation, the first cube that was a guess."""
        while cube is not None and cube in self.origin:
            following, guessed = self.origin[cube]
            if guessed:
                return cube
            cube = following
        return None

    def _attempt(self, bad: Sequence[Cube], watch: Callable[[str], None]) -> tuple[Found, Cube | None]:
        """One search, and where an initial state turned up, the cube that it leads to in a step."""
        for cube in bad:
            if self.initial(cube):
                return Found(False, (), "an initial state violates it", cube.size), None
            self.add(cube)
        while self.todo:
            _, _, cube = heapq.heappop(self.todo)
            if cube in self.dropped:
                continue
            for before in self.backwards.before(cube):
                if self.initial(before):
                    reason = "the abstraction has a run to a violation"
                    return Found(False, tuple(self.cubes), reason, before.size), cube
                if self.covered(before):
                    continue
                weaker = self.weaken(before)
                if weaker.size > self.limits.processes:
                    reason = f"the search needs more than {self.limits.processes} processes at once"
                    return Found(False, tuple(self.cubes), reason), None
                self.add(weaker, cube, weaker != before)
            watch(f"{len(self.cubes)} cubes, {len(self.todo)} to look at, {self.guesses} wrong guesses")
            if self.count > self.limits.cubes:
                return Found(False, tuple(self.cubes), f"more than {self.limits.cubes:,} cubes"), None
            if time.monotonic() > self.limits.ends or time.process_time() > self.limits.spent:
                return Found(False, tuple(self.cubes), "the time is up"), None
        return Found(True, tuple(self.cubes)), None

    def initial(self, cube: Cube) -> bool:
        return all(mask >> self.states.initial & 1 for mask in cube.masks) and not any(t for _, t in cube.facts)

    def covered(self, cube: Cube) -> bool:
        return any(known.covers(cube) for known in self.cubes)

    def add(self, cube: Cube, following: Cube | None = None, guessed: bool = False) -> None:
        cube = cube.ordered()
        if self.covered(cube):
            return
        self.count += 1
        kept = []
        for known in self.cubes:
            if cube.covers(known):
                self.dropped.add(known)
            else:
                kept.append(known)
        self.cubes = [*kept, cube]
        self.dropped.discard(cube)
        if following is not None:
            self.origin[cube] = following, guessed
        heapq.heappush(self.todo, (cube.weight(), self.count, cube))

    # -- making cubes weaker -------------------------------------------------------------------------------------------

    def unseen(self, cube: Cube) -> bool:
        """Is there a sample that could show a state of this cube to be reachable, and none that does?"""
        if cube.size not in self.samples or self.initial(cube):
            return False
        return not any(cube.holds_in(view) for view in self.samples[cube.size]) and not self._known_wrong(cube)

    def _known_wrong(self, cube: Cube) -> bool:
        return any(cube.covers(wrong) for wrong in self.wrong)

    def _order(self, items: Iterable[Item]) -> list[Item]:
        return list(items)[:: -1 if self.turned else 1]

    def shrink(self, cube: Cube) -> Cube:
        """As few of its processes as no reachable state is known to have."""
        for size in sorted(self.samples):
            if size < cube.size:
                for chosen in self._order(combinations(range(cube.size), size)):
                    smaller = cube.only(chosen)
                    if self.unseen(smaller):
                        return smaller
        return cube

    def weaken(self, cube: Cube) -> Cube:
        """Fewer processes, fewer facts, more local states, as long as no reachable state is known to look like it."""
        if not self.samples:
            return cube
        cube = self.shrink(cube)
        if cube.size not in self.samples:
            return cube
        for fact in self._order(sorted(cube.facts)):
            weaker = Cube(cube.masks, cube.facts - {fact})
            if self.unseen(weaker):
                cube = weaker
        for process in range(cube.size):
            cube = self._wider(cube, process)
        return cube

    def _wider(self, cube: Cube, process: int) -> Cube:
        """All local states of a process with which the rest of the cube was never seen."""
        open_ = Cube(
            tuple(self.states.everything if i == process else mask for i, mask in enumerate(cube.masks)), cube.facts
        )
        seen = 0
        for view in self.samples[cube.size]:
            if open_.holds_in(view):
                seen |= 1 << view[0][process]
        masks = list(cube.masks)
        masks[process] |= self.states.everything & ~seen
        wider = Cube(tuple(masks), cube.facts)
        return cube if self.initial(wider) or self._known_wrong(wider) else wider


def needed(backwards: Backwards, bad: Iterable[Cube], cubes: Sequence[Cube]) -> dict[Cube, list[Cube]]:
    """Of cubes that nothing leads into from outside, some that have this property by themselves and cover the violations.

    For each of them: those that its predecessors belong to.
    """
    chosen: dict[Cube, list[Cube]] = {}
    ranked = sorted(cubes, key=Cube.weight)
    todo: list[Cube] = []

    def cover(cube: Cube) -> Cube:
        found = next((known for known in chosen if known.covers(cube)), None)
        if found is None:
            found = next(known for known in ranked if known.covers(cube))
            chosen[found] = []
            todo.append(found)
        return found

    for cube in bad:
        cover(cube)
    while todo:
        cube = todo.pop()
        chosen[cube] = list(dict.fromkeys(cover(before) for before in backwards.before(cube)))
    return chosen
