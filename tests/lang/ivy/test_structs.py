"""Structs: uninterpreted sorts with a rigid function for each field, and assignments that change one field."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang.diagnostics import Diagnostic
from quorate.models.relational import RelationalModel

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]

MESSAGE = """
type node
type msg = struct { src : node, seen(N:node) : bool }
relation sent(M:msg)
individual last : msg
"""


def test_fields_are_rigid_functions(read: Read) -> None:
    model = read(MESSAGE + "action a(m:msg) = { require m.seen(m.src); sent(m) := true } export a")
    assert {symbol.name: symbol.mutable for symbol in model.symbols} == {
        "src": False,
        "seen": False,
        "sent": True,
        "last": False,
    }
    assert str(model.transitions[0].guard) == "seen(m, src(m))"


def test_assigning_a_field_gives_a_struct_that_differs_there(read: Read) -> None:
    model = read(MESSAGE + "action a(n:node) = { last.src := n; last.seen(n) := true; sent(last) := false } export a")
    (a,) = model.transitions
    assert [p.name for p in a.parameters] == ["n", "new_last", "new_last_1"]
    assert str(a.guard) == (
        "src(new_last) = n & (forall N:node. seen(new_last, N) <-> seen(last, N))"
        " & src(new_last_1) = src(new_last)"
        " & (forall N:node. if N = n then seen(new_last_1, N) else (seen(new_last_1, N) <-> seen(new_last, N)))"
    )
    assert {u.symbol.name: str(u.value) for u in a.updates} == {
        "last": "new_last_1",
        "sent": "M != new_last_1 & sent(M)",
    }


def test_assigning_a_field_leaves_other_structs_alone(read: Read) -> None:
    """Two variables may hold the same struct; changing a field of one does not change the other."""
    model = read(MESSAGE + "action a(m:msg, n:node) = { var k := m; k.src := n; ensure m.src = old m.src } export a")
    assert model.safety == (), "the assertion is trivial: the other struct is as it was"


def test_both_spellings_and_all_places_of_a_field_at_once(read: Read) -> None:
    dotted = read(MESSAGE + "action a(m:msg) = { m.seen(N) := N = m.src; sent(m) := true } export a")
    applied = read(MESSAGE + "action a(m:msg) = { seen(m, N) := N = src(m); sent(m) := true } export a")
    assert dotted.transitions[0].guard is applied.transitions[0].guard
    assert "forall N:node. seen(new_m, N) <-> N = src(m)" in str(dotted.transitions[0].guard)


def test_fields_of_what_a_function_holds(read: Read) -> None:
    model = read(MESSAGE + "function box(N:node) : msg action a(n:node) = { box(n).src := n } export a")
    (a,) = model.transitions
    assert {u.symbol.name: str(u.value) for u in a.updates} == {"box": "if N = n then new_box else box(N)"}
    assert [symbol.name for symbol in model.symbols if symbol.mutable] == ["box"]
    assert str(a.guard) == "src(new_box) = n & (forall N:node. seen(new_box, N) <-> seen(box(n), N))"


def test_any_value_for_a_field(read: Read) -> None:
    model = read(MESSAGE + "action a = { last.src := * } export a")
    assert str(model.transitions[0].guard) == "forall N:node. seen(new_last, N) <-> seen(last, N)"


def test_fields_of_fields(read: Read) -> None:
    model = read("""
        type node
        object entry = { type t = struct { val : node }  relation good(E:t) }
        object log = { type this = struct { at(N:node) : entry.t, end : node } }
        action a(l:log) = { require l.at(N).good & l.at(l.end).val = N }
        export a
    """)
    assert str(model.transitions[0].guard) == (
        "forall N:node. entry.good(log.at(l, N)) & entry.val(log.at(l, log.end(l))) = N"
    )


def test_fields_of_logical_variables_and_destructors(read: Read) -> None:
    model = read("""
        type node
        type msg
        destructor src(M:msg) : node
        relation sent(M:msg)
        after init { sent(M) := false }
        safety forall M:msg. sent(M) -> sent(M) & M.src = M.src
        safety sent(M) & sent(K) & M.src = K.src -> M = K
    """)
    assert str(model.safety[1].formula).endswith("sent(M) & sent(K) & src(M) = src(K) -> M = K")


def test_actions_for_values(read: Read) -> None:
    model = read("""
        object id = {
            type this
            action next(x:this) returns (y:this) = { assume y ~= x }
            action use(x:this) = { require x ~= top }
            individual top : id
        }
        relation r(X:id)
        action a(i:id) = { r(i.next) := true; call i.use }
        export a
    """)
    assert str(model.transitions[0].guard) == "y != i & i != id.top"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("action a = { last.dst := last }", "Q0201"),
        ("function f(X:node) : msg action a = { f(N).src := N }", "Q0104"),
        ("safety X.src = X.src", "Q0204"),
        ("safety sent(M) & M.src(M) = M.src", "Q0202"),
        ("destructor s : node", "Q0101"),
        ("function f(X:node) : msg action a(n:node) = { n.f := last }", "Q0104"),
        ("function f(X:node) : msg action a(n:node) = { n.f.src := n }", "Q0104"),
    ],
)
def test_what_does_not_fit(problems: Problems, text: str, code: str) -> None:
    assert code in [item.code for item in problems(MESSAGE + text)]
