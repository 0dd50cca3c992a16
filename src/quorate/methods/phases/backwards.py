"""Backwards by one step: the cubes from which a step may lead into a cube, for every number of processes at once.

The states from which one step may lead into a cube are cubes again, if what a step asks of *all* processes is asked of the named
ones only: a state with more processes is then treated as if those in the way did not exist, which allows more runs, never fewer
(monotonic abstraction: Abdulla, Delzanno, Rezine, TACAS 2007).  `coverability` searches with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from quorate.methods.phases.before import Before, Facts, Option, Role, both
from quorate.methods.phases.cubes import Cube
from quorate.methods.phases.locals import Move
from quorate.models.process import (
    Partition,
)
from quorate.models.process_steps import Point


class Backwards(Before):
    """The cubes from which a step may lead into a cube."""

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
                role = Role(cube.size)
                yield from self.combine([self._received(cube, i, name, value, role) for i in range(cube.size)])
        for name, event in self.steps.agreements.items():
            if isinstance(event, Partition):
                yield from self._partition(cube, name, event)
            else:
                yield from self._consensus(cube, name)

    def _alone(self, cube: Cube) -> Iterator[Cube]:
        role = Role(cube.size)
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

    def _received(self, cube: Cube, process: int, name: str, value: int | None, role: Role) -> list[Option]:
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
            role = Role(larger.size, sender)
            parts = [
                self.options(larger, i, moves, Role(larger.size))
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
                role = Role(larger.size, sender)
                parts = [self.idle(larger, i) for i in range(larger.size)]
                parts[receiver] = self.options(larger, receiver, receiving, role)
                for targeted in (True, False):
                    moves = [m for m in self.sending[name, value] if (m.path.receiver is not None) == targeted]
                    if not targeted:
                        parts[sender] = self.options(larger, sender, moves, Role(larger.size))
                        yield from self.combine(parts)
                        continue
                    parts[sender] = []
                    for move in moves:
                        assert move.path.receiver is not None
                        aim = self.named(sender, move.path.receiver, receiver, True, Role(larger.size))
                        for mask, facts in self.options(larger, sender, [move], Role(larger.size)):
                            parts[sender] += [(mask, more) for more in both([facts], aim)]
                    yield from self.combine(parts)

    def _gathered(self, name: str, process: int, members: frozenset[int], role: Role) -> dict[str, list[Facts]]:
        """For each location: the ways in which a process there waits for an agreement among these, of those named."""
        found = {}
        for location, event in self.steps.participants(name).items():
            ways: list[Facts] = [{}]
            for other in range(role.processes):
                ways = both(ways, self.inside(process, event.participants, other, other in members, role))
            found[location] = ways
        return found

    def _participating(
        self, cube: Cube, process: int, moves: Sequence[Move], waiting: dict[str, list[Facts]], role: Role
    ) -> list[Option]:
        found = []
        for location, ways in waiting.items():
            there = [move for move in moves if move.path.source == Point(location)]
            for mask, facts in self.options(cube, process, there, role):
                found += [(mask, more) for more in both([facts], ways)]
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
                    role = Role(larger.size, None, winners, inside - winners)
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
                    role = Role(larger.size)
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
        role: Role,
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
