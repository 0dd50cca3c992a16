"""Terms over finite sizes: quantifiers expanded, look-ups resolved, in whatever algebra a subclass brings.

What a ground truth value or element is (a literal of a SAT problem, a node of an expression graph) is up to the
subclass; how formulas unfold over a finite universe is written here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from quorate.logic.structures import EvaluationError, Value, domain
from quorate.logic.terms import (
    And,
    Apply,
    Equal,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
)

Ground = Any
"""A ground value, as the subclass represents it."""

Tables = dict[Symbol, dict[tuple[Value, ...], Ground]]


class Expander(ABC):
    """Expands terms over finite sizes."""

    true: Ground
    false: Ground

    def __init__(self, sizes: Mapping[Sort, int]) -> None:
        self.sizes = sizes

    @abstractmethod
    def constant(self, value: Value, sort: Sort) -> Ground:
        """A known value."""

    @abstractmethod
    def neg(self, value: Ground) -> Ground: ...

    @abstractmethod
    def conj(self, values: Iterable[Ground]) -> Ground: ...

    @abstractmethod
    def disj(self, values: Iterable[Ground]) -> Ground: ...

    @abstractmethod
    def equal(self, left: Ground, right: Ground, sort: Sort) -> Ground: ...

    @abstractmethod
    def select(self, condition: Ground, then: Ground, otherwise: Ground, sort: Sort) -> Ground:
        """The first value where the condition holds, else the second."""

    def one_of(self, options: Sequence[tuple[Ground, Ground]], sort: Sort) -> Ground:
        """The value whose condition holds; exactly one does."""
        result = options[0][1]
        for condition, value in options[1:]:
            result = self.select(condition, value, result, sort)
        return result

    @abstractmethod
    def cases(self, value: Ground, sort: Sort) -> Iterator[tuple[Value, Ground]]:
        """The possible values, each with the condition under which it is taken."""

    def domain(self, sort: Sort) -> Sequence[Value]:
        return domain(sort, self.sizes)

    def term(self, term: Term, tables: Tables, env: dict[Var, Ground]) -> Ground:
        match term:
            case Var():
                return env[term]
            case Apply(symbol, args):
                return self.lookup(symbol, [self.term(arg, tables, env) for arg in args], tables)
            case Not(arg):
                return self.neg(self.term(arg, tables, env))
            case And(args):
                return self.conj(self._each(args, tables, env, self.false))
            case Or(args):
                return self.disj(self._each(args, tables, env, self.true))
            case Implies(left, right):
                premise = self.term(left, tables, env)
                return self.true if premise == self.false else self._implied(premise, self.term(right, tables, env))
            case Iff(left, right) | Equal(left, right):
                return self.equal(self.term(left, tables, env), self.term(right, tables, env), left.sort)
            case If(condition, then, otherwise):
                test = self.term(condition, tables, env)
                return self.select(test, self.term(then, tables, env), self.term(otherwise, tables, env), then.sort)
            case Quantified(variables, body):
                universal = isinstance(term, Forall)
                instances = self._instances(variables, body, tables, env, self.false if universal else self.true)
                return self.conj(instances) if universal else self.disj(instances)
        raise EvaluationError(f"{type(term).__name__} terms cannot be expanded over finite sizes")

    def _implied(self, premise: Ground, conclusion: Ground) -> Ground:
        return self.disj((self.neg(premise), conclusion))

    def _each(self, args: Iterable[Term], tables: Tables, env: dict[Var, Ground], stop: Ground) -> Iterator[Ground]:
        """The values of formulas, up to the first that settles the whole."""
        for arg in args:
            value = self.term(arg, tables, env)
            yield value
            if value == stop:
                return

    def _instances(
        self, variables: tuple[Var, ...], body: Term, tables: Tables, env: dict[Var, Ground], stop: Ground
    ) -> Iterator[Ground]:
        domains = [[self.constant(v, variable.sort) for v in self.domain(variable.sort)] for variable in variables]
        for values in product(*domains):
            value = self.term(body, tables, {**env, **dict(zip(variables, values, strict=True))})
            yield value
            if value == stop:
                return

    def lookup(self, symbol: Symbol, args: list[Ground], tables: Tables) -> Ground:
        """The value of a symbol at given arguments."""
        if not args and symbol.name in symbol.sort.elements:
            return self.constant(symbol.sort.elements.index(symbol.name), symbol.sort)
        table = tables[symbol]
        options = [list(self.cases(arg, sort)) for arg, sort in zip(args, symbol.arguments, strict=True)]
        if all(len(option) == 1 for option in options):
            return table[tuple(option[0][0] for option in options)]
        return self.one_of(
            [
                (self.conj(condition for _, condition in combination), table[tuple(value for value, _ in combination)])
                for combination in product(*options)
            ],
            symbol.sort,
        )
