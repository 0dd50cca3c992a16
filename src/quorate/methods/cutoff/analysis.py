"""Static analysis: which parts of a state and which steps can matter to a violation (Algorithms 2 to 4 of the cutoff paper).

Going backwards from the literals of a violation: a transition that can make such a literal true matters, and then so do the
literals of its guard.  Arguments are followed as terms over the elements that the violation names (`pending(id(A), A)`
leads to `forward(id(A), *, *)`), and `None`, the paper's `*`, where nothing is known of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorate.logic.terms import (
    And,
    Apply,
    Equal,
    Not,
    Or,
    Quantified,
    Symbol,
    Term,
    Var,
    conj,
    neg,
)
from quorate.logic.transform import conjuncts, nnf, skolem_constants, substitute, subterms, symbols_of
from quorate.models.relational import RelationalModel, Transition

Value = Term | None
LARGEST_TERM = 6
"""Terms with more parts are not followed, so that the analysis ends also where functions lead from a sort to itself."""
MOST_WAYS = 64
"""An update is taken apart into at most that many ways to make it true; beyond, it is one way that needs everything."""


@dataclass(frozen=True)
class Clause:
    """A part of a state that matters: a symbol at arguments; a relation where it is true, or false, or (None) both."""

    symbol: Symbol
    arguments: tuple[Value, ...]
    positive: bool | None

    def covers(self, other: Clause) -> bool:
        return (
            self.symbol is other.symbol
            and (self.positive is None or self.positive == other.positive)
            and all(a is None or a is b for a, b in zip(self.arguments, other.arguments, strict=True))
        )

    def __str__(self) -> str:
        arguments = ", ".join("*" if a is None else str(a) for a in self.arguments)
        sign = {True: "", False: "~", None: "="}[self.positive]
        return f"{sign}{self.symbol.name}({arguments})" if arguments else f"{sign}{self.symbol.name}"


@dataclass(frozen=True)
class Invocation:
    """A step that matters: a transition, with what is known of its parameters, in their order."""

    transition: str
    arguments: tuple[Value, ...]

    def covers(self, other: Invocation) -> bool:
        return self.transition == other.transition and all(
            a is None or a is b for a, b in zip(self.arguments, other.arguments, strict=True)
        )

    def __str__(self) -> str:
        return f"{self.transition}({', '.join('*' if a is None else str(a) for a in self.arguments)})"


@dataclass(frozen=True)
class Violation:
    """What a state looks like that violates a part of a safety property; the violators name elements of it."""

    property: str
    violators: tuple[Symbol, ...]
    bad: Term


@dataclass(frozen=True)
class Relevant:
    """The outcome of the analysis."""

    clauses: tuple[Clause, ...]
    invocations: tuple[Invocation, ...]


def violations(model: RelationalModel) -> list[Violation]:
    """The ways to violate the safety properties, one for each conjunct."""
    taken = {symbol.name for symbol in model.symbols} | {e for sort in model.sorts for e in sort.elements}
    taken |= {choice.name for transition in model.transitions for choice in transition.choices}
    found = []
    for item in model.safety:
        for part in conjuncts(item.formula) or [item.formula]:
            constants, bad = skolem_constants(neg(part), taken.__contains__)
            found.append(Violation(item.name, tuple(constants), conj(*conjuncts(bad))))
    return found


def literals(formula: Term, bound: frozenset[Var] = frozenset()) -> Iterator[tuple[Term, bool, frozenset[Var]]]:
    """The atoms of a formula in negation normal form, each with its sign and the variables that are bound around it."""
    match formula:
        case And(args) | Or(args):
            for arg in args:
                yield from literals(arg, bound)
        case Quantified(variables, body):
            yield from literals(body, bound.union(variables))
        case Not(arg):
            yield arg, False, bound
        case _:
            yield formula, True, bound


def value_of(term: Term, known: Mapping[Var, Value]) -> Value:
    """The term if it is made of known elements by rigid symbols only."""
    if any(symbol.mutable for symbol in symbols_of(term)):
        return None
    values = {variable: known.get(variable) for variable in term.free}
    if any(value is None for value in values.values()):
        return None
    known_term = substitute(term, {variable: value for variable, value in values.items() if value is not None})
    return known_term if sum(1 for _ in subterms(known_term)) <= LARGEST_TERM else None


def clauses_of(formula: Term, known: Mapping[Var, Value]) -> list[Clause]:
    """The clauses that a formula asks for."""
    found: list[Clause] = []
    for atom, positive, bound in literals(nnf(formula)):
        here = {variable: value for variable, value in known.items() if variable not in bound}
        for term in subterms(atom):
            if isinstance(term, Apply) and term.symbol.mutable:
                sign = positive if term is atom and term.symbol.is_relation else None
                found.append(Clause(term.symbol, tuple(value_of(arg, here) for arg in term.args), sign))
    return found


def disjuncts(formula: Term) -> list[list[Term]] | None:
    """A formula in negation normal form as a disjunction of lists of literals and quantified formulas; None if too long."""
    match formula:
        case Or(args):
            found: list[list[Term]] = []
            for arg in args:
                part = disjuncts(arg)
                if part is None or len(found) + len(part) > MOST_WAYS:
                    return None
                found += part
            return found
        case And(args):
            product: list[list[Term]] = [[]]
            for arg in args:
                part = disjuncts(arg)
                if part is None or len(product) * len(part) > MOST_WAYS:
                    return None
                product = [left + right for left in product for right in part]
            return product
    return [[formula]]


def unify(left: Term, right: Term, known: dict[Var, Value], open_variables: set[Var]) -> bool:
    """Make two terms equal by giving values to open variables; False if a variable would need two values."""
    for this, other in ((left, right), (right, left)):
        if isinstance(this, Var) and this in open_variables:
            value = value_of(other, known)
            if value is None:
                return True
            if known.get(this) is None:
                known[this] = value
            return known[this] is value
    if isinstance(left, Apply) and isinstance(right, Apply) and left.symbol is right.symbol:
        return all(unify(a, b, known, open_variables) for a, b in zip(left.args, right.args, strict=True))
    return True


def ways(transition: Transition, clause: Clause) -> Iterator[tuple[dict[Var, Value], list[Term]]]:
    """How a transition can establish a clause: values of its parameters, and what the update asks for besides the guard."""
    for update in transition.updates:
        if update.symbol is not clause.symbol:
            continue
        known: dict[Var, Value] = dict(zip(update.variables, clause.arguments, strict=True))
        frame = clause.symbol(*update.variables)
        if not clause.symbol.is_relation:
            yield dict.fromkeys(transition.parameters), [update.value]
            continue
        for sign in (True, False) if clause.positive is None else (clause.positive,):
            formula = nnf(update.value, sign)
            for way in disjuncts(formula) or [[formula]]:
                if (frame if sign else neg(frame)) in way:
                    continue
                found = {**dict.fromkeys(transition.parameters), **known}
                equalities = [part for part in way if isinstance(part, Equal)]
                parameters = set(transition.parameters) | {v for v, value in known.items() if value is None}
                fits = True
                for _ in range(2):
                    fits = fits and all(
                        unify(
                            substitute(part.left, ground(found)),
                            substitute(part.right, ground(found)),
                            found,
                            parameters,
                        )
                        for part in equalities
                    )
                if fits:
                    yield found, way


def ground(known: Mapping[Var, Value]) -> dict[Var, Term]:
    return {variable: value for variable, value in known.items() if value is not None}


def analyse(model: RelationalModel, violation: Violation) -> Relevant:
    """Everything that can matter to a violation, as far as syntax tells."""
    clauses: dict[Clause, None] = dict.fromkeys(clauses_of(violation.bad, {}))
    invocations: dict[Invocation, None] = {}
    waiting = list(clauses)
    while waiting:
        clause = waiting.pop(0)
        for transition in model.transitions:
            for known, way in ways(transition, clause):
                invocations[Invocation(transition.name, tuple(known[p] for p in transition.parameters))] = None
                parameters = {p: known[p] for p in transition.parameters}
                for found in clauses_of(transition.guard, parameters) + clauses_of(conj(*way), known):
                    if found not in clauses:
                        clauses[found] = None
                        waiting.append(found)
    return Relevant(tuple(largest(list(clauses))), tuple(largest(list(invocations))))


def largest(items: Sequence) -> list:  # type: ignore[type-arg]
    """Those that no other covers."""
    return [item for item in items if not any(other != item and other.covers(item) for other in items)]
