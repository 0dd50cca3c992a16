"""Nondeterministic programs: a function that asks for choices, run once for every way to choose.

The twins are written as if somebody told them every choice: which transition, which arguments, which value of a table that the
text leaves open.  `every` runs such a function again and again, depth first, until all sequences of choices are used up.
A choice that is never asked for costs nothing: so a relation that no axiom looks at is not enumerated on the way.  (The idea is
Korat's: Boyapati, Khurshid and Marinov, ISSTA 2002.)

    >>> list(every(lambda choices: (choices.choose(2), choices.choose(2))))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

Outcome = TypeVar("Outcome")


class Impossible(Exception):
    """The choices so far cannot be made: an assumption fails."""


@dataclass
class _Fork:
    """One choice of a run: the options in the order in which they are tried, and which of them is taken."""

    options: list[int]
    taken: int = 0


class Choices:
    """Answers a program's questions: first as the run before it did, then with the first option each time."""

    def __init__(self, trail: list[_Fork], random: Random | None) -> None:
        self._trail = trail
        self._random = random
        self._asked = 0

    def choose(self, count: int) -> int:
        """A number from 0 to `count` - 1.  Where there is none, the run is impossible."""
        if count == 0:
            raise Impossible
        if count == 1:
            return 0
        if self._asked == len(self._trail):
            options = list(range(count))
            if self._random is not None:
                self._random.shuffle(options)
            self._trail.append(_Fork(options))
        fork = self._trail[self._asked]
        self._asked += 1
        return fork.options[fork.taken]


def every(
    program: Callable[[Choices], Outcome],
    random: Random | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """The outcomes of a program for all sequences of choices, with repetitions; in random order if `random` is given.

    `stop` is asked before every run; so a caller's time limit holds however many runs are impossible.
    """
    trail: list[_Fork] = []
    while not stop():
        with suppress(Impossible):
            yield program(Choices(trail, random))
        while trail and trail[-1].taken + 1 == len(trail[-1].options):
            trail.pop()
        if not trail:
            return
        trail[-1].taken += 1
