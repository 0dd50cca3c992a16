from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.smt.smtlib import Vocabulary
from quorate.lang import parse
from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.logic.terms import BOOL, TRUE, Exists, Forall, Not, Sort, Symbol, Var, equal, neg
from quorate.methods.induction.unroll import FiniteRun, Move, Option, Plan, any_move, symbolic_run
from quorate.models.semantics import Step, successor
from quorate.models.source import Source
from quorate.proof.traces import replay
from strategies import diagram, formulas, models, structures

NODE = Sort("node")


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def all_tables(symbol, sizes):
    places = list(argument_tuples(symbol.arguments, sizes))
    for row in product(domain(symbol.sort, sizes), repeat=len(places)):
        yield dict(zip(places, row, strict=True))


def all_steps(model, sizes):
    """Every step there is, enabled or not."""
    for transition in model.transitions:
        for row in argument_tuples([parameter.sort for parameter in transition.parameters], sizes):
            values = {parameter.name: value for parameter, value in zip(transition.parameters, row, strict=True)}
            for tables in product(*(all_tables(choice, sizes) for choice in transition.choices)):
                named = {choice.name: table for choice, table in zip(transition.choices, tables, strict=True)}
                yield Step(transition.name, values, named)


def successors(model, before):
    """Every state that a step leads to."""
    found = (successor(model, before, step) for step in all_steps(model, before.sizes))
    return [after for after in found if isinstance(after, Structure)]


def pinned(tables, structure):
    """Literals that make unknown tables those of a structure; None if a known value is another."""
    literals = []
    for symbol, table in tables.items():
        for args, ground in table.items():
            value = structure.tables[symbol][args]
            if symbol.sort is BOOL:
                literals.append(ground if value else -ground)
            elif isinstance(ground, tuple):
                literals.append(ground[value])
            elif ground != value:
                return [-1]
    return literals


# -- random protocols ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(models(), structures(), formulas(depth=2))
def test_a_finite_step_leads_exactly_where_the_semantics_says(model, before, wanted):
    run = FiniteRun(model, before.sizes, initial=False)
    run.move(any_move(model))
    start = pinned(run.states[0], before)
    reachable = successors(model, before)
    literal = run.holds(wanted)
    assert run.solve(start) is bool(reachable)
    assert run.solve([*start, literal]) is any(after.holds(wanted) for after in reachable)
    assert run.solve([*start, -literal]) is any(not after.holds(wanted) for after in reachable)
    for after in reachable[:3]:
        assert run.solve([*start, *pinned(run.states[1], after)])


@settings(max_examples=40)
@given(models(), structures(), formulas(depth=2))
def test_a_symbolic_step_leads_exactly_where_the_semantics_says(model, before, wanted):
    run = symbolic_run(model, Plan(False, (any_move(model),), ((1, wanted),)))
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    known = [item.formula for item in run.hypotheses]
    solver.from_string(Vocabulary().script([*diagram(before), *known]))
    expected = any(after.holds(wanted) for after in successors(model, before))
    assert str(solver.check()) == ("sat" if expected else "unsat")


@settings(max_examples=60)
@given(models(), st.sampled_from([1, 2]), formulas(depth=2))
def test_the_trace_is_what_the_solver_found(model, size, wanted):
    sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
    run = FiniteRun(model, sizes, initial=True)
    run.move(any_move(model))
    run.move(any_move(model))
    if run.solve([run.holds(wanted)]):
        trace = run.trace("run", None)
        replay(model, trace)
        read = [run.solver.structure(tables, sizes) for tables in run.states]
        assert list(trace.states) == read
        assert trace.states[-1].holds(wanted)


# -- by hand ---------------------------------------------------------------------------------------------------------

RING = pyv("""
sort node
immutable function next(node): node
mutable relation token(node)
mutable relation lost
derived relation none: none <-> forall N. !token(N)
axiom [back] next(next(N)) = N
init [one] exists N. (forall M. token(M) <-> M = N)
init [here] !lost
transition pass(n: node)
  modifies token
  & token(n)
  & (token'(N) <-> (token(N) & N != n) | N = next(n))
transition drop(n: node)
  modifies token, lost
  & token(n)
  & (token'(N) <-> token(N) & N != n)
  & lost'
safety [found] lost -> none
""")
NEXT, TOKEN, LOST, NONE = RING.symbols
PASS, DROP = RING.transitions
N = Var("N", NODE)
AT_END = Exists((N,), TOKEN(N))


def finite(plan, size):
    """The trace of a plan at a size, or None."""
    run = FiniteRun(RING, {NODE: size}, plan.initial)
    for state in range(len(plan.moves) + 1):
        if state:
            run.move(plan.moves[state - 1])
        for at, formula in plan.required:
            if at == state:
                run.circuit.require(run.holds(formula))
    if not run.solve():
        return None
    trace = run.trace("run" if plan.initial else "cti", None)
    replay(RING, trace)
    return trace


def symbolic(plan):
    """Is the plan possible at some size?"""
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.from_string(Vocabulary().script([item.formula for item in symbolic_run(RING, plan).hypotheses]))
    return str(solver.check())


def steps(trace):
    return [step.transition for step in trace.steps]


@pytest.mark.parametrize("size", [1, 2])
def test_a_plan_names_the_transitions(size):
    trace = finite(Plan(True, (Move((Option(PASS),)), Move((Option(DROP),)))), size)
    assert steps(trace) == ["pass", "drop"]
    assert symbolic(Plan(True, (Move((Option(PASS),)), Move((Option(DROP),))))) == "sat"


def test_a_plan_that_no_run_follows():
    plan = Plan(True, (Move((Option(DROP),)), Move((Option(PASS), Option(DROP)))))
    assert finite(plan, 1) is None and finite(plan, 2) is None
    assert symbolic(plan) == "unsat"


def test_required_formulas_speak_of_their_state():
    plan = Plan(True, (any_move(RING), any_move(RING)), ((0, AT_END), (1, AT_END), (2, Not(AT_END))))
    assert steps(finite(plan, 2)) == ["pass", "drop"]
    impossible = Plan(True, (any_move(RING), any_move(RING)), ((1, Not(AT_END)), (2, AT_END)))
    assert finite(impossible, 2) is None
    assert symbolic(impossible) == "unsat"


def test_stuttering_leaves_the_state_alone_and_is_no_step():
    idle = Move(any_move(RING).options, stutter=True)
    trace = finite(Plan(True, (idle, idle, idle), ((3, LOST()),)), 1)
    assert steps(trace)[-1] == "drop" and len(trace.states) == len(trace.steps) + 1 <= 4
    stuck = Plan(True, (Move((), stutter=True),) * 2, ((2, LOST()),))
    assert finite(stuck, 1) is None and symbolic(stuck) == "unsat"
    assert steps(finite(Plan(True, (Move((), stutter=True),) * 2), 1)) == []


def test_no_transition_at_all_is_no_step():
    plan = Plan(True, (Move(()),))
    assert finite(plan, 1) is None and symbolic(plan) == "unsat"


def test_arguments_fix_parameters():
    here = Symbol("here", (), NODE)
    model = pyv("""
        sort node
        immutable constant here: node
        mutable relation marked(node)
        init !marked(N)
        transition mark(n: node)
          modifies marked
          & (marked'(N) <-> marked(N) | N = n)
        safety !marked(here)
        """)
    marked = next(symbol for symbol in model.symbols if symbol.name == "marked")
    mark = model.transitions[0]
    for wanted, possible in ((Not(marked(here())), False), (marked(here()), True)):
        run = FiniteRun(model, {NODE: 2}, initial=True)
        run.move(Move((Option(mark, (here(),)),)))
        assert run.solve([run.holds(wanted)]) is possible
        plan = Plan(True, (Move((Option(mark, (here(),)),)),), ((1, wanted),))
        solver = z3.Solver()
        solver.from_string(Vocabulary().script([item.formula for item in symbolic_run(model, plan).hypotheses]))
        assert str(solver.check()) == ("sat" if possible else "unsat")
    free = FiniteRun(model, {NODE: 2}, initial=True)
    free.move(Move((Option(mark, (None,)),)))
    assert free.solve([free.holds(Not(marked(here())))])


def test_without_initial_any_state_that_satisfies_the_background_starts_a_run():
    both = Forall((N,), TOKEN(N))
    assert finite(Plan(True, (), ((0, both),)), 2) is None
    trace = finite(Plan(False, (any_move(RING),), ((0, both),)), 2)
    assert trace.kind == "cti" and trace.states[0].holds(both)
    odd = Not(Forall((N,), equal(NEXT(NEXT(N)), N)))
    assert finite(Plan(False, (), ((0, odd),)), 2) is None and symbolic(Plan(False, (), ((0, odd),))) == "unsat"


def test_derived_symbols_follow_in_every_state():
    wrong = Not(equal(NONE(), Forall((N,), Not(TOKEN(N)))))
    for state in range(3):
        plan = Plan(True, (any_move(RING),) * 2, ((state, wrong),))
        assert finite(plan, 2) is None and symbolic(plan) == "unsat"
    assert finite(Plan(True, (any_move(RING),) * 2, ((2, NONE()),)), 2).states[-1].tables[NONE] == {(): True}


def test_a_symbolic_run_is_read_back_as_a_trace():
    plan = Plan(True, (any_move(RING), any_move(RING)), ((2, LOST()), (1, neg(LOST()))))
    run = symbolic_run(RING, plan)
    assert [len(row) for row in run.selectors] == [2, 2]
    structure = finite(plan, 2).states[0]
    tables = {symbol: structure.tables[symbol] for symbol in RING.symbols}
    for number, row in enumerate(run.selectors):
        for transition, selector in row:
            tables[selector] = {(): transition.name == ("pass", "drop")[number]}
    for symbol in run.symbols:
        if symbol.name.startswith("@") and symbol.sort is NODE:
            held = next(i for (i,), value in structure.tables[TOKEN].items() if value)
            tables[symbol] = {(): held if ".pass." in symbol.name else structure.tables[NEXT][held,]}
    trace = run.trace(RING, Structure({NODE: 2}, tables), "run", None)
    assert steps(trace) == ["pass", "drop"] and trace.states[-1].holds(LOST())
    replay(RING, trace)


def test_selectors_are_named_by_step_and_option():
    twice = Move((Option(PASS), Option(PASS, (None,))))
    run = symbolic_run(RING, Plan(True, (twice,)))
    assert len({selector for row in run.selectors for _, selector in row}) == 2
    assert TRUE not in [item.formula for item in run.hypotheses]
