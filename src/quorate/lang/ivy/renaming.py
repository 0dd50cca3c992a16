"""Names made absolute inside declarations, expressions and statements, and macros expanded.

Local variables keep their names: they hide whatever is declared outside.  Every node is rebuilt, so that a module body
that is used twice gives two separate trees.  Read `modules` for how names are looked up.
"""

from __future__ import annotations

from dataclasses import replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Failed, argument_count, references
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import MAX_NESTING, Action, Expander, Part, Program, Scope
from quorate.lang.reader import (
    Ascription,
    Binder,
    Conditional,
    Expression,
    Operation,
    Quantifier,
    Reference,
)
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

    def program_items(self) -> None:
        """Rewrite everything; monitors come last, since they use the names of the actions they belong to."""
        later: list[tuple[syntax.Monitor | syntax.Boundary, Scope, bool]] = []
        for declaration, scope, trusted in self.expander.items:
            if isinstance(declaration, syntax.Monitor | syntax.Boundary):
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

    def item(self, declaration: syntax.Declaration, scope: Scope, trusted: bool) -> None:
        program = self.program
        match declaration:
            case syntax.TypeDeclaration(span, name, elements):
                renamed = self.declared_name(name, scope, span)
                program.types.append(
                    syntax.TypeDeclaration(span, renamed, self.elements(elements, renamed, scope, span))
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
                symbol = syntax.SymbolDeclaration(span, renamed, self.binders(arguments, scope), sort_name)
                program.symbols.append(symbol)
                if value is not None:
                    body = self.expression(value, scope, _names(arguments))
                    program.definitions.append(
                        syntax.DefinitionDeclaration(span, renamed, symbol.arguments, body, False)
                    )
            case syntax.DefinitionDeclaration(span, name, arguments, value, declares):
                renamed = self.declared_name(name, scope, span) if declares else self.name(name, scope, span)
                if declares:
                    self.expander.declare(renamed, span)
                body = self.expression(value, scope, _names(arguments))
                binders = self.binders(arguments, scope)
                program.definitions.append(syntax.DefinitionDeclaration(span, renamed, binders, body, declares))
            case syntax.FormulaDeclaration(span, kind, label, formula):
                label = scope.prefix + label if label is not None else None
                body = self.expression(formula, scope, NONE)
                program.formulas.append(syntax.FormulaDeclaration(span, kind, label, body))
            case syntax.ActionDeclaration(span, name, parameters, results, code):
                renamed = self.declared_name(name, scope, span)
                self.expander.declare(renamed, span)
                action = Action(renamed, self.binders(parameters, scope), self.binders(results, scope), span)
                program.actions.setdefault(renamed, action)
                if code is not None:
                    action.body.append(self.part(action, None, None, code, scope, trusted))
            case syntax.Initialization(_, code):
                program.initializations.append(self.block(code, scope, NONE))
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

    # -- actions ---------------------------------------------------------------------------------------------------

    def attach(self, declaration: syntax.Monitor | syntax.Boundary, scope: Scope, trusted: bool) -> None:
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
        if declaration.kind == "implement" and action.body:
            self.sink.error("Q0205", f"the action `{name}` already has a body", declaration.span)
            return
        for given, wanted in ((declaration.parameters, action.parameters), (declaration.results, action.results)):
            if given is not None and len(given) != len(wanted):
                message = f"`{name}` has {len(wanted)} of these, {len(given)} given"
                self.sink.error("Q0202", message, declaration.span)
                return
        part = self.part(action, declaration.parameters, declaration.results, declaration.body, scope, trusted)
        {"before": action.before, "after": action.after, "implement": action.body}[declaration.kind].append(part)

    def part(
        self,
        action: Action,
        parameters: tuple[Binder, ...] | None,
        results: tuple[Binder, ...] | None,
        body: syntax.Block,
        scope: Scope,
        trusted: bool,
    ) -> Part:
        inputs = tuple(binder.name for binder in (action.parameters if parameters is None else parameters))
        outputs = tuple(binder.name for binder in (action.results if results is None else results))
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
        return replace(expression)

    def expressions(self, expressions: tuple[Expression, ...], scope: Scope, locals: Names) -> tuple[Expression, ...]:
        return tuple(self.expression(item, scope, locals) for item in expressions)

    def reference(self, reference: Reference, scope: Scope, locals: Names) -> Expression:
        name, span = reference.name, reference.span
        arguments = None if reference.arguments is None else self.expressions(reference.arguments, scope, locals)
        head, dot, _ = name.partition(".")
        if not dot and (head in locals or head[0].isupper()):
            return Reference(span, name, 0, arguments)
        found = self.expander.resolve(name, scope)
        if not isinstance(found, str):
            if arguments is not None or dot:
                self.sink.error("Q0101", f"`{head}` stands for an expression here, but a name is needed", span)
                raise Failed
            actual, where = found
            if where is not None:
                return self.expression(actual, where, NONE)
            self.check_capture(actual, locals, span)
            return self.expression(actual, self.expander.root, self.outer)
        if dot and found not in self.expander.declared and self.is_value(name, scope, locals):
            self.sink.error("Q0104", f"the dot in `{name}` applies a function to a value, which is not supported", span)
            raise Failed
        if found in self.outer and self.is_parameter(head, scope):
            self.check_capture(Reference(span, found), locals, span)
        return Reference(span, found, 0, arguments)

    def is_value(self, name: str, scope: Scope, locals: Names) -> bool:
        """Does a dotted name start with a variable or a symbol, rather than an object?"""
        head = name.partition(".")[0]
        if head in locals or head[0].isupper():
            return True
        stem = self.expander.resolve(name.rpartition(".")[0], scope)
        return not isinstance(stem, str) or stem in self.expander.declared

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
        local = target.name in locals or (made.name in self.outer and self.is_parameter(target.name, scope))
        if not local:
            self.program.assigned.add(made.name)
        return made

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
        inner = Scope(origin.prefix, origin.declared, scope, origin, dict(actuals), scope.nesting + 1)
        saved, self.outer = self.outer, self.outer | locals
        try:
            return self.block(declaration.body, inner, NONE)
        finally:
            self.outer = saved


def _names(binders: tuple[Binder, ...]) -> Names:
    return frozenset(binder.name for binder in binders)


def mentioned(expression: Expression) -> set[str]:
    """The names that occur in an expression."""
    return {reference.name for reference in references(expression)}


def _only_requires(block: syntax.Block) -> bool:
    return all(isinstance(item, syntax.Condition) and item.kind != "assume" for item in block.statements)
