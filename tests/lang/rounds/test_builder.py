"""Algorithms built in Python are those of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.lang import load_rounds
from quorate.lang.diagnostics import LanguageError
from quorate.lang.rounds.builder import Algorithm

LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"


def test_one_third_rule() -> None:
    a = Algorithm("OneThirdRule")
    x = a.variable("x", "value", "proposal")
    with a.round("1") as heard:
        a.send(x)
        with a.when(heard.count("_") > 2 * a.n / 3):
            a.assign(x, heard.pick("smallest most frequent", "v", "v"))
            with a.when(heard.count(x) > 2 * a.n / 3):
                a.decide(x)
    a.declare("sync forall p, q. HO(p, 1) = HO(q, 1) and #HO(p, 1) > 2*n/3 and #HO(p, 2) > 2*n/3")
    a.declare("property agreement, validity, termination")
    a.declare("univalent v: #{q : x(q) = v} > 2*n/3")
    assert a.model() == load_rounds(LIBRARY / "one_third_rule.rounds").model


def test_last_voting() -> None:
    a = Algorithm("LastVoting")
    ack = a.tag("ack")
    x = a.variable("x", "value", "proposal")
    vote = a.variable("vote", "value or ?", "?")
    commit, ready = (a.variable(name, "bool", "false") for name in ("commit", "ready"))
    ts = a.variable("ts", "time", 0)
    mine = a.coordinator == a.me
    with a.round("1") as heard:
        a.send(x, ts, to="coordinator")
        with a.when(mine & (heard.count("_", "_") > a.n / 2)):
            a.assign(vote, heard.pick("one", "v", "v", "t", largest="t"))
            a.assign(commit, "true")
    with a.round("2") as heard:
        a.send(vote, condition=mine & commit)
        with a.when(heard.received("v", from_coordinator=True)):
            a.assign(x, "v")
            a.assign(ts, a.phase)
    with a.round("3") as heard:
        a.send(ack, to="coordinator", condition=ts == a.phase)
        with a.when(mine & (heard.count(ack) > a.n / 2)):
            a.assign(ready, "true")
    with a.round("4") as heard:
        a.send(vote, condition=mine & ready)
        with a.when(heard.received("v", from_coordinator=True)):
            a.decide("v")
        with a.when(mine):
            a.assign(ready, "false")
            a.assign(commit, "false")
    a.declare("property agreement")
    built, known = a.model(), load_rounds(LIBRARY / "last_voting.rounds").model
    assert (built.variables, built.rounds, built.tags) == (known.variables, known.rounds, known.tags)


def test_mistakes_are_told() -> None:
    a = Algorithm("Wrong")
    a.variable("x", "value", "proposal")
    with a.round():
        a.send("y")
    with pytest.raises(LanguageError, match="y"):
        a.model()
