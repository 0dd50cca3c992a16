import re

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt import session
from quorate.engines.smt.backends import ModelRequest, RawModel, Reply
from quorate.engines.smt.session import (
    Answer,
    Goal,
    Group,
    Limits,
    ModelMismatch,
    confirm,
    model_request,
    prepare,
    solve,
)
from quorate.engines.smt.smtlib import Vocabulary
from quorate.logic.structures import Structure
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
    Symbol,
    Var,
    conj,
    distinct,
    neg,
)
from quorate.models.relational import Named, enumeration_axiom
from strategies import (
    COLOR,
    EDGE,
    ELEMENTS,
    FIRST,
    HELD,
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
    VALUE,
    C,
    X,
    Y,
    Z,
    formulas,
    structures,
)

LIMITS = Limits(timeout=20.0, jobs=1)

MARKS_SPREAD = Named("marks spread", Forall((X, Y), Implies(conj(MARKED(X), EDGE(X, Y)), MARKED(Y))))
STARTED = Named("started", MARKED(FIRST()))
LINKED = Named("linked", EDGE(FIRST(), LAST()))
UP = Named("up", RAISED())
COLORS = Named("elements of color", enumeration_axiom(COLOR))
GROWING = [
    Named("transitive", Forall((X, Y, Z), Implies(conj(EDGE(X, Y), EDGE(Y, Z)), EDGE(X, Z)))),
    Named("irreflexive", Forall((X,), Not(EDGE(X, X)))),
    Named("no last", Forall((X,), Exists((Y,), EDGE(X, Y)))),
]
"""Only infinite structures satisfy these."""


def ask(hypotheses, goal, symbols=(), limits=LIMITS):
    [(group, number, answer)] = solve([Group(tuple(hypotheses), (Goal("goal", goal),), symbols)], limits)
    assert (group, number) == (0, 0)
    return answer


def test_sat_comes_with_a_structure_that_satisfies_everything():
    answer = ask([MARKS_SPREAD, STARTED], Not(MARKED(LAST())), symbols=(RAISED, HELD))
    assert (answer.status, answer.solver, answer.core) == ("sat", "z3", ())
    assert answer.structure.holds(MARKS_SPREAD.formula) and not answer.structure.holds(MARKED(LAST()))
    assert set(answer.structure.tables) >= {MARKED, EDGE, FIRST, LAST, RAISED, HELD}
    assert answer.structure.sizes[NODE] == 2 and answer.structure.sizes[VALUE] == 1


def test_unsat_comes_with_a_core_that_suffices():
    hypotheses = [UP, MARKS_SPREAD, *GROWING[:1], STARTED, LINKED]
    answer = ask(hypotheses, Not(MARKED(LAST())))
    assert answer.status == "unsat" and answer.structure is None
    assert set(answer.core) == {MARKS_SPREAD, STARTED, LINKED}
    assert ask(answer.core, Not(MARKED(LAST()))).status == "unsat"
    for used in answer.core:
        assert ask([item for item in hypotheses if item is not used], Not(MARKED(LAST()))).status == "sat"


@settings(max_examples=40)
@given(st.lists(formulas(depth=2), max_size=4), formulas(depth=2))
def test_cores_of_random_queries_suffice_and_structures_satisfy(formulas, goal):
    hypotheses = [COLORS, *(Named(f"h{i}", formula) for i, formula in enumerate(formulas))]
    answer = ask(hypotheses, goal, limits=Limits(timeout=1.0, jobs=1))
    if answer.status == "unsat":
        assert set(answer.core) <= set(hypotheses)
        assert ask(answer.core, goal, limits=Limits(timeout=1.0, jobs=1)).status != "sat"
    if answer.structure is not None:
        assert all(answer.structure.holds(item.formula) for item in hypotheses) and answer.structure.holds(goal)


def test_a_goal_that_contradicts_itself_needs_no_hypotheses():
    assert ask([STARTED], FALSE) == Answer("unsat", core=(), solver="z3")


def test_every_goal_of_every_group_is_answered_once():
    groups = [
        Group((STARTED,), (Goal("a", Not(MARKED(FIRST()))), Goal("b", MARKED(LAST())))),
        Group((), (Goal("c", FALSE),)),
        Group((UP,), ()),
        Group((UP,), (Goal("d", RAISED()), Goal("e", Not(RAISED())))),
    ]
    found = {(group, goal): answer.status for group, goal, answer in solve(groups, Limits(timeout=20.0, jobs=2))}
    assert found == {(0, 0): "unsat", (0, 1): "sat", (1, 0): "unsat", (3, 0): "sat", (3, 1): "unsat"}


def test_what_has_only_infinite_models_is_unknown():
    answer = ask(GROWING, TRUE, limits=Limits(timeout=0.5, jobs=1))
    assert (answer.status, answer.structure, answer.core) == ("unknown", None, ())
    assert answer.reason == "timeout"


def test_hard_questions_are_left_alone_once_one_goal_is_refuted():
    groups = [Group(tuple(GROWING), (Goal("hard", TRUE),)), Group((UP,), (Goal("easy", RAISED()),))]
    limits = Limits(timeout=2.0, jobs=1)
    assert {(group, answer.status) for group, _, answer in solve(groups, limits, until_refuted=True)} == {(1, "sat")}
    assert {group for group, _, _ in solve(groups, limits)} == {0, 1}


def test_an_open_question_is_put_to_the_others(monkeypatch):
    """After the first try hypotheses come one by one, the likely ones first, cvc5 joins in, and z3 starts afresh."""
    asked = []

    def no_idea(tasks, jobs):
        for number, task in enumerate(tasks):
            asked.append(("first", task.backend, task.timeout))
            for question in range(len(task.questions)):
                yield number, question, Reply("unknown", "incomplete")

    def second(tasks, jobs):
        asked.append([(task.backend, task.lazy is not None, task.timeout) for task in tasks])
        assert [task.questions[0].using for task in tasks] == [(0,), None, None]
        return (1, Reply("unsat", backend="cvc5")) if len(asked) > 2 else (0, Reply("unknown", "timeout"))

    monkeypatch.setattr(session, "run", no_idea)
    monkeypatch.setattr(session, "race", second)
    answer = ask([STARTED, UP], Not(MARKED(FIRST())), limits=Limits(timeout=10.0, jobs=1))
    quick = session.QUICK_SECONDS
    assert asked == [
        ("first", "z3", quick),
        [("z3", True, 2 * quick), ("cvc5", False, 2 * quick), ("z3", False, 2 * quick)],
        [("z3", True, 10.0 - 2 * quick), ("cvc5", False, 10.0 - 2 * quick), ("z3", False, 10.0 - 2 * quick)],
    ]
    assert answer == Answer("unsat", core=(STARTED, UP), solver="cvc5"), "without a core, everything may be needed"


def test_time_spent_is_never_more_than_the_limit(monkeypatch):
    spent = []
    monkeypatch.setattr(session, "run", lambda tasks, jobs: (item for item in [(0, 0, Reply("unknown", "timeout"))]))
    monkeypatch.setattr(
        session, "race", lambda tasks, jobs: spent.append(tasks[0].timeout) or (0, Reply("unknown", "timeout"))
    )
    assert ask([], TRUE, limits=Limits(timeout=40.0)).status == "unknown"
    assert sum(spent) == 40.0
    spent.clear()
    assert ask([], TRUE, limits=Limits(timeout=1.0)) == Answer("unknown", "timeout")
    assert spent == [], "the first try took all the time"


def test_when_the_time_for_all_is_over_nothing_more_is_asked(monkeypatch):
    goals = tuple(Goal(str(number), TRUE) for number in range(4))
    asked = []

    def run(tasks, jobs):
        for number in range(4):
            asked.append(number)
            yield 0, number, Reply("unknown", "timeout") if number == 1 else Reply("unsat", backend="z3")

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(session, "race", lambda tasks, jobs: pytest.fail("there is no time"))
    clock = iter(range(100))
    monkeypatch.setattr(session.time, "monotonic", lambda: float(next(clock)))
    found = {goal: answer.status for _, goal, answer in solve([Group((), goals)], Limits(timeout=40.0, until=1.0))}
    assert asked == [0, 1]
    assert found == {0: "unsat", 1: "unknown", 2: "unknown", 3: "unknown"}


def test_sat_without_a_model_has_no_structure(monkeypatch):
    monkeypatch.setattr(session, "run", lambda tasks, jobs: (item for item in [(0, 0, Reply("sat", backend="cvc5"))]))
    assert ask([], TRUE) == Answer("sat", solver="cvc5")


# -- structures ------------------------------------------------------------------------------------------------------


def test_a_wrong_model_is_never_a_result(monkeypatch):
    vocabulary = prepare(Group((UP,), (Goal("goal", MARKED(FIRST())),))).vocabulary
    wrong = RawModel(
        {vocabulary.sorts[NODE]: 1},
        {
            vocabulary.symbols[RAISED]: {(): False},
            vocabulary.symbols[MARKED]: {(0,): True},
            vocabulary.symbols[FIRST]: {(): 0},
        },
    )
    monkeypatch.setattr(session, "run", lambda tasks, jobs: (item for item in [(0, 0, Reply("sat", model=wrong))]))
    with pytest.raises(ModelMismatch, match="does not satisfy up"):
        ask([UP], MARKED(FIRST()))


def test_confirm():
    structure = Structure({NODE: 2}, {MARKED: {(0,): True, (1,): False}, RAISED: {(): True}})
    confirm(structure, [("a", RAISED()), ("b", Exists((X,), MARKED(X)))])
    with pytest.raises(ModelMismatch, match="does not satisfy all marked"):
        confirm(structure, [("a", RAISED()), ("all marked", Forall((X,), MARKED(X)))])
    with pytest.raises(ModelMismatch, match="does not determine linked"):
        confirm(structure, [("linked", Exists((X,), EDGE(X, X)))])


@given(structures(), formulas())
def test_confirm_accepts_exactly_what_holds(structure, formula):
    refused = formula if not structure.holds(formula) else neg(formula)
    confirm(structure, [("other", neg(refused))])
    with pytest.raises(ModelMismatch):
        confirm(structure, [("true", TRUE), ("refused", refused)])


def test_enumerated_sorts_come_back_in_their_order():
    goal = conj(
        Equal(PAINT(TOP()), ELEMENTS[2]()),
        Equal(HUE(), ELEMENTS[0]()),
        Forall((C,), Implies(LIKED(C), Equal(C, ELEMENTS[1]()))),
        LIKED(ELEMENTS[1]()),
    )
    structure = ask([COLORS], goal, symbols=SYMBOLS).structure
    assert structure.evaluate(PAINT(TOP())) == 2 and structure.evaluate(HUE()) == 0
    assert structure.tables[LIKED] == {(0,): False, (1,): True, (2,): False}
    assert COLOR not in structure.sizes


def test_an_enumerated_sort_cannot_have_one_more_element():
    assert ask([COLORS], Exists((C,), conj(*(Not(Equal(C, element())) for element in ELEMENTS)))).status == "unsat"
    assert ask([COLORS], Equal(ELEMENTS[0](), ELEMENTS[1]())).status == "unsat"


def test_structures_can_need_several_elements():
    hypotheses = [Named("apart", distinct([FIRST(), LAST(), NEXT(LAST())]))]
    assert ask(hypotheses, TRUE).structure.sizes[NODE] == 3


def test_integers_are_part_of_structures():
    clock = Symbol("clock", (), INT, mutable=True)
    answer = ask([Named("late", Arith(">", clock(), Number(7)))], Arith("<", clock(), Number(9)))
    assert answer.structure.evaluate(clock()) == 8


def test_what_speaks_of_all_integers_is_answered_without_a_structure():
    clock, at, number = Symbol("clock", (), INT), Symbol("at", (INT,), BOOL), Var("I", INT)
    bound = Forall((number,), Implies(Arith(">", number, clock()), Arith(">", number, Number(0))))
    assert ask([], bound) == Answer("sat", solver="z3")
    assert ask([Named("bound", bound)], Arith("<", clock(), Number(0))).status == "unsat"
    assert ask([], at(Number(3))) == Answer("sat", solver="z3")
    assert ask([Named("at", at(Number(3)))], Not(at(Arith("+", Number(1), Number(2))))).status == "unsat"


def test_the_request_names_every_sort_and_symbol():
    vocabulary = Vocabulary()
    vocabulary.text(conj(Equal(PAINT(TOP()), HUE()), Symbol("odd", (BOOL,), INT)(TRUE)))
    assert model_request(vocabulary) == ModelRequest(
        ("$value", "$color"),
        (("$paint", ("$value",), "$color"), ("$top", (), "$value"), ("$hue", (), "$color"), ("$odd", ("Bool",), "Int")),
    )


# -- dumps -----------------------------------------------------------------------------------------------------------


def test_a_dump_has_one_file_per_query_with_the_same_answer(tmp_path):
    groups = [
        Group((STARTED, LINKED, MARKS_SPREAD), (Goal("t preserves s", Not(MARKED(LAST()))), Goal("b/../c", RAISED()))),
        Group((COLORS,), (Goal("ä" * 200, Not(Equal(HUE(), ELEMENTS[0]()))),)),
    ]
    folder = tmp_path / "new" / "dump"
    found = [answer.status for *_, answer in sorted(solve(groups, Limits(20.0, jobs=1, dump=str(folder))), key=str)]
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == ["001-t_preserves_s.smt2", "002-b_.._c.smt2", f"003-{'ä' * 80}.smt2"]
    answers = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"\(check-sat\)", text) == ["(check-sat)"]
        solver = z3.Solver()
        solver.from_string(text)
        answers.append(str(solver.check()))
    assert answers == ["unsat", "sat", "sat"]
    assert sorted(found) == sorted(answers)
    assert files[0].read_text(encoding="utf-8").startswith("; t preserves s\n(set-logic ALL)\n")
