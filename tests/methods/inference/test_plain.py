"""Refutations as invariants: nested step by step, and inductive."""

from __future__ import annotations

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.logic.printing import show
from quorate.methods.induction.induct import induct
from quorate.methods.inference.infer import Options, infer
from quorate.methods.inference.plain import plain_invariants
from quorate.proof.certificates import Certificate, Refutation, Step

LIBRARY = "protocols/relational"


def test_steps_are_nested():
    model = load(f"{LIBRARY}/lock_server_sync.pyv").model
    steps = (
        Step("backward", (("first", "(holds a s)"),)),
        Step("forward", (("second", "(free s)"), ("third", "(not (holds b s))"))),
        Step("backward", (("fourth", "(not (= a b))"),)),
    )
    constants = (("a", "client"), ("b", "client"), ("s", "server"))
    refutations = [
        Refutation("mutual_exclusion", constants, "(holds a s)", steps, end) for end in ("initial", "violation")
    ]
    certificate = Certificate("", "", ("mutual_exclusion",), (("excluded1", "(free s)"),), {}, tuple(refutations))
    bound = "forall a:client, b:client, s:server."
    assert [(item.name, show(item.formula)) for item in plain_invariants(model, certificate)] == [
        ("excluded1_1", f"{bound} holds(a, s) -> free(s) & !holds(b, s) & a = b"),
        ("excluded2", f"{bound} holds(a, s) -> free(s) & !holds(b, s)"),
    ]


@pytest.mark.parametrize("name", ["lock_server_sync.pyv", "two_phase_commit.ivy", "toy_consensus_forall.pyv"])
def test_what_is_found_is_inductive(name):
    """However the proof was found, its invariants alone make one."""
    model = load(f"{LIBRARY}/{name}").model
    found = infer(model.with_invariants(()), Limits(60.0, 4096, 1, 0), Options(60.0, 0))
    assert found.certificate is not None
    invariants = found.invariants + plain_invariants(model, found.certificate)
    outcome = induct(model.with_invariants(invariants), Limits(60.0, 4096, 1, 0))
    assert {result.verdict for result in outcome.results if result.kind != "trace"} == {"proved"}
