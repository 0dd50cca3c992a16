"""Random and mutated Mercury programs: is anything proved for every n that some instance violates?  Into bench/mercury-random.md.

    python bench/mercury_random.py --rows FILE --first 0 --count 20000    one line per program, appended; known ones are skipped
    python bench/mercury_random.py --rows FILE --summary                  the table, from all lines

Two programs of three are random, the third is a program of the library with random changes.  Each is put to the backward
search for every n, which looks at no instance; where it proves the property, instances with 1, 2, .. 6 processes are searched
exhaustively by the reference engine, as far as that takes a fraction of a second.  Some go through all of `verify`, certificate
and checker included.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from mercury_programs import mutant, random_program  # noqa: E402
from quorate.engines.explicit.processes import ProcessInstance  # noqa: E402
from quorate.engines.explicit.reference import FINISHED, RUNNING, Reference, ReferenceSearch  # noqa: E402
from quorate.lang import LoadedProcess, load_any  # noqa: E402
from quorate.methods.phases.backwards import Backwards  # noqa: E402
from quorate.methods.phases.coverability import Limits, Search, violations  # noqa: E402
from quorate.methods.phases.locals import LocalStates  # noqa: E402
from quorate.methods.phases.verify import verify  # noqa: E402
from quorate.models.process import ProcessModel  # noqa: E402
from quorate.models.process_counting import AllSizes  # noqa: E402
from quorate.models.process_relational import relational  # noqa: E402
from quorate.proof.checker import recheck  # noqa: E402
from quorate.proof.process_runs import ProcessRun, replay  # noqa: E402

LIBRARY = ROOT / "protocols" / "mercury"
MOST, STATES, SECONDS = 6, 1000, 0.3
EVERY = 400
"""Every so many programs go through all of `verify`."""


def library() -> list[ProcessModel]:
    loaded = [load_any(path) for path in sorted(LIBRARY.glob("*.mercury")) if "sats" not in path.stem]
    return [item.model for item in loaded if isinstance(item, LoadedProcess)]


def program(seed: int, models: Sequence[ProcessModel]) -> tuple[str, ProcessModel]:
    random = Random(31 * 10**6 + seed)
    if seed % 3:
        return "random", random_program(random)
    changed = mutant(random.choice(models), random)
    return "mutant", replace(changed, safety=changed.safety[:1])


def closed(model: ProcessModel) -> str:
    """What backward search alone finds."""
    states = LocalStates(AllSizes(model))
    bad = violations(states, model.safety[0].specification)
    found = Search(Backwards(states), {}, Limits(cubes=80, processes=6, spent=time.process_time() + SECONDS)).run(bad)
    return "proved" if found.closed else "open"


def searched(model: ProcessModel) -> tuple[int, int | None]:
    """Up to how many processes all states were seen, and with how many a property is violated."""
    ends = time.process_time() + SECONDS
    for processes in range(1, MOST + 1):
        system = ProcessInstance(model, processes).system
        search = ReferenceSearch(Reference(system), system.symmetry is not None, keep_going=False)
        search.begin()
        while search.status == RUNNING and search.found.states < STATES and time.process_time() < ends:
            search.run(0.02)
        if search.found.violations:
            return processes, processes
        if search.status != FINISHED:
            return processes - 1, None
    return MOST, None


def whole(model: ProcessModel) -> dict[str, Any]:
    """All of `verify`: what it says, against instances and against the checker."""
    outcome = verify(model, seconds=3.0)
    (result,) = outcome.results
    covered, smallest = searched(model)
    wrong = result.verdict == "proved" and smallest is not None
    if isinstance(result.evidence, ProcessRun):
        replay(model, result.evidence)
        wrong = smallest != result.evidence.processes and covered >= result.evidence.processes
    row: dict[str, Any] = {"answer": result.verdict, "covered": covered, "violated": smallest, "wrong": wrong}
    if outcome.certificate is not None:
        row["accepted"] = all(o.accepted for o in recheck(relational(model), outcome.certificate, 20.0, 2048, 1))
    return row


def campaign(rows: Path, first: int, count: int, seconds: float) -> int:
    known = {row["seed"] for row in read(rows)}
    models, ends = library(), time.monotonic() + seconds
    bad = 0
    for seed in range(first, first + count):
        if time.monotonic() > ends:
            break
        if seed in known:
            continue
        kind, model = program(seed, models)
        row: dict[str, Any] = {"seed": seed, "kind": kind}
        if seed % EVERY == 0:
            row |= {"whole": True, **whole(model)}
        else:
            row["answer"] = closed(model)
            if row["answer"] == "proved":
                row["covered"], row["violated"] = searched(model)
                row["wrong"] = row["violated"] is not None
        bad += bool(row.get("wrong"))
        with rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return bad


def read(rows: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []


def summary(rows: Path) -> None:
    found = read(rows)
    lines = [
        "# Random and mutated Mercury programs",
        "",
        "Made by `python bench/mercury_random.py`, which says what is compared.",
        "",
        "| programs | number | proved for every n | of these searched with up to 1 / 2 / 3 / 4 / 5 / 6 processes | violated |",
        "| --- | --- | --- | --- | --- |",
    ]
    for label, mine in (
        ("random, backward search", [row for row in found if row["kind"] == "random" and "whole" not in row]),
        ("mutants, backward search", [row for row in found if row["kind"] == "mutant" and "whole" not in row]),
        ("both, `verify`", [row for row in found if "whole" in row]),
    ):
        proved = [row for row in mine if row["answer"] == "proved"]
        reach = Counter(row["covered"] for row in proved)
        cells = " / ".join(f"{reach[n]:,}" for n in range(1, MOST + 1))
        lines.append(
            f"| {label} | {len(mine):,} | {len(proved):,} | {cells} | {sum(row.get('wrong', False) for row in mine)} |"
        )
    full = [row for row in found if "whole" in row]
    answers = ", ".join(f"{n} {word}" for word, n in sorted(Counter(row["answer"] for row in full).items()))
    lines += [
        "",
        f"All of `verify` on {len(full):,}: {answers};"
        f" {sum(row.get('accepted', False) for row in full)} of {sum('accepted' in row for row in full)} certificates accepted by"
        " both solvers within 20 seconds for an obligation.",
    ]
    (ROOT / "bench" / "mercury-random.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    if given.summary:
        summary(given.rows)
    else:
        raise SystemExit(campaign(given.rows, given.first, given.count, given.seconds))
