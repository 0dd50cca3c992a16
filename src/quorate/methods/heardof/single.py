"""`verify --method heardof`: an algorithm with n processes, by single phases; what fails is explained before it is called a bug.

The checks are those of `checking`.  What fails is looked for in runs with few processes: a run from the initial states makes it
a violation; otherwise the phase is shown.  Many processes are first covered by a proof for every n (`prove`), where the
independent checker accepts one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.engines.smt.session import Limits
from quorate.methods.heardof.checking import Checking, Progress, Single
from quorate.methods.heardof.hunt import nobody_decides, search_runs
from quorate.methods.heardof.prove import prove
from quorate.models.evaluation import RoundsError, settings
from quorate.models.linear import AtLeast, Linear
from quorate.models.quorums import Translation, relational
from quorate.models.rounds import RoundModel
from quorate.proof.checker import recheck
from quorate.proof.verdicts import Result, Verdict

METHOD = "single phases"


def single(
    model: RoundModel,
    n: int,
    given: Sequence[Mapping[str, int]] | None,
    limits: Limits,
    progress: Progress = lambda text: None,
) -> Single:
    """Check an algorithm with n processes, for the given parameters or for all that are allowed."""
    started = time.monotonic()
    parameters = list(given if given is not None else settings(model, n))
    if not parameters:
        raise RoundsError(f"no values of the parameters are allowed for n = {n}")
    if n > MOST_PROCESSES and (covering := _for_every_n(model, n, limits, progress)) is not None:
        return covering
    checking = Checking(model, n, parameters, limits, progress)
    found = checking.found
    failing = checking.run()
    notes, results = found.notes, []
    scope = f"n={n}" + "".join(f", {name}={value}" for name, value in parameters[0].items() if len(parameters) == 1)
    if given is None:
        scope += "".join(f", {name} up to {n}" for name in _unlimited(model))
    runs: dict[str, Result] = {}
    covered: dict[str, list[str]] = {}
    suspects = [item for item in model.safety if any(answer.status == "sat" for answer in failing.get(item.name, ()))]
    if suspects:
        progress("looking for a run")
        runs, covered = search_runs(
            replace(model, safety=tuple(suspects), invariants=()), min(n, 5), limits.timeout, progress
        )
    for item in model.safety:
        verdict: Verdict = "proved"
        reason, trace = f"by single phases; {', '.join(checking.behind(item))}", None
        if item.name in runs:
            results.append(replace(runs[item.name], seconds=time.monotonic() - started))
            continue
        if item.name in failing:
            answer = next((a for a in failing[item.name] if a.status == "sat"), failing[item.name][0])
            verdict = "not-inductive" if answer.status == "sat" else "unknown"
            reason = (
                f"the check of {answer.name} fails" if answer.status == "sat" else f"{answer.name}: no answer in time"
            )
            if answer.trace is not None:
                trace, why = checking.smallest(answer)
                reason = f"{reason}; {why}"
            if covered.get(item.name):
                reason += f"; no run with n = {', '.join(covered[item.name])} violates it"
        seconds = time.monotonic() - started
        results.append(
            Result(item.name, "safety", verdict, METHOD, scope, reason, span=item.span, seconds=seconds, rounds=trace)
        )
    return replace(found, results=tuple(results), notes=notes)


def _unlimited(model: RoundModel) -> list[str]:
    """The parameters that may be larger than n; only values up to n are looked at."""
    n, translation = Linear.name("n"), Translation(model)
    names = [item.name for item in model.parameters]
    return [name for name in names if not translation.implied([], AtLeast(n - Linear.name(name)))]


def _for_every_n(model: RoundModel, n: int, limits: Limits, progress: Progress) -> Single | None:
    """The answers for n processes from a certificate for every n that the checker accepts; None if a property has none."""
    started = time.monotonic()
    try:
        proof = prove(model, limits, progress)
    except RoundsError:
        return None
    if proof.open or proof.certificate is None:
        return None
    if nobody_decides(model, limits.timeout):
        raise RoundsError("with 2, 3 and 4 processes, nobody can decide in a phase: the checks would say nothing")
    progress("re-checking the certificate for every n")
    outcomes = recheck(relational(model)[0], proof.certificate, limits.timeout, limits.memory_mb, limits.jobs)
    if not all(outcome.accepted for outcome in outcomes):
        return None
    seconds = time.monotonic() - started
    reason = "a phase with any number of processes, by lemmas about quorums that are proved for every n"
    results = tuple(
        Result(item.name, "safety", "proved", METHOD, f"n={n}", reason, span=item.span, seconds=seconds)
        for item in model.safety
    )
    names = {item.name for item in proof.proved}
    lemmas = [lemma for lemma in proof.invariants if lemma[0] in names]
    note = f"n = {n} is covered by a proof for every n; `quorate verify FILE --certificate PATH` saves it"
    return Single(results, [], lemmas, proof.univalent if "univalence" in names else None, [note])


MOST_PROCESSES = 30
"""With how many processes n × n heard-of sets are still a small question."""
