"""Traces as text: the first state and then what each step changes, or a sequence view with a lane per node.

Every fact is printed as the protocol would write it; nothing is left out but what is false or unchanged.  Plain text,
at most 100 columns unless a single fact is longer.  Read `evaluate` next for questions about a trace.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath

from quorate.logic.structures import Evaluator, Structure, Table, Value, domain
from quorate.logic.terms import Forall, Sort, Symbol, Term, Var
from quorate.models.relational import Liveness, RelationalModel
from quorate.models.semantics import Step
from quorate.proof.lassos import starving
from quorate.proof.naming import Names, element_names, is_element, value_name
from quorate.proof.traces import Trace, find_property

WIDTH = 100
GAP = "   "
CTI_NOTICE = "counterexample to induction: NOT a reachable run (state 0 need not be reachable)"


def show_trace(model: RelationalModel, trace: Trace) -> str:
    """The universe, the rigid facts, state 0 in full, what each step changes, and the property that is violated."""
    view = _View(model, trace, element_names(model, trace.states[0].sizes))
    lines = [view.title(), *view.universe()]
    rigid = view.facts(symbol for symbol in model.symbols if not symbol.mutable)
    if rigid:
        lines += ["rigid:", *rigid]
    lines += ["state 0:", *(view.facts(symbol for symbol in model.symbols if symbol.mutable) or ["  nothing holds"])]
    for number, step in enumerate(trace.steps, 1):
        lines += ["from here on, again and again:"] * (trace.loop == number - 1)
        lines += _fold(view.step(step), f"step {number}: ", separator=GAP)
        lines += _fold(view.choices(step), "  choosing ")
        lines += [f"  {change}" for change in view.changes(number)] or ["  no change"]
    return "\n".join([*lines, *view.violation()]) + "\n"


def show_sequence(model: RelationalModel, trace: Trace, lane: Sort | None = None) -> str:
    """One column per element of the lane sort; each step stands in the column of its first parameter of that sort.

    Arrows lead to the other elements of the lane sort that the step binds.  Without `lane`, the uninterpreted sort that
    is bound in the most steps stands for the nodes.
    """
    view = _View(model, trace, element_names(model, trace.states[0].sizes))
    lane = lane or default_lane(model, trace)
    elements = view.names.get(lane, ()) if lane else ()
    lanes = _Lanes(elements)
    lines = [view.title(), "", lanes.heading(), lanes.idle()]
    for number, step in enumerate(trace.steps, 1):
        bound = [step.bindings[item.name] for item in view.parameters(step) if elements and item.sort is lane]
        notes = _fold(view.step(step), "", lanes.room, GAP) + _fold(view.choices(step), "  choosing ", lanes.room)
        notes += _fold(view.changes(number) or ["no change"], "  ", lanes.room, GAP)
        lines += [f"{lanes.row(bound, number)}{notes[0]}", *(f"{lanes.idle()}{note}" for note in notes[1:])]
    return "\n".join(line.rstrip() for line in [*lines, "", *view.violation()]).rstrip() + "\n"


def default_lane(model: RelationalModel, trace: Trace) -> Sort | None:
    """The uninterpreted sort that is bound in the most steps; the first declared one of several."""
    bound = [{parameter.sort for parameter in model.transition(step.transition).parameters} for step in trace.steps]
    candidates = [sort for sort in model.sorts if sort.uninterpreted and sort in trace.states[0].sizes]
    return max(candidates, key=lambda sort: sum(sort in sorts for sorts in bound), default=None)


def show_step(model: RelationalModel, step: Step, names: Names) -> str:
    """The transition with its bindings, as `send(n = node0)`."""
    parameters = model.transition(step.transition).parameters
    values = [f"{item.name} = {value_name(step.bindings[item.name], item.sort, names)}" for item in parameters]
    return f"{step.transition}({', '.join(values)})"


@dataclass(frozen=True)
class _View:
    """The pieces of text that both views are made of."""

    model: RelationalModel
    trace: Trace
    names: Names

    def title(self) -> str:
        if self.trace.kind == "cti":
            return CTI_NOTICE
        count = len(self.trace.steps)
        if self.trace.loop is not None:
            return f"run of {_steps(self.trace.loop)}, then a loop of {_steps(count - self.trace.loop)}"
        return f"run of {_steps(count)}"

    def universe(self) -> list[str]:
        return _fold([f"{sort} = {{{', '.join(elements)}}}" for sort, elements in self.names.items()], "universe: ")

    def parameters(self, step: Step) -> tuple[Var, ...]:
        return self.model.transition(step.transition).parameters

    def step(self, step: Step) -> list[str]:
        """The transition with its bindings, and where it is declared."""
        span = self.model.transition(step.transition).span
        place = [f"[{PurePath(span.source.path).name}:{span.line}]"] if span else []
        return [show_step(self.model, step, self.names), *place]

    def facts(self, symbols: Iterable[Symbol]) -> list[str]:
        """What is true of the symbols in state 0, one paragraph each."""
        lines: list[str] = []
        for symbol in symbols:
            if not is_element(symbol):
                table = self.trace.states[0].tables[symbol]
                order = self.order(symbol, table)
                lines += _fold([order] if order else self.true(symbol, table), "  ")
        return lines

    def true(self, symbol: Symbol, table: Table) -> list[str]:
        """The true facts of a relation, or the value of a function at each place."""
        if symbol.is_relation:
            return [self.application(symbol, key) for key in sorted(table) if table[key]]
        return [f"{self.application(symbol, key)} = {self.value(table[key], symbol)}" for key in sorted(table)]

    def application(self, symbol: Symbol, key: tuple[Value, ...]) -> str:
        arguments = [value_name(value, sort, self.names) for value, sort in zip(key, symbol.arguments, strict=True)]
        return f"{symbol.name}({', '.join(arguments)})" if arguments else symbol.name

    def value(self, value: Value, symbol: Symbol) -> str:
        return value_name(value, symbol.sort, self.names)

    def order(self, symbol: Symbol, table: Table) -> str | None:
        """A relation that is a total order on two or more elements, as a chain."""
        if not symbol.is_relation or len(symbol.arguments) != 2 or len(set(symbol.arguments)) != 1:
            return None
        elements = self.names.get(symbol.arguments[0], ())
        above = [sum(bool(table[i, j]) for j in range(len(elements))) for i in range(len(elements))]
        chain = sorted(range(len(elements)), key=lambda i: -above[i])
        place = {element: position for position, element in enumerate(chain)}
        strict = len(elements) > 0 and not table[0, 0]
        expected = {(i, j): place[i] < place[j] or (i == j and not strict) for i in chain for j in chain}
        if len(elements) < 2 or table != expected:
            return None
        return f"{symbol.name}: {' < '.join(elements[i] for i in chain)}{' (strict)' if strict else ''}"

    def choices(self, step: Step) -> list[str]:
        shown: list[str] = []
        for choice in self.model.transition(step.transition).choices:
            table = step.choices[choice.name]
            if choice.arguments:
                shown += self.true(choice, table) or [f"{choice.name} nowhere"]
            else:
                shown.append(f"{choice.name} = {self.value(table[()], choice)}")
        return shown

    def changes(self, number: int) -> list[str]:
        """What differs between a state and the one before."""
        before, after = self.trace.states[number - 1], self.trace.states[number]
        changes: list[str] = []
        for symbol in self.model.symbols:
            old, new = before.tables[symbol], after.tables[symbol]
            for key in sorted(new):
                if old[key] != new[key]:
                    changes.append(self.change(symbol, key, old[key], new[key]))
        return changes

    def change(self, symbol: Symbol, key: tuple[Value, ...], old: Value, new: Value) -> str:
        application = self.application(symbol, key)
        if symbol.is_relation:
            return f"{'+' if new else '-'} {application}"
        return f"~ {application}: {self.value(old, symbol)} -> {self.value(new, symbol)}"

    def violation(self) -> list[str]:
        """The property that the last state violates, its formula, and for which values it fails."""
        for item in self.model.liveness:
            if item.name == self.trace.violated:
                return self.starvation(item)
        claimed = find_property(self.model, self.trace.violated) if self.trace.violated is not None else None
        if claimed is None:
            return []
        lines = [f"state {len(self.trace.states) - 1} violates {claimed.where}:", *_paragraph(str(claimed.formula))]
        witness = falsifying(claimed.formula, self.trace.states[-1])
        values = [f"{variable.name} = {value_name(value, variable.sort, self.names)}" for variable, value in witness]
        return lines + _fold(values, "  fails for ")

    def starvation(self, item: Liveness) -> list[str]:
        """The liveness property that the run violates, and for which values."""
        values = starving(self.model, item, self.trace.states, self.trace.loop) or {}
        last = len(self.trace.states) - 1
        end = (
            f"state {last} is state {self.trace.loop} again"
            if self.trace.loop is not None
            else (f"no step can be taken in state {last}")
        )
        where = f"{item.name} (line {item.span.line})" if item.span else item.name
        lines = [f"{end}; this violates {where}:", *_paragraph(f"{item.trigger} ~> {item.goal}")]
        shown = [
            f"{variable.name} = {value_name(value, variable.sort, self.names)}" for variable, value in values.items()
        ]
        return lines + _fold(shown, "  fails for ")


def falsifying(formula: Term, state: Structure) -> list[tuple[Var, Value]]:
    """Values of the outermost universal variables for which the formula fails; none if it has no such variables."""
    if not isinstance(formula, Forall):
        return []
    body = Evaluator(state.sizes).compile(formula.body)
    for values in product(*(domain(variable.sort, state.sizes) for variable in formula.variables)):
        bindings = list(zip(formula.variables, values, strict=True))
        if not body(state, dict(bindings)):
            return bindings
    return []


class _Lanes:
    """Draws the columns of a sequence view; what is said about a step stands to the right of them."""

    GUTTER = 5

    def __init__(self, elements: Sequence[str]) -> None:
        self.elements = elements
        self.pitch = max((len(element) for element in elements), default=0) + 3
        self.edge = self.GUTTER + self.pitch * len(elements)
        self.room = max(WIDTH - self.edge, 40)

    def axis(self, element: Value) -> int:
        return self.GUTTER + self.pitch * int(element) + (self.pitch - 3) // 2

    def heading(self) -> str:
        return " " * self.GUTTER + "".join(f"{element:<{self.pitch}}" for element in self.centred())

    def centred(self) -> list[str]:
        width = self.pitch - 3
        return [f"{' ' * ((width - len(element)) // 2)}{element}" for element in self.elements]

    def idle(self) -> str:
        line = [" "] * self.edge
        for element in range(len(self.elements)):
            line[self.axis(element)] = "|"
        return "".join(line)

    def row(self, bound: Sequence[Value], number: int) -> str:
        """The lanes at a step that binds these elements, the first of which takes it."""
        line = list(f"{number:>{self.GUTTER - 2}}{self.idle()[self.GUTTER - 2 :]}")
        for target in bound[1:]:
            start, end = self.axis(bound[0]), self.axis(target)
            for position in range(min(start, end) + 1, max(start, end)):
                line[position] = "-" if line[position] in " |" else line[position]
            if start != end:
                line[end + (-1 if start < end else 1)] = ">" if start < end else "<"
        for element in bound[1:]:
            line[self.axis(element)] = "o"
        if bound:
            line[self.axis(bound[0])] = "*"
        return "".join(line)


def _steps(count: int) -> str:
    return f"{count} {'step' if count == 1 else 'steps'}"


def _fold(items: Sequence[str], lead: str, width: int = WIDTH, separator: str = ", ") -> list[str]:
    """The items in lines of at most `width`, broken only between them; nothing for no items."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(separator) + len(item) < width:
            lines[-1] += separator + item
        else:
            if lines:
                lines[-1] += separator.rstrip()
            lines.append((" " * len(lead) if lines else lead) + item)
    return lines


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
