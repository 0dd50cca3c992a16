"""`infer`: from a protocol and its safety properties alone to a certificate, or to a violation.

Two kinds of proof are looked for in turn, in languages from small to large: invariants that are clauses (`invariants`),
and refutations of what a violation would look like (`refutations`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.session import Limits
from quorate.methods.explicit import check
from quorate.methods.inference.badness import violations, with_origins
from quorate.methods.inference.houdini import Deadline, OutOfTime
from quorate.methods.inference.invariants import Invariants
from quorate.methods.inference.refutations import Refutations
from quorate.methods.inference.shapes import Shape, growing, shapes
from quorate.methods.inference.task import Found, Progress, Task
from quorate.models.relational import RelationalModel
from quorate.proof.verdicts import Result

METHOD = "inference"
FIRST_SECONDS, A_SLICE = 4.0, 1.0
"""How much processor time the first attempt may take before there is a second, and a turn at first."""
AN_ATTEMPT, A_SECOND = 200, 500
"""What a turn and each whole second of it cost, in queries: whichever kind of proof has cost less has the next turn."""


@dataclass(frozen=True)
class Options:
    """`seconds` by the clock for all of the search; the seed decides which samples are taken."""

    seconds: float = 600.0
    seed: int = 0


@dataclass
class Inference(Found):
    """What was found, with a result per safety property."""

    results: tuple[Result, ...] = ()
    attempts: list[str] = field(default_factory=list)
    """What was tried, in words."""
    samples: int = 0
    interrupted: bool = False


def _processor_time() -> float:
    """Seconds that this process and the solvers it has waited for have used."""
    return sum(os.times()[:4])


class _Attempt(Protocol):
    """A search in one language that can be interrupted."""

    def go_on(self, outcome: Inference) -> str | None: ...


@dataclass
class _Running:
    attempt: _Attempt
    shape: Shape
    seconds: float = 0.0


class _Strategy:
    """One kind of proof, tried in larger and larger languages.

    Of those not done, each gets a quarter of the time of the one before it.
    """

    def __init__(
        self, name: str, attempt: Callable[[Task, Shape], _Attempt], languages: Iterator[Shape], weight: int = 1
    ) -> None:
        self.name, self.attempt, self.languages, self.weight = name, attempt, languages, weight
        self.running: list[_Running] = []
        self.cost = (weight - 1) * A_SECOND

    def go_on(self, task: Task, outcome: Inference, until: float) -> None:
        """Work on an attempt for a while."""
        began, queries = _processor_time(), outcome.queries
        due = [running.seconds * 4**place for place, running in enumerate(self.running)]
        if not due or min(due) > FIRST_SECONDS * 4 ** len(due):
            shape = next(self.languages)
            self.running.append(_Running(self.attempt(task, shape), shape))
            now = self.running[-1]
        else:
            now = self.running[due.index(min(due))]
        task.until = Deadline(until, time.process_time() + max(A_SLICE, now.seconds))
        try:
            failure = now.attempt.go_on(outcome)
        except OutOfTime:
            failure = None
        else:
            self.running.remove(now)
        seconds = _processor_time() - began
        now.seconds += seconds
        if failure is not None:
            outcome.attempts.append(f"{self.name}, {now.shape}: {failure}")
        self.cost += self.weight * (AN_ATTEMPT + max(outcome.queries - queries, A_SECOND * int(seconds)))


def _strategies(task: Task) -> list[_Strategy]:
    """Invariants, and refutations.

    The latter start with two variables, of different sorts where there are several.  They are the more promising where there
    is something behind a violation that gets a name.
    """
    model = task.model
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    first = Shape(dict.fromkeys(sorts, 1), 3, min(2, len(sorts)))
    named = any(
        case.constants != bad.constants for bad in violations(model) for case in with_origins(model, bad, task.origins)
    )
    return [
        _Strategy("invariants", Invariants, shapes(model), 4 if named else 1),
        _Strategy("refutations", Refutations, growing(model, first)),
    ]


def infer(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Inference:
    """Look for an inductive invariant that proves the safety properties, or for a violation."""
    started = time.monotonic()
    outcome = Inference(model)
    task = Task(model, limits, options.seed, Deadline(started + options.seconds), progress)
    outcome.samples = sum(item.states.count for item in task.samples)
    for item in task.samples:
        if item.violated:
            found = check.check(Instance(model, item.instance.sizes), check.Options(jobs=1))
            outcome.results = tuple(result for result in found.results if result.kind == "safety")
            return outcome
    reason = f"no proof was found in {options.seconds:g} seconds"
    strategies = _strategies(task)
    try:
        while outcome.certificate is None and time.monotonic() < started + options.seconds:
            min(strategies, key=lambda strategy: strategy.cost).go_on(task, outcome, started + options.seconds)
    except KeyboardInterrupt:
        outcome.interrupted, reason = True, "interrupted"
    seconds = time.monotonic() - started
    proved = outcome.certificate is not None
    outcome.results = tuple(
        Result(
            item.name, "safety", "proved" if proved else "unknown", METHOD, "all sizes", "" if proved else reason,
            None, item.span, seconds,
        )
        for item in model.safety
    )  # fmt: skip
    return outcome
