"""All states of an instance and all steps between them, as arrays.

Guards and updates are evaluated for all states at once; transitions that choose whole relations are expanded state by state
with the plain engine.  Read `check` next, and `samples`, for what is done with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy

from quorate.engines.explicit.arrays import all_states, unpack
from quorate.engines.explicit.compile import QUICK, CompilerError
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.native import Engine, Search
from quorate.engines.explicit.reference import FINISHED, RUNNING, Reference, ReferenceSearch
from quorate.engines.explicit.system import System
from quorate.logic.structures import domain
from quorate.logic.terms import Sort, Symbol, Term, Var
from quorate.logic.transform import symbols_of
from quorate.methods.inference.states import Array, States, from_instance, grid, with_derived
from quorate.models.relational import Fairness, RelationalModel, Transition
from quorate.models.temporal import TemporalError, enabled, happens_in_state, step

CHUNK = 4_000_000
"""Entries that are evaluated at once."""
FEW = 2_000
"""Instances with so few states at most, reachable or not, are not worth a compilation."""


class TooManyStates(Exception):
    """The instance has more states than may be looked at."""


def reachable_rows(instance: Instance, most: int, symmetry: bool) -> Array:
    """The reachable states, as `Instance.states` gives them; up to symmetry where that is wanted and possible."""
    system = instance.system
    if not system.worlds:
        return numpy.zeros((0, len(system.fields) + 1), int)
    symmetry = symmetry and system.symmetry is not None
    if prod(system.fields) * len(system.worlds) <= FEW:
        return _plain_rows(system, symmetry, most)
    try:
        search = Search(Engine(system, QUICK), symmetry, jobs=1, memory_mb=2048, keep_going=True)
    except CompilerError:
        return _plain_rows(system, symmetry, most)
    search.begin()
    while search.status == RUNNING:
        search.run(0.05)
        if search.found.states > most:
            raise TooManyStates
    if search.status != FINISHED:
        raise TooManyStates
    return unpack(system.layout, all_states(search))


def _plain_rows(system: System, symmetry: bool, most: int) -> Array:
    """The same by the plain engine."""
    search = ReferenceSearch(Reference(system), symmetry, True)
    search.begin()
    while search.status == RUNNING:
        search.run(0.2)
        if search.found.states > most:
            raise TooManyStates
    return numpy.array([(*values, world) for values, world in search.seen], numpy.intp)


@dataclass(frozen=True)
class Moves:
    """Steps of one transition: from which state, with which values of its parameters, and the states after them."""

    transition: Transition
    source: Array
    values: Mapping[Var, Array]
    after: States


def assignments(variables: Sequence[Var], sizes: Mapping[Sort, int]) -> dict[Var, Array]:
    """All values of the variables, one after the other."""
    lengths = [len(domain(variable.sort, sizes)) for variable in variables]
    indices = numpy.indices(lengths).reshape(len(lengths), prod(lengths))
    return dict(zip(variables, indices, strict=True))


def holds(states: States, formula: Term, variables: Sequence[Var]) -> Array:
    """Truth values of a formula: states along the first axis, values of the variables along the second."""
    env = assignments(variables, states.sizes)
    width = prod(len(domain(v.sort, states.sizes)) for v in variables)
    return numpy.broadcast_to(states.evaluate(formula, env), (states.count, width)).astype(bool)


def moves(model: RelationalModel, states: States) -> list[Moves]:
    """Every step from the states, by transition; raises `TemporalError` if one chooses a whole relation."""
    return [_moves(model, states, transition) for transition in model.transitions]


def _moves(model: RelationalModel, states: States, transition: Transition) -> Moves:
    sizes = states.sizes
    made = step(transition)
    width = prod(len(domain(v.sort, sizes)) for v in made.variables)
    chunk = max(1, CHUNK // max(1, width))
    source, number = [numpy.zeros(0, numpy.intp)], [numpy.zeros(0, numpy.intp)]
    for start in range(0, states.count, chunk):
        part = states.part(start, min(start + chunk, states.count))
        rows, columns = numpy.nonzero(holds(part, made.guard, made.variables))
        source.append(rows + start)
        number.append(columns)
    sources, numbers = numpy.concatenate(source), numpy.concatenate(number)
    values = {variable: array[numbers] for variable, array in assignments(made.variables, sizes).items()}
    before = states.where(sources)
    tables: dict[Symbol, Array] = dict(before.tables)
    for symbol, (variables, value) in made.changes.items():
        if not symbols_of(value).isdisjoint(transition.choices):
            raise TemporalError(f"{transition.name} chooses a whole relation or function at once")
        axes = max(2, 1 + len(variables))
        inner = {v: array.reshape(-1, *[1] * (axes - 1)) for v, array in values.items()}
        inner |= grid(variables, sizes, 1, axes)
        after = before.evaluate(value, inner)
        old = before.tables[symbol]
        wanted = (len(sources), *old.shape[1:])
        tables[symbol] = numpy.broadcast_to(after.reshape(after.shape[: len(wanted)]), wanted).astype(old.dtype)
    bound = {p: values[v] for p, v in zip(transition.parameters, made.variables, strict=False)}
    return Moves(transition, sources, bound, with_derived(model, States(sizes, len(sources), tables)))


def _plain_moves(instance: Instance, reference: Reference, transition: Transition, rows: Array) -> Moves:
    source: list[int] = []
    bindings: list[tuple[int, ...]] = []
    after: list[tuple[int, ...]] = []
    for number, row in enumerate(rows):
        seen = set()
        for (state, world), rule, _ in reference.successors((tuple(int(v) for v in row[:-1]), int(row[-1]))):
            made = instance.system.rules[rule]
            if made.name == transition.name and (made.bindings, state) not in seen:
                seen.add((made.bindings, state))
                source.append(number)
                bindings.append(made.bindings)
                after.append((*state, world))
    columns = numpy.array(bindings, numpy.intp).reshape(len(bindings), len(transition.parameters))
    values = {parameter: columns[:, i] for i, parameter in enumerate(transition.parameters)}
    packed = numpy.array(after, rows.dtype).reshape(len(after), rows.shape[1])
    return Moves(transition, numpy.array(source, numpy.intp), values, from_instance(instance, packed))


def to_rows(instance: Instance, states: States, worlds: Array) -> Array:
    """States back in the form of `Instance.states`."""
    columns = [
        numpy.broadcast_to(states.tables[symbol], (states.count, *states.tables[symbol].shape[1:])).reshape(
            states.count, prod(states.tables[symbol].shape[1:])
        )
        for symbol in instance.model.state_symbols
    ]
    return numpy.concatenate([*columns, worlds.reshape(-1, 1)], axis=1)


@dataclass(frozen=True)
class StateGraph:
    """Every reachable state of an instance, and every step.  Edges are listed by transition."""

    instance: Instance
    rows: Array
    states: States
    moves: list[Moves]
    source: Array
    target: Array
    kind: Array
    """The number of the transition of each edge."""

    @staticmethod
    def of(instance: Instance, most: int) -> StateGraph | None:
        """The graph of an instance, None if it has no states; raises `TooManyStates` if it has more than `most`."""
        rows = reachable_rows(instance, most, symmetry=False)
        if not len(rows):
            return None
        rows = rows.astype(numpy.uint32)
        states = from_instance(instance, rows)
        listed = []
        reference: Reference | None = None
        for transition in instance.model.transitions:
            try:
                listed.append(_moves(instance.model, states, transition))
            except TemporalError:
                reference = reference or Reference(instance.system)
                listed.append(_plain_moves(instance, reference, transition, rows))
        index = {row.tobytes(): number for number, row in enumerate(rows)}
        sources, targets, kinds = [], [], []
        for number, item in enumerate(listed):
            after = to_rows(instance, item.after, rows[item.source, -1]).astype(numpy.uint32)
            sources.append(item.source)
            targets.append(numpy.array([index[row.tobytes()] for row in after], numpy.intp))
            kinds.append(numpy.full(len(item.source), number))
        empty = [numpy.zeros(0, numpy.intp)]
        return StateGraph(
            instance,
            rows,
            states,
            listed,
            numpy.concatenate(sources or empty).astype(numpy.intp),
            numpy.concatenate(targets or empty).astype(numpy.intp),
            numpy.concatenate(kinds or empty),
        )

    @cached_property
    def starts(self) -> list[int]:
        """The first edge of each transition."""
        return [0, *numpy.cumsum([len(item.source) for item in self.moves]).tolist()]

    def initial(self) -> Array:
        """Which states are initial."""
        chosen = numpy.ones(self.states.count, bool)
        for item in self.instance.model.initial:
            chosen &= holds(self.states, item.formula, ())[:, 0]
        return chosen

    def taken(self, fairness: Fairness) -> Array:
        """Whether an assumption happens by an edge: edges along the first axis, values of its variables along the second."""
        width = prod(len(domain(v.sort, self.states.sizes)) for v in fairness.variables)
        result = numpy.zeros((len(self.source), width), bool)
        env = assignments(fairness.variables, self.states.sizes)
        for number, item in enumerate(self.moves):
            if item.transition.name != fairness.transition or not len(item.source):
                continue
            happens = numpy.ones((len(item.source), width), bool)
            before = self.states.where(item.source)
            for parameter, argument in zip(item.transition.parameters, fairness.arguments, strict=True):
                if argument is not None:
                    wanted = numpy.broadcast_to(before.evaluate(argument, env), (before.count, width))
                    happens &= wanted == item.values[parameter].reshape(-1, 1)
            result[self.starts[number] : self.starts[number + 1]] = happens
        return result

    def enabled(self, fairness: Fairness) -> Array:
        """Whether an assumption is enabled: states along the first axis, values of its variables along the second."""
        return holds(self.states, enabled(self.instance.model, fairness), fairness.variables)

    def happens_in_state(self, fairness: Fairness) -> Array:
        return holds(self.states, happens_in_state(fairness), fairness.variables)
