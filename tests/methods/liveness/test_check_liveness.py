"""Fair lassos of instances: against a naive reference, and on the library."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.lang import load
from quorate.logic.structures import Structure
from quorate.methods.liveness.check import check_liveness, find_lasso
from quorate.methods.liveness.graph import StateGraph
from quorate.methods.liveness.samples import Samples, pairs_of
from quorate.methods.liveness.stages import LEVELS, Search
from quorate.models.relational import Liveness, RelationalModel
from quorate.models.semantics import Step
from quorate.models.temporal import all_fairness, enabled
from quorate.proof.lassos import _happens, is_stuck, values_of
from quorate.proof.liveness import Argument, reduced
from quorate.proof.traces import replay
from random_liveness import random_protocol

LIBRARY = Path(__file__).parents[3] / "protocols" / "liveness"


def reachable(model: RelationalModel, sizes) -> tuple[list[Structure], list[tuple[int, Step, int]], set[int]]:
    """All states and steps by the plain engine, as structures of the protocol."""
    instance = Instance(model, sizes)
    reference = Reference(instance.system)
    first = list(dict.fromkeys(reference.initial()))
    numbers = {state: number for number, state in enumerate(first)}
    work, edges = list(first), []
    while work:
        state = work.pop()
        for after, rule, choices in reference.successors(state):
            if after not in numbers:
                numbers[after] = len(numbers)
                work.append(after)
            edges.append((numbers[state], instance.step(instance.system.rules[rule], choices), numbers[after]))
    return [instance.structure(*state) for state in numbers], edges, set(range(len(first)))


def naive_violated(model: RelationalModel, item: Liveness, sizes) -> bool:
    """Whether a fair run violates the property: states are removed until what is left can go on fairly forever."""
    states, edges, _ = reachable(model, sizes)
    for values in values_of(item.variables, states[0]):
        open_ = {n for n, state in enumerate(states) if not state.holds(item.goal, values)}
        waiting = {n for n in open_ if states[n].holds(item.trigger, values)}
        while more := {b for a, _, b in edges if a in waiting and b in open_ and b not in waiting}:
            waiting |= more
        if any(is_stuck(model, states[n]) for n in waiting) or _fair_core(model, item, states, edges, waiting):
            return True
    return False


def _fair_core(model, item, states, edges, alive) -> bool:
    """By definition, over the sets of states that reach each other: is one of them, or a part of it, fair?"""
    inside = [(a, s, b) for a, s, b in edges if a in alive and b in alive]
    reach = {n: {b for a, _, b in inside if a == n} for n in alive}
    changed = True
    while changed:
        changed = False
        for n in alive:
            more = set().union(*(reach[m] for m in reach[n])) - reach[n] if reach[n] else set()
            if more:
                reach[n] |= more
                changed = True
    seen = set()
    for n in alive:
        part = frozenset(m for m in alive if m in reach[n] and n in reach[m])
        if not part or part in seen:
            continue
        seen.add(part)
        steps = [(a, s, b) for a, s, b in inside if a in part and b in part]
        drop: set[int] = set()
        fair = True
        for assumption in all_fairness(model, item):
            due = enabled(model, assumption)
            for values in values_of(assumption.variables, states[0]):
                if any(_happens(model, assumption, values, states[a], s) for a, s, _ in steps):
                    continue
                ready = {m for m in part if states[m].holds(due, values)}
                if assumption.strong:
                    drop |= ready
                elif ready == part:
                    fair = False
        if fair and (not drop or _fair_core(model, item, states, edges, set(part) - drop)):
            return True
    return False


def full_samples(model: RelationalModel, item: Liveness, graph: StateGraph) -> Samples:
    from random import Random

    samples = Samples(model, item, {}, [graph.states])
    pairs = pairs_of(model, item, graph.states, Random(0))
    if pairs is not None:
        samples.pairs.append(pairs)
    return samples


def check_one(seed: int) -> tuple[bool, bool]:
    """Lassos agree with the reference; where stages are found and their goals hold, there is none."""
    model = random_protocol(seed)
    item = model.liveness[0]
    sizes = dict.fromkeys(model.sorts, 2)
    graph = StateGraph.of(Instance(model, sizes), 10_000)
    assert graph is not None
    violated = find_lasso(graph, item) is not None
    assert violated == naive_violated(model, item, sizes), seed
    proved = False
    samples = full_samples(model, item, graph)
    lists = Search(samples, {}, lambda text: None).find(LEVELS[:3])[0] if samples.pairs else [[]]
    for stages in lists[:2]:
        _, goals = reduced(model, Argument(item.name, False, tuple(stages)))
        if all(bool(graph.states.evaluate(goal.formula, {}).all()) for goal in goals):
            proved = True
            assert not violated, f"{seed}: {stages}"
    return violated, proved


def test_random_protocols_agree_with_the_reference_and_stages_are_sound() -> None:
    answers = [check_one(seed) for seed in range(60)]
    assert 5 < sum(violated for violated, _ in answers) < 55
    assert sum(proved for _, proved in answers) > 5


@pytest.mark.slow
def test_many_random_protocols() -> None:
    answers = [check_one(seed) for seed in range(1000, 4200)]
    assert sum(proved for _, proved in answers) > 300


@pytest.mark.parametrize("path", sorted((LIBRARY / "broken").glob("*.pyv")), ids=lambda path: path.stem)
def test_broken_variants_have_a_lasso_that_replays(path: Path) -> None:
    model = load(path).model
    for size in (2, 3):
        sizes = {sort: 2 if sort.name == "bit" else size for sort in model.sorts if sort.uninterpreted}
        results, _ = check_liveness(Instance(model, sizes))
        if results[0].verdict == "violated":
            break
    assert [result.verdict for result in results] == ["violated"]
    trace = results[0].evidence
    replay(model, trace)
    if trace.loop is not None:
        assert numpy.all([trace.states[trace.loop].tables[s] == trace.states[-1].tables[s] for s in model.symbols])


@pytest.mark.parametrize(
    ("name", "sizes", "states"),
    [
        ("ticket_lock", {"client": 2, "ticket": 3}, 165),
        ("token_ring", {"node": 3}, 36),
        ("lease_lock", {"client": 2}, 32),
        ("two_phase_commit", {"node": 2}, 160),
        ("alternating_bit", {"index": 2, "bit": 2}, 78),
        ("ring_leader_election", {"node": 2}, 12),
    ],
)
def test_library_holds_in_small_instances(name: str, sizes: dict[str, int], states: int) -> None:
    model = load(LIBRARY / f"{name}.pyv").model
    named = {sort.name: sort for sort in model.sorts}
    results, count = check_liveness(Instance(model, {named[key]: value for key, value in sizes.items()}))
    assert [result.verdict for result in results] == ["proved"]
    assert count == states
