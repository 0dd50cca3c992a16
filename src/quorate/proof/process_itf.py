"""Runs of Mercury programs as documents in the Informal Trace Format (`*.itf.json`), written and read back.

A state holds maps from processes to locations, to whether they wait to send, and to the value of each variable; what happened
stands in the `#meta` of the state after it.  What is read is run again on the plain semantics, so a document cannot claim a run
that there is not; `process_runs.replay` then judges what it claims about it.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from quorate import __version__
from quorate.models.process import ProcessModel, Variable
from quorate.models.process_semantics import UNDEFINED, ProcessSemantics, State, Step
from quorate.proof.itf import DESCRIPTION, Document, TraceFormatError
from quorate.proof.process_runs import ProcessRun

MOST_PROCESSES = 64


def to_itf(model: ProcessModel, run: ProcessRun) -> Document:
    """A run as an ITF document."""
    source = model.source
    meta: Document = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        "source": PurePath(source.path).name if source else "",
        "sha256": source.sha256 if source else "",
        "description": f"Created by Quorate {__version__}",
        "quorate": {"processes": run.processes, "violated": run.violated},
    }
    states: list[Document] = []
    for number, state in enumerate(run.states):
        happened = _step(run.steps[number - 1]) if number else {}
        states.append({"#meta": {"index": number, **happened}, **_state(model, state)})
    return {"#meta": meta, "vars": list(_state(model, run.states[0])), "states": states}


def _step(step: Step) -> Document:
    found: Document = {"action": step.name, "kind": step.kind, "actors": [_name(p) for p in step.actors]}
    found["others"] = [_name(p) for p in step.others]
    return found if step.value is None else {**found, "value": {"#bigint": str(step.value)}}


def _state(model: ProcessModel, state: State) -> Document:
    """What a document says of a state; what a process still has to do before it can go on is not part of it."""
    columns: dict[str, list[Any]] = {"location": [local.location for local in state]}
    columns["location.waiting"] = [bool(local.pending) for local in state]
    for place, variable in enumerate(model.all_variables):
        columns[variable.name] = [_value(variable, local.values[place]) for local in state]
    return {name: {"#map": [[_name(p), value] for p, value in enumerate(row)]} for name, row in columns.items()}


def _value(variable: Variable, value: int) -> Any:
    if variable.kind == "id":
        return "nobody" if value == UNDEFINED else _name(value)
    if variable.kind == "set":
        return {"#set": [_name(i) for i in range(value.bit_length()) if value >> i & 1]}
    return {"#bigint": str(value)}


def _name(process: int) -> str:
    return f"P{process}"


def from_itf(model: ProcessModel, document: Document) -> ProcessRun:
    """The run that a document describes.  Raises `TraceFormatError` if it is not one of this program."""
    try:
        meta, states = document["#meta"], document["states"]
        about = meta["quorate"]
        if model.source is not None and meta.get("sha256") != model.source.sha256:
            raise TraceFormatError("the trace belongs to another version of the program (sha256 differs)")
        processes = int(about["processes"])
        if not 1 <= processes <= MOST_PROCESSES:
            raise TraceFormatError(f"a run of {processes} processes is not read")
        return _again(model, processes, states, about["violated"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise TraceFormatError("the document is not a run of a Mercury program") from None


def _again(model: ProcessModel, processes: int, states: list[Document], violated: str | None) -> ProcessRun:
    """Run the program along a document: where two steps look alike, both are followed."""
    semantics = ProcessSemantics(model, processes)
    if _plain(states[0]) != _state(model, semantics.initial):
        raise TraceFormatError("the first state is not the initial one")
    paths: dict[State, tuple[tuple[State, ...], tuple[Step, ...]]] = {
        semantics.initial: ((semantics.initial,), ()),
    }
    for number, wanted in enumerate(states[1:], 1):
        claimed = {key: value for key, value in wanted["#meta"].items() if key != "index"}
        following: dict[State, tuple[tuple[State, ...], tuple[Step, ...]]] = {}
        for before, (seen, steps) in paths.items():
            for step, after in semantics.successors(before):
                if _step(step) == claimed and _state(model, after) == _plain(wanted):
                    following.setdefault(after, ((*seen, after), (*steps, step)))
        if not following:
            raise TraceFormatError(f"state {number} does not come from the one before it")
        paths = following
    seen, steps = next(iter(paths.values()))
    return ProcessRun(processes, seen, steps, violated)


def _plain(state: Document) -> Document:
    return {name: value for name, value in state.items() if name != "#meta"}
