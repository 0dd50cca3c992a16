"""Tampered certificates of round-based algorithms: the checker must not accept them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load_rounds, parse_rounds
from quorate.methods.heardof.prove import prove
from quorate.models.quorums import relational
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, CertificateError, Cut
from quorate.proof.checker import recheck

LIBRARY = Path(__file__).parents[2] / "protocols" / "rounds"
NAME = "simplified_coord_uniform_voting"


@pytest.fixture(scope="module")
def proved() -> tuple[RoundModel, Certificate]:
    model = load_rounds(LIBRARY / f"{NAME}.rounds").model
    certificate = prove(model, Limits(timeout=20.0)).certificate
    assert certificate is not None
    return model, certificate


def accepts(model: RoundModel, certificate: Certificate) -> bool:
    return all(outcome.accepted for outcome in recheck(relational(model)[0], certificate, 0.4, 4096, 2))


def test_untouched(proved: tuple[RoundModel, Certificate]) -> None:
    assert accepts(*proved)


@pytest.mark.parametrize(
    "gone",
    ["univalence", pytest.param("x_value", marks=pytest.mark.slow), pytest.param("no_vote", marks=pytest.mark.slow)],
)
def test_an_invariant_is_missing(proved: tuple[RoundModel, Certificate], gone: str) -> None:
    model, certificate = proved
    rest = tuple(item for item in certificate.invariants if item[0] != gone)
    assert len(rest) < len(certificate.invariants)
    assert not accepts(model, replace(certificate, invariants=rest, hints={}))


def test_an_invariant_says_more(proved: tuple[RoundModel, Certificate]) -> None:
    model, certificate = proved
    changed = tuple((name, "false" if name == "x_value" else text) for name, text in certificate.invariants)
    assert not accepts(model, replace(certificate, invariants=changed))


def test_hints_prove_nothing(proved: tuple[RoundModel, Certificate]) -> None:
    """Whatever hints say, an invariant that does not hold is not accepted."""
    model, certificate = proved
    wrong = tuple(
        (name, "(forall ((P node)) (= (decision P) value.none))" if name == "univalence" else text)
        for name, text in certificate.invariants
    )
    witnesses = ("witness P", "witness @P", "guard 1", "univalence")
    hints = {name: (*hint, *witnesses) for name, hint in certificate.hints.items()}
    assert not accepts(model, replace(certificate, invariants=wrong, hints=hints))


@pytest.mark.parametrize(
    "old, new",
    [
        (" and coordinator(p) = coordinator(q)", ""),
        pytest.param("HO(p, 2) meets HO(q, 2) and ", "", marks=pytest.mark.slow),
        ("if all received are <v> and v != ?: decide v", "if <v> received with v != ?: decide v"),
        pytest.param("if all received are <v> and v != ?", "if all received are <v>", marks=pytest.mark.slow),
        pytest.param("  vote := ?\n", "", marks=pytest.mark.slow),
        pytest.param("if <v> received with", "if #<_> > n/2 and <v> received with", marks=pytest.mark.slow),
    ],
)
def test_another_algorithm(proved: tuple[RoundModel, Certificate], old: str, new: str) -> None:
    """The certificate of the right algorithm, claimed for a faulty one."""
    text = (LIBRARY / f"{NAME}.rounds").read_text(encoding="utf-8")
    assert old in text
    model = parse_rounds(Source("mutant.rounds", text.replace(old, new))).model
    certificate = proved[1]
    with pytest.raises(CertificateError):
        accepts(model, certificate)
    assert model.source is not None
    try:
        accepted = accepts(model, replace(certificate, sha256=model.source.sha256))
    except CertificateError:
        accepted = False  # a cut speaks of a choice that the faulty one does not have
    assert not accepted


def test_other_properties(proved: tuple[RoundModel, Certificate]) -> None:
    model, certificate = proved
    with pytest.raises(CertificateError):
        accepts(model, replace(certificate, safety=("nothing",)))
    with pytest.raises(CertificateError):
        accepts(model, replace(certificate, safety=()))


def test_a_cut_that_is_false(proved: tuple[RoundModel, Certificate]) -> None:
    """A cut has to be shown; what follows from a wrong one does not count."""
    model, certificate = proved
    wrong = Cut("phase", "nothing is possible", "false")
    outcomes = list(recheck(relational(model)[0], replace(certificate, cuts=(wrong, *certificate.cuts)), 0.4, 4096, 2))
    assert [o.obligation.name for o in outcomes if not o.accepted] == ["in phase: nothing is possible"]


def test_cuts_in_another_order(proved: tuple[RoundModel, Certificate]) -> None:
    """A cut may use those before it only: otherwise two could prove each other."""
    model, certificate = proved
    circle = tuple(Cut("phase", name, "false") for name in ("one", "other"))
    hints = {"in phase: one": ("other",), "in phase: other": ("one",)}
    outcomes = recheck(relational(model)[0], replace(certificate, cuts=circle, hints=hints), 0.4, 4096, 2)
    assert "in phase: one" in [o.obligation.name for o in outcomes if not o.accepted]


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (Cut("phase", "x", "(forall ((V value)) true)", 1), "cannot be defined"),
        (Cut("phase", "odd", "true", 1), "cannot be defined"),
        (Cut("phase", "odd", "(forall ((V value)) (odd V))", 1), "cannot be read"),
        (Cut("elsewhere", "odd", "true"), "not a transition"),
    ],
)
def test_definitions_are_of_new_predicates(proved: tuple[RoundModel, Certificate], cut: Cut, message: str) -> None:
    """Neither something that is there already, nor in terms of itself."""
    model, certificate = proved
    with pytest.raises(CertificateError, match=message):
        list(recheck(relational(model)[0], replace(certificate, cuts=(cut,)), 0.4, 4096, 2))


def test_a_definition_used_twice(proved: tuple[RoundModel, Certificate]) -> None:
    """A second definition of the same predicate could contradict the first."""
    model, certificate = proved
    both = (Cut("phase", "odd", "(forall ((V value)) true)", 1), Cut("phase", "odd", "(forall ((V value)) false)", 1))
    with pytest.raises(CertificateError, match="cannot be defined"):
        list(recheck(relational(model)[0], replace(certificate, cuts=both), 0.4, 4096, 2))
