"""Models as mypyvy text that reads back to the same model.

A choice that an update assigns to its symbol as it stands is the symbol's new value; names that mypyvy cannot write are
made legal.  What mypyvy cannot express is refused, never changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from quorate.lang import temporal
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.lang.pyv.grammar import KEYWORDS
from quorate.logic.printing import Syntax, show
from quorate.logic.terms import (
    BOOL,
    TRUE,
    Apply,
    Equal,
    Forall,
    Iff,
    Quantified,
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
from quorate.logic.transform import fresh_name, replace_symbols, subterms, symbols_of
from quorate.models.relational import Derived, Named, RelationalModel, TraceQuery, TraceStep, Transition, Update
from quorate.models.source import Source, Span

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class PyvSyntax(Syntax):
    """mypyvy's spellings, with legal names for symbols, sorts and variables."""

    names: dict[Symbol, str] = field(default_factory=dict)
    sorts: dict[Sort, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def symbol(self, symbol: Symbol) -> str:
        return self.names[symbol.at(0)] + "'" * symbol.primes

    def sort(self, sort: Sort) -> str:
        return self.sorts.get(sort, sort.name)

    def variable(self, variable: Var) -> str:
        return self.variables[variable.name]


def _legal(name: str) -> str:
    legal = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not _LEGAL.match(legal) or legal in KEYWORDS:
        legal = f"s_{legal}"
    return legal


def print_model(model: RelationalModel) -> str:
    """The model as a mypyvy file.  Raises `LanguageError` if it cannot be expressed."""
    return _Printer(model).text()


def print_formulas(model: RelationalModel, formulas: Sequence[Term]) -> list[str]:
    """Formulas over the symbols of a model, as they are written at the end of its text."""
    printer = _Printer(model, formulas)
    return [printer.show(formula) for formula in formulas]


class _Printer:
    def __init__(self, model: RelationalModel, formulas: Sequence[Term] = ()) -> None:
        self.model = model
        sorts: dict[str, Sort] = {}
        self.sorts: dict[Sort, str] = {BOOL: "bool", Sort("int"): "int"}
        for sort in model.sorts:
            name = fresh_name(_legal(sort.name), sorts.__contains__)
            sorts[name] = sort
            self.sorts[sort] = name
        self.taken: set[str] = set()
        elements = [Symbol(name, (), sort) for sort in model.sorts for name in sort.elements]
        labels = [item.name for item in (*model.axioms, *model.initial, *model.properties)]
        labels += [item.name for item in model.theorems]
        labels += [item.name for item in model.fairness] + [item.name for item in model.liveness]
        variables = sorted(_variable_names(model, formulas), key=lambda name: (_legal(name) != name, name))
        self.names = {symbol: self.unused(symbol.name) for symbol in dict.fromkeys((*model.symbols, *elements))}
        self.transitions = {item.name: self.unused(item.name) for item in model.transitions}
        self.labels = {label: self.unused(label) for label in labels}
        self.syntax = PyvSyntax(
            "!",
            "!=",
            "if {0} then {1} else {2}",
            names=self.names,
            sorts=self.sorts,
            variables={name: self.unused(name) for name in variables},
        )

    def unused(self, name: str) -> str:
        """The name as mypyvy can write it, given out once: all names but those of sorts share one space."""
        name = fresh_name(_legal(name), self.taken.__contains__)
        self.taken.add(name)
        return name

    def refuse(self, message: str, span: Span | None) -> LanguageError:
        place = span or Span(self.model.source or Source(self.model.name, ""), 0, 0)
        return LanguageError((Diagnostic("Q0301", message, place),))

    def show(self, term: Term) -> str:
        return show(term, self.syntax)

    def binder(self, variable: Var) -> str:
        return f"{self.syntax.variable(variable)}: {self.sorts[variable.sort]}"

    def text(self) -> str:
        model = self.model
        lines = [f"{temporal.extent(model, sort)}sort {self.sorts[sort]}" for sort in model.sorts]
        for sort in model.sorts:
            if sort.elements:
                lines += [
                    f"immutable constant {self.names[Symbol(e, (), sort)]}: {self.sorts[sort]}" for e in sort.elements
                ]
        lines += self.declarations()
        for sort in model.sorts:
            if sort.elements:
                label = self.unused(f"{sort.name}_elements")
                lines.append(f"axiom [{label}] {self.show(_enumeration(sort))}")
        lines += [self.named("axiom", item) for item in model.axioms]
        lines += [self.named("init", item) for item in model.initial]
        lines += [self.transition(item) for item in model.transitions]
        lines += [self.named("safety", item) for item in model.safety]
        lines += [self.named("invariant", item) for item in model.invariants]
        kinds = {0: "zerostate", 1: "onestate", 2: "twostate"}
        lines += [f"{kinds[t.states]} theorem [{self.labels[t.name]}] {self.show(t.formula)}" for t in model.theorems]
        lines += [self.trace(query) for query in model.traces]
        alone = [item for item in model.liveness if item.assuming]
        if alone:
            raise self.refuse(f"mypyvy files cannot say what `{alone[0].name}` alone assumes", alone[0].span)
        lines += temporal.printed(model, self.show, self.binder, self.transitions.__getitem__, self.labels.__getitem__)
        return "\n".join(lines) + "\n"

    def declarations(self) -> list[str]:
        """The symbols in their order, but a derived relation after what it is derived from."""
        derived = {item.symbol: item for item in self.model.derived}
        waiting = list(self.model.symbols)
        lines = []
        while waiting:
            ready = next((s for s in waiting if s not in derived or self.is_ready(derived[s], waiting)), waiting[0])
            waiting.remove(ready)
            lines.append(self.derived(derived[ready]) if ready in derived else self.declaration(ready))
        return lines

    def is_ready(self, item: Derived, waiting: list[Symbol]) -> bool:
        return symbols_of(item.formula).isdisjoint(symbol for symbol in waiting if symbol is not item.symbol)

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
        return f"{word} [{self.labels[item.name]}] {self.show(item.formula)}"

    def transition(self, item: Transition) -> str:
        owners = self.owners(item)
        new_value = {choice: (u.variables, u.symbol.at(1)(*u.variables)) for choice, u in owners.items()}
        guard = replace_symbols(item.guard, new_value)
        formulas = [] if guard is TRUE and item.updates else [guard]
        for update in item.updates:
            if update not in owners.values():
                value = replace_symbols(update.value, new_value)
                formulas.append(forall(update.variables, equal(update.symbol.at(1)(*update.variables), value)))
        mentioned = symbols_of(*formulas)
        for update in owners.values():
            if update.symbol.at(1) not in mentioned:
                formulas.append(_anything(update))
        parts = [f"({self.show(formula)})" for formula in formulas]
        parameters = ", ".join(f"{self.syntax.variable(p)}: {self.sorts[p.sort]}" for p in item.parameters)
        head = f"transition {self.transitions[item.name]}({parameters})"
        body = "\n  & ".join(parts)
        if not item.updates:
            return f"{head}\n  = {body}"
        return f"{head}\n  modifies {', '.join(self.names[u.symbol] for u in item.updates)}\n  {body}"

    def owners(self, item: Transition) -> dict[Symbol, Update]:
        """For each choice the update that makes it a symbol's new value, which is how it is written."""
        found: dict[Symbol, Update] = {}
        for update in item.updates:
            match update.value:
                case Apply(symbol, args) if symbol in item.choices and args == update.variables:
                    found.setdefault(symbol, update)
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
            anything = all(argument is None for argument in arguments)
            calls.append(self.transitions[name] if anything else f"{self.transitions[name]}({listed})")
        return " | ".join(calls)


def _anything(update: Update) -> Term:
    """A trivial formula that mentions the new value of a symbol, as mypyvy requires of every modified one."""
    new = update.symbol.at(1)(*update.variables)
    fact = Iff(new, new) if new.sort is BOOL else Equal(new, new)
    return Forall(update.variables, fact) if update.variables else fact


def _variable_names(model: RelationalModel, formulas: Sequence[Term]) -> set[str]:
    """The names of all variables in the model and some formulas, bound ones and parameters."""
    terms = [*formulas, *(item.formula for item in (*model.axioms, *model.initial, *model.properties))]
    terms += [item.formula for item in model.theorems] + [item.formula for item in model.derived]
    terms += [item.guard for item in model.transitions]
    terms += [update.formula() for item in model.transitions for update in item.updates]
    terms += [step.assertion for query in model.traces for step in query.steps if step.assertion is not None]
    for query in model.traces:
        for step in query.steps:
            terms += [value for _, arguments in step.calls for value in arguments if value is not None]
    terms += temporal.terms_of(model)
    variables = {term for term in subterms(*terms) if isinstance(term, Var)}
    variables.update(v for term in subterms(*terms) if isinstance(term, Quantified) for v in term.variables)
    variables.update(v for item in model.transitions for v in item.parameters)
    variables.update(v for item in model.transitions for update in item.updates for v in update.variables)
    return {variable.name for variable in variables} | {"X"}


def _enumeration(sort: Sort) -> Term:
    constants = [Symbol(name, (), sort)() for name in sort.elements]
    x = Var("X", sort)
    return conj(distinct(constants), forall((x,), disj(*(equal(x, constant) for constant in constants))))
