"""What is printed is never obeyed by a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate.apps.cli.main import main
from quorate.apps.cli.terminal import visible
from quorate.proof.certificates import digest


def test_control_characters_are_written_out() -> None:
    assert visible("plain ✓\n\ttext") == "plain ✓\n\ttext"
    assert visible("\x1b[2J\r\x9b\u202e\ud800") == "\\u001b[2J\\u000d\\u009b\\u202e\\ud800"
    document = json.dumps({"name": "\x9b\U000e0001"}, ensure_ascii=False)
    assert json.loads(visible(document)) == {"name": "\x9b\U000e0001"}, "JSON stays what it was"


def test_a_certificate_cannot_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.pyv").write_text("sort t\nmutable relation r(t)\ninit !r(X)\nsafety [safe] !r(X)\n")
    main(["induct", "p.pyv", "--certificate", "c.json"])
    document = json.loads(Path("c.json").read_text())
    body = {key: value for key, value in document.items() if key != "digest"}
    body["invariants"].append({"name": "\x1b]0;x\x07\ud800", "formula": "true"})
    Path("c.json").write_text(json.dumps({**body, "digest": digest(body)}))
    capsys.readouterr()
    assert main(["recheck", "c.json"]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output and "initially \\u001b]0;x\\u0007\\ud800" in output
