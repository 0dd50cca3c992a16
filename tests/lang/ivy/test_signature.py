"""Sorts and symbols: what is mutable, what is rigid, what is defined, and what the built-in operators are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang.diagnostics import Diagnostic
from quorate.logic.structures import Structure, Value
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.models.relational import RelationalModel

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]


def mutable(model: RelationalModel) -> dict[str, bool]:
    return {symbol.name: symbol.mutable for symbol in model.symbols}


def test_symbols_and_their_sorts(read: Read) -> None:
    model = read("""
        type node
        type color = {red, green}
        relation flag
        relation edge(X:node, Y:node)
        individual root : node
        function parent(X:node) : node
        individual paint(X:node) : color
        var count : int
        parameter limit : int
        relation p, q(X:node)
    """)
    node, color = Sort("node"), Sort("color", ("red", "green"))
    assert model.sorts == (node, color)
    assert model.symbols == (
        Symbol("flag", (), BOOL),
        Symbol("edge", (node, node), BOOL),
        Symbol("root", (), node),
        Symbol("parent", (node,), node),
        Symbol("paint", (node,), color),
        Symbol("count", (), INT),
        Symbol("limit", (), INT),
        Symbol("p", (), BOOL),
        Symbol("q", (node,), BOOL),
    )


def test_a_symbol_is_mutable_if_any_code_assigns_it(read: Read) -> None:
    model = read("""
        type t
        relation by_step(X:t)
        relation by_init(X:t)
        relation by_helper(X:t)
        relation hidden(X:t)
        relation never(X:t)
        individual x : t
        relation d(X:t) = by_step(X) & never(X)
        relation e(X:t) = exists Y. d(Y) & X = Y
        relation rigid(X:t) = never(X) | X = x
        after init { by_init(X) := false }
        action step(hidden:t) = { by_step(hidden) := true; hidden := x }
        action helper(x:t) = { by_helper(x) := true; x := x }
        export step
    """)
    assert mutable(model) == {
        "by_step": True,
        "by_init": True,
        "by_helper": True,
        "hidden": False,
        "never": False,
        "x": False,
        "d": True,
        "e": True,
        "rigid": False,
    }
    assert [(item.symbol.name, str(item.formula)) for item in model.derived] == [
        ("d", "forall X:t. d(X) <-> by_step(X) & never(X)"),
        ("e", "forall X:t. e(X) <-> (exists Y:t. d(Y) & X = Y)"),
        ("rigid", "forall X:t. rigid(X) <-> never(X) | X = x"),
    ]
    assert all(item.definition is not None for item in model.derived)


def test_definitions_in_all_their_forms(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t, Y:t)
        relation declared(A:t)
        definition declared(x:t) = r(x, x)
        derived taken(X) = exists Y. r(X, Y)
        function pick(X:t) : t = X if declared(X) else c
        function same(X:t, Y) = X = Y
        individual c : t
        definition [label] constant_one = c
        relation always = true
        relation never = false
    """)
    assert [str(item.formula) for item in model.derived] == [
        "forall A:t. declared(A) <-> r(A, A)",
        "forall X:t. taken(X) <-> (exists Y:t. r(X, Y))",
        "forall X:t. pick(X) = (if declared(X) then X else c)",
        "forall X:t, Y:t. same(X, Y) <-> X = Y",
        "constant_one = c",
        "always <-> true",
        "never <-> false",
    ]
    assert all(item.definition is not None for item in model.derived)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("definition p = q\ndefinition q = p\nrelation p\nrelation q", "Q0210"),
        ("definition p = ~p\nrelation p", "Q0210"),
        ("relation p\ndefinition p = true\ndefinition p = false", "Q0205"),
        ("relation p = true\naction a = { p := false }", "Q0214"),
        ("type t = {a, b}\naction x = { a := b }", "Q0214"),
        ("type t\nrelation p(X:t)\ndefinition p(X, Y) = true", "Q0202"),
        ("type t\nfunction f(X:t) : t\ndefinition f(X) = Y", "Q0221"),
        ("type t\nrelation r(X)", "Q0204"),
        ("type t\naction a(x) = { }", "Q0204"),
        ("type t\naction a = { var x := 0; }", "Q0204"),
        ("type t\nrelation r(X:t, Y:t)\naxiom r(X, true)", "Q0203"),
        ("type t\nrelation r(X:t)\naxiom r", "Q0202"),
        ("type t\nindividual c : t\naxiom c", "Q0212"),
        ("axiom X = Y", "Q0204"),
        ("type t\nrelation r(X:t)\naction a = { r(X) := r(Y) }", "Q0221"),
        ("type t\nrelation r(X:t)\naction f(x:t) returns (y:t)\naxiom r(f(X))", "Q0104"),
        ("type t\nrelation r(X:t)\naction f(x:t) returns (y:t)\naction a = { require exists X. r(f(X)) }", "Q0104"),
        ("type t\nrelation r(X:t)\naction f(x:t) returns (y:t)\naction a = { r(X) := r(f(X)) }", "Q0221"),
        ("type t\nrelation r(X:t)\naction f(x:t)\naction a(x:t) = { r(f(x)) := true }", "Q0224"),
        ("action f\naction a = { f(true) }", "Q0202"),
        ("interpret t -> int", "Q0206"),
        ("type t\ninterpret t -> int\ninterpret t -> int", "Q0205"),
        ("type bool", "Q0205"),
    ],
)
def test_mistakes(problems: Problems, text: str, code: str) -> None:
    assert {d.code for d in problems(text) if d.severity == "error"} == {code}


def test_order_numerals_and_arithmetic_of_an_uninterpreted_sort(read: Read) -> None:
    model = read("""
        type id
        individual c : id
        relation (X:id < Y:id)
        axiom [a] X:id < Y & Y < Z -> X < Z
        axiom [b] 0 <= X:id
        axiom [c] X >= c -> X > 1
        axiom [d] X:id + 1 = c
    """)
    sort = Sort("id")
    assert model.symbols == (
        Symbol("c", (), sort),
        Symbol("id.+", (sort, sort), sort),
        Symbol("id.0", (), sort),
        Symbol("id.1", (), sort),
        Symbol("id.<", (sort, sort), BOOL),
    )
    assert [str(item.formula) for item in model.axioms] == [
        "forall X:id, Y:id, Z:id. id.<(X, Y) & id.<(Y, Z) -> id.<(X, Z)",
        "forall X:id. id.<(id.0, X) | id.0 = X",
        "forall X:id. id.<(c, X) | c = X -> id.<(id.1, X)",
        "forall X:id. id.+(X, id.1) = c",
    ]


def test_the_integers(read: Read) -> None:
    model = read("""
        type t
        type s
        interpret t -> int
        function f(X:s) : t
        axiom f(X) >= 0 & f(X) + 1 < 10
    """)
    assert model.sorts == (Sort("s"),)
    assert model.symbols == (Symbol("f", (Sort("s"),), INT),)
    assert str(model.axioms[0].formula) == "forall X:s. f(X) >= 0 & f(X) + 1 < 10"


@pytest.mark.parametrize("text", ["type level = {0..2}", "type level\ninterpret level -> {0..2}"])
def test_ranges_have_their_elements_and_their_order(read: Read, text: str) -> None:
    model = read(f"{text}\nindividual top : level\naxiom [a] top = 2 & 0 < top")
    sort = Sort("level", ("level.0", "level.1", "level.2"))
    assert model.sorts == (sort,)
    assert [item.name for item in model.axioms] == ["a", "level.order"]
    less = Symbol("level.<", (sort, sort), BOOL)
    numbers = [Symbol(name, (), sort)() for name in sort.elements]
    table: dict[tuple[Value, ...], Value] = {(i, j): i < j for i in range(3) for j in range(3)}
    assert Structure({}, {less: table}).holds(model.axioms[1].formula)
    for wrong in table:
        assert not Structure({}, {less: table | {wrong: not table[wrong]}}).holds(model.axioms[1].formula)
    assert str(model.axioms[0].formula) == "top = level.2 & level.<(level.0, top)"
    assert less(numbers[0], numbers[1]).sort is BOOL


def test_small_bit_vectors_and_enumerations(read: Read, problems: Problems) -> None:
    model = read("type t\ninterpret t -> bv[2]\ntype c\ninterpret c -> {red, green}\nindividual x : t\naxiom x = 3")
    assert [sort.elements for sort in model.sorts] == [("t.0", "t.1", "t.2", "t.3"), ("red", "green")]
    assert [d.code for d in problems("type t = {0..3}\nindividual x : t\naxiom x = 4")] == ["Q0203"]
    assert [d.code for d in problems("type t = {0..3}\nindividual x : t\naxiom x = 1 + 1")] == ["Q0203"]


def test_variables_of_a_symbol_come_from_its_declaration(read: Read) -> None:
    model = read("""
        type t
        relation r(source:t, N:t, N:t)
        action a(x:t) = { r(x, x, x) := true }
    """)
    (update,) = model.transitions[0].updates
    assert [variable.name for variable in update.variables] == ["Source", "N", "N_1"]
    assert str(update.value) == "Source = x & N = x & N_1 = x | r(Source, N, N_1)"


def test_what_is_said_of_the_number_of_elements(read: Read, problems: Problems) -> None:
    model = read("""
        finite type node
        unbounded type message
        finite type bit = {zero, one}
        type plain
        object ticket = { unbounded type t }
        relation finite(X:plain)
        relation unbounded(X:plain)
    """)
    assert model.finite == {Sort("node")}
    assert model.unbounded == {Sort("message"), Sort("ticket.t")}
    found = problems("finite type number\ninterpret number -> int\nunbounded type bit = {zero, one}\n")
    assert [(item.code, item.message) for item in found] == [
        ("Q0705", "`number` is the integers, which are not finite"),
        ("Q0705", "`bit` is an enumeration, which is finite"),
    ]
