"""Random small systems, for hypothesis: built directly, so that shapes occur that no protocol is lowered to."""

from __future__ import annotations

from itertools import permutations, product

from hypothesis import strategies as st

from quorate.engines.explicit.expressions import CHOICE, FALSE, TRUE, Graph
from quorate.engines.explicit.system import Permutation, Rule, System

MOST_STATES = 600
"""Of one world: so that the reference is done in no time."""


class _Builder:
    """Draws expressions over the fields, the rigid fields and the choices of one rule."""

    def __init__(self, draw, fields, rigid, alone=()):
        self.draw, self.graph = draw, Graph()
        self.fields, self.rigid = fields, rigid
        self.alone = set(alone)

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def some(self, options, counts):
        """Different members of a list, about as many as one of the counts says."""
        return sorted({self.pick(options) for _ in range(self.pick(counts))})

    def leaves(self, choices, with_fields):
        """Every leaf that may be read, with its number of values; fields in `alone` are never read."""
        found = [(self.graph.rigid(i), size) for i, size in enumerate(self.rigid)]
        if with_fields:
            found += [(self.graph.field(i), size) for i, size in enumerate(self.fields) if i not in self.alone]
        return found + [(self.graph.choice(i), size) for i, size in enumerate(choices) if size > 1]

    def truth(self, leaves, depth):
        graph = self.graph
        kinds = ["leaf", "compare", "compare", "equal"]
        if depth > 0:
            kinds += ["not", "and", "or", "iff", "if", "and", "or"]
        kind = self.pick(kinds)
        truths = [node for node, size in leaves if size == 2]
        if kind == "leaf":
            return self.pick([*truths * 5, TRUE, FALSE])
        if kind in ("compare", "equal") and not leaves:
            return TRUE
        if kind == "compare":
            node, size = self.pick(leaves)
            return graph.equal(node, graph.const(self.draw(st.integers(0, size - 1))))
        if kind == "equal":
            node, size = self.pick(leaves)
            return graph.equal(node, self.number(leaves, size, depth - 1))
        if kind == "not":
            return graph.neg(self.truth(leaves, depth - 1))
        members = [self.truth(leaves, depth - 1) for _ in range(3 if kind == "if" else self.draw(st.integers(2, 3)))]
        match kind:
            case "and":
                return graph.conj(members)
            case "or":
                return graph.disj(members)
            case "iff":
                return graph.iff(*members[:2])
            case _:
                return graph.choose_truth(*members)

    def number(self, leaves, size, depth):
        """An expression with fewer than `size` values."""
        graph = self.graph
        if size == 2 and self.draw(st.booleans()):
            return self.truth(leaves, depth)
        fitting = [node for node, values in leaves if values <= size]
        if depth > 0 and self.pick([True, False, False]):
            branches = self.number(leaves, size, depth - 1), self.number(leaves, size, depth - 1)
            return graph.choose(self.truth(leaves, depth - 1), *branches)
        choices = [node for node in fitting if graph.nodes[node][0] == CHOICE]
        if fitting and self.pick([True, True, False]):
            return self.pick(fitting + choices * 4)
        return graph.const(self.draw(st.integers(0, size - 1)))

    def guard(self, leaves, counts=(0, 1, 1, 2, 3)):
        members = [self.truth(leaves, 2) for _ in range(self.pick(counts))]
        return self.graph.conjuncts(self.graph.conj(members))


@st.composite
def systems(draw):
    """A system of one to three words, with up to three worlds and no symmetry."""
    live = [draw(st.sampled_from([2, 2, 3, 4, 5])) for _ in range(draw(st.sampled_from([1, 2, 3, 4, 4, 5, 6])))]
    states = 1
    for i, size in enumerate(live):
        states *= size
        if states > MOST_STATES:
            live = live[:i]
            break
    # Fields that nothing but an initial value or a constant is written to: they make states long, not many.
    padding = draw(st.sampled_from([[], [], [], [1], [200] * 9, [5] * 30, [200] * 17]))
    fields = draw(st.permutations([*live, *padding])) if len(padding) < 9 else [*padding[:8], *live, *padding[8:]]
    alone = [i for i, size in enumerate(fields) if size in (1, 200)] + ([*range(8)] if len(padding) == 30 else [])
    rigid = [draw(st.sampled_from([2, 2, 3, 5])) for _ in range(draw(st.sampled_from([0, 1, 2, 3])))]
    possible = list(product(*map(range, rigid)))
    worlds = sorted({draw(st.sampled_from(possible)) for _ in range(draw(st.sampled_from([1, 2, 3])))})
    builder = _Builder(draw, fields, rigid, alone)
    graph = builder.graph
    moving = [i for i in range(len(fields)) if i not in alone]

    def some_choices():
        return tuple(builder.pick([1, 2, 2, 3, 3, 4]) for _ in range(builder.pick([0, 1, 1, 2, 3])))

    def updates(indices, leaves, depth=2):
        return tuple((i, builder.number(leaves, fields[i], depth)) for i in indices)

    initial = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        choices = some_choices()
        leaves = builder.leaves(choices, with_fields=False)
        fixed = tuple((i, graph.const(draw(st.integers(0, fields[i] - 1)))) for i in alone[::3])
        chosen = builder.some(moving, (0, 1, 2, 3, 4))
        initial.append(Rule("", (), choices, builder.guard(leaves, (0, 0, 1)), updates(chosen, leaves) + fixed))
    rules = []
    for number in range(draw(st.sampled_from([0, *range(1, 8), *range(3, 8)]))):
        if builder.pick([True, False, False]):
            field = builder.pick(moving)
            guard = builder.guard(builder.leaves((), with_fields=True), (0, 1))
            rules.append(Rule("roam", (number,), (fields[field],), guard, ((field, graph.choice(0)),)))
            continue
        choices = some_choices()
        leaves = builder.leaves(choices, with_fields=True)
        chosen = builder.some(moving, (0, 1, 1, 2, 2, 3))
        name = draw(st.sampled_from(["step", "int", "while", f"rule {number}"]))
        fixed = tuple((i, graph.const(draw(st.integers(0, 1)))) for i in alone[-1:] if fields[i] > 1)
        rules.append(Rule(name, (number,), choices, builder.guard(leaves), updates(chosen, leaves) + fixed))
    leaves = builder.leaves((), with_fields=True)
    properties = tuple((f"p{i}", builder.truth(leaves, 3)) for i in range(draw(st.sampled_from([0, 1, 2, 3]))))
    return System(graph, tuple(fields), tuple(rigid), tuple(worlds), tuple(initial), tuple(rules), properties)


@st.composite
def symmetric_systems(draw):
    """Processes that all follow the same rules, with a value of their own each and one that names a process."""
    count = draw(st.sampled_from([2, 3, 4]))
    local = draw(st.sampled_from([2, 3, 4]))
    padding = draw(st.sampled_from([0, 0, 8]))
    graph = Graph()
    fields = (local,) * count + (200,) * padding + (count,)
    pointer = graph.field(len(fields) - 1)
    own = [graph.field(i) for i in range(count)]

    def number(value):
        return graph.const(value)

    def condition(kind, me, value):
        others = [own[i] for i in range(count) if i != me]
        match kind:
            case "own":
                return graph.equal(own[me], number(value))
            case "pointed":
                return graph.equal(pointer, number(me))
            case "all others":
                return graph.conj(graph.equal(other, number(value)) for other in others)
            case "some other":
                return graph.disj(graph.equal(other, number(value)) for other in others)
            case _:
                return graph.neg(condition(kind.removeprefix("not "), me, value))

    kinds = ["own", "pointed", "all others", "some other"]
    kinds += [f"not {kind}" for kind in kinds]
    values = st.sampled_from(range(local))
    rules = []
    for step in range(draw(st.sampled_from([1, 2, 3, 4, 5]))):
        part = st.tuples(st.sampled_from(kinds), values)
        parts = [draw(part) for _ in range(draw(st.sampled_from([0, 1, 1, 2])))]
        effect = draw(st.sampled_from(["own", "pointer", "both", "others"]))
        value = draw(values)
        for me in range(count):
            guard = graph.conjuncts(graph.conj(condition(kind, me, given) for kind, given in parts))
            changed = []
            if effect in ("own", "both"):
                changed.append((me, number(value)))
            if effect == "others":
                changed += [(i, number(value)) for i in range(count) if i != me]
            if effect in ("pointer", "both"):
                changed.append((len(fields) - 1, number(me)))
            rules.append(Rule(f"step {step}", (me,), (), guard, tuple(changed)))
    start = draw(values)
    pointed = Rule(
        "", (), (count,), (), (*((i, number(start)) for i in range(count)), (len(fields) - 1, graph.choice(0)))
    )
    bad = draw(values)
    safe = graph.neg(graph.conj(graph.equal(own[i], number(bad)) for i in range(count)))
    kept = tuple(range(count, len(fields)))
    same = tuple(tuple(range(size)) for size in fields)
    group = tuple(Permutation((*way, *kept), (*same[:-1], way)) for way in permutations(range(count)))
    worlds = draw(st.sampled_from([((),), ((),) * 2]))
    properties = (("safe", safe),)
    return System(graph, fields, (), worlds, (pointed,), tuple(rules), properties, (group,) * len(worlds))


@st.composite
def block_systems(draw):
    """Processes that nothing names: each has a few fields, and there is one more that is shared."""
    count = draw(st.sampled_from([2, 3, 4]))
    sizes = [draw(st.sampled_from([1, 2, 3])) for _ in range(draw(st.sampled_from([1, 2, 3])))]
    graph = Graph()
    fields = (*(size for size in sizes for _ in range(count)), 2)
    shared = len(fields) - 1

    def place(column, process):
        return column * count + process

    def test(column, process, value):
        return graph.equal(graph.field(place(column, process)), graph.const(value))

    rules = []
    columns = st.sampled_from([(c, v) for c, size in enumerate(sizes) for v in range(size)])
    for step in range(draw(st.sampled_from([1, 2, 3, 4]))):
        mine = [draw(columns) for _ in range(draw(st.sampled_from([0, 1, 2])))]
        (column, value), (other, needed) = draw(columns), draw(columns)
        asks_others, changes_shared = draw(st.booleans()), draw(st.booleans())
        for me in range(count):
            parts = [test(c, me, v) for c, v in mine]
            if asks_others:
                parts.append(graph.disj(test(other, i, needed) for i in range(count) if i != me))
            changed = [(place(column, me), graph.const(value))]
            if changes_shared:
                changed.append((shared, graph.neg(graph.field(shared))))
            rules.append(Rule(f"step {step}", (me,), (), graph.conjuncts(graph.conj(parts)), tuple(changed)))
    start = tuple((place(c, i), graph.const(size - 1)) for c, size in enumerate(sizes) for i in range(count))
    safe = graph.neg(graph.conj(test(0, i, 0) for i in range(count)))
    same = Permutation(tuple(range(len(fields))), tuple(tuple(range(size)) for size in fields))
    block = tuple(tuple(place(c, i) for c in range(len(sizes))) for i in range(count))
    initial = (Rule("", (), (), (), start),)
    return System(graph, fields, (), ((),), initial, tuple(rules), (("safe", safe),), ((same,),), (block,))
