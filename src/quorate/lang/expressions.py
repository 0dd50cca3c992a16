"""Reading a single expression in the language of a model: questions about its states.

The protocol's symbols are in scope, and its axioms, initial conditions and properties under their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from quorate.lang.diagnostics import LanguageError, Sink
from quorate.lang.elaborate import Elaborator, Failed, Hole, Macro, Scope
from quorate.lang.reader import Expression, Parser, SyntaxProblem, tokenize
from quorate.logic.terms import BOOL, Sort, Symbol, Term
from quorate.models.relational import RelationalModel
from quorate.models.source import Source, Span


def read_expression(model: RelationalModel, text: str, constants: Iterable[Symbol] = ()) -> Term:
    """The term that a text denotes, with further constants in scope; raises `LanguageError` if it denotes none.

    A formula is closed over its free variables, as a property in the protocol's text would be.
    """
    source, sink = Source("expression", text), Sink()
    try:
        expression = _parse(_parser(model, source, sink))
        if not sink.failed:
            return _elaborate(model, _scope(model, constants), expression, sink)
    except (SyntaxProblem, Failed):
        pass
    except RecursionError:
        sink.error("Q0103", "this is nested too deeply", Span(source, 0, len(text)))
    raise LanguageError(sink.sorted())


def _parser(model: RelationalModel, source: Source, sink: Sink) -> Parser:
    if model.language == "pyv":
        from quorate.lang.pyv.grammar import LEXICON as PYV_LEXICON
        from quorate.lang.pyv.grammar import PyvParser

        return PyvParser(tokenize(source, PYV_LEXICON, sink), sink)
    from quorate.lang.ivy.statements import StatementParser
    from quorate.lang.ivy.vocabulary import LEXICON as IVY_LEXICON

    version = re.match(r"\s*#lang\s+ivy1(?:\.(\d))?", model.source.text if model.source else "#lang ivy1.7")
    return StatementParser(tokenize(source, IVY_LEXICON, sink), sink, (1, int(version[1] or 0) if version else 7))


def _parse(parser: Parser) -> Expression:
    expression = parser.expression()
    if not parser.at("end"):
        parser.fail("expected the end of the expression")
    return expression


def _elaborate(model: RelationalModel, scope: Scope, expression: Expression, sink: Sink) -> Term:
    if model.language == "pyv":
        elaborator = Elaborator(scope, sink, str.isupper)
    else:
        from quorate.lang.ivy.signature import IvyElaborator, is_variable

        elaborator = IvyElaborator(scope, sink, is_variable)
    term = elaborator.term(expression, Hole())
    if term.sort is not BOOL and elaborator.closure:
        for local in elaborator.closure.values():
            elaborator.error("Q0221", f"the variable `{local.name}` is not bound here", local.span)
        raise Failed
    return term


def _scope(model: RelationalModel, constants: Iterable[Symbol]) -> Scope:
    formulas = {item.name: item.formula for item in (*model.axioms, *model.initial, *model.properties)}
    symbols = {symbol.name: symbol for symbol in (*constants, *model.symbols)}

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
