"""From a path of states in normal form to a run with names: who heard whom, which values, which phases.

The search renames processes, values and times as it goes; here the renamings are undone along one path, and heard-of sets that
explain each round are looked for.  The run is replayed on the plain semantics before anybody sees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from quorate.engines.rounds.communication import UNLIMITED, Communication
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.rounds.search import Normal, Search, State
from quorate.models.evaluation import CRASHED, Process
from quorate.proof.round_traces import Happening, RoundTrace, replay


@dataclass(frozen=True)
class Explained:
    """A round in the names of the state before it: what every process becomes, and what it heard."""

    coordinators: tuple[int, ...]
    heard: tuple[int, ...]
    crashing: int
    processes: tuple[Process, ...]


def path_to(search: Search, state: State) -> list[tuple[State, State | None]]:
    """States from an initial one to this one, each with its form before renaming."""
    found: list[tuple[State, State | None]] = []
    at: State | None = state
    while at is not None:
        parent = search.parents[at]
        found.append((at, parent[1] if parent else None))
        at = parent[0] if parent else None
    return found[::-1]


class Retracing:
    """Follows a path, undoing the renamings."""

    def __init__(self, search: Search, start: State) -> None:
        self.search = search
        self.naive = Naive(search.machine, search.n, search.parameters, search.fault_bound)
        proposals = [self._proposal(process) for process in start.processes]
        self.configurations = [self.naive.start(proposals)]
        self.happenings: list[Happening] = []
        self.state = start
        self.where = list(range(search.n))
        self.values = {v: v for v in range(1, search.n + 1)}
        self.times = {0: 0, start.phase: 1}

    def _proposal(self, process: Process) -> int:
        local = process[: self.search.machine.marks + 1]
        return next(v for v in range(1, self.search.n + 1) if _agree([local], [self.search.machine.initial(v)]))

    def follow(self, raw: State, communication: Communication | None = None, number: int = 0) -> None:
        """Take the round or step that leads from the current state to `raw`.

        With a predicate of its own, processes and values keep the names that they have in the current state.
        """
        if self.search.model.steps:
            self._follow_step(raw)
            return
        explained = explain(self.search, self.state, raw, communication, number)
        before = self.configurations[-1]
        place = dict(enumerate(self.where))
        everyone = range(self.search.n)

        def mask(bits: int) -> int:
            return sum(1 << place[i] for i in everyone if bits >> i & 1)

        coordinators = [0] * self.search.n
        heard = [0] * self.search.n
        for i in everyone:
            if self.search.model.uses_coordinators:
                coordinators[place[i]] = place[explained.coordinators[i]]
            heard[place[i]] = mask(explained.heard[i])
        aligned = raw._replace(processes=explained.processes)
        happening = Happening(tuple(coordinators), tuple(heard), mask(explained.crashing))
        self._advance(aligned, happening, before, communication is not None)

    def _follow_step(self, raw: State) -> None:
        moved = next(i for i, (a, b) in enumerate(zip(self.state.processes, raw.processes, strict=True)) if a != b)
        p = self.where[moved]
        before = self.configurations[-1]
        wanted = raw.processes[moved]
        shared = self.search.names.renamed_shared(raw.shared, self.values)
        decision = self.search.machine.decision
        place = self.search.names.renamed(wanted, self.values)[decision : decision + 2]
        for after in self.naive.stepped(before, p):
            if after.shared == shared and after.processes[p][decision : decision + 2] == place:
                self.configurations.append(after)
                self.happenings.append(Happening(process=p))
                self._rename(raw)
                return
        raise AssertionError("a step of the search is not a step of the algorithm")

    def _advance(self, raw: State, happening: Happening, before: Configuration, in_order: bool) -> None:
        times = {**self.times, self.state.phase: before.phase}
        processes: list[Process] = [()] * self.search.n
        for i, process in enumerate(raw.processes):
            changed = list(self.search.names.renamed(process, self.values))
            for t in self.search.names.times:
                changed[t] = times.get(changed[t], changed[t])
            processes[self.where[i]] = tuple(changed)
        following = self.naive.after(
            replace(before, coordinators=happening.coordinators), happening.heard, happening.crashing
        )
        after = next(item for item in following if _agree(processes, item.processes))
        self.configurations.append(after)
        self.happenings.append(happening)
        self.times = times
        self._rename(raw, in_order)

    def _rename(self, raw: State, in_order: bool = False) -> None:
        normal = self.search.normal(raw)
        if in_order:
            processes, times = raw.processes, None
            if raw.round == 0:
                processes, times = self.search.names.settle(processes, raw.phase)
            normal = Normal(raw._replace(processes=processes), range(self.search.n), {}, times)
        self.where = [self.where[i] for i in normal.order]
        if normal.values:
            values = {new: self.values[old] for old, new in normal.values.items()}
            self.values = values
        if normal.times is not None:
            self.times = {new: self.times[old] for old, new in normal.times.items() if new >= 0}
        self.times[normal.state.phase] = self.configurations[-1].phase
        self.state = normal.state

    def trace(self, violated: str | None, window: int = 0, loop: int | None = None) -> RoundTrace:
        found = RoundTrace(
            "run",
            self.search.n,
            dict(self.search.parameters),
            tuple(self.configurations),
            tuple(self.happenings),
            violated,
            self.search.fault_bound,
            window,
            loop,
        )
        replay(self.search.model, found)
        return found


def _agree(marked: Sequence[Process], processes: Sequence[Process]) -> bool:
    """Are these the same processes, but for what has been forgotten?"""
    return all(
        a == b or (a < 0 and place < len(process) - 2)
        for process, other in zip(marked, processes, strict=True)
        for place, (a, b) in enumerate(zip(process, other, strict=True))
    )


def retrace(search: Search, state: State) -> Retracing:
    """The run to a state that the search has found."""
    (start, _), *rest = path_to(search, state)
    run = Retracing(search, start)
    for _, raw in rest:
        assert raw is not None
        run.follow(raw)
    return run


def explain(
    search: Search, state: State, raw: State, communication: Communication | None = None, number: int = 0
) -> Explained:
    """Coordinators and heard-of sets for which a round leads from a state to another."""
    communication = communication or search.communication
    if communication is search.communication:
        number = state.round
    if search.faults.kind == "crashes":
        return _explain_crashes(search, state, raw)
    if state.round or raw.coordinators:
        candidates: Iterator[tuple[int, ...]] = iter([raw.coordinators or state.coordinators])
    else:
        candidates = search._coordinators(state, communication)
    for coordinators in candidates:
        begun = state._replace(coordinators=coordinators or (0,) * search.n)
        options = [search._choices(begun, p, communication, number) for p in range(search.n)]
        aligned = not search.counting or communication is not search.communication
        for processes, heard in _assignments(search, begun, raw, options, communication, number, aligned):
            return Explained(begun.coordinators, heard, 0, processes)
    raise AssertionError("a round of the search has no heard-of sets")


def _assignments(
    search: Search,
    state: State,
    raw: State,
    options: Sequence[Mapping[Process, Sequence[int]]],
    communication: Communication,
    number: int,
    aligned: bool,
) -> Iterator[tuple[tuple[Process, ...], tuple[int, ...]]]:
    """Ways to give every process what it becomes and what it hears; `aligned`: the processes of `raw` stand in order."""
    wanted = Counter(raw.processes)
    pairs = communication.pairs(number)
    limited = search.faults.kind == "omissions" and state.lossy > 0 and state.budget != UNLIMITED
    budget = state.budget - raw.budget if limited and raw.lossy else state.budget if limited else UNLIMITED
    cheapest = [min((search.n - max(m.bit_count() for m in masks)) for masks in row.values()) for row in options]

    def extend(
        p: int, processes: tuple[Process, ...], heard: tuple[int, ...], lost: int
    ) -> Iterator[tuple[tuple[Process, ...], tuple[int, ...]]]:
        if p == search.n:
            if communication.allows(number, state.coordinators, heard):
                yield processes, heard
            return
        rows = [(raw.processes[p], options[p].get(raw.processes[p], ()))] if aligned else options[p].items()
        for after, masks in rows:
            if not aligned and not wanted[after]:
                continue
            wanted[after] -= 1
            for mask in sorted(masks, key=lambda m: -m.bit_count()):
                total = lost + search.n - mask.bit_count()
                if total + sum(cheapest[p + 1 :]) > budget:
                    continue
                if all(test(other, mask) and test(mask, other) for test in pairs for other in (*heard, mask)):
                    yield from extend(p + 1, (*processes, after), (*heard, mask), total)
            wanted[after] += 1

    yield from extend(0, (), (), 0)


def _explain_crashes(search: Search, state: State, raw: State) -> Explained:
    """Who crashes, and who still hears them."""
    marks = search.machine.marks
    naive = Naive(search.machine, search.n, search.parameters, search.fault_bound)
    stopped = sum(1 << i for i, process in enumerate(state.processes) if process[marks] & CRASHED)
    running = [i for i in range(search.n) if not stopped >> i & 1]
    new = sum(bool(process[marks] & CRASHED) for process in raw.processes) - stopped.bit_count()
    before = Configuration(
        state.phase, state.round, state.processes, state.shared, (0,) * search.n, (), state.lossy, state.budget
    )
    sent = [naive.message(before, q) for q in range(search.n)]
    for crashing in combinations(running, new):
        bits = sum(1 << p for p in crashing)
        sure = sum(1 << p for p in running) & ~bits
        options: list[dict[Process, list[int]]] = []
        for p in range(search.n):
            row: dict[Process, list[int]] = {}
            extra = bits
            while True:
                for after in naive.moves(before, p, sure | extra, sent, p in crashing):
                    row.setdefault(after, []).append(sure | extra)
                if not extra:
                    break
                extra = (extra - 1) & bits
            options.append(row)
        communication = search.communication
        for processes, heard in _assignments(
            search, state, raw, options, communication, state.round, not search.counting
        ):
            return Explained((0,) * search.n, heard, bits, processes)
    raise AssertionError("a round of the search has no heard-of sets")
