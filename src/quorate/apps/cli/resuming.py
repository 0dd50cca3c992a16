"""`verify --resume FILE`: what is settled is kept in a file, and not asked again while the text stays the same.

Nothing in the file is believed, and nothing of it is shown as it stands: certificates go through the checker again, runs are
replayed, and what is said about them is made from what was checked.
"""

from __future__ import annotations

import re
from typing import Any

from quorate.lang.diagnostics import LanguageError
from quorate.lang.extend import print_formulas
from quorate.logic.printing import show
from quorate.logic.terms import Quantified, Term, Var
from quorate.logic.transform import substitute
from quorate.models.forms import Model, NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.relational import RelationalModel
from quorate.proof import liveness
from quorate.proof.certificates import MALFORMED, Certificate, CertificateError, from_json
from quorate.proof.itf import TraceFormatError, from_itf, to_itf
from quorate.proof.liveness import LivenessCertificate
from quorate.proof.traces import ReplayError, Trace, replay
from quorate.proof.verdicts import Result
from quorate.strategy import Answer, Finding, Lemma, Proof, Question, accepted, lively

METHOD = "saved"
"""How a property was settled of which the file holds a run or a certificate: how these were found is not known."""

_BROKEN = (*MALFORMED, TraceFormatError, ReplayError, CertificateError, LanguageError, NoForm)


def entry(model: Model, answer: Answer) -> dict[str, Any]:
    """What is settled about a model, in a form that can be established again."""
    runs = [
        {"itf": to_itf(model, result.evidence)}
        for result in answer.results
        if isinstance(model, RelationalModel) and isinstance(result.evidence, Trace) and result.verdict == "violated"
    ]
    return {"runs": runs, "proofs": [{"certificate": proof.document(model)} for proof in answer.proofs]}


def known(question: Question, saved: dict[str, Any]) -> list[Finding]:
    """What of an entry still stands: runs that replay, certificates that the checker accepts."""
    found: list[Finding | None] = []
    for kind, establish in (("runs", _run), ("proofs", _proof)):
        listed = saved.get(kind)
        for item in listed if isinstance(listed, list) else ():
            try:
                found.append(establish(question, item))
            except _BROKEN:
                continue
    return [finding for finding in found if finding is not None]


def _run(question: Question, item: Any) -> Finding | None:
    """The finding that a run violates a property, once it has been replayed."""
    model = question.model
    if not isinstance(model, RelationalModel):
        return None
    trace = from_itf(model, item["itf"])
    replay(model, trace)
    kind, named = _properties(model).get(trace.violated or "", ("", None))
    if trace.kind != "run" or named is None:
        return None
    sizes = trace.states[0].sizes
    scope = ", ".join(f"{sort}={sizes[sort]}" for sort in model.sorts if sort in sizes) or "the only size"
    steps = len(trace.steps)
    reason = f"violated after {steps} step{'s' * (steps != 1)}"
    return Finding((Result(named.name, kind, "violated", METHOD, scope, reason, trace, named.span),))


def _proof(question: Question, item: Any) -> Finding | None:
    """The finding that a certificate proves what it speaks of, once the checker has accepted it."""
    model = question.model
    certificate: Certificate | LivenessCertificate
    if isinstance(model, RelationalModel) and liveness.is_certificate(item["certificate"]):
        certificate = liveness.read(model, item["certificate"])
    else:
        certificate = from_json(item["certificate"])
    count = accepted(question, certificate, lambda text: None)
    if not isinstance(count, int):
        return None
    reasons = [f"certificate re-checked: {count} obligation{'s' * (count != 1)}, two solvers"]
    lemmas: tuple[Lemma, ...] = ()
    words: list[str] = []
    if isinstance(certificate, LivenessCertificate):
        assert isinstance(model, RelationalModel)
        scope = model.all_sizes
        for proved in certificate.proved:
            reasons[:0] = ["in every fair run", *liveness.assumptions(model, proved.argument)]
            words.append(f"{proved.argument.property}: a ranking in {len(proved.argument.stages)} stages")
    else:
        scope = _scope(model, certificate)
        words += [
            f"{cutoff['sort']}: {cutoff['size']} element{'s' * (cutoff['size'] != 1)} show every violation"
            for cutoff in certificate.cutoffs
        ]
        lemmas = () if certificate.cutoffs else _lemmas(model, certificate)
    proof = Proof(certificate, count, lemmas, isinstance(model, RelationalModel), tuple(words))
    reason = "; ".join(dict.fromkeys(reasons))
    results = [
        Result(named.name, kind, "proved", METHOD, scope, reason, None, named.span)
        for kind, named in _properties(model).values()
        if named.name in proof.properties
    ]
    return Finding(tuple(results), proof)


def _scope(model: Model, certificate: Certificate) -> str:
    """What a certificate that was accepted holds for."""
    if not isinstance(model, RelationalModel):
        return "every number of processes" if isinstance(model, ProcessModel) else "every n"
    sizes = ", ".join(f"{cutoff['sort']}={cutoff['size']}" for cutoff in certificate.cutoffs)
    return f"{model.all_sizes}, cutoff {sizes}" if sizes else model.all_sizes


def _lemmas(model: Model, certificate: Certificate) -> tuple[Lemma, ...]:
    """The invariants of a certificate, printed from what was read; names that are no plain words are replaced."""
    listed = [pair for pair in certificate.invariant_terms(relational_form(model)) if pair[0] not in certificate.safety]
    texts = _texts(model, [_renamed(term) for _, term in listed])
    names = [
        name if re.fullmatch(r"[A-Za-z0-9_.]{1,60}", name) else f"lemma_{i}" for i, (name, _) in enumerate(listed, 1)
    ]
    return tuple(Lemma(name, text) for name, text in zip(names, texts, strict=True))


def _renamed(term: Term, depth: int = 1) -> Term:
    """The term with variables named by us."""
    if isinstance(term, Quantified):
        ours = tuple(Var(f"X{number}", v.sort) for number, v in enumerate(term.variables, depth))
        body = substitute(term.body, dict(zip(term.variables, ours, strict=True)))
        return type(term)(ours, _renamed(body, depth + len(ours)))
    return term.rebuild(tuple(_renamed(child, depth) for child in term.children))


def _texts(model: Model, terms: list[Term]) -> list[str]:
    try:
        return print_formulas(model, terms) if isinstance(model, RelationalModel) else list(map(show, terms))
    except LanguageError:
        return list(map(show, terms))


def _properties(model: Model) -> dict[str, tuple[Any, Any]]:
    """The properties by name, each with its kind."""
    found: dict[str, tuple[Any, Any]] = {item.name: ("safety", item) for item in model.safety}
    return found | {item.name: ("liveness", item) for item in lively(model)}
