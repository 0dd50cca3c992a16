"""`quorate check` of one instance and `quorate simulate`: what they print beside the verdicts."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from quorate.apps.cli.commands import (
    Progress,
    UsageError,
    evidence_text,
    file_report,
    finish,
    load_all,
    read_sizes,
    save_first_trace,
)
from quorate.engines.explicit.checkpoint import CheckpointError
from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.session import Limits
from quorate.methods.vacuity import judged
from quorate.models.relational import RelationalModel


def instance_of(model: RelationalModel, arguments: argparse.Namespace) -> Instance:
    """The instance that the options describe; a sort that they do not mention has two elements."""
    where = None
    if arguments.where is not None:
        from quorate.lang.expressions import read_expression

        where = read_expression(model, arguments.where)
    return Instance(model, read_sizes(model, arguments.size or "", default=2), where)


def check(arguments: argparse.Namespace) -> int:
    """Exhaustive search of one instance of each file."""
    from quorate.methods.explicit.check import Options
    from quorate.methods.explicit.check import check as search

    if arguments.checkpoint and len(arguments.files) > 1:
        raise UsageError("--checkpoint needs a single FILE")
    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    options = Options(
        arguments.engine,
        not arguments.no_symmetry,
        arguments.deadlock,
        arguments.keep_going,
        arguments.jobs,
        arguments.memory,
        arguments.timeout,
        arguments.checkpoint,
        arguments.save_every,
        arguments.where,
    )
    files, interrupted = [], False
    for item in loaded:
        progress = Progress(arguments)
        try:
            instance = instance_of(item.model, arguments)
            outcome = search(instance, options, progress)
        except (InstanceError, CheckpointError, CompilerError) as problem:
            raise UsageError(f"{item.model.source.path if item.model.source else ''}: {problem}") from None
        finally:
            progress.done()
        found = outcome.found
        details = ["\n".join(_summary(instance, outcome, options.symmetry))]
        details += evidence_text(item.model, outcome.results)
        saved = save_first_trace(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        if outcome.checkpoint:
            details.append(f"saved to {outcome.checkpoint}; add `--checkpoint {outcome.checkpoint}` to go on")
        statistics = {
            "states": found.unreduced,
            "distinct_states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
            "deadlocks": found.deadlocks,
            "fired": found.fired,
            "rigid_interpretations": len(instance.worlds),
            "engine": outcome.engine,
            "checkpoint": outcome.checkpoint,
        }
        judgement = judged(item.model, outcome.results, Limits(), everywhere=False)
        remarks = [remark for remark in judgement.remarks if not found.fired.get(remark.subject)]
        files.append(file_report(item.model, "check", judgement.results, details, saved, statistics, remarks))
        if outcome.interrupted:
            interrupted = True
            break
    code = finish(arguments, files, loaded, started)
    return 130 if interrupted else code


def _summary(instance: Instance, outcome: Any, symmetry: bool) -> list[str]:
    """What was searched, and how large it was."""
    found = outcome.found
    counted = f"{found.unreduced:,} states"
    if symmetry and found.states != found.unreduced:
        counted += f", {found.states:,} up to symmetry"
    lines = [f"  {counted}; {found.transitions:,} transitions; depth {found.depth}"]
    symbols = ", ".join(symbol.name for symbol in instance.rigid_symbols)
    sizes = ", ".join(f"{sort}={size}" for sort, size in instance.sizes.items())
    worlds = len(instance.worlds)
    if not worlds:
        lines.append(f"  {sizes}: no interpretation of {symbols or 'the rigid symbols'} satisfies the axioms")
    elif symbols:
        lines.append(f"  {sizes}; {worlds:,} interpretation{'s' * (worlds != 1)} of {symbols}, up to isomorphism")
    else:
        lines.append(f"  {sizes}")
    never = _never_taken(instance, found.fired)
    if found.states and never and not any(result.verdict == "violated" for result in outcome.results):
        lines.append(f"  never taken: {', '.join(never)}")
    return lines + [f"  {note}" for note in outcome.notes]


def _never_taken(instance: Instance, fired: Mapping[str, int]) -> list[str]:
    return [transition.name for transition in instance.model.transitions if not fired.get(transition.name)]


def simulate(arguments: argparse.Namespace) -> int:
    """Random runs of one instance of each file."""
    from quorate.methods.explicit.simulate import simulate as run

    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        try:
            instance = instance_of(item.model, arguments)
            done = run(instance, arguments.runs, arguments.depth, arguments.seed, arguments.timeout, progress)
        except InstanceError as problem:
            raise UsageError(f"{item.model.source.path if item.model.source else ''}: {problem}") from None
        finally:
            progress.done()
        never = _never_taken(instance, done.fired)
        lines = [f"  {done.runs:,} runs, {done.steps:,} steps, seed {arguments.seed}"]
        lines += [f"  never taken: {', '.join(never)}"] if never else []
        details = ["\n".join(lines + [f"  {note}" for note in done.notes]), *evidence_text(item.model, done.results)]
        saved = save_first_trace(item.model, done.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        statistics = {"runs": done.runs, "steps": done.steps, "fired": done.fired}
        judgement = judged(item.model, done.results, Limits(), everywhere=False)
        remarks = [remark for remark in judgement.remarks if not done.fired.get(remark.subject)]
        files.append(file_report(item.model, "simulate", judgement.results, details, saved, statistics, remarks))
    return finish(arguments, files, loaded, started)
