"""Refutations of all violations, first over small sizes (`refuter`), then by the solvers for all sizes.

What has to be proved is what the checker will ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.engines.smt.session import Answer, Goal, Group, solve
from quorate.logic.structures import Structure
from quorate.logic.terms import Apply, Symbol
from quorate.methods.induction.obligations import step_of
from quorate.methods.inference.badness import telling, violations, with_origins
from quorate.methods.inference.questions import Item
from quorate.methods.inference.refuter import Refuter
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import MOST_ENTRIES, Found, Task, entries
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.models.semantics import state_of, successor
from quorate.proof.certificates import Refutation, certify
from quorate.proof.checker import sections


def find_refutations(task: Task, shape: Shape, outcome: Found) -> str | None:
    """Try to refute every violation in one language; says why it failed, or None if it did not."""
    model = task.model
    refuters = []
    for number, plain in enumerate(violations(model), 1):
        bad = with_origins(model, plain, task.origins)
        constants = telling(bad, task.origins)
        language = task.language(shape, constants)
        if not language.atoms:
            return "there is nothing to speak of"
        sizes = task.sizes(shape, constants)
        task.progress(f"{shape}: candidates for violation {number}")
        refuters.append(
            Refuter(
                model, task.orders, sizes, bad, language, task.safe, task.lemmas,
                [item.states for item in task.samples], task.until, task.seed, f"violation{number}.",
            )
        )  # fmt: skip
    try:
        while True:
            refutations: list[Refutation] = []
            items: dict[str, tuple[Refuter, Item]] = {}
            for number, refuter in enumerate(refuters, 1):
                task.progress(f"{shape}: excluding violation {number}")
                found = refuter.prove()
                if found is None:
                    return f"all that holds of this form does not exclude violation {number}"
                found = refuter.search.reduce(found, refuter.also)
                refutation, names = refuter.certificate(found)
                refutations.append(refutation)
                items |= {name: (refuter, item) for name, item in names.items()}
            task.progress(f"{shape}: proving {len(items)} clauses for all sizes")
            failure = _prove_refutations(task, shape, refuters, refutations, items, outcome)
            if failure is None:
                return None
            if failure != "again":
                larger = [{sort: size + 1 for sort, size in refuter.sizes.items()} for refuter in refuters]
                if any(entries(model, sizes) > 2 * MOST_ENTRIES for sizes in larger):
                    return failure
                for refuter, sizes in zip(refuters, larger, strict=True):
                    refuter.resize(sizes)
    finally:
        outcome.queries += sum(refuter.search.queries for refuter in refuters)
        outcome.counterexamples += sum(refuter.search.counterexamples for refuter in refuters)


def _prove_refutations(
    task: Task,
    shape: Shape,
    refuters: Sequence[Refuter],
    refutations: Sequence[Refutation],
    items: Mapping[str, tuple[Refuter, Item]],
    outcome: Found,
) -> str | None:
    """A proof for all sizes, by the obligations of the checker; `again` if something was learnt instead."""
    model = task.model
    lemmas = tuple(Named(name, formula) for name, formula in task.lemmas.items())
    certificate = certify(model, model.safety, lemmas, {}, refutations)
    listed = [section for section in sections(model, certificate) if section.obligations]
    constants = [Symbol(v.name, (), v.sort) for refuter in refuters for v in refuter.bad.constants]
    names = {pair: name for name, pair in items.items()}
    groups, small, asked = [], [], []
    for section in listed:
        transition = _transition(model, section.obligations[0].name)
        extra = [c.symbol for c in transition.constants.values() if isinstance(c, Apply)] if transition else []
        extra += list(transition.choices) if transition else []
        for obligation in section.obligations:
            goal = Goal(obligation.name, obligation.negation)
            asked.append(obligation.name)
            groups.append(Group(section.hypotheses, (goal,), (*model.symbols, *constants, *extra)))
            hypotheses = section.hypotheses
            refuter, item = _about(obligation.name, refuters, items)
            if refuter is not None:
                mine = {i: name for (r, i), name in names.items() if r is refuter}
                hint = refuter.hint(obligation.name.split(": ")[-1], item, mine)
                optional = {*task.lemmas, *task.safe, *items}
                hypotheses = tuple(h for h in hypotheses if h.name.rstrip("'") not in optional or h.name in hint)
            small.append(Group(hypotheses, (goal,)))
    hints: dict[str, tuple[str, ...]] = {}
    failed: dict[str, Answer] = {}
    quick = replace(task.limits, timeout=min(1.5, task.limits.timeout))
    done = set()
    for number, _, answer in solve(small, quick):
        if answer.status == "unsat":
            done.add(number)
            hints[asked[number]] = tuple(
                dict.fromkeys(used.name for used in answer.core if not used.name.startswith("guard "))
            )
    rest = [number for number in range(len(asked)) if number not in done]
    for number, _, answer in solve([groups[number] for number in rest], quick):
        name = asked[rest[number]]
        if answer.status == "unsat":
            hints[name] = tuple(dict.fromkeys(used.name for used in answer.core if not used.name.startswith("guard ")))
        else:
            failed[name] = answer
    if not failed:
        outcome.certificate = certify(model, model.safety, lemmas, hints, refutations)
        outcome.invariants = lemmas
        return None
    wrong = {item.formula for item in lemmas for name in failed if name.endswith(f" {item.name}")}
    if wrong:
        task.origins = [origin for origin in task.origins if origin.lemma not in wrong]
        return find_refutations(task, shape, outcome)
    learnt = False
    for name, answer in failed.items():
        if answer.structure is None:
            continue
        transition = _transition(model, name)
        before = state_of(model, answer.structure)
        values = {constant: answer.structure.tables[constant] for constant in constants}
        after = successor(model, before, step_of(transition, answer.structure)) if transition else None
        assert not isinstance(after, str), after
        refuter, item = _about(name, refuters, items)
        if refuter is not None:
            states = [Structure(s.sizes, {**s.tables, **values}) if s else None for s in (before, after)]
            assert states[0] is not None
            learnt |= refuter.learn(item, states[0], states[1])
    return "again" if learnt else f"the solvers do not answer: {', '.join(sorted(failed))}"


def _about(
    name: str, refuters: Sequence[Refuter], items: Mapping[str, tuple[Refuter, Item]]
) -> tuple[Refuter | None, Item | None]:
    """The refuter, and the clause, that an obligation of the checker is about."""
    found = items.get(name.rsplit(" ", 1)[-1])
    if found is not None:
        return found
    if name.endswith(": nothing is left"):
        number = int(name.split(" ")[1]) - 1
        return [r for r in refuters if name.split(": ")[0].endswith(f" of {r.bad.claim}")][number], None
    return None, None


def _transition(model: RelationalModel, obligation: str) -> Transition | None:
    """The transition that an obligation of the checker is about."""
    words = obligation.split(": ")[-1].split(" ")
    return model.transition(words[0]) if words[1] in ("preserves", "comes") else None
