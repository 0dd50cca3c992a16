"""Mutants of a protocol: one guard conjunct, update or invariant dropped, or one literal negated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quorate.logic.terms import BOOL, Apply, Equal, Not, Quantified, Term, conj, neg
from quorate.logic.transform import conjuncts
from quorate.models.relational import RelationalModel, Transition


def negated_literals(formula: Term) -> Iterator[Term]:
    """The formula with one of its literals negated, in every possible way."""
    if formula.sort is not BOOL:
        return
    if isinstance(formula, Apply | Equal) or (isinstance(formula, Not) and isinstance(formula.arg, Apply | Equal)):
        yield neg(formula)
        return
    if isinstance(formula, Quantified):
        for body in negated_literals(formula.body):
            yield type(formula)(formula.variables, body)
        return
    children = formula.children
    for index, child in enumerate(children):
        for changed in negated_literals(child):
            yield formula.rebuild((*children[:index], changed, *children[index + 1 :]))


def with_transition(model: RelationalModel, changed: Transition) -> RelationalModel:
    transitions = tuple(changed if item.name == changed.name else item for item in model.transitions)
    return replace(model, transitions=transitions)


def mutants(model: RelationalModel) -> Iterator[tuple[str, RelationalModel]]:
    """All mutants, with what was done to each."""
    for transition in model.transitions:
        parts = conjuncts(transition.guard)
        for index, part in enumerate(parts):
            weaker = replace(transition, guard=conj(*parts[:index], *parts[index + 1 :]))
            yield f"{transition.name}: guard {part} dropped", with_transition(model, weaker)
        for index, update in enumerate(transition.updates):
            updates = transition.updates[:index] + transition.updates[index + 1 :]
            yield (
                f"{transition.name}: update of {update.symbol} lost",
                with_transition(model, replace(transition, updates=updates)),
            )
            for value in negated_literals(update.value):
                changed = (*transition.updates[:index], replace(update, value=value), *transition.updates[index + 1 :])
                yield (
                    f"{transition.name}: {update.symbol} set to {value}",
                    with_transition(model, replace(transition, updates=changed)),
                )
        for guard in negated_literals(transition.guard):
            yield f"{transition.name}: guard {guard}", with_transition(model, replace(transition, guard=guard))
    for index, item in enumerate(model.axioms):
        yield f"axiom {item.name} dropped", replace(model, axioms=model.axioms[:index] + model.axioms[index + 1 :])
    for index, item in enumerate(model.initial):
        for formula in negated_literals(item.formula):
            changed_initial = (*model.initial[:index], replace(item, formula=formula), *model.initial[index + 1 :])
            yield f"initially {formula}", replace(model, initial=changed_initial)
    for index, item in enumerate(model.invariants):
        yield (
            f"invariant {item.name} dropped",
            replace(model, invariants=model.invariants[:index] + model.invariants[index + 1 :]),
        )
        for formula in negated_literals(item.formula):
            changed_invariants = (
                *model.invariants[:index],
                replace(item, formula=formula),
                *model.invariants[index + 1 :],
            )
            yield f"invariant {item.name} made {formula}", replace(model, invariants=changed_invariants)


def fairness_mutants(model: RelationalModel) -> Iterator[tuple[str, RelationalModel]]:
    """An assumption dropped, made weak where it is strong, or asked for in fewer situations."""
    for index, item in enumerate(model.fairness):
        others = model.fairness[:index], model.fairness[index + 1 :]
        yield f"{item.name} dropped", replace(model, fairness=(*others[0], *others[1]))
        if item.strong:
            weak = replace(item, strong=False)
            yield f"{item.name} made weak", replace(model, fairness=(*others[0], weak, *others[1]))
