"""What the verbs print: one report in all formats, and exit codes from verdicts and expectations."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from lang.reading import model, problems
from quorate.apps.cli import reports
from quorate.apps.cli.reports import FileReport, Report, expected_verdict, shown_name
from quorate.lang.diagnostics import Diagnostic
from quorate.models.source import Source, Span
from quorate.proof.vacuity import Remark
from quorate.proof.verdicts import Result, Verdict

SOURCE = Source("lock.pyv", "safety [mutex] p(X)\ninvariant q(X)\n")
NAMED = Span(SOURCE, 0, 19)
UNNAMED = Span(SOURCE, 20, 34)


def result(name: str = "mutex", verdict: Verdict = "proved", reason: str = "", span: Span | None = NAMED) -> Result:
    return Result(name, "safety", verdict, "induction", "all sizes", reason, None, span, 0.25)


def report(
    *pairs: tuple[Result, Verdict], details: tuple[str, ...] = (), warnings: tuple[Diagnostic, ...] = ()
) -> Report:
    results, expected = tuple(item for item, _ in pairs), tuple(item for _, item in pairs)
    file = FileReport(
        "lock.pyv", "00ff", results, expected, details, {"certificate": "c.json", "trace:mutex": "t.json"}
    )
    return Report("induct", {"seed": 7, "jobs": 1}, (file,), warnings, 1.25)


# -- exit codes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("proved", "proved")], 0),
        ([("violated", "violated"), ("unknown", "unknown"), ("not-inductive", "not-inductive")], 0),
        ([("violated", "proved")], 1),
        ([("not-inductive", "proved")], 1),
        ([("proved", "violated")], 1),
        ([("violated", "not-inductive")], 1),
        ([("unknown", "proved")], 3),
        ([("unknown", "violated"), ("proved", "proved")], 3),
        ([("unknown", "proved"), ("violated", "proved")], 1),
        ([], 3),
    ],
)
def test_exit_codes(pairs: list[tuple[Verdict, Verdict]], expected: int) -> None:
    assert report(*[(result(verdict=verdict), wanted) for verdict, wanted in pairs]).exit_code == expected


def test_the_verdict_is_the_worst() -> None:
    assert report((result(), "proved"), (result(verdict="unknown"), "proved")).verdict == "unknown"
    assert report((result(verdict="violated"), "proved"), (result(verdict="unknown"), "proved")).verdict == "violated"
    assert report().verdict == "unknown"


@pytest.mark.parametrize(
    ("lines", "verb", "kind", "expected"),
    [
        ([], "induct", "safety", "proved"),
        (["safety violated"], "induct", "safety", "violated"),
        (["safety violated"], "induct", "invariant", "proved"),
        (["safety violated", "[mutex] unknown"], "induct", "safety", "unknown"),
        (["[mutex] unknown", "safety violated"], "induct", "safety", "unknown"),
        (["[mutex] unknown", "induct violated"], "induct", "safety", "violated"),
        (["[mutex] unknown", "induct violated"], "check", "safety", "unknown"),
        (["induct violated", "induct [mutex] proved"], "induct", "safety", "proved"),
        (["check node=2 states=3"], "check", "safety", "proved"),
        (["safety violated", "safety unknown"], "check", "safety", "unknown"),
        (["[other] violated"], "induct", "safety", "proved"),
    ],
)
def test_the_most_specific_expectation_counts(lines: list[str], verb: str, kind: str, expected: str) -> None:
    found = model("safety [mutex] flag\ninvariant [other] flag\n" + "".join(f"# expect: {line}\n" for line in lines))
    item = Result("mutex", kind, "proved", "induction", "all sizes")  # type: ignore[arg-type]
    assert expected_verdict(found, verb, item) == expected


# -- text ----------------------------------------------------------------------------------------------------------------


def test_names() -> None:
    assert shown_name("mutex", NAMED) == "mutex"
    assert shown_name("invariant_1", UNNAMED) == "invariant_1 (line 2)"
    assert shown_name("lock.mutex", NAMED) == "lock.mutex"
    assert shown_name("mutex", None) == "mutex"


def test_text() -> None:
    text = reports.render(
        report(
            (result(), "proved"),
            (result("invariant_1", "not-inductive", "not preserved by take", UNNAMED), "proved"),
            (result("third", "violated", "violated after 2 steps"), "violated"),
            (result("fourth", "unknown", "timeout"), "violated"),
            details=("third: violated\nrun of 2 steps",),
        ),
        "text",
    )
    assert text.splitlines() == [
        "lock.pyv",
        "  ✓ mutex                 proved",
        "  ✗ invariant_1 (line 2)  not-inductive  (not preserved by take)",
        "  ✗ third (line 1)        violated       (after 2 steps)  — as expected",
        "  ? fourth (line 1)       unknown        (timeout)  — expected violated",
        "",
        "third: violated",
        "run of 2 steps",
        "",
        "4 properties: 1 proved, 1 violated, 1 not-inductive, 1 unknown (1.2 s)",
    ]


def test_text_of_several_files() -> None:
    one = FileReport("a.pyv", "", (result(),), ("proved",))
    two = FileReport("b.pyv", "", (), ())
    assert reports.text(Report("induct", {}, (one, two))).splitlines() == [
        "a.pyv",
        "  ✓ mutex  proved",
        "",
        "b.pyv",
        "  the file states no property",
        "",
        "1 property in 2 files: 1 proved (0.0 s)",
    ]


def test_warnings_come_first() -> None:
    warnings = problems("invariant le(X, X)")
    text = reports.text(report((result(), "proved"), warnings=warnings))
    assert text.startswith("test.pyv:12:1: warning[Q0215]: ") and "\n\nlock.pyv\n" in text


# -- machine formats -----------------------------------------------------------------------------------------------------


def test_json() -> None:
    document = json.loads(
        reports.render(report((result(), "proved"), (result("b", "unknown", "timeout"), "proved")), "json")
    )
    assert list(document) == [
        "tool", "file", "sha256", "command", "config", "seed", "verdict", "results", "warnings", "diagnostics"
    ]  # fmt: skip
    assert (document["command"], document["seed"], document["verdict"]) == ("induct", 7, "unknown")
    assert set(document["tool"]["solvers"]) == {"z3", "cvc5"}
    first, second = document["results"]
    assert list(first) == [
        "file", "property", "line", "kind", "verdict", "expected", "method", "scope", "seconds", "cpu_seconds", "states",
        "peak_mb", "certificate", "trace", "reason",
    ]  # fmt: skip
    assert (first["line"], first["certificate"], first["trace"], first["seconds"]) == (1, "c.json", "t.json", 0.25)
    assert (second["certificate"], second["trace"], second["reason"]) == (None, None, "timeout")


def test_json_of_several_files() -> None:
    files = tuple(FileReport(path, path, (result(),), ("proved",)) for path in ("a", "b"))
    document = json.loads(reports.to_json(Report("induct", {}, files)))
    assert document["files"] == [{"file": "a", "sha256": "a"}, {"file": "b", "sha256": "b"}]
    assert [item["file"] for item in document["results"]] == ["a", "b"]
    assert document["seed"] == 0


def test_junit() -> None:
    pairs = [(result(), "proved"), (result("b", "violated", "r <&"), "proved"), (result("c", "unknown", "t"), "proved")]
    root = ElementTree.fromstring(reports.render(report(*pairs, details=("a run",)), "junit"))  # type: ignore[arg-type]
    [suite] = root
    assert (suite.get("name"), suite.get("tests")) == ("lock.pyv", "3")
    passed, failed, unknown = suite
    assert len(passed) == 0 and passed.get("time") == "0.250"
    assert (failed[0].tag, failed[0].get("message"), failed[0].text) == (
        "failure",
        "violated, expected proved: r <&",
        "a run",
    )
    assert unknown[0].tag == "error"


def test_sarif() -> None:
    pairs = [
        (result(), "proved"),
        (result("b", "violated", "r"), "proved"),
        (result("c", "unknown", "t", None), "proved"),
    ]
    document = json.loads(reports.render(report(*pairs, warnings=problems("invariant le(X, X)")), "sarif"))  # type: ignore[arg-type]
    [run] = document["runs"]
    assert [(item["ruleId"], item["level"]) for item in run["results"]] == [
        ("violated", "error"),
        ("unknown", "warning"),
        ("Q0215", "warning"),
    ]
    assert all(item["locations"] for item in run["results"])
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"violated", "unknown", "Q0215"}


def test_github() -> None:
    odd = Result("b", "safety", "violated", "m", "s", "50%\nof it", None, Span(Source("a,b:c.pyv", "x"), 0, 1))
    file = FileReport("a,b:c.pyv", "", (odd, result()), ("proved", "proved"))
    assert reports.render(Report("induct", {}, (file,)), "github") == (
        "::error file=a%2Cb%3Ac.pyv,line=1,col=1,title=quorate induct::b is violated, expected proved: 50%25%0Aof it"
    )
    assert reports.github(report((result(), "proved"))) == ""


# -- diagnostics ---------------------------------------------------------------------------------------------------------


def test_diagnostics_in_every_format() -> None:
    found = problems("invariant le(X, X)\nsafety unknown")
    assert reports.diagnostics(found, "text").count("\n\n") == 1
    document = json.loads(reports.diagnostics(found, "json"))
    assert document["verdict"] is None
    assert [(item["code"], item["severity"], item["line"], item["column"]) for item in document["diagnostics"]] == [
        ("Q0215", "warning", 12, 1),
        ("Q0201", "error", 13, 8),
    ]
    assert reports.diagnostics(found, "github").splitlines() == [
        "::warning file=test.pyv,line=12,col=1,title=quorate (Q0215)::invariant `invariant_1` mentions no mutable symbol",
        "::error file=test.pyv,line=13,col=8,title=quorate (Q0201)::unknown name `unknown`",
    ]
    assert len(json.loads(reports.diagnostics(found, "sarif"))["runs"][0]["results"]) == 2
    suite = ElementTree.fromstring(reports.diagnostics(found, "junit"))[0]
    assert [len(case) for case in suite] == [0, 1]


def test_diagnostics_of_clean_files() -> None:
    assert reports.diagnostics((), "github") == ""
    assert json.loads(reports.diagnostics((), "sarif"))["runs"][0]["results"] == []
    suite = ElementTree.fromstring(reports.diagnostics((), "junit", ["a.pyv", "b.pyv"]))[0]
    assert (suite.get("tests"), [case.get("name") for case in suite]) == ("2", ["a.pyv", "b.pyv"])


def test_measures_are_plausible() -> None:
    assert reports.cpu_seconds() > 0 and reports.peak_mb() > 1


# -- what makes verdicts say less ------------------------------------------------------------------------------------------


def test_remarks_in_every_format() -> None:
    span = Span(Source("lock.pyv", "a\nb\n"), 2, 3)
    seen = Remark("transition", "drop", False, "up to 2 elements of node", 12, span)
    certain = Remark("premise", "mutex", True)
    file = FileReport("lock.pyv", "", (result(),), ("proved",), remarks=(seen, certain))
    whole = Report("induct", {}, (file,))
    first = "drop does not fire in any of the 12 states of the instances with up to 2 elements of node"
    second = "the premise of mutex can never hold, so it says nothing"
    assert reports.text(whole).splitlines()[2:4] == [f"  ! {first} (line 2)", f"  ! {second}"]
    assert reports.text(whole).splitlines()[-1] == "1 property: 1 proved; 2 warnings (0.0 s)"
    listed = json.loads(reports.to_json(whole))["warnings"]
    assert [(item["code"], item["line"], item["certain"], item["message"]) for item in listed] == [
        ("Q0805", 2, False, first),
        ("Q0806", None, True, second),
    ]
    [run] = json.loads(reports.sarif(whole))["runs"]
    assert [(item["ruleId"], item["level"]) for item in run["results"]] == [("Q0805", "warning"), ("Q0806", "warning")]
    assert reports.github(whole).splitlines()[0] == (
        f"::warning file=lock.pyv,line=2,col=1,title=quorate (Q0805)::{first}"
    )
    [suite] = ElementTree.fromstring(reports.junit(whole))
    assert suite[-1].tag == "system-out" and suite[-1].text == f"warning: {first} (line 2)\nwarning: {second}"
    assert whole.exit_code == 0
