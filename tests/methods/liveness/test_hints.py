"""Hints are optional, counted, never believed; without a proof it is said what is not covered, and what would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import LanguageError, load, parse
from quorate.lang.pyv.printer import print_model
from quorate.methods.liveness.claims import Missing
from quorate.methods.liveness.live import Options, live, prove
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "liveness"
LIMITS = Limits(jobs=1)

# What is left has left or entered: no set of a conjunction of literals shrinks by `drop`.
DISJUNCTION = """
sort item
mutable relation outside(item)
mutable relation inside(item)
init outside(X) & !inside(X)
transition enter(x: item)
  modifies outside, inside
  & outside(x)
  & (new(outside(X)) <-> outside(X) & X != x)
  & (new(inside(X)) <-> inside(X) | X = x)
transition back(x: item)
  modifies outside, inside
  & inside(x)
  & (new(outside(X)) <-> outside(X) | X = x)
  & (new(inside(X)) <-> inside(X) & X != x)
transition drop(x: item)
  modifies inside
  & inside(x)
  & (new(inside(X)) <-> inside(X) & X != x)
fairness [enters] weak forall X. enter(X)
fairness [drops] strong forall X. drop(X)
liveness [gone] true ~> forall X. !outside(X) & !inside(X)
"""


def outcome(text: str) -> tuple[str, str]:
    found = live(parse(Source("hints.pyv", text)).model, LIMITS, Options(seconds=60)).results
    return found[0].verdict, found[0].reason


def test_a_rank_that_is_not_found_can_be_given() -> None:
    verdict, reason = outcome(DISJUNCTION)
    assert verdict == "unknown"
    assert "no ranking covers enter, back, drop; for one, " in reason and " where " in reason
    verdict, reason = outcome(DISJUNCTION + "  hint rank forall X. outside(X) | inside(X)\n")
    assert verdict == "proved"
    assert "with 1 hint" in reason


def test_wrong_hints_do_no_harm() -> None:
    wrong = "  hint rank forall X. !outside(X)\n  hint invariant outside(X)\n"
    verdict, reason = outcome(DISJUNCTION + "  hint rank forall X. outside(X) | inside(X)\n" + wrong)
    assert verdict == "proved"
    assert "with 1 hint" in reason
    assert outcome(DISJUNCTION + wrong)[0] == "unknown"


def test_what_would_do_is_proposed() -> None:
    model = load(LIBRARY / "broken" / "lease_lock_weakly_fair.pyv").model
    with pytest.raises(Missing, match="strong fairness of grant would do"):
        prove(model, model.liveness[0], LIMITS, Options(seconds=60))


def test_hints_are_read_written_and_checked() -> None:
    text = DISJUNCTION + "  hint rank forall X. outside(X) | inside(X)\n  hint invariant !outside(X) | !inside(X)\n"
    model = parse(Source("hints.pyv", text)).model
    kinds = [(hint.kind, len(hint.variables)) for hint in model.liveness[0].hints]
    assert kinds == [("rank", 1), ("invariant", 0)]
    again = parse(Source("again.pyv", print_model(model))).model
    assert again.liveness[0].hints == model.liveness[0].hints
    with pytest.raises(LanguageError) as caught:
        parse(Source("hints.pyv", DISJUNCTION + "  hint rank outside(Y)\n"))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["Q0704"]
    with pytest.raises(LanguageError) as caught:
        parse(Source("hints.pyv", DISJUNCTION + "  hint tier outside(Y)\n"))
    assert "expected `rank` or `invariant`" in caught.value.diagnostics[0].message
