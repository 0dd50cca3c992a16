"""`infer`: from a protocol and its safety properties alone to an inductive invariant, and so to a certificate.

Languages are tried from small to large.  In each: the strongest clauses that hold in the samples, then what of them is
needed and inductive over small sizes (`houdini`), then a proof for all sizes by the solvers; what they refute becomes
one more row, and the search goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import comb, prod

from quorate.engines.smt.session import Answer, Limits
from quorate.logic.structures import Structure
from quorate.logic.terms import BOOL, Quantified, Sort, Var, conj, neg
from quorate.logic.transform import conjuncts, subterms
from quorate.methods.explicit import check
from quorate.methods.induction.induct import all_obligations, decide
from quorate.methods.induction.obligations import Obligation, is_trivial, step_of
from quorate.methods.inference.badness import origins
from quorate.methods.inference.clauses import LONGEST, Candidates
from quorate.methods.inference.houdini import Layer, OutOfTime, Search
from quorate.methods.inference.language import Block, Language, standard_atoms, total_orders
from quorate.methods.inference.questions import Item, Question
from quorate.methods.inference.samples import Sample, samples
from quorate.methods.inference.states import from_structure, in_order
from quorate.models.relational import Named, RelationalModel
from quorate.models.semantics import state_of, successor
from quorate.proof.certificates import Certificate, certify
from quorate.proof.verdicts import Result

Progress = Callable[[str], None]

METHOD = "inference"
MOST_ENTRIES = 1500
"""Questions are asked about states with at most that many entries."""
MOST_ROWS = 400_000


@dataclass(frozen=True)
class Options:
    """`seconds` by the clock for all of the search; the seed decides which samples are taken."""

    seconds: float = 600.0
    seed: int = 0


@dataclass
class Inference:
    """What was found: a result per safety property and, where they are proved, invariants that no clause can leave."""

    model: RelationalModel
    results: tuple[Result, ...] = ()
    invariants: tuple[Named, ...] = ()
    certificate: Certificate | None = None
    attempts: list[str] = field(default_factory=list)
    """What was tried, in words."""
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For every invariant, the transitions that would break something else without it."""
    samples: int = 0
    queries: int = 0
    counterexamples: int = 0


@dataclass(frozen=True)
class Shape:
    """How large the formulas of a language may be: variables per sort, and literals."""

    variables: Mapping[Sort, int]
    literals: int

    def __str__(self) -> str:
        counts = ", ".join(f"{n} of {sort}" for sort, n in self.variables.items())
        return f"clauses of {self.literals} literals, variables: {counts}"


def shapes(model: RelationalModel) -> Iterator[Shape]:
    """Growing shapes, one literal or variable more at a time.

    The first has as many variables of a sort as a relation, or a safety property, speaks of at once.
    """
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    formulas = [part for item in model.safety for part in conjuncts(item.formula)]

    def at_once(sort: Sort) -> int:
        counts = [sum(argument is sort for argument in symbol.arguments) for symbol in model.symbols]
        for term in subterms(*formulas):
            if isinstance(term, Quantified):
                counts.append(sum(variable.sort is sort for variable in term.variables))
        return max([1, *counts])

    def rank(shape: Shape) -> tuple[int, int]:
        atoms = sum(prod(shape.variables.get(s, 1) for s in symbol.arguments) for symbol in model.symbols)
        return shape.literals + sum(shape.variables.values()), comb(2 * atoms, shape.literals)

    queue = [Shape({sort: at_once(sort) for sort in sorts}, 3)]
    seen: set[tuple[tuple[int, ...], int]] = set()
    while queue:
        shape = min(queue, key=rank)
        queue.remove(shape)
        yield shape
        following = [Shape(shape.variables, shape.literals + 1)] if shape.literals < LONGEST else []
        following += [Shape({**shape.variables, s: n + 1}, shape.literals) for s, n in shape.variables.items()]
        for item in following:
            key = tuple(item.variables.values()), item.literals
            if key not in seen:
                seen.add(key)
                queue.append(item)


def infer(
    model: RelationalModel, limits: Limits, options: Options = Options(), progress: Progress = lambda text: None
) -> Inference:
    """Look for an inductive invariant that proves the safety properties, or for a violation."""
    started = time.monotonic()
    outcome = Inference(model)
    task = _Task(model, limits, options.seed, started + options.seconds, progress)
    outcome.samples = sum(item.states.count for item in task.samples)
    for item in task.samples:
        if item.violated:
            found = check.check(item.instance, check.Options(jobs=1, timeout=options.seconds))
            outcome.results = tuple(result for result in found.results if result.kind == "safety")
            return outcome
    reason = "no language is left to try"
    try:
        for shape in shapes(model):
            failure = _attempt(task, shape, outcome)
            if failure is None:
                break
            outcome.attempts.append(f"{shape}: {failure}")
    except OutOfTime:
        reason = f"no invariant was found in {options.seconds:g} seconds"
        outcome.attempts.append(f"{shape}: out of time")
    seconds = time.monotonic() - started
    proved = outcome.certificate is not None
    outcome.results = tuple(
        Result(
            item.name, "safety", "proved" if proved else "unknown", METHOD, "all sizes", "" if proved else reason,
            None, item.span, seconds,
        )
        for item in model.safety
    )  # fmt: skip
    return outcome


class _Task:
    """One protocol, with what all attempts share."""

    def __init__(self, model: RelationalModel, limits: Limits, seed: int, until: float, progress: Progress) -> None:
        self.model, self.limits, self.until, self.progress = model, limits, until, progress
        self.orders = total_orders(model)
        progress("collecting samples")
        self.samples: list[Sample] = list(samples(model, self.orders, seed))
        shape = next(shapes(model))
        self.safe = [item.formula for item in model.safety]
        self.origins = origins(model, self.sizes(shape), self.orders, self.safe)

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
            count = min(states.count, max(1, MOST_ROWS // max(1, each)))
            for start in range(0, count, 2000):
                found.keep(language.rows(states.part(start, min(start + 2000, count)), {}))
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


def _attempt(task: _Task, shape: Shape, outcome: Inference) -> str | None:
    """Try one language; says why it failed, or None if it did not."""
    model = task.model
    language = task.language(shape)
    task.progress(f"{shape}: candidates")
    candidates = task.candidates(language)
    sizes = task.sizes(shape)
    lemmas = [origin.lemma for origin in task.origins]
    known = task.safe + lemmas
    unsafe = neg(conj(*task.safe))
    steps = [Question(model, sizes, task.orders, transition, known) for transition in model.transitions]
    bad = [Question(model, sizes, task.orders, transition, known, [unsafe]) for transition in model.transitions]
    initial = Question(model, sizes, task.orders, None, [item.formula for item in model.initial])
    search = Search(language, bad, task.until, [Layer(candidates, [initial], steps)])
    also: set[Item] = set()
    try:
        while True:
            task.progress(f"{shape}: {len(candidates.alive())} candidates")
            found = search.prove(also)
            if found is None:
                return "states that satisfy all that holds of this form lead to a violation"
            found = search.reduce(found, also)
            task.progress(f"{shape}: proving {len(found)} clauses for all sizes")
            failure = _prove(task, shape, candidates, sorted(number for _, number in found), also, outcome)
            if failure != "again":
                return failure
    finally:
        outcome.queries += search.queries
        outcome.counterexamples += search.counterexamples


def _prove(
    task: _Task, shape: Shape, candidates: Candidates, found: Sequence[int], also: set[Item], outcome: Inference
) -> str | None:
    """A proof for all sizes that the clauses are inductive and imply safety; `again` if something was learnt instead."""
    language = candidates.language
    formulas = [origin.lemma for origin in task.origins]
    formulas += [language.formula(candidates.clause(number)) for number in found]
    taken = {item.name for item in task.model.properties}
    names = [name for i in range(1, len(formulas) + len(taken) + 1) if (name := f"inferred{i}") not in taken]
    invariants = tuple(Named(name, formula) for name, formula in zip(names, formulas, strict=False))
    model = task.model.with_invariants(invariants)
    obligations = [o for o in all_obligations(model, model.properties) if not is_trivial(model, o)]
    answers = decide(model, obligations, list(model.properties), task.limits, lambda text: None)
    failed = {o: a for o, a in answers.items() if a.status != "unsat"}
    if not failed:
        invariants = _needed(model, answers)
        model = model.with_invariants(invariants)
        answers = {o: a for o, a in answers.items() if o.claim in model.properties}
        outcome.invariants = invariants
        outcome.certificate = _certificate(model, answers)
        outcome.needed = {item.name: _users(item, answers) for item in invariants}
        return None
    wrong = {o.claim.formula for o in failed}
    if any(origin.lemma in wrong for origin in task.origins):
        task.origins = [origin for origin in task.origins if origin.lemma not in wrong]
        return _attempt(task, shape, outcome)
    learnt = False
    for obligation, answer in failed.items():
        if answer.structure is None:
            continue
        before = state_of(model, answer.structure)
        rows = language.rows(in_order(from_structure(before), task.orders), {})
        if obligation.transition is None:
            learnt |= candidates.add(rows) > 0
            continue
        failing = [(0, number) for number, _ in candidates.failing(rows, 3)]
        if failing:
            learnt |= not also.issuperset(failing)
            also.update(failing)
            continue
        if obligation.claim in model.safety:
            return "a violation can follow a larger state that satisfies all that holds of this form"
        after = successor(model, before, step_of(obligation.transition, answer.structure))
        assert isinstance(after, Structure), after
        learnt |= candidates.add(language.rows(in_order(from_structure(after), task.orders), {})) > 0
    return "again" if learnt else f"the solvers do not answer: {', '.join(sorted(o.name for o in failed))}"


def _needed(model: RelationalModel, answers: Mapping[Obligation, Answer]) -> tuple[Named, ...]:
    """The invariants that safety leans on, directly or not."""
    found, waiting = set(model.safety), list(model.safety)
    while waiting:
        claim = waiting.pop()
        for obligation, answer in answers.items():
            if obligation.claim is claim:
                new = [used for used in answer.core if used in model.invariants and used not in found]
                found.update(new)
                waiting += new
    return tuple(item for item in model.invariants if item in found)


def _users(item: Named, answers: Mapping[Obligation, Answer]) -> tuple[str, ...]:
    """The transitions that keep another property only thanks to this one."""
    used = [
        obligation.transition.name
        for obligation, answer in answers.items()
        if obligation.transition is not None and obligation.claim is not item and item in answer.core
    ]
    return tuple(dict.fromkeys(used))


def _certificate(model: RelationalModel, answers: Mapping[Obligation, Answer]) -> Certificate:
    hints = {
        obligation.name: tuple(dict.fromkeys(u.name for u in answer.core if not u.name.startswith("guard of ")))
        for obligation, answer in answers.items()
    }
    hints |= {f"invariants imply {item.name}": (item.name,) for item in model.safety}
    return certify(model, model.safety, model.properties, hints)
