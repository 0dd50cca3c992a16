"""Mercury instances as finite systems: the same states as the plain semantics, with and without symmetry."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercury_programs import random_program
from naive_mercury import Naive
from quorate.engines.explicit.compile import QUICK
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Engine, Search, explore
from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import Reference, ReferenceSearch
from quorate.engines.explicit.worlds import InstanceError
from quorate.lang import LoadedProcess, load_any, parse_any
from quorate.models.process import ProcessModel
from quorate.models.process_counting import AllSizes
from quorate.models.process_relational import PROCESS, relational
from quorate.models.process_semantics import ProcessSemantics
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "mercury"
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "corpus"
CORPUS = Path(os.environ.get("QUORATE_CORPUS", BESIDE)) / "quicksilver"
SMALL = 300
"""Larger random instances are left alone."""


def load(path: Path) -> ProcessModel:
    loaded = load_any(path)
    assert isinstance(loaded, LoadedProcess)
    return loaded.model


def all_states(instance: ProcessInstance) -> set[tuple[int, ...]]:
    search = ReferenceSearch(Reference(instance.system))
    search.begin()
    search.run(float("inf"))
    return {fields for fields, _ in search.seen}


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 2, 3]))
@settings(max_examples=100, deadline=None)
def test_random_instances_have_the_states_of_the_plain_semantics(seed: int, processes: int) -> None:
    model = random_program(Random(seed))
    naive = Naive(model, processes)
    counted = naive.explore(symmetry=False, most=SMALL)
    if counted is None:
        return
    instance = ProcessInstance(model, processes)
    states = {instance.state(fields) for fields in all_states(instance)}
    semantics = ProcessSemantics(model, processes)
    seen, todo = {semantics.initial}, [semantics.initial]
    for state in todo:
        for _, after in semantics.successors(state):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    assert states == seen
    reduced = Reference(instance.system).explore(symmetry=True)
    up_to_names = naive.explore()
    assert up_to_names is not None
    assert (reduced.unreduced, reduced.states, set(reduced.violations)) == (len(seen), *up_to_names)


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 2]))
@settings(max_examples=60, deadline=None)
def test_the_forms_for_all_sizes_have_every_state(seed: int, processes: int) -> None:
    model = random_program(Random(seed))
    if Naive(model, processes).explore(symmetry=False, most=SMALL) is None:
        return
    steps = AllSizes(model)
    exact, open_ = ProcessInstance(model, processes), ProcessInstance(model, processes, steps=steps)
    shared = [v.name for v in model.all_variables if v.name not in steps.counters]

    def seen(instance: ProcessInstance) -> set[tuple[object, ...]]:
        places = [i for (_, name, _), i in sorted(instance.place.items(), key=repr) if name == "" or name in shared]
        return {tuple(fields[i] for i in places) for fields in all_states(instance)}

    assert seen(exact) <= seen(open_)
    if steps.exact:
        assert seen(exact) == seen(open_)
    found = Reference(Instance(relational(model), {PROCESS: processes}).system).explore()
    crashing = model.crashing
    risky = any(p.source.location in crashing and p.target.location not in crashing for p in steps.of("decide"))
    if risky:
        assert found.states >= len(all_states(open_))
    else:
        assert found.states == len(all_states(open_))


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.mercury")), ids=lambda path: path.stem)
@pytest.mark.parametrize("processes", [2, 3])
def test_the_library_has_as_many_states_as_the_naive_checker_finds(path: Path, processes: int) -> None:
    model = load(path)
    counted = Naive(model, processes).explore()
    found = Reference(ProcessInstance(model, processes).system).explore(symmetry=True)
    assert (found.states, set(found.violations)) == counted


def test_sizes_that_make_no_sense_are_refused() -> None:
    text = "process A\nvariables\n  int[1,N-1] x := 2\ninitial location L\n  on _ do x := x + 1\n"
    model = parse_any(Source("a.mercury", text)).model
    assert isinstance(model, ProcessModel)
    with pytest.raises(InstanceError, match="the range of x is empty with 1 process"):
        ProcessInstance(model, 1)
    with pytest.raises(InstanceError, match="the first value of x is out of its range with 2 processes"):
        ProcessInstance(model, 2)
    assert ProcessInstance(model, 3).sizes


def test_compiled_code_finds_the_same_states() -> None:
    instance = ProcessInstance(load(LIBRARY / "sensor_network.mercury"), 3)
    plain = Reference(instance.system).explore(symmetry=True)
    fast = explore(instance.system, symmetry=True, jobs=1)
    assert (fast.states, fast.unreduced, fast.transitions) == (plain.states, plain.unreduced, plain.transitions)


COUNTS = {
    "Consortium": {3: 77, 4: 118, 5: 159},
    "DistributedLockService": {2: 14, 3: 21, 4: 28},
    "DistributedRegister": {2: 19, 3: 39, 4: 69},
    "DistributedRobotFlocking": {2: 24, 3: 50, 4: 91},
    "DistributedSensorNetwork": {3: 82, 4: 275, 5: 833},
    "DistributedStore": {3: 62, 4: 83, 5: 104},
    "MobileRoboticsMotionPlanning": {2: 27, 3: 98, 4: 310},
    "MobileRoboticswithReset": {2: 27, 3: 98, 4: 310},
    "SATSLandingProtocol": {3: 465, 4: 2187, 5: 4371, 6: 6555, 7: 8739},
    "SATSLandingProtocol_II": {3: 168, 4: 551, 5: 1856, 6: 4212, 7: 7949},
    "SensorNetworkwithReset": {3: 82, 4: 275, 5: 833},
    "TwoObjectTracker": {3: 34, 4: 52, 5: 74},
}
"""States up to symmetry of the published programs, as a brute-force checker with its own parser and semantics finds them."""

FEW = 320


def cases(largest: int, smallest: int = 0) -> list[tuple[str, int, int]]:
    return [(n, size, c) for n, row in COUNTS.items() for size, c in row.items() if smallest < c <= largest]


if CORPUS.exists():

    @pytest.mark.parametrize(("name", "processes", "count"), cases(FEW))
    def test_published_programs_have_the_states_that_others_find(name: str, processes: int, count: int) -> None:
        model = load(CORPUS / f"{name}.ch")
        found = Reference(ProcessInstance(model, processes).system).explore(symmetry=True)
        assert (found.states, found.violations) == (count, {})
        if processes < 4:
            assert Naive(model, processes).explore() == (count, set())

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "processes", "count"), cases(10**6, FEW))
    def test_larger_instances_of_published_programs(name: str, processes: int, count: int) -> None:
        model = load(CORPUS / f"{name}.ch")
        found = Search(Engine(ProcessInstance(model, processes).system, QUICK), symmetry=True).finish().found
        assert (found.states, found.violations) == (count, {})
        assert Naive(model, processes).explore() == (count, set())
