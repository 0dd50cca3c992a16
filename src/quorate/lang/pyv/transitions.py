"""Two-state formulas as guarded updates.

mypyvy writes a transition as a formula over the state before and after.  Most conjuncts fix the new value of a symbol
everywhere; those become updates.  What is left and mentions new values becomes a guard over choices that stand for
them, so nothing is lost when the formula is not of the simple shape.
"""

from __future__ import annotations

from collections.abc import Iterable

from quorate.lang.elaborate import normal, replaced
from quorate.logic.terms import (
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Forall,
    If,
    Iff,
    Implies,
    Not,
    Or,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    forall,
    implies,
    ite,
    neg,
)
from quorate.logic.transform import (
    conjuncts,
    fresh_variables,
    is_one_state,
    prime,
    rename_symbols,
    substitute,
    symbols_of,
)
from quorate.models.relational import Derived, Transition, Update
from quorate.models.source import Span

Partial = tuple[Symbol, tuple[Var, ...], Term, Term]
"""Under a condition, the new value of a symbol at all values of these variables: (symbol, variables, condition, value)."""


def choice_for(symbol: Symbol) -> Symbol:
    """The choice that stands for the new value of a symbol that no update fixes."""
    return Symbol(symbol.name + "'", symbol.arguments, symbol.sort)


def to_transition(
    name: str,
    parameters: Iterable[Var],
    body: Term,
    modified: Iterable[Symbol],
    derived: Iterable[Derived],
    span: Span | None,
) -> Transition:
    """The guarded transition that a two-state formula describes, given the symbols it may change.

    Raises `TooLarge` if that would be too large to work with.
    """
    modified = tuple(modified)
    body = _inline_new_derived(body, derived)
    framed = {symbol for symbol in symbols_of(body) if symbol.primes and symbol.at(0) not in modified}
    constraints = conjuncts(rename_symbols(body, lambda symbol: symbol.at(0) if symbol in framed else symbol))
    updates: dict[Symbol, Update] = {}
    choices: set[Symbol] = set()
    while pending := [symbol for symbol in modified if symbol not in updates]:
        found = _extract(constraints, pending)
        if found is not None:
            new_updates, rest = found
            updates |= {u.symbol: Update(u.symbol, u.variables, normal(u.value)) for u in new_updates}
            fixed = {update.symbol.at(1): (update.variables, update.value) for update in new_updates}
            constraints = [part for item in rest for part in conjuncts(replaced(item, fixed))]
        else:
            symbol = next((s for s in pending if not _depends(s, pending, constraints)), pending[0])
            choices.add(symbol)
            variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(symbol.arguments))
            updates[symbol] = Update(symbol, variables, choice_for(symbol)(*variables))
            constraints = _choose([symbol], constraints)
    guard = normal(conj(*constraints))
    if guard is FALSE and body is not FALSE:
        return to_transition(name, parameters, FALSE, modified, (), span)
    return Transition(
        name,
        tuple(parameters),
        tuple(choice_for(symbol) for symbol in modified if symbol in choices),
        guard,
        tuple(updates[symbol] for symbol in modified),
        span,
    )


def _choose(symbols: list[Symbol], constraints: list[Term]) -> list[Term]:
    """The constraints with choices for the new values of the symbols."""
    stand_in = {symbol.at(1): choice_for(symbol) for symbol in symbols}
    return [rename_symbols(part, lambda symbol: stand_in.get(symbol, symbol)) for part in constraints]


def _depends(symbol: Symbol, pending: list[Symbol], constraints: list[Term]) -> bool:
    """Would the new value of the symbol be fixed if those of the other pending ones were known?"""
    return _extract(_choose([other for other in pending if other is not symbol], constraints), [symbol]) is not None


def _extract(constraints: list[Term], wanted: list[Symbol]) -> tuple[list[Update], list[Term]] | None:
    """Updates that the constraints spell out, with the constraints that are left; None if there are none."""
    said = [[] if is_one_state(part) else _partials(part) or [] for part in constraints]
    partials: dict[Symbol, list[Partial]] = {symbol: [] for symbol in wanted}
    for partial in (partial for listed in said for partial in listed):
        if partial[0] in partials:
            partials[partial[0]].append(partial)
    updates: dict[Symbol, Update] = {}
    used: set[Partial] = set()
    for symbol, listed in partials.items():
        found = _complete(listed)
        if found is not None:
            updates[symbol], parts = found
            used.update(parts)
    rest: list[Term] = []
    for part, listed in zip(constraints, said, strict=True):
        if any(partial in used for partial in listed):
            rest += [_partial_formula(partial) for partial in listed if partial not in used]
        else:
            rest.append(part)
    return (list(updates.values()), rest) if updates else None


def _inline_new_derived(body: Term, derived: Iterable[Derived]) -> Term:
    """Replace new values of derived symbols by their definitions, innermost last."""
    for item in reversed(tuple(derived)):
        if item.definition is not None and item.symbol.at(1) in symbols_of(body):
            variables, value = item.definition
            body = replaced(body, {item.symbol.at(1): (variables, prime(value))})
    return body


def _partials(part: Term) -> list[Partial] | None:
    """What a conjunct says about new values, or None if it does not fix values outright."""
    variables: tuple[Var, ...] = ()
    body = part
    if isinstance(body, Forall):
        variables, body = body.variables, body.body
    return _conditional_partials(body, variables, TRUE)


def _conditional_partials(body: Term, variables: tuple[Var, ...], condition: Term) -> list[Partial] | None:
    match body:
        case Implies(left, right) if is_one_state(left):
            return _conditional_partials(right, variables, conj(condition, left))
        case If(test, then, otherwise) if is_one_state(test):
            first = _conditional_partials(then, variables, conj(condition, test))
            second = _conditional_partials(otherwise, variables, conj(condition, neg(test)))
            return None if first is None or second is None else first + second
        case And(args):
            found: list[Partial] = []
            for arg in args:
                inner = _conditional_partials(arg, variables, condition)
                if inner is None:
                    return None
                found += inner
            return found
        case Forall(inner_variables, inner_body) if not variables and not condition.free & set(inner_variables):
            return _conditional_partials(inner_body, inner_variables, condition)
    fixed = _assignment(body)
    if fixed is None:
        return None
    application, value = fixed
    return _generalise(application, value, variables, condition)


def _assignment(body: Term) -> tuple[Apply, Term] | None:
    """`(new application, value)` if the formula equates a new value with a term over the state before."""
    match body:
        case Iff(left, right) | Equal(left, right):
            pairs = [(left, right), (right, left)]
        case Apply():
            pairs = [(body, TRUE)]
        case Not(Apply() as arg):
            pairs = [(arg, FALSE)]
        case Not(Iff(left, right)):
            pairs = [(left, neg(right)), (right, neg(left))]
        case _:
            return None
    for application, value in pairs:
        if not isinstance(application, Apply) or application.symbol.primes != 1:
            continue
        if all(map(is_one_state, (value, *application.args))):
            return application, value
    return None


def _generalise(application: Apply, value: Term, variables: tuple[Var, ...], condition: Term) -> list[Partial] | None:
    """Turn arguments that are not plain variables into conditions: `r'(n, X) <-> e` holds where the first place is n."""
    symbol = application.symbol.at(0)
    places: list[Var] = []
    tests: list[Term] = []
    taken = {variable.name for variable in condition.free | value.free | application.free}
    for i, arg in enumerate(application.args):
        if isinstance(arg, Var) and arg in variables and arg not in places:
            places.append(arg)
            continue
        name = f"X{i}"
        while name in taken or any(place.name == name for place in places):
            name += "_"
        place = Var(name, arg.sort)
        places.append(place)
        tests.append(equal(place, arg))
    condition = conj(condition, *tests)
    if not (condition.free | value.free).isdisjoint(set(variables).difference(places)):
        return None
    return [(symbol, tuple(places), condition, value)]


def _opposite(condition: Term) -> Term:
    """The negation, with `and` and `or` exchanged."""
    match condition:
        case And(args):
            return disj(*map(_opposite, args))
        case Or(args):
            return conj(*map(_opposite, args))
    return neg(condition)


def _partial_formula(partial: Partial) -> Term:
    symbol, variables, condition, value = partial
    return forall(variables, implies(condition, equal(symbol.at(1)(*variables), value)))


def _complete(partials: list[Partial]) -> tuple[Update, list[Partial]] | None:
    """An update if one or two of the partial values cover all arguments, with those it is made of."""
    if not partials:
        return None
    symbol = partials[0][0]
    outside = {v for _, places, condition, value in partials for v in (condition.free | value.free).difference(places)}
    variables = tuple(fresh_variables(partials[0][1], outside))
    aligned = [
        (substitute(condition, renaming), substitute(value, renaming))
        for _, places, condition, value in partials
        for renaming in [dict(zip(places, variables, strict=True))]
    ]
    for i, (condition, value) in enumerate(aligned):
        if condition is TRUE:
            return Update(symbol, variables, value), [partials[i]]
    places = {condition: i for i, (condition, _) in reversed(list(enumerate(aligned)))}
    for i, (condition, value) in enumerate(aligned):
        j = places.get(neg(condition), places.get(_opposite(condition)))
        if j is not None:
            other, alternative = aligned[j]
            negative = isinstance(condition, (Not, Or))
            whole = ite(other, alternative, value) if negative else ite(condition, value, alternative)
            return Update(symbol, variables, whole), [partials[i], partials[j]]
    return None
