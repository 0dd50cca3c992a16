"""`infer`: from a protocol and its safety properties alone to a certificate, or to a violation.

Two kinds of proof are looked for in turn, in languages from small to large: invariants that are clauses (`invariants`),
and refutations of what a violation would look like (`refutations`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from quorate.engines.smt.session import Limits
from quorate.logic.terms import Quantified
from quorate.logic.transform import subterms
from quorate.methods.explicit import check
from quorate.methods.inference.badness import violations, with_origins
from quorate.methods.inference.houdini import OutOfTime
from quorate.methods.inference.invariants import find_invariants
from quorate.methods.inference.refutations import find_refutations
from quorate.methods.inference.shapes import Shape, growing, shapes
from quorate.methods.inference.task import Found, Progress, Task
from quorate.models.relational import RelationalModel
from quorate.proof.verdicts import Result

METHOD = "inference"
PATIENCE, TURNS = 8.0, 4
"""Seconds that an attempt may take at first; every few turns one that was not done gets four times as long."""
AN_ATTEMPT, A_SECOND = 200, 500
"""What an attempt and each whole second of it cost, in queries: whichever kind of proof has cost less is tried next."""


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


class _Strategy:
    """One kind of proof, tried in larger and larger languages; what is not done in time is tried again with more."""

    def __init__(
        self, name: str, attempt: Callable[[Task, Shape, Inference], str | None], first: Iterator[Shape]
    ) -> None:
        self.name, self.attempt, self.fresh = name, attempt, first
        self.late: deque[tuple[float, Shape]] = deque()
        self.turn, self.spent = 0, 0

    def go_on(self, task: Task, outcome: Inference, until: float) -> None:
        """Make one attempt."""
        self.turn += 1
        started, queries = time.monotonic(), outcome.queries
        again = self.late and self.turn % TURNS == 0
        patience, shape = self.late.popleft() if again else (PATIENCE, next(self.fresh))
        task.until = min(until, started + patience)
        try:
            failure = self.attempt(task, shape, outcome)
        except OutOfTime:
            failure = f"not done in {patience:g} seconds"
            self.late.append((4 * patience, shape))
        if failure is not None:
            outcome.attempts.append(f"{self.name}, {shape}: {failure}")
        self.spent += AN_ATTEMPT + max(outcome.queries - queries, A_SECOND * int(time.monotonic() - started))


def _strategies(task: Task) -> list[_Strategy]:
    """Invariants, and refutations; the latter start with a variable for every sort over which violations quantify."""
    model = task.model
    formulas = [with_origins(model, bad, task.origins).formula for bad in violations(model)]
    bound = {v.sort for term in subterms(*formulas) if isinstance(term, Quantified) for v in term.variables}
    first = Shape({sort: int(sort in bound) for sort in model.sorts if sort.uninterpreted}, 3)
    return [
        _Strategy("invariants", find_invariants, shapes(model)),
        _Strategy("refutations", find_refutations, growing(model, first)),
    ]


def infer(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Inference:
    """Look for an inductive invariant that proves the safety properties, or for a violation."""
    started = time.monotonic()
    outcome = Inference(model)
    task = Task(model, limits, options.seed, started + options.seconds, progress)
    outcome.samples = sum(item.states.count for item in task.samples)
    for item in task.samples:
        if item.violated:
            found = check.check(item.instance, check.Options(jobs=1))
            outcome.results = tuple(result for result in found.results if result.kind == "safety")
            return outcome
    reason = f"no proof was found in {options.seconds:g} seconds"
    strategies = _strategies(task)
    try:
        while outcome.certificate is None and time.monotonic() < started + options.seconds:
            min(strategies, key=lambda strategy: strategy.spent).go_on(task, outcome, started + options.seconds)
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
