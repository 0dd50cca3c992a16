"""Proofs for every n: the relational form of an algorithm (`models/quorums`), invariants that are given or found, a certificate.

Candidates for what holds between phases are templates over the variables of the algorithm: truth values and votes are back to
their first values, times are in the past, values are values.  Candidates for U(v), what guarantees that no other value than v can be
decided any more, are built from the bounds that the algorithm itself compares with.  What a reachable state of a small instance
contradicts is dropped; the rest is put to the solvers, and what they cannot show to hold in all states is withdrawn, until the
remaining candidates support each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from quorate.engines.rounds.search import Search, State
from quorate.engines.smt.session import Answer, Goal, Group, Limits, solve
from quorate.logic.terms import Symbol, equal, forall, implies, neg
from quorate.logic.transform import conjuncts, symbols_of
from quorate.methods.induction.obligations import Obligation, goal_formula, hypotheses, is_trivial
from quorate.models import rounds as r
from quorate.models.evaluation import Forgotten, Machine, RoundsError, World, settings
from quorate.models.quorums import ME, OTHER, Translation, Unsaid, relational
from quorate.models.relational import Named, RelationalModel
from quorate.models.rounds import Node, RoundModel
from quorate.proof.certificates import Certificate, certify

Progress = Callable[[str], None]
MOST_STATES = 4000
"""How many states of a small instance candidates are compared with."""

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


def bounds_of(model: RoundModel) -> list[tuple[str, Node]]:
    """The bounds that the algorithm compares numbers of messages with."""
    found: dict[tuple[str, Node], None] = {}
    for node in model.nodes():
        if isinstance(node, r.Operation) and node.operator in (">", ">="):
            left, right = node.operands
            if isinstance(left, r.Count):
                parts = right.operands if isinstance(right, r.Operation) and right.operator in ("max", "min") else (right,)
                for part in parts:
                    if not any(isinstance(item, r.Count | r.Local) for item in part.walk()):
                        found[node.operator, part] = None
    return list(found)


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
    """Reachable states between the phases of small instances."""

    def __init__(self, model: RoundModel, sizes: Sequence[int] = (2, 3), seconds: float = 6.0) -> None:
        self.machine = Machine(model)
        self.states: list[tuple[int, dict[str, int], State]] = []
        plain = replace(model, invariants=(), safety=())
        ends = time.monotonic() + seconds
        for n in sizes:
            for parameters in settings(model, n):
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
            if taken > MOST_STATES or time.monotonic() > ends:
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
    if model.univalent is not None:
        proof = attempt(model, _given(model), limits, progress)
    else:
        proof = _search(model, limits, progress)
    if not proof.open:
        proof.certificate = _certificate(proof)
    proof.seconds = time.monotonic() - started
    return proof


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
    alive = list(model.properties)
    everything = [Obligation(item, None) for item in alive]
    everything += [Obligation(item, transition) for transition in model.transitions for item in alive]
    pending = [obligation for obligation in everything if not is_trivial(model, obligation)]
    while pending:
        groups = [_group(model, obligation, alive) for obligation in pending]
        for number, _, answer in solve(groups, limits):
            proof.answers[pending[number]] = answer
            progress(f"{sum(o in proof.answers for o in pending)} of {len(pending)} obligations")
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


def _group(model: RelationalModel, obligation: Obligation, assumed: Sequence[Named]) -> Group:
    """An obligation with what may help; what only speaks of good phases is left out where they do not matter."""
    known = hypotheses(model, obligation.transition, assumed)
    goal = goal_formula(model, obligation)
    stages = {symbol for symbol in model.symbols if symbol.name.startswith("sync.")}
    if obligation.transition is not None and stages.isdisjoint(symbols_of(obligation.claim.formula)):
        good = {choice for choice in obligation.transition.choices if choice.name.startswith("good.")}
        known = tuple(
            item
            for item in known
            if good.isdisjoint(symbols_of(item.formula)) and stages.isdisjoint(symbols_of(item.formula))
        )
    return Group(known, (Goal(obligation.name, goal),), ())


def _certificate(proof: Proof) -> Certificate:
    """The invariants, and for each obligation the hypotheses that sufficed."""
    model = proof.relational
    numbers = {
        part: f"guard {number}"
        for transition in model.transitions
        for number, part in enumerate(conjuncts(transition.guard), 1)
    }
    hints = {
        obligation.name: tuple(dict.fromkeys(numbers.get(item.formula, item.name) for item in answer.core))
        for obligation, answer in proof.answers.items()
        if obligation.claim in proof.proved
    }
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety}
    return certify(model, model.safety, proof.proved, hints)
