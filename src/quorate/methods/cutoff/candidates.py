"""Candidates: small instances with a map, a relation and a lockstep, most promising first (Algorithm 5, and what it lacks).

The paper's own candidate comes first.  The others differ in who absorbs the elements that the violation does not name, in
whether these are followed at all, in implications or equalities, and in staggered steps for quorums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, permutations, product

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Equal,
    Forall,
    Not,
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
from quorate.logic.transform import Lambda, conjuncts, nnf, replace_symbols, subterms, symbols_of
from quorate.methods.cutoff.analysis import Clause, Invocation, Violation, analyse, literals, ways
from quorate.methods.cutoff.collective import Agreement, Collective, agree
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.models.small import small_instance
from quorate.proof.cutoffs import Case, Move, Pair

Definitions = tuple[tuple[Symbol, Lambda], ...]
Moves = tuple[tuple[str, tuple[Move, ...]], ...]
MOST_IMAGES = 12
"""Of the maps that depend on rigid relations, at most that many are tried."""


@dataclass(frozen=True)
class Candidate:
    """A case to be proved, and what it does, in words."""

    words: str
    case: Case
    needs_facts: bool = False
    """Never proved without facts, so they are brought in at once."""
    likely: bool = True
    """Is it tried before larger instances are?"""
    kind: str = ""


class Scene:
    """One violation, seen from one sort."""

    def __init__(self, model: RelationalModel, sort: Sort, violation: Violation) -> None:
        self.model, self.sort, self.violation = model, sort, violation
        self.anchors = anchors(violation.bad, sort)
        self.relevant = analyse(model, violation)
        self.agreement = agree(model, violation, sort)

    def candidates(self, pair: Pair, rigid_words: str, rigid: Definitions) -> Iterator[Candidate]:
        """Everything to be tried with a small instance of this size and these rigid symbols."""
        images = list(self.images(pair))
        (words, image), split = images[0], len(pair.elements)

        def plain(words: str, image: Lambda, both: bool, again: bool = False, likely: bool = True) -> Candidate:
            kind = f"all elements followed, {words}; {'equalities' if both else 'implications'}"
            kind += ", what others still need is done again" if again else ""
            relation, moves = self.relation(pair, False, both), self.moves(pair, False, again)
            return Candidate(kind + rigid_words, self.case(image, rigid, relation, moves), False, likely, kind)

        quorums = self.agreement is not None and any(c.among is not TRUE for c in self.agreement.collectives)
        staggered = []
        if self.agreement is not None:
            kind = f"staggered steps, {words}"
            case = self.case(image, rigid, *self.staggered(pair, self.agreement))
            staggered.append(Candidate(kind + rigid_words, case, quorums, quorums, kind))
        yield from staggered if quorums else []
        yield plain(words, image, False)
        for other in images[split:]:
            yield plain(*other, False)
        if self.moves(pair, False, True) != self.moves(pair, False, False):
            yield plain(words, image, False, True)
        if pair.size > len(self.anchors) and self.anchors:
            kind = "named elements followed, the others prepared when they are needed"
            yield Candidate(kind + rigid_words, self.case(image, rigid, *self.prepared(pair)), kind=kind)
        if self.anchors:
            kind = "only named elements followed"
            relation, moves = self.relation(pair, True, True), self.moves(pair, True, False)
            yield Candidate(kind + rigid_words, self.case(image, rigid, relation, moves), kind=kind)
        yield from [] if quorums else staggered
        yield plain(words, image, True, likely=False)
        for other in images[1:split]:
            yield plain(*other, False, likely=False)
        for other in images[1:]:
            yield plain(*other, True, likely=False)

    def case(
        self,
        image: Lambda,
        rigid: Definitions,
        relation: tuple[Named, ...],
        moves: Moves,
    ) -> Case:
        violation = self.violation
        return Case(violation.property, violation.violators, violation.bad, image, rigid, (), relation, moves)

    # -- the map --------------------------------------------------------------------------------------------------

    def images(self, pair: Pair) -> Iterator[tuple[str, Lambda]]:
        """Maps that give every named element one of its own, and the others to one of them, or to a spare one."""
        x = Var("X", self.sort)
        named = list(zip(self.anchors, pair.elements, strict=False))

        def image(others: Term) -> Lambda:
            for anchor, element in reversed(named):
                others = ite(equal(x, anchor), element, others)
            return (x,), others

        order = [*reversed(pair.elements)]
        for element in order:
            yield f"the others are {element}", image(element)
        for atom in islice(self._splits(x), MOST_IMAGES):
            for first, second in permutations(order[-2:], 2):
                yield f"{first} where {atom}, else {second}", image(ite(atom, first, second))

    def _splits(self, x: Var) -> Iterator[Term]:
        """Rigid atoms about an element and named ones."""
        if len(self.anchors) < 2:
            return
        for symbol in self.model.symbols:
            if symbol.mutable or symbol.sort is not BOOL or set(symbol.arguments) != {self.sort}:
                continue
            for arguments in product((x, *self.anchors), repeat=len(symbol.arguments)):
                if arguments.count(x) == 1 and len(set(arguments)) == len(arguments):
                    yield symbol(*arguments)

    # -- the rigid symbols of the small instance --------------------------------------------------------------------

    def rigid(self, pair: Pair) -> Iterator[tuple[str, Definitions]]:
        """Interpretations of the rigid symbols: those of the named elements, or relations that hold always or never."""
        symbols = [s for s in self.model.symbols if not s.mutable and self.sort in (*s.arguments, s.sort)]
        if not symbols:
            yield "", ()
            return
        options: list[list[tuple[str, Lambda]]] = []
        for symbol in symbols:
            twin = pair.twins[symbol]
            variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(twin.arguments))
            mine: list[tuple[str, Lambda]] = []
            if self.sort not in symbol.arguments or len(self.anchors) == pair.size:
                mine.append(
                    ("", (variables, pair.of_large(symbol(*(self._representative(pair, v) for v in variables)))))
                )
            if symbol.sort is BOOL:
                mine += [(f", {symbol.name} always", (variables, TRUE)), (f", {symbol.name} never", (variables, FALSE))]
            options.append(mine)
        for chosen in islice(product(*options), 16):
            words = "".join(word for word, _ in chosen)
            yield words, tuple((pair.twins[s], definition) for s, (_, definition) in zip(symbols, chosen, strict=True))

    def _representative(self, pair: Pair, element: Term) -> Term:
        """The named element of the protocol that an element of the small instance stands for."""
        if element.sort is not pair.twin_sort:
            return element
        found = self.anchors[-1]
        for anchor, own in reversed(list(zip(self.anchors, pair.elements, strict=False))):
            found = ite(equal(element, own), anchor, found)
        return found

    # -- relation and lockstep ----------------------------------------------------------------------------------------

    def relation(self, pair: Pair, named: bool, both: bool) -> tuple[Named, ...]:
        """What is kept about each clause: if it holds in L it holds in C, or also the other way round."""
        found: dict[Term, Named] = {}
        for clause in self.relevant.clauses:
            for item in self.kept(pair, clause, named, both):
                found.setdefault(item.formula, item)
        return _named_apart(list(found.values()))

    def kept(self, pair: Pair, clause: Clause, named: bool, both: bool) -> Iterator[Named]:
        places = []
        for number, (argument, sort) in enumerate(zip(clause.arguments, clause.symbol.arguments, strict=True)):
            if argument is not None:
                places.append([argument])
            elif named and sort is self.sort:
                places.append(list(self.anchors))
            else:
                places.append([Var(f"X{number}", sort)])
        for arguments in product(*places):
            large = clause.symbol(*arguments)
            small = pair.twins[clause.symbol](*map(pair.of_large, arguments))
            variables = [argument for argument in arguments if isinstance(argument, Var)]
            shown = ", ".join("*" if isinstance(a, Var) else str(a) for a in arguments)
            name = clause.symbol.name + f"({shown})" * bool(arguments)
            if not clause.symbol.is_relation:
                yield Named(f"={name}", forall(variables, equal(pair.of_large(large), small)))
                continue
            if clause.positive is not False or both:
                yield Named(name, forall(variables, implies(large, small)))
            if not clause.positive or both:
                yield Named(f"~{name}", forall(variables, implies(neg(large), neg(small))))

    def moves(self, pair: Pair, named: bool, again: bool) -> Moves:
        """C does what L does, on the images of the parameters, where the analysis says that it matters."""
        found = []
        for transition in self.model.transitions:
            mine = [i for i in self.relevant.invocations if i.transition == transition.name]
            if mine:
                moves = [self.mirrored(pair, transition, mine, named)]
                found.append((transition.name, (*moves, *(self.repeated(pair, transition) if again else ()))))
        return tuple(found)

    def repeated(self, pair: Pair, transition: Transition) -> Iterator[Move]:
        """What a step takes away is put there again by another one, if an element with the same image still needs it."""
        for clause in self.relevant.clauses:
            symbol = clause.symbol
            if clause.positive is not True or self.sort not in symbol.arguments:
                continue
            for taken in self._places(transition, clause, False):
                lost = [transition.constants[p] if isinstance(p, Var) else p for p in taken]
                others = [Var(f"Y{i}", a.sort) if a.sort is self.sort else a for i, a in enumerate(lost)]
                same = [equal(pair.image(b), pair.image(a)) for a, b in zip(lost, others, strict=True) if a is not b]
                variables = [other for other in others if isinstance(other, Var)]
                needed = exists(variables, conj(*same, pair.later[symbol](*others)))
                for giver in self.model.transitions:
                    for given in self._places(giver, Clause(symbol, (None,) * len(lost), True), True):
                        values = {p: pair.of_large(a) for p, a in zip(given, lost, strict=True) if isinstance(p, Var)}
                        if set(values) == set(giver.parameters):
                            yield Move(needed, giver.name, tuple(values[p] for p in giver.parameters))

    def _places(self, transition: Transition, clause: Clause, positive: bool) -> Iterator[tuple[Term, ...]]:
        """The arguments at which a transition makes a relation true or false, where they are parameters or known."""
        for _, way in ways(transition, Clause(clause.symbol, clause.arguments, positive)):
            update = next(update for update in transition.updates if update.symbol is clause.symbol)
            found: list[Term] = []
            for variable, argument in zip(update.variables, clause.arguments, strict=True):
                sides = [(p.left, p.right) for p in way if isinstance(p, Equal) and variable in (p.left, p.right)]
                other = [b if a is variable else a for a, b in sides]
                parameters = [term for term in other if term in transition.parameters]
                if argument is None and not parameters:
                    break
                found.append(parameters[0] if argument is None else argument)
            else:
                yield tuple(found)

    def mirrored(self, pair: Pair, transition: Transition, mine: list[Invocation], named: bool) -> Move:
        constants = [transition.constants[parameter] for parameter in transition.parameters]
        when = disj(
            *(
                conj(
                    *(equal(c, value) for c, value in zip(constants, item.arguments, strict=True) if value is not None)
                )
                for item in mine
            )
        )
        if named:
            ours = [c for c in constants if c.sort is self.sort]
            when = conj(when, *(disj(*(equal(c, anchor) for anchor in self.anchors)) for c in ours))
        return Move(when, transition.name, tuple(map(pair.of_large, constants)))

    # -- elements that do nothing until they are needed -------------------------------------------------------------------

    def prepared(self, pair: Pair) -> tuple[tuple[Named, ...], Moves]:
        """Named elements are followed exactly; spare ones take the steps that a guard asks of them just before it is needed."""
        spare = self._spare(pair)
        relation = list(self.relation(pair, True, True))
        for part in conjuncts(self.violation.bad):
            if isinstance(part, Quantified | Not):
                small = self._twin(pair, part)
                relation.append(Named(f"whole {part}", implies(part, small)))
        moves = []
        for transition in self.model.transitions:
            mine = [i for i in self.relevant.invocations if i.transition == transition.name]
            if not mine:
                continue
            before = list(self._preparations(pair, transition, spare))
            moves.append((transition.name, (*before, self.mirrored(pair, transition, mine, not before))))
            if before:
                relation += self._untouched(pair, transition, spare)
        return _named_apart(list({item.formula: item for item in relation}.values())), tuple(moves)

    def _spare(self, pair: Pair) -> dict[Term, Term]:
        """Elements of C that may stand for no named element, each with the condition that it does not."""
        known = conjuncts(self.violation.bad)
        return {
            element: conj(*(neg(equal(pair.image(anchor), element)) for anchor in self.anchors))
            for number, element in enumerate(pair.elements)
            if number >= len(self.anchors)
            or any(neg(equal(a, self.anchors[number])) not in known for a in self.anchors[:number])
        }

    def _twin(self, pair: Pair, formula: Term) -> Term:
        """The formula about C; named elements become their images."""
        renamed = small_instance(
            replace(self.model, axioms=(Named("", formula),)), self.sort, pair.twin_sort, pair.rename
        )
        names = {
            Symbol(pair.rename(s), (), pair.twin_sort): ((), pair.image(s()))
            for s in self.violation.violators
            if s.sort is self.sort
        }
        return replace_symbols(renamed.axioms[0].formula, names)

    def _preparations(self, pair: Pair, transition: Transition, spare: dict[Term, Term]) -> Iterator[Move]:
        """Steps of spare elements that make the guard of a transition true in C."""
        for part in conjuncts(transition.guard):
            for atom, positive, bound in literals(nnf(part)):
                if not isinstance(atom, Apply) or not atom.symbol.mutable or not atom.symbol.is_relation:
                    continue
                for element in [arg for arg in atom.args if isinstance(arg, Var) and arg.sort is self.sort]:
                    for giver in self.model.transitions:
                        yield from self._given(pair, transition, atom, positive, element, bound, giver, spare)

    def _given(
        self,
        pair: Pair,
        transition: Transition,
        atom: Apply,
        positive: bool,
        element: Var,
        bound: frozenset[Var],
        giver: Transition,
        spare: dict[Term, Term],
    ) -> Iterator[Move]:
        """A step of `giver` that makes the atom true, or false, at a spare element."""
        constants = transition.constants
        for given in self._places(giver, Clause(atom.symbol, (None,) * len(atom.args), positive), positive):
            for target, idle in spare.items():
                arguments = {
                    parameter: target if arg is element else pair.of_large(constants[arg])
                    for parameter, arg in zip(given, atom.args, strict=True)
                    if isinstance(parameter, Var) and isinstance(arg, Var) and (arg is element or arg in constants)
                }
                if set(arguments) != set(giver.parameters):
                    continue
                when = idle
                if element not in bound:
                    when = conj(idle, equal(pair.image(constants[element]), target))
                yield Move(when, giver.name, tuple(arguments[p] for p in giver.parameters))

    def _untouched(self, pair: Pair, transition: Transition, spare: dict[Term, Term]) -> Iterator[Named]:
        """As long as the part of the guard holds that says what has not happened yet, spare elements are as they began."""
        fresh = []
        for part in conjuncts(transition.guard):
            signs = [sign for atom, sign, _ in literals(nnf(part)) if any(s.mutable for s in symbols_of(atom))]
            if not part.free and signs and not any(signs):
                fresh.append(part)
        for symbol in self.model.state_symbols:
            value = self._first_value(symbol)
            if value is None or self.sort not in symbol.arguments:
                continue
            twin = pair.twins[symbol]
            for target, place in product(spare, range(len(twin.arguments))):
                if twin.arguments[place] is pair.twin_sort:
                    arguments = [target if i == place else Var(f"X{i}", sort) for i, sort in enumerate(twin.arguments)]
                    atom = twin(*arguments)
                    variables = [argument for argument in arguments if isinstance(argument, Var)]
                    claim = implies(conj(spare[target], *fresh), forall(variables, atom if value else neg(atom)))
                    yield Named(f"{target} untouched in {symbol.name} before {transition.name}", claim)

    def _first_value(self, symbol: Symbol) -> bool | None:
        """What a relation is everywhere at the beginning, if it is the same everywhere."""
        for item in self.model.initial:
            for part in conjuncts(item.formula):
                body = nnf(part.body if isinstance(part, Forall) else part)
                atom, value = (body.arg, False) if isinstance(body, Not) else (body, True)
                if isinstance(atom, Apply) and atom.symbol is symbol:
                    variables = {argument for argument in atom.args if isinstance(argument, Var)}
                    if len(variables) == len(atom.args):
                        return value
        return None

    # -- quorums ------------------------------------------------------------------------------------------------------

    def staggered(self, pair: Pair, agreement: Agreement) -> tuple[tuple[Named, ...], Moves]:
        """Relation and lockstep with steps that all elements of C take at once, as soon as L has a quorum for them."""
        relation: list[Named] = []
        for clause in agreement.relevant.clauses:
            relation += self.kept(pair, clause, False, False)
        for item in agreement.collectives:
            everybody = forall(
                (everyone := Var(item.member.name, pair.twin_sort),), self._in_small(pair, item, everyone)
            )
            shown = str(item.clause)
            relation.append(Named(f"quorum of {shown}", implies(item.formula, everybody)))
        relation += self._clean(pair, agreement)
        moves = []
        for transition in self.model.transitions:
            mine = [i for i in agreement.relevant.invocations if i.transition == transition.name]
            listed = [self.mirrored(pair, transition, mine, False)] if mine else []
            constants = [transition.constants[parameter] for parameter in transition.parameters]
            for step in agreement.staggered:
                if step.transition == transition.name:
                    same = [equal(c, v) for c, v in zip(constants, step.arguments, strict=True) if v is not None]
                    reached = replace_symbols(step.collective.formula, _renamed(pair.later))
                    for element in pair.elements:
                        arguments = tuple(
                            element if parameter is step.member else pair.of_large(constant)
                            for parameter, constant in zip(transition.parameters, constants, strict=True)
                        )
                        listed.append(Move(conj(*same, reached), transition.name, arguments))
            if listed:
                moves.append((transition.name, tuple(listed)))
        return _named_apart(relation), tuple(moves)

    def _in_small(self, pair: Pair, item: Collective, member: Term) -> Term:
        return disj(
            *(
                pair.twins[atom.symbol](*(member if arg is item.member else pair.of_large(arg) for arg in atom.args))
                for atom in (item.atom, *item.beyond)
            )
        )

    def _clean(self, pair: Pair, agreement: Agreement) -> Iterator[Named]:
        """As long as L has no quorum of a kind, what such steps change is untouched in C."""
        kinds: dict[tuple[Symbol, int], list[Collective]] = {}
        for item in agreement.collectives:
            kinds.setdefault((item.atom.symbol, item.place), []).append(item)
        for (symbol, _), members in kinds.items():
            none = conj(*(neg(item.formula) for item in members))
            steps = {step.transition for step in agreement.staggered if step.collective in members}
            for changed in self.model.state_symbols:
                if changed.sort is BOOL and any(changed in self.model.transition(t).modified for t in steps):
                    twin = pair.twins[changed]
                    variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(twin.arguments))
                    untouched = forall(variables, neg(twin(*variables)))
                    yield Named(f"no {changed.name} before a quorum of {symbol.name}", implies(none, untouched))

    # -- first states -----------------------------------------------------------------------------------------------------

    def starts(self, pair: Pair, case: Case) -> Iterator[Definitions]:
        """First states of C: what some, or all, elements of L with the same image do, or what the named ones do."""
        falses = {symbol for item in case.relation for symbol in symbols_of(item.formula) if item.name.startswith("~")}
        for kind in ("by sign", "some", "every", "named"):
            if kind == "named" and not self.anchors:
                continue
            start = []
            for symbol in self.model.state_symbols:
                twin = pair.twins[symbol]
                how = ("every" if twin in falses else "some") if kind == "by sign" else kind
                start.append((twin, self._start(pair, symbol, twin, how)))
            yield tuple(start)

    def _start(self, pair: Pair, symbol: Symbol, twin: Symbol, how: str) -> Lambda:
        variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(twin.arguments))
        if self.sort not in symbol.arguments:
            return variables, pair.of_large(symbol(*variables))
        value = self._first_value(symbol)
        if value is not None:
            return variables, TRUE if value else FALSE
        if symbol.sort is not BOOL or how == "named":
            if not self.anchors:
                return variables, twin(*variables)
            return variables, pair.of_large(symbol(*(self._representative(pair, v) for v in variables)))
        inner = tuple(
            Var(f"Y{i}", self.sort) if variable.sort is pair.twin_sort else variable
            for i, variable in enumerate(variables)
        )
        same = [equal(pair.image(y), x) for x, y in zip(variables, inner, strict=True) if x is not y]
        own = [y for x, y in zip(variables, inner, strict=True) if x is not y]
        if how == "some":
            return variables, exists(own, conj(*same, symbol(*inner)))
        return variables, forall(own, implies(conj(*same), symbol(*inner)))


def anchors(bad: Term, sort: Sort) -> tuple[Term, ...]:
    """The terms of the sort in a violation that name an element of every state alike."""
    found = [
        term
        for term in subterms(bad)
        if term.sort is sort and not term.free and not any(symbol.mutable for symbol in symbols_of(term))
    ]
    return tuple(
        sorted(dict.fromkeys(found), key=lambda term: (isinstance(term, Apply) and bool(term.args), str(term)))
    )


def _named_apart(items: list[Named]) -> tuple[Named, ...]:
    """The same formulas under names that differ."""
    names: dict[str, int] = {}
    found = []
    for item in items:
        names[item.name] = names.get(item.name, 0) + 1
        number = names[item.name]
        found.append(Named(item.name if number == 1 else f"{item.name} #{number}", item.formula))
    return tuple(found)


def _renamed(names: dict[Symbol, Symbol]) -> dict[Symbol, Lambda]:
    definitions: dict[Symbol, Lambda] = {}
    for old, new in names.items():
        variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(old.arguments))
        definitions[old] = (variables, new(*variables))
    return definitions
