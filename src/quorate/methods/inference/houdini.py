"""From candidates to an inductive set: the strongest one that the language has, as far as it is needed.

The candidates are always at least as strong as any inductive set of the language.  So what violates a candidate after a
step from a state in which all candidates hold refutes that candidate for good, and the state after the step is one more
row.  What is needed is found backwards from the goal: the candidates that exclude it, then those that preserve these,
and so on; candidates that nothing leans on are never looked at.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.questions import Question

FEW = 12
"""How many violated candidates become hypotheses at a time."""


class OutOfTime(Exception):
    """The time for the search is over."""


@dataclass
class Statistics:
    """How much was asked."""

    queries: int = 0
    counterexamples: int = 0
    hypotheses: int = 0


@dataclass
class Search:
    """`bad` are questions whose answer must become no; `begin` and `steps` are what every clause must withstand.

    Forwards, hypotheses hold before a step and the clause is violated after it; backwards, the other way round.
    """

    candidates: Candidates
    begin: Sequence[Question]
    steps: Sequence[Question]
    bad: Sequence[Question]
    backwards: bool = False
    until: float = float("inf")
    statistics: Statistics = field(default_factory=Statistics)
    verified: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    allowed: frozenset[int] | None = None
    """Where set, only these clauses may become hypotheses."""

    def __post_init__(self) -> None:
        self.questions = [*self.begin, *self.steps]
        self._goals: dict[tuple[int, int], int] = {}

    def prove(self, also: Iterable[int] = ()) -> frozenset[int] | None:
        """The clauses of an inductive set that answers the bad questions with no; None if the language has none.

        `also` are clauses that are wanted besides, if they hold.
        """
        while True:
            needed = {number for number in also if self.candidates.is_alive(number)}
            for question in self.bad:
                core = self._exclude(question)
                if core is None:
                    return None
                needed |= core
            done = self._support(needed)
            if done is not None:
                return done

    def reduce(self, found: frozenset[int], also: Collection[int] = ()) -> frozenset[int]:
        """A part of an inductive set from which no clause but those of `also` can be left out; long clauses go first."""
        length = {number: len(self.candidates.clause(number)) for number in found}
        for number in sorted(found, key=lambda n: (-length[n], n)):
            fewer = found - {number}
            if number not in also and self._suffices(fewer):
                found = fewer
        self.allowed = None
        return found

    def _suffices(self, clauses: frozenset[int]) -> bool:
        """Whether the clauses support each other and answer the bad questions with no."""
        self.allowed = clauses
        for question in self.bad:
            if self._exclude(question) is None:
                return False
        for number in clauses:
            for place, question in enumerate(self.questions):
                core = self.verified.get((number, place))
                if core is not None and core <= clauses:
                    continue
                core = self._check(number, place, question)
                if core is None:
                    return False
                self.verified[number, place] = core
        return True

    def _support(self, goals: set[int]) -> frozenset[int] | None:
        """The goals and all that they lean on; None if one of the goals falls."""
        waiting, known = sorted(goals), set(goals)
        while waiting:
            number = waiting.pop()
            if not self.candidates.is_alive(number):
                if number in goals:
                    return None
                continue
            for place, question in enumerate(self.questions):
                core = self.verified.get((number, place))
                if core is None or not all(self.candidates.is_alive(used) for used in core):
                    core = self._check(number, place, question)
                    if core is None:
                        break
                    self.verified[number, place] = core
                for used in core - known:
                    known.add(used)
                    waiting.append(used)
        return self._closure(goals)

    def _closure(self, goals: set[int]) -> frozenset[int] | None:
        """What the goals lean on, if all of it is verified with what still holds."""
        found, waiting = set(goals), list(goals)
        while waiting:
            number = waiting.pop()
            if not self.candidates.is_alive(number):
                return None
            for place in range(len(self.questions)):
                core = self.verified.get((number, place))
                if core is None or not all(self.candidates.is_alive(used) for used in core):
                    return None if number in goals else self._support(goals)
                waiting.extend(core - found)
                found |= core
        return frozenset(found)

    def _check(self, number: int, place: int, question: Question) -> frozenset[int] | None:
        """The hypotheses under which a clause withstands a step; None if it does not, and is then weakened."""
        language = self.candidates.language
        goal = self._goals.get((number, place))
        if goal is None:
            clause = self.candidates.clause(number)
            goal = self._goals[number, place] = question.violation(language, clause, not self.backwards)
        while self._ask(question, goal):
            if question.transition is not None and self._suppose(question):
                continue
            if self.allowed is not None:
                return None
            self.statistics.counterexamples += 1
            self._add(question)
            if not self.candidates.is_alive(number):
                return None
        return question.core()

    def _exclude(self, question: Question) -> frozenset[int] | None:
        """Clauses that exclude what a question asks for; None if there are none."""
        while self._ask(question, 1):
            if not self._suppose(question):
                return None
        return question.core()

    def _ask(self, question: Question, goal: int) -> bool:
        if time.monotonic() > self.until:
            raise OutOfTime
        for number in [n for n in question.active if not self.candidates.is_alive(n)]:
            question.withdraw(number)
        self.statistics.queries += 1
        return question.solve(goal, self.allowed)

    def _suppose(self, question: Question) -> bool:
        """Add candidates that the model violates as hypotheses; False if it violates none."""
        language = self.candidates.language
        states, constants = question.read(self.backwards)
        rows = language.rows(states, constants)
        if self.allowed is None:
            failing = self.candidates.failing(rows, FEW)
        else:
            failing = self.candidates.failing_among(rows, sorted(self.allowed))
        for number, row in failing:
            env = language.assignment(question.sizes, row)
            question.suppose(language, number, self.candidates.clause(number), env, self.backwards)
            self.statistics.hypotheses += 1
        return bool(failing)

    def _add(self, question: Question) -> None:
        states, constants = question.read(not self.backwards)
        self.candidates.add(self.candidates.language.rows(states, constants))
