"""Random small Mercury programs, and random changes to programs, driven by any `random.Random`.

They use every construct of the language, in combinations that no protocol would have.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from quorate.lang import parse_any
from quorate.lang.diagnostics import LanguageError
from quorate.lang.mercury.printer import print_event, print_program, print_statement, show
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
    Statement,
    Truth,
    Variable,
)
from quorate.models.source import Source


class _Programs:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.locations = [f"L{i}" for i in range(random.choice([2, 3, 3, 4, 4, 5]))]
        self.ints = {f"x{i}": random.choice([(0, 1), (1, 2), (0, 2)]) for i in range(random.choice([0, 0, 1, 1, 2]))}
        self.sets = [f"s{i}" for i in range(random.choice([0, 0, 1, 1, 2]))]
        self.ids = ["who"] * random.choice([0, 0, 0, 1])
        self.counters = ["count"] * random.choice([0, 0, 0, 1])
        self.actions: dict[str, Action] = {}
        for i in range(random.choice([1, 2, 2, 3, 3])):
            bounds = random.choice([None, None, (Number(0), Number(1))])
            name = f"a{i}"
            self.actions[name] = Action(name, random.random() < 0.5, random.random() < 0.3, bounds)
        self.agreements: dict[str, tuple[str, int]] = {}
        for i in range(random.choice([0, 1, 1, 1, 2])):
            self.agreements[f"g{i}"] = random.choice(
                [("partition", 1), ("partition", 1), ("partition", 2), ("consensus", 1)]
            )
        if not self.ints:
            self.agreements = {n: ("partition", k) for n, (_, k) in self.agreements.items()}

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self, items):
        return self.random.choice(list(items))

    # -- expressions -----------------------------------------------------------------------------------------------

    def integer(self, event, low, high):
        options = [Number(self.random.randint(low, high))] * 2
        options += [Read(name) for name in self.ints]
        if isinstance(event, Receive) and self.actions[event.action].bounds is not None:
            options += [Read(f"{event.action}.payld")] * 3
        if isinstance(event, Consensus):
            options += [Read(f"{event.name}.decVar")] * 3
        if self.ints and self.maybe(0.15):
            options.append(Arithmetic(self.pick("+-*"), Read(self.pick(self.ints)), Number(1)))
        return self.pick(options)

    def identity(self, event):
        options = [Self()]
        if isinstance(event, Receive) and not self.actions[event.action].environment:
            options += [Read(f"{event.action}.sID")] * 3
        options += [Read(name) for name in self.ids]
        return self.pick(options)

    def group(self):
        options = [AllProcesses()] * 4 + [Read(name) for name in self.sets] * 2 + [NoProcesses()] * self.maybe(0.1)
        for name, (kind, _) in self.agreements.items():
            if kind == "partition":
                options += [Read(f"{name}.winS"), Read(f"{name}.loseS")]
        return self.pick(options)

    def condition(self, event):
        kinds = ["int"] * 3 * bool(self.ints or isinstance(event, Receive)) + ["id"] * bool(self.ids)
        kinds += ["count"] * 4 * bool(self.counters)
        if not kinds:
            return Comparison("=", self.integer(event, 0, 1), Number(1))
        kind = self.pick(kinds)
        if kind == "count":
            bound = Arithmetic("-", ProcessCount(), Number(self.pick([0, 1, 1, 1, 2])))
            counted = self.pick([Read("count"), Read("count"), Arithmetic("+", Read("count"), Number(1))])
            sides = (counted, bound) if self.maybe(0.8) else (bound, counted)
            found = Comparison(self.pick(["=", "=", ">=", "<", "!=", ">", "<="]), *sides)
        elif kind == "id":
            found = Comparison(self.pick(["=", "!="]), self.identity(event), self.identity(event))
        else:
            operator = self.pick(["=", "=", "!=", "<", ">="])
            found = Comparison(operator, self.integer(event, 0, 2), self.integer(event, 0, 2))
        if self.maybe(0.15):
            return Negation(found)
        if self.maybe(0.1):
            return Junction(self.pick("&|"), (found, self.condition(event)))
        return found

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, event, here, depth=0):
        found = [self.statement(event, here, depth) for _ in range(self.pick([0, 0, 1, 1, 2]))]
        if self.maybe(0.85):
            found.append(Goto(self.pick(self.locations)))
        return tuple(item for item in found if item is not None)

    def statement(self, event, here, depth):
        kinds = ["assign"] * bool(self.ints) * 2 + ["set"] * bool(self.sets) * 3 + ["id"] * bool(self.ids)
        kinds += ["send"] * 2 + ["if"] * 2 * (depth == 0) + ["count"] * 3 * bool(self.counters)
        kind = self.pick(kinds)
        if kind == "assign":
            name = self.pick(self.ints)
            if self.counters and self.maybe(0.15):
                return Assign(name, self.pick([Read("count"), Arithmetic("-", ProcessCount(), Read("count"))]))
            return Assign(name, self.integer(event, *self.ints[name]))
        if kind == "set":
            if self.maybe(0.15):
                return Assign(self.pick(self.sets), self.group())
            if self.maybe(0.1):
                return SetUpdate(self.pick(["add", "remove"]), self.pick(self.sets), self.group(), True)
            return SetUpdate(self.pick(["add", "add", "remove"]), self.pick(self.sets), self.identity(event))
        if kind == "id":
            return Assign("who", self.identity(event))
        if kind == "count":
            if self.maybe(0.25):
                return Assign("count", Number(self.pick([0, 0, 0, 1])))
            return Assign("count", Arithmetic(self.pick("++++++-"), Read("count"), Number(self.pick([1, 1, 1, 1, 2]))))
        if kind == "if":
            return If(
                self.condition(event),
                self.block(event, here, 1),
                self.block(event, here, 1) if self.maybe(0.4) else (),
            )
        return self.send(event)

    def send(self, event):
        action = self.actions[self.pick(self.actions)]
        payload = self.integer(event, 0, 1) if action.bounds is not None else None
        target = None
        if not action.environment and not action.broadcast and self.maybe(0.6):
            target = self.identity(event)
            if isinstance(target, Self):
                target = None
        return Send(action.name, action.broadcast, payload, target)

    # -- the whole -------------------------------------------------------------------------------------------------

    def handler(self, here, used):
        kinds = ["internal"] * 2 + ["receive"] * 4 + ["agree"] * 3 * bool(self.agreements)
        kind = self.pick(kinds)
        if kind == "agree":
            name = self.pick(self.agreements)
            if name in used:
                kind = "receive"
            else:
                used.add(name)
                what, number = self.agreements[name]
                if what == "partition":
                    event = Partition(name, self.group(), number)
                    return Handler(event, None, self.block(event, here), self.block(event, here))
                proposal = self.pick([*self.ints, *self.ints, None])
                event = Consensus(name, self.group(), proposal)
                return Handler(event, None, self.block(event, here))
        if kind == "receive":
            event = Receive(self.pick(self.actions))
            guard = self.condition(event) if self.maybe(0.15) else None
            return Handler(event, guard, self.block(event, here))
        event = Internal()
        guard = self.condition(event) if self.maybe(0.3) else None
        return Handler(event, guard, self.block(event, here))

    def descriptor(self):
        predicate = None
        if self.ints and self.maybe(0.3):
            name = self.pick(self.ints)
            predicate = Comparison(self.pick(["=", "!="]), Read(name), Number(self.random.randint(*self.ints[name])))
        return Descriptor(self.pick(self.locations[1:]), predicate)

    def count(self):
        chosen = dict.fromkeys(self.descriptor() for _ in range(self.pick([1, 1, 1, 2])))
        return Count(True, self.pick([0, 1, 1, 1, 2]), tuple(chosen))

    def program(self):
        locations = []
        for name in self.locations:
            used: set[str] = set()
            handlers = tuple(self.handler(name, used) for _ in range(self.pick([1, 1, 2, 2, 3])))
            passive = [a for a, action in self.actions.items() if action.broadcast and self.maybe(0.35)]
            locations.append(Location(name, handlers, tuple(passive)))
        specification = self.count()
        if self.maybe(0.2):
            specification = Combination("|", (specification, self.count()))
        variables = [
            Variable(name, "int", Number(low), Number(high), Number(low)) for name, (low, high) in self.ints.items()
        ]
        for name in self.counters:
            high = self.pick([ProcessCount(), ProcessCount(), Arithmetic("-", ProcessCount(), Number(1))])
            first = self.pick([Number(0), Number(0), Number(0), high])
            variables.append(Variable(name, "int", Number(0), high, first))
        variables += [Variable(name, "set") for name in self.sets] + [Variable(name, "id") for name in self.ids]
        crash = tuple(name for name in self.locations if self.maybe(0.5)) if self.maybe(0.5) else ()
        events = [*self.actions, *self.agreements]
        crash_actions = (self.pick(events),) if self.maybe(0.1) else ()
        return ProcessModel(
            "Random",
            tuple(variables),
            tuple(self.actions.values()),
            tuple(locations),
            (Property("safe", specification),),
            crash,
            crash_actions,
        )


class _RichPrograms(_Programs):
    """Programs that use the rest of the language too: what few protocols need, in combinations that none has."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        ranges = [(0, 1), (1, 2), (0, 2), (2, 4), (0, 0)]
        self.ints = {name: self.pick(ranges) for name in self.ints}
        for name, action in self.actions.items():
            if action.bounds is not None and self.maybe(0.4):
                self.actions[name] = replace(action, bounds=self.pick([(Number(1), Number(3)), (Number(0), Number(2))]))
        if self.maybe(0.1) and self.ints:
            self.ids = ["who", "other"]

    def registers(self, fields):
        """What events leave behind, read anywhere."""
        found = []
        for name, action in self.actions.items():
            found += [f"{name}.payld"] * ("payld" in fields and action.bounds is not None)
            found += [f"{name}.sID"] * ("sID" in fields and not action.environment)
        for name, (kind, _) in self.agreements.items():
            found += [f"{name}.decVar"] * ("decVar" in fields and kind == "consensus")
        return [Read(name) for name in found]

    def integer(self, event, low, high):
        elsewhere = self.registers(("payld", "decVar"))
        if elsewhere and self.maybe(0.15):
            return self.pick(elsewhere)
        if self.maybe(0.1):
            operator = self.pick("+-*/")
            return Arithmetic(operator, super().integer(event, low, high), super().integer(event, low, high))
        if self.maybe(0.04):
            return self.pick([ProcessCount(), Arithmetic("-", ProcessCount(), Number(1)), Number(0)])
        return super().integer(event, low, high)

    def identity(self, event):
        elsewhere = self.registers(("sID",))
        if elsewhere and self.maybe(0.2):
            return self.pick(elsewhere)
        return super().identity(event)

    def condition(self, event):
        if self.maybe(0.08):
            return Truth(self.maybe(0.5))
        if self.maybe(0.08):
            return Comparison(self.pick(["=", "!="]), super().condition(event), super().condition(event))
        if self.maybe(0.08):
            return Comparison(self.pick(["=", "!="]), self.identity(event), self.identity(event))
        return super().condition(event)

    def statement(self, event, here, depth):
        if depth == 1 and self.maybe(0.15):
            return super().statement(event, here, 0)
        if self.sets and self.maybe(0.1):
            return SetUpdate(self.pick(["add", "remove"]), self.pick(self.sets), self.group(), True)
        return super().statement(event, here, depth)

    def handler(self, here, used):
        senders = [name for name, action in self.actions.items() if not action.environment]
        replies = [action for action in self.actions.values() if not action.broadcast]
        if senders and replies and self.maybe(0.12):
            event, action = Receive(self.pick(senders)), self.pick(replies)
            payload = self.integer(event, 0, 1) if action.bounds is not None else None
            target = None if action.environment else Read(f"{event.action}.sID")
            return Handler(event, None, (Send(action.name, False, payload, target),), reply=True)
        return super().handler(here, used)

    def count(self):
        found = super().count()
        if self.maybe(0.3):
            found = replace(found, most=False)
        if self.counters and self.maybe(0.3):
            asked = Comparison(self.pick(["=", ">="]), Read("count"), Number(self.pick([0, 1, 2])))
            found = replace(found, descriptors=(Descriptor(self.pick(self.locations), asked), *found.descriptors))
        return found

    def program(self):
        model = super().program()
        (first,) = model.safety
        listed = [first]
        for i in range(self.pick([0, 1, 2])):
            kind = self.pick(["!", "&", "|", ""])
            parts = [self.count() for _ in range(1 if kind in ("!", "") else self.pick([2, 3]))]
            whole = Combination("!", (Combination(kind, tuple(parts)),)) if kind in "&|" and kind else parts[0]
            listed.append(Property(f"more{i}", Combination("!", (parts[0],)) if kind == "!" else whole))
        places = []
        for place in model.locations:
            more = [name for name in (*self.actions, *self.agreements) if self.maybe(0.08)]
            places.append(replace(place, passive=tuple(dict.fromkeys([*place.passive, *more]))))
        firsts = tuple(
            replace(variable, initial=variable.high) if variable.kind == "int" and self.maybe(0.3) else variable
            for variable in model.variables
        )
        return replace(model, safety=tuple(listed), locations=tuple(places), variables=firsts)


def random_program(random: Random) -> ProcessModel:
    """A program without errors, read from its text, with one property, called `safe`."""
    return _readable(random, _Programs)


def rich_program(random: Random) -> ProcessModel:
    """A program without errors, with any construct of the language, and perhaps more properties."""
    return _readable(random, _RichPrograms)


def _readable(random: Random, kind: type[_Programs]) -> ProcessModel:
    while True:
        model = read_back(kind(random).program())
        if model is not None:
            return model


def laid_out(model: ProcessModel, random: Random) -> str:
    """The text of a program, with some braces replaced by indentation and by statements beside an `if`."""
    lines = []
    for line in print_program(replace(model, locations=())).splitlines():
        lines.append(line)
    for number, location in enumerate(model.locations):
        lines.append(f"{'initial ' * (number == 0)}location {location.name}")
        for handler in location.handlers:
            lines += _laid_out_handler(handler, random)
        lines += [f"  passive {', '.join(location.passive)}"] * bool(location.passive)
    return "\n".join(lines) + "\n"


def _laid_out_handler(handler: Handler, random: Random) -> list[str]:
    head = f"  on {print_event(handler)}" + (f" where ({show(handler.guard)})" if handler.guard is not None else "")
    if handler.reply:
        return [f"{head} reply {print_statement(handler.body[0])[7:-2].partition(', ')[0]}"]
    if handler.lose is None:
        return [f"{head} do", *_lines(handler.body, "    ", random)]
    lose = _lines(handler.lose, "      ", random)
    return [head, "    win:", *_lines(handler.body, "      ", random), "    lose:", *lose]


def _lines(body: tuple[Statement, ...], indent: str, random: Random) -> list[str]:
    found = []
    for statement in body:
        if not isinstance(statement, If):
            found.append(indent + print_statement(statement).rstrip(";" * random.randrange(2)))
            continue
        found += _branch(f"{indent}if ({show(statement.condition)})", statement.then, indent, random)
        if statement.otherwise:
            found += _branch(f"{indent}else", statement.otherwise, indent, random)
    return found


def _branch(head: str, body: tuple[Statement, ...], indent: str, random: Random) -> list[str]:
    if not body or random.random() < 0.3:
        return [f"{head} {{", *_lines(body, indent + "  ", random), indent + "}"]
    if len(body) == 1 and not isinstance(body[0], If) and random.random() < 0.5:
        return [f"{head} {print_statement(body[0])}"]
    return [head, *_lines(body, indent + random.choice(["  ", "    ", "\t"]), random)]


def read_back(model: ProcessModel) -> ProcessModel | None:
    """The program as it is read from its printed form; None if it has errors, such as an agreement without handlers."""
    try:
        loaded = parse_any(Source("random.mercury", print_program(model)))
    except LanguageError:
        return None
    assert loaded.model == model
    assert isinstance(loaded.model, ProcessModel)
    return loaded.model


def changed(model: ProcessModel, random: Random) -> ProcessModel:
    """The program with one small mistake: a handler dropped, a `goto` redirected, a message made passive, a crash allowed."""
    number = random.randrange(len(model.locations))
    location = model.locations[number]
    names = [item.name for item in model.locations]

    def redirect(body):
        return tuple(
            Goto(random.choice(names)) if isinstance(s, Goto) and random.random() < 0.5 else _inside(s) for s in body
        )

    def _inside(statement):
        if isinstance(statement, If):
            return replace(statement, then=redirect(statement.then), otherwise=redirect(statement.otherwise))
        return statement

    kind = random.choice(["drop", "redirect", "passive", "crash", "winners", "group"])
    handlers = list(location.handlers)
    if kind == "drop" and handlers:
        handlers.pop(random.randrange(len(handlers)))
    elif kind == "redirect" and handlers:
        i = random.randrange(len(handlers))
        lose = handlers[i].lose
        handlers[i] = replace(
            handlers[i], body=redirect(handlers[i].body), lose=None if lose is None else redirect(lose), reply=False
        )
    elif kind == "passive":
        broadcasts = [a.name for a in model.actions if a.broadcast]
        if broadcasts:
            more = (*location.passive, random.choice(broadcasts))
            location = replace(location, passive=tuple(dict.fromkeys(more)))
    elif kind == "crash":
        return replace(model, crash_locations=tuple(n for n in names if random.random() < 0.5), crash_actions=())
    elif kind == "winners":
        partitions = [h.event.name for _, h in model.handlers if isinstance(h.event, Partition)]
        if partitions:
            return _more_winners(model, random.choice(partitions))
    elif kind == "group":
        for i, handler in enumerate(handlers):
            if isinstance(handler.event, Partition | Consensus):
                handlers[i] = replace(handler, event=replace(handler.event, participants=AllProcesses()))
    places = list(model.locations)
    places[number] = replace(location, handlers=tuple(handlers))
    return replace(model, locations=tuple(places))


def mutant(model: ProcessModel, random: Random) -> ProcessModel:
    """The program after some changes that leave it without errors."""
    for _ in range(random.choice([1, 1, 2, 3])):
        model = read_back(changed(model, random)) or model
    return model


def _more_winners(model: ProcessModel, name: str) -> ProcessModel:
    def more(handler: Handler) -> Handler:
        event = handler.event
        if isinstance(event, Partition) and event.name == name:
            return replace(handler, event=replace(event, winners=event.winners + 1))
        return handler

    places = tuple(replace(place, handlers=tuple(map(more, place.handlers))) for place in model.locations)
    return replace(model, locations=places)
