"""Small languages with and without order, and random structures for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from quorate.logic.structures import Structure, argument_tuples, domain
from quorate.logic.terms import BOOL, Sort, Symbol, Var
from quorate.methods.inference.language import Block, Language, standard_atoms
from quorate.methods.inference.states import States, from_structure, in_order
from quorate.models.relational import RelationalModel
from strategies import tables

NODE, TIME = Sort("node"), Sort("time")
LEADER = Symbol("leader", (NODE,), BOOL, mutable=True)
SENT = Symbol("sent", (NODE, NODE), BOOL, mutable=True)
CHIEF = Symbol("chief", (), NODE, mutable=True)
EARLY = Symbol("early", (TIME,), BOOL, mutable=True)
LATE = Symbol("late", (TIME,), BOOL, mutable=True)
SPOKE = Symbol("spoke", (TIME,), BOOL, mutable=True)
CAUSED = Symbol("caused", (TIME, TIME), BOOL, mutable=True)
VOTED = Symbol("voted", (NODE, TIME), BOOL, mutable=True)
BEFORE = Symbol("before", (TIME, TIME), BOOL)
NOW = Symbol("now", (), TIME, mutable=True)


@dataclass(frozen=True)
class Case:
    """A language: its symbols, how many variables each sort has, how long clauses are, how many variables they use, and how
    much that may be together."""

    name: str
    symbols: tuple[Symbol, ...]
    variables: dict[Sort, int]
    literals: int
    total: int | None = None
    weight: int | None = None

    @property
    def orders(self) -> dict[Sort, Symbol]:
        return {TIME: BEFORE} if BEFORE in self.symbols else {}

    def language(self) -> Language:
        model = RelationalModel("case", "pyv", tuple(self.variables), self.symbols, (), (), (), (), (), ())
        blocks = [
            Block(sort, tuple(Var(f"{sort.name[0].upper()}{i}", sort) for i in range(count)), self.orders.get(sort))
            for sort, count in self.variables.items()
        ]
        return Language(blocks, (), standard_atoms(model, blocks, ()), self.literals, self.total, None, self.weight)

    def elements(self, structure: Structure) -> dict[Sort, list[int]]:
        """The elements of each sort, those of ordered ones in their order."""
        found = {sort: list(range(size)) for sort, size in structure.sizes.items()}
        for sort, order in self.orders.items():
            found[sort].sort(key=lambda e: sum(structure.tables[order][x, e] for x in range(structure.sizes[sort])))
        return found

    def states(self, structure: Structure) -> States:
        return in_order(from_structure(structure), self.orders)


CASES = (
    Case("unordered", (LEADER, SENT), {NODE: 2}, 3),
    Case("unordered-three", (LEADER, CHIEF), {NODE: 3}, 3),
    Case("unordered-binary", (SENT,), {NODE: 3}, 2),
    Case("unordered-constant", (LEADER, SENT, CHIEF), {NODE: 2}, 2),
    Case("ordered", (BEFORE, EARLY, LATE), {TIME: 2}, 4),
    Case("ordered-three", (BEFORE, EARLY, LATE, SPOKE), {TIME: 3}, 3),
    Case("ordered-binary", (BEFORE, CAUSED), {TIME: 3}, 2),
    Case("ordered-constant", (BEFORE, EARLY, NOW), {TIME: 2}, 3),
    Case("both", (BEFORE, LEADER, EARLY, VOTED), {NODE: 2, TIME: 2}, 3),
    Case("both-short", (BEFORE, EARLY, VOTED), {NODE: 1, TIME: 3}, 3),
    Case("few-variables", (BEFORE, LEADER, EARLY, VOTED), {NODE: 2, TIME: 2}, 3, 2),
    Case("few-ordered", (BEFORE, EARLY, LATE, VOTED), {NODE: 1, TIME: 3}, 3, 2),
    Case("light", (BEFORE, LEADER, EARLY, VOTED), {NODE: 2, TIME: 2}, 3, None, 5),
    Case("light-ordered", (BEFORE, EARLY, LATE), {TIME: 3}, 4, None, 5),
)


def _ordered(rank: Sequence[int]) -> dict[tuple[int, int], bool]:
    times = range(len(rank))
    return {(a, b): rank[a] <= rank[b] for a in times for b in times}


@st.composite
def case_structures(draw, case, largest=3):
    """A structure for a case; the order, if there is one, is any total order."""
    sizes = {sort: draw(st.integers(1, largest)) for sort in case.variables}
    found = {symbol: draw(tables(symbol, sizes)) for symbol in case.symbols if symbol is not BEFORE}
    if BEFORE in case.symbols:
        found[BEFORE] = _ordered(draw(st.permutations(range(sizes[TIME]))))
    return Structure(sizes, found)


def random_structure(case: Case, generator: Random, largest: int) -> Structure:
    """The same, from a seed; relations are dense or sparse."""
    sizes = {sort: generator.randint(1, largest) for sort in case.variables}
    density = generator.random()
    found = {}
    for symbol in case.symbols:
        values = domain(symbol.sort, sizes)
        found[symbol] = {
            args: generator.random() < density if symbol.sort is BOOL else generator.choice(values)
            for args in argument_tuples(symbol.arguments, sizes)
        }
    if BEFORE in case.symbols:
        found[BEFORE] = _ordered(generator.sample(range(sizes[TIME]), sizes[TIME]))
    return Structure(sizes, found)
