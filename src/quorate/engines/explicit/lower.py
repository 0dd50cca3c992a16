"""A relational model at given sizes as a finite system.

Every mutable symbol has a field per tuple of arguments, every transition a rule per value of its parameters, with
quantifiers expanded and everything that is fixed folded away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import factorial, prod

from quorate.engines.explicit.expressions import FALSE, TRUE, Graph, Node
from quorate.engines.explicit.system import WORD, Block, Permutation, Rule, System
from quorate.engines.explicit.worlds import (
    InstanceError,
    Renaming,
    World,
    entries,
    enumerate_worlds,
    moved,
    renamings,
)
from quorate.logic.expansion import Expander, Ground, Tables
from quorate.logic.structures import Value, domain
from quorate.logic.terms import BOOL, Quantified, Sort, Symbol, Term, Var
from quorate.logic.transform import symbols_of
from quorate.models.relational import Derived, RelationalModel, Transition

MOST_RULES = 200_000
LARGEST_GROUP = 1_296
"""A world with more symmetries than this is searched with fewer of them."""


class GraphExpander(Expander):
    """Expands terms into an expression graph."""

    true, false = TRUE, FALSE

    def __init__(self, graph: Graph, sizes: Mapping[Sort, int]) -> None:
        super().__init__(sizes)
        self.graph = graph
        self._known: dict[tuple[Term, tuple[Node, ...]], Node] = {}
        self._tables: Tables | None = None

    def constant(self, value: Value, sort: Sort) -> Node:
        return self.graph.const(int(value))

    def neg(self, value: Node) -> Node:
        return self.graph.neg(value)

    def conj(self, values: Iterable[Node]) -> Node:
        return self.graph.conj(values)

    def disj(self, values: Iterable[Node]) -> Node:
        return self.graph.disj(values)

    def equal(self, left: Node, right: Node, sort: Sort) -> Node:
        return self.graph.iff(left, right) if sort is BOOL else self.graph.equal(left, right)

    def select(self, condition: Node, then: Node, otherwise: Node, sort: Sort) -> Node:
        pick = self.graph.choose_truth if sort is BOOL else self.graph.choose
        return pick(condition, then, otherwise)

    def cases(self, value: Node, sort: Sort) -> Iterator[tuple[Value, Node]]:
        known = self.graph.value(value)
        if known is not None:
            yield bool(known) if sort is BOOL else known, TRUE
        elif sort is BOOL:
            yield False, self.graph.neg(value)
            yield True, value
        else:
            for element in self.domain(sort):
                yield element, self.graph.equal(value, self.graph.const(element))

    def term(self, term: Term, tables: Tables, env: dict[Var, Ground]) -> Ground:
        """Quantified formulas are expanded once per value of their free variables."""
        if not isinstance(term, Quantified):
            return super().term(term, tables, env)
        if tables is not self._tables:
            self._tables, self._known = tables, {}
        key = term, tuple(env[variable] for variable in sorted(term.free, key=lambda v: v.name))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = super().term(term, tables, env)
        return found


def _tables(symbols: Iterable[Symbol], sizes: Mapping[Sort, int], leaf: Callable[[int], Node], graph: Graph) -> Tables:
    """A leaf of the graph for every entry of every symbol, numbered through; a single possible value is a constant."""
    tables: Tables = {}
    number = 0
    for symbol in symbols:
        single = len(domain(symbol.sort, sizes)) == 1
        tables[symbol] = {}
        for args in entries(symbol, sizes):
            tables[symbol][args] = graph.const(0) if single else leaf(number)
            number += 1
    return tables


def _with_derived(derived: Sequence[Derived], tables: Tables, expander: GraphExpander) -> Tables:
    """The tables with those of the derived symbols, as far as what they depend on is there."""
    for item in derived:
        assert item.definition is not None
        variables, value = item.definition
        elements = {symbol for symbol in symbols_of(value) if symbol.name in symbol.sort.elements}
        if symbols_of(value) - elements <= set(tables):
            tables = {**tables, item.symbol: {}}
            for args in entries(item.symbol, expander.sizes):
                env = {v: expander.constant(a, v.sort) for v, a in zip(variables, args, strict=True)}
                tables[item.symbol][args] = expander.term(value, tables, env)
    return tables


def rigid_worlds(
    model: RelationalModel, sizes: Mapping[Sort, int], symbols: Sequence[Symbol], where: Term | None
) -> list[World]:
    """The interpretations of the rigid symbols that satisfy the axioms (and `where`), up to isomorphism."""
    graph = Graph()
    expander = GraphExpander(graph, sizes)
    tables = _with_derived(model.derived, _tables(symbols, sizes, graph.rigid, graph), expander)
    formulas = [axiom.formula for axiom in model.axioms] + ([where] if where is not None else [])
    axioms = [expander.term(f, tables, {}) for f in formulas if not any(s.mutable for s in symbols_of(f))]
    return enumerate_worlds(graph, symbols, sizes, axioms)


def lower(
    model: RelationalModel, sizes: Mapping[Sort, int], rigid_symbols: Sequence[Symbol], worlds: Sequence[World]
) -> System:
    """The finite system of a model at given sizes, in the given worlds."""
    return _Lowering(model, sizes, rigid_symbols, worlds).system()


class _Lowering:
    """Builds the system of an instance."""

    def __init__(
        self,
        model: RelationalModel,
        sizes: Mapping[Sort, int],
        rigid_symbols: Sequence[Symbol],
        worlds: Sequence[World],
    ) -> None:
        self.model = model
        self.sizes = sizes
        self.rigid_symbols = rigid_symbols
        self.worlds = worlds
        self.graph = Graph()
        self.expander = GraphExpander(self.graph, sizes)
        state = _tables(model.state_symbols, sizes, self.graph.field, self.graph)
        self.tables = self._with_derived({**self._rigid(), **state})
        self.fields = tuple(len(domain(s.sort, sizes)) for s in model.state_symbols for _ in entries(s, sizes))
        self.assumed = [a.formula for a in model.axioms if any(s.mutable for s in symbols_of(a.formula))]

    def _with_derived(self, tables: Tables) -> Tables:
        return _with_derived(self.model.derived, tables, self.expander)

    def _rigid(self) -> Tables:
        """Rigid entries: constants where all worlds agree."""
        tables: Tables = {}
        number = 0
        for symbol in self.rigid_symbols:
            tables[symbol] = {}
            for args in entries(symbol, self.sizes):
                values = {world.values[number] for world in self.worlds}
                fixed = len(values) <= 1
                tables[symbol][args] = self.graph.const(max(values, default=0)) if fixed else self.graph.rigid(number)
                number += 1
        return tables

    def system(self) -> System:
        rules = [rule for transition in self.model.transitions for rule in self._rules(transition)]
        properties = tuple((item.name, self.expander.term(item.formula, self.tables, {})) for item in self.model.safety)
        symmetry, blocks, why_not = self._symmetry()
        return System(
            self.graph,
            self.fields,
            tuple(len(domain(s.sort, self.sizes)) for s in self.rigid_symbols for _ in entries(s, self.sizes)),
            tuple(world.values for world in self.worlds),
            (self._initial(),),
            tuple(rules),
            properties,
            symmetry,
            blocks,
            why_not=why_not,
        )

    def _initial(self) -> Rule:
        """All initial states, as one rule that chooses every field."""
        fresh = _tables(self.model.state_symbols, self.sizes, self.graph.choice, self.graph)
        tables = self._with_derived({**self._rigid(), **fresh})
        formulas = [item.formula for item in self.model.initial] + self.assumed
        guard = self.expander.conj(self.expander.term(formula, tables, {}) for formula in formulas)
        values = [node for symbol in self.model.state_symbols for node in fresh[symbol].values()]
        return Rule("", (), self.fields, self.graph.conjuncts(guard), tuple(enumerate(values)))

    def _rules(self, transition: Transition) -> Iterator[Rule]:
        ranges = [domain(parameter.sort, self.sizes) for parameter in transition.parameters]
        count = 1
        for values in ranges:
            count *= len(values)
        if count > MOST_RULES:
            raise InstanceError(f"{transition.name} can be taken in {count:,} ways at these sizes; take smaller sizes")
        choices = _tables(transition.choices, self.sizes, self.graph.choice, self.graph)
        tables = {**self.tables, **choices}
        domains = tuple(len(domain(s.sort, self.sizes)) for s in transition.choices for _ in entries(s, self.sizes))
        for row in product(*ranges):
            env = {p: self.expander.constant(v, p.sort) for p, v in zip(transition.parameters, row, strict=True)}
            guard = self.expander.term(transition.guard, tables, env)
            if guard == FALSE:
                continue
            updates = self._updates(transition, tables, env)
            if self.assumed:
                guard = self.expander.conj((guard, *self._assumed_after(transition, tables, updates)))
            bindings = tuple(int(value) for value in row)
            changed = tuple(
                (i, node) for i, node in updates.items() if node != self.graph.field(i) and self.fields[i] > 1
            )
            yield Rule(transition.name, bindings, domains, self.graph.conjuncts(guard), changed)

    def _updates(self, transition: Transition, tables: Tables, env: dict[Var, Node]) -> dict[int, Node]:
        offsets, number = {}, 0
        for symbol in self.model.state_symbols:
            offsets[symbol] = number
            number += len(entries(symbol, self.sizes))
        found = {}
        for update in transition.updates:
            for i, args in enumerate(entries(update.symbol, self.sizes)):
                inner = {v: self.expander.constant(a, v.sort) for v, a in zip(update.variables, args, strict=True)}
                found[offsets[update.symbol] + i] = self.expander.term(update.value, tables, {**env, **inner})
        return found

    def _assumed_after(self, transition: Transition, tables: Tables, updates: Mapping[int, Node]) -> list[Node]:
        """What is assumed of every state, of the state after the step."""
        after = dict(tables)
        number = 0
        for symbol in self.model.state_symbols:
            after[symbol] = {}
            for args in entries(symbol, self.sizes):
                after[symbol][args] = updates.get(number, self.tables[symbol][args])
                number += 1
        after = self._with_derived(
            {s: t for s, t in after.items() if s not in self.model.derived_symbols or not s.mutable}
        )
        return [self.expander.term(formula, after, {}) for formula in self.assumed]

    def _symmetry(self) -> tuple[tuple[tuple[Permutation, ...], ...], tuple[Block, ...], str]:
        """What may be permuted: for each world by its automorphisms, and the elements of sorts that no rigid symbol mentions.

        Of those, the elements of a sort that occurs only as the single argument of symbols can be sorted.
        """
        mentioned = {s for symbol in self.rigid_symbols for s in (*symbol.arguments, symbol.sort)}
        free = [sort for sort in self.model.sorts if sort.uninterpreted and sort not in mentioned]
        sorted_out = [sort for sort in free if self._occurs_alone(sort)]
        largest = max((len(world.automorphisms) for world in self.worlds), default=1)
        listed: list[Sort] = []
        left_out: list[Sort] = [s for s in mentioned if s.uninterpreted] if largest > LARGEST_GROUP else []
        for sort in free:
            if sort not in sorted_out:
                ways = prod(factorial(self.sizes[item]) for item in (*listed, sort))
                (listed if ways * min(largest, LARGEST_GROUP) <= LARGEST_GROUP else left_out).append(sort)
        fresh = renamings(listed, self.sizes)
        known: dict[tuple[frozenset[tuple[Sort, Sequence[int]]], ...], tuple[Permutation, ...]] = {}
        groups = []
        for world in self.worlds:
            own: Sequence[Renaming] = world.automorphisms if len(world.automorphisms) <= LARGEST_GROUP else ({},)
            key = tuple(frozenset(renaming.items()) for renaming in own)
            if key not in known:
                both = ({**old, **more} for old in own for more in fresh)
                known[key] = tuple(dict.fromkeys(map(self._permutation, both)))
            groups.append(known[key])
        names = ", ".join(sorted(map(str, left_out)))
        why = f"the elements of {names} can be permuted in too many ways" if left_out else ""
        return tuple(groups), tuple(self._block(sort) for sort in sorted_out), why

    def _occurs_alone(self, sort: Sort) -> bool:
        """Whether each element of a sort has fields of its own and no others mention it; they must fit into a word."""
        own = [symbol for symbol in self.model.state_symbols if symbol.arguments == (sort,)]
        bits = sum((len(domain(symbol.sort, self.sizes)) - 1).bit_length() for symbol in own)
        return bits <= WORD and all(
            symbol.sort is not sort and (sort not in symbol.arguments or symbol in own)
            for symbol in self.model.state_symbols
        )

    def _block(self, sort: Sort) -> Block:
        """The fields of each element of a sort."""
        columns: list[list[int]] = [[] for _ in range(self.sizes[sort])]
        offset = 0
        for symbol in self.model.state_symbols:
            if sort in symbol.arguments:
                for element in range(self.sizes[sort]):
                    columns[element].append(offset + element)
            offset += len(entries(symbol, self.sizes))
        return tuple(map(tuple, columns))

    def _permutation(self, renaming: Renaming) -> Permutation:
        places: list[int] = []
        values: list[tuple[int, ...]] = []
        for symbol in self.model.state_symbols:
            offset = len(places)
            moves, becomes = moved(symbol, self.sizes, renaming)
            places += [offset + place for place in moves]
            values += [tuple(becomes)] * len(moves)
        return Permutation(tuple(places), tuple(values))
