"""Short ways to read a mypyvy text in tests: its model, its diagnostics, one formula of it."""

from __future__ import annotations

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic, LanguageError, Sink
from quorate.lang.pyv.grammar import LEXICON, PyvParser
from quorate.lang.reader import (
    Conditional,
    Expression,
    Let,
    Literal,
    Operation,
    Quantifier,
    Reference,
    Shift,
    tokenize,
)
from quorate.logic.terms import Term
from quorate.models.relational import RelationalModel, Transition
from quorate.models.source import Source

HEADER = """\
sort node
sort value
immutable relation le(node, node)
immutable constant zero: node
immutable function next(node): node
mutable relation flag
mutable relation p(node)
mutable relation q(node, value)
mutable constant leader: node
mutable function owner(value): node
mutable constant count: int
"""
"""Symbols of every kind that tests can build on; the text after it starts on line 12."""


def source(text: str) -> Source:
    return Source("test.pyv", text)


def model(text: str, header: str = HEADER) -> RelationalModel:
    return parse(source(header + text)).model


def problems(text: str, header: str = HEADER) -> tuple[Diagnostic, ...]:
    """All diagnostics of a text, errors and warnings."""
    try:
        return parse(source(header + text)).warnings
    except LanguageError as error:
        return error.diagnostics


def codes(text: str, header: str = HEADER) -> list[str]:
    return [item.code for item in problems(text, header)]


def formula(text: str) -> Term:
    """The formula of a safety property."""
    return model(f"safety {text}").safety[0].formula


def transition(text: str) -> Transition:
    return model(text).transitions[0]


def expression(text: str) -> Expression:
    """The surface expression that a text is; raises `LanguageError` if it is none."""
    sink = Sink()
    parser = PyvParser(tokenize(source(f"axiom {text}"), LEXICON, sink), sink)
    declarations = parser.program()
    if sink.failed:
        raise LanguageError(sink.sorted())
    return declarations[0].formula  # type: ignore[union-attr, return-value]


def shape(text: str) -> str:
    """How an expression groups: every operation in parentheses."""
    return _shape(expression(text))


def _shape(item: Expression) -> str:
    match item:
        case Literal(_, value):
            return str(value).lower()
        case Reference(_, name, primes, arguments):
            listed = "" if arguments is None else f"({', '.join(map(_shape, arguments))})"
            return name + "'" * primes + listed
        case Operation(_, "distinct", operands):
            return f"distinct({', '.join(map(_shape, operands))})"
        case Operation(_, operator, (operand,)):
            return f"({operator}{_shape(operand)})"
        case Operation(_, operator, operands):
            return f"({f' {operator} '.join(map(_shape, operands))})"
        case Quantifier(_, universal, binders, body):
            bound = ", ".join(f"{b.name}:{b.sort}" if b.sort else b.name for b in binders)
            return f"({'forall' if universal else 'exists'} {bound}. {_shape(body)})"
        case Conditional(_, condition, then, otherwise):
            return f"(if {_shape(condition)} then {_shape(then)} else {_shape(otherwise)})"
        case Let(_, binder, value, body):
            return f"(let {binder.name} = {_shape(value)} in {_shape(body)})"
        case Shift(_, _, body):
            return f"new({_shape(body)})"
    raise TypeError(item)
