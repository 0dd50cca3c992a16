"""Finite structures and what terms mean in them: the plain semantics that every engine is checked against.

A structure fixes how many elements each sort has and a value for each symbol.  `Evaluator` turns a term into a Python
closure once and runs it many times.  Nothing here knows about solvers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from quorate.logic.terms import (
    BOOL,
    INT,
    And,
    Apply,
    Arith,
    Equal,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Number,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
)
from quorate.logic.transform import parts_of

Value = bool | int
"""A truth value, an integer, or the index of an element of its sort."""

Table = Mapping[tuple[Value, ...], Value]
"""A symbol's value at each tuple of arguments; total over the structure's universe."""

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class EvaluationError(Exception):
    """The structure does not determine the term: a symbol has no value, or a variable ranges over the integers."""


def domain(sort: Sort, sizes: Mapping[Sort, int]) -> range | tuple[bool, bool]:
    """All values of a sort, given the sizes of the uninterpreted ones."""
    if sort is BOOL:
        return (False, True)
    if sort is INT:
        raise EvaluationError("the integers are not finite")
    if sort.elements:
        return range(len(sort.elements))
    try:
        return range(sizes[sort])
    except KeyError:
        raise EvaluationError(f"no size is given for sort {sort}") from None


def cases(term: Term, sizes: Mapping[Sort, int]) -> int:
    """How many cases the nested quantifiers of a formula have together."""
    mine = prod(len(domain(v.sort, sizes)) for v in term.variables) if isinstance(term, Quantified) else 1
    return mine * max([1, *(cases(child, sizes) for child in term.children)])


def argument_tuples(arguments: Iterable[Sort], sizes: Mapping[Sort, int]) -> product[tuple[Value, ...]]:
    """All tuples of values of the given sorts."""
    return product(*(domain(sort, sizes) for sort in arguments))


@dataclass(frozen=True)
class Structure:
    """Sizes of the uninterpreted sorts and a table for each symbol (primes included in the symbol)."""

    sizes: Mapping[Sort, int]
    tables: Mapping[Symbol, Table]

    def value(self, symbol: Symbol, args: tuple[Value, ...]) -> Value:
        try:
            return self.tables[symbol][args]
        except KeyError:
            if symbol.arguments == () and symbol.name in symbol.sort.elements:
                return symbol.sort.elements.index(symbol.name)
            raise EvaluationError(f"the structure gives no value to {symbol}{args or ''}") from None

    def evaluate(self, term: Term, bindings: Mapping[Var, Value] | None = None) -> Value:
        """The value of a term; its free variables are looked up in `bindings`."""
        return Evaluator(self.sizes).compile(term)(self, dict(bindings or {}))

    def holds(self, formula: Term, bindings: Mapping[Var, Value] | None = None) -> bool:
        return bool(self.evaluate(formula, bindings))


Compiled = Callable[[Structure, dict[Var, Value]], Value]


class Evaluator:
    """Compiles terms for structures of given sizes; compiled terms are kept."""

    def __init__(self, sizes: Mapping[Sort, int]) -> None:
        self.sizes = sizes
        self._compiled: dict[Term, Compiled] = {}

    def compile(self, term: Term) -> Compiled:
        done = self._compiled.get(term)
        if done is None:
            done = self._compiled[term] = self._build(term)
        return done

    def _build(self, term: Term) -> Compiled:
        match term:
            case Var():
                return lambda structure, env: env[term]
            case Number(value):
                return lambda structure, env: value
            case Apply(symbol, args):
                compiled = [self.compile(arg) for arg in args]
                return lambda structure, env: structure.value(symbol, tuple([arg(structure, env) for arg in compiled]))
            case Not(arg):
                inner = self.compile(arg)
                return lambda structure, env: not inner(structure, env)
            case And(args):
                parts = [self.compile(arg) for arg in args]
                return lambda structure, env: all(part(structure, env) for part in parts)
            case Or(args):
                parts = [self.compile(arg) for arg in args]
                return lambda structure, env: any(part(structure, env) for part in parts)
            case Implies(left, right):
                first, second = self.compile(left), self.compile(right)
                return lambda structure, env: not first(structure, env) or second(structure, env)
            case Iff(left, right) | Equal(left, right):
                first, second = self.compile(left), self.compile(right)
                return lambda structure, env: first(structure, env) == second(structure, env)
            case If(condition, then, otherwise):
                test, yes, no = self.compile(condition), self.compile(then), self.compile(otherwise)
                return lambda structure, env: yes(structure, env) if test(structure, env) else no(structure, env)
            case Arith(op, left, right):
                apply, first, second = _OPERATORS[op], self.compile(left), self.compile(right)
                return lambda structure, env: apply(first(structure, env), second(structure, env))
            case Quantified(variables, body):
                return self._quantifier(variables, body, isinstance(term, Forall))
        raise TypeError(f"not a term: {term!r}")

    def _quantifier(self, variables: tuple[Var, ...], body: Term, universal: bool) -> Compiled:
        """Of a disjunction for all, each part is looked at as soon as its variables have values: where it is true, the values of
        the other variables do not matter.  So with a conjunction for some, where a part is false."""
        domains = [domain(variable.sort, self.sizes) for variable in variables]
        place = {variable: number for number, variable in enumerate(variables)}
        due: list[list[Compiled]] = [[] for _ in variables]
        for part in parts_of(body, Or if universal else And):
            due[max((place[v] for v in part.free if v in place), default=0)].append(self.compile(part))

        def decided(number: int, structure: Structure, env: dict[Var, Value]) -> bool:
            """Whether values of the variables from this one on decide the whole: against all, or for some."""
            for value in domains[number]:
                env[variables[number]] = value
                if any(bool(part(structure, env)) == universal for part in due[number]):
                    continue
                if number + 1 == len(variables) or decided(number + 1, structure, env):
                    return True
            return False

        return lambda structure, env: decided(0, structure, dict(env)) != universal
