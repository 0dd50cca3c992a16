import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Or,
    Quantified,
    Symbol,
    Var,
    conj,
)
from quorate.logic.transform import (
    conjuncts,
    fresh_name,
    fresh_variables,
    is_one_state,
    nnf,
    prime,
    rename_symbols,
    replace_symbols,
    simplify,
    skolem_constants,
    sorts_of,
    substitute,
    subterms,
    symbols_of,
)
from strategies import (
    AGREES,
    EDGE,
    ELEMENTS,
    FIRST,
    HELD,
    HUE,
    LAST,
    MARKED,
    NEXT,
    NODE,
    RAISED,
    STORED,
    SYMBOLS,
    TOP,
    VALUE,
    VARIABLES,
    B,
    C,
    V,
    X,
    Y,
    Z,
    bindings,
    formulas,
    structures,
    terms,
)

X_1, X_2, X_1_1 = Var("X_1", NODE), Var("X_2", NODE), Var("X_1_1", NODE)
VALUE_X, VALUE_1 = Var("X", VALUE), Var("X_1", VALUE)


# -- walking ---------------------------------------------------------------------------------------------------------


def test_subterms_come_once_and_parents_first():
    formula = And((MARKED(X), Or((MARKED(X), RAISED()))))
    assert list(subterms(formula)) == [formula, MARKED(X), X, Or((MARKED(X), RAISED())), RAISED()]


def test_symbols_keep_their_primes():
    assert symbols_of(Iff(MARKED.at(1)(X), MARKED(FIRST()))) == {MARKED.at(1), MARKED, FIRST}


def test_sorts_include_those_of_unused_bound_variables():
    assert sorts_of(Forall((V,), MARKED(FIRST()))) == {BOOL, NODE, VALUE}


def test_priming_leaves_rigid_symbols_and_variables_alone():
    formula = Forall((X,), Implies(MARKED(X), Equal(NEXT(X), FIRST())))
    assert prime(formula) is Forall((X,), Implies(MARKED.at(1)(X), Equal(NEXT.at(1)(X), FIRST())))
    assert prime(prime(formula), 2) is prime(formula, 3)
    assert prime(formula, 0) is formula
    assert prime(MARKED.at(1)(X)) is MARKED.at(2)(X)


def test_one_state_formulas():
    assert is_one_state(Forall((X,), MARKED(X)))
    assert not is_one_state(Or((MARKED(X), RAISED.at(1)())))


def test_renaming_symbols_keeps_the_shape():
    formula = Exists((X,), And((MARKED(X), And((Equal(NEXT(X), X),)))))
    other = Symbol("other", (NODE,), BOOL)
    renamed = rename_symbols(formula, lambda symbol: other if symbol is MARKED else symbol)
    assert renamed is Exists((X,), And((other(X), And((Equal(NEXT(X), X),)))))


def test_fresh_names_take_the_smallest_number():
    assert fresh_name("X", {"Y"}.__contains__) == "X"
    assert fresh_name("X", {"X", "X_1", "X_3"}.__contains__) == "X_2"
    assert fresh_variables([X, X, V], [X_1]) == [X, X_2, V]


# -- substitution ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "term, values, expected",
    [
        (EDGE(X, Y), {X: Y, Y: X}, EDGE(Y, X)),
        (Forall((X,), EDGE(X, Y)), {X: FIRST()}, Forall((X,), EDGE(X, Y))),
        (Forall((X,), EDGE(X, Y)), {Y: FIRST()}, Forall((X,), EDGE(X, FIRST()))),
        (Forall((X,), EDGE(X, Y)), {Y: X}, Forall((X_1,), EDGE(X_1, X))),
        (Forall((X,), EDGE(X, Y)), {Y: NEXT(X)}, Forall((X_1,), EDGE(X_1, NEXT(X)))),
        (Exists((X,), And((EDGE(X, Y), EDGE(X_1, X)))), {Y: X}, Exists((X_2,), And((EDGE(X_2, X), EDGE(X_1, X_2))))),
        (
            Forall((X,), Forall((X_1,), And((EDGE(X, X_1), MARKED(Y))))),
            {Y: X},
            Forall((X_1,), Forall((X_1_1,), And((EDGE(X_1, X_1_1), MARKED(X))))),
        ),
        (
            Forall((VALUE_X,), And((STORED(Y, VALUE_X), MARKED(Y)))),
            {Y: X},
            Forall((VALUE_1,), And((STORED(X, VALUE_1), MARKED(X)))),
        ),
        (Forall((X,), MARKED(X)), {Y: X}, Forall((X,), MARKED(X))),
        (And((MARKED(X), Forall((X,), MARKED(X)))), {X: Y}, And((MARKED(Y), Forall((X,), MARKED(X))))),
        (AGREES(B, X), {B: Forall((X,), MARKED(X))}, AGREES(Forall((X,), MARKED(X)), X)),
    ],
)
def test_substitution_by_hand(term, values, expected):
    assert substitute(term, values) is expected


def test_substitution_leaves_untouched_parts_as_they_are():
    odd = And((And(()), Or((RAISED(),))))
    assert substitute(odd, {X: Y}) is odd
    assert substitute(Or((odd, MARKED(X))), {X: Y}) is Or((odd, MARKED(Y)))
    assert substitute(Implies(B, MARKED(X)), {B: TRUE}) is MARKED(X), "what comes in is folded"


@given(st.data())
def test_substituting_a_term_means_binding_its_value(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    formula = data.draw(formulas(VARIABLES))
    replaced = data.draw(st.lists(st.sampled_from(VARIABLES), unique=True, min_size=1))
    values = {variable: data.draw(terms(variable.sort, VARIABLES, depth=1)) for variable in replaced}
    result = substitute(formula, values)
    inner = {**env, **{variable: structure.evaluate(value, env) for variable, value in values.items()}}
    assert structure.holds(result, env) == structure.holds(formula, inner)
    assert result.free <= formula.free.difference(values).union(*(value.free for value in values.values()))


def test_replacing_symbols_by_hand():
    assert replace_symbols(Forall((X,), MARKED(X)), {MARKED: ((Y,), EDGE(Y, LAST()))}) is Forall((X,), EDGE(X, LAST()))
    # Both at once: what comes in is not replaced again.
    swap = {MARKED: ((X,), EDGE(X, X)), EDGE: ((X, Y), MARKED(Y))}
    assert replace_symbols(And((MARKED(X), EDGE(X, Y))), swap) is And((EDGE(X, X), MARKED(Y)))
    # Arguments are replaced first, then put in.
    assert replace_symbols(NEXT(NEXT(X)), {NEXT: ((Z,), If(MARKED(Z), Z, FIRST()))}) is If(
        MARKED(If(MARKED(X), X, FIRST())), If(MARKED(X), X, FIRST()), FIRST()
    )
    # Only the symbol with the same primes.
    assert replace_symbols(MARKED.at(1)(X), {MARKED: ((X,), TRUE)}) is MARKED.at(1)(X)


def test_a_free_variable_of_a_definition_is_not_captured():
    # A step with parameter X marks X as well: afterwards all are marked only if all but X were.
    marks = {MARKED: ((Y,), Or((MARKED(Y), Equal(Y, X))))}
    assert replace_symbols(Forall((X,), MARKED(X)), marks) is Forall((X_1,), Or((MARKED(X_1), Equal(X_1, X))))


def test_a_binder_inside_a_definition_does_not_capture_arguments():
    reaches = {MARKED: ((Y,), Exists((X,), EDGE(X, Y)))}
    assert replace_symbols(Forall((X,), MARKED(X)), reaches) is Forall((X,), Exists((X_1,), EDGE(X_1, X)))


@given(st.data())
def test_replacing_symbols_means_recomputing_their_tables(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    formula = data.draw(formulas(VARIABLES))
    replaced = data.draw(st.lists(st.sampled_from([MARKED, EDGE, AGREES, NEXT, HELD, LAST]), unique=True, min_size=1))
    definitions, tables = {}, dict(structure.tables)
    for symbol in replaced:
        # Places share names with variables that the formula binds and that other definitions leave free.
        pool = {NODE: [X, Y], BOOL: [B]}
        places = tuple(pool[sort].pop() for sort in symbol.arguments)
        body = data.draw(terms(symbol.sort, VARIABLES, depth=2))
        definitions[symbol] = (places, body)
        tables[symbol] = {
            args: structure.evaluate(body, {**env, **dict(zip(places, args, strict=True))})
            for args in argument_tuples(symbol.arguments, structure.sizes)
        }
    result = replace_symbols(formula, definitions)
    assert structure.holds(result, env) == Structure(structure.sizes, tables).holds(formula, env)


# -- normal forms ----------------------------------------------------------------------------------------------------


def connectives_outside_terms(formula):
    """The formula and the formulas that it is made of by connectives and quantifiers."""
    yield formula
    if isinstance(formula, Not | And | Or | Implies | Iff | If | Quantified) and formula.sort is BOOL:
        for child in formula.children:
            yield from connectives_outside_terms(child)


@given(st.data())
def test_negation_normal_form_means_the_same(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    formula = data.draw(formulas(VARIABLES))
    value = structure.holds(formula, env)
    assert structure.holds(nnf(formula), env) == value
    assert structure.holds(nnf(formula, positive=False), env) != value
    for part in connectives_outside_terms(nnf(formula)):
        assert not isinstance(part, Implies | Iff | If)
        assert not isinstance(part, Not) or isinstance(part.arg, Apply | Equal | Var)


@given(st.data())
def test_simplification_means_the_same_and_folds_constants(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    formula = data.draw(formulas(VARIABLES))
    simple = simplify(formula)
    assert structure.holds(simple, env) == structure.holds(formula, env)
    assert simplify(simple) is simple
    for part in connectives_outside_terms(simple):
        constants = {TRUE, FALSE}.intersection(part.children if part.children else ())
        assert not constants or isinstance(part, Apply)


@given(st.data())
def test_conjuncts_mean_the_same_together(data):
    structure = data.draw(structures())
    env = data.draw(bindings(structure.sizes))
    formula = data.draw(formulas(VARIABLES))
    parts = conjuncts(formula)
    assert all(structure.holds(part, env) for part in parts) == structure.holds(formula, env)
    assert TRUE not in parts
    assert structure.holds(conj(*parts), env) == structure.holds(formula, env)


def test_conjuncts_by_hand():
    p, q, r = MARKED(X), RAISED(), EDGE(X, X)
    assert conjuncts(Forall((X,), And((p, And((q, r)))))) == [Forall((X,), p), q, Forall((X,), r)]
    assert conjuncts(Not(Or((p, Implies(q, r))))) == [Not(p), q, Not(r)]
    assert conjuncts(Not(Not(And((p, q))))) == [p, q]
    assert conjuncts(TRUE) == []
    assert conjuncts(FALSE) == [FALSE]
    assert conjuncts(Exists((X,), And((p, r)))) == [Exists((X,), And((p, r)))]


@given(st.data())
def test_skolem_constants_exist_exactly_where_the_formula_holds(data):
    structure = data.draw(structures())
    formula = data.draw(formulas())
    constants, result = skolem_constants(formula, {symbol.name for symbol in SYMBOLS}.__contains__)
    assert len({constant.name for constant in constants}) == len(constants)
    assert not {constant.name for constant in constants} & {symbol.name for symbol in SYMBOLS}

    def witnessed(rest, tables):
        if not rest:
            return Structure(structure.sizes, tables).holds(result)
        values = domain(rest[0].sort, structure.sizes)
        return any(witnessed(rest[1:], {**tables, rest[0]: {(): value}}) for value in values)

    assert witnessed(constants[:4], {**structure.tables, **{c: {(): 0} for c in constants[4:]}}) <= structure.holds(
        formula
    )
    if len(constants) <= 4:
        assert witnessed(constants, dict(structure.tables)) == structure.holds(formula)


def test_skolem_constants_by_hand():
    sk = Symbol("X", (), NODE)
    assert skolem_constants(Exists((X,), MARKED(X)), lambda name: False) == ([sk], MARKED(sk()))
    assert skolem_constants(Not(Forall((X,), MARKED(X))), lambda name: False) == ([sk], Not(MARKED(sk())))
    below = Forall((X,), Exists((Y,), EDGE(X, Y)))
    assert skolem_constants(below, lambda name: False) == ([], below)
    for stays in (
        Or((Exists((X,), MARKED(X)), RAISED())),
        Or((Forall((X,), MARKED(X)), RAISED())),
        Not(And((Exists((X,), MARKED(X)), Forall((X,), MARKED(X))))),
        Implies(Forall((X,), MARKED(X)), Exists((X,), MARKED(X))),
        Iff(RAISED(), Exists((X,), MARKED(X))),
    ):
        assert skolem_constants(stays, lambda name: False) == ([], stays)
    constants, result = skolem_constants(
        And((Exists((X,), MARKED(X)), Exists((X,), Equal(NEXT(X), X)))), {"X"}.__contains__
    )
    one, two = constants
    assert (one.name, two.name) == ("X_1", "X_2")
    assert result is And((MARKED(one()), Equal(NEXT(two()), two())))


def test_conditionals_inside_terms_stay():
    formula = Not(Equal(If(RAISED(), FIRST(), LAST()), FIRST()))
    assert nnf(formula) is formula
    assert nnf(Not(If(RAISED(), MARKED(FIRST()), MARKED(LAST())))) is And(
        (Or((Not(RAISED()), Not(MARKED(FIRST())))), Or((RAISED(), Not(MARKED(LAST())))))
    )
    assert simplify(Equal(If(Or((TRUE, RAISED())), FIRST(), LAST()), FIRST())) is TRUE


def test_quantifiers_over_every_kind_of_sort_are_simplified_away_when_unused():
    formula = And((Forall((C,), RAISED()), Exists((V,), STORED(FIRST(), TOP())), Forall((B,), TRUE)))
    assert simplify(formula) is And((RAISED(), STORED(FIRST(), TOP())))
    assert simplify(Forall((X,), Or((Not(Equal(HUE(), ELEMENTS[0]())), TRUE)))) is TRUE
