"""Linear inequalities: contradictions are found, and only those; checked against small integers."""

from __future__ import annotations

from itertools import product
from random import Random

from quorate.models.linear import ONE, AtLeast, Linear, contradictory


def test_majorities_meet() -> None:
    n, a, b = (Linear.name(name) for name in "nab")
    from fractions import Fraction

    half = n * Fraction(1, 2)
    facts = [AtLeast(a - half, True), AtLeast(b - half, True), AtLeast(n - a), AtLeast(n - b)]
    assert contradictory([*facts, AtLeast(n - a - b)])
    weaker = [AtLeast(a - half), AtLeast(b - half), AtLeast(n - a), AtLeast(n - b)]
    assert not contradictory([*weaker, AtLeast(n - a - b)])


def test_against_small_integers() -> None:
    random = Random(1)
    contradictions = 0
    for _ in range(300):
        facts = []
        for _ in range(random.randint(1, 5)):
            factors = {name: random.randint(-2, 2) for name in (ONE, "x", "y")}
            facts.append(AtLeast(Linear.of(factors), random.random() < 0.5))
        found = contradictory(facts)
        contradictions += found
        for x, y in product(range(-4, 5), repeat=2):
            values = {ONE: 1, "x": x, "y": y}
            sums = [sum(factor * values[name] for name, factor in fact.form.factors) for fact in facts]
            if all(total > 0 if fact.strict else total >= 0 for total, fact in zip(sums, facts, strict=True)):
                assert not found
    assert 20 < contradictions < 280
