"""Every construct of the table is read, or refused with the code it names; the generated pages say the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lang.constructs import CONSTRUCTS, Construct
from quorate.lang import parse
from quorate.lang.diagnostics import LanguageError
from quorate.models.source import Source

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda item: f"{item.language}: {item.name}")
def test_constructs(construct: Construct) -> None:
    source = Source(f"example.{construct.language}", construct.example)
    if construct.refused is None:
        parse(source)
        return
    with pytest.raises(LanguageError) as caught:
        parse(source)
    assert construct.refused in {diagnostic.code for diagnostic in caught.value.diagnostics}


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
