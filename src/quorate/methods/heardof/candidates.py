"""Candidates for lemmas and for U(v) of a round-based algorithm, and states that contradict wrong ones.

Candidates for what holds between phases are templates over the variables of the algorithm: truth values and votes are back
to their first values, times are in the past, values are values.  Candidates for U(v), what guarantees that no other value
than v can be decided any more, are built from the bounds that the algorithm itself compares with.  What a reachable state of
a small instance contradicts is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from quorate.engines.rounds.search import Search, State
from quorate.models import rounds as r
from quorate.models.evaluation import Machine, World, settings
from quorate.models.quorum_sets import bounds_of
from quorate.models.rounds import Node, RoundModel

MOST_STATES = 4000
"""How many states of a small instance candidates are compared with."""

MOST_TRIES = 6
"""How many forms of U(v) are put to the solvers."""


def _all(body: Node) -> Node:
    return r.Quantified(True, ("p",), body)


def _of(name: str, process: str = "p") -> Node:
    return r.VariableOf(name, r.Bound(process))


def between_phases(model: RoundModel) -> Iterator[tuple[str, Node]]:
    """What may hold between two phases, by the kind of the variables."""
    for item in model.variables:
        mine = _of(item.name)
        if item.kind == "bool":
            yield f"{item.name}_false", _all(r.Operation("not", (mine,)))
            yield f"{item.name}_true", _all(mine)
        elif item.kind == "time":
            yield f"{item.name}_past", _all(r.Operation("<", (mine, r.Phase())))
        elif item.kind == "optional":
            yield f"{item.name}_empty", _all(r.Operation("=", (mine, r.Nothing())))
        elif item.kind == "value":
            yield f"{item.name}_value", _all(r.Operation("!=", (mine, r.Nothing())))


def univalences(model: RoundModel) -> Iterator[Node]:
    """What may guarantee that only v can be decided: simple forms first, then two of them."""
    v = r.Bound("v")
    values = [item.name for item in model.variables if item.kind == "value"]
    times = [item.name for item in model.variables if item.kind == "time"]
    bounds = bounds_of(model)
    simple: list[Node] = []
    for x in values:
        simple.append(_all(r.Operation("=", (_of(x), v))))
        for operator, bound in bounds:
            have = r.Counting("q", r.Operation("=", (_of(x, "q"), v)))
            simple.append(r.Operation(operator, (have, bound)))
        for ts in times:
            differs = r.Operation("!=", (_of(x), v))
            for operator, bound in bounds:
                later = _all(r.Operation("->", (differs, r.Operation("<", (_of(ts), _of(ts, "q"))))))
                simple.append(r.Operation(operator, (r.Counting("q", later), bound)))
                fresh = _all(r.Operation("->", (differs, r.Operation("=", (_of(ts), r.Number(0))))))
                have = r.Counting("q", r.Operation("=", (_of(x, "q"), v)))
                simple.append(r.Operation("and", (r.Operation(operator, (have, bound)), fresh)))
    yield from simple
    for first, second in combinations(simple, 2):
        yield r.Operation("or", (first, second))


class Samples:
    """Reachable states between the phases of small instances, as many as so much processor time allows."""

    def __init__(self, model: RoundModel, sizes: Sequence[int] = (2, 3, 4), seconds: float = 5.0) -> None:
        self.machine = Machine(model)
        self.states: list[tuple[int, dict[str, int], State]] = []
        plain = replace(model, invariants=(), safety=())
        ends = time.process_time() + seconds
        begun = time.process_time()
        for n in sizes:
            if time.process_time() - begun > seconds / 10:
                return
            for parameters in settings(model, n):
                if time.process_time() > ends:
                    return
                self._collect(Search(Machine(plain), n, parameters, forget=False), ends)

    def _collect(self, search: Search, ends: float) -> None:
        if search.communication.of_several:
            return
        taken = 0
        for layer in search.layers():
            for state in layer:
                if state.round == 0:
                    self.states.append((search.n, dict(search.parameters), state))
                    taken += 1
            if taken > MOST_STATES or time.process_time() > ends:
                return

    def _worlds(self) -> Iterator[World]:
        for n, parameters, state in self.states:
            yield World(n, parameters, state.phase, state.processes, state.shared)

    def allow(self, formula: Node) -> bool:
        """Does the formula hold in all of them?"""
        test = self.machine.function(formula)
        return all(test(world) for world in self._worlds())

    def allow_univalence(self, formula: Node) -> bool:
        """Does it hold of every value that has been decided?"""
        test = self.machine.function(formula)
        decision = self.machine.decision
        for world in self._worlds():
            for value in {process[decision] for process in world.processes} - {0}:
                world.bound = {"v": value}
                if not test(world):
                    return False
        return True

    def selects(self, formula: Node) -> int:
        """In how many of them it holds of some value: the fewer, the stronger."""
        test = self.machine.function(formula)
        found = 0
        for world in self._worlds():
            for value in range(1, world.n + 1):
                world.bound = {"v": value}
                found += bool(test(world))
        return found
