"""Traces as documents in the Informal Trace Format (`*.itf.json`), written and read back.

The format is Apalache's ADR-015: relations are sets of tuples, functions are maps, every integer is a `#bigint`, what
never changes is a parameter with a value in state 0 only.  What is read is only well-formed: `traces.replay` judges it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePath
from typing import Any, NoReturn

from quorate import __version__
from quorate.files import write_atomically
from quorate.logic.structures import EvaluationError, Structure, Table, Value, argument_tuples, domain
from quorate.logic.terms import BOOL, INT, Sort, Symbol
from quorate.logic.transform import fresh_name
from quorate.models.relational import RelationalModel
from quorate.models.semantics import Step
from quorate.proof.naming import Names, element_names
from quorate.proof.traces import Trace, has_property

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
MAX_BYTES = 64 * 2**20
MAX_CELLS = 1_000_000
"""How many table entries a document may call for: a few short lists of elements could ask for any number."""

Document = dict[str, Any]


class TraceFormatError(Exception):
    """The document is not a trace of this protocol; the message says where it fails and why."""


def universe_names(model: RelationalModel) -> dict[Sort, str]:
    """The parameter that lists the elements of each sort: named like the sort unless a symbol has that name."""
    taken = {symbol.name for symbol in model.symbols}
    names: dict[Sort, str] = {}
    for sort in model.sorts:
        names[sort] = fresh_name(sort.name, taken.__contains__)
        taken.add(names[sort])
    return names


# -- writing -----------------------------------------------------------------------------------------------------------


def to_itf(model: RelationalModel, trace: Trace) -> Document:
    """The trace as an ITF document; raises `TraceFormatError` if its states do not share sizes and rigid values."""
    _check_states(model, trace)
    first = trace.states[0]
    writer = _Writer(element_names(model, first.sizes))
    universes = {name: sort for sort, name in universe_names(model).items() if sort in writer.names}
    rigid = [symbol for symbol in model.symbols if not symbol.mutable]
    mutable = [symbol for symbol in model.symbols if symbol.mutable]
    types = dict.fromkeys(universes, "Set(Str)") | {symbol.name: apalache_type(symbol) for symbol in model.symbols}
    states: list[Document] = [{"#meta": {"index": 0}}]
    states[0].update((name, {"#set": list(writer.names[sort])}) for name, sort in universes.items())
    states[0].update(writer.tables(rigid, first))
    states += [{"#meta": writer.step(model, number, step)} for number, step in enumerate(trace.steps, 1)]
    for written, state in zip(states, trace.states, strict=True):
        written.update(writer.tables(mutable, state))
    document: Document = {
        "#meta": _description(model, trace) | {"varTypes": types},
        "params": [*universes, *(symbol.name for symbol in rigid)],
        "vars": [symbol.name for symbol in mutable],
        "states": states,
    }
    return document if trace.loop is None else document | {"loop": trace.loop}


def apalache_type(symbol: Symbol) -> str:
    """The type of a symbol's value in Apalache's type system (ADR-002); elements are strings."""
    arguments = [_sort_type(sort) for sort in symbol.arguments]
    result = _sort_type(symbol.sort)
    tuple_type = f"<<{', '.join(arguments)}>>"
    if not arguments:
        return result
    if symbol.is_relation:
        return f"Set({tuple_type})"
    return f"{tuple_type if len(arguments) > 1 else arguments[0]} -> {result}"


def _sort_type(sort: Sort) -> str:
    return "Bool" if sort is BOOL else "Int" if sort is INT else "Str"


def _description(model: RelationalModel, trace: Trace) -> Document:
    source = model.source
    return {
        "format": "ITF",
        "format-description": DESCRIPTION,
        "tool": {"name": "quorate", "version": __version__},
        "protocol": {
            "file": PurePath(source.path).name if source else model.name,
            "sha256": source.sha256 if source else None,
        },
        "kind": trace.kind,
        "violated": trace.violated,
    }


def _check_states(model: RelationalModel, trace: Trace) -> None:
    if len(trace.states) != len(trace.steps) + 1:
        raise TraceFormatError("a trace needs one state more than steps")
    first = trace.states[0]
    for number, state in enumerate(trace.states):
        if state.sizes != first.sizes:
            raise TraceFormatError(f"state {number} has other sizes than state 0")
        for symbol in model.symbols:
            if symbol not in state.tables:
                raise TraceFormatError(f"state {number} gives no value to {symbol.name}")
            if INT in symbol.arguments:
                raise TraceFormatError(f"{symbol.name} takes integers, so it has no finite table")
            if not symbol.mutable and state.tables[symbol] != first.tables[symbol]:
                raise TraceFormatError(f"state {number} changes {symbol.name}, which is rigid")


@dataclass(frozen=True)
class _Writer:
    names: Names

    def value(self, value: Value, sort: Sort) -> Any:
        if sort is BOOL:
            return bool(value)
        return {"#bigint": str(value)} if sort is INT else self.names[sort][value]

    def arguments(self, key: tuple[Value, ...], symbol: Symbol) -> list[Any]:
        return [self.value(value, sort) for value, sort in zip(key, symbol.arguments, strict=True)]

    def table(self, symbol: Symbol, table: Table) -> Any:
        if not symbol.arguments:
            return self.value(table[()], symbol.sort)
        if symbol.is_relation:
            return {"#set": [{"#tup": self.arguments(key, symbol)} for key in sorted(table) if table[key]]}
        pairs = [(self.arguments(key, symbol), self.value(table[key], symbol.sort)) for key in sorted(table)]
        return {"#map": [[{"#tup": key} if len(key) > 1 else key[0], value] for key, value in pairs]}

    def tables(self, symbols: Iterable[Symbol], state: Structure) -> Document:
        return {symbol.name: self.table(symbol, state.tables[symbol]) for symbol in symbols}

    def step(self, model: RelationalModel, number: int, step: Step) -> Document:
        transition = model.transition(step.transition)
        meta: Document = {
            "index": number,
            "transition": step.transition,
            "bindings": {
                parameter.name: self.value(step.bindings[parameter.name], parameter.sort)
                for parameter in transition.parameters
            },
        }
        if transition.choices:
            meta["choices"] = {
                choice.name: self.table(choice, step.choices[choice.name]) for choice in transition.choices
            }
        if transition.span is not None:
            meta["line"] = transition.span.line
        return meta


# -- reading -----------------------------------------------------------------------------------------------------------


def from_itf(model: RelationalModel, document: Document) -> Trace:
    """The trace in a document; raises `TraceFormatError` if it is malformed or is not about this protocol."""
    meta = _object(_member(document, "#meta", "the document"), "#meta")
    kind, violated = meta.get("kind"), meta.get("violated")
    if kind not in ("run", "cti"):
        _fail("#meta", 'kind must be "run" or "cti"')
    loop = document.get("loop")
    if loop is not None and (isinstance(loop, bool) or not isinstance(loop, int)):
        _fail("loop", "the number of a state is expected")
    states = _list(_member(document, "states", "the document"), "states")
    if not states:
        _fail("states", "there must be at least one state")
    reader = _Reader(model)
    reader.declare(document, _object(states[0], "state 0"))
    if violated is not None and (not isinstance(violated, str) or not has_property(model, violated)):
        _fail("#meta", f"there is no property {_brief(violated)}")
    structures = tuple(reader.state(number, state) for number, state in enumerate(states))
    steps = tuple(reader.step(number, state["#meta"]) for number, state in enumerate(states) if number)
    return Trace(kind, structures, steps, violated, loop)


class _Reader:
    """Reads the values of one document; `index` finds an element from its name."""

    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self.rigid = {symbol.name: symbol for symbol in model.symbols if not symbol.mutable}
        self.mutable = {symbol.name: symbol for symbol in model.symbols if symbol.mutable}
        self.transitions = {transition.name: transition for transition in model.transitions}
        self.sizes: dict[Sort, int] = {}
        self.index = {sort: _positions(sort.elements) for sort in model.sorts if sort.elements}
        self.parameters: set[str] = set()
        self.fixed: dict[Symbol, Table] = {}
        self.cells = 0

    def declare(self, document: Document, first: Document) -> None:
        """Read what holds for the whole document: which names it declares, the universes and the rigid symbols."""
        _same_names("vars", _names(document, "vars"), self.mutable)
        self.parameters = _names(document, "params")
        universes = {name: sort for sort, name in universe_names(self.model).items()}
        _same_names("params", self.parameters.difference(universes), self.rigid)
        for name in self.parameters.intersection(universes):
            self.universe(universes[name], _member(first, name, "state 0"), f"state 0, {name}")
        self.fixed = self.tables(self.rigid, first, "state 0")

    def universe(self, sort: Sort, found: Any, where: str) -> None:
        elements = _tagged(found, "#set", where)
        if not elements or not all(isinstance(element, str) for element in elements):
            _fail(where, "a universe is a set of one or more strings")
        if len(set(elements)) != len(elements):
            _fail(where, "an element is listed twice")
        if sort.elements and set(elements) != set(sort.elements):
            _fail(where, f"the elements of {sort} are {', '.join(sort.elements)}")
        if not sort.elements:
            self.sizes[sort] = len(elements)
            self.index[sort] = _positions(elements)

    def state(self, number: int, found: Any) -> Structure:
        where = f"state {number}"
        state = _object(found, where)
        meta = _object(_member(state, "#meta", where) if number else state.get("#meta", {}), f"{where}, #meta")
        index = meta.get("index", number)
        if type(index) is not int or index != number:
            _fail(f"{where}, #meta", "the index is not the place of the state")
        known = self.mutable.keys() | (self.parameters if number == 0 else set())
        _same_names(where, set(state) - {"#meta"}, known)
        return Structure(self.sizes, self.fixed | self.tables(self.mutable, state, where))

    def step(self, number: int, meta: Document) -> Step:
        where = f"state {number}, #meta"
        name = _member(meta, "transition", where)
        transition = self.transitions.get(name) if isinstance(name, str) else None
        if transition is None:
            _fail(where, f"there is no transition {_brief(name)}")
        parameters = {parameter.name: parameter.sort for parameter in transition.parameters}
        bindings = _object(_member(meta, "bindings", where), f"{where}, bindings")
        _same_names(f"{where}, bindings", set(bindings), parameters)
        choices = _object(meta.get("choices", {}), f"{where}, choices")
        wanted = {choice.name: choice for choice in transition.choices}
        _same_names(f"{where}, choices", set(choices), wanted)
        values = {name: self.value(bindings[name], sort, f"{where}, {name}") for name, sort in parameters.items()}
        tables = self.tables(wanted, choices, where)
        return Step(transition.name, values, {choice.name: table for choice, table in tables.items()})

    def tables(self, symbols: Mapping[str, Symbol], found: Document, where: str) -> dict[Symbol, Table]:
        return {
            symbol: self.table(symbol, _member(found, name, where), f"{where}, {name}")
            for name, symbol in symbols.items()
        }

    def table(self, symbol: Symbol, found: Any, where: str) -> Table:
        if not symbol.arguments:
            return {(): self.value(found, symbol.sort, where)}
        places = self.places(symbol, where)
        if symbol.is_relation:
            true = {self.key(symbol, _tagged(item, "#tup", where), where) for item in _tagged(found, "#set", where)}
            return {key: key in true for key in places}
        table: dict[tuple[Value, ...], Value] = {}
        for item in _tagged(found, "#map", where):
            pair = _list(item, where)
            if len(pair) != 2:
                _fail(where, "a map is a list of pairs")
            key = self.key(symbol, _tagged(pair[0], "#tup", where) if len(symbol.arguments) > 1 else pair[:1], where)
            if key in table:
                _fail(where, "a key is given twice")
            table[key] = self.value(pair[1], symbol.sort, where)
        if len(table) != len(places):
            _fail(where, f"the map has {len(table)} of {len(places)} keys")
        return {key: table[key] for key in places}

    def places(self, symbol: Symbol, where: str) -> list[tuple[Value, ...]]:
        """All argument tuples of a symbol, unless there are too many of them in this document."""
        try:
            self.cells += prod(len(domain(sort, self.sizes)) for sort in symbol.arguments)
            if self.cells > MAX_CELLS:
                _fail(where, f"the tables of this trace have more than {MAX_CELLS} entries")
            return list(argument_tuples(symbol.arguments, self.sizes))
        except EvaluationError as problem:
            _fail(where, str(problem))

    def key(self, symbol: Symbol, found: list[Any], where: str) -> tuple[Value, ...]:
        if len(found) != len(symbol.arguments):
            _fail(where, f"a tuple has {len(found)} members, {symbol.name} takes {len(symbol.arguments)}")
        return tuple(self.value(item, sort, where) for item, sort in zip(found, symbol.arguments, strict=True))

    def value(self, found: Any, sort: Sort, where: str) -> Value:
        if sort is BOOL:
            return found if isinstance(found, bool) else _fail(where, f"{_brief(found)} is not a truth value")
        if sort is INT:
            return _integer(found, where)
        value = self.index.get(sort, {}).get(found) if isinstance(found, str) else None
        return value if value is not None else _fail(where, f"{_brief(found)} is not an element of {sort}")


def _positions(elements: Iterable[str]) -> dict[str, int]:
    return {element: i for i, element in enumerate(elements)}


def _fail(where: str, problem: str) -> NoReturn:
    raise TraceFormatError(f"{where}: {problem}") from None


def _brief(value: Any) -> str:
    """A value in a message: short and printable whatever it is."""
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else value[:40] + "...")
    kinds = {bool: "a truth value", int: "a plain number", float: "a plain number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null" if value is None else "something else")


def _object(value: Any, where: str) -> Document:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        _fail(where, f"an object is needed, not {_brief(value)}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    return value if isinstance(value, list) else _fail(where, f"a list is needed, not {_brief(value)}")


def _member(value: Any, name: str, where: str) -> Any:
    members = _object(value, where)
    return members[name] if name in members else _fail(where, f"{name} is missing")


def _tagged(value: Any, tag: str, where: str) -> list[Any]:
    """The list in an object of the form `{tag: [...]}`."""
    if not isinstance(value, dict) or list(value) != [tag] or not isinstance(value[tag], list):
        _fail(where, f'{{"{tag}": [...]}} is needed, not {_brief(value)}')
    found: list[Any] = value[tag]
    return found


def _integer(value: Any, where: str) -> int:
    digits = value.get("#bigint") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(digits, str) or not re.fullmatch(r"-?[0-9]{1,4000}", digits):
        _fail(where, f'{{"#bigint": "..."}} is needed, not {_brief(value)}')
    return int(digits)


def _names(document: Document, field: str) -> set[str]:
    found = _list(document.get(field, []), field)
    if not all(isinstance(name, str) for name in found) or len(set(found)) != len(found):
        _fail(field, "a list of different names is needed")
    return set(found)


def _same_names(where: str, found: set[str], known: Iterable[str]) -> None:
    known = set(known)
    if surplus := found - known:
        _fail(where, f"{_brief(min(surplus))} does not belong to this protocol")
    if missing := known - found:
        _fail(where, f"{min(missing)} is missing")


# -- files -------------------------------------------------------------------------------------------------------------


def save(path: str | Path, document: Document) -> None:
    """Write a document to a file: all of it, or nothing."""
    write_atomically(path, _layout(document, 3) + "\n")


def _layout(value: Any, levels: int, margin: str = "") -> str:
    """JSON with the outer levels spread over lines, so that each variable of each state has a line of its own."""
    if levels == 0 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = margin + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {_layout(item, levels - 1, inner)}" for name, item in value.items()]
    else:
        items = [_layout(item, levels - 1, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{margin}{closing}"


def load(path: str | Path) -> Document:
    """The JSON object in a file; raises `TraceFormatError` if there is none."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise TraceFormatError(f"the file is larger than {MAX_BYTES} bytes")
        document = json.loads(content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except OSError as problem:
        raise TraceFormatError(f"cannot read the file: {problem.strerror}") from None
    except RecursionError:
        raise TraceFormatError("the document is nested too deeply") from None
    except ValueError as problem:
        raise TraceFormatError(f"this is not JSON: {problem}") from None
    return _object(document, "the document")


def _unique(pairs: list[tuple[str, Any]]) -> Document:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has two members of one name")
    return members


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
