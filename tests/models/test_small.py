"""Small instances are the protocol at a fixed size: the same states, the same steps, the same violations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.lang import load
from quorate.logic.terms import Sort
from quorate.methods.explicit import check
from quorate.models.relational import RelationalModel
from quorate.models.semantics import with_derived
from quorate.models.small import SmallError, as_large, flattened, small_instance, small_sort
from quorate.proof.traces import Trace, replay

LIBRARY = Path(__file__).parents[2] / "protocols" / "relational"


def fixed(model: RelationalModel, size: int) -> tuple[RelationalModel, list[tuple[Sort, Sort]]]:
    """The protocol with every sort of the same fixed size."""
    small, pairs = flattened(model), []
    for sort in [sort for sort in model.sorts if sort.uninterpreted]:
        target = small_sort(small, sort, size)
        small = small_instance(small, sort, target)
        pairs.append((sort, target))
    return small, pairs


@pytest.mark.parametrize(
    "name",
    [
        "lock_server_sync.pyv",
        "ring_leader_election.pyv",
        "two_phase_commit.ivy",
        "toy_consensus_epr.ivy",
        "decentralized_lock.ivy",
        "distributed_lock.pyv",
    ],
)
def test_a_small_instance_has_the_states_of_the_instance(name: str) -> None:
    model = load(LIBRARY / name).model
    small, _ = fixed(model, 2)
    assert not [sort for sort in small.sorts if sort.uninterpreted]
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    expected = Reference(Instance(model, sizes).system).explore(symmetry=True).unreduced
    plain = Instance(small, {})
    found = Reference(plain.system).explore().states
    if all(symbol.mutable for symbol in model.symbols if symbol not in model.derived_symbols):
        assert found == expected
    else:
        assert found >= expected, "interpretations of the rigid symbols that differ in names only are told apart"


def test_a_run_of_a_small_instance_is_a_run_of_the_protocol() -> None:
    model = load(LIBRARY / "broken" / "ring_leader_election_forwards_all.pyv").model
    small, pairs = fixed(model, 2)
    outcome = check.check(Instance(small, {}), check.Options(engine="reference"))
    trace = next(result.evidence for result in outcome.results if result.verdict == "violated")
    assert isinstance(trace, Trace)
    states = list(trace.states)
    for sort, target in reversed(pairs):
        states = [as_large(state, sort, target) for state in states]
    replay(model, Trace("run", tuple(with_derived(model, state) for state in states), trace.steps, trace.violated))


def test_names_of_elements_are_new() -> None:
    model = load(LIBRARY / "lock_server_sync.pyv").model
    client = model.sorts[0]
    assert small_sort(model, client, 2).elements == ("client1", "client2")
    taken = Sort("other", ("client1",))
    sorts = (*model.sorts, taken)
    changed = RelationalModel(model.name, model.language, sorts, model.symbols, (), (), (), (), (), ())
    assert "client1" not in small_sort(changed, client, 2).elements


def test_axioms_about_what_can_change_are_refused() -> None:
    model = load(LIBRARY / "lock_server_sync.pyv").model
    with pytest.raises(SmallError):
        flattened(replace(model, axioms=model.safety))
