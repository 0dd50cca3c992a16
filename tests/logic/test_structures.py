from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.logic.structures import EvaluationError, Evaluator, Structure, argument_tuples, domain
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
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
    Sort,
    Symbol,
    Var,
)
from strategies import (
    AGREES,
    COLOR,
    EDGE,
    ELEMENTS,
    FIRST,
    HUE,
    MARKED,
    NEXT,
    NODE,
    SORTS,
    VALUE,
    VARIABLES,
    B,
    C,
    X,
    Y,
    bindings,
    formulas,
    structures,
    terms,
)


def meaning(term, structure, env):
    """What a term means, by plain recursion over its shape: shares nothing with the evaluator."""
    if isinstance(term, Var):
        return env[term]
    if isinstance(term, Number):
        return term.value
    if isinstance(term, Forall | Exists):
        ranges = []
        for variable in term.variables:
            if variable.sort is BOOL:
                ranges.append([False, True])
            elif variable.sort.elements:
                ranges.append(list(range(len(variable.sort.elements))))
            else:
                ranges.append(list(range(structure.sizes[variable.sort])))
        rows = [dict(zip(term.variables, row, strict=True)) for row in product(*ranges)]
        truths = [meaning(term.body, structure, {**env, **row}) for row in rows]
        return False not in truths if isinstance(term, Forall) else True in truths
    values = [meaning(child, structure, env) for child in term.children]
    if isinstance(term, Apply):
        if term.symbol in structure.tables:
            return structure.tables[term.symbol][tuple(values)]
        return term.symbol.sort.elements.index(term.symbol.name)
    if isinstance(term, Not):
        return values == [False]
    if isinstance(term, And):
        return False not in values
    if isinstance(term, Or):
        return True in values
    if isinstance(term, Implies):
        return values != [True, False]
    if isinstance(term, Iff | Equal):
        return values[0] == values[1]
    if isinstance(term, If):
        return values[1] if values[0] else values[2]
    assert isinstance(term, Arith)
    left, right = values
    return {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[term.operator]


@given(st.data())
def test_the_evaluator_agrees_with_the_naive_one(data):
    structure = data.draw(structures(largest=3))
    sort = data.draw(st.sampled_from([BOOL, *SORTS]))
    term = data.draw(terms(sort, VARIABLES, depth=4))
    env = data.draw(bindings(structure.sizes))
    value = structure.evaluate(term, env)
    assert value == meaning(term, structure, env)
    assert isinstance(value, bool) == (sort is BOOL)


@given(st.data())
def test_one_evaluator_serves_all_structures_of_its_sizes(data):
    first = data.draw(structures())
    second = data.draw(structures(sizes=first.sizes))
    formula = data.draw(formulas())
    compiled = Evaluator(first.sizes).compile(formula)
    assert [compiled(first, {}), compiled(second, {})] == [
        meaning(formula, first, {}),
        meaning(formula, second, {}),
    ]


@pytest.mark.parametrize("operator", ["+", "-", "*", "<", "<=", ">", ">="])
@given(left=st.integers(-5, 5), right=st.integers(-5, 5))
def test_integer_arithmetic(operator, left, right):
    clock = Symbol("clock", (), INT, mutable=True)
    structure = Structure({}, {clock: {(): left}})
    term = Arith(operator, clock(), Number(right))
    assert structure.evaluate(term) == meaning(term, structure, {})


def two_nodes(**given):
    """Two nodes and one value: everything is false, or the first element, unless given."""
    sizes = {NODE: 2, VALUE: 1}
    tables = {}
    for symbol in (MARKED, EDGE, AGREES, NEXT, FIRST, HUE):
        default = False if symbol.sort is BOOL else 0
        tables[symbol] = {
            **dict.fromkeys(argument_tuples(symbol.arguments, sizes), default),
            **given.get(symbol.name, {}),
        }
    return Structure(sizes, tables)


def test_quantifiers_range_over_the_whole_domain():
    structure = two_nodes(marked={(1,): True}, next={(0,): 1, (1,): 0})
    assert structure.holds(Exists((X,), MARKED(X)))
    assert not structure.holds(Forall((X,), MARKED(X)))
    assert structure.holds(Forall((X,), Exists((Y,), And((Equal(NEXT(X), Y), Not(Equal(X, Y)))))))
    assert structure.holds(Forall((C,), Or([Equal(C, element()) for element in ELEMENTS])))
    assert not structure.holds(Forall((C,), Or([Equal(C, element()) for element in ELEMENTS[:2]])))
    assert not structure.holds(Forall((B,), B)) and structure.holds(Exists((B,), B))


def test_an_inner_binder_shadows_and_the_outer_value_comes_back():
    structure = two_nodes(marked={(1,): True})
    formula = And((Exists((X,), MARKED(X)), Not(MARKED(X))))
    assert structure.holds(formula, {X: 0})
    assert structure.holds(Forall((X,), Or((Exists((X,), MARKED(X)), FALSE))))


def test_truth_values_can_be_arguments():
    structure = two_nodes(agrees={(True, 0): True})
    assert structure.holds(AGREES(TRUE, FIRST()))
    assert not structure.holds(AGREES(FALSE, FIRST()))
    assert structure.holds(AGREES(Exists((X,), Equal(X, FIRST())), FIRST()))


def test_elements_of_an_enumeration_need_no_table():
    structure = two_nodes(hue={(): 2})
    assert structure.evaluate(ELEMENTS[2]()) == 2
    assert structure.holds(Equal(HUE(), ELEMENTS[2]()))


def test_what_the_structure_does_not_determine_is_an_error():
    structure = two_nodes()
    unknown = Symbol("unknown", (NODE,), BOOL)
    for term, part in [
        (unknown(FIRST()), "gives no value to unknown"),
        (MARKED.at(1)(FIRST()), "gives no value to marked'"),
        (Forall((Var("I", INT),), TRUE), "the integers are not finite"),
        (Forall((Var("S", Sort("stranger")),), TRUE), "no size is given for sort stranger"),
    ]:
        with pytest.raises(EvaluationError, match=part):
            structure.evaluate(term)


def test_domains():
    assert list(domain(BOOL, {})) == [False, True]
    assert list(domain(COLOR, {})) == [0, 1, 2]
    assert list(domain(NODE, {NODE: 2})) == [0, 1]
    assert list(argument_tuples((BOOL, NODE), {NODE: 2})) == [(False, 0), (False, 1), (True, 0), (True, 1)]
    assert list(argument_tuples((), {})) == [()]
