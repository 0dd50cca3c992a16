"""Fair lassos of instances: against a naive reference, and on the library."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.lang import load
from quorate.methods.liveness.check import check_liveness
from quorate.proof.traces import replay
from random_liveness import compared

LIBRARY = Path(__file__).parents[3] / "protocols" / "liveness"


def test_random_protocols_agree_with_the_reference_and_stages_are_sound() -> None:
    """The rest of 3,000 of them: `python bench/fairness.py random`."""
    answers = [compared(seed) for seed in range(40)]
    assert all(answer.agree and not answer.wrong for answer in answers)
    assert 5 < sum(answer.violated for answer in answers) < 35
    assert sum(answer.proofs for answer in answers) > 5


@pytest.mark.slow
def test_many_random_protocols() -> None:
    answers = [compared(seed) for seed in range(1000, 1300)]
    assert all(answer.agree and not answer.wrong for answer in answers)


@pytest.mark.parametrize("path", sorted((LIBRARY / "broken").glob("*.pyv")), ids=lambda path: path.stem)
def test_broken_variants_have_a_lasso_that_replays(path: Path) -> None:
    model = load(path).model
    for size in (2, 3, 4):
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
        ("dijkstra_token_ring", {"machine": 3, "state": 3}, 18),
        ("dijkstra_stabilisation", {"machine": 4, "state": 3}, 33),
    ],
)
def test_library_holds_in_small_instances(name: str, sizes: dict[str, int], states: int) -> None:
    model = load(LIBRARY / f"{name}.pyv").model
    named = {sort.name: sort for sort in model.sorts}
    results, count = check_liveness(Instance(model, {named[key]: value for key, value in sizes.items()}))
    assert [result.verdict for result in results] == ["proved"]
    assert count == states
