"""A parsed Mercury program, and what follows from its text alone; for the naive twin (`mercury`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from quorate.lang.diagnostics import Sink
from quorate.lang.mercury import grammar
from quorate.lang.mercury.grammar import (
    AssignStatement,
    GotoStatement,
    HandlerDeclaration,
    IfStatement,
    SendStatement,
    SetStatement,
    SurfaceStatement,
)
from quorate.lang.reader import Expression, Literal, Operation, Reference
from quorate.models.forms import NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.process_relational import waiting_names
from quorate.models.relational import RelationalModel
from quorate.proof.twins import TwinError

Shape = tuple[Any, ...]
"""What an integer was computed from in one step, as a tree: see `mercury`."""


class Text:
    """A parsed program: what is declared, and what follows from the text alone."""

    def __init__(self, model: ProcessModel) -> None:
        source = model.source
        program = None if source is None else grammar.parse(source, Sink())
        if program is None:
            raise TwinError("the program has no text")
        self.model, self.program = model, program
        self.actions = {item.name.text: item for item in program.actions}
        self.variables = {item.name.text: item for item in program.variables}
        self.initial = next(item.name.text for item in program.locations if item.initial)
        self.handlers = {item.name.text: item.handlers for item in program.locations}
        self.passive = {item.name.text: {name.text for name in item.passive} for item in program.locations}
        self.reads = [(event_of(handler), name) for handler in self.every_handler for name in _reads(handler, self)]
        registers = dict.fromkeys(name for _, name in self.reads if "." in name)
        self.lasting = {name for event, name in self.reads if "." in name and not _belongs(event, name)}
        self.lasting |= {name for name in registers if name.endswith((".winS", ".loseS"))}
        self.names = [*self.variables, *registers]
        self.index = {name: place for place, name in enumerate(self.names)}
        self.sets = [place for place, name in enumerate(self.names) if self.kind(name) == "set"]
        named = [handler.event for handler in self.every_handler if handler.event.number is not None]
        self.agreements = dict.fromkeys(event.name.text for event in named if event.name is not None)
        self.counters = [name for name, item in self.variables.items() if _counts(item)]
        self.crashable = {name.text for name in program.crash_locations}
        risky = {name.text for name in program.crash_actions}
        for name, handlers in self.handlers.items():
            if any(event_of(handler) in risky for handler in handlers):
                self.crashable.add(name)
        self.rest: dict[int, tuple[SurfaceStatement, ...]] = {}
        """What is left to do from a send on, by the place of the send in the text."""
        for handler in self.every_handler:
            for body in (handler.body, handler.lose or ()):
                self._follow(body, ())
        self.properties = dict(self._properties())

    @property
    def every_handler(self) -> Iterator[HandlerDeclaration]:
        for location in self.program.locations:
            yield from location.handlers

    def _follow(self, body: Sequence[SurfaceStatement], after: tuple[SurfaceStatement, ...]) -> None:
        for place, statement in enumerate(body):
            rest = (*body[place + 1 :], *after)
            if isinstance(statement, SendStatement):
                self.rest[statement.span.start] = (statement, *rest)
            elif isinstance(statement, IfStatement):
                self._follow(statement.then, rest)
                self._follow(statement.otherwise, rest)

    def kind(self, name: str) -> str:
        if name in self.variables:
            return self.variables[name].kind
        return {"winS": "set", "loseS": "set", "sID": "id"}.get(name.partition(".")[2], "int")

    def bounds(self, name: str) -> tuple[Expression, Expression]:
        """The range of a variable, or of what an event leaves behind."""
        if name in self.variables:
            found = self.variables[name].bounds
        elif name.endswith(".payld"):
            found = self.actions[name.partition(".")[0]].bounds
        else:
            return self._decided(name.partition(".")[0])
        assert found is not None
        return found

    def _decided(self, consensus: str) -> tuple[Expression, Expression]:
        """The range of what may be decided: that of what is proposed."""
        events = [handler.event for handler in self.every_handler if event_of(handler) == consensus]
        proposed = [self.variables[event.proposal.text].bounds for event in events if event.proposal is not None]
        ranges = [found for found in proposed if found is not None]
        shapes = {(shape_of(low, {}), shape_of(high, {})) for low, high in ranges}
        if len(shapes) == 1:
            return ranges[0]
        fixed = [pair for pair in ranges if not any("N" in _names(end) for end in pair)]
        span = events[0].span
        low = min((bound(pair[0], 0) for pair in fixed), default=0)
        high = max((bound(pair[1], 0) for pair in fixed), default=0)
        return Literal(span, low), Literal(span, high)

    def _properties(self) -> Iterator[tuple[str, Expression]]:
        """The conjuncts of the specification, by the names that the model has for what stands at their places."""
        known = {(p.span.start, p.span.end): p.name for p in self.model.safety if p.span is not None}
        for item in self.program.properties:
            listed = list(_conjuncts(item.specification))
            for part in listed:
                span = item.span if item.name is not None and len(listed) == 1 else part.span
                if (span.start, span.end) in known:
                    yield known[span.start, span.end], part

    @cached_property
    def form(self) -> tuple[RelationalModel, Mapping[tuple[str, int], str]] | None:
        """The relational form, and its names for the places where processes wait."""
        try:
            return relational_form(self.model), waiting_names(self.model)
        except NoForm:
            return None


def event_of(handler: HandlerDeclaration) -> str | None:
    """The message or agreement of a handler."""
    return None if handler.event.name is None else handler.event.name.text


def _belongs(event: str | None, register: str) -> bool:
    return register.partition(".")[0] == event


def replied_to(text: Text, send: SendStatement) -> str | None:
    """The message that a reply answers."""
    return next(event_of(handler) for handler in text.every_handler if send in handler.body)


def _reads(handler: HandlerDeclaration, text: Text) -> Iterator[str]:
    """The names that a handler reads, in what can be reached of it."""
    if handler.guard is not None:
        yield from _names(handler.guard)
    if handler.event.participants is not None:
        yield from _names(handler.event.participants)
    for body in (handler.body, handler.lose or ()):
        for statement in _reached(body):
            match statement:
                case AssignStatement(_, value) | SetStatement(_, _, value):
                    yield from _names(value)
                case IfStatement(condition):
                    yield from _names(condition)
                case SendStatement(broadcast, action, payload, target):
                    declared = text.actions[action.text]
                    if payload is not None and declared.bounds is not None:
                        yield from _names(payload)
                    if not declared.environment and broadcast is None:
                        yield f"{event_of(handler)}.sID"
                    elif not declared.environment and target is not None:
                        yield from _names(target)


def _reached(body: Sequence[SurfaceStatement]) -> Iterator[SurfaceStatement]:
    """The statements of a body and its conditionals up to a `goto`."""
    for statement in body:
        yield statement
        if isinstance(statement, IfStatement):
            yield from _reached(statement.then)
            yield from _reached(statement.otherwise)
        if isinstance(statement, GotoStatement):
            return


def _names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Reference):
        yield expression.name
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from _names(operand)


def _conjuncts(wanted: Expression) -> Iterator[Expression]:
    if isinstance(wanted, Operation) and wanted.operator == "&":
        for operand in wanted.operands:
            yield from _conjuncts(operand)
    else:
        yield wanted


def _counts(declared: grammar.VariableDeclaration) -> bool:
    """Does the range of a variable depend on the number of processes?"""
    parts = [*(declared.bounds or ()), *([declared.initial] if declared.initial is not None else [])]
    return any("N" in _names(part) for part in parts)


def bound(expression: Expression, processes: int) -> int:
    """A bound: numbers and `N`."""
    match expression:
        case Literal(_, value):
            return int(value)
        case Reference(_, "N"):
            return processes
        case Operation(_, operator, (left, right)):
            return int(apply(operator, bound(left, processes), bound(right, processes)))
    raise TwinError("the twin cannot compute a bound of the text")


def apply(operator: str, left: Any, right: Any) -> Any:
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left // right if right else 0
    raise TwinError(f"the twin does not know the operator {operator}")


def shape_of(expression: Expression, shapes: Mapping[str, Shape]) -> Shape:
    """What an integer expression computes, in terms of the values before the step."""
    match expression:
        case Literal(_, value):
            return "number", value
        case Reference(_, "N"):
            return ("N",)
        case Reference(_, name):
            return shapes.get(name, ("variable", name))
        case Operation(_, operator, operands):
            return operator, *(shape_of(operand, shapes) for operand in operands)
    return ("unknown",)


def in_range(shape: Shape, bounds: tuple[Expression, Expression]) -> Shape:
    """The shape brought into a range, unless it lies there for certain."""
    low, high = (shape_of(end, {}) for end in bounds)
    if shape[0] == "range" and shape[2:] == (low, high):
        return shape
    if shape[0] == low[0] == high[0] == "number" and low[1] <= shape[1] <= high[1]:
        return shape
    return "range", shape, low, high
