"""States of a finite system back into runs of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference, State
from quorate.proof.traces import Trace, replay


def trace_of(
    instance: Instance,
    reference: Reference,
    path: Sequence[State],
    reduce: Callable[[State], State],
    violated: str | None,
) -> Trace:
    """The run along a path of states that `reduce` has been applied to, replayed on the plain semantics."""
    state = path[0]
    states, steps = [instance.structure(*state)], []
    for target in path[1:]:
        state, rule, choices = next(
            (after, rule, choices) for after, rule, choices in reference.successors(state) if reduce(after) == target
        )
        states.append(instance.structure(*state))
        steps.append(instance.step(instance.system.rules[rule], choices))
    trace = Trace("run", tuple(states), tuple(steps), violated)
    replay(instance.model, trace)
    return trace
