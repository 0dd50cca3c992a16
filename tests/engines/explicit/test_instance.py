"""Instances: what they refuse, and their states as arrays."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.engines.explicit.worlds import InstanceError
from quorate.lang import load
from quorate.lang.expressions import read_expression

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def instance(file: str, where: str | None = None, **sizes: int) -> Instance:
    model = load(LIBRARY / file).model
    named = {sort: sizes.get(sort.name, 2) for sort in model.sorts if sort.uninterpreted}
    return Instance(model, named, read_expression(model, where) if where else None)


@pytest.mark.parametrize("symmetry", [False, True])
def test_states_are_all_the_states_there_are(symmetry):
    paxos = instance("paxos.pyv")
    states = paxos.states(symmetry)
    assert states.shape == (paxos.explore(symmetry).states, len(paxos.places) + 1)
    assert len(numpy.unique(states, axis=0)) == len(states)
    assert set(states[:, -1]) == set(range(len(paxos.worlds)))


def test_states_have_the_values_of_the_reference_engine():
    protocol = instance("cas_consensus.ivy", value=3)
    reference = Reference(protocol.system)
    seen = set(reference.initial())
    waiting = list(seen)
    while waiting:
        for after, _, _ in reference.successors(waiting.pop()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    assert {(tuple(row[:-1]), row[-1]) for row in protocol.states().tolist()} == seen


def test_random_runs_are_runs():
    protocol = instance("ring_leader_election.pyv", node=3, identifier=3)
    reference = Reference(protocol.system)
    runs = protocol.simulate(20, 12, seed=3).tolist()
    assert len(runs) == 20
    starts = set(reference.initial())
    for run in runs:
        states = [(tuple(row[:-1]), row[-1]) for row in run]
        assert len(states) == 13
        assert states[0] in starts
        for before, after in pairwise(states):
            changes = {s for s, _, _ in reference.successors(before) if s != before}
            assert after in changes or (after == before and (not changes or reference.violated(before)))


def test_random_runs_depend_on_the_seed_alone():
    protocol = instance("two_phase_commit.ivy", participant=4)
    assert (protocol.simulate(50, 10, seed=1) == protocol.simulate(50, 10, seed=1)).all()
    assert (protocol.simulate(50, 10, seed=1) != protocol.simulate(50, 10, seed=2)).any()


def test_where_restricts_the_worlds():
    free = instance("toy_consensus_epr.ivy", node=3)
    all_nodes = instance("toy_consensus_epr.ivy", "forall N:node, Q:quorum. member(N, Q)", node=3)
    assert len(all_nodes.worlds) == 1 < len(free.worlds)


@pytest.mark.parametrize(
    ("file", "where", "sizes", "message"),
    [
        ("paxos.pyv", "decided(B, V)", {}, "only rigid symbols"),
        ("paxos.pyv", None, {"value": 300}, "more than 256 elements"),
    ],
)
def test_what_cannot_be_built_is_refused(file, where, sizes, message):
    with pytest.raises(InstanceError, match=message):
        instance(file, where, **sizes)


def test_every_sort_needs_a_size():
    with pytest.raises(InstanceError, match="no size is given for acceptor"):
        Instance(load(LIBRARY / "paxos.pyv").model, {})
