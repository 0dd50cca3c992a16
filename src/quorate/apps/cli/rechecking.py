"""`quorate recheck`: one line per obligation, accepted only if both solvers agree on every one, and the plain reading too."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorate.apps.cli.commands import UsageError
from quorate.apps.cli.reports import remark_json, tool
from quorate.engines.smt.session import Limits
from quorate.files import write_atomically
from quorate.lang import load_model
from quorate.models.forms import Model
from quorate.models.relational import Named
from quorate.proof import liveness
from quorate.proof.acceptance import AnyCertificate, Examination, examine, form_of
from quorate.proof.certificates import Certificate, CertificateError, from_json, load_document
from quorate.proof.checker import SOLVERS, Outcome
from quorate.proof.vacuity import Remark


def run(arguments: argparse.Namespace) -> int:
    """Exit 0 if accepted, 1 if rejected, 3 if a solver gave no answer, 2 if the files cannot be used."""
    if not Path(arguments.certificate).is_file():
        raise UsageError(f"there is no file {arguments.certificate}")
    text, count = arguments.output_format == "text", 0

    def hear(outcome: Outcome) -> bool:
        nonlocal count
        count += 1
        if text:
            print(_line(outcome), flush=True)
        if arguments.proofs:
            _store(arguments.proofs, count, outcome)
        return True

    try:
        certificate, model, proved = _read(arguments)
        limits = (arguments.timeout, arguments.memory, arguments.jobs)
        found = examine(model, certificate, *limits, hear, bool(arguments.proofs))
        remarks = _remarks(model, certificate, Limits(*limits)) if found.accepted else ()
    except CertificateError as problem:
        print(f"rejected: {problem}" if text else _document(arguments, "rejected", str(problem)))
        return 1
    verdict, code, reason = _verdict(found, proved)
    if text:
        if found.opinion is not None and found.opinion.objection is None:
            print(f"  {'?' if found.opinion.excuse else '✓'} {found.opinion}")
        for remark in remarks:
            print(f"  ! {remark.text}")
        print(f"{verdict}: {reason}")
    else:
        print(_document(arguments, verdict, reason, found, remarks))
    return code


def _remarks(model: Model, certificate: AnyCertificate, limits: Limits) -> tuple[Remark, ...]:
    """What makes the certificate say less than it seems to; raises `CertificateError` if it assumes what no run does."""
    from quorate.methods import vacuity

    form = form_of(model)
    if isinstance(certificate, Certificate):
        names = certificate.safety
        terms = [] if certificate.cutoffs else certificate.invariant_terms(form)
        known = [Named(name, formula) for name, formula in terms]
        known += [item for item in form.safety if item.name in names]
    else:
        names, known = tuple(item.argument.property for item in certificate.proved), []
    for name in names:
        if (nothing := vacuity.spoiled(model, name, known)) is not None:
            raise CertificateError(f"{name}: {nothing}")
    return vacuity.examine(model, known, limits)


def _verdict(found: Examination, proved: str) -> tuple[str, int, str]:
    """The verdict, the exit code, and the reason."""
    total, left = len(found.outcomes), len(found.open)
    if found.accepted:
        return "accepted", 0, f"z3 and cvc5 discharge all {total} obligations; {proved}"
    if not left:
        return "rejected", 1, found.why_not
    if any(outcome.refuted for outcome in found.outcomes):
        return "rejected", 1, f"{left} of {total} obligations do not hold"
    return "undecided", 3, f"{left} of {total} obligations had no answer in time; try a larger --timeout"


def _read(arguments: argparse.Namespace) -> tuple[AnyCertificate, Model, str]:
    """The certificate, of safety or of liveness, what it is about, and what follows from it, in words."""
    document = load_document(arguments.certificate)
    name = document.get("protocol") if isinstance(document, dict) else None
    path = arguments.protocol or str(Path(arguments.certificate).parent / Path(str(name)).name)
    if liveness.is_certificate(document):
        model = load_model(path).model
        form = form_of(model)
        found = liveness.read(form, document)
        names = ", ".join(item.argument.property for item in found.proved)
        assumed = [text for item in found.proved for text in liveness.assumptions(form, item.argument)]
        plain = "; ".join([f"{names} holds in every fair run, for {form.all_sizes}", *dict.fromkeys(assumed)])
        return found, model, plain
    certificate = from_json(document)
    model = load_model(path).model
    others = [item.name for item in model.safety if item.name not in certificate.safety]
    unspoken = f" (it does not speak of {', '.join(others)})" if others else ""
    scope = form_of(model).all_sizes
    return certificate, model, f"{', '.join(certificate.safety)} holds for {scope}{unspoken}"


def _line(outcome: Outcome) -> str:
    mark = "✓" if outcome.accepted else "✗" if outcome.refuted else "?"
    replies = ", ".join(
        f"{reply.backend} {reply.status}{f' ({reply.reason})' if reply.reason else ''}"
        for reply in map(outcome.replies.__getitem__, SOLVERS)
    )
    return f"  {mark} {outcome.obligation.name}: {replies}"


def _document(
    arguments: argparse.Namespace,
    verdict: str,
    reason: str,
    found: Examination | None = None,
    remarks: Sequence[Remark] = (),
) -> str:
    rows: list[dict[str, Any]] = [
        {
            "obligation": outcome.obligation.name,
            "accepted": outcome.accepted,
            "replies": {solver: reply.status for solver, reply in sorted(outcome.replies.items())},
        }
        for outcome in (found.outcomes if found else ())
    ]
    document = {
        "tool": tool(),
        "command": "recheck",
        "certificate": arguments.certificate,
        "verdict": verdict,
        "reason": reason,
        "obligations": rows,
        "second_opinion": str(found.opinion) if found and found.opinion else "",
        "warnings": [remark_json(arguments.protocol or "", remark) for remark in remarks],
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
