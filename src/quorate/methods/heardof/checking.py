"""The checks of single phases with n processes, and what they rest on: lemmas and U(v), given or found.

Lemmas come from the file or from templates, and are withdrawn until the rest supports itself; U(v) comes from the file or is
found, and one that is too strong is replaced by a weaker one that is not.  What still fails is shown for the fewest processes,
with the answer to whether any run reaches the state it starts in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quorate.engines.rounds.search import Search, State
from quorate.engines.smt.ground import TRUE
from quorate.engines.smt.session import Limits
from quorate.methods.heardof.candidates import MOST_TRIES, Samples, between_phases, univalences
from quorate.methods.heardof.phase import Answer, Lemma, Phases, Runs
from quorate.models import rounds as r
from quorate.models.evaluation import Machine, RoundsError, World, settings
from quorate.models.quorum_sets import Unsaid
from quorate.models.quorums import Translation
from quorate.models.rounds import Node, Property, RoundModel
from quorate.proof.round_traces import RoundTrace, window_of
from quorate.proof.verdicts import Result

Progress = Callable[[str], None]
MOST_STATES = 200_000
"""How many states are searched for the start of a phase."""


@dataclass
class Single:
    """The answers, the checks behind them, and the lemmas that they rest on."""

    results: tuple[Result, ...] = ()
    checks: list[Answer] = field(default_factory=list)
    lemmas: list[Lemma] = field(default_factory=list)
    univalent: tuple[str, Node] | None = None
    notes: list[str] = field(default_factory=list)


class Checking:
    """The checks for n processes and all given values of the parameters."""

    def __init__(
        self,
        model: RoundModel,
        n: int,
        parameters: Sequence[Mapping[str, int]],
        limits: Limits,
        progress: Progress,
    ) -> None:
        self.model = model
        self.machine = Machine(model)
        self.n = n
        self.parameters = parameters
        self.limits = limits
        self.progress = progress
        self.found = Single()
        self._goals: dict[str, tuple[Callable[[Phases], int], int]] = {}

    # -- the checks ----------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, list[Answer]]:
        """The checks that fail, by property."""
        self._whole_phases()
        failing: dict[str, list[Answer]] = {}
        wanted = {item.name for item in self.model.safety}
        self.find_lemmas()
        self._vacuous()
        if wanted & {"agreement", "irrevocability"}:
            answers = self._univalence()
            for name in wanted & {"agreement", "irrevocability"}:
                if answers:
                    failing[name] = answers
        if "validity" in wanted:
            self._collect(failing, "validity", self.ask("validity", self._decides_nothing))
        for item in self.model.safety:
            if item.formula is not None:
                self._collect(failing, item.name, self._formula(item))
            elif item.name == "termination":
                if self.model.sync is None:
                    failing["termination"] = [Answer("termination, as the file gives no `sync`", "unknown")]
                else:
                    count = window_of(self.model) // len(self.model.rounds)
                    self._collect(failing, "termination", self.ask("termination", self.undecided, count))
        return failing

    def _whole_phases(self) -> None:
        """States in the middle of a phase are looked at on the way to its end; so it has to have one."""
        try:
            Translation(self.model)
        except Unsaid as problem:
            raise RoundsError(f"single phases are not checked: the file has {problem}") from None
        except RoundsError:
            return

    def _collect(self, failing: dict[str, list[Answer]], name: str, answer: Answer) -> None:
        if answer.status != "unsat":
            failing.setdefault(name, []).append(answer)

    def behind(self, item: Property) -> list[str]:
        """The checks that a property rests on, in words."""
        if item.name in ("agreement", "irrevocability"):
            return ["Inv", "agreement", "U(v)"]
        return ["Inv", item.name]

    def phases(self, parameters: Mapping[str, int], count: int = 1, n: int | None = None) -> Phases:
        return Phases(self.model, n or self.n, parameters, self.found.lemmas, count)

    def ask(
        self, name: str, goal: Callable[[Phases], int], count: int = 1, n: int | None = None, record: bool = True
    ) -> Answer:
        """A check, for all values of the parameters; the first that fails counts."""
        answer = Answer(name, "unsat")
        seconds, clauses = 0.0, 0
        for parameters in self.parameters if n is None else list(settings(self.model, n)):
            self.progress(f"{name} with {n or self.n} processes")
            phases = self.phases(parameters, count, n)
            answer = phases.solve(goal(phases), name, self.limits.timeout, self.limits.memory_mb)
            seconds, clauses = seconds + answer.seconds, max(clauses, answer.clauses)
            if answer.status != "unsat":
                break
        answer = replace(answer, seconds=seconds, clauses=clauses)
        if answer.trace is not None:
            self._goals[answer.name] = (goal, count)
        if record:
            self.found.checks.append(answer)
        return answer

    def find_lemmas(self) -> None:
        """What holds in every state between phases: lemmas of the file and templates, withdrawn until the rest is inductive."""
        own = [(item.name, item.formula) for item in self.model.invariants if item.formula]
        known = [formula for _, formula in own]
        alive = own + [(name, formula) for name, formula in between_phases(self.model) if formula not in known]
        started = time.monotonic()
        for parameters in self.parameters:
            for lemma in list(alive):
                start = Runs(self.model, self.n, parameters, 0)
                goal = start.violated(Property(lemma[0], lemma[1]), 0)
                if start.solve(goal, lemma[0], self.limits.timeout, self.limits.memory_mb).status != "unsat":
                    alive.remove(lemma)
        self.found.checks.append(Answer("Inv, base", "unsat", time.monotonic() - started))
        while True:
            self.found.lemmas = alive
            answer = self.ask("Inv, step", self.some_lemma_fails, record=False)
            if answer.status == "unsat":
                break
            if answer.trace is None:
                self.found.lemmas = alive = []
                break
            last = answer.trace.configurations[-1]
            world = World(self.n, answer.trace.parameters, last.phase, last.processes)
            failed = [lemma for lemma in alive if not self.machine.function(lemma[1])(world)]
            assert failed, "the end of the phase satisfies all lemmas"
            alive = [lemma for lemma in alive if lemma not in failed]
        self.found.checks.append(answer if answer.status == "unsat" else replace(answer, name="Inv, step (none left)"))
        for lemma in own:
            if lemma not in alive:
                self.found.notes.append(f"the lemma {lemma[0]} of the file is not inductive, and is not used")

    def _vacuous(self) -> None:
        """A check may be passed because nothing ever happens: is there a phase in which somebody decides, and a good one?"""
        questions: list[tuple[str, Callable[[Phases], int], int]] = [
            ("nobody can decide in a phase", lambda phases: phases.decides(lambda value: TRUE), 1)
        ]
        if self.model.sync is not None:
            count = window_of(self.model) // len(self.model.rounds)
            questions.append(("`sync` can never hold", lambda phases: phases.synchronous(), count))
        for text, goal, count in questions:
            if self.ask(text, goal, count, record=False).status == "unsat":
                raise RoundsError(f"with n = {self.n}, {text}: the checks would say nothing")

    def some_lemma_fails(self, phases: Phases) -> int:
        return phases.symbolic.disj(*(-phases.holds(formula, -1) for _, formula in self.found.lemmas))

    def _univalence(self) -> list[Answer]:
        """U(v) as given, or another; the failed checks of the given one if there is none."""
        given = self.model.univalent
        failed: list[Answer] = []
        if given is not None:
            failed = self._try(given, True)
            if not failed:
                return []
            if any(answer.status == "unknown" for answer in failed):
                return failed
        samples = Samples(self.model)
        options = [formula for formula in univalences(self.model) if samples.allow_univalence(formula)]
        options.sort(key=samples.selects)
        for formula in options[:MOST_TRIES]:
            if given is None or formula != given[1]:
                answers = self._try(("v", formula), given is None)
                if not answers:
                    if given is not None:
                        self.found.notes.append("U(v) of the file is too strong; proved with a weaker one")
                        self.found.checks += [
                            replace(a, name=f"{a.name}, with a weaker U(v)", status="unsat", trace=None) for a in failed
                        ]
                    return []
                failed = failed or answers
        return failed or [Answer("agreement, as no U(v) was found", "unknown")]

    def _try(self, univalent: tuple[str, Node], record: bool) -> list[Answer]:
        self.found.univalent = univalent
        answers = []
        for name, goal in (("agreement", self.disagree), ("U(v)", self.not_kept)):
            answer = self.ask(name, goal(univalent), record=record)
            if answer.status != "unsat":
                answers.append(answer)
        if answers:
            self.found.univalent = None
        return answers

    def breaks(self, univalent: tuple[str, Node]) -> bool:
        """Is there a phase that contradicts a form of U(v)?"""
        goals = self.disagree(univalent), self.not_kept(univalent)
        return any(self.ask("U(v)", goal, record=False).status == "sat" for goal in goals)

    # -- what is asked for -------------------------------------------------------------------------------------------------

    def disagree(self, univalent: tuple[str, Node]) -> Callable[[Phases], int]:
        """v is decided, and another value as well, or U(v) does not hold at the end."""
        name, formula = univalent

        def goal(phases: Phases) -> int:
            s, v = phases.symbolic, phases.value()
            other = phases.decides(lambda value: -s.equal(value, v))
            kept = phases.holds(formula, -1, {name: v})
            return s.conj(phases.decides(lambda value: s.equal(value, v)), s.disj(other, -kept))

        return goal

    def not_kept(self, univalent: tuple[str, Node]) -> Callable[[Phases], int]:
        """U(v) holds at the start, and another value is decided, or U(v) does not hold at the end."""
        name, formula = univalent

        def goal(phases: Phases) -> int:
            s, v = phases.symbolic, phases.value()
            other = phases.decides(lambda value: -s.equal(value, v))
            kept = phases.holds(formula, -1, {name: v})
            return s.conj(phases.holds(formula, 0, {name: v}), s.disj(other, -kept))

        return goal

    def _decides_nothing(self, phases: Phases) -> int:
        s = phases.symbolic
        return s.disj(*(s.conj(event.when, s.equal(event.value, s.number(0))) for event in s.events))

    def undecided(self, phases: Phases) -> int:
        s = phases.symbolic
        none = s.number(0)
        silent = []
        for p in range(phases.n):
            own = [s.conj(e.when, -s.equal(e.value, none)) for e in s.events if e.process == p]
            silent.append(-s.disj(*own))
        return s.conj(phases.synchronous(), s.disj(*silent))

    def _formula(self, item: Property) -> Answer:
        """A property of the file: initially, and after every round of a phase that starts with it."""
        formula = item.formula
        assert formula is not None
        if any(isinstance(node, r.VariableOf) and node.name == "decision" for node in formula.walk()):
            return Answer(f"{item.name}, which speaks of decisions of earlier phases", "unknown")
        for parameters in self.parameters:
            start = Runs(self.model, self.n, parameters, 0)
            answer = start.solve(start.violated(item, 0), item.name, self.limits.timeout, self.limits.memory_mb)
            if answer.status != "unsat":
                return answer

        def goal(phases: Phases) -> int:
            s = phases.symbolic
            before = phases.holds(formula, 0)
            ends = [s.about(formula, state, phases.phase) for state in phases.states[1:-1]]
            return s.conj(before, -s.conj(*ends, phases.holds(formula, -1)))

        return self.ask(item.name, goal)

    # -- what fails ---------------------------------------------------------------------------------------------------------

    def smallest(self, answer: Answer) -> tuple[RoundTrace, str]:
        """The phase that makes a check fail, with the fewest processes, and whether a run reaches its start."""
        assert answer.trace is not None
        goal, count = self._goals[answer.name]
        trace = answer.trace
        for n in range(2, self.n):
            smaller = self.ask(answer.name, goal, count, n, record=False)
            if smaller.trace is not None:
                trace = smaller.trace
                break
        return trace, self.reachable(trace)

    def reachable(self, trace: RoundTrace) -> str:
        """Does a run reach the state in which a phase starts, whatever has been decided before?"""
        search = Search(Machine(replace(self.model, safety=(), invariants=())), trace.n, trace.parameters, forget=False)
        if search.communication.of_several:
            return "whether a run reaches its first state is not known"
        start = trace.configurations[0]

        def plain(state: State) -> State:
            decision = self.machine.decision
            processes = tuple((*p[:decision], 0, 0) for p in state.processes)
            return search.canonical(state._replace(processes=processes, coordinators=()))

        wanted = plain(State(search.names.phase(start.phase), 0, 0, 0, (), start.processes))
        ends = time.monotonic() + self.limits.timeout
        for layer in search.layers():
            if any(state.round == 0 and plain(state) == wanted for state in layer):
                return (
                    "a run reaches its first state, so U(v) or the lemma asks for too much, or the algorithm is wrong"
                )
            if time.monotonic() > ends or search.found.states > MOST_STATES:
                return f"no run reaches its first state within {search.found.depth} rounds"
        return "no run reaches its first state: the lemmas allow too much"
