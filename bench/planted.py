"""Plants mistakes into the trusted code, one at a time, and runs the test that has to notice.  Into bench/planted.md.

    python bench/planted.py               all of tests/planted_mistakes.py
    python bench/planted.py --only TEXT   those whose path, change or test contains the text; no table is written

The project is copied to a temporary folder, so nothing here is changed.  A row says `caught` if the test fails with the mistake,
and all tests together pass without any.  Exit code 1 if a mistake is missed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from planted_mistakes import MISTAKES, Mistake  # noqa: E402

COPIED = ("src", "tests", "protocols", "bench", "docs", "pyproject.toml", "README.md")


def passes(folder: Path, tests: Sequence[str]) -> bool:
    """Do these tests pass in a copy of the project?"""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *dict.fromkeys(tests)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the tests cannot be run: {' '.join(tests)}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def caught(folder: Path, mistake: Mistake) -> bool:
    """Does the test of a mistake notice it?"""
    path = folder / "src" / "quorate" / mistake.path
    text = path.read_text(encoding="utf-8")
    if text.count(mistake.old) != 1:
        raise SystemExit(f"{mistake.path} has {text.count(mistake.old)} places that read: {mistake.old}")
    planted = text.replace(mistake.old, mistake.new)
    compile(planted, str(path), "exec")
    try:
        path.write_text(planted, encoding="utf-8")
        return not passes(folder, [mistake.test])
    finally:
        path.write_text(text, encoding="utf-8")


def table(rows: Sequence[tuple[Mistake, bool]]) -> str:
    def code(text: str) -> str:
        return "`" + " ".join(text.split()).replace("|", "\\|") + "`"

    lines = [
        "# Planted mistakes",
        "",
        "Made by `python bench/planted.py` from `tests/planted_mistakes.py`: mistakes of one line each, put into trusted code",
        f"one at a time. {sum(found for _, found in rows)} of {len(rows)} are caught; without a mistake all these tests pass.",
        "",
        "| file | right | planted | caught by |",
        "| --- | --- | --- | --- |",
    ]
    for mistake, found in rows:
        test = mistake.test.removeprefix("tests/") if found else "**nothing**"
        lines.append(f"| {mistake.path} | {code(mistake.old)} | {code(mistake.new)} | {test} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    chosen = [m for m in MISTAKES if any(only in text for text in (m.path, m.old, m.new, m.test))]
    rows: list[tuple[Mistake, bool]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)
        if not passes(folder, [mistake.test for mistake in chosen]):
            raise SystemExit("the tests fail without any mistake")
        for mistake in chosen:
            rows.append((mistake, caught(folder, mistake)))
            print("caught" if rows[-1][1] else "MISSED", mistake.path, "|", " ".join(mistake.new.split()), flush=True)
    if not only:
        (ROOT / "bench" / "planted.md").write_text(table(rows), encoding="utf-8")
    return 0 if all(found for _, found in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
