"""An Ivy file made ready to be executed: sorts, symbols, definitions and formulas, read where they stand.

`IvyReader` reads expressions; what a name means depends on the scope it stands in (`ivy_scopes`).  `<`, `+` and numbers exist at
every sort: on ranges of numbers and bit vectors they are computed, elsewhere they are rigid symbols of their own, such as
`node.<`.  Read `ivy_actions` for the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from quorate.lang.ivy import syntax
from quorate.lang.reader import Binder, Expression, Reference
from quorate.proof.twins import TwinError
from quorate.proof.twins.expressions import (
    OPERATORS,
    Application,
    Call,
    Computed,
    Constant,
    Deferred,
    Definition,
    Equality,
    Junction,
    Mention,
    Node,
    Variable,
)
from quorate.proof.twins.ivy_code import Action, CallStatement, Cell, CellEntry, Old
from quorate.proof.twins.ivy_scopes import Actual, Expansion, Found, Scope
from quorate.proof.twins.names import Names, Reader, Typed
from quorate.proof.twins.states import BOOL, INT, Function, Hole, Kind, Value, resolve, unify

OPERATOR = "operator "
"""What the parser puts before an operator that is used like a name."""

SPELLED = {"le": "<=", "gt": ">", "ge": ">="}
"""Comparisons that are symbols of their own in the first versions of the language, at sorts without numbers."""

ONLY_SORT = "universe"
"""The sort of everything in a file that names none."""


@dataclass(frozen=True)
class Numbers:
    """The numbers that are the elements of a sort, from `low` on; arithmetic wraps around if they are bit vectors."""

    low: int
    count: int
    modular: bool = False


@dataclass(eq=False)
class Formula:
    """A formula of a declaration, and the symbols and definitions that it mentions."""

    kind: str
    declaration: syntax.FormulaDeclaration
    node: Node
    touched: frozenset[object]


@dataclass
class Sorts:
    """The sorts of a file; `elements` has the number and the sort of every element that has a name."""

    open: list[str] = field(default_factory=list)
    """Those of any size."""
    sizes: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    elements: dict[str, tuple[int, str]] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)


class IvyReader(Reader):
    """Reads the expressions of an Ivy file; `scope` is where the present one stands."""

    def __init__(self, expansion: Expansion) -> None:
        super().__init__()
        self.expansion = expansion
        self.scope = expansion.root
        self.sorts = Sorts()
        self.definitions: dict[str, Definition] = {}
        self.mentions: dict[Definition, frozenset[object]] = {}
        """What the bodies of definitions mention."""
        self.actions: dict[str, Action] = {}
        self.fields: dict[Function, list[Function]] = {}
        """For every field of a struct, all fields of that struct."""
        self.calls: list[CallStatement] | None = None
        """The calls in the present statement; None where none are possible."""
        self.touched: set[object] = set()
        self.unsorted: Kind | None = None
        """What stands for a sort that the first versions leave out, if it is the same everywhere."""

    # -- sorts -----------------------------------------------------------------------------------------------------

    def declare_sorts(self) -> None:
        types: dict[str, tuple[str, ...] | syntax.Range] = {}
        targets: dict[str, syntax.Interpretation] = {}
        for item in self.expansion.items:
            match item.declaration:
                case syntax.TypeDeclaration(_, name, elements):
                    full = self.expansion.declared_name(name, item.scope)
                    types[full] = self._elements(elements, full, item.scope)
                case syntax.Interpretation(span, name, target):
                    full = self.expansion.full_name(name, item.scope)
                    if isinstance(target, str):
                        found = self.expansion.locate(target, item.scope)
                        named = found.name if isinstance(found, Found) else target
                        targets[full] = syntax.Interpretation(span, full, named)
                    else:
                        elements = self._elements(target, full, item.scope)
                        targets[full] = syntax.Interpretation(span, full, elements)
        for name, own in types.items():
            self._declare_sort(name, own, targets.get(name))
        if not types and any(self._is_unsorted(item.declaration) for item in self.expansion.items):
            self.sorts.open.append(ONLY_SORT)
            self.unsorted = ONLY_SORT

    def _elements(
        self, elements: tuple[str, ...] | syntax.Range, sort: str, scope: Scope
    ) -> tuple[str, ...] | syntax.Range:
        if isinstance(elements, syntax.Range):
            return elements
        return tuple(f"{sort}.{name}" if name.isdigit() else scope.prefix + name for name in elements)

    def _declare_sort(
        self, name: str, own: tuple[str, ...] | syntax.Range, interpretation: syntax.Interpretation | None
    ) -> None:
        sorts = self.sorts
        elements: tuple[str, ...] | syntax.Range = own
        modular = False
        if interpretation is not None:
            target, width = interpretation.target, interpretation.width
            if target == INT:
                sorts.integers.add(name)
                return
            if width is not None:
                elements, modular = syntax.Range(0, 2**width - 1), True
            elif isinstance(target, str):
                raise TwinError(f"the interpretation of {name} as {target} is not executed")
            else:
                elements = target
        if isinstance(elements, syntax.Range):
            count = elements.high - elements.low + 1
            sorts.numbers[name] = Numbers(elements.low, count, modular)
            sorts.sizes[name] = count
        elif elements:
            sorts.sizes[name] = len(elements)
            sorts.elements.update((element, (number, name)) for number, element in enumerate(elements))
        else:
            sorts.open.append(name)

    def _is_unsorted(self, declaration: syntax.Declaration) -> bool:
        match declaration:
            case syntax.SymbolDeclaration(arguments=arguments, sort=sort):
                return syntax.UNSORTED in (sort, *(binder.sort for binder in arguments))
        return False

    def sort(self, name: str, names: Names) -> str:
        if name in (BOOL, INT) and name not in self.expansion.root.members:
            return name
        full = self.expansion.full_name(name, self.scope)
        if full in self.sorts.integers:
            return INT
        if full in (BOOL, INT) or full in self.sorts.sizes or full in self.sorts.open:
            return full
        raise TwinError(f"there is no sort {full}")

    def kind(self, name: str | None) -> Kind:
        """The sort of a place; it is inferred where the text leaves it out."""
        if name == syntax.UNSORTED:
            return self.unsorted or Hole()
        return Hole() if name is None else self.sort(name, {})

    def bind(self, binders: Sequence[Binder], names: Names) -> list[Variable]:
        return [self.variable(binder.name, self.kind(binder.sort)) for binder in binders]

    # -- numbers and operators -------------------------------------------------------------------------------------

    def number(self, value: int) -> Typed:
        node, kind = Deferred(), Hole()

        def settle() -> None:
            sort = self._settled(kind)
            numbers = self.sorts.numbers.get(sort)
            element = self.sorts.elements.get(f"{sort}.{value}")
            if sort == INT:
                node.inner = Constant(value)
            elif numbers is not None:
                if not 0 <= value - numbers.low < numbers.count:
                    raise TwinError(f"{value} is not one of the numbers of {sort}")
                node.inner = Constant(value - numbers.low)
            elif element is not None:
                node.inner = Constant(element[0])
            else:
                node.inner = Application(self._builtin(f"{sort}.{value}", (), sort), ())

        self.later.append(settle)
        return node, kind

    def _settled(self, kind: Kind) -> str:
        """The sort of a number; the integers if nothing tells."""
        found = resolve(kind)
        if isinstance(found, Hole):
            unify(found, INT, "a number")
            return INT
        return found

    def _builtin(self, name: str, arguments: tuple[Kind, ...], result: Kind) -> Function:
        if name not in self.functions:
            self.functions[name] = Function(name, arguments, result)
        return self.functions[name]

    def arithmetic(self, operator: str, left: Typed, right: Typed) -> Typed:
        unify(left[1], right[1], f"an operand of {operator}")
        node = Deferred((left[0], right[0]))
        self.later.append(lambda: self._settle_operator(node, operator, left, right))
        return node, left[1] if operator in "+-*" else BOOL

    def _settle_operator(self, node: Deferred, operator: str, left: Typed, right: Typed) -> None:
        sort = self._settled(left[1])
        first, second = left[0], right[0]
        numbers = self.sorts.numbers.get(sort)
        if sort == INT or (numbers is not None and operator not in "+-*"):
            node.inner = Computed(OPERATORS[SPELLED.get(operator, operator)], (first, second))
        elif numbers is not None:
            node.inner = Computed(wrapped(OPERATORS[operator], numbers.count), (first, second))
        elif operator in "+-*":
            node.inner = Application(self._builtin(f"{sort}.{operator}", (sort, sort), sort), (first, second))
        elif operator in SPELLED and sort not in self.sorts.sizes:
            node.inner = Application(self._builtin(f"{sort}.{operator}", (sort, sort), BOOL), (first, second))
        else:
            spelled = SPELLED.get(operator, operator)
            if spelled in (">", ">="):
                first, second = second, first
            less = Application(self._builtin(f"{sort}.<", (sort, sort), BOOL), (first, second))
            node.inner = less if spelled in ("<", ">") else Junction(False, (less, Equality(first, second)))

    # -- names -----------------------------------------------------------------------------------------------------

    def elsewhere(self, actual: Actual) -> Typed:
        """What a parameter stands for, read where it comes from."""
        saved, self.scope = self.scope, actual.scope
        found = self.read(actual.expression, actual.names)
        self.scope = saved
        return found

    def reference(self, expression: Reference, names: Names) -> Typed:
        given = [self.read(argument, names) for argument in expression.arguments or ()]
        name = expression.name
        head, _, rest = name.partition(".")
        if head in names:
            return self._variable(names[head], rest, given)
        if head[0].isupper():
            node, kind = self.implicit(head)
            return self._members(node, kind, rest, given)
        found = self.expansion.locate(name, self.scope)
        match found:
            case Found(full, indices):
                return self._declared(full, [*((Mention(i), i.kind) for i in indices), *given])
            case Actual():
                if given:
                    raise TwinError(f"the parameter {name} stands for an expression and takes no arguments")
                return self.elsewhere(found)
        variable, rest = found
        return self._variable(variable, rest, given)

    def _variable(self, variable: Variable, rest: str, given: list[Typed]) -> Typed:
        """A variable, its arguments if it is a local function, and members of its value."""
        if not isinstance(variable, Cell):
            return self._members(Mention(variable), variable.kind, rest, given)
        count = len(variable.arguments)
        node = CellEntry(variable, self._fit(variable.name, variable.arguments, given[:count]))
        return self._members(node, variable.kind, rest, given[count:])

    def _declared(self, full: str, given: list[Typed]) -> Typed:
        """Something declared, with arguments; `x.f` is the member f of a value x."""
        if full.startswith(OPERATOR):
            left, right = given
            return self.arithmetic(full.removeprefix(OPERATOR), left, right)
        if full in self.actions:
            return self._called(self.actions[full], given)
        parts = full.split(".")
        for count in range(len(parts), 0, -1):
            name, rest = ".".join(parts[:count]), ".".join(parts[count:])
            if name in self.sorts.elements:
                number, sort = self.sorts.elements[name]
                return self._members(Constant(number), sort, rest, given)
            kinds = self._places(name)
            if kinds is not None:
                node, kind = self._applied(name, given[: len(kinds)] if rest else given)
                return self._members(node, kind, rest, given[len(kinds) :] if rest else [])
        raise TwinError(f"the name {full} is not known")

    def _places(self, name: str) -> Sequence[Kind] | None:
        """The sorts of the arguments of a symbol or a definition, if there is one of that name."""
        if name in self.definitions:
            return self.parameters_of(self.definitions[name])
        return self.functions[name].arguments if name in self.functions else None

    def _applied(self, name: str, given: list[Typed]) -> Typed:
        if name in self.definitions:
            definition = self.definitions[name]
            self.touched.add(definition)
            arguments = self._fit(name, self.parameters_of(definition), given)
            return Call(definition, arguments), definition.result
        function = self.functions[name]
        self.touched.add(function)
        return Application(function, self._fit(name, function.arguments, given)), function.result

    def _fit(self, name: str, kinds: Sequence[Kind], given: list[Typed]) -> list[Node]:
        if len(given) != len(kinds):
            raise TwinError(f"{name} takes {len(kinds)} arguments, {len(given)} given")
        for (_, kind), wanted in zip(given, kinds, strict=True):
            unify(kind, wanted, f"an argument of {name}")
        return [node for node, _ in given]

    def _members(self, node: Node, kind: Kind, rest: str, given: list[Typed]) -> Typed:
        """`x.f.g(a)` is `g(f(x), a)`; the sorts of x and f(x) say which f and g are meant."""
        for name in rest.split(".") if rest else ():
            sort = resolve(kind)
            if isinstance(sort, Hole):
                raise TwinError(f"the sort of what {name} belongs to is not known")
            full = self._member(sort, name)
            if full in self.actions:
                return self._called(self.actions[full], [(node, kind), *given])
            count = max(len(self._places(full) or ()) - 1, 0)
            node, kind = self._applied(full, [(node, kind), *given[:count]])
            given = given[count:]
        if given:
            raise TwinError("there are too many arguments")
        return node, kind

    def _member(self, sort: str, name: str) -> str:
        """What is declared under a sort, or next to it."""
        around, dot, _ = sort.rpartition(".")
        for full in (f"{sort}.{name}", f"{around}{dot}{name}"):
            if self._places(full) is not None or full in self.actions:
                return full
        raise TwinError(f"values of sort {sort} have no {name}")

    def _called(self, action: Action, given: list[Typed]) -> Typed:
        """A call inside an expression: it is performed before, and its result stands here."""
        if len(action.results) != 1:
            raise TwinError(f"{action.name} has {len(action.results)} results, so it is not an expression")
        (result,) = self.call(action, given)
        return CellEntry(result, ()), result.kind

    def call(self, action: Action, given: list[Typed]) -> list[Cell]:
        """Take note of a call; variables for its results come back."""
        if self.calls is None:
            raise TwinError(f"{action.name} is called in a formula")
        arguments = self._fit(action.name, [cell.kind for cell in action.parameters], given)
        results = [self.cell(f"{action.name}.{cell.name}", cell.kind) for cell in action.results]
        self.calls.append(CallStatement(action, arguments, results))
        return results

    def cell(self, name: str, kind: Kind, arguments: Iterable[Kind] = ()) -> Cell:
        made = Cell(name, kind, tuple(arguments))
        self.variables.append(made)
        return made

    def shifted(self, by: int, body: Expression, names: Names) -> Typed:
        node, kind = self.read(body, names)
        return Old(node), kind

    # -- formulas and definitions ----------------------------------------------------------------------------------

    def in_scope(self, scope: Scope, read: Callable[[], Node]) -> Node:
        """Read something that stands in a scope and says the same for all indices of the objects around."""
        saved, self.scope = self.scope, scope
        node = read()
        self.scope = saved
        return self.quantification(True, scope.indices, node)

    def touching(self, expression: Expression, names: Names) -> tuple[Node, frozenset[object]]:
        """A closed formula and what it mentions."""
        saved, self.touched = self.touched, set()
        node = self.closed(expression, names)
        touched, self.touched = frozenset(self.touched), saved
        return node, touched

    def define(self, name: str, scope: Scope, parameters: tuple[Binder, ...], value: Expression) -> None:
        """Read the body of a definition."""
        definition = self.definitions[name]
        own = definition.parameters[len(scope.indices) :]
        names = {binder.name: variable for binder, variable in zip(parameters, own, strict=True)}
        saved, self.scope = self.scope, scope
        outer, self.touched = self.touched, set()
        closure, self.closure = self.closure, {}
        body, kind = self.read(value, names)
        unify(kind, definition.result, name)
        binders, self.closure = list(self.closure.values()), closure
        self.mentions[definition] = frozenset(self.touched)
        self.scope, self.touched = saved, outer
        definition.body = self.quantification(True, binders, body)

    def changes(self, touched: Iterable[object], seen: frozenset[object] = frozenset()) -> bool:
        """Is anything mentioned that some code assigns?"""
        for item in touched:
            if isinstance(item, Function) and item.mutable:
                return True
            if isinstance(item, Definition) and item not in seen and self.changes(self.mentions[item], seen | {item}):
                return True
        return False


def wrapped(compute: Callable[[Value, Value], Value], count: int) -> Callable[[Value, Value], Value]:
    return lambda left, right: compute(left, right) % count
