from hypothesis import given
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.logic.structures import Structure
from quorate.logic.terms import Equal, Forall, Implies, Not, Or, Sort, Symbol, Var
from quorate.methods.induction.obligations import Obligation, goal_formula, group, hypotheses, is_trivial, step_of
from quorate.models.relational import Named
from quorate.models.semantics import Step, successor
from quorate.models.source import Source
from strategies import bindings, formulas, models, structures, tables

NODE = Sort("node")

LOCK = parse(
    Source(
        "lock.pyv",
        """
sort node
immutable constant boss: node
mutable relation holds(node)
mutable relation up
derived relation none: none <-> forall N. !holds(N)
axiom [someone_else] exists N. N != boss
init [start] !holds(N)
transition take(n: node)
  modifies holds
  & none
  & (holds'(N) <-> holds(N) | N = n)
transition toggle()
  modifies up
  & (up -> !up') & holds(boss)
safety [mutex] holds(N) & holds(M) -> N = M
invariant [quiet] up -> none
""",
    )
).model
HOLDS, UP, NONE = (next(symbol for symbol in LOCK.symbols if symbol.name == name) for name in ("holds", "up", "none"))
TAKE, TOGGLE = LOCK.transitions
MUTEX, QUIET = LOCK.properties[:2]


def test_names_say_what_is_to_be_shown():
    assert Obligation(MUTEX, None).name == "initially mutex"
    assert Obligation(MUTEX, TAKE).name == "take preserves mutex"


def test_initially_the_property_itself_is_negated():
    assert goal_formula(LOCK, Obligation(MUTEX, None)) is Not(MUTEX.formula)


def test_after_a_step_new_values_are_put_in_and_derived_symbols_are_expanded():
    goal = goal_formula(LOCK, Obligation(QUIET, TAKE))
    taken = Symbol("@n", (), NODE)()
    n = Var("N", NODE)
    assert goal is Not(Implies(UP(), Forall((n,), Not(Or((HOLDS(n), Equal(n, taken)))))))


def test_what_a_transition_does_not_touch_is_trivial():
    trivial = {
        (item.name, transition and transition.name): is_trivial(LOCK, Obligation(item, transition))
        for item in LOCK.properties
        for transition in (None, TAKE, TOGGLE)
    }
    assert trivial == {
        ("mutex", None): False,
        ("mutex", "take"): False,
        ("mutex", "toggle"): True,
        ("quiet", None): False,
        ("quiet", "take"): False,
        ("quiet", "toggle"): False,
    }


def test_a_derived_symbol_is_touched_through_its_definition():
    assert not is_trivial(LOCK, Obligation(Named("none", NONE()), TAKE))
    assert is_trivial(LOCK, Obligation(Named("none", NONE()), TOGGLE))


def test_hypotheses_are_background_then_initial_conditions_or_guard_and_properties():
    initially = [item.name for item in hypotheses(LOCK, None, LOCK.properties)]
    assert initially == ["someone_else", "definition of none", "start"]
    named = [item.name for item in hypotheses(LOCK, TAKE, [MUTEX])]
    assert named == ["someone_else", "definition of none", "guard of take", "mutex"]
    toggled = [item.formula for item in hypotheses(LOCK, TOGGLE, ()) if item.name == "guard of toggle"]
    assert toggled == [Implies(UP(), Not(TOGGLE.choices[0]())), HOLDS(Symbol("boss", (), NODE)())], "one by one"


def test_the_group_wants_all_symbols_of_state_and_step():
    made = group(LOCK, [Obligation(MUTEX, TOGGLE), Obligation(QUIET, TOGGLE)], LOCK.properties)
    assert [goal.name for goal in made.goals] == ["toggle preserves mutex", "toggle preserves quiet"]
    assert set(made.symbols) == {*LOCK.symbols, *TOGGLE.choices}
    assert Symbol("@n", (), NODE) in group(LOCK, [Obligation(MUTEX, TAKE)], ()).symbols
    assert set(group(LOCK, [Obligation(MUTEX, None)], ()).symbols) == set(LOCK.symbols)


@st.composite
def situations(draw):
    """A random protocol with a state, and a structure that also gives values to the step's constants and choices."""
    model = draw(models())
    before = draw(structures())
    transition = draw(st.sampled_from(model.transitions))
    values = draw(bindings(before.sizes, transition.parameters))
    chosen = {choice: draw(tables(choice, before.sizes)) for choice in transition.choices}
    constants = {transition.constants[parameter].symbol: {(): value} for parameter, value in values.items()}
    return model, before, transition, Structure(before.sizes, {**before.tables, **chosen, **constants})


@given(situations(), formulas())
def test_the_goal_holds_exactly_where_the_step_breaks_the_property(situation, formula):
    model, before, transition, structure = situation
    obligation = Obligation(Named("claim", formula), transition)
    step = step_of(transition, structure)
    after = successor(model, before, step)
    possible = all(structure.holds(item.formula) for item in hypotheses(model, transition, ()))
    assert possible == isinstance(after, Structure)
    if isinstance(after, Structure):
        assert structure.holds(goal_formula(model, obligation)) == (not after.holds(formula))
        if is_trivial(model, obligation):
            assert before.holds(formula) == after.holds(formula)


def test_a_step_is_read_from_the_constants_and_choices():
    structure = Structure({NODE: 2}, {Symbol("@n", (), NODE): {(): 1}, TOGGLE.choices[0]: {(): True}})
    assert step_of(TAKE, structure) == Step("take", {"n": 1}, {})
    assert step_of(TOGGLE, structure) == Step("toggle", {}, {"up'": {(): True}})


def test_free_variables_never_reach_the_solver():
    for item in LOCK.properties:
        for transition in LOCK.transitions:
            made = group(LOCK, [Obligation(item, transition)], LOCK.properties)
            assert not any(goal.formula.free for goal in made.goals)
            assert not any(known.formula.free for known in made.hypotheses)
