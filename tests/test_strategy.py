"""`verify` asks every method that applies, believes none without evidence, and stops when all is settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load_model, parse_model
from quorate.models.forms import relational_form
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, certify
from quorate.proof.checker import recheck
from quorate.proof.traces import Trace, replay
from quorate.proof.verdicts import Result
from quorate.strategy import (
    Event,
    Finding,
    Method,
    Question,
    Tell,
    Work,
    accepted,
    methods_for,
    race,
    relational,
    verify,
)
from quorate.strategy.claims import checked

PROTOCOLS = Path(__file__).parents[1] / "protocols"
LIMITS = Limits(timeout=30.0, jobs=2)

TWO_PROPERTIES = """
sort node
mutable relation held(node)
mutable relation seen(node)
init !held(N)
init !seen(N)
transition take(n: node)
  modifies held, seen
  & (forall N. new(held(N)) <-> held(N) | N = n)
  & (forall N. new(seen(N)) <-> seen(N) | N = n)
safety [mutex] held(N) & held(M) -> N = M
safety [held_is_seen] held(N) -> seen(N)
"""
INTEGERS = """#lang ivy1.7
individual count : int
after init { count := 0 }
action step = { count := count + 1 }
export step
invariant [small] count < 3
"""


def model_of(text: str, name: str = "a.pyv") -> RelationalModel:
    model = parse_model(Source(name, text)).model
    assert isinstance(model, RelationalModel)
    return model


def verdicts(question: Question, *only: str) -> dict[str, tuple[str, str]]:
    answer = verify(question, only)
    for result in answer.results:
        if result.verdict == "proved":
            assert any(result.property in proof.properties for proof in answer.proofs)
        if isinstance(result.evidence, Trace):
            assert isinstance(question.model, RelationalModel)
            replay(question.model, result.evidence)
    return {result.property: (result.verdict, result.method) for result in answer.results}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("relational/proofs/lock_server_sync.pyv", {"mutual_exclusion": ("proved", "induction")}),
        ("relational/lock_server_sync.pyv", {"mutual_exclusion": ("proved", "inference")}),
        ("mercury/lock_service.mercury", {"one_master": ("proved", "backward coverability")}),
        ("mercury/broken/lonely_losers.mercury", {"nobody_lost": ("violated", "backward coverability")}),
    ],
)
def test_families(path: str, expected: dict[str, tuple[str, str]]) -> None:
    assert verdicts(Question(load_model(PROTOCOLS / path).model, 100.0, LIMITS)) == expected


def test_rounds() -> None:
    question = Question(load_model(PROTOCOLS / "rounds/simplified_coord_uniform_voting.rounds").model, 100.0, LIMITS, 3)
    assert set(verdicts(question).values()) == {("proved", "quorums and induction")}


@pytest.mark.parametrize("only", ["bounded", "instances", "simulate", "cutoff", "infer"])
def test_every_hunter_finds_a_violation_by_itself(only: str) -> None:
    model = load_model(PROTOCOLS / "relational/broken/lock_server_sync_lock_stolen.pyv").model
    assert verdicts(Question(model, 60.0, LIMITS), only)["mutual_exclusion"][0] == "violated"


def test_one_property_is_violated_and_the_other_proved_by_a_certificate_of_its_own() -> None:
    model = model_of(TWO_PROPERTIES)
    answer = verify(Question(model, 60.0, LIMITS))
    assert [(r.property, r.verdict) for r in answer.results] == [("mutex", "violated"), ("held_is_seen", "proved")]
    [proof] = answer.proofs
    assert proof.properties == ("held_is_seen",) and isinstance(proof.certificate, Certificate)
    assert all(outcome.accepted for outcome in recheck(model, proof.certificate, 30.0, 2048, 1))


@pytest.mark.parametrize(
    "path",
    [
        "mercury/broken/consortium_own_opinion.mercury",
        "rounds/broken/coord_uniform_voting_decides_silence.rounds",
    ],
)
def test_certificates_of_some_properties_belong_to_the_whole_file(path: str) -> None:
    model = load_model(PROTOCOLS / path).model
    answer = verify(Question(model, 100.0, LIMITS, 3))
    assert {result.verdict for result in answer.results} == {"proved", "violated"}
    for proof in answer.proofs:
        assert isinstance(proof.certificate, Certificate)
        assert len(proof.certificate.safety) < len(model.safety)
        outcomes = list(recheck(relational_form(model), proof.certificate, 30.0, 2048, 2))
        assert len(outcomes) == proof.obligations and all(outcome.accepted for outcome in outcomes)


LIVELY = """
sort node
mutable relation waits(node)
mutable relation served(node)
init !waits(N) & !served(N)
transition ask(n: node)
  modifies waits
  & (forall N. new(waits(N)) <-> waits(N) | N = n)
transition serve(n: node)
  modifies served, waits
  & waits(n)
  & (forall N. new(waits(N)) <-> waits(N) & N != n)
  & (forall N. new(served(N)) <-> N = n)
safety [one_at_a_time] served(N) & served(M) -> N = M
fairness [serves] weak serve(N)
liveness [all_served] waits(N) ~> served(N)
liveness [all_ask] !waits(N) ~> waits(N)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_safety_and_liveness_of_one_file(jobs: int) -> None:
    question = Question(model_of(LIVELY), 60.0, replace(LIMITS, jobs=jobs))
    answer = verify(question)
    found = {result.property: (result.kind, result.verdict) for result in answer.results}
    assert found == {
        "one_at_a_time": ("safety", "proved"),
        "all_served": ("liveness", "proved"),
        "all_ask": ("liveness", "violated"),
    }
    for proof in answer.proofs:
        assert accepted(question, proof.certificate, lambda text: None) == proof.obligations


def test_a_method_is_asked_about_what_it_speaks_of() -> None:
    question = Question(model_of(LIVELY), 60.0, LIMITS)
    assert [result.property for result in verify(question, ("induct",)).results] == ["one_at_a_time"]
    assert [result.property for result in verify(question, ("live",)).results] == ["all_served", "all_ask"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_core_is_enough(jobs: int) -> None:
    found = verdicts(Question(model_of(TWO_PROPERTIES), 60.0, replace(LIMITS, jobs=jobs)))
    assert {name: verdict for name, (verdict, _) in found.items()} == {"mutex": "violated", "held_is_seen": "proved"}


def test_protocols_with_integers_are_hunted_symbolically() -> None:
    answer = verify(Question(model_of(INTEGERS, "a.ivy"), 60.0, LIMITS), ("bounded",))
    [result] = answer.results
    assert (result.verdict, result.reason) == ("violated", "after 3 steps")


def test_what_is_left_open_says_what_is_established() -> None:
    model = load_model(PROTOCOLS / "relational/lock_server_sync.pyv").model
    [result] = verify(Question(model, 3.0, LIMITS), ("bounded",)).results
    assert result.verdict == "unknown" and "no violation within" in result.reason


def test_given_invariants_that_do_not_suffice_come_with_a_counterexample_to_induction() -> None:
    text = (PROTOCOLS / "relational/lock_server_sync.pyv").read_text() + "\ninvariant [weak] true | free(S)\n"
    answer = verify(Question(model_of(text), 30.0, LIMITS), ("induct",))
    [result] = answer.results
    assert result.verdict == "not-inductive"
    assert isinstance(result.evidence, Trace) and result.evidence.kind == "cti"


def test_hunts_begin_with_what_the_properties_name() -> None:
    """Two decided values need two values and no more acceptors than one; ballots are ordered, and there is one more of them."""
    model = load_model(PROTOCOLS / "relational/broken/vertical_paxos_looks_nowhere.ivy").model
    assert isinstance(model, RelationalModel)
    first, second = relational.sizes_to_try(Question(model))[:2]
    sizes = {sort.name: size for sort, size in first.items()}
    assert sizes == {"ballot": 3, "value": 2, "acceptor": 1, "quorum": 1, "configuration": 1}
    assert set(second.values()) == {2}


def test_where_a_file_brings_invariants_induction_goes_first() -> None:
    bare, given = (load_model(PROTOCOLS / f"relational/{name}").model for name in ("paxos.pyv", "proofs/paxos.pyv"))
    proofs = [[method.name for method in methods_for(model) if method.aim == "proof"] for model in (bare, given)]
    assert proofs == [["infer", "cutoff", "induct"], ["induct", "infer", "cutoff"]]


# -- nothing is proved without a certificate that the checker accepts ---------------------------------------------------------


def wrong_certificate(model: RelationalModel) -> Certificate:
    """The claim that the safety properties are inductive by themselves."""
    return certify(model, model.safety, model.safety, {})


def test_a_wrong_certificate_is_not_accepted() -> None:
    model = load_model(PROTOCOLS / "relational/lock_server_sync.pyv").model
    assert isinstance(model, RelationalModel)
    question = Question(model, 30.0, LIMITS)
    reason = accepted(question, wrong_certificate(model), lambda text: None)
    assert isinstance(reason, str) and "does not accept" in reason
    broken = model_of(TWO_PROPERTIES)
    assert isinstance(accepted(Question(broken), wrong_certificate(broken), lambda text: None), str)
    other = replace(wrong_certificate(model), sha256="0" * 64)
    assert isinstance(accepted(question, other, lambda text: None), str)
    nothing = replace(wrong_certificate(model), safety=())
    assert isinstance(accepted(question, nothing, lambda text: None), str)


def overconfident(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    assert isinstance(question.model, RelationalModel)
    yield checked(question, wrong_certificate(question.model), "faith", "all sizes", (), tell)


def crashing(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    raise RuntimeError("a bug in a method")
    yield Finding()


@pytest.mark.parametrize("work", [overconfident, crashing])
def test_a_method_that_is_wrong_or_crashes_costs_an_answer_and_no_more(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = Method("odd", "proof", "does odd things", work, (60.0,))
    monkeypatch.setattr(race, "methods_for", lambda model: (method,))
    answer = verify(Question(load_model(PROTOCOLS / "relational/lock_server_sync.pyv").model, 30.0, LIMITS))
    [result] = answer.results
    assert result.verdict == "unknown" and answer.proofs == ()
    assert ("does not accept" in result.reason) == (work is overconfident)


def boastful(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    name = question.model.safety[0].name
    yield Finding((Result(name, "safety", "proved", "faith", "all sizes"),))
    yield Finding((Result(name, "safety", "violated", "guessing", "", "after 1 step"),))
    [found] = [item for item in relational.bounded(replace(question, seconds=20.0), 0, tell) if item.results]
    [result] = found.results
    assert isinstance(result.evidence, Trace)
    cut = replace(result.evidence, states=result.evidence.states[:-1], steps=result.evidence.steps[:-1])
    yield Finding((replace(result, evidence=cut),))
    yield Finding((replace(result, property="held_is_seen"),))


def test_verdicts_without_evidence_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "methods_for", lambda model: (Method("boastful", "proof", "", boastful, (60.0,)),))
    answer = verify(Question(model_of(TWO_PROPERTIES), 30.0, LIMITS))
    assert {result.verdict for result in answer.results} == {"unknown"}


def first_only(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    yield next(item for item in relational.bounded(replace(question, seconds=20.0), 0, tell) if item.results)


def test_what_is_settled_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TWO_PROPERTIES + "safety [unseen] !seen(N)\n"
    methods = [Method(name, "violation", "", first_only, (seconds,)) for name, seconds in (("a", 40.0), ("b", 50.0))]
    monkeypatch.setattr(race, "methods_for", lambda model: methods)
    seen: list[Event] = []
    answer = verify(Question(model_of(text), 60.0, LIMITS), watch=seen.append)
    found = [event.text for event in seen if event.kind == "found"]
    assert found == ["unseen violated", "mutex violated"]
    assert [result.verdict for result in answer.results] == ["violated", "unknown", "violated"]


def test_methods_for_every_family() -> None:
    names = {
        path: [method.name for method in methods_for(load_model(PROTOCOLS / path).model)]
        for path in ("relational/paxos.pyv", "mercury/lock_service.mercury", "rounds/last_voting.rounds")
    }
    assert names["relational/paxos.pyv"] == ["bounded", "instances", "simulate", "infer", "cutoff", "induct"]
    assert names["mercury/lock_service.mercury"] == ["phases"]
    assert names["rounds/last_voting.rounds"] == ["instances", "quorums"]


def test_choices_have_the_same_names_whatever_is_asked() -> None:
    """A proof of some properties is checked against the algorithm with all of them."""
    from quorate.models.forms import relational_form

    model = load_model(PROTOCOLS / "rounds/broken/coord_uniform_voting_unsafe.rounds").model
    [whole] = relational_form(model).transitions
    [part] = relational_form(Question(model).only(["validity"]).model).transitions
    assert set(part.choices) < set(whole.choices)
