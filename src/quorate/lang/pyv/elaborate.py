"""What the declarations of a mypyvy file mean: declarations to a relational model.

Order does not matter except for derived relations; one whose formula is no explicit definition becomes an ordinary
mutable symbol that every transition sets anew so that the formula holds.  Named formulas, definitions and transitions
can be used as definitions in other formulas.  Files of the old dialect (`old(e)` instead of `new(e)`) are recognised
and read with their own convention: there a bare mutable symbol in a two-state body is the new value.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import PurePath
from typing import Any

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Elaborator, Failed, Macro, Scope, duplicate
from quorate.lang.expectations import expectations
from quorate.lang.pyv.grammar import (
    Declaration,
    Definition,
    FormulaDeclaration,
    SortDeclaration,
    SymbolDeclaration,
    TraceDeclaration,
    parse,
)
from quorate.lang.pyv.transitions import to_transition
from quorate.lang.reader import Expression, Reference, Shift
from quorate.logic.terms import BOOL, Sort, Symbol, Term, conj
from quorate.logic.transform import fresh_name, rename_symbols, symbols_of
from quorate.models.relational import (
    Derived,
    Named,
    RelationalModel,
    Theorem,
    TraceQuery,
    TraceStep,
    Transition,
)
from quorate.models.source import Source, Span


def read(source: Source, sink: Sink) -> RelationalModel | None:
    """The model of a mypyvy file, or None if the sink holds errors."""
    declarations = parse(source, sink)
    model = _Reader(source, sink, declarations).model()
    return None if sink.failed else model


class _Reader:
    def __init__(self, source: Source, sink: Sink, declarations: list[Declaration]) -> None:
        self.source = source
        self.sink = sink
        self.declarations = declarations
        self.scope = Scope(macro=self.macro, macro_names=lambda: self.definitions)
        self.definitions: dict[str, Definition | FormulaDeclaration] = {}
        self.expanding: list[str] = []
        self.macros: dict[str, Macro | None] = {}
        self.derived: list[Derived] = []
        self.implicit: list[Derived] = []
        self.where: dict[str, Span] = {}
        self.old_dialect = _is_old_dialect(source, declarations)
        if self.old_dialect:
            self.declarations = [_convert_old(declaration) for declaration in declarations]

    # -- names -----------------------------------------------------------------------------------------------------

    def declare(self, name: str, span: Span) -> bool:
        if name in self.where:
            duplicate(self.sink, name, span, self.where[name])
            return False
        self.where[name] = span
        return True

    def sort(self, name: str, span: Span) -> Sort | None:
        sort = self.scope.sorts.get(name)
        if sort is None:
            self.sink.error("Q0206", f"unknown sort `{name}`", span)
        return sort

    def collect(self) -> None:
        for declaration in self.declarations:
            if isinstance(declaration, SortDeclaration):
                if declaration.name in self.scope.sorts:
                    self.sink.error("Q0205", f"sort `{declaration.name}` is already declared", declaration.span)
                self.scope.sorts.setdefault(declaration.name, Sort(declaration.name))
        for declaration in self.declarations:
            if isinstance(declaration, SymbolDeclaration):
                sorts = [self.sort(name, span) for name, span in declaration.arguments]
                result = self.sort(*declaration.result) if declaration.result else BOOL
                if self.declare(declaration.name, declaration.span) and result is not None:
                    arguments = tuple(sort for sort in sorts if sort is not None)
                    self.scope.symbols[declaration.name] = Symbol(
                        declaration.name, arguments, result, declaration.mutable
                    )
        for declaration in self.declarations:
            if isinstance(declaration, Definition) and self.declare(declaration.name, declaration.span):
                self.definitions[declaration.name] = declaration
        for declaration in self.declarations:
            if isinstance(declaration, FormulaDeclaration) and declaration.label:
                self.definitions.setdefault(declaration.label, declaration)

    # -- definitions -----------------------------------------------------------------------------------------------

    def macro(self, name: str, span: Span) -> Macro | None:
        """The definition behind a name, elaborated when first used."""
        if name in self.macros:
            return self.macros[name]
        if name == "safety":
            parts = [d for d in self.declarations if isinstance(d, FormulaDeclaration) and d.kind == "safety"]
            formulas = [formula for d in parts if (formula := self.formula(d)) is not None]
            self.macros[name] = Macro((), conj(*formulas), 1)
            return self.macros[name]
        declaration = self.definitions.get(name)
        if declaration is None:
            return None
        if name in self.expanding:
            self.sink.error("Q0210", f"`{name}` is defined by itself", span)
            self.macros[name] = None
            return None
        self.expanding.append(name)
        try:
            self.macros[name] = self.expand(declaration)
        finally:
            self.expanding.pop()
        return self.macros[name]

    def expand(self, declaration: Definition | FormulaDeclaration) -> Macro | None:
        states = _states(declaration)
        if isinstance(declaration, FormulaDeclaration):
            formula = self.formula(declaration)
            return None if formula is None else Macro((), formula, states)
        elaborator = self.elaborator(states)
        locals = elaborator.parameters(declaration.parameters)
        try:
            kind = Sort("bool") if declaration.transition or declaration.modifies is not None else None
            body = elaborator.term(declaration.body, kind or elaborator.infer(declaration.body))
        except Failed:
            return None
        return Macro(tuple(local.variable() for local in locals), body, states)

    def elaborator(self, states: int) -> Elaborator:
        return Elaborator(self.scope, self.sink, str.isupper, states)

    def formula(self, declaration: FormulaDeclaration) -> Term | None:
        try:
            return self.elaborator(_states(declaration)).formula(declaration.formula)
        except Failed:
            return None

    # -- the model -------------------------------------------------------------------------------------------------

    def model(self) -> RelationalModel:
        self.collect()
        for declaration in self.declarations:
            if isinstance(declaration, SymbolDeclaration) and declaration.formula is not None:
                self.derive(declaration)
        named: dict[str, list[Named]] = {"axiom": [], "init": [], "safety": [], "invariant": []}
        theorems: list[Theorem] = []
        transitions: list[Transition] = []
        traces: list[TraceQuery] = []
        names = set(self.where) | {d.label for d in self.declarations if isinstance(d, FormulaDeclaration) and d.label}
        used: set[str] = set()
        for declaration in self.declarations:
            match declaration:
                case FormulaDeclaration(kind, label, _, span):
                    formula = self.formula(declaration)
                    if formula is None:
                        continue
                    if label is None:
                        count = len(theorems if kind == "theorem" else named[kind]) + 1
                        label = fresh_name(f"{kind}_{count}", (names | used).__contains__)
                    elif label in used:
                        self.sink.warning("Q0205", f"two properties are called `{label}`; the second is renamed", span)
                        label = fresh_name(label, (names | used).__contains__)
                    used.add(label)
                    if kind == "theorem":
                        theorems.append(Theorem(label, declaration.states, formula, span))
                    else:
                        named[kind].append(Named(label, formula, span))
                        if kind in ("safety", "invariant") and not any(s.mutable for s in symbols_of(formula)):
                            self.sink.warning("Q0215", f"{kind} `{label}` mentions no mutable symbol", span)
                case Definition(transition=True):
                    transition = self.transition(declaration)
                    if transition is not None:
                        transitions.append(transition)
                case Definition():
                    self.macro(declaration.name, declaration.span)
                case TraceDeclaration():
                    query = self.trace(declaration, f"trace_{len(traces) + 1}")
                    if query is not None:
                        traces.append(query)
        for item in self.implicit:
            named["init"].append(Named(f"{item.symbol.name}_initially", item.formula, item.span))
            named["invariant"].append(Named(f"{item.symbol.name}_defined", item.formula, item.span))
        return RelationalModel(
            name=PurePath(self.source.path).stem,
            language="pyv",
            sorts=tuple(sort for name, sort in self.scope.sorts.items() if name not in ("bool", "int")),
            symbols=tuple(self.scope.symbols.values()),
            derived=tuple(self.derived),
            axioms=tuple(named["axiom"]),
            initial=tuple(named["init"]),
            transitions=tuple(transitions),
            safety=tuple(named["safety"]),
            invariants=tuple(named["invariant"]),
            theorems=tuple(theorems),
            traces=tuple(traces),
            expectations=expectations(self.source, self.sink),
            source=self.source,
        )

    def derive(self, declaration: SymbolDeclaration) -> None:
        assert declaration.formula is not None
        try:
            formula = self.elaborator(1).formula(declaration.formula)
        except Failed:
            return
        item = Derived(self.scope.symbols[declaration.name], formula, declaration.span)
        (self.derived if item.definition is not None else self.implicit).append(item)

    def transition(self, declaration: Definition) -> Transition | None:
        macro = self.macro(declaration.name, declaration.span)
        if macro is None:
            return None
        derived = {item.symbol for item in (*self.derived, *self.implicit)}
        modified: list[Symbol] = []
        for name, span in declaration.modifies or ():
            symbol = self.scope.symbols.get(name)
            if symbol is None or not symbol.mutable or symbol in derived:
                what = "is not a declared symbol" if symbol is None else "is not a mutable symbol of its own"
                self.sink.error("Q0209", f"`{name}` {what}, so it cannot be modified", span)
            elif symbol not in modified:
                modified.append(symbol)
        mentioned = {symbol.at(0) for symbol in symbols_of(macro.body) if symbol.primes} - derived
        body = macro.body
        if self.old_dialect:
            framed = mentioned.difference(modified)
            body = rename_symbols(body, lambda s: s.at(0) if s.at(0) in framed else s)
        else:
            for symbol in sorted(mentioned.difference(modified), key=lambda symbol: symbol.name):
                self.sink.error(
                    "Q0209",
                    f"transition `{declaration.name}` mentions the new value of `{symbol.name}` but does not modify it",
                    declaration.span,
                    fix=f"add `{symbol.name}` to `modifies`",
                )
            for symbol in modified:
                if symbol not in mentioned:
                    self.sink.warning(
                        "Q0209",
                        f"transition `{declaration.name}` modifies `{symbol.name}` but says nothing about its new value",
                        declaration.span,
                    )
        if self.sink.failed:
            return None
        for item in self.implicit:
            modified.append(item.symbol)
            body = conj(
                body, rename_symbols(item.formula, lambda symbol: symbol.at(1) if symbol in modified else symbol)
            )
        return to_transition(declaration.name, macro.parameters, body, modified, self.derived, declaration.span)

    def trace(self, declaration: TraceDeclaration, name: str) -> TraceQuery | None:
        steps: list[TraceStep] = []
        for component in declaration.components:
            if component.initial:
                steps.append(TraceStep(initial=True))
            elif component.any_transition:
                steps.append(TraceStep(any_transition=True))
            elif component.assertion is not None:
                try:
                    steps.append(TraceStep(assertion=self.elaborator(1).formula(component.assertion)))
                except Failed:
                    continue
            else:
                calls = [call for item in component.calls if (call := self.call(*item)) is not None]
                steps.append(TraceStep(calls=tuple(calls)))
        return TraceQuery(name, declaration.satisfiable, tuple(steps), declaration.span)

    def call(
        self, name: str, arguments: tuple[Expression | None, ...] | None, span: Span
    ) -> tuple[str, tuple[Term | None, ...]] | None:
        target = self.definitions.get(name)
        macro = self.macro(name, span) if isinstance(target, Definition) and target.transition else None
        if macro is None:
            if not isinstance(target, Definition) or not target.transition:
                self.sink.error("Q0213", f"`{name}` is not a transition", span)
            return None
        if arguments is None:
            return name, (None,) * len(macro.parameters)
        if len(arguments) != len(macro.parameters):
            message = f"`{name}` takes {len(macro.parameters)} arguments, {len(arguments)} given"
            self.sink.error("Q0202", message, span)
            return None
        values: list[Term | None] = []
        for argument, parameter in zip(arguments, macro.parameters, strict=True):
            try:
                elaborator = Elaborator(self.scope, self.sink, lambda name: False, 1)
                values.append(None if argument is None else elaborator.term(argument, parameter.sort))
            except Failed:
                return None
        return name, tuple(values)


def _states(declaration: Definition | FormulaDeclaration) -> int:
    if isinstance(declaration, FormulaDeclaration) and declaration.kind == "axiom":
        return 0
    return declaration.states


def _is_old_dialect(source: Source, declarations: list[Declaration]) -> bool:
    """Does the file say `old(e)` and never `new(e)` or a prime?"""
    if "old" not in source.text or any(isinstance(d, SymbolDeclaration) and d.name == "old" for d in declarations):
        return False
    seen = {"old": False, "new": False}

    def look(node: object) -> None:
        if isinstance(node, Shift) or (isinstance(node, Reference) and node.primes):
            seen["new"] = True
        if isinstance(node, Reference) and node.name == "old" and node.arguments is not None:
            seen["old"] = True
        for value in getattr(node, "__dict__", {}).values():
            if isinstance(value, Expression):
                look(value)
            elif isinstance(value, tuple):
                for member in value:
                    if isinstance(member, Expression):
                        look(member)

    for declaration in declarations:
        look(declaration)
    return seen["old"] and not seen["new"]


def _convert_old(declaration: Declaration) -> Declaration:
    """A declaration of the old dialect in today's convention."""
    if isinstance(declaration, Definition) and declaration.states == 2:
        return replace(declaration, body=Shift(declaration.body.span, 1, _old_to_shift(declaration.body)))
    if isinstance(declaration, FormulaDeclaration) and declaration.states == 2:
        return replace(declaration, formula=Shift(declaration.formula.span, 1, _old_to_shift(declaration.formula)))
    return declaration


def _old_to_shift(expression: Expression) -> Expression:
    changes: dict[str, Any] = {}
    for field in fields(expression):
        value = getattr(expression, field.name)
        if isinstance(value, Expression):
            changes[field.name] = _old_to_shift(value)
        elif isinstance(value, tuple) and any(isinstance(member, Expression) for member in value):
            changes[field.name] = tuple(_old_to_shift(m) if isinstance(m, Expression) else m for m in value)
    expression = replace(expression, **changes) if changes else expression
    if isinstance(expression, Reference) and expression.name == "old" and expression.arguments:
        return Shift(expression.span, -1, expression.arguments[0])
    return expression
