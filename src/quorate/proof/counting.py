"""Which sets a proof of liveness may take to be finite.

A set {x : φ(x)} of a finite sort is finite.  Of an ordered sort it is if φ bounds x from above by a term that does not depend
on x: a conjunct of φ says x < t, x ≤ t, ¬(t < x), ¬(t ≤ x) or x = t.  The term may be about the state: in every single state it
has one value, and finitely many elements lie below it.  It may also be about other variables that are bounded themselves,
without a circle: finitely many t give finitely many x.  Variables under an outermost ∃ in φ count like those of the set, which
is then a projection of a finite set.

A set that grows needs more (`steady`): all its elements over the whole run must be finitely many, so the term has to be rigid; or
φ says x = t, so that in every state there are no more x than values of the other variables, and there cannot be more in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorate.logic.terms import INT, And, Apply, Equal, Exists, Not, Sort, Term, Var
from quorate.logic.transform import conjuncts, symbols_of
from quorate.proof.readings import Reading


@dataclass(frozen=True)
class Bound:
    """A variable is at most the value of a term, or `exact`ly that."""

    variable: Var
    term: Term
    exact: bool


class Counting:
    """What may be counted, given how the sorts are read."""

    def __init__(self, readings: Mapping[Sort, Reading]) -> None:
        self.readings = readings

    def is_finite(self, sort: Sort) -> bool:
        """Is the whole sort finite?"""
        return sort is not INT and (not sort.uninterpreted or self.readings[sort].kind == "finite")

    def unbounded(self, variables: Sequence[Var], formula: Term) -> list[Var]:
        """The variables that may stand for infinitely many elements in some state."""
        known = self._bounded(variables, formula)
        return [variable for variable in variables if variable not in known]

    def unsteady(self, variables: Sequence[Var], formula: Term) -> list[Var]:
        """The variables that may stand for infinitely many elements in the course of a run in which the set only grows."""
        every, bounds = self._facts(variables, formula)
        known = self._closed(every, [bound for bound in bounds if _is_rigid(bound.term)], {})
        known = self._closed(every, [bound for bound in bounds if bound.exact], known)
        return [variable for variable in variables if variable not in known]

    def is_steady(self, variable: Var, formula: Term) -> bool:
        """Does the formula keep a variable below something that never changes?"""
        every, bounds = self._facts((variable,), formula)
        return variable in self._closed(every, [bound for bound in bounds if _is_rigid(bound.term)], {})

    def used(self, variables: Sequence[Var], formula: Term) -> list[Sort]:
        """The sorts of which it is used that they, or what lies below their elements, are finite.

        Where the formula says which element a variable is, only what this element depends on counts.
        """
        known = self._bounded(variables, formula)
        found: dict[Sort, None] = {}
        todo, seen = list(variables), set(variables)
        while todo:
            variable = todo.pop(0)
            bound = known.get(variable)
            if variable.sort.uninterpreted and (bound is None or not bound.exact):
                found[variable.sort] = None
            more = [v for v in known if bound is not None and v in bound.term.free and v not in seen]
            todo += more
            seen.update(more)
        return list(found)

    def _facts(self, variables: Sequence[Var], formula: Term) -> tuple[list[Var], list[Bound]]:
        inner, bounds = _bounds(variables, formula, self.readings)
        return [*variables, *inner], sorted(bounds, key=lambda bound: not bound.exact)

    def _bounded(self, variables: Sequence[Var], formula: Term) -> dict[Var, Bound | None]:
        every, bounds = self._facts(variables, formula)
        return self._closed(every, bounds, {})

    def _closed(
        self, every: Sequence[Var], bounds: Sequence[Bound], known: Mapping[Var, Bound | None]
    ) -> dict[Var, Bound | None]:
        """Variables of finite sorts, and as long as there are some, those that are bounded by terms over known ones."""
        found = {**dict.fromkeys(v for v in every if self.is_finite(v.sort)), **known}
        local = set(every)
        grown = True
        while grown:
            grown = False
            for bound in bounds:
                if bound.variable not in found and bound.term.free & local <= found.keys():
                    found[bound.variable] = bound
                    grown = True
        return found


def _is_rigid(term: Term) -> bool:
    return not any(symbol.mutable for symbol in symbols_of(term))


def _bounds(variables: Sequence[Var], formula: Term, readings: Mapping[Sort, Reading]) -> tuple[list[Var], list[Bound]]:
    """The variables under outermost quantifiers, and what the conjuncts say of all of them."""
    inner: list[Var] = []
    bounds: list[Bound] = []
    taken = {variable.name for variable in (*variables, *formula.free)}
    todo = conjuncts(formula)
    while todo:
        part = todo.pop()
        match part:
            case Exists(own, body):
                names = {variable.name for variable in own}
                if not names & taken:
                    taken |= names
                    inner += own
                    todo += conjuncts(body)
            case And():
                todo += conjuncts(part)
            case _:
                bounds += _bounds_of(part, readings)
    local = {*variables, *inner}
    return inner, [bound for bound in bounds if bound.variable in local and bound.variable not in bound.term.free]


def _bounds_of(part: Term, readings: Mapping[Sort, Reading]) -> Iterator[Bound]:
    match part:
        case Equal(left, right):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Var):
                    yield Bound(one, other, True)
        case Apply(symbol, (first, second)) | Not(Apply(symbol, (first, second))):
            reading = readings.get(first.sort)
            order = next((o for o in reading.orders if o.symbol is symbol), None) if reading is not None else None
            if order is not None and reading is not None and reading.kind == "ordered":
                # x r y puts x below y; that it does not hold, y below x, or both are the same.
                lower, upper = (first, second) if order.rising is not isinstance(part, Not) else (second, first)
                if isinstance(lower, Var):
                    yield Bound(lower, upper, False)
