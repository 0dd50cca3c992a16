"""The verbs: each reads its files, calls a method and returns an exit code.  No verb computes anything itself."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quorate.apps.cli import reports
from quorate.apps.cli.reports import FileReport, Report
from quorate.apps.cli.terminal import visible
from quorate.lang import Loaded, LoadedProcess, LoadedRounds, load, load_any
from quorate.lang.diagnostics import CATALOGUE, Diagnostic, LanguageError, explain
from quorate.models.relational import RelationalModel
from quorate.proof.traces import Trace
from quorate.proof.verdicts import Result

if TYPE_CHECKING:
    from quorate.models.rounds import RoundModel
    from quorate.proof.vacuity import Remark


class UsageError(Exception):
    """The command cannot be carried out as given; the message says why and what to do."""


def run(arguments: argparse.Namespace) -> int:
    """Carry out one command."""
    verbs: dict[str, Callable[[argparse.Namespace], int]] = {
        "parse": parse,
        "induct": induct,
        "infer": infer,
        "cutoff": cutoff,
        "check": check,
        "simulate": simulate,
        "live": live,
        "verify": verify,
        "recheck": recheck,
        "trace": trace,
        "ui": ui,
        "new": new,
        "library": library,
        "explain": explain_code,
    }
    try:
        _check_outputs(arguments)
        if arguments.verb == "parse" and len(groups := _by_family(arguments.files)) > 1:
            return max(run(argparse.Namespace(**{**vars(arguments), "files": group})) for group in groups)
        if _about_rounds(arguments):
            from quorate.apps.cli import rounds

            return rounds.run(arguments)
        return verbs[arguments.verb](arguments)
    except LanguageError as problem:
        _print_diagnostics(problem.diagnostics, arguments)
        return 2
    except UsageError as problem:
        print(visible(f"quorate {arguments.verb}: {problem}"), file=sys.stderr)
        return 2


def _by_family(paths: Sequence[str]) -> list[list[str]]:
    """Round-based algorithms apart from other protocols."""
    rounds = [path for path in paths if path.endswith(".rounds")]
    return [group for group in (rounds, [path for path in paths if path not in rounds]) if group]


def _about_rounds(arguments: argparse.Namespace) -> bool:
    """Is the command about round-based algorithms?"""
    paths = getattr(arguments, "files", None) or [getattr(arguments, "protocol", None) or ""]
    rounds = [str(path).endswith(".rounds") for path in paths]
    known = arguments.verb in ("parse", "check", "trace")
    if any(rounds) and not all(rounds) and known:
        raise UsageError("round-based algorithms and other protocols need commands of their own")
    return known and any(rounds)


def _print_diagnostics(found: Sequence[Diagnostic], arguments: argparse.Namespace) -> None:
    output_format = getattr(arguments, "output_format", "text")
    stream = sys.stderr if output_format == "text" else sys.stdout
    print(visible(reports.diagnostics(found, output_format)), file=stream)
    errors = sum(item.severity == "error" for item in found)
    codes = {item.code for item in found}
    if output_format == "text":
        hint = f"`quorate explain {codes.pop()}` says more" if len(codes) == 1 else "`quorate explain CODE` says more"
        print(f"\n{errors} error{'s' * (errors != 1)}; {hint}", file=stream)


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Find out before the work starts, not after it, that its results cannot be saved."""
    if len(getattr(arguments, "files", ())) > 1:
        for name in ("certificate", "trace", "write"):
            if getattr(arguments, name, None):
                raise UsageError(f"--{name} needs a single FILE")
    files = [getattr(arguments, name, None) for name in ("output", "write", "report", "resume")]
    if arguments.verb in ("induct", "infer", "cutoff", "check", "simulate", "live", "verify"):
        files += [getattr(arguments, "certificate", None), getattr(arguments, "trace", None)]
    for path in filter(None, files):
        folder = Path(path).parent
        if Path(path).is_dir():
            raise UsageError(f"cannot write {path}: it is a folder")
        if not folder.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise UsageError(f"cannot write {path}: the folder {folder} is not writable")
    for path in filter(None, [getattr(arguments, "dump_smt", None), getattr(arguments, "proofs", None)]):
        if Path(path).is_file():
            raise UsageError(f"cannot write into {path}: it is a file, not a folder")
        writing(path, lambda path=path: Path(path).mkdir(parents=True, exist_ok=True))  # type: ignore[misc]


def load_all(paths: Sequence[str], language: Any) -> list[Loaded]:
    """Read every file as a relational protocol; the diagnostics of all faulty ones are raised together."""
    return _load_each(paths, language, load)


def load_any_all(paths: Sequence[str], language: Any) -> list[Loaded | LoadedProcess]:
    """Read every file, of whatever family."""
    return _load_each(paths, language, load_any)


Found = TypeVar("Found")


def _load_each(paths: Sequence[str], language: Any, read: Callable[[str, Any], Found]) -> list[Found]:
    loaded: list[Found] = []
    found: list[Diagnostic] = []
    for path in paths:
        try:
            loaded.append(read(path, language))
        except LanguageError as problem:
            found += problem.diagnostics
    if found:
        raise LanguageError(tuple(found))
    return loaded


class Progress:
    """A line on standard error that is overwritten; silent when nobody watches."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.active = not arguments.quiet and sys.stderr.isatty()
        self.shown_at = 0.0

    def __call__(self, text: str) -> None:
        if self.active and time.monotonic() - self.shown_at > 0.1:
            self.shown_at = time.monotonic()
            print(f"\r\x1b[K{visible(text[:100])}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        if self.active:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def limits(arguments: argparse.Namespace) -> Any:
    """What the options allow the solvers."""
    from quorate.engines.smt.session import Limits

    return Limits(arguments.timeout or 60.0, arguments.memory, arguments.jobs, arguments.seed, arguments.dump_smt)


def _config(arguments: argparse.Namespace) -> dict[str, Any]:
    skipped = ("verb", "files", "output_format", "quiet")
    return {name: value for name, value in sorted(vars(arguments).items()) if name not in skipped}


def finish(
    arguments: argparse.Namespace,
    files: Sequence[FileReport],
    loaded: Sequence[Loaded | LoadedProcess] | Sequence[LoadedRounds],
    started: float,
) -> int:
    warnings = tuple(warning for item in loaded for warning in item.warnings)
    report = Report(arguments.verb, _config(arguments), tuple(files), warnings, time.monotonic() - started)
    print(reports.render(report, arguments.output_format))
    return report.exit_code


def file_report(
    model: RelationalModel | RoundModel,
    verb: str,
    results: Sequence[Result],
    details: Sequence[str],
    saved: dict[str, str],
    statistics: Mapping[str, Any] | None = None,
    remarks: Sequence[Remark] = (),
) -> FileReport:
    assert model.source is not None
    expected = tuple(reports.expected_verdict(model, verb, result) for result in results)
    return FileReport(
        model.source.path,
        model.source.sha256,
        tuple(results),
        expected,
        tuple(details),
        saved,
        statistics or {},
        tuple(remarks),
    )


def evidence_text(model: RelationalModel, results: Sequence[Result]) -> list[str]:
    from quorate.proof.show import show_trace

    shown = []
    for result in results:
        if result.evidence is not None and result.verdict in ("violated", "not-inductive"):
            name = reports.shown_name(result.property, result.span)
            assert isinstance(result.evidence, Trace)
            shown.append(f"{name}: {result.verdict}\n{show_trace(model, result.evidence).rstrip()}")
    return shown


def save_first_trace(model: RelationalModel, results: Sequence[Result], path: str | None) -> dict[str, str]:
    from quorate.proof.itf import save, to_itf

    shown = [result for result in results if result.evidence and result.verdict in ("violated", "not-inductive")]
    if path is None or not shown or not isinstance(shown[0].evidence, Trace):
        return {}
    document = to_itf(model, shown[0].evidence)
    writing(path, lambda: save(path, document))
    return {f"trace:{shown[0].property}": path}


def writing(path: str, write: Callable[[], None]) -> None:
    """Write a file; where that fails, say so."""
    try:
        write()
    except OSError as problem:
        raise UsageError(f"cannot write {path}: {problem.strerror}") from None


# -- verbs ---------------------------------------------------------------------------------------------------------


def parse(arguments: argparse.Namespace) -> int:
    """Syntax and types; sizes; is every query decidable?"""
    from quorate.apps.cli.summary import model_json, print_model, summary
    from quorate.apps.cli.vacuous import diagnostics as vacuous

    loaded = load_any_all(arguments.files, arguments.lang)
    if arguments.to in (None, "json"):
        loaded = [replace(item, warnings=(*item.warnings, *vacuous(item.model))) for item in loaded]
    if arguments.phases:
        from quorate.apps.cli.processes import show_phases

        return show_phases(loaded)
    if arguments.to == "json" or (arguments.to is None and arguments.output_format == "json"):
        import json

        documents = [model_json(item.model, item.warnings) for item in loaded]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2, ensure_ascii=False))
        return 0
    if arguments.to:
        print("\n".join(print_model(item.model, arguments.to).rstrip("\n") for item in loaded))
    elif arguments.output_format == "text":
        blocks = [part for item in loaded for part in (*(w.render() for w in item.warnings), summary(item.model))]
        print("\n\n".join(blocks))
    else:
        warnings = [warning for item in loaded for warning in item.warnings]
        shown = reports.diagnostics(warnings, arguments.output_format, arguments.files)
        print(shown, end="\n" if shown else "")
    return 0


def induct(arguments: argparse.Namespace) -> int:
    """Are the safety property and the invariants in the file inductive, for all sizes?"""
    from quorate.methods.induction.induct import Search, certificate
    from quorate.methods.induction.induct import induct as decide
    from quorate.methods.vacuity import judged

    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        outcome = decide(item.model, limits(arguments), Search(arguments.search_depth), progress)
        progress.done()
        judgement = judged(item.model, outcome.results, limits(arguments))
        details = evidence_text(item.model, outcome.results)
        saved = save_first_trace(item.model, outcome.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        found = certificate(outcome) if judgement.nothing is None else None
        if found is not None:
            details.insert(0, _proof_line(outcome))
            if arguments.certificate:
                write_certificate(arguments.certificate, found)
                saved["certificate"] = arguments.certificate
                details.append(f"certificate saved to {arguments.certificate}; `quorate recheck` re-establishes it")
        remarks = judgement.remarks
        files.append(file_report(item.model, "induct", judgement.results, details, saved, remarks=remarks))
    return finish(arguments, files, loaded, started)


def write_certificate(path: str, found: Any) -> None:
    """Save a certificate."""
    from quorate.proof.certificates import save

    writing(path, lambda: save(path, found))


def _proof_line(outcome: Any) -> str:
    count = len(outcome.answers)
    return f"proved for {outcome.model.all_sizes}: {count} obligation{'s' * (count != 1)} discharged"


def live(arguments: argparse.Namespace) -> int:
    from quorate.apps.cli.living import live as run_live

    return run_live(arguments)


def infer(arguments: argparse.Namespace) -> int:
    """Find an inductive invariant that proves the safety properties."""
    from quorate.apps.cli.inferring import infer as run_infer

    return run_infer(arguments)


def cutoff(arguments: argparse.Namespace) -> int:
    """Find small instances that stand for all sizes, and verify them."""
    from quorate.apps.cli.cutting import cutoff as run_cutoff

    return run_cutoff(arguments)


def check(arguments: argparse.Namespace) -> int:
    """Exhaustive search of an instance, or with --depth: is a property violated within k steps?"""
    loaded = load_any_all(arguments.files, arguments.lang)
    if any(isinstance(item, LoadedProcess) for item in loaded):
        from quorate.apps.cli.processes import check as check_processes
        from quorate.apps.cli.processes import programs

        return check_processes(arguments, programs(loaded, "check"))
    if arguments.processes is not None:
        raise UsageError("--processes is about Mercury programs; --size SORT=N,… gives the sizes of other protocols")
    if arguments.depth is not None:
        return _bounded(arguments)
    if arguments.liveness:
        from quorate.apps.cli.living import check as check_liveness

        return check_liveness(arguments)
    from quorate.apps.cli.exploring import check as run_check

    return run_check(arguments)


def _bounded(arguments: argparse.Namespace) -> int:
    from quorate.methods.induction.bounded import check as search
    from quorate.methods.induction.bounded import check_traces
    from quorate.methods.vacuity import judged

    started = time.monotonic()
    loaded = load_all(arguments.files, arguments.lang)
    files = []
    for item in loaded:
        progress = Progress(arguments)
        sizes = read_sizes(item.model, arguments.size) if arguments.size is not None else None
        results = search(item.model, arguments.depth, limits(arguments), sizes, progress)
        if not arguments.no_queries:
            results += check_traces(item.model, limits(arguments), sizes, progress)
        progress.done()
        judgement = judged(item.model, results, limits(arguments), everywhere=False)
        details = evidence_text(item.model, [result for result in results if result.kind == "safety"])
        saved = save_first_trace(item.model, results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
        files.append(file_report(item.model, "check", judgement.results, details, saved, remarks=judgement.remarks))
    return finish(arguments, files, loaded, started)


def read_sizes(model: RelationalModel, text: str, default: int | None = None) -> dict[Any, int]:
    """`node=3,value=2` as sizes of the model's sorts; every uninterpreted sort needs one, unless there is a default."""
    sorts = {sort.name: sort for sort in model.sorts if sort.uninterpreted}
    sizes: dict[Any, int] = {}
    for part in filter(str.strip, text.split(",")):
        name, _, number = part.partition("=")
        if name.strip() not in sorts:
            raise UsageError(f"--size: there is no sort {name.strip()!r}; the sorts are {', '.join(sorts)}")
        if not number.strip().isdigit() or int(number) == 0:
            raise UsageError(f"--size: {part!r} is not of the form SORT=N with N from 1 up")
        sizes[sorts[name.strip()]] = int(number)
    missing = [name for name, sort in sorts.items() if sort not in sizes]
    if missing and default is None:
        raise UsageError(f"--size: no size is given for {', '.join(missing)}")
    return {sort: sizes.get(sort, default or 1) for sort in sorts.values()}


def simulate(arguments: argparse.Namespace) -> int:
    """Random runs of an instance."""
    from quorate.apps.cli.exploring import simulate as run_simulate

    return run_simulate(arguments)


def verify(arguments: argparse.Namespace) -> int:
    """Is each protocol right, whatever its family and size?"""
    from quorate.apps.cli.verifying import run as run_verify

    return run_verify(arguments)


def ui(arguments: argparse.Namespace) -> int:
    """The same in a browser."""
    from quorate.apps.cli.library import run_ui

    return run_ui(arguments)


def new(arguments: argparse.Namespace) -> int:
    """Write a starter protocol."""
    from quorate.apps.cli.library import run_new

    return run_new(arguments)


def library(arguments: argparse.Namespace) -> int:
    """The protocols that come with Quorate."""
    from quorate.apps.cli.library import run_library

    return run_library(arguments)


def recheck(arguments: argparse.Namespace) -> int:
    """Re-establish a certificate with the independent checker."""
    from quorate.apps.cli.rechecking import run as run_recheck

    return run_recheck(arguments)


def trace(arguments: argparse.Namespace) -> int:
    """Show, replay, minimise, evaluate an expression over, or draw a saved trace."""
    from quorate.proof import itf
    from quorate.proof.evaluate import show_values
    from quorate.proof.show import show_sequence, show_trace
    from quorate.proof.traces import ReplayError, replay

    loaded = load_any(arguments.protocol)
    if isinstance(loaded, LoadedProcess):
        from quorate.apps.cli import processes

        return processes.trace(arguments)
    model = loaded.model
    try:
        found = itf.from_itf(model, itf.load(arguments.trace))
        if arguments.action == "replay":
            replay(model, found)
            steps = f"{len(found.steps)} step{'s' * (len(found.steps) != 1)}"
            claim = f"; the last state violates {found.violated}" if found.violated else ""
            what = "run" if found.kind == "run" else "counterexample to induction"
            print(f"{arguments.trace}: the {what} of {steps} replays{claim}")
            return 0
        replay(model, found)
    except itf.TraceFormatError as problem:
        raise UsageError(f"{arguments.trace}: {problem}") from None
    except ReplayError as problem:
        print(f"{arguments.trace}: the trace does not replay: {problem}", file=sys.stderr)
        return 1
    if arguments.action == "show":
        print(show_trace(model, found), end="")
    elif arguments.action == "sequence":
        lane = next((sort for sort in model.sorts if sort.name == arguments.lane), None)
        if arguments.lane and lane is None:
            raise UsageError(f"--lane: there is no sort {arguments.lane!r}")
        print(show_sequence(model, found, lane), end="")
    elif arguments.action == "eval":
        if arguments.expression is None:
            raise UsageError("eval needs an expression: quorate trace eval TRACE FILE 'EXPR'")
        print(show_values(model, found, arguments.expression), end="")
    else:
        from quorate.methods.minimise import minimise

        if found.kind != "run" or found.violated is None:
            raise UsageError("only runs that violate a property can be minimised")
        smaller = minimise(model, found)
        if arguments.output:
            writing(arguments.output, lambda: itf.save(arguments.output, itf.to_itf(model, smaller)))
        print(show_trace(model, smaller), end="")
    return 0


def explain_code(arguments: argparse.Namespace) -> int:
    """What a diagnostic code means."""
    if arguments.code is None:
        print("\n".join(f"{code}  {title}" for code, (title, _) in CATALOGUE.items()))
        return 0
    text = explain(arguments.code)
    if text is None:
        raise UsageError(f"there is no diagnostic {arguments.code!r}; codes look like Q0201")
    print(text)
    return 0
