"""Questions about a trace: the value of an expression in each of its states.

The expression is read in the protocol's own language; elements may be named as `show` prints them, and properties by
their names.  Problems are diagnostics like those of a protocol's text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quorate.lang.diagnostics import LanguageError, Sink
from quorate.lang.elaborate import Elaborator, Failed, Hole, Macro, Scope
from quorate.lang.pyv.grammar import LEXICON, PyvParser
from quorate.lang.reader import Expression, Lexicon, Parser, SyntaxProblem, Token, tokenize
from quorate.logic.structures import EvaluationError, Evaluator, Structure, Table
from quorate.logic.terms import BOOL, INT, Symbol, Term
from quorate.models.relational import Language, RelationalModel
from quorate.models.source import Source, Span
from quorate.proof.naming import Names, element_names, value_name
from quorate.proof.show import show_step
from quorate.proof.traces import Trace

Answer = bool | int | str
"""A truth value, an integer, or the name of an element."""


@dataclass(frozen=True)
class ExpressionSyntax:
    """How expressions are read: `implicit` says which free names are variables that a formula is closed over."""

    lexicon: Lexicon
    parser: Callable[[list[Token], Sink], Parser]
    implicit: Callable[[str], bool]


PYV = ExpressionSyntax(LEXICON, PyvParser, str.isupper)
SYNTAX: dict[Language, ExpressionSyntax] = {
    "pyv": PYV,
    "ivy": ExpressionSyntax(LEXICON, PyvParser, lambda name: name[:1].isupper()),
}


def evaluate_expression(model: RelationalModel, trace: Trace, text: str) -> list[Answer]:
    """The value of an expression in each state; raises `LanguageError` if it has none."""
    source, sink = Source("expression", text), Sink()
    names = element_names(model, trace.states[0].sizes)
    elements = element_constants(names)
    whole = Span(source, 0, len(text))
    try:
        term = _elaborate(model, elements, _parse(SYNTAX[model.language], source, sink), sink)
        return _values(term, trace, elements, names)
    except (SyntaxProblem, Failed):
        pass
    except EvaluationError as problem:
        sink.error("Q0104", f"this cannot be evaluated: {problem}", whole)
    except RecursionError:
        sink.error("Q0103", "this is nested too deeply", whole)
    raise LanguageError(sink.sorted())


def show_values(model: RelationalModel, trace: Trace, text: str) -> str:
    """The value of an expression in each state, beside the step that led there."""
    values = evaluate_expression(model, trace, text)
    names = element_names(model, trace.states[0].sizes)
    steps = ["", *(show_step(model, step, names) for step in trace.steps)]
    width = max(len(step) for step in steps)
    lines = [text.strip()]
    for number, (step, value) in enumerate(zip(steps, values, strict=True)):
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        lines.append(f"  state {number:<4}{step:<{width}}  {shown}")
    return "\n".join(lines) + "\n"


def element_constants(names: Names) -> dict[Symbol, Table]:
    """A constant for each element, with the value that makes it stand for that element."""
    return {
        Symbol(element, (), sort): {(): index}
        for sort, elements in names.items()
        for index, element in enumerate(elements)
    }


def _parse(syntax: ExpressionSyntax, source: Source, sink: Sink) -> Expression:
    parser = syntax.parser(tokenize(source, syntax.lexicon, sink), sink)
    expression = parser.expression()
    if not parser.at("end"):
        parser.fail("expected the end of the expression")
    if sink.failed:
        raise SyntaxProblem
    return expression


def _elaborate(model: RelationalModel, elements: dict[Symbol, Table], expression: Expression, sink: Sink) -> Term:
    formulas = {item.name: item.formula for item in (*model.axioms, *model.initial, *model.properties)}

    def macro(name: str, span: Span) -> Macro | None:
        return Macro((), formulas[name], 1) if name in formulas else None

    symbols = {symbol.name: symbol for symbol in (*elements, *model.symbols)}
    scope = Scope(symbols=symbols, macro=macro, macro_names=lambda: formulas)
    scope.sorts.update((sort.name, sort) for sort in model.sorts)
    term = Elaborator(scope, sink, SYNTAX[model.language].implicit).term(expression, Hole())
    for variable in sorted(term.free, key=lambda variable: variable.name):
        message = f"`{variable.name}` has no value: only a formula holds for all values of its variables"
        sink.error("Q0201", message, expression.span)
        raise Failed
    return term


def _values(term: Term, trace: Trace, elements: dict[Symbol, Table], names: Names) -> list[Answer]:
    compiled = Evaluator(trace.states[0].sizes).compile(term)
    answers: list[Answer] = []
    for state in trace.states:
        value = compiled(Structure(state.sizes, {**elements, **state.tables}), {})
        answers.append(value if term.sort in (BOOL, INT) else value_name(value, term.sort, names))
    return answers
