"""Traces: finite runs and counterexamples to induction, and their replay on the plain semantics.

A trace is shown or saved only after `replay` has confirmed it.  Read `itf` next for the file format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quorate.logic.structures import EvaluationError, Structure
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import Step, check_background, check_initial, check_step


@dataclass(frozen=True)
class Trace:
    """States and the steps between them.

    A `run` starts in an initial state.  A `cti` is a counterexample to induction: one step between two states, the first
    of which need not be reachable.  `violated` names the property that the last state violates, if any.
    """

    kind: Literal["run", "cti"]
    states: tuple[Structure, ...]
    steps: tuple[Step, ...]
    violated: str | None = None


class ReplayError(Exception):
    """The trace is not a behaviour of the protocol, or does not show what it claims."""


def find_property(model: RelationalModel, name: str) -> Named | None:
    """The safety property or invariant of that name."""
    return next((item for item in model.properties if item.name == name), None)


def replay(model: RelationalModel, trace: Trace) -> None:
    """Check every claim of a trace against the plain semantics; raises `ReplayError` with the first that fails."""
    if not trace.states or len(trace.steps) != len(trace.states) - 1:
        raise ReplayError("a trace needs one state more than steps")
    try:
        problem = (check_initial if trace.kind == "run" else check_background)(model, trace.states[0])
        if problem:
            raise ReplayError(f"state 0: {problem}")
        for number, step in enumerate(trace.steps):
            problem = check_step(model, trace.states[number], step, trace.states[number + 1])
            if problem:
                raise ReplayError(f"step {number + 1}: {problem}")
        if trace.violated is not None:
            _check_claim(model, trace)
    except EvaluationError as problem:
        raise ReplayError(str(problem)) from None
    except KeyError as problem:
        raise ReplayError(f"the trace gives no value to {problem}") from None


def _check_claim(model: RelationalModel, trace: Trace) -> None:
    assert trace.violated is not None
    claimed = find_property(model, trace.violated)
    if claimed is None:
        raise ReplayError(f"there is no property {trace.violated}")
    if trace.states[-1].holds(claimed.formula):
        raise ReplayError(f"the last state does not violate {trace.violated}")
