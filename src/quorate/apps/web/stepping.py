"""Walking through an instance by hand: what can happen next, why the rest cannot, and where each choice leads.

States are numbered as they are met, so that a walk can branch from any of them.  Each family has a stepper with the same few
methods; all of them take their steps with the reference semantics.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, pairwise, product
from math import prod
from typing import Any, Protocol

from quorate.apps.web import traces
from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.engines.explicit.worlds import World, entries
from quorate.lang.extend import print_formulas
from quorate.logic.structures import EvaluationError, Evaluator, domain
from quorate.logic.terms import Var
from quorate.logic.transform import conjuncts, symbols_of
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.process_semantics import ProcessSemantics
from quorate.models.relational import RelationalModel, Transition
from quorate.proof.naming import element_names, value_name
from quorate.proof.traces import Trace

Document = dict[str, Any]
MOST_SHOWN, MOST_BINDINGS = 200, 2_000


class SteppingError(Exception):
    """The instance cannot be walked through; the message says why."""


class Stepper(Protocol):
    """A walk through an instance."""

    def head(self) -> Document: ...
    def starts(self) -> list[int]: ...
    def look(self, number: int) -> Document: ...
    def options(self, number: int) -> Document: ...


def open_stepper(model: Model, sizes: Mapping[str, int], run: Trace | None = None) -> Stepper:
    """A stepper for a model at given sizes, two where none is given; or for the instance in which a run takes place."""
    if isinstance(model, RelationalModel):
        return RelationalStepper(model, sizes, run)
    if isinstance(model, ProcessModel):
        return ProcessStepper(model, sizes.get("process", 2))
    raise SteppingError("round-based algorithms cannot be stepped through by hand yet; verify shows their runs")


class RelationalStepper:
    """A walk through an instance of a relational protocol."""

    def __init__(self, model: RelationalModel, sizes: Mapping[str, int], run: Trace | None = None) -> None:
        self.model = model
        chosen = {sort: max(1, min(6, sizes.get(sort.name, 2))) for sort in model.sorts if sort.uninterpreted}
        self.instance = Instance(model, dict(run.states[0].sizes) if run else chosen)
        if run is not None:
            first, sizes_of = run.states[0].tables, self.instance.sizes
            values = tuple(int(first[s][args]) for s in self.instance.rigid_symbols for args in entries(s, sizes_of))
            self.instance.__dict__["worlds"] = (World(values, ({},)),)
        chosen = dict(self.instance.sizes)
        self.reference = Reference(self.instance.system)
        self.names = element_names(model, chosen)
        self.known: list[Any] = []
        self.index: dict[Any, int] = {}

    def number(self, state: Any) -> int:
        if state not in self.index:
            self.index[state] = len(self.known)
            self.known.append(state)
        return self.index[state]

    def head(self) -> Document:
        universe = [{"name": sort.name, "elements": list(elements)} for sort, elements in self.names.items()]
        lane = next((sort.name for sort in self.model.sorts if sort.uninterpreted), "")
        return {"universe": universe, "symbols": traces.relational_symbols(self.model), "lane": lane}

    def starts(self) -> list[int]:
        return [self.number(state) for state in islice(self.reference.initial(), MOST_SHOWN)]

    def look(self, number: int) -> Document:
        state = self.known[number]
        table = traces.relational_state(self.model, self.instance.structure(*state), self.names)
        return {"state": number, "table": table, "violated": self.reference.violated(state)}

    def options(self, number: int) -> Document:
        """Steps that can be taken, and for the other transitions what is in their way."""
        enabled = []
        for after, rule, choices in islice(self.reference.successors(self.known[number]), MOST_SHOWN):
            step = self.instance.step(self.instance.system.rules[rule], choices)
            shown = traces.relational_step(self.model, step, self.names)
            enabled.append({**shown, "to": self.number(after), "same": after == self.known[number]})
        taken = {item["name"] for item in enabled}
        blocked = [self._why_not(number, item) for item in self.model.transitions if item.name not in taken]
        return {"enabled": enabled, "blocked": blocked, "more": len(enabled) == MOST_SHOWN}

    def _why_not(self, number: int, transition: Transition) -> Document:
        """Of all values of the parameters, those that come closest, and the conditions that fail for them."""
        state = self.instance.structure(*self.known[number])
        parts = [part for part in conjuncts(transition.guard) if symbols_of(part).isdisjoint(transition.choices)]
        sorts = [parameter.sort for parameter in transition.parameters]
        best: tuple[list[Any], dict[Var, Any]] | None = None
        if prod(len(domain(sort, state.sizes)) for sort in sorts) <= MOST_BINDINGS:
            tests = [Evaluator(state.sizes).compile(part) for part in parts]
            for values in product(*(domain(sort, state.sizes) for sort in sorts)):
                bound = dict(zip(transition.parameters, values, strict=True))
                try:
                    failing = [part for part, test in zip(parts, tests, strict=True) if not test(state, bound)]
                except EvaluationError:
                    continue
                if failing and (best is None or len(failing) < len(best[0])):
                    best = failing, bound
        shown = []
        with_values = ""
        if best is not None:
            try:
                shown = print_formulas(self.model, best[0])
            except Exception:
                shown = [str(part) for part in best[0]]
            with_values = ", ".join(f"{p.name} = {value_name(v, p.sort, self.names)}" for p, v in best[1].items())
        line = transition.span.line if transition.span else None
        return {"name": transition.name, "line": line, "closest": with_values, "failing": shown}

    def follow(self, run: Trace) -> Document:
        """The states of a run, and which option leads from each to the next."""
        states = [
            (tuple(int(state.tables[symbol][args]) for symbol, args in self.instance.places), 0) for state in run.states
        ]
        path = [self.number(state) for state in states]
        taken, steps = [], []
        for before, after in pairwise(path):
            options = self.options(before)["enabled"]
            index = next((i for i, option in enumerate(options) if option["to"] == after), None)
            if index is None:
                break
            taken.append(index)
            steps.append(options[index])
        return {"path": path[: len(taken) + 1], "taken": taken, "steps": steps}

    def trace(self, path: list[int], steps: list[int]) -> Trace:
        """The run along states, by the options that were chosen."""
        states = [self.instance.structure(*self.known[path[0]])]
        taken = []
        for before, choice in zip(path, steps, strict=False):
            found = list(islice(self.reference.successors(self.known[before]), MOST_SHOWN))
            after, rule, choices = found[choice]
            taken.append(self.instance.step(self.instance.system.rules[rule], choices))
            states.append(self.instance.structure(*after))
        violated = self.reference.violated(self.known[path[-1]])
        return Trace("run", tuple(states), tuple(taken), violated[0] if violated else None)


class ProcessStepper:
    """A walk through a Mercury program with some processes."""

    def __init__(self, model: ProcessModel, processes: int) -> None:
        self.model, self.processes = model, max(1, min(6, processes))
        self.semantics = ProcessSemantics(model, self.processes)
        self.known: list[Any] = []
        self.index: dict[Any, int] = {}

    def number(self, state: Any) -> int:
        if state not in self.index:
            self.index[state] = len(self.known)
            self.known.append(state)
        return self.index[state]

    def head(self) -> Document:
        names = [f"P{i}" for i in range(self.processes)]
        universe = [{"name": "process", "elements": names}]
        return {"universe": universe, "symbols": traces.process_symbols(self.model), "lane": "process"}

    def starts(self) -> list[int]:
        return [self.number(self.semantics.initial)]

    def look(self, number: int) -> Document:
        state = self.known[number]
        violated = [p.name for p in self.model.safety if not self.semantics.holds(p.specification, state)]
        return {"state": number, "table": traces.process_state(self.model, state), "violated": violated}

    def options(self, number: int) -> Document:
        """Steps that can be taken."""
        enabled = []
        for step, after in islice(self.semantics.successors(self.known[number]), MOST_SHOWN):
            same = after == self.known[number]
            enabled.append({**traces.process_step(step), "to": self.number(after), "same": same})
        return {"enabled": enabled, "blocked": [], "more": len(enabled) == MOST_SHOWN}
