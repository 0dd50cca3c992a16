"""What a finite system does, in plain Python: the oracle for every faster engine.

States are tuples of field values, paired with their world.  Choices are tried one after the other; a condition is
tested as soon as all choices it reads are made, which changes nothing but the time it takes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, permutations
from typing import Literal

from quorate.engines.explicit.expressions import CHOICE, Compiled, Node, compile_python
from quorate.engines.explicit.system import Block, Rule, System

State = tuple[tuple[int, ...], int]
"""Field values and the number of the world."""


Status = Literal[0, 1, 2, 3]
RUNNING: Status = 0
FINISHED: Status = 1
OUT_OF_MEMORY: Status = 2
STOPPED: Status = 3
"""Why a search has come back: there is more to do, nothing is left, memory is used up, a violation was found."""


@dataclass
class Exploration:
    """What a search found.

    `unreduced` counts the states that those found stand for: more than `states` where symmetry is used.  `violations` maps
    a property to the depth at which a state first violates it.
    """

    states: int = 0
    transitions: int = 0
    depth: int = 0
    deadlocks: int = 0
    unreduced: int = 0
    fired: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)


class Reference:
    """The successors of states, and breadth-first search over them."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._compiled: dict[Node, Compiled] = {}
        self._rules = [self._prepare(rule) for rule in system.rules]
        self._initial = [self._prepare(rule) for rule in system.initial]
        self._properties = [(name, self._compile(node)) for name, node in system.properties]

    def _compile(self, node: Node) -> Compiled:
        return compile_python(self.system.graph, node, self._compiled)

    def _prepare(self, rule: Rule) -> tuple[Rule, list[list[Compiled]], list[tuple[int, Compiled]]]:
        """The rule's conditions, by the number of choices that must be known before each can be tested."""
        tests: list[list[Compiled]] = [[] for _ in range(len(rule.choices) + 1)]
        for node in rule.guard:
            tests[max(self.system.graph.reads(node, CHOICE), default=-1) + 1].append(self._compile(node))
        return rule, tests, [(index, self._compile(node)) for index, node in rule.updates]

    def initial(self) -> Iterator[State]:
        empty = (0,) * len(self.system.fields)
        for number in range(len(self.system.worlds)):
            for prepared in self._initial:
                for state, _ in self._fire(prepared, empty, number):
                    yield state, number

    def successors(self, state: State) -> Iterator[tuple[State, int, tuple[int, ...]]]:
        """Every state after one step, with the number of the rule and the choices made."""
        values, world = state
        for number, prepared in enumerate(self._rules):
            for after, choices in self._fire(prepared, values, world):
                yield (after, world), number, choices

    def _fire(
        self, prepared: tuple[Rule, list[list[Compiled]], list[tuple[int, Compiled]]], state: Sequence[int], number: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        rule, tests, updates = prepared
        world = self.system.worlds[number]

        def choose(made: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if not all(test(state, world, made) for test in tests[len(made)]):
                return
            if len(made) == len(rule.choices):
                yield made
                return
            for value in range(rule.choices[len(made)]):
                yield from choose((*made, value))

        for choices in choose(()):
            after = list(state)
            for index, value in updates:
                after[index] = value(state, world, choices)
            yield tuple(after), choices

    def violated(self, state: State) -> list[str]:
        """The properties that do not hold in a state."""
        values, world = state
        return [name for name, holds in self._properties if not holds(values, self.system.worlds[world], ())]

    def canonical(self, state: State) -> State:
        """One state for all that the symmetries of its world lead to: blocks sorted or peers in order, then the smallest as
        packed words."""
        assert self.system.symmetry is not None
        values, world = state
        pack = self.system.layout.pack
        peers = self.system.peers
        images = (
            peers.images(values) if peers else (self._arranged(p.apply(values)) for p in self.system.symmetry[world])
        )
        return min(images, key=lambda image: pack(image, world)), world

    def _arranged(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The members of each block in the order of their fields, of which the last counts most."""
        result = list(values)
        for block in self.system.blocks:
            contents = sorted(([values[f] for f in fields] for fields in block), key=lambda content: content[::-1])
            for fields, content in zip(block, contents, strict=True):
                for index, value in zip(fields, content, strict=True):
                    result[index] = value
        return tuple(result)

    def orbit(self, state: State) -> int:
        """How many states the symmetries of its world make of a state."""
        assert self.system.symmetry is not None
        if self.system.peers:
            return self.system.peers.orbit(state[0], self.canonical(state)[0])
        images = {permutation.apply(state[0]) for permutation in self.system.symmetry[state[1]]}
        for block in self.system.blocks:
            images = {self._shuffled(image, block, order) for image in images for order in permutations(block)}
        return len(images)

    def _shuffled(self, values: tuple[int, ...], block: Block, order: Block) -> tuple[int, ...]:
        moves = dict(zip(chain(*block), chain(*order), strict=True))
        return tuple(values[moves.get(i, i)] for i in range(len(values)))

    def explore(self, symmetry: bool = False) -> Exploration:
        """Search all reachable states."""
        search = ReferenceSearch(self, symmetry)
        search.begin()
        search.run(float("inf"))
        return search.found


class ReferenceSearch:
    """Breadth-first search, with the interface of the fast one; `seen` maps each state to the one it was found from."""

    def __init__(self, reference: Reference, symmetry: bool = False, keep_going: bool = True) -> None:
        self.reference, self.system = reference, reference.system
        self.keep_going = keep_going
        self.canonical = reference.canonical if symmetry else lambda state: state
        self.orbit = reference.orbit if symmetry else lambda state: 1
        self.found = Exploration(fired=dict.fromkeys(self.system.transitions, 0))
        self.seen: dict[State, State | None] = {}
        self.layer: deque[State] = deque()
        self.following: list[State] = []
        self.first: dict[str, State] = {}
        self.first_deadlock: State | None = None
        self.status = RUNNING

    def begin(self) -> Status:
        for state in self.reference.initial():
            self._add(self.canonical(state), None)
        return self._next_layer()

    def _add(self, state: State, parent: State | None) -> None:
        if state not in self.seen:
            self.seen[state] = parent
            self.found.unreduced += self.orbit(state)
            self.following.append(state)

    def _next_layer(self) -> Status:
        """What has been found becomes the layer to be expanded."""
        self.found.states = len(self.seen)
        if not self.following:
            self.status = FINISHED
            return self.status
        self.found.depth += bool(self.seen) and len(self.seen) > len(self.following)
        pack = self.system.layout.pack
        self.layer, self.following = deque(sorted(self.following, key=lambda state: pack(*state))), []
        for state in self.layer:
            for name in self.reference.violated(state):
                if name not in self.first:
                    self.first[name] = state
                    self.found.violations[name] = self.found.depth
        if self.first and not self.keep_going:
            self.status = STOPPED
        return self.status

    def run(self, seconds: float) -> Status:
        """Search on for about that long."""
        ends = time.monotonic() + seconds
        while self.status == RUNNING:
            state = self.layer.popleft()
            before = self.found.transitions
            for after, rule, _ in self.reference.successors(state):
                self.found.transitions += 1
                self.found.fired[self.system.rules[rule].name] += 1
                self._add(self.canonical(after), state)
            if self.found.transitions == before:
                self.found.deadlocks += 1
                self.first_deadlock = self.first_deadlock or state
            self.found.states = len(self.seen)
            if not self.layer:
                self._next_layer()
            if time.monotonic() > ends:
                break
        return self.status

    def path_to(self, state: State) -> list[State]:
        """States from an initial one to the given one."""
        path = [state]
        while (parent := self.seen[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]
