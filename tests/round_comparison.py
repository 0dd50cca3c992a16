"""The twin of a round-based algorithm against the reference (`engines/rounds/naive`) and against the form for every n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from random import Random
from typing import Any

from quorate.engines.rounds.communication import UNLIMITED
from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.smt.smtlib import Vocabulary
from quorate.logic.structures import Evaluator
from quorate.logic.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Forall,
    Number,
    Quantified,
    Sort,
    Symbol,
    Term,
    conj,
    disj,
    equal,
    exists,
    forall,
    neg,
)
from quorate.logic.transform import substitute
from quorate.models.evaluation import CRASHED, EMPTY, REVOKED, Machine
from quorate.models.rounds import RoundModel
from quorate.proof.round_traces import holds
from quorate.proof.twins.choices import every
from quorate.proof.twins.rounds import RoundState, RoundTwin

Key = tuple[Any, ...]


class Reference:
    """The reference, its states written as those of the twin are."""

    def __init__(self, model: RoundModel, n: int, values: int, parameters: dict[str, int]) -> None:
        self.model = model
        self.machine = Machine(model)
        self.naive = Naive(self.machine, n, parameters)
        self.values = values
        self.parameters = parameters
        self.tags = {number: (name,) for name, number in self.machine.tags.items()}

    def value(self, kind: str, value: int) -> Any:
        if kind == "set":
            return frozenset(v for v in range(1, self.values + 1) if value >> v - 1 & 1)
        if kind in ("value", "optional"):
            return value or None
        return {"bool": bool, "time": int}[kind](value)

    def key(self, at: Configuration) -> Key:
        kinds = [item.kind for item in self.model.variables]
        rows = []
        for process in at.processes:
            *values, decision, marks = process
            crashed = bool(marks & CRASHED)
            shown = tuple(None if crashed else self.value(k, v) for k, v in zip(kinds, values, strict=True))
            rows.append((shown, decision or None, bool(marks & REVOKED), bool(marks & EMPTY), crashed))
        shared = tuple(self.value(item.kind, v) for item, v in zip(self.model.shared, at.shared, strict=True))
        coordinators = at.coordinators if self.model.uses_coordinators else ()
        limits = tuple(None if limit == UNLIMITED else limit for limit in (at.lossy, at.budget))
        return (at.phase, at.round, tuple(rows), shared, at.done, coordinators, limits)

    def layers(self, depth: int) -> list[dict[Key, Configuration]]:
        layer = {at: self.key(at) for at in self.naive.initial(self.values)}
        found = [{key: at for at, key in layer.items()}]
        for _ in range(depth):
            layer = {after: self.key(after) for before in layer for after in self.naive.successors(before)}
            found.append({key: at for at, key in layer.items()})
        return found

    def falsified(self, at: Configuration) -> set[str]:
        return {
            item.name
            for item in self.model.safety
            if (item.name != "termination" or item.formula)
            and not holds(self.machine, item.name, item.formula, self.naive.n, self.parameters, at)
        }


def key(twin: RoundTwin, state: RoundState) -> Key:
    rows = tuple((p.values, p.decision, p.revoked, p.empty, p.crashed) for p in state.processes)
    kind = twin.faults.name if twin.faults is not None else "none"
    limits = {"none": (0, 0), "crashes": (0, state.budget), "omissions": (state.lossy, state.budget)}[kind]
    coordinators = state.coordinators if twin.coordinated and state.round else ()
    return (state.phase, state.round, rows, state.shared, state.done, coordinators, limits)


def layers(twin: RoundTwin, depth: int) -> Iterator[list[RoundState]]:
    """The states after 0, 1, 2, .. rounds or steps."""
    layer = list(dict.fromkeys(every(twin.start)))
    yield layer
    for _ in range(depth):
        layer = list(dict.fromkeys(after for before in layer for _, after in every(partial(twin.step, before))))
        yield layer


def compare(model: RoundModel, n: int, values: int, parameters: dict[str, int], depth: int) -> int:
    """Are states, and the properties that are false in them, the same after every number of rounds?  How many are there?"""
    twin = RoundTwin(model, n, values, parameters)
    reference = Reference(model, n, values, parameters)
    seen = 0
    for mine, theirs in zip(layers(twin, depth), reference.layers(depth), strict=True):
        states = {key(twin, state): state for state in mine}
        assert states.keys() == theirs.keys(), (states.keys() ^ theirs.keys()).pop()
        for found, state in states.items():
            wrong = {name for name in twin.falsified(state) if name != "termination"}
            assert wrong == reference.falsified(theirs[found]), (found, wrong)
        seen += len(states)
    return seen


# -- the form for every n --------------------------------------------------------------------------------------------------


class FormSide:
    """The form of an algorithm, asked about the phases of one instance."""

    def __init__(self, twin: RoundTwin) -> None:
        assert twin.form is not None
        self.twin = twin
        self.form = twin.form.model
        self.phase = self.form.transitions[0]
        self.elements = {
            sort: [Symbol(f"@{sort.name}.{i}", (), sort)() for i in range(size)]
            for sort, size in twin.form.sizes.items()
        }
        evaluator = Evaluator(twin.form.sizes)
        self.first = [(item.name, evaluator.compile(item.formula)) for item in self.form.initial]
        self.always = [(item.name, evaluator.compile(item.formula)) for item in self.form.background()]
        self.safety = {item.name: evaluator.compile(item.formula) for item in self.form.safety}

    def wrong(self, state: RoundState, is_first: bool) -> list[str]:
        """Axioms and initial conditions that do not hold at the end of a phase; properties that the twin sees otherwise."""
        structure = self.twin.structure(state)
        assert structure is not None
        found = [name for name, holds_ in self.always if not holds_(structure, {})]
        found += [name for name, holds_ in self.first if is_first and not holds_(structure, {})]
        wrong = {*self.twin.falsified(state), *state.broken}
        return found + [name for name, holds_ in self.safety.items() if bool(holds_(structure, {})) == (name in wrong)]

    def expanded(self, term: Term) -> Term:
        """The term without quantifiers over finite sorts."""
        if isinstance(term, Quantified):
            finite = [v for v in term.variables if v.sort in self.elements]
            rest = [v for v in term.variables if v.sort not in self.elements]
            body = self.expanded(term.body)
            rows = product(*(self.elements[v.sort] for v in finite))
            parts = [substitute(body, dict(zip(finite, row, strict=True))) for row in rows]
            joined = conj(*parts) if isinstance(term, Forall) else disj(*parts)
            return (forall if isinstance(term, Forall) else exists)(rest, joined) if rest else joined
        return term.rebuild(tuple(self.expanded(child) for child in term.children)) if term.children else term

    def constant(self, sort: Sort, value: Any) -> Term:
        if sort is BOOL:
            return TRUE if value else FALSE
        return Number(value) if sort is INT else self.elements[sort][value]

    def table(self, symbol: Symbol, table: Mapping[tuple[Any, ...], Any]) -> Iterator[Term]:
        for arguments, value in table.items():
            row = [self.constant(sort, item) for sort, item in zip(symbol.arguments, arguments, strict=True)]
            yield equal(symbol(*row), self.constant(symbol.sort, value))

    def allows(self, before: RoundState, rounds: Sequence[RoundState], after: RoundState) -> bool | None:
        """Is there a phase of the form with these coordinators and heard-of sets that leads from one state to the other?"""
        start, end = self.twin.structure(before), self.twin.structure(after)
        assert start is not None and end is not None
        known = [term for symbol in self.form.symbols for term in self.table(symbol, start.tables[symbol])]
        hears = [symbol for symbol in self.phase.choices if symbol.name.startswith("hears.") and symbol.arguments]
        everyone = range(self.twin.n)
        for symbol, state in zip(hears, rounds, strict=True):
            heard = {(p, q): q in state.heard[-1][p] for p in everyone for q in everyone}
            known += self.table(symbol, heard)
        coordinator = next(symbol for symbol in self.phase.choices if symbol.name.startswith("coordinator."))
        if self.twin.coordinated:
            known += self.table(coordinator, {(p,): rounds[0].coordinators[p] for p in everyone})
        known.append(self.expanded(self.phase.guard))
        updated = {update.symbol: update for update in self.phase.updates}
        for symbol in self.form.symbols:
            update = updated.get(symbol)
            for arguments, value in end.tables[symbol].items():
                row = [self.constant(sort, item) for sort, item in zip(symbol.arguments, arguments, strict=True)]
                new = (
                    self.expanded(substitute(update.value, dict(zip(update.variables, row, strict=True))))
                    if update
                    else symbol(*row)
                )
                known.append(equal(new, self.constant(symbol.sort, value)))
        return self._satisfiable(known)

    def _satisfiable(self, formulas: Sequence[Term]) -> bool | None:
        import z3

        choices = [symbol for symbol in self.phase.choices if symbol.sort in self.elements]
        typed = list(formulas)
        for symbol in choices:
            if all(sort in self.elements for sort in symbol.arguments):
                for row in product(*(self.elements[sort] for sort in symbol.arguments)):
                    typed.append(disj(*(equal(symbol(*row), item) for item in self.elements[symbol.sort])))
        for items in self.elements.values():
            typed += [neg(equal(a, b)) for a, b in combinations(items, 2)]
        solver = z3.Solver()
        solver.set("timeout", 20_000)
        solver.from_string(Vocabulary().script(typed))
        answer = solver.check()
        return None if answer == z3.unknown else bool(answer == z3.sat)


class Recording(RoundTwin):
    """A twin that remembers the last round: its coordinators, and what was heard (the last row of `heard`)."""

    last: RoundState

    def __init__(self, model: RoundModel, n: int, values: int, parameters: dict[str, int]) -> None:
        super().__init__(model, n, values, parameters)
        self.remembered = set(range(len(self.rounds)))

    def _settled(self, state: RoundState) -> RoundState:
        self.last = state
        return super()._settled(state)


def phases(twin: Recording, random: Random, count: int) -> Iterator[tuple[RoundState, list[RoundState], RoundState]]:
    """Phases of random runs: the state before, what each round was like, and the state after."""
    for _ in range(count):
        state = next(every(twin.start, random))
        for _ in range(random.randint(1, 3)):
            before, rounds = state, []
            for _ in twin.rounds:
                taken = next(every(partial(twin.step, state), random), None)
                if taken is None:
                    return
                state = taken[1]
                rounds.append(twin.last)
            yield before, rounds, state


def compare_hearings(model: RoundModel, n: int, parameters: dict[str, int], depth: int) -> int:
    """The same for each way to hear and to be coordinated: what exactly can a round lead to from a state?"""
    twin, reference = Recording(model, n, n, parameters), Reference(model, n, n, parameters)
    seen = 0
    for mine, theirs in zip(layers(twin, depth), reference.layers(depth), strict=True):
        for name, state in {key(twin, state): state for state in mine}.items():
            found: dict[tuple[Any, ...], set[Key]] = {}
            for _, after in every(partial(twin.step, state)):
                found.setdefault((twin.last.coordinators, twin.last.heard[-1]), set()).add(key(twin, after))
            for (coordinators, heard), keys in found.items():
                masks = tuple(sum(1 << q for q in group) for group in heard)
                begun = replace(theirs[name], coordinators=coordinators)
                assert keys == {reference.key(at) for at in reference.naive.after(begun, masks, 0)}, (name, heard)
                seen += 1
    return seen


def every_phase(twin: Recording, count: int) -> Iterator[tuple[RoundState, list[RoundState], RoundState]]:
    """All phases of runs of so many phases."""
    layer = list(dict.fromkeys(every(twin.start)))
    for _ in range(count):
        following: dict[RoundState, None] = {}
        for before in layer:
            rows: list[tuple[list[RoundState], RoundState]] = [([], before)]
            for _ in twin.rounds:
                rows = [
                    ([*rounds, twin.last], after)
                    for rounds, state in rows
                    for _, after in every(partial(twin.step, state))
                ]
            for rounds, after in rows:
                following[after] = None
                yield before, rounds, after
        layer = list(following)


def compare_form(model: RoundModel, n: int, values: int, parameters: dict[str, int], random: Random, count: int) -> int:
    """Is the form right about the phases of random runs?  How many were looked at?"""
    twin = Recording(model, n, values, parameters)
    if twin.form is None:
        return 0
    side = FormSide(twin)
    seen = 0
    for before, rounds, after in phases(twin, random, count):
        assert side.wrong(before, before.phase == 1) == [], twin.show(before)
        assert side.wrong(after, False) == [], twin.show(after)
        assert side.allows(before, rounds, after) is not False, (twin.show(before), twin.show(after))
        seen += 1
    return seen
