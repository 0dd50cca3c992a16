from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.lang import parse
from quorate.logic.structures import Structure
from quorate.logic.terms import BOOL, Sort, Symbol
from quorate.models.semantics import Step
from quorate.models.source import Source
from quorate.proof.show import WIDTH, default_lane, show_sequence, show_trace
from quorate.proof.traces import Trace
from trace_samples import lease, lease_cti, lease_run, pyv, run, shuffle, state

MODEL = lease()
RUN = lease_run(MODEL)
NODE, EPOCH = MODEL.sorts


def test_a_run_is_shown_as_differences() -> None:
    expected = """\
run of 5 steps
universe: node = {node0, node1}, epoch = {epoch0, epoch1}
rigid:
  le: epoch0 < epoch1
  zero = epoch0
  home(node0) = node1, home(node1) = node0
state 0:
  age(node0) = epoch0, age(node1) = epoch0
  sent(node0, epoch0) = 0, sent(node0, epoch1) = 0, sent(node1, epoch0) = 0,
  sent(node1, epoch1) = 0
  clock = 0
  last = node0
  idle(node0), idle(node1)
step 1: take(n = node0)   [lease.pyv:28]
  + busy
  + holds(node0)
  - idle(node0)
step 2: tick(loud = true)   [lease.pyv:53]
  ~ clock: 0 -> 1
step 3: hand(n = node0, m = node1, e = epoch1)   [lease.pyv:39]
  + offer(node0, node1, epoch1)
  ~ sent(node0, epoch1): 0 -> 1
step 4: shuffle()   [lease.pyv:57]
  choosing last' = node1, busy' = true
  ~ last: node0 -> node1
step 5: accept(n = node0, m = node1, e = epoch1)   [lease.pyv:45]
  + holds(node1)
  - offer(node0, node1, epoch1)
  ~ age(node1): epoch0 -> epoch1
  - idle(node1)
state 5 violates one_holder (line 61):
  forall N:node, M:node. holds(N) & holds(M) -> N = M
  fails for N = node0, M = node1
"""
    assert show_trace(MODEL, RUN) == expected


def test_a_run_as_a_sequence() -> None:
    expected = """\
run of 5 steps

     node0   node1
       |       |
  1    *       |     take(n = node0)   [lease.pyv:28]
       |       |       + busy   + holds(node0)   - idle(node0)
  2    |       |     tick(loud = true)   [lease.pyv:53]
       |       |       ~ clock: 0 -> 1
  3    *------>o     hand(n = node0, m = node1, e = epoch1)   [lease.pyv:39]
       |       |       + offer(node0, node1, epoch1)   ~ sent(node0, epoch1): 0 -> 1
  4    |       |     shuffle()   [lease.pyv:57]
       |       |       choosing last' = node1, busy' = true
       |       |       ~ last: node0 -> node1
  5    *------>o     accept(n = node0, m = node1, e = epoch1)   [lease.pyv:45]
       |       |       + holds(node1)   - offer(node0, node1, epoch1)
       |       |       ~ age(node1): epoch0 -> epoch1   - idle(node1)

state 5 violates one_holder (line 61):
  forall N:node, M:node. holds(N) & holds(M) -> N = M
  fails for N = node0, M = node1
"""
    assert show_sequence(MODEL, RUN) == expected
    assert show_sequence(MODEL, RUN, NODE) == expected


def test_a_counterexample_to_induction_is_not_called_a_run() -> None:
    trace = lease_cti(MODEL)
    for text in (show_trace(MODEL, trace), show_sequence(MODEL, trace)):
        first = text.splitlines()[0]
        assert first == "counterexample to induction: NOT a reachable run (state 0 need not be reachable)"
    expected = """\
counterexample to induction: NOT a reachable run (state 0 need not be reachable)

     epoch0
        |
  1     *     accept(n = node0, m = node1, e = epoch0)   [lease.pyv:45]
        |       + holds(node1)   - offer(node0, node1, epoch0)   - idle(node1)

state 1 violates one_holder (line 61):
  forall N:node, M:node. holds(N) & holds(M) -> N = M
  fails for N = node0, M = node1
"""
    assert show_sequence(MODEL, trace, EPOCH) == expected


def test_a_step_may_change_nothing() -> None:
    model = pyv("sort node\nmutable relation up(node)\ntransition wait() modifies up & (new(up(N)) <-> up(N))")
    trace = run(model, state(model, {"node": 2}), Step("wait", {}))
    expected = """\
run of 1 step
universe: node = {node0, node1}
state 0:
  nothing holds
step 1: wait()   [sample.pyv:3]
  no change
"""
    assert show_trace(model, trace) == expected
    expected = """\
run of 1 step

     node0   node1
       |       |
  1    |       |     wait()   [sample.pyv:3]
       |       |       no change
"""
    assert show_sequence(model, trace) == expected


PASS = """\
sort node
mutable relation token(node)
init token(N)
transition pass(a: node, b: node, c: node)
  modifies token
  & (new(token(N)) <-> N = b)
transition scramble()
  modifies token
  & exists N. new(token(N)) <-> new(token(N))
safety token(N)
"""


def test_arrows_lead_both_ways_and_over_other_lanes() -> None:
    model = pyv(PASS)
    start = state(model, {"node": 4}, token={(i,): True for i in range(4)})
    trace = run(
        model,
        start,
        Step("pass", {"a": 0, "b": 3, "c": 3}),
        Step("pass", {"a": 2, "b": 0, "c": 3}),
        Step("pass", {"a": 1, "b": 1, "c": 1}),
        Step("pass", {"a": 3, "b": 2, "c": 0}),
        Step("scramble", {}, {"token'": {(i,): i == 3 for i in range(4)}}),
        Step("scramble", {}, {"token'": {(i,): False for i in range(4)}}),
    )
    expected = """\
run of 6 steps

     node0   node1   node2   node3
       |       |       |       |
  1    *---------------------->o     pass(a = node0, b = node3, c = node3)   [sample.pyv:4]
       |       |       |       |       - token(node0)   - token(node1)   - token(node2)
  2    o<--------------*------>o     pass(a = node2, b = node0, c = node3)   [sample.pyv:4]
       |       |       |       |       + token(node0)   - token(node3)
  3    |       *       |       |     pass(a = node1, b = node1, c = node1)   [sample.pyv:4]
       |       |       |       |       - token(node0)   + token(node1)
  4    o<--------------o<------*     pass(a = node3, b = node2, c = node0)   [sample.pyv:4]
       |       |       |       |       - token(node1)   + token(node2)
  5    |       |       |       |     scramble()   [sample.pyv:7]
       |       |       |       |       choosing token'(node3)
       |       |       |       |       - token(node2)   + token(node3)
  6    |       |       |       |     scramble()   [sample.pyv:7]
       |       |       |       |       choosing token' nowhere
       |       |       |       |       - token(node3)
"""
    assert show_sequence(model, trace) == expected


def test_no_fact_is_broken_over_lines() -> None:
    model = pyv("sort node\nmutable relation together(node, node, node)\ninit together(A, B, C)")
    trace = run(
        model,
        state(model, {"node": 3}, together={(a, b, c): True for a in range(3) for b in range(3) for c in range(3)}),
    )
    lines = show_trace(model, trace).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("together(") for line in lines) == sum(line.count(")") for line in lines) == 27


def test_a_long_place_stands_on_a_line_of_its_own() -> None:
    text = "sort node\nmutable relation up(node)\ntransition go(n: node) modifies up & (new(up(N)) <-> N = n)\n"
    model = parse(Source("a" * 80 + ".pyv", text)).model
    trace = run(model, state(model, {"node": 1}), Step("go", {"n": 0}))
    assert show_trace(model, trace).splitlines()[4:6] == ["step 1: go(n = node0)", f"        [{'a' * 80}.pyv:3]"]
    assert show_sequence(model, trace).splitlines()[4:6] == [
        "  1    *     go(n = node0)",
        f"       |     [{'a' * 80}.pyv:3]",
    ]


ORDERS = [
    ({(i, j): i <= j for i in range(3) for j in range(3)}, "  r: node0 < node1 < node2"),
    ({(i, j): i >= j for i in range(3) for j in range(3)}, "  r: node2 < node1 < node0"),
    ({(i, j): i > j for i in range(3) for j in range(3)}, "  r: node2 < node1 < node0 (strict)"),
    ({(i, j): i == j for i in range(3) for j in range(3)}, "  r(node0, node0), r(node1, node1), r(node2, node2)"),
    (
        {(i, j): (j - i) % 3 == 1 for i in range(3) for j in range(3)},
        "  r(node0, node1), r(node1, node2), r(node2, node0)",
    ),
    (
        {(i, j): i < j or (i, j) == (2, 2) for i in range(3) for j in range(3)},
        "  r(node0, node1), r(node0, node2), r(node1, node2), r(node2, node2)",
    ),
]


@pytest.mark.parametrize(("table", "shown"), ORDERS, ids=[shown for _, shown in ORDERS])
def test_only_what_is_a_total_order_is_shown_as_a_chain(table: dict[tuple[int, int], bool], shown: str) -> None:
    model = pyv("sort node\nimmutable relation r(node, node)")
    trace = run(model, state(model, {"node": 3}, r=table))
    assert show_trace(model, trace).splitlines()[2:4] == ["rigid:", shown]


def test_relations_between_two_sorts_are_not_orders() -> None:
    model = pyv("sort a\nsort b\nimmutable relation r(a, b)")
    trace = run(model, state(model, {"a": 2, "b": 2}, r={(i, j): i <= j for i in range(2) for j in range(2)}))
    assert "  r(a0, b0), r(a0, b1), r(a1, b1)" in show_trace(model, trace).splitlines()


def test_constants_of_enumerated_sorts_are_not_facts() -> None:
    colour = Sort("colour", ("red", "green"))
    red, lamp = Symbol("red", (), colour), Symbol("lamp", (), colour, True)
    model = replace(pyv("sort node"), sorts=(colour,), symbols=(red, lamp))
    trace = Trace("run", (Structure({}, {red: {(): 0}, lamp: {(): 1}}),), ())
    assert show_trace(model, trace) == "run of 0 steps\nuniverse: colour = {red, green}\nstate 0:\n  lamp = green\n"


def test_the_lane_is_the_sort_bound_in_the_most_steps() -> None:
    assert default_lane(MODEL, RUN) is NODE
    assert default_lane(MODEL, replace(RUN, states=RUN.states[:1], steps=())) is NODE
    model = pyv(
        "sort a\nsort b\nmutable relation r\n"
        "transition t(x: b) modifies r & new(r)\ntransition u(x: a) modifies r & new(r)\n"
    )
    start = state(model, {"a": 1, "b": 1})
    assert default_lane(model, run(model, start, Step("t", {"x": 0}))) is Sort("b")
    assert default_lane(model, run(model, start, Step("t", {"x": 0}), Step("u", {"x": 0}))) is Sort("a")


def test_a_model_without_sorts_has_no_lanes() -> None:
    model = pyv("mutable relation up\ntransition go() modifies up & new(up)\nsafety !up")
    trace = run(model, state(model, {}), Step("go", {}), violated="safety_1")
    expected = """\
run of 1 step



  1  go()   [sample.pyv:2]
       + up

state 1 violates safety_1 (line 3):
  !up
"""
    assert show_sequence(model, trace) == expected


def test_a_lane_without_elements_shows_no_lanes() -> None:
    lines = show_sequence(MODEL, RUN, BOOL).splitlines()
    assert lines[2:6] == [
        "",
        "",
        "  1  take(n = node0)   [lease.pyv:28]",
        "       + busy   + holds(node0)   - idle(node0)",
    ]


def test_choices_are_shown_where_a_transition_has_any() -> None:
    trace = run(MODEL, state(MODEL, {"node": 3, "epoch": 1}), shuffle(2, False))
    assert show_trace(MODEL, trace).splitlines()[-3:] == [
        "step 1: shuffle()   [lease.pyv:57]",
        "  choosing last' = node2, busy' = false",
        "  ~ last: node0 -> node2",
    ]
