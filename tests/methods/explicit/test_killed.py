"""A search that is killed at any moment and taken up again ends with the same counts as one that is left alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

PROTOCOLS = Path(__file__).parents[3] / "protocols" / "relational"


def command(size: int, *options: str) -> list[str]:
    protocol = str(PROTOCOLS / "two_phase_commit.ivy")
    words = ["check", protocol, "--size", f"participant={size}", "--no-symmetry", "--quiet", "--json", *options]
    return [sys.executable, "-m", "quorate", *words]


def counts(output: str) -> dict[str, object]:
    statistics = json.loads(output)["statistics"]
    return {name: value for name, value in statistics.items() if name != "checkpoint"}


def kill_and_go_on(size: int, kills: int, folder: Path, chance: random.Random) -> None:
    """Kill the command at random moments, start it again, and compare each search that gets to its end."""
    expected = counts(subprocess.run(command(size), capture_output=True, text=True, check=True).stdout)
    killed = searches = 0
    while killed < kills or not searches:
        saved = folder / f"search-{searches}"
        started = subprocess.Popen(
            command(size, "--checkpoint", str(saved), "--save-every", "0.05"), stdout=subprocess.PIPE, text=True
        )
        try:
            output, _ = started.communicate(timeout=chance.uniform(0.2, 1.5) if killed < kills else None)
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()
            killed += 1
            continue
        assert started.returncode == 0
        assert counts(output) == expected
        searches += 1


def test_killed_a_few_times(tmp_path):
    kill_and_go_on(5, 4, tmp_path, random.Random(1))


@pytest.mark.slow
def test_killed_fifty_times(tmp_path):
    kill_and_go_on(7, 50, tmp_path, random.Random(2))
