"""Questions about a trace: the value of an expression in each of its states.

The expression is read in the protocol's own language; elements may be named as `show` prints them, and properties by
their names.  Problems are diagnostics like those of a protocol's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from quorate.lang.diagnostics import LanguageError, Sink
from quorate.lang.elaborate import Elaborator, Failed, Hole, Macro, Scope
from quorate.lang.ivy.signature import IvyElaborator, is_variable
from quorate.lang.ivy.statements import StatementParser
from quorate.lang.ivy.vocabulary import LEXICON as IVY_LEXICON
from quorate.lang.pyv.grammar import LEXICON as PYV_LEXICON
from quorate.lang.pyv.grammar import PyvParser
from quorate.lang.reader import Expression, Parser, SyntaxProblem, tokenize
from quorate.logic.structures import EvaluationError, Evaluator, Structure, Table
from quorate.logic.terms import BOOL, INT, Sort, Symbol, Term
from quorate.models.relational import RelationalModel
from quorate.models.source import Source, Span
from quorate.proof.naming import Names, element_names, value_name
from quorate.proof.show import show_step
from quorate.proof.traces import Trace

Answer = bool | int | str
"""A truth value, an integer, or the name of an element."""


def evaluate_expression(model: RelationalModel, trace: Trace, text: str) -> list[Answer]:
    """The value of an expression in each state; raises `LanguageError` if it has none.

    A formula is closed over its free variables, as a property in the protocol's text would be.
    """
    source, sink = Source("expression", text), Sink()
    names = element_names(model, trace.states[0].sizes)
    elements = element_constants(names)
    whole = Span(source, 0, len(text))
    try:
        expression = _parse(_parser(model, source, sink))
        if not sink.failed:
            return _values(_elaborate(model, elements, expression, sink), trace, elements, names)
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


def _parser(model: RelationalModel, source: Source, sink: Sink) -> Parser:
    if model.language == "pyv":
        return PyvParser(tokenize(source, PYV_LEXICON, sink), sink)
    version = re.match(r"\s*#lang\s+ivy1\.(\d)", model.source.text if model.source else "")
    return StatementParser(tokenize(source, IVY_LEXICON, sink), sink, (1, int(version.group(1)) if version else 7))


def _parse(parser: Parser) -> Expression:
    expression = parser.expression()
    if not parser.at("end"):
        parser.fail("expected the end of the expression")
    return expression


def _elaborate(model: RelationalModel, elements: Mapping[Symbol, Table], expression: Expression, sink: Sink) -> Term:
    scope = _scope(model, elements)
    if model.language == "pyv":
        elaborator = Elaborator(scope, sink, str.isupper)
    else:
        elaborator = IvyElaborator(scope, sink, is_variable)
    term = elaborator.term(expression, Hole())
    if term.sort is not BOOL and elaborator.closure:
        for local in elaborator.closure.values():
            elaborator.error("Q0221", f"the variable `{local.name}` is not bound here", local.span)
        raise Failed
    return term


def _scope(model: RelationalModel, elements: Mapping[Symbol, Table]) -> Scope:
    """The protocol's symbols, its elements, and its axioms, initial conditions and properties under their names."""
    formulas = {item.name: item.formula for item in (*model.axioms, *model.initial, *model.properties)}
    symbols = {symbol.name: symbol for symbol in (*elements, *model.symbols)}

    def macro(name: str, span: Span) -> Macro | None:
        return Macro((), formulas[name], 1) if name in formulas else None

    def operator(operator: str, sort: Sort, span: Span) -> Symbol | None:
        return symbols.get(f"{sort}.{operator}")

    def numeral(value: int, sort: Sort, span: Span) -> Symbol | None:
        return symbols.get(f"{sort}.{value}")

    scope = Scope(symbols=symbols, macro=macro, macro_names=lambda: formulas)
    scope.sorts.update((sort.name, sort) for sort in model.sorts)
    if model.language == "ivy":
        scope.operator, scope.numeral = operator, numeral
    return scope


def _values(term: Term, trace: Trace, elements: Mapping[Symbol, Table], names: Names) -> list[Answer]:
    compiled = Evaluator(trace.states[0].sizes).compile(term)
    answers: list[Answer] = []
    for state in trace.states:
        value = compiled(Structure(state.sizes, {**elements, **state.tables}), {})
        answers.append(value if term.sort in (BOOL, INT) else value_name(value, term.sort, names))
    return answers
