import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.logic.sexpr import SexprError, read, write
from quorate.logic.terms import (
    BOOL,
    INT,
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
)
from strategies import EDGE, ELEMENTS, FIRST, HUE, LAST, MARKED, NODE, RAISED, SORTS, SYMBOLS, X, Y, formulas


def back(term, *extra):
    return read(write(term), SORTS, (*SYMBOLS, *extra))


@given(formulas(depth=4))
def test_writing_and_reading_is_the_identity(formula):
    assert back(formula) is formula


def test_the_notation():
    formula = Forall((X, Y), Implies(And((MARKED(X), MARKED(Y))), Equal(X, Y)))
    assert write(formula) == "(forall ((X node) (Y node)) (-> (and (marked X) (marked Y)) (= X Y)))"
    assert write(Not(Iff(RAISED(), Or(())))) == "(not (<-> raised false))"
    assert (
        write(Exists((X,), Equal(If(RAISED(), X, FIRST()), LAST())))
        == "(exists ((X node)) (= (ite raised X first) last))"
    )
    assert write(And(())) == "true" and write(And((RAISED(),))) == "(and raised)"


def test_integers():
    clock = Symbol("clock", (), INT, mutable=True)
    for formula in (
        Arith("<", Arith("-", clock(), Number(2)), Number(-3)),
        Forall(
            (Var("I", INT),),
            Implies(Arith(">=", Var("I", INT), clock()), Equal(Arith("*", clock(), Number(0)), clock())),
        ),
    ):
        assert back(formula, clock) is formula


names = st.text(st.characters(exclude_characters="|", codec="utf-8"), min_size=1, max_size=8)


@given(names, names)
def test_any_name_can_be_quoted(sort_name, name):
    sort = Sort(sort_name)
    relation, variable = Symbol(name, (sort,), BOOL), Var(name, sort)
    formula = Forall((variable,), relation(variable))
    assert read(write(formula), [sort], [relation]) is formula


@pytest.mark.parametrize("name", ["and", "true", "forall", "not", "=", "->", "ite", "3", "-3", "a b", "(", "+", "@n"])
def test_names_that_look_like_something_else(name):
    constant, relation = Symbol(name, (), BOOL), Symbol(name, (NODE,), BOOL)
    formula = Forall((X,), Or((relation(X), constant())))
    assert read(write(formula), [NODE], [constant, relation]) is formula


def test_a_constant_below_a_binder_of_its_name_stays_a_constant():
    constant = Symbol("X", (), NODE)
    formula = Forall((X,), Or((EDGE(X, constant()), MARKED(constant()))))
    assert back(formula, constant) is formula
    hidden = Forall((Var("red", HUE.sort),), Equal(HUE(), ELEMENTS[0]()))
    assert back(hidden) is hidden


def test_what_speaks_of_two_states_cannot_be_written():
    with pytest.raises(ValueError, match="marked'"):
        write(Forall((X,), Iff(MARKED(X), MARKED.at(1)(X))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "raised raised",
        "(",
        ")",
        "(raised",
        "raised)",
        "()",
        "((marked first))",
        "first",
        "(unknown first)",
        "(marked)",
        "(marked raised)",
        "(marked first first)",
        "(= first top)",
        "(= first)",
        "(and first)",
        "(not first)",
        "(-> raised)",
        "(ite first raised raised)",
        "(ite raised first top)",
        "(forall (X node) (marked X))",
        "(forall ((X stranger)) raised)",
        "(forall ((X node)))",
        "(forall ((X node)) first)",
        "(forall X raised)",
        "(marked X)",
        "(< 1 first)",
        "(+ 1 2)",
        "(marked |first)",
        "\x00",
        "(" * 600 + ")" * 600,
        "(not " * 400 + "first" + ")" * 400,
    ],
)
def test_what_is_not_a_formula_is_refused(text):
    with pytest.raises(SexprError):
        read(text, SORTS, SYMBOLS)


pieces = [*"()| X", "(forall ((X node)) ", "(marked X)", "raised", "node", "first", "-1", "(= ", "(and ", "(or "]


@given(st.lists(st.sampled_from(pieces), max_size=8))
def test_random_text_is_read_or_refused(text):
    try:
        term = read("".join(text), SORTS, SYMBOLS)
    except SexprError:
        return
    assert term.sort is BOOL and not term.free


def test_deep_formulas_within_the_limit_are_read():
    formula = RAISED()
    for _ in range(300):
        formula = Not(formula)
    assert back(formula) is formula
