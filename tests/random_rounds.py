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
