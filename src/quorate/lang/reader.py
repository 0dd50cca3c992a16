"""Reading text: tokens, surface expressions and the operator-precedence parser that all languages share.

A language supplies its token pattern, its keywords and its operator table; see `pyv.grammar` and `ivy.grammar`.  The
result is a surface tree that still has names and spans; `elaborate` turns it into logic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from quorate.lang.diagnostics import Sink
from quorate.models.source import Source, Span

MAX_DEPTH = 200
"""How deep expressions may be nested, so that all that walks over them can recurse.  A list of arguments counts twice."""

MAX_DIGITS = 1000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "name", "number", "end", or the text itself for keywords and punctuation."""

    kind: str
    text: str
    span: Span


@dataclass(frozen=True)
class Lexicon:
    """What the words of a language look like.  The pattern has the groups skip, name, number and mark."""

    pattern: re.Pattern[str]
    keywords: frozenset[str]


def tokenize(source: Source, lexicon: Lexicon, sink: Sink) -> list[Token]:
    """All tokens of a text, ending with an "end" token; unknown characters are reported and skipped."""
    tokens: list[Token] = []
    position, text = 0, source.text
    while position < len(text):
        match = lexicon.pattern.match(text, position)
        if match is None or match.end() == position:
            end = position + 1
            while end < len(text) and lexicon.pattern.match(text, end) is None:
                end += 1
            several = f" and {end - position - 1} more" if end > position + 1 else ""
            sink.error("Q0102", f"unknown character {text[position]!r}{several}", Span(source, position, end))
            position = end
            continue
        group = match.lastgroup
        if group != "skip":
            word = match.group()
            kind = word if group == "mark" or word in lexicon.keywords else (group or word)
            tokens.append(Token(kind, word, Span(source, position, match.end())))
        position = match.end()
    tokens.append(Token("end", "", Span(source, len(text), len(text))))
    return tokens


@dataclass(frozen=True)
class Binder:
    """A variable being introduced, with the name of its sort if the text gives it."""

    name: str
    sort: str | None
    span: Span


@dataclass(frozen=True)
class Expression:
    """Base of the surface expressions."""

    span: Span


@dataclass(frozen=True)
class Reference(Expression):
    """A name, perhaps primed, perhaps applied (`arguments` is None if no parentheses follow)."""

    name: str
    primes: int = 0
    arguments: tuple[Expression, ...] | None = None


@dataclass(frozen=True)
class Literal(Expression):
    value: bool | int


@dataclass(frozen=True)
class Operation(Expression):
    """An operator with its operands; `&` and `|` may have any number."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Quantifier(Expression):
    universal: bool
    binders: tuple[Binder, ...]
    body: Expression


@dataclass(frozen=True)
class Conditional(Expression):
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Let(Expression):
    binder: Binder
    value: Expression
    body: Expression


@dataclass(frozen=True)
class Shift(Expression):
    """`new(e)` (by 1) or `old(e)` (by -1): the expression in a neighbouring state."""

    by: int
    body: Expression


@dataclass(frozen=True)
class Ascription(Expression):
    """An expression with the name of its sort written after it: `X:node`."""

    body: Expression
    sort: str


class SyntaxProblem(Exception):
    """Raised after a syntax error was reported, to get back to where reading can go on."""


@dataclass(frozen=True)
class Operators:
    """Binary operators with their binding powers (left, right); prefix negation; canonical spellings."""

    binary: dict[str, tuple[int, int]]
    negation: dict[str, int]
    spelling: dict[str, str] = field(default_factory=dict)


class Parser:
    """A token cursor with the shared expression parser; subclasses add declarations and `primary`."""

    operators: Operators
    leading: tuple[str, ...] = ()
    """Operators that may stand in front of an operand without meaning anything."""

    def __init__(self, tokens: list[Token], sink: Sink) -> None:
        self.tokens = tokens
        self.sink = sink
        self.index = 0
        self.depth = 0
        self.height = 0

    # -- the cursor ------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def peek(self, distance: int = 1) -> Token:
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *kinds: str) -> bool:
        return self.token.kind in kinds

    def accept(self, *kinds: str) -> Token | None:
        return self.advance() if self.at(*kinds) else None

    def expect(self, kind: str, purpose: str = "") -> Token:
        if not self.at(kind):
            wanted = {"name": "a name", "number": "a number"}.get(kind, f"`{kind}`")
            self.fail(f"expected {wanted}{' ' + purpose if purpose else ''}")
        return self.advance()

    def fail(self, message: str, fix: str | None = None, code: str = "Q0101") -> NoReturn:
        token = self.token
        found = "the end of the file" if token.kind == "end" else f"`{token.text}`"
        text = f"{message}, found {found}" if code == "Q0101" else message
        if not self.after_unknown():
            self.sink.error(code, text, token.span, fix=fix)
        raise SyntaxProblem

    def after_unknown(self) -> bool:
        """Do unknown characters stand before this token?  They were reported, and explain why it does not fit."""
        before = self.tokens[self.index - 1].span.end if self.index else 0
        here = self.token.span.start
        return any(code == "Q0102" and before <= start < here for start, code in self.sink.found)

    def since(self, start: Span) -> Span:
        """From `start` to the last token read."""
        return start.to(self.tokens[max(self.index - 1, 0)].span)

    def skip_to(self, stops: frozenset[str]) -> None:
        """Move past a faulty stretch to the next token of one of these kinds."""
        while not self.at("end") and not self.at(*stops):
            self.advance()

    def separated(self, item: Callable[[], Item], separator: str = ",") -> list[Item]:
        items = [item()]
        while self.accept(separator):
            items.append(item())
        return items

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, power: int = 0) -> Expression:
        """An expression whose operators bind at least as strongly as `power`.

        `depth` counts the expressions around this place, and `height` how deep what was read last goes.
        """
        start, around = self.depth, self.height
        self.deeper()
        self.height = self.depth
        left = self.prefix()
        while True:
            operator = self.token.kind
            powers = self.operators.binary.get(operator)
            if powers is None or powers[0] < power:
                left_or_none = self.suffix(left, power)
                if left_or_none is None:
                    break
                left = left_or_none
                continue
            left = self.infix(left, operator, powers)
        self.depth, self.height = start, max(around, self.height)
        return left

    def infix(self, left: Expression, operator: str, powers: tuple[int, int]) -> Expression:
        spelling = self.operators.spelling.get(operator, operator)
        if spelling in ("&", "|"):
            operands = [left]
            while self.accept(operator):
                operands.append(self.expression(powers[1]))
            return Operation(left.span.to(operands[-1].span), spelling, tuple(operands))
        self.advance()
        height, self.height = self.height, self.depth
        right = self.expression(powers[1])
        self.height = max(height + 1, self.height)
        self.check_depth(self.height)
        following = self.operators.binary.get(self.token.kind)
        if following is not None and following[0] == powers[0] and powers[1] > powers[0] + 1:
            self.fail(f"`{self.token.text}` cannot be chained", "add parentheses to say which comes first")
        return Operation(left.span.to(right.span), spelling, (left, right))

    def prefix(self) -> Expression:
        while self.accept(*self.leading):
            pass
        start = self.token.span
        power = self.operators.negation.get(self.token.kind)
        if power is not None:
            self.advance()
            operand = self.expression(power)
            return Operation(start.to(operand.span), "!", (operand,))
        if self.at("forall", "exists"):
            universal = self.advance().kind == "forall"
            binders = self.separated(self.binder)
            self.expect(".", "after the quantified variables")
            body = self.expression()
            return Quantifier(start.to(body.span), universal, tuple(binders), body)
        if self.accept("("):
            inner = self.expression()
            self.expect(")", "to close the parenthesis")
            return inner
        return self.primary()

    def suffix(self, left: Expression, power: int) -> Expression | None:
        """What may follow an operand besides a binary operator; None if nothing does."""
        return None

    def primary(self) -> Expression:
        """An operand.  Subclasses extend it by their own forms and call this for the common ones."""
        start = self.token.span
        if self.at("true", "false"):
            return Literal(start, self.advance().kind == "true")
        if self.at("number"):
            return Literal(start, self.number())
        self.fail("expected an expression")

    def number(self) -> int:
        if len(self.token.text) > MAX_DIGITS:
            self.fail(f"numbers may have up to {MAX_DIGITS} digits", code="Q0103")
        return int(self.expect("number").text)

    def binder(self) -> Binder:
        name = self.expect("name", "of a variable")
        sort = self.sort_name() if self.accept(":") else None
        return Binder(name.text, sort, self.since(name.span))

    def sort_name(self) -> str:
        return self.expect("name", "of a sort").text

    def arguments(self) -> tuple[Expression, ...]:
        """Expressions up to the closing parenthesis; the opening one has been read."""
        if self.accept(")"):
            return ()
        self.deeper()
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        self.depth -= 1
        self.expect(")", "to close the arguments")
        return tuple(items)

    def deeper(self) -> None:
        self.depth += 1
        self.check_depth(self.depth)

    def check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep", code="Q0103")
