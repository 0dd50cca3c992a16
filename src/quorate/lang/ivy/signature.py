"""Sorts, symbols and definitions of a flat Ivy program, and the elaborator that knows them.

A symbol is mutable if any code assigns it.  `<`, `+` and numerals exist at every sort: at an uninterpreted sort `t`
they are rigid symbols named `t.<`, `t.+` and `t.0`.  Read `actions` for what the code does to the symbols.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import replace

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import COMPARISONS, Elaborator, Failed, Kind, Scope, argument_count, duplicate, normal
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import Program
from quorate.lang.ivy.renaming import mentioned
from quorate.lang.reader import Binder, Expression, Operation, Reference
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
    neg,
)
from quorate.logic.transform import Lambda, fresh_variables, substitute, symbols_of
from quorate.models.relational import Derived
from quorate.models.source import Span

MAX_ELEMENTS = 64


def is_variable(name: str) -> bool:
    """Names that start with an upper-case letter are logical variables."""
    return name[0].isupper()


def variable_name(name: str) -> str:
    """The name as that of a logical variable."""
    return name if name[0].isupper() else name[0].upper() + name[1:] if name[0].isalpha() else "X" + name


class IvyElaborator(Elaborator):
    """Adds the order and the numerals of every sort to the shared elaborator."""

    actions: frozenset[str] = frozenset()

    def closed(self, expression: Expression, kind: Kind) -> Term:
        """A term in which every variable is bound.  Raises `Failed`."""
        term = self.term(expression, kind)
        for local in self.closure.values():
            self.error("Q0221", f"the variable `{local.name}` is not bound here", local.span)
        if self.closure:
            raise Failed
        return term

    def infer_reference(self, expression: Reference) -> Kind:
        name = expression.name
        if name in self.actions and name not in self.scope.symbols and self.lookup(name) is None:
            return self.error("Q0104", f"`{name}` is an action; calls in formulas are not supported", expression.span)
        return super().infer_reference(expression)

    def build_operation(self, expression: Operation, operator: str, operands: tuple[Expression, ...]) -> Term:
        if operator not in COMPARISONS:
            return super().build_operation(expression, operator, operands)
        left, right = (self.build(operand) for operand in operands)
        less = None if left.sort is INT else self.scope.operator("<", left.sort, expression.span)
        if less is None:
            return super().build_operation(expression, operator, operands)
        if operator in (">", ">="):
            left, right = right, left
        return less(left, right) if operator in "<>" else disj(less(left, right), equal(left, right))


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
        self.derived: list[Derived] = []
        self.definitions: dict[Symbol, Lambda] = {}
        self.reads: dict[Symbol, frozenset[Symbol]] = {}
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

    def interpreted(self, name: str, item: syntax.Interpretation) -> Sort:
        target, span = item.target, item.span
        if not isinstance(target, str):
            return self.enumerated(name, target, span)
        if target == "int":
            return INT
        vector = re.fullmatch(r"bv\[([0-9]{1,3})\]", target)
        if vector is not None and 0 < int(vector.group(1)) <= 4:
            return self.enumerated(name, syntax.Range(0, 2 ** int(vector.group(1)) - 1), span)
        note = {"nat": "the natural numbers are not a sort of their own here; an abstract ordered sort often does"}
        self.sink.error(
            "Q0104", f"the interpretation of `{name}` as `{target}` is not supported", span, fix=note.get(target)
        )
        return Sort(name)

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
            if name is None:
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
        if sort is BOOL or (operator != "<" and sort.elements):
            return None
        name = f"{sort.name}.{operator}"
        symbol = Symbol(name, (sort, sort), BOOL if operator == "<" else sort)
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

    def order_axioms(self, used: Container[Symbol]) -> list[tuple[str, Term]]:
        """What `<` is on the ranges of numbers for which it is used."""
        axioms = []
        for sort in sorted(self.ordered, key=lambda sort: sort.name):
            less = Symbol(f"{sort.name}.<", (sort, sort), BOOL)
            if less in used:
                numbers = [Symbol(element, (), sort)() for element in sort.elements]
                facts = [
                    less(low, high) if i < j else neg(less(low, high))
                    for i, low in enumerate(numbers)
                    for j, high in enumerate(numbers)
                ]
                axioms.append((f"{sort.name}.order", conj(*facts)))
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
        order = {definition.name: i for i, definition in enumerate(self.program.definitions)}
        made: list[tuple[int, Derived]] = []
        visited: dict[str, bool] = {}
        for name in list(pending):
            self.visit(name, pending, visited, order, made)
        self.derived = [item for _, item in sorted(made, key=lambda entry: entry[0])]

    def visit(
        self,
        name: str,
        pending: dict[str, syntax.DefinitionDeclaration],
        finished: dict[str, bool],
        order: dict[str, int],
        made: list[tuple[int, Derived]],
    ) -> None:
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
                    finished[top] = False
                    stack.pop()
                else:
                    stack.append(open_ones[0])
                continue
            stack.pop()
            item = self.define(pending[top])
            finished[top] = item is not None
            if item is not None:
                made.append((order[top], item))

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
        if elaborator.closure and value.sort is not BOOL:
            elaborator.closed(definition.value, value.sort)
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
