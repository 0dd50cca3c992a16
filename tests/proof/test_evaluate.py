from __future__ import annotations

from collections.abc import Sequence

import pytest

from quorate.lang import parse
from quorate.lang.diagnostics import LanguageError
from quorate.logic.structures import Structure
from quorate.models.semantics import Step
from quorate.models.source import Source
from quorate.proof.evaluate import Answer, evaluate_expression, show_values
from quorate.proof.traces import Trace
from trace_samples import lease, lease_run, pyv, run, state

MODEL = lease()
RUN = lease_run(MODEL)
F, T = False, True

VALUES: list[tuple[str, Sequence[Answer]]] = [
    ("holds(node0)", [F, T, T, T, T, T]),
    ("holds(node0) & holds(node1)", [F, F, F, F, F, T]),
    ("holds(N) & holds(M) -> N = M", [T, T, T, T, T, F]),
    ("one_holder", [T, T, T, T, T, F]),
    ("one_holder & never_busy", [T, F, F, F, F, F]),
    ("exists N:node. idle(N)", [T, T, T, T, T, F]),
    ("clock + 1", [1, 1, 2, 2, 2, 2]),
    ("sent(node0, epoch1)", [0, 0, 0, 1, 1, 1]),
    ("last", ["node0"] * 4 + ["node1"] * 2),
    ("home(last)", ["node1"] * 4 + ["node0"] * 2),
    ("if busy then age(node1) else epoch1", ["epoch1"] + ["epoch0"] * 4 + ["epoch1"]),
    ("node0", ["node0"] * 6),
    ("7", [7] * 6),
    ("true", [T] * 6),
    ("distinct(node0, node1, last)", [F] * 6),
    ("& busy & clock > 0", [F, F, T, T, T, T]),
]


@pytest.mark.parametrize(("text", "values"), VALUES, ids=[text for text, _ in VALUES])
def test_values_in_each_state(text: str, values: Sequence[Answer]) -> None:
    answers = evaluate_expression(MODEL, RUN, text)
    assert answers == values
    assert list(map(type, answers)) == list(map(type, values))


PROBLEMS = [
    ("holds(node2)", "1:7: error[Q0201]: unknown name `node2`"),
    ("holds(epoch0)", "1:7: error[Q0203]: this has sort epoch, but node is needed here"),
    ("holds(node0", "1:12: error[Q0101]: expected `)` to close the arguments, found the end of the file"),
    ("", "1:1: error[Q0101]: expected an expression, found the end of the file"),
    ("busy busy", "1:6: error[Q0101]: expected the end of the expression, found `busy`"),
    ("busy @", "1:6: error[Q0102]: unknown character '@'"),
    ("new(busy)", "1:1: error[Q0207]: the new value is not available here"),
    ("busy'", "1:1: error[Q0207]: the new value of `busy` is not available here"),
    ("age(N)", "1:5: error[Q0221]: the variable `N` is not bound here"),
    ("X", "1:1: error[Q0204]: cannot tell the sort of `X`"),
    ("exists I:int. I > clock", "1:1: error[Q0104]: this cannot be evaluated: the integers are not finite"),
    ("(" * 300 + "busy" + ")" * 300, "error[Q0103]"),
    ("!" * 3000 + "busy", "error[Q0103]"),
    ("9" * 6000, "error[Q0103]"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS, ids=[text[:30] for text, _ in PROBLEMS])
def test_problems_are_diagnostics(text: str, problem: str) -> None:
    with pytest.raises(LanguageError) as caught:
        evaluate_expression(MODEL, RUN, text)
    assert problem in str(caught.value)
    assert all(diagnostic.span.source.path == "expression" for diagnostic in caught.value.diagnostics)


def test_all_problems_at_once() -> None:
    with pytest.raises(LanguageError) as caught:
        evaluate_expression(MODEL, RUN, "holds(epoch0) & nothing & clock(1)")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["Q0203", "Q0201", "Q0202", "Q0212"]


def test_an_element_name_gives_way_to_a_symbol() -> None:
    model = pyv("sort node\nimmutable constant node0: node")
    trace = run(model, state(model, {"node": 2}, node0={(): 1}))
    assert evaluate_expression(model, trace, "node0") == ["node_1"]
    assert evaluate_expression(model, trace, "node0 = node_1 & node0 != node_0") == [True]


IVY = """\
#lang ivy1.6
type node
type colour = {red, green}
relation holds(N:node)
function paint(N:node) : colour
individual low : node
after init { holds(N) := false; paint(N) := red }
action take(n:node) = { assume ~holds(n); holds(n) := true; paint(n) := green }
export take
conjecture [lowest] low <= N
"""


def test_ivy_protocols_are_asked_in_ivy() -> None:
    model = parse(Source("sample.ivy", IVY)).model
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    start = state(model, {"node": 2})
    less = next(symbol for symbol in model.symbols if symbol.name == "node.<")
    start = Structure(sizes, {**start.tables, less: {(i, j): i < j for i in range(2) for j in range(2)}})
    trace = run(model, start, Step("take", {model.transitions[0].parameters[0].name: 1}))
    assert evaluate_expression(model, trace, "paint(node1)") == ["red", "green"]
    assert evaluate_expression(model, trace, "~holds(Node) & node0 ~= node1") == [True, False]
    assert evaluate_expression(model, trace, "node1 <= node0 | low > node0") == [False, False]
    assert evaluate_expression(model, trace, "lowest & paint(node1) = green") == [False, True]
    assert evaluate_expression(model, trace, "true -> false -> true") == [True, True]
    with pytest.raises(LanguageError, match="the variable `Node` is not bound here"):
        evaluate_expression(model, trace, "paint(Node)")


def test_chained_arrows_follow_the_version_of_the_file() -> None:
    for version, value in ((6, True), (7, False)):
        text = IVY.replace("ivy1.6", f"ivy1.{version}").replace("low <= N", "low = low")
        model = parse(Source("sample.ivy", text)).model
        trace = Trace("run", (state(model, {"node": 1}),), ())
        assert evaluate_expression(model, trace, "false -> true -> false") == [value]


def test_values_beside_the_steps() -> None:
    expected = """\
holds(node1)
  state 0                                             false
  state 1   take(n = node0)                           false
  state 2   tick(loud = true)                         false
  state 3   hand(n = node0, m = node1, e = epoch1)    false
  state 4   shuffle()                                 false
  state 5   accept(n = node0, m = node1, e = epoch1)  true
"""
    assert show_values(MODEL, RUN, " holds(node1) ") == expected
    assert show_values(MODEL, Trace("run", RUN.states[:1], ()), "last") == "last\n  state 0     node0\n"
