"""Published protocols: every one is read without complaint, printed, and read back the same.

The files are not part of this repository.  They are looked for in $QUORATE_CORPUS, or beside the checkout.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from quorate.lang import load, parse
from quorate.lang.ivy.printer import print_model
from quorate.models.source import Source

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "corpus"
CORPUS = Path(os.environ.get("QUORATE_CORPUS", BESIDE))
IVY = sorted((CORPUS / "duoai").glob("*.ivy"))
PYV = sorted((CORPUS / "mypyvy").glob("*.pyv"))

if IVY:

    @pytest.mark.parametrize("path", IVY, ids=lambda path: path.stem)
    def test_ivy_files_are_read_and_come_back_the_same(path: Path) -> None:
        loaded = load(path)
        assert loaded.warnings == ()
        assert [item.name for item in loaded.model.safety] == ["1000000"]
        assert parse(Source(str(path), print_model(loaded.model))).model == loaded.model


if PYV:

    @pytest.mark.parametrize("path", PYV, ids=lambda path: path.stem)
    def test_mypyvy_files_come_back_up_to_choices(path: Path) -> None:
        model = load(path).model
        if any(theorem.states for theorem in model.theorems):
            pytest.skip("theorems about states have no Ivy form")
        back = replace(parse(Source(f"{path.stem}.ivy", print_model(model))).model, language="pyv", traces=model.traces)
        shape = [(t.name, {u.symbol for u in t.updates}, len(t.parameters) + len(t.choices)) for t in model.transitions]
        assert shape == [
            (t.name, {u.symbol for u in t.updates}, len(t.parameters) + len(t.choices)) for t in back.transitions
        ]
        assert replace(back, transitions=()) == replace(model, transitions=())
        exact = [t for t in model.transitions if not t.choices]
        for transition in exact:
            again = back.transition(transition.name)
            assert (again.parameters, again.guard) == (transition.parameters, transition.guard)
            for update in transition.updates:
                other = next(u for u in again.updates if u.symbol is update.symbol)
                assert other == update or other.variables != update.variables
