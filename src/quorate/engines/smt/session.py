"""Questions about formulas: is this set satisfiable, and if so, by which finite structure?

`solve` answers many goals over shared hypotheses: z3 first, quickly; what it leaves open is raced between z3 with a
growing set of hypotheses (first those that suffice over two elements of each sort), cvc5, and z3 afresh.  A structure is
handed out only after our own evaluator has confirmed that every formula holds in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from quorate.engines.smt.backends import (
    OTHER_WAYS,
    ModelRequest,
    Option,
    Question,
    Reply,
    Status,
    Task,
    decode,
    open_backend,
)
from quorate.engines.smt.ground import enough
from quorate.engines.smt.smtlib import Vocabulary
from quorate.engines.smt.workers import race, run
from quorate.logic.structures import EvaluationError, Evaluator, Structure
from quorate.logic.terms import BOOL, INT, Quantified, Symbol, Term
from quorate.logic.transform import subterms
from quorate.models.relational import Named


@dataclass(frozen=True)
class Limits:
    """Wall-clock seconds and memory per query, processes at once, seed; `dump` is a folder for SMT-LIB copies.

    `until` is when all queries should have ended, by `time.monotonic`.
    """

    timeout: float = 60.0
    memory_mb: int = 4096
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    seed: int = 0
    dump: str | None = None
    until: float = inf

    def left(self) -> float:
        """Seconds that a query may take now."""
        return min(self.timeout, self.until - time.monotonic())


QUICK_SECONDS, WAYS = 1.5, 3
"""How long the first solver may think about a goal before others join in, and how many there are then."""

SMALL = 2
"""How many elements of each sort decide which hypotheses a stubborn goal is tried with first."""


@dataclass(frozen=True)
class Goal:
    """A formula to be satisfied together with the hypotheses of its group; `name` is for reports and dumps."""

    name: str
    formula: Term


@dataclass(frozen=True)
class Group:
    """Goals that share hypotheses.  `symbols` are those wanted in a structure, besides the ones in the formulas."""

    hypotheses: tuple[Named, ...]
    goals: tuple[Goal, ...]
    symbols: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Answer:
    """`unsat` with the hypotheses that sufficed, `sat`, or `unknown` with the reason.

    A structure comes with `sat` where the solver gives one, it is finite, and it is confirmed.
    """

    status: Status
    reason: str = ""
    core: tuple[Named, ...] = ()
    structure: Structure | None = None
    solver: str = ""


class ModelMismatch(Exception):
    """A solver's model does not satisfy the query in our evaluator: a bug in one of them, never a result."""


@dataclass
class _Prepared:
    group: Group
    vocabulary: Vocabulary
    hypotheses: tuple[str, ...]
    goals: tuple[str, ...]
    request: ModelRequest | None

    def task(
        self, limits: Limits, backend: str, timeout: float, goals: Iterable[int], options: Sequence[Option] = ()
    ) -> Task:
        return Task(
            backend=backend,  # type: ignore[arg-type]
            declarations="\n".join(self.vocabulary.declarations),
            hypotheses=self.hypotheses,
            questions=tuple(Question(self.goals[i]) for i in goals),
            timeout=timeout,
            memory_mb=limits.memory_mb,
            seed=limits.seed,
            options=tuple(options),
            model=self.request,
        )

    def lazy_task(self, limits: Limits, timeout: float, goal: int, using: tuple[int, ...]) -> Task:
        """A task for which z3 begins with some of the hypotheses."""
        task = self.task(limits, "z3", timeout, [goal])
        question = replace(task.questions[0], using=using)
        return replace(task, questions=(question,), lazy=(self.vocabulary, self.formulas))

    @property
    def formulas(self) -> tuple[Term, ...]:
        return tuple(item.formula for item in self.group.hypotheses)


def prepare(group: Group) -> _Prepared:
    """The group as text, with the request for reading a structure back."""
    vocabulary = Vocabulary()
    hypotheses = tuple(vocabulary.text(item.formula) for item in group.hypotheses)
    goals = tuple(vocabulary.text(goal.formula) for goal in group.goals)
    for symbol in group.symbols:
        vocabulary.symbol(symbol)
    request = model_request(vocabulary) if _is_finite(group, vocabulary) else None
    return _Prepared(group, vocabulary, hypotheses, goals, request)


def _is_finite(group: Group, vocabulary: Vocabulary) -> bool:
    """False if a symbol takes integers or a variable ranges over them: no finite structure answers such a query."""
    formulas = [item.formula for item in group.hypotheses] + [goal.formula for goal in group.goals]
    bound = (term.variables for term in subterms(*formulas) if isinstance(term, Quantified))
    return not any(INT in symbol.arguments for symbol in vocabulary.symbols) and not any(
        variable.sort is INT for variables in bound for variable in variables
    )


def model_request(vocabulary: Vocabulary) -> ModelRequest:
    sorts = tuple(name for sort, name in vocabulary.sorts.items() if sort is not BOOL and sort is not INT)
    symbols = tuple(
        (name, tuple(vocabulary.sort(sort) for sort in symbol.arguments), vocabulary.sort(symbol.sort))
        for symbol, name in vocabulary.symbols.items()
    )
    return ModelRequest(sorts, symbols)


def confirm(structure: Structure, formulas: Iterable[tuple[str, Term]]) -> None:
    """Raise unless every formula holds in the structure."""
    evaluator = Evaluator(structure.sizes)
    for name, formula in formulas:
        try:
            satisfied = evaluator.compile(formula)(structure, {})
        except EvaluationError as problem:
            raise ModelMismatch(f"a solver's model does not determine {name}: {problem}") from None
        if not satisfied:
            raise ModelMismatch(f"a solver's model does not satisfy {name}")


def solve(groups: Sequence[Group], limits: Limits, until_refuted: bool = False) -> Iterator[tuple[int, int, Answer]]:
    """Decide every goal of every group; yields (group, goal, answer) in the order in which they are decided.

    With `until_refuted` no more time goes into those that are hard to decide once any goal is satisfiable.
    """
    prepared = [prepare(group) for group in groups]
    if limits.dump:
        dump(prepared, limits.dump)
    quick = min(QUICK_SECONDS, limits.timeout)
    tasks = [item.task(limits, "z3", quick, range(len(item.goals))) for item in prepared]
    unanswered = {(number, goal): None for number, item in enumerate(prepared) for goal in range(len(item.goals))}
    stubborn: list[tuple[int, int]] = []
    refuted = False
    with closing(run(tasks, limits.jobs)) as answers:
        for number, goal, reply in answers:
            del unanswered[number, goal]
            refuted |= reply.status == "sat"
            if reply.status == "unknown" and (limits.timeout > quick or reply.reason != "timeout"):
                stubborn.append((number, goal))
            else:
                yield number, goal, _answer(prepared[number], goal, reply)
            if limits.left() <= 0:
                break
    for number, goal in [*stubborn, *unanswered]:
        if until_refuted and refuted:
            return
        answer = _insist(prepared[number], goal, limits)
        refuted = answer.status == "sat"
        yield number, goal, answer


def ask_both(group: Group, limits: Limits) -> Answer:
    """Decide the one goal of a group by z3 and cvc5 in several ways at once; either says which hypotheses sufficed."""
    ways: list[tuple[str, tuple[Option, ...]]] = [("z3", ()), ("cvc5", (("finite-model-find", True),))]
    return _race_ways(group, [*ways, ("cvc5", ()), ("cvc5", (("prenex-quant", "none"),))], limits)


def ask_one(solver: str, group: Group, limits: Limits) -> Answer:
    """The same with one solver, in its several ways."""
    return _race_ways(group, [(solver, options) for options in ((), *OTHER_WAYS[solver])], limits)


def _race_ways(group: Group, ways: Sequence[tuple[str, tuple[Option, ...]]], limits: Limits) -> Answer:
    prepared = prepare(group)
    tasks = [
        replace(prepared.task(limits, name, limits.timeout, [0], options), core=True, processor_time=True)
        for name, options in ways
    ]
    return _answer(prepared, 0, race(tasks, limits.jobs)[1])


def solve_here(group: Group, limits: Limits) -> list[Answer]:
    """Decide the goals of one group like `solve`, but let z3 begin in this process: for many groups of small questions.

    Starting a process costs more than such a question.  What z3 leaves open after a moment is asked in processes of its own.
    """
    prepared = prepare(group)
    if limits.dump:
        dump([prepared], limits.dump)
    task = prepared.task(limits, "z3", min(QUICK_SECONDS, limits.timeout), range(len(prepared.goals)))
    backend = open_backend(task)
    answers = []
    for goal, question in enumerate(task.questions):
        reply = backend.ask(question)
        if reply.status == "unknown" and limits.timeout > task.timeout:
            answers.append(_insist(prepared, goal, limits))
        else:
            answers.append(_answer(prepared, goal, reply))
    return answers


def _insist(prepared: _Prepared, goal: int, limits: Limits) -> Answer:
    """Race different solvers and ways to ask, with growing patience, until the time limit."""
    if limits.left() <= 0:
        return Answer("unknown", "timeout")
    patience, spent, turns = 2 * QUICK_SECONDS, 0.0, -(-WAYS // limits.jobs)
    using = enough(prepared.formulas, prepared.group.goals[goal].formula, SMALL) if prepared.request else ()
    reply = Reply("unknown", "timeout")
    while reply.status == "unknown":
        patience = min(patience, limits.timeout - spent, (limits.until - time.monotonic()) / turns)
        if patience <= 0:
            break
        tasks = [
            *([prepared.lazy_task(limits, patience, goal, using)] if prepared.request else []),
            prepared.task(limits, "cvc5", patience, [goal]),
            prepared.task(limits, "z3", patience, [goal], [("random_seed", limits.seed + 1 + int(spent))]),
        ]
        _, reply = race(tasks, limits.jobs)
        spent += patience
        patience *= 4
    return _answer(prepared, goal, reply)


def _answer(prepared: _Prepared, goal: int, reply: Reply) -> Answer:
    hypotheses = prepared.group.hypotheses
    if reply.status == "unsat":
        core = hypotheses if reply.core is None else tuple(hypotheses[i] for i in reply.core)
        return Answer("unsat", core=core, solver=reply.backend)
    if reply.status == "sat" and reply.model is not None:
        structure = decode(reply.model, prepared.vocabulary)
        formulas = [(item.name, item.formula) for item in hypotheses]
        confirm(structure, [*formulas, (prepared.group.goals[goal].name, prepared.group.goals[goal].formula)])
        return Answer("sat", structure=structure, solver=reply.backend)
    if reply.status == "sat":
        return Answer("sat", solver=reply.backend)
    return Answer("unknown", reply.reason, solver=reply.backend)


def dump(prepared: Sequence[_Prepared], folder: str) -> None:
    """Write every query as an SMT-LIB file of its own."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    number = 0
    for item in prepared:
        for goal in item.group.goals:
            number += 1
            formulas = [hypothesis.formula for hypothesis in item.group.hypotheses] + [goal.formula]
            safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in goal.name)[:80]
            (target / f"{number:03d}-{safe}.smt2").write_text(
                Vocabulary().script(formulas, goal.name), encoding="utf-8"
            )
