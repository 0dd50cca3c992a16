"""Exhaustive check of a round-based algorithm with n processes: all runs, of any length, whatever is heard.

Safety properties are looked at in every state; lemmas between phases.  Termination means: if `sync` holds from the start of
a phase on, everybody has decided when the rounds that it speaks of are over; or, where the file declares faults instead,
that everybody who does not crash decides in the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from quorate.engines.rounds.communication import Communication
from quorate.engines.rounds.search import Found, Search, State
from quorate.engines.rounds.symmetry import order_of_values
from quorate.methods.heardof.phase import Runs
from quorate.methods.heardof.runs import path_to, retrace
from quorate.models import rounds as r
from quorate.models.evaluation import BUILT_IN_FORMULAS, Forgotten, Machine, RoundsError, World
from quorate.models.rounds import Node, Property, RoundModel
from quorate.proof.round_traces import RoundTrace, alike, window_of, witnesses
from quorate.proof.verdicts import Result, Verdict

METHOD = "exhaustive search"
MOST_TURNS = 1000
"""How often a circle of states is followed before names have to repeat."""

Progress = Callable[[str], None]
Symmetry = Literal["all", "partition", "none"]
PropertyKind = Literal["safety", "invariant"]


@dataclass(frozen=True)
class Options:
    """How to search: which symmetries to use, when to stop, whether to go on after a violation.

    `partition`: only what is proposed is looked at up to renaming of values, as Barbosa, Fonseca and Araujo do (2020).
    """

    symmetry: Symmetry = "all"
    keep_going: bool = False
    timeout: float | None = None
    most_states: int = 20_000_000


@dataclass(frozen=True)
class Outcome:
    results: tuple[Result, ...]
    found: Found
    notes: tuple[str, ...]


def check(
    model: RoundModel,
    n: int,
    parameters: Mapping[str, int],
    faults: int | None = None,
    options: Options = Options(),
    progress: Progress = lambda text: None,
) -> Outcome:
    """Search all runs of the algorithm with n processes."""
    if model.keeps_messages:
        return _first_phases(model, n, parameters, faults, options)
    return _Check(model, n, parameters, faults, options, progress).outcome()


def _first_phases(
    model: RoundModel, n: int, parameters: Mapping[str, int], faults: int | None, options: Options
) -> Outcome:
    """Where messages are kept, senders matter and nothing is counted: the first phases, by propositional logic."""
    started = time.monotonic()
    runs = Runs(model, n, parameters, FIRST_PHASES, faults)
    scope = ", ".join([f"n={n}", *(f"{name}={value}" for name, value in parameters.items())])
    results = []
    for item in model.safety:
        verdict: Verdict = "unknown"
        trace, reason = None, f"no run of {FIRST_PHASES} phases violates it"
        if item.name == "termination" and item.formula is None:
            reason = "it is not looked for where messages are kept"
        else:
            try:
                trace = runs.first_violation(item, options.timeout or 600.0)
            except TimeoutError:
                reason = "the time is up"
        if trace is not None:
            verdict, reason = "violated", f"violated after {_count(model, trace)}"
        seconds = time.monotonic() - started
        results.append(
            Result(
                item.name, "safety", verdict, "bounded search", scope, reason, None, item.span, seconds, rounds=trace
            )
        )
    notes = ["partition and process symmetry are refused: processes keep messages by their senders"]
    return Outcome(tuple(results), Found(), tuple(notes))


FIRST_PHASES = 3


class _Check:
    def __init__(
        self,
        model: RoundModel,
        n: int,
        parameters: Mapping[str, int],
        faults: int | None,
        options: Options,
        progress: Progress,
    ) -> None:
        self.model = model
        self.machine = Machine(model)
        partition = options.symmetry == "partition"
        if partition and order_of_values(model) is not None:
            raise RoundsError("partition symmetry is refused: the definition orders values")
        self.search = Search(self.machine, n, parameters, faults, options.symmetry == "all", partition=partition)
        if self.search.communication.of_several:
            raise RoundsError("`safe` ties several rounds together in one condition, which the search cannot follow")
        self.options = options
        self.progress = progress
        self.started = time.monotonic()
        self.bad: dict[str, RoundTrace] = {}
        self.decided = False
        self.why_stopped = ""
        safety = [item for item in model.safety if item.name != "termination" or item.formula]
        self.checks = [(item, self._test(item)) for item in safety]
        self.lemmas = [(item, self._test(item)) for item in model.invariants]

    def _test(self, item: Property) -> Callable[[State], bool]:
        if item.formula is None:
            built_in = BUILT_IN_FORMULAS[item.name]
            return lambda state: built_in(self.machine, state.processes)
        formula = self.machine.function(item.formula)
        n, parameters = self.search.n, self.search.parameters
        return lambda state: bool(formula(World(n, parameters, state.phase, state.processes, state.shared)))

    def outcome(self) -> Outcome:
        while True:
            try:
                return self._outcome()
            except Forgotten as problem:
                self.search.remember(problem.mark)

    def _outcome(self) -> Outcome:
        self.bad, self.decided, self.why_stopped = {}, False, ""
        self._explore()
        termination = [item for item in self.model.safety if item.name == "termination" and not item.formula]
        results = [self._result(item, "safety") for item, _ in self.checks]
        results += [self._termination(item) for item in termination]
        results += [self._result(item, "invariant") for item, _ in self.lemmas]
        order = {item.name: i for i, item in enumerate((*self.model.safety, *self.model.invariants))}
        results.sort(key=lambda result: order[result.property])
        return Outcome(tuple(results), self._counted(), tuple(self._notes()))

    def _explore(self) -> None:
        ends = self.started + self.options.timeout if self.options.timeout else float("inf")
        decision = self.machine.decision
        for layer in self.search.layers(ends):
            self.progress(f"{self.search.found.states:,} states, depth {self.search.found.depth}")
            for state in layer:
                self.decided = self.decided or any(process[decision] for process in state.processes)
                rows = self.checks + self.lemmas if state.round == 0 else self.checks
                for item, test in rows:
                    if item.name not in self.bad and not test(state):
                        self.bad[item.name] = retrace(self.search, state).trace(item.name)
            safety = {item.name for item, _ in self.checks}
            if self.bad.keys() & safety and not self.options.keep_going:
                self.why_stopped = "the search stopped at another property's violation, --keep-going goes on"
                return
            if len(self.search.parents) > self.options.most_states:
                self.why_stopped = f"more than {self.options.most_states:,} states"
                return
        if self.search.out_of_time:
            self.why_stopped = f"the time is up after {self.search.found.states:,} states"

    def _counted(self) -> Found:
        found = self.search.found
        if found.finished and (self.search.n <= 6 or not self.search.symmetry):
            found.unreduced = self._unreduced()
        return found

    def _unreduced(self) -> int | None:
        if not self.search.symmetry:
            return self.search.found.states
        total = 0
        for state in self.search.parents:
            size = None if state.coordinators else self.search.names.orbit(state.processes, state.shared)
            if size is None:
                return None
            total += size
        return total

    def _scope(self) -> str:
        given = [f"{name}={value}" for name, value in self.search.parameters.items()]
        faults = [] if self.search.fault_bound is None else [f"faults={self.search.fault_bound}"]
        return ", ".join([f"n={self.search.n}", *given, *faults])

    def _make(
        self, item: Property, kind: PropertyKind, verdict: Verdict, reason: str, trace: RoundTrace | None = None
    ) -> Result:
        return Result(
            item.name,
            kind,
            verdict,
            METHOD,
            self._scope(),
            reason,
            span=item.span,
            seconds=time.monotonic() - self.started,
            states=self.search.found.states,
            rounds=trace,
        )

    def _result(self, item: Property, kind: PropertyKind) -> Result:
        trace = self.bad.get(item.name)
        if trace is not None:
            return self._make(item, kind, "violated", f"violated after {_count(self.model, trace)}", trace)
        if not self.search.found.finished:
            return self._make(item, kind, "unknown", self.why_stopped)
        reason = f"in all {self.search.found.states:,} reachable states"
        if not self.decided and item.name in ("agreement", "validity", "irrevocability"):
            reason += "; vacuously: nobody ever decides"
        return self._make(item, kind, "proved", reason)

    # -- termination -----------------------------------------------------------------------------------------------

    def _termination(self, item: Property) -> Result:
        if not self.search.found.finished:
            return self._make(item, "safety", "unknown", self.why_stopped)
        try:
            if self.search.phases is not None:
                trace, tried = self._at_the_end()
                how = "when the run is over"
            elif self.model.sync is not None:
                trace, tried = self._when_synchronous()
                how = f"in {tried:,} ways for `sync` to hold" if tried else ""
            elif self.search.faults.kind == "omissions":
                trace, tried = self._eventually()
                how = "once everything is heard"
            else:
                raise RoundsError(
                    "nothing says when a process has to decide: give `sync`, `phases` or `faults omissions`"
                )
        except RoundsError as problem:
            return self._make(item, "safety", "unknown", str(problem))
        if trace is not None:
            return self._make(item, "safety", "violated", f"violated after {_count(self.model, trace)}", trace)
        if not tried:
            return self._make(
                item, "safety", "unknown", "there is no run to which it applies, so it says nothing at this n"
            )
        return self._make(item, "safety", "proved", f"everybody has decided {how}")

    def _open(self, state: State) -> bool:
        return not BUILT_IN_FORMULAS["termination"](self.machine, state.processes)

    def _at_the_end(self) -> tuple[RoundTrace | None, int]:
        """Runs of a fixed number of phases."""
        tried = 0
        for state in self.search.parents:
            assert self.search.phases is not None
            if state.phase > self.search.phases:
                tried += 1
                if self._open(state):
                    return retrace(self.search, state).trace("termination"), tried
        return None, tried

    def _eventually(self) -> tuple[RoundTrace | None, int]:
        """Once nothing is lost any more, does everybody decide?  If not, a run goes round in circles."""
        settled: set[State] = set()
        starts = [state for state in self.search.parents if state.lossy == 0]
        for start in starts:
            state = start
            path: dict[State, None] = {}
            while self._open(state) and state not in settled and state not in path:
                path[state] = None
                raws = list(self.search.successors(state))
                if len(raws) != 1:
                    raise RoundsError("rounds without losses can go several ways, which is not followed")
                state = self.search.canonical(raws[0])
            if state in path:
                return self._circle(start, len(path)), len(starts)
            settled.update(path)
        return None, len(starts)

    def _circle(self, start: State, length: int) -> RoundTrace:
        """The run to a circle, followed until names repeat as well."""
        run = retrace(self.search, start)
        for _ in range(length * MOST_TURNS):
            last = len(run.configurations) - 1
            for earlier in range(len(path_to(self.search, start)) - 1, last):
                if alike(self.search.names, run.configurations[earlier], run.configurations[last]):
                    return run.trace("termination", loop=earlier)
            run.follow(next(iter(self.search.successors(run.state))))
        raise RoundsError("no run that repeats itself was found")

    def _when_synchronous(self) -> tuple[RoundTrace | None, int]:
        assert self.model.sync is not None
        window = window_of(self.model)
        tried = 0
        predicates = self._good_predicates(window)
        for state in self.search.parents:
            if state.round == 0:
                for communication in predicates:
                    for path in self._good_runs(state, communication, window):
                        tried += 1
                        if self._open(path[-1]):
                            run = retrace(self.search, state)
                            for number, raw in enumerate(path[1:]):
                                run.follow(raw, communication, number)
                            return run.trace("termination", window), tried
        return None, tried

    def _good_predicates(self, window: int) -> list[Communication]:
        """`safe` in every phase of the window, and `sync`, for each choice of what `sync` says exists."""
        assert self.model.sync is not None
        size = len(self.model.rounds)
        safe = [_shifted(self.model.safe, start) for start in range(0, window, size)]
        found = []
        for body, bound in witnesses(self.model.sync, self.search.n):
            predicate = r.Operation("and", (*safe, body))
            communication = Communication(self.machine, self.search.n, self.search.parameters, predicate, window, bound)
            if communication.of_several:
                raise RoundsError(
                    "`sync` ties several rounds together in one condition, which the search cannot follow"
                )
            found.append(communication)
        return found

    def _good_runs(self, state: State, communication: Communication, window: int) -> Iterator[list[State]]:
        """States at the end of a good window, with the states before renaming that lead there; processes stay in order."""
        layer: dict[State, list[State]] = {state: [state]}
        for number in range(window):
            following: dict[State, list[State]] = {}
            for at, path in layer.items():
                for raw in self.search._told_apart(at, communication, number):
                    settled = raw
                    if raw.round == 0:
                        settled = raw._replace(processes=self.search.names.settle(raw.processes, raw.phase)[0])
                    following.setdefault(settled, [*path, raw])
            layer = following
        yield from layer.values()

    def _notes(self) -> list[str]:
        return reductions(self.model, self.search)


def _shifted(node: Node, by: int) -> Node:
    """A predicate about rounds that come later by this many."""
    if isinstance(node, r.HeardOf):
        return replace(node, round=node.round + by)
    changes: dict[str, object] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = _shifted(value, by)
        elif isinstance(value, tuple):
            changes[item.name] = tuple(_shifted(part, by) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)  # type: ignore[arg-type]


def _count(model: RoundModel, trace: RoundTrace) -> str:
    word = "step" if model.steps else "round"
    number = len(trace.happenings)
    return f"{number} {word}{'s' * (number != 1)}"


def reductions(model: RoundModel, search: Search) -> list[str]:
    """Which reductions are used, and why others are not."""
    if not search.symmetry:
        return ["no symmetry is used"]
    lines = ["processes are interchangeable: no process has a name"]
    place = order_of_values(model)
    if place is None:
        lines.append("values are interchangeable: they are only compared for equality")
    else:
        where = f" (line {place.span.line})" if place.span else ""
        lines.append(
            f"values are renamed in order only: partition symmetry is refused, because the definition orders values{where}"
        )
    if search.names.times:
        lines.append("times are replaced by their order: they are only compared")
    if model.steps:
        return lines
    if search.counting:
        lines.append("messages are counted: neither their order nor their senders matter")
    else:
        lines.append("processes are told apart within a phase: coordinators or `safe` tie them together")
    return lines
