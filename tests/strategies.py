"""Random formulas, structures and protocols over one small signature, for hypothesis.

The signature has a bit of everything: two uninterpreted sorts, an enumerated one, relations (one of them with a truth
value as argument), functions and constants, rigid and mutable.  Formulas are built from the bare node types, so that
odd shapes occur: empty and single conjunctions, shadowed variables, quantifiers inside terms.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
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
    Sort,
    Symbol,
    Var,
    distinct,
    equal,
)
from quorate.models.relational import Named, RelationalModel, Transition, Update, enumeration_axiom

settings.register_profile(
    "quorate", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("quorate")

NODE, VALUE = Sort("node"), Sort("value")
COLOR = Sort("color", ("red", "green", "blue"))
SORTS = (NODE, VALUE, COLOR)

MARKED = Symbol("marked", (NODE,), BOOL, mutable=True)
EDGE = Symbol("edge", (NODE, NODE), BOOL, mutable=True)
STORED = Symbol("stored", (NODE, VALUE), BOOL)
RAISED = Symbol("raised", (), BOOL, mutable=True)
AGREES = Symbol("agrees", (BOOL, NODE), BOOL, mutable=True)
LIKED = Symbol("liked", (COLOR,), BOOL, mutable=True)
NEXT = Symbol("next", (NODE,), NODE, mutable=True)
HELD = Symbol("held", (NODE,), VALUE, mutable=True)
PAINT = Symbol("paint", (VALUE,), COLOR)
FIRST = Symbol("first", (), NODE)
LAST = Symbol("last", (), NODE, mutable=True)
TOP = Symbol("top", (), VALUE)
HUE = Symbol("hue", (), COLOR, mutable=True)
SYMBOLS = (MARKED, EDGE, STORED, RAISED, AGREES, LIKED, NEXT, HELD, PAINT, FIRST, LAST, TOP, HUE)
ELEMENTS = tuple(Symbol(name, (), COLOR) for name in COLOR.elements)

X, Y, Z = (Var(name, NODE) for name in "XYZ")
V, W = (Var(name, VALUE) for name in "VW")
C = Var("C", COLOR)
B = Var("B", BOOL)
VARIABLES = (X, Y, V, C, B)
"""What quantifiers bind: few names, so that they shadow each other often."""


def _term(draw, symbols, scope, sort, depth):
    def inner(sort, depth=depth - 1):
        return _term(draw, symbols, scope, sort, depth)

    heads = [symbol for symbol in symbols if symbol.sort is sort and (depth > 0 or not symbol.arguments)]
    leaves = [variable for variable in scope if variable.sort is sort] + heads
    if sort is BOOL:
        kinds = ["leaf", "leaf", "equal", "constant"]
        if depth > 0:
            kinds = ["leaf", "not", "and", "or", "implies", "iff", "if", "forall", "exists", "equal"]
        kind = draw(st.sampled_from(kinds))
        if kind == "constant" or (kind == "leaf" and not leaves):
            return draw(st.sampled_from([And(()), Or(())]))
        match kind:
            case "not":
                return Not(inner(BOOL))
            case "and" | "or":
                members = [inner(BOOL) for _ in range(draw(st.integers(0, 3)))]
                return And(members) if kind == "and" else Or(members)
            case "implies":
                return Implies(inner(BOOL), inner(BOOL))
            case "iff":
                return Iff(inner(BOOL), inner(BOOL))
            case "if":
                return If(inner(BOOL), inner(BOOL), inner(BOOL))
            case "forall" | "exists":
                variables = draw(st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True))
                body = _term(draw, symbols, (*(v for v in scope if v not in variables), *variables), BOOL, depth - 1)
                return Forall(variables, body) if kind == "forall" else Exists(variables, body)
            case "equal":
                available = {symbol.sort for symbol in symbols if not symbol.arguments} & {NODE, VALUE, COLOR}
                compared = draw(st.sampled_from(sorted(available, key=str)))
                return Equal(inner(compared), inner(compared))
    elif depth > 0 and draw(st.integers(0, 5)) == 0:
        return If(inner(BOOL), inner(sort), inner(sort))
    head = draw(st.sampled_from(leaves))
    return head if isinstance(head, Var) else Apply(head, [inner(argument) for argument in head.arguments])


@st.composite
def terms(draw, sort=BOOL, scope=(), depth=3, symbols=(*SYMBOLS, *ELEMENTS)):
    """A well-sorted term whose free variables are among `scope`; symbols must include a constant of every sort used."""
    return _term(draw, symbols, scope, sort, depth)


def formulas(scope=(), depth=3, symbols=(*SYMBOLS, *ELEMENTS)):
    """A formula whose free variables are among `scope`."""
    return terms(BOOL, scope, depth, symbols)


def _table(draw, symbol, sizes):
    places = list(argument_tuples(symbol.arguments, sizes))
    values = st.sampled_from(domain(symbol.sort, sizes))
    return dict(zip(places, draw(st.lists(values, min_size=len(places), max_size=len(places))), strict=True))


@st.composite
def tables(draw, symbol, sizes):
    """A table for a symbol."""
    return _table(draw, symbol, sizes)


@st.composite
def structures(draw, largest=2, symbols=SYMBOLS, sizes=None):
    """A structure of the given sizes, or with up to `largest` elements in each uninterpreted sort."""
    sizes = sizes or {sort: draw(st.integers(1, largest)) for sort in (NODE, VALUE)}
    return Structure(sizes, {symbol: _table(draw, symbol, sizes) for symbol in symbols})


@st.composite
def bindings(draw, sizes, variables=VARIABLES):
    """Values for variables."""
    return {variable: draw(st.sampled_from(domain(variable.sort, sizes))) for variable in variables}


def diagram(structure):
    """Formulas that only this structure satisfies, up to renaming of elements."""
    names = {sort: [Symbol(f"{sort}_{i}", (), sort)() for i in range(n)] for sort, n in structure.sizes.items()}
    facts = [enumeration_axiom(COLOR)]
    for sort, elements in names.items():
        variable = Var("E", sort)
        facts += [distinct(elements), Forall((variable,), Or([Equal(variable, element) for element in elements]))]
    names |= {COLOR: [element() for element in ELEMENTS], BOOL: [FALSE, TRUE]}
    for symbol, table in structure.tables.items():
        for args, value in table.items():
            applied = symbol(*(names[sort][arg] for arg, sort in zip(args, symbol.arguments, strict=True)))
            facts.append(equal(applied, names[symbol.sort][value]))
    return facts


# -- protocols -------------------------------------------------------------------------------------------------------

PARAMETERS = (Var("n", NODE), Var("X", NODE), Var("v", VALUE), Var("loud", BOOL), Var("c", COLOR))
"""Parameters of transitions; one shares its name with a variable that quantifiers bind."""

CHOICES = (Symbol("fresh'", (NODE,), BOOL), Symbol("pick'", (), NODE))


@st.composite
def transitions(draw, name, depth=2):
    """A transition with parameters, choices, a guard and simultaneous updates."""
    parameters = tuple(draw(st.lists(st.sampled_from(PARAMETERS), max_size=2, unique=True)))
    choices = tuple(draw(st.lists(st.sampled_from(CHOICES), max_size=1)))
    known = (*SYMBOLS, *ELEMENTS, *choices)
    guard = draw(formulas(parameters, depth, known))
    mutable = [symbol for symbol in SYMBOLS if symbol.mutable]
    updates = []
    for symbol in draw(st.lists(st.sampled_from(mutable), min_size=1, max_size=3, unique=True)):
        places = tuple(Var(f"Z{i}", sort) for i, sort in enumerate(symbol.arguments))
        updates.append(Update(symbol, places, draw(terms(symbol.sort, (*parameters, *places), depth, known))))
    return Transition(name, parameters, choices, guard, tuple(updates))


@st.composite
def models(draw, depth=2):
    """A protocol of two transitions, with initial states and a safety property."""
    return RelationalModel(
        name="random",
        language="pyv",
        sorts=SORTS,
        symbols=SYMBOLS,
        derived=(),
        axioms=(),
        initial=(Named("initially", draw(formulas((), depth))),),
        transitions=(draw(transitions("left", depth)), draw(transitions("right", depth))),
        safety=(Named("safe", draw(formulas((), depth))),),
        invariants=(),
    )
