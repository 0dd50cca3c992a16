from hypothesis import given

from quorate.logic.fragment import fragment
from quorate.logic.terms import (
    BOOL,
    INT,
    And,
    Apply,
    Arith,
    Equal,
    Exists,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Number,
    Or,
    Quantified,
    Sort,
    Symbol,
)
from quorate.logic.transform import nnf, subterms
from strategies import (
    AGREES,
    EDGE,
    FIRST,
    HELD,
    HUE,
    LAST,
    MARKED,
    NEXT,
    NODE,
    PAINT,
    RAISED,
    STORED,
    VALUE,
    B,
    C,
    V,
    W,
    X,
    Y,
    formulas,
)


def edges(*listed):
    """The edges of the formulas, named a, b, .., as (source, target, causes)."""
    found = fragment(zip("abcd", listed, strict=False))
    return {(edge.source.name, edge.target.name): set(edge.causes) for edge in found.edges}


def test_an_existential_below_a_universal_is_an_edge():
    assert edges(Forall((X,), Exists((V,), STORED(X, V)))) == {("node", "value"): {"a"}}
    assert edges(Exists((V,), Forall((X,), STORED(X, V)))) == {}
    assert edges(Forall((X, V), STORED(X, V))) == {}


def test_polarity_counts():
    exists = Exists((V,), STORED(X, V))
    assert edges(Not(Exists((X,), Forall((V,), STORED(X, V))))) == {("node", "value"): {"a"}}
    assert edges(Forall((X,), Implies(exists, MARKED(X)))) == {}
    assert edges(Forall((X,), Implies(MARKED(X), exists))) == {("node", "value"): {"a"}}
    assert edges(Forall((X,), Iff(MARKED(X), exists))) == {("node", "value"): {"a"}}
    assert edges(Not(Forall((X,), exists))) == {}


def test_both_sides_of_an_equivalence_between_quantified_formulas_count():
    both = Iff(Forall((X,), MARKED(X)), Exists((V,), Forall((Y,), STORED(Y, V))))
    # Either side occurs negated: forall V exists Y.
    assert edges(both) == {("value", "node"): {"a"}}


def test_functions_are_edges_from_each_argument():
    pair = Symbol("pair", (NODE, VALUE), NODE)
    assert edges(MARKED(pair(FIRST(), HELD(FIRST())))) == {
        ("node", "node"): {"function pair"},
        ("value", "node"): {"function pair"},
        ("node", "value"): {"function held"},
    }


def test_enumerated_and_truth_sorts_are_finite_so_they_are_no_edge():
    assert edges(Equal(PAINT(HELD(FIRST())), HUE())) == {("node", "value"): {"function held"}}
    assert edges(Forall((X,), Exists((C, B), And((Equal(C, HUE()), B, MARKED(X)))))) == {}
    assert edges(Forall((C, B), Exists((X,), And((Equal(C, HUE()), AGREES(B, X)))))) == {}


def test_causes_are_collected_over_formulas():
    exists = Forall((X,), Exists((V,), STORED(X, V)))
    assert edges(exists, RAISED(), And((exists, Equal(HELD(FIRST()), HELD(LAST()))))) == {
        ("node", "value"): {"a", "c", "function held"}
    }


def test_quantifiers_hidden_in_conditional_terms_count_both_ways():
    choice = If(Exists((Y,), EDGE(X, Y)), FIRST(), X)
    assert edges(Forall((X,), Equal(LAST(), choice))) == {("node", "node"): {"a"}}
    negative = If(Forall((V,), STORED(X, V)), FIRST(), X)
    assert edges(Forall((X,), MARKED(negative))) == {("node", "value"): {"a"}}
    assert edges(Forall((X,), Not(Equal(If(MARKED(choice), FIRST(), X), X)))) == {("node", "node"): {"a"}}
    assert edges(MARKED(If(Exists((Y,), EDGE(Y, Y)), FIRST(), LAST()))) == {}


def test_quantifiers_hidden_in_arguments_count_both_ways():
    assert edges(Forall((X,), AGREES(Forall((V,), STORED(X, V)), X))) == {("node", "value"): {"a"}}
    assert edges(Forall((X,), Not(AGREES(Exists((V,), STORED(X, V)), X)))) == {("node", "value"): {"a"}}


def test_no_cycle_is_decidable():
    found = fragment([("a", Forall((X,), Exists((V,), STORED(X, V))))])
    assert found.decidable and found.cycle == ()
    assert found.describe() == "decidable: the sorts are stratified"


def test_a_function_onto_its_own_sort_is_a_cycle():
    found = fragment([("a", MARKED(NEXT(FIRST())))])
    assert not found.decidable
    assert [(edge.source, edge.target) for edge in found.cycle] == [(NODE, NODE)]
    assert found.describe() == "not known to be decidable: node → node by function next"


def test_a_cycle_over_two_sorts_names_both_causes():
    found = fragment(
        [("quorums", Forall((X,), Exists((V,), STORED(X, V)))), ("back", Forall((V,), Exists((X,), STORED(X, V))))]
    )
    assert found.describe() == "not known to be decidable: node → value by quorums; value → node by back"


def test_the_shortest_cycle_is_shown():
    third = Sort("third")
    along = Symbol("along", (VALUE,), third)
    back = Symbol("back", (third,), NODE)
    long_way = And((Equal(along(HELD(FIRST())), along(HELD(LAST()))), MARKED(back(along(HELD(FIRST()))))))
    found = fragment([("long", long_way)])
    assert [edge.source for edge in found.cycle] == [VALUE, third, NODE], "as they are met in the text"
    shorter = fragment([("long", long_way), ("short", Forall((V,), Exists((X,), STORED(X, V))))])
    assert [(edge.source, edge.target) for edge in shorter.cycle] == [(VALUE, NODE), (NODE, VALUE)]


def test_a_cycle_that_does_not_pass_the_first_sort_is_found():
    found = fragment(
        [
            ("in", Equal(HELD(FIRST()), HELD(LAST()))),
            ("loop", Forall((V,), Exists((W,), Equal(V, W)))),
        ]
    )
    assert [(edge.source, edge.target) for edge in found.cycle] == [(VALUE, VALUE)]


def test_integers_are_not_known_to_be_decidable():
    clock = Symbol("clock", (), INT, mutable=True)
    found = fragment([("a", Arith("<", clock(), Number(3)))])
    assert not found.decidable and "integer" in found.describe()


def skolem_edges(formula, universals=frozenset()):
    """Edges by reading the definition off a normal form without quantifiers inside terms."""
    if isinstance(formula, Forall):
        return skolem_edges(formula.body, universals | {variable.sort for variable in formula.variables})
    found = set()
    if isinstance(formula, Exists):
        found = {(s, v.sort) for s in universals for v in formula.variables if s.uninterpreted and v.sort.uninterpreted}
    if isinstance(formula, And | Or | Exists):
        for child in formula.children:
            found |= skolem_edges(child, universals)
    return found


@given(formulas(symbols=(MARKED, EDGE, STORED, RAISED, FIRST, Symbol("top", (), VALUE), HUE)))
def test_edges_of_random_relational_formulas(formula):
    flat = not any(
        isinstance(inner, Quantified)
        for term in subterms(formula)
        if isinstance(term, Apply | Equal)
        for inner in subterms(term)
    )
    found = {(edge.source, edge.target) for edge in fragment([("a", formula)]).edges}
    expected = skolem_edges(nnf(formula))
    assert found == expected if flat else found >= expected
    assert BOOL not in {sort for edge in found for sort in edge}
