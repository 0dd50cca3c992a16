"""A round-based algorithm: what every process keeps, sends and does with what it hears, round after round.

The model is the Heard-Of model of Charron-Bost and Schiper (Distributed Computing 22, 2009): in a round every process sends,
hears of some processes, and moves to a new state; a phase is a fixed sequence of rounds, in which every process has a
coordinator.  docs/rounds.md says what each construct means; `evaluation` says it again in code.

There are no names of processes, so processes are interchangeable; values are only copied and compared, so whatever is decided
was proposed by somebody (or is `?`, which `validity` forbids).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Literal

from quorate.models.relational import Expectation
from quorate.models.source import Source, Span

Kind = Literal["value", "optional", "bool", "time", "set", "process", "number", "tag"]
"""`optional` is a value or `?`; `time` is the number of a phase, 0 before the first; `set` is a set of values."""


# -- expressions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """Part of a definition.  Equality ignores where it stands in the text."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        for item in fields(self):
            value = getattr(self, item.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Node):
                    yield part

    def walk(self) -> Iterator[Node]:
        """This node and everything in it."""
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True)
class Number(Node):
    value: int


@dataclass(frozen=True)
class Truth(Node):
    value: bool


@dataclass(frozen=True)
class Nothing(Node):
    """`?`: no value."""


@dataclass(frozen=True)
class Proposal(Node):
    """The value that the process proposes; only in initial values."""


@dataclass(frozen=True)
class Tag(Node):
    """A constant that messages carry, like `ack`."""

    name: str


@dataclass(frozen=True)
class Myself(Node):
    """`self`: the process that acts."""


@dataclass(frozen=True)
class Coordinator(Node):
    """The coordinator, in this phase, of the process that acts or of another."""

    of: Node | None = None


@dataclass(frozen=True)
class Phase(Node):
    """The number of the current phase, from 1."""


@dataclass(frozen=True)
class Parameter(Node):
    """`n`, the number of processes, or a declared parameter."""

    name: str


@dataclass(frozen=True)
class Local(Node):
    """A variable of the process that acts, or a shared one."""

    name: str


@dataclass(frozen=True)
class VariableOf(Node):
    """A variable of another process, in properties; `decision` is one."""

    name: str
    process: Node


@dataclass(frozen=True)
class Bound(Node):
    """A name bound by a pattern, a quantifier or `univalent`."""

    name: str


@dataclass(frozen=True)
class Operation(Node):
    """`and or not -> = != < <= > >= + - * / max min in smallest largest size singleton union`."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Quantified(Node):
    """Over processes."""

    universal: bool
    names: tuple[str, ...]
    body: Node


@dataclass(frozen=True)
class Counting(Node):
    """`#{q : F}`: the number of processes for which F holds."""

    name: str
    body: Node


# -- messages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anything(Node):
    """`_` in a pattern."""


@dataclass(frozen=True)
class Bind(Node):
    """A name in a pattern that stands for whatever the message has there."""

    name: str


@dataclass(frozen=True)
class Pattern(Node):
    """`<a, _, v>`: what a message must look like; an item is an expression, `_` or a name being bound.

    `kept`: not only messages received now, but the last one that was ever received from each process in this round.
    """

    items: tuple[Node, ...]
    kept: bool = False


@dataclass(frozen=True)
class Count(Node):
    """`#<...>`: the number of messages received that match."""

    pattern: Pattern


Pick = Literal[
    "one", "smallest", "largest", "smallest most frequent", "largest most frequent", "most frequent", "union"
]


@dataclass(frozen=True)
class Choice(Node):
    """`PICK v of <v, t> [with largest t] [where F]`: a value from the messages received that match.

    Where several qualify any of them may be taken; where none does, the statement that it stands in does nothing.  The union
    of no sets is empty.
    """

    pick: Pick
    name: str
    pattern: Pattern
    extreme: tuple[str, str] | None
    where: Node


@dataclass(frozen=True)
class Received(Node):
    """`<v> received [from coordinator] [with F]`: there is such a message; its names are bound where this holds."""

    pattern: Pattern
    from_coordinator: bool
    where: Node


@dataclass(frozen=True)
class AllReceived(Node):
    """`all received are <v>`: there is a message, and all messages agree with it wherever the pattern says something."""

    pattern: Pattern


# -- heard-of sets, in communication predicates --------------------------------------------------------------------------


@dataclass(frozen=True)
class HeardOf(Node):
    """`HO(p, r)`: the processes that p hears of in the r-th round from the start of the phase; with r only, `kernel(r)`."""

    process: Node | None
    round: int


@dataclass(frozen=True)
class Member(Node):
    element: Node
    group: HeardOf


@dataclass(frozen=True)
class Size(Node):
    group: HeardOf


@dataclass(frozen=True)
class Related(Node):
    """`HO(p, r) meets HO(q, s)`, or `=`, or `<=` (is a subset of)."""

    relation: Literal["meets", "=", "<="]
    left: HeardOf
    right: HeardOf


# -- statements ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign(Node):
    name: str
    value: Node


@dataclass(frozen=True)
class Decide(Node):
    value: Node


@dataclass(frozen=True)
class If(Node):
    """Names bound by `Received` and `AllReceived` among the conjuncts of the condition are known in `then`."""

    condition: Node
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True)
class Send(Node):
    """What is sent, if the condition holds, to whom."""

    items: tuple[Node, ...]
    to: Literal["all", "coordinator"]
    condition: Node


@dataclass(frozen=True)
class Round(Node):
    name: str
    send: Send | None
    body: tuple[Node, ...]


# -- the model -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    name: str
    kind: Kind
    initial: Node
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ParameterDeclaration:
    """A number that a run has fixed, from 0 up, with what is assumed of it and what it is if nobody says."""

    name: str
    constraint: Node
    default: Node | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Faults:
    """What may go wrong, where no heard-of set may be arbitrary.

    `crashes`: rounds are synchronous; at most `bound` processes stop, each during a round in which any of the others may
    still hear it.  `omissions`: in the first `rounds` rounds messages between different processes may be lost, at most
    `bound` in all; later everything is heard.  None stands for no limit.
    """

    kind: Literal["crashes", "omissions"]
    bound: Node | None
    rounds: Node | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Property:
    """Something to be shown.  The formula of `agreement`, `validity`, `irrevocability` and `termination` is their own."""

    name: str
    formula: Node | None
    span: Span | None = field(default=None, compare=False, repr=False)


BUILT_IN = ("agreement", "validity", "irrevocability", "termination")


@dataclass(frozen=True)
class RoundModel:
    """A round-based algorithm, or, where it has `steps`, processes that act one by one on shared variables."""

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    tags: tuple[str, ...]
    variables: tuple[Variable, ...]
    shared: tuple[Variable, ...]
    rounds: tuple[Round, ...]
    steps: tuple[Round, ...]
    phases: Node | None
    """How many phases a run has; None if it goes on for ever."""
    safe: Node
    sync: Node | None
    faults: Faults | None
    safety: tuple[Property, ...]
    invariants: tuple[Property, ...]
    univalent: tuple[str, Node] | None
    """`U(v)`: the name of the value, and what guarantees that no other will be decided."""
    expectations: tuple[Expectation, ...] = field(default=(), compare=False)
    source: Source | None = field(default=None, compare=False, repr=False)

    language: Literal["rounds"] = "rounds"

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every variable."""
        return {item.name: item.kind for item in (*self.variables, *self.shared)}

    def formulas(self) -> Iterator[Node]:
        """What is said about states: properties, lemmas and U(v)."""
        for item in (*self.safety, *self.invariants):
            if item.formula is not None:
                yield item.formula
        if self.univalent is not None:
            yield self.univalent[1]

    def nodes(self) -> Iterator[Node]:
        """Everything that the rounds and steps consist of."""
        for item in (*self.rounds, *self.steps):
            yield from item.walk()

    @property
    def keeps_messages(self) -> bool:
        """Do processes look at messages of earlier phases?"""
        return any(isinstance(node, Pattern) and node.kept for node in self.nodes())

    @property
    def uses_coordinators(self) -> bool:
        """Does it ever matter who coordinates whom: to a process, or to what is heard?"""
        predicates = [node for predicate in (self.safe, self.sync) if predicate for node in predicate.walk()]
        return any(
            isinstance(node, Coordinator)
            or (isinstance(node, Send) and node.to == "coordinator")
            or (isinstance(node, Received) and node.from_coordinator)
            for node in (*self.nodes(), *predicates)
        )


def conjuncts(node: Node) -> Iterator[Node]:
    """The parts of a conjunction."""
    if isinstance(node, Operation) and node.operator == "and":
        for operand in node.operands:
            yield from conjuncts(operand)
    elif node != Truth(True):
        yield node
