"""`quorate cutoff`: the small instances that stand for all sizes, why they do, and what became of them."""

from __future__ import annotations

import argparse
import time
from typing import Any

from quorate.apps.cli.commands import (
    Progress,
    UsageError,
    evidence_text,
    file_report,
    finish,
    limits,
    load_all,
    save_first_trace,
    write_certificate,
)
from quorate.engines.explicit.compile import CompilerError
from quorate.methods.cutoff.cutoff import Options, Outcome
from quorate.methods.cutoff.cutoff import cutoff as search
from quorate.methods.cutoff.search import Search
from quorate.methods.cutoff.show import clauses, explained, facts, side_by_side, small_instance
from quorate.methods.vacuity import judged, nothing_to_prove
from quorate.models.relational import RelationalModel
from quorate.proof.cutoffs import Pair

MOST_ATTEMPTS = 6
"""Of the candidates that failed, at most that many are listed for each sort."""


def cutoff(arguments: argparse.Namespace) -> int:
    """Look for cutoffs of each file."""
    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    files = []
    for item in loaded:
        nothing = nothing_to_prove(item.model, "safety")
        if nothing is not None:
            files.append(file_report(item.model, "cutoff", nothing.results, (), {}))
            continue
        outcome = _search(item.model, arguments)
        details = _details(outcome) + evidence_text(item.model, outcome.results)
        saved = save_first_trace(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        if outcome.certificate is not None and arguments.certificate:
            write_certificate(arguments.certificate, outcome.certificate)
            saved["certificate"] = arguments.certificate
            details.append(f"certificate saved to {arguments.certificate}; `quorate recheck` re-establishes it")
        remarks = judged(item.model, outcome.results, limits(arguments)).remarks
        files.append(file_report(item.model, "cutoff", outcome.results, details, saved, _statistics(outcome), remarks))
    return finish(arguments, files, loaded, started)


def _search(model: RelationalModel, arguments: argparse.Namespace) -> Outcome:
    if not model.safety:
        return Outcome(model)
    progress = Progress(arguments)
    try:
        return search(model, limits(arguments), Options(arguments.time), progress)
    except CompilerError as problem:
        raise UsageError(f"{model.source.path if model.source else ''}: {problem}") from None
    finally:
        progress.done()


def _details(outcome: Outcome) -> list[str]:
    details = ["\n".join(explained(found)) for found in outcome.found]
    for failed in outcome.failed:
        if failed.sort in outcome.unbounded:
            details.append("\n".join(_failed(outcome, failed)))
    return details + small_instance(outcome)


def _failed(outcome: Outcome, failed: Search) -> list[str]:
    """What was tried for a sort, and the most telling counterexample."""
    lines = [f"{failed.sort}: no cutoff found" + ("; tried" if failed.failures else " in the time there was")]
    tried = {
        f"  {failed.sort}={size}, {f'{failure.words}: ' if failure.words else ''}{failure.reason}": None
        for _, size, failure in failed.failures
    }
    lines += list(tried)[:MOST_ATTEMPTS]
    more = len(tried) - MOST_ATTEMPTS
    lines += [f"  and {more} more"] if more > 0 else []
    if not outcome.found and failed is outcome.failed[0]:
        for _, size, failure in failed.failures:
            shown = side_by_side(Pair(outcome.model, failed.sort, size), failure)
            if shown:
                return [*lines, f"  {failure.words}: {failure.reason}", *shown]
    return lines


def _statistics(outcome: Outcome) -> dict[str, Any]:
    return {
        "cutoffs": [
            {
                "sort": found.sort.name,
                "size": found.cutoff.size if found.cutoff else None,
                "queries": found.queries,
                "cpu_seconds": round(found.seconds, 3),
                "cases": [
                    {
                        "property": proof.case.property,
                        "candidate": proof.words,
                        "relation": clauses(proof.case),
                        "facts": facts(proof.case),
                        "lockstep": [name for name, _ in proof.case.moves],
                    }
                    for proof in found.proofs
                ],
            }
            for found in outcome.found
        ],
        "failed": {failed.sort.name: [f.reason for _, _, f in failed.failures] for failed in outcome.failed},
        "cutoff_cpu_seconds": round(outcome.cutoff_seconds, 3),
        "small_instance": outcome.verification.words if outcome.verification else None,
        "states": outcome.verification.states if outcome.verification else None,
        "vacuous": outcome.vacuous,
        "unbounded": [sort.name for sort in outcome.unbounded],
    }
