"""Which states are alike: what may be renamed without changing what an algorithm does, found from its definition.

* Processes.  A definition has no names of processes, so any two may be exchanged.
* Values.  If values are only copied and compared for equality, they may be renamed in any way (partition symmetry is this,
  for initial values).  If the definition orders them, as `smallest` does, only renamings that keep their order are allowed.
* Times.  They are only compared with each other, with `phase` and with 0.  So their order is all that matters, and phases
  that no constant in the definition tells apart are one phase: runs of any length have finitely many states.

The first two are exact symmetries of the set of all runs; the third relates states with the same future (a bisimulation).
So they keep reachability of whatever properties can say.  `Search.normal` brings a state into its normal form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from math import factorial, prod
from typing import Any, TypeVar

from quorate.models import rounds as r
from quorate.models.evaluation import Machine, Process, RoundsError, World
from quorate.models.rounds import Node, RoundModel

VALUES = ("value", "optional")
MOST_ARRANGEMENTS = 5040
Item = TypeVar("Item")


def order_of_values(model: RoundModel) -> Node | None:
    """The first place where the definition or a property orders values; None if it never does."""
    kinds = model.kinds
    message: tuple[Node, ...] = ()
    for item in (*model.rounds, *model.steps):
        message = item.send.items if item.send else ()
        for node in item.walk():
            if _orders(node, kinds, message):
                return node
    for formula in model.formulas():
        for node in formula.walk():
            if _orders(node, kinds, ()):
                return node
    return None


def _orders(node: Node, kinds: Mapping[str, str], message: Sequence[Node]) -> bool:
    match node:
        case r.Choice(pick, _, pattern, extreme):
            if pick.startswith(("smallest", "largest")):
                return True
            if extreme is not None:
                place = next(i for i, item in enumerate(pattern.items) if item == r.Bind(extreme[1]))
                return not _is_time(message[place], kinds)
            return False
        case r.Operation("smallest" | "largest"):
            return True
        case r.Operation("<" | "<=" | ">" | ">=", operands):
            return not any(_is_time(item, kinds) or _is_number(item) for item in operands)
    return False


def _is_time(node: Node, kinds: Mapping[str, str]) -> bool:
    match node:
        case r.Phase():
            return True
        case r.Local(name) | r.VariableOf(name):
            return kinds.get(name) == "time"
    return False


def _is_number(node: Node) -> bool:
    arithmetic = ("+", "-", "*", "/", "max", "min", "size")
    return isinstance(node, r.Number | r.Parameter | r.Count | r.Counting | r.Size) or (
        isinstance(node, r.Operation) and node.operator in arithmetic
    )


def latest_phase(machine: Machine, n: int, parameters: Mapping[str, int]) -> int:
    """The last phase that the definition or a property can tell from later ones by its number."""
    latest = 0
    world = World(n, parameters, 1, ())
    said = [node for formula in machine.model.formulas() for node in formula.walk()]
    for node in (*machine.model.nodes(), *said):
        if isinstance(node, r.Operation) and len(node.operands) == 2:
            for side, other in (node.operands, node.operands[::-1]):
                if isinstance(side, r.Phase) and _is_number(other):
                    if any(isinstance(item, r.Count | r.Counting | r.Local | r.VariableOf) for item in other.walk()):
                        raise RoundsError(
                            "`phase` is compared with something that is not fixed, so runs have no finite form"
                        )
                    latest = max(latest, int(machine.function(other)(world)) + 1)
    if machine.model.phases is not None:
        latest = max(latest, int(machine.function(machine.model.phases)(world)) + 1)
    return latest


class Names:
    """The names in the states of an algorithm with n processes, and what may be done with them."""

    def __init__(self, machine: Machine, n: int, parameters: Mapping[str, int], symmetry: bool = True) -> None:
        model = machine.model
        self.n = n
        self.symmetry = symmetry
        self.ordered = order_of_values(model)
        kinds = [item.kind for item in model.variables]
        self.values = [i for i, kind in enumerate(kinds) if kind in VALUES] + [machine.decision]
        self.sets = [i for i, kind in enumerate(kinds) if kind == "set"]
        self.times = [i for i, kind in enumerate(kinds) if kind == "time"]
        self.shared_values = [i for i, item in enumerate(model.shared) if item.kind in VALUES]
        self.shared_sets = [i for i, item in enumerate(model.shared) if item.kind == "set"]
        if any(item.kind == "time" for item in model.shared):
            raise RoundsError("shared variables cannot hold times")
        self.exact = latest_phase(machine, n, parameters)
        self.late = max(self.exact, n * len(self.times) + 1) + 1
        """The number that stands for all phases after `exact`."""

    # -- times -----------------------------------------------------------------------------------------------------

    def phase(self, phase: int) -> int:
        """The number that stands for a phase."""
        return phase if phase <= self.exact else self.late

    def settle(self, processes: Sequence[Process], phase: int) -> tuple[tuple[Process, ...], Mapping[int, int] | None]:
        """The processes at the start of a phase, with times replaced by numbers of the same order, and how."""
        if not self.times or phase <= self.exact:
            return tuple(processes), None
        used = {process[i] for process in processes for i in self.times} | {0}
        rank = {time: i for i, time in enumerate(sorted(time for time in used if time >= 0))}
        rank |= {mark: mark for mark in used if mark < 0}
        if all(time == i for time, i in rank.items()):
            return tuple(processes), rank
        return tuple(self._with_times(process, rank) for process in processes), rank

    def _with_times(self, process: Process, rank: Mapping[int, int]) -> Process:
        changed = list(process)
        for i in self.times:
            changed[i] = rank[changed[i]]
        return tuple(changed)

    # -- values ----------------------------------------------------------------------------------------------------

    def present(self, processes: Sequence[Process], shared: Sequence[int] = ()) -> int:
        """The values that occur, as a bit mask."""
        mask = 0
        for process in set(processes):
            for i in self.values:
                mask |= 1 << max(0, process[i])
            for i in self.sets:
                mask |= max(0, process[i]) << 1
        for i in self.shared_values:
            mask |= 1 << shared[i]
        for i in self.shared_sets:
            mask |= shared[i] << 1
        return mask >> 1

    def renamed(self, process: Process, rename: Mapping[int, int]) -> Process:
        changed = list(process)
        for i in self.values:
            if changed[i] > 0:
                changed[i] = rename[changed[i]]
        for i in self.sets:
            changed[i] = _rename_set(changed[i], rename)
        return tuple(changed)

    def renamed_shared(self, shared: Sequence[int], rename: Mapping[int, int]) -> tuple[int, ...]:
        changed = list(shared)
        for i in self.shared_values:
            if changed[i]:
                changed[i] = rename[changed[i]]
        for i in self.shared_sets:
            changed[i] = _rename_set(changed[i], rename)
        return tuple(changed)

    def renaming(self, processes: Sequence[Process], shared: Sequence[int] = ()) -> dict[int, int]:
        """How values are renamed in the normal form of a state."""
        mask = self.present(processes, shared)
        values = [v for v in range(1, mask.bit_length() + 1) if mask >> v - 1 & 1]
        if not self.symmetry:
            return {v: v for v in values}
        if self.ordered is not None or len(values) < 2:
            return {v: i + 1 for i, v in enumerate(values)}
        return self._free_renaming(processes, shared, values)

    def _free_renaming(
        self, processes: Sequence[Process], shared: Sequence[int], values: Sequence[int]
    ) -> dict[int, int]:
        """Values in an order that depends on how they are used only: refined by use, then the least arrangement."""
        colour = dict.fromkeys(values, 1)
        while True:
            use: dict[int, Any] = {v: self._use(processes, shared, v, colour) for v in values}
            ranks = {key: i + 1 for i, key in enumerate(sorted(set(use.values())))}
            refined = {v: ranks[use[v]] for v in values}
            if len(ranks) == len(set(colour.values())):
                colour = refined
                break
            colour = refined
        groups = [[v for v in values if colour[v] == c] for c in sorted(set(colour.values()))]
        choices = [self._arrangements(processes, shared, group) for group in groups]
        if prod(len(options) for options in choices) == 1:
            return {v: i + 1 for i, v in enumerate(v for options in choices for v in options[0])}
        best: tuple[object, dict[int, int]] | None = None
        for arrangement in _some(product(*choices)):
            rename = {v: i + 1 for i, v in enumerate(v for part in arrangement for v in part)}
            key = (self.renamed_shared(shared, rename), sorted(self.renamed(process, rename) for process in processes))
            if best is None or key < best[0]:  # type: ignore[operator]
                best = (key, rename)
        assert best is not None
        return best[1]

    def _use(
        self, processes: Sequence[Process], shared: Sequence[int], value: int, colour: Mapping[int, int]
    ) -> object:
        def mark(v: int) -> int:
            return 0 if v == 0 else -1 if v == value else -2 if v < 0 else colour[v]

        def marked(process: Process) -> tuple[object, ...]:
            found: list[object] = list(process)
            for i in self.values:
                found[i] = mark(process[i])
            for i in self.sets:
                members = [v for v in colour if process[i] > 0 and process[i] >> v - 1 & 1]
                found[i] = tuple(sorted(mark(v) for v in members))
            return tuple(found)

        own = tuple(
            mark(shared[i]) if i in self.shared_values else shared[i]
            for i in range(len(shared))
            if i not in self.shared_sets
        )
        sets = tuple(tuple(sorted(mark(v) for v in colour if shared[i] >> v - 1 & 1)) for i in self.shared_sets)
        return (own, sets, tuple(sorted(map(marked, processes))))

    def _arrangements(
        self, processes: Sequence[Process], shared: Sequence[int], group: Sequence[int]
    ) -> list[tuple[int, ...]]:
        """Orders of values that are used alike; values that may simply be exchanged need only one."""
        alike: list[list[int]] = []
        for v in group:
            known = next((row for row in alike if self._exchangeable(processes, shared, row[0], v)), None)
            if known is None:
                alike.append([v])
            else:
                known.append(v)
        if len(alike) == 1:
            return [tuple(group)]
        labels = [i for i, row in enumerate(alike) for _ in row]
        found = []
        for order in dict.fromkeys(_some(permutations(labels))):
            taken = [iter(row) for row in alike]
            found.append(tuple(next(taken[label]) for label in order))
        return found

    def _exchangeable(self, processes: Sequence[Process], shared: Sequence[int], a: int, b: int) -> bool:
        swap = {v: v for v in range(1, max(self.present(processes, shared).bit_length(), a, b) + 1)}
        swap[a], swap[b] = b, a
        return self.renamed_shared(shared, swap) == tuple(shared) and sorted(
            self.renamed(process, swap) for process in processes
        ) == sorted(processes)

    # -- counting --------------------------------------------------------------------------------------------------

    def orbit(self, processes: Sequence[Process], shared: Sequence[int] = ()) -> int | None:
        """How many states with values from 1 to n have this normal form; None where that cannot be told from the form.

        Renamings that keep the order of values may need values beyond n, so that not every state of that form occurs.
        """
        counts: dict[Process, int] = {}
        for process in processes:
            counts[process] = counts.get(process, 0) + 1
        arrangements = factorial(self.n) // prod(factorial(count) for count in counts.values())
        if not self.symmetry:
            return arrangements
        k = self.present(processes, shared).bit_count()
        if self.ordered is not None or k > 6:
            return None
        fixed = 0
        reference = sorted(processes)
        for order in permutations(range(1, k + 1)):
            rename = {v: order[v - 1] for v in range(1, k + 1)}
            if self.renamed_shared(shared, rename) == tuple(shared):
                fixed += sorted(self.renamed(process, rename) for process in processes) == reference
        return arrangements * (factorial(self.n) // factorial(self.n - k)) // fixed


def _rename_set(mask: int, rename: Mapping[int, int]) -> int:
    if mask < 0:
        return mask
    found = 0
    while mask:
        low = mask & -mask
        found |= 1 << rename[low.bit_length()] - 1
        mask ^= low
    return found


def _some(items: Iterator[Item]) -> Iterator[Item]:
    """The first few thousand: leaving out the others keeps more states apart than needed, which is safe."""
    for _, item in zip(range(MOST_ARRANGEMENTS), items, strict=False):
        yield item
