"""When a small instance stands for all sizes: the obligations of a simulation, from the protocol and a certificate alone.

Follows the idea of cutoffs by simulation (FMCAD; the first-violation refinement included).  L is the protocol with any number of
elements of one sort, C the same protocol with a fixed number; every other sort is shared.  Suppose a run of L reaches a state
that violates a safety property, for the first time, and let constants v name elements that satisfy `bad(v)` there.  A case
of a certificate says how C follows this run:

    image       which element of C stands for an element of L
    rigid       what the rigid symbols of C are, in terms of L's
    start       what the first state of C is, in terms of L's first state
    relation    R, formulas over a state of L and a state of C
    moves       for each transition of L, the transitions by which C answers: each is taken if its condition and its guard hold

With A the axioms of L, V the part of bad(v) that is about rigid symbols, S the safety properties, these must be unsatisfiable:

    coverage    A ∧ ¬Si ∧ ∀v. ¬bad(v), for all cases of Si at once
    instance    A ∧ V ∧ ¬Ak[rigid]                                           for each axiom Ak of C
    initially   A ∧ V ∧ initial of L ∧ ¬Ik[rigid, start]                     for each initial condition Ik of C
                A ∧ V ∧ initial of L ∧ ¬Rk[rigid, start]                     for each member Rk of R
    step        A ∧ V ∧ R ∧ S of L ∧ S of C ∧ guard ∧ ¬Rk[updates, moves]    for each Rk and each transition of L
    violation   A ∧ V ∧ R ∧ bad(v) ∧ S of C

Then C has a run that reaches a violation, whatever the size of L, smaller sizes than that of C included.  The guards of C's
transitions are put in here, never taken from a certificate, and so are the lists of transitions, axioms and properties.
What a certificate leaves undefined may be anything, which only makes an obligation harder to prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from quorate.logic import sexpr
from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Equal,
    Forall,
    If,
    Quantified,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    exists,
    ite,
    neg,
)
from quorate.logic.transform import (
    Lambda,
    conjuncts,
    rebuild_simplified,
    replace_symbols,
    substitute,
    symbols_of,
)
from quorate.models.relational import Named, RelationalModel, Transition, enumeration_axiom
from quorate.models.small import SmallError, flattened, small_instance, small_sort
from quorate.proof.certificates import MALFORMED, CertificateError, as_count, as_list, as_text

MOST_ELEMENTS = 64


@dataclass(frozen=True)
class Move:
    """A transition that C takes if `when` (over both states, the next state of L, and the step of L) and its guard hold."""

    when: Term
    transition: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Case:
    """How C follows the runs of L that end in `bad`, which violates the property."""

    property: str
    violators: tuple[Symbol, ...]
    bad: Term
    image: Lambda
    rigid: tuple[tuple[Symbol, Lambda], ...]
    start: tuple[tuple[Symbol, Lambda], ...]
    relation: tuple[Named, ...]
    moves: tuple[tuple[str, tuple[Move, ...]], ...]

    def facts(self) -> tuple[Term, ...]:
        """What the violation says of rigid symbols, and so of every state of the run."""
        return tuple(p for p in conjuncts(self.bad) if not any(symbol.mutable for symbol in symbols_of(p)))


@dataclass(frozen=True)
class Cutoff:
    """The claim that `size` elements of a sort show every violation."""

    sort: str
    size: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Claim:
    """A formula that must be unsatisfiable together with the hypotheses of its group."""

    name: str
    negation: Term


@dataclass(frozen=True)
class Claims:
    """Claims that share hypotheses; `about` says which transition, if any."""

    hypotheses: tuple[Named, ...]
    claims: tuple[Claim, ...]
    about: str = ""


class Pair:
    """The protocol L and its small instance C, with names under which both can be spoken of at once.

    Symbols of C are called `small r`, symbols of L in the next state `after r`.  Rigid symbols that do not speak of the
    sort are the same in both.
    """

    def __init__(self, model: RelationalModel, sort: Sort, size: int) -> None:
        self.large, self.sort, self.size = flattened(model), sort, size
        self.target = small_sort(self.large, sort, size)
        self.small = small_instance(self.large, sort, self.target)
        """C as a protocol of its own, under the names of the protocol."""
        self.twin_sort = Sort(f"small {sort.name}", self.target.elements)
        self.twin = small_instance(self.large, sort, self.twin_sort, self.rename)
        self.image = Symbol("image of", (sort,), self.twin_sort)
        self._grounded: dict[Term, Term] = {}

    def rename(self, symbol: Symbol) -> str:
        """What a symbol is called in C."""
        shared = not symbol.mutable and self.sort not in (*symbol.arguments, symbol.sort)
        return symbol.name if shared else f"small {symbol.name}"

    @cached_property
    def twins(self) -> dict[Symbol, Symbol]:
        """The symbol of C for each symbol of L."""
        return dict(zip(self.large.symbols, self.twin.symbols, strict=True))

    @cached_property
    def later(self) -> dict[Symbol, Symbol]:
        """For each symbol that can change, the one that speaks of it in the next state of L."""
        return {s: Symbol(f"after {s.name}", s.arguments, s.sort, True) for s in self.large.symbols if s.mutable}

    @cached_property
    def elements(self) -> tuple[Term, ...]:
        """The elements of C."""
        return tuple(Symbol(name, (), self.twin_sort)() for name in self.twin_sort.elements)

    def of_large(self, element: Term) -> Term:
        """The element of C that stands for an element of L; elements of other sorts stand for themselves."""
        return self.image(element) if element.sort is self.sort else element

    def grounded(self, term: Term) -> Term:
        """An equivalent term without quantifiers over the elements of C and without conditions below its symbols."""
        done = self._grounded.get(term)
        if done is None:
            done = self._grounded[term] = self._ground(term)
        return done

    def _ground(self, term: Term) -> Term:
        if isinstance(term, Quantified):
            universal = isinstance(term, Forall)
            here = [variable for variable in term.variables if variable.sort is self.twin_sort]
            rest = tuple(variable for variable in term.variables if variable.sort is not self.twin_sort)
            bodies = [term.body]
            for variable in here:
                bodies = [substitute(body, {variable: element}) for body in bodies for element in self.elements]
            done = (conj if universal else disj)(*map(self.grounded, bodies))
            return done if not rest or done in (TRUE, FALSE) else type(term)(rest, done)
        children = tuple(map(self.grounded, term.children))
        if isinstance(term, Apply | Equal):
            for index, child in enumerate(children):
                if isinstance(child, If) and child.sort is self.twin_sort:
                    branches = [
                        term.rebuild((*children[:index], branch, *children[index + 1 :]))
                        for branch in (child.then, child.otherwise)
                    ]
                    return ite(child.condition, *map(self.grounded, branches))
            if isinstance(term, Equal) and set(children) <= set(self.elements):
                return equal(*children) if children[0] is children[1] else FALSE
        return rebuild_simplified(term, children)


class Obligations:
    """What has to hold for a cutoff, case by case."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.background = (*pair.large.background(), Named("elements of C", enumeration_axiom(pair.twin_sort)))
        self._expressed: dict[tuple[object, ...], Term] = {}

    def all(self, cases: Iterable[Case]) -> Iterator[Claims]:
        """Every obligation of a cutoff."""
        listed = list(cases)
        yield from self.coverage(listed)
        for number, case in enumerate(listed, 1):
            title = f"case {number} of {self.pair.sort}"
            yield self.instance(case, title)
            yield self.initially(case, title)
            for transition in self.pair.large.transitions:
                yield self.step(case, transition, title)
            yield self.violation(case, title)

    def coverage(self, cases: Iterable[Case]) -> Iterator[Claims]:
        listed = list(cases)
        for item in self.pair.large.safety:
            missed = [neg(item.formula)]
            for case in listed:
                if case.property == item.name:
                    variables = {symbol: Var(symbol.name, symbol.sort) for symbol in case.violators}
                    anywhere = replace_symbols(case.bad, {s: ((), v) for s, v in variables.items()})
                    missed.append(neg(exists(variables.values(), anywhere)))
            claim = Claim(f"cases of {self.pair.sort} cover {item.name}", conj(*missed))
            yield Claims(tuple(self.pair.large.background()), (claim,))

    def definitions(self, case: Case) -> dict[Symbol, Lambda]:
        """What stands for the image and for the rigid symbols of C."""
        image = {self.pair.image: case.image}
        rigid = {symbol: (variables, replace_symbols(body, image)) for symbol, (variables, body) in case.rigid}
        return {**image, **rigid}

    def express(self, case: Case, term: Term, more: Mapping[Symbol, Lambda] | None = None) -> Term:
        """A term without the image and without rigid symbols of C, after `more` has been put in."""
        if more and not symbols_of(term).isdisjoint(more):
            term = self.pair.grounded(replace_symbols(self.pair.grounded(term), more))
        key = (case.image, case.rigid, term)
        done = self._expressed.get(key)
        if done is None:
            done = self.pair.grounded(replace_symbols(self.pair.grounded(term), self.definitions(case)))
            self._expressed[key] = done
        return done

    def known(self, case: Case) -> tuple[Named, ...]:
        """Hypotheses of all obligations of a case."""
        facts = [Named(f"violators {number}", part) for number, part in enumerate(case.facts(), 1)]
        return (*self.background, *facts)

    def related(self, case: Case) -> tuple[Named, ...]:
        return tuple(Named(item.name, self.express(case, item.formula)) for item in case.relation)

    def safe(self, case: Case) -> tuple[Named, ...]:
        """The safety properties of C."""
        return tuple(Named(f"small {item.name}", self.express(case, item.formula)) for item in self.pair.twin.safety)

    def instance(self, case: Case, title: str = "case") -> Claims:
        claims = [
            Claim(f"{title}: C satisfies {item.name}", neg(self.express(case, item.formula)))
            for item in self.pair.twin.axioms
        ]
        return Claims(self.known(case), tuple(claims))

    def initially(self, case: Case, title: str = "case") -> Claims:
        start = dict(case.start)
        claims = [
            Claim(f"{title}: C begins with {item.name}", neg(self.express(case, item.formula, start)))
            for item in self.pair.twin.initial
        ]
        claims += [
            Claim(f"{title}: initially {item.name}", neg(self.express(case, item.formula, start)))
            for item in case.relation
        ]
        return Claims((*self.known(case), *self.pair.large.initial), tuple(claims))

    def step(self, case: Case, transition: Transition, title: str = "case") -> Claims:
        constants: dict[Var, Term] = {p: Symbol(f"@{p.name}", (), p.sort)() for p in transition.parameters}
        parts = conjuncts(substitute(transition.guard, constants))
        guard = [Named(f"guard {number}", part) for number, part in enumerate(parts, 1)]
        related = self.related(case)
        after = self.after(case, transition)
        claims = []
        for item, before in zip(case.relation, related, strict=True):
            formula = self.express(case, item.formula, after)
            if formula is not before.formula:
                claims.append(Claim(f"{title}: {transition.name} preserves {item.name}", neg(formula)))
        safety = (*self.pair.large.safety, *self.safe(case))
        return Claims((*self.known(case), *guard, *related, *safety), tuple(claims), transition.name)

    def after(self, case: Case, transition: Transition) -> dict[Symbol, Lambda]:
        """The state of L after its step, and the state of C after its moves, in terms of the states before."""
        constants: dict[Var, Term] = {p: Symbol(f"@{p.name}", (), p.sort)() for p in transition.parameters}
        large: dict[Symbol, Lambda] = {}
        for update in transition.updates:
            inner = {p: v for p, v in constants.items() if p not in update.variables}
            large[update.symbol] = (update.variables, substitute(update.value, inner))
        next_state = {later: large.get(symbol, _itself(symbol)) for symbol, later in self.pair.later.items()}
        small: dict[Symbol, Lambda] = {}
        for move in dict(case.moves).get(transition.name, ()):
            taken = self.pair.twin.transition(move.transition)
            values = dict(zip(taken.parameters, move.arguments, strict=True))
            enabled = replace_symbols(substitute(taken.guard, values), small)
            condition = self.express(case, conj(replace_symbols(move.when, next_state), enabled))
            changed: dict[Symbol, Lambda] = {}
            for update in taken.updates:
                inner = {p: v for p, v in values.items() if p not in update.variables}
                value = replace_symbols(substitute(update.value, inner), small)
                stays = substitute(*_applied(small.get(update.symbol, _itself(update.symbol)), update.variables))
                changed[update.symbol] = (update.variables, ite(condition, value, stays))
            small = {**small, **changed}
        return {**large, **small}

    def violation(self, case: Case, title: str = "case") -> Claims:
        hypotheses = (*self.known(case), *self.related(case), *self.safe(case))
        return Claims(hypotheses, (Claim(f"{title}: the violation shows in C", case.bad),))


def _itself(symbol: Symbol) -> Lambda:
    variables = tuple(Var(f"X{i}", sort) for i, sort in enumerate(symbol.arguments))
    return variables, symbol(*variables)


def _applied(definition: Lambda, arguments: Iterable[Term]) -> tuple[Term, dict[Var, Term]]:
    variables, body = definition
    return body, dict(zip(variables, arguments, strict=True))


# -- certificates -----------------------------------------------------------------------------------------------------


def write(cutoff: Cutoff) -> dict[str, Any]:
    """A cutoff as data for a certificate."""
    return {
        "sort": cutoff.sort,
        "size": cutoff.size,
        "cases": [
            {
                "property": case.property,
                "violators": [[symbol.name, symbol.sort.name] for symbol in case.violators],
                "bad": sexpr.write(case.bad),
                "image": _write_lambda(case.image),
                "rigid": [[symbol.name, _write_lambda(definition)] for symbol, definition in case.rigid],
                "start": [[symbol.name, _write_lambda(definition)] for symbol, definition in case.start],
                "relation": [[item.name, sexpr.write(item.formula)] for item in case.relation],
                "moves": [
                    [name, [[sexpr.write(m.when), m.transition, *map(sexpr.write, m.arguments)] for m in moves]]
                    for name, moves in case.moves
                ],
            }
            for case in cutoff.cases
        ],
    }


def _write_lambda(definition: Lambda) -> str:
    variables, body = definition
    return sexpr.write(substitute(body, dict(zip(variables, _places([v.sort for v in variables]), strict=True))))


def _places(sorts: Iterable[Sort]) -> list[Term]:
    """Constants that stand for the arguments of a definition; no language can write such names."""
    return [Symbol(f"@{number}", (), sort)() for number, sort in enumerate(sorts, 1)]


def opened(model: RelationalModel, document: Any) -> tuple[Pair, Cutoff]:
    """The cutoff that a certificate holds, and the pair of protocols that it is about; raises `CertificateError`."""
    try:
        name, size = as_text(document["sort"]), as_count(document["size"])
        sort = next((sort for sort in model.sorts if sort.name == name and sort.uninterpreted), None)
        if sort is None or not 1 <= size <= MOST_ELEMENTS:
            raise CertificateError(
                "a cutoff is not about a sort of this protocol, or not of a size that can be checked"
            )
        pair = Pair(model, sort, size)
        cases = tuple(_Reader(pair, case).case() for case in as_list(document["cases"]))
    except SmallError as problem:
        raise CertificateError(f"there are no small instances: {problem}") from None
    except sexpr.SexprError as problem:
        raise CertificateError(f"a cutoff cannot be read: {problem}") from None
    except MALFORMED:
        raise CertificateError("a cutoff is malformed") from None
    return pair, Cutoff(name, size, cases)


class _Reader:
    """Reads one case.  Every formula is read over the symbols that may occur in it, and no others.

    That the image and the rigid symbols of C do not depend on the state is essential, and is ensured here.
    """

    def __init__(self, pair: Pair, document: Any) -> None:
        self.pair, self.document = pair, document
        self.sorts = (*pair.large.sorts, pair.twin_sort)
        self.violators = tuple(self._violators())
        large = (*pair.large.symbols, *self.violators)
        self.rigid = tuple(symbol for symbol in large if not symbol.mutable)
        self.state = large
        self.both = (*large, *pair.twin.symbols, pair.image)

    def _violators(self) -> Iterator[Symbol]:
        model = self.pair.large
        taken = {symbol.name for symbol in (*model.symbols, *self.pair.twin.symbols, self.pair.image)}
        taken |= {e for sort in (*model.sorts, self.pair.twin_sort) for e in sort.elements}
        taken |= {choice.name for transition in model.transitions for choice in transition.choices}
        sorts = {sort.name: sort for sort in model.sorts}
        for name, sort in self.document["violators"]:
            if as_text(name) in taken or not name.isidentifier() or sort not in sorts:
                raise CertificateError(f"{name}: {sort} cannot be a violator")
            taken.add(name)
            yield Symbol(name, (), sorts[sort])

    def read(self, text: str, symbols: Iterable[Symbol], sort: Sort = BOOL) -> Term:
        return sexpr.read(text, self.sorts, tuple(dict.fromkeys(symbols)), sort)

    def definition(self, text: str, arguments: Iterable[Sort], sort: Sort, symbols: Iterable[Symbol]) -> Lambda:
        places = _places(arguments)
        term = self.read(text, (*symbols, *(place.symbol for place in places if isinstance(place, Apply))), sort)
        variables = tuple(Var(f"X{number}", place.sort) for number, place in enumerate(places))
        values = {p.symbol: ((), v) for p, v in zip(places, variables, strict=True) if isinstance(p, Apply)}
        return variables, replace_symbols(term, values)

    def definitions(
        self, name: str, symbols: Iterable[Symbol], over: Iterable[Symbol]
    ) -> Iterator[tuple[Symbol, Lambda]]:
        known = {symbol.name: symbol for symbol in symbols}
        for defined, text in self.document[name]:
            symbol = known[defined]
            yield symbol, self.definition(text, symbol.arguments, symbol.sort, over)

    def case(self) -> Case:
        document, pair = self.document, self.pair
        fixed = [twin for symbol, twin in pair.twins.items() if not twin.mutable and twin is not symbol]
        moving = [twin for twin in pair.twin.symbols if twin.mutable]
        own = (*self.rigid, pair.image)
        return Case(
            as_text(document["property"]),
            self.violators,
            self.read(document["bad"], self.state),
            self.definition(document["image"], (pair.sort,), pair.twin_sort, self.rigid),
            tuple(self.definitions("rigid", fixed, own)),
            tuple(self.definitions("start", moving, (*self.state, pair.image))),
            tuple(Named(as_text(name), self.read(text, self.both)) for name, text in document["relation"]),
            tuple((name, tuple(self.moves(name, listed))) for name, listed in document["moves"]),
        )

    def moves(self, name: str, listed: Any) -> Iterator[Move]:
        transition = {item.name: item for item in self.pair.large.transitions}[name]
        twins = {item.name: item for item in self.pair.twin.transitions}
        step = [Symbol(f"@{p.name}", (), p.sort) for p in transition.parameters]
        symbols = (*self.both, *self.pair.later.values(), *transition.choices, *step)
        for when, taken, *arguments in listed:
            parameters = twins[taken].parameters
            read = [self.read(text, symbols, p.sort) for text, p in zip(arguments, parameters, strict=True)]
            yield Move(self.read(when, symbols), taken, tuple(read))
