"""A wrong `proved` is the worst bug there is: mutants, and protocols that break only with more nodes than the property names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mutations import mutants
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.methods.cutoff.cutoff import Options, cutoff, promising
from quorate.methods.explicit import check
from quorate.models.relational import RelationalModel
from quorate.proof.traces import Trace, replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"
LIMITS = Limits(timeout=2.0, jobs=1)
TABLE = (
    "sharded_kv_retransmission.pyv",
    "ring_leader_election_duplicating.pyv",
    "centralized_lock_server.pyv",
    "lock_server_sync.pyv",
    "ricart_agrawala_pairwise.pyv",
    "two_phase_commit.ivy",
    "toy_consensus_forall.pyv",
    "consensus_wo_decide.ivy",
)
MORE_NEEDED = (
    "vouching_three_needed.pyv",
    "relayed_lock_four_needed.pyv",
    "witnessed_vote_three_needed.pyv",
    "chained_permission_three_needed.pyv",
)


def violated_at(model: RelationalModel, largest: int, seconds: float) -> dict[str, int] | None:
    """Sizes of an instance that is violated, the first sort growing up to `largest`; None if the search finds none in time."""
    sorts = promising(model)
    for size in range(1, largest + 1):
        for others in (1, 2):
            sizes = {sort: size if sort is sorts[0] else others for sort in sorts}
            options = check.Options(engine="reference", timeout=seconds)
            try:
                found = check.check(Instance(model, sizes), options)
            except InstanceError:
                continue
            if any(result.verdict == "violated" for result in found.results):
                return {sort.name: count for sort, count in sizes.items()}
    return None


def judge(model: RelationalModel, seconds: float, largest: int) -> str:
    """The verdict of `cutoff`, after everything that it claims has been compared with plain searches."""
    outcome = cutoff(model, LIMITS, Options(seconds))
    verdicts = {result.verdict for result in outcome.results}
    for result in outcome.results:
        if result.verdict == "violated":
            assert isinstance(result.evidence, Trace)
            replay(model, result.evidence)
    if "proved" in verdicts:
        assert verdicts == {"proved"}
        assert violated_at(model, largest, 2.0) is None
    return "violated" if "violated" in verdicts else verdicts.pop()


@pytest.mark.parametrize("name", MORE_NEEDED)
def test_protocols_that_break_only_with_more_nodes_are_not_proved(name: str) -> None:
    model = load(LIBRARY / "broken" / name).model
    (sort,) = promising(model)
    for size in (1, 2):
        found = check.check(Instance(model, {sort: size}), check.Options(engine="reference"))
        assert {result.verdict for result in found.results} == {"proved"}, "a small instance is safe"
    outcome = cutoff(model, LIMITS, Options(4.0))
    assert [result.verdict for result in outcome.results] == ["violated"]
    assert outcome.found == []


def mutants_of(name: str, count: int) -> list[tuple[str, RelationalModel]]:
    found = list(mutants(load(LIBRARY / name).model))
    random.Random(name).shuffle(found)
    return found[:count]


@pytest.mark.parametrize("name", ["lock_server_sync.pyv", "ricart_agrawala_pairwise.pyv"])
def test_some_mutants(name: str) -> None:
    verdicts = [judge(mutant, 2.0, 3) for _, mutant in mutants_of(name, 3)]
    assert "violated" in verdicts


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_no_mutant_is_proved_that_an_instance_violates(name: str) -> None:
    verdicts = [judge(mutant, 6.0, 4) for _, mutant in mutants_of(name, 40)]
    assert verdicts.count("violated") > 0
