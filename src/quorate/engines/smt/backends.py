"""The solvers themselves, z3 and cvc5, behind one small interface.  Only worker processes import this module's solvers.

A backend loads hypotheses once and is then asked about goals, one at a time: are the hypotheses and the goal satisfiable
together?  Read `workers` next for processes and limits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, Protocol

from quorate.engines.smt.smtlib import Vocabulary
from quorate.logic.structures import Evaluator, Structure
from quorate.logic.terms import Sort, Symbol, Term
from quorate.models.relational import enumeration_axiom

Status = Literal["sat", "unsat", "unknown"]
Option = tuple[str, str | int | bool]

OTHER_WAYS: dict[str, tuple[tuple[Option, ...], ...]] = {
    "z3": ((("random_seed", 1),), (("mbqi", False),)),
    "cvc5": ((("prenex-quant", "none"),), (("finite-model-find", True),), (("mbqi", True),)),
}
"""Settings of a solver that often decide what it leaves open otherwise."""

LOADED = 8
"""How much longer than processor time a question may take by the clock, on a machine that is busy with other things."""


@dataclass(frozen=True)
class ModelRequest:
    """Which sorts and symbols (by their SMT-LIB names) to read from a model; symbols with argument and result sorts."""

    sorts: tuple[str, ...]
    symbols: tuple[tuple[str, tuple[str, ...], str], ...]


@dataclass(frozen=True)
class RawModel:
    """Sizes of sorts and values of symbols at argument tuples, all as plain numbers and truth values."""

    sizes: dict[str, int]
    tables: dict[str, dict[tuple[Any, ...], Any]]


@dataclass(frozen=True)
class Question:
    """Is this goal satisfiable together with the hypotheses, or with those of the given indices only?

    Where hypotheses are brought in one by one, those of the given indices are the first.
    """

    goal: str
    using: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Task:
    """Declarations, hypotheses that are shared, and questions that are each asked separately."""

    backend: Literal["z3", "cvc5"]
    declarations: str
    hypotheses: tuple[str, ...]
    questions: tuple[Question, ...]
    timeout: float
    memory_mb: int
    seed: int = 0
    options: tuple[Option, ...] = ()
    model: ModelRequest | None = None
    proof: bool = False
    processor_time: bool = False
    """`timeout` is about the processor time of the solver, so that an answer does not depend on what else runs."""
    core: bool = False
    """Ask cvc5 too which hypotheses sufficed; z3 says so in any case."""
    lazy: tuple[Vocabulary, tuple[Term, ...]] | None = None
    """The hypotheses as terms, to bring them in one by one as models violate them (z3 only)."""

    @property
    def wall_seconds(self) -> float:
        """When a solver gives up by the clock."""
        return self.timeout * (LOADED if self.processor_time else 1)


@dataclass(frozen=True)
class Reply:
    """The answer to one goal; `core` are the indices of hypotheses that sufficed, where the solver says so."""

    status: Status
    reason: str = ""
    core: tuple[int, ...] | None = None
    model: RawModel | None = None
    proof: str = ""
    backend: str = ""


class Backend(Protocol):
    def ask(self, question: Question) -> Reply: ...


def open_backend(task: Task) -> Backend:
    if task.backend == "cvc5":
        return Cvc5Backend(task)
    return LazyZ3Backend(task) if task.lazy else Z3Backend(task)


def decode(model: RawModel, vocabulary: Vocabulary) -> Structure:
    """A raw model as a structure.  Elements of enumerated sorts are put in the order of the enumeration."""
    order: dict[Sort, dict[Any, int]] = {}
    for sort in vocabulary.sorts:
        if sort.elements:
            constants = [vocabulary.symbols.get(Symbol(name, (), sort)) for name in sort.elements]
            order[sort] = {model.tables[name][()]: i for i, name in enumerate(constants) if name}

    def place(value: Any, sort: Sort) -> Any:
        return order[sort].get(value, value) if sort in order else value

    sizes = {sort: model.sizes[name] for sort, name in vocabulary.sorts.items() if sort.uninterpreted}
    tables = {
        symbol: {
            tuple(place(value, sort) for value, sort in zip(key, symbol.arguments, strict=True)): place(
                result, symbol.sort
            )
            for key, result in model.tables[name].items()
        }
        for symbol, name in vocabulary.symbols.items()
    }
    return Structure(sizes, tables)


class Z3Backend:
    """One incremental z3 solver; hypotheses are guarded by assumption literals, so that cores come for free."""

    def __init__(self, task: Task) -> None:
        import z3

        z3.set_param("memory_max_size", task.memory_mb)
        self.task = task
        self.solver = z3.Solver()
        self.solver.set("timeout", int(task.wall_seconds * 1000))
        self.solver.set("random_seed", task.seed)
        for name, value in task.options:
            self.solver.set(name, value)
        self.assumptions = [z3.Bool(f"h!{i}") for i in range(len(task.hypotheses))]
        guards = "\n".join(f"(declare-fun h!{i} () Bool)" for i in range(len(task.hypotheses)))
        guarded = "\n".join(f"(assert (=> h!{i} {text}))" for i, text in enumerate(task.hypotheses))
        self.solver.from_string(f"{task.declarations}\n{guards}\n{guarded}")

    def ask(self, question: Question) -> Reply:
        import z3

        self.solver.push()
        try:
            self.solver.from_string(f"(assert {question.goal})")
            using = range(len(self.assumptions)) if question.using is None else question.using
            result = self.solver.check(*(self.assumptions[i] for i in using))
            if result == z3.unsat:
                core = {literal.get_id() for literal in self.solver.unsat_core()}
                indices = tuple(i for i, literal in enumerate(self.assumptions) if literal.get_id() in core)
                return Reply("unsat", core=indices, backend="z3")
            if result == z3.sat:
                request = self.task.model
                return Reply(
                    "sat", model=read_z3_model(self.solver.model(), request) if request else None, backend="z3"
                )
            return Reply("unknown", _reason(self.solver.reason_unknown()), backend="z3")
        except z3.Z3Exception as problem:
            return Reply("unknown", _reason(str(problem)), backend="z3")
        finally:
            self.solver.pop()


class LazyZ3Backend:
    """z3 with hypotheses brought in only when a model violates them: small queries, small cores.

    Without its enumeration an enumerated sort could have any size, which no structure can show; so those come first.
    """

    def __init__(self, task: Task) -> None:
        assert task.lazy is not None and task.model is not None
        self.inner = Z3Backend(task)
        self.request = task.model
        self.vocabulary, self.terms = task.lazy
        self.timeout = task.timeout
        enumerations = {enumeration_axiom(sort) for sort in self.vocabulary.sorts if sort.elements}
        self.always = [i for i, term in enumerate(self.terms) if term in enumerations]

    def ask(self, question: Question) -> Reply:
        import z3

        solver, literals = self.inner.solver, self.inner.assumptions
        active = list(dict.fromkeys((*self.always, *(question.using or ()))))
        ends = time.monotonic() + self.timeout
        solver.push()
        try:
            solver.from_string(f"(assert {question.goal})")
            while (left := ends - time.monotonic()) > 0:
                solver.set("timeout", max(1, int(left * 1000)))
                result = solver.check(*(literals[i] for i in active))
                if result == z3.unsat:
                    core = {str(literal) for literal in solver.unsat_core()}
                    return Reply("unsat", core=tuple(i for i in active if str(literals[i]) in core), backend="z3")
                if result != z3.sat:
                    return Reply("unknown", _reason(solver.reason_unknown()), backend="z3")
                model = read_z3_model(solver.model(), self.request)
                violated = self.violated(decode(model, self.vocabulary), set(active))
                if not violated:
                    return Reply("sat", model=model, backend="z3")
                active += violated[:2]
            return Reply("unknown", "timeout", backend="z3")
        except z3.Z3Exception as problem:
            return Reply("unknown", _reason(str(problem)), backend="z3")
        finally:
            solver.pop()

    def violated(self, structure: Structure, active: set[int]) -> list[int]:
        evaluator = Evaluator(structure.sizes)
        inactive = (i for i in range(len(self.terms)) if i not in active)
        return [i for i in inactive if not evaluator.compile(self.terms[i])(structure, {})]


def _reason(text: str) -> str:
    """A solver's reason in our words."""
    if any(word in text for word in ("canceled", "timeout", "TIMEOUT")):
        return "timeout"
    if "memory" in text:
        return "memory limit"
    return text or "the solver gives no reason"


def read_z3_model(model: Any, request: ModelRequest) -> RawModel:
    """Sizes and tables of the requested sorts and symbols."""
    import z3

    universe: dict[str, list[Any]] = {}
    index: dict[str, dict[int, int]] = {}
    sorts = {name: z3.DeclareSort(name) for name in request.sorts}
    for name, sort in sorts.items():
        elements = model.get_universe(sort)
        members = [elements[i] for i in range(len(elements))] if elements is not None else []
        universe[name] = members or [model.eval(z3.FreshConst(sort), model_completion=True)]
        index[name] = {element.get_id(): i for i, element in enumerate(universe[name])}
    sorts["Bool"], sorts["Int"] = z3.BoolSort(), z3.IntSort()
    universe["Bool"] = [z3.BoolVal(False), z3.BoolVal(True)]

    def read(value: Any, sort: str) -> Any:
        if sort == "Bool":
            return z3.is_true(value)
        if sort == "Int":
            return value.as_long()
        return index[sort].get(value.get_id(), 0)

    tables: dict[str, dict[tuple[Any, ...], Any]] = {}
    for name, arguments, result in request.symbols:
        function = z3.Function(name, *(sorts[sort] for sort in arguments), sorts[result])
        table = tables[name] = {}
        for positions in product(*(range(len(universe[sort])) for sort in arguments)):
            terms = [universe[sort][i] for sort, i in zip(arguments, positions, strict=True)]
            key = tuple(bool(i) if sort == "Bool" else i for sort, i in zip(arguments, positions, strict=True))
            table[key] = read(model.eval(function(*terms), model_completion=True), result)
    return RawModel({name: len(universe[name]) for name in request.sorts}, tables)


class Cvc5Backend:
    """A fresh cvc5 solver per goal; it instantiates quantifiers by enumeration when triggers run dry."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def ask(self, question: Question) -> Reply:
        import cvc5

        manager = cvc5.TermManager()
        solver = cvc5.Solver(manager)
        options: dict[str, str] = {
            "tlimit-per": str(int(self.task.wall_seconds * 1000)),
            "full-saturate-quant": "true",
            "seed": str(self.task.seed),
        }
        if self.task.core:
            options |= {"produce-unsat-cores": "true"}
        if self.task.proof:
            options |= {"produce-proofs": "true", "proof-granularity": "dsl-rewrite"}
        options |= {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.task.options
        }
        for name, value in options.items():
            solver.setOption(name, value)
        used = tuple(range(len(self.task.hypotheses))) if question.using is None else question.using
        texts = (*(self.task.hypotheses[i] for i in used), question.goal)
        lines = ["(set-logic ALL)", self.task.declarations, *(f"(assert {text})" for text in texts)]
        try:
            run_cvc5_commands(solver, "\n".join(lines))
            result = solver.checkSat()
            if result.isUnsat():
                return Reply(
                    "unsat",
                    core=cvc5_core(solver, used) if self.task.core else None,
                    proof=cvc5_proof(solver) if self.task.proof else "",
                    backend="cvc5",
                )
            if result.isSat():
                return Reply("sat", backend="cvc5")
            return Reply("unknown", _reason(str(result.getUnknownExplanation())), backend="cvc5")
        except RuntimeError as problem:
            return Reply("unknown", _reason(str(problem)), backend="cvc5")


def run_cvc5_commands(solver: Any, text: str) -> None:
    """Feed SMT-LIB commands to a cvc5 solver."""
    import cvc5

    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    names = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, names)


def cvc5_core(solver: Any, hypotheses: Sequence[int]) -> tuple[int, ...]:
    """Which of the hypotheses, asserted in this order, sufficed."""
    needed = set(solver.getUnsatCore())
    asserted = solver.getAssertions()[: len(hypotheses)]
    return tuple(i for i, term in zip(hypotheses, asserted, strict=True) if term in needed)


def cvc5_proof(solver: Any) -> str:
    """The proof in the cooperating proof calculus, as text."""
    import cvc5

    texts = (solver.proofToString(proof, cvc5.ProofFormat.CPC) for proof in solver.getProof())
    return "\n".join(text.decode() if isinstance(text, bytes) else text for text in texts)
