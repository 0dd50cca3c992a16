"""A protocol as a relational transition system: what every relational language parses to.

Sorts of any size, rigid and mutable symbols, axioms, initial states, guarded transitions, safety properties and offered
invariants, liveness properties and fairness.  Orders, rings and quorums are just axioms.  Read `semantics` next for what a
step means, `temporal` for what fairness does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Equal,
    Forall,
    Iff,
    Not,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    distinct,
    equal,
    forall,
)
from quorate.logic.transform import Lambda, prime, replace_symbols, symbols_of
from quorate.models.source import Source, Span


@dataclass(frozen=True)
class Named:
    """A formula with the name by which verdicts refer to it."""

    name: str
    formula: Term
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def where(self) -> str:
        """The name and, if known, the line it stands on."""
        return f"{self.name} (line {self.span.line})" if self.span else self.name


@dataclass(frozen=True)
class Derived:
    """A symbol whose value in every state is fixed by a formula over the others (and is never framed)."""

    symbol: Symbol
    formula: Term
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def definition(self) -> Lambda | None:
        """Variables and body if the formula is an explicit definition: `forall X. r(X) <-> body(X)` (or `=`)."""
        variables: tuple[Var, ...] = ()
        body = self.formula
        if isinstance(body, Forall):
            variables, body = body.variables, body.body
        match body:
            case Iff(Apply(symbol, args), value) | Equal(Apply(symbol, args), value) if symbol is self.symbol:
                pass
            case Apply(symbol, args) if symbol is self.symbol:
                value = TRUE
            case Not(Apply(symbol, args)) if symbol is self.symbol:
                value = FALSE
            case _:
                return None
        if self.symbol in symbols_of(value) or len(set(args)) != len(args):
            return None
        if not all(isinstance(arg, Var) for arg in args) or not value.free <= set(args) >= set(variables):
            return None
        return args, value  # type: ignore[return-value]

    @cached_property
    def reads(self) -> frozenset[Symbol]:
        """The other symbols that the formula speaks of."""
        return frozenset(symbols_of(self.formula) - {self.symbol})


class CyclicDefinitions(ValueError):
    """Derived symbols are defined by each other, or one of them is defined twice."""


def in_order(derived: Sequence[Derived]) -> tuple[Derived, ...]:
    """The derived symbols, each after those that it is defined by, otherwise as they stand; raises `CyclicDefinitions`.

    With `definition top = mid` before `definition mid = base`, mid comes first.
    """
    pending = {item.symbol for item in derived}
    if len(pending) != len(derived):
        raise CyclicDefinitions("a derived symbol has two definitions")
    waiting = list(derived)
    ordered: list[Derived] = []
    while waiting:
        ready = [item for item in waiting if item.reads.isdisjoint(pending)]
        if not ready:
            names = ", ".join(sorted(item.symbol.name for item in waiting))
            raise CyclicDefinitions(f"derived symbols are defined by each other: {names}")
        ordered.append(ready[0])
        waiting.remove(ready[0])
        pending.discard(ready[0].symbol)
    return tuple(ordered)


@dataclass(frozen=True)
class Update:
    """The value of `symbol` at `variables` after the step, as a term over the state before it."""

    symbol: Symbol
    variables: tuple[Var, ...]
    value: Term

    def formula(self) -> Term:
        """`forall variables. symbol'(variables) = value`, as a formula over two states."""
        return forall(self.variables, equal(self.symbol.at(1)(*self.variables), self.value))


@dataclass(frozen=True)
class Transition:
    """A guarded step.

    The step may be taken for any values of `parameters` and any interpretation of `choices` (symbols that exist for this
    step only) that make `guard` true in the state before; it then changes the updated symbols, all at once, and no
    others.  Nondeterministic updates are updates to a choice: havoc leaves the choice free, and a two-state formula is
    a guard over choices that stand for the new values.
    """

    name: str
    parameters: tuple[Var, ...]
    choices: tuple[Symbol, ...]
    guard: Term
    updates: tuple[Update, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def modified(self) -> frozenset[Symbol]:
        return frozenset(update.symbol for update in self.updates)

    @cached_property
    def constants(self) -> dict[Var, Term]:
        """A constant for each parameter, to speak of one step; no language can write such a name."""
        return {parameter: Symbol(f"@{parameter.name}", (), parameter.sort)() for parameter in self.parameters}

    @cached_property
    def substitution(self) -> dict[Symbol, Lambda]:
        """What each updated symbol is replaced by to speak of the state after in terms of the state before."""
        return {update.symbol: (update.variables, update.value) for update in self.updates}

    def after(self, formula: Term) -> Term:
        """The one-state `formula` after the step, as a term over the state before (weakest precondition, no guard)."""
        return replace_symbols(formula, self.substitution)

    def formula(self, mutable: tuple[Symbol, ...] = ()) -> Term:
        """Guard, updates and the frame of the given mutable symbols, over two states; parameters are left free."""
        parts = [self.guard] + [update.formula() for update in self.updates]
        for symbol in mutable:
            if symbol not in self.modified:
                variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(symbol.arguments))
                parts.append(Update(symbol, variables, symbol(*variables)).formula())
        return conj(*parts)


@dataclass(frozen=True)
class TraceStep:
    """One component of a trace query: an assertion about the state reached, or a step by one of some transitions."""

    assertion: Term | None = None
    initial: bool = False
    calls: tuple[tuple[str, tuple[Term | None, ...]], ...] = ()
    any_transition: bool = False


@dataclass(frozen=True)
class TraceQuery:
    """A `sat trace` or `unsat trace` declaration: is there a run of this shape?"""

    name: str
    satisfiable: bool
    steps: tuple[TraceStep, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Theorem:
    """A formula over `states` states (0: rigid symbols only) to be proved from the axioms alone."""

    name: str
    states: int
    formula: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Fairness:
    """An assumption about infinite runs, for all values of `variables`.

    What is to happen is a step of `transition` with these arguments (None: any), or, without a transition, that `happens` holds
    in a state.  Weak fairness: if from some moment on the assumption is `enabled` (see `temporal`) without a break, it happens
    infinitely often.  Strong fairness: so it does if it is enabled infinitely often.
    """

    name: str
    strong: bool
    variables: tuple[Var, ...]
    when: Term
    transition: str | None = None
    arguments: tuple[Term | None, ...] = ()
    happens: Term | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Hint:
    """What might help to prove a liveness property: a rank, the set of the values of `variables` for which the formula holds,
    or an invariant, which is closed.  Nothing of it is believed.
    """

    kind: Literal["rank", "invariant"]
    variables: tuple[Var, ...]
    formula: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Liveness:
    """Whenever `trigger` holds, for some values of `variables`, `goal` holds then or later, in every fair run.

    A run that ends, because no step can be taken, must have reached its goals before.  `assuming` is fairness that this
    property alone assumes.
    """

    name: str
    variables: tuple[Var, ...]
    trigger: Term
    goal: Term
    assuming: tuple[Fairness, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Expectation:
    """What a file says it expects: `# expect: [VERB] TARGET VERDICT` or `# expect: check SIZE states=N`."""

    verb: str | None
    target: str
    verdict: str
    span: Span | None = field(default=None, compare=False, repr=False)


Language = Literal["ivy", "pyv", "mercury"]


class NameClash(Exception):
    """Two things in a model have one name: no formula about it could be trusted.  The message says which."""


@dataclass(frozen=True)
class RelationalModel:
    """A protocol.  Equality ignores where things stand in the text.

    A derived symbol stands after those that it is defined by, in whatever order the text has them: who goes through `derived`
    finds each value ready when it is needed, and who expands definitions from the last to the first leaves none behind.

    Things that formulas, certificates and solvers tell apart by name have different names; a model that would not keep to
    that is not made (`NameClash`), whichever translation asks for it.
    """

    name: str
    language: Language
    sorts: tuple[Sort, ...]
    symbols: tuple[Symbol, ...]
    derived: tuple[Derived, ...]
    axioms: tuple[Named, ...]
    initial: tuple[Named, ...]
    transitions: tuple[Transition, ...]
    safety: tuple[Named, ...]
    invariants: tuple[Named, ...]
    theorems: tuple[Theorem, ...] = ()
    traces: tuple[TraceQuery, ...] = ()
    liveness: tuple[Liveness, ...] = ()
    fairness: tuple[Fairness, ...] = ()
    finite: frozenset[Sort] = frozenset()
    """Sorts of which the file says that they have finitely many elements."""
    unbounded: frozenset[Sort] = frozenset()
    """Sorts of which it says that they need not."""
    expectations: tuple[Expectation, ...] = field(default=(), compare=False)
    fixed: tuple[str, ...] = field(default=(), compare=False)
    """Sorts that the text interprets by something of a fixed size, in words: `round is bv[1]: 2 elements`."""
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", in_order(self.derived))
        _distinct("sorts", ((sort.name, ()) for sort in self.sorts))
        _distinct("transitions", ((transition.name, ()) for transition in self.transitions))
        constants = [Symbol(name, (), sort) for sort in self.sorts for name in sort.elements]
        symbols = constants + [symbol for symbol in self.symbols if symbol not in constants]
        _distinct("symbols", ((symbol.name, symbol.arguments) for symbol in symbols))
        for transition in self.transitions:
            _distinct(f"parameters of {transition.name}", ((item.name, ()) for item in transition.parameters))
            if transition.choices:
                everything = (*symbols, *transition.choices)
                _distinct(f"symbols of {transition.name}", ((item.name, item.arguments) for item in everything))

    @property
    def derived_symbols(self) -> frozenset[Symbol]:
        return frozenset(item.symbol for item in self.derived)

    @property
    def state_symbols(self) -> tuple[Symbol, ...]:
        """The mutable symbols that make up a state: those that are not derived from others."""
        derived = self.derived_symbols
        return tuple(symbol for symbol in self.symbols if symbol.mutable and symbol not in derived)

    @property
    def properties(self) -> tuple[Named, ...]:
        """Safety properties first, then the offered invariants."""
        return self.safety + self.invariants

    @property
    def all_sizes(self) -> str:
        """What a proof about this model holds for, in words."""
        return "; ".join(("all sizes", *self.fixed))

    def transition(self, name: str) -> Transition:
        return next(transition for transition in self.transitions if transition.name == name)

    def background(self, states: int = 1) -> Iterator[Named]:
        """What holds in every run: enumerations, axioms, and the derived symbols' definitions in the first `states` states."""
        for sort in self.sorts:
            if sort.elements:
                yield Named(f"elements of {sort}", enumeration_axiom(sort))
        yield from self.axioms
        for item in self.derived:
            for state in range(states if item.symbol.mutable else 1):
                yield Named(f"definition of {item.symbol.name}", prime(item.formula, state), item.span)

    def expand(self, formula: Term) -> Term:
        """The one-state formula without derived symbols: each is replaced by its definition, if it has an explicit one."""
        for item in reversed(self.derived):
            if item.definition is not None:
                formula = replace_symbols(formula, {item.symbol: item.definition})
        return formula

    def plain_terms(self, variables: Iterable[Var]) -> dict[Sort, list[Term]]:
        """By sort, the terms that apply no function: the variables, elements of enumerations, and constants."""
        found: dict[Sort, list[Term]] = {}
        for variable in variables:
            found.setdefault(variable.sort, []).append(variable)
        for sort in self.sorts:
            found.setdefault(sort, []).extend(Symbol(name, (), sort)() for name in sort.elements)
        for symbol in self.symbols:
            if not symbol.arguments and symbol.sort is not BOOL and symbol.name not in symbol.sort.elements:
                found.setdefault(symbol.sort, []).append(symbol())
        return found

    def with_invariants(self, invariants: tuple[Named, ...]) -> RelationalModel:
        """The same protocol with other lemmas on offer."""
        return replace(self, invariants=invariants)


def _distinct(what: str, names: Iterable[tuple[str, tuple[Sort, ...]]]) -> None:
    """Names are told apart by the sorts of their arguments too, as `<` of different sorts is in Ivy."""
    seen: set[tuple[str, tuple[Sort, ...]]] = set()
    for name in names:
        if name in seen:
            raise NameClash(f"two {what} are called `{name[0]}`")
        seen.add(name)


def enumeration_axiom(sort: Sort) -> Term:
    """An enumerated sort has exactly its elements."""
    constants = [Symbol(name, (), sort)() for name in sort.elements]
    x = Var("X", sort)
    return conj(distinct(constants), forall((x,), disj(*(equal(x, constant) for constant in constants))))
