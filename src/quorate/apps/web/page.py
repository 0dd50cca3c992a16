"""The report: one self-contained page that opens offline, with everything it shows in it as data.

The scripts and styles are the files of `static`, joined; the page's policy admits these scripts and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate import __version__
from quorate.apps.cli.reports import Report, tool
from quorate.apps.web.traces import itf_text, trace_document
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.relational import RelationalModel
from quorate.proof.certificates import Certificate
from quorate.proof.verdicts import Result
from quorate.strategy import Answer, Proof, lively

if TYPE_CHECKING:
    from quorate.apps.cli.verifying import Verified

STATIC = Path(__file__).parent / "static"
SHARED = ("dom.js", "expression.js", "trace.js", "report.js")


def static(name: str) -> str:
    """The text of a file of the page."""
    return (STATIC / name).read_text(encoding="utf-8")


def report_page(done: Sequence[Verified], report: Report) -> str:
    """The page for some verified files."""
    files = [file_document(item.model, item.answer, item.report.expected) for item in done]
    return html({"version": __version__, "seconds": report.seconds, "files": files})


def file_document(model: Model, answer: Answer, expected: Sequence[str]) -> dict[str, Any]:
    """Everything that the page shows about one file."""
    assert model.source is not None
    return {
        "path": model.source.path,
        "source": model.source.text,
        "sha256": model.source.sha256,
        "seconds": answer.seconds,
        "results": [_result(model, result, wanted) for result, wanted in zip(answer.results, expected, strict=True)],
        "proofs": [_proof(model, proof) for proof in answer.proofs],
        "established": list(answer.established),
        "warnings": [remark.text for remark in answer.remarks],
        "story": [
            {"seconds": event.seconds, "method": event.method, "event": event.kind, "text": event.text}
            for event in answer.events
        ],
    }


def _result(model: Model, result: Result, expected: str) -> dict[str, Any]:
    trace = trace_document(model, result)
    return {
        "property": result.property,
        "verdict": result.verdict,
        "expected": expected,
        "method": result.method,
        "scope": result.scope,
        "reason": result.reason,
        "seconds": result.seconds,
        "line": result.span.line if result.span else None,
        "formula": _formula(model, result.property),
        "trace": trace,
        "itf": itf_text(model, result),
    }


def _formula(model: Model, name: str) -> str:
    item = next((item for item in model.safety if item.name == name), None)
    for promise in lively(model):
        if promise.name == name:
            return f"{promise.trigger} ~> {promise.goal}"
    if isinstance(model, RelationalModel):
        return str(item.formula) if item is not None and hasattr(item, "formula") else ""
    if isinstance(model, ProcessModel) and item is not None:
        from quorate.lang.mercury.printer import print_specification

        return print_specification(item.specification)  # type: ignore[union-attr]
    return ""


def _proof(model: Model, proof: Proof) -> dict[str, Any]:
    certificate = proof.certificate
    parts = [certificate] if isinstance(certificate, Certificate) else [item.proof for item in certificate.proved]
    return {
        "properties": list(proof.properties),
        "obligations": proof.obligations,
        "sha256": certificate.sha256,
        "solvers": tool()["solvers"],
        "invariants": sum(len(part.invariants) for part in parts if part),
        "refutations": sum(len(part.refutations) for part in parts if part),
        "certificate": proof.document(model),
        "words": list(proof.words),
        "lemmas": [
            {"name": lemma.name, "formula": lemma.formula, "needed_by": list(lemma.needed_by)} for lemma in proof.lemmas
        ],
    }


def _script(names: Iterable[str]) -> str:
    return "\n".join(static(name) for name in names)


def policy(scripts: Iterable[str], live: bool) -> str:
    """What a page with these scripts may do: run them and nothing else; and, if it is live, talk to its server."""
    digest = base64.b64encode(hashlib.sha256(_script(scripts).encode()).digest()).decode()
    parts = [
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "connect-src 'self'" if live else "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(parts)


def html(
    data: dict[str, Any],
    scripts: Iterable[str] = (*SHARED, "report_main.js"),
    title: str = "Quorate report",
    live: bool = False,
) -> str:
    """The page around some data; a live one may talk to the server it comes from."""
    listed = tuple(scripts)
    embedded = (
        json.dumps(data, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(listed, live)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{static('page.css')}</style>\n</head>\n<body>\n"
        f'<script type="application/json" id="data">{embedded}</script>\n<script>{_script(listed)}</script>\n</body>\n</html>\n'
    )
