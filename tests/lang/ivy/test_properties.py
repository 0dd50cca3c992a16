"""Initial states, and what is to be proved: safety, lemmas, theorems and the assertions inside actions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang.diagnostics import Diagnostic
from quorate.models.relational import Expectation, RelationalModel

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]

HEADER = """type node
relation p(N:node)
relation q(N:node, M:node)
relation b
function f(N:node) : node
individual c : node
individual k : node
relation d(N:node) = p(N) & N ~= k
action touch(n:node) = { p(n) := true; q(n, n) := true; b := true; f(n) := n; c := n }
"""


def initial(read: Read, text: str, version: str = "1.7") -> tuple[dict[str, str], list[str]]:
    """The initial formulas by name, and the symbols added for them."""
    model = read(f"#lang ivy{version}\n{HEADER}{text}")
    names = ["p", "q", "b", "f", "c", "k", "d"]
    return {n.name: str(n.formula) for n in model.initial}, [s.name for s in model.symbols if s.name not in names]


INITIAL = {
    "p(N) := false": {"init_1": "forall N:node. !p(N)"},
    "p(X) := X = k": {"init_1": "forall N:node. p(N) <-> N = k"},
    "q(N, M) := p(N)": {"init_1": "forall N:node, M:node. q(N, M) <-> p(N)"},
    "f(N) := k": {"init_1": "forall N:node. f(N) = k"},
    "f(N) := k; f(k) := c": {"init_1": "forall N:node. f(N) = (if N = k then c else k)"},
    "c := k": {"init_1": "c = k"},
    "b := true; p(N) := b": {"init_1": "b", "init_2": "forall N:node. p(N)"},
    "assume exists N. p(N)": {"init_1": "exists N:node. p(N)"},
    "require p(N) -> N = k; b := false": {"init_1": "forall N:node. p(N) -> N = k", "init_2": "!b"},
    "assume [some] exists N. p(N); b := true": {"some": "exists N:node. p(N)", "init_2": "b"},
    "q(N, M) := false; assume q(k, k) | p(k)": {
        "init_1": "forall N:node, M:node. !q(N, M)",
        "init_2": "q(k, k) | p(k)",
    },
    "p(k) := true": {"init_1": "forall N:node. N = k -> p(N)"},
    "p(k) := false": {"init_1": "forall N:node. p(N) -> N != k"},
    "f(k) := c": {"init_1": "forall N:node. N = k -> f(N) = c"},
    "p(N) := *": {},
    "b := *; c := *": {},
    "p(N) := *; assume p(k)": {"init_1": "p(k)"},
    "assume d(k); b := true": {"init_1": "d(k)", "init_2": "b"},
}


@pytest.mark.parametrize("code", INITIAL)
def test_initialization_code(read: Read, code: str) -> None:
    assert initial(read, f"after init {{ {code} }}") == (INITIAL[code], [])


def test_earlier_values_become_rigid_symbols(read: Read) -> None:
    assert initial(read, "after init { assume p(k); p(N) := false }") == (
        {"init_1": "p_before(k)", "init_2": "forall N:node. !p(N)"},
        ["p_before"],
    )
    assert initial(read, "after init { q(N, M) := q(M, N) }") == (
        {"init_1": "forall N:node, M:node. q(N, M) <-> q_before(M, N)"},
        ["q_before"],
    )
    assert initial(read, "after init { assume d(c); p(N) := false }") == (
        {"init_1": "p_before(c) & c != k", "init_2": "forall N:node. !p(N)"},
        ["p_before"],
    )
    assert initial(read, "init p(X)\nafter init { p(N) := false }", "1.6") == (
        {"init_1": "forall X:node. p_before(X)", "init_2": "forall N:node. !p(N)"},
        ["p_before"],
    )


def test_what_the_code_leaves_open_becomes_rigid(read: Read) -> None:
    assert initial(read, "after init { local n:node { p(N) := N = n; assume q(n, n) } }") == (
        {"init_1": "forall N:node. p(N) <-> N = initial_n", "init_2": "q(initial_n, initial_n)"},
        ["initial_n"],
    )
    assert initial(read, "after init { if some n:node. q(n, n) { p(n) := true } else { b := true } }") == (
        {
            "init_1": "q(initial_n, initial_n) | (forall N:node. !q(N, N))",
            "init_2": "forall N:node. q(initial_n, initial_n) & N = initial_n -> p(N)",
            "init_3": "!q(initial_n, initial_n) -> b",
        },
        ["initial_n"],
    )
    assert initial(read, "after init { p(N) := *; q(N, M) := p(N) & p(M) }") == (
        {
            "init_1": "forall N:node. p(N) <-> initial_p(N)",
            "init_2": "forall N:node, M:node. q(N, M) <-> initial_p(N) & initial_p(M)",
        },
        ["initial_p"],
    )


def test_what_was_added_for_initial_states_cannot_be_mentioned(problems: Problems) -> None:
    text = f"{HEADER}after init {{ local n:node {{ p(N) := N = n }} }}\naction bad = {{ require p(initial_n) }}"
    assert [d.code for d in problems(text)] == ["Q0201"]


def test_init_formulas_of_earlier_versions(read: Read) -> None:
    assert initial(read, "init ~p(X)\ninit f(X) = k -> b", "1.6")[0] == {
        "init_1": "forall X:node. !p(X)",
        "init_2": "forall X:node. f(X) = k -> b",
    }


# -- which property is which -------------------------------------------------------------------------------------------


def properties(read: Read, text: str) -> tuple[list[str], list[str]]:
    model = read(HEADER + text)
    return [item.name for item in model.safety], [item.name for item in model.invariants]


def test_declared_safety_makes_the_rest_lemmas(read: Read) -> None:
    assert properties(read, "invariant [one] b\nsafety [two] p(N)\ninvariant [1000000] ~b\nsafety q(N, N)") == (
        ["two", "safety_2"],
        ["one", "1000000"],
    )


def test_labels_mark_safety(read: Read) -> None:
    assert properties(
        read, "invariant [one] b\ninvariant [1000000] p(N)\nconjecture [safety_a] q(N, N)\ninvariant ~b"
    ) == (
        ["1000000", "safety_a"],
        ["one", "invariant_4"],
    )
    inner = "object o = { invariant [safety] b }\ninvariant [x] p(N)"
    assert properties(read, inner) == (["o.safety"], ["x"])


def test_without_marks_everything_is_safety(read: Read) -> None:
    assert properties(read, "invariant b\nconjecture [c] p(N)\nproperty [d] ~b") == (["invariant_1", "c", "d"], [])


def test_names_are_used_once(read: Read, problems: Problems) -> None:
    text = "invariant [a] b\ninvariant [a] ~b\ninvariant [invariant_3] p(N)\ninvariant q(N, N)"
    assert properties(read, text) == (["a", "a_1", "invariant_3", "invariant_4"], [])
    assert [(d.code, d.severity, d.span.line) for d in problems(HEADER + text)] == [("Q0205", "warning", 12)]


def test_an_axiom_about_what_changes_is_refused(problems: Problems) -> None:
    text = HEADER + "axiom k = k | ~(k = k)\naxiom [wrong] ~p(N)\naxiom [indirect] ~d(N)\ninvariant [safe] ~p(N)\n"
    assert [(d.code, d.severity, d.span.line) for d in problems(text)] == [("Q0211", "error", n) for n in (12, 13)]


def test_in_earlier_versions_an_axiom_about_what_changes_is_assumed_of_every_state(
    read: Read, problems: Problems
) -> None:
    """Before and after each step, and initially; an assertion may rely on it where the action starts."""
    text = """#lang ivy1.6
        type node
        relation p(N:node)
        relation d(N:node) = p(N)
        individual k : node
        axiom [never] ~d(N)
        action touch(n:node) = { p(n) := true }
        action look = { assert ~p(k) }
        conjecture [safe] ~p(N)
    """
    assert [(d.code, d.severity, d.span.line) for d in problems(text)] == [("Q0211", "warning", 6)]
    model = read(text)
    assert [item.name for item in model.axioms] == [] and [item.name for item in model.initial] == ["never"]
    guards = {transition.name: str(transition.guard) for transition in model.transitions}
    assert guards["touch"] == "(forall N:node. !d(N)) & (forall N:node. !(N = n | p(N)))"
    assert str(model.safety[1].formula) == "(forall N:node. !d(N)) -> !p(k)"


def test_such_an_axiom_and_two_assignments_on_one_path(problems: Problems) -> None:
    """Ivy assumes it of the state in between, too; that is not supported."""
    text = "#lang ivy1.6\nrelation b\naxiom ~b\naction twice = { b := true; b := false }\nconjecture ~b\n"
    assert [d.code for d in problems(text) if d.severity == "error"] == ["Q0104"]


def test_properties_of_rigid_symbols_are_theorems(read: Read, problems: Problems) -> None:
    text = "property [t] k = k | X = k\nproperty [i] p(X) | ~p(X)"
    model = read(HEADER + text)
    assert [(t.name, t.states) for t in model.theorems] == [("t", 0)]
    assert [item.name for item in model.safety] == ["i"]
    assert [d.code for d in problems(HEADER + "invariant k = k")] == ["Q0215"]


def test_expectations_are_read(read: Read) -> None:
    model = read(HEADER + "# expect: safety proved\n# expect: induct not-inductive\n")
    assert model.expectations == (
        Expectation(None, "safety", "proved"),
        Expectation("induct", "safety", "not-inductive"),
    )


# -- assertions inside actions -----------------------------------------------------------------------------------------


def assertions(read: Read, code: str, more: str = "") -> RelationalModel:
    return read(f"{HEADER}{more}\naction act(n:node) = {{ {code} }}\nexport act\n")


def test_assertions_are_safety_properties_of_the_state_before(read: Read) -> None:
    model = assertions(read, "require p(n); p(n) := false; assert p(c); ensure [second] b")
    assert {item.name: str(item.formula) for item in model.safety} == {
        "act_assert_1": "forall N:node. p(N) -> c != N & p(c)",
        "second": "forall N:node. p(N) & c != N & p(c) -> b",
    }
    assert str(model.transition("act").guard) == "p(n) & c != n & p(c) & b", (
        "what was asserted may be assumed afterwards"
    )


def test_assertions_in_branches_and_under_local_variables(read: Read) -> None:
    model = assertions(read, "if b { local m:node { assume q(n, m); assert p(m) } }")
    assert [str(item.formula) for item in model.safety] == ["forall N:node, M:node. b & q(N, M) -> p(M)"]
    assert str(model.transition("act").guard) == "b -> q(n, m) & p(m)"


def test_requirements_of_callees_have_to_be_proved(read: Read) -> None:
    more = "action callee(n:node) = { require p(n); b := true }"
    model = assertions(read, "require q(n, n); call callee(n)", more)
    assert [str(item.formula) for item in model.safety] == ["forall N:node. q(N, N) -> p(N)"]
    assert [t.name for t in model.transitions] == ["act"]
    alone = read(f"{HEADER}{more}\nexport callee")
    assert alone.safety == (), "the environment sees to what an exported action requires"
    assert str(alone.transition("callee").guard) == "p(n)"


def test_assertions_that_depend_on_choices_raise_a_flag(read: Read) -> None:
    model = assertions(read, "p(X) := *; require p(n); assert b")
    assert [item.name for item in model.safety] == ["assertion_failed"]
    assert str(model.safety[0].formula) == "!assertion_failed"
    assert str(model.initial[-1].formula) == "!assertion_failed"
    flag = next(symbol for symbol in model.symbols if symbol.name == "assertion_failed")
    assert flag.mutable and flag in model.state_symbols
    step = model.transition("act_assert_1")
    assert str(step.guard) == "new_p(n) & !b"
    assert [(u.symbol, str(u.value)) for u in step.updates] == [(flag, "true")]
    assert [symbol.name for symbol in step.choices] == ["new_p"]


def test_a_trusted_isolate_is_believed_and_says_so(read: Read, problems: Problems) -> None:
    more = """trusted isolate sets = {
    action add(n:node) returns (m:node) = { require p(n); ensure m ~= n; }
}
"""
    text = f"{HEADER}{more}\naction act(n:node) = {{ p(sets.add(n)) := true }}\nexport act\n"
    model = read(text)
    assert str(model.transition("act").guard) == "p(n) & m != n"
    assert [str(item.formula) for item in model.safety] == ["forall N:node. p(N)"], "what it requires is still proved"
    assert [(d.code, d.severity, d.span.line) for d in problems(text)] == [("Q0226", "warning", 12)]


@pytest.mark.parametrize(
    "body", ["ensure p(n) & p(N) -> n = N", "p(n) := true; ensure p(N) -> N = n", "var k := n; ensure q(k, n)"]
)
def test_a_trusted_isolate_is_not_believed_about_the_state(read: Read, problems: Problems, body: str) -> None:
    text = f"{HEADER}trusted isolate low = {{\n    action take(n:node) = {{ {body} }}\n}}\n"
    text += "action act(n:node) = { p(n) := true; low.take(n) }\nexport act\n"
    assert len(read(text).safety) == 1, "it has to be proved"
    assert problems(text) == ()


def test_assertions_that_always_hold_are_dropped(read: Read) -> None:
    assert assertions(read, "p(n) := true; assert p(n)").safety == ()
