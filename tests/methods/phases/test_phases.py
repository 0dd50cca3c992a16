"""Phases and what does not fit them, on the worked example of the paper (Figure 6) and its repairs."""

from __future__ import annotations

from pathlib import Path

from quorate.lang import LoadedProcess, load_any, parse_any
from quorate.methods.phases.phases import LocalGraph, feedback
from quorate.models.process import ProcessModel
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "mercury"

SERIALIZER = """
process SelectiveSerializer
satisfies safety atmost(1, {{Target}})
actions
  br getReady : unit
  br sequencer : unit
initial location Start
  on Partition<select>(All, 2)
    win: goto Selected
    lose: goto Idle
location Idle
  passive getReady, sequencer
location Selected
  on _ do
    sendbr(getReady)
    goto Prepare
{}
location Prepare
{}
location Target
  passive sequencer
"""
FIRST = "  on recv(getReady) do goto Prepare"
RECEIVED = "  on recv(sequencer) do goto Target"
SENT = "  on _ do sendbr(sequencer) goto Target\n  on recv(sequencer) do goto Prepare"


def read(text: str) -> ProcessModel:
    loaded = parse_any(Source("test.mercury", text))
    assert isinstance(loaded, LoadedProcess)
    return loaded.model


def test_the_worked_example_of_the_paper() -> None:
    first = feedback(read(SERIALIZER.format("", RECEIVED)))
    assert [(p.condition, p.event[0], p.place.name) for p in first.problems] == [("1", "getReady", "Selected")]
    assert first.problems[0].repairs[0].text == "on recv(getReady) do goto Prepare;"
    second = feedback(read(SERIALIZER.format(FIRST, RECEIVED)))
    assert second.problems == ()
    ((_, path),) = second.dependent
    assert [(edge.kind, edge.label[0]) for edge in path if not edge.independent] == [("reacting", "sequencer")]
    third = feedback(read(SERIALIZER.format(FIRST, SENT)))
    assert third.problems == ()


def test_every_repair_that_is_offered_removes_its_problem() -> None:
    found = feedback(read(SERIALIZER.format("", RECEIVED)))
    for problem in found.problems:
        assert problem.repairs
        for repair in problem.repairs:
            assert problem.key not in {other.key for other in LocalGraph(repair.model).problems()}


def test_phases_of_the_library() -> None:
    counts = {}
    for path in sorted(LIBRARY.glob("*.mercury")):
        loaded = load_any(path)
        assert isinstance(loaded, LoadedProcess)
        counts[path.stem] = len(LocalGraph(loaded.model).phases())
    assert counts == COUNTS


COUNTS = {
    "consortium": 11,
    "distributed_register": 1,
    "distributed_store": 3,
    "lock_service": 2,
    "motion_planning": 1,
    "motion_planning_with_reset": 1,
    "robot_flocking": 7,
    "sats_landing": 3,
    "sats_landing_ii": 2,
    "sensor_network": 1,
    "sensor_network_with_reset": 1,
    "two_object_tracker": 11,
}
