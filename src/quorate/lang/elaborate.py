"""From surface expressions to logic: names resolved, sorts inferred, definitions expanded.

Sorts of unannotated variables are found by unification.  Elaboration runs in two walks over the surface tree: `infer`
settles every sort and reports every error it meets, `build` makes the term and fails only where that becomes too large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    Apply,
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
from quorate.logic.transform import Lambda, prime, replace_symbols, simplify, substitute
from quorate.models.source import Span

MAX_TERM_DEPTH = 96
"""How deep a term may be once definitions are expanded: every level takes at most two levels of text to print."""

MAX_TERM_SIZE = 100_000
"""How large a term may be, counting shared parts as often as they occur."""


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
    macro_names: Callable[[], Collection[str]] = lambda: ()
    broken: set[str] = field(default_factory=set)
    """Names whose declaration has an error that was reported; what uses them is not reported as well."""
    operator: Callable[[str, Sort, Span], Symbol | None] = lambda operator, sort, span: None
    """The symbol that an arithmetic operator or comparison stands for at a sort other than `int`."""
    numeral: Callable[[int, Sort, Span], Symbol | None] | None = None
    """The constant that a numeral stands for at a sort other than `int`; None where all arithmetic is on integers."""
    measures: dict[Term, tuple[int, int]] = field(default_factory=dict)
    """Size and depth of the terms made so far."""


ARITHMETIC = ("+", "-", "*")
COMPARISONS = ("<", "<=", ">", ">=")


class Failed(Exception):
    """An error in an expression was reported; what contains it is left out."""


class TooLarge(Exception):
    """Replacing symbols by their definitions would give a term that is too large to work with."""


class Elaborator:
    """Elaborates the expressions of one declaration.

    `states` is how many states the declaration speaks of (0: rigid symbols only) and `now` the state in which a bare
    mutable symbol is read.  `implicit` says which free names stand for universally quantified variables.
    """

    empty_parentheses = True
    """Whether a symbol without arguments may be written `c()`."""

    def __init__(
        self, scope: Scope, sink: Sink, implicit: Callable[[str], bool], states: int = 1, now: int = 0
    ) -> None:
        self.scope = scope
        self.sink = sink
        self.implicit = implicit
        self.states = states
        self.now = now
        self.locals = []
        self.closure: dict[str, Local] = {}
        self.bound: dict[int, list[Local]] = {}
        self.kinds: dict[int, Kind] = {}
        self.failed = False

    @property
    def locals(self) -> list[Local]:
        """The variables in scope, inner ones last."""
        return self._locals

    @locals.setter
    def locals(self, locals: list[Local]) -> None:
        self._locals = locals
        self.visible = {local.name: local for local in locals}

    # -- entry points ----------------------------------------------------------------------------------------------

    def parameters(self, binders: Iterable[Binder]) -> list[Local]:
        """Bring parameters into scope for the rest of this declaration."""
        made = self.group(binders)
        self.locals = [*self.locals, *made]
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
        body = self.limited(self.build(expression), expression.span)
        if body.sort is BOOL:
            return forall([local.variable() for local in self.closure.values()], body)
        for local in self.closure.values():
            self.error("Q0221", f"the variable `{local.name}` is not bound here", local.span)
        if self.closure:
            raise Failed
        return body

    def limited(self, term: Term, span: Span) -> Term:
        """The term, unless it is too large or too deep to work with.  Raises `Failed`."""
        size, depth = measure(term, self.scope.measures)
        if size > MAX_TERM_SIZE:
            self.error("Q0222", "this is too large once definitions are expanded", span)
        elif depth > MAX_TERM_DEPTH:
            self.error("Q0103", f"nested more than {MAX_TERM_DEPTH} levels deep once definitions are expanded", span)
        else:
            return term
        raise Failed

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
            code, what = ("Q0212", "a formula") if resolve(wanted) is BOOL else ("Q0203", f"{resolve(wanted)}")
            self.error(code, f"this has sort {resolve(actual)}, but {what} is needed here", span)

    def local(self, binder: Binder) -> Local:
        kind = Hole() if binder.sort is None else self.sort_named(binder.sort, binder.span)
        return Local(binder.name, kind, binder.span)

    def group(self, binders: Iterable[Binder]) -> list[Local]:
        """Variables that are introduced together."""
        return [self.local(binder) for binder in binders]

    def sort_named(self, name: str, span: Span) -> Kind:
        sort = self.scope.sorts.get(name)
        if sort is None:
            near = get_close_matches(name, self.scope.sorts, 1)
            return self.error("Q0206", f"unknown sort `{name}`", span, fix=_did_you_mean(near))
        return sort

    @contextmanager
    def binding(self, locals: Sequence[Local]) -> Iterator[None]:
        hidden = {local.name: self.visible.get(local.name) for local in locals}
        self._locals.extend(locals)
        self.visible.update((local.name, local) for local in locals)
        yield
        del self._locals[len(self._locals) - len(locals) :]
        for name, local in hidden.items():
            if local is None:
                del self.visible[name]
            else:
                self.visible[name] = local

    def lookup(self, name: str) -> Local | None:
        return self.visible.get(name) or self.closure.get(name)

    def infer(self, expression: Expression) -> Kind:
        match expression:
            case Literal(_, bool()):
                return BOOL
            case Literal():
                kind = self.kinds[id(expression)] = Hole() if self.scope.numeral is not None else INT
                return kind
            case Reference():
                return self.infer_reference(expression)
            case Operation(_, operator, operands):
                return self.infer_operation(expression, operator, operands)
            case Quantifier(_, _, binders, body):
                made = self.group(binders)
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

    @property
    def inside(self) -> bool:
        """Is the state in which symbols are read now one that the declaration speaks of?"""
        return 0 <= self.now < max(self.states, 1)

    @contextmanager
    def shifted(self, by: int, span: Span | None = None) -> Iterator[None]:
        was_inside = self.inside
        self.now += by
        if span is not None and was_inside and not self.inside:
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
                return self.error("Q0202", f"`{name}` is a variable and takes no arguments", span)
            return local.kind
        for argument in arguments:
            self.infer(argument)
        if name in self.scope.broken:
            self.failed = True
            return Hole()
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
        elif self.inside and self.now + primes + states - 1 >= self.states:
            self.error("Q0207", f"the new value of `{name}` is not available here", span)

    def infer_application(self, expression: Reference, sorts: Sequence[Sort], result: Sort) -> Kind:
        arguments = expression.arguments or ()
        if len(arguments) != len(sorts):
            self.error(
                "Q0202",
                f"`{expression.name}` takes {argument_count(len(sorts))}, {len(arguments)} given",
                expression.span,
            )
        elif expression.arguments == () and not self.empty_parentheses:
            self.error(
                "Q0202",
                f"`{expression.name}` takes no arguments",
                expression.span,
                fix=f"write `{expression.name}` without parentheses",
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
        integers = self.scope.numeral is None and operator in ARITHMETIC + COMPARISONS
        kind: Kind = INT if integers else Hole()
        for operand in operands:
            self.expect(self.infer(operand), kind, operand.span)
        return kind if operator in ARITHMETIC else BOOL

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
            case Let(span, _, value, body):
                made = self.bound[id(expression)]
                with self.binding(made):
                    inner = self.build(body)
                return self.expanded((made[0].variable(),), inner, [self.build(value)], span)
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
        return self.expanded(macro.parameters, prime(macro.body, self.now + primes), values, expression.span)

    def expanded(self, variables: tuple[Var, ...], body: Term, values: list[Term], span: Span) -> Term:
        """The body with values for its variables, unless that is too large.  Raises `Failed`."""
        self.limited(body, span)
        for value in values:
            self.limited(value, span)
        return self.limited(substitute(body, dict(zip(variables, values, strict=True))), span)

    def build_operation(self, expression: Operation, operator: str, operands: tuple[Expression, ...]) -> Term:
        terms = [self.build(operand) for operand in operands]
        if operator == "distinct" and len(terms) ** 2 > MAX_TERM_SIZE:
            self.error("Q0222", f"{len(terms)} terms are too many to compare them all", expression.span)
            raise Failed
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


def normal(term: Term) -> Term:
    """The term with all trivial parts folded, in the form in which it is printed and read back unchanged."""
    while (simpler := simplify(term)) is not term:
        term = simpler
    return term


def measure(term: Term, known: dict[Term, tuple[int, int]]) -> tuple[int, int]:
    """Size, counting shared parts as often as they occur, and depth; `known` remembers both for all subterms."""
    stack = [term]
    while stack:
        top = stack[-1]
        missing = [child for child in top.children if child not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        sizes = [known[child] for child in top.children]
        known[top] = 1 + sum(size for size, _ in sizes), 1 + max((depth for _, depth in sizes), default=0)
    return known[term]


def replaced(term: Term, definitions: Mapping[Symbol, Lambda]) -> Term:
    """The term with symbols replaced by their definitions, unless that may be too large.  Raises `TooLarge`."""
    known: dict[Term, tuple[int, int]] = {}
    size, depth = measure_replaced(term, {s: measure(value, known) for s, (_, value) in definitions.items()})
    if size > 10 * MAX_TERM_SIZE or depth > MAX_TERM_DEPTH:
        raise TooLarge
    return replace_symbols(term, definitions)


def measure_replaced(term: Term, weights: Mapping[Symbol, tuple[int, int]]) -> tuple[int, int]:
    """At most how large and how deep the term is once symbols are replaced by definitions of the given measures."""
    memo: dict[Term, tuple[int, int]] = {}

    def walk(term: Term) -> tuple[int, int]:
        if term not in memo:
            inner = [walk(child) for child in term.children]
            size, depth = weights.get(term.symbol, (1, 1)) if isinstance(term, Apply) else (1, 1)
            below = sum(part for part, _ in inner)
            size = size * (1 + below) if size > 1 else size + below
            memo[term] = size, depth + max((part for _, part in inner), default=0)
        return memo[term]

    return walk(term)


def references(*roots: Expression) -> Iterator[Reference]:
    """Every reference in the expressions, in no particular order."""
    return (item for item in subexpressions(*roots) if isinstance(item, Reference))


def free_references(bound: Collection[str], *roots: Expression) -> Iterator[Reference]:
    """References to names that are neither in `bound` nor introduced around them, in no particular order."""
    stack = [(root, frozenset(bound)) for root in roots]
    while stack:
        top, hidden = stack.pop()
        match top:
            case Reference(name=name) if name not in hidden:
                yield top
            case Quantifier(binders=binders, body=body):
                stack.append((body, hidden.union(binder.name for binder in binders)))
                continue
            case Let(binder=binder, value=value, body=body):
                stack += [(value, hidden), (body, hidden | {binder.name})]
                continue
        stack += [(inner, hidden) for inner in parts(top)]


def subexpressions(*roots: Expression) -> Iterator[Expression]:
    """The expressions and everything in them, in no particular order."""
    stack = list(roots)
    while stack:
        top = stack.pop()
        yield top
        stack += parts(top)


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions right inside this one."""
    match expression:
        case Reference(arguments=arguments):
            return arguments or ()
        case Operation(operands=operands):
            return operands
        case Quantifier(body=body) | Shift(body=body) | Ascription(body=body):
            return (body,)
        case Conditional(_, condition, then, otherwise):
            return condition, then, otherwise
        case Let(_, _, value, body):
            return value, body
    return ()


def argument_count(number: int) -> str:
    """As in "takes 2 arguments"."""
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _did_you_mean(near: list[str]) -> str | None:
    return f"did you mean `{near[0]}`?" if near else None


def duplicate(sink: Sink, name: str, span: Span, first: Span) -> None:
    """Report a second declaration of a name, pointing at the first."""
    sink.report(Diagnostic("Q0205", f"`{name}` is already declared", span, related=((first, "first declared here"),)))
