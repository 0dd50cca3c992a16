"""Random runs of one instance: they find shallow bugs in no time, and prove nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference, State
from quorate.methods.explicit.check import scope_of
from quorate.methods.explicit.runs import trace_of
from quorate.methods.minimise import minimise
from quorate.proof.traces import Trace
from quorate.proof.verdicts import Result

METHOD = "random simulation"
BATCH = 4096
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
class _Tally:
    runs: int = 0
    steps: int = 0


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
    reference = Reference(instance.system)
    notes: list[str] = []
    try:
        instance.engine  # noqa: B018 - compiled here, so that a missing compiler is noticed
        make = _native_runs
    except CompilerError as problem:
        notes.append(f"{problem}: it makes random runs about 100 times faster")
        make = _plain_runs
    fired = dict.fromkeys(instance.system.transitions, 0)
    best: dict[str, list[State]] = {}
    tally = _Tally()
    while tally.runs < runs and time.monotonic() < ends:
        batch = min(BATCH, runs - tally.runs)
        if not make(instance, reference, seed, batch, depth, best, fired, tally):
            notes.append("there is no initial state at these sizes")
            break
        progress(f"{tally.runs:,} runs, {tally.steps:,} steps, {len(best)} properties violated")
    results = []
    for item in instance.model.safety:
        trace: Trace | None = None
        reason = f"not violated in {tally.runs:,} random runs of up to {depth} steps"
        if item.name in best:
            found = trace_of(instance, reference, best[item.name], lambda state: state, item.name)
            trace = minimise(instance.model, found)
            reason = f"violated after {len(trace.steps)} step{'s' * (len(trace.steps) != 1)}"
        verdict = "violated" if trace else "unknown"
        seconds = time.monotonic() - started
        results.append(
            Result(item.name, "safety", verdict, METHOD, scope_of(instance), reason, trace, item.span, seconds)  # type: ignore[arg-type]
        )
    return Simulated(tuple(results), tally.runs, tally.steps, fired, tuple(notes))


def _native_runs(
    instance: Instance,
    reference: Reference,
    seed: int,
    runs: int,
    depth: int,
    best: dict[str, list[State]],
    fired: dict[str, int],
    tally: _Tally,
) -> bool:
    """A batch of runs in compiled code; a run that is the shortest so far to violate something is made once more, to see it."""
    batch = instance.engine.simulate(runs, depth, seed, tally.runs)
    if batch is None:
        return False
    for name, count in zip(fired, batch.fired, strict=False):
        fired[name] += count
    for run, bad in enumerate(batch.bad):
        length = batch.lengths[run]
        if bad and any(length + 1 < len(best.get(n, range(depth + 3))) for n in _names(instance, bad)):
            again = instance.engine.simulate(1, depth, seed, tally.runs + run, keep=True)
            assert again is not None
            words = instance.engine.words
            path = [
                instance.system.layout.unpack(again.path[step * words : (step + 1) * words])
                for step in range(length + 1)
            ]
            _keep(best, path, _names(instance, bad))
    tally.runs += runs
    tally.steps += sum(batch.lengths)
    return True


def _names(instance: Instance, bad: int) -> list[str]:
    return [name for i, (name, _) in enumerate(instance.system.properties) if bad >> i & 1]


def _keep(best: dict[str, list[State]], path: list[State], names: list[str]) -> None:
    for name in names:
        if name not in best or len(path) < len(best[name]):
            best[name] = path


def _plain_runs(
    instance: Instance,
    reference: Reference,
    seed: int,
    runs: int,
    depth: int,
    best: dict[str, list[State]],
    fired: dict[str, int],
    tally: _Tally,
) -> bool:
    """The same without a compiler, a few runs at a time."""
    starts = list(reference.initial())
    if not starts:
        return False
    for number in range(min(runs, 16)):
        chance = random.Random(f"{seed} {tally.runs + number}")
        path = [chance.choice(starts)]
        while len(path) <= depth and not reference.violated(path[-1]):
            options = [option for option in reference.successors(path[-1]) if option[0] != path[-1]]
            if not options:
                break
            after, rule, _ = chance.choice(options)
            fired[instance.system.rules[rule].name] += 1
            path.append(after)
        _keep(best, path, reference.violated(path[-1]))
        tally.steps += len(path) - 1
    tally.runs += min(runs, 16)
    return True
