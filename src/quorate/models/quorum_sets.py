"""Sets of processes in place of numbers of them: the sorts, what such sets have in common, and the choices of a phase.

Every bound of the text (`> n/2`) gives a sort, whose elements stand for all sets of processes of that size.  A run with n
processes is a structure of this vocabulary: `node` are the processes, the elements of a sort are the sets of its size, or the set
of all processes alone where there is none.  An axiom is added only if it holds in every such structure, which `implied` shows by
linear arithmetic; one that cannot be shown is left out, and then less is proved.  Read `quorum_formulas`, `quorum_rounds` next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

from quorate.logic.terms import (
    BOOL,
    INT,
    TRUE,
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
from quorate.logic.transform import substitute
from quorate.models import rounds as r
from quorate.models.evaluation import RoundsError
from quorate.models.linear import AtLeast, Linear, contradictory
from quorate.models.relational import Named
from quorate.models.rounds import Node, RoundModel

NODE, VALUE = Sort("node"), Sort("value")
NONE = Symbol("value.none", (), VALUE)()
BELOW = Symbol("value.at_most", (VALUE, VALUE), BOOL)
PROPOSAL = Symbol("node.proposal", (NODE,), VALUE)
PHASE = Symbol("phase", (), INT, True)
DECISION = Symbol("decision", (NODE,), VALUE, True)
REVOKED = Symbol("decision.revoked", (NODE,), BOOL, True)
EMPTY = Symbol("decision.empty", (NODE,), BOOL, True)
SEEN = Symbol("sync.seen", (), BOOL, True)
ME, OTHER, THIRD = Var("P", NODE), Var("M", NODE), Var("N", NODE)
FEW_ROUNDS = 1
"""A phase of so many rounds is short: solvers do better with one large formula than with names for its stages."""
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def bounds_of(model: RoundModel) -> list[tuple[str, Node]]:
    """The bounds that the algorithm compares numbers of messages with."""
    found: dict[tuple[str, Node], None] = {}
    for node in model.nodes():
        if isinstance(node, r.Operation) and node.operator in (">", ">="):
            left, right = node.operands
            if isinstance(left, r.Count):
                parts = (
                    right.operands if isinstance(right, r.Operation) and right.operator in ("max", "min") else (right,)
                )
                for part in parts:
                    if not any(isinstance(item, r.Count | r.Local) for item in part.walk()):
                        found[node.operator, part] = None
    return list(found)


class Unsaid(RoundsError):
    """Something that cannot be said with quorums."""


@dataclass(frozen=True)
class Kind:
    """Sets of at least (or more than) so many processes."""

    bound: Linear
    strict: bool
    sort: Sort
    member: Symbol

    def facts(self, size: str) -> AtLeast:
        return AtLeast(Linear.name(size) - self.bound, self.strict)


@dataclass
class Quorums:
    """The vocabulary of an algorithm, and the choices and the guard of the phase that is being built."""

    model: RoundModel
    kinds: dict[tuple[Linear, bool], Kind] = field(default_factory=dict)
    left_open: list[str] = field(default_factory=list)
    ordered: bool = False
    determined: dict[Symbol, list[Term]] = field(default_factory=dict)
    """What processes pick from all messages of a round, by what they hear: those that hear the same pick the same."""
    sent: list[tuple[Term, tuple[Term, ...]]] = field(default_factory=list)
    """For each round with messages: the condition under which ME sends one, and its parts."""
    decisions: list[tuple[Term, Term]] = field(default_factory=list)
    """For each `decide`: the condition under which ME carries it out, and the value."""
    choices: list[Symbol] = field(default_factory=list)
    guard: list[Term] = field(default_factory=list)
    coordinator: Symbol = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        for reason, wrong in (
            ("sets of values", any(item.kind == "set" for item in model.variables)),
            ("steps on shared variables", bool(model.steps)),
            ("runs of a fixed number of phases", model.phases is not None),
            ("crashes and omissions", model.faults is not None),
            ("messages that are kept", model.keeps_messages),
        ):
            if wrong:
                raise RoundsError(f"there is no proof for every n of algorithms with {reason}")
        sorts = {"bool": BOOL, "time": INT}
        self.symbols = {
            item.name: Symbol(item.name, (NODE,), sorts.get(item.kind, VALUE), True) for item in model.variables
        }
        self.tags = {name: Number(i + 1) for i, name in enumerate(model.tags)}
        self.parameters = {item.name: Symbol(item.name, (), INT) for item in model.parameters}
        self.assumptions = [AtLeast(Linear.name("n") - Linear.constant(1))]
        self.assumptions += [AtLeast(Linear.name(item.name)) for item in model.parameters]
        for item in model.parameters:
            for part in r.conjuncts(item.constraint):
                self.assumptions += self.facts(part)
        for operator, bound in bounds_of(model):
            try:
                self.kind(self.linear(bound), operator == ">")
            except Unsaid:
                continue

    # -- numbers ---------------------------------------------------------------------------------------------------

    def linear(self, node: Node) -> Linear:
        match node:
            case r.Number(value):
                return Linear.constant(value)
            case r.Parameter(name):
                return Linear.name(name)
            case r.Operation("+", (left, right)):
                return self.linear(left) + self.linear(right)
            case r.Operation("-", (left, right)):
                return self.linear(left) - self.linear(right)
            case r.Operation("*", (left, right)):
                factor, other = (left, right) if isinstance(left, r.Number) else (right, left)
                assert isinstance(factor, r.Number)
                return self.linear(other) * factor.value
            case r.Operation("/", (left, r.Number(divisor))):
                return self.linear(left) * Fraction(1, divisor)
        raise Unsaid("a number that is not linear")

    def facts(self, node: Node) -> list[AtLeast]:
        """What a constraint on the parameters says, as far as it is linear."""
        match node:
            case r.Operation(operator, (left, right)) if operator in ("<", "<=", ">", ">=", "="):
                try:
                    difference = self.linear(right) - self.linear(left)
                except Unsaid:
                    return []
                if operator in (">", ">="):
                    difference = difference * -1
                found = [AtLeast(difference, operator in ("<", ">"))]
                return [*found, AtLeast(difference * -1)] if operator == "=" else found
        return []

    def kind(self, bound: Linear, strict: bool) -> Kind:
        """The sort of all sets of at least (or more than) this size."""
        key = (bound, strict)
        if key not in self.kinds:
            label = f"{'more' if strict else 'least'}:{str(bound).replace(' ', '')}"
            sort = Sort(f"quorum:{label}")
            self.kinds[key] = Kind(bound, strict, sort, Symbol(f"member:{label}", (NODE, sort), BOOL))
        return self.kinds[key]

    def implied(self, facts: Sequence[AtLeast], conclusion: AtLeast) -> bool:
        """Does it follow, for every n and all parameters?"""
        sizes = [
            AtLeast(Linear.name("n") - Linear.name(name))
            for fact in facts
            for name, _ in fact.form.factors
            if name[:1] == "|"
        ]
        negation = AtLeast(conclusion.form * -1, not conclusion.strict)
        return contradictory([*self.assumptions, *sizes, *facts, negation])

    def axioms(self) -> Iterator[Named]:
        """What sets of these sizes have in common, whatever n is.

        Not empty: n >= 1 and the bound make |A| > 0; the set of all processes is not empty either.  Two kinds meet: if
        |A| + |B| > n, no two sets of these sizes are disjoint; the set of all processes meets every set that is not empty, which
        is why both kinds have to be shown not to be empty first.  Three kinds have a common member: if |A| + |B| + |C| > 2n;
        where one of them is the set of all processes the other two still have to meet, which is shown first.
        """
        inhabited = [
            kind for kind in self.kinds.values() if self.implied([kind.facts("|A|")], AtLeast(Linear.name("|A|"), True))
        ]
        for kind in inhabited:
            group = Var("A", kind.sort)
            yield Named(f"{kind.sort} is not empty", forall((group,), exists((OTHER,), kind.member(OTHER, group))))
        meeting: set[tuple[Kind, Kind]] = set()
        for first, second in combinations_with_replacement(inhabited, 2):
            if self._meet(first, second):
                meeting.add((first, second))
                a, b = Var("A", first.sort), Var("B", second.sort)
                inside = conj(first.member(OTHER, a), second.member(OTHER, b))
                yield Named(f"{first.sort} and {second.sort} meet", forall((a, b), exists((OTHER,), inside)))
        for three in combinations_with_replacement(inhabited, 3):
            if meeting.issuperset(combinations(three, 2)) and self._meet(*three):
                groups = [Var(name, kind.sort) for name, kind in zip("ABC", three, strict=True)]
                inside = conj(*(kind.member(OTHER, group) for kind, group in zip(three, groups, strict=True)))
                name = f"{three[0].sort}, {three[1].sort} and {three[2].sort} meet"
                yield Named(name, forall(groups, exists((OTHER,), inside)))
        if self.ordered:
            x, y, z = (Var(name, VALUE) for name in "XYZ")
            yield Named("at_most is reflexive", forall((x,), BELOW(x, x)))
            yield Named(
                "at_most is transitive", forall((x, y, z), implies(conj(BELOW(x, y), BELOW(y, z)), BELOW(x, z)))
            )
            yield Named(
                "at_most is antisymmetric", forall((x, y), implies(conj(BELOW(x, y), BELOW(y, x)), equal(x, y)))
            )
            yield Named("at_most is total", forall((x, y), disj(BELOW(x, y), BELOW(y, x))))

    def _meet(self, *kinds: Kind) -> bool:
        """Do sets of these sizes have a common member: are they too large for every process to be missing from one of them?"""
        names = [f"|{letter}|" for letter in "ABC"[: len(kinds)]]
        total = Linear.name("n") * (1 - len(kinds))
        for name in names:
            total = total + Linear.name(name)
        facts = [kind.facts(name) for kind, name in zip(kinds, names, strict=True)]
        return self.implied(facts, AtLeast(total, True))

    # -- choices ---------------------------------------------------------------------------------------------------

    def choice(self, label: str, arguments: Sequence[Sort], sort: Sort) -> Symbol:
        symbol = Symbol(f"{label}.{len(self.choices) + 1}", tuple(arguments), sort)
        self.choices.append(symbol)
        return symbol

    def assume(self, formula: Term) -> None:
        """Something that holds of the choices, whatever its variables stand for.

        For every phase of every run there must be choices for which it holds: the guard may leave a choice open, but must
        never exclude a phase.
        """
        closed = forall(sorted(formula.free, key=lambda v: v.name), formula)
        if closed is not TRUE:
            self.guard.append(closed)

    def witnessed(self, label: str, variables: Sequence[Var], counted: Term, kind: Kind) -> Term:
        """`there is a set of this kind all of whose members (OTHER) are counted`, with a choice as the set."""
        chosen = self.choice(label, [v.sort for v in variables], kind.sort)(*variables)
        return forall((OTHER,), implies(kind.member(OTHER, chosen), counted))

    def size_condition(self, variables: Sequence[Var], counted: Term, operator: str, bound: Linear) -> Term:
        """`the number of OTHER that are counted is > bound`, as a choice that comes with a set for either answer.

        If it is, those counted contain a set of more than `bound` processes; if not, at least n - bound are not counted.
        More than none is one; no more than none is nobody.
        """
        if operator in (">", ">=") and self.implied([], AtLeast(bound * -1, operator == ">")):
            return TRUE
        if operator in ("=", "!="):
            both = conj(
                self.size_condition(variables, counted, "<=", bound),
                self.size_condition(variables, counted, ">=", bound),
            )
            return both if operator == "=" else neg(both)
        if operator in ("<", "<="):
            return neg(self.size_condition(variables, counted, ">=" if operator == "<" else ">", bound))
        answer = self.choice("enough", [v.sort for v in variables], BOOL)(*variables)
        strict = operator == ">"
        if bound == Linear.constant(0 if strict else 1):
            one = self.choice("those", [v.sort for v in variables], NODE)(*variables)
            self.assume(implies(answer, substitute(counted, {OTHER: one})))
            self.assume(implies(counted, answer))
            return answer
        yes = self.witnessed("those", variables, counted, self.kind(bound, strict))
        no = self.witnessed("others", variables, neg(counted), self.kind(Linear.name("n") - bound, not strict))
        self.assume(implies(answer, yes))
        self.assume(implies(neg(answer), no))
        return answer
