"""The independent checker: re-establishes a certificate from the protocol text, with two solvers, from scratch.

It shares no code with the methods that find proofs.  Obligations are built here in the plainest form, over two states
with the updates as equations, for invariants J1..Jn, axioms A (derived symbols' definitions included):

    initiation     A ∧ initial ∧ ¬Ji                                  for each i
    consecution    A ∧ A' ∧ J1 ∧ .. ∧ Jn ∧ guard ∧ updates ∧ ¬Ji'     for each i and each transition
    safety         A ∧ J1 ∧ .. ∧ Jn ∧ ¬S                              for each safety property S claimed

Each must be unsatisfiable according to z3 and according to cvc5.  Leaving out hypotheses can only make an obligation
harder to prove, so the hints of a certificate cannot make it accept anything false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quorate.engines.smt.backends import Reply, Task
from quorate.engines.smt.smtlib import Vocabulary
from quorate.engines.smt.workers import run
from quorate.logic.terms import Symbol, Term, neg
from quorate.logic.transform import rename_symbols, substitute, symbols_of
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.proof.certificates import Certificate, CertificateError

SOLVERS = ("z3", "cvc5")


@dataclass(frozen=True)
class Obligation:
    """Hypotheses and a negated claim that must be unsatisfiable together; `hint` may name hypotheses that suffice."""

    name: str
    hypotheses: tuple[Named, ...]
    negation: Term
    hint: tuple[str, ...] | None

    def hinted(self) -> tuple[Named, ...] | None:
        """The hypotheses that the hint names, besides the step itself."""
        if self.hint is None:
            return None
        wanted = set(self.hint)
        return tuple(item for item in self.hypotheses if item.name in wanted or item.name.startswith("step: "))


@dataclass(frozen=True)
class Outcome:
    """How one obligation fared with each solver."""

    obligation: Obligation
    replies: tuple[Reply, ...]

    @property
    def accepted(self) -> bool:
        return len(self.replies) == len(SOLVERS) and all(reply.status == "unsat" for reply in self.replies)

    @property
    def refuted(self) -> bool:
        return any(reply.status == "sat" for reply in self.replies)


def obligations(model: RelationalModel, certificate: Certificate) -> list[Obligation]:
    """Everything that has to hold for the certificate to be right."""
    if model.source is None or certificate.sha256 != model.source.sha256:
        raise CertificateError("the certificate belongs to another version of the protocol text (sha256 differs)")
    safety = {item.name: item for item in model.safety}
    if set(certificate.safety) != set(safety):
        raise CertificateError("the certificate does not speak of exactly the safety properties of the protocol")
    invariants = [Named(name, formula) for name, formula in certificate.invariant_terms(model)]
    if len({item.name for item in invariants}) != len(invariants):
        raise CertificateError("two invariants have the same name")
    for item in invariants:
        if item.formula.free or any(symbol.primes for symbol in symbols_of(item.formula)):
            raise CertificateError(f"{item.name} is not a closed formula about one state")
    background = tuple(model.background())
    found = [
        Obligation(name, (*background, *model.initial), neg(item.formula), certificate.hints.get(name))
        for item in invariants
        for name in [f"initially {item.name}"]
    ]
    for transition in model.transitions:
        found += _consecution(model, transition, invariants, certificate)
    for item in safety.values():
        name = f"invariants imply {item.name}"
        found.append(Obligation(name, (*background, *invariants), neg(item.formula), certificate.hints.get(name)))
    return found


def _consecution(
    model: RelationalModel, transition: Transition, invariants: Sequence[Named], certificate: Certificate
) -> Iterator[Obligation]:
    constants = {p: Symbol(f"@{p.name}", (), p.sort)() for p in transition.parameters}
    changed = transition.modified | model.derived_symbols

    def after(symbol: Symbol) -> Symbol:
        return symbol.at(1) if symbol in changed else symbol

    step = [Named("step: guard", substitute(transition.guard, constants))]
    step += [Named(f"step: {update.symbol}", substitute(update.formula(), constants)) for update in transition.updates]
    step += [
        Named(f"step: {item.symbol}", rename_symbols(item.formula, after))
        for item in model.derived
        if item.symbol.mutable
    ]
    hypotheses = (*model.background(), *step, *invariants)
    for item in invariants:
        touched = symbols_of(item.formula) & {symbol for symbol in changed if symbol.mutable}
        if touched:
            name = f"{transition.name} preserves {item.name}"
            negation = neg(rename_symbols(item.formula, after))
            yield Obligation(name, hypotheses, negation, certificate.hints.get(name))


def recheck(
    model: RelationalModel, certificate: Certificate, timeout: float, memory_mb: int, jobs: int, proofs: bool = False
) -> Iterator[Outcome]:
    """Discharge every obligation with every solver; yields the outcomes in order."""
    listed = obligations(model, certificate)
    tasks = [_task(obligation, solver, timeout, memory_mb, proofs) for obligation in listed for solver in SOLVERS]
    replies: dict[int, Reply] = {}
    shown = 0
    for number, _, reply in run(tasks, jobs):
        if reply.status != "unsat" and listed[number // len(SOLVERS)].hint is not None:
            full = replace(listed[number // len(SOLVERS)], hint=None)
            task = _task(full, SOLVERS[number % len(SOLVERS)], timeout, memory_mb, proofs)
            [(_, _, reply)] = run([task], 1)
        replies[number] = reply
        while all(shown * len(SOLVERS) + k in replies for k in range(len(SOLVERS))):
            yield Outcome(listed[shown], tuple(replies[shown * len(SOLVERS) + k] for k in range(len(SOLVERS))))
            shown += 1


def _task(obligation: Obligation, solver: str, timeout: float, memory_mb: int, proofs: bool) -> Task:
    vocabulary = Vocabulary()
    used = obligation.hinted()
    hypotheses = obligation.hypotheses if used is None else used
    texts = tuple(vocabulary.text(item.formula) for item in hypotheses)
    goal = vocabulary.text(obligation.negation)
    return Task(
        backend=solver,  # type: ignore[arg-type]
        declarations="\n".join(vocabulary.declarations),
        hypotheses=texts,
        goals=(goal,),
        timeout=timeout,
        memory_mb=memory_mb,
        proof=proofs and solver == "cvc5",
    )
