"""The part of a protocol that matters to its safety properties."""

from __future__ import annotations

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.lang import parse
from quorate.methods.explicit.check import Options, check
from quorate.models.slicing import slice_for_safety
from quorate.models.source import Source

TEXT = """\
sort node
mutable relation sent(node)
mutable relation log(node)
mutable relation seen(node)
mutable relation audit(node)
init !sent(N) & !seen(N)
init !log(N)
init !audit(N)
transition send(n: node, other: node)
  modifies sent, log
  & (new(sent(N)) <-> sent(N) | N = n)
  & (new(log(N)) <-> log(N) | N = other)
transition receive(n: node)
  modifies seen
  & sent(n)
  & (new(seen(N)) <-> seen(N) | N = n)
transition check(n: node)
  modifies audit
  & log(n)
  & (new(audit(N)) <-> audit(N) | N = n)
safety [heard] seen(N) -> sent(N)
"""


def test_what_nobody_reads_is_left_out():
    model = parse(Source("case.pyv", TEXT)).model
    found = slice_for_safety(model)
    assert [symbol.name for symbol in found.symbols] == ["sent", "seen"]
    assert [transition.name for transition in found.transitions] == ["send", "receive"]
    assert [p.name for p in found.transition("send").parameters] == ["n"]
    assert len(found.initial) == 1 and found.safety == model.safety


def test_what_a_guard_reads_stays():
    model = parse(Source("case.pyv", TEXT.replace("& sent(n)", "& sent(n) & !audit(n)"))).model
    found = slice_for_safety(model)
    assert {symbol.name for symbol in found.symbols} == {"sent", "log", "seen", "audit"}
    assert len(found.transitions) == 3


@pytest.mark.parametrize("guard, verdict", [("sent(n)", "proved"), ("!sent(n)", "violated"), ("true", "violated")])
def test_a_slice_breaks_where_the_protocol_does(guard, verdict):
    model = parse(Source("case.pyv", TEXT.replace("  & sent(n)", f"  & {guard}"))).model
    for one in (model, slice_for_safety(model)):
        (result,) = check(Instance(one, dict.fromkeys(one.sorts, 2)), Options(jobs=1)).results
        assert result.verdict == verdict


LOOKUP = """\
sort map
sort key
immutable function value(map, key): key
mutable relation set(key)
init !set(K)
transition copy(m: map, k: key)
  modifies set
  & (set'(K) <-> set(K) | K = value(m, k))
safety [given] set(K) -> set(K)
"""


def test_what_a_step_looks_up_is_chosen_in_the_step():
    model = parse(Source("case.pyv", LOOKUP)).model
    found = slice_for_safety(model)
    assert [sort.name for sort in found.sorts] == ["key"] and [symbol.name for symbol in found.symbols] == ["set"]
    (copy,) = found.transitions
    assert [choice.name for choice in copy.choices] == ["value@m"] and [p.name for p in copy.parameters] == ["k"]


@pytest.mark.parametrize(
    "old, new",
    [
        ("init !set(K)", "init !set(K)\naxiom value(M, K) = K"),
        ("immutable function", "mutable function"),
        ("K = value(m, k)", "forall M: map. K = value(M, k)"),
        ("(m: map, k: key)", "(m: map, n: map, k: key)\n  & m != n"),
        ("set(K) -> set(K)", "exists M: map. value(M, K) = K"),
    ],
)
def test_a_sort_that_is_used_otherwise_stays(old, new):
    text = LOOKUP.replace(old, new)
    if "& m != n" in new:
        text = LOOKUP.replace("(m: map, k: key)", "(m: map, n: map, k: key)").replace(
            "  & (set'", "  & m != n\n  & (set'"
        )
    found = slice_for_safety(parse(Source("case.pyv", text)).model)
    assert [sort.name for sort in found.sorts] == ["map", "key"]
