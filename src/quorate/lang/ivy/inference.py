"""Sorts that the first versions of Ivy leave out in declarations, found from how the symbols are used.

A file without any sort has a single one.  In other files the sort of a place is settled by unification over all formulas
and assignments.  What nothing settles is reported by `signature`, and what is settled is checked there like any sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Elaborator, Hole, Kind, Scope, resolve
from quorate.lang.ivy import syntax
from quorate.lang.ivy.modules import Program
from quorate.lang.reader import Binder, Expression
from quorate.logic.terms import BOOL, Sort, Symbol

ONLY_SORT = "universe"


@dataclass(frozen=True)
class _Guess:
    """What is known of a symbol so far; the elaborator takes it for a symbol."""

    arguments: tuple[Kind, ...]
    sort: Kind
    mutable: bool = False


def settle_sorts(program: Program) -> None:
    """Put sorts in the places of those left out, as far as they can be told."""
    unsorted = [item for item in program.symbols if _is_unsorted(item)]
    if not unsorted:
        return
    default = None if program.types else Sort(ONLY_SORT)
    if default is not None:
        program.types.append(syntax.TypeDeclaration(unsorted[0].span, ONLY_SORT))
    sorts = {item.name: Sort(item.name) for item in program.types}
    guesses = [_guess(item, sorts, default) for item in program.symbols]
    if default is None:
        known = {item.name: guess for item, guess in zip(program.symbols, guesses, strict=True)}
        _unify(program, Scope(symbols=cast(dict[str, Symbol], known), numeral=lambda value, sort, span: None), sorts)
    program.symbols[:] = [_settled(item, guess) for item, guess in zip(program.symbols, guesses, strict=True)]


def _is_unsorted(item: syntax.SymbolDeclaration) -> bool:
    return syntax.UNSORTED in (item.sort, *(binder.sort for binder in item.arguments))


def _guess(item: syntax.SymbolDeclaration, sorts: dict[str, Sort], default: Sort | None) -> _Guess:
    def kind(name: str | None) -> Kind:
        known = BOOL if name in (None, "bool") else sorts.get(name or "")
        return known or default or Hole()

    return _Guess(tuple(kind(binder.sort) for binder in item.arguments), kind(item.sort))


def _unify(program: Program, scope: Scope, sorts: dict[str, Sort]) -> None:
    scope.sorts.update(sorts)
    for left, right in _pairs(program):
        elaborator = Elaborator(scope, Sink(), lambda name: name[0].isupper())
        kind = BOOL if right is None else elaborator.infer(right)
        elaborator.expect(elaborator.infer(left), kind, left.span)


def _pairs(program: Program) -> Iterator[tuple[Expression, Expression | None]]:
    """Pairs of expressions that have the same sort, or formulas with nothing."""
    yield from ((item.formula, None) for item in program.formulas)
    blocks: list[syntax.Statement] = [part.body for action in program.actions.values() for part in action.parts]
    stack = blocks + list(program.initializations)
    while stack:
        match stack.pop():
            case syntax.Block(_, statements):
                stack += statements
            case syntax.Condition(_, _, _, formula):
                yield formula, None
            case syntax.Assignment(_, (target,), value) if value is not None:
                yield target, value
            case syntax.IfStatement(_, condition, then, otherwise):
                if condition is not None:
                    yield condition, None
                stack += [then] if otherwise is None else [then, otherwise]


def _settled(item: syntax.SymbolDeclaration, guess: _Guess) -> syntax.SymbolDeclaration:
    def name(given: str | None, kind: Kind) -> str | None:
        found = resolve(kind)
        return found.name if given == syntax.UNSORTED and isinstance(found, Sort) else given

    arguments: list[Binder] = []
    for binder, kind in zip(item.arguments, guess.arguments, strict=True):
        arguments.append(replace(binder, sort=name(binder.sort, kind)))
    return replace(item, arguments=tuple(arguments), sort=name(item.sort, guess.sort))
