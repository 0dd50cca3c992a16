"""The surface tree of Ivy files: declarations and statements as they stand in the text.

Names are dotted strings, relative to where they stand; `modules` makes them absolute.  Read `grammar` for how the text
is read and `modules` for what becomes of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quorate.lang.reader import Binder, Expression, Reference
from quorate.models.source import Span

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
    """A sort; `elements` for an enumeration or a range of numbers."""

    name: str
    elements: tuple[str, ...] | Range = ()


@dataclass(frozen=True)
class Interpretation(Declaration):
    """`interpret t -> target`, where the target is `int`, `nat`, `bv[n]`, an enumeration, a range or something else."""

    name: str
    target: str | tuple[str, ...] | Range


@dataclass(frozen=True)
class SymbolDeclaration(Declaration):
    """A relation, function or constant; `value` if it is defined on the spot."""

    name: str
    arguments: tuple[Binder, ...]
    sort: str | None
    value: Expression | None = None


@dataclass(frozen=True)
class DefinitionDeclaration(Declaration):
    """`definition f(X) = e`, or `derived f(X) = e`, which also declares f."""

    name: str
    arguments: tuple[Binder, ...]
    value: Expression
    declares: bool


@dataclass(frozen=True)
class FormulaDeclaration(Declaration):
    """`kind` is axiom, property, invariant, safety or init."""

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
    name: str
    parameters: tuple[str, ...]
    body: tuple[Declaration, ...]


@dataclass(frozen=True)
class Instantiation(Declaration):
    """`instantiate m(...)`, or with a name under which the members are found."""

    name: str | None
    module: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class ObjectDeclaration(Declaration):
    """An object or isolate; without a name just a group of declarations (`specification {...}`)."""

    name: str | None
    body: tuple[Declaration, ...]
    trusted: bool = False
