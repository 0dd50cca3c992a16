"""Replay finds every way in which a trace is not what it claims."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.models.semantics import Step
from quorate.proof.traces import ReplayError, Trace, replay
from trace_samples import lease, lease_cti, lease_run, shuffle, with_sizes, with_step, with_value

MODEL = lease()
RUN = lease_run(MODEL)
CTI = lease_cti(MODEL)


def test_honest_traces_replay() -> None:
    replay(MODEL, RUN)
    replay(MODEL, CTI)


TAMPERED = [
    (with_value(MODEL, RUN, 2, "clock", {(): 2}), "step 2: tick does not lead to this value of clock"),
    (with_value(MODEL, RUN, 3, "last", {(): 1}), "step 3: hand does not lead to this value of last"),
    (with_value(MODEL, RUN, 0, "clock", {(): 7}), "state 0: init_6 does not hold"),
    (
        with_value(MODEL, RUN, 0, "le", {(i, j): True for i in (0, 1) for j in (0, 1)}),
        "state 0: antisymmetric does not hold",
    ),
    (with_value(MODEL, RUN, 1, "idle", {(0,): True, (1,): True}), "step 1: take does not lead to this value of idle"),
    (with_value(MODEL, RUN, 1, "zero", {(): 1}), "step 1: take does not lead to this value of zero"),
    (with_step(RUN, 0, Step("take", {"n": 1})), "step 1: take does not lead to this value of holds"),
    (with_step(RUN, 0, Step("drop", {"n": 0})), "step 1: the guard of drop does not hold"),
    (with_step(RUN, 0, Step("leap", {})), "step 1: there is no transition leap"),
    (with_step(RUN, 0, Step("take", {})), "the trace gives no value to 'n'"),
    (with_step(RUN, 0, Step("take", {"n": 5})), "step 1: the value of n is not in the universe"),
    (with_step(RUN, 3, Step("shuffle", {})), 'the trace gives no value to "last\'"'),
    (with_value(MODEL, RUN, 0, "zero", {(): 9}), "state 0: a value of zero is not in the universe"),
    (with_value(MODEL, RUN, 2, "busy", {}), "state 2: the table of busy does not fit the universe"),
    (with_sizes(RUN, 4, 1), "state 4 has another universe than state 0"),
    (with_step(RUN, 3, shuffle(0, True)), "step 4: the guard of shuffle does not hold"),
    (with_step(RUN, 3, shuffle(1, False)), "step 4: shuffle does not lead to this value of busy"),
    (replace(RUN, violated="none_such"), "there is no property none_such"),
    (replace(RUN, states=RUN.states[:-1], steps=RUN.steps[:-1]), "the last state does not violate one_holder"),
    (replace(RUN, steps=RUN.steps[:-1]), "a trace needs one state more than steps"),
    (Trace("run", (), ()), "a trace needs one state more than steps"),
    (replace(CTI, kind="run"), "state 0: init_2 does not hold"),
]


@pytest.mark.parametrize(("trace", "problem"), TAMPERED, ids=[problem for _, problem in TAMPERED])
def test_what_is_tampered_with_does_not_replay(trace: Trace, problem: str) -> None:
    with pytest.raises(ReplayError) as caught:
        replay(MODEL, trace)
    assert str(caught.value) == problem
