import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.logic.printing import OR, PLAIN, Syntax, show
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    And,
    Arith,
    Equal,
    Exists,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Number,
    Or,
    Symbol,
    Var,
)
from quorate.models.source import Source
from strategies import (
    EDGE,
    FIRST,
    HELD,
    LAST,
    MARKED,
    NEXT,
    NODE,
    RAISED,
    STORED,
    TOP,
    V,
    X,
    Y,
    formulas,
    structures,
)

P, Q, R = MARKED(X), RAISED(), EDGE(X, Y)


@pytest.mark.parametrize(
    "term, text",
    [
        (TRUE, "true"),
        (FALSE, "false"),
        (Not(P), "!marked(X)"),
        (Not(Not(P)), "!(!marked(X))"),
        (Not(Equal(X, Y)), "X != Y"),
        (Not(And((P, Q))), "!(marked(X) & raised)"),
        (And((P, Or((Q, R)))), "marked(X) & (raised | edge(X, Y))"),
        (Or((P, And((Q, R)))), "marked(X) | raised & edge(X, Y)"),
        (And((And((P, Q)), R)), "(marked(X) & raised) & edge(X, Y)"),
        (Implies(Implies(P, Q), R), "(marked(X) -> raised) -> edge(X, Y)"),
        (Implies(P, Implies(Q, R)), "marked(X) -> (raised -> edge(X, Y))"),
        (Iff(P, Iff(Q, R)), "marked(X) <-> (raised <-> edge(X, Y))"),
        (Implies(Or((P, Q)), And((Q, R))), "marked(X) | raised -> raised & edge(X, Y)"),
        (And((P, Forall((Y,), R))), "marked(X) & (forall Y:node. edge(X, Y))"),
        (Forall((X, Y), Implies(R, Equal(X, Y))), "forall X:node, Y:node. edge(X, Y) -> X = Y"),
        (Forall((X,), Exists((Y,), R)), "forall X:node. exists Y:node. edge(X, Y)"),
        (Equal(If(Q, X, Y), FIRST()), "(if raised then X else Y) = first"),
        (NEXT(If(Q, X, Y)), "next(if raised then X else Y)"),
        (MARKED.at(2)(X), "marked''(X)"),
        (And((Equal(X, Y), P)), "X = Y & marked(X)"),
        (Not(Forall((X,), P)), "!(forall X:node. marked(X))"),
    ],
)
def test_parentheses_stand_where_they_are_needed(term, text):
    assert show(term) == text
    assert str(term) == text


@pytest.mark.parametrize(
    "term, text",
    [
        (Arith("-", Arith("-", Number(1), Number(2)), Number(3)), "1 - 2 - 3"),
        (Arith("-", Number(1), Arith("-", Number(2), Number(3))), "1 - (2 - 3)"),
        (Arith("*", Arith("+", Number(1), Number(2)), Number(3)), "(1 + 2) * 3"),
        (Arith("+", Number(1), Arith("*", Number(2), Number(3))), "1 + 2 * 3"),
        (Arith("<=", Arith("+", Number(1), Number(2)), Number(3)), "1 + 2 <= 3"),
        (Arith("-", Number(1), Number(-2)), "1 - (0 - 2)"),
        (Not(Arith("<", Number(1), Number(2))), "!(1 < 2)"),
        (Number(-2), "0 - 2"),
    ],
)
def test_arithmetic(term, text):
    assert show(term) == text


def test_a_language_can_spell_things_its_own_way():
    class Shouting(Syntax):
        def symbol(self, symbol):
            return symbol.name.upper()

        def infix(self, symbol):
            return "~>" if symbol is EDGE else None

        def variable(self, variable):
            return variable.name.lower()

        def sort(self, sort):
            return f"<{sort}>"

    shouting = Shouting("not ", "~=", "({1} if {0} else {2})", branch=OR)
    term = Forall((X,), Implies(Not(EDGE(X, FIRST())), Not(Equal(If(RAISED(), X, LAST()), X))))
    assert show(term, shouting) == "forall x:<node>. not (x ~> FIRST) -> ((x if RAISED else LAST)) ~= x"


PYV = """
sort node
sort value
mutable relation marked(node)
mutable relation edge(node, node)
immutable relation stored(node, value)
mutable relation raised
mutable function next(node): node
mutable function held(node): value
immutable constant first: node
mutable constant last: node
immutable constant top: value
"""
WRITTEN = (MARKED, EDGE, STORED, RAISED, NEXT, HELD, FIRST, LAST, TOP)


@given(st.data())
def test_the_plain_text_is_read_back_with_the_same_meaning(data):
    formula = data.draw(formulas(symbols=WRITTEN))
    text = show(formula, PLAIN)
    # The enumerated sort has no place in this language.
    if re.search(r":color\b", text):
        text, formula = "true", TRUE
    model = parse(Source("printed.pyv", f"{PYV}init {text}\n")).model
    structure = data.draw(structures(symbols=WRITTEN))
    assert structure.holds(model.initial[0].formula) == structure.holds(formula)


@given(
    st.recursive(st.integers(-3, 3).map(Number), lambda inner: st.builds(Arith, st.sampled_from("+-*"), inner, inner))
)
def test_arithmetic_text_is_read_back_with_the_same_value(term):
    clock = Symbol("clock", (), INT, mutable=True)
    text = f"mutable constant clock: int\ninit clock = {show(term)}\n"
    formula = parse(Source("printed.pyv", text)).model.initial[0].formula
    assert isinstance(formula, Equal) and formula.left is clock()
    operators = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}

    def value(term):
        return term.value if isinstance(term, Number) else operators[term.operator](value(term.left), value(term.right))

    assert value(formula.right) == value(term)


def test_variables_of_two_sorts_are_told_apart_by_their_names():
    assert show(Exists((X, V), STORED(X, V))) == "exists X:node, V:value. stored(X, V)"
    assert show(Forall((Var("B", BOOL),), Var("B", BOOL))) == "forall B:bool. B"
    assert str(NODE) == "node"
