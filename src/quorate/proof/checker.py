"""The independent checker: re-establishes a certificate from the protocol text, with two solvers, from scratch.

It shares no code with the methods that find proofs.  Suppose a run reaches a state that violates a safety property, for
the first time.  For invariants J = J1 ∧ .. ∧ Jn, axioms and definitions A, safety properties S = S1 ∧ .. ∧ Sm, and each
transition with its guard and updates, these must be unsatisfiable, according to z3 and according to cvc5 (S are the
safety properties that the certificate speaks of: others of the protocol are neither used nor shown):

    initiation     A ∧ initial ∧ ¬Ji                       for each i
    consecution    A ∧ J ∧ S ∧ guard ∧ ¬Ji[updates]        for each i and each transition
    safety         A ∧ J ∧ ¬Si                             for each i without a refutation

A certificate may go from the guard to the claim by way of cuts C1, C2, .., facts about a step of the transition:

    cut            A ∧ J ∧ S ∧ guard ∧ C1 ∧ .. ∧ Ci-1 ∧ ¬Ci; then C1, C2, .. may be used for consecution

A cut may also be a definition, ∀X. p(X) <-> F(X) for a new predicate p, which needs no proof: p can always be chosen so.

So the invariants hold in all states of the run.  A refutation of Si names elements, by constants c, that a violation of Si
speaks of, and builds up formulas K(c) that hold in all states of the run, by steps; each step adds formulas F1, F2, ..
(their conjunction is F) and goes forwards from the first state or backwards from the last:

    coverage       A ∧ J ∧ ¬Si ∧ ∀c. ¬bad(c), for all its refutations at once
    forward        A ∧ J ∧ K ∧ initial ∧ ¬Fi,     A ∧ J ∧ S ∧ K ∧ F ∧ guard ∧ J[updates] ∧ K[updates] ∧ ¬Fi[updates]
    backward       A ∧ J ∧ K ∧ bad(c) ∧ ¬Fi,      A ∧ J ∧ S ∧ K ∧ guard ∧ (J ∧ K ∧ F)[updates] ∧ ¬Fi
    end            A ∧ J ∧ K ∧ initial            or A ∧ J ∧ K ∧ bad(c)

Where a certificate holds cutoffs, it has to show first that the violations of the protocol show in a small instance (`cutoffs`),
and all of the above is about that instance.

F[updates] is F with every changed symbol replaced by its new value.  Leaving out hypotheses can only make an obligation
harder to prove, and so can replacing a negated claim by instances of it (`logic/instances`); so the hints of a certificate,
which name hypotheses and terms to put in (`witness ..`), save time but cannot make the checker accept anything false.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from quorate.engines.smt.backends import OTHER_WAYS, Option, Question, Reply, Task
from quorate.engines.smt.smtlib import Vocabulary
from quorate.engines.smt.workers import race, run
from quorate.logic import sexpr
from quorate.logic.instances import instances
from quorate.logic.terms import BOOL, TRUE, Forall, Symbol, Term, Var, conj, equal, exists, forall, neg
from quorate.logic.transform import conjuncts, replace_symbols, substitute, symbols_of
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.proof.certificates import Certificate, CertificateError, Refutation
from quorate.proof.cutoffs import Obligations, opened
from quorate.proof.wellformed import expanded, require_wellformed

SOLVERS = ("z3", "cvc5")
_GUARD = re.compile("guard [0-9]+")
"""How the parts of a guard are named among the hypotheses."""
FIRST_SECONDS = 1.5
"""How long a solver may take over an obligation before it is asked in other ways and with more patience."""


@dataclass(frozen=True)
class Obligation:
    """A negated claim that must be unsatisfiable with its section's hypotheses; a hint may name some that suffice."""

    name: str
    negation: Term
    hint: tuple[str, ...] | None


@dataclass(frozen=True)
class Section:
    """Obligations that share hypotheses: those about the initial states, about one transition, or about safety."""

    hypotheses: tuple[Named, ...]
    obligations: tuple[Obligation, ...]


@dataclass
class Outcome:
    """How one obligation fared with each solver."""

    obligation: Obligation
    replies: dict[str, Reply] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        return all(solver in self.replies and self.replies[solver].status == "unsat" for solver in SOLVERS)

    @property
    def refuted(self) -> bool:
        return any(reply.status == "sat" for reply in self.replies.values())


def sections(model: RelationalModel, certificate: Certificate) -> list[Section]:
    """Everything that has to hold for the certificate to be right; raises `CertificateError` if it makes no sense."""
    try:
        return _sections(model, certificate)
    except RecursionError:
        raise CertificateError("a formula is nested too deeply") from None


def _sections(model: RelationalModel, certificate: Certificate) -> list[Section]:
    if model.source is None or certificate.sha256 != model.source.sha256:
        raise CertificateError("the certificate belongs to another version of the protocol text (sha256 differs)")
    if not certificate.safety or not set(certificate.safety) <= {item.name for item in model.safety}:
        raise CertificateError("the certificate does not speak of safety properties of the protocol")
    require_wellformed(model)
    model = replace(model, safety=tuple(item for item in model.safety if item.name in certificate.safety))
    hints = certificate.hints

    def obligation(name: str, negation: Term) -> Obligation:
        return Obligation(name, negation, hints.get(name))

    found: list[Section] = []
    for document in certificate.cutoffs:
        pair, cutoff = opened(model, document)
        for group in Obligations(pair).all(cutoff.cases):
            claims = tuple(obligation(claim.name, claim.negation) for claim in group.claims)
            found.append(Section(group.hypotheses, claims))
        model = pair.small
        require_wellformed(model)
    invariants = _invariants(model, certificate)
    background = tuple(model.background())

    if not {cut.transition for cut in certificate.cuts} <= {transition.name for transition in model.transitions}:
        raise CertificateError("a cut is about something that is not a transition")
    refuted = {refutation.property for refutation in certificate.refutations}
    if not refuted <= set(certificate.safety):
        raise CertificateError("a refutation is about something that is not a safety property")
    safety = tuple(item for item in model.safety if item.name not in {known.name for known in invariants})
    initially = [obligation(f"initially {item.name}", neg(item.formula)) for item in invariants]
    found.append(Section((*background, *model.initial), tuple(initially)))
    for transition in model.transitions:
        constants, guard = _instance(transition)
        preserved = [
            obligation(f"{transition.name} preserves {item.name}", neg(substitute(after, constants)))
            for item in invariants
            for after in [_after(model, transition, item.formula)]
            if after is not None
        ]
        known = [*background, *guard, *invariants, *safety]
        for cut, defines in _cuts(model, transition, certificate):
            if not defines:
                claim = obligation(f"in {transition.name}: {cut.name}", neg(cut.formula))
                found.append(Section(tuple(known), (claim,)))
            known.append(cut)
        found.append(Section(tuple(known), tuple(preserved)))
    implied = [
        obligation(f"invariants imply {item.name}", neg(item.formula))
        for item in model.safety
        if item.name not in refuted
    ]
    found.append(Section((*background, *invariants), tuple(implied)))
    for item in model.safety:
        if item.name in refuted:
            mine = [refutation for refutation in certificate.refutations if refutation.property == item.name]
            found += _Refuting(model, item, mine, invariants, safety, obligation).sections()
    return found


def _instance(transition: Transition) -> tuple[dict[Var, Term], list[Named]]:
    """A constant for each parameter of a transition, and its guard for these."""
    constants: dict[Var, Term] = {p: Symbol(f"@{p.name}", (), p.sort)() for p in transition.parameters}
    parts = conjuncts(substitute(transition.guard, constants))
    return constants, [Named(f"guard {number}", part) for number, part in enumerate(parts, 1)]


class _Refuting:
    """What has to hold for the refutations of one safety property."""

    def __init__(
        self,
        model: RelationalModel,
        item: Named,
        refutations: Sequence[Refutation],
        invariants: Sequence[Named],
        safety: Sequence[Named],
        obligation: Callable[[str, Term], Obligation],
    ) -> None:
        self.model, self.item, self.refutations = model, item, refutations
        self.invariants, self.safety, self.obligation = tuple(invariants), tuple(safety), obligation
        self.background = tuple(model.background())

    def sections(self) -> list[Section]:
        missed: list[Term] = [neg(self.item.formula)]
        found: list[Section] = []
        for number, refutation in enumerate(self.refutations, 1):
            constants = self._constants(refutation)
            bad = self._read(refutation.bad, constants)
            variables = {constant: Var(constant.name, constant.sort) for constant in constants}
            anywhere = replace_symbols(bad, {constant: ((), variable) for constant, variable in variables.items()})
            missed.append(neg(exists(variables.values(), anywhere)))
            found += self._refutation(f"refutation {number} of {self.item.name}", refutation, constants, bad)
        covered = self.obligation(f"refutations cover {self.item.name}", conj(*missed))
        return [Section((*self.background, *self.invariants), (covered,)), *found]

    def _constants(self, refutation: Refutation) -> list[Symbol]:
        sorts = {sort.name: sort for sort in self.model.sorts}
        taken = {symbol.name for symbol in self.model.symbols} | {e for sort in self.model.sorts for e in sort.elements}
        taken |= {choice.name for transition in self.model.transitions for choice in transition.choices}
        constants = []
        for name, sort in refutation.constants:
            if sort not in sorts or name in taken or name.startswith("@"):
                raise CertificateError(f"{name}: {sort} cannot be a constant of a refutation")
            taken.add(name)
            constants.append(Symbol(name, (), sorts[sort]))
        return constants

    def _read(self, text: str, constants: Sequence[Symbol]) -> Term:
        try:
            formula = sexpr.read(text, self.model.sorts, (*self.model.symbols, *constants))
        except sexpr.SexprError as problem:
            raise CertificateError(f"a refutation cannot be read: {problem}") from None
        _require_closed("a formula of a refutation", formula)
        return formula

    def _refutation(
        self, title: str, refutation: Refutation, constants: Sequence[Symbol], bad: Term
    ) -> Iterator[Section]:
        known: list[Named] = []
        ends = {"initial": self.model.initial, "violation": (Named("violation", bad),)}
        for step in refutation.steps:
            new = [Named(name, self._read(text, constants)) for name, text in step.formulas]
            names = [item.name for item in (*self.invariants, *self.safety, *known, *new)]
            if len(set(names)) != len(names) or any(name.endswith("'") for name in names):
                raise CertificateError(f"{title}: two formulas have the same name, or a name ends with a prime")
            forward = step.direction == "forward"
            begin = ends["initial" if forward else "violation"]
            where = "initially" if forward else "finally"
            yield Section(
                (*self.background, *begin, *self.invariants, *known),
                tuple(self.obligation(f"{title}: {where} {item.name}", neg(item.formula)) for item in new),
            )
            for transition in self.model.transitions:
                yield self._step(title, transition, known, new, forward)
            known += new
        last = self.obligation(f"{title}: nothing is left", TRUE)
        yield Section((*self.background, *ends[refutation.end], *self.invariants, *known), (last,))

    def _step(
        self, title: str, transition: Transition, known: Sequence[Named], new: Sequence[Named], forward: bool
    ) -> Section:
        """The new formulas are carried over a transition, from the state before to the one after, or back."""
        constants, guard = _instance(transition)
        after = {item.name: _after(self.model, transition, item.formula) for item in (*self.invariants, *known, *new)}

        def later(items: Sequence[Named]) -> list[Named]:
            found = [(item, after[item.name]) for item in items]
            return [Named(f"{i.name}'", substitute(term, constants)) for i, term in found if term is not None]

        hypotheses = [
            *self.background,
            *guard,
            *self.invariants,
            *self.safety,
            *known,
            *later((*self.invariants, *known)),
        ]
        obligations = []
        for item in new:
            term = after[item.name]
            if term is not None:
                claim = substitute(term, constants) if forward else item.formula
                name = f"{title}: {transition.name} {'preserves' if forward else 'comes from'} {item.name}"
                obligations.append(self.obligation(name, neg(claim)))
        unchanged = [item for item in new if after[item.name] is None]
        hypotheses += new if forward else [*unchanged, *later(new)]
        return Section(tuple(hypotheses), tuple(obligations))


def _invariants(model: RelationalModel, certificate: Certificate) -> list[Named]:
    invariants = [Named(name, formula) for name, formula in certificate.invariant_terms(model)]
    if len({item.name for item in invariants}) != len(invariants):
        raise CertificateError("two invariants have the same name")
    for item in invariants:
        _require_closed(item.name, item.formula)
    return invariants


def _cuts(model: RelationalModel, transition: Transition, certificate: Certificate) -> Iterator[tuple[Named, bool]]:
    """The cuts of a transition, and which of them are definitions."""
    symbols = [*model.symbols, *transition.choices]
    taken = {symbol.name for symbol in symbols} | {element for sort in model.sorts for element in sort.elements}
    for cut in certificate.cuts:
        if cut.transition != transition.name:
            continue
        if transition.parameters:
            raise CertificateError(f"{transition.name} has parameters, which cuts cannot speak of")
        try:
            formula = sexpr.read(cut.formula, model.sorts, symbols)
        except sexpr.SexprError as problem:
            raise CertificateError(f"a cut cannot be read: {problem}") from None
        _require_closed(cut.name, formula)
        if not cut.defines:
            yield Named(cut.name, formula), False
        elif isinstance(formula, Forall) and cut.name not in taken and not cut.name.startswith("@"):
            arguments, others = formula.variables[: cut.defines], formula.variables[cut.defines :]
            symbol = Symbol(cut.name, tuple(variable.sort for variable in arguments), BOOL)
            symbols.append(symbol)
            taken.add(cut.name)
            definition = forall(arguments, equal(symbol(*arguments), forall(others, formula.body)))
            yield Named(f"definition of {cut.name}", definition), True
        else:
            raise CertificateError(f"{cut.name} cannot be defined so")


def _require_closed(name: str, formula: Term) -> None:
    if formula.free or any(symbol.primes for symbol in symbols_of(formula)):
        raise CertificateError(f"{name} is not a closed formula about one state")


def _after(model: RelationalModel, transition: Transition, formula: Term) -> Term | None:
    """The formula in the state after the transition, in terms of the state before.

    None if nothing in it changes: without its definitions, it speaks of no symbol that the transition gives a new value.
    """
    formula = expanded(model, formula)
    changed = {update.symbol: (update.variables, update.value) for update in transition.updates}
    return None if symbols_of(formula).isdisjoint(changed) else replace_symbols(formula, changed)


def recheck(
    model: RelationalModel, certificate: Certificate, timeout: float, memory_mb: int, jobs: int, proofs: bool = False
) -> Iterator[Outcome]:
    """Discharge every obligation of a certificate with every solver; yields the outcomes in order."""
    yield from discharge(sections(model, certificate), timeout, memory_mb, jobs, proofs)


def check_theorems(model: RelationalModel, timeout: float, memory_mb: int, jobs: int) -> Iterator[Outcome]:
    """The theorems of a protocol, which follow from its axioms alone, in their order."""
    listed = [
        Section(tuple(model.background(item.states)), (Obligation(item.name, neg(item.formula), None),))
        for item in model.theorems
    ]
    yield from discharge(listed, timeout, memory_mb, jobs, False)


def discharge(
    listed: Sequence[Section], timeout: float, memory_mb: int, jobs: int, proofs: bool = False
) -> Iterator[Outcome]:
    """Discharge every obligation with every solver; yields the outcomes in order."""
    try:
        prepared = [(_Prepared(section, memory_mb, proofs), solver) for section in listed for solver in SOLVERS]
    except RecursionError:
        raise CertificateError("a formula is nested too deeply") from None
    outcomes = [[Outcome(obligation) for obligation in section.obligations] for section in listed]
    waiting = deque(outcome for row in outcomes for outcome in row)
    tasks = [item.first(solver, min(FIRST_SECONDS, timeout)) for item, solver in prepared]
    for number, index, reply in run(tasks, jobs):
        item, solver = prepared[number]
        if reply.status != "unsat":
            reply = item.again(solver, index, reply, timeout, jobs)
        outcomes[number // len(SOLVERS)][index].replies[solver] = reply
        while waiting and len(waiting[0].replies) == len(SOLVERS):
            yield waiting.popleft()


class _Prepared:
    """A section as SMT-LIB text, and the tasks that ask about it."""

    def __init__(self, section: Section, memory_mb: int, proofs: bool) -> None:
        vocabulary = Vocabulary()
        self.hypotheses = tuple(vocabulary.text(item.formula) for item in section.hypotheses)
        self.goals = tuple(vocabulary.text(obligation.negation) for obligation in section.obligations)
        self.declarations = "\n".join(vocabulary.declarations)
        self.hinted = [_named(section.hypotheses, obligation.hint) for obligation in section.obligations]
        self.section = section
        self.memory_mb = memory_mb
        self.proofs = proofs

    def _task(
        self, solver: str, timeout: float, questions: Sequence[Question], options: tuple[Option, ...] = ()
    ) -> Task:
        return Task(
            backend=solver,  # type: ignore[arg-type]
            declarations=self.declarations,
            hypotheses=self.hypotheses,
            questions=tuple(questions),
            timeout=timeout,
            memory_mb=self.memory_mb,
            options=options,
            proof=self.proofs and solver == "cvc5",
            processor_time=True,
        )

    def first(self, solver: str, timeout: float) -> Task:
        """Every obligation, with the hinted hypotheses."""
        return self._task(solver, timeout, [Question(g, h) for g, h in zip(self.goals, self.hinted, strict=True)])

    def again(self, solver: str, index: int, reply: Reply, timeout: float, jobs: int) -> Reply:
        """One obligation with growing patience and in other ways.

        Other settings of the same solver, terms put in that the hint names, all hypotheses instead of the hint's.
        """
        goal, hint = self.goals[index], self.hinted[index]
        if hint is None and reply.status == "sat":
            return reply
        whole = self._task(solver, timeout, [Question(goal)])
        hinted = self._task(solver, timeout, [Question(goal, hint)])
        ways = [(whole, 1.0)] if hint is None or reply.status == "sat" else [(hinted, 1.0), (whole, 1.0)]
        if witnessed := self._witnessed(solver, index, timeout):
            ways.insert(0, (witnessed, 4.0))
        seconds = FIRST_SECONDS
        while True:
            for task, share in ways:
                reply = race(_in_other_ways(task, min(share * seconds, timeout)), jobs)[1]
                if reply.status == "unsat" or (reply.status == "sat" and task is whole):
                    return reply
            if seconds >= timeout:
                return reply
            seconds *= 4

    def _witnessed(self, solver: str, index: int, timeout: float) -> Task | None:
        """An obligation with the terms put in that its hint names."""
        obligation, hinted = self.section.obligations[index], self.hinted[index]
        wanted = {name.removeprefix(WITNESS) for name in obligation.hint or () if name.startswith(WITNESS)}
        if not wanted or hinted is None:
            return None
        query = instances([self.section.hypotheses[i].formula for i in hinted], obligation.negation)
        if query is None:
            return None
        goal = conj(query.rest, *(formula for text, formula in query.instances.items() if text in wanted))
        vocabulary = Vocabulary()
        hypotheses = tuple(map(vocabulary.text, query.hypotheses))
        question = Question(vocabulary.text(goal))
        task = self._task(solver, timeout, [question])
        return replace(task, hypotheses=hypotheses, declarations="\n".join(vocabulary.declarations))


def _in_other_ways(task: Task, seconds: float) -> list[Task]:
    """The same question, asked of the same solver with each of its settings."""
    return [replace(task, timeout=seconds, options=options) for options in (*OTHER_WAYS[task.backend], ())]


WITNESS = "witness "
"""How a hint says which term to put in for what a claim says exists."""


def _named(hypotheses: Sequence[Named], hint: tuple[str, ...] | None) -> tuple[int, ...] | None:
    """The indices of the hypotheses that a hint names; of the whole guard, if it names no part of it (`guard 0` is none)."""
    if hint is None:
        return None
    parts = any(_GUARD.fullmatch(name) for name in hint)
    return tuple(
        i for i, item in enumerate(hypotheses) if item.name in hint or (not parts and _GUARD.fullmatch(item.name))
    )
