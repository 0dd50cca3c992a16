"""A naive checker of Mercury programs: every state of the plain semantics, up to renaming of processes, one by one.

It shares nothing with the engines but the plain semantics: no lowering, no packed states, no tables of permutations.
"""

from __future__ import annotations

from itertools import permutations, product

from quorate.models.process import ProcessModel
from quorate.models.process_semantics import UNDEFINED, ProcessSemantics, State


class Naive:
    """A program with so many processes."""

    def __init__(self, model: ProcessModel, processes: int) -> None:
        self.model, self.semantics = model, ProcessSemantics(model, processes)
        self.kinds = [variable.kind for variable in model.all_variables]
        self.processes = processes

    def renamed(self, state: State, order: tuple[int, ...]) -> tuple[object, ...]:
        """The state in which process `order[i]` is called i."""
        new = {old: i for i, old in enumerate(order)}

        def value(kind: str, old: int) -> int:
            if kind == "int" or (kind == "id" and old == UNDEFINED):
                return old
            if kind == "id":
                return new[old]
            return sum(1 << new[q] for q in range(self.processes) if old >> q & 1)

        return tuple(
            (state[p].location, state[p].pending, tuple(map(value, self.kinds, state[p].values))) for p in order
        )

    def look(self, state: State, process: int) -> tuple[object, ...]:
        """What can be said of a process without names: processes that look different are never interchanged."""
        local = state[process]
        numbers = tuple(
            old if kind == "int" else (old.bit_count(), old >> process & 1) if kind == "set" else old == UNDEFINED
            for kind, old in zip(self.kinds, local.values, strict=True)
        )
        known = tuple(
            sorted(
                sum(
                    1 << i
                    for i, (kind, old) in enumerate(zip(self.kinds, other.values, strict=True))
                    if (kind == "set" and old >> process & 1) or (kind == "id" and old == process)
                )
                for other in state
            )
        )
        return local.location, repr(local.pending), repr(numbers), known

    def canonical(self, state: State) -> tuple[object, ...]:
        groups: dict[tuple[object, ...], list[int]] = {}
        for process in range(self.processes):
            groups.setdefault(self.look(state, process), []).append(process)
        ordered = [groups[key] for key in sorted(groups)]
        images = (
            self.renamed(state, tuple(p for group in chosen for p in group))
            for chosen in product(*(permutations(group) for group in ordered))
        )
        return min(images, key=repr)

    def explore(self, symmetry: bool = True, most: int = 10**6) -> tuple[int, set[str]] | None:
        """How many states there are, and the properties that some of them violate; None if there are too many."""
        reduce = self.canonical if symmetry else lambda state: state
        first = self.semantics.initial
        seen, todo, violated = {reduce(first)}, [first], set()
        for state in todo:
            violated |= {p.name for p in self.model.safety if not self.semantics.holds(p.specification, state)}
            for _, after in self.semantics.successors(state):
                key = reduce(after)
                if key not in seen:
                    seen.add(key)
                    todo.append(after)
            if len(seen) > most:
                return None
        return len(seen), violated
