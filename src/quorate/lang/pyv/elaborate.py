"""What the declarations of a mypyvy file mean: declarations to a relational model.

Order does not matter except for derived relations; one whose formula is no explicit definition becomes an ordinary
mutable symbol that every transition sets anew so that the formula holds.  Named formulas, definitions and transitions
can be used as definitions in other formulas.  Files of the old dialect (`old(e)` instead of `new(e)`) are recognised
and read with their own convention: there a bare mutable symbol in a two-state body is the new value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

from quorate.lang import temporal
from quorate.lang.diagnostics import Diagnostic, Sink
from quorate.lang.elaborate import (
    MAX_TERM_DEPTH,
    MAX_TERM_SIZE,
    Elaborator,
    Failed,
    Hole,
    Kind,
    Local,
    Macro,
    Scope,
    TooLarge,
    argument_count,
    duplicate,
    free_references,
    measure,
    measure_replaced,
    normal,
    references,
    subexpressions,
)
from quorate.lang.expectations import expectations
from quorate.lang.pyv.grammar import (
    Automaton,
    Declaration,
    Definition,
    FormulaDeclaration,
    SortDeclaration,
    SymbolDeclaration,
    TraceDeclaration,
    parse,
)
from quorate.lang.pyv.transitions import to_transition
from quorate.lang.reader import Binder, Expression, Reference, Shift
from quorate.lang.temporal import FairnessDeclaration, LivenessDeclaration
from quorate.logic.terms import BOOL, INT, TRUE, Sort, Symbol, Term, Var, conj, disj, implies
from quorate.logic.transform import fresh_name, prime, symbols_of
from quorate.models.relational import (
    Derived,
    Fairness,
    Liveness,
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
    parsed = parse(source, sink)
    if parsed is None:
        return None
    model = _Reader(source, sink, *parsed).model()
    return None if sink.failed else model


class PyvElaborator(Elaborator):
    """Adds mypyvy's rules about names: binders may hide each other; older files also let them hide what is declared."""

    empty_parentheses = False

    def local(self, binder: Binder) -> Local:
        if binder.name in self.scope.symbols or binder.name in self.scope.macro_names():
            message = f"the variable `{binder.name}` hides what is declared under this name"
            self.sink.warning("Q0205", message, binder.span)
        return super().local(binder)

    def group(self, binders: Iterable[Binder]) -> list[Local]:
        made = super().group(binders)
        names: set[str] = set()
        for local in made:
            if local.name in names:
                self.error("Q0205", f"two variables are called `{local.name}`", local.span)
            names.add(local.name)
        return made

    def term(self, expression: Expression, kind: Kind) -> Term:
        return normal(super().term(expression, kind))


class _Reader:
    def __init__(self, source: Source, sink: Sink, declarations: list[Declaration], broken: set[str]) -> None:
        self.source = source
        self.sink = sink
        self.old_dialect = _is_old_dialect(source, declarations)
        self.declarations = _from_old_dialect(declarations) if self.old_dialect else declarations
        self.scope = Scope(macro=self.macro, macro_names=lambda: self.definitions, broken=broken)
        self.definitions: dict[str, Definition | FormulaDeclaration] = {}
        self.macros: dict[str, Macro | None] = {}
        self.formulas: dict[int, Term | None] = {}
        self.derived: list[Derived] = []
        self.implicit: list[Derived] = []
        self.weights: dict[Symbol, tuple[int, int]] = {}
        self.where: dict[str, Span] = {}
        self.position: dict[str, int] = {}
        self.named: set[str] = set()
        self.extents: dict[str | None, set[Sort]] = {None: set(), "finite": set(), "unbounded": set()}

    # -- names -----------------------------------------------------------------------------------------------------

    def declare(self, name: str, span: Span) -> bool:
        if name in self.where:
            duplicate(self.sink, name, span, self.where[name])
            return False
        self.where[name] = span
        return True

    def sort(self, name: str, span: Span) -> Sort | None:
        sort = self.scope.sorts.get(name)
        if sort is None and name not in self.scope.broken:
            near = get_close_matches(name, self.scope.sorts, 1)
            fix = f"did you mean `{near[0]}`?" if near else f"add `sort {name}`"
            self.sink.error("Q0206", f"unknown sort `{name}`", span, fix=fix)
        return sort

    def collect(self) -> None:
        """Find out what is declared; formulas come later, since order does not matter."""
        sorts: dict[str, Span] = {}
        for declaration in self.declarations:
            if isinstance(declaration, SortDeclaration):
                if declaration.name in sorts:
                    duplicate(self.sink, declaration.name, declaration.span, sorts[declaration.name])
                else:
                    self.scope.sorts[declaration.name] = Sort(declaration.name)
                    self.extents[declaration.extent].add(Sort(declaration.name))
                sorts.setdefault(declaration.name, declaration.span)
        for declaration in self.declarations:
            if isinstance(declaration, SymbolDeclaration):
                self.symbol(declaration)
        for declaration in self.declarations:
            if isinstance(declaration, Definition) and self.declare(declaration.name, declaration.span):
                self.definitions[declaration.name] = declaration
        for declaration in self.declarations:
            if isinstance(declaration, FormulaDeclaration) and declaration.label:
                self.label(declaration, declaration.label)

    def symbol(self, declaration: SymbolDeclaration) -> None:
        sorts = [self.argument_sort(name, span) for name, span in declaration.arguments]
        result = self.sort(*declaration.result) if declaration.result else BOOL
        if not self.declare(declaration.name, declaration.span):
            return
        if result is None or None in sorts:
            self.scope.broken.add(declaration.name)
            return
        arguments = tuple(sort for sort in sorts if sort is not None)
        self.scope.symbols[declaration.name] = Symbol(declaration.name, arguments, result, declaration.mutable)
        self.position[declaration.name] = declaration.span.start

    def argument_sort(self, name: str, span: Span) -> Sort | None:
        sort = self.sort(name, span)
        if sort in (BOOL, INT):
            self.sink.error("Q0217", f"`{name}` cannot be the sort of an argument", span)
            return None
        return sort

    def label(self, declaration: FormulaDeclaration, label: str) -> None:
        """A name in brackets is a definition, too, unless it is taken."""
        if label in self.where:
            message = f"`{label}` is already declared; here it is the name of the {declaration.kind} only"
            related = ((self.where[label], "declared here"),)
            self.sink.report(Diagnostic("Q0205", message, declaration.span, "warning", related))
        self.named.add(label)
        if label not in self.where:
            self.definitions.setdefault(label, declaration)

    # -- definitions -----------------------------------------------------------------------------------------------

    def mentioned(self, name: str) -> Iterator[Reference]:
        """References to what is declared in the expressions that a name stands for."""
        if name == "safety":
            return free_references((), *(declaration.formula for declaration in self.safety()))
        declaration = self.definitions[name]
        if isinstance(declaration, FormulaDeclaration):
            return free_references((), declaration.formula)
        return free_references([parameter.name for parameter in declaration.parameters], declaration.body)

    def safety(self) -> list[FormulaDeclaration]:
        return [d for d in self.declarations if isinstance(d, FormulaDeclaration) and d.kind == "safety"]

    def uses(self, name: str) -> list[Reference]:
        """Where the expressions that a name stands for use other definitions, last in the text first."""
        found = (item for item in self.mentioned(name) if item.name in self.definitions or item.name == "safety")
        return sorted(found, key=lambda item: -item.span.start)

    def define(self) -> None:
        """Elaborate the definitions, those that others use first; without recursion, since chains may be long."""
        for start in [*self.definitions, "safety"]:
            path = {start: self.uses(start)} if start not in self.macros else {}
            while path:
                name = next(reversed(path))
                if path[name] and name not in self.macros:
                    item = path[name].pop()
                    if item.name in path:
                        names = list(path)
                        self.circle(names[names.index(item.name) :], item.span)
                    elif item.name not in self.macros:
                        path[item.name] = self.uses(item.name)
                    continue
                del path[name]
                if name not in self.macros:
                    self.macros[name] = self.expand(name)
                    if self.macros[name] is None:
                        self.scope.broken.add(name)

    def circle(self, names: list[str], span: Span) -> None:
        note = () if len(names) == 1 else (f"the circle is {' → '.join([*names, names[0]])}",)
        self.sink.error("Q0210", f"`{names[0]}` is defined by itself", span, *note)
        for name in names:
            self.macros[name] = None
            self.scope.broken.add(name)

    def macro(self, name: str, span: Span) -> Macro | None:
        """The definition behind a name."""
        return self.macros.get(name)

    def expand(self, name: str) -> Macro | None:
        if name == "safety":
            formulas = [self.formula(declaration) for declaration in self.safety()]
            return None if None in formulas else Macro((), conj(*(f for f in formulas if f is not None)), 1)
        declaration = self.definitions[name]
        states = _states(declaration)
        if isinstance(declaration, FormulaDeclaration):
            formula = self.formula(declaration)
            return None if formula is None else Macro((), formula, states)
        elaborator = self.elaborator(states)
        locals = elaborator.parameters(declaration.parameters)
        formula_only = declaration.transition or declaration.modifies is not None
        try:
            body = elaborator.term(declaration.body, BOOL if formula_only else Hole())
        except Failed:
            return None
        return Macro(tuple(local.variable() for local in locals), body, states)

    def elaborator(self, states: int) -> Elaborator:
        return PyvElaborator(self.scope, self.sink, str.isupper, states)

    def formula(self, declaration: FormulaDeclaration) -> Term | None:
        """The formula of a declaration, elaborated when first asked for."""
        if id(declaration) not in self.formulas:
            try:
                found = self.elaborator(_states(declaration)).formula(declaration.formula)
            except Failed:
                found = None
            self.formulas[id(declaration)] = found
        return self.formulas[id(declaration)]

    # -- the model -------------------------------------------------------------------------------------------------

    def model(self) -> RelationalModel:
        self.collect()
        self.define()
        for declaration in self.declarations:
            if isinstance(declaration, SymbolDeclaration) and declaration.formula is not None:
                self.derive(declaration, declaration.formula)
        named: dict[str, list[Named]] = {"axiom": [], "init": [], "safety": [], "invariant": []}
        theorems: list[Theorem] = []
        transitions: list[Transition] = []
        traces: list[TraceQuery] = []
        liveness: list[Liveness] = []
        fairness: list[Fairness] = []
        used: set[str] = set()
        for declaration in self.declarations:
            match declaration:
                case FormulaDeclaration(kind, _, _, span):
                    formula = self.formula(declaration)
                    if formula is None:
                        continue
                    number = len(theorems if kind == "theorem" else named[kind]) + 1
                    label = self.property_name(declaration, number, used)
                    if kind == "theorem":
                        formula = implies(self.background(declaration.states, formula), formula)
                        theorems.append(Theorem(label, declaration.states, formula, span))
                        continue
                    named[kind].append(Named(label, formula, span))
                    if kind != "axiom" and not any(symbol.mutable for symbol in symbols_of(formula)):
                        self.sink.warning("Q0215", f"{kind} `{label}` mentions no mutable symbol", span)
                case Definition(transition=True):
                    transition = self.transition(declaration)
                    if transition is not None:
                        transitions.append(transition)
                case Definition() if declaration.modifies is not None:
                    self.modified(declaration)
                case Automaton(phases, span):
                    formula = self.phases(phases)
                    if formula is not TRUE:
                        named["invariant"].append(Named(self.fresh("automaton", used), formula, span))
                case LivenessDeclaration():
                    label = self.property_name(declaration, len(liveness) + 1, used)
                    liveness += temporal.liveness(self.elaborator(1), declaration, label)
                case FairnessDeclaration():
                    label = self.property_name(declaration, len(fairness) + 1, used)
                    fairness += temporal.fairness(self.elaborator(1), declaration, label, self.parameters_of)
                case TraceDeclaration():
                    traces.append(self.trace(declaration, f"trace_{len(traces) + 1}"))
        for item in self.implicit:
            for kind, ending in (("init", "initially"), ("invariant", "defined")):
                label = self.fresh(f"{item.symbol.name}_{ending}", used)
                named[kind].append(Named(label, item.formula, item.span))
        if not named["safety"] and not liveness:
            named["safety"], named["invariant"] = named["invariant"], []
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
            liveness=tuple(liveness),
            fairness=tuple(fairness),
            finite=frozenset(self.extents["finite"]),
            unbounded=frozenset(self.extents["unbounded"]),
            expectations=expectations(self.source, self.sink),
            source=self.source,
        )

    def phases(self, phases: tuple[tuple[FormulaDeclaration, ...], ...]) -> Term:
        """That all properties of some phase hold: the states that a right phase automaton allows."""
        formulas = [[self.formula(declaration) or TRUE for declaration in phase] for phase in phases]
        return normal(disj(*(conj(*phase) for phase in formulas))) if phases else TRUE

    def parameters_of(self, name: str) -> tuple[Var, ...] | None:
        """The parameters of a transition, if there is one of that name."""
        target = self.definitions.get(name)
        macro = self.macros.get(name)
        is_transition = isinstance(target, Definition) and target.transition
        return macro.parameters if is_transition and macro is not None else None

    def property_name(
        self, declaration: FormulaDeclaration | LivenessDeclaration | FairnessDeclaration, number: int, used: set[str]
    ) -> str:
        """The label of a property, or its kind and number; each name is given once."""
        label = declaration.label
        if label is None or label in used:
            if label is not None:
                message = f"two properties are called `{label}`; the second is renamed"
                self.sink.warning("Q0205", message, declaration.span)
            return self.fresh(label or f"{declaration.kind}_{number}", used)
        used.add(label)
        return label

    def fresh(self, name: str, used: set[str]) -> str:
        name = fresh_name(name, lambda name: name in self.where or name in self.named or name in used)
        used.add(name)
        return name

    def derive(self, declaration: SymbolDeclaration, expression: Expression) -> None:
        symbol = self.scope.symbols.get(declaration.name)
        if symbol is None or self.where[declaration.name] is not declaration.span:
            return
        try:
            item = Derived(symbol, self.elaborator(1).formula(expression), declaration.span)
            if self.later(declaration.span.start, expression):
                raise Failed
            if item.definition is not None:
                self.weigh(item, item.definition[1], declaration.span)
        except Failed:
            del self.scope.symbols[symbol.name]
            self.scope.broken.add(symbol.name)
            return
        (self.implicit if item.definition is None else self.derived).append(item)

    def weigh(self, item: Derived, value: Term, span: Span) -> None:
        """Make sure that a derived relation stays small when those that it is built on are expanded, too."""
        size, depth = self.weights[item.symbol] = measure_replaced(value, self.weights)
        if size > MAX_TERM_SIZE or depth > MAX_TERM_DEPTH:
            self.sink.error("Q0222", f"`{item.symbol.name}` is too large once derived relations are expanded", span)
            raise Failed

    def later(self, start: int, expression: Expression) -> bool:
        """Report symbols that are declared after the derived relation which the expression defines."""
        found = False
        for item in free_references((), expression):
            names = {item.name}
            stack = [item.name]
            while stack:
                top = stack.pop()
                if top in self.definitions or top == "safety":
                    inner = {other.name for other in self.mentioned(top)} - names
                    names |= inner
                    stack += inner
            late = sorted(name for name in names if self.position.get(name, -1) > start)
            if late:
                found = True
                what = "is" if late == [item.name] else f"speaks of `{late[0]}`, which is"
                fix = "a derived relation sees only what stands before it: move it down"
                self.sink.error("Q0201", f"`{item.name}` {what} declared below", item.span, fix=fix)
        return found

    def background(self, states: int, formula: Term) -> Term:
        """What holds of the implicitly derived symbols in a formula, in each of its states."""
        mentioned = {symbol.at(0) for symbol in symbols_of(formula)}
        relevant = [item for item in self.implicit if item.symbol in mentioned]
        return conj(*(prime(item.formula, state) for item in relevant for state in range(states)))

    # -- transitions -----------------------------------------------------------------------------------------------

    def modified(self, declaration: Definition) -> tuple[Macro, list[Symbol]] | None:
        """The body of a transition and the symbols that it may change, checked against each other."""
        macro = self.macro(declaration.name, declaration.span)
        if macro is None or self.where[declaration.name] is not declaration.span:
            return None
        derived = {item.symbol for item in (*self.derived, *self.implicit)}
        mentioned = {symbol.at(0) for symbol in symbols_of(macro.body) if symbol.primes} - derived
        what = f"{'transition' if declaration.transition else 'definition'} `{declaration.name}`"
        shifted = [item.body for item in subexpressions(declaration.body) if isinstance(item, Shift)]
        written = {item.name for item in references(declaration.body) if item.primes}
        written.update(item.name for item in references(*shifted))
        modified: list[Symbol] = []
        for name, span in declaration.modifies or ():
            symbol = self.scope.symbols.get(name)
            if symbol is None or not symbol.mutable or symbol in derived:
                if name not in self.scope.broken:
                    problem = "is not a declared symbol" if symbol is None else "is not a mutable symbol of its own"
                    self.sink.error("Q0209", f"`{name}` {problem}, so it cannot be modified", span)
            elif symbol not in modified:
                modified.append(symbol)
                if symbol not in mentioned and name not in written and not self.old_dialect:
                    message = f"{what} modifies `{name}` but says nothing about its new value"
                    self.sink.warning("Q0209", message, span, "the new value may be anything")
        unmodified = {symbol.name for symbol in mentioned.difference(modified)}
        forgotten = sorted(unmodified - self.scope.broken)
        if forgotten and not self.old_dialect:
            self.sink.error(
                "Q0209",
                f"{what} mentions the new value of {_listed(forgotten)} but does not modify {_it(forgotten)}",
                declaration.span,
                fix=f"add {_listed(forgotten)} to `modifies`",
            )
        return macro, modified

    def transition(self, declaration: Definition) -> Transition | None:
        found = self.modified(declaration)
        if found is None or self.sink.failed:
            return None
        macro, modified = found
        modified += [item.symbol for item in self.implicit]
        constraints = [prime(item.formula) for item in self.implicit]
        name, span = declaration.name, declaration.span
        try:
            made = to_transition(name, macro.parameters, conj(macro.body, *constraints), modified, self.derived, span)
            sizes = [measure(made.guard, self.scope.measures)]
            sizes += [measure(update.formula(), self.scope.measures) for update in made.updates]
            if sum(size for size, _ in sizes) <= MAX_TERM_SIZE and max(depth for _, depth in sizes) <= MAX_TERM_DEPTH:
                return made
        except TooLarge:
            pass
        self.sink.error("Q0222", f"transition `{name}` is too large once definitions are expanded", span)
        return None

    # -- traces ----------------------------------------------------------------------------------------------------

    def trace(self, declaration: TraceDeclaration, name: str) -> TraceQuery:
        """A trace query; that its first state is an initial one is said first, wherever the text says it."""
        steps: list[TraceStep] = []
        moved = initial = False
        for component in declaration.components:
            if component.initial:
                if moved:
                    self.sink.error("Q0218", "only the first state of a trace can be initial", component.span)
                initial = True
            elif component.any_transition:
                moved = True
                steps.append(TraceStep(any_transition=True))
            elif component.assertion is not None:
                try:
                    steps.append(TraceStep(assertion=self.elaborator(1).formula(component.assertion)))
                except Failed:
                    continue
            else:
                moved = True
                calls = [call for item in component.calls if (call := self.call(*item)) is not None]
                steps.append(TraceStep(calls=tuple(calls)))
        if initial:
            steps.insert(0, TraceStep(initial=True))
        elif steps and steps[0].assertion is not None and self.implicit:
            steps.insert(0, TraceStep(assertion=conj(*(item.formula for item in self.implicit))))
        return TraceQuery(name, declaration.satisfiable, tuple(steps), declaration.span)

    def call(
        self, name: str, arguments: tuple[Expression | None, ...] | None, span: Span
    ) -> tuple[str, tuple[Term | None, ...]] | None:
        target = self.definitions.get(name)
        if not isinstance(target, Definition) or not target.transition:
            if name not in self.scope.broken:
                transitions = [d.name for d in self.declarations if isinstance(d, Definition) and d.transition]
                near = get_close_matches(name, transitions, 1)
                fix = f"did you mean `{near[0]}`?" if near else None
                self.sink.error("Q0213", f"`{name}` is not a transition", span, fix=fix)
            return None
        macro = self.macro(name, span)
        if macro is None:
            return None
        if arguments is None:
            return name, (None,) * len(macro.parameters)
        if len(arguments) != len(macro.parameters):
            message = f"`{name}` takes {argument_count(len(macro.parameters))}, {len(arguments)} given"
            self.sink.error("Q0202", message, span)
            return None
        values: list[Term | None] = []
        for argument, parameter in zip(arguments, macro.parameters, strict=True):
            try:
                elaborator = PyvElaborator(self.scope, self.sink, lambda name: False, 1)
                values.append(None if argument is None else elaborator.term(argument, parameter.sort))
            except Failed:
                return None
        return name, tuple(values)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _states(declaration: Definition | FormulaDeclaration) -> int:
    if isinstance(declaration, FormulaDeclaration) and declaration.kind == "axiom":
        return 0
    return declaration.states


def _is_old_dialect(source: Source, declarations: list[Declaration]) -> bool:
    """Does the file say `old(e)` and never `new(e)` or a prime?"""
    declared = (SymbolDeclaration, Definition)
    if "old" not in source.text or any(isinstance(d, declared) and d.name == "old" for d in declarations):
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
        if not (isinstance(declaration, Definition) and declaration.imperative):
            look(declaration)
    return seen["old"] and not seen["new"]


def _from_old_dialect(declarations: list[Declaration]) -> list[Declaration]:
    """Declarations of the old dialect in today's convention: a bare mutable symbol is meant in the new state."""
    two_state = {d.name for d in declarations if isinstance(d, Definition) and d.states == 2}
    two_state |= {d.label for d in declarations if isinstance(d, FormulaDeclaration) and d.label and _states(d) == 2}
    converted: list[Declaration] = []
    for declaration in declarations:
        if isinstance(declaration, Definition) and declaration.states == 2 and not declaration.imperative:
            body = _old_to_shift(declaration.body, two_state)
            declaration = replace(declaration, body=Shift(declaration.body.span, 1, body))
        elif isinstance(declaration, FormulaDeclaration) and declaration.states == 2:
            body = _old_to_shift(declaration.formula, two_state)
            declaration = replace(declaration, formula=Shift(declaration.formula.span, 1, body))
        converted.append(declaration)
    return converted


def _old_to_shift(expression: Expression, two_state: set[str]) -> Expression:
    """`old(e)` as a step back; a two-state definition starts from the old state, but its arguments do not."""
    changes: dict[str, Any] = {}
    for field in fields(expression):
        value = getattr(expression, field.name)
        if isinstance(value, Expression):
            changes[field.name] = _old_to_shift(value, two_state)
        elif isinstance(value, tuple) and any(isinstance(member, Expression) for member in value):
            changes[field.name] = tuple([_old_to_shift(member, two_state) for member in value])
    expression = replace(expression, **changes) if changes else expression
    if isinstance(expression, Reference) and expression.name == "old" and expression.arguments:
        if len(expression.arguments) == 1:
            return Shift(expression.span, -1, expression.arguments[0])
    elif isinstance(expression, Reference) and expression.name in two_state:
        arguments = expression.arguments
        if arguments is not None:
            arguments = tuple([Shift(argument.span, 1, argument) for argument in arguments])
        return Shift(expression.span, -1, replace(expression, arguments=arguments))
    return expression
