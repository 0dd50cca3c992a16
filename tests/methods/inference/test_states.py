"""Many states at once mean what each of them means alone."""

from __future__ import annotations

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.explicit.instance import Instance
from quorate.lang import parse
from quorate.logic.structures import Evaluator, Structure
from quorate.logic.terms import BOOL, Symbol
from quorate.methods.inference.states import States, from_instance, from_structure, in_order
from quorate.models.source import Source
from strategies import NODE, SYMBOLS, VALUE, VARIABLES, bindings, formulas, structures

BELOW = Symbol("below", (NODE, NODE), BOOL)

DERIVED = """\
sort node
mutable relation on(node)
mutable constant last: node
derived relation all_on: all_on <-> (forall N. on(N))
derived relation others_on(node): forall N. others_on(N) <-> (forall M. M != N -> on(M))
derived relation both(node): forall N. both(N) <-> all_on & others_on(N) & N = last
init !on(N)
transition switch(n: node)
  modifies on, last
  & (new(on(N)) <-> on(N) | N = n)
  & new(last) = n
safety [fine] on(N) | !all_on
"""


def stacked(items: list[Structure]) -> States:
    single = [from_structure(item) for item in items]
    tables = {s: numpy.concatenate([state.tables[s] for state in single]) for s in single[0].tables}
    return States(single[0].sizes, len(items), tables)


@st.composite
def several(draw, symbols=SYMBOLS):
    """States of the same size; now and then a symbol has one table for all of them."""
    sizes = {sort: draw(st.integers(1, 3)) for sort in (NODE, VALUE)}
    items = draw(st.lists(structures(symbols=symbols, sizes=sizes), min_size=1, max_size=4))
    shared = draw(st.sets(st.sampled_from(symbols)))
    return [Structure(sizes, {s: items[0 if s in shared else i].tables[s] for s in symbols}) for i in range(len(items))]


@given(several(), formulas(VARIABLES), st.data())
def test_formulas_mean_what_they_mean_in_each_state(items, formula, data):
    assignments = data.draw(st.lists(bindings(items[0].sizes), min_size=1, max_size=4))
    env = {variable: numpy.array([values[variable] for values in assignments]) for variable in VARIABLES}
    found = numpy.broadcast_to(stacked(items).evaluate(formula, env), (len(items), len(assignments)))
    run = Evaluator(items[0].sizes).compile(formula)
    assert found.tolist() == [[bool(run(item, dict(values))) for values in assignments] for item in items]


@given(several(), formulas(VARIABLES))
def test_no_state_has_no_values(items, formula):
    none = stacked(items).where(numpy.zeros(len(items), bool))
    assert none.evaluate(formula, dict.fromkeys(VARIABLES, 0)).shape[0] in (0, 1)


@given(several(), formulas())
def test_tables_shared_by_all_states(items, formula):
    states = stacked(items)
    equal = {s: table[:1] if (table == table[:1]).all() else table for s, table in states.tables.items()}
    shared = States(states.sizes, states.count, equal)
    expected = numpy.broadcast_to(states.evaluate(formula, {}), (len(items), 1))
    assert (numpy.broadcast_to(shared.evaluate(formula, {}), (len(items), 1)) == expected).all()
    last = shared.part(len(items) - 1, len(items))
    assert last.count == 1
    assert last.evaluate(formula, {}).item() == expected[-1].item()


@given(several(), formulas(symbols=(*SYMBOLS, BELOW)), st.booleans(), st.data())
@settings(max_examples=200)
def test_bringing_elements_into_order_keeps_the_truth_of_closed_formulas(items, formula, strict, data):
    size = items[0].sizes[NODE]
    ordered = []
    for item in items:
        rank = data.draw(st.permutations(range(size)))
        table = {(a, b): rank[a] < rank[b] or (a == b and not strict) for a in range(size) for b in range(size)}
        ordered.append(Structure(item.sizes, {**item.tables, BELOW: table}))
    states = in_order(stacked(ordered), {NODE: BELOW})
    expected = numpy.less if strict else numpy.less_equal
    assert (states.tables[BELOW] == expected.outer(numpy.arange(size), numpy.arange(size))).all()
    found = numpy.broadcast_to(states.evaluate(formula, {}), (len(items), 1))
    assert found[:, 0].tolist() == [item.holds(formula) for item in ordered]


def test_derived_symbols_have_tables_too():
    model = parse(Source("derived.pyv", DERIVED)).model
    instance = Instance(model, dict.fromkeys(model.sorts, 3))
    states = from_instance(instance, instance.states())
    assert states.count == instance.explore().states == 15
    for item in model.derived:
        assert states.tables[item.symbol].shape == (15, *(3 for _ in item.symbol.arguments))
        assert numpy.broadcast_to(states.evaluate(item.formula, {}), (15, 1)).all()
    assert numpy.broadcast_to(states.evaluate(model.safety[0].formula, {}), (15, 1)).all()
