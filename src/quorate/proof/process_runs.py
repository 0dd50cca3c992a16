"""Runs of Mercury programs: their replay on the plain semantics, and how they are shown.

A run is shown only after `replay` has confirmed it.  Read `models/process_semantics` for what a step is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorate.models.process import ProcessModel, Variable
from quorate.models.process_names import CRASHED
from quorate.models.process_semantics import UNDEFINED, Local, ProcessSemantics, State, Step
from quorate.proof.traces import ReplayError


@dataclass(frozen=True)
class ProcessRun:
    """States of some processes and the steps between them; `violated` names the property that the last state violates."""

    processes: int
    states: tuple[State, ...]
    steps: tuple[Step, ...]
    violated: str | None = None


def replay(model: ProcessModel, run: ProcessRun) -> None:
    """Check every claim of a run against the plain semantics; raises `ReplayError` with the first that fails."""
    semantics = ProcessSemantics(model, run.processes)
    if not run.states or len(run.steps) != len(run.states) - 1:
        raise ReplayError("a run needs one state more than steps")
    if run.states[0] != semantics.initial:
        raise ReplayError("state 0 is not the initial state")
    for number, step in enumerate(run.steps):
        if (step, run.states[number + 1]) not in semantics.successors(run.states[number]):
            raise ReplayError(f"step {number + 1}: {step.kind} {step.name} does not lead from one state to the next")
    if run.violated is not None:
        claimed = next((item for item in model.safety if item.name == run.violated), None)
        if claimed is None:
            raise ReplayError(f"there is no property {run.violated}")
        if semantics.holds(claimed.specification, run.states[-1]):
            raise ReplayError(f"the last state does not violate {run.violated}")


def show_run(model: ProcessModel, run: ProcessRun) -> str:
    """The run for people: each step, and how the processes that it changed look afterwards."""
    steps = len(run.steps)
    lines = [f"run of {steps} step{'s' * (steps != 1)} with {run.processes} process{'es' * (run.processes != 1)}"]
    lines += [f"  {_name(i)}: {_look(model, local)}" for i, local in enumerate(run.states[0])]
    for number, (step, before, after) in enumerate(zip(run.steps, run.states[:-1], run.states[1:], strict=True), 1):
        place = ""
        if step.span is not None:
            place = f"   [{Path(step.span.source.path).name}:{step.span.line}]"
        lines.append(f"step {number}: {describe(step)}{place}")
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                lines.append(f"  {_name(i)}: {_look(model, new)}")
    if run.violated is not None:
        item = next(item for item in model.safety if item.name == run.violated)
        line = f" (line {item.span.line})" if item.span else ""
        lines.append(f"the last state violates {run.violated}{line}")
    return "\n".join(lines) + "\n"


def describe(step: Step) -> str:
    """One step in the words of the program."""
    value = "" if step.value is None else f"[{step.value}]"
    actors, others = ", ".join(map(_name, step.actors)), ", ".join(map(_name, step.others))
    match step.kind:
        case "internal":
            return f"{actors} acts and is in {step.name}"
        case "to environment":
            return f"{actors} sends {step.name}{value} to the environment"
        case "from environment":
            return f"{actors or 'everyone'} receives {step.name}{value} from the environment"
        case "broadcast":
            return f"{actors} broadcasts {step.name}{value}"
        case "rendezvous":
            return f"{actors} sends {step.name}{value} to {others}"
        case "partition":
            lose = f", {others} lose{'s' * (len(step.others) == 1)}" if others else ""
            return f"{step.name}: {actors} win{'s' * (len(step.actors) == 1)}{lose}"
        case "consensus":
            return f"{step.name}: {actors} decide {step.value}{f', {others} crash meanwhile' if others else ''}"
    return f"{actors} crashes"


def _name(process: int) -> str:
    return f"P{process}"


def _look(model: ProcessModel, local: Local) -> str:
    if local.location == CRASHED:
        return "crashed"
    values = [
        f"{variable.name} = {_value(variable, value)}"
        for variable, value in zip(model.all_variables, local.values, strict=True)
        if variable in model.variables or variable.name in model.lasting or local.pending
    ]
    waiting = ", waits to send" if local.pending else ""
    return f"{local.location}{waiting}{': ' if values else ''}{', '.join(values)}"


def _value(variable: Variable, value: int) -> str:
    if variable.kind == "int":
        return str(value)
    if variable.kind == "id":
        return "nobody" if value == UNDEFINED else _name(value)
    return "{" + ", ".join(_name(i) for i in range(value.bit_length()) if value >> i & 1) + "}"
