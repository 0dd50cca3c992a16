"""Actions as transitions: parameters, choices, guards and updates, statement by statement."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang.diagnostics import Diagnostic
from quorate.logic.structures import Structure, Value
from quorate.logic.terms import BOOL, Sort, Symbol
from quorate.models.relational import RelationalModel, Transition
from quorate.models.semantics import Step, successor

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]

HEADER = """type node
relation p(N:node)
relation q(N:node, M:node)
relation b
function f(N:node) : node
individual c : node
relation rigid(N:node)
relation d(N:node) = p(N) & N ~= c
after init { p(N) := false; q(N, M) := false; b := false; f(N) := N }
"""


def action(read: Read, body: str, parameters: str = "x:node, y:node", more: str = "") -> Transition:
    model = read(f"{HEADER}{more}\naction act({parameters}) = {{ {body} }}\nexport act")
    return model.transition("act")


def shown(transition: Transition) -> tuple[str, str, str, dict[str, str]]:
    """Parameters and choices after the given two, guard, updates."""
    parameters = " ".join(f"{p.name}:{p.sort}" for p in transition.parameters[2:])
    choices = " ".join(f"{s.name}({','.join(map(str, s.arguments))}):{s.sort}" for s in transition.choices)
    updates = {update.symbol.name: str(update.value) for update in transition.updates}
    return parameters, choices, str(transition.guard), updates


CASES = {
    # assignments
    "p(x) := true": ("", "", "true", {"p": "N = x | p(N)"}),
    "p(x) := false": ("", "", "true", {"p": "N != x & p(N)"}),
    "p(X) := false": ("", "", "true", {"p": "false"}),
    "p(X) := q(X, y)": ("", "", "true", {"p": "q(N, y)"}),
    "q(X, Y) := q(Y, X)": ("", "", "true", {"q": "q(M, N)"}),
    "q(M, N) := q(N, M) | p(M)": ("", "", "true", {"q": "q(M, N) | p(N)"}),
    "q(X, y) := p(X)": ("", "", "true", {"q": "if M = y then p(N) else q(N, M)"}),
    "q(f(x), x) := true": ("", "", "true", {"q": "N = f(x) & M = x | q(N, M)"}),
    "q(X, f(X)) := p(X)": ("", "", "true", {"q": "if M = f(N) then p(N) else q(N, M)"}),
    "f(x) := y": ("", "", "true", {"f": "if N = x then y else f(N)"}),
    "b := forall X. p(X)": ("", "", "true", {"b": "forall X:node. p(X)"}),
    "x := y; p(x) := true": ("", "", "true", {"p": "N = y | p(N)"}),
    "p(X) := p(X)": ("", "", "true", {}),
    "p(x) := true if b else p(y)": ("", "", "true", {"p": "if N = x then b | p(y) else p(N)"}),
    # the order of statements
    "p(x) := true; require p(y)": ("", "", "y = x | p(y)", {"p": "N = x | p(N)"}),
    "require p(y); p(x) := true": ("", "", "p(y)", {"p": "N = x | p(N)"}),
    "p(x) := true; q(x, y) := p(y); p(x) := false": (
        "",
        "",
        "true",
        {"p": "N != x & (N = x | p(N))", "q": "if N = x & M = y then y = x | p(y) else q(N, M)"},
    ),
    "p(x) := true; assume d(y)": ("", "", "(y = x | p(y)) & y != c", {"p": "N = x | p(N)"}),
    "b := true; assume d(y)": ("", "", "d(y)", {"b": "true"}),
    "require ~q(x, Y)": ("", "", "forall Y:node. !q(x, Y)", {}),
    # branches
    "if p(x) { b := true }": ("", "", "true", {"b": "p(x) | b"}),
    "if p(x) { b := true } else { p(x) := true }": ("", "", "true", {"p": "!p(x) & N = x | p(N)", "b": "p(x) | b"}),
    "if p(x) { f(x) := y } else { f(x) := x }": (
        "",
        "",
        "true",
        {"f": "if N = x then (if p(x) then y else x) else f(N)"},
    ),
    "if p(x) { b := true } else if p(y) { b := false }": ("", "", "true", {"b": "p(x) | !p(y) & b"}),
    "if p(x) { require b } else { require ~b }": ("", "", "(p(x) -> b) & (!p(x) -> !b)", {}),
    "if p(x) { p(x) := false }; if p(x) { b := true }": (
        "",
        "",
        "true",
        {"p": "(p(x) -> N != x) & p(N)", "b": "!p(x) & p(x) | b"},
    ),
    "if * { b := true }": ("chosen:bool", "", "true", {"b": "chosen | b"}),
    "if some z:node. p(z) { p(z) := false } else { b := true }": (
        "z:node",
        "",
        "p(z) | (forall Z:node. !p(Z))",
        {"p": "(p(z) -> N != z) & p(N)", "b": "!p(z) | b"},
    ),
    "if some z:node, w:node. q(z, w) { q(w, z) := true }": (
        "z:node w:node",
        "",
        "q(z, w) | (forall Z:node, W:node. !q(Z, W))",
        {"q": "q(z, w) & N = w & M = z | q(N, M)"},
    ),
    # what is left open
    "local z:node { assume p(z); q(x, z) := true }": ("z:node", "", "p(z)", {"q": "N = x & M = z | q(N, M)"}),
    "local z:node { p(x) := true }": ("", "", "true", {"p": "N = x | p(N)"}),
    "var z : node; q(x, z) := true": ("z:node", "", "true", {"q": "N = x & M = z | q(N, M)"}),
    "var z := f(x); f(x) := y; q(x, z) := true": (
        "",
        "",
        "true",
        {"q": "N = x & M = f(x) | q(N, M)", "f": "if N = x then y else f(N)"},
    ),
    "let z = f(x) { f(x) := y; p(z) := true }": (
        "",
        "",
        "true",
        {"p": "N = f(x) | p(N)", "f": "if N = x then y else f(N)"},
    ),
    "b := *": ("new_b:bool", "", "true", {"b": "new_b"}),
    "f(x) := *": ("new_f:node", "", "true", {"f": "if N = x then new_f else f(N)"}),
    "p(X) := *": ("", "new_p(node):bool", "true", {"p": "new_p(N)"}),
    "q(x, Y) := *; require q(x, y)": (
        "",
        "new_q(node):bool",
        "new_q(y)",
        {"q": "if N = x then new_q(M) else q(N, M)"},
    ),
    "p(X) := *; p(X) := *": ("", "new_p_1(node):bool", "true", {"p": "new_p_1(N)"}),
    "var h(X:node) : bool; assume forall X. h(X) -> p(X); p(X) := h(X)": (
        "",
        "h(node):bool",
        "forall X:node. h(X) -> p(X)",
        {"p": "h(N)"},
    ),
    "var g(X:node) : node; g(X) := f(X); f(X) := c; q(X, Y) := Y = g(X)": (
        "",
        "",
        "true",
        {"q": "M = f(N)", "f": "c"},
    ),
    # names that hide others
    "local c:node { p(c) := true }": ("c_1:node", "", "true", {"p": "N = c_1 | p(N)"}),
    "var x := y; { var x := c; p(x) := true }; p(x) := true": ("", "", "true", {"p": "N = y | N = c | p(N)"}),
}


@pytest.mark.parametrize("body", CASES)
def test_statements(read: Read, body: str) -> None:
    assert shown(action(read, body)) == CASES[body]


def test_calls_are_inlined_with_fresh_results(read: Read) -> None:
    more = """
    action next(x:node) returns (y:node) = { assume q(x, y); p(x) := true }
    action swap(x:node, y:node) returns (u:node, v:node) = { u := y; v := x }
    action inc(x:node) returns (x:node) = { x := f(x) }
    """
    assert shown(action(read, "p(next(x)) := b", more=more)) == (
        "y_1:node",
        "",
        "q(x, y_1)",
        {"p": "if N = y_1 then b else N = x | p(N)"},
    )
    assert shown(action(read, "call next(y)", more=more)) == ("y_1:node", "", "q(y, y_1)", {"p": "N = y | p(N)"})
    assert shown(action(read, "(x, y) := swap(x, y); q(x, y) := true", more=more)) == (
        "",
        "",
        "true",
        {"q": "N = y & M = x | q(N, M)"},
    )
    assert shown(action(read, "p(inc(inc(x))) := true", more=more)) == ("", "", "true", {"p": "N = f(f(x)) | p(N)"})
    assert shown(action(read, "if p(next(x)) { b := true }", more=more)) == (
        "y_1:node",
        "",
        "q(x, y_1)",
        {"p": "N = x | p(N)", "b": "y_1 = x | p(y_1) | b"},
    )


def test_imported_actions_leave_the_state_alone(read: Read) -> None:
    transition = action(read, "p(ask(x)) := true", more="import action ask(x:node) returns (y:node)")
    assert shown(transition) == ("y_1:node", "", "true", {"p": "N = y_1 | p(N)"})


def test_only_exported_actions_are_steps(read: Read) -> None:
    text = f"{HEADER}\naction one = {{ b := true }}\naction two = {{ b := false }}\naction declared_only\n"
    assert [t.name for t in read(text).transitions] == ["one", "two"]
    assert [t.name for t in read(text + "export two").transitions] == ["two"]
    assert [t.name for t in read(text + "export action three = { b := ~b }").transitions] == ["three"]
    assert [t.name for t in read(text + "import one").transitions] == ["two"]


def test_bound_variables_are_not_captured(read: Read) -> None:
    transition = action(read, "q(N, M) := exists N. q(M, N); p(N) := forall M. q(M, N)")
    assert shown(transition)[3] == {"p": "exists N_1:node. q(N, N_1)", "q": "exists N:node. q(M, N)"}


def test_an_action_on_a_concrete_state(read: Read) -> None:
    model = read("""
        type node
        relation token(N:node)
        function next(N:node) : node
        after init { token(N) := *; }
        action pass(n:node) = { require token(n); token(n) := false; token(next(n)) := true }
        export pass
    """)
    node = Sort("node")
    token, following = Symbol("token", (node,), BOOL, True), Symbol("next", (node,), node)
    ring: dict[tuple[Value, ...], Value] = {(0,): 1, (1,): 2, (2,): 0}
    state = Structure({node: 3}, {token: {(0,): True, (1,): False, (2,): False}, following: ring})
    after = successor(model, state, Step("pass", {"n": 0}))
    assert isinstance(after, Structure)
    assert after.tables[token] == {(0,): False, (1,): True, (2,): False}
    assert successor(model, state, Step("pass", {"n": 1})) == "the guard of pass does not hold"


def test_free_variables_in_a_condition_are_read_as_forall(read: Read, problems: Problems) -> None:
    body = "if ~q(x, Y) { b := true }"
    assert shown(action(read, body))[3] == {"b": "(forall Y:node. !q(x, Y)) | b"}
    text = f"{HEADER}action act(x:node) = {{ {body} }}"
    assert [(d.code, d.severity, d.span.column) for d in problems(text)] == [("Q0221", "warning", 33)]
