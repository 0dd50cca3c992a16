"""Is a candidate a cutoff?  All obligations, by SMT; clauses that are not kept are dropped, facts about L are brought in.

A clause of the relation that a step breaks is dropped, unless the counterexample shows a state of L that a fact excludes.  Such
facts are taken from a pool, become part of the relation, and have to be kept like everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from quorate.engines.smt.session import Answer, Goal, Group, Limits, solve_here
from quorate.logic.structures import Evaluator, Structure
from quorate.logic.terms import Symbol, Term, disj
from quorate.methods.cutoff.candidates import Candidate, Scene
from quorate.methods.cutoff.facts import Facts
from quorate.models.relational import Named
from quorate.proof.cutoffs import Case, Claim, Claims, Obligations, Pair

MOST_ROUNDS = 40
LARGEST = 100_000
"""How many symbols a question may have, written out: subterms that occur often are one object here, and text for a solver."""


@dataclass(frozen=True)
class Failure:
    """Why a candidate is not one: the obligation that does not hold, and a pair of states that shows it, if there is one."""

    words: str
    condition: str
    reason: str
    structure: Structure | None = None
    transition: str = ""
    case: Case | None = None


@dataclass(frozen=True)
class Proof:
    """A case that is proved, with the hypotheses that sufficed for each obligation."""

    words: str
    kind: str
    case: Case
    cores: dict[str, tuple[str, ...]]


def processor_seconds() -> float:
    """Seconds that this process and those it has waited for have used."""
    return sum(os.times()[:4])


def written(terms: Iterable[Term]) -> int:
    """How many symbols the terms have, written out."""
    memo: dict[Term, int] = {}

    def size(term: Term) -> int:
        done = memo.get(term)
        if done is None:
            done = memo[term] = 1 + sum(map(size, term.children))
        return done

    return sum(map(size, terms))


class Prover:
    """Decides candidates for one violation and one small instance."""

    def __init__(self, pair: Pair, scene: Scene, limits: Limits, facts: Facts, ends: float = float("inf")) -> None:
        self.pair, self.scene, self.limits, self.facts, self.ends = pair, scene, limits, facts, ends
        self.obligations = Obligations(pair)
        self.queries = 0

    def ask(self, claims: Claims, case: Case) -> dict[str, Answer]:
        """An answer to each claim, by name."""
        goals = tuple(Goal(claim.name, claim.negation) for claim in claims.claims)
        self.queries += len(goals)
        if not goals:
            return {}
        if written([*(item.formula for item in claims.hypotheses), *(goal.formula for goal in goals)]) > LARGEST:
            return {goal.name: Answer("unknown", "the question is too large") for goal in goals}
        left = max(0.5, self.ends - processor_seconds())
        limits = replace(self.limits, timeout=min(self.limits.timeout, left))
        answers = solve_here(Group(claims.hypotheses, goals, self._symbols(case, claims)), limits)
        return {goal.name: answer for goal, answer in zip(goals, answers, strict=True)}

    def decide(self, claims: Claims, case: Case) -> dict[str, Answer]:
        """Answers to all claims of a group if they hold, else to some that do not: one question, as a rule."""
        if len(claims.claims) > 1:
            any_of_them = Claim("any of them", disj(*(claim.negation for claim in claims.claims)))
            (answer,) = self.ask(replace(claims, claims=(any_of_them,)), case).values()
            if answer.status == "unsat":
                return {claim.name: answer for claim in claims.claims}
            if answer.structure is not None:
                evaluator = Evaluator(answer.structure.sizes)
                false = [c for c in claims.claims if evaluator.compile(c.negation)(answer.structure, {})]
                return {claim.name: answer for claim in false}
        answers: dict[str, Answer] = {}
        for claim in claims.claims:
            if processor_seconds() > self.ends:
                answers[claim.name] = Answer("unknown", "there was no time left")
            else:
                answers |= self.ask(replace(claims, claims=(claim,)), case)
        return answers

    def _symbols(self, case: Case, group: Claims) -> tuple[Symbol, ...]:
        """What a counterexample has to give values to, so that it can be shown."""
        found = [*self.pair.large.symbols, *(s for s in self.pair.twin.symbols if s.mutable), *case.violators]
        if group.about:
            transition = self.pair.large.transition(group.about)
            found += [Symbol(f"@{p.name}", (), p.sort) for p in transition.parameters]
            found += transition.choices
        return tuple(found)

    def instance(self, case: Case) -> bool:
        """Does C satisfy the axioms?"""
        claims = self.obligations.instance(case)
        return all(answer.status == "unsat" for answer in self.decide(claims, case).values())

    def begin(self, case: Case) -> Case | Failure:
        """The case with a first state of C, without the clauses that do not hold initially."""
        best: Case | None = None
        failure = Failure("", "initially", "C has no first state that corresponds to one of L")
        for start in self.scene.starts(self.pair, case):
            tried = replace(case, start=start)
            claims = self.obligations.initially(tried)
            answers = self.decide(claims, tried)
            if any(": C begins with " in name for name, answer in answers.items() if answer.status != "unsat"):
                continue
            if any(answer.status != "unsat" for answer in answers.values()):
                answers = self.ask(claims, tried)
            bad = [name for name, answer in answers.items() if answer.status != "unsat"]
            if any(": C begins with " in name for name in bad):
                continue
            broken = {name.split(": initially ", 1)[1] for name in bad}
            kept = tuple(item for item in case.relation if item.name not in broken)
            found = replace(tried, relation=kept)
            if not broken:
                return found
            if best is None or len(kept) > len(best.relation):
                best = found
        return best or failure

    def prove(self, candidate: Candidate, with_facts: bool) -> Proof | Failure:
        """Drop clauses, and perhaps add facts, until all that is left is kept, or the violation no longer shows."""
        begun = self.begin(candidate.case)
        if isinstance(begun, Failure):
            return replace(begun, words=candidate.words)
        case = begun
        last: Failure | None = None
        cores: dict[str, tuple[str, ...]] = {}
        done: set[str] = set()
        refused: set[str] = set()
        for _ in range(MOST_ROUNDS):
            if processor_seconds() > self.ends:
                return last or Failure(candidate.words, "step", "there was no time left")
            shown = self._shown(case)
            if shown.status != "unsat":
                return last or self._failure(candidate, case, "violation", shown, "")
            cores["case: the violation shows in C"] = _names(shown)
            broken: dict[str, tuple[str, Answer]] = {}
            for group in self._steps(case, done):
                for name, answer in self.decide(group, case).items():
                    if answer.status == "unsat":
                        cores[name] = _names(answer)
                        done.add(name)
                    else:
                        broken.setdefault(_kept(name), (group.about, answer))
                if broken and not with_facts:
                    break
            if not broken:
                return Proof(candidate.words, candidate.kind, case, cores)
            before = case
            case, gone, failing = self._repair(case, broken, refused if with_facts else None)
            if failing is not None and gone and (last is None or last.structure is None):
                last = self._failure(candidate, before, failing, broken[failing][1], broken[failing][0])
            done = {name for name in done if _kept(name) not in gone and gone.isdisjoint(cores[name])}
        return last or Failure(candidate.words, "step", "there was no end to it")

    def _repair(
        self, case: Case, broken: dict[str, tuple[str, Answer]], refused: set[str] | None
    ) -> tuple[Case, set[str], str | None]:
        """Facts that exclude the counterexamples; clauses for which there are none are dropped."""
        if refused is None:
            gone = set(broken)
            kept = tuple(item for item in case.relation if item.name not in gone)
            return replace(case, relation=kept), gone, next(iter(broken))
        facts = self.facts.names
        helped: dict[str, Named] = {}
        gone = set()
        failing: str | None = None
        present = {item.name for item in case.relation}
        for name, (_, answer) in broken.items():
            useful = [] if answer.structure is None else self.facts.excluding(answer.structure)
            useful = [item for item in useful if item.name not in refused | present]
            if useful:
                helped |= {item.name: item for item in useful}
                continue
            gone.add(name)
            if name in facts:
                refused.add(name)
            else:
                failing = failing or name
        new = [item for item in helped.values() if item.name not in gone]
        if new:
            tried = replace(case, relation=tuple(new))
            answers = self.ask(self.obligations.initially(tried), tried)
            for item in list(new):
                if answers[f"case: initially {item.name}"].status != "unsat":
                    refused.add(item.name)
                    new.remove(item)
        if new:
            gone &= facts
        relation = tuple(item for item in case.relation if item.name not in gone)
        return replace(case, relation=(*relation, *new)), gone, failing

    def _steps(self, case: Case, done: set[str]) -> Iterator[Claims]:
        """What has not been shown yet about each transition."""
        for transition in self.pair.large.transitions:
            claims = self.obligations.step(case, transition)
            left = tuple(claim for claim in claims.claims if claim.name not in done)
            if left:
                yield replace(claims, claims=left)

    def _shown(self, case: Case) -> Answer:
        (answer,) = self.ask(self.obligations.violation(case), case).values()
        return answer

    def _failure(self, candidate: Candidate, case: Case, clause: str, answer: Answer, transition: str) -> Failure:
        if transition:
            told = f"{transition} does not keep {clause}"
        else:
            told = "the violation does not show in the small instance"
        if answer.status == "unknown":
            told += f" (no answer: {answer.reason})"
        condition = "step" if transition else "violation"
        return Failure(candidate.words, condition, told, answer.structure, transition, case)


def _kept(name: str) -> str:
    """The clause that an obligation is about."""
    return name.split(" preserves ", 1)[-1]


def _names(answer: Answer) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.name for item in answer.core))
