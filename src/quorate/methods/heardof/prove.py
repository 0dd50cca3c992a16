"""Proofs for every n: the relational form of an algorithm (`models/quorums`), invariants that are given or found, a certificate.

What is not given comes from `candidates`; forms of U(v) that a single phase of a few processes contradicts are dropped
(`checking`).  The rest is put to the solvers, and what they cannot show to hold in all states is withdrawn, until the
remaining candidates support each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from quorate.engines.smt.session import Answer, Goal, Group, Limits, ask_both
from quorate.logic import sexpr
from quorate.logic.terms import Equal, Forall, Iff, Symbol, Term, equal, forall, implies, neg
from quorate.logic.transform import conjuncts, symbols_of
from quorate.methods.heardof.candidates import MOST_TRIES, Samples, between_phases, univalences
from quorate.methods.heardof.checking import Checking
from quorate.methods.heardof.cuts import Facts, Hint, establish, mutable, owner
from quorate.methods.induction.obligations import Obligation, goal_formula, hypotheses, is_trivial
from quorate.models.evaluation import RoundsError, settings
from quorate.models.quorum_sets import DECISION, EMPTY, FEW_ROUNDS, ME, OTHER, REVOKED, Unsaid
from quorate.models.quorums import Translation, relational
from quorate.models.relational import Named, RelationalModel
from quorate.models.rounds import Node, RoundModel
from quorate.proof.certificates import Certificate, Cut, certify

METHOD = "quorums and induction"
Progress = Callable[[str], None]
PATIENCE = (0.5, 2.0, 8.0)
"""How many seconds each way to ask about an obligation gets, with few hypotheses first and then with all."""

SOME = 4
"""With how many processes forms of U(v) are tried before they are put to the solvers."""


@dataclass
class Proof:
    """What was proved for every n, from which invariants, and what is left."""

    model: RoundModel
    relational: RelationalModel
    proved: list[Named] = field(default_factory=list)
    answers: dict[Obligation, Answer] = field(default_factory=dict)
    univalent: tuple[str, Node] | None = None
    invariants: list[tuple[str, Node]] = field(default_factory=list)
    left_open: tuple[str, ...] = ()
    facts: Facts | None = None
    certificate: Certificate | None = None
    seconds: float = 0.0

    @property
    def open(self) -> list[Named]:
        return [item for item in self.relational.safety if item not in self.proved]

    def why(self, item: Named) -> tuple[str, bool]:
        """Which obligation of a property failed, and whether a solver refuted it."""
        for obligation, answer in self.answers.items():
            if obligation.claim == item and answer.status != "unsat":
                return f"{obligation.name}: {answer.reason or answer.status}", answer.status == "sat"
        return "it leans on a lemma that is not proved", False


# -- proofs ----------------------------------------------------------------------------------------------------------------


def prove(model: RoundModel, limits: Limits, progress: Progress = lambda text: None) -> Proof:
    """Prove the properties of an algorithm for every n, with the lemmas of the file or with lemmas that are found.

    Two solvers are asked at once at least: what one of them does not answer, the other may at once.
    """
    started = time.monotonic()
    limits = replace(limits, jobs=max(2, limits.jobs))
    if not needs_univalence(model):
        samples = Samples(model)
        lemmas = [(name, formula) for name, formula in _given(model) if samples.allow(formula)]
        proof = attempt(replace(model, univalent=None), lemmas, limits, progress)
    elif model.univalent is not None:
        proof = attempt(model, _given(model), limits, progress)
    else:
        proof = _search(model, limits, progress)
    if any(item in proof.proved for item in proof.relational.safety):
        proof.certificate = _certificate(proof, limits)
    proof.seconds = time.monotonic() - started
    return proof


def needs_univalence(model: RoundModel) -> bool:
    """Is there a property for which it matters that no other value can be decided any more?"""
    return any(item.formula is not None or item.name in ("agreement", "irrevocability") for item in model.safety)


def _given(model: RoundModel) -> list[tuple[str, Node]]:
    """Candidates to go with the lemmas of a file: whatever templates the samples allow."""
    known = [item.formula for item in model.invariants]
    return [(name, formula) for name, formula in between_phases(model) if formula not in known]


def _search(model: RoundModel, limits: Limits, progress: Progress) -> Proof:
    progress("looking at small instances")
    samples = Samples(model)
    lemmas = [(name, formula) for name, formula in _given(model) if samples.allow(formula)]
    options = [formula for formula in univalences(model) if samples.allow_univalence(formula)]
    options.sort(key=samples.selects)
    checking = Checking(model, SOME, list(settings(model, SOME)), limits, progress)
    checking.find_lemmas()
    likely = islice((formula for formula in options if not checking.breaks(("v", formula))), MOST_TRIES)
    best: Proof | None = None
    for formula in likely:
        found = attempt(replace(model, univalent=("v", formula)), lemmas, limits, progress)
        if best is None or len(found.open) < len(best.open):
            best = found
        if not found.open:
            break
    return best or attempt(model, lemmas, limits, progress)


def attempt(model: RoundModel, lemmas: Sequence[tuple[str, Node]], limits: Limits, progress: Progress) -> Proof:
    """One set of candidates: what of it holds in all reachable states, for every n?"""
    builders = [_builder(name, formula) for name, formula in lemmas]
    stages = len(Translation(model).stages)
    if stages > 1:
        builders += [_common(item.name) for item in model.variables if item.kind == "value"]
    try:
        found, translation = relational(model, builders)
    except Unsaid as problem:
        raise RoundsError(f"there is no proof for every n: the file has {problem}") from None
    proof = Proof(model, found, univalent=model.univalent, left_open=tuple(dict.fromkeys(translation.left_open)))
    proof.invariants = [*((item.name, item.formula) for item in model.invariants if item.formula), *lemmas]
    _houdini(proof, translation, limits, progress)
    return proof


def _builder(name: str, formula: Node) -> Callable[[Translation], Named]:
    return lambda translation: Named(name, translation.formula(formula))


def _common(name: str) -> Callable[[Translation], Named]:
    """After the first good phases everybody has the same value."""

    def build(translation: Translation) -> Named:
        symbol = translation.symbols[name]
        same = forall((ME, OTHER), equal(symbol(ME), symbol(OTHER)))
        return Named(f"{name}_common", implies(translation.stages[0](), same))

    return build


def _houdini(proof: Proof, translation: Translation, limits: Limits, progress: Progress) -> None:
    """Withdraw what is not preserved until the rest supports itself: first what is about variables, then what is about decisions.

    Where the second is not easy, facts about a phase come in between.
    """
    model = proof.relational
    alive = _inductive(model)
    facts = Facts(model, alive, limits)
    _decide(proof, facts, [Obligation(item, None) for item in alive], limits, progress)
    alive = [item for item in alive if proof.answers[Obligation(item, None)].status == "unsat"]
    later = {DECISION, REVOKED, EMPTY, *translation.stages}
    plain = _withdraw(
        proof, facts, [item for item in alive if later.isdisjoint(symbols_of(item.formula))], limits, progress
    )
    rest = [item for item in alive if not later.isdisjoint(symbols_of(item.formula))]
    facts = Facts(model, [*plain, *rest], limits)
    asked = [Obligation(item, transition) for transition in model.transitions for item in rest]
    if len(proof.model.rounds) <= FEW_ROUNDS:
        _decide(proof, facts, asked, limits, progress)
    if any(o not in proof.answers or proof.answers[o].status == "unknown" for o in asked):
        progress("looking for facts about a phase")
        univalence = [item for item in rest if item.name == "univalence"]
        proof.facts = facts = Facts(model, [*plain, *univalence], limits)
        establish(facts, translation)
    alive = _withdraw(proof, replace(facts, lemmas=(*plain, *rest)), [*plain, *rest], limits, progress)
    proof.proved = alive
    for item in model.safety:
        if item not in alive and _implied(model, item, alive, limits):
            proof.proved = [*proof.proved, item]


def _withdraw(
    proof: Proof, facts: Facts, candidates: Sequence[Named], limits: Limits, progress: Progress
) -> list[Named]:
    """The largest part of the candidates that a phase preserves, as far as the solvers can tell."""
    model = proof.relational
    alive = list(candidates)
    pending = [Obligation(item, transition) for transition in model.transitions for item in alive]
    pending = [item for item in pending if not is_trivial(model, item) and not _settled(proof, facts, item, alive)]
    while pending:
        _decide(proof, replace(facts, lemmas=alive), pending, limits, progress)
        failing = {o.claim for o in pending if proof.answers[o].status != "unsat"}
        if not failing:
            break
        alive = [item for item in alive if item not in failing]
        facts = facts.without(failing)
        pending = [
            obligation
            for obligation, answer in proof.answers.items()
            if obligation.claim in alive
            and obligation.transition is not None
            and not failing.isdisjoint(facts.support(answer.core))
        ]
    return alive


def _settled(proof: Proof, facts: Facts, obligation: Obligation, alive: Sequence[Named]) -> bool:
    """Is it known already to hold, from nothing that has been withdrawn since?"""
    answer = proof.answers.get(obligation)
    return answer is not None and answer.status == "unsat" and facts.support(answer.core) <= set(alive)


def _decide(proof: Proof, facts: Facts, pending: list[Obligation], limits: Limits, progress: Progress) -> None:
    """Answer obligations: from facts about a phase where there are any, then with more and more patience."""
    model = proof.relational
    proof.answers |= {obligation: Answer("unknown", "not asked") for obligation in pending}

    def ask(ways: Sequence[Callable[[Obligation, Limits], Answer]], patience: Sequence[float]) -> None:
        for seconds in dict.fromkeys(min(seconds, limits.timeout) for seconds in patience):
            within = replace(limits, timeout=seconds)
            for way in ways:
                for obligation in [item for item in pending if proof.answers[item].status == "unknown"]:
                    answer = way(obligation, within)
                    if way is whole or answer.status == "unsat":
                        proof.answers[obligation] = answer
                    discharged = sum(proof.answers[o].status == "unsat" for o in pending)
                    progress(f"{discharged} obligations discharged")

    def staged(obligation: Obligation, within: Limits) -> Answer:
        return facts.answer(obligation.name, goal_formula(model, obligation), within)

    def lean(obligation: Obligation, within: Limits) -> Answer:
        return ask_both(_group(model, obligation, facts.lemmas, True), within)

    def whole(obligation: Obligation, within: Limits) -> Answer:
        return ask_both(_group(model, obligation, facts.lemmas, False), within)

    if facts.known:
        ask([staged], PATIENCE[:-1])
    ask([lean, whole], PATIENCE)


def _inductive(model: RelationalModel) -> list[Named]:
    """The candidates that are to be preserved: agreement follows from univalence, and would only be in the way."""
    univalent = any(item.name == "univalence" for item in model.invariants)
    return [item for item in model.properties if not (item.name == "agreement" and univalent)]


def _implied(model: RelationalModel, item: Named, invariants: Sequence[Named], limits: Limits) -> bool:
    """Does a property follow from what holds in every state?"""
    group = Group((*model.background(), *invariants), (Goal(f"invariants imply {item.name}", neg(item.formula)),))
    return ask_both(group, limits).status == "unsat"


def _group(model: RelationalModel, obligation: Obligation, assumed: Sequence[Named], lean: bool) -> Group:
    """An obligation with what may help.

    `lean`: of the guard, only what settles the choices that the goal depends on; of the lemmas, only those about variables that
    occur; of the axioms, only those about quorums that occur.  Where no good phase matters, nothing about those, nor the sets
    that show that something is *not* heard often enough; where it does, nothing about what is most frequent.
    """
    known = hypotheses(model, obligation.transition, assumed)
    goal = goal_formula(model, obligation)
    if not lean or obligation.transition is None:
        return Group(known, (Goal(obligation.name, goal),), ())
    stages = {symbol for symbol in model.symbols if symbol.name.startswith("sync.")}
    calm = stages.isdisjoint(symbols_of(obligation.claim.formula))
    avoided = ("good.", "others.", "sync.") if calm else ()
    axioms, lemmas = set(model.axioms), set(assumed)
    guard = [
        item
        for item in known
        if item not in axioms
        and item not in lemmas
        and not any(symbol.name.startswith(avoided) for symbol in symbols_of(item.formula) if avoided)
        and (calm or not _over_quorums(item))
    ]
    kept = _cone(goal, guard)
    rigid = {symbol for symbol in model.symbols if not symbol.mutable and not symbol.name.startswith("member:")}
    used = symbols_of(goal, *(item.formula for item in kept)) | rigid
    kept += [
        item for item in known if item in lemmas and mutable(item) <= used and not (calm and stages & mutable(item))
    ]
    used |= symbols_of(*(item.formula for item in kept))
    kept += [item for item in known if item in axioms and symbols_of(item.formula) <= used]
    return Group(tuple(kept), (Goal(obligation.name, goal),), ())


def _over_quorums(item: Named) -> bool:
    """Does a part of the guard speak of all quorums?"""
    formula = item.formula
    return isinstance(formula, Forall) and any(v.sort.name.startswith("quorum:") for v in formula.variables)


def _cone(goal: Term, guard: Sequence[Named]) -> list[Named]:
    """The parts of a guard that settle what the goal, or another such part, depends on, and those that settle nothing."""
    symbols = {item: symbols_of(item.formula) for item in guard}
    owners = {item: owner(found) for item, found in symbols.items()}
    needed = {owner({symbol}) for symbol in symbols_of(goal)}
    kept: list[Named] = []
    while True:
        new = [item for item in guard if item not in kept and (owners[item] is None or owners[item] in needed)]
        if not new:
            return kept
        kept += new
        needed |= {owner({symbol}) for item in new for symbol in symbols[item]}


def _certificate(proof: Proof, limits: Limits) -> Certificate:
    """The invariants, and for each obligation the hypotheses that sufficed, and what shows that something exists."""
    model = proof.relational
    numbers = {
        part: f"guard {number}"
        for transition in model.transitions
        for number, part in enumerate(conjuncts(transition.guard), 1)
    }
    found: dict[str, Hint] = {}
    for obligation, answer in proof.answers.items():
        if obligation.claim in proof.proved:
            goal = goal_formula(model, obligation)
            found[obligation.name] = Hint(obligation.name, goal, limits, answer.core).best()
    cuts = _cuts(proof.facts, found) if proof.facts else []
    hints = {name: (*_named(hint, numbers), *(item.name for item in hint.terms)) for name, hint in found.items()}
    inductive = [item for item in proof.proved if item in _inductive(model)]
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety if item in inductive}
    safety = [item for item in model.safety if item in proof.proved]
    return certify(model, safety, inductive, hints, cuts=cuts)


def _named(hint: Hint, numbers: Mapping[Term, str]) -> Iterator[str]:
    """What sufficed, by name; a part of the guard that there is not, where none was needed."""
    names = dict.fromkeys(numbers.get(item.formula, item.name) for item in hint.core)
    yield from names
    if names.keys().isdisjoint(numbers.values()):
        yield "guard 0"


def _cuts(facts: Facts, found: dict[str, Hint]) -> list[Cut]:
    """The facts that hints lean on, and what these lean on; adds their own hints."""
    where = facts.transition.name
    names = {item.name for hint in found.values() for item in hint.core}
    symbols: set[Symbol] = set()
    cuts = []
    for item in reversed(facts.known):
        defined = facts.definitions.get(item)
        if defined is not None and (defined in symbols or item.name in names):
            assert isinstance(item.formula, Forall) and isinstance(item.formula.body, Equal | Iff)
            body = forall(item.formula.variables, item.formula.body.right)
            cuts.append(Cut(where, defined.name, sexpr.write(body), len(defined.arguments)))
            symbols |= symbols_of(body)
        elif defined is None and item.name in names:
            hint = found[f"in {where}: {item.name}"] = facts.hints[item.name]
            names |= {other.name for other in hint.core}
            cuts.append(Cut(where, item.name, sexpr.write(item.formula)))
            symbols |= symbols_of(item.formula)
    return cuts[::-1]
