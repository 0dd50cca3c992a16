"""Small Ivy programs in which it is easy to go wrong, with what is true of them by careful reading.

Each is searched completely with two elements per sort, by the plainest engine.  A name in `holds` must not be violated, a name
in `fails` must be.  Texts that Ivy refuses, or that are outside the subset, are listed with their diagnostics below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.lang.diagnostics import Diagnostic
from quorate.methods.explicit.check import Options, check
from quorate.models.relational import RelationalModel

Read = Callable[[str], RelationalModel]
Problems = Callable[[str], tuple[Diagnostic, ...]]


@dataclass(frozen=True)
class Trap:
    """A program, and which of its properties hold and fail."""

    text: str
    holds: str = ""
    fails: str = ""


TRAPS = {
    # -- definitions -------------------------------------------------------------------------------------------------
    "definitions stand before what they use": Trap(
        """relation base
        relation mid
        relation top
        definition top = mid
        definition mid = base
        after init { base := false }
        action t = { base := true }
        export t
        invariant [never] ~top
        invariant [same] top <-> base""",
        "same",
        "never",
    ),
    "a chain of definitions in reverse, with arguments": Trap(
        """type t
        relation base(X:t, Y:t)
        relation a(X:t)
        relation b(X:t)
        relation c(X:t)
        definition a(X) = b(X) & c(X)
        definition c(Y) = exists X. base(Y, X)
        definition b(X) = exists Y. c(Y) & base(X, Y)
        after init { base(X, Y) := false }
        action link(x:t, y:t) = { base(x, y) := true }
        export link
        invariant [some] ~a(X)
        invariant [loops] base(X, X) -> a(X)""",
        "loops",
        "some",
    ),
    "a definition is opened below a quantifier with the same variable": Trap(
        """type t
        relation q(X:t, Y:t)
        relation d(X:t) = exists Y. q(X, Y)
        after init { q(X, Y) := false }
        action go(x:t, y:t) = { assume x ~= y; q(x, y) := true }
        export go
        invariant [own] (exists Y. d(Y)) -> (exists X. q(X, X))
        invariant [right] (exists Y. d(Y)) <-> (exists X, Y. q(X, Y))""",
        "right",
        "own",
    ),
    "a definition over a field of an individual changes with it": Trap(
        """type m = struct { flag : bool }
        individual x : m
        relation d = x.flag
        after init { x.flag := false }
        action t = { x.flag := true }
        export t
        invariant [never] ~d""",
        "",
        "never",
    ),
    "code reads a definition after what it is defined by has changed": Trap(
        """relation a
        relation b
        relation d = ~a
        after init { a := false; b := false }
        action t = { a := true; b := d }
        export t
        invariant [never] ~b""",
        "never",
    ),
    "an index of an object and a variable of the same name": Trap(
        """type t
        relation q(X:t, Y:t)
        object o(me:t) = {
            relation d = exists Me:t. q(me, Me)
        }
        after init { q(X, Y) := false }
        action go(x:t, y:t) = { assume x ~= y; q(x, y) := true }
        export go
        invariant [diagonal] o.d(X) -> q(X, X)
        invariant [right] o.d(X) <-> exists Y. q(X, Y)""",
        "right",
        "diagonal",
    ),
    # -- names that hide names ---------------------------------------------------------------------------------------
    "a parameter hides a symbol": Trap(
        """type t
        individual c : t
        individual d : t
        relation p(X:t)
        after init { p(X) := X = c }
        action go(c:t) = { p(c) := false }
        export go
        invariant [kept] p(c)
        invariant [never] X ~= c -> ~p(X)""",
        "never",
        "kept",
    ),
    "a local variable hides a symbol, until its block ends": Trap(
        """relation a
        relation b
        after init { a := false; b := false }
        action go = { if ~b { var a := true; b := a }; b := a }
        export go
        invariant [a_stays] ~a
        invariant [b_stays] ~b""",
        "a_stays b_stays",
    ),
    "a local variable takes its value from what it hides": Trap(
        """type t
        relation p(X:t)
        after init { p(X) := false }
        action go(x:t) = { assume p(x) -> false; var y := x; var x := y; p(x) := true; x := y; p(x) := false }
        export go
        invariant [never] ~p(X)""",
        "never",
    ),
    "`if some` hides a parameter": Trap(
        """type t
        relation p(X:t)
        relation q(X:t)
        individual c : t
        after init { p(X) := X = c; q(X) := false }
        action go(x:t) = { if some x:t. p(x) { q(x) := true } else { q(x) := true } }
        export go
        invariant [only] q(X) -> X = c""",
        "only",
    ),
    "the witness of `if some` is not in scope in the other branch": Trap(
        """type t
        relation p(X:t)
        relation q(X:t)
        individual x : t
        after init { p(X) := false; q(X) := false }
        action go = { if some x:t. p(x) { q(x) := false } else { q(x) := true } }
        export go
        invariant [only] q(X) -> X = x
        invariant [never] ~q(X)""",
        "only",
        "never",
    ),
    "a bound variable is called like a parameter of the transition": Trap(
        """type t
        relation p(X:t)
        relation b
        after init { p(X) := false; b := false }
        action go(x:t) = { p(x) := true; b := forall X:t. p(X) -> X = x; assert b | (exists X:t. p(X) & X ~= x) }
        export go
        invariant [one] b -> (p(X) & p(Y) -> X = Y)""",
        "one go_assert_1",
    ),
    "modules: a parameter is used below a quantifier of the actual's name": Trap(
        """type t
        relation q(X:t, Y:t)
        individual y : t
        module least(r, s) = { relation any(X:s) = exists Y:s. r(X, Y) }
        instantiate i : least(q, t)
        after init { q(X, Y) := false }
        action go(x:t) = { assume x ~= y; q(x, y) := true }
        export go
        invariant [diagonal] i.any(X) -> q(X, X)
        invariant [right] i.any(X) <-> q(X, y)""",
        "right",
        "diagonal",
    ),
    "modules: two instances have their own state": Trap(
        """module cell = {
            relation on
            after init { on := false }
            action set = { on := true }
        }
        instance a : cell
        instance b : cell
        export a.set
        invariant [a_off] ~a.on
        invariant [b_off] ~b.on""",
        "b_off",
        "a_off",
    ),
    "objects: the nearest name is meant": Trap(
        """relation on
        object o = {
            relation on
            action set = { on := true }
            after init { on := false }
        }
        after init { on := false }
        export o.set
        invariant [outer] ~on
        invariant [inner] ~o.on""",
        "outer",
        "inner",
    ),
    # -- statements in order -----------------------------------------------------------------------------------------
    "an assignment to all places is simultaneous": Trap(
        """type t
        relation q(X:t, Y:t)
        individual a : t
        individual b : t
        axiom a ~= b
        after init { q(X, Y) := X = a & Y = b }
        action turn = { q(X, Y) := q(Y, X) }
        export turn
        invariant [one_way] q(a, b) <-> ~q(b, a)
        invariant [still] q(a, b)
        invariant [off] ~q(X, X)""",
        "one_way off",
        "still",
    ),
    "an assignment with other variables than the declaration": Trap(
        """type t
        type u
        relation q(X:t, Y:u)
        relation r(X:t, Y:u)
        individual a : t
        individual b : u
        after init { q(X, Y) := X = a; r(X, Y) := false }
        action copy = { r(Y, X) := q(Y, X) }
        export copy
        invariant [same] r(X, Y) -> q(X, Y)
        invariant [never] ~r(X, Y)""",
        "same",
        "never",
    ),
    "an assignment reads itself at another place": Trap(
        """type t
        function f(X:t) : t
        function g(X:t) : t
        individual a : t
        individual b : t
        axiom a ~= b
        axiom g(a) = b & g(b) = a
        after init { f(X) := X }
        action shift = { f(X) := f(g(X)) }
        export shift
        invariant [permutes] f(a) ~= f(b)
        invariant [identity] f(X) = X""",
        "permutes",
        "identity",
    ),
    "guards after an assignment see it": Trap(
        """relation a
        after init { a := false }
        action go = { a := true; assume ~a }
        action come = { a := ~a; assume a; a := false }
        export go
        export come
        invariant [never] ~a""",
        "never",
    ),
    "what is assumed later does not excuse an assertion": Trap(
        """relation a
        after init { a := false }
        action go = { assert a; assume a }
        export go""",
        "",
        "go_assert_1",
    ),
    "what is assumed before excuses it": Trap(
        """relation a
        after init { a := false }
        action go = { assume a; assert a & ~a }
        export go""",
        "go_assert_1",
    ),
    "an assertion in one branch is about that branch": Trap(
        """relation a
        relation b
        after init { a := false; b := false }
        action go = { if a { assert b } else { b := true }; assert b }
        action up = { a := true }
        export go
        export up""",
        "go_assert_2",
        "go_assert_1",
    ),
    "one value is drawn, and read twice": Trap(
        """relation a
        relation b
        after init { a := false; b := false }
        action go = { a := *; b := a }
        action split = { a := *; b := * }
        export go
        invariant [same] a <-> b
        invariant [never] ~a""",
        "same",
        "never",
    ),
    "a value is drawn anew": Trap(
        """type t
        relation p(X:t)
        after init { p(X) := false }
        action go = { p(X) := *; assume exists X. p(X) }
        export go
        invariant [all] p(X) & p(Y)  -> X = Y""",
        "",
        "all",
    ),
    "havoc of one row leaves the others": Trap(
        """type t
        relation q(X:t, Y:t)
        individual a : t
        after init { q(X, Y) := false }
        action go = { q(a, Y) := * }
        export go
        invariant [others] X ~= a -> ~q(X, Y)
        invariant [row] ~q(a, X)""",
        "others",
        "row",
    ),
    "branches write the same symbol at different places": Trap(
        """type t
        relation p(X:t)
        relation side
        individual a : t
        individual b : t
        axiom a ~= b
        after init { p(X) := false; side := false }
        action go = { if side { p(a) := true } else { p(b) := true }; side := ~side }
        export go
        invariant [b_first] p(a) -> p(b)
        invariant [a_first] p(b) -> p(a)""",
        "b_first",
        "a_first",
    ),
    "either branch": Trap(
        """relation a
        relation b
        after init { a := false; b := false }
        action go = { if * { a := true } else { b := true } }
        export go
        invariant [not_a] ~a
        invariant [not_b] ~b""",
        "",
        "not_a not_b",
    ),
    # -- calls -------------------------------------------------------------------------------------------------------
    "arguments are read after the calls among them": Trap(
        """relation x
        relation seen
        after init { x := false; seen := false }
        action bump returns (r:bool) = { x := true; r := true }
        action note(a:bool, b:bool) = { seen := a & b }
        action go = { x := false; call note(x, bump) }
        export go
        invariant [never] ~seen
        invariant [with_x] seen -> x""",
        "with_x",
        "never",
    ),
    "arguments are passed by value": Trap(
        """relation x
        after init { x := false }
        action flip(a:bool) = { a := ~a; a := true }
        action go = { call flip(x) }
        export go
        invariant [never] ~x""",
        "never",
    ),
    "results are whatever the body leaves open": Trap(
        """relation x
        after init { x := false }
        action pick returns (r:bool) = { if x { r := false } }
        action go = { x := pick }
        export go
        invariant [never] ~x""",
        "",
        "never",
    ),
    "the last value of a result counts": Trap(
        """relation x
        after init { x := false }
        action pick returns (r:bool) = { r := true; r := false }
        action go = { x := pick }
        export go
        invariant [never] ~x""",
        "never",
    ),
    "two results are assigned after the call": Trap(
        """relation x
        relation y
        after init { x := true; y := false }
        action both(a:bool, b:bool) returns (c:bool, d:bool) = { c := b; d := a }
        action swap = { (x, y) := both(x, y) }
        export swap
        invariant [one] x <-> ~y
        invariant [x_first] x""",
        "one",
        "x_first",
    ),
    "what a callee requires its caller has to show": Trap(
        """relation ready
        relation done
        after init { ready := false; done := false }
        action inner = { require ready; done := true }
        action outer = { call inner }
        export outer
        invariant [never] ~done""",
        "never",
        "outer_assert_1",
    ),
    "what an exported action requires the environment sees to": Trap(
        """relation ready
        relation done
        after init { ready := false; done := false }
        action outer = { require ready; done := true }
        export outer
        invariant [never] ~done""",
        "never",
    ),
    "an action that is not exported is no step": Trap(
        """relation x
        after init { x := false }
        action secret = { x := true }
        action open = { assert ~x }
        export open
        invariant [never] ~x""",
        "never open_assert_1",
    ),
    "an imported action does nothing to the state": Trap(
        """relation x
        relation y
        after init { x := false; y := false }
        action ask returns (r:bool)
        import ask
        action go = { y := ask }
        export go
        invariant [x_off] ~x
        invariant [y_off] ~y""",
        "x_off",
        "y_off",
    ),
    # -- monitors ----------------------------------------------------------------------------------------------------
    "before and after see different states": Trap(
        """relation x
        relation seen_before
        relation seen_after
        after init { x := false; seen_before := false; seen_after := false }
        action go = { x := true }
        before go { seen_before := x }
        after go { seen_after := x }
        export go
        invariant [order] seen_before -> seen_after
        invariant [late] ~seen_before
        invariant [now] x <-> seen_after""",
        "order now",
        "late",
    ),
    "`old` is the state before the action": Trap(
        """relation x
        relation was
        after init { x := false; was := false }
        action go = { x := true; x := false; x := true; was := old x }
        action back = { x := false }
        export go
        export back
        invariant [never] ~was
        invariant [plain] was -> x | ~x""",
        "plain",
        "never",
    ),
    "an after monitor with other names": Trap(
        """type t
        relation p(X:t)
        action add(x:t) returns (y:t) = { p(x) := true; y := x }
        after add(a:t) returns (b:t) { ensure p(b) & a = b }
        after init { p(X) := false }
        export add""",
        "add_assert_1",
    ),
    # -- initial states ----------------------------------------------------------------------------------------------
    "what is assigned after it was used": Trap(
        """type t
        individual c : t
        individual d : t
        relation p(X:t)
        individual e : t
        axiom d ~= e
        after init { c := d; p(X) := X = c; c := e }
        action go = { c := c }
        export go
        invariant [at_d] p(d)
        invariant [at_c] p(c)""",
        "at_d",
        "at_c",
    ),
    "two initializations run in order": Trap(
        """relation a
        relation b
        after init { a := false; b := a }
        after init { a := true }
        action go = { b := b }
        export go
        invariant [early] ~b
        invariant [late] a""",
        "early late",
    ),
    "a symbol that nothing initializes may be anything": Trap(
        """relation a
        action go = { a := false }
        export go
        invariant [never] ~a""",
        "",
        "never",
    ),
    # -- sorts -------------------------------------------------------------------------------------------------------
    "structs with equal fields are equal": Trap(
        """type t
        type m = struct { left : t, right : t }
        relation sent(M:m)
        after init { sent(M) := false }
        action send(x:m) = { sent(x) := true }
        export send
        invariant [same] left(X) = left(Y) & right(X) = right(Y) & sent(X) -> sent(Y)
        invariant [half] left(X) = left(Y) & sent(X) -> sent(Y)""",
        "same",
        "half",
    ),
    "structs with equal fields that are functions are equal": Trap(
        """type t
        type m = struct { seen(X:t) : bool }
        relation sent(M:m)
        after init { sent(M) := false }
        action send(x:m) = { sent(x) := true }
        export send
        invariant [same] (forall N. seen(X, N) <-> seen(Y, N)) & sent(X) -> sent(Y)
        invariant [half] (exists N. seen(X, N) & seen(Y, N)) & sent(X) -> sent(Y)""",
        "same",
        "half",
    ),
    "elements of an enumeration are distinct, and all there is": Trap(
        """type c = {red, green, blue}
        individual x : c
        after init { x := red }
        action next = { if x = red { x := green } else { if x = green { x := red } } }
        export next
        invariant [two] x = red | x = green
        invariant [apart] red ~= green
        invariant [one] x = red""",
        "two apart",
        "one",
    ),
    "numerals of an abstract sort may be equal": Trap(
        """type t
        individual x : t
        after init { x := 0 }
        action go = { x := 1 }
        export go
        invariant [one] x = 0 | x = 1
        invariant [two] x = 1 -> x ~= 0""",
        "one",
        "two",
    ),
    "numerals of a range are in order": Trap(
        """type t = {0..2}
        individual x : t
        after init { x := 0 }
        action go = { if x < 2 { if x = 0 { x := 1 } else { x := 2 } } }
        export go
        invariant [small] x <= 2
        invariant [smaller] x < 2""",
        "small",
        "smaller",
    ),
    "`<` of one sort is not that of another": Trap(
        """type s
        type t
        relation b
        individual x : s
        individual y : s
        individual v : t
        individual w : t
        axiom x < y
        after init { b := false }
        action go = { b := v < w }
        export go
        invariant [same] b -> x < y
        invariant [always] ~b""",
        "same",
        "always",
    ),
    "arithmetic on bits wraps around": Trap(
        """type t
        interpret t -> bv[2]
        individual x : t
        after init { x := 3 }
        action up = { x := x + 1 }
        export up
        invariant [full] x = 3
        invariant [small] x <= 3""",
        "small",
        "full",
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps(read: Read, name: str) -> None:
    trap = TRAPS[name]
    model = read(trap.text)
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    outcome = check(Instance(model, sizes), Options(engine="reference", keep_going=True))
    expected = dict.fromkeys(trap.holds.split(), "proved") | dict.fromkeys(trap.fails.split(), "violated")
    trivial = {name for name in expected if "_assert_" in name} - {item.name for item in model.safety}
    found = {result.property: result.verdict for result in outcome.results}
    assert found | dict.fromkeys(trivial, "proved") == expected


REFUSED = {
    "definition top(X) = base(Y)": "Q0221",
    "definition top(c) = base(c)": "Q0205",
    "definition top(X) = top(X)": "Q0210",
    "definition top(X) = low(X)\ndefinition low(X) = top(X)": "Q0210",
    "relation late(X:t) = base(Z)": "Q0221",
    "definition base(X) = true": "Q0214",
    "axiom base(X)": "Q0211",
    "action bad = { top(c) := true }\ndefinition top(X) = base(X)": "Q0214",
    "action bad(x:t) = { call one(x, x) }": "Q0202",
    "action bad(x:t) = { call bad(x) }": "Q0223",
    "action bad = { base(X) := base(Y) }": "Q0221",
    "action bad = { base(c) := X = c }": "Q0221",
    "action bad(x:t) = { q(X, X) := true }": "Q0104",
    "invariant old base(c)": "Q0104",
    "after init { assert base(c) }": "Q0104",
    "action two = {}\nbefore two { base(c) := true }\nbefore two { base(c) := false }": "Q0104",
}
START = """type t
relation base(X:t)
relation top(X:t)
relation low(X:t)
relation q(X:t, Y:t)
individual c : t
after init { base(X) := false }
action one(x:t) = { base(x) := true }
action other = { q(c, c) := true }
"""


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(problems: Problems, text: str) -> None:
    assert REFUSED[text] in [item.code for item in problems(START + text) if item.severity == "error"]


def test_old_files_with_a_symbol_declared_twice(problems: Problems) -> None:
    text = (
        "#lang ivy1.1\nrelation next(X, Y)\nrelation next(X)\nindividual a, b\naction link = { next(a, b) := true }\n"
    )
    assert next(item.code for item in problems(text)) == "Q0205"
