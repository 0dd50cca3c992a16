"""What the verbs do with Mercury programs: `parse`, `check --processes` and `trace`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from quorate.apps.cli.commands import Progress, UsageError, finish, writing
from quorate.apps.cli.reports import FileReport, diagnostic_json, expected_verdict, shown_name
from quorate.engines.explicit.worlds import InstanceError
from quorate.lang import Loaded, LoadedProcess, load_any
from quorate.lang.diagnostics import Diagnostic
from quorate.lang.mercury.printer import print_program, print_specification
from quorate.models.process import ProcessModel
from quorate.proof.process_runs import ProcessRun, show_run
from quorate.proof.verdicts import Result


def programs(loaded: Sequence[Loaded | LoadedProcess], verb: str) -> list[LoadedProcess]:
    """The loaded files, all of which must be Mercury programs."""
    found = [item for item in loaded if isinstance(item, LoadedProcess)]
    if len(found) < len(loaded):
        other = next(item for item in loaded if not isinstance(item, LoadedProcess))
        path = other.model.source.path if other.model.source else other.model.name
        raise UsageError(f"{path} is no Mercury program; {verb} does not read it together with one")
    return found


def check(arguments: argparse.Namespace, loaded: Sequence[LoadedProcess]) -> int:
    """Exhaustive search of each program with a fixed number of processes."""
    from quorate.methods.phases.check import check as search

    for name in ("depth", "size", "where", "checkpoint"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is not about Mercury programs; --processes N says how many processes there are")
    started = time.monotonic()
    processes = arguments.processes or 2
    files = []
    for item in loaded:
        progress = Progress(arguments)
        progress(f"searching {processes} processes")
        try:
            outcome = search(
                item.model,
                processes,
                arguments.deadlock,
                not arguments.no_symmetry,
                arguments.keep_going,
                arguments.timeout,
                arguments.memory,
            )
        except InstanceError as problem:
            raise UsageError(f"{item.model.name}: {problem}") from None
        finally:
            progress.done()
        found = outcome.found
        counted = f"{found.unreduced:,} states"
        if found.states != found.unreduced:
            counted += f", {found.states:,} up to symmetry"
        lines = [f"  {counted}; {found.transitions:,} transitions; depth {found.depth}", f"  processes={processes}"]
        if outcome.never_occupied:
            lines.append(f"  never occupied: {', '.join(outcome.never_occupied)}")
        if outcome.never_happens:
            lines.append(f"  never takes place: {', '.join(outcome.never_happens)}")
        lines += [f"  {note}" for note in outcome.notes]
        statistics = {
            "states": found.unreduced,
            "distinct_states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
            "never_occupied": list(outcome.never_occupied),
            "never_takes_place": list(outcome.never_happens),
        }
        details = ["\n".join(lines), *_evidence(item.model, outcome.results)]
        saved = save_first(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        files.append(_report(item.model, "check", outcome.results, details, saved, statistics))
    return finish(arguments, files, loaded, started)


def _report(
    model: ProcessModel,
    verb: str,
    results: Sequence[Result],
    details: Sequence[str],
    saved: dict[str, str],
    statistics: dict[str, Any],
) -> FileReport:
    assert model.source is not None
    expected = tuple(expected_verdict(model, verb, result) for result in results)
    return FileReport(
        model.source.path, model.source.sha256, tuple(results), expected, tuple(details), saved, statistics
    )


def _evidence(model: ProcessModel, results: Sequence[Result]) -> list[str]:
    return [
        f"{shown_name(result.property, result.span)}: {result.verdict}\n{show_run(model, result.evidence).rstrip()}"
        for result in results
        if isinstance(result.evidence, ProcessRun)
    ]


def save_first(model: ProcessModel, results: Sequence[Result], path: str | None) -> dict[str, str]:
    """Save the first run as ITF."""
    from quorate.files import write_atomically
    from quorate.proof.process_itf import to_itf

    found = next((result for result in results if isinstance(result.evidence, ProcessRun)), None)
    if path is None or found is None or not isinstance(found.evidence, ProcessRun):
        return {}
    text = json.dumps(to_itf(model, found.evidence), indent=1) + "\n"
    writing(path, lambda: write_atomically(path, text))
    return {f"trace:{found.property}": path}


def trace(arguments: argparse.Namespace) -> int:
    """Show or replay a saved run."""
    from quorate.proof import itf, process_itf
    from quorate.proof.process_runs import replay
    from quorate.proof.traces import ReplayError

    if arguments.action not in ("show", "replay"):
        raise UsageError(
            f"`{arguments.action}` is for traces of relational protocols; of a Mercury program: show, replay"
        )
    (item,) = programs([load_any(arguments.protocol)], "trace")
    try:
        run = process_itf.from_itf(item.model, itf.load(arguments.trace))
        replay(item.model, run)
    except itf.TraceFormatError as problem:
        raise UsageError(f"{arguments.trace}: {problem}") from None
    except ReplayError as problem:
        print(f"{arguments.trace}: the trace does not replay: {problem}", file=sys.stderr)
        return 1
    if arguments.action == "show":
        print(show_run(item.model, run), end="")
    else:
        steps = len(run.steps)
        claim = f"; the last state violates {run.violated}" if run.violated else ""
        print(f"{arguments.trace}: the run of {steps} step{'s' * (steps != 1)} replays{claim}")
    return 0


def summary(model: ProcessModel) -> str:
    """A few lines on what the program consists of."""
    assert model.source is not None
    agreements = {
        getattr(handler.event, "name", "") for _, handler in model.handlers if hasattr(handler.event, "participants")
    }
    rows = [
        ("locations", [location.name for location in model.locations]),
        ("variables", [variable.name for variable in model.variables]),
        ("actions", [action.name for action in model.actions]),
        ("agreements", sorted(agreements)),
        ("safety", [shown_name(item.name, item.span) for item in model.safety]),
        ("may crash in", [name for name in (item.name for item in model.locations) if name in model.crashing]),
    ]
    lines = [model.source.path]
    return "\n".join(lines + [f"  {name:<12} {len(items):>3}  {', '.join(items)}" for name, items in rows if items])


def model_json(model: ProcessModel, warnings: Sequence[Diagnostic]) -> dict[str, Any]:
    """The program as data; its text, in the syntax of the paper, says what its handlers do."""
    assert model.source is not None
    return {
        "file": model.source.path,
        "sha256": model.source.sha256,
        "name": model.name,
        "language": "mercury",
        "locations": [location.name for location in model.locations],
        "variables": [{"name": variable.name, "kind": variable.kind} for variable in model.variables],
        "actions": [
            {"name": action.name, "broadcast": action.broadcast, "environment": action.environment}
            for action in model.actions
        ],
        "safety": [
            {
                "name": item.name,
                "specification": print_specification(item.specification),
                "line": item.span.line if item.span else None,
            }
            for item in model.safety
        ],
        "program": print_program(model),
        "diagnostics": [diagnostic_json(warning) for warning in warnings],
    }


def show_phases(loaded: Sequence[Loaded | LoadedProcess]) -> int:
    """The phases of each program, and what does not fit them."""
    from quorate.methods.phases.locals import TooManyLocalStates
    from quorate.methods.phases.phases import feedback
    from quorate.models.process_counting import CountingError

    blocks = []
    for item in programs(loaded, "parse --phases"):
        try:
            found = feedback(item.model)
        except (CountingError, TooManyLocalStates) as reason:
            raise UsageError(f"{item.model.name}: {reason}") from None
        graph = found.graph
        count = len(found.phases)
        assert item.model.source is not None
        lines = [item.model.source.path, f"  {count} phase{'s' * (count != 1)}"]
        for number, phase in enumerate(found.phases, 1):
            places = dict.fromkeys(
                point.location for point, _ in (graph.states.states[s] for s in sorted(phase)) if point
            )
            lines.append(f"  {number:>3}  {', '.join(places)}")
        if not found.problems:
            lines.append("  phase-compatible: every process can keep up with the others (Definition 4.2)")
        for problem in found.problems:
            where = f" (line {problem.place.span.line})" if problem.place.span else ""
            lines.append(f"  condition {problem.condition}{where}: {problem.text}")
            lines += [f"      in location {r.location}, add `{r.text}`" for r in problem.repairs]
        for name in found.amenable:
            lines.append(f"  {name}: all ways to a violation are independent of other processes (Definition 4.4)")
        for name, path in found.dependent:
            lines.append(f"  {name}: a violation may need other processes, on the path")
            lines += [
                f"      {graph.show(edge.source)} -- {edge.kind} {edge.label[0]} --> {graph.show(edge.target)}"
                + ("" if edge.independent else "   (needs another process)")
                for edge in path
            ]
        blocks.append("\n".join(lines))
    print("\n\n".join(blocks))
    return 0
