"""`quorate infer` on every protocol of a folder, as a Markdown table.

    python bench/inference.py                                   protocols/relational -> bench/inference.md
    python bench/inference.py FOLDER OUTPUT [--time SECONDS] [--seeds 0 1 2] [--peers bench/peers/duoai.txt]
    python bench/inference.py FOLDER OUTPUT --rows build/rows.json --only NAME ...   some rows anew, the others as they were

Each row is one cold command in a process of its own: CPU seconds of all its processes, seconds by the clock, and the
resident size of its largest process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COUNTED = ("invariants", "samples", "queries", "counterexamples")
GRACE = 60.0
"""Seconds that a command may take beyond its own limit before it is stopped."""


def run(command: list[str], seconds: float) -> tuple[str, float, float, float]:
    """What a command prints, the CPU seconds of it and its children, seconds by the clock, and its peak in MB."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True)
        while True:
            done, _, usage = os.wait4(child.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() - started > seconds:
                os.killpg(child.pid, signal.SIGKILL)
            time.sleep(0.02)
        output.seek(0)
        text = output.read().decode()
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return text, usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / unit


def row(path: Path, seconds: float, seeds: list[int], peer: list[str]) -> dict[str, Any]:
    """One protocol, once for each seed; certificates are rechecked, which does not count."""
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            proof = Path(folder, "certificate.json")
            command = [sys.executable, "-m", "quorate", "infer", str(path), "--ignore-invariants", "--json"]
            command += ["--time", f"{seconds:g}", "--seed", str(seed), "--certificate", str(proof)]
            text, cpu, wall, peak = run(command, seconds + GRACE)
            document = json.loads(text) if text else {"verdict": "error"}
            said = document["verdict"]
            if said == "proved":
                recheck = [sys.executable, "-m", "quorate", "recheck", str(proof), str(path)]
                accepted = subprocess.run(recheck, stdout=subprocess.DEVNULL, check=False).returncode == 0
                said = "proved" if accepted else "rejected"
        counted = document.get("statistics", {})
        runs.append({"verdict": said, "cpu": cpu, "wall": wall, "peak": peak})
        runs[-1]["invariants"] = len(counted.get("invariants", ()))
        runs[-1] |= {name: counted.get(name, 0) for name in COUNTED[1:]}
    return {"protocol": path.stem, "runs": runs, "peer": peer}


def cells(item: dict[str, Any]) -> list[str]:
    runs = item["runs"]

    def each(name: str, form: str) -> str:
        return " / ".join(f"{run[name]:{form}}" for run in runs)

    said = Counter(
        run["verdict"] if run["verdict"] != "unknown" else f"unknown after {run['wall']:.0f} s" for run in runs
    )
    verdict = next(iter(said)) if len(said) == 1 else ", ".join(f"{n} {name}" for name, n in said.items())
    figures = [each("cpu", ".1f"), f"{max(run['wall'] for run in runs):.1f}", f"{max(run['peak'] for run in runs):.0f}"]
    return [item["protocol"], verdict, *item["peer"], *figures, *(each(name, ",") for name in COUNTED)]


def table(rows: list[dict[str, Any]], peers: list[str]) -> list[str]:
    head = ["protocol", "verdict", *peers, "CPU s", "wall s", "peak MB", *COUNTED]
    proved = [item for item in rows if all(run["verdict"] == "proved" for run in item["runs"])]
    total = [f"**{len(proved)} of {len(rows)} proved**", ""] + [""] * (len(head) - 2)
    lines = [head, ["---"] * len(head), *map(cells, rows), total]
    return ["| " + " | ".join(line) + " |" for line in lines]


def published(path: str | None) -> dict[str, list[str]]:
    """The figures of another tool, by protocol."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return {name: figures for name, *figures in (line.split() for line in lines if not line.startswith("#"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=str(ROOT / "protocols" / "relational"))
    parser.add_argument("output", nargs="?", default=str(ROOT / "bench" / "inference.md"))
    parser.add_argument("--time", type=float, default=600.0, help="seconds for each protocol (default: 600)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", default=[], help="the names of protocols (default: all)")
    parser.add_argument("--peers", metavar="FILE", help="figures of another tool: a name and two numbers a line")
    parser.add_argument("--rows", metavar="FILE", help="where measured rows are kept from one run to the next")
    parser.add_argument("--title", default="Inferred invariants of the library")
    arguments = parser.parse_args()
    known = published(arguments.peers)
    columns = [f"{Path(arguments.peers).stem}, wall s", f"{Path(arguments.peers).stem}, CPU s"] if known else []
    kept = Path(arguments.rows) if arguments.rows else None
    rows = json.loads(kept.read_text()) if kept and kept.exists() else []
    for path in sorted(path for path in Path(arguments.folder).iterdir() if path.suffix in (".ivy", ".pyv")):
        if not arguments.only or path.stem in arguments.only:
            peer = known.get(path.stem, ["-"] * len(columns))
            rows = [item for item in rows if item["protocol"] != path.stem]
            rows.append(row(path, arguments.time, arguments.seeds, peer))
            print(rows[-1], file=sys.stderr, flush=True)
            if kept:
                kept.write_text(json.dumps(rows))
    rows.sort(key=lambda item: item["protocol"])
    lines = [
        f"# {arguments.title}",
        "",
        f"Generated by `python bench/inference.py` on {platform.machine()}, {os.cpu_count()} cores, Python"
        f" {platform.python_version()}. CPU seconds of whole cold commands, all processes together, one figure for each"
        " seed; seconds by the clock and the peak of the largest process are those of the worst. Proved: the certificate"
        " was accepted by `quorate recheck`. Unknown: given up after so many seconds by the clock.",
        "",
        *table(rows, columns),
    ]
    Path(arguments.output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
