"""Where the declarations of an Ivy file stand, and what names mean there.

A scope is an object, an instance of a module, or the file.  A name means the first match among the members of its scope, of
the surroundings of the module that the text stands in, and of the surroundings of the instance.  Nothing is copied or
rewritten: a declaration in a module that is instantiated twice is met twice, in two scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from quorate.lang.ivy import syntax
from quorate.lang.reader import Binder, Expression, Operation, Reference
from quorate.proof.twins import TwinError
from quorate.proof.twins.expressions import Variable
from quorate.proof.twins.states import Hole

MAX_NESTING = 60

Names = Mapping[str, Variable]
"""The variables in scope, under their names."""


@dataclass(eq=False)
class Scope:
    """An object, an instance or a file.  `indices` are the indices of this and all objects around it."""

    prefix: str
    members: set[str]
    parent: Scope | None = None
    origin: Scope | None = None
    """The surroundings of the module whose text this is."""
    actuals: dict[str, Actual] = field(default_factory=dict)
    indices: tuple[Variable, ...] = ()
    own_indices: dict[str, Variable] = field(default_factory=dict)
    """The indices that the text inside knows by name."""

    def chain(self) -> Iterator[Scope]:
        """The scopes in which a name is looked up, in order."""
        seen: list[Scope] = []
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            if scope in seen:
                continue
            seen.append(scope)
            yield scope
            if scope.parent is not None:
                waiting.append(scope.parent)
            if scope.origin is not None and scope.origin.parent is not None:
                waiting.append(scope.origin)

    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth()


@dataclass(frozen=True)
class Actual:
    """What a parameter of a module or macro stands for: an expression of another place in the text."""

    expression: Expression
    scope: Scope
    names: Names


@dataclass(frozen=True)
class Found:
    """Something declared, by its full name; `indices` are those of the object that it was found in."""

    name: str
    indices: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Item:
    """A declaration with the scope it stands in."""

    declaration: syntax.Declaration
    scope: Scope
    trusted: bool


class Expansion:
    """All declarations of a file with their scopes, in the order of the text."""

    def __init__(self, declarations: tuple[syntax.Declaration, ...]) -> None:
        self.members: dict[str, set[str]] = {}
        self.modules: dict[str, tuple[syntax.ModuleDeclaration, Scope]] = {}
        self.macros: dict[str, tuple[syntax.MacroDeclaration, Scope]] = {}
        self.aliases: dict[str, tuple[str, Scope]] = {}
        self.items: list[Item] = []
        self.action_names = frozenset(_action_names(declarations))
        self.indices: list[tuple[Variable, str | None, Scope]] = []
        """All indices of objects, with the sorts that the text gives them and where it does."""
        self.root = Scope("", self.members.setdefault("", set()))
        self._lay_out(declarations, self.root, False)

    # -- looking up ------------------------------------------------------------------------------------------------

    def locate(self, name: str, scope: Scope, steps: int = 0) -> Found | Actual | tuple[Variable, str]:
        """What a name means: something declared, an expression, or an index with what follows it."""
        if steps > MAX_NESTING:
            raise TwinError(f"the name {name} leads in a circle")
        head, dot, rest = name.partition(".")
        if head == "this":
            own = scope.prefix + rest if rest else scope.prefix.removesuffix(".")
            return self._without_alias(Found(own or name, scope.indices), steps)
        for place in scope.chain():
            if head in place.own_indices:
                return place.own_indices[head], rest
            if head in place.actuals:
                return self._actual(place.actuals[head], dot + rest, steps)
            if head in place.members:
                return self._without_alias(Found(place.prefix + name, place.indices), steps)
        return Found(name)

    def _actual(self, actual: Actual, rest: str, steps: int) -> Found | Actual | tuple[Variable, str]:
        """What a parameter stands for, with members of it."""
        match actual.expression:
            case Reference(_, name, _, None):
                head, dot, more = name.partition(".")
                if head in actual.names:
                    return actual.names[head], (dot + more + rest).removeprefix(".")
                return self.locate(name + rest, actual.scope, steps + 1)
        if rest:
            raise TwinError("a parameter stands for an expression, but a name is needed")
        return actual

    def _without_alias(self, found: Found, steps: int) -> Found | Actual | tuple[Variable, str]:
        parts = found.name.split(".")
        for count in range(len(parts), 0, -1):
            alias = self.aliases.get(".".join(parts[:count]))
            if alias is not None:
                return self.locate(".".join([alias[0], *parts[count:]]), alias[1], steps + 1)
        return found

    def full_name(self, name: str, scope: Scope) -> str:
        """The full name of something declared."""
        found = self.locate(name, scope)
        if not isinstance(found, Found):
            raise TwinError(f"the name {name} stands for an expression")
        return found.name

    def declared_name(self, name: str, scope: Scope) -> str:
        """The full name of something that a declaration in a scope introduces."""
        return self.full_name(name, scope) if name in scope.actuals or name == "this" else scope.prefix + name

    # -- laying out ------------------------------------------------------------------------------------------------

    def _lay_out(self, declarations: Iterable[syntax.Declaration], scope: Scope, trusted: bool) -> None:
        declarations = tuple(declarations)
        if scope.depth() > MAX_NESTING:
            raise TwinError("objects are nested too deeply")
        for declaration in declarations:
            self._announce(declaration, scope)
        for declaration in declarations:
            match declaration:
                case syntax.Instantiation():
                    self._instantiate(declaration, scope, trusted)
                case syntax.ObjectDeclaration(_, None, body):
                    self._lay_out(body, scope, trusted)
                case syntax.ObjectDeclaration(_, str(name), body, own_trust, indices):
                    body, left_out = self._without_implementation(body)
                    inner = self._inner(name, scope)
                    made = self._index(inner, indices, scope)
                    inner.own_indices = made
                    self._lay_out(body, inner, trusted or own_trust or left_out)
                case syntax.ModuleDeclaration() | syntax.MacroDeclaration() | syntax.Alias():
                    pass
                case _:
                    self.items.append(Item(declaration, scope, trusted))

    def _inner(self, name: str, scope: Scope) -> Scope:
        prefix = f"{scope.prefix}{name}."
        return Scope(prefix, self.members.setdefault(prefix, set()), scope, indices=scope.indices)

    def _index(self, inner: Scope, binders: tuple[Binder, ...], scope: Scope) -> dict[str, Variable]:
        made = {binder.name: Variable(binder.name, Hole()) for binder in binders}
        self.indices += [(made[binder.name], binder.sort, scope) for binder in binders]
        inner.indices = (*scope.indices, *made.values())
        return made

    def _instantiate(self, declaration: syntax.Instantiation, scope: Scope, trusted: bool) -> None:
        name = self.full_name(declaration.module, scope)
        if name not in self.modules:
            raise TwinError(f"there is no module {name}")
        module, origin = self.modules[name]
        names: Names = {}
        if declaration.name is None:
            inner = Scope(scope.prefix, set(), scope, indices=scope.indices)
        else:
            inner = self._inner(declaration.name, scope)
            names = self._index(inner, declaration.indices, scope)
        inner.origin = origin
        pairs = zip(module.parameters, declaration.arguments, strict=True)
        inner.actuals = {parameter: Actual(value, scope, names) for parameter, value in pairs}
        self._lay_out(module.body, inner, trusted)

    def _announce(self, declaration: syntax.Declaration, scope: Scope) -> None:
        """Take note of the names that a declaration introduces."""
        match declaration:
            case syntax.ObjectDeclaration(_, None, body):
                for member in body:
                    self._announce(member, scope)
                return
            case syntax.TypeDeclaration(_, name, tuple(elements)):
                names = [name, *elements]
            case syntax.Interpretation(_, _, tuple(elements)):
                names = list(elements)
            case syntax.ObjectDeclaration(_, str(name)) | syntax.Instantiation(_, str(name)):
                names = [name.partition(".")[0]]
            case syntax.DefinitionDeclaration(_, name, declares=declares):
                names = [name] if declares else []
            case (
                syntax.TypeDeclaration(_, name)
                | syntax.SymbolDeclaration(_, name)
                | syntax.FieldDeclaration(_, name)
                | syntax.ActionDeclaration(_, name)
                | syntax.ModuleDeclaration(_, name)
                | syntax.MacroDeclaration(_, name)
                | syntax.Alias(_, name)
            ):
                names = [name]
            case _:
                return
        match declaration:
            case syntax.ModuleDeclaration(_, name):
                self.modules[scope.prefix + name] = declaration, scope
            case syntax.MacroDeclaration(_, name):
                self.macros[scope.prefix + name] = declaration, scope
            case syntax.Alias(_, name, target):
                self.aliases[scope.prefix + name] = target, scope
        members = {name for name in names if name not in scope.actuals and name != "this" and not name.isdigit()}
        place: Scope | None = scope
        while place is not None and place.prefix == scope.prefix:
            place.members |= members
            place = place.parent

    def _without_implementation(
        self, body: tuple[syntax.Declaration, ...]
    ) -> tuple[tuple[syntax.Declaration, ...], bool]:
        """An isolate without an implementation by numbers that are not represented; its specification is trusted then.

        It is left out only where it says nothing but what sorts, symbols and the results of its own actions are.
        """
        for section in body:
            if isinstance(section, syntax.ObjectDeclaration) and section.implementation:
                unknown = [d for d in section.body if isinstance(d, syntax.Interpretation) and not d.is_known]
                if unknown and all(self._only_computes(item, body) for item in section.body):
                    return tuple(other for other in body if other is not section), True
        return body, False

    def _only_computes(self, item: syntax.Declaration, body: tuple[syntax.Declaration, ...]) -> bool:
        match item:
            case syntax.Interpretation() | syntax.DefinitionDeclaration():
                return True
            case syntax.Monitor(_, "implement", name, parameters, results, code):
                own = [d for d in body if isinstance(d, syntax.ActionDeclaration) and d.name == name]
                binders = [*(parameters or ()), *(results or ())]
                binders += [binder for action in own for binder in (*action.parameters, *action.results)]
                names = {binder.name for binder in binders}
                return bool(own) and all(self._assigns_only(statement, names) for statement in code.statements)
        return False

    def _assigns_only(self, statement: syntax.Statement, names: set[str]) -> bool:
        match statement:
            case syntax.Assignment(_, (target,), value) if value is not None:
                return target.name in names and not self._calls(value)
        return False

    def _calls(self, expression: Expression) -> bool:
        """Does an expression mention something that an action anywhere is called?"""
        waiting = [expression]
        while waiting:
            match waiting.pop():
                case Reference(_, name, _, arguments):
                    if name.rpartition(".")[2] in self.action_names:
                        return True
                    waiting += arguments or ()
                case Operation(_, _, operands):
                    waiting += operands
                case other:
                    waiting += [part for part in vars(other).values() if isinstance(part, Expression)]
        return False


def _action_names(declarations: Iterable[syntax.Declaration]) -> Iterator[str]:
    for item in declarations:
        match item:
            case syntax.ActionDeclaration(_, name):
                yield name
            case syntax.ModuleDeclaration(body=body) | syntax.ObjectDeclaration(body=body):
                yield from _action_names(body)
