"""Runs of every family as one kind of data, for the trace explorer: a universe, symbols, a table per state, labelled steps.

What is shown has been replayed already; nothing is judged here.  `static/trace.js` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from quorate.logic.structures import Structure
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.process_names import CRASHED
from quorate.models.process_semantics import UNDEFINED, Local
from quorate.models.process_semantics import Step as ProcessStep
from quorate.models.relational import RelationalModel
from quorate.models.rounds import RoundModel
from quorate.models.semantics import Step
from quorate.proof.naming import Names, element_names, is_element, value_name
from quorate.proof.process_runs import ProcessRun, describe
from quorate.proof.round_traces import RoundTrace
from quorate.proof.show import default_lane, falsifying, show_step
from quorate.proof.traces import Trace, find_property
from quorate.proof.verdicts import Result

Document = dict[str, Any]


def trace_document(model: Model, result: Result) -> Document | None:
    """The run behind a verdict, if it has one."""
    if isinstance(model, RelationalModel) and isinstance(result.evidence, Trace):
        return relational_trace(model, result.evidence)
    if isinstance(model, ProcessModel) and isinstance(result.evidence, ProcessRun):
        return process_trace(model, result.evidence)
    if isinstance(model, RoundModel) and result.rounds is not None:
        return round_trace(model, result.rounds)
    return None


# -- relational protocols --------------------------------------------------------------------------------------------------


def relational_trace(model: RelationalModel, trace: Trace) -> Document:
    """A run or a counterexample to induction of a relational protocol."""
    names = element_names(model, trace.states[0].sizes)
    lane = default_lane(model, trace)
    claimed = find_property(model, trace.violated) if trace.violated else None
    witness = falsifying(claimed.formula, trace.states[-1]) if claimed else []
    fails = ", ".join(f"{variable.name} = {value_name(value, variable.sort, names)}" for variable, value in witness)
    return {
        "kind": trace.kind,
        "violated": trace.violated,
        "why": f"It fails for {fails}." if fails else "",
        "formula": str(claimed.formula) if claimed else "",
        "universe": [{"name": sort.name, "elements": list(elements)} for sort, elements in names.items()],
        "lane": lane.name if lane else "",
        "symbols": relational_symbols(model),
        "states": [relational_state(model, state, names) for state in trace.states],
        "steps": [relational_step(model, step, names) for step in trace.steps],
        "example": f"an expression, like {_example(model)}",
    }


def _example(model: RelationalModel) -> str:
    symbol = next((item for item in model.symbols if item.mutable and item.is_relation and item.arguments), None)
    if symbol is None:
        return "true"
    variables = [f"{sort.name[:1].upper()}{i}" for i, sort in enumerate(symbol.arguments, 1)]
    bound = ", ".join(f"{name}:{sort}" for name, sort in zip(variables, symbol.arguments, strict=True))
    return f"exists {bound}. {symbol.name}({', '.join(variables)})"


def relational_symbols(model: RelationalModel) -> list[Document]:
    return [
        {
            "name": symbol.name,
            "arguments": [sort.name for sort in symbol.arguments],
            "sort": symbol.sort.name,
            "relation": symbol.is_relation,
            "mutable": symbol.mutable,
        }
        for symbol in sorted(model.symbols, key=lambda symbol: not symbol.mutable)
        if not is_element(symbol)
    ]


def relational_state(model: RelationalModel, state: Structure, names: Names) -> Document:
    """For each symbol its rows: the tuples that are true of a relation, arguments and value of a function."""
    found: Document = {}
    for symbol in model.symbols:
        if is_element(symbol):
            continue
        rows = []
        for key, value in sorted(state.tables[symbol].items()):
            arguments = [value_name(item, sort, names) for item, sort in zip(key, symbol.arguments, strict=True)]
            if not symbol.is_relation:
                rows.append([*arguments, value_name(value, symbol.sort, names)])
            elif value:
                rows.append(arguments)
        found[symbol.name] = rows
    return found


def relational_step(model: RelationalModel, step: Step, names: Names) -> Document:
    transition = model.transition(step.transition)
    bindings = [(p.name, p.sort, value_name(step.bindings[p.name], p.sort, names)) for p in transition.parameters]
    choices = []
    for choice in transition.choices:
        table = step.choices[choice.name]
        if not choice.arguments:
            choices.append(f"{choice.name} = {value_name(table[()], choice.sort, names)}")
    return {
        "name": step.transition,
        "label": show_step(model, step, names),
        "line": transition.span.line if transition.span else None,
        "bindings": [[name, value] for name, _, value in bindings],
        "places": [[sort.name, value] for _, sort, value in bindings],
        "choices": choices,
    }


# -- Mercury programs ------------------------------------------------------------------------------------------------------


def process_trace(model: ProcessModel, run: ProcessRun) -> Document:
    """A run of a Mercury program."""
    return {
        "kind": "run",
        "violated": run.violated,
        "why": "",
        "formula": "",
        "universe": [{"name": "process", "elements": [f"P{i}" for i in range(run.processes)]}],
        "lane": "process",
        "symbols": process_symbols(model),
        "states": [process_state(model, state) for state in run.states],
        "steps": [process_step(step) for step in run.steps],
        "example": f"an expression, like {_where(model)}(P0) = {model.locations[0].name}",
    }


def _where(model: ProcessModel) -> str:
    """What the page calls the location of a process: `at`, or a keyword of the language if a variable has that name."""
    return "location" if any(variable.name == "at" for variable in model.variables) else "at"


def process_symbols(model: ProcessModel) -> list[Document]:
    where = _where(model)
    found = [{"name": where, "arguments": ["process"], "sort": "location", "relation": False, "mutable": True}]
    for variable in model.all_variables:
        members = variable.kind == "set"
        found.append(
            {
                "name": variable.name,
                "arguments": ["process", "process"] if members else ["process"],
                "sort": "bool" if members else "process" if variable.kind == "id" else "int",
                "relation": members,
                "mutable": True,
            }
        )
    return found


def process_state(model: ProcessModel, state: Sequence[Local]) -> Document:
    where = _where(model)
    found: Document = {where: []}
    for variable in model.all_variables:
        found[variable.name] = []
    for number, local in enumerate(state):
        name = f"P{number}"
        crashed = local.location == CRASHED
        found[where].append(
            [name, "crashed" if crashed else local.location + (" (waits to send)" * bool(local.pending))]
        )
        if crashed:
            continue
        for variable, value in zip(model.all_variables, local.values, strict=True):
            if variable.kind == "set":
                found[variable.name] += [[name, f"P{i}"] for i in range(value.bit_length()) if value >> i & 1]
            elif variable.kind == "id":
                found[variable.name].append([name, "nobody" if value == UNDEFINED else f"P{value}"])
            else:
                found[variable.name].append([name, str(value)])
    return found


def process_step(step: ProcessStep) -> Document:
    return {
        "name": step.name,
        "label": describe(step),
        "line": step.span.line if step.span else None,
        "bindings": [],
        "places": [["process", f"P{i}"] for i in (*step.actors, *step.others)],
        "choices": [],
    }


# -- round-based algorithms ------------------------------------------------------------------------------------------------


def round_trace(model: RoundModel, trace: RoundTrace) -> Document:
    """A run of a round-based algorithm; who hears of whom is a relation of the state after the round."""
    from quorate.engines.rounds.naive import Naive
    from quorate.models.evaluation import Machine
    from quorate.proof.round_traces import round_views, why

    machine = Machine(model)
    naive = Naive(machine, trace.n, trace.parameters, trace.faults)
    everyone = [f"p{p + 1}" for p in range(trace.n)]
    variables = [*(item.name for item in model.variables), "decision"]
    symbols = [
        {"name": name, "arguments": ["process"], "sort": "value", "relation": False, "mutable": True}
        for name in (*variables, "sends")
    ]
    symbols.append(
        {"name": "hears", "arguments": ["process", "process"], "sort": "bool", "relation": True, "mutable": True}
    )
    symbols += [
        {"name": item.name, "arguments": [], "sort": "value", "relation": False, "mutable": True}
        for item in model.shared
    ]
    states, steps = [], []
    for view in round_views(machine, naive, trace):
        state: Document = {
            name: [[p, values[i]] for p, values in zip(everyone, view.values, strict=True)]
            for i, name in enumerate(variables)
        }
        state["sends"] = [[p, message] for p, message in zip(everyone, view.sends, strict=False) if message != "-"]
        state["hears"] = [[p, everyone[q]] for p, heard in zip(everyone, view.hears, strict=False) for q in heard]
        state |= {name: [[value]] for name, value in view.shared.items()}
        states.append(state)
        heard_from = [
            [everyone[q], p] for p, heard in zip(everyone, view.hears, strict=False) for q in heard if everyone[q] != p
        ]
        if view.label:
            steps.append(
                {
                    "name": view.label,
                    "label": view.label,
                    "line": view.line,
                    "bindings": [],
                    "places": [["process", everyone[q]] for q in view.actors],
                    "choices": [],
                    "messages": view.summary,
                    "arrows": heard_from,
                }
            )
    notes = [f"{name} = {value}" for name, value in trace.parameters.items()]
    if trace.loop is not None:
        notes.append(f"from state {trace.loop} on the run repeats itself for ever")
    if trace.window:
        notes.append(f"sync holds in the last {trace.window} rounds")
    return {
        "kind": trace.kind,
        "violated": trace.violated,
        "why": why(machine, trace) + "." if trace.violated else "",
        "formula": "",
        "universe": [{"name": "process", "elements": everyone}],
        "lane": "process",
        "symbols": symbols,
        "states": states,
        "steps": steps,
        "note": "; ".join(notes),
        "example": "an expression, like hears(p1, p2)",
    }


def itf_text(model: Model, result: Result) -> str | None:
    """The run as a file that can be shared: ITF of a relational protocol, JSON of a round-based algorithm."""
    import json

    if isinstance(model, RelationalModel) and isinstance(result.evidence, Trace):
        from quorate.proof.itf import to_itf

        return json.dumps(to_itf(model, result.evidence), indent=1)
    if isinstance(model, RoundModel) and result.rounds is not None:
        return json.dumps(asdict(result.rounds), indent=1)
    return None
