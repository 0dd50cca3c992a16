"""Worlds, against plain enumeration of all tables and of all isomorphisms."""

from dataclasses import replace
from itertools import permutations, product
from math import factorial
from pathlib import Path

import pytest

from quorate.engines.explicit import worlds as worlds_module
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.worlds import InstanceError, renamings
from quorate.lang import load, parse
from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.logic.terms import BOOL, Iff, Symbol, Var, exists, forall, neg
from quorate.logic.transform import symbols_of
from quorate.models.relational import Derived, Named
from quorate.models.source import Source

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def instance(text, *sizes, where=None):
    model = pyv(text)
    return Instance(model, dict(zip(model.sorts, sizes, strict=True)), where)


def interpretations(made):
    """All tables of the rigid symbols that satisfy the axioms, as tuples in the order of a world's values."""
    model, sizes, symbols = made.model, made.sizes, made.rigid_symbols
    formulas = [a.formula for a in model.axioms] + ([made.where] if made.where is not None else [])
    formulas = [model.expand(f) for f in formulas if not any(symbol.mutable for symbol in symbols_of(f))]
    places = [(symbol, args) for symbol in symbols for args in argument_tuples(symbol.arguments, sizes)]
    found = []
    for values in product(*(domain(symbol.sort, sizes) for symbol, _ in places)):
        tables = {symbol: {} for symbol in symbols}
        for (symbol, args), value in zip(places, values, strict=True):
            tables[symbol][args] = value
        if all(Structure(sizes, tables).holds(formula) for formula in formulas):
            found.append(tuple(map(int, values)))
    return found


def all_renamings(made):
    """All permutations of the sorts that rigid symbols mention."""
    mentioned = {sort for symbol in made.rigid_symbols for sort in (*symbol.arguments, symbol.sort)}
    sorts = [sort for sort in made.model.sorts if sort.uninterpreted and sort in mentioned]
    each = [permutations(range(made.sizes[sort])) for sort in sorts]
    return [dict(zip(sorts, row, strict=True)) for row in product(*each)]


def renamed(made, values, renaming):
    """The world that a renaming makes of another."""

    def new(value, sort):
        return renaming[sort][value] if sort in renaming else value

    places = [(s, args) for s in made.rigid_symbols for args in argument_tuples(s.arguments, made.sizes)]
    image = {}
    for (symbol, args), value in zip(places, values, strict=True):
        image[symbol, tuple(new(a, s) for a, s in zip(args, symbol.arguments, strict=True))] = new(value, symbol.sort)
    return tuple(image[place] for place in places)


def frozen(renaming):
    return frozenset((sort, tuple(row)) for sort, row in renaming.items())


def check(made):
    """One world of each isomorphism class, with all its automorphisms; returns how many there are."""
    expected = interpretations(made)
    ways = all_renamings(made)
    found = [world.values for world in made.worlds]
    orbits = [{renamed(made, values, way) for way in ways} for values in found]
    assert set().union(*orbits) == set(expected)
    assert sum(map(len, orbits)) == len(expected), "two worlds are isomorphic"
    for world in made.worlds:
        automorphisms = [way for way in ways if renamed(made, world.values, way) == world.values]
        assert len(world.automorphisms) == len(automorphisms)
        assert set(map(frozen, world.automorphisms)) == set(map(frozen, automorphisms))
    return len(found)


TOTAL_ORDER = """
sort epoch
immutable relation le(epoch, epoch)
axiom le(X, X)
axiom le(X, Y) & le(Y, Z) -> le(X, Z)
axiom le(X, Y) & le(Y, X) -> X = Y
axiom le(X, Y) | le(Y, X)
mutable relation on(epoch)
"""

PARTIAL_ORDER = TOTAL_ORDER.replace("axiom le(X, Y) | le(Y, X)\n", "")

RELATION = """
sort node
immutable relation edge(node, node)
mutable relation on(node)
"""

QUORUMS = """
sort node
sort quorum
immutable relation member(node, quorum)
axiom [intersect] forall P, Q. exists N. member(N, P) & member(N, Q)
mutable relation vote(node)
"""


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_total_order_is_one_world(size):
    made = instance(TOTAL_ORDER, size)
    assert check(made) == 1
    assert len(made.worlds[0].automorphisms) == 1


@pytest.mark.parametrize("size", [4, 5, 6])
def test_a_larger_total_order_is_one_world(size):
    [world] = instance(TOTAL_ORDER, size).worlds
    assert len(world.automorphisms) == 1


@pytest.mark.parametrize("size, count", [(1, 1), (2, 2), (3, 5), (4, 16)])
def test_partial_orders(size, count):
    assert check(instance(PARTIAL_ORDER, size)) == count


@pytest.mark.parametrize("size, count", [(1, 2), (2, 10), (3, 104)])
def test_binary_relations(size, count):
    assert check(instance(RELATION, size)) == count


@pytest.mark.parametrize("size, count", [(1, 1), (2, 2), (3, 4), (4, 11)])
def test_graphs(size, count):
    text = RELATION + "axiom !edge(X, X)\naxiom edge(X, Y) -> edge(Y, X)\n"
    assert check(instance(text, size)) == count


@pytest.mark.parametrize("nodes, quorums", [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (2, 3), (4, 2), (3, 3)])
def test_intersecting_quorums(nodes, quorums):
    """A table is a list of sets that meet pairwise; lists that differ by renaming count once."""
    sets = [frozenset(n for n in range(nodes) if bits >> n & 1) for bits in range(1, 2**nodes)]
    systems = [chosen for chosen in product(sets, repeat=quorums) if all(a & b for a in chosen for b in chosen)]
    classes = {
        min(
            tuple(sorted(tuple(sorted(way[n] for n in members)) for members in chosen))
            for way in permutations(range(nodes))
        )
        for chosen in systems
    }
    assert check(instance(QUORUMS, nodes, quorums)) == len(classes)


@pytest.mark.parametrize(
    "text, sizes",
    [
        # Constants, functions and enumerated sorts.
        ("sort node\nimmutable constant first: node\nimmutable constant last: node\nmutable relation on(node)", [3]),
        ("sort node\nimmutable function next(node): node\nmutable relation on(node)", [3]),
        ("sort node\nimmutable function next(node): node\naxiom next(X) = next(Y) -> X = Y\nmutable relation r", [4]),
        ("sort node\nsort key\nimmutable function home(key): node\nimmutable relation top(node)\nmutable relation r", [2, 3]),
        ("sort node\nimmutable relation up\naxiom up\nmutable relation on(node)", [2]),
        ("sort node\nimmutable relation up\nimmutable relation on(node)\naxiom up -> on(N)\nmutable relation r", [3]),
        # The sorts of the symbols come in one after the other, the last relation ties them together.
        ("sort a\nsort b\nimmutable constant x: a\nimmutable relation p(b)\nimmutable relation r(a, b)\n", [2, 2]),
    ],
)  # fmt: skip
def test_worlds_of_small_signatures(text, sizes):
    assert check(instance(text, *sizes)) > 0


@pytest.mark.parametrize(
    "name, sizes, count",
    [
        ("toy_consensus_epr.ivy", {"node": 3, "quorum": 2, "value": 1}, 7),
        ("client_server_ae.pyv", {"node": 2, "request": 2, "response": 2}, 7),
        ("hybrid_reliable_broadcast.pyv", {}, 32),
        pytest.param("permissioned_blockchain.ivy", {}, 133, marks=pytest.mark.slow),
        ("broken/toy_consensus_epr_no_intersection.ivy", {"node": 2, "quorum": 3}, 6),
    ],
)
def test_worlds_of_protocols(name, sizes, count):
    model = load(LIBRARY / name).model
    given = {sort: sizes.get(str(sort), 2) for sort in model.sorts if sort.uninterpreted}
    assert check(Instance(model, given)) == count


def test_contradictory_axioms_leave_no_world():
    assert instance(RELATION + "axiom edge(X, Y)\naxiom !edge(X, X)\n", 2).worlds == ()
    assert instance(RELATION + "axiom forall X, Y:node. X = Y\n", 2).worlds == ()
    assert len(instance(RELATION + "axiom forall X, Y:node. X = Y\n", 1).worlds) == 2


def test_no_rigid_symbols_are_one_world():
    [world] = instance("sort node\nmutable relation on(node)", 3).worlds
    assert world.values == () and len(world.automorphisms) == 1


def test_an_axiom_over_mutable_symbols_does_not_restrict_worlds():
    model = pyv(RELATION + "safety edge(X, Y) -> on(X)\n")
    assert len(Instance(replace(model, axioms=model.safety), {model.sorts[0]: 2}).worlds) == 10


def test_worlds_can_be_restricted():
    where = pyv(RELATION + "axiom edge(X, X)\n").axioms[0].formula
    made = instance(RELATION, 3, where=where)
    assert check(made) == 16


def test_renamings_begin_with_the_identity_and_are_all():
    model = pyv("sort a\nsort b\nmutable relation r(a, b)")
    sizes = dict(zip(model.sorts, (3, 2), strict=True))
    found = renamings(model.sorts, sizes)
    assert all(list(row) == sorted(row) for row in found[0].values())
    assert len(set(map(frozen, found))) == len(found) == factorial(3) * factorial(2)
    assert renamings((), sizes) == [{}]


def test_too_many_permutations_are_refused():
    with pytest.raises(InstanceError, match=r"3,628,800 ways to permute the elements of epoch"):
        _ = instance(TOTAL_ORDER, 10).worlds


def test_too_many_tables_are_refused(monkeypatch):
    monkeypatch.setattr(worlds_module, "MOST_TABLES", 500)
    assert len(instance(RELATION, 2).worlds) == 10
    with pytest.raises(InstanceError, match="too many interpretations"):
        _ = instance(RELATION, 3).worlds


# -- instances that cannot be built ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, sizes, message",
    [
        ("sort node\nmutable constant n: int\n", [2], "integers"),
        ("sort node\nmutable relation on(node)\n", [257], "node has more than 256 elements"),
    ],
)
def test_instances_that_are_refused(text, sizes, message):
    with pytest.raises(InstanceError, match=message):
        instance(text, *sizes)


def test_every_sort_needs_a_size():
    model = pyv(QUORUMS)
    with pytest.raises(InstanceError, match="no size is given for quorum"):
        Instance(model, {model.sorts[0]: 2})


def test_only_rigid_symbols_can_be_restricted():
    model = pyv(RELATION + "safety on(X) & edge(X, X)\n")
    with pytest.raises(InstanceError, match="only rigid symbols"):
        Instance(model, {model.sorts[0]: 2}, model.safety[0].formula)


def test_a_truth_value_is_no_sort_to_permute():
    model = pyv("sort node\nmutable relation m\n")
    says = Symbol("says", (BOOL, model.sorts[0]), BOOL)
    made = Instance(replace(model, symbols=(*model.symbols, says)), {model.sorts[0]: 2})
    assert check(made) == 10
    assert all(BOOL not in way for world in made.worlds for way in world.automorphisms)


def test_a_derived_rigid_symbol_is_worked_out_and_not_chosen():
    model = pyv(RELATION)
    [node], edge = model.sorts, model.symbols[0]
    sink = Symbol("sink", (node,), BOOL)
    x, y = Var("X", node), Var("Y", node)
    definition = Derived(sink, forall((x,), Iff(sink(x), forall((y,), neg(edge(x, y))))))
    axiom = Named("some_sink", exists((x,), sink(x)))
    derived = replace(model, symbols=(*model.symbols, sink), derived=(definition,), axioms=(axiom,))
    made = Instance(derived, {node: 3})
    assert made.rigid_symbols == (edge,)
    assert check(made) == check(instance(RELATION + "axiom exists X. forall Y. !edge(X, Y)\n", 3)) < 104
