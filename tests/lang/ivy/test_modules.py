"""Modules, objects and macros: what names mean after everything is taken apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang.diagnostics import Diagnostic
from quorate.models.relational import RelationalModel

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]


def axioms(model: RelationalModel) -> dict[str, str]:
    return {item.name: str(item.formula) for item in model.axioms}


def test_module_with_a_symbol_as_parameter(read: Read) -> None:
    model = read("""
        module order(r) = { axiom [reflexive] r(X, X)  axiom r(X, Y) | r(Y, X) }
        type id
        relation le(X:id, Y:id)
        instantiate order(le)
    """)
    assert axioms(model) == {
        "reflexive": "forall X:id. le(X, X)",
        "axiom_2": "forall X:id, Y:id. le(X, Y) | le(Y, X)",
    }


def test_named_instance_with_a_sort_as_parameter(read: Read) -> None:
    model = read("""
        module ring(carrier) = {
            relation btw(X:carrier, Y:carrier, Z:carrier)
            individual origin : carrier
            axiom [turn] btw(X, Y, Z) -> btw(Y, Z, X)
            action next(x:carrier) returns (y:carrier) = { assume btw(x, y, origin) }
        }
        type node
        instantiate a : ring(node)
        instance b : ring(node)
        relation at(N:node)
        action step(n:node) = { require at(n); at(n) := false; at(a.next(n)) := true }
        export step
    """)
    assert [symbol.name for symbol in model.symbols] == ["a.btw", "a.origin", "b.btw", "b.origin", "at"]
    assert axioms(model) == {
        "a.turn": "forall X:node, Y:node, Z:node. a.btw(X, Y, Z) -> a.btw(Y, Z, X)",
        "b.turn": "forall X:node, Y:node, Z:node. b.btw(X, Y, Z) -> b.btw(Y, Z, X)",
    }
    (step,) = model.transitions
    assert [p.name for p in step.parameters] == ["n", "y"]
    assert str(step.guard) == "at(n) & a.btw(n, y, a.origin)"
    assert str(step.updates[0].value) == "N = y | N != n & at(N)"


def test_prefix_as_parameter_and_nested_modules(read: Read) -> None:
    model = read("""
        module pair(side) = {
            module total(r) = { axiom [total] r(X, Y) | r(Y, X) }
            relation le(X:side.t, Y:side.t)
            instantiate total(le)
            instance other : total(side.le)
        }
        object left = { type t  relation le(X:t, Y:t) }
        instance p : pair(left)
    """)
    assert [sort.name for sort in model.sorts] == ["left.t"]
    assert axioms(model) == {
        "p.total": "forall X:left.t, Y:left.t. p.le(X, Y) | p.le(Y, X)",
        "p.other.total": "forall X:left.t, Y:left.t. left.le(X, Y) | left.le(Y, X)",
    }


def test_expression_as_parameter(read: Read) -> None:
    model = read("""
        type t
        function f(X:t) : t
        individual c : t
        module fixed(term) = { axiom [fixed] f(term) = term }
        instantiate fixed(f(c))
    """)
    assert axioms(model) == {"fixed": "f(f(c)) = f(c)"}


def test_objects_hide_and_may_be_opened_again(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t)
        object o = {
            relation r(X:t)
            axiom [inner] r(X)
            object deep = { axiom [deepest] r(X)  relation s(X:t) }
        }
        axiom [outer] r(X)
        object o = { ...
            axiom [again] deep.s(X) -> r(X)
        }
    """)
    assert axioms(model) == {
        "o.inner": "forall X:t. o.r(X)",
        "o.deep.deepest": "forall X:t. o.r(X)",
        "outer": "forall X:t. r(X)",
        "o.again": "forall X:t. o.deep.s(X) -> o.r(X)",
    }


def test_this_and_alias(read: Read) -> None:
    model = read("""
        object node = {
            type this
            alias t = this
            relation ok(X:this)
            axiom [one] forall X:t. this.ok(X)
        }
        relation seen(N:node.t)
        axiom [two] forall X:node. seen(X) -> node.ok(X)
    """)
    assert [sort.name for sort in model.sorts] == ["node"]
    assert axioms(model) == {
        "node.one": "forall X:node. node.ok(X)",
        "two": "forall X:node. seen(X) -> node.ok(X)",
    }


def test_groups_add_no_name(read: Read) -> None:
    model = read("""
        isolate part = {
            type t
            specification { relation r(X:t) }
            implementation { relation s(X:t)  private { axiom [mine] r(X) -> s(X) } }
        } with part
        trusted isolate whole = part with part
    """)
    assert axioms(model) == {"part.mine": "forall X:part.t. part.r(X) -> part.s(X)"}


def test_a_module_sees_where_it_was_written_before_where_it_is_used(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t)
        object a = { relation r(X:t)  module m = { axiom [here] r(X) } }
        object b = { relation r(X:t)  instantiate a.m  instantiate m2 }
        module m2 = { axiom [there] r(X) }
    """)
    assert axioms(model) == {"b.here": "forall X:t. a.r(X)", "b.there": "forall X:t. b.r(X)"}


def test_macros_are_put_in_place(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t)
        individual c : t
        macro move(from, target) = { require r(from); r(from) := false; local y:t { assume ~r(y); target := y } }
        action go(x:t) = { instantiate move(x, c) }
    """)
    (go,) = model.transitions
    assert [p.name for p in go.parameters] == ["x", "y"]
    assert str(go.guard) == "r(x) & !(y != x & r(y))"
    assert {u.symbol.name: str(u.value) for u in go.updates} == {"r": "X != x & r(X)", "c": "y"}
    assert all(symbol.mutable for symbol in model.symbols)


def test_a_macro_must_not_hide_its_arguments(problems: Problems) -> None:
    text = """type t
relation r(X:t)
macro m(a) = { local x:t { r(a) := r(x) } }
action go(x:t) = { instantiate m(x) }
"""
    assert [(d.code, d.span.line) for d in problems(text)] == [("Q0104", 4)]


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("instantiate missing(r)", "Q0201", 2, 1),
        ("module m(a) = { }\ninstantiate m", "Q0202", 3, 1),
        ("module m = { }\nmodule m = { }", "Q0205", 3, 1),
        ("type t\ntype t", "Q0205", 3, 1),
        ("type t\nrelation r(X:t)\nindividual r : t", "Q0205", 4, 12),
        ("type t = {a, b}\nindividual a : t", "Q0205", 3, 12),
        ("action a = { }\nbefore b { }", "Q0224", 3, 1),
        ("action a = { }\nimplement a { }", "Q0205", 3, 1),
        ("action a\nafter a(x:t) { }\ntype t", "Q0202", 3, 1),
        ("action a = { instantiate m }", "Q0201", 2, 14),
        ("type t\naction a(x:t, x:t) = { }", "Q0205", 3, 15),
    ],
)
def test_mistakes(problems: Problems, text: str, code: str, line: int, column: int) -> None:
    assert [(d.code, d.span.line, d.span.column) for d in problems(text)] == [(code, line, column)]


def test_monitors_run_around_the_body(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t)
        relation log(X:t)
        action put(x:t) returns (y:t)
        before put { require ~r(x); }
        implement put(a:t) returns (b:t) { r(a) := true; b := a }
        after put { log(y) := r(x) }
        export put
    """)
    (put,) = model.transitions
    assert [p.name for p in put.parameters] == ["x"]
    assert str(put.guard) == "!r(x)"
    assert {u.symbol.name: str(u.value) for u in put.updates} == {"r": "X = x | r(X)", "log": "X = x | log(X)"}


def test_monitors_whose_order_matters_are_refused(problems: Problems) -> None:
    text = "relation r\naction a = { }\nbefore a { r := true }\nbefore a { r := false }\n"
    assert [d.code for d in problems(text)] == ["Q0104"]
    harmless = (
        "relation r\nrelation s\naction a = { r := true; s := true }\nbefore a { require r }\nbefore a { require s }\n"
    )
    assert problems(harmless) == ()


def test_order_is_built_in(read: Read, problems: Problems) -> None:
    text = """
        include order
        type id
        instantiate totally_ordered_with_zero(id)
    """
    model = read(text)
    assert {item.name: str(item.formula) for item in model.theorems} == {
        "transitivity": "forall T:id, U:id, V:id. id.<(T, U) & id.<(U, V) -> id.<(T, V)",
        "antisymmetry": "forall T:id, U:id. !(id.<(T, U) & id.<(U, T))",
        "totality": "forall T:id, U:id. id.<(T, U) | T = U | id.<(U, T)",
        "least": "forall X:id. id.<(id.0, X) | id.0 = X",
    }, "in Ivy these are properties of an implementation, so they are claims and not axioms"
    assert [d.code for d in problems("include order\ninstance s : order_iterator(t)")] == ["Q0201"]
