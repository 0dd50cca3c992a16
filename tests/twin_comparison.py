"""Twins against models: the same initial states, the same successors, the same properties, on small states.

The model's side is a plain enumeration: parameters in turn, and the entries of a transition's choices when its formulas
first read them.  Where both sides can be enumerated within the limits their sets must be equal; otherwise every state of one
that was seen has to be allowed by the other, as far as that can be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from time import process_time
from typing import Any

from quorate.logic.structures import Evaluator, Structure, Value, argument_tuples, domain
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.models.relational import RelationalModel, Transition
from quorate.proof.twins import Twin
from quorate.proof.twins.choices import Choices, Impossible, every

WINDOW = range(-2, 4)
"""The integers that are tried where a model leaves one open; the twins try the same ones."""

Frozen = tuple[tuple[tuple[tuple[Value, ...], Value], ...], ...]
Successor = tuple[str, tuple[tuple[str, Value], ...], Frozen]


class LazyStructure(Structure):
    """A structure in which entries are chosen when they are first read; those of derived symbols are worked out."""

    def __init__(self, side: ModelSide, tables: Mapping[Symbol, Any], choices: Choices) -> None:
        super().__init__(side.sizes, tables)
        object.__setattr__(self, "side", side)
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "chosen", {})

    def value(self, symbol: Symbol, args: tuple[Value, ...]) -> Value:
        if symbol in self.tables or (not symbol.arguments and symbol.name in symbol.sort.elements):
            return super().value(symbol, args)
        if (symbol, args) not in self.chosen:
            self.chosen[symbol, args] = self._new_value(symbol, args)
        return self.chosen[symbol, args]

    def _new_value(self, symbol: Symbol, args: tuple[Value, ...]) -> Value:
        definition = self.side.derived.get(symbol)
        if definition is None:
            return any_value(symbol.sort, self.sizes, self.choices)
        variables, body = definition
        return self.side.evaluator.compile(body)(self, dict(zip(variables, args, strict=True)))

    def table(self, symbol: Symbol) -> dict[tuple[Value, ...], Value]:
        return {place: self.value(symbol, place) for place in argument_tuples(symbol.arguments, self.sizes)}


def any_value(sort: Sort, sizes: Mapping[Sort, int], choices: Choices) -> Value:
    options = WINDOW if sort is INT else domain(sort, sizes)
    return options[choices.choose(len(options))]


class ModelSide:
    """The meaning of a model at given sizes; `symbols` are those that both sides know."""

    def __init__(self, model: RelationalModel, sizes: Mapping[Sort, int], symbols: tuple[Symbol, ...]) -> None:
        self.model = model
        self.sizes = sizes
        self.symbols = symbols
        self.evaluator = Evaluator(sizes)
        self.derived = {item.symbol: item.definition for item in model.derived if item.definition is not None}

    def start(self, choices: Choices, known: Structure | None = None) -> Frozen:
        """An initial state; with a known one, is it initial, for some values of the symbols that it leaves open?"""
        tables = {} if known is None else {s: t for s, t in known.tables.items() if s not in self.derived}
        lazy = LazyStructure(self, tables, choices)
        for item in (*self.model.axioms, *self.model.initial):
            if not self.evaluator.compile(item.formula)(lazy, {}):
                raise Impossible
        return self.frozen(lazy)

    def frozen(self, lazy: LazyStructure) -> Frozen:
        """The tables of the common symbols in a fixed order."""
        return tuple(tuple(sorted(lazy.table(symbol).items())) for symbol in self.symbols)

    def with_derived(self, tables: Mapping[Symbol, Any]) -> Structure:
        """A structure with the derived symbols worked out from the others."""
        lazy = LazyStructure(self, {s: t for s, t in tables.items() if s not in self.derived}, Choices([], None))
        return Structure(self.sizes, {**lazy.tables, **{symbol: lazy.table(symbol) for symbol in self.derived}})

    def step(self, state: Structure, declared: Mapping[str, int], choices: Choices) -> Successor:
        """A step; of the transition's parameters only the declared ones are told."""
        transition = self.model.transitions[choices.choose(len(self.model.transitions))]
        return self.step_of(transition, state, declared.get(transition.name, 0), choices)

    def step_of(self, transition: Transition, state: Structure, declared: int, choices: Choices) -> Successor:
        bindings = {p: any_value(p.sort, self.sizes, choices) for p in transition.parameters}
        lazy = LazyStructure(self, state.tables, choices)
        if not self.evaluator.compile(transition.guard)(lazy, dict(bindings)):
            raise Impossible
        tables = dict(state.tables)
        for update in transition.updates:
            compiled = self.evaluator.compile(update.value)
            tables[update.symbol] = {
                place: compiled(lazy, {**bindings, **dict(zip(update.variables, place, strict=True))})
                for place in argument_tuples(update.symbol.arguments, self.sizes)
            }
        for symbol in self.derived:
            tables.pop(symbol, None)
        told = tuple((p.name, bindings[p]) for p in transition.parameters[:declared])
        return transition.name, told, self.frozen(LazyStructure(self, tables, choices))

    def falsified(self, state: Structure) -> set[str]:
        return {p.name for p in self.model.safety if not self.evaluator.compile(p.formula)(state, {})}


@dataclass
class Report:
    """What a comparison looked at, and what it found."""

    states: int = 0
    successors: int = 0
    initial: int = 0
    exhaustive: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.states += other.states
        self.successors += other.successors
        self.initial += other.initial
        self.exhaustive += other.exhaustive
        self.differences += other.differences

    def __str__(self) -> str:
        return (
            f"{self.initial} initial states, {self.states} states with {self.successors} successors "
            f"({self.exhaustive} sets compared in full), {len(self.differences)} differences"
        )


def limited(
    program: Callable[[Choices], Any], seconds: float, most: int, random: Random | None = None
) -> tuple[set[Any], bool]:
    """The outcomes of a program, up to some number or time, and whether these are all."""
    end = process_time() + seconds
    done = [False]

    def runs() -> Iterator[Any]:
        yield from every(program, random, stop=lambda: process_time() > end)
        done[0] = process_time() <= end

    found = set()
    for outcome in islice(runs(), 20 * most + 20):
        found.add(outcome)
        if len(found) > most:
            return found, False
    return found, done[0]


class Comparison:
    """A twin beside its model."""

    def __init__(self, model: RelationalModel, twin: Twin, seconds: float = 1.0, most: int = 2000) -> None:
        self.model = model
        self.twin: Any = twin
        self.seconds = seconds
        self.most = most
        self.report = Report()
        self.name = f"{model.name} ({twin.size})"
        sizes = {sort: twin.domains.sizes[sort.name] for sort in model.sorts if sort.uninterpreted}
        self.sizes = sizes
        if hasattr(self.twin, "canonical"):
            self.twin.canonical = False
        self.symbols: tuple[Symbol, ...] = ()
        for state in limited(twin.start, seconds, 0)[0]:
            self.symbols = tuple(twin.structure(state).tables)
        self.side = ModelSide(model, sizes, self.symbols)
        self.declared: dict[str, int] = {}

    def differ(self, what: str) -> None:
        self.report.differences.append(f"{self.name}: {what}")

    def view(self, state: Any) -> Frozen:
        tables = self.twin.structure(state).tables
        return tuple(tuple(sorted(tables[symbol].items())) for symbol in self.symbols)

    def initial(self, random: Random) -> list[Any]:
        """Compare the initial states; some of them come back."""
        states, all_twin = limited(self.twin.start, self.seconds, self.most, None)
        if not all_twin:
            more, _ = limited(self.twin.start, self.seconds, 20, random)
            states = set(list(states)[:20]) | more
        views = {self.view(state) for state in states}
        self.report.initial += len(views)
        mine, all_mine = limited(self.side.start, self.seconds, self.most, None if all_twin else random)
        if all_twin and all_mine:
            self.report.exhaustive += 1
        if all_twin and not mine <= views:
            self.differ(f"{len(mine - views)} initial states of the model are missing: {self.show(min(mine - views))}")
        for state in list(states)[: 50 if not all_mine else len(states)]:
            if all_mine:
                accepted = self.view(state) in mine
            else:
                known = self.twin.structure(state)
                found, complete = limited(lambda choices, known=known: self.side.start(choices, known), 1.0, 0)
                accepted = bool(found) or not complete
            if not accepted:
                self.differ(f"the model has no such initial state: {self.show(self.view(state))}")
        return sorted(states, key=repr)

    def state(self, state: Any) -> list[Any]:
        """Compare properties and successors of a state; the successors come back."""
        structure = self.twin.structure(state)
        self.report.states += 1
        theirs, mine = set(self.twin.falsified(state)), self.side.falsified(structure)
        if theirs != mine:
            self.differ(f"falsified: twin {sorted(theirs)}, model {sorted(mine)} in {self.show(self.view(state))}")
        found, all_twin = limited(lambda choices: Hashed(*self.twin.step(state, choices)), self.seconds, self.most)
        steps = {(item.move.name, tuple(item.move.arguments.items()), self.view(item.state)) for item in found}
        self.report.successors += len(steps)
        for item in found:
            self.declared[item.move.name] = len(item.move.arguments)
        theirs_all, all_mine = limited(
            lambda choices: self.side.step(structure, self.declared, choices), self.seconds, self.most
        )
        if all_twin and all_mine:
            self.report.exhaustive += 1
        for missing in sorted(theirs_all - steps)[:1] if all_twin else ():
            self.differ(
                f"the twin has no step {missing[:2]} from {self.show(self.view(state))} to {self.show(missing[2])}"
            )
        wrong = steps - theirs_all
        if not all_mine:
            wrong = {step for step in list(wrong)[:20] if not self.accepts(structure, step)}
        for extra in sorted(wrong)[:1]:
            self.differ(
                f"the model has no step {extra[:2]} from {self.show(self.view(state))} to {self.show(extra[2])}"
            )
        return [item.state for item in found]

    def accepts(self, structure: Structure, step: Successor) -> bool:
        """Does the model allow the step, as far as can be told in time?"""
        transition = next((t for t in self.model.transitions if t.name == step[0]), None)
        if transition is None:
            return False

        def program(choices: Choices) -> bool:
            made = self.side.step_of(transition, structure, len(step[1]), choices)
            return made == step

        found, complete = limited(program, self.seconds, 2)
        return True in found or not complete

    def show(self, view: Frozen) -> str:
        parts = []
        for symbol, table in zip(self.symbols, view, strict=True):
            for place, value in table:
                name = f"{symbol.name}{place or ''}"
                if symbol.sort is BOOL:
                    parts += [name] if value else []
                else:
                    parts.append(f"{name}={value}")
        return "; ".join(parts) or "nothing"

    def random_state(self, random: Random, like: Any) -> Any:
        """A state with the rigid part of another one and any values elsewhere."""
        structure = self.twin.structure(like)
        tables: dict[Symbol, Any] = dict(structure.tables)
        for symbol in self.model.state_symbols:
            if symbol in tables and symbol.name != "assertion_failed":
                options = list(WINDOW if symbol.sort is INT else domain(symbol.sort, self.sizes))
                places = argument_tuples(symbol.arguments, self.sizes)
                tables[symbol] = {place: random.choice(options) for place in places}
        return self.twin.state_of(self.side.with_derived(tables))

    def walk(self, random: Random, states: list[Any], length: int, arbitrary: int) -> None:
        """Compare along a random run, and in some arbitrary states."""
        if not states:
            return
        state = random.choice(states)
        for _ in range(length):
            following = self.state(state)
            if not following:
                break
            state = random.choice(following)
        for _ in range(arbitrary):
            self.state(self.random_state(random, random.choice(states)))


@dataclass(frozen=True)
class Hashed:
    """A step of a twin that can be a member of a set."""

    move: Any
    state: Any

    def __hash__(self) -> int:
        return hash((self.move.name, tuple(self.move.arguments.items()), self.state))


def compare(
    model: RelationalModel,
    instances: Iterator[Twin],
    seed: int = 0,
    count: int = 2,
    length: int = 3,
    arbitrary: int = 3,
    seconds: float = 1.0,
    most: int = 2000,
) -> Report:
    """Compare a model with the first few instances of its text."""
    random, report = Random(seed), Report()
    for twin in islice(instances, count):
        comparison = Comparison(model, twin, seconds, most)
        comparison.walk(random, comparison.initial(random), length, arbitrary)
        report.add(comparison.report)
    return report
