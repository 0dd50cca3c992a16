"""Invariants about projections: which are tried, and that a proof with them is one of the protocol as it is written."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic import sexpr
from quorate.logic.terms import Symbol
from quorate.logic.transform import symbols_of
from quorate.methods.inference.houdini import Deadline
from quorate.methods.inference.projections import (
    ProjectedRefutations,
    Projections,
    brief_shapes,
    projections,
    write_out,
)
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import Found, Task
from quorate.models.source import Source
from quorate.proof.certificates import Refutation, Step, certify
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


def test_without_sorts_there_is_nothing_to_leave_out():
    model = parse(Source("flag.pyv", "mutable relation up\ninit up\nsafety up\n")).model
    assert list(projections(model)) == []


def test_a_proof_about_projections_is_written_out():
    model = parse(Source("moves.pyv", MOVES)).model
    task = Task(model, Limits(timeout=20, jobs=1), 0, Deadline(), lambda text: None)
    shape = Shape({sort: 0 if sort.name == "node" else 2 for sort in model.sorts}, 3, 4)
    found = Found(model)
    assert Projections(task, shape).go_on(found) is None
    assert found.invariants
    assert all(symbols_of(item.formula) <= set(model.symbols) for item in found.invariants)
    assert all(outcome.accepted for outcome in recheck(model, found.certificate, 60.0, 2048, 1))


REPORTS = """
sort node
sort time
sort value
immutable relation at_most(time, time)
axiom at_most(X, X)
axiom at_most(X, Y) & at_most(Y, Z) -> at_most(X, Z)
axiom at_most(X, Y) & at_most(Y, X) -> X = Y
axiom at_most(X, Y) | at_most(Y, X)
mutable constant clock: time
mutable relation proposed(time, value)
mutable relation report(node, time, time, value)
mutable relation decided(node, time, value)
init !proposed(T, V)
init !report(N, S, T, V)
init !decided(N, T, V)
transition propose(t: time, v: value)
  modifies proposed, clock
  & (forall T, V. !proposed(T, V))
  & (new(proposed(T, V)) <-> proposed(T, V) | T = t & V = v)
  & new(clock) = t
transition tell(n: node, s: time, t: time, v: value)
  modifies report
  & proposed(t, v) & at_most(t, s) & at_most(t, clock)
  & (new(report(N, S, T, V)) <-> report(N, S, T, V) | N = n & S = s & T = t & V = v)
transition decide(n: node, m: node, s: time, t: time, v: value)
  modifies decided
  & report(m, s, t, v)
  & (new(decided(N, T, V)) <-> decided(N, T, V) | N = n & T = t & V = v)
safety decided(N1, T1, V1) & decided(N2, T2, V2) -> V1 = V2
"""


def refutations(monkeypatch) -> ProjectedRefutations:
    monkeypatch.setattr(ProjectedRefutations, "effort", 1)
    model = parse(Source("reports.pyv", REPORTS)).model
    task = Task(model, Limits(timeout=20, jobs=1), 0, Deadline(), lambda text: None)
    return ProjectedRefutations(task, next(brief_shapes(task.model, task.orders)))


def test_what_refutations_leave_out(monkeypatch):
    """A time; who has decided; reports have four arguments.  The clock has little to say."""
    attempt = refutations(monkeypatch)
    defined = {str(item.formula) for item in attempt.task.protocol.derived}
    assert defined == {
        "forall X2:value. some_proposed(X2) <-> (exists X1:time. proposed(X1, X2))",
        "forall X1:node, X3:time, X4:value. some_report(X1, X3, X4) <-> (exists X2:time. report(X1, X2, X3, X4))",
        "forall X1:node, X2:time, X4:value. some_report_1(X1, X2, X4) <-> (exists X3:time. report(X1, X2, X3, X4))",
        "forall X2:time, X3:value. some_decided(X2, X3) <-> (exists X1:node. decided(X1, X2, X3))",
    }
    atoms = set(map(str, attempt._language(()).atoms))
    assert {"some_decided(TIME1, VALUE1)", "proposed(TIME1, VALUE1)", "at_most(clock, TIME1)"} <= atoms
    assert not {"decided(NODE1, TIME1, VALUE1)", "proposed(clock, VALUE1)"} & atoms
    assert not any(atom.startswith("report(") for atom in atoms)


def test_clauses_with_many_literals_have_few_variables(monkeypatch):
    attempt = refutations(monkeypatch)
    language = attempt._language(())
    assert (language.size, language.total, language.weight) == (4, 3, 6)
    assert [(s.literals, s.total, s.weight) for s in islice(brief_shapes(attempt.task.model, ()), 3)] == [
        (4, 3, 6), (5, 4, 7), (6, 5, 8),
    ]  # fmt: skip


def test_a_refutation_about_projections_is_one_of_the_protocol(monkeypatch):
    attempt = refutations(monkeypatch)
    found = Found(attempt.whole.protocol)
    assert attempt.go_on(found) is None
    assert all(outcome.accepted for outcome in recheck(attempt.whole.protocol, found.certificate, 60.0, 2048, 1))


def test_projections_are_written_out_in_refutations(monkeypatch):
    attempt = refutations(monkeypatch)
    found, model = Found(attempt.whole.protocol), attempt.whole.protocol
    step = Step("forward", (("one", "(forall ((T time)) (some_decided T v1))"),))
    refutation = Refutation(model.safety[0].name, (("v1", "value"),), "(some_decided clock v1)", (step,), "violation")
    found.certificate = certify(attempt.task.protocol, model.safety, (), {}, [refutation])
    write_out(attempt.task.protocol, model, found)
    [((_, text),)] = [step.formulas for step in found.certificate.refutations[0].steps]
    constant = Symbol("v1", (), model.sorts[2])
    assert str(sexpr.read(text, model.sorts, (*model.symbols, constant))) == (
        "forall T:time. exists X1:node. decided(X1, T, v1)"
    )
