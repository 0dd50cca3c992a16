"""Facts about one phase, as stages of a proof for every n: a phase of several rounds is too long a step for a solver.

Candidates come from the text: whoever sends in a round says the same, or is the only one; where U(v) holds, only v is sent and
decided, and U(v) still holds after the phase; what is decided has U(v) after it.  In a good phase everybody sends, or every
coordinator.  A fact is used once z3 and cvc5 are both quick with it; where they are not, it is split into cases: the parts of
U(v), and what the conditions of the rounds come to.  `prove` uses them; the checker establishes them again from the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from quorate.engines.smt.session import Answer, Goal, Group, Limits, ask_both, ask_one
from quorate.logic.instances import instances
from quorate.logic.terms import BOOL, TRUE, Symbol, Term, Var, conj, disj, equal, forall, implies, neg
from quorate.logic.transform import substitute, symbols_of
from quorate.methods.induction.obligations import hypotheses
from quorate.models import rounds as r
from quorate.models.quorum_sets import DECISION, ME, NODE, NONE, OTHER, VALUE
from quorate.models.quorums import Translation
from quorate.models.relational import Named, RelationalModel
from quorate.proof.checker import SOLVERS, WITNESS

QUICK = 0.5
"""If a solver needs longer for an obligation with the hypotheses of a hint, the hint has to say more, or less."""

MOST_SPLITS = 2
"""How many conditions a fact is split by, one inside the other."""

MOST_REFUTED = 12
"""An algorithm of which so much does not hold that one would expect is not worth further cases."""

V, W = Var("V", VALUE), Var("W", VALUE)


# -- which hypotheses help -------------------------------------------------------------------------------------------------


def owner(symbols: set[Symbol]) -> int | None:
    """The number of the choice that a part of the guard settles: the last one that occurs; a count comes with its two sets."""
    found = None
    for symbol in symbols:
        name, _, number = symbol.name.rpartition(".")
        if name.startswith("next:") or name in SETTLED:
            found = max(found or 0, int(number) - SETTLED.get(name, 0))
    return found


SETTLED = {"enough": 0, "those": 1, "others": 2, "picked": 0, "sender": 0, "same": 0, "one": 2, "two": 3}
"""The choices that the parts of a guard settle, with their distance from the first that belongs to them."""


def mutable(item: Named) -> set[Symbol]:
    return {symbol for symbol in symbols_of(item.formula) if symbol.mutable}


@dataclass(frozen=True)
class Hint:
    """What helps a solver with a claim: hypotheses that suffice, and terms that show what the claim says exists."""

    name: str
    goal: Term
    limits: Limits
    core: tuple[Named, ...]
    terms: tuple[Named, ...] = ()

    def group(self) -> Group:
        query = instances([item.formula for item in self.core], self.goal) if self.terms else None
        if query is None:
            return Group(self.core, (Goal(self.name, self.goal),))
        known = [Named(f"{number}", formula) for number, formula in enumerate(query.hypotheses)]
        return Group((*known, *self.terms), (Goal(self.name, query.rest),))

    def confirmed(self) -> bool:
        """Are both solvers quick with it?"""
        within = replace(self.limits, timeout=QUICK * (8 if self.terms else 1))
        return all(ask_one(solver, self.group(), within).status == "unsat" for solver in SOLVERS)

    def shorter(self) -> Hint:
        """The same without hypotheses that can go: what one solver just passes over may be too much for the other."""
        found, within = self, replace(self.limits, timeout=QUICK)
        for item in self.core:
            if item in found.core:
                less = replace(found, core=tuple(other for other in found.core if other is not item))
                answer = ask_both(less.group(), within)
                found = replace(less, core=answer.core) if answer.status == "unsat" else found
        return found

    def witnessed(self) -> Hint:
        """The same with terms, which solvers find hard to guess, where the claim says that something exists."""
        query = instances([item.formula for item in self.core], self.goal)
        if query is None:
            return self
        offered = tuple(Named(f"{WITNESS}{text}", formula) for text, formula in query.instances.items())
        for _ in range(2):
            core = ask_both(replace(self, terms=offered).group(), self.limits).core
            offered = tuple(item for item in offered if item in core) or offered
        return replace(self, terms=offered if set(offered) <= set(core) else ())

    def best(self) -> Hint:
        if self.confirmed():
            return self
        with_terms = self.witnessed()
        return with_terms if with_terms.terms and with_terms.confirmed() else self.shorter().witnessed()


# -- facts -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """`premise -> conclusion`, whatever the variables stand for."""

    name: str
    variables: tuple[Var, ...]
    premise: Term
    conclusion: Term

    @property
    def formula(self) -> Term:
        return forall(self.variables, implies(self.premise, self.conclusion))

    def case(self, label: str, condition: Term) -> Claim:
        return replace(self, name=f"{self.name}, {label}", premise=conj(self.premise, condition))


@dataclass
class Facts:
    """Facts about the one transition of a model, each from the lemmas, the guard and the facts before it."""

    model: RelationalModel
    lemmas: Sequence[Named]
    limits: Limits
    known: list[Named] = field(default_factory=list)
    hints: dict[str, Hint] = field(default_factory=dict)
    definitions: dict[Named, Symbol] = field(default_factory=dict)
    refuted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.transition = self.model.transitions[0]
        listed = hypotheses(self.model, self.transition, self.lemmas)
        axioms, lemmas = set(self.model.axioms), set(self.lemmas)
        self.axioms = [item for item in listed if item in axioms]
        self.guard = [item for item in listed if item not in axioms and item not in lemmas]
        self.owners = {item: owner(symbols_of(item.formula)) for item in self.guard}

    def define(self, name: str, body: Term) -> Symbol:
        """A new predicate of values, true of the V of which the formula is true."""
        symbol = Symbol(name, (VALUE,), BOOL)
        item = Named(f"definition of {name}", forall((V,), equal(symbol(V), body)))
        self.known.append(item)
        self.definitions[item] = symbol
        return symbol

    def around(self, goal: Term) -> Iterator[tuple[Named, ...]]:
        """Hypotheses for a goal: facts alone, then what settles the choices it depends on, then what settles those, and so on."""
        good = _about_good(goal)
        guard = {item: number for item, number in self.owners.items() if good or not _about_good(item.formula)}
        kept = [item for item, number in guard.items() if number is None]
        used = symbols_of(goal)
        used |= {symbol for item, symbol in self.definitions.items() if symbols_of(item.formula) - {symbol} <= used}
        while True:
            yield self._with_lemmas(goal, kept)
            needed = {owner({symbol}) for symbol in used} - {None}
            new = [item for item, symbol in self.definitions.items() if item not in kept and symbol in used]
            new += [item for item, number in guard.items() if item not in kept and number in needed]
            if not new:
                return
            kept = [*kept, *new]
            used = used | symbols_of(*(item.formula for item in new))

    def _with_lemmas(self, goal: Term, kept: Sequence[Named]) -> tuple[Named, ...]:
        """Also the lemmas, facts and axioms about what occurs."""
        choices = set(self.transition.choices)
        rigid = {item for item in self.model.symbols if not item.mutable and not item.name.startswith("member:")}
        used = symbols_of(goal, *(item.formula for item in kept)) | rigid
        found = [*kept, *(item for item in self.lemmas if mutable(item) <= used)]
        found += [
            item for item in self.known if item not in self.definitions and symbols_of(item.formula) & choices <= used
        ]
        used |= symbols_of(*(item.formula for item in found))
        return (*found, *(item for item in self.axioms if symbols_of(item.formula) <= used))

    def support(self, core: Sequence[Named]) -> set[Named]:
        """The lemmas that an answer rests on, by way of facts too."""
        found: set[Named] = set()
        left = list(core)
        while left:
            item = left.pop()
            if item not in found:
                found.add(item)
                if item.name in self.hints:
                    left += self.hints[item.name].core
        return found & set(self.model.properties)

    def without(self, failing: Collection[Named]) -> Facts:
        """What is left when lemmas are withdrawn."""
        known = [item for item in self.known if self.support([item]).isdisjoint(failing)]
        return replace(self, lemmas=[item for item in self.lemmas if item not in failing], known=known)

    def answer(self, name: str, goal: Term, within: Limits) -> Answer:
        """The first that suffices of growing sets of hypotheses."""
        answer = Answer("unknown", "not asked")
        for known in self.around(goal):
            answer = ask_both(Group(known, (Goal(name, goal),)), within)
            if answer.status == "unsat":
                break
        return answer

    def establish(self, claim: Claim) -> bool:
        """Add the claim to the facts, if both solvers are quick with it."""
        if claim.name in self.hints or claim.formula is TRUE:
            return True
        goal = neg(claim.formula)
        answer = self.answer(claim.name, goal, replace(self.limits, timeout=QUICK))
        if answer.status == "sat":
            self.refuted.add(claim.name)
        if answer.status != "unsat":
            return False
        hint = Hint(claim.name, goal, self.limits, answer.core)
        if not hint.confirmed():
            hint = hint.witnessed()
            if not (hint.terms and hint.confirmed()):
                return False
        self.known.append(Named(claim.name, claim.formula))
        self.hints[claim.name] = hint
        return True

    def split(self, claim: Claim) -> bool:
        """The same, by cases if need be."""
        return self.establish(claim) or self._by_cases(claim, MOST_SPLITS)

    def _by_cases(self, claim: Claim, left: int) -> bool:
        """The same by what a condition of the phase comes to for the process that the claim is about."""
        for condition in self._conditions(claim) if left and ME in claim.variables else ():
            if claim.name in self.refuted or len(self.refuted) > MOST_REFUTED:
                return False
            cases = claim.case(str(condition), condition), claim.case(f"not {condition}", neg(condition))
            done = [self.establish(case) for case in cases]
            if not self.refuted.isdisjoint(case.name for case in cases):
                return False
            if any(done) and all(
                self._by_cases(c, left - 1) for c, known in zip(cases, done, strict=True) if not known
            ):
                return self.establish(claim)
        return False

    def _conditions(self, claim: Claim) -> list[Term]:
        """Truth values of the phase that the claim depends on, the last ones first."""
        used = symbols_of(*(item.formula for known in self.around(neg(claim.formula)) for item in known))
        own = symbols_of(claim.premise)
        return [
            symbol(ME)
            for symbol in reversed(self.transition.choices)
            if symbol in used
            and symbol not in own
            and symbol.sort is BOOL
            and symbol.arguments == (NODE,)
            and symbol.name.startswith(("next:if.", "enough."))
        ]


def _about_good(formula: Term) -> bool:
    """Does it speak of good phases?"""
    return any(symbol.name.startswith(("good.", "sync.")) for symbol in symbols_of(formula))


def establish(facts: Facts, translation: Translation) -> None:
    """All facts that the text suggests, and that hold."""
    univalent = translation.model.univalent
    parts: list[Symbol] = []
    if univalent is not None:
        name, node = univalent
        operands = node.operands if isinstance(node, r.Operation) and node.operator == "or" else (node,)
        for number, part in enumerate(operands, 1):
            parts.append(facts.define(f"univalent:part{number}", translation.formula(part, {name: V})))
    for number, (sends, items) in enumerate(translation.sent[1:], 2):
        both = conj(sends, _of(sends, OTHER))
        if sends is not TRUE:
            facts.establish(Claim(f"one sender in round {number}", (ME, OTHER), both, equal(ME, OTHER)))
        for value in dict.fromkeys(item for item in items if item.sort is VALUE):
            about = f"{value} in round {number}"
            facts.establish(Claim(f"some {about}", (ME,), sends, neg(equal(value, NONE))))
            for given in (TRUE, neg(equal(value, NONE))):
                both = conj(sends, _of(sends, OTHER), given, _of(given, OTHER))
                if facts.establish(Claim(f"same {about}", (ME, OTHER), both, equal(value, _of(value, OTHER)))):
                    break
            for given in (TRUE, neg(equal(value, NONE))):
                if _by_parts(facts, f"kept {about}", parts, conj(sends, given), lambda v, value=value: equal(value, v)):  # type: ignore[misc]
                    break
    for number, (decides, value) in enumerate(translation.decisions, 1):
        facts.establish(Claim(f"some value in decision {number}", (ME,), decides, neg(equal(value, NONE))))
    _good(facts, translation)
    if parts:
        _univalence(facts, translation, parts)


def _univalence(facts: Facts, translation: Translation, parts: Sequence[Symbol]) -> None:
    assert translation.model.univalent is not None
    name, node = translation.model.univalent
    now = facts.define("univalent:now", disj(*(part(V) for part in parts)))
    later = facts.define("univalent:later", facts.transition.after(translation.formula(node, {name: V})))
    _by_parts(facts, "univalence stays", parts, TRUE, lambda v: later(v))
    facts.establish(Claim("univalence stays", (V,), now(V), later(V)))
    facts.establish(Claim("univalence is needed", (ME,), neg(equal(DECISION(ME), NONE)), now(DECISION(ME))))
    done: list[tuple[Term, Term]] = []
    for number, (decides, value) in enumerate(translation.decisions, 1):
        given, about = conj(decides, neg(equal(value, NONE))), f"decision {number}"
        _by_parts(facts, f"kept in {about}", parts, given, lambda v, value=value: equal(value, v))  # type: ignore[misc]
        facts.establish(Claim(f"kept in {about}", (V, ME), conj(now(V), given), equal(value, V)))
        decided = conj(given, neg(equal(DECISION(ME), NONE)))
        facts.establish(Claim(f"{about} is not new", (ME,), decided, equal(DECISION(ME), value)))
        if number < len(translation.decisions):
            facts.split(Claim(f"univalence before {about}", (ME,), given, now(value)))
        facts.split(Claim(f"univalence after {about}", (ME,), given, later(value)))
        for earlier, (condition, other) in enumerate(done, 1):
            if earlier == 1:
                facts.establish(Claim("one value is univalent", (V, W), conj(later(V), later(W)), equal(V, W)))
            facts.establish(Claim(f"{about} is decision {earlier}", (ME,), conj(given, condition), equal(value, other)))
        done.append((given, value))
    after = facts.transition.after(DECISION(ME))
    facts.split(Claim("univalence is kept", (ME,), neg(equal(after, NONE)), later(after)))


def _by_parts(
    facts: Facts, name: str, parts: Sequence[Symbol], given: Term, conclusion: Callable[[Term], Term]
) -> bool:
    """What follows wherever U(v) holds, from each part of it by itself."""
    variables = (V, ME) if ME in given.free else (V,)
    return all(
        facts.split(Claim(f"{name}, part {number}", variables, conj(part(V), given), conclusion(V)))
        for number, part in enumerate(parts, 1)
    )


def _good(facts: Facts, translation: Translation) -> None:
    """In a good phase: who sends, and who decides."""
    coordinates = equal(translation.coordinator(ME), ME)
    for good in translation.good:
        for number, (sends, _) in enumerate(translation.sent, 1):
            if sends is not TRUE and not facts.establish(
                Claim(f"{good}: all send in round {number}", (ME,), good, sends)
            ):
                claim = Claim(f"{good}: coordinators send in round {number}", (ME,), conj(good, coordinates), sends)
                facts.establish(claim)
        for number, (decides, _) in enumerate(translation.decisions, 1):
            facts.establish(Claim(f"{good}: all decide, decision {number}", (ME,), good, decides))


def _of(term: Term, process: Term) -> Term:
    return substitute(term, {ME: process})
