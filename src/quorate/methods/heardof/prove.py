"""Proofs for every n: the relational form of an algorithm (`models/quorums`), invariants that are given or found, a certificate.

Candidates for what holds between phases are templates over the variables of the algorithm: truth values and votes are back
to their first values, times are in the past, values are values.  Candidates for U(v), what guarantees that no other value
than v can be decided any more, are built from the bounds that the algorithm itself compares with.  What a reachable state of
a small instance contradicts is dropped; the rest is put to the solvers, and what they cannot show to hold in all states is
withdrawn, until the remaining candidates support each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from quorate.engines.rounds.search import Search, State
from quorate.engines.smt.session import Answer, Goal, Group, Limits, ask_both, ask_one
from quorate.logic.instances import instances
from quorate.logic.terms import Forall, Symbol, Term, equal, forall, implies, neg
from quorate.logic.transform import conjuncts, symbols_of
from quorate.methods.induction.obligations import Obligation, goal_formula, hypotheses, is_trivial
from quorate.models import rounds as r
from quorate.models.evaluation import Machine, RoundsError, World, settings
from quorate.models.quorum_sets import ME, OTHER, Unsaid, bounds_of
from quorate.models.quorums import Translation, relational
from quorate.models.relational import Named, RelationalModel
from quorate.models.rounds import Node, RoundModel
from quorate.proof.certificates import Certificate, certify
from quorate.proof.checker import SOLVERS, WITNESS

METHOD = "quorums and induction"
Progress = Callable[[str], None]
MOST_STATES = 4000
"""How many states of a small instance candidates are compared with."""

PATIENCE = (0.5, 2.0, 8.0)
"""How many seconds each way to ask about an obligation gets, with few hypotheses first and then with all."""

QUICK = 0.5
"""If a solver needs longer for an obligation with the hypotheses of a hint, the hint has to say more, or less."""

MOST_TRIES = 6
"""How many forms of U(v) are put to the solvers."""


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


# -- candidates ------------------------------------------------------------------------------------------------------------


def _all(body: Node) -> Node:
    return r.Quantified(True, ("p",), body)


def _of(name: str, process: str = "p") -> Node:
    return r.VariableOf(name, r.Bound(process))


def between_phases(model: RoundModel) -> Iterator[tuple[str, Node]]:
    """What may hold between two phases, by the kind of the variables."""
    for item in model.variables:
        mine = _of(item.name)
        if item.kind == "bool":
            yield f"{item.name}_false", _all(r.Operation("not", (mine,)))
            yield f"{item.name}_true", _all(mine)
        elif item.kind == "time":
            yield f"{item.name}_past", _all(r.Operation("<", (mine, r.Phase())))
        elif item.kind == "optional":
            yield f"{item.name}_empty", _all(r.Operation("=", (mine, r.Nothing())))
        elif item.kind == "value":
            yield f"{item.name}_value", _all(r.Operation("!=", (mine, r.Nothing())))


def univalences(model: RoundModel) -> Iterator[Node]:
    """What may guarantee that only v can be decided: simple forms first, then two of them."""
    v = r.Bound("v")
    values = [item.name for item in model.variables if item.kind == "value"]
    times = [item.name for item in model.variables if item.kind == "time"]
    bounds = bounds_of(model)
    simple: list[Node] = []
    for x in values:
        simple.append(_all(r.Operation("=", (_of(x), v))))
        for operator, bound in bounds:
            have = r.Counting("q", r.Operation("=", (_of(x, "q"), v)))
            simple.append(r.Operation(operator, (have, bound)))
        for ts in times:
            differs = r.Operation("!=", (_of(x), v))
            for operator, bound in bounds:
                later = _all(r.Operation("->", (differs, r.Operation("<", (_of(ts), _of(ts, "q"))))))
                simple.append(r.Operation(operator, (r.Counting("q", later), bound)))
                fresh = _all(r.Operation("->", (differs, r.Operation("=", (_of(ts), r.Number(0))))))
                have = r.Counting("q", r.Operation("=", (_of(x, "q"), v)))
                simple.append(r.Operation("and", (r.Operation(operator, (have, bound)), fresh)))
    yield from simple
    for first, second in combinations(simple, 2):
        yield r.Operation("or", (first, second))


class Samples:
    """Reachable states between the phases of small instances, as many as so much processor time allows."""

    def __init__(self, model: RoundModel, sizes: Sequence[int] = (2, 3, 4), seconds: float = 5.0) -> None:
        self.machine = Machine(model)
        self.states: list[tuple[int, dict[str, int], State]] = []
        plain = replace(model, invariants=(), safety=())
        ends = time.process_time() + seconds
        begun = time.process_time()
        for n in sizes:
            if time.process_time() - begun > seconds / 10:
                return
            for parameters in settings(model, n):
                if time.process_time() > ends:
                    return
                self._collect(Search(Machine(plain), n, parameters, forget=False), ends)

    def _collect(self, search: Search, ends: float) -> None:
        if search.communication.of_several:
            return
        taken = 0
        for layer in search.layers():
            for state in layer:
                if state.round == 0:
                    self.states.append((search.n, dict(search.parameters), state))
                    taken += 1
            if taken > MOST_STATES or time.process_time() > ends:
                return

    def _worlds(self) -> Iterator[World]:
        for n, parameters, state in self.states:
            yield World(n, parameters, state.phase, state.processes, state.shared)

    def allow(self, formula: Node) -> bool:
        """Does the formula hold in all of them?"""
        test = self.machine.function(formula)
        return all(test(world) for world in self._worlds())

    def allow_univalence(self, formula: Node) -> bool:
        """Does it hold of every value that has been decided?"""
        test = self.machine.function(formula)
        decision = self.machine.decision
        for world in self._worlds():
            for value in {process[decision] for process in world.processes} - {0}:
                world.bound = {"v": value}
                if not test(world):
                    return False
        return True

    def selects(self, formula: Node) -> int:
        """In how many of them it holds of some value: the fewer, the stronger."""
        test = self.machine.function(formula)
        found = 0
        for world in self._worlds():
            for value in range(1, world.n + 1):
                world.bound = {"v": value}
                found += bool(test(world))
        return found


# -- proofs ----------------------------------------------------------------------------------------------------------------


def prove(model: RoundModel, limits: Limits, progress: Progress = lambda text: None) -> Proof:
    """Prove the properties of an algorithm for every n, with the lemmas of the file or with lemmas that are found."""
    started = time.monotonic()
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
    best: Proof | None = None
    for formula in options[:MOST_TRIES]:
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
    _houdini(proof, limits, progress)
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


def _houdini(proof: Proof, limits: Limits, progress: Progress) -> None:
    """Withdraw what is not preserved until the rest supports itself."""
    model = proof.relational
    alive = _inductive(model)
    _decide(proof, [Obligation(item, None) for item in alive], alive, limits, progress)
    alive = [item for item in alive if proof.answers[Obligation(item, None)].status == "unsat"]
    pending = [Obligation(item, transition) for transition in model.transitions for item in alive]
    pending = [obligation for obligation in pending if not is_trivial(model, obligation)]
    while pending:
        _decide(proof, pending, alive, limits, progress)
        failing = {o.claim for o in pending if proof.answers[o].status != "unsat"}
        if not failing:
            break
        alive = [item for item in alive if item not in failing]
        pending = [
            obligation
            for obligation, answer in proof.answers.items()
            if obligation.claim in alive and obligation.transition is not None and not failing.isdisjoint(answer.core)
        ]
    proof.proved = alive
    for item in model.safety:
        if item not in alive and _implied(model, item, alive, limits):
            proof.proved = [*proof.proved, item]


def _decide(
    proof: Proof, pending: list[Obligation], alive: Sequence[Named], limits: Limits, progress: Progress
) -> None:
    """Answer obligations, with more and more patience."""
    model, left = proof.relational, pending
    proof.answers |= {obligation: Answer("unknown", "not asked") for obligation in pending}
    for seconds in PATIENCE:
        within = replace(limits, timeout=min(seconds, limits.timeout))
        for lean in (True, False):
            for obligation in left:
                answer = ask_both(_group(model, obligation, alive, lean), within)
                if not lean or answer.status == "unsat":
                    proof.answers[obligation] = answer
                discharged = sum(proof.answers[o].status == "unsat" for o in pending)
                progress(f"{discharged} obligations discharged")
            left = [obligation for obligation in left if proof.answers[obligation].status == "unknown"]


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
        item for item in known if item in lemmas and _mutable(item) <= used and not (calm and stages & _mutable(item))
    ]
    used |= symbols_of(*(item.formula for item in kept))
    kept += [item for item in known if item in axioms and symbols_of(item.formula) <= used]
    return Group(tuple(kept), (Goal(obligation.name, goal),), ())


def _over_quorums(item: Named) -> bool:
    """Does a part of the guard speak of all quorums?"""
    formula = item.formula
    return isinstance(formula, Forall) and any(v.sort.name.startswith("quorum:") for v in formula.variables)


def _owner(symbols: set[Symbol]) -> int | None:
    """The number of the choice that a part of the guard settles: the last one that occurs; a count comes with its two sets."""
    found = None
    for symbol in symbols:
        name, _, number = symbol.name.rpartition(".")
        if name in SETTLED:
            found = max(found or 0, int(number) - SETTLED[name])
    return found


SETTLED = {"enough": 0, "those": 1, "others": 2, "picked": 0, "sender": 0, "same": 0, "one": 2, "two": 3}
"""The choices that the parts of a guard settle, with their distance from the first that belongs to them."""


def _cone(goal: Term, guard: Sequence[Named]) -> list[Named]:
    """The parts of a guard that settle what the goal, or another such part, depends on, and those that settle nothing."""
    symbols = {item: symbols_of(item.formula) for item in guard}
    owners = {item: _owner(found) for item, found in symbols.items()}
    needed = {_owner({symbol}) for symbol in symbols_of(goal)}
    kept: list[Named] = []
    while True:
        new = [item for item in guard if item not in kept and (owners[item] is None or owners[item] in needed)]
        if not new:
            return kept
        kept += new
        needed |= {_owner({symbol}) for item in new for symbol in symbols[item]}


def _mutable(item: Named) -> set[Symbol]:
    return {symbol for symbol in symbols_of(item.formula) if symbol.mutable}


@dataclass(frozen=True)
class _Hint:
    """What helps a solver with an obligation: hypotheses that suffice, and terms that show what the claim says exists."""

    obligation: Obligation
    model: RelationalModel
    limits: Limits
    core: tuple[Named, ...]
    terms: tuple[Named, ...] = ()

    def group(self) -> Group:
        goal = goal_formula(self.model, self.obligation)
        query = instances([item.formula for item in self.core], goal) if self.terms else None
        if query is None:
            return Group(self.core, (Goal(self.obligation.name, goal),))
        known = [Named(f"{number}", formula) for number, formula in enumerate(query.hypotheses)]
        return Group((*known, *self.terms), (Goal(self.obligation.name, query.rest),))

    def confirmed(self) -> bool:
        """Are both solvers quick with it?"""
        within = replace(self.limits, timeout=QUICK * (8 if self.terms else 1))
        return all(ask_one(solver, self.group(), within).status == "unsat" for solver in SOLVERS)

    def shorter(self) -> _Hint:
        """The same without hypotheses that can go: what one solver just passes over may be too much for the other."""
        found, within = self, replace(self.limits, timeout=QUICK)
        for item in self.core:
            if item in found.core:
                less = replace(found, core=tuple(other for other in found.core if other is not item))
                answer = ask_both(less.group(), within)
                found = replace(less, core=answer.core) if answer.status == "unsat" else found
        return found

    def witnessed(self) -> _Hint:
        """The same with terms, which solvers find hard to guess, where the claim says that something exists."""
        query = instances([item.formula for item in self.core], goal_formula(self.model, self.obligation))
        if query is None:
            return self
        offered = tuple(Named(f"{WITNESS}{text}", formula) for text, formula in query.instances.items())
        for _ in range(2):
            core = ask_both(replace(self, terms=offered).group(), self.limits).core
            offered = tuple(item for item in offered if item in core) or offered
        return replace(self, terms=offered if set(offered) <= set(core) else ())


def _hint(hint: _Hint) -> _Hint:
    if hint.confirmed():
        return hint
    with_terms = hint.witnessed()
    return with_terms if with_terms.terms and with_terms.confirmed() else hint.shorter().witnessed()


def _certificate(proof: Proof, limits: Limits) -> Certificate:
    """The invariants, and for each obligation the hypotheses that sufficed, and what shows that something exists."""
    model = proof.relational
    numbers = {
        part: f"guard {number}"
        for transition in model.transitions
        for number, part in enumerate(conjuncts(transition.guard), 1)
    }
    hints: dict[str, tuple[str, ...]] = {}
    for obligation, answer in proof.answers.items():
        if obligation.claim in proof.proved:
            hint = _hint(_Hint(obligation, model, limits, answer.core))
            names = dict.fromkeys(numbers.get(item.formula, item.name) for item in hint.core)
            hints[obligation.name] = (*names, *(item.name for item in hint.terms))
    inductive = [item for item in proof.proved if item in _inductive(model)]
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety if item in inductive}
    return certify(model, [item for item in model.safety if item in proof.proved], inductive, hints)
