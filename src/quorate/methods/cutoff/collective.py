"""Agreement of many: guards that ask for something of all members of a quorum, and what that asks for in turn.

In the small instance the only quorum is everybody.  The small instance waits until the large one has a quorum for a
literal and then lets all its elements take the step at once: the staggered lockstep of the cutoff paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from quorate.logic.terms import Apply, Equal, Forall, Not, Or, Sort, Term, Var, conj, disj, exists, forall, implies, neg
from quorate.logic.transform import conjuncts, nnf, substitute, symbols_of
from quorate.methods.cutoff.analysis import (
    Clause,
    Invocation,
    Relevant,
    Value,
    Violation,
    clauses_of,
    ground,
    largest,
    value_of,
    ways,
)
from quorate.models.relational import RelationalModel, Transition


@dataclass(frozen=True)
class Collective:
    """`atom` holds for every `member` that satisfies `among`, for some values of the variables `some`.

    The atom speaks of the member once and otherwise of elements that the violation names.  A member may also be further ahead:
    `beyond` are the atoms that come after this one, which a step may have put in its place.
    """

    some: tuple[Var, ...]
    member: Var
    among: Term
    atom: Apply
    beyond: tuple[Apply, ...] = ()

    @property
    def formula(self) -> Term:
        return exists(self.some, forall((self.member,), implies(self.among, disj(self.atom, *self.beyond))))

    @property
    def place(self) -> int:
        return self.atom.args.index(self.member)

    @property
    def clause(self) -> Clause:
        arguments = tuple(None if arg is self.member else arg for arg in self.atom.args)
        return Clause(self.atom.symbol, arguments, True)


@dataclass(frozen=True)
class Staggered:
    """A transition by which a member contributes to a collective; `arguments` has None for the member."""

    transition: str
    member: Var
    arguments: tuple[Value, ...]
    collective: Collective


@dataclass(frozen=True)
class Agreement:
    """What matters to a violation, with the parts on which many have to agree set apart."""

    relevant: Relevant
    collectives: tuple[Collective, ...]
    staggered: tuple[Staggered, ...]


def collective(part: Term, known: dict[Var, Value], sort: Sort) -> Collective | None:
    """The guard as a collective, if it asks for one positive literal of all elements of the sort with a rigid property."""
    part = nnf(part)
    if not isinstance(part, Forall) or len(part.variables) != 1 or part.variables[0].sort is not sort:
        return None
    member = part.variables[0]
    body = [_abstracted(item) for item in (part.body.args if isinstance(part.body, Or) else (part.body,))]
    moving = [item for item in body if any(symbol.mutable for symbol in symbols_of(item))]
    if len(moving) != 1 or not isinstance(moving[0], Apply):
        return None
    atom = moving[0]
    values = {variable: value for variable, value in known.items() if variable is not member}
    arguments = [arg if arg is member else value_of(arg, values) for arg in atom.args]
    if None in arguments or arguments.count(member) != 1:
        return None
    if any(isinstance(item, Equal) or (isinstance(item, Not) and isinstance(item.arg, Equal)) for item in body):
        return None
    among = substitute(conj(*(neg(item) for item in body if item is not atom)), ground(values))
    some = tuple(sorted(among.free - {member}, key=lambda variable: variable.name))
    return Collective(some, member, among, Apply(atom.symbol, [arg for arg in arguments if arg is not None]))


def _abstracted(item: Term) -> Term:
    """A literal of a rigid relation with variables in place of what can change: it holds for some value of them."""
    atom = item.arg if isinstance(item, Not) else item
    if not isinstance(atom, Apply) or atom.symbol.mutable:
        return item
    arguments = [
        Var(f"some {number}", arg.sort) if any(symbol.mutable for symbol in symbols_of(arg)) else arg
        for number, arg in enumerate(atom.args)
    ]
    return neg(Apply(atom.symbol, arguments)) if isinstance(item, Not) else Apply(atom.symbol, arguments)


def agree(model: RelationalModel, violation: Violation, sort: Sort) -> Agreement | None:
    """The analysis with collectives; None if no guard asks for one."""
    clauses: dict[Clause, None] = dict.fromkeys(clauses_of(violation.bad, {}))
    invocations: dict[Invocation, None] = {}
    collectives: dict[Collective, None] = {}
    staggered: dict[Staggered, None] = {}
    waiting: list[Clause | Collective] = list(clauses)

    def add(found: Clause | Collective) -> None:
        seen = clauses if isinstance(found, Clause) else collectives
        if found not in seen:
            seen[found] = None  # type: ignore[index]
            waiting.append(found)

    while waiting:
        item = waiting.pop(0)
        clause = item if isinstance(item, Clause) else item.clause
        for transition in model.transitions:
            for known, way in ways(transition, clause):
                parameters = {p: known[p] for p in transition.parameters}
                if isinstance(item, Collective):
                    member = _member(transition, item, way)
                    if member is not None:
                        values = tuple(None if p is member else known[p] for p in transition.parameters)
                        staggered[Staggered(transition.name, member, values, item)] = None
                        for part in conjuncts(transition.guard):
                            if member not in part.free:
                                for found in clauses_of(part, parameters):
                                    add(found)
                            elif (deeper := _deeper(part, item, member, parameters)) is not None:
                                add(deeper)
                        continue
                invocations[Invocation(transition.name, tuple(known[p] for p in transition.parameters))] = None
                for part in conjuncts(transition.guard):
                    together = collective(part, parameters, sort)
                    for asked in [together] if together is not None else clauses_of(part, parameters):
                        add(asked)
                for asked_besides in clauses_of(conj(*way), known):
                    add(asked_besides)
    if not collectives:
        return None
    relevant = Relevant(tuple(largest(list(clauses))), tuple(largest(list(invocations))))
    return Agreement(relevant, tuple(collectives), tuple(staggered))


def _member(transition: Transition, item: Collective, way: list[Term]) -> Var | None:
    """The parameter that becomes the member."""
    update = next(update for update in transition.updates if update.symbol is item.atom.symbol)
    place = update.variables[item.place]
    for part in way:
        if isinstance(part, Equal) and place in (part.left, part.right):
            other = part.right if part.left is place else part.left
            if isinstance(other, Var) and other in transition.parameters:
                return other
    return None


def _deeper(part: Term, item: Collective, member: Var, known: dict[Var, Value]) -> Collective | None:
    """A positive literal about the member in a guard, as a collective of the same members."""
    if not isinstance(part, Apply) or not part.symbol.mutable or part.args.count(member) != 1:
        return None
    arguments = [item.member if arg is member else value_of(arg, known) for arg in part.args]
    if None in arguments:
        return None
    atom = Apply(part.symbol, [a for a in arguments if a is not None])
    if atom in (item.atom, *item.beyond):
        return None
    return Collective(item.some, item.member, item.among, atom, (item.atom, *item.beyond))
