"""Mercury texts: both syntaxes, what is printed reads back, and every mistake is told where it is."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercury_programs import mutant, random_program
from quorate.lang import LoadedProcess, detect, load_any, parse, parse_any
from quorate.lang.diagnostics import LanguageError
from quorate.lang.mercury.printer import print_program
from quorate.models.process import Consensus, Goto, Internal, Partition, ProcessModel, Read, Receive, Send
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "mercury"
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "corpus"
CORPUS = sorted((Path(os.environ.get("QUORATE_CORPUS", BESIDE)) / "quicksilver").glob("*.ch"))


def read(text: str) -> ProcessModel:
    loaded = parse_any(Source("test.mercury", text))
    assert isinstance(loaded, LoadedProcess)
    return loaded.model


def problems(text: str) -> list[tuple[str, str, str]]:
    """Code, severity and marked text of each diagnostic."""
    try:
        found = parse_any(Source("test.mercury", text)).warnings
    except LanguageError as error:
        found = error.diagnostics
    return [(d.code, d.severity, text[d.span.start : d.span.end]) for d in found]


PAPER = """
process Store
variables
  int[1,5] cmd := 1
  idSet members
actions
  br ready : unit
  env
    rz doCmd : int[1,5]
    rz ret : int[1,2]
initial location Start
  on Partition<elect>(All,1)
    win: goto Lead
    lose: goto Follow
location Lead
  on recv(doCmd) do
    cmd := doCmd.payload
    if (cmd <= 2 && cmd != 1)
      goto Follow
    else if (cmd = 3)
      sendrz(ret[1], doCmd.sID)
    else
      goto Lead
  on _ where (cmd = 1) do
    sendbr(ready)
    members.add(self)
location Follow
  on Consensus<vc>(All,1,_) do
    cmd := vc.decVar[1]
    goto Start
  on recv(ready) do
    members.add(ready.sID)
"""

ARTIFACT = """
machine Store
variables
  int[1,5] cmd
  set members
actions
  br ready : unit
  env rz doCmd : int[1,5]
  env rz ret : int[1,2]
initial location Start
  on PartitionCons<elect>(All,1)
    win: goto Lead;
    lose: goto Follow;
location Lead
  on recv(doCmd) do
    cmd = doCmd.payld;
    if (cmd <= 2 && cmd != 1) { goto Follow; }
    else { if (cmd == 3) { rend(ret[1], doCmd.sID); } else { goto Lead; } }
  on _ where (cmd == 1) do
    broadcast(ready);
    members.add(self);
location Follow
  on ValueCons<vc>(All,1,_) do
    cmd = vc.desVal;
    goto Start;
  on recv(ready) do
    members.add(ready.sID);
"""


def test_the_syntaxes_of_the_paper_and_of_its_programs_say_the_same() -> None:
    assert read(PAPER) == read(ARTIFACT)


def test_what_a_program_is() -> None:
    model = read(PAPER)
    assert [location.name for location in model.locations] == ["Start", "Lead", "Follow"]
    assert [(a.name, a.broadcast, a.environment) for a in model.actions] == [
        ("ready", True, False),
        ("doCmd", False, True),
        ("ret", False, True),
    ]
    events = [handler.event for _, handler in model.handlers]
    assert isinstance(events[0], Partition) and events[0].winners == 1
    assert events[1] == Receive("doCmd") and events[2] == Internal()
    assert isinstance(events[3], Consensus) and events[3].proposal is None
    assert model.handlers[0][1].lose == (Goto("Follow"),)
    assert [variable.name for variable in model.registers] == ["vc.decVar", "ready.sID", "doCmd.payld"]


def test_a_reply_goes_to_the_last_sender() -> None:
    text = "process A\nactions\n br ask : unit\n rz say : int[0,1]\ninitial location L\n on recv(ask) {} say{}\n"
    short = read(text.format("reply", "[1]"))
    assert short == read(text.format("reply (", ", 1)"))
    assert short.handlers[0][1].body == (Send("say", False, short.handlers[0][1].body[0].payload, Read("ask.sID")),)  # type: ignore[union-attr]
    assert short.handlers[0][1].reply


def test_the_language_is_found_from_the_name_or_the_first_line() -> None:
    assert detect(Source("a.mercury", "")) == detect(Source("a.ch", "")) == "mercury"
    assert detect(Source("a", "// a comment\n/* more */ machine A\n")) == "mercury"
    assert detect(Source("a", "process A\n")) == "mercury"
    assert detect(Source("a", "processes A\n")) is None
    with pytest.raises(LanguageError, match="Q0003"):
        parse(Source("a.mercury", "process A\ninitial location L\n"))


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.mercury")), ids=lambda path: path.stem)
def test_the_library_comes_back_from_its_printed_form(path: Path) -> None:
    loaded = load_any(path)
    assert isinstance(loaded, LoadedProcess) and loaded.warnings == ()
    assert read(print_program(loaded.model)) == loaded.model


if CORPUS:

    @pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
    def test_published_programs_come_back_from_their_printed_form(path: Path) -> None:
        loaded = load_any(path)
        assert isinstance(loaded, LoadedProcess)
        assert read(print_program(loaded.model)) == loaded.model


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_random_programs_come_back_from_their_printed_form(seed: int) -> None:
    random = Random(seed)
    model = mutant(random_program(random), random)
    assert read(print_program(model)) == model


HEAD = "process A\nvariables\n int[0,2] x\n set s\n id who\nactions\n br b : unit\n rz r : int[0,1]\n env rz e : unit\n"

WRONG = {
    "process A\ninitial location L\n on _ do goto M\n": [("Q0402", "error", "M")],
    "process A\nlocation L\n": [("Q0402", "error", "L")],
    "process A\ninitial location L\ninitial location M\n on _ do goto L": [("Q0402", "error", "M")],
    "process A\nsatisfies safety atmost(1, {M})\ninitial location L\n": [("Q0402", "error", "M")],
    "process A\ncrash locations: M\ninitial location L\n": [("Q0402", "error", "M")],
    "process A\ninitial location L\nlocation M\n": [("Q0403", "warning", "M")],
    f"{HEAD}initial location L\n on recv(c) do goto L": [("Q0401", "error", "c")],
    f"{HEAD}initial location L\n passive c": [("Q0401", "error", "c")],
    f"{HEAD}initial location L\n on _ do x := c.payload": [("Q0401", "error", "c.payload")],
    f"{HEAD}initial location L\n on _ do s := p.winS": [("Q0401", "error", "p.winS")],
    f"{HEAD}initial location L\n on _ do y := 1": [("Q0201", "error", "y")],
    f"{HEAD}initial location L\n on _ do x := 3": [("Q0404", "error", "3")],
    f"{HEAD}initial location L\n on _ do sendrz(r[2])\n on recv(r) do goto L": [("Q0404", "error", "2")],
    f"{HEAD}initial location L\n on _ do sendrz(r)\n on recv(r) do goto L": [("Q0405", "error", "sendrz(r)")],
    f"{HEAD}initial location L\n on _ do sendbr(b[1])\n passive b": [("Q0405", "error", "1")],
    f"{HEAD}initial location L\n on _ do sendrz(b)\n passive b": [("Q0405", "error", "b")],
    f"{HEAD}initial location L\n on recv(e) do who := e.sID": [("Q0405", "error", "e.sID")],
    f"{HEAD}initial location L\n on recv(e) reply r[1]\n on recv(r) do goto L": [("Q0405", "error", "r[1]")],
    f"{HEAD}initial location L\n on _ do x := s": [("Q0203", "error", "s")],
    f"{HEAD}initial location L\n on _ do x.add(self)": [("Q0203", "error", "x")],
    f"{HEAD}initial location L\n on _ do s.add(x)": [("Q0203", "error", "x")],
    f"{HEAD}initial location L\n on _ where (s == s) do goto L": [("Q0203", "error", "s == s")],
    f"{HEAD}initial location L\n on _ where (who < self) do goto L": [("Q0203", "error", "who < self")],
    f"{HEAD}initial location L\n on _ where (x) do goto L": [("Q0203", "error", "x")],
    f"process A\nsatisfies safety atmost(1, {{L: s == s}})\n{HEAD[10:]}initial location L\n": [
        ("Q0203", "error", "s == s")
    ],
    "process A\nvariables\n int[2,1] x\ninitial location L\n": [("Q0404", "error", "2,1")],
    "process A\nvariables\n int[1,2] x := 3\ninitial location L\n": [("Q0404", "error", "3")],
    "process A\nvariables\n set L\ninitial location L\n": [("Q0205", "error", "L")],
    "process A\ninitial location L\n on Partition<p>(All, 1)\n  win: goto M\n  lose: goto L\n"
    "location M\n on Partition<p>(All, 2)\n  win: goto M\n  lose: goto L\n": [
        ("Q0406", "error", "Partition<p>(All, 2)")
    ],
    "process A\ninitial location L\n on Partition<p>(All, 0)\n  win: goto L\n  lose: goto L\n": [
        ("Q0404", "error", "0")
    ],
    "process A\nvariables\n int[0,1] x\ninitial location L\n on Consensus<c>(All, 2, x) do goto L\n": [
        ("Q0104", "error", "2")
    ],
    "process A\nvariables\n int[0,N] x\n int[1,2] y\ninitial location L\n on Consensus<c>(All, 1, x) do goto M\n"
    "location M\n on Consensus<c>(All, 1, y) do goto L\n": [("Q0406", "error", "y")],
    f"process A\ninitial location L\n on Partition<p>(All, {'1' * 5000})\n  win: goto L\n  lose: goto L\n": [
        ("Q0103", "error", "1" * 5000)
    ],
    "process A\ninitial location L\n on Consensus<c>(All, 1, _) do goto L\n": [
        ("Q0407", "warning", "Consensus<c>(All, 1, _)")
    ],
    f"{HEAD}initial location L\n on recv(b) do goto L": [("Q0407", "warning", "b")],
    f"{HEAD}initial location L\n on _ do sendrz(r[1])": [("Q0407", "warning", "r")],
    f"{HEAD}initial location L\n on _ do\n goto L\n x := 1": [("Q0408", "warning", "x := 1")],
    "process A\nsatisfies liveness AF {L}\ninitial location L\n": [("Q0104", "error", "liveness")],
    "process A\ninitial location L\n on _ do goto ??;": [("Q0104", "error", "??")],
    "process A\ninitial location L\n on _ goto L\n": [("Q0101", "error", "goto")],
    "process A\ninitial location L\n on recv(a do goto L\nlocation M\n on nothing do goto L\n": [
        ("Q0101", "error", "do"),
        ("Q0101", "error", "nothing"),
    ],
    "proces A\n": [("Q0101", "error", "proces")],
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told_where_they_are(text: str) -> None:
    found, expected = problems(text), WRONG[text]
    assert [item for item in found if item in expected] == expected
    assert {item for item in found if item[1] == "error"} == {item for item in expected if item[1] == "error"}


@given(st.text('processLMlocatinbrz:;(){}[]<>,.=!&|+-*/0129 \n"_', max_size=120))
@settings(max_examples=150, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    try:
        parse_any(Source("test.mercury", f"process A {text}"))
    except LanguageError as error:
        assert error.diagnostics
