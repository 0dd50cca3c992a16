"""Random round-based algorithms, every way to check them against every other, into bench/rounds-random.md.

    python bench/rounds_random.py --rows FILE --first 0 --count 3000     one line per algorithm, appended; known ones are skipped
    python bench/rounds_random.py --rows FILE --every-n --count 50       the same for proofs
    python bench/rounds_random.py --rows FILE --summary                  the table, from all lines

*Four ways*, two processes: enumeration of heard-of sets (the naive reference), the search with symmetry, the search without, and
circuits with a SAT solver have to find violations of the same properties after the same number of rounds; runs are replayed.
*Every n*: what is proved for every n must not be violated with two or three processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "methods" / "heardof")]

import test_phase  # noqa: E402

from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import parse_rounds  # noqa: E402
from quorate.methods.heardof import phase  # noqa: E402
from quorate.methods.heardof.check import Options, check  # noqa: E402
from quorate.methods.heardof.prove import prove  # noqa: E402
from quorate.models import rounds as r  # noqa: E402
from quorate.models.evaluation import RoundsError  # noqa: E402
from quorate.models.source import Source  # noqa: E402
from random_rounds import Generator  # noqa: E402


def four_ways(seed: int) -> dict[str, Any]:
    model = parse_rounds(Source("random.rounds", test_phase.random_text(seed))).model
    model = replace(model, phases=model.phases or r.Number(2))
    ways = {
        "enumeration": test_phase.naive_violations(model, 2, 2),
        "circuits": test_phase.bounded_violations(model, 2, 2),
        "search": test_phase.searched(model, 2, True),
        "search without symmetry": test_phase.searched(model, 2, False),
    }
    expected = ways["enumeration"]
    return {
        "kind": "with coordinators" if seed % 3 == 2 else test_phase.KINDS[seed % 5] or "any heard-of sets",
        "violated": sum(after is not None for after in expected.values()),
        "properties": len(expected),
        "differ": [name for name, found in ways.items() if found != expected],
    }


def every_n(seed: int) -> dict[str, Any]:
    text = Generator(Random(9 * 10**6 + seed), coordinators=seed % 3 == 2).text()
    model = parse_rounds(Source("random.rounds", text)).model
    try:
        proof = prove(model, Limits(timeout=1.0))
    except RoundsError as problem:
        return {"kind": "every n", "refused": str(problem), "proved": 0, "wrong": []}
    names = {item.name for item in proof.proved}
    claimed = replace(model, safety=tuple(item for item in model.safety if item.name in names), invariants=())
    wrong = []
    for n in (2, 3):
        for result in check(claimed, n, {}, None, Options(timeout=5.0)).results:
            wrong += [f"{result.property}, n = {n}"] * (result.verdict == "violated")
    return {"kind": "every n", "proved": len(claimed.safety), "properties": len(model.safety), "wrong": wrong}


def campaign(rows: Path, proofs: bool, first: int, count: int, seconds: float) -> int:
    phase.guarded = lambda function, *args, timeout, memory_mb: function(*args)  # type: ignore[assignment]
    known = {row["seed"] for row in read(rows) if (row["kind"] == "every n") == proofs}
    ends = time.monotonic() + seconds
    bad = 0
    for seed in range(first, first + count):
        if time.monotonic() > ends:
            break
        if seed in known:
            continue
        row = {"seed": seed, **(every_n if proofs else four_ways)(seed)}
        bad += bool(row.get("differ") or row.get("wrong"))
        with rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return bad


def read(rows: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []


def summary(rows: Path) -> None:
    found = read(rows)
    compared = [row for row in found if row["kind"] != "every n"]
    proofs = [row for row in found if row["kind"] == "every n"]
    kinds = Counter(row["kind"] for row in compared)
    lines = [
        "# Random round-based algorithms",
        "",
        "Made by `python bench/rounds_random.py`, which says what is compared.",
        "",
        "| kind | algorithms | properties | violated | algorithms on which two ways differ |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind in (*sorted(kinds), "all"):
        mine = [row for row in compared if kind in ("all", row["kind"])]
        sums = [sum(row[key] for row in mine) for key in ("properties", "violated")]
        lines.append(
            f"| {kind} | {len(mine):,} | {sums[0]:,} | {sums[1]:,} | {sum(bool(row['differ']) for row in mine)} |"
        )
    lines += [
        "",
        f"Proofs for every n: {len(proofs):,} algorithms, {sum('refused' in row for row in proofs):,} of them not of a form that"
        f" has one; {sum(row['proved'] for row in proofs):,} properties proved, of which"
        f" {sum(len(row['wrong']) for row in proofs)} are violated with two or three processes.",
    ]
    (ROOT / "bench" / "rounds-random.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--every-n", action="store_true")
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    if given.summary:
        summary(given.rows)
    else:
        raise SystemExit(campaign(given.rows, given.every_n, given.first, given.count, given.seconds))
