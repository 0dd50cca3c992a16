"""How many elements a sort may have in a proof of liveness: what the file says, and else what its axioms say.

Nodes are finitely many.  Numbers are not: a sort that a rigid relation orders totally is like the natural numbers, where finitely
many lie below each element, and no more is assumed.  `finite sort` and `unbounded sort` overrule this.  A sort is taken to be
ordered as soon as no small world of the axioms shows otherwise; that the relation is an order has then to be proved (`goals`).
So a mistake here can lose a proof, not make one.  Read `counting` next for what may be counted.

Which end of an order is the lower one?  `r(x, y)` reads "x is below y".  But if the axioms name a greatest element and no least
one, or say that there is no least one, the order is read the other way round: it may well be `at_least`, and the element zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

from quorate.engines.smt import session
from quorate.engines.smt.ground import Circuit, Grounder, SatSolver
from quorate.logic.expansion import Tables
from quorate.logic.structures import EvaluationError
from quorate.logic.terms import BOOL, INT, Quantified, Sort, Symbol, Term, Var, conj, disj, equal, exists, forall, neg
from quorate.logic.transform import sorts_of, subterms, symbols_of
from quorate.models.relational import Named, RelationalModel

OTHERS = 1, 2, 3
"""How many elements the other sorts have in the small worlds that are looked at."""
FURTHER = 1, 4
"""A sort is looked at with so many more elements, too: what holds of three elements need not hold of four."""
MANY = 9
"""So many elements of sorts that are not finite there must be room for beside a few of those that are."""
MOST_CASES = 2_000_000
"""How many cases an axiom may have in a world that is looked at."""
PATIENCE = session.Limits(timeout=1.5, jobs=1)
"""For a question to a solver, where there are no small worlds."""


@dataclass(frozen=True)
class Order:
    """A rigid relation of two elements; `rising`: the first is the lower one.  If not, `why` is the fact that turns it round."""

    symbol: Symbol
    rising: bool
    why: Term | None = None

    def below(self, lower: Term, upper: Term) -> Term:
        """The first element is below the second, or perhaps the same."""
        return self.symbol(lower, upper) if self.rising else self.symbol(upper, lower)


@dataclass(frozen=True)
class Reading:
    """How a sort is read.  Finite ones may be ordered, too; then `ends`, where there are some, are why they are finite.

    Below each element of an ordered one there are finitely many; of an open one nothing is assumed, for the `reason`.
    """

    kind: Literal["finite", "ordered", "open"]
    orders: tuple[Order, ...] = ()
    ends: tuple[Term, Term] | None = None
    reason: str = ""

    def goals(self, sort: Sort) -> Iterator[tuple[str, Term]]:
        """What has to follow from the axioms for the reading to be right."""
        x, y, z = (Var(name, sort) for name in "XYZ")
        if self.kind == "open" or (self.kind == "finite" and self.ends is None):
            return
        for order in self.orders:
            below = order.below
            yield f"{order.symbol.name} orders {sort}", forall((x, y, z), _is_order(order, x, y, z))
            if not order.rising:
                assert order.why is not None
                yield f"{order.symbol.name} begins at its upper end", order.why
            first = self.orders[0].below
            same = disj(equal(x, y), equal(below(x, y), first(x, y)))
            if order is not self.orders[0]:
                yield f"{order.symbol.name} orders {sort} in the same way", forall((x, y), same)
        if self.ends is not None:
            least, greatest = self.ends
            below = self.orders[0].below
            inside = conj(disj(equal(least, x), below(least, x)), disj(equal(x, greatest), below(x, greatest)))
            yield f"{sort} has a first and a last element", forall((x,), inside)


def _is_order(order: Order, x: Var, y: Var, z: Var) -> Term:
    """Of two different elements one is below the other, and not both; and what is below something is below what that is below."""
    below = order.below
    antisymmetric = disj(equal(x, y), neg(below(x, y)), neg(below(y, x)))
    total = disj(equal(x, y), below(x, y), below(y, x))
    transitive = disj(equal(x, z), neg(below(x, y)), neg(below(y, z)), below(x, z))
    return conj(antisymmetric, total, transitive)


def readings(model: RelationalModel) -> Mapping[Sort, Reading]:
    """How each sort of any size is read."""
    changed = {symbol for transition in model.transitions for symbol in transition.modified}
    fixed = frozenset(s for s in model.symbols if not s.mutable or s not in changed) - model.derived_symbols
    known = tuple(model.expand(item.formula) for item in (*model.axioms, *model.initial))
    facts = tuple(formula for formula in known if symbols_of(formula) <= fixed | _elements(model))
    return _readings(model.sorts, model.symbols, facts, fixed, model.finite, model.unbounded)


def _elements(model: RelationalModel) -> set[Symbol]:
    return {Symbol(element, (), sort) for sort in model.sorts for element in sort.elements}


@lru_cache(maxsize=32)
def _readings(
    sorts: tuple[Sort, ...],
    symbols: tuple[Symbol, ...],
    facts: tuple[Term, ...],
    fixed: frozenset[Symbol],
    finite: frozenset[Sort],
    unbounded: frozenset[Sort],
) -> Mapping[Sort, Reading]:
    found = {}
    for sort in sorts:
        if sort.uninterpreted:
            asked = _Asked(sort, [s for s in sorts if s.uninterpreted], [s for s in symbols if s in fixed], facts)
            found[sort] = _reading(asked, sort in finite, sort in unbounded)
    return found


def _reading(asked: _Asked, finite: bool, unbounded: bool) -> Reading:
    orders = asked.orders()
    if finite:
        return Reading("finite", orders)
    if not orders:
        reason = f"{asked.sort} is unbounded, and nothing orders it"
        return Reading("open", reason=reason) if unbounded else Reading("finite")
    names = ", ".join(order.symbol.name for order in orders)
    if any(order.symbol.mutable for order in orders):
        return Reading("open", reason=f"{asked.sort} is ordered, by {names}, but not by an immutable relation")
    if not all(asked.agree(orders[0], order) for order in orders[1:]):
        return Reading("open", reason=f"{asked.sort} is ordered in several ways: {names}")
    (least, greatest), endless = asked.extremes(orders[0]), asked.endless(orders[0])
    if all(endless) or asked.is_dense(orders[0]):
        return Reading("open", reason=f"{asked.sort} is not ordered like the natural numbers")
    if least is None or greatest is None:
        return Reading("ordered", orders)
    if unbounded:
        return Reading("open", reason=f"{asked.sort} has a first and a last element, but is unbounded")
    return Reading("finite", orders, (least, greatest))


class _Asked:
    """Questions about the worlds of one sort: first about small ones; if there are none, about all, which a solver answers."""

    def __init__(self, sort: Sort, sorts: Sequence[Sort], symbols: Sequence[Symbol], facts: Sequence[Term]) -> None:
        self.sort, self.symbols, self.facts = sort, symbols, facts
        self.constants = [symbol() for symbol in symbols if not symbol.arguments and symbol.sort is sort]
        size = max(3, len(self.constants) + 2)
        self.about = _about(facts, sort)
        found = []
        for larger in (size, *(size + more for more in FURTHER)):
            worlds = (_World(self.about, {**dict.fromkeys(sorts, others), sort: larger}, symbols) for others in OTHERS)
            found.append(next((world for world in worlds if world.exists), None))
        self.worlds = [world for world in found if world is not None]

    def follows(self, formula: Term) -> bool | None:
        """Does a closed formula hold in all worlds?  None if nobody knows."""
        if self.worlds:
            return all(world.follows(formula) for world in self.worlds)
        hypotheses = tuple(Named(f"fact {number}", fact) for number, fact in enumerate(self.about))
        group = session.Group(hypotheses, (session.Goal("order", neg(formula)),))
        status = session.solve_here(group, PATIENCE)[0].status
        return None if status == "unknown" else status == "unsat"

    def orders(self) -> tuple[Order, ...]:
        """The relations that order the sort, as far as is known."""
        x, y, z = (Var(name, self.sort) for name in "XYZ")
        mentioned = symbols_of(*self.about)
        found = []
        for symbol in self.symbols:
            if symbol.arguments == (self.sort, self.sort) and symbol.sort is BOOL and symbol in mentioned:
                order = Order(symbol, True)
                if self.follows(forall((x, y, z), _is_order(order, x, y, z))) is not False:
                    found.append(self.turned(order))
        return tuple(found)

    def turned(self, order: Order) -> Order:
        """The order with its lower end at the bottom."""
        (least, greatest), (bottomless, topless) = self.extremes(order), self.endless(order)
        x, y = (Var(name, self.sort) for name in "XY")
        if greatest is not None and least is None:
            return Order(order.symbol, False, forall((x,), disj(equal(greatest, x), order.below(x, greatest))))
        if bottomless and not topless:
            lower = exists((y,), conj(neg(equal(x, y)), order.below(y, x)))
            return Order(order.symbol, False, forall((x,), lower))
        return order

    def agree(self, first: Order, second: Order) -> bool:
        x, y = (Var(name, self.sort) for name in "XY")
        same = equal(first.below(x, y), second.below(x, y))
        return self.follows(forall((x, y), disj(equal(x, y), same))) is True

    def extremes(self, order: Order) -> tuple[Term | None, Term | None]:
        """A constant that is the least element, and one that is the greatest."""
        x = Var("X", self.sort)
        found: list[Term | None] = []
        for turned in (order, Order(order.symbol, not order.rising)):
            facts = ((c, forall((x,), disj(equal(c, x), turned.below(c, x)))) for c in self.constants)
            found.append(next((constant for constant, fact in facts if self.follows(fact)), None))
        return found[0], found[1]

    def endless(self, order: Order) -> tuple[bool, bool]:
        """Is there something below each element; and above each?  Not in a finite world."""
        if self.worlds:
            return False, False
        x, y = (Var(name, self.sort) for name in "XY")
        lower, upper = (conj(neg(equal(x, y)), order.below(*pair)) for pair in ((y, x), (x, y)))
        below, above = (self.follows(forall((x,), exists((y,), formula))) is True for formula in (lower, upper))
        return below, above

    def is_dense(self, order: Order) -> bool:
        """Is there something between any two elements?  Not in a finite world."""
        if self.worlds:
            return False
        x, y, z = (Var(name, self.sort) for name in "XYZ")
        apart = [disj(equal(a, b), neg(order.below(a, b))) for a, b in ((x, y), (x, z), (z, y))]
        between = exists((z,), conj(neg(apart[1]), neg(apart[2])))
        return self.follows(forall((x, y), disj(apart[0], between))) is True


def _about(facts: Sequence[Term], sort: Sort) -> tuple[Term, ...]:
    """The facts that may say something about a sort: those about it, and those that share symbols with them, and so on."""
    chosen = [fact for fact in facts if sort in _sorts(fact)]
    while True:
        shared = symbols_of(*chosen)
        more = [fact for fact in facts if fact in chosen or symbols_of(fact) & shared]
        if len(more) == len(chosen):
            return tuple(more)
        chosen = more


def _sorts(formula: Term) -> set[Sort]:
    named = {sort for symbol in symbols_of(formula) for sort in (*symbol.arguments, symbol.sort)}
    return named | sorts_of(formula)


class _World:
    """All worlds of given sizes in which some facts hold."""

    def __init__(self, facts: Sequence[Term], sizes: Mapping[Sort, int], symbols: Sequence[Symbol]) -> None:
        circuit = Circuit()
        self.grounder = Grounder(circuit, sizes)
        self.solver = SatSolver(circuit)
        self.tables: Tables = {}
        self.exists = False
        used = symbols_of(*facts) | {s for s in symbols if not s.arguments}
        self.decided = not any(INT in _sorts(fact) or _cases(fact, sizes) > MOST_CASES for fact in facts)
        if not self.decided:
            return
        try:
            listed = [symbol for symbol in symbols if symbol in used and INT not in (*symbol.arguments, symbol.sort)]
            self.tables = {symbol: self.grounder.table(symbol) for symbol in listed}
            for fact in facts:
                circuit.require(self.grounder.formula(fact, self.tables))
        except EvaluationError:
            self.decided = False
            return
        self.exists = bool(self.solver.solve(()))

    def follows(self, formula: Term) -> bool:
        return not self.solver.solve((-self.grounder.formula(formula, self.tables),))


def _cases(formula: Term, sizes: Mapping[Sort, int]) -> int:
    """How many cases the nested quantifiers of a formula have, at most."""
    most = 1
    for term in subterms(formula):
        if isinstance(term, Quantified):
            inside = prod(sizes.get(variable.sort, max(2, len(variable.sort.elements))) for variable in term.variables)
            most = max(most, inside * _cases(term.body, sizes))
    return most


def contradiction(model: RelationalModel) -> str | None:
    """Why the sorts cannot be as they are read, if the axioms tie the number of finite ones to that of others.

    With one message per number there are not finitely many messages, whatever the file says; what is proved then is void.
    """
    found = readings(model)
    few = [sort for sort, reading in found.items() if reading.kind == "finite"]
    many = [sort for sort, reading in found.items() if reading.kind != "finite"]
    rigid = tuple(s for s in model.symbols if not s.mutable and s not in model.derived_symbols)
    formulas = (model.expand(item.formula) for item in model.axioms)
    facts = tuple(f for f in formulas if not any(symbol.mutable for symbol in symbols_of(f)))
    return _contradiction(facts, rigid, tuple(few), tuple(many)) if few else None


@lru_cache(maxsize=32)
def _contradiction(
    facts: tuple[Term, ...], rigid: tuple[Symbol, ...], few: tuple[Sort, ...], many: tuple[Sort, ...]
) -> str | None:
    names = ", ".join(map(str, few))
    least = next((k for k in (*OTHERS, 4, 5) if _World(facts, _sizes(few, k, many, 3), rigid).exists), None)
    if least is not None:
        roomy = _World(facts, _sizes(few, least, many, max(MANY, 2**least + 1)), rigid)
        if not many or roomy.exists or not roomy.decided:
            return None
        others = ", ".join(map(str, many))
        return f"the axioms do not let {names} be finite while there are ever more elements of {others}"
    hypotheses = tuple(Named(f"fact {number}", fact) for number, fact in enumerate(facts))
    for sort in few:
        group = session.Group(hypotheses, (session.Goal("few", _at_most(sort, MANY - 3)),))
        if session.solve_here(group, PATIENCE)[0].status == "unsat":
            return f"the axioms do not let {sort} be finite; the file may say that it is `unbounded`"
    return None


def _sizes(few: Sequence[Sort], small: int, many: Sequence[Sort], large: int) -> dict[Sort, int]:
    return {**dict.fromkeys(few, small), **dict.fromkeys(many, large)}


def _at_most(sort: Sort, count: int) -> Term:
    """There are no more than so many elements."""
    x, *others = (Var(f"X{number}", sort) for number in range(count + 1))
    return exists(others, forall((x,), disj(*(equal(x, other) for other in others))))
