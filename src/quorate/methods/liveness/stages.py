"""Finding the stages of a proof on samples: parts are chosen as long as they exclude steps that others leave.

A part that never grows, on the steps that are left, can always be taken: it excludes steps and harms no other part.  The same
is true of an assumption that cannot be due forever.  So greedy choice is complete: where it gets stuck, no stages over
these formulas cover the samples (for lexicographic rankings see Alias et al., SAS 2010).  In the end what is not needed
is left out again.  Formulas are conjunctions of few literals, over few variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import inf, prod

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import (
    TRUE,
    Sort,
    Term,
    Var,
    conj,
    neg,
)
from quorate.logic.transform import fresh_name, fresh_variables, substitute
from quorate.methods.inference.states import Array
from quorate.methods.liveness.atoms import wholes
from quorate.methods.liveness.parts import WORD, Best, Literals, Part
from quorate.methods.liveness.samples import Samples
from quorate.models.relational import Fairness
from quorate.models.temporal import all_fairness, renamed
from quorate.proof.counting import Counting
from quorate.proof.liveness import Stage


class Search:
    """Stages for one property, tried on samples."""

    def __init__(
        self,
        samples: Samples,
        counting: Counting,
        optional: bool,
        progress: Callable[[str], None],
        until: float = inf,
    ) -> None:
        """What is not finite by `counting` is not counted; `optional`: it may well be finite, so this is not worth too much.

        When `until` has come, by the monotonic clock, no further stages are looked for.
        """
        self.samples, self.model, self.item = samples, samples.model, samples.item
        self.counting, self.optional = counting, optional
        self.limited = {sort for sort in self.model.sorts if not counting.is_finite(sort)}
        self.progress, self.until = progress, until
        self.count = sum(pairs.count for pairs in samples.pairs)
        everything = (*samples.pairs, *samples.wild)
        self.kind = numpy.concatenate([pairs.kind for pairs in everything]) if everything else numpy.zeros(0, int)
        self.all = self.count + sum(pairs.count for pairs in samples.wild)
        self.fairness = all_fairness(self.model, self.item)
        self.literals: dict[tuple[Var, ...], Literals | None] = {}

    def find(self, levels: Sequence[Level]) -> tuple[list[list[Stage]], Array]:
        """Lists of stages, each of which leaves no pair, and as few as possible; or none, and which pairs are left.

        The first ones also exclude unreachable steps where they can, so that less has to be known about reachable ones.
        """
        parts: list[Part] = []
        active = numpy.ones(self.all, bool)
        while active.any() and time.monotonic() < self.until:
            most = UNREACHABLE if not active[: self.count].any() else BOUNDED if self.optional else None
            tried = levels[:most]
            found = self._hinted(active)
            found = found or next(filter(None, (self._best(level, active) for level in tried)), None)
            if found is None:
                break
            parts.append(found)
            active &= ~found.gone & ~found.breaks
            left = int(active[: self.count].sum())
            self.progress(f"{len(parts)} stages, {left:,} of {self.count:,} steps left: {found.stage.formula}")
            if len(parts) > MOST_STAGES and (not left or self.optional):
                break
        if not active[: self.count].any():
            return self._lists(parts, int(active.sum())), active[: self.count]
        return [], active[: self.count]

    def left(self, active: Array) -> str:
        """The transitions of pairs, in words, with an example."""
        kinds = numpy.concatenate([pairs.kind for pairs in self.samples.pairs])[active]
        names = ", ".join(self.model.transitions[kind].name for kind in sorted(set(kinds.tolist())))
        place = int(numpy.flatnonzero(active)[0])
        for pairs in self.samples.pairs:
            if place < pairs.count:
                return f"{names}; for one, {pairs.text(self.model, place)}"
            place -= pairs.count
        return names

    def would_do(self, levels: Sequence[Level], until: float) -> str | None:
        """A fairness assumption which the file does not make and with which stages would be found, in words."""
        stated = self.fairness
        fair = {item.transition for item in stated if item.strong or item.transition is None}
        known = {item.transition for item in stated}
        transitions = [item for item in self.model.transitions if item.name not in fair]
        try:
            for item in sorted(transitions, key=lambda item: item.name not in known):
                if time.monotonic() > until:
                    break
                strong = item.name in known
                extra = Fairness("assumed", strong, item.parameters, TRUE, item.name, item.parameters)
                self.fairness = (*stated, extra)
                if self.find(levels)[0]:
                    return f"{'strong' if strong else 'weak'} fairness of {item.name}"
        finally:
            self.fairness = stated
        return None

    def _hinted(self, active: Array) -> Part | None:
        """A rank that the file suggests, if it excludes something now."""
        for hint in self.item.hints:
            if hint.kind == "rank":
                variables = tuple(fresh_variables(hint.variables, self.item.variables))
                formula = substitute(hint.formula, dict(zip(hint.variables, variables, strict=True)))
                literals = self._literals(variables)
                if literals is None or self.counting.unbounded(variables, self.model.expand(formula)):
                    continue
                part = literals.rank(formula, len(variables))
                if not (part.breaks & active)[: self.count].any() and (part.gone & active).any():
                    return part
        return None

    def _lists(self, parts: list[Part], most: int) -> list[list[Stage]]:
        """The stages without those that are not needed, in several ways; those that unreachable steps break least first."""
        orders = [
            sorted(parts, key=lambda part: -part.wild(self.count)),
            sorted(parts, key=lambda part: (-part.weight, -parts.index(part))),
            parts[::-1],
            parts,
        ]
        found: dict[tuple[Stage, ...], int] = {}
        for order in orders:
            for left in (most, self.all):
                rest = self._pruned(parts, order, left)
                found[tuple(part.stage for part in rest)] = sum(part.wild(self.count) for part in rest)
        return [list(stages) for stages in sorted(found, key=lambda stages: (found[stages], len(stages)))]

    def _pruned(self, parts: list[Part], order: Sequence[Part], most: int) -> list[Part]:
        """Without what is not needed, looked at in order; so many unreachable steps may be left.

        Ranks that are one relation and that not even unreachable steps break cost nothing, and save invariants.
        """
        for part in order:
            if not part.breaks.any() and any(part is whole for whole in self._whole):
                continue
            rest = [other for other in parts if other is not part]
            if self._covers(rest, most):
                parts = rest
        return parts

    def _covers(self, parts: Sequence[Part], most: int) -> bool:
        active = numpy.ones(self.all, bool)
        for part in parts:
            if (part.breaks & active)[: self.count].any():
                return False
            active &= ~part.gone & ~part.breaks
        return not active[: self.count].any() and int(active.sum()) <= most

    def _best(self, level: Level, active: Array) -> Part | None:
        """The part of a level that excludes the most, if that is enough, and needs the least."""

        best = Best(active, self.count, self.kind)

        def enough(part: Part | None, least: int) -> bool:
            return part is not None and best.covers(part.gone) >= least

        parts = [part for part in self._fair_parts(level, active) if enough(part, level.fair_covers)]
        if not parts and level.whole:
            least = 1 if self.limited else level.rank_covers
            parts = [part for part in self._whole if self._is_useful(part, active) and enough(part, least)]
        elif not parts:
            for variables in level.blocks(self.model.sorts, {v.name for v in self.item.variables}):
                literals = self._literals(variables)
                if literals is not None and time.monotonic() < self.until:
                    found = [literals.best_rank(active, self.count, level.literals)]
                    if level.projected and len(variables) > 1:
                        found.append(literals.best_projection(active, self.count))
                    if level.ordered and 0 < len(variables) <= 2 and variables[0].sort in self.samples.orders:
                        found.append(literals.best_ordered(active, self.count, level.literals))
                    parts += [part for part in found if part is not None and enough(part, level.rank_covers)]
        for part in parts:
            best.consider(part)
        return best.part

    @cached_property
    def _whole(self) -> list[Part]:
        """Ranks that are one relation, or one quantified part of a guard, of any number of different variables, or its negation.

        Variables of sorts that are not finite stay below constants or the property's variables.
        """
        everything = (*self.samples.pairs, *self.samples.wild)
        found = []
        for variables, atom in wholes(self.samples):
            for bounds in self._bounds(variables):
                lost, new = [], []
                for pairs in everything:
                    allowed = pairs.evaluate(bounds, variables, False)
                    before, after = (pairs.evaluate(atom, variables, later) & allowed for later in (False, True))
                    lost.append((before & ~after).any(axis=1))
                    new.append((after & ~before).any(axis=1))
                gone, breaks = numpy.concatenate(lost), numpy.concatenate(new)
                weight = 1 + 2 * len(variables)
                found.append(Part(Stage("rank", variables, conj(atom, bounds)), weight, breaks, gone))
                found.append(Part(Stage("rank", variables, conj(neg(atom), bounds)), weight, gone, breaks))
        return found

    def _bounds(self, variables: tuple[Var, ...]) -> Iterator[Term]:
        """That variables of sorts that are not finite are below something that does not change, in all ways."""
        rigid = [symbol() for symbol in self.model.symbols if not symbol.arguments and not symbol.mutable]
        pools: list[list[Term]] = []
        for variable in variables:
            if variable.sort in self.limited:
                orders = self.counting.readings[variable.sort].orders[:1]
                limits = [term for term in (*self.item.variables, *rigid) if term.sort is variable.sort]
                pools.append([order.below(variable, limit) for order in orders for limit in limits])
        for chosen in product(*pools):
            yield conj(*chosen)

    def _is_useful(self, part: Part, active: Array) -> bool:
        return not (part.breaks & active)[: self.count].any() and bool((part.gone & active & ~part.breaks).any())

    def _literals(self, variables: tuple[Var, ...]) -> Literals | None:
        if variables not in self.literals:
            everything = (*self.samples.pairs, *self.samples.wild)
            widths = [prod(len(domain(v.sort, pairs.sizes)) for v in variables) for pairs in everything]
            fits = max(widths, default=0) <= WORD
            self.literals[variables] = Literals(self.samples, variables, self.counting) if fits else None
        return self.literals[variables]

    def _fair_parts(self, level: Level, active: Array) -> Iterator[Part]:
        taken = {v.name for v in self.item.variables}
        for fairness in self.fairness:
            names: set[str] = set(taken)
            variables = []
            for variable in fairness.variables:
                name = fresh_name(variable.name, names.__contains__)
                names.add(name)
                variables.append(Var(name, variable.sort))
            literals = self._literals(tuple(variables))
            if literals is not None and time.monotonic() < self.until:
                part = literals.best_fair(renamed(fairness, variables), active, self.count, level.conditions)
                if part is not None:
                    yield part


@dataclass(frozen=True)
class Level:
    """How large parts may be: variables, literals of a rank, and literals beside what makes an assumption due."""

    variables: int
    literals: int
    conditions: int
    rank_covers: int
    fair_covers: int
    """What a rank, and an assumption, has to exclude at least: in twentieths, of some transition's steps."""
    projected: bool = False
    """Whether a rank may say that there is a value of its last variable."""
    ordered: bool = False
    """Whether a rank of one variable may be along an order, and may say that there is a value of another one."""
    whole: bool = False
    """Whether ranks are single relations of different variables, as many as there are, and nothing else."""

    def blocks(self, sorts: Sequence[Sort], taken: set[str]) -> Iterator[tuple[Var, ...]]:
        """The variables of a rank, of every choice of sorts."""
        open_ = [sort for sort in sorts if sort.uninterpreted or sort.elements]
        for count in range(self.variables + 1):
            for chosen in combinations_with_replacement(open_, count):
                names: set[str] = set(taken)
                made = []
                for sort in chosen:
                    name = fresh_name(sort.name.upper(), names.__contains__)
                    names.add(name)
                    made.append(Var(name, sort))
                yield tuple(made)


LEVELS = (
    Level(0, 1, -1, 20, 1, whole=True),
    Level(1, 2, 0, 20, 1),
    Level(2, 2, 1, 20, 4),
    Level(1, 2, 1, 8, 2),
    Level(2, 2, 1, 20, 1, True),
    Level(2, 2, 1, 20, 1, ordered=True),
    Level(2, 2, 1, 1, 1),
    Level(1, 3, 2, 1, 1),
    Level(3, 1, 1, 8, 1, True),
    Level(2, 2, 1, 0, 0),
)
UNREACHABLE = 3
"""How many levels are tried for the sake of unreachable steps only."""
BOUNDED = 7
"""How many levels are tried while elements are counted below some only, though the sort is finite."""
MOST_STAGES = 20
"""Unreachable steps are not worth more stages than that, nor is it to count only below some elements."""
