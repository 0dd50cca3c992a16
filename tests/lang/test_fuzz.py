"""Whatever the text, a front end answers with a model or with well-formed diagnostics, and soon."""

from __future__ import annotations

import traceback

import pytest

from lang.fuzz import CHANGES, Mutant, examine, mutant, protocols

ENDINGS = (".pyv", ".ivy")


def failures(seeds: range, ending: str) -> list[str]:
    """What went wrong, each with the seed that repeats it."""
    found = []
    for seed in seeds:
        made = mutant(seed, protocols(ending))
        try:
            examine(made)
        except Exception as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            found.append(f"{made}: {type(problem).__name__}: {str(problem)[:200]} ({last.filename}:{last.lineno})")
    return found


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("part", range(6))
def test_some_mutants(ending: str, part: int) -> None:
    assert failures(range(50 * part, 50 * (part + 1)), ending) == []


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("part", range(10))
def test_many_mutants(ending: str, part: int) -> None:
    assert failures(range(1000 * (part + 1), 1000 * (part + 2)), ending) == []


def test_mutants_are_repeatable_and_different() -> None:
    files = protocols(".pyv")
    assert [mutant(seed, files) for seed in range(30)] == [mutant(seed, files) for seed in range(30)]
    assert len({mutant(seed, files).text for seed in range(200)}) > 190
    used = {step for seed in range(200) for step in mutant(seed, files).steps}
    assert used == {change.__name__ for change in CHANGES}


def test_protocols_themselves_are_read() -> None:
    for ending in ENDINGS:
        for path, text in protocols(ending):
            assert examine(Mutant(0, path, text, ())) == "read"
