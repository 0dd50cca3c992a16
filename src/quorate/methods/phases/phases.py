"""Phases of a Mercury program, the conditions that keep all processes in step, and repairs for what violates them.

Definitions 4.1, 4.2 and 4.4 of QuickSilver (Jaber et al., OOPSLA 2021), on the local states of one process, with sets and
identities left out.  Nothing is concluded from them: verdicts come from `verify`.  They say where a process may be left
behind by the others, which is what most mistakes look like.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from quorate.methods.phases.backwards import Backwards
from quorate.methods.phases.coverability import Limits, NotUpwardClosed, Search, violations
from quorate.methods.phases.cubes import Cube
from quorate.methods.phases.locals import LocalStates
from quorate.models.process import Goto, Handler, Location, ProcessModel, Receive
from quorate.models.process_counting import AllSizes
from quorate.models.process_steps import Point

Label = tuple[str, int | None]
"""A globally synchronising event, and the number that it carries."""


@dataclass(frozen=True)
class Edge:
    """A local transition: `kind` is internal, rendezvous, environment (a rendezvous with it), acting or reacting."""

    source: int
    target: int
    kind: str
    label: Label = ("", None)

    @property
    def independent(self) -> bool:
        """Does it need no other process?  (Section 4.2.)"""
        return self.kind in ("internal", "environment", "acting")


@dataclass(frozen=True)
class Repair:
    """A change of one location, as text and as the program that results."""

    text: str
    location: str
    model: ProcessModel


@dataclass(frozen=True)
class Problem:
    """A condition of Definition 4.2 that does not hold, and repairs that were tried and remove it, the best first."""

    condition: str
    event: Label
    text: str
    place: Location
    target: str | None = None
    repairs: tuple[Repair, ...] = ()

    @property
    def key(self) -> tuple[str, Label, str]:
        return self.condition, self.event, self.place.name


class LocalGraph:
    """The local transitions of a process, its phases, and the conditions on them."""

    def __init__(self, model: ProcessModel) -> None:
        self.model = model
        self.states = LocalStates(AllSizes(model))
        self.edges = list(dict.fromkeys(self._edges()))
        self.local = [
            edge for edge in self.edges if edge.label == ("", None) or edge.kind in ("rendezvous", "environment")
        ]
        self.shared = [edge for edge in self.edges if edge.kind in ("acting", "reacting")]
        self.alone: dict[int, bool] = {}

    def is_alone(self, state: int) -> bool:
        """Are two processes never in this local state together?  Then nobody is left behind by whoever is."""
        if state not in self.alone:
            search = Search(Backwards(self.states), {}, Limits(cubes=40, spent=time.process_time() + 0.5))
            self.alone[state] = search.run([Cube((1 << state, 1 << state), frozenset())]).closed
        return self.alone[state]

    def _edges(self) -> Iterator[Edge]:
        for move in self.states.moves:
            path = move.path
            for source, target in move.edges:
                if path.trigger == "internal":
                    yield Edge(source, target, "internal")
                    continue
                if path.trigger in ("send", "receive"):
                    action = self.model.action(path.event)
                    label = path.event, move.value
                    if not action.broadcast:
                        kind = "environment" if action.environment else "rendezvous"
                    elif action.environment and source != target:
                        yield Edge(source, target, "acting", label)
                        kind = "reacting"
                    else:
                        kind = "acting" if path.trigger == "send" else "reacting"
                    yield Edge(source, target, kind, label)
                elif path.trigger == "decide":
                    assert move.value is not None
                    own = self.states.proposing(path.event, move.value) >> source & 1
                    yield Edge(source, target, "acting" if own else "reacting", (path.event, move.value))
                    if own:
                        yield Edge(source, target, "reacting", (path.event, move.value))
                else:
                    yield Edge(source, target, "acting" if path.trigger == "win" else "reacting", (path.event, None))
        agreements = self.states.steps.agreements
        for location in self.model.locations:
            for name in location.passive:
                if name in agreements:
                    labels = {(m.path.event, m.value) for m in self.states.moves if m.path.event == name}
                    for number, (point, _) in enumerate(self.states.states):
                        if point == Point(location.name):
                            for label in labels:
                                yield Edge(number, number, "reacting", label)

    # -- Definition 4.1 ------------------------------------------------------------------------------------------------

    def phases(self) -> list[frozenset[int]]:
        """The sets of local states in which all processes are at the same time."""
        living = range(1, len(self.states.states))
        group = {state: {state} for state in living}

        def unite(members: Iterable[int]) -> None:
            listed = list(members)
            for other in listed[1:]:
                if group[listed[0]] is not group[other]:
                    group[listed[0]] |= group[other]
                    for state in group[other]:
                        group[state] = group[listed[0]]

        for edge in self.local:
            unite((edge.source, edge.target))
        for label in {edge.label for edge in self.local if edge.kind == "rendezvous"}:
            unite(s for e in self.local if e.label == label for s in (e.source, e.target))
        first: set[frozenset[int]] = set()
        for label in dict.fromkeys(edge.label for edge in self.shared):
            first.add(frozenset(e.source for e in self.shared if e.label == label))
            first.add(frozenset(e.target for e in self.shared if e.label == label))
        covered = set().union(*first) if first else set()
        first |= {frozenset([state]) for state in living if state not in covered}
        found = [frozenset().union(*(group[state] for state in members)) for members in first]
        moving = [members for members in {frozenset(g) for g in group.values()} if len(members) > 1]
        merged = True
        while merged:
            merged = False
            for members in moving:
                touching = [phase for phase in found if phase & members]
                if len(set(touching)) > 1:
                    whole = frozenset().union(*touching)
                    found = [phase for phase in found if not phase & members] + [whole]
                    merged = True
        return sorted(set(found), key=lambda phase: sorted(phase))

    # -- Definition 4.2 ------------------------------------------------------------------------------------------------

    def problems(self) -> list[Problem]:
        """Where a process may be left behind: one problem for each condition, event and location."""
        found: dict[tuple[str, Label, str], Problem] = {}
        for problem in self._problems():
            found.setdefault(problem.key, problem)
        return list(found.values())

    def _problems(self) -> Iterator[Problem]:
        reacting: dict[Label, set[int]] = {}
        acting: dict[Label, set[int]] = {}
        for edge in self.shared:
            (acting if edge.kind == "acting" else reacting).setdefault(edge.label, set()).add(edge.source)
        free = [edge for edge in self.edges if edge.kind in ("internal", "environment")]
        reach = {label: _backwards(states, free) for label, states in reacting.items()}
        for edge in self.shared:
            if edge.kind != "acting" or edge.source in reacting.get(edge.label, ()):
                continue
            if not self.is_alone(edge.source):
                text = (
                    f"{self.show(edge.source)} can begin {_event(edge.label)} but not react when another process does"
                )
                yield self._problem("1", edge.label, text, edge.source, edge.target)
        phases = self.phases()
        for edge in free:
            if edge.source == edge.target:
                continue
            for label, states in reacting.items():
                if edge.target in states:
                    for phase in phases:
                        if edge.source in phase and acting.get(label, set()) & phase:
                            for behind in sorted(phase - reach[label]):
                                text = f"{self.show(behind)} cannot come to react to {_event(label)}"
                                text += f", as {self.show(edge.target)} can"
                                yield self._problem("2", label, text, behind)
        for edge in self.shared:
            if edge.kind != "acting":
                continue
            after = {e.target for e in self.shared if e.label == edge.label}
            for label, states in reacting.items():
                if edge.target not in states or not acting.get(label, set()) & after:
                    continue
                for other in self.shared:
                    if other.label != edge.label:
                        continue
                    if other.kind == "acting" and other.target not in states:
                        text = f"{self.show(other.target)} cannot react to {_event(label)} after beginning {_event(edge.label)}"
                        yield self._problem("3i", label, text, other.target)
                    elif other.kind == "reacting" and other.target not in reach[label]:
                        text = f"{self.show(other.target)} cannot come to react to {_event(label)} after {_event(edge.label)}"
                        yield self._problem("3ii", label, text, other.target)

    def _problem(self, condition: str, label: Label, text: str, state: int, target: int | None = None) -> Problem:
        place = self.states.states[state][0]
        assert place is not None
        goal = self.states.states[target][0] if target is not None else None
        return Problem(condition, label, text, self.model.location(place.location), goal.location if goal else None)

    def show(self, state: int) -> str:
        """A local state in the words of the program."""
        point, values = self.states.states[state]
        if point is None:
            return "a crashed process"
        own = {variable.name for variable in self.model.variables}
        listed = [f"{n} = {v}" for n, v in zip(self.states.integers, values, strict=True) if n in own]
        return f"({point.location}{' waiting' * bool(point.pending)}{': ' * bool(listed)}{', '.join(listed)})"

    # -- Definition 4.4 ------------------------------------------------------------------------------------------------

    def dependent_path(self, targets: int) -> list[Edge] | None:
        """A path from the initial local state to a target with a step that needs other processes; None if there is none."""
        useful = [edge for edge in self.edges if edge.source != edge.target]
        start = self.states.initial
        goals = {i for i in range(len(self.states.states)) if targets >> i & 1}
        ahead = _paths(start, useful)
        found = []
        for edge in useful:
            if not edge.independent and edge.source in ahead:
                onwards = _paths(edge.target, useful)
                found += [[*ahead[edge.source], edge, *onwards[goal]] for goal in goals if goal in onwards]
        return min(found, key=_cost, default=None)


def _cost(path: Sequence[Edge]) -> tuple[int, int]:
    """Paths with few steps that need other processes first, then short ones."""
    return sum(not edge.independent for edge in path), len(path)


def _event(label: Label) -> str:
    return label[0] + (f"[{label[1]}]" if label[1] is not None else "")


def _backwards(goals: set[int], edges: Sequence[Edge]) -> set[int]:
    found, changed = set(goals), True
    while changed:
        changed = False
        for edge in edges:
            if edge.target in found and edge.source not in found:
                found.add(edge.source)
                changed = True
    return found


def _paths(start: int, edges: Sequence[Edge]) -> dict[int, list[Edge]]:
    """A best path to each state."""
    found: dict[int, list[Edge]] = {}
    waiting: dict[int, tuple[tuple[int, int], list[Edge]]] = {start: ((0, 0), [])}
    while waiting:
        state = min(waiting, key=lambda item: waiting[item][0])
        _, path = waiting.pop(state)
        found[state] = path
        for edge in edges:
            if edge.source == state and edge.target not in found:
                longer = [*path, edge]
                cost = _cost(longer)
                if edge.target not in waiting or cost < waiting[edge.target][0]:
                    waiting[edge.target] = cost, longer
    return found


# -- feedback ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Feedback:
    """The phases of a program, its problems with repairs, and for each property a path that needs other processes."""

    graph: LocalGraph
    phases: tuple[frozenset[int], ...]
    problems: tuple[Problem, ...]
    dependent: tuple[tuple[str, tuple[Edge, ...]], ...]
    amenable: tuple[str, ...]


def feedback(model: ProcessModel) -> Feedback:
    """What Definitions 4.1, 4.2 and 4.4 say about a program."""
    graph = LocalGraph(model)
    problems = graph.problems()
    keys = {problem.key for problem in problems}
    explained = [replace(problem, repairs=tuple(_repairs(model, problem, keys))) for problem in problems]
    dependent, amenable = [], []
    for item in model.safety:
        try:
            bad = violations(graph.states, item.specification)
        except NotUpwardClosed:
            continue
        mask = 0
        for cube in bad:
            for part in cube.masks:
                mask |= part
        path = graph.dependent_path(mask)
        if path is None:
            amenable.append(item.name)
        else:
            dependent.append((item.name, tuple(path)))
    return Feedback(graph, tuple(graph.phases()), tuple(explained), tuple(dependent), tuple(amenable))


def _repairs(model: ProcessModel, problem: Problem, before: set[tuple[str, Label, str]]) -> list[Repair]:
    """Changes that remove the problem, as a second look confirms; those that leave the fewest problems first."""
    found = []
    for rank, candidate in enumerate(_candidates(model, problem)):
        left = {other.key for other in LocalGraph(candidate.model).problems()}
        if problem.key not in left:
            found.append((len(left - before), len(left), rank, candidate))
    return [candidate for *_, candidate in sorted(found, key=lambda item: item[:3])][:3]


def _candidates(model: ProcessModel, problem: Problem) -> Iterator[Repair]:
    name, _ = problem.event
    place = problem.place
    action = next((item for item in model.actions if item.name == name), None)
    if action is not None:
        goals = [problem.target] if problem.target else []
        goals += [location.name for location in model.locations if location.name not in (problem.target, place.name)]
        for goal in goals[:4]:
            handler = Handler(Receive(name), None, (Goto(goal),))
            changed = replace(place, handlers=(*place.handlers, handler))
            yield Repair(f"on recv({name}) do goto {goal};", place.name, _with(model, changed))
    changed = replace(place, passive=(*place.passive, name))
    yield Repair(f"passive {name}", place.name, _with(model, changed))


def _with(model: ProcessModel, location: Location) -> ProcessModel:
    places = tuple(location if item.name == location.name else item for item in model.locations)
    return replace(model, locations=places)
