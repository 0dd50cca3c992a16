"""Break every protocol of the library in every small way: nothing that has a violation may come out proved.

Each mutant gets a verdict from `induct` and is searched exhaustively at small sizes by `brute_force`, which shares
nothing with the engines.  A sample runs every time; all of them with `make test-slow`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from brute_force import Explorer, TooLarge
from mutations import mutants
from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.methods.induction.induct import Search, induct
from quorate.models.relational import RelationalModel
from quorate.proof.traces import replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational" / "proofs"
FILES = sorted(path for path in LIBRARY.iterdir() if path.suffix in (".ivy", ".pyv"))
LIMITS = Limits(timeout=5.0, jobs=1)
SEARCH = Search(depth=6, seconds=1.0)


def brute_force_violations(model: RelationalModel, work: int) -> set[str]:
    """Safety properties and invariants for which enumeration finds a violation with one or two elements per sort."""
    found: set[str] = set()
    for size in (1, 2):
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        try:
            found.update(Explorer(model, sizes).violations(model.properties, depth=8, work=work))
        except TooLarge:
            continue
    return found


def check_mutant(what: str, model: RelationalModel, work: int) -> str:
    outcome = induct(model, LIMITS, SEARCH)
    proved = {result.property for result in outcome.results if result.verdict == "proved"}
    wrong = proved & brute_force_violations(model, work)
    assert not wrong, f"{model.name}, {what}: {wrong} proved, but violated by brute force"
    for result in outcome.results:
        if result.verdict in ("violated", "not-inductive") and result.kind != "theorem":
            assert result.evidence is not None, f"{model.name}, {what}: no evidence for {result.property}"
            replay(model, result.evidence)
    return min((result.verdict for result in outcome.results if result.kind == "safety"), default="")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_of_mutants(path: Path) -> None:
    found = list(mutants(load(path).model))
    for what, model in random.Random(path.stem).sample(found, min(1, len(found))):
        check_mutant(what, model, work=1_500)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_many_mutants(path: Path) -> None:
    found = list(mutants(load(path).model))
    for what, model in random.Random(path.stem + "!").sample(found, min(40, len(found))):
        check_mutant(what, model, work=10_000)
