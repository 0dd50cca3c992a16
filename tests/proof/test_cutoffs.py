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
from quorate.lang import load, parse_model
from quorate.methods.cutoff.analysis import violations
from quorate.methods.cutoff.candidates import Scene
from quorate.methods.cutoff.cutoff import Options, cutoff
from quorate.methods.cutoff.instance import verify
from quorate.models.relational import RelationalModel
from quorate.models.small import flattened
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, CertificateError, from_json
from quorate.proof.checker import recheck, sections
from quorate.proof.cutoffs import Cutoff, Obligations, Pair, opened, write

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


def contradictory_relation(documents: Any) -> None:
    """Every step keeps it, and no violation satisfies it: only the first state can tell."""
    first_case(documents)["relation"].append(["nothing", "false"])


def empty_relation(documents: Any) -> None:
    """Every step keeps it, and the first state satisfies it: only the violation can tell."""
    first_case(documents)["relation"] = []


def only_large_systems(documents: Any) -> None:
    """Systems that have no more clients than the violation names are forgotten."""
    case = documents[1]["cases"][0]
    names = [name for name, sort in case["violators"] if sort == "client"]
    others = " ".join(f"(not (= X {name}))" for name in names)
    case["bad"] = f"(and {case['bad']} (exists ((X client)) (and {others})))"


def answers_by_doing_nothing(documents: Any) -> None:
    """Moves whose conditions never hold."""
    for _, moves in first_case(documents)["moves"]:
        for move in moves:
            move[0] = "false"


def another_size(documents: Any) -> None:
    """The evidence is about another instance than the cutoff leads to."""
    documents[1]["size"] = 3


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (without_clause, "preserves"),
        (without_case, "cases of server cover mutual_exclusion"),
        (without_answers, "preserves"),
        (answers_by_doing_nothing, "preserves"),
        (other_start, "C begins with"),
        (narrower_violation, "cases of server cover mutual_exclusion"),
        (contradictory_relation, "initially nothing"),
        (empty_relation, "the violation shows in C"),
        (only_large_systems, "cases of client cover mutual_exclusion"),
        (another_size, "reachable"),
    ],
)
def test_a_wrong_cutoff_is_refused(change: Callable[[Any], None], broken: str) -> None:
    names = refused(*tampered("lock_server_sync.pyv", change))
    assert any(broken in name for name in names), names


def depends_on_the_state(documents: Any) -> None:
    case = documents[1]["cases"][0]
    case["image"] = "(ite (holds |@1| server1) client1 client2)"


def rigid_depends_on_the_state(documents: Any) -> None:
    first_case(documents)["rigid"] = [["small free", "(free |@1|)"]]


def same_sort_twice(documents: Any) -> None:
    documents.append(copy.deepcopy(documents[0]))


def open_formula(documents: Any) -> None:
    first_case(documents)["relation"].append(["open", "(holds X server1)"])


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
        rigid_depends_on_the_state,
        same_sort_twice,
        open_formula,
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


EXCLUSIVE = """
sort node
mutable relation left(node)
mutable relation right(node)
mutable relation leftwards
mutable relation rightwards
init !left(N) & !right(N)
init !leftwards & !rightwards
transition choose_left()
  modifies leftwards
  & !rightwards & new(leftwards)
transition choose_right()
  modifies rightwards
  & !leftwards & new(rightwards)
transition go_left(n: node)
  modifies left
  & leftwards
  & (forall N. new(left(N)) <-> left(N) | N = n)
transition go_right(n: node)
  modifies right
  & rightwards
  & (forall N. new(right(N)) <-> right(N) | N = n)
safety [one_side] !(left(N) & right(M))
safety [other] !(right(N) & left(N))
"""


@cache
def exclusive() -> tuple[RelationalModel, Certificate]:
    model = parse_model(Source("exclusive.pyv", EXCLUSIVE)).model
    assert isinstance(model, RelationalModel)
    certificate = cutoff(model, LIMITS, Options(20.0)).certificate
    assert certificate is not None and refused(model, certificate) == []
    return model, certificate


def test_violators_may_be_equal() -> None:
    """Nothing says that N and M differ, so a case for different ones alone leaves violations out."""
    model, certificate = exclusive()
    documents = copy.deepcopy(list(certificate.cutoffs))
    for case in documents[0]["cases"]:
        names = [name for name, _ in case["violators"]]
        if len(names) == 2:
            case["bad"] = f"(and {case['bad']} (not (= {names[0]} {names[1]})))"
    names = refused(model, replace(certificate, cutoffs=tuple(documents), hints={}))
    assert "cases of node cover one_side" in names


def test_every_transition_is_asked_about_in_every_case() -> None:
    """The list of transitions is the protocol's: a certificate has no say in it."""
    model, certificate = exclusive()
    pair, found = opened(model, certificate.cutoffs[0])
    groups = list(Obligations(pair).all(found.cases))
    assert sorted(group.about for group in groups if group.about) == sorted(
        transition.name for transition in model.transitions for _ in found.cases
    )


def test_a_certificate_of_one_property_says_nothing_of_another() -> None:
    """The hypothesis that nothing is violated before is about what the certificate speaks of."""
    model, certificate = exclusive()
    listed = sections(model, replace(certificate, safety=("other",), cutoffs=(), invariants=()))
    assert not any(item.name == "one_side" for section in listed for item in section.hypotheses)


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
