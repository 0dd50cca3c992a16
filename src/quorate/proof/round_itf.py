"""Runs of round-based algorithms as documents in the Informal Trace Format (`*.itf.json`), written and read back.

A state holds a map from processes to values for each variable, and the decisions; who coordinates, who is heard and who crashes
stands in the `#meta` of the state after the round.  What is read is run again on the plain semantics, so a document cannot claim
a run that there is not; `round_traces.replay` then judges what it claims about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from quorate import __version__
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.models.evaluation import Machine, Process
from quorate.models.rounds import RoundModel
from quorate.proof.itf import DESCRIPTION, Document, TraceFormatError
from quorate.proof.round_traces import Happening, RoundTrace


def to_itf(model: RoundModel, trace: RoundTrace) -> Document:
    """A run as an ITF document."""
    names = [f"p{p + 1}" for p in range(trace.n)]
    source = model.source
    claim = {"kind": trace.kind, "violated": trace.violated, "window": trace.window, "loop": trace.loop}
    meta: Document = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        "source": PurePath(source.path).name if source else "",
        "sha256": source.sha256 if source else "",
        "description": f"Created by Quorate {__version__}",
        "quorate": {"n": trace.n, "parameters": dict(trace.parameters), "faults": trace.faults, **claim},
    }
    states: list[Document] = []
    for number, at in enumerate(trace.configurations):
        state: Document = {"#meta": {"index": number}}
        if number:
            state["#meta"] |= _happening(model, trace.happenings[number - 1], trace.configurations[number - 1], names)
        for place, item in enumerate(model.variables):
            rows = [
                [name, _value(item.kind, process[place])] for name, process in zip(names, at.processes, strict=True)
            ]
            state[item.name] = {"#map": rows}
        tail = zip(names, at.processes, strict=True)
        state["decision"] = {"#map": [[name, _value("value", process[len(model.variables)])] for name, process in tail]}
        state["marks"] = {"#map": [[name, _value("value", p[-1])] for name, p in zip(names, at.processes, strict=True)]}
        for item, value in zip(model.shared, at.shared, strict=True):
            state[item.name] = _value(item.kind, value)
        state["phase"], state["round"] = _value("time", at.phase), _value("time", at.round)
        states.append(state)
    variables = [item.name for item in (*model.variables, *model.shared)]
    return {"#meta": meta, "vars": [*variables, "decision", "marks", "phase", "round"], "states": states}


def _value(kind: str, value: int) -> Any:
    if kind == "bool":
        return bool(value)
    if kind == "set":
        return {"#set": [{"#bigint": str(v + 1)} for v in range(value.bit_length()) if value >> v & 1]}
    return {"#bigint": str(value)}


def _happening(model: RoundModel, item: Happening, before: Configuration, names: Sequence[str]) -> Document:
    if item.process is not None:
        return {"action": model.steps[before.done[item.process]].name, "process": names[item.process]}
    heard = {
        name: [other for q, other in enumerate(names) if mask >> q & 1]
        for name, mask in zip(names, item.heard, strict=True)
    }
    found: Document = {"action": model.rounds[before.round].name, "hears": heard}
    if model.uses_coordinators:
        found["coordinators"] = {name: names[q] for name, q in zip(names, item.coordinators, strict=True)}
    if item.crashing:
        found["crashes"] = [name for p, name in enumerate(names) if item.crashing >> p & 1]
    return found


def from_itf(model: RoundModel, document: Document) -> RoundTrace:
    """The run that a document describes.  Raises `TraceFormatError` if it is not one of this algorithm."""
    try:
        meta = document["#meta"]
        about, states = meta["quorate"], document["states"]
        if model.source is not None and meta.get("sha256") != model.source.sha256:
            raise TraceFormatError("the trace belongs to another version of the algorithm (sha256 differs)")
        n, parameters = int(about["n"]), {str(k): int(v) for k, v in about["parameters"].items()}
        if not 1 <= n <= MOST_PROCESSES:
            raise TraceFormatError(f"a run of {n} processes is not read")
        naive = Naive(Machine(model), n, parameters, about["faults"])
        return _Reader(model, naive, [f"p{p + 1}" for p in range(n)]).trace(about, states)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError):
        raise TraceFormatError("the document is not a run of a round-based algorithm") from None


MOST_PROCESSES = 64


class _Reader:
    def __init__(self, model: RoundModel, naive: Naive, names: list[str]) -> None:
        self.model, self.naive, self.names = model, naive, names

    def trace(self, about: Document, states: list[Document]) -> RoundTrace:
        kind = about["kind"]
        first = self._processes(states[0])
        if kind == "run":
            options = [[v for v in range(1, self.naive.n + 1) if self.naive.machine.initial(v) == p] for p in first]
            if not all(options):
                raise TraceFormatError("the first state is not an initial one")
            start = self.naive.start([values[0] for values in options])
        else:
            start = Configuration(self._number(states[0]["phase"]), 0, first)
        configurations, happenings = [start], []
        for number, state in enumerate(states[1:], 1):
            happening, options_ = self._round(configurations[-1], state["#meta"])
            wanted = self._processes(state)
            found = next((option for option in options_ if option.processes == wanted), None)
            if found is None:
                raise TraceFormatError(f"state {number} does not come from the one before it")
            configurations.append(found)
            happenings.append(happening)
        return RoundTrace(
            kind,
            self.naive.n,
            dict(self.naive.parameters),
            tuple(configurations),
            tuple(happenings),
            about["violated"],
            about["faults"],
            int(about["window"]),
            about["loop"],
        )

    def _round(self, before: Configuration, meta: Document) -> tuple[Happening, list[Configuration]]:
        place = {name: p for p, name in enumerate(self.names)}
        if "process" in meta:
            happening = Happening(process=place[meta["process"]])
            assert happening.process is not None
            return happening, list(self.naive.stepped(before, happening.process))
        heard = tuple(sum({1 << place[q] for q in meta["hears"][name]}) for name in self.names)
        coordinators = tuple(place[meta["coordinators"][name]] for name in self.names) if "coordinators" in meta else ()
        coordinators = coordinators or (0,) * self.naive.n
        crashing = sum({1 << place[name] for name in meta.get("crashes", [])})
        begun = replace(before, coordinators=coordinators)
        return Happening(coordinators, heard, crashing), list(self.naive.after(begun, heard, crashing))

    def _processes(self, state: Document) -> tuple[Process, ...]:
        columns = [dict(state[item.name]["#map"]) for item in self.model.variables]
        columns += [dict(state["decision"]["#map"]), dict(state["marks"]["#map"])]
        return tuple(tuple(self._number(column[name]) for column in columns) for name in self.names)

    def _number(self, value: Any) -> int:
        if isinstance(value, bool):
            return int(value)
        if "#set" in value:
            return sum({1 << self._number(item) - 1 for item in value["#set"]})
        return int(value["#bigint"])
