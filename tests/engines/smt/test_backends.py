from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt.backends import (
    Cvc5Backend,
    LazyZ3Backend,
    ModelRequest,
    Question,
    RawModel,
    Task,
    Z3Backend,
    decode,
    open_backend,
)
from quorate.engines.smt.session import model_request
from quorate.engines.smt.smtlib import Vocabulary
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Arith,
    Equal,
    Exists,
    Forall,
    Implies,
    Not,
    Number,
    Or,
    Symbol,
    conj,
    distinct,
    neg,
)
from quorate.models.relational import enumeration_axiom
from strategies import (
    AGREES,
    COLOR,
    EDGE,
    ELEMENTS,
    FIRST,
    HUE,
    LAST,
    LIKED,
    MARKED,
    NEXT,
    NODE,
    PAINT,
    RAISED,
    SYMBOLS,
    TOP,
    C,
    V,
    X,
    Y,
    Z,
    diagram,
    formulas,
    structures,
)

GROWING = [
    Forall((X, Y, Z), Implies(conj(EDGE(X, Y), EDGE(Y, Z)), EDGE(X, Z))),
    Forall((X,), Not(EDGE(X, X))),
    Forall((X,), Exists((Y,), EDGE(X, Y))),
]
"""A strict order without a last element: only infinite structures satisfy it."""


def task(backend, hypotheses, goals, symbols=(), lazy=False, timeout=20.0, **options):
    vocabulary = Vocabulary()
    texts = tuple(vocabulary.text(formula) for formula in hypotheses)
    questions = tuple(Question(vocabulary.text(goal)) for goal in goals)
    for symbol in symbols:
        vocabulary.symbol(symbol)
    made = Task(
        backend,
        "\n".join(vocabulary.declarations),
        texts,
        questions,
        timeout,
        4096,
        model=model_request(vocabulary),
        lazy=(vocabulary, tuple(hypotheses)) if lazy else None,
        **options,
    )
    return made, vocabulary


def ask(backend, hypotheses, goal, **options):
    made, vocabulary = task(backend, hypotheses, [goal], **options)
    return open_backend(made).ask(made.questions[0]), vocabulary


KINDS = [("z3", False), ("z3", True), ("cvc5", False)]


def test_the_kind_of_backend_follows_from_the_task():
    kinds = [type(open_backend(task(name, [RAISED()], [TRUE], lazy=lazy)[0])) for name, lazy in KINDS]
    assert kinds == [Z3Backend, LazyZ3Backend, Cvc5Backend]


@pytest.mark.parametrize("name, lazy", KINDS)
def test_each_question_is_answered_on_its_own(name, lazy):
    hypotheses = [Implies(RAISED(), MARKED(FIRST())), Equal(FIRST(), LAST())]
    goals = [conj(RAISED(), neg(MARKED(LAST()))), RAISED(), neg(RAISED()), conj(RAISED(), neg(MARKED(LAST())))]
    made, _ = task(name, hypotheses, goals, lazy=lazy)
    backend = open_backend(made)
    assert [backend.ask(question).status for question in made.questions] == ["unsat", "sat", "sat", "unsat"]


@pytest.mark.parametrize("lazy", [False, True])
def test_cores_name_what_is_needed(lazy):
    hypotheses = [RAISED(), MARKED(FIRST()), Equal(FIRST(), LAST()), Not(EDGE(FIRST(), FIRST()))]
    reply, _ = ask("z3", hypotheses, Not(MARKED(LAST())), lazy=lazy)
    assert (reply.status, set(reply.core)) == ("unsat", {1, 2})


def test_the_hypotheses_of_a_question_come_first_and_others_where_they_are_needed():
    hypotheses = [RAISED(), MARKED(FIRST()), Equal(FIRST(), LAST()), Not(RAISED()), Not(EDGE(FIRST(), FIRST()))]
    made, _ = task("z3", hypotheses, [Not(MARKED(LAST()))], lazy=True)
    goal = made.questions[0].goal
    assert set(open_backend(made).ask(Question(goal, (0, 3))).core) == {0, 3}
    assert set(open_backend(made).ask(Question(goal, (1,))).core) in ({1, 2}, {0, 3})


def test_cvc5_names_what_suffices_when_asked():
    hypotheses = [RAISED(), MARKED(FIRST()), Equal(FIRST(), LAST()), Not(EDGE(FIRST(), FIRST()))]
    made, _ = task("cvc5", hypotheses, [Not(MARKED(LAST()))])
    goal = made.questions[0].goal
    assert open_backend(made).ask(Question(goal)).core is None
    asked = open_backend(replace(made, core=True))
    assert {1, 2} <= set(asked.ask(Question(goal)).core) < {0, 1, 2, 3}
    assert {1, 2} <= set(asked.ask(Question(goal, (3, 2, 1))).core) <= {1, 2, 3}


def test_some_hypotheses_can_be_left_out():
    for name in ("z3", "cvc5"):
        made, _ = task(name, [MARKED(FIRST()), RAISED()], [Not(MARKED(FIRST()))])
        backend = open_backend(made)
        goal = made.questions[0].goal
        assert backend.ask(Question(goal)).status == "unsat"
        assert backend.ask(Question(goal, (1,))).status == "sat"
        assert backend.ask(Question(goal, (0,))).status == "unsat"
        assert backend.ask(Question(goal, ())).status == "sat"


@pytest.mark.parametrize("lazy", [False, True])
def test_models_satisfy_the_query(lazy):
    hypotheses = [
        enumeration_axiom(COLOR),
        distinct([FIRST(), LAST()]),
        Forall((X,), Not(Equal(NEXT(X), X))),
        Forall((V,), Not(Equal(PAINT(V), ELEMENTS[1]()))),
        AGREES(TRUE, FIRST()),
        Not(AGREES(FALSE, FIRST())),
    ]
    goal = conj(Equal(HUE(), ELEMENTS[2]()), Not(Equal(PAINT(TOP()), HUE())))
    reply, vocabulary = ask("z3", hypotheses, goal, lazy=lazy, symbols=SYMBOLS)
    structure = decode(reply.model, vocabulary)
    assert set(structure.tables) >= set(SYMBOLS)
    assert all(structure.holds(formula) for formula in [*hypotheses, goal])
    assert structure.evaluate(HUE()) == 2 and structure.evaluate(PAINT(TOP())) == 0
    assert [structure.evaluate(element()) for element in ELEMENTS] == [0, 1, 2]


@settings(max_examples=60)
@given(st.data())
def test_a_structure_comes_back_as_it_was_described(data):
    """Elements may be numbered otherwise, so the structure is recognised by its diagram."""
    structure = data.draw(structures())
    facts = diagram(structure)
    lazy = data.draw(st.booleans())
    reply, vocabulary = ask("z3", facts, TRUE, lazy=lazy)
    read = decode(reply.model, vocabulary)
    assert read.sizes == structure.sizes
    assert all(read.holds(fact) for fact in facts)


@settings(max_examples=25)
@given(st.data())
def test_cvc5_agrees_with_the_evaluator_on_a_given_structure(data):
    structure = data.draw(structures())
    formula = data.draw(formulas(depth=2))
    false, true = (neg(formula), formula) if structure.holds(formula) else (formula, neg(formula))
    assert ask("cvc5", diagram(structure), false)[0].status == "unsat"
    assert ask("cvc5", diagram(structure), true)[0].status != "unsat"
    assert ask("cvc5", diagram(structure), true, options=(("finite-model-find", True),))[0].status == "sat"


@settings(max_examples=60)
@given(st.lists(formulas(depth=2), min_size=1, max_size=3), formulas(depth=2))
def test_bringing_hypotheses_in_one_by_one_changes_no_answer(hypotheses, goal):
    hypotheses = [enumeration_axiom(COLOR), *hypotheses]
    reply, vocabulary = ask("z3", hypotheses, goal, lazy=True, timeout=2.0)
    if reply.status == "sat":
        structure = decode(reply.model, vocabulary)
        assert all(structure.holds(formula) for formula in [*hypotheses, goal])
    if reply.status == "unsat":
        core = [hypotheses[i] for i in reply.core]
        assert ask("z3", core, goal, timeout=2.0)[0].status != "sat"


def test_an_enumerated_sort_never_has_the_wrong_size():
    """Nothing but the enumeration itself says that there are three colors."""
    claims = [Exists((V,), Equal(PAINT(V), color())) for color in ELEMENTS]
    reply, vocabulary = ask("z3", [*claims, enumeration_axiom(COLOR)], TRUE, lazy=True)
    structure = decode(reply.model, vocabulary)
    assert sorted(structure.tables[PAINT].values()) == [0, 1, 2]
    reply, vocabulary = ask("z3", [Forall((C,), LIKED(C)), enumeration_axiom(COLOR)], TRUE, lazy=True)
    assert decode(reply.model, vocabulary).tables[LIKED] == {(0,): True, (1,): True, (2,): True}


def test_integers_are_read():
    clock = Symbol("clock", (), INT)
    reply, vocabulary = ask("z3", [Arith("<", clock(), Number(-3)), Arith(">", clock(), Number(-5))], TRUE)
    assert decode(reply.model, vocabulary).evaluate(clock()) == -4


@pytest.mark.parametrize("name, lazy", KINDS)
def test_what_has_no_finite_model_is_unknown_within_its_time(name, lazy):
    reply, _ = ask(name, GROWING, TRUE, lazy=lazy, timeout=0.3)
    assert reply.status == "unknown" and reply.reason


def test_cvc5_proves_on_request():
    made, _ = task("cvc5", [RAISED()], [Not(RAISED())], proof=True)
    reply = open_backend(made).ask(made.questions[0])
    assert reply.status == "unsat" and "step" in reply.proof
    plain, _ = task("cvc5", [RAISED()], [Not(RAISED())])
    assert open_backend(plain).ask(plain.questions[0]).proof == ""


@pytest.mark.parametrize("name", ["z3", "cvc5"])
def test_nonsense_is_unknown_never_an_answer(name):
    made, _ = task(name, [RAISED()], [TRUE])
    reply = open_backend(made).ask(Question("(and $raised $stranger)"))
    assert reply.status == "unknown" and reply.reason


def test_decoding_puts_enumerated_elements_in_order():
    vocabulary = Vocabulary()
    vocabulary.text(conj(enumeration_axiom(COLOR), Equal(PAINT(TOP()), HUE()), Or((RAISED(), TRUE))))
    names = vocabulary.symbols
    raw = RawModel(
        {vocabulary.sorts[COLOR]: 3, vocabulary.sorts[TOP.sort]: 2},
        {
            names[ELEMENTS[0]]: {(): 2},
            names[ELEMENTS[1]]: {(): 0},
            names[ELEMENTS[2]]: {(): 1},
            names[PAINT]: {(0,): 0, (1,): 2},
            names[TOP]: {(): 1},
            names[HUE]: {(): 1},
            names[RAISED]: {(): True},
        },
    )
    structure = decode(raw, vocabulary)
    assert structure.sizes == {TOP.sort: 2}
    assert structure.tables[PAINT] == {(0,): 1, (1,): 0}
    assert structure.tables[HUE] == {(): 2}
    assert [structure.tables[element][()] for element in ELEMENTS] == [0, 1, 2]


def test_sorts_that_nothing_forces_to_have_elements_have_one():
    lonely = Symbol("lonely", (NODE,), BOOL)
    made, vocabulary = task("z3", [], [TRUE], symbols=[lonely])
    assert made.model == ModelRequest(("$node",), (("$lonely", ("$node",), "Bool"),))
    structure = decode(open_backend(made).ask(made.questions[0]).model, vocabulary)
    assert structure.sizes == {NODE: 1} and set(structure.tables[lonely]) == {(0,)}
