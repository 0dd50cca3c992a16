"""What an Ivy file means: text to a relational model.

The file is parsed, flattened (`modules`), its names and sorts are settled (`signature`), and the code of its actions is
executed symbolically (`actions`, `initial`).  Here the pieces are put together and the properties sorted into what is
to be proved and what is offered as a lemma.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Failed, normal
from quorate.lang.expectations import expectations
from quorate.lang.ivy import syntax
from quorate.lang.ivy.actions import Run
from quorate.lang.ivy.grammar import parse, version_of
from quorate.lang.ivy.initial import initial_states
from quorate.lang.ivy.modules import Action, Program, flatten
from quorate.lang.ivy.signature import OWN_NAMES, Signature, variable_name
from quorate.lang.ivy.states import Obligation, State
from quorate.lang.temporal import LivenessDeclaration, decoded
from quorate.lang.temporal import fairness as temporal_fairness
from quorate.lang.temporal import liveness as temporal_liveness
from quorate.logic.terms import BOOL, INT, TRUE, Symbol, Term, Var, conj, forall, implies, neg
from quorate.logic.transform import fresh_name, fresh_variables, substitute, symbols_of
from quorate.models.relational import Fairness, Liveness, Named, RelationalModel, Theorem, Transition, Update
from quorate.models.source import Source, Span

SAFETY_LABEL = "1000000"
"""How the DistAI and DuoAI suites mark the property to be proved among the invariants."""

TEMPORAL = ("temporal", "liveness", "fairness", "fairness weak", "fairness strong")
"""Kinds of declarations that speak of whole runs."""

FOLLOW_ON = ("Q0201", "Q0206", "Q0224")
"""What is not told if some declarations could not be read, since it may follow from that."""

MAX_TOLD = 200
"""How many problems are told at most, errors before warnings."""


def read(source: Source, sink: Sink) -> RelationalModel | None:
    """The model of an Ivy file, or None if the sink holds errors."""
    try:
        declarations = parse(source, sink)
        inner = Sink()
        program = flatten(declarations, inner)
        model = _Reader(source, inner, program).model()
    except RecursionError:
        sink.error("Q0103", "something in the file is nested too deeply", Span(source, 0, 0))
        return None
    unreadable = sink.failed
    told = [item for item in inner.sorted() if not (unreadable and item.code in FOLLOW_ON)]
    for diagnostic in sorted(told, key=lambda item: item.severity)[:MAX_TOLD]:
        sink.report(diagnostic)
    return None if sink.failed else model


@dataclass(frozen=True)
class _Property:
    kind: str
    label: str | None
    named: Named


class _Reader:
    def __init__(self, source: Source, sink: Sink, program: Program) -> None:
        self.source = source
        self.sink = sink
        self.program = program
        self.version = version_of(source) or (1, 7)
        self.signature = Signature(program, sink)
        self.labels = {formula.label for formula in program.formulas if formula.label}
        self.used: set[str] = set()
        self.counts: dict[str, int] = {}
        self.failure: Symbol | None = None
        self.assertions: list[Named] = []
        self.transitions: list[Transition] = []

    def model(self) -> RelationalModel:
        axioms: list[Named] = []
        theorems: list[Theorem] = []
        properties: list[_Property] = []
        for declaration in self.program.formulas:
            if declaration.kind not in ("init", *TEMPORAL):
                self.formula(declaration, axioms, theorems, properties)
        starts = (declaration for declaration in self.program.formulas if declaration.kind == "init")
        initial = initial_states(self.signature, starts, self.sink)
        first = [Named(self.name("init", label, span), formula, span) for label, formula, span in initial.formulas]
        first += self.signature.standing
        self.signature.reserved.update(symbol.name for symbol in initial.symbols)
        for action in self.program.actions.values():
            self.action(action)
        liveness, fairness = self.temporal()
        safety, invariants = _sorted_properties(properties)
        symbols = [*self.signature.symbols, *initial.symbols]
        if self.failure is not None:
            symbols.append(self.failure)
            first.append(Named(self.name("init", None, None), neg(self.failure())))
            safety.append(Named(self.name("safety", self.failure.name, None), neg(self.failure())))
        model = RelationalModel(
            name=PurePath(self.source.path).stem,
            language="ivy",
            sorts=tuple(
                sort for name, sort in self.signature.scope.sorts.items() if sort.name == name not in ("bool", "int")
            ),
            symbols=tuple(symbols),
            derived=tuple(self.signature.derived),
            axioms=tuple(axioms),
            initial=tuple(first),
            transitions=tuple(self.transitions),
            safety=(*safety, *self.assertions),
            invariants=tuple(invariants),
            theorems=tuple(theorems),
            liveness=tuple(liveness),
            fairness=tuple(fairness),
            finite=frozenset(self.signature.extents["finite"]),
            unbounded=frozenset(self.signature.extents["unbounded"]),
            expectations=expectations(self.source, self.sink),
            fixed=tuple(self.signature.fixed),
            source=self.source,
        )
        return self.with_operators(model)

    def temporal(self) -> tuple[list[Liveness], list[Fairness]]:
        """Liveness properties, and what is assumed about fairness."""
        liveness: list[Liveness] = []
        fairness: list[Fairness] = []
        for declaration in self.program.formulas:
            if declaration.kind not in TEMPORAL:
                continue
            made = decoded(declaration.kind, declaration.label, declaration.formula)
            if made is None:
                fix = "write `globally (p -> eventually q)`, or `liveness [name] forall X. p(X) ~> q(X)`"
                self.sink.error("Q0703", "this temporal property has another shape", declaration.span, fix=fix)
            elif isinstance(made, LivenessDeclaration):
                name = self.name("liveness", declaration.label, declaration.span)
                assumed = [
                    found
                    for item in made.assuming
                    for found in temporal_fairness(
                        self.signature.elaborator(), item, self.name("fairness", None, None), self.parameters_of
                    )
                ]
                liveness += temporal_liveness(self.signature.elaborator(), made, name, tuple(assumed))
            else:
                name = self.name("fairness", declaration.label, declaration.span)
                fairness += temporal_fairness(self.signature.elaborator(), made, name, self.parameters_of)
        return liveness, fairness

    def parameters_of(self, name: str) -> tuple[Var, ...] | None:
        """The parameters of a step, if there is one of that name."""
        return next((item.parameters for item in self.transitions if item.name == name), None)

    def with_operators(self, model: RelationalModel) -> RelationalModel:
        """The model with the operators and numerals that occur in it."""
        named = (*model.axioms, *model.initial, *model.properties)
        terms = [item.formula for item in named] + [item.formula for item in model.derived]
        terms += [item.formula for item in model.theorems]
        for transition in model.transitions:
            terms += [transition.guard, *(update.value for update in transition.updates)]
        builtin = set(self.signature.builtin.values()) & symbols_of(*terms)
        facts = [*self.signature.struct_axioms(), *self.signature.number_axioms(builtin)]
        orders = [Named(self.name("axiom", label, None), normal(fact)) for label, fact in facts]
        declared_first = sorted(builtin, key=lambda symbol: (not symbol.name.endswith(OWN_NAMES), symbol.name))
        symbols = (*model.symbols, *declared_first)
        return replace(model, symbols=symbols, axioms=(*model.axioms, *orders))

    def name(self, kind: str, label: str | None, span: Span | None) -> str:
        """The name of a property: its label, or its kind and number; each is used once."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        taken = self.used if label is not None else self.used | self.labels
        wanted = label or f"{kind}_{self.counts[kind]}"
        name = fresh_name(wanted, taken.__contains__)
        if label is not None and name != label and span is not None:
            self.sink.warning("Q0205", f"two properties are called `{label}`; the second is renamed", span)
        self.used.add(name)
        return name

    # -- properties ------------------------------------------------------------------------------------------------

    def formula(
        self,
        declaration: syntax.FormulaDeclaration,
        axioms: list[Named],
        theorems: list[Theorem],
        properties: list[_Property],
    ) -> None:
        kind, label, span = declaration.kind, declaration.label, declaration.span
        try:
            formula = normal(self.signature.elaborator().formula(declaration.formula))
        except Failed:
            return
        name = self.name("property" if kind == "trusted" else kind, label, span)
        mutable = sorted(symbol.name for symbol in symbols_of(formula) if symbol.mutable)
        if kind == "axiom" and not mutable:
            axioms.append(Named(name, formula, span))
            return
        if kind == "trusted" and not mutable:
            self.sink.warning("Q0226", f"this is not proved: `{name}` belongs to a trusted isolate", span)
            axioms.append(Named(name, formula, span))
            return
        if kind == "property" and not mutable:
            theorems.append(Theorem(name, 0, formula, span))
            return
        if kind == "axiom":
            self.standing_axiom(Named(name, formula, span), mutable[0], declaration.span)
            return
        if not mutable:
            self.sink.warning("Q0215", f"{kind} `{name}` mentions no mutable symbol", span)
        properties.append(_Property(kind, label, Named(name, formula, span)))

    def standing_axiom(self, axiom: Named, changing: str, span: Span) -> None:
        """An axiom about what changes: refused from version 1.7 on, as Ivy does; earlier versions assume it of every state."""
        if self.version >= (1, 7):
            fix = "say `invariant` if it is to be proved, or `assume` it in the actions"
            self.sink.error("Q0211", f"this axiom speaks of `{changing}`, which changes", span, fix=fix)
            return
        message = f"this axiom speaks of `{changing}`, which changes: steps to states in which it fails are left out"
        self.sink.warning("Q0211", message, span)
        self.signature.standing.append(axiom)

    # -- actions ---------------------------------------------------------------------------------------------------

    def action(self, action: Action) -> None:
        """Execute an action; the environment takes the exported ones as steps."""
        run, state = Run(self.signature, self.sink), State()
        try:
            self.signature.check_distinct(action.parameters)
            self.signature.check_distinct(action.results)
            formals: list[Term] = []
            for binder in action.parameters:
                sort = self.signature.sort(binder.sort, f"parameter `{binder.name}`", binder.span)
                formals.append(run.parameter(binder.name, sort))
            run.enter(action, formals, state)
            if not run.failed and self.is_step(action):
                self.step(action, run, state, len(formals))
        except Failed:
            return

    def is_step(self, action: Action) -> bool:
        if self.program.exports:
            return action.name in self.program.exports
        return action.name not in self.program.imports and bool(action.parts)

    def step(self, action: Action, run: Run, state: State, formals: int) -> None:
        standing = [item.formula for item in self.signature.standing]
        later = [run.current(formula, state, action.span) for formula in standing]
        guard = normal(conj(*standing, *state.assumptions, *later))
        updates = []
        for symbol in self.signature.symbols:
            if symbol in state.values:
                places, value = state.values[symbol]
                value = normal(value)
                if value is not symbol(*places):
                    updates.append(Update(symbol, places, value))
        parts = [guard, *(update.value for update in updates)]
        parameters = (*run.parameters[:formals], *_used_variables(run.parameters[formals:], parts))
        used = symbols_of(*parts)
        choices = tuple(choice for choice in run.choices if choice in used)
        self.transitions.append(Transition(action.name, parameters, choices, guard, tuple(updates), action.span))
        for number, obligation in enumerate(run.obligations, 1):
            self.oblige(action, run, obligation, number)

    def oblige(self, action: Action, run: Run, obligation: Obligation, number: int) -> None:
        """What an action asserts, as a safety property.

        It speaks of the state before the action.  If the path to the assertion depends on choices, which formulas
        cannot quantify, or on integers, over which no state can be evaluated, a step of its own raises a flag instead.
        """
        standing = [item.formula for item in self.signature.standing]
        path, formula = normal(conj(*standing, obligation.path)), normal(obligation.formula)
        claim = normal(implies(path, formula))
        if claim is TRUE:
            return
        name = self.name("assert", obligation.label or f"{action.name}_assert_{number}", None)
        choices = tuple(choice for choice in run.choices if choice in symbols_of(path, formula))
        parameters = _used_variables(run.parameters, [path, formula])
        if not choices and all(parameter.sort is not INT for parameter in parameters):
            variables = fresh_variables([Var(variable_name(p.name), p.sort) for p in parameters], ())
            closed = forall(variables, substitute(claim, dict(zip(parameters, variables, strict=True))))
            self.assertions.append(Named(name, normal(closed), obligation.span))
            return
        if self.failure is None:
            taken = {*self.signature.scope.symbols, *self.signature.reserved, *self.used, *self.labels}
            self.failure = Symbol(fresh_name("assertion_failed", taken.__contains__), (), BOOL, True)
        names = {*self.program.actions, *(transition.name for transition in self.transitions)}
        step = fresh_name(name, names.__contains__)
        guard = normal(conj(path, neg(formula)))
        raised = Update(self.failure, (), TRUE)
        self.transitions.append(Transition(step, tuple(parameters), choices, guard, (raised,), obligation.span))


def _used_variables(variables: list[Var], terms: list[Term]) -> list[Var]:
    free = frozenset[Var]().union(*(term.free for term in terms))
    return [variable for variable in variables if variable in free]


def _sorted_properties(properties: list[_Property]) -> tuple[list[Named], list[Named]]:
    """What is to be proved, and what is offered as a lemma."""
    chosen = [item for item in properties if item.kind == "safety"]
    if not chosen:
        chosen = [item for item in properties if item.label and _marks_safety(item.label)]
    if not chosen:
        chosen = properties
    return [item.named for item in chosen], [item.named for item in properties if item not in chosen]


def _marks_safety(label: str) -> bool:
    last = label.rpartition(".")[2]
    return last == SAFETY_LABEL or last.startswith("safety")
