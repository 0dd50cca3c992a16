"""Terms as text, in the concrete syntax of a language.

One printer serves all languages: what differs between them is a `Syntax`.  Parentheses are placed so that every parser
here reads back the same term.  Read `lang` for the parsers.
"""

from __future__ import annotations

from dataclasses import dataclass

from quorate.logic.terms import (
    FALSE,
    TRUE,
    And,
    Apply,
    Arith,
    Equal,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Number,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
)

# Binding strength of what a piece of text has at its top: 0 needs parentheses in every operand position.
LOOSE, IFF, IMPLIES, OR, AND, COMPARE, SUM, PRODUCT, UNARY, ATOM = range(10)
_ARITH = {"+": SUM, "-": SUM, "*": PRODUCT}


@dataclass(frozen=True)
class Syntax:
    """The spellings that differ between languages."""

    negation: str
    unequal: str
    conditional: str
    branch: int = OR
    """How strongly the branches of a conditional must bind to stand without parentheses."""
    negated: int = UNARY
    """How strongly a negated formula binds: where negation is looser than comparison, not more than a comparison."""

    def symbol(self, symbol: Symbol) -> str:
        return str(symbol)

    def sort(self, sort: Sort) -> str:
        return str(sort)

    def infix(self, symbol: Symbol) -> str | None:
        """The operator that stands between the two arguments of this symbol, if it is written that way."""
        return None

    def variable(self, variable: Var) -> str:
        return variable.name


PLAIN = Syntax(negation="!", unequal="!=", conditional="if {0} then {1} else {2}")


def show(term: Term, syntax: Syntax = PLAIN) -> str:
    """The term in the given syntax, on one line."""
    return _show(term, syntax)[0]


def _show(term: Term, syntax: Syntax) -> tuple[str, int]:
    def at(child: Term, level: int) -> str:
        text, strength = _show(child, syntax)
        return text if strength >= level else f"({text})"

    match term:
        case Var():
            return syntax.variable(term), ATOM
        case Apply(symbol, (left, right)) if (operator := syntax.infix(symbol)) is not None:
            level = _ARITH.get(operator, COMPARE)
            tighter = max(level, SUM)
            return f"{at(left, tighter)} {operator} {at(right, tighter + 1)}", level
        case Apply(symbol, args):
            name = syntax.symbol(symbol)
            return (f"{name}({', '.join(at(arg, LOOSE) for arg in args)})" if args else name), ATOM
        case And(args):
            return ("true", ATOM) if term is TRUE else (" & ".join(at(arg, AND + 1) for arg in args), AND)
        case Or(args):
            return ("false", ATOM) if term is FALSE else (" | ".join(at(arg, OR + 1) for arg in args), OR)
        case Not(Equal(left, right)):
            return f"{at(left, SUM)} {syntax.unequal} {at(right, SUM)}", COMPARE
        case Not(arg):
            return syntax.negation + at(arg, ATOM), syntax.negated
        case Implies(left, right):
            return f"{at(left, OR)} -> {at(right, OR)}", IMPLIES
        case Iff(left, right):
            return f"{at(left, OR)} <-> {at(right, OR)}", IFF
        case Equal(left, right):
            return f"{at(left, SUM)} = {at(right, SUM)}", COMPARE
        case If(condition, then, otherwise):
            branches = (at(part, syntax.branch) for part in (then, otherwise))
            return syntax.conditional.format(at(condition, OR), *branches), LOOSE
        case Quantified(variables, body):
            word = "forall" if isinstance(term, Forall) else "exists"
            bound = ", ".join(f"{syntax.variable(variable)}:{syntax.sort(variable.sort)}" for variable in variables)
            return f"{word} {bound}. {at(body, LOOSE)}", LOOSE
        case Number(value):
            return (str(value), ATOM) if value >= 0 else (f"0 - {-value}", SUM)
        case Arith(operator, left, right):
            level = _ARITH.get(operator, COMPARE)
            tighter = max(level, SUM)
            return f"{at(left, tighter)} {operator} {at(right, tighter + 1)}", level
    raise TypeError(f"not a term: {term!r}")
