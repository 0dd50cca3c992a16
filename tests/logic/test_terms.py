import gc
import pickle
import subprocess
import sys

import pytest
from hypothesis import given

from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    And,
    Apply,
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
    Sort,
    Symbol,
    Var,
    conj,
    disj,
    distinct,
    equal,
    exists,
    forall,
    implies,
    ite,
    neg,
)
from quorate.logic.transform import subterms
from strategies import COLOR, EDGE, FIRST, HUE, LAST, MARKED, NODE, RAISED, VALUE, VARIABLES, V, X, Y, formulas

P, Q = MARKED(X), RAISED()


def test_equal_values_are_the_same_object():
    assert Sort("node") is NODE
    assert Sort("color", ["red", "green", "blue"]) is COLOR
    assert Symbol("marked", [NODE], BOOL, True) is MARKED
    assert Var("X", Sort("node")) is X
    assert Forall([X], Implies(MARKED(X), Exists([Y], EDGE(X, Y)))) is Forall(
        (X,), Implies(Apply(MARKED, [X]), Exists((Y,), Apply(EDGE, (X, Y))))
    )
    assert Number(3) is Number(3)
    assert Arith("+", Number(1), Number(2)) is Arith("+", Number(1), Number(2))


@pytest.mark.parametrize(
    "one, other",
    [
        (Sort("color"), COLOR),
        (And((P, Q)), Or((P, Q))),
        (And((P, Q)), And((Q, P))),
        (Implies(P, Q), Iff(P, Q)),
        (Forall((X,), P), Exists((X,), P)),
        (Var("X", NODE), Var("X", VALUE)),
        (MARKED, Symbol("marked", (NODE,), BOOL)),
        (MARKED, MARKED.at(1)),
        (And((P,)), P),
        (Arith("<", Number(1), Number(2)), Arith("<=", Number(1), Number(2))),
    ],
)
def test_different_values_are_different(one, other):
    assert one is not other
    assert one != other


@given(formulas(VARIABLES))
def test_rebuilding_and_pickling_give_the_same_object_back(formula):
    for term in subterms(formula):
        assert term.rebuild(term.children) is term
    assert pickle.loads(pickle.dumps(formula)) is formula


def test_a_pickle_is_interned_again_where_it_is_read():
    formula = Forall((X,), Implies(MARKED.at(1)(X), Equal(HUE(), Symbol("red", (), COLOR)())))
    program = (
        "import pickle, sys; from quorate.logic.terms import *\n"
        "read = pickle.load(sys.stdin.buffer); again = pickle.loads(pickle.dumps(read))\n"
        "node = Sort('node'); x = Var('X', node); marked = Symbol('marked', (node,), BOOL, True, 1)\n"
        "print(read is again, read.body.left is marked(x), read.free == frozenset(), read.sort is BOOL)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(formula), capture_output=True, check=True)
    assert done.stdout.split() == [b"True"] * 4


def test_terms_that_nobody_holds_are_forgotten():
    name = "nobody holds this"
    made = Var(name, NODE)
    assert (name, NODE) in Var._table
    del made
    gc.collect()
    assert (name, NODE) not in Var._table


def test_terms_cannot_be_changed():
    for thing, field in ((P, "symbol"), (X, "name"), (NODE, "name"), (MARKED, "primes"), (P, "anything")):
        with pytest.raises(AttributeError):
            setattr(thing, field, None)


def test_sorts_of_terms():
    condition = If(P, FIRST(), X)
    assert condition.sort is NODE
    assert Apply(MARKED, (X,)).sort is BOOL
    assert Number(1).sort is INT
    assert Arith("*", Number(1), Number(1)).sort is INT
    assert Arith(">=", Number(1), Number(1)).sort is BOOL
    assert [sort.uninterpreted for sort in (NODE, VALUE, COLOR, BOOL, INT)] == [True, True, False, False, False]


def test_free_variables():
    assert EDGE(X, Y).free == {X, Y}
    assert Forall((X,), EDGE(X, Y)).free == {Y}
    assert And((Forall((X,), P), P)).free == {X}
    assert Forall((Var("X", VALUE),), P).free == {X}, "a variable is its name and its sort"
    assert TRUE.free == frozenset()


def test_rigid_symbols_never_carry_primes():
    assert MARKED.at(2).primes == 2
    assert MARKED.at(2).at(0) is MARKED
    assert FIRST.at(2) is FIRST
    assert (str(LAST.at(2)), str(FIRST.at(2))) == ("last''", "first")


def test_conjunctions_and_disjunctions_are_flattened_and_folded():
    r = MARKED(Y)
    assert conj() is TRUE and disj() is FALSE
    assert conj(P) is P and disj(P) is P
    assert conj(P, TRUE, And((Q, r)), P) is And((P, Q, r))
    assert disj(P, FALSE, Or((Q, r)), P) is Or((P, Q, r))
    assert conj(P, FALSE) is FALSE and disj(P, TRUE) is TRUE
    assert conj(Or((P, Q)), r) is And((Or((P, Q)), r))


def test_negation_implication_equality_and_conditionals_are_folded():
    assert neg(neg(P)) is P and neg(TRUE) is FALSE and neg(FALSE) is TRUE and neg(P) is Not(P)
    assert implies(TRUE, P) is P and implies(P, TRUE) is TRUE and implies(FALSE, P) is TRUE
    assert implies(P, FALSE) is Not(P) and implies(P, Q) is Implies(P, Q)
    assert equal(P, P) is TRUE and equal(P, Q) is Iff(P, Q) and equal(X, Y) is Equal(X, Y)
    assert equal(TRUE, P) is P and equal(P, TRUE) is P and equal(FALSE, P) is Not(P) and equal(P, FALSE) is Not(P)
    assert ite(TRUE, X, Y) is X and ite(FALSE, X, Y) is Y and ite(P, X, X) is X and ite(P, X, Y) is If(P, X, Y)
    assert ite(P, TRUE, Q) is Or((P, Q)) and ite(P, FALSE, Q) is And((Not(P), Q))
    assert ite(P, Q, TRUE) is Or((Not(P), Q)) and ite(P, Q, FALSE) is And((P, Q))


def test_quantifiers_drop_unused_variables_and_merge_prefixes():
    assert forall((X, Y), P) is Forall((X,), P)
    assert exists((V,), P) is P
    assert forall((X,), Forall((Y,), EDGE(X, Y))) is Forall((X, Y), EDGE(X, Y))
    assert forall((X,), Exists((Y,), EDGE(X, Y))) is Forall((X,), Exists((Y,), EDGE(X, Y)))
    assert forall((X,), Forall((X,), P)) is Forall((X,), P)


def test_distinct_is_pairwise():
    assert distinct([]) is TRUE and distinct([X]) is TRUE
    assert distinct([X, Y, FIRST()]) is And(
        (Not(Equal(X, Y)), Not(Equal(X, FIRST())), Not(Equal(Y, FIRST())))
    )  # fmt: skip
    assert distinct([X, X]) is FALSE
