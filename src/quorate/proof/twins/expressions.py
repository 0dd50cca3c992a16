"""Expressions of the relational languages, ready to be evaluated on finite states.

Every form of the text has a class here.  `value` evaluates in the way a reader would.  `make` is for what the text assumes: it
lets the expression have a given value, by choosing table entries that nobody has looked at yet, and is impossible if the
expression has another value.  `r(X) <-> e` made true is so an assignment to r, without trying values in turn.  Names and sorts
are settled by the compilers of the two languages.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from quorate.proof.twins.choices import Choices, Impossible
from quorate.proof.twins.states import Arguments, Domains, Function, Kind, Table, Value, sort_of

NONE: frozenset[Variable] = frozenset()


class Variable:
    """A variable of the text; each place that introduces one has its own."""

    __slots__ = ("kind", "name", "sort")

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        self.kind = kind
        self.sort = ""

    def finish(self) -> None:
        self.sort = sort_of(self.kind, f"the variable {self.name}")


World = dict[Function, Table]


class Run:
    """One execution: the states it looks at, the values of variables, and the choices it is told.

    `worlds[now]` is the state in which a bare symbol is read.
    """

    def __init__(self, domains: Domains, choices: Choices, worlds: list[World]) -> None:
        self.domains = domains
        self.choices = choices
        self.worlds = worlds
        self.now = 0
        self.frame: dict[Variable, Any] = {}
        self.limit: int | None = None
        """How many elements of each sort are looked at where something is made true of all; None: every one."""

    def table(self, function: Function, primes: int) -> Table:
        return self.worlds[self.now + primes][function]

    def choose(self, sort: str) -> Value:
        return self.domains.choose(sort, self.choices)

    def assume(self, formulas: Sequence[Node]) -> None:
        """Let all formulas be true.

        First of one element of each sort, then of two, and so on: what contradicts each other is then found early, before
        much has been chosen.
        """
        for limit in (*range(1, max(self.domains.sizes.values(), default=1)), None):
            self.limit = limit
            for formula in formulas:
                formula.make(self, True)


class Node:
    """Base of the expressions; `variables` are those that it mentions and does not introduce."""

    variables: frozenset[Variable] = NONE

    def value(self, run: Run) -> Value:
        raise NotImplementedError

    def make(self, run: Run, value: Value) -> None:
        if self.value(run) != value:
            raise Impossible


def _variables(nodes: Collection[Node]) -> frozenset[Variable]:
    return NONE.union(*(node.variables for node in nodes))


class Constant(Node):
    def __init__(self, value: Value) -> None:
        self._value = value

    def value(self, run: Run) -> Value:
        return self._value


class Mention(Node):
    """A variable whose value does not change."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.variables = frozenset([variable])

    def value(self, run: Run) -> Value:
        found: Value = run.frame[self.variable]
        return found


class Entry(Node):
    """A place of a table: what an application of a symbol or a program variable stands for."""

    def __init__(self, arguments: Sequence[Node]) -> None:
        self.arguments = tuple(arguments)
        self.variables = _variables(self.arguments)

    def table(self, run: Run) -> Table:
        raise NotImplementedError

    def place(self, run: Run) -> Arguments:
        return tuple([argument.value(run) for argument in self.arguments])

    def value(self, run: Run) -> Value:
        place = self.place(run)
        return self.table(run).read(place)

    def make(self, run: Run, value: Value) -> None:
        place = self.place(run)
        self.table(run).make(place, value)

    def is_open(self, run: Run) -> bool:
        """Has nobody looked at the entry yet?"""
        place = self.place(run)
        return not self.table(run).knows(place)


class Application(Entry):
    """A symbol with arguments, perhaps primed."""

    def __init__(self, function: Function, arguments: Sequence[Node], primes: int = 0) -> None:
        super().__init__(arguments)
        self.function = function
        self.primes = primes

    def table(self, run: Run) -> Table:
        return run.table(self.function, self.primes)


class Computed(Node):
    """A symbol whose values the language fixes."""

    def __init__(self, compute: Callable[..., Value], arguments: Sequence[Node]) -> None:
        self.compute = compute
        self.arguments = tuple(arguments)
        self.variables = _variables(self.arguments)

    def value(self, run: Run) -> Value:
        return self.compute(*[argument.value(run) for argument in self.arguments])


class Not(Node):
    def __init__(self, body: Node) -> None:
        self.body = body
        self.variables = body.variables

    def value(self, run: Run) -> Value:
        return not self.body.value(run)

    def make(self, run: Run, value: Value) -> None:
        self.body.make(run, not value)


class Junction(Node):
    """A conjunction or a disjunction.  An implication is a disjunction whose first part is negated."""

    def __init__(self, conjunction: bool, parts: Sequence[Node]) -> None:
        self.conjunction = conjunction
        self.parts = tuple(parts)
        self.variables = _variables(self.parts)

    def value(self, run: Run) -> Value:
        for part in self.parts:
            if part.value(run) != self.conjunction:
                return not self.conjunction
        return self.conjunction

    def make(self, run: Run, value: Value) -> None:
        if value == self.conjunction:
            for part in self.parts:
                part.make(run, value)
            return
        _make_one(self.parts, run, value)


def _make_one(parts: Sequence[Node], run: Run, value: Value) -> None:
    """Let at least one of the parts have the value."""
    if not parts:
        raise Impossible
    for part in parts[:-1]:
        if part.value(run) == value:
            return
    parts[-1].make(run, value)


class Equality(Node):
    """`=` and `<->`."""

    def __init__(self, left: Node, right: Node) -> None:
        self.left = left
        self.right = right
        self.variables = left.variables | right.variables

    def value(self, run: Run) -> Value:
        return self.left.value(run) == self.right.value(run)

    def make(self, run: Run, value: Value) -> None:
        given, other = self.left, self.right
        if isinstance(given, Entry) and given.is_open(run):
            given, other = other, given
        known = given.value(run)
        if value:
            other.make(run, known)
        elif isinstance(known, bool):
            other.make(run, not known)
        elif other.value(run) == known:
            raise Impossible


class Distinct(Node):
    def __init__(self, parts: Sequence[Node]) -> None:
        self.parts = tuple(parts)
        self.variables = _variables(self.parts)

    def value(self, run: Run) -> Value:
        return len({part.value(run) for part in self.parts}) == len(self.parts)


OPERATORS: dict[str, Callable[[Any, Any], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class If(Node):
    def __init__(self, condition: Node, then: Node, otherwise: Node) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        self.variables = _variables((condition, then, otherwise))

    def value(self, run: Run) -> Value:
        return (self.then if self.condition.value(run) else self.otherwise).value(run)

    def make(self, run: Run, value: Value) -> None:
        (self.then if self.condition.value(run) else self.otherwise).make(run, value)


class Quantification(Node):
    """`forall` and `exists`.

    The body of `forall` is seen as a disjunction, that of `exists` as a conjunction.  Each part is looked at as soon as its
    variables have values, since it may decide before the others do.
    """

    def __init__(self, universal: bool, binders: Sequence[Variable], body: Node) -> None:
        self.universal = universal
        parts = _parts(body, conjunction=not universal)
        mentioned = _variables(parts)
        self.binders = [binder for binder in binders if binder in mentioned]
        self.variables = mentioned.difference(binders)
        self.due: list[list[Node]] = [[] for _ in self.binders] or [[]]
        for part in parts:
            places = [number for number, binder in enumerate(self.binders) if binder in part.variables]
            self.due[max(places, default=0)].append(part)

    def value(self, run: Run) -> Value:
        if not self.binders:
            return any(part.value(run) == self.universal for part in self.due[0]) == self.universal
        return self._decided(run, 0) != self.universal

    def _decided(self, run: Run, number: int) -> bool:
        """Do some values of the variables from this one on decide the whole: against all, or for some?"""
        binder = self.binders[number]
        for value in run.domains.values(binder.sort):
            run.frame[binder] = value
            if any(part.value(run) == self.universal for part in self.due[number]):
                continue
            if number + 1 == len(self.binders) or self._decided(run, number + 1):
                return True
        return False

    def make(self, run: Run, value: Value) -> None:
        if value == self.universal:
            self._make_all(run, 0)
        else:
            super().make(run, value)

    def _make_all(self, run: Run, number: int) -> None:
        """Let every instance of the body be so."""
        if number + 1 >= len(self.binders):
            for _ in self._each(run, number):
                _make_one(self.due[number], run, self.universal)
            return
        for _ in self._each(run, number):
            if all(part.value(run) != self.universal for part in self.due[number]):
                self._make_all(run, number + 1)

    def _each(self, run: Run, number: int) -> Iterator[None]:
        """Let a variable have its values in turn."""
        if not self.binders:
            yield
            return
        binder = self.binders[number]
        for value in islice(run.domains.values(binder.sort), run.limit):
            run.frame[binder] = value
            yield


def _parts(body: Node, conjunction: bool) -> list[Node]:
    """The parts of a conjunction or disjunction, however it is written."""
    match body:
        case Junction(conjunction=kind, parts=parts) if kind == conjunction:
            return [item for part in parts for item in _parts(part, conjunction)]
        case Not(body=Junction(conjunction=kind, parts=parts)) if kind != conjunction:
            return [item for part in parts for item in _parts(Not(part), conjunction)]
        case Not(body=Not(body=inner)):
            return _parts(inner, conjunction)
    return [body]


def effort(node: Node) -> int:
    """Roughly how many instances a formula has: those that are soon decided are looked at first."""
    match node:
        case Quantification(binders=binders, due=due):
            return len(binders) + max((effort(part) for parts in due for part in parts), default=0)
        case Junction(parts=parts):
            return max(map(effort, parts), default=0)
        case Not(body=body):
            return effort(body)
    return 0


class Let(Node):
    def __init__(self, variable: Variable, given: Node, body: Node) -> None:
        self.variable = variable
        self.given = given
        self.body = body
        self.variables = given.variables | (body.variables - {variable})

    def value(self, run: Run) -> Value:
        run.frame[self.variable] = self.given.value(run)
        return self.body.value(run)


class Shift(Node):
    """The expression in another state."""

    def __init__(self, by: int, body: Node) -> None:
        self.by = by
        self.body = body
        self.variables = body.variables

    def value(self, run: Run) -> Value:
        run.now += self.by
        found = self.body.value(run)
        run.now -= self.by
        return found

    def make(self, run: Run, value: Value) -> None:
        run.now += self.by
        self.body.make(run, value)
        run.now -= self.by


@dataclass(eq=False)
class Definition:
    """A name for an expression with parameters; `body` is set once the text of the definition has been read."""

    name: str
    parameters: tuple[Variable, ...]
    result: Kind
    body: Node = field(default_factory=Node)


class Call(Node):
    """A definition with arguments: its body is evaluated, in the state `by` steps from here."""

    def __init__(self, definition: Definition, arguments: Sequence[Node], by: int = 0) -> None:
        self.definition = definition
        self.arguments = tuple(arguments)
        self.by = by
        self.variables = _variables(self.arguments)

    def value(self, run: Run) -> Value:
        saved = self._enter(run)
        found = self.definition.body.value(run)
        self._leave(run, saved)
        return found

    def make(self, run: Run, value: Value) -> None:
        saved = self._enter(run)
        self.definition.body.make(run, value)
        self._leave(run, saved)

    def _enter(self, run: Run) -> dict[Variable, Any]:
        values = [argument.value(run) for argument in self.arguments]
        saved, run.frame = run.frame, dict(zip(self.definition.parameters, values, strict=True))
        run.now += self.by
        return saved

    def _leave(self, run: Run, saved: dict[Variable, Any]) -> None:
        run.frame = saved
        run.now -= self.by


class Deferred(Node):
    """An expression whose meaning depends on a sort that is found out later."""

    def __init__(self, arguments: Sequence[Node] = ()) -> None:
        self.variables = _variables(arguments)
        self.inner = Node()

    def value(self, run: Run) -> Value:
        return self.inner.value(run)

    def make(self, run: Run, value: Value) -> None:
        self.inner.make(run, value)
