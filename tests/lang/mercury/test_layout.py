"""The layout of Mercury texts: a body is what is indented or in braces, and what could be read in two ways is refused."""

from __future__ import annotations

from random import Random

import pytest

from mercury_programs import laid_out, rich_program
from quorate.lang import parse_any
from quorate.lang.diagnostics import LanguageError
from quorate.models.process import Statement
from quorate.models.source import Source

HEAD = "process A\nvariables\n  int[0,2] x\n  int[0,2] y\nactions\n  br b : unit\ninitial location L\n"


def body(lines: str) -> tuple[Statement, ...]:
    """The statements of `on _ do` with these lines below it."""
    return parse_any(Source("a.mercury", f"{HEAD}  on _ do\n{lines}")).model.handlers[0][1].body  # type: ignore[union-attr]


def refused(text: str) -> list[tuple[int, str]]:
    """Where layout is the problem of a text: the line, and what is marked."""
    with pytest.raises(LanguageError) as raised:
        parse_any(Source("a.mercury", text))
    found = raised.value.diagnostics
    assert {item.code for item in found} == {"Q0409"}
    return [(item.span.line, item.span.source.text[item.span.start : item.span.end]) for item in found]


SAME = {
    "two lines below an if": (
        "    if (x = 0)\n      x := 1\n      y := 1\n    goto L\n",
        "    if (x = 0) { x := 1; y := 1; } goto L\n",
    ),
    "two lines below an else": (
        "    if (x = 0)\n      x := 1\n    else\n      x := 2\n      y := 1\n    goto L\n",
        "    if (x = 0) { x := 1 } else { x := 2 y := 1 } goto L\n",
    ),
    "the end of the handler ends the body": (
        "    if (x = 0)\n\tx := 1\n\ty := 1\n".replace("    if", "if"),
        "if (x = 0) { x := 1 y := 1 }\n",
    ),
    "one statement beside the if": (
        "    if (x = 0) x := 1\n    y := 1\n",
        "    if (x = 0) { x := 1 }\n    y := 1\n",
    ),
    "two statements on an indented line": (
        "    if (x = 0)\n      x := 1; y := 1\n    goto L\n",
        "    if (x = 0) { x := 1; y := 1 }\n    goto L\n",
    ),
    "chains": (
        "    if (x = 0)\n      x := 1\n    else if (x = 1)\n      x := 2\n      y := 1\n    else\n      x := 0\n    y := 2\n",
        "    if (x = 0) { x := 1 } else { if (x = 1) { x := 2 y := 1 } else { x := 0 } } y := 2\n",
    ),
    "an else of the outer if": (
        "    if (x = 0)\n      if (y = 0)\n        x := 1\n    else\n      x := 2\n",
        "    if (x = 0) { if (y = 0) { x := 1 } } else { x := 2 }\n",
    ),
    "an else of the inner if": (
        "    if (x = 0)\n      if (y = 0)\n        x := 1\n      else\n        x := 2\n",
        "    if (x = 0) { if (y = 0) { x := 1 } else { x := 2 } }\n",
    ),
    "an else beside its if": (
        "    if (x = 0)\n      if (y = 0) x := 1 else x := 2\n    y := 1\n",
        "    if (x = 0) { if (y = 0) { x := 1 } else { x := 2 } } y := 1\n",
    ),
    "braces decide": (
        "    if (x = 0) {\n  x := 1\n         }\n        y := 1\n",
        "    if (x = 0) { x := 1 }\n    y := 1\n",
    ),
    "braces inside of an indented body": (
        "    if (x = 0)\n      if (y = 0) {\n       y := 1\n      } else { x := 2 }\n      x := 1\n    goto L\n",
        "    if (x = 0) { if (y = 0) { y := 1 } else { x := 2 } x := 1 } goto L\n",
    ),
    "a condition on two lines": (
        "    if (x = 0 &&\n        y = 0)\n      x := 1\n      y := 1\n    goto L\n",
        "    if (x = 0 && y = 0) { x := 1 y := 1 } goto L\n",
    ),
    "comments and empty lines": (
        "    if (x = 0) // first\n\n  /* odd */\n      x := 1 // one\n\n      y := 1\n    goto L\n",
        "    if (x = 0) { x := 1 y := 1 } goto L\n",
    ),
    "a body that is not indented at all": ("  x := 1\n  y := 1\n", "    x := 1 y := 1\n"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_indented_is_the_body(name: str) -> None:
    indented, in_braces = SAME[name]
    assert body(indented) == body(in_braces)


UNCLEAR = {
    "a second statement on the same line": ("    if (x = 0) x := 1 y := 1\n", "y"),
    "a second statement after a semicolon": ("    if (x = 0) x := 1; y := 1;\n", "y"),
    "a deeper line after a statement beside the if": ("    if (x = 0) x := 1\n      y := 1\n", "y"),
    "a deeper line after a statement beside the else": ("    if (x = 0) x := 1\n    else x := 2\n       y := 1\n", "y"),
    "a line between the body and the if": ("    if (x = 0)\n        x := 1\n      y := 1\n", "y"),
    "a line deeper than the body": ("    if (x = 0)\n      x := 1\n        y := 1\n", "y"),
    "a body that is not indented": ("    if (x = 0)\n    x := 1\n    y := 1\n", "x"),
    "tabs and spaces": ("    if (x = 0)\n\tx := 1\n    y := 1\n", "x"),
    "tabs below spaces": ("    if (x = 0)\n          x := 1\n    \ty := 1\n", "y"),
    "two ifs on one line": ("    if (x = 0) if (y = 0) x := 1 else x := 2\n", "else"),
    "two ifs on one line, else below": ("    if (x = 0) if (y = 0) x := 1\n    else x := 2\n", "else"),
    "an else like neither if": (
        "    if (x = 0)\n        if (y = 0)\n          x := 1\n      else\n          x := 2\n",
        "else",
    ),
    "a line that leaves the handler": ("    x := 1\n  y := 1\n", "y"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_could_be_read_in_two_ways_is_refused(name: str) -> None:
    lines, marked = UNCLEAR[name]
    assert [word for _, word in refused(f"{HEAD}  on _ do\n{lines}")] == [marked]


def test_a_statement_beside_the_event_does_not_open_a_block() -> None:
    assert refused(f"{HEAD}  on _ do if (x = 0) x := 1\n    y := 1\n") == [(9, "y")]


def test_what_losers_do_does_not_look_like_what_everyone_does() -> None:
    partition = "  on Partition<p>(All, 1)\n    win: x := 1\n    lose: x := 2\n"
    assert refused(f"{HEAD}{partition}    goto L\n") == [(11, "goto")]
    loaded = parse_any(Source("a.mercury", f"{HEAD}{partition}          goto L\n"))
    assert len(loaded.model.handlers[0][1].lose) == 2  # type: ignore[union-attr, arg-type]


def test_actions_below_env_are_indented_alike() -> None:
    text = "process A\nactions\n  env\n    br b : unit\n{}br c : unit\ninitial location L\n  passive b, c\n"
    assert refused(text.format("  ")) == [(5, "br")]
    model = parse_any(Source("a.mercury", text.format("    "))).model
    assert all(action.environment for action in model.actions)  # type: ignore[union-attr]


def test_the_message_says_what_to_do() -> None:
    with pytest.raises(LanguageError, match="Q0409") as raised:
        body("    if (x = 0) x := 1\n      goto L\n")
    assert "put the body into braces" in str(raised.value) and "a.mercury:10:7" in str(raised.value)


def test_random_programs_mean_the_same_with_indentation_as_with_braces() -> None:
    for seed in range(150):
        random = Random(seed)
        model = rich_program(random)
        assert parse_any(Source("a.mercury", laid_out(model, random))).model == model, f"seed {seed}"
