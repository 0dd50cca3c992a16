"""Proofs that look at one violation at a time, forwards and backwards.

Suppose a run ends in a violation; give names to what the violation speaks of.  Three layers of clauses over these names
and a few variables: what holds in all reachable states; what holds in all states of a run that ends in this violation,
shown backwards from its end; and what holds in all of them, shown forwards, given the other two.  If these exclude the
violation, there is none.

The last layer is often not needed: what holds backwards may contradict the initial states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from random import Random

import numpy

from quorate.logic import sexpr
from quorate.logic.structures import Structure, domain
from quorate.logic.terms import Sort, Symbol, Term, Var, conj
from quorate.logic.transform import substitute
from quorate.methods.inference.badness import Bad
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import Deadline, Layer, Search, enumerate_until
from quorate.methods.inference.language import Language
from quorate.methods.inference.questions import Grounds, Item, Question
from quorate.methods.inference.states import Array, States, from_structure, in_order
from quorate.methods.inference.task import AT_MOST, entries, grown
from quorate.proof.certificates import Refutation, Step

INITIAL, VIOLATION = "initial", "violation"
"""Where a run begins and ends: what the proof excludes in the end is one of them."""
MOST_ROWS = 50_000
VALUATIONS = 48
BACKWARD_RUNS, BACKWARD_STEPS = 40, 6


class Refuter:
    """The search for one violation, over given sizes."""

    def __init__(
        self,
        grounds: Grounds,
        sizes: Mapping[Sort, int],
        bad: Bad,
        language: Language,
        safe: Mapping[str, Term],
        lemmas: Mapping[str, Term],
        samples: Sequence[States],
        seed: int,
        name: str,
        effort: int = 1,
        lighter: Sequence[int] = (0, 0, 0),
    ) -> None:
        """`effort`: how many times as many rows, and runs backwards, as usual the search begins with; `lighter`: by how much
        the clauses of each layer weigh less than the language allows."""
        self.effort, self.lighter = effort, lighter
        self.name, self.end = name, VIOLATION
        self.waiting: Candidates | None = None
        """What is being enumerated."""
        self.also: set[Item] = set()
        self.grounds, self.bad, self.language = grounds, bad, language
        self.model = model = grounds.model
        self.safe, self.lemmas, self.samples = dict(safe), dict(lemmas), samples
        self.random = Random(seed)
        self.always, self.sizes = bad.always(model), sizes
        self.ends = {
            name: [self._question(name, s) for s in (sizes, *self._with_room())] for name in (INITIAL, VIOLATION)
        }
        self.steps = [self._question(transition.name, sizes) for transition in model.transitions]
        self.search = Search(language, list(self.ends[VIOLATION]))

    def _with_room(self) -> list[dict[Sort, int]]:
        """Larger sizes, if need be, with room for all that is named and for all variables: for questions about a single state."""
        terms = [*self.bad.constants, *self.language.variables]
        sizes = {sort: max(size, sum(term.sort is sort for term in terms)) for sort, size in self.sizes.items()}
        return [sizes] if sizes != self.sizes and entries(self.model, sizes) <= AT_MOST else []

    def _question(self, name: str, sizes: Mapping[Sort, int]) -> Question:
        """A question about the first state of a run, its last one, or a step."""
        model, constants, required = self.model, self.bad.constants, list(self.always)
        if name in (INITIAL, VIOLATION):
            required += [item.formula for item in model.initial] if name == INITIAL else [self.bad.formula]
            return Question(self.grounds(sizes), required, constants, self.lemmas)
        before, after = self.safe | self.lemmas, {f"{name}'": formula for name, formula in self.lemmas.items()}
        return Question(self.grounds(sizes, model.transition(name)), required, constants, before, after)

    def ask_also(self, name: str, model: Structure | None) -> bool:
        """Ask a question over larger sizes too, by one where a model has more; False if that is nothing new, or too much."""
        end = name in (INITIAL, VIOLATION)
        questions = self.ends[name] if end else self.steps
        known = [q for q in questions if end or q.name == name][-1].sizes
        sizes = grown(known, model)
        if sizes == known or entries(self.model, sizes) > AT_MOST:
            return False
        question = self._question(name, sizes)
        questions.append(question)
        if name == self.end:
            self.search.bad.append(question)
        for layer in self.search.layers:
            if not end or name == (VIOLATION if layer.backwards else INITIAL):
                layer.questions.append(question)
        return True

    def about(self, item: Item | None, transition: str | None) -> str:
        """The question that an obligation is about: a step, or what a layer, or the whole proof, begins or ends with."""
        if transition is not None:
            return transition
        if item is None:
            return self.end
        return VIOLATION if self.search.layers[item[0]].backwards else INITIAL

    # -- rows ---------------------------------------------------------------------------------------------------

    def _valuations(self, states: States) -> list[dict[Var, int]]:
        """Some values of the names: all that there are, if these are few."""
        constants = self.language.constants
        sizes = [len(domain(c.sort, states.sizes)) for c in constants]
        total = prod(sizes)
        chosen = dict.fromkeys(range(total) if total <= VALUATIONS else ())
        while len(chosen) < min(total, VALUATIONS):
            chosen[self.random.randrange(total)] = None
        values = []
        for number in chosen:
            value = {}
            for constant, size in zip(constants, sizes, strict=True):
                number, value[constant] = divmod(number, size)
            values.append(value)
        return values

    def _keep(self, candidates: Candidates, where: Candidates | None) -> None:
        """Rows of the samples, for some values of the names; only of states in which all clauses of `where` hold."""
        known = set(self.language.constants)
        always = conj(*(part for part in self.always if part.free <= known))
        for states in self.samples:
            each = sum(group.count for group in self.language.groups(states.sizes))
            valuations = self._valuations(states)
            count = max(1, self.effort * MOST_ROWS // (each * len(valuations)))
            for valuation in valuations:
                holds = numpy.broadcast_to(states.evaluate(always, valuation), (states.count, 1))[:, 0]
                if not holds.any():
                    continue
                part = states.choose(self.random, count, holds)
                rows = self.language.rows(part, valuation)
                if where is not None:
                    fails = where.fails(rows)
                    bad: Array = numpy.logical_or.reduce(fails.reshape(part.count, -1), axis=1)
                    if bad.all():
                        continue
                    rows = self.language.rows(part.where(~bad), valuation)
                candidates.keep(rows)

    # -- the layers ---------------------------------------------------------------------------------------------

    def prove(self, until: Deadline) -> frozenset[Item] | None:
        """Clauses of the layers that exclude the violation; None if there are none.  After `OutOfTime`, one can go on."""
        search = self.search
        search.until = until
        if not search.layers:
            self._begin(False)
        while (found := search.prove(self.also)) is None and len(search.layers) < 3:
            if len(search.layers) == 1:
                self._begin(True)
                search.bad, self.end = list(self.ends[INITIAL]), INITIAL
            else:
                self._begin(False)
                search.bad, self.end = list(self.ends[VIOLATION]), VIOLATION
        return found

    def _begin(self, backwards: bool) -> None:
        """One more layer."""
        if self.waiting is None:
            self.waiting = Candidates(self.language, self.lighter[len(self.search.layers)])
        if backwards and not self.waiting.rows:
            self._backward_rows(self.waiting)
        elif not self.waiting.rows:
            self._keep(self.waiting, self.search.layers[1].candidates if self.search.layers else None)
            for first in self.ends[INITIAL]:
                if self.search.consistent(first):
                    self.waiting.keep(self.language.rows(*first.read(False)))
        enumerate_until(self.waiting, self.search.until)
        begin = self.ends[VIOLATION if backwards else INITIAL]
        self.search.layers.append(Layer(self.waiting, [*begin, *self.steps], backwards))
        self.waiting = None

    def _backward_rows(self, candidates: Candidates) -> None:
        """States of random runs that end in the violation, from their end backwards."""
        last = self.ends[VIOLATION][0]
        steps = [step for step in self.steps if step.sizes == last.sizes]
        for _ in range(self.effort * BACKWARD_RUNS):
            last.shuffle(self.random)
            if not self.search.consistent(last):
                return
            state, constants = last.read(False)
            candidates.keep(self.language.rows(state, constants))
            for _ in range(BACKWARD_STEPS):
                step = self.random.choice(steps)
                step.shuffle(self.random)
                if self.search.consistent(step, step.fixed(state, constants)):
                    state, constants = step.read(False)
                    candidates.keep(self.language.rows(state, constants))

    # -- the result ---------------------------------------------------------------------------------------------

    def certificate(self, found: frozenset[Item]) -> tuple[Refutation, dict[str, Item]]:
        """The clauses as part of a certificate, and which formula there is which clause."""
        constants = {v: Symbol(v.name, (), v.sort)() for v in self.bad.constants}

        def text(formula: Term) -> str:
            return sexpr.write(substitute(formula, constants))

        names: dict[str, Item] = {}
        steps = [Step("backward", tuple((f"{self.name}.{i}", text(part)) for i, part in enumerate(self.always, 1)))]
        for place, layer in enumerate(self.search.layers):
            formulas = []
            for number in sorted(number for where, number in found if where == place):
                names[f"{self.name}{'abc'[place]}{number}"] = place, number
                clause = self.language.formula(layer.candidates.clause(number))
                formulas.append((f"{self.name}{'abc'[place]}{number}", text(clause)))
            if formulas:
                steps.append(Step("backward" if layer.backwards else "forward", tuple(formulas)))
        named = tuple((v.name, v.sort.name) for v in self.bad.constants)
        return Refutation(self.bad.claim, named, text(self.bad.formula), tuple(steps), self.end), names

    def hint(self, obligation: str, item: Item | None, names: Mapping[Item, str]) -> set[str]:
        """The hypotheses, as a certificate names them, that sufficed for an obligation over small sizes."""
        search = self.search
        if item is None:
            return {names[used] for used in search.excluded[0]} | search.excluded[1]
        layer = search.layers[item[0]]
        places = [i for i, q in enumerate(layer.questions) if q.name and obligation.startswith(f"{q.name} ")]
        hint: set[str] = set()
        for place in places or [i for i, q in enumerate(layer.questions) if not q.name]:
            hint |= search.facts[item, place]
            for used in search.verified[item, place]:
                sides = ("", "'") if used[0] < item[0] else ("'",) if layer.backwards else ("",)
                hint |= {names[used] + side for side in sides}
        return hint

    def learn(self, item: Item | None, before: Structure, after: Structure | None) -> bool:
        """Make use of a counterexample to a clause (or, without one, to the end of the proof); False if it teaches nothing.

        The structures give values to the constants too.
        Either clauses that were left out exclude it, which are then wanted; or the clause is wrong.
        """
        states = [(False, before)] + ([(True, after)] if after is not None else [])
        top = len(self.search.layers) if item is None else item[0]
        failing: set[Item] = set()
        rows: dict[bool, Array] = {}
        for is_after, structure in states:
            state = in_order(from_structure(structure), self.grounds.orders)
            constants = {v: int(state.tables[Symbol(v.name, (), v.sort)].item()) for v in self.bad.constants}
            rows[is_after] = self.language.rows(state, constants)
            for place, layer in enumerate(self.search.layers[: top + 1]):
                if place < top or (after is not None and layer.backwards == is_after):
                    failing |= {(place, number) for number, _ in layer.candidates.failing(rows[is_after], 3)}
        if failing:
            new = not self.also.issuperset(failing)
            self.also |= failing
            return new
        if item is None:
            return False
        layer = self.search.layers[item[0]]
        return layer.candidates.add(rows[after is not None and not layer.backwards]) > 0
