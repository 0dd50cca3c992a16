"""The search for a cutoff: sorts, sizes and candidates in order, until one is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from quorate.engines.smt.session import Goal, Group, Limits, solve_here
from quorate.logic.terms import TRUE, Sort, disj
from quorate.methods.cutoff.analysis import violations
from quorate.methods.cutoff.candidates import Scene
from quorate.methods.cutoff.facts import Facts
from quorate.methods.cutoff.prove import Failure, Proof, Prover, processor_seconds
from quorate.models.relational import RelationalModel
from quorate.proof.cutoffs import Cutoff, Obligations, Pair

MOST_ELEMENTS = 4
"""Larger small instances are not tried."""
MORE = 1
"""How many elements a small instance may have beyond those that the violation names."""

Progress = Callable[[str], None]


@dataclass
class Search:
    """What was found for one sort: a cutoff, or why there is none."""

    sort: Sort
    pair: Pair | None = None
    cutoff: Cutoff | None = None
    proofs: list[Proof] = field(default_factory=list)
    failures: list[tuple[str, int, Failure]] = field(default_factory=list)
    """The property, the size of the small instance, and what happened."""
    queries: int = 0
    seconds: float = 0.0
    """Processor seconds."""
    cut_short: bool = False
    """Was there no time for some of the candidates?"""


def find_cutoff(
    model: RelationalModel,
    sort: Sort,
    limits: Limits,
    facts: Facts,
    ends: float = float("inf"),
    progress: Progress = lambda text: None,
) -> Search:
    """Look for a cutoff of one sort: sizes from the properties upward, one candidate after the other."""
    began = processor_seconds()
    search = Search(sort)
    _find(search, model, limits, facts, ends, progress)
    search.seconds = processor_seconds() - began
    return search


def _find(
    search: Search, model: RelationalModel, limits: Limits, facts: Facts, ends: float, progress: Progress
) -> None:
    sort = search.sort
    scenes = [Scene(model, sort, violation) for violation in violations(model)]
    least = max([1, *(len(scene.anchors) for scene in scenes)])
    sizes = range(least, min(MOST_ELEMENTS, least + MORE) + 1)
    pairs = {size: Pair(model, sort, size) for size in sizes}
    for with_facts, likely in product((False, True), (True, False)):
        for pair in pairs.values():
            proofs: list[Proof] = []
            for scene in scenes:
                kind = proofs[-1].kind if proofs else ""
                found = _prove(search, pair, scene, limits, facts, with_facts, likely, kind, ends, progress)
                if found is None:
                    break
                proofs.append(found)
            else:
                cutoff = Cutoff(sort.name, pair.size, tuple(proof.case for proof in proofs))
                doubtful = unconfirmed(pair, cutoff, limits)
                if doubtful is None:
                    search.pair, search.proofs, search.cutoff = pair, proofs, cutoff
                    return
                failure = Failure(proofs[0].words, "confirmation", f"no answer when asked again: {doubtful}")
                search.failures.append((scenes[0].violation.property, pair.size, failure))


def unconfirmed(pair: Pair, cutoff: Cutoff, limits: Limits) -> str | None:
    """An obligation of the whole cutoff that does not hold, asked from scratch: nothing of the search is believed."""
    for group in Obligations(pair).all(cutoff.cases):
        if group.claims:
            any_of_them = disj(*(claim.negation for claim in group.claims))
            (answer,) = solve_here(Group(group.hypotheses, (Goal(group.claims[0].name, any_of_them),)), limits)
            if answer.status != "unsat":
                return group.claims[0].name
    return None


def vacuous(pair: Pair, cutoff: Cutoff, limits: Limits) -> list[str]:
    """Transitions that no state allows that is related to one of the small instance: what is proved of them says nothing."""
    found = []
    obligations = Obligations(pair)
    for transition in pair.large.transitions:
        groups = [obligations.step(case, transition) for case in cutoff.cases]
        taken = Goal(f"{transition.name} is taken", TRUE)
        if all(solve_here(Group(group.hypotheses, (taken,)), limits)[0].status == "unsat" for group in groups):
            found.append(transition.name)
    return found


def _prove(
    search: Search,
    pair: Pair,
    scene: Scene,
    limits: Limits,
    facts: Facts,
    with_facts: bool,
    likely: bool,
    preferred: str,
    ends: float,
    progress: Progress,
) -> Proof | None:
    prover = Prover(pair, scene, limits, facts, ends)
    try:
        candidates = []
        for words, rigid in scene.rigid(pair):
            if processor_seconds() > ends:
                search.cut_short = True
                return None
            listed = list(scene.candidates(pair, words, rigid))
            if prover.instance(listed[0].case):
                candidates += listed
        if not candidates and with_facts:
            told = "no interpretation of the rigid symbols that was tried satisfies the axioms"
            search.failures.append((scene.violation.property, pair.size, Failure("", "instance", told)))
        candidates.sort(key=lambda candidate: candidate.kind != preferred)
        for candidate in candidates:
            if candidate.likely != likely and (not preferred or not likely):
                continue
            if processor_seconds() > ends:
                search.cut_short = True
                return None
            progress(f"{search.sort}={pair.size}: {candidate.words}")
            outcome = prover.prove(candidate, with_facts or candidate.needs_facts)
            if isinstance(outcome, Proof):
                return outcome
            if with_facts:
                search.failures.append((scene.violation.property, pair.size, outcome))
        return None
    finally:
        search.queries += prover.queries
