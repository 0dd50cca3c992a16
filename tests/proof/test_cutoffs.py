"""The checker believes nothing that a certificate says about cutoffs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.methods.cutoff.analysis import violations
from quorate.methods.cutoff.candidates import Scene
from quorate.methods.cutoff.cutoff import Options, cutoff
from quorate.methods.cutoff.instance import verify
from quorate.models.relational import RelationalModel
from quorate.models.small import flattened
from quorate.proof.certificates import Certificate, CertificateError, from_json
from quorate.proof.checker import recheck, sections
from quorate.proof.cutoffs import Cutoff, Pair, opened, write

LIBRARY = Path(__file__).parents[2] / "protocols" / "relational"
LIMITS = Limits(timeout=5.0, jobs=1)


@cache
def proved(name: str) -> tuple[RelationalModel, Certificate]:
    model = load(LIBRARY / name).model
    certificate = cutoff(model, LIMITS, Options(20.0)).certificate
    assert certificate is not None
    return model, certificate


def refused(model: RelationalModel, certificate: Certificate) -> list[str]:
    """The obligations that do not hold."""
    return [item.obligation.name for item in recheck(model, certificate, 5.0, 2048, 2) if not item.accepted]


def tampered(name: str, change: Callable[[Any], None]) -> tuple[RelationalModel, Certificate]:
    model, certificate = proved(name)
    documents = copy.deepcopy(list(certificate.cutoffs))
    change(documents)
    return model, replace(certificate, cutoffs=tuple(documents), hints={})


def test_a_certificate_survives_its_file() -> None:
    model, certificate = proved("lock_server_sync.pyv")
    again = from_json(certificate.to_json())
    assert again == certificate
    assert refused(model, again) == []


def first_case(documents: Any) -> Any:
    return documents[0]["cases"][0]


def without_clause(documents: Any) -> None:
    first_case(documents)["relation"].pop()


def without_case(documents: Any) -> None:
    documents[0]["cases"] = []


def without_answers(documents: Any) -> None:
    first_case(documents)["moves"] = []


def other_start(documents: Any) -> None:
    first_case(documents)["start"] = [[name, "false"] for name, _ in first_case(documents)["start"]]


def narrower_violation(documents: Any) -> None:
    first_case(documents)["bad"] = "false"


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (without_clause, "preserves"),
        (without_case, "cases of server cover mutual_exclusion"),
        (without_answers, "preserves"),
        (other_start, "C begins with"),
        (narrower_violation, "cases of server cover mutual_exclusion"),
    ],
)
def test_a_wrong_cutoff_is_refused(change: Callable[[Any], None], broken: str) -> None:
    names = refused(*tampered("lock_server_sync.pyv", change))
    assert any(broken in name for name in names), names


def depends_on_the_state(documents: Any) -> None:
    case = documents[1]["cases"][0]
    case["image"] = "(ite (holds |@1| server1) client1 client2)"


def no_such_transition(documents: Any) -> None:
    first_case(documents)["moves"][0][1][0][1] = "steal"


def too_many_arguments(documents: Any) -> None:
    first_case(documents)["moves"][0][1][0].append("true")


def violator_is_a_symbol(documents: Any) -> None:
    first_case(documents)["violators"][0][0] = "holds"


def no_such_sort(documents: Any) -> None:
    documents[0]["sort"] = "clock"


def no_elements(documents: Any) -> None:
    documents[0]["size"] = 0


@pytest.mark.parametrize(
    "change",
    [
        depends_on_the_state,
        no_such_transition,
        too_many_arguments,
        violator_is_a_symbol,
        no_such_sort,
        no_elements,
    ],
)
def test_a_cutoff_that_makes_no_sense_is_an_error(change: Callable[[Any], None]) -> None:
    model, certificate = tampered("lock_server_sync.pyv", change)
    with pytest.raises(CertificateError):
        sections(model, certificate)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_malformed_cutoffs_are_errors(data: st.DataObject) -> None:
    model, certificate = proved("lock_server_sync.pyv")
    documents = copy.deepcopy(list(certificate.cutoffs))
    place: Any = documents
    while isinstance(place, list | dict) and place:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], list | dict) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(st.sampled_from([None, 3, "x", [], {}, [[]], "(holds)", "|"]))
            break
        place = place[key]
    with suppress(CertificateError):
        sections(model, replace(certificate, cutoffs=tuple(documents)))


def test_the_small_instance_must_satisfy_the_axioms() -> None:
    def change(documents: Any) -> None:
        rigid = first_case(documents)["rigid"]
        rigid[:] = [[name, "true" if name == "small between" else text] for name, text in rigid]

    model, certificate = tampered("ring_leader_election_duplicating.pyv", change)
    assert any("C satisfies ring" in name for name in refused(model, certificate))


def test_a_lockstep_without_guards_cannot_be_claimed() -> None:
    """The third node of `vouching` cannot be absorbed: whatever C answers, its guards are asked for."""
    model = load(LIBRARY / "broken" / "vouching_three_needed.pyv").model
    flat = flattened(model)
    (sort,) = flat.sorts
    pair = Pair(model, sort, 2)
    scene = Scene(flat, sort, violations(flat)[0])
    evidence = verify(pair.small, LIMITS, 5.0, lambda text: None)
    assert evidence.certificate is not None, "the small instance is safe"
    for candidate in scene.candidates(pair, "", ()):
        case = replace(candidate.case, start=next(iter(scene.starts(pair, candidate.case))))
        document = write(Cutoff(sort.name, 2, (case,)))
        assert write(opened(model, document)[1]) == document
        assert refused(model, replace(evidence.certificate, cutoffs=(document,)))
