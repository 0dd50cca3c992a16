"""Bounded model checking: is a property violated within k steps, and do runs of a given shape exist?

Violations are searched over small sizes by SAT, which is fast; that none exists within k steps for any size is shown by
the solvers for first-order logic.  Both proceed depth by depth, so a trace that is found is a shortest one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quorate.engines.smt.session import Goal, Group, Limits, solve
from quorate.engines.smt.workers import guarded
from quorate.logic.structures import EvaluationError
from quorate.logic.terms import INT, TRUE, Sort, Term, conj, neg
from quorate.methods.induction.unroll import FiniteRun, Move, Option, Plan, any_move, symbolic_run
from quorate.models.relational import Named, RelationalModel, TraceQuery
from quorate.proof.traces import Trace, replay
from quorate.proof.verdicts import Result, Verdict

Progress = Callable[[str], None]

METHOD = "bounded model checking"

NO_INITIAL_STATE = "there is no initial state at these sizes, so there is nothing to check; take other sizes"

LARGEST_UNIFORM_SIZE = 3
"""Finite searches over all sizes try every sort with 1, 2, .. up to this many elements."""


@dataclass(frozen=True)
class Found:
    """What a finite search established: a trace, or the depth up to which there is none at these sizes.

    `empty`: there is not even an initial state, so that the search says nothing.
    """

    trace: Trace | None
    depth: int
    empty: bool = False


def uniform_sizes(model: RelationalModel, size: int) -> dict[Sort, int]:
    return {sort: size for sort in model.sorts if sort.uninterpreted}


def uses_integers(model: RelationalModel) -> bool:
    """Integers have no finite expansion: such models are searched over all sizes only."""
    values = [sort for symbol in model.symbols for sort in (*symbol.arguments, symbol.sort)]
    return INT in values or any(p.sort is INT for t in model.transitions for p in t.parameters)


def finite_search(
    model: RelationalModel,
    properties: Sequence[Named],
    sizes: Mapping[Sort, int],
    depth: int,
    limits: Limits,
    timeout: float,
) -> Found | None:
    """A shortest violation within `depth` steps at fixed sizes; None if the limits stopped the search early."""
    if uses_integers(model):
        return None
    found = guarded(
        _finite_search, model, tuple(properties), dict(sizes), depth, limits.seed, timeout,
        timeout=timeout + 1, memory_mb=limits.memory_mb,
    )  # fmt: skip
    if found is not None and found.trace is not None:
        replay(model, found.trace)
    return found


def _finite_search(
    model: RelationalModel,
    properties: Sequence[Named],
    sizes: Mapping[Sort, int],
    depth: int,
    seed: int,
    timeout: float,
) -> Found | None:
    ends = time.monotonic() + timeout
    try:
        run = FiniteRun(model, sizes, True, seed)
        for reached in range(depth + 1):
            if reached:
                run.move(any_move(model))
            literals = [run.holds(item.formula) for item in properties]
            left = ends - time.monotonic()
            answer = run.solve((-run.circuit.conj(literals),), left) if left > 0 else None
            if answer is None:
                return Found(None, reached - 1) if reached else None
            if answer:
                violated = next(p for p, lit in zip(properties, literals, strict=True) if not run.solver.holds(lit))
                return Found(run.trace("run", violated.name), reached)
        return Found(None, depth, FiniteRun(model, sizes, True, seed).solve((), ends - time.monotonic()) is False)
    except EvaluationError:
        return None


def check(
    model: RelationalModel,
    depth: int,
    limits: Limits,
    sizes: Mapping[Sort, int] | None = None,
    progress: Progress = lambda text: None,
) -> list[Result]:
    """Bounded model checking of every safety property, at the given sizes or at all of them."""
    open_properties = list(model.safety)
    results: dict[str, Result] = {}
    while open_properties:
        started = time.monotonic()
        trace, established = _hunt(model, open_properties, depth, limits, sizes, progress)
        seconds = time.monotonic() - started
        if trace is None:
            for item in open_properties:
                results[item.name] = Result(
                    item.name,
                    "safety",
                    "unknown",
                    METHOD,
                    _scope(model, sizes),
                    established,
                    None,
                    item.span,
                    seconds,
                )
            break
        violated = next(item for item in open_properties if item.name == trace.violated)
        reason = f"violated after {_steps(len(trace.steps))}"
        results[violated.name] = Result(
            violated.name,
            "safety",
            "violated",
            METHOD,
            _scope(model, sizes),
            reason,
            trace,
            violated.span,
            seconds,
        )
        open_properties.remove(violated)
    return [results[item.name] for item in model.safety]


def _hunt(
    model: RelationalModel,
    properties: Sequence[Named],
    depth: int,
    limits: Limits,
    sizes: Mapping[Sort, int] | None,
    progress: Progress,
) -> tuple[Trace | None, str]:
    """A shortest violation, or a sentence on what was established."""
    if sizes is not None:
        found = finite_search(model, properties, sizes, depth, limits, limits.timeout)
        if found is None:
            return None, "the search did not finish within its limits"
        if found.empty:
            return None, NO_INITIAL_STATE
        within = f"no violation within {_steps(found.depth)}"
        return found.trace, within if found.depth == depth else f"{within}; the time limit stopped the search there"
    best: Trace | None = None
    reach = depth
    for size in range(1, LARGEST_UNIFORM_SIZE + 1):
        progress(f"searching {_steps(reach)} deep with {size} element{'s' * (size > 1)} per sort")
        found = finite_search(model, properties, uniform_sizes(model, size), reach, limits, min(limits.timeout, 20.0))
        if found is not None and found.trace is not None:
            best, reach = found.trace, len(found.trace.steps) - 1
            if reach < 0:
                break
    for length in range(reach + 1):
        progress(f"asking about all runs of {_steps(length)}, for all sizes")
        status, trace, reason = symbolic_search(model, properties, length, limits)
        if status == "sat" and trace is not None:
            return trace, ""
        if status != "unsat":
            if best is not None:
                return best, ""
            clear = f"no violation within {_steps(length - 1)} for {model.all_sizes}; " if length else ""
            return None, f"{clear}no answer for runs of {_steps(length)}: {reason}"
    return best, f"no violation within {_steps(depth)}, for {model.all_sizes}"


def symbolic_search(
    model: RelationalModel, properties: Sequence[Named], length: int, limits: Limits
) -> tuple[str, Trace | None, str]:
    """A violation after exactly `length` steps, for all sizes: `sat` with the run, `unsat`, or `unknown` with the reason."""
    plan = Plan(True, (any_move(model),) * length, ((length, neg(conj(*(item.formula for item in properties)))),))
    run = symbolic_run(model, plan)
    group = Group(run.hypotheses, (Goal(f"violation after {length} steps", TRUE),), run.symbols)
    [(_, _, answer)] = solve([group], limits)
    if answer.status != "sat" or answer.structure is None:
        return answer.status, None, answer.reason or "no finite model"
    trace = run.trace(model, answer.structure, "run", None)
    violated = next(item for item in properties if not trace.states[-1].holds(item.formula))
    trace = Trace("run", trace.states, trace.steps, violated.name)
    replay(model, trace)
    return "sat", trace, ""


def plan_of(model: RelationalModel, query: TraceQuery) -> Plan:
    """A trace query as a plan.  A query that does not begin with an assertion starts in an initial state."""
    initial = not query.steps or query.steps[0].assertion is None
    moves: list[Move] = []
    required: list[tuple[int, Term]] = []
    for step in query.steps:
        if step.initial:
            required += [(len(moves), item.formula) for item in model.initial]
        elif step.any_transition:
            moves.append(Move(any_move(model).options, stutter=True))
        elif step.assertion is not None:
            required.append((len(moves), step.assertion))
        else:
            moves.append(Move(tuple(Option(model.transition(name), arguments) for name, arguments in step.calls)))
    return Plan(initial, tuple(moves), tuple(required))


def find_run(
    model: RelationalModel, plan: Plan, limits: Limits, sizes: Mapping[Sort, int] | None = None
) -> tuple[str, Trace | None, str]:
    """Is there a run of this shape?  Answers `sat` with the run, `unsat`, or `unknown` with the reason."""
    candidates = [sizes] if sizes is not None else [uniform_sizes(model, n) for n in range(1, LARGEST_UNIFORM_SIZE + 2)]
    none = False
    for candidate in candidates:
        found = guarded(
            _finite_run, model, plan, candidate, limits.seed, min(limits.timeout, 20.0),
            timeout=min(limits.timeout, 20.0) + 1, memory_mb=limits.memory_mb,
        )  # fmt: skip
        if isinstance(found, Trace):
            replay(model, found)
            return "sat", found, ""
        none = found is False
    if sizes is not None:
        return ("unsat", None, "") if none else ("unknown", None, "the search did not finish within its limits")
    run = symbolic_run(model, plan)
    [(_, _, answer)] = solve([Group(run.hypotheses, (Goal("a run of this shape", TRUE),), run.symbols)], limits)
    if answer.status == "sat" and answer.structure is not None:
        trace = run.trace(model, answer.structure, _kind(plan), None)
        replay(model, trace)
        return "sat", trace, ""
    return answer.status, None, answer.reason


def _kind(plan: Plan) -> str:
    """A run that need not start in an initial state is shown as what it is: nobody says that it can be reached."""
    return "run" if plan.initial else "cti"


def _finite_run(
    model: RelationalModel, plan: Plan, sizes: Mapping[Sort, int], seed: int, timeout: float
) -> Trace | Literal[False] | None:
    """A run of this shape, False if there is none at these sizes, None if the search did not finish."""
    try:
        run = FiniteRun(model, sizes, plan.initial, seed)
        for state in range(len(plan.moves) + 1):
            if state:
                run.move(plan.moves[state - 1])
            for at, formula in plan.required:
                if at == state:
                    run.circuit.require(run.holds(formula))
        answer = run.solve((), timeout)
        return run.trace(_kind(plan), None) if answer else None if answer is None else False
    except EvaluationError:
        return None


def check_traces(
    model: RelationalModel,
    limits: Limits,
    sizes: Mapping[Sort, int] | None = None,
    progress: Progress = lambda text: None,
) -> list[Result]:
    """Answer the `sat trace` and `unsat trace` queries of a file: `proved` means that the declaration is right."""
    results = []
    for query in model.traces:
        started = time.monotonic()
        progress(f"looking for a run of the shape of {query.name}")
        status, trace, reason = find_run(model, plan_of(model, query), limits, sizes)
        wanted = "sat" if query.satisfiable else "unsat"
        declared = f"declared {wanted}, and it is" if status == wanted else f"declared {wanted}, but it is {status}"
        verdict: Verdict = "unknown" if status == "unknown" else "proved" if status == wanted else "violated"
        reason, seconds = reason or declared, time.monotonic() - started
        results.append(
            Result(query.name, "trace", verdict, METHOD, _scope(model, sizes), reason, trace, query.span, seconds)
        )
    return results


def _scope(model: RelationalModel, sizes: Mapping[Sort, int] | None) -> str:
    return model.all_sizes if sizes is None else ", ".join(f"{sort}={size}" for sort, size in sizes.items())


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"
