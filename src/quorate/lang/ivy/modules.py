"""Modules instantiated, objects flattened, names made absolute: the surface tree to a flat program.

Instantiation follows Ivy: the body of a module is copied with its parameters replaced, and a name in it means the first
match among the members of the instance, the surroundings of the module, and the surroundings of the instance.
An object with indices stands for one object each: all that is declared in it has the indices as first arguments.
`renaming` rewrites expressions and statements; `elaborate` takes over from the flat program.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import argument_count, duplicate, references
from quorate.lang.ivy import syntax
from quorate.lang.reader import Ascription, Binder, Conditional, Expression, Operation, Quantifier, Reference, Shift
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
    """Actions that are no steps of their own, since the environment or other actions provide them."""
    assigned: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    """The fields of structs: functions that never change, though assignments seem to change them."""


Actual = tuple[Expression, "Scope | None"]
"""What a parameter stands for and where its names are to be looked up; None if they are absolute already."""


@dataclass(frozen=True, eq=False)
class Index:
    """An index of an object: an internal name that no text can contain, and how and where the text introduces it."""

    name: str
    binder: Binder
    scope: Scope


@dataclass
class Scope:
    """Where names are looked up: `declared` are the members below `prefix`, `origin` is where the module stands."""

    prefix: str
    declared: set[str]
    parent: Scope | None = None
    origin: Scope | None = None
    parameters: dict[str, Actual] = field(default_factory=dict)
    nesting: int = 0
    indices: tuple[Index, ...] = ()

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
        self.indexed: dict[str, int] = {}
        self.action_names: set[str] = set()
        self.root = self.scope("")
        self.overflowed = False

    def scope(self, prefix: str, parent: Scope | None = None) -> Scope:
        members = self.members.setdefault(prefix, set())
        if parent is None:
            return Scope(prefix, members)
        return Scope(prefix, members, parent, nesting=parent.nesting + 1, indices=parent.indices)

    # -- looking up ------------------------------------------------------------------------------------------------

    def resolve(self, name: str, scope: Scope, steps: int = 0) -> str | Actual:
        """The absolute name, or the expression that a parameter stands for; an unknown name stays as it is."""
        return self.locate(name, scope, steps)[0]

    def locate(self, name: str, scope: Scope, steps: int = 0) -> tuple[str | Actual, tuple[Index, ...]]:
        """What a name means, and the indices of the object that it is found in."""
        head, dot, rest = name.partition(".")
        if head == "this":
            own = (scope.prefix + rest if rest else scope.prefix.removesuffix(".")) or name
            return self.unalias(own, scope.indices, steps)
        for place in scope.chain():
            if head in place.parameters and steps < MAX_NESTING:
                actual, where = place.parameters[head]
                if not isinstance(actual, Reference) or actual.arguments is not None:
                    return (actual, where), ()
                if where is None:
                    return self.unalias(actual.name + dot + rest, (), steps)
                found, indices = self.locate(actual.name, where, steps + 1)
                return self.unalias(found + dot + rest, indices, steps) if isinstance(found, str) else (found, ())
            if head in place.declared:
                return self.unalias(place.prefix + name, place.indices, steps)
        return name, ()

    def unalias(self, name: str, indices: tuple[Index, ...], steps: int) -> tuple[str, tuple[Index, ...]]:
        parts = name.split(".")
        for count in range(len(parts), 0, -1) if self.aliases and steps < MAX_NESTING else ():
            found = self.aliases.get(".".join(parts[:count]))
            if found is not None:
                target, its_indices = self.locate(found[0], found[1], steps + 1)
                return (".".join([target, *parts[count:]]), its_indices) if isinstance(target, str) else (name, indices)
        return name, indices

    def sort(self, name: str | None, scope: Scope, span: Span) -> str | None:
        if name is None or name == syntax.UNSORTED:
            return name
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
                case syntax.ObjectDeclaration(span, str(name), body, own_trust, indices):
                    body, left_out = self.without_implementation(name, body)
                    own_trust = own_trust or left_out
                    inner = self.scope(f"{scope.prefix}{name}.", scope)
                    made = self.index(inner, indices, scope, span)
                    inner.parameters.update({key: (reference, None) for key, reference in made.items()})
                    if self.room(scope, span):
                        self.spread(body, inner, trusted or own_trust)
                case syntax.ModuleDeclaration() | syntax.MacroDeclaration() | syntax.Alias():
                    pass
                case _:
                    self.items.append((declaration, scope, trusted))

    def without_implementation(
        self, name: str, body: tuple[syntax.Declaration, ...]
    ) -> tuple[tuple[syntax.Declaration, ...], bool]:
        """An isolate's body without an implementation by numbers that cannot be represented, and whether there is one.

        Other isolates rely on the specification only, so it is trusted instead, as if the isolate said so.  Only what
        has no effect outside may be left out.
        """
        for section in body:
            if not isinstance(section, syntax.ObjectDeclaration) or not section.implementation:
                continue
            foreign = [item for item in section.body if isinstance(item, syntax.Interpretation) and not item.is_known]
            if foreign and all(self.is_local(item, body) for item in section.body):
                message = (
                    f"this is not proved: `{name}` is implemented by `{foreign[0].target}`, so it is trusted instead"
                )
                self.sink.warning("Q0226", message, foreign[0].span)
                return tuple(other for other in body if other is not section), True
        return body, False

    def is_local(self, item: syntax.Declaration, body: tuple[syntax.Declaration, ...]) -> bool:
        """Does a part of an implementation say what a sort, a symbol or the results of an own action are, and no more?"""
        match item:
            case syntax.Interpretation() | syntax.DefinitionDeclaration():
                return True
            case syntax.Monitor(_, "implement", name, parameters, results, code):
                own = [d for d in body if isinstance(d, syntax.ActionDeclaration) and d.name == name]
                named = [binder for action in own for binder in (*action.parameters, *action.results)]
                names = {binder.name for binder in (*named, *(parameters or ()), *(results or ()))}
                return bool(own) and all(self.is_computation(statement, names) for statement in code.statements)
        return False

    def is_computation(self, statement: syntax.Statement, names: Container[str]) -> bool:
        match statement:
            case syntax.Assignment(_, (target,), value) if value is not None:
                called = {reference.name.rpartition(".")[2] for reference in references(value)}
                return target.name in names and called.isdisjoint(self.action_names)
        return False

    def index(self, inner: Scope, binders: tuple[Binder, ...], scope: Scope, span: Span) -> dict[str, Reference]:
        """Give a scope its own indices, in addition to those around it, and tell what they are called inside."""
        if self.indexed.setdefault(inner.prefix, len(binders)) != len(binders):
            message = f"`{inner.prefix.removesuffix('.')}` is opened with different numbers of indices"
            self.sink.error("Q0104", message, span)
        made = [
            Index(f"{binder.name.lower()}#{number}", binder, scope)
            for number, binder in enumerate(binders, len(scope.indices))
        ]
        inner.indices = (*scope.indices, *made)
        return {index.binder.name: Reference(index.binder.span, index.name) for index in made}

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
            case (
                syntax.SymbolDeclaration(_, name) | syntax.FieldDeclaration(_, name) | syntax.ActionDeclaration(_, name)
            ):
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
        if declaration.name is None:
            inner = Scope(scope.prefix, set(), scope, nesting=scope.nesting + 1, indices=scope.indices)
            named: dict[str, Reference] = {}
        else:
            inner = self.scope(f"{scope.prefix}{declaration.name}.", scope)
            named = self.index(inner, declaration.indices, scope, declaration.span)
        if module.assumed is not None:
            message = f"this is not proved: instances of `{module.name}` are {module.assumed}"
            self.sink.warning("Q0226", message, declaration.span)
        actuals: dict[str, Actual] = {}
        for parameter, value in zip(module.parameters, declaration.arguments, strict=True):
            actuals[parameter] = renamed(value, named), scope
        self.spread(module.body, replace(inner, origin=origin, parameters=actuals), trusted)


def renamed(expression: Expression, names: dict[str, Reference]) -> Expression:
    """The expression with other references for some names."""
    match expression:
        case Reference(_, name, _, None) if name in names:
            return names[name]
        case Reference(span, name, primes, tuple(arguments)):
            return Reference(span, name, primes, tuple(renamed(item, names) for item in arguments))
        case Operation(span, operator, operands):
            return Operation(span, operator, tuple(renamed(item, names) for item in operands))
        case Quantifier(span, universal, binders, body):
            hidden = {binder.name for binder in binders}
            free = {name: reference for name, reference in names.items() if name not in hidden}
            return Quantifier(span, universal, binders, renamed(body, free))
        case Conditional(span, condition, then, otherwise):
            return Conditional(span, *(renamed(item, names) for item in (condition, then, otherwise)))
        case Ascription(span, body, sort):
            return Ascription(span, renamed(body, names), sort)
        case Shift(span, by, body):
            return Shift(span, by, renamed(body, names))
    return expression


def _action_names(declarations: Iterable[syntax.Declaration]) -> set[str]:
    """What actions are called anywhere, without the objects they belong to."""
    found: set[str] = set()
    for item in declarations:
        match item:
            case syntax.ActionDeclaration(_, name):
                found.add(name)
            case syntax.ModuleDeclaration(body=body) | syntax.ObjectDeclaration(body=body):
                found |= _action_names(body)
    return found


def flatten(declarations: Iterable[syntax.Declaration], sink: Sink) -> Program:
    """The flat program of a file."""
    from quorate.lang.ivy.inference import settle_sorts
    from quorate.lang.ivy.renaming import Renamer

    declarations = tuple(declarations)
    expander = Expander(sink)
    expander.action_names = _action_names(declarations)
    expander.spread(declarations, expander.root)
    program = Program()
    renamer = Renamer(expander, program, sink)
    if not expander.overflowed:
        renamer.program_items()
        settle_sorts(program)
    return program
