from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.engines.explicit.expressions import Graph
from quorate.engines.explicit.system import Layout, Permutation, Rule, System

sizes = st.lists(st.integers(1, 5) | st.integers(1, 256), max_size=60)
numbers_of_worlds = st.integers(1, 9) | st.integers(1, 100_000)


@st.composite
def packed_states(draw):
    """Sizes of fields, a number of worlds, a state and a world."""
    fields, worlds = draw(sizes), draw(numbers_of_worlds)
    state = tuple(draw(st.integers(0, size - 1)) for size in fields)
    return fields, worlds, state, draw(st.integers(0, worlds - 1))


def spans(layout):
    """The bits of every field and of the world, numbered through all words."""
    return [
        range(place.word * 64 + place.shift, place.word * 64 + place.shift + place.bits)
        for place in (*layout.places, layout.world)
    ]


@given(packed_states())
def test_unpacking_gives_back_what_was_packed(sample):
    fields, worlds, state, world = sample
    layout = Layout.of(fields, worlds)
    assert layout.unpack(layout.pack(state, world)) == (state, world)


@given(packed_states())
def test_one_bit_of_the_last_word_stays_free(sample):
    fields, worlds, state, world = sample
    words = Layout.of(fields, worlds).pack(state, world)
    assert all(0 <= word < 1 << 64 for word in words)
    assert words[-1] < 1 << 63


@given(sizes, numbers_of_worlds)
def test_no_field_crosses_a_byte_and_none_overlap(fields, worlds):
    layout = Layout.of(fields, worlds)
    taken = spans(layout)
    for size, span in zip((*fields, worlds), taken, strict=True):
        assert len(span) == (size - 1).bit_length()
    for span in taken[:-1]:
        assert not span or span[0] // 8 == span[-1] // 8
    assert not taken[-1] or taken[-1][0] // 64 == taken[-1][-1] // 64
    used = [bit for span in taken for bit in span]
    assert len(used) == len(set(used)) == layout.bits
    assert all(bit < layout.words * 64 - 1 for bit in used)


@given(sizes, numbers_of_worlds)
def test_no_word_is_wasted(fields, worlds):
    """Every word but the last is used, and the last one too unless the ones before it are full to the last bit."""
    layout = Layout.of(fields, worlds)
    used = {bit for span in spans(layout) for bit in span}
    for word in range(layout.words - 1):
        assert any(bit // 64 == word for bit in used)
    last = layout.words - 1
    assert last == 0 or any(bit // 64 == last for bit in used) or last * 64 - 1 in used


@pytest.mark.parametrize(
    "fields, worlds, words",
    [
        ([], 1, 1),
        ([1] * 500, 1, 1),
        ([2] * 63, 1, 1),
        ([2] * 64, 1, 2),
        ([256] * 7, 128, 1),
        ([256] * 7, 129, 2),
        ([256] * 8, 1, 2),
        ([256] * 15, 2, 2),
        ([5] * 16, 1, 1),
        ([5] * 17, 1, 2),
        ([256] * 7, 257, 2),
    ],
)
def test_number_of_words(fields, worlds, words):
    assert Layout.of(fields, worlds).words == words


def test_a_field_larger_than_a_byte_is_refused():
    assert Layout.of([256], 1).places[0].bits == 8
    with pytest.raises(ValueError, match="257 values"):
        Layout.of([2, 257], 1)


# -- permutations ----------------------------------------------------------------------------------------------------

COUNT, VALUES = 4, 3


@st.composite
def field_permutations(draw):
    places = tuple(draw(st.permutations(range(COUNT))))
    return Permutation(places, tuple(tuple(draw(st.permutations(range(VALUES)))) for _ in range(COUNT)))


states = st.tuples(*[st.integers(0, VALUES - 1)] * COUNT)


@given(field_permutations(), states)
def test_a_permutation_moves_every_field_and_renames_its_value(permutation, state):
    image = permutation.apply(state)
    assert len(image) == COUNT
    for i, value in enumerate(state):
        assert image[permutation.places[i]] == permutation.values[i][value]


@given(field_permutations(), states, states)
def test_a_permutation_is_one_to_one(permutation, left, right):
    assert (permutation.apply(left) == permutation.apply(right)) == (left == right)


def test_repeating_a_permutation_leads_back():
    for places in permutations(range(3)):
        permutation = Permutation(places, ((1, 0),) * 3)
        image = (0, 1, 1)
        for _ in range(6):
            image = permutation.apply(image)
        assert image == (0, 1, 1)


def test_a_state_of_another_length_is_refused():
    with pytest.raises(ValueError):
        Permutation((0, 1), ((0, 1), (0, 1))).apply((0, 1, 1))


# -- systems ---------------------------------------------------------------------------------------------------------


def test_transitions_are_named_once_in_order():
    rules = tuple(Rule(name, (), (), (), ()) for name in ("b", "a", "b", "c", "a"))
    system = System(Graph(), (2,), (), ((),), (), rules, ())
    assert system.transitions == ("b", "a", "c")
    assert system.layout == Layout.of((2,), 1)
