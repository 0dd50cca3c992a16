"""Cutoffs of the library: what the paper finds is found, proved, verified, and follows real runs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.logic.structures import Structure, argument_tuples
from quorate.logic.terms import BOOL, And, Or, Sort, Symbol, Term
from quorate.logic.transform import Lambda
from quorate.methods.cutoff.analysis import analyse, violations
from quorate.methods.cutoff.cutoff import Options, cutoff
from quorate.methods.cutoff.facts import Facts
from quorate.methods.cutoff.prove import written
from quorate.methods.cutoff.search import Search, find_cutoff
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step, successor
from quorate.models.small import flattened
from quorate.proof.checker import recheck
from quorate.proof.cutoffs import Case, Obligations, Pair

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"
LIMITS = Limits(timeout=5.0, jobs=1)
TABLE = [
    ("sharded_kv_retransmission.pyv", "node", 2, 5),
    ("ring_leader_election_duplicating.pyv", "node", 2, 4),
    ("centralized_lock_server.pyv", "client", 2, 8),
    ("lock_server_sync.pyv", "client", 2, 2),
    ("ricart_agrawala_pairwise.pyv", "node", 2, 20),
    ("two_phase_commit.ivy", "participant", 3, 0),
    ("toy_consensus_forall.pyv", "node", 1, 8),
    ("consensus_wo_decide.ivy", "node", 2, 0),
]
"""File, sort, size of the cutoff, and how many formulas relate the two states (0: as many as it likes)."""


def found(name: str, sort: str) -> tuple[RelationalModel, Search]:
    model = flattened(load(LIBRARY / name).model)
    chosen = next(item for item in model.sorts if item.name == sort)
    return model, find_cutoff(model, chosen, LIMITS, Facts(model))


def test_the_analysis_finds_what_the_paper_finds_for_the_key_value_store() -> None:
    model = flattened(load(LIBRARY / "sharded_kv_retransmission.pyv").model)
    (violation,) = violations(model)
    relevant = analyse(model, violation)
    assert {str(clause) for clause in relevant.clauses} == {
        "table(*, K, *)",
        "transfer(*, *, K, *, *)",
        "unacknowledged(*, *, K, *, *)",
        "~sent(*)",
        "~received(*)",
    }
    assert {str(step) for step in relevant.invocations} == {
        "put(*, K, *)",
        "receive_transfer(*, *, K, *, *)",
        "hand_over(*, *, K, *, *)",
        "repeat_transfer(*, *, K, *, *)",
    }


def test_arguments_are_followed_through_functions() -> None:
    model = flattened(load(LIBRARY / "ring_leader_election_duplicating.pyv").model)
    relevant = analyse(model, violations(model)[0])
    assert {str(clause) for clause in relevant.clauses} == {
        "leader(N1)",
        "leader(N2)",
        "pending(identifier_of(N1), *)",
        "pending(identifier_of(N2), *)",
    }


@pytest.mark.parametrize(("name", "sort", "size", "clauses"), TABLE, ids=[row[0] for row in TABLE])
def test_a_cutoff_is_found_and_follows_real_runs(name: str, sort: str, size: int, clauses: int) -> None:
    model, search = found(name, sort)
    assert search.cutoff is not None and search.pair is not None
    assert search.cutoff.size == size
    if clauses:
        assert sum(len(case.relation) for case in search.cutoff.cases) == clauses
    for case in search.cutoff.cases:
        follow(model, search.pair, case, random.Random(name))


def follow(model: RelationalModel, pair: Pair, case: Case, chance: random.Random) -> None:
    """Random runs of an instance, followed by the small one step by step on the plain semantics."""
    size = 2 if any(len(symbol.arguments) > 3 for symbol in model.symbols) else 3
    instance = Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})
    reference = Reference(instance.system)
    obligations = Obligations(pair)
    first = [state for state, _ in zip(reference.initial(), range(20), strict=False)]
    for _ in range(6):
        state = chance.choice(first)
        named = {violator: {(): chance.randrange(instance.sizes[violator.sort])} for violator in case.violators}
        small: Structure | None = None
        for _ in range(12):
            large = instance.structure(*state)
            both = Structure(large.sizes, {**large.tables, **named})
            if not all(both.holds(fact) for fact in case.facts()):
                break
            if not all(large.holds(item.formula) for item in model.safety):
                break
            if small is None:
                small = _first(pair, obligations, case, both)
            both = Structure(large.sizes, {**both.tables, **small.tables})
            for item in case.relation:
                assert both.holds(obligations.express(case, item.formula)), item.name
            following = list(reference.successors(state))
            if not following:
                break
            after, rule, choices = chance.choice(following)
            step = instance.step(instance.system.rules[rule], choices)
            small = _answer(model, pair, obligations, case, both, small, step)
            state = after


def _tables(
    pair: Pair, obligations: Obligations, case: Case, both: Structure, definitions: dict[Symbol, Lambda]
) -> dict:
    tables = {}
    for symbol, (variables, body) in definitions.items():
        term = obligations.express(case, body)
        tables[symbol] = {
            args: both.evaluate(term, dict(zip(variables, args, strict=True)))
            for args in argument_tuples(symbol.arguments, both.sizes)
        }
    return tables


def _first(pair: Pair, obligations: Obligations, case: Case, both: Structure) -> Structure:
    """The first state of the small instance, rigid symbols included; it satisfies axioms and initial conditions."""
    rigid = _tables(pair, obligations, case, both, dict(case.rigid))
    shared = {s: both.tables[s] for s in pair.twin.symbols if not s.mutable and s in both.tables}
    start = _tables(pair, obligations, case, both, dict(case.start))
    sizes = {sort: size for sort, size in both.sizes.items() if sort is not pair.sort}
    small = Structure(sizes, {**shared, **rigid, **start})
    assert all(small.holds(item.formula) for item in (*pair.twin.axioms, *pair.twin.initial))
    return small


def _answer(
    model: RelationalModel,
    pair: Pair,
    obligations: Obligations,
    case: Case,
    both: Structure,
    small: Structure,
    step: Step,
) -> Structure:
    """The moves of the small instance, one by one, compared with what the obligations say about them."""
    transition = model.transition(step.transition)
    constants = {Symbol(f"@{p.name}", (), p.sort): {(): step.bindings[p.name]} for p in transition.parameters}
    choices = {choice: step.choices[choice.name] for choice in transition.choices}
    here = Structure(both.sizes, {**both.tables, **constants, **choices})
    after = successor(model, Structure(both.sizes, {s: both.tables[s] for s in model.symbols}), step)
    assert isinstance(after, Structure)
    later = {pair.later[s]: after.tables[s] for s in pair.later}
    there = Structure(both.sizes, {**here.tables, **later})
    expected = _tables(
        pair,
        obligations,
        case,
        here,
        {
            symbol: definition
            for symbol, definition in obligations.after(case, transition).items()
            if symbol in pair.twin.symbols
        },
    )
    for move in dict(case.moves).get(transition.name, ()):
        if there.holds(obligations.express(case, move.when)):
            parameters = pair.twin.transition(move.transition).parameters
            values = {
                p.name: there.evaluate(obligations.express(case, argument))
                for p, argument in zip(parameters, move.arguments, strict=True)
            }
            taken = successor(pair.twin, small, Step(move.transition, values, step.choices))
            small = taken if isinstance(taken, Structure) else small
    for symbol, table in expected.items():
        assert dict(small.tables[symbol]) == table, symbol
    return small


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("lock_server_sync.pyv", {"server": 1, "client": 2}),
        ("ricart_agrawala_pairwise.pyv", {"node": 2}),
        ("toy_consensus_forall.pyv", {"node": 1, "value": 2, "quorum": 2}),
        ("ring_leader_election_duplicating.pyv", {"node": 2}),
    ],
)
def test_a_proof_is_certified(name: str, sizes: dict[str, int]) -> None:
    model = load(LIBRARY / name).model
    outcome = cutoff(model, LIMITS, Options(30.0))
    assert {result.verdict for result in outcome.results} == {"proved"}
    assert {search.sort.name: search.pair.size for search in outcome.found if search.pair} == sizes
    assert outcome.certificate is not None
    assert all(item.accepted for item in recheck(model, outcome.certificate, 20.0, 2048, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", [row[0] for row in TABLE])
def test_every_protocol_of_the_table_is_certified(name: str) -> None:
    model = load(LIBRARY / name).model
    outcome = cutoff(model, LIMITS, Options(120.0))
    assert outcome.certificate is not None
    assert all(item.accepted for item in recheck(model, outcome.certificate, 60.0, 2048, 2))


def test_a_violation_of_the_small_instance_is_a_run_of_the_protocol() -> None:
    model = load(LIBRARY / "broken" / "lock_server_sync_lock_stolen.pyv").model
    outcome = cutoff(model, LIMITS)
    (result,) = outcome.results
    assert result.verdict == "violated" and result.evidence is not None
    assert outcome.found, "the violation is one of a small instance that stands for all sizes"


def test_sorts_that_stay_unbounded_are_named() -> None:
    outcome = cutoff(load(LIBRARY / "ring_leader_election_duplicating.pyv").model, LIMITS)
    assert [str(sort) for sort in outcome.unbounded] == ["identifier"]
    assert isinstance(outcome.unbounded[0], Sort)


def test_size_is_counted_as_if_written_out() -> None:
    """A term that occurs twice in each of thirty layers is thirty objects, and a billion symbols for a solver."""
    term: Term = Symbol("p", (), BOOL)()
    for number in range(30):
        term = And((Or((term, Symbol(f"q{number}", (), BOOL)())), Or((Symbol(f"r{number}", (), BOOL)(), term))))
    assert written([term]) > 2**30


def test_violations_are_left_to_others_who_look_for_them() -> None:
    model = load(LIBRARY / "broken" / "vouching_three_needed.pyv").model
    outcome = cutoff(model, LIMITS, Options(4.0, processor=0.5, alone=False))
    assert [result.verdict for result in outcome.results] == ["unknown"]
