"""Formulas of a round-based algorithm in terms of sets of processes: lemmas, properties and communication predicates.

Counting becomes "there is a set of that size all of whose members ...".  A lemma may come out as any formula at all, since it is
proved of the relational model; a property must not come out weaker than it is, and a predicate, which is assumed, not stronger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Arith,
    Number,
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
from quorate.logic.transform import substitute
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
                variables = [Var(f"{name}{len(bound)}", NODE) for name in names]
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
        group, member = Var(f"Q{len(bound)}", kind.sort), Var(f"{node.name}{len(bound)}", NODE)
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
