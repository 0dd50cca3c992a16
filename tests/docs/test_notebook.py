"""The tutorial notebook runs from top to bottom, and what its cells show can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def test_the_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown: list[str] = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "the notebook is kept without outputs"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(NOTEBOOK), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else "")
    text = capsys.readouterr().out
    assert "run of 7 steps" in text and "step 7: receive_grant" in text and "inferred" in text
    assert any(page.startswith('<iframe sandbox="allow-scripts"') for page in shown)
    assert sum("<table>" in page for page in shown) == 3
