"""Questions about one state, or one step, over given sizes, with clauses as hypotheses that may be withdrawn.

Each question is a SAT problem that grows: hypotheses are added where a model violates them, never before.  What questions about
the same step have in common is made once (`Grounded`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from random import Random
from typing import Any

import numpy

from quorate.engines.smt.ground import FALSE, TRUE, Circuit, Grounder
from quorate.logic.expansion import Ground, Tables
from quorate.logic.structures import domain
from quorate.logic.terms import BOOL, Sort, Symbol, Term, Var, conj, neg
from quorate.logic.transform import symbols_of
from quorate.methods.inference.language import Clause, Language
from quorate.methods.inference.states import Array, States, shape
from quorate.models.relational import RelationalModel, Transition

Item = tuple[int, int]
"""A clause that may be a hypothesis: where it comes from, and its number there."""


class TooHard(Exception):
    """A question took more conflicts than were allowed."""


class Grounded:
    """A state, or a step, of a model over given sizes, as a circuit: what all questions about it begin with.

    `before` and `after` are the tables of its states; without a transition both are the same.
    """

    def __init__(
        self,
        model: RelationalModel,
        sizes: Mapping[Sort, int],
        orders: Mapping[Sort, Symbol],
        transition: Transition | None = None,
        remembers: bool = False,
    ) -> None:
        self.model, self.sizes, self.transition = model, dict(sizes), transition
        self.circuit = Circuit()
        self.grounder = Grounder(self.circuit, self.sizes, remembers)
        derived = model.derived_symbols
        tables: Tables = {s: self.grounder.table(s) for s in model.symbols if s not in derived}
        for sort, order in orders.items():
            for a, b in combinations(range(self.sizes[sort]), 2):
                tables[order][a, b], tables[order][b, a] = TRUE, FALSE
        self.before = self._with_derived(tables)
        for item in model.background():
            if not item.name.startswith("definition of "):
                self.circuit.require(self.grounder.formula(item.formula, self.before))
        self.after = self.before if transition is None else self._step(transition)
        self._closed: dict[tuple[Term, bool], int] = {}

    def _with_derived(self, tables: Tables) -> Tables:
        for item in self.model.derived:
            assert item.definition is not None
            variables, body = item.definition
            table = {}
            for args in product(*(domain(sort, self.sizes) for sort in item.symbol.arguments)):
                env = {v: self.grounder.constant(a, v.sort) for v, a in zip(variables, args, strict=True)}
                table[args] = self.grounder.term(body, tables, env)
            tables = {**tables, item.symbol: table}
        return tables

    def _step(self, transition: Transition) -> Tables:
        ground = self.grounder
        env: dict[Var, Ground] = {p: ground.unknown(p.sort) for p in transition.parameters}
        tables = {**self.before, **{choice: ground.table(choice) for choice in transition.choices}}
        self.circuit.require(ground.formula(transition.guard, tables, env))
        after = {symbol: table for symbol, table in self.before.items() if symbol not in self.model.derived_symbols}
        for update in transition.updates:
            after[update.symbol] = {}
            for args in self.before[update.symbol]:
                inner = {v: ground.constant(a, v.sort) for v, a in zip(update.variables, args, strict=True)}
                after[update.symbol][args] = ground.term(update.value, tables, {**env, **inner})
        return self._with_derived(after)

    def closed(self, formula: Term, after: bool) -> int:
        """What a formula without free variables is before or after the step."""
        if (formula, after) not in self._closed:
            self._closed[formula, after] = self.grounder.formula(formula, self.after if after else self.before)
        return self._closed[formula, after]


class Grounds:
    """The states and steps of one model, each grounded once."""

    def __init__(self, model: RelationalModel, orders: Mapping[Sort, Symbol]) -> None:
        self.model, self.orders = model, orders
        self._known: dict[tuple[str, tuple[int, ...]], Grounded] = {}

    def __call__(self, sizes: Mapping[Sort, int], transition: Transition | None = None) -> Grounded:
        key = (
            transition.name if transition else "",
            tuple(sizes[sort] for sort in self.model.sorts if sort.uninterpreted),
        )
        if key not in self._known:
            self._known[key] = Grounded(self.model, sizes, self.orders, transition)
        return self._known[key]


class Question:
    """Is there a state, or a step, such that..?

    What is `required` holds in the state before; so do the facts that are given with a name, before or after the step, and it
    is told which of them an answer needed.
    """

    def __init__(
        self,
        grounded: Grounded,
        required: Iterable[Term] = (),
        constants: Sequence[Var] = (),
        before: Mapping[str, Term] = {},
        after: Mapping[str, Term] = {},
    ) -> None:
        from pysat.solvers import Solver

        self.model, self.sizes, self.transition = grounded.model, grounded.sizes, grounded.transition
        self.name = self.transition.name if self.transition else ""
        required = list(required)
        held = [grounded.closed(formula, False) for formula in required if not formula.free]
        self.facts = {name: grounded.closed(formula, False) for name, formula in before.items()}
        self.facts |= {name: grounded.closed(formula, True) for name, formula in after.items()}
        """For every named fact the literal that says it."""
        self.before, self.after = grounded.before, grounded.after
        self.circuit = grounded.circuit.copy()
        self.grounder = Grounder(self.circuit, self.sizes, grounded.grounder.remembers)
        self.solver = Solver(name="minisat22")
        self._fed = 0
        self.constants: dict[Var, Ground] = {constant: self.grounder.unknown(constant.sort) for constant in constants}
        for literal in held:
            self.circuit.require(literal)
        for formula in required:
            if formula.free:
                self.circuit.require(self.grounder.formula(formula, self.before, self.constants))
        self._last = self.circuit.count
        """The last variable that the states and the constants are read from."""
        self._readers: dict[bool, list[tuple[Symbol, Array, bool]]] = {}
        self._grounded: dict[tuple[Term, tuple[int, ...], bool], int] = {}
        self.refuted = 0
        """How many candidates had been refuted when hypotheses were last withdrawn."""
        self._core: set[int] = set()
        self.used: frozenset[str] = frozenset()
        """The named facts that the last negative answer needed, as `core` has found them."""
        self.active: dict[tuple[int, bool], dict[int, int]] = {}
        """For every clause that is a hypothesis here the literal that switches it on, by its number; by where the clause comes
        from, and whether it is one about the state after the step."""

    def leaves_alone(self, formulas: Iterable[Term]) -> bool:
        """Whether the step changes nothing that the formulas speak of."""
        if self.transition is None:
            return False
        symbols = symbols_of(*formulas)
        return symbols.isdisjoint(self.transition.modified) and symbols.isdisjoint(self.model.derived_symbols)

    def breaks(self, formula: Term, after: Term, before: Sequence[Term] = ()) -> bool:
        """Whether a step before and after which something holds can make a formula about given elements false."""
        if self.leaves_alone([formula]):
            return False
        for variable in formula.free.union(after.free, *(known.free for known in before)):
            if variable not in self.constants:
                self.constants[variable] = self.grounder.unknown(variable.sort)
                self._last = self.circuit.count
        held = self.grounder.formula(conj(formula, *before), self.before, self.constants)
        breaks = self.grounder.formula(conj(after, neg(formula)), self.after, self.constants)
        return self.solve(self.circuit.conj((held, breaks)))

    # -- clauses ------------------------------------------------------------------------------------------------

    def literal(self, atom: Term, env: Mapping[Var, int], after: bool) -> int:
        """What an atom is at an assignment."""
        key = atom, tuple(env[v] for v in sorted(atom.free & set(env), key=lambda v: v.name)), after
        found = self._grounded.get(key)
        if found is None:
            found = self.grounder.formula(atom, self.after if after else self.before, {**env, **self.constants})
            self._grounded[key] = found
        return found

    def instance(self, language: Language, clause: Clause, env: Mapping[Var, int], after: bool) -> list[int]:
        """The literals of a clause at an assignment."""
        return [self.literal(language.atoms[number // 2], env, after) * (-1 if number % 2 else 1) for number in clause]

    def violation(self, language: Language, clause: Clause, after: bool) -> int:
        """The literal that says that a clause is violated, at the least assignments that stand for all."""
        used = frozenset().union(*(language.atoms[number // 2].free for number in clause))
        choices: list[list[tuple[tuple[Var, int], ...]]] = []
        for block in language.blocks:
            variables = [variable for variable in block.variables if variable in used]
            size = len(domain(block.sort, self.sizes))
            if len(variables) > size:
                return FALSE
            values = combinations(range(size), len(variables)) if self._ordered(block) else [range(len(variables))]
            choices.append([tuple(zip(variables, value, strict=True)) for value in values])
        cases = []
        for parts in product(*choices):
            env = {variable: value for part in parts for variable, value in part}
            cases.append(self.circuit.conj(-literal for literal in self.instance(language, clause, env, after)))
        return self.circuit.disj(cases)

    def _ordered(self, block: Any) -> bool:
        return block.order is not None or bool(block.sort.elements)

    def suppose(self, language: Language, item: Item, clause: Clause, env: Mapping[Var, int], after: bool) -> None:
        """Add an instance of a hypothesis."""
        layer, number = item
        active = self.active.setdefault((layer, after), {})
        if number not in active:
            active[number] = self.circuit.variable()
        literals = self.instance(language, clause, env, after)
        if TRUE not in literals:
            self.circuit.clauses.append((-active[number], *(x for x in literals if x != FALSE)))

    def withdraw(self, alive: Sequence[Sequence[int]]) -> None:
        """Give up the hypotheses that no longer hold: for every layer, and every clause of it, whether it does."""
        for (layer, _), active in self.active.items():
            for number in [number for number in active if not alive[layer][number]]:
                self.circuit.clauses.append((-active.pop(number),))

    # -- answers ------------------------------------------------------------------------------------------------

    def solve(
        self, goal: int, hypotheses: Iterable[int] = (), fixed: Sequence[int] = (), conflicts: int | None = None
    ) -> bool:
        """Whether the goal can be satisfied under the facts and some hypotheses, each given by what switches it on.

        Raises `TooHard` if it takes more conflicts than are allowed.
        """
        new = self.circuit.clauses[self._fed :]
        if new:
            self.solver.append_formula(new)
            self._fed = len(self.circuit.clauses)
        assumptions = [*self.facts.values(), *fixed, goal, *hypotheses]
        if FALSE in assumptions:
            self._core = {FALSE}
            return False
        assumed = [x for x in assumptions if x != TRUE]
        if conflicts is None:
            satisfied = bool(self.solver.solve(assumptions=assumed))
        else:
            self.solver.conf_budget(conflicts)
            answer = self.solver.solve_limited(assumptions=assumed)
            if answer is None:
                raise TooHard
            satisfied = bool(answer)
        self._core = set() if satisfied else set(self.solver.get_core() or ())
        return satisfied

    def shuffle(self, random: Random) -> None:
        """Make the next answer a different one."""
        numbers = numpy.arange(2, self.circuit.count + 1)
        signs = numpy.random.default_rng(random.getrandbits(64)).integers(0, 2, len(numbers))
        self.solver.set_phases(numpy.where(signs, numbers, -numbers).tolist())

    def fixed(self, states: States, constants: Mapping[Var, int], after: bool = True) -> list[int]:
        """Literals that say that the state after the step (or before it), and the constants, are these."""
        literals: list[int] = []
        for symbol, unknown, is_known in self._reader(after):
            if is_known or symbol in self.model.derived_symbols:
                continue
            table = states.tables[symbol]
            if symbol.sort is BOOL:
                chosen = numpy.where(table, unknown, -unknown)
            else:
                chosen = numpy.take_along_axis(unknown, table[..., None], -1)
            literals += chosen.ravel().tolist()
        literals += [
            self.grounder.equal(value, constants[constant], constant.sort) for constant, value in self.constants.items()
        ]
        return [literal for literal in literals if literal != TRUE]

    def core(self) -> frozenset[Item]:
        """The hypotheses that the last negative answer needed."""
        self.used = frozenset(name for name, literal in self.facts.items() if literal in self._core)
        return frozenset(
            (layer, number)
            for (layer, _), active in self.active.items()
            for number, literal in active.items()
            if literal in self._core
        )

    def read(self, after: bool) -> tuple[States, Mapping[Var, int]]:
        """The state that the last positive answer describes, and the values of the constants."""
        reader = self._reader(after)
        model = (self.solver.get_model() or [])[: self._last]
        values = numpy.zeros(self._last + 1, bool)
        values[1 : len(model) + 1] = numpy.array(model) > 0
        values[1] = True
        tables = {}
        for symbol, literals, is_known in reader:
            if is_known:
                tables[symbol] = literals
                continue
            truth = numpy.where(literals > 0, values[numpy.abs(literals)], ~values[numpy.abs(literals)])
            tables[symbol] = truth if symbol.sort is BOOL else truth.argmax(axis=-1)
        constants = {
            constant: value if isinstance(value, int) else next((i for i, x in enumerate(value) if values[x]), 0)
            for constant, value in self.constants.items()
        }
        return States(self.sizes, 1, tables), constants

    def _reader(self, after: bool) -> list[tuple[Symbol, Array, bool]]:
        """For every symbol its literals (or, where it is known, its values) as an array."""
        if after not in self._readers:
            self._readers[after] = []
            for symbol, table in (self.after if after else self.before).items():
                sizes = shape(symbol, self.sizes)
                if symbol.sort is BOOL:
                    literals = numpy.array(list(table.values()), numpy.int64).reshape(1, *sizes)
                    self._readers[after].append((symbol, literals, False))
                elif len(domain(symbol.sort, self.sizes)) == 1:
                    self._readers[after].append((symbol, numpy.zeros((1, *sizes), numpy.intp), True))
                else:
                    size = len(domain(symbol.sort, self.sizes))
                    rows = [self.grounder._spread(value, size) for value in table.values()]
                    literals = numpy.array(rows, numpy.int64).reshape(1, *sizes, size)
                    self._readers[after].append((symbol, literals, False))
        return self._readers[after]
