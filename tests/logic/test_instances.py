"""Queries with instances put in: weaker than the query, and still unsatisfiable where a witness is offered."""

from __future__ import annotations

from quorate.engines.smt.session import Goal, Group, Limits, solve
from quorate.logic.instances import instances
from quorate.logic.terms import BOOL, Sort, Symbol, Term, Var, conj, exists, forall, implies, neg
from quorate.models.relational import Named

NODE, QUORUM = Sort("node"), Sort("quorum")
MEMBER = Symbol("member", (NODE, QUORUM), BOOL)
VOTED = Symbol("voted", (NODE,), BOOL, True)
LEADS = Symbol("leads", (NODE,), BOOL, True)
BACKING = Symbol("backing", (NODE,), QUORUM)
N, P, Q = Var("N", NODE), Var("P", NODE), Var("Q", QUORUM)


def backed(leader: Term, quorum: Term) -> Term:
    return implies(LEADS(leader), forall((N,), implies(MEMBER(N, quorum), VOTED(N))))


CLAIM = forall((P,), implies(LEADS(P), exists((Q,), forall((N,), implies(MEMBER(N, Q), VOTED(N))))))
KNOWN = forall((P,), backed(P, BACKING(P)))


def status(hypotheses: list[Term], goal: Term) -> str:
    group = Group(tuple(Named(str(i), item) for i, item in enumerate(hypotheses)), (Goal("goal", goal),))
    ((_, _, answer),) = solve([group], Limits(timeout=10.0))
    return answer.status


def test_a_witness_settles_it() -> None:
    query = instances([KNOWN], neg(CLAIM))
    assert query is not None
    assert "backing(@P)" in query.instances
    assert status(list(query.hypotheses), conj(query.rest, query.instances["backing(@P)"])) == "unsat"


def test_what_exists_by_hypothesis_has_a_name() -> None:
    """The hypothesis is the claim itself: what it says exists becomes a function, which is the witness."""
    query = instances([CLAIM], neg(CLAIM))
    assert query is not None
    (name,) = (text for text in query.instances if text.endswith("(@P)"))
    assert status(list(query.hypotheses), conj(query.rest, query.instances[name])) == "unsat"


def test_nothing_is_gained_from_nothing() -> None:
    """Without a reason for the claim, no instances refute its negation."""
    query = instances([forall((Q,), exists((N,), MEMBER(N, Q)))], neg(CLAIM))
    assert query is not None
    assert status(list(query.hypotheses), conj(query.rest, *query.instances.values())) != "unsat"


def test_nothing_to_put_in() -> None:
    assert instances([KNOWN], neg(forall((P,), VOTED(P)))) is None
