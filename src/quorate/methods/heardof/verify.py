"""`verify`: is a round-based algorithm right, for every number of processes?

First a proof for every n (`prove`).  What it leaves open is searched exhaustively (`check`) with two, three, .. processes: a run
that violates a property settles it; otherwise the answer says which numbers of processes were covered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from quorate.engines.smt.session import Limits
from quorate.methods.heardof.check import Options, check
from quorate.methods.heardof.phase import Runs
from quorate.methods.heardof.prove import Proof, prove
from quorate.models.evaluation import RoundsError, settings
from quorate.models.rounds import Property, RoundModel
from quorate.proof.verdicts import Result, Verdict

METHOD = "quorums and induction"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Verified:
    """The answers, and the proof, if there is one for every n."""

    results: tuple[Result, ...]
    proof: Proof | None
    notes: tuple[str, ...]


def verify(
    model: RoundModel, largest: int, seconds: float, limits: Limits, progress: Progress = lambda text: None
) -> Verified:
    """Prove the properties for every n, or find runs that violate them."""
    started = time.monotonic()
    notes: list[str] = []
    proof: Proof | None = None
    try:
        proof = prove(model, limits, progress)
        if proof.open and model.univalent is not None and not _violated_soon(model, proof, seconds):
            other = prove(replace(model, univalent=None), limits, progress)
            if len(other.open) < len(proof.open):
                proof = other
                notes.append("U(v) of the file does not do; proved with another")
        if not proof.open and _nobody_decides(model, seconds):
            notes.append("vacuously: with 2, 3 and 4 processes nobody decides in the first phases")
        notes += [f"left open in the proof: {text}" for text in proof.left_open]
    except RoundsError as problem:
        notes.append(str(problem))
    proved = {item.name for item in proof.proved} if proof else set()
    left = [item for item in model.safety if item.name not in proved]
    found, covered = (
        search_runs(replace(model, safety=tuple(left), invariants=()), largest, seconds, progress) if left else ({}, {})
    )
    results = []
    for item in model.safety:
        if item.name in proved:
            spent = proof.seconds if proof else 0.0
            results.append(
                Result(item.name, "safety", "proved", METHOD, "all n", "for every n", span=item.span, seconds=spent)
            )
        elif item.name in found:
            results.append(replace(found[item.name], seconds=time.monotonic() - started))
        else:
            verdict, reason = _open(item, proof, covered.get(item.name, []))
            spent = time.monotonic() - started
            results.append(Result(item.name, "safety", verdict, METHOD, "all n", reason, span=item.span, seconds=spent))
    return Verified(tuple(results), proof, tuple(notes))


def search_runs(
    model: RoundModel, largest: int, seconds: float, progress: Progress
) -> tuple[dict[str, Result], dict[str, list[str]]]:
    """Violations with few processes, the fewest first; and for which n there are none."""
    found: dict[str, Result] = {}
    covered: dict[str, list[str]] = {}
    for n in range(2, largest + 1):
        complete = True
        for parameters in settings(model, n):
            progress(f"searching with {n} processes")
            found |= _short(model, n, parameters, found, seconds)
            left = tuple(item for item in model.safety if item.name not in found)
            if not left:
                return found, covered
            outcome = check(replace(model, safety=left), n, parameters, None, Options(keep_going=True, timeout=seconds))
            for result in outcome.results:
                if result.verdict == "violated":
                    found[result.property] = result
            complete = complete and outcome.found.finished
        if not complete:
            break
        for item in model.safety:
            if item.name not in found:
                covered.setdefault(item.name, []).append(str(n))
    return found, covered


def _short(
    model: RoundModel, n: int, parameters: Mapping[str, int], known: Container[str], seconds: float
) -> dict[str, Result]:
    """Violations within few phases, by propositional logic: quicker than a search of all states, if there are any."""
    started = time.monotonic()
    found: dict[str, Result] = {}
    if model.steps or n > MOST_PROCESSES:
        return found
    runs = Runs(model, n, parameters, FEW_PHASES)
    for item in model.safety:
        if item.name in known or (item.formula is None and item.name == "termination"):
            continue
        try:
            trace = runs.first_violation(item, seconds / 10)
        except TimeoutError:
            continue
        if trace is not None:
            scope = ", ".join([f"n={n}", *(f"{name}={value}" for name, value in parameters.items())])
            rounds = len(trace.happenings)
            reason = f"violated after {rounds} round{'s' * (rounds != 1)}"
            spent = time.monotonic() - started
            found[item.name] = Result(
                item.name, "safety", "violated", "bounded search", scope, reason, None, item.span, spent, rounds=trace
            )
    return found


def _violated_soon(model: RoundModel, proof: Proof, seconds: float) -> bool:
    """Is there a short run of few processes that violates what is not proved?"""
    names = {item.name for item in proof.open}
    left = replace(model, safety=tuple(item for item in model.safety if item.name in names), invariants=())
    return any(_short(left, n, parameters, (), seconds) for n in (2, 3, 4) for parameters in settings(model, n))


def _nobody_decides(model: RoundModel, seconds: float) -> bool:
    """Properties of decisions say nothing if there are none."""
    for n in (2, 3, 4):
        for parameters in settings(model, n):
            runs = Runs(model, n, parameters, FEW_PHASES)
            s = runs.symbolic
            some = s.disj(*(-s.equal(decision, s.number(0)) for decision in runs.states[-1].decision))
            if runs.solve(some, "a decision", seconds).status != "unsat":
                return False
    return True


FEW_PHASES = 2
MOST_PROCESSES = 6


def _open(item: Property, proof: Proof | None, covered: list[str]) -> tuple[Verdict, str]:
    """What is said of a property that is neither proved nor violated."""
    without = f"no run with n = {', '.join(covered)} violates it" if covered else "no instance was searched to its end"
    if proof is None:
        return "unknown", without
    claim = next(claim for claim in proof.relational.safety if claim.name == item.name)
    why, refuted = proof.why(claim)
    return ("not-inductive" if refuted else "unknown"), f"{why}; {without}"
