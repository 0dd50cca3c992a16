"""Violations of a round-based algorithm with few processes: all runs with two, three, .. of them, a little at a time.

A search that stops at the first violation finds it long before all states are known, and a bug may need more processes rather
than a longer search: so every number of processes, with every value of the parameters, gets a short search, then those that
are not done yet a longer one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from quorate.methods.heardof.check import Options, check
from quorate.models.evaluation import settings
from quorate.models.rounds import RoundModel
from quorate.proof.verdicts import Result

Progress = Callable[[str], None]


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
    for seconds in patience:
        for number, (n, values) in enumerate(cases):
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
