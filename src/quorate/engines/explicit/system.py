"""The finite-state form that every family of models is lowered to, and how its states are packed into words.

A system has fields with finitely many values, worlds (what is fixed for a whole run: each run is in one of them), rules
that lead from state to state, and properties.  Nothing here knows where a system comes from.  Read `reference` next for
what it means, `emit` for how it becomes C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from quorate.engines.explicit.expressions import Graph, Node
from quorate.engines.explicit.peers import Peers

WORD = 64
LARGEST_FIELD = 256
"""A field fits into a byte, and never crosses a byte's border: so permuting a state is a table look-up per byte."""


@dataclass(frozen=True)
class Rule:
    """A ground step: where all of `guard` holds, for any values of the choices, the updated fields get new values at once.

    `name` and `bindings` say which transition, with which parameters, it stands for.  `choices` are the numbers of values
    of the step's own unknowns.  The rule of initial states has a choice per field and updates each field to its choice.
    """

    name: str
    bindings: tuple[int, ...]
    choices: tuple[int, ...]
    guard: tuple[Node, ...]
    updates: tuple[tuple[int, Node], ...]


@dataclass(frozen=True)
class Permutation:
    """A symmetry of one world: field `i` moves to `places[i]`, its value `v` becomes `values[i][v]`."""

    places: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]

    def apply(self, state: Sequence[int]) -> tuple[int, ...]:
        result = [0] * len(state)
        for place, values, value in zip(self.places, self.values, state, strict=True):
            result[place] = values[value]
        return tuple(result)


MOST_PROPERTIES = 64
"""The properties that a state violates are the bits of one word."""

Block = tuple[tuple[int, ...], ...]
"""Things that may be permuted freely and touch nothing else: for each of them its fields, in the same order for all."""


@dataclass(frozen=True)
class System:
    """A finite-state transition system.

    `fields` and `rigid` give the number of values of each field of the state and of the world.  `symmetry` lists, for each
    world, permutations that map initial states to initial states, steps to steps and keep every property: a whole group,
    the identity included.  It is None where no symmetry may be used, and then `why_not` says why.  Each of the `blocks`
    may be permuted as well, in every world: those symmetries are too many to list, but states are brought into order by
    sorting.  So may the `peers`, to which all fields belong; then there are no blocks, and no permutations but the identity.
    """

    graph: Graph
    fields: tuple[int, ...]
    rigid: tuple[int, ...]
    worlds: tuple[tuple[int, ...], ...]
    initial: tuple[Rule, ...]
    rules: tuple[Rule, ...]
    properties: tuple[tuple[str, Node], ...]
    symmetry: tuple[tuple[Permutation, ...], ...] | None = None
    blocks: tuple[Block, ...] = ()
    peers: Peers | None = None
    why_not: str = "the system declares no symmetry"

    @cached_property
    def transitions(self) -> tuple[str, ...]:
        """The names of the transitions, each once, in order."""
        return tuple(dict.fromkeys(rule.name for rule in self.rules))

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(self.fields, len(self.worlds))


@dataclass(frozen=True)
class Place:
    """Where a field lies: in which word, from which bit on, how many bits."""

    word: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True)
class Layout:
    """How a state is packed into 64-bit words; one bit of the last word always stays free."""

    places: tuple[Place, ...]
    world: Place
    words: int
    sizes: tuple[int, ...] = field(repr=False, default=())

    @staticmethod
    def of(sizes: Sequence[int], worlds: int) -> Layout:
        """Fields in order, each in the first byte with room for it; the number of the world comes last, in bytes of its own."""
        free: list[int] = []
        places = []
        for size in sizes:
            if size > LARGEST_FIELD:
                raise ValueError(f"a field with {size} values does not fit into a byte")
            bits = (size - 1).bit_length()
            byte = next((i for i, room in enumerate(free) if room >= bits), len(free))
            if byte == len(free):
                free.append(8)
            places.append(Place(byte // 8, byte % 8 * 8 + 8 - free[byte], bits))
            free[byte] -= bits
        bits = (worlds - 1).bit_length()
        byte = next((i for i, room in enumerate(free) if room >= bits), len(free))
        start = byte * 8 + (8 - free[byte] if byte < len(free) else 0)
        if bits > 8 and start // WORD != (start + bits - 1) // WORD:
            start = (start // WORD + 1) * WORD
        world = Place(start // WORD, start % WORD, bits)
        last = max([start + bits] + [place.word * WORD + place.shift + place.bits for place in places])
        return Layout(tuple(places), world, last // WORD + 1, tuple(sizes))

    @property
    def bits(self) -> int:
        """The bits that carry information."""
        return self.world.bits + sum(place.bits for place in self.places)

    def pack(self, state: Sequence[int], world: int = 0) -> tuple[int, ...]:
        words = [0] * self.words
        for place, value in zip((*self.places, self.world), (*state, world), strict=True):
            words[place.word] |= value << place.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """The values of the fields, and the world."""

        def read(place: Place) -> int:
            return words[place.word] >> place.shift & (1 << place.bits) - 1

        return tuple(read(place) for place in self.places), read(self.world)
