"""Does a violation remain if there are more numbers?

An instance has finitely many elements of each sort.  Of a sort that is not finite (`proof/readings`) it is an initial segment,
and a run may get stuck, or go round, only because the segment ends: no fresh number is left.  Such a run says nothing about the
protocol.  So the same steps are taken again with more elements, which lie above all others: the run has to look the same to
those that were there before, and has to violate the property still, the new elements included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from quorate.logic.structures import Structure, Value, domain
from quorate.logic.terms import Quantified, Sort, Term, Var
from quorate.logic.transform import subterms
from quorate.methods.induction.unroll import FiniteRun, Move, Option
from quorate.models.relational import Liveness, RelationalModel
from quorate.models.temporal import all_fairness, can_step, enabled
from quorate.proof.readings import readings
from quorate.proof.traces import Trace

MORE = 1, 2, 3
"""How many elements are added to the sorts that are not finite, in turn; and as many as a step or the property names at once."""
SECONDS = 10.0
"""For each of these questions."""


def growing_sorts(model: RelationalModel) -> list[Sort]:
    """The sorts of which an instance has too few elements."""
    return [sort for sort, reading in readings(model).items() if reading.kind != "finite"]


def remains(model: RelationalModel, item: Liveness, trace: Trace) -> bool:
    """Does the run, a fair lasso or one that ends, violate the property with more elements, too?

    All sorts that are not finite grow together, or else those that can grow alone.  Where none can, nothing is claimed.
    """
    sizes = dict(trace.states[0].sizes)
    growing = growing_sorts(model)
    remained = not growing
    for more in sorted({*MORE, *(_spoken_of(model, item, sort) for sort in growing)} - {0}):
        alone = [sort for sort in growing if _is_possible(model, {**sizes, sort: sizes[sort] + more})]
        for chosen in (growing, alone):
            larger = {**sizes, **{sort: sizes[sort] + more for sort in chosen}}
            if chosen and _is_possible(model, larger):
                if not _Again(model, item, trace, larger).exists():
                    return False
                remained = True
                break
    return remained


def _spoken_of(model: RelationalModel, item: Liveness, sort: Sort) -> int:
    """How many elements of a sort a step, with what its guard quantifies over, or the property names at once, at most."""
    found = [_quantified(sort, item.trigger, item.goal) + [v.sort for v in item.variables].count(sort)]
    for transition in model.transitions:
        own = [v.sort for v in transition.parameters].count(sort) + [c.sort for c in transition.choices].count(sort)
        found.append(own + _quantified(sort, transition.guard))
    return max(found)


def _quantified(sort: Sort, *formulas: Term) -> int:
    parts = (part for part in subterms(*formulas) if isinstance(part, Quantified))
    return sum(variable.sort is sort for part in parts for variable in part.variables)


def _is_possible(model: RelationalModel, sizes: Mapping[Sort, int]) -> bool:
    """Is there an initial state of these sizes?"""
    return FiniteRun(model, sizes, True).solve((), SECONDS) is not False


class _Again:
    """The steps of a trace, taken once more with other sizes."""

    def __init__(self, model: RelationalModel, item: Liveness, trace: Trace, sizes: Mapping[Sort, int]) -> None:
        self.model, self.item, self.trace = model, item, trace
        self.run = FiniteRun(model, sizes, True)
        self.grounder, self.circuit = self.run.grounder, self.run.circuit
        for step in trace.steps:
            self.run.move(Move((Option(model.transition(step.transition)),)))
            (_, _, bindings, _) = self.run.steps[-1].options[0]
            for parameter in model.transition(step.transition).parameters:
                value = self.grounder.constant(step.bindings[parameter.name], parameter.sort)
                self._require_equal(bindings[parameter.name], value, parameter.sort)

    def exists(self) -> bool:
        self._is_above()
        for number, state in enumerate(self.trace.states):
            self._looks_like(number, state)
        if not self._starves():
            return False
        if self.trace.loop is None:
            self.circuit.require(-self.run.holds(can_step(self.model)))
        else:
            self._goes_round(self.trace.loop)
        return self.run.solve((), SECONDS) is True

    def _require_equal(self, left: object, right: object, sort: Sort) -> None:
        self.circuit.require(self.grounder.equal(left, right, sort))

    def _is_above(self) -> None:
        """New elements are above those that were there before."""
        tables = self.run.states[0]
        for sort, reading in readings(self.model).items():
            before, after = self.trace.states[0].sizes[sort], self.run.sizes[sort]
            for order in reading.orders if reading.kind == "ordered" else ():
                for old, new in product(range(before), range(before, after)):
                    pair = (old, new) if order.rising else (new, old)
                    self.circuit.require(tables[order.symbol][pair])
                    self.circuit.require(-tables[order.symbol][pair[::-1]])

    def _looks_like(self, number: int, state: Structure) -> None:
        """To the old elements, the state is as it was; but what follows the last of them may be another one now."""
        growing = {sort for sort, size in self.run.sizes.items() if size > state.sizes[sort]}
        for symbol, table in self.run.states[number].items():
            if not symbol.mutable and (number or (symbol.arguments and symbol.sort in growing)):
                continue
            if symbol in self.model.derived_symbols:
                continue
            for arguments in product(*(domain(sort, state.sizes) for sort in symbol.arguments)):
                value = self.grounder.constant(state.value(symbol, arguments), symbol.sort)
                self._require_equal(table[arguments], value, symbol.sort)

    def _starves(self) -> bool:
        """The trigger holds at some moment of the old run after which the goal is never reached; so it does again."""
        states, loop = self.trace.states, self.trace.loop
        for values in self._values(self.item.variables, states[0].sizes):
            for number, state in enumerate(states):
                later = range(number if loop is None else min(number, loop), len(states))
                if state.holds(self.item.trigger, values) and not any(
                    states[place].holds(self.item.goal, values) for place in later
                ):
                    self.circuit.require(self._holds(self.item.trigger, number, values))
                    for place in later:
                        self.circuit.require(-self._holds(self.item.goal, place, values))
                    return True
        return False

    def _goes_round(self, loop: int) -> None:
        """The last state is the one at which the loop begins, and the loop is fair."""
        first, last = self.run.states[loop], self.run.states[-1]
        for symbol in self.model.state_symbols:
            for arguments, value in first[symbol].items():
                self._require_equal(value, last[symbol][arguments], symbol.sort)
        moments = range(loop, len(self.trace.steps))
        for fairness in all_fairness(self.model, self.item):
            due = enabled(self.model, fairness)
            for values in self._values(fairness.variables, self.run.sizes):
                happens = []
                for moment in moments:
                    if fairness.happens is not None:
                        happens.append(self._holds(fairness.happens, moment, values))
                    elif self.trace.steps[moment].transition == fairness.transition:
                        happens.append(self._is_taken(moment, fairness.arguments, values))
                idle = [-self._holds(due, moment, values) for moment in moments]
                for ways in [[literal] for literal in idle] if fairness.strong else [idle]:
                    self.circuit.require(self.circuit.disj([*happens, *ways]))

    def _is_taken(self, moment: int, arguments: tuple[Term | None, ...], values: Mapping[Var, Value]) -> int:
        transition, _, bindings, _ = self.run.steps[moment].options[0]
        env = {variable: self.grounder.constant(value, variable.sort) for variable, value in values.items()}
        same = []
        for parameter, argument in zip(transition.parameters, arguments, strict=True):
            if argument is not None:
                value = self.grounder.term(argument, self.run.states[moment], dict(env))
                same.append(self.grounder.equal(bindings[parameter.name], value, parameter.sort))
        return self.circuit.conj(same)

    def _holds(self, formula: Term, number: int, values: Mapping[Var, Value]) -> int:
        env = {variable: self.grounder.constant(value, variable.sort) for variable, value in values.items()}
        return self.grounder.formula(formula, self.run.states[number], env)

    def _values(self, variables: tuple[Var, ...], sizes: Mapping[Sort, int]) -> Iterator[dict[Var, Value]]:
        for chosen in product(*(domain(variable.sort, sizes) for variable in variables)):
            yield dict(zip(variables, chosen, strict=True))
