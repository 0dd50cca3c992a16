"""A round-based algorithm with n processes in Promela, for the Spin model checker (Holzmann): a check by an outside tool.

One process plays all of them, a round at a time, as in the template of Barbosa, Fonseca and Araujo (Software Quality Journal,
2020): what is sent, who hears whom (any sets that `safe` and the faults allow), and what becomes of everybody.  Decisions are
asserted to agree where they are made.  Steps on shared variables become processes that interleave.  It is written from the model
alone and shares nothing with the searches that it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from quorate.models import rounds as r
from quorate.models.evaluation import RoundsError, setting
from quorate.models.rounds import Node, RoundModel

COMPARISONS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def promela(model: RoundModel, n: int, given: Mapping[str, int], faults: int | None = None, phases: int = 2) -> str:
    """The text; runs whose times or phases grow for ever are cut off after so many phases."""
    return _Promela(model, n, setting(model, n, given), faults, phases).text()


class _Promela:
    def __init__(
        self, model: RoundModel, n: int, parameters: Mapping[str, int], faults: int | None, phases: int
    ) -> None:
        self.model = model
        self.n = n
        self.parameters = parameters
        self.faults = faults
        self.lines: list[str] = []
        self.depth = 1
        self.temporary: list[str] = []
        self.used = 0
        self.tags = {name: i + 1 for i, name in enumerate(model.tags)}
        self.number: int = 0
        timed = any(isinstance(node, r.Phase) for node in model.nodes())
        self.phases = self.constant(model.phases) if model.phases is not None else phases if timed else None
        self.asserted = {item.name for item in model.safety if item.formula is None}
        if model.keeps_messages:
            raise RoundsError("messages that are kept are not written in Promela")
        unsaid = [item.name for item in model.safety if item.formula is not None]
        if unsaid:
            raise RoundsError(f"the property {unsaid[0]} is a formula, which is not written in Promela")

    # -- text ------------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self, size: int = 0) -> str:
        """A temporary variable; all of them are 0 between rounds."""
        self.used += 1
        name = f"t{self.used}"
        self.temporary.append(f"{name}[{size}]" if size else name)
        return name

    def branch(self, condition: str, then: str) -> None:
        self.line(f"if :: ({condition}) -> {then} :: else fi;")

    def loop(self, name: str) -> None:
        self.line(f"for ({name} : 0 .. {self.n - 1}) {{")
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        self.line("}")

    def constant(self, node: Node) -> int:
        value = self.rational(node)
        assert value is not None
        return int(value)

    def rational(self, node: Node) -> Fraction | None:
        """A number that is fixed, or None."""
        match node:
            case r.Number(value):
                return Fraction(value)
            case r.Parameter("n"):
                return Fraction(self.n)
            case r.Parameter(name):
                return Fraction(self.parameters[name])
            case r.Operation(operator, operands) if operator in ("+", "-", "*", "/", "max", "min"):
                values = [self.rational(item) for item in operands]
                if any(value is None for value in values):
                    return None
                known = [value for value in values if value is not None]
                if operator in ("max", "min"):
                    return (max if operator == "max" else min)(known)
                a, b = known
                return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else a}[operator]
        return None

    # -- the whole -------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        body = self.steps() if self.model.steps else self.rounds()
        head = [f"/* {self.model.name}, n = {self.n}" + "".join(f", {k} = {v}" for k, v in self.parameters.items())]
        if self.phases is not None and self.model.phases is None:
            head.append(f"   cut off after {self.phases} phases, since the definition looks at the number of the phase")
        head[-1] += " */"
        if "termination" in self.asserted:
            head.append("/* termination is not asserted */")
        return "\n".join([*head, *body]) + "\n"

    def declared(self) -> list[str]:
        rows = [f"int v_{item.name}[{self.n}];" for item in self.model.variables]
        rows += [f"int q_decision[{self.n}];", "int q_agreed;"]
        return rows

    def propose(self, p: str) -> None:
        """What a process proposes, and its first state."""
        self.line(f"select (q_value : 1 .. {self.n});")
        for item in self.model.variables:
            match item.initial:
                case r.Proposal():
                    self.line(f"v_{item.name}[{p}] = q_value;")
                case r.Operation("singleton"):
                    self.line(f"v_{item.name}[{p}] = 1 << (q_value - 1);")
                case r.Truth(value):
                    self.line(f"v_{item.name}[{p}] = {int(value)};")
                case _:
                    self.line(f"v_{item.name}[{p}] = 0;")

    # -- steps -------------------------------------------------------------------------------------------------------------

    def steps(self) -> list[str]:
        self.me = "q_me"
        for number, item in enumerate(self.model.steps):
            self.line(f"atomic {{ /* step {item.name or number + 1} */")
            self.depth += 1
            self.block(item.body, {})
            self.reset()
            self.end()
        body = self.lines
        self.lines = []
        self.line("int q_value; byte q_p;")
        self.line("atomic {")
        self.depth += 1
        self.loop("q_p")
        self.propose("q_p")
        self.end()
        self.loop("q_p")
        self.line("run Process(q_p);")
        self.end()
        self.line("q_value = 0; q_p = 0")
        self.end()
        shared = [f"int v_{item.name};" for item in self.model.shared]
        temporary = [f"int {name};" for name in self.temporary]
        start = ["init {", *self.lines, "}"]
        return [*self.declared(), *shared, *temporary, "", "proctype Process(byte q_me) {", *body, "}", "", *start]

    # -- rounds ------------------------------------------------------------------------------------------------------------

    def rounds(self) -> list[str]:
        n, model = self.n, self.model
        self.me = "q_p"
        self.line("atomic {")
        self.depth += 1
        self.loop("q_p")
        self.propose("q_p")
        self.end()
        self.line("q_value = 0; q_p = 0; q_phase = 1;")
        self.end()
        self.line("do")
        limit = f"q_phase <= {self.phases}" if self.phases is not None else "true"
        self.line(f":: {limit} ->")
        self.depth += 1
        for number, item in enumerate(model.rounds):
            self.number = number
            self.round(number, item)
        if self.phases is not None:
            self.line("q_phase++")
        else:
            self.line("skip")
        self.depth -= 1
        if self.phases is not None:
            self.line(":: else -> break")
        self.line("od;")
        self.line("goto end_done;")
        self.line("end_pruned: false;")
        self.line("end_done: skip")
        width = max([len(item.send.items) for item in model.rounds if item.send] or [1])
        rows = ["int q_value, q_phase, q_left, q_lossy;", "byte q_p, q_q;", f"bool q_hears[{n * n}], q_sent[{n}];"]
        rows += [f"int q_part{i}[{n}];" for i in range(width)] + [f"byte q_coordinator[{n}];"]
        rows += [f"bool q_crashed[{n}], q_crashing[{n}];"]
        return [*self.declared(), *rows, *(f"int {name};" for name in self.temporary), "", "init {", *self.lines, "}"]

    def round(self, number: int, item: r.Round) -> None:
        n = self.n
        self.line(f"atomic {{ /* round {item.name or number + 1} */")
        self.depth += 1
        if number == 0 and self.model.uses_coordinators:
            self.loop("q_p")
            self.line(f"select (q_value : 0 .. {n - 1});")
            self.line("q_coordinator[q_p] = q_value; q_value = 0;")
            self.end()
        self.hearing()
        self.permitted(number)
        self.loop("q_p")
        if item.send is not None:
            self.branch(f"!q_crashed[q_p] && {self.value(item.send.condition, {})}", "q_sent[q_p] = true")
            for i, part in enumerate(item.send.items):
                self.line(f"q_part{i}[q_p] = {self.value(part, {})};")
        self.end()
        self.loop("q_p")
        self.line("if")
        self.line(":: (!q_crashed[q_p] && !q_crashing[q_p]) ->")
        self.depth += 1
        self.block(item.body, {})
        self.line("skip")
        self.depth -= 1
        self.line(":: else")
        self.line("fi;")
        self.end()
        self.reset()
        self.loop("q_p")
        self.branch(
            "q_crashing[q_p]",
            "q_crashed[q_p] = true; q_crashing[q_p] = false; "
            + "; ".join(f"v_{v.name}[q_p] = 0" for v in self.model.variables),
        )
        self.line("q_sent[q_p] = false;")
        send = item.send.items if item.send else ()
        for i in range(len(send)):
            self.line(f"q_part{i}[q_p] = 0;")
        if number == len(self.model.rounds) - 1:
            self.line("q_coordinator[q_p] = 0;")
        self.end()
        self.loop("q_p")
        self.loop("q_q")
        self.line(f"q_hears[q_p * {n} + q_q] = false;")
        self.end()
        self.end()
        self.line("q_p = 0; q_q = 0; q_value = 0;")
        self.end()

    def hearing(self) -> None:
        """Any heard-of sets that the faults allow."""
        n, faults = self.n, self.model.faults
        if faults is not None and faults.kind == "crashes":
            bound = self.faults if self.faults is not None else self.constant(faults.bound) if faults.bound else n
            self.loop("q_p")
            self.line("if")
            self.line(f":: (!q_crashed[q_p] && q_left < {bound}) -> q_crashing[q_p] = true; q_left++")
            self.line(":: skip")
            self.line("fi;")
            self.end()
        self.loop("q_p")
        self.loop("q_q")
        cell = f"q_hears[q_p * {n} + q_q]"
        if faults is None:
            self.line(f"if :: {cell} = true :: {cell} = false fi;")
        elif faults.kind == "crashes":
            self.line("if")
            self.line(f":: (q_crashing[q_q] && !q_crashed[q_p] && !q_crashing[q_p]) -> if :: {cell} = true :: skip fi")
            self.line(f":: (!q_crashing[q_q] && !q_crashed[q_q]) -> {cell} = true")
            self.line(":: else")
            self.line("fi;")
        else:
            limits = ["q_p != q_q"]
            if faults.rounds is not None:
                limits.append(f"q_lossy < {self.constant(faults.rounds)}")
            bound_ = self.faults if self.faults is not None else self.constant(faults.bound) if faults.bound else None
            if bound_ is not None:
                limits.append(f"q_left < {bound_}")
            lose = "q_left++" if bound_ is not None else "skip"
            self.line("if")
            self.line(f":: ({' && '.join(limits)}) -> if :: {cell} = true :: {lose} fi")
            self.line(f":: else -> {cell} = true")
            self.line("fi;")
        self.end()
        self.end()
        if faults is not None and faults.kind == "omissions" and faults.rounds is not None:
            rounds = self.constant(faults.rounds)
            self.branch(f"q_lossy < {rounds}", "q_lossy++")
            if faults.bound is not None or self.faults is not None:
                self.branch(f"q_lossy == {rounds}", "q_left = 0")

    def permitted(self, number: int) -> None:
        """Leave the run where `safe` does not allow what is heard in this round."""
        for part in r.conjuncts(self.model.safe):
            for piece in _split(part):
                rounds = {item.round for item in piece.walk() if isinstance(item, r.HeardOf)}
                if len(rounds) > 1:
                    raise RoundsError("`safe` ties several rounds together, which is not written in Promela")
                if rounds == {number + 1} or (not rounds and number == 0):
                    holds = self.fresh()
                    self.claim(piece, {}, holds)
                    self.branch(f"!{holds}", "goto end_pruned")

    def claim(self, node: Node, bound: Mapping[str, str], into: str) -> None:
        """A communication predicate, as a number that is 1 if it holds."""
        match node:
            case r.Quantified(universal, names, body):
                self.line(f"{into} = {int(universal)};")
                chosen = [self.fresh() for _ in names]
                for name in chosen:
                    self.loop(name)
                inner = self.fresh()
                self.claim(body, {**bound, **dict(zip(names, chosen, strict=True))}, inner)
                self.branch(f"{'!' if universal else ''}{inner}", f"{into} = {int(not universal)}")
                for _ in chosen:
                    self.end()
            case r.Operation(operator, operands) if operator in ("and", "or", "not", "->"):
                parts = [self.fresh() for _ in operands]
                for part, operand in zip(parts, operands, strict=True):
                    self.claim(operand, bound, part)
                word = {"and": " && ", "or": " || "}.get(operator)
                text = word.join(parts) if word else f"!{parts[0]}" + (f" || {parts[1]}" if operator == "->" else "")
                self.line(f"{into} = ({text} -> 1 : 0);")
            case r.Truth(value):
                self.line(f"{into} = {int(value)};")
            case r.Operation(operator, (left, right)):
                self.line(f"{into} = ({self.compared(operator, left, right, bound)} -> 1 : 0);")
            case r.Member(element, group):
                self.line(f"{into} = ({self.heard(group, self.value(element, bound), bound)} -> 1 : 0);")
            case r.Related(relation, left, right):
                q = self.fresh()
                self.line(f"{into} = {int(relation != 'meets')};")
                self.loop(q)
                one, two = self.heard(left, q, bound), self.heard(right, q, bound)
                test = {"meets": f"{one} && {two}", "=": f"{one} != {two}", "<=": f"{one} && !{two}"}[relation]
                self.branch(test, f"{into} = {int(relation == 'meets')}")
                self.end()
            case _:
                raise RoundsError("a predicate of this form is not written in Promela")

    def heard(self, group: r.HeardOf, element: str, bound: Mapping[str, str]) -> str:
        if group.process is not None:
            return f"q_hears[{self.value(group.process, bound)} * {self.n} + {element}]"
        everybody, p = self.fresh(), self.fresh()
        self.line(f"{everybody} = 1;")
        self.loop(p)
        self.branch(f"!q_hears[{p} * {self.n} + {element}]", f"{everybody} = 0")
        self.end()
        return everybody

    def reset(self) -> None:
        names = [name for name in dict.fromkeys(self.temporary) if "[" not in name]
        self.line("; ".join(f"{name} = 0" for name in names) + ";" if names else "skip;")
        for name in self.temporary:
            if "[" in name:
                self.loop("q_q")
                self.line(f"{name.split('[')[0]}[q_q] = 0;")
                self.end()
        self.line("q_q = 0;" if not self.model.steps else "skip")

    # -- statements ----------------------------------------------------------------------------------------------------------

    def block(self, statements: tuple[Node, ...], bound: Mapping[str, str]) -> None:
        for statement in statements:
            match statement:
                case r.Assign(name, node):
                    value, defined = self.optional(node, bound)
                    self.branch(defined, f"{self.variable(name)} = {value}")
                case r.Decide(node):
                    value, defined = self.optional(node, bound)
                    self.decide(value, defined)
                case r.If(condition, then, otherwise):
                    holds, inner = self.condition(list(r.conjuncts(condition)), bound)
                    self.line("if")
                    self.line(f":: ({holds}) ->")
                    self.depth += 1
                    self.block(then, inner)
                    self.line("skip")
                    self.depth -= 1
                    self.line(":: else ->")
                    self.depth += 1
                    self.block(otherwise, bound)
                    self.line("skip")
                    self.depth -= 1
                    self.line("fi;")

    def decide(self, value: str, defined: str) -> None:
        decision = f"q_decision[{self.me}]"
        kept = self.fresh()
        self.line(f"{kept} = {value};")
        self.line("if")
        self.line(f":: ({defined}) ->")
        self.depth += 1
        if "validity" in self.asserted:
            self.line(f"assert({kept} != 0); /* validity */")
        if "irrevocability" in self.asserted:
            self.line(f"assert({kept} == 0 || {decision} == 0 || {decision} == {kept}); /* irrevocability */")
        if "agreement" in self.asserted:
            self.line(f"assert({kept} == 0 || q_agreed == 0 || q_agreed == {kept}); /* agreement */")
        self.branch(f"{kept} != 0 && {decision} == 0", f"{decision} = {kept}")
        self.branch(f"{kept} != 0", f"q_agreed = {kept}")
        self.line("skip")
        self.depth -= 1
        self.line(":: else")
        self.line("fi;")

    def variable(self, name: str) -> str:
        return f"v_{name}" if any(item.name == name for item in self.model.shared) else f"v_{name}[{self.me}]"

    def condition(self, parts: list[Node], bound: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        """A conjunction, and the names that it binds."""
        received = [part for part in parts if isinstance(part, r.Received) and not part.from_coordinator]
        if len(received) > 1:
            raise RoundsError("two messages bound in one condition are not written in Promela")
        if received:
            first = received[0]
            rest = [part for part in parts if part is not first]
            return self.received(first, rest, bound)
        tests = []
        inner = dict(bound)
        for part in parts:
            if isinstance(part, r.Received):
                test, inner = self.from_coordinator(part, inner)
            elif isinstance(part, r.AllReceived):
                test, inner = self.all_received(part, inner)
            else:
                test = self.value(part, inner)
            kept = self.fresh()
            self.line(f"{kept} = ({test} -> 1 : 0);")
            tests.append(kept)
        return " && ".join(tests) or "true", inner

    def arrives(self, q: str) -> str:
        """The message of a process is received."""
        send = self.model.rounds[self.number].send
        to = f" && q_coordinator[{q}] == {self.me}" if send and send.to == "coordinator" else ""
        return f"q_sent[{q}] && q_hears[{self.me} * {self.n} + {q}]{to}"

    def matches(self, pattern: r.Pattern, q: str, bound: Mapping[str, str]) -> str:
        tests = [
            f"q_part{i}[{q}] == {self.value(item, bound)}"
            for i, item in enumerate(pattern.items)
            if not isinstance(item, r.Anything | r.Bind)
        ]
        return " && ".join(tests) or "true"

    def names(self, pattern: r.Pattern, q: str) -> dict[str, str]:
        return {item.name: f"q_part{i}[{q}]" for i, item in enumerate(pattern.items) if isinstance(item, r.Bind)}

    def candidates(self, pattern: r.Pattern, tests: list[Node], bound: Mapping[str, str]) -> str:
        """Which senders fit: an array."""
        fits, q = self.fresh(self.n), self.fresh()
        self.loop(q)
        self.line(f"{fits}[{q}] = ({self.arrives(q)} && {self.matches(pattern, q, bound)} -> 1 : 0);")
        inner = {**bound, **self.names(pattern, q)}
        for test in tests:
            if test != r.Truth(True):
                self.branch(f"!({self.condition(list(r.conjuncts(test)), inner)[0]})", f"{fits}[{q}] = 0")
        self.end()
        return fits

    def some(self, fits: str) -> tuple[str, str]:
        """Any of the candidates, and how many there are."""
        count, chosen, q, index = (self.fresh() for _ in range(4))
        self.line(f"{count} = 0;")
        self.loop(q)
        self.line(f"{count} = {count} + {fits}[{q}];")
        self.end()
        self.line("if")
        self.line(f":: ({count} > 0) ->")
        self.depth += 1
        self.line(f"select ({index} : 1 .. {count});")
        self.loop(q)
        self.branch(f"{fits}[{q}] && {index} > 0", f"{index}--; if :: ({index} == 0) -> {chosen} = {q} :: else fi")
        self.end()
        self.line("skip")
        self.depth -= 1
        self.line(":: else")
        self.line("fi;")
        return chosen, count

    def received(self, node: r.Received, rest: list[Node], bound: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        chosen, count = self.some(self.candidates(node.pattern, [node.where, *rest], bound))
        return f"{count} > 0", {**bound, **self.names(node.pattern, chosen)}

    def from_coordinator(self, node: r.Received, bound: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        q = self.fresh()
        self.line(f"{q} = q_coordinator[{self.me}];")
        inner = {**bound, **self.names(node.pattern, q)}
        where = self.condition(list(r.conjuncts(node.where)), inner)[0]
        return f"{self.arrives(q)} && {self.matches(node.pattern, q, bound)} && {where}", inner

    def all_received(self, node: r.AllReceived, bound: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        same, first, q = self.fresh(), self.fresh(), self.fresh()
        self.line(f"{same} = 1; {first} = 0;")
        self.loop(q)
        mine, theirs = self.names(node.pattern, f"({first} - 1)"), self.names(node.pattern, q)
        self.line("if")
        self.line(f":: ({self.arrives(q)}) ->")
        self.depth += 1
        self.branch(f"{first} == 0", f"{first} = {q} + 1")
        self.branch(f"!({self.matches(node.pattern, q, bound)})", f"{same} = 0")
        for name in mine:
            self.branch(f"{mine[name]} != {theirs[name]}", f"{same} = 0")
        self.line("skip")
        self.depth -= 1
        self.line(":: else")
        self.line("fi;")
        self.end()
        self.branch(f"{first} == 0", f"{same} = 0; {first} = 1")
        return same, {**bound, **self.names(node.pattern, f"({first} - 1)")}

    # -- values --------------------------------------------------------------------------------------------------------------

    def optional(self, node: Node, bound: Mapping[str, str]) -> tuple[str, str]:
        """A value, and the condition under which there is one."""
        if isinstance(node, r.Choice):
            return self.picked(node, bound)
        if isinstance(node, r.Operation) and any(isinstance(part, r.Choice) for part in node.walk()):
            parts = [self.optional(item, bound) for item in node.operands]
            if node.operator != "union":
                raise RoundsError("arithmetic on what is picked is not written in Promela")
            return " | ".join(f"({value})" for value, _ in parts), " && ".join(test for _, test in parts)
        return self.value(node, bound), "true"

    def picked(self, node: r.Choice, bound: Mapping[str, str]) -> tuple[str, str]:
        place = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.name))
        fits = self.candidates(node.pattern, [node.where], bound)
        part = f"q_part{place}"
        if node.pick == "union":
            union, q = self.fresh(), self.fresh()
            self.line(f"{union} = 0;")
            self.loop(q)
            self.branch(f"{fits}[{q}]", f"{union} = {union} | {part}[{q}]")
            self.end()
            return union, "true"
        if node.extreme is not None:
            key = next(i for i, item in enumerate(node.pattern.items) if item == r.Bind(node.extreme[1]))
            self.keep_best(fits, f"q_part{key}", node.extreme[0] == "largest")
        if "frequent" in node.pick:
            counts, q, other = self.fresh(self.n), self.fresh(), self.fresh()
            self.loop(q)
            self.line(f"{counts}[{q}] = 0;")
            self.loop(other)
            self.branch(f"{fits}[{other}] && {part}[{other}] == {part}[{q}]", f"{counts}[{q}]++")
            self.end()
            self.end()
            self.keep_best(fits, counts, True)
        if node.pick.startswith(("smallest", "largest")):
            self.keep_best(fits, part, node.pick.startswith("largest"))
        chosen, count = self.some(fits)
        return f"{part}[{chosen}]", f"{count} > 0"

    def keep_best(self, fits: str, keys: str, largest: bool) -> None:
        """Only the candidates with the best key."""
        best, q = self.fresh(), self.fresh()
        self.line(f"{best} = -1;")
        self.loop(q)
        better = f"{keys}[{q}] {'>' if largest else '<'} {best}"
        self.branch(f"{fits}[{q}] && ({best} == -1 || {better})", f"{best} = {keys}[{q}]")
        self.end()
        self.loop(q)
        self.branch(f"{keys}[{q}] != {best}", f"{fits}[{q}] = 0")
        self.end()

    def value(self, node: Node, bound: Mapping[str, str]) -> str:
        match node:
            case r.Truth(value):
                return "true" if value else "false"
            case r.Nothing():
                return "0"
            case r.Tag(name):
                return str(self.tags[name])
            case r.Myself():
                return self.me
            case r.Coordinator(None):
                return f"q_coordinator[{self.me}]"
            case r.Coordinator(of) if of is not None:
                return f"q_coordinator[{self.value(of, bound)}]"
            case r.Phase():
                return "q_phase"
            case r.Local(name):
                return self.variable(name)
            case r.Bound(name):
                return bound[name]
            case r.Count(pattern):
                count, q = self.fresh(), self.fresh()
                self.line(f"{count} = 0;")
                self.loop(q)
                self.branch(f"{self.arrives(q)} && {self.matches(pattern, q, bound)}", f"{count}++")
                self.end()
                return count
            case r.Size(group):
                count, q = self.fresh(), self.fresh()
                self.line(f"{count} = 0;")
                self.loop(q)
                self.branch(self.heard(group, q, bound), f"{count}++")
                self.end()
                return count
            case r.Received() | r.AllReceived():
                return f"({self.condition([node], bound)[0]})"
            case r.Operation():
                return self.operation(node, bound)
        fixed = self.rational(node)
        if fixed is None or fixed.denominator != 1:
            raise RoundsError(f"{type(node).__name__} is not written in Promela")
        return str(fixed)

    def operation(self, node: r.Operation, bound: Mapping[str, str]) -> str:
        fixed = self.rational(node)
        if fixed is not None and fixed.denominator == 1:
            return str(fixed)
        operator, operands = node.operator, node.operands
        if operator in COMPARISONS:
            return f"({self.compared(operator, operands[0], operands[1], bound)})"
        parts = [self.value(item, bound) for item in operands]
        match operator:
            case "and" | "or":
                return "(" + (" && " if operator == "and" else " || ").join(parts) + ")"
            case "not":
                return f"!({parts[0]})"
            case "->":
                return f"(!({parts[0]}) || {parts[1]})"
            case "in":
                return f"({parts[0]} != 0 && ({parts[1]} >> ({parts[0]} - 1)) & 1)"
            case "singleton":
                return f"({parts[0]} == 0 -> 0 : 1 << ({parts[0]} - 1))"
            case "smallest" | "largest":
                found, v = self.fresh(), self.fresh()
                self.line(f"{found} = 0;")
                self.line(f"for ({v} : 1 .. {self.n}) {{")
                self.depth += 1
                empty = f" && {found} == 0" if operator == "smallest" else ""
                self.branch(f"(({parts[0]} >> ({v} - 1)) & 1){empty}", f"{found} = {v}")
                self.end()
                return found
            case "union":
                return f"({parts[0]} | {parts[1]})"
            case "+" | "-" | "*":
                return f"({parts[0]} {operator} {parts[1]})"
        raise RoundsError(f"`{operator}` is not written in Promela")

    def compared(self, operator: str, left: Node, right: Node, bound: Mapping[str, str]) -> str:
        """A comparison, with fractions multiplied out."""
        sides, scale = [], 1
        for side in (left, right):
            fixed = self.rational(side)
            scale *= fixed.denominator if fixed is not None else 1
        for side in (left, right):
            fixed = self.rational(side)
            if fixed is not None:
                sides.append(str(fixed * scale))
            else:
                text = self.value(side, bound)
                sides.append(text if scale == 1 else f"{scale} * {text}")
        return f"{sides[0]} {COMPARISONS[operator]} {sides[1]}"


def _split(node: Node) -> list[Node]:
    """Quantifiers moved inwards over conjunctions."""
    if isinstance(node, r.Quantified) and node.universal:
        return [r.Quantified(True, node.names, piece) for part in r.conjuncts(node.body) for piece in _split(part)]
    return [node]
