"""Reading files: which language, what cannot be read, and that the text is what the file holds."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from quorate.lang import detect, load, parse
from quorate.lang.diagnostics import LanguageError
from quorate.models.source import Source

PYV = "sort node\nmutable relation p(node)\nsafety p(X)\n"
IVY = "#lang ivy1.7\ntype node\nrelation p(X:node)\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.pyv", PYV, "pyv"),
        ("a.ivy", "", "ivy"),
        ("a", IVY, "ivy"),
        ("a.txt", "\n  #lang  ivy1.6\n", "ivy"),
        ("a.txt", PYV, None),
        ("pyv", PYV, None),
        ("", "", None),
    ],
)
def test_the_language(path: str, text: str, expected: str | None) -> None:
    assert detect(Source(path, text)) == expected


def test_the_language_can_be_given() -> None:
    found = parse(Source("a.txt", PYV), "pyv").model
    assert (found.language, found.name) == ("pyv", "a")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lock.pyv"
    path.write_text(PYV)
    found = load(path)
    assert (found.model.name, found.warnings) == ("lock", ())
    assert found.model.source == Source(str(path), PYV)
    assert load(str(path)).model == found.model


def test_warnings_come_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "a.pyv"
    path.write_text(PYV + "# expect: nothing\n")
    assert [item.code for item in load(path).warnings] == ["Q0216"]


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pyv"
    path.write_bytes(PYV.replace("\n", "\r\n").encode())
    source = load(path).model.source
    assert source is not None and source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def reason(path: Path | str) -> str:
    with pytest.raises(LanguageError) as caught:
        load(path)
    [item] = caught.value.diagnostics
    assert (item.code, item.severity, item.span.line, item.span.column) == ("Q0002", "error", 1, 1)
    assert item.span.source.path == str(path)
    return item.message


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert reason(tmp_path / "nothing.pyv") == "cannot read the file: No such file or directory"
    assert reason(tmp_path) == "cannot read the file: Is a directory"
    binary = tmp_path / "binary.pyv"
    binary.write_bytes(b"sort node \xff\xfe")
    assert reason(binary) == "cannot read the file: it is not UTF-8 text"
    assert reason("a\0b.pyv") == "cannot read the file: embedded null byte"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_forbidden_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pyv"
    path.write_text(PYV)
    path.chmod(0)
    assert reason(path) == "cannot read the file: Permission denied"


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.pyv"
    path.write_bytes(b"")
    assert load(path).model.symbols == ()
    path.write_bytes(b"\n \r\n\t")
    assert load(path).model.symbols == ()


def test_null_bytes_are_unknown_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.pyv"
    path.write_bytes(b"sort a\0\0\n")
    with pytest.raises(LanguageError) as caught:
        load(path)
    assert [item.code for item in caught.value.diagnostics] == ["Q0102"]
