"""Exhaustive search: verdicts, evidence, and what is said when it stops early."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quorate.engines.explicit import compile as compiling
from quorate.engines.explicit.instance import Instance
from quorate.lang import load, parse
from quorate.methods.explicit.check import Options, check
from quorate.models.source import Source
from quorate.proof.traces import replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def instance(file: str, **sizes: int) -> Instance:
    model = load(LIBRARY / file).model
    return Instance(model, {sort: sizes.get(sort.name, 2) for sort in model.sorts if sort.uninterpreted})


def written(text: str, size: int = 2) -> Instance:
    model = parse(Source("written.pyv", text), "pyv").model
    return Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_right_protocol(engine, symmetry):
    outcome = check(instance("paxos.pyv"), Options(engine=engine, symmetry=symmetry))
    assert [(result.property, result.verdict) for result in outcome.results] == [("agreement", "proved")]
    assert outcome.found.unreduced == 1483
    assert outcome.results[0].scope == "acceptor=2, quorum=2, ballot=2, value=2"


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_broken_protocol(engine, symmetry):
    protocol = instance("broken/lock_server_async_lock_kept.ivy")
    [result] = check(protocol, Options(engine=engine, symmetry=symmetry)).results
    assert result.verdict == "violated"
    assert len(result.evidence.steps) == 6
    replay(protocol.model, result.evidence)


def test_other_properties_are_open_when_the_search_stops_at_a_violation():
    protocol = instance("broken/two_phase_commit_missing_votes_count.ivy")
    first = {result.property: result.verdict for result in check(protocol, Options()).results}
    assert first == {"atomicity": "unknown", "commit_is_unanimous": "violated", "abort_has_cause": "unknown"}
    on = {result.property: result.verdict for result in check(protocol, Options(keep_going=True)).results}
    assert on == {"atomicity": "violated", "commit_is_unanimous": "violated", "abort_has_cause": "proved"}


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_deadlocks(engine):
    protocol = instance("two_phase_commit.ivy")
    outcome = check(protocol, Options(engine=engine, deadlock=True))
    found = outcome.results[-1]
    assert (found.kind, found.verdict) == ("deadlock", "violated")
    replay(protocol.model, found.evidence)
    assert outcome.found.deadlocks


ENDLESS = """
sort node
mutable relation on(node)
init !on(N)
transition flip(n: node)
  modifies on
  forall N. new(on(N)) <-> on(N) & N != n | !on(N) & N = n
"""


def test_no_deadlock():
    outcome = check(written(ENDLESS + "safety [fine] true | on(N)"), Options(deadlock=True))
    assert [result.verdict for result in outcome.results] == ["proved", "proved"]


def test_time_is_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    protocol = written(ENDLESS + "safety [fine] true | on(N)", 20)
    outcome = check(protocol, Options(symmetry=False, timeout=1e-6))
    assert outcome.results[0].verdict == "unknown"
    assert "the time is up" in outcome.results[0].reason
    assert outcome.checkpoint and (tmp_path / outcome.checkpoint / "manifest.json").exists()
    done = check(protocol, Options(symmetry=False, folder=outcome.checkpoint))
    assert done.results[0].verdict == "proved"
    assert done.found.states == 2**20
    assert check(protocol, Options(symmetry=True)).found.unreduced == 2**20


def test_memory_is_used_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    protocol = written(ENDLESS + "safety [fine] true | on(N)", 20)
    outcome = check(protocol, Options(symmetry=False, memory_mb=4))
    assert outcome.results[0].verdict == "unknown"
    assert "4 MB of memory are used up" in outcome.results[0].reason


def test_nothing_to_check_is_not_proved():
    no_world = written("sort node immutable relation r(node) axiom r(N) axiom !r(N) safety [s] true | r(N)")
    assert check(no_world, Options()).results[0].verdict == "unknown"
    no_start = written("sort node mutable relation r(node) init r(N) & !r(N) safety [s] true | r(N)")
    [result] = check(no_start, Options()).results
    assert result.verdict == "unknown"
    assert "no initial state" in result.reason


def test_expected_numbers_of_states_are_compared():
    text = ENDLESS + "safety [fine] true | on(N)"
    right = check(written("# expect: check node=3 states=8\n" + text, 3), Options())
    assert [(r.kind, r.verdict) for r in right.results] == [("safety", "proved"), ("count", "proved")]
    wrong = check(written("# expect: check node=3 states=9\n" + text, 3), Options())
    assert wrong.results[1].verdict == "violated"
    other = check(written("# expect: check node=3 states=9\n" + text, 4), Options())
    assert len(other.results) == 1


def test_without_a_compiler_the_reference_engine_answers(monkeypatch):
    monkeypatch.setattr(compiling, "find_compiler", lambda: None)
    outcome = check(instance("toy_consensus_forall.pyv"), Options())
    assert outcome.engine == "reference"
    assert outcome.results[0].verdict == "proved"
    assert any("100 times faster" in note for note in outcome.notes)


def test_without_a_gpu_the_cpu_searches(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    outcome = check(instance("toy_consensus_forall.pyv"), Options(engine="gpu"))
    assert outcome.engine == "native"
    assert any("CuPy" in note for note in outcome.notes)
