"""The strongest clauses of a language that hold in all rows: the candidates, in compiled code.

`Candidates` is a set that only ever grows weaker: rows are added, clauses that fail in one of them are replaced by the
next weaker ones.  Whatever clause of the language holds in all rows is implied by a candidate (Theorems 1, 2 and 4 of the
thesis, for clauses).
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_uint64, string_at

import numpy

from quorate.methods.inference.language import Clause, Language
from quorate.methods.inference.library import LONGEST, library
from quorate.methods.inference.states import Array


class Candidates:
    """The minimal clauses of a language that fail in no row; only those that are `lighter` than the heaviest by so much."""

    def __init__(self, language: Language, lighter: int = 0) -> None:
        self.language = language
        self.refuted = 0
        self.library = library()
        (domains, images), (places, moves) = language.maps, language.placements
        self.handle = self.library.space_new(
            language.literals, language.words, language.size, language.weight - lighter, len(language.variables),
            language.total, language.present,
            language.masks.ctypes.data, language.firsts.ctypes.data,
            len(domains), domains.ctypes.data, images.ctypes.data,
            len(places), places.ctypes.data, moves.ctypes.data,
        )  # fmt: skip

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.space_free(self.handle)

    def keep(self, rows: Array) -> int:
        """Rows to enumerate from; returns how many were new."""
        rows = numpy.ascontiguousarray(rows)
        return int(self.library.space_keep(self.handle, rows.ctypes.data, len(rows)))

    def enumerate(self, seconds: float = float("inf")) -> bool:
        """Find all minimal clauses that hold in the rows kept; False if that takes longer, and then one can go on."""
        return bool(self.library.space_enumerate(self.handle, seconds))

    def add(self, rows: Array) -> int:
        """Weaken the clauses that fail in new rows; returns how many failed."""
        rows = numpy.ascontiguousarray(rows)
        failed = int(self.library.space_add(self.handle, rows.ctypes.data, len(rows)))
        self.refuted += failed
        return failed

    @property
    def rows(self) -> int:
        return int(self.library.space_row_count(self.handle))

    def clause(self, number: int) -> Clause:
        start = self.library.space_list(self.handle)
        literals = start[number * LONGEST : (number + 1) * LONGEST]
        return tuple(literal for literal in literals if literal >= 0)

    def is_alive(self, number: int) -> bool:
        return bool(self.library.space_alive(self.handle)[number])

    def flags(self) -> bytes:
        """For every clause whether it holds."""
        return string_at(self.library.space_alive(self.handle), int(self.library.space_count(self.handle)))

    def alive(self) -> Array:
        """The numbers of all clauses that hold."""
        return numpy.flatnonzero(numpy.frombuffer(self.flags(), numpy.uint8))

    def fails(self, rows: Array) -> Array:
        """Which of the rows violate a clause."""
        rows = numpy.ascontiguousarray(rows)
        result = numpy.zeros(len(rows), numpy.uint8)
        self.library.space_fails(self.handle, rows.ctypes.data, len(rows), result.ctypes.data)
        return result.astype(bool)

    def failing(self, rows: Array, most: int) -> list[tuple[int, int]]:
        """Clauses that fail in one of the rows, shortest first, each with such a row."""
        rows = numpy.ascontiguousarray(rows)
        found = (c_uint64 * (2 * most))()
        count = int(self.library.space_failing(self.handle, rows.ctypes.data, len(rows), most, found))
        return [(found[2 * i], found[2 * i + 1]) for i in range(count)]

    def failing_among(self, rows: Array, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Those of the given clauses that hold so far and fail in one of the rows, each with such a row."""
        rows = numpy.ascontiguousarray(rows)
        wanted = (c_uint64 * len(numbers))(*numbers)
        found = (c_uint64 * (2 * len(numbers)))()
        count = int(
            self.library.space_failing_among(self.handle, rows.ctypes.data, len(rows), wanted, len(numbers), found)
        )
        return [(found[2 * i], found[2 * i + 1]) for i in range(count)]
