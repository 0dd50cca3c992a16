"""Reading Ivy text: versions, precedence, recovery after errors, and a name for everything outside the subset."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.relational import RelationalModel
from quorate.models.source import Source

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]

HEADER = """type t
relation p
relation q
relation r
relation u(X:t)
individual a : t
individual b : t
individual c : t
"""


def axiom(read: Read, text: str, version: str = "1.7") -> str:
    return str(read(f"#lang ivy{version}\n{HEADER}axiom {text}\n").axioms[0].formula)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("p | q & r", "p | q & r"),
        ("p & q -> r | p", "p & q -> r | p"),
        ("~a = b", "a != b"),
        ("~p & q", "!p & q"),
        ("~p -> q", "!p -> q"),
        ("p & forall X. u(X) | q", "p & (forall X:t. u(X) | q)"),
        ("~forall X. u(X) | q", "!(forall X:t. u(X) | q)"),
        ("p -> q -> r", "(p -> q) -> r"),
        ("p -> q <-> r", "(p -> q) <-> r"),
        ("a = b if p else c", "a = (if p then b else c)"),
        ("(a if p else b if q else c) = a", "(if q then (if p then a else b) else c) = a"),
        ("p | q if r else p", "p | (if r then q else p)"),
        ("u(X) -> u(Y:t)", "forall X:t, Y:t. u(X) -> u(Y)"),
        ("exists X:t, Y. X ~= Y", "exists X:t, Y:t. X != Y"),
        ("p # a comment\n & q", "p & q"),
    ],
)
def test_precedence_from_version_7(read: Read, text: str, meaning: str) -> None:
    assert axiom(read, text) == meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("p -> q -> r", "p -> (q -> r)"),
        ("p <-> q -> r", "p <-> (q -> r)"),
        ("p | q -> r", "p | q -> r"),
        ("p | q if r else p", "if r then p | q else p"),
    ],
)
def test_precedence_before_version_7(read: Read, text: str, meaning: str) -> None:
    assert axiom(read, text, "1.6") == meaning


def test_the_dot_after_quantified_variables(read: Read) -> None:
    text = "object o = { type s  relation r(X:s) }\nrelation v(X:o.s)\n"
    for formula in ("forall X:o.s. v(X)", "forall X:o.s, Y:o.s. v(X) & v(Y)", "forall X:o.s. o.r(X)"):
        assert "o.s" in str(read(text + "axiom " + formula).axioms[0].formula)
    assert axiom(read, "forall X:t.u(X)") == "forall X:t. u(X)"


def test_chained_implications_are_pointed_out(problems: Problems) -> None:
    (found,) = problems(HEADER + "axiom p -> q -> r")
    assert (found.code, found.severity, found.span.line, found.span.column) == ("Q0227", "warning", 10, 9)
    assert problems("#lang ivy1.6\n" + HEADER + "axiom p -> q -> r") == ()


@pytest.mark.parametrize("version", ["1", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8"])
def test_versions_that_are_read(read: Read, version: str) -> None:
    assert [sort.name for sort in read(f"#lang ivy{version}\ntype t\n").sorts] == ["t"]


@pytest.mark.parametrize("line", ["#lang ivy1.9", "#lang ivy2.0", "#lang ivy", "type t"])
def test_versions_that_are_not(line: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(Source("x.ivy", f"{line}\ntype t\n"))
    assert [d.code for d in caught.value.diagnostics] == ["Q0105"]


OUTSIDE = {
    "variant s of t": "variant",
    "include udp": "udp",
    "object o(self:t) = { type s }": "types in parameterized objects",
    "theorem [x] { property p }": "theorem",
    "schema s = { }": "schema",
    "temporal property globally p": "temporal",
    "axiom [x] { type s property p }": "schemata",
    "property exists X. u(X) named w": "named",
    "axiom globally p": "globally",
    "axiom a / b = c": "division",
    "axiom a isa t": "isa",
    "axiom old p": "old",
    "axiom a = (some X. u(X))": "some",
    "axiom u(<<< native >>>)": "native",
    'axiom "quoted" = a': "quoted",
    "native <<< code >>>": "native",
    "interpret t -> nat": "nat",
    "interpret t -> bv[32]": "bv[32]",
    "interpret t -> {0..max}": "symbolic bound",
    "interpret t -> strbv[8]": "strbv[8]",
    "interpret t -> {0..1000}": "range",
    "export x -> y": "renaming",
    "action x = { while p { r := true } }": "while",
    "action x = { for a,b in c { r := true } }": "for",
    "action x = { if some y:t. u(y) minimizing y { r := true } }": "minimizing",
    "action x = { u(f(X)) := true } function f(X:t) : t = X": "not bound",
    "relation v(X:t,Y:t) action x = { v(X, X) := true }": "twice on the left side",
    "around x { r := true }": "around",
    "process x = { }": "process",
    "var x : t = a": "initial value",
    "definition (X:t < Y:t) = p": "operator",
    "type int": "int",
    "action x = { let y = a, z = y { r := true } }": "use each other",
    "after init { assert p }": "assert",
    "invariant p proof tactic l2s with invariant q": "tactics with declarations",
}


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_lies_outside_is_named(problems: Problems, text: str) -> None:
    errors = [found for found in problems(HEADER + text) if found.severity == "error"]
    named = [found for found in errors if OUTSIDE[text] in found.message]
    assert named and all(found.code in ("Q0104", "Q0221", "Q0703") for found in named), errors


def test_all_errors_are_found_in_one_go(problems: Problems) -> None:
    text = """type t
relation r(X:t
relation s(X:t)
action x(y:t) = {
    s(y) := ;
    r(y) := true
}
axiom s(X) &
object o = {
    action z = { if s { } }
    relation ok(X:u)
}
invariant s(X) = 7
export nothing
"""
    found = [(d.code, d.span.line, d.span.column) for d in problems(text)]
    assert found == [
        ("Q0101", 4, 1),
        ("Q0101", 6, 13),
        ("Q0101", 10, 1),
        ("Q0202", 11, 21),
        ("Q0203", 14, 18),
    ], "what follows from unreadable declarations is not told"


def test_unknown_names_and_sorts(problems: Problems) -> None:
    text = """type t
relation r(X:t)
axiom rr(X)
axiom forall X:tt. r(X)
action a(x:t) = { r(y) := true; s(x) := true; call b(x); r(x) := 3 }
export c
"""
    found = [(d.code, d.span.line, d.span.column) for d in problems(text)]
    assert found == [
        ("Q0201", 4, 7),
        ("Q0206", 5, 14),
        ("Q0201", 6, 21),
        ("Q0201", 6, 33),
        ("Q0224", 6, 52),
        ("Q0203", 6, 66),
        ("Q0224", 7, 8),
    ]


def test_letters_decide_what_is_a_variable(problems: Problems) -> None:
    text = "type T\nrelation r(X:t)\naxiom forall x:t. r(x)\naction a(X:t) = { }\ntype t\n"
    assert [(d.code, d.span.line, d.span.column) for d in problems(text)] == [
        ("Q0225", 2, 6),
        ("Q0225", 4, 14),
        ("Q0225", 5, 10),
    ]


def test_proof_hints_and_templates_are_passed_over_with_a_warning(read: Read, problems: Problems) -> None:
    text = (
        HEADER
        + """
property [here] u(X) | ~u(X)
proof { tactic skolemize; apply x }
invariant [there] p proof tactic skolemize
template forall X. WILD | u(X)
attribute method = mc
extract code(n:t) = t, p
delegate x
after init { p := false }
axiom q
"""
    )
    found = [(d.code, d.severity, d.span.line) for d in problems(text)]
    assert found == [("Q0104", "warning", line) for line in (12, 13, 14)]
    model = read(text)
    assert [item.name for item in model.theorems] == ["here"]
    assert [item.name for item in model.axioms] == ["axiom_1"]


@pytest.mark.parametrize(
    "text",
    [
        "axiom " + "(" * 5000 + "true" + ")" * 5000,
        "axiom " + "~" * 5000 + "true",
        "axiom " + "forall X:t. " * 5000 + "true",
        "axiom " + "true -> " * 5000 + "true",
        "axiom " + "p & " * 5000 + "p",
        "axiom a = " + "b if p else " * 5000 + "c",
        "axiom a = " + "9" * 5000,
        "object o = { " * 5000,
        "module m = { " * 500 + "}" * 500,
        "action x = " + "{" * 5000,
        "action x = { " + "if p { " * 3000 + "} " * 3000 + "}",
        "action x = { " + "if p { r := q } else " * 3000 + "{ } }",
        "action x = { " + "r := ~r | q; " * 3000 + "}",
        "action x = { " + "if r { r := ~r; p := r } else { p := ~p | q }; " * 200 + "}",
        "action x = { " + "var y : t; " * 2000 + "}",
        "<<<" * 20000,
        "[" * 20000,
        '"' * 20001,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_inputs_end_in_diagnostics(text: str) -> None:
    try:
        parse(Source("x.ivy", f"#lang ivy1.7\n{HEADER}{text}"))
    except LanguageError as error:
        assert error.diagnostics


def test_modules_and_calls_that_grow_without_end(problems: Problems) -> None:
    itself = "module m = { instantiate m }\ninstantiate m"
    assert {d.code for d in problems(itself)} == {"Q0222"}
    mutual = "module m = { instance x : n }\nmodule n = { instance y : m }\ninstance z : m"
    assert {d.code for d in problems(mutual)} == {"Q0222"}
    modules = "".join(f"module m{i} = {{ instance a : m{i + 1} instance b : m{i + 1} }}\n" for i in range(30))
    assert {d.code for d in problems(modules + "module m30 = { type t }\ninstance x : m0")} == {"Q0222"}
    calls = "".join(f"action a{i} = {{ call a{i + 1}; call a{i + 1} }}\n" for i in range(25))
    assert {d.code for d in problems("relation r\n" + calls + "action a25 = { r := ~r }")} == {"Q0222"}
    macros = "".join(f"macro a{i} = {{ instantiate a{i + 1}; instantiate a{i + 1} }}\n" for i in range(25))
    assert {
        d.code for d in problems("relation r\n" + macros + "macro a25 = { r := ~r }\naction b = { instantiate a0 }")
    } == {"Q0222"}
    loop = "macro m = { instantiate m }\naction a = { instantiate m }"
    assert {d.code for d in problems(loop)} == {"Q0222"}
    recursion = "action a = { call b }\naction b = { call a }"
    assert {d.code for d in problems(recursion)} == {"Q0223"}
    aliases = "alias a = b\nalias b = a\ntype t\nrelation r(X:a)"
    assert {d.code for d in problems(aliases)} == {"Q0206"}


TEXT = """
type t relation r ( X : t ) axiom forall exists . & | ~ = := * if else some local x action a { } ; export module m
instantiate object o this , [ 1000000 ] invariant init after true false -> <-> < 0 -> interpret int include order
var call definition returns require ensure isolate with macro before implement # " <<< >>> ... ..
"""
WORDS = [*TEXT.split(), "\n"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_heap_of_words_is_read_or_refused(words: list[str]) -> None:
    try:
        parse(Source("x.ivy", "#lang ivy1.7\n" + " ".join(words)))
    except LanguageError as error:
        assert error.diagnostics and "error" in str(error)
