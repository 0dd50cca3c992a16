"""Protocols made to be misread: what fails is never proved, what holds is never violated."""

from __future__ import annotations

from pathlib import Path

import pytest

import quorate
from quorate.apps.api import ProtocolError

FOLDER = Path(__file__).parent
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".ivy", ".pyv"))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_trap_is_stepped_into(path: Path) -> None:
    try:
        answer = quorate.load(path).verify(seconds=10.0, jobs=1)
    except ProtocolError:
        return
    for result in answer.answer.results:
        wrong = {"t_": "violated", "f_": "proved"}.get(result.property[:2])
        assert result.verdict != wrong, f"{result.property}: {result.verdict} ({result.reason})"
