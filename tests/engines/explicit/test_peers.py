"""Renaming of things that states speak of: what stands for a state stands for all its renamings, in Python and in C."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import factorial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.explicit.compile import QUICK
from quorate.engines.explicit.expressions import TRUE, Graph
from quorate.engines.explicit.native import Engine, Search
from quorate.engines.explicit.peers import MOST, Peers
from quorate.engines.explicit.reference import Reference
from quorate.engines.explicit.system import Permutation, Rule, System

COLOURS, SETS, NAMES = 2, 2, 1


@cache
def peers(count: int) -> Peers:
    """Each thing has a colour, may name a thing, and has two sets of things."""
    width = 1 + NAMES + SETS * count
    first = [width * i for i in range(count)]
    return Peers(
        tuple((f,) for f in first),
        tuple(tuple(f + 1 + k for k in range(NAMES)) for f in first),
        tuple(tuple(tuple(f + 1 + NAMES + SETS * j + k for k in range(SETS)) for j in range(count)) for f in first),
    )


@cache
def system(count: int) -> System:
    sizes: tuple[int, ...] = (COLOURS, *[count + 1] * NAMES, *[2] * (SETS * count)) * count
    identity = Permutation(tuple(range(len(sizes))), tuple(tuple(range(size)) for size in sizes))
    graph = Graph()
    start = Rule("", (), (), (), tuple((i, graph.const(0)) for i in range(len(sizes))))
    return System(graph, sizes, (), ((),), (start,), (), (("any", TRUE),), ((identity,),), (), peers(count), "")


@cache
def search(count: int) -> Search:
    return Search(Engine(system(count), QUICK), symmetry=True, jobs=1)


def renamed(values: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Thing i is called order[i]."""
    who, result = peers(len(order)), [0] * len(values)
    for i, new in enumerate(order):
        result[who.own[new][0]] = values[who.own[i][0]]
        name = values[who.names[i][0]]
        result[who.names[new][0]] = order[name - 1] + 1 if name else 0
        for j, other in enumerate(order):
            for k in range(SETS):
                result[who.about[new][other][k]] = values[who.about[i][j][k]]
    return tuple(result)


def some(random: Random, count: int) -> tuple[int, ...]:
    """Mostly few distinctions: so that things look alike, or are."""
    often = random.choice((0.0, 0.1, 0.5))
    return tuple(random.randrange(size) if random.random() < often else 0 for size in system(count).fields)


@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_one_state_stands_for_all_its_renamings(seed: int, count: int) -> None:
    random = Random(seed)
    values = some(random, count)
    orders = list(permutations(range(count)))
    orbit = {renamed(values, order) for order in orders}
    reference, layout = Reference(system(count)), system(count).layout
    least, _ = reference.canonical((values, 0))
    assert least in orbit
    assert {reference.canonical((renamed(values, random.choice(orders)), 0))[0] for _ in range(5)} == {least}
    assert reference.orbit((values, 0)) == len(orbit)
    assert layout.unpack(search(count).canonical(layout.pack(values))) == (least, 0)


def test_states_that_differ_by_more_than_names_are_told_apart() -> None:
    reference, count = Reference(system(3)), 3
    random = Random(5)
    classes: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for _ in range(400):
        values = some(random, count)
        orbit = frozenset(renamed(values, order) for order in permutations(range(count)))
        classes.setdefault(reference.canonical((values, 0))[0], set()).add(min(orbit))
    assert all(len(kinds) == 1 for kinds in classes.values())


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_all_alike_is_one_state_and_one_odd_thing_can_be_any(count: int) -> None:
    reference, size = Reference(system(count)), len(system(count).fields)
    assert reference.orbit(((0,) * size, 0)) == 1
    odd = (1, *[0] * (size - 1))
    assert reference.orbit((odd, 0)) == count
    ring = [0] * size
    for i in range(count):
        ring[peers(count).names[i][0]] = (i + 1) % count + 1
    assert reference.orbit((tuple(ring), 0)) == factorial(count - 1)


def test_too_many_things_are_refused() -> None:
    assert not peers(MOST).too_large
    assert "too many" in peers(MOST + 1).too_large
