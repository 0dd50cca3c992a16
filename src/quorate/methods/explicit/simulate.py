"""Random runs of one instance: they find shallow bugs in no time, and prove nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference, State
from quorate.methods.explicit.check import scope_of
from quorate.methods.explicit.runs import trace_of
from quorate.methods.minimise import minimise
from quorate.proof.traces import Trace
from quorate.proof.verdicts import Result, Verdict

METHOD = "random simulation"
BATCH = 4096
NO_RUN = "there is no initial state at these sizes, so there is nothing to check; take other sizes"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Simulated:
    """The answers, how many runs and steps were made, how often each transition was taken, and remarks."""

    results: tuple[Result, ...]
    runs: int
    steps: int
    fired: dict[str, int]
    notes: tuple[str, ...] = ()


@dataclass
class _Campaign:
    """Runs being made: how many so far, what was taken, and for each violated property the shortest run that shows it."""

    instance: Instance
    reference: Reference
    depth: int
    seed: int
    fired: dict[str, int]
    best: dict[str, list[State]] = field(default_factory=dict)
    runs: int = 0
    steps: int = 0

    def keep(self, path: list[State], names: Iterable[str]) -> None:
        for name in names:
            if name not in self.best or len(path) < len(self.best[name]):
                self.best[name] = path

    def native(self, runs: int) -> bool:
        """A batch in compiled code; a run that is the shortest so far to violate something is made once more, to see it."""
        engine = self.instance.engine
        batch = engine.simulate(runs, self.depth, self.seed, self.runs)
        if batch is None:
            return False
        for name, count in zip(self.fired, batch.fired, strict=False):
            self.fired[name] += count
        for run, bad in enumerate(batch.bad):
            names = [name for i, (name, _) in enumerate(self.instance.system.properties) if bad >> i & 1]
            length = batch.lengths[run]
            if any(name not in self.best or length + 1 < len(self.best[name]) for name in names):
                again = engine.simulate(1, self.depth, self.seed, self.runs + run, keep=True)
                assert again is not None
                places = range(0, (length + 1) * engine.words, engine.words)
                unpack = self.instance.system.layout.unpack
                self.keep([unpack(again.path[at : at + engine.words]) for at in places], names)
        self.runs += runs
        self.steps += sum(batch.lengths)
        return True

    def plain(self, runs: int) -> bool:
        """The same without a compiler, a few runs at a time."""
        starts = list(self.reference.initial())
        if not starts:
            return False
        for number in range(self.runs, self.runs + min(runs, 16)):
            chance = random.Random(f"{self.seed} {number}")
            path = [chance.choice(starts)]
            while len(path) <= self.depth and not self.reference.violated(path[-1]):
                options = [option for option in self.reference.successors(path[-1]) if option[0] != path[-1]]
                if not options:
                    break
                after, rule, _ = chance.choice(options)
                self.fired[self.instance.system.rules[rule].name] += 1
                path.append(after)
            self.keep(path, self.reference.violated(path[-1]))
            self.runs += 1
            self.steps += len(path) - 1
        return True


def simulate(
    instance: Instance,
    runs: int,
    depth: int,
    seed: int = 0,
    timeout: float | None = None,
    progress: Progress = lambda text: None,
) -> Simulated:
    """Make random runs; of those that violate a property, the shortest is made as short and small as it can be."""
    started = time.monotonic()
    ends = started + timeout if timeout is not None else float("inf")
    fired = dict.fromkeys(instance.system.transitions, 0)
    campaign = _Campaign(instance, Reference(instance.system), depth, seed, fired)
    notes: list[str] = []
    try:
        instance.engine  # noqa: B018 - compiled here, so that a missing compiler is noticed
        make = campaign.native
    except CompilerError as problem:
        notes.append(f"{problem}: it makes random runs about 100 times faster")
        make = campaign.plain
    empty = False
    while campaign.runs < runs and time.monotonic() < ends:
        if not make(min(BATCH, runs - campaign.runs)):
            empty = True
            break
        progress(f"{campaign.runs:,} runs, {campaign.steps:,} steps, {len(campaign.best)} properties violated")
    results = []
    for item in instance.model.safety:
        trace: Trace | None = None
        verdict: Verdict = "unknown"
        reason = f"not violated in {campaign.runs:,} random runs of up to {depth} steps" if not empty else NO_RUN
        if item.name in campaign.best:
            path = campaign.best[item.name]
            found = trace_of(instance, campaign.reference, path, lambda state: state, item.name)
            trace = minimise(instance.model, found)
            verdict, reason = "violated", f"violated after {len(trace.steps)} step{'s' * (len(trace.steps) != 1)}"
        seconds = time.monotonic() - started
        results.append(
            Result(item.name, "safety", verdict, METHOD, scope_of(instance), reason, trace, item.span, seconds)
        )
    return Simulated(tuple(results), campaign.runs, campaign.steps, fired, tuple(notes))
