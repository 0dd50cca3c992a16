"""The text of a round-based algorithm, and what its expressions mean: the part of the twin that knows the language.

The parser's tree is read as it is: names are looked up where they are used, as docs/rounds.md says.  `?` is None, values are
numbers from 1, sets are frozen sets, tags are their names in a tuple, processes are numbers from 0.  Whatever may be picked is
asked of `Choices`.  Read `rounds` next for what a round is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from quorate.lang.diagnostics import Sink
from quorate.lang.rounds.grammar import Declaration, parse
from quorate.models import rounds as r
from quorate.models.rounds import Node
from quorate.models.source import Source
from quorate.proof.twins.choices import Choices

Value = Any
"""`?`, a value, a truth value, a time, a set, a tag, a process or a number."""
Message = tuple[Value, ...]


class NoSuchMessage(Exception):
    """Something is picked from messages, and none matches: the statement does nothing."""


@dataclass(frozen=True)
class Text:
    """The declarations of a file, by what they say."""

    declarations: tuple[Declaration, ...]

    @staticmethod
    def of(source: Source) -> Text:
        return Text(tuple(parse(source, Sink())))

    def each(self, word: str) -> list[Declaration]:
        return [item for item in self.declarations if item.word == word]

    def one(self, word: str) -> Node | None:
        """The formula or number of a declaration that there is once at most."""
        found = self.each(word)
        return found[0].parts[0] if found else None

    def variables(self, word: str) -> list[r.Variable]:
        """Of a process (`state`), or `shared`."""
        return [variable for item in self.each(word) for variable in item.variables]

    def acting(self, word: str) -> list[r.Round]:
        """The rounds, or the steps."""
        return [item.round for item in self.each(word) if item.round is not None]

    def nodes(self) -> Iterator[Node]:
        """Everything that is said about rounds, steps, and who hears whom."""
        for item in (*self.acting("round"), *self.acting("step")):
            yield from item.walk()
        for word in ("safe", "sync"):
            predicate = self.one(word)
            if predicate is not None:
                yield from predicate.walk()

    def properties(self) -> list[tuple[str, Node | None]]:
        """Names and formulas; those that need no formula first."""
        found: list[tuple[str, Node | None]] = [(item.name, None) for item in self.each("property")]
        for number, item in enumerate(self.each("safety"), 1):
            found.append((item.name or f"safety{number}", item.parts[0]))
        return found


@dataclass(frozen=True)
class Process:
    """What a process holds, and what it has decided; one that has crashed holds nothing."""

    values: tuple[Value, ...]
    decision: Value = None
    revoked: bool = False
    empty: bool = False
    crashed: bool = False


@dataclass
class Situation:
    """What an expression is about: one process that acts (`me`), or all of them, or who hears whom."""

    me: int = 0
    own: dict[str, Value] = field(default_factory=dict)
    shared: dict[str, Value] = field(default_factory=dict)
    phase: int = 0
    coordinators: Sequence[int] = ()
    received: Mapping[int, Message] = field(default_factory=dict)
    """By sender."""
    kept: Sequence[Message] = ()
    processes: Sequence[Process] = ()
    heard: Mapping[int, Sequence[frozenset[int]]] = field(default_factory=dict)
    """By the number of the round, then by process."""
    choices: Choices | None = None


class Language:
    """Expressions of a text, for n processes and given parameters."""

    def __init__(self, text: Text, n: int, parameters: Mapping[str, int]) -> None:
        self.n = n
        self.parameters = parameters
        self.places = {item.name: i for i, item in enumerate(text.variables("state"))}
        self.tags = {item.name for item in text.each("tag")}
        shared = {item.name for item in text.variables("shared")}
        self.known = self.tags | shared | set(self.places) | {item.name for item in text.each("parameter")}

    # -- expressions -----------------------------------------------------------------------------------------------

    def value(self, node: Node, about: Situation, bound: Mapping[str, Value]) -> Value:
        match node:
            case r.Number(value) | r.Truth(value):
                return value
            case r.Nothing():
                return None
            case r.Phase():
                return about.phase
            case r.Myself():
                return about.me
            case r.Coordinator(of):
                return about.coordinators[about.me if of is None else self.value(of, about, bound)]
            case r.Parameter():
                return self.n
            case r.Local(name):
                return self.named(name, about, bound)
            case r.VariableOf(name, process):
                whose = about.processes[self.value(process, about, bound)]
                return whose.decision if name == "decision" else whose.values[self.places[name]]
            case r.Operation(operator, operands):
                return self.operation(operator, operands, about, bound)
            case r.Quantified(universal, names, body):
                rows = product(self.present(about), repeat=len(names))
                truths = (self.value(body, about, {**bound, **dict(zip(names, row, strict=True))}) for row in rows)
                return all(truths) if universal else any(truths)
            case r.Counting(name, body):
                return sum(bool(self.value(body, about, {**bound, name: p})) for p in self.present(about))
            case r.Count(pattern):
                return sum(self.match(pattern, message, about, bound) is not None for message in source(pattern, about))
            case r.Received() | r.AllReceived():
                return bool(self.ways(node, about, bound))
            case r.Choice():
                return self.picked(node, about, bound)
            case r.Member(element, group):
                return self.value(element, about, bound) in self.group(group, about, bound)
            case r.Size(group):
                return len(self.group(group, about, bound))
            case r.Related(relation, left, right):
                a, b = self.group(left, about, bound), self.group(right, about, bound)
                return bool(a & b) if relation == "meets" else a == b if relation == "=" else a <= b
        raise AssertionError(node)

    def named(self, name: str, about: Situation, bound: Mapping[str, Value]) -> Value:
        """What is bound hides what is declared."""
        for values in (bound, self.parameters, about.shared, about.own):
            if name in values:
                return values[name]
        assert name in self.tags, name
        return (name,)

    def present(self, about: Situation) -> list[int]:
        """The processes that a formula speaks of: those that have not crashed."""
        return [p for p in range(self.n) if not about.processes or not about.processes[p].crashed]

    def group(self, node: r.HeardOf, about: Situation, bound: Mapping[str, Value]) -> frozenset[int]:
        rows = about.heard[node.round]
        if node.process is None:
            return frozenset.intersection(*rows)
        return rows[self.value(node.process, about, bound)]

    def operation(self, operator: str, operands: Sequence[Node], about: Situation, bound: Mapping[str, Value]) -> Value:
        values = [self.value(item, about, bound) for item in operands]
        a, b = values[0], values[-1]
        match operator:
            case "and":
                return all(values)
            case "or":
                return any(values)
            case "->":
                return not a or bool(b)
            case "not":
                return not a
            case "=" | "!=":
                return (a == b) == (operator == "=")
            case "<" | "<=" | ">" | ">=":
                low, high = (rank(a), rank(b)) if operator[0] == "<" else (rank(b), rank(a))
                return low < high or (low == high and operator[-1] == "=")
            case "+":
                return a | b if isinstance(a, frozenset) else a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return Fraction(a) / b
            case "max":
                return max(values)
            case "min":
                return min(values)
            case "in":
                return a in b
            case "singleton":
                return frozenset() if a is None else frozenset([a])
            case "size":
                return len(a)
            case "smallest":
                return min(a, default=None)
            case "largest":
                return max(a, default=None)
        raise AssertionError(operator)

    # -- messages --------------------------------------------------------------------------------------------------

    def match(
        self, pattern: r.Pattern, message: Message, about: Situation, bound: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        """What a message binds; None if it does not match."""
        found: dict[str, Value] = {}
        for item, part in zip(pattern.items, message, strict=True):
            if isinstance(item, r.Local) and item.name not in self.known and item.name not in bound:
                found[item.name] = part
            elif not isinstance(item, r.Anything) and self.value(item, about, bound) != part:
                return None
        return found

    def ways(self, node: Node, about: Situation, bound: Mapping[str, Value]) -> list[dict[str, Value]]:
        """All ways in which a condition holds, each with what is bound then."""
        match node:
            case r.Operation("and", operands):
                found = [dict(bound)]
                for operand in operands:
                    found = [later for now in found for later in self.ways(operand, about, now)]
                return distinct(found)
            case r.Received(pattern, from_coordinator, where):
                senders = [about.coordinators[about.me]] if from_coordinator else list(about.received)
                found = []
                for sender in senders:
                    if sender in about.received:
                        names = self.match(pattern, about.received[sender], about, bound)
                        if names is not None and self.value(where, about, {**bound, **names}):
                            found.append({**bound, **names})
                return distinct(found)
            case r.AllReceived(pattern):
                rows = [self.match(pattern, message, about, bound) for message in about.received.values()]
                if not rows or rows[0] is None or any(row != rows[0] for row in rows):
                    return []
                return [{**bound, **rows[0]}]
        return [dict(bound)] if self.value(node, about, bound) else []

    def picked(self, node: r.Choice, about: Situation, bound: Mapping[str, Value]) -> Value:
        assert about.choices is not None
        rows = [self.match(node.pattern, message, about, bound) for message in source(node.pattern, about)]
        fitting = [row for row in rows if row is not None and self.value(node.where, about, {**bound, **row})]
        if node.pick == "union":
            return frozenset().union(*(row[node.name] for row in fitting))
        if not fitting:
            raise NoSuchMessage
        if node.extreme is not None:
            best = (max if node.extreme[0] == "largest" else min)(rank(row[node.extreme[1]]) for row in fitting)
            fitting = [row for row in fitting if rank(row[node.extreme[1]]) == best]
        values = [row[node.name] for row in fitting]
        if node.pick.endswith("frequent"):
            most = max(values.count(value) for value in values)
            values = [value for value in values if values.count(value) == most]
        if node.pick.startswith(("smallest", "largest")):
            return (min if node.pick.startswith("smallest") else max)(values, key=rank)
        options = sorted(set(values), key=rank)
        return options[about.choices.choose(len(options))]


def source(pattern: r.Pattern, about: Situation) -> Sequence[Message]:
    """The messages that a pattern is about."""
    return about.kept if pattern.kept else list(about.received.values())


def rank(value: Value) -> Any:
    """`?` is smaller than every value."""
    return 0 if value is None else value


def distinct(rows: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    found: list[dict[str, Value]] = []
    for row in rows:
        if row not in found:
            found.append(row)
    return found
