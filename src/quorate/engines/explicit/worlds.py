"""The rigid part of an instance: every interpretation that satisfies the axioms, one per isomorphism class.

Symbols are given values one after the other.  After each symbol only tables that are smallest in their orbit, under the
permutations that keep what has been fixed so far, are kept; what remains of those permutations at the end are the
automorphisms of the world, which are the symmetries of its runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

from quorate.engines.explicit.expressions import RIGID, Compiled, Graph, Node, compile_python
from quorate.logic.structures import Value, argument_tuples, domain
from quorate.logic.terms import Sort, Symbol

Renaming = Mapping[Sort, Sequence[int]]
"""A permutation of the elements of some sorts; a sort that is not mentioned stays as it is."""

MOST_TABLES = 2_000_000
MOST_RENAMINGS = 50_000


class InstanceError(Exception):
    """The instance cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class World:
    """Values of the rigid fields, and the renamings that keep all of them."""

    values: tuple[int, ...]
    automorphisms: tuple[Renaming, ...]


def entries(symbol: Symbol, sizes: Mapping[Sort, int]) -> list[tuple[Value, ...]]:
    """The argument tuples of a symbol, in the order in which its fields come."""
    return list(argument_tuples(symbol.arguments, sizes))


def rename(value: Value, sort: Sort, renaming: Renaming) -> int:
    return renaming[sort][value] if sort in renaming else int(value)


def moved(symbol: Symbol, sizes: Mapping[Sort, int], renaming: Renaming) -> tuple[list[int], list[int]]:
    """What a renaming does to the fields of a symbol: where each entry goes, and what each value becomes."""
    index = {args: i for i, args in enumerate(entries(symbol, sizes))}
    places = [
        index[tuple(rename(a, s, renaming) for a, s in zip(args, symbol.arguments, strict=True))] for args in index
    ]
    return places, [rename(value, symbol.sort, renaming) for value in domain(symbol.sort, sizes)]


def renamings(sorts: Sequence[Sort], sizes: Mapping[Sort, int]) -> list[Renaming]:
    """All permutations of the elements of some sorts, the identity first."""
    count = prod(prod(range(2, sizes[sort] + 1)) for sort in sorts)
    if count > MOST_RENAMINGS:
        raise InstanceError(f"there are {count:,} ways to permute the elements of {', '.join(map(str, sorts))}")
    each = [list(permutations(range(sizes[sort]))) for sort in sorts]
    return [dict(zip(sorts, chosen, strict=True)) for chosen in product(*each)]


class _Search:
    """Backtracking over the rigid fields, symbol by symbol."""

    def __init__(
        self, graph: Graph, symbols: Sequence[Symbol], sizes: Mapping[Sort, int], axioms: Sequence[Node]
    ) -> None:
        self.sizes = sizes
        self.symbols = symbols
        self.offsets = {}
        self.domains: list[int] = []
        for symbol in symbols:
            self.offsets[symbol] = len(self.domains)
            self.domains += [len(domain(symbol.sort, sizes))] * len(entries(symbol, sizes))
        compiled: dict[Node, Compiled] = {}
        self.checks: list[list[Compiled]] = [[] for _ in self.domains]
        self.refuted = False
        for axiom in axioms:
            for part in graph.conjuncts(axiom):
                reads = graph.reads(part, RIGID)
                if reads:
                    self.checks[max(reads)].append(compile_python(graph, part, compiled))
                else:
                    self.refuted = True
        self.tried = 0

    def tables(self, prefix: list[int], end: int) -> Iterator[list[int]]:
        """All ways to extend a prefix up to field `end` so that every axiom over the fields so far holds."""
        first = position = len(prefix)
        if position == end:
            yield prefix
            return
        values = [*prefix, *[-1] * (end - first)]
        while position >= first:
            values[position] += 1
            if values[position] == self.domains[position]:
                values[position] = -1
                position -= 1
                continue
            self.tried += 1
            if self.tried > MOST_TABLES:
                raise InstanceError(
                    "there are too many interpretations of the rigid symbols at these sizes; "
                    "take smaller sizes, or restrict them with --where"
                )
            for check in self.checks[position]:
                if not check((), values, ()):
                    break
            else:
                if position + 1 == end:
                    yield values.copy()
                else:
                    position += 1

    def worlds(self) -> list[World]:
        found: list[tuple[list[int], list[Renaming]]] = [] if self.refuted else [([], [{}])]
        seen: set[Sort] = set()
        for symbol in self.symbols:
            sorts = sorted({s for s in (*symbol.arguments, symbol.sort) if s.uninterpreted}, key=str)
            new = [sort for sort in sorts if sort not in seen]
            seen.update(new)
            fresh = renamings(new, self.sizes)
            start = self.offsets[symbol]
            end = start + len(entries(symbol, self.sizes))
            done: dict[tuple[Sequence[int], ...], tuple[list[int], list[int]]] = {}
            extended = []
            for prefix, group in found:
                if len(group) * len(fresh) > MOST_RENAMINGS:
                    raise InstanceError("there are too many ways to permute the elements; take smaller sizes")
                alike: dict[tuple[Sequence[int], ...], list[Renaming]] = {}
                for renaming in ({**old, **more} for old in group for more in fresh):
                    alike.setdefault(tuple(renaming[sort] for sort in sorts), []).append(renaming)
                for key, chosen in alike.items():
                    if key not in done:
                        done[key] = moved(symbol, self.sizes, chosen[0])
                actions = [(chosen, *done[key]) for key, chosen in alike.items()]
                actions.sort(key=lambda action: sum(i != j for i, j in enumerate(action[1])))
                for values in self.tables(prefix, end):
                    kept = _stabiliser(values[start:], actions)
                    if kept is not None:
                        extended.append((values, kept))
            found = extended
        return [World(tuple(values), tuple(group)) for values, group in found]


def _stabiliser(
    table: list[int], actions: Sequence[tuple[list[Renaming], list[int], list[int]]]
) -> list[Renaming] | None:
    """The renamings that keep a table; None if one of them makes it smaller, so that another table stands for it."""
    kept: list[Renaming] = []
    for alike, places, values in actions:
        image = [0] * len(table)
        for place, value in zip(places, table, strict=True):
            image[place] = values[value]
        if image < table:
            return None
        if image == table:
            kept += alike
    return kept


def enumerate_worlds(
    graph: Graph, symbols: Sequence[Symbol], sizes: Mapping[Sort, int], axioms: Sequence[Node]
) -> list[World]:
    """One world per isomorphism class; the axioms are over rigid fields, in the order of the symbols."""
    return _Search(graph, symbols, sizes, axioms).worlds()
