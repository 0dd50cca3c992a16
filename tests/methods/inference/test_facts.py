"""What transitions leave behind: the facts that are read off updates, and which of them last."""

from __future__ import annotations

from quorate.lang import parse_model
from quorate.methods.inference.facts import lasting
from quorate.methods.inference.language import total_orders
from quorate.methods.inference.questions import Grounds
from quorate.methods.inference.samples import samples
from quorate.models.relational import RelationalModel
from quorate.models.source import Source

PROMISES = """
sort acceptor
sort ballot
immutable relation at_most(ballot, ballot)
axiom at_most(X, X)
axiom at_most(X, Y) & at_most(Y, Z) -> at_most(X, Z)
axiom at_most(X, Y) & at_most(Y, X) -> X = Y
axiom at_most(X, Y) | at_most(Y, X)
mutable relation promised(acceptor, ballot)
mutable relation closed(acceptor, ballot)
mutable relation vote(acceptor, ballot)
mutable relation report(acceptor, ballot, ballot)
init !promised(A, B)
init !closed(A, B)
init !vote(A, B)
init !report(A, B, L)
transition promise(a: acceptor, b: ballot)
  modifies promised, closed, report
  & !closed(a, b)
  & (new(promised(A, B)) <-> promised(A, B) | A = a & B = b)
  & (new(closed(A, B)) <-> closed(A, B) | A = a & !at_most(b, B))
  & (new(report(A, B, L)) <-> if A = a & B = b then vote(a, L) & !at_most(b, L) else report(A, B, L))
transition cast(a: acceptor, b: ballot)
  modifies vote
  & GUARD
  & (new(vote(A, B)) <-> vote(A, B) | A = a & B = b)
safety promised(A, B) & vote(A, L) & !at_most(B, L) -> report(A, B, L)
"""


def facts(text: str) -> tuple[RelationalModel, set[str]]:
    model = parse_model(Source("promises.pyv", text)).model
    assert isinstance(model, RelationalModel)
    sizes = dict.fromkeys(model.sorts, 3)
    return model, {str(fact) for fact in lasting(Grounds(model, total_orders(model)), sizes, (), 10_000)}


def test_what_a_promise_leaves_behind_lasts_while_votes_keep_to_it() -> None:
    _, found = facts(PROMISES.replace("GUARD", "!closed(a, b)"))
    assert found == {
        "forall X1:acceptor, X2:ballot. promised(X1, X2) -> (forall B':ballot. !at_most(X2, B') -> closed(X1, B'))",
        "forall X1:acceptor, X2:ballot. promised(X1, X2) -> "
        "(forall L':ballot. vote(X1, L') & !at_most(X2, L') -> report(X1, X2, L'))",
        "forall X1:acceptor, X2:ballot. promised(X1, X2) -> (forall L':ballot. report(X1, X2, L') -> vote(X1, L'))",
        "forall X1:acceptor, X2:ballot. promised(X1, X2) -> (forall L':ballot. report(X1, X2, L') -> !at_most(X2, L'))",
        "forall X1:acceptor, X2:ballot, X3:ballot. report(X1, X2, X3) -> vote(X1, X3)",
        "forall X1:acceptor, X2:ballot, X3:ballot. report(X1, X2, X3) -> promised(X1, X2)",
        "forall X1:acceptor, X2:ballot, X3:ballot. report(X1, X2, X3) -> "
        "(forall B':ballot. !at_most(X2, B') -> closed(X1, B'))",
    }


def test_what_later_steps_break_is_left_out() -> None:
    _, found = facts(PROMISES.replace("GUARD", "true"))
    assert not any("-> report(" in fact for fact in found)
    assert any("-> closed(" in fact for fact in found)


def test_facts_hold_in_every_reachable_state() -> None:
    model, _ = facts(PROMISES.replace("GUARD", "!closed(a, b)"))
    sizes = dict.fromkeys(model.sorts, 3)
    orders = total_orders(model)
    for sample in samples(model, dict.fromkeys(model.sorts, 2), orders, 0):
        for fact in lasting(Grounds(model, orders), sizes, (), 10_000):
            assert sample.states.evaluate(fact, {}).all()
