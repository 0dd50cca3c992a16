import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import parse
from quorate.logic.terms import BOOL, Sort
from quorate.methods.induction import counterexamples
from quorate.methods.induction.counterexamples import size_vectors, smallest
from quorate.methods.induction.obligations import Obligation
from quorate.models.semantics import check_background, check_step
from quorate.models.source import Source
from quorate.proof.traces import replay

LIMITS = Limits(timeout=20.0, jobs=1)


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def search(model, claim, transition=None, largest=6, assumed=None, budget=20.0):
    """The smallest counterexample of an obligation given by names; it replays."""
    item = next(item for item in model.properties if item.name == claim)
    obligation = Obligation(item, model.transition(transition) if transition else None)
    trace = smallest(model, obligation, model.properties if assumed is None else assumed, largest, LIMITS, budget)
    if trace is not None:
        replay(model, trace)
    return trace


def sizes(trace):
    return {sort.name: size for sort, size in trace.states[0].sizes.items()}


def facts(trace):
    """The true facts of the first state, mutable ones only, as text."""
    tables = trace.states[0].tables
    return {
        f"{symbol.name}{args if args else ''}"
        for symbol, table in tables.items()
        if symbol.mutable and symbol.sort is BOOL
        for args, value in table.items()
        if value
    }


LOCK = pyv("""
sort node
mutable relation free
mutable relation holds(node)
mutable relation seen(node)
init free
init !holds(N)
transition take(n: node)
  modifies free, holds
  & free
  & !free'
  & (holds'(N) <-> holds(N) | N = n)
transition drop(n: node)
  modifies free, holds
  & holds(n)
  & free'
  & (holds'(N) <-> holds(N) & N != n)
safety [mutex] holds(N) & holds(M) -> N = M
invariant [never_free] !free
""")


def test_the_smallest_has_fewest_elements_and_then_fewest_facts():
    trace = search(LOCK, "mutex", "take", assumed=LOCK.safety)
    assert trace.kind == "cti" and trace.violated == "mutex"
    assert sizes(trace) == {"node": 2}
    held = {fact for fact in facts(trace) if fact.startswith("holds")}
    assert len(held) == 1 and facts(trace) == {"free", *held}
    assert trace.steps[0].transition == "take"
    assert check_background(LOCK, trace.states[0]) is None
    assert check_step(LOCK, trace.states[0], trace.steps[0], trace.states[1]) is None


def test_what_is_assumed_holds_before_the_step():
    assert search(LOCK, "mutex", "take") is None, "never_free disables the step"
    trace = search(LOCK, "never_free", "drop")
    assert sizes(trace) == {"node": 1} and facts(trace) == {"holds(0,)"}


def test_initial_states_are_runs():
    trace = search(LOCK, "never_free")
    assert (trace.kind, trace.steps, sizes(trace)) == ("run", (), {"node": 1})
    assert facts(trace) == {"free"}


def test_none_where_there_is_none():
    assert search(LOCK, "mutex", "drop") is None
    assert search(LOCK, "mutex", "take", largest=1, assumed=()) is None, "it takes two nodes"


QUORUMS = pyv("""
sort node
sort quorum
immutable relation member(node, quorum)
mutable relation voted(node)
mutable relation decided
mutable constant leader: node
derived relation full(quorum): full(Q) <-> forall N. member(N, Q) -> voted(N)
axiom [meet] forall Q, R. exists N. member(N, Q) & member(N, R)
init !voted(N) & !decided
transition decide(q: quorum)
  modifies decided, leader
  & full(q)
  & decided'
  & voted(leader')
transition vote(n: node)
  modifies voted
  & (voted'(N) <-> voted(N) | N = n)
safety [some_left] exists N. !voted(N)
invariant [leader_votes] decided -> !voted(leader)
""")


def test_sorts_grow_independently_and_derived_and_chosen_values_are_right():
    trace = search(QUORUMS, "leader_votes", "decide")
    assert sizes(trace) == {"node": 2, "quorum": 1}
    assert {fact for fact in facts(trace) if not fact.startswith("full")} in ({"voted(0,)"}, {"voted(1,)"})
    assert "leader'" in trace.steps[0].choices


def test_one_element_of_each_sort_is_the_least():
    trace = search(QUORUMS, "some_left", "vote")
    assert sizes(trace) == {"node": 1, "quorum": 1}
    assert {fact for fact in facts(trace) if not fact.startswith("full")} == set()


def test_facts_are_pushed_down_to_zero():
    model = pyv("""
        sort node
        mutable relation p(node)
        mutable relation q(node)
        init q(N)
        transition t(n: node)
          modifies p
          & (p'(N) <-> p(N) | N = n)
        safety [s] !p(N)
        """)
    trace = search(model, "s", "t")
    assert sizes(trace) == {"node": 1} and facts(trace) == set()


@pytest.mark.parametrize("seed", range(4))
def test_facts_are_pushed_down_to_the_least_number(seed):
    """Two nodes and either all four q or just the two p."""
    model = pyv("""
        sort node
        mutable relation q(node, node)
        mutable relation p(node)
        mutable relation bad
        init !bad
        transition t()
          modifies bad
          & (exists A, B. A != B & (p(A) | q(A, B)))
          & bad'
        safety [s] !bad
        invariant [either] q(N, M) | p(N)
        """)
    obligation = Obligation(model.safety[0], model.transitions[0])
    trace = smallest(model, obligation, model.properties, 4, Limits(timeout=20.0, seed=seed), 20.0)
    assert sizes(trace) == {"node": 2} and facts(trace) == {"p(0,)", "p(1,)"}


def test_many_facts_that_are_all_needed_stay():
    model = pyv("""
        sort node
        mutable relation p(node)
        mutable relation q(node)
        mutable relation bad
        init !bad
        transition t()
          modifies bad
          & (forall N. p(N) & q(N))
          & (exists A:node, B:node, C:node. A != B & B != C & A != C)
          & bad'
        safety [s] !bad
        """)
    trace = search(model, "s", "t")
    assert sizes(trace) == {"node": 3} and len(facts(trace)) == 6


def test_enumerated_sorts_have_their_own_size():
    model = parse(
        Source(
            "sample.ivy",
            "#lang ivy1.7\ntype node\ntype phase = {idle, busy, done}\nfunction at(N:node) : phase\n"
            "after init { at(N) := idle }\n"
            "action work(n:node) = { require at(n) = busy; at(n) := done }\nexport work\n"
            "invariant [s] at(N) ~= done\n",
        )
    ).model
    trace = search(model, "s", "work")
    [at] = [symbol for symbol in model.symbols if symbol.name == "at"]
    assert trace.states[0].tables[at] == {(0,): 1} and trace.states[1].tables[at] == {(0,): 2}
    assert list(trace.states[0].sizes.values()) == [1]


def test_integers_are_given_up():
    model = pyv("mutable constant x: int\ninit x = 0\ntransition t()\n modifies x\n & x' = x + 1\nsafety [s] x <= 1\n")
    assert search(model, "s", "t") is None


def test_no_time_no_counterexample():
    assert search(LOCK, "mutex", "take", assumed=(), budget=0.0) is None


def test_no_elements_at_all():
    model = pyv(
        "mutable relation p\nmutable relation q\ninit !p\ntransition t()\n modifies p\n & (p' <-> q)\nsafety [s] !p\n"
    )
    trace = search(model, "s", "t", largest=0)
    assert sizes(trace) == {} and facts(trace) == {"q"}


def test_running_out_of_time_while_counting_keeps_what_was_found(monkeypatch):
    asked = []

    def once(self, assumptions=(), timeout=None):
        asked.append(assumptions)
        return self.solver.solve(assumptions, timeout) if len(asked) == 1 else None

    monkeypatch.setattr(counterexamples, "guarded", lambda function, *args, **_: function(*args))
    monkeypatch.setattr(counterexamples.FiniteRun, "solve", once)
    trace = search(LOCK, "never_free", "drop")
    assert sizes(trace) == {"node": 1} and {"holds(0,)"} <= facts(trace)
    assert len(asked) == 2


# -- sizes -----------------------------------------------------------------------------------------------------------

A, B = Sort("a"), Sort("b")


def test_sizes_come_by_their_sum_balanced_ones_first():
    found = [tuple(vector.values()) for vector in size_vectors([A, B], 5)]
    assert found == [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (2, 3), (3, 2), (1, 4), (4, 1)]


@pytest.mark.parametrize("largest, expected", [(0, []), (1, [1]), (3, [1, 2, 3])])
def test_sizes_of_one_sort(largest, expected):
    assert [vector[A] for vector in size_vectors([A], largest)] == expected


def test_without_sorts_there_is_one_size():
    assert list(size_vectors([], 0)) == [{}] and list(size_vectors([], 7)) == [{}]


def test_every_vector_within_the_limit_comes_once():
    found = [tuple(vector.values()) for vector in size_vectors([A, B, Sort("c")], 7)]
    assert len(set(found)) == len(found) == 35
    assert all(min(vector) >= 1 and sum(vector) <= 7 for vector in found)
    assert [sum(vector) for vector in found] == sorted(sum(vector) for vector in found)
