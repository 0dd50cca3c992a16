"""Every sequence of choices is run once; what is never asked for is not enumerated; impossible runs give nothing."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from quorate.proof.twins.choices import Choices, Impossible, every


@given(st.lists(st.integers(1, 3), max_size=4), st.integers(0, 100) | st.none())
def test_all_sequences(counts: list[int], seed: int | None) -> None:
    def program(choices: Choices) -> tuple[int, ...]:
        return tuple(choices.choose(count) for count in counts)

    found = list(every(program, None if seed is None else Random(seed)))
    assert sorted(found) == sorted(product(*map(range, counts)))


def test_later_choices_may_depend_on_earlier_ones() -> None:
    def program(choices: Choices) -> list[int]:
        made = [choices.choose(2)]
        if made[0]:
            made.append(choices.choose(3))
        if made == [1, 1]:
            raise Impossible
        return made

    assert list(every(program)) == [[0], [1, 0], [1, 2]]


def test_no_option_is_impossible_and_a_caller_can_stop() -> None:
    assert list(every(lambda choices: choices.choose(0))) == []
    seen: list[int] = []
    for number in every(lambda choices: choices.choose(9), stop=lambda: len(seen) == 3):
        seen.append(number)
    assert seen == [0, 1, 2]
