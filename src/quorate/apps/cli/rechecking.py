"""`quorate recheck`: one line per obligation, accepted only if both solvers agree on every one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from quorate.apps.cli.commands import UsageError
from quorate.apps.cli.reports import tool
from quorate.files import write_atomically
from quorate.lang import load_model
from quorate.models.forms import NoForm, relational_form
from quorate.models.relational import RelationalModel
from quorate.proof import liveness
from quorate.proof.certificates import CertificateError, from_json, load_document
from quorate.proof.checker import SOLVERS, Outcome, Section, discharge, sections


def run(arguments: argparse.Namespace) -> int:
    """Exit 0 if accepted, 1 if rejected, 3 if a solver gave no answer, 2 if the files cannot be used."""
    if not Path(arguments.certificate).is_file():
        raise UsageError(f"there is no file {arguments.certificate}")
    try:
        sections, proved = _sections(arguments)
        outcomes = []
        for outcome in discharge(sections, arguments.timeout, arguments.memory, arguments.jobs, bool(arguments.proofs)):
            outcomes.append(outcome)
            if arguments.output_format == "text":
                print(_line(outcome), flush=True)
            if arguments.proofs:
                _store(arguments.proofs, len(outcomes), outcome)
    except CertificateError as problem:
        print(
            _document(arguments, "rejected", str(problem), [])
            if arguments.output_format == "json"
            else f"rejected: {problem}"
        )
        return 1
    accepted = sum(outcome.accepted for outcome in outcomes)
    if accepted == len(outcomes):
        verdict, code = "accepted", 0
        reason = f"z3 and cvc5 discharge all {accepted} obligations; {proved}"
    elif any(outcome.refuted for outcome in outcomes):
        verdict, code, reason = "rejected", 1, f"{len(outcomes) - accepted} of {len(outcomes)} obligations do not hold"
    else:
        verdict, code = "undecided", 3
        reason = (
            f"{len(outcomes) - accepted} of {len(outcomes)} obligations had no answer in time; try a larger --timeout"
        )
    if arguments.output_format == "json":
        print(_document(arguments, verdict, reason, outcomes))
    else:
        print(f"{verdict}: {reason}")
    return code


def _sections(arguments: argparse.Namespace) -> tuple[list[Section], str]:
    """What the certificate, of safety or of liveness, has to show; and what follows from it, in words."""
    document = load_document(arguments.certificate)
    name = document.get("protocol") if isinstance(document, dict) else None
    path = arguments.protocol or str(Path(arguments.certificate).parent / Path(str(name)).name)
    if liveness.is_certificate(document):
        model = _model(path)
        found = liveness.read(model, document)
        names = ", ".join(item.argument.property for item in found.proved)
        assumed = [text for item in found.proved for text in liveness.assumptions(model, item.argument)]
        plain = "; ".join([f"{names} holds in every fair run, for {model.all_sizes}", *dict.fromkeys(assumed)])
        return liveness.sections(model, found), plain
    certificate, model = from_json(document), _model(path)
    others = [item.name for item in model.safety if item.name not in certificate.safety]
    unspoken = f" (it does not speak of {', '.join(others)})" if others else ""
    return sections(model, certificate), f"{', '.join(certificate.safety)} holds for {model.all_sizes}{unspoken}"


def _model(path: str) -> RelationalModel:
    """What the certificate speaks of."""
    try:
        return relational_form(load_model(path).model)
    except NoForm as problem:
        raise CertificateError(str(problem)) from None


def _line(outcome: Outcome) -> str:
    mark = "✓" if outcome.accepted else "✗" if outcome.refuted else "?"
    replies = ", ".join(
        f"{reply.backend} {reply.status}{f' ({reply.reason})' if reply.reason else ''}"
        for reply in map(outcome.replies.__getitem__, SOLVERS)
    )
    return f"  {mark} {outcome.obligation.name}: {replies}"


def _document(arguments: argparse.Namespace, verdict: str, reason: str, outcomes: list[Outcome]) -> str:
    rows: list[dict[str, Any]] = [
        {
            "obligation": outcome.obligation.name,
            "accepted": outcome.accepted,
            "replies": {solver: reply.status for solver, reply in sorted(outcome.replies.items())},
        }
        for outcome in outcomes
    ]
    document = {
        "tool": tool(),
        "command": "recheck",
        "certificate": arguments.certificate,
        "verdict": verdict,
        "reason": reason,
        "obligations": rows,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _store(folder: str, number: int, outcome: Outcome) -> None:
    """Save cvc5's proof of an obligation; say so if it has steps that cvc5 does not justify."""
    proof = next((reply.proof for reply in outcome.replies.values() if reply.proof), "")
    if not proof:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in outcome.obligation.name)[:80]
    write_atomically(Path(folder) / f"{number:03d}-{safe}.cpc", proof)
    if ":rule trust" in proof or "(trust" in proof:
        print(f"    the proof of {outcome.obligation.name} has steps that cvc5 does not justify", file=sys.stderr)
