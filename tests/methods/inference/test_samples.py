"""Samples: reachable states, all of them where they are few."""

from __future__ import annotations

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.lang import load, parse
from quorate.methods.inference.language import total_orders
from quorate.methods.inference.samples import FEW_STATES, sample, samples
from quorate.models.source import Source

LIBRARY = "protocols/relational"

COUNTER = """\
sort node
mutable constant count: int
init count = 0
transition up()
  modifies count
  & new(count) = count + 1
safety [positive] count >= 0
"""

LONELY = """\
sort node
immutable relation first(node)
axiom forall X, Y:node. X = Y
mutable relation on(node)
init !on(N)
transition switch(n: node)
  modifies on
  & (new(on(N)) <-> on(N) | N = n)
safety on(N) | !on(N)
"""


def truth(states, formula):
    return numpy.broadcast_to(states.evaluate(formula, {}), (states.count, 1))


def of_size(model, size):
    return {sort: size for sort in model.sorts if sort.uninterpreted}


@pytest.mark.parametrize("name", ["lock_server_async.ivy", "ticket_lock.pyv", "two_phase_commit.ivy"])
def test_samples_are_reachable_states(name):
    model = load(f"{LIBRARY}/{name}").model
    orders = total_orders(model)
    found = sample(model, of_size(model, 2), orders, 0)
    assert found is not None and found.complete and found.violated == ()
    assert found.states.count == len(Instance(model, of_size(model, 2)).states(symmetry=True))
    for item in (*model.axioms, *model.safety):
        assert truth(found.states, item.formula).all()
    for order in orders.values():
        assert (found.states.tables[order] == numpy.less_equal.outer(numpy.arange(2), numpy.arange(2))).all()


def test_a_violation_is_seen():
    model = load(f"{LIBRARY}/broken/lock_server_async_lock_kept.ivy").model
    found = list(samples(model, dict.fromkeys(model.sorts, 2), {}, 0))
    assert [item.violated for item in found][-1] == ("mutual_exclusion",)
    assert all(item.violated == () for item in found[:-1])


def test_instances_grow_while_they_are_small():
    model = load(f"{LIBRARY}/lock_server_async.ivy").model
    counts = [item.states.count for item in samples(model, dict.fromkeys(model.sorts, 2), {}, 0)]
    assert counts == sorted(counts) and max(counts[:-1]) <= FEW_STATES


def test_the_seed_decides():
    model = load(f"{LIBRARY}/ticket_lock.pyv").model
    orders = total_orders(model)
    first, second = (list(samples(model, dict.fromkeys(model.sorts, 2), orders, 7)) for _ in range(2))
    for left, right in zip(first, second, strict=True):
        assert all((left.states.tables[s] == right.states.tables[s]).all() for s in left.states.tables)


def test_instances_that_cannot_be_are_left_out():
    counter = parse(Source("counter.pyv", COUNTER)).model
    assert list(samples(counter, {}, {}, 0)) == []
    lonely = parse(Source("lonely.pyv", LONELY)).model
    assert sample(lonely, of_size(lonely, 2), {}, 0) is None
    single = sample(lonely, of_size(lonely, 1), {}, 0)
    assert single is not None and single.states.count == 4
