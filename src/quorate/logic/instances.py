"""A query with its quantifiers partly taken away: existentials named by functions, universals of the goal replaced by instances.

A formula and its Skolem form are satisfiable together, and a universal formula implies each of its instances: so if the result
is unsatisfiable, the query is.  It helps a solver where a claim says that something *exists* (a quorum behind a decision)
that it would have to guess among infinitely many terms.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from quorate.logic.terms import BOOL, INT, And, Exists, Forall, Or, Sort, Symbol, Term, Var, conj, disj, forall
from quorate.logic.transform import fresh_name, nnf, substitute, subterms, symbols_of


@dataclass(frozen=True)
class Instances:
    """A query: hypotheses, what is left of the negated claim, and instances of the rest of it, by the terms put in."""

    hypotheses: tuple[Term, ...]
    rest: Term
    instances: Mapping[str, Term]


def instances(hypotheses: Sequence[Term], negation: Term) -> Instances | None:
    """The query in such a form, or None if the negated claim has no universal part about one element of a sort."""
    naming = _Naming({symbol.name for symbol in symbols_of(*hypotheses, negation)})
    goal = naming.named(nnf(negation), ())
    parts = goal.args if isinstance(goal, And) else (goal,)
    universal = [part for part in parts if isinstance(part, Forall)]
    if not universal or any(len(part.variables) > 1 or not part.variables[0].sort.uninterpreted for part in universal):
        return None
    sorts = {part.variables[0].sort for part in universal}
    known = tuple(naming.named(nnf(item), ()) if _promises(item, sorts) else item for item in hypotheses)
    terms = _terms(symbols_of(goal, *known))
    found = {
        str(term): substitute(part.body, {part.variables[0]: term})
        for part in universal
        for term in terms.get(part.variables[0].sort, [])
    }
    return Instances(known, conj(*(part for part in parts if part not in universal)), found)


def _promises(formula: Term, sorts: Container[Sort]) -> bool:
    """Does a hypothesis say that there is something of these sorts?"""
    return any(
        isinstance(term, Exists) and any(v.sort in sorts for v in term.variables) for term in subterms(nnf(formula))
    )


class _Naming:
    """Replaces existential variables of formulas in negation normal form by functions of the universal ones around them."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def named(self, formula: Term, around: tuple[Var, ...]) -> Term:
        match formula:
            case And(args):
                return conj(*(self.named(arg, around) for arg in args))
            case Or(args):
                return disj(*(self.named(arg, around) for arg in args))
            case Forall(variables, body):
                return forall(variables, self.named(body, (*around, *variables)))
            case Exists(variables, body):
                values: dict[Var, Term] = {}
                for variable in variables:
                    name = fresh_name(f"@{variable.name}", self.taken.__contains__)
                    self.taken.add(name)
                    values[variable] = Symbol(name, tuple(v.sort for v in around), variable.sort)(*around)
                return self.named(substitute(body, values), around)
        return formula


def _terms(symbols: Iterable[Symbol]) -> dict[Sort, list[Term]]:
    """Ground terms over the symbols: constants, functions of constants, and functions of those."""
    functions = sorted(
        (s for s in symbols if s.sort is not BOOL and s.sort is not INT and len(s.arguments) <= 1), key=lambda s: s.name
    )
    found: dict[Sort, list[Term]] = {}
    for _ in range(3):
        layer = {sort: list(terms) for sort, terms in found.items()}
        for symbol in functions:
            for arguments in product(*(layer.get(sort, []) for sort in symbol.arguments)):
                term = symbol(*arguments)
                row = found.setdefault(symbol.sort, [])
                if term not in row:
                    row.append(term)
    return found
