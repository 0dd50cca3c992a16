"""What counts as a proof: a certificate that the independent checker has accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quorate.models.relational import RelationalModel
from quorate.proof.certificates import Certificate, CertificateError
from quorate.proof.verdicts import Result
from quorate.strategy.question import Finding, Lemma, Proof, Question, Tell

if TYPE_CHECKING:
    from quorate.proof.acceptance import AnyCertificate
    from quorate.proof.checker import Outcome

CHECKERS = 2
"""How many solvers the checker asks at once: what one does not answer, another may at once."""


def accepted(question: Question, certificate: AnyCertificate, tell: Tell) -> int | str:
    """How many obligations the independent checker discharged, all of them; or why it does not accept the certificate."""
    from quorate.proof.acceptance import examine

    limits, count = question.limits, 0

    def hear(outcome: Outcome) -> bool:
        nonlocal count
        count += outcome.accepted
        tell(f"re-checking the certificate: {count} obligations")
        return outcome.accepted

    try:
        model, jobs = question.whole or question.model, max(CHECKERS, limits.jobs)
        found = examine(model, certificate, limits.timeout, limits.memory_mb, jobs, hear)
    except CertificateError as problem:
        return f"the checker does not accept the proof that was found: {problem}"
    return count if found.accepted else f"the checker does not accept the proof that was found: {found.why_not}"


def checked(
    question: Question,
    certificate: Certificate,
    method: str,
    scope: str,
    lemmas: Sequence[Lemma],
    tell: Tell,
    found: bool = True,
    words: Sequence[str] = (),
) -> Finding:
    """The finding that a certificate proves what it speaks of, if the checker accepts it."""
    count = accepted(question, certificate, tell)
    if isinstance(count, str):
        return Finding(reason=count)
    reason = f"certificate re-checked: {count} obligation{'s' * (count != 1)}, two solvers"
    results = [
        Result(item.name, "safety", "proved", method, scope, reason, None, item.span)
        for item in question.model.safety
        if item.name in certificate.safety
    ]
    return Finding(tuple(results), Proof(certificate, count, tuple(lemmas), found, tuple(words)))


def needed_by(certificate: Certificate, transitions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each invariant, the transitions for which it is a hypothesis of some other claim."""
    needed: dict[str, dict[str, None]] = {}
    names = list(transitions)
    for obligation, used in certificate.hints.items():
        transition, found, claim = obligation.partition(" preserves ")
        if found and transition in names:
            for name in used:
                if name != claim:
                    needed.setdefault(name, {})[transition] = None
    return {name: tuple(found) for name, found in needed.items()}


def borrowed(question: Question, lender: RelationalModel, proof: Proof, tell: Tell) -> Finding:
    """What a proof of the same protocol, told with other lemmas or in another file, proves here: if the checker agrees."""
    model = question.model
    assert isinstance(model, RelationalModel)
    same = replace(lender, safety=model.safety, invariants=(), expectations=()) == replace(
        model, invariants=(), expectations=()
    )
    named = {item.name for item in model.safety} <= {item.name for item in lender.safety}
    if not same or not named or model.source is None or not isinstance(proof.certificate, Certificate):
        return Finding()
    certificate = replace(proof.certificate, protocol=Path(model.source.path).name, sha256=model.source.sha256)
    found = checked(question, certificate, "induction", model.all_sizes, proof.lemmas, tell, found=False)
    assert lender.source is not None
    origin = f"with the invariants of {lender.source.path}; " if proof.lemmas else ""
    return replace(found, results=tuple(replace(r, reason=origin + r.reason) for r in found.results))
