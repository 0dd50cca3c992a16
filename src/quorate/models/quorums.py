"""A round-based algorithm for every n at once: a relational model in which sets of processes stand for numbers of them.

"More than n/2 messages" becomes "a set of more than n/2 processes, each of whose messages ...": for every bound there is a
sort of all sets of that size, and what such sets must have in common follows from the bounds by linear arithmetic
(`linear`), never from names.  A condition that fails gives such a set too: at most n/2 means that at least n - n/2 processes
do not.  The only transition is one whole phase; heard-of sets, coordinators and what is picked are its choices, and so is
whether the phase is a good one, in which `sync` holds.  So termination is a safety property: after enough good phases in a
row everybody has decided.

Every run, for any n, is a run of this model: take as quorums of a kind all sets of its size, or the set of all processes
where there are none.  So what is proved of the model holds of the algorithm.  What cannot be said is left open, never
assumed; `Translation.left_open` lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement

from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
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
    ite,
    neg,
)
from quorate.logic.transform import substitute
from quorate.models import rounds as r
from quorate.models.evaluation import RoundsError
from quorate.models.linear import ONE, AtLeast, Linear, contradictory
from quorate.models.relational import Named, RelationalModel, Transition, Update
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
class Translation:
    """Builds the relational model."""

    model: RoundModel
    kinds: dict[tuple[Linear, bool], Kind] = field(default_factory=dict)
    left_open: list[str] = field(default_factory=list)
    ordered: bool = False
    determined: dict[Symbol, list[Term]] = field(default_factory=dict)
    """What processes pick from all messages of a round, by what they hear: those that hear the same pick the same."""
    choices: list[Symbol] = field(default_factory=list)
    guard: list[Term] = field(default_factory=list)

    def __post_init__(self) -> None:
        model = self.model
        for reason, wrong in (
            ("sets of values", any(item.kind == "set" for item in model.variables)),
            ("steps on shared variables", bool(model.steps)),
            ("runs of a fixed number of phases", model.phases is not None),
            ("crashes and omissions", model.faults is not None),
        ):
            if wrong:
                raise RoundsError(f"there is no proof for every n of algorithms with {reason}")
        sorts = {"bool": BOOL, "time": INT}
        self.symbols = {
            item.name: Symbol(item.name, (NODE,), sorts.get(item.kind, VALUE), True) for item in model.variables
        }
        self.tags = {name: Number(i + 1) for i, name in enumerate(model.tags)}
        self.parameters = {item.name: Symbol(item.name, (), INT) for item in model.parameters}
        self.stages = self._stages()
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

    def _stages(self) -> list[Symbol]:
        """For each good phase that termination needs in a row: so many have just passed; for the last: they once have."""
        sync = self.model.sync
        if sync is None or not any(item.name == "termination" for item in self.model.safety):
            return []
        last = max([item.round for item in sync.walk() if isinstance(item, r.HeardOf)], default=1)
        count = -(-last // len(self.model.rounds))
        return [Symbol(f"sync.passed{number}", (), BOOL, True) for number in range(1, count)] + [SEEN]

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
        """What sets of these sizes have in common, whatever n is; a fact about two kinds needs both to have members."""
        inhabited = [
            kind for kind in self.kinds.values() if self.implied([kind.facts("|A|")], AtLeast(Linear.name("|A|"), True))
        ]
        for kind in inhabited:
            group = Var("A", kind.sort)
            yield Named(f"{kind.sort} is not empty", forall((group,), exists((OTHER,), kind.member(OTHER, group))))
        total = Linear.name("|A|") + Linear.name("|B|") - Linear.name("n")
        for first, second in combinations_with_replacement(inhabited, 2):
            if self.implied([first.facts("|A|"), second.facts("|B|")], AtLeast(total, True)):
                a, b = Var("A", first.sort), Var("B", second.sort)
                inside = conj(first.member(OTHER, a), second.member(OTHER, b))
                yield Named(f"{first.sort} and {second.sort} meet", forall((a, b), exists((OTHER,), inside)))
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

    # -- choices ---------------------------------------------------------------------------------------------------

    def choice(self, label: str, arguments: Sequence[Sort], sort: Sort) -> Symbol:
        symbol = Symbol(f"{label}.{len(self.choices) + 1}", tuple(arguments), sort)
        self.choices.append(symbol)
        return symbol

    def assume(self, formula: Term) -> None:
        """Something that holds of the choices, whatever its variables stand for."""
        closed = forall(sorted(formula.free, key=lambda v: v.name), formula)
        if closed is not TRUE:
            self.guard.append(closed)

    def witnessed(self, label: str, variables: Sequence[Var], counted: Term, kind: Kind) -> Term:
        """`there is a set of this kind all of whose members (OTHER) are counted`, with a choice as the set."""
        chosen = self.choice(label, [v.sort for v in variables], kind.sort)(*variables)
        return forall((OTHER,), implies(kind.member(OTHER, chosen), counted))

    def size_condition(self, variables: Sequence[Var], counted: Term, operator: str, bound: Linear) -> Term:
        """`the number of OTHER that are counted is > bound`, as a choice that comes with a set for either answer."""
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
        yes = self.witnessed("those", variables, counted, self.kind(bound, strict))
        no = self.witnessed("others", variables, neg(counted), self.kind(Linear.name("n") - bound, not strict))
        self.assume(implies(answer, yes))
        self.assume(implies(neg(answer), no))
        return answer

    # -- one phase -------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Term]:
        """What the variables are after a phase, as terms over the state before; fills in choices and guard."""
        state: dict[str, Term] = {name: symbol(ME) for name, symbol in self.symbols.items()}
        state |= {"decision": DECISION(ME), "decision.revoked": REVOKED(ME), "decision.empty": EMPTY(ME)}
        self.coordinator = self.choice("coordinator", (NODE,), NODE)
        self.good = [self.choice("good", (), BOOL)() for _ in self.stages]
        heard: list[Symbol] = []
        for item in self.model.rounds:
            hears = self.choice("hears", (NODE, NODE), BOOL)
            heard.append(hears)
            state = _Round(self, item, state, hears).after()
        self.predicate(self.model.safe, 0, heard, TRUE)
        if self.good:
            assert self.model.sync is not None
            for number, good in enumerate(self.good):
                self.predicate(self.model.sync, number, heard, good)
        return state

    def predicate(self, node: Node, phase: int, heard: Sequence[Symbol], when: Term) -> None:
        """Assume what a communication predicate says about the coordinators and about a phase, as far as it can be said."""
        size = len(self.model.rounds)
        first = phase * size
        for part in self._parts(node, when):
            mentioned = {item.round for item in part.walk() if isinstance(item, r.HeardOf)}
            if mentioned and not all(first < number <= first + size for number in mentioned):
                if any(first < number <= first + size for number in mentioned):
                    self.left_open.append("a condition on several phases at once")
                continue
            before = len(self.choices), len(self.guard)
            try:
                formula = _Predicate(self, heard, first).formula(part, self.existing, True)
                self.assume(implies(when, formula))
            except Unsaid as problem:
                del self.choices[before[0] :], self.guard[before[1] :]
                self.left_open.append(str(problem))

    def _parts(self, node: Node, when: Term) -> Iterator[Node]:
        """The conjuncts of a predicate; what it says exists is chosen first."""
        self.existing: dict[str, Term] = {}
        while isinstance(node, r.Quantified) and not node.universal:
            self.existing |= {name: self.choice(name, (), NODE)() for name in node.names}
            node = node.body
        yield from _split(node)

    def transition(self) -> Transition:
        """A phase."""
        self.choices, self.guard = [], []
        state = self.run()
        known = {**self.symbols, "decision": DECISION, "decision.revoked": REVOKED, "decision.empty": EMPTY}
        updates = [Update(symbol, (ME,), state[item]) for item, symbol in known.items() if state[item] != symbol(ME)]
        updates.append(Update(PHASE, (), Arith("+", PHASE(), Number(1))))
        passed: list[Term] = []
        for number, good in enumerate(self.good):
            passed.append(conj(good, self.stages[number - 1]()) if number else good)
        updates += [Update(stage, (), value) for stage, value in zip(self.stages[:-1], passed, strict=False)]
        if passed:
            updates.append(Update(SEEN, (), disj(SEEN(), passed[-1])))
        span = self.model.rounds[0].span
        return Transition("phase", (), tuple(self.choices), conj(*self.guard), tuple(updates), span)

    def initial(self) -> list[Named]:
        found = [Named("proposals", forall((ME,), neg(equal(PROPOSAL(ME), NONE))))]
        for item in self.model.variables:
            value: Term
            match item.initial:
                case r.Proposal():
                    value = PROPOSAL(ME)
                case r.Truth(truth):
                    value = TRUE if truth else FALSE
                case r.Number(number):
                    value = Number(number)
                case _:
                    value = NONE
            found.append(
                Named(f"initial {item.name}", forall((ME,), equal(self.symbols[item.name](ME), value)), item.span)
            )
        found.append(Named("nothing is decided", forall((ME,), equal(DECISION(ME), NONE))))
        found.append(Named("nothing is revoked", forall((ME,), conj(neg(REVOKED(ME)), neg(EMPTY(ME))))))
        found.append(Named("first phase", equal(PHASE(), Number(1))))
        found.append(Named("no good phase yet", conj(*(neg(stage()) for stage in self.stages))))
        return found

    def properties(self) -> list[Named]:
        built_in: dict[str, Term] = {
            "agreement": forall(
                (ME, OTHER),
                conj(
                    disj(equal(DECISION(ME), NONE), equal(DECISION(OTHER), NONE), equal(DECISION(ME), DECISION(OTHER))),
                    neg(REVOKED(ME)),
                ),
            ),
            "validity": forall((ME,), neg(EMPTY(ME))),
            "irrevocability": forall((ME,), neg(REVOKED(ME))),
            "termination": implies(SEEN(), forall((ME,), neg(equal(DECISION(ME), NONE)))),
        }
        found = []
        for item in self.model.safety:
            formula = built_in[item.name] if item.formula is None else _Claim(self).formula(item.formula, {})
            found.append(Named(item.name, formula, item.span))
        return found

    def formula(self, node: Node, bound: Mapping[str, Term] | None = None) -> Term:
        """A property or lemma, as a formula about one state."""
        return _Lemma(self).formula(node, dict(bound or {}))

    def univalence(self, name: str, node: Node) -> Term:
        """Whoever has decided a value, it is one that no other can follow."""
        decided = neg(equal(DECISION(ME), NONE))
        return forall((ME,), implies(decided, self.formula(node, {name: DECISION(ME)})))


def relational(
    model: RoundModel, invariants: Sequence[Callable[[Translation], Named]] = ()
) -> tuple[RelationalModel, Translation]:
    """The relational model of an algorithm, with invariants that are built once the quorums are known."""
    translation = Translation(model)
    safety = translation.properties()
    lemmas = [
        Named(item.name, translation.formula(item.formula), item.span) for item in model.invariants if item.formula
    ]
    if model.univalent is not None:
        lemmas.append(Named("univalence", translation.univalence(*model.univalent)))
    lemmas += [build(translation) for build in invariants]
    lemmas.append(Named("decisions_stay", forall((ME,), neg(REVOKED(ME)))))
    transition = translation.transition()
    symbols: list[Symbol] = [NONE.symbol, PROPOSAL, *(BELOW,) * translation.ordered]
    symbols += translation.parameters.values()
    symbols += [kind.member for kind in translation.kinds.values()]
    symbols += [*translation.symbols.values(), DECISION, REVOKED, EMPTY, PHASE, *translation.stages]
    found = RelationalModel(
        name=model.name,
        language="pyv",
        sorts=(NODE, VALUE, *(kind.sort for kind in translation.kinds.values())),
        symbols=tuple(symbols),
        derived=(),
        axioms=tuple(translation.axioms()),
        initial=tuple(translation.initial()),
        transitions=(transition,),
        safety=tuple(safety),
        invariants=tuple(lemmas),
        expectations=model.expectations,
        source=model.source,
    )
    return found, translation


def _split(node: Node) -> Iterator[Node]:
    """Conjuncts, quantifiers moved inwards over conjunctions."""
    for part in r.conjuncts(node):
        if isinstance(part, r.Quantified) and part.universal:
            for body in _split(part.body):
                yield replace(part, body=body)
        else:
            yield part


def _compare(operator: str, left: Term, right: Term) -> Term:
    if operator == "=":
        return equal(left, right)
    if operator == "!=":
        return neg(equal(left, right))
    return Arith(operator, left, right)


class _Formula:
    """What the kinds of formulas have in common: connectives and comparisons; quantifiers and counting are their own."""

    def __init__(self, translation: Translation) -> None:
        self.translation = translation

    def term(self, node: Node, bound: Mapping[str, Term]) -> Term:
        raise NotImplementedError

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        """A number of messages or processes compared with something."""
        raise NotImplementedError

    def compare(self, operator: str, left: Node, right: Node, bound: Mapping[str, Term]) -> Term:
        if _counts(right) and not _counts(left):
            left, right, operator = right, left, FLIPPED[operator]
        if _counts(left):
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
        return _compare(operator, first, second)

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


def _counts(node: Node) -> bool:
    return any(isinstance(item, r.Count | r.Counting | r.Size) for item in node.walk())


class _Lemma(_Formula):
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


class _Claim(_Lemma):
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


class _Predicate(_Formula):
    """A communication predicate that is assumed: what it says exists becomes a choice, depending on what is universal."""

    def __init__(self, translation: Translation, heard: Sequence[Symbol], first: int) -> None:
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


class _Round(_Formula):
    """One round for the process ME: what it hears from OTHER, and what becomes of it."""

    def __init__(
        self,
        translation: Translation,
        item: r.Round,
        state: dict[str, Term],
        hears: Symbol,
    ) -> None:
        super().__init__(translation)
        self.item = item
        self.before = state
        self.state = dict(state)
        self.coordinator = translation.coordinator
        self.hears = hears
        self.asked: list[tuple[r.Pattern, Kind, Term]] = []
        """Counts of messages that were compared with a number: pattern, kind of set, answer."""

    def after(self) -> dict[str, Term]:
        self.block(self.item.body, TRUE, {})
        return self.state

    # -- messages --------------------------------------------------------------------------------------------------

    def part(self, place: int, sender: Term) -> Term:
        """A part of the message that a process sends."""
        send = self.item.send
        assert send is not None
        state, self.state = self.state, self.before
        found = self.term(send.items[place], {})
        self.state = state
        return substitute(found, {ME: sender})

    def received(self, sender: Term) -> Term:
        """ME receives a message from the sender."""
        send = self.item.send
        assert send is not None
        state, self.state = self.state, self.before
        condition = self.formula(send.condition, {})
        self.state = state
        addressed = equal(self.coordinator(sender), ME) if send.to == "coordinator" else TRUE
        return conj(self.hears(ME, sender), substitute(condition, {ME: sender}), addressed)

    def matches(self, pattern: r.Pattern, sender: Term, bound: Mapping[str, Term]) -> Term:
        tests = []
        for place, item in enumerate(pattern.items):
            if not isinstance(item, r.Anything | r.Bind):
                tests.append(equal(self.part(place, sender), self.term(item, bound)))
        return conj(*tests)

    def names(self, pattern: r.Pattern, sender: Term) -> dict[str, Term]:
        return {item.name: self.part(i, sender) for i, item in enumerate(pattern.items) if isinstance(item, r.Bind)}

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[Node], path: Term, bound: dict[str, Term]) -> None:
        for statement in statements:
            match statement:
                case r.Assign(name, value):
                    self.assign(name, value, path, bound)
                case r.Decide(value):
                    found, defined = self.value(value, bound)
                    self.decide(conj(path, defined), found)
                case r.If(condition, then, otherwise):
                    holds, inner = self.condition(list(r.conjuncts(condition)), bound)
                    self.block(then, conj(path, holds), inner)
                    self.block(otherwise, conj(path, neg(holds)), bound)

    def assign(self, name: str, value: Node, path: Term, bound: dict[str, Term]) -> None:
        found, defined = self.value(value, bound)
        self.state[name] = ite(conj(path, defined), found, self.state[name])

    def decide(self, path: Term, value: Term) -> None:
        decision = self.state["decision"]
        nothing = equal(value, NONE)
        again = conj(neg(equal(decision, NONE)), neg(equal(decision, value)), neg(nothing))
        self.state["decision.empty"] = disj(self.state["decision.empty"], conj(path, nothing))
        self.state["decision.revoked"] = disj(self.state["decision.revoked"], conj(path, again))
        self.state["decision"] = ite(conj(path, equal(decision, NONE)), value, decision)

    def value(self, node: Node, bound: dict[str, Term]) -> tuple[Term, Term]:
        """A value, and the condition under which there is one."""
        return self.picked(node, bound) if isinstance(node, r.Choice) else (self.term(node, bound), TRUE)

    def picked(self, node: r.Choice, bound: dict[str, Term]) -> tuple[Term, Term]:
        translation = self.translation
        sender = translation.choice("picked", (NODE,), NODE)(ME)

        def candidate(of: Term) -> Term:
            inner = {**bound, **self.names(node.pattern, of)}
            return conj(self.received(of), self.matches(node.pattern, of, bound), self.formula(node.where, inner))

        place = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.name))
        mine, theirs = candidate(sender), candidate(OTHER)
        send = self.item.send
        everything = node.where == r.Truth(True) and _anything(node.pattern) and send is not None and send.to == "all"
        translation.assume(implies(theirs, mine))
        value = self.part(place, sender)
        if node.extreme is not None:
            key = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.extreme[1]))
            best, other = self.part(key, sender), self.part(key, OTHER)
            low, high = (other, best) if node.extreme[0] == "largest" else (best, other)
            translation.assume(implies(theirs, self.at_most(low, high)))
        if node.pick in ("smallest", "largest"):
            other = self.part(place, OTHER)
            low, high = (value, other) if node.pick == "smallest" else (other, value)
            translation.assume(implies(theirs, self.at_most(low, high)))
        if "frequent" in node.pick and node.where == r.Truth(True):
            self.most_frequent(node, self.part(place, OTHER), value)
        if node.pick in ("smallest most frequent", "largest most frequent") and everything:
            self.translation.determined.setdefault(self.hears, []).append(value)
        return value, mine

    def at_most(self, low: Term, high: Term) -> Term:
        if low.sort is INT:
            return Arith("<=", low, high)
        self.translation.ordered = True
        return BELOW(low, high)

    def most_frequent(self, node: r.Choice, part: Term, value: Term) -> None:
        """If 2|A| + |B| > 2n, a value that all of A sent is the most frequent one wherever |B| messages are heard.

        At least |A| + |B| - n of the messages heard have the value, and at most n - |A| have another.
        """
        translation = self.translation
        any_value = Var("V", VALUE)
        for first in list(translation.kinds.values()):
            for pattern, second, answer in self.asked:
                facts = [first.facts("|A|"), second.facts("|B|")]
                total = Linear.name("|A|") * 2 + Linear.name("|B|") - Linear.name("n") * 2
                if _anything(pattern) and _anything(node.pattern) and translation.implied(facts, AtLeast(total, True)):
                    group = Var("A", first.sort)
                    other = exists((OTHER,), conj(first.member(OTHER, group), neg(equal(part, any_value))))
                    translation.assume(disj(other, forall((ME,), implies(answer, equal(value, any_value)))))

    # -- conditions ------------------------------------------------------------------------------------------------

    def condition(self, parts: list[Node], bound: dict[str, Term]) -> tuple[Term, dict[str, Term]]:
        """A conjunction, and the names that it binds."""
        if not parts:
            return TRUE, bound
        first, *rest = parts
        if isinstance(first, r.Received):
            return self.condition_received(first, rest, bound)
        if isinstance(first, r.AllReceived):
            holds, inner = self.all_received(first, bound)
            others, inner = self.condition(rest, inner)
            return conj(holds, others), inner
        holds = self.formula(first, bound)
        others, inner = self.condition(rest, bound)
        return conj(holds, others), inner

    def condition_received(
        self, node: r.Received, rest: list[Node], bound: dict[str, Term]
    ) -> tuple[Term, dict[str, Term]]:
        if any(isinstance(part, r.Received | r.AllReceived) for part in rest):
            raise Unsaid("two messages bound in one condition")

        def fits(sender: Term) -> Term:
            inner = {**bound, **self.names(node.pattern, sender)}
            where = [self.formula(part, inner) for part in (node.where, *rest)]
            return conj(self.received(sender), self.matches(node.pattern, sender, bound), *where)

        if node.from_coordinator:
            sender: Term = self.coordinator(ME)
            return fits(sender), {**bound, **self.names(node.pattern, sender)}
        sender = self.translation.choice("sender", (NODE,), NODE)(ME)
        general = fits(OTHER)
        holds = substitute(general, {OTHER: sender})
        self.translation.assume(implies(general, holds))
        return holds, {**bound, **self.names(node.pattern, sender)}

    def all_received(self, node: r.AllReceived, bound: dict[str, Term]) -> tuple[Term, dict[str, Term]]:
        translation = self.translation
        holds = translation.choice("same", (NODE,), BOOL)(ME)
        sender, one, two = (translation.choice(name, (NODE,), NODE)(ME) for name in ("sender", "one", "two"))

        def agrees(a: Term, b: Term) -> Term:
            mine, theirs = self.names(node.pattern, a), self.names(node.pattern, b)
            return conj(self.matches(node.pattern, a, bound), *(equal(mine[name], theirs[name]) for name in mine))

        translation.assume(implies(holds, conj(self.received(sender), self.matches(node.pattern, sender, bound))))
        translation.assume(implies(conj(holds, self.received(OTHER)), agrees(OTHER, sender)))
        differ = conj(self.received(one), self.received(two), neg(agrees(one, two)))
        translation.assume(implies(neg(holds), disj(forall((OTHER,), neg(self.received(OTHER))), differ)))
        return holds, {**bound, **self.names(node.pattern, sender)}

    def formula(self, node: Node, bound: dict[str, Term]) -> Term:
        match node:
            case r.Truth(value):
                return TRUE if value else FALSE
            case r.Operation("and" | "or" as word, operands):
                return (conj if word == "and" else disj)(*(self.formula(item, bound) for item in operands))
            case r.Operation("not", (operand,)):
                return neg(self.formula(operand, bound))
            case r.Operation("->", (left, right)):
                return implies(self.formula(left, bound), self.formula(right, bound))
            case r.Operation(operator, (left, right)):
                return self.compare(operator, left, right, bound)
            case r.Received() | r.AllReceived():
                return self.condition([node], bound)[0]
        return self.term(node, bound)

    def term(self, node: Node, bound: Mapping[str, Term]) -> Term:
        match node:
            case r.Local(name):
                return self.state[name]
            case r.Bound(name):
                return bound[name]
            case r.Tag(name):
                return self.translation.tags[name]
            case r.Nothing():
                return NONE
            case r.Truth(value):
                return TRUE if value else FALSE
            case r.Myself():
                return ME
            case r.Coordinator():
                return self.coordinator(ME)
            case r.Phase():
                return PHASE()
        return self.number(node)

    def count(self, node: Node, operator: str, other: Node, bound: Mapping[str, Term]) -> Term:
        """`#<...>` compared with a number, or two such counts one of which includes the other."""
        if any(OTHER in term.free for term in bound.values()):
            elsewhere = Var("L", NODE)
            shifted = {name: substitute(term, {OTHER: elsewhere}) for name, term in bound.items()}
            return substitute(self.count(node, operator, other, shifted), {elsewhere: OTHER})
        larger, smaller, operator, limit = self.difference(node, operator, other)
        counted = self.counted(larger, bound)
        if smaller is not None:
            counted = conj(counted, neg(self.counted(smaller, bound)))
        variables = sorted((counted.free | {ME}) - {OTHER}, key=lambda v: v.name)
        answer = self.translation.size_condition(variables, counted, operator, limit)
        if smaller is None and variables == [ME] and operator in (">", ">="):
            self.asked.append((larger.pattern, self.translation.kind(limit, operator == ">"), answer))
        return answer

    def counted(self, node: r.Count, bound: Mapping[str, Term]) -> Term:
        return conj(self.received(OTHER), self.matches(node.pattern, OTHER, bound))

    def difference(self, left: Node, operator: str, right: Node) -> tuple[r.Count, r.Count | None, str, Linear]:
        """A comparison as: those that the first counts and the second does not, against a number."""
        counts: dict[r.Count, Fraction] = {}

        def collect(node: Node, factor: Fraction) -> Linear:
            match node:
                case r.Count():
                    counts[node] = counts.get(node, Fraction(0)) + factor
                    return Linear.constant(0)
                case r.Operation("+", (a, b)):
                    return collect(a, factor) + collect(b, factor)
                case r.Operation("-", (a, b)):
                    return collect(a, factor) + collect(b, -factor)
                case r.Operation("*", (r.Number(k), a)) | r.Operation("*", (a, r.Number(k))):
                    return collect(a, factor * k)
                case r.Operation("/", (a, r.Number(k))):
                    return collect(a, factor / k)
            return self.translation.linear(node) * factor

        rest = collect(left, Fraction(1)) + collect(right, Fraction(-1))
        used = [(count, factor) for count, factor in counts.items() if factor]
        if len(used) == 2 and used[0][1] == -used[1][1]:
            if not _includes(used[0][0], used[1][0]):
                used.reverse()
            (large, factor), (small, _) = used
            if not _includes(large, small):
                raise Unsaid("numbers of messages compared that do not include each other")
        elif len(used) == 1:
            (large, factor), small = used[0], None
        else:
            raise Unsaid("sums of numbers of messages")
        return large, small, operator if factor > 0 else FLIPPED[operator], rest * (-1 / factor)


def _anything(pattern: r.Pattern) -> bool:
    """Does every message match the pattern?"""
    return all(isinstance(item, r.Anything | r.Bind) for item in pattern.items)


def _includes(large: r.Count, small: r.Count) -> bool:
    """Does every message that matches one pattern match the other?"""
    return all(
        isinstance(a, r.Anything) or a == b for a, b in zip(large.pattern.items, small.pattern.items, strict=True)
    )
