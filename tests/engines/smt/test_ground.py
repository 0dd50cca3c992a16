from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt.ground import FALSE, TRUE, Circuit, Grounder, SatSolver, enough
from quorate.engines.smt.smtlib import Vocabulary
from quorate.logic import terms as logic
from quorate.logic.structures import EvaluationError, Structure, domain
from quorate.logic.terms import BOOL, INT, Apply, Equal, Forall, If, Sort, Symbol, Var
from quorate.models.relational import enumeration_axiom
from strategies import (
    AGREES,
    COLOR,
    EDGE,
    ELEMENTS,
    HUE,
    LAST,
    MARKED,
    NEXT,
    NODE,
    SYMBOLS,
    VALUE,
    VARIABLES,
    X,
    bindings,
    formulas,
    structures,
    terms,
)


def satisfiable(clauses, assumed=()):
    """Is there an assignment?  By splitting on one variable after the other, and unit clauses."""
    clauses = [list(clause) for clause in clauses] + [[literal] for literal in assumed]
    while True:
        if any(not clause for clause in clauses):
            return False
        if not clauses:
            return True
        unit = next((clause[0] for clause in clauses if len(clause) == 1), None)
        if unit is None:
            return any(satisfiable(clauses, [literal]) for literal in (clauses[0][0], -clauses[0][0]))
        clauses = [[other for other in clause if other != -unit] for clause in clauses if unit not in clause]


def value_of(circuit, literal, inputs):
    """The only value that a literal can have under an assignment of the inputs."""
    possible = [
        truth for truth in (True, False) if satisfiable(circuit.clauses, [*inputs, literal if truth else -literal])
    ]
    assert len(possible) == 1
    return possible[0]


def assignments(variables):
    for signs in product((1, -1), repeat=len(variables)):
        yield [sign * variable for sign, variable in zip(signs, variables, strict=True)]


# -- circuits --------------------------------------------------------------------------------------------------------

shapes = st.recursive(
    st.integers(0, 3) | st.booleans(),
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3))
        | st.tuples(st.just("not"), inner)
        | st.tuples(st.just("iff"), inner, inner)
        | st.tuples(st.just("ite"), inner, inner, inner)
    ),
    max_leaves=8,
)
"""Small circuits over four inputs, as nested tuples."""


def build(circuit, shape, inputs):
    match shape:
        case bool():
            return TRUE if shape else FALSE
        case int():
            return inputs[shape]
        case "not", inner:
            return -build(circuit, inner, inputs)
        case ("and" | "or") as word, members:
            literals = [build(circuit, member, inputs) for member in members]
            return circuit.conj(literals) if word == "and" else circuit.disj(literals)
        case "iff", left, right:
            return circuit.iff(build(circuit, left, inputs), build(circuit, right, inputs))
        case "ite", *parts:
            return circuit.ite(*(build(circuit, part, inputs) for part in parts))


def truth(shape, values):
    match shape:
        case bool():
            return shape
        case int():
            return values[shape]
        case "not", inner:
            return not truth(inner, values)
        case "and", members:
            return all(truth(member, values) for member in members)
        case "or", members:
            return any(truth(member, values) for member in members)
        case "iff", left, right:
            return truth(left, values) == truth(right, values)
        case "ite", condition, then, otherwise:
            return truth(then if truth(condition, values) else otherwise, values)


@settings(max_examples=60)
@given(shapes)
def test_gates_have_the_values_they_should(shape):
    circuit = Circuit()
    inputs = [circuit.variable() for _ in range(4)]
    literal = build(circuit, shape, inputs)
    for row in assignments(inputs):
        assert value_of(circuit, literal, row) == truth(shape, [value > 0 for value in row])


@settings(max_examples=60)
@given(shapes, shapes, shapes)
def test_what_is_required_may_be_used_to_fold_but_changes_no_value(first, second, third):
    circuit = Circuit()
    inputs = [circuit.variable() for _ in range(4)]
    circuit.require(build(circuit, first, inputs))
    circuit.require(build(circuit, second, inputs))
    literal = build(circuit, third, inputs)
    for row in assignments(inputs):
        values = [value > 0 for value in row]
        allowed = truth(first, values) and truth(second, values)
        assert satisfiable(circuit.clauses, row) == allowed
        if allowed:
            assert value_of(circuit, literal, row) == truth(third, values)


def test_constants_are_folded_without_gates():
    circuit = Circuit()
    a, b = circuit.variable(), circuit.variable()
    before = (circuit.count, list(circuit.clauses))
    assert circuit.conj([]) == TRUE and circuit.disj([]) == FALSE
    assert circuit.conj([a, TRUE]) == a and circuit.conj([a, FALSE]) == FALSE
    assert circuit.conj([a, b, -a]) == FALSE and circuit.disj([a, b, -a]) == TRUE
    assert circuit.conj([a, a]) == a
    assert circuit.iff(a, a) == TRUE and circuit.iff(a, -a) == FALSE and circuit.iff(a, TRUE) == a
    assert circuit.iff(FALSE, b) == -b
    assert circuit.ite(a, b, b) == b and circuit.ite(TRUE, a, b) == a and circuit.ite(FALSE, a, b) == b
    assert circuit.ite(a, TRUE, FALSE) == a and circuit.ite(a, FALSE, TRUE) == -a
    assert (circuit.count, circuit.clauses) == before


def test_equal_gates_are_shared():
    circuit = Circuit()
    a, b = circuit.variable(), circuit.variable()
    assert circuit.conj([a, b]) == circuit.conj([b, a, TRUE]) == -circuit.disj([-a, -b])


def test_required_variables_are_folded_into_what_comes_later():
    circuit = Circuit()
    a, b, c = (circuit.variable() for _ in range(3))
    circuit.require(a)
    circuit.require(-b)
    assert circuit.conj([a, c]) == c and circuit.disj([b, c]) == c and circuit.conj([b, c]) == FALSE
    circuit.require(b)
    assert not satisfiable(circuit.clauses)


def test_requiring_false_makes_everything_unsatisfiable():
    circuit = Circuit()
    circuit.require(FALSE)
    assert not satisfiable(circuit.clauses)
    assert SatSolver(circuit).solve() is False


@pytest.mark.parametrize("count", range(5))
def test_exactly_one(count):
    circuit = Circuit()
    inputs = [circuit.variable() for _ in range(count)]
    circuit.require_one_of(inputs)
    for row in assignments(inputs):
        assert satisfiable(circuit.clauses, row) == (sum(value > 0 for value in row) == 1)
    assert SatSolver(circuit).solve() is (count > 0)


@pytest.mark.parametrize("limit", range(6))
@pytest.mark.parametrize("count", range(5))
def test_at_most(count, limit):
    circuit = Circuit()
    inputs = [circuit.variable() for _ in range(count)]
    bound = circuit.at_most(inputs, limit)
    for row in assignments(inputs):
        number = sum(value > 0 for value in row)
        assert satisfiable(circuit.clauses, row), "counting alone forbids nothing"
        for k in range(limit):
            assert satisfiable(circuit.clauses, [*row, bound(k)]) == (number <= k)


def test_at_most_counts_constants_and_repeated_literals():
    circuit = Circuit()
    a = circuit.variable()
    bound = circuit.at_most([TRUE, a, FALSE, a, -a], 5)
    for row, number in (([a], 3), ([-a], 2)):
        assert [satisfiable(circuit.clauses, [*row, bound(k)]) for k in range(5)] == [number <= k for k in range(5)]


# -- the solver ------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(shapes, max_size=4))
def test_the_sat_solver_agrees_with_splitting_as_the_circuit_grows(required):
    circuit = Circuit()
    inputs = [circuit.variable() for _ in range(4)]
    solver = SatSolver(circuit)
    for shape in required:
        circuit.require(build(circuit, shape, inputs))
        for assumed in ([], inputs[:1], [-inputs[0], inputs[3]]):
            answer = solver.solve(assumed)
            assert answer is satisfiable(circuit.clauses, assumed)
            if answer:
                values = [solver.holds(literal) for literal in inputs]
                assert truth(shape, values)
                assert all(solver.holds(literal) for literal in assumed)
                assert [solver.holds(-literal) for literal in inputs] == [not value for value in values]


def test_constant_assumptions():
    solver = SatSolver(Circuit())
    assert solver.solve([TRUE]) is True and solver.solve([FALSE]) is False
    assert solver.solve() is True
    assert solver.holds(TRUE) and not solver.holds(FALSE)


def test_no_time_no_answer():
    circuit = Circuit()
    circuit.require(circuit.variable())
    solver = SatSolver(circuit)
    assert [solver.solve((), timeout) for timeout in (0.0, -1.0)] == [None, None]
    assert solver.solve((), 20.0) is True and solver.solve() is True


def test_a_hard_question_runs_out_of_time_and_the_next_does_not():
    """Eleven pigeons in ten holes."""
    circuit = Circuit()
    places = [[circuit.variable() for _ in range(10)] for _ in range(11)]
    for place in places:
        circuit.require_one_of(place)
    for hole in zip(*places, strict=True):
        circuit.clauses += [(-a, -b) for i, a in enumerate(hole) for b in hole[i + 1 :]]
    solver = SatSolver(circuit)
    assert solver.solve((), 0.05) is None
    assert solver.solve([places[0][0], places[0][1]], 20.0) is False


# -- grounding -------------------------------------------------------------------------------------------------------


def constants(structure):
    """The tables of a structure as known ground values."""
    return {
        symbol: {args: (TRUE if value else FALSE) if symbol.sort is BOOL else value for args, value in table.items()}
        for symbol, table in structure.tables.items()
    }


@given(st.data())
def test_over_known_tables_a_term_is_the_constant_that_it_evaluates_to(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    sort = data.draw(st.sampled_from([BOOL, NODE, VALUE, COLOR]))
    term = data.draw(terms(sort, VARIABLES, depth=4))
    circuit = Circuit()
    ground = {v: (TRUE if value else FALSE) if v.sort is BOOL else value for v, value in env.items()}
    value = Grounder(circuit, structure.sizes).term(term, constants(structure), ground)
    expected = structure.evaluate(term, env)
    assert value == ((TRUE if expected else FALSE) if sort is BOOL else expected)
    assert circuit.count == 1, "nothing was left open"


@settings(max_examples=150)
@given(formulas(depth=4), st.sampled_from([1, 2]), st.sampled_from([1, 2]))
def test_over_unknown_tables_a_model_is_a_structure_and_none_means_that_z3_finds_none(formula, nodes, values):
    sizes = {NODE: nodes, VALUE: values}
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    tables = {symbol: grounder.table(symbol) for symbol in SYMBOLS}
    circuit.require(grounder.formula(formula, tables))
    solver = SatSolver(circuit)
    if solver.solve():
        structure = solver.structure(tables, sizes)
        assert structure.holds(formula)
    else:
        solver = z3.Solver()
        solver.set("timeout", 20_000)
        exact = [enumeration_axiom(COLOR), *(cardinality(sort, size) for sort, size in sizes.items())]
        solver.from_string(Vocabulary().script([formula, *exact]))
        assert solver.check() == z3.unsat


def cardinality(sort, size):
    """The sort has exactly so many elements."""
    elements = [Symbol(f"{sort}_{i}", (), sort)() for i in range(size)]
    variable = Var("E", sort)
    every = Forall((variable,), logic.disj(*(Equal(variable, element) for element in elements)))
    return logic.conj(logic.distinct(elements), every)


@given(st.data())
def test_partly_known_tables(data):
    """Unknown tables pinned to a structure by unit clauses, after the formula was expanded."""
    structure = data.draw(structures())
    formula = data.draw(formulas())
    circuit = Circuit()
    grounder = Grounder(circuit, structure.sizes)
    known = data.draw(st.sets(st.sampled_from(SYMBOLS)))
    tables = {symbol: constants(structure)[symbol] if symbol in known else grounder.table(symbol) for symbol in SYMBOLS}
    literal = grounder.formula(formula, tables)
    pinned = []
    for symbol in set(SYMBOLS) - known:
        for args, value in structure.tables[symbol].items():
            ground = tables[symbol][args]
            if symbol.sort is BOOL:
                pinned.append(ground if value else -ground)
            elif not isinstance(ground, int):
                pinned.append(ground[value])
    solver = SatSolver(circuit)
    expected = structure.holds(formula)
    assert solver.solve([*pinned, literal]) is expected
    assert solver.solve([*pinned, -literal]) is not expected
    if expected:
        assert solver.solve([*pinned, literal]) and solver.structure(tables, structure.sizes) == structure


def test_unknown_elements_are_one_of_their_sort():
    circuit = Circuit()
    grounder = Grounder(circuit, {NODE: 3})
    value = grounder.unknown(NODE)
    assert [satisfiable(circuit.clauses, [literal]) for literal in value] == [True] * 3
    assert not satisfiable(circuit.clauses, [value[0], value[1]])
    assert not satisfiable(circuit.clauses, [-literal for literal in value])
    assert Grounder(circuit, {NODE: 1}).unknown(NODE) == 0, "a single element is known"


def test_elements_of_enumerations_are_known():
    grounder = Grounder(Circuit(), {NODE: 1})
    assert grounder.table(ELEMENTS[2]) == {(): 2}
    assert grounder.formula(Equal(ELEMENTS[1](), ELEMENTS[1]()), {}) == TRUE
    assert grounder.formula(Equal(ELEMENTS[1](), ELEMENTS[2]()), {}) == FALSE
    assert len(grounder.table(HUE)[()]) == 3


def test_functions_of_unknown_arguments():
    sizes = {NODE: 2, VALUE: 1}
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    tables = {symbol: grounder.table(symbol) for symbol in (NEXT, LAST, MARKED, AGREES)}
    circuit.require(grounder.formula(Forall((X,), logic.neg(Equal(NEXT(X), X))), tables))
    circuit.require(-grounder.formula(Equal(NEXT(NEXT(LAST())), LAST()), tables))
    assert SatSolver(circuit).solve() is False


def test_integers_cannot_be_expanded():
    grounder = Grounder(Circuit(), {NODE: 1})
    clock = Symbol("clock", (), INT)
    with pytest.raises(EvaluationError):
        grounder.table(clock)
    with pytest.raises(EvaluationError):
        grounder.formula(Forall((Var("I", INT),), logic.TRUE), {})
    with pytest.raises(EvaluationError):
        grounder.formula(logic.Arith("<", logic.Number(1), logic.Number(2)), {})
    with pytest.raises(EvaluationError):
        grounder.formula(Forall((Var("S", Sort("stranger")),), logic.TRUE), {})


def test_every_model_of_a_small_formula_is_found():
    """Count models by forbidding each one found; compare with plain enumeration."""
    sizes = {NODE: 2, VALUE: 1}
    formula = Forall((X,), logic.Iff(MARKED(X), EDGE(X, LAST())))
    symbols = (MARKED, EDGE, LAST)
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    tables = {symbol: grounder.table(symbol) for symbol in symbols}
    circuit.require(grounder.formula(formula, tables))
    solver = SatSolver(circuit)
    found = 0
    while solver.solve():
        structure = solver.structure(tables, sizes)
        assert structure.holds(formula)
        found += 1
        literals = [tables[MARKED][i,] for i in range(2)] + list(tables[EDGE].values()) + list(tables[LAST][()])
        circuit.clauses.append(tuple(-literal if solver.holds(literal) else literal for literal in literals))
    expected = 0
    places = [(symbol, args) for symbol in symbols for args in grounder.table(symbol)]
    for row in product(*(domain(symbol.sort, sizes) for symbol, _ in places)):
        by_symbol = {symbol: {} for symbol in symbols}
        for (symbol, args), value in zip(places, row, strict=True):
            by_symbol[symbol][args] = value
        expected += Structure(sizes, by_symbol).holds(formula)
    assert found == expected == 2 * 2**4


def test_conditionals_between_elements():
    sizes = {NODE: 3, VALUE: 1}
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    first, second = Symbol("a", (), NODE), Symbol("b", (), NODE)
    condition = Symbol("c", (), BOOL)
    tables = {symbol: grounder.table(symbol) for symbol in (first, second, condition)}
    chosen = If(Apply(condition), first(), second())
    circuit.require(-grounder.formula(logic.Or((Equal(chosen, first()), Equal(chosen, second()))), tables))
    assert SatSolver(circuit).solve() is False


# -- which hypotheses suffice ------------------------------------------------------------------------------------------


def possible(size, *asserted):
    """Whether formulas hold together in a structure with so many elements of each sort."""
    circuit = Circuit()
    grounder = Grounder(circuit, {NODE: size, VALUE: size})
    tables = {symbol: grounder.table(symbol) for symbol in SYMBOLS}
    for formula in asserted:
        circuit.require(grounder.formula(formula, tables))
    return SatSolver(circuit).solve()


@settings(max_examples=60, deadline=None)
@given(st.lists(formulas(), max_size=4), formulas(), st.integers(1, 2))
def test_enough_is_enough_and_not_more(hypotheses, goal, size):
    found = enough(hypotheses, goal, size)
    if possible(size, *hypotheses, goal):
        assert found == ()
    else:
        assert not possible(size, goal, *(hypotheses[number] for number in found))
        for left_out in found:
            assert possible(size, goal, *(hypotheses[number] for number in found if number != left_out))


def test_nothing_is_said_about_integers():
    count = Symbol("count", (), INT)
    assert enough([Equal(count(), count()), MARKED(LAST())], logic.neg(MARKED(LAST())), 2) == ()


def test_nothing_is_said_about_formulas_with_too_many_cases():
    variables = [Var(f"X{number}", NODE) for number in range(20)]
    many = logic.forall(variables, logic.disj(*(MARKED(variable) for variable in variables)))
    assert enough([many], logic.neg(many), 2) == ()


def test_a_goal_that_is_false_needs_no_hypothesis():
    assert enough([MARKED(LAST()), logic.FALSE], logic.FALSE, 2) == ()
