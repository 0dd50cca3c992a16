"""From candidates to an inductive set: the strongest one that the language has, as far as it is needed.

The candidates are always at least as strong as any inductive set of the language.  So what violates a candidate after a
step from a state in which all candidates hold refutes that candidate for good, and the state after the step is one more
row.  What is needed is found backwards from the goal: the candidates that exclude it, then those that preserve these,
and so on; candidates that nothing leans on are never looked at.

Sets of candidates are stacked in layers.  A layer runs forwards, from the initial states on, or backwards, from the bad
states: then what violates a candidate *before* a step into a state in which all hold refutes it.  What a lower layer has
established may be used in both states of every step.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from quorate.engines.smt.session import Limits
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.language import Language
from quorate.methods.inference.questions import Item, Question, TooHard

A_WHILE = 10_000
"""How many conflicts a question takes before it is time to look at the clock."""
FEW = 12
"""How many violated candidates become hypotheses at a time."""


class OutOfTime(Exception):
    """The time for the search is over."""


@dataclass(frozen=True)
class Deadline:
    """When to stop: by the clock, and by the processor time of this process, which other work on the machine does not use."""

    clock: float = inf
    processor: float = inf

    def left(self) -> float:
        return min(self.clock - time.monotonic(), self.processor - time.process_time())

    def at_least(self, seconds: float) -> Deadline:
        """The same, with so much processor time left: for a search that has come close."""
        return replace(self, processor=max(self.processor, time.process_time() + seconds))

    def within(self, limits: Limits, goals: int) -> Limits:
        """Limits for so many hard questions to solvers: together they take at most a quarter of the time that is left."""
        now = time.monotonic()
        seconds = max(1.0, (self.clock - now) * limits.jobs / max(1, goals))
        return replace(limits, timeout=min(limits.timeout, seconds), until=now + (self.clock - now) / 4)


def enumerate_until(candidates: Candidates, until: Deadline) -> None:
    """Find all minimal clauses; raises `OutOfTime`."""
    if not candidates.enumerate(max(0.0, until.left())):
        raise OutOfTime


@dataclass
class Layer:
    """Clauses that hold in all states of a run, as shown in one direction.

    The first question is about the state where it starts, the others are about steps.
    """

    candidates: Candidates
    questions: list[Question]
    backwards: bool = False
    goals: dict[tuple[int, int], int] = field(default_factory=dict)
    """For every clause and question, the literal that says that it is violated."""


@dataclass
class Search:
    """`bad` are questions whose answer must become no."""

    language: Language
    bad: list[Question]
    until: Deadline = Deadline()
    layers: list[Layer] = field(default_factory=list)
    queries: int = 0
    counterexamples: int = 0
    verified: dict[tuple[Item, int], frozenset[Item]] = field(default_factory=dict)
    facts: dict[tuple[Item, int], frozenset[str]] = field(default_factory=dict)
    """The named facts that were needed where something was verified."""
    excluded: tuple[frozenset[Item], frozenset[str]] = frozenset(), frozenset()
    """The clauses and facts that exclude what the bad questions ask for."""
    allowed: Collection[Item] | None = None
    """Where set, only these clauses may become hypotheses."""
    conflicts: int | None = None
    """Where set, how many conflicts a question may take."""

    def is_alive(self, item: Item) -> bool:
        return self.layers[item[0]].candidates.is_alive(item[1])

    # -- what is asked for --------------------------------------------------------------------------------------

    def prove(self, also: Iterable[Item] = ()) -> frozenset[Item] | None:
        """Clauses that support each other and answer the bad questions with no; None if the layers have none.

        `also` are clauses that are wanted besides, if they hold.
        """
        while True:
            needed = {item for item in also if self.is_alive(item)}
            for question in self.bad:
                core = self._exclude(question)
                if core is None:
                    return None
                needed |= core
            done = self._support(needed)
            if done is not None:
                return done

    def saturate(self) -> None:
        """Weaken the candidates of the last layer until all that are left are established."""
        top = len(self.layers) - 1
        while True:
            alive = {(top, int(number)) for number in self.layers[top].candidates.alive()}
            if self._support(alive) is not None:
                return

    def reduce(
        self, found: frozenset[Item], also: Collection[Item] = (), conflicts: int | None = None
    ) -> frozenset[Item]:
        """A part of what supports itself from which none but those of `also` can be left out; long clauses go first.

        With a limit on conflicts, what takes more to decide stays.
        """
        length = {item: len(self.layers[item[0]].candidates.clause(item[1])) for item in found}
        self.conflicts = conflicts
        try:
            for item in sorted(found, key=lambda item: (-item[0], -length[item], item)):
                if item in found and item not in also:
                    try:
                        found = self._within(found - {item}, also) or found
                    except TooHard:
                        continue
            self.conflicts = None
            return self._within(found, also) or found
        finally:
            self.allowed = self.conflicts = None

    def _within(self, items: frozenset[Item], also: Collection[Item]) -> frozenset[Item] | None:
        """Some of the clauses that support each other and answer the bad questions with no; None if there are none."""
        self.allowed = allowed = set(items)
        while True:
            self.excluded = frozenset(), frozenset()
            found = {item for item in also if item in allowed}
            for question in self.bad:
                core = self._exclude(question)
                if core is None:
                    return None
                found |= core
            waiting, fallen = sorted(found), False
            while waiting and not fallen:
                item = waiting.pop()
                for place in range(len(self.layers[item[0]].questions)):
                    core = self.verified.get((item, place))
                    if core is None or not core <= allowed:
                        core = self._check(item, place)
                        if core is None:
                            allowed.remove(item)
                            fallen = True
                            break
                        self.verified[item, place] = core
                    waiting.extend(core - found)
                    found |= core
            if not fallen:
                return frozenset(found)

    # -- what leans on what -------------------------------------------------------------------------------------

    def _support(self, goals: set[Item]) -> frozenset[Item] | None:
        """The goals and all that they lean on; None if one of the goals falls."""
        while True:
            found, waiting, fallen = set(goals), sorted(goals, reverse=True), False
            while waiting:
                item = waiting.pop()
                if not self.is_alive(item):
                    if item in goals:
                        return None
                    fallen = True
                    continue
                for place in range(len(self.layers[item[0]].questions)):
                    core = self.verified.get((item, place))
                    if core is None or not all(map(self.is_alive, core)):
                        core = self._check_with(found, item, place)
                        if core is None:
                            core = self._check(item, place)
                        if core is None:
                            fallen = True
                            break
                        self.verified[item, place] = core
                    waiting.extend(core - found)
                    found |= core
            if not fallen and all(map(self.is_alive, found)):
                return frozenset(found)

    def _check_with(self, allowed: Collection[Item], item: Item, place: int) -> frozenset[Item] | None:
        """The same as `_check` with these hypotheses only; nothing is weakened."""
        self.allowed = allowed
        try:
            return self._check(item, place)
        finally:
            self.allowed = None

    def _check(self, item: Item, place: int) -> frozenset[Item] | None:
        """The hypotheses under which a clause withstands a step; None if it does not, and is then weakened."""
        layer = self.layers[item[0]]
        question = layer.questions[place]
        goal = layer.goals.get((item[1], place))
        clause = layer.candidates.clause(item[1])
        if question.leaves_alone([self.language.atoms[number // 2] for number in clause]):
            self.facts[item, place] = frozenset()
            return frozenset({item})
        if goal is None:
            goal = layer.goals[item[1], place] = question.violation(self.language, clause, not layer.backwards)
        while self._ask(question, goal, item[0]):
            if self._suppose(question, item[0]):
                continue
            if self.allowed is not None:
                return None
            self.counterexamples += 1
            states, constants = question.read(not layer.backwards)
            layer.candidates.add(self.language.rows(states, constants))
            if not self.is_alive(item):
                return None
        core = question.core()
        self.facts[item, place] = question.used
        return core

    def _exclude(self, question: Question, fixed: Sequence[int] = ()) -> frozenset[Item] | None:
        """Clauses that exclude what a question asks for; None if there are none."""
        while self._ask(question, 1, len(self.layers), fixed):
            if not self._suppose(question, len(self.layers)):
                return None
        core = question.core()
        self.excluded = self.excluded[0] | core, self.excluded[1] | question.used
        return core

    def consistent(self, question: Question, fixed: Sequence[int] = ()) -> bool:
        """Whether a question has an answer that no candidate excludes; it can then be read."""
        return self._exclude(question, fixed) is None

    def _ask(self, question: Question, goal: int, top: int, fixed: Sequence[int] = ()) -> bool:
        """Ask with the hypotheses that a layer may use: see `_suppose`."""
        if self.until.left() < 0:
            raise OutOfTime
        refuted = sum(layer.candidates.refuted for layer in self.layers)
        if question.refuted != refuted:
            question.withdraw([layer.candidates.flags() for layer in self.layers])
            question.refuted = refuted
        self.queries += 1
        hypotheses: list[int] = []
        for (layer, after), active in question.active.items():
            if layer < top or (layer == top and self._leans(top, question, after)):
                if self.allowed is None:
                    hypotheses += active.values()
                else:
                    hypotheses += [x for number, x in active.items() if (layer, number) in self.allowed]
        while True:
            try:
                return question.solve(goal, hypotheses, fixed, self.conflicts or A_WHILE)
            except TooHard:
                if self.conflicts is not None:
                    raise
                if self.until.left() < 0:
                    raise OutOfTime from None

    def _leans(self, number: int, question: Question, after: bool) -> bool:
        """Whether the induction of a layer starts from that state of a question."""
        return question.transition is not None and self.layers[number].backwards == after

    def _suppose(self, question: Question, top: int) -> bool:
        """Add candidates that the last answer violates as hypotheses; False if it violates none.

        Those of layers below `top` count in both states, those of the layer itself where its induction starts from.
        """
        added = False
        for after in (False, True) if question.transition is not None else (False,):
            rows = None
            for number, layer in enumerate(self.layers[: top + 1]):
                if number == top and not self._leans(top, question, after):
                    continue
                if rows is None:
                    rows = self.language.rows(*question.read(after))
                if self.allowed is None:
                    failing = layer.candidates.failing(rows, FEW)
                else:
                    mine = sorted(clause for place, clause in self.allowed if place == number)
                    failing = layer.candidates.failing_among(rows, mine)
                for clause, row in failing:
                    env = self.language.assignment(question.sizes, row)
                    literals = layer.candidates.clause(clause)
                    question.suppose(self.language, (number, clause), literals, env, after)
                    added = True
        return added
