"""Models as mypyvy text that reads back to the same model.

A choice that an update assigns to its symbol as it stands is the symbol's new value; names that mypyvy cannot write are
made legal.  What mypyvy cannot express is refused, never changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.lang.pyv.grammar import KEYWORDS
from quorate.logic.printing import Syntax, show
from quorate.logic.terms import (
    BOOL,
    Apply,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    distinct,
    equal,
    forall,
)
from quorate.logic.transform import fresh_name, replace_symbols
from quorate.models.relational import Derived, Named, RelationalModel, TraceQuery, TraceStep, Transition, Update
from quorate.models.source import Source, Span

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class PyvSyntax(Syntax):
    """mypyvy's spellings, with legal names for symbols and variables."""

    names: dict[Symbol, str] = field(default_factory=dict)
    sorts: dict[Sort, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()

    def symbol(self, symbol: Symbol) -> str:
        return self.names[symbol.at(0)] + "'" * symbol.primes

    def sort(self, sort: Sort) -> str:
        return self.sorts.get(sort, sort.name)

    def variable(self, variable: Var) -> str:
        name = _legal(variable.name)
        while name in self.taken:
            name += "_"
        return name


def _legal(name: str) -> str:
    legal = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not _LEGAL.match(legal) or legal in KEYWORDS:
        legal = f"s_{legal}"
    return legal


def print_model(model: RelationalModel) -> str:
    """The model as a mypyvy file.  Raises `LanguageError` if it cannot be expressed."""
    return _Printer(model).text()


class _Printer:
    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        sorts: dict[str, Sort] = {}
        self.sorts: dict[Sort, str] = {BOOL: "bool", Sort("int"): "int"}
        for sort in model.sorts:
            name = fresh_name(_legal(sort.name), sorts.__contains__)
            sorts[name] = sort
            self.sorts[sort] = name
        names: dict[str, Symbol] = {}
        elements = [Symbol(name, (), sort) for sort in model.sorts for name in sort.elements]
        for symbol in (*model.symbols, *elements):
            name = fresh_name(_legal(symbol.name), names.__contains__)
            names.setdefault(name, symbol)
        self.names = {symbol: name for name, symbol in names.items()}
        labels = [item.name for item in (*model.axioms, *model.initial, *model.properties)]
        labels += [item.name for item in model.theorems] + [item.name for item in model.transitions]
        taken = {*names, *map(_legal, labels)}
        self.syntax = PyvSyntax(
            "!", "!=", "if {0} then {1} else {2}", names=self.names, sorts=self.sorts, taken=frozenset(taken)
        )

    def refuse(self, message: str, span: Span | None) -> LanguageError:
        place = span or Span(self.model.source or Source(self.model.name, ""), 0, 0)
        return LanguageError((Diagnostic("Q0301", message, place),))

    def show(self, term: Term) -> str:
        return show(term, self.syntax)

    def text(self) -> str:
        model = self.model
        lines = [f"sort {self.sorts[sort]}" for sort in model.sorts]
        for sort in model.sorts:
            if sort.elements:
                lines += [
                    f"immutable constant {self.names[Symbol(e, (), sort)]}: {self.sorts[sort]}" for e in sort.elements
                ]
        derived = model.derived_symbols
        lines += [self.declaration(symbol) for symbol in model.symbols if symbol not in derived]
        lines += [self.derived(item) for item in model.derived]
        for sort in model.sorts:
            if sort.elements:
                lines.append(f"axiom {self.show(_enumeration(sort))}")
        lines += [self.named("axiom", item) for item in model.axioms]
        lines += [self.named("init", item) for item in model.initial]
        lines += [self.transition(item) for item in model.transitions]
        lines += [self.named("safety", item) for item in model.safety]
        lines += [self.named("invariant", item) for item in model.invariants]
        kinds = {0: "zerostate", 1: "onestate", 2: "twostate"}
        lines += [f"{kinds[t.states]} theorem [{_legal(t.name)}] {self.show(t.formula)}" for t in model.theorems]
        lines += [self.trace(query) for query in model.traces]
        return "\n".join(lines) + "\n"

    def declaration(self, symbol: Symbol) -> str:
        if any(sort is BOOL or sort.name == "int" for sort in symbol.arguments):
            raise self.refuse(f"mypyvy symbols cannot have arguments of sort bool or int, as {symbol.name} has", None)
        word = "mutable" if symbol.mutable else "immutable"
        arguments = f"({', '.join(self.sorts[sort] for sort in symbol.arguments)})" if symbol.arguments else ""
        name = self.names[symbol]
        if symbol.is_relation:
            return f"{word} relation {name}{arguments}"
        kind = "function" if symbol.arguments else "constant"
        return f"{word} {kind} {name}{arguments}: {self.sorts[symbol.sort]}"

    def derived(self, item: Derived) -> str:
        arguments = (
            f"({', '.join(self.sorts[sort] for sort in item.symbol.arguments)})" if item.symbol.arguments else ""
        )
        if not item.symbol.is_relation:
            raise self.refuse(f"mypyvy has no derived functions, and {item.symbol.name} is one", item.span)
        return f"derived relation {self.names[item.symbol]}{arguments}: {self.show(item.formula)}"

    def named(self, word: str, item: Named) -> str:
        return f"{word} [{_legal(item.name)}] {self.show(item.formula)}"

    def transition(self, item: Transition) -> str:
        new_value = self.new_values(item)
        guard = replace_symbols(item.guard, new_value)
        parts = [self.operand(guard)] if guard is not conj() or not item.updates else []
        for update in item.updates:
            if self.assigned_choice(item, update) is None:
                value = replace_symbols(update.value, new_value)
                parts.append(
                    self.operand(forall(update.variables, equal(update.symbol.at(1)(*update.variables), value)))
                )
        parameters = ", ".join(f"{self.syntax.variable(p)}: {self.sorts[p.sort]}" for p in item.parameters)
        head = f"transition {_legal(item.name)}({parameters})"
        body = "\n  & ".join(parts) or "true"
        if not item.updates:
            return f"{head}\n  = {body}"
        return f"{head}\n  modifies {', '.join(self.names[u.symbol] for u in item.updates)}\n  {body}"

    def operand(self, formula: Term) -> str:
        return f"({self.show(formula)})"

    def assigned_choice(self, item: Transition, update: Update) -> Symbol | None:
        """The choice that the update makes the symbol's new value, if it does nothing else."""
        match update.value:
            case Apply(symbol, args) if symbol in item.choices and args == update.variables:
                return symbol
        return None

    def new_values(self, item: Transition) -> dict[Symbol, tuple[tuple[Var, ...], Term]]:
        """What each choice is written as: the new value of the symbol that it is assigned to."""
        found: dict[Symbol, tuple[tuple[Var, ...], Term]] = {}
        for update in item.updates:
            choice = self.assigned_choice(item, update)
            if choice is not None and choice not in found:
                found[choice] = (update.variables, update.symbol.at(1)(*update.variables))
        for choice in item.choices:
            if choice not in found:
                raise self.refuse(f"{item.name} chooses {choice.name}, which is no symbol's new value", item.span)
        return found

    def trace(self, query: TraceQuery) -> str:
        lines = [f"{'sat' if query.satisfiable else 'unsat'} trace {{"]
        lines += [f"  {self.trace_step(step)}" for step in query.steps]
        return "\n".join([*lines, "}"])

    def trace_step(self, step: TraceStep) -> str:
        if step.initial:
            return "assert init"
        if step.any_transition:
            return "any transition"
        if step.assertion is not None:
            return f"assert {self.show(step.assertion)}"
        calls = []
        for name, arguments in step.calls:
            listed = ", ".join("*" if argument is None else self.show(argument) for argument in arguments)
            calls.append(f"{_legal(name)}({listed})" if arguments else _legal(name))
        return " | ".join(calls)


def _enumeration(sort: Sort) -> Term:
    constants = [Symbol(name, (), sort)() for name in sort.elements]
    x = Var("X", sort)
    return conj(distinct(constants), forall((x,), disj(*(equal(x, constant) for constant in constants))))
