"""Methods for Mercury programs and round-based algorithms, each as a racer runs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quorate.models.forms import relational_form
from quorate.models.process import ProcessModel
from quorate.models.rounds import RoundModel
from quorate.proof.verdicts import Result, Verdict
from quorate.strategy.claims import checked, needed_by
from quorate.strategy.question import Finding, Lemma, Question, Tell, crowding


def phases(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Violations with few processes, then backward search over all numbers of them."""
    from quorate.logic.printing import show
    from quorate.methods.phases.verify import EVERY, METHOD
    from quorate.methods.phases.verify import verify as decide

    assert isinstance(question.model, ProcessModel)
    outcome = decide(question.model, question.seconds, tell)
    bad = tuple(
        replace(result, reason=result.reason.rpartition(", ")[2])
        for result in outcome.results
        if result.verdict == "violated"
    )
    searched = max(outcome.searched, default=0)
    established = f"no violation with up to {searched} processes" if searched else ""
    yield Finding(bad, established="" if bad else established)
    if outcome.certificate is not None:
        form = relational_form(question.model)
        needed = needed_by(outcome.certificate, (transition.name for transition in form.transitions))
        terms = outcome.certificate.invariant_terms(form)
        lemmas = [Lemma(name, show(term), needed.get(name, ())) for name, term in terms]
        scope = f"{EVERY}, cutoff {max(outcome.cutoffs.values(), default=1)}"
        yield checked(question, outcome.certificate, METHOD, scope, lemmas, tell, found=False)
    yield Finding(suggestions=tuple(result for result in outcome.results if result.verdict == "unknown"))


def quorums(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Proofs for every n, with lemmas that are given or found; if not of everything, of what needs the fewest of them."""
    from quorate.methods.heardof.prove import needs_univalence

    assert isinstance(question.model, RoundModel)
    found = list(_quorums(question, tell))
    yield from found
    easy = [item for item in question.model.safety if not needs_univalence(replace(question.model, safety=(item,)))]
    if easy and len(easy) < len(question.model.safety) and not any(finding.results for finding in found):
        part = question.only(item.name for item in easy)
        yield from (replace(finding, suggestions=()) for finding in _quorums(part, tell) if finding.results)


def _quorums(question: Question, tell: Tell) -> Iterator[Finding]:
    from quorate.lang.rounds.printer import show
    from quorate.methods.heardof.hunt import nobody_decides
    from quorate.methods.heardof.prove import METHOD, prove
    from quorate.models.evaluation import RoundsError

    assert isinstance(question.model, RoundModel)
    try:
        proof = prove(question.model, question.limits, tell)
        if proof.open and question.model.univalent is not None:
            other = prove(replace(question.model, univalent=None), question.limits, tell)
            proof = other if len(other.open) < len(proof.open) else proof
        if not proof.open and nobody_decides(question.model, question.limits.timeout):
            yield Finding(established="vacuously: with 2, 3 and 4 processes nobody decides in the first phases")
    except RoundsError as problem:
        yield Finding(reason=str(problem))
        return
    if proof.certificate is not None:
        names = {item.name for item in proof.proved}
        lemmas = [Lemma(name, show(formula)) for name, formula in proof.invariants if name in names]
        if proof.univalent is not None and "univalence" in names:
            lemmas.append(Lemma(f"univalent {proof.univalent[0]}", show(proof.univalent[1])))
        yield checked(question, proof.certificate, METHOD, "every n", lemmas, tell)
    left = "; ".join(f"left open in the proof: {text}" for text in proof.left_open)
    suggestions = []
    for item in proof.open:
        why, refuted = proof.why(item)
        verdict: Verdict = "not-inductive" if refuted else "unknown"
        span = next((named.span for named in question.model.safety if named.name == item.name), None)
        suggestions.append(Result(item.name, "safety", verdict, METHOD, "every n", why, None, span))
    yield Finding(reason=left, suggestions=tuple(suggestions))


def some_processes(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """All runs with two, three, .. processes."""
    from quorate.methods.heardof.hunt import hunt
    from quorate.models.evaluation import RoundsError

    assert isinstance(question.model, RoundModel)
    patience = (0.3,) if number == 0 else (1.0, 4.0, 20.0, question.seconds)
    longer = [crowding() * seconds for seconds in patience]
    try:
        for found in hunt(question.model, question.largest, longer, tell):
            if found.violated is not None:
                yield Finding((found.violated,))
            else:
                established = f"no violation in any run with up to {found.covered} processes"
                yield Finding(established=established, complete=found.covered == question.largest)
    except RoundsError as problem:
        yield Finding(reason=str(problem), complete=True)
