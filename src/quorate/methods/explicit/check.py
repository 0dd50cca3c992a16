"""Exhaustive search of one instance: every reachable state, and so a verdict on every property at these sizes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from quorate.engines.explicit.checkpoint import Checkpoint
from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.emit import emit
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Search
from quorate.engines.explicit.reference import (
    FINISHED,
    OUT_OF_MEMORY,
    RUNNING,
    STOPPED,
    Exploration,
    Reference,
    ReferenceSearch,
    State,
    Status,
)
from quorate.methods.explicit.runs import trace_of
from quorate.proof.traces import Trace
from quorate.proof.verdicts import Result, Verdict

METHOD = "exhaustive search"
SLICE = 0.2
"""Seconds between two looks at the clock, the progress line and the keyboard."""

Progress = Callable[[str], None]
Engine = Literal["auto", "native", "reference", "gpu"]


@dataclass(frozen=True)
class Options:
    """How to search.  `folder` is where the search is saved, and taken up again if it was saved there before.

    A search that the time limit ends is saved to a folder of its own, unless it is `fleeting`.
    """

    engine: Engine = "auto"
    symmetry: bool = True
    deadlock: bool = False
    keep_going: bool = False
    jobs: int = 0
    memory_mb: int = 4096
    timeout: float | None = None
    folder: str | None = None
    save_every: float = 30.0
    where: str | None = None
    fleeting: bool = False


@dataclass(frozen=True)
class Outcome:
    """The answers, what was counted on the way, and what a reader should know about how it was done."""

    results: tuple[Result, ...]
    found: Exploration
    engine: str
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    checkpoint: str | None = None


@dataclass
class _Run:
    """A search under way, whichever engine does it."""

    instance: Instance
    options: Options
    reference: Reference
    search: Any
    engine: str
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    saved: str | None = None

    @property
    def native(self) -> bool:
        return isinstance(self.search, Search)

    def path(self, name: str) -> list[State]:
        """States from an initial one to the first that violates a property; `deadlock` for one that has no successor."""
        if isinstance(self.search, ReferenceSearch):
            target = self.search.first_deadlock if name == "deadlock" else self.search.first[name]
            assert target is not None
            return self.search.path_to(target)
        names = [item for item, _ in self.instance.system.properties]
        found = self.search.first_deadlock() if name == "deadlock" else self.search.first_bad(names.index(name))
        unpack = self.instance.system.layout.unpack
        return [unpack(words) for words in self.search.path_to(found[1], found[0])]

    def reduce(self, state: State) -> State:
        if isinstance(self.search, ReferenceSearch):
            return self.search.canonical(state)
        layout = self.instance.system.layout
        return layout.unpack(self.search.canonical(layout.pack(*state)))


def check(instance: Instance, options: Options, progress: Progress = lambda text: None) -> Outcome:
    """Search all reachable states of an instance."""
    progress("building the instance")
    if instance.system.symmetry is None:
        options = replace(options, symmetry=False)
    run = _open(instance, options)
    checkpoint = Checkpoint(options.folder, identity(instance, options)) if options.folder else None
    if run.native and checkpoint is not None and checkpoint.exists():
        document = checkpoint.load()
        run.search = _search(instance, options, len(document["counts"]))
        checkpoint.restore(run.search, document)
        run.notes.append(f"went on from {checkpoint.folder}, saved at {document['search']['totals'][0]:,} states")
    else:
        run.search.begin()
    _work(run, checkpoint, progress)
    if run.engine == "gpu" and run.search.status == OUT_OF_MEMORY:
        run.notes.append("the memory of the GPU is used up; the CPU searched instead")
        run.engine, run.search = "native", _search(instance, options, 0)
        run.search.begin()
        _work(run, checkpoint, progress)
    if run.search.status == RUNNING and checkpoint is None and run.native and not options.fleeting:
        checkpoint = Checkpoint(_free_folder(instance), identity(instance, options))
    if run.native and checkpoint is not None and run.search.status in (RUNNING, OUT_OF_MEMORY):
        progress(f"saving to {checkpoint.folder}")
        checkpoint.save(run.search)
        run.saved = str(checkpoint.folder)
    return _outcome(run)


def identity(instance: Instance, options: Options) -> dict[str, Any]:
    """What a saved search must have in common with the one that takes it up."""
    source = instance.model.source
    code = "\n".join(emit(instance.system))
    return {
        "protocol": source.sha256 if source else None,
        "size": {sort.name: size for sort, size in instance.sizes.items()},
        "where": options.where,
        "symmetry": options.symmetry,
        "system": hashlib.sha256(code.encode()).hexdigest(),
    }


def _open(instance: Instance, options: Options) -> _Run:
    system = instance.system
    reference = Reference(system)
    notes = [f"symmetry is not used in full: {system.why_not}"] if options.symmetry and system.why_not else []
    if options.engine == "gpu":
        from quorate.engines.explicit.gpu import GpuError, GpuSearch

        try:
            search = GpuSearch(system, options.symmetry, options.keep_going)
            return _Run(instance, options, reference, search, "gpu", notes)
        except GpuError as problem:
            notes.append(f"{problem}; the CPU searched instead")
    if options.engine != "reference":
        try:
            return _Run(instance, options, reference, _search(instance, options, 0), "native", notes)
        except CompilerError as problem:
            if options.engine == "native":
                raise
            notes.append(f"{problem}: it makes the search about 100 times faster")
    plain = ReferenceSearch(reference, options.symmetry, options.keep_going)
    return _Run(instance, options, reference, plain, "reference", notes)


def _search(instance: Instance, options: Options, shards: int) -> Search:
    return Search(instance.engine, options.symmetry, options.jobs, options.memory_mb, options.keep_going, shards)


def _free_folder(instance: Instance) -> Path:
    """A folder of the protocol's name that does not exist yet."""
    name = Path(instance.model.source.path).stem if instance.model.source else instance.model.name
    folder, number = Path(f"{name}.checkpoint"), 1
    while folder.exists():
        number += 1
        folder = Path(f"{name}-{number}.checkpoint")
    return folder


def _work(run: _Run, checkpoint: Checkpoint | None, progress: Progress) -> None:
    started = saved = time.monotonic()
    ends = started + run.options.timeout if run.options.timeout is not None else float("inf")
    try:
        while run.search.status == RUNNING and time.monotonic() < ends:
            run.search.run(min(SLICE, max(0.0, ends - time.monotonic())))
            now = time.monotonic()
            progress(_progress_line(run, now - started))
            if checkpoint is not None and run.native and now - saved >= run.options.save_every:
                checkpoint.save(run.search)
                saved = now
    except KeyboardInterrupt:
        run.interrupted = True
    run.seconds = time.monotonic() - started


def _progress_line(run: _Run, seconds: float) -> str:
    found = run.search.found
    rate = found.states / max(seconds, 1e-9)
    memory = f", {run.search.used / 2**20:,.0f} MB" if run.native else ""
    return f"{found.states:,} states, depth {found.depth}, {rate:,.0f} states/s{memory}"


def _outcome(run: _Run) -> Outcome:
    found: Exploration = run.search.found
    status: Status = run.search.status
    scope = scope_of(run.instance)
    results = []
    for item in run.instance.model.safety:
        trace: Trace | None = None
        verdict, reason = _verdict(run, status, found)
        if item.name in found.violations:
            trace = trace_of(run.instance, run.reference, run.path(item.name), run.reduce, item.name)
            verdict, reason = "violated", f"violated after {_steps(len(trace.steps))}"
        results.append(
            Result(item.name, "safety", verdict, METHOD, scope, reason, trace, item.span, run.seconds, found.states)
        )
    if run.options.deadlock:
        results.append(_deadlock(run, status, found, scope))
    if status == FINISHED:
        results += _expected_counts(run, found, scope)
    return Outcome(tuple(results), found, run.engine, tuple(run.notes), run.interrupted, run.saved)


def _verdict(run: _Run, status: Status, found: Exploration) -> tuple[Verdict, str]:
    """What can be said of a property that no state seen violates."""
    if not found.states:
        axioms = "the axioms allow no interpretation" if not run.instance.worlds else "there is no initial state"
        return "unknown", f"{axioms} at these sizes, so there is nothing to check; take other sizes"
    if status == FINISHED:
        return "proved", f"in all {found.unreduced:,} reachable states of this instance"
    so_far = f"not violated within {_steps(max(0, found.depth - (status != STOPPED)))}"
    if status == STOPPED:
        return "unknown", f"{so_far}; the search stopped at another property's violation, --keep-going goes on"
    if status == OUT_OF_MEMORY:
        return "unknown", f"{so_far}; {run.options.memory_mb:,} MB of memory are used up after {found.states:,} states"
    why = "interrupted" if run.interrupted else "the time is up"
    return "unknown", f"{so_far}; {why} after {found.states:,} states"


def _deadlock(run: _Run, status: Status, found: Exploration, scope: str) -> Result:
    verdict, reason = _verdict(run, status, found)
    trace: Trace | None = None
    if found.deadlocks:
        trace = trace_of(run.instance, run.reference, run.path("deadlock"), run.reduce, None)
        verdict, reason = "violated", f"after {_steps(len(trace.steps))} no transition can be taken"
    name = "no deadlock"
    return Result(name, "deadlock", verdict, METHOD, scope, reason, trace, None, run.seconds, found.states)


def _expected_counts(run: _Run, found: Exploration, scope: str) -> list[Result]:
    """Lines like `# expect: check node=3 states=1234` that speak of this instance."""
    sizes = {sort.name: str(size) for sort, size in run.instance.sizes.items()}
    results = []
    for item in run.instance.model.expectations:
        if not item.verdict.startswith("states=") or run.options.where is not None:
            continue
        if dict(part.split("=", 1) for part in item.target.replace(",", " ").split() if "=" in part) == sizes:
            right = item.verdict == f"states={found.unreduced}"
            reason = f"{found.unreduced:,} states" + ("" if right else f", expected {item.verdict[7:]}")
            verdict: Verdict = "proved" if right else "violated"
            results.append(
                Result("number of states", "count", verdict, METHOD, scope, reason, None, item.span, 0.0, found.states)
            )
    return results


def scope_of(instance: Instance) -> str:
    return ", ".join(f"{sort}={size}" for sort, size in instance.sizes.items()) or "the only size"


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"
