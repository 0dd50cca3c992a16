"""Certificates with something broken in them, at random: the checker rejects them in words, and never falls over."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import parse
from quorate.logic.terms import Var
from quorate.methods.cutoff.cutoff import Options, cutoff
from quorate.models.relational import Named, RelationalModel
from quorate.models.source import Source
from quorate.proof import certificates, checker, liveness
from quorate.proof.certificates import CertificateError, Cut, Refutation, Step, certify, digest
from quorate.proof.liveness import Argument, Proved, Stage

TEXT = """\
sort node
mutable relation has(node)
mutable relation waits(node)
mutable relation busy
mutable constant count: int
init has(N) & !waits(N) & !busy & count = 0
transition ask(n: node)
  modifies waits
  waits'(N) <-> waits(N) | N = n
transition serve(n: node)
  modifies waits
  waits(n) & (waits'(N) <-> waits(N) & N != n)
transition work()
  modifies busy, count
  busy' & count' = count + 1
safety [some] exists N. has(N)
safety [all] has(N)
liveness [served] forall N. waits(N) ~> !waits(N)
fairness weak forall N. serve(N)
"""


@cache
def model() -> RelationalModel:
    return parse(Source("broken.pyv", TEXT)).model


@cache
def documents() -> dict[str, dict[str, Any]]:
    """A certificate of each kind."""
    protocol = model()
    refutation = Refutation(
        "some",
        (("c", "node"),),
        "(and (not (has c)) (forall ((N node)) (not (has N))))",
        (Step("backward", (("none", "(not (has c))"),)),),
        "initial",
    )
    cuts = [
        Cut("work", "p", "(forall ((N node) (M node)) (-> (has N) (has M)))", 1),
        Cut("work", "fact", "(or busy (not (p c)))".replace("(p c)", "(forall ((N node)) (p N))")),
    ]
    invariants = [*protocol.safety, Named("counts", parse_formula("(>= count 0)"))]
    safety = certify(protocol, protocol.safety, invariants, {"initially some": ("init_1",)}, [refutation], cuts)
    small = cutoff(protocol, Limits(timeout=5.0, jobs=1), Options(20.0)).certificate
    assert small is not None and small.cutoffs
    (wanted,) = protocol.liveness
    stage = Stage("fair", (Var("X", wanted.variables[0].sort),), wanted.trigger, protocol.fairness[0].name)
    rank = Stage("rank", (Var("Y", wanted.variables[0].sort),), parse_formula("busy"))
    claims = (Named("some", protocol.safety[0].formula),)
    inner = certify(protocol, [protocol.safety[0]], invariants, {})
    lively = liveness.certify(protocol, [Proved(Argument("served", True, (rank, stage)), claims, inner)])
    return {
        "safety": safety.to_json(),
        "cutoff": small.to_json(),
        "liveness": json.loads(liveness.write(protocol, lively)),
    }


def parse_formula(text: str) -> Any:
    from quorate.logic import sexpr

    return sexpr.read(text, model().sorts, model().symbols)


JUNK: tuple[Any, ...] = (
    None, True, -1, 10**4299, 1.5, float("inf"), "", "x", "\x1b[2J", "\ud800", [], {}, [[]], {"name": 1}, ["a", "b"],
    "(forall () false)", "(forall ((N node) (N node)) (has N))", "(has " + "9" * 5000 + ")", "9" * 5000, "٣", "-0",
    "(" * 1000, "(not " * 200 + "true" + ")" * 200, "(not " * 900 + "true" + ")" * 900, "(= true false)", "|", "()", "(())",
    "(forall ((N bool)) N)", "(exists ((N int)) (< N count))", "(= count (ite busy 1 2))", "(has has)", "(-> true)",
    "(and)", "(or)", "(ite 1 2 3)", "(forall N)", "true false", "((has) N)", "(|| true)", "@0", "@n",
)  # fmt: skip


def places(item: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in a document."""
    yield path
    if isinstance(item, dict):
        for key in item:
            yield from places(item[key], (*path, key))
    elif isinstance(item, list):
        for index, part in enumerate(item):
            yield from places(part, (*path, index))


def altered(document: Any, choose: random.Random) -> Any:
    """The document with something else in one of its places."""
    document = json.loads(json.dumps(document))
    path = choose.choice([path for path in places(document) if path])
    owner = document
    for key in path[:-1]:
        owner = owner[key]
    key, old = path[-1], owner[path[-1]]
    match choose.randrange(5):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, list):
            owner.insert(key, choose.choice([old, choose.choice(JUNK)]))
        case 2 | 3 if isinstance(old, str):
            words = old.replace("(", " ( ").replace(")", " ) ").split(" ")
            words[choose.randrange(len(words))] = str(
                choose.choice([*words, *JUNK, "has", "node", "busy", "count", "1"])
            )
            owner[key] = " ".join(words)
        case _:
            owner[key] = choose.choice(JUNK)
    return document


def with_digests(document: Any) -> Any:
    """The document with digests that fit, inner ones too."""
    if isinstance(document, list):
        return [with_digests(item) for item in document]
    if not isinstance(document, dict):
        return document
    inner = {key: with_digests(value) for key, value in document.items()}
    if "format" in inner:
        body = {key: value for key, value in inner.items() if key != "digest"}
        inner = {**body, "digest": digest(body)}
    return inner


def obligations(document: Any) -> int:
    """How many obligations the checker would ask the solvers about; raises `CertificateError`."""
    if liveness.is_certificate(document):
        listed = liveness.sections(model(), liveness.read(model(), document))
    else:
        listed = checker.sections(model(), certificates.from_json(document))
    for section in listed:
        checker._Prepared(section, 1024, False)
    return sum(len(section.obligations) for section in listed)


@pytest.mark.parametrize("kind", ["safety", "cutoff", "liveness"])
def test_certificates_are_read_as_they_are(kind: str) -> None:
    assert obligations(documents()[kind]) > 3


@pytest.mark.parametrize("kind", ["safety", "cutoff", "liveness"])
def test_what_is_broken_is_rejected_in_words(kind: str) -> None:
    choose = random.Random(kind)
    rejected = 0
    for _ in range(600):
        broken = documents()[kind]
        for _ in range(choose.choice((1, 1, 1, 2, 4))):
            broken = altered(broken, choose)
        try:
            obligations(with_digests(broken))
        except CertificateError as problem:
            rejected += 1
            assert str(problem)
    assert rejected > 200


@pytest.mark.parametrize("text", ["(forall () false)", "9" * 5000, "(not " * 900 + "true" + ")" * 900])
def test_formulas_that_no_solver_could_read(text: str) -> None:
    document = json.loads(json.dumps(documents()["safety"]))
    document["invariants"][0]["formula"] = text
    with pytest.raises(CertificateError, match="cannot be read"):
        obligations(with_digests(document))
