"""What a violation looks like, with a name for everything that it speaks of.

The negation of a safety property, its existential variables turned into constants.  Where a relation only becomes true
by a transition whose guard stays true as long as it does, what the guard speaks of gets names too: a decision has a quorum
behind it.  So facts about a violation need no quantifier alternation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    If,
    Not,
    Or,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    exists,
    forall,
    implies,
    neg,
)
from quorate.logic.transform import (
    conjuncts,
    fresh_variables,
    nnf,
    replace_symbols,
    skolem_constants,
    substitute,
    symbols_of,
)
from quorate.methods.inference.questions import Grounds, Question
from quorate.models.relational import RelationalModel, Transition, Update

DEPTH, MOST_CASES = 3, 8
"""How far back one asks where something comes from, and how many cases a violation may have."""


@dataclass(frozen=True)
class Bad:
    """A violation of `claim`: constants (as variables), and what holds of them in the bad state.

    `sides` are constants that belong together: those of one of the facts that contradict each other, and of what is behind it.
    """

    claim: str
    constants: tuple[Var, ...]
    formula: Term
    sides: tuple[frozenset[Var], ...]

    def always(self, model: RelationalModel) -> list[Term]:
        """The parts that hold in all states of a run if they hold in its last: no step changes what they speak of."""
        changing = model.derived_symbols.union(*(transition.modified for transition in model.transitions))
        return [part for part in conjuncts(self.formula) if changing.isdisjoint(symbols_of(part))]


@dataclass(frozen=True)
class Way:
    """What holds for some values of `witnesses` once a transition has made a relation true."""

    witnesses: tuple[Var, ...]
    formula: Term


@dataclass(frozen=True)
class Origin:
    """How a relation becomes true: `relation(variables)` implies that it came about in one of some ways."""

    relation: Symbol
    variables: tuple[Var, ...]
    ways: tuple[Way, ...]

    @property
    def parts(self) -> set[Term]:
        """What is known of it, each without the rest."""
        return {forall(self.variables, exists(w.witnesses, p)) for w in self.ways for p in conjuncts(w.formula)}

    @property
    def lemma(self) -> Term:
        some = disj(*(exists(way.witnesses, way.formula) for way in self.ways))
        return forall(self.variables, implies(self.relation(*self.variables), some))


def violations(model: RelationalModel) -> list[Bad]:
    """One for every conjunct of the safety properties; what axioms say to exist gets a name too."""
    taken = _names(model)
    axioms = [nnf(axiom.formula) for axiom in model.axioms]
    there = [f for f in axioms if isinstance(f, Exists) and not any(symbol.mutable for symbol in symbols_of(f))]
    found = []
    for item in model.safety:
        for part in conjuncts(item.formula):
            symbols, formula = skolem_constants(nnf(conj(neg(model.expand(part)), *there)), taken.__contains__)
            names = [Var(f"{symbol.name.lower()}", symbol.sort) for symbol in symbols]
            constants = tuple(fresh_variables(names, [Var(name, BOOL) for name in taken]))
            formula = replace_symbols(formula, {s: ((), v) for s, v in zip(symbols, constants, strict=True)})
            facts = [part for part in conjuncts(formula) if any(symbol.mutable for symbol in symbols_of(part))]
            found.append(Bad(item.name, constants, formula, tuple(dict.fromkeys(fact.free for fact in facts))))
    return found


def _names(model: RelationalModel) -> set[str]:
    """Names that a constant cannot have."""
    taken = {symbol.name for symbol in model.symbols} | {name for sort in model.sorts for name in sort.elements}
    return taken | {choice.name for transition in model.transitions for choice in transition.choices}


def origins(grounds: Grounds, sizes: Mapping[Sort, int], known: Sequence[Term], together: bool = False) -> list[Origin]:
    """Relations that are made true at a point that the parameters of a transition name, with what stays true of it.

    If `together`, what stays true as long as all of it does; but not of witnesses of a sort that the relation speaks of itself:
    these have witnesses again, and solvers get lost.
    """
    found, model = [], grounds.model
    steps = {t.name: Question(grounds(sizes, t), known) for t in model.transitions}
    for relation in model.state_symbols:
        setters = [(t, u) for t in model.transitions for u in t.updates if u.symbol is relation and not shrinks(u)]
        variables = next((u.variables for _, u in setters), ())
        ways = [_way(steps, t, u, variables, together) for t, u in setters]
        if ways and all(way is not None for way in ways) and relation.is_relation:
            found.append(Origin(relation, variables, tuple(way for way in ways if way is not None)))
    return found


def _way(
    steps: Mapping[str, Question], transition: Transition, update: Update, variables: Sequence[Var], together: bool
) -> Way | None:
    """What stays true as long as a relation does that an update has made true, in terms of the variables; None if nothing."""
    point = _point(update, transition)
    if point is None:
        return None
    others = [_established(other, transition) for other in transition.updates if other is not update]
    names = dict(zip(update.variables, variables, strict=True))
    point = {parameter: substitute(variable, names) for parameter, variable in point.items()}
    guard = substitute(conj(transition.guard, *others), point)
    witnesses = tuple(p for p in transition.parameters if p not in point)
    renamed = dict(zip(witnesses, fresh_variables(witnesses, variables), strict=True))
    guard = substitute(guard, renamed)
    lasting = [part for part in conjuncts(guard) if symbols_of(part).isdisjoint(transition.choices)]
    holds = update.symbol(*variables)
    stable = [part for part in lasting if not any(step.breaks(part, holds) for step in steps.values())]
    if together:
        first = [part for part in lasting if not steps[transition.name].breaks(part, holds)]
        again = {w for w in renamed.values() if any(v.sort is w.sort for v in variables)}
        stable = [part for part in _stable(steps, first, holds) if part.free.isdisjoint(again)]
    told = {v for part in stable if any(s.mutable for s in symbols_of(part)) for v in part.free} | set(variables)
    stable = [part for part in stable if part.free <= told]
    formula = conj(*stable)
    return Way(tuple(renamed[w] for w in witnesses if renamed[w] in formula.free), formula) if stable else None


def _stable(steps: Mapping[str, Question], parts: Sequence[Term], holds: Term) -> list[Term]:
    """The most of the parts that stay true together, as long as something holds."""
    while True:
        stable = [p for p in parts if not any(step.breaks(p, holds, parts) for step in steps.values())]
        if len(stable) == len(parts):
            return stable
        parts = stable


def shrinks(update: Update) -> bool:
    """True if the update can only make the relation false."""
    value = update.value
    parts = value.args if isinstance(value, And) else (value,)
    return update.symbol(*update.variables) in parts or value == Or(())


def _point(update: Update, transition: Transition) -> dict[Var, Term] | None:
    """The parameters at which the update makes its relation true, in terms of its variables; None if it does more."""
    value = update.value
    old = update.symbol(*update.variables)
    if isinstance(value, If) and value.otherwise is old and value.then == And(()):
        value = disj(value.condition, old)
    parts = value.args if isinstance(value, Or) else (value,)
    others = [part for part in parts if part is not old]
    if len(others) != 1 or old not in parts:
        return None
    point: dict[Var, Term] = {}
    for part in conjuncts(others[0]):
        match part:
            case Equal(Var() as left, Var() as right):
                variable, parameter = (left, right) if left in update.variables else (right, left)
                if variable not in update.variables or parameter not in transition.parameters:
                    return None
                if parameter in point:
                    return None
                point[parameter] = variable
            case _:
                return None
    return point if set(point.values()) == set(update.variables) else None


def _established(update: Update, transition: Transition) -> Term:
    """What the update makes true, as far as it is a single fact."""
    point = _point(update, transition)
    if point is None:
        return TRUE
    back = {variable: parameter for parameter, variable in point.items()}
    return update.symbol(*(back[variable] for variable in update.variables))


def with_origins(model: RelationalModel, bad: Bad, found: Sequence[Origin]) -> list[Bad]:
    """The violation with names for the witnesses of what it says has become true: a case for every way, unless too many."""
    taken = [Var(name, BOOL) for name in _names(model)]
    by_relation = {origin.relation: origin for origin in found}
    cases: list[tuple[list[Var], list[Term], list[frozenset[Var]]]]
    cases = [(list(bad.constants), conjuncts(bad.formula), list(bad.sides))]
    done: set[Term] = set()
    for _ in range(DEPTH):
        parts = dict.fromkeys(part for _, known, _ in cases for part in known)
        for part in [part for part in parts if part not in done and isinstance(part, Apply)]:
            origin = by_relation.get(part.symbol)
            done.add(part)
            if origin is None or len(cases) * len(origin.ways) > MOST_CASES:
                continue
            values = dict(zip(origin.variables, part.args, strict=True))
            after = []
            for constants, known, sides in cases:
                for way in origin.ways if part in known else ():
                    fresh = fresh_variables(way.witnesses, [*constants, *taken])
                    named = substitute(way.formula, values | dict(zip(way.witnesses, fresh, strict=True)))
                    new = [fact for fact in conjuncts(named) if fact not in known]
                    wider = [side.union(fresh) if part.free <= side else side for side in sides]
                    after.append((constants + fresh, known + new, wider))
                if part not in known:
                    after.append((constants, known, sides))
            cases = after
    return [Bad(bad.claim, tuple(constants), conj(*parts), tuple(sides)) for constants, parts, sides in cases]


def by_constants(model: RelationalModel, bad: Bad) -> list[Bad]:
    """The violation in cases: which of the elements it speaks of are those that the protocol has names for."""
    named = [s() for s in model.symbols if not s.arguments and not s.mutable and s.sort.uninterpreted]
    cases: list[tuple[tuple[Var, ...], list[Term]]] = [(bad.constants, conjuncts(bad.formula))]
    for constant, known in [(c, k) for c in bad.constants for k in named if k.sort is c.sort]:
        after: list[tuple[tuple[Var, ...], list[Term]]] = []
        for constants, parts in cases:
            apart = _normal(neg(equal(constant, known)))
            if constant not in constants or apart in map(_normal, parts) or len(cases) + len(after) >= MOST_CASES:
                after.append((constants, parts))
                continue
            same = substitute(conj(*parts), {constant: known})
            after.append((tuple(c for c in constants if c is not constant), conjuncts(same)))
            after.append((constants, [*parts, apart]))
        cases = after
    return [replace(bad, constants=names, formula=conj(*parts)) for names, parts in cases if FALSE not in parts]


def in_one_order(bad: Bad, orders: Mapping[Sort, Symbol]) -> Bad:
    """Of two names that can be exchanged together with others, and belong to an ordered sort, the first is not the greater."""
    parts = set(map(_normal, conjuncts(bad.formula)))
    for exchange in _exchanges(bad.constants):
        for one, other in exchange.items():
            if one.sort in orders and parts == {_normal(substitute(part, exchange)) for part in parts}:
                first = disj(equal(one, other), orders[one.sort](one, other))
                return replace(bad, formula=conj(bad.formula, first))
    return bad


def _exchanges(constants: Sequence[Var]) -> Iterator[dict[Var, Var]]:
    """The ways to exchange some pairs of constants of the same sort, all other constants being left alone."""
    if len(constants) < 2:
        yield {}
        return
    first, *others = constants
    for i, other in enumerate(others):
        if other.sort is first.sort:
            for rest in _exchanges(others[:i] + others[i + 1 :]):
                yield {first: other, other: first, **rest}
    yield from _exchanges(others)


def _normal(formula: Term) -> Term:
    """Equations have their smaller side first."""
    match formula:
        case Equal(left, right) if str(right) < str(left):
            return Equal(right, left)
        case Not(arg):
            return Not(_normal(arg))
    return formula


def telling(bad: Bad, found: Sequence[Origin]) -> tuple[Var, ...]:
    """The constants worth speaking of: those that occur in more than facts whose origin is known."""
    explained = {origin.relation for origin in found}
    rest = [p for p in conjuncts(bad.formula) if not (isinstance(p, Apply) and p.symbol in explained)]
    used = frozenset().union(*(part.free for part in rest))
    return tuple(constant for constant in bad.constants if constant in used)


def one_sided(bad: Bad, constants: Sequence[Var]) -> list[tuple[Var, ...]]:
    """Of the constants those of a single side, for each that does not have them all."""
    sides = [tuple(constant for constant in constants if constant in side) for side in bad.sides]
    return [side for side in dict.fromkeys(sides) if 0 < len(side) < len(constants)]


def unspoken(model: RelationalModel, found: Sequence[Origin]) -> set[Symbol]:
    """Relations about which nothing needs to be said but where they come from: no step depends on them."""
    read = set(model.derived_symbols)
    for item in model.derived:
        read |= symbols_of(item.formula)
    for transition in model.transitions:
        read |= symbols_of(transition.guard)
        for update in transition.updates:
            read |= symbols_of(update.value) - {update.symbol}
    return {origin.relation for origin in found} - read
