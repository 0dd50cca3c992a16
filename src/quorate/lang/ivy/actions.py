"""What the code of an action does: symbolic execution from an arbitrary state.

Every symbol and local variable has a value over the state before, assignments replace it, and the branches of an `if`
are joined by conditionals.  Calls are inlined.  What the code leaves open (local variables, witnesses, `*`) becomes a
parameter, or a choice where it depends on variables.  What must be proved is collected as obligations.
"""

from __future__ import annotations

from itertools import chain
from typing import NoReturn

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import (
    Failed,
    Hole,
    Local,
    argument_count,
    measure,
    measure_replaced,
    references,
    resolve,
    subexpressions,
)
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import Action, Part
from quorate.lang.ivy.signature import Signature, is_variable, member, variable_name
from quorate.lang.ivy.states import Obligation, State, joined
from quorate.lang.reader import Ascription, Binder, Conditional, Expression, Operation, Quantifier, Reference, Shift
from quorate.logic.terms import (
    BOOL,
    TRUE,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    forall,
    implies,
    ite,
    neg,
)
from quorate.logic.transform import Lambda, fresh_name, fresh_variables, replace_symbols, substitute, symbols_of
from quorate.models.source import Span

MAX_SIZE = 50_000
MAX_DEPTH = 45
MAX_WORK = 3_000_000
MAX_STEPS = 5_000
MAX_CALLS = 30

Names = dict[str, Symbol]
"""The local variables in scope, as symbols of their own."""


class Run:
    """One execution.  `parameters` and `choices` grow as the code leaves things open."""

    def __init__(self, signature: Signature, sink: Sink, initialization: bool = False) -> None:
        self.signature = signature
        self.sink = sink
        self.initialization = initialization
        self.actions = signature.program.actions
        self.taken = {*signature.scope.symbols, *signature.reserved}
        self.parameters: list[Var] = []
        self.choices: list[Symbol] = []
        self.obligations: list[Obligation] = []
        self.variables: dict[Symbol, tuple[Var, ...]] = {}
        self.callers: list[str] = []
        self.entered: list[State | None] = []
        """The state before each action being executed, None where monitors change it first."""
        self.failed = False
        self.exhausted = False
        self.trusted = False
        self.steps = 0
        self.work = 0

    # -- names and values ------------------------------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        name = fresh_name(name.replace(".", "_"), self.taken.__contains__)
        self.taken.add(name)
        return name

    def parameter(self, name: str, sort: Sort) -> Var:
        self.parameters.append(Var(self.fresh(name), sort))
        return self.parameters[-1]

    def local(self, name: str, places: tuple[Var, ...], sort: Sort) -> Symbol:
        """A symbol for a local variable; no program can contain its name."""
        symbol = Symbol(f"{name}#{len(self.variables)}", tuple(place.sort for place in places), sort)
        self.variables[symbol] = places
        return symbol

    def places(self, symbol: Symbol) -> tuple[Var, ...]:
        return self.variables.get(symbol) or self.signature.variables.get(symbol, ())

    def value(self, symbol: Symbol, state: State) -> Lambda:
        found = state.values.get(symbol)
        places = self.places(symbol)
        return (places, symbol(*places)) if found is None else found

    def current(self, term: Term, state: State, span: Span) -> Term:
        """The term with everything in it replaced by its present value.  Raises `Failed` if that is too large.

        A defined symbol is opened first if what it is defined by has changed.
        """
        definitions, reads = self.signature.definitions, self.signature.reads
        while True:
            stale = {s for s in symbols_of(term) if s in definitions and not reads[s].isdisjoint(state.values)}
            if not stale:
                break
            term = self.replace(term, {symbol: definitions[symbol] for symbol in stale}, span)
        changed = {s: state.values[s] for s in symbols_of(term) if s in state.values}
        return self.check_size(self.replace(term, changed, span) if changed else term, span)

    def replace(self, term: Term, values: dict[Symbol, Lambda], span: Span) -> Term:
        known = self.signature.scope.measures
        size, depth = measure_replaced(term, {symbol: measure(value, known) for symbol, (_, value) in values.items()})
        if size > 10 * MAX_SIZE or depth > 4 * MAX_DEPTH:
            self.exhaust(span)
        return replace_symbols(term, values)

    def check_size(self, term: Term, span: Span) -> Term:
        size, depth = measure(term, self.signature.scope.measures)
        self.work += size
        if size > MAX_SIZE or depth > MAX_DEPTH or self.work > MAX_WORK:
            self.exhaust(span)
        return term

    def exhaust(self, span: Span) -> NoReturn:
        self.sink.error("Q0222", "the effect of the action up to here is too large", span)
        self.exhausted = True
        raise Failed

    # -- expressions -----------------------------------------------------------------------------------------------

    def evaluate(self, expression: Expression, sort: Sort, names: Names, state: State) -> Term:
        """The present value of an expression in which every variable is bound."""
        expression = self.hoist(expression, names, state)
        term = self.signature.elaborator(names).closed(expression, sort)
        return self.current(term, state, expression.span)

    def formula(self, expression: Expression, names: Names, state: State, where: str | None = None) -> Term:
        """A formula, universally closed, before its symbols are replaced by their present values."""
        expression = self.hoist(expression, names, state)
        elaborator = self.signature.elaborator(names)
        term = elaborator.formula(expression)
        for local in elaborator.closure.values() if where is not None else ():
            message = f"the free variable `{local.name}` in {where} is read as `forall {local.name}`"
            self.sink.warning("Q0221", message, local.span)
        return term

    def has_calls(self, expression: Expression, names: Names) -> bool:
        return any(self.as_call(reference, names) is not None for reference in references(expression))

    def as_call(self, reference: Reference, names: Names) -> Reference | None:
        """The reference as a call of an action, None if it is none; `x.a(y)` may call an action for values of x's sort."""
        name, symbols = reference.name, self.signature.scope.symbols
        if name in self.actions and name not in names:
            return reference
        owner, dot, last = name.rpartition(".")
        if not dot or name in symbols or name in names:
            return None
        symbol = names.get(owner) or symbols.get(owner)
        found = None if symbol is None else member(self.actions, symbol.sort, last)
        if symbol is None or found is None:
            return None
        arguments, count = reference.arguments or (), len(symbol.arguments)
        value = Reference(reference.span, owner, 0, arguments[:count] or None)
        return Reference(reference.span, found, 0, (value, *arguments[count:]))

    def hoist(self, expression: Expression, names: Names, state: State) -> Expression:
        """Perform the calls in an expression, from left to right, and put their results in their places."""
        if any(isinstance(item, Shift) for item in subexpressions(expression)):
            expression = self.remember(expression, names, state)
        if not self.has_calls(expression, names):
            return expression
        match expression:
            case Reference(span, name, _, arguments):
                call = self.as_call(expression, names)
                if call is not None:
                    results = self.call(call, names, state)
                    if len(results) != 1:
                        self.sink.error(
                            "Q0224", f"`{name}` has {len(results)} results, so it is not an expression", span
                        )
                        raise Failed
                    symbol = self.local("", (), results[0].sort)
                    state.values[symbol] = ((), results[0])
                    names[symbol.name] = symbol
                    return Reference(span, symbol.name)
                made = None if arguments is None else tuple(self.hoist(item, names, state) for item in arguments)
                return Reference(span, name, 0, made)
            case Operation(span, operator, operands):
                return Operation(span, operator, tuple(self.hoist(item, names, state) for item in operands))
            case Conditional(span, condition, then, otherwise):
                parts = [self.hoist(item, names, state) for item in (condition, then, otherwise)]
                return Conditional(span, *parts)
            case Ascription(span, body, sort):
                return Ascription(span, self.hoist(body, names, state), sort)
            case Quantifier(span, _, _, _):
                self.sink.error("Q0104", "calls under a quantifier are not supported", span)
                raise Failed
        return expression

    def remember(self, expression: Expression, names: Names, state: State) -> Expression:
        """The expression with local symbols that hold the values before the action in the place of what is `old`."""
        match expression:
            case Shift(span, _, body):
                before = self.entered[-1] if self.entered else None
                if before is None or self.has_calls(body, names):
                    self.sink.error("Q0104", "`old` is not supported here", span)
                    raise Failed
                held: dict[str, str] = {}
                for reference in references(body):
                    copy = self.copied(reference.name, before, names, state, span)
                    if copy is not None:
                        held[reference.name] = copy
                return _with_names(body, held)
            case Reference(span, name, _, tuple(arguments)):
                return Reference(span, name, 0, tuple(self.remember(item, names, state) for item in arguments))
            case Operation(span, operator, operands):
                return Operation(span, operator, tuple(self.remember(item, names, state) for item in operands))
            case Conditional(span, condition, then, otherwise):
                return Conditional(span, *(self.remember(item, names, state) for item in (condition, then, otherwise)))
            case Ascription(span, body, sort):
                return Ascription(span, self.remember(body, names, state), sort)
            case Quantifier(span, universal, binders, body):
                return Quantifier(span, universal, binders, self.remember(body, names, state))
        return expression

    def copied(self, name: str, before: State, names: Names, state: State, span: Span) -> str | None:
        """The name of a local symbol with an earlier value, perhaps with fields after it; None for variables."""
        head, rest = name, ""
        while head not in names and head not in self.signature.scope.symbols and "." in head:
            head, _, last = head.rpartition(".")
            rest = f".{last}{rest}"
        symbol = names.get(head) or self.signature.scope.symbols.get(head)
        if symbol is None or (symbol in self.variables and symbol not in before.values):
            return None
        places = self.places(symbol)
        copy = self.local("", places, symbol.sort)
        state.values[copy] = (places, self.current(symbol(*places), before, span))
        names[copy.name] = copy
        return copy.name + rest

    def call(self, reference: Reference, names: Names, state: State) -> list[Term]:
        """Inline a call; the present values of the results come back.

        Calls among the arguments are performed first, as Ivy does, so that other arguments see what they changed.
        """
        action, span = self.actions[reference.name], reference.span
        arguments = reference.arguments or ()
        if action.name in self.callers:
            self.sink.error("Q0223", f"`{action.name}` calls itself", span)
            raise Failed
        if len(self.callers) >= MAX_CALLS:
            self.sink.error("Q0222", f"calls are nested more than {MAX_CALLS} levels deep", span)
            raise Failed
        if len(arguments) != len(action.parameters):
            message = f"`{action.name}` takes {argument_count(len(action.parameters))}, {len(arguments)} given"
            self.sink.error("Q0202", message, span)
            raise Failed
        settled = [self.hoist(argument, names, state) for argument in arguments]
        values = []
        for parameter, argument in zip(action.parameters, settled, strict=True):
            sort = self.signature.sort(parameter.sort, f"parameter `{parameter.name}`", parameter.span)
            values.append(self.evaluate(argument, sort, names, state))
        return self.enter(action, values, state)

    def enter(self, action: Action, arguments: list[Term], state: State) -> list[Term]:
        """Run an action's code on values for its parameters."""
        inputs = []
        for parameter, term in zip(action.parameters, arguments, strict=True):
            inputs.append(self.local(parameter.name, (), term.sort))
            state.values[inputs[-1]] = ((), term)
        same = dict(zip((parameter.name for parameter in action.parameters), inputs, strict=True))
        outputs = [same.get(result.name) or self.unknown(result, state) for result in action.results]
        self.callers.append(action.name)
        settled = all(isinstance(item, syntax.Condition) for part in action.before for item in part.body.statements)
        self.entered.append(State(dict(state.values)) if settled else None)
        try:
            for part in action.parts:
                open_ended = not action.body and any(part is item for item in action.after)
                self.part(part, inputs, outputs, state, part.trusted or open_ended)
            self.check_size(conj(*state.assumptions), action.span)
        finally:
            self.callers.pop()
            self.entered.pop()
        return [self.value(symbol, state)[1] for symbol in outputs]

    def unknown(self, binder: Binder, state: State) -> Symbol:
        """A local variable that may have any value."""
        sort = self.signature.sort(binder.sort, f"`{binder.name}`", binder.span)
        symbol = self.local(binder.name, (), sort)
        state.values[symbol] = ((), self.parameter(binder.name, sort))
        return symbol

    def part(self, part: Part, inputs: list[Symbol], outputs: list[Symbol], state: State, trusted: bool) -> None:
        """Run a piece of code; what is trusted must say nothing but what the results are like."""
        names = dict(zip(part.parameters + part.results, chain(inputs, outputs), strict=True))
        specification = all(isinstance(statement, syntax.Condition) for statement in part.body.statements)
        saved, self.trusted = self.trusted, trusted and specification
        self.block(part.body, names, state)
        self.trusted = saved

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, block: syntax.Block, names: Names, state: State) -> None:
        names = dict(names)
        for statement in block.statements:
            self.step(statement, names, state)

    def step(self, statement: syntax.Statement, names: Names, state: State) -> None:
        """Execute one statement; after an error go on with the next, so that all errors are found."""
        if self.exhausted:
            return
        self.steps += 1
        try:
            if self.steps > MAX_STEPS:
                self.exhaust(statement.span)
            self.statement(statement, names, state)
        except Failed:
            self.failed = True

    def statement(self, statement: syntax.Statement, names: Names, state: State) -> None:
        match statement:
            case syntax.Block():
                self.block(statement, names, state)
            case syntax.Condition():
                self.condition(statement, names, state)
            case syntax.Assignment(_, (target,), value):
                self.assign(target, value, names, state)
            case syntax.Assignment(span, targets, value):
                self.assign_results(targets, value, names, state, span)
            case syntax.Invocation(span, reference):
                call = self.as_call(reference, names)
                if call is None:
                    self.sink.error("Q0224", f"there is no action `{reference.name}`", span)
                    raise Failed
                self.call(call, names, state)
            case syntax.IfStatement():
                self.if_statement(statement, names, state)
            case syntax.IfSome():
                self.if_some(statement, names, state)
            case syntax.Local():
                self.introduce(statement, names, state)
            case _:
                raise TypeError(f"unknown statement {statement!r}")

    def condition(self, statement: syntax.Condition, names: Names, state: State) -> None:
        term = self.formula(statement.formula, names, state)
        believed = self.trusted and not any(symbol.mutable for symbol in symbols_of(term))
        self.settle(statement, self.current(term, state, statement.span), state, believed)

    def settle(self, statement: syntax.Condition, formula: Term, state: State, believed: bool) -> None:
        """A condition is assumed; unless the text says so or the environment sees to it, it has to be proved first.

        A trusted isolate, or an action without a body, is believed about the results it leaves open, never about the
        state of the protocol.
        """
        kind = statement.kind
        if self.initialization and kind != "assume" and not (kind == "require" and not self.callers):
            fix = "say `assume`, or state an invariant"
            self.sink.error("Q0104", f"`{kind}` in an initialization is not supported here", statement.span, fix=fix)
            raise Failed
        if believed and kind in ("ensure", "assert"):
            name = self.callers[-1]
            reason = "belongs to a trusted isolate" if self.actions[name].body else "has no implementation"
            message = f"this is not proved: `{name}` {reason}"
            self.sink.warning("Q0226", message, statement.span)
        elif kind in ("ensure", "assert") or (kind == "require" and len(self.callers) > 1):
            path = conj(*state.path, *state.assumptions)
            self.obligations.append(Obligation(statement.label, path, formula, statement.span))
        state.assumptions.append(formula)

    def assign(self, target: Reference, value: Expression | None, names: Names, state: State) -> None:
        target = self.opened(target, names)
        symbol = self.assignable(target, names)
        if symbol.name in self.signature.program.fields and symbol not in self.variables:
            self.assign_field(target, symbol, value, names, state)
            return
        if not symbol.mutable and symbol not in self.variables:
            fix = f"write `{symbol.name}(...) := ...`"
            self.sink.error("Q0104", f"assigning `{symbol.name}` after a dot is not supported", target.span, fix=fix)
            raise Failed
        arguments = [self.hoist(argument, names, state) for argument in target.arguments or ()]
        value = None if value is None else self.hoist(value, names, state)
        if symbol in state.values and symbol in self.signature.constrained:
            message = f"assigning `{symbol.name}`, which an axiom speaks of, twice on one path is not supported"
            self.sink.error("Q0104", message, target.span, fix="state an invariant instead of the axiom")
            raise Failed
        places = self.places(symbol)
        bound = self.bound_places(arguments, places)
        elaborator = self.signature.elaborator(names)
        elaborator.locals = [Local(name, place.sort, target.span) for name, place in bound.items()]
        renaming = {Var(name, place.sort): place for name, place in bound.items()}

        def present(expression: Expression, sort: Sort) -> Term:
            return substitute(self.current(elaborator.closed(expression, sort), state, expression.span), renaming)

        conditions = [
            equal(place, present(argument, place.sort)) for place, argument in zip(places, arguments, strict=True)
        ]
        new = (
            self.anything(target.name, tuple(bound.values()), symbol.sort)
            if value is None
            else present(value, symbol.sort)
        )
        self.store(symbol, ite(conj(*conditions), new, self.value(symbol, state)[1]), state, target.span)

    def opened(self, target: Reference, names: Names) -> Reference:
        """A target in which `x.f` is spelled `f(x)`."""
        if target.name in names or "." not in target.name or target.name in self.signature.scope.symbols:
            return target
        found = self.signature.elaborator(names).fields(target)
        return found if isinstance(found, Reference) else target

    def assign_field(
        self, target: Reference, field: Symbol, value: Expression | None, names: Names, state: State
    ) -> None:
        """`f(x) := e`: x becomes a struct that differs from the present one in the field f only."""
        span = target.span
        owner, *others = target.arguments or ()
        if not isinstance(owner, Reference) or any(is_variable(item.name) for item in references(owner)):
            self.sink.error("Q0104", "assigning fields of several structs at once is not supported", span)
            raise Failed
        others = [self.hoist(argument, names, state) for argument in others]
        value = None if value is None else self.hoist(value, names, state)
        places = self.places(field)[1:]
        bound = self.bound_places(others, places)
        elaborator = self.signature.elaborator(names)
        elaborator.locals = [Local(name, place.sort, span) for name, place in bound.items()]
        renaming = {Var(name, place.sort): place for name, place in bound.items()}

        def present(expression: Expression, sort: Sort) -> Term:
            return substitute(self.current(elaborator.closed(expression, sort), state, expression.span), renaming)

        struct = field.arguments[0]
        old = self.evaluate(owner, struct, names, state)
        new = self.parameter(f"new_{owner.name}", struct)
        chosen = conj(*(equal(place, present(item, place.sort)) for place, item in zip(places, others, strict=True)))
        for other in self.signature.fields[struct]:
            around = self.places(other)[1:]
            kept = equal(other(new, *around), other(old, *around))
            if other is not field:
                fact = kept
            elif value is None:
                fact = disj(chosen, kept)
            else:
                fact = ite(chosen, equal(field(new, *places), present(value, field.sort)), kept)
            state.assumptions.append(self.check_size(forall(around, fact), span))
        made = self.local("", (), struct)
        state.values[made] = ((), new)
        self.assign(owner, Reference(span, made.name), names | {made.name: made}, state)

    def store(self, symbol: Symbol, value: Term, state: State, span: Span) -> None:
        state.values[symbol] = (self.places(symbol), self.check_size(value, span))

    def assignable(self, target: Reference, names: Names) -> Symbol:
        name, span = target.name, target.span
        symbol = names.get(name) or self.signature.scope.symbols.get(name)
        if symbol is None:
            if name in self.actions or is_variable(name):
                self.sink.error("Q0214", f"`{name}` cannot be assigned", span)
            else:
                self.sink.error("Q0201", f"unknown name `{name}`", span)
            raise Failed
        if name not in names and (symbol in self.signature.definitions or symbol not in self.signature.variables):
            what = "defined" if symbol in self.signature.definitions else "an element of a sort"
            self.sink.error("Q0214", f"`{name}` is {what}, so it cannot be assigned", span)
            raise Failed
        if len(target.arguments or ()) != len(symbol.arguments):
            message = f"`{name}` takes {argument_count(len(symbol.arguments))}, {len(target.arguments or ())} given"
            self.sink.error("Q0202", message, span)
            raise Failed
        return symbol

    def bound_places(self, arguments: list[Expression], places: tuple[Var, ...]) -> dict[str, Var]:
        """The variables on the left side of an assignment and the places they stand for."""
        bound: dict[str, Var] = {}
        for place, argument in zip(places, arguments, strict=True):
            body = argument.body if isinstance(argument, Ascription) else argument
            if isinstance(body, Reference) and is_variable(body.name):
                if body.name in bound:
                    message = f"the variable `{body.name}` twice on the left side of an assignment is not supported"
                    self.sink.error("Q0104", message, body.span)
                    raise Failed
                bound[body.name] = place
        return bound

    def anything(self, name: str, places: tuple[Var, ...], sort: Sort) -> Term:
        """A value that the code leaves open, one for each value of the places."""
        if not places:
            return self.parameter(f"new_{name}", sort)
        choice = Symbol(self.fresh(f"new_{name}"), [place.sort for place in places], sort)
        self.choices.append(choice)
        return choice(*places)

    def assign_results(
        self, targets: tuple[Reference, ...], value: Expression | None, names: Names, state: State, span: Span
    ) -> None:
        if not isinstance(value, Reference) or value.name not in self.actions or value.name in names:
            self.sink.error("Q0224", "several targets need a call of an action with as many results", span)
            raise Failed
        if any(target.arguments for target in targets):
            self.sink.error("Q0104", "several targets with arguments are not supported", span)
            raise Failed
        results = self.call(value, names, state)
        if len(results) != len(targets):
            self.sink.error("Q0202", f"`{value.name}` has {len(results)} results, {len(targets)} targets given", span)
            raise Failed
        inner = dict(names)
        references = []
        for result in results:
            symbol = self.local("", (), result.sort)
            state.values[symbol] = ((), result)
            inner[symbol.name] = symbol
            references.append(Reference(span, symbol.name))
        for target, reference in zip(targets, references, strict=True):
            self.assign(target, reference, inner, state)

    def if_statement(self, statement: syntax.IfStatement, names: Names, state: State) -> None:
        if statement.condition is None:
            condition: Term = self.parameter("chosen", BOOL)
        else:
            term = self.formula(statement.condition, names, state, "a condition")
            condition = self.current(term, state, statement.condition.span)
        self.branch(condition, statement.then, statement.otherwise, names, names, state)

    def if_some(self, statement: syntax.IfSome, names: Names, state: State) -> None:
        """The condition holds for the witness, or for nothing at all; which of the two decides the branch."""
        self.signature.check_distinct(statement.binders)
        span = statement.condition.span
        witnesses = [self.unknown(binder, state) for binder in statement.binders]
        inner = names | dict(zip((binder.name for binder in statement.binders), witnesses, strict=True))
        if self.has_calls(statement.condition, inner):
            self.sink.error("Q0104", "calls in the condition of `if some` are not supported", span)
            raise Failed
        term = self.signature.elaborator(inner).closed(statement.condition, BOOL)
        holds = self.current(term, state, span)
        named = [
            Var(variable_name(binder.name), witness.sort)
            for binder, witness in zip(statement.binders, witnesses, strict=True)
        ]
        variables = fresh_variables(named, ())
        general = State(dict(state.values))
        general.values.update((witness, ((), v)) for witness, v in zip(witnesses, variables, strict=True))
        nothing = forall(variables, neg(self.current(term, general, span)))
        state.assumptions.append(self.check_size(disj(holds, nothing), span))
        self.branch(holds, statement.then, statement.otherwise, inner, names, state)

    def branch(
        self,
        condition: Term,
        then: syntax.Block,
        otherwise: syntax.Block | None,
        inner: Names,
        names: Names,
        state: State,
    ) -> None:
        first, second = state.branch(condition), state.branch(neg(condition))
        self.block(then, inner, first)
        if otherwise is not None:
            self.block(otherwise, names, second)
        for symbol in dict.fromkeys(chain(first.values, second.values)):
            if symbol in self.variables and symbol not in state.values:
                continue
            one, other = self.value(symbol, first)[1], self.value(symbol, second)[1]
            self.store(symbol, one if one is other else joined(condition, one, other), state, then.span)
        for guard, side in ((condition, first), (neg(condition), second)):
            assumed = implies(guard, conj(*side.assumptions))
            if assumed is not TRUE:
                state.assumptions.append(self.check_size(assumed, then.span))

    def introduce(self, statement: syntax.Local, names: Names, state: State) -> None:
        name, span, value = statement.name, statement.span, statement.value
        if statement.arguments:
            self.introduce_function(statement, names, state)
            return
        if value is None:
            names[name] = self.unknown(Binder(name, statement.sort, span), state)
            return
        value = self.hoist(value, names, state)
        if statement.sort is not None:
            sort = self.signature.sort(statement.sort, f"`{name}`", span)
        else:
            elaborator = self.signature.elaborator(names)
            kind = resolve(elaborator.infer(value))
            if isinstance(kind, Hole):
                if not elaborator.failed:
                    self.sink.error(
                        "Q0204", f"cannot tell the sort of `{name}`", span, fix=f"write `var {name} : SORT := ...`"
                    )
                raise Failed
            sort = kind
        term = self.evaluate(value, sort, names, state)
        names[name] = self.local(name, (), sort)
        state.values[names[name]] = ((), term)

    def introduce_function(self, statement: syntax.Local, names: Names, state: State) -> None:
        """`var f(X:s) : t`: a local function that may be anything until it is assigned."""
        name, span = statement.name, statement.span
        if statement.value is not None:
            self.sink.error(
                "Q0104", "initial values of local functions are not supported", span, fix="assign it afterwards"
            )
            raise Failed
        sorts = [self.signature.sort(b.sort, f"argument `{b.name}`", b.span) for b in statement.arguments]
        named = [Var(variable_name(b.name), sort) for b, sort in zip(statement.arguments, sorts, strict=True)]
        places = tuple(fresh_variables(named, ()))
        sort = self.signature.sort(statement.sort, f"`{name}`", span)
        symbol = self.local(name, places, sort)
        choice = Symbol(self.fresh(name), sorts, sort)
        self.choices.append(choice)
        names[name] = symbol
        state.values[symbol] = (places, choice(*places))


def _with_names(expression: Expression, names: dict[str, str]) -> Expression:
    """The expression with some names replaced, all of it in one state."""
    match expression:
        case Reference(span, name, _, arguments):
            made = None if arguments is None else tuple(_with_names(item, names) for item in arguments)
            return Reference(span, names.get(name, name), 0, made)
        case Operation(span, operator, operands):
            return Operation(span, operator, tuple(_with_names(item, names) for item in operands))
        case Conditional(span, condition, then, otherwise):
            return Conditional(span, *(_with_names(item, names) for item in (condition, then, otherwise)))
        case Ascription(span, body, sort):
            return Ascription(span, _with_names(body, names), sort)
        case Quantifier(span, universal, binders, body):
            return Quantifier(span, universal, binders, _with_names(body, names))
        case Shift(_, _, body):
            return _with_names(body, names)
    return expression
