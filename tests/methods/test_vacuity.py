"""What makes a verdict say less than it seems to, in all families; and sizes without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.session import Limits
from quorate.lang import load_model, parse, parse_model
from quorate.methods.explicit.simulate import simulate
from quorate.methods.induction.bounded import check, finite_search
from quorate.methods.liveness.live import Options, live
from quorate.methods.vacuity import examine, judged, spoiled, unfounded, withheld
from quorate.models.forms import Model
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.vacuity import Contradiction
from quorate.proof.verdicts import Result
from quorate.strategy import Question, verify
from quorate.strategy.relational import bounded

LIBRARY = Path(__file__).parents[2] / "protocols"
LIMITS = Limits(timeout=5.0, jobs=1)

STILL = """
sort node
mutable relation holds(node)
mutable relation free
init !holds(X)
init !free
transition take(n: node)
  modifies holds
  & free
  & (forall X. new(holds(X)) <-> holds(X) | X = n)
transition drop(n: node)
  modifies holds
  & holds(n) & !holds(n)
  & (forall X. new(holds(X)) <-> holds(X) & X != n)
safety [mutex] holds(A) & holds(B) -> A = B
"""
THREE = """
sort node
mutable relation holds(node)
axiom [three] exists X:node, Y:node, Z:node. X != Y & Y != Z & X != Z
init !holds(X)
transition take(n: node)
  modifies holds
  & (forall X. !holds(X))
  & (forall X. new(holds(X)) <-> X = n)
safety [mutex] holds(A) & holds(B) -> A = B
"""
UNFAIR = """
sort node
mutable relation asked(node)
mutable relation served(node)
mutable relation sunny
init !asked(X)
init !served(X)
init !sunny
transition ask(n: node)
  modifies asked
  (forall X. new(asked(X)) <-> asked(X) | X = n)
transition look(n: node)
  modifies asked
  & asked(n)
  & (forall X. new(asked(X)) <-> asked(X))
fairness [weather] sunny
liveness [answered] forall N. asked(N) ~> served(N)
"""
DEAF = """algorithm Deaf
state
  x: value = proposal
round 1
  send <x> to all
  if #<_> > 2*n/3:
    x := smallest most frequent v of <v>
    if #<x> > 2*n/3: decide x
property agreement, validity
"""
PROGRAM = """
process Some
satisfies safety [one] atmost(1, {Master})
actions
  env
    rz work : unit
variables
  int[0, 3] count = 0
initial location Candidate
  on Partition<elect>(All, 1)
    win: goto Master
    lose: goto Server
location Master
  on recv(work) do
    if (count > 2) goto Lost
location Server
location Lost
  on recv(work) do goto Lost
"""


def relational(text: str) -> RelationalModel:
    return parse(Source("some.pyv", text)).model


def other(name: str, text: str) -> Model:
    return parse_model(Source(name, text)).model


def said(model: Model, invariants: tuple = ()) -> list[str]:
    return [remark.message for remark in examine(model, invariants, LIMITS)]


# -- transitions and premises ----------------------------------------------------------------------------------------------


def test_no_transition_fires_as_seen() -> None:
    looked = "in any of the 4 states of the instances with up to 5 elements of node"
    assert said(relational(STILL)) == [
        f"no transition fires {looked}, so the verdicts are about the initial states alone",
        f"the premise of mutex does not hold {looked}",
    ]


def test_no_transition_can_fire_where_invariants_exclude_it() -> None:
    model = relational(STILL + "invariant [never] !free\ninvariant [nobody] !holds(X)\n")
    assert said(model, model.invariants) == [
        "no transition can ever fire, so the verdicts are about the initial states alone",
        "the premise of mutex can never hold, so it says nothing",
    ]


def test_one_transition_among_others() -> None:
    model = relational(STILL.replace("init !free", "init free"))
    assert said(model) == ["drop can never fire"]
    assert examine(model)[0].span is model.transition("drop").span


def test_a_protocol_without_transitions() -> None:
    text = STILL[: STILL.index("transition")] + "safety [nobody] !holds(X)\n"
    assert said(relational(text)) == ["there is no transition, so the verdicts are about the initial states alone"]


def test_what_takes_more_elements_is_found_with_more() -> None:
    several = "exists X, Y, Z. holds(X) & holds(Y) & holds(Z) & X != Y & Y != Z & X != Z"
    text = STILL.replace("init !free", "init free").replace("holds(n) & !holds(n)", f"({several})")
    assert said(relational(text)) == []


def test_a_property_that_denies_its_premise_is_no_empty_one() -> None:
    text = THREE.replace("holds(A) & holds(B) -> A = B", "A != B & holds(A) & holds(B) -> false")
    assert said(relational(text)) == []


def test_a_trigger_that_never_holds() -> None:
    text = UNFAIR.replace("forall N. asked(N) ~>", "forall N. served(N) & asked(N) ~>").replace(
        "fairness [weather] sunny\n", ""
    )
    assert said(relational(text)) == [
        "the premise of answered does not hold in any of the 60 states of the instances with up to 5 elements of node"
    ]


QUIET = sorted(
    str(path.relative_to(LIBRARY))
    for pattern in ("liveness/t*.pyv", "relational/c*.pyv", "mercury/[dlmt]*.mercury", "rounds/[cou]*.rounds")
    for path in LIBRARY.glob(pattern)
)


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_protocols_in_which_everything_happens(name: str) -> None:
    model = load_model(LIBRARY / name).model
    assert unfounded(model) is None and said(model) == []


# -- verdicts --------------------------------------------------------------------------------------------------------------


def test_what_is_proved_from_a_contradiction_is_unknown() -> None:
    model = relational(THREE + "axiom [two] forall X:node, Y:node, Z:node. X = Y | Y = Z | X = Z\n")
    results = [Result("mutex", "safety", "proved", "m", "all sizes"), Result("t", "theorem", "proved", "m", "")]
    found = judged(model, results, LIMITS)
    assert found.nothing is not None and {result.verdict for result in found.results} == {"unknown"}
    assert found.results[0].reason == (
        "nothing to prove: the axioms have no model: three (line 4), two (line 11) contradict each other"
    )


def test_theorems_do_not_rest_on_initial_states() -> None:
    found = unfounded(relational(THREE + "init [taken] exists X. holds(X)\n"))
    assert isinstance(found, Contradiction)
    kept = withheld([Result("t", "theorem", "proved", "m", ""), Result("s", "safety", "violated", "m", "")], found)
    assert [result.verdict for result in kept] == ["proved", "violated"]


def test_verify_answers_at_once() -> None:
    model = relational(THREE + "init [taken] exists X. holds(X)\n")
    answer = verify(Question(model, 10.0, LIMITS))
    assert [result.verdict for result in answer.results] == ["unknown"] and not answer.proofs and not answer.events
    assert "there is no initial state" in answer.results[0].reason


def test_verify_warns_beside_the_verdict() -> None:
    answer = verify(Question(relational(STILL.replace("init !free", "init free & false")), 10.0, LIMITS))
    assert answer.results[0].verdict == "unknown"
    answer = verify(Question(relational(STILL), 20.0, Limits(timeout=5.0, jobs=2)))
    assert answer.results[0].verdict == "proved"
    assert answer.remarks[0].message.startswith("no transition can ever fire")


# -- fairness --------------------------------------------------------------------------------------------------------------


def test_fairness_of_no_run_is_no_proof() -> None:
    model = relational(UNFAIR)
    found = spoiled(model, "answered")
    assert str(found) == (
        "nothing to prove: no infinite run of those with up to 3 elements of node is fair: weather (line 16)"
    )
    outcome = live(model, LIMITS, Options(20.0))
    assert [result.verdict for result in outcome.results] == ["unknown"] and not outcome.proved
    assert outcome.results[0].reason == str(found)


def test_fairness_that_invariants_exclude() -> None:
    model = relational(UNFAIR + "invariant [rain] !sunny\n")
    assert str(spoiled(model, "answered", model.invariants)) == (
        "nothing to prove: no infinite run is fair: weather (line 16)"
    )


def test_fairness_that_some_run_has() -> None:
    assert spoiled(relational(UNFAIR.replace("init !sunny\n", "")), "answered") is None
    assert spoiled(relational(UNFAIR.replace("[weather] sunny", "[weather] weak sunny when sunny")), "answered") is None


def test_fairness_of_transitions_asks_for_nothing_impossible() -> None:
    assert spoiled(relational(UNFAIR.replace("[weather] sunny", "[asks] strong forall N. ask(N)")), "answered") is None


# -- sizes without a model -------------------------------------------------------------------------------------------------


def test_nothing_is_claimed_at_sizes_without_a_model() -> None:
    model = relational(THREE)
    (node,) = model.sorts
    nothing = "there is no initial state at these sizes, so there is nothing to check; take other sizes"
    found = finite_search(model, model.safety, {node: 2}, 4, LIMITS, 5.0)
    assert found is not None and found.empty
    assert [result.reason for result in check(model, 4, LIMITS, {node: 2})] == [nothing]
    assert check(model, 4, LIMITS, {node: 3})[0].reason == "no violation within 4 steps"
    assert [result.reason for result in simulate(Instance(model, {node: 2}), 10, 5).results] == [nothing]


def test_what_is_established_are_sizes_with_a_model() -> None:
    found = list(bounded(Question(relational(THREE), 20.0, LIMITS), 0, lambda text: None))
    established = [finding.established for finding in found if finding.established]
    assert established and not any("node=2" in text for text in established)
    assert "there is no initial state with node=2" in [finding.reason for finding in found]


# -- other families --------------------------------------------------------------------------------------------------------


def test_heard_of_sets_that_nobody_can_have() -> None:
    model = other("deaf.rounds", DEAF.replace("property", "safe forall p. #HO(p, 1) > n\nproperty"))
    assert str(unfounded(model)) == ("nothing to prove: no run with 2, 3, 4, 5, 9 or 14 processes is as `safe` demands")


def test_a_bound_that_takes_many_processes_is_no_contradiction() -> None:
    model = other("deaf.rounds", DEAF.replace("property", "safe forall p. #HO(p, 1) > 7\nproperty"))
    assert unfounded(model) is None


def test_parameters_that_nobody_can_choose() -> None:
    model = other("deaf.rounds", DEAF.replace("state\n", "parameter f with f > n and f < n\nstate\n"))
    assert "no values of the parameters are allowed" in str(unfounded(model))


def test_termination_under_a_sync_that_never_holds() -> None:
    text = DEAF.replace("property", "sync forall p. #HO(p, 1) > n\nproperty termination,")
    model = other("deaf.rounds", text)
    assert "no phase" in str(spoiled(model, "termination")) and spoiled(model, "agreement") is None
    assert spoiled(other("deaf.rounds", text.replace("> n\n", ">= n\n")), "termination") is None


def test_nobody_decides() -> None:
    model = other("deaf.rounds", DEAF.replace("2*n/3", "n"))
    assert [remark.kind for remark in examine(model)] == ["decision"]


def test_a_location_that_no_process_can_reach() -> None:
    assert said(other("some.mercury", PROGRAM)) == ["no process can ever be in Lost"]


def test_a_program_that_never_moves() -> None:
    text = "process Some\nsatisfies safety [one] atmost(1, {Busy})\nactions\n  br go : unit\n"
    text += "initial location Idle\n  on recv(go) do goto Busy\nlocation Busy\n  on recv(go) do goto Idle\n"
    assert [remark.kind for remark in examine(other("some.mercury", text))] == ["transitions"]
