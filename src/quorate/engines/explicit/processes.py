"""A Mercury program with a fixed number of processes as a finite system, for the engines that search all others.

A process has a field for its point (see `models/process_steps`), one for each integer and identity, and a bit per process for
each set.  Processes are alike: every permutation of them, applied to identities and sets as well, is a symmetry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

from quorate.engines.explicit.expressions import FALSE, TRUE, Graph, Node
from quorate.engines.explicit.peers import Peers
from quorate.engines.explicit.system import LARGEST_FIELD, Block, Permutation, Rule, System
from quorate.engines.explicit.worlds import InstanceError
from quorate.models.process import (
    AllProcesses,
    Arithmetic,
    Combination,
    Comparison,
    Consensus,
    Count,
    Expression,
    Junction,
    Negation,
    NoProcesses,
    Number,
    Partition,
    ProcessCount,
    ProcessModel,
    Read,
    Self,
    Specification,
    Truth,
    arithmetic,
    compare,
    constant,
    wrap,
)
from quorate.models.process_names import CRASHED
from quorate.models.process_semantics import UNDEFINED, Local, State
from quorate.models.process_steps import (
    Changed,
    Contains,
    Full,
    Incoming,
    Nobody,
    Path,
    Point,
    ProcessSteps,
    Term,
    Wrapped,
    leaves,
)

Choices = dict[int, Node]
"""The values that an integer or identity may have, each with the condition under which it has it."""


class ProcessInstance:
    """A program with so many processes, ready to be explored."""

    def __init__(
        self, model: ProcessModel, processes: int, deadlock: bool = False, steps: ProcessSteps | None = None
    ) -> None:
        if processes < 1:
            raise InstanceError("there must be at least one process")
        problem = model.unfit(processes)
        if problem is not None:
            raise InstanceError(problem)
        self.model, self.processes, self.deadlock = model, processes, deadlock
        self.steps = steps or ProcessSteps(model)
        self.points = list(self.steps.points)
        self.number = {point: i for i, point in enumerate(self.points)}
        self.dead = len(self.points)
        self.ranges = {
            v.name: (constant(v.low, processes), constant(v.high, processes))
            for v in self.steps.variables
            if v.kind == "int"
        }
        self.place: dict[tuple[int, str, int | None], int] = {}
        sizes: list[int] = []
        for process in range(processes):
            self.place[process, "", None] = len(sizes)
            sizes.append(self.dead + 1)
            for variable in self.steps.variables:
                if variable.kind == "set":
                    for other in range(processes):
                        self.place[process, variable.name, other] = len(sizes)
                        sizes.append(2)
                    continue
                self.place[process, variable.name, None] = len(sizes)
                if variable.kind == "id":
                    sizes.append(processes + 1)
                else:
                    low, high = self.ranges[variable.name]
                    sizes.append(high - low + 1)
        self.sizes = tuple(sizes)
        if max(self.sizes) > LARGEST_FIELD:
            raise InstanceError(f"more than {LARGEST_FIELD} points or values of a variable")

    @cached_property
    def system(self) -> System:
        return _Lowering(self).system()

    @property
    def point_fields(self) -> list[int]:
        """The fields that say where each process is."""
        return [self.place[process, "", None] for process in range(self.processes)]

    def state(self, fields: Sequence[int]) -> State:
        """A state of the system as one of the plain semantics."""
        found = []
        for process in range(self.processes):
            point = fields[self.place[process, "", None]]
            values = []
            for variable in self.model.all_variables:
                if (process, variable.name, None) in self.place:
                    raw = fields[self.place[process, variable.name, None]]
                    values.append(raw - 1 if variable.kind == "id" else raw + self.ranges[variable.name][0])
                elif variable.kind == "set":
                    bits = (fields[self.place[process, variable.name, q]] << q for q in range(self.processes))
                    values.append(sum(bits))
                else:
                    values.append(UNDEFINED if variable.kind == "id" else constant(variable.initial, self.processes))
            if point == self.dead:
                found.append(Local(CRASHED, (), tuple(values)))
            else:
                found.append(Local(self.points[point].location, self.points[point].pending, tuple(values)))
        return tuple(found)


class _Lowering:
    def __init__(self, instance: ProcessInstance) -> None:
        self.instance, self.model, self.steps = instance, instance.model, instance.steps
        self.all = range(instance.processes)
        self.graph = Graph()
        self.rules: list[Rule] = []
        self.enabled: list[Node] = []
        """When each rule that is not a crash can be taken, whatever is chosen."""
        self.variables = {variable.name: variable for variable in self.steps.variables}

    # -- what a process sees ---------------------------------------------------------------------------------------

    def field(self, process: int, name: str = "", other: int | None = None) -> Node:
        return self.graph.field(self.instance.place[process, name, other])

    def at(self, process: int, point: Point | None) -> Node:
        number = self.instance.dead if point is None else self.instance.number[point]
        return self.graph.equal(self.field(process), self.graph.const(number))

    def alive(self, process: int) -> Node:
        return self.graph.neg(self.at(process, None))

    def _read(self, process: int, name: str) -> Choices:
        node = self.field(process, name)
        if self.variables[name].kind == "id":
            values: Iterable[int] = range(UNDEFINED, self.instance.processes)
            low = UNDEFINED
        else:
            low, high = self.instance.ranges[name]
            values = range(low, high + 1)
        return {value: self.graph.equal(node, self.graph.const(value - low)) for value in values}

    def choices(self, process: int, term: Term, incoming: Mapping[str, object]) -> Choices:
        """An integer or identity, value by value."""
        match term:
            case Number(value):
                return {value: TRUE}
            case ProcessCount():
                return {self.instance.processes: TRUE}
            case Self():
                return {process: TRUE}
            case Nobody():
                return {UNDEFINED: TRUE}
            case Incoming(what):
                return incoming[what]  # type: ignore[return-value]
            case Read(name):
                if name not in self.variables:
                    variable = self.model.variable(name)
                    value = UNDEFINED if variable.kind == "id" else constant(variable.initial, self.instance.processes)
                    return {value: TRUE}
                return self._read(process, name)
            case Wrapped(operand, low, high):
                bounds = constant(low, self.instance.processes), constant(high, self.instance.processes)
                found = self.choices(process, operand, incoming)
                return self._collect((wrap(value, *bounds), node) for value, node in found.items())
            case Arithmetic(operator, left, right):
                return self._collect(
                    (arithmetic(operator, a, b), self.graph.conj((x, y)))
                    for a, x in self.choices(process, left, incoming).items()
                    for b, y in self.choices(process, right, incoming).items()
                )
        raise AssertionError(term)

    def _collect(self, pairs: Iterable[tuple[int, Node]]) -> Choices:
        found: dict[int, list[Node]] = {}
        for value, node in pairs:
            if node != FALSE:
                found.setdefault(value, []).append(node)
        return {value: self.graph.disj(nodes) for value, nodes in found.items()}

    def members(self, process: int, term: Term, incoming: Mapping[str, object]) -> list[Node]:
        """A set, process by process."""
        match term:
            case AllProcesses():
                return [self.alive(q) for q in self.all]
            case NoProcesses():
                return [FALSE for _ in self.all]
            case Incoming(what):
                return incoming[what]  # type: ignore[return-value]
            case Read(name):
                if name not in self.variables:
                    return [FALSE for _ in self.all]
                return [self.field(process, name, q) for q in self.all]
            case Changed(operation, base, change, many):
                before = self.members(process, base, incoming)
                if many:
                    changed = self.members(process, change, incoming)
                else:
                    who = self.choices(process, change, incoming)
                    changed = [who.get(q, FALSE) for q in self.all]
                graph = self.graph
                if operation == "add":
                    return [graph.disj((b, c)) for b, c in zip(before, changed, strict=True)]
                return [graph.conj((b, graph.neg(c))) for b, c in zip(before, changed, strict=True)]
        raise AssertionError(term)

    def truth(self, process: int, term: Term, incoming: Mapping[str, object]) -> Node:
        graph = self.graph
        match term:
            case Truth(value):
                return TRUE if value else FALSE
            case Contains(base, member):
                inside = self.members(process, base, incoming)
                who = self.choices(process, member, incoming)
                return graph.disj(graph.conj((inside[q], who[q])) for q in self.all if q in who)
            case Full(base):
                return graph.conj(node for q, node in enumerate(self.members(process, base, incoming)) if q != process)
            case Negation(operand):
                return graph.neg(self.truth(process, operand, incoming))
            case Junction(operator, operands):
                found = [self.truth(process, operand, incoming) for operand in operands]
                return graph.conj(found) if operator == "&" else graph.disj(found)
            case Comparison(operator, left, right) if self._is_truth(left):
                same = graph.iff(self.truth(process, left, incoming), self.truth(process, right, incoming))
                return same if operator == "=" else graph.neg(same)
            case Comparison(operator, left, right):
                return graph.disj(
                    graph.conj((x, y))
                    for a, x in self.choices(process, left, incoming).items()
                    for b, y in self.choices(process, right, incoming).items()
                    if compare(operator, a, b)
                )
        raise AssertionError(term)

    def _is_truth(self, expression: Expression) -> bool:
        return isinstance(expression, Truth | Negation | Junction | Comparison)

    # -- what a path does ------------------------------------------------------------------------------------------

    def taken(self, process: int, path: Path, incoming: Mapping[str, object]) -> Node:
        """Can a process take a path?"""
        tests = [self.at(process, path.source)]
        tests += [self.truth(process, term, incoming) for term in path.guard]
        return self.graph.conj(tests)

    def effects(self, process: int, path: Path, incoming: Mapping[str, object]) -> dict[int, Node]:
        """The new values of the fields that a path changes."""
        place, found = self.instance.place, {}
        if path.target != path.source:
            found[place[process, "", None]] = self.graph.const(self.instance.number[path.target])
        for name, term in path.updates.items():
            if name not in self.variables:
                continue
            if self.variables[name].kind == "set":
                for other, node in enumerate(self.members(process, term, incoming)):
                    found[place[process, name, other]] = node
                continue
            low = UNDEFINED if self.variables[name].kind == "id" else self.instance.ranges[name][0]
            if isinstance(term, Read) and term.name in self.variables and self._same_range(name, term.name):
                found[place[process, name, None]] = self.field(process, term.name)
                continue
            *others, (last, _) = self.choices(process, term, incoming).items()
            node = self.graph.const(last - low)
            for value, condition in others:
                node = self.graph.choose(condition, self.graph.const(value - low), node)
            found[place[process, name, None]] = node
        return found

    def _same_range(self, left: str, right: str) -> bool:
        return self.instance.ranges.get(left) == self.instance.ranges.get(right)

    def merge(self, effects: Sequence[tuple[Node, Mapping[int, Node]]]) -> dict[int, Node]:
        """New values of fields under conditions of which at most one holds."""
        found: dict[int, Node] = {}
        for condition, changes in effects:
            for index, value in changes.items():
                before = found.get(index, self.graph.field(index))
                choose = self.graph.choose_truth if self.instance.sizes[index] == 2 else self.graph.choose
                found[index] = choose(condition, value, before)
        return found

    def crash(self, who: Sequence[int]) -> dict[int, Node]:
        """New values where some processes crash."""
        place, graph, found = self.instance.place, self.graph, {}
        for process in who:
            found[place[process, "", None]] = graph.const(self.instance.dead)
            for variable in self.variables.values():
                if variable.kind == "set":
                    found |= {place[process, variable.name, q]: FALSE for q in self.all}
                    if variable.name not in self.steps.lasting_sets:
                        found |= {place[q, variable.name, process]: FALSE for q in self.all}
                elif variable.kind == "id":
                    found[place[process, variable.name, None]] = graph.const(0)
                else:
                    low = self.instance.ranges[variable.name][0]
                    first = constant(variable.initial, self.instance.processes) - low
                    found[place[process, variable.name, None]] = graph.const(first)
        return found

    # -- rules -----------------------------------------------------------------------------------------------------

    def rule(
        self,
        name: str,
        guard: Sequence[Node],
        updates: Mapping[int, Node],
        choices: Sequence[int] = (),
        enabled: Node | None = None,
    ) -> None:
        whole = self.graph.conj(guard)
        if whole == FALSE:
            return
        self.rules.append(Rule(name, (), tuple(choices), self.graph.conjuncts(whole), tuple(sorted(updates.items()))))
        if name != "crash":
            self.enabled.append(whole if enabled is None else enabled)

    def reactions(
        self, process: int, paths: Sequence[Path], incoming: Mapping[str, object], choices: list[int]
    ) -> tuple[Node, Node, list[tuple[Node, Mapping[int, Node]]]]:
        """How a process takes one of some paths: the condition, the same whatever is chosen, and what it does."""
        alternatives = max((path.alternative for path in paths), default=0) + 1
        pick = None
        if alternatives > 1:
            pick = self.graph.choice(len(choices))
            choices.append(alternatives)
        effects: list[tuple[Node, Mapping[int, Node]]] = []
        anyhow = []
        for path in paths:
            condition = self.taken(process, path, incoming)
            if condition == FALSE:
                continue
            anyhow.append(condition)
            if pick is not None:
                condition = self.graph.conj((condition, self.graph.equal(pick, self.graph.const(path.alternative))))
            effects.append((condition, self.effects(process, path, incoming)))
        return self.graph.disj(c for c, _ in effects), self.graph.disj(anyhow), effects

    def receptions(
        self, process: int, action: str, incoming: Mapping[str, object], choices: list[int]
    ) -> tuple[Node, Node, list[tuple[Node, Mapping[int, Node]]]]:
        """How a process receives a message."""
        return self.reactions(process, self.steps.of("receive", action), incoming, choices)

    def broadcast(
        self, name: str, action: str, sender: int | None, guard: list[Node], own: Mapping[int, Node], payload: Choices
    ) -> None:
        choices: list[int] = []
        tests, anyhow, effects = list(guard), list(guard), []
        incoming = {"payload": payload, "sender": {sender: TRUE}}
        for process in self.all:
            if process == sender:
                continue
            receives, can, changes = self.receptions(process, action, incoming, choices)
            gone = self.at(process, None)
            tests.append(self.graph.disj((gone, receives)))
            anyhow.append(self.graph.disj((gone, can)))
            effects += changes
        updates = {**self.merge(effects), **own}
        self.rule(name, tests, updates, choices, self.graph.conj(anyhow))

    def system(self) -> System:
        graph, instance = self.graph, self.instance
        for process in self.all:
            self._own(process)
            crashing = [point for point in instance.points if point.location in self.model.crashing]
            if crashing:
                condition = graph.disj(self.at(process, point) for point in crashing)
                self.rule("crash", [condition], self.crash([process]))
        self._environment()
        for name, event in self.steps.agreements.items():
            if isinstance(event, Partition):
                self._partition(name, event)
            else:
                self._consensus(name)
        properties = [(item.name, self.specification(item.specification)) for item in self.model.safety]
        if instance.deadlock:
            someone = graph.disj(self.alive(process) for process in self.all)
            properties.append(("no deadlock", graph.disj((graph.neg(someone), *self.enabled))))
        initial = Rule("", (), (), (), tuple(self._initial()))
        identity = Permutation(tuple(range(len(instance.sizes))), tuple(tuple(range(size)) for size in instance.sizes))
        blocks, peers, why_not = self._symmetry()
        return System(
            graph,
            instance.sizes,
            (),
            ((),),
            (initial,),
            tuple(self.rules),
            tuple(properties),
            None if why_not else ((identity,),),
            blocks,
            peers,
            why_not,
        )

    def _initial(self) -> Iterator[tuple[int, Node]]:
        for (_, name, _), index in self.instance.place.items():
            if name in self.variables and self.variables[name].kind == "int":
                first = constant(self.variables[name].initial, self.instance.processes)
                yield index, self.graph.const(first - self.instance.ranges[name][0])
            else:
                yield index, self.graph.const(0)

    def _own(self, process: int) -> None:
        """Steps that a process begins: internal ones and sends."""
        for path in self.steps.of("internal"):
            self.rule(path.source.location, [self.taken(process, path, {})], self.effects(process, path, {}))
        for path in self.steps.of("send"):
            action = self.model.action(path.event)
            guard, own = [self.taken(process, path, {})], self.effects(process, path, {})
            payload = {} if path.payload is None else self.choices(process, path.payload, {})
            if action.environment:
                self.rule(action.name, guard, own)
            elif action.broadcast:
                self.broadcast(action.name, action.name, process, guard, own, payload)
            else:
                target = None if path.receiver is None else self.choices(process, path.receiver, {})
                for other in self.all:
                    if other == process or (target is not None and other not in target):
                        continue
                    incoming = {"payload": payload, "sender": {process: TRUE}}
                    choices: list[int] = []
                    receives, can, effects = self.receptions(other, action.name, incoming, choices)
                    tests = guard if target is None else [*guard, target[other]]
                    updates = {**self.merge(effects), **own}
                    self.rule(action.name, [*tests, receives], updates, choices, self.graph.conj([*tests, can]))

    def _environment(self) -> None:
        for action in self.model.actions:
            if not action.environment:
                continue
            payloads: list[Choices] = [{}]
            if action.bounds is not None:
                low, high = (constant(bound, self.instance.processes) for bound in action.bounds)
                payloads = [{value: TRUE} for value in range(low, high + 1)]
            for payload in payloads:
                if action.broadcast:
                    someone = self.graph.disj(self.alive(process) for process in self.all)
                    self.broadcast(action.name, action.name, None, [someone], {}, payload)
                    continue
                for process in self.all:
                    choices: list[int] = []
                    incoming = {"payload": payload, "sender": {}}
                    receives, can, effects = self.receptions(process, action.name, incoming, choices)
                    self.rule(action.name, [receives], self.merge(effects), choices, can)

    def ready(self, process: int, name: str, participants: Sequence[Node]) -> Node:
        """Does a process wait for an agreement among exactly these?"""
        graph, found = self.graph, []
        for location, event in self.steps.participants(name).items():
            mine = self.members(process, event.participants, {})
            same = [graph.iff(a, b) for a, b in zip(mine, participants, strict=True)]
            found.append(graph.conj([self.at(process, Point(location)), *same]))
        return graph.disj(found)

    def gathered(self, first: int, name: str) -> Iterator[tuple[Node, list[Node], Partition | Consensus]]:
        """For each location of one participant: the condition that all participants wait, and who they are."""
        for location, event in self.steps.participants(name).items():
            who = self.members(first, event.participants, {})
            tests = [self.at(first, Point(location)), who[first]]
            for process in self.all:
                ready = self.ready(process, name, who) if process != first else TRUE
                tests.append(self.graph.disj((self.graph.neg(who[process]), ready)))
            yield self.graph.conj(tests), who, event

    def _partition(self, name: str, partition: Partition) -> None:
        graph = self.graph
        for number in range(1, min(partition.winners, self.instance.processes) + 1):
            for winners in combinations(self.all, number):
                won = [TRUE if q in winners else FALSE for q in self.all]
                for condition, who, _ in self.gathered(winners[0], name):
                    tests = [condition, *(who[q] for q in winners)]
                    if number < partition.winners:
                        tests += [graph.neg(who[q]) for q in self.all if q not in winners]
                    lost = [graph.conj((who[q], graph.neg(won[q]))) for q in self.all]
                    incoming = {"winners": won, "losers": lost}
                    effects = []
                    choices: list[int] = []
                    enabled = graph.conj(tests)
                    for process in self.all:
                        paths = self.steps.of("win" if process in winners else "lose", name)
                        able, _, changes = self.reactions(process, paths, incoming, choices)
                        tests.append(graph.disj((graph.neg(who[process]), able)))
                        effects += [(graph.conj((who[process], taken)), change) for taken, change in changes]
                    self.rule(name, tests, self.merge(effects), choices, enabled)

    def _consensus(self, name: str) -> None:
        graph = self.graph
        paths = self.steps.of("decide", name)
        crashing = self.model.crashing
        risky = [p for p in paths if p.source.location in crashing and p.target.location not in crashing]
        most = (self.instance.processes - 1) // 2 if risky else 0
        for proposer in self.all:
            for condition, who, event in self.gathered(proposer, name):
                assert isinstance(event, Consensus)
                if event.proposal is None:
                    continue
                incoming = {"decided": self.choices(proposer, Read(event.proposal), {})}
                effects = []
                choices: list[int] = []
                everyone = []
                for process in self.all:
                    able, _, changes = self.reactions(process, paths, incoming, choices)
                    everyone.append(graph.disj((graph.neg(who[process]), able)))
                    effects += [(graph.conj((who[process], taken)), change) for taken, change in changes]
                updates = self.merge(effects)
                for number in range(most + 1):
                    enough = self.at_least(2 * number + 1, who)
                    for lost in combinations(self.all, number):
                        tests = [condition, enough, *(who[q] for q in lost)]
                        tests += [graph.disj(self.taken(q, path, incoming) for path in risky) for q in lost]
                        enabled = graph.conj(tests)
                        self.rule(name, [*tests, *everyone], {**updates, **self.crash(lost)}, choices, enabled)

    # -- properties and symmetry -----------------------------------------------------------------------------------

    def at_least(self, number: int, nodes: Sequence[Node]) -> Node:
        """Do at least so many of some conditions hold?"""
        graph = self.graph
        counts: list[Node] = [TRUE] + [FALSE] * number
        for node in nodes:
            counts = [TRUE] + [graph.disj((counts[i], graph.conj((counts[i - 1], node)))) for i in range(1, number + 1)]
        return counts[number]

    def specification(self, item: Specification) -> Node:
        if isinstance(item, Count):
            described = [self._described(item, process) for process in self.all]
            if item.most:
                return self.graph.neg(self.at_least(item.number + 1, described))
            return self.at_least(item.number, described)
        assert isinstance(item, Combination)
        found = [self.specification(operand) for operand in item.operands]
        if item.operator == "!":
            return self.graph.neg(found[0])
        return self.graph.conj(found) if item.operator == "&" else self.graph.disj(found)

    def _described(self, item: Count, process: int) -> Node:
        found = []
        for descriptor in item.descriptors:
            there = self.graph.disj(
                self.at(process, point) for point in self.instance.points if point.location == descriptor.location
            )
            holds = TRUE
            if descriptor.predicate is not None and self._known(descriptor.predicate):
                holds = self.truth(process, descriptor.predicate, {})
            found.append(self.graph.conj((there, holds)))
        return self.graph.disj(found)

    def _known(self, predicate: Expression) -> bool:
        """Does a predicate speak of what the steps have as variables?  One that does not is taken to hold."""
        return all(leaf.name in self.variables for leaf in leaves(predicate) if isinstance(leaf, Read))

    def _symmetry(self) -> tuple[tuple[Block, ...], Peers | None, str]:
        """Processes are alike: sorted where no state speaks of them, else brought into order as peers."""
        place, variables = self.instance.place, self.variables.values()
        if all(variable.kind == "int" for variable in variables):
            fields = (tuple(place[key] for key in place if key[0] == process) for process in self.all)
            return (tuple(fields),), None, ""
        kinds = {kind: [v.name for v in variables if v.kind == kind] for kind in ("int", "id", "set")}
        peers = Peers(
            own=tuple(tuple(place[p, name, None] for name in ("", *kinds["int"])) for p in self.all),
            names=tuple(tuple(place[p, name, None] for name in kinds["id"]) for p in self.all),
            about=tuple(tuple(tuple(place[p, name, q] for name in kinds["set"]) for q in self.all) for p in self.all),
        )
        return (), *((None, peers.too_large) if peers.too_large else (peers, ""))
