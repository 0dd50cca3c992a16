"""What stages are made of: conjunctions of few literals over few variables, with what they do on samples.

A part says which pairs break it and which it excludes.  Truth values are words with a bit per value of the variables, one word
per pair.  Read `stages` next for how parts are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import prod

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import (
    Apply,
    Not,
    Term,
    Var,
    conj,
    equal,
    exists,
    neg,
)
from quorate.logic.transform import symbols_of
from quorate.methods.inference.states import Array
from quorate.methods.liveness.atoms import atoms
from quorate.methods.liveness.samples import Samples
from quorate.models.relational import Fairness
from quorate.models.temporal import enabled, happens_in_state
from quorate.proof.counting import Counting
from quorate.proof.liveness import Stage

WORD = 64
FIRST = 192
"""Candidates are tried on that many pairs before they are tried on all."""
MOST_LITERALS = 160


@dataclass
class Part:
    """A stage, the pairs that break it, and those that it excludes."""

    stage: Stage
    weight: int
    breaks: Array
    gone: Array

    def wild(self, count: int) -> int:
        """How many unreachable steps break it."""
        return int(self.breaks[count:].sum())


class Best:
    """The best of the parts that are offered, for the pairs that are still active."""

    def __init__(self, active: Array, count: int, kind: Array) -> None:
        self.real = numpy.flatnonzero(active[:count])
        self.wild = numpy.flatnonzero(active[count:]) + count
        self.kinds = {False: kind[self.real], True: kind[self.wild]}
        self.left = {wild: numpy.bincount(kinds) for wild, kinds in self.kinds.items()}
        self.part: Part | None = None
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
            self.part, self.score = Part(stage(), weight, breaks, gone), score

    def consider(self, part: Part) -> None:
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


class Literals:
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

    def best_rank(self, active: Array, count: int, most: int) -> Part | None:
        """The best conjunction of at most so many literals that never grows on active pairs and shrinks on some.

        Only the first `count` pairs are known to be steps that can be taken.
        """
        places = numpy.flatnonzero(active[:count])
        few = places if len(places) <= FIRST else places[:: max(1, len(places) // FIRST)]
        first, second = self.before[:, few], self.after[:, few]
        best = Best(active, count, self.kind)

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

    def rank(self, formula: Term, weight: int) -> Part:
        """A given rank as a part."""
        before, after = (self.words(formula, later) for later in (False, True))
        stage = Stage("rank", self.variables, formula)
        return Part(stage, weight, (after & ~before) != 0, (before & ~after) != 0)

    def best_projection(self, active: Array, count: int) -> Part | None:
        """The best rank that says: for some value of the last variable, two or three literals hold, the first mutable.

        Where another variable has to be bounded, the third literal may do that, and need not be about the last one.
        """
        *rest, last = self.variables
        places = numpy.flatnonzero(active[:count])
        few = places[:: max(1, len(places) // FIRST)]
        limited = not all(self.counting.is_finite(v.sort) for v in rest)
        thirds = [i for i, term in enumerate(self.terms) if last in term.free or (limited and _is_rigid(term))]
        heads = self._heads()
        best = Best(active, count, self.kind)

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

    def best_ordered(self, active: Array, count: int, most: int) -> Part | None:
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
        best = Best(active, count, self.kind)

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

    def best_fair(self, fairness: Fairness, active: Array, count: int, most: int) -> Part | None:
        """The condition, of as few literals as possible, at most so many, under which an assumption cannot be due forever.

        If the assumption lets a step choose from infinitely many elements, a condition is preferred that keeps to those below
        some, as ranks do: they exclude such steps only, and the samples may have too few elements to show others.
        """
        if not len(self.full):
            return None
        base, basis, ready, taken = self._assumption(fairness)
        limited = fairness.strong and not all(self.counting.is_finite(variable.sort) for variable in self.variables)
        roaming = self._roams(fairness)
        best, near = Best(active, count, self.kind), Best(active, count, self.kind)
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
