"""One round of an algorithm for the process ME, in terms of sets of processes: what it hears, picks, becomes and decides.

Statements are executed symbolically: a variable becomes a term over the state before the phase.  Whatever the text leaves open is
a choice of the phase, and what is known of it goes into the guard (`Quorums.assume`), which must allow every round that
`models/evaluation` allows.  What cannot be said raises `Unsaid`: then there is no proof, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Apply,
    Arith,
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
from quorate.models.linear import AtLeast, Linear
from quorate.models.quorum_formulas import Formula
from quorate.models.quorum_sets import (
    BELOW,
    FEW_ROUNDS,
    FLIPPED,
    ME,
    NODE,
    NONE,
    OTHER,
    PHASE,
    VALUE,
    Kind,
    Quorums,
    Unsaid,
)
from quorate.models.rounds import Node


class RoundOf(Formula):
    """One round for the process ME: what it hears from OTHER, and what becomes of it."""

    def __init__(
        self,
        translation: Quorums,
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
        self.sends = self._sends()
        self.asked: list[tuple[r.Pattern, Kind, Term]] = []
        """Counts of messages that were compared with a number: pattern, kind of set, answer."""

    def after(self) -> dict[str, Term]:
        """The state after the round, what it changes under a name of its own."""
        self.block(self.item.body, TRUE, {})
        return {
            name: value if value == self.before[name] else self.named(name, value) for name, value in self.state.items()
        }

    def named(self, label: str, value: Term) -> Term:
        """A choice that is what the term says: terms stay small from one round to the next, in long phases."""
        assert value.free <= {ME}
        simple = isinstance(value, Apply) and all(isinstance(part, Var) for part in value.args)
        if simple or value in (TRUE, FALSE, NONE) or len(self.translation.model.rounds) <= FEW_ROUNDS:
            return value
        name = self.translation.choice(f"next:{label}", (NODE,), value.sort)(ME)
        self.translation.assume(equal(name, value))
        return name

    # -- messages --------------------------------------------------------------------------------------------------

    def part(self, place: int, sender: Term) -> Term:
        """A part of the message that a process sends."""
        send = self.item.send
        assert send is not None
        state, self.state = self.state, self.before
        found = self.term(send.items[place], {})
        self.state = state
        return substitute(found, {ME: sender})

    def _sends(self) -> Term:
        """ME sends a message."""
        if self.item.send is None:
            return FALSE
        sends = self.named("sends", self.formula(self.item.send.condition, {}))
        self.translation.sent.append((sends, tuple(self.term(part, {}) for part in self.item.send.items)))
        return sends

    def received(self, sender: Term) -> Term:
        """ME receives a message from the sender."""
        send = self.item.send
        assert send is not None
        addressed = equal(self.coordinator(sender), ME) if send.to == "coordinator" else TRUE
        return conj(self.hears(ME, sender), substitute(self.sends, {ME: sender}), addressed)

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
                    holds = self.named("if", holds)
                    self.block(then, conj(path, holds), inner)
                    self.block(otherwise, conj(path, neg(holds)), bound)

    def assign(self, name: str, value: Node, path: Term, bound: dict[str, Term]) -> None:
        found, defined = self.value(value, bound)
        self.state[name] = ite(conj(path, defined), found, self.state[name])

    def decide(self, path: Term, value: Term) -> None:
        path, value = self.named("decides", path), self.named("decided", value)
        self.translation.decisions.append((path, value))
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
        self.single(bound)
        if node.pick == "union" or (node.extreme is not None and node.pick != "one"):
            raise Unsaid(f"`{node.pick} .. of ..` of this form")
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
        if "frequent" in node.pick and node.where == r.Truth(True) and value.sort is VALUE:
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

    def single(self, bound: Mapping[str, Term]) -> None:
        """What is received may be asked about for one message at a time.

        A question about the messages inside the condition on a message (`<v> received with (<w> received with ..)`) would
        need choices that depend on that message; choices depend on ME only.
        """
        if any(OTHER in term.free for term in bound.values()):
            raise Unsaid("a condition on messages inside a condition on a message")

    def condition_received(
        self, node: r.Received, rest: list[Node], bound: dict[str, Term]
    ) -> tuple[Term, dict[str, Term]]:
        self.single(bound)
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
        self.single(bound)
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
        apart = {name: term for name, term in bound.items() if OTHER in term.free}
        if apart:
            names = {name: Var(f"L.{name}", term.sort) for name, term in apart.items()}
            general = self.count(node, operator, other, {**bound, **names})
            return substitute(general, {names[name]: term for name, term in apart.items()})
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
