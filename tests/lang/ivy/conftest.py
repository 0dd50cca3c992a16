"""Small helpers for the Ivy tests: read a text, get its model or its diagnostics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorate.lang import parse
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.relational import RelationalModel
from quorate.models.source import Source


@pytest.fixture(scope="session")
def read() -> Callable[[str], RelationalModel]:
    """The model of an Ivy text; `#lang ivy1.7` is put in front unless the text names a version."""

    def read(text: str) -> RelationalModel:
        return parse(_source(text)).model

    return read


@pytest.fixture(scope="session")
def problems() -> Callable[[str], tuple[Diagnostic, ...]]:
    """All diagnostics of an Ivy text, errors and warnings."""

    def problems(text: str) -> tuple[Diagnostic, ...]:
        try:
            return parse(_source(text)).warnings
        except LanguageError as error:
            return error.diagnostics

    return problems


def _source(text: str) -> Source:
    return Source("test.ivy", text if text.lstrip().startswith("#lang") else f"#lang ivy1.7\n{text}")
