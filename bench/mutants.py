"""Protocols that were broken at random: is anything proved that has a violation?

    python bench/mutants.py infer      all of protocols/relational              -> bench/mutants.md
    python bench/mutants.py cutoff     the protocols of the cutoff paper's Table II -> bench/cutoff-mutants.md
        [--count N] [--time SECONDS] [--rows FILE] [--stop SECONDS]

Every mutant differs from its protocol in one literal, guard, update or axiom.  What is proved must be accepted by the independent
checker with both solvers; all its instances with 1, 2, 3, .. elements per sort are searched in full as far as that takes a few
seconds each, and beyond that for short runs to a violation.  --rows keeps what is done, --stop ends after so many seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from quorate.methods.cutoff import cutoff  # noqa: E402
from quorate.methods.explicit import check  # noqa: E402
from quorate.methods.induction.bounded import finite_search  # noqa: E402
from quorate.methods.inference import infer  # noqa: E402
from quorate.models.relational import RelationalModel  # noqa: E402
from quorate.proof.certificates import Certificate  # noqa: E402
from quorate.proof.checker import recheck  # noqa: E402
from quorate.proof.traces import Trace, replay  # noqa: E402
from quorate.proof.verdicts import Result  # noqa: E402

LIBRARY = ROOT / "protocols" / "relational"
LIMITS = Limits(timeout=5.0, jobs=1)
SECONDS, DEPTH = 1.5, 10
HEADS = ("proved", "violated", "unknown", "not accepted", "WRONG")
Answer = tuple[Sequence[Result], Certificate | None]


def inferred(model: RelationalModel, seconds: float) -> Answer:
    found = infer.infer(model.with_invariants(()), LIMITS, infer.Options(seconds))
    return found.results, found.certificate


def cut(model: RelationalModel, seconds: float) -> Answer:
    found = cutoff.cutoff(model, LIMITS, cutoff.Options(seconds))
    return found.results, found.certificate


@dataclass(frozen=True)
class Campaign:
    """Which protocols are broken, who is asked about them, and up to which size a violation is looked for."""

    title: str
    files: list[str]
    ask: Callable[[RelationalModel, float], Answer]
    largest: int
    output: str


def campaign(method: str) -> Campaign:
    if method == "cutoff":
        files = [row[1] for row in TABLE]
        return Campaign("Mutants of the protocols of Table II: `cutoff`", files, cut, 5, "cutoff-mutants.md")
    files = sorted(path.name for path in LIBRARY.iterdir() if path.suffix in (".ivy", ".pyv"))
    return Campaign("Mutants of the library: `infer`", files, inferred, 4, "mutants.md")


def searched(model: RelationalModel, largest: int) -> tuple[int, bool]:
    """Up to which size all states were looked at; and whether there is a violation up to the largest, as far as was looked."""
    reached = 0
    for size in range(1, largest + 1):
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


def judged(asked: Campaign, model: RelationalModel, seconds: float) -> tuple[str, int]:
    """What is said of a mutant, with `WRONG` where that is not so, and up to which size a proved one was searched."""
    results, certificate = asked.ask(model, seconds)
    for result in results:
        if result.verdict == "violated":
            assert isinstance(result.evidence, Trace)
            replay(model, result.evidence)
    if certificate is None:
        return ("violated" if any(r.verdict == "violated" for r in results) else "unknown"), 0
    accepted = all(outcome.accepted for outcome in recheck(model, certificate, 10.0, 2048, 1))
    reached, violated = searched(model, asked.largest)
    return "WRONG" if violated else "proved" if accepted else "not accepted", reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=("infer", "cutoff"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--time", type=float, default=6.0, help="seconds for each mutant (default: 6)")
    parser.add_argument("--rows", type=Path, help="keep what is done in this file, and go on from it")
    parser.add_argument("--stop", type=float, default=1e9, help="begin no mutant after that many seconds")
    arguments = parser.parse_args()
    asked = campaign(arguments.method)
    began = time.monotonic()
    kept = arguments.rows
    rows: dict[str, list[object]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    listed = {}
    for file in asked.files:
        found = list(mutants(load(LIBRARY / file).model))
        Random(file).shuffle(found)
        listed[file] = iter(found)
    number = 0
    while listed and number < arguments.count:
        for file, left in list(listed.items()):
            what, model = next(left, ("", None))
            if model is None:
                del listed[file]
                continue
            key = f"{file}: {what}"
            number += 1
            if key not in rows and time.monotonic() - began < arguments.stop:
                rows[key] = [file, *judged(asked, model, arguments.time)]
                print(len(rows), key, *rows[key][1:], file=sys.stderr, flush=True)
                if kept:
                    kept.write_text(json.dumps(rows))
            if number == arguments.count:
                break
    (ROOT / "bench" / asked.output).write_text(summary(asked, arguments.method, rows, arguments.time), encoding="utf-8")


def summary(asked: Campaign, method: str, rows: dict[str, list[object]], seconds: float) -> str:
    counts = {name: Counter(said for file, said, _ in rows.values() if file == name) for name in asked.files}
    lines = [[file, str(sum(count.values())), *(str(count[head]) for head in HEADS)] for file, count in counts.items()]
    total = sum(counts.values(), Counter())
    lines.append(["**all**", str(len(rows)), *(str(total[head]) for head in HEADS)])
    sizes = Counter(size for _, said, size in rows.values() if said in ("proved", "not accepted"))
    searched_to = ", ".join(f"{count} up to size {size}" for size, count in sorted(sizes.items()))  # type: ignore[type-var]
    text = [
        f"# {asked.title}",
        "",
        f"Generated by `python bench/mutants.py {method} --time {seconds:g}`.",
        "Not accepted: the checker gave no answer within its limits; WRONG: proved, but an instance with up to"
        f" {asked.largest} elements per sort is violated.",
        f"Of those proved, all states were looked at in {searched_to}; beyond that and up to size {asked.largest}, runs"
        f" of up to {DEPTH} steps.",
        "",
        *("| " + " | ".join(row) + " |" for row in [["protocol", "mutants", *HEADS], ["---"] * 7, *lines]),
    ]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
