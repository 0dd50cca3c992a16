"""The verbs for round-based algorithms (`*.rounds`): what they read, and what they print beside the verdicts."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quorate.apps.cli import reports
from quorate.apps.cli.commands import Progress, UsageError, file_report, finish, writing
from quorate.apps.cli.vacuous import diagnostics as vacuous
from quorate.lang import LoadedRounds, load_rounds
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.evaluation import RoundsError, setting
from quorate.models.rounds import RoundModel
from quorate.proof.vacuity import Remark
from quorate.proof.verdicts import Result


def run(arguments: argparse.Namespace) -> int:
    """Carry out a command about round-based algorithms."""
    verbs = {"parse": parse, "check": check, "trace": trace, "verify": single_phases}
    try:
        return verbs[arguments.verb](arguments)
    except RoundsError as problem:
        raise UsageError(str(problem)) from None


def _load_all(paths: Sequence[str]) -> list[LoadedRounds]:
    loaded: list[LoadedRounds] = []
    found: list[Diagnostic] = []
    for path in paths:
        try:
            loaded.append(load_rounds(path))
        except LanguageError as problem:
            found += problem.diagnostics
    if found:
        raise LanguageError(tuple(found))
    return loaded


def _given(text: str | None) -> dict[str, int]:
    """`alpha=1,f=2` as numbers by name."""
    found = {}
    for part in filter(str.strip, (text or "").split(",")):
        name, _, number = part.partition("=")
        if not number.strip().isdigit():
            raise UsageError(f"--set: {part!r} is not of the form NAME=NUMBER")
        found[name.strip()] = int(number)
    return found


# -- parse ---------------------------------------------------------------------------------------------------------------


def parse(arguments: argparse.Namespace) -> int:
    """Syntax and kinds; the parts of an algorithm."""
    loaded = _load_all(arguments.files)
    if arguments.to in (None, "json"):
        loaded = [replace(item, warnings=(*item.warnings, *vacuous(item.model))) for item in loaded]
    if arguments.to == "json" or (arguments.to is None and arguments.output_format == "json"):
        documents = [_json(item) for item in loaded]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2, ensure_ascii=False))
    elif arguments.to == "rounds":
        from quorate.lang.rounds.printer import print_model

        print("\n".join(print_model(item.model).rstrip("\n") for item in loaded))
    elif arguments.to in ("promela", "smt2"):
        print("\n".join(_exported(item.model, arguments) for item in loaded), end="")
    elif arguments.to:
        raise UsageError(f"a round-based algorithm cannot be printed as {arguments.to}")
    elif arguments.output_format == "text":
        blocks = [part for item in loaded for part in (*(w.render() for w in item.warnings), _summary(item.model))]
        print("\n\n".join(blocks))
    else:
        warnings = [warning for item in loaded for warning in item.warnings]
        shown = reports.diagnostics(warnings, arguments.output_format, arguments.files)
        print(shown, end="\n" if shown else "")
    return 0


def _exported(model: RoundModel, arguments: argparse.Namespace) -> str:
    """An algorithm for another tool."""
    if arguments.to == "promela":
        from quorate.lang.rounds.promela import promela

        if arguments.n is None:
            raise UsageError("--to promela: how many processes? add --n 3")
        return promela(model, arguments.n, _given(arguments.set), arguments.faults)
    from quorate.methods.heardof.export import smtlib, smtlib_runs

    if arguments.n is None:
        return smtlib(model)
    parameters = setting(model, arguments.n, _given(arguments.set))
    return smtlib_runs(model, arguments.n, parameters, 2, arguments.faults)


def _summary(model: RoundModel) -> str:
    from quorate.engines.rounds.symmetry import order_of_values

    assert model.source is not None
    rows = [
        ("parameters", [item.name for item in model.parameters]),
        ("variables", [f"{item.name}: {item.kind}" for item in model.variables]),
        ("shared", [f"{item.name}: {item.kind}" for item in model.shared]),
        ("rounds", [item.name for item in model.rounds]),
        ("steps", [item.name for item in model.steps]),
        ("properties", [item.name for item in model.safety]),
        ("lemmas", [item.name for item in model.invariants] + (["univalent"] if model.univalent else [])),
    ]
    lines = [model.source.path]
    lines += [f"  {name:<12} {len(items):>3}  {', '.join(items)}" for name, items in rows if items]
    place = order_of_values(model)
    order = (
        "only compared for equality" if place is None else f"ordered (line {place.span.line if place.span else '?'})"
    )
    lines.append(f"  {'values':<12}      {order}")
    return "\n".join(lines)


def _json(item: LoadedRounds) -> dict[str, Any]:
    from quorate.lang.rounds.printer import show

    model = item.model
    assert model.source is not None
    return {
        "file": model.source.path,
        "sha256": model.source.sha256,
        "name": model.name,
        "language": "rounds",
        "parameters": [{"name": p.name, "with": show(p.constraint)} for p in model.parameters],
        "variables": [{"name": v.name, "kind": v.kind, "initial": show(v.initial)} for v in model.variables],
        "shared": [{"name": v.name, "kind": v.kind, "initial": show(v.initial)} for v in model.shared],
        "rounds": [{"name": r.name, "text": show(r)} for r in model.rounds],
        "steps": [{"name": r.name, "text": show(r)} for r in model.steps],
        "safe": show(model.safe),
        "sync": show(model.sync) if model.sync else None,
        "properties": [{"name": p.name, "formula": show(p.formula) if p.formula else None} for p in model.safety],
        "invariants": [{"name": p.name, "formula": show(p.formula)} for p in model.invariants if p.formula],
        "univalent": show(model.univalent[1]) if model.univalent else None,
        "diagnostics": [reports.diagnostic_json(warning) for warning in item.warnings],
    }


# -- check ---------------------------------------------------------------------------------------------------------------


def check(arguments: argparse.Namespace) -> int:
    """Exhaustive search with n processes."""
    from quorate.methods.heardof.check import Options
    from quorate.methods.heardof.check import check as search

    started = time.monotonic()
    if arguments.n is None:
        raise UsageError("how many processes? add --n 3")
    for name in ("size", "depth", "where", "checkpoint"):
        if getattr(arguments, name) is not None:
            raise UsageError(
                f"--{name} is for relational protocols; a round-based algorithm has --n, --set and --faults"
            )
    loaded = _load_all(arguments.files)
    files = []
    for item in loaded:
        parameters = setting(item.model, arguments.n, _given(arguments.set))
        progress = Progress(arguments)
        options = Options("none" if arguments.no_symmetry else "all", arguments.keep_going, arguments.timeout)
        try:
            outcome = search(item.model, arguments.n, parameters, arguments.faults, options, progress)
        finally:
            progress.done()
        found = outcome.found
        counted = f"  {found.states:,} state{'s' * (found.states != 1)}"
        if not arguments.no_symmetry:
            counted += " up to renaming" + (f" ({found.unreduced:,} in all)" if found.unreduced else "")
        lines = [f"{counted}; {found.transitions:,} transitions; depth {found.depth}"] if found.states else []
        details = ["\n".join(lines + [f"  {note}" for note in outcome.notes]), *evidence(item.model, outcome.results)]
        saved = save_first(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        statistics = {
            "states": found.unreduced,
            "distinct_states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
        }
        results, remarks = _judged(item.model, outcome.results)
        files.append(file_report(item.model, "check", results, details, saved, statistics, remarks))
    return finish(arguments, files, loaded, started)


# -- verify --method heardof ------------------------------------------------------------------------------------------------


def single_phases(arguments: argparse.Namespace) -> int:
    """Single phases with n processes."""
    from quorate.apps.cli.commands import limits
    from quorate.lang.rounds.printer import show
    from quorate.methods.heardof.single import single

    started = time.monotonic()
    loaded = _load_all(arguments.files)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        given = [setting(item.model, arguments.n, _given(arguments.set))] if arguments.set else None
        try:
            outcome = single(item.model, arguments.n, given, limits(arguments), progress)
        finally:
            progress.done()
        words = {"unsat": "holds", "sat": "fails", "unknown": "no answer"}
        lines = [f"  {answer.name:<30} {words[answer.status]} ({answer.seconds:.1f} s)" for answer in outcome.checks]
        lines += [f"  {note}" for note in outcome.notes]
        lemmas = [f"{name}: {show(formula)}" for name, formula in outcome.lemmas]
        if outcome.univalent is not None:
            lemmas.append(f"univalent {outcome.univalent[0]}: {show(outcome.univalent[1])}")
        lines += ["  with the lemmas", *(f"    {lemma}" for lemma in lemmas)] if lemmas else []
        saved = save_first(item.model, outcome.results, arguments.trace)
        details = ["\n".join(lines), *evidence(item.model, outcome.results)]
        details += [f"trace saved to {path}" for path in saved.values()]
        results, remarks = _judged(item.model, outcome.results)
        files.append(file_report(item.model, "verify", results, details, saved, remarks=remarks))
    return finish(arguments, files, loaded, started)


def _judged(model: RoundModel, results: Sequence[Result]) -> tuple[tuple[Result, ...], tuple[Remark, ...]]:
    """The results, without those that rest on what no run does, and what to know beside them."""
    from quorate.methods.heardof.vacuity import impossible, remarks
    from quorate.methods.vacuity import withheld

    nothing = impossible(model)
    return withheld(results, nothing), () if nothing else remarks(model)


def evidence(model: RoundModel, results: Sequence[Result]) -> list[str]:
    """The runs behind the verdicts, as tables."""
    from quorate.proof.round_traces import show

    return [f"{result.property}: {result.verdict}\n{show(model, result.rounds)}" for result in results if result.rounds]


def save_first(model: RoundModel, results: Sequence[Result], path: str | None) -> dict[str, str]:
    """Save the first run as ITF."""
    from quorate.files import write_atomically

    found = next((result for result in results if result.rounds), None)
    if path is None or found is None or found.rounds is None:
        return {}
    from quorate.proof.round_itf import to_itf

    text = json.dumps(to_itf(model, found.rounds), indent=1) + "\n"
    writing(path, lambda: write_atomically(path, text))
    return {f"trace:{found.property}": path}


# -- trace ---------------------------------------------------------------------------------------------------------------


def trace(arguments: argparse.Namespace) -> int:
    """Show or replay a saved run."""
    from quorate.proof import itf, round_itf
    from quorate.proof.round_traces import RoundReplayError, replay, show

    if arguments.action not in ("show", "replay"):
        raise UsageError(
            f"`{arguments.action}` is for traces of relational protocols; of a round-based algorithm: show, replay"
        )
    model = load_rounds(arguments.protocol).model
    try:
        found = round_itf.from_itf(model, itf.load(arguments.trace))
        replay(model, found)
    except itf.TraceFormatError as problem:
        raise UsageError(f"{arguments.trace}: {problem}") from None
    except RoundReplayError as problem:
        print(f"{arguments.trace}: the trace does not replay: {problem}", file=sys.stderr)
        return 1
    if arguments.action == "show":
        print(show(model, found))
    else:
        count = len(found.happenings)
        claim = f"; {found.violated} is violated" if found.violated else ""
        what = "run" if found.kind == "run" else "phase from a state that need not be reachable"
        word = "step" if model.steps else "round"
        print(f"{arguments.trace}: the {what} of {count} {word}{'s' * (count != 1)} replays{claim}")
    return 0
