"""Searching Mercury programs with a fixed number of processes: small ones at once, larger ones in compiled code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quorate.engines.explicit.compile import QUICK, CompilerError
from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import FINISHED, RUNNING, STOPPED, Exploration, Reference, ReferenceSearch
from quorate.engines.explicit.reference import State as Fields
from quorate.models.process import ProcessModel
from quorate.models.process_semantics import ProcessSemantics
from quorate.proof.process_runs import ProcessRun, replay

PATIENCE = 0.4
"""Seconds that plain Python may take before code is compiled."""

MOST_LISTED = 100_000
"""More states than this are counted but not listed."""


@dataclass(frozen=True)
class Explored:
    """What a search found: `finished` if it saw all states; points where some process is; runs to what is violated.

    The states themselves are listed only if they are not too many.
    """

    finished: bool
    found: Exploration
    states: Sequence[Sequence[int]]
    points: frozenset[int]
    runs: tuple[ProcessRun, ...]


def explore(
    instance: ProcessInstance,
    ends: float,
    keep_going: bool = False,
    with_runs: bool = True,
    symmetry: bool = True,
    memory_mb: int = 4096,
) -> Explored:
    """Search an instance, up to symmetry where it can be used, until a point in time."""
    system = instance.system
    symmetry = symmetry and system.symmetry is not None
    reference = Reference(system)
    plain = ReferenceSearch(reference, symmetry, keep_going)
    plain.begin()
    plain.run(max(0.0, min(PATIENCE, ends - time.monotonic())))
    if plain.status == RUNNING:
        try:
            return _compiled(instance, reference, symmetry, ends, keep_going, with_runs, memory_mb)
        except CompilerError:
            plain.run(max(0.0, ends - time.monotonic()))
    runs = []
    if with_runs:
        for name in plain.found.violations:
            path = plain.path_to(plain.first[name])
            runs.append(run_of(instance, reference, path, plain.canonical, name))
    states = [fields for fields, _ in plain.seen]
    points = frozenset(fields[place] for fields in states for place in instance.point_fields)
    return Explored(plain.status == FINISHED, plain.found, states, points, tuple(runs))


def _compiled(
    instance: ProcessInstance,
    reference: Reference,
    symmetry: bool,
    ends: float,
    keep_going: bool,
    with_runs: bool,
    memory_mb: int,
) -> Explored:
    import numpy

    from quorate.engines.explicit.arrays import all_states, unpack
    from quorate.engines.explicit.native import Engine, Search

    system = instance.system
    layout = system.layout
    search = Search(Engine(system, QUICK), symmetry, 1, memory_mb, keep_going)
    search.begin()
    while search.status == RUNNING and time.monotonic() < ends:
        search.run(min(0.5, max(0.0, ends - time.monotonic())))
    found = search.found
    runs = []
    names = [name for name, _ in system.properties]
    if with_runs:
        for name in found.violations:
            depth, words = search.first_bad(names.index(name))
            path = [layout.unpack(item) for item in search.path_to(words, depth)]
            reduce = (lambda state: layout.unpack(search.canonical(layout.pack(*state)))) if symmetry else None
            runs.append(run_of(instance, reference, path, reduce or (lambda state: state), name))
    states, points = [], set()
    if search.status in (FINISHED, STOPPED):
        packed = all_states(search)
        if found.states <= MOST_LISTED:
            states = [row[:-1] for row in unpack(layout, packed).tolist()]
        for index in instance.point_fields:
            place = layout.places[index]
            column = packed[:, place.word] & numpy.uint64(place.mask)
            points |= {int(value) >> place.shift for value in numpy.unique(column)}
    return Explored(search.status == FINISHED, found, states, frozenset(points), tuple(runs))


def run_of(
    instance: ProcessInstance,
    reference: Reference,
    path: Sequence[Fields],
    reduce: Callable[[Fields], Fields],
    violated: str | None,
) -> ProcessRun:
    """The run along a path of states that `reduce` has been applied to, replayed on the plain semantics."""
    semantics = ProcessSemantics(instance.model, instance.processes)
    state = path[0]
    states, steps = [instance.state(state[0])], []
    for target in path[1:]:
        state = next(after for after, _, _ in reference.successors(state) if reduce(after) == target)
        after = instance.state(state[0])
        steps.append(next(step for step, reached in semantics.successors(states[-1]) if reached == after))
        states.append(after)
    named = violated if any(item.name == violated for item in instance.model.safety) else None
    run = ProcessRun(instance.processes, tuple(states), tuple(steps), named)
    replay(instance.model, run)
    return run


def hunt(model: ProcessModel, processes: int, ends: float) -> Explored:
    """Look for violations with so many processes."""
    return explore(ProcessInstance(model, processes), ends, keep_going=True)
