"""The Python example of the README does what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_python_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [example] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    for line in example.splitlines():
        expression, _, comment = line.partition("#")
        value = re.match(r" (\d+|\([\d, ]+\))", comment)
        if value:
            assert repr(eval(expression, names)) == value[1]
    assert comment
