"""Speed and memory of the explicit-state engine, against C written by hand and against Spin, as Markdown tables.

    python bench/explicit.py                                    -> bench/explicit.md; about half an hour
    python bench/explicit.py --quick --output FILE              small sizes only; a minute
    python bench/explicit.py engine FILE SORT=N,.. JOBS         one run of the engine, as JSON

Every run is a process of its own.  The runs of a program follow each other: after another program a virtual machine may
have to fetch memory from its host again, which takes longer than a small search.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "bench" / "explicit"
LIBRARY = "protocols/relational"
LOADS: list[float] = []
"""The load average after each run."""
START = ["check", f"{LIBRARY}/paxos.pyv", "--size", "acceptor=2,quorum=2,ballot=2,value=2"]


@dataclass(frozen=True)
class Figures:
    """What a run found, and what it took: seconds, bytes for states; `rate` is a tool's own word on its states per second."""

    states: int
    transitions: int
    cpu: float
    wall: float
    memory: float
    rate: float = 0.0


@dataclass(frozen=True)
class Program:
    """A row: how it is shown, and how it is run."""

    name: str
    command: str
    run: Callable[[], Figures]


# -- the engine ------------------------------------------------------------------------------------------------------


def engine(path: str, sizes: str, jobs: int) -> None:
    """Search everything in this process and print the figures; loading and compiling are not counted, freeing is."""
    from quorate.engines.explicit.instance import Instance
    from quorate.lang import load

    model = load(Path(path)).model
    wanted = dict(item.split("=") for item in sizes.split(","))
    instance = Instance(model, {sort: int(wanted[str(sort)]) for sort in model.sorts if sort.uninterpreted})
    assert instance.engine.words == 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3 >> 20
    cpu, wall = time.process_time(), time.perf_counter()
    search = instance.search(jobs=jobs, memory_mb=memory).finish()
    found, used = search.found, search.used
    del search
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert not found.violations
    print(
        json.dumps({"states": found.states, "transitions": found.transitions, "cpu": cpu, "wall": wall, "used": used})
    )


def quorate(file: str, sizes: str, jobs: int) -> Program:
    path = f"{LIBRARY}/{file}"

    def run() -> Figures:
        _, _, text = timed([sys.executable, str(ROOT / "bench" / "explicit.py"), "engine", path, sizes, str(jobs)])
        found = json.loads(text)
        return Figures(found["states"], found["transitions"], found["cpu"], found["wall"], found["used"])

    name = "Quorate, 1 job" if jobs == 1 else f"Quorate, {jobs} jobs"
    return Program(name, f"python bench/explicit.py engine {path} {sizes} {jobs}", run)


# -- the others ------------------------------------------------------------------------------------------------------


def timed(command: list[str], folder: Path = ROOT, cache: str | None = None) -> tuple[float, float, str]:
    """Run a command: CPU seconds, wall seconds, and what it printed."""
    environment = os.environ | ({"XDG_CACHE_HOME": cache} if cache else {})
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise ChildProcessError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stdout


def by_hand(name: str, n: int, log: int, folder: Path) -> Program:
    """A C program; its table has 2^log slots of 8 bytes, and its queue keeps every state."""
    program = folder / name

    def run() -> Figures:
        if not program.exists():
            timed(["cc", "-O2", "-o", str(program), str(SOURCES / f"{name}.c")])
        cpu, wall, text = timed([str(program), str(n), str(log)])
        words = text.split()
        found = dict(zip(words[::2], words[1::2], strict=True))
        assert found["errors"] == "0"
        states = int(found["states"])
        return Figures(states, int(found["transitions"]), cpu, wall, 8 * states + 8 * 2**log)

    return Program("C by hand", f"cc -O2 bench/explicit/{name}.c && ./a.out {n} {log}", run)


def spin(name: str, n: int, flags: str, slots: int, folder: Path) -> Program:
    """Spin on a Promela model, with the given flags for its verifier and a hash table of 2^slots entries."""
    place = folder / f"{name}{n}{flags.replace(' ', '')}"
    options = ["-DSAFETY", *flags.split()]

    def run() -> Figures:
        if not place.exists():
            place.mkdir()
            timed(["spin", "-a", f"-DN={n}", str(SOURCES / f"{name}.pml")], place)
            timed(["cc", "-O2", "-w", *options, "-o", "pan", "pan.c"], place)
        cpu, wall, text = timed(["./pan", "-n", f"-w{slots}"], place)

        def read(pattern: str) -> float:
            match = re.search(pattern, text)
            return float(match[1]) if match else 0.0

        assert "errors: 0" in text, text
        states, transitions = read(r"(\S+) states, stored"), read(r"(\S+) transitions")
        memory = read(r"(\S+)\s+actual memory usage for states") * 2**20
        return Figures(int(states), int(transitions), cpu, wall, memory, read(r"rate\s+(\S+) states"))

    command = f"spin -a -DN={n} bench/explicit/{name}.pml && cc -O2 {' '.join(options)} pan.c && ./a.out -n -w{slots}"
    return Program(f"Spin, `{flags}`", command, run)


# -- tables ----------------------------------------------------------------------------------------------------------


def measure(programs: list[Program], runs: int) -> dict[Program, Figures]:
    """The best figures of each program, each figure for itself.  Those that take more than a minute are run once."""
    best: dict[Program, Figures] = {}
    for program in programs:
        for _ in range(runs):
            known = best.get(program)
            if known is not None and known.wall > 60:
                break
            found = program.run()
            LOADS.append(os.getloadavg()[0])
            print(f"{program.name}: {found}", file=sys.stderr, flush=True)
            if known is not None:
                assert (known.states, known.transitions) == (found.states, found.transitions)
                cpu, wall, rate = min(known.cpu, found.cpu), min(known.wall, found.wall), max(known.rate, found.rate)
                found = Figures(found.states, found.transitions, cpu, wall, found.memory, rate)
            best[program] = found
    return best


def speed(program: Program, found: Figures) -> float:
    """States per second: of the CPU on one core, of the wall clock on several."""
    return found.states / max(1e-9, found.wall if "jobs" in program.name else found.cpu)


def table(title: str, programs: list[Program], runs: int) -> list[str]:
    best = measure(programs, runs)
    lines = [f"## {title}", ""]
    head = ["program", "states", "transitions", "CPU s", "wall s", "M states/s", "bytes", "command"]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for program, found in best.items():
        over = found.memory / found.states - 8
        cells = [program.name, f"{found.states:,}", f"{found.transitions:,}", f"{found.cpu:.3f}", f"{found.wall:.3f}"]
        rate = f"{speed(program, found) / 1e6:.2f}" + f" (own word: {found.rate / 1e6:.2f})" * bool(found.rate)
        lines.append("| " + " | ".join([*cells, rate, f"{over:.1f}", f"`{program.command}`"]) + " |")
    ours = [(program, found) for program, found in best.items() if program.name.startswith("Quorate")]
    lines.append("")
    for program, found in ours:
        ratios = []
        for other, figures in best.items():
            if not other.name.startswith("Quorate"):
                if "jobs" in program.name:
                    ratio = f"{found.states / found.wall / (figures.states / figures.wall):.2f} × {other.name}"
                else:
                    ratio = f"{speed(program, found) / speed(other, figures):.2f} × {other.name}"
                if figures.rate:
                    ratio += f" ({found.states / found.wall / figures.rate:.1f} × its own word, by the clock)"
                ratios.append(ratio)
        clock = "clock" if "jobs" in program.name else "CPU"
        lines.append(f"- {program.name}, states per second of the {clock}: {'; '.join(ratios)}.")
    (_, one), *others = ours
    for program, found in others:
        lines.append(f"- {program.name}: {one.wall / found.wall:.2f} times as fast as 1 job, by the clock.")
    return [*lines, ""]


def start_up(runs: int) -> list[str]:
    """The command on a thousand states: what it takes before anything is searched."""
    command = "quorate " + " ".join(START)
    lines = ["## Start-up", "", "| command | compiled engine | CPU s | wall s |", "| --- | --- | --- | --- |"]
    best = {"none yet": (1e9, 1e9), "cached": (1e9, 1e9)}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for kind, known in best.items():
                try:
                    cpu, wall, _ = timed([sys.executable, "-m", "quorate", *START], ROOT, cache)
                except ChildProcessError as problem:
                    print(problem, file=sys.stderr)
                    return ["## Start-up", "", f"Not measured: `{command}` failed.", ""]
                best[kind] = min(known[0], cpu), min(known[1], wall)
    lines += [f"| `{command}` | {kind} | {cpu:.2f} | {wall:.2f} |" for kind, (cpu, wall) in best.items()]
    return [*lines, ""]


def first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0].strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return f"{name} ({platform.machine()})"
    except (OSError, StopIteration):
        return platform.machine()


def main() -> None:
    if sys.argv[1:2] == ["engine"]:
        return engine(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--runs", type=int, default=3, help="how often each program is run (default: 3)")
    parser.add_argument("--output", default=str(ROOT / "bench" / "explicit.md"))
    arguments = parser.parse_args()
    runs = arguments.runs
    has_spin = shutil.which("spin") is not None
    versions = [f"Python {platform.python_version()}", first_line(["cc", "--version"])]
    versions += [first_line(["spin", "-V"])] if has_spin else ["no Spin, whose rows are left out"]
    lines = [
        "# Explicit-state search",
        "",
        f"Generated by `python bench/explicit.py{' --quick' * arguments.quick}` on {processor()}, {os.cpu_count()} cores;"
        f" {', '.join(versions)}. Each figure is the best of {runs} runs in a row, each in a process of its own; what takes more"
        " than a minute was run once. All states are searched, with no symmetry or other reduction unless a row says so."
        " CPU seconds are those of all threads; states/s are per CPU second on one core and per second of the clock with"
        " several jobs, and `own word` is Spin's own figure. Bytes are those per state on top of the eight that a packed"
        " state takes in these models. The command `python bench/explicit.py engine` loads a protocol, compiles its"
        " engine, or takes it from the cache, and times the search from the first state to the release of its memory.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n, log, slots in ((4, 17, 20), (5, 23, 24)) if arguments.quick else ((5, 23, 24), (6, 27, 26)):
            sizes = f"process={n},value={n + 1}"
            programs = [quorate("cas_consensus.ivy", sizes, jobs) for jobs in (1, 2)]
            programs.append(by_hand("cas_consensus", n, log, folder))
            if has_spin:
                for flags in ("-DNOREDUCE -DCOLLAPSE", "-DNOREDUCE", "-DCOLLAPSE"):
                    programs.append(spin("cas_consensus", n, flags, slots, folder))
            lines += table(f"Compare-and-swap consensus, {n} processes, {n} inputs", programs, runs)
        if has_spin:
            lines += [
                "Spin's model is `bench/explicit/cas_consensus.pml`, with the same steps. Without its partial-order reduction"
                " (`-DNOREDUCE`) Spin finds the same states and one more, before the inputs are chosen; with the reduction"
                " it visits fewer.",
                "",
            ]
        for n, log in ((5, 20), (6, 23)) if arguments.quick else ((6, 23), (7, 25)):
            programs = [quorate("two_phase_commit.ivy", f"participant={n}", jobs) for jobs in (1, 2)]
            programs.append(by_hand("two_phase_commit", n, log, folder))
            lines += table(f"Two-phase commit, {n} participants", programs, runs)
        if has_spin:
            n, slots = (4, 24) if arguments.quick else (5, 26)
            programs = [quorate("cas_consensus.ivy", f"process={n},value={n + 1}", 1)]
            programs.append(spin("herlihy_figure_1", n, "-DCOLLAPSE", slots, folder))
            lines += table(f"The published Spin model of the same consensus, {n} processes", programs, runs)
            lines += [
                "The published model has finer steps, so more states for the same protocol; Spin searches it with partial-order"
                " reduction.",
                "",
            ]
    lines += start_up(runs)
    lines[4:4] = [
        f"The load average was between {min(LOADS):.1f} and {max(LOADS):.1f}. A run adds its jobs to it; above that, others"
        " were at work: CPU seconds are then somewhat too high, and figures by the clock say little.",
        "",
    ]
    Path(arguments.output).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
