"""The reference engine, against `brute_force`, which evaluates the protocol's formulas and knows no systems."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import factorial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import FINISHED, RUNNING, STOPPED, Reference, ReferenceSearch
from quorate.lang import load, parse
from quorate.logic.structures import domain
from quorate.logic.terms import Var, neg
from quorate.models.relational import Transition, Update
from quorate.models.semantics import check_initial, check_step
from quorate.models.source import Source
from small_systems import block_systems, symmetric_systems, systems
from strategies import NODE, VALUE, models

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"

FILES = sorted(
    str(path.relative_to(LIBRARY))
    for path in LIBRARY.glob("**/*")
    if path.suffix in (".ivy", ".pyv") and "proofs" not in path.parts
)

SMALL = [
    "broken/cas_consensus_swap_not_atomic.ivy",
    "broken/chord_ring_maintenance_adopts_any_predecessor.ivy",
    "broken/chord_ring_maintenance_last_successor_fails.ivy",
    "broken/consensus_epr_decides_twice.pyv",
    "broken/decentralized_lock_message_not_consumed.ivy",
    "broken/distributed_lock_epoch_not_raised.pyv",
    "broken/learning_switch_ternary_relearns.pyv",
    "broken/lock_server_async_lock_kept.ivy",
    "broken/lock_server_sync_lock_stolen.pyv",
    "broken/ricart_agrawala_claim_not_defended.pyv",
    "broken/ring_leader_election_forwards_all.pyv",
    "broken/ticket_lock_next_called_on_entry.pyv",
    "broken/ticket_lock_ticket_drawn_twice.pyv",
    "broken/toy_consensus_epr_no_intersection.ivy",
    "broken/toy_consensus_forall_votes_twice.pyv",
    "broken/two_phase_commit_missing_votes_count.ivy",
    "cas_consensus.ivy",
    "chord_ring_maintenance.ivy",
    "consensus_epr.pyv",
    "decentralized_lock.ivy",
    "distributed_lock.pyv",
    "learning_switch_quad.ivy",
    "learning_switch_ternary.pyv",
    "lock_server_async.ivy",
    "lock_server_sync.pyv",
    "ricart_agrawala.pyv",
    "ring_leader_election.pyv",
    "sharded_kv.pyv",
    "ticket_lock.pyv",
    "toy_consensus_epr.ivy",
    "toy_consensus_forall.pyv",
    "two_phase_commit.ivy",
]
"""Protocols with few states where all sorts have two elements."""

LARGER = [
    "broken/client_server_ae_wrong_client.pyv",
    "broken/consensus_wo_decide_votes_twice.ivy",
    "broken/paxos_reports_ignored.pyv",
    "broken/sharded_kv_no_lost_keys_message_lost.ivy",
    "client_server_ae.pyv",
    "consensus_forall.pyv",
    "consensus_wo_decide.ivy",
    "database_chain_replication.ivy",
    "hybrid_reliable_broadcast.pyv",
    "paxos.pyv",
]

BRIDGE = """
sort node
immutable relation heavy(node)
mutable relation on(node)
mutable constant last: node
mutable function waits(node): node
derived relation free: free <-> forall N. !on(N)
derived relation blocked(node): blocked(N) <-> !free & !on(N)
axiom [some_light] exists N. !heavy(N)
init [start] !on(N)
init [no_waiting] waits(N) = N
transition enter(n: node)
  modifies on, last
  & free
  & (on'(N) <-> N = n | (heavy(N) & blocked(N)))
  & last' = n
transition leave(n: node)
  modifies on
  & on(n)
  & (on'(N) <-> on(N) & N != n)
transition reshuffle(n: node)
  modifies last, waits
  & last' != last
  & waits'(n) = last
safety [alone] on(N) & on(M) -> N = M
safety [somebody_is_free] free | exists N. blocked(N)
"""
DERIVED = parse(Source("bridge.pyv", BRIDGE)).model
"""With derived symbols, functions, and two-state formulas that leave choices open."""

SAMPLES = [(name, 1) for name in FILES] + [(name, 2) for name in SMALL] + [("derived", 1), ("derived", 2)]
SPREAD = [*SAMPLES[0:-2:4], *SAMPLES[-2:]]
SLOW = [pytest.param(name, 2, marks=pytest.mark.slow) for name in LARGER]


def instance(name, size):
    model = DERIVED if name == "derived" else load(LIBRARY / name).model
    return Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})


def frozen(tables, symbols):
    """Tables as something that can be compared and kept in a set."""
    return tuple(tuple(int(tables[symbol][args]) for args in sorted(tables[symbol])) for symbol in symbols)


def explored(explorer, frontier, properties, symbols):
    """All states that brute force reaches from some, how often it steps, and the first depth of each violation."""
    formulas = [(item.name, explorer.model.expand(item.formula)) for item in properties]
    seen = {frozen(tables, symbols) for tables in frontier}
    depth, steps, deadlocks, violations = -1, 0, 0, {}
    while frontier:
        depth += 1
        following = []
        for tables in frontier:
            for name, formula in formulas:
                if not explorer.holds(formula, tables):
                    violations.setdefault(name, depth)
            before = steps
            for _, after in explorer.successors(tables):
                steps += 1
                key = frozen(after, symbols)
                if key not in seen:
                    seen.add(key)
                    following.append(after)
            deadlocks += steps == before
        frontier = following
    return seen, steps, max(0, depth), deadlocks, violations


@pytest.mark.parametrize("name, size", SAMPLES + SLOW)
def test_each_world_is_explored_as_by_brute_force(name, size):
    made = instance(name, size)
    symbols = (*made.rigid_symbols, *made.model.state_symbols)
    explorer = brute_force.Explorer(made.model, made.sizes)
    starts = {}
    for tables in explorer.initial(100_000):
        starts.setdefault(frozen(tables, made.rigid_symbols), []).append(tables)
    reference = Reference(made.system)
    total = 0
    for number in range(len(made.worlds)):
        rigid = frozen(made.structure((0,) * len(made.places), number).tables, made.rigid_symbols)
        seen, steps, depth, deadlocks, violations = explored(
            explorer, starts.get(rigid, []), made.model.safety, symbols
        )
        search = ReferenceSearch(OneWorld(reference, number))
        search.begin()
        search.run(float("inf"))
        assert search.status == FINISHED
        reached = {frozen(made.structure(*state).tables, symbols) for state in search.seen}
        assert reached == seen
        found = search.found
        assert (found.states, found.transitions, found.depth, found.deadlocks) == (len(seen), steps, depth, deadlocks)
        assert found.violations == violations
        total += found.states
    assert reference.explore().states == total


class OneWorld(Reference):
    """The runs of one world."""

    def __init__(self, reference, number):
        super().__init__(reference.system)
        self.number = number

    def initial(self):
        return (state for state in super().initial() if state[1] == self.number)


@pytest.mark.parametrize("name, size", SPREAD)
def test_every_rigid_interpretation_with_runs_is_isomorphic_to_one_world(name, size):
    """Counted: a world with `a` automorphisms stands for (all renamings) / `a` interpretations."""
    made = instance(name, size)
    explorer = brute_force.Explorer(made.model, made.sizes)
    interpretations = {frozen(tables, made.rigid_symbols) for tables in explorer.initial(100_000)}
    mentioned = {s for symbol in made.rigid_symbols for s in (*symbol.arguments, symbol.sort) if s.uninterpreted}
    ways = factorial(size) ** len(mentioned)
    with_runs = {world for _, world in Reference(made.system).initial()}
    assert sum(ways // len(made.worlds[world].automorphisms) for world in with_runs) == len(interpretations)


@pytest.mark.parametrize("name, size", SPREAD)
def test_symmetry_keeps_violations_and_counts_whole_orbits(name, size):
    made = instance(name, size)
    reference = Reference(made.system)
    full, reduced = reference.explore(), reference.explore(symmetry=True)
    assert reduced.unreduced == full.states == full.unreduced
    assert reduced.states <= full.states
    assert (reduced.depth, reduced.violations) == (full.depth, full.violations)
    assert bool(reduced.deadlocks) == bool(full.deadlocks)
    assert {name for name, times in reduced.fired.items() if times} == {n for n, times in full.fired.items() if times}


@pytest.mark.parametrize("name, size", SPREAD)
def test_steps_of_rules_are_steps_of_the_protocol(name, size):
    """A rule with its choices, read back as a step, satisfies the protocol's own semantics."""
    made = instance(name, size)
    reference = Reference(made.system)
    search = ReferenceSearch(reference)
    search.begin()
    search.run(float("inf"))
    for state, parent in [*search.seen.items()][:60]:
        structure = made.structure(*state)
        if parent is None:
            assert check_initial(made.model, structure) is None
        for after, rule, choices in reference.successors(state):
            step = made.step(made.system.rules[rule], choices)
            assert check_step(made.model, structure, step, made.structure(*after)) is None


def test_what_is_assumed_of_every_state_restricts_steps():
    """An axiom over mutable and derived symbols: a step that would break it cannot be taken."""
    calm = parse(Source("bridge.pyv", BRIDGE + "safety [calm] blocked(N) -> !heavy(N) & last != N\n")).model.safety[-1]
    model = replace(DERIVED, axioms=(*DERIVED.axioms, calm))
    made = Instance(model, {model.sorts[0]: 2})
    explorer = brute_force.Explorer(model, made.sizes)
    reference, symbols = Reference(made.system), (*made.rigid_symbols, *model.state_symbols)
    search = ReferenceSearch(reference)
    search.begin()
    search.run(float("inf"))
    taken = refused = 0
    for state, parent in search.seen.items():
        tables = dict(made.structure(*state).tables)
        assert explorer.holds(calm.formula, tables)
        assert parent is not None or check_initial(model, made.structure(*state)) is None
        possible = [after for _, after in explorer.successors(tables)]
        allowed = [after for after in possible if explorer.holds(model.expand(calm.formula), after)]
        found = [frozen(made.structure(*after).tables, symbols) for after, _, _ in reference.successors(state)]
        assert Counter(found) == Counter(frozen(after, symbols) for after in allowed)
        taken, refused = taken + len(allowed), refused + len(possible) - len(allowed)
    assert taken and refused


def test_a_variable_of_an_update_hides_a_parameter_of_that_name():
    model = parse(Source("mark.pyv", "sort node\nmutable relation on(node)\ninit !on(X)\n")).model
    [node], [on] = model.sorts, model.symbols
    x = Var("X", node)
    step = Transition("all", (x,), (), neg(on(x)), (Update(on, (x,), neg(on(x))),))
    made = Instance(replace(model, transitions=(step,)), {node: 2})
    assert {after for after, _, _ in Reference(made.system).successors(((0, 0), 0))} == {((1, 1), 0)}
    assert [after for after, _, _ in Reference(made.system).successors(((0, 1), 0))] == [((1, 0), 0)]


# -- random protocols ------------------------------------------------------------------------------------------------

SIZES = {NODE: 2, VALUE: 1}


@settings(max_examples=60)
@given(models(), st.data())
def test_steps_and_properties_of_random_protocols(model, data):
    """From any state, reachable or not."""
    made = Instance(model, SIZES)
    world = data.draw(st.integers(0, len(made.worlds) - 1))
    sizes = [len(domain(symbol.sort, SIZES)) for symbol, _ in made.places]
    state = tuple(data.draw(st.integers(0, size - 1)) for size in sizes)
    symbols = (*made.rigid_symbols, *model.state_symbols)
    tables = dict(made.structure(state, world).tables)
    explorer = brute_force.Explorer(model, SIZES)
    reference = Reference(made.system)
    expected = Counter((t.name, frozen(after, symbols)) for t, after in explorer.successors(tables))
    found = Counter(
        (made.system.rules[rule].name, frozen(made.structure(*after).tables, symbols))
        for after, rule, _ in reference.successors((state, world))
    )
    assert found == expected
    assert reference.violated((state, world)) == [p.name for p in model.safety if not explorer.holds(p.formula, tables)]


@settings(max_examples=12)
@given(models())
def test_initial_states_of_random_protocols(model):
    sizes = {NODE: 1, VALUE: 1}
    made = Instance(model, sizes)
    symbols = (*made.rigid_symbols, *model.state_symbols)
    expected = [frozen(tables, symbols) for tables in brute_force.Explorer(model, sizes).initial(100_000)]
    found = [frozen(made.structure(*state).tables, symbols) for state in Reference(made.system).initial()]
    assert sorted(found) == sorted(expected)


# -- properties of the search itself ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(systems())
def test_a_path_leads_from_an_initial_state_step_by_step(system):
    reference = Reference(system)
    search = ReferenceSearch(reference)
    search.begin()
    search.run(float("inf"))
    initial = set(reference.initial())
    for state in [*search.seen][-5:]:
        path = search.path_to(state)
        assert path[0] in initial and path[-1] == state
        for before, after in pairwise(path):
            assert after in {found for found, _, _ in reference.successors(before)}


@settings(max_examples=60)
@given(symmetric_systems() | block_systems())
def test_symmetry_of_processes(system):
    reference = Reference(system)
    full, reduced = reference.explore(), reference.explore(symmetry=True)
    assert reduced.unreduced == full.states
    assert (reduced.depth, reduced.violations) == (full.depth, full.violations)
    assert bool(reduced.deadlocks) == bool(full.deadlocks)


COUNTER = parse(
    Source(
        "counter.pyv",
        """
sort place
immutable relation next(place, place)
axiom next(X, Y) & next(X, Z) -> Y = Z
axiom next(Y, X) & next(Z, X) -> Y = Z
axiom [line] exists X, Y, Z. X != Y & Y != Z & X != Z & next(X, Y) & next(Y, Z) & !next(Z, X)
mutable relation at(place)
init at(X) <-> forall Y. !next(Y, X)
transition step(x: place, y: place)
  modifies at
  & at(x) & next(x, y)
  & (at'(X) <-> X = y)
safety [first] at(X) -> exists Y. next(X, Y)
safety [never] exists X. at(X)
""",
    )
).model


def test_a_line_of_three_places():
    made = Instance(COUNTER, {COUNTER.sorts[0]: 3})
    found = Reference(made.system).explore()
    assert (found.states, found.transitions, found.depth, found.deadlocks) == (3, 2, 2, 1)
    assert found.fired == {"step": 2}
    assert found.violations == {"first": 2}


def test_a_search_that_does_not_keep_going_stops_at_the_layer_of_the_first_violation():
    made = Instance(COUNTER, {COUNTER.sorts[0]: 3})
    search = ReferenceSearch(Reference(made.system), keep_going=False)
    assert search.begin() == RUNNING
    assert search.run(float("inf")) == STOPPED
    assert search.found.depth == 2 and search.found.transitions == 2
    assert search.first["first"] == search.path_to(search.first["first"])[-1]
    assert len(search.path_to(search.first["first"])) == 3


def test_no_initial_states_are_no_states():
    model = parse(Source("none.pyv", "sort node\nmutable relation on(node)\ninit on(X) & !on(X)\n")).model
    found = Reference(Instance(model, {model.sorts[0]: 2}).system).explore()
    assert (found.states, found.depth, found.deadlocks, found.violations) == (0, 0, 0, {})
