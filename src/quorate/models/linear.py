"""Linear inequalities over the rationals, and whether they contradict each other: enough to compare sizes of quorums.

Elimination of variables after Fourier and Motzkin.  What is contradictory over the rationals is so over the integers; the
converse need not hold, and then a fact about quorums is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

ONE = ""
"""The name under which a linear form keeps its constant."""


@dataclass(frozen=True)
class Linear:
    """A sum of variables with factors, and a constant."""

    factors: tuple[tuple[str, Fraction], ...]

    @staticmethod
    def of(factors: Mapping[str, Fraction | int]) -> Linear:
        return Linear(tuple(sorted((name, Fraction(f)) for name, f in factors.items() if f)))

    @staticmethod
    def name(name: str) -> Linear:
        return Linear.of({name: 1})

    @staticmethod
    def constant(value: Fraction | int) -> Linear:
        return Linear.of({ONE: value})

    def __add__(self, other: Linear) -> Linear:
        found = dict(self.factors)
        for name, factor in other.factors:
            found[name] = found.get(name, Fraction(0)) + factor
        return Linear.of(found)

    def __sub__(self, other: Linear) -> Linear:
        return self + other * -1

    def __mul__(self, factor: Fraction | int) -> Linear:
        return Linear.of({name: value * factor for name, value in self.factors})

    def __str__(self) -> str:
        return " + ".join(f"{factor}{'*' + name if name else ''}" for name, factor in self.factors) or "0"


@dataclass(frozen=True)
class AtLeast:
    """`form >= 0`, or `form > 0` if strict."""

    form: Linear
    strict: bool = False


def contradictory(facts: Iterable[AtLeast]) -> bool:
    """Is there no way to give the variables rational values such that all facts hold?"""
    rows = set(facts)
    while True:
        for row in list(rows):
            if all(name == ONE for name, _ in row.form.factors):
                value = dict(row.form.factors).get(ONE, Fraction(0))
                if value < 0 or (row.strict and value == 0):
                    return True
                rows.remove(row)
        names = {name for row in rows for name, _ in row.form.factors if name != ONE}
        if not names:
            return False
        name = min(names, key=lambda item: sum(item in dict(row.form.factors) for row in rows))
        above = [row for row in rows if dict(row.form.factors).get(name, 0) > 0]
        below = [row for row in rows if dict(row.form.factors).get(name, 0) < 0]
        rows = {row for row in rows if name not in dict(row.form.factors)}
        for low in above:
            for high in below:
                a, b = dict(low.form.factors)[name], -dict(high.form.factors)[name]
                rows.add(AtLeast(low.form * (1 / a) + high.form * (1 / b), low.strict or high.strict))
