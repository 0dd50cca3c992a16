"""Terms over finite sizes: quantifiers expanded, look-ups resolved, in whatever algebra a subclass brings.

What a ground truth value or element is (a literal of a SAT problem, a node of an expression graph) is up to the
subclass; how formulas unfold over a finite universe is written here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from quorate.logic.structures import EvaluationError, Value, domain
from quorate.logic.terms import (
    And,
    Apply,
    Equal,
    Exists,
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
from quorate.logic.transform import parts_of

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
        expand = _BY_KIND.get(type(term))
        if expand is None:
            raise EvaluationError(f"{type(term).__name__} terms cannot be expanded over finite sizes")
        return expand(self, term, tables, env)

    def _variable(self, term: Var, tables: Tables, env: dict[Var, Ground]) -> Ground:
        return env[term]

    def _apply(self, term: Apply, tables: Tables, env: dict[Var, Ground]) -> Ground:
        args = [env[arg] if type(arg) is Var else self.term(arg, tables, env) for arg in term.args]
        return self.lookup(term.symbol, args, tables)

    def _not(self, term: Not, tables: Tables, env: dict[Var, Ground]) -> Ground:
        return self.neg(self.term(term.arg, tables, env))

    def _and(self, term: And, tables: Tables, env: dict[Var, Ground]) -> Ground:
        return self.conj(self._each(term.args, tables, env, self.false))

    def _or(self, term: Or, tables: Tables, env: dict[Var, Ground]) -> Ground:
        return self.disj(self._each(term.args, tables, env, self.true))

    def _implies(self, term: Implies, tables: Tables, env: dict[Var, Ground]) -> Ground:
        premise = self.term(term.left, tables, env)
        return self.true if premise == self.false else self._implied(premise, self.term(term.right, tables, env))

    def _equal(self, term: Iff | Equal, tables: Tables, env: dict[Var, Ground]) -> Ground:
        return self.equal(self.term(term.left, tables, env), self.term(term.right, tables, env), term.left.sort)

    def _if(self, term: If, tables: Tables, env: dict[Var, Ground]) -> Ground:
        test = self.term(term.condition, tables, env)
        then, otherwise = self.term(term.then, tables, env), self.term(term.otherwise, tables, env)
        return self.select(test, then, otherwise, term.then.sort)

    def _quantified(self, term: Quantified, tables: Tables, env: dict[Var, Ground]) -> Ground:
        universal = isinstance(term, Forall)
        instances = self._instances(term.variables, term.body, universal, tables, dict(env))
        return self.conj(instances) if universal else self.disj(instances)

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
        self, variables: tuple[Var, ...], body: Term, universal: bool, tables: Tables, env: dict[Var, Ground]
    ) -> list[Ground]:
        """The instances of a body, up to the first that settles the whole.

        Of a disjunction for all, and of a conjunction for some, each part is expanded as soon as its variables have values:
        where a part settles an instance, there is none for any values of the others.
        """
        junction: type[Term] = Or if universal else And
        parts = list(parts_of(body, junction))
        place = {variable: number for number, variable in enumerate(variables)}
        due: list[list[Term]] = [[] for _ in variables]
        for part in parts:
            due[max((place[v] for v in part.free if v in place), default=0)].append(part)
        domains = [[self.constant(v, variable.sort) for v in self.domain(variable.sort)] for variable in variables]
        settles, stop = (self.true, self.false) if universal else (self.false, self.true)
        join = self.disj if universal else self.conj
        found: list[Ground] = []

        def bind(number: int, known: tuple[Ground, ...]) -> bool:
            """Whether the whole is settled."""
            variable, last = variables[number], number + 1 == len(variables)
            for value in domains[number]:
                env[variable] = value
                now = known
                for part in due[number]:
                    ground = self.term(part, tables, env)
                    if ground == settles:
                        break
                    if ground != stop:
                        now = (*now, ground)
                else:
                    if not last:
                        if bind(number + 1, now):
                            return True
                        continue
                    found.append(now[0] if len(now) == 1 else join(now) if now else stop)
                    if found[-1] == stop:
                        return True
            return False

        if variables:
            bind(0, ())
        else:
            found.append(self.term(body, tables, env))
        return found

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


_BY_KIND: dict[type[Term], Callable[[Expander, Any, Tables, dict[Var, Ground]], Ground]] = {
    Var: Expander._variable,
    Apply: Expander._apply,
    Not: Expander._not,
    And: Expander._and,
    Or: Expander._or,
    Implies: Expander._implies,
    Iff: Expander._equal,
    Equal: Expander._equal,
    If: Expander._if,
    Forall: Expander._quantified,
    Exists: Expander._quantified,
}
