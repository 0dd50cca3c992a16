import re
from itertools import pairwise

import pytest
from hypothesis import given, settings

from quorate.engines.explicit.emit import emit, fill
from quorate.engines.explicit.expressions import TRUE, Graph
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.system import Rule, System
from quorate.lang import parse
from quorate.models.source import Source
from small_systems import block_systems, systems


def tiny():
    """Three fields in one word, two worlds, a shared condition, choices that are free, tested or fixed."""
    graph = Graph()
    number, left, right = (graph.field(i) for i in range(3))
    pick, world = graph.choice(0), graph.rigid(0)
    zero = graph.equal(number, graph.const(0))
    rules = (
        Rule("up", (0,), (), (zero, graph.neg(left)), ((0, graph.const(1)), (1, TRUE))),
        Rule("up", (1,), (2,), (zero, graph.neg(left), graph.equal(pick, right)), ((2, graph.neg(pick)),)),
        Rule(
            "pick",
            (),
            (3, 2, 1),
            (graph.disj((left, right)), graph.choice(1), graph.neg(graph.equal(pick, number))),
            ((0, pick), (1, graph.equal(number, world))),
        ),
    )
    properties = (
        ("p", graph.disj((graph.neg(left), graph.equal(number, graph.const(2))))),
        ("q", graph.choose_truth(left, right, graph.equal(number, world))),
    )
    start = Rule("", (), (3,), (graph.neg(graph.equal(pick, world)),), ((0, pick),))
    return System(graph, (3, 2, 2), (3,), ((0,), (2,)), (start,), rules, properties)


SIZES = """\
#define WORDS 1
#define WORLDS 2
#define TRANSITIONS 2
#define PROPERTIES 2
#define RIGID_WORDS 1
#define WORLD_OF(s) ((unsigned)(s[0] >> 4 & 1))
#define STORE(o) (o)[0] = n0;\n#define CHANGED ((n0 ^ s0))"""

FUNCTIONS = """\
TABLE u64 rigid_words[] = {
  0x0ull, 0x2ull,
};
FUNCTION void transition_0(const u64 *s, SINK) {
  const u64 s0 = s[0]; (void)s0;
  if (((((s0) & 0x7ull) == 0x0ull))) {
    {
      const u64 n0 = (s0 & 0xfffffffffffffff8ull) | 0x5ull; EMIT(0);
    }
    {
      for (unsigned c0 = 0; c0 < 2; c0++) {
        if (!((((unsigned)(s0 >> 3 & 1) == (unsigned)c0)))) continue;
        const u64 n0 = (s0 & 0xfffffffffffffff7ull) | (u64)((!(unsigned)c0)) << 3; EMIT(0);
      }
    }
  }
}
FUNCTION void transition_1(const u64 *s, SINK) {
  const u64 s0 = s[0]; (void)s0;
  const u64 *const w = rigid_words + WORLD_OF(s) * RIGID_WORDS;
  if ((((((s0) & 0xcull) != 0x0ull)))) {
    {
      for (unsigned c0 = 0; c0 < 3; c0++) {
        if (!(((!((unsigned)(s0 & 3) == (unsigned)c0))))) continue;
        enum { c1 = 1 };
        const u64 n0 = (s0 & 0xfffffffffffffff8ull) | (u64)((unsigned)c0) << 0 | (u64)(((unsigned)(s0 & 3) == (unsigned)(w[0] & 3))) << 2; EMIT(1);
      }
    }
  }
}
FUNCTION void expand(const u64 *s, SINK) {
  transition_0(s, PASS);
  transition_1(s, PASS);
}
FUNCTION void initial(unsigned world, SINK) {
  const u64 s0 = (u64)world << 4;
  const u64 *const w = rigid_words + world * RIGID_WORDS;
  (void)world;
  if (1) {
    {
      for (unsigned c0 = 0; c0 < 3; c0++) {
        if (!(((!((unsigned)c0 == (unsigned)(w[0] & 3)))))) continue;
        const u64 n0 = (s0 & 0xfffffffffffffffcull) | (u64)((unsigned)c0) << 0; EMIT_INITIAL;
      }
    }
  }
}
FUNCTION u64 violated(const u64 *s) {
  const u64 s0 = s[0]; (void)s0;
  const u64 *const w = rigid_words + WORLD_OF(s) * RIGID_WORDS;
  return (u64)!(((((s0) & 0x4ull) != 0x4ull) || (((s0) & 0x3ull) == 0x2ull))) << 0 | (u64)!(((unsigned)(s0 >> 2 & 1) ? (unsigned)(s0 >> 3 & 1) : ((unsigned)(s0 & 3) == (unsigned)(w[0] & 3)))) << 1;
}
FUNCTION void arrange(u64 *s) {
  (void)s;
}
FUNCTION u64 arrangements(const u64 *s) {
  u64 ways = 1; (void)s;
  return ways;
}"""  # noqa: E501


def test_the_text_of_a_tiny_system():
    assert emit(tiny()) == (SIZES, FUNCTIONS)


# -- names -----------------------------------------------------------------------------------------------------------

MADE_HERE = re.compile(
    r"""
    [swcnt]\d*                                    # words of a state, a world, of successors; choices; what is kept
    | transition_\d+ | expand | initial | violated | rigid_words | world
    | arrange | arrangements | ways | member | moving | same | i | j | int
    | TABLE | FUNCTION | SINK | PASS | EMIT | EMIT_INITIAL | WORLD_OF | STORE | CHANGED | o | k
    | WORDS | WORLDS | TRANSITIONS | PROPERTIES | RIGID_WORDS
    | u64 | const | void | unsigned | enum | if | for | continue | return | define
    | ull | u
    """,
    re.VERBOSE,
)


def foreign(text):
    """The identifiers of a C text that are not on the list."""
    without_numbers = re.sub(r"\b(0x[0-9a-f]+|\d+)(ull|u)?\b", " ", text)
    return {name for name in re.findall(r"[A-Za-z_]\w*", without_numbers) if not MADE_HERE.fullmatch(name)}


NAMES = """
sort system
sort int_
immutable relation printf(system, system)
immutable constant main: int_
mutable relation register_(system)
mutable function exit(system): int_
mutable relation while_
init !register_(S)
init exit(S) = main
transition goto_(return_: system)
  modifies register_, exit
  & !while_
  & (register_'(S) <-> register_(S) | printf(return_, S))
transition volatile(struct: system, n: int_)
  modifies while_
  & (exists S. register_(S) & exit(S) = n)
safety [malloc] register_(S) -> printf(S, S)
"""


def test_nothing_in_the_text_comes_from_the_protocol():
    model = parse(Source("names.pyv", NAMES)).model
    made = Instance(model, dict.fromkeys(model.sorts, 2))
    text = "\n".join(emit(made.system))
    assert foreign(text) == set()
    names = (
        {str(sort) for sort in model.sorts}
        | {symbol.name for symbol in model.symbols}
        | {"goto_", "volatile", "malloc"}
    )
    assert not [name for name in names if name in text]
    assert '"' not in text and "'" not in text


def test_a_foreign_name_would_be_seen():
    assert foreign("const u64 n0 = system(s0) | 0x1full + 3u; EMIT(1);") == {"system"}


@settings(max_examples=25)
@given(systems() | block_systems())
def test_random_systems_use_the_same_few_names(system):
    assert foreign("\n".join(emit(system))) == set()


# -- filling in ------------------------------------------------------------------------------------------------------


def test_a_runtime_is_filled_in_completely():
    text = fill("search.c", tiny())
    sizes, functions = emit(tiny())
    assert sizes in text and functions in text
    assert not re.search(r"//[A-Z]+//", text)


def test_a_large_condition_that_is_shared_is_computed_once():
    graph = Graph()
    fields = [graph.field(i) for i in range(90)]
    pairs = [graph.disj((graph.equal(a, b), graph.neg(a))) for a, b in pairwise(fields)]
    large = graph.conj(pairs)
    either = graph.disj((large, graph.field(0)))
    rules = tuple(Rule("r", (i,), (), (graph.iff(either, graph.field(i + 1)),), ((i, TRUE),)) for i in range(4))
    text = emit(System(graph, (2,) * 90, (), ((),), (Rule("", (), (), (), ()),), rules, ()))[1]
    assert len(re.findall(r"const unsigned t\d+ = ", text)) == 1
    assert len(re.findall(r"\bt\d+\b", text)) == 5


@pytest.mark.parametrize("count", [0, 64, 65])
def test_the_number_of_properties_is_limited(count):
    system = System(Graph(), (2,), (), ((),), (), (), tuple((f"p{i}", TRUE) for i in range(count)))
    if count > 64:
        with pytest.raises(ValueError, match="at most 64 properties"):
            emit(system)
    else:
        assert f"#define PROPERTIES {count}" in emit(system)[0]
