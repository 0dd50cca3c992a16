"""The twin of mypyvy: what small texts do, by hand, and the same as the model does, on random states."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from lang.constructs import CONSTRUCTS, Construct
from quorate.lang import load, parse
from quorate.models.source import Source
from quorate.proof.twins import TwinError, twins
from quorate.proof.twins.choices import every
from twin_comparison import compare
from twin_running import falsified, reached, starts, steps, twin_of

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = sorted(ROOT.glob("protocols/**/*.pyv"))
CORPUS = sorted(Path(os.environ.get("QUORATE_CORPUS", ROOT.parent / "shared" / "corpus")).glob("**/*.pyv"))

HELD = "sort node\nmutable relation held(node)\n"


def test_updates_are_executed() -> None:
    twin = twin_of(
        HELD
        + """
        init !held(N)
        transition take(n: node) modifies held !held(n) & (new(held(N)) <-> held(N) | N = n)
        safety !(forall N. held(N))
        """,
        "pyv",
        "node=2",
    )
    assert set(starts(twin)) == {"nothing holds"}
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0)", "take(n = 1): held(1)"}
    assert steps(twin, "held(0), held(1)") == set()
    assert falsified(twin) == {"safety_1": {"held(0), held(1)"}}


def test_what_a_transition_leaves_open_is_chosen() -> None:
    twin = twin_of(
        HELD + "init held(N)\ntransition shake() modifies held new(held(N)) -> held(N)\nsafety held(N)", "pyv", "node=2"
    )
    after = {"held(0), held(1)", "held(0)", "held(1)", "nothing holds"}
    assert steps(twin, "held(0), held(1)") == {f"shake: {state}" for state in after}


def test_without_modifies_nothing_changes() -> None:
    twin = twin_of(HELD + "transition idle(n) = held(n)\nsafety held(N)", "pyv", "node=2")
    assert steps(twin, "held(1)") == {"idle(n = 1): held(1)"}
    assert steps(twin, "nothing holds") == set()


def test_primes_shift_a_symbol_and_new_all_of_an_expression() -> None:
    text = """
    sort node
    mutable constant at: node
    mutable relation seen(node)
    init !seen(N)
    transition %s() modifies at, seen (at' != at) & (seen'(N) <-> N = at) & %s
    safety !seen(N)
    """
    primed = twin_of(text % ("go", "seen'(at)"), "pyv", "node=2")
    assert steps(primed, "at = 0") == {"go: at = 1, seen(0)"}
    shifted = twin_of(text % ("go", "!new(seen(at))"), "pyv", "node=2")
    assert steps(shifted, "at = 0") == {"go: at = 1, seen(0)"}
    neither = twin_of(text % ("go", "new(seen(at))"), "pyv", "node=2")
    assert steps(neither, "at = 0") == set()


def test_old_dialect_reads_bare_symbols_in_the_new_state() -> None:
    twin = twin_of(
        HELD
        + """
        init !held(N)
        definition none() = forall M. !held(M)
        transition take(n) modifies held old(none) & held(N) <-> (N = n | old(held(N))) & !none
        safety !held(N)
        """,
        "pyv",
        "node=2",
    )
    assert "take(n = 0): held(0)" in steps(twin, "nothing holds")
    assert steps(twin, "held(0)") == {"take(n = 0): nothing holds"} | {"take(n = 1): nothing holds"}


def test_two_state_definitions_and_named_formulas() -> None:
    twin = twin_of(
        HELD
        + """
        init [empty] !held(N)
        twostate definition kept(n: node) = held(n) <-> held'(n)
        transition take(n: node) modifies held empty & held'(n) & (N != n -> kept(N))
        safety !held(N)
        """,
        "pyv",
        "node=2",
    )
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0)", "take(n = 1): held(1)"}
    assert steps(twin, "held(1)") == set()


def test_derived_relations_follow_their_formulas() -> None:
    twin = twin_of(
        HELD
        + """
        derived relation busy: busy <-> exists N. held(N)
        derived relation marked(node): marked(N) -> held(N)
        init !busy
        transition take(n: node) modifies held !busy & (held'(N) <-> N = n)
        safety !busy
        """,
        "pyv",
        "node=1",
    )
    assert set(starts(twin)) == {"nothing holds"}
    assert steps(twin, "nothing holds") == {"take(n = 0): held(0), busy", "take(n = 0): held(0), busy, marked(0)"}
    assert set(falsified(twin)) == {"safety_1"}


def test_imperative_transitions() -> None:
    twin = twin_of(
        HELD + "init !held(N)\ntransition take(n: node) { assume !held(n); held(n) := true; }\nsafety !held(N)",
        "pyv",
        "node=2",
    )
    assert steps(twin, "held(1)") == {"take(n = 0): held(0), held(1)"}


def test_integers() -> None:
    twin = twin_of(
        "mutable constant x: int\ninit x = 5\ntransition up(n: int) modifies x n = 2 & x' = x * n - 1\nsafety x < 9",
        "pyv",
        "no sorts",
    )
    assert set(starts(twin)) == {"x = 5"}
    (state,) = starts(twin).values()
    ((move, after),) = every(lambda choices: twin.step(state, choices))
    assert (str(move), twin.show(after)) == ("up(n = 2)", "x = 9")
    assert twin.falsified(after) == ("safety_1",)


def test_axioms_choose_rigid_symbols() -> None:
    twin = twin_of(
        """
        sort node
        immutable relation le(node, node)
        axiom le(X, X)
        axiom le(X, Y) & le(Y, Z) -> le(X, Z)
        axiom le(X, Y) & le(Y, X) -> X = Y
        axiom le(X, Y) | le(Y, X)
        mutable constant c: node
        init forall X. le(c, X)
        safety c = c
        """,
        "pyv",
        "node=3",
    )
    assert len(starts(twin)) == 6


def test_derived_relations_that_axioms_and_initial_conditions_read() -> None:
    twin = twin_of(
        HELD + "derived relation some(node): some(M) <-> exists N. held(N)\ninit held(N)\ninit some(N)\nsafety some(N)",
        "pyv",
        "node=2",
    )
    assert set(starts(twin)) == {"held(0), held(1), some(0), some(1)"}


def test_safety_stands_for_formulas_with_variables_of_their_own() -> None:
    twin = twin_of(
        """
        sort node
        sort value
        mutable relation p(node)
        mutable relation q(value)
        init p(N) & q(V)
        transition drop() modifies p, q safety & !new(safety) & (p'(X) <-> p(X)) & (q'(Y) -> q(Y))
        safety p(A)
        safety q(A)
        """,
        "pyv",
        "node=1, value=1",
    )
    assert steps(twin, "p(0), q(0)") == {"drop: p(0)"}


def test_contradictory_axioms_have_no_initial_state() -> None:
    twin = twin_of(HELD + "immutable constant a: node\naxiom a != a\nsafety held(N)", "pyv", "node=2")
    assert starts(twin) == {}


def test_invariants_are_the_properties_of_files_without_any() -> None:
    twin = twin_of(HELD + "invariant [one] held(N) & held(M) -> N = M\ninvariant [none] !held(N)", "pyv", "node=2")
    assert twin.properties == ("one", "none")
    assert falsified(twin)["one"] == {"held(0), held(1)"}


def test_variables_over_all_integers_are_refused() -> None:
    model = parse(Source("text.pyv", "mutable constant x: int\nsafety forall i: int. i < x")).model
    with pytest.raises(TwinError, match="ranges over all integers"):
        list(twins(model))


def test_sizes_grow() -> None:
    model = parse(Source("text.pyv", "sort a\nsort b\nmutable relation r(a, b)\nsafety r(X, Y)")).model
    sizes = [twin.size for twin in islice(twins(model), 5)]
    assert sizes == ["a=1, b=1", "a=2, b=2", "a=3, b=2", "a=2, b=3", "a=1, b=2"]


def test_states_can_be_reached_from_structures() -> None:
    twin = next(islice(twins(load(ROOT / "protocols/relational/toy_consensus_forall.pyv").model), 1, None))
    for state in islice(reached(twin).values(), 20):
        assert twin.state_of(twin.structure(state)) == state  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["ring_leader_election.pyv", "paxos.pyv", "fast_paxos.pyv", "distributed_lock.pyv"])
def test_orders_rings_and_quorums_of_three(name: str) -> None:
    """Initial states are found directly, not by trying all tables: a few runs are enough."""
    model = load(ROOT / "protocols" / "relational" / name).model
    twin = next(twin for twin in twins(model) if "=2" not in twin.size and "=1" not in twin.size)
    tries = 0

    def start(choices: object) -> object:
        nonlocal tries
        tries += 1
        return twin.start(choices)  # type: ignore[arg-type]

    assert next(every(start, Random(0)), None) is not None  # type: ignore[arg-type]
    assert tries < 2000


@pytest.mark.parametrize(
    "construct", [c for c in CONSTRUCTS if c.language == "pyv" and not c.refused], ids=lambda c: c.name
)
def test_constructs_agree_with_the_model(construct: Construct) -> None:
    model = parse(Source("construct.pyv", construct.example), "pyv").model
    assert compare(model, twins(model), count=2, seconds=0.2, most=100).differences == []


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_library_agrees_with_the_model(path: Path) -> None:
    model = load(path).model
    report = compare(model, twins(model), count=2, length=2, arbitrary=1, seconds=0.1, most=60)
    assert report.differences == []
    assert report.initial and report.states


@pytest.mark.slow
@pytest.mark.parametrize("path", [*LIBRARY, *CORPUS], ids=lambda path: path.name)
def test_larger_instances_agree_with_the_model(path: Path) -> None:
    model = load(path).model
    for seed in range(2):
        report = compare(model, twins(model), seed, count=5, length=4, arbitrary=4, seconds=1.0)
        assert report.differences == []
