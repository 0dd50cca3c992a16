"""Forged certificates: is one of a false property ever accepted?

    python bench/forgeries.py [--count N] [--seed N] [--jobs N] [--output FILE]      -> bench/forgeries.md

Real certificates of every kind are found for protocols of the library.  Then the protocol is changed so that the property is
false, which a replayed run shows, and the certificate is changed in ways that somebody might try, with sums put right. Only the
obligations of the checker stand in the way.  No forgery may be accepted, and none may end in a traceback.  The same
is done to certificates of properties that are true: these may be accepted, but there, too, nothing may end in a traceback.

A forgery belongs to its number: `--only N` makes and judges one alone, and prints it.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from forging import forge, put_right  # noqa: E402

from mutations import fairness_mutants, mutants, negated_literals  # noqa: E402
from quorate.engines.explicit.instance import Instance  # noqa: E402
from quorate.engines.explicit.worlds import InstanceError  # noqa: E402
from quorate.engines.smt.backends import Question as SolverQuestion  # noqa: E402
from quorate.engines.smt.backends import open_backend  # noqa: E402
from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import load_model, parse_model  # noqa: E402
from quorate.lang.diagnostics import LanguageError  # noqa: E402
from quorate.logic.structures import EvaluationError  # noqa: E402
from quorate.logic.terms import FALSE, neg  # noqa: E402
from quorate.methods.cutoff import cutoff  # noqa: E402
from quorate.methods.heardof import prove as heardof  # noqa: E402
from quorate.methods.induction import induct  # noqa: E402
from quorate.methods.induction.bounded import finite_search  # noqa: E402
from quorate.methods.inference import infer  # noqa: E402
from quorate.methods.liveness import live  # noqa: E402
from quorate.methods.liveness.check import check_liveness  # noqa: E402
from quorate.methods.phases import verify as phases  # noqa: E402
from quorate.models.forms import NoForm, relational_form  # noqa: E402
from quorate.models.process import ProcessModel  # noqa: E402
from quorate.models.relational import RelationalModel  # noqa: E402
from quorate.models.source import Source  # noqa: E402
from quorate.proof import liveness  # noqa: E402
from quorate.proof.certificates import CertificateError, from_json  # noqa: E402
from quorate.proof.checker import Section, _Prepared, discharge, sections  # noqa: E402
from quorate.proof.traces import replay  # noqa: E402
from quorate.strategy import Question, verify  # noqa: E402
from text_mutations import mutated  # noqa: E402

LIBRARY = ROOT / "protocols"
LIMITS = Limits(timeout=5.0, jobs=2)
GLANCE = 0.2
SECONDS = 0.7
"""How long a solver may take over an obligation of a forgery: what is true of it is mostly seen at once."""
TARGETS, TRIES, DEPTH, STATES = 4, 24, 6, 20_000
"""False properties for each certificate; changes tried to find them; length of runs and number of states to look at."""

REASONS = 4
"""How many reasons for refusing to read a forgery are listed for each kind."""

Document = dict[str, Any]

SOURCES: dict[str, tuple[str, ...]] = {
    "invariants": (
        "relational/proofs/lock_server_sync.pyv",
        "relational/proofs/client_server_ae.pyv",
        "relational/proofs/toy_consensus_forall.pyv",
        "relational/proofs/decentralized_lock.ivy",
        "relational/proofs/two_phase_commit.ivy",
        "relational/proofs/sharded_kv.pyv",
        "relational/proofs/consensus_wo_decide.ivy",
    ),
    "refutations": (
        "relational/client_server_ae.pyv",
        "relational/ricart_agrawala.pyv",
        "relational/two_phase_commit.ivy",
    ),
    "cutoffs": (
        "relational/toy_consensus_forall.pyv",
        "relational/decentralized_lock.ivy",
        "relational/lock_server_sync.pyv",
        "relational/two_phase_commit.ivy",
    ),
    "liveness": (
        "liveness/token_ring.pyv",
        "liveness/two_phase_commit.pyv",
        "liveness/lease_lock.pyv",
        "liveness/ticket_lock.pyv",
        "liveness/alternating_bit.pyv",
    ),
    "mercury": (
        "mercury/lock_service.mercury",
        "mercury/consortium.mercury",
        "mercury/two_object_tracker.mercury",
        "mercury/robot_flocking.mercury",
    ),
    "rounds": (
        "rounds/one_third_rule.rounds",
        "rounds/uniform_voting.rounds",
        "rounds/last_voting.rounds",
        "rounds/coord_uniform_voting.rounds",
    ),
}
"""Protocols whose certificates are of each kind.  Those of rounds hold cuts."""


# -- real certificates, and properties that are false -------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """A protocol, what was done to it, a property, whether it is false, and a real certificate that somebody may start from."""

    kind: str
    file: str
    change: str
    model: RelationalModel
    property: str
    false: bool
    document: Document


def certificate_of(kind: str, file: str) -> tuple[RelationalModel, Document] | None:
    """The protocol as certificates speak of it, and a real certificate."""
    model: Any = load_model(LIBRARY / file).model
    found: Any
    if kind == "liveness":
        lived = live.live(model, LIMITS, live.Options(20.0))
        proved = [item for item, _ in lived.proved]
        return (model, json.loads(liveness.write(model, liveness.certify(model, proved)))) if proved else None
    if kind == "invariants":
        found = induct.certificate_of_some(induct.prove(model, LIMITS))
    elif kind == "refutations":
        found = infer.infer(model.with_invariants(()), LIMITS, infer.Options(20.0)).certificate
    elif kind == "cutoffs":
        found = cutoff.cutoff(model, LIMITS, cutoff.Options(20.0)).certificate
    elif kind == "mercury":
        found = phases.verify(model, 30.0).certificate
    else:
        found = heardof.prove(model, replace(LIMITS, timeout=20.0)).certificate
    return (relational_form(model), json.loads(json.dumps(found.to_json()))) if found else None


def targets(kinds: Sequence[str], most: int = TARGETS, say: Callable[[str], None] = lambda text: None) -> list[Target]:
    """What is forged: for each real certificate the true property, and some that are false."""
    made: list[Target] = []
    for kind in kinds:
        for file in SOURCES[kind]:
            began = time.monotonic()
            found = certificate_of(kind, file)
            if found is None:
                say(f"{kind} {file}: no certificate")
                continue
            model, document = found
            false = (Target(kind, file, *item, True, document) for item in falsified(kind, file, model, Random(file)))
            listed = list(islice((item for item in false if readable(item)), most))
            name = _claimed(document)[0]
            made += [*listed, Target(kind, file, "as it is", model, name, False, document)]
            say(f"{kind} {file}: {len(listed)} false properties, {time.monotonic() - began:.1f} s")
    return made


def readable(target: Target) -> bool:
    """Can the real certificate be read as one of the changed protocol, so that only the obligations stand in the way?"""
    document = copy.deepcopy(target.document)
    if "safety" in document:
        document["safety"] = [target.property]
        document["refutations"] = [item for item in document["refutations"] if item["property"] == target.property]
    put_right(document, target.model)
    try:
        if liveness.is_certificate(document):
            liveness.sections(target.model, liveness.read(target.model, document))
        else:
            sections(target.model, from_json(document))
    except CertificateError:
        return False
    return True


def _claimed(document: Document) -> list[str]:
    return document["safety"] if "safety" in document else [item["property"] for item in document["properties"]]


def falsified(
    kind: str, file: str, model: RelationalModel, choice: Random
) -> Iterator[tuple[str, RelationalModel, str]]:
    """Changes of a protocol after which a property is false, as a run shows: what was done, the protocol, the property."""
    if kind in ("mercury", "rounds"):
        yield from _broken(file, model)
        return
    changes = list(_weaker(model) if kind == "liveness" else _other_properties(model))
    others = list(mutants(replace(model, invariants=())))
    choice.shuffle(changes)
    choice.shuffle(others)
    mixed = [item for pair in zip(others, changes, strict=False) for item in pair] or changes + others
    for what, changed in [*mixed, *others[len(changes) :]][:TRIES]:
        name = _lasso(changed) if kind == "liveness" else _violated(changed)
        if name is not None:
            yield what, changed, name


def _weaker(model: RelationalModel) -> Iterator[tuple[str, RelationalModel]]:
    """Weaker assumptions under the same names: of one that is gone a certificate could not even speak."""
    for what, changed in fairness_mutants(model):
        if len(changed.fairness) == len(model.fairness):
            yield what, changed
    for index, item in enumerate(model.fairness):
        listed = (*model.fairness[:index], replace(item, when=FALSE), *model.fairness[index + 1 :])
        yield f"{item.name} never asked for", replace(model, fairness=listed)


def _other_properties(model: RelationalModel) -> Iterator[tuple[str, RelationalModel]]:
    for index, item in enumerate(model.safety):
        for formula in (neg(item.formula), *negated_literals(item.formula)):
            changed = (*model.safety[:index], replace(item, formula=formula), *model.safety[index + 1 :])
            yield f"safety {item.name} made {formula}", replace(model, safety=changed)


def _violated(model: RelationalModel) -> str | None:
    """A safety property that a run of a small instance violates."""
    for size in (2, 3):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        found = finite_search(model, list(model.safety), sizes, DEPTH, LIMITS, 3.0)
        if found is not None and found.trace is not None:
            replay(model, found.trace)
            return found.trace.violated
    return None


def _lasso(model: RelationalModel) -> str | None:
    """A liveness property that a fair run of a small instance violates; runs are replayed where they are found."""
    for size in (2, 3):
        try:
            instance = Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})
            results, _ = check_liveness(instance, most=STATES)
        except (InstanceError, EvaluationError):
            continue
        for result in results:
            if result.verdict == "violated":
                return result.property
    return None


def _broken(file: str, sound: RelationalModel) -> Iterator[tuple[str, RelationalModel, str]]:
    """Programs that began as this one, of the library and with one change to the text, if their forms have the same symbols.

    Their runs, which are replayed, are runs of the program itself, and not of the form that certificates speak of.
    """
    path = LIBRARY / file
    text = path.read_text(encoding="utf-8")
    others = [
        (item.name, item.read_text(encoding="utf-8")) for item in sorted((path.parent / "broken").glob(f"{path.stem}*"))
    ]
    others += [(f"change {number}", mutated(text, Random(f"{file} {number}"))) for number in range(8 * TRIES)]
    for what, other in others:
        if other == text:
            continue
        try:
            model = parse_model(Source(path.name, other)).model
            form = relational_form(model)
        except (LanguageError, NoForm):
            continue
        if set(form.symbols) != set(sound.symbols):
            continue
        processes = isinstance(model, ProcessModel)
        asked = phases.verify(model, 4.0) if processes else verify(Question(model, 4.0, LIMITS), ("instances",))
        for result in asked.results:
            if result.verdict == "violated" and result.kind == "safety":
                yield what, form, result.property
                break


# -- judging ------------------------------------------------------------------------------------------------------------------

MALFORMED, FAILS, UNDECIDED, ACCEPTED, ELSEWHERE, TRACEBACK = (
    "malformed",
    "fails",
    "undecided",
    "ACCEPTED",
    "elsewhere",
    "traceback",
)


def judge(target: Target, document: Any) -> tuple[str, str]:
    """What the checker says of a forgery, and a word on why."""
    try:
        if liveness.is_certificate(document):
            proof = liveness.read(target.model, document)
            named = [item.argument.property for item in proof.proved]
            listed = liveness.sections(target.model, proof)
        else:
            certificate = from_json(document)
            named = list(certificate.safety)
            listed = sections(target.model, certificate)
    except CertificateError as problem:
        return MALFORMED, str(problem)
    except Exception as problem:
        return TRACEBACK, "".join(traceback.format_exception(problem)[-3:])
    if target.property not in named:
        return ELSEWHERE, "it does not speak of the property"
    try:
        if any(_plainly_fails(section) for section in [*listed[-1:], *listed[:-1]]):
            return FAILS, ""
        for section in listed:
            if _asked(section) != ACCEPTED:
                return _asked(section), ""
    except Exception as problem:
        return TRACEBACK, "".join(traceback.format_exception(problem)[-3:])
    return ACCEPTED, ""


@cache
def _plainly_fails(section: Section) -> bool:
    """Does z3 see within a moment, with all hypotheses, that an obligation does not hold?  It is asked in this process."""
    prepared = _Prepared(section, 1024, False)
    backend = open_backend(replace(prepared.first("z3", GLANCE), processor_time=False))
    return any(backend.ask(SolverQuestion(goal)).status == "sat" for goal in prepared.goals)


@cache
def _asked(section: Section) -> str:
    """What both solvers say of a section that does not plainly fail; forgeries have many sections in common."""
    for outcome in discharge([section], SECONDS, 1024, 1):
        for reply in outcome.replies.values():
            if reply.reason and reply.reason.startswith("internal error"):
                raise RuntimeError(f"{outcome.obligation.name}: {reply.reason}")
        if not outcome.accepted:
            return FAILS if outcome.refuted else UNDECIDED
    return ACCEPTED


@dataclass(frozen=True)
class Judged:
    number: int
    target: Target
    changes: tuple[str, ...]
    verdict: str
    why: str


def forgery(number: int, seed: int, listed: Sequence[Target]) -> tuple[Target, Any, tuple[str, ...]]:
    """The forgery that belongs to a number: of nine, eight are of false properties, and the kinds take turns."""
    choice = Random(f"{seed} {number}")
    kinds = sorted({item.kind for item in listed})
    kind = kinds[number % len(kinds)]
    mine = [item for item in listed if item.kind == kind]
    wanted = [item for item in mine if item.false == (number // len(kinds) % 9 != 8)] or mine
    target = choice.choice(wanted)
    lenders = [item.document for item in listed if item.kind == kind or choice.random() < 0.05]
    document, changes = forge(choice, copy.deepcopy(target.document), target.model, target.property, lenders)
    return target, document, changes


_listed: Sequence[Target] = ()
_seed = 0


def _one(number: int) -> Judged:
    sys.setrecursionlimit(20_000)
    target, document, changes = forgery(number, _seed, _listed)
    return Judged(number, target, changes, *judge(target, document))


def campaign(listed: Sequence[Target], count: int, seed: int = 0, jobs: int = 1) -> Iterator[Judged]:
    """All forgeries, judged."""
    global _listed, _seed
    _listed, _seed = listed, seed
    if jobs == 1:
        yield from map(_one, range(count))
        return
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        yield from pool.map(_one, range(count), chunksize=8)


HEADS = {MALFORMED: "not read", FAILS: "obligation fails", UNDECIDED: "undecided", ELSEWHERE: "about others"}


def table(judged: Sequence[Judged], listed: Sequence[Target], arguments: argparse.Namespace, seconds: float) -> str:
    lines = [
        "# Forged certificates",
        "",
        f"Generated by `python bench/forgeries.py --count {arguments.count} --seed {arguments.seed}`.",
        "Variants: protocols with a change, or as they are. Not read: refused before anything is asked; about others: the",
        "certificate does not speak of the property any more; undecided: neither discharged nor refuted in the time given, and",
        "so not accepted.",
        f"Solvers had {SECONDS} s for an obligation. {seconds:.0f} s in all.",
        "",
    ]
    for false, title in ((True, "Of properties that are false"), (False, "Of properties that are true")):
        heads = ["kind", "variants", "forged", *HEADS.values(), "ACCEPTED" if false else "accepted", "tracebacks"]
        lines += [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
        total: Counter[str] = Counter()
        for kind in SOURCES:
            counts = Counter(item.verdict for item in judged if item.target.kind == kind and item.target.false == false)
            variants = sum(item.kind == kind and item.false == false for item in listed)
            total += counts
            lines.append(_row(kind, str(variants), counts))
        lines += [_row("**all**", str(sum(item.false == false for item in listed)), total), ""]
    lines += [
        "## Why forgeries of false properties were not read",
        "",
        "| kind | reason | forgeries |",
        "| --- | --- | --- |",
    ]
    for kind in SOURCES:
        mine = [item for item in judged if item.target.kind == kind and item.target.false and item.verdict == MALFORMED]
        reasons = Counter(_reason(item.why) for item in mine)
        lines += [f"| {kind} | {reason} | {count} |" for reason, count in reasons.most_common(REASONS)]
    return "\n".join(lines).rstrip() + "\n"


def _reason(text: str) -> str:
    """What was wrong, without the names."""
    known = ("cannot be read", "has parameters", "is not about an assumption", "cannot be defined so", "is no cutoff")
    known += ("cannot be a constant", "cannot be a violator", "not a closed formula")
    return next((f".. {part} .." for part in known if part in text), re.sub(r"\W+", " ", text[:90]).strip())


def _row(name: str, variants: str, counts: Counter[str]) -> str:
    cells = [name, variants, str(sum(counts.values())), *(str(counts[head]) for head in (*HEADS, ACCEPTED, TRACEBACK))]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="make and judge this one, and print it")
    parser.add_argument("--kind", action="append", choices=list(SOURCES), help="forge certificates of these kinds only")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "forgeries.md")
    arguments = parser.parse_args()
    sys.setrecursionlimit(20_000)
    began = time.monotonic()
    listed = targets(arguments.kind or list(SOURCES), say=lambda text: print(text, file=sys.stderr, flush=True))
    if arguments.only is not None:
        target, document, changes = forgery(arguments.only, arguments.seed, listed)
        print(json.dumps(document, indent=1), target.file, target.change, target.property, changes, sep="\n")
        print(*judge(target, document))
        return 0
    judged = []
    for item in campaign(listed, arguments.count, arguments.seed, arguments.jobs):
        judged.append(item)
        if item.verdict == TRACEBACK or (item.verdict == ACCEPTED and item.target.false):
            print(item.number, item.verdict, item.target.file, item.target.change, item.changes, item.why, sep="\n  ")
    wrong = sum(item.verdict == TRACEBACK or (item.verdict == ACCEPTED and item.target.false) for item in judged)
    text = table(judged, listed, arguments, time.monotonic() - began)
    arguments.output.write_text(text, encoding="utf-8")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
