"""States as NumPy arrays: for notebooks, and as samples for inference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from quorate.engines.explicit.system import Layout, Place

if TYPE_CHECKING:
    from quorate.engines.explicit.native import Engine, Search

Array = numpy.ndarray[Any, Any]


def unpack(layout: Layout, packed: Array) -> Array:
    """Packed states, words along the last axis, as values: an entry per field, and one for the world."""

    def read(place: Place) -> Array:
        mask = numpy.uint64((1 << place.bits) - 1)
        return (packed[..., place.word] >> numpy.uint64(place.shift)) & mask

    values = numpy.empty(
        (*packed.shape[:-1], len(layout.places) + 1), numpy.uint8 if layout.world.bits <= 8 else numpy.uint32
    )
    for index, place in enumerate((*layout.places, layout.world)):
        values[..., index] = read(place)
    return values


def all_states(search: Search) -> Array:
    """The packed states that a search has found, shard by shard."""
    words = search.engine.words
    parts = [
        numpy.ctypeslib.as_array(search.log(shard), shape=(count * words,)).reshape(count, words)
        for shard, count in enumerate(search.counts())
    ]
    return numpy.concatenate(parts)


def random_states(engine: Engine, runs: int, depth: int, seed: int) -> Array:
    """Packed states along random runs, of shape (runs, depth + 1, words); a run that ends early repeats its last state."""
    batch = engine.simulate(runs, depth, seed, keep=True)
    if batch is None:
        return numpy.zeros((0, depth + 1, engine.words), numpy.uint64)
    path = numpy.frombuffer(batch.path, numpy.uint64).reshape(runs, depth + 1, engine.words).copy()
    for run, length in enumerate(batch.lengths):
        path[run, length + 1 :] = path[run, length]
    return path
