"""A small protocol with every kind of symbol, and runs of it, for the tests of traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quorate.lang import parse
from quorate.logic.structures import Structure, Table, Value, argument_tuples
from quorate.logic.terms import BOOL, Symbol
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step, check_initial, successor, with_derived
from quorate.models.source import Source
from quorate.proof.traces import Trace, replay

LEASE = """\
sort node
sort epoch

immutable relation le(epoch, epoch)
axiom [reflexive] le(X, X)
axiom [transitive] le(X, Y) & le(Y, Z) -> le(X, Z)
axiom [antisymmetric] le(X, Y) & le(Y, X) -> X = Y
axiom [total] le(X, Y) | le(Y, X)
immutable constant zero: epoch
immutable function home(node): node

mutable relation busy
mutable relation holds(node)
mutable relation offer(node, node, epoch)
mutable function age(node): epoch
mutable function sent(node, epoch): int
mutable constant clock: int
mutable constant last: node
derived relation idle(node): idle(N) <-> !holds(N)

init !busy
init !holds(N)
init !offer(N, M, E)
init age(N) = zero
init sent(N, E) = 0
init clock = 0

transition take(n: node)
  modifies busy, holds
  & !holds(n)
  & new(busy)
  & (new(holds(N)) <-> holds(N) | N = n)

transition drop(n: node)
  modifies holds
  & holds(n)
  & (new(holds(N)) <-> holds(N) & N != n)

transition hand(n: node, m: node, e: epoch)
  modifies offer, sent
  & holds(n)
  & (new(offer(N, M, E)) <-> offer(N, M, E) | (N = n & M = m & E = e))
  & new(sent(N, E)) = (if N = n & E = e then sent(N, E) + 1 else sent(N, E))

transition accept(n: node, m: node, e: epoch)
  modifies offer, holds, age
  & offer(n, m, e)
  & le(age(m), e)
  & (new(offer(N, M, E)) <-> offer(N, M, E) & !(N = n & M = m & E = e))
  & (new(holds(N)) <-> holds(N) | N = m)
  & new(age(N)) = (if N = m then e else age(N))

transition tick(loud: bool)
  modifies clock
  & new(clock) = clock + 1

transition shuffle()
  modifies last, busy
  & new(last) != last

safety [one_holder] holds(N) & holds(M) -> N = M
invariant [never_busy] !busy
"""


def lease() -> RelationalModel:
    return parse(Source("examples/lease.pyv", LEASE)).model


def pyv(text: str) -> RelationalModel:
    return parse(Source("sample.pyv", text)).model


def state(model: RelationalModel, sizes: Mapping[str, int], **given: Mapping[Any, Value]) -> Structure:
    """The state in which symbols have the given tables, everything else is false or 0, and orders are by index."""
    sorts = {sort: sizes[sort.name] for sort in model.sorts if sort.uninterpreted}
    tables: dict[Symbol, Table] = {}
    for symbol in model.symbols:
        places = argument_tuples(symbol.arguments, sorts)
        default: Value = False if symbol.sort is BOOL else 0
        ordered = symbol.name == "le"
        tables[symbol] = given.get(symbol.name, {key: key[0] <= key[1] if ordered else default for key in places})
    return with_derived(model, Structure(sorts, tables))


def run(model: RelationalModel, start: Structure, *steps: Step, violated: str | None = None) -> Trace:
    """The run that takes these steps; it replays."""
    assert check_initial(model, start) is None
    states = [start]
    for step in steps:
        following = successor(model, states[-1], step)
        assert isinstance(following, Structure), following
        states.append(following)
    trace = Trace("run", tuple(states), steps, violated)
    replay(model, trace)
    return trace


def shuffle(last: int, busy: bool) -> Step:
    return Step("shuffle", {}, {"last'": {(): last}, "busy'": {(): busy}})


def lease_run(model: RelationalModel) -> Trace:
    """Two nodes end up holding the lease."""
    return run(
        model,
        state(model, {"node": 2, "epoch": 2}, home={(0,): 1, (1,): 0}),
        Step("take", {"n": 0}),
        Step("tick", {"loud": True}),
        Step("hand", {"n": 0, "m": 1, "e": 1}),
        shuffle(1, True),
        Step("accept", {"n": 0, "m": 1, "e": 1}),
        violated="one_holder",
    )


def lease_cti(model: RelationalModel) -> Trace:
    """One step from a state in which one node holds the lease to one in which two do."""
    offered = {(n, m, 0): (n, m) == (0, 1) for n in range(2) for m in range(2)}
    before = state(model, {"node": 2, "epoch": 1}, holds={(0,): True, (1,): False}, offer=offered)
    step = Step("accept", {"n": 0, "m": 1, "e": 0})
    after = successor(model, before, step)
    assert isinstance(after, Structure)
    trace = Trace("cti", (before, after), (step,), "one_holder")
    replay(model, trace)
    return trace


def symbol(model: RelationalModel, name: str) -> Symbol:
    return next(symbol for symbol in model.symbols if symbol.name == name)


def with_value(model: RelationalModel, trace: Trace, number: int, name: str, table: Table) -> Trace:
    """The trace with another table for a symbol in one state."""
    tampered = trace.states[number]
    tampered = Structure(tampered.sizes, {**tampered.tables, symbol(model, name): table})
    return replace(trace, states=(*trace.states[:number], tampered, *trace.states[number + 1 :]))


def with_step(trace: Trace, number: int, step: Step) -> Trace:
    """The trace with another step from state `number` to the next."""
    return replace(trace, steps=(*trace.steps[:number], step, *trace.steps[number + 1 :]))


def with_sizes(trace: Trace, number: int, size: int) -> Trace:
    """The trace with every sort of one state given another size."""
    states = list(trace.states)
    states[number] = Structure(dict.fromkeys(states[number].sizes, size), states[number].tables)
    return replace(trace, states=tuple(states))
