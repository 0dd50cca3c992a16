"""Random programs, run twice: by a naive interpreter that executes statement after statement, and as transitions.

The interpreter works on its own little syntax trees, of which the Ivy text is printed, and follows every way in which
the code may go.  For each state both must reach the same states, and both must see the same assertions fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate.lang.diagnostics import LanguageError
from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.logic.terms import Symbol
from quorate.models.relational import RelationalModel, Transition
from quorate.models.semantics import Step, successor

NODES = (0, 1)
HEADER = """
type node
relation b
relation p(X:node)
relation q(X:node, Y:node)
function f(X:node) : node
individual c : node
individual k : node
relation d(X:node) = p(X) & X ~= c
relation e(X:node) = exists Y:node. q(X, Y) & d(Y)
after init { b := false; p(X) := false; q(X, Y) := false; f(X) := X; c := k; }
"""
ARITY = {"b": 0, "p": 1, "q": 2, "f": 1, "c": 0}
BOOLEAN = ("b", "p", "q")

Tree = Any
State = dict[str, dict[tuple[int, ...], Any]]
Env = dict[str, str]
"""Where the local variables in scope are kept in the state; variables of quantifiers are kept by value."""


# -- making programs ---------------------------------------------------------------------------------------------------


class Maker:
    """Makes random programs as nested tuples; `locals` are the node variables in scope."""

    def __init__(self, seed: int, symbols: tuple[str, ...] = ("b", "p", "q", "f", "c")) -> None:
        self.random = random.Random(seed)
        self.symbols = symbols
        self.atoms = [kind for kind in ("p", "q", "b", "d", "e", "eq") if kind not in "qe" or "q" in symbols]
        self.fresh = 0
        self.havocs = 2

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def term(self, variables: tuple[str, ...], depth: int = 2) -> Tree:
        constants = [name for name in ("c", "k") if name not in variables]
        kind = self.pick("constant", "f", "var", "var", "ite" if depth == 2 else "constant")
        if kind == "var" and variables:
            return ("var", self.pick(*variables))
        if kind == "f" and depth:
            return ("f", self.term(variables, depth - 1))
        if kind == "ite":
            return ("ite", self.formula(variables, 1), self.term(variables, 1), self.term(variables, 1))
        return (self.pick(*constants),) if constants else ("var", self.pick(*variables))

    def formula(self, variables: tuple[str, ...], depth: int = 3) -> Tree:
        kind = self.pick(*self.atoms, "not", "and", "or", "imp", "iff", "forall", "exists")
        if depth == 0 or kind in self.atoms:
            kind = kind if kind in self.atoms else "p"
            return (kind, *(self.term(variables) for _ in range({"b": 0, "q": 2, "eq": 2}.get(kind, 1))))
        if kind == "not":
            return ("not", self.formula(variables, depth - 1))
        if kind in ("forall", "exists"):
            name = self.pick("X", "Y", "Z")
            return (kind, name, self.formula((*variables, name), depth - 1))
        return (kind, self.formula(variables, depth - 1), self.formula(variables, depth - 1))

    def name(self) -> str:
        self.fresh += 1
        return str(self.pick("x", "c", f"y{self.fresh}", f"y{self.fresh}"))

    def block(self, variables: tuple[str, ...], callees: tuple[str, ...], length: int, depth: int) -> list[Tree]:
        found = []
        for _ in range(self.random.randint(1, length)):
            statement = self.statement(variables, callees, depth)
            found.append(statement)
            if statement[0] == "var":
                variables = (*(v for v in variables if v != statement[1]), statement[1])
        return found

    def statement(self, variables: tuple[str, ...], callees: tuple[str, ...], depth: int) -> Tree:
        simple = ["assign", "assign", "assign", "assume", "var", *(("assert", "call", "result") if callees else ())]
        kind = self.pick(*simple, "havoc", "if", "ifstar", "ifsome", "local") if depth else self.pick(*simple)
        if kind == "havoc":
            self.havocs -= 1
            kind = "havoc" if self.havocs >= 0 else "assign"
        match kind:
            case "assign" | "havoc":
                return self.assignment(variables, kind)
            case "assume" | "assert":
                return (kind, self.formula(variables))
            case "var":
                return ("var", self.name(), self.term(variables))
            case "call":
                return ("call", self.pick(*callees), self.term(variables))
            case "result":
                return ("result", self.pick("p", "f", "require"), self.pick(*callees), self.term(variables))
            case "if":
                branches = (self.block(variables, callees, 2, depth - 1), self.block(variables, callees, 2, depth - 1))
                return ("if", self.formula(variables), *branches)
            case "ifstar":
                return (
                    "ifstar",
                    self.block(variables, callees, 1, depth - 1),
                    self.block(variables, callees, 1, depth - 1),
                )
            case "ifsome":
                name = self.name()
                inner = (*(v for v in variables if v != name), name)
                then = self.block(inner, callees, 2, depth - 1)
                return ("ifsome", name, self.formula(inner, 2), then, self.block(variables, callees, 1, depth - 1))
        name = self.name()
        inner = (*(v for v in variables if v != name), name)
        return ("local", name, self.block(inner, callees, 2, depth - 1))

    def assignment(self, variables: tuple[str, ...], kind: str) -> Tree:
        targets = [name for name in self.symbols if name not in variables]
        locals = [name for name in variables if name[0].islower()]
        target = self.pick(*targets, *locals)
        arguments: list[Tree] = []
        bound: list[str] = []
        if target not in locals:
            for name in ("X", "Y")[: ARITY[target]]:
                if self.pick(True, False):
                    bound.append(name)
            if ARITY[target] == 2 and len(bound) == 2 and self.pick(True, False):
                bound.reverse()
            free = iter(bound)
            slots = [True] * len(bound) + [False] * (ARITY[target] - len(bound))
            self.random.shuffle(slots)
            for slot in slots:
                other = self.term((*variables, *bound))
                other = ("f", other) if other[0] == "var" and other[1] in bound else other
                arguments.append(("var", next(free)) if slot else other)
        if kind == "havoc":
            return ("assign", target, arguments, None)
        make = self.formula if target in BOOLEAN and target not in locals else self.term
        return ("assign", target, arguments, make((*variables, *bound)))

    def program(self) -> Tree:
        helper = self.block(("x", "y"), (), 2, 1)
        helper.insert(0, ("assert", self.formula(("x", "y"), 1)))
        if self.pick(True, False):
            helper.insert(0, ("require", self.formula(("x", "y"), 1)))
        self.havocs = 2
        main = self.block(("x",), ("helper",), 4, 2)
        if self.pick(True, False):
            main.insert(0, ("require", self.formula(("x",), 1)))
        return {"helper": helper, "main": main}


# -- printing them -----------------------------------------------------------------------------------------------------


def text(tree: Tree) -> str:
    kind, *rest = tree
    match kind:
        case "var":
            return str(rest[0])
        case "eq":
            return f"({text(rest[0])} = {text(rest[1])})"
        case "not":
            return f"~{text(rest[0])}"
        case "and" | "or" | "imp" | "iff":
            sign = {"and": "&", "or": "|", "imp": "->", "iff": "<->"}[kind]
            return f"({text(rest[0])} {sign} {text(rest[1])})"
        case "forall" | "exists":
            return f"({kind} {rest[0]}:node. {text(rest[1])})"
        case "ite":
            return f"({text(rest[1])} if {text(rest[0])} else {text(rest[2])})"
    return f"{kind}({', '.join(text(item) for item in rest)})" if rest else kind


def lines(block: list[Tree]) -> str:
    return " ".join(f"{line(statement)};" for statement in block)


def line(statement: Tree) -> str:
    kind, *rest = statement
    match kind:
        case "assign":
            target, arguments, value = rest
            left = f"{target}({', '.join(text(a) for a in arguments)})" if arguments else target
            return f"{left} := {'*' if value is None else text(value)}"
        case "assume" | "assert" | "require":
            return f"{kind} {text(rest[0])}"
        case "var":
            return f"var {rest[0]} := {text(rest[1])}"
        case "call":
            return f"call {rest[0]}({text(rest[1])})"
        case "result":
            place, action, argument = rest
            call = f"{action}({text(argument)})"
            return {"p": f"p({call}) := b", "f": f"f(k) := f({call})", "require": f"assume p({call})"}[place]
        case "if":
            return f"if {text(rest[0])} {{ {lines(rest[1])} }} else {{ {lines(rest[2])} }}"
        case "ifstar":
            return f"if * {{ {lines(rest[0])} }} else {{ {lines(rest[1])} }}"
        case "ifsome":
            return f"if some {rest[0]}:node. {text(rest[1])} {{ {lines(rest[2])} }} else {{ {lines(rest[3])} }}"
        case "local":
            return f"local {rest[0]}:node {{ {lines(rest[1])} }}"
    raise ValueError(kind)


def ivy(program: Tree) -> str:
    return f"""{HEADER}
action helper(x:node) returns (y:node) = {{ {lines(program["helper"])} }}
action main(x:node) = {{ {lines(program["main"])} }}
export main
"""


# -- running them ------------------------------------------------------------------------------------------------------


def value(tree: Tree, state: State, env: Env, bound: dict[str, int] | None = None) -> Any:
    bound = bound or {}
    kind, *rest = tree

    def of(item: Tree) -> Any:
        return value(item, state, env, bound)

    match kind:
        case "var":
            return bound[rest[0]] if rest[0] in bound else state[env[rest[0]]][()]
        case "eq" | "iff":
            return of(rest[0]) == of(rest[1])
        case "not":
            return not of(rest[0])
        case "and":
            return of(rest[0]) and of(rest[1])
        case "or":
            return of(rest[0]) or of(rest[1])
        case "imp":
            return not of(rest[0]) or of(rest[1])
        case "forall":
            return all(value(rest[1], state, env, {**bound, rest[0]: n}) for n in NODES)
        case "exists":
            return any(value(rest[1], state, env, {**bound, rest[0]: n}) for n in NODES)
        case "ite":
            return of(rest[1] if of(rest[0]) else rest[2])
        case "d":
            node = of(rest[0])
            return state["p"][(node,)] and node != state["c"][()]
        case "e":
            node = of(rest[0])
            return any(state["q"][(node, n)] and state["p"][(n,)] and n != state["c"][()] for n in NODES)
    return state[kind][tuple(of(item) for item in rest)]


Outcome = State | str
"""Where the code may end, or "failed" if an assertion does not hold on the way."""


class Interpreter:
    """Follows every way through the code.  A local variable lives in the state, under a name of its own."""

    def __init__(self, program: Tree) -> None:
        self.program = program
        self.slots = 0

    def introduce(self, name: str, node: int, state: State, env: Env) -> tuple[State, Env]:
        self.slots += 1
        slot = f"{name}#{self.slots}"
        return {**state, slot: {(): node}}, {**env, name: slot}

    def run(self, block: list[Tree], state: State, env: Env, called: bool) -> Iterator[Outcome]:
        if not block:
            yield state
        elif block[0][0] == "var":
            inner, names = self.introduce(block[0][1], value(block[0][2], state, env), state, env)
            yield from self.run(block[1:], inner, names, called)
        else:
            for outcome in self.step(block[0], state, env, called):
                if isinstance(outcome, str):
                    yield outcome
                else:
                    yield from self.run(block[1:], outcome, env, called)

    def step(self, statement: Tree, state: State, env: Env, called: bool) -> Iterator[Outcome]:
        kind, *rest = statement
        match kind:
            case "assume" | "assert" | "require":
                if value(rest[0], state, env):
                    yield state
                elif kind == "assert" or (kind == "require" and called):
                    yield "failed"
            case "assign":
                yield from self.assign(rest[0], rest[1], rest[2], state, env)
            case "call":
                for outcome in self.call(rest[0], value(rest[1], state, env), state):
                    yield outcome if isinstance(outcome, str) else outcome[0]
            case "result":
                yield from self.use_result(rest[0], rest[1], rest[2], state, env)
            case "if":
                yield from self.run(rest[1] if value(rest[0], state, env) else rest[2], state, env, called)
            case "ifstar":
                for branch in rest:
                    yield from self.run(branch, state, env, called)
            case "ifsome":
                name, condition, then, otherwise = rest
                witnesses = [n for n in NODES if value(condition, *self.introduce(name, n, state, env))]
                for node in witnesses:
                    yield from self.run(then, *self.introduce(name, node, state, env), called)
                if not witnesses:
                    yield from self.run(otherwise, state, env, called)
            case "local":
                for node in NODES:
                    yield from self.run(rest[1], *self.introduce(rest[0], node, state, env), called)

    def call(self, action: str, argument: int, state: State) -> Iterator[tuple[State, int] | str]:
        for node in NODES:
            inner, names = self.introduce("x", argument, state, {})
            inner, names = self.introduce("y", node, inner, names)
            for outcome in self.run(self.program[action], inner, names, True):
                yield outcome if isinstance(outcome, str) else (outcome, outcome[names["y"]][()])

    def use_result(self, place: str, action: str, argument: Tree, state: State, env: Env) -> Iterator[Outcome]:
        for outcome in self.call(action, value(argument, state, env), state):
            if isinstance(outcome, str):
                yield outcome
                continue
            after, node = outcome
            if place == "p":
                yield _changed(after, "p", {(node,): after["b"][()]})
            elif place == "f":
                yield _changed(after, "f", {(after["k"][()],): after["f"][(node,)]})
            elif after["p"][(node,)]:
                yield after

    def assign(self, target: str, arguments: list[Tree], tree: Tree, state: State, env: Env) -> Iterator[Outcome]:
        variables = [a[1] for a in arguments if a[0] == "var" and a[1][0].isupper()]
        values = (False, True) if target in BOOLEAN else NODES
        rows: list[tuple[tuple[int, ...], dict[str, int]]] = []
        for nodes in product(NODES, repeat=len(variables)):
            bound = dict(zip(variables, nodes, strict=True))
            rows.append((tuple(value(a, state, env, bound) for a in arguments), bound))
        place = env.get(target, target)
        if tree is None:
            for picked in product(values, repeat=len(rows)):
                yield _changed(state, place, {row[0]: new for row, new in zip(rows, picked, strict=True)})
        else:
            yield _changed(state, place, {row[0]: value(tree, state, env, row[1]) for row in rows})


def _changed(state: State, symbol: str, table: dict[tuple[int, ...], Any]) -> State:
    return {**state, symbol: {**state[symbol], **table}}


# -- comparing ---------------------------------------------------------------------------------------------------------


def random_state(source: random.Random) -> State:
    made: State = {}
    for name, arity in {**ARITY, "k": 0}.items():
        values = (False, True) if name in BOOLEAN else NODES
        made[name] = {args: source.choice(values) for args in product(NODES, repeat=arity)}
    return made


def frozen(state: State) -> Any:
    return tuple((name, tuple(sorted(state[name].items()))) for name in ("b", "p", "q", "f", "c"))


def structure(model: RelationalModel, state: State) -> Structure:
    (node,) = model.sorts
    tables: dict[Symbol, Any] = {s: state[s.name] for s in model.symbols if s.name in state}
    for symbol in model.symbols:
        if symbol.name in ("d", "e"):
            tables[symbol] = {(n,): value((symbol.name, ("var", "N")), state, {}, {"N": n}) for n in NODES}
        elif symbol.name not in state:
            tables[symbol] = {(): False}
    return Structure({node: 2}, tables)


def steps(model: RelationalModel, transition: Transition, binding: int) -> Iterator[Step]:
    """All ways to take a transition whose first parameter is given, if it is one of main's."""
    sizes = {model.sorts[0]: 2}
    domains = [domain(parameter.sort, sizes) for parameter in transition.parameters]
    spaces = []
    for choice in transition.choices:
        rows = list(argument_tuples(choice.arguments, sizes))
        spaces.append([dict(zip(rows, v, strict=True)) for v in product(domain(choice.sort, sizes), repeat=len(rows))])
    for values in product(*domains):
        bindings = {parameter.name: v for parameter, v in zip(transition.parameters, values, strict=True)}
        if bindings.get("x", binding) == binding:
            for tables in product(*spaces):
                chosen = {choice.name: table for choice, table in zip(transition.choices, tables, strict=True)}
                yield Step(transition.name, bindings, chosen)


def reached(model: RelationalModel, state: State, binding: int) -> set[Any]:
    before = structure(model, state)
    found = set()
    for step in steps(model, model.transition("main"), binding):
        after = successor(model, before, step)
        if not isinstance(after, str):
            found.add(frozen({s.name: dict(after.tables[s]) for s in model.symbols if s.name in state}))
    return found


def fails(model: RelationalModel, state: State) -> bool:
    """Does some assertion of `main` not hold, for some parameter?"""
    before = structure(model, state)
    flag = next((s for s in model.symbols if s.name.startswith("assertion_failed")), None)
    if any(not before.holds(item.formula) for item in model.safety):
        return True
    others = [transition for transition in model.transitions if transition.name != "main"]
    for transition in others:
        for binding in NODES:
            for step in steps(model, transition, binding):
                after = successor(model, before, step)
                if not isinstance(after, str):
                    assert flag is not None and after.tables[flag][()] is True
                    return True
    return False


def small(transition: Transition) -> bool:
    """Are there few enough ways to take the transition in a universe of two nodes?"""
    bits = len(transition.parameters) + sum(1 << len(choice.arguments) for choice in transition.choices)
    return bits <= 10


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_transitions_do_what_the_statements_say(read: Callable[[str], RelationalModel], seed: int) -> None:
    program = Maker(seed).program()
    try:
        model = read(ivy(program))
    except LanguageError as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"Q0222"}, "only size may be a reason"
        return
    if not all(small(transition) for transition in model.transitions):
        return
    interpreter = Interpreter(program)
    source = random.Random(seed)
    for _ in range(4):
        state = random_state(source)
        failed = False
        for binding in NODES:
            outcomes = list(interpreter.run(program["main"], *interpreter.introduce("x", binding, state, {}), False))
            expected = {frozen(outcome) for outcome in outcomes if not isinstance(outcome, str)}
            assert reached(model, state, binding) == expected, ivy(program)
            failed = failed or "failed" in outcomes
        assert fails(model, state) == failed, ivy(program)


# -- initial states ----------------------------------------------------------------------------------------------------

INITIAL_HEADER = """
type node
relation b
relation p(X:node)
function f(X:node) : node
individual c : node
individual k : node
relation d(X:node) = p(X) & X ~= c
action touch = { b := *; p(X) := *; f(X) := *; c := * }
"""


def all_states() -> Iterator[State]:
    for b, p0, p1 in product((False, True), repeat=3):
        for f0, f1, c, k in product(NODES, repeat=4):
            yield {
                "b": {(): b},
                "p": {(0,): p0, (1,): p1},
                "f": {(0,): f0, (1,): f1},
                "c": {(): c},
                "k": {(): k},
                "q": dict.fromkeys(product(NODES, repeat=2), False),
            }


def is_initial(model: RelationalModel, state: State, extra: list[Symbol]) -> bool:
    """Do the initial formulas hold, for some values of the rigid symbols that were added for them?"""
    sizes = {model.sorts[0]: 2}
    spaces = []
    for symbol in extra:
        rows = list(argument_tuples(symbol.arguments, sizes))
        values = product(domain(symbol.sort, sizes), repeat=len(rows))
        spaces.append([dict(zip(rows, row, strict=True)) for row in values])
    before = structure(model, state)
    for tables in product(*spaces):
        full = Structure(sizes, {**before.tables, **dict(zip(extra, tables, strict=True))})
        if all(full.holds(item.formula) for item in model.initial):
            return True
    return False


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_initial_states_are_those_that_the_code_can_leave(read: Callable[[str], RelationalModel], seed: int) -> None:
    block = Maker(seed, ("b", "p", "f", "c")).block((), (), 4, 2)
    text = f"{INITIAL_HEADER}after init {{ {lines(block)} }}"
    try:
        model = read(text)
    except LanguageError as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"Q0222"}, "only size may be a reason"
        return
    extra = [symbol for symbol in model.symbols if symbol.name not in ("b", "p", "f", "c", "k", "d")]
    if sum(2 ** len(symbol.arguments) for symbol in extra) > 8:
        return
    interpreter = Interpreter({})
    expected = set()
    for state in all_states():
        for outcome in interpreter.run(block, state, {}, False):
            assert not isinstance(outcome, str)
            expected.add((frozen(outcome), outcome["k"][()]))
    found = {(frozen(state), state["k"][()]) for state in all_states() if is_initial(model, state, extra)}
    assert found == expected, text
