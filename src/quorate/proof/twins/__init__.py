"""Naive twins of the front ends: interpreters that execute the parsed text of a protocol, statement by statement.

Between the text of a protocol and the formulas that solvers see stand thousands of lines: elaboration, symbolic execution,
translation to relational form.  A twin uses none of them.  It takes the surface tree that the parser made, fixes the
size of every sort, and does what the text says on plain finite states, in the way a reader would.  `second_opinion` walks
through its states before a certificate is accepted; tests compare it with the models on random states.

One module for each language: `pyv`, `ivy`, `mercury`, `rounds`.  `choices` says how "any" is executed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quorate.proof.twins.choices import Choices

if TYPE_CHECKING:
    from quorate.logic.structures import Structure
    from quorate.models.forms import Model

State = Hashable
"""A state of a twin; only the twin looks inside."""


class TwinError(Exception):
    """The twin cannot execute this text; the message says why."""


@dataclass(frozen=True)
class Move:
    """A step as people and fairness assumptions speak of it: the transition's name and its arguments."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        listed = ", ".join(f"{name} = {value}" for name, value in self.arguments.items())
        return f"{self.name}({listed})" if listed else self.name


class Twin(ABC):
    """One finite instance of a protocol, executed from its text."""

    size: str
    """The instance in words: `node=2, value=2`."""

    properties: tuple[str, ...]
    """The names of the safety properties, as the model calls them."""

    @abstractmethod
    def start(self, choices: Choices) -> State:
        """An initial state."""

    @abstractmethod
    def step(self, state: State, choices: Choices) -> tuple[Move, State]:
        """A step from a state, with its choices: which transition, which arguments, what the text leaves open."""

    @abstractmethod
    def falsified(self, state: State) -> tuple[str, ...]:
        """The names of the safety properties that are false in a state."""

    @abstractmethod
    def structure(self, state: State) -> Structure | None:
        """The state in the vocabulary of the relational form, which certificates speak of.

        None if there is none here: in the middle of a phase of a round-based algorithm, whose form has whole phases only.
        """

    @abstractmethod
    def show(self, state: State) -> str:
        """A state as text for people, on a few lines."""


def twins(model: Model) -> Iterator[Twin]:
    """The small instances of a model's text, smallest first; raises `TwinError` where there is no twin."""
    from quorate.models.process import ProcessModel
    from quorate.models.relational import RelationalModel
    from quorate.models.rounds import RoundModel

    if isinstance(model, ProcessModel):
        from quorate.proof.twins.mercury import mercury_twins

        return mercury_twins(model)
    if isinstance(model, RoundModel):
        from quorate.proof.twins import rounds

        return rounds.twins(model)
    if isinstance(model, RelationalModel) and model.language == "pyv":
        from quorate.proof.twins import pyv

        return pyv.twins(model)
    if isinstance(model, RelationalModel) and model.language == "ivy":
        from quorate.proof.twins import ivy

        return ivy.twins(model)
    raise TwinError(f"there is no twin for {model.language} files")
