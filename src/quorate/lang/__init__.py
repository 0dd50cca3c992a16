"""Text to model and back.  `load` reads a relational protocol in whatever language it is, `load_rounds` a round-based algorithm;
all languages share `diagnostics`.

Read `reader` (tokens and expressions), `elaborate` (names and sorts), then `pyv`, `ivy` or `mercury`; `rounds` stands by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quorate.lang.diagnostics import Diagnostic, LanguageError, Sink
from quorate.lang.expectations import check_names, check_targets
from quorate.models.relational import Language, NameClash, RelationalModel
from quorate.models.source import Source, Span

if TYPE_CHECKING:
    from quorate.models.process import ProcessModel
    from quorate.models.rounds import RoundModel


@dataclass(frozen=True)
class Loaded:
    """A model together with the warnings its text gave."""

    model: RelationalModel
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class LoadedRounds:
    """A round-based algorithm together with the warnings its text gave."""

    model: RoundModel
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class LoadedProcess:
    """A Mercury program together with the warnings its text gave."""

    model: ProcessModel
    warnings: tuple[Diagnostic, ...]


MERCURY_START = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*(?:machine|process)\s+[A-Za-z_]", re.DOTALL)


def detect(source: Source) -> Language | Literal["rounds"] | None:
    """The language of a text, from the file's extension or its first line."""
    if source.path.endswith(".rounds"):
        return "rounds"
    if source.path.endswith(".ivy") or re.match(r"\s*#lang\s+ivy", source.text):
        return "ivy"
    if source.path.endswith(".pyv"):
        return "pyv"
    if source.path.endswith((".mercury", ".ch")) or MERCURY_START.match(source.text):
        return "mercury"
    return None


def parse(source: Source, language: Language | None = None) -> Loaded:
    """The relational model of a text.  Raises `LanguageError` with all diagnostics if it cannot be read as one."""
    loaded = parse_any(source, language)
    if isinstance(loaded, LoadedProcess):
        message = "this is a Mercury program; `verify`, `check --processes`, `parse` and `recheck` read those"
        raise LanguageError((Diagnostic("Q0003", message, Span(source, 0, 0)),))
    return loaded


def parse_any(source: Source, language: Language | None = None) -> Loaded | LoadedProcess:
    """The model of a text, of whatever family.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    sink = Sink()
    found = language or detect(source)
    if found == "mercury":
        from quorate.lang.mercury.elaborate import read as read_mercury

        process = read_mercury(source, sink)
        if process is None:
            raise LanguageError(sink.sorted())
        check_targets(process, sink)
        return LoadedProcess(process, sink.sorted())
    try:
        model = _relational(source, found, sink)
    except NameClash as problem:
        # Whatever the text declares twice was told before; this is what a translation made.
        if not sink.failed:
            sink.error("Q0205", str(problem), Span(source, 0, 0))
        raise LanguageError(sink.sorted()) from None
    if model is None:
        raise LanguageError(sink.sorted())
    check_targets(model, sink)
    return Loaded(model, sink.sorted())


def _relational(source: Source, language: Language | Literal["rounds"] | None, sink: Sink) -> RelationalModel | None:
    if language == "pyv":
        from quorate.lang.pyv.elaborate import read as read_pyv

        return read_pyv(source, sink)
    if language == "ivy":
        from quorate.lang.ivy.elaborate import read as read_ivy

        return read_ivy(source, sink)
    if language == "rounds":
        sink.error("Q0003", "this is a round-based algorithm, not a relational protocol", Span(source, 0, 0))
    else:
        sink.error("Q0001", "cannot tell which language this is", Span(source, 0, 0))
    return None


def _unreadable(path: str | Path, reason: str) -> LanguageError:
    message = f"cannot read the file: {reason}"
    return LanguageError((Diagnostic("Q0002", message, Span(Source(str(path), ""), 0, 0)),))


def parse_rounds(source: Source) -> LoadedRounds:
    """The round-based algorithm of a text.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    from quorate.lang.rounds.elaborate import read

    sink = Sink()
    model = read(source, sink)
    if model is None:
        raise LanguageError(sink.sorted())
    check_names(model.expectations, {item.name for item in (*model.safety, *model.invariants)}, sink)
    return LoadedRounds(model, sink.sorted())


def load(path: str | Path, language: Language | None = None) -> Loaded:
    """The relational model of a file.  Raises `LanguageError` with all diagnostics if it cannot be read as one."""
    return parse(_source(path), language)


def load_any(path: str | Path, language: Language | None = None) -> Loaded | LoadedProcess:
    """The model of a relational protocol or a Mercury program.  Raises `LanguageError` with all diagnostics."""
    return parse_any(_source(path), language)


def load_model(path: str | Path, language: Language | None = None) -> Loaded | LoadedProcess | LoadedRounds:
    """The model of a file, of whatever family.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    return parse_model(_source(path), language)


def parse_model(source: Source, language: Language | None = None) -> Loaded | LoadedProcess | LoadedRounds:
    """The model of a text, of whatever family.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    if language is None and detect(source) == "rounds":
        return parse_rounds(source)
    return parse_any(source, language)


def load_rounds(path: str | Path) -> LoadedRounds:
    """The round-based algorithm of a file.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    return parse_rounds(_source(path))


def _source(path: str | Path) -> Source:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8 text") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(path, getattr(problem, "strerror", None) or str(problem)) from None
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return Source(str(path), text)
