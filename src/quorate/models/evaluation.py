"""What a round-based algorithm does: one process, one round, given what it hears.  Everything else is built on this.

A process is a tuple: its variables in order, its decision (0: none yet), and marks.  `?` is 0 and values are numbered from 1;
truth values are 0 and 1; a set of values is a bit mask.  `Machine` turns the definition into functions; `Machine.move` gives
all states that a process can be in after a round, and is the semantics that searches, traces and tests share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from quorate.models import rounds as r
from quorate.models.rounds import Node, RoundModel

Process = tuple[int, ...]
Message = tuple[int, ...]

REVOKED, EMPTY, CRASHED = 1, 2, 4
"""Marks: decided two different values; decided `?`; has stopped."""


class RoundsError(Exception):
    """The algorithm cannot be run as asked; the message says why."""


class Forgotten(Exception):
    """A variable was read that a search had taken for one that nobody reads again; `mark` is what stood in its place."""

    def __init__(self, mark: int) -> None:
        super().__init__(mark)
        self.mark = mark


@dataclass
class Context:
    """What a process knows in a round: itself, its coordinator, and what it hears (each message with how often it came)."""

    n: int
    parameters: Mapping[str, int]
    phase: int
    me: int
    coordinator: int
    local: list[int]
    shared: list[int] = field(default_factory=list)
    messages: Sequence[tuple[Message, int]] = ()
    kept: Sequence[tuple[Message, int]] = ()
    from_coordinator: Message | None = None
    bound: dict[str, int] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)


@dataclass
class World:
    """What a formula about all processes speaks of; heard-of sets are bit masks, by round and process."""

    n: int
    parameters: Mapping[str, int]
    phase: int
    processes: Sequence[Process]
    shared: Sequence[int] = ()
    coordinators: Sequence[int] = ()
    heard: Sequence[Sequence[int]] = ()
    bound: dict[str, int] = field(default_factory=dict)


Function = Callable[[Any], Any]


class Machine:
    """The functions that an algorithm consists of."""

    def __init__(self, model: RoundModel) -> None:
        self.model = model
        self.places = {item.name: i for i, item in enumerate(model.variables)}
        self.shared_places = {item.name: i for i, item in enumerate(model.shared)}
        self.decision = len(model.variables)
        self.marks = self.decision + 1
        self.tags = {name: i + 1 for i, name in enumerate(model.tags)}
        self.sends = [self._send(item.send) for item in model.rounds]
        self.bodies = [self._block(item.body, self._finish) for item in (model.rounds or model.steps)]

    # -- one process -----------------------------------------------------------------------------------------------

    def initial(self, proposal: int) -> Process:
        """The first state of a process that proposes this value."""
        values = []
        for item in self.model.variables:
            match item.initial:
                case r.Proposal():
                    values.append(proposal)
                case r.Operation("singleton"):
                    values.append(1 << proposal - 1)
                case r.Truth(value):
                    values.append(int(value))
                case _:
                    values.append(0)
        return (*values, 0, 0)

    def initial_shared(self) -> tuple[int, ...]:
        return tuple(int(isinstance(item.initial, r.Truth) and item.initial.value) for item in self.model.shared)

    def message(self, number: int, context: Context) -> Message | None:
        """What the process sends in a round; None if it sends nothing."""
        send = self.sends[number]
        return None if send is None else send(context)

    def move(self, number: int, context: Context) -> list[Process]:
        """All states in which the process can be after the round, without repetition."""
        context.results = []
        self.bodies[number](context)
        return list(dict.fromkeys(context.results))

    def step(self, number: int, context: Context) -> list[tuple[Process, tuple[int, ...]]]:
        """All states of the process and the shared variables after a step of its own."""
        context.results = []
        self.bodies[number](context)
        return list(dict.fromkeys(context.results))

    def _finish(self, context: Context) -> None:
        local = tuple(context.local)
        context.results.append((local, tuple(context.shared)) if self.model.steps else local)

    def _send(self, send: r.Send | None) -> Callable[[Context], Message | None] | None:
        if send is None:
            return None
        condition = self.function(send.condition)
        items = [self.function(item) for item in send.items]

        def message(context: Context) -> Message | None:
            return tuple(item(context) for item in items) if condition(context) else None

        return message

    # -- statements: each calls the rest for every way in which it can go on ------------------------------------------

    def _block(self, statements: Sequence[Node], rest: Function) -> Function:
        for statement in reversed(statements):
            rest = self._statement(statement, rest)
        return rest

    def _statement(self, node: Node, rest: Function) -> Function:
        match node:
            case r.Assign(name, value):
                return self._assign(name, self.options(value), rest)
            case r.Decide(value):
                return self._decide(self.options(value), rest)
            case r.If(condition, then, otherwise):
                return self._if(condition, self._block(then, rest), self._block(otherwise, rest))
        raise AssertionError(node)

    def _assign(self, name: str, options: Function, rest: Function) -> Function:
        shared = name in self.shared_places
        place = self.shared_places[name] if shared else self.places[name]

        def assign(context: Context) -> None:
            found = options(context)
            if not found:
                rest(context)
                return
            into = context.shared if shared else context.local
            before = into[place]
            for value in found:
                into[place] = value
                rest(context)
            into[place] = before

        return assign

    def _decide(self, options: Function, rest: Function) -> Function:
        decision, marks = self.decision, self.marks

        def decide(context: Context) -> None:
            local = context.local
            before, marked = local[decision], local[marks]
            found = options(context)
            for value in found:
                if value == 0:
                    local[marks] = marked | EMPTY
                elif before == 0:
                    local[decision] = value
                elif before != value:
                    local[marks] = marked | REVOKED
                rest(context)
                local[decision], local[marks] = before, marked
            if not found:
                rest(context)

        return decide

    def _if(self, condition: Node, then: Function, otherwise: Function) -> Function:
        parts = list(r.conjuncts(condition))
        if not any(isinstance(part, r.Received | r.AllReceived) for part in parts):
            test = self.function(condition)

            def plain(context: Context) -> None:
                (then if test(context) else otherwise)(context)

            return plain
        bindings = self._bindings(parts)

        def binding(context: Context) -> None:
            found = bindings(context)
            outside = context.bound
            for bound in found:
                context.bound = bound
                then(context)
            context.bound = outside
            if not found:
                otherwise(context)

        return binding

    def _bindings(self, parts: Sequence[Node]) -> Function:
        """All ways to bind names such that every part of a condition holds."""
        steps = [self._binding(part) for part in parts]

        def bindings(context: Context) -> list[dict[str, int]]:
            outside = context.bound
            found = [outside]
            for step in steps:
                extended: list[dict[str, int]] = []
                for bound in found:
                    context.bound = bound
                    for new in step(context):
                        if new not in extended:
                            extended.append(new)
                found = extended
            context.bound = outside
            return found

        return bindings

    def _binding(self, node: Node) -> Function:
        if isinstance(node, r.Received):
            match = self._match(node.pattern)
            where = self.function(node.where)
            single = node.from_coordinator

            def received(context: Context) -> list[dict[str, int]]:
                outside = context.bound
                found = []
                messages = [context.from_coordinator] if single else [message for message, _ in context.messages]
                for message in messages:
                    bound = None if message is None else match(context, message)
                    if bound is not None:
                        context.bound = {**outside, **bound}
                        if context.bound not in found and where(context):
                            found.append(context.bound)
                        context.bound = outside
                return found

            return received
        if isinstance(node, r.AllReceived):
            match = self._match(node.pattern)

            def agreed(context: Context) -> list[dict[str, int]]:
                bounds = [match(context, message) for message, _ in context.messages]
                if not bounds or bounds[0] is None or any(bound != bounds[0] for bound in bounds):
                    return []
                return [{**context.bound, **bounds[0]}]

            return agreed
        test = self.function(node)
        return lambda context: [context.bound] if test(context) else []

    def _match(self, pattern: r.Pattern) -> Callable[[Context, Message], dict[str, int] | None]:
        """What a message binds, or None if it does not match."""
        tests = [
            (i, self.function(item))
            for i, item in enumerate(pattern.items)
            if not isinstance(item, r.Anything | r.Bind)
        ]
        names = [(i, item.name) for i, item in enumerate(pattern.items) if isinstance(item, r.Bind)]

        def match(context: Context, message: Message) -> dict[str, int] | None:
            for i, test in tests:
                if message[i] != test(context):
                    return None
            return {name: message[i] for i, name in names}

        return match

    # -- expressions -----------------------------------------------------------------------------------------------

    def options(self, node: Node) -> Function:
        """The values that an expression can have; more than one, or none, only where something is picked."""
        if isinstance(node, r.Choice):
            return self._choice(node)
        if isinstance(node, r.Operation) and any(isinstance(part, r.Choice) for part in node.walk()):
            parts = [self.options(item) for item in node.operands]
            names = tuple(f"@{i}" for i in range(len(parts)))
            inner = self.function(r.Operation(node.operator, tuple(r.Bound(name) for name in names)))

            def several(context: Context) -> list[int]:
                outside = context.bound
                found = []
                for values in product(*(part(context) for part in parts)):
                    context.bound = dict(zip(names, values, strict=True))
                    found.append(inner(context))
                context.bound = outside
                return list(dict.fromkeys(found))

            return several
        plain = self.function(node)
        return lambda context: [plain(context)]

    def _choice(self, node: r.Choice) -> Function:
        match = self._match(node.pattern)
        where = self.function(node.where)
        name, pick, extreme = node.name, node.pick, node.extreme

        def choose(context: Context) -> list[int]:
            outside = context.bound
            found: list[tuple[dict[str, int], int]] = []
            for message, count in context.kept if node.pattern.kept else context.messages:
                bound = match(context, message)
                if bound is not None:
                    context.bound = {**outside, **bound}
                    if where(context):
                        found.append((bound, count))
            context.bound = outside
            if pick == "union":
                union = 0
                for bound, _ in found:
                    union |= bound[name]
                return [union]
            if not found:
                return []
            if extreme is not None:
                best = (max if extreme[0] == "largest" else min)(bound[extreme[1]] for bound, _ in found)
                found = [item for item in found if item[0][extreme[1]] == best]
            if "frequent" in pick:
                counts: dict[int, int] = {}
                for bound, count in found:
                    counts[bound[name]] = counts.get(bound[name], 0) + count
                most = max(counts.values())
                values = [value for value, count in counts.items() if count == most]
            else:
                values = list(dict.fromkeys(bound[name] for bound, _ in found))
            if pick.startswith("smallest"):
                return [min(values)]
            if pick.startswith("largest"):
                return [max(values)]
            return values

        return choose

    def function(self, node: Node) -> Function:
        """An expression as a function of a context or, for formulas about all processes, of a world."""
        match node:
            case r.Number(value):
                return lambda c: value
            case r.Truth(value):
                return lambda c: value
            case r.Nothing():
                return lambda c: 0
            case r.Tag(name):
                number = self.tags[name]
                return lambda c: number
            case r.Myself():
                return lambda c: c.me
            case r.Coordinator(None):
                return lambda c: c.coordinator
            case r.Coordinator(of):
                assert of is not None
                whose = self.function(of)
                return lambda w: w.coordinators[whose(w)]
            case r.Phase():
                return lambda c: c.phase
            case r.Parameter("n"):
                return lambda c: c.n
            case r.Parameter(name):
                return lambda c: c.parameters[name]
            case r.Local(name):
                if name in self.shared_places:
                    place = self.shared_places[name]
                    return lambda c: c.shared[place]
                return _read(self.places[name])
            case r.VariableOf(name, process):
                which = self.function(process)
                return _read_of(self.decision if name == "decision" else self.places[name], which)
            case r.Bound(name):
                return lambda c: c.bound[name]
            case r.Count(pattern):
                match, kept = self._match(pattern), pattern.kept
                return lambda c: sum(
                    count for message, count in (c.kept if kept else c.messages) if match(c, message) is not None
                )
            case r.Received() | r.AllReceived():
                bindings = self._binding(node)
                return lambda c: bool(bindings(c))
            case r.Quantified(universal, names, body):
                return self._quantified(universal, names, self.function(body))
            case r.Counting(name, body):
                return self._counting(name, self.function(body))
            case r.Operation():
                return self._operation(node)
            case r.Member(element, group):
                which, members = self.function(element), self._heard(group)
                return lambda w: bool(members(w) >> which(w) & 1)
            case r.Size(group):
                members = self._heard(group)
                return lambda w: members(w).bit_count()
            case r.Related(relation, left, right):
                first, second = self._heard(left), self._heard(right)
                if relation == "meets":
                    return lambda w: bool(first(w) & second(w))
                if relation == "=":
                    return lambda w: first(w) == second(w)
                return lambda w: not first(w) & ~second(w)
        raise AssertionError(node)

    def _heard(self, node: r.HeardOf) -> Function:
        number = node.round - 1
        if node.process is None:

            def kernel(world: World) -> int:
                members = -1
                for group in world.heard[number]:
                    members &= group
                return members

            return kernel
        which = self.function(node.process)
        return lambda w: w.heard[number][which(w)]

    def _running(self, world: World) -> list[int]:
        """Those that a formula speaks of: processes that have crashed have no state any more."""
        return [p for p in range(world.n) if not world.processes or not world.processes[p][self.marks] & CRASHED]

    def _quantified(self, universal: bool, names: tuple[str, ...], body: Function) -> Function:
        def holds(world: World) -> bool:
            outside = world.bound
            found = universal
            for values in product(self._running(world), repeat=len(names)):
                world.bound = {**outside, **dict(zip(names, values, strict=True))}
                if bool(body(world)) != universal:
                    found = not universal
                    break
            world.bound = outside
            return found

        return holds

    def _counting(self, name: str, body: Function) -> Function:
        def count(world: World) -> int:
            outside = world.bound
            found = 0
            for p in self._running(world):
                world.bound = {**outside, name: p}
                found += bool(body(world))
            world.bound = outside
            return found

        return count

    def _operation(self, node: r.Operation) -> Function:
        operator = node.operator
        if operator in ("=", "!=", "<", "<=", ">", ">="):
            return self._comparison(node)
        if operator in ("+", "-", "*", "/", "max", "min"):
            number, denominator = self._number(node)
            if denominator == 1:
                return number
            from fractions import Fraction

            return lambda c: Fraction(number(c), denominator)
        parts = [self.function(item) for item in node.operands]
        first = parts[0]
        second = parts[1] if len(parts) > 1 else parts[0]
        simple: dict[str, Function] = {
            "not": lambda c: not first(c),
            "and": lambda c: all(part(c) for part in parts),
            "or": lambda c: any(part(c) for part in parts),
            "->": lambda c: not first(c) or second(c),
            "union": lambda c: first(c) | second(c),
            "in": lambda c: bool(first(c)) and bool(second(c) >> first(c) - 1 & 1),
            "smallest": lambda c: (first(c) & -first(c)).bit_length(),
            "largest": lambda c: first(c).bit_length(),
            "size": lambda c: first(c).bit_count(),
            "singleton": lambda c: 1 << first(c) - 1 if first(c) else 0,
        }
        return simple[operator]

    def _comparison(self, node: r.Operation) -> Function:
        (left, low), (right, high) = (self._number(item) for item in node.operands)
        first: Function = left if high == 1 else lambda c: left(c) * high
        second: Function = right if low == 1 else lambda c: right(c) * low
        simple: dict[str, Function] = {
            "=": lambda c: first(c) == second(c),
            "!=": lambda c: first(c) != second(c),
            "<": lambda c: first(c) < second(c),
            "<=": lambda c: first(c) <= second(c),
            ">": lambda c: first(c) > second(c),
            ">=": lambda c: first(c) >= second(c),
        }
        return simple[node.operator]

    def _number(self, node: Node) -> tuple[Function, int]:
        """An expression times its denominator, so that all arithmetic is on integers."""
        if not isinstance(node, r.Operation) or node.operator not in ("+", "-", "*", "/", "max", "min"):
            return self.function(node), 1
        parts = [self._number(item) for item in node.operands]
        if node.operator == "/":
            (left, low), divisor = parts[0], node.operands[1]
            assert isinstance(divisor, r.Number)
            return left, low * divisor.value
        if node.operator == "*":
            (left, low), (right, high) = parts
            return lambda c: left(c) * right(c), low * high
        common = 1
        for _, denominator in parts:
            common *= denominator
        scaled = [(part, common // denominator) for part, denominator in parts]
        if node.operator in ("max", "min"):
            pick = max if node.operator == "max" else min
            return lambda c: pick(part(c) * factor for part, factor in scaled), common
        (left, low), (right, high) = scaled
        if node.operator == "+":
            return lambda c: left(c) * low + right(c) * high, common
        return lambda c: left(c) * low - right(c) * high, common


def _read(place: int) -> Function:
    """A variable of the process; a negative number marks one that has been forgotten."""

    def read(context: Context) -> int:
        value = context.local[place]
        if value < 0:
            raise Forgotten(value)
        return value

    return read


def _read_of(place: int, which: Function) -> Function:
    def read(world: World) -> int:
        value = world.processes[which(world)][place]
        if value < 0:
            raise Forgotten(value)
        return value

    return read


def setting(model: RoundModel, n: int, given: Mapping[str, int]) -> dict[str, int]:
    """The values of the parameters for n processes: those given, defaults for the others; checked against `with`."""
    if n < 1:
        raise RoundsError("there has to be a process")
    machine = Machine(model)
    values: dict[str, int] = {}
    unknown = set(given) - {item.name for item in model.parameters}
    if unknown:
        names = ", ".join(item.name for item in model.parameters) or "none"
        raise RoundsError(f"there is no parameter {sorted(unknown)[0]!r}; the parameters are: {names}")
    for item in model.parameters:
        world = World(n, values, 1, ())
        if item.name in given:
            values[item.name] = given[item.name]
        elif item.default is not None:
            values[item.name] = int(machine.function(item.default)(world))
        else:
            raise RoundsError(f"the parameter {item.name} has no value; add --set {item.name}=NUMBER")
    for item in model.parameters:
        if values[item.name] < 0 or not machine.function(item.constraint)(World(n, values, 1, ())):
            raise RoundsError(f"{item.name} = {values[item.name]} is not allowed for n = {n}")
    return values


def settings(model: RoundModel, n: int) -> Iterable[dict[str, int]]:
    """All values of the parameters that are allowed for n processes, each up to n."""
    names = [item.name for item in model.parameters]
    for values in product(range(n + 1), repeat=len(names)):
        try:
            yield setting(model, n, dict(zip(names, values, strict=True)))
        except RoundsError:
            continue


BUILT_IN_FORMULAS: dict[str, Callable[[Machine, Sequence[Process]], bool]] = {
    "agreement": lambda machine, processes: (
        len({process[machine.decision] for process in processes} - {0}) <= 1
        and not any(process[machine.marks] & REVOKED for process in processes)
    ),
    "validity": lambda machine, processes: not any(process[machine.marks] & EMPTY for process in processes),
    "irrevocability": lambda machine, processes: not any(process[machine.marks] & REVOKED for process in processes),
    "termination": lambda machine, processes: all(
        process[machine.decision] or process[machine.marks] & CRASHED for process in processes
    ),
}
