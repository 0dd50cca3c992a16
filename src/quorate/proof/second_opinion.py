"""A second opinion on a certificate: small instances are walked through by the plain reading of the text.

The checker's obligations are about a model that thousands of lines have made from the text.  The twins (`twins`) share none of
these lines.  So before a certificate is accepted, a twin visits states of small instances: all of them as far as the time
goes, then random runs of larger ones.  In every state that it visits

    the safety properties hold, as the text states them (states in the middle of a phase included);
    the axioms and definitions of the model hold, and in first states its initial conditions;
    the invariants of the certificate hold.

A state that falsifies one of them shows that the certificate is wrong, or the translation that it rests on: it is not
accepted, and the run to that state is shown.  For liveness properties, `plain_liveness` looks for a fair run that starves,
in instances whose states are all known.  A second opinion can only object: it never makes anything accepted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from quorate.logic.structures import EvaluationError, Evaluator, Structure
from quorate.models.forms import Model
from quorate.models.relational import Named, RelationalModel
from quorate.proof.certificates import Certificate
from quorate.proof.liveness import LivenessCertificate, monitored
from quorate.proof.plain_liveness import Graph, Monitored, starving_run
from quorate.proof.twins import Move, State, Twin, TwinError, twins
from quorate.proof.twins.choices import every

SECONDS = 1.0
"""Processor time for a second opinion."""
EXHAUSTIVE = 0.6
"""The share of it for visiting all states of the smallest instances; random runs of the others have the rest."""
STEPS = 30
"""The length of a random run."""


@dataclass(frozen=True)
class Objection:
    """A claim that is false in the last state of a run of the plain reading."""

    claim: str
    size: str
    run: tuple[str, ...]
    """The first state, the moves, and the last state, as lines of text."""

    def __str__(self) -> str:
        where = "in a state that the text reaches with" if self.run else "according to the text, with"
        return "\n".join([f"{self.claim}, {where} {self.size}{':' * bool(self.run)}", *self.run])


@dataclass(frozen=True)
class Opinion:
    """What a walk has seen.  `excuse` says why there was none."""

    states: int = 0
    complete: tuple[str, ...] = ()
    """The instances all of whose states were visited."""
    objection: Objection | None = None
    excuse: str = ""

    def __str__(self) -> str:
        if self.objection is not None:
            return str(self.objection)
        if self.excuse:
            return f"no second opinion: {self.excuse}"
        if not self.states:
            return "no second opinion: no small instance has an initial state"
        whole = f", all of those with {self.complete[-1]}" if self.complete else ""
        return f"the plain reading of the text agrees in {self.states:,} states of small instances{whole}"


@dataclass
class _Claims:
    """What has to hold in the states of a twin."""

    safety: frozenset[str]
    always: Sequence[Named]
    """Formulas over the relational form."""
    first: Sequence[Named]
    """The same, for first states."""
    _evaluators: dict[tuple[tuple[str, int], ...], Evaluator] = field(default_factory=dict)

    def objection(self, twin: Twin, state: State, is_first: bool) -> str | None:
        """What is false in a state, in words."""
        for name in twin.falsified(state):
            if name in self.safety:
                return f"{name} is false"
        structure = twin.structure(state)
        if structure is None:
            return None
        for item in (*self.always, *(self.first if is_first else ())):
            if not self._holds(structure, item):
                return f"the proof says that “{item.name}” holds; it does not"
        return None

    def _holds(self, structure: Structure, item: Named) -> bool:
        key = tuple(sorted((sort.name, size) for sort, size in structure.sizes.items()))
        evaluator = self._evaluators.setdefault(key, Evaluator(structure.sizes))
        try:
            return bool(evaluator.compile(item.formula)(structure, {}))
        except EvaluationError:
            return True


def second_opinion(
    model: Model,
    form: RelationalModel,
    certificate: Certificate | LivenessCertificate,
    seconds: float = SECONDS,
    seed: int = 0,
) -> Opinion:
    """Walk through small instances of a model's text and look for a state, or a fair run, that a certificate excludes."""
    ends = time.process_time() + seconds
    try:
        if isinstance(certificate, LivenessCertificate):
            assert isinstance(model, RelationalModel)
            return _about_liveness(model, certificate, ends, seed)
        invariants = [] if certificate.cutoffs else _named(certificate, form)
        claims = _Claims(frozenset(certificate.safety), [*form.background(), *invariants], form.initial)
        return _walk(list(twins(model)), claims, ends, seed)
    except TwinError as problem:
        return Opinion(excuse=str(problem))


def _named(certificate: Certificate, form: RelationalModel) -> list[Named]:
    return [Named(name, formula) for name, formula in certificate.invariant_terms(form)]


def _about_liveness(model: RelationalModel, certificate: LivenessCertificate, ends: float, seed: int) -> Opinion:
    """The claims of a liveness proof in states that are watched by its monitor; then fair runs that starve."""
    opinion = Opinion()
    for number, proved in enumerate(certificate.proved):
        item = next(item for item in model.liveness if item.name == proved.argument.property)
        base, watched = monitored(model, item) if proved.argument.monitored else (model, item)
        named = list(proved.claims) + ([] if proved.proof is None else _named(proved.proof, base))
        claims = _Claims(frozenset(), [*base.background(), *named], base.initial)
        instances: list[Twin] = list(twins(model))
        if proved.argument.monitored:
            instances = [Monitored(twin, item, watched) for twin in instances]
        now = time.process_time()
        share = now + (ends - now) / (len(certificate.proved) - number)
        found = _walk(instances, claims, share, seed, partial(starving_run, model, item))
        opinion = replace(found, states=opinion.states + found.states)
        if found.objection is not None:
            break
    return opinion


def _walk(
    instances: Sequence[Twin],
    claims: _Claims,
    ends: float,
    seed: int,
    whole: Callable[[Graph], str | None] | None = None,
) -> Opinion:
    """Visit states of the instances until the processor time is used up; `whole` looks at instances that are known entirely."""
    walk = _Walk(claims)
    begun = time.process_time()
    exhaustive = begun + EXHAUSTIVE * (ends - begun)
    complete: list[str] = []
    rest = list(instances)
    while rest:
        graph = Graph(rest[0])
        if not walk.exhaust(graph, lambda: time.process_time() > exhaustive):
            break
        if walk.objection is None and whole is not None and (text := whole(graph)):
            walk.objection = Objection(text, graph.twin.size, ())
        if walk.objection is not None:
            break
        if graph.states:
            complete.append(graph.twin.size)
        rest.pop(0)
    if walk.objection is None:
        walk.wander(rest, Random(seed), lambda: time.process_time() > ends)
    return Opinion(walk.visited, tuple(complete), walk.objection)


class _Walk:
    """Visits states and stops at the first one that falsifies a claim."""

    def __init__(self, claims: _Claims) -> None:
        self.claims = claims
        self.visited = 0
        self.objection: Objection | None = None

    def exhaust(self, graph: Graph, stop: Callable[[], bool]) -> bool:
        """Visit all states of an instance; False if there was no time for that."""
        twin = graph.twin
        for state in every(twin.start, stop=stop):
            if graph.add(state) and self._objects(twin, state, True, partial(graph.path, state)):
                return True
        position = 0
        while position < len(graph.states) and not stop():
            before = graph.states[position]
            for move, after in every(partial(twin.step, before), stop=stop):
                if graph.add(after, before, move) and self._objects(twin, after, False, partial(graph.path, after)):
                    return True
            position += 1
        return not stop()

    def wander(self, instances: Sequence[Twin], random: Random, stop: Callable[[], bool]) -> None:
        """Random runs, of one instance after the other, again and again."""
        able = list(instances)
        while able and not stop():
            able = [twin for twin in able if self._wanders(twin, random, stop)]
            if self.objection is not None:
                return

    def _wanders(self, twin: Twin, random: Random, stop: Callable[[], bool]) -> bool:
        """One random run; False if the instance has no initial state."""
        state = next(every(twin.start, random, stop), None)
        if state is None:
            return False
        path: list[tuple[Move | None, State]] = [(None, state)]
        while not self._objects(twin, state, len(path) == 1, partial(list, path)) and len(path) <= STEPS:
            taken = next(every(partial(twin.step, state), random, stop), None)
            if taken is None:
                break
            path.append(taken)
            state = taken[1]
        return True

    def _objects(
        self, twin: Twin, state: State, is_first: bool, path: Callable[[], Sequence[tuple[Move | None, State]]]
    ) -> bool:
        self.visited += 1
        claim = self.claims.objection(twin, state, is_first)
        if claim is not None:
            self.objection = Objection(claim, twin.size, tuple(_shown(twin, path())))
        return claim is not None


def _shown(twin: Twin, path: Sequence[tuple[Move | None, State]]) -> Iterator[str]:
    """A run as lines of text: its first state, its moves, its last state."""
    yield "first state:"
    yield from (f"  {line}" for line in twin.show(path[0][1]).splitlines())
    yield from (f"step {number}: {move}" for number, (move, _) in enumerate(path[1:], 1))
    if len(path) > 1:
        yield "last state:"
        yield from (f"  {line}" for line in twin.show(path[-1][1]).splitlines())
