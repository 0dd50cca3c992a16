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
from functools import cached_property, partial
from itertools import combinations, combinations_with_replacement, product
from math import inf, prod

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import (
    TRUE,
    Apply,
    Not,
    Sort,
    Term,
    Var,
    conj,
    equal,
    exists,
    neg,
)
from quorate.logic.transform import fresh_name, fresh_variables, substitute, symbols_of
from quorate.methods.inference.states import Array
from quorate.methods.liveness.atoms import atoms, wholes
from quorate.methods.liveness.samples import Samples
from quorate.models.relational import Fairness
from quorate.models.temporal import all_fairness, enabled, happens_in_state, renamed
from quorate.proof.counting import Counting
from quorate.proof.liveness import Stage

WORD = 64
FIRST = 192
"""Candidates are tried on that many pairs before they are tried on all."""
MOST_LITERALS = 160


@dataclass
class _Part:
    """A stage, the pairs that break it, and those that it excludes."""

    stage: Stage
    weight: int
    breaks: Array
    gone: Array

    def wild(self, count: int) -> int:
        """How many unreachable steps break it."""
        return int(self.breaks[count:].sum())


class _Best:
    """The best of the parts that are offered, for the pairs that are still active."""

    def __init__(self, active: Array, count: int, kind: Array) -> None:
        self.real = numpy.flatnonzero(active[:count])
        self.wild = numpy.flatnonzero(active[count:]) + count
        self.kinds = {False: kind[self.real], True: kind[self.wild]}
        self.left = {wild: numpy.bincount(kinds) for wild, kinds in self.kinds.items()}
        self.part: _Part | None = None
        self.score: tuple[int, ...] = ()

    def covers(self, gone: Array) -> int:
        """The largest part, in twentieths, of the steps of a transition that are left which are excluded.

        If no steps are left but unreachable ones, those count.  What only small instances need excludes a few steps
        of several transitions; what is needed for every size, all steps of one.
        """
        return self._covers(gone, not len(self.real))

    def _covers(self, gone: Array, wild: bool) -> int:
        left = self.left[wild]
        excluded = self.kinds[wild][gone[self.wild if wild else self.real]]
        counts = numpy.bincount(excluded, minlength=len(left))
        return int((counts * 20 // numpy.maximum(left, 1)).max(initial=0))

    def offer(self, weight: int, breaks: Array, gone: Array, stage: Callable[[], Stage]) -> None:
        """Take a part if it is better: it excludes more of what is left, unreachable steps break it less, it is smaller."""
        score = self._score(weight, breaks, gone)
        if score is not None:
            self.part, self.score = _Part(stage(), weight, breaks, gone), score

    def consider(self, part: _Part) -> None:
        """The same for a part that is there already."""
        score = self._score(part.weight, part.breaks, part.gone)
        if score is not None:
            self.part, self.score = part, score

    def _score(self, weight: int, breaks: Array, gone: Array) -> tuple[int, ...] | None:
        """Smaller is better; None if it is no better than the best so far."""
        first = -self.covers(gone)
        if self.part is not None and first > self.score[0]:
            return None
        wild = max(1, len(self.wild))
        broken = int(breaks[self.wild].sum()) * 10 // wild
        total = int(gone[self.real].sum()) * 20 // max(1, len(self.real))
        excluded = int(gone[self.wild].sum()) * 20 // wild
        score = (first, broken, -self._covers(gone, True), -total, -excluded, weight)
        return score if self.part is None or score < self.score else None


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
        self.literals: dict[tuple[Var, ...], _Literals | None] = {}

    def find(self, levels: Sequence[Level]) -> tuple[list[list[Stage]], Array]:
        """Lists of stages, each of which leaves no pair, and as few as possible; or none, and which pairs are left.

        The first ones also exclude unreachable steps where they can, so that less has to be known about reachable ones.
        """
        parts: list[_Part] = []
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

    def _hinted(self, active: Array) -> _Part | None:
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

    def _lists(self, parts: list[_Part], most: int) -> list[list[Stage]]:
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

    def _pruned(self, parts: list[_Part], order: Sequence[_Part], most: int) -> list[_Part]:
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

    def _covers(self, parts: Sequence[_Part], most: int) -> bool:
        active = numpy.ones(self.all, bool)
        for part in parts:
            if (part.breaks & active)[: self.count].any():
                return False
            active &= ~part.gone & ~part.breaks
        return not active[: self.count].any() and int(active.sum()) <= most

    def _best(self, level: Level, active: Array) -> _Part | None:
        """The part of a level that excludes the most, if that is enough, and needs the least."""

        best = _Best(active, self.count, self.kind)

        def enough(part: _Part | None, least: int) -> bool:
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
    def _whole(self) -> list[_Part]:
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
                found.append(_Part(Stage("rank", variables, conj(atom, bounds)), weight, breaks, gone))
                found.append(_Part(Stage("rank", variables, conj(neg(atom), bounds)), weight, gone, breaks))
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

    def _is_useful(self, part: _Part, active: Array) -> bool:
        return not (part.breaks & active)[: self.count].any() and bool((part.gone & active & ~part.breaks).any())

    def _literals(self, variables: tuple[Var, ...]) -> _Literals | None:
        if variables not in self.literals:
            everything = (*self.samples.pairs, *self.samples.wild)
            widths = [prod(len(domain(v.sort, pairs.sizes)) for v in variables) for pairs in everything]
            fits = max(widths, default=0) <= WORD
            self.literals[variables] = _Literals(self.samples, variables, self.counting) if fits else None
        return self.literals[variables]

    def _fair_parts(self, level: Level, active: Array) -> Iterator[_Part]:
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


class _Literals:
    """The literals over some variables, the property's variables and constants, with their truth values in all pairs."""

    def __init__(self, samples: Samples, variables: tuple[Var, ...], counting: Counting) -> None:
        self.samples, self.variables, self.counting = samples, variables, counting
        self.model, self.item = samples.model, samples.item
        self.pairs = (*samples.pairs, *samples.wild)
        self.kind = numpy.concatenate([pairs.kind for pairs in self.pairs])
        before, after, terms = [], [], []
        seen: set[bytes] = set()
        for atom in atoms(samples, variables):
            pair = self.words(atom, False), self.words(atom, True)
            full = self.full
            for literal, (first, second) in (
                (atom, pair),
                (neg(atom), (full & ~pair[0], full & ~pair[1])),
            ):
                key = first.tobytes() + second.tobytes()
                if key in seen or not (first.any() or second.any()):
                    continue
                seen.add(key)
                if (first == full).all() and (second == full).all():
                    continue
                terms.append(literal)
                before.append(first)
                after.append(second)
            if len(terms) >= MOST_LITERALS:
                break
        self.terms: list[Term] = terms
        self.assumptions: dict[Fairness, tuple[Term, list[Array], list[Array], Array]] = {}
        shape = (len(terms), len(self.full))
        self.before = numpy.array(before, numpy.uint64).reshape(shape)
        self.after = numpy.array(after, numpy.uint64).reshape(shape)

    @property
    def full(self) -> Array:
        """All values of the variables, in each pair."""
        parts = []
        for pairs in self.pairs:
            width = prod(len(domain(v.sort, pairs.sizes)) for v in self.variables)
            parts.append(numpy.full(pairs.count, (1 << width) - 1, numpy.uint64))
        return numpy.concatenate(parts) if parts else numpy.zeros(0, numpy.uint64)

    def words(self, formula: Term, after: bool) -> Array:
        """Truth values of a formula as words, a bit per value of the variables."""
        return _packed([pairs.evaluate(formula, self.variables, after) for pairs in self.pairs])

    # -- ranks -----------------------------------------------------------------------------------------------------

    def best_rank(self, active: Array, count: int, most: int) -> _Part | None:
        """The best conjunction of at most so many literals that never grows on active pairs and shrinks on some.

        Only the first `count` pairs are known to be steps that can be taken.
        """
        places = numpy.flatnonzero(active[:count])
        few = places if len(places) <= FIRST else places[:: max(1, len(places) // FIRST)]
        first, second = self.before[:, few], self.after[:, few]
        best = _Best(active, count, self.kind)

        def stage() -> Stage:
            return Stage("rank", self.variables, conj(*(self.terms[i] for i in chosen)))

        for size in range(1, most + 1):
            for chosen in self._conjunctions(first, second, size):
                if not self._may_count(self.variables, conj(*(self.terms[i] for i in chosen))):
                    continue
                before = numpy.bitwise_and.reduce(self.before[list(chosen)], axis=0)
                after = numpy.bitwise_and.reduce(self.after[list(chosen)], axis=0)
                breaks, gone = (after & ~before) != 0, (before & ~after) != 0
                if breaks[places].any() or not (gone & active & ~breaks).any():
                    continue
                best.offer(len(chosen) + 2 * len(self.variables), breaks, gone, stage)
        return best.part

    def rank(self, formula: Term, weight: int) -> _Part:
        """A given rank as a part."""
        before, after = (self.words(formula, later) for later in (False, True))
        stage = Stage("rank", self.variables, formula)
        return _Part(stage, weight, (after & ~before) != 0, (before & ~after) != 0)

    def best_projection(self, active: Array, count: int) -> _Part | None:
        """The best rank that says: for some value of the last variable, two or three literals hold, the first mutable.

        Where another variable has to be bounded, the third literal may do that, and need not be about the last one.
        """
        *rest, last = self.variables
        places = numpy.flatnonzero(active[:count])
        few = places[:: max(1, len(places) // FIRST)]
        limited = not all(self.counting.is_finite(v.sort) for v in rest)
        thirds = [i for i, term in enumerate(self.terms) if last in term.free or (limited and _is_rigid(term))]
        heads = self._heads()
        best = _Best(active, count, self.kind)

        def formula() -> Term:
            return exists((last,), conj(*(self.terms[i] for i in chosen)))

        def stage() -> Stage:
            return Stage("rank", tuple(rest), formula())

        for chosen in [*heads, *((*head, k) for head in heads for k in thirds if k > head[1] and k != head[0])]:
            if limited and not self._may_count(rest, formula()):
                continue
            before, after = (self._projected(array, chosen, few) for array in (self.before, self.after))
            if (after & ~before).any() or not (before != after).any():
                continue
            before, after = (self._projected(array, chosen) for array in (self.before, self.after))
            breaks, gone = (after & ~before) != 0, (before & ~after) != 0
            if breaks[places].any() or not (gone & active & ~breaks).any():
                continue
            best.offer(len(chosen) + 2 * len(self.variables), breaks, gone, stage)
        return best.part

    def best_ordered(self, active: Array, count: int, most: int) -> _Part | None:
        """The best rank that never goes up along the order of its only variable, upwards or downwards.

        It is a conjunction of at most so many literals, or says that there is a second variable for which two hold.  Elements are
        numbered in their order: a set goes down if it loses the first, or the last, of those that change.
        """
        variable, *bound = self.variables
        finite = self.counting.is_finite(variable.sort)
        symbol = self.samples.orders[variable.sort]
        earlier, later = (Var(f"{variable.name}{number}", variable.sort) for number in (1, 2))
        different = neg(equal(earlier, later))
        orders = symbol(earlier, later), symbol(later, earlier)
        places = numpy.flatnonzero(active[:count])
        few = places[:: max(1, len(places) // FIRST)]
        choices = (c for size in range(1, most + 1) for c in combinations(range(len(self.terms)), size))
        best = _Best(active, count, self.kind)

        def formula() -> Term:
            return exists(bound, conj(*(self.terms[i] for i in chosen)))

        def stage(order: Term) -> Stage:
            return Stage("rank", (variable,), formula(), None, ((earlier, later), conj(order, different)))

        down = [order for order in self.counting.readings[variable.sort].orders if order.symbol is symbol]
        for chosen in self._heads() if bound else choices:
            if all(breaks.any() for breaks, _ in self._moves(chosen, bool(bound), few)):
                continue
            if not finite and not self._may_count((variable,), formula()):
                continue
            steady = finite or self.counting.is_steady(variable, self.model.expand(formula()))
            for order, (breaks, gone) in zip(orders, self._moves(chosen, bool(bound)), strict=True):
                if breaks[places].any() or not (gone & active & ~breaks).any():
                    continue
                if not steady and not any(order is turned.below(later, earlier) for turned in down):
                    continue
                best.offer(2 + len(chosen) + 2 * len(bound), breaks, gone, partial(stage, order))
        return best.part

    def _moves(
        self, chosen: Sequence[int], projected: bool, places: Array | slice = slice(None)
    ) -> Iterator[tuple[Array, Array]]:
        """In which pairs a conjunction goes up and in which it goes down, along an order and along its reverse."""
        if projected:
            before, after = (self._projected(array, chosen, places) for array in (self.before, self.after))
        else:
            before, after = (
                numpy.bitwise_and.reduce(array[list(chosen)][:, places], axis=0) for array in (self.before, self.after)
            )
        changed = before ^ after
        first = changed & (~changed + numpy.uint64(1))
        yield (after & first) != 0, (before & first) != 0
        yield after > before, before > after

    def _heads(self) -> list[tuple[int, ...]]:
        """Two literals about the last variable, the first of them mutable."""
        speaking = [i for i, term in enumerate(self.terms) if self.variables[-1] in term.free]
        anchors = [i for i in speaking if any(symbol.mutable for symbol in symbols_of(self.terms[i]))]
        return [(i, j) for i in anchors for j in speaking if i != j and (j > i or j not in anchors)]

    def _projected(self, array: Array, chosen: Sequence[int], places: Array | slice = slice(None)) -> Array:
        """Words of a conjunction with a bit per value of all variables but the last, for which some value does."""
        words = numpy.bitwise_and.reduce(array[list(chosen)][:, places], axis=0)
        sizes, firsts = (part[places] for part in self._folds)
        folded: Array = words.copy()
        for shift in range(1, int(sizes.max(initial=1))):
            folded |= numpy.where(sizes > shift, words >> numpy.uint64(shift), numpy.uint64(0))
        folded &= firsts
        return folded

    @cached_property
    def _folds(self) -> tuple[Array, Array]:
        """For each pair, how many values the last variable has, and the bits where the first of them stands."""
        sizes, firsts = [], []
        for pairs in self.pairs:
            size = len(domain(self.variables[-1].sort, pairs.sizes))
            sizes.append(numpy.full(pairs.count, size))
            firsts.append(numpy.full(pairs.count, sum(1 << bit for bit in range(0, WORD, size)), numpy.uint64))
        return numpy.concatenate(sizes), numpy.concatenate(firsts)

    def _may_count(self, variables: Sequence[Var], formula: Term) -> bool:
        """Is the set of the values for which a formula holds finite?"""
        if all(self.counting.is_finite(variable.sort) for variable in variables):
            return True
        return not self.counting.unbounded(variables, self.model.expand(formula))

    def _conjunctions(self, before: Array, after: Array, size: int) -> Iterator[tuple[int, ...]]:
        """Conjunctions that do not grow on some pairs, each once, and shrink on one of them if these are few."""
        count = len(self.terms)
        if not count:
            return
        if size == 1:
            good = ~((after & ~before) != 0).any(axis=1)
            yield from ((int(i),) for i in numpy.flatnonzero(good))
            return
        heads = (
            [(i,) for i in range(count)] if size == 2 else [(i, j) for i in range(count) for j in range(i + 1, count)]
        )
        for head in heads:
            start = head[-1] + 1
            if start >= count:
                continue
            left, right = (numpy.bitwise_and.reduce(array[list(head)], axis=0) for array in (before, after))
            grown = (right & after[start:]) & ~(left & before[start:])
            good = ~(grown != 0).any(axis=1)
            for i in numpy.flatnonzero(good):
                yield (*head, int(i) + start)

    # -- fairness --------------------------------------------------------------------------------------------------

    def best_fair(self, fairness: Fairness, active: Array, count: int, most: int) -> _Part | None:
        """The condition, of as few literals as possible, at most so many, under which an assumption cannot be due forever.

        If the assumption lets a step choose from infinitely many elements, a condition is preferred that keeps to those below
        some, as ranks do: they exclude such steps only, and the samples may have too few elements to show others.
        """
        if not len(self.full):
            return None
        base, basis, ready, taken = self._assumption(fairness)
        limited = fairness.strong and not all(self.counting.is_finite(variable.sort) for variable in self.variables)
        roaming = self._roams(fairness)
        best, near = _Best(active, count, self.kind), _Best(active, count, self.kind)
        rows = numpy.flatnonzero(active[:count])

        def stage() -> Stage:
            formula = conj(*(self.terms[i] for i in chosen), base)
            return Stage("fair", self.variables, formula, fairness.name)

        for size in range(most + 1):
            for chosen in self._unbroken(size, rows, basis[0], basis[1] & ~taken):
                before = numpy.bitwise_and.reduce([basis[0], *self.before[list(chosen)]], axis=0)
                after = numpy.bitwise_and.reduce([basis[1], *self.after[list(chosen)]], axis=0)
                breaks = (before & ~(after & ~taken)) != 0
                ends = [before, after] if not fairness.strong else [before & ready[0], after & ready[1]]
                gone = (ends[0] != 0) | (ends[1] != 0)
                if not (gone & active & ~breaks).any():
                    continue
                if limited and self.counting.unsteady(self.variables, self.model.expand(stage().formula)):
                    continue
                if roaming and any(self._compares(self.terms[i]) for i in chosen):
                    near.offer(1 + len(chosen), breaks, gone, stage)
                best.offer(1 + len(chosen), breaks, gone, stage)
            if near.part is not None or (best.part is not None and not roaming):
                break
        return near.part or (None if roaming and not most else best.part)

    def _roams(self, fairness: Fairness) -> bool:
        """Does an assumption leave it to the step which of infinitely many elements it is about?"""
        if fairness.transition is None:
            return False
        parameters = self.model.transition(fairness.transition).parameters
        return any(
            argument is None and not self.counting.is_finite(parameter.sort)
            for parameter, argument in zip(parameters, fairness.arguments, strict=True)
        )

    def _compares(self, literal: Term) -> bool:
        """Does a literal say that something about the state comes before or after something else in an order that has no end?"""
        atom = literal.arg if isinstance(literal, Not) else literal
        if not isinstance(atom, Apply) or _is_rigid(atom) or self.counting.is_finite(atom.args[0].sort):
            return False
        return any(order.symbol is atom.symbol for order in self.counting.readings[atom.args[0].sort].orders)

    def _assumption(self, fairness: Fairness) -> tuple[Term, list[Array], list[Array], Array]:
        """When an assumption waits to happen, and when it is enabled, before and after each pair; and whether the step is it."""
        if fairness not in self.assumptions:
            due = enabled(self.model, fairness)
            quiet = neg(happens_in_state(fairness))
            base = quiet if fairness.strong else conj(due, quiet)
            basis, ready = ([self.words(formula, after) for after in (False, True)] for formula in (base, due))
            taken = _packed([pairs.taken(self.model, fairness) for pairs in self.pairs])
            self.assumptions[fairness] = base, basis, ready, taken
        return self.assumptions[fairness]

    def _unbroken(self, size: int, rows: Array, start: Array, end: Array) -> Iterator[tuple[int, ...]]:
        """Choices of so many literals such that what holds with them before a step, some words, holds after it in the rows."""
        before, after = self.before[:, rows], self.after[:, rows]
        heads = [()] if size < 2 else [(i,) for i in range(len(self.terms))]
        for head in heads:
            left = numpy.bitwise_and.reduce([start[rows], *before[list(head)]], axis=0)
            right = numpy.bitwise_and.reduce([end[rows], *after[list(head)]], axis=0)
            if size == 0:
                if not (left & ~right).any():
                    yield ()
                continue
            first = head[-1] + 1 if head else 0
            broken = ((left & before[first:]) & ~(right & after[first:])).any(axis=1)
            yield from ((*head, first + int(i)) for i in numpy.flatnonzero(~broken))


def _is_rigid(term: Term) -> bool:
    return not any(symbol.mutable for symbol in symbols_of(term))


def _packed(parts: Sequence[Array]) -> Array:
    words = []
    for values in parts:
        weights = numpy.left_shift(numpy.uint64(1), numpy.arange(values.shape[1], dtype=numpy.uint64))
        words.append((values * weights).sum(axis=1, dtype=numpy.uint64))
    return numpy.concatenate(words) if words else numpy.zeros(0, numpy.uint64)
