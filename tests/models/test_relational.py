from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.lang import parse
from quorate.logic.structures import Structure
from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Equal,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Sort,
    Symbol,
    Var,
    conj,
    distinct,
)
from quorate.logic.transform import symbols_of
from quorate.models.relational import Derived, Named, Theorem, Transition, Update, enumeration_axiom
from quorate.models.source import Source, Span
from strategies import (
    COLOR,
    EDGE,
    ELEMENTS,
    FIRST,
    HUE,
    LAST,
    MARKED,
    NEXT,
    NODE,
    RAISED,
    SYMBOLS,
    X,
    Y,
    bindings,
    formulas,
    structures,
    tables,
    transitions,
)

ALONE = Symbol("alone", (NODE,), BOOL, mutable=True)
EMPTY = Symbol("empty", (), BOOL, mutable=True)

BRIDGE = parse(
    Source(
        "bridge.pyv",
        """
sort node
immutable relation heavy(node)
mutable relation on(node)
mutable constant last: node
derived relation free: free <-> forall N. !on(N)
derived relation blocked(node): blocked(N) <-> !free & !on(N)
axiom [some_light] exists N. !heavy(N)
init [start] !on(N)
transition enter(n: node)
  modifies on, last
  & free
  & (on'(N) <-> N = n)
  & last' = n
transition leave(n: node)
  modifies on
  & on(n)
  & (on'(N) <-> on(N) & N != n)
safety [alone] on(N) & on(M) -> N = M
invariant [waiting] on(N) & M != N -> blocked(M)
theorem [light] exists N. !heavy(N)
""",
    )
).model


# -- derived symbols -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula, definition",
    [
        (Forall((X,), Iff(ALONE(X), Not(EDGE(X, X)))), ((X,), Not(EDGE(X, X)))),
        (Forall((X,), ALONE(X)), ((X,), TRUE)),
        (Forall((X,), Not(ALONE(X))), ((X,), FALSE)),
        (Forall((X,), Iff(ALONE(X), ALONE(X))), None),
        (Forall((X,), Iff(ALONE(NEXT(X)), EDGE(X, X))), None),
        (Forall((X, Y), Iff(ALONE(X), EDGE(X, Y))), None),
        (Forall((X,), Implies(ALONE(X), EDGE(X, X))), None),
        (Forall((X,), Iff(MARKED(X), EDGE(X, X))), None),
    ],
)
def test_explicit_definitions_are_recognised(formula, definition):
    assert Derived(ALONE, formula).definition == definition


def test_definitions_without_arguments_and_of_functions():
    assert Derived(EMPTY, Iff(EMPTY(), Forall((X,), Not(MARKED(X))))).definition == ((), Forall((X,), Not(MARKED(X))))
    best = Symbol("best", (NODE,), NODE, mutable=True)
    assert Derived(best, Forall((Y,), Equal(best(Y), NEXT(NEXT(Y))))).definition == ((Y,), NEXT(NEXT(Y)))
    pair = Symbol("pair", (NODE, NODE), BOOL, mutable=True)
    assert Derived(pair, Forall((X,), Iff(pair(X, X), MARKED(X)))).definition is None


def test_a_definition_may_name_its_variables_in_another_order():
    pair = Symbol("pair", (NODE, NODE), BOOL, mutable=True)
    definition = Derived(pair, Forall((X, Y), Iff(pair(Y, X), EDGE(X, Y)))).definition
    assert definition == ((Y, X), EDGE(X, Y))


def test_expanding_replaces_derived_symbols_all_the_way_down():
    on = next(symbol for symbol in BRIDGE.symbols if symbol.name == "on")
    blocked = next(symbol for symbol in BRIDGE.symbols if symbol.name == "blocked")
    n = Var("N", Sort("node"))
    expanded = BRIDGE.expand(Forall((n,), blocked(n)))
    assert {symbol.name for symbol in BRIDGE.derived_symbols} == {"free", "blocked"}
    inner = Var("N", Sort("node"))
    assert expanded is Forall((n,), And((Not(Forall((inner,), Not(on(inner)))), Not(on(n)))))


def test_what_makes_up_a_state():
    assert [symbol.name for symbol in BRIDGE.state_symbols] == ["on", "last"]
    assert [symbol.name for symbol in BRIDGE.symbols if not symbol.mutable] == ["heavy"]
    assert [item.name for item in BRIDGE.properties] == ["alone", "waiting"]
    assert BRIDGE.theorems == (Theorem("light", 1, BRIDGE.axioms[0].formula),)
    assert BRIDGE.transition("leave").name == "leave"


def test_the_background_holds_the_definitions_of_every_state():
    assert [item.name for item in BRIDGE.background(1)] == ["some_light", "definition of free", "definition of blocked"]
    later = list(BRIDGE.background(3))
    assert [item.name for item in later].count("definition of free") == 3
    free = next(symbol for symbol in BRIDGE.symbols if symbol.name == "free")
    mentioned = symbols_of(*(item.formula for item in later))
    assert {free.at(state) for state in range(3)} <= mentioned and free.at(3) not in mentioned
    assert [item.name for item in BRIDGE.background(0)] == ["some_light"]


def test_other_lemmas_leave_the_rest_alone():
    other = BRIDGE.with_invariants((Named("extra", RAISED()),))
    assert other.properties == (*BRIDGE.safety, Named("extra", RAISED()))
    assert replace(other, invariants=BRIDGE.invariants) == BRIDGE


def test_places_in_the_text_are_no_part_of_equality():
    source = Source("x.pyv", "sort node\n\n  sort")
    span = Span(source, 13, 17)
    assert Named("a", RAISED(), span) == Named("a", RAISED())
    assert Named("a", RAISED(), span).where == "a (line 3)" and Named("a", RAISED()).where == "a"
    assert str(span) == "x.pyv:3:3"


def test_enumeration_axiom():
    variable = Var("X", COLOR)
    red, green, blue = (element() for element in ELEMENTS)
    assert enumeration_axiom(COLOR) is And(
        (
            *distinct([red, green, blue]).args,
            Forall((variable,), Or((Equal(variable, red), Equal(variable, green), Equal(variable, blue)))),
        )
    )


# -- transitions -----------------------------------------------------------------------------------------------------

N = Var("n", NODE)


def test_the_two_state_formula_has_guard_updates_and_frame():
    step = Transition("mark", (N,), (), Not(MARKED(N)), (Update(MARKED, (X,), Or((MARKED(X), Equal(X, N)))),))
    x0 = Var("X0", NODE)
    assert step.formula((MARKED, NEXT, RAISED)) is conj(
        Not(MARKED(N)),
        Forall((X,), Iff(MARKED.at(1)(X), Or((MARKED(X), Equal(X, N))))),
        Forall((x0,), Equal(NEXT.at(1)(x0), NEXT(x0))),
        Iff(RAISED.at(1)(), RAISED()),
    )
    assert step.modified == {MARKED}


def test_parameters_become_constants_that_no_language_can_write():
    step = Transition("mark", (N, Var("c", COLOR)), (), TRUE, ())
    assert {variable.name: constant.symbol for variable, constant in step.constants.items()} == {
        "n": Symbol("@n", (), NODE),
        "c": Symbol("@c", (), COLOR),
    }


def test_after_replaces_all_updated_symbols_at_once():
    swap = Transition("swap", (), (), TRUE, (Update(LAST, (), FIRST()), Update(MARKED, (X,), Equal(X, LAST()))))
    assert swap.after(MARKED(LAST())) is Equal(FIRST(), LAST())
    assert swap.after(Exists((X,), MARKED(X))) is Exists((X,), Equal(X, LAST()))
    assert swap.after(RAISED()) is RAISED()


def test_after_does_not_capture_parameters():
    step = Transition("mark", (X,), (), TRUE, (Update(MARKED, (Y,), Or((MARKED(Y), Equal(Y, X)))),))
    renamed = Var("X_1", NODE)
    assert step.after(Forall((X,), MARKED(X))) is Forall((renamed,), Or((MARKED(renamed), Equal(renamed, X))))


@given(st.data())
def test_a_formula_after_the_step_is_the_formula_in_the_updated_structure(data):
    transition = data.draw(transitions("step"))
    state = data.draw(structures())
    env = data.draw(bindings(state.sizes, transition.parameters))
    chosen = {choice: data.draw(tables(choice, state.sizes)) for choice in transition.choices}
    before = Structure(state.sizes, {**state.tables, **chosen})
    new = dict(state.tables)
    for update in transition.updates:
        new[update.symbol] = {
            args: before.evaluate(update.value, {**env, **dict(zip(update.variables, args, strict=True))})
            for args in state.tables[update.symbol]
        }
    after = Structure(state.sizes, new)
    formula = data.draw(formulas())
    assert before.holds(transition.after(formula), env) == after.holds(formula)
    pair = Structure(state.sizes, {**before.tables, **{symbol.at(1): new[symbol] for symbol in SYMBOLS}})
    mutable = tuple(symbol for symbol in SYMBOLS if symbol.mutable)
    assert pair.holds(transition.formula(mutable), env) == before.holds(transition.guard, env)


def test_frames_are_only_for_what_is_asked():
    assert Transition("idle", (), (), TRUE, ()).formula() is TRUE
    assert Transition("idle", (), (), TRUE, ()).formula((HUE,)) is Equal(HUE.at(1)(), HUE())
