"""What the declarations of a `*.rounds` file mean: names are looked up, kinds are checked, and the model is put together.

Every problem is reported with its place; a part that is wrong is left out, so that the rest is still checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath

from quorate.lang.diagnostics import Sink
from quorate.lang.expectations import expectations
from quorate.lang.rounds.grammar import Declaration, parse
from quorate.logic.transform import fresh_name
from quorate.models import rounds as r
from quorate.models.rounds import Kind, Node, RoundModel
from quorate.models.source import Source, Span

COMPARABLE: dict[Kind, str] = {
    "value": "a value",
    "optional": "a value",
    "time": "a time",
    "number": "a number",
    "bool": "a truth value",
    "set": "a set of values",
    "process": "a process",
    "tag": "a tag",
}


class Wrong(Exception):
    """Raised after a problem was reported, to leave out what it makes meaningless."""


@dataclass(frozen=True)
class Scope:
    """What can be named: bound names, the kinds of the parts of messages (None outside rounds), whose variables are bare."""

    bound: dict[str, tuple[str, Kind]]
    """What a bound name is called in the model, and its kind: inside another `forall p`, `forall p` binds `p_1`."""
    message: tuple[Kind, ...] | None = None
    acting: bool = False
    """Is there a process that acts, so that its variables can be named without saying whose they are?"""
    heard: int = 0
    """Up to which round heard-of sets can be spoken of."""
    choosing: bool = False
    """Can something be picked from the messages here?"""
    timeless: bool = False
    """Is there no state to speak of: neither variables nor the number of the phase?"""

    def bind(self, names: Mapping[str, Kind]) -> Scope:
        """The scope behind a pattern: what it binds is new."""
        return replace(self, bound={**self.bound, **{name: (name, kind) for name, kind in names.items()}})

    def bind_processes(self, names: Sequence[str]) -> tuple[tuple[str, ...], Scope]:
        """Names of processes that a quantifier binds, as they are called in the model, and the scope inside."""
        bound = dict(self.bound)
        taken = {name for name, _ in bound.values()}
        for name in names:
            called = fresh_name(name, taken.__contains__)
            taken.add(called)
            bound[name] = (called, "process")
        return tuple(bound[name][0] for name in names), replace(self, bound=bound)


NOWHERE = Scope({}, timeless=True)
NO_STATE = (
    "`safe`, `sync` and declarations of numbers speak of processes, coordinators and heard-of sets, not of states"
)


class Elaborator:
    """Looks up names; keeps what has been declared so far."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.parameters: dict[str, Span] = {}
        self.tags: dict[str, Span] = {}
        self.variables: dict[str, r.Variable] = {}
        self.shared: dict[str, r.Variable] = {}

    def wrong(self, code: str, message: str, span: Span | None, fix: str | None = None) -> Wrong:
        assert span is not None
        self.sink.error(code, message, span, fix=fix)
        return Wrong()

    def known(self) -> dict[str, Kind]:
        found: dict[str, Kind] = dict.fromkeys(self.parameters, "number")
        found.update(dict.fromkeys(self.tags, "tag"))
        found.update({item.name: item.kind for item in (*self.variables.values(), *self.shared.values())})
        return found

    def declare(self, name: str, span: Span) -> None:
        for before in (self.parameters, self.tags):
            if name in before:
                raise self.wrong("Q0205", f"`{name}` is declared twice", span)
        if name in self.variables or name in self.shared:
            raise self.wrong("Q0205", f"`{name}` is declared twice", span)

    # -- expressions -----------------------------------------------------------------------------------------------

    def typed(self, node: Node, scope: Scope) -> tuple[Node, Kind]:
        """The node with its names looked up, and its kind."""
        match node:
            case r.Number():
                return node, "number"
            case r.Truth():
                return node, "bool"
            case r.Nothing():
                return node, "optional"
            case r.Phase():
                if scope.timeless:
                    raise self.wrong("Q0502", NO_STATE, node.span)
                return node, "time"
            case r.Myself():
                if not scope.acting:
                    raise self.wrong("Q0201", "`self` is known in rounds only", node.span)
                return node, "process"
            case r.Coordinator(None):
                if not scope.acting:
                    fix = "write `coordinator(p)`"
                    raise self.wrong("Q0201", "it is not said whose coordinator this is", node.span, fix)
                return node, "process"
            case r.Coordinator(of):
                assert of is not None
                if scope.acting:
                    raise self.wrong("Q0502", "a process knows its own coordinator only", node.span)
                if not scope.heard:
                    raise self.wrong("Q0502", "coordinators belong into `safe` and `sync`", node.span)
                return replace(node, of=self.of_kind(of, "process", scope)), "process"
            case r.Parameter():
                return node, "number"
            case r.Local():
                return self.name(node, scope)
            case r.VariableOf():
                return self.variable_of(node, scope)
            case r.Operation():
                return self.operation(node, scope)
            case r.Quantified(_, names, body):
                if scope.acting:
                    raise self.wrong("Q0502", "a process knows the messages it received, not all processes", node.span)
                twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
                if twice is not None:
                    raise self.wrong("Q0205", f"`{twice}` is bound twice by one quantifier", node.span)
                names, inner = scope.bind_processes(names)
                return replace(node, names=names, body=self.of_kind(body, "bool", inner)), "bool"
            case r.Counting(name, body):
                if scope.acting:
                    raise self.wrong("Q0502", "a process knows the messages it received, not all processes", node.span)
                (name,), inner = scope.bind_processes((name,))
                return replace(node, name=name, body=self.of_kind(body, "bool", inner)), "number"
            case r.Count(pattern):
                pattern, bound = self.pattern(pattern, scope)
                if bound:
                    name = next(iter(bound))
                    raise self.unknown(name, pattern.span, scope, "; write `_` for anything")
                return replace(node, pattern=pattern), "number"
            case r.Choice():
                if not scope.choosing:
                    fix = "assign what is picked to a variable first"
                    raise self.wrong("Q0502", "something can be picked in `:=` and `decide` only", node.span, fix)
                return self.choice(node, scope)
            case r.Received() | r.AllReceived():
                return self.condition(node, scope)[0], "bool"
            case r.Member(element, group):
                found = self.of_kind(element, "process", scope)
                return replace(node, element=found, group=self.heard(group, scope)), "bool"
            case r.Size(group):
                return replace(node, group=self.heard(group, scope)), "number"
            case r.Related(_, left, right):
                return replace(node, left=self.heard(left, scope), right=self.heard(right, scope)), "bool"
            case r.HeardOf():
                raise self.wrong(
                    "Q0203", "a heard-of set cannot stand here", node.span, "compare it, or count it with #"
                )
            case r.Anything():
                raise self.wrong("Q0203", "`_` stands for a part of a message that does not matter", node.span)
            case r.Proposal():
                raise self.wrong("Q0203", "`proposal` is an initial value only", node.span)
        raise AssertionError(node)

    def of_kind(self, node: Node, kind: Kind, scope: Scope) -> Node:
        found, actual = self.typed(node, scope)
        if COMPARABLE[actual] != COMPARABLE[kind]:
            raise self.wrong("Q0203", f"this is {COMPARABLE[actual]}, but {COMPARABLE[kind]} is needed", node.span)
        return found

    def unknown(self, name: str, span: Span | None, scope: Scope, remark: str = "") -> Wrong:
        near = get_close_matches(name, [*self.known(), *scope.bound], 1)
        fix = f"did you mean `{near[0]}`?" if near else None
        return self.wrong("Q0201", f"there is nothing called `{name}`{remark}", span, fix)

    def name(self, node: r.Local, scope: Scope) -> tuple[Node, Kind]:
        name = node.name
        if name in scope.bound:
            called, kind = scope.bound[name]
            return r.Bound(called, span=node.span), kind
        if name in self.parameters:
            return r.Parameter(name, span=node.span), "number"
        if name in self.tags:
            return r.Tag(name, span=node.span), "tag"
        if scope.timeless and (name in self.shared or name in self.variables):
            raise self.wrong("Q0502", NO_STATE, node.span)
        if name in self.shared:
            return node, self.shared[name].kind
        if name in self.variables:
            if not scope.acting:
                raise self.wrong("Q0201", f"it is not said whose `{name}` this is", node.span, f"write `{name}(p)`")
            return node, self.variables[name].kind
        raise self.unknown(name, node.span, scope)

    def variable_of(self, node: r.VariableOf, scope: Scope) -> tuple[Node, Kind]:
        if scope.acting:
            raise self.wrong("Q0502", "a process knows its own variables only", node.span)
        if scope.timeless:
            raise self.wrong("Q0502", NO_STATE, node.span)
        process = self.of_kind(node.process, "process", scope)
        if node.name == "decision":
            return replace(node, process=process), "optional"
        if node.name not in self.variables:
            raise self.unknown(node.name, node.span, scope)
        return replace(node, process=process), self.variables[node.name].kind

    def heard(self, node: r.HeardOf, scope: Scope) -> r.HeardOf:
        if not 1 <= node.round <= scope.heard:
            message = (
                f"rounds are counted from 1 to {scope.heard} here"
                if scope.heard
                else "heard-of sets belong into `safe` and `sync`"
            )
            raise self.wrong("Q0502", message, node.span)
        if node.process is None:
            return node
        return replace(node, process=self.of_kind(node.process, "process", scope))

    def operation(self, node: r.Operation, scope: Scope) -> tuple[Node, Kind]:
        operator = node.operator
        if operator in ("and", "or", "not", "->"):
            return self.rebuilt(node, [self.of_kind(item, "bool", scope) for item in node.operands]), "bool"
        if operator in ("smallest", "largest", "size"):
            kind: Kind = "number" if operator == "size" else "optional"
            return self.rebuilt(node, [self.of_kind(node.operands[0], "set", scope)]), kind
        if operator == "singleton":
            return self.rebuilt(node, [self.of_kind(node.operands[0], "value", scope)]), "set"
        if operator == "in":
            element = self.of_kind(node.operands[0], "value", scope)
            return self.rebuilt(node, [element, self.of_kind(node.operands[1], "set", scope)]), "bool"
        pairs = [self.typed(item, scope) for item in node.operands]
        kinds = [kind for _, kind in pairs]
        if operator in ("+", "-", "*", "/", "max", "min"):
            if operator == "+" and kinds == ["set", "set"]:
                return replace(node, operator="union", operands=tuple(item for item, _ in pairs)), "set"
            for (_, kind), item in zip(pairs, node.operands, strict=True):
                if kind != "number":
                    fix = "times are only compared; that keeps runs of any length checkable" if kind == "time" else None
                    raise self.wrong("Q0203", f"this is {COMPARABLE[kind]}, but a number is needed", item.span, fix)
            self.linear(node, [item for item, _ in pairs])
            return self.rebuilt(node, [item for item, _ in pairs]), "number"
        self.comparable(node, pairs)
        return self.rebuilt(node, [item for item, _ in pairs]), "bool"

    def linear(self, node: r.Operation, operands: list[Node]) -> None:
        constant = [isinstance(item, r.Number) for item in operands]
        if node.operator == "*" and not any(constant):
            raise self.wrong("Q0502", "one of the factors has to be a number, so that bounds are linear", node.span)
        if node.operator == "/" and not (isinstance(operands[1], r.Number) and operands[1].value > 0):
            raise self.wrong("Q0502", "one can divide by a positive number only", node.span)

    def comparable(self, node: r.Operation, pairs: list[tuple[Node, Kind]]) -> None:
        (left, first), (right, second) = pairs
        ordered = node.operator not in ("=", "!=")
        if {first, second} == {"time", "number"}:
            time, number = (left, right) if first == "time" else (right, left)
            if not isinstance(time, r.Phase) and number != r.Number(0):
                raise self.wrong("Q0502", "a time can be compared with times, `phase` and 0", node.span)
        elif COMPARABLE[first] != COMPARABLE[second]:
            raise self.wrong("Q0203", f"{COMPARABLE[first]} is compared with {COMPARABLE[second]}", node.span)
        if ordered and first not in ("time", "number", "value", "optional"):
            raise self.wrong("Q0203", f"there is no order between {COMPARABLE[first].removeprefix('a ')}s", node.span)

    @staticmethod
    def rebuilt(node: r.Operation, operands: list[Node]) -> Node:
        return replace(node, operands=tuple(operands))

    # -- messages --------------------------------------------------------------------------------------------------

    def pattern(self, node: r.Pattern, scope: Scope) -> tuple[r.Pattern, dict[str, Kind]]:
        """The pattern, and the names that it binds; a name that is not known yet is being bound."""
        if scope.message is None:
            raise self.wrong(
                "Q0501", "no messages are received here", node.span, "the round has to send something first"
            )
        if len(node.items) != len(scope.message):
            count = len(scope.message)
            text = f"the messages of this round have {count} part{'s' * (count != 1)}, not {len(node.items)}"
            raise self.wrong("Q0501", text, node.span)
        items: list[Node] = []
        bound: dict[str, Kind] = {}
        known = self.known()
        compared = replace(scope, choosing=False)
        for item, kind in zip(node.items, scope.message, strict=True):
            if isinstance(item, r.Anything):
                items.append(item)
            elif isinstance(item, r.Local) and item.name not in known and item.name not in scope.bound:
                if item.name in bound:
                    raise self.wrong("Q0205", f"`{item.name}` stands twice in one message", item.span)
                bound[item.name] = kind
                items.append(r.Bind(item.name, span=item.span))
            elif kind == "time" and item == r.Number(0):
                items.append(item)
            else:
                items.append(self.of_kind(item, kind, compared))
        return replace(node, items=tuple(items)), bound

    def choice(self, node: r.Choice, scope: Scope) -> tuple[Node, Kind]:
        pattern, bound = self.pattern(node.pattern, scope)
        if node.name not in bound:
            raise self.wrong("Q0501", f"`{node.name}` does not stand for a part of the message", node.span)
        kind = bound[node.name]
        wanted: Kind = "set" if node.pick == "union" else "value"
        if COMPARABLE[kind] != COMPARABLE[wanted]:
            raise self.wrong("Q0203", f"this is {COMPARABLE[kind]}, but {COMPARABLE[wanted]} is needed", node.span)
        if node.extreme and bound.get(node.extreme[1]) not in ("time", "value", "optional"):
            raise self.wrong("Q0203", f"`{node.extreme[1]}` is no time or value of the message", node.span)
        if node.extreme and node.pick != "one":
            raise self.wrong("Q0502", "only `one` can be picked `with largest` or `with smallest`", node.span)
        where = self.of_kind(node.where, "bool", replace(scope.bind(bound), choosing=False))
        return replace(node, pattern=pattern, where=where), "set" if node.pick == "union" else "optional"

    def condition(self, node: Node, scope: Scope) -> tuple[Node, Scope]:
        """A condition, and what is known where it holds."""
        if isinstance(node, r.Operation) and node.operator == "and":
            parts = []
            for operand in node.operands:
                part, scope = self.condition(operand, scope)
                parts.append(part)
            return replace(node, operands=tuple(parts)), scope
        if isinstance(node, r.Received):
            pattern, bound = self.pattern(node.pattern, scope)
            inner = scope.bind(bound)
            where = self.of_kind(node.where, "bool", replace(inner, choosing=False))
            return replace(node, pattern=pattern, where=where), inner
        if isinstance(node, r.AllReceived):
            pattern, bound = self.pattern(node.pattern, scope)
            return replace(node, pattern=pattern), scope.bind(bound)
        return self.of_kind(node, "bool", scope), scope

    # -- statements ------------------------------------------------------------------------------------------------

    def statements(self, nodes: tuple[Node, ...], scope: Scope) -> tuple[Node, ...]:
        found = []
        for node in nodes:
            try:
                found.append(self.statement(node, scope))
            except Wrong:
                continue
        return tuple(found)

    def statement(self, node: Node, scope: Scope) -> Node:
        match node:
            case r.Assign(name, value):
                target = self.variables.get(name) or self.shared.get(name)
                if target is None:
                    raise self.unknown(name, node.span, scope)
                if target.kind == "time" and value == r.Number(0):
                    return node
                return replace(node, value=self.of_kind(value, target.kind, replace(scope, choosing=True)))
            case r.Decide(value):
                return replace(node, value=self.of_kind(value, "value", replace(scope, choosing=True)))
            case r.If(condition, then, otherwise):
                try:
                    found, inner = self.condition(condition, scope)
                except Wrong:
                    return node
                return replace(
                    node,
                    condition=found,
                    then=self.statements(then, inner),
                    otherwise=self.statements(otherwise, scope),
                )
        raise AssertionError(node)

    def round(self, item: r.Round, shared: bool) -> r.Round:
        scope = Scope({}, None, True)
        send = item.send
        if send is not None:
            if shared:
                self.wrong("Q0503", "a step acts on shared variables; only rounds send", send.span)
            condition = self.of_kind(send.condition, "bool", scope)
            parts = [self.typed(part, scope) for part in send.items]
            send = replace(send, items=tuple(part for part, _ in parts), condition=condition)
            scope = replace(scope, message=tuple(kind for _, kind in parts))
        found = replace(item, send=send, body=self.statements(item.body, scope))
        for node in found.walk() if shared else ():
            if isinstance(node, r.Coordinator | r.Phase):
                self.wrong("Q0503", "steps have no coordinators and no phases; rounds do", node.span)
        return found


def read(source: Source, sink: Sink) -> RoundModel | None:
    """The model of a text, or None if it has errors."""
    return _Assembly(source, sink, parse(source, sink)).model()


class _Assembly:
    """Puts the declarations of a file together."""

    def __init__(self, source: Source, sink: Sink, declarations: list[Declaration]) -> None:
        self.source = source
        self.sink = sink
        self.declarations = declarations
        self.elaborator = Elaborator(sink)

    def each(self, *words: str) -> list[Declaration]:
        return [item for item in self.declarations if item.word in words]

    def single(self, word: str) -> Declaration | None:
        found = self.each(word)
        for extra in found[1:]:
            self.sink.error("Q0205", f"there can be only one `{word}`", extra.span)
        return found[0] if found else None

    def model(self) -> RoundModel | None:
        parameters = self.parameters()
        tags = self.tags()
        self.variables("state", self.elaborator.variables)
        self.variables("shared", self.elaborator.shared)
        rounds, steps = self.acting("round", False), self.acting("step", True)
        if bool(rounds) == bool(steps) and not self.sink.failed:
            text = "an algorithm consists of rounds or of steps, not of both" if rounds else "there is no round"
            self.sink.error("Q0503", text, Span(self.source, 0, 0))
        phases = self.number("phases")
        safe = self.formula(self.single("safe"), replace(NOWHERE, heard=len(rounds))) or r.Truth(True)
        sync = self.formula(self.single("sync"), replace(NOWHERE, heard=4 * len(rounds)))
        self.consistent(bool(steps))
        univalent = self.univalent()
        model = RoundModel(
            name=next((item.name for item in self.each("algorithm")), PurePath(self.source.path).stem),
            parameters=parameters,
            tags=tags,
            variables=tuple(self.elaborator.variables.values()),
            shared=tuple(self.elaborator.shared.values()),
            rounds=rounds,
            steps=steps,
            phases=phases,
            safe=safe,
            sync=sync,
            faults=self.faults(safe),
            safety=self.built_in(sync) + self.named("safety"),
            invariants=self.named("invariant"),
            univalent=univalent,
            expectations=expectations(self.source, self.sink),
            source=self.source,
        )
        self.single("algorithm")
        self.distinct((*model.safety, *model.invariants))
        return None if self.sink.failed else model

    def consistent(self, steps: bool) -> None:
        """Declarations that do not go together: what belongs to rounds beside steps, shared variables beside rounds."""
        if self.sink.failed:
            return
        words = ("phases", "safe", "sync", "faults", "univalent") if steps else ("shared",)
        for item in self.each(*words):
            text = f"`{item.word}` does not go with {'steps' if steps else 'rounds'}"
            self.sink.error("Q0503", f"{text}: an algorithm has rounds, or steps on shared variables", item.span)

    def distinct(self, properties: Sequence[r.Property]) -> None:
        """No two properties or lemmas have the same name."""
        for number, item in enumerate(properties):
            if any(item.name == other.name for other in properties[:number]):
                assert item.span is not None
                self.sink.error("Q0205", f"there are two properties called `{item.name}`", item.span)

    def parameters(self) -> tuple[r.ParameterDeclaration, ...]:
        found = []
        for item in self.each("parameter"):
            try:
                self.elaborator.declare(item.name, item.span)
                self.elaborator.parameters[item.name] = item.span
                default, constraint = item.parts
                assert constraint is not None
                default = self.elaborator.of_kind(default, "number", NOWHERE) if default else None
                constraint = self.elaborator.of_kind(constraint, "bool", NOWHERE)
                found.append(r.ParameterDeclaration(item.name, constraint, default, item.span))
            except Wrong:
                continue
        return tuple(found)

    def tags(self) -> tuple[str, ...]:
        for item in self.each("tag"):
            try:
                self.elaborator.declare(item.name, item.span)
                self.elaborator.tags[item.name] = item.span
            except Wrong:
                continue
        return tuple(self.elaborator.tags)

    def variables(self, word: str, into: dict[str, r.Variable]) -> None:
        for declaration in self.each(word):
            for item in declaration.variables:
                assert item.span is not None
                try:
                    self.elaborator.declare(item.name, item.span)
                    initial = self.initial(item, word == "shared")
                    into[item.name] = replace(item, initial=initial)
                except Wrong:
                    into.setdefault(item.name, replace(item, initial=r.Nothing()))

    def initial(self, item: r.Variable, shared: bool) -> Node:
        node = item.initial
        allowed: dict[Kind, tuple[Node, ...]] = {
            "value": (r.Proposal(),),
            "optional": (r.Proposal(), r.Nothing()),
            "bool": (r.Truth(True), r.Truth(False)),
            "time": (r.Number(0),),
            "set": (r.Operation("singleton", (r.Proposal(),)),),
        }
        if shared:
            allowed = {**allowed, "value": (), "optional": (r.Nothing(),), "set": ()}
        if node not in allowed[item.kind]:
            texts = {"value": "proposal", "optional": "proposal or ?", "bool": "true or false", "time": "0"}
            texts["set"] = "{proposal}"
            wanted = "?" if shared and item.kind == "optional" else texts[item.kind]
            message = f"a {'shared ' * shared}variable of this kind starts as {wanted}"
            if not allowed[item.kind]:
                message = f"`{item.name}` is shared, so it cannot start with what one process proposes"
            raise self.elaborator.wrong("Q0203", message, node.span or item.span)
        return node

    def acting(self, word: str, shared: bool) -> tuple[r.Round, ...]:
        found = []
        for number, item in enumerate(self.each(word), 1):
            assert item.round is not None
            try:
                done = self.elaborator.round(item.round, shared)
                found.append(replace(done, name=item.name or str(number)))
            except Wrong:
                found.append(item.round)
        return tuple(found)

    def formula(self, item: Declaration | None, scope: Scope) -> Node | None:
        if item is None or item.parts[0] is None:
            return None
        try:
            return self.elaborator.of_kind(item.parts[0], "bool", scope)
        except Wrong:
            return None

    def number(self, word: str) -> Node | None:
        item = self.single(word)
        if item is None or item.parts[0] is None:
            return None
        try:
            return self.elaborator.of_kind(item.parts[0], "number", NOWHERE)
        except Wrong:
            return None

    def faults(self, safe: Node) -> r.Faults | None:
        item = self.single("faults")
        if item is None:
            return None
        parts: list[Node | None] = []
        for part in item.parts:
            try:
                parts.append(self.elaborator.of_kind(part, "number", NOWHERE) if part else None)
            except Wrong:
                parts.append(None)
        if item.name == "crashes" and (parts[1] is not None or safe != r.Truth(True)):
            text = "with crashes, who hears whom is settled by who crashes: `safe` and `in … rounds` do not go with it"
            self.sink.error("Q0503", text, item.span)
        return r.Faults(item.name, parts[0], parts[1], item.span)  # type: ignore[arg-type]

    def built_in(self, sync: Node | None) -> tuple[r.Property, ...]:
        found = []
        for item in self.each("property"):
            if item.name not in r.BUILT_IN:
                fix = f"the properties that need no formula are {', '.join(r.BUILT_IN)}"
                self.sink.error("Q0201", f"there is no property `{item.name}`", item.span, fix=fix)
            elif item.name == "termination" and sync is None and not self.each("faults"):
                text = "`termination` needs to know when: give a `sync` predicate, or `faults` with `phases`"
                self.sink.error("Q0503", text, item.span)
            found.append(r.Property(item.name, None, item.span))
        return tuple(found)

    def named(self, word: str) -> tuple[r.Property, ...]:
        found = []
        for number, item in enumerate(self.each(word), 1):
            formula = self.formula(item, Scope({}))
            if formula is not None:
                found.append(r.Property(item.name or f"{word}{number}", formula, item.span))
        return tuple(found)

    def univalent(self) -> tuple[str, Node] | None:
        item = self.single("univalent")
        if item is None:
            return None
        formula = self.formula(item, Scope({item.name: (item.name, "value")}))
        return (item.name, formula) if formula is not None else None
