"""The library of protocols keeps its word: every file gets the verdicts it expects, and proofs change nothing but lemmas."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from quorate.apps.cli.reports import expected_verdict
from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.methods.induction.bounded import check_traces
from quorate.methods.induction.decidability import decidability
from quorate.methods.induction.induct import induct
from quorate.proof.traces import replay
from quorate.proof.verdicts import Result

LIBRARY = Path(__file__).parents[2] / "protocols" / "relational"
LIMITS = Limits(timeout=30.0, jobs=1)


@cache
def results(path: Path) -> list[Result]:
    return induct(load(path).model, LIMITS).results


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".ivy", ".pyv"))


BARE, PROOFS, BROKEN = files(LIBRARY), files(LIBRARY / "proofs"), files(LIBRARY / "broken")


def name(path: Path) -> str:
    return path.name


def test_the_library_is_as_large_as_it_says() -> None:
    assert len(BARE) >= 20
    assert len(PROOFS) >= 15
    assert len(BROKEN) >= 12


@pytest.mark.parametrize("path", [*BARE, *PROOFS, *BROKEN], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_verdicts_are_as_expected(path: Path) -> None:
    loaded = load(path)
    assert not loaded.warnings
    model = loaded.model
    assert model.expectations, "every library file states what it expects"
    for result in results(path):
        assert result.verdict == expected_verdict(model, "induct", result), result
        if result.evidence is not None:
            replay(model, result.evidence)


@pytest.mark.parametrize("path", BROKEN, ids=name)
def test_broken_variants_are_not_proved(path: Path) -> None:
    model = load(path).model
    expected = {item.target for item in model.expectations if item.verdict == "violated"}
    assert expected
    found = {result.property: result.verdict for result in results(path)}
    assert all(found[target] in ("violated", "not-inductive") for target in expected)


@pytest.mark.parametrize("path", PROOFS, ids=name)
def test_a_proof_adds_nothing_but_invariants(path: Path) -> None:
    proof, bare = load(path).model, load(LIBRARY / path.name).model
    assert proof.with_invariants(bare.invariants) == bare


@pytest.mark.parametrize("path", PROOFS, ids=name)
def test_every_query_of_a_proof_is_decidable(path: Path) -> None:
    assert [query for query, found in decidability(load(path).model) if not found.decidable] == []


@pytest.mark.parametrize("path", [path for path in BARE if path.suffix == ".pyv"], ids=name)
def test_trace_queries_are_right(path: Path) -> None:
    results = check_traces(load(path).model, LIMITS)
    assert results, "a protocol shows that it can do something"
    assert {result.verdict for result in results} == {"proved"}
