"""Text to model and back.  `load` reads a file in whatever language it is; all languages share `diagnostics`.

Read `reader` (tokens and expressions), `elaborate` (names and sorts), then `pyv` or `ivy`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from quorate.lang.diagnostics import Diagnostic, LanguageError, Sink
from quorate.lang.expectations import check_targets
from quorate.models.relational import Language, RelationalModel
from quorate.models.source import Source, Span


@dataclass(frozen=True)
class Loaded:
    """A model together with the warnings its text gave."""

    model: RelationalModel
    warnings: tuple[Diagnostic, ...]


def detect(source: Source) -> Language | None:
    """The language of a text, from the file's extension or its first line."""
    if source.path.endswith(".ivy") or re.match(r"\s*#lang\s+ivy", source.text):
        return "ivy"
    if source.path.endswith(".pyv"):
        return "pyv"
    return None


def parse(source: Source, language: Language | None = None) -> Loaded:
    """The model of a text.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    sink = Sink()
    language = language or detect(source)
    model: RelationalModel | None = None
    if language == "pyv":
        from quorate.lang.pyv.elaborate import read as read_pyv

        model = read_pyv(source, sink)
    elif language == "ivy":
        from quorate.lang.ivy.elaborate import read as read_ivy

        model = read_ivy(source, sink)
    else:
        sink.error("Q0001", "cannot tell which language this is", Span(source, 0, 0))
    if model is None:
        raise LanguageError(sink.sorted())
    check_targets(model, sink)
    return Loaded(model, sink.sorted())


def _unreadable(path: str | Path, reason: str) -> LanguageError:
    message = f"cannot read the file: {reason}"
    return LanguageError((Diagnostic("Q0002", message, Span(Source(str(path), ""), 0, 0)),))


def load(path: str | Path, language: Language | None = None) -> Loaded:
    """The model of a file.  Raises `LanguageError` with all diagnostics if it cannot be read."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8 text") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(path, getattr(problem, "strerror", None) or str(problem)) from None
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return parse(Source(str(path), text), language)
