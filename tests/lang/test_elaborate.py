"""The shared elaborator: sorts by unification, names, definitions, limits; on scopes built by hand."""

from __future__ import annotations

import pytest

from lang.reading import expression
from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import (
    MAX_TERM_DEPTH,
    MAX_TERM_SIZE,
    Elaborator,
    Failed,
    Hole,
    Macro,
    Scope,
    TooLarge,
    argument_count,
    measure,
    measure_replaced,
    references,
    replaced,
    resolve,
    unify,
)
from quorate.lang.reader import Binder
from quorate.logic.printing import show
from quorate.logic.terms import BOOL, INT, Sort, Symbol, Term, Var, conj, disj, equal, exists, neg
from quorate.models.source import Source, Span

NODE, VALUE = Sort("node"), Sort("value")
N = Var("n", NODE)
SYMBOLS = [
    Symbol("p", (NODE,), BOOL, True),
    Symbol("q", (NODE, VALUE), BOOL, True),
    Symbol("f", (NODE,), VALUE),
    Symbol("c", (), NODE),
    Symbol("k", (), INT, True),
    Symbol("b", (), BOOL, True),
]
P, B = SYMBOLS[0], SYMBOLS[5]
A = Symbol("a", (), BOOL, True)


def scope(**macros: Macro) -> Scope:
    made = Scope(
        symbols={symbol.name: symbol for symbol in SYMBOLS},
        macro=lambda name, span: macros.get(name),
        macro_names=lambda: macros,
    )
    made.sorts |= {"node": NODE, "value": VALUE}
    return made


def elaborate(text: str, states: int = 1, where: Scope | None = None) -> str:
    """The formula as text, or the codes and columns of what is wrong with it (columns from 0)."""
    sink = Sink()
    elaborator = Elaborator(where or scope(), sink, str.isupper, states)
    try:
        return show(elaborator.formula(expression(text)))
    except Failed:
        return " ".join(f"{item.code}@{item.span.start - len('axiom ')}" for item in sink.sorted())


def test_unification() -> None:
    first, second, third = Hole(), Hole(), Hole()
    assert unify(first, second) and unify(second, third) and unify(third, NODE)
    assert resolve(first) is NODE
    assert unify(first, third) and not unify(first, VALUE) and not unify(BOOL, second)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X)", "forall X:node. p(X)"),
        ("q(Y, X) -> p(Y)", "forall Y:node, X:value. q(Y, X) -> p(Y)"),
        ("forall x. q(c, x)", "forall x:value. q(c, x)"),
        ("exists x, y. x = y & f(x) = f(c)", "exists x:node, y:node. x = y & f(x) = f(c)"),
        ("X = c", "forall X:node. X = c"),
        ("if b then X = c else p(X)", "forall X:node. if b then X = c else p(X)"),
        ("let x = f(c) in q(c, x)", "q(c, f(c))"),
        ("let x:value = f(c) in b", "b"),
        ("let x = X in forall y. (exists X. q(X, f(x))) -> p(y) | p(x)", None),
        ("distinct(X, c)", "forall X:node. X != c"),
        ("k + 1 < X", "forall X:int. k + 1 < X"),
        ("X < Y", "forall X:int, Y:int. X < Y"),
        ("b = (k = 2 * k)", "b <-> k = 2 * k"),
        ("true & b", "b"),
        ("p(if b then c else X)", "forall X:node. p(if b then c else X)"),
        ("forall x:node. (forall x:value. q(c, x)) & p(x)", "forall x:node. (forall x:value. q(c, x)) & p(x)"),
    ],
)
def test_formulas(text: str, expected: str | None) -> None:
    if expected is None:
        expected = "forall X:node, y:node. (exists X_1:node. q(X_1, f(X))) -> p(y) | p(X)"
    assert elaborate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(c) & r", "Q0201@7"),
        ("p(c, c)", "Q0202@0"),
        ("p", "Q0202@0"),
        ("b(c)", "Q0202@0"),
        ("p(f(c))", "Q0203@2"),
        ("c = f(c)", "Q0203@4"),
        ("distinct(c, c, f(c))", "Q0203@15"),
        ("if b then c = c else c", "Q0212@21"),
        ("c + 1 = 2", "Q0203@0"),
        ("k < c", "Q0203@4"),
        ("1 & b", "Q0212@0"),
        ("c", "Q0212@0"),
        ("forall x. b", "Q0204@7"),
        ("X = Y", "Q0204@0 Q0204@4"),
        ("forall x:nod. p(x)", "Q0206@7"),
        ("forall x. x(c) & p(x)", "Q0202@10"),
        ("forall x. p(x')", "Q0207@12"),
        ("p'(c)", "Q0207@0"),
        ("new(p(c))", "Q0207@0"),
        ("new(new(new(p'(c))))", "Q0207@0"),
        ("c' = c", "Q0207@0"),
        ("r(c, s)", "Q0201@0 Q0201@5"),
        ("p(r(X)) & q(c, c)", "Q0201@2 Q0203@15"),
        ("let x = c in q(c, x)", "Q0203@18"),
        ("let x:value = c in b", "Q0203@14"),
    ],
)
def test_errors(text: str, expected: str) -> None:
    assert elaborate(text) == expected


def test_states() -> None:
    assert elaborate("p(c)", 0) == "Q0208@0"
    assert elaborate("f(c) = f(c) & p(c)", 0) == "Q0208@14"
    assert elaborate("new(f(c) = f(c))", 0) == "Q0207@0"
    assert elaborate("p'(c) & new(p(c)) & p(c)", 2) == "p'(c) & p(c)"
    assert elaborate("p''(c)", 2) == "Q0207@0"
    assert elaborate("new(p'(c))", 2) == "Q0207@4"
    assert elaborate("q'(c, f(c)) -> new(q(c, f(c)))", 2) == "q'(c, f(c)) -> q'(c, f(c))"


def test_definitions() -> None:
    macros = scope(
        m=Macro((N,), conj(P(N), neg(P.at(1)(N))), 2),
        o=Macro((N,), disj(P(N), equal(N, SYMBOLS[3]())), 1),
        z=Macro((), equal(SYMBOLS[3](), SYMBOLS[3]()), 0),
    )
    assert elaborate("m(X)", 2, macros) == "forall X:node. p(X) & !p'(X)"
    assert elaborate("o'(X) -> new(o(Y))", 2, macros) == "forall X:node, Y:node. p'(X) | X = c -> p'(Y) | Y = c"
    assert elaborate("m(c)", 1, macros) == "Q0207@0"
    assert elaborate("m'(c)", 2, macros) == "Q0207@0"
    assert elaborate("o(c)", 0, macros) == "Q0208@0"
    assert elaborate("z", 0, macros) == "true"
    assert elaborate("z'", 2, macros) == "Q0207@0"


def test_definitions_do_not_capture() -> None:
    x = Var("X", NODE)
    other = Macro((N,), exists((x,), neg(equal(N, x))), 1)
    assert elaborate("forall X. o(X)", 1, scope(o=other)) == "forall X:node. exists X_1:node. X != X_1"


def test_what_uses_a_broken_name_is_left_out_silently() -> None:
    where = scope()
    where.broken.add("lost")
    sink = Sink()
    with pytest.raises(Failed):
        Elaborator(where, sink, str.isupper).formula(expression("lost(c) & lost & p(lost)"))
    assert not sink.found


def test_a_name_close_to_a_known_one_is_suggested() -> None:
    sink = Sink()
    where = Scope(symbols={"holds": P})
    with pytest.raises(Failed):
        Elaborator(where, sink, str.isupper).formula(expression("hold(x) & exists y:nodes. true"))
    assert [item.fix for item in sink.sorted()] == ["did you mean `holds`?", None, None]


def test_terms_of_any_sort() -> None:
    sink = Sink()
    assert Elaborator(scope(), sink, str.isupper).term(expression("f(c)"), Hole()).sort is VALUE
    with pytest.raises(Failed):
        Elaborator(scope(), sink, str.isupper).term(expression("f(X)"), VALUE)
    assert [item.code for item in sink.sorted()] == ["Q0221"]


def test_parameters_get_their_sorts_from_the_body() -> None:
    sink = Sink()
    span = Span(Source("t", "x"), 0, 1)
    elaborator = Elaborator(scope(), sink, str.isupper, 2)
    [x, y] = elaborator.parameters([Binder("x", None, span), Binder("y", "value", span)])
    assert show(elaborator.formula(expression("q'(x, y)"))) == "q'(x, y)"
    assert (x.variable(), y.variable()) == (Var("x", NODE), Var("y", VALUE))


def test_terms_may_not_grow_without_end() -> None:
    sink, last = Sink(), conj(B())
    with pytest.raises(Failed):
        for i in range(60):
            twice = expression(f"(m -> k = {i}) <-> (p(c) -> m)")
            last = Elaborator(scope(m=Macro((), last, 1)), sink, str.isupper).formula(twice)
    assert [item.code for item in sink.sorted()] == ["Q0222"]
    assert MAX_TERM_SIZE // 4 < measure(last, {})[0] <= MAX_TERM_SIZE


def test_terms_may_not_become_too_deep() -> None:
    sink = Sink()
    deep = Macro((), _tower(MAX_TERM_DEPTH - 1), 1)
    assert measure(deep.body, {})[1] == MAX_TERM_DEPTH - 1
    fits = Elaborator(scope(m=deep), sink, str.isupper).formula(expression("!m"))
    assert measure(fits, {})[1] == MAX_TERM_DEPTH
    with pytest.raises(Failed):
        Elaborator(scope(m=deep), sink, str.isupper).formula(expression("!m | b"))
    assert [item.code for item in sink.sorted()] == ["Q0103"]


def _tower(depth: int) -> Term:
    term: Term = B()
    for i in range(depth - 1):
        term = conj(term, A()) if i % 2 else disj(term, A())
    return term


def test_measures() -> None:
    term = conj(disj(B(), P(N)), neg(disj(B(), P(N))))
    assert measure(term, {}) == (10, 5)
    assert measure_replaced(term, {}) == (10, 5)
    assert measure_replaced(term, {P: (5, 3)}) == (10 + 2 * (5 * 2 - 2), 7)


def test_replacing_is_refused_when_the_result_may_be_too_large() -> None:
    big = conj(*(equal(N, Symbol(f"c{i}", (), NODE)()) for i in range(2000)))
    assert replaced(P(N), {P: ((N,), big)}) is big
    with pytest.raises(TooLarge):
        replaced(disj(*(P(Symbol(f"d{i}", (), NODE)()) for i in range(2000))), {P: ((N,), big)})


def test_references() -> None:
    item = expression("if a then forall X. b(X) & new(c) else let y = d(e) in !f = y")
    assert sorted(found.name for found in references(item)) == ["X", "a", "b", "c", "d", "e", "f", "y"]


def test_argument_counts() -> None:
    assert [argument_count(n) for n in range(3)] == ["no arguments", "1 argument", "2 arguments"]
