"""How sorts are read: which are finite, which are ordered, and which end of the order is the lower one."""

from __future__ import annotations

import pytest

from quorate.lang import parse
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.readings import Reading, contradiction, readings

ORDER = """
immutable relation r(number, number)
axiom r(X, Y) & r(Y, Z) -> r(X, Z)
axiom !r(X, X)
axiom X = Y | r(X, Y) | r(Y, X)
"""
REST = "mutable relation p(number)\ntransition t(n: number)\n  modifies p\n  & new(p(N))\nliveness true ~> p(N)\n"


def model_of(text: str, sort: str = "sort number") -> RelationalModel:
    return parse(Source("sorts.pyv", f"{sort}\n{text}{REST}")).model


def reading(text: str, sort: str = "sort number") -> Reading:
    model = model_of(text, sort)
    return readings(model)[model.sorts[0]]


def test_only_ordered_sorts_are_not_finite() -> None:
    assert reading("").kind == "finite"
    assert reading(ORDER).kind == "ordered"
    assert reading(ORDER.replace("axiom X = Y", "axiom [weaker] X = X | X = Y")).kind == "finite"


def test_the_file_has_the_last_word() -> None:
    assert reading(ORDER, "finite sort number").kind == "finite"
    assert reading("", "unbounded sort number").kind == "open"
    assert reading(ORDER, "unbounded sort number").kind == "ordered"


ZERO = "immutable constant zero: number\naxiom X = zero | r(zero, X)\n"
LAST = "immutable constant last: number\naxiom X = last | r(X, last)\n"


@pytest.mark.parametrize(
    ("text", "rising"),
    [
        ("", True),
        (ZERO, True),
        (LAST, False),
        ("axiom forall X. exists Y. r(X, Y)\n", True),
        ("axiom forall X. exists Y. r(Y, X)\n", False),
        ("immutable function next(number): number\naxiom r(X, next(X))\n", True),
    ],
)
def test_which_end_is_the_lower_one(text: str, rising: bool) -> None:
    """Without a word about ends, r(x, y) puts x below y."""
    found = reading(ORDER + text)
    assert (found.kind, [order.rising for order in found.orders]) == ("ordered", [rising])


def test_a_first_and_a_last_element_make_it_finite() -> None:
    found = reading(ORDER + ZERO + LAST)
    assert found.kind == "finite"
    assert [str(end) for end in found.ends or ()] == ["zero", "last"]
    assert len(list(found.goals(model_of("").sorts[0]))) == 2
    assert reading(ORDER + ZERO + LAST, "unbounded sort number").kind == "open"


SECOND = ORDER.replace("r(", "s(")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SECOND, "open"),
        (SECOND + "axiom s(X, Y) <-> r(X, Y)\n", "ordered"),
        (SECOND + "axiom s(X, Y) <-> r(Y, X)\n", "open"),
        (SECOND + "axiom s(X, Y) <-> r(Y, X)\n" + ZERO, "ordered"),
        ("axiom r(X, Y) -> exists Z. r(X, Z) & r(Z, Y)\naxiom exists X, Y. r(X, Y)\n", "open"),
        ("axiom forall X. exists Y, Z. r(X, Y) & r(Z, X)\n", "open"),
    ],
)
def test_what_may_be_ordered_in_several_ways_is_not_counted(text: str, kind: str) -> None:
    assert reading(ORDER + text).kind == kind


def test_an_order_that_nothing_changes_makes_a_sort_ordered_but_proves_nothing() -> None:
    text = ORDER.replace("immutable", "mutable").replace("axiom", "init")
    assert reading(text).kind == "open"
    changed = "transition u(n: number)\n  modifies r\n  & true\n"
    assert reading(text + changed).kind == "finite"


def test_finite_sorts_must_not_depend_on_how_many_others_there_are() -> None:
    text = "sort message\nimmutable function about(number): message\n"
    assert contradiction(model_of(ORDER + text)) is None
    text += "axiom about(X) = about(Y) -> X = Y\n"
    assert "do not let message be finite" in (contradiction(model_of(ORDER + text)) or "")
    assert contradiction(model_of(text)) is None
    succession = "immutable function next(number): number\nimmutable constant zero: number\naxiom next(X) != zero\n"
    assert contradiction(model_of(succession)) is None
    succession += "axiom next(X) = next(Y) -> X = Y\n"
    assert "do not let number be finite" in (contradiction(model_of(succession)) or "")


def test_an_order_is_not_turned_round_because_of_a_small_world() -> None:
    """With three elements, one that has two below it is the greatest; with more it need not be."""
    text = """
sort num
immutable relation lt(num, num)
axiom lt(X, Y) & lt(Y, Z) -> lt(X, Z)
axiom !lt(X, X)
axiom lt(X, Y) | lt(Y, X) | X = Y
immutable constant c: num
axiom exists A, B. lt(A, B) & lt(B, c)
mutable constant x: num
transition up(y: num) modifies x lt(x, y) & new(x) = y
"""
    model = parse(Source("turned.pyv", text)).model
    [(_, reading)] = readings(model).items()
    assert [order.rising for order in reading.orders] == [True]
