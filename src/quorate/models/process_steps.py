"""The handlers of a Mercury program as guarded steps of one process: the core fragment of the paper's section 3.2.

A handler is executed symbolically, path by path: what it tests becomes a guard and what it assigns becomes simultaneous
updates, both over the state before.  Where it has to wait in front of a send, a point of its own begins.  Read
`process_relational` next, and `engines/explicit/processes` for finite instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from quorate.models.process import (
    Arithmetic,
    Assign,
    Comparison,
    Consensus,
    Expression,
    Goto,
    Handler,
    If,
    Internal,
    Junction,
    Negation,
    Number,
    Partition,
    ProcessModel,
    Read,
    Receive,
    Send,
    SetUpdate,
    Statement,
    Truth,
    Variable,
)
from quorate.models.source import Span


@dataclass(frozen=True)
class Incoming:
    """What an event brings: the payload or sender of a message, the decided value, or whether a process wins or loses."""

    what: Literal["payload", "sender", "decided", "winners", "losers"]


@dataclass(frozen=True)
class Nobody:
    """No process: the first value of an identity."""


@dataclass(frozen=True)
class Wrapped:
    """An integer brought into the range of a variable or action."""

    operand: Term
    low: Expression
    high: Expression


@dataclass(frozen=True)
class Changed:
    """A set with a process, or all processes of another set, added or removed."""

    operation: Literal["add", "remove"]
    base: Term
    change: Term
    many: bool


@dataclass(frozen=True)
class Contains:
    """Is a process in a set?"""

    base: Term
    member: Term


@dataclass(frozen=True)
class Full:
    """Are all processes but the one itself in a set?"""

    base: Term


Term = Expression | Incoming | Nobody | Wrapped | Changed | Contains | Full
"""Expressions of a path, over the state before it and what the event brings."""

Trigger = Literal["internal", "send", "receive", "win", "lose", "decide"]


@dataclass(frozen=True)
class Point:
    """Where a process can be between two steps: in a location, or waiting to send in a handler of that location."""

    location: str
    pending: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Path:
    """One way through a handler, or through the rest of one that waits.

    `receiver` is None for a broadcast, and for a rendezvous with anyone.  Handlers of one event in one location are
    alternatives, numbered from 0; paths of one event from one point with the same number exclude each other.
    """

    source: Point
    trigger: Trigger
    event: str
    guard: tuple[Term, ...]
    updates: Mapping[str, Term]
    target: Point
    payload: Term | None = None
    receiver: Term | None = None
    alternative: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)


class ProcessSteps:
    """The points and paths of a program."""

    def __init__(self, model: ProcessModel) -> None:
        self.model = model
        self.points: dict[Point, None] = {}
        self.paths: list[Path] = []
        todo = [Point(location.name) for location in model.locations]
        self.points.update(dict.fromkeys(todo))
        while todo:
            point = todo.pop(0)
            for path in self._paths(point):
                self.paths.append(path)
                if path.target not in self.points:
                    self.points[path.target] = None
                    todo.append(path.target)

    def of(self, trigger: Trigger, event: str | None = None) -> list[Path]:
        return [path for path in self.paths if path.trigger == trigger and event in (None, path.event)]

    lasting_sets: frozenset[str] = frozenset()
    """Sets that a crash removes nobody from."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Declared variables and the registers that a process ever keeps between two steps."""
        waiting = {
            path.event
            for path in self.paths
            if path.target.pending and path.trigger in ("receive", "win", "lose", "decide")
        }
        kept = [v for v in self.model.registers if v.name in self.model.lasting or v.name.split(".")[0] in waiting]
        return self.model.variables + tuple(kept)

    @cached_property
    def agreements(self) -> dict[str, Partition | Consensus]:
        """One event of each agreement, for what all of them have in common."""
        return {h.event.name: h.event for _, h in self.model.handlers if isinstance(h.event, Partition | Consensus)}

    def participants(self, name: str) -> dict[str, Partition | Consensus]:
        """The events of an agreement, by location."""
        return {
            location.name: handler.event
            for location, handler in self.model.handlers
            if isinstance(handler.event, Partition | Consensus) and handler.event.name == name
        }

    # -- symbolic execution ----------------------------------------------------------------------------------------

    def _paths(self, point: Point) -> Iterator[Path]:
        if point.pending:
            yield from self._sending(point, (), point.pending, point.pending[0].span)
            return
        location = self.model.location(point.location)
        numbers: Counter[str] = Counter()
        for name in location.passive:
            if any(action.name == name for action in self.model.actions):
                yield Path(point, "receive", name, (), {}, point, span=location.span)
                numbers[name] += 1
        for handler in location.handlers:
            if isinstance(handler.event, Internal):
                guard = (handler.guard,) if handler.guard is not None else ()
                yield from self._sending(point, guard, handler.body, handler.span)
                continue
            name = handler.event.action if isinstance(handler.event, Receive) else handler.event.name
            for path in self._handler(point, handler):
                yield replace(path, alternative=numbers[name])
            numbers[name] += 1

    def _handler(self, point: Point, handler: Handler) -> Iterator[Path]:
        event, span = handler.event, handler.span
        assert not isinstance(event, Internal)
        values: dict[str, Term]
        if isinstance(event, Receive):
            values = {f"{event.action}.payld": Incoming("payload"), f"{event.action}.sID": Incoming("sender")}
            cases: list[tuple[Trigger, str, tuple[Statement, ...]]] = [("receive", event.action, handler.body)]
        elif isinstance(event, Partition):
            values = {f"{event.name}.winS": Incoming("winners"), f"{event.name}.loseS": Incoming("losers")}
            cases = [("win", event.name, handler.body), ("lose", event.name, handler.lose or ())]
        else:
            values = {f"{event.name}.decVar": Incoming("decided")}
            cases = [("decide", event.name, handler.body)]
        known = {variable.name for variable in self.model.registers}
        values = {name: value for name, value in values.items() if name in known}
        guard = (substitute(handler.guard, values),) if handler.guard is not None else ()
        for trigger, name, body in cases:
            for tests, after, place, rest in self._run(point.location, body, values, guard):
                yield self._path(point, trigger, name, tests, after, Point(place, rest), span)

    def _sending(
        self,
        point: Point,
        guard: tuple[Term, ...],
        body: tuple[Statement, ...],
        span: Span | None,
    ) -> Iterator[Path]:
        """Paths that the process begins: up to the first send, then on to the second one, or to the end."""
        for tests, values, place, rest in self._run(point.location, body, {}, guard):
            if not rest:
                yield self._path(point, "internal", "", tests, values, Point(place), span)
                continue
            send = rest[0]
            assert isinstance(send, Send)
            bounds = self.model.action(send.action).bounds
            payload = None
            if send.payload is not None and bounds is not None:
                payload = wrapped(substitute(send.payload, values), *bounds)
            receiver = None if send.target is None else substitute(send.target, values)
            for more, after, last, left in self._run(place, rest[1:], values, tests):
                yield self._path(point, "send", send.action, more, after, Point(last, left), span, payload, receiver)

    def _path(
        self,
        point: Point,
        trigger: Trigger,
        event: str,
        guard: tuple[Term, ...],
        values: Mapping[str, Term],
        target: Point,
        span: Span | None,
        payload: Term | None = None,
        receiver: Term | None = None,
    ) -> Path:
        updates = {name: value for name, value in values.items() if value != Read(name)}
        return Path(point, trigger, event, guard, updates, target, payload, receiver, span=span)

    def _run(
        self, location: str, body: tuple[Statement, ...], values: Mapping[str, Term], guard: tuple[Term, ...]
    ) -> Iterator[tuple[tuple[Term, ...], dict[str, Term], str, tuple[Statement, ...]]]:
        """Every way through statements up to a send: tests, values, location, and what is left from the send on."""
        values = dict(values)
        while body:
            statement, body = body[0], body[1:]
            match statement:
                case Send():
                    yield guard, values, location, (statement, *body)
                    return
                case Goto(target):
                    location, body = target, ()
                case Assign(name, value):
                    variable = self.model.variable(name)
                    found = substitute(value, values)
                    values[name] = wrapped(found, variable.low, variable.high) if variable.kind == "int" else found
                case SetUpdate(operation, name, value, many):
                    base = values.get(name, Read(name))
                    values[name] = Changed(operation, base, substitute(value, values), many)
                case If(condition, then, otherwise):
                    test = substitute(condition, values)
                    for branch, holds in ((then, test), (otherwise, negation(test))):
                        if holds != Truth(False):
                            more = () if holds == Truth(True) else (holds,)
                            yield from self._run(location, branch + body, values, guard + more)
                    return
        for variable in self.model.registers:
            if variable.name not in self.model.lasting:
                values[variable.name] = variable.initial if variable.kind == "int" else Nobody()
        yield guard, values, location, ()


def negation(term: Term) -> Term:
    if isinstance(term, Truth):
        return Truth(not term.value)
    return term.operand if isinstance(term, Negation) else Negation(term)  # type: ignore[arg-type]


def wrapped(term: Term, low: Expression, high: Expression) -> Term:
    """The value brought into range; left as it is where it is clear that it lies there."""
    if isinstance(term, Wrapped) and (term.low, term.high) == (low, high):
        return term
    if (
        isinstance(low, Number)
        and isinstance(high, Number)
        and isinstance(term, Number)
        and low.value <= term.value <= high.value
    ):
        return term
    return Wrapped(term, low, high)


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with what is known of variables put in."""
    match term:
        case Read(name):
            return values.get(name, term)
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, substitute(left, values), substitute(right, values))  # type: ignore[arg-type]
        case Comparison(operator, left, right):
            return Comparison(operator, substitute(left, values), substitute(right, values))  # type: ignore[arg-type]
        case Negation(operand):
            return negation(substitute(operand, values))
        case Junction(operator, operands):
            return Junction(operator, tuple(substitute(o, values) for o in operands))  # type: ignore[misc]
    return term


def leaves(term: Term) -> Iterator[Term]:
    """Everything in a term that has no parts."""
    match term:
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            yield from leaves(left)
            yield from leaves(right)
        case Negation(operand) | Wrapped(operand):
            yield from leaves(operand)
        case Junction(_, operands):
            for operand in operands:
                yield from leaves(operand)
        case Changed(_, base, other) | Contains(base, other):
            yield from leaves(base)
            yield from leaves(other)
        case Full(base):
            yield from leaves(base)
        case _:
            yield term
