"""Round-based algorithms: every row of the papers' tables and what lies beyond them, each one command, into bench/rounds-*.md.

python bench/rounds.py            all tables (many minutes)
python bench/rounds.py check      exhaustive checks, with Spin on the same instances where it is installed
python bench/rounds.py phase      single phases with n processes; `phase hybrid_one`: of one algorithm, other rows are kept
python bench/rounds.py verify     proofs for every n
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quorate.engines.smt.session import Limits
from quorate.lang import load_rounds
from quorate.lang.rounds.promela import promela
from quorate.methods.heardof.candidates import between_phases
from quorate.methods.heardof.check import Options, Symmetry, check
from quorate.methods.heardof.checking import Checking
from quorate.methods.heardof.phase import Runs
from quorate.methods.heardof.prove import prove
from quorate.models.evaluation import RoundsError, setting, settings
from quorate.models.quorums import relational
from quorate.models.rounds import Property, RoundModel
from quorate.proof.checker import recheck

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "protocols" / "rounds"

Paper = tuple[str, str, str, str]
"""A row of a table of the paper: states and seconds without a reduction, states and seconds with it."""
NOTHING: Paper = ("", "", "", "")
HERLIHY: dict[int, Paper] = {
    2: ("183", "~0", "99", "~0"),
    3: ("8314", "~0", "1028", "~0"),
    4: ("4.9e5", "~0", "10882", "~0"),
    5: ("3.4e7", "30", "8.9e4", "~0"),
    6: ("", "", "7.7e5", "~0"),
    7: ("", "", "5.6e6", "4"),
    8: ("", "", "4.2e7", "42"),
    9: ("", "", "2.8e8", "439"),
    12: NOTHING,
    16: NOTHING,
}
FLOOD: dict[tuple[int, int], Paper] = {
    (2, 1): ("5135", "~0", "1636", "~0"),
    (2, 2): ("9091", "~0", "3192", "~0"),
    (3, 1): ("5.1e6", "2", "59426", "~0"),
    (3, 2): ("8.9e6", "4", "4.0e5", "~0"),
    (4, 1): ("", "", "2.3e6", "1"),
    (4, 2): ("", "", "3.1e7", "19"),
    (5, 1): ("", "", "1.1e8", "91"),
    (6, 3): NOTHING,
    (8, 3): NOTHING,
}
OMISSIONS: dict[tuple[int, int | None, int], Paper] = {
    (2, None, 1): ("665", "~0", "686", "~0"),
    (3, None, 1): ("29971", "~0", "22499", "~0"),
    (4, None, 1): ("5.3e6", "3", "3.3e6", "2"),
    (4, 1, 1): ("22352", "~0", "14541", "~0"),
    (4, 2, 1): ("119621", "~0", "75918", "~0"),
    (4, 12, 1): ("5.4e6", "3", "3.4e6", "2"),
    (5, 1, 1): ("96842", "~0", "43208", "~0"),
    (5, 2, 1): ("8.6e5", "~0", "3.8e5", "~0"),
    (5, 5, 1): ("7.8e7", "78", "3.4e7", "39"),
    (6, 1, 1): ("3.7e5", "~0", "1.3e5", "~0"),
    (6, 2, 1): ("4.9e6", "3", "1.7e6", "~0"),
    (6, 3, 1): ("4.5e7", "48", "1.6e7", "12"),
    (7, 1, 1): ("1.3e6", "1", "3.1e5", "~0"),
    (7, 2, 1): ("2.4e7", "22", "5.7e6", "4"),
    (7, 3, 1): ("", "", "7.3e7", "83"),
    (8, 1, 1): ("4.2e6", "3", "7.4e5", "1"),
    (8, 2, 1): ("1.1e8", "130", "1.8e7", "17"),
    (8, None, 3): NOTHING,
    (10, None, 1): NOTHING,
}
WHOLE_RUNS = {
    ("last_voting", 2): "",
    ("last_voting", 3): "Spin 48:42 (rotating coordinator), ALV 32:01, NuSMV 0:41 (termination)",
}
WHOLE_RUNS |= {("uniform_voting", 4): "", ("coord_uniform_voting", 3): "", ("simplified_coord_uniform_voting", 4): ""}
"""Table 5 of Tsuchiya and Schiper, and others: minutes and seconds."""
ALGORITHMS = [
    "coord_uniform_voting",
    "simplified_coord_uniform_voting",
    "one_third_rule",
    "a_te",
    "uniform_voting",
    "chandra_toueg",
    "last_voting",
    "hybrid_one",
]


def cpu() -> float:
    return sum(os.times()[:4])


def machine() -> str:
    return f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, one process; CPU seconds"


def spin(model: RoundModel, n: int, given: dict[str, int], faults: int | None) -> tuple[str, float | None]:
    """States and CPU seconds of Spin on the exported model, which has one step per round as well."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        return "no Spin", None
    if spin_spent[0] > SPIN_IN_ALL:
        return "not run", None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.pml").write_text(promela(model, n, given, faults), encoding="utf-8")
        subprocess.run(["spin", "-a", "model.pml"], cwd=folder, check=True, capture_output=True)
        flags = ["-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=8192", "-o", "pan", "pan.c"]
        subprocess.run(["gcc", *flags], cwd=folder, check=True)
        started = os.times()
        command = ["bash", "-c", f"ulimit -t {SPIN_SECONDS} -v 8000000; exec ./pan -m5000000"]
        output = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
        ended = os.times()
    spent = ended[2] + ended[3] - started[2] - started[3]
    spin_spent[0] += spent
    found = re.search(r"(\d+) states, stored", output)
    if found is None or "errors: 0" not in output:
        return "not finished", spent
    return f"{int(found[1]):,}", spent


SPIN_SECONDS, SPIN_IN_ALL = 25, 500
"""How long Spin may take over one instance, and over all of them."""
spin_spent = [0.0]


def searched(
    model: RoundModel, n: int, given: dict[str, int], faults: int | None, symmetry: Symmetry
) -> tuple[str, float]:
    """States and CPU seconds of our search with some of its reductions."""
    started = cpu()
    try:
        found = check(model, n, setting(model, n, given), faults, Options(symmetry=symmetry, timeout=3.0)).found
    except RoundsError:
        return "refused", 0.0
    return (f"{found.states:,}" if found.finished else "> 3 s"), cpu() - started


def row(name: str, n: int, given: dict[str, int], faults: int | None, paper: Sequence[str], label: str) -> str:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    started = cpu()
    outcome = check(model, n, setting(model, n, given), faults)
    spent = cpu() - started
    verdicts = {result.verdict for result in outcome.results}
    answer = "all proved" if verdicts == {"proved"} else ", ".join(sorted(verdicts))
    theirs, ratio, none, partition = ["", ""], "", "", ""
    if any(paper):
        states, seconds = spin(model, n, given, faults)
        more = ">" if states == "not finished" else ""
        theirs = [states, ""]
        if seconds is not None:
            theirs = [states, f"{more}{seconds:.2f}"]
            ratio = f"{more}{seconds / max(spent, 0.005):,.0f}×" if seconds > 20 else ""
        none = searched(model, n, given, faults, "none")[0] if n <= 6 else ""
        partition = searched(model, n, given, faults, "partition")[0] if n <= 9 else ""
    cells = [label, *paper, *theirs, none, partition, f"{outcome.found.states:,}", f"{spent:.2f}", ratio, answer]
    print(cells, file=sys.stderr)
    return f"| {' | '.join(cells)} |"


def checks() -> None:
    columns = ["instance", "paper: states", "s", "paper, reduced: states", "s", "Spin here: states", "CPU s"]
    columns += ["ours, none: states", "partition: states", "all: states", "CPU s", "Spin / ours", "verdicts"]
    header = [f"| {' | '.join(columns)} |", f"| {' | '.join(['---'] * len(columns))} |"]
    lines = [
        "# Round-based algorithms, exhaustively",
        "",
        f"Made by `python bench/rounds.py check`. {machine()}, without start-up.",
        "",
        'The paper is Barbosa, Fonseca and Araujo, "Reductions and abstractions for formal verification of distributed',
        'round-based algorithms", Software Quality Journal, 2020 (Spin 6.5.0 on a 2.7 GHz Core i7), Tables 1 to 4; *reduced* is',
        "with message order reduction in Table 2 and with partition symmetry in the others.",
        "",
        "*Spin here* is Spin on `quorate parse --to promela` of the same instance, in the same run: one step per round, all",
        f"inputs, no symmetry; at most {SPIN_SECONDS} CPU seconds and 8 GB, and {SPIN_IN_ALL} s for all rows. *Ours* are states",
        "between rounds; messages are counted, so that neither their order nor their senders matter (message order reduction is",
        "part of all columns, and changes transitions, not states). *none*: all inputs, all processes and values told apart, up",
        "to n = 6, at most 3 s; *partition*: only inputs up to renaming of values (partition symmetry), *refused* where the",
        "definition orders values; *all*: processes interchangeable too, and values in every state, in their order where they",
        "have one. *Spin / ours* where Spin takes over 20 s.",
        "",
        "## Herlihy's compare-and-swap consensus (Table 1, and Table 5, where z3 takes 13 s with n = 4 and 1244 s with n = 5)",
        "",
        *header,
        *(row("herlihy_cas", n, {}, None, paper, f"n = {n}") for n, paper in HERLIHY.items()),
        "",
        "## FloodSet (Table 2); here a crashing process reaches any subset of the others",
        "",
        *header,
        *(row("flood_set", n, {"f": f}, None, paper, f"n = {n}, f = {f}") for (n, f), paper in FLOOD.items()),
        "",
        "## OneThirdRule (Tables 3 and 4): some lossy rounds, at most f messages lost",
        "",
        *header,
    ]
    for (n, f, lossy), paper in OMISSIONS.items():
        label = f"n = {n}, f = {'∞' if f is None else f}" + (f", {lossy} lossy rounds" if lossy > 1 else "")
        lines.append(row("one_third_rule_lossy", n, {"lossy": lossy}, f, paper, label))
    lines += ["", "## Algorithms with coordinators or predicates, runs of any length", ""]
    lines += ["| instance | paper: whole runs | Spin here: states | CPU s | states | CPU s | verdicts |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [whole_runs(name, n, paper) for (name, n), paper in WHOLE_RUNS.items()]
    lines += [
        "",
        'Whole runs of LastVoting are Table 5 of Tsuchiya and Schiper, "Verification of consensus algorithms using',
    ]
    lines += [
        'satisfiability solving", Distributed Computing 23, 2011 (minutes and seconds); NuSMV took 2:47 for agreement with n = 4.'
    ]
    (ROOT / "bench" / "rounds-check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def whole_runs(name: str, n: int, paper: str) -> str:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    started = cpu()
    outcome = check(model, n, setting(model, n, {}), None)
    spent = cpu() - started
    verdicts = {result.verdict for result in outcome.results}
    answer = "all proved" if verdicts == {"proved"} else ", ".join(sorted(verdicts))
    try:
        states, seconds = spin(model, n, {}, None)
        theirs = f"{states} | {'>' * (states == 'not finished')}{'' if seconds is None else f'{seconds:.2f}'}"
    except RoundsError:
        theirs = "no export | "
    print(name, n, theirs, spent, file=sys.stderr)
    return f"| {name}, n = {n} | {paper} | {theirs} | {outcome.found.states:,} | {spent:.2f} | {answer} |"


FIVE = "> 5 h"
PHASES = {
    "last_voting": {
        "agreement": "0:01 0:02 0:07 0:27 1:27 4:53 21:44",
        "termination": "0:00 0:01 0:01 0:04 0:20 0:28 2:06 11:52 29:11 3:19:56 4:04:29",
        "Inv, base": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "Inv, step": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:04 0:00 0:03 0:06 0:03",
        "U(v)": "0:01 0:09 0:24 1:49 3:04 2:05:21",
    },
    "hybrid_one": {
        "agreement": "0:11 1:01 5:54 1:25:14",
        "termination": "0:00 0:00 0:01 0:01 0:10 13:05 1:56 5:48 10:22 14:20 47:31",
        "Inv, base": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "Inv, step": "0:00 0:00 0:00 0:00 0:00 0:01 0:02 0:03 0:04 0:11 0:18 0:22",
        "U(v)": "0:09 1:01 9:38 1:10:03",
    },
    "coord_uniform_voting": {
        "agreement": "0:01 0:02 0:06 0:20 0:55 2:34 6:05 13:20 42:54 3:03:18",
        "termination": "0:02 0:02 0:03 0:05 0:06 0:09 0:14 0:22 0:27 0:38 1:20 1:46",
        "Inv, base": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "Inv, step": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "U(v)": "0:00 0:00 0:01 0:01 0:02 0:07 0:09 0:10 0:22 0:33 0:37 1:09",
    },
    "simplified_coord_uniform_voting": {
        "agreement": "0:01 0:03 0:06 0:21 1:02 2:53 10:19 29:33 1:31:51",
        "termination": "0:00 0:00 0:01 0:04 0:05 0:09 0:17 0:35 0:51 1:17 1:37 2:10",
        "Inv, base": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "Inv, step": "0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00 0:00",
        "U(v)": "0:00 0:00 0:01 0:01 0:03 0:05 0:06 0:17 0:17 0:21 0:54 0:59",
    },
}
"""Table 3 of Tsuchiya and Schiper, n = 4, 5, .. 15; what is missing took more than five hours."""

LARGEST = {
    ("last_voting", "termination"): 30,
    ("last_voting", "Inv, step"): 30,
    ("hybrid_one", "agreement"): 9,
    ("hybrid_one", "U(v)"): 9,
    ("coord_uniform_voting", ""): 20,
    ("simplified_coord_uniform_voting", ""): 20,
}
"""Up to which n the checks are made, if not up to 15."""
SIZES = (*range(4, 16), 20, 30)


def phases(names: list[str]) -> None:
    target = ROOT / "bench" / "rounds-phase.md"
    known = target.read_text(encoding="utf-8").splitlines() if target.exists() else []
    lines = [
        "# Round-based algorithms, single phases with n processes",
        "",
        f"Made by `python bench/rounds.py phase`. {machine()}, the solver included. The unreduced algorithm: any",
        "coordinators, n × n heard-of sets; lemmas of the file and templates. Hybrid-1(α): for all permitted α together.",
        "",
        'The paper is Tsuchiya and Schiper, "Verification of consensus algorithms using satisfiability solving", Distributed',
        "Computing 23, 2011, Table 3 (Yices, 2.2 GHz Xeon; hours, minutes and seconds).",
        "",
        "With lemmas that are proved for the algorithm (quorums that meet, instead of subsets), a phase is checked for every n",
        "at once, n = 500 included: [rounds-verify.md](rounds-verify.md).",
        "",
        "| algorithm | n | check | paper | CPU s | clauses | answer |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, paper in PHASES.items():
        if names and name not in names:
            lines += [line for line in known if line.startswith(f"| {name} |")]
            continue
        model = load_rounds(LIBRARY / f"{name}.rounds").model
        for n in SIZES:
            wanted = [label for label in paper if n <= LARGEST.get((name, label), LARGEST.get((name, ""), 15))]
            for label, (seconds, clauses, status) in (timed_checks(model, n, wanted) if wanted else {}).items():
                shown = dict(zip(range(4, 16), [*paper[label].split(), *[FIVE] * 12], strict=False)).get(n, "")
                lines.append(f"| {name} | {n} | {label} | {shown} | {seconds:.1f} | {clauses:,} | {status} |")
                print(lines[-1], file=sys.stderr, flush=True)
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def timed_checks(model: RoundModel, n: int, wanted: Sequence[str]) -> dict[str, tuple[float, int, str]]:
    """CPU seconds, clauses and answer of each check."""
    parameters = list(settings(model, n))
    checking = Checking(model, n, parameters, Limits(timeout=600.0), lambda text: None)
    found: dict[str, tuple[float, int, str]] = {}
    given = [(item.name, item.formula) for item in model.invariants if item.formula]
    values = [lemma for lemma in between_phases(model) if lemma[0].endswith("_value")]
    checking.found.lemmas = given + values
    assert model.univalent is not None
    if "Inv, base" in wanted:
        started, clauses, failing = cpu(), 0, []
        for setting_ in parameters:
            for name, formula in checking.found.lemmas:
                start = Runs(model, n, setting_, 0)
                answer = start.solve(start.violated(Property(name, formula), 0), name, 600.0)
                clauses = max(clauses, answer.clauses)
                failing += [name] if answer.status != "unsat" else []
        found["Inv, base"] = (cpu() - started, clauses, ", ".join(failing) or "holds")
    goals = {
        "Inv, step": checking.some_lemma_fails,
        "agreement": checking.disagree(model.univalent),
        "U(v)": checking.not_kept(model.univalent),
        "termination": checking.undecided,
    }
    for name, goal in goals.items():
        if name in wanted:
            started = cpu()
            answer = checking.ask(name, goal)
            found[name] = (cpu() - started, answer.clauses, {"unsat": "holds"}.get(answer.status, answer.status))
    return {name: found[name] for name in wanted}


def proofs() -> None:
    lines = [
        "# Round-based algorithms, for every n",
        "",
        f"Made by `python bench/rounds.py verify`. {machine()}, solvers included, without start-up. Agreement, validity",
        "and termination are proved together. *given*: with the lemmas of the file; *found*: with the lemmas left out and",
        "found again.",
        "",
        'The largest n are those of Tsuchiya and Schiper, "Verification of consensus algorithms using satisfiability solving",',
        "Distributed Computing 23, 2011, Table 4 (agreement, termination), within five hours each.",
        "",
        "| algorithm | paper: largest n | given: CPU s | found: CPU s | recheck (z3 and cvc5): CPU s |",
        "| --- | --- | --- | --- | --- |",
    ]
    paper = {"last_voting": "9, 14", "coord_uniform_voting": "13, 15", "simplified_coord_uniform_voting": "12, 15"}
    paper["hybrid_one"] = "7, 14"
    for name in ALGORITHMS:
        model = load_rounds(LIBRARY / f"{name}.rounds").model
        cells = []
        for candidate in (model, replace(model, univalent=None, invariants=())):
            started = cpu()
            proof = prove(candidate, Limits(timeout=20.0))
            done = "" if not proof.open else f" (open: {', '.join(item.name for item in proof.open)})"
            cells.append(f"{cpu() - started:.1f}{done}")
            if candidate is model:
                certificate = proof.certificate
        started = cpu()
        answer = "no certificate"
        if certificate is not None:
            outcomes = list(recheck(relational(model)[0], certificate, 20.0, 4096, 2, False))
            left = [outcome.obligation.name for outcome in outcomes if not outcome.accepted]
            answer = f"{cpu() - started:.1f}" + (f", not discharged by both: {', '.join(left)}" if left else "")
        print(name, cells, answer, file=sys.stderr)
        lines.append(f"| {name} | {paper.get(name, '')} | {cells[0]} | {cells[1]} | {answer} |")
    (ROOT / "bench" / "rounds-verify.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    begun = time.monotonic()
    wanted = sys.argv[1:] or ["check", "phase", "verify"]
    if "check" in wanted:
        checks()
    if "phase" in wanted:
        phases([name for name in wanted if name in PHASES])
    if "verify" in wanted:
        proofs()
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
