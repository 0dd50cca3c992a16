"""The twin of Mercury beside the plain semantics, the explicit engine and the relational form: every difference is told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from random import Random

from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import Reference, ReferenceSearch
from quorate.logic.structures import Evaluator, Structure, argument_tuples
from quorate.logic.terms import BOOL
from quorate.models.forms import NoForm, relational_form
from quorate.models.process import If, ProcessModel, Send, Statement
from quorate.models.process_counting import AllSizes
from quorate.models.process_names import CRASHED
from quorate.models.process_semantics import UNDEFINED, Local, ProcessSemantics, State
from quorate.models.process_steps import Point, ProcessSteps
from quorate.models.relational import RelationalModel
from quorate.proof.twins import Move, twins
from quorate.proof.twins.choices import every
from quorate.proof.twins.mercury import MercuryTwin, _Process
from quorate.proof.twins.mercury_text import bound


def twin_of(model: ProcessModel, processes: int) -> MercuryTwin | None:
    """The twin with so many processes, if there is one."""
    found = next((twin for twin in twins(model) if twin.size == f"processes={processes}"), None)
    assert found is None or isinstance(found, MercuryTwin)
    return found


def steps(twin: MercuryTwin, state: object) -> list[tuple[Move, object]]:
    return list(every(partial(twin.step, state)))


class Plain:
    """States of a twin as states of the plain semantics."""

    def __init__(self, model: ProcessModel, twin: MercuryTwin) -> None:
        self.model, self.twin = model, twin
        self.pending: dict[tuple[str, int], tuple[Statement, ...]] = {}
        for location, handler in model.handlers:
            for body in (handler.body, handler.lose or ()):
                self._follow(location.name, body, ())

    def _follow(self, location: str, body: tuple[Statement, ...], after: tuple[Statement, ...]) -> None:
        for place, statement in enumerate(body):
            rest = body[place + 1 :] + after
            if isinstance(statement, If):
                self._follow(location, statement.then, rest)
                self._follow(location, statement.otherwise, rest)
            elif isinstance(statement, Send):
                assert statement.span is not None
                self.pending[location, statement.span.start] = (statement, *rest)

    def __call__(self, state: tuple[_Process, ...]) -> State:
        return tuple(map(self._local, state))

    def _local(self, process: _Process) -> Local:
        values = tuple(
            self._value(variable.kind, process.values[self.twin.text.index[variable.name]])
            for variable in self.model.all_variables
        )
        if process.location is None:
            return Local(CRASHED, (), values)
        waits = () if process.waits is None else self.pending[process.location, process.waits]
        return Local(process.location, waits, values)

    def _value(self, kind: str, value: object) -> int:
        if kind == "id":
            return UNDEFINED if value is None else value
        return sum(1 << member for member in value) if kind == "set" else value


def reached(twin: MercuryTwin, most: int) -> dict[object, list[tuple[Move, object]]] | None:
    """All states of a twin with their steps; None if there are too many."""
    found: dict[object, list[tuple[Move, object]]] = {}
    todo = list(every(twin.start))
    while todo:
        state = todo.pop()
        if state not in found:
            found[state] = steps(twin, state)
            todo += [after for _, after in found[state]]
            if len(found) > most:
                return None
    return found


def scattered(model: ProcessModel, twin: MercuryTwin, random: Random, count: int) -> list[object]:
    """States that need not be reached: everything that one process may look like, put together at random."""
    points = ProcessSteps(model).points
    known = Plain(model, twin).pending.items()
    waiting = [key for key, left in known if Point(key[0], left) in points]
    found = []
    for _ in range(count):
        alive = [i for i in range(twin.processes) if random.random() < 0.9]
        state = []
        for me in range(twin.processes):
            if me not in alive:
                state.append(_Process(None, None, twin.first, twin.ghosts))
                continue
            place, waits = random.choice(model.locations).name, None
            if waiting and random.random() < 0.3:
                place, waits = random.choice(waiting)
            values = []
            for name, first in zip(twin.text.names, twin.first, strict=True):
                kept = "." not in name or name in twin.text.lasting or waits is not None
                values.append(_any_value(twin, name, alive, random) if kept else first)
            state.append(_Process(place, waits, tuple(values), twin.ghosts))
        found.append(tuple(state))
    return found


def _any_value(twin: MercuryTwin, name: str, alive: list[int], random: Random) -> object:
    kind = twin.text.kind(name)
    if kind == "set":
        return frozenset(i for i in alive if random.random() < 0.6)
    if kind == "id":
        return random.choice([None, *range(twin.processes)])
    low, high = (bound(end, twin.processes) for end in twin.text.bounds(name))
    return random.randint(low, high)


def semantics_differ(model: ProcessModel, processes: int, most: int, random: Random | None = None) -> Iterator[str]:
    """Where twin and plain semantics disagree on first states, steps, properties, or the number of states."""
    twin = twin_of(model, processes)
    if twin is None:
        return
    plain, semantics = Plain(model, twin), ProcessSemantics(model, processes)
    if {plain(state) for state in every(twin.start)} != {semantics.initial}:
        yield "first states differ"
    if random is not None:
        states = scattered(model, twin, random, most)
        yield from _steps_differ(model, twin, {state: steps(twin, state) for state in states})
        return
    graph = reached(twin, most)
    if graph is None:
        return
    yield from _steps_differ(model, twin, graph)
    mine, instance = {plain(state) for state in graph}, ProcessInstance(model, processes)
    search = ReferenceSearch(Reference(instance.system))
    search.begin()
    search.run(float("inf"))
    theirs = {instance.state(fields) for fields, _ in search.seen}
    if mine != theirs:
        yield f"the twin has {len(mine)} states, the engine {len(theirs)}, {len(mine & theirs)} of them are the same"


def _steps_differ(
    model: ProcessModel, twin: MercuryTwin, graph: dict[object, list[tuple[Move, object]]]
) -> Iterator[str]:
    plain, semantics = Plain(model, twin), ProcessSemantics(model, twin.processes)
    for state, found in graph.items():
        before = plain(state)
        expected = {after for _, after in semantics.successors(before)}
        moves = {plain(after): move for move, after in found}
        if not expected <= moves.keys():
            yield f"the twin lacks a step from\n{twin.show(state)}"
        for after in moves.keys() - expected:
            if "crashed" not in moves[after].arguments or after not in _then_crashed(semantics, expected):
                yield f"the twin has a step of its own, {moves[after]}, from\n{twin.show(state)}"
        wrong = {item.name for item in model.safety if not semantics.holds(item.specification, before)}
        if wrong != set(twin.falsified(state)):
            yield f"the properties {sorted(wrong)} and {twin.falsified(state)} are false in\n{twin.show(state)}"


def _then_crashed(semantics: ProcessSemantics, states: set[State]) -> set[State]:
    """The states after some more crashes."""
    found, todo = set(states), list(states)
    while todo:
        for step, after in semantics.successors(todo.pop()):
            if step.kind == "crash" and after not in found:
                found.add(after)
                todo.append(after)
    return found


Key = tuple[tuple[object, ...], ...]


class Form:
    """The relational form with so many processes: the states after each step, by brute force."""

    def __init__(self, form: RelationalModel, processes: int) -> None:
        self.form = form
        self.sizes = {form.sorts[0]: processes}
        self.evaluator = Evaluator(self.sizes)
        self.arguments = {symbol: list(argument_tuples(symbol.arguments, self.sizes)) for symbol in form.symbols}

    def key(self, structure: Structure) -> Key:
        return tuple(tuple(structure.tables[s][args] for args in self.arguments[s]) for s in self.form.symbols)

    def holds(self, formula: object, structure: Structure) -> bool:
        return bool(self.evaluator.compile(formula)(structure, {}))

    def choices(self) -> int:
        """In how many ways a step can be taken, at most."""
        size = next(iter(self.sizes.values()))
        return max(
            (size ** len(t.parameters) * 2 ** sum(size for _ in t.choices) for t in self.form.transitions), default=0
        )

    def successors(self, before: Structure) -> set[Key]:
        found = set()
        for transition in self.form.transitions:
            domains = [range(self.sizes[p.sort]) for p in transition.parameters]
            cells = [(s, args) for s in transition.choices for args in argument_tuples(s.arguments, self.sizes)]
            assert all(symbol.sort is BOOL for symbol, _ in cells)
            guard = self.evaluator.compile(transition.guard)
            for values in product((False, True), repeat=len(cells)):
                tables = dict(before.tables)
                for symbol in transition.choices:
                    tables[symbol] = {args: v for (s, args), v in zip(cells, values, strict=True) if s is symbol}
                extended = Structure(self.sizes, tables)
                for arguments in product(*domains):
                    bindings = dict(zip(transition.parameters, arguments, strict=True))
                    if guard(extended, dict(bindings)):
                        found.add(self.key(self._after(transition.updates, extended, bindings, before)))
        return found

    def _after(self, updates, extended, bindings, before) -> Structure:
        tables = {symbol: before.tables[symbol] for symbol in self.form.symbols}
        for update in updates:
            value = self.evaluator.compile(update.value)
            tables[update.symbol] = {
                args: value(extended, {**bindings, **dict(zip(update.variables, args, strict=True))})
                for args in self.arguments[update.symbol]
            }
        return Structure(self.sizes, tables)


def form_differs(
    model: ProcessModel, processes: int, most: int, random: Random | None = None, ways: int = 600
) -> Iterator[str]:
    """Where a step of the twin is none of the relational form, or formulas disagree with the twin."""
    twin = twin_of(model, processes)
    try:
        form = Form(relational_form(model), processes)
    except NoForm:
        return
    if twin is None or form.choices() > ways:
        return
    exact = AllSizes(model).exact
    tight = exact and not any(handler.event.__class__.__name__ == "Consensus" for _, handler in model.handlers)
    first = next(every(twin.start))
    for item in (*form.form.background(), *form.form.initial):
        if not form.holds(item.formula, twin.structure(first)):
            yield f"“{item.name}” does not hold at first"
    states = [first] if random is None or twin.text.counters else scattered(model, twin, random, most)
    seen = set(states)
    # Whatever is reached from them is appended below, and looked at in turn.
    for number, state in enumerate(states):
        if number == most:
            return
        structure = twin.structure(state)
        for item in form.form.safety:
            said, meant = form.holds(item.formula, structure), item.name not in twin.falsified(state)
            if (said and not meant) or (exact and said != meant):
                yield f"the form says that {item.name} is {said} in\n{twin.show(state)}"
        after = form.successors(structure)
        mine = set()
        for move, following in steps(twin, state):
            key = form.key(twin.structure(following))
            mine.add(key)
            if key not in after and "crashed" not in move.arguments:
                yield f"{move} is no step of the form from\n{twin.show(state)}\nto\n{twin.show(following)}"
            if following not in seen:
                seen.add(following)
                states.append(following)
        if tight and not after <= mine | {form.key(structure)}:
            yield f"the form has a step of its own from\n{twin.show(state)}"
