"""Proofs for every n: lemmas given and found, certificates, and nothing proved that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof.check import Options, check
from quorate.methods.heardof.prove import prove
from quorate.methods.heardof.verify import verify
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


@pytest.mark.parametrize(
    "name", ["simplified_coord_uniform_voting", "coord_uniform_voting", "one_third_rule", "chandra_toueg"]
)
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
    (result,) = verify(parse_rounds(Source("claim.rounds", text)).model, 2, 10.0, LIMITS).results
    assert result.verdict == verdict


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
    outcome = verify(parse_rounds(Source("mute.rounds", text)).model, 2, 10.0, LIMITS)
    assert outcome.results[0].verdict == "proved"
    assert any("nobody decides" in note for note in outcome.notes)


@pytest.mark.slow
def test_another_univalence() -> None:
    """A third round that is content with half of the processes: U(v) of the file is too strong, another one proves it."""
    text = (LIBRARY / "last_voting.rounds").read_text(encoding="utf-8").replace("#<ack> > n/2", "#<ack> >= n/2")
    outcome = verify(parse_rounds(Source("half.rounds", text)).model, 2, 10.0, LIMITS)
    assert {item.verdict for item in outcome.results} == {"proved"}
    assert any("another" in note for note in outcome.notes)


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
    (result,) = verify(parse_rounds(Source("nested.rounds", text)).model, 2, 10.0, LIMITS).results
    assert result.verdict == "violated"


@pytest.mark.parametrize("name", ["coord_uniform_voting_unsafe", "simplified_coord_uniform_voting_two_coordinators"])
def test_faulty_variants_are_not_proved(name: str) -> None:
    model = load_rounds(LIBRARY / "broken" / f"{name}.rounds").model
    outcome = verify(model, 2, 10.0, Limits(timeout=1.0))
    agreement = next(item for item in outcome.results if item.property == "agreement")
    assert agreement.verdict == "violated" and agreement.rounds is not None


def test_crashes_are_left_to_the_search() -> None:
    outcome = verify(load_rounds(LIBRARY / "flood_set.rounds").model, 2, 10.0, Limits(timeout=1.0))
    assert outcome.proof is None
    assert {item.verdict for item in outcome.results} == {"unknown"}
    assert "n = 2" in outcome.results[0].reason
