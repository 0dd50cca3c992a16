"""What a finite system does, in plain Python: the oracle for every faster engine.

States are tuples of field values, paired with their world.  Choices are tried one after the other; a condition is
tested as soon as all choices it reads are made, which changes nothing but the time it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from quorate.engines.explicit.expressions import CHOICE, Compiled, Node, compile_python
from quorate.engines.explicit.system import Rule, System

State = tuple[tuple[int, ...], int]
"""Field values and the number of the world."""


@dataclass
class Exploration:
    """What a search found.  `violations` maps a property to the depth at which a state first violates it."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    deadlocks: int = 0
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
        """The smallest state, as packed words, that the symmetries of its world lead to."""
        assert self.system.symmetry is not None
        values, world = state
        pack = self.system.layout.pack
        return min((p.apply(values) for p in self.system.symmetry[world]), key=lambda v: pack(v, world)), world

    def explore(self, symmetry: bool = False, visit: Callable[[State], None] = lambda state: None) -> Exploration:
        """Breadth-first search of all reachable states."""
        reduce = self.canonical if symmetry else lambda state: state
        found = Exploration(fired=dict.fromkeys(self.system.transitions, 0))
        layer = list(dict.fromkeys(reduce(state) for state in self.initial()))
        seen = set(layer)
        depth = 0
        while layer:
            found.depth = depth
            following: list[State] = []
            for state in layer:
                visit(state)
                for name in self.violated(state):
                    found.violations.setdefault(name, depth)
                before = found.transitions
                for after, rule, _ in self.successors(state):
                    found.transitions += 1
                    found.fired[self.system.rules[rule].name] += 1
                    after = reduce(after)
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
                found.deadlocks += found.transitions == before
            layer, depth = following, depth + 1
        found.states = len(seen)
        return found
