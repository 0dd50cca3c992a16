"""Invariants below a protocol's text: the text stays, names are free, and what is written is read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.lang import load, parse
from quorate.lang.diagnostics import LanguageError
from quorate.lang.extend import extended, print_formulas
from quorate.logic.terms import BOOL, Sort, Symbol, Var, disj, forall, neg
from quorate.models.relational import Named
from quorate.models.source import Source

LOCK = """\
sort client
mutable relation holds(client)
mutable relation inferred1
immutable constant CLIENT1: client
init !holds(C)
transition take(c: client)
  modifies holds
  & !holds(C)
  & (new(holds(C)) <-> C = c)
safety [mutex] holds(A) & holds(B) -> A = B
invariant [inferred2] holds(A) | !holds(A)"""

RING = """\
#lang ivy1.7
object ring = {
    type node
    relation marked(N:node)
}
after init { ring.marked(N) := false }
action mark(n:ring.node) = { ring.marked(n) := false }
export mark
invariant [never] ~ring.marked(N)
"""


def test_a_pyv_file():
    """The names of the invariants, and of the variable, are taken."""
    model = parse(Source("lock.pyv", LOCK)).model
    (client,), holds = model.sorts, model.symbols[0]
    x, y = Var("CLIENT1", client), Var("inferred1", client)
    formulas = [forall((x,), neg(holds(x))), forall((y, x), disj(neg(holds(x)), holds(y)))]
    text = extended(
        model, [Named(f"inferred{i}", formula) for i, formula in enumerate(formulas, 1)], ["Two lines.", "…"]
    )
    assert text == LOCK + (
        "\n\n# Two lines.\n# …\n"
        "invariant [inferred1_1] forall CLIENT1_1:client. !holds(CLIENT1_1)\n"
        "invariant [inferred2_1] forall inferred1_1:client, CLIENT1_1:client. !holds(CLIENT1_1) | holds(inferred1_1)\n"
    )
    again = parse(Source("lock.pyv", text)).model
    assert [item.name for item in again.invariants] == ["inferred2", "inferred1_1", "inferred2_1"]


def test_an_ivy_file():
    """The text has no `safety`: all its invariants are, and so are those that are added."""
    model = parse(Source("ring.ivy", RING)).model
    marked = model.symbols[0]
    x = Var("RING.NODE1", model.sorts[0])
    text = extended(model, [Named("inferred1", forall((x,), neg(marked(x))))])
    assert text == RING + "\ninvariant [inferred1] forall RING_NODE1:ring.node. ~ring.marked(RING_NODE1)\n"


@pytest.mark.parametrize("path", sorted(Path("protocols/relational/proofs").iterdir()), ids=lambda path: path.stem)
def test_the_invariants_of_the_library(path):
    """Each protocol can be given the invariants of its proof."""
    if path.suffix not in (".ivy", ".pyv"):
        pytest.skip("not a protocol")
    model = load(path).model
    added = [Named(f"again{i}", item.formula) for i, item in enumerate(model.invariants)]
    text = extended(model, added)
    assert text.startswith(model.source.text.rstrip("\n"))
    assert {item.name for item in added} <= {item.name for item in parse(Source(str(path), text)).model.properties}
    assert len(print_formulas(model, [item.formula for item in added])) == len(added)


def test_what_cannot_be_written_is_refused():
    model = parse(Source("lock.pyv", LOCK)).model
    unknown = Symbol("unknown", (Sort("client"),), BOOL, mutable=True)
    x = Var("X", model.sorts[0])
    with pytest.raises((LanguageError, KeyError)):
        extended(model, [Named("bad", forall((x,), unknown(x)))])
