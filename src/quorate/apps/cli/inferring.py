"""`quorate infer`: the invariants that were found, where they are needed, and the protocol's text with them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorate.apps.cli.commands import (
    Progress,
    UsageError,
    evidence_text,
    file_report,
    finish,
    limits,
    load_all,
    save_first_trace,
    write_certificate,
    writing,
)
from quorate.apps.cli.reports import expected_verdict
from quorate.apps.cli.state import load_state, save_state
from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.worlds import InstanceError
from quorate.files import write_atomically
from quorate.lang.diagnostics import LanguageError
from quorate.lang.extend import extended, print_formulas
from quorate.logic.structures import EvaluationError
from quorate.methods.inference.infer import METHOD, Inference, Options
from quorate.methods.inference.infer import infer as search
from quorate.methods.inference.plain import plain_invariants
from quorate.methods.vacuity import judged, nothing_to_prove
from quorate.models.relational import Named, RelationalModel
from quorate.proof.verdicts import Result


def infer(arguments: argparse.Namespace) -> int:
    """Look for an inductive invariant of each file."""
    if arguments.write and Path(arguments.write).resolve() == Path(arguments.files[0]).resolve():
        raise UsageError(f"--write {arguments.write} would overwrite the protocol; name another file")
    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    state = load_state(arguments.resume, "infer") if arguments.resume else {}
    files, interrupted = [], False
    for item in loaded:
        assert item.model.source is not None
        key = item.model.source.sha256 + " alone" * arguments.ignore_invariants
        settled = _settled(state.get(key, {}))
        nothing = nothing_to_prove(item.model, "safety")
        if nothing is not None:
            files.append(file_report(item.model, "infer", nothing.results, (), {}))
            continue
        outcome, interrupted = _search(item.model, arguments, settled)
        if arguments.resume:
            state[key] = {"settled": sorted(settled.union(outcome.settled))}
            save_state(arguments.resume, "infer", state)
        details = [_found(outcome)] if outcome.certificate is not None else evidence_text(item.model, outcome.results)
        if outcome.attempts and outcome.certificate is None:
            details.append(_tried(outcome))
        if arguments.resume and any(result.verdict == "unknown" for result in outcome.results):
            details.append(f"the same command goes on from {arguments.resume}")
        saved = save_first_trace(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        if outcome.certificate is not None and arguments.certificate:
            write_certificate(arguments.certificate, outcome.certificate)
            saved["certificate"] = arguments.certificate
            details.append(f"certificate saved to {arguments.certificate}; `quorate recheck` re-establishes it")
        if outcome.certificate is not None and arguments.write:
            details.append(_write(arguments.write, item.model, outcome))
            saved["protocol"] = arguments.write
        remarks = judged(outcome.model, outcome.results, limits(arguments)).remarks
        files.append(file_report(item.model, "infer", outcome.results, details, saved, _statistics(outcome), remarks))
        if interrupted:
            break
    code = finish(arguments, files, loaded, started)
    return 130 if interrupted else code


def _settled(entry: dict[str, Any]) -> frozenset[str]:
    """The languages that an earlier run has tried in vain."""
    found = entry.get("settled")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def _search(model: RelationalModel, arguments: argparse.Namespace, settled: frozenset[str]) -> tuple[Inference, bool]:
    """What the search found, and whether it was interrupted; what the method cannot do leaves the properties open."""
    if not model.safety:
        return Inference(model), False
    progress = Progress(arguments)
    started = time.monotonic()
    try:
        options = Options(arguments.time, arguments.seed, settled)
        offered = model.with_invariants(()) if arguments.ignore_invariants else model
        outcome = search(offered, limits(arguments), options, progress)
        return outcome, outcome.interrupted
    except CompilerError as problem:
        raise UsageError(f"{model.source.path if model.source else ''}: {problem}") from None
    except (InstanceError, EvaluationError) as problem:
        return _open(model, f"the search cannot handle this protocol: {problem}", started), False
    except KeyboardInterrupt:
        return _open(model, "interrupted", started), True
    finally:
        progress.done()


def _open(model: RelationalModel, reason: str, started: float) -> Inference:
    seconds = time.monotonic() - started
    results = [
        Result(item.name, "safety", "unknown", METHOD, model.all_sizes, reason, None, item.span, seconds)
        for item in model.safety
    ]
    return Inference(model, results=tuple(results))


def _invariants(outcome: Inference) -> tuple[Named, ...]:
    """All that was found, as invariants; those that stand for refutations come last."""
    if outcome.certificate is None:
        return outcome.invariants
    return outcome.invariants + plain_invariants(outcome.model, outcome.certificate)


def _found(outcome: Inference) -> str:
    """The invariants in the protocol's own language, each with the transitions that need it."""
    invariants = _invariants(outcome)
    given = sum(item in outcome.model.invariants for item in invariants)
    count = len(invariants) - given
    of_file = f"{given} invariant{'s' * (given != 1)} of the file" if given else ""
    inferred = f"{count} inferred invariant{'s' * (count != 1)}" if count or not given else ""
    lines = [f"proved for {outcome.model.all_sizes} with {' and '.join(filter(None, (of_file, inferred)))}"]
    for item, text in zip(invariants, _shown(outcome.model, invariants), strict=True):
        lines.append(f"  [{item.name}] {text}")
        if item.name in outcome.needed:
            lines.append(f"      needed by {', '.join(outcome.needed[item.name]) or 'no transition'}")
    return "\n".join([*lines, f"  {_counts(outcome)}"])


def _shown(model: RelationalModel, invariants: Sequence[Named]) -> list[str]:
    return print_formulas(model, [item.formula for item in invariants])


def _tried(outcome: Inference) -> str:
    """What the search went through without success."""
    lines = ["no inductive invariant was found; tried:", *(f"  {attempt}" for attempt in outcome.attempts)]
    return "\n".join(lines + [f"  {_counts(outcome)}"] * bool(outcome.samples))


def _counts(outcome: Inference) -> str:
    queries = f"{outcome.queries:,} quer{'y' if outcome.queries == 1 else 'ies'}"
    samples, refuted = outcome.samples, outcome.counterexamples
    return f"{samples:,} sample{'s' * (samples != 1)}, {queries}, {refuted:,} counterexample{'s' * (refuted != 1)}"


def _statistics(outcome: Inference) -> dict[str, object]:
    invariants = _invariants(outcome)
    return {
        "invariants": [
            {"name": item.name, "formula": text, "needed_by": list(outcome.needed.get(item.name, ()))}
            for item, text in zip(invariants, _shown(outcome.model, invariants), strict=True)
        ],
        "attempts": outcome.attempts,
        "samples": outcome.samples,
        "queries": outcome.queries,
        "counterexamples": outcome.counterexamples,
    }


def _write(path: str, model: RelationalModel, outcome: Inference) -> str:
    """Write the protocol with the invariants; `induct` is now expected to prove what the file said it would not."""
    surprising = [item for item in outcome.results if expected_verdict(model, "induct", item) != "proved"]
    remarks = ["Found by `quorate infer`.", *(f"expect: induct [{item.property}] proved" for item in surprising)]
    new = [item for item in _invariants(outcome) if item not in model.invariants]
    try:
        text = extended(model, new, remarks)
    except LanguageError as problem:
        raise UsageError(f"cannot write {path}: {problem.diagnostics[0].message}") from None
    writing(path, lambda: write_atomically(path, text))
    return f"protocol with these invariants saved to {path}"
