"""`quorate check --liveness` and `quorate live`: what they print beside the verdicts."""

from __future__ import annotations

import argparse
import time
from functools import partial

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
from quorate.methods.vacuity import judged, nothing_to_prove


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
        judgement = judged(item.model, results, limits(arguments), everywhere=False)
        results = judgement.results
        details = [f"  {states:,} states, without symmetry, which does not preserve fairness; {sizes}"]
        details += evidence_text(item.model, results)
        saved = save_first_trace(item.model, results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        remarks = judgement.remarks
        files.append(file_report(item.model, "check", results, details, saved, {"states": states}, remarks))
    return finish(arguments, files, loaded, started)


def live(arguments: argparse.Namespace) -> int:
    """Prove the liveness properties of each file, or show a fair run that violates one."""
    from quorate.methods.liveness.live import Options
    from quorate.methods.liveness.live import live as search
    from quorate.methods.liveness.show import explanation
    from quorate.proof.liveness import certify, save

    started = time.monotonic()
    loaded = _with_liveness(arguments)
    files = []
    for item in loaded:
        nothing = nothing_to_prove(item.model, "liveness")
        if nothing is not None:
            files.append(file_report(item.model, "live", nothing.results, (), {}))
            continue
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
        remarks = judged(item.model, outcome.results, limits(arguments)).remarks
        files.append(file_report(item.model, "live", outcome.results, details, saved, remarks=remarks))
    return finish(arguments, files, loaded, started)
