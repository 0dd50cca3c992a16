"""Random small protocols with random fairness; a naive search for fair runs that violate a property; and both against what is
tested: the search for lassos, and what the obligations of a proof exclude.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.lang import parse
from quorate.logic.structures import Structure
from quorate.logic.terms import And, Var, conj, equal, neg
from quorate.methods.liveness.check import find_lassos
from quorate.methods.liveness.graph import StateGraph
from quorate.methods.liveness.samples import Samples, pairs_of
from quorate.methods.liveness.stages import LEVELS, Search
from quorate.models.relational import Liveness, RelationalModel
from quorate.models.semantics import Step
from quorate.models.source import Source
from quorate.models.temporal import all_fairness, enabled
from quorate.proof.counting import Counting
from quorate.proof.lassos import _happens, is_stuck, values_of
from quorate.proof.liveness import Argument, Stage, monitored, reduced
from quorate.proof.readings import readings

FLAGS = ("a", "b", "c")
ORDER = (
    "axiom !below(X, X)",
    "axiom below(X, Y) & below(Y, Z) -> below(X, Z)",
    "axiom X = Y | below(X, Y) | below(Y, X)",
)


def random_protocol(seed: int) -> RelationalModel:
    """Three flags and a relation over nodes, a few steps, some fairness, one property."""
    random = Random(seed)

    def literal(variable: str | None) -> str:
        atoms = list(FLAGS) + ([f"r({variable})"] * 3 if variable else [])
        return random.choice(("", "!")) + random.choice(atoms)

    def formula(variable: str | None, most: int = 2) -> str:
        return " & ".join(dict.fromkeys(literal(variable) for _ in range(random.randint(1, most))))

    lines = [
        "finite sort node",
        "immutable relation below(node, node)",
        *ORDER,
        *(f"mutable relation {flag}" for flag in FLAGS),
        "mutable relation r(node)",
    ]
    lines += [f"init {random.choice(('', '!'))}{flag}" for flag in FLAGS] + ["init !r(N)"]
    steps = []
    for number in range(random.randint(2, 4)):
        with_node = random.random() < 0.6
        name = f"t{number}"
        steps.append((name, with_node))
        changed = random.sample(FLAGS, random.randint(0, 2))
        parts = [formula("n" if with_node else None)]
        parts += [f"new({flag}) <-> {random.choice(('true', 'false', f'!{flag}', literal(None)))}" for flag in changed]
        if with_node:
            changed = [*changed, "r"]
            value = random.choice(("r(N) | N = n", "r(N) & N != n", "r(N)"))
            parts.append(f"forall N. new(r(N)) <-> ({value})")
        body = "\n".join(f"  & ({part})" for part in parts)
        modifies = f"\n  modifies {', '.join(changed)}" if changed else " ="
        lines.append(f"transition {name}({'n: node' if with_node else ''}){modifies}\n{body}")
    for _ in range(random.randint(0, 4)):
        strength = random.choice(("weak", "strong"))
        if random.random() < 0.7:
            name, with_node = random.choice(steps)
            condition = f" when {formula('N' if with_node else None, 1)}" if random.random() < 0.3 else ""
            target = f"forall N. {name}(N)" if with_node else name
            lines.append(f"fairness {strength} {target}{condition}")
        else:
            lines.append(f"fairness {random.choice(('', strength))} {formula(None)} when {formula(None)}")
    variable = "N" if random.random() < 0.5 else None
    lines.append(f"liveness [goal] {'forall N:node. ' if variable else ''}{formula(variable)} ~> {formula(variable)}")
    return parse(Source("random.pyv", "\n".join(lines) + "\n")).model


def reachable(model: RelationalModel, sizes) -> tuple[list[Structure], list[tuple[int, Step, int]], set[int]]:
    """All states and steps by the plain engine, as structures of the protocol."""
    instance = Instance(model, sizes)
    reference = Reference(instance.system)
    first = list(dict.fromkeys(reference.initial()))
    numbers = {state: number for number, state in enumerate(first)}
    work, edges = list(first), []
    while work:
        state = work.pop()
        for after, rule, choices in reference.successors(state):
            if after not in numbers:
                numbers[after] = len(numbers)
                work.append(after)
            edges.append((numbers[state], instance.step(instance.system.rules[rule], choices), numbers[after]))
    return [instance.structure(*state) for state in numbers], edges, set(range(len(first)))


def naive_violated(model: RelationalModel, item: Liveness, sizes) -> bool:
    """Whether a fair run violates the property: states are removed until what is left can go on fairly forever."""
    states, edges, _ = reachable(model, sizes)
    for values in values_of(item.variables, states[0]):
        open_ = {n for n, state in enumerate(states) if not state.holds(item.goal, values)}
        waiting = {n for n in open_ if states[n].holds(item.trigger, values)}
        while more := {b for a, _, b in edges if a in waiting and b in open_ and b not in waiting}:
            waiting |= more
        if any(is_stuck(model, states[n]) for n in waiting) or _fair_core(model, item, states, edges, waiting):
            return True
    return False


def _fair_core(model, item, states, edges, alive) -> bool:
    """By definition, over the sets of states that reach each other: is one of them, or a part of it, fair?"""
    inside = [(a, s, b) for a, s, b in edges if a in alive and b in alive]
    reach = {n: {b for a, _, b in inside if a == n} for n in alive}
    changed = True
    while changed:
        changed = False
        for n in alive:
            more = set().union(*(reach[m] for m in reach[n])) - reach[n] if reach[n] else set()
            if more:
                reach[n] |= more
                changed = True
    seen = set()
    for n in alive:
        part = frozenset(m for m in alive if m in reach[n] and n in reach[m])
        if not part or part in seen:
            continue
        seen.add(part)
        steps = [(a, s, b) for a, s, b in inside if a in part and b in part]
        drop: set[int] = set()
        fair = True
        for assumption in all_fairness(model, item):
            due = enabled(model, assumption)
            for values in values_of(assumption.variables, states[0]):
                if any(_happens(model, assumption, values, states[a], s) for a, s, _ in steps):
                    continue
                ready = {m for m in part if states[m].holds(due, values)}
                if assumption.strong:
                    drop |= ready
                elif ready == part:
                    fair = False
        if fair and (not drop or _fair_core(model, item, states, edges, set(part) - drop)):
            return True
    return False


@dataclass(frozen=True)
class Comparison:
    """Whether the lasso search agrees with the reference, whether there is a violation, how many lists of stages discharge all
    obligations in all states, and those which do so though there is a violation: none, if the obligations are right."""

    agree: bool
    violated: bool
    proofs: int
    wrong: tuple[tuple[Stage, ...], ...]


def compared(seed: int) -> Comparison:
    """One random protocol with two nodes, every other one with a monitor for its property."""
    model, random = random_protocol(seed), Random(seed)
    item, watched = model.liveness[0], seed % 2 == 1
    sizes = dict.fromkeys(model.sorts, 2)
    graph = StateGraph.of(Instance(model, sizes), 10_000)
    assert graph is not None
    violated = bool(find_lassos(graph, item))
    agree = violated == naive_violated(model, item, sizes)
    base, waiting = monitored(model, item) if watched else (model, item)
    if watched:
        graph = StateGraph.of(Instance(base, sizes), 10_000)
        assert graph is not None
    good: dict[tuple[Stage, ...], None] = {}
    for stages in _some_stages(base, waiting, graph, random):
        for tried in (stages, *alterations(base, waiting, stages, random)):
            _, goals = reduced(model, Argument(item.name, watched, tuple(tried)))
            if all(bool(graph.states.evaluate(goal.formula, {}).all()) for goal in goals):
                good[tuple(tried)] = None
    return Comparison(agree, violated, len(good), tuple(good) if violated else ())


def _some_stages(
    model: RelationalModel, item: Liveness, graph: StateGraph, random: Random
) -> Iterator[tuple[Stage, ...]]:
    """Stages for all steps, or, where there are none, for the steps from some states only."""
    counting = Counting(readings(model))
    for part in (1, 2, 3, 5):
        states = graph.states.choose(random, max(1, graph.states.count // part))
        pairs = pairs_of(model, item, states, random)
        if pairs is None:
            yield ()
        else:
            samples = Samples(model, item, {}, [states], [pairs])
            lists, _ = Search(samples, counting, False, lambda text: None).find(LEVELS[:3])
            yield from map(tuple, lists[:2])
            if lists:
                return


def alterations(
    model: RelationalModel, item: Liveness, stages: Sequence[Stage], random: Random
) -> Iterator[list[Stage]]:
    """Lists of stages near a good one, which a careless checker might accept."""
    listed = list(stages)
    fairness = all_fairness(model, item)
    for number, stage in enumerate(listed):
        rest = listed[:number] + listed[number + 1 :]
        yield rest
        yield [stage, *rest]
        yield [*rest, stage]
        parts = stage.formula.args if isinstance(stage.formula, And) else (stage.formula,)
        for part in parts:
            others = [other for other in parts if other is not part]
            yield [*listed[:number], replace(stage, formula=conj(*others)), *listed[number + 1 :]]
            yield [*listed[:number], replace(stage, formula=conj(*others, neg(part))), *listed[number + 1 :]]
        for other in fairness:
            if len(other.variables) == len(stage.variables):
                changed = replace(stage, kind="fair", fairness=other.name)
                yield [*listed[:number], changed, *listed[number + 1 :]]
        ranked = replace(stage, kind="rank", fairness=None)
        yield [*listed[:number], ranked, *listed[number + 1 :]]
        if len(stage.variables) == 1:
            below = next(symbol for symbol in model.symbols if symbol.name == "below")
            x, y = (Var(name, stage.variables[0].sort) for name in ("First", "Second"))
            for order in (below(x, y), below(y, x), neg(equal(x, y))):
                yield [*listed[:number], replace(ranked, order=((x, y), order)), *listed[number + 1 :]]
    if len(listed) > 1:
        yield random.sample(listed, len(listed))
