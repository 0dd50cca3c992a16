"""The plain reading of the text objects to what is false, whatever the obligations say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quorate.lang import load_model, parse
from quorate.models.relational import Named, RelationalModel
from quorate.models.source import Source
from quorate.proof import second_opinion as module
from quorate.proof.acceptance import examine
from quorate.proof.certificates import certify
from quorate.proof.liveness import Argument, LivenessCertificate, Proved
from quorate.proof.second_opinion import second_opinion
from quorate.proof.twins import TwinError

ROOT = Path(__file__).parents[2]
LOCK = """
sort client
mutable relation holds(client)
mutable relation free
init !holds(C)
init free
transition grant(c: client)
  modifies holds, free
  & free
  & (forall C. new(holds(C)) <-> holds(C) | C = c)
  & !new(free)
safety [mutex] holds(A) & holds(B) -> A = B
invariant [unheld] free -> !holds(C)
"""


def lock(text: str = LOCK) -> RelationalModel:
    return parse(Source("lock.pyv", text)).model


def opinion(model: RelationalModel, form: RelationalModel | None = None, invariants: tuple[Named, ...] | None = None):
    form = form or model
    offered = form.properties if invariants is None else invariants
    return second_opinion(model, form, certify(form, model.safety, offered, {}), seconds=0.2)


def test_a_right_proof_is_agreed_to_and_the_states_are_counted() -> None:
    found = opinion(lock())
    assert found.objection is None and found.complete[:2] == ("client=1", "client=2")
    assert str(found).startswith("the plain reading of the text agrees in ")


def test_a_false_property_is_objected_to_with_a_run() -> None:
    found = opinion(lock(LOCK.replace("  & free\n", "")), invariants=())
    assert str(found) == (
        "mutex is false, in a state that the text reaches with client=2:\n"
        "first state:\n  free\n"
        "step 1: grant(c = 0)\nstep 2: grant(c = 1)\n"
        "last state:\n  holds(0), holds(1)"
    )


def test_an_invariant_that_does_not_hold_is_objected_to() -> None:
    model = lock()
    wrong = Named("nobody", lock(LOCK + "invariant [nobody] !holds(C)\n").invariants[-1].formula)
    found = opinion(model, invariants=(*model.properties, wrong))
    assert found.objection is not None
    assert found.objection.claim == "the proof says that “nobody” holds; it does not"


def test_initial_conditions_that_the_text_does_not_have_are_objected_to() -> None:
    model = lock(LOCK.replace("init free\n", ""))
    found = opinion(model, replace(model, initial=lock().initial))
    assert found.objection is not None and "it does not" in found.objection.claim


def test_axioms_that_do_not_hold_are_objected_to() -> None:
    """As when a translation contradicts itself: then every obligation holds."""
    model = lock()
    nothing = Named("made up", model.safety[0].formula)
    found = opinion(lock(LOCK.replace("  & free\n", "")), replace(model, axioms=(nothing,)), ())
    assert found.objection is not None


def test_without_a_twin_there_is_an_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(model: object) -> None:
        raise TwinError("no such thing")

    monkeypatch.setattr(module, "twins", none)
    assert str(opinion(lock())) == "no second opinion: no such thing"


def test_a_certificate_whose_obligations_hold_is_refused_if_the_text_says_otherwise() -> None:
    """A model that lost an update, as a faulty front end would make it: the obligations hold, the text does not agree."""
    text = LOCK.replace("  & free\n", "")
    model = lock(text)
    lost = replace(model.transitions[0], updates=())
    faulty = replace(model, transitions=(lost,))
    found = examine(faulty, certify(faulty, faulty.safety, faulty.properties, {}), 5.0, 2048, 1)
    assert not found.open and not found.accepted
    assert found.why_not.startswith("mutex is false")


STARVING = [
    ("dining_philosophers", "fed is false: a run ends before its goal is reached, according to the text, with seat=2"),
    ("priority_lock", "served is false: a fair run goes on forever without reaching its goal, according to the text, "),
    ("lease_lock_weakly_fair", "served is false: a fair run goes on forever without reaching its goal"),
    ("token_ring_no_fair_passing", "served is false: a fair run goes on forever without reaching its goal"),
    ("two_phase_commit_unnoticed_failure", "termination is false: a fair run goes on forever without reaching"),
]


@pytest.mark.parametrize("monitored", [False, True])
@pytest.mark.parametrize(("name", "words"), STARVING)
def test_a_fair_run_that_starves_is_objected_to(name: str, words: str, monitored: bool) -> None:
    model = load_model(ROOT / "protocols" / "liveness" / "broken" / f"{name}.pyv").model
    assert isinstance(model, RelationalModel)
    proved = tuple(Proved(Argument(item.name, monitored, ()), (), None) for item in model.liveness)
    found = second_opinion(model, model, LivenessCertificate("", "", proved), seconds=3.0)
    assert str(found).startswith(words)


@pytest.mark.parametrize("name", ["lease_lock", "ticket_lock", "token_ring", "two_phase_commit"])
def test_fair_runs_that_reach_their_goals_are_agreed_to(name: str) -> None:
    model = load_model(ROOT / "protocols" / "liveness" / f"{name}.pyv").model
    assert isinstance(model, RelationalModel)
    proved = tuple(Proved(Argument(item.name, True, ()), (), None) for item in model.liveness)
    found = second_opinion(model, model, LivenessCertificate("", "", proved), seconds=0.4)
    assert found.objection is None and found.states > 20
