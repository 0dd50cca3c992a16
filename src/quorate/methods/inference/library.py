"""What is compiled: rows of states, and the clauses that fail in none (`clauses.c`)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_int, c_uint64, c_void_p
from functools import cache
from importlib.resources import files
from typing import Any

from quorate.engines.explicit.compile import load_library

VECTORISED = "-O3"
LONGEST = 8
"""How many literals a clause can have."""


@cache
def library() -> Any:
    loaded = load_library(files(__package__).joinpath("clauses.c").read_text(), VECTORISED)
    number = c_uint64
    for name, result, arguments in (
        ("space_new", c_void_p, [*[c_int] * 7, c_void_p, c_void_p, *[c_int, c_void_p, c_void_p] * 2]),
        ("rows_of", None, [c_int, c_int, c_void_p, c_int, c_int, c_void_p, c_int, c_int, c_void_p, c_int, c_void_p]),
        ("space_free", None, [c_void_p]),
        ("space_keep", number, [c_void_p, c_void_p, number]),
        ("space_enumerate", c_int, [c_void_p, c_double]),
        ("space_add", number, [c_void_p, c_void_p, number]),
        ("space_count", number, [c_void_p]),
        ("space_row_count", number, [c_void_p]),
        ("space_list", POINTER(ctypes.c_int16), [c_void_p]),
        ("space_alive", POINTER(ctypes.c_uint8), [c_void_p]),
        ("space_fails", None, [c_void_p, c_void_p, number, c_void_p]),
        ("space_failing_among", number, [c_void_p, c_void_p, number, c_void_p, number, c_void_p]),
        ("space_failing", number, [c_void_p, c_void_p, number, number, c_void_p]),
    ):
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
