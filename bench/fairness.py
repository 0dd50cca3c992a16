"""Liveness, cross-checked: random finite systems against a naive reference, and mutants of the library against exhaustive search.

    python bench/fairness.py random [--count 3000]       python bench/fairness.py mutants [--count 200] [--seconds 300]

Both add to fairness.json, going on where they ended, and write fairness.md.  `random`: the lasso search has to agree with the
reference, and whatever stages discharge all obligations in all states, there must be no violation.  `mutants`: what is proved of
a protocol that was changed at random, by the prover alone, must have no fair lasso in any small instance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from mutations import fairness_mutants, mutants  # noqa: E402
from quorate.engines.explicit.instance import Instance  # noqa: E402
from quorate.engines.explicit.worlds import InstanceError  # noqa: E402
from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import load  # noqa: E402
from quorate.logic.structures import EvaluationError  # noqa: E402
from quorate.methods.inference.language import total_orders  # noqa: E402
from quorate.methods.liveness.check import check_liveness  # noqa: E402
from quorate.methods.liveness.claims import Missing  # noqa: E402
from quorate.methods.liveness.live import Options, prove  # noqa: E402
from quorate.methods.liveness.samples import largest_sizes  # noqa: E402
from quorate.models.relational import RelationalModel  # noqa: E402
from quorate.models.temporal import TemporalError  # noqa: E402
from quorate.proof.certificates import CertificateError  # noqa: E402
from random_liveness import compared  # noqa: E402

RESULTS = ROOT / "bench" / "fairness.json"
SIZES, MOST_STATES = (1, 2, 3), 20_000
MOST_SORTS = 2
"""Protocols with more sorts have too many states for an exhaustive search with three elements each."""


def searched(model: RelationalModel) -> tuple[int, bool]:
    """Up to which size all fair runs were searched, and whether one of them is a violation."""
    reached = 0
    for size in SIZES:
        try:
            most = largest_sizes(model, total_orders(model))
            sizes = {sort: min(size, largest) for sort, largest in most.items()}
            results, _ = check_liveness(Instance(model, sizes), most=MOST_STATES)
        except (InstanceError, EvaluationError, TemporalError):
            break
        if results[0].verdict == "violated":
            return size, True
        if results[0].verdict == "proved":
            reached = size
        elif reached:
            break
    return reached, False


def verdict(model: RelationalModel, seconds: float) -> tuple[str, int]:
    """What the prover says of a mutant, with `WRONG` where that is not so, and what the search says otherwise."""
    size, violated = searched(model)
    try:
        prove(model, model.liveness[0], Limits(timeout=5.0, jobs=1), Options(seconds, propose=False))
    except (Missing, TemporalError, CertificateError, InstanceError, EvaluationError):
        return "violated" if violated else "unknown", size
    return "WRONG" if violated else "proved", size


def run_random(results: dict[str, Any], count: int, seconds: float) -> None:
    """Go on with random systems until there are so many or the time is over."""
    until = time.monotonic() + seconds
    done = results.setdefault("random", {"systems": 0, "violated": 0, "disagree": [], "proofs": 0, "wrong": []})
    for seed in range(done["systems"], count):
        if time.monotonic() > until:
            break
        answer = compared(seed)
        done["systems"] += 1
        done["violated"] += answer.violated
        done["proofs"] += answer.proofs
        done["disagree"] += [] if answer.agree else [seed]
        done["wrong"] += [seed] if answer.wrong else []


def run_mutants(results: dict[str, Any], count: int, seconds: float, each: float, names: Sequence[str]) -> None:
    """Go on with mutants, in turn from the protocols, until there are so many or the time is over."""
    until, rows = time.monotonic() + seconds, results.setdefault("mutants", [])
    listed = {}
    for path in sorted((ROOT / "protocols" / "liveness").glob("*.pyv")):
        random, model = Random(path.stem), load(path).model
        if len(model.sorts) > MOST_SORTS or (names and path.stem not in names):
            continue
        made = [*mutants(model), *fairness_mutants(model)]
        listed[path.stem] = random.sample(made, len(made))
    for _, name, what in rows:
        listed[name] = [item for item in listed.get(name, []) if item[0] != what]
    while len(rows) < count and time.monotonic() < until and any(listed.values()):
        done = Counter(name for _, name, _ in rows)
        name = min((name for name in listed if listed[name]), key=lambda name: done[name])
        what, model = listed[name].pop()
        said, size = verdict(model, each)
        rows.append([f"{said} {size}", name, what])
        print(f"{len(rows)}: {name}, {what[:100]}: {said} {size}", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def page(results: dict[str, Any]) -> str:
    """The Markdown page."""
    lines = [
        "# Liveness, cross-checked",
        "",
        "Generated by `python bench/fairness.py random` and `python bench/fairness.py mutants`.",
        "",
    ]
    if found := results.get("random"):
        lines += [
            "## Random finite systems with random fairness",
            "",
            f"{found['systems']:,} systems with two nodes, {found['violated']:,} of them with a violation. The lasso search",
            f"disagrees with the naive reference on {len(found['disagree'])}. {found['proofs']:,} lists of stages, found or",
            f"altered at random, discharge all obligations in all states; {len(found['wrong'])} of these belong to systems with",
            "a violation.",
            "",
        ]
    if rows := results.get("mutants"):
        heads = ("proved", "violated", "unknown", "WRONG")
        counts: dict[str, Counter[str]] = {}
        reached: Counter[str] = Counter()
        for said, name, _ in rows:
            word, size = said.split()
            counts.setdefault(name, Counter())[word] += 1
            reached[size] += word == "proved"
        table = [
            [name.replace("_", " "), *(str(count[head]) for head in heads)] for name, count in sorted(counts.items())
        ]
        table.append(["**all**", *(str(sum(count[head] for count in counts.values())) for head in heads)])
        sizes = ", ".join(
            f"{number} were searched up to size {size}" for size, number in sorted(reached.items()) if number
        )
        lines += [
            "## Mutants of protocols/liveness",
            "",
            f"{len(rows)} mutants of protocols with at most two sorts: one literal, guard, update, axiom or fairness",
            "assumption changed. The prover runs on all of them, whether or not there is a violation. Violated: nothing was",
            "proved, and a fair lasso exists in an instance with 1, 2 or 3 elements per sort, as far as these have at most",
            f"{MOST_STATES:,} states. WRONG: proved, though there is one. Of those proved, {sizes or 'none'}.",
            "",
            *("| " + " | ".join(row) + " |" for row in [["protocol", *heads], ["---"] * (len(heads) + 1), *table]),
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("random", "mutants"))
    parser.add_argument("names", nargs="*", help="protocols whose mutants are taken (default: all with few sorts)")
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=300.0, help="for the whole run (default: 300)")
    parser.add_argument("--each", type=float, default=60.0, help="seconds for each mutant (default: 60)")
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if arguments.what == "random":
        run_random(results, arguments.count or 3000, arguments.seconds)
    else:
        run_mutants(results, arguments.count or 200, arguments.seconds, arguments.each, arguments.names)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    (ROOT / "bench" / "fairness.md").write_text(page(results))


if __name__ == "__main__":
    main()
