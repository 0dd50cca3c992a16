"""`cutoff` on mutants of the protocols of the cutoff paper's Table II: is anything proved that has a violation?

    python bench/cutoff_mutants.py [--count N] [--time SECONDS] [--rows FILE] [--stop SECONDS]        -> bench/cutoff-mutants.md

Every mutant differs from its protocol in one literal, guard, update or axiom.  What is proved must be accepted by the independent
checker with both solvers; all its instances with 1, 2, .. 5 elements per sort are searched in full as far as that takes a few
seconds each, and beyond that for short runs to a violation.  --rows keeps what is done, --stop ends after so many seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from cutoff import TABLE  # noqa: E402

from mutations import mutants  # noqa: E402
from quorate.engines.explicit.instance import Instance  # noqa: E402
from quorate.engines.explicit.worlds import InstanceError  # noqa: E402
from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import load  # noqa: E402
from quorate.logic.structures import EvaluationError  # noqa: E402
from quorate.methods.cutoff.cutoff import Options, cutoff  # noqa: E402
from quorate.methods.explicit import check  # noqa: E402
from quorate.methods.induction.bounded import finite_search  # noqa: E402
from quorate.models.relational import RelationalModel  # noqa: E402
from quorate.proof.checker import recheck  # noqa: E402
from quorate.proof.traces import Trace, replay  # noqa: E402

LIMITS = Limits(timeout=5.0, jobs=1)
LARGEST, SECONDS, DEPTH = 5, 3.0, 10
HEADS = ("proved", "violated", "unknown", "not accepted", "WRONG")


def searched(model: RelationalModel) -> tuple[int, bool]:
    """Up to which size all states were looked at; and whether there is a violation up to the largest, as far as was looked."""
    reached = 0
    for size in range(1, LARGEST + 1):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        if reached == size - 1:
            try:
                found = check.check(Instance(model, sizes), check.Options(engine="reference", timeout=SECONDS))
            except (InstanceError, EvaluationError):
                pass
            else:
                verdicts = {result.verdict for result in found.results if result.kind == "safety"}
                if "violated" in verdicts:
                    return reached, True
                if verdicts == {"proved"}:
                    reached = size
                    continue
        short = finite_search(model, list(model.safety), sizes, DEPTH, LIMITS, SECONDS)
        if short is not None and short.trace is not None:
            return reached, True
    return reached, False


def judged(model: RelationalModel, seconds: float) -> tuple[str, int]:
    """What `cutoff` says of a mutant, with `WRONG` where that is not so, and up to which size a proved one was searched."""
    found = cutoff(model, LIMITS, Options(seconds))
    for result in found.results:
        if result.verdict == "violated":
            assert isinstance(result.evidence, Trace)
            replay(model, result.evidence)
    if found.certificate is None:
        return ("violated" if any(r.verdict == "violated" for r in found.results) else "unknown"), 0
    accepted = all(outcome.accepted for outcome in recheck(model, found.certificate, 10.0, 2048, 1))
    reached, violated = searched(model)
    return "WRONG" if violated else "proved" if accepted else "not accepted", reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--time", type=float, default=6.0, help="seconds for each mutant (default: 6)")
    parser.add_argument("--rows", type=Path, help="keep what is done in this file, and go on from it")
    parser.add_argument("--stop", type=float, default=1e9, help="begin no mutant after that many seconds")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "cutoff-mutants.md")
    arguments = parser.parse_args()
    began = time.monotonic()
    kept = arguments.rows
    rows: dict[str, list[object]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    listed = {}
    for file in (row[1] for row in TABLE):
        found = list(mutants(load(ROOT / "protocols" / "relational" / file).model))
        Random(file).shuffle(found)
        listed[file] = iter(found)
    asked = 0
    while listed and asked < arguments.count:
        for file, left in list(listed.items()):
            what, model = next(left, ("", None))
            if model is None:
                del listed[file]
                continue
            key = f"{file}: {what}"
            asked += 1
            if key not in rows and time.monotonic() - began < arguments.stop:
                rows[key] = [file, *judged(model, arguments.time)]
                print(len(rows), key, *rows[key][1:], file=sys.stderr, flush=True)
                if kept:
                    kept.write_text(json.dumps(rows))
            if asked == arguments.count:
                break
    arguments.output.write_text(summary(rows, arguments.time), encoding="utf-8")


def summary(rows: dict[str, list[object]], seconds: float) -> str:
    counts = {row[1]: Counter(said for file, said, _ in rows.values() if file == row[1]) for row in TABLE}
    lines = [[file, str(sum(count.values())), *(str(count[head]) for head in HEADS)] for file, count in counts.items()]
    total = sum(counts.values(), Counter())
    lines.append(["**all**", str(len(rows)), *(str(total[head]) for head in HEADS)])
    sizes = Counter(size for _, said, size in rows.values() if said in ("proved", "not accepted"))
    searched_to = ", ".join(f"{count} up to size {size}" for size, count in sorted(sizes.items()))  # type: ignore[type-var]
    text = [
        "# Mutants of the protocols of Table II: `cutoff`",
        "",
        f"Generated by `python bench/cutoff_mutants.py --time {seconds:g}` on a machine with other work to do.",
        "Not accepted: the checker gave no answer within its limits; WRONG: proved, but an instance with up to"
        f" {LARGEST} elements per sort is violated.",
        f"Of those proved, all states were looked at in {searched_to}; beyond that and up to size {LARGEST}, runs of up"
        f" to {DEPTH} steps.",
        "",
        *("| " + " | ".join(row) + " |" for row in [["protocol", "mutants", *HEADS], ["---"] * 7, *lines]),
    ]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
