"""Random relational protocols as text: Ivy and mypyvy files that use every construct the front ends read.

The texts are small (two or three sorts, a handful of symbols), well sorted, and deliberately unpleasant: variables hide each
other, definitions stand in any order, code reads what it has just changed, names end in digits.  `random_pyv(Random(7))` and
`random_ivy(Random(7))` always give the same text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

BOOL = "bool"
VARIABLES = ("X", "Y", "X1", "X0", "N")
"""Few names for bound variables, so that they hide each other."""


@dataclass(frozen=True)
class Name:
    """A symbol that can be read: its arguments and its result."""

    text: str
    arguments: tuple[str, ...] = ()
    sort: str = BOOL
    mutable: bool = True


@dataclass(frozen=True)
class Marks:
    """How a language spells its operators."""

    no: str
    differs: str
    conditional: str
    """With places for the condition and the two values."""


PYV = Marks("!", "!=", "(if {0} then {1} else {2})")
IVY = Marks("~", "~=", "({1} if {0} else {2})")


@dataclass
class Expressions:
    """Well-sorted expressions over what is in scope."""

    random: Random
    marks: Marks
    sorts: list[str]
    names: list[Name]
    variables: list[tuple[str, str]] = field(default_factory=list)

    def inside(self, *variables: tuple[str, str]) -> Expressions:
        """With more variables in scope; a new one hides an old one of the same name."""
        hidden = {name for name, _ in variables}
        kept = [item for item in self.variables if item[0] not in hidden]
        return Expressions(self.random, self.marks, self.sorts, self.names, [*kept, *variables])

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def term(self, sort: str, depth: int = 2) -> str | None:
        """A term of a sort; None if there is none without more depth."""
        options = [name for name, own in self.variables if own == sort]
        options += [name.text for name in self.names if name.sort == sort and not name.arguments]
        if sort == "int":
            options += ["0", "1"]
        if depth > 0 and self.chance(0.35 if options else 1.0):
            functions = [name for name in self.names if name.sort == sort and name.arguments]
            self.random.shuffle(functions)
            for name in functions:
                made = self.applied(name, depth - 1)
                if made:
                    return made
            if options and self.chance(0.3):
                pair = [self.term(sort, depth - 1) for _ in range(2)]
                if all(pair):
                    return self.marks.conditional.format(f"({self.formula(depth - 1)})", *pair)
        return self.random.choice(options) if options else None

    def applied(self, name: Name, depth: int) -> str | None:
        arguments = [self.term(sort, depth) for sort in name.arguments]
        if not all(arguments):
            return None
        return f"{name.text}({', '.join(map(str, arguments))})" if arguments else name.text

    def atom(self, depth: int) -> str:
        relations = [name for name in self.names if name.sort == BOOL]
        if self.chance(0.3):
            sort = self.random.choice(self.sorts)
            left, right = self.term(sort, depth), self.term(sort, depth)
            if left and right:
                return f"{left} {self.random.choice(('=', self.marks.differs))} {right}"
        self.random.shuffle(relations)
        for name in relations:
            made = self.applied(name, depth)
            if made:
                return made
        return self.random.choice(("true", "false"))

    def formula(self, depth: int = 2) -> str:
        kind = self.random.random()
        if depth <= 0 or kind < 0.3:
            return self.random.choice(("", "", self.marks.no)) + f"({self.atom(max(depth, 1))})"
        if kind < 0.55:
            quantifier, sort = self.random.choice(("forall", "exists")), self.random.choice(self.sorts)
            name = self.random.choice(VARIABLES)
            return f"({quantifier} {name}:{sort}. {self.inside((name, sort)).formula(depth - 1)})"
        if kind < 0.62:
            return f"{self.marks.no}({self.formula(depth - 1)})"
        operator = self.random.choice(("&", "&", "|", "|", "->", "<->"))
        return f"({self.formula(depth - 1)} {operator} {self.formula(depth - 1)})"

    def value(self, sort: str, depth: int = 2) -> str | None:
        return self.formula(depth) if sort == BOOL else self.term(sort, depth)


def places(name: Name) -> list[tuple[str, str]]:
    """A variable for each argument of a symbol."""
    return [(f"V{number}", sort) for number, sort in enumerate(name.arguments)]


# -- mypyvy ------------------------------------------------------------------------------------------------------------------

ORDER = [
    "axiom le(A, A)",
    "axiom le(A, B) & le(B, A) -> A = B",
    "axiom le(A, B) & le(B, C) -> le(A, C)",
    "axiom le(A, B) | le(B, A)",
]


class _Pyv:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.sorts = ["node", "value"][: random.randint(1, 2)]
        self.lines = [f"sort {sort}" for sort in self.sorts]
        self.names: list[Name] = []
        self.state: list[Name] = []

    def text(self) -> str:
        self.symbols()
        rigid = Expressions(self.random, PYV, self.sorts, [name for name in self.names if not name.mutable])
        if any(name.text == "le" for name in self.names):
            self.lines += ORDER
        if self.random.random() < 0.4:
            self.lines.append(f"axiom [a1] {rigid.formula(2)}")
        self.derived()
        free = Expressions(self.random, PYV, self.sorts, self.names)
        for name in self.state:
            if self.random.random() < 0.85:
                self.initial(name)
        if self.random.random() < 0.3:
            self.lines.append(f"init [more] {free.formula(1)}")
        for number in range(self.random.randint(1, 3)):
            self.transition(f"t{number}")
        for number in range(self.random.randint(1, 2)):
            self.lines.append(f"safety [s{number}] {self.claim(free)}")
        if self.random.random() < 0.4:
            self.lines.append(f"invariant [i] {self.claim(free)}")
        return "\n".join(self.lines) + "\n"

    def claim(self, free: Expressions) -> str:
        if self.random.random() < 0.4:
            sort = self.random.choice(self.sorts)
            return free.inside(("A", sort), ("B", sort)).formula(2)
        return free.formula(2)

    def symbols(self) -> None:
        random, first = self.random, self.sorts[0]
        options = [
            Name("root", (), first, False),
            Name("le", (first, first), BOOL, False),
            Name("next", (first,), first, False),
            Name("p", (first,)),
            Name("p1", (self.sorts[-1],)),
            Name("q", (first, self.sorts[-1])),
            Name("on"),
            Name("c", (), self.sorts[-1]),
            Name("f", (first,), self.sorts[-1]),
        ]
        chosen = [name for name in options if random.random() < 0.55]
        if not any(name.mutable and name.sort == BOOL for name in chosen):
            chosen.append(options[3])
        for name in chosen:
            kind = "relation" if name.sort == BOOL else "function" if name.arguments else "constant"
            arguments = f"({', '.join(name.arguments)})" if name.arguments else ""
            result = "" if name.sort == BOOL else f": {name.sort}"
            self.lines.append(f"{'mutable' if name.mutable else 'immutable'} {kind} {name.text}{arguments}{result}")
        self.names += chosen
        self.state = [name for name in chosen if name.mutable]

    def derived(self) -> None:
        for number in range(self.random.randint(0, 2)):
            arguments = tuple(self.random.choice(self.sorts) for _ in range(self.random.randint(0, 1)))
            name = Name(f"d{number}", arguments)
            scope = Expressions(self.random, PYV, self.sorts, list(self.names)).inside(*places(name))
            head = f"d{number}" + (f"({', '.join(v for v, _ in places(name))})" if arguments else "")
            body = scope.formula(2)
            if self.random.random() < 0.5:
                sorts = f"({', '.join(arguments)})" if arguments else ""
                binder = "".join(f"forall {v}:{s}. " for v, s in places(name))
                self.lines.append(f"derived relation d{number}{sorts}: {binder}({head} <-> {body})")
                self.names.append(name)
            else:
                binders = ", ".join(f"{v}: {s}" for v, s in places(name))
                self.lines.append(f"definition d{number}({binders}) = {body}")
                self.names.append(name)

    def initial(self, name: Name) -> None:
        scope = Expressions(self.random, PYV, self.sorts, [n for n in self.names if not n.mutable]).inside(
            *places(name)
        )
        own = name.text + (f"({', '.join(v for v, _ in places(name))})" if name.arguments else "")
        binder = "".join(f"forall {v}:{s}. " for v, s in places(name))
        if name.sort != BOOL:
            value = scope.term(name.sort, 1)
            if value:
                self.lines.append(f"init {binder}{own} = {value}")
        elif self.random.random() < 0.7:
            self.lines.append(f"init {binder}{self.random.choice(('', '!', '!'))}{own}")
        else:
            self.lines.append(f"init {binder}({own} <-> {scope.formula(1)})")

    def transition(self, title: str) -> None:
        random = self.random
        parameters = [(f"x{i}", random.choice(self.sorts)) for i in range(random.randint(0, 2))]
        scope = Expressions(random, PYV, self.sorts, self.names).inside(*parameters)
        changed = random.sample(self.state, random.randint(0, min(2, len(self.state))))
        parts = [scope.formula(1) for _ in range(random.randint(0, 2))]
        parts += [part for name in changed for part in self.update(name, scope, parameters)]
        listed = ", ".join(f"{name}: {sort}" for name, sort in parameters)
        modifies = f"\n  modifies {', '.join(name.text for name in changed)}" if changed else " ="
        body = "\n".join(f"  & ({part})" for part in parts or ["true"])
        self.lines.append(f"transition {title}({listed}){modifies}\n{body}")

    def update(self, name: Name, scope: Expressions, parameters: list[tuple[str, str]]) -> list[str]:
        random = self.random
        variables = places(name)
        binder = "".join(f"forall {v}:{s}. " for v, s in variables)
        own = name.text + (f"({', '.join(v for v, _ in variables)})" if variables else "")
        inner = scope.inside(*variables)
        if random.random() < 0.15:
            return []
        if name.sort != BOOL:
            if variables and random.random() < 0.6:
                at = [random.choice([p for p, s in parameters if s == sort] or [v]) for v, sort in variables]
                same = " & ".join(f"{v} = {p}" for (v, _), p in zip(variables, at, strict=True))
                kept = f"{binder}(!({same}) -> new({own}) = {own})"
                value = inner.term(name.sort, 1)
                return [kept, f"{binder}(({same}) -> new({own}) = {value})"] if value else [kept]
            value = inner.term(name.sort, 1)
            return [f"{binder}new({own}) = {value}"] if value else []
        kind = random.random()
        matching = [[p for p, s in parameters if s == sort] for _, sort in variables]
        if variables and all(matching) and kind < 0.6:
            at = " & ".join(f"{v} = {random.choice(m)}" for (v, _), m in zip(variables, matching, strict=True))
            change = f"{own} | {at}" if random.random() < 0.6 else f"{own} & !({at})"
            return [f"{binder}(new({own}) <-> {change})"]
        if kind < 0.85:
            return [f"{binder}(new({own}) <-> {inner.formula(1)})"]
        return [f"{binder}(new({own}) -> {own})"]


def random_pyv(random: Random) -> str:
    """A mypyvy file."""
    return _Pyv(random).text()


# -- Ivy ---------------------------------------------------------------------------------------------------------------------


class _Ivy:
    """Builds an Ivy file: declarations that may stand in any order are shuffled."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sorts = ["node"]
        self.head = ["#lang ivy1.7", "type node"]
        self.declared: list[str] = []
        self.definitions: list[str] = []
        self.code: list[str] = []
        self.names: list[Name] = []
        self.state: list[Name] = []
        self.actions: list[tuple[str, list[str], list[str]]] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def scope(self, *variables: tuple[str, str]) -> Expressions:
        return Expressions(self.random, IVY, self.sorts, self.names).inside(*variables)

    def text(self) -> str:
        self.types()
        self.symbols()
        self.define()
        self.start()
        self.helpers()
        for number in range(self.random.randint(1, 3)):
            self.action(f"t{number}", exported=True)
        self.monitors()
        self.claims()
        self.random.shuffle(self.definitions)
        return "\n".join([*self.head, *self.declared, *self.definitions, *self.code]) + "\n"

    def types(self) -> None:
        if self.chance(0.4):
            self.head.append("type color = {red, green}")
            self.sorts.append("color")
            self.names += [Name("red", (), "color", False), Name("green", (), "color", False)]
        if self.chance(0.4):
            self.head.append("type item")
            self.sorts.append("item")
        if self.chance(0.25):
            other = self.random.choice(self.sorts)
            self.head.append(f"type msg = struct {{ src : node, tag : {other} }}")
            self.sorts.append("msg")
            self.names += [Name("src", ("msg",), "node", False), Name("tag", ("msg",), other, False)]

    def symbols(self) -> None:
        pick = self.random.choice
        options = [
            Name("p", (pick(self.sorts),)),
            Name("p1", (pick(self.sorts),)),
            Name("q", (pick(self.sorts), pick(self.sorts))),
            Name("on"),
            Name("c", (), pick(self.sorts)),
            Name("c1", (), "node"),
            Name("f", ("node",), pick(self.sorts)),
            Name("r", ("node", "node"), BOOL, False),
        ]
        chosen = [name for name in options if self.chance(0.55)]
        if not any(name.mutable and name.sort == BOOL for name in chosen):
            chosen.append(options[0])
        for name in chosen:
            arguments = f"({', '.join(f'{v}:{s}' for v, s in places(name))})" if name.arguments else ""
            kind = "relation" if name.sort == BOOL else "function" if name.arguments else "individual"
            result = "" if name.sort == BOOL else f" : {name.sort}"
            self.declared.append(f"{kind} {name.text}{arguments}{result}")
        self.names += chosen
        self.state = [name for name in chosen if name.mutable]
        if any(name.text == "r" for name in chosen) and self.chance(0.7):
            facts = ("axiom r(X, X)", "axiom r(X, Y) -> r(Y, X)", "axiom r(X, Y) & r(Y, X) -> X = Y", "axiom ~r(X, X)")
            self.declared += [fact for fact in facts[:3] if self.chance(0.5)] or [pick(facts)]
        if self.chance(0.25):
            self.instance()

    def instance(self) -> None:
        """A module, and an object with code of its own."""
        self.head += ["module box(t) = {", "  relation has(X:t)", "  after init { has(X) := false }", "}"]
        self.declared.append("instance b : box(node)")
        name = Name("b.has", ("node",))
        self.names.append(name)
        self.state.append(name)

    def define(self) -> None:
        """Definitions, some by others; where they stand is for chance to say."""
        for number in range(self.random.randint(0, 3)):
            arguments = tuple(self.random.choice(self.sorts) for _ in range(self.random.randint(0, 1)))
            name = Name(f"d{number}", arguments, BOOL, False)
            body = self.scope(*places(name)).formula(2)
            arguments_text = f"({', '.join(f'{v}:{s}' for v, s in places(name))})" if arguments else ""
            head = f"d{number}" + (f"({', '.join(v for v, _ in places(name))})" if arguments else "")
            if self.chance(0.3):
                self.definitions.append(f"relation d{number}{arguments_text} = {body}")
            else:
                self.declared.append(f"relation d{number}{arguments_text}")
                self.definitions.append(f"definition {head} = {body}")
            self.names.append(name)

    def start(self) -> None:
        lines = []
        for name in self.state:
            if name.text != "b.has" and self.chance(0.9):
                lines.append(self.assignment(self.scope(), name, whole=True, depth=1))
        if self.chance(0.2):
            lines.append(f"assume {self.scope().formula(1)}")
        if self.chance(0.2) and lines:
            lines.append(self.random.choice(lines))
        self.code.append(self.block("after init", [line for line in lines if line] or ["on1 := true"]))
        if not any(lines):
            self.declared.append("relation on1")

    def block(self, head: str, lines: list[str]) -> str:
        return f"{head} {{\n" + ";\n".join(f"  {line}" for line in lines) + "\n}"

    def assignment(self, scope: Expressions, name: Name, whole: bool = False, depth: int = 2) -> str:
        """An assignment to a symbol: at variables, at terms, or at some of each."""
        targets: list[str] = []
        inner: list[tuple[str, str]] = []
        for number, sort in enumerate(name.arguments):
            term = None if whole or self.chance(0.4) else scope.term(sort, 1)
            if term is None or any(term == v for v, _ in inner):
                inner.append((f"V{number}", sort))
                targets.append(f"V{number}")
            else:
                targets.append(term)
        left = name.text + (f"({', '.join(targets)})" if targets else "")
        if self.chance(0.08):
            return f"{left} := *"
        value = scope.inside(*inner).value(name.sort, depth)
        return f"{left} := {value if value is not None else '*'}"

    def statements(self, scope: Expressions, depth: int, level: int = 1) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(scope, depth, level)]

    def statement(self, scope: Expressions, depth: int, level: int) -> list[str]:
        pad = "  " * level

        def nested(inner: Expressions) -> str:
            return (";\n" + pad + "  ").join(self.statements(inner, depth - 1, level + 1))

        kind = self.random.random()
        if depth <= 0 or kind < 0.45:
            return [self.assignment(scope, self.random.choice(self.state))]
        if kind < 0.58:
            otherwise = f" else {{ {nested(scope)} }}" if self.chance(0.5) else ""
            condition = "*" if self.chance(0.1) else scope.formula(1)
            return [f"if {condition} {{ {nested(scope)} }}{otherwise}"]
        if kind < 0.68:
            sort, name = self.random.choice(self.sorts), self.random.choice(("k", "k1", "x0"))
            inner = scope.inside((name, sort))
            otherwise = f" else {{ {nested(scope)} }}" if self.chance(0.5) else ""
            return [f"if some {name}:{sort}. {inner.formula(1)} {{ {nested(inner)} }}{otherwise}"]
        if kind < 0.76:
            sort, name = self.random.choice(self.sorts), self.random.choice(("l", "l1", "x0"))
            inner = scope.inside((name, sort))
            return [f"local {name}:{sort} {{ {name} := {scope.term(sort, 1) or '*'}; {nested(inner)} }}"]
        if kind < 0.84:
            return [f"require {scope.formula(1)}" if self.chance(0.6) else f"assume {scope.formula(1)}"]
        if kind < 0.88:
            return [f"ensure {scope.formula(1)}" if self.chance(0.5) else f"assert {scope.formula(1)}"]
        return self.call(scope)

    def call(self, scope: Expressions) -> list[str]:
        if not self.actions:
            return [self.assignment(scope, self.random.choice(self.state))]
        title, parameters, results = self.random.choice(self.actions)
        arguments = [scope.term(sort, 1) for sort in parameters]
        if not all(arguments):
            return [self.assignment(scope, self.random.choice(self.state))]
        call = title + (f"({', '.join(map(str, arguments))})" if arguments else "")
        constants = [name.text for name in self.state if not name.arguments and [name.sort] == results]
        if results and constants and self.chance(0.7):
            return [f"{self.random.choice(constants)} := {call}"]
        return [f"call {call}"]

    def helpers(self) -> None:
        """Actions that others call: not exported."""
        for number in range(self.random.randint(0, 2)):
            self.action(f"h{number}", exported=False)

    def action(self, title: str, exported: bool) -> None:
        parameters = [(f"x{i}", self.random.choice(self.sorts)) for i in range(self.random.randint(0, 2))]
        results = [("y", self.random.choice(self.sorts))] if not exported and self.chance(0.5) else []
        scope = self.scope(*parameters, *results)
        lines = self.statements(scope, 2)
        if exported and self.chance(0.4):
            lines.insert(0, f"require {self.scope(*parameters).formula(1)}")
        if results:
            value = self.scope(*parameters).term(results[0][1], 1)
            lines.append(f"y := {value or '*'}")
        listed = f"({', '.join(f'{n}:{s}' for n, s in parameters)})" if parameters else ""
        given = f" returns ({', '.join(f'{n}:{s}' for n, s in results)})" if results else ""
        self.code.append(self.block(f"action {title}{listed}{given} =", lines))
        self.actions.append((title, [sort for _, sort in parameters], [sort for _, sort in results]))
        if exported:
            self.code.append(f"export {title}")
            self.monitored = (title, parameters)

    def monitors(self) -> None:
        title, parameters = self.monitored
        if self.chance(0.3):
            scope = self.scope(*parameters)
            self.code.append(self.block(f"before {title}", [f"require {scope.formula(1)}"]))
        if self.chance(0.3):
            lines = self.statements(self.scope(*parameters), 1)
            if self.chance(0.4):
                lines.append(f"ensure {self.scope(*parameters).formula(1)}")
            self.code.append(self.block(f"after {title}", lines))

    def claims(self) -> None:
        for number in range(self.random.randint(1, 2)):
            if self.chance(0.4):
                sort = self.random.choice(self.sorts)
                formula = f"forall A:{sort}, B:{sort}. {self.scope(('A', sort), ('B', sort)).formula(2)}"
            else:
                formula = self.scope().formula(2)
            self.code.append(f"invariant [s{number}] {formula}")


def random_ivy(random: Random) -> str:
    """An Ivy file."""
    return _Ivy(random).text()
