"""`quorate cutoff` on the protocols of the cutoff paper's Table II, and on folders of other protocols, as Markdown tables.

    python bench/cutoff.py                       protocols of Table II -> bench/cutoff.md
    python bench/cutoff.py --corpus FOLDER …     and all protocols in these folders

Each row is one cold command in a process of its own.  For Table II the certificate is also re-established by the checker.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "protocols" / "relational"
TABLE: tuple[tuple[str, str, str, int, float, int], ...] = (
    ("Sharded key-value store", "sharded_kv_retransmission.pyv", "node", 2, 0.02, 5),
    ("Leader election in a ring", "ring_leader_election_duplicating.pyv", "node", 2, 0.03, 4),
    ("Centralized lock server", "centralized_lock_server.pyv", "client", 2, 0.02, 5),
    ("Lock server sync", "lock_server_sync.pyv", "client", 2, 0.01, 2),
    ("Ricart-Agrawala", "ricart_agrawala_pairwise.pyv", "node", 2, 0.01, 6),
    ("Two-phase commit", "two_phase_commit.ivy", "participant", 2, 0.02, 9),
    ("Toy consensus for-all", "toy_consensus_forall.pyv", "node", 1, 0.07, 5),
    ("Consensus", "consensus_wo_decide.ivy", "node", 2, 29.7, 11),
)
"""Name, file, the sort that the paper cuts off, and the paper's cutoff, seconds and number of clauses."""
GRACE = 300.0
"""Seconds that a command may take beyond its own limit, on a machine that has other things to do, too."""


def quorate(*arguments: str, seconds: float) -> str:
    command = [sys.executable, "-m", "quorate", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False).stdout
    except subprocess.TimeoutExpired:
        return ""


def cutoff(path: Path, seconds: float, *options: str) -> dict[str, Any]:
    text = quorate("cutoff", str(path), "--json", "--time", f"{seconds:g}", *options, seconds=seconds + GRACE)
    return json.loads(text) if text else {"verdict": "error", "statistics": {}, "results": []}


class Rows:
    """What has been measured, kept in a file so that a run can be taken up again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}

    def get(self, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if name not in self.known:
            self.known[name] = measure()
            print(name, self.known[name]["verdict"], file=sys.stderr, flush=True)
            if self.path:
                self.path.write_text(json.dumps(self.known), encoding="utf-8")
        return self.known[name]


def certified(path: Path, seconds: float) -> dict[str, Any]:
    """The outcome for one protocol, and what the checker says about its certificate."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = str(Path(folder) / "certificate.json")
        document = cutoff(path, seconds, "--certificate", certificate)
        checked = "-"
        if Path(certificate).exists():
            text = quorate("recheck", certificate, str(path), seconds=600)
            checked = text.strip().splitlines()[-1].split(":")[0] if text else "no answer"
    return {"verdict": document["verdict"], "statistics": document["statistics"], "recheck": checked}


def published(seconds: float, rows: Rows) -> list[str]:
    """Table II: the paper next to ours."""
    lines = [
        "| protocol | file | cutoff (paper) | clauses (paper) | facts | CPU s (paper) | also cut | small instance"
        " | verdict | recheck |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, file, sort, size, paper_seconds, paper_clauses in TABLE:
        document = rows.get(f"table/{file}", lambda file=file: certified(LIBRARY / file, seconds))  # type: ignore[misc]
        checked = document["recheck"]
        counted = document["statistics"]
        found = {item["sort"]: item for item in counted.get("cutoffs", ())}
        mine = found.get(sort)
        others = ", ".join(f"{other}={item['size']}" for other, item in found.items() if other != sort)
        cells = [name, f"`{file}`"]
        if mine is None:
            cells += [f"none ({size})", f"- ({paper_clauses})", "-", f"- ({paper_seconds:g})"]
        else:
            clauses = " + ".join(str(len(case["relation"])) for case in mine["cases"])
            facts = " + ".join(str(len(case["facts"])) for case in mine["cases"])
            cells += [f"{mine['size']} ({size})", f"{clauses} ({paper_clauses})", facts]
            cells += [f"{mine['cpu_seconds']:.2f} ({paper_seconds:g})"]
        cells += [others or "-", counted.get("small_instance") or "-", document["verdict"], checked]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def corpus(folders: list[str], seconds: float, rows: Rows, known_only: bool) -> list[str]:
    """One row for each protocol of the folders; if wanted, without further measurements."""
    lines = [
        "| protocol | cutoffs found | CPU s | small instance | verdict | why no (further) cutoff |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    count = total = 0
    for folder in folders:
        for path in sorted(p for p in Path(folder).rglob("*") if p.suffix in (".ivy", ".pyv")):
            name = f"{path.parent.name}/{path.name}"
            if known_only and name not in rows.known:
                lines.append(f"| {name} | not measured | - | - | - | - |")
                continue
            document = rows.get(name, lambda path=path: cutoff(path, seconds))  # type: ignore[misc]
            counted = document["statistics"]
            found = counted.get("cutoffs", [])
            total += 1
            count += bool(found)
            sizes = ", ".join(f"{item['sort']}={item['size']}" for item in found)
            reasons = [f"{sort}: {told[0] if told else 'time'}" for sort, told in counted.get("failed", {}).items()]
            small = (counted.get("small_instance") or "-") if found else "-"
            cpu = f"{counted.get('cutoff_cpu_seconds', 0.0):.2f}"
            cells = [name, sizes or "none", cpu, small, document["verdict"]]
            row = "| " + " | ".join([*cells, "; ".join(reasons).replace("|", "\\|") or "-"]) + " |"
            lines.append(row)
    return [f"**{count} of {total}** have a cutoff of at least one sort.", "", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--time", type=float, default=60.0, help="seconds for each protocol of Table II (default: 60)")
    parser.add_argument("--corpus-time", type=float, default=10.0, help="seconds for each other protocol (default: 10)")
    parser.add_argument("--rows", type=Path, help="keep what was measured in this file, and go on from it")
    parser.add_argument(
        "--known-only", action="store_true", help="measure nothing in the folders, show what --rows holds"
    )
    parser.add_argument("--output", default=str(ROOT / "bench" / "cutoff.md"))
    arguments = parser.parse_args()
    rows = Rows(arguments.rows)
    lines = [
        "# Cutoffs",
        "",
        f"Generated by `python bench/cutoff.py` on {platform.machine()}, {os.cpu_count()} cores shared with other work,"
        f" Python {platform.python_version()}. CPU seconds of the search for the cutoff and its proof, beyond start-up."
        " Figures in parentheses are those of the paper (Table II; a 12-core Apple M2 Pro; it counts the step condition"
        " only). Clauses that are kept in both directions count once; facts are invariants of the protocol that were"
        " found and proved along with the relation; where a protocol has several properties, each has its own"
        " relation. The cutoff is of the sort that the paper cuts off.",
        "",
        "## The protocols of Table II",
        "",
        *published(arguments.time, rows),
    ]
    if arguments.corpus:
        lines += ["", f"## Other protocols, up to {arguments.corpus_time:g} seconds each", ""]
        lines += corpus(arguments.corpus, arguments.corpus_time, rows, arguments.known_only)
    Path(arguments.output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
