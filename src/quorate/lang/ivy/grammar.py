"""The grammar of Ivy files, versions 1.0 to 1.8: text to the surface tree.

Precedences follow Ivy's own parser (kenmcmil/ivy, ivy_parser.py): implication associates to the left from 1.7 on and to
the right before.  What lies outside the subset is named in a Q0104 diagnostic.  `statements` reads the action bodies.
"""

from __future__ import annotations

import re
from dataclasses import replace

from quorate.lang.diagnostics import Sink
from quorate.lang.ivy import syntax
from quorate.lang.ivy.statements import OPERATOR, StatementParser
from quorate.lang.ivy.vocabulary import (
    CONTEXTUAL,
    LEXICON,
    LEXICON_WITHOUT_QUOTES,
    SCHEMATA,
    STARTS,
    UNSUPPORTED,
    UNUSED,
)
from quorate.lang.reader import (
    Binder,
    Expression,
    Literal,
    Operation,
    Quantifier,
    Reference,
    SyntaxProblem,
    Token,
    tokenize,
)
from quorate.lang.temporal import FairnessDeclaration, LivenessDeclaration
from quorate.models.source import Source, Span

MAX_STUMBLES = 50
"""After so many syntax errors the rest of a file is not read."""


class IvyParser(StatementParser):
    """Declarations of an Ivy file."""

    stumbles = 0

    def declarations(self, closing: bool) -> tuple[syntax.Declaration, ...]:
        """Declarations up to the end of the file, or of the block when `closing`."""
        found: list[syntax.Declaration] = []
        depth = self.depth
        while not self.at("end") and not (closing and self.at("}")):
            start = self.index
            try:
                self.deeper()
                found.extend(self.declaration())
            except SyntaxProblem:
                self.recover(start, closing)
            self.depth = depth
        return tuple(found)

    def recover(self, start: int, closing: bool) -> None:
        """Move on to the next declaration, without losing count of the braces on the way."""
        self.stumbles += 1
        if self.stumbles > MAX_STUMBLES:
            self.index = len(self.tokens) - 1
        if self.index == start:
            self.advance()
        kinds = [token.kind for token in self.tokens[start : self.index]]
        braces = kinds.count("{") - kinds.count("}")
        while not self.at("end") and not self.starts_declaration(self.token):
            if self.at("}") and braces <= 0 and closing:
                return
            braces += {"{": 1, "}": -1}.get(self.advance().kind, 0)

    def starts_declaration(self, token: Token) -> bool:
        if token.kind in STARTS:
            return True
        if token.kind != "name" or (token.text not in CONTEXTUAL and token.text not in UNSUPPORTED):
            return False
        return self.tokens[max(self.index - 1, 0)].span.line < token.span.line

    def declaration(self) -> list[syntax.Declaration]:
        start = self.token
        word = start.text if start.kind == "name" else start.kind
        match word:
            case "type":
                return self.type_declaration()
            case "destructor":
                self.advance()
                return self.destructors()
            case "relation" | "individual" | "function" | "var" | "parameter" | "constant":
                self.advance()
                return self.symbols(word)
            case "module":
                return [self.module()]
            case "instantiate" | "instance":
                return [self.instantiation()]
            case "object" | "isolate":
                return self.object_declaration(trusted=False)
            case "trusted":
                self.advance()
                if not self.at("isolate"):
                    self.fail("expected `isolate` after `trusted`")
                return self.object_declaration(trusted=True)
            case "specification" | "implementation" | "private" | "common":
                return self.group()
            case "finite" | "unbounded" if self.peek().kind == "type":
                self.advance()
                return self.type_declaration(word)
            case "ghost" | "finite" | "explicit":
                self.advance()
                return self.declaration()
            case "axiom" | "property" | "conjecture" | "invariant" | "safety" | "init":
                return [self.formula_declaration(word)]
            case "definition" | "derived":
                return [self.definition()]
            case "action":
                return [self.action()]
            case "before" | "after" | "implement":
                return [self.monitor(word)]
            case "mixin":
                return [self.mixin()]
            case "export" | "import":
                return self.boundary(word)
            case "interpret":
                return [self.interpretation()]
            case "alias":
                return [self.alias()]
            case "macro":
                return [self.macro()]
            case "include":
                return self.include()
            case "attribute" | "extract" | "delegate":
                self.remark(word)
                return []
            case "proof":
                self.proof()
                return []
            case "temporal":
                return self.temporal_property()
            case "liveness" | "fairness":
                return [self.encoded(self.temporal(self.label))]
            case "template" | "concept":
                self.sink.warning(
                    "Q0104", f"`{word}` lines guide a search for invariants; they are not used", start.span
                )
                self.advance()
                self.skip_declaration()
                return []
            case "}" if self.stumbles:
                self.advance()
                return []
        if word in UNSUPPORTED:
            self.fail(f"{UNSUPPORTED[word]} are not supported", code="Q0104")
        self.fail(
            "expected a declaration", fix="a declaration starts with type, relation, action, invariant, export, ..."
        )

    def remark(self, word: str) -> None:
        """Pass over a declaration that is about how a file is checked or compiled, not about what it means."""
        self.advance()
        if word == "delegate":
            self.skip_names()
            if self.accept("->"):
                self.dotted("of an object")
            return
        self.dotted(f"of the {word}")
        self.skip_parentheses()
        self.expect("=", "after the name")
        if not self.accept("number", "string", "true", "false"):
            self.skip_names()

    def skip_declaration(self) -> None:
        """Pass over the rest of a declaration that is not used."""
        braces = 0
        while not self.at("end"):
            if braces == 0 and (self.at("}") or self.starts_declaration(self.token) or self.at("var")):
                return
            braces += {"{": 1, "}": -1}.get(self.advance().kind, 0)

    # -- sorts and symbols -----------------------------------------------------------------------------------------

    def type_declaration(self, extent: str | None = None) -> list[syntax.Declaration]:
        start = self.advance().span
        name = "this" if self.accept("this") else self.plain_name("of the type")
        elements: tuple[str, ...] | syntax.Range = ()
        fields: list[syntax.FieldDeclaration] = []
        if self.accept("="):
            if self.token.text == "struct":
                self.advance()
                fields = self.fields(name)
            elif self.at("{"):
                elements = self.enumeration()
            else:
                self.fail("type definitions of this form are not supported", code="Q0104")
        return [syntax.TypeDeclaration(self.since(start), name, elements, extent), *fields]

    def fields(self, struct: str) -> list[syntax.FieldDeclaration]:
        """The fields of a struct, between braces."""
        self.expect("{")
        fields = [] if self.at("}") else self.separated(lambda: self.field(struct))
        self.expect("}", "after the fields")
        return fields

    def field(self, struct: str) -> syntax.FieldDeclaration:
        start = self.token.span
        name = self.plain_name("of a field")
        arguments = self.parameters()
        self.expect(":", "before the sort")
        sort = self.dotted_sort()
        span = self.since(start)
        return syntax.FieldDeclaration(span, name, (Binder("X", struct, start), *arguments), sort)

    def destructors(self) -> list[syntax.Declaration]:
        """`destructor f(X:t) : s`: a field of the struct t, declared on its own."""
        found: list[syntax.Declaration] = []
        for symbol in self.symbols("destructor"):
            match symbol:
                case syntax.SymbolDeclaration(span, name, arguments, str(sort), None) if arguments:
                    found.append(syntax.FieldDeclaration(span, name, arguments, sort))
                case _:
                    self.sink.error("Q0101", "a destructor has an argument, a sort and no definition", symbol.span)
        return found

    def enumeration(self) -> tuple[str, ...] | syntax.Range:
        self.expect("{")
        if self.at("number") and self.peek().kind == "..":
            low = self.number()
            self.advance()
            if not self.at("number"):
                self.fail("ranges with a symbolic bound are not supported", code="Q0104")
            high = self.number()
            self.expect("}", "after the range")
            return syntax.Range(low, high)
        names = self.separated(self.element)
        self.expect("}", "after the elements")
        return tuple(names)

    def element(self) -> str:
        return self.advance().text if self.at("number") else self.plain_name("of an element")

    def symbols(self, kind: str) -> list[syntax.Declaration]:
        found: list[syntax.Declaration] = []
        while True:
            symbol = self.symbol(kind)
            if symbol is not None:
                found.append(symbol)
            if not self.accept(","):
                return found

    def symbol(self, kind: str) -> syntax.Declaration | None:
        start = self.token.span
        if self.accept("("):
            self.operator_declaration()
            return None
        name = self.plain_name(f"of the {kind}")
        arguments = self.parameters()
        sort = None
        if kind != "relation" and not (kind == "function" and self.at("=")):
            sort = self.symbol_sort()
        if self.version < (1, 3) and not self.at("="):
            arguments = tuple(replace(item, sort=item.sort or syntax.UNSORTED) for item in arguments)
        if self.at("=") and kind in ("var", "parameter", "constant"):
            self.fail("initial values in declarations are not supported", "assign it in `after init`", "Q0104")
        value = self.expression() if self.accept("=") else None
        inferred = any(argument.sort is None for argument in arguments) or (kind == "function" and sort is None)
        if value is not None and inferred:
            return syntax.DefinitionDeclaration(self.since(start), name, arguments, value, True)
        return syntax.SymbolDeclaration(self.since(start), name, arguments, sort, value)

    def symbol_sort(self) -> str:
        if self.version < (1, 3) and not self.at(":"):
            return syntax.UNSORTED
        self.expect(":", "before the sort")
        return self.dotted_sort()

    def operator_declaration(self) -> None:
        """`relation (X:t < Y:t)`: operators exist at every sort, so there is nothing to declare."""
        first = self.typed()
        if not self.at("<", "+", "-", "*") and not (self.version < (1, 6) and self.at("<=", ">", ">=")):
            self.fail("expected `<`, `+`, `-` or `*` in the declaration of an operator")
        if self.version < (1, 3) and first.sort is not None:
            self.operator_sorts[self.token.kind] = first.sort
        self.advance()
        self.typed()
        self.expect(")")
        if self.accept(":"):
            self.dotted_sort()
        if self.at("="):
            self.fail("definitions of operators are not supported", code="Q0104")

    def definition(self) -> syntax.DefinitionDeclaration:
        start = self.advance()
        self.label()
        if self.at("(", "{"):
            self.fail("definitions of operators and definition schemata are not supported", code="Q0104")
        name = self.dotted("of the defined symbol")
        arguments = self.parameters()
        if self.accept(":"):
            self.dotted_sort()
        self.expect("=", "before what it is defined as")
        value = self.expression()
        span = self.since(start.span)
        self.proof_clauses()
        return syntax.DefinitionDeclaration(span, name, arguments, value, start.kind == "derived")

    def interpretation(self) -> syntax.Interpretation:
        start = self.advance().span
        name = self.dotted_sort()
        self.expect("->", "after the sort")
        target: str | tuple[str, ...] | syntax.Range
        if self.at("{"):
            target = self.enumeration()
        elif self.at("native"):
            self.fail("quoted native code is not supported", code="Q0104")
        else:
            target = self.expect("name", "of an interpretation").text
            if self.accept("["):
                target += f"[{self.expect('number').text}]"
                self.expect("]")
        return syntax.Interpretation(self.since(start), name, target)

    def alias(self) -> syntax.Alias:
        start = self.advance().span
        name = self.plain_name("of the alias")
        self.expect("=")
        target = self.dotted_sort()
        return syntax.Alias(self.since(start), name, target)

    # -- modules and objects ---------------------------------------------------------------------------------------

    def module(self) -> syntax.ModuleDeclaration:
        start = self.advance().span
        name = self.plain_name("of the module")
        parameters: list[str] = []
        if self.accept("("):
            parameters = self.separated(lambda: self.plain_name("of a parameter"))
            self.expect(")", "after the parameters")
        self.expect("=", "before the body of the module")
        return syntax.ModuleDeclaration(self.since(start), name, tuple(parameters), self.body())

    def body(self) -> tuple[syntax.Declaration, ...]:
        self.expect("{")
        self.accept("...")
        found = self.declarations(closing=True)
        self.expect("}", "to close the block")
        return found

    def instantiation(self) -> syntax.Instantiation:
        start = self.advance().span
        name = self.dotted("of a module or an instance", colons=False)
        if self.is_named_instance():
            indices = self.parameters()
            self.expect(":")
            module = self.dotted("of a module")
            arguments = self.module_arguments()
            made = syntax.Instantiation(self.since(start), name, module, arguments, indices)
        else:
            arguments = self.module_arguments()
            made = syntax.Instantiation(self.since(start), None, name, arguments)
        if self.accept("with"):
            self.skip_names()
        return made

    def module_arguments(self) -> tuple[Expression, ...]:
        """What a module is instantiated with; an operator is a name like others here."""
        if not self.accept("(") or self.accept(")"):
            return ()
        found = self.separated(self.module_argument)
        self.expect(")", "to close the arguments")
        return tuple(found)

    def module_argument(self) -> Expression:
        token = self.token
        if token.kind in ("<", "<=", ">", ">=", "+", "-", "*") and self.peek().kind in (",", ")"):
            self.advance()
            return Reference(token.span, OPERATOR + self.operators.spelling.get(token.kind, token.kind))
        return self.expression()

    def is_named_instance(self) -> bool:
        """Does a colon follow, perhaps after a list in parentheses?"""
        index, parentheses = self.index, 0
        while self.tokens[index].kind != "end":
            parentheses += {"(": 1, ")": -1}.get(self.tokens[index].kind, 0)
            index += self.tokens[self.index].kind == "("
            if parentheses == 0:
                break
        return self.tokens[index].kind == ":"

    def object_declaration(self, trusted: bool) -> list[syntax.Declaration]:
        kind = self.advance()
        name = self.dotted(f"of the {kind.kind}")
        indices: tuple[Binder, ...] = ()
        if self.at("("):
            if self.names_only_after_parameters():
                self.skip_parentheses()
            else:
                indices = self.formals()
        if self.accept("="):
            if self.at("{"):
                body = self.body()
                if self.accept("with"):
                    self.skip_names()
                return [syntax.ObjectDeclaration(self.since(kind.span), name, body, trusted, indices)]
            if kind.kind == "object":
                self.fail("expected the body of the object")
            self.skip_names()
        if self.accept("with"):
            self.skip_names()
        return []

    def names_only_after_parameters(self) -> bool:
        """Is this `isolate x(me:t) = a, b with c`, which only says what to verify together?"""
        index = self.index
        while self.tokens[index].kind not in (")", "end"):
            index += 1
        following = self.tokens[index + 1 : index + 3]
        return len(following) == 2 and following[0].kind == "=" and following[1].kind != "{"

    def group(self) -> list[syntax.Declaration]:
        start = self.advance()
        if not self.at("{"):
            self.skip_names()
            return []
        body = self.body()
        implements = start.text == "implementation"
        return [syntax.ObjectDeclaration(self.since(start.span), None, body, implementation=implements)]

    def skip_names(self) -> None:
        while True:
            self.dotted("of something declared")
            self.skip_parentheses()
            if not self.accept(","):
                return

    def skip_parentheses(self) -> None:
        if self.accept("("):
            while not self.at(")", "end"):
                self.advance()
            self.expect(")")

    def include(self) -> list[syntax.Declaration]:
        start = self.advance().span
        name = self.expect("name", "of a file")
        span = start.to(name.span)
        if name.text in SCHEMATA:
            message = f"the schemata of `{name.text}` are not used: proofs do without them"
            self.sink.warning("Q0104", message, span)
            return list(_standard_modules(_SCHEMATA, span))
        if name.text in UNUSED:
            self.sink.warning("Q0104", f"the modules of `{name.text}` are not built in, so they cannot be used", span)
            return []
        if name.text != "order":
            fix = "only `order` is built in"
            self.sink.error("Q0104", f"the include file `{name.text}` is not supported", span, fix=fix)
            return []
        return list(_standard_modules(_ORDER, span))

    # -- formulas --------------------------------------------------------------------------------------------------

    def formula_declaration(self, word: str) -> syntax.FormulaDeclaration:
        start = self.advance().span
        label = self.label()
        if self.at("{"):
            self.fail(f"`{word}` schemata are not supported", code="Q0104")
        formula = self.expression()
        span = self.since(start)
        if self.at("named"):
            self.fail("`named` witnesses are not supported", code="Q0104")
        self.proof_clauses()
        return syntax.FormulaDeclaration(span, "invariant" if word == "conjecture" else word, label, formula)

    def temporal_property(self) -> list[syntax.Declaration]:
        """`temporal property`; `temporal axiom` and other combinations are not supported."""
        start = self.advance().span
        if not self.at("property", "invariant"):
            self.sink.error("Q0104", f"`temporal {self.token.text}` is not supported", start)
            self.advance()
            self.skip_declaration()
            return []
        self.operators_of_time = True
        try:
            made = self.formula_declaration("temporal")
        finally:
            self.operators_of_time = False
        return [made]

    def encoded(self, made: LivenessDeclaration | FairnessDeclaration) -> syntax.FormulaDeclaration:
        """As a formula, so that names are looked up in it like in any other; `decoded` is the way back."""
        if isinstance(made, LivenessDeclaration):
            hints = [Operation(hint.span, hint.kind, (hint.formula,)) for hint in made.hints]
            body: Expression = Operation(made.span, "~>", (made.trigger, made.goal, *hints))
            kind = "liveness"
        else:
            when = made.when or Literal(made.span, True)
            body = Operation(made.span, "when", (made.target, when))
            kind = f"fairness {made.strength or ''}".strip()
        if made.binders:
            body = Quantifier(made.span, True, made.binders, body)
        return syntax.FormulaDeclaration(made.span, kind, made.label, body)

    def proof_clauses(self) -> None:
        while self.at("proof"):
            self.proof()

    def proof(self) -> None:
        start = self.advance().span
        self.sink.warning("Q0104", "proof hints are not used: what they belong to has to be proved without them", start)
        self.label()
        if self.at("{"):
            self.skip_block()
            return
        self.skip_declaration()
        if self.tokens[self.index - 1].kind == "with":
            self.fail("tactics with declarations of their own are only supported in braces", code="Q0104")

    def skip_block(self) -> None:
        self.expect("{")
        braces = 1
        while braces and not self.at("end"):
            braces += {"{": 1, "}": -1}.get(self.advance().kind, 0)

    # -- actions ---------------------------------------------------------------------------------------------------

    def action(self) -> syntax.ActionDeclaration:
        start = self.advance().span
        name = self.plain_name("of the action")
        parameters = self.formals()
        results = self.formals() if self.accept("returns") else ()
        span = self.since(start)
        body = None
        if self.accept("="):
            body = self.block()
        return syntax.ActionDeclaration(span, name, parameters, results, body)

    def formals(self) -> tuple[Binder, ...]:
        parameters = self.parameters()
        for parameter in parameters:
            self.lower_case(parameter.name, parameter.span)
        return parameters

    def monitor(self, word: str) -> syntax.Declaration:
        start = self.advance().span
        if word == "after" and self.accept("init"):
            span = self.since(start)
            return syntax.Initialization(span, self.block())
        name = self.dotted("of an action")
        parameters = self.formals() if self.at("(") else None
        results = self.formals() if self.accept("returns") else None
        span = self.since(start)
        self.accept("=")
        body = self.block()
        if word == "before" and self.version < (1, 7):
            body = syntax.required(body)
        kind: syntax.MonitorKind = "before" if word == "before" else "after" if word == "after" else "implement"
        return syntax.Monitor(span, kind, name, parameters, results, body)

    def mixin(self) -> syntax.Mixin:
        start = self.advance().span
        mixer = self.dotted("of an action")
        if not self.at("before", "after"):
            self.fail("expected `before` or `after`")
        kind: syntax.MonitorKind = "before" if self.advance().kind == "before" else "after"
        name = self.dotted("of an action")
        return syntax.Mixin(self.since(start), kind, mixer, name)

    def boundary(self, word: str) -> list[syntax.Declaration]:
        self.advance()
        kind: syntax.Direction = "export" if word == "export" else "import"
        if self.at("action"):
            action = self.action()
            return [action, syntax.Boundary(action.span, kind, action.name)]
        names = self.separated(self.located_name)
        if self.at("->"):
            self.fail(f"renaming in `{word}` is not supported", code="Q0104")
        return [syntax.Boundary(span, kind, name) for name, span in names]

    def located_name(self) -> tuple[str, Span]:
        start = self.token.span
        name = self.dotted("of an action")
        return name, self.since(start)

    def macro(self) -> syntax.MacroDeclaration:
        start = self.advance().span
        name = self.plain_name("of the macro")
        parameters: list[str] = []
        if self.accept("("):
            parameters = [binder.name for binder in self.separated(self.typed)]
            self.expect(")", "after the parameters")
        self.expect("=")
        return syntax.MacroDeclaration(self.since(start), name, tuple(parameters), self.block())


_VERSION = re.compile(r"[ \t\r\n]*#lang[ \t]+ivy([0-9.]*)[^\n]*")

_ORDER = """
module totally_ordered(t) = {
    property [transitivity] (T:t < U & U < V) -> (T < V)
    property [antisymmetry] ~(T:t < U & U < T)
    property [totality] T:t < U | T = U | U < T
}
module totally_ordered_with_zero(t) = {
    instantiate totally_ordered(t)
    property [least] 0 <= X:t
}
module unbounded_sequence = {
    type this
    alias t = this
    relation succ(X:t, Y:t)
    axiom [transitivity] (T:t < U & U < V) -> (T < V)
    axiom [antisymmetry] ~(T:t < U & U < T)
    axiom [totality] T:t < U | T = U | U < T
    axiom [least] 0 <= X:t
    axiom [neighbours] succ(X, Z) -> (X < Z & ~(X < Y & Y < Z))
    action next(x:t) returns (y:t)
    action prev(x:t) returns (y:t)
    after next { assert x < y & (x < Y -> y <= Y); assert succ(x, y) }
    before prev { assert 0 < x }
    after prev { assert y < x & (Y < x -> Y <= y); assert succ(y, x) }
    import next
    import prev
}
"""

_SCHEMATA = "module total_order_schemata(t) = { }"

_ASSUMED = {
    "unbounded_sequence": "any total order with a least element, not only the natural numbers that implement it in Ivy"
}
"""What instances of these modules stand for: their specification is assumed, their implementation is left out."""


def _standard_modules(text: str, span: Span) -> tuple[syntax.Declaration, ...]:
    """The modules of a standard file, as far as they need no implementation; every position in them is the `include`."""
    sink = Sink()
    tokens = tokenize(Source("order.ivy", text), LEXICON, sink)
    here = [Token(token.kind, token.text, span) for token in tokens]
    found = IvyParser(here, sink, (1, 7)).declarations(closing=False)
    modules = [item for item in found if isinstance(item, syntax.ModuleDeclaration)]
    return tuple(replace(module, assumed=_ASSUMED.get(module.name)) for module in modules)


def version_of(source: Source) -> tuple[int, int] | None:
    """The version of Ivy that a file is written in, None if it names none that is read."""
    found = _VERSION.match(source.text)
    number = None if found is None else re.fullmatch(r"1(?:\.([0-8]))?", found.group(1))
    return None if number is None else (1, int(number.group(1) or 0))


def parse(source: Source, sink: Sink) -> tuple[syntax.Declaration, ...]:
    """The declarations of an Ivy file; syntax errors go to the sink."""
    found = _VERSION.match(source.text)
    version = version_of(source)
    if found is None:
        fix = "start the file with `#lang ivy1.7`"
        sink.error("Q0105", "the file does not say which version of Ivy it is written in", Span(source, 0, 0), fix=fix)
        return ()
    if version is None:
        named = found.group(1) or "without a version"
        sink.error("Q0105", f"Ivy {named} is not supported", Span(source, *found.span(1)))
        return ()
    quoted = source.text.rfind(">>>") > source.text.rfind("<<<")
    tokens = tokenize(source, LEXICON if quoted else LEXICON_WITHOUT_QUOTES, sink)
    return IvyParser(tokens, sink, version).declarations(closing=False)
