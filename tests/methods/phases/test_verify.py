"""Every number of processes: nothing is proved that some instance violates, and certificates are what they claim to be."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercury_programs import mutant, random_program
from quorate.apps.cli.reports import expected_verdict
from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import FINISHED, RUNNING, Reference, ReferenceSearch
from quorate.lang import LoadedProcess, load_any, parse_any
from quorate.methods.phases.backwards import Backwards
from quorate.methods.phases.coverability import Limits, Search, needed, violations
from quorate.methods.phases.locals import LocalStates
from quorate.methods.phases.verify import Outcome, verify
from quorate.models.process import ProcessModel
from quorate.models.process_counting import AllSizes
from quorate.models.process_relational import relational
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, CertificateError
from quorate.proof.checker import recheck
from quorate.proof.process_runs import ProcessRun, replay, show_run
from quorate.proof.traces import ReplayError

LIBRARY = Path(__file__).parents[3] / "protocols" / "mercury"
SLOW = ("sats_landing", "sats_landing_ii", "sensor_network_with_reset", "sats_landing_approach_alone")
"""Programs that need the states of five processes, found by code that has to be compiled first."""


def load(path: Path) -> ProcessModel:
    loaded = load_any(path)
    assert isinstance(loaded, LoadedProcess)
    return loaded.model


def read(text: str) -> ProcessModel:
    loaded = parse_any(Source("test.mercury", text))
    assert isinstance(loaded, LoadedProcess)
    return loaded.model


def violated_with(model: ProcessModel, most: int, states: int = 1500) -> int | None:
    """The smallest number of processes with which some state violates a property, as far as instances are small enough."""
    for processes in range(1, most + 1):
        system = ProcessInstance(model, processes).system
        search = ReferenceSearch(Reference(system), system.symmetry is not None, keep_going=False)
        search.begin()
        while search.status == RUNNING and search.found.states < states:
            search.run(0.05)
        if search.found.violations:
            return processes
        if search.status != FINISHED:
            return None
    return None


# -- the library -----------------------------------------------------------------------------------------------------

WHOLE = sorted(LIBRARY.glob("*.mercury"))
BROKEN = sorted((LIBRARY / "broken").glob("*.mercury"))


def test_the_library_is_as_large_as_it_says() -> None:
    assert len(WHOLE) == 12
    assert len(BROKEN) >= 10


def keeps_its_word(path: Path) -> Outcome:
    model = load(path)
    outcome = verify(model)
    for result in outcome.results:
        assert result.verdict == expected_verdict(model, "verify", result), (result.property, result.reason)
        if result.verdict == "violated":
            assert isinstance(result.evidence, ProcessRun)
            replay(model, result.evidence)
            assert result.evidence.violated == result.property
    proved = [result.property for result in outcome.results if result.verdict == "proved"]
    assert sorted(outcome.certificate.safety if outcome.certificate else ()) == sorted(proved)
    return outcome


@pytest.mark.parametrize("path", [p for p in (*WHOLE, *BROKEN) if p.stem not in SLOW], ids=lambda path: path.stem)
def test_verdicts_are_as_expected(path: Path) -> None:
    keeps_its_word(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in BROKEN if p.stem in SLOW], ids=lambda path: path.stem)
def test_larger_programs_are_broken_as_expected(path: Path) -> None:
    keeps_its_word(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_every_certificate_is_accepted(path: Path) -> None:
    certificate = keeps_its_word(path).certificate
    assert certificate is not None
    assert all(outcome.accepted for outcome in recheck(relational(load(path)), certificate, 60.0, 4096, 2))


# -- certificates ----------------------------------------------------------------------------------------------------


def accepted(model: ProcessModel, certificate: Certificate) -> bool:
    return all(outcome.accepted for outcome in recheck(relational(model), certificate, 20.0, 2048, 1))


@pytest.mark.parametrize("name", ["lock_service", "consortium"])
def test_certificates_are_accepted_for_their_program_only(name: str) -> None:
    path = LIBRARY / f"{name}.mercury"
    model = load(path)
    certificate = verify(model).certificate
    assert certificate is not None and accepted(model, certificate)
    weaker = replace(certificate, invariants=certificate.invariants[:-1])
    assert not accepted(model, weaker)
    other = read(path.read_text() + "// changed\n")
    with pytest.raises(CertificateError, match="sha256"):
        accepted(other, certificate)


def test_a_certificate_does_not_fit_a_program_with_a_mistake() -> None:
    text = (LIBRARY / "lock_service.mercury").read_text()
    model, broken = read(text), read(text.replace("(All, 1)", "(All, 2)"))
    certificate = verify(model).certificate
    assert certificate is not None and broken.source is not None
    assert not accepted(broken, replace(certificate, sha256=broken.source.sha256))


# -- random programs -------------------------------------------------------------------------------------------------


def closed(model: ProcessModel) -> bool:
    """Does backward search alone, without looking at any instance, find that nothing is violated?"""
    states = LocalStates(AllSizes(model))
    backwards = Backwards(states)
    bad = violations(states, model.safety[0].specification)
    found = Search(backwards, {}, Limits(cubes=80, processes=6, spent=time.process_time() + 2)).run(bad)
    if found.closed:
        assert set(needed(backwards, bad, found.cubes)) <= set(found.cubes)
    return found.closed


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_nothing_is_proved_that_a_small_instance_violates(seed: int) -> None:
    model = random_program(Random(seed))
    if closed(model):
        assert violated_with(model, 4) is None


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_verdicts_on_random_programs_agree_with_instances(seed: int) -> None:
    model = random_program(Random(seed))
    (result,) = verify(model, seconds=3.0).results
    smallest = violated_with(model, 3)
    if result.verdict == "violated":
        assert isinstance(result.evidence, ProcessRun)
        replay(model, result.evidence)
        assert smallest == result.evidence.processes or smallest is None
    else:
        assert smallest is None


@given(st.integers(0, 2**32), st.sampled_from([p for p in WHOLE if p.stem not in SLOW]))
@settings(max_examples=40, deadline=None)
def test_nothing_is_proved_of_mutants_that_a_small_instance_violates(seed: int, path: Path) -> None:
    model = mutant(load(path), Random(seed))
    model = replace(model, safety=model.safety[:1])
    if closed(model):
        assert violated_with(model, 4, 400) is None


@pytest.mark.parametrize("seed", [11, 17])
def test_the_checker_accepts_what_is_proved_of_random_programs(seed: int) -> None:
    random = Random(seed)
    while True:
        model = random_program(random)
        outcome = verify(model, seconds=3.0)
        if outcome.certificate is not None and outcome.cubes:
            break
    assert accepted(model, outcome.certificate)


# -- single programs ---------------------------------------------------------------------------------------------------


def test_a_quorum_guard_must_be_as_strong_as_it_looks() -> None:
    text = (LIBRARY / "broken" / "sensor_network_one_answer_is_enough.mercury").read_text()
    (result,) = verify(read(text.replace("answers >= 1", "answers = N - 1"))).results
    assert result.verdict == "proved"
    (result,) = verify(read(text.replace("answers >= 1", "answers >= N - 2"))).results
    assert (result.verdict, result.scope) == ("violated", "3 processes")


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("lonely_losers", "atmost(0,", "atmost(2,", 4),
        ("lonely_losers", "atmost(0,", "atmost(3,", 5),
        ("lonely_losers", "(All, 1)", "(All, 2)", 3),
        ("lonely_losers", "(All, 1)", "(All, 4)", 5),
        ("lonely_losers", "lose: goto Lost", "lose: goto Won", None),
        ("lonely_losers", "atmost(0, {Lost})", "atmost(1, {Won})", None),
        ("targets_in_both_branches", "atmost(1,", "atmost(2,", 4),
        ("targets_in_both_branches", "atmost(1,", "atmost(3,", 5),
        ("targets_in_both_branches", "  on recv(go) do goto There\n", "", None),
        ("targets_in_both_branches", "goto There", "goto Leader", None),
        ("participants_by_messages", "atmost(0,", "atmost(1,", 2),
        ("participants_by_messages", "atmost(0,", "atmost(2,", 3),
        ("participants_by_messages", "members.add(self)", "members := Empty", None),
        ("crash_to_react", "atmost(1,", "atmost(2,", 4),
        ("crash_to_react", "crash locations: Gate\n", "", 0),
        ("sensor_network_one_answer_is_enough", "answers >= 1", "answers >= 2", 4),
    ],
)
def test_variants_of_what_cutoffs_overlook(name: str, old: str, new: str, expected: int | None) -> None:
    """The smallest number of processes that shows a violation; None: proved for every number; 0: neither."""
    text = (LIBRARY / "broken" / f"{name}.mercury").read_text()
    assert old in text
    model = read(text.replace(old, new))
    (result,) = verify(model).results
    if expected:
        assert (result.verdict, result.scope) == ("violated", f"{expected} processes")
    else:
        assert result.verdict == ("proved" if expected is None else "unknown")
    assert violated_with(model, 4) == (expected if expected and expected <= 4 else None)


def test_atleast_is_decided_for_fixed_numbers_only() -> None:
    text = "process A\nsatisfies safety atleast(1, {{L}})\ninitial location L\n{}location M\n"
    (result,) = verify(read(text.format(""))).results
    assert result.verdict == "unknown" and "fixed number" in result.reason
    (result,) = verify(read(text.format(" on _ do goto M\n"))).results
    assert (result.verdict, result.scope) == ("violated", "1 process")
    (result,) = verify(read("process A\nsatisfies safety !atleast(2, {M})\ninitial location L\nlocation M\n")).results
    assert result.verdict == "proved"


def test_counters_that_have_no_form_for_all_sizes_are_refused() -> None:
    text = "process A\nsatisfies safety atmost(0, {M})\nvariables\n int[0,N] c\nactions\n rz a : int[0,N]\ninitial location L\n"
    text += " on _ do sendrz(a[c])\n on recv(a) do c := a.payload\nlocation M\n"
    (result,) = verify(read(text)).results
    assert result.verdict == "unknown" and "depends on the number of processes" in result.reason


def test_a_run_that_was_tampered_with_does_not_replay() -> None:
    model = load(LIBRARY / "broken" / "targets_in_both_branches.mercury")
    (result,) = verify(model).results
    run = result.evidence
    assert isinstance(run, ProcessRun) and run.processes == 3
    assert "violates one_there" in show_run(model, run)
    with pytest.raises(ReplayError):
        replay(model, replace(run, states=(run.states[0], *run.states[:0:-1])))
    with pytest.raises(ReplayError, match="does not violate"):
        replay(model, replace(run, states=run.states[:-1], steps=run.steps[:-1]))
