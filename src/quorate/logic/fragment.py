"""Is a query decidable?  The quantifier-alternation graph over sorts.

There is an edge from sort S to sort T where a value of T may depend on one of S: an existential T below a universal S
(after negations are pushed inwards), or a function from S to T.  If no cycle exists, the ground terms are finitely many, the
query is in the (extended) effectively propositional fragment, and a solver decides it.  See Padon et al., "Paxos made
EPR", OOPSLA 2017.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from quorate.logic.terms import BOOL, INT, And, Apply, Exists, Forall, Not, Or, Sort, Term
from quorate.logic.transform import nnf, subterms


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
        for term in subterms(normal):
            if isinstance(term, Apply) and term.sort.uninterpreted:
                for argument in term.symbol.arguments:
                    if argument.uninterpreted:
                        causes.setdefault((argument, term.sort), {})[f"function {term.symbol.name}"] = None
        integers = integers or any(term.sort is INT for term in subterms(normal))
    edges = tuple(Edge(source, target, tuple(names)) for (source, target), names in causes.items())
    return Fragment(edges, _shortest_cycle(edges), integers)


def _alternations(formula: Term) -> Iterable[tuple[Sort, Sort]]:
    """The edges that quantifiers make, each once, in the order in which they are met."""
    found: dict[tuple[Sort, Sort], None] = {}

    def walk(formula: Term, universals: tuple[Sort, ...]) -> None:
        match formula:
            case Forall(variables, body):
                walk(body, (*universals, *(variable.sort for variable in variables)))
                return
            case Exists(variables, _):
                for variable in variables:
                    if variable.sort is not BOOL and not variable.sort.elements:
                        found.update(((source, variable.sort), None) for source in universals if source.uninterpreted)
        if isinstance(formula, And | Or | Exists):
            for child in formula.children:
                walk(child, universals)
            return
        for part in embedded(formula):
            walk(nnf(part), universals)
            walk(nnf(part, False), universals)

    def embedded(literal: Term) -> Iterator[Term]:
        """The formulas inside the terms of a literal: conditions and arguments, which count both ways."""
        for child in literal.children:
            if child.sort is BOOL and not isinstance(literal, Not):
                yield child
            else:
                yield from embedded(child)

    walk(formula, ())
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
