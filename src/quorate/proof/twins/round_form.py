"""A state of a round-based algorithm with n processes in the vocabulary of its form for every n.

The form speaks of sets of processes of certain sizes: here they are all such sets, or the set of all processes where there are
none, as `models/quorum_sets` says.  Element 0 of `value` is `?`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from quorate.logic.structures import Structure, Table
from quorate.logic.terms import INT, Sort, Symbol
from quorate.models.evaluation import RoundsError
from quorate.models.forms import NoForm
from quorate.models.linear import ONE
from quorate.models.quorum_sets import NODE, VALUE, Kind
from quorate.models.quorums import relational
from quorate.models.rounds import RoundModel
from quorate.proof.twins.round_text import Process


class FormOf:
    """The rigid part of the structures of one instance, and what a state adds to it."""

    def __init__(self, model: RoundModel, n: int, values: int, parameters: Mapping[str, int]) -> None:
        try:
            self.model, translation = relational(model)
        except RoundsError as problem:
            raise NoForm(str(problem)) from None
        self.n = n
        self.symbols = {symbol.name: symbol for symbol in self.model.symbols}
        self.sizes: dict[Sort, int] = {NODE: n, VALUE: values + 1}
        self.rigid: dict[Symbol, Table] = {}
        for kind in translation.kinds.values():
            groups = sets_of(kind, n, parameters)
            self.sizes[kind.sort] = len(groups)
            self.rigid[kind.member] = {(p, i): p in group for i, group in enumerate(groups) for p in range(n)}
        for name, value in parameters.items():
            self.rigid[self.symbols[name]] = {(): value}
        self.rigid[self.symbols["value.none"]] = {(): 0}
        if "value.at_most" in self.symbols:
            every = range(values + 1)
            self.rigid[self.symbols["value.at_most"]] = {(v, w): v <= w for v in every for w in every}

    def structure(
        self,
        columns: Mapping[str, Sequence[Any]],
        processes: Sequence[Process],
        proposals: Sequence[int],
        phase: int,
        passed: Collection[int],
        seen: bool,
        broken: Collection[str],
    ) -> Structure:
        """A state at the end of a phase; `columns` are the variables, for each process."""
        told: dict[str, Sequence[Any]] = {
            **columns,
            "node.proposal": proposals,
            "decision": [process.decision for process in processes],
            "decision.revoked": [process.revoked for process in processes],
            "decision.empty": [process.empty for process in processes],
        }
        tables = dict(self.rigid)
        for name, column in told.items():
            tables[self.symbols[name]] = {(p,): _element(self.symbols[name].sort, v) for p, v in enumerate(column)}
        for symbol in self.model.symbols:
            if symbol.name == "phase":
                tables[symbol] = {(): phase}
            elif symbol.name == "sync.seen":
                tables[symbol] = {(): seen}
            elif symbol.name.startswith("sync.passed"):
                tables[symbol] = {(): int(symbol.name.removeprefix("sync.passed")) in passed}
            elif symbol.name.endswith(".broken"):
                tables[symbol] = {(): symbol.name.removesuffix(".broken") in broken}
        return Structure(self.sizes, tables)


def sets_of(kind: Kind, n: int, parameters: Mapping[str, int]) -> list[frozenset[int]]:
    """All sets of at least (or more than) so many of n processes; the set of all of them where there are none."""
    numbers = {**parameters, "n": n, ONE: 1}
    bound = sum((factor * numbers[name] for name, factor in kind.bound.factors), Fraction(0))
    groups = [frozenset(p for p in range(n) if bits >> p & 1) for bits in range(1 << n)]
    found = [group for group in groups if len(group) > bound or (len(group) == bound and not kind.strict)]
    return found or [frozenset(range(n))]


def _element(sort: Sort, value: Any) -> bool | int:
    """`?` is the first element of the sort of values."""
    if sort is VALUE:
        return 0 if value is None else int(value)
    return int(value) if sort is INT else bool(value)
