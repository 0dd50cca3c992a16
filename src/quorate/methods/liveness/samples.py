"""Steps of small instances that a run could take forever, as arrays: what the stages of a proof are tried on.

A pair is a step together with values of the property's variables, such that the property waits before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import BOOL, Sort, Symbol, Term, Var, exists
from quorate.methods.inference.questions import Grounded, Grounds, Question
from quorate.methods.inference.states import Array, States
from quorate.methods.inference.walks import walks
from quorate.methods.liveness.graph import assignments, holds, moves
from quorate.models.relational import Fairness, Liveness, RelationalModel
from quorate.models.temporal import pending

SIZES, STEPS = ((2, 3), (3, 4), (4, 5)), 60
"""The sizes, of ordered sorts the second ones, and how many steps the runs have."""
LARGEST = 5
FEW = 150
WILD = 60
"""How many states at random."""
MOST_FACTS = 12
"""How much of a state is told."""
MOST_STATES, MOST_PAIRS, MOST_ELEMENTS = 1_200, 600, 450


@dataclass(frozen=True)
class Pairs:
    """Pairs of one size: the states before and after, the values of the property's variables, and what each step does."""

    sizes: Mapping[Sort, int]
    before: States
    after: States
    own: Mapping[Var, Array]
    kind: Array
    bindings: Mapping[tuple[int, Var], Array]
    """The value of a transition's parameter in each pair; whatever, where the pair is of another transition."""

    @property
    def count(self) -> int:
        return self.before.count

    def evaluate(self, formula: Term, variables: Sequence[Var], after: bool) -> Array:
        """Truth values, pairs along the first axis and values of the variables along the second."""
        states = self.after if after else self.before
        width = prod(len(domain(v.sort, self.sizes)) for v in variables)
        env: dict[Var, Array] = {v: a.reshape(1, -1) for v, a in assignments(variables, self.sizes).items()}
        env |= {variable: values.reshape(-1, 1) for variable, values in self.own.items()}
        return numpy.broadcast_to(states.evaluate(formula, env), (self.count, width)).astype(bool)

    def text(self, model: RelationalModel, place: int) -> str:
        """A pair in words: the step, the values of the property's variables, and what holds before it."""

        def element(sort: Sort, value: int) -> str:
            return sort.elements[value] if sort.elements else f"{sort.name}{value}"

        number = int(self.kind[place])
        transition = model.transitions[number]
        given = [element(p.sort, int(self.bindings[number, p][place])) for p in transition.parameters]
        named = [f"{v.name} = {element(v.sort, int(array[place]))}" for v, array in self.own.items()]
        facts = []
        for symbol in model.state_symbols:
            table = numpy.broadcast_to(self.before.tables[symbol], (self.count, *self.before.tables[symbol].shape[1:]))[
                place
            ]
            for index in product(*(range(size) for size in table.shape)):
                arguments = ", ".join(element(sort, i) for sort, i in zip(symbol.arguments, index, strict=True))
                value = table[index]
                term = f"{symbol.name}({arguments})" if arguments else symbol.name
                if symbol.sort is not BOOL:
                    facts.append(f"{term} = {element(symbol.sort, int(value))}")
                elif value:
                    facts.append(term)
        shown = ", ".join(facts[:MOST_FACTS]) + (", …" if len(facts) > MOST_FACTS else "")
        step = f"{transition.name}({', '.join(given)})"
        return f"{step}{' with ' if named else ''}{', '.join(named)}, where {shown or 'nothing'} holds"

    def taken(self, model: RelationalModel, fairness: Fairness) -> Array:
        """Whether an assumption happens by the step, for all values of its variables."""
        width = prod(len(domain(v.sort, self.sizes)) for v in fairness.variables)
        result = numpy.zeros((self.count, width), bool)
        if fairness.transition is None:
            return result
        number = next(i for i, t in enumerate(model.transitions) if t.name == fairness.transition)
        result[self.kind == number] = True
        if not result.any():
            return result
        env: dict[Var, Array] = {v: a.reshape(1, -1) for v, a in assignments(fairness.variables, self.sizes).items()}
        for parameter, argument in zip(model.transitions[number].parameters, fairness.arguments, strict=True):
            if argument is not None:
                wanted = numpy.broadcast_to(self.before.evaluate(argument, env), result.shape)
                result &= wanted == self.bindings[number, parameter].reshape(-1, 1)
        return result


@dataclass
class Samples:
    """Reachable states of several sizes, and the pairs among them."""

    model: RelationalModel
    item: Liveness
    orders: Mapping[Sort, Symbol] = field(default_factory=dict)
    states: list[States] = field(default_factory=list)
    pairs: list[Pairs] = field(default_factory=list)
    few: list[States] = field(default_factory=list)
    """Some of the states: most formulas that do not hold in all fail in one of these."""
    known: dict[Term, bool] = field(default_factory=dict)
    wild: list[Pairs] = field(default_factory=list)
    """Pairs from states that need not be reachable: what breaks in none of them needs no invariants."""

    def add(self, states: States, random: Random) -> None:
        self.states.append(states)
        self.few.append(states.choose(random, FEW))
        found = pairs_of(self.model, self.item, states, random)
        if found is not None:
            self.pairs.append(found)

    def learn(self, state: States) -> None:
        """One more state, which claims have to hold in."""
        self.few.append(state)
        self.known = {formula: holds for formula, holds in self.known.items() if not holds}

    def include(self, formula: Term, random: Random) -> None:
        """Pairs from some of the states in which a closed formula does not hold."""
        for states in self.states:
            wrong = ~numpy.broadcast_to(states.evaluate(formula, {}), (states.count, 1))[:, 0]
            found = pairs_of(self.model, self.item, states.choose(random, FEW, wrong), random) if wrong.any() else None
            if found is not None:
                self.pairs.append(found)

    def holds(self, formula: Term) -> bool:
        """Does a closed formula hold in all states?"""
        if formula not in self.known:
            listed = (*self.few, *self.states)
            self.known[formula] = all(bool(states.evaluate(formula, {}).all()) for states in listed)
        return self.known[formula]


def collect(model: RelationalModel, item: Liveness, orders: Mapping[Sort, Symbol], seed: int) -> Samples:
    """States of random runs, for a few sizes."""
    samples, random = Samples(model, item, orders), Random(seed)
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    most = largest_sizes(model, orders)
    for size, ordered in SIZES:
        sizes = {sort: min(most[sort], ordered if sort in orders else size) for sort in sorts}
        if prod(sizes.values()) > MOST_ELEMENTS:
            continue
        found = walks(Grounds(model, orders), sizes, STEPS, seed)
        if found is not None:
            samples.add(found.choose(random, MOST_STATES), random)
    sizes = {sort: min(most[sort], 3 if sort in orders else 2) for sort in sorts}
    anywhere = _any_states(model, item, sizes, orders, random)
    pairs = pairs_of(model, item, anywhere, random) if anywhere is not None else None
    if pairs is not None:
        samples.wild.append(pairs)
    return samples


def largest_sizes(model: RelationalModel, orders: Mapping[Sort, Symbol]) -> dict[Sort, int]:
    """How large each sort may be, up to a few elements: the axioms may say that there are two bits."""
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    found = {}
    for sort in sorts:
        others = (dict.fromkeys(sorts, size) for size in (2, 1, 3))
        start = next(
            (sizes for sizes in others if Question(Grounded(model, sizes, orders)).solve(1)), dict.fromkeys(sorts, 2)
        )
        feasible = [n for n in range(1, LARGEST + 1) if Question(Grounded(model, {**start, sort: n}, orders)).solve(1)]
        found[sort] = max(feasible, default=2)
    return found


def _any_states(
    model: RelationalModel, item: Liveness, sizes: Mapping[Sort, int], orders: Mapping[Sort, Symbol], random: Random
) -> States | None:
    """States at random in which the property waits."""
    question = Question(Grounded(model, sizes, orders), [exists(item.variables, pending(item))])
    found = []
    for _ in range(WILD):
        question.shuffle(random)
        if not question.solve(1):
            return None
        found.append(question.read(False)[0])
    return _joined(found)


def pairs_of(model: RelationalModel, item: Liveness, states: States, random: Random) -> Pairs | None:
    """The pairs that begin in the states, or some of them at random."""
    parts: list[tuple[States, States, Array, int, Mapping[Var, Array]]] = []
    waits = holds(states, pending(item), item.variables)
    for number, move in enumerate(moves(model, states)):
        if not len(move.source):
            continue
        still = holds(move.after, pending(item), item.variables)
        edges, values = numpy.nonzero(waits[move.source] & still)
        if len(edges) > MOST_PAIRS:
            chosen = numpy.array(sorted(random.sample(range(len(edges)), MOST_PAIRS)))
            edges, values = edges[chosen], values[chosen]
        if len(edges):
            bound = {parameter: array[edges] for parameter, array in move.values.items()}
            parts.append((states.where(move.source[edges]), move.after.where(edges), values, number, bound))
    if not parts:
        return None
    grid = assignments(item.variables, states.sizes)
    chosen_values = numpy.concatenate([part[2] for part in parts])
    kind = numpy.concatenate([numpy.full(len(part[2]), part[3]) for part in parts])
    bindings: dict[tuple[int, Var], Array] = {}
    for *_, number, given in parts:
        for parameter, array in given.items():
            full = numpy.zeros(len(kind), numpy.intp)
            full[kind == number] = array
            bindings[number, parameter] = full
    return Pairs(
        states.sizes,
        _joined([part[0] for part in parts]),
        _joined([part[1] for part in parts]),
        {variable: array[chosen_values] for variable, array in grid.items()},
        kind,
        bindings,
    )


def _joined(parts: Sequence[States]) -> States:
    count = sum(part.count for part in parts)
    tables = {
        symbol: numpy.concatenate(
            [numpy.broadcast_to(part.tables[symbol], (part.count, *part.tables[symbol].shape[1:])) for part in parts]
        )
        for symbol in parts[0].tables
    }
    return States(parts[0].sizes, count, tables)
