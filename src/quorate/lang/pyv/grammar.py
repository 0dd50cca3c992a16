"""The grammar of mypyvy files, current and old dialect: text to declarations.

The grammar follows mypyvy's own parser (wilcoxjay/mypyvy, src/parser.py).  Read `elaborate` beside this for what the
declarations mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import free_references
from quorate.lang.reader import (
    Binder,
    Conditional,
    Expression,
    Let,
    Lexicon,
    Literal,
    Operation,
    Operators,
    Quantifier,
    Reference,
    Shift,
    SyntaxProblem,
    Token,
    tokenize,
)
from quorate.lang.temporal import EXTENTS, FairnessDeclaration, LivenessDeclaration, TemporalParser
from quorate.logic.transform import fresh_name
from quorate.models.source import Source, Span

KEYWORDS = frozenset(
    [
        "modifies",
        "sort",
        "mutable",
        "immutable",
        "derived",
        "relation",
        "constant",
        "function",
        "init",
        "transition",
        "invariant",
        "axiom",
        "new",
        "forall",
        "exists",
        "true",
        "false",
        "zerostate",
        "onestate",
        "twostate",
        "theorem",
        "definition",
        "assert",
        "safety",
        "any",
        "trace",
        "if",
        "then",
        "else",
        "let",
        "in",
        "sat",
        "unsat",
        "distinct",
        "bool",
        "int",
        "fbii",
        "prophecy",
        "by",
    ]
)

LEXICON = Lexicon(
    re.compile(
        r"(?P<skip>\s+|\#[^\n]*)|(?P<annotation>@[-A-Za-z_0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)"
        r"|(?P<mark><->|->|~>|!=|~=|<=|>=|:=|[()\[\]{}.:,;'&|!~=<>+\-*])"
    ),
    KEYWORDS,
)

OPERATORS = Operators(
    binary={
        "<->": (10, 12),
        "->": (20, 20),
        "|": (30, 31),
        "&": (40, 41),
        **dict.fromkeys(("=", "!=", "~=", "<", "<=", ">", ">="), (50, 52)),
        **dict.fromkeys("+-", (60, 61)),
        "*": (70, 71),
    },
    negation={"!": 80, "~": 80},
    spelling={"~=": "!="},
)

STATES = {"zerostate": 0, "onestate": 1, "twostate": 2}


@dataclass(frozen=True)
class SortDeclaration:
    """`sort node`; `extent` is the word before it, `finite` or `unbounded`, if there is one."""

    name: str
    span: Span
    extent: str | None = None


@dataclass(frozen=True)
class SymbolDeclaration:
    """A relation, constant or function; `result` is "bool" for relations, `formula` is set for derived ones."""

    name: str
    arguments: tuple[tuple[str, Span], ...]
    result: tuple[str, Span] | None
    mutable: bool
    span: Span
    formula: Expression | None = None


@dataclass(frozen=True)
class FormulaDeclaration:
    """`kind` is axiom, init, safety, invariant or theorem; `states` matters for theorems."""

    kind: str
    label: str | None
    formula: Expression
    span: Span
    states: int = 1


@dataclass(frozen=True)
class Definition:
    """A definition or a transition: a body with parameters; `modifies` is None if the body frames everything.

    The span is that of the head, up to the parameters.  The body of an imperative one was made from statements and says
    `new(e)` whatever the dialect of the file.
    """

    name: str
    parameters: tuple[Binder, ...]
    modifies: tuple[tuple[str, Span], ...] | None
    body: Expression
    states: int
    transition: bool
    span: Span
    imperative: bool = False


@dataclass(frozen=True)
class Automaton:
    """A phase automaton: what holds in each of its phases."""

    phases: tuple[tuple[FormulaDeclaration, ...], ...]
    span: Span


@dataclass(frozen=True)
class TraceComponent:
    """`assert init`, `assert e`, `any transition`, or calls; an argument of a call is None for `*`."""

    span: Span
    assertion: Expression | None = None
    initial: bool = False
    any_transition: bool = False
    calls: tuple[tuple[str, tuple[Expression | None, ...] | None, Span], ...] = ()


@dataclass(frozen=True)
class TraceDeclaration:
    satisfiable: bool
    components: tuple[TraceComponent, ...]
    span: Span


Declaration = (
    SortDeclaration
    | SymbolDeclaration
    | FormulaDeclaration
    | Definition
    | Automaton
    | TraceDeclaration
    | LivenessDeclaration
    | FairnessDeclaration
)

STARTS = frozenset(
    [
        "sort",
        "mutable",
        "immutable",
        "derived",
        "axiom",
        "init",
        "safety",
        "invariant",
        "zerostate",
        "onestate",
        "twostate",
        "theorem",
        "definition",
        "transition",
        "sat",
        "unsat",
        "trace",
        "fbii",
    ]
)


UNNAMED = frozenset(["axiom", "init", "safety", "invariant", "theorem"])
"""Declarations in which a name stands in brackets, if there is one."""

MAX_STUMBLES = 50

ENDS = frozenset(["name", "number", "annotation", "true", "false", ")", "]", "}", "'"])


class PyvParser(TemporalParser):
    """Declarations of a mypyvy file; `broken` are the names that faulty ones would have declared."""

    operators = OPERATORS
    leading = ("&", "|")

    def __init__(self, tokens: list[Token], sink: Sink) -> None:
        super().__init__(tokens, sink)
        self.broken: set[str] = set()
        self.stumbles = 0

    @property
    def hopeless(self) -> bool:
        """Are there so many syntax errors that it makes no sense to go on?"""
        return self.stumbles >= MAX_STUMBLES

    def program(self) -> list[Declaration]:
        declarations: list[Declaration] = []
        while not self.at("end") and not self.hopeless:
            start = self.index
            try:
                if self.token.text == "automaton" and self.peek().kind == "{":
                    declarations += self.automaton()
                elif (declaration := self.declaration()) is not None:
                    declarations.append(declaration)
            except SyntaxProblem:
                self.recover(start)
        return declarations

    def recover(self, start: int) -> None:
        """Move on to the next declaration and remember the name of the one that is given up."""
        self.stumbles += 1
        head = self.tokens[start : start + 4]
        unnamed = head[0].kind in UNNAMED and self.tokens[min(start + 1, len(self.tokens) - 1)].kind != "["
        self.broken.update(token.text for token in head if token.kind == "name" and not unnamed)
        self.depth = 0
        if self.index == start:
            self.advance()
        while not self.at("end") and not self.starts_declaration():
            self.advance()

    def starts_declaration(self) -> bool:
        """Is this word at the start of a line, or after something that can end the declaration before?

        The words that start declarations also occur in `any transition`, `assert init` and, for `safety`, in formulas.
        """
        before = self.tokens[self.index - 1]
        return (self.at(*STARTS) or self.at_temporal() or self.at_extent()) and (
            before.kind in ENDS or before.span.line < self.token.span.line
        )

    def declaration(self) -> Declaration | None:
        self.sketch()
        start = self.token
        if self.at_temporal():
            return self.temporal(self.label)
        if self.at_extent():
            self.advance()
            return self.sort(start.text)
        match start.kind:
            case "sort":
                return self.sort(None)
            case "mutable" | "immutable":
                self.advance()
                return self.symbol(start.kind == "mutable", start.span)
            case "derived":
                self.advance()
                self.expect("relation", "after `derived`")
                name = self.expect("name", "of the relation")
                arguments = self.arity()
                self.annotations()
                self.expect(":", "before the definition")
                formula = self.expression()
                return SymbolDeclaration(name.text, arguments, None, True, self.since(start.span), formula)
            case "axiom" | "init" | "safety" | "invariant" | "theorem":
                self.advance()
                return self.formula(start.kind, start.span, 1)
            case "zerostate" | "onestate" | "twostate":
                self.advance()
                states = STATES[start.kind]
                if self.accept("theorem"):
                    return self.formula("theorem", start.span, states)
                self.expect("definition", f"or `theorem` after `{start.kind}`")
                return self.definition(states, False, start.span)
            case "definition":
                self.advance()
                return self.definition(1, False, start.span)
            case "transition":
                self.advance()
                return self.definition(2, True, start.span)
            case "sat" | "unsat":
                self.advance()
                return self.trace(start.kind == "sat", start.span)
            case "trace":
                return self.trace(True, start.span)
            case "fbii":
                self.advance()
                self.block()
                self.sink.warning("Q0104", "forward-backward proof scripts (`fbii`) are not used", start.span)
                return None
        self.fail(
            "expected a declaration",
            fix="a declaration starts with sort, mutable, immutable, axiom, init, transition, safety, ...",
        )

    def at_extent(self) -> bool:
        """Does `finite sort` or `unbounded sort` start here?"""
        return self.at("name") and self.token.text in EXTENTS and self.peek().kind == "sort"

    def sort(self, extent: str | None) -> SortDeclaration:
        self.advance()
        name = self.expect("name", "of the sort")
        self.annotations()
        return SortDeclaration(name.text, name.span, extent)

    def sketch(self) -> None:
        """Invariants of older files may be marked as a hint for inference; they are invariants all the same."""
        if self.token.text == "sketch" and self.peek().kind == "invariant":
            self.advance()

    def automaton(self) -> list[Declaration]:
        """A phase automaton of older files: what it says globally, and what holds in its phases."""
        start = self.advance().span
        self.expect("{")
        everywhere: list[FormulaDeclaration] = []
        phases: list[list[FormulaDeclaration]] = []
        properties = everywhere
        while not self.accept("}"):
            self.sketch()
            item = self.token
            if self.accept("init"):
                self.expect("name")
                self.expect("name", "of the first phase")
            elif self.accept("transition"):
                self.phase_transition()
            elif self.accept("safety", "invariant"):
                properties.append(self.formula(item.kind, item.span, 1))
                if item.kind == "safety" and properties is not everywhere:
                    self.sink.error("Q0104", "a safety property of a single phase is not supported", item.span)
            elif item.text == "global":
                self.advance()
                properties = everywhere
            elif item.text == "phase":
                self.advance()
                self.expect("name", "of the phase")
                properties = []
                phases.append(properties)
            else:
                self.fail("expected a phase, a transition or a property")
        message = "the transitions of this phase automaton are not used: it states that one of its phases always holds"
        self.sink.warning("Q0104", message, start)
        return [*everywhere, Automaton(tuple(map(tuple, phases)), start)]

    def phase_transition(self) -> None:
        """`NAME -> self` or `NAME -> phase NAME`, perhaps with an assumption, in the oldest files before the arrow."""
        self.expect("name", "of a transition")
        self.phase_assumption(OPERATORS.binary["->"][0] + 1)
        self.expect("->")
        if self.expect("name", "`self` or `phase`").text == "phase":
            self.expect("name", "of the phase")
        self.phase_assumption()

    def phase_assumption(self, power: int = 0) -> None:
        if self.token.text == "assume":
            self.advance()
            self.expression(power)

    def annotations(self) -> None:
        while self.accept("annotation"):
            if self.accept("("):
                self.separated(lambda: self.expect("name"))
                self.expect(")")

    def sort_name(self) -> str:
        return self.sort_reference()[0]

    def sort_reference(self) -> tuple[str, Span]:
        token = self.accept("bool", "int") or self.expect("name", "of a sort")
        return token.text, token.span

    def symbol_reference(self) -> tuple[str, Span]:
        token = self.expect("name", "of a symbol")
        return token.text, token.span

    def arity(self) -> tuple[tuple[str, Span], ...]:
        if not self.accept("(") or self.accept(")"):
            return ()
        sorts = self.separated(self.sort_reference)
        self.expect(")", "after the argument sorts")
        return tuple(sorts)

    def symbol(self, mutable: bool, start: Span) -> SymbolDeclaration:
        if not self.at("relation", "constant", "function"):
            self.fail("expected `relation`, `constant` or `function`")
        kind = self.advance().kind
        name = self.expect("name", f"of the {kind}")
        arguments = self.arity() if kind != "constant" else ()
        result = None
        if kind != "relation":
            self.expect(":", "before the result sort")
            result = self.sort_reference()
        span = self.since(start)
        self.annotations()
        return SymbolDeclaration(name.text, arguments, result, mutable, span)

    def label(self) -> str | None:
        if not self.accept("["):
            return None
        name = self.expect("name", "of the property").text
        self.expect("]", "after the name")
        return name

    def formula(self, kind: str, start: Span, states: int) -> FormulaDeclaration:
        label = self.label()
        formula = self.expression()
        return FormulaDeclaration(kind, label, formula, self.since(start), states)

    def definition(self, states: int, transition: bool, start: Span) -> Definition:
        name = self.expect("name", f"of the {'transition' if transition else 'definition'}")
        self.expect("(", "before the parameters")
        parameters: list[Binder] = []
        if not self.accept(")"):
            parameters = self.separated(self.binder)
            self.expect(")", "after the parameters")
        span = self.since(start)
        modifies = None
        if self.at("{") and states == 2:
            modifies, body = self.statements({parameter.name for parameter in parameters})
            return Definition(name.text, tuple(parameters), modifies, body, states, transition, span, True)
        if self.at("modifies") and states == 2:
            self.advance()
            modifies = tuple(self.separated(self.symbol_reference))
        else:
            self.expect("=", "or `modifies` before the body" if states == 2 else "before the body")
        body = self.expression()
        return Definition(name.text, tuple(parameters), modifies, body, states, transition, span)

    def statements(self, parameters: set[str]) -> tuple[tuple[tuple[str, Span], ...], Expression]:
        """An imperative body of older files: what it modifies, and a formula; all that it reads are values before."""
        start = self.advance().span
        modified: dict[str, Span] = {}
        parts: list[Expression] = []
        while not self.accept("}"):
            target = self.expect("name", "of a symbol, or `assume`")
            if target.text == "assume":
                parts.append(self.expression())
            else:
                if target.text in modified:
                    self.sink.error("Q0104", f"assigning to `{target.text}` twice is not supported", target.span)
                modified[target.text] = target.span
                parts.append(self.assignment(target, parameters))
            self.expect(";", "after the statement")
        body = Operation(self.since(start), "&", tuple(parts)) if parts else Literal(self.since(start), True)
        return tuple(modified.items()), body

    def assignment(self, target: Token, parameters: set[str]) -> Expression:
        """`r(a, b) := e` as `forall X, Y. new(r(X, Y)) = (if X = a & Y = b then e else r(X, Y))`."""
        places = self.arguments() if self.accept("(") else None
        self.expect(":=", "to assign a value")
        value = self.expression()
        span = self.since(target.span)
        for item in free_references(parameters, *(places or ()), value):
            if item.name.isupper() and item.arguments is None:
                self.sink.error("Q0104", "assigning for all values of a variable is not supported", item.span)
        if not places:
            return Operation(span, "=", (Shift(span, 1, Reference(span, target.text)), value))
        names = {token.text for token in self.tokens}
        binders = [Binder(fresh_name(f"X{i}", names.__contains__), None, span) for i in range(len(places))]
        variables = [Reference(span, binder.name) for binder in binders]
        before = Reference(span, target.text, arguments=tuple(variables))
        tests = [Operation(span, "=", pair) for pair in zip(variables, places, strict=True)]
        chosen = Conditional(span, Operation(span, "&", tuple(tests)), value, before)
        return Quantifier(span, True, tuple(binders), Operation(span, "=", (Shift(span, 1, before), chosen)))

    def trace(self, satisfiable: bool, start: Span) -> TraceDeclaration:
        self.expect("trace")
        self.expect("{")
        components = []
        while not self.accept("}"):
            components.append(self.component())
        return TraceDeclaration(satisfiable, tuple(components), self.since(start))

    def component(self) -> TraceComponent:
        start = self.token.span
        if not self.at("assert", "any", "name"):
            self.fail("expected `assert`, `any transition`, a transition or `}`")
        if self.accept("assert"):
            if self.accept("init"):
                return TraceComponent(self.since(start), initial=True)
            return TraceComponent(start, self.expression())
        if self.accept("any"):
            self.expect("transition", "after `any`")
            return TraceComponent(start, any_transition=True)
        calls = self.separated(self.call, "|")
        return TraceComponent(start, calls=tuple(calls))

    def call(self) -> tuple[str, tuple[Expression | None, ...] | None, Span]:
        name = self.expect("name", "of a transition")
        arguments: tuple[Expression | None, ...] | None = None
        if self.accept("("):
            arguments = ()
            if not self.accept(")"):
                arguments = tuple(self.separated(lambda: None if self.accept("*") else self.expression()))
                self.expect(")")
        return name.text, arguments, name.span

    def block(self) -> None:
        """Skip a block in braces."""
        self.expect("{")
        depth = 1
        while depth:
            if self.at("end"):
                self.expect("}", "to close the block")
            depth += {"{": 1, "}": -1}.get(self.advance().kind, 0)

    def primary(self) -> Expression:
        start = self.token.span
        if self.accept("if"):
            condition = self.expression()
            self.expect("then", "after the condition")
            then = self.expression()
            self.expect("else", "after the first branch")
            otherwise = self.expression()
            return Conditional(self.since(start), condition, then, otherwise)
        if self.accept("let"):
            binder = self.binder()
            self.expect("=", "after the variable")
            value = self.expression()
            self.expect("in", "after the value")
            body = self.expression()
            return Let(self.since(start), binder, value, body)
        if self.accept("new"):
            self.expect("(", "after `new`")
            body = self.expression()
            self.expect(")")
            return Shift(self.since(start), 1, body)
        if self.accept("distinct"):
            self.expect("(", "after `distinct`")
            arguments = self.arguments()
            if not arguments:
                self.fail("expected something to be distinct")
            return Operation(self.since(start), "distinct", arguments)
        if self.at("name", "safety"):
            name = self.advance()
            primes = 0
            while self.accept("'"):
                primes += 1
            called = self.arguments() if self.accept("(") else None
            return Reference(self.since(start), name.text, primes, called)
        return super().primary()


def parse(source: Source, sink: Sink) -> tuple[list[Declaration], set[str]] | None:
    """The declarations of a mypyvy file, and the names that faulty ones would have declared.

    None if there are so many syntax errors that it makes no sense to look further.
    """
    parser = PyvParser(tokenize(source, LEXICON, sink), sink)
    declarations = parser.program()
    return None if parser.hopeless else (declarations, parser.broken)
