"""Random runs: all states they visit are reachable."""

from __future__ import annotations

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.lang import load
from quorate.methods.inference.language import total_orders
from quorate.methods.inference.questions import Grounds
from quorate.methods.inference.states import from_instance
from quorate.methods.inference.walks import walks

LIBRARY = "protocols/relational"


def facts(model, states):
    """Every state as the bytes of its tables."""
    columns = [numpy.broadcast_to(states.tables[s], (states.count, *states.tables[s].shape[1:])) for s in model.symbols]
    flat = numpy.concatenate([column.reshape(states.count, -1).astype(numpy.uint8) for column in columns], axis=1)
    return {row.tobytes() for row in flat}


@pytest.mark.parametrize(
    "name", ["lock_server_async.ivy", "ring_leader_election.pyv", "toy_consensus_epr.ivy", "two_phase_commit.ivy"]
)
def test_what_is_visited_is_reachable(name):
    model = load(f"{LIBRARY}/{name}").model
    sizes = {sort: 2 for sort in model.sorts if sort.uninterpreted}
    found = walks(Grounds(model, {}), sizes, 12, 0)
    instance = Instance(model, sizes)
    reachable = facts(model, from_instance(instance, instance.states(symmetry=False)))
    renamed = facts(model, found)
    assert renamed and found.count == len(renamed)
    for item in (*model.axioms, *model.safety):
        assert numpy.broadcast_to(found.evaluate(item.formula, {}), (found.count, 1)).all()
    worlds = {state for state in renamed if state in reachable}
    assert len(worlds) > 1 and (total_orders(model) or worlds <= reachable)


def test_runs_go_on_and_depend_on_the_seed():
    model = load(f"{LIBRARY}/lock_server_async.ivy").model
    sizes = {sort: 3 for sort in model.sorts if sort.uninterpreted}
    counts = [walks(Grounds(model, {}), sizes, steps, 0).count for steps in (0, 5, 20)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    assert facts(model, walks(Grounds(model, {}), sizes, 20, 0)) == facts(
        model, walks(Grounds(model, {}), sizes, 20, 0)
    )
    assert facts(model, walks(Grounds(model, {}), sizes, 20, 0)) != facts(
        model, walks(Grounds(model, {}), sizes, 20, 1)
    )
