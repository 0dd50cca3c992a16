import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.logic.structures import EvaluationError, Structure, argument_tuples
from quorate.logic.terms import BOOL, Symbol, Var
from quorate.models.relational import Named, RelationalModel, Transition, Update
from quorate.models.semantics import (
    Step,
    bind,
    check_background,
    check_initial,
    check_step,
    state_of,
    successor,
    with_derived,
)
from quorate.models.source import Source
from strategies import (
    COLOR,
    ELEMENTS,
    HUE,
    LIKED,
    NODE,
    SORTS,
    SYMBOLS,
    VALUE,
    X,
    bindings,
    formulas,
    models,
    structures,
    tables,
)


def pyv(text):
    return parse(Source("sample.pyv", text)).model


BRIDGE = pyv("""
sort node
immutable relation heavy(node)
mutable relation on(node)
mutable constant last: node
mutable function waits(node): node
derived relation free: free <-> forall N. !on(N)
derived relation blocked(node): blocked(N) <-> !free & !on(N)
axiom [some_light] exists N. !heavy(N)
init [start] !on(N)
init [no_waiting] waits(N) = N
transition enter(n: node)
  modifies on, last
  & free
  & (on'(N) <-> N = n)
  & last' = n
transition leave(n: node)
  modifies on
  & on(n)
  & (on'(N) <-> on(N) & N != n)
transition reshuffle(n: node)
  modifies last, waits
  & last' != last
  & waits'(n) = last
safety [alone] on(N) & on(M) -> N = M
""")


def state(model, size, **given):
    """Every sort has the given size; tables are given, or false, or element 0; derived symbols are worked out."""
    sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
    made = {}
    for symbol in model.symbols:
        default = False if symbol.sort is BOOL else 0
        made[symbol] = {
            **dict.fromkeys(argument_tuples(symbol.arguments, sizes), default),
            **given.get(symbol.name, {}),
        }
    return with_derived(model, Structure(sizes, made))


def table(model, structure, name):
    return structure.tables[next(symbol for symbol in model.symbols if symbol.name == name)]


def changed(structure, name, values):
    """The structure with some values of one symbol changed, derived symbols left as they were."""
    symbol = next(symbol for symbol in structure.tables if symbol.name == name)
    return Structure(structure.sizes, {**structure.tables, symbol: {**structure.tables[symbol], **values}})


IDENTITY = {(0,): 0, (1,): 1}
START = state(BRIDGE, 2, waits=IDENTITY)


# -- initial states --------------------------------------------------------------------------------------------------


def test_an_initial_state_is_accepted():
    assert check_initial(BRIDGE, START) is None
    assert check_background(BRIDGE, state(BRIDGE, 2, on={(0,): True})) is None


def test_what_is_wrong_with_an_initial_state_is_named():
    assert check_initial(BRIDGE, state(BRIDGE, 2, waits=IDENTITY, on={(1,): True})) == "start does not hold"
    assert check_initial(BRIDGE, state(BRIDGE, 2)) == "no_waiting does not hold"
    heavy = state(BRIDGE, 2, waits=IDENTITY, heavy={(0,): True, (1,): True})
    assert check_initial(BRIDGE, heavy) == "some_light does not hold"
    assert check_initial(BRIDGE, changed(START, "free", {(): False})) == "definition of free does not hold"


def test_enumerations_hold_in_every_structure():
    model = RelationalModel("m", "ivy", SORTS, (HUE, LIKED), (), (), (), (), (), ())
    good = Structure({NODE: 1, VALUE: 1}, {HUE: {(): 2}, LIKED: {(i,): False for i in range(3)}})
    assert check_background(model, good) is None
    clash = {**good.tables, ELEMENTS[0]: {(): 1}}
    assert check_background(model, Structure(good.sizes, clash)) == f"elements of {COLOR} does not hold"


# -- steps -----------------------------------------------------------------------------------------------------------


def test_a_step_changes_what_it_updates_and_nothing_else():
    after = successor(BRIDGE, START, Step("enter", {"n": 1}))
    assert table(BRIDGE, after, "on") == {(0,): False, (1,): True}
    assert table(BRIDGE, after, "last") == {(): 1}
    assert table(BRIDGE, after, "waits") == IDENTITY and table(BRIDGE, after, "heavy") == {(0,): False, (1,): False}
    assert after.sizes == START.sizes
    assert table(BRIDGE, START, "on") == {(0,): False, (1,): False}, "the state before is untouched"


def test_derived_symbols_are_worked_out_in_the_order_of_their_definitions():
    after = successor(BRIDGE, START, Step("enter", {"n": 1}))
    assert table(BRIDGE, after, "free") == {(): False}
    assert table(BRIDGE, after, "blocked") == {(0,): True, (1,): False}
    assert check_background(BRIDGE, after) is None


def test_a_step_whose_guard_does_not_hold_cannot_be_taken():
    assert successor(BRIDGE, START, Step("leave", {"n": 0})) == "the guard of leave does not hold"
    entered = successor(BRIDGE, START, Step("enter", {"n": 1}))
    assert successor(BRIDGE, entered, Step("enter", {"n": 0})) == "the guard of enter does not hold"


def test_steps_are_checked():
    step = Step("enter", {"n": 1})
    after = successor(BRIDGE, START, step)
    assert check_step(BRIDGE, START, step, after) is None
    assert check_step(BRIDGE, START, Step("enter", {"n": 0}), after) == "enter does not lead to this value of on"
    assert check_step(BRIDGE, START, Step("leave", {"n": 1}), after) == "the guard of leave does not hold"
    assert check_step(BRIDGE, START, Step("fly", {"n": 1}), after) == "there is no transition fly"
    assert check_step(BRIDGE, START, step, START) == "enter does not lead to this value of on"


@pytest.mark.parametrize(
    "name, values",
    [
        ("on", {(0,): True}),
        ("last", {(): 0}),
        ("waits", {(0,): 1}),
        ("heavy", {(0,): True}),
        ("free", {(): True}),
        ("blocked", {(1,): True}),
    ],
)
def test_any_other_value_after_a_step_is_noticed(name, values):
    step = Step("enter", {"n": 1})
    wrong = changed(successor(BRIDGE, START, step), name, values)
    assert check_step(BRIDGE, START, step, wrong) == f"enter does not lead to this value of {name}"


# -- choices ---------------------------------------------------------------------------------------------------------


def shuffle(last, waits, n=0):
    return Step("reshuffle", {"n": n}, {"last'": {(): last}, "waits'": {(i,): value for i, value in enumerate(waits)}})


def test_choices_stand_for_new_values():
    reshuffle = BRIDGE.transition("reshuffle")
    assert {choice.name for choice in reshuffle.choices} == {"last'", "waits'"}
    after = successor(BRIDGE, START, shuffle(1, [0, 0]))
    assert table(BRIDGE, after, "last") == {(): 1} and table(BRIDGE, after, "waits") == {(0,): 0, (1,): 0}
    assert check_step(BRIDGE, START, shuffle(1, [0, 0]), after) is None


def test_choices_must_satisfy_the_guard():
    assert successor(BRIDGE, START, shuffle(0, [0, 0])) == "the guard of reshuffle does not hold"
    assert successor(BRIDGE, START, shuffle(1, [1, 0])) == "the guard of reshuffle does not hold"
    assert isinstance(successor(BRIDGE, START, shuffle(1, [0, 1])), Structure)


def test_another_choice_does_not_lead_to_the_same_state():
    after = successor(BRIDGE, START, shuffle(1, [0, 0]))
    assert check_step(BRIDGE, START, shuffle(1, [0, 1]), after) == "reshuffle does not lead to this value of waits"


def test_a_step_must_say_what_it_chooses():
    with pytest.raises(EvaluationError, match="no value to last'"):
        successor(BRIDGE, START, Step("reshuffle", {"n": 0}))


def test_binding_extends_the_state():
    extended, values = bind(BRIDGE.transition("reshuffle"), shuffle(1, [0, 1], n=1), START)
    assert values == {Var("n", BRIDGE.sorts[0]): 1}
    assert {symbol.name for symbol in extended.tables} - {symbol.name for symbol in START.tables} == {"last'", "waits'"}


# -- what pyv texts mean ---------------------------------------------------------------------------------------------


def successors(model, before):
    """Every state that one step leads to, by trying all bindings and all choices, as tables by name."""
    found = []
    for transition in model.transitions:
        for row in argument_tuples([parameter.sort for parameter in transition.parameters], before.sizes):
            values = {parameter.name: value for parameter, value in zip(transition.parameters, row, strict=True)}
            for chosen in all_choices(transition.choices, before.sizes):
                after = successor(model, before, Step(transition.name, values, chosen))
                if isinstance(after, Structure):
                    found.append({symbol.name: dict(after.tables[symbol]) for symbol in model.symbols})
    return found


def all_choices(choices, sizes):
    if not choices:
        yield {}
        return
    places = list(argument_tuples(choices[0].arguments, sizes))
    for row in argument_tuples([choices[0].sort] * len(places), sizes):
        for rest in all_choices(choices[1:], sizes):
            yield {choices[0].name: dict(zip(places, row, strict=True)), **rest}


MARKS = "sort node\nimmutable constant c: node\nmutable relation p(node)\nmutable relation q\ninit !p(N) & !q\n"


def marks(transition, size=2, **given):
    """The values of p after each possible step, as sets of true places; each with the value of q."""
    model = pyv(MARKS + transition)
    found = successors(model, state(model, size, **given))
    return sorted((sorted(i for (i,), value in after["p"].items() if value), after["q"][()]) for after in found)


def test_a_parameter_may_have_the_name_of_an_internal_variable():
    text = "transition t({0}: node)\n modifies p\n & p'(c)\n & (forall N. N != c -> (p'(N) <-> N = {0}))"
    expected = [([0], False), ([0, 1], False), ([0, 2], False)]
    assert marks(text.format("n"), size=3) == expected
    assert marks(text.format("X0"), size=3) == expected


def test_a_parameter_may_have_the_name_of_a_bound_variable():
    assert marks("transition t(N: node)\n modifies p\n & (forall M. p'(M) <-> M = N | exists N. p(N))") == [
        ([0], False),
        ([1], False),
    ]


def test_primes_inside_definitions_are_kept():
    call = "transition t(n: node)\n modifies p\n & marks(n)"
    assert marks("twostate definition marks(m: node) = forall N. p'(N) <-> p(N) | N = m\n" + call) == [
        ([0], False),
        ([1], False),
    ]
    assert marks("twostate definition marks(m: node) = p'(m) & !p(m)\n" + call) == [
        ([0], False),
        ([0, 1], False),
        ([0, 1], False),
        ([1], False),
    ]


def test_a_one_state_definition_can_be_asked_about_the_new_state():
    text = "definition full() = forall N. p(N)\ntransition t()\n modifies p, q\n & new(full) & (q' <-> full)"
    assert marks(text) == [([0, 1], False)]
    assert marks(text, p={(0,): True, (1,): True}) == [([0, 1], True)]


def test_what_is_modified_but_not_mentioned_may_become_anything():
    assert marks("transition t()\n modifies q\n & true") == [([], False), ([], True)]


def test_a_constraint_on_two_new_values_is_a_guard_over_choices():
    assert marks("transition t()\n modifies p, q\n & (q' <-> exists N. p'(N)) & (p'(N) & p'(M) -> N = M)") == [
        ([], False),
        ([0], True),
        ([1], True),
    ]


def test_partial_updates_that_overlap_must_agree():
    assert marks("transition t()\n modifies p\n & (p'(N) <-> p(N)) & p'(c)") == []
    assert marks("transition t()\n modifies p\n & (p'(N) <-> p(N)) & p'(c)", p={(0,): True}) == [([0], False)]


def test_derived_relations_without_an_explicit_definition_follow_their_formula():
    model = pyv("""
        sort node
        mutable relation p(node)
        derived relation some: some -> exists N. p(N)
        init !p(N)
        transition t(n: node)
          modifies p
          & (p'(N) <-> p(N) | N = n)
        transition clear()
          modifies p
          & !p'(N)
        """)
    start = state(model, 1)
    assert check_initial(model, start) is None
    after = successors(model, start)
    assert sorted((entry["p"][0,], entry["some"][()]) for entry in after) == [
        (False, False),
        (True, False),
        (True, True),
    ]


# -- random protocols ------------------------------------------------------------------------------------------------


@st.composite
def situations(draw):
    """A protocol, a state and a step that need not be enabled."""
    model = draw(models())
    before = draw(structures())
    transition = draw(st.sampled_from(model.transitions))
    values = draw(bindings(before.sizes, transition.parameters))
    chosen = {choice.name: draw(tables(choice, before.sizes)) for choice in transition.choices}
    return model, before, transition, Step(transition.name, {v.name: value for v, value in values.items()}, chosen)


@given(situations(), formulas())
def test_a_formula_after_a_step_can_be_evaluated_before_it(situation, formula):
    model, before, transition, step = situation
    extended, values = bind(transition, step, before)
    after = successor(model, before, step)
    assert isinstance(after, Structure) == extended.holds(transition.guard, values)
    if isinstance(after, Structure):
        assert extended.holds(transition.after(formula), values) == after.holds(formula)
        assert check_step(model, before, step, after) is None


@given(situations(), st.data())
def test_only_one_state_is_the_successor(situation, data):
    model, before, _, step = situation
    after = successor(model, before, step)
    if isinstance(after, Structure):
        other = data.draw(structures(sizes=before.sizes))
        symbol = data.draw(st.sampled_from(SYMBOLS))
        wrong = Structure(after.sizes, {**after.tables, symbol: other.tables[symbol]})
        same = wrong.tables[symbol] == after.tables[symbol]
        assert (check_step(model, before, step, wrong) is None) == same


@given(situations())
def test_the_two_state_formula_holds_exactly_between_a_state_and_its_successor(situation):
    model, before, transition, step = situation
    extended, values = bind(transition, step, before)
    after = successor(model, before, step)
    following = before if isinstance(after, str) else after
    pair = {**extended.tables, **{symbol.at(1): following.tables[symbol] for symbol in model.state_symbols}}
    formula = transition.formula(model.state_symbols)
    assert Structure(before.sizes, pair).holds(formula, values) == isinstance(after, Structure)


def test_the_places_of_an_update_hide_parameters_of_the_same_name():
    relation = Symbol("r", (NODE,), BOOL, mutable=True)
    step = Transition("t", (X,), (), relation(X), (Update(relation, (X,), relation(X)),))
    model = RelationalModel("m", "pyv", (NODE,), (relation,), (), (), (), (step,), (Named("s", relation(X)),), ())
    before = Structure({NODE: 2}, {relation: {(0,): True, (1,): False}})
    assert successor(model, before, Step("t", {"X": 0})) == before


def test_a_state_is_the_models_part_of_a_structure():
    model = RelationalModel("m", "pyv", (NODE, VALUE), (HUE,), (), (), (), (), (), ())
    larger = Structure({NODE: 3}, {HUE: {(): 1}, LIKED: {(i,): True for i in range(3)}})
    assert state_of(model, larger) == Structure({NODE: 3, VALUE: 1}, {HUE: {(): 1}})
