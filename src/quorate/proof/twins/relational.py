"""What the twins of the two relational languages share: states as tuples, sizes, and the way back to the model's vocabulary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quorate.logic.structures import Structure
from quorate.logic.terms import Sort, Symbol
from quorate.models.relational import RelationalModel
from quorate.proof.twins import Move, State, Twin
from quorate.proof.twins.choices import Choices
from quorate.proof.twins.expressions import Run, World
from quorate.proof.twins.states import BOOL, Arguments, Domains, Function, Table, Value

Values = tuple[Value, ...]
"""The values of a function at all places, in order."""


class Snapshot(NamedTuple):
    """A state: the values of the rigid and of the mutable functions, and whether an assertion has failed."""

    rigid: tuple[Values, ...]
    mutable: tuple[Values, ...]
    failed: bool = False


class RelationalTwin(Twin):
    """An instance with as many elements of each sort as `sizes` says."""

    def __init__(self, model: RelationalModel, functions: Sequence[Function], sizes: Mapping[str, int]) -> None:
        self.model = model
        self.domains = Domains(sizes)
        self.size = ", ".join(f"{sort}={size}" for sort, size in sizes.items() if self._is_open(sort)) or "no sorts"
        self.properties = tuple(item.name for item in model.safety)
        self.rigid = [function for function in functions if not function.mutable]
        self.mutable = [function for function in functions if function.mutable]
        self.by_name = {function.name: function for function in functions}
        self._rigid_states: dict[tuple[Values, ...], tuple[Values, ...]] = {}
        self._tables: dict[tuple[Function, Values], dict[Arguments, Value]] = {}

    def _is_open(self, sort: str) -> bool:
        return any(item.name == sort and item.uninterpreted for item in self.model.sorts)

    # -- states ----------------------------------------------------------------------------------------------------

    def empty(self, choices: Choices) -> World:
        """A state of which nothing is known yet."""
        return {function: self.table(function, choices) for function in (*self.rigid, *self.mutable)}

    def table(self, function: Function, choices: Choices, entries: dict[Arguments, Value] | None = None) -> Table:
        """A table with these entries; others are chosen."""
        result = function.result
        assert isinstance(result, str)
        return Table({} if entries is None else entries, lambda: self.domains.choose(result, choices))

    def world(self, state: Snapshot, choices: Choices) -> World:
        """A known state."""
        pairs = [*zip(self.rigid, state.rigid, strict=True), *zip(self.mutable, state.mutable, strict=True)]
        return {function: self.table(function, choices, self.entries(function, values)) for function, values in pairs}

    def entries(self, function: Function, values: Values) -> dict[Arguments, Value]:
        found = self._tables.get((function, values))
        if found is None:
            places = self.domains.places(function.sorts)
            found = self._tables[function, values] = dict(zip(places, values, strict=True))
        return found

    def packed(self, world: World, before: Snapshot | None = None, failed: bool = False) -> Snapshot:
        """The state that a world has become; what nobody has looked at is chosen."""
        rigid = before.rigid if before is not None else self.values(self.rigid, world)
        rigid = self._rigid_states.setdefault(rigid, rigid)
        return Snapshot(rigid, self.values(self.mutable, world), failed)

    def values(self, functions: Sequence[Function], world: World) -> tuple[Values, ...]:
        found = []
        for function in functions:
            read = world[function].read
            found.append(tuple([read(place) for place in self.domains.places(function.sorts)]))
        return tuple(found)

    def known(self, state: State) -> Run:
        """A run that looks at a state and changes nothing."""
        assert isinstance(state, Snapshot)
        choices = Choices([], None)
        return Run(self.domains, choices, [self.world(state, choices)])

    # -- the model's vocabulary ------------------------------------------------------------------------------------

    def structure(self, state: State) -> Structure:
        assert isinstance(state, Snapshot)
        run = self.known(state)
        sizes: dict[Sort, int] = {s: self.domains.sizes[s.name] for s in self.model.sorts if s.uninterpreted}
        tables: dict[Symbol, dict[Arguments, Value]] = {}
        for symbol in self.model.symbols:
            table = self.table_of(symbol, state, run)
            if table is not None:
                tables[symbol] = table
        return Structure(sizes, tables)

    def table_of(self, symbol: Symbol, state: Snapshot, run: Run) -> dict[Arguments, Value] | None:
        """The values of a symbol of the model; None if the text has no such symbol."""
        function = self.by_name.get(symbol.name)
        return None if function is None else run.worlds[0][function].entries

    def state_of(self, structure: Structure) -> Snapshot:
        """The state that a structure of the model describes."""
        tables = {symbol.name: table for symbol, table in structure.tables.items()}

        def values(function: Function) -> Values:
            """A symbol that the model does without may have any value."""
            table, usual = tables.get(function.name, {}), function.result == BOOL and False
            return tuple([table.get(place, usual) for place in self.domains.places(function.sorts)])

        return Snapshot(tuple(map(values, self.rigid)), tuple(map(values, self.mutable)))

    def show(self, state: State) -> str:
        assert isinstance(state, Snapshot)
        lines = []
        for function, values in (
            *zip(self.rigid, state.rigid, strict=True),
            *zip(self.mutable, state.mutable, strict=True),
        ):
            shown = []
            for place, value in self.entries(function, values).items():
                name = f"{function.name}({', '.join(map(str, place))})" if place else function.name
                if value is True or value is False:
                    shown += [name] if value else []
                else:
                    shown.append(f"{name} = {value}")
            if shown:
                lines.append(", ".join(shown))
        if state.failed:
            lines.append("an assertion has failed")
        return "\n".join(lines) or "nothing holds"

    # -- running ---------------------------------------------------------------------------------------------------

    def start(self, choices: Choices) -> Snapshot:
        run = self.run(choices, [self.empty(choices)])
        self.begin(run)
        return self.packed(run.worlds[0])

    def run(self, choices: Choices, worlds: list[World]) -> Run:
        return Run(self.domains, choices, worlds)

    @abstractmethod
    def begin(self, run: Run) -> None:
        """Let the first state of a run be an initial one."""

    @abstractmethod
    def step(self, state: State, choices: Choices) -> tuple[Move, Snapshot]:
        """See `Twin`."""


def all_sizes(sorts: Sequence[str]) -> Iterator[dict[str, int]]:
    """Sizes for the sorts, small ones first; every combination up to four comes in the end."""
    count = len(sorts)
    seen = set()
    rows = [(1,) * count, (2,) * count]
    for usual in (2, 3):
        for special in (3, 1, 4):
            rows += [tuple(special if i == j else usual for i in range(count)) for j in range(count)]
        rows.append((usual + 1,) * count)
    for row in rows:
        if row not in seen:
            seen.add(row)
            yield dict(zip(sorts, row, strict=True))
