"""Breadth-first search and random runs in compiled code: the fast twin of `reference`.

A `Search` is run for a while at a time, so that its caller can show progress, stop it, or save it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_int, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from quorate.engines.explicit.compile import OPTIMISED, load_library
from quorate.engines.explicit.emit import fill
from quorate.engines.explicit.reference import OUT_OF_MEMORY, RUNNING, Exploration
from quorate.engines.explicit.system import Layout, System

Words = tuple[int, ...]
"""A packed state."""


class SymmetryTables:
    """The symmetries of a system as look-up tables: a packed state is permuted byte by byte."""

    def __init__(self, system: System) -> None:
        import numpy

        if system.symmetry is None:
            raise ValueError(f"symmetry cannot be used: {system.why_not}")
        numbers: dict[Any, int] = {}
        members: list[int] = []
        starts = [0]
        for group in system.symmetry:
            for permutation in group:
                if any(i != p for i, p in enumerate(permutation.places)) or any(
                    value != v for values in permutation.values for v, value in enumerate(values)
                ):
                    members.append(numbers.setdefault(permutation, len(numbers)))
            starts.append(len(members))
        self.useful = bool(numbers or system.blocks or system.peers)
        self.groups = (c_uint * len(starts))(*starts)
        self.members = (c_uint * max(1, len(members)))(*members)
        words = system.layout.words
        self.tables = numpy.zeros((max(1, len(numbers)), 8 * words, 256, words), numpy.uint64)
        for permutation, number in numbers.items():
            self._fill(system.layout, permutation, self.tables[number])

    def _fill(self, layout: Layout, permutation: Any, table: Any) -> None:
        """What each value of each byte contributes to the permuted state."""
        import numpy

        contents = numpy.arange(256)
        moves = list(zip(layout.places, permutation.places, permutation.values, strict=True))
        world = layout.world
        for bit in range(world.shift, world.shift + world.bits):
            place = type(world)(world.word, bit, 1)
            moves.append((place, place, (0, 1)))
        for place, target, values in moves:
            if place.bits:
                to = target if isinstance(target, type(world)) else layout.places[target]
                read = contents >> place.shift % 8 & (1 << place.bits) - 1
                images = numpy.zeros(1 << place.bits, numpy.uint64)
                images[: len(values)] = values
                table[place.word * 8 + place.shift // 8, :, to.word] |= images[read] << numpy.uint64(to.shift)


class Engine:
    """The compiled code of one system."""

    def __init__(self, system: System, level: str = OPTIMISED) -> None:
        self.system = system
        self.words = system.layout.words
        self.library = library = load_library(fill("search.c", system), level)
        pointer, number = POINTER(c_uint64), c_uint64
        signatures: dict[str, tuple[Any, list[Any]]] = {
            "search_new": (c_void_p, [c_uint, c_uint, number, c_int, c_void_p, c_void_p, c_void_p]),
            "search_free": (None, [c_void_p]),
            "search_begin": (c_int, [c_void_p]),
            "search_load": (c_int, [c_void_p, c_uint, c_void_p, number]),
            "search_resume": (c_int, [c_void_p, pointer, pointer, c_void_p, number, pointer, number]),
            "search_run": (c_int, [c_void_p, c_double]),
            "search_totals": (pointer, [c_void_p]),
            "search_used": (number, [c_void_p]),
            "search_bad": (number, [c_void_p]),
            "search_first_bad": (pointer, [c_void_p]),
            "search_stuck": (number, [c_void_p]),
            "search_layers": (pointer, [c_void_p]),
            "search_counts": (pointer, [c_void_p]),
            "search_cursors": (pointer, [c_void_p]),
            "search_log": (c_void_p, [c_void_p, c_uint]),
            "search_canonical": (None, [c_void_p, pointer]),
            "search_violated": (number, [pointer]),
            "search_back": (c_int, [c_void_p, number, pointer, pointer]),
            "simulate": (None, [pointer, *[number] * 5, pointer, pointer, pointer, pointer]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    @cached_property
    def _start(self) -> Search:
        """The initial states, in the one shard of a search that has only begun."""
        search = Search(self, jobs=1)
        search.begin()
        return search

    def initial_states(self) -> int:
        """How many initial states there are."""
        return sum(self._start.counts())

    def simulate(self, runs: int, depth: int, seed: int, first: int = 0, keep: bool = False) -> Batch | None:
        """Random runs number `first` and up, each of at most `depth` steps; None if there is no initial state.

        A run depends on the seed and its number alone.  Where `keep` is set, the states of all runs are returned.
        """
        count = self.initial_states()
        if not count:
            return None
        lengths, bad = (c_uint64 * runs)(), (c_uint64 * runs)()
        path = (c_uint64 * (runs * (depth + 1) * self.words))() if keep else None
        fired = (c_uint64 * max(1, len(self.system.transitions)))()
        self.library.simulate(self._start.log(0), count, seed, first, runs, depth, lengths, bad, path, fired)
        return Batch(list(lengths), list(bad), path, list(fired))


@dataclass(frozen=True)
class Batch:
    """Random runs: the steps of each, the properties that its last state violates as bits, and all states if kept."""

    lengths: Sequence[int]
    bad: Sequence[int]
    path: Any
    fired: Sequence[int]


class Search:
    """One breadth-first search."""

    def __init__(
        self,
        engine: Engine,
        symmetry: bool = False,
        jobs: int = 0,
        memory_mb: int = 4096,
        keep_going: bool = True,
        shards: int = 0,
    ) -> None:
        self.engine, self.system, self.library = engine, engine.system, engine.library
        self.symmetry = symmetry
        jobs = jobs or os.cpu_count() or 1
        self.shards = shards or min(jobs, 64)
        self.tables = SymmetryTables(engine.system) if symmetry else None
        use = self.tables if self.tables is not None and self.tables.useful else None
        self.handle = self.library.search_new(
            self.shards,
            min(jobs, 64),
            memory_mb << 20,
            keep_going,
            use.tables.ctypes.data if use else None,
            ctypes.addressof(use.groups) if use else None,
            ctypes.addressof(use.members) if use else None,
        )
        if not self.handle:
            raise MemoryError("the search cannot reserve its memory")
        self.status = RUNNING

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.search_free(self.handle)
            self.handle = None

    def begin(self) -> int:
        self.status = self.library.search_begin(self.handle)
        return self.status

    def run(self, seconds: float) -> int:
        """Search on for about that long; returns the status."""
        self.status = self.library.search_run(self.handle, seconds)
        return self.status

    def finish(self) -> Search:
        """Search all there is."""
        self.begin()
        while self.status == RUNNING:
            self.run(1e9)
        if self.status == OUT_OF_MEMORY:
            raise MemoryError("the states do not fit into the memory that the search may use")
        return self

    @property
    def found(self) -> Exploration:
        """The counts so far."""
        states, transitions, deadlocks, depth, unreduced, *fired = self.totals()
        names = self.system.transitions
        first = self.library.search_first_bad(self.handle)
        violations = {}
        for i, (name, _) in enumerate(self.system.properties):
            if self.bad >> i & 1:
                violations[name] = first[3 * i]
        by_name = dict(zip(names, fired, strict=False))
        return Exploration(states, transitions, depth, deadlocks, unreduced, by_name, violations)

    def totals(self) -> list[int]:
        """The counters, in the order of the C structure."""
        return list(self.library.search_totals(self.handle)[: 5 + max(1, len(self.system.transitions))])

    def progress(self) -> dict[str, Any]:
        """All that a checkpoint keeps beside the states."""
        return {
            "totals": self.totals(),
            "cursors": list(self.library.search_cursors(self.handle)[: self.shards]),
            "layers": self.layer_bounds(),
            "bad": self.bad,
            "first_bad": list(self.library.search_first_bad(self.handle)[: 3 * 64]),
            "stuck": self.library.search_stuck(self.handle),
        }

    def load(self, shard: int, states: bytes, count: int) -> None:
        """Saved states of a shard, before `resume`."""
        if not self.library.search_load(self.handle, shard, states, count):
            raise MemoryError("the saved states do not fit into the memory that the search may use")

    def resume(self, progress: dict[str, Any]) -> None:
        """Go on where `progress` was made."""
        numbers = [n for bounds in progress["layers"] for n in bounds]
        self.status = self.library.search_resume(
            self.handle,
            (c_uint64 * self.shards)(*progress["cursors"]),
            (c_uint64 * len(numbers))(*numbers),
            (c_uint64 * len(progress["totals"]))(*progress["totals"]),
            progress["bad"],
            (c_uint64 * len(progress["first_bad"]))(*progress["first_bad"]),
            progress["stuck"],
        )

    @property
    def bad(self) -> int:
        return int(self.library.search_bad(self.handle))

    @property
    def used(self) -> int:
        """Bytes that states and tables take."""
        return int(self.library.search_used(self.handle))

    def counts(self) -> list[int]:
        """The number of states in each shard."""
        return list(self.library.search_counts(self.handle)[: self.shards])

    def log(self, shard: int) -> Any:
        """The states of a shard, one after the other."""
        return ctypes.cast(self.library.search_log(self.handle, shard), POINTER(c_uint64))

    def state(self, shard: int, number: int) -> Words:
        words, log = self.engine.words, self.log(shard)
        return tuple(log[number * words : (number + 1) * words])

    def layer_bounds(self) -> list[list[int]]:
        """For each layer the numbers of its first state in each shard, and the end of the last layer."""
        layers = self.library.search_layers(self.handle)
        return [list(layers[d * self.shards : (d + 1) * self.shards]) for d in range(self.found.depth + 2)]

    def path_to(self, target: Words, depth: int) -> list[Words]:
        """States from an initial one to the target, which lies in layer `depth`; canonical ones where symmetry is used."""
        path = [target]
        for layer in range(depth - 1, -1, -1):
            path.append(self._back(layer, path[-1]))
        return path[::-1]

    def _back(self, layer: int, target: Words | None) -> Words:
        """The least state of a layer that leads to the target; None for no successor at all."""
        array = c_uint64 * self.engine.words
        found = array()
        if not self.library.search_back(self.handle, layer, array(*target) if target else None, found):
            raise AssertionError(f"layer {layer} lacks the state that is looked for")
        return tuple(found)

    def first_bad(self, prop: int) -> tuple[int, Words]:
        """Depth and words of the first state that violates a property."""
        first = self.library.search_first_bad(self.handle)
        depth, shard, number = first[3 * prop : 3 * prop + 3]
        return depth, self.state(shard, number)

    def first_deadlock(self) -> tuple[int, Words] | None:
        """Depth and words of the first state without successors."""
        layer = self.library.search_stuck(self.handle)
        return None if layer == 2**64 - 1 else (layer, self._back(layer, None))

    def canonical(self, words: Sequence[int]) -> Words:
        array = (c_uint64 * self.engine.words)(*words)
        self.library.search_canonical(self.handle, array)
        return tuple(array)


def explore(system: System, symmetry: bool = False, jobs: int = 0) -> Exploration:
    """Search everything and return the counts."""
    return Search(Engine(system), symmetry, jobs).finish().found
