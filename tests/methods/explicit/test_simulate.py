"""Random runs find shallow bugs, the same ones for the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.engines.explicit import compile as compiling
from quorate.engines.explicit.instance import Instance
from quorate.lang import load
from quorate.methods.explicit.simulate import simulate
from quorate.proof.traces import replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def instance(file: str, **sizes: int) -> Instance:
    model = load(LIBRARY / file).model
    return Instance(model, {sort: sizes.get(sort.name, 2) for sort in model.sorts if sort.uninterpreted})


@pytest.mark.parametrize("compiled", [True, False])
def test_a_bug_is_found_and_shrunk(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(compiling, "find_compiler", lambda: None)
    protocol = instance("broken/lock_server_async_lock_kept.ivy", client=3)
    done = simulate(protocol, 2_000 if compiled else 200, 40, seed=5)
    [result] = done.results
    assert result.verdict == "violated"
    assert len(result.evidence.steps) == 6
    assert sum(result.evidence.states[0].sizes.values()) == 2
    replay(protocol.model, result.evidence)


def test_no_violation_is_unknown():
    done = simulate(instance("paxos.pyv"), 500, 30)
    assert [result.verdict for result in done.results] == ["unknown"]
    assert done.runs == 500
    assert 0 < done.steps <= 500 * 30


def test_the_seed_decides():
    def steps(seed: int) -> int:
        return simulate(instance("broken/paxos_reports_ignored.pyv"), 300, 60, seed).steps

    assert steps(1) == steps(1)
    assert len({steps(seed) for seed in range(5)}) > 1


def test_time_is_up():
    done = simulate(instance("paxos.pyv"), 10**9, 50, timeout=1e-6)
    assert done.runs == 0
