"""What transitions leave behind: facts about a relation that its setters see to, and that last.

A promise of an acceptor comes with a report of its votes, and with the end of all lesser ballots: `promised(A, B)` implies
what the same transition has made of the other relations, as long as nothing changes that.  Such facts are read off the
updates, no search is needed; of all of them the most are taken that support each other over small sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from quorate.logic.structures import cases
from quorate.logic.terms import (
    BOOL,
    And,
    Equal,
    If,
    Or,
    Sort,
    Term,
    Var,
    conj,
    disj,
    equal,
    forall,
    implies,
)
from quorate.logic.transform import conjuncts, fresh_variables, substitute, symbols_of
from quorate.methods.inference.badness import shrinks
from quorate.methods.inference.questions import Grounds, Question
from quorate.models.relational import RelationalModel, Transition, Update

MOST_WAYS = 8
"""Into how many combinations of what several transitions leave behind one looks."""


def lasting(grounds: Grounds, sizes: Mapping[Sort, int], known: Sequence[Term], most: int) -> list[Term]:
    """The most facts that hold initially and that every step preserves, given those known; none with more cases than `most`."""
    model = grounds.model
    found = [fact for fact in dict.fromkeys(_facts(model)) if cases(fact, sizes) <= most]
    start = Question(grounds(sizes), [item.formula for item in model.initial])
    found = [fact for fact in found if not start.solve(-start.grounder.formula(fact, start.before))]
    while found:
        broken: set[Term] = set()
        for transition in model.transitions:
            step = Question(grounds(sizes, transition), [*known, *found])
            broken |= {
                fact
                for fact in found
                if not step.leaves_alone([fact]) and step.solve(-step.grounder.formula(fact, step.after))
            }
        if not broken:
            break
        found = [fact for fact in found if fact not in broken]
    return found


def _facts(model: RelationalModel) -> Iterator[Term]:
    """Candidates: of each relation, what holds once it has become true."""
    for relation in model.state_symbols:
        if not relation.is_relation:
            continue
        setters = [(t, u) for t in model.transitions for u in t.updates if u.symbol is relation]
        ways = [list(_left_behind(t, u)) for t, u in setters if not shrinks(u)]
        variables = tuple(Var(f"X{number}", sort) for number, sort in enumerate(relation.arguments, 1))
        if not ways or any(not way for way in ways):
            continue
        for combination in product(*ways) if len(ways) == 1 or prod(map(len, ways)) <= MOST_WAYS else ():
            parts = [substitute(part, dict(zip(own, variables, strict=True))) for own, part in combination]
            yield forall(variables, implies(relation(*variables), disj(*parts)))


def _left_behind(transition: Transition, update: Update) -> Iterator[tuple[tuple[Var, ...], Term]]:
    """What holds of the variables of an update after it has made its relation true, without the transition's parameters."""
    old, value = update.symbol(*update.variables), _normal(update, transition)
    match value:
        case If(condition, then, otherwise) if otherwise is old:
            condition = conj(condition, then)
        case Or(args) if old in args:
            condition = disj(*(arg for arg in args if arg is not old))
        case _:
            condition = value
    if update.symbol in symbols_of(condition):
        return
    point = {parameter: variable for variable, parameter in _point(condition, update, transition).items()}
    stands = [part for part in conjuncts(conj(transition.guard, condition)) if _stands(part, transition)]
    made = [part for other in transition.updates if other is not update for part in _made(other, transition)]
    for part in (*stands, *made):
        fact = substitute(part, point)
        if fact.free <= {*update.variables} and any(symbol.mutable for symbol in symbols_of(fact)):
            yield update.variables, fact


def _normal(update: Update, transition: Transition) -> Term:
    """The new value, with variables for the parameters that equal them, and as one addition or removal if it is one."""
    old, value = update.symbol(*update.variables), update.value
    match value:
        case If(condition, then, otherwise) if otherwise is old:
            names = {parameter: variable for variable, parameter in _point(condition, update, transition).items()}
            then = substitute(then, names)
            rest = [arg for arg in _arguments(then) if arg is not old]
            if isinstance(then, Or) and old in then.args:
                return disj(old, conj(condition, disj(*rest)))
            if isinstance(then, And) and old in then.args:
                return conj(old, implies(condition, conj(*rest)))
            return If(condition, then, otherwise)
    return value


def _point(condition: Term, update: Update, transition: Transition) -> dict[Var, Var]:
    """The variables of an update that a condition says are parameters of the transition, a different one each."""
    point: dict[Var, Var] = {}
    for part in conjuncts(condition):
        match part:
            case Equal(Var() as left, Var() as right):
                variable, parameter = (left, right) if left in update.variables else (right, left)
                free = variable not in point and parameter not in point.values()
                if variable in update.variables and parameter in transition.parameters and free:
                    point[variable] = parameter
    return point


def _stands(part: Term, transition: Transition) -> bool:
    """Whether what held before the step holds after it."""
    return symbols_of(part).isdisjoint({*transition.modified, *transition.choices})


def _made(update: Update, transition: Transition) -> Iterator[Term]:
    """What an update makes true of its symbol, in terms of what the transition does not change."""
    new, value = update.symbol(*update.variables), _normal(update, transition)
    condition: Term = conj()
    parts: list[Term]
    match value:
        case If(when, then, otherwise) if otherwise is new:
            condition, value = when, then
    if new in _arguments(value) and isinstance(value, Or):
        condition, parts = disj(*(arg for arg in value.args if arg is not new)), [new]
    elif new in _arguments(value):
        parts = [implies(new, arg) for arg in _arguments(value) if arg is not new]
        value = conj(*(arg for arg in _arguments(value) if arg is not new))
    elif update.symbol.sort is BOOL:
        parts = [implies(value, new), *(implies(new, part) for part in conjuncts(value))]
    else:
        parts = [equal(new, value)]
    point = _point(condition, update, transition)
    for part in parts:
        fact = substitute(implies(condition, part), point)
        rest = [variable for variable in update.variables if variable not in point]
        if symbols_of(condition, *_without(part, new)).isdisjoint({*transition.modified, *transition.choices}):
            renamed = fresh_variables([Var(f"{v.name}'", v.sort) for v in rest], transition.parameters)
            yield forall(renamed, substitute(fact, dict(zip(rest, renamed, strict=True))))


def _without(part: Term, new: Term) -> list[Term]:
    """What a fact says beside the new value itself."""
    if part is new:
        return []
    return [child for child in part.children if child is not new]


def _arguments(value: Term) -> tuple[Term, ...]:
    return value.args if isinstance(value, (And, Or)) else ()
