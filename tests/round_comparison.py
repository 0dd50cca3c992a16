"""The twin of a round-based algorithm against the reference (`engines/rounds/naive`) and against the form for every n."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from quorate.engines.rounds.communication import UNLIMITED
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.models.evaluation import CRASHED, EMPTY, REVOKED, Machine
from quorate.models.rounds import RoundModel
from quorate.proof.round_traces import holds
from quorate.proof.twins.choices import every
from quorate.proof.twins.rounds import RoundState, RoundTwin

Key = tuple[Any, ...]


class Reference:
    """The reference, its states written as those of the twin are."""

    def __init__(self, model: RoundModel, n: int, values: int, parameters: dict[str, int]) -> None:
        self.model = model
        self.machine = Machine(model)
        self.naive = Naive(self.machine, n, parameters)
        self.values = values
        self.parameters = parameters
        self.tags = {number: (name,) for name, number in self.machine.tags.items()}

    def value(self, kind: str, value: int) -> Any:
        if kind == "set":
            return frozenset(v for v in range(1, self.values + 1) if value >> v - 1 & 1)
        if kind in ("value", "optional"):
            return value or None
        return {"bool": bool, "time": int}[kind](value)

    def key(self, at: Configuration) -> Key:
        kinds = [item.kind for item in self.model.variables]
        rows = []
        for process in at.processes:
            *values, decision, marks = process
            crashed = bool(marks & CRASHED)
            shown = tuple(None if crashed else self.value(k, v) for k, v in zip(kinds, values, strict=True))
            rows.append((shown, decision or None, bool(marks & REVOKED), bool(marks & EMPTY), crashed))
        shared = tuple(self.value(item.kind, v) for item, v in zip(self.model.shared, at.shared, strict=True))
        coordinators = at.coordinators if self.model.uses_coordinators else ()
        limits = tuple(None if limit == UNLIMITED else limit for limit in (at.lossy, at.budget))
        return (at.phase, at.round, tuple(rows), shared, at.done, coordinators, limits)

    def layers(self, depth: int) -> list[dict[Key, Configuration]]:
        layer = {at: self.key(at) for at in self.naive.initial(self.values)}
        found = [{key: at for at, key in layer.items()}]
        for _ in range(depth):
            layer = {after: self.key(after) for before in layer for after in self.naive.successors(before)}
            found.append({key: at for at, key in layer.items()})
        return found

    def falsified(self, at: Configuration) -> set[str]:
        return {
            item.name
            for item in self.model.safety
            if (item.name != "termination" or item.formula)
            and not holds(self.machine, item.name, item.formula, self.naive.n, self.parameters, at)
        }


def key(twin: RoundTwin, state: RoundState) -> Key:
    rows = tuple((p.values, p.decision, p.revoked, p.empty, p.crashed) for p in state.processes)
    kind = twin.faults.name if twin.faults is not None else "none"
    limits = {"none": (0, 0), "crashes": (0, state.budget), "omissions": (state.lossy, state.budget)}[kind]
    coordinators = state.coordinators if twin.coordinated and state.round else ()
    return (state.phase, state.round, rows, state.shared, state.done, coordinators, limits)


def layers(twin: RoundTwin, depth: int) -> Iterator[list[RoundState]]:
    """The states after 0, 1, 2, .. rounds or steps."""
    layer = list(dict.fromkeys(every(twin.start)))
    yield layer
    for _ in range(depth):
        layer = list(dict.fromkeys(after for before in layer for _, after in every(partial(twin.step, before))))
        yield layer


def compare(model: RoundModel, n: int, values: int, parameters: dict[str, int], depth: int) -> int:
    """Are states, and the properties that are false in them, the same after every number of rounds?  How many are there?"""
    twin = RoundTwin(model, n, values, parameters)
    reference = Reference(model, n, values, parameters)
    seen = 0
    for mine, theirs in zip(layers(twin, depth), reference.layers(depth), strict=True):
        states = {key(twin, state): state for state in mine}
        assert states.keys() == theirs.keys(), (states.keys() ^ theirs.keys()).pop()
        for found, state in states.items():
            wrong = {name for name in twin.falsified(state) if name != "termination"}
            assert wrong == reference.falsified(theirs[found]), (found, wrong)
        seen += len(states)
    return seen
