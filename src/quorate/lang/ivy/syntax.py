"""The surface tree of Ivy files: declarations and statements as they stand in the text.

Names are dotted strings, relative to where they stand; `modules` makes them absolute.  Read `grammar` for how the text
is read and `modules` for what becomes of the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from quorate.lang.reader import Binder, Expression, Reference
from quorate.models.source import Span

UNSORTED = "?"
"""In place of a sort that the first versions of Ivy leave out."""

MonitorKind = Literal["before", "after", "implement"]
Direction = Literal["export", "import"]


@dataclass(frozen=True)
class Statement:
    """Base of the statements."""

    span: Span


@dataclass(frozen=True)
class Condition(Statement):
    """`require`, `assume`, `ensure` or `assert`."""

    kind: str
    label: str | None
    formula: Expression


@dataclass(frozen=True)
class Assignment(Statement):
    """`target := value`; several targets take the results of one call; no value is `*`, anything at all."""

    targets: tuple[Reference, ...]
    value: Expression | None


@dataclass(frozen=True)
class Invocation(Statement):
    """A call for its effects."""

    call: Reference


@dataclass(frozen=True)
class IfStatement(Statement):
    """`if`; no condition is `*`, either branch."""

    condition: Expression | None
    then: Block
    otherwise: Block | None


@dataclass(frozen=True)
class IfSome(Statement):
    """`if some x:t. p(x) {...} else {...}`: the first branch for any one such x, the second if there is none."""

    binders: tuple[Binder, ...]
    condition: Expression
    then: Block
    otherwise: Block | None


@dataclass(frozen=True)
class Block(Statement):
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Local(Statement):
    """A variable for the rest of its block, perhaps with arguments; without a value it may be anything."""

    name: str
    arguments: tuple[Binder, ...]
    sort: str | None
    value: Expression | None


@dataclass(frozen=True)
class MacroUse(Statement):
    """`instantiate m(...)` inside an action."""

    name: str
    arguments: tuple[Expression, ...]


def required(block: Block) -> Block:
    """The block with `require` for `assert`: before 1.7 what is asserted before an action is up to its caller."""
    made: list[Statement] = []
    for statement in block.statements:
        match statement:
            case Condition(kind="assert"):
                made.append(replace(statement, kind="require"))
            case IfStatement(_, _, then, otherwise) | IfSome(_, _, _, then, otherwise):
                made.append(replace(statement, then=required(then), otherwise=otherwise and required(otherwise)))
            case Block():
                made.append(required(statement))
            case _:
                made.append(statement)
    return Block(block.span, tuple(made))


@dataclass(frozen=True)
class Declaration:
    """Base of the declarations."""

    span: Span


@dataclass(frozen=True)
class Range:
    """`{low..high}`."""

    low: int
    high: int


@dataclass(frozen=True)
class TypeDeclaration(Declaration):
    """A sort; `elements` for an enumeration or a range of numbers; `extent` is `finite` or `unbounded` if the text says so."""

    name: str
    elements: tuple[str, ...] | Range = ()
    extent: str | None = None


@dataclass(frozen=True)
class Interpretation(Declaration):
    """`interpret t -> target`, where the target is `int`, `nat`, `bv[n]`, an enumeration, a range or something else."""

    name: str
    target: str | tuple[str, ...] | Range

    @property
    def width(self) -> int | None:
        """How many bits there are, if the target is a narrow bit vector."""
        vector = re.fullmatch(r"bv\[([1-4])\]", self.target) if isinstance(self.target, str) else None
        return None if vector is None else int(vector.group(1))

    @property
    def is_known(self) -> bool:
        """Can the target be represented?"""
        return not isinstance(self.target, str) or self.target == "int" or self.width is not None


@dataclass(frozen=True)
class SymbolDeclaration(Declaration):
    """A relation, function or constant; `value` if it is defined on the spot."""

    name: str
    arguments: tuple[Binder, ...]
    sort: str | None
    value: Expression | None = None


@dataclass(frozen=True)
class FieldDeclaration(Declaration):
    """A field of a struct: a function whose first argument is the struct."""

    name: str
    arguments: tuple[Binder, ...]
    sort: str


@dataclass(frozen=True)
class DefinitionDeclaration(Declaration):
    """`definition f(X) = e`, or `derived f(X) = e`, which also declares f."""

    name: str
    arguments: tuple[Binder, ...]
    value: Expression
    declares: bool


@dataclass(frozen=True)
class FormulaDeclaration(Declaration):
    """`kind` is axiom, property, invariant, safety, init, temporal, liveness or fairness."""

    kind: str
    label: str | None
    formula: Expression


@dataclass(frozen=True)
class ActionDeclaration(Declaration):
    name: str
    parameters: tuple[Binder, ...]
    results: tuple[Binder, ...]
    body: Block | None


@dataclass(frozen=True)
class Monitor(Declaration):
    """`before`, `after` or `implement`; without lists of its own it uses the names of the action's parameters."""

    kind: MonitorKind
    name: str
    parameters: tuple[Binder, ...] | None
    results: tuple[Binder, ...] | None
    body: Block


@dataclass(frozen=True)
class Mixin(Declaration):
    """`mixin a before b`: the code of an action runs before or after another one."""

    kind: MonitorKind
    mixer: str
    name: str


@dataclass(frozen=True)
class Initialization(Declaration):
    """`after init {...}`."""

    body: Block


@dataclass(frozen=True)
class Boundary(Declaration):
    """`export` or `import`: who may call an action, who provides it."""

    kind: Direction
    name: str


@dataclass(frozen=True)
class Alias(Declaration):
    """`alias a = b.c`: another name for a sort, symbol, action or object."""

    name: str
    target: str


@dataclass(frozen=True)
class MacroDeclaration(Declaration):
    name: str
    parameters: tuple[str, ...]
    body: Block


@dataclass(frozen=True)
class ModuleDeclaration(Declaration):
    """`assumed` says what is taken for granted about its instances, if they stand for an implementation left out."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Declaration, ...]
    assumed: str | None = None


@dataclass(frozen=True)
class Instantiation(Declaration):
    """`instantiate m(...)`, or with a name under which the members are found, one instance for each index."""

    name: str | None
    module: str
    arguments: tuple[Expression, ...]
    indices: tuple[Binder, ...] = ()


@dataclass(frozen=True)
class ObjectDeclaration(Declaration):
    """An object or isolate, one for each index; without a name just a group of declarations (`specification {...}`)."""

    name: str | None
    body: tuple[Declaration, ...]
    trusted: bool = False
    indices: tuple[Binder, ...] = ()
    implementation: bool = False
