"""Objects and instances with indices: one for each value, flattened into symbols and actions with further arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic
from quorate.lang.ivy.printer import print_model
from quorate.models.relational import RelationalModel
from quorate.models.source import Source

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]


def parts(model: RelationalModel) -> dict[str, Any]:
    """What a model says, without positions and names of files."""
    return {
        "sorts": model.sorts,
        "symbols": set(model.symbols),
        "derived": {(item.symbol, str(item.formula)) for item in model.derived},
        "formulas": {str(item.formula) for item in (*model.axioms, *model.initial, *model.properties)},
        "transitions": {
            (t.name, t.parameters, str(t.guard), frozenset((u.symbol, str(u.value)) for u in t.updates))
            for t in model.transitions
        },
    }


INDEXED = """
type node
individual root : node
object proc(me:node) = {
    relation token
    function peer(X:node) : node
    relation quiet = ~token
    axiom [own] peer(me) = me
    after init { token := me = root }
    action pass(to:node) = {
        require token;
        token := false;
        call accept(to)
    }
    action accept(to:node) = { require peer(to) = me; proc(to).token := true }
    invariant token | quiet
}
export proc.pass
safety proc(N).token & proc(M).token -> N = M
"""

FLAT = """
type node
individual root : node
object proc = {
    relation token(Me:node)
    function peer(Me:node, X:node) : node
    relation quiet(Me:node) = ~token(Me)
    axiom [own] peer(Me, Me) = Me
    after init { token(Me) := Me = root }
    action pass(me:node, to:node) = {
        require token(me);
        token(me) := false;
        call accept(me, to)
    }
    action accept(me:node, to:node) = { require peer(me, to) = me; token(to) := true }
    invariant token(Me) | quiet(Me)
}
export proc.pass
safety proc.token(N) & proc.token(M) -> N = M
"""


def test_an_object_with_an_index_is_one_with_further_arguments(read: Read) -> None:
    assert parts(read(INDEXED)) == parts(read(FLAT))


def test_printing_and_reading_back(read: Read) -> None:
    model = read(INDEXED)
    assert parts(parse(Source("again.ivy", print_model(model))).model) == parts(model)


def test_instances_with_an_index(read: Read) -> None:
    """What the module calls its own variables has nothing to do with the name of the index."""
    indexed = read("""
        type node
        relation up(N:node)
        module cell(owner, ok) = {
            relation full(R:node)
            invariant full(R) -> ok(owner)
            action fill(r:node) = { require ok(owner); full(r) := true }
        }
        after init { c.full(N, R) := false }
        instance c(R:node) : cell(R, up)
        export c.fill
    """)
    (fill,) = indexed.transitions
    assert [p.name for p in fill.parameters] == ["r_1", "r"]
    assert str(fill.guard) == "up(r_1)"
    assert str(fill.updates[0].value) == "R_1 = r_1 & R = r | c.full(R_1, R)"
    assert [str(item.formula) for item in indexed.safety] == ["forall R_1:node, R:node. c.full(R_1, R) -> up(R_1)"]


def test_nested_indices_and_members_of_members(read: Read) -> None:
    model = read("""
        type node
        module register = { function value(N:node) : node  relation set }
        object row(i:node) = {
            object cell(j:node) = { instance r : register  action write = { r.set := i = j; r.value(i) := j } }
        }
        action all(n:node) = { row(n).cell(X).r.set := true; require row(n).cell(n).r.value(n) = n }
        export all
        export row.cell.write
    """)
    assert [str(s) for s in model.symbols] == ["row.cell.r.value", "row.cell.r.set"]
    assert [len(s.arguments) for s in model.symbols] == [3, 2]
    write, every = (next(t for t in model.transitions if t.name == name) for name in ("row.cell.write", "all"))
    assert [p.name for p in write.parameters] == ["i", "j"]
    assert {str(u.value) for u in write.updates} == {
        "if I = i & J = j & N = i then j else row.cell.r.value(I, J, N)",
        "if I = i & J = j then i = j else row.cell.r.set(I, J)",
    }
    assert str(every.guard) == "row.cell.r.value(n, n, n) = n"


def test_monitors_in_an_object_take_the_index_for_the_first_parameter(read: Read) -> None:
    model = read("""
        type node
        type word
        object net = { action recv(dst:node, w:word)  action send(dst:node, w:word) }
        object proc(me:node) = {
            relation seen(W:word)
            after init { seen(W) := false }
            implement net.recv { seen(w) := true; call net.send(me, w) }
            before net.send(word:word) { require seen(word) }
        }
        import net.send
        export net.recv
    """)
    (recv,) = model.transitions
    assert [p.name for p in recv.parameters] == ["dst", "w"]
    assert str(recv.updates[0].value) == "Me = dst & W = w | proc.seen(Me, W)"
    assert not model.safety, "the assertion follows from the assignment before it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object o(me:t) = { type s }", "types in parameterized objects"),
        ("action a(x:s) object o(me:t) = { before a { require true } }", "do not match the parameters of the object"),
        ("object o(me:t) = { relation r } object o = { relation q }", "different numbers of indices"),
        ("object o(me:t) = { relation r after init { if r { r := false } } }", "only assignments and assumptions"),
        ("object o(me:t) = { relation r after init { r := o(c).r } }", "`o.r` in the initialization of several"),
        ("relation q object o(me:t) = { after init { q := true } }", "`q` in the initialization of several"),
        ("object o(me:t) = { function f : t after init { f := g } action g returns (x:t) = { } }", "`o.g` in the"),
    ],
)
def test_what_indices_do_not_allow(problems: Problems, text: str, message: str) -> None:
    found = problems(f"type t type s individual c : t {text}")
    assert any(message in item.message and item.severity == "error" for item in found), found


def test_monitors_may_name_some_of_the_parameters(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t, Y:t)
        action a(x:t, y:t)
        implement a(me:t) { r(me, y) := true }
        export a
    """)
    assert str(model.transitions[0].updates[0].value) == "X = x & Y = y | r(X, Y)"


def test_mixins(read: Read) -> None:
    model = read("""#lang ivy1.3
        type t
        relation r(X:t)
        relation s(X:t)
        action a(x:t) = { r(x) := true }
        action free(y:t) = { assert ~r(y) }
        action note(y:t) = { s(y) := r(y) }
        mixin free before a
        mixin note after a
    """)
    (a,) = model.transitions
    assert str(a.guard) == "!r(x)", "the environment that calls `a` sees to what is asserted before it"
    assert {str(u.value) for u in a.updates} == {"X = x | r(X)", "X = x | s(X)"}


def test_mixins_of_what_does_not_fit(problems: Problems) -> None:
    assert [d.code for d in problems("action a = { } mixin b before a")] == ["Q0224"]
    assert [d.code for d in problems("type t action a = { } action b(x:t) = { } mixin b before a")] == ["Q0202"]


def test_assertions_before_an_action_are_up_to_its_caller(read: Read) -> None:
    """From 1.7 on `require` says so; until then `assert` before an action means the same."""
    text = "relation r action a action b = { call a } before a { assert r } export a export b after init { r := true }"
    early, late = read(f"#lang ivy1.6\n{text}"), read(f"#lang ivy1.7\n{text}")
    assert [item.name for item in early.safety] == ["b_assert_1"]
    assert [item.name for item in late.safety] == ["a_assert_1", "b_assert_1"]
