"""Fair lassos: is a liveness property violated by an instance?

Every state and step of the instance is looked at (no symmetry: it does not preserve fairness of single elements).  For all
values of a property's variables, the states that can be reached without the goal after a trigger are searched for one that
no step leaves, and for a component that a fair run can stay in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy

from quorate.engines.explicit.fairness import Graph, Requirement, fair_components, fair_loop
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.logic.terms import BOOL
from quorate.methods.explicit.check import scope_of
from quorate.methods.inference.states import Array
from quorate.methods.liveness.graph import StateGraph, TooManyStates, holds
from quorate.methods.liveness.growing import growing_sorts, remains
from quorate.models.relational import Liveness
from quorate.models.semantics import Step
from quorate.models.temporal import TemporalError, all_fairness
from quorate.proof.traces import Trace, replay
from quorate.proof.verdicts import Result, Verdict

METHOD = "fair lasso search"
MOST_STATES = 2_000_000
MOST_TRIED = 12
"""How many violations are tried with more elements of unbounded sorts."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Lasso:
    """States and edges of a violation; `loop` is the number of the state to which the last edge leads back."""

    start: int
    edges: tuple[int, ...]
    loop: int | None


def check_liveness(
    instance: Instance, progress: Progress = lambda text: None, most: int = MOST_STATES, lasting: bool = False
) -> tuple[tuple[Result, ...], int]:
    """A result per liveness property, and how many states there are.

    A violation that comes about only because the elements of an unbounded sort run out is one of the instance, not of the
    protocol (`growing`); others are preferred, and with `lasting` such a one leaves the property open.
    """
    started = time.monotonic()
    progress("exploring the instance")
    model, scope = instance.model, scope_of(instance)

    def result(item: Liveness, verdict: Verdict, reason: str, trace: Trace | None, states: int) -> Result:
        seconds = time.monotonic() - started
        return Result(
            item.name,
            "liveness",
            verdict,
            METHOD,
            scope,
            reason,
            trace,
            item.span,
            seconds,
            states,
        )

    try:
        graph = StateGraph.of(instance, most)
    except TooManyStates:
        reason = f"the instance has more than {most:,} states; take smaller sizes"
        return tuple(result(item, "unknown", reason, None, 0) for item in model.liveness), 0
    if graph is None:
        reason = "there is no initial state at these sizes, so there is nothing to check; take other sizes"
        return tuple(result(item, "unknown", reason, None, 0) for item in model.liveness), 0
    count = graph.states.count
    results = []
    for item in model.liveness:
        progress(f"{count:,} states; looking for fair lassos of {item.name}")
        try:
            lassos = find_lassos(graph, item)
        except TemporalError as problem:
            results.append(result(item, "unknown", str(problem), None, count))
            continue
        if not lassos:
            results.append(result(item, "proved", f"in all fair runs of this instance, {count:,} states", None, count))
            continue
        lasso, lasts = _lasting(graph, item, lassos)
        how = "no step can be taken" if lasso.loop is None else f"a fair loop of {len(lasso.edges) - lasso.loop} steps"
        stem = len(lasso.edges) if lasso.loop is None else lasso.loop
        reason = f"after {stem} step{'s' * (stem != 1)}, {how}"
        if not lasts:
            more = " or ".join(map(str, growing_sorts(model)))
            reason += f", but with more elements of {more} this run would not violate the property"
        if lasting and not lasts:
            results.append(result(item, "unknown", f"with {scope}, {reason}", None, count))
        else:
            results.append(result(item, "violated", reason, trace_of(graph, item, lasso), count))
    return tuple(results), count


def _lasting(graph: StateGraph, item: Liveness, lassos: list[Lasso]) -> tuple[Lasso, bool]:
    """The shortest violation that does not come from an end of an unbounded sort, or else the shortest one; and which it is."""
    model = graph.instance.model
    if not growing_sorts(model):
        return lassos[0], True
    tried = lassos[:MOST_TRIED]
    found = next((lasso for lasso in tried if remains(model, item, trace_of(graph, item, lasso))), None)
    return (lassos[0], False) if found is None else (found, True)


def requirements(graph: StateGraph, item: Liveness) -> list[Requirement]:
    """Every assumption, for all values of its variables."""
    found = []
    for fairness in all_fairness(graph.instance.model, item):
        enabled, in_state = graph.enabled(fairness), graph.happens_in_state(fairness)
        by_edge = graph.taken(fairness)
        for number in range(enabled.shape[1]):
            found.append(Requirement(fairness.strong, enabled[:, number], in_state[:, number], by_edge[:, number]))
    return found


def find_lassos(states: StateGraph, item: Liveness) -> list[Lasso]:
    """Violations, those with a shortest stem first, and those with a short loop at its end."""
    graph = Graph(states.states.count, states.source, states.target)
    demands = requirements(states, item)
    trigger, goal = (holds(states.states, formula, item.variables) for formula in (item.trigger, item.goal))
    distance, by = graph.distances(states.initial(), numpy.ones(graph.count, bool))
    stuck = numpy.bincount(graph.source, minlength=graph.count) == 0
    found: list[tuple[int, int, Lasso]] = []
    for number in range(trigger.shape[1]):
        open_, begun = ~goal[:, number], trigger[:, number] & ~goal[:, number]
        if begun.any():
            found += _violations(graph, demands, open_, begun, distance, by, stuck)
    return [lasso for *_, lasso in sorted(found, key=lambda lasso: lasso[:2])]


def _violations(
    graph: Graph, demands: list[Requirement], open_: Array, begun: Array, distance: Array, by: Array, stuck: Array
) -> Iterator[tuple[int, int, Lasso]]:
    """The shortest ways to a trigger and on without the goal, to where a run ends or to each place where it may go round."""
    alive, _ = graph.distances(begun, open_)
    waiting = alive >= 0
    ends = waiting & stuck
    loops = list(fair_components(graph, waiting, demands))
    if not ends.any() and not loops:
        return
    # The number of steps to a state by way of a trigger after which the goal is not reached.
    total, link = _stems(graph, begun, waiting, distance)
    if ends.any():
        state = int(numpy.flatnonzero(ends)[total[ends].argmin()])
        start, edges = _stem(graph, state, link, by)
        yield len(edges), 0, Lasso(start, tuple(edges), None)
    for inside in loops:
        members = numpy.flatnonzero(inside)
        nearest = members[total[members] == total[members].min()][:20]
        found = []
        for state in map(int, nearest):
            start, edges = _stem(graph, state, link, by)
            loop = fair_loop(graph, inside, demands, state)
            found.append((len(edges), len(loop), Lasso(start, (*edges, *loop), len(edges))))
        yield min(found, key=lambda lasso: lasso[:2])


def _stems(graph: Graph, begun: Array, waiting: Array, distance: Array) -> tuple[Array, Array]:
    """Steps from an initial state to each waiting state, after a trigger; and the edge that leads there, -1 at a trigger."""
    total = numpy.full(graph.count, numpy.iinfo(numpy.int64).max)
    link = numpy.full(graph.count, -1)
    total[begun] = distance[begun]
    layer_of: dict[int, list[int]] = {}
    for first in numpy.flatnonzero(begun):
        layer_of.setdefault(int(distance[first]), []).append(int(first))
    depth = 0
    while layer_of:
        layer = layer_of.pop(depth, [])
        for state in layer:
            if total[state] != depth:
                continue
            for edge in graph.edges_from(state):
                after = int(graph.target[edge])
                if waiting[after] and total[after] > depth + 1:
                    total[after] = depth + 1
                    link[after] = edge
                    layer_of.setdefault(depth + 1, []).append(after)
        depth += 1
    return total, link


def _stem(graph: Graph, state: int, link: Array, by: Array) -> tuple[int, list[int]]:
    edges: list[int] = []
    for links in (link, by):
        while links[state] >= 0:
            edges.append(int(links[state]))
            state = int(graph.source[links[state]])
    return state, edges[::-1]


def trace_of(graph: StateGraph, item: Liveness, lasso: Lasso) -> Trace:
    """The violation as a run of the protocol, replayed on the plain semantics."""
    instance = graph.instance
    order = [lasso.start, *(int(graph.target[edge]) for edge in lasso.edges)]
    structures = [instance.structure(tuple(int(v) for v in graph.rows[n, :-1]), int(graph.rows[n, -1])) for n in order]
    steps = [_step(graph, edge) for edge in lasso.edges]
    trace = Trace("run", tuple(structures), tuple(steps), item.name, lasso.loop)
    replay(instance.model, trace)
    return trace


def _step(graph: StateGraph, edge: int) -> Step:
    """The edge as a step; choices are found by trying them."""
    kind = int(graph.kind[edge])
    move, place = graph.moves[kind], edge - graph.starts[kind]
    transition = move.transition
    bindings = tuple(int(move.values[parameter][place]) for parameter in transition.parameters)
    if not transition.choices:
        named = zip(transition.parameters, bindings, strict=True)
        return Step(transition.name, {p.name: bool(value) if p.sort is BOOL else value for p, value in named})
    row = graph.rows[graph.source[edge]]
    wanted = tuple(int(v) for v in graph.rows[graph.target[edge]][:-1])
    state = (tuple(int(v) for v in row[:-1]), int(row[-1]))
    for (after, _), rule, choices in Reference(graph.instance.system).successors(state):
        made = graph.instance.system.rules[rule]
        if made.name == transition.name and made.bindings == bindings and after == wanted:
            return graph.instance.step(made, choices)
    raise AssertionError("the step is not one of the plain semantics")
