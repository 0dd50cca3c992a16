"""Traces: finite runs and counterexamples to induction, and their replay on the plain semantics.

A trace is shown or saved only after `replay` has confirmed it.  Read `itf` next for the file format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quorate.logic.structures import EvaluationError, Structure, Table, Value, argument_tuples, domain
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.models.relational import Liveness, Named, RelationalModel
from quorate.models.semantics import Step, check_background, check_initial, check_step
from quorate.models.temporal import TemporalError
from quorate.proof.lassos import is_stuck, starving, unfair


@dataclass(frozen=True)
class Trace:
    """States and the steps between them.

    A `run` starts in an initial state.  A `cti` is a counterexample to induction: one step between two states, the first
    of which need not be reachable.  `violated` names the property that the last state violates, if any.  If that is a
    liveness property, the run goes on forever from state number `loop`, which equals the last one, or ends for good.
    """

    kind: Literal["run", "cti"]
    states: tuple[Structure, ...]
    steps: tuple[Step, ...]
    violated: str | None = None
    loop: int | None = None


class ReplayError(Exception):
    """The trace is not a behaviour of the protocol, or does not show what it claims."""


def find_property(model: RelationalModel, name: str) -> Named | None:
    """The safety property or invariant of that name."""
    return next((item for item in model.properties if item.name == name), None)


def has_property(model: RelationalModel, name: str) -> bool:
    """Is there a property of that name that a run can violate?"""
    return find_property(model, name) is not None or any(item.name == name for item in model.liveness)


def replay(model: RelationalModel, trace: Trace) -> None:
    """Check every claim of a trace against the plain semantics; raises `ReplayError` with the first that fails."""
    if not trace.states or len(trace.steps) != len(trace.states) - 1:
        raise ReplayError("a trace needs one state more than steps")
    try:
        _check_shape(model, trace)
        problem = (check_initial if trace.kind == "run" else check_background)(model, trace.states[0])
        if problem:
            raise ReplayError(f"state 0: {problem}")
        for number, step in enumerate(trace.steps):
            problem = check_step(model, trace.states[number], step, trace.states[number + 1])
            if problem:
                raise ReplayError(f"step {number + 1}: {problem}")
        if trace.loop is not None and not _is_loop(model, trace.states, trace.loop):
            raise ReplayError("the last state is not the one where the loop begins")
        if trace.violated is not None:
            _check_claim(model, trace)
    except (EvaluationError, TemporalError) as problem:
        raise ReplayError(str(problem)) from None
    except KeyError as problem:
        raise ReplayError(f"the trace gives no value to {problem}") from None


def _check_shape(model: RelationalModel, trace: Trace) -> None:
    """One universe for all states; every symbol, parameter and choice has values from it, everywhere."""
    sizes = dict(trace.states[0].sizes)
    if any(sizes.get(sort, 0) < 1 for sort in model.sorts if sort.uninterpreted):
        raise ReplayError("the trace does not say how many elements each sort has")
    for number, state in enumerate(trace.states):
        if dict(state.sizes) != sizes:
            raise ReplayError(f"state {number} has another universe than state 0")
        for symbol in model.symbols:
            _check_table(symbol, state.tables[symbol], sizes, f"state {number}")
    for number, step in enumerate(trace.steps, 1):
        transition = next((item for item in model.transitions if item.name == step.transition), None)
        if transition is None:
            raise ReplayError(f"step {number}: there is no transition {step.transition}")
        for parameter in transition.parameters:
            if not is_value(step.bindings[parameter.name], parameter.sort, sizes):
                raise ReplayError(f"step {number}: the value of {parameter.name} is not in the universe")
        for choice in transition.choices:
            _check_table(choice, step.choices[choice.name], sizes, f"step {number}")


def _check_table(symbol: Symbol, table: Table, sizes: Mapping[Sort, int], where: str) -> None:
    if symbol.arguments and INT in symbol.arguments:
        raise ReplayError(f"{where}: {symbol.name} takes integers, so its table cannot be complete")
    if set(table) != set(argument_tuples(symbol.arguments, sizes)):
        raise ReplayError(f"{where}: the table of {symbol.name} does not fit the universe")
    if not all(is_value(value, symbol.sort, sizes) for value in table.values()):
        raise ReplayError(f"{where}: a value of {symbol.name} is not in the universe")


def is_value(value: Value, sort: Sort, sizes: Mapping[Sort, int]) -> bool:
    """Is this a value of the sort in a universe of these sizes?"""
    if sort is BOOL:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return sort is INT or value in domain(sort, sizes)


def _check_claim(model: RelationalModel, trace: Trace) -> None:
    assert trace.violated is not None
    for item in model.liveness:
        if item.name == trace.violated:
            _check_starving(model, trace, item)
            return
    claimed = find_property(model, trace.violated)
    if claimed is None:
        raise ReplayError(f"there is no property {trace.violated}")
    if trace.states[-1].holds(claimed.formula):
        raise ReplayError(f"the last state does not violate {trace.violated}")


def _is_loop(model: RelationalModel, states: Sequence[Structure], loop: int) -> bool:
    if not 0 <= loop < len(states) - 1:
        return False
    return all(dict(states[loop].tables[symbol]) == dict(states[-1].tables[symbol]) for symbol in model.symbols)


def _check_starving(model: RelationalModel, trace: Trace, item: Liveness) -> None:
    """The goal is never reached, and the run cannot go on or goes round a fair loop."""
    if starving(model, item, trace.states, trace.loop) is None:
        raise ReplayError(f"{item.name} is not violated: the goal is reached whenever it is triggered")
    if trace.loop is None:
        if not is_stuck(model, trace.states[-1]):
            raise ReplayError("the run can go on from its last state")
        return
    broken = unfair(model, item, trace.states[trace.loop :], trace.steps[trace.loop :])
    if broken is not None:
        raise ReplayError(f"the loop is not fair: {broken}")
