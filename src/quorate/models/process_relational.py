"""A Mercury program as a relational protocol with a sort of processes: the form in which proofs for every size are checked.

Every step of the program, with any number of processes, is a transition of the result (see `process_counting` for what is left
open), so what the checker of certificates establishes holds for the program.  A process has a point, finite integers, and
relations to other processes: its sets, and its identities as sets of at most one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    distinct,
    equal,
    exists,
    forall,
    implies,
    ite,
    neg,
)
from quorate.logic.transform import replace_symbols
from quorate.models import process_names as names
from quorate.models import process_steps as steps
from quorate.models.process import (
    AllProcesses,
    Arithmetic,
    Combination,
    Comparison,
    Consensus,
    Count,
    Descriptor,
    Expression,
    If,
    Junction,
    Negation,
    NoProcesses,
    Number,
    Partition,
    ProcessModel,
    Read,
    Self,
    Send,
    Specification,
    Statement,
    Truth,
    Variable,
    arithmetic,
    compare,
    constant,
    wrap,
)
from quorate.models.process_counting import AllSizes, CountingError
from quorate.models.process_steps import Path, Point, leaves
from quorate.models.relational import Named, RelationalModel, Transition, Update

PROCESS = Sort(names.PROCESSES)

MOST_NAMED = 50
"""How many processes a formula may name: winners of a partition, or those that a specification counts."""

Values = dict[int, Term]
"""The values that an integer may have, each with the condition under which it has it."""

Incoming = Mapping[str, object]


def relational(model: ProcessModel) -> RelationalModel:
    """The program as a relational protocol."""
    numbers = [handler.event.winners for _, handler in model.handlers if isinstance(handler.event, Partition)]
    numbers += [count.number for item in model.safety for count in _counts(item.specification)]
    if max(numbers, default=0) > MOST_NAMED:
        raise CountingError(f"it speaks of more than {MOST_NAMED} processes one by one")
    return ProcessTheory(AllSizes(model)).model()


@dataclass(frozen=True)
class _Effect:
    """What a path does to one process, under a condition: its point and the new values of its variables."""

    condition: Term
    target: Point
    updates: Mapping[str, steps.Term]
    incoming: Incoming


class ProcessTheory:
    """The symbols of a program, and formulas over them."""

    def __init__(self, abstract: AllSizes) -> None:
        self.steps, self.program = abstract, abstract.model
        self.names = point_names(abstract.points)
        self.point_sort = Sort(names.POINTS, (*self.names.values(), names.CRASHED))
        self.at = Symbol(names.WHERE, (PROCESS,), self.point_sort, True)
        self.variables: dict[str, Variable] = {variable.name: variable for variable in abstract.variables}
        self.symbols: dict[str, Symbol] = {}
        self.ranges: dict[str, range] = {}
        sorts: dict[tuple[int, int], Sort] = {}
        for name, variable in self.variables.items():
            if variable.kind != "int":
                self.symbols[name] = Symbol(name, (PROCESS, PROCESS), BOOL, True)
                continue
            low, high = constant(variable.low, 1), constant(variable.high, 1)
            self.ranges[name] = range(low, high + 1)
            if (low, high) not in sorts:
                elements = (names.number_name(value, low, high) for value in range(low, high + 1))
                sorts[low, high] = Sort(names.range_name(low, high), elements)
            self.symbols[name] = Symbol(name, (PROCESS,), sorts[low, high], True)
        self.sorts = (PROCESS, self.point_sort, *sorts.values())

    # -- what a process sees ---------------------------------------------------------------------------------------

    def point(self, process: Term, point: Point | None) -> Term:
        name = names.CRASHED if point is None else self.names[point]
        return equal(self.at(process), Symbol(name, (), self.point_sort)())

    def constant(self, name: str, value: int) -> Term:
        sort = self.symbols[name].sort
        return Symbol(sort.elements[self.ranges[name].index(value)], (), sort)()

    def is_value(self, process: Term, name: str, value: int) -> Term:
        return equal(self.symbols[name](process), self.constant(name, value))

    def alive(self, process: Term) -> Term:
        return neg(self.point(process, None))

    def values(self, process: Term, term: steps.Term, incoming: Incoming) -> Values:
        """An integer, value by value."""
        match term:
            case Number(value):
                return {value: TRUE}
            case steps.Incoming(what):
                return incoming[what]  # type: ignore[return-value]
            case Read(name):
                if name not in self.variables:
                    return {constant(self.program.variable(name).initial, 1): TRUE}
                return {value: self.is_value(process, name, value) for value in self.ranges[name]}
            case steps.Wrapped(operand, low, high):
                bounds = constant(low, 1), constant(high, 1)
                found = self.values(process, operand, incoming)
                return _collect((wrap(value, *bounds), formula) for value, formula in found.items())
            case Arithmetic(operator, left, right):
                return _collect(
                    (arithmetic(operator, a, b), conj(x, y))
                    for a, x in self.values(process, left, incoming).items()
                    for b, y in self.values(process, right, incoming).items()
                )
        raise AssertionError(term)

    def is_process(self, process: Term, term: steps.Term, other: Term, incoming: Incoming) -> Term:
        """Does an identity name the other process?"""
        match term:
            case Self():
                return equal(process, other)
            case steps.Nobody():
                return FALSE
            case steps.Incoming(what):
                return equal(incoming[what], other)  # type: ignore[arg-type]
            case Read(name):
                return self.symbols[name](process, other) if name in self.symbols else FALSE
        raise AssertionError(term)

    def contains(self, process: Term, term: steps.Term, other: Term, incoming: Incoming) -> Term:
        """Is the other process in a set?"""
        match term:
            case AllProcesses():
                return self.alive(other)
            case NoProcesses():
                return FALSE
            case steps.Incoming(what):
                return incoming[what](other)  # type: ignore[operator, no-any-return]
            case Read(name):
                return self.symbols[name](process, other) if name in self.symbols else FALSE
            case steps.Changed(operation, base, change, many):
                before = self.contains(process, base, other, incoming)
                inside = self.contains if many else self.is_process
                changed = inside(process, change, other, incoming)
                return disj(before, changed) if operation == "add" else conj(before, neg(changed))
        raise AssertionError(term)

    def holds(self, process: Term, term: steps.Term, incoming: Incoming) -> Term:
        """A test of a path, or a predicate of a specification."""
        match term:
            case Truth(value):
                return TRUE if value else FALSE
            case Negation(operand):
                return neg(self.holds(process, operand, incoming))
            case Junction(operator, operands):
                found = [self.holds(process, operand, incoming) for operand in operands]
                return conj(*found) if operator == "&" else disj(*found)
            case steps.Contains(base, member):
                other = Var("Other", PROCESS)
                inside = self.contains(process, base, other, incoming)
                return exists((other,), conj(self.is_process(process, member, other, incoming), inside))
            case steps.Full(base):
                other = Var("Other", PROCESS)
                inside = self.contains(process, base, other, incoming)
                return forall((other,), disj(equal(other, process), inside))
            case Comparison(operator, left, right):
                return self._comparison(process, operator, left, right, incoming)
        raise AssertionError(term)

    def _comparison(
        self, process: Term, operator: str, left: Expression, right: Expression, incoming: Incoming
    ) -> Term:
        if isinstance(left, Truth | Negation | Junction | Comparison):
            same = equal(self.holds(process, left, incoming), self.holds(process, right, incoming))
            return same if operator == "=" else neg(same)
        if self._is_identity(left):
            other = Var("Other", PROCESS)
            one = self.is_process(process, left, other, incoming)
            two = self.is_process(process, right, other, incoming)
            same = forall((other,), equal(one, two))
            return same if operator == "=" else neg(same)
        return disj(
            *(
                conj(x, y)
                for a, x in self.values(process, left, incoming).items()
                for b, y in self.values(process, right, incoming).items()
                if compare(operator, a, b)
            )
        )

    def _is_identity(self, term: steps.Term) -> bool:
        if isinstance(term, Read):
            return term.name not in self.ranges and self.program.variable(term.name).kind == "id"
        return isinstance(term, Self | steps.Nobody) or term == steps.Incoming("sender")

    # -- what a path does ------------------------------------------------------------------------------------------

    def taken(self, process: Term, path: Path, incoming: Incoming) -> Term:
        """Can a process take a path?"""
        tests = [self.holds(process, term, incoming) for term in path.guard]
        return conj(self.point(process, path.source), *tests)

    def updates(self, who: Var, effects: Sequence[_Effect]) -> list[Update]:
        """The updates in which every process, written `who`, undergoes the first effect whose condition holds."""
        found = []
        value: Term = self.at(who)
        for effect in reversed(effects):
            value = ite(effect.condition, Symbol(self.names[effect.target], (), self.point_sort)(), value)
        if value is not self.at(who):
            found.append(Update(self.at, (who,), value))
        changed = dict.fromkeys(name for effect in effects for name in effect.updates if name in self.variables)
        for name in changed:
            symbol = self.symbols[name]
            if self.variables[name].kind == "int":
                value = symbol(who)
                for effect in reversed(effects):
                    if name in effect.updates:
                        value = ite(effect.condition, self._integer(who, name, effect), value)
                    else:
                        value = ite(effect.condition, symbol(who), value)
                found.append(Update(symbol, (who,), value))
                continue
            other = Var("Other", PROCESS)
            value = symbol(who, other)
            inside = self.contains if self.variables[name].kind == "set" else self.is_process
            for effect in reversed(effects):
                new: Term = symbol(who, other)
                if name in effect.updates:
                    new = inside(who, effect.updates[name], other, effect.incoming)
                value = ite(effect.condition, new, value)
            found.append(Update(symbol, (who, other), value))
        return found

    def _integer(self, who: Term, name: str, effect: _Effect) -> Term:
        *others, (last, _) = self.values(who, effect.updates[name], effect.incoming).items()
        value = self.constant(name, last)
        for number, condition in others:
            value = ite(condition, self.constant(name, number), value)
        return value

    # -- transitions -----------------------------------------------------------------------------------------------

    def model(self) -> RelationalModel:
        program = self.program
        return RelationalModel(
            program.name,
            "mercury",
            self.sorts,
            (self.at, *self.symbols.values()),
            (),
            (),
            tuple(self._initial()),
            tuple(self._named(self._transitions())),
            tuple(Named(p.name, self.specification(p.specification), p.span) for p in program.safety),
            (),
            expectations=program.expectations,
            source=program.source,
        )

    def _initial(self) -> Iterator[Named]:
        x, y = Var("X", PROCESS), Var("Y", PROCESS)
        yield Named("initial location", forall((x,), self.point(x, Point(self.program.initial.name))))
        for name, variable in self.variables.items():
            if variable.kind == "int":
                yield Named(f"initial {name}", forall((x,), self.is_value(x, name, constant(variable.initial, 1))))
            else:
                yield Named(f"initial {name}", forall((x, y), neg(self.symbols[name](x, y))))

    def _named(self, transitions: Iterable[Transition]) -> Iterator[Transition]:
        """Names of their own for transitions of one event."""
        seen: dict[str, int] = {}
        for item in transitions:
            seen[item.name] = seen.get(item.name, 0) + 1
            name = names.transition_name(item.name, seen[item.name])
            yield Transition(name, item.parameters, item.choices, item.guard, item.updates, item.span)

    def _transitions(self) -> Iterator[Transition]:
        p, who = Var("p", PROCESS), Var("Who", PROCESS)
        for path in self.steps.of("internal"):
            yield self._alone(path.source.location, p, who, path, {})
        for path in self.steps.of("send"):
            action = self.program.action(path.event)
            if action.environment:
                yield self._alone(action.name, p, who, path, {})
            elif action.broadcast:
                yield self._broadcast(path, p, who)
            else:
                yield self._rendezvous(path, p, who)
        for action in self.program.actions:
            if action.environment:
                yield from self._environment(action.name, p, who)
        for name, event in self.steps.agreements.items():
            if isinstance(event, Partition):
                yield from self._partition(name, event, who)
            else:
                yield from self._consensus(name, p, who)
        if self.program.crashing:
            yield self._crash(p, who)

    def _alone(self, name: str, p: Var, who: Var, path: Path, incoming: Incoming) -> Transition:
        effects = [_Effect(equal(who, p), path.target, path.updates, incoming)]
        return Transition(name, (p,), (), self.taken(p, path, incoming), tuple(self.updates(who, effects)), path.span)

    def _choice(self, paths: Sequence[Path]) -> tuple[tuple[Symbol, ...], dict[int, Symbol]]:
        """Relations that say which of several alternatives a process takes; the last needs none."""
        most = max((path.alternative for path in paths), default=0)
        chosen = {number: Symbol(names.takes_name(number), (PROCESS,), BOOL) for number in range(most)}
        return tuple(chosen.values()), chosen

    def _takes(self, who: Term, path: Path, incoming: Incoming, chosen: Mapping[int, Symbol]) -> Term:
        """Can a process take a path, and is it the alternative that was chosen?"""
        tests = [self.taken(who, path, incoming)]
        tests += [neg(symbol(who)) for number, symbol in chosen.items() if number < path.alternative]
        tests += [symbol(who) for number, symbol in chosen.items() if number == path.alternative]
        return conj(*tests)

    def _receptions(
        self, who: Term, action: str, incoming: Incoming, chosen: Mapping[int, Symbol]
    ) -> list[tuple[Term, Path]]:
        """The paths by which a process may receive a message, with their conditions."""
        return [(self._takes(who, path, incoming, chosen), path) for path in self.steps.of("receive", action)]

    def _send(self, path: Path, p: Var) -> dict[str, object]:
        payload = {} if path.payload is None else self.values(p, path.payload, {})
        return {"payload": payload, "sender": p}

    def _broadcast(self, path: Path, p: Var, who: Var) -> Transition:
        incoming = self._send(path, p)
        symbols, chosen = self._choice(self.steps.of("receive", path.event))
        received = self._receptions(who, path.event, incoming, chosen)
        everyone = forall((who,), disj(equal(who, p), self.point(who, None), *(c for c, _ in received)))
        effects = [_Effect(equal(who, p), path.target, path.updates, {})]
        effects += [_Effect(conj(neg(equal(who, p)), c), r.target, r.updates, incoming) for c, r in received]
        guard = conj(self.taken(p, path, {}), everyone)
        return Transition(path.event, (p,), symbols, guard, tuple(self.updates(who, effects)), path.span)

    def _rendezvous(self, path: Path, p: Var, who: Var) -> Transition:
        q = Var("q", PROCESS)
        incoming = self._send(path, p)
        symbols, chosen = self._choice(self.steps.of("receive", path.event))
        received = self._receptions(q, path.event, incoming, chosen)
        guard = [self.taken(p, path, {}), neg(equal(p, q)), disj(*(c for c, _ in received))]
        if path.receiver is not None:
            guard.append(self.is_process(p, path.receiver, q, {}))
        effects = [_Effect(equal(who, p), path.target, path.updates, {})]
        for condition, reception in self._receptions(who, path.event, incoming, chosen):
            effects.append(_Effect(conj(equal(who, q), condition), reception.target, reception.updates, incoming))
        return Transition(path.event, (p, q), symbols, conj(*guard), tuple(self.updates(who, effects)), path.span)

    def _environment(self, name: str, p: Var, who: Var) -> Iterator[Transition]:
        action = self.program.action(name)
        payloads: list[Values] = [{}]
        if action.bounds is not None:
            low, high = (constant(bound, 1) for bound in action.bounds)
            payloads = [{value: TRUE} for value in range(low, high + 1)]
        for payload in payloads:
            incoming: Incoming = {"payload": payload}
            if not action.broadcast:
                for path in self.steps.of("receive", name):
                    if payload == payloads[0] or _reads_payload(path):
                        yield self._alone(name, p, who, path, incoming)
                continue
            symbols, chosen = self._choice(self.steps.of("receive", name))
            received = self._receptions(who, name, incoming, chosen)
            guard = forall((who,), disj(self.point(who, None), *(c for c, _ in received)))
            effects = [_Effect(c, path.target, path.updates, incoming) for c, path in received]
            yield Transition(name, (), symbols, guard, tuple(self.updates(who, effects)), action.span)

    def _gathered(self, name: str, p: Var, who: Var) -> Iterator[tuple[Term, Term, Partition | Consensus]]:
        """For each location of a participant p: all participants wait for exactly each other, and `who` is one of them."""
        other = Var("Other", PROCESS)
        for location, event in self.steps.participants(name).items():
            member = self.contains(p, event.participants, who, {})
            ready = []
            for place, there in self.steps.participants(name).items():
                same = forall(
                    (other,),
                    equal(
                        self.contains(who, there.participants, other, {}),
                        self.contains(p, event.participants, other, {}),
                    ),
                )
                ready.append(conj(self.point(who, Point(place)), same))
            guard = conj(
                self.point(p, Point(location)),
                self.contains(p, event.participants, p, {}),
                forall((who,), implies(member, disj(*ready))),
            )
            yield guard, member, event

    def _partition(self, name: str, partition: Partition, who: Var) -> Iterator[Transition]:
        """The winners are parameters: so many different participants, or all participants if they are fewer."""
        winners = [Var(f"p{i + 1}", PROCESS) for i in range(partition.winners)]
        first = winners[0]
        for guard, member, event in self._gathered(name, first, who):

            def wins(process: Term) -> Term:
                return disj(*(equal(process, winner) for winner in winners))

            def loses(process: Term, event: Partition | Consensus = event) -> Term:
                return conj(self.contains(first, event.participants, process, {}), neg(wins(process)))

            incoming: Incoming = {"winners": wins, "losers": loses}
            inside = [self.contains(first, event.participants, winner, {}) for winner in winners[1:]]
            enough = disj(distinct(winners), forall((who,), implies(member, wins(who))))
            paths = self.steps.of("win", name) + self.steps.of("lose", name)
            symbols, chosen = self._choice(paths)
            effects = []
            for path in paths:
                condition = wins(who) if path.trigger == "win" else conj(member, neg(wins(who)))
                taken = conj(condition, self._takes(who, path, incoming, chosen))
                effects.append(_Effect(taken, path.target, path.updates, incoming))
            everyone = forall((who,), implies(member, disj(*(effect.condition for effect in effects))))
            guard = conj(guard, *inside, enough, *[everyone] * bool(symbols))
            yield Transition(name, tuple(winners), symbols, guard, tuple(self.updates(who, effects)))

    def _consensus(self, name: str, p: Var, who: Var) -> Iterator[Transition]:
        """p proposes the value that is decided.  Where participants can crash meanwhile, any of them may."""
        paths = self.steps.of("decide", name)
        crashing = self.program.crashing
        risky = [path for path in paths if path.source.location in crashing and path.target.location not in crashing]
        for guard, member, event in self._gathered(name, p, who):
            assert isinstance(event, Consensus)
            if event.proposal is None:
                continue
            incoming: Incoming = {"decided": self.values(p, Read(event.proposal), {})}
            symbols, chosen = self._choice(paths)
            effects = [
                _Effect(conj(member, self._takes(who, path, incoming, chosen)), path.target, path.updates, incoming)
                for path in paths
            ]
            if symbols:
                everyone = forall((who,), implies(member, disj(*(effect.condition for effect in effects))))
                guard = conj(guard, everyone)
            updates = self.updates(who, effects)
            yield Transition(name, (p,), symbols, guard, tuple(updates))
            if risky:
                fails = Symbol(names.FAILS, (PROCESS,), BOOL)
                at_risk = disj(*(self._takes(who, path, incoming, chosen) for path in risky))
                limit = forall((who,), implies(fails(who), conj(member, at_risk)))
                yield Transition(
                    name, (p,), (*symbols, fails), conj(guard, limit), tuple(self._without(updates, fails, who))
                )

    def _crash(self, p: Var, who: Var) -> Transition:
        crashing = [point for point in self.steps.points if point.location in self.program.crashing]
        fails = Symbol(names.FAILS, (PROCESS,), BOOL)
        updates = self._without([], fails, who)
        guard = disj(*(self.point(p, point) for point in crashing))
        x = Var("X", PROCESS)
        only = {fails: ((x,), equal(x, p))}
        named = [Update(u.symbol, u.variables, replace_symbols(u.value, only)) for u in updates]
        return Transition("crash", (p,), (), guard, tuple(named))

    def _without(self, updates: Sequence[Update], fails: Symbol, who: Var) -> list[Update]:
        """The updates followed by the crash of some processes."""
        known = {update.symbol: update for update in updates}
        found = []
        for symbol, name in ((self.at, ""), *((symbol, name) for name, symbol in self.symbols.items())):
            other = Var("Other", PROCESS)
            variables = (who, other)[: len(symbol.arguments)]
            value: Term = known[symbol].value if symbol in known else symbol(*variables)
            if name == "":
                first: Term = Symbol(names.CRASHED, (), self.point_sort)()
            elif self.variables[name].kind == "int":
                first = self.constant(name, constant(self.variables[name].initial, 1))
            else:
                first = FALSE
            gone: Term = fails(who)
            if name and self.variables[name].kind == "set" and name not in self.steps.lasting_sets:
                gone = disj(gone, fails(other))
            found.append(Update(symbol, variables, ite(gone, first, value)))
        return found

    # -- properties ------------------------------------------------------------------------------------------------

    def specification(self, item: Specification) -> Term:
        """A specification as a formula; what it asks of counters is taken to be so where that makes it stronger."""
        if isinstance(item, Combination):
            found = [self.specification(operand) for operand in item.operands]
            if item.operator == "!":
                return neg(found[0])
            return conj(*found) if item.operator == "&" else disj(*found)
        assert isinstance(item, Count)
        number = item.number + 1 if item.most else item.number
        who = [Var(f"P{i + 1}", PROCESS) for i in range(number)]
        many = exists(who, conj(distinct(who), *(self.described(item, process) for process in who)))
        return neg(many) if item.most else many

    def described(self, item: Count, process: Term) -> Term:
        return disj(*(self._descriptor(descriptor, process) for descriptor in item.descriptors))

    def _descriptor(self, item: Descriptor, process: Term) -> Term:
        there = disj(*(self.point(process, point) for point in self.steps.points if point.location == item.location))
        if item.predicate is None or not self.knows(item.predicate):
            return there
        return conj(there, self.holds(process, item.predicate, {}))

    def knows(self, predicate: Expression) -> bool:
        """Does a predicate speak of what the steps have as variables?  One that does not is taken to hold."""
        return all(leaf.name in self.variables for leaf in leaves(predicate) if isinstance(leaf, Read))


def point_names(points: Iterable[Point]) -> dict[Point, str]:
    """A name for each point of a program."""
    found: dict[Point, str] = {}
    waiting: dict[str, int] = {}
    for point in points:
        if point.pending:
            waiting[point.location] = waiting.get(point.location, 0) + 1
        found[point] = names.point_name(point.location, waiting[point.location] if point.pending else 0)
    return found


def waiting_names(model: ProcessModel) -> dict[tuple[str, int], str]:
    """The points where a process waits, by its location and the place of the send in the text."""
    known = point_names(AllSizes(model).points)
    found: dict[tuple[str, int], str] = {}

    def follow(location: str, body: tuple[Statement, ...], after: tuple[Statement, ...]) -> None:
        for place, statement in enumerate(body):
            rest = body[place + 1 :] + after
            if isinstance(statement, If):
                follow(location, statement.then, rest)
                follow(location, statement.otherwise, rest)
            elif isinstance(statement, Send) and statement.span is not None:
                name = known.get(Point(location, (statement, *rest)))
                if name is not None:
                    found[location, statement.span.start] = name

    for location, handler in model.handlers:
        for body in (handler.body, handler.lose or ()):
            follow(location.name, body, ())
    return found


def _counts(item: Specification) -> Iterator[Count]:
    if isinstance(item, Count):
        yield item
    else:
        for operand in item.operands:
            yield from _counts(operand)


def _collect(pairs: Iterable[tuple[int, Term]]) -> Values:
    found: dict[int, list[Term]] = {}
    for value, formula in pairs:
        if formula is not FALSE:
            found.setdefault(value, []).append(formula)
    return {value: disj(*formulas) for value, formulas in found.items()}


def _reads_payload(path: Path) -> bool:
    terms = [*path.guard, *path.updates.values()]
    return any(leaf == steps.Incoming("payload") for term in terms for leaf in leaves(term))
