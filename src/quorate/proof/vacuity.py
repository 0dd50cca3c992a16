"""Nothing to prove: axioms without a model, protocols without an initial state, and what is said of them.

From a contradiction everything follows, so a proof from axioms that nothing satisfies is worth nothing.  `foundation` looks for
a small structure that satisfies the axioms and the initial conditions, which nearly always takes a moment; where there is none
of a small size, both solvers are asked.  A contradiction counts if both of them see it.  Read `methods/vacuity` next for
transitions that never fire and premises that never hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from quorate.engines.smt.backends import Question, Reply, Task
from quorate.engines.smt.ground import Circuit, Grounder
from quorate.engines.smt.smtlib import Vocabulary
from quorate.engines.smt.workers import run
from quorate.logic.structures import EvaluationError, cases
from quorate.logic.terms import TRUE, Sort
from quorate.logic.transform import symbols_of
from quorate.models.relational import Named, RelationalModel
from quorate.models.source import Span

SMALL_SIZES = (1, 2, 3, 4)
"""How many elements of each sort a model is looked for with."""
MOST_CASES = 100_000
"""Formulas with more cases than that are not written out."""
PATIENCE = 0.7
"""Processor seconds for a solver that is asked whether formulas contradict each other."""
MEMORY = 2048
"""Megabytes for it."""
SOLVERS: tuple[Literal["z3"], Literal["cvc5"]] = ("z3", "cvc5")

Kind = Literal["axioms", "initial", "fairness", "parameters", "safe", "sync"]


@dataclass(frozen=True)
class Contradiction:
    """Nothing satisfies the parts together, as both solvers say; of fairness: no run does what they demand.

    `scope` says where that was seen, if it was only seen in instances.
    """

    kind: Kind
    parts: tuple[Named, ...]
    scope: str = ""

    def __str__(self) -> str:
        names = ", ".join(part.where for part in self.parts)
        match self.kind:
            case "axioms" | "initial":
                what = "the axioms have no model" if self.kind == "axioms" else "there is no initial state"
                how = "contradict each other" if len(self.parts) > 1 else "contradicts itself"
                why = f"{what}: {names} {how}" if names else what
            case "fairness":
                where = f" of those with {self.scope}" if self.scope else ""
                why = f"no infinite run{where} is fair: {names}"
            case "parameters":
                why = f"no values of the parameters are allowed with {self.scope}"
            case "safe":
                why = f"no run with {self.scope} is as `safe` demands"
            case "sync":
                why = f"no phase with {self.scope} is as `sync` demands"
        return f"nothing to prove: {why}"

    @property
    def code(self) -> str:
        return CODES[self.kind]

    @property
    def spoils(self) -> tuple[str, ...]:
        """The kinds of results that rest on it."""
        about_runs = ("safety", "invariant", "liveness", "trace")
        return (*about_runs, "theorem") if self.kind == "axioms" else about_runs


RemarkKind = Literal["model", "transition", "transitions", "premise", "location", "decision"]

CODES: dict[str, str] = {
    "axioms": "Q0801",
    "initial": "Q0802",
    "parameters": "Q0802",
    "safe": "Q0802",
    "fairness": "Q0803",
    "sync": "Q0803",
    "model": "Q0804",
    "transition": "Q0805",
    "transitions": "Q0805",
    "location": "Q0805",
    "premise": "Q0806",
    "decision": "Q0806",
}
"""The diagnostics that say the same of a text."""


@dataclass(frozen=True)
class Remark:
    """Something that makes a verdict say less than it seems to.

    It is certain, because it follows from the axioms and the invariants that were proved; or it was seen in instances: in
    `states` states with the sizes of `scope`, which are all there are.
    """

    kind: RemarkKind
    subject: str
    certain: bool
    scope: str = ""
    states: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def code(self) -> str:
        return CODES[self.kind]

    @property
    def message(self) -> str:
        """What to tell people."""
        looked = f"in any of the {self.states:,} states of the instances with {self.scope}"
        if self.states == 1:
            looked = f"in the only state of the instances with {self.scope}"
        match self.kind:
            case "model":
                return f"no model of the axioms and the initial conditions was found; {self.subject}"
            case "transitions" if not self.subject:
                return "there is no transition, so the verdicts are about the initial states alone"
            case "transitions":
                how = "can ever fire" if self.certain else f"fires {looked}"
                return f"no transition {how}, so the verdicts are about the initial states alone"
            case "transition":
                how = "can never fire" if self.certain else f"does not fire {looked}"
                return f"{self.subject} {how}"
            case "premise":
                how = "can never hold, so it says nothing" if self.certain else f"does not hold {looked}"
                return f"the premise of {self.subject} {how}"
            case "location":
                return f"no process can ever be in {self.subject}"
            case "decision":
                return f"nobody decides in any run with {self.scope}, so properties of decisions say nothing there"

    @property
    def text(self) -> str:
        """The same with the line it is about."""
        return self.message if self.span is None else f"{self.message} (line {self.span.line})"


def foundation(model: RelationalModel) -> Contradiction | Remark | None:
    """None if something satisfies the axioms and the initial conditions; else why not, or that nobody knows."""
    background = tuple(model.background())
    return _foundation(model, background, (*background, *model.initial))


@lru_cache(maxsize=16)
def _foundation(
    model: RelationalModel, background: tuple[Named, ...], everything: tuple[Named, ...]
) -> Contradiction | Remark | None:
    for size in SMALL_SIZES:
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        if satisfied_at(model, everything, sizes):
            return None
        if not sizes:
            break
    replies = _ask(everything)
    statuses = {reply.status for reply in replies.values()}
    if "sat" in statuses:
        return None
    if "unsat" not in statuses:
        return Remark(
            "model", f"none has up to {SMALL_SIZES[-1]} elements of each sort, and the solvers do not know", False
        )
    for kind, parts in (("axioms", background), ("initial", everything)):
        core = smallest(parts) if parts else None
        if core is not None:
            return Contradiction(kind, core)  # type: ignore[arg-type]
    solver = next(name for name, reply in replies.items() if reply.status == "unsat")
    return Remark("model", f"{solver} alone says that they contradict each other", False)


def satisfied_at(model: RelationalModel, formulas: Iterable[Named], sizes: Mapping[Sort, int]) -> bool | None:
    """Does some structure of these sizes satisfy the one-state formulas?  None where that cannot be said in this way."""
    from pysat.solvers import Solver

    explicit = {item.symbol for item in model.derived if item.definition is not None}
    expanded = [
        model.expand(item.formula)
        for item in formulas
        if not any(item.name == f"definition of {symbol.name}" for symbol in explicit)
    ]
    circuit = Circuit()
    grounder = Grounder(circuit, sizes)
    try:
        if sum(cases(formula, sizes) for formula in expanded) > MOST_CASES:
            return None
        tables = {symbol: grounder.table(symbol) for symbol in symbols_of(*expanded)}
        for formula in expanded:
            circuit.require(grounder.formula(formula, tables))
    except EvaluationError:
        return None
    with Solver(name="minisat22", bootstrap_with=circuit.clauses) as solver:
        return bool(solver.solve())


def contradictory(formulas: Sequence[Named]) -> bool:
    """Do both solvers say that nothing satisfies the formulas together?"""
    return all(reply.status == "unsat" for reply in _ask(formulas).values())


def smallest(formulas: Sequence[Named]) -> tuple[Named, ...] | None:
    """Of formulas that contradict each other, a part that does, and of which nothing can be left out; None if none do."""
    replies = _ask(formulas)
    if any(reply.status != "unsat" for reply in replies.values()):
        return None
    needed = list(formulas)
    for reply in replies.values():
        some = [formulas[number] for number in reply.core or ()]
        if some and len(some) < len(needed) and contradictory(some):
            needed = some
    for item in tuple(needed):
        fewer = [other for other in needed if other is not item]
        if fewer and contradictory(fewer):
            needed = fewer
    return tuple(needed)


def _ask(formulas: Sequence[Named]) -> dict[str, Reply]:
    """What each of the solvers says: can the formulas be satisfied together?"""
    vocabulary = Vocabulary()
    texts = tuple(vocabulary.text(item.formula) for item in formulas)
    tasks = [
        Task(
            backend=solver,
            declarations="\n".join(vocabulary.declarations),
            hypotheses=texts,
            questions=(Question(vocabulary.text(TRUE)),),
            timeout=PATIENCE,
            memory_mb=MEMORY,
            processor_time=True,
            core=True,
        )
        for solver in SOLVERS
    ]
    return {SOLVERS[number]: reply for number, _, reply in run(tasks, len(tasks))}
