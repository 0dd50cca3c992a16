"""The candidates against a naive twin: all clauses of a language, one by one, in all structures."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations, product

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.logic.structures import Structure
from quorate.logic.terms import Sort, Var
from quorate.logic.transform import substitute
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.language import Clause, normal
from small_languages import CASES, Case, case_structures, random_structure

Placed = tuple[frozenset[int], frozenset[Var]]


class Naive:
    """What a clause means: it fails if all its literals do, for different elements, increasing ones in ordered sorts.

    The negation of `X = X` always fails: it only says that the variable is there.
    """

    def __init__(self, case: Case) -> None:
        self.case, self.language = case, case.language()
        self.numbers = {atom: number for number, atom in enumerate(self.language.atoms)}
        self.uses = [self.language.atoms[literal // 2].free for literal in range(self.language.literals)]
        self.known: dict[tuple[int, frozenset[Var]], list[frozenset[int]]] = {}

    def clauses(self) -> Iterator[Clause]:
        """All clauses whose variables of ordered sorts are used from the first on."""
        present = 2 * self.language.present
        literals = [n for n in range(self.language.literals) if n >= present or n % 2]
        for size in range(1, self.language.size + 1):
            for clause in combinations(literals, size):
                used = self.variables(clause)
                fits = len(used) <= self.language.total and size + len(used) <= self.language.weight
                if fits and len({n // 2 for n in clause}) == size and self.from_first(used):
                    yield clause

    def variables(self, clause: Sequence[int]) -> frozenset[Var]:
        return frozenset(chain.from_iterable(self.uses[n] for n in clause))

    def from_first(self, used: frozenset[Var]) -> bool:
        for block in self.language.blocks:
            places = [i for i, variable in enumerate(block.variables) if variable in used]
            if block.order is not None and places != list(range(len(places))):
                return False
        return True

    def choices(self, used: frozenset[Var], sizes: Mapping[Sort, int]) -> Iterator[dict[Var, int]]:
        """The ways to give the variables different numbers, increasing ones in ordered sorts."""
        ways = []
        for block in self.language.blocks:
            mine = [variable for variable in block.variables if variable in used]
            chosen = (permutations if block.order is None else combinations)(range(sizes[block.sort]), len(mine))
            ways.append([dict(zip(mine, numbers, strict=True)) for numbers in chosen])
        for parts in product(*ways):
            yield {variable: number for part in parts for variable, number in part.items()}

    def false_literals(self, structure: Structure, used: frozenset[Var]) -> list[frozenset[int]]:
        """For every assignment to the variables, the literals that are false."""
        key = id(structure), used
        if key not in self.known:
            literals = [n for n in range(self.language.literals) if self.uses[n] <= used]
            elements = self.case.elements(structure)
            self.known[key] = []
            for choice in self.choices(used, structure.sizes):
                env = {variable: elements[variable.sort][number] for variable, number in choice.items()}
                false = [n for n in literals if not structure.holds(self.language.literal(n), env)]
                self.known[key].append(frozenset(false))
        return self.known[key]

    def holds(self, clause: Clause, structures: Sequence[Structure]) -> bool:
        wanted, used = frozenset(clause), self.variables(clause)
        return not any(wanted <= false for item in structures for false in self.false_literals(item, used))

    def placed(self, clause: Clause) -> Iterator[Placed]:
        """All that renaming makes of a clause: its literals, those apart that say a variable is there, and its variables."""
        places = {block.sort: block.variables for block in self.language.blocks}
        sizes = {sort: len(variables) for sort, variables in places.items()}
        for choice in self.choices(self.variables(clause), sizes):
            renaming = {variable: places[variable.sort][number] for variable, number in choice.items()}
            images = []
            for literal in clause:
                if literal >= 2 * self.language.present:
                    atom = normal(substitute(self.language.atoms[literal // 2], renaming))
                    images.append(2 * self.numbers[atom] + literal % 2)
            yield frozenset(images), frozenset(renaming.values())

    def compare(self, candidates: Candidates, structures: Sequence[Structure]) -> None:
        """Every candidate holds, and what holds is weaker than a candidate."""
        kept = [candidates.clause(number) for number in candidates.alive()]
        for clause in kept:
            assert self.holds(clause, structures), f"fails: {self.language.formula(clause)}"
        placed = set(chain.from_iterable(map(self.placed, kept)))
        for clause in self.clauses():
            if self.holds(clause, structures):
                literals, used = frozenset(clause), self.variables(clause)
                implied = any(part <= literals and variables <= used for part, variables in placed)
                assert implied, f"lost: {self.language.formula(clause)}"

    def rows(self, structures: Sequence[Structure]) -> numpy.ndarray:
        return numpy.concatenate([self.language.rows(self.case.states(item), {}) for item in structures])

    def enumerated(self, structures: Sequence[Structure]) -> Candidates:
        candidates = Candidates(self.language)
        candidates.keep(self.rows(structures))
        candidates.enumerate()
        return candidates


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(st.data())
@settings(max_examples=30)
def test_what_is_enumerated(case, data):
    structures = data.draw(st.lists(case_structures(case), min_size=1, max_size=4))
    twin = Naive(case)
    twin.compare(twin.enumerated(structures), structures)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(st.data())
@settings(max_examples=30)
def test_what_is_weakened_step_by_step(case, data):
    structures = data.draw(st.lists(case_structures(case), min_size=2, max_size=5))
    step = data.draw(st.integers(1, 2))
    twin = Naive(case)
    candidates = twin.enumerated(structures[:1])
    for start in range(1, len(structures), step):
        candidates.add(twin.rows(structures[start : start + step]))
        twin.compare(candidates, structures[: start + step])


@pytest.mark.parametrize("seed", [*range(50), 518, 1485, 1499, 1677, 1774])
def test_what_is_weakened_at_once(seed):
    """The last five lose a clause where one that is refuted is not weakened again after a stronger one."""
    generator = random.Random(seed)
    case = generator.choice(CASES)
    structures = [random_structure(case, generator, 4) for _ in range(generator.randint(2, 6))]
    twin = Naive(case)
    candidates = twin.enumerated(structures[:1])
    candidates.add(twin.rows(structures[1:]))
    twin.compare(candidates, structures)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_enumerating_and_weakening_agree(case):
    """What is minimal does not depend on the order of the rows, apart from clauses that others imply."""
    structures = [random_structure(case, random.Random(seed), 3) for seed in range(4)]
    twin = Naive(case)
    candidates = twin.enumerated(structures[:1])
    candidates.add(twin.rows(structures[1:]))
    weakened = {candidates.clause(number) for number in candidates.alive()}
    again = twin.enumerated(structures)
    placed = set(chain.from_iterable(map(twin.placed, weakened)))
    for number in again.alive():
        literals, used = frozenset(again.clause(number)), twin.variables(again.clause(number))
        assert any(part <= literals and variables <= used for part, variables in placed)


@given(st.data())
@settings(max_examples=30)
def test_which_clauses_fail_in_rows(data):
    case = data.draw(st.sampled_from(CASES))
    first, second = data.draw(case_structures(case)), data.draw(case_structures(case))
    twin = Naive(case)
    candidates = twin.enumerated([first])
    rows = twin.rows([second])
    numbers = list(candidates.alive())
    failing = candidates.failing(rows, len(numbers) + 1)
    assert {n for n, _ in failing} == {n for n in numbers if not twin.holds(candidates.clause(n), [second])}
    assert [len(candidates.clause(n)) for n, _ in failing] == sorted(len(candidates.clause(n)) for n, _ in failing)
    for number, row in failing:
        assert all(int(rows[row, n // 64]) >> n % 64 & 1 for n in candidates.clause(number))
    assert candidates.failing(rows, 2) == failing[:2]
    assert candidates.failing(twin.rows([first]), 5) == []
    assert candidates.add(twin.rows([first])) == 0
