"""Sorts, symbols and definitions of a flat Ivy program, and the elaborator that knows them.

A symbol is mutable if any code assigns it.  `<`, `+` and numerals exist at every sort: at an uninterpreted sort `t`
they are rigid symbols named `t.<`, `t.+` and `t.0`.  Up to version 1.5 so are `<=`, `>` and `>=`, named `t.le`, `t.gt`
and `t.ge`.  A struct is an uninterpreted sort with a rigid function for each field, whose elements differ in some field.
Read `actions` for what the code does to the symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import (
    ARITHMETIC,
    COMPARISONS,
    Elaborator,
    Failed,
    Hole,
    Kind,
    Scope,
    argument_count,
    duplicate,
    normal,
    resolve,
)
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import Program
from quorate.lang.ivy.renaming import mentioned
from quorate.lang.ivy.statements import OWN_COMPARISONS
from quorate.lang.reader import Binder, Expression, Operation, Reference, Shift
from quorate.logic.terms import (
    BOOL,
    INT,
    Equal,
    Forall,
    Iff,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    forall,
    implies,
    neg,
)
from quorate.logic.transform import Lambda, fresh_variables, substitute, symbols_of
from quorate.models.relational import Derived, Named
from quorate.models.source import Span

MAX_ELEMENTS = 64

OWN_NAMES = tuple(f".{word}" for word in OWN_COMPARISONS.values())
"""How the names of comparisons end that are symbols of their own; such a name can be declared, other operators' cannot."""


def is_variable(name: str) -> bool:
    """Names that start with an upper-case letter are logical variables."""
    return name[0].isupper()


def variable_name(name: str) -> str:
    """The name as that of a logical variable."""
    return name if name[0].isupper() else name[0].upper() + name[1:] if name[0].isalpha() else "X" + name


def member(names: Container[str], sort: Sort, name: str) -> str | None:
    """What `x.name` applies to an x of this sort: something declared under the sort, or next to it."""
    beside = sort.name.rpartition(".")
    candidates = f"{sort.name}.{name}", f"{beside[0]}{beside[1]}{name}"
    return next((candidate for candidate in candidates if candidate in names), None)


_SPELLED = {word: operator for operator, word in OWN_COMPARISONS.items()}


class IvyElaborator(Elaborator):
    """Adds the order and the numerals of every sort to the shared elaborator, and fields of values, `x.f`."""

    actions: frozenset[str] = frozenset()

    def __init__(self, scope: Scope, sink: Sink, implicit: Callable[[str], bool]) -> None:
        super().__init__(scope, sink, implicit)
        self.opened: dict[int, Expression] = {}

    def closed(self, expression: Expression, kind: Kind) -> Term:
        """A term in which every variable is bound.  Raises `Failed`."""
        term = self.term(expression, kind)
        for local in self.closure.values():
            self.error("Q0221", f"the variable `{local.name}` is not bound here", local.span)
        if self.closure:
            raise Failed
        return term

    def infer(self, expression: Expression) -> Kind:
        if isinstance(expression, Shift):
            return self.error("Q0104", "`old` is only supported in the code of actions", expression.span)
        return super().infer(expression)

    def infer_reference(self, expression: Reference) -> Kind:
        name = expression.name
        if name in self.actions and name not in self.scope.symbols and self.lookup(name) is None:
            return self.error("Q0104", f"`{name}` is an action; calls in formulas are not supported", expression.span)
        if "." in name and name not in self.scope.symbols and self.lookup(name) is None:
            opened = self.fields(expression)
            if opened is not None:
                self.opened[id(expression)] = opened
                return self.infer(opened)
            if self.failed:
                return Hole()
        return super().infer_reference(expression)

    def fields(self, expression: Reference) -> Expression | None:
        """`x.f.g(a)` as `g(f(x), a)`, where the sorts of x and f(x) say which f and g are meant; None if x is unknown."""
        parts, span = expression.name.split("."), expression.span
        heads = [".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
        head = next((h for h in heads if h in self.scope.symbols or self.lookup(h) or self.implicit(h)), None)
        if head is None:
            return None
        symbol = None if self.lookup(head) else self.scope.symbols.get(head)
        count = 0 if symbol is None else len(symbol.arguments)
        rest = expression.arguments or ()
        made = Reference(span, head, 0, rest[:count] or None)
        rest = rest[count:]
        sort = resolve(self.infer(made)) if symbol is None else symbol.sort
        for name in parts[head.count(".") + 1 :]:
            if isinstance(sort, Hole):
                self.error("Q0204", f"cannot tell the sort of `{made.name}`", span, fix=f"write `{made.name}:SORT`")
                return None
            found = member(self.scope.symbols, sort, name)
            if found is None:
                return None
            symbol = self.scope.symbols[found]
            count, sort = max(len(symbol.arguments) - 1, 0), symbol.sort
            made = Reference(span, found, 0, (made, *rest[:count]))
            rest = rest[count:]
        return Reference(span, made.name, 0, (made.arguments or ()) + rest) if rest else made

    def build_reference(self, expression: Reference, name: str, primes: int, arguments: tuple[Expression, ...]) -> Term:
        opened = self.opened.get(id(expression))
        return super().build_reference(expression, name, primes, arguments) if opened is None else self.build(opened)

    def build_operation(self, expression: Operation, operator: str, operands: tuple[Expression, ...]) -> Term:
        if operator in _SPELLED:
            left, right = (self.build(operand) for operand in operands)
            own = None if left.sort is INT else self.scope.operator(operator, left.sort, expression.span)
            if own is not None:
                return own(left, right)
            return self.build_operation(expression, _SPELLED[operator], operands)
        if operator not in COMPARISONS:
            return super().build_operation(expression, operator, operands)
        left, right = (self.build(operand) for operand in operands)
        less = None if left.sort is INT else self.scope.operator("<", left.sort, expression.span)
        if less is None:
            return super().build_operation(expression, operator, operands)
        if operator in (">", ">="):
            left, right = right, left
        return less(left, right) if operator in "<>" else disj(less(left, right), equal(left, right))


_MODULAR: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "+": ("sums", int.__add__),
    "-": ("differences", int.__sub__),
    "*": ("products", int.__mul__),
}


class Signature:
    """What the names of a program mean.  `variables` are the places of each symbol, as updates name them."""

    def __init__(self, program: Program, sink: Sink) -> None:
        self.program = program
        self.sink = sink
        self.scope = Scope(operator=self.operator, numeral=self.numeral)
        self.symbols: list[Symbol] = []
        self.variables: dict[Symbol, tuple[Var, ...]] = {}
        self.builtin: dict[str, Symbol] = {}
        self.reserved: set[str] = set()
        """Names of symbols that no text can mention but that the model has."""
        self.ordered: set[Sort] = set()
        self.modular: set[Sort] = set()
        """Ranges of numbers on which arithmetic wraps around."""
        self.fixed: list[str] = []
        self.extents: dict[str, set[Sort]] = {"finite": set(), "unbounded": set()}
        self.derived: list[Derived] = []
        self.definitions: dict[Symbol, Lambda] = {}
        self.reads: dict[Symbol, frozenset[Symbol]] = {}
        self.standing: list[Named] = []
        """Axioms about what changes, which earlier versions assume of every state."""
        self.fields: dict[Sort, list[Symbol]] = {}
        """The fields of each struct."""
        self.declare_sorts()
        self.defined = {definition.name: mentioned(definition.value) for definition in program.definitions}
        for declaration in program.symbols:
            self.declare(declaration)
        self.define_all()

    # -- sorts -----------------------------------------------------------------------------------------------------

    def declare_sorts(self) -> None:
        interpretations: dict[str, syntax.Interpretation] = {}
        known = {declaration.name for declaration in self.program.types} | {"int"}
        for item in self.program.interpretations:
            if item.name not in known:
                self.sink.error("Q0206", f"unknown sort `{item.name}`", item.span)
            elif item.name in interpretations:
                duplicate(self.sink, f"interpret {item.name}", item.span, interpretations[item.name].span)
            else:
                interpretations[item.name] = item
        seen: dict[str, Span] = {}
        for declaration in self.program.types:
            name, span = declaration.name, declaration.span
            if name in seen or name == "bool":
                duplicate(self.sink, name, span, seen.get(name, span))
                continue
            seen[name] = span
            interpretation = interpretations.get(name)
            if name == "int" and (interpretation is None or interpretation.target != "int"):
                fix = "add `interpret int -> int`, or choose another name"
                self.sink.error("Q0104", "a sort `int` that is not the integers is not supported", span, fix=fix)
            if interpretation is None:
                self.scope.sorts[name] = self.enumerated(name, declaration.elements, span)
            elif declaration.elements:
                self.sink.error("Q0205", f"the sort `{name}` is defined already", interpretation.span)
            else:
                self.scope.sorts[name] = self.interpreted(name, interpretation)
            self.limit(declaration)

    def limit(self, declaration: syntax.TypeDeclaration) -> None:
        """Note what the text says about the number of elements; of some sorts it is known already."""
        sort, extent = self.scope.sorts[declaration.name], declaration.extent
        if extent is None:
            return
        if sort.uninterpreted:
            self.extents[extent].add(sort)
        elif (extent == "finite") is (sort is INT):
            meant = "the integers, which are not finite" if sort is INT else "an enumeration, which is finite"
            message = f"`{declaration.name}` is {meant}"
            self.sink.error("Q0705", message, declaration.span, fix=f"leave out `{extent}`")

    def interpreted(self, name: str, item: syntax.Interpretation) -> Sort:
        target, span = item.target, item.span
        if not isinstance(target, str):
            sort = self.enumerated(name, target, span)
            self.fix(sort, "an enumeration" if isinstance(target, tuple) else f"{{{target.low}..{target.high}}}")
            return sort
        if target == "int":
            return INT
        if item.width is not None:
            sort = self.enumerated(name, syntax.Range(0, 2**item.width - 1), span)
            self.modular.add(sort)
            self.fix(sort, target)
            return sort
        note = {"nat": "the natural numbers are not a sort of their own here; an abstract ordered sort often does"}
        self.sink.error(
            "Q0104", f"the interpretation of `{name}` as `{target}` is not supported", span, fix=note.get(target)
        )
        return Sort(name)

    def fix(self, sort: Sort, target: str) -> None:
        """Remember that the text interprets a sort by something of a fixed size."""
        count = len(sort.elements)
        self.fixed.append(f"{sort.name} is {target}: {count} element{'s' * (count != 1)}")

    def enumerated(self, name: str, elements: tuple[str, ...] | syntax.Range, span: Span) -> Sort:
        if isinstance(elements, syntax.Range):
            if not 0 <= elements.high - elements.low < MAX_ELEMENTS:
                message = f"a range of numbers must have from 1 to {MAX_ELEMENTS} members"
                self.sink.error("Q0104", message, span)
                return Sort(name)
            sort = Sort(name, tuple(f"{name}.{number}" for number in range(elements.low, elements.high + 1)))
            self.ordered.add(sort)
        else:
            sort = Sort(name, elements)
        for element in sort.elements:
            self.scope.symbols[element] = Symbol(element, (), sort)
        return sort

    def sort(self, name: str | None, what: str, span: Span) -> Sort:
        """The sort of this name.  Raises `Failed`."""
        sort = self.scope.sorts.get(name) if name is not None else None
        if sort is None:
            if name is None or name == syntax.UNSORTED:
                self.sink.error("Q0204", f"the sort of {what} is not given", span)
            else:
                self.sink.error("Q0206", f"unknown sort `{name}`", span)
            raise Failed
        return sort

    # -- symbols ---------------------------------------------------------------------------------------------------

    def declare(self, declaration: syntax.SymbolDeclaration) -> None:
        try:
            sorts = [self.sort(b.sort, f"argument `{b.name}`", b.span) for b in declaration.arguments]
            result = BOOL if declaration.sort is None else self.sort(declaration.sort, "it", declaration.span)
        except Failed:
            return
        self.add(declaration.name, [binder.name for binder in declaration.arguments], sorts, result)

    def add(self, name: str, places: Iterable[str], sorts: Iterable[Sort], result: Sort) -> Symbol:
        symbol = Symbol(name, tuple(sorts), result, self.is_mutable(name))
        named = [Var(variable_name(place), sort) for place, sort in zip(places, symbol.arguments, strict=True)]
        self.variables[symbol] = tuple(fresh_variables(named, ()))
        self.scope.symbols[name] = symbol
        self.symbols.append(symbol)
        if name in self.program.fields:
            self.fields.setdefault(symbol.arguments[0], []).append(symbol)
        return symbol

    def is_mutable(self, name: str) -> bool:
        """Is it assigned, or defined by something that is?"""
        visited: set[str] = set()
        stack = [name]
        while stack:
            top = stack.pop()
            if top in self.program.assigned:
                return True
            if top not in visited:
                visited.add(top)
                stack.extend(self.defined.get(top, ()))
        return False

    def operator(self, operator: str, sort: Sort, span: Span) -> Symbol | None:
        numbers = bool(sort.elements) and all(item.startswith(f"{sort.name}.") for item in sort.elements)
        if sort is BOOL or (operator != "<" and sort.elements and (operator not in ARITHMETIC or not numbers)):
            return None
        if operator in ARITHMETIC and sort in self.ordered - self.modular:
            return None
        name = f"{sort.name}.{operator}"
        relation = operator == "<" or operator in OWN_COMPARISONS.values()
        if name in self.scope.symbols:
            self.sink.error(
                "Q0104", f"`{operator}` at the sort `{sort}` next to a symbol `{name}` is not supported", span
            )
            raise Failed
        symbol = Symbol(name, (sort, sort), BOOL if relation else sort)
        self.builtin[name] = symbol
        self.variables[symbol] = (Var("X", sort), Var("Y", sort))
        return symbol

    def numeral(self, value: int, sort: Sort, span: Span) -> Symbol | None:
        name = f"{sort.name}.{value}"
        if sort is BOOL or (sort.elements and name not in sort.elements):
            return None
        symbol = Symbol(name, (), sort)
        if not sort.elements:
            self.builtin[name] = symbol
            self.variables[symbol] = ()
        return symbol

    def number_axioms(self, used: Container[Symbol]) -> list[tuple[str, Term]]:
        """What `<` and the arithmetic operators are on the ranges of numbers for which they are used."""
        axioms = []
        for sort in sorted(self.ordered, key=lambda sort: sort.name):
            numbers = [Symbol(element, (), sort)() for element in sort.elements]
            pairs = [(i, j) for i in range(len(numbers)) for j in range(len(numbers))]
            less = Symbol(f"{sort.name}.<", (sort, sort), BOOL)
            if less in used:
                facts = [less(numbers[i], numbers[j]) if i < j else neg(less(numbers[i], numbers[j])) for i, j in pairs]
                axioms.append((f"{sort.name}.order", conj(*facts)))
            for operator, (word, compute) in _MODULAR.items():
                symbol = Symbol(f"{sort.name}.{operator}", (sort, sort), sort)
                if symbol in used:
                    results = [numbers[compute(i, j) % len(numbers)] for i, j in pairs]
                    facts = [equal(symbol(numbers[i], numbers[j]), k) for (i, j), k in zip(pairs, results, strict=True)]
                    axioms.append((f"{sort.name}.{word}", conj(*facts)))
        return axioms

    @property
    def constrained(self) -> set[Symbol]:
        """The symbols that axioms about what changes speak of, through definitions too."""
        used = symbols_of(*(item.formula for item in self.standing))
        return used.union(*(self.reads.get(symbol, frozenset()) for symbol in used))

    def struct_axioms(self) -> list[tuple[str, Term]]:
        """Two structs with the same fields are the same.  That there is a struct for all values of fields is not said."""
        axioms = []
        for sort, fields in self.fields.items():
            one, other = Var("X", sort), Var("Y", sort)
            same = []
            for field in fields:
                places = tuple(Var(f"V{i}", argument) for i, argument in enumerate(field.arguments[1:]))
                same.append(forall(places, equal(field(one, *places), field(other, *places))))
            axioms.append((f"{sort.name}.equal_fields", forall((one, other), implies(conj(*same), equal(one, other)))))
        return axioms

    def elaborator(self, locals: dict[str, Symbol] | None = None) -> IvyElaborator:
        """An elaborator for one expression; `locals` hide the symbols of the program."""
        scope = self.scope if not locals else replace(self.scope, symbols=self.scope.symbols | locals)
        elaborator = IvyElaborator(scope, self.sink, is_variable)
        elaborator.actions = frozenset(self.program.actions)
        return elaborator

    # -- definitions -----------------------------------------------------------------------------------------------

    def define_all(self) -> None:
        """Elaborate the definitions, those that others are built on first."""
        pending = {definition.name: definition for definition in reversed(self.program.definitions)}
        for definition in self.program.definitions:
            if pending[definition.name] is not definition:
                duplicate(self.sink, definition.name, definition.span, pending[definition.name].span)
        visited: set[str] = set()
        for definition in self.program.definitions:
            self.visit(definition.name, pending, visited)

    def visit(self, name: str, pending: dict[str, syntax.DefinitionDeclaration], finished: set[str]) -> None:
        """Elaborate one definition after those it uses, without recursion, since chains may be long."""
        stack = [name]
        while stack:
            top = stack[-1]
            if top in finished:
                stack.pop()
                continue
            open_ones = [other for other in sorted(self.defined[top]) if other in pending and other not in finished]
            if open_ones:
                if open_ones[0] in stack:
                    self.sink.error("Q0210", f"`{top}` is defined by itself", pending[top].span)
                    finished.add(top)
                    stack.pop()
                else:
                    stack.append(open_ones[0])
                continue
            stack.pop()
            finished.add(top)
            item = self.define(pending[top])
            if item is not None:
                self.derived.append(item)

    def define(self, definition: syntax.DefinitionDeclaration) -> Derived | None:
        name, span = definition.name, definition.span
        symbol = self.scope.symbols.get(name)
        if name in self.program.assigned or (symbol is not None and symbol not in self.variables):
            self.sink.error("Q0214", f"`{name}` is assigned or an element of a sort, so it cannot be defined", span)
            return None
        if symbol is not None and len(symbol.arguments) != len(definition.arguments):
            message = f"`{name}` takes {argument_count(len(symbol.arguments))}, {len(definition.arguments)} given"
            self.sink.error("Q0202", message, span)
            return None
        try:
            return self.define_checked(definition, symbol)
        except Failed:
            return None

    def define_checked(self, definition: syntax.DefinitionDeclaration, symbol: Symbol | None) -> Derived:
        self.check_distinct(definition.arguments)
        elaborator = self.elaborator()
        places = elaborator.parameters(definition.arguments)
        if symbol is not None:
            for local, sort in zip(places, symbol.arguments, strict=True):
                elaborator.expect(local.kind, sort, local.span)
        value = elaborator.term(definition.value, elaborator.infer(definition.value) if symbol is None else symbol.sort)
        for local in elaborator.closure.values():
            fix = f"add it to the parameters of `{definition.name}`, or write `forall {local.name}. ...`"
            self.sink.error(
                "Q0221", f"the variable `{local.name}` is not a parameter of the definition", local.span, fix=fix
            )
        if elaborator.closure:
            raise Failed
        given = [local.variable() for local in places]
        if symbol is None:
            names = [variable.name for variable in given]
            symbol = self.add(definition.name, names, [variable.sort for variable in given], value.sort)
        variables = self.variables[symbol]
        value = normal(substitute(value, dict(zip(given, variables, strict=True))))
        node = Iff if symbol.sort is BOOL else Equal
        fact: Term = node(symbol(*variables), value)
        self.definitions[symbol] = (variables, value)
        self.reads[symbol] = frozenset().union(*({s} | self.reads.get(s, frozenset()) for s in symbols_of(value)))
        return Derived(symbol, Forall(variables, fact) if variables else fact, definition.span)

    def check_distinct(self, binders: Iterable[Binder]) -> None:
        seen: dict[str, Span] = {}
        for binder in binders:
            if binder.name in seen:
                duplicate(self.sink, binder.name, binder.span, seen[binder.name])
                raise Failed
            seen[binder.name] = binder.span
