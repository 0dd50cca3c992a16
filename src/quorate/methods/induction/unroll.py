"""Runs of bounded length, unrolled: over finite sizes as a circuit, or over all sizes as first-order formulas.

A `Plan` says what is wanted: which transitions may fire at each step and what must hold where.  Bounded model checking,
trace queries and counterexamples to induction are all plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quorate.engines.smt.ground import TRUE, Circuit, Grounder, SatSolver
from quorate.logic.expansion import Ground, Tables
from quorate.logic.structures import Structure, Table, Value
from quorate.logic.terms import BOOL, Sort, Symbol, Term, conj, disj, equal, implies
from quorate.logic.transform import prime, rename_symbols, substitute
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.models.semantics import Step, state_of, successor
from quorate.proof.traces import Trace


@dataclass(frozen=True)
class Option:
    """A transition that may fire, with terms that its parameters must equal (None: any value)."""

    transition: Transition
    arguments: tuple[Term | None, ...] = ()


@dataclass(frozen=True)
class Move:
    """One step of a plan: one of the options, or no change if `stutter`."""

    options: tuple[Option, ...]
    stutter: bool = False


@dataclass(frozen=True)
class Plan:
    """A run of a given shape: moves, and formulas that must hold in numbered states; `initial` starts it properly."""

    initial: bool
    moves: tuple[Move, ...]
    required: tuple[tuple[int, Term], ...] = ()


def any_move(model: RelationalModel) -> Move:
    """A step by whichever transition."""
    return Move(tuple(Option(transition) for transition in model.transitions))


@dataclass
class _GroundStep:
    options: list[tuple[Transition, int, dict[str, Ground], Tables]] = field(default_factory=list)


class FiniteRun:
    """A run over fixed sizes, grown step by step, as a circuit with a SAT solver over it."""

    def __init__(self, model: RelationalModel, sizes: Mapping[Sort, int], initial: bool, seed: int = 0) -> None:
        self.model = model
        self.sizes = dict(sizes)
        self.circuit = Circuit()
        self.grounder = Grounder(self.circuit, self.sizes)
        self.solver = SatSolver(self.circuit, seed)
        derived = model.derived_symbols
        tables: Tables = {s: self.grounder.table(s) for s in model.symbols if s not in derived}
        if initial:
            for item in model.initial:
                self.circuit.require(self.grounder.formula(model.expand(item.formula), tables))
        for item in model.background():
            if not item.name.startswith("definition of "):
                self.circuit.require(self.grounder.formula(model.expand(item.formula), tables))
        self.states: list[Tables] = [self._with_derived(tables)]
        self.steps: list[_GroundStep] = []

    def _with_derived(self, tables: Tables) -> Tables:
        for item in self.model.derived:
            assert item.definition is not None
            variables, body = item.definition
            table = self.grounder.table(item.symbol)
            for args in table:
                env = {
                    variable: ((TRUE if arg else -TRUE) if variable.sort is BOOL else arg)
                    for variable, arg in zip(variables, args, strict=True)
                }
                table[args] = self.grounder.term(body, tables, env)
            tables = {**tables, item.symbol: table}
        return tables

    def holds(self, formula: Term, state: int = -1) -> int:
        """The literal that a one-state formula has in a state."""
        return self.grounder.formula(formula, self.states[state])

    def move(self, move: Move) -> None:
        """Add a step."""
        before = self.states[-1]
        step = _GroundStep()
        circuit = self.circuit
        alone = len(move.options) == 1 and not move.stutter
        selected = [TRUE if alone else circuit.variable() for _ in move.options]
        if not alone:
            circuit.require_one_of([*selected, circuit.variable()] if move.stutter else selected)
        slots: dict[tuple[Sort, int], Ground] = {}
        after: Tables = {symbol: dict(table) for symbol, table in before.items()}
        for option, literal in zip(move.options, selected, strict=True):
            transition = option.transition
            env: dict[object, Ground] = {}
            seen: dict[Sort, int] = {}
            for parameter in transition.parameters:
                place = (parameter.sort, seen.get(parameter.sort, 0))
                seen[parameter.sort] = place[1] + 1
                if place not in slots:
                    slots[place] = self.grounder.unknown(parameter.sort)
                env[parameter] = slots[place]
            choices = {choice: self.grounder.table(choice) for choice in transition.choices}
            tables = {**before, **choices}
            conditions = [self.grounder.formula(transition.guard, tables, env)]  # type: ignore[arg-type]
            for parameter, argument in zip(transition.parameters, option.arguments, strict=False):
                if argument is not None:
                    value = self.grounder.term(argument, before, {})
                    conditions.append(self.grounder.equal(env[parameter], value, parameter.sort))
            enabled = circuit.conj(conditions)
            if literal == TRUE:
                circuit.require(enabled)
            else:
                circuit.clauses.append((-literal, enabled))
            for update in transition.updates:
                target = after[update.symbol]
                for args in target:
                    inner = dict(env)
                    for variable, arg in zip(update.variables, args, strict=True):
                        inner[variable] = (TRUE if arg else -TRUE) if variable.sort is BOOL else arg
                    value = self.grounder.term(update.value, tables, inner)  # type: ignore[arg-type]
                    target[args] = self.grounder.select(literal, value, target[args], update.symbol.sort)
            bindings = {parameter.name: env[parameter] for parameter in transition.parameters}
            step.options.append((transition, literal, bindings, choices))
        for item in self.model.derived:
            after.pop(item.symbol)
        self.states.append(self._with_derived(after))
        self.steps.append(step)

    def solve(self, assumptions: Sequence[int] = (), timeout: float | None = None) -> bool | None:
        return self.solver.solve(assumptions, timeout)

    def trace(self, kind: str, violated: str | None, states: int | None = None) -> Trace:
        """The run that the last model describes: state 0 and the choices are read, the rest is computed."""
        states = len(self.states) if states is None else states
        current = self.solver.structure(self.states[0], self.sizes)
        reached = [current]
        steps: list[Step] = []
        for ground in self.steps[: states - 1]:
            chosen = next((option for option in ground.options if self.solver.holds(option[1])), None)
            if chosen is None:
                continue
            transition, _, bindings, choices = chosen
            sorts = {parameter.name: parameter.sort for parameter in transition.parameters}
            values: dict[str, Value] = {name: self.solver.read(v, sorts[name]) for name, v in bindings.items()}
            tables: dict[str, Table] = {
                symbol.name: {args: self.solver.read(value, symbol.sort) for args, value in table.items()}
                for symbol, table in choices.items()
            }
            step = Step(transition.name, values, tables)
            following = successor(self.model, current, step)
            assert isinstance(following, Structure), following
            current = following
            steps.append(step)
            reached.append(current)
        return Trace(kind, tuple(reached), tuple(steps), violated)  # type: ignore[arg-type]


# -- all sizes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SymbolicRun:
    """A plan as formulas over symbols with one prime per step, and what is needed to read a trace back."""

    hypotheses: tuple[Named, ...]
    symbols: tuple[Symbol, ...]
    selectors: tuple[tuple[tuple[Transition, Symbol], ...], ...]

    def trace(self, model: RelationalModel, structure: Structure, kind: str, violated: str | None) -> Trace:
        """The run in a structure that satisfies the hypotheses."""
        current = state_of(model, structure)
        reached = [current]
        steps: list[Step] = []
        for number, options in enumerate(self.selectors):
            chosen = next((t for t, selector in options if structure.value(selector, ())), None)
            if chosen is None:
                continue
            bindings = {
                p.name: structure.value(_constant(number, chosen, p.name, p.sort), ()) for p in chosen.parameters
            }
            choices = {c.name: structure.tables[_choice(number, chosen, c)] for c in chosen.choices}
            step = Step(chosen.name, bindings, choices)
            following = successor(model, current, step)
            assert isinstance(following, Structure), following
            current = following
            steps.append(step)
            reached.append(current)
        return Trace(kind, tuple(reached), tuple(steps), violated)  # type: ignore[arg-type]


def _constant(step: int, transition: Transition, name: str, sort: Sort) -> Symbol:
    return Symbol(f"@{step}.{transition.name}.{name}", (), sort)


def _choice(step: int, transition: Transition, choice: Symbol) -> Symbol:
    return Symbol(f"@{step}.{transition.name}.{choice.name}", choice.arguments, choice.sort)


def symbolic_run(model: RelationalModel, plan: Plan) -> SymbolicRun:
    """The plan over all sizes."""
    length = len(plan.moves) + 1
    known = list(model.background(length))
    if plan.initial:
        known += model.initial
    symbols: list[Symbol] = [symbol.at(state) for symbol in model.symbols for state in range(length)]
    selectors: list[tuple[tuple[Transition, Symbol], ...]] = []
    mutable = model.state_symbols
    for number, move in enumerate(plan.moves):
        row: list[tuple[Transition, Symbol]] = []
        for index, option in enumerate(move.options):
            transition = option.transition
            selector = Symbol(f"@{number}.{index}.{transition.name}", (), BOOL)
            row.append((transition, selector))
            constants = {p: _constant(number, transition, p.name, p.sort)() for p in transition.parameters}
            choices = {c: _choice(number, transition, c) for c in transition.choices}
            symbols += [selector, *(c.symbol for c in constants.values()), *choices.values()]
            body = substitute(transition.formula(mutable), constants)
            body = rename_symbols(body, lambda symbol, choices=choices: choices.get(symbol, symbol))  # type: ignore[misc]
            arguments = [
                equal(constants[p], a)
                for p, a in zip(transition.parameters, option.arguments, strict=False)
                if a is not None
            ]
            known.append(
                Named(
                    f"step {number + 1}: {transition.name}", implies(selector(), prime(conj(body, *arguments), number))
                )
            )
        if move.stutter:
            idle = Symbol(f"@{number}.idle", (), BOOL)
            symbols.append(idle)
            frame = Transition("idle", (), (), conj(), ()).formula(mutable)
            known.append(Named(f"step {number + 1}: no change", implies(idle(), prime(frame, number))))
            known.append(Named(f"step {number + 1}", disj(idle(), *(selector() for _, selector in row))))
        else:
            known.append(Named(f"step {number + 1}", disj(*(selector() for _, selector in row))))
        selectors.append(tuple(row))
    known += [Named(f"state {state}", prime(formula, state)) for state, formula in plan.required]
    return SymbolicRun(tuple(known), tuple(dict.fromkeys(symbols)), tuple(selectors))
