"""Broken inputs by the thousand: seeded mutations of real protocols, and what a front end may answer to them.

`mutant(seed, files)` always makes the same text from the same seed, so a failure is repeated with its number:

    python -c "from lang.fuzz import *; print(mutant(4711, protocols('.pyv')).text)"
"""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quorate.lang import parse
from quorate.lang.diagnostics import CATALOGUE, Diagnostic, LanguageError
from quorate.lang.pyv.printer import print_model
from quorate.models.source import Source

PROTOCOLS = Path(__file__).resolve().parents[2] / "protocols"
SECONDS = 5.0
"""No input may keep a front end busy for longer, in processor time."""

WORD = re.compile(r"\s+|#[^\n]*|[A-Za-z0-9_]+|<->|->|:=|~=|!=|<=|>=|.", re.DOTALL)
NAMES = ["X", "Y", "x", "node", "p", "q", "true", "false", "0", "99999999999999999999", "safety", "init", "new", "old"]
MARKS = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ":",
    ";",
    "'",
    "&",
    "|",
    "!",
    "~",
    "=",
    "->",
    "<->",
    ":=",
    "*",
    "+",
    "@a",
]
OPENINGS = [
    "(", "!", "~", "& ", "| ", "{", "[", "forall X:node. ", "exists X. ", "forall X. (p(X) -> ", "if true then (",
    "let x = true in ", "new(", "old(", "f(", "if true { ", "distinct(", "(true <-> ", "object o = {", "fbii {",
]  # fmt: skip
CHAINS = [" -> p", " + 1", " <-> p", " & p", " | p", " = p", " if p else p", ", X:node", "; x := y", "'", ".a", "(x)"]


@dataclass(frozen=True)
class Mutant:
    """A text, and how it came about."""

    seed: int
    path: str
    text: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.path}, {', '.join(self.steps)}"


@cache
def protocols(ending: str) -> tuple[tuple[str, str], ...]:
    """Names and texts of the protocols in the library."""
    return tuple((path.name, path.read_text()) for path in sorted(PROTOCOLS.rglob(f"*{ending}")))


def mutant(seed: int, files: Sequence[tuple[str, str]]) -> Mutant:
    """The text that belongs to a seed."""
    choice = random.Random(seed)
    path, text = choice.choice(files)
    steps = []
    for _ in range(choice.choice([1, 1, 2, 3, 5])):
        change = choice.choice(CHANGES)
        text = change(choice, text, choice.choice(files)[1])
        steps.append(change.__name__)
    return Mutant(seed, path, text, tuple(steps))


# -- mutations ----------------------------------------------------------------------------------------------------------


def _words(text: str) -> list[str]:
    return WORD.findall(text)


def _places(words: list[str]) -> list[int]:
    """Where words stand that are not blank."""
    return [i for i, word in enumerate(words) if not word.isspace()] or [0]


def delete_words(choice: random.Random, text: str, other: str) -> str:
    words = _words(text)
    for _ in range(choice.randint(1, 3)):
        if words:
            del words[choice.choice(_places(words))]
    return "".join(words)


def repeat_words(choice: random.Random, text: str, other: str) -> str:
    words = _words(text) or [""]
    start = choice.choice(_places(words))
    stretch = words[start : start + choice.choice([1, 1, 2, 10, 60])]
    words[start:start] = stretch * choice.choice([1, 1, 3])
    return "".join(words)


def swap_words(choice: random.Random, text: str, other: str) -> str:
    words = _words(text) or [""]
    one, two = choice.choice(_places(words)), choice.choice(_places(words))
    words[one], words[two] = words[two], words[one]
    return "".join(words)


def replace_word(choice: random.Random, text: str, other: str) -> str:
    """Put a name, a mark or a word of the same text in the place of another."""
    words = _words(text) or [""]
    places = _places(words)
    words[choice.choice(places)] = choice.choice(
        [choice.choice(NAMES), choice.choice(MARKS), words[choice.choice(places)]]
    )
    return "".join(words)


def flip_bytes(choice: random.Random, text: str, other: str) -> str:
    data = bytearray(text.encode())
    for _ in range(choice.randint(1, 4)):
        if data:
            data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    return data.decode(errors="replace")


def cut(choice: random.Random, text: str, other: str) -> str:
    place = choice.randrange(len(text) + 1)
    return choice.choice([text[:place], text[place:]])


def splice(choice: random.Random, text: str, other: str) -> str:
    """The beginning of one file and the end of another."""
    return text[: choice.randrange(len(text) + 1)] + other[choice.randrange(len(other) + 1) :]


def insert_stretch(choice: random.Random, text: str, other: str) -> str:
    start, place = choice.randrange(len(other) + 1), choice.randrange(len(text) + 1)
    return text[:place] + other[start : start + choice.choice([5, 50, 500])] + text[place:]


def nest(choice: random.Random, text: str, other: str) -> str:
    """A bomb: the same opening or the same operator very often, at some place."""
    words = _words(text) or [""]
    place = choice.choice(_places(words))
    times = choice.choice([10, 90, 150, 400, 3000])
    bomb = choice.choice(OPENINGS) * times if choice.random() < 0.6 else choice.choice(CHAINS) * times
    words.insert(place, bomb)
    if choice.random() < 0.5:
        words.insert(place + 2, choice.choice([")", "}", " else p"]) * times)
    return "".join(words)


def change_lines(choice: random.Random, text: str, other: str) -> str:
    """Move, drop or double a line, or change how lines end."""
    lines = text.split("\n")
    one, two = choice.randrange(len(lines)), choice.randrange(len(lines))
    kind = choice.choice(["move", "drop", "double", "ends"])
    if kind == "move":
        lines.insert(two, lines.pop(one))
    elif kind == "drop":
        del lines[one]
    elif kind == "double":
        lines.insert(two, lines[one])
    return choice.choice(["\r\n", "\r", "\t\n", " "]).join(lines) if kind == "ends" else "\n".join(lines)


CHANGES: list[Callable[[random.Random, str, str], str]] = [
    delete_words, repeat_words, swap_words, replace_word, replace_word, flip_bytes, cut, splice, insert_stretch, nest,
    change_lines,
]  # fmt: skip


# -- what may come of it ------------------------------------------------------------------------------------------------


class TooSlow(Exception):
    """The front end was busy for too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes more processor time; only the main thread can be stopped, others are measured afterwards."""

    def stop(*_: object) -> None:
        raise TooSlow(f"more than {seconds} seconds")

    stoppable = threading.current_thread() is threading.main_thread()
    started = time.process_time()
    before = signal.signal(signal.SIGPROF, stop) if stoppable else None
    if stoppable:
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        if stoppable:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
    if time.process_time() - started > seconds:
        raise TooSlow(f"more than {seconds} seconds")


def examine(mutant: Mutant) -> str:
    """What a front end answers to a text: `read` or `refused`.  Raises an exception if it answers otherwise."""
    source = Source(mutant.path, mutant.text)
    with time_limit(SECONDS):
        try:
            loaded = parse(source)
        except LanguageError as error:
            check_diagnostics(error.diagnostics, source)
            assert any(item.severity == "error" for item in error.diagnostics), "refused without an error"
            return "refused"
        check_diagnostics(loaded.warnings, source)
        assert all(item.severity == "warning" for item in loaded.warnings), "read in spite of an error"
        if loaded.model.language == "pyv":
            again = parse(Source(mutant.path, print_model(loaded.model)), "pyv").model
            renamed = any(item.code == "Q0205" for item in loaded.warnings)
            assert renamed or again == loaded.model, "what is printed reads back differently"
    return "read"


def check_diagnostics(found: Sequence[Diagnostic], source: Source) -> None:
    """Codes are known, places lie in the text and in its order, and all can be shown."""
    for item in found:
        assert item.code in CATALOGUE, item.code
        assert item.message and "\n" not in item.message, repr(item.message)
        for span in (item.span, *(span for span, _ in item.related)):
            assert span.source is source, f"{item.code} is about another text"
            assert 0 <= span.start <= span.end <= len(source.text), (item.code, span.start, span.end)
        assert item.render().startswith(f"{source.path}:{item.span.line}:{item.span.column}: ")
    assert list(found) == sorted(found, key=lambda item: item.span.start), "not in source order"
