"""Formulas of a round-based algorithm in terms of sets of processes: lemmas, properties and communication predicates.

Counting becomes "there is a set of that size all of whose members ...".  A lemma may come out as any formula at all, since it is
proved of the relational model; a property must not come out weaker than it is, and a predicate, which is assumed, not stronger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Arith,
    Number,
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
from quorate.logic.transform import fresh_variables, substitute
from quorate.models import rounds as r
from quorate.models.linear import ONE, AtLeast, Linear
from quorate.models.quorum_sets import (
    BELOW,
    DECISION,
    FLIPPED,
    ME,
    NODE,
    NONE,
    OTHER,
    PHASE,
    THIRD,
    VALUE,
    Quorums,
    Unsaid,
)
from quorate.models.rounds import Node


def compared(operator: str, left: Term, right: Term) -> Term:
    if operator == "=":
        return equal(left, right)
    if operator == "!=":
        return neg(equal(left, right))
    return Arith(operator, left, right)


class Formula:
    """What the kinds of formulas have in common: connectives and comparisons; quantifiers and counting are their own."""

    def __init__(self, translation: Quorums) -> None:
        self.translation = translation

    def term(self, node: Node, bound: Mapping[str, Term]) -> Term:
        raise NotImplementedError

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        """A number of messages or processes compared with something."""
        raise NotImplementedError

    def compare(self, operator: str, left: Node, right: Node, bound: Mapping[str, Term]) -> Term:
        if counts(right) and not counts(left):
            left, right, operator = right, left, FLIPPED[operator]
        if counts(left):
            if isinstance(right, r.Operation) and right.operator in ("max", "min"):
                every = (right.operator == "max") == (operator in (">", ">="))
                if operator in ("=", "!="):
                    raise Unsaid("a number compared with a maximum for equality")
                parts = [self.compare(operator, left, item, bound) for item in right.operands]
                return conj(*parts) if every else disj(*parts)
            return self.count(left, operator, right, bound)
        first, second = self.term(left, bound), self.term(right, bound)
        if first.sort is VALUE and operator not in ("=", "!="):
            self.translation.ordered = True
            if operator in (">", ">="):
                first, second, operator = second, first, FLIPPED[operator]
            below = BELOW(first, second)
            return below if operator == "<=" else conj(below, neg(equal(first, second)))
        return compared(operator, first, second)

    def number(self, node: Node) -> Term:
        """A number that is no count, as an integer term."""
        form = self.translation.linear(node)
        found: Term = Number(0)
        for name, factor in form.factors:
            if factor.denominator != 1 or name == "n":
                raise Unsaid("a number that is not a whole one, or n itself, compared with the phase")
            value: Term = Number(factor.numerator)
            if name != ONE:
                symbol = self.translation.parameters[name]()
                value = symbol if factor == 1 else Arith("*", value, symbol)
            found = value if found == Number(0) else Arith("+", found, value)
        return found


def counts(node: Node) -> bool:
    return any(isinstance(item, r.Count | r.Counting | r.Size) for item in node.walk())


def unused(wanted: Sequence[tuple[str, Sort]], bound: Mapping[str, Term]) -> list[Var]:
    """Variables with names that nothing in scope has, nor each other."""
    scope = {variable for term in bound.values() for variable in term.free}
    return fresh_variables([Var(name, sort) for name, sort in wanted], scope)


class Lemma(Formula):
    """A formula about the states of all processes: counting becomes a set that exists."""

    def formula(self, node: Node, bound: dict[str, Term]) -> Term:
        match node:
            case r.Truth(value):
                return TRUE if value else FALSE
            case r.Operation("and", operands):
                return conj(*(self.formula(item, bound) for item in operands))
            case r.Operation("or", operands):
                return disj(*(self.formula(item, bound) for item in operands))
            case r.Operation("not", (operand,)):
                return neg(self.formula(operand, bound))
            case r.Operation("->", (left, right)):
                return implies(self.formula(left, bound), self.formula(right, bound))
            case r.Operation(operator, (left, right)):
                return self.compare(operator, left, right, bound)
            case r.Quantified(universal, names, body):
                variables = unused([(name, NODE) for name in names], bound)
                inner = self.formula(body, {**bound, **dict(zip(names, variables, strict=True))})
                return forall(variables, inner) if universal else exists(variables, inner)
            case r.VariableOf():
                return self.term(node, bound)
        raise Unsaid("a formula of this form")

    def term(self, node: Node, bound: Mapping[str, Term]) -> Term:
        match node:
            case r.VariableOf("decision", process):
                return DECISION(self.term(process, bound))
            case r.VariableOf(name, process):
                return self.translation.symbols[name](self.term(process, bound))
            case r.Bound(name):
                return bound[name]
            case r.Nothing():
                return NONE
            case r.Phase():
                return PHASE()
            case r.Truth(value):
                return TRUE if value else FALSE
        return self.number(node)

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        if not isinstance(node, r.Counting):
            raise Unsaid("sums of numbers of processes")
        limit = self.translation.linear(other)
        if operator in ("<", "<="):
            return neg(self.count(node, ">=" if operator == "<" else ">", other, bound))
        if operator in ("=", "!="):
            raise Unsaid("a number of processes compared for equality")
        kind = self.translation.kind(limit, operator == ">")
        group, member = unused([("Q", kind.sort), (node.name, NODE)], bound)
        inner = self.formula(node.body, {**bound, node.name: member})
        return exists((group,), forall((member,), implies(kind.member(member, group), inner)))


class Claim(Lemma):
    """A property: it must not come out weaker than it is, so every set that it speaks of has to exist.

    Where there is no set of a kind, the model has the set of all processes in its place: harmless in a lemma, which is proved
    of the model, but not in a claim.
    """

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        limit = self.translation.linear(other)
        strict = operator in (">", "<=")
        if not self.translation.implied([], AtLeast(Linear.name("n") - limit, strict)):
            raise Unsaid("a property about more processes than there may be")
        return super().count(node, operator, other, bound)


class Predicate(Formula):
    """A communication predicate that is assumed: what it says exists becomes a choice, depending on what is universal."""

    def __init__(self, translation: Quorums, heard: Sequence[Symbol], first: int) -> None:
        super().__init__(translation)
        self.heard = heard
        self.first = first
        self.universal: list[Var] = []
        self.positive = True

    def formula(self, node: Node, bound: dict[str, Term], positive: bool) -> Term:
        match node:
            case r.Truth(value):
                return TRUE if value else FALSE
            case r.Operation("and" | "or" as word, operands):
                return (conj if word == "and" else disj)(*(self.formula(item, bound, positive) for item in operands))
            case r.Operation("not", (operand,)):
                return neg(self.formula(operand, bound, not positive))
            case r.Operation("->", (left, right)):
                return implies(self.formula(left, bound, not positive), self.formula(right, bound, positive))
            case r.Quantified(True, (first, second), r.Related("=", r.HeardOf(p, i), r.HeardOf(q, j))) if (
                positive and i == j and {p, q} == {r.Bound(first), r.Bound(second)}
            ):
                hears = self.heard[i - 1 - self.first]
                common = self.translation.choice("common", (NODE,), BOOL)
                same = [
                    equal(value, substitute(value, {ME: THIRD})) for value in self.translation.determined.get(hears, ())
                ]
                return conj(equal(hears(ME, OTHER), common(OTHER)), *same)
            case r.Quantified(universal, names, body):
                return self.quantified(universal == positive, names, body, bound, positive)
            case r.Operation(operator, (left, right)):
                self.positive = positive
                return self.compare(operator, left, right, bound)
            case r.Member(element, group):
                return self.member(group, self.term(element, bound), bound)
            case r.Related(relation, left, right):
                return self.related(relation, left, right, bound, positive)
        raise Unsaid("a communication predicate of this form")

    def quantified(
        self, universal: bool, names: Sequence[str], body: Node, bound: dict[str, Term], positive: bool
    ) -> Term:
        if universal:
            variables = [Var(f"{name}.{len(self.universal)}", NODE) for name in names]
            before = list(self.universal)
            self.universal += variables
            found = self.formula(body, {**bound, **dict(zip(names, variables, strict=True))}, positive)
            self.universal = before
            return found
        chosen = {name: self.witness() for name in names}
        return self.formula(body, {**bound, **chosen}, positive)

    def witness(self) -> Term:
        return self.translation.choice("some", [NODE] * len(self.universal), NODE)(*self.universal)

    def member(self, group: r.HeardOf, element: Term, bound: Mapping[str, Term]) -> Term:
        hears = self.heard[group.round - 1 - self.first]
        if group.process is None:
            if not self.positive:
                raise Unsaid("a kernel in a negative place")
            return forall((THIRD,), hears(THIRD, element))
        return hears(self.term(group.process, bound), element)

    def related(
        self, relation: str, left: r.HeardOf, right: r.HeardOf, bound: Mapping[str, Term], positive: bool
    ) -> Term:
        if not positive:
            raise Unsaid("heard-of sets related in a negative place")
        if relation == "meets":
            common = self.witness()
            return conj(self.member(left, common, bound), self.member(right, common, bound))
        first, second = self.member(left, OTHER, bound), self.member(right, OTHER, bound)
        return forall((OTHER,), equal(first, second) if relation == "=" else implies(first, second))

    def term(self, node: Node, bound: Mapping[str, Term]) -> Term:
        match node:
            case r.Bound(name):
                return bound[name]
            case r.Coordinator(of):
                assert of is not None
                return self.translation.coordinator(self.term(of, bound))
        return self.number(node)

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        if not isinstance(node, r.Size):
            raise Unsaid("sums of sizes of heard-of sets")
        counted = self.member(node.group, OTHER, bound)
        limit = self.translation.linear(other)
        if not self.positive:
            raise Unsaid("a size of a heard-of set in a negative place")
        n = Linear.name("n")
        if operator in (">", ">="):
            kind = self.translation.kind(limit, operator == ">")
            return self.translation.witnessed("heard", self.universal, counted, kind)
        if operator in ("<", "<="):
            kind = self.translation.kind(n - limit, operator == "<")
            return self.translation.witnessed("unheard", self.universal, neg(counted), kind)
        raise Unsaid("a size of a heard-of set compared for equality")


class Certain:
    """What holds of a round if everybody hears everybody in it (or nobody anybody), whatever was heard in the rounds before."""

    def __init__(self, translation: Quorums, number: int, heard: Literal["all", "none"]) -> None:
        self.translation = translation
        self.number = number
        self.all = heard == "all"

    def holds(self, node: Node, positive: bool = True) -> bool:
        """Is the predicate (or its negation) sure to hold?  False where that is not known."""
        match node:
            case r.Truth(value):
                return value == positive
            case r.Operation("and" | "or" as word, operands):
                parts = [self.holds(item, positive) for item in operands]
                return all(parts) if (word == "and") == positive else any(parts)
            case r.Operation("not", (operand,)):
                return self.holds(operand, not positive)
            case r.Operation("->", (left, right)):
                parts = [self.holds(left, not positive), self.holds(right, positive)]
                return any(parts) if positive else all(parts)
            case r.Quantified(_, _, body):
                return self.holds(body, positive)
            case r.Member(_, group):
                return group.round == self.number and self.all == positive
            case r.Related(relation, left, right):
                return self.related(relation, left.round == self.number, right.round == self.number, positive)
            case r.Operation(operator, (left, right)) if operator in FLIPPED:
                return self.compared(operator if positive else NEGATED[operator], left, right)
        return False

    def related(self, relation: str, left: bool, right: bool, positive: bool) -> bool:
        """`left` and `right`: is this the heard-of set of the round itself?"""
        if relation == "meets":
            return left and right if self.all and positive else not self.all and not positive and (left or right)
        if not positive:
            return False
        return left and right if relation == "=" else right if self.all else left

    def compared(self, operator: str, left: Node, right: Node) -> bool:
        try:
            difference = self.number_of(left) - self.number_of(right)
        except Unsaid:
            return False
        if operator == "!=":
            return False
        needed = [(difference, operator == ">")] if operator in (">", ">=", "=") else []
        needed += [(difference * -1, operator == "<")] if operator in ("<", "<=", "=") else []
        return all(self.translation.implied([], AtLeast(form, strict)) for form, strict in needed)

    def number_of(self, node: Node) -> Linear:
        match node:
            case r.Size(group) if group.round == self.number:
                return Linear.name("n") if self.all else Linear.constant(0)
            case r.Operation("+", (left, right)):
                return self.number_of(left) + self.number_of(right)
            case r.Operation("-", (left, right)):
                return self.number_of(left) - self.number_of(right)
        return self.translation.linear(node)


NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
