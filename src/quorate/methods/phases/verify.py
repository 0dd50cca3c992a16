"""Is a Mercury program right for every number of processes?

Violations are looked for first, with 1, 2, 3 processes.  What is not violated is decided for all sizes at once by backward search
(`coverability`), first as it is, then with guesses guided by the states of one larger instance, which is searched for violations
as well.  What is proved comes with a
certificate: formulas that the independent checker establishes again from the program's text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.worlds import InstanceError
from quorate.methods.phases.backwards import Backwards
from quorate.methods.phases.coverability import Found, Limits, NotUpwardClosed, Search, needed, violations
from quorate.methods.phases.cubes import Cube, Fact, View, views
from quorate.methods.phases.instances import explore, hunt
from quorate.methods.phases.invariant import Formulas
from quorate.methods.phases.locals import LocalStates, TooManyLocalStates
from quorate.models.process import Partition, ProcessModel, Property
from quorate.models.process_counting import AllSizes, CountingError
from quorate.proof.certificates import Certificate, certify
from quorate.proof.process_runs import ProcessRun
from quorate.proof.verdicts import Result, Verdict

METHOD = "backward coverability"
EVERY = "every number of processes"
SMALL = (1, 2, 3)
LARGE = (4, 5, 6)
"""Numbers of processes to look at before the search for all sizes, and after it has failed."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The answers, the certificate of what is proved, and what was counted."""

    results: tuple[Result, ...]
    certificate: Certificate | None
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    searched: Mapping[int, int] = field(default_factory=dict)
    """Numbers of processes that were searched completely, with the states found, up to symmetry."""
    cubes: int = 0


class _Verification:
    def __init__(self, model: ProcessModel, seconds: float, progress: Progress) -> None:
        self.model, self.progress = model, progress
        self.started = time.monotonic()
        self.ends = self.started + seconds
        self.runs: dict[str, ProcessRun] = {}
        self.searched: dict[int, int] = {}
        self.proofs: dict[str, dict[Cube, list[Cube]]] = {}
        self.reasons: dict[str, str] = {}
        self.bad: dict[str, list[Cube]] = {}
        self.wanted: set[int] = set()

    def open(self) -> list[Property]:
        return [p for p in self.model.safety if p.name not in self.runs and p.name not in self.proofs]

    def hunt(self, processes: int, ends: float) -> None:
        """Look for violations of what is open with so many processes."""
        if not self.open() or processes in self.searched or time.monotonic() > ends:
            return
        self.progress(f"looking for violations with {processes} process{'es' * (processes != 1)}")
        try:
            explored = hunt(self.model, processes, ends)
        except InstanceError:
            return
        for run in explored.runs:
            if run.violated is not None:
                self.runs.setdefault(run.violated, run)
        if explored.finished:
            self.searched[processes] = explored.found.states

    def prove(self) -> None:
        """Decide what is open for all sizes."""
        try:
            self.states = LocalStates(AllSizes(self.model))
        except (CountingError, TooManyLocalStates) as problem:
            self.reasons |= {item.name: str(problem) for item in self.open()}
            return
        self.backwards = Backwards(self.states)
        for item in self.open():
            try:
                self.bad[item.name] = violations(self.states, item.specification)
            except NotUpwardClosed:
                reason = "`atleast` is decided for a fixed number of processes only"
                self.reasons[item.name] = f"{reason}; no violation with up to {max(self.searched, default=0)}"
        self._attempt({}, Limits(cubes=60, ends=self.ends), 2.0)
        samples: dict[int, set[View]] = {}
        for processes in self._sample_sizes():
            seen = self._samples(processes)
            samples = {}
            for turned, size in product((False, True), range(1, processes - 1)):
                if self._undecided() and size not in samples:
                    samples[size] = views(seen, size)
                if size > 1:
                    self._attempt(samples, Limits(processes=size + 2, guesses=10, ends=self.ends), 2.0, turned)
        for processes in LARGE[:2]:
            self.hunt(processes, time.monotonic() + (self.ends - time.monotonic()) / 4)
        self._attempt(samples, Limits(ends=time.monotonic() + (self.ends - time.monotonic()) / 2))
        if self._undecided():
            self.backwards = Backwards(self.states, most_winners=6)
            self._attempt({}, Limits(processes=10, ends=self.ends))

    def _undecided(self) -> list[Property]:
        return [item for item in self.open() if item.name in self.bad]

    def _sample_sizes(self) -> list[int]:
        """Instances with losers beside winners: small ones mislead."""
        most = max([e.winners for e in self.states.steps.agreements.values() if isinstance(e, Partition)], default=1)
        return [4, 5] if most < 4 else [5]

    def _attempt(
        self, samples: dict[int, set[View]], limits: Limits, seconds: float = float("inf"), turned: bool = False
    ) -> None:
        """One search for each property that is open, of so many seconds of processor time at most."""
        for item in self._undecided():
            if time.monotonic() > self.ends:
                return
            own = replace(limits, spent=time.process_time() + seconds)
            found = Search(self.backwards, samples, own, turned).run(self.bad[item.name], self.progress)
            if found.closed:
                self.proofs[item.name] = needed(self.backwards, self.bad[item.name], found.cubes)
            else:
                self._note(item, found)

    def _note(self, item: Property, found: Found) -> None:
        self.reasons[item.name] = found.reason
        if found.reached is not None:
            self.wanted.add(found.reached)
            self.wanted.add(found.reached + 1)

    def _samples(self, processes: int) -> list[tuple[list[int], dict[Fact, bool]]]:
        """The reachable states of one instance; none if it is too large, or nothing is open."""
        if not self._undecided():
            return []
        self.progress(f"collecting states of {processes} processes")
        try:
            instance = ProcessInstance(self.model, processes, steps=self.states.steps)
            explored = explore(instance, min(self.ends, time.monotonic() + 20.0), keep_going=True, with_runs=False)
        except InstanceError:
            return []
        if not explored.finished:
            return []
        if not set(explored.found.violations).isdisjoint(item.name for item in self.open()):
            self.hunt(processes, self.ends)
        elif self.states.steps.exact:
            self.searched.setdefault(processes, explored.found.states)
        return [self._view(instance, fields) for fields in explored.states]

    def _view(self, instance: ProcessInstance, fields: Sequence[int]) -> tuple[list[int], dict[Fact, bool]]:
        place, states = instance.place, self.states
        locals_, facts = [], {}
        for p in range(instance.processes):
            point = fields[place[p, "", None]]
            values = tuple(fields[place[p, name, None]] + instance.ranges[name][0] for name in states.integers)
            locals_.append(states.index[None if point == instance.dead else instance.points[point], values])
            for name, kind in states.relations.items():
                for q in range(instance.processes):
                    if kind == "set":
                        holds = bool(fields[place[p, name, q]])
                    else:
                        holds = fields[place[p, name, None]] == q + 1
                    if holds:
                        facts[name, p, q] = True
        return locals_, facts

    # -- answers -------------------------------------------------------------------------------------------------------

    def result(self, item: Property) -> Result:
        seconds = time.monotonic() - self.started
        if item.name in self.runs:
            run = self.runs[item.name]
            steps = len(run.steps)
            count = f"{run.processes} process{'es' * (run.processes != 1)}"
            reason = f"with {count}, after {steps} step{'s' * (steps != 1)}"
            return self._answer(item, "violated", count, reason, seconds, run)
        if item.name in self.proofs:
            cutoff = self.cutoff(item.name)
            reason = f"for every number of processes; cutoff {cutoff}"
            return self._answer(item, "proved", EVERY, reason, seconds)
        searched = max(self.searched, default=0)
        reason = self.reasons.get(item.name, "the time is up")
        reason = f"{reason}; no violation with up to {searched} processes" if "no violation" not in reason else reason
        return self._answer(item, "unknown", EVERY, reason, seconds)

    def _answer(
        self, item: Property, verdict: Verdict, scope: str, reason: str, seconds: float, run: ProcessRun | None = None
    ) -> Result:
        states = sum(self.searched.values())
        return Result(item.name, "safety", verdict, METHOD, scope, reason, run, item.span, seconds, states)

    def cutoff(self, name: str) -> int:
        """As many processes as a violation speaks of: with fewer it cannot occur, and by the proof it never does."""
        return min((cube.size for cube in self.bad[name]), default=1)

    def certificate(self) -> Certificate | None:
        """The proofs of all properties that are proved, in one."""
        if not self.proofs or self.model.source is None:
            return None
        formulas = Formulas(self.states)
        model = formulas.theory.model()
        cubes: dict[Cube, list[Cube]] = {}
        for proof in self.proofs.values():
            for cube, reasons in proof.items():
                cubes.setdefault(cube, reasons)
        structural = list(formulas.structural())
        excluded = formulas.excluded(cubes)
        names = {cube: item.name for cube, item in zip(cubes, excluded, strict=True)}
        always = [item.name for item in model.background()] + [item.name for item in structural]
        hints = {}
        for transition in model.transitions:
            for item in structural:
                hints[f"{transition.name} preserves {item.name}"] = tuple(always)
            for cube, reasons in cubes.items():
                used = dict.fromkeys([names[cube], *(names[other] for other in reasons)])
                hints[f"{transition.name} preserves {names[cube]}"] = (*always, *used)
        safety = [item for item in model.safety if item.name in self.proofs]
        return certify(model, safety, [*structural, *excluded], hints)


def verify(model: ProcessModel, seconds: float = 60.0, progress: Progress = lambda text: None) -> Outcome:
    """Answer every safety property of a program for every number of processes."""
    work = _Verification(model, seconds, progress)
    for processes in SMALL:
        work.hunt(processes, work.ends)
    if work.open():
        work.prove()
    wanted = [n for n in sorted(work.wanted | set(LARGE)) if n <= max(LARGE)]
    for processes in wanted:
        work.hunt(processes, work.ends)
    results = tuple(work.result(item) for item in model.safety)
    cutoffs = {name: work.cutoff(name) for name in work.proofs}
    cubes = len({cube for proof in work.proofs.values() for cube in proof})
    return Outcome(results, work.certificate(), cutoffs, work.searched, cubes)
