"""`quorate verify` gives the library its expected verdicts: a few files of every family here, all of them as a slow test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate.apps.cli.main import main

PROTOCOLS = Path(__file__).parents[2] / "protocols"
SOME = [
    "relational/lock_server_sync.pyv",
    "relational/proofs/lock_server_sync.pyv",
    "relational/proofs/toy_consensus_forall.pyv",
    "relational/broken/lock_server_sync_lock_stolen.pyv",
    "relational/broken/two_phase_commit_missing_votes_count.ivy",
    "mercury/lock_service.mercury",
    "mercury/broken/lonely_losers.mercury",
    "rounds/simplified_coord_uniform_voting.rounds",
    "rounds/broken/herlihy_cas_not_atomic.rounds",
]


def test_some_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *(str(PROTOCOLS / name) for name in SOME), "--json", "--n", "3", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["files"]) == len(SOME)
    assert {result["verdict"] for result in document["results"]} == {"proved", "violated", "unknown"}


@pytest.mark.slow
def test_all_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["verify", str(PROTOCOLS), "--json", "--quiet"])
    document = json.loads(capsys.readouterr().out)
    wrong = [r for r in document["results"] if r["verdict"] not in (r["expected"], "proved")]
    assert code == 0, wrong
