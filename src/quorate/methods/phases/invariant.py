"""Cubes as formulas: that no state of any size belongs to one of them, for the checker of certificates.

Nothing here is believed: a certificate with these formulas is established again from the program's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quorate.logic.terms import TRUE, Term, Var, conj, disj, distinct, equal, forall, implies, neg
from quorate.methods.phases.cubes import Cube
from quorate.methods.phases.locals import LocalStates
from quorate.models.process_relational import PROCESS, ProcessTheory
from quorate.models.process_steps import Point
from quorate.models.relational import Named


class Formulas:
    """Formulas over the symbols of a program's theory."""

    def __init__(self, states: LocalStates) -> None:
        self.states = states
        self.theory = ProcessTheory(states.steps)

    def structural(self) -> Iterator[Named]:
        """What holds of every program: where processes are, and that who crashed is in no set and has none."""
        x, y, z = (Var(name, PROCESS) for name in "XYZ")
        yield Named("local", forall((x,), self.mask(x, self.states.everything)))
        crashed = self.theory.point(x, None)
        for name, kind in self.states.relations.items():
            holds = self.theory.symbols[name]
            yield Named(f"crashed without {name}", forall((x, y), implies(crashed, neg(holds(x, y)))))
            if kind == "id":
                both = conj(holds(x, y), holds(x, z))
                yield Named(f"one {name}", forall((x, y, z), implies(both, equal(y, z))))
            elif name in self.states.steps.lasting_sets:
                yield Named(f"others in {name}", forall((x,), neg(holds(x, x))))
            else:
                yield Named(f"crashed not in {name}", forall((x, y), implies(crashed, neg(holds(y, x)))))

    def excluded(self, cubes: Iterable[Cube]) -> list[Named]:
        """That no state belongs to a cube, for each of them."""
        return [Named(f"excluded {number}", self.exclusion(cube)) for number, cube in enumerate(cubes, 1)]

    def exclusion(self, cube: Cube) -> Term:
        who = [Var(f"P{i + 1}", PROCESS) for i in range(cube.size)]
        parts = [distinct(who)]
        parts += [self.mask(process, mask) for process, mask in zip(who, cube.masks, strict=True)]
        for (name, i, j), truth in sorted(cube.facts):
            fact = self.theory.symbols[name](who[i], who[j])
            parts.append(fact if truth else neg(fact))
        return forall(who, neg(conj(*parts)))

    def mask(self, process: Var, mask: int) -> Term:
        """That a process is in one of some local states; said by point and value where that is shorter."""
        by_point: dict[Point | None, list[tuple[int, ...]]] = {}
        missing: dict[Point | None, int] = {}
        for number, (point, values) in enumerate(self.states.states):
            if mask >> number & 1:
                by_point.setdefault(point, []).append(values)
            else:
                missing[point] = missing.get(point, 0) + 1
        whole_mask = mask == self.states.everything
        whole = [point for point in by_point if point not in missing and not whole_mask]
        absent = [point for point in dict.fromkeys(p for p, _ in self.states.states) if point not in by_point]
        parts = [
            conj(self.theory.point(process, point), self._valuations(process, values))
            for point, values in by_point.items()
            if point not in whole
        ]
        if not parts and len(absent) < len(whole):
            return conj(*(neg(self.theory.point(process, point)) for point in absent))
        return disj(*(self.theory.point(process, point) for point in whole), *parts)

    def _valuations(self, process: Var, listed: list[tuple[int, ...]]) -> Term:
        """That the integers have one of some values; as a product of sets where it is one."""
        columns = [sorted(set(column)) for column in zip(*listed, strict=True)]
        total = 1
        for column in columns:
            total *= len(column)
        if total == len(listed):
            return conj(
                *(
                    self._among(process, name, column)
                    for name, column in zip(self.states.integers, columns, strict=True)
                )
            )
        return disj(
            *(
                conj(*(self.theory.is_value(process, n, v) for n, v in zip(self.states.integers, values, strict=True)))
                for values in listed
            )
        )

    def _among(self, process: Var, name: str, values: list[int]) -> Term:
        everything = self.theory.ranges[name]
        if len(values) == len(everything):
            return TRUE
        return disj(*(self.theory.is_value(process, name, value) for value in values))
