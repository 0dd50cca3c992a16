"""Finite instances by propositional logic: quantifiers expanded over given sizes, formulas as a circuit, solved by SAT.

A symbol's table holds a literal per tuple (relations) or one literal per possible value (functions, "one-hot").  Circuits
fold constants while they are built, so what the initial state fixes costs nothing later on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from quorate.logic.expansion import Expander, Ground, Tables
from quorate.logic.structures import EvaluationError, Structure, Value, argument_tuples, cases
from quorate.logic.terms import BOOL, INT, Quantified, Sort, Symbol, Term, Var
from quorate.logic.transform import sorts_of, symbols_of

TRUE, FALSE = 1, -1
"""The constant literals; every other literal is a variable's number or its negation."""

MOST_CASES, CONFLICTS = 50_000, 2_000
"""How many cases formulas may have, and how hard it may be, where the question is which of them suffice."""


class Circuit:
    """An and-inverter graph with structural sharing, and the clauses that define its gates."""

    def __init__(self) -> None:
        self.count = 1
        self.clauses: list[tuple[int, ...]] = [(TRUE,)]
        self._gates: dict[tuple[int, ...], int] = {}
        self._fixed: dict[int, int] = {}

    def copy(self) -> Circuit:
        """The same circuit, to go on with separately."""
        other = Circuit()
        other.count, other.clauses = self.count, self.clauses.copy()
        other._gates, other._fixed = self._gates.copy(), self._fixed.copy()
        return other

    def variable(self) -> int:
        self.count += 1
        return self.count

    def conj(self, literals: Iterable[int]) -> int:
        members = set(literals)
        if not self._fixed.keys().isdisjoint(members):
            members = {self._fixed.get(literal, literal) for literal in members}
        members.discard(TRUE)
        if len(members) < 2:
            return members.pop() if members else TRUE
        if FALSE in members:
            return FALSE
        key = tuple(sorted(members))
        gate = self._gates.get(key)
        if gate is None:
            opposite = [-member for member in key]
            if not members.isdisjoint(opposite):
                return FALSE
            gate = self._gates[key] = self.variable()
            self.clauses += [(-gate, member) for member in key]
            self.clauses.append((gate, *opposite))
        return gate

    def disj(self, literals: Iterable[int]) -> int:
        return -self.conj(-literal for literal in literals)

    def iff(self, left: int, right: int) -> int:
        if left == right:
            return TRUE
        if left == -right:
            return FALSE
        return self.disj((self.conj((left, right)), self.conj((-left, -right))))

    def ite(self, condition: int, then: int, otherwise: int) -> int:
        if then == otherwise:
            return then
        return self.disj((self.conj((condition, then)), self.conj((-condition, otherwise))))

    def require(self, literal: int) -> None:
        """Assert a literal; plain variables are folded into everything built afterwards."""
        literal = self._fixed.get(literal, literal)
        if literal != TRUE:
            self.clauses.append((literal,))
            if literal != FALSE:
                self._fixed[literal], self._fixed[-literal] = TRUE, FALSE

    def require_one_of(self, literals: Sequence[int]) -> None:
        """Exactly one of the literals is true."""
        self.clauses.append(tuple(literals))
        self.clauses.extend((-a, -b) for i, a in enumerate(literals) for b in literals[i + 1 :])

    def at_most(self, literals: Sequence[int], limit: int) -> Callable[[int], int]:
        """Counts the literals up to `limit`; the result gives, for k below it, a literal that implies "at most k"."""
        row: list[int] = []
        for literal in literals:
            previous = row
            row = []
            for k in range(min(limit, len(previous) + 1)):
                reached = self.variable()
                row.append(reached)
                carried = previous[k - 1] if k else TRUE
                self.clauses.append((-literal, reached) if k == 0 else (-literal, -carried, reached))
                if k < len(previous):
                    self.clauses.append((-previous[k], reached))
        return lambda k: -row[k] if k < len(row) else TRUE


class Grounder(Expander):
    """Expands terms over finite sizes into a circuit.

    A truth value is a literal; an element is its index if known, else a tuple with a literal per value.
    """

    true, false = TRUE, FALSE

    def __init__(self, circuit: Circuit, sizes: Mapping[Sort, int], remembers: bool = False) -> None:
        """`remembers`: whether quantified formulas are expanded only once, which pays off where large ones share parts."""
        super().__init__(sizes)
        self.circuit, self.remembers = circuit, remembers
        self._expanded: dict[int, tuple[Tables, dict[tuple[Any, ...], int]]] = {}
        """For every state, by the identity of its tables, which are kept, what quantified formulas have become there."""
        self._looked_up: dict[int, tuple[Any, dict[tuple[Ground, ...], Ground]]] = {}
        """Likewise for every table its values at arguments that are not known."""

    def term(self, term: Term, tables: Tables, env: dict[Var, Ground]) -> Ground:
        if not self.remembers or not isinstance(term, Quantified):
            return super().term(term, tables, env)
        known = self._expanded.setdefault(id(tables), (tables, {}))[1]
        key = (term, *((variable.name, env[variable]) for variable in sorted(term.free, key=lambda v: v.name)))
        if key not in known:
            known[key] = super().term(term, tables, env)
        return known[key]

    def conj(self, values: Iterable[int]) -> int:
        return self.circuit.conj(values)

    def disj(self, values: Iterable[int]) -> int:
        return self.circuit.disj(values)

    def neg(self, value: int) -> int:
        return -value

    def constant(self, value: Value, sort: Sort) -> Ground:
        return (TRUE if value else FALSE) if sort is BOOL else value

    def unknown(self, sort: Sort) -> Ground:
        """A fresh unknown value of a sort."""
        if sort is BOOL:
            return self.circuit.variable()
        if sort is INT:
            raise EvaluationError("integers cannot be expanded over finite sizes")
        size = len(self.domain(sort))
        if size == 1:
            return 0
        literals = tuple(self.circuit.variable() for _ in range(size))
        self.circuit.require_one_of(literals)
        return literals

    def table(self, symbol: Symbol) -> dict[tuple[Value, ...], Ground]:
        """Unknown values for a symbol at all arguments; elements of enumerations are known."""
        if not symbol.arguments and symbol.name in symbol.sort.elements:
            return {(): symbol.sort.elements.index(symbol.name)}
        return {args: self.unknown(symbol.sort) for args in argument_tuples(symbol.arguments, self.sizes)}

    def cases(self, value: Ground, sort: Sort) -> Iterator[tuple[Value, int]]:
        """The possible values with the literal under which each is taken."""
        if sort is BOOL:
            if value != FALSE:
                yield True, value
            if value != TRUE:
                yield False, -value
        elif isinstance(value, int):
            yield value, TRUE
        else:
            for i, literal in enumerate(value):
                if literal != FALSE:
                    yield i, literal

    def lookup(self, symbol: Symbol, args: list[Ground], tables: Tables) -> Ground:
        if BOOL in symbol.arguments or (not args and symbol.sort.elements):
            return super().lookup(symbol, args, tables)
        table, key = tables[symbol], tuple(args)
        if tuple not in map(type, args):
            return table[key]
        known = self._looked_up.setdefault(id(table), (table, {}))[1]
        if key not in known:
            known[key] = super().lookup(symbol, args, tables)
        return known[key]

    def select(self, condition: int, then: Ground, otherwise: Ground, sort: Sort) -> Ground:
        """The first value where the condition holds, else the second."""
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        if sort is BOOL:
            return self.circuit.ite(condition, then, otherwise)
        size = len(self.domain(sort))
        first, second = self._spread(then, size), self._spread(otherwise, size)
        return tuple(self.circuit.ite(condition, a, b) for a, b in zip(first, second, strict=True))

    def one_of(self, options: Sequence[tuple[int, Ground]], sort: Sort) -> Ground:
        if sort is BOOL:
            return self.circuit.disj([self.circuit.conj(option) for option in options])
        size = len(self.domain(sort))
        rows = [(condition, self._spread(value, size)) for condition, value in options]
        return tuple(self.circuit.disj([self.circuit.conj((c, row[i])) for c, row in rows]) for i in range(size))

    def _spread(self, value: Ground, size: int) -> tuple[int, ...]:
        return tuple(TRUE if i == value else FALSE for i in range(size)) if isinstance(value, int) else value

    def equal(self, left: Ground, right: Ground, sort: Sort) -> int:
        if sort is BOOL:
            return self.circuit.iff(left, right)
        if isinstance(left, int) and isinstance(right, int):
            return TRUE if left == right else FALSE
        size = len(self.domain(sort))
        pairs = zip(self._spread(left, size), self._spread(right, size), strict=True)
        return self.circuit.disj(self.circuit.conj(pair) for pair in pairs)

    def formula(self, term: Term, tables: Tables, env: Mapping[Var, Ground] | None = None) -> int:
        literal = self.term(term, tables, dict(env or {}))
        assert isinstance(literal, int)
        return literal


def enough(hypotheses: Sequence[Term], goal: Term, size: int) -> tuple[int, ...]:
    """Which hypotheses exclude the goal where every sort has so many elements, none of them in vain; none if all of them do not.

    None either where this is hard to say, or there are integers.
    """
    from pysat.solvers import Solver

    formulas = (*hypotheses, goal)
    sizes = {sort: size for sort in sorts_of(*formulas) if sort.uninterpreted}
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    try:
        if sum(cases(formula, sizes) for formula in formulas) > MOST_CASES:
            return ()
        tables = {symbol: grounder.table(symbol) for symbol in symbols_of(*formulas)}
        *literals, wanted = [grounder.formula(formula, tables) for formula in formulas]
    except EvaluationError:
        return ()
    circuit.require(wanted)
    with Solver(name="minisat22", bootstrap_with=circuit.clauses) as solver:

        def core(chosen: Sequence[int]) -> tuple[int, ...] | None:
            """Those of the chosen hypotheses that exclude the goal; None if they do not."""
            solver.conf_budget(CONFLICTS)
            if solver.solve_limited(assumptions=[literals[number] for number in chosen]) is not False:
                return None
            needed = set(solver.get_core() or ())
            return tuple(number for number in chosen if literals[number] in needed)

        found = core(range(len(literals))) or ()
        for number in found:
            if number in found:
                fewer = core([other for other in found if other != number])
                found = found if fewer is None else fewer
    return found


class SatSolver:
    """z3's SAT solver over the clauses of a circuit, fed as the circuit grows."""

    def __init__(self, circuit: Circuit, seed: int = 0) -> None:
        import z3

        self.circuit = circuit
        self.solver = z3.SolverFor("QF_FD")
        self.solver.set("random_seed", seed)
        self._bool = z3.Bool
        self._fed = 0
        self._model: Any = None

    def solve(self, assumptions: Sequence[int] = (), timeout: float | None = None) -> bool | None:
        """True if satisfiable under the assumptions, False if not, None if time ran out."""
        import z3

        if FALSE in assumptions:
            return False
        if timeout is not None and timeout <= 0:
            return None
        self._feed()
        self.solver.set("timeout", max(1, int(timeout * 1000)) if timeout is not None else 0xFFFFFFFF)
        literals = [self._bool(a) if a > 0 else z3.Not(self._bool(-a)) for a in assumptions if a != TRUE]
        answer = self.solver.check(*literals)
        if answer == z3.sat:
            self._model = self.solver.model()
            return True
        return False if answer == z3.unsat else None

    def _feed(self) -> None:
        new = self.circuit.clauses[self._fed :]
        if new:
            lines = [f"p cnf {self.circuit.count} {len(new)}"]
            lines += [" ".join(map(str, clause)) + " 0" for clause in new]
            self.solver.from_string("\n".join(lines) + "\n")
            self._fed = len(self.circuit.clauses)

    def holds(self, literal: int) -> bool:
        """The value of a literal in the last model."""
        if abs(literal) == 1:
            return literal == TRUE
        value = self._model[self._bool(abs(literal))]
        return (value is not None and bool(value)) == (literal > 0)

    def read(self, value: Ground, sort: Sort) -> Value:
        if sort is BOOL:
            return self.holds(value)
        if isinstance(value, int):
            return value
        return next((i for i, literal in enumerate(value) if self.holds(literal)), 0)

    def structure(self, tables: Tables, sizes: Mapping[Sort, int]) -> Structure:
        """The structure that the last model describes."""
        return Structure(
            dict(sizes),
            {
                symbol: {args: self.read(v, symbol.sort) for args, v in table.items()}
                for symbol, table in tables.items()
            },
        )
