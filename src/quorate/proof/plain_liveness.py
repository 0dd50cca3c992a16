"""Liveness on the states of a twin: does a fair run of a small instance starve?

Everything is decided from the definitions, on the graph of all states of an instance.  A run violates `trigger(V) ~> goal(V)` if
it reaches a state in which the trigger holds, and from then on the goal never does; and if it ends there, because no step can be
taken, or goes on forever and is fair.  A set of states that a run visits again and again is strongly connected, and it is fair if
for every assumption, and every value of its variables, what it waits for happens in the set, or

    weak       it is not enabled in some state of the set,
    strong     it is enabled in no state of the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from quorate.logic.structures import EvaluationError, Evaluator, Structure, Value, domain
from quorate.logic.terms import Term, Var
from quorate.models.relational import Fairness, Liveness, RelationalModel
from quorate.models.temporal import all_fairness
from quorate.proof.twins import Move, State, Twin
from quorate.proof.twins.choices import Choices


@dataclass
class Graph:
    """The states of a twin that are known, and the steps between them."""

    twin: Twin
    states: list[State] = field(default_factory=list)
    steps: dict[State, list[tuple[Move, State]]] = field(default_factory=dict)
    _parents: dict[State, tuple[State, Move] | None] = field(default_factory=dict)

    def add(self, state: State, before: State | None = None, move: Move | None = None) -> bool:
        """Note a state, and the step that leads to it; was it unknown?"""
        is_new = state not in self._parents
        if is_new:
            self._parents[state] = None if move is None else (before, move)
            self.states.append(state)
            self.steps[state] = []
        if move is not None:
            self.steps[before].append((move, state))
        return is_new

    def path(self, state: State) -> list[tuple[Move | None, State]]:
        """A run to a state: each state with the move that leads to it."""
        found: list[tuple[Move | None, State]] = []
        parent = self._parents[state]
        while parent is not None:
            found.append((parent[1], state))
            state = parent[0]
            parent = self._parents[state]
        return [(None, state), *reversed(found)]


class Monitored(Twin):
    """A twin with a relation beside it that remembers which triggers still wait for their goals (`liveness.monitored`)."""

    def __init__(self, twin: Twin, item: Liveness, watched: Liveness) -> None:
        self.twin, self.item = twin, item
        self.waits = watched.trigger.symbol  # type: ignore[attr-defined]
        self.size, self.properties = twin.size, twin.properties

    def start(self, choices: Choices) -> State:
        state = self.twin.start(choices)
        return state, self._waiting(state, frozenset())

    def step(self, state: State, choices: Choices) -> tuple[Move, State]:
        before, waiting = _parts(state)
        move, after = self.twin.step(before, choices)
        return move, (after, self._waiting(after, waiting))

    def _waiting(self, state: State, before: frozenset[tuple[Value, ...]]) -> frozenset[tuple[Value, ...]]:
        structure = self.twin.structure(state)
        assert structure is not None
        found = set()
        for values in _values(self.item.variables, structure):
            key = tuple(values.values())
            if not structure.holds(self.item.goal, values) and (
                key in before or structure.holds(self.item.trigger, values)
            ):
                found.add(key)
        return frozenset(found)

    def falsified(self, state: State) -> tuple[str, ...]:
        return self.twin.falsified(_parts(state)[0])

    def structure(self, state: State) -> Structure | None:
        inner, waiting = _parts(state)
        plain = self.twin.structure(inner)
        assert plain is not None
        table = {
            tuple(values.values()): tuple(values.values()) in waiting for values in _values(self.item.variables, plain)
        }
        return Structure(plain.sizes, {**plain.tables, self.waits: table})

    def show(self, state: State) -> str:
        return self.twin.show(_parts(state)[0])


def _parts(state: State) -> tuple[State, frozenset[tuple[Value, ...]]]:
    assert isinstance(state, tuple)
    return state


def _values(variables: Sequence[Var], structure: Structure) -> Iterator[dict[Var, Value]]:
    for values in product(*(domain(variable.sort, structure.sizes) for variable in variables)):
        yield dict(zip(variables, values, strict=True))


def starving_run(model: RelationalModel, item: Liveness, graph: Graph) -> str | None:
    """In words, that a fair run of an instance violates a liveness property; None if there is none, or it cannot be told."""
    try:
        return _Starving(model, item, graph).found()
    except EvaluationError:
        return None


class _Starving:
    def __init__(self, model: RelationalModel, item: Liveness, graph: Graph) -> None:
        self.model, self.item, self.graph = model, item, graph
        self.all = set(graph.states)
        self.structures: dict[State, Structure] = {}
        for state in graph.states:
            structure = graph.twin.structure(state)
            assert structure is not None
            self.structures[state] = structure
        self.sample = next(iter(self.structures.values()), None)
        self.evaluator = Evaluator(self.sample.sizes if self.sample else {})

    def holds(self, formula: Term, state: State, values: Mapping[Var, Value]) -> bool:
        return bool(self.evaluator.compile(formula)(self.structures[state], dict(values)))

    def found(self) -> str | None:
        if self.sample is None:
            return None
        for values in _values(self.item.variables, self.sample):
            waiting = [state for state in self.graph.states if not self.holds(self.item.goal, state, values)]
            starts = [state for state in waiting if self.holds(self.item.trigger, state, values)]
            reached = self.reachable(starts, set(waiting))
            stuck = next((state for state in reached if not self.graph.steps[state]), None)
            if stuck is not None:
                return f"{self.item.name} is false: a run ends before its goal is reached"
            if self.fair_part(reached):
                return f"{self.item.name} is false: a fair run goes on forever without reaching its goal"
        return None

    def reachable(self, starts: Iterable[State], within: set[State]) -> set[State]:
        found, stack = set(starts), list(starts)
        while stack:
            for _, after in self.graph.steps[stack.pop()]:
                if after in within and after not in found:
                    found.add(after)
                    stack.append(after)
        return found

    def fair_part(self, states: set[State]) -> bool:
        """Can a fair run stay among these states forever?"""
        work = [states]
        while work:
            for part in self.components(work.pop()):
                broken = self.broken(part)
                if broken is None:
                    return True
                if broken < part:
                    work.append(part - broken)
        return False

    def broken(self, part: set[State]) -> set[State] | None:
        """The states that a fair run cannot visit again and again if it stays in this component; None if it is fair."""
        for item in all_fairness(self.model, self.item):
            assert self.sample is not None
            for values in _values(item.variables, self.sample):
                ready = {state for state in part if self.enabled(item, values, state)}
                waits = bool(ready) if item.strong else ready == part
                if waits and not any(self.happens(item, values, state, part) for state in part):
                    return ready
        return None

    def enabled(self, item: Fairness, values: Mapping[Var, Value], state: State) -> bool:
        """Could what an assumption waits for happen now?"""
        if not self.holds(item.when, state, values):
            return False
        return item.transition is None or self.takes(item, values, state, self.all)

    def happens(self, item: Fairness, values: Mapping[Var, Value], state: State, part: set[State]) -> bool:
        """Does what an assumption waits for happen in a state, or by a step from it within the component?"""
        if item.happens is not None:
            return self.holds(item.happens, state, values)
        return self.takes(item, values, state, part)

    def takes(self, item: Fairness, values: Mapping[Var, Value], state: State, within: set[State]) -> bool:
        """Is there a step from a state to some others that an assumption waits for?"""
        return any(
            move.name == item.transition and after in within and self.fits(item, values, state, move)
            for move, after in self.graph.steps[state]
        )

    def fits(self, item: Fairness, values: Mapping[Var, Value], state: State, move: Move) -> bool:
        parameters = self.model.transition(move.name).parameters
        for parameter, argument in zip(parameters, item.arguments, strict=True):
            if argument is not None:
                wanted = self.evaluator.compile(argument)(self.structures[state], dict(values))
                if move.arguments[parameter.name] != wanted:
                    return False
        return True

    def components(self, states: set[State]) -> Iterator[set[State]]:
        """The strongly connected components that a run can stay in: those with a step inside."""
        left = set(states)
        inside = {s: [after for _, after in self.graph.steps[s] if after in states] for s in states}
        backwards: dict[State, list[State]] = {state: [] for state in states}
        for state, afters in inside.items():
            for after in afters:
                backwards[after].append(state)
        while left:
            start = next(iter(left))
            part = _closure(start, inside, left) & _closure(start, backwards, left)
            left -= part
            if any(after in part for state in part for after in inside[state]):
                yield part


def _closure(start: State, edges: Mapping[State, list[State]], within: set[State]) -> set[State]:
    found, stack = {start}, [start]
    while stack:
        for after in edges[stack.pop()]:
            if after in within and after not in found:
                found.add(after)
                stack.append(after)
    return found
