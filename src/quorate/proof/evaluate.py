"""Questions about a trace: the value of an expression in each of its states.

The expression is read in the protocol's own language; elements may be named as `show` prints them, and properties by
their names.  Problems are diagnostics like those of a protocol's text.
"""

from __future__ import annotations

from collections.abc import Mapping

from quorate.lang.diagnostics import LanguageError, Sink
from quorate.lang.expressions import read_expression
from quorate.logic.structures import EvaluationError, Evaluator, Structure, Table
from quorate.logic.terms import BOOL, INT, Symbol, Term
from quorate.models.relational import RelationalModel
from quorate.models.source import Source, Span
from quorate.proof.naming import Names, element_names, value_name
from quorate.proof.show import show_step
from quorate.proof.traces import Trace

Answer = bool | int | str
"""A truth value, an integer, or the name of an element."""


def evaluate_expression(model: RelationalModel, trace: Trace, text: str) -> list[Answer]:
    """The value of an expression in each state; raises `LanguageError` if it has none."""
    names = element_names(model, trace.states[0].sizes)
    elements = element_constants(names)
    term = read_expression(model, text, elements)
    try:
        return _values(term, trace, elements, names)
    except EvaluationError as problem:
        sink = Sink()
        sink.error("Q0104", f"this cannot be evaluated: {problem}", Span(Source("expression", text), 0, len(text)))
        raise LanguageError(sink.sorted()) from None


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


def _values(term: Term, trace: Trace, elements: Mapping[Symbol, Table], names: Names) -> list[Answer]:
    compiled = Evaluator(trace.states[0].sizes).compile(term)
    answers: list[Answer] = []
    for state in trace.states:
        value = compiled(Structure(state.sizes, {**elements, **state.tables}), {})
        answers.append(value if term.sort in (BOOL, INT) else value_name(value, term.sort, names))
    return answers
