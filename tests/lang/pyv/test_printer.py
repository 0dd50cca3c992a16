"""Models as mypyvy text: what is printed reads back as the same model, and what cannot be printed is refused."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings

from lang.pyv.test_elaborate import IMPLICIT, OLD
from lang.pyv.test_transitions import HARD, transitions
from lang.reading import HEADER, model
from quorate.lang import load, parse
from quorate.lang.diagnostics import LanguageError
from quorate.lang.ivy.printer import print_model as print_ivy
from quorate.lang.pyv.printer import print_model
from quorate.logic.terms import (
    BOOL,
    INT,
    TRUE,
    Exists,
    Forall,
    Iff,
    Implies,
    Number,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    neg,
)
from quorate.models.relational import Derived, Named, RelationalModel, Theorem, Transition, Update
from quorate.models.source import Source

ROOT = Path(__file__).resolve().parents[3]
CORPUS = Path(os.environ.get("QUORATE_CORPUS", ROOT.parent / "shared" / "corpus"))
FILES = sorted((ROOT / "protocols").rglob("*.pyv")) + sorted(CORPUS.rglob("*.pyv"))


def same(found: RelationalModel, path: str = "test.pyv") -> RelationalModel:
    """Print, read and compare; the printed text reads without a warning."""
    text = print_model(found)
    again = parse(Source(path, text))
    assert again.model == found
    assert [item.render() for item in again.warnings] == []
    return again.model


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_read_back_the_same(path: Path) -> None:
    same(load(path).model, str(path))


MODELS = {
    "everything": """
axiom [total] le(X, Y) | le(Y, X)
axiom distinct(zero, next(zero), next(next(zero)))
derived relation known(value): known(V) <-> exists N. q(N, V)
derived relation some: some <-> exists V. known(V)
init !p(X) & leader = zero & count = 0
transition t(n: node, v: value) modifies p, q, owner
  & p(n) & (new(p(X)) <-> if X = n then flag else p(X)) & (new(q(X, V)) <-> q(X, V) & (X != n | V != v))
  & (if V = v then owner'(V) = n else owner'(V) = owner(V))
transition havoc() modifies leader, count count' >= count & new(some)
transition idle() = flag -> p(leader)
safety [unique] q(N1, V) & q(N2, V) -> N1 = N2
invariant count >= 0 & (forall N. exists V. owner(V) = N <-> p(N))
zerostate theorem [t0] le(X, X)
onestate theorem [t1] p(X) -> p(X) | flag
twostate theorem [t2] t(leader, V) & known'(V) -> flag'
sat trace { assert p(X) t(leader, *) | idle any transition assert exists X. p(X) }
unsat trace { assert init havoc }
""",
    "conditionals": """
safety p(if flag then leader else (if p(leader) then zero else next(zero)))
safety (if flag then p(X) else !p(X)) & (flag | (if p(X) then flag else p(leader))) & !(if flag then p(X) else p(leader))
safety count + (if flag then 1 else 2) * 3 - (4 - count) > 0
""",
    "connectives": """
safety (flag -> p(X)) -> p(leader)
safety flag -> p(X) -> p(leader)
safety (flag <-> p(X)) <-> (p(leader) <-> count = 1)
safety !(flag & p(X)) | !(flag | p(X)) | !(flag -> p(X)) | !(flag <-> p(X)) | !(X = leader) | !!flag
safety flag & (p(X) | p(leader)) & (exists Y. p(Y) & forall Z. le(Y, Z)) & (flag | exists Y. p(Y))
""",
    "implicitly derived": IMPLICIT,
    "old dialect": OLD,
    "labels that look like numbers": "safety [safety_2] flag\nsafety p(X)\nsafety [safety_2_1] flag",
    "names of sorts": "sort relation_\nmutable relation node(node)\nsafety node(X)",
    "primes": "transition t() modifies flag, p flag' = flag & (p'(X) <-> p(X) & flag')",
    "free choices": "transition t() modifies p, leader (new(p(X)) <-> new(p(X))) & leader' = leader'",
}


@pytest.mark.parametrize("name", MODELS)
def test_models_read_back_the_same(name: str) -> None:
    same(model(MODELS[name]))


@pytest.mark.parametrize("body", HARD)
def test_transitions_read_back_the_same(body: str) -> None:
    header = "sort node\nimmutable constant k: node\nmutable relation p(node)\nmutable relation flag\n"
    header += "mutable constant c: node\nderived relation d: d <-> p(k) & c = k\n"
    same(model(f"transition t(X: node, n: node) {body}", header))


@settings(max_examples=100, deadline=None)
@given(transitions())
def test_random_transitions_read_back_the_same(text: str) -> None:
    same(model(text, ""))


def test_printing_is_readable() -> None:
    text = """sort node
mutable relation held(node)
init [start] forall X:node. !held(X)
transition take(n: node)
  modifies held
  (!held(n) & (forall X:node. !held(X)))
  & (forall X:node. held'(X) <-> held(X) | X = n)
safety [mutex] forall X:node, Y:node. held(X) & held(Y) -> X = Y
sat trace {
  take
}
"""
    assert print_model(model(text, "")) == text


# -- models that no mypyvy text says as they are ------------------------------------------------------------------------

NODE = Sort("node")
X, Y = Var("X", NODE), Var("Y", NODE)
P = Symbol("p", (NODE,), BOOL, True)


def built(
    symbols: Iterable[Symbol] = (P,),
    transitions: Iterable[Transition] = (),
    safety: Iterable[Named] = (),
    sorts: Iterable[Sort] = (NODE,),
    derived: Iterable[Derived] = (),
    theorems: Iterable[Theorem] = (),
) -> RelationalModel:
    return RelationalModel(
        "test", "ivy", tuple(sorts), tuple(symbols), tuple(derived), (), (), tuple(transitions), tuple(safety), (),
        tuple(theorems),
    )  # fmt: skip


def printed(found: RelationalModel) -> RelationalModel:
    """The model as it is read back; what is read prints the same."""
    text = print_model(found)
    again = parse(Source("test.pyv", text)).model
    assert print_model(again) == text
    return again


def test_names_are_made_legal_and_stay_apart() -> None:
    dotted, plain = Symbol("a.b", (), BOOL, True), Symbol("a_b", (), BOOL, True)
    keyword = Symbol("new", (), BOOL, True)
    found = printed(
        built(
            (dotted, plain, keyword),
            [Transition("a.b", (), (), TRUE, ()), Transition("in", (), (), TRUE, ())],
            [Named("a_b", conj(dotted(), plain())), Named("bool", keyword()), Named("in", dotted())],
        )
    )
    assert [symbol.name for symbol in found.symbols] == ["a_b", "a_b_1", "s_new"]
    assert [item.name for item in found.transitions] == ["a_b_2", "s_in"]
    assert [item.name for item in found.safety] == ["a_b_3", "s_bool", "s_in_1"]


def test_sorts_of_one_legal_name_stay_apart() -> None:
    one, two = Sort("t.a"), Sort("t_a")
    found = printed(built((Symbol("p", (one, two), BOOL, True),), sorts=(one, two)))
    assert [sort.name for sort in found.sorts] == ["t_a", "t_a_1"]


def test_variables_do_not_take_the_names_of_symbols_or_of_each_other() -> None:
    p_variable, renamed = Var("p", NODE), Var("p_1", NODE)
    claim = Forall((p_variable, renamed), Implies(P(p_variable), P(renamed)))
    [item] = printed(built(safety=[Named("a", claim)])).safety
    assert isinstance(item.formula, Forall)
    one, two = item.formula.variables
    assert item.formula == Forall((one, two), Implies(P(one), P(two))) and one is not two and one.name != "p"


def test_variables_with_odd_names() -> None:
    odd, plain = Var("__x.1", NODE), Var("__x_1", NODE)
    [item] = printed(built(safety=[Named("a", Forall((odd, plain), Iff(P(odd), P(plain))))])).safety
    assert isinstance(item.formula, Forall)
    one, two = item.formula.variables
    assert item.formula.body == Iff(P(one), P(two))


def test_a_choice_that_two_symbols_take() -> None:
    a, b, chosen = Symbol("a", (), NODE, True), Symbol("b", (), NODE, True), Symbol("x", (), NODE)
    step = Transition("t", (), (chosen,), P(chosen()), (Update(a, (), chosen()), Update(b, (), chosen())))
    [found] = printed(built((a, b, P), [step])).transitions
    assert (len(found.choices), len(found.updates)) == (1, 2)
    assert found.updates[0].value is found.updates[1].value


def test_a_free_choice_mentions_what_it_changes() -> None:
    chosen = Symbol("x", (NODE,), BOOL)
    place = Var("X0", NODE)
    step = Transition("t", (), (chosen,), TRUE, (Update(P, (place,), chosen(place)),))
    text = print_model(built((P,), [step]))
    assert "(forall X0:node. p'(X0) <-> p'(X0))" in text
    printed(built((P,), [step]))


def test_enumerated_sorts_are_constants_with_an_axiom() -> None:
    color = Sort("color", ("red", "green"))
    shade = Symbol("shade", (NODE,), color, True)
    found = printed(built((shade,), sorts=(NODE, color)))
    assert [symbol.name for symbol in found.symbols] == ["red", "green", "shade"]
    assert str(found.axioms[0].formula) == "red != green & (forall X:color. X = red | X = green)"


def test_derived_relations_come_after_what_they_are_derived_from() -> None:
    d, e = Symbol("d", (NODE,), BOOL, True), Symbol("e", (NODE,), BOOL, True)
    derived = [Derived(d, Forall((X,), Iff(d(X), e(X)))), Derived(e, Forall((X,), Iff(e(X), neg(P(X)))))]
    found = printed(built((d, e, P), derived=derived))
    assert [symbol.name for symbol in found.symbols] == ["p", "e", "d"]
    assert len(found.derived) == 2


@pytest.mark.parametrize(
    "found",
    [
        built((Symbol("p", (BOOL,), BOOL, True),)),
        built((Symbol("f", (INT,), NODE),)),
        built((P, Symbol("f", (NODE,), NODE)), derived=[Derived(Symbol("f", (NODE,), NODE), TRUE)]),
        built(
            (P,), [Transition("t", (), (Symbol("x", (), NODE),), P(Symbol("x", (), NODE)()), (Update(P, (X,), TRUE),))]
        ),
    ],
    ids=["bool argument", "int argument", "derived function", "loose choice"],
)
def test_what_mypyvy_cannot_say_is_refused(found: RelationalModel) -> None:
    with pytest.raises(LanguageError) as caught:
        print_model(found)
    assert [item.code for item in caught.value.diagnostics] == ["Q0301"]


def test_negative_numbers() -> None:
    k = Symbol("k", (), INT, True)
    from quorate.logic.terms import Equal

    found = printed(built((k,), safety=[Named("a", Equal(k(), Number(-3)))], sorts=()))
    assert str(found.safety[0].formula) == "k = 0 - 3"


# -- deep terms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        " -> ".join(["flag", "p(leader)"] * 46),
        "!(flag & (" * 31 + "p(leader)" + " -> flag))" * 31,
        "(flag <-> (" * 40 + "p(leader)" + " | count = 0))" * 40,
        "p(" + "next(" * 92 + "zero" + ")" * 93,
        "if flag then p(leader) else " * 90 + "count = 1",
        " + ".join(["count"] * 90) + " = 0",
        " - ".join(["count"] * 90) + " = 0",
        "".join(f"forall X{i}. p(X{i}) -> " for i in range(40)) + "flag",
        "".join(f"forall X{i}:node. exists Y{i}:node. le(X{i}, Y{i}) & " for i in range(30)) + "flag",
    ],
    ids=[
        "implications",
        "negations",
        "equivalences",
        "applications",
        "conditionals",
        "sums",
        "differences",
        "forall",
        "both",
    ],
)
def test_the_deepest_formulas_print_and_evaluate(text: str) -> None:
    """Everything that was read can be walked over within Python's own recursion limit, and its print can be read."""
    found = same(model(f"safety {text}"))
    work_with(found.safety[0].formula, found)


def work_with(formula: Term, found: RelationalModel) -> None:
    import pickle

    from quorate.logic.sexpr import read, write
    from quorate.logic.structures import Structure, argument_tuples
    from quorate.logic.transform import prime, simplify, substitute

    sizes = dict.fromkeys(found.sorts, 1)
    tables = {
        symbol: dict.fromkeys(argument_tuples(symbol.arguments, sizes), symbol.sort is BOOL) for symbol in found.symbols
    }
    state = Structure(
        sizes, {**tables, **{s: {(): 0} for s in found.symbols if not s.arguments and s.sort is not BOOL}}
    )
    assert state.holds(formula) in (True, False)
    assert pickle.loads(pickle.dumps(formula)) is formula
    read(write(formula), found.sorts, found.symbols)
    for walk in (prime, simplify):
        walk(formula)
    substitute(Exists((Y,), formula), {X: Y})


def test_header_is_not_in_the_way() -> None:
    same(model(HEADER, ""))


def test_what_is_said_of_the_number_of_elements_is_kept() -> None:
    """In both languages; elsewhere the words are names like any other."""
    text = "finite sort node\nunbounded sort message\nsort finite\nmutable relation unbounded(node, finite)\n"
    found = parse(Source("sorts.pyv", text)).model
    assert (found.finite, found.unbounded) == ({Sort("node")}, {Sort("message")})
    assert parse(Source("sorts.pyv", print_model(found))).model == found
    again = parse(Source("sorts.ivy", print_ivy(found)), "ivy").model
    assert (again.finite, again.unbounded) == (found.finite, found.unbounded)
    with pytest.raises(LanguageError):
        parse(Source("sorts.pyv", "finite sort node\nunbounded sort node\n"))
    with pytest.raises(LanguageError):
        parse(Source("sorts.pyv", "finite unbounded sort node\n"))
