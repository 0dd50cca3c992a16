"""Clauses about what there is some of: relations with the arguments of some sorts left out.

That a key is under way with a number, whoever sends it and whatever its value, is `exists` over a relation of five arguments.
Said of such projections only, over few sorts, an invariant needs few variables; written out it has an alternation of
quantifiers, or many more variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import replace
from itertools import combinations, count

from quorate.logic.terms import BOOL, Iff, Sort, Symbol, Var, exists, forall
from quorate.logic.transform import fresh_name
from quorate.methods.inference.invariants import Invariants
from quorate.methods.inference.language import Language
from quorate.methods.inference.library import LONGEST
from quorate.methods.inference.questions import Grounds
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.states import with_derived
from quorate.methods.inference.task import Found, Task
from quorate.models.relational import Derived, Named, RelationalModel
from quorate.proof.certificates import certify

LEAST, AT_ONCE = 3, 4
"""How many arguments a relation has that is worth projecting, and how many variables the first clauses have at most."""


def projections(model: RelationalModel) -> Iterator[Shape]:
    """Shapes over some of the sorts, growing: those whose relations have others left out.  None if no relation is large."""
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    large = [s for s in model.state_symbols if s.is_relation and len(s.arguments) >= LEAST]
    sizes = range(min(2, len(sorts) - 1), len(sorts))
    listed = [c for size in sizes for c in combinations(sorts, size) if any(_mixed(s, c) for s in large)]
    for rank in count(LEAST + 2) if listed else ():
        for each in range(2, rank):
            for kept in listed:
                literals = rank - each - len(kept)
                if LEAST <= literals <= LONGEST:
                    variables = {sort: each if sort in kept else 0 for sort in sorts}
                    yield Shape(variables, literals, min(AT_ONCE + each - 2, each * len(kept)))


def _mixed(symbol: Symbol, kept: Collection[Sort]) -> bool:
    """Whether the relation speaks of sorts that are kept, and of others."""
    return not symbol.sort.elements and len({sort in kept for sort in symbol.arguments}) == 2


class Projections(Invariants):
    """The search for invariants over the sorts that a shape has variables of."""

    def __init__(self, task: Task, shape: Shape) -> None:
        self.whole = task
        kept = [sort for sort, variables in shape.variables.items() if variables]
        found = list(_derived(task.protocol, [s for s in task.model.state_symbols if s.is_relation], kept))
        self.parts = [symbol for symbol, _ in found]
        part = copy(task)
        part.protocol = _extended(task.protocol, [item for _, item in found])
        part.model = _extended(task.model, [item for _, item in found])
        part.grounds = Grounds(part.model, task.orders)
        part.states = [with_derived(part.model, states) for states in task.states]
        super().__init__(part, shape)

    def _language(self) -> Language:
        return self.task.language(self.shape, (), self.parts)

    def go_on(self, outcome: Found) -> str | None:
        self.task.until = self.whole.until
        failure = super().go_on(outcome)
        if failure is None:
            self._write_out(outcome)
        return failure

    def _write_out(self, outcome: Found) -> None:
        """The proof without names for projections."""
        assert outcome.certificate is not None
        extended, model = self.task.protocol, self.whole.protocol
        outcome.invariants = tuple(Named(i.name, extended.expand(i.formula), i.span) for i in outcome.invariants)
        listed = (*model.safety, *outcome.invariants)
        outcome.certificate = certify(model, model.safety, listed, outcome.certificate.hints)


def _derived(
    model: RelationalModel, relations: Collection[Symbol], kept: Collection[Sort]
) -> Iterator[tuple[Symbol, Derived]]:
    """For each relation that also speaks of other sorts, what it says of those that are kept."""
    taken = {symbol.name for symbol in model.symbols} | {name for sort in model.sorts for name in sort.elements}
    taken |= {choice.name for transition in model.transitions for choice in transition.choices}
    for symbol in relations:
        variables = [Var(f"X{number}", sort) for number, sort in enumerate(symbol.arguments, 1)]
        rest = [variable for variable in variables if variable.sort.uninterpreted and variable.sort not in kept]
        if rest:
            said = [variable for variable in variables if variable not in rest]
            name = fresh_name(f"some_{symbol.name}", taken.__contains__)
            taken.add(name)
            some = Symbol(name, [variable.sort for variable in said], BOOL, True)
            yield symbol, Derived(some, forall(said, Iff(some(*said), exists(rest, symbol(*variables)))))


def _extended(model: RelationalModel, derived: Collection[Derived]) -> RelationalModel:
    symbols = (*model.symbols, *(item.symbol for item in derived))
    return replace(model, symbols=symbols, derived=(*model.derived, *derived))
