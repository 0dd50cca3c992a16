"""Proof obligations of an inductive invariant, as satisfiability questions.

For properties P1..Pn over axioms A, initial states I and transitions T with guard G and updates U:

    initiation     A ∧ I ∧ ¬Pi                         is unsatisfiable for each i
    consecution    A ∧ P1 ∧ .. ∧ Pn ∧ G ∧ ¬Pi[U]       is unsatisfiable for each i and T

Pi[U] is Pi with updated symbols replaced by their new values, so that only one state is spoken of and a property that a
transition does not touch needs no query at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quorate.engines.smt.session import Goal, Group
from quorate.logic.structures import Structure, Value
from quorate.logic.terms import Apply, Term, neg
from quorate.logic.transform import conjuncts, substitute, symbols_of
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.models.semantics import Step


@dataclass(frozen=True)
class Obligation:
    """Initiation (no transition) or consecution of one property."""

    claim: Named
    transition: Transition | None

    @property
    def name(self) -> str:
        if self.transition is None:
            return f"initially {self.claim.name}"
        return f"{self.transition.name} preserves {self.claim.name}"


def goal_formula(model: RelationalModel, obligation: Obligation) -> Term:
    """What a counterexample satisfies besides the hypotheses: the negated property, initially or after the step."""
    formula = obligation.claim.formula
    if obligation.transition is None:
        return neg(formula)
    transition = obligation.transition
    return neg(substitute(transition.after(model.expand(formula)), transition.constants))


def is_trivial(model: RelationalModel, obligation: Obligation) -> bool:
    """True if the transition changes nothing that the property speaks of, so that it is preserved."""
    if obligation.transition is None:
        return False
    return symbols_of(model.expand(obligation.claim.formula)).isdisjoint(obligation.transition.modified)


def hypotheses(model: RelationalModel, transition: Transition | None, assumed: Iterable[Named]) -> tuple[Named, ...]:
    """What may be used: background, then initial conditions or guard and assumed properties."""
    known = list(model.background())
    if transition is None:
        return (*known, *model.initial)
    guard = substitute(transition.guard, transition.constants)
    parts = [Named(f"guard of {transition.name}", part, transition.span) for part in conjuncts(guard)]
    return (*known, *parts, *assumed)


def group(model: RelationalModel, obligations: list[Obligation], assumed: Iterable[Named]) -> Group:
    """The query group of obligations about one transition (or about the initial states)."""
    transition = obligations[0].transition
    symbols = list(model.symbols)
    if transition is not None:
        symbols += [constant.symbol for constant in transition.constants.values() if isinstance(constant, Apply)]
        symbols += transition.choices
    goals = tuple(Goal(obligation.name, goal_formula(model, obligation)) for obligation in obligations)
    return Group(hypotheses(model, transition, assumed), goals, tuple(symbols))


def step_of(transition: Transition, structure: Structure) -> Step:
    """The step that a structure with the transition's constants and choices describes."""
    bindings: dict[str, Value] = {}
    for parameter, constant in transition.constants.items():
        assert isinstance(constant, Apply)
        bindings[parameter.name] = structure.value(constant.symbol, ())
    choices = {choice.name: structure.tables[choice] for choice in transition.choices}
    return Step(transition.name, bindings, choices)
