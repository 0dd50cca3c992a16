"""What the verbs print: one report, many renderings (text, JSON, JUnit, SARIF, GitHub annotations)."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from quorate import __version__
from quorate.lang.diagnostics import Diagnostic
from quorate.models.relational import RelationalModel
from quorate.models.source import Span
from quorate.proof.vacuity import Remark
from quorate.proof.verdicts import Result, Verdict, worst

if TYPE_CHECKING:
    from quorate.models.process import ProcessModel
    from quorate.models.rounds import RoundModel

MARKS: dict[Verdict, str] = {"proved": "✓", "violated": "✗", "not-inductive": "✗", "unknown": "?"}


@dataclass(frozen=True)
class FileReport:
    """The results about one file, with what the file expected of each."""

    path: str
    sha256: str
    results: tuple[Result, ...]
    expected: tuple[Verdict, ...]
    details: tuple[str, ...] = ()
    """What people read below the results: traces and where things were saved."""
    saved: Mapping[str, str] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    """What was counted on the way, for the JSON document."""
    remarks: tuple[Remark, ...] = ()
    """What makes the verdicts say less than they seem to."""


@dataclass(frozen=True)
class Report:
    """One run of a verb over some files."""

    command: str
    config: Mapping[str, Any]
    files: tuple[FileReport, ...]
    warnings: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return worst([result.verdict for file in self.files for result in file.results])

    @property
    def exit_code(self) -> int:
        """0 if every verdict is as expected, 1 if one differs, 3 if the only differences are open questions."""
        pairs = [pair for file in self.files for pair in zip(file.results, file.expected, strict=True)]
        surprising = {result.verdict for result, expected in pairs if not fits(result.verdict, expected)}
        if not surprising:
            return 0 if pairs else 3
        return 3 if surprising == {"unknown"} else 1


def fits(verdict: str, expected: str) -> bool:
    """Is a verdict what was expected?  A proof of what was thought to stay open is no disappointment."""
    return verdict == expected or (expected == "unknown" and verdict == "proved")


def expected_verdict(model: RelationalModel | ProcessModel | RoundModel, verb: str, result: Result) -> Verdict:
    """What the file expects of a property: the most specific line that speaks of it, or else that it holds.

    What it expects of `live`, it expects of `verify` as well, which asks about liveness in the same way.
    """
    if verb == "verify" and result.kind == "liveness":
        verb = "live"
    best: tuple[int, Verdict] = (0, "proved")
    for item in model.expectations:
        if item.verb not in (None, verb) or item.verdict.startswith("states="):
            continue
        if item.target == result.property:
            weight = 3
        elif item.target in ("safety", "liveness") and result.kind == item.target:
            weight = 1
        else:
            continue
        weight += 4 if item.verb == verb else 0
        if weight >= best[0]:
            best = (weight, item.verdict)  # type: ignore[assignment]
    return best[1]


def cpu_seconds() -> float:
    """Processor time of this process and its finished children."""
    return sum(os.times()[:4])


def peak_mb() -> float | None:
    """Largest resident size of this process or one of its children, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    usage = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(max(item.ru_maxrss for item in usage) / unit, 1)


def render(report: Report, output_format: str) -> str:
    """The report in the given format."""
    renderers = {"text": text, "json": to_json, "junit": junit, "sarif": sarif, "github": github}
    return renderers[output_format](report)


def shown_name(name: str, span: Span | None) -> str:
    """The name of a property, with its line if the file does not give it that name."""
    if span is None:
        return name
    if span.source.text[span.start : span.end] == name:
        return name
    label = re.escape(name.rpartition(".")[2])
    named = re.search(rf"\[\s*{label}\s*\]", span.source.text[span.start : span.end])
    return name if named else f"{name} (line {span.line})"


def text(report: Report) -> str:
    """For people: a line per property, then the evidence, then one line that sums it up."""
    blocks = [warning.render() for warning in report.warnings]
    for file in report.files:
        blocks.append("\n".join(file_rows(file)))
        blocks += file.details
    return "\n\n".join([*blocks, total(report)])


def file_rows(file: FileReport, how: bool = False) -> list[str]:
    """The name of the file, and a line per property; on request with how it was settled, and in what time."""
    remarks = [f"  ! {item.text}" for item in file.remarks]
    if not file.results:
        return [file.path, "  the file states no property", *remarks]
    names = [shown_name(result.property, result.span) for result in file.results]
    width = max(map(len, names))
    room = max((len(result.verdict) for result in file.results if result.reason), default=0)
    rows = [file.path]
    for name, result, expected in zip(names, file.results, file.expected, strict=True):
        reason = result.reason.removeprefix(f"{result.verdict} ")
        if how and result.verdict != "unknown":
            reason = "; ".join(filter(None, (result.method, result.scope, reason)))
        row = f"  {MARKS[result.verdict]} {name:<{width}}  {result.verdict:<{room}}  {f'({reason})' if reason else ''}"
        remark = (
            "" if expected == "proved" else " as expected" if result.verdict == expected else f" expected {expected}"
        )
        seconds = f"  ({result.seconds:.1f} s)" if how else ""
        rows.append(row.rstrip() + (f"  —{remark}" if remark else "") + seconds)
    return rows + remarks


def total(report: Report) -> str:
    counts = Counter(result.verdict for file in report.files for result in file.results)
    number = sum(counts.values())
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in MARKS if counts[verdict])
    files = f" in {len(report.files)} files" if len(report.files) > 1 else ""
    properties = f"{number} propert{'y' if number == 1 else 'ies'}{files}"
    pairs = [pair for file in report.files for pair in zip(file.results, file.expected, strict=True)]
    surprises = sum(not fits(result.verdict, expected) for result, expected in pairs)
    several = report.command == "verify" and len(report.files) > 1
    remark = f"; {surprises} not as expected" if surprises and several else ""
    warnings = sum(len(file.remarks) for file in report.files)
    warned = f"; {warnings} warning{'s' * (warnings != 1)}" if warnings else ""
    return f"{properties}{': ' if listed else ''}{listed}{remark}{warned} ({report.seconds:.1f} s)"


def tool() -> dict[str, Any]:
    """Who says so: the versions of the tool and of the solvers."""
    from importlib.metadata import version

    return {"name": "quorate", "version": __version__, "solvers": {"z3": version("z3-solver"), "cvc5": version("cvc5")}}


JSON_FIELDS = {
    "tool": "`name`, `version`, and the versions of the `solvers`",
    "file": "the protocol; `sha256` is the digest of its text, `statistics` what was counted on the way",
    "files": "instead, where there are several: a list of the same",
    "command": "the verb",
    "config": "every option with its value, so that the run can be repeated",
    "seed": "the random seed",
    "verdict": "the gravest of all: `proved`, `unknown`, `not-inductive` or `violated`",
    "results[].file": "where the property stands",
    "results[].property": "its name",
    "results[].line": "its line",
    "results[].kind": "`safety`, `invariant`, `theorem`, `trace`, `deadlock` or `count`",
    "results[].verdict": "`proved`, `violated`, `not-inductive` or `unknown`",
    "results[].expected": "what the file expects",
    "results[].method": "what found the answer",
    "results[].scope": "the sizes for which it holds",
    "results[].seconds": "by the clock, until this was settled",
    "results[].cpu_seconds": "of all processes, for the whole command",
    "results[].states": "how many were looked at, where states are",
    "results[].peak_mb": "of the largest process",
    "results[].certificate": "the file it was written to, if one was asked for",
    "results[].trace": "the file it was written to, if one was asked for",
    "results[].reason": "why, or what backs it",
    "warnings": "what makes the verdicts say less than they seem to: `file`, `line`, `code`, `kind` (`model`, `transition`,"
    " `transitions`, `premise`, `location`, `decision`), `subject` (the transition, property or location), `certain` (it follows"
    " from the axioms and invariants; otherwise it was seen in all `states` states of the instances of `scope`), `message`",
    "diagnostics": "warnings about the texts: `code`, `severity`, `message`, `file`, `line`, `column`, `notes`, `fix`",
}
"""The document that `--json` prints; docs/json.md is made from this."""


def to_json(report: Report) -> str:
    """Exactly one JSON document."""
    results = [
        {
            "file": file.path,
            "property": result.property,
            "line": result.span.line if result.span else None,
            "kind": result.kind,
            "verdict": result.verdict,
            "expected": expected,
            "method": result.method,
            "scope": result.scope,
            "seconds": round(result.seconds, 3),
            "cpu_seconds": round(cpu_seconds(), 3),
            "states": result.states,
            "peak_mb": peak_mb(),
            "certificate": file.saved.get("certificate") if result.verdict == "proved" else None,
            "trace": file.saved.get(f"trace:{result.property}"),
            "reason": result.reason,
        }
        for file in report.files
        for result, expected in zip(file.results, file.expected, strict=True)
    ]
    files = [
        {"file": file.path, "sha256": file.sha256, **({"statistics": file.statistics} if file.statistics else {})}
        for file in report.files
    ]
    document: dict[str, Any] = {
        "tool": tool(),
        **(files[0] if len(files) == 1 else {"files": files}),
        "command": report.command,
        "config": dict(report.config),
        "seed": report.config.get("seed", 0),
        "verdict": report.verdict,
        "results": results,
        "warnings": [remark_json(file.path, item) for file in report.files for item in file.remarks],
        "diagnostics": [diagnostic_json(warning) for warning in report.warnings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def remark_json(path: str, remark: Remark) -> dict[str, Any]:
    return {
        "file": path,
        "line": remark.span.line if remark.span else None,
        "code": remark.code,
        "kind": remark.kind,
        "subject": remark.subject,
        "certain": remark.certain,
        "scope": remark.scope,
        "states": remark.states,
        "message": remark.message,
    }


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": diagnostic.span.source.path,
        "line": diagnostic.span.line,
        "column": diagnostic.span.column,
        "notes": list(diagnostic.notes),
        "fix": diagnostic.fix,
    }


def junit(report: Report) -> str:
    """JUnit XML: a test case per property; what is unknown is an error, never a pass."""
    root = ElementTree.Element("testsuites", name="quorate")
    for file in report.files:
        suite = ElementTree.SubElement(root, "testsuite", name=file.path, tests=str(len(file.results)))
        for result, expected in zip(file.results, file.expected, strict=True):
            case = ElementTree.SubElement(
                suite, "testcase", name=result.property, classname=report.command, time=f"{result.seconds:.3f}"
            )
            if not fits(result.verdict, expected):
                tag = "error" if result.verdict == "unknown" else "failure"
                message = f"{result.verdict}, expected {expected}: {result.reason}"
                ElementTree.SubElement(case, tag, message=message).text = "\n\n".join(file.details)
        if file.remarks:
            ElementTree.SubElement(suite, "system-out").text = "\n".join(f"warning: {r.text}" for r in file.remarks)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _position(span: Span | None) -> tuple[int, int]:
    return (span.line, span.column) if span else (1, 1)


def sarif(report: Report) -> str:
    """SARIF 2.1.0: a result per property without its expected verdict, and per warning."""
    found = []
    for file in report.files:
        for result, expected in zip(file.results, file.expected, strict=True):
            if not fits(result.verdict, expected):
                message = f"{result.property} is {result.verdict}, expected {expected}: {result.reason}"
                level = "warning" if result.verdict == "unknown" else "error"
                found.append(_sarif_result(result.verdict, level, message, file.path, _position(result.span)))
        for remark in file.remarks:
            found.append(_sarif_result(remark.code, "warning", remark.message, file.path, _position(remark.span)))
    for item in report.warnings:
        position = (item.span.line, item.span.column)
        found.append(_sarif_result(item.code, item.severity, item.message, item.span.source.path, position))
    return sarif_document(found)


def _sarif_result(rule: str, level: str, message: str, path: str, position: tuple[int, int]) -> dict[str, Any]:
    region = {"startLine": position[0], "startColumn": position[1]}
    location = {"physicalLocation": {"artifactLocation": {"uri": path}, "region": region}}
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [location]}


def sarif_document(found: Sequence[dict[str, Any]]) -> str:
    rules = [{"id": rule} for rule in sorted({item["ruleId"] for item in found})]
    driver = {"name": "quorate", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": list(found)}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def github(report: Report) -> str:
    """GitHub workflow commands that annotate the lines concerned."""
    lines = [github_annotation(warning) for warning in report.warnings]
    for file in report.files:
        for result, expected in zip(file.results, file.expected, strict=True):
            if not fits(result.verdict, expected):
                line, column = _position(result.span)
                level = "warning" if result.verdict == "unknown" else "error"
                message = f"{result.property} is {result.verdict}, expected {expected}: {result.reason}"
                lines.append(_annotation(level, file.path, line, column, f"quorate {report.command}", message))
        for remark in file.remarks:
            line, column = _position(remark.span)
            lines.append(_annotation("warning", file.path, line, column, f"quorate ({remark.code})", remark.message))
    return "\n".join(lines)


def github_annotation(item: Diagnostic) -> str:
    title = f"quorate ({item.code})"
    return _annotation(item.severity, item.span.source.path, item.span.line, item.span.column, title, item.message)


def _annotation(level: str, path: str, line: int, column: int, title: str, message: str) -> str:
    def escape(text: str, extra: Mapping[str, str]) -> str:
        for character, code in {"%": "%25", "\r": "%0D", "\n": "%0A", **extra}.items():
            text = text.replace(character, code)
        return text

    place = {"file": path, "line": str(line), "col": str(column), "title": title}
    fields = ",".join(f"{name}={escape(value, {':': '%3A', ',': '%2C'})}" for name, value in place.items())
    return f"::{level} {fields}::{escape(message, {})}"


def diagnostics(found: Sequence[Diagnostic], output_format: str, files: Sequence[str] = ()) -> str:
    """Diagnostics alone: of files that could not be read, or of files that are only read."""
    if output_format == "json":
        document = {"tool": tool(), "verdict": None, "results": [], "diagnostics": [diagnostic_json(d) for d in found]}
        return json.dumps(document, indent=2, ensure_ascii=False)
    if output_format == "github":
        return "\n".join(github_annotation(item) for item in found)
    if output_format == "sarif":
        return sarif_document(
            [
                _sarif_result(d.code, d.severity, d.message, d.span.source.path, (d.span.line, d.span.column))
                for d in found
            ]
        )
    if output_format == "junit":
        root = ElementTree.Element("testsuites", name="quorate")
        suite = ElementTree.SubElement(root, "testsuite", name="diagnostics", tests=str(len(files) + len(found)))
        for path in files:
            ElementTree.SubElement(suite, "testcase", name=path, classname="parse")
        for item in found:
            case = ElementTree.SubElement(suite, "testcase", name=f"{item.span}", classname=item.code)
            if item.severity == "error":
                ElementTree.SubElement(case, "error", message=item.message).text = item.render()
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return "\n\n".join(item.render() for item in found)
