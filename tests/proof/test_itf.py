from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import __version__
from quorate.logic.structures import Structure, Table, argument_tuples
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step
from quorate.models.source import Source
from quorate.proof.itf import (
    MAX_BYTES,
    Document,
    TraceFormatError,
    apalache_type,
    from_itf,
    load,
    save,
    to_itf,
    universe_names,
)
from quorate.proof.traces import Trace, replay
from trace_samples import LEASE, lease, lease_cti, lease_run, pyv, run, state, with_step, with_value

MODEL = lease()
RUN = lease_run(MODEL)


# -- writing -----------------------------------------------------------------------------------------------------------


def test_the_document_says_where_it_comes_from() -> None:
    document = to_itf(MODEL, RUN)
    assert document["#meta"] == {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "tool": {"name": "quorate", "version": __version__},
        "protocol": {"file": "lease.pyv", "sha256": Source("", LEASE).sha256},
        "kind": "run",
        "violated": "one_holder",
        "varTypes": {
            "node": "Set(Str)",
            "epoch": "Set(Str)",
            "le": "Set(<<Str, Str>>)",
            "zero": "Str",
            "home": "Str -> Str",
            "busy": "Bool",
            "holds": "Set(<<Str>>)",
            "offer": "Set(<<Str, Str, Str>>)",
            "age": "Str -> Str",
            "sent": "<<Str, Str>> -> Int",
            "clock": "Int",
            "last": "Str",
            "idle": "Set(<<Str>>)",
        },
    }
    assert document["params"] == ["node", "epoch", "le", "zero", "home"]
    assert document["vars"] == ["busy", "holds", "offer", "age", "sent", "clock", "last", "idle"]


def test_state_0_has_universes_rigid_and_mutable_symbols() -> None:
    assert to_itf(MODEL, RUN)["states"][0] == {
        "#meta": {"index": 0},
        "node": {"#set": ["node0", "node1"]},
        "epoch": {"#set": ["epoch0", "epoch1"]},
        "le": {"#set": [{"#tup": list(p)} for p in (("epoch0", "epoch0"), ("epoch0", "epoch1"), ("epoch1", "epoch1"))]},
        "zero": "epoch0",
        "home": {"#map": [["node0", "node1"], ["node1", "node0"]]},
        "busy": False,
        "holds": {"#set": []},
        "offer": {"#set": []},
        "age": {"#map": [["node0", "epoch0"], ["node1", "epoch0"]]},
        "sent": {
            "#map": [[{"#tup": [n, e]}, {"#bigint": "0"}] for n in ("node0", "node1") for e in ("epoch0", "epoch1")]
        },
        "clock": {"#bigint": "0"},
        "last": "node0",
        "idle": {"#set": [{"#tup": ["node0"]}, {"#tup": ["node1"]}]},
    }


def test_later_states_have_mutable_symbols_and_the_step() -> None:
    states = to_itf(MODEL, RUN)["states"]
    assert states[2]["#meta"] == {"index": 2, "transition": "tick", "bindings": {"loud": True}, "line": 53}
    assert states[3]["#meta"]["bindings"] == {"n": "node0", "m": "node1", "e": "epoch1"}
    assert states[4]["#meta"] == {
        "index": 4,
        "transition": "shuffle",
        "bindings": {},
        "choices": {"last'": "node1", "busy'": True},
        "line": 57,
    }
    assert states[5].keys() - {"#meta"} == set(to_itf(MODEL, RUN)["vars"])
    assert states[5]["offer"] == {"#set": []}
    assert states[5]["holds"] == {"#set": [{"#tup": ["node0"]}, {"#tup": ["node1"]}]}


def test_a_counterexample_to_induction_is_marked() -> None:
    document = to_itf(MODEL, lease_cti(MODEL))
    assert document["#meta"]["kind"] == "cti"
    assert from_itf(MODEL, document) == lease_cti(MODEL)


def test_a_universe_gives_way_to_a_symbol_of_its_name() -> None:
    model = pyv("sort node\nmutable relation node(node)")
    trace = run(model, state(model, {"node": 2}))
    assert universe_names(model) == {Sort("node"): "node_1"}
    assert to_itf(model, trace)["states"][0]["node_1"] == {"#set": ["node0", "node1"]}
    assert from_itf(model, to_itf(model, trace)) == trace


def test_types_of_all_shapes() -> None:
    assert apalache_type(Symbol("f", (BOOL, INT), Sort("epoch"))) == "<<Bool, Int>> -> Str"
    assert apalache_type(Symbol("f", (BOOL,), INT)) == "Bool -> Int"


UNWRITABLE = [
    (replace(RUN, steps=()), "a trace needs one state more than steps"),
    (with_value(MODEL, RUN, 2, "zero", {(): 1}), "state 2 changes zero, which is rigid"),
    (
        replace(RUN, states=(*RUN.states[:5], state(MODEL, {"node": 3, "epoch": 2}))),
        "state 5 has other sizes than state 0",
    ),
    (replace(RUN, states=(*RUN.states[:5], Structure(RUN.states[0].sizes, {}))), "state 5 gives no value to le"),
]


@pytest.mark.parametrize(("trace", "problem"), UNWRITABLE)
def test_what_has_no_document(trace: Trace, problem: str) -> None:
    with pytest.raises(TraceFormatError) as caught:
        to_itf(MODEL, trace)
    assert str(caught.value) == problem


def test_tables_over_integers_have_no_document() -> None:
    model = replace(pyv("mutable relation seen"), symbols=(Symbol("seen", (INT,), BOOL, True),))
    trace = Trace("run", (Structure({}, {model.symbols[0]: {}}),), ())
    with pytest.raises(TraceFormatError, match="seen takes integers, so it has no finite table"):
        to_itf(model, trace)


# -- round trips -------------------------------------------------------------------------------------------------------


def values(sort: Sort, sizes: dict[Sort, int]) -> st.SearchStrategy[Any]:
    if sort is BOOL:
        return st.booleans()
    return st.integers() if sort is INT else st.integers(0, sizes[sort] - 1)


def tables(symbol: Symbol, sizes: dict[Sort, int]) -> st.SearchStrategy[Table]:
    places = list(argument_tuples(symbol.arguments, sizes))
    return st.fixed_dictionaries({key: values(symbol.sort, sizes) for key in places})


@st.composite
def traces(draw: st.DrawFn, model: RelationalModel) -> Trace:
    """Well-formed traces, most of which do not replay."""
    sizes = {sort: draw(st.integers(1, 3)) for sort in model.sorts}
    rigid = {symbol: draw(tables(symbol, sizes)) for symbol in model.symbols if not symbol.mutable}
    mutable = [symbol for symbol in model.symbols if symbol.mutable]
    states = [Structure(sizes, rigid | {symbol: draw(tables(symbol, sizes)) for symbol in mutable})]
    steps = []
    for transition in draw(st.lists(st.sampled_from(model.transitions), max_size=3)):
        bindings = {parameter.name: draw(values(parameter.sort, sizes)) for parameter in transition.parameters}
        choices = {choice.name: draw(tables(choice, sizes)) for choice in transition.choices}
        steps.append(Step(transition.name, bindings, choices))
        states.append(Structure(sizes, rigid | {symbol: draw(tables(symbol, sizes)) for symbol in mutable}))
    violated = draw(st.sampled_from([None, *(item.name for item in model.properties)]))
    return Trace(draw(st.sampled_from(("run", "cti"))), tuple(states), tuple(steps), violated)


@given(traces(MODEL))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_back(trace: Trace) -> None:
    document = to_itf(MODEL, trace)
    assert from_itf(MODEL, document) == trace
    assert from_itf(MODEL, json.loads(json.dumps(document))) == trace


def test_enumerated_sorts_are_read_back_in_their_own_order() -> None:
    colour = Sort("colour", ("red", "green"))
    paint = Symbol("paint", (colour,), colour, True)
    model = replace(pyv("sort node"), sorts=(colour,), symbols=(paint,))
    trace = Trace("run", (Structure({}, {paint: {(0,): 1, (1,): 1}}),), ())
    document = to_itf(model, trace)
    assert document["states"][0]["colour"] == {"#set": ["red", "green"]}
    document["states"][0]["colour"]["#set"].reverse()
    assert from_itf(model, document) == trace


def test_elements_may_have_any_names() -> None:
    text = json.dumps(to_itf(MODEL, RUN)).replace("node0", "alpha").replace("node1", "beta")
    assert from_itf(MODEL, json.loads(text)) == RUN


def test_a_tampered_document_is_read_and_does_not_replay() -> None:
    tampered = with_value(MODEL, RUN, 2, "clock", {(): 5})
    assert from_itf(MODEL, to_itf(MODEL, tampered)) == tampered
    wrong = with_step(RUN, 0, Step("take", {"n": 1}))
    assert from_itf(MODEL, to_itf(MODEL, wrong)) == wrong
    replay(MODEL, from_itf(MODEL, to_itf(MODEL, RUN)))


# -- hostile documents -------------------------------------------------------------------------------------------------


def change(*path: Any, to: Any) -> Callable[[Document], None]:
    def apply(document: Document) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = to

    return apply


def remove(*path: Any) -> Callable[[Document], None]:
    def apply(document: Document) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]

    return apply


def tuples(*items: tuple[str, ...]) -> Document:
    return {"#set": [{"#tup": list(item)} for item in items]}


HUGE = {"#set": [f"node{i}" for i in range(2000)]}
HOSTILE = [
    (remove("#meta"), "the document: #meta is missing"),
    (change("#meta", to=[]), "#meta: an object is needed, not a list"),
    (remove("#meta", "kind"), '#meta: kind must be "run" or "cti"'),
    (change("#meta", "kind", to=["run"]), '#meta: kind must be "run" or "cti"'),
    (change("#meta", "violated", to=3), "#meta: there is no property a plain number"),
    (change("#meta", "violated", to="other\ud800"), "#meta: there is no property 'other\\ud800'"),
    (change("loop", to="x"), "loop: the number of a state is expected"),
    (remove("states"), "the document: states is missing"),
    (change("states", to={}), "states: a list is needed, not an object"),
    (change("states", to=[]), "states: there must be at least one state"),
    (change("states", 0, to=None), "state 0: an object is needed, not null"),
    (change("states", 3, to="x"), "state 3: an object is needed, not 'x'"),
    (remove("vars"), "vars: age is missing"),
    (change("vars", to="busy"), "vars: a list is needed, not 'busy'"),
    (change("vars", to=["busy", "busy"]), "vars: a list of different names is needed"),
    (change("vars", to=[{}]), "vars: a list of different names is needed"),
    (change("vars", 0, to="bossy"), "vars: 'bossy' does not belong to this protocol"),
    (change("params", 4, to="house"), "params: 'house' does not belong to this protocol"),
    (change("params", to=["node", "epoch", "le", "zero"]), "params: home is missing"),
    (change("params", to=["node", "le", "zero", "home"]), "state 0, le: no size is given for sort epoch"),
    (remove("states", 0, "node"), "state 0: node is missing"),
    (change("states", 0, "node", to=["node0"]), 'state 0, node: {"#set": [...]} is needed, not a list'),
    (change("states", 0, "node", to={"#set": []}), "state 0, node: a universe is a set of one or more strings"),
    (change("states", 0, "node", to={"#set": [1]}), "state 0, node: a universe is a set of one or more strings"),
    (change("states", 0, "node", to={"#set": ["a", "a"]}), "state 0, node: an element is listed twice"),
    (change("states", 0, "node", to=HUGE), "state 0, home: the map has 2 of 2000 keys"),
    (change("states", 0, "epoch", to=HUGE), "state 0, le: the tables of this trace have more than 1000000 entries"),
    (remove("states", 0, "zero"), "state 0: zero is missing"),
    (change("states", 0, "zero", to="node0"), "state 0, zero: 'node0' is not an element of epoch"),
    (change("states", 0, "zero", to="e" * 100), f"state 0, zero: '{'e' * 40}...' is not an element of epoch"),
    (change("states", 0, "zero", to=["epoch0"]), "state 0, zero: a list is not an element of epoch"),
    (change("states", 0, "zero", to=0), "state 0, zero: a plain number is not an element of epoch"),
    (change("states", 1, "zero", to="epoch0"), "state 1: 'zero' does not belong to this protocol"),
    (remove("states", 2, "busy"), "state 2: busy is missing"),
    (change("states", 2, "extra", to=True), "state 2: 'extra' does not belong to this protocol"),
    (change("states", 2, "busy", to=1), "state 2, busy: a plain number is not a truth value"),
    (change("states", 2, "clock", to=1), 'state 2, clock: {"#bigint": "..."} is needed, not a plain number'),
    (change("states", 2, "clock", to={"#bigint": 1}), 'state 2, clock: {"#bigint": "..."} is needed, not an object'),
    (
        change("states", 2, "clock", to={"#bigint": "1_0"}),
        'state 2, clock: {"#bigint": "..."} is needed, not an object',
    ),
    (change("states", 2, "clock", to={"#bigint": "٣"}), 'state 2, clock: {"#bigint": "..."} is needed, not an object'),
    (
        change("states", 2, "clock", to={"#bigint": "9" * 5000}),
        'state 2, clock: {"#bigint": "..."} is needed, not an object',
    ),
    (change("states", 2, "holds", to=["node0"]), 'state 2, holds: {"#set": [...]} is needed, not a list'),
    (change("states", 2, "holds", to={"#set": ["node0"]}), "state 2, holds: {\"#tup\": [...]} is needed, not 'node0'"),
    (change("states", 2, "holds", to=tuples(("node9",))), "state 2, holds: 'node9' is not an element of node"),
    (
        change("states", 2, "holds", to=tuples(("node0", "node1"))),
        "state 2, holds: a tuple has 2 members, holds takes 1",
    ),
    (change("states", 2, "offer", to=tuples(())), "state 2, offer: a tuple has 0 members, offer takes 3"),
    (change("states", 2, "age", to={"#map": [["node0"]]}), "state 2, age: a map is a list of pairs"),
    (change("states", 2, "age", to={"#map": ["ab"]}), "state 2, age: a list is needed, not 'ab'"),
    (change("states", 2, "age", "#map", 1, 0, to="node0"), "state 2, age: a key is given twice"),
    (remove("states", 2, "age", "#map", 0), "state 2, age: the map has 1 of 2 keys"),
    (change("states", 2, "sent", "#map", 0, 0, to="node0"), "state 2, sent: {\"#tup\": [...]} is needed, not 'node0'"),
    (remove("states", 1, "#meta"), "state 1: #meta is missing"),
    (change("states", 0, "#meta", to=3), "state 0, #meta: an object is needed, not a plain number"),
    (change("states", 1, "#meta", "index", to=2), "state 1, #meta: the index is not the place of the state"),
    (change("states", 1, "#meta", "index", to=True), "state 1, #meta: the index is not the place of the state"),
    (remove("states", 1, "#meta", "transition"), "state 1, #meta: transition is missing"),
    (change("states", 1, "#meta", "transition", to="leap"), "state 1, #meta: there is no transition 'leap'"),
    (change("states", 1, "#meta", "transition", to=[]), "state 1, #meta: there is no transition a list"),
    (remove("states", 1, "#meta", "bindings"), "state 1, #meta: bindings is missing"),
    (change("states", 1, "#meta", "bindings", to={}), "state 1, #meta, bindings: n is missing"),
    (
        change("states", 1, "#meta", "bindings", "k", to=1),
        "state 1, #meta, bindings: 'k' does not belong to this protocol",
    ),
    (
        change("states", 1, "#meta", "bindings", "n", to="epoch0"),
        "state 1, #meta, n: 'epoch0' is not an element of node",
    ),
    (
        change("states", 1, "#meta", "choices", to={"x": 1}),
        "state 1, #meta, choices: 'x' does not belong to this protocol",
    ),
    (remove("states", 4, "#meta", "choices"), "state 4, #meta, choices: busy' is missing"),
    (change("states", 4, "#meta", "choices", "busy'", to="yes"), "state 4, #meta, busy': 'yes' is not a truth value"),
]


@pytest.mark.parametrize(("spoil", "problem"), HOSTILE, ids=[problem for _, problem in HOSTILE])
def test_hostile_documents_are_refused(spoil: Callable[[Document], None], problem: str) -> None:
    document = copy.deepcopy(to_itf(MODEL, RUN))
    spoil(document)
    with pytest.raises(TraceFormatError) as caught:
        from_itf(MODEL, document)
    assert str(caught.value) == problem


@pytest.mark.parametrize("document", [None, [], 3, "trace", {}, {1: 2}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(TraceFormatError):
        from_itf(MODEL, document)


def test_deep_documents_are_refused() -> None:
    document = to_itf(MODEL, RUN)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    document["states"][2]["holds"] = {"#set": deep}
    with pytest.raises(TraceFormatError, match=r"state 2, holds: .* is needed, not a list"):
        from_itf(MODEL, document)


def test_enumerated_universes_must_be_the_enumeration() -> None:
    colour = Sort("colour", ("red", "green"))
    model = replace(pyv("sort node"), sorts=(colour,), symbols=())
    document = to_itf(model, Trace("run", (Structure({}, {}),), ()))
    document["states"][0]["colour"] = {"#set": ["red", "blue"]}
    with pytest.raises(TraceFormatError, match="state 0, colour: the elements of colour are red, green"):
        from_itf(model, document)


def test_the_trace_of_another_protocol_is_refused() -> None:
    with pytest.raises(TraceFormatError, match="vars: 'age' does not belong to this protocol"):
        from_itf(pyv("sort node\nmutable relation holds(node)"), to_itf(MODEL, RUN))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["node0", "epoch1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["#set", "#tup", "#map", "#bigint", "a"]), inner, max_size=2)
    ),
    max_leaves=8,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a document with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    return [place for key in keys for place in [(value, key), *places(value[key])]]


@given(st.data(), JSON)
@settings(max_examples=300, deadline=None)
def test_no_replacement_anywhere_gives_anything_but_a_trace_or_a_refusal(data: st.DataObject, value: Any) -> None:
    document = copy.deepcopy(to_itf(MODEL, RUN))
    container, key = data.draw(st.sampled_from(places(document)))
    container[key] = value
    try:
        trace = from_itf(MODEL, document)
    except TraceFormatError:
        return
    assert from_itf(MODEL, to_itf(MODEL, trace)) == trace


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_saved_document_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "lease.itf.json"
    path.write_text("old", encoding="utf-8")
    document = to_itf(MODEL, RUN)
    save(path, document)
    assert load(path) == document
    assert [file.name for file in tmp_path.iterdir()] == ["lease.itf.json"]


def test_each_variable_of_each_state_has_a_line(tmp_path: Path) -> None:
    model = pyv("sort node\nmutable relation up\ninit up")
    save(tmp_path / "up.itf.json", to_itf(model, run(model, state(model, {"node": 2}, up={(): True}))))
    text = (tmp_path / "up.itf.json").read_text(encoding="utf-8")
    expected = """\
  "params": [
    "node"
  ],
  "vars": [
    "up"
  ],
  "states": [
    {
      "#meta": {"index": 0},
      "node": {"#set": ["node0", "node1"]},
      "up": true
    }
  ]
}
"""
    assert text.endswith(expected)


def test_nothing_is_left_behind_when_saving_fails(tmp_path: Path) -> None:
    path = tmp_path / "taken.itf.json"
    path.mkdir()
    with pytest.raises(OSError):
        save(path, {})
    with pytest.raises(TypeError):
        save(tmp_path / "other.itf.json", {"states": [{"x": {1}}]})
    assert [file.name for file in tmp_path.iterdir()] == ["taken.itf.json"]


UNREADABLE = [
    (b"", "this is not JSON: Expecting value"),
    (b"\xff\xfe", "this is not JSON: 'utf-8' codec"),
    (b"{", "this is not JSON"),
    (b"[1]", "the document: an object is needed, not a list"),
    (b'{"a": NaN}', "this is not JSON: NaN is not a number"),
    (b'{"a": 1, "a": 2}', "this is not JSON: an object has two members of one name"),
    (b'{"a": ' + b"9" * 5000 + b"}", "this is not JSON"),
    (b"[" * 100_000, "the document is nested too deeply"),
    (b" " * (MAX_BYTES + 1), "the file is larger than"),
]


@pytest.mark.parametrize(("content", "problem"), UNREADABLE, ids=[problem for _, problem in UNREADABLE])
def test_unreadable_files_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "bad.itf.json"
    path.write_bytes(content)
    with pytest.raises(TraceFormatError) as caught:
        load(path)
    assert str(caught.value).startswith(problem)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="cannot read the file: No such file or directory"):
        load(tmp_path / "none.itf.json")
    with pytest.raises(TraceFormatError, match="cannot read the file: Is a directory"):
        load(tmp_path)
    with pytest.raises(TraceFormatError):
        load("a\0b")
