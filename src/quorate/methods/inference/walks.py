"""Random runs of an instance, many at a time: samples of sizes for which no program would be worth compiling.

All runs take a step at once: the guard of a transition is evaluated for every state and every value of its parameters in
one go (`states`).  Where that would find few steps, a solver looks for them, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from random import Random

import numpy

from quorate.logic.structures import cases, domain
from quorate.logic.terms import BOOL, Sort
from quorate.logic.transform import symbols_of
from quorate.methods.inference.questions import Grounds, Question
from quorate.methods.inference.states import Array, States, grid, shape, with_derived
from quorate.models.relational import RelationalModel, Transition

WORLDS, RUNS, SOLVED = 16, 12, 1
"""How many initial states there are, with their own orders, quorums and so on, and how many runs start
from each, or how many where a solver finds the steps."""
MOST_CASES = 400_000
"""How often a guard may be evaluated at once."""


def walks(grounds: Grounds, sizes: Mapping[Sort, int], steps: int, seed: int) -> States | None:
    """The states of random runs; None if there is no initial state of these sizes."""
    model = grounds.model
    start = _initial_states(grounds, sizes, Random(seed))
    if start is None:
        return None
    if any(_is_rare(transition, sizes) for transition in model.transitions):
        return _joined(model, list(_solved_runs(grounds, start, steps, Random(seed))))
    generator = numpy.random.default_rng(seed)
    states = start.where(numpy.repeat(numpy.arange(start.count), RUNS))
    seen = [states]
    for _ in range(steps if model.transitions else 0):
        states = _step(model, states, generator)
        seen.append(states)
    return _joined(model, seen)


def _is_rare(transition: Transition, sizes: Mapping[Sort, int]) -> bool:
    """Whether values at random would hardly ever satisfy the guard: it restricts choices, or there are too many values."""
    values = prod(len(domain(p.sort, sizes)) for p in transition.parameters) * cases(transition.guard, sizes)
    return not symbols_of(transition.guard).isdisjoint(transition.choices) or RUNS * WORLDS * values > 50 * MOST_CASES


def _solved_runs(grounds: Grounds, start: States, steps: int, random: Random) -> Iterator[States]:
    """The states of runs whose steps a solver finds: a few from every initial state."""
    questions = [Question(grounds(start.sizes, transition)) for transition in grounds.model.transitions]
    for number in [number for number in range(start.count) for _ in range(SOLVED)]:
        state = start.where(numpy.array([number]))
        yield state
        untried = list(questions)
        for _ in range(steps):
            if not untried:
                break
            question = untried.pop(random.randrange(len(untried)))
            question.shuffle(random)
            if question.solve(1, fixed=question.fixed(state, {}, False)):
                state, untried = question.read(True)[0], list(questions)
                yield state


def _initial_states(grounds: Grounds, sizes: Mapping[Sort, int], random: Random) -> States | None:
    question = Question(grounds(sizes), [item.formula for item in grounds.model.initial])
    found = []
    for _ in range(WORLDS):
        question.shuffle(random)
        if not question.solve(1):
            return None
        found.append(question.read(False)[0])
    tables = {symbol: numpy.concatenate([state.tables[symbol] for state in found]) for symbol in found[0].tables}
    return States(sizes, len(found), tables)


def _step(model: RelationalModel, states: States, generator: numpy.random.Generator) -> States:
    """Every run takes a step that it can take, if there is one: first a transition is chosen, then its parameters."""
    count = states.count
    choices = [_choices(transition, states, generator) for transition in model.transitions]
    enabled = [_enabled(t, part, generator) for t, part in zip(model.transitions, choices, strict=True)]
    odds = numpy.array([number >= 0 for number in enabled]) * generator.random((len(enabled), count))
    chosen = odds.argmax(axis=0)
    tables = {symbol: table.copy() if symbol.mutable else table for symbol, table in states.tables.items()}
    for number, transition in enumerate(model.transitions):
        mine = numpy.flatnonzero((chosen == number) & (enabled[number] >= 0))
        if not len(mine):
            continue
        before = choices[number].where(mine)
        sizes = [len(domain(p.sort, states.sizes)) for p in transition.parameters]
        values = numpy.unravel_index(enabled[number][mine], sizes) if sizes else ()
        for update in transition.updates:
            axes = max(2, 1 + len(update.variables))
            env = {
                p: value.reshape(-1, *[1] * (axes - 1)) for p, value in zip(transition.parameters, values, strict=True)
            }
            env |= grid(update.variables, states.sizes, 1, axes)
            after = before.evaluate(update.value, env)
            table = tables[update.symbol]
            wanted = len(mine), *table.shape[1:]
            table[mine] = numpy.broadcast_to(after.reshape(after.shape[: len(wanted)]), wanted)
    return with_derived(model, States(states.sizes, count, tables))


def _choices(transition: Transition, states: States, generator: numpy.random.Generator) -> States:
    """The states with random values for what the step leaves open."""
    tables = dict(states.tables)
    for symbol in transition.choices:
        sizes = (states.count, *shape(symbol, states.sizes))
        if symbol.sort is BOOL:
            tables[symbol] = generator.random(sizes) < 0.5
        else:
            most = states.sizes.get(symbol.sort, len(symbol.sort.elements))
            tables[symbol] = generator.integers(0, most, sizes)
    return States(states.sizes, states.count, tables)


def _enabled(transition: Transition, states: States, generator: numpy.random.Generator) -> Array:
    """For every state the number of some values of the parameters for which the guard holds; -1 if none were found.

    Where there are too many values, some are tried at random.
    """
    sizes = [len(domain(p.sort, states.sizes)) for p in transition.parameters]
    most = MOST_CASES // (states.count * cases(transition.guard, states.sizes))
    numbers = numpy.arange(prod(sizes))
    if len(numbers) <= most:
        axes = max(2, 1 + len(sizes))
        holds = states.evaluate(transition.guard, grid(transition.parameters, states.sizes, 1, axes))
        holds = numpy.broadcast_to(holds, (states.count, *(sizes or [1])))
    else:
        numbers = generator.integers(0, prod(sizes), max(1, most))
        env = dict(zip(transition.parameters, numpy.unravel_index(numbers, sizes), strict=True))
        holds = numpy.broadcast_to(states.evaluate(transition.guard, env), (states.count, len(numbers)))
    holds = holds.reshape(states.count, -1)
    best = (holds * generator.random(holds.shape, numpy.float32)).argmax(axis=1)
    return numpy.where(holds[numpy.arange(states.count), best], numbers[best], -1)


def _joined(model: RelationalModel, parts: list[States]) -> States:
    tables = {s: numpy.concatenate([part.tables[s] for part in parts]) for s in parts[0].tables}
    columns = [tables[symbol].reshape(len(tables[symbol]), -1) for symbol in model.symbols]
    rows = numpy.concatenate([column.astype(numpy.uint8) for column in columns], axis=1)
    first = {row.tobytes(): number for number, row in reversed(list(enumerate(rows)))}
    chosen = numpy.array([first[row] for row in sorted(first)])
    return States(parts[0].sizes, len(chosen), {s: table[chosen] for s, table in tables.items()})
