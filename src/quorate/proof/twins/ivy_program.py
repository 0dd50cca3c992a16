"""The declarations and the code of an Ivy file, read into what can be executed.

First the signature: sorts, symbols, definitions and actions.  Then everything that stands in declarations and in code, each
where it stands.  A symbol is mutable if any code assigns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from quorate.lang.diagnostics import Sink
from quorate.lang.ivy import syntax
from quorate.lang.ivy.grammar import parse
from quorate.lang.reader import Ascription, Binder, Expression, Reference
from quorate.models.source import Source
from quorate.proof.twins import TwinError
from quorate.proof.twins.expressions import Application, Definition, Entry, Node, Variable
from quorate.proof.twins.ivy_code import (
    Action,
    Assign,
    AssignField,
    Block,
    Branch,
    BranchSome,
    Cell,
    CellEntry,
    Condition,
    Declare,
    Nothing,
    Part,
    Statement,
)
from quorate.proof.twins.ivy_scopes import Actual, Expansion, Found, Item, Scope
from quorate.proof.twins.ivy_text import Formula, IvyReader
from quorate.proof.twins.names import Names
from quorate.proof.twins.states import BOOL, Function, Hole, Kind, resolve, unify

Read = TypeVar("Read")

UNUSED = ("temporal", "liveness", "fairness", "fairness weak", "fairness strong")
"""Formulas that speak of whole runs."""


class Program(IvyReader):
    """An Ivy file, ready to be executed."""

    def __init__(self, source: Source) -> None:
        super().__init__(Expansion(parse(source, Sink())))
        self.formulas: list[Formula] = []
        self.initializations: list[tuple[Statement, tuple[Variable, ...]]] = []
        self.exports: list[str] = []
        self.internal: set[str] = set()
        """Actions that are no steps: those that the environment provides, and those that are mixed into others."""
        self.conditions: list[tuple[Condition, frozenset[object]]] = []
        """The conditions of the code that is being read, with what they mention."""
        self.specifications: list[tuple[bool, Action | None, list[tuple[Condition, frozenset[object]]]]] = []
        """Code that consists of conditions: whether it is trusted, or after which action it stands, and the conditions."""
        self.bodies: dict[str, tuple[Item, syntax.Block, tuple[str, ...], tuple[str, ...]]] = {}
        items = self.expansion.items
        self.declare_sorts()
        for index, sort, scope in self.expansion.indices:
            self.variables.append(index)
            if sort is not None:
                self.scope = scope
                unify(index.kind, self.sort(sort, {}), index.name)
        defined = [i for i in items if isinstance(i.declaration, syntax.DefinitionDeclaration)]
        for item in items:
            self._declare(item)
        for item in defined:
            self._declare_definition(item)
        for item in items:
            self._read(item)
        for item in items:
            self._attach(item)
        self.finish()
        self._trust()

    @property
    def steps(self) -> list[Action]:
        """What the environment may call."""
        if self.exports:
            return [action for name, action in self.actions.items() if name in self.exports]
        return [action for name, action in self.actions.items() if name not in self.internal and action.parts]

    # -- declarations ----------------------------------------------------------------------------------------------

    def _declare(self, item: Item) -> None:
        self.scope = scope = item.scope
        indices = tuple(index.kind for index in scope.indices)
        match item.declaration:
            case syntax.SymbolDeclaration(_, name, arguments, sort, value):
                full = self.expansion.declared_name(name, scope)
                result = BOOL if sort is None else self.kind(sort)
                if value is not None:
                    self.definitions[full] = self._definition(full, scope, arguments, result)
                    return
                kinds = (*indices, *(self.kind(binder.sort) for binder in arguments))
                self.functions[full] = Function(full, kinds, result)
            case syntax.FieldDeclaration(_, name, arguments, sort):
                full = self.expansion.declared_name(name, scope)
                field = Function(full, tuple(self.kind(binder.sort) for binder in arguments), self.kind(sort))
                self.functions[full] = field
                same = [fields for other, fields in self.fields.items() if _struct(other) == _struct(field)]
                self.fields[field] = same[0] if same else []
                self.fields[field].append(field)
            case syntax.ActionDeclaration(_, name, parameters, results):
                full = self.expansion.declared_name(name, scope)
                cells = [self.cell(index.name, index.kind) for index in scope.indices]
                cells += [self.cell(binder.name, self.kind(binder.sort)) for binder in parameters]
                same_name = {binder.name: cell for binder, cell in zip(parameters, cells[len(indices) :], strict=True)}
                outputs = [same_name.get(b.name) or self.cell(b.name, self.kind(b.sort)) for b in results]
                self.actions.setdefault(full, Action(full, tuple(cells), tuple(outputs)))

    def _definition(self, name: str, scope: Scope, arguments: tuple[Binder, ...], result: Kind) -> Definition:
        return Definition(name, (*scope.indices, *self.bind(arguments, {})), result)

    def _declare_definition(self, item: Item) -> None:
        """A definition of something declared elsewhere takes its place."""
        declaration, self.scope = item.declaration, item.scope
        assert isinstance(declaration, syntax.DefinitionDeclaration)
        if declaration.declares:
            full = self.expansion.declared_name(declaration.name, item.scope)
            self.definitions[full] = self._definition(full, item.scope, declaration.arguments, Hole())
            return
        full = self.expansion.full_name(declaration.name, item.scope)
        function = self.functions.pop(full, None)
        made = self._definition(full, item.scope, declaration.arguments, Hole())
        if function is not None:
            unify(made.result, function.result, full)
            for parameter, kind in zip(made.parameters, function.arguments, strict=True):
                unify(parameter.kind, kind, full)
        self.definitions[full] = made

    def _read(self, item: Item) -> None:
        """Read what a declaration says; monitors come later, since they use the names of the actions they belong to."""
        scope = item.scope
        match item.declaration:
            case syntax.SymbolDeclaration(_, name, arguments, _, value) if value is not None:
                self.define(self.expansion.declared_name(name, scope), scope, arguments, value)
            case syntax.DefinitionDeclaration(_, name, arguments, value, declares):
                full = (self.expansion.declared_name if declares else self.expansion.full_name)(name, scope)
                self.define(full, scope, arguments, value)
            case syntax.FormulaDeclaration(_, kind, _, formula) if kind not in UNUSED:
                self._formula(item.declaration, formula, scope, item.trusted)
            case syntax.ActionDeclaration(_, name, parameters, results, body) if body is not None:
                full = self.expansion.declared_name(name, scope)
                self.bodies[full] = item, body, _names(parameters), _names(results)
                self._part(self.actions[full].body, self.actions[full], item, _names(parameters), _names(results), body)
            case syntax.Initialization(_, body):
                code = self._in(scope, lambda: self._block(body, {}))
                self.initializations.append((code, scope.indices))

    def _formula(
        self, declaration: syntax.FormulaDeclaration, formula: Expression, scope: Scope, trusted: bool
    ) -> None:
        kind = "trusted" if trusted and declaration.kind == "property" else declaration.kind
        touched: list[frozenset[object]] = []

        def read() -> Node:
            node, mentioned = self.touching(formula, {})
            touched.append(mentioned)
            return node

        self.formulas.append(Formula(kind, declaration, self.in_scope(scope, read), touched[0]))

    def _in(self, scope: Scope, read: Callable[[], Read]) -> Read:
        saved, self.scope = self.scope, scope
        found = read()
        self.scope = saved
        return found

    # -- actions ---------------------------------------------------------------------------------------------------

    def _attach(self, item: Item) -> None:
        declaration, scope = item.declaration, item.scope
        match declaration:
            case syntax.Boundary(_, kind, name):
                full = self.expansion.full_name(name, scope)
                if kind == "import":
                    self.internal.add(full)
                elif full not in self.exports:
                    self.exports.append(full)
            case syntax.Monitor(_, kind, name, parameters, results, body):
                action = self._action(name, scope)
                where = {"before": action.before, "after": action.after, "implement": action.body}[kind]
                self._part(where, action, item, _names(parameters or ()), _names(results or ()), body)
            case syntax.Mixin(_, kind, mixer, name):
                action = self._action(name, scope)
                full = self.expansion.full_name(mixer, scope)
                self.internal.add(full)
                origin, body, inputs, outputs = self.bodies[full]
                if kind == "before":
                    body = syntax.required(body)
                where = action.before if kind == "before" else action.after
                self._part(where, action, origin, inputs, outputs, body)

    def _action(self, name: str, scope: Scope) -> Action:
        full = self.expansion.full_name(name, scope)
        if full not in self.actions:
            raise TwinError(f"there is no action {full}")
        return self.actions[full]

    def _part(
        self,
        where: list[Part],
        action: Action,
        item: Item,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        body: syntax.Block,
    ) -> None:
        """Read a body or a monitor; what it does not name itself has the names that the action gives it."""
        indices = item.scope.indices
        cells = action.parameters[len(indices) :]
        names: dict[str, Variable] = {}
        for given, available in ((inputs, cells), (outputs, action.results)):
            named = [*given, *(cell.name for cell in available[len(given) :])]
            names.update(zip(named, available, strict=True))
        self.conditions = []
        code = self._in(item.scope, lambda: self._block(body, names))
        if all(isinstance(statement, syntax.Condition) for statement in body.statements):
            after = action if where is action.after else None
            self.specifications.append((item.trusted, after, self.conditions))
        where.append(Part(tuple(zip(indices, action.parameters, strict=False)), code))

    def _trust(self) -> None:
        """Say which conditions are believed: in trusted text, and after actions without a body, those about results only."""
        for trusted, after, conditions in self.specifications:
            for condition, touched in conditions:
                unknown = after is not None and not after.body
                condition.believed = (trusted or unknown) and not self.changes(touched)

    # -- code ------------------------------------------------------------------------------------------------------

    def _block(self, block: syntax.Block, names: Names) -> Block:
        inside: dict[str, Variable] = dict(names)
        made: list[Statement] = []
        for statement in block.statements:
            saved, self.calls = self.calls, []
            found = self._statement(statement, inside)
            found.calls = tuple(self.calls)
            self.calls = saved
            made.append(found)
        return Block(made)

    def _statement(self, statement: syntax.Statement, names: dict[str, Variable]) -> Statement:
        """Read a statement; its calls are collected on the way, and a local variable is added to the names."""
        match statement:
            case syntax.Block():
                return self._block(statement, names)
            case syntax.Condition(span, kind, label, formula):
                node, touched = self.touching(formula, names)
                made = Condition(kind, label, node, span)
                self.conditions.append((made, touched))
                return made
            case syntax.Assignment(_, (target,), value):
                return self._assignment(target, value, names)
            case syntax.Assignment(_, targets, value):
                return self._results(targets, value, names)
            case syntax.Invocation(_, call):
                self._invoke(call, names)
                return Nothing()
            case syntax.IfStatement(_, condition, then, otherwise):
                test = None if condition is None else self.closed(condition, names)
                return Branch(test, self._block(then, names), self._optional(otherwise, names))
            case syntax.IfSome(_, binders, condition, then, otherwise):
                cells = [self.cell(binder.name, self.kind(binder.sort)) for binder in binders]
                inner = {**names, **{cell.name: cell for cell in cells}}
                test = self.formula(condition, inner)
                return BranchSome(cells, test, self._block(then, inner), self._optional(otherwise, names))
            case syntax.Local():
                return self._local(statement, names)
            case syntax.MacroUse():
                return self._macro(statement, names)
        raise TwinError(f"this statement is not executed: line {statement.span.line}")

    def _optional(self, block: syntax.Block | None, names: Names) -> Statement | None:
        return None if block is None else self._block(block, names)

    def _local(self, statement: syntax.Local, names: dict[str, Variable]) -> Statement:
        kind = self.kind(statement.sort)
        value = None if statement.value is None else self.of_sort(statement.value, kind, names)
        cell = self.cell(statement.name, kind, [self.kind(binder.sort) for binder in statement.arguments])
        names[statement.name] = cell
        return Declare(cell, value)

    def _assignment(self, target: Reference, value: Expression | None, names: Names) -> Statement:
        variables = [self.variable(name, Hole()) for name in _left_variables(target)]
        inside = {**names, **{variable.name: variable for variable in variables}}
        entry, kind = self._target(target, inside)
        node = None if value is None else self.of_sort(value, kind, inside)
        return self._assign(entry, variables, node)

    def _target(self, target: Reference, names: Names) -> tuple[Entry, Kind]:
        node, kind = self.reference(target, names)
        if not isinstance(node, Entry):
            raise TwinError(f"{target.name} cannot be assigned")
        return node, kind

    def _assign(self, entry: Entry, variables: Sequence[Variable], value: Node | None) -> Statement:
        self._mark(entry)
        if isinstance(entry, Application) and entry.function in self.fields:
            return AssignField(entry, variables, value, self.fields)
        return Assign(entry, variables, value)

    def _mark(self, entry: Node) -> None:
        """Take note of what an assignment changes; one to a field changes what it belongs to."""
        match entry:
            case Application(function=function) if function in self.fields:
                self._mark(entry.arguments[0])
            case Application(function=function):
                function.mutable = True

    def _results(self, targets: tuple[Reference, ...], value: Expression | None, names: Names) -> Statement:
        """`(x, y) := a(z)`."""
        if not isinstance(value, Reference):
            raise TwinError("several targets need a call")
        cells = self._invoke(value, names)
        made = []
        for target, cell in zip(targets, cells, strict=True):
            entry, kind = self._target(target, names)
            unify(kind, cell.kind, target.name)
            made.append(self._assign(entry, (), CellEntry(cell, ())))
        return Block(made)

    def _invoke(self, call: Reference, names: Names) -> Sequence[Cell]:
        """A call for its effects, with any number of results."""
        arguments = call.arguments or ()
        if call.name.partition(".")[0] not in names:
            found = self.expansion.locate(call.name, self.scope)
            if isinstance(found, Found) and found.name in self.actions:
                indices = [self._variable(index, "", []) for index in found.indices]
                given = [self.read(argument, names) for argument in arguments]
                return self.call(self.actions[found.name], [*indices, *given])
        owner, _, last = call.name.rpartition(".")
        if not owner:
            raise TwinError(f"there is no action {call.name}")
        count = self._arity(owner, names)
        node, kind = self.reference(Reference(call.span, owner, 0, arguments[:count] or None), names)
        sort = resolve(kind)
        full = self._member(sort, last) if isinstance(sort, str) else ""
        if full not in self.actions:
            raise TwinError(f"there is no action {call.name}")
        rest = [self.read(argument, names) for argument in arguments[count:]]
        return self.call(self.actions[full], [(node, kind), *rest])

    def _arity(self, name: str, names: Names) -> int:
        """How many arguments belong to what a method is called of."""
        if name in names:
            variable = names[name]
            return len(variable.arguments) if isinstance(variable, Cell) else 0
        found = self.expansion.locate(name, self.scope)
        if isinstance(found, Found):
            return max(len(self._places(found.name) or ()) - len(found.indices), 0)
        return 0

    def _macro(self, use: syntax.MacroUse, names: Names) -> Statement:
        """The body of a macro, read where it was declared; its parameters mean what they mean here."""
        full = self.expansion.full_name(use.name, self.scope)
        if full not in self.expansion.macros:
            raise TwinError(f"there is no macro {full}")
        declaration, origin = self.expansion.macros[full]
        pairs = zip(declaration.parameters, use.arguments, strict=True)
        actuals = {name: Actual(value, self.scope, dict(names)) for name, value in pairs}
        inner = Scope(origin.prefix, origin.members, self.scope, origin, actuals, origin.indices)
        return self._in(inner, lambda: self._block(declaration.body, {}))


def _struct(field: Function) -> Kind:
    return resolve(field.arguments[0])


def _names(binders: Iterable[Binder]) -> tuple[str, ...]:
    return tuple(binder.name for binder in binders)


def _left_variables(target: Reference) -> list[str]:
    """The logical variables that stand as arguments on the left side of an assignment."""
    found = []
    for argument in target.arguments or ():
        body = argument.body if isinstance(argument, Ascription) else argument
        if isinstance(body, Reference) and body.name[0].isupper() and "." not in body.name and not body.arguments:
            found.append(body.name)
    return found
