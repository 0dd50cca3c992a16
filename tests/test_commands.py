"""Whole commands, as documented: the console examples of `tests/commands/*.md` and of the README are run and compared.

A block ```` ```pyv file=lock.pyv ```` makes a file.  In a ```` ```console ```` block, a line `$ quorate ...` is a
command; what follows is its exact output (standard output, then standard error), where a line `…` stands for any lines,
and a last line `[exit 1]` for an exit code other than 0.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted((ROOT / "tests" / "commands").glob("*.md")), ROOT / "README.md"]
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    arguments: tuple[str, ...]
    expected: str
    code: int
    line: int


def commands(text: str, first: int) -> Iterator[Command]:
    """The commands of a console block that starts on the given line."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        output = lines[start + 1 : end]
        code = 0
        if output and (match := re.fullmatch(r"\[exit (\d+)\]", output[-1])):
            code = int(match[1])
            output.pop()
        words = tuple(shlex.split(lines[start][2:]))
        yield Command(words, "\n".join(output).rstrip(), code, first + start)


def normalise(text: str) -> str:
    """Figures that differ from run to run, replaced."""
    text = re.sub(r'("(?:seconds|cpu_seconds|peak_mb)": )[\d.]+', r"\1…", text)
    return re.sub(r'(time=")[\d.]+', r"\1…", text).rstrip()


def matches(expected: str, actual: str) -> bool:
    parts = [re.escape(part) for part in re.split(r"^…\n", expected + "\n", flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*".join(parts), actual + "\n") is not None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_examples(document: Path, tmp_path: Path) -> None:
    text = document.read_text(encoding="utf-8")
    (tmp_path / "protocols").symlink_to(ROOT / "protocols")
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    ran = 0
    for match in FENCE.finditer(text):
        language, name, body = match.groups()
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        if language != "console":
            continue
        for command in commands(body, text.count("\n", 0, match.start(3)) + 1):
            assert command.arguments[0] == "quorate"
            done = subprocess.run(
                [sys.executable, "-m", "quorate", *command.arguments[1:]],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environment,
                check=False,
            )
            actual = normalise(done.stdout + done.stderr)
            where = f"{document.name}:{command.line}"
            assert matches(command.expected, actual), f"{where}\n--- expected\n{command.expected}\n--- actual\n{actual}"
            assert done.returncode == command.code, f"{where}: exit code {done.returncode}, expected {command.code}"
            ran += 1
    assert ran, "a document without examples"
