"""Every diagnostic as it is shown: code, place, excerpt; all of a file at once, in source order, each mistake once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lang.reading import HEADER, codes, problems, source
from quorate.lang import load, parse
from quorate.lang.diagnostics import CATALOGUE, Diagnostic, LanguageError, Sink, explain
from quorate.lang.pyv.printer import print_model
from quorate.logic.terms import BOOL, Symbol
from quorate.models.relational import RelationalModel
from quorate.models.source import Source, Span

RENDERED = {
    "Q0101": (
        "safety flag &",
        """
test.pyv:12:14: error[Q0101]: expected an expression, found the end of the file
   12 | safety flag &
      |              ^
""",
    ),
    "Q0102": (
        "safety flag $% p(zero)",
        """
test.pyv:12:13: error[Q0102]: unknown character '$' and 1 more
   12 | safety flag $% p(zero)
      |             ^^
""",
    ),
    "Q0103": (
        "safety " + "(" * 201 + "flag" + ")" * 201,
        """
test.pyv:12:208: error[Q0103]: nested more than 200 levels deep
   12 | …(((((((((((((((((((((((((((((((((((((((((flag))))))))))))))))))))))))))))))))))))…
      |                                          ^
""",
    ),
    "Q0104": (
        "fbii { }",
        """
test.pyv:12:1: warning[Q0104]: forward-backward proof scripts (`fbii`) are not used
   12 | fbii { }
      | ^^^^
""",
    ),
    "Q0201": (
        "safety plag",
        """
test.pyv:12:8: error[Q0201]: unknown name `plag`
   12 | safety plag
      |        ^^^^
  help: did you mean `flag`?
""",
    ),
    "Q0202": (
        "safety q(zero)",
        """
test.pyv:12:8: error[Q0202]: `q` takes 2 arguments, 1 given
   12 | safety q(zero)
      |        ^^^^^^^
""",
    ),
    "Q0203": (
        "safety p(owner(zero))",
        """
test.pyv:12:16: error[Q0203]: this has sort node, but value is needed here
   12 | safety p(owner(zero))
      |                ^^^^
""",
    ),
    "Q0204": (
        "safety forall x, y:node. p(y)",
        """
test.pyv:12:15: error[Q0204]: cannot tell the sort of `x`
   12 | safety forall x, y:node. p(y)
      |               ^
  help: write `x:SORT`
""",
    ),
    "Q0205": (
        "mutable relation p(node)",
        """
test.pyv:12:1: error[Q0205]: `p` is already declared
   12 | mutable relation p(node)
      | ^^^^^^^^^^^^^^^^^^^^^^^^
  test.pyv:7:1: first declared here
    7 | mutable relation p(node)
      | ^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    "Q0206": (
        "mutable relation r(nodes)",
        """
test.pyv:12:20: error[Q0206]: unknown sort `nodes`
   12 | mutable relation r(nodes)
      |                    ^^^^^
  help: did you mean `node`?
""",
    ),
    "Q0207": (
        "safety flag -> new(p(X))",
        """
test.pyv:12:16: error[Q0207]: the new value is not available here
   12 | safety flag -> new(p(X))
      |                ^^^^^^^^^
""",
    ),
    "Q0208": (
        "axiom le(X, leader)",
        """
test.pyv:12:13: error[Q0208]: `leader` is mutable and cannot be used here
   12 | axiom le(X, leader)
      |             ^^^^^^
""",
    ),
    "Q0209": (
        "transition t(n: node)\n  modifies flag\n  flag' & p'(n)",
        """
test.pyv:12:1: error[Q0209]: transition `t` mentions the new value of `p` but does not modify it
   12 | transition t(n: node)
      | ^^^^^^^^^^^^^^^^^^^^^
  help: add `p` to `modifies`
""",
    ),
    "Q0210": (
        "definition d() = flag & e\ndefinition e() = d",
        """
test.pyv:13:18: error[Q0210]: `d` is defined by itself
   13 | definition e() = d
      |                  ^
  note: the circle is d → e → d
""",
    ),
    "Q0212": (
        "safety leader",
        """
test.pyv:12:8: error[Q0212]: this has sort node, but a formula is needed here
   12 | safety leader
      |        ^^^^^^
""",
    ),
    "Q0213": (
        "sat trace { p }",
        """
test.pyv:12:13: error[Q0213]: `p` is not a transition
   12 | sat trace { p }
      |             ^
""",
    ),
    "Q0215": (
        "invariant [order] le(X, X)",
        """
test.pyv:12:1: warning[Q0215]: invariant `order` mentions no mutable symbol
   12 | invariant [order] le(X, X)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    "Q0216": (
        "# expect: safety good",
        """
test.pyv:12:11: warning[Q0216]: this expectation is not understood
   12 | # expect: safety good
      |           ^^^^^^^^^^^
  help: write `safety` or the name of a property, then one of proved, violated, not-inductive, unknown
""",
    ),
    "Q0217": (
        "mutable relation r(bool)",
        """
test.pyv:12:20: error[Q0217]: `bool` cannot be the sort of an argument
   12 | mutable relation r(bool)
      |                    ^^^^
""",
    ),
    "Q0218": (
        "transition t() = flag\nsat trace { t assert init }",
        """
test.pyv:13:15: error[Q0218]: only the first state of a trace can be initial
   13 | sat trace { t assert init }
      |               ^^^^^^^^^^^
""",
    ),
    "Q0221": (
        "definition d() = next(X)",
        """
test.pyv:12:23: error[Q0221]: the variable `X` is not bound here
   12 | definition d() = next(X)
      |                       ^
""",
    ),
    "Q0222": (
        "axiom distinct(" + ", ".join(["zero"] * 320) + ")",
        """
test.pyv:12:7: error[Q0222]: 320 terms are too many to compare them all
   12 | axiom distinct(zero, zero, zero, zero, zero, z…
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    "Q0701": (
        "fairness [f] *",
        """
test.pyv:12:14: error[Q0701]: `*` stands for any argument of a transition, and this is none
   12 | fairness [f] *
      |              ^
""",
    ),
    "Q0702": (
        "transition t() = flag\nfairness [f] t",
        """
test.pyv:13:1: error[Q0702]: it is not said when the transition must be taken
   13 | fairness [f] t
      | ^^^^^^^^^^^^^^
  help: write `fairness weak` (if it can always be taken from some moment on) or `fairness strong` (infinitely often)
""",
    ),
    "Q0704": (
        "liveness [l] flag ~> !flag\n  hint rank X = zero",
        """
test.pyv:13:3: error[Q0704]: X is not a variable of the property
   13 |   hint rank X = zero
      |   ^^^^^^^^^^^^^^^^^^
  help: quantify it: `hint rank forall X. p(X)`
""",
    ),
}

ELSEWHERE = {"Q0003", "Q0001", "Q0002", "Q0301"}
"""Codes that are not about the text of a file; tested below and with the printers."""


@pytest.mark.parametrize("code", RENDERED)
def test_rendering(code: str) -> None:
    text, expected = RENDERED[code]
    assert "\n".join(item.render() for item in problems(text)) == expected.strip("\n")


def test_every_code_is_explained_and_every_pyv_code_is_tested() -> None:
    used = set()
    folder = Path(__file__).parents[2] / "src" / "quorate" / "lang"
    for path in [*folder.glob("*.py"), *(folder / "pyv").glob("*.py")]:
        if path.name != "diagnostics.py":
            used |= set(re.findall(r'"(Q\d{4})"', path.read_text()))
    assert used - ELSEWHERE <= set(RENDERED)
    assert used <= set(CATALOGUE)
    for code, (title, text) in CATALOGUE.items():
        assert re.fullmatch(r"Q0\d{3}", code) and title[0].islower() and text.endswith("."), code
        assert explain(code.lower()) == f"{code}: {title}\n\n{text}"
    assert explain("Q9999") is None


def test_an_unknown_code_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        Sink().error("Q9999", "?", Span(source(""), 0, 0))


# -- several at once -----------------------------------------------------------------------------------------------------


def test_all_errors_at_once_in_source_order() -> None:
    text = """safety p(
init q(zero)
mutable relation r(nowhere)
safety [a] r(X) & p(X, X)
transition t() modifies le flag
invariant le(X, X)
safety a & unknown
axiom flag $
"""
    found = problems(text)
    assert [(item.span.line, item.code) for item in found] == [
        (13, "Q0101"), (13, "Q0202"), (14, "Q0206"), (15, "Q0202"), (16, "Q0209"), (17, "Q0215"), (18, "Q0201"),
        (19, "Q0208"), (19, "Q0102"),
    ]  # fmt: skip
    assert [item.span.start for item in found] == sorted(item.span.start for item in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mutable relation r(nowhere)\nsafety r(X) & r(X, X)\ninvariant r", ["Q0206"]),
        ("mutable constant r: nowhere\nsafety r = leader\ntransition t() modifies r r' = leader", ["Q0206"]),
        ("definition d(x) = unknown(x)\nsafety d(X)\ndefinition e() = d(X)\nsafety e", ["Q0201"]),
        ("safety [a] unknown\ninvariant a -> flag\ntheorem safety", ["Q0201"]),
        ("derived relation d: d <-> unknown\nsafety d\ntransition t() modifies d d'", ["Q0201"]),
        ("transition t() = unknown\nsat trace { t }\ntwostate theorem t", ["Q0201"]),
        ("definition d() = d\nsafety d\ninvariant d -> flag", ["Q0210"]),
        ("safety forall x:nowhere. p(x)", ["Q0206"]),
        ("safety unknown(unknown2, X, zero') & leader", ["Q0201", "Q0201", "Q0207", "Q0212"]),
        ("sort\nmutable relation r(thing)", ["Q0101", "Q0206"]),
        ("sort thing(\nmutable relation r(thing)\nsafety r(X)", ["Q0101"]),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_one_diagnostic_per_place_and_code() -> None:
    sink = Sink()
    span = Span(source("abc"), 0, 1)
    sink.error("Q0201", "first", span)
    sink.error("Q0201", "second", span)
    sink.warning("Q0215", "third", span)
    assert [item.message for item in sink.sorted()] == ["first", "third"]
    assert sink.failed


def test_warnings_do_not_fail() -> None:
    sink = Sink()
    sink.warning("Q0215", "it", Span(source("abc"), 0, 1), "a note", fix="a fix")
    assert not sink.failed
    assert sink.sorted()[0].render().splitlines()[-2:] == ["  note: a note", "  help: a fix"]


def test_errors_carry_the_warnings_of_the_file() -> None:
    found = problems("invariant le(X, X)\nsafety unknown")
    assert [item.severity for item in found] == ["warning", "error"]


def test_the_exception_says_it_all() -> None:
    with pytest.raises(LanguageError) as caught:
        parse(source("safety unknown"))
    assert str(caught.value) == caught.value.diagnostics[0].render()


# -- excerpts ------------------------------------------------------------------------------------------------------------


def excerpt(text: str, start: int, end: int) -> list[str]:
    return Diagnostic("Q0101", "m", Span(source(text), start, end)).render().splitlines()[1:]


def test_tabs_keep_the_mark_in_place() -> None:
    assert excerpt("\tsafety\tx", 8, 9) == ["    1 | \tsafety\tx", "      | \t      \t^"]


def test_a_mark_stays_on_its_line() -> None:
    assert excerpt("ab\ncd", 1, 5) == ["    1 | ab", "      |  ^"]


def test_the_end_of_the_text() -> None:
    assert excerpt("ab", 2, 2) == ["    1 | ab", "      |   ^"]
    assert excerpt("ab\n", 3, 3) == ["    2 |", "      | ^"]
    assert excerpt("", 0, 0) == []


def test_long_lines_are_cut_around_the_mark() -> None:
    line, mark = excerpt("a" * 500 + "bb" + "c" * 500, 500, 502)
    assert line == "    1 | …" + "a" * 40 + "bb" + "c" * 40 + "…"
    assert mark.index("^") == line.index("b") and mark.count("^") == 2


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    assert excerpt("a\x1b[31mb\x00", 0, 1)[0] == "    1 | a�[31mb�"


def test_wide_files_align() -> None:
    text = "\n" * 123456 + "x"
    line, mark = excerpt(text, 123456, 123457)
    assert line == "123457 | x" and mark.index("^") == line.index("x")


# -- files that look different -------------------------------------------------------------------------------------------


def at(path: Path, text: bytes) -> list[tuple[str, int, int]]:
    path.write_bytes(text)
    try:
        found = load(path).warnings
    except LanguageError as error:
        found = error.diagnostics
    return [(item.code, item.span.line, item.span.column) for item in found]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", b"sort a\nmutable relation p(a)\n\tsafety p(X) & q\n"),
        ("CRLF", b"sort a\r\nmutable relation p(a)\r\n\tsafety p(X) & q\r\n"),
        ("no newline at the end", b"sort a\nmutable relation p(a)\n\tsafety p(X) & q"),
        ("byte order mark", b"\xef\xbb\xbfsort a\nmutable relation p(a)\n\tsafety p(X) & q\n"),
        ("old Macintosh", b"sort a\rmutable relation p(a)\r\tsafety p(X) & q\r"),
        ("comments", b"sort a # \xe2\x88\x80\nmutable relation p(a)#\n\tsafety p(X) & q#"),
    ],
)
def test_line_ends_and_byte_order_marks(tmp_path: Path, name: str, text: bytes) -> None:
    assert at(tmp_path / "a.pyv", text) == [("Q0201", 3, 16)]


def test_a_byte_order_mark_does_not_move_the_first_line(tmp_path: Path) -> None:
    assert at(tmp_path / "a.pyv", b"\xef\xbb\xbfsafety x") == [("Q0201", 1, 8)]


def test_excerpts_of_crlf_files_have_no_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "a.pyv"
    path.write_bytes(b"safety x\r\n")
    with pytest.raises(LanguageError) as caught:
        load(path)
    assert "\r" not in str(caught.value)


# -- what is not about the text ------------------------------------------------------------------------------------------


def test_unknown_language() -> None:
    with pytest.raises(LanguageError) as caught:
        parse(Source("a.txt", "sort a"))
    assert [(item.code, item.span.line) for item in caught.value.diagnostics] == [("Q0001", 1)]


def test_unprintable() -> None:
    symbol = Symbol("p", (BOOL,), BOOL, True)
    with pytest.raises(LanguageError) as caught:
        print_model(RelationalModel("m", "pyv", (), (symbol,), (), (), (), (), (), ()))
    assert [item.code for item in caught.value.diagnostics] == ["Q0301"]


def test_the_header_of_these_tests_is_clean() -> None:
    assert codes("", HEADER) == []
