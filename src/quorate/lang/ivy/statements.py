"""Words, expressions and statements of Ivy: what stands inside declarations.

The expression parser is the shared one with Ivy's operator table; a quantified variable's sort may be dotted if no
space follows the dot.  Read `grammar` for the declarations around.
"""

from __future__ import annotations

from quorate.lang.diagnostics import Sink
from quorate.lang.ivy import syntax
from quorate.lang.ivy.vocabulary import KEYWORDS, TEMPORAL, UNSUPPORTED_OPERATORS, UNSUPPORTED_STATEMENTS
from quorate.lang.reader import (
    Ascription,
    Binder,
    Conditional,
    Expression,
    Literal,
    Operation,
    Operators,
    Reference,
    Shift,
    Token,
)
from quorate.lang.temporal import TemporalParser
from quorate.models.source import Span

_TIGHT = {
    "|": (30, 31),
    "&": (40, 41),
    **dict.fromkeys(("=", "~=", "<", "<=", ">", ">="), (50, 52)),
    **dict.fromkeys("+-", (60, 61)),
    "*": (70, 71),
}
ARROWS = ("->", "<->")
OPERATOR = "operator "
"""What the names of operators start with where they are used like names."""

OWN_COMPARISONS = {"<=": "le", ">": "gt", ">=": "ge"}
"""Up to version 1.5 these are symbols of their own at sorts without interpretation; later `<` determines them."""


class StatementParser(TemporalParser):
    """Expressions and action bodies of an Ivy file of a given version."""

    operators_of_time = False
    """Whether `globally` and `eventually` are operators."""

    def __init__(self, tokens: list[Token], sink: Sink, version: tuple[int, int]) -> None:
        super().__init__(tokens, sink)
        self.version = version
        self.operator_sorts: dict[str, str] = {}
        """The only sort of each operator, in versions that do not have them at every sort."""
        recent = version >= (1, 7)
        arrows = dict.fromkeys(ARROWS, (20, 21) if recent else (20, 20))
        spelling = {"~=": "!="} if version >= (1, 6) else {"~=": "!=", **OWN_COMPARISONS}
        self.operators = Operators(arrows | _TIGHT, {"~": 45}, spelling)
        self.conditional_power = 55 if recent else 25

    # -- names -----------------------------------------------------------------------------------------------------

    def plain_name(self, purpose: str) -> str:
        """A name being declared: no dots, and not a variable."""
        token = self.expect("name", purpose)
        self.lower_case(token.text, token.span)
        return token.text

    def lower_case(self, name: str, span: Span) -> None:
        if name[0].isupper():
            fix = f"write `{name[0].lower()}{name[1:]}`"
            self.sink.error(
                "Q0225", f"`{name}` starts with an upper-case letter, so it is a logical variable", span, fix=fix
            )

    def dotted(self, purpose: str, colons: bool = True) -> str:
        parts = ["this" if self.accept("this") else self.expect("name", purpose).text]
        while (self.at(".") and self.peek().kind == "name") or (colons and self.at_member_colon(parts[0])):
            self.advance()
            parts.append(self.advance().text)
        return ".".join(parts)

    def at_member_colon(self, head: str) -> bool:
        """The first versions write members with a colon, as in `s:step`; a variable's sort follows one too."""
        if self.version >= (1, 3) or head[0].isupper() or not self.at(":") or self.peek().kind != "name":
            return False
        before = self.tokens[self.index - 1].span
        return before.end == self.token.span.start and self.token.span.end == self.peek().span.start

    def dotted_sort(self) -> str:
        return self.dotted("of a sort")

    def sort_name(self) -> str:
        """The sort of a quantified variable: a dot followed by a space ends the list of variables."""
        parts = ["this" if self.accept("this") else self.expect("name", "of a sort").text]
        while self.at(".") and self.continues_sort():
            self.advance()
            parts.append(self.advance().text)
        return ".".join(parts)

    def continues_sort(self) -> bool:
        name, after = self.peek(), self.peek(2)
        return name.kind == "name" and self.token.span.end == name.span.start and after.kind in (".", ",")

    def typed(self) -> Binder:
        """A parameter or an argument place, with its sort if given."""
        name = self.expect("name", "of a parameter")
        sort = self.dotted_sort() if self.accept(":") else None
        return Binder(name.text, sort, self.since(name.span))

    def parameters(self) -> tuple[Binder, ...]:
        if not self.accept("(") or self.accept(")"):
            return ()
        binders = self.separated(self.typed)
        self.expect(")", "after the parameters")
        return tuple(binders)

    def label(self) -> str | None:
        """`[name]`; any word will do, keywords and numbers too."""
        if not self.accept("["):
            return None
        parts = [self.word()]
        while self.accept("."):
            parts.append(self.word())
        self.expect("]", "after the name")
        return ".".join(parts)

    def word(self) -> str:
        if not self.at("name", "number", *KEYWORDS):
            self.fail("expected a name")
        return self.advance().text

    # -- expressions -----------------------------------------------------------------------------------------------

    def binder(self) -> Binder:
        binder = super().binder()
        if not binder.name[0].isupper():
            fix = f"write `{binder.name[0].upper()}{binder.name[1:]}`"
            self.sink.error(
                "Q0225", f"the quantified variable `{binder.name}` starts in lower case", binder.span, fix=fix
            )
        return binder

    def infix(self, left: Expression, operator: str, powers: tuple[int, int]) -> Expression:
        start = self.token.span
        made = super().infix(left, operator, powers)
        if operator in ARROWS and self.at(*ARROWS):
            self.sink.warning("Q0227", f"`{operator}` and `{self.token.kind}` are chained", start.to(self.token.span))
        if operator in self.operator_sorts and isinstance(made, Operation):
            typed = Ascription(left.span, left, self.operator_sorts[operator])
            return Operation(made.span, made.operator, (typed, *made.operands[1:]))
        return made

    def suffix(self, left: Expression, power: int) -> Expression | None:
        if self.at("if") and power <= self.conditional_power:
            self.advance()
            height, self.height = self.height, self.depth
            condition = self.expression()
            self.expect("else", "after the condition")
            otherwise = self.expression(self.conditional_power + 1)
            self.height = max(height + 1, self.height)
            self.check_depth(self.height)
            return Conditional(left.span.to(otherwise.span), condition, left, otherwise)
        what = UNSUPPORTED_OPERATORS.get(self.token.text)
        if what is not None:
            self.fail(f"{what} is not supported", code="Q0104")
        return None

    def primary(self) -> Expression:
        start = self.token.span
        if self.at("name", "this"):
            return self.reference()
        if self.at("number"):
            return self.ascribed(Literal(start, self.number()))
        if self.accept("old"):
            body = self.prefix()
            return Shift(self.since(start), -1, body)
        if self.at("some", "native", "string"):
            what = {"native": "quoted native code", "string": "quoted names"}.get(
                self.token.kind, f"`{self.token.text}`"
            )
            self.fail(f"{what} in expressions is not supported", code="Q0104")
        return super().primary()

    def reference(self) -> Expression:
        start = self.token.span
        if self.token.text in TEMPORAL and self.peek().kind in ("name", "(", "~", "forall", "exists"):
            if not self.operators_of_time:
                self.fail(f"`{self.token.text}` stands in temporal properties only", code="Q0104")
            operator = self.advance().text
            body = self.prefix()
            return Operation(self.since(start), operator, (body,))
        name = self.dotted("of a symbol")
        arguments: tuple[Expression, ...] | None = None
        while self.at("(") or (self.at(".") and self.peek().kind == "name" and arguments is not None):
            if self.accept("("):
                arguments = (arguments or ()) + self.arguments()
            else:
                self.advance()
                name += "." + self.dotted("of a member")
        made = Reference(self.since(start), name, 0, arguments)
        return self.ascribed(made) if name[0].isupper() and arguments is None else made

    def ascribed(self, expression: Expression) -> Expression:
        if not self.accept(":"):
            return expression
        sort = self.dotted_sort()
        return Ascription(self.since(expression.span), expression, sort)

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self) -> syntax.Block:
        start = self.expect("{").span
        depth = self.depth
        statements: list[syntax.Statement] = []
        while not self.at("}"):
            if self.accept(";"):
                continue
            self.deeper()
            statements.append(self.statement())
            self.depth = depth
            closed = self.tokens[self.index - 1].kind == "}"
            if not self.accept(";") and not self.at("}") and not closed:
                self.fail("expected `;` or `}` after the statement")
        self.advance()
        return syntax.Block(self.since(start), tuple(statements))

    def statement(self) -> syntax.Statement:
        start = self.token.span
        match self.token.kind:
            case "{":
                return self.block()
            case "assume" | "assert" | "require" | "ensure":
                kind = self.advance().kind
                label = self.label()
                formula = self.expression()
                span = self.since(start)
                if self.at("proof"):
                    self.skip_proof()
                return syntax.Condition(span, kind, label, formula)
            case "if":
                return self.if_statement()
            case "local":
                self.advance()
                locals = [self.local(binder) for binder in self.separated(self.typed)]
                body = self.block()
                return syntax.Block(self.since(start), (*locals, body))
            case "let":
                return self.let_statement()
            case "var":
                return self.variable_statement()
            case "call":
                self.advance()
                return self.simple_statement()
            case "instantiate" | "instance":
                self.advance()
                name = self.dotted("of a macro")
                arguments = self.arguments() if self.accept("(") else ()
                return syntax.MacroUse(self.since(start), name, arguments)
        what = UNSUPPORTED_STATEMENTS.get(self.token.text)
        if what is not None and self.peek().kind not in (":=", ";", "}"):
            self.fail(f"{what} are not supported", code="Q0104")
        return self.simple_statement()

    def skip_proof(self) -> None:
        """Pass over the proof of an assertion, up to the end of the statement."""
        message = "proof hints are not used: what they belong to has to be proved without them"
        self.sink.warning("Q0104", message, self.advance().span)
        braces = 0
        while not self.at("end") and (braces or not self.at(";", "}")):
            braces += {"{": 1, "}": -1}.get(self.advance().kind, 0)

    def local(self, binder: Binder) -> syntax.Local:
        self.lower_case(binder.name, binder.span)
        return syntax.Local(binder.span, binder.name, (), binder.sort, None)

    def simple_statement(self) -> syntax.Statement:
        start = self.token.span
        if self.accept("("):
            targets = self.separated(self.target)
            self.expect(")", "after the targets")
            self.expect(":=", "after the targets")
        else:
            target = self.target()
            if not self.accept(":="):
                return syntax.Invocation(target.span, target)
            targets = [target]
            if self.version < (1, 2) and "." in target.name and not target.arguments:
                return self.field_assignment(target)
        if self.accept("*"):
            return syntax.Assignment(self.since(start), tuple(targets), None)
        value = self.expression()
        return syntax.Assignment(self.since(start), tuple(targets), value)

    def field_assignment(self, target: Reference) -> syntax.Statement:
        """`x.f := y` of the first versions: y is all that x is related to by f, or nothing is, if y is `false`."""
        owner, _, field = target.name.rpartition(".")
        place, start = Reference(target.span, "Value"), self.token.span
        value = self.expression()
        match value:
            case Reference(_, name) if name == "null":
                related: Expression = Literal(start, False)
            case Literal(_, False):
                related = value
            case Reference(_, name, _, None) if "." in name:
                other, _, source = name.rpartition(".")
                related = Reference(value.span, source, 0, (Reference(value.span, other), place))
            case _:
                related = Operation(value.span, "=", (place, value))
        arguments = Reference(target.span, owner), place
        return syntax.Assignment(self.since(target.span), (Reference(target.span, field, 0, arguments),), related)

    def target(self) -> Reference:
        if not self.at("name", "this"):
            self.fail("expected a statement")
        made = self.reference()
        if not isinstance(made, Reference):
            self.fail("expected something that can be assigned or called")
        return made

    def if_statement(self) -> syntax.Statement:
        start = self.advance().span
        if self.accept("some"):
            return self.if_some(start)
        condition = None if self.accept("*") else self.expression()
        then = self.block()
        return syntax.IfStatement(self.since(start), condition, then, self.otherwise())

    def if_some(self, start: Span) -> syntax.Statement:
        if self.accept("("):
            binders = self.separated(self.witness)
            self.expect(")", "after the variables")
        else:
            binders = self.separated(self.witness)
            self.expect(".", "after the variables")
        condition = self.expression()
        if self.token.text in ("minimizing", "maximizing"):
            self.fail(f"`{self.token.text}` is not supported", code="Q0104")
        then = self.block()
        return syntax.IfSome(self.since(start), tuple(binders), condition, then, self.otherwise())

    def witness(self) -> Binder:
        name = self.expect("name", "of a variable")
        self.lower_case(name.text, name.span)
        sort = self.sort_name() if self.accept(":") else None
        return Binder(name.text, sort, self.since(name.span))

    def otherwise(self) -> syntax.Block | None:
        if not self.accept("else"):
            return None
        if self.at("if"):
            self.deeper()
            nested = self.if_statement()
            return syntax.Block(nested.span, (nested,))
        if not self.at("{"):
            only = self.statement()
            return syntax.Block(only.span, (only,))
        return self.block()

    def let_statement(self) -> syntax.Statement:
        start = self.advance().span
        locals: list[syntax.Local] = []
        while True:
            binder = self.typed()
            self.lower_case(binder.name, binder.span)
            self.expect("=", "after the name")
            first = self.index
            value = self.expression()
            if {token.text for token in self.tokens[first : self.index]} & {local.name for local in locals}:
                self.fail("`let` with bindings that use each other is not supported", code="Q0104")
            locals.append(syntax.Local(self.since(binder.span), binder.name, (), binder.sort, value))
            if not self.accept(","):
                break
        return syntax.Block(self.since(start), (*locals, self.block()))

    def variable_statement(self) -> syntax.Statement:
        start = self.advance().span
        name = self.plain_name("of the variable")
        arguments = self.parameters()
        sort = self.dotted_sort() if self.accept(":") else None
        value = None
        if self.accept(":=") and not self.accept("*"):
            value = self.expression()
        if sort is None and value is None:
            self.fail("expected `:` and a sort, or `:=` and a value")
        return syntax.Local(self.since(start), name, arguments, sort, value)
