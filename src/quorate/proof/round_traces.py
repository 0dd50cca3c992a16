"""Runs of round-based algorithms: what everybody heard, round by round; their replay on the plain semantics; round tables.

A run is shown only after `replay` has confirmed every round on the naive reference (`engines/rounds/naive`), together with the
claim that it makes: a property that its last state violates, or processes that stay undecided although all was well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from quorate.engines.rounds.communication import Communication
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.rounds.symmetry import Names
from quorate.models import rounds as r
from quorate.models.evaluation import BUILT_IN_FORMULAS, CRASHED, EMPTY, REVOKED, Machine, Process, World
from quorate.models.rounds import RoundModel


@dataclass(frozen=True)
class Happening:
    """A round: the coordinators, who hears of whom (bit masks) and who crashes; or a step of one process."""

    coordinators: tuple[int, ...] = ()
    heard: tuple[int, ...] = ()
    crashing: int = 0
    process: int | None = None


@dataclass(frozen=True)
class RoundTrace:
    """A run from an initial configuration, or (`cti`) one phase from a configuration that need not be reachable.

    `violated` names the property that the run violates.  If that is termination, either `sync` holds during the last `window`
    rounds, or the run is over, or from configuration `loop` on it repeats itself for ever.
    """

    kind: Literal["run", "cti"]
    n: int
    parameters: Mapping[str, int]
    configurations: tuple[Configuration, ...]
    happenings: tuple[Happening, ...]
    violated: str | None = None
    faults: int | None = None
    window: int = 0
    loop: int | None = None


class RoundReplayError(Exception):
    """The run is not a behaviour of the algorithm, or does not show what it claims."""


def holds(
    machine: Machine, name: str, formula: r.Node | None, n: int, parameters: Mapping[str, int], at: Configuration
) -> bool:
    """Does a property hold in a configuration?"""
    if formula is None:
        return BUILT_IN_FORMULAS[name](machine, at.processes)
    return bool(machine.function(formula)(World(n, parameters, at.phase, at.processes, at.shared)))


def witnesses(node: r.Node, n: int) -> list[tuple[r.Node, dict[str, int]]]:
    """A predicate without the `exists` in front of it, for every choice of what exists."""
    if isinstance(node, r.Quantified) and not node.universal:
        return [
            (body, {**dict(zip(node.names, chosen, strict=True)), **bound})
            for chosen in product(range(n), repeat=len(node.names))
            for body, bound in witnesses(node.body, n)
        ]
    return [(node, {})]


def window_of(model: RoundModel) -> int:
    """How many rounds `sync` speaks of, in whole phases."""
    assert model.sync is not None
    last = max([item.round for item in model.sync.walk() if isinstance(item, r.HeardOf)], default=1)
    phases = -(-last // len(model.rounds))
    return phases * len(model.rounds)


def alike(names: Names, first: Configuration, second: Configuration) -> bool:
    """Do two configurations have the same future, once nothing is lost any more?  Phases may differ, and times in their order."""
    return (
        first.lossy == second.lossy == 0
        and first.round == second.round == 0
        and min(first.phase, second.phase) > names.exact
        and first.shared == second.shared
        and names.settle(first.processes, first.phase)[0] == names.settle(second.processes, second.phase)[0]
    )


def replay(model: RoundModel, trace: RoundTrace) -> None:
    """Check every claim of a run; raises `RoundReplayError` with the first that fails."""
    machine = Machine(model)
    naive = Naive(machine, trace.n, trace.parameters, trace.faults)
    states = trace.configurations
    if not states or len(trace.happenings) != len(states) - 1:
        raise RoundReplayError("a run needs one configuration more than rounds")
    if trace.kind == "run":
        proposals = range(1, trace.n + 1)
        if not any(
            states[0] == naive.start(chosen)
            for chosen in product(*([v for v in proposals if machine.initial(v) == p] for p in states[0].processes))
        ):
            raise RoundReplayError("the run does not start in an initial configuration")
    for number, (before, happening, after) in enumerate(zip(states, trace.happenings, states[1:], strict=False), 1):
        problem = _check(naive, before, happening, after)
        if problem:
            raise RoundReplayError(f"round {number}: {problem}")
    if trace.violated is not None:
        _check_claim(naive, trace)


def _check(naive: Naive, before: Configuration, happening: Happening, after: Configuration) -> str | None:
    if naive.model.steps:
        assert happening.process is not None
        return None if after in naive.stepped(before, happening.process) else "the step does not lead to this state"
    return naive.check_round(before, happening.coordinators, happening.heard, happening.crashing, after)


def _check_claim(naive: Naive, trace: RoundTrace) -> None:
    model, machine = naive.model, naive.machine
    assert trace.violated is not None
    items = {item.name: item for item in (*model.safety, *model.invariants)}
    if trace.violated not in items:
        raise RoundReplayError(f"there is no property {trace.violated}")
    item, last = items[trace.violated], trace.configurations[-1]
    if holds(machine, item.name, item.formula, trace.n, trace.parameters, last):
        raise RoundReplayError(f"the last configuration does not violate {trace.violated}")
    if trace.violated != "termination" or item.formula is not None:
        return
    if trace.loop is not None:
        names = Names(machine, trace.n, trace.parameters)
        if trace.loop >= len(trace.configurations) - 1 or not alike(names, trace.configurations[trace.loop], last):
            raise RoundReplayError("the run does not repeat itself")
    elif naive.phases is not None:
        if last.phase <= naive.phases:
            raise RoundReplayError("the run is not over yet")
    elif not _synchronous(naive, trace):
        raise RoundReplayError("`sync` does not hold in the last rounds")


def _synchronous(naive: Naive, trace: RoundTrace) -> bool:
    """Does `sync` hold in the last rounds of a run, which start with a phase?"""
    model = naive.model
    window = window_of(model)
    if model.sync is None or len(trace.happenings) < window or trace.configurations[-window - 1].round:
        return False
    rows = [item.heard for item in trace.happenings[-window:]]
    phases = range(0, window, len(model.rounds))
    for body, bound in witnesses(model.sync, trace.n):
        communication = Communication(naive.machine, trace.n, trace.parameters, body, window, bound)
        happened = [trace.happenings[-window + start].coordinators for start in phases]
        if (
            all(map(communication.allows_coordinators, happened))
            and all(
                communication.allows(i, trace.happenings[-window + i].coordinators, row) for i, row in enumerate(rows)
            )
            and communication.allows_several(happened[0], rows)
        ):
            return True
    return False


# -- showing --------------------------------------------------------------------------------------------------------------


def show(model: RoundModel, trace: RoundTrace) -> str:
    """A run as a table per round: who coordinates, who is heard, what everybody sends, and what it becomes."""
    machine = Machine(model)
    word = "step" if model.steps else "round"
    count = len(trace.happenings)
    kind = "run" if trace.kind == "run" else "phase from a state that need NOT be reachable:"
    given = "".join(f", {name} = {value}" for name, value in trace.parameters.items())
    lines = [f"{kind} of {count} {word}{'s' * (count != 1)}, n = {trace.n}{given}"]
    names = [*(item.name for item in model.variables), "decision"]
    first = trace.configurations[0]
    rows = [[f"p{p + 1}", *_shown(machine, model, process)] for p, process in enumerate(first.processes)]
    lines += ["at the start", *_table(["", *names], rows)]
    naive = Naive(machine, trace.n, trace.parameters, trace.faults)
    for number, happening in enumerate(trace.happenings):
        before, after = trace.configurations[number : number + 2]
        if trace.loop == number:
            lines.append("from here on the run repeats itself for ever:")
        lines += _round(machine, naive, before, happening, after)
    if trace.window:
        lines.append(f"`sync` holds in the last {trace.window} round{'s' * (trace.window != 1)}")
    if trace.violated:
        lines.append(f"{trace.violated} is violated: {why(machine, trace)}")
    return "\n".join(lines)


@dataclass(frozen=True)
class View:
    """What is shown of one configuration, and of the round or step that led to it; the first has no label."""

    values: tuple[tuple[str, ...], ...]
    shared: Mapping[str, str]
    label: str = ""
    line: int | None = None
    sends: tuple[str, ...] = ()
    hears: tuple[tuple[int, ...], ...] = ()
    actors: tuple[int, ...] = ()
    summary: str = ""


def round_views(machine: Machine, naive: Naive, trace: RoundTrace) -> list[View]:
    """The configurations of a run, in words."""
    model = machine.model
    found = []
    for number, after in enumerate(trace.configurations):
        values = tuple(tuple(_shown(machine, model, process)) for process in after.processes)
        shared = {item.name: _value(item.kind, value) for item, value in zip(model.shared, after.shared, strict=True)}
        if number == 0:
            found.append(View(values, shared))
            continue
        before, happening = trace.configurations[number - 1], trace.happenings[number - 1]
        if happening.process is not None:
            step = model.steps[before.done[happening.process]]
            label = f"p{happening.process + 1} takes step {step.name}"
            line = step.span.line if step.span else None
            found.append(View(values, shared, label, line, actors=(happening.process,)))
            continue
        this = model.rounds[before.round]
        sending = [naive.message(replace(before, coordinators=happening.coordinators), q) for q in range(naive.n)]
        hears = tuple(tuple(q for q in range(naive.n) if row >> q & 1) for row in happening.heard)
        parts = (
            [f"coordinator p{c + 1}" for c in dict.fromkeys(happening.coordinators)] if model.uses_coordinators else []
        )
        parts += [
            f"p{p + 1} crashes" if happening.crashing >> p & 1 else f"p{p + 1} hears {_group(heard, naive.n)}"
            for p, heard in enumerate(hears)
        ]
        coordinators = tuple(dict.fromkeys(happening.coordinators)) if model.uses_coordinators else ()
        found.append(
            View(
                values,
                shared,
                f"phase {before.phase}, round {this.name}",
                this.span.line if this.span else None,
                tuple(_message(machine, model, before, message) for message in sending),
                hears,
                coordinators,
                "; ".join(parts),
            )
        )
    return found


def _group(heard: Sequence[int], n: int) -> str:
    return "all" if len(heard) == n else " ".join(f"p{q + 1}" for q in heard) or "nobody"


def why(machine: Machine, trace: RoundTrace) -> str:
    """In which way the last configuration violates the property."""
    last = trace.configurations[-1]
    decisions = [
        (p, process[machine.decision]) for p, process in enumerate(last.processes) if process[machine.decision]
    ]
    marks = {p: process[machine.marks] for p, process in enumerate(last.processes)}
    if trace.violated in ("agreement", "irrevocability"):
        for p, mark in marks.items():
            if mark & REVOKED:
                return f"p{p + 1} decides again, another value than before"
        p, v = decisions[0]
        q, w = next(item for item in decisions if item[1] != v)
        return f"p{p + 1} decides {v}, p{q + 1} decides {w}"
    if trace.violated == "validity":
        return f"p{next(p for p, mark in marks.items() if mark & EMPTY) + 1} decides `?`"
    if trace.violated == "termination":
        open_ = [p for p, q in enumerate(last.processes) if not q[machine.decision] and not q[machine.marks] & CRASHED]
        return f"{', '.join(f'p{p + 1}' for p in open_)} stay{'s' * (len(open_) == 1)} undecided"
    return "it does not hold in the last state"


def _round(
    machine: Machine, naive: Naive, before: Configuration, happening: Happening, after: Configuration
) -> list[str]:
    model = machine.model
    names = [*(item.name for item in model.variables), "decision"]
    if happening.process is not None:
        p = happening.process
        label = f"p{p + 1} takes step {model.steps[before.done[p]].name}"
        shared = ", ".join(
            f"{item.name} = {_value(item.kind, value)}" for item, value in zip(model.shared, after.shared, strict=True)
        )
        changes = _changes(machine, model, before.processes[p], after.processes[p])
        shown = ", ".join(f"{name}: {text}" for name, text in zip(names, changes, strict=True) if "→" in text)
        return [f"{label}: {shown or 'nothing changes for it'}; then {shared}"]
    lines = [f"phase {before.phase}, round {model.rounds[before.round].name}"]
    sending = [naive.message(replace(before, coordinators=happening.coordinators), q) for q in range(naive.n)]
    rows = []
    for p in range(naive.n):
        heard = [q for q in range(naive.n) if happening.heard[p] >> q & 1]
        everyone = len(heard) == naive.n
        row = [f"p{p + 1}"]
        if model.uses_coordinators:
            row.append(f"p{happening.coordinators[p] + 1}")
        row.append(_message(machine, model, before, sending[p]))
        if happening.crashing >> p & 1:
            row.append("crashes")
        else:
            row.append("all" if everyone else " ".join(f"p{q + 1}" for q in heard) or "nobody")
        rows.append(row + _changes(machine, model, before.processes[p], after.processes[p]))
    header = ["", *(["coordinator"] if model.uses_coordinators else []), "sends", "hears of", *names]
    return lines + _table(header, rows)


def _message(machine: Machine, model: RoundModel, before: Configuration, message: tuple[int, ...] | None) -> str:
    if message is None:
        return "-"
    send = model.rounds[before.round].send
    assert send is not None
    parts = []
    for item, value in zip(send.items, message, strict=True):
        match item:
            case r.Tag(name):
                parts.append(name)
            case r.Coordinator() | r.Myself():
                parts.append(f"p{value + 1}")
            case r.Local(name):
                parts.append(_value(model.kinds[name], value))
            case _:
                parts.append(str(value) if value else "?")
    return f"<{', '.join(parts)}>"


def _value(kind: str, value: int) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind == "set":
        return "{" + ", ".join(str(v + 1) for v in range(value.bit_length()) if value >> v & 1) + "}"
    return "?" if kind in ("value", "optional") and value == 0 else str(value)


def _shown(machine: Machine, model: RoundModel, process: Process) -> list[str]:
    if process[machine.marks] & CRASHED:
        return ["crashed"] * len(model.variables) + [_value("optional", process[machine.decision])]
    values = [_value(item.kind, value) for item, value in zip(model.variables, process, strict=False)]
    return [*values, _value("optional", process[machine.decision])]


def _changes(machine: Machine, model: RoundModel, before: Process, after: Process) -> list[str]:
    pairs = zip(_shown(machine, model, before), _shown(machine, model, after), strict=True)
    return [old if old == new else f"{old} → {new}" for old, new in pairs]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        ("  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in (header, *rows)
    ]
