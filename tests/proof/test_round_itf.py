"""Runs of round-based algorithms as ITF documents: there and back, and nothing that is not a run."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from quorate.lang import load_rounds
from quorate.methods.heardof.check import check
from quorate.models.evaluation import setting
from quorate.models.rounds import RoundModel
from quorate.proof.itf import TraceFormatError
from quorate.proof.round_itf import from_itf, to_itf
from quorate.proof.round_traces import RoundTrace, replay

LIBRARY = Path(__file__).parents[2] / "protocols" / "rounds" / "broken"


def violation(name: str, n: int) -> tuple[RoundModel, RoundTrace]:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    outcome = check(model, n, setting(model, n, {}))
    return model, next(result.rounds for result in outcome.results if result.rounds)


@pytest.mark.parametrize(
    "name, n",
    [
        ("flood_set_too_short", 3),
        ("herlihy_cas_not_atomic", 2),
        ("last_voting_both_inclusive", 2),
        ("one_third_rule_stale", 4),
    ],
)
def test_there_and_back(name: str, n: int) -> None:
    model, trace = violation(name, n)
    found = from_itf(model, json.loads(json.dumps(to_itf(model, trace))))
    assert found == trace
    replay(model, found)


def test_what_is_not_a_run() -> None:
    model, trace = violation("flood_set_too_short", 3)
    document: Any = to_itf(model, trace)

    def changed(*path: Any) -> Any:
        copy = deepcopy(document)
        at = copy
        for step in path[:-2]:
            at = at[step]
        at[path[-2]] = path[-1]
        return copy

    for wrong in (
        {},
        changed("states", 1, "decision", {"#map": []}),
        changed("states", 1, "#meta", {}),
        changed("states", 1, "#meta", "hears", {"p1": []}),
        changed("#meta", "sha256", "0"),
        changed("#meta", "quorate", "n", 10**9),
        changed("states", 0, "seen", {"#map": [["p1", {"#set": []}]] * 3}),
    ):
        with pytest.raises(TraceFormatError):
            from_itf(model, wrong)
