"""What is asked of a strategy, what its methods find, and what it answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from quorate.engines.smt.session import Limits
from quorate.models.forms import Model
from quorate.models.relational import Liveness, RelationalModel
from quorate.proof import liveness
from quorate.proof.certificates import Certificate
from quorate.proof.liveness import LivenessCertificate
from quorate.proof.vacuity import Remark
from quorate.proof.verdicts import Result

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """What is asked: a model, how long the answer may take, and what the solvers may use."""

    model: Model
    seconds: float = 120.0
    limits: Limits = field(default_factory=Limits)
    largest: int = 5
    """Of a round-based algorithm: violations are looked for with up to that many processes."""
    whole: Model | None = None
    """The model with all its properties, where the question is about some of them: certificates are checked against it."""

    @property
    def names(self) -> list[str]:
        return [item.name for item in (*self.model.safety, *lively(self.model))]

    def only(self, names: Iterable[str]) -> Question:
        """The same question about some of the properties."""
        wanted = set(names)
        part: Any = replace(self.model, safety=tuple(item for item in self.model.safety if item.name in wanted))  # type: ignore[arg-type]
        if isinstance(part, RelationalModel):
            part = replace(part, liveness=tuple(item for item in part.liveness if item.name in wanted))
        return replace(self, model=part, whole=self.whole or self.model)


def lively(model: Model) -> tuple[Liveness, ...]:
    """The liveness properties of a model."""
    return model.liveness if isinstance(model, RelationalModel) else ()


@dataclass(frozen=True)
class Lemma:
    """An invariant of a proof as the protocol's language writes it, and the transitions that need it."""

    name: str
    formula: str
    needed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proof:
    """A certificate that the independent checker has accepted: so many obligations, each by both solvers."""

    certificate: Certificate | LivenessCertificate
    obligations: int
    lemmas: tuple[Lemma, ...] = ()
    found: bool = True
    """Were the lemmas found, and are they for people to read?  Otherwise the file gives them, or they are very many."""
    words: tuple[str, ...] = ()
    """Why it holds, for people to read, where lemmas do not tell: the stages of a ranking, the map of a cutoff."""

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of what is proved."""
        if isinstance(self.certificate, LivenessCertificate):
            return tuple(proved.argument.property for proved in self.certificate.proved)
        return self.certificate.safety

    def document(self, model: Model) -> dict[str, Any]:
        """The certificate as data, for a file."""
        if isinstance(self.certificate, LivenessCertificate):
            assert isinstance(model, RelationalModel)
            found: dict[str, Any] = json.loads(liveness.write(model, self.certificate))
            return found
        return self.certificate.to_json()


@dataclass(frozen=True)
class Finding:
    """What a method has found so far: properties settled, a proof, and what it established besides."""

    results: tuple[Result, ...] = ()
    proof: Proof | None = None
    established: str = ""
    reason: str = ""
    """Why the method has no more to say."""
    suggestions: tuple[Result, ...] = ()
    """What can be said of properties that stay open, if nothing settles them."""
    complete: bool = False
    """Would further rounds of the method find nothing new?"""


Work = Callable[[Question, int, Tell], Iterator[Finding]]


@dataclass(frozen=True)
class Method:
    """A method: what it aims at, in words what it does, and its work in the rounds that it gets, longer each time."""

    name: str
    aim: Literal["violation", "proof"]
    words: str
    work: Work
    rounds: tuple[float, ...]
    """Seconds for each round."""
    apart: bool = True
    """Does it answer each property by itself?  Otherwise it starts again when a property turns out to be violated."""
    kind: Literal["safety", "liveness"] = "safety"
    """What properties it speaks of."""
    aside: bool = False
    """Does it look for proofs with what the hunts for violations may take, beside another method that goes on and on?"""
    longer: float = 1.0
    """How many times the seconds of its round it may take where it has found something promising."""

    @property
    def lane(self) -> Literal["violation", "proof"]:
        return "violation" if self.aside else self.aim


@dataclass(frozen=True)
class Event:
    """Something that happened while a question was being answered."""

    kind: Literal["start", "doing", "found", "end", "stop"]
    method: str
    text: str
    seconds: float
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A result per property, the proofs behind what is proved, and the story of how it was found."""

    results: tuple[Result, ...]
    proofs: tuple[Proof, ...] = ()
    established: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False
    remarks: tuple[Remark, ...] = ()
    """What makes the verdicts say less than they seem to."""

    def joined(self, later: Answer) -> Answer:
        """This answer and a later one about other properties."""
        return Answer(
            self.results + later.results,
            self.proofs + later.proofs,
            self.established + later.established,
            self.events + later.events,
            self.seconds + later.seconds,
            later.interrupted,
            self.remarks + later.remarks,
        )


def crowding() -> float:
    """How many processes share a core: rounds are longer by that much, so that they do as much on a busy machine."""
    try:
        return min(8.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    except OSError:
        return 1.0
