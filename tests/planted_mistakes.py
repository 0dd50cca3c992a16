"""Mistakes to plant into the trusted code, one at a time: every one of them has to make its test fail.

`python bench/planted.py` plants them and runs the tests; a test that passes all the same is a gap.  Each mistake is a single line
of the front ends, the translations or the checker, changed the way people get it wrong: an update lost, a quantifier
flipped, an order reversed, a name captured.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """In `path`, below src/quorate, the text `old`, which occurs once, becomes `new`; then `test` must fail."""

    path: str
    old: str
    new: str
    test: str


MISTAKES: tuple[Mistake, ...] = ()
