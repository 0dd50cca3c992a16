import pytest
from hypothesis import given, settings

from quorate.engines.smt.session import Answer, Limits
from quorate.lang import parse
from quorate.methods.induction import induct as module
from quorate.methods.induction.bounded import finite_search, uniform_sizes
from quorate.methods.induction.induct import Search, all_obligations, certificate, induct
from quorate.models.relational import Named
from quorate.models.source import Source
from quorate.proof.traces import replay
from strategies import formulas, models

LIMITS = Limits(timeout=20.0, jobs=1)
SEARCH = Search(depth=6, seconds=10.0)


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def results(text, limits=LIMITS, search=SEARCH):
    """Results by property; evidence replays and shows what it claims."""
    model = pyv(text)
    found = {}
    for result in induct(model, limits, search).results:
        assert (result.method, result.scope) == ("induction", "all sizes")
        if result.evidence is not None:
            replay(model, result.evidence)
            assert result.evidence.violated == result.property
            assert (result.verdict, result.evidence.kind) in {("violated", "run"), ("not-inductive", "cti")}
        found[result.property] = result
    return found


def verdicts(text, **options):
    return {name: result.verdict for name, result in results(text, **options).items()}


def facts(trace, state=0):
    """The true mutable facts of a state, as text."""
    return {
        f"{symbol.name}{args if args else ''}"
        for symbol, table in trace.states[state].tables.items()
        if symbol.mutable and symbol.is_relation
        for args, value in table.items()
        if value
    }


def sizes(trace):
    return {sort.name: size for sort, size in trace.states[0].sizes.items()}


LOCK = """
sort node
mutable relation free
mutable relation holds(node)
init [start_free] free
init [start_none] !holds(N)
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
"""
LEMMA = "invariant [free_means_none] free -> !holds(N)\n"


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_an_inductive_invariant_proves_the_property():
    found = results(LOCK + LEMMA)
    assert {name: (result.kind, result.verdict, result.reason) for name, result in found.items()} == {
        "mutex": ("safety", "proved", ""),
        "free_means_none": ("invariant", "proved", ""),
    }
    assert found["mutex"].span.line == 17


def test_a_property_that_is_true_but_not_inductive_gets_its_smallest_counterexample():
    result = results(LOCK)["mutex"]
    assert (result.verdict, result.reason) == ("not-inductive", "not preserved by take")
    trace = result.evidence
    assert sizes(trace) == {"node": 2} and len(facts(trace)) == 2 and "free" in facts(trace)
    assert trace.steps[0].transition == "take" and len(facts(trace, 1)) == 2


def test_a_property_that_fails_gets_a_shortest_run():
    result = results(LOCK.replace("& free\n", ""))["mutex"]
    assert (result.verdict, result.reason) == ("violated", "violated after 2 steps")
    assert [step.transition for step in result.evidence.steps] == ["take", "take"]
    assert sizes(result.evidence) == {"node": 2}


def test_a_property_that_is_false_initially():
    result = results(LOCK + "safety [held] exists N. holds(N)\n")["held"]
    assert (result.verdict, result.reason) == ("violated", "an initial state violates it")
    assert result.evidence.steps == () and sizes(result.evidence) == {"node": 1}
    lemma = results(LOCK + LEMMA + "invariant [not_free] !free\n")
    assert {name: item.verdict for name, item in lemma.items()} == {
        "mutex": "proved",
        "free_means_none": "proved",
        "not_free": "violated",
    }
    assert lemma["not_free"].reason == "an initial state violates it"


def test_a_lemma_that_fails_does_not_spoil_the_proof():
    bad = "invariant [nobody] !holds(N)\ninvariant [odd] free | exists N. holds(N) & (forall M. M = N)\n"
    found = results(LOCK + bad + LEMMA)
    assert {name: result.verdict for name, result in found.items()} == {
        "mutex": "proved",
        "nobody": "violated",
        "odd": "violated",
        "free_means_none": "proved",
    }
    assert [len(found[name].evidence.steps) for name in ("nobody", "odd")] == [1, 1]


def test_every_transition_that_breaks_a_property_is_named():
    found = results("""
        mutable relation a
        mutable relation b
        mutable relation c
        init !a & !b & !c
        transition one()
          modifies a
          & b & a'
        transition two()
          modifies a
          & !c & a' = a
        transition three()
          modifies a
          & c & a'
        safety [never] !a
        """)
    assert (found["never"].verdict, found["never"].reason) == ("not-inductive", "not preserved by one, three")
    assert facts(found["never"].evidence) == {"b"}


CHAIN = """
mutable relation a
mutable relation b
mutable relation c
mutable relation d
init !a & !b & !c & !d
transition set_a()
  modifies a
  & {what} & a'
transition set_b()
  modifies b
  & c & b'
transition set_c()
  modifies c
  & d & c'
safety [never_a] !a
"""


def test_what_leans_on_something_unproved_is_unknown_and_says_on_what():
    found = results(CHAIN.format(what="b") + "invariant [never_b] !b\n")
    assert (found["never_b"].verdict, found["never_b"].reason) == ("not-inductive", "not preserved by set_b")
    assert (found["never_a"].verdict, found["never_a"].reason) == (
        "unknown",
        "preserved only with the help of never_b, which is not proved",
    )
    assert found["never_a"].evidence is None


def test_leaning_goes_through_several_properties():
    found = results(CHAIN.format(what="b") + "invariant [never_b] !b\ninvariant [never_c] !c\n")
    assert {name: (result.verdict, result.reason) for name, result in found.items()} == {
        "never_a": ("unknown", "preserved only with the help of never_b, which is not proved"),
        "never_b": ("unknown", "preserved only with the help of never_c, which is not proved"),
        "never_c": ("not-inductive", "not preserved by set_c"),
    }
    complete = CHAIN.format(what="b") + "invariant [never_b] !b\ninvariant [never_c] !c\ninvariant [never_d] !d\n"
    assert set(verdicts(complete).values()) == {"proved"}


def test_leaning_on_several_names_them_all():
    found = results(CHAIN.format(what="(b | c)") + "invariant [never_b] !b\ninvariant [never_c] !c\n")
    assert found["never_a"].reason == "preserved only with the help of never_b, never_c, which are not proved"


def test_what_leans_on_something_violated_is_not_proved():
    text = CHAIN.format(what="b").replace("& !d", "") + "invariant [never_b] !b\n"
    found = results(text)
    assert {name: result.verdict for name, result in found.items()} == {"never_a": "violated", "never_b": "violated"}
    assert [len(found[name].evidence.steps) for name in ("never_a", "never_b")] == [3, 2]


def test_mutual_support_is_no_circle():
    """Each holds after a step because the other held before: that is induction over both."""
    text = """
        mutable relation a
        mutable relation b
        init !a & !b
        transition left()
          modifies a
          & (a' <-> b)
        transition right()
          modifies b
          & (b' <-> a)
        safety [no_a] !a
        """
    assert verdicts(text + "invariant [no_b] !b\n") == {"no_a": "proved", "no_b": "proved"}
    assert verdicts(text) == {"no_a": "not-inductive"}
    assert verdicts((text + "invariant [no_b] !b\n").replace("& !b\n", "\n")) == {
        "no_a": "violated",
        "no_b": "violated",
    }


def test_a_sort_that_nothing_uses_does_no_harm():
    unused = "sort unused\n" + LOCK
    assert verdicts(unused) == {"mutex": "not-inductive"}
    assert verdicts(unused + LEMMA) == {"mutex": "proved", "free_means_none": "proved"}
    # Also when the counterexample is the solver's own, because the search for a smaller one had no time.
    assert verdicts(unused, search=Search(depth=1, seconds=0.0)) == {"mutex": "not-inductive"}


def test_no_transitions_and_no_properties():
    assert verdicts("sort node\nmutable relation p(node)\ninit !p(N)\nsafety [s] !p(N)\n") == {"s": "proved"}
    assert verdicts("sort node\nmutable relation p(node)\ninit !p(N)\n") == {}


def test_contradictory_axioms_prove_everything():
    """As they should: there is no run at all."""
    assert verdicts("axiom false\nmutable relation p\ninit true\nsafety [s] p\n") == {"s": "proved"}


def test_enumerated_sorts():
    text = """#lang ivy1.7
        type node
        type phase = {idle, busy, done}
        function at(N:node) : phase
        after init { at(N) := idle }
        action start(n:node) = { require at(n) = idle; at(n) := busy }
        action finish(n:node) = { require at(n) = busy; at(n) := done }
        action reset(n:node) = { require at(n) ~= idle & at(n) ~= busy; at(n) := idle }
        export start
        export finish
        export reset
        invariant [three] at(N) = idle | at(N) = busy | at(N) = done
        invariant [never_done] at(N) ~= done
        invariant [never_idle_again] at(N) = busy -> at(M) = at(N) | at(M) = idle | at(M) = done
        """
    model = parse(Source("phases.ivy", text)).model
    found = {result.property: result for result in induct(model, LIMITS, SEARCH).results}
    assert {name: result.verdict for name, result in found.items()} == {
        "three": "proved",
        "never_done": "violated",
        "never_idle_again": "proved",
    }
    assert len(found["never_done"].evidence.steps) == 2


# -- primes that must not be lost --------------------------------------------------------------------------------------

VOTING = """
sort node
mutable relation voted(node)
definition none_set() = forall N. !voted(N)
init !voted(N)
transition vote(n: node)
  modifies voted
  & (voted'(N) <-> voted(N) | N = n)
transition idle()
  modifies voted
  & (voted'(N) <-> voted(N))
safety [always] voted(N) | !voted(N)
"""


def test_a_primed_definition_speaks_of_the_new_state():
    assert verdicts(
        VOTING
        + """
        twostate theorem [kept] none_set & vote(N) -> none_set'
        twostate theorem [lost] none_set & vote(N) -> !none_set'
        twostate theorem [kept_by_idling] none_set & idle -> none_set'
        twostate theorem [kept_new] none_set & vote(N) -> new(none_set)
        twostate theorem [lost_new] none_set & vote(N) -> !new(none_set)
        """
    ) == {
        "always": "proved",
        "kept": "violated",
        "lost": "proved",
        "kept_by_idling": "proved",
        "kept_new": "violated",
        "lost_new": "proved",
    }


STEPS = """
sort node
mutable relation p(node)
mutable relation q
init !p(N) & !q
twostate definition marks(n: node) = forall N. p'(N) <-> p(N) | N = n
twostate definition signals() = q' & !q
definition empty() = forall N. !p(N)
transition mark(n: node)
  modifies p, q
  & marks(n)
  & signals
"""


def test_a_two_state_definition_keeps_its_primes_in_a_transition():
    found = results(STEPS + "safety [never] !q\nsafety [none] empty\nsafety [some_when_signalled] q -> !empty\n")
    assert {name: (result.verdict, result.reason) for name, result in found.items()} == {
        "never": ("violated", "violated after 1 step"),
        "none": ("violated", "violated after 1 step"),
        "some_when_signalled": ("proved", ""),
    }


def test_a_two_state_definition_keeps_its_primes_in_a_theorem():
    assert verdicts(
        STEPS
        + """
        twostate theorem [marked_after] marks(N) -> p'(N)
        twostate theorem [marked_before] marks(N) -> p(N)
        twostate theorem [through_two_definitions] mark(N) & empty -> !empty'
        twostate theorem [unchanged] mark(N) -> (empty <-> empty')
        """
    ) == {
        "marked_after": "proved",
        "marked_before": "violated",
        "through_two_definitions": "proved",
        "unchanged": "violated",
    }


def test_a_definition_with_primes_below_a_binder_of_the_same_name():
    """The definition's N is not the transition's N."""
    text = """
        sort node
        mutable relation p(node)
        init !p(N)
        twostate definition only(n: node) = forall N. p'(N) -> p(N) | N = n
        transition t(N: node)
          modifies p
          & p'(N) & only(N)
        safety [one] p(X) & p(Y) -> X = Y
        invariant [every] p(X)
        """
    found = results(text)
    assert found["one"].verdict == "violated" and len(found["one"].evidence.steps) == 2
    assert found["every"].verdict == "violated" and found["every"].evidence.steps == ()


def test_a_parameter_named_like_an_internal_variable_is_kept_apart():
    text = """
        sort node
        immutable constant c: node
        mutable relation p(node)
        init p(N) <-> N = c
        transition t(X0: node)
          modifies p
          & p'(c)
          & (forall N. N != c -> (p'(N) <-> N = X0))
        safety [two] p(X) & p(Y) & p(Z) -> X = Y | Y = Z | X = Z
        """
    assert verdicts(text + "invariant [c] p(c)\n") == {"two": "proved", "c": "proved"}
    assert verdicts(text.replace("X0", "X1") + "invariant [c] p(c)\n") == {"two": "proved", "c": "proved"}


def test_a_derived_relation_is_that_of_the_new_state_after_a_step():
    text = """
        sort node
        mutable relation p(node)
        derived relation none: none <-> forall N. !p(N)
        mutable relation was
        init !p(N) & was
        transition mark(n: node)
          modifies p, was
          & (p'(N) <-> p(N) | N = n)
          & (was' <-> none)
        safety [still] none
        safety [was_none] was & !none -> exists N. p(N)
        """
    found = results(text)
    assert {name: result.verdict for name, result in found.items()} == {"still": "violated", "was_none": "proved"}
    assert len(found["still"].evidence.steps) == 1


# -- theorems --------------------------------------------------------------------------------------------------------

ORDER = """
sort level
immutable relation le(level, level)
axiom le(X, X)
axiom le(X, Y) & le(Y, X) -> X = Y
axiom le(X, Y) & le(Y, Z) -> le(X, Z)
axiom le(X, Y) | le(Y, X)
mutable constant at: level
mutable relation p
derived relation high(level): high(X) <-> le(at, X)
"""


def test_theorems_about_no_one_and_two_states():
    found = results(
        ORDER
        + """
        zerostate theorem [no_right] le(X, Y) & X != Y -> !le(Y, X)
        zerostate theorem [no_wrong] le(X, Y)
        theorem [one_right] high(at)
        theorem [one_wrong] high(X)
        twostate theorem [two_right] high(X) & le(at', at) -> high'(X)
        twostate theorem [two_wrong] high(X) -> high'(X)
        """
    )
    assert {name: (result.kind, result.verdict) for name, result in found.items()} == {
        "no_right": ("theorem", "proved"),
        "no_wrong": ("theorem", "violated"),
        "one_right": ("theorem", "proved"),
        "one_wrong": ("theorem", "violated"),
        "two_right": ("theorem", "proved"),
        "two_wrong": ("theorem", "violated"),
    }
    assert found["no_wrong"].reason == "it does not follow from the axioms" and found["no_right"].reason == ""


def test_theorems_do_not_know_the_initial_states_or_the_invariants():
    text = ORDER + "init !p\nsafety [never] !p\ntheorem [same] !p\n"
    assert verdicts(text) == {"never": "proved", "same": "violated"}


# -- unknown ---------------------------------------------------------------------------------------------------------

GROWING = """
sort node
immutable relation lt(node, node)
axiom [irreflexive] !lt(X, X)
axiom [transitive] lt(X, Y) & lt(Y, Z) -> lt(X, Z)
axiom [growing] forall X. exists Y. lt(X, Y)
mutable relation p
mutable relation q
init !p
transition t()
  modifies p
  & q & p'
"""
IMPATIENT = Limits(timeout=0.3, jobs=1)


def test_what_no_solver_decides_is_unknown_and_names_the_obligation():
    found = results(GROWING + "safety [never] !p\ninvariant [q_too] !q\ntheorem [open] p\n", IMPATIENT)
    assert {name: result.verdict for name, result in found.items()} == {
        "never": "unknown",
        "q_too": "unknown",
        "open": "unknown",
    }
    assert found["q_too"].reason.startswith("initially q_too: ") and found["open"].reason
    assert found["never"].reason == "preserved only with the help of q_too, which is not proved"


def test_an_obligation_about_a_step_is_named_too():
    found = results(GROWING + "safety [never] !p\n", IMPATIENT)
    assert found["never"].verdict == "unknown" and found["never"].reason.startswith("t preserves never: ")


def test_a_solver_without_answers_proves_nothing(monkeypatch):
    def no_answers(groups, limits, until_refuted=False):
        for number, group in enumerate(groups):
            for goal in range(len(group.goals)):
                yield number, goal, Answer("unknown", "the solver gave up")

    monkeypatch.setattr(module, "solve", no_answers)
    found = results(LOCK + LEMMA)
    assert {name: (result.verdict, result.reason) for name, result in found.items()} == {
        "mutex": ("unknown", "initially mutex: the solver gave up"),
        "free_means_none": ("unknown", "initially free_means_none: the solver gave up"),
    }


def test_one_unknown_obligation_withdraws_the_property_from_all_others(monkeypatch):
    """The lemma holds, but if nobody can say so, what needs it is not proved either."""
    real = module.solve

    def forgetful(groups, limits, until_refuted=False):
        for number, goal, answer in real(groups, limits):
            if groups[number].goals[goal].name == "drop preserves free_means_none":
                answer = Answer("unknown", "lost")
            yield number, goal, answer

    monkeypatch.setattr(module, "solve", forgetful)
    found = results(LOCK + LEMMA)
    assert {name: (result.verdict, result.reason) for name, result in found.items()} == {
        "mutex": ("unknown", "preserved only with the help of free_means_none, which is not proved"),
        "free_means_none": ("unknown", "drop preserves free_means_none: lost"),
    }


def test_sat_without_a_structure_still_finds_its_counterexample(monkeypatch):
    real = module.solve

    def without_structures(groups, limits, until_refuted=False):
        for number, goal, answer in real(groups, limits):
            yield number, goal, Answer(answer.status, answer.reason, answer.core)

    monkeypatch.setattr(module, "solve", without_structures)
    result = results(LOCK)["mutex"]
    assert result.verdict == "not-inductive" and sizes(result.evidence) == {"node": 2}


def test_integers_are_decided_without_evidence():
    text = "mutable constant x: int\ninit x = 0\ntransition t()\n modifies x\n & x' = x + 1\n"
    found = results(text + "safety [low] x >= 0\nsafety [capped] forall I:int. I = x -> I <= 3\n")
    assert {name: (result.verdict, result.evidence) for name, result in found.items()} == {
        "low": ("proved", None),
        "capped": ("not-inductive", None),
    }


# -- random protocols --------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(models(), formulas(depth=2))
def test_verdicts_about_random_protocols_are_true(model, lemma):
    model = model.with_invariants((Named("lemma", lemma),))
    for result in induct(model, Limits(timeout=0.5, jobs=1), Search(depth=2, seconds=1.0)).results:
        claim = next(item for item in model.properties if item.name == result.property)
        if result.verdict == "proved":
            for size in (1, 2):
                found = finite_search(model, [claim], uniform_sizes(model, size), 3, LIMITS, 5.0)
                assert found is None or found.trace is None
        if result.verdict == "violated":
            replay(model, result.evidence)
            assert not result.evidence.states[-1].holds(claim.formula)
        if result.verdict == "not-inductive" and result.evidence is not None:
            replay(model, result.evidence)
            before, after = result.evidence.states
            assert all(before.holds(item.formula) for item in model.properties) and not after.holds(claim.formula)


# -- the parts -------------------------------------------------------------------------------------------------------


def test_obligations_come_in_a_fixed_order():
    model = pyv(LOCK + LEMMA)
    assert [obligation.name for obligation in all_obligations(model, model.properties)] == [
        "initially mutex",
        "initially free_means_none",
        "take preserves mutex",
        "take preserves free_means_none",
        "drop preserves mutex",
        "drop preserves free_means_none",
    ]


@pytest.mark.parametrize("jobs", [1, 3])
def test_answers_come_in_the_order_of_the_obligations(jobs):
    outcome = induct(pyv(LOCK), Limits(timeout=20.0, jobs=jobs), SEARCH)
    assert [(obligation.name, answer.status) for obligation, answer in outcome.answers.items()] == [
        ("initially mutex", "unsat"),
        ("take preserves mutex", "sat"),
        ("drop preserves mutex", "unsat"),
    ]


def test_progress_is_reported():
    said = []
    induct(pyv(LOCK), LIMITS, SEARCH, said.append)
    assert said == [
        "1 of 3 obligations",
        "2 of 3 obligations",
        "3 of 3 obligations",
        "looking for a small counterexample: take preserves mutex",
    ]


def test_only_a_whole_proof_has_a_certificate():
    assert certificate(induct(pyv(LOCK), LIMITS, SEARCH)) is None
    assert certificate(induct(pyv("mutable relation p\ninit p\n"), LIMITS, SEARCH)) is None
    model = pyv(LOCK + LEMMA + "invariant [wrong] free\n")
    made = certificate(induct(model, LIMITS, SEARCH))
    assert made.safety == ("mutex",)
    assert [name for name, _ in made.invariants] == ["mutex", "free_means_none"]
    assert made.invariant_terms(model) == [(item.name, item.formula) for item in model.properties[:2]]
    assert "free_means_none" in made.hints["take preserves mutex"]
    assert not any("wrong" in used for used in made.hints.values()), "nothing leans on what is not proved"
