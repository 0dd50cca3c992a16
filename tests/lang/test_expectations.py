"""Expectations that a file states about itself, in comments."""

from __future__ import annotations

import pytest

from lang.reading import codes, model, problems
from quorate.lang.diagnostics import Sink
from quorate.lang.expectations import VERBS, VERDICTS, expectations
from quorate.models.relational import Expectation
from quorate.models.source import Source


def read(text: str) -> tuple[list[tuple[str | None, str, str]], list[str]]:
    sink = Sink()
    found = expectations(Source("test.pyv", text), sink)
    return [(item.verb, item.target, item.verdict) for item in found], [item.code for item in sink.sorted()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# expect: safety proved", (None, "safety", "proved")),
        ("# expect: proved", (None, "safety", "proved")),
        ("# expect: [mutex] violated", (None, "mutex", "violated")),
        ("# expect: mutex violated", (None, "mutex", "violated")),
        ("# expect: induct not-inductive", ("induct", "safety", "not-inductive")),
        ("# expect: induct [mutex] unknown", ("induct", "mutex", "unknown")),
        ("# expect: check node=3 states=1234", ("check", "node=3", "states=1234")),
        ("# expect: check node=3,value=2 states=0", ("check", "node=3,value=2", "states=0")),
        ("#expect:safety   proved  ", (None, "safety", "proved")),
        ("\t #\texpect:\tsafety\tproved\r", (None, "safety", "proved")),
    ],
)
def test_lines(line: str, expected: tuple[str | None, str, str]) -> None:
    assert read(f"sort a\n{line}\n") == ([expected], [])
    assert read(line) == ([expected], [])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verb_and_verdict(verb: str, verdict: str) -> None:
    assert read(f"# expect: {verb} {verdict}") == ([(verb, "safety", verdict)], [])


@pytest.mark.parametrize(
    "line",
    [
        "# expect:",
        "# expect: safety",
        "# expect: safety holds",
        "# expect: safety proved violated",
        "# expect: check node=3 states=many",
        "# expect: check node=3 states=",
        "# expect: run safety proved",
    ],
)
def test_lines_that_are_not_understood(line: str) -> None:
    assert read(line) == ([], ["Q0216"])


@pytest.mark.parametrize(
    "line", ["# we expect: safety proved", "expect: safety proved", "sort a # expect: safety proved"]
)
def test_other_lines_are_none(line: str) -> None:
    assert read(line) == ([], [])


def test_where_they_stand() -> None:
    found = model("# expect: safety proved\nsafety flag\n# expect: induct not-inductive")
    assert [(item.span.line, item.span.column) for item in found.expectations if item.span] == [(12, 11), (14, 11)]
    assert found.expectations[0] == Expectation(None, "safety", "proved")


def test_they_do_not_make_models_different() -> None:
    assert model("# expect: safety proved\nsafety flag") == model("\nsafety flag")


def test_a_property_that_does_not_exist() -> None:
    text = "safety [mutex] flag\ninvariant p(X)\nsat trace { }\n# expect: [NAME] violated\n"
    for name in ("mutex", "invariant_1", "trace_1", "safety"):
        assert codes(text.replace("NAME", name)) == []
    [warning] = problems(text.replace("NAME", "mutx"))
    assert (warning.code, warning.severity, warning.message) == ("Q0216", "warning", "there is no property `mutx`")


def test_sizes_are_no_properties() -> None:
    assert codes("# expect: check node=2 states=3\nsafety flag") == []
