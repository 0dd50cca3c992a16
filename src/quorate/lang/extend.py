"""A protocol's text with invariants added to it: the text itself stays as it is, the rest is read back before it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.logic.terms import Quantified, Term, Var
from quorate.logic.transform import fresh_name, substitute
from quorate.models.relational import Named, RelationalModel
from quorate.models.source import Source, Span


def print_formulas(model: RelationalModel, formulas: Sequence[Term]) -> list[str]:
    """Formulas over the symbols of a model in the model's own language."""
    if model.language == "ivy":
        from quorate.lang.ivy.printer import print_formulas as print_ivy

        return print_ivy(formulas)
    from quorate.lang.pyv.printer import print_formulas as print_pyv

    return print_pyv(model, formulas)


def extended(model: RelationalModel, invariants: Sequence[Named], remarks: Sequence[str] = ()) -> str:
    """The text of a model with invariants below it, after some lines of comment.

    Where a name is taken the invariant gets another.  Raises `LanguageError` if the text does not say what it should.
    """
    assert model.source is not None
    taken = {item.name for item in (*model.properties, *model.axioms, *model.initial)}
    taken |= {item.name for item in model.theorems} | {item.name for item in model.transitions}
    taken |= {symbol.name for symbol in model.symbols}
    lines, added = [f"# {remark}" for remark in remarks], []
    for item, text in zip(invariants, print_formulas(model, [item.formula for item in invariants]), strict=True):
        added.append(Named(fresh_name(item.name, taken.__contains__), item.formula))
        taken.add(added[-1].name)
        lines.append(f"invariant [{added[-1].name}] {text}")
    text = "\n".join([model.source.text.rstrip("\n"), "", *lines, ""])
    _compare(parse(Source(model.source.path, text), model.language).model, model, added)
    return text


def _compare(found: RelationalModel, model: RelationalModel, added: Sequence[Named]) -> None:
    """Refuse a text that is not the model with the invariants: the same protocol, and each of its properties once."""
    wanted = {item.name: _canonical(item.formula) for item in (*model.properties, *added)}
    same = replace(found, safety=(), invariants=()) == replace(model, safety=(), invariants=())
    if not same or {item.name: _canonical(item.formula) for item in found.properties} != wanted:
        assert found.source is not None
        message = "the invariants cannot be written in this file's language so that they are read back the same"
        raise LanguageError((Diagnostic("Q0301", message, Span(found.source, 0, 0)),))


def _canonical(term: Term, depth: int = 0) -> Term:
    """The term with bound variables named by their place, so that terms that differ in those names are the same."""
    if isinstance(term, Quantified):
        places = tuple(Var(f"{depth}.{i}", variable.sort) for i, variable in enumerate(term.variables))
        body = substitute(term.body, dict(zip(term.variables, places, strict=True)))
        return type(term)(places, _canonical(body, depth + 1))
    return term.rebuild(tuple(_canonical(child, depth) for child in term.children))
