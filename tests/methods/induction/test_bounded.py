from itertools import product

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import parse
from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.methods.induction import bounded
from quorate.methods.induction.bounded import (
    check,
    check_traces,
    find_run,
    finite_search,
    plan_of,
    uniform_sizes,
)
from quorate.models.relational import TraceQuery, TraceStep
from quorate.models.semantics import Step, check_initial, successor, with_derived
from quorate.models.source import Source
from quorate.proof.traces import replay

LIMITS = Limits(timeout=20.0, jobs=1)


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def ivy(text):
    return parse(Source("sample.ivy", f"#lang ivy1.7\n{text}")).model


# -- a plain breadth-first search ------------------------------------------------------------------------------------


def all_tables(symbol, sizes):
    places = list(argument_tuples(symbol.arguments, sizes))
    for row in product(domain(symbol.sort, sizes), repeat=len(places)):
        yield dict(zip(places, row, strict=True))


def initial_states(model, sizes):
    own = [symbol for symbol in model.symbols if symbol not in model.derived_symbols]
    for tables in product(*(list(all_tables(symbol, sizes)) for symbol in own)):
        state = with_derived(model, Structure(sizes, dict(zip(own, tables, strict=True))))
        if check_initial(model, state) is None:
            yield state


def next_states(model, state):
    for transition in model.transitions:
        for row in argument_tuples([parameter.sort for parameter in transition.parameters], state.sizes):
            values = {parameter.name: value for parameter, value in zip(transition.parameters, row, strict=True)}
            for tables in product(*(all_tables(choice, state.sizes) for choice in transition.choices)):
                chosen = {choice.name: table for choice, table in zip(transition.choices, tables, strict=True)}
                after = successor(model, state, Step(transition.name, values, chosen))
                if isinstance(after, Structure):
                    yield after


def key(state):
    return tuple((symbol.name, tuple(sorted(table.items()))) for symbol, table in state.tables.items())


def shortest_violation(model, sizes, depth):
    """The least number of steps after which some safety property is violated, if at most `depth`."""
    frontier = {key(state): state for state in initial_states(model, sizes)}
    seen = dict(frontier)
    for level in range(depth + 1):
        for state in frontier.values():
            if not all(state.holds(item.formula) for item in model.safety):
                return level
        found = {key(after): after for state in frontier.values() for after in next_states(model, state)}
        frontier = {name: state for name, state in found.items() if name not in seen}
        seen.update(frontier)
    return None


# -- small protocols -------------------------------------------------------------------------------------------------

LOCK = """
sort node
mutable relation free
mutable relation holds(node)
init free
init !holds(N)
transition take(n: node)
  modifies free, holds
  {guard}
  & !free'
  & (holds'(N) <-> holds(N) | N = n)
transition drop(n: node)
  modifies free, holds
  & holds(n)
  & free'
  & (holds'(N) <-> holds(N) & N != n)
safety [mutex] holds(N) & holds(M) -> N = M
"""

PROTOCOLS = {
    "a lock": pyv(LOCK.format(guard="& free")),
    "a lock that asks nobody": pyv(LOCK.format(guard="")),
    "false from the start": pyv(LOCK.format(guard="& free") + "safety [taken] exists N. holds(N)\n"),
    "a token around a ring": pyv("""
        sort node
        immutable function next(node): node
        immutable constant start: node
        mutable relation token(node)
        mutable function visits(node): node
        init token(N) <-> N = start
        init visits(N) = start
        transition pass(n: node)
          modifies token, visits
          & token(n)
          & (token'(N) <-> (token(N) & N != n) | N = next(n))
          & visits'(N) = (if N = n then next(n) else visits(N))
        safety [settled] token(N) -> visits(next(N)) = start | N = start
        """),
    "choices and derived relations": pyv("""
        sort node
        mutable relation voted(node)
        mutable constant leader: node
        derived relation all_voted: all_voted <-> forall N. voted(N)
        mutable relation done
        init !voted(N)
        init !done
        transition vote(n: node)
          modifies voted
          & !voted(n)
          & (voted'(N) <-> voted(N) | N = n)
        transition elect()
          modifies leader
          & (exists N. voted(N))
          & voted(leader')
        transition finish()
          modifies done
          & all_voted
          & done'
        safety [never] !(done & all_voted & leader = leader)
        """),
    "nothing ever moves": pyv("sort node\nmutable relation p(node)\ninit !p(N)\nsafety [still] !p(N)\n"),
    "no initial state": pyv("""
        sort node
        mutable relation p(node)
        init p(N)
        init exists N. !p(N)
        transition t()
          modifies p
          & !p'(N)
        safety [all] p(N)
        """),
    "an order to climb": pyv("""
        sort level
        immutable relation le(level, level)
        immutable constant bottom: level
        mutable constant at: level
        axiom le(X, X)
        axiom le(X, Y) & le(Y, X) -> X = Y
        axiom le(X, Y) & le(Y, Z) -> le(X, Z)
        axiom le(X, Y) | le(Y, X)
        axiom le(bottom, X)
        init at = bottom
        transition climb(l: level)
          modifies at
          & le(at, l) & l != at
          & at' = l
        safety [not_at_top] exists X. !le(X, at)
        """),
    "phases": ivy("""
        type node
        type phase = {idle, busy, done}
        function at(N:node) : phase
        after init { at(N) := idle }
        action start(n:node) = { require at(n) = idle; at(n) := busy }
        action finish(n:node) = { require at(n) = busy; at(n) := done }
        export start
        export finish
        invariant [not_all_done] exists N. at(N) ~= done
        """),
}


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_finite_search_agrees_with_breadth_first_search(name, size):
    model = PROTOCOLS[name]
    sizes = uniform_sizes(model, size)
    shortest = shortest_violation(model, sizes, 4)
    for depth in range(5):
        found = finite_search(model, model.safety, sizes, depth, LIMITS, 20.0)
        if shortest is None or shortest > depth:
            assert (found.trace, found.depth) == (None, depth)
        else:
            assert (len(found.trace.steps), found.depth) == (shortest, shortest)
            assert found.trace.kind == "run"
            replay(model, found.trace)


def test_the_small_protocols_have_violations_of_all_kinds():
    """So that the comparison above compares something."""
    found = {name: [shortest_violation(m, uniform_sizes(m, n), 4) for n in (1, 2)] for name, m in PROTOCOLS.items()}
    assert found == {
        "a lock": [None, None],
        "a lock that asks nobody": [None, 2],
        "false from the start": [0, 0],
        "a token around a ring": [None, 1],
        "choices and derived relations": [2, 3],
        "nothing ever moves": [None, None],
        "no initial state": [None, None],
        "an order to climb": [0, 1],
        "phases": [2, 4],
    }


def test_sizes_may_differ_between_sorts():
    model = pyv("""
        sort left
        sort right
        mutable relation used(left, right)
        init !used(L, R)
        transition use(l: left, r: right)
          modifies used
          & !used(l, r)
          & (used'(L, R) <-> used(L, R) | (L = l & R = r))
        safety [not_all] exists L, R. !used(L, R)
        """)
    left, right = model.sorts
    for nodes, others in ((1, 2), (2, 1), (2, 2), (3, 1)):
        found = finite_search(model, model.safety, {left: nodes, right: others}, 5, LIMITS, 20.0)
        assert len(found.trace.steps) == nodes * others


def test_integers_are_not_searched():
    model = pyv("mutable constant x: int\ninit x = 0\ntransition t()\n modifies x\n & x' = x + 1\nsafety [s] x <= 1\n")
    assert finite_search(model, model.safety, {}, 3, LIMITS, 20.0) is None


def test_a_search_that_runs_out_of_time_says_how_far_it_got(monkeypatch):
    monkeypatch.setattr(bounded.FiniteRun, "solve", lambda self, *_: None if len(self.states) > 2 else False)
    model = PROTOCOLS["a lock"]
    found = finite_search(model, model.safety, uniform_sizes(model, 2), 8, LIMITS, 20.0)
    assert (found.trace, found.depth) == (None, 1)
    [result] = check(model, 8, LIMITS, uniform_sizes(model, 2))
    assert result.reason == "no violation within 1 step; the time limit stopped the search there"


# -- check -----------------------------------------------------------------------------------------------------------


def verdicts(results):
    return {result.property: result.verdict for result in results}


def test_checking_at_given_sizes():
    model = PROTOCOLS["a lock that asks nobody"]
    [result] = check(model, 4, LIMITS, uniform_sizes(model, 2))
    assert (result.verdict, result.scope, result.reason) == ("violated", "node=2", "violated after 2 steps")
    assert (len(result.evidence.steps), result.evidence.violated) == (2, "mutex")
    [result] = check(model, 4, LIMITS, uniform_sizes(model, 1))
    assert (result.verdict, result.reason) == ("unknown", "no violation within 4 steps")
    assert result.kind == "safety" and result.method == "bounded model checking"


def test_checking_at_all_sizes_finds_the_shortest_violation():
    """With one or two nodes it takes two steps, with three one is enough."""
    model = pyv("""
        sort node
        mutable relation p(node)
        mutable relation two
        init !p(N) & !two
        transition mark(n: node)
          modifies p, two
          & (p'(N) <-> p(N) | N = n)
          & (two' <-> exists N, M. N != M & M != n & N != n)
        transition jump()
          modifies two
          & (exists N. p(N))
          & two'
        safety [none] !two
        """)
    [result] = check(model, 4, LIMITS)
    assert (result.verdict, result.scope, result.reason) == ("violated", "all sizes", "violated after 1 step")
    assert list(result.evidence.states[0].sizes.values()) == [3]


def test_checking_at_all_sizes_reaches_sizes_that_no_finite_search_tried(monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST_UNIFORM_SIZE", 1)
    model = PROTOCOLS["a lock that asks nobody"]
    [result] = check(model, 3, LIMITS)
    assert (result.verdict, result.reason) == ("violated", "violated after 2 steps")
    assert result.evidence.violated == "mutex"
    replay(model, result.evidence)


def test_that_there_is_no_violation_is_established_for_all_sizes():
    [result] = check(PROTOCOLS["a lock"], 2, LIMITS)
    assert (result.verdict, result.reason) == ("unknown", "no violation within 2 steps, for all sizes")


def test_no_transitions_means_no_steps():
    [result] = check(PROTOCOLS["nothing ever moves"], 3, LIMITS)
    assert (result.verdict, result.reason) == ("unknown", "no violation within 3 steps, for all sizes")


def test_every_property_gets_its_own_answer():
    model = pyv(LOCK.format(guard="") + "safety [has_free] free\nsafety [fine] free | !free\nsafety [no] !free\n")
    results = check(model, 3, LIMITS)
    assert [(r.property, r.verdict, r.evidence and len(r.evidence.steps)) for r in results] == [
        ("mutex", "violated", 2),
        ("has_free", "violated", 1),
        ("fine", "unknown", None),
        ("no", "violated", 0),
    ]


def test_what_cannot_be_decided_names_how_far_it_got():
    model = pyv("""
        sort node
        immutable relation lt(node, node)
        axiom !lt(X, X)
        axiom lt(X, Y) & lt(Y, Z) -> lt(X, Z)
        axiom forall X. exists Y. lt(X, Y)
        mutable relation p
        init !p
        transition t()
          modifies p
          & p'
        safety [never] !p
        """)
    [result] = check(model, 2, Limits(timeout=0.5, jobs=1))
    assert result.verdict == "unknown"
    assert result.reason.startswith("no violation within 0 steps for all sizes; no answer for runs of 1 step: ")


# -- trace queries ---------------------------------------------------------------------------------------------------


def traces(*queries, guard="& free", sizes=None, limits=LIMITS):
    """Verdict, reason and evidence of trace queries about the lock."""
    model = pyv(LOCK.format(guard=guard) + "\n".join(queries))
    results = check_traces(model, limits, sizes and {model.sorts[0]: sizes})
    for result in results:
        assert result.kind == "trace"
        if result.evidence:
            replay(model, result.evidence)
    return [(result.verdict, result.reason, result.evidence and len(result.evidence.steps)) for result in results]


RIGHT_SAT = ("proved", "declared sat, and it is")
RIGHT_UNSAT = ("proved", "declared unsat, and it is", None)
WRONG_SAT = ("violated", "declared sat, but it is unsat", None)
WRONG_UNSAT = ("violated", "declared unsat, but it is sat")


def test_runs_of_the_declared_shape():
    assert traces(
        "sat trace { take drop take }",
        "unsat trace { take drop take }",
        "sat trace { take take }",
        "unsat trace { take take }",
        "unsat trace { drop }",
    ) == [(*RIGHT_SAT, 3), (*WRONG_UNSAT, 3), WRONG_SAT, RIGHT_UNSAT, RIGHT_UNSAT]


def test_runs_of_the_declared_shape_at_given_sizes():
    two = "assert exists N, M. N != M & holds(N) & holds(M)"
    queries = [f"sat trace {{ take take {two} }}", f"unsat trace {{ take take {two} }}"]
    assert traces(*queries, guard="", sizes=1) == [WRONG_SAT, RIGHT_UNSAT]
    assert traces(*queries, guard="", sizes=2) == [(*RIGHT_SAT, 2), (*WRONG_UNSAT, 2)]
    assert traces(*queries, guard="") == [(*RIGHT_SAT, 2), (*WRONG_UNSAT, 2)]


def test_assertions_hold_where_they_stand():
    assert traces(
        "sat trace { take assert exists N. holds(N) drop assert forall N. !holds(N) }",
        "sat trace { take assert free }",
        "unsat trace { assert init take assert free }",
        "sat trace { assert init assert exists N. holds(N) }",
    ) == [(*RIGHT_SAT, 2), WRONG_SAT, RIGHT_UNSAT, WRONG_SAT]


def test_any_transition_may_be_no_transition():
    assert traces(
        "sat trace { any transition any transition assert exists N. holds(N) }",
        "unsat trace { any transition assert exists N, M. N != M & holds(N) & holds(M) }",
        "sat trace { any transition assert forall N. !holds(N) assert free }",
    ) == [(*RIGHT_SAT, 1), RIGHT_UNSAT, (*RIGHT_SAT, 0)]


def test_a_choice_of_calls_with_arguments():
    model = pyv(
        "sort node\nimmutable constant a: node\nimmutable constant b: node\nmutable relation p(node)\ninit !p(N)\n"
        "transition add(n: node)\n modifies p\n & (p'(N) <-> p(N) | N = n)\n"
        "transition remove(n: node)\n modifies p\n & p(n) & (p'(N) <-> p(N) & N != n)\n"
        "unsat trace { add(a) | add(b) assert !p(a) & !p(b) }\n"
        "sat trace { add(a) remove(b) assert !p(a) }\n"
        "unsat trace { add(a) remove(b) assert a != b }\n"
        "sat trace { add(*) remove(b) | add(b) assert p(b) & a != b }\n"
    )
    assert verdicts(check_traces(model, LIMITS)) == dict.fromkeys(
        ["trace_1", "trace_2", "trace_3", "trace_4"], "proved"
    )


def test_a_query_that_begins_with_an_assertion_starts_anywhere():
    assert traces(
        "sat trace { assert exists N. holds(N) drop }",
        "unsat trace { assert exists N. holds(N) drop }",
        "unsat trace { assert !free take }",
    ) == [(*RIGHT_SAT, 1), (*WRONG_UNSAT, 1), RIGHT_UNSAT]
    model = pyv(LOCK.format(guard="& free") + "sat trace { assert exists N. holds(N) drop }")
    [result] = check_traces(model, LIMITS)
    assert result.evidence.kind == "cti", "nobody says that its first state can be reached"


def test_asserting_init_counts_wherever_it_stands():
    assert traces("unsat trace { assert exists N. holds(N) assert init }") == [RIGHT_UNSAT]
    model = PROTOCOLS["a lock"]
    step = {name: TraceStep(calls=((name, (None,)),)) for name in ("take", "drop")}
    back = TraceQuery("back", True, (step["take"], step["drop"], TraceStep(initial=True)))
    stuck = TraceQuery("stuck", False, (step["take"], TraceStep(initial=True)))
    assert find_run(model, plan_of(model, back), LIMITS)[0] == "sat"
    assert find_run(model, plan_of(model, stuck), LIMITS)[0] == "unsat"


def test_a_search_that_does_not_finish_is_unknown_never_unsat(monkeypatch):
    monkeypatch.setattr(bounded.FiniteRun, "solve", lambda self, *_: None)
    unknown = ("unknown", "the search did not finish within its limits", None)
    assert traces("sat trace { take }", "unsat trace { take take }", sizes=2) == [unknown, unknown]


def test_plans_of_queries():
    model = pyv(
        LOCK.format(guard="& free")
        + "sat trace { take any transition assert free }\nsat trace { assert free take }\nsat trace { assert init drop }"
    )
    first, second, third = (plan_of(model, query) for query in model.traces)
    assert (first.initial, second.initial, third.initial) == (True, False, True)
    assert [move.stutter for move in first.moves] == [False, True]
    assert [at for at, _ in first.required] == [2] and [at for at, _ in second.required] == [0]
    assert [option.transition.name for option in third.moves[0].options] == ["drop"]


def test_find_run_without_a_finite_run_asks_the_solvers(monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST_UNIFORM_SIZE", 0)
    model = pyv(LOCK.format(guard="") + "sat trace { take take assert exists N, M. N != M & holds(N) & holds(M) }")
    status, trace, _ = find_run(model, plan_of(model, model.traces[0]), LIMITS)
    assert status == "sat" and len(trace.steps) == 2
    replay(model, trace)
