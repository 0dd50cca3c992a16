"""The benchmarks of QuickSilver (Jaber et al., OOPSLA 2021, Table 1): what the paper reports, and what Quorate takes.

    python bench/quicksilver.py FOLDER        the folder with the twelve published programs (*.ch) -> bench/quicksilver.md

Every figure comes from a cold command in a process of its own, with an empty cache of compiled engines.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAPER = {
    "DistributedStore": (64, 2, 3, 45.079),
    "Consortium": (58, 9, 3, 6.953),
    "TwoObjectTracker": (69, 9, 3, 0.641),
    "DistributedRobotFlocking": (78, 7, 2, 0.105),
    "DistributedLockService": (38, 2, 2, 0.059),
    "DistributedSensorNetwork": (55, 3, 3, 1.041),
    "SensorNetworkwithReset": (63, 3, 3, 1.662),
    "SATSLandingProtocol": (90, 3, 5, 638.393),
    "SATSLandingProtocol_II": (99, 5, 5, 736.417),
    "MobileRoboticsMotionPlanning": (71, 5, 2, 0.114),
    "MobileRoboticswithReset": (83, 4, 2, 0.166),
    "DistributedRegister": (32, 1, 2, 0.329),
}
"""Lines of code, phases, cutoff, seconds."""

PATIENCE = 20
"""Seconds for one size in the table of growth; and a gigabyte."""

NOTES = """
*Paper*: lines, phases, cutoff and seconds of Table 1 (Intel Xeon E5-2690). *Phases*: Definition 4.1 as it stands, on the
program's own local states; QuickSilver first removes the collection of replies, negotiations and sets from the program,
which merges or splits phases in the programs that have them. *Cutoff*: the number of processes that a violation speaks of,
the largest of all properties, reported with a proof for every number of processes; QuickSilver counts one more for the
store, for the winner beside the losers. *Every n*: the search and its certificate; *at the cutoff*: `quorate check
--processes` with the paper's cutoff; *recheck*: both solvers on every obligation. CPU seconds, children included; the C
compiler that some of them call takes part of it.
"""


def timed(command: list[str], folder: Path) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Run a command; its CPU seconds, its largest memory in MB, and what it printed."""
    code = "import resource,subprocess,sys; d=subprocess.run(sys.argv[1:]); u=resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    code += "print('@',u.ru_utime+u.ru_stime,u.ru_maxrss/1024,file=sys.stderr); sys.exit(d.returncode)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False, env=environment
    )
    _, cpu, memory = done.stderr.strip().splitlines()[-1].split()
    return float(cpu), float(memory), done


def cold(command: list[str]) -> tuple[float, float, Any]:
    """Run a command with nothing compiled before; its CPU seconds, its largest memory in MB, and what it says."""
    with tempfile.TemporaryDirectory() as cache:
        cpu, memory, done = timed(command, Path(cache))
    return cpu, memory, json.loads(done.stdout)


def quorate(*words: str) -> tuple[float, float, Any]:
    return cold([sys.executable, "-m", "quorate", *words, "--json"])


def prove(path: str, certificate: str) -> int:
    """The proof of one program for every n without the independent checker, which is timed apart."""
    from quorate.lang import LoadedProcess, load_any
    from quorate.methods.phases.verify import verify

    loaded = load_any(Path(path))
    assert isinstance(loaded, LoadedProcess)
    outcome = verify(loaded.model, 600.0)
    verdicts = {result.verdict for result in outcome.results}
    found: dict[str, Any] = {"verdict": "proved" if verdicts == {"proved"} else "unknown", "cubes": 0}
    if outcome.certificate is not None:
        names = [name for name, _ in outcome.certificate.invariants]
        found["cubes"] = sum(name.startswith("excluded ") for name in names)
        Path(certificate).write_text(json.dumps(outcome.certificate.to_json()), encoding="utf-8")
    print(json.dumps(found | {"cutoff": max(outcome.cutoffs.values(), default=0)}))
    return 0


def phases(path: Path) -> int:
    shown = subprocess.run(
        [sys.executable, "-m", "quorate", "parse", str(path), "--phases"], capture_output=True, text=True, check=True
    )
    return int(shown.stdout.splitlines()[1].split()[0])


def main() -> int:
    if sys.argv[1] == "--prove":
        return prove(*sys.argv[2:])
    folder = Path(sys.argv[1])
    rows, growth = [], []
    total = 0.0
    for name, (lines, their_phases, cutoff, seconds) in PAPER.items():
        path = folder / f"{name}.ch"
        certificate = Path(tempfile.gettempdir()) / f"{name}.cert.json"
        proving, memory, report = cold([sys.executable, __file__, "--prove", str(path), str(certificate)])
        total += proving
        cubes, own_cutoff = report["cubes"], report["cutoff"]
        at_cutoff, small, found = quorate("check", str(path), "--processes", str(cutoff))
        again, _, answer = quorate("recheck", str(certificate), str(path), "--jobs", "1")
        rows.append(
            f"| {name} | {lines} / {their_phases} / {cutoff} / {seconds} | {phases(path)} | {own_cutoff} "
            f"| {found['verdict']}, {found['statistics']['distinct_states']:,} states, {at_cutoff:.2f} s, {small:.0f} MB "
            f"| {report['verdict']}, {cubes} cube{'s' * (cubes != 1)}, {proving:.2f} s, {memory:.0f} MB "
            f"| {answer['verdict']}, {len(answer['obligations']):,} obligations, {again:.1f} s |"
        )
        print(rows[-1], flush=True)
        cells = []
        for processes in range(cutoff, cutoff + 4):
            cpu, _, found = quorate(
                "check", str(path), "--processes", str(processes), "--timeout", str(PATIENCE), "--memory", "1024"
            )
            done = found["verdict"] == "proved"
            cells.append(
                f"{found['statistics']['distinct_states']:,} / {cpu:.1f} s" if done else f"> {PATIENCE} s or 1 GB"
            )
        growth.append(f"| {name} | {cutoff} | {' | '.join(cells)} |")
        print(growth[-1], flush=True)
    text = [
        "# QuickSilver's benchmarks",
        "",
        "Generated by `python bench/quicksilver.py FOLDER`; do not edit."
        f" {platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
        NOTES,
        "| program | paper: lines / phases / cutoff / s | phases | cutoff | at the cutoff | every n | recheck |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        f"All twelve for every n: {total:.1f} CPU seconds.",
        "",
        "## Growth from the cutoff on (states up to symmetry / CPU seconds)",
        "",
        "| program | cutoff c | c | c + 1 | c + 2 | c + 3 |",
        "| --- | --- | --- | --- | --- | --- |",
        *growth,
        "",
        "Without sets or identities processes are brought into order by sorting; with them by what can be said of each without"
        " names, and of processes that look alike all orders are tried.",
        "",
    ]
    (ROOT / "bench" / "quicksilver.md").write_text("\n".join(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
