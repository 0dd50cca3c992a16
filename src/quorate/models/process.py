"""A protocol as one process that runs in any number of copies: what a Mercury program is.

Follows QuickSilver (Jaber et al., OOPSLA 2021): locations with event handlers, synchronous rendezvous and broadcast, an
environment, and agreement as two primitives, `Partition` and `Consensus`.  Read `process_semantics` next for what a
program does, `process_steps` for its handlers as guarded steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from quorate.models.relational import Expectation
from quorate.models.source import Source, Span

# -- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class ProcessCount:
    """`N`, the number of processes, crashed ones included."""


@dataclass(frozen=True)
class Read:
    """The value of a variable of the process, or of one of its registers (see `ProcessModel.registers`)."""

    name: str


@dataclass(frozen=True)
class Self:
    """The process's own identity."""


@dataclass(frozen=True)
class AllProcesses:
    """The processes that have not crashed."""


@dataclass(frozen=True)
class NoProcesses:
    pass


@dataclass(frozen=True)
class Truth:
    value: bool


@dataclass(frozen=True)
class Arithmetic:
    """`+`, `-`, `*` or `/` (rounded down; a division by zero gives 0)."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Comparison:
    """`=`, `!=`, `<`, `<=`, `>` or `>=` between integers; `=` and `!=` also between identities and truth values."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negation:
    operand: Expression


@dataclass(frozen=True)
class Junction:
    """`&` (all of the operands) or `|` (one of them)."""

    operator: str
    operands: tuple[Expression, ...]


Expression = (
    Number
    | ProcessCount
    | Read
    | Self
    | AllProcesses
    | NoProcesses
    | Truth
    | Arithmetic
    | Comparison
    | Negation
    | Junction
)


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it."""
    yield expression
    if isinstance(expression, Arithmetic | Comparison):
        yield from parts(expression.left)
        yield from parts(expression.right)
    elif isinstance(expression, Negation):
        yield from parts(expression.operand)
    elif isinstance(expression, Junction):
        for operand in expression.operands:
            yield from parts(operand)


def arithmetic(operator: str, left: int, right: int) -> int:
    """What an arithmetic operator computes."""
    if operator == "/":
        return left // right if right else 0
    return left + right if operator == "+" else left - right if operator == "-" else left * right


def compare(operator: str, left: object, right: object) -> bool:
    """What a comparison says; only integers are ordered."""
    if operator in ("=", "!="):
        return (left == right) == (operator == "=")
    assert isinstance(left, int) and isinstance(right, int)
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def constant(expression: Expression, processes: int) -> int:
    """The value of a bound: numbers and `N` only."""
    match expression:
        case Number(value):
            return value
        case ProcessCount():
            return processes
        case Arithmetic(operator, left, right):
            return arithmetic(operator, constant(left, processes), constant(right, processes))
    raise ValueError(f"not a constant: {expression}")


def wrap(value: int, low: int, high: int) -> int:
    """A value outside the range of an integer counts on from the other end."""
    return low + (value - low) % (high - low + 1)


# -- statements and handlers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign:
    variable: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class SetUpdate:
    """Adds or removes one process or, where `many` is set, all processes of a set."""

    operation: Literal["add", "remove"]
    variable: str
    value: Expression
    many: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Send:
    """A broadcast, or a rendezvous with `target` (with any process where it is None; with the environment otherwise)."""

    action: str
    broadcast: bool
    payload: Expression | None = None
    target: Expression | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Goto:
    """Ends the handler; the process is in another location from now on."""

    location: str
    span: Span | None = field(default=None, compare=False, repr=False)


Statement = Assign | SetUpdate | Send | If | Goto


@dataclass(frozen=True)
class Internal:
    """`_`: the process acts on its own."""


@dataclass(frozen=True)
class Receive:
    action: str


@dataclass(frozen=True)
class Partition:
    """The participants agree on `winners` of them (on all, if they are fewer)."""

    name: str
    participants: Expression
    winners: int
    implementation: str | None = None


@dataclass(frozen=True)
class Consensus:
    """The participants agree on a value that one of them proposes: the value of the variable `proposal`."""

    name: str
    participants: Expression
    proposal: str | None
    implementation: str | None = None


Event = Internal | Receive | Partition | Consensus


@dataclass(frozen=True)
class Handler:
    """What a process does at an event.  `lose` is the second body of a `Partition`, and None elsewhere.

    `reply` says that the text has the short form `on recv(a) reply b`.
    """

    event: Event
    guard: Expression | None
    body: tuple[Statement, ...]
    lose: tuple[Statement, ...] | None = None
    reply: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Location:
    """`passive` lists actions that are received without effect, and agreements that leave the process alone."""

    name: str
    handlers: tuple[Handler, ...]
    passive: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


# -- declarations --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    """An integer from `low` to `high`, the identity of a process (undefined at first) or a set of processes (empty)."""

    name: str
    kind: Literal["int", "id", "set"]
    low: Expression = Number(0)
    high: Expression = Number(0)
    initial: Expression = Number(0)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def counts(self) -> bool:
        """Does its range depend on the number of processes?"""
        return any(
            isinstance(part, ProcessCount) for bound in (self.low, self.high, self.initial) for part in parts(bound)
        )


@dataclass(frozen=True)
class Action:
    """A message: broadcast or rendezvous, perhaps with the environment, perhaps with an integer."""

    name: str
    broadcast: bool
    environment: bool
    bounds: tuple[Expression, Expression] | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Descriptor:
    """Processes in a location whose variables satisfy a predicate."""

    location: str
    predicate: Expression | None = None


@dataclass(frozen=True)
class Count:
    """At most (or at least) so many processes satisfy one of the descriptors."""

    most: bool
    number: int
    descriptors: tuple[Descriptor, ...]


@dataclass(frozen=True)
class Combination:
    """`&`, `|` or `!` of specifications."""

    operator: str
    operands: tuple[Specification, ...]


Specification = Count | Combination


@dataclass(frozen=True)
class Property:
    """What must hold in every reachable state."""

    name: str
    specification: Specification
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ProcessModel:
    """A Mercury program.  Equality ignores where things stand in the text."""

    name: str
    variables: tuple[Variable, ...]
    actions: tuple[Action, ...]
    locations: tuple[Location, ...]
    safety: tuple[Property, ...]
    crash_locations: tuple[str, ...] = ()
    crash_actions: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = field(default=(), compare=False)
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def initial(self) -> Location:
        return self.locations[0]

    def action(self, name: str) -> Action:
        return next(action for action in self.actions if action.name == name)

    def location(self, name: str) -> Location:
        return next(location for location in self.locations if location.name == name)

    @cached_property
    def handlers(self) -> tuple[tuple[Location, Handler], ...]:
        return tuple((location, handler) for location in self.locations for handler in location.handlers)

    @cached_property
    def crashing(self) -> frozenset[str]:
        """The locations in which a process may crash: those listed, and those with a handler for a listed event."""
        named = set(self.crash_locations)
        for location, handler in self.handlers:
            event = handler.event
            name = event.action if isinstance(event, Receive) else getattr(event, "name", None)
            if name in self.crash_actions:
                named.add(location.name)
        return frozenset(named)

    @cached_property
    def registers(self) -> tuple[Variable, ...]:
        """What agreements and messages leave in a process, as variables, as far as the program reads it.

        `p.winS`, `p.loseS`: winners and losers of its last partition `p`.  `c.decVar`: the value that `c` decided last.
        `a.payld`, `a.sID`: number and sender of the message that it received last.
        """
        read = {name for _, handler in self.handlers for name in reads_of(handler)}
        found: dict[str, Variable] = {}
        for _, handler in self.handlers:
            event = handler.event
            if isinstance(event, Partition):
                for name in (f"{event.name}.winS", f"{event.name}.loseS"):
                    found[name] = Variable(name, "set")
            elif isinstance(event, Consensus):
                name = f"{event.name}.decVar"
                low, high = self.decided_range(event.name)
                found[name] = Variable(name, "int", low, high, low)
        for action in self.actions:
            if action.bounds is not None:
                name = f"{action.name}.payld"
                found[name] = Variable(name, "int", *action.bounds, action.bounds[0])
            if not action.environment:
                found[f"{action.name}.sID"] = Variable(f"{action.name}.sID", "id")
        return tuple(variable for name, variable in found.items() if name in read)

    @cached_property
    def lasting(self) -> frozenset[str]:
        """Registers that keep their value when the handler that set them is done, because another handler reads them.

        All others are forgotten then, which no program can notice.  Winners and losers always last.
        """
        names = {variable.name for variable in self.registers if variable.kind == "set"}
        for _, handler in self.handlers:
            event = handler.event
            own = event.action if isinstance(event, Receive) else getattr(event, "name", None)
            names |= {name for name in reads_of(handler) if "." in name and name.split(".")[0] != own}
        return frozenset(names & {variable.name for variable in self.registers})

    @cached_property
    def all_variables(self) -> tuple[Variable, ...]:
        """Declared variables and registers."""
        return self.variables + self.registers

    def variable(self, name: str) -> Variable:
        return next(variable for variable in self.all_variables if variable.name == name)

    def decided_range(self, consensus: str) -> tuple[Expression, Expression]:
        """The range of what a consensus may decide: that of the variables that propose."""
        proposed = {
            handler.event.proposal
            for _, handler in self.handlers
            if isinstance(handler.event, Consensus) and handler.event.name == consensus and handler.event.proposal
        }
        ranges = {(v.low, v.high) for v in self.variables if v.name in proposed}
        if len(ranges) == 1:
            return next(iter(ranges))
        numbers = [
            (low.value, high.value) for low, high in ranges if isinstance(low, Number) and isinstance(high, Number)
        ]
        low, high = min((n[0] for n in numbers), default=0), max((n[1] for n in numbers), default=0)
        return Number(low), Number(high)

    def unfit(self, processes: int) -> str | None:
        """Why the program makes no sense with so many processes: a range is empty then, or a first value lies outside."""
        ranges = [(v.name, v.low, v.high) for v in self.all_variables if v.kind == "int"]
        ranges += [(action.name, *action.bounds) for action in self.actions if action.bounds is not None]
        many = f"{processes} process{'es' * (processes != 1)}"
        for name, low, high in ranges:
            if constant(low, processes) > constant(high, processes):
                return f"the range of {name} is empty with {many}"
        for v in self.variables:
            first = constant(v.initial, processes)
            if v.kind == "int" and not constant(v.low, processes) <= first <= constant(v.high, processes):
                return f"the first value of {v.name} is out of its range with {many}"
        return None

    @cached_property
    def implementations(self) -> dict[str, list[str]]:
        """The files that are to implement agreements, each with the names of these."""
        found: dict[str, list[str]] = {}
        for _, handler in self.handlers:
            event = handler.event
            if isinstance(event, Partition | Consensus) and event.implementation is not None:
                names = found.setdefault(event.implementation, [])
                names += [event.name] * (event.name not in names)
        return found

    @cached_property
    def counts_processes(self) -> bool:
        """Does the program speak of `N`?"""
        expressions = [e for _, handler in self.handlers for e in expressions_of(handler)]
        return any(variable.counts for variable in self.all_variables) or any(
            isinstance(part, ProcessCount) for expression in expressions for part in parts(expression)
        )


def expressions_of(handler: Handler) -> Iterator[Expression]:
    """Every expression in a handler."""
    if handler.guard is not None:
        yield handler.guard
    if isinstance(handler.event, Partition | Consensus):
        yield handler.event.participants
    for body in (handler.body, handler.lose or ()):
        for statement in statements_of(body):
            match statement:
                case Assign(_, value) | SetUpdate(_, _, value):
                    yield value
                case Send(_, _, payload, target):
                    yield from (item for item in (payload, target) if item is not None)
                case If(condition):
                    yield condition


def statements_of(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a body, those inside of conditionals included."""
    for statement in body:
        yield statement
        if isinstance(statement, If):
            yield from statements_of(statement.then)
            yield from statements_of(statement.otherwise)


def reads_of(handler: Handler) -> frozenset[str]:
    """The variables and registers that a handler reads."""
    names = {part.name for e in expressions_of(handler) for part in parts(e) if isinstance(part, Read)}
    if isinstance(handler.event, Consensus) and handler.event.proposal is not None:
        names.add(handler.event.proposal)
    return frozenset(names)
