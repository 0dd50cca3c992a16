"""Models as Ivy text: printing and reading are inverse to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from quorate.lang import parse
from quorate.lang.diagnostics import LanguageError
from quorate.lang.ivy.printer import print_model
from quorate.logic.terms import TRUE, Symbol, Term, Var, forall, implies
from quorate.logic.transform import rename_symbols, substitute
from quorate.models.relational import Derived, RelationalModel, Theorem, Transition, Update
from quorate.models.source import Source

Read = Callable[[str], RelationalModel]

LOCK = """type node
relation held(N:node)
relation message(Source:node, Target:node)
individual first : node
axiom [distinct] exists X:node. X ~= first
after init { held(N) := N = first; message(S, T) := false }
action send(n:node, m:node) = {
    require held(n);
    held(n) := false;
    message(n, m) := true
}
action receive(n:node, m:node) = {
    require message(n, m);
    message(n, m) := false;
    held(m) := true
}
export send
export receive
safety [mutex] held(X) & held(Y) -> X = Y
invariant [quiet] ~(message(S, T) & held(N))
"""

LOCK_PRINTED = """#lang ivy1.7

type node

relation held(N:node)
relation message(Source:node, Target:node)
individual first : node

axiom [distinct] exists X:node. X ~= first

after init {
    held(N) := N = first;
    message(Source, Target) := false;
}

action send(n:node, m:node) = {
    require held(n);
    held(N) := N ~= n & held(N);
    message(Source, Target) := Source = n & Target = m | message(Source, Target);
}

action receive(n:node, m:node) = {
    require message(n, m);
    held(N) := N = m | held(N);
    message(Source, Target) := ~(Source = n & Target = m) & message(Source, Target);
}

export send
export receive

safety [mutex] forall X:node, Y:node. held(X) & held(Y) -> X = Y
invariant [quiet] forall S:node, T:node, N:node. ~(message(S, T) & held(N))
"""


def again(model: RelationalModel) -> RelationalModel:
    """The model printed and read back, as if from the same language."""
    path = f"{model.name}.ivy"
    return replace(parse(Source(path, print_model(model))).model, language=model.language)


def test_the_text_of_a_small_protocol(read: Read) -> None:
    assert print_model(read(LOCK)) == LOCK_PRINTED


HEADER = """type node
type color = {red, green}
type level = {0..2}
type id
relation p(N:node)
relation q(N:node, M:node)
relation b
function f(N:node) : node
function paint(N:node) : color
function height(N:node) : level
individual c : node
individual pid : id
object ring = { type t  relation btw(X:node, Y:node)  individual at : t  object deep = { var x : node } }
"""

MODELS = {
    "swap": """action a(x:node) = {
            var old_p(X:node) : bool; old_p(X) := p(X); p(X) := q(X, x); q(X, Y) := old_p(X) & q(Y, X)
        }""",
    "three in a circle": """relation r(X:node)
        action a = { var s(X:node) : bool; s(X) := p(X); var t := b;
                     p(X) := r(X) & b; b := forall X. p(X) | s(X); r(X) := s(X) | t }""",
    "derived": """relation d(X:node) = p(X) & X ~= c
        function g(X:node) : node = f(X) if p(X) else c
        action a(x:node) = { p(x) := d(c); q(X, Y) := d(X) & g(Y) = Y; f(X) := g(X) }""",
    "derived read after": """relation d(X:node) = p(X) & X ~= c
        relation e(X:node) = exists Y. d(Y) & q(X, Y)
        action a(x:node) = { b := e(x); p(X) := d(X) | e(X); q(x, X) := e(X) }""",
    "choices": """action a(x:node) = { p(X) := *; q(x, Y) := *; b := *; require q(x, x) -> p(x); f(x) := * }
        action h(x:node) = { var g(X:node, Y:node) : node; require g(X, Y) ~= X; q(X, Y) := g(X, Y) = x }""",
    "integers": """var n : int
        relation big(X:int) = X > 7
        action a(x:int) = { require x < n + 3 & ~big(x * 2); n := n - x }
        invariant forall X:int. X <= n""",
    "orders": """action a(x:id) = { require x < pid & 3 < x; pid := x + 1 }
        axiom X:id < Y -> ~(Y < X)
        action h(x:node) = { require height(x) < 2 & paint(x) ~= red; paint(x) := green; height(x) := 1 }""",
    "objects": """object ring = {
            action next(x:node) = { require btw(x, deep.x); deep.x := x }
            invariant [inner] btw(deep.x, deep.x)
        }
        export ring.next""",
    "rigid and idle": """after init { p(X) := *; assume [start] p(c); q(X, Y) := p(X) }
        axiom [one] exists X:node. X ~= c
        property [two] c = c | pid = 0""",
    "conditional values": """
        action a(x:node) = { p(X) := (~b if X = x else q(X, x)) <-> b; f(X) := x if b else (c if p(X) else X) }
        invariant (f(X) if b else X) = (c if p(X) else X)
        invariant (b -> p(X)) -> (p(Y) <-> (b <-> q(X, Y)))""",
    "assertions": """action a(x:node) = { p(X) := *; assert p(x); b := true }
        action h(x:node) = { require p(x); assert q(x, x) }""",
    "initial values": """after init { p(c) := true; q(X, Y) := q(Y, X); if some n:node. p(n) { f(n) := c } }""",
    "variables that hide": """invariant forall X. p(X) -> exists X. q(X, X) & forall Y. q(X, Y)
        action a(x:node) = { q(N, M) := exists N. q(M, N) & forall M. q(N, M) }""",
    "no actions": "invariant b",
    "boolean parameters": """action a(v:bool, x:node) = { p(x) := v; require v <-> b }
        relation r(X:bool)
        axiom r(true) & ~r(false)""",
}


@pytest.mark.parametrize("name", MODELS)
def test_reading_what_was_printed_gives_the_same_model(read: Read, name: str) -> None:
    model = read(HEADER + MODELS[name])
    once = again(replace(model, name="test"))
    assert once == replace(model, name="test"), print_model(model)
    assert print_model(once) == print_model(model)


# -- models of other languages -----------------------------------------------------------------------------------------

PYV = """
sort Node
sort round
immutable constant Max: Node
immutable relation type(Node, round)
mutable relation r(Node)
mutable relation s(Node, Node)
mutable constant leader: Node
derived relation quiet(Node): forall n. quiet(n) <-> !r(n)
axiom [start] exists x:Node. x != Max
init !r(N)
init [second] forall n. s(n, n)
transition step(N: Node, action: Node)
  modifies r, leader
  r(N) & (forall n. new(r(n)) -> r(n) | n = action) & new(leader) = action
transition swap(n: Node)
  modifies r, s
  (forall X. new(r(X)) <-> s(X, n)) & (forall X, Y. new(s(X, Y)) <-> r(X) & s(Y, X))
safety [mine] r(N) -> s(N, N) | quiet(N)
invariant forall n, N. s(n, N) -> (exists M. s(M, n))
sat trace { step }
"""


def canonical(transition: Transition) -> Transition:
    """The transition with its parameters, choices and variables numbered, and its updates in order."""
    parameters = [Var(f"p{i}", parameter.sort) for i, parameter in enumerate(transition.parameters)]
    renaming = {s: Symbol(f"c{i}", s.arguments, s.sort) for i, s in enumerate(transition.choices)}

    def renamed(term: Term, places: tuple[Var, ...] = ()) -> Term:
        term = rename_symbols(term, lambda symbol: renaming.get(symbol, symbol))
        numbered = {place: Var(f"v{i}", place.sort) for i, place in enumerate(places)}
        return substitute(term, dict(zip(transition.parameters, parameters, strict=True)) | numbered)

    updates = []
    for update in sorted(transition.updates, key=lambda update: update.symbol.name):
        variables = tuple(Var(f"v{i}", place.sort) for i, place in enumerate(update.variables))
        updates.append(Update(update.symbol, variables, renamed(update.value, update.variables)))
    choices = tuple(renaming.values())
    return Transition(transition.name, tuple(parameters), choices, renamed(transition.guard), tuple(updates))


def test_illegal_names_are_made_legal() -> None:
    model = parse(Source("x.pyv", PYV)).model
    text = print_model(model)
    for line in (
        "type node",
        "individual max : node",
        "relation type_(N:node, R:round)",
        "definition quiet(N) = ~r(N)",
        "action step(n:node, action_:node) = {",
        "    var new_r(N:node) : bool;",
        "axiom [start] exists X:node. X ~= max",
        "    assume [second] forall N:node. s(N, N);",
        "invariant [invariant_1] forall N:node, N_1:node. s(N, N_1) -> (exists M:node. s(M, N))",
        "# trace_1: a query for a run (sat trace) has no Ivy form and is left out",
    ):
        assert line in text.splitlines(), text
    back = parse(Source("x.ivy", text)).model
    assert [len(back.symbols), len(back.transitions), len(back.safety), len(back.invariants)] == [6, 2, 1, 1]
    assert [s.mutable for s in back.symbols] == [s.mutable for s in model.symbols]
    assert print_model(back) == text.partition("\n# trace")[0]


def test_models_of_legal_names_come_back_up_to_bound_names() -> None:
    legal = PYV.replace("Node", "node").replace("Max", "max").replace("type(", "kind(").replace("action", "actor")
    model = parse(Source("x.pyv", legal)).model
    back = again(model)
    assert back.symbols == model.symbols and back.sorts == model.sorts
    assert [n.name for n in back.initial] == [n.name for n in model.initial]
    assert back.initial[0] == model.initial[0]
    swap = canonical(model.transition("swap")), canonical(back.transition("swap"))
    assert swap[0] == swap[1]
    step = back.transition("step")
    assert [p.name for p in step.parameters] == ["n", "actor"]
    assert [c.name for c in step.choices] == ["new_r"]


def test_what_ivy_cannot_say(read: Read) -> None:
    model = read("type t\nrelation r(X:t)\nrelation d(X:t)\nafter init { r(X) := false; d(X) := false }")
    (r, d), x = model.symbols, Var("X", model.sorts[0])
    implicit = replace(model, derived=(Derived(d, forall((x,), implies(d(x), r(x)))),))
    about_states = replace(model, theorems=(Theorem("t", 1, forall((x,), r(x))),))
    for inexpressible in (implicit, about_states):
        with pytest.raises(LanguageError) as caught:
            print_model(inexpressible)
        assert [found.code for found in caught.value.diagnostics] == ["Q0301"]


def test_a_sort_that_an_object_hides(read: Read) -> None:
    model = read("type t\nobject o = { relation r(X:t) }\n")
    hidden = replace(model, symbols=(*model.symbols, Symbol("o.t", (), model.sorts[0])))
    with pytest.raises(LanguageError) as caught:
        print_model(hidden)
    assert [d.code for d in caught.value.diagnostics] == ["Q0301"]


def test_a_guard_that_is_true_needs_no_line(read: Read) -> None:
    model = read("relation b\naction a = { b := true }")
    assert model.transitions[0].guard is TRUE
    assert "require" not in print_model(model)
