"""The steps of a Mercury program for every number of processes at once: counters of replies become sets of who replied.

A variable whose range depends on `N` has no finite range for all sizes.  It is replaced by the set of the processes whose
messages it has counted since it was 0, and by a flag that says when the two may have parted (a process was counted twice,
or the variable was changed in another way).  While they agree, `counter = N - 1` says that *every* other process is in the
set; whatever else a program asks about `N` is left open.  So every step of the program is a step here: what holds in
all states reached by these steps, holds for the program.  Read `process_relational` next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from quorate.models.process import (
    Arithmetic,
    Combination,
    Comparison,
    Consensus,
    Junction,
    Negation,
    NoProcesses,
    Number,
    ProcessCount,
    ProcessModel,
    Read,
    Specification,
    Truth,
    Variable,
    constant,
)
from quorate.models.process_names import counted, lost
from quorate.models.process_steps import (
    Changed,
    Contains,
    Full,
    Incoming,
    Path,
    Point,
    ProcessSteps,
    Term,
    Wrapped,
    leaves,
)

OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class CountingError(Exception):
    """The program counts processes in a way that has no form for all sizes; the message says where."""


@dataclass(frozen=True)
class _Linear:
    """`counter · variable + processes · N + number`."""

    counter: str | None
    factor: int
    processes: int
    number: int


class AllSizes(ProcessSteps):
    """The steps of a program, for every number of processes.

    `exact` says that nothing was left open: then the steps are those of the program.
    """

    def __init__(self, model: ProcessModel) -> None:
        super().__init__(model)
        self.counters = {variable.name: variable for variable in model.variables if variable.counts}
        self.lasting_sets = frozenset(counted(name) for name in self.counters)
        self.exact = not model.counts_processes
        for variable in model.registers:
            if variable.counts:
                raise CountingError(f"the range of {variable.name} depends on the number of processes")
        if any(bound.counts for bound in map(_as_variable, model.actions) if bound is not None):
            raise CountingError("the range of a payload depends on the number of processes")
        for _, handler in model.handlers:
            if isinstance(handler.event, Consensus) and handler.event.proposal in self.counters:
                raise CountingError(
                    f"{handler.event.proposal} is proposed, and its range depends on the number of processes"
                )
        for item in model.safety:
            if not self._counts_safely(item.specification):
                raise CountingError(f"{item.name} asks that enough processes have certain values of a counter")
        self.paths = self._apart([found for path in self.paths for found in self._opened(path)])

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = []
        for variable in super().variables:
            if variable.name not in self.counters:
                found.append(variable)
                continue
            first = Number(0 if self._starts_empty(variable) else 1)
            found.append(Variable(counted(variable.name), "set", span=variable.span))
            found.append(Variable(lost(variable.name), "int", Number(0), Number(1), first, variable.span))
        return tuple(found)

    def _starts_empty(self, variable: Variable) -> bool:
        return self._is_counter(variable) and variable.initial == Number(0)

    def _is_counter(self, variable: Variable) -> bool:
        """Does its range hold every number of other processes?"""
        return variable.low == Number(0) and all(constant(variable.high, n) >= n - 1 for n in (1, 50))

    def _opened(self, path: Path) -> Iterator[Path]:
        if self._counts(path):
            yield from self._open(path)
        else:
            yield path

    def _apart(self, paths: list[Path]) -> list[Path]:
        """Paths of one handler exclude each other no longer where tests were left open: they become alternatives."""
        numbers: Counter[tuple[Point, str, str]] = Counter()
        found = []
        for path in paths:
            key = path.source, path.trigger, path.event
            found.append(replace(path, alternative=numbers[key]) if self.counters or not self.exact else path)
            numbers[key] += 1
        return found

    def _counts_safely(self, item: Specification) -> bool:
        """May what the specification asks about counters be taken to hold?  So where it only limits who does."""
        if isinstance(item, Combination):
            strict = item.operator != "!" or not any(map(self._asks_about_counters, item.operands))
            return strict and all(map(self._counts_safely, item.operands))
        return item.most or not self._asks_about_counters(item)

    def _asks_about_counters(self, item: Specification) -> bool:
        if isinstance(item, Combination):
            return any(map(self._asks_about_counters, item.operands))
        return any(d.predicate is not None and self._mentions(d.predicate) for d in item.descriptors)

    # -- one path --------------------------------------------------------------------------------------------------

    def _mentions(self, term: Term) -> bool:
        return any(
            isinstance(leaf, ProcessCount) or (isinstance(leaf, Read) and leaf.name in self.counters)
            for leaf in leaves(term)
        )

    def _counts(self, path: Path) -> bool:
        terms = [*path.guard, *path.updates.values()] + [path.payload] * (path.payload is not None)
        return any(name in self.counters for name in path.updates) or any(
            self._mentions(term) for term in terms if term is not None
        )

    def _open(self, path: Path) -> Iterator[Path]:
        """The paths that stand for one that counts: one for each way in which counters can change."""
        ways = [list(self._ways(path, name, path.updates[name])) for name in self.counters if name in path.updates]
        unknown = self._unknown_values(path)
        for combined in product(*ways):
            added = {name for name, increment, _, _ in combined if increment}
            guard = [test for _, _, tests, _ in combined for test in tests]
            for term in path.guard:
                guard += self._tests(term, added)
            if Truth(False) in guard:
                continue
            updates = {name: term for name, term in path.updates.items() if name not in self.counters}
            for _, _, _, changes in combined:
                updates |= changes
            for values in unknown:
                payload = values.get("", path.payload)
                more = {name: value for name, value in values.items() if name}
                yield replace(path, guard=tuple(guard), updates={**updates, **more}, payload=payload)

    def _ways(self, path: Path, name: str, term: Term) -> Iterator[tuple[str, bool, tuple[Term, ...], dict[str, Term]]]:
        """How a counter changes: its name, whether the sender is added, under which tests, and the updates."""
        before: Term = Read(counted(name))
        inner = term.operand if isinstance(term, Wrapped) else term
        usable = self._is_counter(self.counters[name])
        if usable and inner == Number(0):
            yield name, False, (), {counted(name): NoProcesses(), lost(name): Number(0)}
        elif usable and inner == Arithmetic("+", Read(name), Number(1)) and self._has_sender(path):
            known = Contains(before, Incoming("sender"))
            grown = Changed("add", before, Incoming("sender"), False)
            yield name, True, (Negation(known),), {counted(name): grown}  # type: ignore[arg-type]
            yield name, False, (known,), {lost(name): Number(1)}
        else:
            yield name, False, (), {lost(name): Number(1)}

    def _has_sender(self, path: Path) -> bool:
        return path.trigger == "receive" and not self.model.action(path.event).environment

    def _tests(self, term: Term, added: set[str]) -> list[Term]:
        """What is left of a test: nothing where it says nothing about who was counted."""
        if not self._mentions(term):
            return [term]
        if isinstance(term, Junction) and term.operator == "&":
            return [test for operand in term.operands for test in self._tests(operand, added)]
        if isinstance(term, Negation) and isinstance(term.operand, Comparison):
            inner = term.operand
            if inner.operator in OPPOSITE:
                term = Comparison(OPPOSITE[inner.operator], inner.left, inner.right)
        if not isinstance(term, Comparison):
            return []
        left, right = self._linear(term.left), self._linear(term.right)
        if left is None or right is None or (left.counter and right.counter):
            return []
        operator = term.operator
        if left.counter is None:
            left, right, operator = right, left, MIRRORED[operator]
        name = left.counter
        if name is None or left.factor != 1 or not self._is_counter(self.counters[name]):
            return []
        if right.processes - left.processes != 1:
            return []
        # The test is `size of the set, operator, N + distance`, and the set has at most N - 1 members.
        distance = right.number - left.number + (name in added)
        if operator == ">":
            operator, distance = ">=", distance + 1
        agreed = Comparison("=", Read(lost(name)), Number(1))
        if operator in ("=", ">=") and distance >= 0:
            return [agreed]
        if operator in ("=", ">=") and distance == -1:
            after: Term = Read(counted(name))
            if name in added:
                after = Changed("add", after, Incoming("sender"), False)
            return [Junction("|", (agreed, Full(after)))]  # type: ignore[arg-type]
        return []

    def _linear(self, term: Term) -> _Linear | None:
        match term:
            case Number(value):
                return _Linear(None, 0, 0, value)
            case ProcessCount():
                return _Linear(None, 0, 1, 0)
            case Read(name) if name in self.counters:
                return _Linear(name, 1, 0, 0)
            case Wrapped(operand):
                # Out of range only where counter and set have parted: see `_is_counter`.
                inner = self._linear(operand)
                return inner if inner is not None and inner.counter is not None and inner.number == 1 else None
            case Arithmetic("+" | "-" as operator, left, right):
                first, second = self._linear(left), self._linear(right)
                if first is None or second is None or (first.counter and second.counter):
                    return None
                sign = 1 if operator == "+" else -1
                return _Linear(
                    first.counter or second.counter,
                    first.factor + sign * second.factor,
                    first.processes + sign * second.processes,
                    first.number + sign * second.number,
                )
        return None

    def _unknown_values(self, path: Path) -> list[dict[str, Term]]:
        """Every value of what is computed from counters or `N`: of variables, and of the payload under the name ``""``."""
        names, ranges = [], []
        for name, term in path.updates.items():
            if name not in self.counters and self._mentions(term):
                variable = self.model.variable(name)
                names.append(name)
                ranges.append(range(constant(variable.low, 1), constant(variable.high, 1) + 1))
        bounds = self.model.action(path.event).bounds if path.trigger == "send" else None
        if path.payload is not None and self._mentions(path.payload) and bounds is not None:
            names.append("")
            ranges.append(range(constant(bounds[0], 1), constant(bounds[1], 1) + 1))
        return [dict(zip(names, map(Number, values), strict=True)) for values in product(*ranges)]


def _as_variable(action: object) -> Variable | None:
    bounds = getattr(action, "bounds", None)
    return None if bounds is None else Variable("", "int", bounds[0], bounds[1], bounds[0])
