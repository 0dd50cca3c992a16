"""Certificates: data from which the checker re-establishes `proved` from the protocol text alone.

A certificate holds invariants, perhaps refutations of the violations that they do not exclude by themselves, perhaps facts
about single steps on the way (cuts), and, as hints that only save time, which hypotheses sufficed for which obligation.  Where
it holds cutoffs, invariants and refutations are about the small instance that they lead to.  Nothing in it is believed: see
`checker`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quorate.files import write_atomically
from quorate.logic import sexpr
from quorate.logic.terms import Term
from quorate.models.relational import Named, RelationalModel

FORMAT = "quorate-certificate"
VERSION = 2


class CertificateError(Exception):
    """The file is not a certificate, or not one for this protocol."""


@dataclass(frozen=True)
class Step:
    """Formulas that hold in all states of a run that ends in a violation, shown forwards or backwards."""

    direction: str
    formulas: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Refutation:
    """Why no run ends in a state that satisfies `bad`, which speaks of constants, each given by name and sort.

    The steps build on each other; what they establish contradicts the `end` of the run: its first state (`initial`) or its
    last (`violation`).
    """

    property: str
    constants: tuple[tuple[str, str], ...]
    bad: str
    steps: tuple[Step, ...]
    end: str

    def to_json(self) -> dict[str, Any]:
        return {
            "property": self.property,
            "constants": [list(constant) for constant in self.constants],
            "bad": self.bad,
            "steps": [
                {
                    "direction": step.direction,
                    "formulas": [{"name": name, "formula": formula} for name, formula in step.formulas],
                }
                for step in self.steps
            ],
            "end": self.end,
        }

    @staticmethod
    def from_json(document: Any) -> Refutation:
        """A refutation from parsed JSON; raises TypeError or KeyError if it is malformed."""
        if set(document) != {"property", "constants", "bad", "steps", "end"}:
            raise KeyError
        if document["end"] not in ("initial", "violation"):
            raise KeyError
        steps = []
        for step in as_list(document["steps"]):
            if set(step) != {"direction", "formulas"} or step["direction"] not in ("forward", "backward"):
                raise KeyError
            steps.append(Step(step["direction"], tuple(_named(item) for item in as_list(step["formulas"]))))
        constants = []
        for constant in as_list(document["constants"]):
            name, sort = as_list(constant)
            constants.append((as_text(name), as_text(sort)))
        return Refutation(
            as_text(document["property"]), tuple(constants), as_text(document["bad"]), tuple(steps), document["end"]
        )


@dataclass(frozen=True)
class Cut:
    """A fact about every step of a transition, in terms of the state before it and of its choices: a stage on the way to others.

    If it `defines` something, its name is a new predicate instead, of that many arguments: the first variables of the formula.
    """

    transition: str
    name: str
    formula: str
    defines: int = 0


@dataclass(frozen=True)
class Certificate:
    """The claim that `safety` holds in every reachable state, and the invariants and refutations that show it."""

    protocol: str
    sha256: str
    safety: tuple[str, ...]
    invariants: tuple[tuple[str, str], ...]
    hints: Mapping[str, tuple[str, ...]]
    refutations: tuple[Refutation, ...] = ()
    cutoffs: tuple[Mapping[str, Any], ...] = ()
    """Each cuts off one sort of what the one before it has left; `cutoffs.read` makes sense of them."""
    cuts: tuple[Cut, ...] = ()
    """Each may use those before it."""

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "protocol": self.protocol,
            "sha256": self.sha256,
            "verdict": "proved",
            "safety": list(self.safety),
            "invariants": [{"name": name, "formula": formula} for name, formula in self.invariants],
            "refutations": [refutation.to_json() for refutation in self.refutations],
            "hints": {name: list(used) for name, used in sorted(self.hints.items())},
        }
        if self.cutoffs:
            body["cutoffs"] = list(self.cutoffs)
        if self.cuts:
            body["cuts"] = [asdict(cut) for cut in self.cuts]
        return {**body, "digest": digest(body)}

    def invariant_terms(self, model: RelationalModel) -> list[tuple[str, Term]]:
        """The invariants as formulas over the model's symbols."""
        try:
            return [(name, sexpr.read(text, model.sorts, model.symbols)) for name, text in self.invariants]
        except sexpr.SexprError as problem:
            raise CertificateError(f"an invariant cannot be read: {problem}") from None


def digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def certify(
    model: RelationalModel,
    safety: Sequence[Named],
    invariants: Sequence[Named],
    hints: Mapping[str, tuple[str, ...]],
    refutations: Sequence[Refutation] = (),
    cuts: Sequence[Cut] = (),
) -> Certificate:
    """The certificate that the invariants prove the safety properties of a model."""
    assert model.source is not None
    return Certificate(
        protocol=Path(model.source.path).name,
        sha256=model.source.sha256,
        safety=tuple(item.name for item in safety),
        invariants=tuple((item.name, sexpr.write(item.formula)) for item in invariants),
        hints=hints,
        refutations=tuple(refutations),
        cuts=tuple(cuts),
    )


def from_json(document: Any) -> Certificate:
    """A certificate from parsed JSON; every field is checked, and the digest must match."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CertificateError("this is not a Quorate certificate")
    body = {key: value for key, value in document.items() if key != "digest"}
    expected = {"format", "version", "protocol", "sha256", "verdict", "safety", "invariants", "refutations", "hints"}
    if set(body) - {"cutoffs", "cuts"} != expected or body["version"] != VERSION:
        raise CertificateError("the certificate has unknown or missing fields, or another version")
    require_digest(document, body)
    if body["verdict"] != "proved":
        raise CertificateError(
            "the certificate claims something else than `proved`, which no certificate can establish"
        )
    try:
        return Certificate(
            protocol=as_text(body["protocol"]),
            sha256=as_text(body["sha256"]),
            safety=tuple(as_text(name) for name in as_list(body["safety"])),
            invariants=tuple(_named(item) for item in as_list(body["invariants"])),
            hints={as_text(name): tuple(map(as_text, as_list(row))) for name, row in body["hints"].items()},
            refutations=tuple(Refutation.from_json(item) for item in as_list(body["refutations"])),
            cutoffs=tuple(as_list(body.get("cutoffs", []))),
            cuts=tuple(
                Cut(as_text(item["transition"]), *_named(item), as_count(item["defines"]))
                for item in as_list(body.get("cuts", []))
            ),
        )
    except MALFORMED:
        raise CertificateError("the certificate is malformed") from None


def _named(item: Any) -> tuple[str, str]:
    return as_text(item["name"]), as_text(item["formula"])


def require_digest(document: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Raises `CertificateError` unless the document holds the digest of its body."""
    try:
        made = digest(body)
    except MALFORMED:
        raise CertificateError("the certificate is malformed") from None
    if document.get("digest") != made:
        raise CertificateError("the certificate was altered: its digest does not match")


MALFORMED = (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError, RecursionError)
"""What reading data of another shape than expected ends in."""


def as_text(value: Any) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise TypeError
    return value


def as_list(value: Any) -> list[Any]:
    """The value, which must be a list."""
    if not isinstance(value, list):
        raise TypeError
    return value


def as_count(value: Any) -> int:
    """The value, which must be a number of things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError
    return value


def save(path: str | Path, certificate: Certificate) -> None:
    """Write beside the target, then rename: no half-written file is left behind."""
    write_atomically(path, json.dumps(certificate.to_json(), indent=1) + "\n")


def load(path: str | Path) -> Certificate:
    """A certificate from a file; `CertificateError` says what is wrong with it."""
    return from_json(load_document(path))


def load_document(path: str | Path) -> Any:
    """The JSON in a file; `CertificateError` says what is wrong with it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise CertificateError(f"cannot read {path}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise CertificateError(f"{path} is not JSON") from None
