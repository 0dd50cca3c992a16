"""Names that the translation of Mercury programs makes up never meet names of the text."""

from __future__ import annotations

import pytest

from quorate.lang import parse_any
from quorate.logic.terms import BOOL, TRUE, Sort, Symbol, Var
from quorate.methods.phases.verify import verify
from quorate.models.forms import NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.process_semantics import ProcessSemantics
from quorate.models.relational import NameClash, RelationalModel, Transition
from quorate.models.source import Source

HOSTILE = """process process_
satisfies safety [initial_location] atmost(1, {CRASHED}) safety [at_CRASHED] atmost(0, {point: at != 1})
variables
  int[0,3] at := 1
  int[0,N] fails
  int[0,1] takes_0
  int[0,1] int_0_3
  int[0,1] at_L
  idSet P1
  idSet Who
  id Other
  id X
actions
  br p : int[0,1]
  rz q : unit
  env rz who : int[0,3]
crash locations: CRASHED, point, at_CRASHED
initial location point
  on Partition<p1>(All, 1)
    win: goto CRASHED
    lose: goto at_CRASHED
location CRASHED
  on recv(who) do
    sendbr(p[takes_0])
    goto point
location at_CRASHED
  on recv(p) do
    P1.add(p.sID)
    X := p.sID
    fails := fails + 1
    at_L := p.payload
    goto point
"""


def read(text: str) -> ProcessModel:
    model = parse_any(Source("a.mercury", text)).model
    assert isinstance(model, ProcessModel)
    return model


def test_names_of_the_form_are_distinct_whatever_the_text_names_things() -> None:
    form = relational_form(read(HOSTILE))
    elements = [name for sort in form.sorts for name in sort.elements]
    everything = [symbol.name for symbol in form.symbols] + elements + [sort.name for sort in form.sorts]
    assert len(everything) == len(set(everything))
    for transition in form.transitions:
        assert not {choice.name for choice in transition.choices} & set(everything)


def test_a_location_called_like_the_crashed_point_is_a_location() -> None:
    """It made the form contradictory: every property was proved, and a forged certificate accepted."""
    text = "process A\nsatisfies safety atmost(0, {CRASHED})\ninitial location L\n  on _ do goto CRASHED\nlocation CRASHED\n"
    model = read(text)
    (_, state), *_ = ProcessSemantics(model, 1).successors(ProcessSemantics(model, 1).initial)
    assert not ProcessSemantics(model, 1).holds(model.safety[0].specification, state)
    point = next(sort for sort in relational_form(model).sorts if sort.name == "point~")
    assert point.elements == ("at~L", "at~CRASHED", "crashed~")
    assert [result.verdict for result in verify(model).results] == ["violated"]


def test_a_program_with_hostile_names_is_verified_and_its_certificate_accepted() -> None:
    from quorate.proof.checker import discharge, sections

    model = read(HOSTILE)
    found = verify(model)
    assert [result.verdict for result in found.results] == ["proved", "proved"]
    assert found.certificate is not None
    outcomes = list(discharge(sections(relational_form(model), found.certificate), 30.0, 4096, 1))
    assert outcomes and all(outcome.accepted for outcome in outcomes)


@pytest.mark.parametrize(("number", "winners"), [(51, 1), (1, 51)])
def test_a_form_does_not_name_very_many_processes(number: int, winners: int) -> None:
    text = (
        f"process A\nsatisfies safety atmost({number}, {{L}})\ninitial location L\n  on Partition<p>(All, {winners})\n"
    )
    with pytest.raises(NoForm, match="more than 50 processes"):
        relational_form(read(f"{text}    win: goto L\n    lose: goto L\n"))


NODE = Sort("node")
STEP = Transition("t", (), (), TRUE, ())


@pytest.mark.parametrize(
    ("sorts", "symbols", "transitions", "message"),
    [
        ((NODE, Sort("node", ("a",))), (), (), "two sorts are called `node`"),
        ((Sort("a", ("x", "y")), Sort("b", ("x",))), (), (), "two symbols are called `x`"),
        ((Sort("a", ("x", "x")),), (), (), "two symbols are called `x`"),
        ((NODE, Sort("a", ("x",))), (Symbol("x", (), NODE),), (), "two symbols are called `x`"),
        ((NODE,), (Symbol("r", (NODE,), BOOL), Symbol("r", (NODE,), NODE)), (), "two symbols are called `r`"),
        ((NODE,), (), (STEP, STEP), "two transitions are called `t`"),
        (
            (NODE,),
            (),
            (Transition("t", (Var("x", NODE), Var("x", BOOL)), (), TRUE, ()),),
            "parameters of t are called `x`",
        ),
        (
            (NODE,),
            (Symbol("r", (NODE,), BOOL, True),),
            (Transition("t", (), (Symbol("r", (NODE,), BOOL),), TRUE, ()),),
            "symbols of t are called `r`",
        ),
    ],
)
def test_a_model_with_two_things_of_one_name_is_not_made(sorts, symbols, transitions, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NameClash, match=message):
        RelationalModel("m", "mercury", sorts, symbols, (), (), (), transitions, (), ())


def test_symbols_of_one_name_for_different_sorts_are_told_apart() -> None:
    below = [Symbol("<", (sort, sort), BOOL) for sort in (NODE, Sort("time"))]
    RelationalModel("m", "ivy", (NODE, Sort("time")), tuple(below), (), (), (), (), (), ())


def test_a_clash_in_a_form_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.models.process_names.point_name", lambda location, waiting=0: "at~")
    with pytest.raises(NoForm, match="two symbols are called `at~`"):
        relational_form(read(HOSTILE))
