"""Who may hear whom: the communication predicate of an algorithm, taken apart by rounds.

`safe` has to hold for the heard-of sets and coordinators of every phase.  Its conjuncts are sorted by the round in which they can
be decided.  A conjunct that speaks of one process at a time restricts what each process can hear by itself; one that only grows
truer when more is heard (`monotone`) allows a search to look at the largest heard-of sets only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from quorate.models import rounds as r
from quorate.models.evaluation import Machine, RoundsError, World
from quorate.models.rounds import Node

UNLIMITED = 1 << 30


def split(node: Node) -> Iterator[Node]:
    """The conjuncts of a predicate, quantifiers moved inwards over conjunctions and kept only where they bind something."""
    for part in r.conjuncts(node):
        if not isinstance(part, r.Quantified) or not part.universal:
            yield part
            continue
        for body in split(part.body):
            used = {item.name for item in body.walk() if isinstance(item, r.Bound)}
            names = tuple(name for name in part.names if name in used)
            yield replace(part, names=names, body=body) if names else body


def rounds_of(node: Node) -> frozenset[int]:
    """The rounds whose heard-of sets a predicate speaks of."""
    return frozenset(item.round for item in node.walk() if isinstance(item, r.HeardOf))


def monotone(node: Node) -> bool:
    """Does the predicate stay true when more is heard?"""
    match node:
        case r.Quantified(_, _, body):
            return monotone(body)
        case r.Operation("and" | "or", operands):
            return all(map(monotone, operands))
        case r.Operation(">" | ">=", (r.Size(_), bound)) | r.Operation("<" | "<=", (bound, r.Size(_))):
            return not rounds_of(bound)
        case r.Member():
            return True
        case r.Related(relation):
            return relation == "meets"
    return not rounds_of(node)


@dataclass(frozen=True)
class Constraint:
    """A conjunct that is decided in one round.  `local`: it speaks of one process and what that one hears."""

    node: Node
    local: bool
    monotone: bool

    @staticmethod
    def of(node: Node) -> Constraint:
        match node:
            case r.Quantified(True, (name,), body):
                inner = [item for item in body.walk() if isinstance(item, r.Quantified)]
                groups = [item for item in body.walk() if isinstance(item, r.HeardOf)]
                local = not inner and all(group.process == r.Bound(name) for group in groups)
                return Constraint(node, local, monotone(node))
        return Constraint(node, False, monotone(node))


@dataclass(frozen=True)
class Faults:
    """The faults of a run, with numbers for their limits."""

    kind: Literal["none", "crashes", "omissions"]
    bound: int = UNLIMITED
    rounds: int = UNLIMITED

    def left(self, lossy: int, budget: int, spent: int) -> tuple[int, int]:
        """How many lossy rounds and faults are left after a round; what is no longer of use is 0."""
        if lossy != UNLIMITED:
            lossy = max(0, lossy - 1)
        if budget != UNLIMITED:
            budget -= spent
        return lossy, 0 if self.kind == "omissions" and lossy == 0 else budget


def faults_of(machine: Machine, n: int, parameters: Mapping[str, int], bound: int | None = None) -> Faults:
    """The faults that the algorithm declares, for these parameters; `bound` overrides how many there may be."""
    declared = machine.model.faults
    if declared is None:
        if bound is not None:
            raise RoundsError(
                "the algorithm declares no faults; `--faults` needs a line `faults crashes` or `faults omissions`"
            )
        return Faults("none")
    world = World(n, parameters, 1, ())

    def number(node: Node | None) -> int:
        """As the text says; less than none is none."""
        return UNLIMITED if node is None else max(0, int(machine.function(node)(world)))

    return Faults(declared.kind, number(declared.bound) if bound is None else bound, number(declared.rounds))


_PAIRS: dict[str, Callable[[int, int], bool]] = {
    "meets": lambda a, b: bool(a & b),
    "=": lambda a, b: a == b,
    "<=": lambda a, b: not a & ~b,
}


class Communication:
    """The constraints on coordinators and on each round, for n processes."""

    def __init__(
        self,
        machine: Machine,
        n: int,
        parameters: Mapping[str, int],
        predicate: Node,
        rounds: int,
        bound: Mapping[str, int] | None = None,
    ) -> None:
        self.machine = machine
        self.bound = dict(bound or {})
        self.n = n
        self.parameters = parameters
        self.everyone = (1 << n) - 1
        self.of_coordinators: list[Node] = []
        self.of_round: list[list[Constraint]] = [[] for _ in range(rounds)]
        self.of_several: list[Node] = []
        for part in split(predicate):
            mentioned = rounds_of(part)
            if not mentioned:
                self.of_coordinators.append(part)
            elif len(mentioned) == 1:
                self.of_round[min(mentioned) - 1].append(Constraint.of(part))
            else:
                self.of_several.append(part)
        self.tests: dict[int, Callable[[World], bool]] = {
            id(node): machine.function(node)
            for node in (*self.of_coordinators, *(c.node for row in self.of_round for c in row), *self.of_several)
        }

    def world(self, coordinators: Sequence[int], heard: Sequence[Sequence[int]] = ()) -> World:
        return World(self.n, self.parameters, 1, (), (), coordinators, heard, dict(self.bound))

    def allows_coordinators(self, coordinators: Sequence[int]) -> bool:
        world = self.world(coordinators)
        return all(self.tests[id(node)](world) for node in self.of_coordinators)

    def allows(self, number: int, coordinators: Sequence[int], heard: Sequence[int]) -> bool:
        """Do the heard-of sets of one round satisfy what is said about that round?"""
        rows: list[Sequence[int]] = [()] * number + [heard]
        world = self.world(coordinators, rows)
        return all(self.tests[id(item.node)](world) for item in self.of_round[number])

    def allows_several(self, coordinators: Sequence[int], rows: Sequence[Sequence[int]]) -> bool:
        """Do the heard-of sets of the rounds so far satisfy what is said about several rounds, as far as these are over?"""
        world = self.world(coordinators, rows)
        over = [node for node in self.of_several if max(rounds_of(node)) <= len(rows)]
        return all(self.tests[id(node)](world) for node in over)

    def allows_one(self, number: int, coordinators: Sequence[int], process: int, heard: int) -> bool:
        """May this process hear exactly this, as far as it concerns nobody else?"""
        row = [0] * self.n
        row[process] = heard
        for item in self.of_round[number]:
            if item.local:
                node = item.node
                assert isinstance(node, r.Quantified)
                world = self.world(coordinators, [()] * number + [row])
                world.bound[node.names[0]] = process
                if not self._body(node)(world):
                    return False
        return True

    def _body(self, node: r.Quantified) -> Callable[[World], bool]:
        found = self.tests.get(id(node.body))
        if found is None:
            found = self.tests[id(node.body)] = self.machine.function(node.body)
        return found

    def pairs(self, number: int) -> list[Callable[[int, int], bool]]:
        """Tests of the heard-of sets of any two processes, from what is said about all pairs."""
        return [
            lambda a, b, test=_PAIRS[body.relation]: test(a, b)  # type: ignore[misc]
            for item in self.joint(number)
            if (body := self._pair(item.node)) is not None
        ]

    @staticmethod
    def _pair(node: Node) -> r.Related | None:
        match node:
            case r.Quantified(True, (first, second), r.Related(_, left, right) as body):
                if {left.process, right.process} == {r.Bound(first), r.Bound(second)}:
                    return body
        return None

    def beyond_pairs(self, number: int) -> bool:
        """Is something said about a round that tests of single processes and of pairs do not cover?"""
        return any(self._pair(item.node) is None for item in self.joint(number))

    def joint(self, number: int) -> list[Constraint]:
        """What is said about a round that concerns several processes at once."""
        return [item for item in self.of_round[number] if not item.local]
