"""`live`: from a liveness property to a proof for every size, or to a fair run that violates it.

Small instances are searched for violations; then stages are found on samples, and invariants for what they need; in the end the
independent checker has to accept the certificate, with both solvers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from random import Random

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.session import Limits
from quorate.logic.terms import Term, Var
from quorate.logic.transform import substitute
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import is_trivial
from quorate.methods.inference.language import total_orders
from quorate.methods.inference.states import Array
from quorate.methods.liveness.check import check_liveness
from quorate.methods.liveness.claims import (
    Missing,
    Support,
    are_valid,
    claims_of,
    entailed,
    hard_goals,
    joined,
    support,
)
from quorate.methods.liveness.samples import Samples, collect, largest_sizes
from quorate.methods.liveness.stages import LEVELS, Search
from quorate.methods.vacuity import unfair
from quorate.models.relational import Liveness, Named, RelationalModel
from quorate.models.temporal import TemporalError
from quorate.proof.acceptance import examine
from quorate.proof.certificates import CertificateError
from quorate.proof.counting import Counting
from quorate.proof.liveness import Argument, Goal, Proved, Stage, assumptions, certify, monitored, reduced
from quorate.proof.readings import Reading, readings
from quorate.proof.verdicts import Result, Verdict

METHOD = "ranking"
SMALL = 60_000
"""Instances with at most that many states are searched for violations before a proof is looked for."""
MANY = 12
"""If more goals than that need invariants, it is first tried to do with fewer, counting all elements of finite sorts."""
INSISTENCE = 5.0
"""Seconds for the question whether a goal that seems to need nothing follows from what others needed."""
PATIENCE = 20.0, 60.0, inf
"""Seconds for the invariants of a ranking, before others are tried, and later."""

Progress = Callable[[str], None]


class _Postponed(Exception):
    """There may be a simpler proof."""


class _Refuted(Missing):
    """Some obligations do not hold in the samples: the pairs were too few to show it."""

    def __init__(self, wrong: Sequence[Goal]) -> None:
        super().__init__(f"{', '.join(goal.name for goal in wrong)} does not hold")
        self.wrong = wrong


@dataclass(frozen=True)
class Options:
    """`seconds` by the clock for each property; the seed decides which samples are taken; `propose`: whether to say, where
    nothing is found, which fairness assumption would do."""

    seconds: float = 600.0
    seed: int = 0
    propose: bool = True


@dataclass
class Living:
    """A result per liveness property, and what was proved."""

    results: list[Result] = field(default_factory=list)
    proved: list[tuple[Proved, Support]] = field(default_factory=list)
    interrupted: bool = False


def live(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Living:
    """Decide the liveness properties of a model."""
    outcome = Living()
    broken, doubts = _violations(model, progress)
    for item in model.liveness:
        started = time.monotonic()
        if item.name in broken:
            outcome.results.append(broken[item.name])
            continue
        try:
            found = prove(model, item, limits, options, progress)
            if why := unfair(model, item):
                raise Missing(str(why))
        except (Missing, TemporalError, CertificateError, InstanceError) as problem:
            verdict: Verdict = "unknown"
            reason = "; ".join(dict.fromkeys([*doubts.get(item.name, ()), str(problem)]))
        else:
            outcome.proved.append(found)
            used = hints_used(item, *found)
            helped = [f"with {used} hint{'s' * (used != 1)}"] if used else []
            verdict = "proved"
            reason = "; ".join(["in every fair run", *assumptions(model, found[0].argument), *helped])
        seconds = time.monotonic() - started
        outcome.results.append(
            Result(item.name, "liveness", verdict, METHOD, model.all_sizes, reason, None, item.span, seconds)
        )
    return outcome


def prove(
    model: RelationalModel,
    item: Liveness,
    limits: Limits,
    options: Options = Options(),
    progress: Progress = lambda text: None,
) -> tuple[Proved, Support]:
    """A proof of one property that the checker has accepted, without a search for violations; raises `Missing`."""
    return _Proof(model, item, limits, options, progress).find()


def hints_used(item: Liveness, proved: Proved, support: Support) -> int:
    """How many of the hints that the file gives the proof consists of."""
    formulas = {known.formula for known in (*support.claims, *support.invariants)}
    used = sum(hint.formula in formulas for hint in item.hints if hint.kind == "invariant")
    for hint in item.hints:
        if hint.kind == "rank":
            closed = _as_set(hint.variables, hint.formula)
            used += any(_as_set(stage.variables, stage.formula) is closed for stage in proved.argument.stages)
    return used


def _as_set(variables: tuple[Var, ...], formula: Term) -> Term:
    """The formula with variables whose names do not depend on how it was written."""
    named = tuple(Var(f"%{number}", variable.sort) for number, variable in enumerate(variables))
    return substitute(formula, dict(zip(variables, named, strict=True)))


def _violations(model: RelationalModel, progress: Progress) -> tuple[dict[str, Result], dict[str, list[str]]]:
    """Properties that the smallest instances violate; and of others, violations that come from the instance being small."""
    found: dict[str, Result] = {}
    doubts: dict[str, list[str]] = {}
    most = largest_sizes(model, total_orders(model))
    for size in (1, 2, 3):
        progress(f"looking for violations in instances of size {size}")
        try:
            sizes = {sort: min(size, largest) for sort, largest in most.items()}
            results, states = check_liveness(Instance(model, sizes), most=SMALL, lasting=True)
        except (InstanceError, TemporalError):
            break
        for result in results:
            if result.verdict == "violated":
                found.setdefault(result.property, result)
            elif result.verdict == "unknown" and states:
                doubts[result.property] = [result.reason]
        if states > SMALL // 20 or (size > 1 and not states):
            break
    return found, doubts


class _Proof:
    """The search for a proof of one property."""

    def __init__(
        self, model: RelationalModel, item: Liveness, limits: Limits, options: Options, progress: Progress
    ) -> None:
        self.protocol, self.item, self.limits, self.options, self.progress = model, item, limits, options, progress
        self.until = time.monotonic() + options.seconds
        self.orders = total_orders(model)
        self.valid: dict[Term, bool | None] = {}
        """Goals that were asked about, and whether they are valid, None if nobody knows."""

    def find(self) -> tuple[Proved, Support]:
        self.progress("collecting samples")
        samples = collect(self.protocol, self.item, self.orders, self.options.seed)
        if not samples.states:
            raise Missing("the protocol has no small instances, from which rankings are learnt")
        watched = not self._stays(samples)
        if watched:
            model, item = monitored(self.protocol, self.item)
            samples = collect(model, item, self.orders, self.options.seed)
        reasons: list[str] = []
        rankings: list[list[Argument]] = []
        postponed: list[list[Argument]] = []
        tried: dict[Argument, float] = {}
        """How many seconds an argument has had."""
        kinds = self._kinds()
        while kinds:
            counting, optional = kinds.pop(0)
            search = Search(samples, counting, optional, self.progress, self.until)
            lists, left = search.find(LEVELS)
            if not lists:
                reasons += self._uncovered(search, left)
                continue
            rankings.append([Argument(self.item.name, watched, tuple(stages)) for stages in lists])
            argument = rankings[-1][0]
            again = argument in tried
            tried[argument] = PATIENCE[0] if optional or len(rankings) > 1 else PATIENCE[1]
            try:
                return self._prove(argument, samples, tried[argument], MANY if optional else None)
            except _Postponed:
                postponed.append(rankings.pop())
                tried[argument] = 0.0
            except _Refuted as refuted:
                if not again:
                    for goal in refuted.wrong:
                        samples.include(goal.formula, Random(self.options.seed))
                    rankings.pop()
                    kinds.insert(0, (counting, optional))
            except Missing:
                continue
        for patience in PATIENCE[1:]:
            for arguments in (*rankings, *postponed):
                for argument in arguments if patience is PATIENCE[-1] else arguments[:1]:
                    if tried.get(argument, 0.0) >= patience:
                        continue
                    try:
                        return self._prove(argument, samples, patience)
                    except Missing as problem:
                        reasons += [f"{_shown(argument.stages)}: {problem}"] if patience is PATIENCE[-1] else []
        raise Missing("; ".join(reasons))

    def _kinds(self) -> list[tuple[Counting, bool]]:
        """What may be counted.  First only what lies below an element, if a finite sort is ordered: such proofs ask for less."""
        found = readings(self.protocol)
        less = {
            sort: replace(reading, kind="ordered") if reading.kind == "finite" and reading.orders else reading
            for sort, reading in found.items()
        }
        return [(Counting(found), False)] if less == found else [(Counting(less), True), (Counting(found), False)]

    def _uncovered(self, search: Search, left: Array) -> Iterator[str]:
        """Which steps no ranking covers, and what would help."""
        if time.monotonic() > self.until:
            yield "no ranking was found in time"
            return
        yield f"no ranking covers {search.left(left)}"
        if not search.optional:
            wanted = search.would_do(LEVELS[:3], self.until) if self.options.propose else None
            yield (
                f"{wanted} would do"
                if wanted
                else "a hint could give a rank: what shrinks by that step and never grows"
            )
        if search.limited and self.options.propose:
            finite = Counting({sort: Reading("finite") for sort in self.protocol.sorts if sort.uninterpreted})
            if Search(search.samples, finite, False, self.progress, self.until).find(LEVELS[:3])[0]:
                word = "type" if self.protocol.language == "ivy" else "sort"
                names = " and ".join(sorted(f"`finite {word} {sort}`" for sort in search.limited if sort.uninterpreted))
                yield f"{names} would do, if that is what is meant"

    def _stays(self, samples: Samples) -> bool:
        """Does the trigger hold until the goal is reached, as far as the samples show?"""
        _, goals = reduced(self.protocol, Argument(self.item.name, False, ()))
        return all(samples.holds(goal.formula) for goal in goals if goal.name.endswith(" stays"))

    def _prove(
        self, argument: Argument, samples: Samples, seconds: float, most: int | None = None
    ) -> tuple[Proved, Support]:
        """A proof that the checker has accepted; raises `_Postponed` if more goals than `most` need invariants."""
        model, goals = reduced(self.protocol, argument)
        self.progress(f"{len(goals)} obligations")
        hard, elusive = hard_goals(model, goals, self.orders, self.limits, self.valid)
        wrong = [goal for goal in (*hard, *elusive) if not samples.holds(goal.formula)]
        if wrong:
            raise _Refuted(wrong)
        self.progress(f"{len(hard) + len(elusive)} of {len(goals)} obligations need invariants")
        if most is not None and len(hard) + len(elusive) > most:
            raise _Postponed
        until = min(self.until, time.monotonic() + seconds)
        model = model.with_invariants(self._established(model))
        found, left = entailed(model, hard, samples, self.limits, until, self.options.seed, self.progress)
        limits = replace(self.limits, timeout=min(self.limits.timeout, INSISTENCE))
        follows = are_valid(model, found.claims, elusive, limits)
        left = [*left, *(goal for goal, valid in zip(elusive, follows, strict=True) if not valid)]
        if left:
            claims = claims_of(model, found.claims, left, samples, self.limits)
            known = model.with_invariants((*found.claims, *model.invariants))
            more = support(known, claims, samples, self.limits, until, self.options.seed, self.progress)
            found = joined(model, found, more)
        proved = Proved(argument, found.claims, found.certificate)
        self._check(proved)
        return proved, found

    def _established(self, model: RelationalModel) -> tuple[Named, ...]:
        """The invariants that hints give, as far as they support each other."""
        hints = [hint for hint in self.item.hints if hint.kind == "invariant"]
        listed = [Named(f"hint{number}", hint.formula, hint.span) for number, hint in enumerate(hints, 1)]
        while listed:
            obligations = [o for o in all_obligations(model, listed) if not is_trivial(model, o)]
            answers = decide(model, obligations, listed, self.limits, self.progress)
            kept = [item for item in listed if all(a.status == "unsat" for o, a in answers.items() if o.claim is item)]
            if kept == listed:
                break
            listed = kept
        return tuple(listed)

    def _check(self, proved: Proved) -> None:
        """The independent checker and the plain reading of the text have the last word."""
        self.progress("checking the certificate")
        certificate, limits = certify(self.protocol, [proved]), self.limits
        found = examine(self.protocol, certificate, limits.timeout, limits.memory_mb, limits.jobs)
        if not found.accepted:
            raise Missing(f"the checker does not accept: {found.why_not}")


def _shown(stages: Sequence[Stage]) -> str:
    return ", ".join(f"{stage.kind} {stage.formula}" for stage in stages)
