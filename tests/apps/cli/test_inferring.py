"""`quorate infer --resume`: a search that goes on where an earlier one stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from quorate.apps.cli.main import main
from quorate.methods.inference import infer

ELECTION = """\
sort node
sort quorum
immutable relation member(node, quorum)
axiom forall Q, R. exists N. member(N, Q) & member(N, R)
mutable relation voted(node, node)
mutable relation done(node)
mutable relation leader(node)
init !voted(N, M)
init !done(N)
init !leader(N)
transition vote(n: node, m: node)
  modifies voted, done
  & !done(n)
  & (voted'(N, M) <-> voted(N, M) | N = n & M = m)
  & (done'(N) <-> done(N) | N = n)
transition win(n: node, q: quorum)
  modifies leader
  & (forall N. member(N, q) -> voted(N, n))
  & (leader'(N) <-> leader(N) | N = n)
safety [one_leader] leader(N) & leader(M) -> N = M
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("election.pyv").write_text(ELECTION)


def settled(capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """What a run that proves the property leaves behind: its key, and the languages that have no proof."""
    assert main(["infer", "election.pyv", "--resume", "state.json"]) == 0
    capsys.readouterr()
    [(key, entry)] = json.loads(Path("state.json").read_text())["protocols"].items()
    return key, entry["settled"]


def test_languages_without_a_proof_are_not_tried_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = settled(capsys)
    assert first
    tried: list[str] = []
    attempt = infer._Strategy.go_on

    def watched(self: infer._Strategy, *arguments: Any) -> None:
        attempt(self, *arguments)
        tried.extend(f"{self.name}, {running.shape}" for running in self.running)

    monkeypatch.setattr(infer._Strategy, "go_on", watched)
    _, again = settled(capsys)
    assert set(first) <= set(again) and set(first).isdisjoint(tried)


def test_what_is_not_a_state_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("[]", "{", '{"format": "quorate-infer-state", "version": 2, "protocols": {"a": []}}'):
        Path("state.json").write_text(text)
        assert main(["infer", "election.pyv", "--resume", "state.json"]) == 2
        assert "was not written by `quorate infer --resume`" in capsys.readouterr().err
        assert Path("state.json").read_text() == text
