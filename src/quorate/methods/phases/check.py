"""Exhaustive search of a Mercury program with a fixed number of processes: safety, deadlocks, and what never happens."""

from __future__ import annotations

import time
from dataclasses import dataclass

from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import Exploration
from quorate.methods.phases.instances import Explored, explore
from quorate.models.process import ProcessModel
from quorate.models.process_names import CRASHED
from quorate.proof.verdicts import Result, Verdict

METHOD = "exhaustive search"
DEADLOCK = "no deadlock"


@dataclass(frozen=True)
class Outcome:
    """The answers, what was counted, locations where no process ever is, and events that never take place."""

    results: tuple[Result, ...]
    found: Exploration
    never_occupied: tuple[str, ...]
    never_happens: tuple[str, ...]
    notes: tuple[str, ...]


def check(
    model: ProcessModel,
    processes: int,
    deadlock: bool = False,
    symmetry: bool = True,
    keep_going: bool = False,
    seconds: float | None = None,
    memory_mb: int = 4096,
) -> Outcome:
    """Search all reachable states.

    A deadlock is a state in which somebody has not crashed and nothing but a crash can happen.
    """
    started = time.monotonic()
    instance = ProcessInstance(model, processes, deadlock)
    ends = float("inf") if seconds is None else started + seconds
    explored = explore(instance, ends, keep_going, symmetry=symmetry, memory_mb=memory_mb)
    runs = {run.violated: run for run in explored.runs}
    scope = f"processes={processes}"
    took = time.monotonic() - started
    states = explored.found.states
    results = []
    names = [(item.name, item.span) for item in model.safety] + [(DEADLOCK, None)] * deadlock
    for name, span in names:
        verdict, reason = _open_verdict(explored)
        run = None
        if name in explored.found.violations:
            run = runs.get(None if name == DEADLOCK else name)
            steps = explored.found.violations[name]
            verdict, reason = "violated", f"violated after {steps} step{'s' * (steps != 1)}"
            if name == DEADLOCK:
                reason = f"after {steps} step{'s' * (steps != 1)} nothing but a crash can happen"
        kind = "deadlock" if name == DEADLOCK else "safety"
        results.append(Result(name, kind, verdict, METHOD, scope, reason, run, span, took, states))  # type: ignore[arg-type]
    if explored.finished:
        results += _expected_counts(model, processes, explored)
    return Outcome(tuple(results), explored.found, *_vacuous(instance, explored), _notes(instance, symmetry))


def _open_verdict(explored: Explored) -> tuple[Verdict, str]:
    if explored.finished:
        return "proved", f"in all {explored.found.unreduced:,} reachable states of this instance"
    if explored.found.violations:
        return "unknown", "the search stopped at another property's violation, --keep-going goes on"
    return "unknown", f"the time or the memory is used up after {explored.found.states:,} states"


def _expected_counts(model: ProcessModel, processes: int, explored: Explored) -> list[Result]:
    """Lines like `// expect: check processes=3 states=77` that speak of this number of processes."""
    results = []
    for item in model.expectations:
        if item.verdict.startswith("states=") and item.target == f"processes={processes}":
            right = item.verdict == f"states={explored.found.unreduced}"
            reason = f"{explored.found.unreduced:,} states" + ("" if right else f", expected {item.verdict[7:]}")
            verdict: Verdict = "proved" if right else "violated"
            results.append(Result("number of states", "count", verdict, METHOD, item.target, reason, None, item.span))
    return results


def _vacuous(instance: ProcessInstance, explored: Explored) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not explored.finished:
        return (), ()
    model = instance.model
    occupied = {CRASHED if p == instance.dead else instance.points[p].location for p in explored.points}
    events = [action.name for action in model.actions] + list(instance.steps.agreements)
    fired = {name for name, number in explored.found.fired.items() if number}
    return (
        tuple(item.name for item in model.locations if item.name not in occupied),
        tuple(name for name in events if name not in fired),
    )


def _notes(instance: ProcessInstance, symmetry: bool) -> tuple[str, ...]:
    why = instance.system.why_not
    return (f"symmetry is not used: {why}",) if symmetry and why else ()
