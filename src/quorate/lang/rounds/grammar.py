"""The grammar of `*.rounds` files: text to declarations and statements whose names are not looked up yet.

Blocks are marked by indentation, as in the pseudo-code of papers: what belongs to a line stands further to the right on the
lines below it, or behind the colon.  Read `elaborate` next for names and kinds, docs/rounds.md for the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from quorate.lang.diagnostics import Sink
from quorate.lang.reader import Lexicon, Operators, Parser, SyntaxProblem, Token, tokenize
from quorate.models import rounds as r
from quorate.models.rounds import Node
from quorate.models.source import Source, Span

DECLARATIONS = (
    "algorithm", "parameter", "tag", "state", "shared", "round", "step", "phases", "safe", "sync", "faults", "property",
    "safety", "invariant", "univalent",
)  # fmt: skip
WORDS = (
    "and", "or", "not", "true", "false", "forall", "exists", "in", "meets", "if", "else", "send", "to", "all", "decide",
    "received", "kept", "from", "with", "where", "are", "of", "one", "smallest", "largest", "most", "frequent", "union", "max",
    "min", "self", "coordinator", "phase", "proposal", "value", "bool", "time", "set", "HO", "kernel", "n", "decision",
)  # fmt: skip

LEXICON = Lexicon(
    re.compile(
        r"(?P<skip>\s+|\#(?![<{⟨A-Za-z(])[^\n]*)|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<number>[0-9]+)"
        r"|(?P<mark>:=|<=|>=|!=|->|[-+*/=<>⟨⟩(){}\[\],:;.?#_])"
    ),
    frozenset(DECLARATIONS + WORDS),
)

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
PICKS: dict[tuple[str, ...], r.Pick] = {
    ("smallest", "most", "frequent"): "smallest most frequent",
    ("largest", "most", "frequent"): "largest most frequent",
    ("most", "frequent"): "most frequent",
    ("one",): "one",
    ("smallest",): "smallest",
    ("largest",): "largest",
    ("union",): "union",
}


@dataclass(frozen=True)
class Declaration:
    """One declaration: its word, what it names, and its parts."""

    word: str
    name: str
    span: Span
    parts: tuple[Node | None, ...] = ()
    variables: tuple[r.Variable, ...] = ()
    round: r.Round | None = None
    names: tuple[tuple[str, Span], ...] = ()


class RoundsParser(Parser):
    """Declarations of a `*.rounds` file."""

    operators = Operators({}, {})

    def program(self) -> list[Declaration]:
        found: list[Declaration] = []
        while not self.at("end"):
            start = self.index
            try:
                found += self.declaration()
                if not self.at("end") and not self.starts_line():
                    self.fail("expected the end of the line")
            except SyntaxProblem:
                self.depth = 0
                if self.index == start:
                    self.advance()
                while not self.at("end") and not (self.at(*DECLARATIONS) and self.column() == 1):
                    self.advance()
        return found

    # -- places ----------------------------------------------------------------------------------------------------

    def column(self) -> int:
        return self.token.span.column

    def starts_line(self) -> bool:
        """Is this the first token of its line?"""
        return self.index == 0 or self.tokens[self.index - 1].span.line < self.token.span.line

    def block(self, parent: int, item: Callable[[], list[Node]]) -> list[Node]:
        """What is indented below the current line, or stands on the rest of it."""
        if not self.at("end") and not self.starts_line():
            found = item()
            while self.accept(";"):
                found += item()
            return found
        column = self.column()
        if self.at("end") or column <= parent:
            self.fail("expected something indented here")
        found = []
        while not self.at("end") and self.starts_line() and self.column() == column:
            found += item()
            while self.accept(";"):
                found += item()
        if not self.at("end") and self.starts_line() and self.column() > parent:
            self.fail("this line is indented differently from the ones above it")
        return found

    # -- declarations ----------------------------------------------------------------------------------------------

    def declaration(self) -> list[Declaration]:
        start = self.token
        if not self.at(*DECLARATIONS) or self.column() != 1:
            self.fail("expected a declaration", fix=f"a declaration starts a line with {', '.join(DECLARATIONS)}")
        word = self.advance().kind
        read = getattr(self, f"read_{word}", self.read_formula)
        found: list[Declaration] = read(word, start.span)
        return found

    def read_algorithm(self, word: str, start: Span) -> list[Declaration]:
        name = self.expect("name", "of the algorithm")
        return [Declaration(word, name.text, name.span)]

    def read_parameter(self, word: str, start: Span) -> list[Declaration]:
        name = self.expect("name", "of the parameter")
        default = self.expr() if self.accept("=") else None
        constraint = self.expr() if self.accept("with") else r.Truth(True)
        return [Declaration(word, name.text, name.span, (default, constraint))]

    def read_tag(self, word: str, start: Span) -> list[Declaration]:
        names = self.separated(lambda: self.expect("name", "of the tag"))
        return [Declaration(word, name.text, name.span) for name in names]

    def read_state(self, word: str, start: Span) -> list[Declaration]:
        variables: list[r.Variable] = []

        def one() -> list[Node]:
            variables.append(self.variable())
            return []

        self.block(start.column, one)
        return [Declaration(word, "", start, variables=tuple(variables))]

    read_shared = read_state

    def variable(self) -> r.Variable:
        name = self.expect("name", "of a variable")
        self.expect(":", "and the kind of the variable")
        kind: r.Kind
        if self.accept("value"):
            kind = "value"
            if self.accept("or"):
                self.expect("?")
                kind = "optional"
        elif self.accept("set"):
            self.expect("of")
            self.expect("value")
            kind = "set"
        elif self.at("bool", "time"):
            kind = "bool" if self.advance().kind == "bool" else "time"
        else:
            self.fail("expected a kind", fix="kinds are value, value or ?, set of value, bool and time")
        self.expect("=", "and the initial value")
        return r.Variable(name.text, kind, self.expr(), self.since(name.span))

    def read_round(self, word: str, start: Span) -> list[Declaration]:
        name = ""
        if not self.starts_line() and self.at("name", "number"):
            name = self.advance().text
        self.sent: r.Send | None = None
        self.statements = 0
        body = self.block(start.column, self.statement)
        span = self.since(start)
        return [Declaration(word, name, start, round=r.Round(name, self.sent, tuple(body), span=span))]

    read_step = read_round

    def read_phases(self, word: str, start: Span) -> list[Declaration]:
        return [Declaration(word, "", start, (self.expr(),))]

    def read_faults(self, word: str, start: Span) -> list[Declaration]:
        kind = self.expect("name", "`crashes` or `omissions`")
        if kind.text not in ("crashes", "omissions"):
            self.index -= 1
            self.fail("expected `crashes` or `omissions`")
        bound = limit = None
        if not self.at("end") and not self.starts_line() and not self.at("in"):
            bound = self.expr(comparing=False)
        if self.accept("in"):
            limit = self.expr(comparing=False)
            if self.expect("name", "`rounds`").text != "rounds":
                self.index -= 1
                self.fail("expected `rounds`")
        return [Declaration(word, kind.text, self.since(start), (bound, limit))]

    def read_property(self, word: str, start: Span) -> list[Declaration]:
        names = self.separated(lambda: self.expect("name", "of a property"))
        return [Declaration(word, name.text, name.span) for name in names]

    def read_univalent(self, word: str, start: Span) -> list[Declaration]:
        name = self.expect("name", "that stands for the value")
        self.expect(":")
        return [Declaration(word, name.text, self.since(start), (self.expr(),))]

    def read_formula(self, word: str, start: Span) -> list[Declaration]:
        name = ""
        if self.accept("["):
            name = self.expect("name", "of the property").text
            self.expect("]")
        formula = self.expr()
        return [Declaration(word, name, self.since(start), (formula,))]

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self) -> list[Node]:
        self.deeper()
        try:
            return self.one_statement()
        finally:
            self.depth -= 1

    def one_statement(self) -> list[Node]:
        start = self.token
        self.statements += 1
        number = self.statements
        if self.at("send"):
            self.send(r.Truth(True), number)
            return []
        if self.accept("decide"):
            value = self.expr()
            return [r.Decide(value, span=self.since(start.span))]
        if self.accept("if"):
            condition = self.expr()
            self.expect(":", "after the condition")
            if self.at("send"):
                self.send(condition, number)
                return []
            then = self.block(start.span.column, self.statement)
            span = self.since(start.span)
            otherwise: list[Node] = []
            same_line = not self.at("end") and not self.starts_line()
            if self.at("else") and (same_line or self.column() == start.span.column):
                column = self.column()
                self.advance()
                if self.at("if"):
                    otherwise = self.statement()
                else:
                    self.expect(":", "after `else`")
                    otherwise = self.block(start.span.column if same_line else column, self.statement)
            return [r.If(condition, tuple(then), tuple(otherwise), span=span)]
        name = self.token
        if not self.at("name"):
            self.fail(
                "expected a statement", fix="a statement is `variable := value`, `decide value`, `if …:` or `send …`"
            )
        self.advance()
        self.expect(":=", "after the variable")
        value = self.expr()
        return [r.Assign(name.text, value, span=self.since(name.span))]

    def send(self, condition: Node, number: int) -> None:
        start = self.advance().span
        if number != 1 or self.sent is not None:
            self.index -= 1
            self.fail("a round sends first and once; what is heard comes after it")
        pattern = self.pattern()
        self.expect("to", "and `all` or `coordinator`")
        if not self.at("all", "coordinator"):
            self.fail("expected `all` or `coordinator`")
        to = "all" if self.advance().kind == "all" else "coordinator"
        self.sent = r.Send(pattern.items, to, condition, span=self.since(start))  # type: ignore[arg-type]

    # -- expressions -----------------------------------------------------------------------------------------------

    def expr(self, comparing: bool = True) -> Node:
        self.deeper()
        found = self.implication() if comparing else self.sum()
        self.depth -= 1
        return found

    def operation(self, start: Span, operator: str, *operands: Node) -> Node:
        return r.Operation(operator, operands, span=self.since(start))

    def implication(self) -> Node:
        start = self.token.span
        left = self.disjunction()
        if self.accept("->"):
            return self.operation(start, "->", left, self.expr())
        return left

    def disjunction(self) -> Node:
        return self.chain("or", lambda: self.chain("and", self.negation))

    def chain(self, word: str, item: Callable[[], Node]) -> Node:
        start = self.token.span
        parts = [item()]
        while self.accept(word):
            parts.append(item())
        return parts[0] if len(parts) == 1 else self.operation(start, word, *parts)

    def negation(self) -> Node:
        start = self.token.span
        if self.accept("not"):
            self.deeper()
            operand = self.negation()
            self.depth -= 1
            return self.operation(start, "not", operand)
        return self.comparison()

    def comparison(self) -> Node:
        start = self.token.span
        left = self.sum()
        if self.at(*COMPARISONS, "in", "meets"):
            operator = self.advance().kind
            right = self.sum()
            if isinstance(left, r.HeardOf) and isinstance(right, r.HeardOf) and operator in ("=", "<=", "meets"):
                return r.Related(operator, left, right, span=self.since(start))  # type: ignore[arg-type]
            if operator == "in" and isinstance(right, r.HeardOf):
                return r.Member(left, right, span=self.since(start))
            if operator == "meets":
                self.fail("`meets` stands between heard-of sets, as in HO(p, 1) meets HO(q, 1)")
            if self.at(*COMPARISONS):
                self.fail(f"`{self.token.text}` cannot be chained", "add parentheses or `and`")
            return self.operation(start, operator, left, right)
        return left

    def sum(self) -> Node:
        start = self.token.span
        left = self.product()
        while self.at("+", "-"):
            operator = self.advance().kind
            left = self.operation(start, operator, left, self.product())
        return left

    def product(self) -> Node:
        start = self.token.span
        left = self.factor()
        while self.at("*", "/"):
            operator = self.advance().kind
            left = self.operation(start, operator, left, self.factor())
        return left

    def factor(self) -> Node:
        start = self.token.span
        if self.at("<", "⟨"):
            return self.received()
        if self.at("all"):
            self.advance()
            self.expect("received")
            self.expect("are")
            pattern = self.pattern()
            return r.AllReceived(pattern, span=self.since(start))
        if self.at("one", "smallest", "largest", "most", "union"):
            return self.choice()
        if self.accept("forall", "exists"):
            universal = self.tokens[self.index - 1].kind == "forall"
            names = self.separated(lambda: self.expect("name", "of a process"))
            self.expect(".", "after the names")
            body = self.expr()
            return r.Quantified(universal, tuple(name.text for name in names), body, span=self.since(start))
        if self.accept("#"):
            return self.size(start)
        if self.accept("("):
            inner = self.expr()
            self.expect(")", "to close the parenthesis")
            return inner
        if self.accept("{"):
            element = self.expr()
            self.expect("}", "to close the set")
            return self.operation(start, "singleton", element)
        if self.accept("max", "min"):
            word = self.tokens[self.index - 1].kind
            self.expect("(")
            operands = self.separated(self.expr)
            self.expect(")")
            return self.operation(start, word, *operands)
        if self.at("HO", "kernel"):
            return self.heard_of()
        simple: dict[str, Callable[..., Node]] = {
            "self": r.Myself,
            "phase": r.Phase,
            "proposal": r.Proposal,
            "?": r.Nothing,
            "_": r.Anything,
        }
        if self.token.kind in simple:
            return simple[self.advance().kind](span=start)
        if self.at("number"):
            return r.Number(self.number(), span=start)
        if self.at("true", "false"):
            return r.Truth(self.advance().kind == "true", span=start)
        if self.accept("n"):
            return r.Parameter("n", span=start)
        if self.accept("coordinator"):
            return r.Coordinator(self.argument(), span=self.since(start))
        if self.at("name", "decision"):
            name = self.advance().text
            if self.at("(") and self.peek(-1).span.end == self.token.span.start:
                process = self.argument()
                assert process is not None
                return r.VariableOf(name, process, span=self.since(start))
            return r.Local(name, span=start)
        self.fail("expected an expression")

    def argument(self) -> Node | None:
        if not self.at("(") or self.tokens[self.index - 1].span.end != self.token.span.start:
            return None
        self.advance()
        inner = self.expr()
        self.expect(")")
        return inner

    def size(self, start: Span) -> Node:
        """What follows `#`."""
        if self.at("<", "⟨", "kept"):
            pattern = self.messages()
            return r.Count(pattern, span=self.since(start))
        if self.accept("{"):
            name = self.expect("name", "of a process")
            self.expect(":")
            body = self.expr()
            self.expect("}", "to close the set")
            return r.Counting(name.text, body, span=self.since(start))
        if self.at("HO", "kernel"):
            group = self.heard_of()
            return r.Size(group, span=self.since(start))
        operand = self.factor()
        return self.operation(start, "size", operand)

    def heard_of(self) -> r.HeardOf:
        start = self.token.span
        kernel = self.advance().kind == "kernel"
        self.expect("(")
        process = None
        if not kernel:
            process = self.expr()
            self.expect(",")
        number = self.number()
        self.expect(")")
        return r.HeardOf(process, number, span=self.since(start))

    def pattern(self) -> r.Pattern:
        start = self.token.span
        if not self.accept("<", "⟨"):
            self.fail("expected a message, as in <x, ts>")
        items: list[Node] = []
        if not self.at(">", "⟩"):
            items = self.separated(self.sum)
        if not self.accept(">", "⟩"):
            self.fail("expected `>` to close the message")
        return r.Pattern(tuple(items), span=self.since(start))

    def messages(self) -> r.Pattern:
        """A pattern for what is received, or for what is kept."""
        kept = self.accept("kept")
        pattern = self.pattern()
        return replace(pattern, kept=True) if kept else pattern

    def received(self) -> Node:
        start = self.token.span
        pattern = self.pattern()
        self.expect("received", "after the message")
        from_coordinator = False
        if self.accept("from"):
            self.expect("coordinator")
            from_coordinator = True
        where: Node = r.Truth(True)
        if self.accept("with"):
            where = self.disjunction()
        return r.Received(pattern, from_coordinator, where, span=self.since(start))

    def choice(self) -> Node:
        start = self.token.span
        words: list[str] = []
        while self.at("one", "smallest", "largest", "most", "frequent", "union"):
            words.append(self.advance().kind)
        pick = PICKS.get(tuple(words))
        if pick is None:
            self.fail(f"`{' '.join(words)}` picks nothing", fix=f"one can pick: {', '.join(PICKS.values())}")
        if self.accept("of"):
            if pick not in ("smallest", "largest"):
                self.fail("expected a name before `of`")
            return self.operation(start, pick, self.factor())
        name = self.expect("name", "that stands for what is picked")
        self.expect("of", "and a message")
        pattern = self.messages()
        extreme = None
        if self.accept("with"):
            if not self.at("largest", "smallest"):
                self.fail("expected `largest` or `smallest`")
            extreme = (self.advance().kind, self.expect("name", "of a part of the message").text)
        where = self.disjunction() if self.accept("where") else r.Truth(True)
        return r.Choice(pick, name.text, pattern, extreme, where, span=self.since(start))


def parse(source: Source, sink: Sink) -> list[Declaration]:
    """The declarations of a text; what cannot be read is reported and skipped."""
    tokens: list[Token] = tokenize(source, LEXICON, sink)
    return RoundsParser(tokens, sink).program()
