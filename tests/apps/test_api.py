"""Quorate from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import quorate
from quorate.apps.api import ProtocolError
from quorate.proof.certificates import load as load_certificate

BAD = "relational/broken/lock_server_sync_lock_stolen.pyv"


def test_a_proof_and_its_certificate(tmp_path: Path) -> None:
    answer = quorate.load("relational/proofs/lock_server_sync.pyv").verify(seconds=60)
    assert answer.verdict == "proved" and answer.as_expected
    found = answer["mutual_exclusion"].certificate
    assert found is not None and repr(found) == "<certificate for mutual_exclusion: 7 obligations, two solvers>"
    found.save(tmp_path / "a.cert.json")
    assert load_certificate(tmp_path / "a.cert.json") == found.proof.certificate
    assert len(answer.invariants) == 1 and answer.invariants[0].needed_by


def test_a_violation(tmp_path: Path) -> None:
    protocol = quorate.load(BAD)
    assert repr(protocol).endswith("lock_server_sync_lock_stolen.pyv: mutual_exclusion>")
    answer = protocol.verify(methods=["bounded"])
    assert answer.verdict == "violated" and answer.as_expected
    assert answer["mutual_exclusion"].certificate is None
    assert len(answer["mutual_exclusion"].trace.steps) == 2
    assert "fails for" in str(answer["mutual_exclusion"])
    answer.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    with pytest.raises(KeyError):
        answer["nothing"]


def test_problems_are_told() -> None:
    with pytest.raises(ProtocolError, match="unknown sort"):
        quorate.parse("mutable relation held(node)")
    with pytest.raises(ProtocolError, match="cannot read"):
        quorate.load("no/such/file.pyv")
    with pytest.raises(ValueError, match="there are bounded, instances"):
        quorate.load(BAD).verify(methods=["magic"])


def test_nothing_is_imported_before_it_is_needed() -> None:
    import subprocess
    import sys

    script = "import quorate, sys; print(sum(name.startswith('quorate.') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1", "only what keeps foreign code out"
