"""Is a query decidable?  The quantifier-alternation graph over sorts.

There is an edge from sort S to sort T where a value of T may depend on one of S: an existential T below a universal S
(after negations are pushed inwards), or a function from S to T.  If no cycle exists, the ground terms are finitely many, the
query is in the (extended) effectively propositional fragment, and a solver decides it.  See Padon et al., "Paxos made
EPR", OOPSLA 2017.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from quorate.logic.terms import BOOL, INT, And, Apply, Forall, If, Implies, Not, Or, Quantified, Sort, Term
from quorate.logic.transform import simplify, subterms


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
        for source, target in _alternations(simplify(formula)):
            causes.setdefault((source, target), {})[name] = None
        for term in subterms(formula):
            if isinstance(term, Apply) and term.sort.uninterpreted:
                for argument in term.symbol.arguments:
                    if argument.uninterpreted:
                        causes.setdefault((argument, term.sort), {})[f"function {term.symbol.name}"] = None
        integers = integers or any(term.sort is INT for term in subterms(formula))
    edges = tuple(Edge(source, target, tuple(names)) for (source, target), names in causes.items())
    return Fragment(edges, _shortest_cycle(edges), integers)


def _alternations(formula: Term) -> Iterable[tuple[Sort, Sort]]:
    """The edges that the quantifiers of an asserted formula make, each once, in the order in which they are met."""
    found: dict[tuple[Sort, Sort], None] = {}
    seen: set[tuple[Term, bool, tuple[Sort, ...]]] = set()

    def walk(formula: Term, positive: bool, universals: tuple[Sort, ...]) -> None:
        if (formula, positive, universals) in seen:
            return
        seen.add((formula, positive, universals))
        match formula:
            case Quantified(variables, body):
                sorts = [
                    variable.sort for variable in variables if variable.sort is not BOOL and not variable.sort.elements
                ]
                if isinstance(formula, Forall) == positive:
                    universals = tuple(dict.fromkeys((*universals, *sorts)))
                else:
                    found.update(((u, sort), None) for sort in sorts for u in universals if u.uninterpreted)
                walk(body, positive, universals)
            case Not(arg):
                walk(arg, not positive, universals)
            case And(args) | Or(args):
                for arg in args:
                    walk(arg, positive, universals)
            case Implies(left, right):
                walk(left, not positive, universals)
                walk(right, positive, universals)
            case If(condition, then, otherwise):
                walk(condition, True, universals)
                walk(condition, False, universals)
                walk(then, positive, universals)
                walk(otherwise, positive, universals)
            case _:
                for part in _embedded(formula):
                    walk(part, True, universals)
                    walk(part, False, universals)

    walk(formula, True, ())
    return found


def _embedded(term: Term) -> Iterator[Term]:
    """The formulas that stand in an equivalence or in the terms of an atom: they count both ways."""
    for child in term.children:
        if child.sort is BOOL:
            yield child
        else:
            yield from _embedded(child)


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
