"""What a process was like before a step, given what it is like after it: one process at a time, then all of a cube together.

A cube names a few processes, their local states (a mask) and facts about the sets and identities they hold (`cubes`).  Here the
conditions of a step are turned into such facts about the state before it.  `backwards` builds whole steps from this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from quorate.methods.phases.cubes import Cube, Fact
from quorate.methods.phases.locals import LocalStates, Move
from quorate.models.process import (
    AllProcesses,
    Comparison,
    Expression,
    Junction,
    Negation,
    NoProcesses,
    Read,
    Self,
    Truth,
)
from quorate.models.process_steps import Changed, Contains, Full, Incoming, Nobody, Term

Facts = dict[Fact, bool]
ALIVE = "alive"
"""The owner of no set: `(ALIVE, j, j)` says whether process j has crashed."""


@dataclass(frozen=True)
class Role:
    """The part that the processes of a cube take in a step."""

    processes: int
    sender: int | None = None
    winners: frozenset[int] = frozenset()
    losers: frozenset[int] = frozenset()


Option = tuple[int, Facts]
"""Local states before a step, and facts about the sets and identities of the process before it."""


class Before:
    """What the processes of a cube were like before a step."""

    def __init__(self, states: LocalStates, most_winners: int = 2) -> None:
        self.states, self.steps, self.model = states, states.steps, states.model
        self.most_winners = most_winners
        """Up to how many winners of a partition are all named."""
        self._known: dict[Cube, list[Cube]] = {}
        self._sources: dict[tuple[int, int], int] = {}
        self.receiving: dict[tuple[str, int | None], list[Move]] = {}
        self.sending: dict[tuple[str, int | None], list[Move]] = {}
        self.alone: list[Move] = []
        self.agreeing: dict[tuple[str, str, int | None], list[Move]] = {}
        for move in states.moves:
            path = move.path
            if path.trigger == "internal" or (path.trigger == "send" and self.model.action(path.event).environment):
                self.alone.append(move)
            elif path.trigger == "send":
                self.sending.setdefault((path.event, move.value), []).append(move)
            elif path.trigger == "receive":
                self.receiving.setdefault((path.event, move.value), []).append(move)
                action = self.model.action(path.event)
                if action.environment and not action.broadcast:
                    self.alone.append(move)
            else:
                self.agreeing.setdefault((path.trigger, path.event, move.value), []).append(move)

    # -- sets and identities, before a step --------------------------------------------------------------------------

    def inside(self, owner: int, term: Term, other: int, want: bool, role: Role) -> list[Facts]:
        """Ways in which the other process is, or is not, in a set of the owner."""
        match term:
            case AllProcesses():
                return [{(ALIVE, other, other): want}]
            case NoProcesses():
                return [] if want else [{}]
            case Incoming("winners"):
                return [{}] if (other in role.winners) == want else []
            case Incoming("losers"):
                return [{}] if (other in role.losers) == want else []
            case Read(name):
                if name not in self.states.relations:
                    return [] if want else [{}]
                return [{(name, owner, other): want}]
            case Changed(operation, base, change, many):
                compare = self.inside if many else self.named
                adding = operation == "add"
                before = self.inside(owner, base, other, want, role)
                changed = compare(owner, change, other, want == adding, role)
                return before + changed if want == adding else both(before, changed)
        raise AssertionError(term)

    def named(self, owner: int, term: Term, other: int, want: bool, role: Role) -> list[Facts]:
        """Ways in which an identity of the owner names the other process, or does not."""
        match term:
            case Self():
                same = owner == other
            case Nobody():
                same = False
            case Incoming():
                same = role.sender == other
            case Read(name) if name in self.states.relations:
                return [{(name, owner, other): want}]
            case _:
                same = False
        return [{}] if same == want else []

    def condition(self, owner: int, term: Term, want: bool, role: Role) -> list[Facts]:
        """Ways in which a condition of a move holds, or not; what speaks of processes that are not named is left open."""
        match term:
            case Truth(value):
                return [{}] if value == want else []
            case Negation(operand):
                return self.condition(owner, operand, not want, role)
            case Junction(operator, operands):
                parts = [self.condition(owner, operand, want, role) for operand in operands]
                if (operator == "&") == want:
                    found: list[Facts] = [{}]
                    for part in parts:
                        found = both(found, part)
                    return found
                return [facts for part in parts for facts in part]
            case Full(base):
                if not want:
                    return [{}]
                found = [{}]
                for other in range(role.processes):
                    if other != owner:
                        found = both(found, self.inside(owner, base, other, True, role))
                return found
            case Contains(base, Incoming("sender")) if role.sender is not None:
                return self.inside(owner, base, role.sender, want, role)
            case Comparison(operator, left, right):
                return self._same(owner, left, right, want == (operator == "="), role)
        return [{}]

    def _same(self, owner: int, left: Expression, right: Expression, want: bool, role: Role) -> list[Facts]:
        def known(term: Term) -> int | None:
            return owner if isinstance(term, Self) else role.sender if term == Incoming("sender") else None

        one, two = known(left), known(right)
        if one is not None and two is not None:
            return [{}] if (one == two) == want else []
        if one is not None and isinstance(right, Read):
            return self.named(owner, right, one, want, role)
        if two is not None and isinstance(left, Read):
            return self.named(owner, left, two, want, role)
        return [{}]

    # -- one process ---------------------------------------------------------------------------------------------------

    def options(self, cube: Cube, process: int, moves: Iterable[Move], role: Role) -> list[Option]:
        """What a process may have been, and have had in its sets, before it took one of some moves."""
        own = [(fact, truth) for fact, truth in cube.facts if fact[1] == process]
        found: dict[frozenset[tuple[Fact, bool]], int] = {}
        for move in moves:
            mask = self.sources(move, cube.masks[process])
            if not mask:
                continue
            ways = self.condition(process, move.condition, True, role)
            for (name, _, other), truth in own:
                if name in move.path.updates:
                    compare = self.inside if self.states.relations[name] == "set" else self.named
                    ways = both(ways, compare(process, move.path.updates[name], other, truth, role))
                else:
                    ways = both(ways, [{(name, process, other): truth}])
            for facts in ways:
                key = frozenset(facts.items())
                found[key] = found.get(key, 0) | mask
        return [(mask, dict(key)) for key, mask in found.items()]

    def sources(self, move: Move, mask: int) -> int:
        """The local states from which a move leads into the mask."""
        key = id(move), mask
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = move.before(mask)
        return found

    def able(self, cube: Cube, moves: Iterable[Move]) -> frozenset[int]:
        """The processes that one of some moves can have brought to where they are."""
        listed = list(moves)
        return frozenset(i for i, mask in enumerate(cube.masks) if any(self.sources(move, mask) for move in listed))

    def idle(self, cube: Cube, process: int, mask: int | None = None) -> list[Option]:
        """A process that takes no part."""
        kept = cube.masks[process] if mask is None else cube.masks[process] & mask
        return [(kept, {fact: truth for fact, truth in cube.facts if fact[1] == process})] if kept else []

    def combine(self, parts: Sequence[Sequence[Option]]) -> Iterator[Cube]:
        """The cubes in which every process has one of its options."""
        for chosen in product(*parts):
            facts: Facts | None = {}
            for _, more in chosen:
                facts = _merge(facts, more)
                if facts is None:
                    break
            if facts is not None:
                cube = self.tidy([mask for mask, _ in chosen], facts)
                if cube is not None:
                    yield cube

    def tidy(self, masks: list[int], facts: Facts) -> Cube | None:
        """A cube without what can be left out, or None if it is empty.  See `invariant.structural` for what is used."""
        crashed = self.states.crashed
        kept: Facts = {}
        named: set[tuple[str, int]] = set()
        for (name, owner, other), truth in facts.items():
            if name == ALIVE:
                masks[owner] &= ~crashed if truth else crashed
                continue
            if truth:
                masks[owner] &= ~crashed
                if self.states.relations[name] == "set":
                    if name not in self.steps.lasting_sets:
                        masks[other] &= ~crashed
                    elif owner == other:
                        return None
                elif (name, owner) in named:
                    return None
                else:
                    named.add((name, owner))
            kept[name, owner, other] = truth
        if not all(masks):
            return None
        for name, owner, other in list(kept):
            if not kept[name, owner, other] and (
                masks[owner] == crashed
                or (name in self.steps.lasting_sets and owner == other)
                or (
                    masks[other] == crashed
                    and self.states.relations[name] == "set"
                    and name not in self.steps.lasting_sets
                )
                or ((name, owner) in named and self.states.relations[name] == "id")
            ):
                del kept[name, owner, other]
        return Cube(tuple(masks), frozenset(kept.items()))


def _merge(left: Facts | None, right: Facts) -> Facts | None:
    if left is None:
        return None
    for fact, truth in right.items():
        if left.get(fact, truth) != truth:
            return None
    return {**left, **right}


def both(left: list[Facts], right: list[Facts]) -> list[Facts]:
    found = []
    for one in left:
        for two in right:
            merged = _merge(one, two)
            if merged is not None:
                found.append(merged)
    return found
