"""Certificates of liveness: what is altered is not accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.methods.liveness.live import Options, live
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof import certificates, checker, liveness

LIBRARY = Path(__file__).parents[2] / "protocols" / "liveness"


@pytest.fixture(scope="module")
def proof() -> tuple[RelationalModel, dict[str, Any]]:
    model = load(LIBRARY / "lease_lock.pyv").model
    outcome = live(model, Limits(jobs=1), Options(seconds=120))
    assert [result.verdict for result in outcome.results] == ["proved"], outcome.results
    assert "client is finite" in outcome.results[0].reason
    certificate = liveness.certify(model, [proved for proved, _ in outcome.proved])
    return model, json.loads(liveness.write(model, certificate))


def accepted(model: RelationalModel, document: dict[str, Any]) -> bool:
    """What `recheck` says of a certificate whose digest has been adapted."""
    body = {key: value for key, value in document.items() if key != "digest"}
    for item in body["properties"]:
        if item["proof"]:
            inner = {key: value for key, value in item["proof"].items() if key != "digest"}
            item["proof"] = {**inner, "digest": certificates.digest(inner)}
    try:
        found = liveness.read(model, {**body, "digest": certificates.digest(body)})
        return all(outcome.accepted for outcome in checker.discharge(liveness.sections(model, found), 10, 2048, 1))
    except certificates.CertificateError:
        return False


def test_certificate_is_accepted(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    assert accepted(model, json.loads(json.dumps(document)))


@pytest.mark.parametrize("number", range(6))
def test_altered_certificates_are_not(proof: tuple[RelationalModel, dict[str, Any]], number: int) -> None:
    model, document = proof
    document = json.loads(json.dumps(document))
    item = document["properties"][0]
    match number:
        case 0:
            item["stages"].pop()
        case 1:
            item["stages"].clear()
        case 2:
            item["claims"] = []
            item["proof"] = None
        case 3:
            item["claims"].append({"name": "easy", "formula": "(forall ((C client)) (not (waits C)))"})
        case 4:
            item["stages"][-1]["fairness"] = "grants"
        case 5:
            item["stages"].insert(
                0, {"kind": "rank", "formula": "(forall ((C client) (X client)) (waits X))", "fairness": None}
            )
    assert not accepted(model, document)


def test_certificates_belong_to_a_text_and_have_a_digest(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    with pytest.raises(certificates.CertificateError, match="digest"):
        liveness.read(model, {**document, "sha256": "0"})
    assert model.source is not None
    other = parse(Source(model.source.path, model.source.text + "\n# another line\n")).model
    with pytest.raises(certificates.CertificateError, match="another version"):
        liveness.read(other, document)


@pytest.mark.parametrize(
    "changed",
    [
        ("fairness [grants] strong", "fairness [grants] weak"),
        ("fairness [expires] weak forall C. expire(C)\n", ""),
    ],
)
def test_the_argument_does_not_prove_a_broken_protocol(
    proof: tuple[RelationalModel, dict[str, Any]], changed: tuple[str, str]
) -> None:
    model, document = proof
    assert model.source is not None and changed[0] in model.source.text
    broken = parse(Source(model.source.path, model.source.text.replace(*changed))).model
    assert broken.source is not None
    document = json.loads(json.dumps(document))
    document["sha256"] = broken.source.sha256
    for item in document["properties"]:
        item["proof"]["sha256"] = broken.source.sha256
    assert not accepted(broken, document)
