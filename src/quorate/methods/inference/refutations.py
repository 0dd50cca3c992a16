"""Refutations of all violations, first over small sizes (`refuter`), then by the solvers for all sizes.

What has to be proved is what the checker will ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.engines.smt.session import Answer, Goal, Group, Limits, solve, solve_here
from quorate.logic.structures import Structure
from quorate.logic.terms import Apply, Symbol, Var
from quorate.methods.inference.badness import (
    Bad,
    Origin,
    by_constants,
    in_one_order,
    one_sided,
    telling,
    unspoken,
    violations,
    with_origins,
)
from quorate.methods.inference.language import Language
from quorate.methods.inference.questions import Item
from quorate.methods.inference.refuter import Refuter
from quorate.methods.inference.shapes import Shape
from quorate.methods.inference.task import Found, Task
from quorate.models.relational import RelationalModel, Transition
from quorate.proof.certificates import Refutation, certify
from quorate.proof.checker import sections

A_TRIFLE = 1000
"""How many conflicts a question may take where the answer only makes a refutation shorter."""
AT_ONCE, SOON, QUICK, FEW = 0.02, 0.4, 1.5, 6
"""Seconds for an obligation: with what should suffice, twice, and then with all that is known.  If the first leaves only a few
without an answer, all that is known may answer them at once; if the last does, these get all the time there is."""


class Refutations:
    """The search in one language; when its time is over, one can go on.

    If `one_sided`, what is said of a violation names the elements of one of its sides only: first that, then another.
    """

    effort, lighter = 1, (0, 0, 0)
    """See `Refuter`."""

    def __init__(self, task: Task, shape: Shape, one_sided: bool = False) -> None:
        self.task, self.shape, self.one_sided = task, shape, one_sided
        self.violations: list[tuple[Bad, list[tuple[Var, ...]]]] = []
        """Each with the names that have not been tried yet: which of those in it may be spoken of."""
        self.refuters: list[Refuter] = []
        """Those at work, for the first of the violations."""
        self.made: list[Refuter] = []
        self.origins: Sequence[Origin] | None = None

    def go_on(self, outcome: Found) -> str | None:
        """Try to refute every violation; says why it failed, or None if it did not.  May raise `OutOfTime`."""
        task, shape = self.task, self.shape
        if self.origins is not task.origins:
            self._begin()
        queries, counterexamples = self._count()
        try:
            while True:
                refutations: list[Refutation] = []
                items: dict[str, tuple[Refuter, Item]] = {}
                for place in range(len(self.violations)):
                    task.progress(f"{shape}: excluding violation {place + 1}")
                    found = self._refute(place)
                    if found is None:
                        return f"all that holds of this form does not exclude violation {place + 1}"
                    refuter = self.refuters[place]
                    found = refuter.search.reduce(found, refuter.also, A_TRIFLE)
                    refutation, names = refuter.certificate(found)
                    refutations.append(refutation)
                    items |= {name: (refuter, item) for name, item in names.items()}
                task.progress(f"{shape}: proving {len(items)} clauses for all sizes")
                patient = tuple(refutations) in self.tried
                self.tried.add(tuple(refutations))
                failure = _prove_refutations(task, self.refuters, refutations, items, patient, outcome)
                if self.origins is not task.origins:
                    return self.go_on(outcome)
                if failure != "again":
                    return failure
        finally:
            now = self._count()
            outcome.queries += now[0] - queries
            outcome.counterexamples += now[1] - counterexamples

    def _begin(self) -> None:
        task = self.task
        self.origins, self.refuters, self.violations = task.origins, [], []
        self.tried: set[tuple[Refutation, ...]] = set()
        """The refutations about which solvers were asked for a short time."""
        plain = [in_one_order(bad, task.orders) for bad in violations(task.protocol)]
        cases = [case for bad in plain for case in with_origins(task.protocol, bad, task.origins)]
        cases = [case for bad in cases for case in by_constants(task.protocol, bad)]
        for bad in cases:
            constants = telling(bad, task.origins)
            sides = one_sided(bad, constants) if self.one_sided else []
            self.violations.append((bad, sides or [constants]))

    def _refute(self, place: int) -> frozenset[Item] | None:
        """Clauses that exclude a violation, those before it having been excluded; None if there are none."""
        bad, names = self.violations[place]
        while True:
            if place == len(self.refuters):
                self.refuters.append(self._refuter(place + 1, bad, names.pop(0)))
            refuter = self.refuters[place]
            found = refuter.prove(self.task.until) if refuter.language.atoms else None
            if found is not None or not names:
                return found
            self.refuters[place] = self._refuter(place + 1, bad, names.pop(0))

    def _refuter(self, number: int, bad: Bad, constants: Sequence[Var]) -> Refuter:
        task = self.task
        language = self._language(constants)
        sizes = task.sizes(self.shape, constants)
        self.made.append(
            Refuter(
                task.grounds, sizes, bad, language, task.safe, task.lemmas, task.states, task.seed,
                f"violation{number}.", self.effort, self.lighter,
            )
        )  # fmt: skip
        return self.made[-1]

    def _language(self, constants: Sequence[Var]) -> Language:
        return self.task.language(self.shape, constants, unspoken(self.task.model, self.task.origins))

    def _count(self) -> tuple[int, int]:
        searches = [refuter.search for refuter in self.made]
        return sum(search.queries for search in searches), sum(search.counterexamples for search in searches)


def _prove_refutations(
    task: Task,
    refuters: Sequence[Refuter],
    refutations: Sequence[Refutation],
    items: Mapping[str, tuple[Refuter, Item]],
    patient: bool,
    outcome: Found,
) -> str | None:
    """A proof for all sizes, by the obligations of the checker; `again` if something was learnt instead.

    Unless one is patient, what solvers do not answer soon is looked at over larger sizes.
    """
    model = task.protocol
    lemmas = task.known
    certificate = certify(model, model.safety, lemmas, {}, refutations)
    listed = [section for section in sections(model, certificate) if section.obligations]
    constants = [Symbol(v.name, (), v.sort) for refuter in refuters for v in refuter.bad.constants]
    names = {pair: name for name, pair in items.items()}
    groups, small, asked, about = [], [], [], []
    for section in listed:
        transition = _transition(model, section.obligations[0].name)
        extra = [c.symbol for c in transition.constants.values() if isinstance(c, Apply)] if transition else []
        extra += list(transition.choices) if transition else []
        step = transition.name if transition else None
        for obligation in section.obligations:
            goal = Goal(obligation.name, obligation.negation)
            asked.append(obligation.name)
            groups.append(Group(section.hypotheses, (goal,), (*model.symbols, *constants, *extra)))
            hypotheses = section.hypotheses
            refuter, item = _about(obligation.name, refuters, items)
            if refuter is not None:
                mine = {i: name for (r, i), name in names.items() if r is refuter}
                hint = refuter.hint(obligation.name.split(": ")[-1], item, mine)
                optional = {*(item.name for item in lemmas), *task.safe, *items}
                hypotheses = tuple(h for h in hypotheses if h.name.rstrip("'") not in optional or h.name in hint)
            small.append(Group(hypotheses, (goal,)))
            about.append((refuter.name, refuter.about(item, step)) if refuter else ("", goal.name))
    hints, failed = _answers(task, asked, about, small, groups, patient)
    if not failed:
        outcome.certificate = certify(model, model.safety, lemmas, hints, refutations)
        outcome.invariants = lemmas
        return None
    wrong = {item.formula for item in lemmas for name in failed if name.endswith(f" {item.name}")}
    if task.forget(wrong):
        return "again"
    learnt = False
    asked_also: set[tuple[str, str]] = set()
    for name, answer in failed.items():
        refuter, item = _about(name, refuters, items)
        if refuter is None:
            continue
        transition = _transition(task.model, name)
        question = refuter.about(item, transition.name if transition else None)
        if (refuter.name, question) in asked_also:
            continue
        if refuter.ask_also(question, answer.structure):
            asked_also.add((refuter.name, question))
            learnt = True
        elif answer.structure is not None:
            values = {constant: answer.structure.tables[constant] for constant in constants}
            states = [
                Structure(state.sizes, {**state.tables, **values}) if state else None
                for state in task.states_of(transition, answer.structure)
            ]
            assert states[0] is not None
            learnt |= refuter.learn(item, states[0], states[1])
    if learnt or not patient:
        return "again"
    return f"the solvers do not answer: {', '.join(sorted(failed))}"


def _answers(
    task: Task,
    asked: Sequence[str],
    about: Sequence[tuple[str, str]],
    small: Sequence[Group],
    groups: Sequence[Group],
    patient: bool,
) -> tuple[dict[str, tuple[str, ...]], dict[str, Answer]]:
    """What each obligation that holds leans on, and answers for some that do not, or that are not decided.

    `small` has what should suffice for each, `groups` all that is known.  Of obligations that are about the same question one
    that does not hold is enough.
    """
    hints: dict[str, tuple[str, ...]] = {}
    said: dict[int, Answer] = {}

    def ask(numbers: Sequence[int], listed: Sequence[Group], limits: Limits) -> list[int]:
        """Ask about some; those without a proof."""
        wanted = [listed[number] for number in numbers]
        if limits.timeout <= SOON:
            answers = ((place, solve_here(group, limits)[0]) for place, group in enumerate(wanted))
        else:
            answers = ((place, answer) for place, _, answer in solve(wanted, limits))
        for place, answer in answers:
            said[numbers[place]] = answer
            if answer.status == "unsat":
                used = (item.name for item in answer.core if not item.name.startswith("guard "))
                hints[asked[numbers[place]]] = tuple(dict.fromkeys(used))
        return [number for number in numbers if said[number].status != "unsat"]

    def within(seconds: float) -> Limits:
        return replace(task.limits, timeout=min(seconds, task.limits.timeout), until=task.until.clock)

    left = ask(range(len(asked)), small, within(AT_ONCE))
    if len(left) <= FEW:
        left = ask(left, groups, within(AT_ONCE))
    hard = [number for number in left if said[number].status == "unknown"]
    solved = set(hard) - set(ask(hard, small, within(SOON)))
    left = [number for number in left if number not in solved]
    first = list({about[number]: number for number in reversed(left)}.values())
    failed = ask(first, groups, within(QUICK))
    if not any(said[number].status == "sat" for number in failed):
        failed += ask([number for number in left if number not in first], groups, within(QUICK))
        if patient and len(failed) <= FEW and not any(said[number].status == "sat" for number in failed):
            failed = ask(failed, groups, task.until.within(task.limits, len(failed)))
    return hints, {asked[number]: said[number] for number in failed}


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
