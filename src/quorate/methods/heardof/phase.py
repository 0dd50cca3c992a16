"""One phase with n processes, from any state that the lemmas allow: the five checks of Tsuchiya and Schiper.

"Verification of consensus algorithms using satisfiability solving" (Distributed Computing 23, 2011): agreement, termination, the
base and the step of the invariant, and U(v), each one propositional question about the unreduced algorithm: any coordinators,
n × n heard-of sets.  What holds of every single phase holds of runs of any length.  A question that has an answer gives a phase,
which is replayed on the plain semantics and is *not* called a run before `single` has found one from the initial states.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from quorate.engines.rounds.bits import Vector
from quorate.engines.rounds.communication import rounds_of, split
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.rounds.symbolic import VALUE_KINDS, Happened, Processes, Symbolic, compares_values
from quorate.engines.rounds.symmetry import order_of_values
from quorate.engines.smt.ground import FALSE, TRUE
from quorate.engines.smt.workers import guarded
from quorate.models import rounds as r
from quorate.models.evaluation import CRASHED, EMPTY, REVOKED, Machine, Process, RoundsError, World
from quorate.models.rounds import Node, Property, RoundModel
from quorate.proof.round_traces import Happening, RoundTrace, replay, witnesses

SOLVER = "cadical195"
Status = Literal["unsat", "sat", "unknown"]
Lemma = tuple[str, Node]


@dataclass(frozen=True)
class Answer:
    """What a check came to: `unsat` is what one hopes for; `sat` comes with a phase."""

    name: str
    status: Status
    seconds: float = 0.0
    trace: RoundTrace | None = None
    clauses: int = 0


def values_needed(model: RoundModel, n: int, lemmas: Sequence[Lemma]) -> int:
    """How many values are enough for a phase of n processes and the v of U(v).

    Values are copied and compared, never made up.  If the rounds compare values with `?` only, and formulas with v and `?` only,
    nothing changes when all values but v become one; otherwise there are v and those that processes hold at the start, in
    variables that no lemma says are `?`.
    """
    formulas = [item.formula for item in (*model.safety, *model.invariants) if item.formula]
    formulas += [formula for _, formula in lemmas] + ([model.univalent[1]] if model.univalent else [])
    if not compares_values(model) and order_of_values(model) is None and not any(_relates(f, model) for f in formulas):
        return 2
    empty = set()
    for _, formula in lemmas:
        for part in split(formula):
            match part:
                case r.Quantified(True, (p,), r.Operation("=", (r.VariableOf(name, r.Bound(q)), r.Nothing()))) if (
                    p == q
                ):
                    empty.add(name)
    held = [item for item in model.variables if item.kind in VALUE_KINDS and item.name not in empty]
    return n * len(held) + 1


def _relates(formula: Node, model: RoundModel) -> bool:
    """Does a formula compare the values of two processes?"""
    names = {item.name for item in model.variables if item.kind in VALUE_KINDS} | {"decision"}
    return any(
        isinstance(node, r.Operation)
        and node.operator in ("=", "!=")
        and all(isinstance(side, r.VariableOf) and side.name in names for side in node.operands)
        for node in formula.walk()
    )


class Unrolled:
    """Some rounds as a circuit, and how a solution of it is read."""

    kind: Literal["run", "cti"]

    def __init__(
        self,
        model: RoundModel,
        n: int,
        parameters: Mapping[str, int],
        values: int,
        faults: int | None = None,
        phases: int = 1,
    ) -> None:
        self.model = model
        self.n = n
        self.parameters = dict(parameters)
        self.symbolic = Symbolic(Machine(model), n, parameters, values, faults, phases)
        self.fault_bound = faults
        self.happened: list[Happened] = []
        self.states: list[Processes] = []

    def unroll(self, phase: Vector, constrained: Container[int]) -> Vector:
        """One more phase; the number of the one after it."""
        s, model = self.symbolic, self.model
        coordinators = s.coordinators()
        begun = len(self.happened)
        for i in range(len(model.rounds)):
            self.happened.append(s.hearing(i, i + 1 in constrained, coordinators))
            self.states.append(s.round(i, phase, self.states[-1], self.happened[-1], len(self.happened)))
        s.circuit.require(s.about(model.safe, None, phase, {}, self.happened[begun:]))
        return s.increment(phase)

    def solve(self, goal: int, name: str, seconds: float, memory_mb: int = 4096) -> Answer:
        """Is there a solution with this?"""
        started = time.monotonic()
        clauses = [*self.symbolic.circuit.clauses, (goal,)]
        if goal == FALSE:
            return Answer(name, "unsat", 0.0, None, len(clauses))
        found = guarded(_sat, clauses, timeout=seconds, memory_mb=memory_mb)
        spent = time.monotonic() - started
        if found is None:
            return Answer(name, "unknown", spent, None, len(clauses))
        if not found:
            return Answer(name, "unsat", spent, None, len(clauses))
        return Answer(name, "sat", spent, self.trace(set(found)), len(clauses))

    def trace(self, true: Container[int], violated: str | None = None, rounds: int | None = None) -> RoundTrace:
        """The rounds that an assignment describes, replayed."""
        naive = Naive(self.symbolic.machine, self.n, self.parameters, self.fault_bound)
        reading = _Reading(self, true)
        configurations = [reading.start(naive)]
        happenings = []
        for happened, after in list(zip(self.happened, self.states[1:], strict=True))[:rounds]:
            happening = reading.happening(happened)
            before = replace(configurations[-1], coordinators=happening.coordinators)
            wanted = reading.processes(after)
            options = naive.after(before, happening.heard, happening.crashing)
            found = next((option for option in options if option.processes == wanted), None)
            if found is None:
                raise AssertionError("a round of the circuit is not a round of the algorithm")
            configurations.append(found)
            happenings.append(happening)
        trace = RoundTrace(
            self.kind, self.n, self.parameters, tuple(configurations), tuple(happenings), violated, self.fault_bound
        )
        replay(self.model, trace)
        return trace


class _Reading:
    """Numbers instead of literals."""

    def __init__(self, unrolled: Unrolled, true: Container[int]) -> None:
        self.unrolled = unrolled
        self.true = true

    def bit(self, literal: int) -> bool:
        return literal == TRUE or (literal != FALSE and literal in self.true)

    def number(self, value: Any) -> int:
        return sum(
            1 << i for i, literal in enumerate([value] if isinstance(value, int) else value) if self.bit(literal)
        )

    def processes(self, at: Processes) -> tuple[Process, ...]:
        return tuple(
            (
                *(self.number(row[item.name]) for item in self.unrolled.model.variables),
                self.number(at.decision[p]),
                REVOKED * self.bit(at.revoked[p]) | EMPTY * self.bit(at.empty[p]) | CRASHED * self.bit(at.crashed[p]),
            )
            for p, row in enumerate(at.variables)
        )

    def start(self, naive: Naive) -> Configuration:
        unrolled = self.unrolled
        processes = self.processes(unrolled.states[0])
        if isinstance(unrolled, Phases):
            return Configuration(self.number(unrolled.phase), 0, processes)
        initial = naive.machine.initial
        return naive.start([next(v for v in range(1, naive.n + 1) if initial(v) == p) for p in processes])

    def happening(self, happened: Happened) -> Happening:
        everyone = range(self.unrolled.n)
        coordinators = tuple(next(q for q in everyone if self.bit(who[q])) for who in happened.coordinators)
        heard = []
        for p in everyone:
            mask = sum(1 << q for q in everyone if self.bit(happened.heard.get((p, q), FALSE)))
            heard.append(mask | (1 << coordinators[p] if self.bit(happened.own.get(p, FALSE)) else 0))
        return Happening(coordinators, tuple(heard), self.number(happened.crashing))


class Phases(Unrolled):
    """One or more phases from any state in which the lemmas hold."""

    kind = "cti"

    def __init__(
        self, model: RoundModel, n: int, parameters: Mapping[str, int], lemmas: Sequence[Lemma], count: int = 1
    ) -> None:
        for reason, wrong in (
            ("sets of values", any(item.kind == "set" for item in model.variables)),
            ("a fixed number of phases", model.phases is not None),
            ("crashes or omissions", model.faults is not None),
            ("messages that are kept", model.keeps_messages),
        ):
            if wrong:
                raise RoundsError(
                    f"single phases are not checked of algorithms with {reason}; `quorate check` is for them"
                )
        super().__init__(model, n, parameters, values_needed(model, n, lemmas), phases=count)
        s = self.symbolic
        self.ordered = order_of_values(model) is not None
        self.phase: Vector = s.fresh(s.time_bits)
        s.circuit.require(s.at_most(s.number(1), self.phase))
        s.circuit.require(s.at_most(self.phase, s.number((1 << s.time_bits) - 1 - count)))
        self.states.append(s.anything())
        s.in_order(self.states[0], not self.ordered)
        for _, formula in lemmas:
            s.circuit.require(s.about(formula, self.states[0], self.phase))
        self.after = self.phase
        for number in range(count):
            sync = rounds_of(model.sync) if model.sync else frozenset()
            constrained = rounds_of(model.safe) | {i - number * len(model.rounds) for i in sync}
            self.after = self.unroll(self.after, constrained)

    def holds(self, formula: Node, at: int, bound: Mapping[str, Any] | None = None) -> int:
        """A lemma at the start (0) or at the end (-1)."""
        return self.symbolic.about(formula, self.states[at], self.phase if at == 0 else self.after, bound)

    def value(self) -> Any:
        """The v of U(v): any value; if values are interchangeable, the first."""
        s = self.symbolic
        if not self.ordered:
            return s.number(1, s.value_bits)
        value = s.fresh(s.value_bits)
        s.circuit.require(s.at_most(s.number(1), value))
        s.circuit.require(s.at_most(value, s.number(s.values)))
        return value

    def decides(self, test: Callable[[Any], int]) -> int:
        """Somebody decides a value of this kind, other than `?`."""
        s = self.symbolic
        none = s.number(0)
        return s.disj(*(s.conj(e.when, -s.equal(e.value, none), test(e.value)) for e in s.events))

    def synchronous(self) -> int:
        """`sync` holds."""
        s, model = self.symbolic, self.model
        assert model.sync is not None
        size = len(model.rounds)
        options = []
        for body, bound in witnesses(model.sync, self.n):
            named = {name: s.someone(p) for name, p in bound.items()}
            parts = []
            for part in split(body):
                rounds = rounds_of(part)
                starts = range(0, len(self.happened), size) if not rounds else [(min(rounds) - 1) // size * size]
                for start in starts:
                    rows = [*self.happened]
                    rows[0] = replace(rows[0], coordinators=self.happened[start].coordinators)
                    parts.append(s.about(part, None, self.phase, named, rows))
            options.append(s.conj(*parts))
        return s.disj(*options)


class Runs(Unrolled):
    """The first rounds of a run, from the initial states."""

    kind = "run"

    def __init__(
        self, model: RoundModel, n: int, parameters: Mapping[str, int], phases: int, faults: int | None = None
    ) -> None:
        super().__init__(model, n, parameters, n, faults, phases)
        s = self.symbolic
        self.states.append(s.first())
        self.phase_of = [s.number(1, s.time_bits)]
        if model.phases is not None:
            last = int(s.machine.function(model.phases)(World(n, parameters, 1, ())))
            phases = min(phases, last)
        everything = range(1, len(model.rounds) + 1)
        for number in range(1, phases + 1):
            self.unroll(s.number(number, s.time_bits), everything)
            self.phase_of += [s.number(number, s.time_bits)] * (len(model.rounds) - 1)
            self.phase_of.append(s.number(number + 1, s.time_bits))
        s.limit_faults(self.happened, self.states[-1])

    def violated(self, item: Property, rounds: int) -> int:
        """The property does not hold after so many rounds."""
        s, at = self.symbolic, self.states[rounds]
        if item.formula is not None:
            return -s.about(item.formula, at, self.phase_of[rounds])
        revoked = s.disj(*at.revoked)
        match item.name:
            case "validity":
                return s.disj(*at.empty)
            case "irrevocability":
                return revoked
            case "agreement":
                v = s.fresh(s.value_bits)
                none = s.number(0)
                mine = s.disj(*(s.conj(-s.equal(d, none), s.equal(d, v)) for d in at.decision))
                other = s.disj(*(s.conj(-s.equal(d, none), -s.equal(d, v)) for d in at.decision))
                return s.disj(revoked, s.conj(mine, other))
        raise RoundsError(f"{item.name} is not looked for in runs of some rounds")

    def first_violation(self, item: Property, seconds: float, memory_mb: int = 4096) -> RoundTrace | None:
        """The shortest run that violates the property; None if there is none so short.  Raises if time runs out."""
        for rounds in range(len(self.states)):
            goal = self.violated(item, rounds)
            clauses = [*self.symbolic.circuit.clauses, (goal,)]
            found = guarded(_sat, clauses, timeout=seconds, memory_mb=memory_mb) if goal != FALSE else []
            if found is None:
                raise TimeoutError
            if found:
                return self.trace(set(found), item.name, rounds)
        return None


def _sat(clauses: list[tuple[int, ...]]) -> list[int]:
    """The true literals of a solution; empty if there is none."""
    from pysat.solvers import Solver

    with Solver(name=SOLVER, bootstrap_with=clauses) as solver:
        return list(solver.get_model()) if solver.solve() else []
