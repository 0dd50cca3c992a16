"""Clauses about what there is some of: relations with some arguments left out.

That a key is under way with a number, whoever sends it and whatever its value, is `exists` over a relation of five arguments.
Said of such projections only, over few sorts, an invariant needs few variables; written out it has an alternation of
quantifiers, or many more variables.  Likewise, what has happened in some round, whichever, needs no variable for it; and who
has learnt a decision does not matter to the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, count, product

from quorate.logic import sexpr
from quorate.logic.terms import BOOL, Iff, Sort, Symbol, Var, exists, forall
from quorate.logic.transform import fresh_name
from quorate.methods.inference.badness import unspoken
from quorate.methods.inference.invariants import Invariants
from quorate.methods.inference.language import Language
from quorate.methods.inference.library import LONGEST
from quorate.methods.inference.refutations import Refutations
from quorate.methods.inference.shapes import Shape, shapes
from quorate.methods.inference.states import with_derived
from quorate.methods.inference.task import Found, Task
from quorate.models.relational import Derived, Named, RelationalModel
from quorate.proof.certificates import certify

WALKED, STEPS, WALKS = ((3, 3), (3, 4), (4, 5)), 60, 4
"""The sizes, of ordered sorts the second ones, over which more random runs are taken, how many steps these have, and how many
times that is done."""
LEAST, AT_ONCE = 3, 4
"""How many arguments a relation has that is worth projecting, and how many variables the first clauses have at most."""


def projections(model: RelationalModel) -> Iterator[Shape]:
    """Shapes over some of the sorts, growing: those whose relations have others left out.  None if no relation is large."""
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    large = [s for s in model.state_symbols if s.is_relation and len(s.arguments) >= LEAST]
    sizes = range(max(0, min(2, len(sorts) - 1)), len(sorts))
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
        found = _Derived(task.protocol)
        self.parts = []
        for symbol in [s for s in task.model.state_symbols if s.is_relation]:
            rest = [i for i, sort in enumerate(symbol.arguments) if sort.uninterpreted and sort not in kept]
            if rest:
                self.parts.append(symbol)
                found.add(symbol, rest)
        super().__init__(task.extended(found.listed), shape)

    def _language(self) -> Language:
        return self.task.language(self.shape, (), self.parts)

    def go_on(self, outcome: Found) -> str | None:
        self.task.until = self.whole.until
        if (failure := super().go_on(outcome)) is None:
            write_out(self.task.protocol, self.whole.protocol, outcome)
        return failure


class ProjectedRefutations(Refutations):
    """The search for refutations from one side that also speak of what happened at some time, and briefly.

    Of an ordered sort an argument of a relation can be left out; of relations that no step depends on, all arguments that do
    not matter to where it comes from.  What has many arguments is only spoken of like this.
    """

    effort, lighter = 20, (0, 2, 1)

    def __init__(self, task: Task, shape: Shape) -> None:
        self.whole = task
        found = _Derived(task.protocol)
        known = {origin.relation: origin for origin in task.origins}
        self.silent = unspoken(task.model, task.origins)
        for symbol in [s for s in task.model.state_symbols if s.is_relation]:
            if symbol in self.silent:
                told = frozenset().union(*(way.formula.free for way in known[symbol].ways))
                idle = [i for i, variable in enumerate(known[symbol].variables) if variable not in told]
                found.add(symbol, idle)
                continue
            places = [i for i, sort in enumerate(symbol.arguments) if sort in task.orders and len(symbol.arguments) > 1]
            for place in places:
                found.add(symbol, [place])
            if places and len(symbol.arguments) > LEAST:
                self.silent.add(symbol)
        part = task.extended(found.listed)
        for sizes, seed in product(WALKED, range(1, WALKS + 1)):
            part.states += [with_derived(part.model, s) for s in task.walks([sizes], STEPS, task.seed + seed)]
        super().__init__(part, shape, one_sided=True)

    def _language(self, constants: Sequence[Var]) -> Language:
        return self.task.language(self.shape, constants, self.silent, brief=True)

    def go_on(self, outcome: Found) -> str | None:
        self.task.until = self.whole.until
        if (failure := super().go_on(outcome)) is None:
            write_out(self.task.protocol, self.whole.protocol, outcome)
        return failure


def write_out(extended: RelationalModel, model: RelationalModel, outcome: Found) -> None:
    """The proof without names for projections."""
    assert outcome.certificate is not None
    found = outcome.certificate
    outcome.invariants = tuple(Named(i.name, extended.expand(i.formula), i.span) for i in outcome.invariants)
    sorts = {sort.name: sort for sort in extended.sorts}
    refutations = []
    for item in found.refutations:
        constants = [Symbol(name, (), sorts[sort]) for name, sort in item.constants]

        def plain(text: str, constants: Sequence[Symbol] = constants) -> str:
            term = sexpr.read(text, extended.sorts, (*extended.symbols, *constants))
            return sexpr.write(extended.expand(term))

        steps = [
            replace(step, formulas=tuple((name, plain(text)) for name, text in step.formulas)) for step in item.steps
        ]
        refutations.append(replace(item, steps=tuple(steps)))
    listed = outcome.invariants if refutations else (*model.safety, *outcome.invariants)
    outcome.certificate = certify(model, model.safety, listed, found.hints, refutations)


def brief_shapes(model: RelationalModel, orders: Collection[Sort]) -> Iterator[Shape]:
    """Shapes for `ProjectedRefutations`: clauses with many literals have few variables; growing."""
    spoken = {sort for sort, number in next(shapes(model)).variables.items() if number}
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    for weight in count(LEAST + 3):
        variables = {sort: (weight - (4 if sort in orders else 5)) * (sort in spoken) for sort in sorts}
        yield Shape(variables, min(LONGEST, weight - 2), weight - 3, weight)


class _Derived:
    """Projections of the relations of a model, with names."""

    def __init__(self, model: RelationalModel) -> None:
        self.taken = {symbol.name for symbol in model.symbols} | {
            name for sort in model.sorts for name in sort.elements
        }
        self.taken |= {choice.name for transition in model.transitions for choice in transition.choices}
        self.listed: list[Derived] = []

    def add(self, symbol: Symbol, left_out: Collection[int]) -> None:
        """What a relation says where some of its arguments, if any, are left out."""
        if not left_out:
            return
        variables = [Var(f"X{number}", sort) for number, sort in enumerate(symbol.arguments, 1)]
        said = [variable for place, variable in enumerate(variables) if place not in left_out]
        name = fresh_name(f"some_{symbol.name}", self.taken.__contains__)
        self.taken.add(name)
        some = Symbol(name, [variable.sort for variable in said], BOOL, True)
        rest = [variable for place, variable in enumerate(variables) if place in left_out]
        self.listed.append(Derived(some, forall(said, Iff(some(*said), exists(rest, symbol(*variables))))))
