"""Formulas as SMT-LIB text: the one form in which queries reach every solver, a dump file or a proof.

Every name in the text is made here: user names get a prefix, so they can never clash with a solver's own words, and
everything but letters, digits and underscores is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from quorate.logic.terms import (
    BOOL,
    INT,
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
from quorate.logic.transform import fresh_variables, substitute

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def _escape(name: str) -> str:
    return _UNSAFE.sub(lambda match: f"~{ord(match.group()):x}.", name)


def _distinct(term: Quantified) -> tuple[tuple[Var, ...], Term]:
    """The variables and the body of a quantifier, without two variables of one name and different sorts in the same scope.

    Such variables differ for us, but in SMT-LIB text the inner one would hide the outer one.
    """
    names = [variable.name for variable in term.variables]
    if len(set(names)) == len(names) and {variable.name for variable in term.free}.isdisjoint(names):
        return term.variables, term.body
    variables = tuple(fresh_variables(term.variables, term.body.free))
    return variables, substitute(term.body, dict(zip(term.variables, variables, strict=True)))


class Vocabulary:
    """Names for the sorts and symbols of a query, and their declarations in order of first use."""

    def __init__(self) -> None:
        self.sorts: dict[Sort, str] = {BOOL: "Bool", INT: "Int"}
        self.symbols: dict[Symbol, str] = {}
        self.declarations: list[str] = []
        self._taken: set[str] = set()
        self._texts: dict[Term, str] = {}

    def sort(self, sort: Sort) -> str:
        name = self.sorts.get(sort)
        if name is None:
            name = self.sorts[sort] = self._fresh(_escape(sort.name))
            self.declarations.append(f"(declare-sort {name} 0)")
        return name

    def symbol(self, symbol: Symbol) -> str:
        name = self.symbols.get(symbol)
        if name is None:
            state = f".{symbol.primes}" if symbol.primes else ""
            name = self._fresh(_escape(symbol.name) + state)
            arguments = " ".join(self.sort(sort) for sort in symbol.arguments)
            self.declarations.append(f"(declare-fun {name} ({arguments}) {self.sort(symbol.sort)})")
            self.symbols[symbol] = name
        return name

    def _fresh(self, name: str) -> str:
        unique, number = f"${name}", 1
        while unique in self._taken:
            number += 1
            unique = f"${name}!{number}"
        self._taken.add(unique)
        return unique

    def text(self, term: Term) -> str:
        """The term in SMT-LIB; its symbols are declared as a side effect."""
        done = self._texts.get(term)
        if done is None:
            done = self._texts[term] = self._write(term)
        return done

    def _write(self, term: Term) -> str:
        match term:
            case Var(name):
                return f"?{_escape(name)}"
            case Apply(symbol, args):
                return self._call(self.symbol(symbol), args) if args else self.symbol(symbol)
            case Not(arg):
                return f"(not {self.text(arg)})"
            case And(args):
                return self._call("and", args) if len(args) > 1 else self.text(args[0]) if args else "true"
            case Or(args):
                return self._call("or", args) if len(args) > 1 else self.text(args[0]) if args else "false"
            case Implies(left, right):
                return f"(=> {self.text(left)} {self.text(right)})"
            case Iff(left, right) | Equal(left, right):
                return f"(= {self.text(left)} {self.text(right)})"
            case If(condition, then, otherwise):
                return f"(ite {self.text(condition)} {self.text(then)} {self.text(otherwise)})"
            case Quantified():
                variables, body = _distinct(term)
                word = "forall" if isinstance(term, Forall) else "exists"
                bound = " ".join(f"(?{_escape(variable.name)} {self.sort(variable.sort)})" for variable in variables)
                return f"({word} ({bound}) {self.text(body)})"
            case Number(value):
                return str(value) if value >= 0 else f"(- {-value})"
            case Arith(operator, left, right):
                return f"({operator} {self.text(left)} {self.text(right)})"
        raise TypeError(f"not a term: {term!r}")

    def _call(self, name: str, args: Iterable[Term]) -> str:
        return f"({name} {' '.join(map(self.text, args))})"

    def assertions(self, formulas: Iterable[Term]) -> str:
        """One `assert` per formula."""
        return "\n".join(f"(assert {self.text(formula)})" for formula in formulas)

    def script(self, formulas: Iterable[Term], comment: str = "") -> str:
        """A complete SMT-LIB file that asks whether the formulas are satisfiable together."""
        body = self.assertions(formulas)
        head = "".join(f"; {line}\n" for line in comment.splitlines())
        declarations = "\n".join(self.declarations)
        return f"{head}(set-logic ALL)\n{declarations}\n{body}\n(check-sat)\n"
