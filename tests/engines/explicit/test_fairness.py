"""Fair cycles against a reference that tries every set of edges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from random import Random

import numpy
import pytest

from quorate.engines.explicit.fairness import Graph, Requirement, fair_components, fair_loop


def naive_fair_sets(graph: Graph, requirements: Sequence[Requirement]) -> list[tuple[int, ...]]:
    """Sets of edges that a fair run can take infinitely often, all of them and no others."""
    edges = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    found = []
    for size in range(1, len(edges) + 1):
        for chosen in combinations(range(len(edges)), size):
            states = {edges[i][0] for i in chosen}
            if _connected([edges[i] for i in chosen]) and all(_fair(item, states, chosen) for item in requirements):
                found.append(chosen)
    return found


def _connected(edges: list[tuple[int, int]]) -> bool:
    """Does a way along these edges lead from each of their ends to each other?"""
    states = {state for edge in edges for state in edge}
    for start in states:
        seen, work = set(), [start]
        while work:
            state = work.pop()
            for source, target in edges:
                if source == state and target not in seen:
                    seen.add(target)
                    work.append(target)
        if seen != states:
            return False
    return True


def _fair(item: Requirement, states: set[int], edges: Sequence[int]) -> bool:
    happens = any(item.in_state[s] for s in states) or any(item.by_edge[e] for e in edges)
    enabled = [bool(item.enabled[s]) for s in states]
    return happens or not (any(enabled) if item.strong else all(enabled))


def random_graph(random: Random) -> tuple[Graph, list[Requirement]]:
    count = random.randint(1, 5)
    pairs = [(i, j) for i in range(count) for j in range(count)]
    edges = random.sample(pairs, min(len(pairs), random.randint(1, 8)))
    source, target = (numpy.array([edge[end] for edge in edges]) for end in (0, 1))
    graph = Graph(count, source, target)
    requirements = []
    for _ in range(random.randint(0, 4)):
        odds = random.random()
        requirements.append(
            Requirement(
                random.random() < 0.5,
                numpy.array([random.random() < odds for _ in range(count)]),
                numpy.array([random.random() < 0.15 for _ in range(count)]),
                numpy.array([random.random() < 0.2 for _ in edges]),
            )
        )
    return graph, requirements


def check_one(seed: int) -> bool:
    graph, requirements = random_graph(Random(seed))
    expected = naive_fair_sets(graph, requirements)
    found = list(fair_components(graph, numpy.ones(graph.count, bool), requirements))
    assert bool(found) == bool(expected), seed
    ends = [{int(graph.source[e]) for e in chosen} for chosen in expected]
    for inside in found:
        states = set(numpy.flatnonzero(inside).tolist())
        assert states in ends, seed
        for start in states:
            loop = fair_loop(graph, inside, requirements, start)
            assert graph.source[loop[0]] == start == graph.target[loop[-1]]
            assert all(graph.target[a] == graph.source[b] for a, b in pairwise(loop))
            assert all(_fair(item, {int(graph.source[e]) for e in loop}, loop) for item in requirements), seed
    for states in ends:
        assert any(states <= set(numpy.flatnonzero(inside).tolist()) for inside in found), seed
    return bool(found)


def test_fair_cycles_agree_with_the_reference() -> None:
    answers = [check_one(seed) for seed in range(400)]
    assert 100 < sum(answers) < 360


@pytest.mark.slow
def test_many_fair_cycles_agree_with_the_reference() -> None:
    answers = [check_one(seed) for seed in range(1000, 5000)]
    assert 1000 < sum(answers) < 3600
