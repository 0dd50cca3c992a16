from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.engines.explicit.expressions import (
    AND,
    CHOICE,
    CONST,
    EQUAL,
    FALSE,
    FIELD,
    IF,
    NOT,
    OR,
    RIGID,
    TRUE,
    Graph,
    compile_python,
)

TRUTHS, NUMBERS = 3, 2
"""Of each kind of leaf: so many truth values first, then so many numbers of three values."""

leaves = st.tuples(st.sampled_from(["field", "rigid", "choice"]), st.integers(0, TRUTHS - 1))
number_leaves = st.tuples(st.sampled_from(["field", "rigid", "choice"]), st.integers(TRUTHS, TRUTHS + NUMBERS - 1))


def number_shapes(truth):
    return st.recursive(
        number_leaves | st.tuples(st.just("const"), st.integers(0, 2)),
        lambda inner: st.tuples(st.just("choose"), truth, inner, inner),
        max_leaves=4,
    )


def grown(inner):
    numbers = number_shapes(inner)
    return (
        st.tuples(st.sampled_from(["conj", "disj"]), st.lists(inner, max_size=4))
        | st.tuples(st.just("neg"), inner)
        | st.tuples(st.just("iff"), inner, inner)
        | st.tuples(st.sampled_from(["choose", "choose_truth"]), inner, inner, inner)
        | st.tuples(st.just("equal"), numbers, numbers)
    )


shapes = st.recursive(leaves | st.tuples(st.just("const"), st.integers(0, 1)), grown, max_leaves=12)
"""Truth-valued expressions, as nested tuples that say how the graph is asked to build them."""


def build(graph, shape):
    kind, *operands = shape
    match kind:
        case "const" | "field" | "rigid" | "choice":
            return getattr(graph, kind)(*operands)
        case "conj" | "disj":
            return getattr(graph, kind)([build(graph, operand) for operand in operands[0]])
        case _:
            return getattr(graph, kind)(*(build(graph, operand) for operand in operands))


def evaluate(shape, state, world, choices):
    """What a shape means, without any folding."""
    kind, *operands = shape
    match kind:
        case "const":
            return operands[0]
        case "field" | "rigid" | "choice":
            return {"field": state, "rigid": world, "choice": choices}[kind][operands[0]]
        case "conj":
            return int(all(evaluate(operand, state, world, choices) for operand in operands[0]))
        case "disj":
            return int(any(evaluate(operand, state, world, choices) for operand in operands[0]))
    values = [evaluate(operand, state, world, choices) for operand in operands]
    match kind:
        case "neg":
            return 1 - values[0]
        case "iff" | "equal":
            return int(values[0] == values[1])
        case _:
            return values[1] if values[0] else values[2]


values = st.tuples(*[st.integers(0, 1)] * TRUTHS, *[st.integers(0, 2)] * NUMBERS)


@given(shapes, st.lists(st.tuples(values, values, values), min_size=1, max_size=8))
def test_folding_does_not_change_the_value(shape, inputs):
    graph = Graph()
    compiled = compile_python(graph, build(graph, shape))
    for state, world, choices in inputs:
        assert compiled(state, world, choices) == evaluate(shape, state, world, choices)


@given(number_shapes(shapes), st.lists(st.tuples(values, values, values), min_size=1, max_size=8))
def test_folding_does_not_change_the_value_of_a_number(shape, inputs):
    graph = Graph()
    compiled = compile_python(graph, build(graph, shape))
    for state, world, choices in inputs:
        assert compiled(state, world, choices) == evaluate(shape, state, world, choices)


@given(st.lists(shapes, min_size=2, max_size=4), st.tuples(values, values, values))
def test_nodes_of_one_graph_can_share_compiled_parts(many, inputs):
    graph = Graph()
    nodes = [build(graph, shape) for shape in many]
    done = {}
    assert [compile_python(graph, node, done)(*inputs) for node in nodes] == [evaluate(s, *inputs) for s in many]
    assert [done[node](*inputs) for node in nodes] == [evaluate(s, *inputs) for s in many]


@given(shapes)
def test_a_graph_holds_no_node_that_folding_would_remove(shape):
    graph = Graph()
    build(graph, shape)
    assert len(set(graph.nodes)) == len(graph.nodes)
    for operator, *operands in graph.nodes:
        kinds = [] if operator in (CONST, FIELD, RIGID, CHOICE) else [graph.nodes[node][0] for node in operands]
        match operator:
            case x if x == NOT:
                assert operands[0] not in (FALSE, TRUE) and kinds[0] != NOT
            case x if x in (AND, OR):
                assert len(operands) > 1 and operands == sorted(set(operands))
                assert not {FALSE, TRUE} & set(operands) and operator not in kinds
            case x if x == EQUAL:
                assert operands[0] < operands[1] and kinds != [CONST, CONST]
            case x if x == IF:
                assert operands[0] not in (FALSE, TRUE) and operands[1] != operands[2]


def mentioned(shape, kind):
    if shape[0] in ("const", "field", "rigid", "choice"):
        return {shape[1]} if shape[0] == kind else set()
    parts = shape[1] if isinstance(shape[1], list) else shape[1:]
    return {index for part in parts for index in mentioned(part, kind)}


@given(shapes, st.sampled_from([("field", FIELD), ("rigid", RIGID), ("choice", CHOICE)]))
def test_what_a_node_reads_is_what_its_value_can_depend_on(shape, kind):
    graph = Graph()
    node = build(graph, shape)
    reads = graph.reads(node, kind[1])
    assert reads <= mentioned(shape, kind[0])
    compiled = compile_python(graph, node)
    index = ("field", "rigid", "choice").index(kind[0])
    inputs = [(1, 0, 1, 2, 0), (0, 1, 1, 1, 2), (1, 1, 0, 0, 1)]
    expected = compiled(*inputs)
    for other in range(TRUTHS + NUMBERS):
        if other not in reads:
            for value in range(2 if other < TRUTHS else 3):
                inputs[index] = (*inputs[index][:other], value, *inputs[index][other + 1 :])
                assert compiled(*inputs) == expected


def test_conjuncts_are_the_members_of_a_conjunction_only():
    graph = Graph()
    a, b = graph.field(0), graph.field(1)
    assert set(graph.conjuncts(graph.conj((a, b)))) == {a, b}
    assert graph.conjuncts(TRUE) == ()
    assert graph.conjuncts(FALSE) == (FALSE,)
    either = graph.disj((a, b))
    assert graph.conjuncts(either) == (either,)


@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda g, a, b: g.conj((a, g.neg(a))), FALSE),
        (lambda g, a, b: g.disj((a, b, g.neg(b))), TRUE),
        (lambda g, a, b: g.conj((g.conj((a, b)), g.neg(b))), FALSE),
        (lambda g, a, b: g.iff(a, a), TRUE),
        (lambda g, a, b: g.iff(a, g.neg(a)), FALSE),
        (lambda g, a, b: g.iff(g.neg(a), a), FALSE),
        (lambda g, a, b: g.equal(g.const(2), g.const(3)), FALSE),
        (lambda g, a, b: g.choose_truth(a, TRUE, g.neg(a)), TRUE),
        (lambda g, a, b: g.choose_truth(a, FALSE, a), FALSE),
    ],
)
def test_what_is_decided_folds_to_a_constant(made, expected):
    graph = Graph()
    assert made(graph, graph.field(0), graph.field(1)) == expected


def test_all_small_junctions_agree_with_the_truth_table():
    graph = Graph()
    a, b = graph.field(0), graph.field(1)
    literals = [TRUE, FALSE, a, b, graph.neg(a), graph.neg(b)]
    for x, y, z in product(literals, repeat=3):
        for operation, meaning in ((graph.conj, all), (graph.disj, any)):
            compiled = compile_python(graph, operation((x, y, z)))
            for state in product((0, 1), repeat=2):
                members = [compile_python(graph, node)(state, (), ()) for node in (x, y, z)]
                assert compiled(state, (), ()) == int(meaning(members))
