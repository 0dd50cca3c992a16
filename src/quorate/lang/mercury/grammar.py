"""The grammar of Mercury files: text to declarations, in the syntax of the paper and in that of its published programs.

Follows Figures 2 to 4 of QuickSilver (Jaber et al., OOPSLA 2021) and the `.ch` files of its artifact; both may be mixed.
Read `elaborate` beside this for names and types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from quorate.lang.diagnostics import Sink
from quorate.lang.mercury.layout import LayoutParser
from quorate.lang.reader import (
    Expression,
    Lexicon,
    Literal,
    Operators,
    Reference,
    SyntaxProblem,
    Token,
    tokenize,
)
from quorate.models.source import Source, Span

KEYWORDS = frozenset(
    [
        "machine",
        "process",
        "satisfies",
        "safety",
        "liveness",
        "variables",
        "actions",
        "crash",
        "locations",
        "initial",
        "location",
        "int",
        "set",
        "idSet",
        "id",
        "env",
        "br",
        "rz",
        "unit",
        "on",
        "passive",
        "recv",
        "do",
        "where",
        "reply",
        "win",
        "lose",
        "rend",
        "sendrz",
        "broadcast",
        "sendbr",
        "if",
        "else",
        "goto",
        "Partition",
        "PartitionCons",
        "Consensus",
        "ValueCons",
        "True",
        "False",
        "All",
        "Empty",
        "self",
        "atmost",
        "atleast",
        "_",
    ]
)

LEXICON = Lexicon(
    re.compile(
        r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)|(?P<text>\"[^\"\n]*\")"
        r"|(?P<mark>\?\?|:=|==|!=|<=|>=|&&|\|\||[()\[\]{}<>.,;:=!+\-*/])",
        re.DOTALL,
    ),
    KEYWORDS,
)

OPERATORS = Operators(
    binary={
        "||": (10, 11),
        "&&": (20, 21),
        **dict.fromkeys(("=", "==", "!=", "<", "<=", ">", ">="), (30, 32)),
        **dict.fromkeys("+-", (40, 41)),
        **dict.fromkeys("*/", (50, 51)),
    },
    negation={"!": 60},
    spelling={"||": "|", "&&": "&", "==": "="},
)

FIELDS = {
    "payld": "payld",
    "payload": "payld",
    "sID": "sID",
    "winS": "winS",
    "loseS": "loseS",
    "desVal": "decVar",
    "decVar": "decVar",
}
"""What may be asked of an event, and the name that Quorate uses for it."""

SET_OPERATIONS = {"add": False, "remove": False, "addAll": True, "removeAll": True}

SECTIONS = frozenset(["variables", "actions", "crash", "initial", "location"])
LOCATION_PARTS = frozenset(["on", "passive", "location", "initial"])


@dataclass(frozen=True)
class VariableDeclaration:
    kind: str
    name: Token
    bounds: tuple[Expression, Expression] | None
    initial: Expression | None


@dataclass(frozen=True)
class ActionDeclaration:
    environment: bool
    broadcast: bool
    name: Token
    bounds: tuple[Expression, Expression] | None


@dataclass(frozen=True)
class AssignStatement:
    variable: Token
    value: Expression
    span: Span


@dataclass(frozen=True)
class SetStatement:
    variable: Token
    operation: str
    value: Expression
    span: Span


@dataclass(frozen=True)
class SendStatement:
    """`broadcast` is None for a reply."""

    broadcast: bool | None
    action: Token
    payload: Expression | None
    target: Expression | None
    span: Span


@dataclass(frozen=True)
class IfStatement:
    condition: Expression
    then: tuple[SurfaceStatement, ...]
    otherwise: tuple[SurfaceStatement, ...]
    span: Span


@dataclass(frozen=True)
class GotoStatement:
    location: Token
    span: Span


SurfaceStatement = AssignStatement | SetStatement | SendStatement | IfStatement | GotoStatement


@dataclass(frozen=True)
class EventSyntax:
    """`kind` is internal, receive, partition or consensus."""

    kind: str
    name: Token | None
    span: Span
    participants: Expression | None = None
    number: Token | None = None
    proposal: Token | None = None
    implementation: Token | None = None


@dataclass(frozen=True)
class HandlerDeclaration:
    event: EventSyntax
    guard: Expression | None
    body: tuple[SurfaceStatement, ...]
    lose: tuple[SurfaceStatement, ...] | None
    reply: bool
    span: Span


@dataclass(frozen=True)
class LocationDeclaration:
    name: Token
    initial: bool
    handlers: tuple[HandlerDeclaration, ...]
    passive: tuple[Token, ...]


@dataclass(frozen=True)
class CountSyntax(Expression):
    """`atmost(k, {L, M: predicate})` or `atleast(...)`."""

    most: bool
    number: int
    descriptors: tuple[tuple[Token, Expression | None], ...]


@dataclass(frozen=True)
class PropertyDeclaration:
    name: str | None
    specification: Expression
    span: Span


@dataclass(frozen=True)
class Program:
    name: Token
    properties: tuple[PropertyDeclaration, ...]
    variables: tuple[VariableDeclaration, ...]
    actions: tuple[ActionDeclaration, ...]
    crash_locations: tuple[Token, ...]
    crash_actions: tuple[Token, ...]
    locations: tuple[LocationDeclaration, ...]


def parse(source: Source, sink: Sink) -> Program | None:
    """The declarations of a text; None if its header cannot be read."""
    return _Grammar(tokenize(source, LEXICON, sink), sink).program()


class _Grammar(LayoutParser[SurfaceStatement]):
    operators = OPERATORS

    def program(self) -> Program | None:
        try:
            if not self.accept("machine", "process"):
                self.fail("expected `machine` or `process`")
            name = self.expect("name", "of the program")
        except SyntaxProblem:
            return None
        properties: list[PropertyDeclaration] = []
        variables: list[VariableDeclaration] = []
        actions: list[ActionDeclaration] = []
        crash_locations: list[Token] = []
        crash_actions: list[Token] = []
        locations: list[LocationDeclaration] = []
        while not self.at("end"):
            try:
                if self.accept(";"):
                    continue
                if self.accept("satisfies"):
                    properties += self.properties()
                elif self.accept("variables"):
                    variables += self.variables()
                elif self.accept("actions"):
                    actions += self.actions()
                elif self.accept("crash"):
                    self.crash(crash_locations, crash_actions)
                elif self.at("initial", "location"):
                    locations.append(self.location())
                else:
                    self.fail("expected `satisfies`, `variables`, `actions`, `crash`, `initial` or `location`")
            except SyntaxProblem:
                self.depth = self.height = 0
                self.advance()
                self.skip_to(SECTIONS)
        return Program(
            name,
            tuple(properties),
            tuple(variables),
            tuple(actions),
            tuple(crash_locations),
            tuple(crash_actions),
            tuple(locations),
        )

    # -- the header ------------------------------------------------------------------------------------------------

    def properties(self) -> list[PropertyDeclaration]:
        found = []
        while self.at("safety", "liveness"):
            if self.at("liveness"):
                self.fail("liveness properties are not read", code="Q0104")
            self.advance()
            name, start = None, self.token.span
            if self.accept("["):
                name = self.expect("name", "of the property").text
                self.expect("]", "after the name")
            specification = self.expression()
            found.append(PropertyDeclaration(name, specification, self.since(start)))
            self.accept(";")
        if not found:
            self.fail("expected `safety`")
        return found

    def variables(self) -> list[VariableDeclaration]:
        found = []
        while self.at("int", "set", "idSet", "id", ";"):
            if self.accept(";"):
                continue
            kind = self.advance().kind
            bounds = self.bounds() if kind == "int" else None
            name = self.expect("name", "of the variable")
            initial = self.expression(40) if self.accept(":=", "=") else None
            found.append(VariableDeclaration("set" if kind == "idSet" else kind, name, bounds, initial))
        return found

    def bounds(self) -> tuple[Expression, Expression]:
        self.expect("[", "and the smallest value")
        low = self.expression(40)
        self.expect(",", "and the largest value")
        high = self.expression(40)
        self.expect("]", "after the range")
        return low, high

    def actions(self) -> list[ActionDeclaration]:
        """`env` stands before each action of the environment; alone on its line, it is about all actions that follow."""
        found = []
        section: Token | None = None
        inner: str | None = None
        while self.at("env", "br", "rz", ";"):
            if self.accept(";"):
                continue
            first, here = self.begins_line(), self.indentation(self.token)
            if section is not None and first and inner not in (None, here):
                text = "is this an action of the environment?  It is not indented like the first one below `env`"
                self.unclear(text, section, "write `env` before each action of the environment, or indent them alike")
            inner = here if section is not None else None
            start = self.accept("env")
            if start is not None and self.token.span.line > start.span.line:
                section, inner = start, None
                continue
            if not self.at("br", "rz"):
                self.fail("expected `br` or `rz`")
            broadcast = self.advance().kind == "br"
            name = self.expect("name", "of the action")
            self.expect(":", "and `unit` or a range, like `int[1,2]`")
            if self.accept("unit"):
                bounds = None
            else:
                self.expect("int", "or `unit`")
                bounds = self.bounds()
            found.append(ActionDeclaration(section is not None or start is not None, broadcast, name, bounds))
        return found

    def crash(self, locations: list[Token], actions: list[Token]) -> None:
        found = False
        while self.at("locations", "actions") and self.peek().kind == ":":
            listed = locations if self.advance().kind == "locations" else actions
            self.advance()
            listed += self.separated(lambda: self.expect("name"))
            self.accept(";")
            found = True
        if not found:
            self.fail("expected `locations:` or `actions:`")

    # -- locations -------------------------------------------------------------------------------------------------

    def location(self) -> LocationDeclaration:
        initial = self.accept("initial") is not None
        self.expect("location")
        name = self.expect("name", "of the location")
        handlers: list[HandlerDeclaration] = []
        passive: list[Token] = []
        while not self.at("end", "location", "initial"):
            try:
                if self.accept(";"):
                    continue
                if self.accept("passive"):
                    passive += self.separated(lambda: self.expect("name", "of an action or agreement"))
                elif self.at("on"):
                    handlers.append(self.handler())
                else:
                    self.fail("expected `on`, `passive` or `location`")
            except SyntaxProblem:
                self.depth = self.height = 0
                self.waiting = []
                self.skip_to(LOCATION_PARTS)
        return LocationDeclaration(name, initial, tuple(handlers), tuple(passive))

    def handler(self) -> HandlerDeclaration:
        on = self.expect("on")
        start, event = on.span, self.event()
        guard = None
        if self.accept("where"):
            self.expect("(", "and a condition")
            guard = self.expression()
            self.expect(")", "after the condition")
        if self.accept("reply"):
            return HandlerDeclaration(event, guard, (self.reply(),), None, True, self.since(start))
        if event.kind == "partition":
            win = self.expect("win", "and what winners do")
            self.expect(":", "after `win`")
            body = self.block(win)
            lose = self.expect("lose", "and what losers do")
            self.expect(":", "after `lose`")
            return HandlerDeclaration(event, guard, body, self.block(lose), False, self.since(start))
        self.expect("do", "and what to do at the event")
        return HandlerDeclaration(event, guard, self.block(on), None, False, self.since(start))

    def event(self) -> EventSyntax:
        start = self.token.span
        if self.accept("_"):
            return EventSyntax("internal", None, start)
        if self.accept("recv"):
            self.expect("(", "and the action")
            name = self.expect("name", "of the action")
            self.expect(")", "after the action")
            return EventSyntax("receive", name, self.since(start))
        if not self.at("Partition", "PartitionCons", "Consensus", "ValueCons"):
            self.fail("expected `_`, `recv`, `Partition` or `Consensus`")
        kind = "partition" if self.advance().kind.startswith("Partition") else "consensus"
        self.expect("<", "and the name of the agreement")
        name = self.expect("name", "of the agreement")
        self.expect(">", "after the name")
        self.expect("(", "and the participants")
        participants = self.expression()
        self.expect(",", "and a number")
        if self.at("??"):
            self.hole()
        number = self.token
        self.number()
        proposal = None
        if kind == "consensus":
            self.expect(",", "and the variable with the proposal, or `_`")
            proposal = None if self.accept("_") else self.expect("name", "of a variable, or `_`")
        self.expect(")", "after the agreement's parameters")
        implementation = None
        if self.at("name") and self.token.text == "implemented":
            self.advance()
            if self.token.text != "by":
                self.fail("expected `by`")
            self.advance()
            implementation = self.expect("text", "the name of a file in quotes")
        return EventSyntax(kind, name, self.since(start), participants, number, proposal, implementation)

    def statement(self) -> SurfaceStatement:
        start = self.token.span
        if self.accept("goto"):
            if self.at("??"):
                self.hole()
            location = self.expect("name", "of a location")
            return GotoStatement(location, self.since(start))
        if self.at("if"):
            return self.conditional()
        if self.at("rend", "sendrz", "broadcast", "sendbr"):
            return self.send()
        name = self.expect("name")
        if self.accept("."):
            operation = self.expect("name", "of a set operation")
            if operation.text not in SET_OPERATIONS:
                self.index -= 1
                self.fail(f"expected one of {', '.join(SET_OPERATIONS)}")
            self.expect("(", "and a process")
            value = self.expression()
            self.expect(")", "after the process")
            return SetStatement(name, operation.text, value, self.since(start))
        if not self.accept(":=", "="):
            self.fail("expected `:=`")
        return AssignStatement(name, self.expression(), self.since(start))

    def conditional(self) -> IfStatement:
        start = self.expect("if")
        self.deeper()
        self.expect("(", "and a condition")
        condition = self.expression()
        self.expect(")", "after the condition")
        span = self.since(start.span)
        then, otherwise = self.branches(start)
        self.depth -= 1
        return IfStatement(condition, then, otherwise, span)

    def send(self) -> SendStatement:
        """`sendrz(act[payload], target)`, or `sendrz(act, payload, target)` with `_` for no payload; likewise `sendbr`."""
        start = self.token.span
        broadcast = self.advance().kind in ("broadcast", "sendbr")
        self.expect("(", "and the message")
        action = self.expect("name", "of an action")
        payload = self.payload()
        arguments: list[Expression | None] = []
        while self.accept(","):
            arguments.append(None if self.accept("_") else self.expression())
        self.expect(")", "after the message")
        span = self.since(start)
        target = None
        if payload is None and len(arguments) == (1 if broadcast else 2):
            payload = arguments.pop(0)
        if arguments and not broadcast:
            target = arguments.pop(0)
        if arguments:
            self.sink.error("Q0101", "too many arguments of a send", span)
        return SendStatement(broadcast, action, payload, target, span)

    def payload(self) -> Expression | None:
        if not self.accept("["):
            return None
        value = self.expression()
        self.expect("]", "after the payload")
        return value

    def reply(self) -> SendStatement:
        """`reply act[payload]` or `reply(act, payload)`."""
        start = self.token.span
        closing = self.accept("(")
        action = self.expect("name", "of an action")
        payload = self.payload()
        if closing is not None:
            if payload is None and self.accept(","):
                payload = None if self.accept("_") else self.expression()
            self.expect(")", "after the reply")
        return SendStatement(None, action, payload, None, self.since(start))

    # -- expressions -----------------------------------------------------------------------------------------------

    def hole(self) -> None:
        self.fail("holes are not filled in", "write what should stand here", code="Q0104")

    def primary(self) -> Expression:
        start = self.token.span
        if self.at("??"):
            self.hole()
        if self.at("True", "False"):
            return Literal(start, self.advance().kind == "True")
        if self.at("self", "All", "Empty"):
            return Reference(start, self.advance().kind)
        if self.accept("-"):
            value = self.number()
            return Literal(self.since(start), -value)
        if self.at("atmost", "atleast"):
            return self.count()
        if self.at("name"):
            name = self.advance()
            if not self.accept("."):
                return Reference(start, name.text)
            field = self.expect("name", "of what to ask of the event")
            if field.text not in FIELDS:
                self.index -= 1
                self.fail(f"expected one of {', '.join(FIELDS)}")
            if field.text == "decVar" and self.accept("["):
                if self.number() != 1:
                    self.index -= 1
                    self.fail("agreement on more than one value is not read", code="Q0104")
                self.expect("]", "after the number")
            return Reference(self.since(start), f"{name.text}.{FIELDS[field.text]}")
        return super().primary()

    def count(self) -> Expression:
        start = self.token.span
        most = self.advance().kind == "atmost"
        self.expect("(", "and a number")
        number = self.number()
        self.expect(",", "and a set of locations")
        self.expect("{", "and a location")
        descriptors = self.separated(self.descriptor)
        self.expect("}", "after the locations")
        self.expect(")", "to close the parenthesis")
        return CountSyntax(self.since(start), most, number, tuple(descriptors))

    def descriptor(self) -> tuple[Token, Expression | None]:
        name = self.expect("name", "of a location")
        return name, self.expression() if self.accept(":") else None
