"""Backwards from the violations, for every number of processes at once.

Cubes stand for upward-closed sets of states (`cubes`).  The states from which one step may lead into a cube are cubes again, if
what a step asks of *all* processes is asked of the named ones only: a state with more processes is then treated as if those
in the way did not exist, which allows more runs, never fewer.  This is the backward search of well-structured transition
systems (Abdulla et al., LICS 1996) with monotonic abstraction (Abdulla, Delzanno, Rezine, TACAS 2007).  When nothing new
turns up and no cube contains an initial state, no run of any size violates the property, and the cubes say why: that none of
them is ever entered is an inductive invariant.  `invariant` turns it into formulas for the checker of certificates.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeVar

from quorate.methods.phases.cubes import Cube, Fact, View
from quorate.methods.phases.locals import LocalStates, Move
from quorate.models.process import (
    AllProcesses,
    Combination,
    Comparison,
    Count,
    Expression,
    Junction,
    Negation,
    NoProcesses,
    Partition,
    Read,
    Self,
    Specification,
    Truth,
)
from quorate.models.process_steps import Changed, Contains, Full, Incoming, Nobody, Point, Term

Facts = dict[Fact, bool]
Item = TypeVar("Item")
ALIVE = "alive"
"""The owner of no set: `(ALIVE, j, j)` says whether process j has crashed."""


class NotUpwardClosed(Exception):
    """A violation that more processes can undo, as of `atleast`."""


@dataclass(frozen=True)
class _Role:
    """The part that the processes of a cube take in a step."""

    processes: int
    sender: int | None = None
    winners: frozenset[int] = frozenset()
    losers: frozenset[int] = frozenset()


Option = tuple[int, Facts]
"""Local states before a step, and facts about the sets and identities of the process before it."""


class Backwards:
    """The cubes from which a step may lead into a cube."""

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

    def inside(self, owner: int, term: Term, other: int, want: bool, role: _Role) -> list[Facts]:
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
                return before + changed if want == adding else _both(before, changed)
        raise AssertionError(term)

    def named(self, owner: int, term: Term, other: int, want: bool, role: _Role) -> list[Facts]:
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

    def condition(self, owner: int, term: Term, want: bool, role: _Role) -> list[Facts]:
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
                        found = _both(found, part)
                    return found
                return [facts for part in parts for facts in part]
            case Full(base):
                if not want:
                    return [{}]
                found = [{}]
                for other in range(role.processes):
                    if other != owner:
                        found = _both(found, self.inside(owner, base, other, True, role))
                return found
            case Contains(base, Incoming("sender")) if role.sender is not None:
                return self.inside(owner, base, role.sender, want, role)
            case Comparison(operator, left, right):
                return self._same(owner, left, right, want == (operator == "="), role)
        return [{}]

    def _same(self, owner: int, left: Expression, right: Expression, want: bool, role: _Role) -> list[Facts]:
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

    def options(self, cube: Cube, process: int, moves: Iterable[Move], role: _Role) -> list[Option]:
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
                    ways = _both(ways, compare(process, move.path.updates[name], other, truth, role))
                else:
                    ways = _both(ways, [{(name, process, other): truth}])
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

    # -- steps ---------------------------------------------------------------------------------------------------------

    def before(self, cube: Cube) -> list[Cube]:
        """Cubes that together contain every state from which one step leads into the cube."""
        found = self._known.get(cube)
        if found is None:
            found = self._known[cube] = list(dict.fromkeys(item.ordered() for item in self._before(cube)))
        return found

    def _before(self, cube: Cube) -> Iterator[Cube]:
        yield from self._alone(cube)
        yield from self._crash(cube)
        for name, value in self.sending:
            if self.model.action(name).broadcast:
                yield from self._broadcast(cube, name, value)
            else:
                yield from self._rendezvous(cube, name, value)
        for name, value in self.receiving:
            action = self.model.action(name)
            if action.environment and action.broadcast:
                role = _Role(cube.size)
                yield from self.combine([self._received(cube, i, name, value, role) for i in range(cube.size)])
        for name, event in self.steps.agreements.items():
            if isinstance(event, Partition):
                yield from self._partition(cube, name, event)
            else:
                yield from self._consensus(cube, name)

    def _alone(self, cube: Cube) -> Iterator[Cube]:
        role = _Role(cube.size)
        for process in range(cube.size):
            parts = [self.idle(cube, i) for i in range(cube.size)]
            parts[process] = self.options(cube, process, self.alone, role)
            yield from self.combine(parts)

    def _crash(self, cube: Cube) -> Iterator[Cube]:
        for process in range(cube.size):
            if cube.masks[process] & self.states.crashed and self.states.crashing:
                facts = self._uncrashed(dict(cube.facts), process)
                if facts is not None:
                    masks = list(cube.masks)
                    masks[process] = self.states.crashing
                    found = self.tidy(masks, facts)
                    if found is not None:
                        yield found

    def _uncrashed(self, facts: Facts, process: int) -> Facts | None:
        """What is known before a process crashes: afterwards it is in no set, and has none."""
        kept: Facts = {}
        for (name, owner, other), truth in facts.items():
            removed = self.states.relations[name] == "set" and name not in self.steps.lasting_sets
            if owner == process or (other == process and removed):
                if truth:
                    return None
            else:
                kept[name, owner, other] = truth
        return kept

    def _received(self, cube: Cube, process: int, name: str, value: int | None, role: _Role) -> list[Option]:
        """A process that receives a broadcast, or has crashed."""
        moves = self.receiving.get((name, value), ())
        return self.options(cube, process, moves, role) + self.idle(cube, process, self.states.crashed)

    def _with_another(self, cube: Cube) -> Cube:
        """The cube with one more process, of which nothing is known."""
        return Cube((*cube.masks, self.states.everything), cube.facts)

    def _broadcast(self, cube: Cube, name: str, value: int | None) -> Iterator[Cube]:
        moves = self.sending[name, value]
        for sender in range(cube.size + 1):
            larger = cube if sender < cube.size else self._with_another(cube)
            role = _Role(larger.size, sender)
            parts = [
                self.options(larger, i, moves, _Role(larger.size))
                if i == sender
                else self._received(larger, i, name, value, role)
                for i in range(larger.size)
            ]
            yield from self.combine(parts)

    def _rendezvous(self, cube: Cube, name: str, value: int | None) -> Iterator[Cube]:
        """At least one of the two is in the cube; the other may be new."""
        receiving = self.receiving.get((name, value), ())
        for sender in range(cube.size + 1):
            for receiver in range(cube.size + 1):
                if sender == receiver:
                    continue
                larger = cube if max(sender, receiver) < cube.size else self._with_another(cube)
                role = _Role(larger.size, sender)
                parts = [self.idle(larger, i) for i in range(larger.size)]
                parts[receiver] = self.options(larger, receiver, receiving, role)
                for targeted in (True, False):
                    moves = [m for m in self.sending[name, value] if (m.path.receiver is not None) == targeted]
                    if not targeted:
                        parts[sender] = self.options(larger, sender, moves, _Role(larger.size))
                        yield from self.combine(parts)
                        continue
                    parts[sender] = []
                    for move in moves:
                        assert move.path.receiver is not None
                        aim = self.named(sender, move.path.receiver, receiver, True, _Role(larger.size))
                        for mask, facts in self.options(larger, sender, [move], _Role(larger.size)):
                            parts[sender] += [(mask, more) for more in _both([facts], aim)]
                    yield from self.combine(parts)

    def _gathered(self, name: str, process: int, members: frozenset[int], role: _Role) -> dict[str, list[Facts]]:
        """For each location: the ways in which a process there waits for an agreement among these, of those named."""
        found = {}
        for location, event in self.steps.participants(name).items():
            ways: list[Facts] = [{}]
            for other in range(role.processes):
                ways = _both(ways, self.inside(process, event.participants, other, other in members, role))
            found[location] = ways
        return found

    def _participating(
        self, cube: Cube, process: int, moves: Sequence[Move], waiting: dict[str, list[Facts]], role: _Role
    ) -> list[Option]:
        found = []
        for location, ways in waiting.items():
            there = [move for move in moves if move.path.source == Point(location)]
            for mask, facts in self.options(cube, process, there, role):
                found += [(mask, more) for more in _both([facts], ways)]
        return found

    def _partition(self, cube: Cube, name: str, event: Partition) -> Iterator[Cube]:
        """Some of the named processes take part, and at most so many of them win.

        Where one of them loses, there are as many winners as there can be; those that are not named become so, if few.
        """
        win, lose = (self.agreeing.get((trigger, name, None), []) for trigger in ("win", "lose"))
        can_win, can_lose = self.able(cube, win), self.able(cube, lose)
        for members in _subsets(can_win | can_lose):
            for number in range(min(event.winners, len(members)) + 1):
                others = event.winners - number if number < len(members) else 0
                if event.winners > self.most_winners:
                    others = min(others, number == 0)
                larger = Cube((*cube.masks, *[self.states.everything] * others), cube.facts)
                new = range(cube.size, larger.size)
                inside = frozenset((*members, *new))
                for chosen in combinations(members, number):
                    if not (can_win.issuperset(chosen) and can_lose.issuperset(set(members).difference(chosen))):
                        continue
                    winners = frozenset((*chosen, *new))
                    role = _Role(larger.size, None, winners, inside - winners)
                    parts = []
                    for i in range(larger.size):
                        if i not in inside:
                            parts.append(self.idle(larger, i))
                            continue
                        waiting = self._gathered(name, i, inside, role)
                        parts.append(self._participating(larger, i, win if i in winners else lose, waiting, role))
                    yield from self.combine(parts)

    def _consensus(self, cube: Cube, name: str) -> Iterator[Cube]:
        """One of the participants, named or not, proposes what is decided."""
        values = dict.fromkeys(value for trigger, event, value in self.agreeing if (trigger, event) == ("decide", name))
        for value in values:
            assert value is not None
            proposing = self.states.proposing(name, value)
            moves = self.agreeing["decide", name, value]
            lost_or_done = self.able(cube, moves) | {
                i for i, mask in enumerate(cube.masks) if mask & self.states.crashed
            }
            for members in _subsets(lost_or_done):
                for proposer in (*members, cube.size):
                    larger = cube if proposer < cube.size else self._with_another(cube)
                    inside = frozenset(members) | {proposer}
                    role = _Role(larger.size)
                    for lost in _subsets(m for m in members if cube.masks[m] & self.states.crashed):
                        yield from self._decided(larger, name, moves, inside, proposer, proposing, lost, role)
                    yield from self._decided(larger, name, moves, inside, proposer, proposing, (), role)

    def _decided(
        self,
        cube: Cube,
        name: str,
        moves: Sequence[Move],
        members: frozenset[int],
        proposer: int,
        proposing: int,
        lost: Sequence[int],
        role: _Role,
    ) -> Iterator[Cube]:
        crashing = self.model.crashing
        after = dict(cube.facts)
        for process in lost:
            left = self._uncrashed(after, process)
            if left is None:
                return
            after = left
        cube = Cube(cube.masks, frozenset(after.items()))
        parts = []
        for i in range(cube.size):
            if i not in members:
                parts.append(self.idle(cube, i))
                continue
            waiting = self._gathered(name, i, members, role)
            if i in lost:
                risky = [
                    m for m in moves if m.path.source.location in crashing and m.path.target.location not in crashing
                ]
                anywhere = Cube(
                    tuple(self.states.everything if j == i else mask for j, mask in enumerate(cube.masks)), cube.facts
                )
                options = self._participating(anywhere, i, risky, waiting, role)
            else:
                options = self._participating(cube, i, moves, waiting, role)
            if i == proposer:
                options = [(mask & proposing, facts) for mask, facts in options if mask & proposing]
            parts.append(options)
        yield from self.combine(parts)


def _subsets(items: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """All but the empty one."""
    listed = sorted(items)
    for number in range(1, len(listed) + 1):
        yield from combinations(listed, number)


def _merge(left: Facts | None, right: Facts) -> Facts | None:
    if left is None:
        return None
    for fact, truth in right.items():
        if left.get(fact, truth) != truth:
            return None
    return {**left, **right}


def _both(left: list[Facts], right: list[Facts]) -> list[Facts]:
    found = []
    for one in left:
        for two in right:
            merged = _merge(one, two)
            if merged is not None:
                found.append(merged)
    return found


# -- the search ----------------------------------------------------------------------------------------------------


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
