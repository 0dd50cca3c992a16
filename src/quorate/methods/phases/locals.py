"""The local states of one process of a Mercury program, and how paths lead between them.

A local state is a point and the values of the integers; sets and identities are facts about several processes and are
left to `coverability`.  What a path asks about them stays behind as a condition, once the integers have been put in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from quorate.models.process import (
    Arithmetic,
    Comparison,
    Consensus,
    Count,
    Expression,
    Junction,
    Negation,
    Number,
    Read,
    Self,
    Truth,
    arithmetic,
    compare,
    constant,
    wrap,
)
from quorate.models.process_counting import AllSizes
from quorate.models.process_steps import Contains, Full, Incoming, Path, Point, Term, Wrapped, leaves

MOST_LOCAL_STATES = 4000


class TooManyLocalStates(Exception):
    """The integers of the program have too many values together."""


@dataclass(frozen=True)
class Move:
    """The ways in which a path leads from local states to local states while its event brings one value.

    `condition` is what is left of the guard: it speaks of sets and identities only.
    """

    path: Path
    value: int | None
    condition: Term
    edges: tuple[tuple[int, int], ...]

    def before(self, mask: int) -> int:
        """The local states from which it leads into the mask."""
        found = 0
        for source, target in self.edges:
            if mask >> target & 1:
                found |= 1 << source
        return found


class LocalStates:
    """All local states that a process can be in, as far as each integer's values at each point tell."""

    def __init__(self, steps: AllSizes) -> None:
        self.steps, self.model = steps, steps.model
        self.integers = [variable.name for variable in steps.variables if variable.kind == "int"]
        self.relations = {variable.name: variable.kind for variable in steps.variables if variable.kind != "int"}
        self.first = {v.name: constant(v.initial, 1) for v in steps.variables if v.kind == "int"}
        self.values: dict[Point, dict[str, set[int]]] = {point: {} for point in steps.points}
        self._spread()
        self.states: list[tuple[Point | None, tuple[int, ...]]] = [(None, tuple(self.first.values()))]
        for point in steps.points:
            if self.reached(point):
                self.states += [(point, values) for values in self._valuations(point)]
        if len(self.states) > MOST_LOCAL_STATES:
            raise TooManyLocalStates(f"a process has more than {MOST_LOCAL_STATES:,} local states")
        self.index = {state: i for i, state in enumerate(self.states)}
        self.everything = (1 << len(self.states)) - 1
        self.crashed = 1
        """The mask of the one crashed state, which has number 0."""
        self.initial = self.index[Point(self.model.initial.name), tuple(self.first.values())]
        self.moves = [move for path in steps.paths for move in self._moves(path)]

    def reached(self, point: Point) -> bool:
        return all(name in self.values[point] for name in self.integers) and (
            bool(self.integers) or "" in self.values[point]
        )

    def _valuations(self, point: Point) -> Iterator[tuple[int, ...]]:
        return product(*(sorted(self.values[point][name]) for name in self.integers))

    def _spread(self) -> None:
        """The values of each integer at each point: everything that some path may leave there."""
        start = self.values[Point(self.model.initial.name)]
        start[""] = {0}
        for name, value in self.first.items():
            start[name] = {value}
        todo = [Point(self.model.initial.name)]
        while todo:
            source = todo.pop()
            for path in self.steps.paths:
                if path.source != source:
                    continue
                there = self.values[path.target]
                size = sum(map(len, there.values()))
                for after, _, _ in self._runs(path):
                    there.setdefault("", set()).add(0)
                    for name, value in zip(self.integers, after, strict=True):
                        there.setdefault(name, set()).add(value)
                if sum(map(len, there.values())) > size and path.target not in todo:
                    todo.append(path.target)

    def _runs(self, path: Path) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int | None, Term]]]:
        """Values after and before a path, what its event brings, and what is left of its guard."""
        for value in self._brings(path):
            for before in self._valuations(path.source):
                known = dict(zip(self.integers, before, strict=True))
                condition = self._rest(path, known, value)
                if condition == Truth(False):
                    continue
                after = tuple(
                    self._integer(path.updates[name], known, value) if name in path.updates else known[name]
                    for name in self.integers
                )
                yield after, before, (value, condition)

    def _brings(self, path: Path) -> list[int | None]:
        """The payloads that a message may have, or the values that may be decided."""
        bounds = None
        if path.trigger == "receive":
            bounds = self.model.action(path.event).bounds
        elif path.trigger == "decide":
            bounds = self.model.decided_range(path.event)
        if bounds is None:
            return [None]
        return list(range(constant(bounds[0], 1), constant(bounds[1], 1) + 1))

    def _moves(self, path: Path) -> list[Move]:
        edges: dict[tuple[int | None, Term], list[tuple[int, int]]] = {}
        if not self.reached(path.source):
            return []
        for after, before, (value, condition) in self._runs(path):
            sent = value
            if path.trigger == "send" and path.payload is not None:
                sent = self._integer(path.payload, dict(zip(self.integers, before, strict=True)), None)
            edge = self.index[path.source, before], self.index[path.target, after]
            edges.setdefault((sent, condition), []).append(edge)
        return [Move(path, value, condition, tuple(pairs)) for (value, condition), pairs in edges.items()]

    # -- integers --------------------------------------------------------------------------------------------------

    def _integer(self, term: Term, known: Mapping[str, int], brought: int | None) -> int:
        match term:
            case Number(value):
                return value
            case Read(name):
                return known[name] if name in known else constant(self.model.variable(name).initial, 1)
            case Incoming():
                assert brought is not None
                return brought
            case Wrapped(operand, low, high):
                return wrap(self._integer(operand, known, brought), constant(low, 1), constant(high, 1))
            case Arithmetic(operator, left, right):
                return arithmetic(operator, self._integer(left, known, brought), self._integer(right, known, brought))
        raise AssertionError(term)

    def _rest(self, path: Path, known: Mapping[str, int], brought: int | None) -> Term:
        """The guard with the integers put in."""
        left = [self._condition(term, known, brought) for term in path.guard]
        if Truth(False) in left:
            return Truth(False)
        left = [term for term in left if term != Truth(True)]
        if len(left) < 2:
            return left[0] if left else Truth(True)
        return Junction("&", tuple(left))  # type: ignore[arg-type]

    def _condition(self, term: Term, known: Mapping[str, int], brought: int | None) -> Term:
        match term:
            case Truth() | Contains() | Full():
                return term
            case Negation(operand):
                inner = self._condition(operand, known, brought)
                return Truth(not inner.value) if isinstance(inner, Truth) else Negation(inner)  # type: ignore[arg-type]
            case Junction(operator, operands):
                unit = Truth(operator == "&")
                inner_all = [self._condition(operand, known, brought) for operand in operands]
                if Truth(not unit.value) in inner_all:
                    return Truth(not unit.value)
                kept = [item for item in inner_all if item != unit]
                if len(kept) < 2:
                    return kept[0] if kept else unit
                return Junction(operator, tuple(kept))  # type: ignore[arg-type]
            case Comparison(operator, left, right):
                if isinstance(left, Truth | Negation | Junction | Comparison | Contains | Full):
                    one, two = self._condition(left, known, brought), self._condition(right, known, brought)
                    if isinstance(one, Truth) and isinstance(two, Truth):
                        return Truth((one.value == two.value) == (operator == "="))
                    return Comparison(operator, one, two)  # type: ignore[arg-type]
                if self._speaks_of_processes(left) or self._speaks_of_processes(right):
                    return term
                values = self._integer(left, known, brought), self._integer(right, known, brought)
                return Truth(compare(operator, *values))
        raise AssertionError(term)

    def _speaks_of_processes(self, term: Term) -> bool:
        return any(
            isinstance(leaf, Self)
            or leaf == Incoming("sender")
            or (isinstance(leaf, Read) and leaf.name not in self.first and self.model.variable(leaf.name).kind == "id")
            for leaf in leaves(term)
        )

    # -- masks -----------------------------------------------------------------------------------------------------

    def at(self, location: str) -> int:
        """The local states in a location, those that wait in a handler included."""
        return sum(1 << i for i, (point, _) in enumerate(self.states) if point and point.location == location)

    def described(self, count: Count) -> int:
        """The local states that a specification counts; a predicate over a counter is taken to hold."""
        found = 0
        for i, (point, values) in enumerate(self.states):
            for item in count.descriptors:
                if point is not None and point.location == item.location and self._fits(item.predicate, values):
                    found |= 1 << i
        return found

    def _fits(self, predicate: Expression | None, values: tuple[int, ...]) -> bool:
        if predicate is None:
            return True
        known = dict(zip(self.integers, values, strict=True))
        if any(isinstance(leaf, Read) and leaf.name not in known for leaf in leaves(predicate)):
            return True
        return self._condition(predicate, known, None) == Truth(True)

    def proposing(self, consensus: str, value: int) -> int:
        """The local states in which a process proposes a value."""
        found = 0
        for location, event in self.steps.participants(consensus).items():
            assert isinstance(event, Consensus)
            if event.proposal is not None:
                place = self.integers.index(event.proposal)
                for i, (point, values) in enumerate(self.states):
                    if point == Point(location) and values[place] == value:
                        found |= 1 << i
        return found

    @property
    def crashing(self) -> int:
        """The local states in which a process may crash."""
        names = self.model.crashing
        return sum(1 << i for i, (point, _) in enumerate(self.states) if point and point.location in names)
