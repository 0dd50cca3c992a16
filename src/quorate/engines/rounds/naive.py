"""The reference: every process, every heard-of set, every coordinator, one after the other.

It says in the plainest way what a run of an algorithm is.  It is slow beyond three or four processes and is there to be believed:
searches are compared with it, and every trace is replayed on `check_round`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from quorate.engines.rounds.communication import Communication, Faults, faults_of
from quorate.models.evaluation import CRASHED, Context, Machine, Message, Process


@dataclass(frozen=True)
class Configuration:
    """All processes between two rounds (or steps), and what is left of the faults.

    `phase` is the phase of the next round and `round` its number in the phase, from 0.  `coordinators` and `heard` are those of
    the current phase so far.  `lossy` rounds and `budget` faults are left.  `done` counts the steps each process has taken.
    """

    phase: int
    round: int
    processes: tuple[Process, ...]
    shared: tuple[int, ...] = ()
    coordinators: tuple[int, ...] = ()
    heard: tuple[tuple[int, ...], ...] = ()
    lossy: int = 0
    budget: int = 0
    done: tuple[int, ...] = ()
    kept: tuple[tuple[tuple[Message | None, ...], ...], ...] = ()
    """By round of the phase, receiver and sender: the last message received; only where processes look at it."""


class Naive:
    """The runs of an algorithm with n processes."""

    def __init__(self, machine: Machine, n: int, parameters: Mapping[str, int], faults: int | None = None) -> None:
        self.machine = machine
        self.model = machine.model
        self.n = n
        self.parameters = parameters
        self.faults: Faults = faults_of(machine, n, parameters, faults)
        self.communication = Communication(machine, n, parameters, self.model.safe, len(self.model.rounds))
        bound = self.model.phases
        self.phases = None if bound is None else int(machine.function(bound)(self.communication.world(())))

    def initial(self, values: int) -> Iterator[Configuration]:
        """A configuration for every way to propose values from 1 to `values`."""
        for proposals in product(range(1, values + 1), repeat=self.n):
            yield self.start(proposals)

    def start(self, proposals: Sequence[int]) -> Configuration:
        processes = tuple(self.machine.initial(value) for value in proposals)
        done = (0,) * self.n if self.model.steps else ()
        lossy = self.faults.rounds if self.faults.kind == "omissions" else 0
        budget = 0 if self.faults.kind == "none" else self.faults.bound
        nothing: tuple[tuple[Message | None, ...], ...] = ((None,) * self.n,) * self.n
        kept = (nothing,) * len(self.model.rounds) if self.model.keeps_messages else ()
        return Configuration(1, 0, processes, self.machine.initial_shared(), (), (), lossy, budget, done, kept)

    def successors(self, before: Configuration) -> Iterator[Configuration]:
        """Everything that can be the case after the next round or step."""
        if self.model.steps:
            for p in range(self.n):
                yield from self.stepped(before, p)
            return
        if self.phases is not None and before.phase > self.phases:
            return
        for coordinators in self.coordinators(before):
            for heard, crashed in self.hearings(before):
                yield from self.after(replace(before, coordinators=coordinators), heard, crashed)

    def stepped(self, before: Configuration, p: int) -> Iterator[Configuration]:
        """What one process can do next, on its own."""
        number = before.done[p]
        if number == len(self.model.steps):
            return
        context = Context(self.n, self.parameters, 1, p, p, list(before.processes[p]), list(before.shared))
        for local, shared in self.machine.step(number, context):
            processes = (*before.processes[:p], local, *before.processes[p + 1 :])
            done = (*before.done[:p], number + 1, *before.done[p + 1 :])
            yield replace(before, processes=processes, shared=shared, done=done)

    def coordinators(self, before: Configuration) -> Iterator[tuple[int, ...]]:
        """The coordinators of the phase: any at its start, then the same ones."""
        if before.round or not self.model.uses_coordinators:
            yield before.coordinators if before.round else (0,) * self.n
            return
        for coordinators in product(range(self.n), repeat=self.n):
            if self.communication.allows_coordinators(coordinators):
                yield coordinators

    def hearings(self, before: Configuration) -> Iterator[tuple[tuple[int, ...], int]]:
        """Heard-of sets of all processes that the faults allow, and the set of processes that crash in the round."""
        everyone = (1 << self.n) - 1
        stopped = self.crashed(before)
        if self.faults.kind == "crashes":
            for crashing in range(1 << self.n):
                if not crashing & stopped and crashing.bit_count() <= before.budget:
                    sure = everyone & ~stopped & ~crashing
                    options = [sure | extra for extra in range(1 << self.n) if not extra & ~crashing]
                    for heard in product(options, repeat=self.n):
                        yield heard, crashing
        elif self.faults.kind == "omissions":
            if before.lossy == 0:
                yield (everyone,) * self.n, 0
                return
            for heard in product(range(1 << self.n), repeat=self.n):
                lost = sum(self.n - group.bit_count() for group in heard)
                if all(group >> p & 1 for p, group in enumerate(heard)) and lost <= before.budget:
                    yield heard, 0
        else:
            for heard in product(range(1 << self.n), repeat=self.n):
                yield heard, 0

    def crashed(self, before: Configuration) -> int:
        marks = self.machine.marks
        return sum(1 << p for p, process in enumerate(before.processes) if process[marks] & CRASHED)

    def after(self, before: Configuration, heard: tuple[int, ...], crashing: int) -> Iterator[Configuration]:
        """What can be the case after a round with these heard-of sets; nothing if the predicate forbids them."""
        if not self.communication.allows(before.round, before.coordinators, heard):
            return
        rows = (*before.heard, heard)
        last = before.round + 1 == len(self.model.rounds)
        if not self.communication.allows_several(before.coordinators, rows):
            return
        sent = [self.message(before, q) for q in range(self.n)]
        kept = self.keep(before, heard, sent)
        begun = replace(before, kept=kept)
        moves = [self.moves(begun, p, heard[p], sent, bool(crashing >> p & 1)) for p in range(self.n)]
        lost = crashing.bit_count()
        if self.faults.kind == "omissions":
            lost = sum(self.n - group.bit_count() for group in heard)
        for processes in product(*moves):
            yield Configuration(
                before.phase + last,
                0 if last else before.round + 1,
                processes,
                before.shared,
                () if last else before.coordinators,
                () if last or not self.communication.of_several else rows,
                *self.faults.left(before.lossy, before.budget, lost),
                kept=kept,
            )

    def keep(
        self, before: Configuration, heard: tuple[int, ...], sent: Sequence[Message | None]
    ) -> tuple[tuple[tuple[Message | None, ...], ...], ...]:
        """The messages that are kept once those of a round have been received."""
        if not before.kept:
            return ()
        rows = tuple(
            tuple(
                message if self.arrives(before, p, q, heard[p], message) else before.kept[before.round][p][q]
                for q, message in enumerate(sent)
            )
            for p in range(self.n)
        )
        return (*before.kept[: before.round], rows, *before.kept[before.round + 1 :])

    def arrives(self, before: Configuration, p: int, q: int, heard: int, message: Message | None) -> bool:
        """Is the message of q received by p?"""
        send = self.model.rounds[before.round].send
        addressed = send is not None and (send.to == "all" or before.coordinators[q] == p)
        return message is not None and addressed and bool(heard >> q & 1)

    def message(self, before: Configuration, q: int) -> Message | None:
        """What a process sends in the round."""
        if before.processes[q][self.machine.marks] & CRASHED:
            return None
        return self.machine.message(before.round, self.context(before, q))

    def context(self, before: Configuration, p: int) -> Context:
        return Context(
            self.n,
            self.parameters,
            before.phase,
            p,
            before.coordinators[p],
            list(before.processes[p]),
            list(before.shared),
        )

    def moves(
        self, before: Configuration, p: int, heard: int, sent: Sequence[Message | None], crashes: bool
    ) -> list[Process]:
        """What can become of a process that hears of these."""
        process = before.processes[p]
        marks, decision = self.machine.marks, self.machine.decision
        if process[marks] & CRASHED:
            return [process]
        if crashes:
            return [(*([0] * decision), process[decision], process[marks] | CRASHED)]
        context = self.context(before, p)
        counts: dict[Message, int] = {}
        for q, message in enumerate(sent):
            if message is not None and self.arrives(before, p, q, heard, message):
                counts[message] = counts.get(message, 0) + 1
                if q == before.coordinators[p]:
                    context.from_coordinator = message
        context.messages = tuple(counts.items())
        if before.kept:
            context.kept = tuple((message, 1) for message in before.kept[before.round][p] if message is not None)
        return self.machine.move(before.round, context)

    def check_round(
        self,
        before: Configuration,
        coordinators: tuple[int, ...],
        heard: tuple[int, ...],
        crashing: int,
        after: Configuration,
    ) -> str | None:
        """Does a round with these coordinators and heard-of sets lead from one configuration to the other?"""
        if before.round and coordinators != before.coordinators:
            return "the coordinators change within a phase"
        if not self.communication.allows_coordinators(coordinators):
            return "the coordinators do not satisfy `safe`"
        if not self.allowed(before, heard, crashing):
            return "the faults do not allow these heard-of sets"
        found = self.after(replace(before, coordinators=coordinators), heard, crashing)
        return None if any(item == after for item in found) else "the round does not lead to this state"

    def allowed(self, before: Configuration, heard: tuple[int, ...], crashing: int) -> bool:
        """Do the faults allow these heard-of sets?  `hearings` lists all of them."""
        everyone = (1 << self.n) - 1
        lost = sum(self.n - group.bit_count() for group in heard)
        if self.faults.kind == "crashes":
            stopped = self.crashed(before)
            sure = everyone & ~stopped & ~crashing
            fits = all(group & sure == sure and not group & stopped for group in heard)
            return fits and not crashing & stopped and crashing.bit_count() <= before.budget
        if self.faults.kind == "omissions":
            own = all(group >> p & 1 for p, group in enumerate(heard))
            return lost == 0 if before.lossy == 0 else own and lost <= before.budget
        return True
