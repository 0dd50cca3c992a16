"""What both relational languages have in common when names and sorts of an expression are settled.

`Reader` walks once over a surface expression and makes a node of it.  Sorts of variables are found by unification; what
depends on a sort that is not known yet waits in `later` until the whole text has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from quorate.lang.reader import (
    Ascription,
    Binder,
    Conditional,
    Expression,
    Literal,
    Operation,
    Quantifier,
    Reference,
)
from quorate.lang.reader import Let as LetExpression
from quorate.lang.reader import Shift as ShiftExpression
from quorate.proof.twins import TwinError
from quorate.proof.twins.expressions import (
    OPERATORS,
    Constant,
    Definition,
    Distinct,
    Equality,
    If,
    Junction,
    Let,
    Mention,
    Node,
    Not,
    Quantification,
    Shift,
    Variable,
)
from quorate.proof.twins.states import BOOL, INT, Function, Hole, Kind, unify

Typed = tuple[Node, Kind]

Names = Mapping[str, Variable]
"""The variables in scope, under their names."""

CONNECTIVES = ("&", "|", "!", "->", "<->")


class Reader:
    """Makes nodes of surface expressions; the two languages say what references, numbers and operators mean.

    `closure` are the variables of the present formula that nothing introduces.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.variables: list[Variable] = []
        self.closure: dict[str, Variable] = {}
        self.later: list[Callable[[], None]] = []
        self.quantified: list[Quantification] = []

    # -- what the languages say ------------------------------------------------------------------------------------

    def sort(self, name: str, names: Names) -> str:
        """The sort that a name means."""
        raise NotImplementedError

    def reference(self, expression: Reference, names: Names) -> Typed:
        raise NotImplementedError

    def number(self, value: int) -> Typed:
        raise NotImplementedError

    def arithmetic(self, operator: str, left: Typed, right: Typed) -> Typed:
        raise NotImplementedError

    # -- entry points ----------------------------------------------------------------------------------------------

    def closed(self, expression: Expression, names: Names) -> Node:
        """A formula, for all values of the variables that nothing introduces."""
        saved, self.closure = self.closure, {}
        node = self.formula(expression, names)
        binders, self.closure = list(self.closure.values()), saved
        return self.quantification(True, binders, node)

    def finish(self) -> None:
        """Settle what waited for the sorts of the whole text."""
        for action in self.later:
            action()
        for variable in self.variables:
            variable.finish()
        for function in self.functions.values():
            function.finish()
            if INT in function.sorts:
                raise TwinError(f"the integers are arguments of {function.name}")
        for node in self.quantified:
            if any(binder.sort == INT for binder in node.binders):
                raise TwinError("a variable ranges over all integers")

    def quantification(self, universal: bool, binders: Sequence[Variable], body: Node) -> Node:
        if not binders:
            return body
        self.quantified.append(Quantification(universal, binders, body))
        return self.quantified[-1]

    # -- expressions -----------------------------------------------------------------------------------------------

    def variable(self, name: str, kind: Kind) -> Variable:
        made = Variable(name, kind)
        self.variables.append(made)
        return made

    def bind(self, binders: Sequence[Binder], names: Names) -> list[Variable]:
        """Variables that are introduced together."""
        return [self.variable(b.name, Hole() if b.sort is None else self.sort(b.sort, names)) for b in binders]

    def implicit(self, name: str) -> Typed:
        """A variable that nothing introduces."""
        if name not in self.closure:
            self.closure[name] = self.variable(name, Hole())
        return Mention(self.closure[name]), self.closure[name].kind

    def formula(self, expression: Expression, names: Names) -> Node:
        return self.of_sort(expression, BOOL, names)

    def of_sort(self, expression: Expression, kind: Kind, names: Names) -> Node:
        node, found = self.read(expression, names)
        unify(found, kind, _where(expression))
        return node

    def read(self, expression: Expression, names: Names) -> Typed:
        match expression:
            case Literal(_, bool(value)):
                return Constant(value), BOOL
            case Literal(_, value):
                return self.number(value)
            case Reference():
                return self.reference(expression, names)
            case Operation(_, operator, operands) if operator in CONNECTIVES:
                return self.connective(operator, [self.formula(operand, names) for operand in operands]), BOOL
            case Operation(_, operator, operands):
                return self.operation(expression, operator, [self.read(operand, names) for operand in operands])
            case Quantifier(_, universal, binders, body):
                made = self.bind(binders, names)
                inner = {**names, **{variable.name: variable for variable in made}}
                return self.quantification(universal, made, self.formula(body, inner)), BOOL
            case Conditional(_, condition, then, otherwise):
                return self.conditional(condition, then, otherwise, names)
            case LetExpression(_, binder, value, body):
                (variable,) = self.bind([binder], names)
                given = self.of_sort(value, variable.kind, names)
                node, kind = self.read(body, {**names, variable.name: variable})
                return Let(variable, given, node), kind
            case ShiftExpression(_, by, body):
                return self.shifted(by, body, names)
            case Ascription(_, body, sort):
                node, kind = self.read(body, names)
                unify(kind, self.sort(sort, names), _where(expression))
                return node, kind
        raise TwinError(f"this is not executed: {_where(expression)}")

    def conditional(self, condition: Expression, then: Expression, otherwise: Expression, names: Names) -> Typed:
        test = self.formula(condition, names)
        first, kind = self.read(then, names)
        return If(test, first, self.of_sort(otherwise, kind, names)), kind

    def shifted(self, by: int, body: Expression, names: Names) -> Typed:
        node, kind = self.read(body, names)
        return Shift(by, node), kind

    def connective(self, operator: str, parts: list[Node]) -> Node:
        match operator:
            case "&" | "|":
                return Junction(operator == "&", parts)
            case "!":
                return Not(*parts)
            case "->":
                return Junction(False, (Not(parts[0]), parts[1]))
        return Equality(*parts)

    def operation(self, expression: Expression, operator: str, operands: list[Typed]) -> Typed:
        for _, kind in operands[1:]:
            unify(operands[0][1], kind, _where(expression))
        nodes = [node for node, _ in operands]
        match operator:
            case "=":
                return Equality(*nodes), BOOL
            case "!=":
                return Not(Equality(*nodes)), BOOL
            case "distinct":
                return Distinct(nodes), BOOL
        if operator not in OPERATORS and operator not in ("le", "gt", "ge"):
            raise TwinError(f"the operator {operator} is not executed: {_where(expression)}")
        return self.arithmetic(operator, *operands)

    def arguments(
        self, expression: Reference, given: Sequence[Expression], kinds: Sequence[Kind], names: Names
    ) -> list[Node]:
        if len(given) != len(kinds):
            raise TwinError(f"{expression.name} takes {len(kinds)} arguments: {_where(expression)}")
        return [self.of_sort(argument, kind, names) for argument, kind in zip(given, kinds, strict=True)]

    def parameters_of(self, definition: Definition) -> list[Kind]:
        return [parameter.kind for parameter in definition.parameters]


def _where(expression: Expression) -> str:
    span = expression.span
    return f"`{span.source.text[span.start : span.end][:40]}` in line {span.line}"
