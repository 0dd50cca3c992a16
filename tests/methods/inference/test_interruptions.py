"""Refutations: a search that is interrupted, at whatever question, finds what it would have found."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from quorate.engines.smt.session import Limits
from quorate.lang import load
from quorate.methods.inference.houdini import Deadline, OutOfTime
from quorate.methods.inference.refutations import Refutations
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import Found, Task


@dataclass(frozen=True)
class Once(Deadline):
    """Over at one question, and not before or after."""

    at: int = 0
    asked: count = field(default_factory=lambda: count(1))

    def left(self) -> float:
        return -1.0 if next(self.asked) == self.at else 1000.0


def test_an_interruption_loses_nothing():
    model = load("protocols/relational/two_phase_commit.ivy").model
    task = Task(model, Limits(), 0, Deadline(), lambda text: None)
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    shape = Shape(dict.fromkeys(sorts, 1), 3, len(sorts))

    def interrupted(at: int) -> tuple[int, int]:
        search, found = Refutations(task, shape), Found(model)
        task.until = Once(at=at)
        times = 0
        while found.certificate is None:
            try:
                assert search.go_on(found) is None
            except OutOfTime:
                times += 1
        return times, max(len(refuter.search.layers) for refuter in search.refuters)

    assert interrupted(0) == (0, 2)
    questions = next(task.until.asked)
    assert questions > 50
    for at in range(1, questions, 2):
        assert interrupted(at)[0] == 1
