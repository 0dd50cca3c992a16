"""Proofs for every n: lemmas given and found, certificates, and nothing proved that is wrong."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quorate.engines.smt import session
from quorate.engines.smt.session import Limits
from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof.check import Options, check
from quorate.methods.heardof.hunt import hunt, nobody_decides
from quorate.methods.heardof.prove import prove
from quorate.models.evaluation import RoundsError
from quorate.models.quorums import relational
from quorate.models.source import Source
from quorate.proof.checker import recheck
from random_rounds import Generator

LIBRARY = Path(__file__).parents[3] / "protocols" / "rounds"
LIMITS = Limits(timeout=20.0)


def accepted(name: str, lemmas: bool) -> bool:
    model = load_rounds(LIBRARY / f"{name}.rounds").model
    stripped = model if lemmas else replace(model, univalent=None, invariants=())
    proof = prove(stripped, LIMITS)
    assert not proof.open, [proof.why(item) for item in proof.open]
    assert proof.certificate is not None
    return all(outcome.accepted for outcome in recheck(relational(model)[0], proof.certificate, 60.0, 4096, 2, False))


@pytest.mark.parametrize("name", ["simplified_coord_uniform_voting", "one_third_rule", "chandra_toueg"])
def test_proofs_with_certificates(name: str) -> None:
    assert accepted(name, lemmas=True)


@pytest.mark.parametrize("name", ["simplified_coord_uniform_voting", "a_te"])
def test_lemmas_are_found(name: str) -> None:
    assert accepted(name, lemmas=False)


@pytest.mark.parametrize("claim, verdict", [("> n", "violated"), ("> n/2", "proved"), ("<= n/2", "violated")])
def test_a_property_about_sets_that_may_not_exist(claim: str, verdict: str) -> None:
    """There is no set of more than n processes, although the relational form has something in its place."""
    text = f"""algorithm Claim

state
  x: value = proposal

round 1
  send <x> to all
  if #<_> > 2*n/3: x := smallest most frequent v of <v>

safety [claim] #{{q : x(q) = x(q)}} {claim}
"""
    model = parse_rounds(Source("claim.rounds", text)).model
    try:
        proved = not prove(model, LIMITS).open
    except RoundsError:
        proved = False
    assert proved == (verdict == "proved")
    assert any(item.violated for item in hunt(model, 2, (10.0,))) == (verdict == "violated")


def test_a_proof_that_says_nothing_is_noted() -> None:
    text = """algorithm Mute

state
  x: value = proposal
  seen: bool = false

round
  send <x> to all
  if seen and <v> received: decide v

property agreement
"""
    model = parse_rounds(Source("mute.rounds", text)).model
    assert not prove(model, LIMITS).open and nobody_decides(model, 10.0)
    assert not nobody_decides(load_rounds(LIBRARY / "one_third_rule.rounds").model, 10.0)


@pytest.mark.slow
def test_another_univalence() -> None:
    """A third round that is content with half of the processes: U(v) of the file is too strong, another one proves it."""
    text = (LIBRARY / "last_voting.rounds").read_text(encoding="utf-8").replace("#<ack> > n/2", "#<ack> >= n/2")
    model = parse_rounds(Source("half.rounds", text)).model
    assert prove(model, LIMITS).open and not prove(replace(model, univalent=None), LIMITS).open


@pytest.mark.slow
def test_nothing_is_proved_that_a_search_refutes() -> None:
    """Random algorithms: what is proved for every n has no violation with two or three processes."""
    proved = 0
    for seed in range(60):
        text = Generator(Random(9000 + seed), coordinators=seed % 3 == 2).text()
        model = parse_rounds(Source("random.rounds", text)).model
        try:
            proof = prove(model, Limits(timeout=1.0))
        except RoundsError:
            continue
        names = {item.name for item in proof.proved}
        claimed = replace(model, safety=tuple(item for item in model.safety if item.name in names), invariants=())
        proved += len(claimed.safety)
        for n in (2, 3):
            outcome = check(claimed, n, {}, None, Options(timeout=5.0))
            assert not any(result.verdict == "violated" for result in outcome.results), text
    assert proved > 20


@pytest.mark.slow
@pytest.mark.parametrize("lemmas", [True, False])
@pytest.mark.parametrize("name", ["uniform_voting", "coord_uniform_voting"])
def test_more_proofs(name: str, lemmas: bool) -> None:
    assert accepted(name, lemmas)


@pytest.mark.slow
@pytest.mark.parametrize("lemmas", [True, False])
def test_last_voting(lemmas: bool) -> None:
    assert accepted("last_voting", lemmas)


@pytest.mark.slow
def test_hybrid() -> None:
    """For every n and every α up to n/4: three sets of processes with a common member."""
    assert accepted("hybrid_one", lemmas=True)


@pytest.mark.parametrize(
    "condition", ["<w> received with w != v", "not (all received are <v>)", "#<v> > 0 and <w> received with w != v"]
)
def test_conditions_on_messages_inside_a_condition_on_a_message(condition: str) -> None:
    """Their choices would have to depend on the message; taken for choices of the process they proved agreement."""
    text = f"""algorithm Nested

state
  x: value = proposal

round
  send <x> to all
  if <v> received with ({condition}): decide v

property agreement
"""
    model = parse_rounds(Source("nested.rounds", text)).model
    with contextlib.suppress(RoundsError):
        assert prove(model, LIMITS).open
    assert any(item.violated for item in hunt(model, 2, (10.0,)))


@pytest.mark.parametrize("name", ["coord_uniform_voting_unsafe", "simplified_coord_uniform_voting_two_coordinators"])
def test_faulty_variants_are_not_proved_but_hunted_down(name: str) -> None:
    model = load_rounds(LIBRARY / "broken" / f"{name}.rounds").model
    proof = prove(replace(model, safety=tuple(item for item in model.safety if item.name == "agreement")), LIMITS)
    assert [item.name for item in proof.open] == ["agreement"] and proof.certificate is None
    found = {item.violated.property: item.violated for item in hunt(model, 2, (5.0,)) if item.violated}
    assert found["agreement"].rounds is not None


def test_properties_without_univalence_are_proved_by_themselves() -> None:
    model = load_rounds(LIBRARY / "broken" / "one_third_rule_majority.rounds").model
    left = tuple(item for item in model.safety if item.name != "agreement")
    proof = prove(replace(model, safety=left), LIMITS)
    assert not proof.open and proof.certificate is not None
    outcomes = list(recheck(relational(model)[0], proof.certificate, 20.0, 4096, 2))
    assert all(outcome.accepted for outcome in outcomes)


def test_a_proof_found_by_cvc5_alone_is_accepted_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cvc5 needs no help with may be out of reach for z3 unless the hints of the certificate help."""
    plain = session._race_ways

    def of_cvc5(group: session.Group, ways: list[Any], limits: Limits) -> session.Answer:
        asked = [way for way in ways if way[0] == "cvc5"]
        return plain(group, asked if len(asked) < len(ways) and asked else ways, limits)

    model = load_rounds(LIBRARY / "broken" / "one_third_rule_majority.rounds").model
    left = tuple(item for item in model.safety if item.name == "termination")
    monkeypatch.setattr(session, "_race_ways", of_cvc5)
    proof = prove(replace(model, safety=left), LIMITS)
    assert not proof.open and proof.certificate is not None
    assert all(outcome.accepted for outcome in recheck(relational(model)[0], proof.certificate, 20.0, 4096, 2))


def test_a_hunt_says_how_far_it_got() -> None:
    model = load_rounds(LIBRARY / "flood_set.rounds").model
    assert [item.covered for item in hunt(model, 3, (30.0,))] == [2, 3]
    with pytest.raises(RoundsError):
        prove(model, LIMITS)
