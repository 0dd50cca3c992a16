"""From the goals of an argument to a proof of them: which need invariants, and finding these.

A goal that is not valid by itself becomes a claim: what of it is quantified and not needed, according to the samples, is left
out, since what is simple and strong is easier to prove.  Quantified parts that stay get names, as derived relations, so that
clauses can speak of them: this is where invariants with an alternation of quantifiers come from.  The rest is the search
for inductive clauses (`methods/inference`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from quorate.engines.smt.session import Goal as Query
from quorate.engines.smt.session import Group, Limits, solve
from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    If,
    Iff,
    Not,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    forall,
    neg,
)
from quorate.logic.transform import conjuncts, fresh_name, nnf, substitute, subterms, symbols_of
from quorate.methods.inference.houdini import Deadline, OutOfTime
from quorate.methods.inference.invariants import Invariants
from quorate.methods.inference.language import Language
from quorate.methods.inference.questions import Grounded, Question
from quorate.methods.inference.shapes import Shape, growing
from quorate.methods.inference.states import with_derived
from quorate.methods.inference.task import Found, Task, entries
from quorate.methods.liveness.entailment import Entailment
from quorate.methods.liveness.samples import Samples, largest_sizes
from quorate.models.relational import Derived, Named, RelationalModel
from quorate.proof.certificates import Certificate, certify
from quorate.proof.liveness import Goal

Progress = Callable[[str], None]

ORDERED, OTHERS, MOST_ENTRIES = 5, 3, 250
"""The sizes over which questions are asked, unless states have too many entries then."""
PATIENCE = 20.0
"""Seconds for a question of the search to a solver."""
QUICK, AT_ONCE = 3.0, 1.0
"""Seconds for a goal that may need nothing, and for a claim that does."""
MOST_CLAUSES = 400
"""A goal that would be more clauses is taken as it is."""


class Missing(Exception):
    """No proof was found; the message says of what."""


def hard_goals(
    model: RelationalModel,
    goals: Sequence[Goal],
    orders: Mapping[Sort, Symbol],
    limits: Limits,
    known: dict[Term, bool | None],
) -> tuple[list[Goal], list[Goal]]:
    """The goals that are not valid by themselves: small states violate them; and those that no solver proves quickly.

    `known` says of goals that were asked about whether they are valid, None for nobody knows, and learns.
    """
    sizes = {sort: 3 if sort in orders else 2 for sort in model.sorts if sort.uninterpreted}
    question = Question(Grounded(model, sizes, orders, remembers=True))
    new = [goal for goal in goals if goal.formula not in known]
    rest = [goal for goal in new if not _can_fail(question, goal.formula)]
    valid = are_valid(model, (), rest, replace(limits, timeout=QUICK))
    known |= {goal.formula: False for goal in new}
    known |= {goal.formula: is_valid for goal, is_valid in zip(rest, valid, strict=True)}
    hard = [goal for goal in goals if known[goal.formula] is False]
    return hard, [goal for goal in goals if known[goal.formula] is None]


def _can_fail(question: Question, formula: Term) -> bool:
    """Whether a state of the question violates a closed formula."""
    return question.solve(question.grounder.formula(neg(formula), question.before))


def are_valid(
    model: RelationalModel, known: Sequence[Named], goals: Sequence[Goal], limits: Limits
) -> list[bool | None]:
    """Which goals follow from what is known; None for what the solvers do not decide."""
    queries = tuple(Query(goal.name, neg(goal.formula)) for goal in goals)
    found: list[bool | None] = [None] * len(goals)
    if queries:
        for _, number, answer in solve([Group((*model.background(), *known), queries)], limits):
            found[number] = {"unsat": True, "sat": False}.get(answer.status)
    return found


def claims_of(
    model: RelationalModel, known: Sequence[Named], goals: Sequence[Goal], samples: Samples, limits: Limits
) -> list[Named]:
    """Clauses that, with what is known, imply the goals, hold in the samples, and are as short as these allow.

    An initial state that violates one of them becomes a sample, and they are looked for again.
    """
    largest = largest_sizes(model, samples.orders)
    while True:
        claims = _all_claims(model, known, goals, samples, limits)
        wrong = neg(conj(*(claim.formula for claim in claims)))
        start = [*(item.formula for item in model.initial), wrong]
        for size in (1, 2, 4):
            sizes = {sort: min(size, most) if most > 2 else most for sort, most in largest.items()}
            question = Question(Grounded(model, sizes, samples.orders), start)
            if question.solve(1):
                samples.learn(question.read(False)[0])
                break
        else:
            return claims


def _all_claims(
    model: RelationalModel, known: Sequence[Named], goals: Sequence[Goal], samples: Samples, limits: Limits
) -> list[Named]:
    """What is true in all finite states may still have to be shown: solvers know nothing of finiteness."""
    found: dict[Term, None] = {}
    for goal in goals:
        for formula in _claims(disj(neg(conj(*goal.hypotheses)), goal.conclusion), samples):
            found[_canonical(formula)] = None
    sizes = {sort: min(size, 3) for sort, size in largest_sizes(model, samples.orders).items()}
    question = Question(Grounded(model, sizes, samples.orders, remembers=True))
    needed = [formula for formula in found if _can_fail(question, formula)]
    elusive = [Goal(str(formula), (), (), formula) for formula in found if formula not in needed]
    valid = are_valid(model, known, elusive, replace(limits, timeout=AT_ONCE))
    needed += [goal.conclusion for goal, is_valid in zip(elusive, valid, strict=True) if not is_valid]
    kept = [formula for formula in needed if not any(_subsumes(other, formula) for other in needed)]
    return [Named(f"claim{number}", formula) for number, formula in enumerate(kept, 1)]


def _claims(formula: Term, samples: Samples) -> Iterator[Term]:
    for clause in _clauses(nnf(_without_conditionals(nnf(formula)))):
        literals = _solved(clause)
        if literals is None:
            continue
        literals = _shortened(literals, samples)
        instance = _instantiated(literals, samples)
        if instance is None:
            yield _closed(literals)
        else:
            yield from _claims(instance, samples)


def _instantiated(literals: list[Term], samples: Samples) -> Term | None:
    """The clause with one of its variables in place of something that it says exists, if the samples allow that."""
    for literal in literals:
        if isinstance(literal, Exists):
            rest = [other for other in literals if other is not literal]
            free = sorted({v for other in literals for v in other.free}, key=lambda v: v.name)
            constants = [symbol() for symbol in samples.model.symbols if not symbol.arguments]
            pools = [[v for v in [*free, *constants] if v.sort is variable.sort] for variable in literal.variables]
            for values in product(*pools):
                chosen = nnf(substitute(literal.body, dict(zip(literal.variables, values, strict=True))))
                if samples.holds(_closed([*rest, chosen])):
                    return disj(*rest, chosen)
    return None


def _without_conditionals(formula: Term) -> Term:
    """Conditional terms inside atoms become cases."""
    if isinstance(formula, Quantified) or (
        formula.sort is BOOL and any(child.sort is BOOL for child in formula.children)
    ):
        return formula.rebuild(tuple(_without_conditionals(child) for child in formula.children))
    for part in subterms(formula):
        if isinstance(part, If):
            then, otherwise = (_replaced(formula, part, value) for value in (part.then, part.otherwise))
            return conj(
                disj(neg(part.condition), _without_conditionals(then)),
                disj(part.condition, _without_conditionals(otherwise)),
            )
    return formula


def _replaced(term: Term, old: Term, new: Term) -> Term:
    if term is old:
        return new
    children = tuple(_replaced(child, old, new) for child in term.children)
    return term.rebuild(children) if children else term


def _clauses(formula: Term) -> list[tuple[Term, ...]]:
    """The formula as clauses; what would give too many of them stays as it is."""
    if isinstance(formula, And):
        return [clause for part in formula.args for clause in _clauses(part)]
    if isinstance(formula, Or):
        parts = [_clauses(part) for part in formula.args]
        if prod(len(part) for part in parts) <= MOST_CLAUSES:
            return [tuple(dict.fromkeys(literal for c in chosen for literal in c)) for chosen in product(*parts)]
        return [formula.args]
    return [(formula,)]


def _solved(clause: Sequence[Term]) -> list[Term] | None:
    """The clause without variables that it says are equal to others; None if it is always true."""
    literals = list(clause)
    while True:
        literals = [literal for literal in literals if literal is not FALSE]
        known = set(literals)
        known |= {Equal(literal.right, literal.left) for literal in literals if isinstance(literal, Equal)}
        if any(literal is TRUE or neg(literal) in known for literal in literals):
            return None
        for literal in literals:
            match literal:
                case Not(Equal(left, right)) if isinstance(left, Var) or isinstance(right, Var):
                    if isinstance(right, Var) and left not in right.free:
                        left, right = right, left
                    assert isinstance(left, Var)
                    if left in right.free:
                        return None if left is right else literals
                    rest = [_simple(substitute(other, {left: right})) for other in literals if other is not literal]
                    literals = list(dict.fromkeys(rest))
                    break
        else:
            return literals


def _simple(literal: Term) -> Term:
    match literal:
        case Equal(left, right) if left is right:
            return TRUE
        case Not(Equal(left, right)) if left is right:
            return FALSE
    return literal


def _shortened(literals: list[Term], samples: Samples) -> list[Term]:
    """The clause without literals that the samples do not need, complicated ones being left out first."""
    for literal in sorted(literals, key=lambda part: (-_quantifiers(part), -_size(part))):
        rest = [other for other in literals if other is not literal]
        if rest and samples.holds(_closed(rest)):
            literals = rest
    return literals


def _closed(literals: Sequence[Term]) -> Term:
    body = disj(*sorted(literals, key=lambda literal: (_size(literal), str(literal))))
    return forall(sorted(body.free, key=lambda variable: variable.name), body)


def _canonical(formula: Term) -> Term:
    """The closed clause with variables named by sort, in the order in which they occur."""
    if not isinstance(formula, Forall):
        return formula
    order = [part for part in subterms(formula.body) if isinstance(part, Var) and part in formula.variables]
    names: dict[Var, Term] = {}
    for variable in order:
        count = sum(other.sort is variable.sort for other in names) + 1
        names[variable] = Var(f"{variable.sort.name.upper()}{count}", variable.sort)
    return forall(names.values(), substitute(formula.body, names))  # type: ignore[arg-type]


def _subsumes(short: Term, long: Term) -> bool:
    """Does one clause have only literals of the other?  Variables have the same names in both."""
    parts = [set(f.args) if isinstance(f, Or) else {f} for f in map(_body, (short, long))]
    return parts[0] < parts[1]


def _body(formula: Term) -> Term:
    return formula.body if isinstance(formula, Forall) else formula


def _quantifiers(term: Term) -> int:
    return isinstance(term, Quantified) + sum(_quantifiers(child) for child in term.children)


def _size(term: Term) -> int:
    return 1 + sum(_size(child) for child in term.children)


class _Naming:
    """Gives names to quantified formulas: equal ones, up to the names of variables, get the same."""

    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self.taken = {symbol.name for symbol in model.symbols}
        self.taken |= {choice.name for t in model.transitions for choice in t.choices}
        self.taken |= {element for sort in model.sorts for element in sort.elements}
        self.found: dict[Term, Derived] = {}

    def named(self, term: Term) -> Term:
        """The formula with names for its quantified parts."""
        if isinstance(term, Quantified):
            return self._name(term)
        children = tuple(self.named(child) for child in term.children)
        return term.rebuild(children) if children else term

    def claim(self, formula: Term) -> Term:
        """A closed claim: its outermost universal quantifier stays."""
        if isinstance(formula, Quantified) and not isinstance(formula, Exists):
            return forall(formula.variables, self.named(formula.body))
        return self.named(formula)

    def _name(self, term: Quantified) -> Term:
        body, negated = (term, False) if isinstance(term, Exists) else (nnf(neg(term)), True)
        general, places = _generalised(body)
        variables = tuple(Var(f"X{i}", place.sort) for i, place in enumerate(places, 1))
        key = substitute(general, dict(zip([p for p, _ in self._holes(places)], variables, strict=True)))
        if key not in self.found:
            name = fresh_name(f"some{len(self.found) + 1}", self.taken.__contains__)
            self.taken.add(name)
            symbol = Symbol(name, [v.sort for v in variables], BOOL, any(s.mutable for s in symbols_of(key)))
            self.found[key] = Derived(symbol, forall(variables, Iff(symbol(*variables), key)))
        result = self.found[key].symbol(*places)
        return neg(result) if negated else result

    def _holes(self, places: Sequence[Term]) -> Iterator[tuple[Var, Term]]:
        for number, place in enumerate(places, 1):
            yield Var(f"%{number}", place.sort), place

    def extended(self) -> RelationalModel:
        derived = tuple(self.found.values())
        symbols = (*self.model.symbols, *(item.symbol for item in derived))
        return replace(self.model, symbols=symbols, derived=(*self.model.derived, *derived))


def _generalised(term: Term) -> tuple[Term, list[Term]]:
    """The formula with a hole for each free variable and each mutable constant, and what stood there."""
    places: list[Term] = []

    def hole(part: Term) -> Term:
        if part not in places:
            places.append(part)
        return Var(f"%{places.index(part) + 1}", part.sort)

    def walk(part: Term, bound: frozenset[Var]) -> Term:
        if isinstance(part, Var):
            return part if part in bound else hole(part)
        if isinstance(part, Apply) and not part.args and part.sort is not BOOL and part.symbol.mutable:
            return hole(part)
        if isinstance(part, Quantified):
            return part.rebuild((walk(part.body, bound | set(part.variables)),))
        children = tuple(walk(child, bound) for child in part.children)
        return part.rebuild(children) if children else part

    return walk(term, frozenset()), places


@dataclass(frozen=True)
class Support:
    """Claims, and the proof that they hold in every reachable state."""

    claims: tuple[Named, ...]
    invariants: tuple[Named, ...]
    certificate: Certificate | None


class _LargerTask(Task):
    """Asks its questions over larger sizes: positions along an order, and what follows a position, need room.

    What follows a position is not spoken of: an order can say that, and solvers get lost in what follows what follows.
    """

    def language(
        self, shape: Shape, constants: Sequence[Var] = (), unspoken: Collection[Symbol] = (), brief: bool = False
    ) -> Language:
        successors = [s for s in self.model.symbols if not s.mutable and s.sort in s.arguments]
        return super().language(shape, constants, [*unspoken, *successors], brief)

    def sizes(self, shape: Shape, constants: Sequence[Var] = ()) -> dict[Sort, int]:
        sizes = super().sizes(shape, constants)
        for sort in sorted(sizes, key=lambda sort: sort not in self.orders):
            for size in range(ORDERED if sort in self.orders else OTHERS, sizes[sort], -1):
                larger = {**sizes, sort: size}
                if entries(self.model, larger) <= MOST_ENTRIES and Question(
                    Grounded(self.model, larger, self.orders)
                ).solve(1):
                    sizes = larger
                    break
        return sizes


class _GoalTask(_LargerTask):
    """Its safety properties are goals, which have to follow."""

    assumes_safety = False


def support(
    model: RelationalModel,
    claims: Sequence[Named],
    samples: Samples,
    limits: Limits,
    until: float,
    seed: int,
    progress: Progress,
) -> Support:
    """Invariants that prove the claims; raises `Missing`."""
    if not claims:
        return Support((), (), None)
    with_names = any(_quantifiers(_body(claim.formula)) for claim in claims)
    return _search(model, claims, samples, with_names, limits, until, seed, progress)


def entailed(
    model: RelationalModel,
    goals: Sequence[Goal],
    samples: Samples,
    limits: Limits,
    until: float,
    seed: int,
    progress: Progress,
) -> tuple[Support, list[Goal]]:
    """Clauses that goals follow from, together with invariants of the model; and the goals for which none were found."""
    left: list[Goal] = list(goals)
    hints: dict[str, tuple[str, ...]] = {}
    found: dict[Named, None] = {}
    limits = replace(limits, timeout=min(limits.timeout, PATIENCE))
    open_: list[Goal] = []
    """Goals that no solver decides: other clauses would not help."""
    for extended, shape in _languages(model):
        if not left:
            break
        named = {Named(goal.name, goal.formula): goal for goal in left}
        known = (*found, *(item for item in model.invariants if item not in found))
        claimed = replace(extended, safety=tuple(named), invariants=known)
        states = samples.states if extended is model else [with_derived(extended, s) for s in samples.states]
        task = _GoalTask(claimed, limits, seed, Deadline(until), progress, states)
        search, outcome = Entailment(task, shape), Found(claimed)
        try:
            failure = search.go_on(outcome)
        except OutOfTime:
            break
        if failure is None:
            found |= {replace(item, formula=extended.expand(item.formula)): None for item in outcome.invariants}
            hints |= outcome.certificate.hints if outcome.certificate is not None else {}
            left = [goal for item, goal in named.items() if item not in search.goals]
        open_ += [goal for item, goal in named.items() if item in search.undecided and goal in left]
        left = [goal for goal in left if goal not in open_]
        progress(f"{shape}: {failure or f'{len(left)} goals left'}")
    invariants = tuple(found)
    claimed = replace(model, safety=invariants, invariants=())
    certificate = certify(claimed, invariants, invariants, hints) if invariants else None
    return Support(invariants, (), certificate), [*left, *open_]


def _languages(model: RelationalModel) -> Iterator[tuple[RelationalModel, Shape]]:
    """What clauses may be made of: little, with the projections that guards look at, if there are any; then more.

    Of what a projection leaves open there may be two, to say that there is one at most.
    """
    shapes = _shapes(model)
    first = next(shapes)
    extended, open_ = _projected(model)
    if open_:
        yield extended, Shape({sort: 1 + (sort in open_) for sort in first.variables}, first.literals, first.total)
    yield model, first
    if not open_:
        yield model, next(shapes)


def _projected(model: RelationalModel) -> tuple[RelationalModel, set[Sort]]:
    """The protocol with names for what guards say of a relation with some of its arguments left open: that there are any.

    And the sorts of these arguments.
    """
    naming, open_ = _Naming(model), set()
    for transition in model.transitions:
        for part in conjuncts(nnf(transition.guard)):
            piece = nnf(neg(part)) if isinstance(part, Forall) else part
            if isinstance(piece, Exists) and isinstance(piece.body, Apply) and piece.free <= {*transition.parameters}:
                naming.named(piece)
                open_ |= {variable.sort for variable in piece.variables}
    return naming.extended(), open_


def _shapes(model: RelationalModel) -> Iterator[Shape]:
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    return growing(model, Shape(dict.fromkeys(sorts, 2), 3, min(4, 2 * len(sorts))))


def joined(model: RelationalModel, first: Support, second: Support) -> Support:
    """Both; the first is used by the second."""
    if first.certificate is None or second.certificate is None:
        return second if first.certificate is None else first
    claims = (*first.claims, *second.claims)
    invariants = tuple(item for item in second.invariants if item not in first.claims)
    hints = {**first.certificate.hints, **second.certificate.hints}
    claimed = replace(model, safety=claims, invariants=())
    return Support(claims, invariants, certify(claimed, claims, (*claims, *invariants), hints))


def _search(
    model: RelationalModel,
    claims: Sequence[Named],
    samples: Samples,
    with_names: bool,
    limits: Limits,
    until: float,
    seed: int,
    progress: Progress,
) -> Support:
    """The search in growing languages, in which quantified parts of claims may have names."""
    naming = _Naming(model)
    named = (
        tuple(replace(claim, formula=naming.claim(claim.formula)) for claim in claims) if with_names else tuple(claims)
    )
    extended = replace(naming.extended(), safety=named)
    limits = replace(limits, timeout=min(limits.timeout, PATIENCE))
    known = [with_derived(extended, states) for states in samples.states]
    task = _LargerTask(extended, limits, seed, Deadline(until), progress, known)
    for claim in named:
        if not all(bool(states.evaluate(claim.formula, {}).all()) for states in task.states):
            raise Missing(f"{claim.formula} does not hold in a larger instance")
    found = Found(extended)
    reasons: list[str] = []
    for shape in _shapes(task.model):
        if time.monotonic() > until:
            break
        task.until = Deadline(until)
        try:
            failure = Invariants(task, shape).go_on(found)
        except OutOfTime:
            break
        if found.certificate is not None:
            return _support(model, extended, claims, found)
        reasons.append(f"{shape}: {failure}")
    raise Missing("; ".join(reasons[-3:]) or "the time is over")


def _support(model: RelationalModel, extended: RelationalModel, claims: Sequence[Named], found: Found) -> Support:
    """What was found, without the names that quantified formulas were given."""
    assert found.certificate is not None
    invariants = tuple(Named(item.name, extended.expand(item.formula)) for item in found.invariants)
    known = (*claims, *invariants)
    claimed = replace(model, safety=tuple(claims), invariants=())
    return Support(tuple(claims), invariants, certify(claimed, claims, known, found.certificate.hints))
