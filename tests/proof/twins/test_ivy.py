"""The twin of Ivy: what small texts do, by hand, and the same as the model does, on random states."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent

import pytest

from lang.constructs import CONSTRUCTS, Construct
from quorate.lang import load, parse
from quorate.models.source import Source
from quorate.proof.twins import Twin, TwinError, twins
from quorate.proof.twins.choices import every
from twin_comparison import compare
from twin_running import falsified, starts, steps, twin_of

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = sorted(ROOT.glob("protocols/**/*.ivy"))
CORPUS = sorted(Path(os.environ.get("QUORATE_CORPUS", ROOT.parent / "shared" / "corpus")).glob("**/*.ivy"))

HELD = """
type node
relation held(N:node)
after init { held(N) := false }
"""


def ivy(text: str, size: str = "node=2", version: str = "1.7") -> Twin:
    return twin_of(f"#lang ivy{version}\n" + dedent(text), "ivy", size)


def test_assignments_and_requirements() -> None:
    twin = ivy(
        HELD
        + "action take(n:node) = { require ~held(n); held(n) := true }\nexport take\nsafety held(X) -> ~held(Y) | X = Y"
    )
    assert set(starts(twin)) == {"nothing holds"}
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0)", "take(n = 1): held(1)"}
    assert falsified(twin) == {"safety_1": {"held(0), held(1)"}}


def test_statements_follow_each_other_and_updates_are_simultaneous() -> None:
    twin = ivy(
        """
        type node
        relation r(X:node, Y:node)
        after init { r(X, Y) := X ~= Y & X = 0; assume 0 ~= 1:node }
        action turn = { r(X, Y) := r(Y, X); assume r(1, 0) }
        export turn
        safety ~r(X, X)
        """
    )
    assert steps(twin, "node.0 = 0, node.1 = 1, r(0, 1)") == {"turn: node.0 = 0, node.1 = 1, r(1, 0)"}


def test_havoc() -> None:
    twin = ivy(
        HELD + "action a(n:node) = { held(n) := * }\naction b = { held(N) := * ; assume held(N) }\nexport a\nexport b"
    )
    assert steps(twin, "nothing holds") == {
        "a(n = 0): nothing holds",
        "a(n = 0): held(0)",
        "a(n = 1): nothing holds",
        "a(n = 1): held(1)",
        "b: held(0), held(1)",
    }


def test_local_variables_and_calls_with_results() -> None:
    twin = ivy(
        HELD
        + """
        individual last : node
        after init { last := 0 }
        action pick returns (m:node) = { assume ~held(m); held(m) := true }
        action go = { var x := pick; local y:node { assume y ~= x; last := y } }
        export go
        """
    )
    assert steps(twin, "node.0 = 0, last = 0") == {
        "go: node.0 = 0, held(0), last = 1",
        "go: node.0 = 0, held(1), last = 0",
    }


def test_calls_come_before_the_rest_of_their_statement() -> None:
    """Ivy performs the calls of a statement first, from left to right; what else it reads is read afterwards."""
    twin = ivy(
        """
        type color = {red, green}
        individual c : color
        individual d : color
        after init { c := red; d := red }
        action paint returns (x:color) = { c := green; x := green }
        action set(x:color, y:color) = { d := x }
        action go = { set(c, paint) }
        export go
        """,
        "no sorts",
    )
    assert steps(twin, "c = 0, d = 0") == {"go: c = 1, d = 1"}


def test_if_some_takes_a_witness_if_there_is_one() -> None:
    twin = ivy(
        HELD
        + """
        action go = { if some n:node. ~held(n) { held(n) := true } else { held(N) := false } }
        export go
        """
    )
    assert steps(twin, "nothing holds") == {"go: held(0)", "go: held(1)"}
    assert steps(twin, "held(0), held(1)") == {"go: nothing holds"}


def test_conditions_of_branches() -> None:
    twin = ivy(HELD + "action flip(n:node) = { if held(n) { held(n) := false } else { held(n) := true } }\nexport flip")
    assert steps(twin, "held(0)") == {"flip(n = 0): nothing holds", "flip(n = 1): held(0), held(1)"}
    either = ivy(HELD + "action go(n:node) = { if * { held(n) := true } }\nexport go")
    assert steps(either, "held(0), held(1)") == {"go(n = 0): held(0), held(1)", "go(n = 1): held(0), held(1)"}


def test_monitors_run_before_and_after() -> None:
    twin = ivy(
        HELD
        + """
        relation done
        after init { done := false }
        action take(n:node) = { held(n) := true }
        before take { require ~held(n) }
        after take(m:node) { done := held(m) }
        export take
        """
    )
    assert steps(twin, "held(0), done") == {"take(n = 1): held(0), held(1), done"}


def test_mixins() -> None:
    twin = ivy(
        HELD
        + """
        action take(n:node) = { held(n) := true }
        action free(m:node) = { assert ~held(m) }
        mixin free before take
        export take
        """
    )
    assert steps(twin, "held(0)") == {"take(n = 1): held(0), held(1)"}
    assert falsified(twin) == {}


def test_implementations() -> None:
    twin = ivy(HELD + "action take(n:node)\nimplement take(m:node) { held(m) := true }\nexport take", "node=1")
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0)"}


def test_old_values() -> None:
    twin = ivy(
        HELD
        + """
        action swap(n:node) = { held(N) := ~held(N); held(n) := old held(n); n := n }
        export swap
        """
    )
    assert steps(twin, "nothing holds") == {"swap(n = 0): held(1)", "swap(n = 1): held(0)"}


def test_assertions_about_the_state_before_are_properties() -> None:
    twin = ivy(HELD + "action take(n:node) = { assert ~held(n); held(n) := true; ensure held(n) }\nexport take")
    assert twin.properties == ("take_assert_1",)
    assert set(falsified(twin)["take_assert_1"]) == {"held(0)", "held(1)", "held(0), held(1)"}
    assert steps(twin, "held(0)") == {"take(n = 1): held(0), held(1)"}


def test_what_is_required_of_a_called_action_is_asserted() -> None:
    twin = ivy(
        HELD
        + """
        action inner(n:node) = { require ~held(n); held(n) := true }
        action outer(n:node) = { call inner(n); call inner(n) }
        action careful(n:node) = { if ~held(n) { call inner(n) } }
        export outer
        export careful
        """,
        "node=1",
    )
    assert twin.properties == ("outer_assert_1", "outer_assert_2", "careful_assert_1")
    assert falsified(twin) == {"outer_assert_1": {"held(0)"}, "outer_assert_2": {"nothing holds"}}


def test_assertions_about_choices_raise_a_flag() -> None:
    twin = ivy(HELD + "action go = { held(N) := *; assert exists N. held(N) }\nexport go", "node=1")
    assert steps(twin, "nothing holds") == {"go: held(0)", "go_assert_1: an assertion has failed"}
    assert "assertion_failed" in twin.properties
    assert set(falsified(twin)) == {"assertion_failed"}


def test_definitions_are_read_in_any_order() -> None:
    twin = ivy(
        """
        relation top
        relation mid
        relation base
        definition top = mid
        definition mid = base
        after init { base := false }
        action t = { base := true }
        export t
        invariant ~top
        """,
        "no sorts",
    )
    assert falsified(twin) == {"invariant_1": {"base"}}


def test_objects_have_indices() -> None:
    twin = ivy(
        """
        type node
        object client(me:node) = {
            relation idle
            after init { idle := true }
            action work = { require idle; idle := false }
            invariant [rests] idle
        }
        export client.work
        """
    )
    assert set(starts(twin)) == {"client.idle(0), client.idle(1)"}
    assert steps(twin, "client.idle(0)") == {"client.work(me = 0): nothing holds"}
    assert set(falsified(twin)) == {"client.rests"}


def test_modules_are_instantiated_with_symbols_and_sorts() -> None:
    twin = ivy(
        """
        module counter(t, flag) = {
            individual at : t
            after init { at := 0 }
            action step(x:t) = { require flag(x); at := x }
            invariant at = 0
        }
        type node
        type level = {0..1}
        relation ok(X:node)
        axiom ok(X) <-> X ~= 0
        relation high(X:level)
        axiom high(X) <-> X = 1
        instance a : counter(node, ok)
        instance b : counter(level, high)
        export a.step
        export b.step
        """
    )
    first = "ok(1), high(1), node.0 = 0, a.at = 0, b.at = 0"
    assert steps(twin, first) == {
        "a.step(x = 1): ok(1), high(1), node.0 = 0, a.at = 1, b.at = 0",
        "b.step(x = 1): ok(1), high(1), node.0 = 0, a.at = 0, b.at = 1",
    }
    assert twin.properties == ("invariant_1", "invariant_2")
    wrong = falsified(twin)
    assert "b.at = 0" in min(wrong["invariant_1"]) or "a.at = 1" in min(wrong["invariant_1"])
    assert all("b.at = 1" in state for state in wrong["invariant_2"])


def test_macros_assign_what_they_are_given() -> None:
    twin = ivy(
        HELD
        + """
        macro set(r, x) = { local z:node { assume z ~= x; r(z) := true } }
        action go(y:node) = { instantiate set(held, y) }
        export go
        """
    )
    assert steps(twin, "nothing holds") == {"go(y = 0): held(1)", "go(y = 1): held(0)"}


def test_structs_with_equal_fields_are_equal() -> None:
    twin = ivy(
        """
        type node
        type msg = struct { src : node, flag : bool }
        relation sent(M:msg)
        after init { sent(M) := false }
        action send(n:node) = { var m : msg; m.src := n; m.flag := true; sent(m) := true }
        export send
        safety sent(M) & sent(N) & M.src = N.src -> M = N
        """,
        "node=2, msg=4",
    )
    fields = "src(0) = 0, src(1) = 0, src(2) = 1, src(3) = 1, flag(1), flag(3)"
    assert set(starts(twin)) == {fields}
    assert steps(twin, fields) == {f"send(n = 0): {fields}, sent(1)", f"send(n = 1): {fields}, sent(3)"}
    assert falsified(twin) == {}


def test_numbers_of_ranges_bit_vectors_and_integers() -> None:
    twin = ivy(
        """
        type small = {3..5}
        type bits
        interpret bits -> bv[2]
        type number
        interpret number -> int
        individual a : small
        individual b : bits
        individual c : number
        after init { a := 4; b := 3; c := 7 }
        action go(x:small) = { require x > a; a := x; b := b + 1; c := c * c - 50 }
        export go
        """,
        "no sorts",
    )
    assert set(starts(twin)) == {"a = 1, b = 3, c = 7"}
    (state,) = starts(twin).values()
    after = {f"{move}: {twin.show(there)}" for move, there in every(lambda choices: twin.step(state, choices))}
    assert after == {"go(x = 2): a = 2\nb = 0\nc = -1"}


def test_orders_of_sorts_are_symbols() -> None:
    twin = ivy(
        """
        include order
        instance t : unbounded_sequence
        individual now : t
        after init { now := 0 }
        action go = { now := t.next(now) }
        export go
        safety now = 0
        """,
        "t=2",
    )
    assert len(starts(twin)) == 4, "two orders, and whether the two are neighbours"
    assert set(falsified(twin)) == {"safety_1"}


def test_axioms_about_what_changes_hold_in_every_state_of_older_files() -> None:
    twin = ivy(
        """
        type node
        relation held(N:node)
        axiom held(X) & held(Y) -> X = Y
        init ~held(N)
        action take(n:node) = { held(n) := true }
        """,
        version="1.6",
    )
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0)", "take(n = 1): held(1)"}
    assert steps(twin, "held(0)") == {"take(n = 0): held(0)"}


def test_trusted_isolates_are_believed() -> None:
    twin = ivy(
        """
        type node
        trusted isolate pick = {
            relation good(N:node)
            action get returns (n:node)
            specification { after get { ensure good(n) } }
        }
        individual c : node
        action go = { c := pick.get }
        export go
        """
    )
    assert {step.partition(": ")[2] for step in steps(twin, "pick.good(1), c = 0")} == {"pick.good(1), c = 1"}
    assert falsified(twin) == {}


def test_the_first_versions_leave_sorts_out() -> None:
    twin = ivy(
        """
        relation next(X, Y)
        individual a, b
        init ~next(X, Y)
        action link = { a.next := b }
        """,
        "universe=2",
        "1.1",
    )
    assert steps(twin, "a = 0, b = 1") == {"link: a = 0, b = 1, next(0, 1)"}


def test_integers_are_refused_where_they_are_not_finite() -> None:
    text = "#lang ivy1.7\nvar n : int\naction up = { n := n + 1 }\nexport up\ninvariant forall X:int. X <= n"
    with pytest.raises(TwinError, match="ranges over all integers"):
        list(twins(parse(Source("text.ivy", text)).model))


@pytest.mark.parametrize(
    "construct", [c for c in CONSTRUCTS if c.language == "ivy" and not c.refused], ids=lambda c: c.name
)
def test_constructs_agree_with_the_model(construct: Construct) -> None:
    model = parse(Source("construct.ivy", construct.example), "ivy").model
    assert compare(model, twins(model), count=2, seconds=0.2, most=100).differences == []


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_library_agrees_with_the_model(path: Path) -> None:
    model = load(path).model
    report = compare(model, twins(model), count=2, length=2, arbitrary=1, seconds=0.1, most=60)
    assert report.differences == []
    assert report.initial and report.states


@pytest.mark.slow
@pytest.mark.parametrize("path", [*LIBRARY, *CORPUS], ids=lambda path: path.name)
def test_larger_instances_agree_with_the_model(path: Path) -> None:
    model = load(path).model
    for seed in range(2):
        report = compare(model, twins(model), seed, count=5, length=4, arbitrary=4, seconds=1.0)
        assert report.differences == []
