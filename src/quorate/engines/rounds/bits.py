"""Numbers, sets and choices as literals of a propositional circuit.

A truth value is a literal, a number a tuple of literals (bits, the lowest first), a sum of literals a `Total`.  Sums are compared
with constants by totalizers (Bailleux and Boufkhad, CP 2003), which say in unary how many literals hold.  Read `symbolic` next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, gcd
from typing import Any

from quorate.engines.smt.ground import FALSE, TRUE, Circuit

Vector = tuple[int, ...]


class Mask(tuple[int, ...]):
    """A set of values: a literal for each."""


class Who(tuple[int, ...]):
    """A process: a literal for each that it may be."""


@dataclass(frozen=True)
class Total:
    """A number: a constant and a sum of literals with factors."""

    constant: Fraction = Fraction(0)
    terms: tuple[tuple[Fraction, int], ...] = ()

    def __add__(self, other: Total) -> Total:
        return Total(self.constant + other.constant, self.terms + other.terms)

    def __mul__(self, factor: Fraction) -> Total:
        return Total(self.constant * factor, tuple((f * factor, literal) for f, literal in self.terms))


Value = int | Vector | Total
"""A truth value is a literal."""


class Bits:
    """What is built from literals."""

    def __init__(self) -> None:
        self.circuit = Circuit()
        self._unary: dict[tuple[int, ...], list[int]] = {}
        self._below: dict[tuple[Vector, Vector], int] = {}

    def conj(self, *literals: int) -> int:
        return self.circuit.conj(literals)

    def disj(self, *literals: int) -> int:
        return self.circuit.disj(literals)

    def fresh(self, width: int) -> Vector:
        return tuple(self.circuit.variable() for _ in range(width))

    def clause(self, *literals: int) -> None:
        """One of these holds."""
        if TRUE not in literals:
            self.circuit.clauses.append(tuple(literal for literal in literals if literal != FALSE))

    def number(self, value: int, width: int = 1) -> Vector:
        return tuple(TRUE if value >> i & 1 else FALSE for i in range(max(width, value.bit_length())))

    def select(self, condition: int, then: Any, otherwise: Any) -> Any:
        if isinstance(then, int):
            return self.circuit.ite(condition, then, otherwise)
        first, second = _padded(then, otherwise)
        found = [self.circuit.ite(condition, a, b) for a, b in zip(first, second, strict=True)]
        return type(then)(found) if type(then) is not tuple else tuple(found)

    def mux(self, options: Sequence[tuple[int, Any]]) -> Any:
        """The value whose literal holds; zero if none does.  At most one may hold."""
        first = options[0][1]
        if isinstance(first, int):
            return self.disj(*(self.conj(literal, value) for literal, value in options))
        width = max(len(value) for _, value in options)
        found = [
            self.disj(*(self.conj(literal, value[i]) for literal, value in options if i < len(value)))
            for i in range(width)
        ]
        return type(first)(found) if type(first) is not tuple else tuple(found)

    def equal(self, left: Value, right: Value) -> int:
        if isinstance(left, int):
            assert isinstance(right, int)
            return self.circuit.iff(left, right)
        assert isinstance(left, tuple) and isinstance(right, tuple)
        first, second = _padded(left, right)
        if isinstance(left, Who):
            return self.disj(*(self.conj(a, b) for a, b in zip(first, second, strict=True)))
        return self.conj(*(self.circuit.iff(a, b) for a, b in zip(first, second, strict=True)))

    def at_most(self, left: Vector, right: Vector) -> int:
        """Is the first number at most the second?"""
        key = (left, right)
        if key not in self._below:
            found = TRUE
            for a, b in zip(*_padded(left, right), strict=True):
                found = self.disj(self.conj(-a, b), self.conj(self.circuit.iff(a, b), found))
            self._below[key] = found
        return self._below[key]

    def count(self, literals: Sequence[int]) -> list[int]:
        """For k = 1, 2, .. a literal that says that at least k of these hold: a totalizer, clauses for both directions."""
        known = [literal for literal in literals if literal != FALSE]
        sure = known.count(TRUE)
        key = tuple(sorted(literal for literal in known if literal != TRUE))
        if key not in self._unary:
            self._unary[key] = self._totalizer(key)
            if len(key) > 1:
                some, at_least_one = self.disj(*key), self._unary[key][0]
                self.clause(-at_least_one, some)
                self.clause(at_least_one, -some)
        return [TRUE] * sure + self._unary[key]

    def _totalizer(self, literals: tuple[int, ...]) -> list[int]:
        if len(literals) <= 1:
            return list(literals)
        half = len(literals) // 2
        left, right = self.count(literals[:half]), self.count(literals[half:])
        sums = list(self.fresh(len(literals)))
        clauses = self.circuit.clauses
        for a in range(len(left) + 1):
            for b in range(len(right) + 1):
                if a + b > 0:
                    parts = ([-left[a - 1]] if a else []) + ([-right[b - 1]] if b else [])
                    clauses.append((*parts, sums[a + b - 1]))
                if a + b < len(literals):
                    parts = ([left[a]] if a < len(left) else []) + ([right[b]] if b < len(right) else [])
                    clauses.append((*parts, -sums[a + b]))
        clauses.extend((-more, less) for less, more in pairwise(sums))
        return sums

    def at_least(self, literals: Sequence[int], number: int) -> int:
        if number <= 0:
            return TRUE
        counted = self.count(literals)
        return counted[number - 1] if number <= len(counted) else FALSE

    def compare_total(self, operator: str, total: Total) -> int:
        """`total OPERATOR 0`."""
        if operator in ("=", "!="):
            both = self.conj(self.compare_total("<=", total), self.compare_total(">=", total))
            return both if operator == "=" else -both
        if operator in ("<", "<="):
            return -self.compare_total(">=" if operator == "<" else ">", total)
        factors: dict[int, Fraction] = {}
        constant = total.constant
        for factor, literal in total.terms:
            if literal < 0:
                constant, literal, factor = constant + factor, -literal, -factor
            factors[literal] = factors.get(literal, Fraction(0)) + factor
        scale = 1
        for factor in factors.values():
            scale = scale * factor.denominator // gcd(scale, factor.denominator)
        literals: list[int] = []
        constant *= scale
        for literal, factor in factors.items():
            times = int(factor * scale)
            if times < 0:
                constant += times
                literal = -literal
            literals += [literal] * abs(times)
        needed = floor(-constant) + 1 if operator == ">" else ceil(-constant)
        return self.at_least(literals, needed)

    def choose(self, candidates: Sequence[int]) -> list[int]:
        """One of the candidates, if there are any: a literal for each."""
        if len(candidates) == 1:
            return list(candidates)
        chosen = [FALSE if literal == FALSE else self.circuit.variable() for literal in candidates]
        for literal, choice in zip(candidates, chosen, strict=True):
            self.clause(-choice, literal)
        self.clause(-self.disj(*candidates), *chosen)
        self.at_most_one([choice for choice in chosen if choice != FALSE])
        return chosen

    def at_most_one(self, literals: Sequence[int]) -> None:
        if len(literals) <= 6:
            for i, a in enumerate(literals):
                for b in literals[i + 1 :]:
                    self.clause(-a, -b)
            return
        rest = [*literals[4:], self.circuit.variable()]
        self.at_most_one([*literals[:4], -rest[-1]])
        self.at_most_one(rest)

    def increment(self, value: Vector) -> Vector:
        found, carry = [], TRUE
        for bit in value:
            found.append(-self.circuit.iff(bit, carry))
            carry = self.conj(bit, carry)
        return tuple(found)


def _padded(left: Vector, right: Vector) -> tuple[Vector, Vector]:
    width = max(len(left), len(right))
    return left + (FALSE,) * (width - len(left)), right + (FALSE,) * (width - len(right))
