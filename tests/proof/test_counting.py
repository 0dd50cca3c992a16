"""Which sets are finite, given how the sorts are read."""

from __future__ import annotations

import pytest

from quorate.lang import parse
from quorate.logic import sexpr
from quorate.logic.terms import Forall
from quorate.models.source import Source
from quorate.proof.counting import Counting
from quorate.proof.readings import readings

MODEL = parse(
    Source(
        "counting.pyv",
        """
sort node
sort number
immutable relation below(number, number)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom !below(X, X)
axiom X = Y | below(X, Y) | below(Y, X)
immutable constant zero: number
mutable constant top: number
mutable function ticket(node): number
mutable relation p(number)
transition t(n: node)
  modifies p & new(p(N))
liveness true ~> p(N)
""",
    )
).model


@pytest.mark.parametrize(
    ("text", "unbounded", "unsteady"),
    [
        ("((x number)) (p x)", "x", "x"),
        ("((x number)) (below x zero)", "", ""),
        ("((x number)) (below zero x)", "x", "x"),
        ("((x number)) (not (below zero x))", "", ""),
        ("((x number)) (not (below x zero))", "x", "x"),
        ("((x number)) (below x top)", "", "x"),
        ("((x number)) (= x top)", "", ""),
        ("((x number)) (= top x)", "", ""),
        ("((x number)) (below x x)", "x", "x"),
        ("((x number)) (or (below x zero) (p x))", "x", "x"),
        ("((x number)) (not (or (below zero x) (p x)))", "", ""),
        ("((n node) (x number)) (below x (ticket n))", "", "x"),
        ("((n node) (x number)) (= x (ticket n))", "", ""),
        ("((x number) (y number)) (below x y)", "xy", "xy"),
        ("((x number) (y number)) (and (below x y) (below y zero))", "", ""),
        ("((x number) (y number)) (and (below x y) (below y x))", "xy", "xy"),
        ("((x number) (y number)) (and (below x y) (below y top))", "", "xy"),
        ("((x number) (y number)) (and (below x y) (= y top))", "", "x"),
        ("((x number)) (exists ((n node)) (below x (ticket n)))", "", "x"),
        ("((x number)) (exists ((y number)) (below x y))", "x", "x"),
        ("((x number)) (exists ((y number)) (and (below x y) (below y zero)))", "", ""),
        ("((x number)) (and (exists ((y number)) (below x y)) (exists ((y number)) (below y zero)))", "x", "x"),
        ("((x number)) (forall ((n node)) (below x (ticket n)))", "x", "x"),
    ],
)
def test_bounds(text: str, unbounded: str, unsteady: str) -> None:
    formula = sexpr.read(f"(forall {text})", MODEL.sorts, MODEL.symbols)
    assert isinstance(formula, Forall)
    counting = Counting(readings(MODEL))
    found = counting.unbounded(formula.variables, formula.body), counting.unsteady(formula.variables, formula.body)
    assert ["".join(variable.name for variable in variables) for variables in found] == [unbounded, unsteady]


@pytest.mark.parametrize(
    ("text", "sorts"),
    [
        ("((n node)) (p (ticket n))", ["node"]),
        ("((x number)) (below x zero)", ["number"]),
        ("((x number)) (= x top)", []),
        ("((n node) (x number)) (= x (ticket n))", ["node"]),
        ("((x number)) (exists ((n node)) (below x (ticket n)))", ["number", "node"]),
        ("((x number)) (exists ((n node)) (and (below x zero) (p (ticket n))))", ["number"]),
    ],
)
def test_what_is_used(text: str, sorts: list[str]) -> None:
    formula = sexpr.read(f"(forall {text})", MODEL.sorts, MODEL.symbols)
    assert isinstance(formula, Forall)
    used = Counting(readings(MODEL)).used(formula.variables, formula.body)
    assert [sort.name for sort in used] == sorts
