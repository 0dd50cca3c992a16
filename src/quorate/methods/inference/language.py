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
from math import prod

import numpy

from quorate.logic.structures import domain
from quorate.logic.terms import BOOL, Apply, Equal, Sort, Symbol, Term, Var, conj, disj, equal, forall, neg
from quorate.logic.transform import substitute, symbols_of
from quorate.methods.inference.library import library
from quorate.methods.inference.states import Array, States, shape
from quorate.models.relational import RelationalModel

Clause = tuple[int, ...]
"""Literals in increasing order."""
Aliases = Mapping[Term, tuple[Term, bool] | None]
"""Which other atom, or its negation, an atom is; None if it is always true, or always false."""
Choice = tuple[tuple[Var, ...], list[tuple[int, ...]]]
"""Some variables, and values for them."""


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
    """Clauses of at most `size` literals over `atoms`, each with at most `total` of the variables, and of at most `weight`
    literals and variables together."""

    def __init__(
        self,
        blocks: Sequence[Block],
        constants: Sequence[Var],
        atoms: Sequence[Term],
        size: int,
        total: int | None = None,
        aliases: Aliases | None = None,
        weight: int | None = None,
    ) -> None:
        """Atoms that are `aliases` are left out."""
        self.aliases = aliases or {}
        self.blocks = tuple(blocks)
        self.constants = tuple(constants)
        present = [Equal(v, v) for block in blocks if block.order is not None for v in block.variables]
        self.present = len(present)
        self.atoms = (*present, *(atom for atom in atoms if atom not in self.aliases))
        self.size = size
        self.total = len(self.variables) if total is None else min(total, len(self.variables))
        self.weight = self.size + self.total if weight is None else weight
        self._groups: dict[tuple[tuple[Sort, int], ...], list[Group]] = {}
        self._plans: dict[tuple[tuple[Sort, int], ...], Plan] = {}

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
        own = [tuple(v for v in self.variables if v in atom.free) for atom in self.atoms]
        known: list[dict[tuple[Var | None, ...], tuple[int, int]]] = [{} for _ in self.atoms]
        found: list[tuple[int, list[int]]] = []

        def images(number: int, renaming: dict[Var, Var]) -> tuple[int, int]:
            """What becomes of an atom and of its negation."""
            if not all(variable in renaming for variable in own[number]):
                return -1, -1
            renamed: Term
            if number < self.present:
                (variable,) = own[number]
                renamed = Equal(renaming[variable], renaming[variable])
            else:
                renamed = normal(substitute(self.atoms[number], renaming))
            standing, negated = self.aliases.get(renamed) or (renamed, False)
            image = numbers.get(standing, -1)
            return (2 * image + negated, 2 * image + (not negated)) if image >= 0 else (-1, -1)

        for parts in product(*choices):
            renaming: dict[Var, Var] = {}
            for part in parts:
                renaming |= part
            bits = sum(1 << i for i, v in enumerate(self.variables) if v in renaming)
            row: list[int] = []
            for number, variables in enumerate(own):
                key = tuple(map(renaming.get, variables))
                if key not in known[number]:
                    known[number][key] = images(number, renaming)
                row += known[number][key]
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

    def _parts(self, sizes: Mapping[Sort, int]) -> Iterator[tuple[Choice, ...]]:
        """Variables of every block and values for them; as many variables as a clause may use."""
        for counts in product(*(range(len(block.variables) + 1) for block in self.blocks)):
            if sum(counts) == self.total:
                choices = [
                    _choices(block, count, len(domain(block.sort, sizes)))
                    for block, count in zip(self.blocks, counts, strict=True)
                ]
                yield from product(*choices)

    def _assignments(self, sizes: Mapping[Sort, int]) -> Iterator[Group]:
        for parts in self._parts(sizes):
            used = list(chain.from_iterable(variables for variables, _ in parts))
            rows = [tuple(chain.from_iterable(values)) for values in product(*(values for _, values in parts))]
            table = numpy.array(rows, numpy.intp).reshape(len(rows), len(used))
            yield Group({variable: table[:, i] for i, variable in enumerate(used)}, len(rows))

    def assignment(self, sizes: Mapping[Sort, int], row: int) -> dict[Var, int]:
        """What the variables stand for in a row of a single state."""
        for group in self.groups(sizes):
            if row < group.count:
                return {variable: int(values[row]) for variable, values in group.values.items()}
            row -= group.count
        raise IndexError(row)

    def rows(self, states: States, constants: Mapping[Var, int]) -> Array:
        """For every state and assignment, the literals that are false, as bits; `constants` gives those their values."""
        key = tuple((sort, states.sizes[sort]) for sort in sorted(states.sizes, key=lambda s: s.name))
        if key not in self._plans:
            self._plans[key] = Plan(self, states.sizes)
        return self._plans[key].rows(states, constants)


class Plan:
    """How rows are read off states of given sizes: which entries of which tables the atoms look at."""

    def __init__(self, language: Language, sizes: Mapping[Sort, int]) -> None:
        self.language, self.sizes = language, sizes
        columns = (*language.variables, *language.constants)
        self.columns = {variable: i for i, variable in enumerate(columns)}
        groups = language.groups(sizes)
        self.table = numpy.full((sum(group.count for group in groups), len(columns)), -1, numpy.int32)
        start = 0
        for group in groups:
            for variable, values in group.values.items():
                self.table[start : start + group.count, self.columns[variable]] = values
            start += group.count
        used = symbols_of(*language.atoms)
        symbols = sorted((s for s in used if s.name not in s.sort.elements), key=lambda s: s.name)
        self.starts: dict[Symbol, int] = {}
        self.width = 0
        for symbol in symbols:
            self.starts[symbol] = self.width
            self.width += prod(shape(symbol, sizes))
        self.terms: dict[Term, int] = {}
        self.code: list[int] = []
        atoms: list[int] = []
        for number in range(language.present, len(language.atoms)):
            atom = language.atoms[number]
            if isinstance(atom, Equal):
                atoms += [number, -1, self._term(atom.left), self._term(atom.right)]
            else:
                assert isinstance(atom, Apply), atom
                atoms += [number, *self._entry(atom)]
        for number in range(language.present):
            (variable,) = language.atoms[number].free
            atoms += [number, -1, self._term(variable), self._term(variable)]
        self.program = numpy.array([*self.code, *atoms], numpy.int32)

    def _entry(self, term: Apply) -> list[int]:
        sizes = shape(term.symbol, self.sizes)
        strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        args = [(self._term(arg), stride) for arg, stride in zip(term.args, strides, strict=True)]
        return [len(args), self.starts[term.symbol], *chain.from_iterable(args)]

    def _term(self, term: Term) -> int:
        if term not in self.terms:
            match term:
                case Var():
                    code = [-1, self.columns[term]]
                case Apply(symbol, ()) if symbol.name in symbol.sort.elements:
                    code = [-2, symbol.sort.elements.index(symbol.name)]
                case Apply():
                    code = self._entry(term)
                case _:
                    raise TypeError(f"{term} is not an element")
            self.code += code
            self.terms[term] = len(self.terms)
        return self.terms[term]

    def rows(self, states: States, constants: Mapping[Var, int]) -> Array:
        """For every state, a row for every assignment."""
        language = self.language
        for constant in language.constants:
            self.table[:, self.columns[constant]] = constants[constant]
        count = states.count
        if count == 1:
            tables = [states.tables[symbol].ravel() for symbol in self.starts]
            lines = numpy.concatenate(tables, dtype=numpy.uint8, casting="unsafe") if tables else numpy.zeros(0)
        else:
            lines = numpy.empty((count, self.width), numpy.uint8)
            for symbol, start in self.starts.items():
                table = states.tables[symbol].reshape(len(states.tables[symbol]), -1)
                lines[:, start : start + table.shape[1]] = table
        rows = numpy.empty((count * len(self.table), language.words), numpy.uint64)
        library().rows_of(
            count, self.width, lines.ctypes.data, *self.table.shape, self.table.ctypes.data, len(self.terms),
            len(language.atoms), self.program.ctypes.data, language.words, rows.ctypes.data,
        )  # fmt: skip
        return rows


def _choices(block: Block, most: int, size: int) -> list[Choice]:
    """At most so many variables of a block, each time with values for them.

    Of an ordered sort, first variables, with values that cannot be continued to one more.  Of others, as many as there
    are elements, in all ways: whatever renaming makes of a row is a row too.
    """
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
    variables = dict.fromkeys(chain.from_iterable(block.variables for block in blocks))
    basic = model.plain_terms((*variables, *constants))
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
    for sort, terms in basic.items():
        for left, right in combinations(terms + applied.get(sort, []), 2):
            if left in variables and right in variables:
                continue
            if all(isinstance(side, Apply) and side.symbol.name in sort.elements for side in (left, right)):
                continue
            atoms[normal(equal(left, right))] = None
    return list(atoms)


def total_orders(model: RelationalModel) -> dict[Sort, Symbol]:
    """For each sort, a rigid relation that seems to order it: in every world of three elements it does.

    Other sorts have one element in these worlds; or three as well, if axioms ask for more than one.
    """
    found: dict[Sort, Symbol] = {}
    for symbol in model.symbols:
        arguments = symbol.arguments
        if symbol.mutable or len(arguments) != 2 or arguments[0] is not arguments[1] or symbol.sort is not BOOL:
            continue
        sort = arguments[0]
        if sort in found or not sort.uninterpreted or symbol in model.derived_symbols:
            continue
        others = (_is_order(model, symbol, size) for size in (1, 3))
        if next((answer for answer in others if answer is not None), False):
            found[sort] = symbol
    return found


def _is_order(model: RelationalModel, symbol: Symbol, others: int) -> bool | None:
    """Whether a relation orders every world of three elements and so many of other sorts; None if there is no such world."""
    from quorate.engines.smt.ground import Circuit, Grounder, SatSolver

    sort = symbol.arguments[0]
    circuit = Circuit()
    grounder = Grounder(circuit, {s: 3 if s is sort else others for s in model.sorts if s.uninterpreted})
    about = [
        item.formula
        for item in model.axioms
        if symbol in symbols_of(item.formula) and not any(s.mutable for s in symbols_of(item.formula))
    ]
    tables = {s: grounder.table(s) for formula in about for s in symbols_of(formula)}
    if symbol not in tables or any(s in model.derived_symbols for s in tables):
        return False
    for formula in about:
        circuit.require(grounder.formula(formula, tables))
    x, y, z = (Var(name, sort) for name in "XYZ")
    ordered = conj(
        forall((x, y), disj(equal(x, y), neg(symbol(x, y)), neg(symbol(y, x)))),
        forall((x, y), disj(equal(x, y), symbol(x, y), symbol(y, x))),
        forall((x, y, z), disj(neg(symbol(x, y)), neg(symbol(y, z)), symbol(x, z))),
    )
    solver = SatSolver(circuit)
    if not solver.solve(()):
        return None
    return not solver.solve((-grounder.formula(ordered, tables),))
