from __future__ import annotations

from dataclasses import replace

from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.proof.naming import element_names, is_element, value_name
from trace_samples import pyv

NODE = Sort("node")
COLOUR = Sort("colour", ("red", "green"))


def test_elements_are_numbered_after_their_sort() -> None:
    model = pyv("sort node\nsort epoch")
    names = element_names(model, {NODE: 3, Sort("epoch"): 1})
    assert names == {NODE: ("node0", "node1", "node2"), Sort("epoch"): ("epoch0",)}


def test_a_symbol_of_that_name_moves_the_numbers_apart() -> None:
    model = pyv("sort node\nimmutable constant node1: node\nmutable relation node_0(node)")
    assert element_names(model, {NODE: 1})[NODE] == ("node0",)
    assert element_names(model, {NODE: 2})[NODE] == ("node__0", "node__1")


def test_sorts_do_not_take_each_others_names() -> None:
    model = pyv("sort a\nsort a1")
    names = element_names(model, {Sort("a"): 12, Sort("a1"): 2})
    assert names[Sort("a")] == tuple(f"a_{i}" for i in range(12))
    assert names[Sort("a1")] == ("a10", "a11")


def test_elements_of_one_sort_do_not_meet_those_of_another() -> None:
    model = pyv("sort a\nsort a_")
    names = element_names(model, {Sort("a"): 2, Sort("a_"): 2})
    assert len({name for elements in names.values() for name in elements}) == 4


def test_enumerated_sorts_keep_their_elements() -> None:
    model = replace(pyv("sort red"), sorts=(COLOUR, Sort("r")), symbols=())
    assert element_names(model, {Sort("r"): 2}) == {COLOUR: ("red", "green"), Sort("r"): ("r0", "r1")}


def test_sorts_without_a_size_are_left_out() -> None:
    assert element_names(pyv("sort node\nsort epoch"), {NODE: 1}) == {NODE: ("node0",)}


def test_values_as_text() -> None:
    names = {NODE: ("node0", "node1"), COLOUR: COLOUR.elements}
    assert value_name(1, NODE, names) == "node1"
    assert value_name(0, COLOUR, names) == "red"
    assert value_name(True, BOOL, names) == "true"
    assert value_name(-12, INT, names) == "-12"


def test_constants_for_elements_are_recognised() -> None:
    assert is_element(Symbol("red", (), COLOUR))
    assert not is_element(Symbol("blue", (), COLOUR))
    assert not is_element(Symbol("red", (COLOUR,), COLOUR))
