"""The compiled search, against the reference."""

from collections import Counter
from ctypes import c_uint64
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from quorate.engines.explicit import native
from quorate.engines.explicit.expressions import FALSE, TRUE, Graph
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Engine, Search
from quorate.engines.explicit.reference import (
    FINISHED,
    OUT_OF_MEMORY,
    RUNNING,
    STOPPED,
    Exploration,
    Reference,
    ReferenceSearch,
)
from quorate.engines.explicit.system import Permutation, Rule, System
from quorate.lang import load, parse
from quorate.models.source import Source
from small_systems import block_systems, symmetric_systems, systems

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"
MOST_FOR_REFERENCE = 3_000


def instance(name, size):
    model = load(LIBRARY / name).model
    return Instance(model, {sort: size for sort in model.sorts if sort.uninterpreted})


def finished(engine, **options):
    search = Search(engine, **options)
    search.begin()
    while search.status == RUNNING:
        search.run(1e9)
    return search


def all_words(search):
    """All states found, as packed words, layer by layer."""
    bounds = search.layer_bounds()
    return [
        [search.state(shard, n) for shard in range(search.shards) for n in range(start[shard], end[shard])]
        for start, end in pairwise(bounds)
    ]


# -- random systems --------------------------------------------------------------------------------------------------


def agree(system, symmetry=False):
    """Both engines find the same, with one thread and with two, and with more shards than threads."""
    expected = Reference(system).explore(symmetry)
    engine = Engine(system)
    for options in ({"jobs": 1}, {"jobs": 2}, {"jobs": 2, "shards": 5}):
        search = finished(engine, symmetry=symmetry, **options)
        assert search.status == FINISHED
        assert search.found == expected
    return engine, expected


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(systems())
def test_random_systems(system):
    agree(system)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(symmetric_systems())
def test_random_symmetric_systems(system):
    engine, reduced = agree(system, symmetry=True)
    assert reduced.unreduced == finished(engine, jobs=1).found.states


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(block_systems())
def test_random_systems_of_blocks(system):
    engine, reduced = agree(system, symmetry=True)
    assert reduced.unreduced == finished(engine, jobs=1).found.states


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_many_random_systems(number):
    @seed(number)
    @settings(max_examples=90, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(systems())
    def run(system):
        agree(system)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_many_random_symmetric_systems(number):
    @seed(number)
    @settings(max_examples=50, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(symmetric_systems())
    def run(system):
        agree(system, symmetry=True)

    run()


# -- corners that random systems may miss ----------------------------------------------------------------------------


def system(fields, rules, initial=None, properties=(), graph=None, **more):
    """A system of one world that begins with zeros."""
    graph = graph or Graph()
    start = initial if initial is not None else (Rule("", (), (), (), ()),)
    return System(graph, tuple(fields), (), ((),), tuple(start), tuple(rules), tuple(properties), **more)


def counter(digits, base, properties=()):
    """Counts up: every state has one successor, the last one none."""
    graph = Graph()
    rules = []
    for digit in range(digits):
        for value in range(base - 1):
            guard = [graph.equal(graph.field(i), graph.const(base - 1)) for i in range(digit)]
            guard.append(graph.equal(graph.field(digit), graph.const(value)))
            updates = [(i, FALSE) for i in range(digit)] + [(digit, graph.const(value + 1))]
            rules.append(Rule("count", (digit, value), (), tuple(guard), tuple(updates)))
    return system((base,) * digits, rules, graph=graph, properties=[(n, make(graph)) for n, make in properties])


def free(fields):
    """Every field may take any value at any time: as many states as there are."""
    graph = Graph()
    rules = [Rule(f"set {i}", (), (size,), (), ((i, graph.choice(0)),)) for i, size in enumerate(fields) if size > 1]
    return system(fields, rules, graph=graph)


def test_no_rules():
    agree(system((3,), ()))
    assert native.explore(system((3,), ())) == Exploration(states=1, deadlocks=1, unreduced=1)


def test_no_initial_state():
    none = system((3,), (Rule("step", (), (), (), ()),), initial=(Rule("", (), (), (FALSE,), ()),))
    engine, found = agree(none)
    assert found.states == 0 and found.depth == 0
    assert engine.simulate(3, 3, 0) is None
    assert Search(engine, jobs=1).begin() == FINISHED


def test_no_fields():
    agree(system((), (Rule("stutter", (), (2,), (), ()),)))


def test_all_fields_have_one_value():
    agree(system((1,) * 200, (Rule("stutter", (), (), (), ((7, FALSE),)),)))


def test_a_guard_that_never_holds():
    agree(system((2,), (Rule("never", (), (), (FALSE,), ()), Rule("flip", (), (2,), (TRUE,), ((0, FALSE),)))))


def test_conditions_that_contradict_each_other_fold_to_false():
    graph = Graph()
    field = graph.field(0)
    both = (graph.equal(field, graph.const(1)), graph.equal(field, graph.const(2)))
    either = graph.disj((graph.neg(graph.field(1)), graph.equal(graph.field(1), graph.const(1))))
    rules = (
        Rule("set", (), (3,), (), ((0, graph.choice(0)),)),
        Rule("flip", (), (2,), (), ((1, graph.choice(0)),)),
        Rule("both", (), (), both, ((1, TRUE),)),
    )
    _, found = agree(system((3, 2), rules, graph=graph, properties=(("either", either),)))
    assert found.fired["both"] == 0 and not found.violations


def test_a_choice_that_two_conditions_fix_differently():
    graph = Graph()
    pick = graph.choice(1)
    guard = (graph.equal(pick, graph.const(1)), graph.equal(pick, graph.const(2)))
    same = (
        graph.equal(pick, graph.const(2)),
        graph.neg(graph.equal(pick, graph.const(1))),
        graph.equal(pick, graph.field(0)),
    )
    rules = (
        Rule("set", (), (3,), (), ((0, graph.choice(0)),)),
        Rule("never", (), (2, 3), guard, ((0, graph.const(1)),)),
        Rule("once", (), (2, 3), same, ((0, graph.const(0)),)),
    )
    _, found = agree(system((3,), rules, graph=graph))
    assert found.fired["never"] == 0 and found.fired["once"] == 2


def test_a_choice_of_one_value_can_be_read():
    graph = Graph()
    rules = (
        Rule("zero", (), (1, 2), (), ((0, graph.choice(0)),)),
        Rule("one", (), (2, 1), (graph.equal(graph.choice(1), graph.field(0)),), ((0, TRUE),)),
    )
    agree(system((2,), rules, graph=graph))


def test_initial_values_may_depend_on_the_world():
    graph = Graph()
    start = Rule("", (), (2,), (), ((0, graph.rigid(0)), (1, graph.choice(0))))
    made = System(
        graph,
        (3, 2),
        (3,),
        ((0,), (2,)),
        (start,),
        (),
        (("low", graph.neg(graph.equal(graph.field(0), graph.const(2)))),),
    )
    _, found = agree(made)
    assert found.states == 4 and found.violations == {"low": 0}


def test_more_worlds_than_a_byte_counts():
    graph = Graph()
    rules = (Rule("up", (), (), (), ((0, graph.rigid(0)),)),)
    worlds = tuple((i % 4, i // 4) for i in range(4 * 250))
    odd = graph.neg(graph.equal(graph.rigid(1), graph.const(249)))
    same = Permutation((0,), (tuple(range(4)),))
    made = System(graph, (4,), (4, 250), worlds, (Rule("", (), (), (), ()),), rules, (("odd", odd),), ((same,),) * 1000)
    _, found = agree(made)
    assert found.states == 1750 and found.violations == {"odd": 0}
    agree(made, symmetry=True)


def test_initial_states_that_more_than_fill_the_buffer():
    graph = Graph()
    start = Rule("", (), (16, 16, 16), (), tuple((i, graph.choice(i)) for i in range(3)))
    made = system((16,) * 3, (Rule("reset", (), (), (), ((0, FALSE), (1, FALSE))),), initial=(start,), graph=graph)
    _, found = agree(made)
    assert found.states == 4096 and found.depth == 0


def test_successors_that_more_than_fill_the_buffer():
    graph = Graph()
    jump = Rule("jump", (), (16, 16, 16), (), tuple((i, graph.choice(i)) for i in range(3)))
    blocked = Rule("jump", (), (), (graph.field(3),), ())
    made = system(
        (16, 16, 16, 2),
        (Rule(jump.name, (), jump.choices, (graph.neg(graph.field(3)), *graph_is_zero(graph)), jump.updates), blocked),
        graph=graph,
    )
    _, found = agree(made)
    assert found.states == 4096 and found.depth == 1


def graph_is_zero(graph):
    return tuple(graph.equal(graph.field(i), FALSE) for i in range(3))


@pytest.mark.parametrize("count", [3, 64])
def test_every_property_is_checked_however_many_there_are(count):
    """Property number i is violated where the field is i."""
    graph = Graph()
    properties = tuple((f"p{i}", graph.neg(graph.equal(graph.field(0), graph.const(i)))) for i in range(count))
    rules = tuple(
        Rule("up", (i,), (), (graph.equal(graph.field(0), graph.const(i)),), ((0, graph.const(i + 1)),))
        for i in range(79)
    )
    made = system((80,), rules, properties=properties, graph=graph)
    _, found = agree(made)
    assert found.violations == {f"p{i}": i for i in range(count)}


def test_more_properties_than_a_word_has_bits_are_refused():
    properties = tuple((f"p{i}", TRUE) for i in range(65))
    with pytest.raises(ValueError, match="at most 64 properties"):
        Engine(system((2,), (), properties=properties))


@pytest.mark.parametrize("fields", [(7,) * 6, (200,) * 8 + (2,) * 4 + (200,) * 5 + (9, 10, 11, 12)])
def test_tables_grow(fields):
    """More states than the first table has room for."""
    graph = Graph()
    live = [i for i, size in enumerate(fields) if size < 200]
    rules = [Rule("set", (i,), (fields[i],), (), ((i, graph.choice(0)),)) for i in live]
    engine = Engine(system(fields, rules, graph=graph))
    expected = 1
    for i in live:
        expected *= fields[i]
    expansions = sum(fields[i] for i in live)
    for jobs in (1, 2):
        found = finished(engine, jobs=jobs).found
        assert found.states == expected > 100_000
        assert found.transitions == expected * expansions
        assert found.depth == sum(fields[i] > 1 for i in live)
        assert found.deadlocks == 0


def test_a_deep_search():
    """More layers than there is room for at first."""
    engine, found = agree(counter(3, 7))
    assert (found.states, found.depth, found.deadlocks) == (343, 342, 1)
    search = finished(engine, jobs=2)
    depth, words = search.first_deadlock()
    assert depth == 342 and engine.system.layout.unpack(words) == ((6, 6, 6), 0)
    path = search.path_to(words, depth)
    assert [engine.system.layout.unpack(w)[0] for w in path] == [(n % 7, n // 7 % 7, n // 49) for n in range(343)]


def test_members_of_a_block_that_are_longer_than_a_word_are_refused():
    same = Permutation(tuple(range(18)), (tuple(range(200)),) * 18)
    block = (tuple(range(9)), tuple(range(9, 18)))
    with pytest.raises(ValueError, match="do not fit into a word"):
        Engine(system((200,) * 18, (), symmetry=((same,),), blocks=(block,)))


def test_elements_with_more_fields_than_fit_into_a_word_are_not_sorted():
    """Of 65 bits, only the last differs."""
    names = [f"r{i}" for i in range(65)]
    text = "sort node\n" + "".join(f"mutable relation {name}(node)\ninit !{name}(N)\n" for name in names)
    text += "transition set(n: node)\n  modifies r64\n  & (r64'(N) <-> r64(N) | N = n)\n"
    model = parse(Source("long.pyv", text)).model
    made = Instance(model, {model.sorts[0]: 2})
    assert made.system.blocks == ()
    _, found = agree(made.system, symmetry=True)
    assert found.states == 3 and found.unreduced == 4
    shorter = parse(Source("short.pyv", text.replace("mutable relation r0(node)\ninit !r0(N)\n", ""))).model
    made = Instance(shorter, {shorter.sorts[0]: 2})
    assert len(made.system.blocks) == 1
    _, found = agree(made.system, symmetry=True)
    assert found.states == 3 and found.unreduced == 4


def test_no_deadlock_is_found_where_there_is_none():
    assert finished(Engine(free((2, 3))), jobs=1).first_deadlock() is None


def test_stopping_at_the_first_violation():
    made = counter(2, 6, [("below", lambda graph: graph.neg(graph.equal(graph.field(1), graph.const(2))))])
    search = finished(Engine(made), jobs=2, keep_going=False)
    assert search.status == STOPPED
    assert search.found.violations == {"below": 12} and search.found.states == 13 and search.found.depth == 12
    depth, words = search.first_bad(0)
    assert depth == 12 and made.layout.unpack(words) == ((0, 2), 0)


def test_a_search_may_be_run_in_pieces():
    engine = Engine(counter(3, 7))
    search = Search(engine, jobs=2)
    search.begin()
    pieces = 0
    while search.status == RUNNING:
        before = search.found
        search.run(0.0)
        pieces += 1
        assert search.found.states >= before.states and search.found.depth <= before.depth + 1
    assert pieces == 343
    assert search.found == Reference(engine.system).explore()


def test_no_world():
    model = parse(
        Source("none.pyv", "sort node\nimmutable relation up\naxiom up & !up\nmutable relation on(node)\n")
    ).model
    made = Instance(model, {model.sorts[0]: 2})
    assert made.worlds == ()
    for symmetry in (False, True):
        agree(made.system, symmetry)


def test_an_initial_state_that_violates_a_property():
    made = counter(1, 3, [("above", lambda graph: graph.neg(graph.equal(graph.field(0), FALSE)))])
    _, found = agree(made)
    assert found.violations == {"above": 0}
    search = Search(Engine(made), jobs=2, keep_going=False)
    assert search.begin() == STOPPED == ReferenceSearch(Reference(made), keep_going=False).begin()
    assert search.path_to(search.first_bad(0)[1], 0) == [made.layout.pack((0,))]


# -- protocols -------------------------------------------------------------------------------------------------------

FILES = sorted(
    str(path.relative_to(LIBRARY))
    for path in LIBRARY.glob("**/*")
    if path.suffix in (".ivy", ".pyv") and "proofs" not in path.parts
)
FAST = [
    ("broken/permissioned_blockchain_partial_block.ivy", 1),
    ("broken/vertical_paxos_looks_nowhere.ivy", 1),
    ("broken/consensus_epr_decides_twice.pyv", 2),
    ("broken/distributed_lock_epoch_not_raised.pyv", 2),
    ("broken/ticket_lock_ticket_drawn_twice.pyv", 2),
    ("broken/two_phase_commit_missing_votes_count.ivy", 2),
    ("cas_consensus.ivy", 2),
    ("chord_ring_maintenance.ivy", 2),
    ("database_chain_replication.ivy", 2),
    ("sharded_kv_no_lost_keys.ivy", 2),
    ("stoppable_paxos.ivy", 2),
]
"""A spread: functions, enumerated sorts, choices, many worlds, two words, with symmetries and without."""

REST = [(name, size) for name in FILES for size in (1, 2) if (name, size) not in FAST]
PROTOCOLS = FAST + [pytest.param(name, size, marks=pytest.mark.slow) for name, size in REST]


@pytest.mark.parametrize("name, size", PROTOCOLS)
def test_protocols(name, size):
    made = instance(name, size)
    engine = Engine(made.system)
    full, reduced = finished(engine, jobs=2), finished(engine, jobs=2, symmetry=True)
    if full.found.states > 2_000_000:
        return compare_counts(full.found, reduced.found)
    assert finished(engine, jobs=1).found == full.found
    assert finished(engine, jobs=1, symmetry=True).found == reduced.found
    reference = Reference(made.system)
    if full.found.states < MOST_FOR_REFERENCE:
        assert full.found == reference.explore()
        assert reduced.found == reference.explore(symmetry=True)
    compare_counts(full.found, reduced.found)
    if reduced.found.states < 50_000:
        states = [made.system.layout.unpack(words) for layer in all_words(reduced) for words in layer]
        assert len(set(states)) == reduced.found.states
        assert sum(map(reference.orbit, states)) == full.found.states
        assert all(reference.canonical(state) == state for state in states[:: 1 + len(states) // 500])
    return None


def compare_counts(full, reduced):
    """What symmetry keeps."""
    assert full.unreduced == full.states == reduced.unreduced
    assert (full.depth, full.violations) == (reduced.depth, reduced.violations)
    assert bool(full.deadlocks) == bool(reduced.deadlocks)


@pytest.mark.parametrize("name", ["stoppable_paxos.ivy", "sharded_kv_no_lost_keys.ivy", "cas_consensus.ivy"])
def test_canonical_states_are_those_of_the_reference(name):
    """Of states along random runs, which no reduction has touched."""
    made = instance(name, 2)
    engine, reference, layout = Engine(made.system), Reference(made.system), made.system.layout
    search = Search(engine, symmetry=True, jobs=1)
    batch = engine.simulate(20, 20, seed=5, keep=True)
    found = set()
    for run, length in enumerate(batch.lengths):
        for step in range(length + 1):
            words = run_state(engine, batch, run, step, 20)
            found.add(words)
            assert layout.unpack(search.canonical(words)) == reference.canonical(layout.unpack(words))
    assert len(found) > 5


def test_states_are_those_of_the_reference():
    """The very states, not just as many."""
    made = instance("broken/consensus_epr_decides_twice.pyv", 2)
    layout = made.system.layout
    layers = all_words(finished(Engine(made.system), jobs=2, shards=3))
    reference = Reference(made.system)
    expected = [set(reference.initial())]
    seen = set(expected[0])
    while expected[-1]:
        expected.append({after for s in expected[-1] for after, _, _ in reference.successors(s)} - seen)
        seen |= expected[-1]
    assert [{layout.unpack(words) for words in layer} for layer in layers] == expected[:-1]


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "broken/consensus_epr_decides_twice.pyv",
        "broken/ticket_lock_ticket_drawn_twice.pyv",
        "broken/two_phase_commit_missing_votes_count.ivy",
        pytest.param("broken/toy_consensus_epr_no_intersection.ivy", marks=pytest.mark.slow),
        pytest.param("broken/lock_server_async_lock_kept.ivy", marks=pytest.mark.slow),
        pytest.param("broken/permissioned_blockchain_partial_block.ivy", marks=pytest.mark.slow),
        pytest.param("broken/sharded_kv_copy_kept.pyv", marks=pytest.mark.slow),
        pytest.param("broken/stoppable_paxos_goes_past_stop.ivy", marks=pytest.mark.slow),
    ],
)
def test_a_path_to_a_violation_is_a_run(name, symmetry):
    """A step leads to the next state of the path, or to one that a symmetry makes of it."""
    made = instance(name, 2)
    reference, layout = Reference(made.system), made.system.layout
    canonical = reference.canonical if symmetry else lambda state: state
    search = finished(Engine(made.system), jobs=2, symmetry=symmetry)
    violations = search.found.violations
    assert violations
    for number, (prop, _) in enumerate(made.system.properties):
        if prop not in violations:
            continue
        depth, words = search.first_bad(number)
        assert depth == violations[prop]
        path = [layout.unpack(state) for state in search.path_to(words, depth)]
        assert len(path) == depth + 1 and path[-1] == layout.unpack(words)
        assert path[0] in {canonical(state) for state in reference.initial()}
        for before, after in pairwise(path):
            assert after in {canonical(state) for state, _, _ in reference.successors(before)}
        assert [prop in reference.violated(state) for state in path] == [False] * depth + [True]


def test_a_path_to_a_state_that_is_not_there_is_refused():
    made = counter(2, 3)
    search = finished(Engine(made), jobs=1)
    with pytest.raises(AssertionError):
        search.path_to(made.layout.pack((2, 2)), 1)


# -- memory ----------------------------------------------------------------------------------------------------------

MANY = [(9,) * 14, (9,) * 20, (9,) * 40]
"""Far more states than a megabyte holds, in one, two and three words."""

FIRST_TABLE = 4096 * 64
"""Bytes of a shard's table before it grows, which no limit makes smaller."""


@pytest.mark.parametrize("jobs, shards", [(1, 1), (2, 2), (2, 7)])
@pytest.mark.parametrize("fields", MANY, ids=["one word", "two words", "three words"])
def test_memory_runs_out(fields, jobs, shards):
    """The search stops with the counts of a state in which it could have been saved."""
    made = free(fields)
    search = finished(Engine(made), jobs=jobs, shards=shards, memory_mb=1)
    assert search.status == OUT_OF_MEMORY
    found, layers = search.found, all_words(search)
    size = len(fields)
    complete = [layer_size(size, 8, depth) for depth in range(found.depth + 1)]
    assert [len(layer) for layer in layers] == complete
    assert sum(complete) <= found.states == sum(search.counts())
    assert search.used <= (1 << 20) + shards * FIRST_TABLE
    expanded = found.transitions // (9 * size)
    assert sum(complete[:-1]) <= expanded <= sum(complete)
    assert found.transitions == expanded * 9 * size == sum(found.fired.values())
    states = [made.layout.unpack(search.state(shard, n))[0] for shard, n in places(search)]
    assert len(set(states)) == found.states
    assert {sum(value != 0 for value in state) for state in states} <= set(range(found.depth + 2))
    assert search.run(1.0) == OUT_OF_MEMORY and search.found == found


def places(search):
    return [(shard, n) for shard, count in enumerate(search.counts()) for n in range(count)]


def layer_size(fields, others, depth):
    """States that differ from the first one in so many fields."""
    ways = 1
    for i in range(depth):
        ways = ways * (fields - i) // (i + 1)
    return ways * others**depth


def test_memory_that_is_used_up_by_the_initial_states():
    graph = Graph()
    start = Rule("", (), (200, 200, 200), (), tuple((i, graph.choice(i)) for i in range(3)))
    search = Search(Engine(system((200,) * 3, (), initial=(start,), graph=graph)), jobs=1, memory_mb=1)
    assert search.begin() == OUT_OF_MEMORY
    with pytest.raises(MemoryError):
        Search(search.engine, jobs=1, memory_mb=1).finish()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_that_ran_out_of_memory_goes_on_where_there_is_more(jobs):
    engine = Engine(free((7,) * 6))
    small = finished(engine, jobs=jobs, memory_mb=1)
    assert small.status == OUT_OF_MEMORY and small.found.states < 7**6
    large = Search(engine, jobs=jobs, memory_mb=64)
    for shard, count in enumerate(small.counts()):
        large.load(shard, bytes((c_uint64 * count)(*small.log(shard)[:count])), count)
    large.resume(small.progress())
    assert large.status == RUNNING and large.found == small.found
    while large.status == RUNNING:
        large.run(1e9)
    assert large.status == FINISHED
    assert large.found == finished(engine, jobs=jobs).found


# -- random runs -----------------------------------------------------------------------------------------------------


def run_state(engine, batch, run, step, depth):
    at = (run * (depth + 1) + step) * engine.words
    return tuple(batch.path[at : at + engine.words])


def runs_of(engine, runs, depth, **options):
    """Random runs as lists of states."""
    batch = engine.simulate(runs, depth, keep=True, **options)
    layout = engine.system.layout
    return batch, [
        [layout.unpack(run_state(engine, batch, run, step, depth)) for step in range(length + 1)]
        for run, length in enumerate(batch.lengths)
    ]


SIMULATED = [
    "broken/two_phase_commit_missing_votes_count.ivy",
    "broken/ticket_lock_ticket_drawn_twice.pyv",
    "stoppable_paxos.ivy",
]


@pytest.mark.parametrize("name", SIMULATED)
def test_random_runs_are_runs(name):
    made = instance(name, 2)
    engine, reference = Engine(made.system), Reference(made.system)
    depth = 12
    batch, runs = runs_of(engine, 60, depth, seed=3)
    initial = set(reference.initial())
    names = [prop for prop, _ in made.system.properties]
    for bad, run in zip(batch.bad, runs, strict=True):
        assert run[0] in initial
        for before, after in pairwise(run):
            assert after != before and after in {found for found, _, _ in reference.successors(before)}
            assert not reference.violated(before)
        assert [prop for i, prop in enumerate(names) if bad >> i & 1] == reference.violated(run[-1])
        assert len(run) == depth + 1 or bad or all(after == run[-1] for after, _, _ in reference.successors(run[-1]))


@pytest.mark.parametrize("name", SIMULATED)
def test_a_run_depends_on_the_seed_and_its_number_alone(name):
    engine = Engine(instance(name, 2).system)
    _, runs = runs_of(engine, 30, 10, seed=11)
    assert runs_of(engine, 30, 10, seed=11)[1] == runs
    assert runs_of(engine, 20, 10, seed=11, first=10)[1] == runs[10:]
    assert runs_of(engine, 30, 6, seed=11)[1] == [run[:7] for run in runs]
    assert runs_of(engine, 30, 10, seed=12)[1] != runs
    kept, bare = engine.simulate(30, 10, 11, keep=True), engine.simulate(30, 10, 11)
    assert (kept.lengths, kept.bad, kept.fired) == (bare.lengths, bare.bad, bare.fired) and bare.path is None


def test_each_successor_is_as_likely_as_any_other():
    """Of 1,199 successors, more than fit into the buffer, and of three initial states; standing still is none."""
    graph = Graph()
    start = Rule("", (), (3,), (), ((2, graph.choice(0)),))
    zero = (graph.equal(graph.field(0), FALSE), graph.equal(graph.field(1), FALSE))
    jump = Rule("jump", (), (40, 30), zero, ((0, graph.choice(0)), (1, graph.choice(1))))
    engine = Engine(system((40, 30, 3), (jump,), initial=(start,), graph=graph))
    total = 120_000
    _, runs = runs_of(engine, total, 1, seed=1)
    firsts = Counter(run[0][0][2] for run in runs)
    assert sorted(firsts) == [0, 1, 2] and all(abs(times - total / 3) < 1_000 for times in firsts.values())
    lasts = Counter(run[-1][0][:2] for run in runs)
    assert len(lasts) == 1_199
    assert all(50 <= times <= 160 for times in lasts.values())
    # Buffers are chosen between in proportion to what they hold.
    assert abs(sum(times for (first, _), times in lasts.items() if first < 20) - total / 2) < 1_500


def test_fired_counts_what_could_be_chosen_from():
    engine = Engine(counter(2, 3))
    batch = engine.simulate(10, 5, 0)
    assert list(batch.fired) == [50] and list(batch.lengths) == [5] * 10
    assert list(engine.simulate(4, 100, 0).lengths) == [8] * 4


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(systems(), st.integers(0, 2**64 - 1))
def test_random_runs_of_random_systems(made, number):
    engine, reference = Engine(made), Reference(made)
    initial = set(reference.initial())
    if not initial:
        assert engine.simulate(5, 5, number) is None
        return
    for run in runs_of(engine, 10, 6, seed=number)[1]:
        assert run[0] in initial
        for before, after in pairwise(run):
            assert after in {found for found, _, _ in reference.successors(before)}


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize(
    "name", ["broken/two_phase_commit_missing_votes_count.ivy", "broken/ticket_lock_ticket_drawn_twice.pyv"]
)
def test_the_run_shown_does_not_depend_on_shards_or_engine(name, symmetry):
    made = instance(name, 2)
    reference, layout = Reference(made.system), made.system.layout
    slow = ReferenceSearch(reference, symmetry)
    slow.begin()
    slow.run(float("inf"))
    engine = Engine(made.system)
    names = [prop for prop, _ in made.system.properties]
    for jobs, shards in ((1, 1), (2, 2), (2, 7)):
        fast = finished(engine, jobs=jobs, shards=shards, symmetry=symmetry)
        for prop, state in slow.first.items():
            depth, words = fast.first_bad(names.index(prop))
            assert [layout.unpack(w) for w in fast.path_to(words, depth)] == slow.path_to(state)
        found = fast.first_deadlock()
        stuck = [layout.unpack(w) for w in fast.path_to(found[1], found[0])] if found else []
        assert stuck == (slow.path_to(slow.first_deadlock) if slow.first_deadlock else [])
