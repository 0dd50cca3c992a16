"""`infer`: from a protocol and its safety properties alone to a certificate, or to a violation.

Three kinds of proof are looked for in turn, in languages from small to large: invariants that are clauses (`invariants`),
refutations of what a violation would look like (`refutations`), and clauses about projections (`projections`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from random import Random
from typing import Protocol

from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.session import Limits
from quorate.logic.structures import cases
from quorate.logic.terms import INT
from quorate.methods.explicit import check
from quorate.methods.induction import bounded
from quorate.methods.induction.induct import support
from quorate.methods.inference.badness import one_sided, violations, with_origins
from quorate.methods.inference.houdini import Deadline, OutOfTime
from quorate.methods.inference.invariants import Invariants, conclude
from quorate.methods.inference.projections import ProjectedRefutations, Projections, brief_shapes, projections
from quorate.methods.inference.refutations import Refutations
from quorate.methods.inference.shapes import Shape, growing, light_shapes, shapes
from quorate.methods.inference.states import States
from quorate.methods.inference.task import STEPS, Found, Progress, Task
from quorate.models.relational import RelationalModel
from quorate.proof.verdicts import Result

METHOD = "inference"
FIRST_SECONDS, A_SLICE = 4.0, 0.5
"""How much processor time the first attempt may take before there is a second, and a turn at first."""
AN_ATTEMPT, HALF_A_SECOND = 200, 800
"""What a turn and each whole half second of it cost, in queries: whichever kind of proof has cost less has the next turn, of
equals the one that had the last."""
EAGER = 2.0
"""How much processor time refutations that speak of all sides of a violation have before they are the less promising."""
LATER, LAST = 10, 600
"""How many turns have been had before the first of invariants about projections, and of refutations."""

MOST_CASES = 20_000_000
"""For how many values of its variables a property is evaluated on random runs."""
MOST_LOOKUPS = 3
"""How many elements of a sort that the search does without a violation may need."""


@dataclass(frozen=True)
class Options:
    """`seconds` by the clock for all of the search; the seed decides which samples are taken.

    `settled` are languages, as an earlier search names them, that need not be tried again.
    """

    seconds: float = 600.0
    seed: int = 0
    settled: frozenset[str] = frozenset()


@dataclass
class Inference(Found):
    """What was found, with a result per safety property."""

    results: tuple[Result, ...] = ()
    attempts: list[str] = field(default_factory=list)
    """What was tried, in words."""
    settled: list[str] = field(default_factory=list)
    """The languages in which no proof was found, for lack of one or because the solvers gave no answer."""
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
        self,
        name: str,
        attempt: Callable[[Task, Shape], _Attempt],
        languages: Iterator[Shape],
        weight: float = 1,
        later: int = 0,
        eager: float = 0.0,
        in_turn: bool = False,
        ghosts: bool = False,
    ) -> None:
        """It has the first turn when others have had some, `later` ones in all; its weight counts after some seconds; if
        `in_turn`, no language is tried before it is done with the one before; with `ghosts`, it is about all of the
        protocol."""
        self.name, self.attempt, self.languages, self.weight = name, attempt, languages, weight
        self.eager, self.in_turn, self.ghosts = eager, in_turn, ghosts
        self.running: list[_Running] = []
        self.cost = (weight - 1 + later) * AN_ATTEMPT

    def go_on(self, task: Task, outcome: Inference, until: float, settled: frozenset[str]) -> None:
        """Work on an attempt for a while."""
        began, queries = _processor_time(), outcome.queries
        task = task.with_ghosts if self.ghosts else task
        due = [running.seconds * 4**place for place, running in enumerate(self.running)]
        if not due or (not self.in_turn and min(due) > FIRST_SECONDS * 4 ** len(due)):
            shape = next(shape for shape in self.languages if self._language(shape) not in settled)
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
            outcome.settled.append(self._language(now.shape))
            outcome.attempts.append(f"{outcome.settled[-1]}: {failure}")
        self.eager -= seconds
        weight = 1 if self.eager > 0 else self.weight
        self.cost += weight * (AN_ATTEMPT + max(outcome.queries - queries, HALF_A_SECOND * int(2 * seconds)))

    def _language(self, shape: Shape) -> str:
        return f"{self.name}, {shape}"


def _strategies(task: Task) -> list[_Strategy]:
    """Invariants, and refutations; both about projections, where nothing else helps; and invariants that also speak of what
    the protocol keeps for the sake of its proof, without depending on it.

    Invariants have as many variables as they can at first, or, being light, few literals if they have many.  Refutations speak of
    two variables at first, of different sorts where there are several.  They are the more promising where
    there is something behind a violation that gets a name; where there is not, what it names itself may be enough.
    """
    model = task.model
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    names_only, first = (Shape(dict.fromkeys(sorts, 1), 3, count) for count in (0, min(2, len(sorts))))
    cases = [(bad, case) for bad in violations(model) for case in with_origins(model, bad, task.origins)]
    named = any(len(case.constants) > len(bad.constants) for bad, case in cases)
    sided = any(one_sided(case, case.constants) for _, case in cases)
    strategies = [_Strategy("invariants", Invariants, shapes(model), 4 if named else 1)]
    if named and sided:
        one = partial(Refutations, one_sided=True)
        strategies.append(_Strategy("refutations", Refutations, growing(model, first), 4, 0, EAGER))
        strategies.append(_Strategy("refutations from one side", one, growing(model, first)))
        if task.orders:
            brief = brief_shapes(model, task.orders)
            last = _Strategy("refutations about projections", ProjectedRefutations, brief, 0.25, LAST, in_turn=True)
            strategies.append(last)
    else:
        strategies.append(_Strategy("refutations", Refutations, chain([names_only], growing(model, first))))
        strategies.append(_Strategy("light invariants", Invariants, light_shapes(model), 2, LATER))
    if next(projections(model), None):
        strategies.append(_Strategy("projections", Projections, projections(model), 2, LATER))
    if not set(task.protocol.state_symbols) <= set(model.symbols):
        everything = shapes(task.protocol)
        strategies.append(_Strategy("invariants with ghosts", Invariants, everything, 4, LATER, ghosts=True))
    return strategies


def _established(model: RelationalModel, limits: Limits, outcome: Inference, progress: Progress) -> RelationalModel:
    """The model with those of its invariants that support each other; a proof, if they also support its safety.

    Where there are integers, safety may at least support itself: small instances tell nothing then.
    """
    if not model.invariants and not any(INT in (*symbol.arguments, symbol.sort) for symbol in model.symbols):
        return model
    progress("the invariants of the file")
    alive, rounds = support(model, list(model.properties), [], limits, lambda text: None)
    if set(model.safety) <= set(alive):
        answers = {o: answer for answers in rounds for o, answer in answers.items() if o.claim in alive}
        kept = tuple(item for item in model.invariants if item in alive)
        conclude(model.with_invariants(kept), answers, outcome)
        return model
    alive, _ = support(model, list(model.invariants), list(model.safety), limits, lambda text: None)
    outcome.attempts.append(f"invariants of the file: {len(alive)} of {len(model.invariants)} support each other")
    return model.with_invariants(tuple(alive))


def _violation(task: Task) -> tuple[Result, ...]:
    """Results with a violation, if one was seen among the samples or on random runs."""
    model = task.protocol.with_invariants(())
    for item in task.samples:
        if item.violated and len(task.model.sorts) == len(model.sorts):
            found = check.check(Instance(model, item.instance.sizes), check.Options(jobs=1)).results
            return tuple(result for result in found if result.kind == "safety")
    seen = [item.states for item in task.samples if item.violated] or [s for s in task.walked if not _all_safe(task, s)]
    if not seen:
        return ()
    results: list[Result] = []
    for size in range(1, MOST_LOOKUPS + 1):
        sizes = {sort: seen[0].sizes.get(sort, size) for sort in model.sorts if sort.uninterpreted}
        results = bounded.check(model, STEPS, task.limits, sizes, task.progress)
        if any(result.verdict == "violated" for result in results) or task.model.sorts == model.sorts:
            break
    return tuple(results)


def _all_safe(task: Task, states: States) -> bool:
    """Whether all safety properties hold, in as many of the states as can be looked at in a short time."""
    for formula in task.safe.values():
        part = states.choose(Random(task.seed), MOST_CASES // cases(formula, states.sizes))
        if part.count and not part.evaluate(formula, {}).all():
            return False
    return True


def infer(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Inference:
    """Look for an inductive invariant that proves the safety properties, or for a violation.

    Invariants that the model has are offers: what of them supports itself is used.
    """
    started = time.monotonic()
    outcome = Inference(model)
    established = _established(model, limits, outcome, progress)
    reason = f"no proof was found in {options.seconds:g} seconds"
    try:
        if outcome.certificate is None:
            task = Task(established, limits, options.seed, Deadline(started + options.seconds), progress)
            outcome.samples = sum(item.states.count for item in task.samples)
            outcome.results = _violation(task)
            if outcome.results:
                return outcome
            strategies, last = _strategies(task), None
        while outcome.certificate is None and time.monotonic() < started + options.seconds:
            last = min(strategies, key=lambda strategy: (strategy.cost, strategy is not last))
            last.go_on(task, outcome, started + options.seconds, options.settled)
    except KeyboardInterrupt:
        outcome.interrupted, reason = True, "interrupted"
    seconds = time.monotonic() - started
    proved = outcome.certificate is not None
    outcome.results = tuple(
        Result(
            item.name, "safety", "proved" if proved else "unknown", METHOD, model.all_sizes, "" if proved else reason,
            None, item.span, seconds,
        )
        for item in model.safety
    )  # fmt: skip
    return outcome
