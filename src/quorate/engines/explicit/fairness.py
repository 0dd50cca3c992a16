"""Fair cycles of finite graphs: runs that go on forever, fairly.

A requirement is weak (if it is enabled all along, it happens infinitely often) or strong (if it is enabled infinitely often).
The search is the one of Emerson and Lei (Science of Computer Programming 8, 1987): strongly connected components, taken
apart where a strong requirement is enabled and cannot happen.  Read `naive_fair_sets` in the tests for what it computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

Array = numpy.ndarray[Any, Any]

EXACT = 3_000_000
"""Up to that many steps of search a shortest loop is looked for; beyond it one that is short."""


@dataclass(frozen=True)
class Requirement:
    """Where it is enabled, in which states it happens, and by which edges."""

    strong: bool
    enabled: Array
    in_state: Array
    by_edge: Array


@dataclass(frozen=True)
class Graph:
    """`source` and `target` list the edges of a graph with `count` states."""

    count: int
    source: Array
    target: Array

    @cached_property
    def outgoing(self) -> tuple[Array, Array]:
        """Edges sorted by source, and where those of each state begin."""
        order = numpy.argsort(self.source, kind="stable")
        starts = numpy.searchsorted(self.source[order], numpy.arange(self.count + 1))
        return order, starts

    def edges_from(self, state: int) -> Array:
        order, starts = self.outgoing
        return order[starts[state] : starts[state + 1]]

    def distances(self, starts: Array, alive: Array) -> tuple[Array, Array]:
        """The number of steps from the starting states through states that are alive, -1 where there is no way; and
        the edge by which each state is reached first."""
        distance = numpy.full(self.count, -1)
        by = numpy.full(self.count, -1)
        layer = numpy.flatnonzero(starts & alive)
        distance[layer] = 0
        order, begin = self.outgoing
        depth = 0
        while len(layer):
            depth += 1
            counts = begin[layer + 1] - begin[layer]
            offsets = numpy.repeat(begin[layer] - numpy.concatenate([[0], numpy.cumsum(counts)[:-1]]), counts)
            edges = order[numpy.arange(counts.sum()) + offsets]
            reached = self.target[edges]
            fresh = alive[reached] & (distance[reached] < 0)
            edges, reached = edges[fresh], reached[fresh]
            layer, first = numpy.unique(reached, return_index=True)
            distance[layer] = depth
            by[layer] = edges[first]
        return distance, by


def components(graph: Graph, alive: Array, usable: Array) -> Iterator[Array]:
    """The strongly connected components that have an edge, among states that are alive; Tarjan's algorithm with a stack."""
    order, begin = graph.outgoing
    index = numpy.full(graph.count, -1)
    low = numpy.zeros(graph.count, int)
    on_stack = numpy.zeros(graph.count, bool)
    stack: list[int] = []
    number = 0
    ends = begin[1:]
    targets = graph.target
    for root in numpy.flatnonzero(alive):
        if index[root] >= 0:
            continue
        index[root] = low[root] = number
        number += 1
        stack.append(int(root))
        on_stack[root] = True
        work = [(int(root), int(begin[root]))]
        while work:
            state, place = work[-1]
            if place < ends[state]:
                work[-1] = (state, place + 1)
                edge = order[place]
                if not usable[edge]:
                    continue
                following = int(targets[edge])
                if not alive[following]:
                    continue
                if index[following] < 0:
                    index[following] = low[following] = number
                    number += 1
                    stack.append(following)
                    on_stack[following] = True
                    work.append((following, int(begin[following])))
                elif on_stack[following]:
                    low[state] = min(low[state], index[following])
                continue
            work.pop()
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[state])
            if low[state] == index[state]:
                members = []
                while True:
                    member = stack.pop()
                    on_stack[member] = False
                    members.append(member)
                    if member == state:
                        break
                found = numpy.array(members)
                edges = graph.edges_from(state)
                if len(found) > 1 or (usable[edges] & (targets[edges] == state)).any():
                    yield found


def fair_components(graph: Graph, alive: Array, requirements: Sequence[Requirement]) -> Iterator[Array]:
    """Sets of states, given as truth values, in each of which a fair run can go round forever, visiting all of it."""
    everything = numpy.ones(len(graph.source), bool)
    work = [alive]
    while work:
        for members in components(graph, work.pop(), everything):
            inside = numpy.zeros(graph.count, bool)
            inside[members] = True
            edges = inside[graph.source] & inside[graph.target]
            bad = numpy.zeros(graph.count, bool)
            unfair = False
            for item in requirements:
                if (item.in_state & inside).any() or (item.by_edge & edges).any():
                    continue
                if item.strong:
                    bad |= item.enabled & inside
                else:
                    unfair |= bool(item.enabled[members].all())
            if unfair:
                continue
            if bad.any():
                work.append(inside & ~bad)
            else:
                yield inside


def fair_loop(graph: Graph, inside: Array, requirements: Sequence[Requirement], start: int) -> list[int]:
    """Edges of a fair loop from a state of a fair component through it: a shortest one, where that is feasible."""
    edges = inside[graph.source] & inside[graph.target]
    goals: list[tuple[Array, Array]] = []
    for item in requirements:
        if item.strong:
            if (item.enabled & inside).any():
                goals.append((item.in_state & inside, item.by_edge & edges))
        else:
            goals.append(((item.in_state | ~item.enabled) & inside, item.by_edge & edges))
    goals = [goal for goal in goals if not goal[0][inside].all()]
    if len(goals) <= 12 and int(inside.sum()) * (1 << len(goals)) <= EXACT:
        return _shortest_loop(graph, inside, goals, start)
    return _greedy_loop(graph, inside, goals, start)


def _shortest_loop(graph: Graph, inside: Array, goals: list[tuple[Array, Array]], start: int) -> list[int]:
    """Breadth-first search over states together with the goals that were met."""
    full = (1 << len(goals)) - 1
    in_state = [
        sum(1 << i for i, (states, _) in enumerate(goals) if states[s]) if inside[s] else 0 for s in range(graph.count)
    ]
    first = (start, in_state[start])
    parents: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {first: None}
    queue = deque([first])
    while queue:
        node = queue.popleft()
        state, met = node
        for edge in graph.edges_from(state):
            following = int(graph.target[edge])
            if not inside[following]:
                continue
            now = met | in_state[following]
            for i, (_, by) in enumerate(goals):
                if by[edge]:
                    now |= 1 << i
            if following == start and now == full:
                loop = [int(edge)]
                while (link := parents[node]) is not None:
                    loop.append(link[1])
                    node = link[0]
                return loop[::-1]
            if (following, now) not in parents:
                parents[following, now] = (node, int(edge))
                queue.append((following, now))
    raise AssertionError("a fair component has a fair loop")


def _greedy_loop(graph: Graph, inside: Array, goals: list[tuple[Array, Array]], start: int) -> list[int]:
    """From each goal to the next, and back."""
    loop: list[int] = []
    here = start
    for states, by in goals:
        seen = [here, *(int(graph.target[edge]) for edge in loop)]
        if states[seen].any() or any(by[edge] for edge in loop):
            continue
        targets = states.copy()
        targets[graph.source[by]] = True
        loop += _path(graph, inside, here, targets)
        here = int(graph.target[loop[-1]]) if loop else start
        if not states[here]:
            edge = next(edge for edge in graph.edges_from(here) if by[edge])
            loop.append(int(edge))
            here = int(graph.target[edge])
    back = numpy.zeros(graph.count, bool)
    back[start] = True
    if here != start:
        loop += _path(graph, inside, here, back)
    elif not loop:
        edge = next(edge for edge in graph.edges_from(start) if inside[graph.target[edge]])
        loop = [int(edge)]
        if int(graph.target[edge]) != start:
            loop += _path(graph, inside, int(graph.target[edge]), back)
    return loop


def _path(graph: Graph, inside: Array, start: int, targets: Array) -> list[int]:
    """Edges of a shortest way to one of the targets."""
    starts = numpy.zeros(graph.count, bool)
    starts[start] = True
    distance, by = graph.distances(starts, inside)
    reached = numpy.flatnonzero(targets & (distance >= 0))
    state = int(reached[distance[reached].argmin()])
    path: list[int] = []
    while distance[state]:
        path.append(int(by[state]))
        state = int(graph.source[by[state]])
    return path[::-1]
