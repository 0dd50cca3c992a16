"""Searches that are saved and taken up again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate.engines.explicit.checkpoint import Checkpoint, CheckpointError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Search
from quorate.engines.explicit.reference import FINISHED, RUNNING
from quorate.lang import load

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


@pytest.fixture(scope="module")
def engine():
    model = load(LIBRARY / "two_phase_commit.ivy").model
    return Instance(model, dict.fromkeys(model.sorts, 6)).engine


def begun(engine, **options) -> Search:
    search = Search(engine, **options)
    search.begin()
    return search


def test_saved_at_every_chance(engine, tmp_path):
    """A search that is saved after every round, and restored each time, counts the same."""
    expected = Search(engine, jobs=2).finish().found
    saved = Checkpoint(tmp_path / "saved", {"of": "test"})
    search = begun(engine, jobs=2)
    rounds = 0
    while search.status == RUNNING:
        search.run(0)
        saved.save(search)
        other = Checkpoint(tmp_path / "saved", {"of": "test"})
        search = Search(engine, jobs=1 + rounds % 3, shards=2)
        other.restore(search, other.load())
        saved, rounds = other, rounds + 1
        if search.run(0) == FINISHED:
            break
    assert rounds > 8
    assert search.found == expected


def test_what_a_killed_process_left_behind_does_not_count(engine, tmp_path):
    search = begun(engine, jobs=1)
    saved = Checkpoint(tmp_path, {})
    for _ in range(10):
        search.run(0)
    saved.save(search)
    with open(tmp_path / "states-0.bin", "ab") as file:
        file.write(b"half a state")
    again = Search(engine, jobs=1, shards=1)
    other = Checkpoint(tmp_path, {})
    other.restore(again, other.load())
    assert again.found == search.found
    while again.status == RUNNING:
        again.run(1e9)
    other.save(again)
    assert other.load()["search"]["totals"][0] == again.found.states


def test_another_search_is_refused(engine, tmp_path):
    Checkpoint(tmp_path, {"size": 6, "system": "a"}).save(begun(engine))
    with pytest.raises(CheckpointError, match=r"holds another search \(size: 6 there, 7 here\)"):
        Checkpoint(tmp_path, {"size": 7, "system": "b"}).load()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"identity": {}, "format": 99}', "\udc80"])
def test_a_manifest_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text, errors="surrogateescape")
    with pytest.raises(CheckpointError):
        Checkpoint(tmp_path, {}).load()


def test_damaged_states_are_noticed(engine, tmp_path):
    saved = Checkpoint(tmp_path, {})
    search = begun(engine, jobs=1)
    search.run(0)
    saved.save(search)
    states = tmp_path / "states-0.bin"
    content = bytearray(states.read_bytes())
    content[3] ^= 1
    states.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="damaged"):
        saved.restore(Search(engine, jobs=1, shards=1), saved.load())
    states.write_bytes(bytes(content[:-8]))
    with pytest.raises(CheckpointError, match="damaged"):
        saved.restore(Search(engine, jobs=1, shards=1), saved.load())
    states.unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        saved.restore(Search(engine, jobs=1, shards=1), saved.load())


def test_a_manifest_with_too_few_shards_is_refused(engine, tmp_path):
    saved = Checkpoint(tmp_path, {})
    saved.save(begun(engine, jobs=1))
    document = json.loads((tmp_path / "manifest.json").read_text())
    document["counts"] = []
    with pytest.raises(CheckpointError, match="is not complete"):
        saved.restore(Search(engine, jobs=1, shards=1), document)
