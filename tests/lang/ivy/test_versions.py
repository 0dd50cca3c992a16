"""What differs between versions of Ivy: sorts left out, comparisons, members with colons, and assignments to fields."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic
from quorate.lang.ivy.printer import print_model
from quorate.models.relational import RelationalModel
from quorate.models.source import Source

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]


@pytest.mark.parametrize("version", ["1", "1.2"])
def test_a_file_without_sorts_has_one(read: Read, version: str) -> None:
    model = read(f"""#lang ivy{version}
        relation linked(X, Y)
        individual x, y
        init ~linked(X, Y)
        action link = {{ x := *; y := *; linked(x, y) := true }}
        conjecture linked(X, Y) -> linked(Y, X)
    """)
    assert [sort.name for sort in model.sorts] == ["universe"]
    assert {symbol.name: len(symbol.arguments) for symbol in model.symbols} == {"linked": 2, "x": 0, "y": 0}
    assert str(model.safety[0].formula) == "forall X:universe, Y:universe. linked(X, Y) -> linked(Y, X)"


def test_sorts_left_out_are_found_from_the_uses(read: Read) -> None:
    model = read("""#lang ivy1
        type packet
        type host
        relation pending(P:packet, H:host)
        relation next(X, Y)
        individual p, h, k
        axiom pending(P, X) & next(X, Y) -> X ~= Y
        action move = {
            if pending(p, h) { k := *; assume next(h, k); pending(p, k) := true }
        }
    """)
    sorts = {symbol.name: [str(sort) for sort in (*symbol.arguments, symbol.sort)] for symbol in model.symbols}
    assert sorts["next"] == ["host", "host", "bool"]
    assert (sorts["p"], sorts["h"], sorts["k"]) == (["packet"], ["host"], ["host"])


def test_sorts_that_cannot_be_found(problems: Problems) -> None:
    assert [d.code for d in problems("#lang ivy1.2\ntype t\nindividual a : t\nindividual b")] == ["Q0204"]
    assert [d.code for d in problems("#lang ivy1.3\nrelation r(X)")] == ["Q0204"]
    assert "Q0101" in [d.code for d in problems("#lang ivy1.3\nindividual a")]


def test_operators_of_a_single_sort(read: Read) -> None:
    model = read("""#lang ivy1.1
        type number
        relation (X:number < Y:number)
        axiom ~(X < X)
    """)
    assert str(model.axioms[0].formula) == "forall X:number. !number.<(X, X)"


COMPARED = "type t relation (X:t <= Y:t) axiom X:t <= Y & Y < Z -> X < Z"


def test_comparisons_are_symbols_of_their_own_until_1_5(read: Read) -> None:
    """Nothing relates `<` and `<=` there unless the file says so; from 1.6 on one is defined by the other."""
    early, late = read(f"#lang ivy1.5\n{COMPARED}"), read("type t axiom X:t <= Y & Y < Z -> X < Z")
    assert [symbol.name for symbol in early.symbols] == ["t.le", "t.<"]
    assert str(early.axioms[0].formula) == "forall X:t, Y:t, Z:t. t.le(X, Y) & t.<(Y, Z) -> t.<(X, Z)"
    assert [symbol.name for symbol in late.symbols] == ["t.<"]
    again = parse(Source("again.ivy", print_model(early))).model
    assert (again.symbols, [a.formula for a in again.axioms]) == (early.symbols, [a.formula for a in early.axioms])


def test_comparisons_of_interpreted_sorts_mean_the_same_in_all_versions(read: Read) -> None:
    text = "type t individual a : t interpret t -> {0..1} axiom a >= 1"
    assert read(f"#lang ivy1.4\n{text}").axioms[0].formula is read(f"#lang ivy1.7\n{text}").axioms[0].formula


def test_comparisons_next_to_a_symbol_of_that_name(problems: Problems) -> None:
    found = problems(f"#lang ivy1.5\n{COMPARED} object t = {{ relation le }}")
    assert [item.code for item in found] == ["Q0104"]


def test_operators_as_arguments_of_modules(read: Read) -> None:
    model = read("""#lang ivy1.3
        module total(t, r) = { axiom [total] r(X:t, Y) | r(Y, X) }
        type a
        type b
        relation (X:a <= Y:a)
        instantiate total(a, <=)
        instantiate o : total(b, <)
    """)
    assert [str(item.formula) for item in model.axioms] == [
        "forall X:a, Y:a. a.le(X, Y) | a.le(Y, X)",
        "forall X:b, Y:b. b.<(X, Y) | b.<(Y, X)",
    ]


def test_members_with_a_colon(read: Read) -> None:
    model = read("""#lang ivy1.2
        type t
        module cell = { relation full  action fill = { full := true } }
        instantiate a : cell
        action both = { call a:fill; a:full := false }
        export both
        conjecture ~a:full | X:t = X
    """)
    assert [symbol.name for symbol in model.symbols] == ["a.full"]
    assert [(t.name, str(t.updates[0].value)) for t in model.transitions] == [("both", "false")]


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("a.next := b", "if X = a then Y = b else next(X, Y)"),
        ("a.next := false", "X != a & next(X, Y)"),
        ("a.next := null", "X != a & next(X, Y)"),
        ("a.next := b.prev", "if X = a then prev(b, Y) else next(X, Y)"),
    ],
)
def test_assignments_to_fields_of_the_first_versions(read: Read, assignment: str, value: str) -> None:
    text = f"#lang ivy1.1\nrelation next(X, Y)\nrelation prev(X, Y)\nindividual a, b\naction go = {{ {assignment} }}"
    (update,) = read(text).transitions[0].updates
    assert (update.symbol.name, str(update.value)) == ("next", value)


def test_bit_vectors_wrap_around(read: Read) -> None:
    model = read("type t individual a : t interpret t -> bv[1] axiom a + 1 ~= a property X:t - Y = X + Y")
    axioms = {item.name: str(item.formula) for item in model.axioms}
    assert axioms["t.sums"] == ("t.+(t.0, t.0) = t.0 & t.+(t.0, t.1) = t.1 & t.+(t.1, t.0) = t.1 & t.+(t.1, t.1) = t.0")
    assert axioms["t.differences"].endswith("t.-(t.1, t.1) = t.0")
    again = parse(Source("again.ivy", print_model(model))).model
    assert {item.name: item.formula for item in again.axioms} == {item.name: item.formula for item in model.axioms}


def test_ranges_have_no_arithmetic(problems: Problems) -> None:
    """What lies beyond the end of a range is not settled, so nothing is said about it."""
    found = problems("type t individual a : t interpret t -> {0..3} axiom a + 1 ~= a")
    assert [item.code for item in found] == ["Q0203"]


def test_parts_that_are_not_used_are_pointed_out(problems: Problems) -> None:
    text = (
        "#lang ivy1.2\ntype t\nrelation r(X:t)\nconcept c(X) = (r(X) * ~r(X) + r(X))\naction a(x:t) = { r(x) := true }"
    )
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0104", "warning")]
    text = (
        "relation r action a = { r := true; assert r proof let X = Y, Z = r; assert r proof { let X = Y; if r { } } }"
    )
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0104", "warning")] * 2


def test_an_unbounded_sequence_is_any_order_with_a_least_element(read: Read, problems: Problems) -> None:
    text = """
        include order
        instance round : unbounded_sequence
        alias time = round.t
        individual now : time
        after init { now := 0 }
        action tick = { now := round.next(now) }
        action back = { now := now.prev }
        export tick
        export back
    """
    model = read(text)
    assert [sort.name for sort in model.sorts] == ["round"]
    tick = model.transitions[0]
    assert str(tick.guard) == (
        "(forall Y:round. round.<(now, y) & (round.<(now, Y) -> round.<(y, Y) | y = Y)) & round.succ(now, y)"
    )
    assert [str(item.formula) for item in model.safety] == ["round.<(round.0, now)"], "`prev` needs a predecessor"
    codes = {item.code for item in problems(text)}
    assert codes == {"Q0226"}, "the specification is assumed, and the user is told"
    assert len(model.axioms) == 5 and not model.theorems


def test_properties_of_trusted_isolates_are_assumed(read: Read, problems: Problems) -> None:
    text = """
        type node
        trusted isolate quorum = {
            type this
            relation member(N:node, Q:this)
            specification { property [meet] exists N. member(N, Q) & member(N, R) }
        }
    """
    assert [item.name for item in read(text).axioms] == ["quorum.meet"]
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0226", "warning")]
    assert [item.name for item in read(text.replace("trusted", "")).theorems] == ["quorum.meet"]


def test_an_isolate_implemented_by_other_numbers_is_trusted(read: Read, problems: Problems) -> None:
    text = """
        isolate id = {
            type this
            action next(x:this) returns (y:this)
            specification {
                property [order] X:this < Y & Y < Z -> X < Z
                after next { ensure x < y }
            }
            implementation {
                interpret this -> bv[64]
                implement next { y := x + 1 }
            }
        }
        individual last : id
        action go = { last := last.next }
        export go
    """
    model = read(text)
    assert [item.name for item in model.axioms] == ["id.order"]
    assert str(model.transitions[0].guard) == "id.<(last, y)"
    assert {item.code for item in problems(text)} == {"Q0226"}
    assert "Q0104" in [item.code for item in problems("type t interpret t -> bv[64]")], "nothing else is known of t"
    narrow = read(text.replace("bv[64]", "bv[2]"))
    assert str(narrow.transitions[0].updates[0].value) == "id.+(last, id.1)", "what can be represented is not left out"


@pytest.mark.parametrize(
    "code",
    [
        "implement out.put { seen := true }",
        "implement next { y := x; seen := true }",
        "implement next { y := x; call out.put }",
        "implement next { y := draw }",
        "after init { seen := true }",
    ],
)
def test_an_implementation_with_effects_outside_is_not_left_out(problems: Problems, code: str) -> None:
    found = problems(f"""
        relation seen
        object out = {{ action put }}
        isolate id = {{
            type this
            action next(x:this) returns (y:this)
            action draw returns (y:this)
            implementation {{ interpret this -> bv[64]  {code} }}
        }}
    """)
    assert "Q0104" in [item.code for item in found]


def test_actions_without_a_body_are_believed_about_their_results_only(read: Read, problems: Problems) -> None:
    text = """
        type t
        relation r(X:t)
        action pick(x:t) returns (y:t)
        after pick { ensure y ~= x; ensure r(y) }
        action use(x:t) = { r(pick(x)) := true }
        export use
    """
    (use,) = read(text).transitions
    assert str(use.guard) == "y != x & r(y)"
    assert [str(item.formula) for item in read(text).safety] == ["forall X:t, Y:t. Y != X -> r(Y)"]
    assert {item.code for item in problems(text)} == {"Q0226"}


def test_old_values(read: Read) -> None:
    model = read("""
        type t
        relation r(X:t)
        relation some_r = exists X. r(X)
        function f(X:t) : t
        action step(x:t) = {
            r(X) := X = x;
            f(x) := x;
            x := c;
            ensure r(X) -> X = old x;
            ensure old some_r -> old r(old f(old x))
        }
        individual c : t
        after step { ensure r(old x) }
        export step
    """)
    (step,) = model.transitions
    assert str(step.updates[0].value) == "X = x"
    first, second = (str(item.formula) for item in model.safety)
    assert first == "forall X:t, X_1:t. X_1 = X -> X_1 = X", "`old x` is the parameter, not what is assigned to it"
    assert second.endswith("-> (some_r -> r(f(X)))")


def test_old_values_are_those_before_the_action(read: Read) -> None:
    model = read("""
        relation r
        relation s
        action inner = { r := true; ensure old r -> s }
        action outer = { r := false; call inner; ensure old r }
        before inner { require s }
        export outer
    """)
    assert [str(item.formula) for item in model.safety] == ["s", "s -> r"]


@pytest.mark.parametrize(
    "text",
    [
        "relation r after init { assume old r }",
        "relation r invariant old r",
        "relation r action a = { ensure old b } action b returns (x:bool) = { } export a",
        "relation r action a = { ensure old r } before a { r := true } export a",
    ],
)
def test_old_values_that_are_not_there(problems: Problems, text: str) -> None:
    assert "Q0104" in [item.code for item in problems(text)]


def test_an_else_without_braces(read: Read) -> None:
    model = read("relation r relation s action a = { if r { s := true } else s := false; r := s } export a")
    assert {u.symbol.name: str(u.value) for u in model.transitions[0].updates} == {"s": "r"}


def test_names_may_begin_with_digits() -> None:
    text = (
        "#lang ivy1.7\ntype node\nrelation 1a_msg(N:node)\nafter init { 1a_msg(N) := false }\n"
        "action go(n:node) = { 1a_msg(n) := true }\nexport go\nsafety [none] ~1a_msg(N)\n"
    )
    model = parse(Source("digits.ivy", text), "ivy").model
    assert [symbol.name for symbol in model.symbols] == ["1a_msg"]
    printed = parse(Source("digits.ivy", print_model(model)), "ivy").model
    assert printed == model
