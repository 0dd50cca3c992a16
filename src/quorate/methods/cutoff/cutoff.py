"""`cutoff`: small instances that stand for all sizes, one sort after the other, and then the small instance is verified.

Follows "cutoffs by simulation" (static analysis, candidate, proof by SMT over two copies of the protocol), with every condition
checked.  Read `analysis` for what matters to a violation, `candidates` for what is tried, `prove` for how it is decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.session import Goal, Group, Limits, solve_here
from quorate.logic.structures import EvaluationError
from quorate.logic.terms import TRUE, Sort
from quorate.methods.cutoff.analysis import violations
from quorate.methods.cutoff.candidates import anchors
from quorate.methods.cutoff.facts import Facts
from quorate.methods.cutoff.instance import Verification, few_initial_states, verify
from quorate.methods.cutoff.prove import processor_seconds
from quorate.methods.cutoff.search import Search, find_cutoff, vacuous
from quorate.methods.explicit import check
from quorate.models.relational import RelationalModel
from quorate.models.semantics import with_derived
from quorate.models.small import SmallError, as_large, flattened
from quorate.proof.certificates import Certificate
from quorate.proof.cutoffs import Pair, write
from quorate.proof.traces import Trace, replay
from quorate.proof.verdicts import Result

METHOD = "cutoff"
INSTANCE_SECONDS, MOST_MORE = 5.0, 2
"""How long instances are searched for a violation where there is no cutoff, and how much larger than the property suggests."""

LOOK = 0.5
"""Processor seconds that a first look at a sort takes at least, if that much is left."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """`seconds` for all of it: half of them, by the processor, for cutoffs; what is left, by the clock, for what remains."""

    seconds: float = 60.0
    processor: float | None = None
    """Processor seconds for cutoffs, where it is not to be half of the seconds."""
    longer: float | None = None
    """Seconds for all of it where at most one sort of the small instance has no size, so that it is worth some more."""
    alone: bool = True
    """Does nobody else look for violations?  Then instances are searched for one where there is no cutoff."""

    @property
    def searching(self) -> float:
        """Processor seconds for cutoffs."""
        return self.seconds / 2 if self.processor is None else self.processor


@dataclass
class Outcome:
    """The cutoffs that were found, what became of the small instance, and a result for each safety property."""

    model: RelationalModel
    found: list[Search] = field(default_factory=list)
    failed: list[Search] = field(default_factory=list)
    verification: Verification | None = None
    certificate: Certificate | None = None
    results: tuple[Result, ...] = ()
    cutoff_seconds: float = 0.0
    """Processor seconds for the cutoffs alone."""
    vacuous: tuple[str, ...] = ()
    """Transitions that are never taken."""
    unbounded: tuple[Sort, ...] = ()
    """Sorts of the small instance that have no size."""


def cutoff(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Outcome:
    """Find cutoffs, prove them, and verify the small instance that they lead to."""
    started = time.monotonic()
    outcome = Outcome(model)
    ends = started + options.seconds
    try:
        small = flattened(model)
    except SmallError as problem:
        return _finished(outcome, started, f"there are no small instances: {problem}")
    solve_here(Group((), (Goal("is z3 there", TRUE),)), limits)
    began = processor_seconds()
    while True:
        search = _next(small, outcome, limits, began + options.searching, options.searching / 2, progress)
        if search is None:
            break
        assert search.pair is not None
        outcome.found.append(search)
        small = search.pair.small
    outcome.cutoff_seconds = processor_seconds() - began
    outcome.unbounded = tuple(sort for sort in small.sorts if sort.uninterpreted)
    if not outcome.found:
        outcome.verification = _candidate_instance(flattened(model)) if options.alone else None
        return _finished(outcome, started, "no cutoff was found")
    first = outcome.found[0]
    assert first.pair is not None and first.cutoff is not None
    outcome.vacuous = tuple(vacuous(first.pair, first.cutoff, limits))
    if options.longer is not None and len(outcome.unbounded) <= 1:
        ends = started + options.longer
    progress("verifying the small instance")
    outcome.verification = verify(small, limits, max(options.seconds / 2, ends - time.monotonic()), progress)
    if outcome.verification.certificate is not None:
        outcome.certificate = _certificate(outcome, outcome.verification.certificate)
    return _finished(outcome, started, outcome.verification.words)


def _next(
    model: RelationalModel, outcome: Outcome, limits: Limits, ends: float, each: float, progress: Progress
) -> Search | None:
    """A cutoff for one more sort: a short look at every sort, and, as long as there is none at all, a long one."""
    facts = Facts(model)
    before = {search.sort.name for search in outcome.failed}
    order = sorted(promising(model), key=lambda sort: sort.name in before)
    look = max(LOOK, each / 5)
    for seconds in (look,) if outcome.found else (look, each):
        outcome.failed = []
        for sort in order:
            search = find_cutoff(model, sort, limits, facts, min(ends, processor_seconds() + seconds), progress)
            if search.cutoff is not None:
                return search
            outcome.failed.append(search)
        if not any(search.cut_short for search in outcome.failed):
            break
    return None


def promising(model: RelationalModel) -> list[Sort]:
    """The sorts to be cut off, in the order in which they are tried: what most symbols speak of first, ordered sorts last."""

    def rank(sort: Sort) -> tuple[bool, int]:
        ordered = any(not s.mutable and s.arguments == (sort, sort) for s in model.symbols)
        return ordered, -sum(s.arguments.count(sort) for s in model.state_symbols)

    return sorted((sort for sort in model.sorts if sort.uninterpreted), key=rank)


def _certificate(outcome: Outcome, small: Certificate) -> Certificate:
    """The certificate of the small instance, with the cutoffs before it."""
    hints = dict(small.hints)
    cutoffs = []
    for search in outcome.found:
        assert search.cutoff is not None
        cutoffs.append(write(search.cutoff))
        for number, proof in enumerate(search.proofs, 1):
            for name, core in proof.cores.items():
                hints[name.replace("case:", f"case {number} of {search.sort}:", 1)] = core
    return replace(small, hints=hints, cutoffs=tuple(cutoffs))


def _candidate_instance(model: RelationalModel) -> Verification | None:
    """The instance that the properties suggest, and somewhat larger ones, searched for a violation."""
    sorts = promising(model)
    named = {sort: max(2, *(len(anchors(violation.bad, sort)) for violation in violations(model))) for sort in sorts}
    ends = time.monotonic() + INSTANCE_SECONDS
    for more in range(MOST_MORE + 1):
        sizes = {sort: named[sort] + (more if sort is sorts[0] else 0) for sort in sorts}
        left = ends - time.monotonic()
        if left <= 0:
            break
        try:
            instance = Instance(model, sizes)
            if few_initial_states(instance) is None:
                break
            found = check.check(instance, check.Options(engine="reference", timeout=left))
        except (InstanceError, EvaluationError):
            break
        for result in found.results:
            if isinstance(result.evidence, Trace):
                return Verification("an instance is violated", trace=result.evidence)
    return None


def _finished(outcome: Outcome, started: float, reason: str) -> Outcome:
    """One result for each property."""
    seconds = time.monotonic() - started
    trace = None
    if outcome.verification is not None and outcome.verification.trace is not None:
        trace = original(outcome, outcome.verification.trace)
    results = []
    scope = outcome.model.all_sizes
    for item in outcome.model.safety:
        if trace is not None and trace.violated == item.name:
            steps = f"violated after {len(trace.steps)} step{'s' * (len(trace.steps) != 1)}"
            results.append(Result(item.name, "safety", "violated", METHOD, scope, steps, trace, item.span, seconds))
        elif outcome.certificate is not None:
            told = ", ".join(f"{search.sort}={search.cutoff.size}" for search in outcome.found if search.cutoff)
            reason_proved = f"for {scope}; cutoff {told}"
            results.append(
                Result(item.name, "safety", "proved", METHOD, scope, reason_proved, None, item.span, seconds)
            )
        else:
            told = "another property is violated" if trace is not None else reason
            results.append(Result(item.name, "safety", "unknown", METHOD, scope, told, None, item.span, seconds))
    outcome.results = tuple(results)
    return outcome


def original(outcome: Outcome, trace: Trace) -> Trace:
    """A run of the small instance as a run of the protocol, replayed there."""
    pairs: list[Pair] = [search.pair for search in outcome.found if search.pair is not None]
    states = list(trace.states)
    for pair in reversed(pairs):
        states = [as_large(state, pair.sort, pair.target) for state in states]
    found = replace(trace, states=tuple(with_derived(outcome.model, state) for state in states))
    replay(outcome.model, found)
    return found
