"""`quorate verify`: one question about files of any family, a line per property; folders and patterns run like tests.

What is computed is in `strategy`; here it is asked, watched and shown.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quorate.apps.cli import reports
from quorate.apps.cli.commands import UsageError, limits, writing
from quorate.apps.cli.reports import FileReport, Report
from quorate.apps.cli.resuming import entry, known
from quorate.apps.cli.state import State, load_state, save_state
from quorate.apps.cli.terminal import visible
from quorate.files import write_atomically
from quorate.lang import Loaded, LoadedProcess, LoadedRounds, load_model
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.relational import RelationalModel
from quorate.models.rounds import RoundModel
from quorate.proof.process_runs import ProcessRun
from quorate.proof.traces import Trace
from quorate.proof.verdicts import Result
from quorate.strategy import Answer, Event, Proof, Question, borrowed, methods_for, verify

SUFFIXES = (".ivy", ".pyv", ".mercury", ".rounds")


@dataclass
class Verified:
    """A file, its answer and its report."""

    model: Model
    answer: Answer
    report: FileReport
    remarks: tuple[str, ...] = ()


def run(arguments: argparse.Namespace) -> int:
    """Verify every file."""
    started = time.monotonic()
    paths = expand(arguments.files)
    if arguments.method == ["heardof"]:
        from quorate.apps.cli import rounds

        return rounds.run(arguments)
    if len(paths) > 1:
        for name in ("certificate", "trace"):
            if getattr(arguments, name):
                raise UsageError(f"--{name} needs a single FILE")
    loaded = _load_all(paths, arguments.lang)
    for item in loaded:
        known = [method.name for method in methods_for(item.model)]
        if arguments.method and not set(arguments.method) & set(known):
            assert item.model.source is not None
            raise UsageError(f"--method: for {item.model.source.path} there are {', '.join(known)}")
    done: list[Verified] = []
    interrupted = False
    state = load_state(arguments.resume, "verify") if arguments.resume else {}
    text = arguments.output_format == "text"
    if text:
        for item in loaded:
            for warning in item.warnings:
                print(warning.render() + "\n")
    proved: list[tuple[RelationalModel, Proof]] = []
    loaded.sort(key=lambda item: not getattr(item.model, "invariants", ()))
    for number, (model, remarks) in enumerate(_with_implementations(loaded), 1):
        display = open_display(arguments, model, number, len(loaded))
        answer = _ask(model, arguments, state, proved, display)
        display.close(answer)
        verified = Verified(model, answer, _report(model, answer, arguments), remarks)
        verified.report = _with_details(verified, arguments, several=len(paths) > 1)
        done.append(verified)
        if text:
            print("\n\n".join(["\n".join(reports.file_rows(verified.report, True)), *verified.report.details]) + "\n")
            sys.stdout.flush()
        if answer.interrupted:
            interrupted = True
            break
    warnings = tuple(warning for item in loaded for warning in item.warnings)
    config = {
        name: value
        for name, value in sorted(vars(arguments).items())
        if name not in ("verb", "files", "output_format", "quiet")
    }
    report = Report("verify", config, tuple(item.report for item in done), warnings, time.monotonic() - started)
    if arguments.report:
        from quorate.apps.web.page import report_page

        page = report_page(done, report)
        _write(arguments.report, page)
        if text:
            print(f"report saved to {arguments.report}\n")
    print(reports.total(report) if text else reports.render(report, arguments.output_format))
    return 130 if interrupted else report.exit_code


def expand(names: Sequence[str]) -> list[str]:
    """Files as given; of folders, all protocols in them; patterns as a shell would, `**` included."""
    found: list[str] = []
    for name in names:
        if Path(name).is_dir():
            inside = sorted(str(path) for path in Path(name).rglob("*") if path.suffix in SUFFIXES and path.is_file())
            if not inside:
                raise UsageError(f"there is no protocol in {name} ({', '.join(SUFFIXES)})")
            found += inside
        elif not Path(name).exists() and any(character in name for character in "*?["):
            inside = sorted(path for path in glob.glob(name, recursive=True) if Path(path).is_file())
            if not inside:
                raise UsageError(f"no file matches {name}")
            found += inside
        else:
            found.append(name)
    return list(dict.fromkeys(found))


def _load_all(paths: Sequence[str], language: Any) -> list[Loaded | LoadedProcess | LoadedRounds]:
    loaded: list[Loaded | LoadedProcess | LoadedRounds] = []
    found: list[Diagnostic] = []
    for path in paths:
        try:
            loaded.append(load_model(path, language))
        except LanguageError as problem:
            found += problem.diagnostics
    if found:
        raise LanguageError(tuple(found))
    return loaded


def _with_implementations(
    loaded: Sequence[Loaded | LoadedProcess | LoadedRounds],
) -> Iterator[tuple[Model, tuple[str, ...]]]:
    """Every model; after a Mercury program, the protocols that it names as implementations of its agreements."""
    for item in loaded:
        yield item.model, ()
        if isinstance(item.model, ProcessModel):
            assert item.model.source is not None
            for name, agreements in item.model.implementations.items():
                protocol = load_model(Path(item.model.source.path).parent / name).model
                yield protocol, (f"this protocol is to implement {', '.join(agreements)} of {item.model.name}",)


def _question(model: Model, arguments: argparse.Namespace) -> Question:
    return Question(model, arguments.time, limits(arguments), arguments.n)


def _ask(
    model: Model,
    arguments: argparse.Namespace,
    state: State,
    proved: list[tuple[RelationalModel, Proof]],
    display: Display,
) -> Answer:
    """The answer about a model, with the help of what is known.

    With --resume, what an earlier run has settled is established again instead of found.  Files that bring invariants come
    first, and where another file is the same protocol without them, their proof is tried on it before anything else.
    """
    assert model.source is not None
    question = _question(model, arguments)
    saved = state.get(model.source.sha256)
    findings = known(question, saved) if saved else []
    if isinstance(model, RelationalModel) and not findings and not arguments.method:
        findings = [borrowed(question, lender, proof, lambda text: None) for lender, proof in proved]
    answer = verify(question, arguments.method or (), display.see, findings)
    if isinstance(model, RelationalModel):
        proved += [(model, proof) for proof in answer.proofs]
    if arguments.resume:
        state[model.source.sha256] = entry(model, answer)
        save_state(arguments.resume, "verify", state)
    return answer


def _report(model: Model, answer: Answer, arguments: argparse.Namespace) -> FileReport:
    assert model.source is not None
    expected = tuple(reports.expected_verdict(model, "verify", result) for result in answer.results)
    statistics = {
        "invariants": [
            {"name": lemma.name, "formula": lemma.formula, "needed_by": list(lemma.needed_by)}
            for proof in answer.proofs
            for lemma in proof.lemmas
        ],
        "obligations": [proof.obligations for proof in answer.proofs],
        "established": list(answer.established),
        "story": [
            {"seconds": round(event.seconds, 2), "method": event.method, "event": event.kind, "text": event.text}
            for event in answer.events
        ],
    }
    path, digest = model.source.path, model.source.sha256
    return FileReport(path, digest, answer.results, expected, (), {}, statistics, answer.remarks)


def _with_details(verified: Verified, arguments: argparse.Namespace, several: bool) -> FileReport:
    """The report with what stands below its rows: traces, invariants, where things were saved, and the story."""
    report, answer, model = verified.report, verified.answer, verified.model
    surprising = any(not reports.fits(r.verdict, e) for r, e in zip(report.results, report.expected, strict=True))
    details = list(verified.remarks)
    saved: dict[str, str] = {}
    if not several or surprising:
        details += [_invariants(answer)] if answer.proofs else []
        details += evidence(model, answer.results)
    if arguments.explain:
        details.append(_story(answer, model, arguments.method))
    if arguments.trace:
        saved |= save_trace(model, answer.results, arguments.trace)
        details += [f"trace saved to {path}" for path in saved.values()]
    if arguments.certificate:
        for number, proof in enumerate(answer.proofs, 1):
            path = arguments.certificate
            if number > 1:
                path = str(Path(path).with_name(f"{Path(path).stem}.{number}{Path(path).suffix}"))
            _write(path, json.dumps(proof.document(model), indent=1) + "\n")
            saved.setdefault("certificate", path)
            details.append(f"certificate saved to {path}; `quorate recheck` re-establishes it")
    if answer.interrupted:
        details.append(f"interrupted; this is what is established so far{_how_to_go_on(arguments)}")
    return replace(report, details=tuple(details), saved=saved)


def _write(path: str, text: str) -> None:
    writing(path, lambda: write_atomically(path, text))


def _how_to_go_on(arguments: argparse.Namespace) -> str:
    return f"; the same command goes on from {arguments.resume}" if arguments.resume else ""


def _invariants(answer: Answer) -> str:
    """The invariants of the proofs, each with the transitions that need it."""
    lines: list[str] = []
    for proof in answer.proofs:
        names = ", ".join(proof.properties)
        if proof.words:
            lines += proof.words
            continue
        count = len(proof.lemmas)
        lines.append(f"{names}: proved with {count} invariant{'s' * (count != 1)}")
        for lemma in proof.lemmas if proof.found else ():
            lines.append(f"  [{lemma.name}] {lemma.formula}")
            if lemma.needed_by:
                lines.append(f"      needed by {', '.join(lemma.needed_by)}")
        if not count:
            lines[-1] = f"{names}: inductive without further invariants"
    return "\n".join(lines)


def evidence(model: Model, results: Sequence[Result]) -> list[str]:
    """The runs behind the verdicts, as text."""
    shown = []
    for result in results:
        name = reports.shown_name(result.property, result.span)
        text = ""
        if isinstance(result.evidence, Trace) and isinstance(model, RelationalModel):
            from quorate.proof.show import show_trace

            text = show_trace(model, result.evidence)
        elif isinstance(result.evidence, ProcessRun) and isinstance(model, ProcessModel):
            from quorate.proof.process_runs import show_run

            text = show_run(model, result.evidence)
        elif result.rounds is not None and isinstance(model, RoundModel):
            from quorate.proof.round_traces import show

            text = show(model, result.rounds)
        if text:
            shown.append(f"{name}: {result.verdict}\n{text.rstrip()}")
    return shown


def save_trace(model: Model, results: Sequence[Result], path: str) -> dict[str, str]:
    """Save the first run as ITF."""
    from quorate.apps.cli.commands import save_first_trace

    if isinstance(model, RelationalModel):
        return save_first_trace(model, results, path)
    if isinstance(model, RoundModel):
        from quorate.apps.cli.rounds import save_first

        return save_first(model, results, path)
    from quorate.apps.cli import processes

    return processes.save_first(model, results, path)


def _story(answer: Answer, model: Model, only: Sequence[str] | None) -> str:
    """Which methods were chosen and why, and how each of them fared."""
    lines = ["how this was found"]
    for method in methods_for(model):
        if only and method.name not in only:
            continue
        mine = [event for event in answer.events if event.method == method.name]
        aim = "looks for violations" if method.aim == "violation" else "looks for a proof"
        lines.append(f"  {method.name}: {method.words} ({aim})")
        if not mine:
            lines.append("      was not needed")
        for event in mine:
            word = {"start": "starts", "found": "finds", "end": "ends", "stop": "is stopped"}[event.kind]
            what = "" if event.kind == "start" and event.text == method.words else f": {event.text}"
            lines.append(f"      {event.seconds:6.1f} s  {word}{what}")
    return "\n".join(lines + [f"  established: {text}" for text in answer.established])


# -- progress --------------------------------------------------------------------------------------------------------------


class Display:
    """Nobody watches."""

    def see(self, event: Event) -> None:
        pass

    def close(self, answer: Answer) -> None:
        pass


@dataclass
class Lines(Display):
    """A line per event that matters, for logs."""

    path: str

    def see(self, event: Event) -> None:
        if event.kind != "doing":
            text = f"{self.path}: {event.seconds:.1f} s: {event.method} {event.kind}: {event.text}"
            print(visible(text), file=sys.stderr)


@dataclass
class NdJson(Display):
    """Every event as a line of JSON, for tools."""

    path: str

    def see(self, event: Event) -> None:
        results = [{"property": result.property, "verdict": result.verdict} for result in event.results]
        document = {
            "file": self.path,
            "seconds": round(event.seconds, 3),
            "event": event.kind,
            "method": event.method,
            "text": event.text,
            **({"results": results} if results else {}),
        }
        print(visible(json.dumps(document, ensure_ascii=False)), file=sys.stderr, flush=True)

    def close(self, answer: Answer) -> None:
        results = [{"property": result.property, "verdict": result.verdict} for result in answer.results]
        document = {"file": self.path, "seconds": round(answer.seconds, 3), "event": "answer", "results": results}
        print(visible(json.dumps(document, ensure_ascii=False)), file=sys.stderr, flush=True)


@dataclass
class Live(Display):
    """What every method is doing right now, a line each, rewritten in place."""

    title: str
    width: int
    doing: dict[str, str] = field(default_factory=dict)
    best: str = ""
    shown: int = 0
    shown_at: float = 0.0

    def see(self, event: Event) -> None:
        if event.kind == "end":
            self.doing.pop(event.method, None)
        elif event.kind == "found":
            self.best = event.text
        else:
            self.doing[event.method] = event.text
        now = time.monotonic()
        if event.kind != "doing" or now - self.shown_at > 0.1:
            self.shown_at = now
            self.draw(event.seconds)

    def draw(self, seconds: float) -> None:
        lines = [f"{self.title}  {seconds:.0f} s{f'  so far: {self.best}' if self.best else ''}"]
        lines += [f"  {name:<10} {text}" for name, text in self.doing.items()]
        self.clear()
        print("\n".join(visible(line)[: self.width - 1] for line in lines), file=sys.stderr, flush=True)
        self.shown = len(lines)

    def clear(self) -> None:
        if self.shown:
            print(f"\x1b[{self.shown}A\x1b[J", end="", file=sys.stderr, flush=True)
        self.shown = 0

    def close(self, answer: Answer) -> None:
        self.clear()


def open_display(arguments: argparse.Namespace, model: Model, number: int, total: int) -> Display:
    """The display that was asked for: by default live on a terminal, lines in CI, and else none."""
    assert model.source is not None
    path = model.source.path
    kind = arguments.progress
    if kind == "auto":
        kind = "live" if sys.stderr.isatty() else "lines" if os.environ.get("CI") else "none"
    if arguments.quiet or kind == "none":
        return Display()
    if kind == "live":
        import shutil

        title = f"[{number}/{total}] {path}" if total > 1 else path
        return Live(title, shutil.get_terminal_size().columns)
    return NdJson(path) if kind == "events" else Lines(path)
