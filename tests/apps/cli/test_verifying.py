"""`quorate verify` on the command line: files, progress, interrupts, what is saved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from quorate import racing
from quorate.apps.cli.commands import UsageError
from quorate.apps.cli.main import main
from quorate.apps.cli.verifying import Live, expand
from quorate.proof.certificates import digest
from quorate.strategy import Answer, Event

LOCK = """
sort node
mutable relation held(node)
init !held(N)
transition take(n: node)
  modifies held
  & (forall N. !held(N))
  & (forall N. new(held(N)) <-> N = n)
safety [mutex] held(N) & held(M) -> N = M
"""
BROKEN = LOCK.replace("  & (forall N. !held(N))\n", "").replace("<-> N = n", "<-> held(N) | N = n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "lock.pyv").write_text(LOCK)
    (tmp_path / "broken.pyv").write_text(BROKEN)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "lock.pyv").write_text(LOCK)
    (tmp_path / "deep" / "notes.md").write_text("not a protocol")
    return tmp_path


def test_folders_and_patterns() -> None:
    assert expand(["deep"]) == ["deep/er/lock.pyv"]
    assert expand(["."]) == ["broken.pyv", "deep/er/lock.pyv", "lock.pyv"]
    assert expand(["**/lock.pyv", "lock.pyv"]) == ["deep/er/lock.pyv", "lock.pyv"]
    assert expand(["missing.pyv"]) == ["missing.pyv"]
    with pytest.raises(UsageError, match="no file matches"):
        expand(["*.ivy"])
    Path("empty").mkdir()
    with pytest.raises(UsageError, match="no protocol in empty"):
        expand(["empty"])


def test_an_interrupt_prints_what_is_established(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listen, calls = racing.listen, []

    def interrupted(racers: list[racing.Racer], seconds: float) -> Any:
        calls.append(1)
        found = list(listen(racers, seconds))
        if any(message.kind == "found" for _, message in found):
            monkeypatch.setattr(racing, "listen", stop)
        return found

    def stop(racers: list[racing.Racer], seconds: float) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(racing, "listen", interrupted)
    text = BROKEN + "safety [other] held(N) | !held(N)\n"
    Path("two.pyv").write_text(text)
    code = main(["verify", "two.pyv", "lock.pyv", "--method", "bounded", "--resume", "state.json"])
    output = capsys.readouterr().out
    assert code == 130 and calls
    assert "✗ mutex  violated" in output and "? other  unknown   (interrupted" in output
    assert "the same command goes on from state.json" in output and "lock.pyv" not in output
    monkeypatch.setattr(racing, "listen", listen)
    main(["verify", "two.pyv", "--method", "induct", "--resume", "state.json", "--json"])
    again = json.loads(capsys.readouterr().out)
    assert [(r["verdict"], r["method"]) for r in again["results"]] == [
        ("violated", "saved"),
        ("proved", "induction"),
    ]
    story = [event["method"] for event in again["statistics"]["story"] if event["event"] == "found"]
    assert story[0] == "saved"


def test_a_state_that_was_tampered_with_is_not_believed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "lock.pyv", "--method", "induct", "--resume", "state.json"])
    document = json.loads(Path("state.json").read_text())
    [entry] = document["protocols"].values()
    assert len(entry["proofs"]) == 1
    broken = json.loads(json.dumps(document))
    main(["verify", "broken.pyv", "--method", "bounded", "--resume", "other.json"])
    [digest] = json.loads(Path("other.json").read_text())["protocols"]
    broken["protocols"] = {digest: entry}
    Path("state.json").write_text(json.dumps(broken))
    capsys.readouterr()
    main(["verify", "broken.pyv", "--method", "bounded", "--resume", "state.json", "--json"])
    [result] = json.loads(capsys.readouterr().out)["results"]
    assert (result["verdict"], result["method"]) == ("violated", "bounded model checking")


def test_nothing_of_a_state_is_shown_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """Method, scope and lemmas are told from what was checked, whatever the file says of them."""
    main(["verify", "lock.pyv", "--method", "induct", "--resume", "state.json"])
    main(["verify", "broken.pyv", "--method", "bounded", "--resume", "state.json"])
    document = json.loads(Path("state.json").read_text())
    boast = "all sizes and your printer\x1b[2J"
    for entry in document["protocols"].values():
        for item in (*entry["runs"], *entry["proofs"]):
            item |= {
                "method": boast,
                "scope": boast,
                "reason": boast,
                "words": [boast],
                "lemmas": [[boast, boast, [boast]]],
            }
            if "certificate" in item:
                body = {key: value for key, value in item["certificate"].items() if key != "digest"}
                body["invariants"].append(
                    {"name": boast, "formula": "(forall ((|your printer| node)) (= |your printer| |your printer|))"}
                )
                item["certificate"] = {**body, "digest": digest(body)}
    Path("state.json").write_text(json.dumps(document))
    capsys.readouterr()
    main(["verify", "lock.pyv", "broken.pyv", "--method", "simulate", "--resume", "state.json"])
    output = capsys.readouterr().out
    assert "printer" not in output and "\x1b" not in output
    assert "proved" in output and "(saved; all sizes; certificate re-checked" in output
    assert "(saved; node=2; after " in output
    Path("state.json").write_text(json.dumps(document))
    main(["verify", "lock.pyv", "--method", "simulate", "--resume", "state.json"])
    assert "[lemma_" in capsys.readouterr().out


def test_events_are_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "lock.pyv", "--method", "induct", "--progress", "events", "--json"]) == 0
    captured = capsys.readouterr()
    events = [json.loads(line) for line in captured.err.splitlines()]
    assert [event["event"] for event in events if event["event"] != "doing"] == ["start", "found", "answer"]
    assert events[-1]["results"] == [{"property": "mutex", "verdict": "proved"}]
    assert json.loads(captured.out)["verdict"] == "proved"


def test_lines_in_ci_and_silence_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "lock.pyv", "--method", "induct"])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("CI", "true")
    main(["verify", "lock.pyv", "--method", "induct"])
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"lock.pyv: [\d.]+ s: induct start: .*", lines[0])
    assert re.fullmatch(r"lock.pyv: [\d.]+ s: induct found: mutex proved", lines[-1])
    main(["verify", "lock.pyv", "--method", "induct", "--quiet"])
    assert capsys.readouterr().err == ""


def test_the_live_display_rewrites_itself(capsys: pytest.CaptureFixture[str]) -> None:
    display = Live("lock.pyv", 60)
    display.see(Event("start", "induct", "induction", 0.0))
    display.see(Event("found", "induct", "mutex proved", 1.0))
    display.see(Event("end", "induct", "done", 1.0))
    display.close(Answer(()))
    assert capsys.readouterr().err == (
        "lock.pyv  0 s\n  induct     induction\n"
        "\x1b[2A\x1b[Jlock.pyv  1 s  so far: mutex proved\n  induct     induction\n"
        "\x1b[2A\x1b[Jlock.pyv  1 s  so far: mutex proved\n\x1b[1A\x1b[J"
    )


def test_a_file_that_cannot_be_read_is_told_before_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.pyv").write_text("sort\n")
    assert main(["verify", "lock.pyv", "bad.pyv", "missing.pyv"]) == 2
    errors = capsys.readouterr().err
    assert "bad.pyv:" in errors and "missing.pyv" in errors
    assert main(["verify", "lock.pyv", "--report", "no/such/folder.html"]) == 2
    assert "there is no folder no/such" in capsys.readouterr().err


def test_surprises_decide_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "broken.pyv", "--method", "bounded"]) == 1
    Path("broken.pyv").write_text("# expect: [mutex] violated\n" + BROKEN)
    assert main(["verify", "broken.pyv", "--method", "bounded"]) == 0
    Path("lock.pyv").write_text("# expect: verify unknown\n" + LOCK)
    assert main(["verify", "lock.pyv", "--method", "induct"]) == 0
    capsys.readouterr()
