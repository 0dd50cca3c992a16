"""Relational models as Ivy text, from whatever language they came.

Printing and reading are inverse to each other: a transition becomes an action with its guard as `require`s, its choices
as local functions, and its updates in an order in which none sees the effect of another, or sees a copy made before.
Names of members (`ring.btw`) are declared inside objects, which may be opened several times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from quorate.lang import temporal
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.lang.ivy.signature import variable_name
from quorate.lang.ivy.vocabulary import RESERVED
from quorate.logic.printing import COMPARE, SUM, Syntax, show
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    And,
    Apply,
    Equal,
    Forall,
    Iff,
    Not,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
    equal,
    forall,
)
from quorate.logic.transform import (
    fresh_name,
    fresh_variables,
    rename_symbols,
    sorts_of,
    substitute,
    symbols_of,
)
from quorate.models.relational import Derived, Named, RelationalModel, Transition, Update
from quorate.models.source import Source, Span

_BUILTIN = re.compile(r"[<+*-]|[0-9]+")


def print_model(model: RelationalModel) -> str:
    """The model as an Ivy 1.7 file.  Raises `LanguageError` (Q0301) if Ivy has no way to say it."""
    return _Printer(model).text()


def print_formulas(formulas: Iterable[Term]) -> list[str]:
    """Formulas over the symbols of an Ivy file, as they are written at its end: all its names are legal there."""
    return [show(_legal_variables(formula), _spellings()) for formula in formulas]


def _inexpressible(message: str, model: RelationalModel, span: Span | None) -> LanguageError:
    place = span or Span(model.source or Source(model.name, ""), 0, 0)
    return LanguageError((Diagnostic("Q0301", message, place),))


@dataclass(frozen=True)
class IvySyntax(Syntax):
    """Ivy's spellings, with the names that each sort and symbol is printed under."""

    sorts: dict[Sort, str] = field(default_factory=dict)
    symbols: dict[Symbol, str] = field(default_factory=dict)

    def sort(self, sort: Sort) -> str:
        return self.sorts.get(sort, sort.name)

    def symbol(self, symbol: Symbol) -> str:
        if _builtin(symbol):
            return f"{symbol.name.rpartition('.')[2]}:{self.sort(symbol.sort)}"
        return self.symbols.get(symbol, symbol.name)

    def infix(self, symbol: Symbol) -> str | None:
        return symbol.name.rpartition(".")[2] if _builtin(symbol) else None


def _spellings() -> IvySyntax:
    return IvySyntax("~", "~=", "{1} if {0} else {2}", SUM, COMPARE)


def _builtin(symbol: Symbol) -> bool:
    """Is this an operator or a numeral, which exist at every sort without being declared?"""
    stem, dot, last = symbol.name.rpartition(".")
    owner = symbol.arguments[0] if symbol.arguments else symbol.sort
    return bool(dot) and stem == owner.name and _BUILTIN.fullmatch(last) is not None


def legal(name: str, taken: Callable[[str], bool]) -> str:
    """The name itself if Ivy allows it, else the nearest one it allows; unused in either case."""
    parts = [re.sub(r"[^A-Za-z0-9_]", "_", part) for part in re.sub(r"^(.*)'$", r"new_\1", name).split(".")]
    for i, part in enumerate(parts):
        if not part or part.isdigit():
            part = "x" + part
        part = part[0].lower() + part[1:]
        parts[i] = part + "_" if part in RESERVED else part
    return fresh_name(".".join(parts), taken)


class _Printer:
    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self.names: set[str] = set()
        self.syntax = _spellings()
        sorts: set[str] = set()
        for sort in model.sorts:
            self.syntax.sorts[sort] = legal(sort.name, sorts.__contains__)
            sorts.add(self.syntax.sorts[sort])
        elements = [Symbol(name, (), sort) for sort in model.sorts for name in sort.elements]
        for symbol in (*elements, *model.symbols):
            if not _builtin(symbol):
                self.syntax.symbols[symbol] = self.take(symbol.name)
        self.actions = {transition.name: self.take(transition.name) for transition in model.transitions}
        self.places = {symbol: self.name_places(symbol) for symbol in model.symbols}
        self.bases = _Bases(model.derived)
        self.lines: list[str] = []

    def take(self, name: str) -> str:
        name = legal(name, self.names.__contains__)
        self.names.add(name)
        return name

    def name_places(self, symbol: Symbol) -> tuple[Var, ...]:
        """The variables that updates or definitions of the symbol use, so that they are read back the same."""
        candidates = [u.variables for t in self.model.transitions for u in t.updates if u.symbol is symbol]
        candidates += [d.definition[0] for d in self.model.derived if d.symbol is symbol and d.definition is not None]
        candidates += [found[0] for n in self.model.initial if (found := _assigned(n.formula)) and found[1] is symbol]
        if candidates:
            named = [Var(variable_name(v.name), v.sort) for v in candidates[0]]
        else:
            named = [Var(variable_name(sort.name.rpartition(".")[2])[:1], sort) for sort in symbol.arguments]
        return tuple(fresh_variables(named, ()))

    # -- pieces ----------------------------------------------------------------------------------------------------

    def show(self, term: Term) -> str:
        return show(_legal_variables(term), self.syntax)

    def binders(self, variables: Iterable[Var]) -> str:
        return ", ".join(f"{variable.name}:{self.syntax.sort(variable.sort)}" for variable in variables)

    def applied(self, name: str, variables: Sequence[Var]) -> str:
        return f"{name}({', '.join(variable.name for variable in variables)})" if variables else name

    def signature(self, variables: Sequence[Var]) -> str:
        return f"({self.binders(variables)})" if variables else ""

    def declare(self, word: str, name: str, rest: str) -> None:
        """A declaration, inside the object its name belongs to."""
        *objects, last = name.split(".")
        opening = "".join(f"object {item} = {{ ... " for item in objects)
        self.lines.append(f"{opening}{word} {last}{rest}{' }' * len(objects)}")

    def section(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    # -- the file --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        self.lines = ["#lang ivy1.7", ""]
        self.check_members()
        self.print_sorts()
        self.section()
        self.print_symbols()
        self.section()
        for item in self.model.derived:
            self.print_definition(item)
        self.section()
        self.print_named("axiom", self.model.axioms)
        self.print_theorems()
        self.section()
        self.print_initial()
        for transition in self.model.transitions:
            self.section()
            self.print_transition(transition)
        self.section()
        self.lines += [f"export {name}" for name in self.actions.values()]
        self.section()
        self.print_named("safety", self.model.safety)
        self.print_named("invariant", self.model.invariants)
        self.section()
        self.print_temporal()
        for query in self.model.traces:
            word = "sat" if query.satisfiable else "unsat"
            self.lines.append(f"# {query.name}: a query for a run ({word} trace) has no Ivy form and is left out")
        return "\n".join(self.lines).rstrip() + "\n"

    def check_members(self) -> None:
        """Inside an object its members hide what is declared outside, so no sort used there may have such a name."""
        members: dict[str, set[str]] = {}
        for name in [*self.syntax.symbols.values(), *self.actions.values(), *self.syntax.sorts.values()]:
            stem, dot, last = name.rpartition(".")
            if dot:
                members.setdefault(stem, set()).add(last)
        for symbol, name in self.syntax.symbols.items():
            for sort in (*symbol.arguments, symbol.sort):
                if self.syntax.sort(sort).partition(".")[0] in members.get(name.rpartition(".")[0], ()):
                    message = f"the sort `{sort}` is hidden where `{symbol.name}` has to be declared"
                    raise _inexpressible(message, self.model, None)

    def print_sorts(self) -> None:
        for sort in self.model.sorts:
            elements = [self.element(name, sort) for name in sort.elements]
            definition = f" = {{{', '.join(elements)}}}" if elements else ""
            self.declare(f"{temporal.extent(self.model, sort)}type", self.syntax.sort(sort), definition)
        if self.uses_integers():
            self.lines += ["type int", "interpret int -> int"]

    def element(self, name: str, sort: Sort) -> str:
        symbol = Symbol(name, (), sort)
        return name.rpartition(".")[2] if _builtin(symbol) else self.syntax.symbol(symbol).rpartition(".")[2]

    def uses_integers(self) -> bool:
        model = self.model
        terms = [named.formula for named in (*model.axioms, *model.initial, *model.properties)]
        terms += [item.formula for item in model.derived] + [theorem.formula for theorem in model.theorems]
        for transition in model.transitions:
            terms += [transition.guard, *transition.parameters, *(update.value for update in transition.updates)]
        sorts = {sort for symbol in model.symbols for sort in (*symbol.arguments, symbol.sort)}
        return INT in sorts or INT in sorts_of(*terms)

    def print_symbols(self) -> None:
        for symbol in self.model.symbols:
            if _builtin(symbol):
                continue
            word = "relation" if symbol.sort is BOOL else "function" if symbol.arguments else "individual"
            result = "" if symbol.sort is BOOL else f" : {self.syntax.sort(symbol.sort)}"
            self.declare(word, self.syntax.symbol(symbol), self.signature(self.places[symbol]) + result)

    def print_definition(self, item: Derived) -> None:
        definition = item.definition
        if definition is None:
            message = f"the derived symbol `{item.symbol.name}` is not defined by an equation"
            raise _inexpressible(message, self.model, item.span)
        places = self.places[item.symbol]
        value = substitute(_legal_variables(definition[1]), dict(zip(definition[0], places, strict=True)))
        self.lines.append(f"definition {self.applied(self.syntax.symbol(item.symbol), places)} = {self.show(value)}")

    def print_named(self, word: str, items: Iterable[Named]) -> None:
        self.lines += [f"{word} [{_label(item.name)}] {self.show(item.formula)}" for item in items]

    def print_temporal(self) -> None:
        """Liveness and fairness; the variables of a property get names that are variables in Ivy."""
        alone = [item for item in self.model.liveness if item.assuming]
        if alone:
            message = f"what `{alone[0].name}` alone assumes has no form of its own"
            raise _inexpressible(message, self.model, alone[0].span)
        variables = {term for term in temporal.terms_of(self.model) if isinstance(term, Var)}
        names = {v: Var(v.name if v.name[0].isupper() else f"V_{v.name}", v.sort) for v in variables}

        def shown(term: Term) -> str:
            return self.show(substitute(term, {v: w for v, w in names.items() if v is not w}))

        self.lines += temporal.printed(
            self.model, shown, lambda v: self.binders([names[v]]), self.actions.__getitem__, _label
        )

    def print_theorems(self) -> None:
        for theorem in self.model.theorems:
            if any(symbol.mutable for symbol in symbols_of(theorem.formula)):
                message = f"the theorem `{theorem.name}` is about any state, reachable or not, which Ivy cannot say"
                raise _inexpressible(message, self.model, theorem.span)
            self.lines.append(f"property [{_label(theorem.name)}] {self.show(theorem.formula)}")

    # -- initial states --------------------------------------------------------------------------------------------

    def print_initial(self) -> None:
        """Assignments where that reads back the same, else assumptions; `*` for what no code assigns but is mutable."""
        derived = self.model.derived_symbols
        updated = {update.symbol for transition in self.model.transitions for update in transition.updates}
        assigned = self.assigned_initially()
        body = []
        for symbol in self.model.state_symbols:
            if symbol not in updated and symbol not in assigned and symbol not in derived:
                body.append(f"{self.applied(self.syntax.symbol(symbol), self.places[symbol])} := *")
        values = {named.name: symbol for symbol, named in assigned.items()}
        for named in self.model.initial:
            target = values.get(named.name)
            found = _assigned(named.formula)
            if target is not None and found is not None:
                body.append(f"{self.applied(self.syntax.symbol(target), self.places[target])} := {self.show(found[2])}")
            else:
                body.append(f"assume [{_label(named.name)}] {self.show(named.formula)}")
        if body:
            self.lines += ["after init {", *(f"    {line};" for line in body), "}"]

    def assigned_initially(self) -> dict[Symbol, Named]:
        """The symbols that the initialization can assign, each by one formula."""
        found: dict[Symbol, Named] = {}
        seen: set[Symbol] = set()
        values: set[Symbol] = set()
        for number, named in enumerate(self.model.initial, 1):
            assignment = _assigned(named.formula)
            if assignment is not None and named.name == f"init_{number}":
                variables, symbol, value = assignment
                read = self.bases.of(value)
                mutable = symbol.mutable and symbol not in self.model.derived_symbols
                again = forall(variables, equal(symbol(*variables), value)) is named.formula
                fits = variables == self.places.get(symbol) and again and mutable and symbol not in read
                if fits and symbol not in seen | values and read.isdisjoint(found):
                    found[symbol] = named
                    values |= read
            seen |= self.bases.of(named.formula)
        return found

    # -- transitions -----------------------------------------------------------------------------------------------

    def print_transition(self, transition: Transition) -> None:
        local = set(self.names)
        renamed: dict[Var, Term] = {}
        for parameter in transition.parameters:
            name = legal(parameter.name, local.__contains__)
            local.add(name)
            renamed[parameter] = Var(name, parameter.sort)
        choices: dict[Symbol, Symbol] = {}
        for choice in transition.choices:
            name = legal(choice.name, local.__contains__)
            local.add(name)
            choices[choice] = Symbol(name, choice.arguments, choice.sort)

        def own(term: Term, places: dict[Var, Term]) -> Term:
            term = rename_symbols(term, _renaming(choices))
            return substitute(_legal_variables(term), renamed | places)

        body = [f"var {self.local_function(choice)}" for choice in choices.values()]
        guard = own(transition.guard, {})
        conditions = guard.args if isinstance(guard, And) else (guard,)
        body += [f"require {self.show(condition)}" for condition in conditions]
        updates = []
        for update in transition.updates:
            places = self.places[update.symbol]
            value = own(update.value, dict(zip(update.variables, places, strict=True)))
            updates.append(Update(update.symbol, places, value))
        body += self.print_updates(updates, local)
        formals = [variable for variable in renamed.values() if isinstance(variable, Var)]
        name = self.actions[transition.name]
        code = [f"    {line};" for line in body]
        if "." in name:
            self.declare("action", name, self.signature(formals))
            self.lines += [f"implement {name}{self.signature(formals)} {{", *code, "}"]
        else:
            self.lines += [f"action {name}{self.signature(formals)} = {{", *code, "}"]

    def local_function(self, symbol: Symbol) -> str:
        named = [Var(variable_name(sort.name.rpartition(".")[2])[:1], sort) for sort in symbol.arguments]
        return f"{symbol.name}{self.signature(fresh_variables(named, ()))} : {self.syntax.sort(symbol.sort)}"

    def print_updates(self, updates: list[Update], taken: set[str]) -> list[str]:
        """Assignments one after the other that together do what the updates do at once."""
        copies: dict[Symbol, str] = {}
        changed: set[Symbol] = set()
        lines = []
        for update in self.in_order(updates):
            stale = {s for s in symbols_of(update.value) if not self.bases.of_symbols({s}).isdisjoint(changed)}
            for symbol in sorted(stale.difference(copies), key=lambda symbol: symbol.name):
                copies[symbol] = legal(f"before_{symbol.name.replace('.', '_')}", taken.__contains__)
                taken.add(copies[symbol])
            renaming = {s: Symbol(copies[s], s.arguments, s.sort) for s in stale}
            value = rename_symbols(update.value, _renaming(renaming))
            lines.append(f"{self.applied(self.syntax.symbol(update.symbol), update.variables)} := {self.show(value)}")
            changed.add(update.symbol)
        made = []
        for symbol, name in copies.items():
            places = self.places[symbol]
            made.append(f"var {name}{self.signature(places)} : {self.syntax.sort(symbol.sort)}")
            made.append(f"{self.applied(name, places)} := {self.applied(self.syntax.symbol(symbol), places)}")
        return made + lines

    def in_order(self, updates: list[Update]) -> list[Update]:
        """The updates, each before those that change what it reads, as far as that is possible."""
        ordered: list[Update] = []
        waiting = list(updates)
        while waiting:
            read = [(update, self.bases.of(update.value)) for update in waiting]
            free = [u for u in waiting if all(u.symbol not in symbols for other, symbols in read if other is not u)]
            ordered.append(free[0] if free else waiting[0])
            waiting.remove(ordered[-1])
        return ordered


def _renaming(names: dict[Symbol, Symbol]) -> Callable[[Symbol], Symbol]:
    return lambda symbol: names.get(symbol, symbol)


class _Bases:
    """The symbols that terms depend on, through definitions too."""

    def __init__(self, derived: Iterable[Derived]) -> None:
        self.reads: dict[Symbol, set[Symbol]] = {item.symbol: symbols_of(item.formula) for item in derived}

    def of(self, *terms: Term) -> set[Symbol]:
        return self.of_symbols(symbols_of(*terms))

    def of_symbols(self, symbols: Iterable[Symbol]) -> set[Symbol]:
        found: set[Symbol] = set()
        stack = list(symbols)
        while stack:
            symbol = stack.pop()
            if symbol not in found:
                found.add(symbol)
                stack.extend(self.reads.get(symbol, ()))
        return found


def _assigned(formula: Term) -> tuple[tuple[Var, ...], Symbol, Term] | None:
    """Variables, symbol and value if the formula says `forall X. r(X) = value`."""
    body = formula.body if isinstance(formula, Forall) else formula
    match body:
        case Apply(symbol, args):
            value: Term = TRUE
        case Not(Apply(symbol, args)):
            value = FALSE
        case Iff(Apply(symbol, args), value) | Equal(Apply(symbol, args), value):
            pass
        case _:
            return None
    variables = tuple(arg for arg in args if isinstance(arg, Var))
    if len(variables) != len(args) or len(set(args)) != len(args) or formula.free:
        return None
    return variables, symbol, value


def _legal_variables(term: Term) -> Term:
    """The term with bound variables that start in upper case, as Ivy's do."""
    memo: dict[Term, Term] = {}

    def walk(term: Term) -> Term:
        done = memo.get(term)
        if done is None:
            done = term.rebuild(tuple(walk(child) for child in term.children))
            if isinstance(done, Quantified) and not all(_legal_variable(variable.name) for variable in done.variables):
                named = [Var(variable_name(re.sub(r"[^A-Za-z0-9_]", "_", v.name)), v.sort) for v in done.variables]
                variables = fresh_variables(named, done.body.free.difference(done.variables))
                body = substitute(done.body, dict(zip(done.variables, variables, strict=True)))
                done = type(done)(variables, body)
            memo[term] = done
        return done

    return walk(term)


def _legal_variable(name: str) -> bool:
    return name[0].isupper() and re.fullmatch(r"[A-Za-z0-9_]+", name) is not None


def _label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)
