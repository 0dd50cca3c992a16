"""From the protocol alone to a certificate that the independent checker accepts; and never for a wrong protocol."""

from pathlib import Path

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic.printing import show
from quorate.methods.inference.badness import origins, violations, with_origins
from quorate.methods.inference.infer import Options, infer
from quorate.methods.inference.shapes import shapes
from quorate.models.source import Source
from quorate.proof.checker import recheck
from quorate.proof.traces import replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"
LIMITS = Limits(timeout=10, jobs=1)

LOST_KEYS = """\
sort key
sort node
mutable relation owns(node, key)
mutable relation sent(node, key)
init forall K. exists N. owns(N, K)
init !sent(N, K)
transition send(n: node, m: node, k: key)
  modifies owns, sent
  & owns(n, k)
  & (owns'(N, K) <-> owns(N, K) & !(N = n & K = k))
  & (sent'(N, K) <-> sent(N, K) | N = m & K = k)
transition receive(n: node, k: key)
  modifies owns, sent
  & sent(n, k)
  & (sent'(N, K) <-> sent(N, K) & !(N = n & K = k))
  & (owns'(N, K) <-> owns(N, K) | N = n & K = k)
safety [not_lost] (exists N, K. sent(N, K)) | (forall K. exists N. owns(N, K))
"""


def proved(model, seconds=60.0):
    found = infer(model.with_invariants(()), LIMITS, Options(seconds))
    assert {result.verdict for result in found.results} == {"proved"}, found.attempts
    assert all(outcome.accepted for outcome in recheck(model, found.certificate, 10.0, 2048, 1))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "client_server_db_ae.ivy",
        "decentralized_lock.ivy",
        "lock_server_async.ivy",
        "toy_consensus_epr.ivy",
        "two_phase_commit.ivy",
        pytest.param("consensus_epr.pyv", marks=pytest.mark.slow),
        pytest.param("consensus_forall.pyv", marks=pytest.mark.slow),
        pytest.param("distributed_lock.pyv", marks=pytest.mark.slow),
        pytest.param("ring_leader_election.pyv", marks=pytest.mark.slow),
        pytest.param("sharded_kv.pyv", marks=pytest.mark.slow),
        pytest.param("ticket_lock.pyv", marks=pytest.mark.slow),
    ],
)
def test_library_protocols_are_proved(name):
    found = proved(load(LIBRARY / name).model)
    assert found.certificate is not None and not found.interrupted


def test_a_property_with_an_existential_is_proved_backwards():
    found = proved(parse(Source("keys.pyv", LOST_KEYS)).model)
    assert [step.direction for r in found.certificate.refutations for step in r.steps if step.formulas] == ["backward"]


@pytest.mark.parametrize(
    "name",
    [
        "toy_consensus_forall_votes_twice.pyv",
        "lock_server_async_lock_kept.ivy",
        "two_phase_commit_missing_votes_count.ivy",
    ],
)
def test_violations_are_found_first(name):
    model = load(LIBRARY / "broken" / name).model
    found = infer(model.with_invariants(()), LIMITS, Options(20.0))
    broken = [result for result in found.results if result.verdict == "violated"]
    assert broken and found.certificate is None
    for result in broken:
        replay(model, result.evidence)


def test_the_same_seed_gives_the_same_proof():
    model = load(LIBRARY / "two_phase_commit.ivy").model
    first, second = (proved(model) for _ in range(2))
    assert first.invariants == second.invariants and first.queries == second.queries


def test_without_time_nothing_is_claimed():
    model = load(LIBRARY / "paxos.pyv").model
    found = infer(model.with_invariants(()), LIMITS, Options(0.0))
    assert {result.verdict for result in found.results} == {"unknown"} and found.certificate is None


def test_what_a_guard_leaves_behind():
    model = load(LIBRARY / "toy_consensus_epr.ivy").model
    found = origins(model, dict.fromkeys(model.sorts, 2), {}, ())
    (lemma,) = [show(origin.lemma) for origin in found if origin.relation.name == "decided"]
    assert "exists" in lemma and "member" in lemma
    (bad,) = violations(model)
    (case,) = with_origins(model, bad, found)
    assert len(case.constants) == len(bad.constants) + 2


def test_shapes_grow_by_one():
    model = load(LIBRARY / "toy_consensus_epr.ivy").model
    listed = [shape for shape, _ in zip(shapes(model), range(40), strict=False)]
    sizes = [shape.literals + shape.total + sum(shape.variables.values()) for shape in listed]
    assert sizes == sorted(sizes) and len({str(shape) for shape in listed}) == 40
