"""Invariants that are clauses: the strongest that hold in the samples, then what of them is needed and inductive over small
sizes, then a proof for all sizes by the solvers; what they refute becomes one more row, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.engines.smt.session import Answer
from quorate.logic.structures import Structure
from quorate.logic.terms import conj, neg
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import Obligation, is_trivial, step_of
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import Layer, Search
from quorate.methods.inference.questions import Item, Question
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.states import from_structure, in_order
from quorate.methods.inference.task import Found, Task
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import state_of, successor
from quorate.proof.certificates import Certificate, certify


def find_invariants(task: Task, shape: Shape, outcome: Found) -> str | None:
    """Try one language; says why it failed, or None if it did not."""
    model = task.model
    language = task.language(shape)
    if not language.atoms:
        return "there is nothing to speak of"
    task.progress(f"{shape}: candidates")
    candidates = task.candidates(language)
    sizes = task.sizes(shape)
    known = {**task.safe, **task.lemmas}
    unsafe = {"violation": neg(conj(*task.safe.values()))}
    steps = [Question(model, sizes, task.orders, t, before=known) for t in model.transitions]
    bad = [Question(model, sizes, task.orders, t, before=known, after=unsafe) for t in model.transitions]
    initial = Question(model, sizes, task.orders, None, [item.formula for item in model.initial])
    search = Search(language, bad, task.until, [Layer(candidates, initial, steps)])
    also: set[Item] = set()
    try:
        while True:
            task.progress(f"{shape}: {len(candidates.alive())} candidates")
            found = search.prove(also)
            if found is None:
                return "states that satisfy all that holds of this form lead to a violation"
            found = search.reduce(found, also)
            task.progress(f"{shape}: proving {len(found)} clauses for all sizes")
            failure = _prove(task, shape, candidates, sorted(number for _, number in found), also, outcome)
            if failure != "again":
                return failure
    finally:
        outcome.queries += search.queries
        outcome.counterexamples += search.counterexamples


def _prove(
    task: Task, shape: Shape, candidates: Candidates, found: Sequence[int], also: set[Item], outcome: Found
) -> str | None:
    """A proof for all sizes that the clauses are inductive and imply safety; `again` if something was learnt instead."""
    language = candidates.language
    formulas = [origin.lemma for origin in task.origins]
    formulas += [language.formula(candidates.clause(number)) for number in found]
    taken = {item.name for item in task.model.properties}
    names = [name for i in range(1, len(formulas) + len(taken) + 1) if (name := f"inferred{i}") not in taken]
    invariants = tuple(Named(name, formula) for name, formula in zip(names, formulas, strict=False))
    model = task.model.with_invariants(invariants)
    obligations = [o for o in all_obligations(model, model.properties) if not is_trivial(model, o)]
    answers = decide(model, obligations, list(model.properties), task.limits, lambda text: None)
    failed = {o: a for o, a in answers.items() if a.status != "unsat"}
    if not failed:
        invariants = _needed(model, answers)
        model = model.with_invariants(invariants)
        answers = {o: a for o, a in answers.items() if o.claim in model.properties}
        outcome.invariants = invariants
        outcome.certificate = _certificate(model, answers)
        outcome.needed = {item.name: _users(item, answers) for item in invariants}
        return None
    wrong = {o.claim.formula for o in failed}
    if any(origin.lemma in wrong for origin in task.origins):
        task.origins = [origin for origin in task.origins if origin.lemma not in wrong]
        return find_invariants(task, shape, outcome)
    learnt = False
    for obligation, answer in failed.items():
        if answer.structure is None:
            continue
        before = state_of(model, answer.structure)
        rows = language.rows(in_order(from_structure(before), task.orders), {})
        if obligation.transition is None:
            learnt |= candidates.add(rows) > 0
            continue
        failing = [(0, number) for number, _ in candidates.failing(rows, 3)]
        if failing:
            learnt |= not also.issuperset(failing)
            also.update(failing)
            continue
        if obligation.claim in model.safety:
            return "a violation can follow a larger state that satisfies all that holds of this form"
        after = successor(model, before, step_of(obligation.transition, answer.structure))
        assert isinstance(after, Structure), after
        learnt |= candidates.add(language.rows(in_order(from_structure(after), task.orders), {})) > 0
    return "again" if learnt else f"the solvers do not answer: {', '.join(sorted(o.name for o in failed))}"


def _needed(model: RelationalModel, answers: Mapping[Obligation, Answer]) -> tuple[Named, ...]:
    """The invariants that safety leans on, directly or not."""
    found, waiting = set(model.safety), list(model.safety)
    while waiting:
        claim = waiting.pop()
        for obligation, answer in answers.items():
            if obligation.claim is claim:
                new = [used for used in answer.core if used in model.invariants and used not in found]
                found.update(new)
                waiting += new
    return tuple(item for item in model.invariants if item in found)


def _users(item: Named, answers: Mapping[Obligation, Answer]) -> tuple[str, ...]:
    """The transitions that keep another property only thanks to this one."""
    used = [
        obligation.transition.name
        for obligation, answer in answers.items()
        if obligation.transition is not None and obligation.claim is not item and item in answer.core
    ]
    return tuple(dict.fromkeys(used))


def _certificate(model: RelationalModel, answers: Mapping[Obligation, Answer]) -> Certificate:
    hints = {
        obligation.name: tuple(dict.fromkeys(u.name for u in answer.core if not u.name.startswith("guard of ")))
        for obligation, answer in answers.items()
    }
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety}
    return certify(model, model.safety, model.properties, hints)
