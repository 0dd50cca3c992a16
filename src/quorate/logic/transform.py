"""Walking and rewriting terms: substitution, priming, symbols used, normal forms.

Every function is generic over the node types through `children` and `rebuild`; only binders are special.
Read `structures` next for what a term means, or `fragment` for which queries are decidable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from quorate.logic.terms import (
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Or,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    exists,
    forall,
    implies,
    ite,
    neg,
)


def subterms(*roots: Term) -> Iterator[Term]:
    """Every distinct subterm of the roots, each once, parents before children."""
    seen: set[Term] = set()
    stack = list(reversed(roots))
    while stack:
        term = stack.pop()
        if term not in seen:
            seen.add(term)
            yield term
            stack.extend(reversed(term.children))


def symbols_of(*roots: Term) -> set[Symbol]:
    """The symbols that occur in the terms, with their primes."""
    return {term.symbol for term in subterms(*roots) if isinstance(term, Apply)}


def sorts_of(*roots: Term) -> set[Sort]:
    """The sorts of all subterms, bound variables and argument places."""
    found = {term.sort for term in subterms(*roots)}
    for term in subterms(*roots):
        if isinstance(term, Quantified):
            found.update(variable.sort for variable in term.variables)
    return found


def rename_symbols(term: Term, rename: Callable[[Symbol], Symbol]) -> Term:
    """Replace every symbol by `rename` of it, which must have the same sorts."""
    memo: dict[Term, Term] = {}

    def walk(term: Term) -> Term:
        done = memo.get(term)
        if done is None:
            children = tuple(walk(child) for child in term.children)
            done = Apply(rename(term.symbol), children) if isinstance(term, Apply) else term.rebuild(children)
            memo[term] = done
        return done

    return walk(term)


def prime(term: Term, by: int = 1) -> Term:
    """The term one state later (or `by` states)."""
    return rename_symbols(term, lambda symbol: symbol.at(symbol.primes + by)) if by else term


def is_one_state(term: Term) -> bool:
    """True if the term looks at the current state only."""
    return all(symbol.primes == 0 for symbol in symbols_of(term))


def fresh_name(name: str, taken: Callable[[str], bool]) -> str:
    """`name`, or `name` with the smallest number that makes it unused."""
    if not taken(name):
        return name
    return next(f"{name}_{i}" for i in count(1) if not taken(f"{name}_{i}"))


def fresh_variables(variables: Iterable[Var], avoid: Iterable[Var]) -> list[Var]:
    """Copies of the variables with names that occur neither in `avoid` nor twice."""
    names = {variable.name for variable in avoid}
    made = []
    for variable in variables:
        name = fresh_name(variable.name, names.__contains__)
        names.add(name)
        made.append(Var(name, variable.sort))
    return made


def substitute(term: Term, values: Mapping[Var, Term]) -> Term:
    """Replace free variables by terms, renaming bound variables where they would capture."""
    return _rewrite(term, dict(values), {})


Lambda = tuple[tuple[Var, ...], Term]


def replace_symbols(term: Term, definitions: Mapping[Symbol, Lambda]) -> Term:
    """Replace applications of symbols by the bodies given for them, as `(variables, body)`, without capture."""
    return _rewrite(term, {}, definitions)


def _rewrite(term: Term, values: dict[Var, Term], definitions: Mapping[Symbol, Lambda]) -> Term:
    memo: dict[Term, Term] = {}
    relevant = {variable for body in definitions.values() for variable in body[1].free.difference(body[0])}

    def walk(term: Term) -> Term:
        done = memo.get(term)
        if done is not None:
            return done
        if isinstance(term, Var):
            done = values.get(term, term)
        elif not definitions and term.free.isdisjoint(values):
            done = term
        elif isinstance(term, Quantified):
            done = _rewrite_binder(term, values, definitions, relevant)
        else:
            children = tuple(walk(child) for child in term.children)
            if isinstance(term, Apply) and term.symbol in definitions:
                variables, body = definitions[term.symbol]
                done = substitute(body, dict(zip(variables, children, strict=True)))
            else:
                done = rebuild_simplified(term, children)
        memo[term] = done
        return done

    return walk(term)


def _rewrite_binder(
    term: Quantified, values: dict[Var, Term], definitions: Mapping[Symbol, Lambda], incoming: set[Var]
) -> Term:
    inner = {variable: value for variable, value in values.items() if variable in term.body.free}
    for variable in term.variables:
        inner.pop(variable, None)
    captured = set(incoming).union(*(value.free for value in inner.values()))
    variables = term.variables
    if not {variable.name for variable in captured}.isdisjoint(variable.name for variable in variables):
        variables = tuple(fresh_variables(variables, captured | term.body.free))
        inner.update(zip(term.variables, variables, strict=True))
    return type(term)(variables, _rewrite(term.body, inner, definitions))


def rebuild_simplified(term: Term, children: tuple[Term, ...]) -> Term:
    """Rebuild after a rewrite, folding the constants it introduced but leaving untouched nodes as they are."""
    if children == term.children:
        return term
    match term:
        case And():
            return conj(*children)
        case Or():
            return disj(*children)
        case Not():
            return neg(*children)
        case Implies():
            return implies(*children)
        case Iff() | Equal():
            return equal(*children)
        case If():
            return ite(*children)
    return term.rebuild(children)


def nnf(formula: Term, positive: bool = True) -> Term:
    """Negation normal form: negations on atoms only, no implications, conditionals expanded at formula level."""
    memo: dict[tuple[Term, bool], Term] = {}

    def walk(formula: Term, positive: bool) -> Term:
        done = memo.get((formula, positive))
        if done is None:
            done = memo[formula, positive] = expand(formula, positive)
        return done

    def expand(formula: Term, positive: bool) -> Term:
        match formula:
            case Not(arg):
                return walk(arg, not positive)
            case And(args) | Or(args):
                build = conj if isinstance(formula, And) == positive else disj
                return build(*(walk(arg, positive) for arg in args))
            case Implies(left, right):
                build = disj if positive else conj
                return build(walk(left, not positive), walk(right, positive))
            case Iff(left, right):
                first = disj(walk(left, False), walk(right, positive))
                return conj(first, disj(walk(left, True), walk(right, not positive)))
            case If(condition, then, otherwise):
                first = disj(walk(condition, False), walk(then, positive))
                return conj(first, disj(walk(condition, True), walk(otherwise, positive)))
            case Quantified(variables, body):
                build_quantifier = forall if isinstance(formula, Forall) == positive else exists
                return build_quantifier(variables, walk(body, positive))
        return formula if positive else neg(formula)

    return walk(formula, positive)


def conjuncts(formula: Term) -> list[Term]:
    """The formulas whose conjunction it is, with universal quantifiers distributed over conjunctions."""
    match formula:
        case And(args):
            return [part for arg in args for part in conjuncts(arg)]
        case Forall(variables, body):
            return [forall(variables, part) for part in conjuncts(body)]
        case Not(Or(args)):
            return [part for arg in args for part in conjuncts(neg(arg))]
        case Not(Implies(left, right)):
            return conjuncts(left) + conjuncts(neg(right))
        case Not(Not(arg)):
            return conjuncts(arg)
    return [] if formula is TRUE else [formula]


def parts_of(body: Term, junction: type[Term]) -> Iterator[Term]:
    """The parts of a disjunction or a conjunction, as far as it is one."""
    if isinstance(body, junction) and isinstance(body, And | Or):
        for part in body.args:
            yield from parts_of(part, junction)
    elif junction is Or and isinstance(body, Implies):
        yield from parts_of(neg(body.left), junction)
        yield from parts_of(body.right, junction)
    elif isinstance(body, Not) and isinstance(body.arg, And | Or) and not isinstance(body.arg, junction):
        for part in body.arg.args:
            yield from parts_of(neg(part), junction)
    else:
        yield body


def skolem_constants(formula: Term, taken: Callable[[str], bool]) -> tuple[list[Symbol], Term]:
    """Replace the outermost existential variables of an asserted formula by fresh constants.

    The result is equisatisfiable.  Existentials below universals stay.
    """
    constants: list[Symbol] = []
    names: set[str] = set()

    def walk(formula: Term, positive: bool) -> Term:
        match formula:
            case Not(arg):
                return neg(walk(arg, not positive))
            case And(args) if positive:
                return conj(*(walk(arg, True) for arg in args))
            case Or(args) if not positive:
                return disj(*(walk(arg, False) for arg in args))
            case Implies(left, right) if not positive:
                return implies(walk(left, True), walk(right, False))
            case Quantified(variables, body) if isinstance(formula, Exists) == positive:
                values: dict[Var, Term] = {}
                for variable in variables:
                    name = fresh_name(variable.name, lambda name: name in names or taken(name))
                    names.add(name)
                    constants.append(Symbol(name, (), variable.sort))
                    values[variable] = constants[-1]()
                return walk(substitute(body, values), positive)
        return formula

    return constants, walk(formula, True)


def simplify(formula: Term) -> Term:
    """Fold constants and trivial connectives everywhere."""
    memo: dict[Term, Term] = {}

    def walk(term: Term) -> Term:
        done = memo.get(term)
        if done is None:
            children = tuple(walk(child) for child in term.children)
            match term:
                case And():
                    done = conj(*children)
                case Or():
                    done = disj(*children)
                case Not():
                    done = neg(*children)
                case Implies():
                    done = implies(*children)
                case Iff() | Equal():
                    done = equal(*children)
                case If():
                    done = ite(*children)
                case Quantified():
                    build = forall if isinstance(term, Forall) else exists
                    done = children[0] if children[0] in (TRUE, FALSE) else build(term.variables, children[0])
                case _:
                    done = term.rebuild(children)
            memo[term] = done
        return done

    return walk(formula)
