"""Values for the names of a violation: all of them, or some of very many."""

from itertools import product
from random import Random
from types import SimpleNamespace

from quorate.logic.terms import Sort, Var
from quorate.methods.inference.refuter import VALUATIONS, Refuter

NODE = Sort("node")


def valuations(names: int, size: int) -> list[tuple[int, ...]]:
    refuter = object.__new__(Refuter)
    constants = [Var(f"n{i}", NODE) for i in range(names)]
    refuter.language, refuter.random = SimpleNamespace(constants=constants), Random(0)
    return [tuple(found[c] for c in constants) for found in refuter._valuations(SimpleNamespace(sizes={NODE: size}))]


def test_few_values_are_all_taken():
    assert sorted(valuations(3, 3)) == list(product(range(3), repeat=3))
    assert valuations(0, 3) == [()]


def test_many_names_cost_no_memory():
    found = valuations(40, 4)
    assert len(set(found)) == VALUATIONS
    assert {value for values in found for value in values} == set(range(4))
