from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.logic.structures import Structure
from quorate.methods.minimise import minimise
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step, successor
from quorate.proof.traces import ReplayError, Trace, replay
from trace_samples import lease, lease_cti, lease_run, pyv, run, shuffle, state, with_step

MODEL = lease()
RUN = lease_run(MODEL)


def sizes(trace: Trace) -> dict[str, int]:
    return {sort.name: size for sort, size in trace.states[0].sizes.items()}


def test_steps_and_elements_that_do_not_matter_go() -> None:
    start = state(MODEL, {"node": 5, "epoch": 4}, last={(): 3})
    trace = run(
        MODEL,
        start,
        Step("tick", {"loud": False}),
        Step("take", {"n": 4}),
        Step("hand", {"n": 4, "m": 2, "e": 3}),
        Step("drop", {"n": 4}),
        shuffle(2, True),
        Step("take", {"n": 3}),
        Step("tick", {"loud": True}),
        Step("hand", {"n": 3, "m": 1, "e": 2}),
        Step("accept", {"n": 3, "m": 1, "e": 2}),
        Step("tick", {"loud": True}),
        violated="one_holder",
    )
    small = minimise(MODEL, trace)
    assert small.steps == (
        Step("take", {"n": 2}),
        Step("hand", {"n": 2, "m": 1, "e": 1}),
        Step("accept", {"n": 2, "m": 1, "e": 1}),
    )
    assert small.states[0] == state(MODEL, {"node": 3, "epoch": 2}, last={(): 2})
    replay(MODEL, small)


def test_what_is_needed_stays() -> None:
    small = minimise(MODEL, RUN)
    assert [step.transition for step in small.steps] == ["take", "hand", "accept"]
    assert sizes(small) == {"node": 2, "epoch": 2}


def test_the_first_violation_is_the_last_state() -> None:
    trace = run(
        MODEL,
        state(MODEL, {"node": 1, "epoch": 1}),
        Step("take", {"n": 0}),
        Step("tick", {"loud": True}),
        violated="never_busy",
    )
    small = minimise(MODEL, trace)
    assert small.steps == (Step("take", {"n": 0}),)


def test_a_violation_in_the_initial_state_needs_no_step() -> None:
    model = pyv(
        "sort node\nmutable relation up(node)\nsafety up(N)\n"
        "transition go(n: node) modifies up & (new(up(N)) <-> up(N) | N = n)\n"
    )
    trace = run(model, state(model, {"node": 4}), Step("go", {"n": 0}), violated="safety_1")
    small = minimise(model, trace)
    assert small.steps == ()
    assert sizes(small) == {"node": 1}


def test_axioms_and_initial_conditions_keep_elements() -> None:
    model = pyv(
        "sort node\nsort quorum\nimmutable relation member(node, quorum)\n"
        "axiom forall Q. exists N, M. member(N, Q) & member(M, Q) & N != M\n"
        "mutable relation up\ninit !up\ntransition go() modifies up & new(up)\nsafety !up\n"
    )
    table = {(n, q): n >= q for n in range(4) for q in range(2)}
    trace = run(model, state(model, {"node": 4, "quorum": 2}, member=table), Step("go", {}), violated="safety_1")
    assert sizes(minimise(model, trace)) == {"node": 2, "quorum": 1}


def test_steps_that_only_undo_each_other_go_together() -> None:
    model = pyv(
        "sort node\nmutable relation on(node)\ninit !on(N)\nmutable relation done\ninit !done\n"
        "transition start(n: node) modifies on & !on(n) & (new(on(N)) <-> on(N) | N = n)\n"
        "transition stop(n: node) modifies on & on(n) & (new(on(N)) <-> on(N) & N != n)\n"
        "transition finish() modifies done & (forall N. !on(N)) & new(done)\nsafety !done\n"
    )
    steps = [Step(name, {"n": n}) for name in ("start", "stop") for n in range(4)]
    trace = run(model, state(model, {"node": 4}), *steps, Step("finish", {}), violated="safety_1")
    small = minimise(model, trace)
    assert small.steps == (Step("finish", {}),)
    assert sizes(small) == {"node": 1}


def test_choices_are_restricted_with_the_universe() -> None:
    model = pyv(
        "sort node\nmutable relation up(node)\ninit !up(N)\n"
        "transition stir() modifies up & exists N. new(up(N))\nsafety exists N. !up(N)\n"
    )
    step = Step("stir", {}, {"up'": {(i,): True for i in range(3)}})
    small = minimise(model, run(model, state(model, {"node": 3}), step, violated="safety_1"))
    assert small.steps == (Step("stir", {}, {"up'": {(0,): True}}),)


def test_other_traces_are_returned_as_they_are() -> None:
    cti = lease_cti(MODEL)
    assert minimise(MODEL, cti) is cti
    harmless = replace(RUN, violated=None)
    assert minimise(MODEL, harmless) is harmless


def test_a_trace_that_does_not_replay_is_refused() -> None:
    with pytest.raises(ReplayError):
        minimise(MODEL, with_step(RUN, 0, Step("take", {"n": 1})))


def walk(model: RelationalModel, start: Structure, steps: list[Step], violated: str) -> Trace | None:
    """The run that takes the steps that can be taken, if it violates the property."""
    states, taken = [start], []
    for step in steps:
        following = successor(model, states[-1], step)
        if isinstance(following, Structure):
            states.append(following)
            taken.append(step)
    trace = Trace("run", tuple(states), tuple(taken), violated)
    try:
        replay(model, trace)
    except ReplayError:
        return None
    return trace


NODES, EPOCHS = st.integers(0, 3), st.integers(0, 2)
STEPS = st.one_of(
    st.builds(lambda n: Step("take", {"n": n}), NODES),
    st.builds(lambda n: Step("drop", {"n": n}), NODES),
    st.builds(lambda n, m, e: Step("hand", {"n": n, "m": m, "e": e}), NODES, NODES, EPOCHS),
    st.builds(lambda n, m, e: Step("accept", {"n": n, "m": m, "e": e}), NODES, NODES, EPOCHS),
    st.builds(lambda loud: Step("tick", {"loud": loud}), st.booleans()),
    st.builds(shuffle, NODES, st.booleans()),
)


@given(st.lists(STEPS, min_size=2, max_size=30))
@settings(max_examples=60, deadline=None)
def test_what_is_returned_replays_and_is_minimal(steps: list[Step]) -> None:
    trace = walk(MODEL, state(MODEL, {"node": 4, "epoch": 3}), steps, "one_holder")
    if trace is None:
        return
    small = minimise(MODEL, trace)
    replay(MODEL, small)
    assert small.violated == "one_holder"
    assert len(small.steps) in (2, 3)
    assert minimise(MODEL, small) == small
    for number in range(len(small.steps)):
        fewer = [step for place, step in enumerate(small.steps) if place != number]
        assert walk(MODEL, small.states[0], fewer, "one_holder") is None


def test_thirty_steps_take_no_more_than_a_moment() -> None:
    start = state(MODEL, {"node": 6, "epoch": 4})
    steps = [Step("hand", {"n": 0, "m": 1 + i % 5, "e": i % 4}) for i in range(27)]
    trace = run(
        MODEL, start, Step("take", {"n": 0}), *steps, Step("accept", {"n": 0, "m": 2, "e": 1}), violated="one_holder"
    )
    began = time.process_time()
    small = minimise(MODEL, trace)
    assert time.process_time() - began < 2
    assert [step.transition for step in small.steps] == ["take", "hand", "accept"]
    assert sizes(small) == {"node": 2, "epoch": 2}
