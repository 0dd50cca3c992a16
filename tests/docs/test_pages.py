"""The documentation says what the code does: generated pages are up to date, and links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quorate.apps.cli.main import main
from quorate.apps.cli.reports import JSON_FIELDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_json_reference_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.pyv", "b.pyv"):
        (tmp_path / name).write_text("sort node\nmutable relation r(node)\ninit !r(N)\nsafety [s] !r(N)\n")
    main(["verify", str(tmp_path / "a.pyv"), "--method", "induct", "--json", "--quiet"])
    one = json.loads(capsys.readouterr().out)
    main(["verify", str(tmp_path), "--method", "induct", "--json", "--quiet"])
    several = json.loads(capsys.readouterr().out)
    fields = (set(one) | set(several)) - {"results", "sha256", "statistics"}
    fields |= {f"results[].{name}" for name in one["results"][0]}
    assert fields == set(JSON_FIELDS)
