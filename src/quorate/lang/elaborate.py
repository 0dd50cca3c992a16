"""From surface expressions to logic: names resolved, sorts inferred, definitions expanded.

Sorts of unannotated variables are found by unification.  Elaboration runs in two walks over the surface tree: `infer`
settles every sort and reports every error it meets, `build` makes the term and cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches

from quorate.lang.diagnostics import Diagnostic, Sink
from quorate.lang.reader import (
    Ascription,
    Binder,
    Conditional,
    Expression,
    Let,
    Literal,
    Operation,
    Quantifier,
    Reference,
    Shift,
)
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Arith,
    Number,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    distinct,
    equal,
    exists,
    forall,
    implies,
    ite,
    neg,
)
from quorate.logic.transform import prime, substitute, symbols_of
from quorate.models.source import Span


class Hole:
    """A sort not known yet: a union-find node that ends in a `Sort` once something determines it."""

    __slots__ = ("link",)

    def __init__(self) -> None:
        self.link: Hole | Sort | None = None


Kind = Hole | Sort


def resolve(kind: Kind) -> Kind:
    while isinstance(kind, Hole) and kind.link is not None:
        kind = kind.link
    return kind


def unify(left: Kind, right: Kind) -> bool:
    left, right = resolve(left), resolve(right)
    if left is right:
        return True
    if isinstance(left, Hole):
        left.link = right
        return True
    if isinstance(right, Hole):
        right.link = left
        return True
    return False


@dataclass(frozen=True)
class Macro:
    """A definition that is expanded where it is used; `states` is how many states its body speaks of."""

    parameters: tuple[Var, ...]
    body: Term
    states: int


@dataclass
class Local:
    """A bound variable during elaboration."""

    name: str
    kind: Kind
    span: Span

    def variable(self) -> Var:
        sort = resolve(self.kind)
        assert isinstance(sort, Sort)
        return Var(self.name, sort)


@dataclass
class Scope:
    """What names mean.  `macro` elaborates a definition on demand and answers None if there is none."""

    sorts: dict[str, Sort] = field(default_factory=lambda: {"bool": BOOL, "int": INT})
    symbols: dict[str, Symbol] = field(default_factory=dict)
    macro: Callable[[str, Span], Macro | None] = lambda name, span: None
    macro_names: Callable[[], Iterable[str]] = lambda: ()
    operator: Callable[[str, Sort, Span], Symbol | None] = lambda operator, sort, span: None
    """The symbol that an arithmetic operator or comparison stands for at a sort other than `int`."""
    numeral: Callable[[int, Sort, Span], Symbol | None] | None = None
    """The constant that a numeral stands for at a sort other than `int`; None where numerals are always integers."""


ARITHMETIC = ("+", "-", "*")
COMPARISONS = ("<", "<=", ">", ">=")


class Failed(Exception):
    """An error in an expression was reported; what contains it is left out."""


class Elaborator:
    """Elaborates the expressions of one declaration.

    `states` is how many states the declaration speaks of (0: rigid symbols only) and `now` the state in which a bare
    mutable symbol is read.  `implicit` says which free names stand for universally quantified variables.
    """

    def __init__(
        self, scope: Scope, sink: Sink, implicit: Callable[[str], bool], states: int = 1, now: int = 0
    ) -> None:
        self.scope = scope
        self.sink = sink
        self.implicit = implicit
        self.states = states
        self.now = now
        self.locals: list[Local] = []
        self.closure: dict[str, Local] = {}
        self.bound: dict[int, list[Local]] = {}
        self.kinds: dict[int, Kind] = {}
        self.failed = False

    # -- entry points ----------------------------------------------------------------------------------------------

    def parameters(self, binders: Iterable[Binder]) -> list[Local]:
        """Bring parameters into scope for the rest of this declaration."""
        made = [self.local(binder) for binder in binders]
        self.locals.extend(made)
        return made

    def formula(self, expression: Expression) -> Term:
        """A formula, universally closed over its implicit variables."""
        return self.term(expression, BOOL)

    def term(self, expression: Expression, kind: Kind) -> Term:
        """A term of the given sort; a formula is closed over its implicit variables.  Raises `Failed`."""
        self.closure = {}
        actual = self.infer(expression)
        self.expect(actual, kind, expression.span)
        self.settle()
        if self.failed:
            raise Failed
        body = self.build(expression)
        return forall([local.variable() for local in self.closure.values()], body) if body.sort is BOOL else body

    def settle(self) -> None:
        """Report variables whose sort nothing determines."""
        if self.failed:
            return
        for local in [
            *self.closure.values(),
            *self.locals,
            *(local for group in self.bound.values() for local in group),
        ]:
            if isinstance(resolve(local.kind), Hole):
                self.error(
                    "Q0204", f"cannot tell the sort of `{local.name}`", local.span, fix=f"write `{local.name}:SORT`"
                )

    # -- inference -------------------------------------------------------------------------------------------------

    def error(self, code: str, message: str, span: Span, *notes: str, fix: str | None = None) -> Kind:
        self.failed = True
        self.sink.error(code, message, span, *notes, fix=fix)
        return Hole()

    def expect(self, actual: Kind, wanted: Kind, span: Span) -> None:
        if not unify(actual, wanted):
            code = "Q0212" if resolve(wanted) is BOOL else "Q0203"
            self.error(code, f"this has sort {resolve(actual)}, but {resolve(wanted)} is needed here", span)

    def local(self, binder: Binder) -> Local:
        kind = Hole() if binder.sort is None else self.sort_named(binder.sort, binder.span)
        return Local(binder.name, kind, binder.span)

    def sort_named(self, name: str, span: Span) -> Kind:
        sort = self.scope.sorts.get(name)
        if sort is None:
            near = get_close_matches(name, self.scope.sorts, 1)
            return self.error("Q0206", f"unknown sort `{name}`", span, fix=_did_you_mean(near))
        return sort

    @contextmanager
    def binding(self, locals: Sequence[Local]) -> Iterator[None]:
        self.locals.extend(locals)
        yield
        del self.locals[len(self.locals) - len(locals) :]

    def lookup(self, name: str) -> Local | None:
        for local in reversed(self.locals):
            if local.name == name:
                return local
        return self.closure.get(name)

    def infer(self, expression: Expression) -> Kind:
        kind = self._infer(expression)
        self.kinds[id(expression)] = kind
        return kind

    def _infer(self, expression: Expression) -> Kind:
        match expression:
            case Literal(_, bool()):
                return BOOL
            case Literal():
                return Hole() if self.scope.numeral is not None else INT
            case Reference():
                return self.infer_reference(expression)
            case Operation(_, operator, operands):
                return self.infer_operation(expression, operator, operands)
            case Quantifier(_, _, binders, body):
                made = [self.local(binder) for binder in binders]
                self.bound[id(expression)] = made
                with self.binding(made):
                    self.expect(self.infer(body), BOOL, body.span)
                return BOOL
            case Conditional(_, condition, then, otherwise):
                self.expect(self.infer(condition), BOOL, condition.span)
                kind = self.infer(then)
                self.expect(self.infer(otherwise), kind, otherwise.span)
                return kind
            case Let(_, binder, value, body):
                made = [self.local(binder)]
                self.expect(self.infer(value), made[0].kind, value.span)
                self.bound[id(expression)] = made
                with self.binding(made):
                    return self.infer(body)
            case Shift(span, by, body):
                with self.shifted(by, span):
                    return self.infer(body)
            case Ascription(span, body, sort):
                kind = self.infer(body)
                self.expect(kind, self.sort_named(sort, span), span)
                return kind
        raise TypeError(f"unknown expression {expression!r}")

    @contextmanager
    def shifted(self, by: int, span: Span | None = None) -> Iterator[None]:
        self.now += by
        if span is not None and not 0 <= self.now < max(self.states, 1):
            self.error(
                "Q0207", "the new value is not available here" if by > 0 else "there is no earlier state here", span
            )
        yield
        self.now -= by

    def infer_reference(self, expression: Reference) -> Kind:
        name, span = expression.name, expression.span
        arguments = expression.arguments or ()
        local = self.lookup(name)
        if local is None and name in self.scope.symbols:
            symbol = self.scope.symbols[name]
            self.check_state(expression, symbol.mutable, 1)
            return self.infer_application(expression, symbol.arguments, symbol.sort)
        if local is None and (macro := self.scope.macro(name, span)) is not None:
            self.check_state(expression, macro.states > 0, macro.states)
            return self.infer_application(expression, [v.sort for v in macro.parameters], macro.body.sort)
        if local is None and expression.arguments is None and self.implicit(name):
            local = self.closure[name] = Local(name, Hole(), span)
        if local is not None:
            if expression.primes:
                self.error("Q0207", f"`{name}` is a variable: it has no new value", span)
            if expression.arguments is not None:
                self.error("Q0202", f"`{name}` is a variable and takes no arguments", span)
            return local.kind
        for argument in arguments:
            self.infer(argument)
        known = [*self.scope.symbols, *self.scope.macro_names(), *(local.name for local in self.locals)]
        return self.error("Q0201", f"unknown name `{name}`", span, fix=_did_you_mean(get_close_matches(name, known, 1)))

    def check_state(self, expression: Reference, mutable: bool, states: int) -> None:
        """A symbol or a `states`-state definition must lie within the states this declaration speaks of."""
        name, span, primes = expression.name, expression.span, expression.primes
        if not mutable:
            if primes:
                self.error("Q0207", f"`{name}` never changes, so it has no new value", span)
        elif self.states == 0:
            self.error("Q0208", f"`{name}` is mutable and cannot be used here", span)
        elif self.now + primes + states - 1 >= self.states:
            self.error("Q0207", f"the new value of `{name}` is not available here", span)

    def infer_application(self, expression: Reference, sorts: Sequence[Sort], result: Sort) -> Kind:
        arguments = expression.arguments or ()
        if len(arguments) != len(sorts):
            self.error(
                "Q0202",
                f"`{expression.name}` takes {_count(len(sorts))}, {len(arguments)} given",
                expression.span,
            )
        kinds = [self.infer(argument) for argument in arguments]
        for argument, kind, sort in zip(arguments, kinds, sorts, strict=False):
            self.expect(kind, sort, argument.span)
        return result

    def infer_operation(self, expression: Operation, operator: str, operands: tuple[Expression, ...]) -> Kind:
        if operator in ("&", "|", "!", "->", "<->"):
            for operand in operands:
                self.expect(self.infer(operand), BOOL, operand.span)
            return BOOL
        kind = self.infer(operands[0])
        for operand in operands[1:]:
            self.expect(self.infer(operand), kind, operand.span)
        if operator in ARITHMETIC:
            return kind
        return BOOL

    # -- building --------------------------------------------------------------------------------------------------

    def sort_of(self, expression: Expression) -> Sort:
        kind = resolve(self.kinds[id(expression)])
        return kind if isinstance(kind, Sort) else INT

    def build(self, expression: Expression) -> Term:
        match expression:
            case Literal(_, bool(value)):
                return TRUE if value else FALSE
            case Literal(span, value):
                sort = self.sort_of(expression)
                if sort is INT:
                    return Number(value)
                symbol = self.scope.numeral and self.scope.numeral(value, sort, span)
                if symbol is None:
                    self.error("Q0203", f"`{value}` is a number, but {sort} is needed here", span)
                    raise Failed
                return symbol()
            case Reference(_, name, primes, arguments):
                return self.build_reference(expression, name, primes, arguments or ())
            case Operation(_, operator, operands):
                return self.build_operation(expression, operator, operands)
            case Quantifier(_, universal, _, body):
                made = self.bound[id(expression)]
                with self.binding(made):
                    inner = self.build(body)
                return (forall if universal else exists)([local.variable() for local in made], inner)
            case Conditional(_, condition, then, otherwise):
                return ite(self.build(condition), self.build(then), self.build(otherwise))
            case Let(_, _, value, body):
                made = self.bound[id(expression)]
                with self.binding(made):
                    inner = self.build(body)
                return substitute(inner, {made[0].variable(): self.build(value)})
            case Shift(_, by, body):
                with self.shifted(by):
                    return self.build(body)
            case Ascription(_, body, _):
                return self.build(body)
        raise TypeError(f"unknown expression {expression!r}")

    def build_reference(self, expression: Reference, name: str, primes: int, arguments: tuple[Expression, ...]) -> Term:
        local = self.lookup(name)
        if local is not None:
            return local.variable()
        values = [self.build(argument) for argument in arguments]
        if name in self.scope.symbols:
            return self.scope.symbols[name].at(self.now + primes)(*values)
        macro = self.scope.macro(name, expression.span)
        assert macro is not None
        body = prime(macro.body, self.now + primes)
        return substitute(body, dict(zip(macro.parameters, values, strict=True)))

    def build_operation(self, expression: Operation, operator: str, operands: tuple[Expression, ...]) -> Term:
        terms = [self.build(operand) for operand in operands]
        match operator:
            case "&":
                return conj(*terms)
            case "|":
                return disj(*terms)
            case "!":
                return neg(*terms)
            case "->":
                return implies(*terms)
            case "<->" | "=":
                return equal(*terms)
            case "!=":
                return neg(equal(*terms))
            case "distinct":
                return distinct(terms)
        sort = terms[0].sort
        if sort is INT:
            return Arith(operator, *terms)
        symbol = self.scope.operator(operator, sort, expression.span)
        if symbol is None:
            self.error("Q0203", f"`{operator}` needs integers, but these have sort {sort}", expression.span)
            raise Failed
        return symbol(*terms)


def mutable_symbols(term: Term) -> set[str]:
    """Names of the mutable symbols in a term."""
    return {symbol.name for symbol in symbols_of(term) if symbol.mutable}


def _count(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _did_you_mean(near: list[str]) -> str | None:
    return f"did you mean `{near[0]}`?" if near else None


def duplicate(sink: Sink, name: str, span: Span, first: Span) -> None:
    """Report a second declaration of a name, pointing at the first."""
    sink.report(Diagnostic("Q0205", f"`{name}` is already declared", span, related=((first, "first declared here"),)))
