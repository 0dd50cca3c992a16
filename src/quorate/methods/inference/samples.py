"""Reachable states of small instances: every candidate must hold in all of them.

Samples only save work: a candidate that they wrongly spare is refuted later, by a step.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy

from quorate.engines.explicit.arrays import all_states, random_states, unpack
from quorate.engines.explicit.compile import QUICK
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Engine, Search
from quorate.engines.explicit.reference import FINISHED, RUNNING
from quorate.engines.explicit.worlds import InstanceError
from quorate.logic.structures import domain
from quorate.logic.terms import Sort, Symbol
from quorate.methods.inference.states import States, from_instance, in_order
from quorate.models.relational import RelationalModel

MOST_STATES = 4_000
SECONDS, SLICE = 2.0, 0.02
WALKS, STEPS = 200, 40
LARGEST, ALWAYS, HEAVY, FEW_STATES, FEW_WORLDS = 5, 2, 150, 2_000, 100
"""Instances grow up to that size, as long as they are not heavy, or until they have more than a few states, or worlds."""


@dataclass(frozen=True)
class Sample:
    """States of one instance; `complete` if they are all, up to symmetry; `violated` names properties they violate."""

    instance: Instance
    states: States
    complete: bool
    violated: tuple[str, ...]


def sample(
    model: RelationalModel, sizes: Mapping[Sort, int], orders: Mapping[Sort, Symbol], seed: int
) -> Sample | None:
    """States of an instance: all of them if they are few, else those near the beginning and on random runs."""
    try:
        instance = Instance(model, sizes)
        system = instance.system
    except InstanceError:
        return None
    if not system.worlds:
        return None
    engine = Engine(system, QUICK)
    search = Search(engine, system.symmetry is not None, jobs=1, memory_mb=1024, keep_going=False)
    search.begin()
    until = time.monotonic() + SECONDS
    while search.status == RUNNING and search.found.states < 4 * MOST_STATES and time.monotonic() < until:
        search.run(SLICE)
    complete = search.status == FINISHED
    packed = all_states(search)[: 4 * MOST_STATES]
    generator = numpy.random.default_rng(seed)
    if len(packed) > MOST_STATES:
        packed = packed[generator.choice(len(packed), MOST_STATES, replace=False)]
    rows = unpack(system.layout, packed)
    if not complete and not search.bad:
        walks = random_states(engine, WALKS, STEPS, seed)
        walked = unpack(system.layout, walks.reshape(-1, walks.shape[-1]))
        rows = numpy.concatenate([rows, numpy.unique(walked, axis=0)])
    states = in_order(from_instance(instance, rows), orders)
    return Sample(instance, states, complete, tuple(search.found.violations))


def samples(
    model: RelationalModel, least: Mapping[Sort, int], orders: Mapping[Sort, Symbol], seed: int
) -> Iterator[Sample]:
    """States of instances in which all sorts have the same size, or the least one that they have, as long as they are small and
    have few states."""
    for size in range(2, LARGEST + 1):
        sizes = {sort: max(size, smallest) for sort, smallest in least.items()}
        if size > ALWAYS and _weight(model, sizes) > HEAVY:
            return
        found = sample(model, sizes, orders, seed)
        if found is not None:
            yield found
            if found.violated or found.states.count > FEW_STATES or len(found.instance.worlds) > FEW_WORLDS:
                return


def _weight(model: RelationalModel, sizes: Mapping[Sort, int]) -> int:
    """The number of fields of an instance and of its rules."""

    def tuples(sorts: Iterable[Sort]) -> int:
        return prod(len(domain(sort, sizes)) for sort in sorts)

    fields = sum(tuples(symbol.arguments) for symbol in model.state_symbols)
    return fields + sum(tuples(p.sort for p in transition.parameters) for transition in model.transitions)
