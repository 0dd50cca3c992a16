"""`verify --resume FILE`: what is settled is kept in a file, and not asked again while the text stays the same.

Nothing in the file is believed: certificates go through the checker again, and runs are replayed.
"""

from __future__ import annotations

from typing import Any

from quorate.models.forms import Model
from quorate.models.relational import RelationalModel
from quorate.proof import liveness
from quorate.proof.certificates import Certificate, CertificateError, from_json
from quorate.proof.itf import TraceFormatError, from_itf, to_itf
from quorate.proof.liveness import LivenessCertificate
from quorate.proof.traces import ReplayError, Trace, replay
from quorate.proof.verdicts import Result
from quorate.strategy import Answer, Finding, Lemma, Proof, Question, accepted, lively


def entry(model: Model, answer: Answer) -> dict[str, Any]:
    """What is settled about a model, in a form that can be established again."""
    runs = [
        {"method": result.method, "scope": result.scope, "reason": result.reason, "itf": to_itf(model, result.evidence)}
        for result in answer.results
        if isinstance(model, RelationalModel) and isinstance(result.evidence, Trace) and result.verdict == "violated"
    ]
    proofs = [
        {
            "method": next(r.method for r in answer.results if r.property in proof.properties),
            "scope": next(r.scope for r in answer.results if r.property in proof.properties),
            "certificate": proof.document(model),
            "found": proof.found,
            "words": list(proof.words),
            "lemmas": [[lemma.name, lemma.formula, list(lemma.needed_by)] for lemma in proof.lemmas],
        }
        for proof in answer.proofs
    ]
    return {"runs": runs, "proofs": proofs}


def known(question: Question, saved: dict[str, Any]) -> list[Finding]:
    """What of an entry still stands: runs that replay, certificates that the checker accepts."""
    model, found = question.model, []
    try:
        for item in saved["runs"]:
            if isinstance(model, RelationalModel):
                trace = from_itf(model, item["itf"])
                replay(model, trace)
                kind, named = _properties(model).get(trace.violated or "", ("", None))
                if trace.kind == "run" and named is not None:
                    how = (item["method"], item["scope"], item["reason"])
                    found.append(Finding((Result(named.name, kind, "violated", *how, trace, named.span),)))
        for item in saved["proofs"]:
            certificate: Certificate | LivenessCertificate
            if isinstance(model, RelationalModel) and liveness.is_certificate(item["certificate"]):
                certificate = liveness.read(model, item["certificate"])
            else:
                certificate = from_json(item["certificate"])
            count = accepted(question, certificate, lambda text: None)
            if isinstance(count, int):
                lemmas = tuple(Lemma(name, formula, tuple(needed)) for name, formula, needed in item["lemmas"])
                reason = f"certificate re-checked: {count} obligation{'s' * (count != 1)}, two solvers"
                proof = Proof(certificate, count, lemmas, item["found"], tuple(item["words"]))
                results = [
                    Result(named.name, kind, "proved", item["method"], item["scope"], reason, None, named.span)
                    for kind, named in _properties(model).values()
                    if named.name in proof.properties
                ]
                found.append(Finding(tuple(results), proof))
    except (KeyError, TypeError, ValueError, TraceFormatError, ReplayError, CertificateError):
        pass
    return found


def _properties(model: Model) -> dict[str, tuple[Any, Any]]:
    """The properties by name, each with its kind."""
    found: dict[str, tuple[Any, Any]] = {item.name: ("safety", item) for item in model.safety}
    return found | {item.name: ("liveness", item) for item in lively(model)}
