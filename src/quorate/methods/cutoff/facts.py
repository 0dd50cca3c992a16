"""Facts about the protocol that a cutoff proof may need: votes are unique, who voted has been asked.

Clauses of two literals over the relations that can change.  A fact is only ever a suggestion: it is offered if it holds in
the states that were sampled and excludes a counterexample, and it has to be proved together with the relation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import RUNNING, Reference, ReferenceSearch
from quorate.engines.explicit.worlds import InstanceError
from quorate.logic.structures import EvaluationError, Evaluator, Structure
from quorate.logic.terms import Symbol, Term, Var, conj, equal, forall, implies, neg
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import state_of

SAMPLES, SECONDS = 300, 0.2
MOST_FACTS = 2000


@dataclass(frozen=True)
class Fact(Named):
    """A clause of two literals; `weaker` are clauses that follow from it."""

    weaker: frozenset[Term] = frozenset()


class Facts:
    """The pool of one protocol, with samples of its states."""

    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self._sampled: dict[str, bool] = {}

    @cached_property
    def pool(self) -> tuple[Fact, ...]:
        found: dict[Term, Fact] = {}
        for formula, weaker in self._formulas():
            if len(found) >= MOST_FACTS:
                break
            found.setdefault(formula, Fact(f"fact {formula}", formula, None, frozenset(weaker)))
        return tuple(found.values())

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(item.name for item in self.pool)

    def _formulas(self) -> Iterator[tuple[Term, list[Term]]]:
        """Uniqueness first, then what a relation says about another."""
        relations = [symbol for symbol in self.model.state_symbols if symbol.is_relation]
        for symbol in relations:
            xs = tuple(Var(f"X{i}", sort) for i, sort in enumerate(symbol.arguments))
            ys = tuple(Var(f"Y{i}", sort) for i, sort in enumerate(symbol.arguments))
            for place, (x, y) in enumerate(zip(xs, ys, strict=True)):

                def unique(shared: tuple[bool, ...], symbol=symbol, xs=xs, ys=ys, x=x, y=y) -> Term:  # type: ignore[no-untyped-def]
                    other = [a if same else b for same, a, b in zip(shared, xs, ys, strict=True)]
                    return forall(dict.fromkeys((*xs, *other)), implies(conj(symbol(*xs), symbol(*other)), equal(x, y)))

                for shared in product((False, True), repeat=len(xs)):
                    if not shared[place]:
                        more = product(*((True,) if s else (False, True) for s in shared))
                        weaker = [unique(wider) for wider in more if not wider[place] and wider != shared]
                        yield unique(shared), weaker
        for first, second in product(relations, repeat=2):
            for negative in (True, False):
                if first is not second and (not negative or relations.index(first) < relations.index(second)):
                    yield from self._between(first, second, negative)

    def _between(self, first: Symbol, second: Symbol, negative: bool) -> Iterator[tuple[Term, list[Term]]]:
        """What `first` says about `second` at the same elements or, which is stronger, at any."""
        xs = tuple(Var(f"X{i}", sort) for i, sort in enumerate(first.arguments))
        fresh = tuple(Var(f"Y{i}", sort) for i, sort in enumerate(second.arguments))
        choices = [[y, *(x for x in xs if x.sort is y.sort)] for y in fresh]

        def fact(ys: tuple[Var, ...]) -> Term:
            variables = tuple(dict.fromkeys((*xs, *ys)))
            return forall(variables, implies(first(*xs), neg(second(*ys)) if negative else second(*ys)))

        for ys in product(*choices):
            instances = product(*(choice if y in fresh else [y] for y, choice in zip(ys, choices, strict=True)))
            yield fact(ys), [fact(other) for other in instances if other != ys]

    @cached_property
    def samples(self) -> list[Structure]:
        """States that small instances can reach."""
        found: list[Structure] = []
        for size in (2, 3):
            sizes = {sort: size for sort in self.model.sorts if sort.uninterpreted}
            try:
                instance = Instance(self.model, sizes)
                search = ReferenceSearch(Reference(instance.system), True, True)
                search.begin()
                ends = time.process_time() + SECONDS
                while search.status == RUNNING and len(search.seen) < SAMPLES and time.process_time() < ends:
                    search.run(0.0)
                listed = list(search.seen)[:SAMPLES]
                found += [instance.structure(state[0], state[1]) for state in listed]
            except InstanceError:
                continue
        return found

    def sampled(self, item: Named) -> bool:
        """Does the fact hold in all samples?"""
        known = self._sampled.get(item.name)
        if known is None:
            known = self._sampled[item.name] = all(state.holds(item.formula) for state in self.samples)
        return known

    def excluding(self, structure: Structure) -> list[Fact]:
        """Facts that do not hold in the state of L of a counterexample."""
        try:
            state = state_of(self.model, structure)
            evaluator = Evaluator(state.sizes)
            wrong = [item for item in self.pool if not evaluator.compile(item.formula)(state, {})]
        except (EvaluationError, KeyError):
            return []
        found = [item for item in wrong if self.sampled(item)]
        implied = {weaker for item in found for weaker in item.weaker}
        return [item for item in found if item.formula not in implied]
