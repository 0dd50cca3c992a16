"""The campaigns of `bench`, in short: forged certificates are refused, and broken inputs end in a message."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "bench"))

import broken_inputs
import forgeries


@pytest.fixture
def deep() -> Iterator[None]:
    """As deep as the command line goes."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


QUICK = {"invariants": "relational/proofs/lock_server_sync.pyv", "mercury": "mercury/lock_service.mercury"}
SLOW = {
    "refutations": "relational/client_server_ae.pyv",
    "cutoffs": "relational/toy_consensus_forall.pyv",
    "liveness": "liveness/token_ring.pyv",
}


@pytest.mark.usefixtures("deep")
@pytest.mark.parametrize("sources", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_forged_certificates_are_refused(sources: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgeries, "SOURCES", {kind: (file,) for kind, file in sources.items()})
    listed = forgeries.targets(list(sources), most=2)
    assert {item.kind for item in listed if item.false} == set(sources)
    judged = list(forgeries.campaign(listed, 50 * len(sources)))
    wrong = [item for item in judged if item.verdict == forgeries.TRACEBACK]
    wrong += [item for item in judged if item.verdict == forgeries.ACCEPTED and item.target.false]
    assert not wrong, [(item.number, item.changes, item.why) for item in wrong]
    counts = Counter(item.verdict for item in judged if item.target.false)
    assert counts[forgeries.FAILS] > len(judged) // 5, "most forgeries are not even read"


def test_forgeries_are_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgeries, "SOURCES", {"invariants": ("relational/proofs/lock_server_sync.pyv",)})
    listed = forgeries.targets(["invariants"], most=1)
    assert forgeries.forgery(7, 0, listed)[1:] == forgeries.forgery(7, 0, listed)[1:]
    assert forgeries.forgery(7, 0, listed)[1:] != forgeries.forgery(9, 0, listed)[1:]


def test_real_certificates_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all forgeries might be refused for the same wrong reason."""
    monkeypatch.setattr(forgeries, "SOURCES", {"invariants": ("relational/proofs/lock_server_sync.pyv",)})
    for item in forgeries.targets(["invariants"], most=1):
        assert forgeries.judge(item, item.document)[0] == (forgeries.FAILS if item.false else forgeries.ACCEPTED)


@pytest.mark.usefixtures("deep")
def test_broken_inputs_end_in_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORATE_DEBUG", "1")
    found = list(broken_inputs.campaign(broken_inputs.inputs(120, 7)))
    assert [item for item in found if item.answer not in ("read", "refused")] == []
    assert {item.kind for item in found} == set(broken_inputs.SHARES)


# -- the campaigns themselves -------------------------------------------------------------------------------------------------


def test_a_checker_that_forgets_an_obligation_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgeries, "SOURCES", {"invariants": ("relational/proofs/lock_server_sync.pyv",)})
    listed = forgeries.targets(["invariants"], most=2)
    whole = forgeries.sections
    monkeypatch.setattr(forgeries, "sections", lambda model, certificate: whole(model, certificate)[:1])
    judged = list(forgeries.campaign(listed, 40))
    assert any(item.verdict == forgeries.ACCEPTED and item.target.false for item in judged)


def test_an_exception_in_a_command_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("quorate.apps.cli.rechecking.run", fail)
    found = list(broken_inputs.campaign([("certificate", 1), ("certificate", 2)]))
    assert [item.answer for item in found] == ["traceback", "traceback"]
