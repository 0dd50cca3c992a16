"""`verify`: is a round-based algorithm right, for every number of processes?

First a proof for every n (`prove`).  What it leaves open is searched exhaustively (`check`) with two, three, .. processes: a run
that violates a property settles it; otherwise the answer says which numbers of processes were covered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from quorate.engines.smt.session import Limits
from quorate.methods.heardof.check import Options, check
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
        notes += [f"left open in the proof: {text}" for text in proof.left_open]
    except RoundsError as problem:
        notes.append(str(problem))
    proved = {item.name for item in proof.proved} if proof else set()
    left = [item for item in model.safety if item.name not in proved]
    found, covered = (
        search(replace(model, safety=tuple(left), invariants=()), largest, seconds, progress) if left else ({}, {})
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


def search(
    model: RoundModel, largest: int, seconds: float, progress: Progress, first: int = 2
) -> tuple[dict[str, Result], dict[str, list[str]]]:
    """Violations with few processes, the fewest first; and for which n there are none."""
    found: dict[str, Result] = {}
    covered: dict[str, list[str]] = {}
    for n in range(first, largest + 1):
        complete = True
        for parameters in settings(model, n):
            progress(f"searching with {n} processes")
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


def _open(item: Property, proof: Proof | None, covered: list[str]) -> tuple[Verdict, str]:
    """What is said of a property that is neither proved nor violated."""
    without = f"no run with n = {', '.join(covered)} violates it" if covered else "no instance was searched to its end"
    if proof is None:
        return "unknown", without
    claim = next(claim for claim in proof.relational.safety if claim.name == item.name)
    why, refuted = proof.why(claim)
    return ("not-inductive" if refuted else "unknown"), f"{why}; {without}"
