"""The code of Ivy actions, executed statement by statement.

Calls inside a statement are performed first, from left to right, and their results take their places.  A program variable is a
table like a symbol, so that what it may be is chosen when somebody looks.  A failing assertion ends the run with `Failure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from quorate.models.source import Span
from quorate.proof.twins import TwinError
from quorate.proof.twins.choices import Choices
from quorate.proof.twins.expressions import Application, Constant, Entry, Node, Run, Variable, World
from quorate.proof.twins.states import Arguments, Domains, Function, Kind, Table, Value, sort_of


class Cell(Variable):
    """A variable of the code, which can be assigned; a local function has arguments."""

    __slots__ = ("arguments", "sorts")

    def __init__(self, name: str, kind: Kind, arguments: tuple[Kind, ...] = ()) -> None:
        super().__init__(name, kind)
        self.arguments = arguments
        self.sorts: tuple[str, ...] = ()

    def finish(self) -> None:
        super().finish()
        self.sorts = tuple(sort_of(kind, f"an argument of {self.name}") for kind in self.arguments)


class CellEntry(Entry):
    """A program variable, perhaps with arguments."""

    def __init__(self, cell: Cell, arguments: Sequence[Node]) -> None:
        super().__init__(arguments)
        self.cell = cell

    def table(self, run: Run) -> Table:
        assert isinstance(run, CodeRun)
        frame = run.earlier if run.now < 0 and self.cell in run.earlier else run.frame
        table: Table = frame[self.cell]
        return table


class Old(Node):
    """The expression in the state before the action, with the variables as they were then."""

    def __init__(self, body: Node) -> None:
        self.body = body
        self.variables = body.variables

    def value(self, run: Run) -> Value:
        now, run.now = run.now, -1
        found = self.body.value(run)
        run.now = now
        return found


Path = tuple["Statement", ...]
"""The calls on the way to a statement, and the statement."""


class Failure(Exception):
    """An assertion is false."""

    def __init__(self, path: Path) -> None:
        self.path = path


class CodeRun(Run):
    """An execution of code.  `worlds` are the present state and the one before the action; `now` is -1 for what is `old`."""

    def __init__(self, domains: Domains, choices: Choices, world: World) -> None:
        super().__init__(domains, choices, [world, world])
        self.earlier: dict[Variable, Any] = {}
        """The variables before the action."""
        self.path: Path = ()
        self.depth = 0
        """How many actions are being executed."""

    def open_table(self, cell: Cell) -> Table:
        return Table({}, lambda: self.choose(cell.sort))

    def assign(self, entry: Entry, entries: dict[Arguments, Value], open: set[Arguments]) -> None:
        """Let places of a symbol or a variable have new values."""
        match entry:
            case Application(function=function):
                self.worlds[0][function] = self.worlds[0][function].assigned(entries, open)
            case CellEntry(cell=cell):
                self.frame[cell] = self.frame[cell].assigned(entries, open)
            case _:
                raise TwinError("this cannot be assigned")


def _constant(value: Value) -> Table:
    return Table({(): value}, lambda: value)


@dataclass(eq=False)
class Part:
    """A body or a monitor; the indices of the object it stands in are first parameters of the action."""

    indices: tuple[tuple[Variable, Cell], ...]
    code: Statement


@dataclass(eq=False)
class Action:
    """An action with all its code."""

    name: str
    parameters: tuple[Cell, ...]
    results: tuple[Cell, ...]
    before: list[Part] = field(default_factory=list)
    body: list[Part] = field(default_factory=list)
    after: list[Part] = field(default_factory=list)

    @property
    def parts(self) -> list[Part]:
        return self.before + self.body + self.after

    def perform(self, run: CodeRun, values: Sequence[Value]) -> list[Table]:
        """Execute the action on values for its parameters; the tables of the results come back."""
        saved = run.frame, run.earlier, run.worlds[1]
        run.frame = {cell: _constant(value) for cell, value in zip(self.parameters, values, strict=True)}
        for result in self.results:
            run.frame.setdefault(result, run.open_table(result))
        run.earlier, run.worlds[1] = dict(run.frame), dict(run.worlds[0])
        run.depth += 1
        for part in self.parts:
            for index, cell in part.indices:
                run.frame[index] = run.frame[cell].read(())
            part.code.execute(run)
        run.depth -= 1
        results: list[Table] = [run.frame[result] for result in self.results]
        run.frame, run.earlier, run.worlds[1] = saved
        return results


class Statement:
    """Base of the statements; `calls` are performed before it."""

    calls: Sequence[CallStatement] = ()

    def execute(self, run: CodeRun) -> None:
        for call in self.calls:
            call.perform(run)
        self.act(run)

    def act(self, run: CodeRun) -> None:
        raise NotImplementedError

    def inside(self) -> Iterator[Statement]:
        """The statements in this one, in the order of the text."""
        return iter(())


class CallStatement(Statement):
    """A call; `results` are variables that take what it returns."""

    def __init__(self, action: Action, arguments: Sequence[Node], results: Sequence[Cell]) -> None:
        self.action = action
        self.arguments = tuple(arguments)
        self.results = tuple(results)

    def perform(self, run: CodeRun) -> None:
        if any(isinstance(step, CallStatement) and step.action is self.action for step in run.path):
            raise TwinError(f"the action {self.action.name} calls itself")
        values = [argument.value(run) for argument in self.arguments]
        run.path = (*run.path, self)
        tables = self.action.perform(run, values)
        run.path = run.path[:-1]
        run.frame.update(zip(self.results, tables, strict=True))


class Nothing(Statement):
    """What is left of a call whose result nobody uses: the call itself, among `calls`."""

    def act(self, run: CodeRun) -> None:
        pass


class Block(Statement):
    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = tuple(statements)

    def act(self, run: CodeRun) -> None:
        for statement in self.statements:
            statement.execute(run)

    def inside(self) -> Iterator[Statement]:
        return iter(self.statements)


class Condition(Statement):
    """`assume`, `require`, `ensure` or `assert`.

    What is required of an action that the environment calls is up to the environment; what is required of one that code calls
    has to be true there.  `believed` is set where the text is trusted about what it ensures.
    """

    believed = False

    def __init__(self, kind: str, label: str | None, formula: Node, span: Span) -> None:
        self.kind = kind
        self.label = label
        self.formula = formula
        self.span = span

    def must_hold(self, depth: int) -> bool:
        if self.kind == "require":
            return depth > 1
        return self.kind in ("ensure", "assert") and not self.believed

    def act(self, run: CodeRun) -> None:
        if not self.must_hold(run.depth):
            self.formula.make(run, True)
        elif not self.formula.value(run):
            raise Failure((*run.path, self))


class Assign(Statement):
    """`target := value`, at the same time for all values of the variables on the left; no value is any value."""

    def __init__(self, target: Entry, variables: Sequence[Variable], value: Node | None) -> None:
        self.target = target
        self.bound = tuple(variables)
        self.value = value

    def act(self, run: CodeRun) -> None:
        entries: dict[Arguments, Value] = {}
        open: set[Arguments] = set()
        for values in product(*(run.domains.values(variable.sort) for variable in self.bound)):
            run.frame.update(zip(self.bound, values, strict=True))
            place = self.target.place(run)
            if self.value is None:
                open.add(place)
            else:
                entries[place] = self.value.value(run)
        run.assign(self.target, entries, open)


class AssignField(Statement):
    """`x.f := e`: x becomes a struct that differs in the field f only, if there is one."""

    def __init__(
        self,
        target: Application,
        variables: Sequence[Variable],
        value: Node | None,
        fields: Mapping[Function, Sequence[Function]],
    ) -> None:
        self.target = target
        self.bound = tuple(variables)
        self.value = value
        self.fields = fields
        """For every field of every struct, all fields of that struct."""

    def act(self, run: CodeRun) -> None:
        owner = self.target.arguments[0]
        old = owner.value(run)
        wanted: dict[Arguments, Value | None] = {}
        for values in product(*(run.domains.values(variable.sort) for variable in self.bound)):
            run.frame.update(zip(self.bound, values, strict=True))
            place = self.target.place(run)[1:]
            wanted[place] = None if self.value is None else self.value.value(run)
        struct = self.target.function.sorts[0]
        new = run.choose(struct)
        for other in self.fields[self.target.function]:
            table = run.worlds[0][other]
            for place in run.domains.places(other.sorts[1:]):
                value = table.read((old, *place))
                if other is self.target.function and place in wanted:
                    given = wanted[place]
                    if given is None:
                        continue
                    value = given
                table.make((new, *place), value)
        self.store(run, owner, new)

    def store(self, run: CodeRun, owner: Node, new: Value) -> None:
        """Put the new struct where the old one was: in a variable, a symbol, or a field of another struct."""
        assert isinstance(owner, Entry)
        if isinstance(owner, Application) and owner.function in self.fields:
            AssignField(owner, (), Constant(new), self.fields).act(run)
        else:
            run.assign(owner, {owner.place(run): new}, set())


class Declare(Statement):
    """A local variable, which may be anything if it is given no value."""

    def __init__(self, cell: Cell, value: Node | None) -> None:
        self.cell = cell
        self.value = value

    def act(self, run: CodeRun) -> None:
        run.frame[self.cell] = run.open_table(self.cell) if self.value is None else _constant(self.value.value(run))


class Branch(Statement):
    """`if`; without a condition either branch may be taken."""

    def __init__(self, condition: Node | None, then: Statement, otherwise: Statement | None) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise

    def act(self, run: CodeRun) -> None:
        taken = run.choose("bool") if self.condition is None else self.condition.value(run)
        chosen = self.then if taken else self.otherwise
        if chosen is not None:
            chosen.execute(run)

    def inside(self) -> Iterator[Statement]:
        yield self.then
        if self.otherwise is not None:
            yield self.otherwise


class BranchSome(Branch):
    """`if some`: the first branch for any values that satisfy the condition, the second if there are none."""

    def __init__(self, cells: Sequence[Cell], condition: Node, then: Statement, otherwise: Statement | None) -> None:
        super().__init__(condition, then, otherwise)
        self.cells = tuple(cells)

    def act(self, run: CodeRun) -> None:
        assert self.condition is not None
        found = []
        for values in product(*(run.domains.values(cell.sort) for cell in self.cells)):
            self._bind(run, values)
            if self.condition.value(run):
                found.append(values)
        if found:
            self._bind(run, found[run.choices.choose(len(found))])
            self.then.execute(run)
        elif self.otherwise is not None:
            self.otherwise.execute(run)

    def _bind(self, run: CodeRun, values: Sequence[Value]) -> None:
        run.frame.update((cell, _constant(value)) for cell, value in zip(self.cells, values, strict=True))


def assertions(action: Action) -> Iterator[tuple[Path, Condition]]:
    """The conditions that have to hold when the environment calls an action, in the order of the text, calls opened."""

    def walk(statement: Statement, path: Path) -> Iterator[tuple[Path, Condition]]:
        for call in statement.calls:
            if call not in path:
                yield from performed(call.action, (*path, call))
        if isinstance(statement, Condition) and statement.must_hold(len(path) + 1):
            yield (*path, statement), statement
        for inner in statement.inside():
            yield from walk(inner, path)

    def performed(action: Action, path: Path) -> Iterator[tuple[Path, Condition]]:
        for part in action.parts:
            yield from walk(part.code, path)

    return performed(action, ())
