"""Two-state formulas as guarded updates: exact results, and the same pairs of states as the formula itself.

The differential test makes random transitions, enumerates all pairs of small states, and compares those that the
two-state formula allows (with everything else unchanged) with those that the guarded transition leads through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lang.reading import expression, model, transition
from quorate.lang.elaborate import references, subexpressions
from quorate.lang.reader import Shift
from quorate.logic.printing import show
from quorate.logic.structures import Evaluator, Structure, argument_tuples, domain
from quorate.logic.terms import Symbol, Var, conj, equal, exists, neg
from quorate.logic.transform import is_one_state
from quorate.models.relational import RelationalModel, Transition, Update
from quorate.models.semantics import Step, successor, with_derived

# -- exact results -----------------------------------------------------------------------------------------------------


def parts(text: str) -> tuple[str, list[str], list[str]]:
    """Guard, updates and choices of a transition, as text."""
    found = transition(text)
    updates = []
    for update in found.updates:
        places = ", ".join(variable.name for variable in update.variables)
        updates.append(f"{update.symbol.name}({places}) := {show(update.value)}")
    return show(found.guard), updates, [choice.name for choice in found.choices]


@pytest.mark.parametrize(
    ("body", "guard", "updates", "choices"),
    [
        # the new value everywhere
        ("modifies p p(n) & (new(p(X)) <-> p(X) & X != n)", "p(n)", ["p(X) := p(X) & X != n"], []),
        ("modifies p p'(X) = p(X)", "true", ["p(X) := p(X)"], []),
        ("modifies p p(X) <-> p'(X)", "true", ["p(X) := p(X)"], []),
        ("modifies p p'(X)", "true", ["p(X) := true"], []),
        ("modifies p !p'(X)", "true", ["p(X) := false"], []),
        ("modifies p !(p'(X) <-> p(X))", "true", ["p(X) := !p(X)"], []),
        ("modifies p p'(X) != p(X)", "true", ["p(X) := !p(X)"], []),
        ("modifies flag flag'", "true", ["flag() := true"], []),
        ("modifies flag !new(flag)", "true", ["flag() := false"], []),
        ("modifies leader leader' = n & flag", "flag", ["leader() := n"], []),
        ("modifies leader n = leader'", "true", ["leader() := n"], []),
        ("modifies owner new(owner(V)) = n", "true", ["owner(V) := n"], []),
        ("modifies count count' = count + 1", "true", ["count() := count + 1"], []),
        ("modifies q q'(X, V) <-> q(X, V) | X = n", "true", ["q(X, V) := q(X, V) | X = n"], []),
        # several at once, in the order of `modifies`
        ("modifies p, flag flag' & !p'(X)", "true", ["p(X) := false", "flag() := true"], []),
        ("modifies p, leader leader' = n & (p'(X) <-> X = leader)", "true", ["p(X) := X = leader", "leader() := n"], []),
        ("modifies p, leader leader' = n & (p'(X) <-> X = leader')", "true", ["p(X) := X = n", "leader() := n"], []),
        # by cases
        ("modifies p if flag then p'(X) else !p'(X)", "true", ["p(X) := flag"], []),
        (
            "modifies owner if flag then new(owner(V)) = n else new(owner(V)) = owner(V)",
            "true",
            ["owner(V) := if flag then n else owner(V)"],
            [],
        ),
        ("modifies p (X != n -> (p'(X) <-> p(X))) & p'(n)", "true", ["p(X) := X = n | p(X)"], []),
        ("modifies p (X != n -> (p'(X) <-> p(X))) & !p'(n)", "true", ["p(X) := X != n & p(X)"], []),
        ("modifies p p'(n) & (X = n | (p'(X) <-> p(X)))", None, None, ["p'"]),
        (
            "modifies q (X != n -> (q'(X, V) <-> q(X, V))) & (q'(n, V) <-> flag)",
            "true",
            ["q(X, V) := if X = n then flag else q(X, V)"],
            [],
        ),
        (
            "modifies leader (flag -> leader' = n) & (!flag -> leader' = zero)",
            "true",
            ["leader() := if flag then n else zero"],
            [],
        ),
        (
            "modifies q (X != n | V != v -> (q'(X, V) <-> q(X, V))) & (X = n & V = v -> q'(X, V))",
            "true",
            ["q(X, V) := X = n & V = v | q(X, V)"],
            [],
        ),
        (
            "modifies q (X = n & (V = v | flag) -> !q'(X, V)) & (X != n | V != v & !flag -> (q'(X, V) <-> q(X, V)))",
            "true",
            ["q(X, V) := !(X = n & (V = v | flag)) & q(X, V)"],
            [],
        ),
        ("modifies q (X != n | V != v -> !q'(X, V)) & (X = n | V = v -> q'(X, V))", None, None, ["q'"]),
        # what overlaps becomes a guard
        ("modifies leader leader' = n & leader' = zero", "n = zero", ["leader() := n"], []),
        ("modifies p p'(X) & !p'(n)", "false", ["p(X0) := p'(X0)"], ["p'"]),
        ("modifies flag flag' & (flag' -> p(n))", "p(n)", ["flag() := true"], []),
        # what is not fixed is chosen
        ("modifies p p'(n)", "p'(n)", ["p(X0) := p'(X0)"], ["p'"]),
        ("modifies p p(n) & exists X. new(p(X))", "p(n) & (exists X:node. p'(X))", ["p(X0) := p'(X0)"], ["p'"]),
        ("modifies leader p(leader')", "p(leader')", ["leader() := leader'"], ["leader'"]),
        ("modifies count count' > count", "count' > count", ["count() := count'"], ["count'"]),
        ("modifies leader leader' = n | leader' = zero", "leader' = n | leader' = zero", ["leader() := leader'"], ["leader'"]),
        # what is fixed by a choice is an update
        (
            "modifies p, leader (p'(X) <-> X = leader') & le(leader', n)",
            "le(leader', n)",
            ["p(X) := X = leader'", "leader() := leader'"],
            ["leader'"],
        ),
        ("modifies p, flag flag' <-> exists X. p'(X)", "true", ["p(X0) := p'(X0)", "flag() := exists X:node. p'(X)"], ["p'"]),
    ],
)  # fmt: skip
def test_guard_updates_choices(body: str, guard: str | None, updates: list[str] | None, choices: list[str]) -> None:
    found = parts(f"transition t(n: node, v: value) {body}")
    assert found[2] == choices
    if guard is not None:
        assert found[:2] == (guard, updates)


def test_an_exact_transition() -> None:
    found = model("transition t(n: node) modifies p p(n) & (new(p(X)) <-> p(X) & X != n)")
    symbols = {symbol.name: symbol for symbol in found.symbols}
    node = found.sorts[0]
    n, x = Var("n", node), Var("X", node)
    p = symbols["p"]
    value = conj(p(x), neg(equal(x, n)))
    assert found.transitions == (Transition("t", (n,), (), p(n), (Update(p, (x,), value),)),)


def test_a_variable_of_an_update_does_not_capture_a_parameter() -> None:
    text = "transition t(X: node, n: node) modifies p (forall X. X != n -> (p'(X) <-> p(X))) & (p'(n) <-> le(X, n))"
    [update] = transition(text).updates
    [place] = update.variables
    assert place.name != "X"
    assert show(update.value) == f"if {place.name} = n then le(X, n) else p({place.name})"


# -- the same pairs of states ------------------------------------------------------------------------------------------

SYMBOLS = {
    "p": ("mutable relation p(node)", "p({0})"),
    "flag": ("mutable relation flag", "flag"),
    "c": ("mutable constant c: node", None),
    "q": ("mutable relation q(node, node)", "q({0}, {1})"),
    "f": ("mutable function f(node): node", None),
}
GROUPS = [("p", "flag", "c"), ("q",), ("f", "p"), ("f", "c", "flag")]
"""Few enough symbols at a time to enumerate all pairs of states with two nodes."""


class Maker:
    """Makes random bodies; `draw` picks one of several options."""

    def __init__(self, pick: Callable[[list[Any]], Any], group: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        self.pick = pick
        self.group = group
        self.parameters = parameters

    def term(self, variables: tuple[str, ...], new: bool, depth: int = 1) -> str:
        options = [*variables, *self.parameters, "k"]
        if "c" in self.group:
            options += ["c", "c'"] if new else ["c"]
        if "f" in self.group and depth:
            inner = self.term(variables, new, 0)
            options += [f"f({inner})", f"f'({inner})"] if new else [f"f({inner})"]
        return str(self.pick(options))

    def atom(self, variables: tuple[str, ...], new: bool) -> str:
        first, second = self.term(variables, new), self.term(variables, new)
        options = [f"{first} = {second}", f"{first} != {second}"]
        for name in self.group:
            form = SYMBOLS[name][1]
            if form is not None:
                options.append(form.format(first, second))
                if new:
                    shifted = form.format(self.term(variables, False), self.term(variables, False))
                    options += [f"new({shifted})", form.replace(name, name + "'", 1).format(first, second)]
        return str(self.pick([*options, "d"]))

    def formula(self, variables: tuple[str, ...], new: bool, depth: int = 2) -> str:
        kind = self.pick(["atom", "atom", "not", "&", "|", "->", "<->", "if", "forall", "exists"]) if depth else "atom"
        if kind == "atom":
            return self.atom(variables, new)
        if kind == "not":
            return f"!({self.formula(variables, new, depth - 1)})"
        if kind == "if":
            one, two, three = (self.formula(variables, new, depth - 1) for _ in range(3))
            return f"(if {one} then {two} else {three})"
        if kind in ("forall", "exists"):
            name = self.pick(["X", "Y", "n"])
            return f"({kind} {name}:node. {self.formula((*variables, name), new, depth - 1)})"
        return f"(({self.formula(variables, new, depth - 1)}) {kind} ({self.formula(variables, new, depth - 1)}))"

    def left_side(self, variables: tuple[str, ...]) -> tuple[str, bool]:
        """A new value, and whether it is a truth value."""
        name = self.pick(list(self.group))
        one, two = self.term(variables, False, 0), self.term(variables, False, 0)
        forms = {"p": f"p'({one})", "q": f"q'({one}, {two})", "f": f"f'({one})", "c": "c'", "flag": "flag'"}
        return forms[name], name in ("p", "q", "flag")

    def assignment(self, variables: tuple[str, ...]) -> str:
        left, boolean = self.left_side(variables)
        if boolean:
            shape = self.pick(["{0} <-> {1}", "{1} <-> {0}", "{0}", "!{0}", "!({0} <-> {1})", "{0} = {1}"])
            return str(shape).format(left, f"({self.formula(variables, False, 1)})")
        return f"{left} = {self.term(variables, False)}"

    def part(self) -> str:
        variables = self.pick([(), ("X",), ("X", "Y")])
        condition = self.formula(variables, False, 1)
        kind = self.pick(["assign", "assign", "conditional", "cases", "free"])
        if kind == "assign":
            body = self.assignment(variables)
        elif kind == "conditional":
            body = f"{condition} -> ({self.assignment(variables)})"
        elif kind == "cases":
            body = f"if {condition} then {self.assignment(variables)} else {self.assignment(variables)}"
        else:
            body = self.formula(variables, True)
        return f"({body})" if not variables else f"(forall {', '.join(f'{v}:node' for v in variables)}. {body})"


@st.composite
def transitions(draw: Any) -> str:
    """The text of a model with one transition `t`."""
    group = draw(st.sampled_from(GROUPS))
    parameters = draw(st.sampled_from([(), ("n",), ("X", "n"), ("X0",)]))
    maker = Maker(lambda options: draw(st.sampled_from(options)), group, parameters)
    body = " & ".join(maker.part() for _ in range(draw(st.integers(1, 3))))
    listed = ", ".join(f"{name}: node" for name in parameters)
    derived = {"p": "p(k)", "flag": "flag", "c": "c = k", "q": "(forall X. q(X, k))", "f": "f(k) = k"}[group[0]]
    modified = [name for name in group if name in _new_names(body)]
    lines = ["sort node", "immutable constant k: node", *(SYMBOLS[name][0] for name in group)]
    lines += [f"derived relation d: d <-> {derived}"]
    head = f"transition t({listed})"
    lines += [f"{head} modifies {', '.join(modified)}" if modified else f"{head} =", f"  {body}"]
    call = f"t({', '.join(parameters)})" if parameters else "t"
    bound = f"exists {listed}. " if parameters else ""
    return "\n".join([*lines, f"twostate theorem [body] {bound}{call}"])


def _new_names(body: str) -> set[str]:
    """The names whose new values are mentioned."""
    tree = expression(body)
    shifted = [item.body for item in subexpressions(tree) if isinstance(item, Shift)]
    return {item.name for item in references(tree) if item.primes} | {item.name for item in references(*shifted)}


def states(found: RelationalModel) -> list[Structure]:
    """All states with two nodes, in which the rigid constant is node 0."""
    sizes = {found.sorts[0]: 2}
    rigid = {symbol: {(): 0} for symbol in found.symbols if not symbol.mutable}
    tables = [[dict(t) for t in _tables(symbol, sizes)] for symbol in found.state_symbols]
    made = []
    for row in product(*tables):
        state = Structure(sizes, {**rigid, **dict(zip(found.state_symbols, row, strict=True))})
        made.append(with_derived(found, state))
    return made


def _tables(symbol: Symbol, sizes: Any) -> Iterator[dict[Any, Any]]:
    places = list(argument_tuples(symbol.arguments, sizes))
    for row in product(domain(symbol.sort, sizes), repeat=len(places)):
        yield dict(zip(places, row, strict=True))


def by_formula(found: RelationalModel, everything: list[Structure]) -> set[tuple[int, int]]:
    """The pairs that the two-state formula allows, together with the frame of what is not modified."""
    step = found.transitions[0]
    body = found.theorems[0].formula
    evaluate = Evaluator(everything[0].sizes).compile(body)
    framed = [symbol for symbol in found.state_symbols if symbol not in step.modified]
    allowed = set()
    for (i, before), (j, after) in product(enumerate(everything), repeat=2):
        if all(before.tables[symbol] == after.tables[symbol] for symbol in framed):
            primed = {symbol.at(1): table for symbol, table in after.tables.items() if symbol.mutable}
            if evaluate(Structure(before.sizes, {**before.tables, **primed}), {}):
                allowed.add((i, j))
    return allowed


def by_transition(found: RelationalModel, everything: list[Structure]) -> set[tuple[int, int]]:
    """The pairs that the guarded transition leads through."""
    step = found.transitions[0]
    sizes = everything[0].sizes
    index = {_key(found, state): number for number, state in enumerate(everything)}
    choices = [[dict(t) for t in _tables(choice, sizes)] for choice in step.choices]
    allowed = set()
    for i, before in enumerate(everything):
        for values in product(*(domain(item.sort, sizes) for item in step.parameters)):
            bindings = {item.name: value for item, value in zip(step.parameters, values, strict=True)}
            for row in product(*choices):
                chosen = {item.name: table for item, table in zip(step.choices, row, strict=True)}
                after = successor(found, before, Step("t", bindings, chosen))
                if isinstance(after, Structure):
                    allowed.add((i, index[_key(found, after)]))
    return allowed


def _key(found: RelationalModel, state: Structure) -> tuple[Any, ...]:
    return tuple(tuple(sorted(state.tables[symbol].items())) for symbol in found.state_symbols)


def check_same(text: str) -> None:
    found = model(text, "")
    step = found.transitions[0]
    assert all(is_one_state(update.value) for update in step.updates) and is_one_state(step.guard)
    everything = states(found)
    assert by_transition(found, everything) == by_formula(found, everything)


@settings(max_examples=150, deadline=None)
@given(transitions())
def test_transitions_allow_what_their_formulas_allow(text: str) -> None:
    check_same(text)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(transitions())
def test_many_transitions_allow_what_their_formulas_allow(text: str) -> None:
    check_same(text)


HARD = [
    "modifies p (forall X. X != n -> (p'(X) <-> p(X))) & (p'(n) <-> X = k)",
    "modifies p, c (forall Y. p'(Y) <-> Y = c') & c' != c",
    "modifies p (forall Y. Y = X -> p'(Y)) & (forall Y. Y != X -> (p'(Y) <-> p(Y)))",
    "modifies p (p'(X) <-> p'(n)) & (exists Y. p'(Y))",
    "modifies c (flag -> c' = n) & (!flag -> c' = k) & p(c')",
    "modifies flag flag' <-> d'",
    "modifies p d' & (forall Y. p'(Y) <-> p(Y) & Y != n)",
    "modifies c, flag c' = n & (flag' <-> d') & p(c')",
    "= d & p(n) & X != n",
]


@pytest.mark.parametrize("body", HARD)
def test_hard_cases(body: str) -> None:
    symbols = "\n".join(SYMBOLS[name][0] for name in ("p", "flag", "c"))
    head = f"sort node\nimmutable constant k: node\n{symbols}\nderived relation d: d <-> p(k) & c = k\n"
    call = "twostate theorem [body] exists X:node, n:node. t(X, n)"
    check_same(f"{head}transition t(X: node, n: node) {body}\n{call}")


def test_the_formula_with_its_frame_is_the_transition_s_own() -> None:
    """`Transition.formula` says the same as the text, too."""
    text = "sort node\nmutable relation p(node)\nmutable relation flag\nimmutable constant k: node\n"
    found = model(text + "transition t(n: node) modifies p p'(n) & (Y != n -> (p'(Y) <-> p(Y) | flag))", "")
    everything = states(found)
    whole = exists(found.transitions[0].parameters, found.transitions[0].formula(found.state_symbols))
    evaluate = Evaluator(everything[0].sizes).compile(whole)
    pairs = set()
    for (i, before), (j, after) in product(enumerate(everything), repeat=2):
        primed = {symbol.at(1): table for symbol, table in after.tables.items() if symbol.mutable}
        if evaluate(Structure(before.sizes, {**before.tables, **primed}), {}):
            pairs.add((i, j))
    assert pairs == by_transition(found, everything)
