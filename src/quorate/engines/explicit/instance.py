"""An instance: a protocol with a fixed finite size for each sort, ready to be explored.

    instance = Instance(load("paxos.pyv").model, {acceptor: 3, quorum: 3, ballot: 2, value: 2})
    instance.explore().states      # how many states can be reached
    instance.states()              # all of them, as a NumPy array with a column per field
    instance.simulate(1000, 30)    # states along random runs

Read `lower` next for how it becomes a finite system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quorate.engines.explicit.lower import lower, rigid_worlds
from quorate.engines.explicit.reference import Exploration
from quorate.engines.explicit.system import LARGEST_FIELD, MOST_PROPERTIES, Rule, System
from quorate.engines.explicit.worlds import InstanceError, World, entries
from quorate.logic.structures import Structure, Table, Value, domain
from quorate.logic.terms import BOOL, INT, Sort, Symbol, Term
from quorate.logic.transform import symbols_of
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step, with_derived

if TYPE_CHECKING:
    from quorate.engines.explicit.arrays import Array
    from quorate.engines.explicit.native import Engine, Search


@dataclass(frozen=True)
class Instance:
    """A protocol at given sizes; `where` restricts its rigid symbols beyond the axioms."""

    model: RelationalModel
    sizes: Mapping[Sort, int]
    where: Term | None = None

    def __post_init__(self) -> None:
        used = [sort for symbol in self.model.symbols for sort in (*symbol.arguments, symbol.sort)]
        used += [parameter.sort for transition in self.model.transitions for parameter in transition.parameters]
        if INT in used:
            raise InstanceError(
                "the protocol uses integers, which are unbounded, so it has no finite instances; use --depth"
            )
        missing = [str(sort) for sort in self.model.sorts if sort.uninterpreted and sort not in self.sizes]
        if missing:
            raise InstanceError(f"no size is given for {', '.join(missing)}")
        for sort in self.model.sorts:
            if len(domain(sort, self.sizes)) > LARGEST_FIELD:
                raise InstanceError(f"{sort} has more than {LARGEST_FIELD} elements")
        if len(self.model.safety) > MOST_PROPERTIES:
            raise InstanceError(f"there are more than {MOST_PROPERTIES} safety properties; join some of them")
        unclear = [item.symbol.name for item in self.model.derived if item.definition is None]
        if unclear:
            raise InstanceError(f"{', '.join(unclear)} has no explicit definition")
        if self.where is not None and any(symbol.mutable for symbol in symbols_of(self.where)):
            raise InstanceError("only rigid symbols can be restricted: those that keep their value throughout a run")

    @cached_property
    def rigid_symbols(self) -> tuple[Symbol, ...]:
        """Rigid symbols that are not derived, those with the fewest possible tables first."""
        derived = self.model.derived_symbols
        chosen = [symbol for symbol in self.model.symbols if not symbol.mutable and symbol not in derived]
        return tuple(sorted(chosen, key=lambda s: len(domain(s.sort, self.sizes)) ** len(entries(s, self.sizes))))

    @cached_property
    def places(self) -> tuple[tuple[Symbol, tuple[Value, ...]], ...]:
        """What each field of a state stands for: a symbol and its arguments."""
        return tuple((symbol, args) for symbol in self.model.state_symbols for args in entries(symbol, self.sizes))

    @cached_property
    def worlds(self) -> tuple[World, ...]:
        """The interpretations of the rigid symbols, up to isomorphism."""
        return tuple(rigid_worlds(self.model, self.sizes, self.rigid_symbols, self.where))

    @cached_property
    def system(self) -> System:
        return lower(self.model, self.sizes, self.rigid_symbols, self.worlds)

    def structure(self, state: Sequence[int], world: int) -> Structure:
        """A state of the system as a structure of the model."""
        tables: dict[Symbol, dict[tuple[Value, ...], Value]] = {
            symbol: {} for symbol in (*self.model.state_symbols, *self.rigid_symbols)
        }
        rigid = [(symbol, args) for symbol in self.rigid_symbols for args in entries(symbol, self.sizes)]
        values = (*state, *self.worlds[world].values)
        for (symbol, args), value in zip((*self.places, *rigid), values, strict=True):
            tables[symbol][args] = bool(value) if symbol.sort is BOOL else value
        sizes = {sort: self.sizes[sort] for sort in self.model.sorts if sort.uninterpreted}
        return with_derived(self.model, Structure(sizes, tables))

    def step(self, rule: Rule, choices: Sequence[int]) -> Step:
        """A rule and its choices as a step of the model."""
        transition = self.model.transition(rule.name)
        bindings = {
            parameter.name: bool(value) if parameter.sort is BOOL else value
            for parameter, value in zip(transition.parameters, rule.bindings, strict=True)
        }
        chosen: dict[str, Table] = {}
        values = iter(choices)
        for symbol in transition.choices:
            chosen[symbol.name] = {
                args: bool(next(values)) if symbol.sort is BOOL else next(values)
                for args in entries(symbol, self.sizes)
            }
        return Step(rule.name, bindings, chosen)

    # -- what can be done with it -------------------------------------------------------------------------------

    @cached_property
    def engine(self) -> Engine:
        """Its compiled code; raises `CompilerError` where there is no C compiler."""
        from quorate.engines.explicit.native import Engine

        return Engine(self.system)

    def search(self, symmetry: bool = False, jobs: int = 0, memory_mb: int = 4096, keep_going: bool = True) -> Search:
        """A breadth-first search that has not begun."""
        from quorate.engines.explicit.native import Search

        return Search(self.engine, symmetry, jobs, memory_mb, keep_going)

    def explore(self, symmetry: bool = False, jobs: int = 0) -> Exploration:
        """Search all reachable states; counts, and where each property is first violated."""
        return self.search(symmetry, jobs).finish().found

    def states(self, symmetry: bool = False, jobs: int = 0) -> Array:
        """All reachable states: a row each, a column per field as in `places`, and the number of the world last."""
        from quorate.engines.explicit.arrays import all_states, unpack

        return unpack(self.system.layout, all_states(self.search(symmetry, jobs).finish()))

    def simulate(self, runs: int, depth: int, seed: int = 0) -> Array:
        """States along random runs, as `states` gives them, in an array of shape (runs, depth + 1, fields + 1).

        A run that ends early, in a deadlock or in a state that violates a property, repeats its last state.
        """
        from quorate.engines.explicit.arrays import random_states, unpack

        return unpack(self.system.layout, random_states(self.engine, runs, depth, seed))
