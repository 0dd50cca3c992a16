"""Violations that come about because an instance has too few elements, and others."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.methods.liveness.check import check_liveness
from quorate.methods.liveness.live import Options, live
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "liveness"

DRAWN = """
sort number
immutable relation below(number, number)
axiom !below(X, X)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom X = Y | below(X, Y) | below(Y, X)
mutable relation used(number)
mutable relation asked
mutable relation served
init !used(X) & !asked & !served
transition ask(n: number)
  modifies used, asked
  & !used(n) & !asked & new(asked)
  & (new(used(X)) <-> used(X) | X = n)
transition serve(n: number)
  modifies used, asked, served
  & asked & !used(n) & new(served) & !new(asked)
  & (new(used(X)) <-> used(X) | X = n)
fairness weak serve
liveness [served] asked ~> served
"""


def test_a_run_that_is_stuck_for_want_of_numbers() -> None:
    """With one number, it is used up before anybody is served; this is a fact about the instance."""
    model = parse(Source("drawn.pyv", DRAWN)).model
    instance = Instance(model, {model.sorts[0]: 1})
    (result,), _ = check_liveness(instance)
    assert result.verdict == "violated"
    assert result.reason.endswith("but with more elements of number this run would not violate the property")
    (result,), _ = check_liveness(instance, lasting=True)
    assert (result.verdict, result.evidence) == ("unknown", None)
    (result,) = live(model, Limits(jobs=1), Options(20, propose=False)).results
    assert result.verdict != "violated"


@pytest.mark.parametrize("word", ["finite ", "unbounded "])
def test_what_the_file_says_counts(word: str) -> None:
    model = parse(Source("drawn.pyv", DRAWN.replace("sort", f"{word}sort", 1))).model
    (result,), _ = check_liveness(Instance(model, {model.sorts[0]: 1}), lasting=True)
    assert result.verdict == ("violated" if word == "finite " else "unknown")


def test_a_run_that_goes_round_with_any_number_of_elements() -> None:
    """Nothing makes the server serve: numbers have nothing to do with it."""
    idle = "transition idle()\n  modifies asked\n  & asked & new(asked)\n"
    text = DRAWN.replace("fairness weak serve\n", idle)
    model = parse(Source("idle.pyv", text)).model
    (result,), _ = check_liveness(Instance(model, {model.sorts[0]: 2}), lasting=True)
    assert (result.verdict, result.reason) == ("violated", "after 1 step, a fair loop of 1 steps")


def test_fairness_towards_new_elements_counts() -> None:
    """The loop is fair to the numbers that there are; one more would have to be marked first, and marking it serves."""
    text = (
        DRAWN.split("mutable relation used")[0]
        + """
mutable relation marked(number)
mutable relation served
init !marked(X) & !served
transition mark(n: number)
  modifies marked, served
  & !marked(n)
  & (new(marked(X)) <-> marked(X) | X = n)
  & (new(served) <-> exists X. X != n & marked(X))
transition idle()
  modifies served
  & !served & !new(served)
fairness weak forall N. mark(N)
liveness [served] true ~> served
"""
    )
    model = parse(Source("marked.pyv", text)).model
    (result,), _ = check_liveness(Instance(model, {model.sorts[0]: 1}), lasting=True)
    assert result.verdict == "unknown"


@pytest.mark.parametrize("name", ["ticket_lock_no_fair_entry", "sliding_window_weak_network"])
def test_library_violations_do_not_come_from_small_sizes(name: str) -> None:
    model = load(LIBRARY / "broken" / f"{name}.pyv").model
    (result,), _ = check_liveness(Instance(model, dict.fromkeys(model.sorts, 3)), lasting=True)
    assert result.verdict == "violated"


NUMBERS = """
sort num
immutable relation lt(num, num)
axiom lt(X, Y) & lt(Y, Z) -> lt(X, Z)
axiom !lt(X, X)
axiom lt(X, Y) | lt(Y, X) | X = Y
"""
MARK = """
mutable constant x: num
mutable relation done
init !done
"""
ENDS = {
    "several numbers above at once": (
        "",
        "transition go(a: num, b: num, c: num, d: num) modifies done\n"
        "  lt(x, a) & lt(a, b) & lt(b, c) & lt(c, d) & new(done)\n",
    ),
    "only even sizes": (
        "immutable function mate(num): num\naxiom mate(X) != X & mate(mate(X)) = X\n",
        "transition go(a: num) modifies done lt(x, a) & new(done)\n",
    ),
    "one message per number": (
        "unbounded sort msg\nimmutable function m(num): msg\naxiom m(X) = m(Y) -> X = Y\n",
        "transition go(a: num) modifies done lt(x, a) & new(done)\n",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_run_that_ends_for_want_of_numbers_is_no_violation(name: str) -> None:
    axioms, step = ENDS[name]
    model = parse(Source("ends.pyv", NUMBERS + axioms + MARK + step + "liveness [goes] true ~> done\n")).model
    found = live(model, Limits(timeout=3.0, jobs=1), Options(8.0)).results
    assert [result.verdict for result in found] == ["unknown"]
