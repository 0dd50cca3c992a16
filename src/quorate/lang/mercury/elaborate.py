"""Names and types of Mercury: declarations to a `ProcessModel`, with a diagnostic for whatever does not fit.

Follows the rules of QuickSilver (Jaber et al., OOPSLA 2021, Figures 2 and 3).  Read `models/process` beside this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal as OneOf

from quorate.lang.diagnostics import Diagnostic, Sink
from quorate.lang.expectations import expectations
from quorate.lang.mercury import grammar
from quorate.lang.mercury.grammar import SET_OPERATIONS, CountSyntax, Program
from quorate.lang.mercury.printer import print_specification
from quorate.lang.reader import Expression as Surface
from quorate.lang.reader import Literal, Operation, Reference, Token
from quorate.models.process import (
    Action,
    AllProcesses,
    Arithmetic,
    Assign,
    Combination,
    Comparison,
    Consensus,
    Count,
    Descriptor,
    Event,
    Expression,
    Goto,
    Handler,
    If,
    Internal,
    Junction,
    Location,
    Negation,
    NoProcesses,
    Number,
    Partition,
    ProcessCount,
    ProcessModel,
    Property,
    Read,
    Receive,
    Self,
    Send,
    SetUpdate,
    Specification,
    Statement,
    Truth,
    Variable,
    constant,
    parts,
    statements_of,
)
from quorate.models.source import Source, Span

Type = OneOf["int", "id", "set", "bool"]
SHOWN = {"int": "an integer", "id": "a process", "set": "a set of processes", "bool": "a truth value"}
LARGEST_RANGE = 200
"""How many values an integer may have: a state keeps each in a byte."""


def read(source: Source, sink: Sink) -> ProcessModel | None:
    """The program of a text, or None if there are errors; all of them are in the sink."""
    program = grammar.parse(source, sink)
    if program is None or sink.failed:
        return None
    model = _Elaboration(program, source, sink).model()
    return None if sink.failed else model


class _Problem(Exception):
    """Raised after an error was reported, to give up on one expression or statement."""


class _Elaboration:
    def __init__(self, program: Program, source: Source, sink: Sink) -> None:
        self.program, self.source, self.sink = program, source, sink
        self.variables: dict[str, Variable] = {}
        self.actions: dict[str, Action] = {}
        self.locations: dict[str, Token] = {}
        self.agreements: dict[str, tuple[str, int, Span]] = {}
        """Name of an agreement: partition or consensus, how many winners, and where it stands first."""
        self.bounds_only = False

    def model(self) -> ProcessModel | None:
        program = self.program
        self._declare()
        locations = [self._location(item) for item in program.locations]
        for name in (*program.crash_locations,):
            self._known_location(name)
        for name in program.crash_actions:
            if name.text not in self.actions and name.text not in self.agreements:
                self.sink.error("Q0401", f"there is no action or agreement `{name.text}`", name.span)
        safety = self._properties()
        self._proposals()
        if self.sink.failed:
            return None
        first = [i for i, item in enumerate(program.locations) if item.initial]
        order = first + [i for i in range(len(locations)) if i not in first]
        found = ProcessModel(
            program.name.text,
            tuple(self.variables.values()),
            tuple(self.actions.values()),
            tuple(locations[i] for i in order),
            tuple(safety),
            tuple(dict.fromkeys(name.text for name in program.crash_locations)),
            tuple(dict.fromkeys(name.text for name in program.crash_actions)),
            expectations(self.source, self.sink),
            self.source,
        )
        self._warn(found)
        return found

    # -- declarations ----------------------------------------------------------------------------------------------

    def _declare(self) -> None:
        program = self.program
        seen: dict[str, Span] = {}

        def once(name: Token) -> None:
            if name.text == "N":
                self.sink.error("Q0205", "`N` is the number of processes", name.span, fix="take another name")
            elif name.text in seen:
                related = ((seen[name.text], "first declared here"),)
                self.sink.report(Diagnostic("Q0205", f"`{name.text}` is declared twice", name.span, related=related))
            seen.setdefault(name.text, name.span)

        for item in program.variables:
            once(item.name)
            if item.bounds is None:
                kind: OneOf["id", "set"] = "id" if item.kind == "id" else "set"
                if item.initial is not None:
                    self.sink.error("Q0203", f"{SHOWN[kind]} cannot be given a first value", item.initial.span)
                self.variables[item.name.text] = Variable(item.name.text, kind, span=item.name.span)
                continue
            low, high = self._range(item.bounds)
            initial = low if item.initial is None else self._bound(item.initial)
            if not _holds(low, initial, high) and item.initial is not None:
                self.sink.error("Q0404", f"the first value of `{item.name.text}` is out of range", item.initial.span)
            self.variables[item.name.text] = Variable(item.name.text, "int", low, high, initial, item.name.span)
        for action in program.actions:
            once(action.name)
            bounds = self._range(action.bounds) if action.bounds else None
            self.actions[action.name.text] = Action(
                action.name.text, action.broadcast, action.environment, bounds, action.name.span
            )
        for location in program.locations:
            once(location.name)
            self.locations[location.name.text] = location.name
            for handler in location.handlers:
                self._agreement(handler.event, seen)
        initial_ones = [item for item in program.locations if item.initial]
        if not program.locations:
            self.sink.error("Q0402", "the program has no location", program.name.span)
        elif not initial_ones:
            self.sink.error(
                "Q0402", "no location is initial", program.locations[0].name.span, fix="write `initial location`"
            )
        for other in initial_ones[1:]:
            self.sink.error("Q0402", "only one location can be initial", other.name.span)

    def _agreement(self, event: grammar.EventSyntax, seen: dict[str, Span]) -> None:
        if event.kind not in ("partition", "consensus") or event.name is None or event.number is None:
            return
        name, number = event.name.text, int(event.number.text[:9])
        if name in seen and name not in self.agreements:
            related = ((seen[name], "first declared here"),)
            self.sink.report(Diagnostic("Q0205", f"`{name}` is declared twice", event.name.span, related=related))
        seen.setdefault(name, event.name.span)
        if number < 1:
            self.sink.error("Q0404", "an agreement chooses at least one", event.number.span)
        if event.kind == "consensus" and number > 1:
            self.sink.error("Q0104", "agreement on more than one value is not read", event.number.span)
        known = self.agreements.setdefault(name, (event.kind, number, event.span))
        if known[:2] != (event.kind, number):
            related = ((known[2], "the other handler"),)
            text = f"the handlers of `{name}` differ in what they agree on"
            self.sink.report(Diagnostic("Q0406", text, event.span, related=related))

    def _proposals(self) -> None:
        """What is decided is in the range of what is proposed, so those that depend on `N` cannot be mixed."""
        known: dict[str, Variable] = {}
        for location in self.program.locations:
            for event in (handler.event for handler in location.handlers):
                variable = self.variables.get(event.proposal.text) if event.proposal is not None else None
                if event.name is None or event.proposal is None or variable is None or variable.kind != "int":
                    continue
                other = known.setdefault(event.name.text, variable)
                if (other.low, other.high) != (variable.low, variable.high) and (other.counts or variable.counts):
                    text = f"`{other.name}` and `{variable.name}` are proposed to `{event.name.text}`, and their ranges differ"
                    fix = "give both the same range, or ranges that do not depend on `N`"
                    self.sink.error("Q0406", text, event.proposal.span, fix=fix)

    def _range(self, bounds: tuple[Surface, Surface]) -> tuple[Expression, Expression]:
        low, high = self._bound(bounds[0]), self._bound(bounds[1])
        span = bounds[0].span.to(bounds[1].span)
        for processes in (1, 3):
            values = constant(low, processes), constant(high, processes)
            if values[1] < values[0] and not (isinstance(high, Arithmetic) and processes == 1):
                self.sink.error("Q0404", "the range is empty", span)
                break
            if values[1] - values[0] >= LARGEST_RANGE:
                self.sink.error("Q0404", f"a range has at most {LARGEST_RANGE} values", span)
                break
        return low, high

    def _bound(self, surface: Surface) -> Expression:
        self.bounds_only = True
        try:
            found = self._typed(surface, "int", frozenset())
            return found if any(isinstance(part, ProcessCount) for part in parts(found)) else Number(constant(found, 1))
        except _Problem:
            return Number(0)
        finally:
            self.bounds_only = False

    # -- locations and handlers ------------------------------------------------------------------------------------

    def _location(self, item: grammar.LocationDeclaration) -> Location:
        handlers = []
        agreements: dict[str, Span] = {}
        for declared in item.handlers:
            try:
                handlers.append(self._handler(declared))
            except _Problem:
                continue
            name = declared.event.name
            if name is not None and declared.event.kind in ("partition", "consensus"):
                if name.text in agreements:
                    related = ((agreements[name.text], "the other handler"),)
                    text = f"two handlers of `{name.text}` in one location"
                    self.sink.report(Diagnostic("Q0406", text, declared.event.span, related=related))
                agreements.setdefault(name.text, declared.event.span)
        passive = []
        for name in item.passive:
            if name.text not in self.actions and name.text not in self.agreements:
                self.sink.error("Q0401", f"there is no action or agreement `{name.text}`", name.span)
            else:
                passive.append(name.text)
        return Location(item.name.text, tuple(handlers), tuple(dict.fromkeys(passive)), item.name.span)

    def _handler(self, item: grammar.HandlerDeclaration) -> Handler:
        event = self._event(item.event)
        message = frozenset([event.action]) if isinstance(event, Receive) else frozenset[str]()
        guard = None
        if item.guard is not None:
            if isinstance(event, Partition | Consensus):
                self.sink.error("Q0406", "only `_` and `recv` can have a condition", item.guard.span)
            guard = self._typed(item.guard, "bool", message)
        if item.reply and not isinstance(event, Receive):
            self.sink.error("Q0406", "only a message can be replied to", item.event.span)
            raise _Problem
        body = self._block(item.body, event)
        lose = self._block(item.lose, event) if item.lose is not None else None
        return Handler(event, guard, body, lose, item.reply, item.span)

    def _event(self, event: grammar.EventSyntax) -> Event:
        if event.kind == "internal":
            return Internal()
        assert event.name is not None
        if event.kind == "receive":
            self._known_action(event.name)
            return Receive(event.name.text)
        assert event.participants is not None and event.number is not None
        participants = self._typed(event.participants, "set", frozenset())
        implementation = event.implementation.text.strip('"') if event.implementation else None
        if event.kind == "partition":
            return Partition(event.name.text, participants, int(event.number.text), implementation)
        proposal = None
        if event.proposal is not None:
            variable = self.variables.get(event.proposal.text)
            if variable is None:
                self._unknown(event.proposal.text, event.proposal.span, self.variables)
            elif variable.kind != "int":
                self.sink.error("Q0203", "only integers can be proposed", event.proposal.span)
            proposal = event.proposal.text
        return Consensus(event.name.text, participants, proposal, implementation)

    def _block(self, items: Sequence[grammar.SurfaceStatement], event: Event) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for number, item in enumerate(items):
            try:
                found.append(self._statement(item, event))
            except _Problem:
                continue
            if isinstance(item, grammar.GotoStatement) and number + 1 < len(items):
                self.sink.warning("Q0408", "this is never reached: `goto` ends the handler", items[number + 1].span)
                break
        return tuple(found)

    def _statement(self, item: grammar.SurfaceStatement, event: Event) -> Statement:
        message = frozenset([event.action]) if isinstance(event, Receive) else frozenset[str]()
        match item:
            case grammar.GotoStatement():
                self._known_location(item.location)
                return Goto(item.location.text, item.span)
            case grammar.IfStatement():
                condition = self._typed(item.condition, "bool", message)
                return If(condition, self._block(item.then, event), self._block(item.otherwise, event), item.span)
            case grammar.AssignStatement():
                variable = self._variable(item.variable)
                value = self._typed(item.value, variable.kind, message)
                if isinstance(value, Number) and not _holds(variable.low, value, variable.high):
                    self.sink.error("Q0404", f"{value.value} is out of the range of `{variable.name}`", item.value.span)
                return Assign(variable.name, value, item.span)
            case grammar.SetStatement():
                variable = self._variable(item.variable)
                if variable.kind != "set":
                    self.sink.error("Q0203", f"`{variable.name}` is {SHOWN[variable.kind]}", item.variable.span)
                many = SET_OPERATIONS[item.operation]
                value = self._typed(item.value, "set" if many else "id", message)
                operation: OneOf["add", "remove"] = "add" if item.operation.startswith("add") else "remove"
                return SetUpdate(operation, variable.name, value, many, item.span)
            case grammar.SendStatement():
                return self._send(item, event, message)

    def _send(self, item: grammar.SendStatement, event: Event, message: frozenset[str]) -> Send:
        action = self._known_action(item.action)
        broadcast = item.broadcast
        if broadcast is None:
            broadcast = False
        if action.broadcast != broadcast:
            kinds = ("a rendezvous", "a broadcast")
            text = f"`{action.name}` is {kinds[action.broadcast]} action, sent as {kinds[broadcast]}"
            self.sink.error("Q0405", text, item.action.span)
        payload = None
        if action.bounds is None and item.payload is not None:
            self.sink.error("Q0405", f"`{action.name}` carries no payload", item.payload.span)
        elif action.bounds is not None and item.payload is None:
            self.sink.error("Q0405", f"`{action.name}` needs a payload", item.span, fix=f"write `{action.name}[value]`")
        elif action.bounds is not None and item.payload is not None:
            payload = self._typed(item.payload, "int", message)
            if isinstance(payload, Number) and not _holds(action.bounds[0], payload, action.bounds[1]):
                text = f"{payload.value} is out of the range of `{action.name}`"
                self.sink.error("Q0404", text, item.payload.span)
        target = None
        if item.target is not None and action.environment:
            self._environment_target(item.target)
        elif item.target is not None:
            target = self._typed(item.target, "id", message)
        elif item.broadcast is None and not action.environment:
            assert isinstance(event, Receive)
            if self.actions[event.action].environment:
                self.sink.error("Q0405", "the environment is no process that could be sent this reply", item.span)
            target = Read(f"{event.action}.sID")
        return Send(action.name, action.broadcast, payload, target, item.span)

    def _environment_target(self, target: Surface) -> None:
        """Messages to the environment need no target; one that is given should at least make sense."""
        if isinstance(target, Reference) and target.name.endswith(".sID"):
            name = target.name.removesuffix(".sID")
            if name not in self.actions:
                text = f"there is no action `{name}`; the message goes to the environment in any case"
                self.sink.warning("Q0401", text, target.span)

    # -- names -----------------------------------------------------------------------------------------------------

    def _known_location(self, name: Token) -> None:
        if name.text not in self.locations:
            self.sink.error(
                "Q0402", f"there is no location `{name.text}`", name.span, fix=_nearest(name.text, self.locations)
            )

    def _known_action(self, name: Token) -> Action:
        if name.text not in self.actions:
            self.sink.error(
                "Q0401", f"there is no action `{name.text}`", name.span, fix=_nearest(name.text, self.actions)
            )
            raise _Problem
        return self.actions[name.text]

    def _variable(self, name: Token) -> Variable:
        if name.text not in self.variables:
            self._unknown(name.text, name.span, self.variables)
        return self.variables[name.text]

    def _unknown(self, name: str, span: Span, known: Iterable[str]) -> None:
        self.sink.error("Q0201", f"there is no variable `{name}`", span, fix=_nearest(name, known))
        raise _Problem

    # -- expressions -----------------------------------------------------------------------------------------------

    def _typed(self, surface: Surface, wanted: Type, message: frozenset[str]) -> Expression:
        found, kind = self._expression(surface, message)
        if kind != wanted:
            self.sink.error("Q0203", f"{SHOWN[wanted]} is needed here, this is {SHOWN[kind]}", surface.span)
            raise _Problem
        return found

    def _expression(self, surface: Surface, message: frozenset[str]) -> tuple[Expression, Type]:
        match surface:
            case Literal(_, bool() as truth):
                return Truth(truth), "bool"
            case Literal(_, value):
                return Number(value), "int"
            case Reference():
                return self._reference(surface, message)
            case Operation(_, "!", (operand,)):
                return Negation(self._typed(operand, "bool", message)), "bool"
            case Operation(_, "&" | "|" as operator, operands):
                return Junction(operator, tuple(self._typed(item, "bool", message) for item in operands)), "bool"
            case Operation(_, "+" | "-" | "*" | "/" as operator, (left, right)):
                return Arithmetic(
                    operator, self._typed(left, "int", message), self._typed(right, "int", message)
                ), "int"
            case Operation(_, operator, (left, right)):
                first, kind = self._expression(left, message)
                second = self._typed(right, kind, message)
                if kind == "set" or (kind != "int" and operator not in ("=", "!=")):
                    self.sink.error("Q0203", f"`{operator}` cannot compare {SHOWN[kind]}", surface.span)
                    raise _Problem
                return Comparison(operator, first, second), "bool"
        self.sink.error("Q0203", "this can stand in a specification only", surface.span)
        raise _Problem

    def _reference(self, surface: Reference, message: frozenset[str]) -> tuple[Expression, Type]:
        name = surface.name
        if name == "N":
            return ProcessCount(), "int"
        if self.bounds_only:
            self.sink.error("Q0404", "a range is given by numbers and `N`", surface.span)
            raise _Problem
        if name in ("self", "All", "Empty"):
            leaves: dict[str, tuple[Expression, Type]] = {
                "self": (Self(), "id"),
                "All": (AllProcesses(), "set"),
                "Empty": (NoProcesses(), "set"),
            }
            return leaves[name]
        if "." in name:
            return self._register(surface)
        if name not in self.variables:
            self._unknown(name, surface.span, self.variables)
        return Read(name), self.variables[name].kind

    def _register(self, surface: Reference) -> tuple[Expression, Type]:
        event, _, field = surface.name.partition(".")
        kinds: dict[str, Type] = {"payld": "int", "sID": "id", "winS": "set", "loseS": "set", "decVar": "int"}
        if field in ("payld", "sID"):
            action = self.actions.get(event)
            if action is None:
                fix = _nearest(event, self.actions)
                self.sink.error("Q0401", f"there is no action `{event}`", surface.span, fix=fix)
                raise _Problem
            if field == "payld" and action.bounds is None:
                self.sink.error("Q0405", f"`{event}` carries no payload", surface.span)
                raise _Problem
            if field == "sID" and action.environment:
                self.sink.error("Q0405", f"`{event}` comes from the environment, which is no process", surface.span)
                raise _Problem
        else:
            wanted = "consensus" if field == "decVar" else "partition"
            if self.agreements.get(event, ("", 0))[0] != wanted:
                names = [name for name, item in self.agreements.items() if item[0] == wanted]
                self.sink.error("Q0401", f"there is no {wanted} `{event}`", surface.span, fix=_nearest(event, names))
                raise _Problem
        return Read(surface.name), kinds[field]

    # -- specifications --------------------------------------------------------------------------------------------

    def _properties(self) -> list[Property]:
        """The conjuncts of each `safety` are properties of their own."""
        found: dict[str, Property] = {}
        for item in self.program.properties:
            try:
                listed = self._conjuncts(item.specification)
            except _Problem:
                continue
            for number, (specification, span) in enumerate(listed, 1):
                name = print_specification(specification).replace(" ", "")
                if item.name is not None and len(listed) == 1:
                    name, span = item.name, item.span
                elif item.name is not None:
                    name = f"{item.name}_{number}"
                elif name in found:
                    continue
                if name in found:
                    self.sink.error("Q0205", f"two properties are called `{name}`", span)
                found[name] = Property(name, specification, span)
        return list(found.values())

    def _conjuncts(self, surface: Surface) -> list[tuple[Specification, Span]]:
        if isinstance(surface, Operation) and surface.operator == "&":
            return [pair for operand in surface.operands for pair in self._conjuncts(operand)]
        return [(self._specification(surface), surface.span)]

    def _specification(self, surface: Surface) -> Specification:
        if isinstance(surface, CountSyntax):
            descriptors = []
            for name, predicate in surface.descriptors:
                self._known_location(name)
                condition = None if predicate is None else self._typed(predicate, "bool", frozenset())
                if condition is not None and predicate is not None:
                    self._only_integers(predicate)
                descriptors.append(Descriptor(name.text, condition))
            return Count(surface.most, surface.number, tuple(descriptors))
        if isinstance(surface, Operation) and surface.operator in ("&", "|", "!"):
            return Combination(surface.operator, tuple(self._specification(item) for item in surface.operands))
        self.sink.error("Q0203", "a specification is made of `atmost`, `atleast`, `&&`, `||` and `!`", surface.span)
        raise _Problem

    def _only_integers(self, surface: Surface) -> None:
        if isinstance(surface, Reference):
            variable = self.variables.get(surface.name)
            if variable is None or variable.kind != "int":
                self.sink.error("Q0203", "a specification speaks of the integers of a process only", surface.span)
        elif isinstance(surface, Operation):
            for operand in surface.operands:
                self._only_integers(operand)

    # -- what is right but strange ---------------------------------------------------------------------------------

    def _warn(self, model: ProcessModel) -> None:
        reached = {model.initial.name}
        received = {h.event.action for _, h in model.handlers if isinstance(h.event, Receive)}
        received |= {name for location in model.locations for name in location.passive}
        sent = {
            s.action
            for _, h in model.handlers
            for body in (h.body, h.lose or ())
            for s in statements_of(body)
            if isinstance(s, Send)
        }
        todo = [model.initial]
        places = {location.name: location for location in model.locations}
        while todo:
            for handler in todo.pop().handlers:
                for body in (handler.body, handler.lose or ()):
                    for statement in statements_of(body):
                        if isinstance(statement, Goto) and statement.location not in reached:
                            reached.add(statement.location)
                            todo.append(places[statement.location])
        for location in model.locations:
            if location.name not in reached and location.span is not None:
                self.sink.warning("Q0403", f"no `goto` leads to `{location.name}`", location.span)
        for action in model.actions:
            if action.span is None or action.environment:
                continue
            if action.name in received - sent:
                self.sink.warning("Q0407", f"`{action.name}` is received but never sent", action.span)
            elif action.name in sent - received and not action.broadcast:
                self.sink.warning("Q0407", f"`{action.name}` is sent but never received", action.span)
        for name, (kind, _, span) in self.agreements.items():
            events = [h.event for _, h in model.handlers if getattr(h.event, "name", None) == name]
            if kind == "consensus" and not any(isinstance(e, Consensus) and e.proposal for e in events):
                self.sink.warning("Q0407", f"nobody proposes a value for `{name}`, so it never takes place", span)


def _holds(low: Expression, value: Expression, high: Expression) -> bool:
    """Is the value in range, whatever the number of processes, as far as that can be told?"""
    return all(constant(low, n) <= constant(value, n) <= constant(high, n) for n in (2, 100)) or any(
        isinstance(item, Arithmetic) for item in (low, value, high)
    )


def _nearest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1)
    return f"did you mean `{found[0]}`?" if found else None
