"""Promela texts, run by Spin where it is installed, against the search and the circuits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from quorate.lang import load_rounds, parse_rounds
from quorate.lang.rounds.promela import promela
from quorate.methods.heardof.check import Options, check
from quorate.models.evaluation import RoundsError, setting
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from random_rounds import Generator

LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"
needs_spin = pytest.mark.skipif(not (shutil.which("spin") and shutil.which("gcc")), reason="Spin is not installed")


def spin_finds_an_error(text: str, folder: Path) -> bool:
    """Does Spin find an assertion violated?"""
    (folder / "model.pml").write_text(text, encoding="utf-8")
    generated = subprocess.run(["spin", "-a", "model.pml"], cwd=folder, capture_output=True, text=True)
    assert generated.returncode == 0, generated.stdout + text
    compiled = ["gcc", "-w", "-O1", "-DSAFETY", "-DVECTORSZ=8192", "-o", "pan", "pan.c"]
    subprocess.run(compiled, cwd=folder, check=True)
    output = subprocess.run(["./pan", "-m2000000"], cwd=folder, capture_output=True, text=True).stdout
    assert "depth too small" not in output and "pan:1: invalid" not in output, output
    assert ("errors: 0" in output) != ("assertion violated" in output), output
    return "assertion violated" in output


def expected(model: RoundModel, n: int, given: dict[str, int], faults: int | None = None) -> bool:
    outcome = check(model, n, setting(model, n, given), faults, Options())
    return any(result.verdict == "violated" for result in outcome.results if result.property != "termination")


INSTANCES: list[tuple[str, int, dict[str, int], int | None]] = [
    ("herlihy_cas", 3, {}, None),
    ("broken/herlihy_cas_not_atomic", 2, {}, None),
    ("flood_set", 3, {}, None),
    ("broken/flood_set_too_short", 3, {}, None),
    ("one_third_rule_lossy", 3, {}, 2),
    ("last_voting", 2, {}, None),
    ("broken/last_voting_both_inclusive", 2, {}, None),
]
MORE: list[tuple[str, int, dict[str, int], int | None]] = [
    ("uniform_voting", 2, {}, None),
    ("broken/uniform_voting_some_vote", 2, {}, None),
    ("broken/coord_uniform_voting_unsafe", 2, {}, None),
    ("coord_uniform_voting", 2, {}, None),
    ("broken/last_voting_acknowledges_anything", 2, {}, None),
    ("one_third_rule", 3, {}, None),
    ("broken/one_third_rule_inclusive", 3, {}, None),
    ("hybrid_one", 2, {"alpha": 0}, None),
]


@needs_spin
@pytest.mark.parametrize("name, n, given, faults", INSTANCES)
def test_spin_agrees(name: str, n: int, given: dict[str, int], faults: int | None, tmp_path: Path) -> None:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    assert spin_finds_an_error(promela(model, n, given, faults), tmp_path) == expected(model, n, given, faults)


@needs_spin
@pytest.mark.slow
@pytest.mark.parametrize("name, n, given, faults", MORE)
def test_spin_agrees_on_more(name: str, n: int, given: dict[str, int], faults: int | None, tmp_path: Path) -> None:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    assert spin_finds_an_error(promela(model, n, given, faults), tmp_path) == expected(model, n, given, faults)


@needs_spin
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_spin_agrees_on_random_algorithms(seed: int, tmp_path: Path) -> None:
    faults = ["crashes 1", "omissions 2 in 2 rounds", "omissions in 1 rounds"][seed % 3]
    text = Generator(Random(5000 + seed), faults=faults).text()
    model = parse_rounds(Source("random.rounds", text)).model
    try:
        exported = promela(model, 2, {})
    except RoundsError:
        pytest.skip("not written in Promela")
    assert spin_finds_an_error(exported, tmp_path) == expected(model, 2, {}), text


def test_what_is_not_written() -> None:
    text = (LIBRARY / "one_third_rule.rounds").read_text(encoding="utf-8") + "safety [mine] forall p. x(p) != ?\n"
    with pytest.raises(RoundsError, match="mine"):
        promela(parse_rounds(Source("mine.rounds", text)).model, 2, {})
