"""The formulas among which invariants are looked for: clauses over a few variables of each sort.

The variables of a sort stand for different elements; where the axioms order the sort, for increasing ones.  A literal is
a number: atom `i` is `2 * i`, its negation `2 * i + 1`.  The first atoms say `X = X`, for the variables of ordered sorts:
the negation of one adds nothing to a clause but that there is a variable below or above the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, pairwise, permutations, product

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import BOOL, Apply, Equal, Sort, Symbol, Term, Var, conj, disj, equal, forall, neg
from quorate.logic.transform import substitute, symbols_of
from quorate.methods.inference.states import Array, States
from quorate.models.relational import RelationalModel

Clause = tuple[int, ...]
"""Literals in increasing order."""


@dataclass(frozen=True)
class Block:
    """The variables of one sort.  `order` is a relation that orders the sort totally, if there is one."""

    sort: Sort
    variables: tuple[Var, ...]
    order: Symbol | None = None

    def condition(self, used: Iterable[Var]) -> list[Term]:
        """What is taken for granted about the used variables: literals that must hold."""
        chosen = [variable for variable in self.variables if variable in set(used)]
        if self.order is not None:
            return [neg(self.order(b, a)) for a, b in pairwise(chosen)]
        return [neg(equal(a, b)) for a, b in combinations(chosen, 2)]

    def renamings(self) -> Iterator[dict[Var, Var]]:
        """For every set of used variables, the ways to rename it to the first variables that change nothing."""
        for size in range(len(self.variables) + 1):
            for used in combinations(self.variables, size):
                targets = self.variables[:size]
                for image in [targets] if self.order is not None else permutations(targets):
                    yield dict(zip(used, image, strict=True))

    def placements(self) -> Iterator[dict[Var, Var]]:
        """For every number of first variables, the ways to move them up that keep their order."""
        for size in range(len(self.variables) + 1):
            for image in combinations(self.variables, size) if self.order is not None else [self.variables[:size]]:
                yield dict(zip(self.variables[:size], image, strict=True))


@dataclass(frozen=True)
class Group:
    """Assignments of elements to the same variables: an array of elements for each, as long as there are assignments."""

    values: Mapping[Var, Array]
    count: int


class Language:
    """Clauses of at most `size` literals over `atoms`."""

    def __init__(self, blocks: Sequence[Block], constants: Sequence[Var], atoms: Sequence[Term], size: int) -> None:
        self.blocks = tuple(blocks)
        self.constants = tuple(constants)
        present = [Equal(v, v) for block in blocks if block.order is not None for v in block.variables]
        self.present = len(present)
        self.atoms = (*present, *atoms)
        self.size = size
        self._groups: dict[tuple[tuple[Sort, int], ...], list[Group]] = {}
        self._plans: dict[tuple[tuple[Sort, int], ...], list[Plan]] = {}

    @property
    def literals(self) -> int:
        return 2 * len(self.atoms)

    @property
    def words(self) -> int:
        return (self.literals + 63) // 64

    @cached_property
    def variables(self) -> tuple[Var, ...]:
        return tuple(chain.from_iterable(block.variables for block in self.blocks))

    def literal(self, number: int) -> Term:
        atom = self.atoms[number // 2]
        return neg(atom) if number % 2 else atom

    def formula(self, clause: Clause) -> Term:
        """The clause as a closed formula (constants apart)."""
        body = disj(*(self.literal(number) for number in clause if number >= 2 * self.present))
        used = frozenset().union(*(self.atoms[number // 2].free for number in clause))
        conditions = list(chain.from_iterable(block.condition(used) for block in self.blocks))
        return forall(self.variables, disj(*(neg(c) for c in conditions), body))

    # -- symmetry of the clauses --------------------------------------------------------------------------------

    @cached_property
    def masks(self) -> Array:
        """For every literal, the variables it uses, as bits."""
        masks = [sum(1 << i for i, v in enumerate(self.variables) if v in atom.free) for atom in self.atoms]
        return numpy.repeat(numpy.array(masks, numpy.uint32), 2)

    @cached_property
    def maps(self) -> tuple[Array, Array]:
        """The renamings of variables that change nothing, as maps of literals (-1 outside their domain)."""
        return self._maps([list(block.renamings()) for block in self.blocks])

    @cached_property
    def placements(self) -> tuple[Array, Array]:
        """The ways to place first variables among all, as maps of literals."""
        return self._maps([list(block.placements()) for block in self.blocks])

    def _maps(self, choices: list[list[dict[Var, Var]]]) -> tuple[Array, Array]:
        """Maps of literals with their domains as bits, by domain."""
        numbers = {atom: i for i, atom in enumerate(self.atoms)}
        found: list[tuple[int, list[int]]] = []
        for parts in product(*choices):
            renaming: dict[Var, Var] = {}
            for part in parts:
                renaming |= part
            bits = sum(1 << i for i, v in enumerate(self.variables) if v in renaming)
            row: list[int] = []
            for number, atom in enumerate(self.atoms):
                image = -1
                if atom.free & set(self.variables) <= set(renaming):
                    if number < self.present:
                        (variable,) = atom.free
                        image = numbers[Equal(renaming[variable], renaming[variable])]
                    else:
                        image = numbers.get(normal(substitute(atom, renaming)), -1)
                row += [2 * image, 2 * image + 1] if image >= 0 else [-1, -1]
            found.append((bits, row))
        found.sort(key=lambda item: item[0])
        return (
            numpy.array([bits for bits, _ in found], numpy.uint32),
            numpy.array([row for _, row in found], numpy.int16).reshape(len(found), self.literals),
        )

    @cached_property
    def firsts(self) -> Array:
        """For every variable of an ordered sort its bit and those of the variables before it, else its bit alone."""
        result, start = [], 0
        for block in self.blocks:
            for i in range(len(block.variables)):
                bits = sum(1 << start + j for j in range(i + 1)) if block.order is not None else 1 << start + i
                result.append(bits)
            start += len(block.variables)
        return numpy.array(result, numpy.uint32)

    # -- rows ---------------------------------------------------------------------------------------------------

    def groups(self, sizes: Mapping[Sort, int]) -> list[Group]:
        """All assignments to variables that need to be looked at; ordered sorts are ordered by number."""
        key = tuple((sort, sizes[sort]) for sort in sorted(sizes, key=lambda s: s.name))
        if key not in self._groups:
            self._groups[key] = list(self._assignments(sizes))
        return self._groups[key]

    def _assignments(self, sizes: Mapping[Sort, int]) -> Iterator[Group]:
        for parts in product(*(_choices(block, len(domain(block.sort, sizes))) for block in self.blocks)):
            used = list(chain.from_iterable(variables for variables, _ in parts))
            rows = [tuple(chain.from_iterable(values)) for values in product(*(values for _, values in parts))]
            table = numpy.array(rows, numpy.intp).reshape(len(rows), len(used))
            yield Group({variable: table[:, i] for i, variable in enumerate(used)}, len(rows))

    def _plan(self, sizes: Mapping[Sort, int]) -> list[Plan]:
        key = tuple((sort, sizes[sort]) for sort in sorted(sizes, key=lambda s: s.name))
        if key not in self._plans:
            self._plans[key] = [Plan(self, group) for group in self.groups(sizes)]
        return self._plans[key]

    def assignment(self, sizes: Mapping[Sort, int], row: int) -> dict[Var, int]:
        """What the variables stand for in a row of a single state."""
        for group in self.groups(sizes):
            if row < group.count:
                return {variable: int(values[row]) for variable, values in group.values.items()}
            row -= group.count
        raise IndexError(row)

    def rows(self, states: States, constants: Mapping[Var, int]) -> Array:
        """For every state and assignment, the literals that are false, as bits; `constants` gives those their values."""
        if states.count == 1:
            return numpy.concatenate([plan.rows(states, constants) for plan in self._plan(states.sizes)])
        parts = []
        for group in self.groups(states.sizes):
            false = numpy.zeros((states.count, group.count, 64 * self.words), bool)
            env = {**group.values, **constants}
            for i, atom in enumerate(self.atoms):
                if atom.free <= set(env):
                    false[:, :, 2 * i + 1] = states.evaluate(atom, env)
                    numpy.logical_not(false[:, :, 2 * i + 1], out=false[:, :, 2 * i])
            packed = numpy.packbits(false, axis=2, bitorder="little").view(numpy.uint64)
            parts.append(packed.reshape(-1, self.words))
        return numpy.concatenate(parts)


class Plan:
    """The rows of a single state, with an array operation per symbol instead of one per atom."""

    def __init__(self, language: Language, group: Group) -> None:
        self.language, self.group = language, group
        known = {*group.values, *language.constants}
        self.terms: dict[Term, int] = {}
        relations: dict[Symbol, list[tuple[int, ...]]] = {}
        equations: list[tuple[int, int, int]] = []
        for number, atom in enumerate(language.atoms):
            if not atom.free <= known:
                continue
            match atom:
                case Equal(left, right):
                    equations.append((number, self._term(left), self._term(right)))
                case Apply(symbol, args):
                    relations.setdefault(symbol, []).append((number, *(self._term(arg) for arg in args)))
                case _:
                    raise TypeError(f"not an atom: {atom}")
        self.relations = [(symbol, numpy.array(rows, numpy.intp)) for symbol, rows in relations.items()]
        self.equations = numpy.array(equations, numpy.intp).reshape(-1, 3)
        self.start = numpy.zeros((len(self.terms), group.count), numpy.intp)
        self.named: list[tuple[int, Var]] = []
        self.values: list[tuple[int, Symbol]] = []
        functions: dict[Symbol, list[tuple[int, ...]]] = {}
        for term, index in self.terms.items():
            match term:
                case Var() if term in group.values:
                    self.start[index] = group.values[term]
                case Var():
                    self.named.append((index, term))
                case Apply(symbol, ()) if symbol.name in symbol.sort.elements:
                    self.start[index] = symbol.sort.elements.index(symbol.name)
                case Apply(symbol, ()):
                    self.values.append((index, symbol))
                case Apply(symbol, args):
                    functions.setdefault(symbol, []).append((index, *(self.terms[arg] for arg in args)))
        self.functions = [(symbol, numpy.array(rows, numpy.intp)) for symbol, rows in functions.items()]

    def _term(self, term: Term) -> int:
        for child in term.children:
            if not isinstance(child, Var) and child.children:
                raise TypeError(f"functions within functions: {term}")
            self._term(child)
        return self.terms.setdefault(term, len(self.terms))

    def rows(self, states: States, constants: Mapping[Var, int]) -> Array:
        """A row for every assignment of the group."""
        values = self.start.copy()
        for index, variable in self.named:
            values[index] = constants[variable]
        for index, symbol in self.values:
            values[index] = states.tables[symbol][0]
        for symbol, rows in self.functions:
            values[rows[:, 0]] = states.tables[symbol][0][tuple(values[rows[:, j]] for j in range(1, rows.shape[1]))]
        false = numpy.zeros((self.group.count, 64 * self.language.words), bool)
        for symbol, rows in self.relations:
            holds = states.tables[symbol][0][tuple(values[rows[:, j]] for j in range(1, rows.shape[1]))]
            holds = numpy.broadcast_to(holds, (len(rows), self.group.count)).T
            false[:, 2 * rows[:, 0] + 1] = holds
            false[:, 2 * rows[:, 0]] = ~holds
        numbers = self.equations[:, 0]
        same = (values[self.equations[:, 1]] == values[self.equations[:, 2]]).T
        false[:, 2 * numbers + 1] = same
        false[:, 2 * numbers] = ~same
        return numpy.packbits(false, axis=1, bitorder="little").view(numpy.uint64)


def _choices(block: Block, size: int) -> list[tuple[tuple[Var, ...], list[tuple[int, ...]]]]:
    """Variables of a block, each time with values for them.

    Of an ordered sort, first variables, with values that cannot be continued to one more.  Of others, as many as there
    are elements, in all ways: whatever renaming makes of a row is a row too.
    """
    most = len(block.variables)
    if block.order is None:
        length = min(most, size)
        return [(used, list(permutations(range(size), length))) for used in combinations(block.variables, length)]
    found = []
    for length in range(1, most + 1):
        chosen = [t for t in combinations(range(size), length) if length == most or t[-1] == size - 1]
        if chosen:
            found.append((block.variables[:length], chosen))
    return found or [((), [()])]


def normal(atom: Term) -> Term:
    """Equations have their smaller side first."""
    match atom:
        case Equal(left, right) if str(right) < str(left):
            return Equal(right, left)
    return atom


def standard_atoms(
    model: RelationalModel,
    blocks: Sequence[Block],
    constants: Sequence[Var],
) -> list[Term]:
    """Every relation at every choice of variables and constants, and equations."""
    basic: dict[Sort, list[Term]] = {block.sort: list(block.variables) for block in blocks}
    for constant in constants:
        basic.setdefault(constant.sort, []).append(constant)
    for sort in model.sorts:
        basic.setdefault(sort, []).extend(Symbol(name, (), sort)() for name in sort.elements)
    for symbol in model.symbols:
        if not symbol.arguments and symbol.sort is not BOOL and symbol.name not in symbol.sort.elements:
            basic.setdefault(symbol.sort, []).append(symbol())
    applied: dict[Sort, list[Term]] = {}
    for symbol in model.symbols:
        if symbol.arguments and symbol.sort is not BOOL:
            made = [symbol(*args) for args in product(*(basic.get(sort, []) for sort in symbol.arguments))]
            applied.setdefault(symbol.sort, []).extend(made)
    orders = {block.order for block in blocks}
    atoms: dict[Term, None] = {}
    for symbol in model.symbols:
        if symbol.sort is not BOOL:
            continue
        pools = [
            basic.get(sort, []) + (applied.get(sort, []) if len(symbol.arguments) <= 2 else [])
            for sort in symbol.arguments
        ]
        for args in product(*pools):
            if symbol in orders and all(isinstance(arg, Var) and arg not in constants for arg in args):
                continue
            if symbol in orders and args[0] is args[1]:
                continue
            atoms[symbol(*args)] = None
    variables = set(chain.from_iterable(block.variables for block in blocks))
    for sort, terms in basic.items():
        for left, right in combinations(terms + applied.get(sort, []), 2):
            if left in variables and right in variables:
                continue
            if all(isinstance(side, Apply) and side.symbol.name in sort.elements for side in (left, right)):
                continue
            atoms[normal(equal(left, right))] = None
    return list(atoms)


def total_orders(model: RelationalModel) -> dict[Sort, Symbol]:
    """For each sort, a rigid relation that seems to order it: in every world of three elements it does."""
    from quorate.engines.smt.ground import Circuit, Grounder, SatSolver

    found: dict[Sort, Symbol] = {}
    for symbol in model.symbols:
        arguments = symbol.arguments
        if symbol.mutable or len(arguments) != 2 or arguments[0] is not arguments[1] or symbol.sort is not BOOL:
            continue
        sort = arguments[0]
        if sort in found or not sort.uninterpreted or symbol in model.derived_symbols:
            continue
        sizes = {s: 3 if s is sort else 1 for s in model.sorts if s.uninterpreted}
        circuit = Circuit()
        grounder = Grounder(circuit, sizes)
        about = [
            item.formula
            for item in model.axioms
            if symbol in symbols_of(item.formula) and not any(s.mutable for s in symbols_of(item.formula))
        ]
        tables = {s: grounder.table(s) for formula in about for s in symbols_of(formula)}
        if symbol not in tables or any(s in model.derived_symbols for s in tables):
            continue
        for formula in about:
            circuit.require(grounder.formula(formula, tables))
        x, y, z = (Var(name, sort) for name in "XYZ")
        ordered = conj(
            forall((x, y), disj(equal(x, y), neg(symbol(x, y)), neg(symbol(y, x)))),
            forall((x, y), disj(equal(x, y), symbol(x, y), symbol(y, x))),
            forall((x, y, z), disj(neg(symbol(x, y)), neg(symbol(y, z)), symbol(x, z))),
        )
        solver = SatSolver(circuit)
        if solver.solve(()) and not solver.solve((-grounder.formula(ordered, tables),)):
            found[sort] = symbol
    return found
