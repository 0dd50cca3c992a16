"""What `parse` says about a protocol: its parts, and whether the queries of a proof are decidable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from quorate.apps.cli.reports import diagnostic_json, shown_name
from quorate.lang.diagnostics import Diagnostic
from quorate.logic.printing import show
from quorate.logic.terms import Symbol
from quorate.methods.induction.decidability import decidability
from quorate.models.process import ProcessModel
from quorate.models.relational import Language, Named, RelationalModel


def print_model(model: RelationalModel | ProcessModel, language: Language) -> str:
    """The protocol in the concrete syntax of a language."""
    if isinstance(model, ProcessModel) != (language == "mercury"):
        from quorate.apps.cli.commands import UsageError

        raise UsageError(f"{model.name} cannot be printed as {language}")
    if isinstance(model, ProcessModel):
        from quorate.lang.mercury.printer import print_program

        return print_program(model)
    if language == "ivy":
        from quorate.lang.ivy.printer import print_model as print_ivy

        return print_ivy(model)
    from quorate.lang.pyv.printer import print_model as print_pyv

    return print_pyv(model)


def summary(model: RelationalModel | ProcessModel) -> str:
    """A few lines on what the protocol consists of."""
    if isinstance(model, ProcessModel):
        from quorate.apps.cli.processes import summary as process_summary

        return process_summary(model)
    assert model.source is not None
    mutable = [symbol for symbol in model.symbols if symbol.mutable]
    rigid = [symbol for symbol in model.symbols if not symbol.mutable]
    rows = [
        ("sorts", [str(sort) for sort in model.sorts]),
        ("rigid", [_signature(symbol) for symbol in rigid]),
        ("mutable", [_signature(symbol) for symbol in mutable]),
        ("transitions", [transition.name for transition in model.transitions]),
        ("safety", [shown_name(item.name, item.span) for item in model.safety]),
        ("invariants", [shown_name(item.name, item.span) for item in model.invariants]),
        ("theorems", [shown_name(item.name, item.span) for item in model.theorems]),
        ("queries", [shown_name(item.name, item.span) for item in model.traces]),
        ("axioms", [shown_name(item.name, item.span) for item in model.axioms]),
    ]
    lines = [model.source.path]
    lines += [f"  {name:<12} {len(items):>3}  {_clip(items)}" for name, items in rows if items]
    return "\n".join([*lines, *_fragment_lines(model)])


def _fragment_lines(model: RelationalModel) -> list[str]:
    queries = decidability(model)
    if not queries:
        return []
    unclear = [(name, found) for name, found in queries if not found.decidable]
    if not unclear:
        return [f"  {'fragment':<12} {len(queries):>3}  queries of an induction proof, all decidable"]
    lines = [
        f"  {'fragment':<12} {len(queries):>3}  queries of an induction proof, {len(unclear)} not known to be decidable:"
    ]
    return lines + [f"  {'':<17} {name}: {found.describe()}" for name, found in unclear[:8]]


def _clip(items: Sequence[str], width: int = 90) -> str:
    text = ", ".join(items)
    return text if len(text) <= width else text[: text.rfind(",", 0, width)] + ", …"


def _signature(symbol: Symbol) -> str:
    arguments = f"({', '.join(map(str, symbol.arguments))})" if symbol.arguments else ""
    return symbol.name + arguments + ("" if symbol.is_relation else f": {symbol.sort}")


def model_json(model: RelationalModel | ProcessModel, warnings: Iterable[Diagnostic]) -> dict[str, Any]:
    """The protocol as data."""
    if isinstance(model, ProcessModel):
        from quorate.apps.cli.processes import model_json as process_json

        return process_json(model, tuple(warnings))
    assert model.source is not None

    def named(items: Iterable[Named]) -> list[dict[str, Any]]:
        return [
            {"name": item.name, "formula": show(item.formula), "line": item.span.line if item.span else None}
            for item in items
        ]

    return {
        "file": model.source.path,
        "sha256": model.source.sha256,
        "name": model.name,
        "language": model.language,
        "sorts": [{"name": sort.name, "elements": list(sort.elements)} for sort in model.sorts],
        "symbols": [
            {
                "name": symbol.name,
                "arguments": [sort.name for sort in symbol.arguments],
                "sort": symbol.sort.name,
                "mutable": symbol.mutable,
                "derived": symbol in model.derived_symbols,
            }
            for symbol in model.symbols
        ],
        "derived": [{"name": item.symbol.name, "formula": show(item.formula)} for item in model.derived],
        "axioms": named(model.axioms),
        "initial": named(model.initial),
        "transitions": [
            {
                "name": transition.name,
                "parameters": [{"name": p.name, "sort": p.sort.name} for p in transition.parameters],
                "choices": [_signature(choice) for choice in transition.choices],
                "guard": show(transition.guard),
                "updates": [
                    {"symbol": u.symbol.name, "variables": [v.name for v in u.variables], "value": show(u.value)}
                    for u in transition.updates
                ],
                "line": transition.span.line if transition.span else None,
            }
            for transition in model.transitions
        ],
        "safety": named(model.safety),
        "invariants": named(model.invariants),
        "theorems": [{"name": t.name, "states": t.states, "formula": show(t.formula)} for t in model.theorems],
        "fragment": [
            {"query": name, "decidable": found.decidable, "reason": found.describe()}
            for name, found in decidability(model)
        ],
        "diagnostics": [diagnostic_json(warning) for warning in warnings],
    }
