"""Violations of a round-based algorithm with few processes: all runs with two, three, .. of them, a little at a time.

A search that stops at the first violation finds it long before all states are known, and a bug may need more processes rather
than a longer search: so every number of processes, with every value of the parameters, gets a short search, then those that
are not done yet a longer one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.methods.heardof.check import Options, check
from quorate.methods.heardof.phase import Runs
from quorate.models.evaluation import settings
from quorate.models.rounds import RoundModel
from quorate.proof.verdicts import Result

Progress = Callable[[str], None]
FEW_PHASES, MOST_PROCESSES = 2, 6
"""How long and how large the runs are that are looked for by propositional logic."""
LONG = 4.0
"""Before a search of so many seconds, short runs are looked for in this way."""


@dataclass(frozen=True)
class Hunted:
    """A violation, or the number of processes up to which all runs are known."""

    violated: Result | None = None
    covered: int = 0


def hunt(
    model: RoundModel, largest: int, patience: Sequence[float], progress: Progress = lambda text: None
) -> Iterator[Hunted]:
    """Violations with up to so many processes, in searches of so many seconds each."""
    model = replace(model, invariants=())
    cases = [(n, values) for n in range(2, largest + 1) for values in settings(model, n)]
    done: set[int] = set()
    covered = 1
    for level, seconds in enumerate(patience):
        for number, (n, values) in enumerate(cases):
            if number not in done and seconds >= LONG > (patience[level - 1] if level else 0.0):
                short = short_runs(model, n, values, (), seconds)
                for result in short.values():
                    yield Hunted(result)
                model = replace(model, safety=tuple(item for item in model.safety if item.name not in short))
            ends = time.monotonic() + seconds
            while number not in done and model.safety and time.monotonic() < ends:
                shown = "".join(f", {name} = {value}" for name, value in values.items())
                progress(f"all runs with {n} processes{shown}")
                outcome = check(model, n, values, None, Options(timeout=ends - time.monotonic()))
                bad = [result for result in outcome.results if result.verdict == "violated"]
                for result in bad:
                    yield Hunted(result)
                model = replace(
                    model, safety=tuple(i for i in model.safety if i.name not in {result.property for result in bad})
                )
                if outcome.found.finished and not bad:
                    done.add(number)
            reached = min((n for i, (n, _) in enumerate(cases) if i not in done), default=largest + 1) - 1
            if reached > covered:
                covered = reached
                yield Hunted(covered=covered)


def search_runs(
    model: RoundModel, largest: int, seconds: float, progress: Progress
) -> tuple[dict[str, Result], dict[str, list[str]]]:
    """Violations with few processes, the fewest first; and for which n there are none."""
    found: dict[str, Result] = {}
    covered: dict[str, list[str]] = {}
    for n in range(2, largest + 1):
        complete = True
        for parameters in settings(model, n):
            progress(f"searching with {n} processes")
            found |= short_runs(model, n, parameters, found, seconds)
            left = tuple(item for item in model.safety if item.name not in found)
            if not left:
                return found, covered
            outcome = check(replace(model, safety=left), n, parameters, None, Options(keep_going=True, timeout=seconds))
            for result in outcome.results:
                if result.verdict == "violated":
                    found[result.property] = result
            complete = complete and outcome.found.finished
        if not complete:
            break
        for item in model.safety:
            if item.name not in found:
                covered.setdefault(item.name, []).append(str(n))
    return found, covered


def short_runs(
    model: RoundModel, n: int, parameters: Mapping[str, int], known: Container[str], seconds: float
) -> dict[str, Result]:
    """Violations within few phases, by propositional logic: quicker than a search of all states, if there are any."""
    started = time.monotonic()
    found: dict[str, Result] = {}
    if model.steps or n > MOST_PROCESSES:
        return found
    runs = Runs(model, n, parameters, FEW_PHASES)
    for item in model.safety:
        if item.name in known or (item.formula is None and item.name == "termination"):
            continue
        try:
            trace = runs.first_violation(item, seconds / 10)
        except TimeoutError:
            continue
        if trace is not None:
            scope = ", ".join([f"n={n}", *(f"{name}={value}" for name, value in parameters.items())])
            rounds = len(trace.happenings)
            reason = f"violated after {rounds} round{'s' * (rounds != 1)}"
            spent = time.monotonic() - started
            found[item.name] = Result(
                item.name, "safety", "violated", "bounded search", scope, reason, None, item.span, spent, rounds=trace
            )
    return found


def nobody_decides(model: RoundModel, seconds: float) -> bool:
    """Properties of decisions say nothing if there are none."""
    for n in (2, 3, 4):
        for parameters in settings(model, n):
            runs = Runs(model, n, parameters, FEW_PHASES)
            s = runs.symbolic
            some = s.disj(*(-s.equal(decision, s.number(0)) for decision in runs.states[-1].decision))
            if runs.solve(some, "a decision", seconds).status != "unsat":
                return False
    return True
