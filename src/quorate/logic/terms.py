"""Sorts, symbols and terms of many-sorted first-order logic with equality.

Terms are immutable and hash-consed: two structurally equal terms are the same object, so equality is identity, memo
tables are cheap and formulas can be shared freely.  Formulas are terms of sort `BOOL`.  Read `transform` next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary


class Interned:
    """Base of everything that exists at most once per value; `__match_args__` lists the fields in constructor order."""

    __slots__ = ("__weakref__",)
    __match_args__: ClassVar[tuple[str, ...]] = ()
    _table: ClassVar[WeakValueDictionary[Any, Any]]

    def __init_subclass__(cls) -> None:
        cls._table = WeakValueDictionary()

    @classmethod
    def _make(cls, *values: Any) -> Self:
        found = cls._table.get(values)
        if found is None:
            found = object.__new__(cls)
            for field, value in zip(cls.__match_args__, values, strict=True):
                object.__setattr__(found, field, value)
            found._prepare()
            cls._table[values] = found
        return found

    def _prepare(self) -> None:
        """Compute what is derived from the fields, once."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field) for field in self.__match_args__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, field)) for field in self.__match_args__)})"


class Sort(Interned):
    """A domain.  `elements` is non-empty for an enumerated sort, whose elements are exactly those constants."""

    __slots__ = ("elements", "name")
    __match_args__ = ("name", "elements")
    name: str
    elements: tuple[str, ...]

    def __new__(cls, name: str, elements: Iterable[str] = ()) -> Sort:
        return cls._make(name, tuple(elements))

    def __str__(self) -> str:
        return self.name

    @property
    def uninterpreted(self) -> bool:
        """True for a sort whose size is not fixed by the language or by an enumeration."""
        return not self.elements and self is not BOOL and self is not INT


class Symbol(Interned):
    """A relation (result `BOOL`), function or constant.

    A mutable symbol has a value in every state; `primes` says in which one, counted from the state at hand (0).
    A rigid symbol has one value for the whole run and never carries primes.
    """

    __slots__ = ("arguments", "mutable", "name", "primes", "sort")
    __match_args__ = ("name", "arguments", "sort", "mutable", "primes")
    name: str
    arguments: tuple[Sort, ...]
    sort: Sort
    mutable: bool
    primes: int

    def __new__(
        cls, name: str, arguments: Iterable[Sort], sort: Sort, mutable: bool = False, primes: int = 0
    ) -> Symbol:
        return cls._make(name, tuple(arguments), sort, mutable, primes)

    def at(self, state: int) -> Symbol:
        """The same symbol in another state; a rigid symbol is the same in all of them."""
        return Symbol(self.name, self.arguments, self.sort, True, state) if self.mutable else self

    def __call__(self, *args: Term) -> Apply:
        return Apply(self, args)

    def __str__(self) -> str:
        return self.name + "'" * self.primes

    @property
    def is_relation(self) -> bool:
        return self.sort is BOOL


class Term(Interned):
    """A term; of sort `BOOL` it is a formula.  `children` are its direct subterms, `free` its free variables."""

    __slots__ = ("free", "sort")
    sort: Sort
    free: frozenset[Var]

    @property
    def children(self) -> tuple[Term, ...]:
        return ()

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        """The same node over other subterms."""
        return self

    def _prepare(self) -> None:
        children = self.children
        if len(children) == 1:
            free = children[0].free
        else:
            free = frozenset().union(*(child.free for child in children))
        object.__setattr__(self, "free", free)
        if not isinstance(self, Var):
            object.__setattr__(self, "sort", self._sort())

    def _sort(self) -> Sort:
        return BOOL

    def __str__(self) -> str:
        from quorate.logic.printing import show

        return show(self)


class Var(Term):
    """A variable, bound by a quantifier, a transition's parameters or an update."""

    __slots__ = ("name",)
    __match_args__ = ("name", "sort")
    name: str

    def __new__(cls, name: str, sort: Sort) -> Var:
        return cls._make(name, sort)

    def _prepare(self) -> None:
        object.__setattr__(self, "free", frozenset((self,)))


class Apply(Term):
    """A symbol applied to terms; a constant is applied to none."""

    __slots__ = ("args", "symbol")
    __match_args__ = ("symbol", "args")
    symbol: Symbol
    args: tuple[Term, ...]

    def __new__(cls, symbol: Symbol, args: Iterable[Term] = ()) -> Apply:
        return cls._make(symbol, tuple(args))

    @property
    def children(self) -> tuple[Term, ...]:
        return self.args

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return Apply(self.symbol, children)

    def _sort(self) -> Sort:
        return self.symbol.sort


class Not(Term):
    __slots__ = ("arg",)
    __match_args__ = ("arg",)
    arg: Term

    def __new__(cls, arg: Term) -> Not:
        return cls._make(arg)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.arg,)

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return Not(*children)


class Nary(Term):
    """Conjunction or disjunction of any number of formulas."""

    __slots__ = ("args",)
    __match_args__ = ("args",)
    args: tuple[Term, ...]

    def __new__(cls, args: Iterable[Term] = ()) -> Self:
        return cls._make(tuple(args))

    @property
    def children(self) -> tuple[Term, ...]:
        return self.args

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return type(self)(children)


class And(Nary):
    __slots__ = ()


class Or(Nary):
    __slots__ = ()


class Binary(Term):
    """An operator with two operands."""

    __slots__ = ("left", "right")
    __match_args__ = ("left", "right")
    left: Term
    right: Term

    def __new__(cls, left: Term, right: Term) -> Self:
        return cls._make(left, right)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.left, self.right)

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return type(self)(*children)


class Implies(Binary):
    __slots__ = ()


class Iff(Binary):
    __slots__ = ()


class Equal(Binary):
    """Equality of two terms of one sort other than `BOOL` (which has `Iff`)."""

    __slots__ = ()


class If(Term):
    """`then` where `condition` holds, `otherwise` elsewhere; of any sort."""

    __slots__ = ("condition", "otherwise", "then")
    __match_args__ = ("condition", "then", "otherwise")
    condition: Term
    then: Term
    otherwise: Term

    def __new__(cls, condition: Term, then: Term, otherwise: Term) -> If:
        return cls._make(condition, then, otherwise)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.condition, self.then, self.otherwise)

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return If(*children)

    def _sort(self) -> Sort:
        return self.then.sort


class Quantified(Term):
    """`Forall` or `Exists` over one or more variables."""

    __slots__ = ("body", "variables")
    __match_args__ = ("variables", "body")
    variables: tuple[Var, ...]
    body: Term

    def __new__(cls, variables: Iterable[Var], body: Term) -> Self:
        return cls._make(tuple(variables), body)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return type(self)(self.variables, *children)

    def _prepare(self) -> None:
        object.__setattr__(self, "free", self.body.free.difference(self.variables))
        object.__setattr__(self, "sort", BOOL)


class Forall(Quantified):
    __slots__ = ()


class Exists(Quantified):
    __slots__ = ()


class Number(Term):
    """An integer literal."""

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: int

    def __new__(cls, value: int) -> Number:
        return cls._make(value)

    def _sort(self) -> Sort:
        return INT


class Arith(Term):
    """Integer arithmetic (`+ - *`) or comparison (`< <= > >=`)."""

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right")
    operator: str
    left: Term
    right: Term

    def __new__(cls, operator: str, left: Term, right: Term) -> Arith:
        return cls._make(operator, left, right)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.left, self.right)

    def rebuild(self, children: tuple[Term, ...]) -> Term:
        return Arith(self.operator, *children)

    def _sort(self) -> Sort:
        return INT if self.operator in ("+", "-", "*") else BOOL


BOOL = Sort("bool")
INT = Sort("int")
TRUE = And(())
FALSE = Or(())


def conj(*formulas: Term) -> Term:
    """Conjunction, flattened, without repeated or trivial members."""
    return _flatten(And, formulas, TRUE, FALSE)


def disj(*formulas: Term) -> Term:
    """Disjunction, flattened, without repeated or trivial members."""
    return _flatten(Or, formulas, FALSE, TRUE)


def _flatten(node: type[Nary], formulas: tuple[Term, ...], unit: Term, zero: Term) -> Term:
    members: dict[Term, None] = {}
    for formula in formulas:
        parts = formula.args if isinstance(formula, node) else (formula,)
        for part in parts:
            if part is zero:
                return zero
            if part is not unit:
                members[part] = None
    if len(members) == 1:
        return next(iter(members))
    return node(members) if members else unit


def neg(formula: Term) -> Term:
    """Negation, without double negations or negated constants."""
    if isinstance(formula, Not):
        return formula.arg
    if formula is TRUE:
        return FALSE
    if formula is FALSE:
        return TRUE
    return Not(formula)


def implies(left: Term, right: Term) -> Term:
    """Implication, simplified where one side is a constant."""
    if left is TRUE or right is TRUE:
        return right
    if left is FALSE:
        return TRUE
    if right is FALSE:
        return neg(left)
    return Implies(left, right)


def equal(left: Term, right: Term) -> Term:
    """Equality at any sort: `Iff` between formulas, `Equal` otherwise; `TRUE` between identical terms."""
    if left is right:
        return TRUE
    if left.sort is BOOL:
        if left is TRUE:
            return right
        if right is TRUE:
            return left
        if left is FALSE:
            return neg(right)
        if right is FALSE:
            return neg(left)
        return Iff(left, right)
    return Equal(left, right)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """Conditional term, simplified where the condition is constant or the branches agree."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if then.sort is BOOL:
        if then is TRUE:
            return disj(condition, otherwise)
        if then is FALSE:
            return conj(neg(condition), otherwise)
        if otherwise is TRUE:
            return disj(neg(condition), then)
        if otherwise is FALSE:
            return conj(condition, then)
    return If(condition, then, otherwise)


def forall(variables: Iterable[Var], body: Term) -> Term:
    """Universal closure over the variables that occur in `body`, merged with a universal prefix of it."""
    return _quantify(Forall, variables, body)


def exists(variables: Iterable[Var], body: Term) -> Term:
    """Existential closure over the variables that occur in `body`, merged with an existential prefix of it."""
    return _quantify(Exists, variables, body)


def _quantify(node: type[Quantified], variables: Iterable[Var], body: Term) -> Term:
    used = tuple(variable for variable in variables if variable in body.free)
    if not used:
        return body
    if isinstance(body, node):
        return node(used + body.variables, body.body)
    return node(used, body)


def distinct(terms: Iterable[Term]) -> Term:
    """All terms pairwise different."""
    listed = list(terms)
    return conj(*(neg(equal(a, b)) for i, a in enumerate(listed) for b in listed[i + 1 :]))
