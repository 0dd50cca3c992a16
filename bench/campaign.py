"""An attempt to make Quorate say something false: random programs and mutants of all families, all methods of proof.

    python bench/campaign.py --rows FILE --count 20000 [--seconds S] [--jobs N] [--only KIND]
                                                 one line per program, appended; known ones are skipped
    python bench/campaign.py --rows FILE --summary          bench/campaign.md, from all lines

Every program is read from its text.  What a method proves, with a certificate that both solvers accept, is searched for a
violation in two ways: by the naive twin of the language, which executes the text, and by the engine for finite instances, which
works on the model.  Where both know all states of an instance, they have to agree on their number, and on the properties that
are violated.  A violation, a disagreement or an exception is a bug; the table says how many there are.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quorate.engines.smt.backends import open_backend  # noqa: E402
from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import parse_model  # noqa: E402
from quorate.lang.diagnostics import LanguageError  # noqa: E402
from quorate.models.forms import Model  # noqa: E402
from quorate.models.relational import Named, RelationalModel  # noqa: E402
from quorate.models.source import Source  # noqa: E402
from quorate.proof.acceptance import AnyCertificate, form_of, sections_of  # noqa: E402
from quorate.proof.certificates import Certificate, CertificateError, certify  # noqa: E402
from quorate.proof.checker import SOLVERS, Section, _Prepared  # noqa: E402
from quorate.proof.plain_liveness import Graph  # noqa: E402
from quorate.proof.second_opinion import second_opinion  # noqa: E402
from quorate.proof.twins import Twin, TwinError, twins  # noqa: E402
from quorate.proof.twins.choices import every  # noqa: E402
from text_mutations import mutated  # noqa: E402

Row = dict[str, Any]
LIMITS = Limits(timeout=2.0, jobs=1)
PATIENCE = 0.3
"""Seconds that a solver has for an obligation."""
TWIN = 0.04
"""Processor seconds for the twin's search for a violation of what is proved; ten times as many for the slower methods."""
STATES = 400
"""An instance with more states is not searched to the end."""
ALARM = 30
"""Seconds after which a program is given up."""
LARGE = 5_000
"""Protocols of the library with a longer text are not mutated: they take too long."""


# -- what is proved ----------------------------------------------------------------------------------------------------------


def discharged(section: Section, patience: float = PATIENCE) -> list[bool]:
    """Which obligations both solvers discharge, asked in this process."""
    prepared = _Prepared(section, 2048, False)
    found = [True] * len(section.obligations)
    for solver in SOLVERS:
        task = prepared.first(solver, patience)
        backend = open_backend(replace(task, processor_time=False))
        for number, question in enumerate(task.questions):
            found[number] = found[number] and backend.ask(question).status == "unsat"
    return found


def accepted(form: RelationalModel, certificate: AnyCertificate) -> bool:
    try:
        return all(all(discharged(section, 4 * PATIENCE)) for section in sections_of(form, certificate))
    except CertificateError:
        return False


def by_induction(model: RelationalModel) -> Certificate | None:
    """A certificate for the properties of a model that support each other, as they stand."""
    kept: list[Named] = list(model.properties)
    safety = {item.name for item in model.safety}
    while any(item.name in safety for item in kept):
        certificate = certify(model, [item for item in kept if item.name in safety], kept, {})
        failed: set[str] = set()
        for section in sections_of(model, certificate):
            for obligation, holds in zip(section.obligations, discharged(section), strict=True):
                if not holds:
                    failed |= {item.name for item in kept if obligation.name.endswith(f" {item.name}")}
        if not failed:
            return certificate
        kept = [item for item in kept if item.name not in failed]
    return None


# -- what contradicts it -----------------------------------------------------------------------------------------------------


def explored(twin: Twin) -> tuple[int, set[str]] | None:
    """All states of an instance by its twin: how many, and which properties are violated; None if there are too many."""
    graph, bad = Graph(twin), set[str]()
    ends = time.process_time() + 2 * TWIN

    def stop() -> bool:
        return len(graph.states) > STATES or time.process_time() > ends

    for state in every(twin.start, stop=stop):
        if graph.add(state):
            bad |= set(twin.falsified(state))
    position = 0
    while position < len(graph.states) and not stop():
        before = graph.states[position]
        for move, after in every(lambda choices, state=before: twin.step(state, choices), stop=stop):
            if graph.add(after, before, move):
                bad |= set(twin.falsified(after))
        position += 1
    return None if stop() else (len(graph.states), bad)


def engine_states(model: Model, size: int) -> tuple[int, set[str]] | None:
    """The same by the engine for finite instances; None if there are too many states or it cannot be said."""
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.reference import Reference
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.logic.structures import EvaluationError

    assert isinstance(model, RelationalModel)
    try:
        instance = Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})
        reference = Reference(instance.system)
    except (InstanceError, EvaluationError):
        return None
    seen: dict[Any, None] = {}
    bad: set[str] = set()
    for state in reference.initial():
        seen[state] = None
        if len(seen) > STATES:
            return None
    work = list(seen)
    while work:
        state = work.pop()
        bad |= set(reference.violated(state))
        for after, _, _ in reference.successors(state):
            if after not in seen:
                seen[after] = None
                work.append(after)
        if len(seen) > STATES:
            return None
    return len(seen), bad


def proved_of(certificate: AnyCertificate) -> set[str]:
    if isinstance(certificate, Certificate):
        return set(certificate.safety)
    return {proved.argument.property for proved in certificate.proved}


def judged(row: Row, model: Model, certificate: AnyCertificate | None, seconds: float = TWIN) -> Row:
    """What a certificate proves, against the twin and against the engine."""
    if certificate is None:
        return {**row, "outcome": "open"}
    form = form_of(model)
    if not accepted(form, certificate):
        return {**row, "outcome": "not accepted"}
    opinion = second_opinion(model, form, certificate, seconds)
    found = {**row, "outcome": "proved", "states": opinion.states, "excuse": opinion.excuse}
    if opinion.objection is not None:
        found["wrong"] = str(opinion.objection)
    return found


def agree(row: Row, model: RelationalModel) -> Row:
    """The twin and the engine about the same small instance, where both can look at all of it."""
    try:
        twin = next((twin for twin in twins(model) if _all_of_size(twin, 2)), None)
        mine = explored(twin) if twin is not None else None
    except TwinError as problem:
        return {**row, "excuse": str(problem)}
    if mine is None:
        return row
    other = engine_states(model, 2)
    if other is None:
        return row
    row = {**row, "compared": True}
    if _up_to_isomorphism(model):
        if mine[1] != other[1]:
            row["differ"] = f"twin {sorted(mine[1])}, engine {sorted(other[1])}"
    elif mine != other:
        row["differ"] = f"twin {mine[0]} {sorted(mine[1])}, engine {other[0]} {sorted(other[1])}"
    return row


def _all_of_size(twin: Twin, size: int) -> bool:
    return all(part.rpartition("=")[2] == str(size) for part in twin.size.split(", ") if "=" in part)


def _up_to_isomorphism(model: RelationalModel) -> bool:
    """The engine lists the interpretations of rigid symbols up to isomorphism: then only verdicts are comparable."""
    return any(not symbol.mutable and symbol not in model.derived_symbols for symbol in model.symbols)


# -- the kinds of programs ---------------------------------------------------------------------------------------------------


def model_of(name: str, text: str) -> Model:
    return parse_model(Source(name, text)).model


@cache
def library(folder: str, *endings: str) -> tuple[tuple[str, str], ...]:
    """The texts of the library's protocols that are not long."""
    paths = sorted(path for path in (ROOT / "protocols" / folder).rglob("*") if path.suffix in endings)
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in paths]
    return tuple((name, text) for name, text in texts if len(text) < LARGE)


def mutant(seed: int, folder: str, *endings: str) -> tuple[str, str]:
    random = Random(seed)
    name, text = random.choice(library(folder, *endings))
    for _ in range(random.choice((1, 1, 2))):
        text = mutated(text, random)
    return name, text


def random_relational(seed: int) -> Row:
    """Random Ivy and mypyvy files; the properties as they stand."""
    from random_relational import random_ivy, random_pyv

    language, text = ("pyv", random_pyv(Random(seed))) if seed % 2 else ("ivy", random_ivy(Random(seed)))
    model = model_of(f"random.{language}", text)
    assert isinstance(model, RelationalModel)
    return agree(judged({}, model, by_induction(model)), model)


def relational_mutant(seed: int) -> Row:
    """Protocols of the library, changed; the properties and invariants as they stand."""
    model = model_of(*mutant(seed, "relational", ".ivy", ".pyv"))
    assert isinstance(model, RelationalModel)
    return judged({}, model, by_induction(model))


def inferred(seed: int) -> Row:
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.logic.structures import EvaluationError
    from quorate.methods.inference.infer import Options, infer

    model = _random_or_mutant(seed)
    try:
        outcome = infer(model.with_invariants(()), LIMITS, Options(2.0, seed))
    except (InstanceError, EvaluationError):
        return {"outcome": "open"}
    return judged({}, model, outcome.certificate, 10 * TWIN)


def cut_off(seed: int) -> Row:
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.cutoff.cutoff import Options, cutoff

    model = _random_or_mutant(seed)
    try:
        outcome = cutoff(model, LIMITS, Options(2.0))
    except InstanceError:
        return {"outcome": "open"}
    return judged({}, model, outcome.certificate, 10 * TWIN)


def _random_or_mutant(seed: int) -> RelationalModel:
    from random_relational import random_ivy, random_pyv

    if seed % 3 == 2:
        model = model_of(*mutant(seed, "relational", ".ivy", ".pyv"))
    elif seed % 3:
        model = model_of("random.pyv", random_pyv(Random(seed)))
    else:
        model = model_of("random.ivy", random_ivy(Random(seed)))
    assert isinstance(model, RelationalModel)
    return model


def lively(seed: int) -> Row:
    from quorate.methods.liveness.live import Options, live
    from quorate.proof import liveness
    from random_liveness import random_protocol

    if seed % 3:
        model = random_protocol(seed)
    else:
        made = model_of(*mutant(seed, "liveness", ".ivy", ".pyv"))
        assert isinstance(made, RelationalModel)
        model = made
    if not model.liveness:
        return {"outcome": "open"}
    outcome = live(model, LIMITS, Options(2.0, seed))
    certificate = liveness.certify(model, [proved for proved, _ in outcome.proved]) if outcome.proved else None
    return judged({}, model, certificate, 10 * TWIN)


def mercury(seed: int) -> Row:
    """Random Mercury programs and mutants; the backward search for every number of processes."""
    from mercury_programs import random_program
    from quorate.lang.mercury.printer import print_program
    from quorate.methods.phases.verify import verify

    if seed % 3:
        name, text = "random.mercury", print_program(random_program(Random(seed)))
    else:
        name, text = mutant(seed, "mercury", ".mercury")
    model = model_of(name, text)
    return judged({}, model, verify(model, 1.0).certificate, 5 * TWIN)  # type: ignore[arg-type]


def in_rounds(seed: int) -> Row:
    """Random round-based algorithms and mutants; proofs for every n."""
    from quorate.methods.heardof.prove import prove
    from quorate.models.evaluation import RoundsError
    from random_rounds import Generator, Wide

    if seed % 3 == 1:
        name, text = "random.rounds", Generator(Random(seed), coordinators=seed % 9 == 1).text()
    elif seed % 3 == 2:
        name, text = "random.rounds", Wide(Random(seed), "coordinators" if seed % 9 == 2 else "rounds").text()
    else:
        name, text = mutant(seed, "rounds", ".rounds")
    model = model_of(name, text)
    try:
        certificate = prove(model, replace(LIMITS, timeout=0.5)).certificate  # type: ignore[arg-type]
    except RoundsError:
        return {"outcome": "open"}
    return judged({}, model, certificate, 10 * TWIN)


KINDS: dict[str, tuple[Callable[[int], Row], int, str]] = {
    "relational, random": (random_relational, 740, "induction"),
    "relational, mutants": (relational_mutant, 180, "induction"),
    "Mercury": (mercury, 50, "backward coverability"),
    "rounds": (in_rounds, 15, "quorums and induction"),
    "relational, inference": (inferred, 5, "inference"),
    "relational, cutoffs": (cut_off, 5, "cutoffs"),
    "relational, liveness": (lively, 5, "rankings"),
}
"""Each kind of programs with its share in a thousand, and what proves."""


# -- running -----------------------------------------------------------------------------------------------------------------


class _Late(BaseException):
    """A program took too long."""


def _alarm(signum: int, frame: object) -> None:
    raise _Late


def one(task: tuple[str, int]) -> Row:
    """The row of one program."""
    kind, seed = task
    row: Row = {"kind": kind, "seed": seed}
    started = time.process_time()
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(ALARM)
    try:
        row |= KINDS[kind][0](seed)
    except LanguageError:
        row["outcome"] = "refused"
    except CertificateError:
        row["outcome"] = "open"
    except _Late:
        row["outcome"] = "late"
    except Exception:
        row |= {"outcome": "exception", "exception": traceback.format_exc()}
    finally:
        signal.alarm(0)
    row["seconds"] = round(time.process_time() - started, 3)
    return {key: value for key, value in row.items() if value not in ("", None)}


def tasks(count: int, only: str) -> Iterator[tuple[str, int]]:
    """The first programs of each kind, in the proportion of their shares."""
    for kind, (_, share, _) in KINDS.items():
        if only in kind:
            yield from ((kind, seed) for seed in range(count * share // 1000))


def campaign(rows: Path, count: int, seconds: float, jobs: int, only: str) -> int:
    known = {(row["kind"], row["seed"]) for row in read(rows)}
    waiting = [task for task in tasks(count, only) if task not in known]
    Random(0).shuffle(waiting)
    ends, bad = time.monotonic() + seconds, 0
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context) as pool, rows.open("a", encoding="utf-8") as file:
        for row in pool.map(one, waiting, chunksize=10):
            file.write(json.dumps(row) + "\n")
            if problem := row.get("wrong") or row.get("differ") or row.get("exception"):
                bad += 1
                print(row["kind"], row["seed"], problem, flush=True)
            if time.monotonic() > ends:
                pool.shutdown(cancel_futures=True)
                break
    return bad


def read(rows: Path) -> list[Row]:
    return [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []


def summary(found: Sequence[Row]) -> str:
    lines = [
        "# Attempts to have something false proved",
        "",
        "Made by `python bench/campaign.py`, which says what is compared and how.",
        "",
        "| programs | proved by | number | refused when read | proved | states visited | instances compared | open | WRONG |"
        " differ | exceptions |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, (_, _, method) in KINDS.items():
        mine = [row for row in found if row["kind"] == kind]
        outcomes = Counter(row["outcome"] for row in mine)
        states = sum(row.get("states", 0) for row in mine)
        cells: list[Any] = [
            kind,
            method,
            f"{len(mine):,}",
            f"{outcomes['refused']:,}",
            f"{outcomes['proved']:,}",
            f"{states:,}",
        ]
        cells += [f"{sum(bool(row.get('compared')) for row in mine):,}"]
        cells += [f"{outcomes['open'] + outcomes['not accepted'] + outcomes['late']:,}"]
        cells += [sum("wrong" in row for row in mine), sum("differ" in row for row in mine), outcomes["exception"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", f"{len(found):,} programs in all."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if arguments.summary:
        (ROOT / "bench" / "campaign.md").write_text(summary(read(arguments.rows)), encoding="utf-8")
        return 0
    return int(campaign(arguments.rows, arguments.count, arguments.seconds, arguments.jobs, arguments.only) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
