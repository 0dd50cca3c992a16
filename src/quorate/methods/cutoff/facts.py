"""Facts about the protocol that a cutoff proof may need: votes are unique, who voted has been asked.

Clauses of two literals over the relations that can change.  A fact is only ever a suggestion: it is offered if it holds in
the states that were sampled and excludes a counterexample, and it has to be proved together with the relation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import prod

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import RUNNING, Reference, ReferenceSearch
from quorate.engines.explicit.worlds import InstanceError
from quorate.logic.structures import EvaluationError, Structure, Value, domain
from quorate.logic.terms import INT, Sort, Symbol, Term, Var, conj, equal, forall, implies, neg
from quorate.models.relational import Named, RelationalModel

SAMPLES, SECONDS = 300, 0.2
"""How many states of an instance are sampled, and for how long."""
MOST_VARIABLES = 6
"""Facts with more variables are not offered: a counterexample is checked by evaluating them."""
MOST_FACTS, MOST_WORK, MOST_SYMMETRIES = 4000, 600, 3000
"""How large the pool may be, and how large an instance that is sampled, with how many symmetries."""

Tuples = Mapping[Symbol, frozenset[tuple[Value, ...]]]


@dataclass(frozen=True)
class State:
    """Where each relation is true."""

    sizes: Mapping[Sort, int]
    true: Tuples


@dataclass(frozen=True)
class Unique:
    """Two tuples of a relation that agree at the `shared` places agree at `place`."""

    symbol: Symbol
    shared: tuple[int, ...]
    place: int

    def formula(self) -> Term:
        xs = [Var(f"X{i}", sort) for i, sort in enumerate(self.symbol.arguments)]
        ys = [x if i in self.shared else Var(f"Y{i}", x.sort) for i, x in enumerate(xs)]
        claim = equal(xs[self.place], ys[self.place])
        return forall(dict.fromkeys((*xs, *ys)), implies(conj(self.symbol(*xs), self.symbol(*ys)), claim))

    def holds(self, state: State) -> bool:
        values: dict[tuple[Value, ...], Value] = {}
        for row in state.true[self.symbol]:
            if values.setdefault(tuple(row[i] for i in self.shared), row[self.place]) != row[self.place]:
                return False
        return True

    def implies(self, other: Unique | Between) -> bool:
        return (
            isinstance(other, Unique)
            and self.symbol is other.symbol
            and self.place == other.place
            and set(self.shared) < set(other.shared)
        )


@dataclass(frozen=True)
class Between:
    """Where `first` is true, `second` is false, or true, at the elements of `first` that `pattern` says, or (None) at all."""

    first: Symbol
    second: Symbol
    pattern: tuple[int | None, ...]
    negative: bool

    def formula(self) -> Term:
        xs = [Var(f"X{i}", sort) for i, sort in enumerate(self.first.arguments)]
        ys = [
            Var(f"Y{i}", sort) if (p := self.pattern[i]) is None else xs[p]
            for i, sort in enumerate(self.second.arguments)
        ]
        claim = neg(self.second(*ys)) if self.negative else self.second(*ys)
        return forall(dict.fromkeys((*xs, *ys)), implies(self.first(*xs), claim))

    def holds(self, state: State) -> bool:
        fixed = [(i, p) for i, p in enumerate(self.pattern) if p is not None]
        counts: dict[tuple[Value, ...], int] = {}
        for row in state.true[self.second]:
            key = tuple(row[i] for i, _ in fixed)
            counts[key] = counts.get(key, 0) + 1
        free = [sort for sort, p in zip(self.second.arguments, self.pattern, strict=True) if p is None]
        wanted = 0 if self.negative else prod(len(domain(sort, state.sizes)) for sort in free)
        return all(counts.get(tuple(row[p] for _, p in fixed), 0) == wanted for row in state.true[self.first])

    def implies(self, other: Unique | Between) -> bool:
        return (
            isinstance(other, Between)
            and (self.first, self.second, self.negative) == (other.first, other.second, other.negative)
            and self.pattern != other.pattern
            and all(a is None or a == b for a, b in zip(self.pattern, other.pattern, strict=True))
        )


class Facts:
    """The pool of one protocol, with samples of its states."""

    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self.names: set[str] = set()
        """The names of all facts that were offered."""
        self._sampled: dict[Unique | Between, bool] = {}

    @cached_property
    def pool(self) -> tuple[Unique | Between, ...]:
        return tuple(islice(self._facts(), MOST_FACTS))

    def _facts(self) -> Iterator[Unique | Between]:
        relations = [symbol for symbol in self.model.state_symbols if symbol.is_relation]
        for symbol in relations:
            places = range(len(symbol.arguments))
            for place in places:
                for shared in product((False, True), repeat=len(places)):
                    if not shared[place] and 2 * len(places) - sum(shared) <= MOST_VARIABLES:
                        yield Unique(symbol, tuple(i for i in places if shared[i]), place)
        for (i, first), (j, second) in product(enumerate(relations), repeat=2):
            choices = [
                [None, *(p for p, other in enumerate(first.arguments) if other is sort)] for sort in second.arguments
            ]
            for pattern in product(*choices):
                if len(first.arguments) + pattern.count(None) > MOST_VARIABLES:
                    continue
                if i < j:
                    yield Between(first, second, pattern, True)
                if i != j:
                    yield Between(first, second, pattern, False)

    @cached_property
    def samples(self) -> list[State]:
        """States that small instances can reach."""
        found: list[State] = []
        for size in (2, 3):
            sizes = {sort: size for sort in self.model.sorts if sort.uninterpreted}
            if self._work(sizes) > MOST_WORK:
                continue
            try:
                instance = Instance(self.model, sizes)
                if sum(len(world.automorphisms) for world in instance.worlds) > MOST_SYMMETRIES:
                    continue
                reference = Reference(instance.system)
            except (InstanceError, EvaluationError):
                continue
            for state, _ in self._states(reference):
                true: dict[Symbol, set[tuple[Value, ...]]] = {symbol: set() for symbol in self.model.state_symbols}
                for (symbol, args), value in zip(instance.places, state, strict=True):
                    if value:
                        true[symbol].add(args)
                found.append(State(sizes, {symbol: frozenset(rows) for symbol, rows in true.items()}))
        return found

    def _states(self, reference: Reference) -> list[tuple[tuple[int, ...], int]]:
        """Some states that can be reached, those near the beginning."""
        first = list(islice(reference.initial(), SAMPLES))
        if len(first) == SAMPLES:
            return first
        search = ReferenceSearch(reference, True, True)
        search.begin()
        ends = time.process_time() + SECONDS
        while search.status == RUNNING and len(search.seen) < SAMPLES and time.process_time() < ends:
            search.run(0.0)
        return list(search.seen)[:SAMPLES]

    def _work(self, sizes: Mapping[Sort, int]) -> int:
        """How many entries a state has, and how many ways there are to take a step."""
        tuples = [symbol.arguments for symbol in self.model.symbols]
        tuples += [tuple(p.sort for p in transition.parameters) for transition in self.model.transitions]
        return sum(prod(len(domain(sort, sizes)) for sort in sorts if sort is not INT) for sorts in tuples)

    def sampled(self, fact: Unique | Between) -> bool:
        """Does the fact hold in all samples?"""
        known = self._sampled.get(fact)
        if known is None:
            known = self._sampled[fact] = all(fact.holds(state) for state in self.samples)
        return known

    def excluding(self, structure: Structure) -> list[Named]:
        """Facts that do not hold in the state of L of a counterexample; none that follows from another of them."""
        true = {
            symbol: frozenset(row for row, value in structure.tables[symbol].items() if value)
            for symbol in self.model.state_symbols
            if symbol.is_relation
        }
        state = State(structure.sizes, true)
        found = [fact for fact in self.pool if not fact.holds(state) and self.sampled(fact)]
        offered = []
        for fact in found:
            if not any(other.implies(fact) for other in found):
                formula = fact.formula()
                offered.append(Named(f"fact {formula}", formula))
                self.names.add(offered[-1].name)
        return offered
