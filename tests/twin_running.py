"""Running the twin of a small text: everything that it can do, as strings that a reader can check."""

from __future__ import annotations

from functools import partial
from typing import Literal

from quorate.lang import parse
from quorate.models.source import Source
from quorate.proof.twins import State, Twin, twins
from quorate.proof.twins.choices import every


def twin_of(text: str, language: Literal["pyv", "ivy"], size: str) -> Twin:
    """The instance of a text with the given sizes, as in `node=2`."""
    model = parse(Source(f"text.{language}", text), language).model
    return next(twin for twin in twins(model) if twin.size == size)


def starts(twin: Twin) -> dict[str, State]:
    """The initial states, as they are shown on one line."""
    return {line(twin, state): state for state in every(twin.start)}


def steps(twin: Twin, shown: str) -> set[str]:
    """The steps from an initial state or one that can be reached, as `move: state after`."""
    return {f"{move}: {line(twin, after)}" for move, after in every(partial(twin.step, reached(twin)[shown]))}


def reached(twin: Twin) -> dict[str, State]:
    """All states that can be reached."""
    found = starts(twin)
    waiting = list(found.values())
    while waiting:
        for _, after in every(partial(twin.step, waiting.pop())):
            if line(twin, after) not in found:
                found[line(twin, after)] = after
                waiting.append(after)
    return found


def falsified(twin: Twin) -> dict[str, set[str]]:
    """The states that can be reached and falsify something, by what they falsify."""
    found: dict[str, set[str]] = {}
    for shown, state in reached(twin).items():
        for name in twin.falsified(state):
            found.setdefault(name, set()).add(shown)
    return found


def line(twin: Twin, state: State) -> str:
    return ", ".join(twin.show(state).splitlines())
