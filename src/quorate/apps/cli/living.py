"""`quorate check --liveness` and `quorate live`: what they print beside the verdicts."""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING

from quorate.apps.cli.commands import (
    Progress,
    UsageError,
    evidence_text,
    file_report,
    finish,
    limits,
    load_all,
    save_first_trace,
    writing,
)
from quorate.apps.cli.exploring import instance_of
from quorate.engines.explicit.worlds import InstanceError
from quorate.lang import Loaded
from quorate.models.relational import RelationalModel
from quorate.proof.liveness import Proved, assumptions

if TYPE_CHECKING:
    from quorate.methods.liveness.claims import Support


def _with_liveness(arguments: argparse.Namespace) -> list[Loaded]:
    loaded = load_all(arguments.files, arguments.lang)
    for item in loaded:
        if not item.model.liveness:
            path = item.model.source.path if item.model.source else item.model.name
            raise UsageError(f"{path} states no liveness property; write `liveness [name] forall X. p(X) ~> q(X)`")
    return loaded


def check(arguments: argparse.Namespace) -> int:
    """Search one instance of each file for fair runs that violate a liveness property."""
    from quorate.methods.liveness.check import check_liveness

    started = time.monotonic()
    loaded = _with_liveness(arguments)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        try:
            instance = instance_of(item.model, arguments)
            results, states = check_liveness(instance, progress)
        except InstanceError as problem:
            raise UsageError(f"{item.model.source.path if item.model.source else ''}: {problem}") from None
        finally:
            progress.done()
        sizes = ", ".join(f"{sort}={size}" for sort, size in instance.sizes.items())
        details = [f"  {states:,} states, without symmetry, which does not preserve fairness; {sizes}"]
        details += evidence_text(item.model, results)
        saved = save_first_trace(item.model, results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        files.append(file_report(item.model, "check", results, details, saved, {"states": states}))
    return finish(arguments, files, loaded, started)


def live(arguments: argparse.Namespace) -> int:
    """Prove the liveness properties of each file, or show a fair run that violates one."""
    from quorate.methods.liveness.live import Options
    from quorate.methods.liveness.live import live as search
    from quorate.proof.liveness import certify, save

    started = time.monotonic()
    loaded = _with_liveness(arguments)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        try:
            outcome = search(item.model, limits(arguments), Options(arguments.time, arguments.seed), progress)
        finally:
            progress.done()
        details = [explanation(item.model, proved, support) for proved, support in outcome.proved]
        details += evidence_text(item.model, outcome.results)
        saved = save_first_trace(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        if arguments.certificate and outcome.proved:
            certificate = certify(item.model, [proved for proved, _ in outcome.proved])
            writing(arguments.certificate, partial(save, arguments.certificate, item.model, certificate))
            saved["certificate"] = arguments.certificate
            details.append(f"certificate saved to {arguments.certificate}; `quorate recheck` re-establishes it")
        files.append(file_report(item.model, "live", outcome.results, details, saved))
    return finish(arguments, files, loaded, started)


def explanation(model: RelationalModel, proved: Proved, support: Support) -> str:
    """Why the property holds, stage by stage, in the protocol's own language."""
    argument = proved.argument
    item = next(item for item in model.liveness if item.name == argument.property)
    lines = [f"{argument.property}: why it comes about"]
    if argument.monitored:
        lines.append("  a monitor remembers the trigger until the goal is reached")
    lines.append(f"  suppose that {item.trigger} and never {item.goal}")
    for number, stage in enumerate(argument.stages, 1):
        names = ", ".join(f"{variable.name}:{variable.sort}" for variable in stage.variables)
        if stage.kind == "rank":
            what = (
                f"the number of {names} with {stage.formula} only goes down"
                if names
                else f"{stage.formula} ends at most once"
            )
        else:
            what = (
                f"{stage.fairness} would happen if ever, for some {names}, {stage.formula}"
                if names
                else (f"{stage.fairness} would happen if ever {stage.formula}")
            )
        lines.append(f"  {number}. {what}")
    lines.append("  so no step is left that could go on forever")
    for assumption in assumptions(model, argument):
        lines.append(f"  assuming that {assumption}")
    known = [*support.claims, *support.invariants]
    if known:
        lines.append(f"  with {len(known)} inferred invariants")
        lines += [f"    [{item.name}] {item.formula}" for item in known]
    return "\n".join(lines)
