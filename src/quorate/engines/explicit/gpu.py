"""Breadth-first search on a GPU: the same emitted code as on the CPU, compiled for CUDA when it is needed.

It needs the optional package CuPy (`pip install quorate[gpu]`) and a device; without them `GpuError` says what is missing.
"""

from __future__ import annotations

import os
import time
from typing import Any

from quorate.engines.explicit.compile import cache_folder
from quorate.engines.explicit.emit import fill
from quorate.engines.explicit.native import SymmetryTables, Words
from quorate.engines.explicit.reference import FINISHED, OUT_OF_MEMORY, RUNNING, STOPPED, Exploration, Reference, Status
from quorate.engines.explicit.system import System

THREADS = 128
CHUNK = 1 << 24
"""States that are expanded in one launch."""

BEGINNERS = 1 << 14
"""Threads that share the initial states."""

FIRST_SLOTS = 1 << 29
FIRST_CAPACITY = 1 << 28
FIRST_ROOM = 1 << 24

COUNTERS = ("count", "waiting", "overflow", "bad", "deadlocks", "unreduced", "match")
"""The fields of the C structure `counters`, before `fired`."""


class GpuError(Exception):
    """The GPU cannot be used; the message says why and what to do."""


def load_cupy() -> Any:
    """CuPy, told to keep what it compiles where our own engines are kept."""
    kept = cache_folder()
    name, value = ("CUPY_CACHE_DIR", str(kept / "cupy")) if kept else ("CUPY_CACHE_IN_MEMORY", "1")
    os.environ.setdefault(name, value)
    try:
        import cupy
    except ImportError:
        raise GpuError("the GPU engine needs the package CuPy: `pip install quorate[gpu]`") from None
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            raise GpuError("there is no CUDA device; use `--engine native`")
    except cupy.cuda.runtime.CUDARuntimeError as problem:
        raise GpuError(f"there is no usable CUDA device ({problem}); use `--engine native`") from None
    return cupy


class GpuSearch:
    """One breadth-first search, with the interface of the native one."""

    def __init__(self, system: System, symmetry: bool = False, keep_going: bool = True) -> None:
        self.cupy = cupy = load_cupy()
        self.system, self.keep_going = system, keep_going
        self.words = system.layout.words
        self.modules: dict[bool, Any] = {}
        words = cupy.cuda.Device().mem_info[0] // 8
        self.slots = _power_below(min(FIRST_SLOTS, words // 8))
        self.capacity = min(FIRST_CAPACITY, words // 8) // self.words
        self.room = min(FIRST_ROOM, words // 16 // self.words) if self.words > 1 else 1
        self.symmetry = self._symmetry(symmetry)
        self.status: Status = RUNNING
        self.found = Exploration(fired=dict.fromkeys(system.transitions, 0))
        self.layers: list[int] = [0]
        self.cursor = 0
        self.first: dict[int, tuple[int, int]] = {}
        self.deadlock: tuple[int, int] | None = None

    def _symmetry(self, wanted: bool) -> list[Any]:
        """The look-up tables on the device: permutations, groups and members; empty if no symmetry is used."""
        import numpy

        self.tables = SymmetryTables(self.system) if wanted else None
        if self.tables is None or not self.tables.useful:
            return []
        parts = (self.tables.tables, self.tables.groups, self.tables.members)
        return [self.cupy.asarray(numpy.ctypeslib.as_array(part)) for part in parts]

    # -- memory -------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        zeros, empty = self.cupy.zeros, self.cupy.empty
        self.table = zeros(self.slots, "u8")
        self.log = empty(self.capacity * self.words, "u8")
        self.candidates = empty(self.room * self.words, "u8")
        self.claims = empty(self.room, "u8")
        self.counters = zeros(len(COUNTERS) + max(1, len(self.system.transitions)), "u8")
        self._point()

    def _point(self) -> None:
        """The structure that tells the kernels where everything is."""
        import numpy

        parts = [self.log, self.table, self.candidates, self.claims]
        values = [part.data.ptr for part in parts] + [self.capacity, self.slots - 1, self.room, self.counters.data.ptr]
        values += [part.data.ptr for part in self.symmetry] or [0, 0, 0]
        self.engine = numpy.array(values, "u8").view([(f"f{i}", "u8") for i in range(len(values))])[0]

    def _make_room(self) -> None:
        """After an overflow: more of what was short, and the table filled from the log."""
        cupy = self.cupy
        wanted, waiting = self._get("count"), self._get("waiting")
        count = min(wanted, self.capacity)
        if waiting > self.room:
            self.room = waiting + waiting // 4
            self.candidates = self.claims = None
            self.candidates = cupy.empty(self.room * self.words, "u8")
            self.claims = cupy.empty(self.room, "u8")
        if wanted > self.capacity:
            self.capacity = 2 * wanted
            if self.words > 1 and self.capacity >= 1 << 31:
                raise MemoryError
            larger = cupy.empty(self.capacity * self.words, "u8")
            larger[: count * self.words] = self.log[: count * self.words]
            self.log = larger
        if 3 * count > self.slots or (waiting <= self.room and wanted <= self.capacity):
            self.slots *= 4 if self.slots < 1 << 30 else 2
        self.table = None
        self.table = cupy.zeros(self.slots, "u8")
        self._point()
        self._set("count", count)
        self._set("overflow", 0)
        self._launch("refill", count)
        if self._get("overflow"):
            self._make_room()

    def _get(self, name: str) -> int:
        return int(self.counters[COUNTERS.index(name)])

    def _set(self, name: str, value: int) -> None:
        self.counters[COUNTERS.index(name)] = value

    def _launch(self, name: str, count: int, *arguments: Any) -> None:
        if count:
            blocks = (count + THREADS - 1) // THREADS
            self._function(name)((blocks,), (THREADS,), (self.engine, *arguments))

    def _function(self, name: str) -> Any:
        """A kernel; those that look back are compiled apart, when they are first needed."""
        back = name.startswith("find_")
        if back not in self.modules:
            options = ("--std=c++14", *(("-DLOOK_BACK",) if back else ()))
            self.modules[back] = self.cupy.RawModule(code=fill("search.cu", self.system), options=options)
        return self.modules[back].get_function(name)

    # -- the search ---------------------------------------------------------------------------------------------

    def begin(self) -> Status:
        self._allocate()
        worlds = len(self.system.worlds)
        parts = max(1, BEGINNERS // max(1, worlds))
        self._guarded("begin", worlds * parts, self.cupy.uint32(parts))
        return self._settle()

    def _guarded(self, kernel: str, count: int, *arguments: Any) -> None:
        """Run a kernel that adds states, again and again until there was room for all of them."""
        try:
            before = self.counters.copy()
            while True:
                self._launch(kernel, count, *arguments)
                if self.words > 1 and not self._get("overflow"):
                    waiting = self._get("waiting")
                    self._launch("claim", waiting)
                    self._launch("join", waiting)
                if not self._get("overflow"):
                    break
                self._make_room()
                count = self._get("count")
                self.counters[:] = before
                self._set("count", count)
            if self.words > 1:
                self._set("waiting", 0)
        except (MemoryError, self.cupy.cuda.memory.OutOfMemoryError):
            self.status = OUT_OF_MEMORY

    def run(self, seconds: float) -> Status:
        """Search on for about that long."""
        ends = time.monotonic() + seconds
        while self.status == RUNNING:
            end = min(self.cursor + CHUNK, self.layers[-1])
            self._guarded("expand_range", end - self.cursor, *self._range(self.cursor, end))
            if self.status == RUNNING:
                self.cursor = end
                self._settle()
            if time.monotonic() > ends:
                break
        return self.status

    def _settle(self) -> Status:
        """Read the counters; begin the next layer if this one is done."""
        if self.status != RUNNING:
            return self.status
        count = self._get("count")
        if self.cursor == self.layers[-1]:
            if count > self.layers[-1]:
                self._launch("look", count - self.layers[-1], *self._range(self.layers[-1], count))
                self.layers.append(count)
            else:
                self.status = FINISHED
        values = self.counters.get().tolist()
        now = dict(zip(COUNTERS, values, strict=False))
        self.found.states = count
        self.found.depth = max(0, len(self.layers) - 2)
        self.found.unreduced = now["unreduced"] if self.symmetry else count
        self.found.deadlocks = now["deadlocks"]
        self.found.fired = dict(zip(self.system.transitions, values[len(COUNTERS) :], strict=False))
        self.found.transitions = sum(self.found.fired.values())
        for i, (name, _) in enumerate(self.system.properties):
            if now["bad"] >> i & 1 and name not in self.found.violations:
                self.found.violations[name] = self.found.depth
                self.first[i] = self._find("find_bad", self.found.depth, self.cupy.uint64(1 << i))
        if now["deadlocks"] and self.deadlock is None:
            layer = next(d for d in range(len(self.layers)) if self.cursor <= self.layers[d + 1])
            self.deadlock = self._find("find_deadlock", layer, self._target(()))
        if self.found.violations and not self.keep_going and self.status == RUNNING:
            self.status = STOPPED
        return self.status

    def _range(self, start: int, end: int) -> tuple[Any, Any]:
        return self.cupy.uint64(start), self.cupy.uint64(end)

    def _target(self, words: tuple[int, ...]) -> Any:
        return self.cupy.asarray(words or (2**64 - 1,) * self.words, "u8")

    def _find(self, kernel: str, layer: int, *arguments: Any) -> tuple[int, int]:
        """Layer and number of the first state of a layer that a kernel looks for."""
        start, end = self.layers[layer], self.layers[layer + 1]
        self._set("match", 2**64 - 1)
        self._launch(kernel, end - start, *self._range(start, end), *arguments)
        found = self._get("match")
        if found == 2**64 - 1:
            raise AssertionError(f"{kernel} finds no state in layer {layer}")
        return layer, found

    @property
    def used(self) -> int:
        """Bytes on the device."""
        return int(8 * (self.slots + self.capacity * self.words + self.room * (self.words + 1)))

    def state(self, number: int) -> Words:
        return tuple(self.log[number * self.words : (number + 1) * self.words].get().tolist())

    def first_bad(self, prop: int) -> tuple[int, Words]:
        """Depth and words of the first state that violates a property."""
        depth, number = self.first[prop]
        return depth, self.state(number)

    def first_deadlock(self) -> tuple[int, Words] | None:
        """Depth and words of a state without successors."""
        return (self.deadlock[0], self.state(self.deadlock[1])) if self.deadlock else None

    def path_to(self, target: Words, depth: int) -> list[Words]:
        """States from an initial one to the target, which lies in layer `depth`."""
        path = [target]
        for layer in range(depth - 1, -1, -1):
            _, number = self._find("find_parent", layer, self._target(path[-1]))
            path.append(self.state(number))
        return path[::-1]

    def canonical(self, words: Words) -> Words:
        """The state that stands for all that the symmetries of its world lead to."""
        if not self.symmetry:
            return tuple(words)
        layout = self.system.layout
        return layout.pack(*Reference(self.system).canonical(layout.unpack(words)))


def _power_below(number: int) -> int:
    return 1 << max(10, number.bit_length() - 1)
