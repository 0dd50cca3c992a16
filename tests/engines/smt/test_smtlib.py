import re
from itertools import product

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt.smtlib import Vocabulary
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
    Sort,
    Symbol,
    Var,
    neg,
)
from strategies import (
    AGREES,
    EDGE,
    FIRST,
    LAST,
    MARKED,
    NEXT,
    NODE,
    RAISED,
    VALUE,
    X,
    Y,
    diagram,
    formulas,
    structures,
)


def check(text):
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.from_string(text)
    return str(solver.check())


def test_the_text_of_each_kind_of_term():
    vocabulary = Vocabulary()
    marked = MARKED(X)
    assert vocabulary.text(TRUE) == "true" and vocabulary.text(FALSE) == "false"
    assert vocabulary.text(And((marked,))) == "($marked ?X)"
    assert vocabulary.text(And((marked, RAISED()))) == "(and ($marked ?X) $raised)"
    assert vocabulary.text(Or((marked, Not(RAISED())))) == "(or ($marked ?X) (not $raised))"
    assert vocabulary.text(Implies(marked, Iff(RAISED(), TRUE))) == "(=> ($marked ?X) (= $raised true))"
    assert vocabulary.text(Equal(If(RAISED(), X, FIRST()), NEXT(X))) == "(= (ite $raised ?X $first) ($next ?X))"
    assert vocabulary.text(Forall((X, Y), EDGE(X, Y))) == "(forall ((?X $node) (?Y $node)) ($edge ?X ?Y))"
    assert vocabulary.text(Exists((Var("B", BOOL),), AGREES(Var("B", BOOL), LAST()))) == (
        "(exists ((?B Bool)) ($agrees ?B $last))"
    )
    assert vocabulary.text(Arith("<", Number(-2), Arith("+", Number(1), Number(2)))) == "(< (- 2) (+ 1 2))"


def test_declarations_come_in_order_of_first_use_and_once():
    vocabulary = Vocabulary()
    vocabulary.text(And((EDGE(FIRST(), LAST()), MARKED(FIRST()))))
    assert vocabulary.declarations == [
        "(declare-sort $node 0)",
        "(declare-fun $edge ($node $node) Bool)",
        "(declare-fun $first () $node)",
        "(declare-fun $last () $node)",
        "(declare-fun $marked ($node) Bool)",
    ]


def test_states_have_names_of_their_own():
    vocabulary = Vocabulary()
    names = [vocabulary.symbol(MARKED.at(state)) for state in range(3)]
    assert len(set(names)) == 3
    assert vocabulary.symbol(FIRST.at(1)) == vocabulary.symbol(FIRST)


strange = st.text(max_size=4) | st.sampled_from(
    ["marked", "and", "Bool", "a b", "|", "marked.1", "marked!2", ";", "'", "ä"]
)


@given(st.lists(st.tuples(strange, st.sampled_from([(), (NODE,), (VALUE,)])), unique=True, max_size=6))
def test_names_never_clash_and_hold_nothing_special(declared):
    vocabulary = Vocabulary()
    symbols = [Symbol(name, arguments, BOOL, mutable=True).at(at) for name, arguments in declared for at in (0, 1)]
    names = [vocabulary.symbol(symbol) for symbol in symbols]
    assert len(set(names)) == len(symbols)
    assert all(re.fullmatch(r"[$][A-Za-z0-9_~.!]*", name) for name in names)
    assert [vocabulary.symbol(symbol) for symbol in symbols] == names


def test_a_script_with_strange_names_is_read_by_z3():
    sort = Sort("a sort; (with) |bars|")
    variable = Var("forall", sort)
    relation = Symbol("assert", (sort,), BOOL)
    constant = Symbol("x\n(check-sat)", (), sort)
    formulas = [Forall((variable,), relation(variable)), Not(relation(constant()))]
    assert check(Vocabulary().script(formulas, "two\nlines")) == "unsat"
    assert check(Vocabulary().script(formulas[:1])) == "sat"


def test_constants_and_variables_of_one_name_are_different():
    constant = Symbol("X", (), NODE)
    formula = And(
        (Exists((X,), Not(MARKED(X))), Forall((X,), Implies(MARKED(X), MARKED(constant()))), MARKED(constant()))
    )
    assert check(Vocabulary().script([formula])) == "sat"


def test_a_script_is_a_whole_file():
    text = Vocabulary().script([RAISED()], "is it raised?")
    assert text == "; is it raised?\n(set-logic ALL)\n(declare-fun $raised () Bool)\n(assert $raised)\n(check-sat)\n"


@settings(max_examples=200)
@given(st.data())
def test_z3_agrees_with_the_evaluator_on_a_given_structure(data):
    structure = data.draw(structures())
    formula = data.draw(formulas())
    facts = diagram(structure)
    expected = structure.holds(formula)
    assert check(Vocabulary().script([*facts, formula])) == ("sat" if expected else "unsat")
    assert check(Vocabulary().script([*facts, neg(formula)])) == ("unsat" if expected else "sat")


def test_arithmetic_means_what_it_says():
    clock = Symbol("clock", (), INT)
    for operator, left, right in product(("+", "-", "*"), (-2, 0, 3), (-1, 2)):
        value = {"+": left + right, "-": left - right, "*": left * right}[operator]
        term = Arith(operator, Number(left), Number(right))
        assert check(Vocabulary().script([Equal(clock(), term), Not(Equal(clock(), Number(value)))])) == "unsat"
    for operator in ("<", "<=", ">", ">="):
        holds = [eval(f"{left} {operator} 1") for left in (0, 1, 2)]
        found = [check(Vocabulary().script([Arith(operator, Number(left), Number(1))])) for left in (0, 1, 2)]
        assert found == ["sat" if truth else "unsat" for truth in holds]


def test_variables_of_one_name_and_different_sorts_do_not_hide_each_other():
    """For us they are different variables; in the text they get different names."""
    node, value = Var("X", NODE), Var("X", VALUE)
    marked = Symbol("marked", (NODE,), BOOL)
    nested = Forall((node,), Exists((value,), marked(node)))
    together = Forall((node, value), marked(node))
    for formula in (nested, together):
        vocabulary = Vocabulary()
        solver = z3.Solver()
        text = vocabulary.assertions([formula, neg(Forall((Var("Y", NODE),), marked(Var("Y", NODE))))])
        solver.from_string("\n".join(vocabulary.declarations) + "\n" + text)
        assert solver.check() == z3.unsat
