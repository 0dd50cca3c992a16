"""Refutations as ordinary invariants, for readers and tools that know no others.

A refutation of the violations at elements c has formulas that hold in all states of a run to such a violation.  Say that
its steps are F1, F2, .., Fn.  What it excludes is an invariant, for all c: from the last step on, Ti is Fi ∧ Ti+1 where
step i goes forwards and Fi -> Ti+1 where it goes backwards, and behind the last step there is false if the refutation
ends at the initial states, else true.  T1 is inductive by the obligations of the refutation, one after the other: a state
without Fi, for a step backwards, has no successor with Fi.
"""

from __future__ import annotations

from quorate.logic import sexpr
from quorate.logic.terms import FALSE, TRUE, Symbol, Term, Var, conj, forall, implies
from quorate.logic.transform import fresh_name, replace_symbols
from quorate.models.relational import Named, RelationalModel
from quorate.proof.certificates import Certificate, Refutation


def plain_invariants(model: RelationalModel, certificate: Certificate) -> tuple[Named, ...]:
    """An invariant for each refutation of a certificate."""
    taken = {item.name for item in model.properties} | {name for name, _ in certificate.invariants}
    found = []
    for number, refutation in enumerate(certificate.refutations, 1):
        name = fresh_name(f"excluded{number}", taken.__contains__)
        taken.add(name)
        found.append(Named(name, _invariant(model, refutation)))
    return tuple(found)


def _invariant(model: RelationalModel, refutation: Refutation) -> Term:
    sorts = {sort.name: sort for sort in model.sorts}
    constants = [Symbol(name, (), sorts[sort]) for name, sort in refutation.constants]
    result: Term = FALSE if refutation.end == "initial" else TRUE
    for step in reversed(refutation.steps):
        known = conj(*(sexpr.read(text, model.sorts, (*model.symbols, *constants)) for _, text in step.formulas))
        result = conj(known, result) if step.direction == "forward" else implies(known, result)
    variables = {constant: Var(constant.name, constant.sort) for constant in constants}
    body = replace_symbols(result, {constant: ((), variable) for constant, variable in variables.items()})
    return forall(tuple(variables.values()), body)
