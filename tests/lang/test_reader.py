"""The shared reader: tokens, the cursor, and the operator-precedence parser, on a tiny language of its own."""

from __future__ import annotations

import re

import pytest

from lang.reading import expression
from quorate.lang.diagnostics import Sink
from quorate.lang.reader import (
    MAX_DEPTH,
    MAX_DIGITS,
    Expression,
    Lexicon,
    Literal,
    Operation,
    Operators,
    Parser,
    Reference,
    SyntaxProblem,
    Token,
    tokenize,
)
from quorate.models.source import Source

LEXICON = Lexicon(
    re.compile(r"(?P<skip>\s+)|(?P<name>[a-z]+)|(?P<number>[0-9]+)|(?P<mark>[-+^=&()!,.:])"),
    frozenset(["forall", "exists", "true", "false"]),
)


class Calculator(Parser):
    """`=` cannot be chained, `-` groups to the left, `^` to the right."""

    operators = Operators(
        {"=": (10, 12), "-": (20, 21), "^": (30, 30), "&": (5, 6), "+": (20, 21)}, {"!": 40}, {"+": "plus"}
    )

    def primary(self) -> Expression:
        if self.at("name"):
            name = self.advance()
            arguments = self.arguments() if self.accept("(") else None
            return Reference(self.since(name.span), name.text, 0, arguments)
        return super().primary()


def parser(text: str) -> Calculator:
    sink = Sink()
    return Calculator(tokenize(Source("t", text), LEXICON, sink), sink)


def read(text: str) -> str:
    found = parser(text)
    item = found.expression()
    found.expect("end")
    return show(item)


def show(item: Expression) -> str:
    match item:
        case Operation(_, operator, operands):
            return f"({operator} {' '.join(map(show, operands))})"
        case Reference(_, name, _, arguments):
            return name if arguments is None else f"{name}[{' '.join(map(show, arguments))}]"
        case Literal(_, value):
            return str(value)
    raise TypeError(item)


def test_tokens() -> None:
    sink = Sink()
    tokens = tokenize(Source("t", "ab 12\n(forall)"), LEXICON, sink)
    assert [(token.kind, token.text) for token in tokens] == [
        ("name", "ab"), ("number", "12"), ("(", "("), ("forall", "forall"), (")", ")"), ("end", "")
    ]  # fmt: skip
    assert [(token.span.line, token.span.column) for token in tokens] == [
        (1, 1),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 8),
        (2, 9),
    ]
    assert not sink.found


def test_unknown_characters_are_told_once_per_stretch() -> None:
    sink = Sink()
    tokens = tokenize(Source("t", "a ?%; b\n$"), LEXICON, sink)
    assert [token.text for token in tokens] == ["a", "b", ""]
    assert [(item.code, item.message, item.span.column) for item in sink.sorted()] == [
        ("Q0102", "unknown character '?' and 2 more", 3),
        ("Q0102", "unknown character '$'", 1),
    ]


def test_an_empty_text_is_one_end_token() -> None:
    assert [token.kind for token in tokenize(Source("t", ""), LEXICON, Sink())] == ["end"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a-b-c", "(- (- a b) c)"),
        ("a^b^c", "(^ a (^ b c))"),
        ("a-b^c-d", "(- (- a (^ b c)) d)"),
        ("a&b&c", "(& a b c)"),
        ("a&(b&c)", "(& a (& b c))"),
        ("!a=b", "(= (! a) b)"),
        ("a+1", "(plus a 1)"),
        ("f(a, g(), !b)", "f[a g[] (! b)]"),
        ("true=(false)", "(= True False)"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a=b=c", "`=` cannot be chained, found `=`", 4),
        ("a-", "expected an expression, found the end of the file", 3),
        ("(a", "expected `)` to close the parenthesis, found the end of the file", 3),
        ("f(a b)", "expected `)` to close the arguments, found `b`", 5),
        ("forall x a", "expected `.` after the quantified variables, found `a`", 10),
        ("forall 1", "expected a name of a variable, found `1`", 8),
        ("a b", "expected `end`, found `b`", 3),
    ],
)
def test_errors(text: str, message: str, column: int) -> None:
    found = parser(text)
    with pytest.raises(SyntaxProblem):
        found.expression()
        found.expect("end")
    [problem] = found.sink.sorted()
    assert (problem.code, problem.message, problem.span.column) == ("Q0101", message, column)


def test_the_cursor() -> None:
    found = parser("a b")
    assert found.peek().text == "b" and found.peek(9).kind == "end"
    assert found.accept("number") is None
    assert found.accept("name", "number") is not None
    assert found.advance().text == "b"
    assert found.advance().kind == "end" and found.advance().kind == "end"
    assert parser("a b = c").skip_to(frozenset("=")) is None


def test_separated() -> None:
    found = parser("a, b, c")
    assert found.separated(lambda: found.expect("name").text) == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["a", "f(x, y)", "a & b", "!a", "a -> b", "forall X. p(X)", "if a then b else c"])
def test_spans_cover_the_text(text: str) -> None:
    span = expression(text).span
    assert span.source.text[span.start : span.end] == text


def test_an_operand_in_parentheses_has_the_span_of_what_is_in_them() -> None:
    item = expression("(a) & (b | c)")
    assert isinstance(item, Operation)
    assert [o.span.source.text[o.span.start : o.span.end] for o in item.operands] == ["a", "b | c"]


def refused(text: str) -> str | None:
    found = parser(text)
    try:
        found.expression()
    except SyntaxProblem:
        return found.sink.sorted()[0].code
    return None


@pytest.mark.parametrize(
    ("form", "most"),
    [
        (lambda n: "(" * n + "a" + ")" * n, MAX_DEPTH - 1),
        (lambda n: "!" * n + "a", MAX_DEPTH - 1),
        (lambda n: "^".join("a" * (n + 1)), MAX_DEPTH - 1),
        (lambda n: "-".join("a" * (n + 1)), MAX_DEPTH - 1),
        (lambda n: "f(" * n + "a" + ")" * n, (MAX_DEPTH - 1) // 2),
        (lambda n: "(a-" * n + "a" + ")" * n, (MAX_DEPTH - 1) // 2),
        (lambda n: "(" * n + "a" + "-a)" * n, (MAX_DEPTH - 1) // 2),
    ],
)
def test_the_depth_limit_counts_both_sides(form: object, most: int) -> None:
    assert callable(form)
    assert refused(form(most)) is None
    assert refused(form(most + 1)) == "Q0103"


def test_depth_is_forgotten_after_an_operand() -> None:
    deep = "(" * 150 + "a" + ")" * 150
    assert refused(f"{deep} & {deep} & f({deep}, {deep})") is None


def test_long_conjunctions_are_flat() -> None:
    assert refused("&".join("a" * 10_000)) is None


def test_numbers() -> None:
    assert read("12") == "12"
    assert read("9" * MAX_DIGITS) == "9" * MAX_DIGITS
    assert refused("9" * (MAX_DIGITS + 1)) == "Q0103"


def test_tokens_are_values() -> None:
    span = parser("a").token.span
    assert Token("name", "a", span) == Token("name", "a", span)
