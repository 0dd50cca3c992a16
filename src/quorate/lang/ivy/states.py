"""States in the middle of an action: values over the state before, and what is assumed or has to be proved on the way.

Both sides of a branch start as copies and are joined afterwards.  Read `actions` for the execution itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from quorate.logic.terms import And, If, Or, Symbol, Term, conj, disj, implies, ite, neg
from quorate.logic.transform import Lambda
from quorate.models.source import Span


@dataclass(frozen=True)
class Obligation:
    """A formula to be proved wherever the path to it can be taken, both over the state before the action."""

    label: str | None
    path: Term
    formula: Term
    span: Span


@dataclass
class State:
    """Values over the state before, what was assumed since the last branch, and what held on entering that branch."""

    values: dict[Symbol, Lambda] = field(default_factory=dict)
    assumptions: list[Term] = field(default_factory=list)
    path: tuple[Term, ...] = ()

    def branch(self, condition: Term) -> State:
        return State(dict(self.values), [], (*self.path, *self.assumptions, condition))


def joined(condition: Term, one: Term, other: Term) -> Term:
    """One value or the other; where the two agree in part, only the rest depends on the condition."""
    for test, more, less in ((condition, one, other), (neg(condition), other, one)):
        match more:
            case Or(args) if less in args:
                return disj(conj(test, disj(*(arg for arg in args if arg is not less))), less)
            case And(args) if less in args:
                return conj(implies(test, conj(*(arg for arg in args if arg is not less))), less)
            case If(place, value, rest) if rest is less:
                return ite(conj(test, place), value, less)
    match one, other:
        case If(place, first, rest), If(other_place, second, other_rest) if place is other_place and rest is other_rest:
            return ite(place, joined(condition, first, second), rest)
    return ite(condition, one, other)
