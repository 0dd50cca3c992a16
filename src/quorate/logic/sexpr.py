"""Terms as symbolic expressions, one exact notation for every language: what certificates store.

    (forall ((X node) (Y node)) (-> (and (holds X) (holds Y)) (= X Y)))

Names that are not plain words are quoted with bars.  Reading needs to be told what symbols and sorts exist.
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
    Exists,
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


class SexprError(ValueError):
    """The text is not a term over the given symbols."""


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.']*\Z")
_TOKEN = re.compile(r"\s*(?:(?P<open>\()|(?P<close>\))|\|(?P<quoted>[^|]*)\||(?P<word>[^\s()|]+))")
_BINARY: dict[type[Term], str] = {Implies: "->", Iff: "<->", Equal: "="}
_NUMBER = re.compile(r"-?[0-9]{1,1000}")
"""Longer numbers are refused: Python itself refuses to read or print them."""
MAX_NESTING = 500
"""How deep terms may be nested; a term over ten levels is rare, and every walk over a term recurs into it."""
_ARITH = ("+", "-", "*", "<", "<=", ">", ">=")
_WORDS = {"forall", "exists", "and", "or", "not", "ite", "true", "false"}


def _name(name: str) -> str:
    return name if _PLAIN.match(name) and name not in _WORDS else f"|{name}|"


def write(term: Term) -> str:
    """The one-state term as a symbolic expression."""
    return _write(term, frozenset())


def _write(term: Term, bound: frozenset[str]) -> str:
    """The term below binders of the given names; a constant that shares its name with one is put in parentheses."""

    def write(term: Term) -> str:
        return _write(term, bound)

    match term:
        case Var(name):
            return _name(name)
        case Apply(symbol, _) if symbol.primes:
            raise ValueError(f"a formula about one state is expected, but it mentions {symbol}")
        case Apply(symbol, args):
            words = [_name(symbol.name), *map(write, args)]
            return f"({' '.join(words)})" if args or symbol.name in bound else words[0]
        case And(args) | Or(args):
            if not args:
                return "true" if isinstance(term, And) else "false"
            return f"({'and' if isinstance(term, And) else 'or'} {' '.join(map(write, args))})"
        case Not(arg):
            return f"(not {write(arg)})"
        case If(condition, then, otherwise):
            return f"(ite {write(condition)} {write(then)} {write(otherwise)})"
        case Quantified(variables, body):
            typed = " ".join(f"({_name(variable.name)} {_name(variable.sort.name)})" for variable in variables)
            inner = _write(body, bound.union(variable.name for variable in variables))
            return f"({'forall' if isinstance(term, Forall) else 'exists'} ({typed}) {inner})"
        case Number(value):
            return str(value)
        case Arith(operator, left, right):
            return f"({operator} {write(left)} {write(right)})"
        case Implies(left, right) | Iff(left, right) | Equal(left, right):
            return f"({_BINARY[type(term)]} {write(left)} {write(right)})"
    raise TypeError(f"not a term: {term!r}")


Tree = tuple[str, bool] | list["Tree"]
"""A word with a flag for quoted ones, or a list."""


def _trees(text: str) -> list[Tree]:
    stack: list[list[Tree]] = [[]]
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise SexprError(f"cannot read at: {text[position : position + 20]!r}")
        position = match.end()
        if match["open"]:
            stack.append([])
            if len(stack) > MAX_NESTING:
                raise SexprError("nested too deeply")
        elif match["close"]:
            if len(stack) == 1:
                raise SexprError("a parenthesis closes that was not opened")
            done = stack.pop()
            stack[-1].append(done)
        elif match["quoted"] is not None:
            stack[-1].append((match["quoted"], True))
        else:
            stack[-1].append((match["word"], False))
    if len(stack) > 1:
        raise SexprError("a parenthesis is not closed")
    return stack[0]


def read(text: str, sorts: Iterable[Sort], symbols: Iterable[Symbol], sort: Sort = BOOL) -> Term:
    """The closed formula, or term of another sort, that a symbolic expression denotes; every sort is checked."""
    if not isinstance(text, str):
        raise SexprError("a text is expected")
    trees = _trees(text)
    if len(trees) != 1:
        raise SexprError("one term is expected")
    reader = _Reader({sort.name: sort for sort in (BOOL, INT, *sorts)}, symbols)
    term = reader.term(trees[0], {})
    if term.sort is not sort:
        raise SexprError("a formula is expected" if sort is BOOL else f"a term of sort {sort} is expected")
    return term


class _Reader:
    def __init__(self, sorts: dict[str, Sort], symbols: Iterable[Symbol]) -> None:
        self.sorts = sorts
        self.symbols: dict[str, list[Symbol]] = {}
        for symbol in symbols:
            self.symbols.setdefault(symbol.name, []).append(symbol)
        for sort in sorts.values():
            for name in sort.elements:
                self.symbols.setdefault(name, []).append(Symbol(name, (), sort))

    def term(self, tree: Tree, env: dict[str, Var]) -> Term:
        if isinstance(tree, tuple):
            word, quoted = tree
            if not quoted and word in ("true", "false"):
                return And(()) if word == "true" else Or(())
            if not quoted and _NUMBER.fullmatch(word):
                return Number(int(word))
            return env[word] if word in env else self.apply(word, ())
        if not tree or not isinstance(tree[0], tuple):
            raise SexprError("an operator or symbol is expected after a parenthesis")
        (head, quoted), rest = tree[0], tree[1:]
        if not quoted and head in ("forall", "exists"):
            return self.quantifier(head, rest, env)
        args = tuple(self.term(part, env) for part in rest)
        if quoted:
            return self.apply(head, args)
        match head, args:
            case "and", _:
                return And(self.formulas(args))
            case "or", _:
                return Or(self.formulas(args))
            case "not", (arg,):
                return Not(*self.formulas((arg,)))
            case "->", (left, right):
                return Implies(*self.formulas((left, right)))
            case "<->", (left, right):
                return Iff(*self.formulas((left, right)))
            case "=", (left, right) if left.sort is right.sort is BOOL:
                return Iff(left, right)
            case "=", (left, right) if left.sort is right.sort:
                return Equal(left, right)
            case "ite", (condition, then, otherwise) if then.sort is otherwise.sort:
                self.formulas((condition,))
                return If(condition, then, otherwise)
            case operator, (left, right) if operator in _ARITH and left.sort is INT and right.sort is INT:
                return Arith(operator, left, right)
        return self.apply(head, args)

    def formulas(self, args: tuple[Term, ...]) -> tuple[Term, ...]:
        if any(arg.sort is not BOOL for arg in args):
            raise SexprError("a formula is expected as operand")
        return args

    def quantifier(self, head: str, rest: list[Tree], env: dict[str, Var]) -> Term:
        if len(rest) != 2 or not isinstance(rest[0], list):
            raise SexprError(f"{head} needs variables and a body")
        variables = []
        for pair in rest[0]:
            match pair:
                case [(str(name), _), (str(sort), _)] if sort in self.sorts:
                    variables.append(Var(name, self.sorts[sort]))
                case _:
                    raise SexprError("not a variable with a sort")
        if not variables or len({variable.name for variable in variables}) != len(variables):
            raise SexprError(f"{head} needs one or more variables, each with a name of its own")
        body = self.term(rest[1], {**env, **{variable.name: variable for variable in variables}})
        return (Forall if head == "forall" else Exists)(variables, *self.formulas((body,)))

    def apply(self, name: str, args: tuple[Term, ...]) -> Term:
        sorts = tuple(arg.sort for arg in args)
        for symbol in self.symbols.get(name, ()):
            if symbol.arguments == sorts:
                return Apply(symbol, args)
        raise SexprError(f"there is no symbol {name} for arguments of sorts ({', '.join(map(str, sorts))})")
