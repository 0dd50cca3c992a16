"""Random small round-based algorithms, as text: most are nonsense as protocols, all are legal."""

from __future__ import annotations

from random import Random

THRESHOLDS = ("n/2", "0", "1", "2*n/3", "n - 1")


class Generator:
    """Writes an algorithm; `coordinators` and `steps` say of which family."""

    def __init__(self, random: Random, coordinators: bool = False, faults: str = "") -> None:
        self.random = random
        self.coordinators = coordinators
        self.faults = faults
        self.has_time = random.random() < 0.4
        self.has_flag = random.random() < 0.5
        self.has_set = not coordinators and random.random() < 0.15

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def text(self) -> str:
        lines = ["algorithm Random", "state", "  x: value = proposal", "  y: value or ? = ?"]
        lines += ["  t: time = 0"] * self.has_time + ["  b: bool = false"] * self.has_flag
        lines += ["  s: set of value = {proposal}"] * self.has_set
        for _ in range(self.random.randint(1, 2)):
            lines += self.round()
        if self.faults:
            lines += ["phases 2", f"faults {self.faults}"]
        elif self.random.random() < 0.4:
            lines.append(self.safe())
        lines.append("property agreement, validity")
        if self.random.random() < 0.3:
            lines.append("safety [mine] forall p, q. x(p) = x(q) or decision(p) = ?")
        return "\n".join(lines) + "\n"

    def safe(self) -> str:
        return self.pick(
            "safe forall p, q. HO(p, 1) meets HO(q, 1)",
            "safe forall p. #HO(p, 1) > n/2",
            "safe forall p. p in HO(p, 1)",
            "safe forall p, q. HO(p, 1) = HO(q, 1)",
            "safe #kernel(1) >= 1",
            "safe exists c. forall p. c in HO(p, 1)",
        )

    def round(self) -> list[str]:
        sent = self.pick(
            "<x>", "<x, y>", "<y>", *(["<x, t>"] if self.has_time else []), *(["<s>"] if self.has_set else [])
        )
        self.shape = sent
        to = "coordinator" if self.coordinators and self.random.random() < 0.4 else "all"
        guard = f"if {self.condition(False)}: " if self.random.random() < 0.3 else ""
        lines = ["round", f"  {guard}send {sent} to {to}"]
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(1)
        return lines

    def pattern(self, name: str = "_") -> str:
        return {
            "<x>": f"<{name}>",
            "<x, y>": f"<_, {name}>",
            "<y>": f"<{name}>",
            "<x, t>": f"<{name}, _>",
            "<s>": "<_>",
        }[self.shape]

    def anything(self) -> str:
        return "<_, _>" if "," in self.shape else "<_>"

    def condition(self, hearing: bool) -> str:
        options = ["x = y", "y = ?", "phase = 1"]
        options += ["b", "not b"] * self.has_flag + ["t = phase", "t = 0"] * self.has_time
        options += ["coordinator = self"] * 3 * self.coordinators
        if hearing:
            options += [f"#{self.anything()} {self.pick('>', '>=', '=')} {self.pick(*THRESHOLDS)}"] * 4
            if self.shape != "<s>":
                options.append(f"#{self.pattern('x')} > {self.pick(*THRESHOLDS)}")
        first = self.random.choice(options)
        return f"{first} and {self.condition(hearing)}" if self.random.random() < 0.2 else first

    def value(self, bound: str | None) -> str:
        options = ["x", "y"] + [bound, bound] * (bound is not None)
        if self.shape != "<s>" and bound is None:
            picks = ("one", "smallest", "most frequent", "smallest most frequent", "largest")
            options += [f"{self.pick(*picks)} w of {self.pattern('w')}"] * 2
        if self.shape == "<x, t>" and bound is None:
            options += ["one w of <w, u> with largest u"] * 2
        return self.random.choice(options)

    def statement(self, depth: int, bound: str | None = None) -> list[str]:
        indent = "  " * depth
        roll = self.random.random()
        if roll < 0.4 and depth < 3:
            condition, name = self.condition(True), bound
            if self.shape != "<s>" and bound is None and self.random.random() < 0.5:
                name = "v"
                whence = " from coordinator" if self.coordinators and self.random.random() < 0.5 else ""
                condition = self.pick(
                    f"{self.pattern('v')} received{whence}",
                    f"all received are {self.pattern('v')}",
                    f"{self.pattern('v')} received with v != ?",
                    f"{self.pattern('v')} received with #{self.pattern('v')} > n/2",
                )
            lines = [f"{indent}if {condition}:", *self.statement(depth + 1, name)]
            if self.random.random() < 0.3:
                lines += [f"{indent}else:", *self.statement(depth + 1, bound)]
            return lines
        if roll < 0.6:
            return [f"{indent}decide {self.value(bound)}"]
        options = [f"x := {self.value(bound)}", f"y := {self.value(bound)}", "y := ?"]
        options += ["b := true", "b := false"] * self.has_flag + ["t := phase"] * 2 * self.has_time
        options += ["s := s + union w of <w>"] * 3 * (self.has_set and self.shape == "<s>")
        options += ["decide smallest of s"] * self.has_set
        return [indent + self.random.choice(options)]


NAMES = ("p", "q", "p1", "p10", "P", "M", "N", "Q", "V", "those", "good", "hears", "node", "broken")
"""Names of processes, some of which the form for every n uses itself, or would if a number were added."""
PICKS = ("one", "smallest", "largest", "most frequent", "smallest most frequent", "largest most frequent")
Scope = dict[str, str]
"""Names that messages have bound, with their kinds."""


class Wide:
    """Writes algorithms with every construct of docs/rounds.md.  `family`: rounds, coordinators, crashes, omissions or steps."""

    def __init__(self, random: Random, family: str = "rounds") -> None:
        self.random = random
        self.family = family
        self.variables: dict[str, str] = {"x": "value"}
        for name, kind in (
            ("y", "optional"),
            ("b", "bool"),
            ("t", "time"),
            ("s", "set"),
            ("z", "value"),
            ("c", "bool"),
        ):
            if self.chance(0.15 if kind == "set" else 0.45) and not (family == "steps" and kind == "time"):
                self.variables[name] = kind
        self.shared: dict[str, str] = {}
        self.parameters = [name for name in ("f", "k") if self.chance(0.25)]
        self.tags = ["ack", "nack"][: random.randint(0, 2)] if family != "steps" else []
        self.message: list[tuple[str, str]] | None = None

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def of_kind(self, *kinds: str) -> list[str]:
        return [name for name, kind in {**self.variables, **self.shared}.items() if kind in kinds]

    # -- the file --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        lines = ["algorithm Random"]
        for name in self.parameters:
            limit = self.pick(f"2*{name} < n", f"{name} <= n", f"3*{name} <= 2*n - 1", "")
            lines.append(f"parameter {name} = {self.pick('0', '1')}" + f" with {limit}" * bool(limit))
        lines += [f"tag {', '.join(self.tags)}"] * bool(self.tags)
        first = {"value": "proposal", "optional": self.pick("?", "proposal"), "bool": self.pick("true", "false")}
        first |= {"time": "0", "set": "{proposal}"}
        written = {"optional": "value or ?", "set": "set of value"}
        rows = [f"  {name}: {written.get(kind, kind)} = {first[kind]}" for name, kind in self.variables.items()]
        lines += ["state", *rows]
        if self.family == "steps":
            self.shared = {"r": "optional", "d": "bool"}
            lines += ["shared", "  r: value or ? = ?", "  d: bool = false"]
        self.count = self.random.choice((1, 1, 2, 2, 3))
        for number in range(self.count):
            lines += self.acting(number + 1)
        lines += self.communication() + self.claims()
        return "\n".join(lines) + "\n"

    def acting(self, number: int) -> list[str]:
        self.message = None
        if self.family == "steps":
            lines = ["step"]
        else:
            lines = [self.pick("round", f"round {number}", f"round r{number}")]
            if self.chance(0.9):
                parts = [self.part() for _ in range(self.random.randint(1, 2))]
                to = "coordinator" if self.family == "coordinators" and self.chance(0.4) else "all"
                guard = f"if {self.condition({}, 1)}: " if self.chance(0.3) else ""
                lines.append(f"  {guard}send <{', '.join(text for text, _ in parts)}> to {to}")
                self.message = [(kind, text) for text, kind in parts]
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(1, {})
        return lines

    def part(self) -> tuple[str, str]:
        options = [(name, kind) for name, kind in self.variables.items()] * 3
        options += [(tag, "tag") for tag in self.tags] + [("phase", "time"), ("?", "optional")]
        return self.random.choice(options)

    def communication(self) -> list[str]:
        lines = []
        if self.family == "crashes":
            lines += [f"phases {self.pick('2', '1', *(f'{p} + 1' for p in self.parameters))}"]
            lines.append(f"faults crashes {self.pick('1', 'n - 1', 'n - 2', *self.parameters, '')}")
        elif self.family == "omissions":
            lines += ["phases 2"] * self.chance(0.5)
            lines.append(
                f"faults omissions {self.pick('1', '2', *self.parameters, '')} in {self.pick('1', '2')} rounds"
            )
        if self.family in ("rounds", "coordinators"):
            if self.chance(0.5):
                parts = [self.predicate(self.count) for _ in range(self.random.randint(1, 2))]
                lines.append(f"safe {' and '.join(parts)}")
            if self.chance(0.4):
                lines.append(f"sync {self.predicate(2 * self.count)}")
                self.has_sync = True
        return lines

    def predicate(self, last: int) -> str:
        i, j = (self.random.randint(1, last) for _ in range(2))
        p, q = self.random.sample(NAMES, 2)
        options = [
            f"(forall {p}, {q}. HO({p}, {i}) meets HO({q}, {i}))",
            f"(forall {p}, {q}. HO({p}, {i}) = HO({q}, {i}))",
            f"(forall {p}. #HO({p}, {i}) {self.pick('>', '>=')} {self.bound()})",
            f"(forall {p}. {p} in HO({p}, {i}))",
            f"(exists {q}. forall {p}. {q} in HO({p}, {i}))",
            f"#kernel({i}) >= 1",
            f"(forall {p}. exists {q}. {q} in HO({p}, {i}) and not {q} = {p} or n = 1)",
            f"(forall {p}. HO({p}, {i}) <= HO({p}, {j}))",
            f"(forall {p}. #HO({p}, {i}) < {self.bound()} -> exists {p}. {p} in kernel({i}))",
            f"not (exists {p}. #HO({p}, {i}) <= {self.bound()})",
        ]
        if self.family == "coordinators":
            options += [
                f"(forall {p}, {q}. coordinator({p}) = coordinator({q}))",
                f"(exists {q}. forall {p}. coordinator({p}) = {q} and {q} in HO({p}, {i}))",
                f"(forall {p}. coordinator({p}) in HO({p}, {i}))",
            ]
        return self.random.choice(options)

    def bound(self) -> str:
        options = ["n/2", "2*n/3", "0", "1", "n - 1", "n", "n/3 + 1/2", "5*n/7", "n - 2", "0 - 1", "max(1, n - 2)"]
        options += [f"n - {name}" for name in self.parameters] + [f"(n + {name})/2" for name in self.parameters]
        return self.random.choice(options)

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self, depth: int, scope: Scope) -> list[str]:
        indent = "  " * depth
        roll = self.random.random()
        if roll < 0.4 and depth < 4:
            condition, inner = self.binding(scope)
            lines = [f"{indent}if {condition}:", *self.statement(depth + 1, inner)]
            if self.chance(0.2):
                lines += self.statement(depth + 1, inner)
            if self.chance(0.3):
                lines += [f"{indent}else:", *self.statement(depth + 1, scope)]
            return lines
        if roll < 0.6:
            return [f"{indent}decide {self.value(scope, True)}"]
        name = self.random.choice([*self.variables, *self.shared])
        kind = {**self.variables, **self.shared}[name]
        if kind == "bool":
            value = self.pick("true", "false", self.condition(scope, 1))
        elif kind == "time":
            value = self.pick("phase", "0", *self.of_kind("time"))
        elif kind == "set":
            value = self.sets(scope)
        else:
            value = self.value(scope, True)
        return [f"{indent}{name} := {value}"]

    def sets(self, scope: Scope) -> str:
        options = ["s", f"{{{self.value(scope, False)}}}", f"s + {{{self.value(scope, False)}}}"]
        options += [name for name, kind in scope.items() if kind == "set"] * 2
        known = [name for name, kind in scope.items() if kind == "set"]
        options += [f"{a} + {b}" for a in known for b in known]
        place = self.place("set")
        if place is not None:
            options += [f"s + union w of {self.pattern(scope, {place: 'w'})}"] * 3
        return self.random.choice(options)

    def value(self, scope: Scope, picking: bool) -> str:
        options = [*self.of_kind("value", "optional"), "?"]
        options += [name for name, kind in scope.items() if kind in ("value", "optional")] * 3
        options += [f"{self.pick('smallest', 'largest')} of s"] * ("s" in self.variables)
        place = self.place("value", "optional")
        if picking and place is not None and "w" not in scope:
            options += [self.picked(scope, place) for _ in range(3)]
        return self.random.choice(options)

    def picked(self, scope: Scope, place: int) -> str:
        kept = "kept " * (self.family != "steps" and self.chance(0.05))
        names = {place: "w"}
        other = self.place("time", "value", "optional", but=place)
        pick, extreme = self.pick(*PICKS), ""
        if other is not None and self.chance(0.5):
            names[other] = "u"
            pick, extreme = "one", f" with {self.pick('largest', 'smallest')} u"
        where = f" where {self.condition({**scope, 'w': 'value'}, 1)}" if self.chance(0.3) else ""
        return f"{pick} w of {kept}{self.pattern(scope, names)}{extreme}{where}"

    # -- messages and conditions -------------------------------------------------------------------------------------

    def place(self, *kinds: str, but: int | None = None) -> int | None:
        found = [i for i, (kind, _) in enumerate(self.message or []) if kind in kinds and i != but]
        return self.random.choice(found) if found else None

    def pattern(self, scope: Scope, names: dict[int, str], comparing: float = 0.3) -> str:
        parts = []
        for i, (kind, _) in enumerate(self.message or []):
            known = [name for name, other in {**self.variables, **scope}.items() if other == kind]
            known += {"tag": self.tags, "time": ["phase", "0"], "optional": ["?"], "bool": ["true"]}.get(kind, [])
            parts.append(names.get(i) or (self.pick(*known) if known and self.chance(comparing) else "_"))
        return f"<{', '.join(parts)}>"

    def binding(self, scope: Scope) -> tuple[str, Scope]:
        """A condition of an `if`, perhaps one that binds names."""
        if self.message is None or self.chance(0.5):
            return self.condition(scope, 2), scope
        free = [name for name in ("v", "w", "u", "M", "good") if name not in scope]
        place = self.random.randrange(len(self.message))
        if not free:
            return self.condition(scope, 2), scope
        inner = {**scope, free[0]: self.message[place][0]}
        pattern = self.pattern(scope, {place: free[0]})
        whence = " from coordinator" if self.family == "coordinators" and self.chance(0.5) else ""
        text = self.pick(
            f"{pattern} received{whence}",
            f"{pattern} received{whence} with {self.condition(inner, 1)}",
            f"all received are {pattern}",
        )
        if self.chance(0.3):
            text = (
                f"{text} and {self.condition(inner, 1)}"
                if " with " not in text
                else f"({text}) and {self.condition(inner, 0)}"
            )
        return text, inner

    def condition(self, scope: Scope, depth: int) -> str:
        if depth and self.chance(0.35):
            one, two = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.pick(f"({one} and {two})", f"({one} or {two})", f"not ({one})", f"({one} -> {two})")
        values = [*self.of_kind("value", "optional"), "?"]
        values += [name for name, kind in scope.items() if kind in ("value", "optional")] * 2
        options = [f"{self.pick(*values)} {self.pick('=', '!=')} {self.pick(*values)}"] * 2
        options += [f"{self.pick(*values)} {self.pick('<', '<=')} {self.pick(*values)}"] * self.chance(0.2)
        options += self.of_kind("bool") + [name for name, kind in scope.items() if kind == "bool"]
        if self.family != "steps":
            times = ["phase", *self.of_kind("time"), *(n for n, kind in scope.items() if kind == "time")]
            options.append(f"{self.pick(*times)} {self.pick('<', '=', '>=')} {self.pick(*times)}")
            options.append(f"phase {self.pick('<', '=', '>')} {self.pick('1', '2', *self.parameters)}")
        if "s" in self.variables:
            options += [f"{self.pick(*values)} in s", f"#(s) > {self.pick('1', '2')}"]
        if self.family == "coordinators":
            options += ["coordinator = self"] * 3
        if self.message is not None:
            options += [self.counted(scope) for _ in range(4)]
        return self.random.choice(options)

    def counted(self, scope: Scope) -> str:
        kept = "kept " * self.chance(0.04)
        one, two = self.pattern(scope, {}, 0.5), self.pattern(scope, {}, 0.5)
        operator = self.pick(">", ">=", "<", "<=", "=", "!=")
        return self.pick(
            f"#{kept}{one} {operator} {self.bound()}",
            f"#{kept}{one} {operator} {self.bound()}",
            f"2*#{one} {operator} {self.bound()} + n",
            f"{self.bound()} {operator} #{one}",
            f"#{self.pattern(scope, {}, 0.0)} - #{two} {operator} {self.bound()}",
        )

    # -- properties ------------------------------------------------------------------------------------------------

    def claims(self) -> list[str]:
        built_in = ["agreement", "validity"] + ["irrevocability"] * self.chance(0.3)
        if getattr(self, "has_sync", False) or self.family in ("crashes", "omissions"):
            built_in += ["termination"] * self.chance(0.7)
        lines = [f"property {', '.join(built_in)}"]
        for number in range(self.random.randint(0, 2)):
            lines.append(f"safety [own{number}] {self.formula([], 3)}")
        if self.chance(0.2):
            lines.append(f"invariant [lemma] {self.formula([], 2)}")
        return lines

    def formula(self, names: list[str], depth: int) -> str:
        if not names or (depth and self.chance(0.3)):
            new = [self.pick(*NAMES)] if self.chance(0.7) else self.random.sample(NAMES, 2)
            inner = [*(name for name in names if name not in new), *new]
            if names and self.chance(0.4):
                body = self.formula([*(name for name in names if name != new[0]), new[0]], max(0, depth - 1))
                return f"#{{{new[0]} : {body}}} {self.pick('>', '>=', '<', '<=')} {self.bound()}"
            return f"({self.pick('forall', 'forall', 'exists')} {', '.join(new)}. {self.formula(inner, max(0, depth - 1))})"
        if depth and self.chance(0.5):
            one, two = self.formula(names, depth - 1), self.formula(names, depth - 1)
            return self.pick(f"({one} and {two})", f"({one} or {two})", f"not ({one})", f"({one} -> {two})")
        p, q = self.pick(*names), self.pick(*names)
        values = [
            f"{name}({p})"
            for name in [*self.of_kind("value", "optional"), "decision"]
            if name in [*self.variables, "decision"]
        ]
        others = [
            f"{name}({q})"
            for name in [*self.of_kind("value", "optional"), "decision"]
            if name in [*self.variables, "decision"]
        ]
        options = [f"{self.pick(*values)} {self.pick('=', '!=')} {self.pick(*others, '?')}"] * 3
        options += [f"{name}({p})" for name in self.of_kind("bool") if name in self.variables]
        options += [f"{p} = {q}"]
        if self.family != "steps":
            options += [f"phase {self.pick('<', '=', '>')} {self.pick('1', '2', '3')}"]
            times = [f"{name}({p})" for name in self.of_kind("time")]
            options += (
                [f"{self.pick(*times)} {self.pick('<', '=', '<=')} {self.pick('phase', *times)}"] if times else []
            )
        return self.random.choice(options)
