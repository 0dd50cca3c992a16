"""Smaller runs that violate the same property: fewer steps, then fewer elements, until nothing more can go.

Steps are removed by delta debugging (Zeller and Hildebrandt, TSE 2002); a step that can no longer be taken goes too.
States are worked out afresh each time, so whatever is returned replays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from quorate.logic.structures import EvaluationError, Evaluator, Structure, Table, Value
from quorate.logic.terms import Sort, Symbol
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.models.semantics import Step, check_initial, successor, with_derived
from quorate.proof.traces import Trace, find_property, replay


def minimise(model: RelationalModel, trace: Trace) -> Trace:
    """A run as short and as small as removing steps and elements one after the other makes it.

    Raises `ReplayError` if the trace does not replay.  A counterexample to induction is returned as it is, since its
    first state matters as a whole; so is a run that claims no violation.
    """
    replay(model, trace)
    claimed = find_property(model, trace.violated) if trace.violated is not None else None
    if trace.kind != "run" or claimed is None:
        return trace
    smaller = _drop_elements(model, _drop_steps(model, trace, claimed), claimed)
    while _size(smaller) < _size(trace):
        trace, smaller = smaller, _drop_elements(model, _drop_steps(model, smaller, claimed), claimed)
    replay(model, trace)
    return trace


def _size(trace: Trace) -> int:
    return len(trace.steps) + sum(trace.states[0].sizes.values())


class _Runner:
    """Runs selections of given steps from a given state, remembering every state it has reached."""

    def __init__(self, model: RelationalModel, start: Structure, steps: tuple[Step, ...], claimed: Named) -> None:
        self.model = model
        self.start = start
        self.steps = steps
        self.holds = Evaluator(start.sizes).compile(claimed.formula)
        self.reached: dict[tuple[int, ...], Structure | None] = {(): start}

    def run(self, selection: Iterable[int]) -> tuple[int, ...] | None:
        """The steps of the selection that can be taken, up to the first violation; None if there is none."""
        taken: tuple[int, ...] = ()
        state = self.start
        for number in selection:
            if not self.holds(state, {}):
                return taken
            following = self.after(taken, state, number)
            if following is not None:
                taken, state = (*taken, number), following
        return None if self.holds(state, {}) else taken

    def after(self, taken: tuple[int, ...], state: Structure, number: int) -> Structure | None:
        key = (*taken, number)
        if key not in self.reached:
            found = successor(self.model, state, self.steps[number])
            self.reached[key] = None if isinstance(found, str) else found
        return self.reached[key]

    def trace(self, taken: tuple[int, ...], like: Trace) -> Trace:
        """The run of exactly these steps, which `run` has returned."""
        states = [self.reached[taken[:length]] for length in range(len(taken) + 1)]
        return replace(
            like,
            states=tuple(state for state in states if state is not None),
            steps=tuple(self.steps[number] for number in taken),
        )


def _drop_steps(model: RelationalModel, trace: Trace, claimed: Named) -> Trace:
    runner = _Runner(model, trace.states[0], trace.steps, claimed)
    kept = runner.run(range(len(trace.steps)))
    assert kept is not None
    stretch = max(len(kept) // 2, 1)
    while True:
        shorter = _drop_stretches(runner, kept, stretch)
        if stretch == 1 and shorter == kept:
            return runner.trace(kept, trace)
        kept, stretch = shorter, max(stretch // 2, 1)


def _drop_stretches(runner: _Runner, kept: tuple[int, ...], stretch: int) -> tuple[int, ...]:
    """Try to do without each stretch of steps, the last ones first."""
    end = len(kept)
    while end > 0:
        shorter = runner.run(kept[: max(end - stretch, 0)] + kept[end:])
        if shorter is not None:
            kept = shorter
        end = min(end - stretch, len(kept))
    return kept


def _drop_elements(model: RelationalModel, trace: Trace, claimed: Named) -> Trace:
    for sort, size in trace.states[0].sizes.items():
        for element in reversed(range(size)):
            trace = _without(model, trace, claimed, sort, element) or trace
    return trace


def _without(model: RelationalModel, trace: Trace, claimed: Named, sort: Sort, element: int) -> Trace | None:
    """The same steps in the instance that lacks an element; None if something needs it."""
    start = trace.states[0]
    if start.sizes[sort] == 1:
        return None
    restriction = _Restriction(sort, element)
    try:
        tables = {symbol: restriction.table(symbol, table) for symbol, table in start.tables.items()}
        steps = tuple(restriction.step(model.transition(step.transition), step) for step in trace.steps)
        smaller = with_derived(model, Structure({**start.sizes, sort: start.sizes[sort] - 1}, tables))
        if check_initial(model, smaller) is not None:
            return None
        runner = _Runner(model, smaller, steps, claimed)
        taken = runner.run(range(len(steps)))
    except (_Needed, EvaluationError):
        return None
    return None if taken is None else runner.trace(taken, trace)


class _Needed(Exception):
    """The element to be dropped is the value of something."""


class _Restriction:
    """Leaves an element out of a universe; the elements above it move down by one."""

    def __init__(self, sort: Sort, element: int) -> None:
        self.sort = sort
        self.element = element

    def value(self, value: Value, sort: Sort) -> Value:
        if sort is not self.sort:
            return value
        if value == self.element:
            raise _Needed
        return value - 1 if value > self.element else value

    def table(self, symbol: Symbol, table: Table) -> Table:
        return {
            tuple(self.value(value, sort) for value, sort in zip(key, symbol.arguments, strict=True)): self.value(
                result, symbol.sort
            )
            for key, result in table.items()
            if not any(v == self.element and s is self.sort for v, s in zip(key, symbol.arguments, strict=True))
        }

    def step(self, transition: Transition, step: Step) -> Step:
        bindings = {item.name: self.value(step.bindings[item.name], item.sort) for item in transition.parameters}
        choices = {choice.name: self.table(choice, step.choices[choice.name]) for choice in transition.choices}
        return Step(step.transition, bindings, choices)
