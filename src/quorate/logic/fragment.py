"""Is a query decidable?  The quantifier-alternation graph over sorts.

There is an edge from sort S to sort T where a value of T may depend on one of S: an existential T below a universal S
(after negations are pushed inwards), or a function from S to T.  If no cycle exists, the ground terms are finitely many, the
query is in the (extended) effectively propositional fragment, and a solver decides it.  See Padon et al., "Paxos made
EPR", OOPSLA 2017.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quorate.logic.terms import BOOL, INT, Exists, Forall, Sort, Term
from quorate.logic.transform import nnf, subterms, symbols_of


@dataclass(frozen=True)
class Edge:
    """`target` depends on `source`; `causes` names the formulas and functions that say so."""

    source: Sort
    target: Sort
    causes: tuple[str, ...]


@dataclass(frozen=True)
class Fragment:
    """The alternation graph of a query and, where it has one, a shortest cycle."""

    edges: tuple[Edge, ...]
    cycle: tuple[Edge, ...]
    integers: bool

    @property
    def decidable(self) -> bool:
        return not self.cycle and not self.integers

    def describe(self) -> str:
        """One sentence for people."""
        if self.integers:
            return "uses integer arithmetic under quantifiers: not known to be decidable"
        if not self.cycle:
            return "decidable: the sorts are stratified"
        steps = "; ".join(f"{edge.source} → {edge.target} by {', '.join(edge.causes)}" for edge in self.cycle)
        return f"not known to be decidable: {steps}"


def fragment(formulas: Iterable[tuple[str, Term]]) -> Fragment:
    """The alternation graph of the conjunction of named formulas."""
    causes: dict[tuple[Sort, Sort], dict[str, None]] = {}
    integers = False
    for name, formula in formulas:
        normal = nnf(formula)
        for source, target in _alternations(normal):
            causes.setdefault((source, target), {})[name] = None
        for symbol in symbols_of(normal):
            if symbol.sort.uninterpreted:
                for argument in symbol.arguments:
                    if argument.uninterpreted:
                        causes.setdefault((argument, symbol.sort), {})[f"function {symbol.name}"] = None
        integers = integers or any(term.sort is INT for term in subterms(normal))
    edges = tuple(Edge(source, target, tuple(names)) for (source, target), names in causes.items())
    return Fragment(edges, _shortest_cycle(edges), integers)


def _alternations(formula: Term) -> set[tuple[Sort, Sort]]:
    found: set[tuple[Sort, Sort]] = set()

    def walk(formula: Term, universals: frozenset[Sort]) -> None:
        match formula:
            case Forall(variables, body):
                walk(body, universals | {variable.sort for variable in variables})
                return
            case Exists(variables, _):
                for variable in variables:
                    if variable.sort is not BOOL and not variable.sort.elements:
                        found.update((source, variable.sort) for source in universals if source.uninterpreted)
        for child in formula.children:
            if child.sort is BOOL:
                walk(child, universals)

    walk(formula, frozenset())
    return found


def _shortest_cycle(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    leaving: dict[Sort, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    best: tuple[Edge, ...] = ()
    for start in leaving:
        path = _path_back(start, leaving)
        if path and (not best or len(path) < len(best)):
            best = path
    return best


def _path_back(start: Sort, leaving: Mapping[Sort, list[Edge]]) -> tuple[Edge, ...]:
    paths: dict[Sort, tuple[Edge, ...]] = {}
    frontier: list[tuple[Sort, tuple[Edge, ...]]] = [(start, ())]
    while frontier:
        following = []
        for sort, path in frontier:
            for edge in leaving.get(sort, ()):
                if edge.target is start:
                    return (*path, edge)
                if edge.target not in paths:
                    paths[edge.target] = (*path, edge)
                    following.append((edge.target, paths[edge.target]))
        frontier = following
    return ()
