"""The naive twin of Mercury: so many processes that execute the handlers of a parsed program, statement by statement.

It follows docs/mercury.md and looks at the surface tree only, not at the elaborated program, its steps or its plain semantics
(`models/process_semantics`), which tests compare it with.  A process is where it is, what it waits to send, and the
values of its variables.  The two ghosts of a counter (`_Ghost`) are no part of the program: the relational form has them in
place of the counter, so a state cannot be shown in its vocabulary without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

from quorate.lang.mercury.grammar import (
    AssignStatement,
    CountSyntax,
    GotoStatement,
    HandlerDeclaration,
    IfStatement,
    SendStatement,
    SetStatement,
    SurfaceStatement,
)
from quorate.lang.reader import Expression, Literal, Operation, Reference
from quorate.logic.structures import Structure, Table
from quorate.logic.terms import Symbol
from quorate.models import process_names as names
from quorate.models.process import ProcessModel
from quorate.proof.twins import Move, State, Twin, TwinError
from quorate.proof.twins.choices import Choices, Impossible
from quorate.proof.twins.mercury_text import Shape, Text, apply, bound, event_of, in_range, replied_to, shape_of

LARGEST = 5
"""The most processes of an instance."""

Value = int | None | frozenset[int]
"""An integer, a process (None: nobody), or a set of processes."""


@dataclass(frozen=True)
class _Ghost:
    """Whom a counter has counted since it was 0, and whether that may differ from its value.

    In one step a counter may be set to 0, or be given one more in a handler of a message whose sender it has not counted; after
    anything else it may differ.  What it is set to is what the text of the step computes (its `Shape`), not its value.
    """

    counted: frozenset[int]
    lost: bool


@dataclass(frozen=True)
class _Process:
    """`location` is None for a process that has crashed; `waits` is the place in the text of the send in front of which it is."""

    location: str | None
    waits: int | None
    values: tuple[Value, ...]
    ghosts: tuple[_Ghost, ...]


Processes = tuple[_Process, ...]


class _Run:
    """A process in the middle of a step: its values so far, and what they were computed from."""

    def __init__(self, twin: MercuryTwin, me: int, state: Processes, values: Sequence[Value]) -> None:
        self.me, self.alive = me, _alive(state)
        self.values = dict(zip(twin.text.names, values, strict=True))
        self.shapes: dict[str, Shape] = {}
        self.sender: int | None = None

    def put(self, name: str, value: Value) -> None:
        """What an event leaves behind, if the program reads it."""
        if name in self.values:
            self.values[name] = value
            self.shapes[name] = ("event", name)


class MercuryTwin(Twin):
    """A program with so many processes."""

    def __init__(self, text: Text, processes: int) -> None:
        self.text, self.processes = text, processes
        self.size = f"processes={processes}"
        self.properties = tuple(text.properties)
        self.first = tuple(self._first(name) for name in text.names)
        self.ghosts = tuple(_Ghost(frozenset(), not self._starts_at_zero(name)) for name in text.counters)

    def allowed(self) -> bool:
        """Has every range a value with so many processes, and does it hold the first value?"""
        ranges = [item.bounds for item in self.text.program.variables] + [a.bounds for a in self.text.program.actions]
        if any(r is not None and bound(r[0], self.processes) > bound(r[1], self.processes) for r in ranges):
            return False
        firsts = [(item.initial, item.bounds) for item in self.text.program.variables]
        return all(
            first is None or r is None or bound(first, self.processes) == self._wrapped(bound(first, self.processes), r)
            for first, r in firsts
        )

    def _first(self, name: str) -> Value:
        kind = self.text.kind(name)
        if kind != "int":
            return None if kind == "id" else frozenset()
        declared = self.text.variables.get(name)
        initial = None if declared is None else declared.initial
        return bound(self.text.bounds(name)[0] if initial is None else initial, self.processes)

    # -- what a process computes -----------------------------------------------------------------------------------

    def value(self, expression: Expression, run: _Run) -> Any:
        match expression:
            case Literal(_, value):
                return value
            case Reference(_, name):
                special = {"N": self.processes, "self": run.me, "All": run.alive, "Empty": frozenset()}
                return special[name] if name in special else run.values[name]
            case Operation(_, "!", (operand,)):
                return not self.value(operand, run)
            case Operation(_, "&", operands):
                return all(self.value(operand, run) for operand in operands)
            case Operation(_, "|", operands):
                return any(self.value(operand, run) for operand in operands)
            case Operation(_, operator, (left, right)):
                return apply(operator, self.value(left, run), self.value(right, run))
        raise TwinError("the twin cannot compute an expression of the text")

    def _wrapped(self, value: int, bounds: tuple[Expression, Expression]) -> int:
        """A value outside of its range counts on from the other end."""
        low, high = (bound(end, self.processes) for end in bounds)
        while value < low:
            value += high - low + 1
        while value > high:
            value -= high - low + 1
        return value

    def execute(
        self, run: _Run, location: str, todo: Sequence[SurfaceStatement]
    ) -> tuple[str, tuple[SurfaceStatement, ...]]:
        """Do what statements say, up to a send: the location then, and what is left, beginning with the send."""
        left = list(todo)
        while left:
            statement = left.pop(0)
            match statement:
                case SendStatement():
                    return location, (statement, *left)
                case GotoStatement():
                    location, left = statement.location.text, []
                case IfStatement():
                    taken = statement.then if self.value(statement.condition, run) else statement.otherwise
                    left = [*taken, *left]
                case AssignStatement():
                    self._assign(run, statement)
                case SetStatement():
                    name, value = statement.variable.text, self.value(statement.value, run)
                    change = value if statement.operation.endswith("All") else frozenset({value} - {None})
                    before = run.values[name]
                    assert isinstance(before, frozenset)
                    adds = statement.operation.startswith("add")
                    run.values[name] = before | change if adds else before - change
        return location, ()

    def _assign(self, run: _Run, statement: AssignStatement) -> None:
        name = statement.variable.text
        value = self.value(statement.value, run)
        if self.text.kind(name) == "int":
            bounds = self.text.bounds(name)
            run.shapes[name] = in_range(shape_of(statement.value, run.shapes), bounds)
            value = self._wrapped(value, bounds)
        run.values[name] = value

    def proceed(self, run: _Run, before: _Process, location: str, todo: Sequence[SurfaceStatement]) -> _Process:
        """The process after the statements, done with its handler or in front of a send."""
        location, left = self.execute(run, location, todo)
        if not left:
            for name, first in zip(self.text.names, self.first, strict=True):
                if "." in name and name not in self.text.lasting:
                    run.values[name] = first
        ghosts = tuple(self._ghost(run, *pair) for pair in zip(self.text.counters, before.ghosts, strict=True))
        waits = left[0].span.start if left else None
        return _Process(location, waits, tuple(run.values.values()), ghosts)

    def _is_counter(self, name: str) -> bool:
        low, high = self.text.bounds(name)
        return shape_of(low, {}) == ("number", 0) and all(bound(high, n) >= n - 1 for n in (1, 50))

    def _starts_at_zero(self, name: str) -> bool:
        initial = self.text.variables[name].initial or self.text.bounds(name)[0]
        return self._is_counter(name) and shape_of(initial, {}) == ("number", 0)

    def _ghost(self, run: _Run, name: str, before: _Ghost) -> _Ghost:
        shape = run.shapes.get(name)
        if shape is None:
            return before
        inner = shape[1] if shape[0] == "range" else shape
        if self._is_counter(name) and inner == ("number", 0):
            return _Ghost(frozenset(), False)
        one_more = inner == ("+", ("variable", name), ("number", 1))
        if self._is_counter(name) and one_more and run.sender is not None and run.sender not in before.counted:
            return replace(before, counted=before.counted | {run.sender})
        return replace(before, lost=True)

    # -- what can happen -------------------------------------------------------------------------------------------

    def start(self, choices: Choices) -> State:
        return (_Process(self.text.initial, None, self.first, self.ghosts),) * self.processes

    def step(self, state: State, choices: Choices) -> tuple[Move, State]:
        assert isinstance(state, tuple)
        options = list(self._options(state))
        return options[choices.choose(len(options))](choices)

    def _options(self, state: Processes) -> Iterator[Callable[[Choices], tuple[Move, State]]]:
        for me, process in enumerate(state):
            if process.location is None:
                continue
            if process.waits is not None:
                yield partial(self._act, state, me, self.text.rest[process.waits])
            else:
                for handler in self.text.handlers[process.location]:
                    run = _Run(self, me, state, process.values)
                    if handler.event.kind == "internal" and (handler.guard is None or self.value(handler.guard, run)):
                        yield partial(self._act, state, me, handler.body)
            if process.location in self.text.crashable:
                yield partial(self._crash, state, me)
        for action in self.text.program.actions:
            if action.environment:
                payloads: Sequence[int | None] = [None]
                if action.bounds is not None:
                    low, high = (bound(end, self.processes) for end in action.bounds)
                    payloads = range(low, high + 1)
                for payload in payloads:
                    yield partial(self._from_environment, state, action.name.text, payload)
        for name in self.text.agreements:
            for members in self._gathered(state, name):
                yield partial(self._agree, state, name, members)

    def _crash(self, state: Processes, me: int, choices: Choices) -> tuple[Move, State]:
        return Move("crash", {"who": _name(me)}), self._crashed(state, [me])

    def _act(self, state: Processes, me: int, todo: Sequence[SurfaceStatement], choices: Choices) -> tuple[Move, State]:
        """A process acts on its own, up to the second send: the first one takes place now."""
        before = state[me]
        assert before.location is not None
        run = _Run(self, me, state, before.values)
        location, left = self.execute(run, before.location, todo)
        if not left:
            after = self.proceed(run, before, location, ())
            return Move(before.location, {"who": _name(me)}), _put(state, {me: after})
        send = left[0]
        assert isinstance(send, SendStatement)
        action = self.text.actions[send.action.text]
        said: dict[str, object] = {"from": _name(me)}
        payload = None
        if send.payload is not None and action.bounds is not None:
            payload = said["payload"] = self._wrapped(self.value(send.payload, run), action.bounds)
        others = [i for i in range(self.processes) if i != me]
        if not action.environment and not action.broadcast:
            target = send.target
            if send.broadcast is None:
                replied = replied_to(self.text, send)
                others = [i for i in others if i == run.values[f"{replied}.sID"]]
            elif target is not None:
                others = [i for i in others if i == self.value(target, run)]
        changes = {me: self.proceed(run, before, location, left[1:])}
        if action.broadcast and not action.environment:
            for other in others:
                if state[other].location is not None:
                    changes[other] = self._receive(state, other, action.name.text, payload, me, choices)
        elif not action.environment:
            other = others[choices.choose(len(others))]
            changes[other] = self._receive(state, other, action.name.text, payload, me, choices)
            said["to"] = _name(other)
        return Move(action.name.text, said), _put(state, changes)

    def _receive(
        self, state: Processes, me: int, action: str, payload: int | None, sender: int | None, choices: Choices
    ) -> _Process:
        """A process receives a message, in one of the ways that it has."""
        before = state[me]
        if before.location is None or before.waits is not None:
            raise Impossible
        ways: list[_Process] = [before] if action in self.text.passive[before.location] else []
        for handler in self.text.handlers[before.location]:
            if handler.event.kind == "receive" and event_of(handler) == action:
                run = _Run(self, me, state, before.values)
                if payload is not None:
                    run.put(f"{action}.payld", payload)
                if sender is not None:
                    run.put(f"{action}.sID", sender)
                run.sender = sender
                if handler.guard is None or self.value(handler.guard, run):
                    ways.append(self.proceed(run, before, before.location, handler.body))
        return ways[choices.choose(len(ways))]

    def _from_environment(
        self, state: Processes, action: str, payload: int | None, choices: Choices
    ) -> tuple[Move, State]:
        """The environment sends a message: to everyone who has not crashed, or to one process."""
        receivers = sorted(_alive(state))
        said: dict[str, object] = {} if payload is None else {"payload": payload}
        if not receivers:
            raise Impossible
        if not self.text.actions[action].broadcast:
            receivers = [receivers[choices.choose(len(receivers))]]
            said["to"] = _name(receivers[0])
        changes = {i: self._receive(state, i, action, payload, None, choices) for i in receivers}
        return Move(action, said), _put(state, changes)

    def _gathered(self, state: Processes, name: str) -> list[dict[int, HandlerDeclaration]]:
        """The sets of processes that all wait for an agreement among exactly themselves."""
        waiting: dict[int, tuple[HandlerDeclaration, frozenset[int]]] = {}
        for me, process in enumerate(state):
            if process.location is None or process.waits is not None:
                continue
            for handler in self.text.handlers[process.location]:
                if handler.event.participants is not None and event_of(handler) == name:
                    run = _Run(self, me, state, process.values)
                    waiting[me] = handler, self.value(handler.event.participants, run)
        found = []
        for members in dict.fromkeys(who for _, who in waiting.values()):
            if members and all(i in waiting and waiting[i][1] == members for i in members):
                found.append({i: waiting[i][0] for i in sorted(members)})
        return found

    def _agree(
        self, state: Processes, name: str, members: dict[int, HandlerDeclaration], choices: Choices
    ) -> tuple[Move, State]:
        """Some of the participants win, or they decide what one of them proposes."""
        event = next(iter(members.values())).event
        assert event.number is not None
        said: dict[str, object] = {}
        winners: frozenset[int] = frozenset()
        decided: Value = None
        if event.kind == "partition":
            teams = list(combinations(members, min(int(event.number.text), len(members))))
            winners = frozenset(teams[choices.choose(len(teams))])
            said["winners"] = ", ".join(map(_name, sorted(winners)))
        else:
            proposed = set()
            for i, handler in members.items():
                if handler.event.proposal is not None:
                    proposed.add(state[i].values[self.text.index[handler.event.proposal.text]])
            values = sorted(proposed, key=str)
            decided = said["decided"] = values[choices.choose(len(values))]
        changes = {}
        for i, handler in members.items():
            run = _Run(self, i, state, state[i].values)
            run.put(f"{name}.winS", winners)
            run.put(f"{name}.loseS", frozenset(members) - winners)
            run.put(f"{name}.decVar", decided)
            body = handler.body if event.kind == "consensus" or i in winners else handler.lose or ()
            changes[i] = self.proceed(run, state[i], state[i].location or "", body)
        after = _put(state, changes)
        if event.kind == "consensus":
            after = self._crash_meanwhile(state, after, list(members), said, choices)
        return Move(name, said), after

    def _crash_meanwhile(
        self, before: Processes, after: Processes, members: list[int], said: dict[str, object], choices: Choices
    ) -> Processes:
        """Participants of a consensus may crash as long as more than half of them go on."""
        risk = [i for i in members if before[i].location in self.text.crashable]
        groups = [group for k in range(len(members)) if 2 * k < len(members) for group in combinations(risk, k)]
        group = groups[choices.choose(len(groups))]
        if not group:
            return after
        said["crashed"] = ", ".join(map(_name, group))
        return self._crashed(after, group)

    def _crashed(self, state: Processes, who: Sequence[int]) -> Processes:
        """Who crashes forgets everything and is removed from all sets."""
        found = []
        for i, process in enumerate(state):
            values = list(process.values)
            for place in self.text.sets:
                members = values[place]
                assert isinstance(members, frozenset)
                values[place] = members - set(who)
            gone = _Process(None, None, self.first, self.ghosts)
            found.append(gone if i in who else replace(process, values=tuple(values)))
        return tuple(found)

    # -- what can be said of a state -------------------------------------------------------------------------------

    def falsified(self, state: State) -> tuple[str, ...]:
        assert isinstance(state, tuple)
        return tuple(name for name, wanted in self.text.properties.items() if not self._holds(wanted, state))

    def _holds(self, wanted: Expression, state: Processes) -> bool:
        match wanted:
            case CountSyntax():
                number = 0
                for me, process in enumerate(state):
                    run = _Run(self, me, state, process.values)
                    number += any(
                        process.location == location.text and (predicate is None or self.value(predicate, run))
                        for location, predicate in wanted.descriptors
                    )
                return number <= wanted.number if wanted.most else number >= wanted.number
            case Operation(_, "!", (operand,)):
                return not self._holds(operand, state)
            case Operation(_, "&" | "|" as operator, operands):
                return (all if operator == "&" else any)(self._holds(operand, state) for operand in operands)
        raise TwinError("the twin cannot decide a specification of the text")

    def structure(self, state: State) -> Structure | None:
        assert isinstance(state, tuple)
        if self.text.form is None:
            return None
        form, waiting = self.text.form
        tables = {symbol: self._table(symbol, state, waiting) for symbol in form.symbols}
        return Structure({form.sorts[0]: self.processes}, tables)

    def _table(self, symbol: Symbol, state: Processes, waiting: Mapping[tuple[str, int], str]) -> Table:
        """The value of a symbol of the relational form, by its name."""
        found: dict[tuple[int, ...], int] = {}
        counters = {names.counted(name): i for i, name in enumerate(self.text.counters)}
        flags = {names.lost(name): i for i, name in enumerate(self.text.counters)}
        for me, process in enumerate(state):
            if symbol.name == names.WHERE:
                found[me,] = symbol.sort.elements.index(_point(process, waiting))
                continue
            value: object
            if symbol.name in counters:
                value = process.ghosts[counters[symbol.name]].counted
            elif symbol.name in flags:
                value = int(process.ghosts[flags[symbol.name]].lost)
            else:
                value = process.values[self.text.index[symbol.name]]
            if len(symbol.arguments) == 1:
                assert isinstance(value, int)
                bounds = (0, 1)
                if symbol.name not in flags:
                    low, high = self.text.bounds(symbol.name)
                    bounds = bound(low, self.processes), bound(high, self.processes)
                found[me,] = symbol.sort.elements.index(names.number_name(value, *bounds))
                continue
            for other in range(self.processes):
                found[me, other] = other in value if isinstance(value, frozenset) else other == value
        return found

    def show(self, state: State) -> str:
        assert isinstance(state, tuple)
        return "\n".join(f"{_name(me)}: {self._look(process)}" for me, process in enumerate(state))

    def _look(self, process: _Process) -> str:
        if process.location is None:
            return "crashed"
        shown = [
            f"{name} = {_shown(self.text.kind(name), value)}"
            for name, value in zip(self.text.names, process.values, strict=True)
            if "." not in name or name in self.text.lasting or process.waits is not None
        ]
        waits = ", waits to send" if process.waits is not None else ""
        return ", ".join([process.location + waits, *shown])


def mercury_twins(model: ProcessModel) -> Iterator[Twin]:
    """The instances of a program with few processes."""
    text = Text(model)
    for processes in range(1, LARGEST + 1):
        twin = MercuryTwin(text, processes)
        if twin.allowed():
            yield twin


def _alive(state: Processes) -> frozenset[int]:
    return frozenset(i for i, process in enumerate(state) if process.location is not None)


def _put(state: Processes, changes: Mapping[int, _Process]) -> Processes:
    return tuple(changes.get(i, process) for i, process in enumerate(state))


def _point(process: _Process, waiting: Mapping[tuple[str, int], str]) -> str:
    if process.location is None:
        return names.CRASHED
    if process.waits is None:
        return names.point_name(process.location)
    return waiting[process.location, process.waits]


def _name(process: int) -> str:
    return f"P{process}"


def _shown(kind: str, value: Value) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(_name, sorted(value))) + "}"
    return "nobody" if value is None else str(value) if kind == "int" else _name(value)
