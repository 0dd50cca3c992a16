"""Runs of Mercury programs as ITF documents: there and back, and nothing that is not a run."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from quorate.lang import LoadedProcess, load_any
from quorate.methods.phases.verify import verify
from quorate.models.process import ProcessModel
from quorate.proof.itf import TraceFormatError
from quorate.proof.process_itf import from_itf, to_itf
from quorate.proof.process_runs import ProcessRun, replay
from quorate.proof.traces import ReplayError

LIBRARY = Path(__file__).parents[2] / "protocols" / "mercury" / "broken"
SLOW = ("sats_landing_approach_alone",)


def violation(path: Path) -> tuple[ProcessModel, ProcessRun]:
    loaded = load_any(path)
    assert isinstance(loaded, LoadedProcess)
    run = next(result.evidence for result in verify(loaded.model).results if result.evidence)
    assert isinstance(run, ProcessRun)
    return loaded.model, run


@pytest.mark.parametrize(
    "path", [path for path in sorted(LIBRARY.glob("*.mercury")) if path.stem not in SLOW], ids=lambda path: path.stem
)
def test_there_and_back(path: Path) -> None:
    model, run = violation(path)
    found = from_itf(model, json.loads(json.dumps(to_itf(model, run))))
    replay(model, found)
    assert (found.processes, found.violated, len(found.states)) == (run.processes, run.violated, len(run.states))
    assert to_itf(model, found) == to_itf(model, run)


def test_what_is_not_a_run() -> None:
    model, run = violation(LIBRARY / "targets_in_both_branches.mercury")
    document: Any = to_itf(model, run)

    def changed(*path: Any) -> Any:
        copy = deepcopy(document)
        at = copy
        for step in path[:-2]:
            at = at[step]
        at[path[-2]] = path[-1]
        return copy

    for wrong in (
        {},
        changed("states", []),
        changed("states", 0, "location", {"#map": []}),
        changed("states", 1, "#meta", {"index": 1}),
        changed("states", 1, "location", document["states"][0]["location"]),
        changed("#meta", "sha256", "0"),
        changed("#meta", "quorate", "processes", 10**9),
    ):
        with pytest.raises(TraceFormatError):
            from_itf(model, wrong)
    shorter = changed("states", document["states"][:-1])
    with pytest.raises(ReplayError):
        replay(model, from_itf(model, shorter))
