"""`induct`: are the safety properties and the offered invariants inductive, for all sizes?

Every obligation is decided; a failing one gets its smallest counterexample to induction and a short search for a real
violation.  Properties that fail are then withdrawn as hypotheses and what leant on them is asked again, until a set is
left that supports itself: those are proved, whatever happened to the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from quorate.engines.smt.session import Answer, Goal, Group, Limits, solve
from quorate.logic.structures import Structure
from quorate.logic.terms import neg
from quorate.methods.induction.bounded import finite_search, symbolic_search, uniform_sizes, uses_integers
from quorate.methods.induction.counterexamples import smallest
from quorate.methods.induction.obligations import Obligation, group, is_trivial, step_of
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import state_of, successor
from quorate.proof.certificates import Certificate, certify
from quorate.proof.traces import Trace, replay
from quorate.proof.verdicts import Result, Verdict

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Search:
    """How hard to look for small counterexamples and real violations."""

    depth: int = 12
    seconds: float = 2.0
    """Wall-clock seconds for each attempt."""


@dataclass
class Induction:
    """The outcome: an answer per obligation, the properties that support each other, and a result per property."""

    model: RelationalModel
    answers: dict[Obligation, Answer] = field(default_factory=dict)
    proved: tuple[Named, ...] = ()
    results: list[Result] = field(default_factory=list)


def all_obligations(model: RelationalModel, properties: Iterable[Named]) -> list[Obligation]:
    """Initiation of every property, then consecution of every property by every transition."""
    listed = list(properties)
    found = [Obligation(item, None) for item in listed]
    found += [Obligation(item, transition) for transition in model.transitions for item in listed]
    return found


def induct(
    model: RelationalModel, limits: Limits, search: Search = Search(), progress: Progress = lambda text: None
) -> Induction:
    """Decide whether the properties of a model are inductive, and say why those that are not fail."""
    started = time.monotonic()
    outcome, rounds = _supporting(model, limits, progress)
    outcome.results = [
        _result(model, item, outcome, rounds, limits, search, progress, started) for item in model.properties
    ] + _theorems(model, limits)
    return outcome


def prove(model: RelationalModel, limits: Limits, progress: Progress = lambda text: None) -> Induction:
    """Only which properties support each other: no results, so no time is spent on counterexamples."""
    return _supporting(model, limits, progress)[0]


def _supporting(
    model: RelationalModel, limits: Limits, progress: Progress
) -> tuple[Induction, list[dict[Obligation, Answer]]]:
    """The properties that support each other, and the answers of every round in which others were withdrawn."""
    outcome = Induction(model)
    alive, rounds = support(model, list(model.properties), [], limits, progress)
    outcome.proved = tuple(alive)
    for answers in rounds:
        outcome.answers.update(answers)
    return outcome, rounds


def support(
    model: RelationalModel, properties: list[Named], assumed: list[Named], limits: Limits, progress: Progress
) -> tuple[list[Named], list[dict[Obligation, Answer]]]:
    """Those of the properties that support each other, given what is assumed before each step; and the answers, by round."""
    pending = [o for o in all_obligations(model, properties) if not is_trivial(model, o)]
    alive = properties
    rounds: list[dict[Obligation, Answer]] = []
    last: dict[Obligation, Answer] = {}
    while pending:
        answers = decide(model, pending, alive + assumed, limits, progress)
        rounds.append(answers)
        last.update(answers)
        failing = {obligation.claim for obligation, answer in answers.items() if answer.status != "unsat"}
        if not failing:
            break
        alive = [item for item in alive if item not in failing]
        pending = [
            obligation
            for obligation, answer in last.items()
            if obligation.claim in alive and obligation.transition is not None and not failing.isdisjoint(answer.core)
        ]
    return alive, rounds


def decide(
    model: RelationalModel,
    obligations: list[Obligation],
    assumed: list[Named],
    limits: Limits,
    progress: Progress,
    until_refuted: bool = False,
) -> dict[Obligation, Answer]:
    """Answers to obligations under what is assumed, those of a transition as one group; `until_refuted` as in `solve`."""
    by_transition: dict[str | None, list[Obligation]] = {}
    for obligation in obligations:
        key = obligation.transition.name if obligation.transition else None
        by_transition.setdefault(key, []).append(obligation)
    batches = list(by_transition.values())
    answers: dict[Obligation, Answer] = {}
    groups = [group(model, batch, assumed) for batch in batches]
    for number, goal, answer in solve(groups, limits, until_refuted):
        answers[batches[number][goal]] = answer
        progress(f"{len(answers)} of {len(obligations)} obligations")
    return {obligation: answers[obligation] for obligation in obligations if obligation in answers}


def _result(
    model: RelationalModel,
    item: Named,
    outcome: Induction,
    rounds: list[dict[Obligation, Answer]],
    limits: Limits,
    search: Search,
    progress: Progress,
    started: float,
) -> Result:
    kind: Literal["safety", "invariant"] = "safety" if item in model.safety else "invariant"

    def result(verdict: Verdict, reason: str = "", evidence: Trace | None = None) -> Result:
        seconds = time.monotonic() - started
        return Result(item.name, kind, verdict, "induction", model.all_sizes, reason, evidence, item.span, seconds)

    if item in outcome.proved:
        return result("proved")
    failing = [(o, a) for o, a in rounds[0].items() if o.claim is item and a.status != "unsat"]
    refuted = [(o, a) for o, a in failing if a.status == "sat"]
    evidence = None
    if refuted:
        progress(f"looking for a small counterexample: {refuted[0][0].name}")
        evidence = _evidence(model, *refuted[0], limits, search)
        if evidence is not None and evidence.kind == "run":
            return result("violated", "an initial state violates it", evidence)
    if refuted or kind == "safety":
        run = _violation(model, item, evidence, limits, search)
        if run is not None:
            return result("violated", f"violated after {len(run.steps)} step{'s' * (len(run.steps) != 1)}", run)
    if any(o.transition is None for o, _ in refuted):
        return result("unknown", "it seems to fail in an initial state, but none was found that can be shown")
    if refuted:
        names = ", ".join(o.transition.name for o, _ in refuted if o.transition)
        return result("not-inductive", f"not preserved by {names}", evidence)
    if failing:
        return result("unknown", f"{failing[0][0].name}: {failing[0][1].reason or 'no answer'}")
    lost = {n.name for o, a in rounds[0].items() if o.claim is item for n in a.core if isinstance(n, Named)}
    props = [other.name for other in model.properties if other.name in lost and other not in outcome.proved]
    leans = ", ".join(name for name in props if name != item.name)
    return result(
        "unknown", f"preserved only with the help of {leans}, which {'is' if ',' not in leans else 'are'} not proved"
    )


def _evidence(
    model: RelationalModel, obligation: Obligation, answer: Answer, limits: Limits, search: Search
) -> Trace | None:
    """The smallest counterexample, or else the solver's own, replayed either way."""
    own = None if answer.structure is None else _from_structure(model, obligation, answer.structure)
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    largest = sum(own.states[0].sizes.get(sort, 1) for sort in sorts) if own else 3 * len(sorts)
    evidence = smallest(model, obligation, model.properties, largest, limits, search.seconds) or own
    if evidence is not None:
        replay(model, evidence)
    return evidence


def _from_structure(model: RelationalModel, obligation: Obligation, structure: Structure) -> Trace:
    state = state_of(model, structure)
    if obligation.transition is None:
        return Trace("run", (state,), (), obligation.claim.name)
    step = step_of(obligation.transition, structure)
    after = successor(model, state, step)
    assert isinstance(after, Structure), after
    return Trace("cti", (state, after), (step,), obligation.claim.name)


def _violation(
    model: RelationalModel, item: Named, evidence: Trace | None, limits: Limits, search: Search
) -> Trace | None:
    """A short run that violates the property: at the counterexample's sizes, then with two and three elements per sort."""
    candidates = [dict(evidence.states[0].sizes)] if evidence else []
    candidates += [uniform_sizes(model, size) for size in (2, 3)]
    for number, sizes in enumerate(candidates):
        if sizes not in candidates[:number]:
            found = finite_search(model, [item], sizes, search.depth, limits, search.seconds)
            if found is not None and found.trace is not None:
                return found.trace
    return _symbolic_violation(model, item, limits, search) if uses_integers(model) else None


def _symbolic_violation(model: RelationalModel, item: Named, limits: Limits, search: Search) -> Trace | None:
    """A short run that violates the property, over all sizes, as long as the solvers answer."""
    for length in range(search.depth + 1):
        quick = replace(limits, timeout=min(limits.timeout, search.seconds))
        status, trace, _ = symbolic_search(model, [item], length, quick)
        if status != "unsat":
            return trace
    return None


def _theorems(model: RelationalModel, limits: Limits) -> list[Result]:
    """Theorems follow from the background alone."""
    if not model.theorems:
        return []
    started = time.monotonic()
    groups = [
        Group(tuple(model.background(theorem.states)), (Goal(f"theorem {theorem.name}", neg(theorem.formula)),))
        for theorem in model.theorems
    ]
    answers = {number: answer for number, _, answer in solve(groups, limits)}
    verdicts: dict[str, Verdict] = {"unsat": "proved", "sat": "violated", "unknown": "unknown"}
    results = []
    for number, theorem in enumerate(model.theorems):
        answer, seconds = answers[number], time.monotonic() - started
        reason = "it does not follow from the axioms" if answer.status == "sat" else answer.reason
        verdict = verdicts[answer.status]
        results.append(
            Result(theorem.name, "theorem", verdict, "induction", model.all_sizes, reason, None, theorem.span, seconds)
        )
    return results


def certificate(outcome: Induction) -> Certificate | None:
    """The certificate of a proof, if all safety properties are proved."""
    return certificate_of_some(outcome) if all(item in outcome.proved for item in outcome.model.safety) else None


def certificate_of_some(outcome: Induction) -> Certificate | None:
    """The certificate for those safety properties that are proved, if any."""
    model = outcome.model
    safety = tuple(item for item in model.safety if item in outcome.proved)
    if not safety:
        return None
    hints = {
        obligation.name: tuple(
            dict.fromkeys(used.name for used in answer.core if not used.name.startswith("guard of "))
        )
        for obligation, answer in outcome.answers.items()
        if obligation.claim in outcome.proved
    }
    hints |= {f"invariants imply {item.name}": (item.name,) for item in safety}
    return certify(model, safety, outcome.proved, hints)
