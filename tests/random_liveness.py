"""Random small protocols with random fairness, as mypyvy text."""

from __future__ import annotations

from random import Random

from quorate.lang import parse
from quorate.models.relational import RelationalModel
from quorate.models.source import Source

FLAGS = ("a", "b", "c")


def random_protocol(seed: int) -> RelationalModel:
    """Three flags and a relation over nodes, a few steps, some fairness, one property."""
    random = Random(seed)

    def literal(variable: str | None) -> str:
        atoms = list(FLAGS) + ([f"r({variable})"] * 3 if variable else [])
        return random.choice(("", "!")) + random.choice(atoms)

    def formula(variable: str | None, most: int = 2) -> str:
        return " & ".join(dict.fromkeys(literal(variable) for _ in range(random.randint(1, most))))

    lines = ["sort node", *(f"mutable relation {flag}" for flag in FLAGS), "mutable relation r(node)"]
    lines += [f"init {random.choice(('', '!'))}{flag}" for flag in FLAGS] + ["init !r(N)"]
    steps = []
    for number in range(random.randint(2, 4)):
        with_node = random.random() < 0.6
        name = f"t{number}"
        steps.append((name, with_node))
        changed = random.sample(FLAGS, random.randint(0, 2))
        parts = [formula("n" if with_node else None)]
        parts += [f"new({flag}) <-> {random.choice(('true', 'false', f'!{flag}', literal(None)))}" for flag in changed]
        if with_node:
            changed = [*changed, "r"]
            value = random.choice(("r(N) | N = n", "r(N) & N != n", "r(N)"))
            parts.append(f"forall N. new(r(N)) <-> ({value})")
        body = "\n".join(f"  & ({part})" for part in parts)
        modifies = f"\n  modifies {', '.join(changed)}" if changed else " ="
        lines.append(f"transition {name}({'n: node' if with_node else ''}){modifies}\n{body}")
    for _ in range(random.randint(0, 4)):
        strength = random.choice(("weak", "strong"))
        if random.random() < 0.7:
            name, with_node = random.choice(steps)
            condition = f" when {formula('N' if with_node else None, 1)}" if random.random() < 0.3 else ""
            target = f"forall N. {name}(N)" if with_node else name
            lines.append(f"fairness {strength} {target}{condition}")
        else:
            lines.append(f"fairness {random.choice(('', strength))} {formula(None)} when {formula(None)}")
    variable = "N" if random.random() < 0.5 else None
    lines.append(f"liveness [goal] {'forall N:node. ' if variable else ''}{formula(variable)} ~> {formula(variable)}")
    return parse(Source("random.pyv", "\n".join(lines) + "\n")).model
