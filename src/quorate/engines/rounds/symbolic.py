"""Rounds as propositional circuits: what n processes do, for all states, coordinators and heard-of sets at once.

The same definition as `models/evaluation`, executed on literals (`bits`) instead of numbers; what is picked is a fresh choice.
`methods/heardof/phase` makes two things of it: one phase from any state, and the first rounds of a run.

Times are numbers below a limit that leaves room for one of each process, the phases at hand, and all numbers that the definition
names: since times are only compared, any others can be moved together without changing their order (`symmetry`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

from quorate.engines.rounds.bits import Bits, Mask, Total, Vector, Who
from quorate.engines.rounds.communication import UNLIMITED, faults_of
from quorate.engines.rounds.symmetry import latest_phase
from quorate.engines.smt.ground import FALSE, TRUE
from quorate.models import rounds as r
from quorate.models.evaluation import Machine, RoundsError
from quorate.models.rounds import Node


def compares_values(model: r.RoundModel) -> bool:
    """Does the definition ever compare two values with each other?  Comparing one with `?` does not count."""
    kinds = model.kinds
    for item in model.rounds:
        sent = item.send.items if item.send else ()
        places = [i for i, part in enumerate(sent) if isinstance(part, r.Local) and kinds[part.name] in VALUE_KINDS]
        names: set[str] = set()
        for node in item.walk():
            if isinstance(node, r.Pattern):
                names |= {part.name for i, part in enumerate(node.items) if i in places and isinstance(part, r.Bind)}
        for node in item.walk():
            match node:
                case r.AllReceived(pattern):
                    if any(isinstance(pattern.items[i], r.Bind) for i in places):
                        return True
                case r.Pattern(items):
                    if any(not isinstance(items[i], r.Anything | r.Bind | r.Nothing) for i in places):
                        return True
                case r.Choice(pick):
                    if "frequent" in pick:
                        return True
                case r.Operation("=" | "!=", (left, right)):
                    if not isinstance(left, r.Nothing) and not isinstance(right, r.Nothing):
                        for side in (left, right):
                            if isinstance(side, r.Local) and kinds[side.name] in VALUE_KINDS:
                                return True
                            if isinstance(side, r.Bound) and side.name in names:
                                return True
                case r.Operation("in"):
                    return True
    return False


VALUE_KINDS = ("value", "optional")


@dataclass
class Event:
    """A decision: under which condition, of which process, of which value."""

    process: int
    when: int
    value: Vector


@dataclass
class Processes:
    """The state of all processes between two rounds, as literals."""

    variables: list[dict[str, Any]]
    decision: list[Vector]
    revoked: list[int]
    empty: list[int]
    crashed: list[int]
    kept: dict[tuple[int, int, int], tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    """By round of the phase, receiver and sender: whether a message has been received, and the last one."""


@dataclass
class Happened:
    """What a round was like: who coordinates whom, who hears whom, who crashes."""

    coordinators: list[Who]
    heard: dict[tuple[int, int], int]
    crashing: list[int]
    own: dict[int, int]
    """Instead of whom a process hears, where that is all that matters: whether it hears its coordinator."""


class Symbolic(Bits):
    """Rounds of an algorithm with n processes, as a circuit."""

    def __init__(
        self,
        machine: Machine,
        n: int,
        parameters: Mapping[str, int],
        values: int,
        faults: int | None = None,
        phases: int = 1,
    ) -> None:
        super().__init__()
        self.machine = machine
        self.model = machine.model
        if self.model.steps:
            raise RoundsError("steps on shared variables are not made into circuits; `quorate check` searches them")
        self.n = n
        self.parameters = dict(parameters)
        self.values = values
        self.value_bits = values.bit_length()
        times = sum(item.kind == "time" for item in self.model.variables)
        exact = max(latest_phase(machine, n, parameters), *_constants(self.model), 0) + 1
        self.time_bits = (exact + n * times + 1 + phases).bit_length()
        self.faults = faults_of(machine, n, parameters, faults)
        self.events: list[Event] = []

    def someone(self, p: int) -> Who:
        return Who(TRUE if i == p else FALSE for i in range(self.n))

    # -- states ----------------------------------------------------------------------------------------------------------

    def width(self, kind: str) -> int:
        return {"time": self.time_bits, "set": self.values}.get(kind, self.value_bits)

    def anything(self) -> Processes:
        """Any state at all; nobody has decided yet."""
        found = []
        for _ in range(self.n):
            row: dict[str, Any] = {}
            for item in self.model.variables:
                if item.kind == "bool":
                    row[item.name] = self.circuit.variable()
                elif item.kind == "set":
                    row[item.name] = Mask(self.fresh(self.values))
                else:
                    row[item.name] = self.fresh(self.width(item.kind))
                    if item.kind != "time":
                        self.circuit.require(self.at_most(row[item.name], self.number(self.values)))
            found.append(row)
        return self._undecided(found)

    def first(self) -> Processes:
        """An initial state: values are proposed in order, each one more than the one before at most."""
        highest = self.number(1, self.value_bits)
        found = []
        for p in range(self.n):
            if p:
                more = self.circuit.variable()
                following = self.increment(highest)
                highest = self.select(more, following, highest)
            row: dict[str, Any] = {}
            for item in self.model.variables:
                match item.initial:
                    case r.Proposal():
                        row[item.name] = highest
                    case r.Operation("singleton"):
                        row[item.name] = self.singleton(highest)
                    case r.Truth(value):
                        row[item.name] = TRUE if value else FALSE
                    case _ if item.kind == "set":
                        row[item.name] = Mask(FALSE for _ in range(self.values))
                    case _:
                        row[item.name] = self.number(0, self.width(item.kind))
            found.append(row)
        return self._undecided(found)

    def _undecided(self, rows: list[dict[str, Any]]) -> Processes:
        none = self.number(0, self.value_bits)
        no = [FALSE] * self.n
        return Processes(rows, [none] * self.n, no, no, no)

    def in_order(self, state: Processes, interchangeable: bool) -> None:
        """Fix the names of processes, and of values if they are interchangeable (1, the v of U(v), keeps its name).

        Processes stand in the order of their times and flags, those with the same ones in the order of their first values.
        Values get their numbers in the order in which they first occur: of processes with the same times and flags, those whose
        values have numbers come first, in order, and then new values get the next numbers, so that both are possible at once.
        """
        keys = [item.name for item in self.model.variables if item.kind in ("time", "bool")]
        held = [item.name for item in self.model.variables if item.kind in VALUE_KINDS]
        rows: list[Vector] = []
        for row in state.variables:
            bits: list[int] = []
            for name in (*held[:1], *reversed(keys)):
                bits += [row[name]] if isinstance(row[name], int) else row[name]
            rows.append(tuple(bits))
        for p in range(self.n - 1):
            self.circuit.require(self.at_most(rows[p], rows[p + 1]))
        if interchangeable and self.values > 2:
            highest = self.number(1, self.value_bits)
            for name in held:
                for row in state.variables:
                    self.circuit.require(self.at_most(row[name], self.increment(highest)))
                    highest = self.select(self.at_most(row[name], highest), highest, row[name])

    def singleton(self, value: Vector) -> Mask:
        return Mask(self.equal(value, self.number(v)) for v in range(1, self.values + 1))

    # -- rounds ----------------------------------------------------------------------------------------------------------

    def coordinators(self) -> list[Who]:
        """Any process for each."""
        if not self.model.uses_coordinators:
            return [self.someone(0)] * self.n
        found = []
        for _ in range(self.n):
            who = Who(self.fresh(self.n))
            self.clause(*who)
            self.at_most_one(who)
            found.append(who)
        return found

    def hearing(self, number: int, constrained: bool, coordinators: list[Who]) -> Happened:
        """Heard-of sets for a round; where only the coordinator's message is ever looked at, one literal for each process."""
        item = self.model.rounds[number]
        heard: dict[tuple[int, int], int] = {}
        looked = any(
            isinstance(node, r.Count | r.Choice | r.AllReceived)
            or (isinstance(node, r.Received) and not node.from_coordinator)
            for node in item.walk()
        )
        free = not looked and not constrained and self.faults.kind == "none"
        if not free:
            heard = {(p, q): self.circuit.variable() for p in range(self.n) for q in range(self.n)}
        own = {p: self.circuit.variable() for p in range(self.n)} if free else {}
        return Happened(coordinators, heard, [FALSE] * self.n, own)

    def round(self, number: int, phase: Vector, state: Processes, happened: Happened, so_far: int = 1) -> Processes:
        """The state after a round, the so-many-th of the run."""
        item = self.model.rounds[number]
        if self.faults.kind == "omissions":
            for (p, q), literal in happened.heard.items():
                if p == q or so_far > self.faults.rounds:
                    self.circuit.require(literal)
        elif self.faults.kind == "crashes":
            happened.crashing = [self.circuit.variable() for _ in range(self.n)]
            for q, crashing in enumerate(happened.crashing):
                self.clause(-crashing, -state.crashed[q])
                for p in range(self.n):
                    self.clause(crashing, state.crashed[q], happened.heard[p, q])
                    self.clause(-state.crashed[q], -happened.heard[p, q])
        sent: list[tuple[int, tuple[Any, ...]]] = []
        for q in range(self.n):
            if item.send is None:
                sent.append((FALSE, ()))
                continue
            acting = _Acting(self, q, phase, state, happened, number, [])
            condition = self.conj(acting.formula(item.send.condition, {}), -state.crashed[q])
            sent.append((condition, tuple(acting.term(part, {}) for part in item.send.items)))
        after = Processes([], [], [], [], list(state.crashed), dict(state.kept))
        for p in range(self.n):
            acting = _Acting(self, p, phase, state, happened, number, sent)
            if self.model.keeps_messages:
                acting.keep(after)
            acting.block(item.body, TRUE, {})
            self._settle(acting, state, happened.crashing[p], after)
        if self.faults.kind == "crashes":
            after.crashed = [self.disj(a, b) for a, b in zip(state.crashed, happened.crashing, strict=True)]
        return after

    def _settle(self, acting: _Acting, state: Processes, crashing: int, after: Processes) -> None:
        """What becomes of a process, if it goes on."""
        p = acting.me
        stopped = self.disj(state.crashed[p], crashing)
        if stopped == FALSE:
            after.variables.append(acting.state)
            after.decision.append(acting.decision)
            after.revoked.append(acting.revoked)
            after.empty.append(acting.empty)
            self.events += acting.events
            return
        row: dict[str, Any] = {}
        for name, value in acting.state.items():
            zero = FALSE if isinstance(value, int) else type(value)(FALSE for _ in value)
            row[name] = self.select(stopped, zero, value)
        after.variables.append(row)
        after.decision.append(self.select(stopped, state.decision[p], acting.decision))
        after.revoked.append(self.select(stopped, state.revoked[p], acting.revoked))
        after.empty.append(self.select(stopped, state.empty[p], acting.empty))
        self.events += [replace(event, when=self.conj(event.when, -stopped)) for event in acting.events]

    def limit_faults(self, happened: Sequence[Happened], last: Processes) -> None:
        """No more faults in all than are allowed."""
        if self.faults.bound == UNLIMITED or self.faults.kind == "none":
            return
        spent = last.crashed
        if self.faults.kind == "omissions":
            spent = [-literal for item in happened for literal in item.heard.values()]
        self.circuit.require(-self.at_least(spent, self.faults.bound + 1))

    # -- formulas about all processes --------------------------------------------------------------------------------------

    def about(
        self,
        node: Node,
        state: Processes | None,
        phase: Vector,
        bound: Mapping[str, Any] | None = None,
        happened: Sequence[Happened] = (),
    ) -> int:
        """A property, lemma or communication predicate."""
        return _About(self, state, phase, happened).formula(node, dict(bound or {}))


class _Formula:
    """Connectives, comparisons and arithmetic."""

    def __init__(self, symbolic: Symbolic) -> None:
        self.symbolic = symbolic

    def formula(self, node: Node, bound: dict[str, Any]) -> int:
        found = self.term(node, bound)
        assert isinstance(found, int), node
        return found

    def own(self, node: Node, bound: dict[str, Any]) -> Any:
        """What only a formula of this kind can speak of."""
        raise NotImplementedError

    def term(self, node: Node, bound: dict[str, Any]) -> Any:
        s = self.symbolic
        match node:
            case r.Truth(value):
                return TRUE if value else FALSE
            case r.Number(value):
                return Total(Fraction(value))
            case r.Nothing():
                return s.number(0)
            case r.Tag(name):
                return s.number(s.machine.tags[name])
            case r.Bound(name):
                return bound[name]
            case r.Parameter("n"):
                return Total(Fraction(s.n))
            case r.Parameter(name):
                return Total(Fraction(s.parameters[name]))
            case r.Operation():
                return self.operation(node, bound)
        return self.own(node, bound)

    def operation(self, node: r.Operation, bound: dict[str, Any]) -> Any:
        s = self.symbolic
        match node.operator:
            case "and":
                return s.conj(*(self.formula(item, bound) for item in node.operands))
            case "or":
                return s.disj(*(self.formula(item, bound) for item in node.operands))
            case "not":
                return -self.formula(node.operands[0], bound)
            case "->":
                return s.disj(-self.formula(node.operands[0], bound), self.formula(node.operands[1], bound))
            case "=" | "!=" | "<" | "<=" | ">" | ">=":
                left, right = node.operands
                return self.compare(node.operator, left, right, bound)
        parts = [self.term(item, bound) for item in node.operands]
        match node.operator:
            case "union":
                return Mask(s.disj(a, b) for a, b in zip(*parts, strict=True))
            case "+":
                return parts[0] + parts[1]
            case "-":
                return parts[0] + parts[1] * Fraction(-1)
            case "*":
                factor, other = parts if not parts[0].terms else parts[::-1]
                return other * factor.constant
            case "/":
                return parts[0] * (1 / parts[1].constant)
            case "max" | "min" if not any(part.terms for part in parts):
                pick = max if node.operator == "max" else min
                return Total(pick(part.constant for part in parts))
            case "in":
                value, group = parts
                return s.disj(*(s.conj(s.equal(value, s.number(v)), bit) for v, bit in enumerate(group, 1)))
            case "size":
                return Total(Fraction(0), tuple((Fraction(1), bit) for bit in parts[0]))
            case "singleton":
                return s.singleton(parts[0])
            case "smallest" | "largest":
                bits = list(enumerate(parts[0], 1))
                order = bits if node.operator == "smallest" else bits[::-1]
                options = [
                    (s.conj(bit, *(-other for _, other in order[:i])), s.number(v, s.value_bits))
                    for i, (v, bit) in enumerate(order)
                ]
                return s.mux(options)
        raise RoundsError(f"`{node.operator}` is not made into circuits here")

    def compare(self, operator: str, left: Node, right: Node, bound: dict[str, Any]) -> int:
        s = self.symbolic
        for one, other, flipped in ((left, right, operator), (right, left, FLIPPED[operator])):
            if isinstance(other, r.Operation) and other.operator in ("max", "min") and operator not in ("=", "!="):
                every = (other.operator == "max") == (flipped in (">", ">="))
                parts = [self.compare(flipped, one, item, bound) for item in other.operands]
                return s.conj(*parts) if every else s.disj(*parts)
        first, second = self.term(left, bound), self.term(right, bound)
        if isinstance(first, Total) and isinstance(second, Total):
            return s.compare_total(operator, first + second * Fraction(-1))
        if isinstance(first, Total):
            first, second, operator = second, first, FLIPPED[operator]
        if isinstance(second, Total):
            return self._with_constant(operator, first, second)
        if operator in ("=", "!="):
            same = s.equal(first, second)
            return same if operator == "=" else -same
        if operator in (">", ">="):
            first, second, operator = second, first, FLIPPED[operator]
        return s.at_most(first, second) if operator == "<=" else -s.at_most(second, first)

    def _with_constant(self, operator: str, value: Vector, total: Total) -> int:
        """A time compared with a number that is fixed."""
        s = self.symbolic
        if total.terms:
            raise RoundsError("a time compared with a number of messages is not made into circuits")
        limit = total.constant
        if operator in ("=", "!="):
            whole = limit.denominator == 1 and limit >= 0
            same = s.equal(value, s.number(int(limit))) if whole else FALSE
            return same if operator == "=" else -same
        if operator in (">", ">="):
            least = floor(limit) + 1 if operator == ">" else ceil(limit)
            return TRUE if least <= 0 else s.at_most(s.number(least), value)
        most = ceil(limit) - 1 if operator == "<" else floor(limit)
        return FALSE if most < 0 else s.at_most(value, s.number(most))


FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class _About(_Formula):
    """Formulas about the states of all processes, and about who hears whom."""

    def __init__(
        self, symbolic: Symbolic, state: Processes | None, phase: Vector, happened: Sequence[Happened]
    ) -> None:
        super().__init__(symbolic)
        self.state = state
        self.phase = phase
        self.happened = happened

    def own(self, node: Node, bound: dict[str, Any]) -> Any:
        s = self.symbolic
        match node:
            case r.Phase():
                return self.phase
            case r.VariableOf(name, process):
                assert self.state is not None
                rows: list[Any] = (
                    list(self.state.decision) if name == "decision" else [row[name] for row in self.state.variables]
                )
                return self._of(rows, self.term(process, bound))
            case r.Coordinator(of) if of is not None:
                return self._of(list(self.happened[0].coordinators), self.term(of, bound))
            case r.Quantified(universal, names, body):
                parts = []
                for chosen in product(range(s.n), repeat=len(names)):
                    inner = {**bound, **{name: s.someone(p) for name, p in zip(names, chosen, strict=True)}}
                    running = [-self.state.crashed[p] for p in chosen] if self.state else []
                    holds = self.formula(body, inner)
                    parts.append(s.disj(*(-x for x in running), holds) if universal else s.conj(*running, holds))
                return s.conj(*parts) if universal else s.disj(*parts)
            case r.Counting(name, body):
                running = [-literal for literal in self.state.crashed] if self.state else [TRUE] * s.n
                literals = [s.conj(running[p], self.formula(body, {**bound, name: s.someone(p)})) for p in range(s.n)]
                return Total(Fraction(0), tuple((Fraction(1), literal) for literal in literals))
            case r.Member(element, group):
                members = self._heard(group, bound)
                return self._of(members, self.term(element, bound))
            case r.Size(group):
                return Total(Fraction(0), tuple((Fraction(1), literal) for literal in self._heard(group, bound)))
            case r.Related(relation, left, right):
                pairs = list(zip(self._heard(left, bound), self._heard(right, bound), strict=True))
                if relation == "meets":
                    return s.disj(*(s.conj(a, b) for a, b in pairs))
                if relation == "=":
                    return s.conj(*(s.circuit.iff(a, b) for a, b in pairs))
                return s.conj(*(s.disj(-a, b) for a, b in pairs))
        raise RoundsError(f"{type(node).__name__} is not made into circuits here")

    def _of(self, rows: Sequence[Any], who: Who) -> Any:
        if TRUE in who:
            return rows[who.index(TRUE)]
        return self.symbolic.mux(list(zip(who, rows, strict=True)))

    def _heard(self, node: r.HeardOf, bound: dict[str, Any]) -> list[int]:
        s = self.symbolic
        heard = self.happened[node.round - 1].heard
        if node.process is None:
            return [s.conj(*(heard[p, q] for p in range(s.n))) for q in range(s.n)]
        who = self.term(node.process, bound)
        return [self._of([heard[p, q] for p in range(s.n)], who) for q in range(s.n)]


class _Acting(_Formula):
    """One process in one round."""

    def __init__(
        self,
        symbolic: Symbolic,
        me: int,
        phase: Vector,
        before: Processes,
        happened: Happened,
        number: int,
        sent: Sequence[tuple[int, tuple[Any, ...]]],
    ) -> None:
        super().__init__(symbolic)
        self.me = me
        self.phase = phase
        self.state: dict[str, Any] = dict(before.variables[me])
        self.decision = before.decision[me]
        self.revoked = before.revoked[me]
        self.empty = before.empty[me]
        self.happened = happened
        self.number = number
        self.sent = sent
        self.events: list[Event] = []
        self._received: list[tuple[int, tuple[Any, ...]]] | None = None

    @property
    def received(self) -> list[tuple[int, tuple[Any, ...]]]:
        """For each sender: whether its message is received, and what it says."""
        if self._received is None:
            s, to = self.symbolic, self.symbolic.model.rounds[self.number].send
            self._received = []
            for q, (condition, parts) in enumerate(self.sent):
                addressed = self.happened.coordinators[q][self.me] if to and to.to == "coordinator" else TRUE
                literal = s.conj(self.happened.heard[self.me, q], condition, addressed)
                self._received.append((literal, parts))
        return self._received

    def keep(self, after: Processes) -> None:
        """What is received replaces what was kept from the same sender."""
        s = self.symbolic
        self.kept: list[tuple[int, tuple[Any, ...]]] = []
        for q, (literal, parts) in enumerate(self.received):
            key = (self.number, self.me, q)
            if key in after.kept:
                before, old = after.kept[key]
                parts = tuple(s.select(literal, new, gone) for new, gone in zip(parts, old, strict=True))
                literal = s.disj(literal, before)
            after.kept[key] = (literal, parts)
            self.kept.append((literal, parts))

    def messages(self, pattern: r.Pattern) -> list[tuple[int, tuple[Any, ...]]]:
        return self.kept if pattern.kept else self.received

    def own(self, node: Node, bound: dict[str, Any]) -> Any:
        s = self.symbolic
        match node:
            case r.Local(name):
                return self.state[name]
            case r.Myself():
                return s.someone(self.me)
            case r.Coordinator(None):
                return self.happened.coordinators[self.me]
            case r.Phase():
                return self.phase
            case r.Count(pattern):
                messages = self.messages(pattern)
                literals = [s.conj(literal, self.matches(pattern, parts, bound)) for literal, parts in messages]
                return Total(Fraction(0), tuple((Fraction(1), literal) for literal in literals))
            case r.Received() | r.AllReceived():
                return s.disj(*(literal for literal, _ in self.bindings([node], bound)))
        raise RoundsError(f"{type(node).__name__} is not made into circuits here")

    def matches(self, pattern: r.Pattern, parts: tuple[Any, ...], bound: dict[str, Any]) -> int:
        s = self.symbolic
        tests = []
        for item, part in zip(pattern.items, parts, strict=True):
            if not isinstance(item, r.Anything | r.Bind):
                expected = self.term(item, bound)
                if isinstance(expected, Total):
                    tests.append(self._with_constant("=", part, expected))
                else:
                    tests.append(s.equal(part, expected))
        return s.conj(*tests)

    def names(self, pattern: r.Pattern, parts: tuple[Any, ...]) -> dict[str, Any]:
        return {item.name: part for item, part in zip(pattern.items, parts, strict=True) if isinstance(item, r.Bind)}

    # -- statements ------------------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[Node], path: int, bound: dict[str, Any]) -> None:
        s = self.symbolic
        for statement in statements:
            if path == FALSE:
                return
            match statement:
                case r.Assign(name, node):
                    value, defined = self.value(node, bound)
                    if isinstance(value, Total):
                        value = s.number(int(value.constant))
                    self.state[name] = s.select(s.conj(path, defined), value, self.state[name])
                case r.Decide(node):
                    value, defined = self.value(node, bound)
                    self.decide(s.conj(path, defined), value)
                case r.If(condition, then, otherwise):
                    options = self.bindings(list(r.conjuncts(condition)), bound)
                    holds = s.disj(*(literal for literal, _ in options))
                    self.block(then, s.conj(path, holds), self.bind(options, bound))
                    self.block(otherwise, s.conj(path, -holds), bound)

    def bind(self, options: Sequence[tuple[int, dict[str, Any]]], outside: dict[str, Any]) -> dict[str, Any]:
        """The names that one of several ways to satisfy a condition binds."""
        if len(options) == 1:
            return options[0][1]
        chosen = self.symbolic.choose([literal for literal, _ in options])
        new = [name for name in options[0][1] if name not in outside]
        rows = list(zip(chosen, (bound for _, bound in options), strict=True))
        return {**outside, **{name: self.symbolic.mux([(c, bound[name]) for c, bound in rows]) for name in new}}

    def decide(self, path: int, value: Vector) -> None:
        s = self.symbolic
        nothing = s.equal(value, s.number(0))
        first = s.equal(self.decision, s.number(0))
        self.empty = s.disj(self.empty, s.conj(path, nothing))
        again = s.conj(path, -first, -nothing, -s.equal(self.decision, value))
        self.revoked = s.disj(self.revoked, again)
        self.decision = s.select(s.conj(path, first), value, self.decision)
        self.events.append(Event(self.me, path, value))

    # -- what is received --------------------------------------------------------------------------------------------------

    def bindings(self, parts: Sequence[Node], bound: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """All ways to satisfy a conjunction, each with the names that it binds."""
        s = self.symbolic
        found: list[tuple[int, dict[str, Any]]] = [(TRUE, bound)]
        for part in parts:
            extended = []
            for literal, inner in found:
                for more, bindings in self._binding(part, inner):
                    both = s.conj(literal, more)
                    extended.append((both, bindings))
            found = [item for item in extended if item[0] != FALSE] or extended[:1] or [(FALSE, bound)]
        return found

    def _binding(self, node: Node, bound: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
        s = self.symbolic
        if isinstance(node, r.Received):
            messages = [self.from_coordinator()] if node.from_coordinator else self.received
            for literal, parts in messages:
                inner = {**bound, **self.names(node.pattern, parts)}
                yield s.conj(literal, self.matches(node.pattern, parts, bound), self.formula(node.where, inner)), inner
        elif isinstance(node, r.AllReceived):
            yield self.all_received(node, bound)
        else:
            yield self.formula(node, bound), bound

    def all_received(self, node: r.AllReceived, bound: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The common parts are a fresh guess that every message received confirms."""
        s = self.symbolic
        received = self.received
        common = self.names(node.pattern, received[0][1])
        guess = {
            name: s.circuit.variable() if isinstance(part, int) else type(part)(s.fresh(len(part)))
            for name, part in common.items()
        }
        pairs: list[int] = []
        for literal, parts in received:
            theirs = self.names(node.pattern, parts)
            agrees = s.conj(
                self.matches(node.pattern, parts, bound), *(s.equal(theirs[name], guess[name]) for name in guess)
            )
            pairs.append(s.disj(-literal, agrees))
        if not guess:
            return s.conj(s.disj(*(literal for literal, _ in received)), *pairs), bound
        chosen = s.choose([literal for literal, _ in received])
        for name in guess:
            taken = s.mux(
                [(c, self.names(node.pattern, parts)[name]) for c, (_, parts) in zip(chosen, received, strict=True)]
            )
            s.circuit.require(s.equal(taken, guess[name]))
        return s.conj(s.disj(*(literal for literal, _ in received)), *pairs), {**bound, **guess}

    def from_coordinator(self) -> tuple[int, tuple[Any, ...]]:
        s = self.symbolic
        who = self.happened.coordinators[self.me]
        to = s.model.rounds[self.number].send
        rows = []
        for q, (condition, parts) in enumerate(self.sent):
            addressed = self.happened.coordinators[q][self.me] if to and to.to == "coordinator" else TRUE
            heard = TRUE if self.happened.own else self.happened.heard[self.me, q]
            rows.append((who[q], s.conj(condition, addressed, heard), parts))
        literal = s.mux([(mine, received) for mine, received, _ in rows])
        if self.happened.own:
            literal = s.conj(literal, self.happened.own[self.me])
        count = len(rows[0][2])
        return literal, tuple(s.mux([(mine, parts[i]) for mine, _, parts in rows]) for i in range(count))

    # -- what is picked ----------------------------------------------------------------------------------------------------

    def value(self, node: Node, bound: dict[str, Any]) -> tuple[Any, int]:
        """A value, and the condition under which there is one."""
        if isinstance(node, r.Choice):
            return self.picked(node, bound)
        if isinstance(node, r.Operation) and any(isinstance(part, r.Choice) for part in node.walk()):
            parts = [self.value(item, bound) for item in node.operands]
            names = {f"@{i}": value for i, (value, _) in enumerate(parts)}
            inner = r.Operation(node.operator, tuple(r.Bound(name) for name in names))
            return self.term(inner, names), self.symbolic.conj(*(defined for _, defined in parts))
        return self.term(node, bound), TRUE

    def picked(self, node: r.Choice, bound: dict[str, Any]) -> tuple[Any, int]:
        s = self.symbolic
        place = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.name))
        rows = []
        for literal, parts in self.messages(node.pattern):
            inner = {**bound, **self.names(node.pattern, parts)}
            fits = s.conj(literal, self.matches(node.pattern, parts, bound), self.formula(node.where, inner))
            rows.append((fits, parts))
        if node.pick == "union":
            masks = [[s.conj(fits, bit) for bit in parts[place]] for fits, parts in rows]
            return Mask(s.disj(*column) for column in zip(*masks, strict=True)), TRUE
        candidates = [fits for fits, _ in rows]
        values = [parts[place] for _, parts in rows]
        defined = s.disj(*candidates)
        chosen = s.choose(candidates)
        if node.extreme is not None:
            candidates = self._extreme(node, rows, chosen)
            if node.pick != "one":
                chosen = s.choose(candidates)
        value = s.mux(list(zip(chosen, values, strict=True)))
        if "frequent" in node.pick:
            candidates = self._most_frequent(candidates, values, chosen)
        if node.pick.startswith(("smallest", "largest")):
            for fits, other in zip(candidates, values, strict=True):
                low, high = (value, other) if node.pick.startswith("smallest") else (other, value)
                s.clause(-fits, s.at_most(low, high))
        return value, defined

    def _extreme(self, node: r.Choice, rows: list[tuple[int, tuple[Any, ...]]], chosen: Sequence[int]) -> list[int]:
        """Make the chosen message one with the largest (smallest) part; which others have it too?"""
        s = self.symbolic
        assert node.extreme is not None
        key = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.extreme[1]))
        best = s.mux([(choice, parts[key]) for choice, (_, parts) in zip(chosen, rows, strict=True)])
        found = []
        for (fits, parts), choice in zip(rows, chosen, strict=True):
            low, high = (parts[key], best) if node.extreme[0] == "largest" else (best, parts[key])
            s.clause(-fits, s.at_most(low, high))
            found.append(s.conj(fits, s.equal(parts[key], best)))
            s.clause(-choice, found[-1])
        return found

    def _most_frequent(self, candidates: Sequence[int], values: Sequence[Any], chosen: Sequence[int]) -> list[int]:
        """The chosen value is among the most frequent ones; which candidates are?"""
        s = self.symbolic
        counts = []
        for value in values:
            same = [s.conj(fits, s.equal(value, other)) for fits, other in zip(candidates, values, strict=True)]
            row = s.count(same)
            counts.append([*row, *[FALSE] * (len(values) - len(row))])
        most = [s.mux([(c, row[k]) for c, row in zip(chosen, counts, strict=True)]) for k in range(len(values))]
        found = []
        for fits, row in zip(candidates, counts, strict=True):
            for k, literal in enumerate(row):
                s.clause(-fits, -literal, most[k])
            found.append(s.conj(fits, *(s.circuit.iff(a, b) for a, b in zip(row, most, strict=True))))
        return found


def _constants(model: r.RoundModel) -> list[int]:
    """The numbers in the text, any of which might be compared with a time."""
    nodes = [node for formula in model.formulas() for node in formula.walk()]
    return [node.value for node in (*nodes, *model.nodes()) if isinstance(node, r.Number)]
