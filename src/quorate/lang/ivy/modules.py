"""Modules instantiated, objects flattened, names made absolute: the surface tree to a flat program.

Instantiation follows Ivy: the body of a module is copied with its parameters replaced, and a name in it means the first
match among the members of the instance, the surroundings of the module, and the surroundings of the instance.
`renaming` rewrites expressions and statements; `elaborate` takes over from the flat program.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import argument_count, duplicate
from quorate.lang.ivy import syntax
from quorate.lang.reader import Binder, Expression, Reference
from quorate.models.source import Span

MAX_NESTING = 40
MAX_DECLARATIONS = 20_000


@dataclass(frozen=True)
class Part:
    """A piece of an action's code, with the names it has for the action's parameters and results."""

    parameters: tuple[str, ...]
    results: tuple[str, ...]
    body: syntax.Block
    trusted: bool


@dataclass
class Action:
    """An action with all its code: what monitors do before, the body, and what monitors do after."""

    name: str
    parameters: tuple[Binder, ...]
    results: tuple[Binder, ...]
    span: Span
    before: list[Part] = field(default_factory=list)
    body: list[Part] = field(default_factory=list)
    after: list[Part] = field(default_factory=list)

    @property
    def parts(self) -> list[Part]:
        return self.before + self.body + self.after


@dataclass
class Program:
    """An Ivy file without modules and objects: every name is absolute."""

    types: list[syntax.TypeDeclaration] = field(default_factory=list)
    interpretations: list[syntax.Interpretation] = field(default_factory=list)
    symbols: list[syntax.SymbolDeclaration] = field(default_factory=list)
    definitions: list[syntax.DefinitionDeclaration] = field(default_factory=list)
    formulas: list[syntax.FormulaDeclaration] = field(default_factory=list)
    actions: dict[str, Action] = field(default_factory=dict)
    initializations: list[syntax.Block] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)


Actual = tuple[Expression, "Scope | None"]
"""What a parameter stands for and where its names are to be looked up; None if they are absolute already."""


@dataclass
class Scope:
    """Where names are looked up: `declared` are the members below `prefix`, `origin` is where the module stands."""

    prefix: str
    declared: set[str]
    parent: Scope | None = None
    origin: Scope | None = None
    parameters: dict[str, Actual] = field(default_factory=dict)
    nesting: int = 0

    def chain(self) -> Iterator[Scope]:
        """The scopes that a name is looked up in, in order; the file as a whole comes last."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            scope = stack.pop()
            if id(scope) in seen:
                continue
            seen.add(id(scope))
            yield scope
            if scope.parent is not None:
                stack.append(scope.parent)
            if scope.origin is not None and scope.origin.parent is not None:
                stack.append(scope.origin)


class Expander:
    """Takes modules and objects apart; `items` are the declarations with the scopes they stand in."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.members: dict[str, set[str]] = {}
        self.modules: dict[str, tuple[syntax.ModuleDeclaration, Scope]] = {}
        self.macros: dict[str, tuple[syntax.MacroDeclaration, Scope]] = {}
        self.aliases: dict[str, tuple[str, Scope]] = {}
        self.items: list[tuple[syntax.Declaration, Scope, bool]] = []
        self.declared: dict[str, Span] = {}
        self.root = self.scope("")
        self.overflowed = False

    def scope(self, prefix: str, parent: Scope | None = None) -> Scope:
        nesting = parent.nesting + 1 if parent is not None else 0
        return Scope(prefix, self.members.setdefault(prefix, set()), parent, nesting=nesting)

    # -- looking up ------------------------------------------------------------------------------------------------

    def resolve(self, name: str, scope: Scope, steps: int = 0) -> str | Actual:
        """The absolute name, or the expression that a parameter stands for; an unknown name stays as it is."""
        head, dot, rest = name.partition(".")
        if head == "this":
            return self.unalias((scope.prefix + rest if rest else scope.prefix.removesuffix(".")) or name, steps)
        for place in scope.chain():
            if head in place.parameters and steps < MAX_NESTING:
                actual, where = place.parameters[head]
                if not isinstance(actual, Reference) or actual.arguments is not None:
                    return actual, where
                found = actual.name if where is None else self.resolve(actual.name, where, steps + 1)
                return self.unalias(found + dot + rest, steps) if isinstance(found, str) else found
            if head in place.declared:
                return self.unalias(place.prefix + name, steps)
        return name

    def unalias(self, name: str, steps: int) -> str:
        parts = name.split(".")
        for count in range(len(parts), 0, -1) if self.aliases and steps < MAX_NESTING else ():
            found = self.aliases.get(".".join(parts[:count]))
            if found is not None:
                target = self.resolve(found[0], found[1], steps + 1)
                return ".".join([target, *parts[count:]]) if isinstance(target, str) else name
        return name

    def sort(self, name: str | None, scope: Scope, span: Span) -> str | None:
        if name is None:
            return None
        found = self.resolve(name, scope)
        if isinstance(found, str):
            return found
        self.sink.error("Q0206", f"`{name}` stands for an expression here, not for a sort", span)
        return name

    def declare(self, name: str, span: Span) -> None:
        if name in self.declared:
            duplicate(self.sink, name, span, self.declared[name])
        self.declared.setdefault(name, span)

    # -- taking apart ----------------------------------------------------------------------------------------------

    def spread(self, declarations: Iterable[syntax.Declaration], scope: Scope, trusted: bool = False) -> None:
        """Collect the members of a scope, then those of the modules and objects in it."""
        declarations = tuple(declarations)
        for declaration in declarations:
            self.announce(declaration, scope)
        for declaration in declarations:
            match declaration:
                case syntax.Instantiation():
                    self.instantiate(declaration, scope, trusted)
                case syntax.ObjectDeclaration(_, None, body):
                    self.spread(body, scope, trusted)
                case syntax.ObjectDeclaration(span, name, body, own_trust):
                    if self.room(scope, span):
                        self.spread(body, self.scope(f"{scope.prefix}{name}.", scope), trusted or own_trust)
                case syntax.ModuleDeclaration() | syntax.MacroDeclaration() | syntax.Alias():
                    pass
                case _:
                    self.items.append((declaration, scope, trusted))

    def announce(self, declaration: syntax.Declaration, scope: Scope) -> None:
        match declaration:
            case syntax.ObjectDeclaration(_, None, body):
                for member in body:
                    self.announce(member, scope)
                return
            case syntax.TypeDeclaration(_, name, elements):
                names = [name]
                if isinstance(elements, tuple):
                    names += [element for element in elements if not element.isdigit()]
            case syntax.Interpretation(_, _, tuple(elements)):
                names = [element for element in elements if not element.isdigit()]
            case syntax.SymbolDeclaration(_, name) | syntax.ActionDeclaration(_, name):
                names = [name]
            case syntax.DefinitionDeclaration(_, name, declares=True):
                names = [name]
            case syntax.ObjectDeclaration(_, str(name)) | syntax.Instantiation(_, str(name)):
                names = [name.partition(".")[0]]
            case syntax.ModuleDeclaration(span, name):
                names = [name]
                if self.unused(self.modules, scope.prefix + name, span):
                    self.modules[scope.prefix + name] = (declaration, scope)
            case syntax.MacroDeclaration(span, name):
                names = [name]
                if self.unused(self.macros, scope.prefix + name, span):
                    self.macros[scope.prefix + name] = (declaration, scope)
            case syntax.Alias(span, name, target):
                names = [name]
                if self.unused(self.aliases, scope.prefix + name, span):
                    self.aliases[scope.prefix + name] = (target, scope)
            case _:
                return
        members = {name for name in names if name not in scope.parameters and name != "this"}
        while True:
            scope.declared |= members
            if scope.parent is None or scope.parent.prefix != scope.prefix:
                break
            scope = scope.parent

    def unused(self, table: Container[str], name: str, span: Span) -> bool:
        if name in table:
            self.sink.error("Q0205", f"`{name}` is already declared", span)
        return name not in table

    def room(self, scope: Scope, span: Span) -> bool:
        """Is there room for what is about to be expanded?  Modules may instantiate themselves, or grow without end."""
        if len(self.items) > MAX_DECLARATIONS:
            if not self.overflowed:
                self.sink.error("Q0222", f"the file expands to more than {MAX_DECLARATIONS} declarations", span)
            self.overflowed = True
            return False
        if scope.nesting >= MAX_NESTING:
            self.sink.error("Q0222", f"modules and objects are nested more than {MAX_NESTING} levels deep", span)
            self.overflowed = True
            return False
        return True

    def instantiate(self, declaration: syntax.Instantiation, scope: Scope, trusted: bool) -> None:
        name = self.resolve(declaration.module, scope)
        found = self.modules.get(name) if isinstance(name, str) else None
        if found is None:
            self.sink.error("Q0201", f"unknown module `{declaration.module}`", declaration.span)
            return
        module, origin = found
        if len(declaration.arguments) != len(module.parameters):
            message = (
                f"`{module.name}` takes {argument_count(len(module.parameters))}, {len(declaration.arguments)} given"
            )
            self.sink.error("Q0202", message, declaration.span)
            return
        if self.overflowed or not self.room(scope, declaration.span):
            return
        actuals: dict[str, Actual] = {}
        for parameter, value in zip(module.parameters, declaration.arguments, strict=True):
            actuals[parameter] = value, scope
        if declaration.name is None:
            inner = Scope(scope.prefix, set(), scope, nesting=scope.nesting + 1)
        else:
            inner = self.scope(f"{scope.prefix}{declaration.name}.", scope)
        self.spread(module.body, replace(inner, origin=origin, parameters=actuals), trusted)


def flatten(declarations: Iterable[syntax.Declaration], sink: Sink) -> Program:
    """The flat program of a file."""
    from quorate.lang.ivy.renaming import Renamer

    expander = Expander(sink)
    expander.spread(declarations, expander.root)
    program = Program()
    renamer = Renamer(expander, program, sink)
    if not expander.overflowed:
        renamer.program_items()
    return program
