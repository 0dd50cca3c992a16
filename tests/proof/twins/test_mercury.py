"""The twin of Mercury: what each construct does, on the smallest program, and that everything else agrees with it."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from compare_mercury import form_differs, reached, semantics_differ, steps, twin_of
from mercury_programs import rich_program
from quorate.lang import load_any, parse_any
from quorate.models.forms import relational_form
from quorate.models.process import ProcessModel
from quorate.models.source import Source
from quorate.proof.twins import twins
from quorate.proof.twins.choices import every
from quorate.proof.twins.mercury import MercuryTwin

ROOT = Path(__file__).parents[3]
LIBRARY = sorted((ROOT / "protocols" / "mercury").rglob("*.mercury"))
BESIDE = ROOT.resolve().parent / "shared" / "corpus"
CORPUS = sorted((Path(os.environ.get("QUORATE_CORPUS", BESIDE)) / "quicksilver").glob("*.ch"))


def program(text: str, processes: int) -> MercuryTwin:
    model = parse_any(Source("a.mercury", f"process A\n{text}\n")).model
    assert isinstance(model, ProcessModel)
    assert list(semantics_differ(model, processes, 1000)) == []
    assert list(form_differs(model, processes, 30)) == []
    found = twin_of(model, processes)
    assert found is not None
    return found


def after(twin: MercuryTwin, *moves: str) -> set[str]:
    """The states after moves of these names, each as one line."""
    states = set(every(twin.start))
    for name in moves:
        states = {new for state in states for move, new in steps(twin, state) if move.name == name}
    return {twin.show(state).replace("\n", "; ") for state in states}


def enabled(twin: MercuryTwin, *moves: str) -> set[str]:
    """The moves that are possible then."""
    states = set(every(twin.start))
    for name in moves:
        states = {new for state in states for move, new in steps(twin, state) if move.name == name}
    return {str(move) for state in states for move, _ in steps(twin, state)}


X = "variables\n  int[0,2] x\n  int[0,2] y\n"


def test_statements_in_order_and_conditions() -> None:
    text = (
        f"{X}initial location L\n  on _ do\n    x := 2\n    y := x - 1\n    if (y = 1 && x != 1)\n"
        f"      x := y\n      goto M\n"
    )
    assert after(program(f"{text}    x := 0\nlocation M\n", 1), "L") == {"P0: M, x = 1, y = 1"}


def test_the_else_of_a_condition() -> None:
    text = f"{X}initial location L\n  on _ do\n    if (x > 0 || !(y = 0)) x := 1\n    else y := 2\n    goto M\nlocation M\n"
    assert after(program(text, 1), "L") == {"P0: M, x = 0, y = 2"}


@pytest.mark.parametrize(
    ("value", "found"), [("2 + 1", 0), ("0 - 1", 2), ("2 * 2", 1), ("2 / 0", 0), ("2 / 2", 1), ("N + 1", 2)]
)
def test_integers_count_on_from_the_other_end(value: str, found: int) -> None:
    text = f"{X}initial location L\n  on _ do\n    x := {value}\n    goto M\nlocation M\n"
    assert after(program(text, 1), "L") == {f"P0: M, x = {found}, y = 0"}


def test_first_values_and_bounds_that_depend_on_the_number_of_processes() -> None:
    text = "variables\n  int[1,N] x := N\n  idSet s\n  id who\ninitial location L\n"
    assert after(program(text, 3)) == {"; ".join(f"P{i}: L, x = 3, s = {{}}, who = nobody" for i in range(3))}


def test_a_handler_without_goto_stays_and_a_condition_on_it() -> None:
    text = f"{X}initial location L\n  on _ where (x = 0) do\n    x := 1\n"
    twin = program(text, 1)
    assert after(twin, "L") == {"P0: L, x = 1, y = 0"} and enabled(twin, "L") == set()


def test_sets_and_identities() -> None:
    text = (
        "variables\n  idSet s\n  idSet t\n  id who\ninitial location L\n  on _ do\n    s.add(who)\n"
        "    s.add(self)\n    who := self\n"
        "    t := All\n    t.removeAll(s)\n    s.addAll(t)\n    s.remove(who)\n    goto M\nlocation M\n"
    )
    twin = program(text, 2)
    assert "P0: M, s = {P1}, t = {P1}, who = P0; P1: L, s = {}, t = {}, who = nobody" in after(twin, "L")


def test_a_broadcast_reaches_everyone_or_waits() -> None:
    head = (
        "variables\n  int[0,1] x\nactions\n  br a : int[0,1]\ninitial location L\n  on _ do\n"
        "    sendbr(a[x + 1])\n    goto M\n"
    )
    receives = head + "  on recv(a) do\n    x := a.payload\n    goto R\n"
    twin = program(f"{receives}location M\n  passive a\nlocation R\n", 3)
    assert "P0: M, x = 0; P1: R, x = 1; P2: R, x = 1" in {
        line.replace(", a.payld = 0", "") for line in after(twin, "a")
    }
    assert enabled(twin, "a") == set()
    assert enabled(program(f"{head}location M\n", 2)) == set()
    assert enabled(program(f"{head}location M\n", 1)) == {"a(from = P0, payload = 1)"}


def test_a_process_that_can_receive_in_two_ways_takes_either() -> None:
    text = (
        "actions\n  br a : unit\ninitial location L\n  on _ do sendbr(a) goto S\n"
        "  on recv(a) do goto M\n  passive a\nlocation S\nlocation M\n"
    )
    assert after(program(text, 2), "a") == {"P0: S; P1: M", "P0: S; P1: L", "P0: M; P1: S", "P0: L; P1: S"}


def test_a_rendezvous_with_anyone_and_with_the_one_that_is_named() -> None:
    text = (
        "variables\n  id who\nactions\n  rz a : unit\n  rz b : unit\ninitial location L\n  on _ do sendrz(a) goto S\n"
        "  on recv(a) do\n    who := a.sID\n    goto M\nlocation M\n  on _ do sendrz(b, who) goto L\n"
        "location S\n  on recv(b) do goto T\nlocation T\n"
    )
    twin = program(text, 3)
    assert enabled(twin) == {f"a(from = P{i}, to = P{j})" for i in range(3) for j in range(3) if i != j}
    assert enabled(twin, "a", "a") == set() or all("b" in move or "a" in move for move in enabled(twin, "a", "a"))
    two = program(text, 2)
    assert after(two, "a", "b") == {"P0: T, who = nobody; P1: L, who = P0", "P0: L, who = P1; P1: T, who = nobody"}


def test_nobody_receives_nothing() -> None:
    text = (
        "variables\n  id who\nactions\n  rz a : unit\ninitial location L\n  on _ do sendrz(a, who)\n"
        "  on recv(a) do goto M\nlocation M\n"
    )
    assert enabled(program(text, 2)) == set()


def test_a_reply_goes_to_the_sender_and_the_process_waits_before_it() -> None:
    text = (
        "actions\n  rz ask : unit\n  rz say : int[0,1]\ninitial location L\n  on _ do sendrz(ask) goto W\n"
        "  on recv(ask) reply say[1]\nlocation W\n  on recv(say) where (say.payload = 1) do goto D\nlocation D\n"
    )
    twin = program(text, 3)
    (first, *_) = sorted(after(twin, "ask"))
    assert "waits to send" in first
    assert all("D" in line for line in after(twin, "ask", "say"))


def test_a_process_that_waits_takes_part_in_nothing_else() -> None:
    text = (
        "actions\n  br a : unit\n  rz b : unit\n  env rz go : unit\ninitial location L\n"
        "  on recv(go) do\n    sendbr(a)\n    goto M\n"
        "  on recv(a) do goto L\nlocation M\n  on recv(a) do goto M\n"
    )
    twin = program(text, 2)
    assert enabled(twin, "go") == {"a(from = P0)", "a(from = P1)", "go(to = P0)", "go(to = P1)"}
    assert enabled(twin, "go", "go") == set()


def test_the_environment_sends_everything_and_receives_everything() -> None:
    text = (
        "variables\n  int[0,2] x\nactions\n  env rz up : int[1,2]\n  env br reset : unit\n"
        "  env rz done : unit\ninitial location L\n"
        "  on recv(up) do\n    x := up.payload\n    goto M\n  passive reset\nlocation M\n"
        "  on recv(reset) do goto L\n  on _ do sendrz(done)\n"
    )
    twin = program(text, 2)
    assert enabled(twin) == {"reset"} | {f"up(payload = {v}, to = P{i})" for v in (1, 2) for i in (0, 1)}
    assert "P0: L, x = 2; P1: L, x = 0" in after(twin, "up", "reset")
    assert "done(from = P0)" in enabled(twin, "up")


def test_what_an_event_leaves_behind_lasts_while_another_handler_reads_it() -> None:
    text = (
        "variables\n  int[0,2] x\nactions\n  env rz up : int[1,2]\n  env rz copy : unit\ninitial location L\n"
        "  on recv(up) do goto L\n  on recv(copy) do\n    x := up.payload\n    goto M\nlocation M\n"
    )
    twin = program(text, 1)
    assert after(twin, "copy") == {"P0: M, x = 1, up.payld = 1"}
    assert after(twin, "up", "copy") == {"P0: M, x = 1, up.payld = 1", "P0: M, x = 2, up.payld = 2"}


def test_a_partition_among_exactly_those_who_wait_for_it() -> None:
    text = (
        "variables\n  idSet s\ninitial location L\n  on Partition<p>(All, 2)\n    win: s := p.winS\n"
        "      goto W\n    lose: s := p.loseS\n      goto M\n"
        "location W\nlocation M\n"
    )
    found = {
        line.replace(", ", " ").replace("p.winS", "w").replace("p.loseS", "l") for line in after(program(text, 3), "p")
    }
    assert len(found) == 3
    assert (
        "P0: W s = {P0 P1} w = {P0 P1} l = {P2}; P1: W s = {P0 P1} w = {P0 P1} l = {P2}; P2: M s = {P2} w = {P0 P1} l = {P2}"
        in found
    )
    assert enabled(program(text, 1)) == {"p(winners = P0)"}
    away = "initial location L\n  on _ do goto M\n  on Partition<p>(All, 1)\n    win: goto M\n    lose: goto M\nlocation M\n"
    assert enabled(program(away, 2), "L") == {"L(who = P0)", "L(who = P1)"}


def test_a_consensus_decides_what_somebody_proposes() -> None:
    text = (
        "variables\n  int[0,2] x\n  int[0,2] y := 2\nactions\n  env rz up : unit\ninitial location L\n"
        "  on recv(up) do goto M\n"
        "  on Consensus<c>(All, 1, x) do\n    x := c.decVar\n    goto D\nlocation M\n"
        "  on Consensus<c>(All, 1, y) do\n    x := c.decVar[1]\n    goto D\nlocation D\n"
    )
    twin = program(text, 2)
    assert enabled(twin, "up") & {"c(decided = 0)", "c(decided = 2)"} == {"c(decided = 0)", "c(decided = 2)"}
    assert any(line.startswith("P0: D, x = 2") and "P1: D, x = 2" in line for line in after(twin, "up", "c"))
    nobody = "initial location L\n  on Consensus<c>(All, 1, _) do goto L\n"
    assert enabled(program(nobody, 2)) == set()


def test_participants_of_a_consensus_may_crash_as_long_as_more_than_half_go_on() -> None:
    text = (
        "variables\n  int[0,1] x\ncrash locations: L\ninitial location L\n"
        "  on Consensus<c>(All, 1, x) do goto D\nlocation D\n"
    )
    assert enabled(program(text, 3)) == {"c(decided = 0)"} | {
        f"{kind}(who = P{i})" if kind == "crash" else f"c(decided = 0, crashed = P{i})"
        for kind in ("crash", "c")
        for i in range(3)
    }
    assert {move for move in enabled(program(text, 2)) if "crashed" in move} == set()


def test_what_was_proposed_by_who_crashes_meanwhile_may_be_decided() -> None:
    text = (
        f"{X}crash locations: K\ninitial location L\n  on Partition<p>(All, 1)\n    win: x := 1 y := 1 goto K\n"
        "    lose: goto K\nlocation K\n  on Consensus<c>(All, 1, x) do\n    x := c.decVar\n    goto D\nlocation D\n"
    )
    assert "P0: crashed; P1: D, x = 1, y = 0; P2: D, x = 1, y = 0" in after(program(text, 3), "p", "c")


def test_who_crashes_is_in_no_set_and_holds_up_nobody() -> None:
    text = (
        "variables\n  idSet s\nactions\n  br a : unit\ncrash actions: a\ninitial location L\n  on _ do\n"
        "    s := All\n    goto M\n"
        "location M\n  on _ do sendbr(a) goto D\n  on recv(a) do goto D\nlocation D\n"
    )
    twin = program(text, 2)
    assert "P0: M, s = {P0}; P1: crashed" in after(twin, "L", "L", "crash")
    assert after(twin, "L", "L", "crash", "a") == {"P0: D, s = {P0}; P1: crashed", "P0: crashed; P1: D, s = {P1}"}
    assert "crash(who = P0)" not in enabled(twin)


def test_properties_by_their_names() -> None:
    text = (
        "satisfies safety [few] atmost(1, {M: x = 1 && x < 2, L: x > 1}) safety atleast(1, {L}) && !atmost(0, {M, L})\n"
        f"  safety [either] atmost(0, {{M}}) || atmost(0, {{L}})\n{X}initial location L\n  on _ do\n"
        f"    x := 1\n    goto M\nlocation M\n"
    )
    twin = program(text, 2)
    assert twin.properties == ("few", "atleast(1,{L})", "!atmost(0,{M,L})", "either")
    false = {twin.show(state): twin.falsified(state) for state in reached(twin, 10) or ()}
    assert false == {
        "P0: L, x = 0, y = 0\nP1: L, x = 0, y = 0": (),
        "P0: M, x = 1, y = 0\nP1: L, x = 0, y = 0": ("either",),
        "P0: L, x = 0, y = 0\nP1: M, x = 1, y = 0": ("either",),
        "P0: M, x = 1, y = 0\nP1: M, x = 1, y = 0": ("few", "atleast(1,{L})"),
    }


def test_a_counter_is_shown_as_the_set_of_those_whom_it_has_counted() -> None:
    text = (
        "variables\n  int[0,N] n\nactions\n  br a : unit\ninitial location L\n  on recv(a) do\n"
        "    n := n + 1\n    if (n = N - 1) goto M\n"
        "  on _ do sendbr(a)\nlocation M\n  on recv(a) do\n    n := n + 2\nlocation R\n"
    )
    twin = program(text, 2)
    state = next(
        new for _, new in steps(twin, next(every(twin.start))) if twin.show(new) == "P0: L, n = 0\nP1: M, n = 1"
    )
    structure = twin.structure(state)
    assert structure is not None
    tables = {symbol.name: table for symbol, table in structure.tables.items()}
    assert tables["n~counted"] == {(0, 0): False, (0, 1): False, (1, 0): True, (1, 1): False}
    assert tables["n~lost"] == {(0,): 0, (1,): 0}


def test_a_counter_that_is_set_to_zero_has_counted_nobody() -> None:
    text = (
        "variables\n  int[0,N] n\nactions\n  br a : unit\ninitial location L\n  on recv(a) do\n    n := n + 1\n    goto M\n"
        "  on _ do sendbr(a)\nlocation M\n  passive a\n  on _ where (n >= N - 1) do\n    n := 0\n    goto L\n"
    )
    assert "P0: L, n = 0; P1: L, n = 0" in after(program(text, 2), "a", "M")


def test_everyone_decides_what_one_of_them_proposes() -> None:
    text = (
        "variables\n  int[0,1] x\nactions\n  env rz up : unit\ninitial location L\n  on recv(up) do x := 1\n"
        "  on Consensus<c>(All, 1, x) do\n    x := c.decVar\n    goto D\nlocation D\n"
    )
    assert after(program(text, 2), "up", "c") == {f"P0: D, x = {v}; P1: D, x = {v}" for v in (0, 1)}


def test_what_is_decided_is_in_the_range_of_all_that_is_proposed() -> None:
    """A bound that was computed was left out of the range, and the form took another value for what lay outside."""
    text = (
        "variables\n  int[0,0+1] x\n  int[1,2] y\n  int[0,2] z := 2\nactions\n  env rz up : unit\ninitial location L\n"
        "  on recv(up) do goto M\n  on Consensus<c>(All, 1, x) do\n    z := c.decVar\n    goto D\nlocation M\n"
        "  on Consensus<c>(All, 1, y) do\n    z := c.decVar\n    goto D\nlocation D\n  on _ do z := c.decVar\n"
    )
    assert any(
        line.startswith("P0: D, x = 0, y = 1, z = 0, c.decVar = 0") for line in after(program(text, 2), "up", "c")
    )


def test_sizes_at_which_a_range_is_empty_are_left_out() -> None:
    model = parse_any(Source("a.mercury", "process A\nvariables\n  int[1,N-1] x\ninitial location L\n")).model
    assert [twin.size for twin in twins(model)] == [f"processes={n}" for n in (2, 3, 4, 5)]
    model = parse_any(Source("a.mercury", "process A\nvariables\n  int[0,N-1] x := 2\ninitial location L\n")).model
    assert [twin.size for twin in twins(model)] == [f"processes={n}" for n in (3, 4, 5)]


@pytest.mark.parametrize("path", [*LIBRARY, *CORPUS], ids=lambda path: path.stem)
def test_library_and_corpus(path: Path) -> None:
    model = load_any(path).model
    assert isinstance(model, ProcessModel)
    random = Random(0)
    for processes in (1, 2):
        assert list(semantics_differ(model, processes, 150)) == []
        assert list(semantics_differ(model, processes, 10, random)) == []
        assert list(form_differs(model, processes, 6)) == []
    assert relational_form(model).name


def random_programs_agree(seeds: range, states: int) -> None:
    for seed in seeds:
        random = Random(seed)
        model = rich_program(random)
        for processes in (1, 2, 3):
            found = list(semantics_differ(model, processes, states))
            found += semantics_differ(model, processes, states // 5, random)
            if processes < 3:
                found += form_differs(model, processes, states // 10)
                found += form_differs(model, processes, states // 10, random)
            assert found == [], f"seed {seed}"


def test_random_programs() -> None:
    random_programs_agree(range(60), 50)


@pytest.mark.slow
def test_many_random_programs() -> None:
    random_programs_agree(range(1000, 3000), 60)
