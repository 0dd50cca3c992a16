"""Names made absolute inside declarations, expressions and statements, and macros expanded.

Local variables keep their names: they hide whatever is declared outside.  Every node is rebuilt, so that a module body
that is used twice gives two separate trees.  Read `modules` for how names are looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Failed, argument_count, references
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import MAX_NESTING, Action, Expander, Index, Part, Program, Scope
from quorate.lang.ivy.statements import OPERATOR
from quorate.lang.reader import (
    Ascription,
    Binder,
    Conditional,
    Expression,
    Operation,
    Quantifier,
    Reference,
    Shift,
)
from quorate.logic.transform import fresh_name
from quorate.models.source import Span

MAX_EXPANSIONS = 5_000

Names = frozenset[str]
NONE: Names = frozenset()


class Renamer:
    """Rewrites the declarations that an `Expander` has laid out into a flat program."""

    def __init__(self, expander: Expander, program: Program, sink: Sink) -> None:
        self.expander = expander
        self.program = program
        self.sink = sink
        self.expansions = 0
        self.outer: Names = NONE
        """Local variables of the action that the macro being expanded is used in."""
        self.index_terms: Mapping[str, Expression] = {}
        """What the indices of the objects around are in the present declaration, if not what they are called."""
        self.targets: list[tuple[Reference, Names]] = []
        self.indexed_code: list[tuple[syntax.Block, tuple[Expression, ...]]] = []

    def program_items(self) -> None:
        """Rewrite everything; monitors come last, since they use the names of the actions they belong to."""
        later: list[tuple[syntax.Monitor | syntax.Mixin | syntax.Boundary, Scope, bool]] = []
        for declaration, scope, trusted in self.expander.items:
            if isinstance(declaration, syntax.Monitor | syntax.Mixin | syntax.Boundary):
                later.append((declaration, scope, trusted))
                continue
            try:
                self.item(declaration, scope, trusted)
            except Failed:
                continue
        for monitor, scope, trusted in later:
            try:
                self.attach(monitor, scope, trusted)
            except Failed:
                continue
        for action in self.program.actions.values():
            self.check_order(action)
        self.program.assigned.update(name for name in map(self.assigned_name, self.targets) if name is not None)
        for block, indices in self.indexed_code:
            self.check_independence(block, indices)

    def item(self, declaration: syntax.Declaration, scope: Scope, trusted: bool) -> None:
        program = self.program
        match declaration:
            case syntax.TypeDeclaration(span, name, elements, extent):
                if scope.indices:
                    self.sink.error("Q0104", "types in parameterized objects are not supported", span)
                renamed = self.declared_name(name, scope, span)
                program.types.append(
                    syntax.TypeDeclaration(span, renamed, self.elements(elements, renamed, scope, span), extent)
                )
            case syntax.Interpretation(span, name, target):
                sort = self.sort(name, scope, span)
                if not isinstance(target, str):
                    target = self.elements(target, sort, scope, span)
                elif self.is_parameter(target, scope):
                    target = self.name(target, scope, span)
                program.interpretations.append(syntax.Interpretation(span, sort, target))
            case syntax.SymbolDeclaration(span, name, arguments, sort_name, value):
                renamed = self.declared_name(name, scope, span)
                self.expander.declare(renamed, span)
                sort_name = self.expander.sort(sort_name, scope, span)
                if value is not None:
                    self.check_parameters(arguments, scope)
                with self.variables(scope, declaration) as indices:
                    binders = (*indices, *self.binders(arguments, scope))
                    program.symbols.append(syntax.SymbolDeclaration(span, renamed, binders, sort_name))
                    if value is not None:
                        body = self.expression(value, scope, _names(arguments))
                        program.definitions.append(syntax.DefinitionDeclaration(span, renamed, binders, body, False))
            case syntax.FieldDeclaration(span, name, arguments, sort):
                renamed = self.declared_name(name, scope, span)
                self.expander.declare(renamed, span)
                sort = self.sort(sort, scope, span)
                program.symbols.append(syntax.SymbolDeclaration(span, renamed, self.binders(arguments, scope), sort))
                program.fields.add(renamed)
            case syntax.DefinitionDeclaration(span, name, arguments, value, declares):
                renamed = self.declared_name(name, scope, span) if declares else self.name(name, scope, span)
                if declares:
                    self.expander.declare(renamed, span)
                self.check_parameters(arguments, scope)
                with self.variables(scope, declaration) as indices:
                    body = self.expression(value, scope, _names(arguments))
                    binders = (*indices, *self.binders(arguments, scope))
                    program.definitions.append(syntax.DefinitionDeclaration(span, renamed, binders, body, declares))
            case syntax.FormulaDeclaration(span, kind, label, formula):
                label = scope.prefix + label if label is not None else None
                kind = "trusted" if trusted and kind == "property" else kind
                with self.variables(scope, declaration):
                    body = self.expression(formula, scope, NONE)
                program.formulas.append(syntax.FormulaDeclaration(span, kind, label, body))
            case syntax.ActionDeclaration(span, name, parameters, results, code):
                renamed = self.declared_name(name, scope, span)
                self.expander.declare(renamed, span)
                given = self.binders(parameters, scope)
                outputs = self.binders(results, scope)
                action = Action(renamed, (*self.formals(scope, given + outputs), *given), outputs, span)
                program.actions.setdefault(renamed, action)
                if code is not None:
                    action.body.append(self.part(action, None, None, code, scope, trusted))
            case syntax.Initialization(_, code):
                with self.variables(scope, code) as indices:
                    program.initializations.append(self.block(code, scope, NONE))
                    if indices:
                        self.indexed_code.append((program.initializations[-1], tuple(self.index_terms.values())))
            case _:
                raise TypeError(f"unknown declaration {declaration!r}")

    def elements(
        self, elements: tuple[str, ...] | syntax.Range, sort: str, scope: Scope, span: Span
    ) -> tuple[str, ...] | syntax.Range:
        if isinstance(elements, syntax.Range):
            return elements
        renamed = tuple(f"{sort}.{name}" if name.isdigit() else scope.prefix + name for name in elements)
        for name in renamed:
            self.expander.declare(name, span)
        return renamed

    def check_parameters(self, parameters: tuple[Binder, ...], scope: Scope) -> None:
        """A definition says what a symbol is for all arguments, so its parameters cannot be symbols themselves."""
        for binder in parameters:
            name = binder.name
            taken = any(name in place.declared or name in place.parameters for place in scope.chain())
            if taken and not name[0].isupper():
                fix = f"write a variable, as in `{name[0].upper()}{name[1:]}`"
                message = f"`{name}` is declared already, so it cannot be a parameter of a definition"
                self.sink.error("Q0205", message, binder.span, fix=fix)
                raise Failed

    # -- indices ---------------------------------------------------------------------------------------------------

    @contextmanager
    def variables(self, scope: Scope, declaration: syntax.Declaration | syntax.Block) -> Iterator[tuple[Binder, ...]]:
        """Inside, the indices of the objects around are logical variables: what is said holds for each of them."""
        taken = _strings(declaration) if scope.indices else set()
        terms: dict[str, Expression] = {}
        binders: list[Binder] = []
        for index in scope.indices:
            name, span = index.binder.name, index.binder.span
            name = fresh_name(name[0].upper() + name[1:], taken.__contains__)
            taken.add(name)
            sort = self.index_sort(index)
            variable = Reference(span, name)
            terms[index.name] = variable if sort is None else Ascription(span, variable, sort)
            binders.append(Binder(name, sort, span))
        saved, self.index_terms = self.index_terms, terms
        try:
            yield tuple(binders)
        finally:
            self.index_terms = saved

    def formals(self, scope: Scope, others: tuple[Binder, ...]) -> tuple[Binder, ...]:
        """The indices as the first parameters of an action."""
        taken = {binder.name for binder in others}
        found: list[Binder] = []
        for index in scope.indices:
            name = index.binder.name
            name = fresh_name(name[0].lower() + name[1:], taken.__contains__)
            taken.add(name)
            found.append(Binder(name, self.index_sort(index), index.binder.span))
        return tuple(found)

    def index_sort(self, index: Index) -> str | None:
        return self.expander.sort(index.binder.sort, index.scope, index.binder.span)

    def check_independence(self, block: syntax.Block, indices: tuple[Expression, ...]) -> None:
        """Code that initializes one object for each index runs in any order, so each must keep to its own state."""
        for statement in block.statements:
            if isinstance(statement, syntax.Block):
                self.check_independence(statement, indices)
                continue
            expressions: list[Expression] = []
            match statement:
                case syntax.Assignment(_, targets, value):
                    expressions = [*targets, *([] if value is None else [value])]
                case syntax.Condition(_, _, _, formula):
                    expressions = [formula]
                case _:
                    message = "only assignments and assumptions are supported in the initialization of several objects"
                    self.sink.error("Q0104", message, statement.span)
            for reference in references(*expressions):
                own = (reference.arguments or ())[: len(indices)] == indices
                if reference.name in self.program.actions or (reference.name in self.program.assigned and not own):
                    message = f"`{reference.name}` in the initialization of several objects is not supported"
                    self.sink.error("Q0104", message, reference.span)

    # -- actions ---------------------------------------------------------------------------------------------------

    def attach(self, declaration: syntax.Monitor | syntax.Mixin | syntax.Boundary, scope: Scope, trusted: bool) -> None:
        """Give an action its monitors, its implementation, or its place at the boundary of the program."""
        name = self.name(declaration.name, scope, declaration.span)
        action = self.program.actions.get(name)
        if action is None:
            self.sink.error("Q0224", f"there is no action `{declaration.name}`", declaration.span)
            return
        if isinstance(declaration, syntax.Boundary):
            if declaration.kind == "import":
                self.program.imports.add(name)
            elif name not in self.program.exports:
                self.program.exports.append(name)
            return
        if isinstance(declaration, syntax.Mixin):
            self.mix(declaration, action, scope)
            return
        if declaration.kind == "implement" and action.body:
            self.sink.error("Q0205", f"the action `{name}` already has a body", declaration.span)
            return
        count = len(scope.indices)
        if [binder.sort for binder in action.parameters[:count]] != [self.index_sort(index) for index in scope.indices]:
            message = f"the first parameters of `{name}` do not match the parameters of the object"
            self.sink.error("Q0104", message, declaration.span)
            return
        inputs = action.parameters[count:]
        for given, wanted in ((declaration.parameters, inputs), (declaration.results, action.results)):
            if given is not None and len(given) > len(wanted):
                message = f"`{name}` has {len(wanted)} of these, {len(given)} given"
                self.sink.error("Q0202", message, declaration.span)
                return
        part = self.part(action, declaration.parameters, declaration.results, declaration.body, scope, trusted)
        {"before": action.before, "after": action.after, "implement": action.body}[declaration.kind].append(part)

    def mix(self, declaration: syntax.Mixin, action: Action, scope: Scope) -> None:
        """Make the code of one action run before or after another; it is no step of its own then."""
        mixer = self.program.actions.get(self.name(declaration.mixer, scope, declaration.span))
        if mixer is None or len(mixer.parts) != 1 or not mixer.body:
            message = f"`{declaration.mixer}` is not an action with a body and nothing else"
            self.sink.error("Q0224", message, declaration.span)
            return
        if len(mixer.parameters) != len(action.parameters) or len(mixer.results) != len(action.results):
            message = f"`{declaration.mixer}` and `{declaration.name}` differ in their parameters"
            self.sink.error("Q0202", message, declaration.span)
            return
        self.program.imports.add(mixer.name)
        (code,) = mixer.body
        if declaration.kind == "before":
            action.before.append(replace(code, body=syntax.required(code.body)))
        else:
            action.after.append(code)

    def part(
        self,
        action: Action,
        parameters: tuple[Binder, ...] | None,
        results: tuple[Binder, ...] | None,
        body: syntax.Block,
        scope: Scope,
        trusted: bool,
    ) -> Part:
        """The code, with the names it gives to parameters and results; those it does not name keep theirs."""
        own = tuple(index.name for index in scope.indices)
        given, named = parameters or (), results or ()
        inputs = own + tuple(binder.name for binder in (*given, *action.parameters[len(own) + len(given) :]))
        outputs = tuple(binder.name for binder in (*named, *action.results[len(named) :]))
        return Part(inputs, outputs, self.block(body, scope, frozenset(inputs + outputs)), trusted)

    def check_order(self, action: Action) -> None:
        """Ivy leaves open in which order several monitors run, so they must not be able to tell."""
        for kind, parts in (("before", action.before), ("after", action.after)):
            if len(parts) > 1 and not all(_only_requires(part.body) for part in parts):
                message = f"several `{kind}` monitors of `{action.name}` that depend on their order are not supported"
                self.sink.error("Q0104", message, parts[1].body.span)

    # -- names -----------------------------------------------------------------------------------------------------

    def declared_name(self, name: str, scope: Scope, span: Span) -> str:
        if name in scope.parameters or name == "this":
            return self.name(name, scope, span)
        return scope.prefix + name

    def name(self, name: str, scope: Scope, span: Span) -> str:
        found = self.expander.resolve(name, scope)
        if isinstance(found, str):
            return found
        self.sink.error("Q0101", f"`{name}` stands for an expression here, but a name is needed", span)
        raise Failed

    def sort(self, name: str, scope: Scope, span: Span) -> str:
        found = self.expander.sort(name, scope, span)
        assert found is not None
        return found

    def binders(self, binders: tuple[Binder, ...], scope: Scope) -> tuple[Binder, ...]:
        return tuple(replace(binder, sort=self.expander.sort(binder.sort, scope, binder.span)) for binder in binders)

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, expression: Expression, scope: Scope, locals: Names) -> Expression:
        match expression:
            case Reference():
                return self.reference(expression, scope, locals)
            case Operation(span, operator, operands):
                return Operation(span, operator, self.expressions(operands, scope, locals))
            case Quantifier(span, universal, binders, body):
                return Quantifier(span, universal, self.binders(binders, scope), self.expression(body, scope, locals))
            case Conditional(span, condition, then, otherwise):
                return Conditional(span, *self.expressions((condition, then, otherwise), scope, locals))
            case Ascription(span, body, sort):
                return Ascription(span, self.expression(body, scope, locals), self.sort(sort, scope, span))
            case Shift(span, by, body):
                return Shift(span, by, self.expression(body, scope, locals))
        return replace(expression)

    def expressions(self, expressions: tuple[Expression, ...], scope: Scope, locals: Names) -> tuple[Expression, ...]:
        return tuple(self.expression(item, scope, locals) for item in expressions)

    def reference(self, reference: Reference, scope: Scope, locals: Names) -> Expression:
        name, span = reference.name, reference.span
        arguments = None if reference.arguments is None else self.expressions(reference.arguments, scope, locals)
        head, dot, _ = name.partition(".")
        if not dot and (head in locals or head[0].isupper()):
            return Reference(span, name, 0, arguments)
        if dot and (head in locals or head[0].isupper()):
            return Reference(span, name, 0, arguments)
        found, indices = self.expander.locate(name, scope)
        if not isinstance(found, str):
            if arguments is not None or dot:
                self.sink.error("Q0101", f"`{head}` stands for an expression here, but a name is needed", span)
                raise Failed
            actual, where = found
            if where is not None:
                return self.expression(actual, where, NONE)
            self.check_capture(actual, locals, span)
            return self.expression(actual, self.expander.root, self.outer)
        if found.startswith(OPERATOR) and arguments is not None:
            return Operation(span, found.removeprefix(OPERATOR), arguments)
        if found in self.outer and self.is_parameter(head, scope):
            self.check_capture(Reference(span, found), locals, span)
        if indices:
            own = tuple(self.index_term(index.name, span) for index in indices)
            arguments = own + (arguments or ())
        return self.index_term(found, span) if arguments is None else Reference(span, found, 0, arguments)

    def index_term(self, name: str, span: Span) -> Expression:
        """A reference, or what stands for it if it is to an index; a member may follow its name."""
        head, dot, rest = name.partition(".")
        term = self.index_terms.get(head)
        if term is None:
            return Reference(span, name)
        if not dot:
            return term
        variable = term.body if isinstance(term, Ascription) else term
        assert isinstance(variable, Reference)
        return Reference(span, f"{variable.name}.{rest}")

    def is_parameter(self, name: str, scope: Scope) -> bool:
        return any(name in place.parameters for place in scope.chain())

    def check_capture(self, actual: Expression, locals: Names, span: Span) -> None:
        """The argument of a macro must not mention a variable that the macro hides."""
        if not mentioned(actual).isdisjoint(locals):
            self.sink.error("Q0104", "a macro whose local variables hide its arguments is not supported", span)
            raise Failed

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, block: syntax.Block, scope: Scope, locals: Names) -> syntax.Block:
        statements: list[syntax.Statement] = []
        for statement in block.statements:
            try:
                statements.append(self.statement(statement, scope, locals))
            except Failed:
                continue
            if isinstance(statement, syntax.Local):
                locals = locals | {statement.name}
        return syntax.Block(block.span, tuple(statements))

    def optional(self, block: syntax.Block | None, scope: Scope, locals: Names) -> syntax.Block | None:
        return None if block is None else self.block(block, scope, locals)

    def statement(self, statement: syntax.Statement, scope: Scope, locals: Names) -> syntax.Statement:
        match statement:
            case syntax.Condition(span, kind, label, formula):
                return syntax.Condition(span, kind, label, self.expression(formula, scope, locals))
            case syntax.Assignment(span, targets, value):
                made = tuple(self.target(target, scope, locals) for target in targets)
                return syntax.Assignment(span, made, None if value is None else self.expression(value, scope, locals))
            case syntax.Invocation(span, call):
                return syntax.Invocation(span, self.called(call, scope, locals))
            case syntax.IfStatement(span, condition, then, otherwise):
                test = None if condition is None else self.expression(condition, scope, locals)
                first, second = self.block(then, scope, locals), self.optional(otherwise, scope, locals)
                return syntax.IfStatement(span, test, first, second)
            case syntax.IfSome(span, binders, condition, then, otherwise):
                inner = locals | {binder.name for binder in binders}
                test = self.expression(condition, scope, inner)
                first, second = self.block(then, scope, inner), self.optional(otherwise, scope, locals)
                return syntax.IfSome(span, self.binders(binders, scope), test, first, second)
            case syntax.Block():
                return self.block(statement, scope, locals)
            case syntax.Local(span, name, arguments, sort, value):
                made_value = None if value is None else self.expression(value, scope, locals)
                made_sort = self.expander.sort(sort, scope, span)
                return syntax.Local(span, name, self.binders(arguments, scope), made_sort, made_value)
            case syntax.MacroUse():
                return self.macro(statement, scope, locals)
        raise TypeError(f"unknown statement {statement!r}")

    def called(self, call: Reference, scope: Scope, locals: Names) -> Reference:
        made = self.reference(call, scope, locals)
        if not isinstance(made, Reference):
            self.sink.error("Q0224", f"`{call.name}` is not an action", call.span)
            raise Failed
        return made

    def target(self, target: Reference, scope: Scope, locals: Names) -> Reference:
        made = self.reference(target, scope, locals)
        if not isinstance(made, Reference):
            self.sink.error(
                "Q0214", f"`{target.name}` stands for an expression here, so it cannot be assigned", target.span
            )
            raise Failed
        if not (made.name in self.outer and self.is_parameter(target.name, scope)):
            self.targets.append((made, locals))
        return made

    def assigned_name(self, target: tuple[Reference, Names]) -> str | None:
        """The symbol that an assignment changes, None if that is a local variable; fields change what they belong to."""
        (reference, locals), name = target, target[0].name
        while name in self.program.fields:
            match reference.arguments:
                case (Reference() as reference, *_):
                    name = reference.name
                case _:
                    return None
        head, _, _ = name.partition(".")
        if head in locals or "#" in head:
            return None
        while name not in self.expander.declared and "." in name:
            name = name.rpartition(".")[0]
        return name

    def macro(self, use: syntax.MacroUse, scope: Scope, locals: Names) -> syntax.Statement:
        found = self.expander.resolve(use.name, scope)
        entry = self.expander.macros.get(found) if isinstance(found, str) else None
        if entry is None:
            self.sink.error("Q0201", f"unknown macro `{use.name}`", use.span)
            raise Failed
        declaration, origin = entry
        if len(use.arguments) != len(declaration.parameters):
            message = f"`{use.name}` takes {argument_count(len(declaration.parameters))}, {len(use.arguments)} given"
            self.sink.error("Q0202", message, use.span)
            raise Failed
        self.expansions += 1
        if scope.nesting >= MAX_NESTING or self.expansions > MAX_EXPANSIONS:
            if self.expansions <= MAX_EXPANSIONS + 1:
                self.sink.error("Q0222", "macros expand to too much", use.span)
            raise Failed
        arguments = self.expressions(use.arguments, scope, locals)
        actuals = {name: (value, None) for name, value in zip(declaration.parameters, arguments, strict=True)}
        nesting = scope.nesting + 1
        inner = Scope(origin.prefix, origin.declared, scope, origin, dict(actuals), nesting, origin.indices)
        saved, self.outer = self.outer, self.outer | locals
        try:
            return self.block(declaration.body, inner, NONE)
        finally:
            self.outer = saved


def _names(binders: tuple[Binder, ...]) -> Names:
    return frozenset(binder.name for binder in binders)


def _strings(node: object) -> set[str]:
    """All words in a piece of the surface tree."""
    found: set[str] = set()
    stack = [node]
    while stack:
        match stack.pop():
            case str(word):
                found.add(word)
            case tuple(items):
                stack.extend(items)
            case Span():
                pass
            case item if is_dataclass(item):
                stack.extend(getattr(item, field.name) for field in fields(item))
    return found


def mentioned(expression: Expression) -> set[str]:
    """The names that occur in an expression; with `x.f` also `x`, since f may be a field of it."""
    found: set[str] = set()
    for reference in references(expression):
        parts = reference.name.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return found


def _only_requires(block: syntax.Block) -> bool:
    return all(isinstance(item, syntax.Condition) and item.kind != "assume" for item in block.statements)
