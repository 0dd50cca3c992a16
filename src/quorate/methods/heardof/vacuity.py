"""Round-based algorithms that cannot do anything: `safe` of no run, `sync` of no phase, nobody who decides.

Each is asked about few processes, one or two phases, by propositional logic: one solution is enough, and the first
question nearly always has one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from quorate.engines.smt.ground import TRUE
from quorate.methods.heardof.hunt import FEW_PHASES
from quorate.methods.heardof.phase import Phases, Runs
from quorate.models.evaluation import RoundsError, settings
from quorate.models.rounds import RoundModel
from quorate.proof.round_traces import window_of
from quorate.proof.vacuity import Contradiction, Remark

NUMBERS = (2, 3, 4, 5, 9, 14)
"""With how many processes something is looked for; a bound may need more of them than two."""
MANY, MOST_SETTINGS = (*range(1, 13), 24, 48, 100), 5_000
"""For how many processes values of the parameters are looked for, and how many of them for each."""
PATIENCE = 5.0
"""Seconds for all questions about one thing that does not show; what is not answered by then is not claimed."""

Question = Callable[[int, dict[str, int]], bool]


def _possible(question: Question, model: RoundModel) -> bool | None:
    """Is the answer yes for some number of processes and values of the parameters?  None if that is not known."""
    ends = time.monotonic() + PATIENCE
    asked = False
    for n in NUMBERS:
        for parameters in settings(model, n):
            if time.monotonic() > ends:
                return None
            asked = True
            if question(n, parameters):
                return True
    return False if asked else None


def _solved(clauses: list[tuple[int, ...]]) -> bool:
    from pysat.solvers import Solver

    with Solver(name="minisat22", bootstrap_with=clauses) as solver:
        return bool(solver.solve())


def _scope() -> str:
    return f"{', '.join(map(str, NUMBERS[:-1]))} or {NUMBERS[-1]} processes"


def _unparametrised(model: RoundModel) -> Contradiction | None:
    """No values of the parameters are allowed, for any number of processes that is looked at."""
    numbers = [n for n in MANY if (n + 1) ** len(model.parameters) <= MOST_SETTINGS]
    if not numbers or any(True for n in numbers for _ in settings(model, n)):
        return None
    return Contradiction("parameters", (), f"up to {numbers[-1]} processes")


def impossible(model: RoundModel) -> Contradiction | None:
    """Why there is no run at all: no heard-of sets and coordinators are as `safe` demands, or no parameters are allowed."""
    if model.parameters and (found := _unparametrised(model)) is not None:
        return found
    if model.steps or model.faults is not None:
        return None

    def question(n: int, parameters: dict[str, int]) -> bool:
        return _solved(Runs(model, n, parameters, 1).symbolic.circuit.clauses)

    try:
        if _possible(question, model) is False:
            return Contradiction("safe", (), _scope())
    except RoundsError:
        pass
    return None


def unsynchronised(model: RoundModel) -> Contradiction | None:
    """No phase is as `sync` demands, so that termination says nothing."""
    if model.sync is None or not any(item.name == "termination" for item in model.safety):
        return None
    count = window_of(model) // len(model.rounds)

    def question(n: int, parameters: dict[str, int]) -> bool:
        phases = Phases(model, n, parameters, (), count)
        good = phases.synchronous()
        return _solved([*phases.symbolic.circuit.clauses, (good,)])

    try:
        if _possible(question, model) is False:
            return Contradiction("sync", (), _scope())
    except RoundsError:
        pass
    return None


def remarks(model: RoundModel) -> tuple[Remark, ...]:
    """What to know about an algorithm beside its verdicts."""
    return tuple(_decisions(model))


def _decisions(model: RoundModel) -> Iterator[Remark]:
    """Does nobody ever decide?  Asked where properties are about decisions."""
    if model.steps or model.keeps_messages or not any(item.formula is None for item in model.safety):
        return

    def question(n: int, parameters: dict[str, int]) -> bool:
        runs = Runs(model, n, parameters, FEW_PHASES)
        s = runs.symbolic
        some = s.disj(*(-s.equal(decision, s.number(0)) for decision in runs.states[-1].decision))
        return _solved([*s.circuit.clauses, (some,)]) if some != -TRUE else False

    try:
        if _possible(question, model) is False:
            yield Remark("decision", "", False, f"{_scope()} and {FEW_PHASES} phases")
    except RoundsError:
        return
