"""Whole commands, as documented: the console examples of `tests/commands/*.md` and of the README are run and compared.

A block ```` ```pyv file=lock.pyv ```` makes a file.  In a ```` ```console ```` block, a line `$ quorate ...` is a command; what
follows is its exact output (standard output, then standard error), where a line `…` stands for any lines, and a last line
`[exit 1]` for an exit code other than 0.  Figures that differ from run to run, such as seconds, are not compared.  After a
change of what a command prints, `python tests/test_commands.py` writes the new output into the documents, to be reviewed;
examples with `…` in them are left to the author.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    *sorted((ROOT / "tests" / "commands").glob("*.md")),
    ROOT / "docs" / "tutorial.md",
    ROOT / "README.md",
]
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LOOKING = ("ls", "head", "cat")
"""Other commands that an example may use, to look at what was written."""


@dataclass(frozen=True)
class Command:
    """One command with the output and the exit code that the document shows."""

    text: str
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
        yield Command(lines[start][2:], "\n".join(output).rstrip(), code, first + start)


def run(command: Command, folder: Path) -> tuple[str, int]:
    """The output and the exit code of a command."""
    words = shlex.split(command.text)
    assert words[0] in ("quorate", *LOOKING), command.text
    if words[0] == "quorate":
        words[:1] = [sys.executable, "-m", "quorate"]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "CI": ""}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    return (done.stdout + done.stderr).rstrip(), done.returncode


def normalise(text: str) -> str:
    """Figures that differ from run to run, replaced."""
    text = re.sub(r'("(?:seconds|cpu_seconds|peak_mb)": )([\d.]+|…)', r"\1…", text)
    text = re.sub(r'("(?:version|z3|cvc5)": )"[\d.]+"', r'\1"…"', text)
    text = re.sub(r"agrees in [\d,]+ states of small instances.*", "agrees in … states of small instances", text)
    text = re.sub(r"\([\d.]+ s\)$", "(… s)", text, flags=re.MULTILINE)
    return re.sub(r'(time=")([\d.]+|…)', r"\1…", text).rstrip()


def matches(expected: str, actual: str) -> bool:
    parts = [re.escape(part) for part in re.split(r"^…\n", normalise(expected) + "\n", flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*".join(parts), normalise(actual) + "\n") is not None


def visit(document: Path, folder: Path, see: Callable[[Command, str, int], None]) -> None:
    """Make the files of a document and run its commands in order."""
    text = document.read_text(encoding="utf-8")
    (folder / "protocols").symlink_to(ROOT / "protocols")
    for match in FENCE.finditer(text):
        language, name, body = match.groups()
        if name:
            (folder / name).write_text(body, encoding="utf-8")
        if language == "console":
            for command in commands(body, text.count("\n", 0, match.start(3)) + 1):
                see(command, *run(command, folder))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_examples(document: Path, tmp_path: Path) -> None:
    seen: list[Command] = []

    def compare(command: Command, actual: str, code: int) -> None:
        where = f"{document.name}:{command.line}: $ {command.text}"
        assert matches(command.expected, actual), f"{where}\n--- expected\n{command.expected}\n--- actual\n{actual}"
        assert code == command.code, f"{where}: exit code {code}, expected {command.code}"
        seen.append(command)

    visit(document, tmp_path, compare)
    assert seen, "a document without examples"


def test_the_runner_itself(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text(
        "```text file=a.txt\none\ntwo\nthree\n```\n\n```console\n$ cat a.txt\none\n…\n$ cat b\n[exit 1]\n```\n"
    )
    folder = tmp_path / "work"
    folder.mkdir()
    seen: list[tuple[str, str, int, int]] = []
    visit(document, folder, lambda command, actual, code: seen.append((command.text, actual, code, command.line)))
    assert [item[0] for item in seen] == ["cat a.txt", "cat b"]
    assert (seen[0][1:], seen[1][2:]) == (("one\ntwo\nthree", 0, 8), (1, 11))
    assert matches("one\n…", seen[0][1]) and matches("…\nthree", seen[0][1]) and not matches("…\ntwo", seen[0][1])
    assert matches('"seconds": 1.5,\n1 property (0.1 s)', '"seconds": 0.25,\n1 property (12.0 s)')
    assert not matches("one", seen[0][1])


def update(document: Path) -> None:
    """Write what the commands print now into the document."""
    text = document.read_text(encoding="utf-8")
    changes: list[tuple[Command, str, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        visit(document, Path(folder), lambda *item: changes.append(item))
    lines = text.splitlines()
    for command, actual, code in reversed(changes):
        if matches(command.expected, actual) and code == command.code:
            continue
        if "…" in command.expected.splitlines():
            print(f"{document.name}:{command.line}: differs, and has `…` in it")
            continue
        end = command.line
        while not lines[end].startswith(("$ ", "```")):
            end += 1
        shown = re.sub(r'("(?:seconds|cpu_seconds|peak_mb)": )[\d.]+', r"\1…", actual)
        shown = re.sub(r'(time=")[\d.]+', r"\1…", shown)
        lines[command.line : end] = [*shown.splitlines(), *([f"[exit {code}]"] if code else [])]
        print(f"{document.name}:{command.line}: updated")
    document.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for path in DOCUMENTS:
        update(path)
