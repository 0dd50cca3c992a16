"""Contradictions: what nothing satisfies is not proved, and the smallest part that contradicts itself is named."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.acceptance import examine
from quorate.proof.certificates import CertificateError, certify
from quorate.proof.vacuity import Contradiction, Remark, foundation, satisfied_at

AXIOMS = """
sort node
immutable relation below(node, node)
immutable constant first: node
mutable relation holds(node)
axiom [irreflexive] !below(X, X)
axiom [total] below(X, Y) | below(Y, X) | X = Y
axiom [loop] below(first, first)
init !holds(X)
transition take(n: node)
  modifies holds
  (forall X. new(holds(X)) <-> holds(X) | X = n)
safety [nobody] !holds(X)
"""
INITIAL = AXIOMS.replace("axiom [loop] below(first, first)", "init [given] holds(first)")
INFINITE = """
sort time
immutable relation below(time, time)
mutable relation seen(time)
axiom !below(X, X)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom forall X. exists Y. below(X, Y)
init !seen(X)
transition see(t: time)
  modifies seen
  (forall X. new(seen(X)) <-> seen(X) | X = t)
safety [fine] seen(X) -> seen(X)
"""


def model(text: str) -> RelationalModel:
    return parse(Source("some.pyv", text)).model


def test_axioms_without_a_model_are_named_and_no_others() -> None:
    found = foundation(model(AXIOMS))
    assert isinstance(found, Contradiction) and found.kind == "axioms"
    assert [part.name for part in found.parts] == ["irreflexive", "loop"]
    assert str(found) == (
        "nothing to prove: the axioms have no model: irreflexive (line 6), loop (line 8) contradict each other"
    )


def test_an_axiom_alone() -> None:
    found = foundation(model("sort node\nimmutable relation r(node)\naxiom [odd] exists X. r(X) & !r(X)\n"))
    assert str(found) == "nothing to prove: the axioms have no model: odd (line 3) contradicts itself"


def test_no_initial_state() -> None:
    found = foundation(model(INITIAL))
    assert isinstance(found, Contradiction) and found.kind == "initial"
    assert {part.name for part in found.parts} >= {"given"} and len(found.parts) == 2


def test_a_contradiction_with_the_elements_of_an_enumeration() -> None:
    text = (
        "#lang ivy1.7\ntype colour = {red, green}\nindividual best : colour\naxiom best ~= red\naxiom best ~= green\n"
    )
    found = foundation(parse(Source("colours.ivy", text)).model)
    assert isinstance(found, Contradiction) and found.kind == "axioms" and len(found.parts) == 3


def test_only_infinite_models_are_no_contradiction() -> None:
    found = foundation(model(INFINITE))
    assert found is None or (isinstance(found, Remark) and found.kind == "model")


def test_integers_are_left_to_the_solvers() -> None:
    text = "#lang ivy1.7\nindividual n : nat\ninterpret nat -> int\naxiom n > 3\naxiom n < 3\n"
    text = text.replace("individual", "type nat\nindividual")
    found = foundation(parse(Source("numbers.ivy", text)).model)
    assert isinstance(found, Contradiction) and len(found.parts) == 2


@pytest.mark.parametrize("text", [AXIOMS, INITIAL])
def test_a_certificate_from_a_contradiction_is_not_accepted(text: str) -> None:
    subject = model(text)
    certificate = certify(subject, subject.safety, subject.safety, {})
    with pytest.raises(CertificateError, match="nothing to prove"):
        examine(subject, certificate, 5.0, 1024, 1)


LITERALS = ["p(a)", "!p(a)", "p(b)", "!p(b)", "a = b", "a != b", "q(a)", "!q(b)"]


@settings(derandomize=True, max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(LITERALS), min_size=2, max_size=5, unique=True))
def test_the_named_part_is_contradictory_and_no_part_of_it_is(chosen: list[str]) -> None:
    lines = ["sort node", "immutable relation p(node)", "immutable relation q(node)"]
    lines += ["immutable constant a: node", "immutable constant b: node"]
    lines += [f"axiom [a{number}] {literal}" for number, literal in enumerate(chosen)]
    subject = model("\n".join(lines) + "\n")
    sizes = [dict.fromkeys(subject.sorts, size) for size in (1, 2)]

    def possible(names: set[str]) -> bool:
        part = [axiom for axiom in subject.axioms if axiom.name in names]
        return any(satisfied_at(subject, part, size) for size in sizes)

    found = foundation(subject)
    assert (found is None) == possible({axiom.name for axiom in subject.axioms})
    if isinstance(found, Contradiction):
        names = [part.name for part in found.parts]
        assert not possible(set(names))
        smaller = chain.from_iterable(combinations(names, size) for size in range(len(names)))
        assert all(possible(set(part)) for part in smaller)
