"""`infer`: from a protocol and its safety properties alone to an inductive invariant, and so to a certificate.

Languages are tried from small to large.  In each: the strongest clauses that hold in the samples, then what of them is
needed and inductive over small sizes (`houdini`), then a proof for all sizes by the solvers; what they refute becomes
one more row, and the search goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from quorate.engines.smt.session import Answer, Limits
from quorate.logic.structures import Structure
from quorate.logic.terms import BOOL, Quantified, Sort, Symbol, Var, neg
from quorate.logic.transform import subterms
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import Obligation, is_trivial, step_of
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import OutOfTime, Search
from quorate.methods.inference.language import Block, Language, standard_atoms, total_orders
from quorate.methods.inference.questions import Question
from quorate.methods.inference.samples import samples
from quorate.methods.inference.states import from_structure, in_order
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import state_of, successor
from quorate.proof.certificates import Certificate, certify

Progress = Callable[[str], None]

MOST_ENTRIES = 1500
MOST_ROWS = 400_000


@dataclass
class Inference:
    """What was found: the invariants, if they prove safety, and how."""

    model: RelationalModel
    invariants: tuple[Named, ...] = ()
    certificate: Certificate | None = None
    violated: tuple[str, ...] = ()
    reason: str = ""
    attempts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Shape:
    """How large the formulas of a language may be: variables per sort, and literals."""

    variables: Mapping[Sort, int]
    literals: int

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {sort}" for sort, n in self.variables.items())
        return f"{self.literals} literals over {counts}"


def shapes(model: RelationalModel) -> Iterator[Shape]:
    """Growing shapes: first as many variables of a sort as a relation or the safety properties speak of at once."""
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    formulas = [item.formula for item in model.safety]

    def at_once(sort: Sort) -> int:
        counts = [sum(argument is sort for argument in symbol.arguments) for symbol in model.symbols]
        for term in subterms(*formulas):
            if isinstance(term, Quantified):
                counts.append(sum(variable.sort is sort for variable in term.variables))
        return max([1, *counts])

    base = {sort: at_once(sort) for sort in sorts}
    yield Shape(base, 3)
    yield Shape(base, 4)
    for sort in sorts:
        yield Shape({**base, sort: base[sort] + 1}, 3)
    yield Shape(base, 5)
    for sort in sorts:
        yield Shape({**base, sort: base[sort] + 1}, 4)


class _Task:
    """One protocol, with what all attempts share."""

    def __init__(self, model: RelationalModel, limits: Limits, seed: int, until: float, progress: Progress) -> None:
        self.model, self.limits, self.seed, self.until, self.progress = model, limits, seed, until, progress
        self.orders = total_orders(model)
        progress("collecting samples")
        self.samples = list(samples(model, self.orders, seed))

    def language(self, shape: Shape) -> Language:
        blocks = []
        for sort, count in shape.variables.items():
            names = [Var(f"{sort.name.upper()}{i + 1}", sort) for i in range(count)]
            blocks.append(Block(sort, tuple(names), self.orders.get(sort)))
        return Language(blocks, (), standard_atoms(self.model, blocks, ()), shape.literals)

    def candidates(self, language: Language) -> Candidates:
        found = Candidates(language)
        for item in self.samples:
            states = item.states
            each = sum(group.count for group in language.groups(states.sizes))
            step = max(1, MOST_ROWS // max(1, each))
            for start in range(0, min(states.count, step), max(1, min(step, 2000))):
                part = states.part(start, min(start + 2000, states.count, step))
                found.keep(language.rows(part, {}))
        found.enumerate()
        return found

    def sizes(self, shape: Shape) -> dict[Sort, int]:
        """Sizes for questions: room for the variables of a clause and the parameters of a step, where that is feasible."""
        wanted: dict[Sort, int] = {}
        for sort, count in shape.variables.items():
            steps = [sum(p.sort is sort for p in t.parameters) for t in self.model.transitions]
            wanted[sort] = max(2, min(4, count + max([0, *steps])))
        while _entries(self.model, wanted) > MOST_ENTRIES:
            largest = max(wanted, key=lambda sort: (wanted[sort], -shape.variables[sort]))
            if wanted[largest] <= 2:
                break
            wanted[largest] -= 1
        for changes in sorted(product((0, 1, -1), repeat=len(wanted)), key=lambda c: (sum(map(abs, c)), -sum(c))):
            sizes = {s: n + d for (s, n), d in zip(wanted.items(), changes, strict=True)}
            if min(sizes.values(), default=1) > 0 and Question(self.model, sizes, self.orders).solve(1):
                return sizes
        return wanted


def _entries(model: RelationalModel, sizes: Mapping[Sort, int]) -> int:
    total = 0
    for symbol in model.symbols:
        entries = 1 if symbol.sort is BOOL else sizes.get(symbol.sort, len(symbol.sort.elements) or 1)
        for argument in symbol.arguments:
            entries *= 2 if argument is BOOL else sizes.get(argument, len(argument.elements) or 1)
        total += entries
    return total


def infer(
    model: RelationalModel, limits: Limits, seed: int = 0, seconds: float = 600, progress: Progress = lambda text: None
) -> Inference:
    """Look for an inductive invariant that proves the safety properties."""
    until = time.monotonic() + seconds
    outcome = Inference(model)
    task = _Task(model, limits, seed, until, progress)
    violated = {name for item in task.samples for name in item.violated}
    if violated:
        outcome.violated = tuple(sorted(violated))
        return outcome
    try:
        for shape in shapes(model):
            outcome.reason = _attempt(task, shape, outcome)
            outcome.attempts.append(f"{shape}: {outcome.reason or 'proved'}")
            if outcome.certificate is not None:
                return outcome
    except OutOfTime:
        outcome.reason = "out of time"
        outcome.attempts.append(f"{shape}: {outcome.reason}")
    return outcome


def _attempt(task: _Task, shape: Shape, outcome: Inference) -> str:
    """Try one language; says why it failed, or nothing if it did not."""
    model = task.model
    language = task.language(shape)
    task.progress(f"{shape}: candidates")
    candidates = task.candidates(language)
    sizes = task.sizes(shape)
    made = lambda transition, required: Question(model, sizes, task.orders, transition, required)  # noqa: E731
    search = Search(
        candidates,
        [made(None, [item.formula for item in model.initial])],
        [made(transition, ()) for transition in model.transitions],
        [made(None, [neg(item.formula)]) for item in model.safety],
        until=task.until,
    )
    also: set[int] = set()
    while True:
        task.progress(f"{shape}: {len(candidates.alive())} candidates")
        found = search.prove(also)
        if found is None:
            return f"no clauses of this form exclude a bad state ({search.statistics})"
        task.progress(f"{shape}: checking {len(found)} clauses")
        invariants = tuple(Named(f"invariant{n}", language.formula(candidates.clause(n))) for n in sorted(found))
        numbers = dict(zip(invariants, sorted(found), strict=True))
        extended = model.with_invariants(invariants)
        obligations = [o for o in all_obligations(extended, extended.properties) if not is_trivial(extended, o)]
        answers = decide(extended, obligations, list(extended.properties), task.limits, lambda text: None)
        failed = {o: a for o, a in answers.items() if a.status != "unsat"}
        if not failed:
            outcome.invariants = invariants
            outcome.certificate = _certificate(extended, answers)
            return ""
        learnt = False
        for obligation, answer in failed.items():
            if answer.structure is None:
                continue
            before = state_of(extended, answer.structure)
            rows = language.rows(in_order(from_structure(model, before), task.orders), {})
            if obligation.transition is None:
                learnt |= candidates.add(rows) > 0
                continue
            failing = [number for number, _ in candidates.failing(rows, 3)]
            if failing:
                learnt |= not also.issuperset(failing)
                also.update(failing)
                continue
            after = successor(extended, before, step_of(obligation.transition, answer.structure))
            assert isinstance(after, Structure), after
            learnt |= candidates.add(language.rows(in_order(from_structure(model, after), task.orders), {})) > 0
            if obligation.claim in model.safety:
                return "a bad state can follow a state that satisfies all clauses of this form"
        if not learnt:
            names = ", ".join(sorted({o.name for o in failed}))
            return f"the solvers do not answer: {names}"


def _certificate(model: RelationalModel, answers: Mapping[Obligation, Answer]) -> Certificate:
    hints = {
        obligation.name: tuple(dict.fromkeys(u.name for u in answer.core if not u.name.startswith("guard of ")))
        for obligation, answer in answers.items()
    }
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety}
    return certify(model, model.safety, model.properties, hints)
