import multiprocessing
import os
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from quorate.engines.smt import workers
from quorate.engines.smt.backends import Question, Reply, Task
from quorate.engines.smt.workers import guarded, race, run

BIG_MEMORY = 4096


def task(*goals, timeout=20.0, backend="z3", memory_mb=BIG_MEMORY, declarations="", hypotheses=()):
    return Task(backend, declarations, hypotheses, tuple(map(Question, goals)), timeout, memory_mb)


class Scripted:
    """A backend that does what its questions say."""

    def __init__(self, task):
        self.task = task

    def ask(self, question):
        match question.goal:
            case "hang":
                while True:
                    signal.pause()
            case "loop":
                while True:
                    pass
            case "crash":
                os._exit(1)
            case "memory":
                raise MemoryError
            case "unknown":
                return Reply("unknown", "no idea")
        return Reply("sat", question.goal)


@pytest.fixture
def scripted(monkeypatch):
    """Scripted backends, and little patience with those that overrun."""
    monkeypatch.setattr(workers, "open_backend", Scripted)
    monkeypatch.setattr(workers, "GRACE_SECONDS", 0.05)


@pytest.fixture(autouse=True)
def no_process_is_left_behind():
    yield
    assert multiprocessing.active_children() == []


def answers(tasks, jobs=1):
    """Replies by task and question, as (status, reason)."""
    found = {}
    for number, question, reply in run(tasks, jobs):
        assert (number, question) not in found, "each question once"
        found[number, question] = (reply.status, reply.reason)
    return found


def test_questions_are_answered_in_order(scripted):
    order = [(number, question, reply.reason) for number, question, reply in run([task("a", "b", "c")], 1)]
    assert order == [(0, 0, "a"), (0, 1, "b"), (0, 2, "c")]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_question_of_every_task_is_answered(scripted, jobs):
    found = answers([task("a", "b"), task(), task("c"), task("unknown", "d")], jobs)
    assert found == {
        (0, 0): ("sat", "a"),
        (0, 1): ("sat", "b"),
        (2, 0): ("sat", "c"),
        (3, 0): ("unknown", "no idea"),
        (3, 1): ("sat", "d"),
    }


@pytest.mark.parametrize("how", ["hang", "loop"])
def test_a_solver_that_overruns_is_killed_and_the_rest_is_still_answered(scripted, how):
    found = answers([task("a", how, "b", how, "c", timeout=0.5)])
    assert found == {
        (0, 0): ("sat", "a"),
        (0, 1): ("unknown", "timeout"),
        (0, 2): ("sat", "b"),
        (0, 3): ("unknown", "timeout"),
        (0, 4): ("sat", "c"),
    }


@pytest.mark.parametrize("how", ["crash", "memory"])
def test_a_solver_that_dies_costs_one_answer(scripted, how):
    found = answers([task(how, "a", how), task("b")], 2)
    lost = ("unknown", "the solver process ended without an answer (memory limit or crash)")
    assert found == {(0, 0): lost, (0, 1): ("sat", "a"), (0, 2): lost, (1, 0): ("sat", "b")}


def test_a_hanging_task_does_not_hold_up_the_others(scripted):
    order = [(number, reply.reason) for number, _, reply in run([task("hang", timeout=1.0), task("a"), task("b")], 2)]
    assert order == [(1, "a"), (2, "b"), (0, "timeout")]


def test_stopping_early_stops_the_workers(scripted):
    replies = run([task("hang"), task("a"), task("hang")], 3)
    assert next(replies)[0] == 1
    replies.close()
    assert multiprocessing.active_children() == []


def test_no_tasks_no_answers():
    assert answers([]) == {}


def test_answers_that_wait_for_a_slow_reader_are_not_lost(scripted, monkeypatch):
    replies = run([task("a", "b"), task("c")], 2)
    first = next(replies)
    for worker in multiprocessing.active_children():
        worker.join()
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 1000.0))
    assert sorted([first, *replies], key=lambda item: item[:2]) == [
        (0, 0, Reply("sat", "a")),
        (0, 1, Reply("sat", "b")),
        (1, 0, Reply("sat", "c")),
    ]


# -- races -----------------------------------------------------------------------------------------------------------


def test_the_first_decisive_answer_wins(scripted):
    assert race([task("hang"), task("unknown"), task("a")], 3) == (2, Reply("sat", "a"))


def test_with_one_job_tasks_are_tried_in_order(scripted):
    assert race([task("unknown"), task("a"), task("crash")], 1) == (1, Reply("sat", "a"))
    assert race([task("hang", timeout=0.05), task("b")], 1) == (1, Reply("sat", "b"))


def test_a_race_without_a_decisive_answer_is_unknown(scripted):
    assert race([task("unknown"), task("unknown")], 2)[1] == Reply("unknown", "no idea")
    assert race([], 2)[1].status == "unknown"


def test_a_race_asks_only_the_first_question(scripted):
    assert race([task("a", "crash")], 1) == (0, Reply("sat", "a"))


# -- real solvers ----------------------------------------------------------------------------------------------------

HARD = (
    "(declare-fun x () Int)(declare-fun y () Int)(declare-fun z () Int)",
    "(and (> x 2) (> y 2) (> z 2) (= (+ (* x x x) (* y y y)) (* z z z)))",
)
"""A sum of two cubes that is a cube: there is none, but no solver here knows why."""


@pytest.mark.parametrize("backend", ["z3", "cvc5"])
def test_a_hard_question_is_unknown_and_the_next_is_answered(backend):
    declarations, goal = HARD
    found = answers([task(goal, "(> x 2)", "false", timeout=1.0, backend=backend, declarations=declarations)])
    assert [status for status, _ in found.values()] == ["unknown", "sat", "unsat"]
    assert found[0, 0][1] == "timeout"


@pytest.mark.parametrize("backend", ["z3", "cvc5"])
def test_time_can_be_that_of_the_processor(backend):
    declarations, goal = HARD
    hard = task(goal, "(> x 2)", "false", timeout=0.5, backend=backend, declarations=declarations)
    found = answers([replace(hard, processor_time=True)])
    assert [status for status, _ in found.values()] == ["unknown", "sat", "unsat"]
    assert found[0, 0][1] == "timeout"


def test_both_solvers_answer_in_one_run():
    made = [
        task("p", "(and p (not p))", backend=name, declarations="(declare-fun p () Bool)") for name in ("z3", "cvc5")
    ]
    found = answers(made, 2)
    assert {key: status for key, (status, _) in found.items()} == {
        (0, 0): "sat",
        (0, 1): "unsat",
        (1, 0): "sat",
        (1, 1): "unsat",
    }


def test_running_out_of_memory_is_unknown():
    width = 4000
    declarations = f"(declare-fun a () (_ BitVec {width}))(declare-fun b () (_ BitVec {width}))"
    goal = f"(and (= (bvmul a b) (_ bv{2**61 - 1} {width})) (not (= a (_ bv1 {width}))) (not (= b (_ bv1 {width}))))"
    [(status, reason)] = answers([task(goal, memory_mb=64, declarations=declarations)]).values()
    assert status == "unknown" and "memory" in reason


# -- guarded calls ---------------------------------------------------------------------------------------------------


def call(function, *args, timeout=20.0, memory_mb=BIG_MEMORY):
    return guarded(function, *args, timeout=timeout, memory_mb=memory_mb)


def test_a_guarded_call_returns_the_value():
    assert call(divmod, 17, 5) == (3, 2)
    assert call(lambda: [os.getppid()]) == [os.getpid()], "in a process of its own"


def test_a_guarded_call_raises_what_the_function_raises():
    with pytest.raises(ZeroDivisionError):
        call(divmod, 1, 0)
    with pytest.raises(KeyError, match="missing"):
        call({}.__getitem__, "missing")


def test_a_value_that_cannot_be_sent_is_an_error_not_a_silence():
    with pytest.raises(Exception, match=r"pickle|local"):
        call(lambda: lambda: None)


def test_a_guarded_call_that_overruns_is_none():
    assert call(signal.pause, timeout=0.05) is None


def test_a_guarded_call_that_dies_is_none():
    assert call(os._exit, 3) is None
    assert call(signal.raise_signal, signal.SIGKILL) is None


def test_a_guarded_call_that_needs_too_much_memory_is_none():
    assert call(bytearray, 64 * 2**30, memory_mb=64) is None
    assert call(bytearray, 2**10, memory_mb=BIG_MEMORY) == bytearray(2**10)
