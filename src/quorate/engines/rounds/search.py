"""Exhaustive search of an algorithm with n processes: every state that any run, of any length, can reach.

One step is one round.  What a process can become is worked out from the messages that it may hear, not from sets of
processes: where nothing ties the processes together, each sub-multiset of the messages is looked at once (the order and the
senders of equal messages do not matter), and the states of all processes together are counted, not listed.  Where
coordinators or the predicate tie them together, processes are told apart within the phase.  `symmetry` says which states
are looked at only once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, pairwise, product
from typing import Any, NamedTuple

from quorate.engines.rounds.communication import UNLIMITED, Communication, Faults, faults_of
from quorate.engines.rounds.symmetry import Names
from quorate.models import rounds as r
from quorate.models.evaluation import CRASHED, Context, Machine, Message, Process, RoundsError

CLOCK = 64
"""After so many transitions it is asked whether the time is up."""


class State(NamedTuple):
    """A state in normal form; in a run by steps, the last part of a process counts the steps it has taken."""

    phase: int
    round: int
    lossy: int
    budget: int
    shared: tuple[int, ...]
    processes: tuple[Process, ...]
    coordinators: tuple[int, ...] = ()


class Normal(NamedTuple):
    """A state in normal form: which process stands in each place, and how values and times were renamed."""

    state: State
    order: Sequence[int]
    values: Mapping[int, int]
    times: Mapping[int, int] | None


Moves = dict[Process, int]
"""The states that a process can move to, each with the fewest messages it has to miss for that."""


@dataclass
class Found:
    """What a search has seen."""

    states: int = 0
    unreduced: int | None = None
    transitions: int = 0
    depth: int = 0
    boundary: int = 0
    """States between two phases."""
    finished: bool = False


@dataclass
class Search:
    """A search under way.  `parents` holds, for each state, the state before it and itself before renaming."""

    machine: Machine
    n: int
    parameters: Mapping[str, int]
    fault_bound: int | None = None
    symmetry: bool = True
    values: bool = True
    """Are states alike that differ in the names of values only?"""
    forget: bool = True
    """Are variables forgotten that nobody reads again?"""
    partition: bool = False
    """Without symmetry: are proposals, at least, looked at up to renaming of processes and values?"""
    parents: dict[State, tuple[State, State] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = self.machine.model
        if self.model.keeps_messages:
            raise RoundsError("messages that are kept are looked at in the first phases only, not in all runs")
        self.names = Names(self.machine, self.n, self.parameters, self.symmetry and self.values)
        self.faults: Faults = faults_of(self.machine, self.n, self.parameters, self.fault_bound)
        self.communication = Communication(
            self.machine, self.n, self.parameters, self.model.safe, len(self.model.rounds)
        )
        world = self.communication.world(())
        bound = self.model.phases
        self.phases = None if bound is None else int(self.machine.function(bound)(world))
        self.counting = self.symmetry and self._countable()
        always, between = _variables_of(self.model.safety), _variables_of(self.model.invariants)
        rounds = range(len(self.model.rounds) or len(self.model.steps) + 1)
        self._forgettable: list[tuple[int, bool, int] | None] = [
            (i, own, place)
            for i in rounds
            for own in (False, True)
            for name, place in self.machine.places.items()
            if self.forget and name not in always and not (name in between and (i == 0 or self.model.steps))
        ]
        self._forgotten = self._by_place()
        self._moves: dict[object, Moves] = {}

    def _by_place(self) -> dict[tuple[int, bool], list[tuple[int, int]]]:
        """For a round and for processes that coordinate themselves or do not: what they forget, with the mark left behind."""
        found: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        for number, key in enumerate(self._forgettable):
            if key is not None:
                found.setdefault(key[:2], []).append((key[2], -1 - number))
        return found

    def remember(self, mark: int) -> None:
        """Something was read that had been forgotten: keep it from now on.  The search has to begin anew."""
        self._forgettable[-1 - mark] = None
        self._forgotten = self._by_place()
        self._moves.clear()

    def _forget(self, raw: State) -> State:
        """Variables that nobody will read again, as far as is known, hold a mark instead of what they held.

        Until a mark is read, a run with marks and the run without them are the same but for the variables marked.  Reading one
        ends the search (`Forgotten`); so a search that comes to its end has forgotten nothing that matters.
        """
        processes = []
        for p, process in enumerate(raw.processes):
            if self.model.steps:
                key = (process[-1], False)
            else:
                key = (raw.round, bool(raw.coordinators) and raw.coordinators[p] == p)
            marks = self._forgotten.get(key, ())
            if marks:
                changed = list(process)
                if not changed[self.machine.marks] & CRASHED:
                    for place, mark in marks:
                        if changed[place] >= 0:
                            changed[place] = mark
                    process = tuple(changed)
            processes.append(process)
        return raw._replace(processes=tuple(processes))

    def _countable(self) -> bool:
        """Can the processes of a round be counted instead of told apart?"""
        if self.model.uses_coordinators or self.communication.of_several:
            return False
        return all(
            item.local and item.monotone and _sizes_only(item.node)
            for row in self.communication.of_round
            for item in row
        )

    # -- states ----------------------------------------------------------------------------------------------------

    def initial(self) -> Iterator[State]:
        lossy = self.faults.rounds if self.faults.kind == "omissions" else 0
        budget = 0 if self.faults.kind == "none" else self.faults.bound
        shared = self.machine.initial_shared()
        done = (0,) if self.model.steps else ()
        for proposals in self._proposals():
            processes = tuple((*self.machine.initial(value), *done) for value in proposals)
            yield self.canonical(State(self.names.phase(1), 0, lossy, budget, shared, processes))

    def _proposals(self) -> Iterator[Sequence[int]]:
        """What the processes propose, up to renaming of processes and values."""
        if not self.symmetry and not self.partition:
            yield from product(range(1, self.n + 1), repeat=self.n)
            return
        if not self.values:
            yield from combinations_with_replacement(range(1, self.n + 1), self.n)
            return
        ordered = self.names.ordered is not None
        for sizes in _compositions(self.n):
            if ordered or all(a >= b for a, b in pairwise(sizes)):
                yield [value for value, size in enumerate(sizes, 1) for _ in range(size)]

    def canonical(self, raw: State) -> State:
        """The normal form of a state."""
        return self.normal(raw).state

    def normal(self, raw: State) -> Normal:
        """The normal form of a state, and how the state is brought into it."""
        raw = self._forget(raw)
        processes, times = raw.processes, None
        if raw.round == 0:
            processes, times = self.names.settle(processes, raw.phase)
        if not self.symmetry:
            return Normal(raw._replace(processes=processes), range(self.n), {}, times)
        rename = self.names.renaming(processes, raw.shared)
        if any(v != w for v, w in rename.items()):
            processes = tuple(self.names.renamed(process, rename) for process in processes)
            raw = raw._replace(shared=self.names.renamed_shared(raw.shared, rename))
        if raw.coordinators:
            order = arrange(processes, raw.coordinators)
            place = {p: i for i, p in enumerate(order)}
            raw = raw._replace(coordinators=tuple(place[raw.coordinators[p]] for p in order))
        else:
            order = sorted(range(self.n), key=processes.__getitem__)
        return Normal(raw._replace(processes=tuple(processes[p] for p in order)), order, rename, times)

    # -- the search ------------------------------------------------------------------------------------------------

    def layers(self, ends: float = float("inf")) -> Iterator[list[State]]:
        """The states that are reached first after 0, 1, 2, … rounds or steps; the last layer is a part if the time is up."""
        self.found, self.out_of_time = Found(), False
        layer = list(dict.fromkeys(self.initial()))
        self.parents = dict.fromkeys(layer)
        while layer:
            self.found.states += len(layer)
            self.found.boundary += sum(state.round == 0 for state in layer)
            yield layer
            if self.out_of_time:
                return
            layer = list(self._following(layer, ends))
            self.found.depth += bool(layer)
        self.found.finished = not self.out_of_time

    def _following(self, layer: Sequence[State], ends: float) -> Iterator[State]:
        """What is new behind the states of a layer."""
        for state in layer:
            for raw in self.successors(state):
                self.found.transitions += 1
                after = self.canonical(raw)
                if after not in self.parents:
                    self.parents[after] = (state, raw)
                    yield after
                if self.found.transitions % CLOCK == 0 and time.monotonic() > ends:
                    self.out_of_time = True
                    return

    def successors(self, state: State) -> Iterable[State]:
        """What can come after a state, before renaming; processes stand in the order of the state if they are told apart."""
        if self.model.steps:
            return self._stepped(state)
        if self.phases is not None and state.phase > self.phases:
            return ()
        if self.counting:
            return self._crashing(state) if self.faults.kind == "crashes" else self._counted(state)
        return self._told_apart(state, self.communication, state.round)

    def _next(self, state: State, spent: int) -> State:
        """The state after a round, with the processes still to be filled in."""
        last = state.round + 1 == len(self.model.rounds)
        phase = self.names.phase(state.phase + 1) if last else state.phase
        lossy, budget = self.faults.left(state.lossy, state.budget, spent)
        coordinators = () if last or not self.model.uses_coordinators else state.coordinators
        return State(phase, 0 if last else state.round + 1, lossy, budget, state.shared, (), coordinators)

    def _stepped(self, state: State) -> Iterator[State]:
        tried = set()
        for p, process in enumerate(state.processes):
            *local, number = process
            if number == len(self.model.steps) or (self.symmetry and process in tried):
                continue
            tried.add(process)
            context = Context(self.n, self.parameters, 1, p, p, local, list(state.shared))
            for after, shared in self.machine.step(number, context):
                processes = (*state.processes[:p], (*after, number + 1), *state.processes[p + 1 :])
                yield state._replace(processes=processes, shared=shared)

    # -- processes that need not be told apart -------------------------------------------------------------------------

    def _message(self, state: State, process: Process, p: int = 0) -> Message | None:
        if process[self.machine.marks] & CRASHED:
            return None
        coordinator = state.coordinators[p] if state.coordinators else 0
        context = Context(self.n, self.parameters, state.phase, p, coordinator, list(process), list(state.shared))
        return self.machine.message(state.round, context)

    def _counted(self, state: State) -> Iterator[State]:
        classes = Counter(state.processes)
        sent = {process: self._message(state, process) for process in classes}
        pool: Counter[Message] = Counter()
        for process, count in classes.items():
            message = sent[process]
            if message is not None:
                pool[message] += count
        limited = self.faults.kind == "omissions" and state.lossy > 0 and state.budget != UNLIMITED
        options = [
            (self._heard_moves(state, process, sent[process], pool), count) for process, count in classes.items()
        ]
        if limited:
            yield from self._within_budget(state, options)
            return
        following = self._next(state, 0)
        for processes in self._combined(options):
            yield following._replace(processes=processes)

    def _combined(self, options: Sequence[tuple[Iterable[Process], int]]) -> Iterator[tuple[Process, ...]]:
        """All multisets of processes in which each class moves by its own options; a multiset is one number while it is built."""
        width = self.n.bit_length()
        places: dict[Process, int] = {}
        sums = {0}
        for moves, count in options:
            units = [1 << width * places.setdefault(after, len(places)) for after in moves]
            own = {sum(chosen) for chosen in combinations_with_replacement(units, count)}
            sums = {a + b for a in sums for b in own}
        outcomes = list(places)
        mask = (1 << width) - 1
        for number in sums:
            processes: list[Process] = []
            for after in outcomes:
                if number & mask:
                    processes += [after] * (number & mask)
                number >>= width
            yield tuple(processes)

    def _within_budget(self, state: State, options: Sequence[tuple[Moves, int]]) -> Iterator[State]:
        """The same where messages are lost at a price."""
        width = self.n.bit_length()
        places: dict[Process, int] = {}
        spent = {0: 0}
        for moves, count in options:
            units = [(1 << width * places.setdefault(after, len(places)), cost) for after, cost in moves.items()]
            extended: dict[int, int] = {}
            for chosen in combinations_with_replacement(units, count):
                unit, cost = sum(item[0] for item in chosen), sum(item[1] for item in chosen)
                for number, before in spent.items():
                    total = before + cost
                    if total <= state.budget and total < extended.get(number + unit, UNLIMITED):
                        extended[number + unit] = total
            spent = extended
        outcomes = list(places)
        mask = (1 << width) - 1
        for number, cost in spent.items():
            processes: list[Process] = []
            for after in outcomes:
                processes += [after] * (number & mask)
                number >>= width
            yield self._next(state, cost)._replace(processes=tuple(processes))

    def _heard_moves(self, state: State, process: Process, own: Message | None, pool: Counter[Message]) -> Moves:
        """What a process can become, by what it can hear."""
        omissions = self.faults.kind == "omissions"
        lossless = omissions and state.lossy == 0
        key = (state.round, state.phase, process, own, lossless, frozenset(pool.items()))
        known = self._moves.get(key)
        if known is None:
            silent = self.n - sum(pool.values())
            known = {}
            for heard, mine in _hearings(pool, own, omissions, lossless):
                total = sum(heard.values())
                if self._permitted(state.round, total + silent, mine or own is None):
                    self._add_moves(known, state, process, heard, self.n - silent - total)
            self._moves[key] = known
        return known

    def _add_moves(
        self, known: Moves, state: State, process: Process, heard: Mapping[Message, int], missed: int
    ) -> None:
        context = Context(self.n, self.parameters, state.phase, 0, 0, list(process), list(state.shared))
        context.messages = tuple(heard.items())
        for after in self.machine.move(state.round, context):
            if missed < known.get(after, UNLIMITED):
                known[after] = missed

    def _permitted(self, number: int, size: int, own: bool) -> bool:
        """May a process hear of this many, itself among them or not?"""
        if not self.communication.of_round[number]:
            return True
        others = min(size - own, self.n - 1)
        mask = ((1 << others) - 1) << 1 | own
        return self.communication.allows_one(number, (), 0, mask)

    def _crashing(self, state: State) -> Iterator[State]:
        """A round in which some processes crash: each of the others may or may not hear them once more."""
        classes = Counter(state.processes)
        running = [process for process in classes if not process[self.machine.marks] & CRASHED]
        stopped = [(process, classes[process]) for process in classes if process not in running]
        sent = {process: self._message(state, process) for process in running}
        for crashes in product(*(range(classes[process] + 1) for process in running)):
            crashed = sum(crashes)
            if crashed > state.budget:
                continue
            sure: Counter[Message] = Counter()
            perhaps: Counter[Message] = Counter()
            for process, count in zip(running, crashes, strict=True):
                message = sent[process]
                if message is not None:
                    sure[message] += classes[process] - count
                    perhaps[message] += count
            options: list[tuple[Iterable[Process], int]] = [((process,), count) for process, count in stopped]
            for process, count in zip(running, crashes, strict=True):
                if count:
                    options.append(((self._stop(process),), count))
                if classes[process] > count:
                    options.append((self._crash_moves(state, process, sure, perhaps), classes[process] - count))
            following = self._next(state, crashed)
            for processes in self._combined(options):
                yield following._replace(processes=processes)

    def _stop(self, process: Process) -> Process:
        decision, marks = self.machine.decision, self.machine.marks
        return (*([0] * decision), process[decision], process[marks] | CRASHED)

    def _crash_moves(self, state: State, process: Process, sure: Counter[Message], perhaps: Counter[Message]) -> Moves:
        key = (state.round, state.phase, process, frozenset((+sure).items()), frozenset((+perhaps).items()))
        known = self._moves.get(key)
        if known is None:
            known = self._moves[key] = {}
            items = list((+perhaps).items())
            for counts in product(*(range(count + 1) for _, count in items)):
                heard = Counter(+sure)
                for (message, _), count in zip(items, counts, strict=True):
                    heard[message] += count
                self._add_moves(known, state, process, +heard, 0)
        return known

    # -- processes that are told apart -------------------------------------------------------------------------------

    def _told_apart(self, state: State, communication: Communication, number: int) -> Iterator[State]:
        """All processes in order, with coordinators; `number` is the round that the predicate speaks of."""
        if self.faults.kind == "crashes":
            yield from self._crashing_apart(state)
            return
        for coordinators in self._coordinators(state, communication):
            begun = state._replace(coordinators=coordinators)
            seen = set()
            options = [self._choices(begun, p, communication, number) for p in range(self.n)]
            for processes, spent in self._jointly(begun, options, communication, number):
                following = self._next(begun, spent)._replace(processes=processes)
                if following not in seen:
                    seen.add(following)
                    yield following

    def _coordinators(self, state: State, communication: Communication) -> Iterator[tuple[int, ...]]:
        if not self.model.uses_coordinators or state.round:
            yield state.coordinators or (0,) * self.n
            return
        seen = set()
        for coordinators in product(range(self.n), repeat=self.n):
            if communication.allows_coordinators(coordinators):
                if self.symmetry and not communication.bound:
                    order = arrange(state.processes, coordinators)
                    place = {p: i for i, p in enumerate(order)}
                    shape = (
                        tuple(state.processes[p] for p in order),
                        tuple(place[coordinators[p]] for p in order),
                    )
                    if shape in seen:
                        continue
                    seen.add(shape)
                yield coordinators

    def _choices(self, state: State, p: int, communication: Communication, number: int) -> dict[Process, list[int]]:
        """What a process can become, each with the heard-of sets that lead to it (the largest, where larger is as good)."""
        send = self.model.rounds[state.round].send
        process = state.processes[p]
        everyone = (1 << self.n) - 1
        senders: dict[int, Message] = {}
        for q, other in enumerate(state.processes):
            message = self._message(state, other, q)
            if message is not None and send is not None and (send.to == "all" or state.coordinators[q] == p):
                senders[q] = message
        monotone = all(item.monotone for item in communication.of_round[number])
        omissions = self.faults.kind == "omissions"
        varying = [q for q in (senders if monotone else range(self.n)) if not (omissions and q == p)]
        if omissions and state.lossy == 0:
            varying = []
        fixed = everyone
        for q in varying:
            fixed &= ~(1 << q)
        found: dict[Process, list[int]] = {}
        outcomes: dict[object, list[Process]] = {}
        for bits in range(1 << len(varying)):
            mask = fixed
            for i, q in enumerate(varying):
                if bits >> i & 1:
                    mask |= 1 << q
            if not communication.allows_one(number, state.coordinators, p, mask):
                continue
            heard: Counter[Message] = Counter(message for q, message in senders.items() if mask >> q & 1)
            coordinator = state.coordinators[p]
            from_coordinator = senders.get(coordinator) if mask >> coordinator & 1 else None
            key = (frozenset(heard.items()), from_coordinator)
            if key not in outcomes:
                context = Context(
                    self.n, self.parameters, state.phase, p, coordinator, list(process), list(state.shared)
                )
                context.messages = tuple(heard.items())
                context.from_coordinator = from_coordinator
                outcomes[key] = self.machine.move(state.round, context)
            for after in outcomes[key]:
                found.setdefault(after, []).append(mask)
        if monotone:
            return {after: _largest(masks) for after, masks in found.items()}
        return found

    def _jointly(
        self, state: State, options: Sequence[dict[Process, list[int]]], communication: Communication, number: int
    ) -> Iterator[tuple[tuple[Process, ...], int]]:
        """All ways in which the processes can move together."""
        limited = self.faults.kind == "omissions" and state.budget != UNLIMITED
        pairs = communication.pairs(number)
        beyond = communication.beyond_pairs(number)
        if not limited and not pairs and not beyond:
            for processes in product(*options):
                yield processes, 0
            return
        ways: dict[tuple[Process, ...], list[tuple[int, ...]]] = {(): [()]}
        for moves in options:
            extended: dict[tuple[Process, ...], list[tuple[int, ...]]] = {}
            for before, rows in ways.items():
                for after, masks in moves.items():
                    found = [
                        (*row, mask)
                        for row in rows
                        for mask in masks
                        if all(test(other, mask) and test(mask, other) for test in pairs for other in (*row, mask))
                        and not (limited and _lost(row, self.n) + self.n - mask.bit_count() > state.budget)
                    ]
                    if found:
                        extended[(*before, after)] = found
            ways = extended
        for processes, rows in ways.items():
            if beyond:
                rows = [row for row in rows if communication.allows(number, state.coordinators, row)]
            if rows:
                yield processes, min(_lost(row, self.n) for row in rows) if limited else 0

    def _crashing_apart(self, state: State) -> Iterator[State]:
        """Crashes with processes in order, for searches without symmetry."""
        marks = self.machine.marks
        running = [p for p in range(self.n) if not state.processes[p][marks] & CRASHED]
        sent = [self._message(state, process) for process in state.processes]
        for bits in range(1 << len(running)):
            crashing = [p for i, p in enumerate(running) if bits >> i & 1]
            if len(crashing) > state.budget:
                continue
            sure = Counter(m for p in running if p not in crashing and (m := sent[p]) is not None)
            perhaps = Counter(m for p in crashing if (m := sent[p]) is not None)
            options: list[Iterable[Process]] = []
            for p, process in enumerate(state.processes):
                if p not in running:
                    options.append((process,))
                elif p in crashing:
                    options.append((self._stop(process),))
                else:
                    options.append(self._crash_moves(state, process, sure, perhaps))
            for processes in product(*options):
                yield self._next(state, len(crashing))._replace(processes=processes)


def _variables_of(properties: Iterable[r.Property]) -> set[str]:
    """The variables that properties speak of."""
    formulas = [item.formula for item in properties if item.formula]
    return {node.name for item in formulas for node in item.walk() if isinstance(node, r.VariableOf)}


def _sizes_only(node: r.Node) -> bool:
    """Does a predicate about one process only ask how many it hears of, and whether of itself?"""
    assert isinstance(node, r.Quantified)
    name = r.Bound(node.names[0])
    for item in node.body.walk():
        if isinstance(item, r.Member) and not (item.element == name and item.group.process == name):
            return False
        if isinstance(item, r.Related | r.Coordinator):
            return False
    return True


def _hearings(
    pool: Counter[Message], own: Message | None, keeps_own: bool, lossless: bool
) -> Iterator[tuple[dict[Message, int], bool]]:
    """The multisets of messages that a process can hear, and whether its own is among them."""
    if lossless:
        yield dict(pool), own is not None
        return
    others = Counter(pool)
    if own is not None:
        others[own] -= 1
    items = list(others.items())
    for mine in ((True,) if keeps_own else (True, False)) if own is not None else (False,):
        for counts in product(*(range(count + 1) for _, count in items)):
            heard = {message: count for (message, _), count in zip(items, counts, strict=True) if count}
            if mine:
                assert own is not None
                heard[own] = heard.get(own, 0) + 1
            yield heard, mine


def _compositions(n: int) -> Iterator[tuple[int, ...]]:
    """All ways to write n as a sum of positive numbers, in order."""
    if n == 0:
        yield ()
    for first in range(n, 0, -1):
        for rest in _compositions(n - first):
            yield (first, *rest)


def _largest(masks: Sequence[int]) -> list[int]:
    """The masks that no other contains."""
    found: list[int] = []
    for mask in sorted(set(masks), key=lambda mask: -mask.bit_count()):
        if not any(mask & other == mask for other in found):
            found.append(mask)
    return found


def _lost(row: Sequence[int], n: int) -> int:
    return sum(n - mask.bit_count() for mask in row)


def arrange(processes: Sequence[Process], coordinators: Sequence[int]) -> list[int]:
    """An order of the processes that depends on their states and on who coordinates whom, as far as colours tell."""
    colour: list[Any] = list(processes)
    everyone = range(len(processes))
    for _ in range(2):
        keys = [
            (
                colour[p],
                coordinators[p] == p,
                colour[coordinators[p]],
                tuple(sorted(colour[q] for q in everyone if coordinators[q] == p)),
            )
            for p in everyone
        ]
        ranks = {key: i for i, key in enumerate(sorted(set(keys)))}
        colour = [ranks[key] for key in keys]
    return sorted(everyone, key=lambda p: (colour[p], p))
