"""What Mercury programs do: each decision about the semantics, on the smallest program that shows it."""

from __future__ import annotations

from quorate.lang import LoadedProcess, parse_any
from quorate.models.process_names import CRASHED
from quorate.models.process_semantics import ProcessSemantics, State, Step
from quorate.models.source import Source


def program(text: str, processes: int) -> ProcessSemantics:
    loaded = parse_any(Source("test.mercury", f"process A\n{text}"))
    assert isinstance(loaded, LoadedProcess)
    return ProcessSemantics(loaded.model, processes)


def after(semantics: ProcessSemantics, *kinds: str) -> list[State]:
    """The states reached by steps of these kinds or names, one after the other."""
    states = [semantics.initial]
    for kind in kinds:
        states = [s for state in states for step, s in semantics.successors(state) if kind in (step.kind, step.name)]
    return states


def places(state: State) -> list[str]:
    return [local.location for local in state]


def steps(semantics: ProcessSemantics, state: State) -> list[Step]:
    return [step for step, _ in semantics.successors(state)]


def test_statements_are_executed_in_order() -> None:
    semantics = program("variables\n int[0,1] x\n int[0,1] y\ninitial location L\n on _ do x := 1 y := x goto L", 1)
    (state,) = after(semantics, "internal")
    assert state[0].values == (1, 1)


def test_integers_count_on_from_the_other_end() -> None:
    semantics = program("variables\n int[1,2] x := 2\ninitial location L\n on _ do x := x + 1", 1)
    (state,) = after(semantics, "internal")
    assert state[0].values == (1,)
    semantics = program("variables\n int[1,2] x\ninitial location L\n on _ do x := x - 1", 1)
    assert after(semantics, "internal")[0][0].values == (2,)


def test_a_goto_ends_the_handler() -> None:
    text = "variables\n int[0,1] x\ninitial location L\n on _ do if (x = 0) { goto M } x := 1\nlocation M\n"
    (state,) = after(program(text, 1), "internal")
    assert (state[0].location, state[0].values) == ("M", (0,))


def test_a_broadcast_is_blocked_until_everyone_can_receive_it() -> None:
    text = "actions\n br b : unit\ninitial location L\n on _ do goto M\n{}location M\n on _ do sendbr(b)\n"
    assert after(program(text.format(""), 2), "internal", "broadcast") == []
    assert after(program(text.format(" passive b\n"), 2), "internal", "broadcast") != []


def test_who_has_crashed_blocks_nobody_and_is_in_no_set() -> None:
    text = (
        "variables\n set s\nactions\n br b : unit\ncrash locations: L\ninitial location L\n on _ do s := All goto M\n"
        "location M\n on _ do sendbr(b)\n on Partition<p>(s, 1)\n win: goto M\n lose: goto M\n"
    )
    semantics = program(text, 2)
    state = next(s for s in after(semantics, "internal", "crash") if s[1].location == CRASHED)
    assert state[0].values == (1,)
    assert {step.kind for step in steps(semantics, state)} >= {"broadcast", "partition"}


def test_a_process_waits_in_front_of_a_send_that_does_not_begin_its_handler() -> None:
    text = "actions\n br b : unit\n env rz e : unit\ninitial location L\n on recv(e) do sendbr(b) goto M\n"
    text += "location M\n passive b\n"
    semantics = program(text, 2)
    state = next(s for s in after(semantics, "e") if s[0].pending)
    assert places(state) == ["L", "L"]
    assert [step.name for step in steps(semantics, state)] == ["e"]


def test_an_internal_handler_sends_at_once() -> None:
    text = (
        "variables\n int[0,1] x\nactions\n br b : int[0,1]\ninitial location L\n on _ do x := 1 sendbr(b[x]) goto M\n"
    )
    text += " on recv(b) do x := b.payload\nlocation M\n"
    (state,) = after(program(text, 2), "broadcast")[:1]
    assert sorted((local.location, local.values[0]) for local in state) == [("L", 1), ("M", 1)]


def test_a_rendezvous_with_a_named_process_waits_for_that_process() -> None:
    text = (
        "variables\n id who\nactions\n br hello : unit\n rz r : unit\ninitial location L\n on _ do sendbr(hello) goto S\n"
        " on recv(hello) do who := hello.sID goto R\nlocation S\n on recv(r) do goto T\n"
        "location R\n on _ do sendrz(r, who) goto T\n"
        " on recv(r) do goto T\nlocation T\n"
    )
    semantics = program(text, 3)
    for state in after(semantics, "hello", "rendezvous"):
        assert places(state).count("T") == 2 and "S" not in places(state)


def test_everyone_wins_where_there_are_too_few() -> None:
    text = "initial location L\n on Partition<p>(All, 2)\n win: goto W\n lose: goto M\nlocation W\nlocation M\n"
    assert [places(state) for state in after(program(text, 1), "p")] == [["W"]]
    assert [places(state) for state in after(program(text, 2), "p")] == [["W", "W"]]
    assert sorted(sorted(places(state)) for state in after(program(text, 3), "p")) == [["M", "W", "W"]] * 3


def test_participants_must_agree_on_who_takes_part() -> None:
    text = "variables\n set s\ninitial location L\n on _ do s.add(self) goto M\nlocation M\n on Partition<p>({}, 1)\n"
    text += " win: goto M\n lose: goto M\n"
    assert len(after(program(text.format("s"), 2), "internal", "p")) == 2
    assert after(program(text.format("All"), 2), "internal", "p") == []


def test_a_consensus_without_a_proposal_does_not_take_place() -> None:
    text = "variables\n int[0,1] x\ninitial location L\n on _ do x := 1 goto P\n on Consensus<c>(All, 1, _) do x := c.decVar[1]\n"
    text += "location P\n on Consensus<c>(All, 1, x) do goto L\n"
    semantics = program(text, 2)
    assert after(semantics, "c") == []
    decided = after(semantics, "internal", "c")
    assert decided and all(local.values[0] == 1 for state in decided for local in state)


def test_a_minority_may_crash_during_a_consensus_and_its_proposal_may_win() -> None:
    text = "variables\n int[0,1] x\nactions\n env rz e : unit\ncrash locations: L\ninitial location L\n on recv(e) do x := 1\n"
    text += " on Consensus<c>(All, 1, x) do x := c.decVar[1] goto D\nlocation D\n"
    for processes, most in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)):
        semantics = program(text, processes)
        lost = [len(step.others) for step in steps(semantics, semantics.initial) if step.kind == "consensus"]
        assert max(lost) == most
    semantics = program(text, 3)
    ends = after(semantics, "e", "c")
    assert any(
        [x.location for x in s].count(CRASHED) == 1 and all(x.values[0] for x in s if x.location == "D") for s in ends
    )


def test_crash_actions_allow_crashes_where_they_are_handled() -> None:
    text = "actions\n br b : unit\ncrash actions: b\ninitial location L\n on _ do goto M\nlocation M\n on recv(b) do goto L\n"
    semantics = program(text, 1)
    assert "crash" not in [step.kind for step in steps(semantics, semantics.initial)]
    assert len(after(semantics, "internal", "crash")) == 1


def test_registers_last_as_long_as_somebody_reads_them() -> None:
    text = (
        "actions\n env rz e : int[0,1]\n env rz f : int[0,1]\ninitial location L\n on recv(e) do goto M\nlocation M\n"
    )
    text += " on _ do sendrz(f[e.payload])\n"
    semantics = program(text, 1)
    assert sorted(state[0].values for state in after(semantics, "e")) == [(0,), (1,)]
    other = (
        "actions\n env rz e : int[0,1]\n env rz f : int[0,1]\ninitial location L\n on recv(e) do sendrz(f[e.payload])\n"
    )
    semantics = program(other, 1)
    assert sorted(state[0].values for state in after(semantics, "e")) == [(0,), (1,)]
    assert {state[0].values for state in after(semantics, "e", "f")} == {(0,)}


def test_where_a_condition_does_not_hold_a_message_is_not_received() -> None:
    text = "variables\n int[0,1] x\nactions\n env rz e : int[0,1]\ninitial location L\n"
    text += " on recv(e) where (e.payload = 1) do x := 1\n"
    semantics = program(text, 1)
    assert [step.value for step in steps(semantics, semantics.initial)] == [1]
