"""Clauses as formulas, their symmetries, and the rows that tell which of them hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.lang import load, parse
from quorate.logic.printing import show
from quorate.methods.inference.language import total_orders
from quorate.models.source import Source
from small_languages import BEFORE, CASES, CHIEF, LEADER, NODE, SENT, TIME, Case, case_structures

by_name = {case.name: case for case in CASES}


def literals_of(row) -> set[int]:
    return {64 * i + bit for i, word in enumerate(row) for bit in range(64) if int(word) >> bit & 1}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(st.data())
@settings(max_examples=30)
def test_rows_are_the_false_literals(case, data):
    structure = data.draw(case_structures(case))
    language, elements = case.language(), case.elements(structure)
    rows = language.rows(case.states(structure), {})
    seen = []
    for number, row in enumerate(rows):
        assigned = language.assignment(structure.sizes, number)
        env = {variable: elements[variable.sort][value] for variable, value in assigned.items()}
        literals = [n for n in range(language.literals) if language.atoms[n // 2].free <= set(env)]
        assert literals_of(row) == {n for n in literals if not structure.holds(language.literal(n), env)}
        seen.append(frozenset(assigned.items()))
    assert len(set(seen)) == len(rows)
    with pytest.raises(IndexError):
        language.assignment(structure.sizes, len(rows))


@pytest.mark.parametrize("name", ["unordered", "unordered-three", "unordered-binary", "both"])
@given(st.data())
@settings(max_examples=30)
def test_rows_are_closed_under_renaming(name, data):
    """A clause without ordered variables fails in a row if and only if what renaming makes of it fails in one."""
    case = by_name[name]
    structure = data.draw(case_structures(case))
    language = case.language()
    rows = [literals_of(row) for row in language.rows(case.states(structure), {})]
    ordered = {n for n in range(language.literals) if any(v.sort is TIME for v in language.atoms[n // 2].free)}
    domains, images = language.maps
    for row in rows:
        for bits, image in zip(domains, images, strict=True):
            used = {v for i, v in enumerate(language.variables) if int(bits) >> i & 1}
            inside = {n for n in row - ordered if language.atoms[n // 2].free <= used}
            assert any({int(image[n]) for n in inside} <= other for other in rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(st.data())
@settings(max_examples=30)
def test_a_clause_fails_in_a_row_if_its_formula_is_false(case, data):
    structure = data.draw(case_structures(case))
    language = case.language()
    clause = data.draw(st.sets(st.integers(0, language.literals - 1), min_size=1, max_size=3))
    if any(n < 2 * language.present and n % 2 == 0 for n in clause) or len({n // 2 for n in clause}) < len(clause):
        return
    used = frozenset().union(*(language.atoms[n // 2].free for n in clause))
    if len(used) > language.total:
        return
    for block in language.blocks:
        places = [i for i, variable in enumerate(block.variables) if variable in used]
        if block.order is not None and places != list(range(len(places))):
            return
    rows = [literals_of(row) for row in language.rows(case.states(structure), {})]
    formula = language.formula(tuple(sorted(clause)))
    assert not formula.free
    assert structure.holds(formula) == (not any(clause <= row for row in rows))


def test_formulas():
    language = by_name["both"].language()
    shown = {show(language.literal(n)): n for n in range(language.literals)}
    clause = tuple(sorted(shown[text] for text in ("voted(N0, T1)", "!voted(N1, T0)")))
    expected = "forall N0:node, N1:node, T0:time, T1:time. N0 = N1 | before(T1, T0) | voted(N0, T1) | !voted(N1, T0)"
    assert show(language.formula(clause)) == expected
    there = (shown["T0 != T0"], shown["early(T1)"])
    assert show(language.formula(there)) == "forall T0:time, T1:time. before(T1, T0) | early(T1)"


def test_atoms():
    language = Case("small", (BEFORE, LEADER, SENT, CHIEF), {NODE: 2}, 2).language()
    assert [show(atom) for atom in language.atoms] == [
        "leader(N0)",
        "leader(N1)",
        "leader(chief)",
        *(f"sent({a}, {b})" for a in ("N0", "N1", "chief") for b in ("N0", "N1", "chief")),
        "N0 = chief",
        "N1 = chief",
    ]
    assert language.words == 1


def test_renamings():
    """Of two unordered variables: none, one of them to the first, both as they are or exchanged."""
    domains, images = by_name["unordered"].language().maps
    assert domains.tolist() == [0, 1, 2, 3, 3]
    assert images.shape == (5, 12)
    domains, _ = by_name["ordered"].language().maps
    assert domains.tolist() == [0, 1, 2, 3]
    domains, _ = by_name["ordered"].language().placements
    assert domains.tolist() == [0, 1, 1, 3]


AXIOMS = {
    "total": "axiom le(X, X)\naxiom le(X, Y) & le(Y, Z) -> le(X, Z)\naxiom le(X, Y) & le(Y, X) -> X = Y\n",
    "strict": "axiom !le(X, X)\naxiom le(X, Y) & le(Y, Z) -> le(X, Z)\naxiom X = Y | le(X, Y) | le(Y, X)\n",
}
LINEAR = "axiom le(X, Y) | le(Y, X)\n"


@pytest.mark.parametrize(
    ("axioms", "ordered"),
    [(AXIOMS["total"] + LINEAR, True), (AXIOMS["strict"], True), (AXIOMS["total"], False), ("", False)],
)
def test_orders_are_recognised_by_their_axioms(axioms, ordered):
    text = f"sort time\nimmutable relation le(time, time)\n{axioms}safety true\n"
    model = parse(Source("order.pyv", text)).model
    assert total_orders(model) == ({model.sorts[0]: model.symbols[0]} if ordered else {})


def test_orders_of_a_protocol():
    found = total_orders(load("protocols/relational/ticket_lock.pyv").model)
    assert {sort.name: order.name for sort, order in found.items()} == {"ticket": "at_most"}
