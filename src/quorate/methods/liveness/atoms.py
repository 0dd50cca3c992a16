"""What ranks and conditions are made of: relations and parts of guards, with the variables of a stage in their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from quorate.logic.terms import (
    BOOL,
    And,
    Apply,
    Not,
    Quantified,
    Sort,
    Term,
    Var,
    equal,
)
from quorate.logic.transform import conjuncts, fresh_variables, nnf, substitute, symbols_of
from quorate.methods.liveness.samples import Samples


def atoms(samples: Samples, variables: tuple[Var, ...]) -> list[Term]:
    """What can be said of the variables, the property's variables and constants with one symbol, or as guards say it."""
    model, own = samples.model, samples.item.variables
    basic = model.plain_terms((*variables, *own))
    applied: dict[Sort, list[Term]] = {}
    for symbol in model.symbols:
        successor = not symbol.mutable and symbol.sort in symbol.arguments
        if symbol.arguments and symbol.sort is not BOOL and len(symbol.arguments) <= 2 and not successor:
            made = [symbol(*args) for args in product(*(basic.get(sort, []) for sort in symbol.arguments))]
            applied.setdefault(symbol.sort, []).extend(made)
    found: dict[Term, None] = {}
    for piece in _pieces(samples, variables):
        found[piece] = None
    for symbol in model.symbols:
        if symbol.sort is BOOL:
            pools = [
                basic.get(sort, []) + (applied.get(sort, []) if len(symbol.arguments) <= 3 - symbol.mutable else [])
                for sort in symbol.arguments
            ]
            for args in product(*pools):
                if len(args) < 2 or len(set(args)) == len(args):
                    found[symbol(*args)] = None
    for sort, terms in basic.items():
        listed = terms + applied.get(sort, [])
        for i, left in enumerate(listed):
            for right in listed[i + 1 :]:
                if not (_is_element(left) and _is_element(right)):
                    found[equal(left, right)] = None
    return sorted(found, key=lambda atom: (_size(atom), not _mentions(atom, variables)))


def wholes(samples: Samples) -> Iterator[tuple[tuple[Var, ...], Term]]:
    """Relations and quantified parts of guards, with different variables."""
    model = samples.model
    found: dict[Term, tuple[Var, ...]] = {}
    for symbol in model.symbols:
        if symbol.sort is BOOL and symbol.mutable:
            variables = _different(symbol.arguments, samples)
            found[symbol(*variables)] = variables
    for transition in model.transitions:
        for part in conjuncts(nnf(transition.guard)):
            piece = part.arg if isinstance(part, Not) else part
            free = [p for p in transition.parameters if p in piece.free]
            if isinstance(piece, Quantified) and len(free) == len(piece.free):
                if not symbols_of(piece).isdisjoint(transition.choices):
                    continue
                variables = _different([p.sort for p in free], samples)
                found[substitute(piece, dict(zip(free, variables, strict=True)))] = variables
    yield from ((variables, atom) for atom, variables in found.items())


def _different(sorts: Sequence[Sort], samples: Samples) -> tuple[Var, ...]:
    return tuple(fresh_variables([Var(sort.name.upper(), sort) for sort in sorts], samples.item.variables))


def _pieces(samples: Samples, variables: tuple[Var, ...]) -> Iterator[Term]:
    """Quantified parts of guards and of the property, over the variables."""
    model, item = samples.model, samples.item
    formulas: list[tuple[Term, tuple[Var, ...]]] = [(item.trigger, item.variables), (item.goal, item.variables)]
    for transition in model.transitions:
        formulas.append((transition.guard, transition.parameters))
    places: dict[Sort, list[Var]] = {}
    for variable in (*variables, *item.variables):
        places.setdefault(variable.sort, []).append(variable)
    for formula, parameters in formulas:
        for part in conjuncts(nnf(formula)):
            piece = part.arg if isinstance(part, Not) else part
            if not isinstance(piece, Quantified) and not (isinstance(piece, And) is False and len(piece.children) > 1):
                continue
            if any(choice in symbols_of(piece) for t in model.transitions for choice in t.choices):
                continue
            free = [p for p in parameters if p in piece.free]
            if len(free) != len(piece.free) or len(free) > 3:
                continue
            for values in product(*(places.get(p.sort, []) for p in free)):
                yield substitute(piece, dict(zip(free, values, strict=True)))


def _is_element(term: Term) -> bool:
    return isinstance(term, Apply) and term.symbol.name in term.symbol.sort.elements


def _size(term: Term) -> int:
    return 1 + sum(_size(child) for child in term.children)


def _mentions(term: Term, variables: Sequence[Var]) -> bool:
    return not term.free.isdisjoint(variables)
