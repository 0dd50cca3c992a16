"""Invariants about projections: which are tried, and that a proof with them is one of the protocol as it is written."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic.transform import symbols_of
from quorate.methods.inference.houdini import Deadline
from quorate.methods.inference.projections import Projections, projections
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import Found, Task
from quorate.models.source import Source
from quorate.proof.checker import recheck

MOVES = """
sort node
sort key
sort number
mutable relation holds(node, key)
mutable relation moving(node, key, number)
init holds(N1, K) & holds(N2, K) -> N1 = N2
init !moving(N, K, S)
transition send(n: node, m: node, k: key, s: number)
  modifies holds, moving
  & holds(n, k) & (forall N, K. !moving(N, K, s))
  & (new(holds(N, K)) <-> holds(N, K) & !(N = n & K = k))
  & (new(moving(N, K, S)) <-> moving(N, K, S) | N = m & K = k & S = s)
transition receive(n: node, k: key, s: number)
  modifies holds, moving
  & moving(n, k, s)
  & (new(moving(N, K, S)) <-> moving(N, K, S) & S != s)
  & (new(holds(N, K)) <-> holds(N, K) | N = n & K = k)
safety holds(N1, K) & holds(N2, K) -> N1 = N2
"""
LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def test_every_choice_of_sorts_is_tried_with_growing_clauses():
    model = load(LIBRARY / "sharded_kv_retransmission.pyv").model
    shapes = list(islice(projections(model), 40))
    kept = [{sort.name for sort, variables in shape.variables.items() if variables} for shape in shapes]
    assert {"key", "number"} in kept[:10]
    assert all(2 <= len(names) < 4 for names in kept)
    assert len(set(map(str, shapes))) == len(shapes)


def test_a_protocol_without_large_relations_has_none():
    assert next(projections(load(LIBRARY / "ring_leader_election.pyv").model), None) is None


def test_a_proof_about_projections_is_written_out():
    model = parse(Source("moves.pyv", MOVES)).model
    task = Task(model, Limits(timeout=20, jobs=1), 0, Deadline(), lambda text: None)
    shape = Shape({sort: 0 if sort.name == "node" else 2 for sort in model.sorts}, 3, 4)
    found = Found(model)
    assert Projections(task, shape).go_on(found) is None
    assert found.invariants
    assert all(symbols_of(item.formula) <= set(model.symbols) for item in found.invariants)
    assert all(outcome.accepted for outcome in recheck(model, found.certificate, 60.0, 2048, 1))
