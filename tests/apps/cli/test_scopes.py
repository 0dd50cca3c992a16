"""What a proof is said to hold for: all sizes, and the sorts that the text gives a fixed one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate.apps.cli.main import main

BITS = """#lang ivy1.7
isolate id = {
    type this
    implementation { interpret this -> bv[1] }
}
relation r(X:id)
after init { r(X) := false }
action t(x:id) = { r(x) := x = 0 | x = 1 }
export t
invariant [two] r(X) & r(Y) & r(Z) -> X = Y | Y = Z | X = Z
"""
FIXED = "all sizes; id is bv[1]: 2 elements"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bits.ivy").write_text(BITS)
    (tmp_path / "range.ivy").write_text(
        BITS.replace("bv[1]", "{0..1}").replace("isolate id = {", "").replace("type this", "type id", 1)
        .replace("implementation { interpret this -> {0..1} }\n}", "interpret id -> {0..1}")
    )  # fmt: skip
    plain = BITS.partition("isolate")[0] + "type id = {0..1}\n" + BITS.partition("}\n}\n")[2]
    (tmp_path / "plain.ivy").write_text(plain)


def test_every_verb_names_what_is_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["induct", "bits.ivy", "--certificate", "proof.json"]) == 0
    assert f"proved for {FIXED}: " in capsys.readouterr().out
    assert main(["recheck", "proof.json"]) == 0
    assert capsys.readouterr().out.endswith(f"two holds for {FIXED}\n")
    assert main(["verify", "bits.ivy", "--method", "induct", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["scope"] == FIXED
    assert main(["infer", "bits.ivy"]) == 0
    assert f"proved for {FIXED} with " in capsys.readouterr().out


@pytest.mark.parametrize(("name", "scope"), [("range", "all sizes; id is {0..1}: 2 elements"), ("plain", "all sizes")])
def test_a_range_is_fixed_by_an_interpretation_only(name: str, scope: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["induct", f"{name}.ivy"]) == 0
    assert f"proved for {scope}: " in capsys.readouterr().out


NUMBERS = """#lang ivy1.7
type num
interpret num -> int
individual x : num
after init { x := 5 }
action go = { var k : num; assume k > x; assert k = 7; x := k }
export go
"""


def test_an_assertion_about_integers_that_fails_at_once_is_violated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("numbers.ivy").write_text(NUMBERS)
    assert main(["induct", "numbers.ivy"]) == 1
    output = capsys.readouterr().out
    assert "violated" in output and "run of 1 step" in output and "go_assert_1(k = " in output
