"""Clauses that hold in every reachable state and from which the goals of an argument follow, without a step in between.

Most goals follow from a few simple clauses that support each other, though they are long themselves; so they are never shown to
be inductive.  The search is that of `methods/inference/invariants`, with states that violate a goal as what has to be excluded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.engines.smt.session import Answer, Group, solve
from quorate.engines.smt.session import Goal as Query
from quorate.logic.fragment import fragment
from quorate.logic.terms import Sort, neg
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import Obligation, is_trivial
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import Layer, Search
from quorate.methods.inference.invariants import Invariants
from quorate.methods.inference.questions import Grounded, Question
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import AT_MOST, Found, Task, entries, grown
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.proof.certificates import certify

BRIEF = 3.0
"""Seconds for a goal that may have infinite counterexamples only, which no solver finds: it may just not follow."""


class Entailment(Invariants):
    """The search in one language for clauses that imply the safety properties of a task, which are the goals."""

    def __init__(self, task: Task, shape: Shape) -> None:
        super().__init__(task, shape)
        self.goals = list(task.protocol.safety)
        """Those that follow, as far as one knows; what does not follow from clauses of this form is left out."""
        self.asked: dict[Named, list[Question]] = {}
        """The questions about each goal."""
        self.undecided: set[Named] = set()
        """Goals that the solvers did not decide: they may fail in an infinite structure, so larger sizes are asked for once."""

    def _begin(self, candidates: Candidates) -> Search:
        self.origins, self.also = self.task.origins, set()
        sizes = self.task.sizes(self.shape)
        model = self.task.model
        steps = [self._question(transition, sizes, False) for transition in model.transitions]
        self.asked = {goal: [self._about(goal, sizes)] for goal in self.goals}
        bad = [question for questions in self.asked.values() for question in questions]
        return Search(self.language, bad, layers=[Layer(candidates, [self._initial(), *steps])])

    def _do_with_less(self) -> bool:
        assert self.search is not None
        search = self.search
        lost = [goal for goal in self.goals if any(map(search.consistent, self.asked[goal]))]
        return bool(lost) and self._leave_out(lost)

    def _leave_out(self, lost: Sequence[Named]) -> bool:
        """Go on without some goals; False if none is left then."""
        assert self.search is not None
        self.goals = [goal for goal in self.goals if goal not in lost]
        self.search.bad = [question for goal in self.goals for question in self.asked[goal]]
        return bool(self.goals)

    def _about(self, goal: Named, sizes: Mapping[Sort, int]) -> Question:
        """Is there a state that violates the goal?"""
        task, wrong = self.task, neg(self.task.safe[goal.name])
        return Question(Grounded(task.model, sizes, task.orders, remembers=True), [wrong], before=task.lemmas)

    def _question(self, transition: Transition, sizes: Mapping[Sort, int], bad: bool) -> Question:
        return Question(self.task.grounds(sizes, transition), before=self.task.lemmas)

    def _prove(self, found: Sequence[int], outcome: Found) -> str | None:
        """A proof for all sizes that the clauses are inductive and imply the goals; `again` if something was learnt instead."""
        task = self.task
        formulas = task.behind
        formulas += [self.language.formula(self.candidates.clause(number)) for number in found]
        model = replace(task.protocol, safety=(), invariants=(*task.protocol.invariants, *task.named(formulas)))
        obligations = [o for o in all_obligations(model, model.invariants) if not is_trivial(model, o)]
        answers = decide(model, obligations, list(model.invariants), task.limits, lambda text: None, until_refuted=True)
        failed = {o: a for o, a in answers.items() if a.status != "unsat"}
        if task.forget({o.claim.formula for o in failed}):
            return "again"
        learnt = False
        for obligation, answer in failed.items():
            learnt |= self._learn(obligation.transition, answer.structure, False)
        if failed:
            return "again" if learnt else f"the solvers do not answer: {', '.join(sorted(o.name for o in failed))}"
        implied = self._implied(model)
        missing = [goal for goal, answer in implied.items() if answer.status != "unsat"]
        if not missing:
            self._conclude(model, answers, implied, outcome)
            return None
        lost = [goal for goal in missing if not self._exclude_also(goal, implied[goal])]
        if not lost or self._leave_out(lost):
            return "again"
        return f"clauses of this form do not imply {', '.join(goal.name for goal in missing)}"

    def _implied(self, model: RelationalModel) -> dict[Named, Answer]:
        """Whether each goal follows from the clauses."""
        group = Group(
            (*model.background(), *model.invariants),
            tuple(Query(goal.name, neg(goal.formula)) for goal in self.goals),
            tuple(model.symbols),
        )
        limits = self.task.limits
        known = [(item.name, item.formula) for item in group.hypotheses]
        if not fragment([*known, *((goal.name, goal.formula) for goal in group.goals)]).decidable:
            limits = replace(limits, timeout=min(limits.timeout, BRIEF))
        return {self.goals[number]: answer for _, number, answer in solve([group], limits)}

    def _exclude_also(self, goal: Named, answer: Answer) -> bool:
        """Ask about the goal over larger sizes, or want what excludes a counterexample; False if that is nothing new."""
        assert self.search is not None
        if answer.structure is None and goal in self.undecided:
            return False
        if answer.structure is None:
            self.undecided.add(goal)
        elif self._is_step(answer.structure):
            return False
        known = self.asked[goal][-1].sizes
        sizes = grown(known, answer.structure)
        if sizes != known and entries(self.task.model, sizes) <= AT_MOST:
            self.asked[goal].append(self._about(goal, sizes))
            self.search.bad.append(self.asked[goal][-1])
            return True
        if answer.structure is None:
            return False
        rows = self._rows(self.task.states_of(None, answer.structure)[0])
        failing = {(0, number) for number, _ in self.candidates.failing(rows, 3)}
        new = not self.also.issuperset(failing)
        self.also |= failing
        return new

    def _conclude(
        self,
        model: RelationalModel,
        answers: dict[Obligation, Answer],
        implied: dict[Named, Answer],
        outcome: Found,
    ) -> None:
        """The proof, for the goals that follow, with those clauses only that the goals lean on, directly or not."""
        needed = {item for answer in implied.values() for item in answer.core if item in model.invariants}
        waiting = list(needed)
        while waiting:
            claim = waiting.pop()
            for obligation, answer in answers.items():
                if obligation.claim is claim:
                    new = {item for item in answer.core if item in model.invariants} - needed
                    needed |= new
                    waiting += new
        outcome.invariants = tuple(item for item in model.invariants if item in needed)
        hints = {
            obligation.name: tuple(dict.fromkeys(u.name for u in answer.core if not u.name.startswith("guard of ")))
            for obligation, answer in answers.items()
            if obligation.claim in needed
        }
        claimed = replace(model, safety=outcome.invariants, invariants=())
        if outcome.invariants:
            outcome.certificate = certify(claimed, outcome.invariants, outcome.invariants, hints)
        outcome.needed = {item.name: () for item in outcome.invariants}
