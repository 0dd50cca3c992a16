"""Invariants that are clauses: the strongest that hold in the samples, then what of them is needed and inductive over small
sizes, then a proof for all sizes by the solvers; what they refute becomes one more row, and the search goes on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.engines.smt.session import Answer
from quorate.logic.structures import Structure
from quorate.logic.terms import Sort, conj, neg
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import Obligation, is_trivial
from quorate.methods.inference.badness import Origin
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import Layer, Search, enumerate_until
from quorate.methods.inference.language import Language
from quorate.methods.inference.questions import Item, Question
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.states import Array, from_structure, in_order
from quorate.methods.inference.task import AT_MOST, Found, Task, entries, grown
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.proof.certificates import Certificate, certify

SOON, ALL, HARD, CLOSE = 3.0, 6.0, 4, 0.7
"""Seconds for an obligation, and for all, before they are looked at over larger sizes; how many obligations may then take all
the time that a solver has; and how many seconds one can always go on after a proof over small sizes was found."""


class Invariants:
    """The search in one language; when its time is over, one can go on."""

    def __init__(self, task: Task, shape: Shape) -> None:
        self.task, self.shape = task, shape
        self.language = self._language()
        self.search: Search | None = None
        self.waiting: Candidates | None = None
        """What is being enumerated."""
        self.origins: Sequence[Origin] = []

    def _language(self) -> Language:
        return self.task.language(self.shape)

    def go_on(self, outcome: Found) -> str | None:
        """Look for invariants; says why there are none, or None if some were found.  May raise `OutOfTime`."""
        task, shape = self.task, self.shape
        if not self.language.atoms:
            return "there is nothing to speak of"
        if self.search is None or self.origins is not task.origins:
            task.progress(f"{shape}: candidates")
            if self.waiting is None:
                self.waiting = task.candidates(self.language)
                if not self.waiting.rows and (first := self._initial()).solve(1):
                    self.waiting.keep(self.language.rows(*first.read(False)))
            enumerate_until(self.waiting, task.until)
            self.search, self.waiting = self._begin(self.waiting), None
        search = self.search
        search.until = task.until
        self.candidates = search.layers[0].candidates
        queries, counterexamples = search.queries, search.counterexamples
        try:
            while True:
                task.progress(f"{shape}: {len(self.candidates.alive())} candidates")
                found = search.prove(self.also)
                if found is None and self._do_with_less():
                    continue
                if found is None:
                    return "states that satisfy all that holds of this form lead to a violation"
                found = search.reduce(found, self.also)
                task.progress(f"{shape}: proving {len(found)} clauses for all sizes")
                failure = self._prove(sorted(number for _, number in found), outcome)
                if self.origins is not task.origins:
                    return self.go_on(outcome)
                if failure != "again":
                    return failure
                search.until = task.until.at_least(CLOSE)
        finally:
            outcome.queries += search.queries - queries
            outcome.counterexamples += search.counterexamples - counterexamples

    def _do_with_less(self) -> bool:
        """Ask for less than everything, where that makes sense; True if something was given up."""
        return False

    def _begin(self, candidates: Candidates) -> Search:
        task, model = self.task, self.task.model
        self.origins = task.origins
        self.also: set[Item] = set()
        self.tried: set[frozenset[int]] = set()
        """The clauses about which solvers were asked for a short time."""
        sizes = task.sizes(self.shape)
        steps = [self._question(transition, sizes, False) for transition in model.transitions]
        bad = [self._question(transition, sizes, True) for transition in model.transitions]
        return Search(self.language, bad, layers=[Layer(candidates, [self._initial(), *steps])])

    def _initial(self) -> Question:
        """A question about an initial state."""
        task = self.task
        return Question(task.grounds(task.sizes(self.shape)), [item.formula for item in task.model.initial])

    def _question(self, transition: Transition, sizes: Mapping[Sort, int], bad: bool) -> Question:
        """A question about a step from a safe state, or about one that leads to a violation."""
        task = self.task
        unsafe = {"violation": neg(conj(*task.safe.values()))} if bad else {}
        return Question(task.grounds(sizes, transition), before={**task.safe, **task.lemmas}, after=unsafe)

    def _ask_also(self, transition: Transition, model: Structure | None, bad: bool) -> bool:
        """Ask a question over larger sizes too; False if that is nothing new, or too much."""
        assert self.search is not None
        questions = self.search.bad if bad else self.search.layers[0].questions
        known = [question for question in questions if question.name == transition.name][-1].sizes
        sizes = grown(known, model)
        if sizes == known or entries(self.task.model, sizes) > AT_MOST:
            return False
        questions.append(self._question(self.task.model.transition(transition.name), sizes, bad))
        return True

    def _prove(self, found: Sequence[int], outcome: Found) -> str | None:
        """A proof for all sizes that the clauses are inductive and imply safety; `again` if something was learnt instead."""
        task = self.task
        formulas = task.behind
        formulas += [self.language.formula(self.candidates.clause(number)) for number in found]
        model = task.protocol.with_invariants(task.protocol.invariants + task.named(formulas))
        obligations = [o for o in all_obligations(model, model.properties) if not is_trivial(model, o)]
        limits = task.until.within(task.limits, HARD)
        first = frozenset(found) not in self.tried
        if first:
            self.tried.add(frozenset(found))
            limits = replace(limits, timeout=min(limits.timeout, SOON), until=min(limits.until, time.monotonic() + ALL))
        answers = decide(model, obligations, list(model.properties), limits, lambda text: None, until_refuted=True)
        failed = {o: a for o, a in answers.items() if a.status != "unsat"}
        if first and failed and all(answer.status == "unknown" for answer in failed.values()):
            steps = {(o.transition.name, o.claim in model.safety): o.transition for o in failed if o.transition}
            for (_, bad), transition in steps.items():
                self._ask_also(transition, None, bad)
            return "again"
        if not failed:
            conclude(model, answers, outcome)
            return None
        if task.forget({o.claim.formula for o in failed}):
            return "again"
        learnt = False
        for obligation, answer in failed.items():
            bad = obligation.claim in model.safety
            if answer.structure is not None and self._is_step(answer.structure) and bad:
                return "a violation can follow a larger state that satisfies all that holds of this form"
            learnt |= self._learn(obligation.transition, answer.structure, bad)
        if learnt:
            return "again"
        return f"the solvers do not answer: {', '.join(sorted(o.name for o in failed))}"

    def _is_step(self, structure: Structure) -> bool:
        """Whether no candidate excludes the state from which a counterexample starts."""
        return not self.candidates.failing(self._rows(self.task.states_of(None, structure)[0]), 1)

    def _learn(self, transition: Transition | None, structure: Structure | None, bad: bool) -> bool:
        """Make use of a counterexample, if there is one; False if it teaches nothing.

        Either candidates that were left out exclude it: one asks for them over larger sizes, or wants just these.  Or the
        clause is wrong.
        """
        candidates = self.candidates
        if structure is None:
            return transition is not None and self._ask_also(transition, None, bad)
        before, after = self.task.states_of(transition, structure)
        rows = self._rows(before)
        if transition is None or after is None:
            return candidates.add(rows) > 0
        if failing := {(0, number) for number, _ in candidates.failing(rows, 3)}:
            if self._ask_also(transition, structure, bad):
                return True
            new = not self.also.issuperset(failing)
            self.also |= failing
            return new
        return candidates.add(self._rows(after)) > 0

    def _rows(self, state: Structure) -> Array:
        return self.language.rows(in_order(from_structure(state), self.task.orders), {})


def conclude(model: RelationalModel, answers: Mapping[Obligation, Answer], outcome: Found) -> None:
    """The proof, from answers that confirm all obligations about the properties of a model: what of its invariants is needed."""
    invariants = _needed(model, answers)
    model = model.with_invariants(invariants)
    answers = {o: a for o, a in answers.items() if o.claim in model.properties}
    outcome.invariants = invariants
    outcome.certificate = _certificate(model, answers)
    outcome.needed = {item.name: _users(item, answers) for item in invariants}


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
