"""Certificates: what is written is read back, and whatever is altered is rejected."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mutations import negated_literals
from quorate.engines.smt.session import Limits
from quorate.lang import LanguageError, load, parse
from quorate.logic import sexpr
from quorate.methods.induction.induct import Search, induct
from quorate.methods.induction.induct import certificate as certificate_of
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, CertificateError, from_json, save
from quorate.proof.certificates import load as load_certificate
from quorate.proof.checker import recheck, sections

LIBRARY = Path(__file__).parents[2] / "protocols" / "relational" / "proofs"
PROTOCOLS = (
    "client_server_ae.pyv",
    "consensus_wo_decide.ivy",
    "decentralized_lock.ivy",
    "lock_server_async.ivy",
    "ring_leader_election.pyv",
    "sharded_kv.pyv",
    "ticket_lock.pyv",
    "toy_consensus_epr.ivy",
    "toy_consensus_forall.pyv",
    "two_phase_commit.ivy",
)


@cache
def proof(name: str) -> tuple[RelationalModel, Certificate]:
    model = load(LIBRARY / name).model
    found = certificate_of(induct(model, Limits(jobs=1)))
    assert found is not None
    return model, found


def accepted(model: RelationalModel, certificate: Certificate, timeout: float = 10.0) -> bool:
    """What `quorate recheck` answers; anything but every solver's `unsat` is a no."""
    try:
        return all(outcome.accepted for outcome in recheck(model, certificate, timeout, 2048, 1))
    except CertificateError:
        return False


@pytest.mark.parametrize("name", PROTOCOLS)
def test_an_honest_certificate_is_read_back_and_accepted(name: str, tmp_path: Path) -> None:
    model, certificate = proof(name)
    save(tmp_path / "proof.cert.json", certificate)
    again = load_certificate(tmp_path / "proof.cert.json")
    assert again == certificate
    assert accepted(model, again)


def test_hints_only_save_time() -> None:
    model, certificate = proof("toy_consensus_forall.pyv")
    assert accepted(model, replace(certificate, hints={}))
    assert accepted(model, replace(certificate, hints=dict.fromkeys(certificate.hints, ())))
    assert accepted(model, replace(certificate, hints=dict.fromkeys(certificate.hints, ("no such thing",))))


def alter(document: dict[str, Any], choose: random.Random) -> None:
    """Change one thing in a certificate, anywhere."""
    invariant = choose.choice(document["invariants"])
    match choose.randrange(8):
        case 0:
            document["invariants"].remove(invariant)
        case 1:
            position = choose.randrange(len(invariant["formula"]))
            changed = invariant["formula"][:position] + choose.choice("()XNab !") + invariant["formula"][position + 1 :]
            invariant["formula"] = changed if changed != invariant["formula"] else changed + ")"
        case 2:
            invariant["name"] += "_"
        case 3:
            document["sha256"] = document["sha256"][::-1]
        case 4:
            document["verdict"] = choose.choice(["violated", "unknown", "not-inductive", "PROVED", None, 1])
        case 5:
            document["safety"] = choose.choice([[], ["another"], document["safety"] * 2])
        case 6:
            document["version"] = choose.choice([0, 1, 3, "2"])
        case 7:
            del document[choose.choice(["invariants", "safety", "sha256", "hints", "digest"])]


@pytest.mark.parametrize("seed", range(400))
def test_an_altered_certificate_is_rejected(seed: int) -> None:
    choose = random.Random(seed)
    model, certificate = proof(choose.choice(PROTOCOLS[:4]))
    document = json.loads(json.dumps(certificate.to_json()))
    alter(document, choose)
    with pytest.raises(CertificateError):
        sections(model, from_json(document))


def needed_invariant(model: RelationalModel) -> str:
    """An invariant without which the rest is not inductive or does not imply safety."""
    for item in model.invariants:
        without = model.with_invariants(tuple(other for other in model.invariants if other is not item))
        if certificate_of(induct(without, Limits(jobs=1), Search(depth=1, seconds=0.1))) is None:
            return item.name
    raise AssertionError("every invariant can be spared")


def tampered() -> list[tuple[str, str]]:
    """Alterations that keep the digest right, so that only the obligations can tell."""
    return [(name, kind) for name in PROTOCOLS for kind in ("drop", "negate", "literal", "text", "false")]


@pytest.mark.parametrize(("name", "kind"), tampered())
def test_a_certificate_that_is_wrong_is_rejected_by_the_solvers(name: str, kind: str) -> None:
    model, certificate = proof(name)
    choose = random.Random(f"{name} {kind}")
    rows = dict(certificate.invariants)
    match kind:
        case "drop":
            del rows[needed_invariant(model)]
        case "negate":
            victim = choose.choice(list(rows))
            rows[victim] = f"(not {rows[victim]})"
        case "literal":
            victim = choose.choice(list(rows))
            formula = sexpr.read(rows[victim], model.sorts, model.symbols)
            rows[victim] = sexpr.write(choose.choice(list(negated_literals(formula))))
        case "false":
            rows[choose.choice(list(rows))] = "false"
        case "text":
            model = broken(model)
            certificate = replace(certificate, sha256=model.source.sha256 if model.source else "")
    wrong = replace(certificate, invariants=tuple(rows.items()))
    assert from_json(wrong.to_json()) == wrong
    assert not accepted(model, wrong)


def broken(model: RelationalModel) -> RelationalModel:
    """The protocol with its safety property contradicted in the text."""
    assert model.source is not None
    lines = model.source.text.splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith("safety"))
    label, _, _ = lines[number].partition("]")
    return parse(Source(model.source.path, "\n".join([*lines[:number], f"{label}] false"]))).model


def test_an_altered_protocol_is_rejected() -> None:
    model, certificate = proof("ticket_lock.pyv")
    assert model.source is not None
    rejected = 0
    for index in range(0, len(model.source.text), 31):
        text = model.source.text[:index] + "#" + model.source.text[index:]
        try:
            changed = parse(Source(model.source.path, text)).model
        except LanguageError:
            continue
        with pytest.raises(CertificateError):
            sections(changed, certificate)
        rejected += 1
    assert rejected > 20


@pytest.mark.parametrize("document", [None, [], {}, "x", {"format": "quorate-certificate"}, {"format": "other"}])
def test_what_is_no_certificate_is_refused(document: Any) -> None:
    with pytest.raises(CertificateError):
        from_json(document)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.cert.json"
    path.write_text("[" * 100_000)
    with pytest.raises(CertificateError, match="not JSON"):
        load_certificate(path)
    with pytest.raises(CertificateError, match="cannot read"):
        load_certificate(tmp_path / "missing.json")
