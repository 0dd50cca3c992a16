"""What a Mercury program with a given number of processes does: the plain semantics that runs are replayed on.

Decided from QuickSilver (Jaber et al., OOPSLA 2021, section 3), and where the paper is silent, as follows; docs/mercury.md
says more.  The statements of a handler are executed one after the other, together with its event, up to the next send that
does not begin the handler; there the process waits, still in its location, and takes part in nothing else.  Integers count
on from the other end of their range.  Who crashes does nothing more, holds up nobody, and is in no set from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from quorate.models.process import (
    AllProcesses,
    Arithmetic,
    Assign,
    Combination,
    Comparison,
    Consensus,
    Count,
    Expression,
    Goto,
    Handler,
    If,
    Internal,
    Junction,
    Negation,
    NoProcesses,
    Number,
    Partition,
    ProcessCount,
    ProcessModel,
    Read,
    Receive,
    Self,
    Send,
    SetUpdate,
    Specification,
    Statement,
    Truth,
    arithmetic,
    compare,
    constant,
    wrap,
)
from quorate.models.process_names import CRASHED
from quorate.models.source import Span

UNDEFINED = -1
"""The value of an identity that names no process."""


@dataclass(frozen=True)
class Local:
    """One process: where it is, what it still has to do before it is done with a handler, and its variables.

    Values are in the order of `ProcessModel.all_variables`; a set is the sum of 2^i over its members i.
    """

    location: str
    pending: tuple[Statement, ...]
    values: tuple[int, ...]


State = tuple[Local, ...]


@dataclass(frozen=True)
class Step:
    """What happened: the kind of step, its name (action or agreement), who acted, who else took part, and a number.

    Of a rendezvous, `others` is the receiver; of a partition, `actors` are the winners and `others` the losers; of a
    consensus, `actors` are the participants that go on and `others` those that crash meanwhile.
    """

    kind: str
    name: str
    actors: tuple[int, ...]
    others: tuple[int, ...] = ()
    value: int | None = None
    span: Span | None = None


class ProcessSemantics:
    """The initial state, the steps and the properties of a program with so many processes."""

    def __init__(self, model: ProcessModel, processes: int) -> None:
        self.model, self.processes = model, processes
        self.index = {variable.name: i for i, variable in enumerate(model.all_variables)}
        self.range = {
            variable.name: (constant(variable.low, processes), constant(variable.high, processes))
            for variable in model.all_variables
            if variable.kind == "int"
        }
        self.first = tuple(
            {"int": constant(v.initial, processes), "id": UNDEFINED, "set": 0}[v.kind] for v in model.all_variables
        )
        self.sets = [i for i, variable in enumerate(model.all_variables) if variable.kind == "set"]
        self.forgotten = [i for v, i in self.index.items() if "." in v and v not in model.lasting]
        self.handlers = {location.name: location.handlers for location in model.locations}
        self.passive = {location.name: location.passive for location in model.locations}

    @property
    def initial(self) -> State:
        return (Local(self.model.initial.name, (), self.first),) * self.processes

    # -- one process -----------------------------------------------------------------------------------------------

    def value(self, expression: Expression, values: Sequence[int], me: int, alive: int) -> int:
        """The value of an expression in a process; truth values are 0 and 1."""
        match expression:
            case Number(value):
                return value
            case Truth(truth):
                return int(truth)
            case ProcessCount():
                return self.processes
            case Read(name):
                return values[self.index[name]]
            case Self():
                return me
            case AllProcesses():
                return alive
            case NoProcesses():
                return 0
            case Negation(operand):
                return 1 - self.value(operand, values, me, alive)
            case Junction(operator, operands):
                found = (self.value(operand, values, me, alive) for operand in operands)
                return int(all(found) if operator == "&" else any(found))
            case Arithmetic(operator, left, right):
                return arithmetic(operator, self.value(left, values, me, alive), self.value(right, values, me, alive))
            case Comparison(operator, left, right):
                return int(compare(operator, self.value(left, values, me, alive), self.value(right, values, me, alive)))

    def _run(
        self, location: str, body: tuple[Statement, ...], values: list[int], me: int, alive: int
    ) -> tuple[str, tuple[Statement, ...]]:
        """Execute statements up to a send, changing `values`; the location and what is left, beginning with the send."""
        while body:
            statement, body = body[0], body[1:]
            match statement:
                case Send():
                    return location, (statement, *body)
                case Goto(target):
                    location, body = target, ()
                case If(condition, then, otherwise):
                    body = (then if self.value(condition, values, me, alive) else otherwise) + body
                case Assign(variable, value):
                    found = self.value(value, values, me, alive)
                    if variable in self.range:
                        found = wrap(found, *self.range[variable])
                    values[self.index[variable]] = found
                case SetUpdate(operation, variable, value, many):
                    found = self.value(value, values, me, alive)
                    change = found if many else 0 if found == UNDEFINED else 1 << found
                    place = self.index[variable]
                    values[place] = values[place] | change if operation == "add" else values[place] & ~change
        for place in self.forgotten:
            values[place] = self.first[place]
        return location, ()

    def _go(self, location: str, body: tuple[Statement, ...], values: list[int], me: int, alive: int) -> Local:
        location, pending = self._run(location, body, values, me, alive)
        return Local(location, pending, tuple(values))

    def _set(self, values: list[int], register: str, value: int) -> None:
        if register in self.index:
            values[self.index[register]] = value

    def _receive(
        self, local: Local, action: str, payload: int | None, sender: int | None, me: int, alive: int
    ) -> list[Local]:
        """What a process may become by receiving a message; nothing if it cannot receive it now."""
        if local.location == CRASHED or local.pending:
            return []
        found = [local] if action in self.passive[local.location] else []
        for handler in self.handlers[local.location]:
            if handler.event == Receive(action):
                values = list(local.values)
                if payload is not None:
                    self._set(values, f"{action}.payld", payload)
                if sender is not None:
                    self._set(values, f"{action}.sID", sender)
                if handler.guard is None or self.value(handler.guard, values, me, alive):
                    found.append(self._go(local.location, handler.body, values, me, alive))
        return list(dict.fromkeys(found))

    # -- all of them -----------------------------------------------------------------------------------------------

    def alive(self, state: State) -> int:
        return sum(1 << i for i, local in enumerate(state) if local.location != CRASHED)

    def successors(self, state: State) -> Iterator[tuple[Step, State]]:
        """Every step from a state, and where it leads."""
        alive = self.alive(state)
        for me in range(self.processes):
            if alive >> me & 1:
                yield from self._acting(state, me, alive)
                if state[me].location in self.model.crashing:
                    yield Step("crash", "crash", (me,)), self.crashed(state, 1 << me)
        yield from self._environment(state, alive)
        yield from self._agreements(state, alive)

    def crashed(self, state: State, who: int) -> State:
        """The state after some processes, given as a set, have crashed."""
        found = []
        for i, local in enumerate(state):
            if who >> i & 1:
                found.append(Local(CRASHED, (), self.first))
                continue
            values = list(local.values)
            for place in self.sets:
                values[place] &= ~who
            found.append(Local(local.location, local.pending, tuple(values)))
        return tuple(found)

    def _acting(self, state: State, me: int, alive: int) -> Iterator[tuple[Step, State]]:
        """Steps that a process begins: internal ones and sends."""
        local = state[me]
        starts: list[tuple[tuple[Statement, ...], Span | None]] = []
        if local.pending:
            starts.append((local.pending, local.pending[0].span))
        else:
            for handler in self.handlers[local.location]:
                if isinstance(handler.event, Internal) and (
                    handler.guard is None or self.value(handler.guard, local.values, me, alive)
                ):
                    starts.append((handler.body, handler.span))
        for body, span in starts:
            values = list(local.values)
            location, rest = self._run(local.location, body, values, me, alive)
            if not rest:
                after = Local(location, (), tuple(values))
                yield Step("internal", location, (me,), span=span), _put(state, {me: after})
                continue
            send, rest = rest[0], rest[1:]
            assert isinstance(send, Send)
            action = self.model.action(send.action)
            payload = None
            if send.payload is not None and action.bounds is not None:
                low, high = (constant(bound, self.processes) for bound in action.bounds)
                payload = wrap(self.value(send.payload, values, me, alive), low, high)
            target = None if send.target is None else self.value(send.target, values, me, alive)
            after = self._go(location, rest, values, me, alive)
            if action.environment:
                yield Step("to environment", action.name, (me,), (), payload, span), _put(state, {me: after})
            elif action.broadcast:
                for received in self._all_receive(state, action.name, payload, me, alive):
                    yield Step("broadcast", action.name, (me,), (), payload, span), _put(received, {me: after})
            else:
                for other in range(self.processes):
                    if other != me and target in (None, other):
                        for there in self._receive(state[other], action.name, payload, me, other, alive):
                            step = Step("rendezvous", action.name, (me,), (other,), payload, span)
                            yield step, _put(state, {me: after, other: there})

    def _all_receive(
        self, state: State, action: str, payload: int | None, sender: int | None, alive: int
    ) -> Iterator[State]:
        """Everyone but the sender and who crashed receives a broadcast; nothing if somebody cannot."""
        options = []
        for i, local in enumerate(state):
            waits = i != sender and alive >> i & 1
            options.append(self._receive(local, action, payload, sender, i, alive) if waits else [local])
        yield from product(*options)

    def _environment(self, state: State, alive: int) -> Iterator[tuple[Step, State]]:
        """Messages of the environment: it sends every action that is received, with every payload."""
        for action in self.model.actions:
            if not action.environment:
                continue
            payloads: Sequence[int | None] = [None]
            if action.bounds is not None:
                low, high = (constant(bound, self.processes) for bound in action.bounds)
                payloads = range(low, high + 1)
            for payload in payloads:
                if action.broadcast and alive:
                    for after in self._all_receive(state, action.name, payload, None, alive):
                        yield Step("from environment", action.name, (), (), payload), after
                elif not action.broadcast:
                    for i, local in enumerate(state):
                        for there in self._receive(local, action.name, payload, None, i, alive):
                            yield Step("from environment", action.name, (i,), (), payload), _put(state, {i: there})

    def _agreements(self, state: State, alive: int) -> Iterator[tuple[Step, State]]:
        """Agreements among a set of processes that all wait for it, with exactly this set."""
        ready: dict[str, dict[int, tuple[Handler, int]]] = {}
        for i, local in enumerate(state):
            if local.location == CRASHED or local.pending:
                continue
            for handler in self.handlers[local.location]:
                if isinstance(handler.event, Partition | Consensus):
                    who = self.value(handler.event.participants, local.values, i, alive)
                    ready.setdefault(handler.event.name, {})[i] = (handler, who)
        for name, waiting in ready.items():
            for participants in dict.fromkeys(who for _, who in waiting.values()):
                members = _members(participants)
                if members and all(i in waiting and waiting[i][1] == participants for i in members):
                    event = waiting[members[0]][0].event
                    chosen = {i: waiting[i][0] for i in members}
                    if isinstance(event, Partition):
                        yield from self._partition(state, name, event.winners, chosen, alive)
                    else:
                        yield from self._consensus(state, name, chosen, alive)

    def _partition(
        self, state: State, name: str, number: int, chosen: dict[int, Handler], alive: int
    ) -> Iterator[tuple[Step, State]]:
        everyone = sum(1 << i for i in chosen)
        for winners in combinations(chosen, min(number, len(chosen))):
            won = sum(1 << i for i in winners)
            changes = {}
            for i, handler in chosen.items():
                values = list(state[i].values)
                self._set(values, f"{name}.winS", won)
                self._set(values, f"{name}.loseS", everyone & ~won)
                body = handler.body if won >> i & 1 else handler.lose or ()
                changes[i] = self._go(state[i].location, body, values, i, alive)
            losers = tuple(_members(everyone & ~won))
            span = chosen[winners[0]].span
            yield Step("partition", name, winners, losers, span=span), _put(state, changes)

    def _consensus(
        self, state: State, name: str, chosen: dict[int, Handler], alive: int
    ) -> Iterator[tuple[Step, State]]:
        """Some participants may crash meanwhile, as long as more than half of them go on; what they proposed still counts.

        Only those are considered that cannot crash right after it: for the others that is the same.
        """
        proposals: dict[int, Span | None] = {}
        for i, handler in chosen.items():
            assert isinstance(handler.event, Consensus)
            if handler.event.proposal is not None:
                proposals.setdefault(state[i].values[self.index[handler.event.proposal]], handler.span)
        for value, span in sorted(proposals.items(), key=lambda pair: pair[0]):
            changes = {}
            for i, handler in chosen.items():
                values = list(state[i].values)
                self._set(values, f"{name}.decVar", value)
                changes[i] = self._go(state[i].location, handler.body, values, i, alive)
            after = _put(state, changes)
            risk = [
                i
                for i in chosen
                if state[i].location in self.model.crashing and changes[i].location not in self.model.crashing
            ]
            subsets = chain.from_iterable(combinations(risk, k) for k in range(len(risk) + 1))
            for lost in subsets:
                if len(chosen) > 2 * len(lost):
                    going_on = tuple(i for i in chosen if i not in lost)
                    end = self.crashed(after, sum(1 << i for i in lost)) if lost else after
                    yield Step("consensus", name, going_on, lost, value, span), end

    # -- properties ------------------------------------------------------------------------------------------------

    def holds(self, specification: Specification, state: State) -> bool:
        """Does a state satisfy a specification?"""
        if isinstance(specification, Count):
            number = sum(self._described(specification, local) for local in state)
            return number <= specification.number if specification.most else number >= specification.number
        assert isinstance(specification, Combination)
        found = [self.holds(operand, state) for operand in specification.operands]
        return not found[0] if specification.operator == "!" else (all if specification.operator == "&" else any)(found)

    def _described(self, count: Count, local: Local) -> bool:
        return any(
            item.location == local.location
            and (item.predicate is None or bool(self.value(item.predicate, local.values, 0, 0)))
            for item in count.descriptors
        )


def _members(processes: int) -> list[int]:
    return [i for i in range(processes.bit_length()) if processes >> i & 1]


def _put(state: State, changes: dict[int, Local]) -> State:
    return tuple(changes.get(i, local) for i, local in enumerate(state))
