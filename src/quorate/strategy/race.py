"""The race: methods that look for violations and methods that look for proofs side by side, until everything is settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from quorate import racing
from quorate.methods.vacuity import METHOD, examine, spoiled, unfounded, withheld
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.relational import Liveness, Named, RelationalModel
from quorate.models.rounds import RoundModel
from quorate.proof.certificates import Certificate
from quorate.proof.vacuity import Contradiction
from quorate.proof.verdicts import Result, Verdict
from quorate.strategy.portfolio import HOUR, methods_for
from quorate.strategy.question import Answer, Event, Finding, Method, Proof, Question, crowding, lively

AHEAD, SHARE = 0.5, 0.3
"""Where there is a proof under way too, what is beside it gets that many seconds more than that share of its seconds."""
SHORT = 4.0
"""Rounds of at most that many seconds begin whenever there is some time for violations; longer ones, once there is enough."""


def verify(
    question: Question,
    only: Sequence[str] = (),
    watch: Callable[[Event], None] = lambda event: None,
    known: Sequence[Finding] = (),
) -> Answer:
    """Answer every property of a model; `only` names the methods to use, by default all that apply.

    What is `known` has been established before: runs replayed, certificates accepted.  Safety is asked about first, liveness
    in the time that is left, which is half of it at least; properties that no method of `only` speaks of are not asked about.
    """
    methods = [method for method in methods_for(question.model) if not only or method.name in only]
    nothing = unfounded(question.model)
    if isinstance(nothing, Contradiction):
        return _nothing_to_prove(question, nothing)
    answer = Answer(())
    for kind, items in (("safety", question.model.safety), ("liveness", lively(question.model))):
        chosen = [method for method in methods if method.kind == kind]
        if answer.interrupted or not items or (only and not chosen):
            continue
        later = kind == "safety" and any(method.kind == "liveness" for method in methods)
        seconds = question.seconds / 2 if later else question.seconds - answer.seconds
        part = replace(question.only(item.name for item in items), seconds=seconds)
        race = _Race(part, chosen, watch, answer.seconds)
        for finding in known:
            race.take("saved", finding)
        if race.open:
            race.run()
        answer = answer.joined(race.answer())
    if answer.interrupted:
        return answer
    answer = _without_spoiled(question, replace(answer, results=(*answer.results, *_theorems(question))))
    proved = _established(question, answer)
    return replace(answer, remarks=(nothing,) if nothing else examine(question.model, proved, question.limits))


def _without_spoiled(question: Question, answer: Answer) -> Answer:
    """The answer without proofs that assume what no run does."""
    known = _established(question, answer)
    results = []
    for result in answer.results:
        why = spoiled(question.model, result.property, known) if result.verdict == "proved" else None
        results.append(replace(result, verdict="unknown", reason=str(why)) if why else result)
    proved = {result.property for result in results if result.verdict == "proved"}
    proofs = tuple(proof for proof in answer.proofs if not proved.isdisjoint(proof.properties))
    return replace(answer, results=tuple(results), proofs=proofs)


def _nothing_to_prove(question: Question, found: Contradiction) -> Answer:
    """No run, no verdict: what follows from a contradiction is no proof, and nothing violates a property."""
    model = question.model
    kinds: list[tuple[Literal["safety", "liveness"], tuple[Any, ...]]] = [
        ("safety", model.safety),
        ("liveness", lively(model)),
    ]
    results = [
        Result(item.name, kind, "unknown", METHOD, "all sizes", str(found), None, item.span)
        for kind, items in kinds
        for item in items
    ]
    return Answer((*results, *withheld(_theorems(question), found)))


def _established(question: Question, answer: Answer) -> list[Named]:
    """The invariants of the proofs of a relational protocol, and what they prove."""
    model = question.model
    if not isinstance(model, RelationalModel):
        return []
    proved = {result.property for result in answer.results if result.verdict == "proved"}
    found = [item for item in model.safety if item.name in proved]
    for proof in answer.proofs:
        if isinstance(proof.certificate, Certificate) and not proof.certificate.cutoffs:
            found += [Named(name, formula) for name, formula in proof.certificate.invariant_terms(model)]
    return found


class _Race:
    def __init__(
        self, question: Question, methods: Sequence[Method], watch: Callable[[Event], None], before: float
    ) -> None:
        self.question, self.methods, self.watch, self.before = question, methods, watch, before
        self.started = time.monotonic()
        self.settled: dict[str, Result] = {}
        self.suggested: dict[str, Result] = {}
        self.proofs: list[Proof] = []
        self.established: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.events: list[Event] = []
        self.interrupted = False
        self.beside = question.limits.jobs > 1
        """Is there a core for the hunts?  Then a search for a proof goes on until it is done, in its last and longest round."""
        self.waiting: dict[str, list[tuple[Method, int]]] = {"violation": [], "proof": []}
        self.line_up(methods)
        self.running: list[tuple[racing.Racer, Method, float]] = []
        self.spent = {"violation": 0.0, "proof": 0.0}

    def line_up(self, methods: Sequence[Method]) -> None:
        """Let all rounds of these methods wait for their turn: short ones first among the hunts, by numbers among the proofs."""
        for lane, items in self.waiting.items():
            others = [item for item in items if item[0] not in methods]
            rounds = [(method, number) for method in methods for number in range(len(method.rounds))]
            mine = [(method, number) for method, number in rounds if method.lane == lane]
            if lane == "violation":
                self.waiting[lane] = sorted(mine + others, key=lambda item: item[0].rounds[item[1]])
            else:
                last = [item for item in mine if not self.beside or item[1] == len(item[0].rounds) - 1]
                self.waiting[lane] = sorted(last + others, key=lambda item: item[1])

    @property
    def open(self) -> list[str]:
        return [name for name in self.question.names if name not in self.settled]

    def say(self, kind: Any, method: str, text: str, results: tuple[Result, ...] = ()) -> None:
        event = Event(kind, method, text, self.before + time.monotonic() - self.started, results)
        if kind != "doing":
            self.events.append(event)
        self.watch(event)

    def run(self) -> None:
        ends = self.started + self.question.seconds
        try:
            while self.open and time.monotonic() < ends:
                self.fill(ends)
                if not self.running:
                    break
                patience = min(0.25, ends - time.monotonic())
                for racer, message in racing.listen([racer for racer, _, _ in self.running], patience):
                    self.hear(racer, message)
                self.stop([item for item in self.running if item[0].over or self.overdue(item)])
        except KeyboardInterrupt:
            self.interrupted = True
        self.stop(list(self.running))

    def overdue(self, item: tuple[racing.Racer, Method, float]) -> bool:
        racer, method, seconds = item
        return racer.seconds > method.longer * seconds + 1.0

    def fill(self, ends: float) -> None:
        """Start what is due: hunts and proofs side by side where there are two cores, hunts first where there is one."""
        busy = {method.lane for _, method, _ in self.running}
        jobs = max(1, self.question.limits.jobs)
        for lane in ("violation", "proof"):
            if lane in busy or not self.waiting[lane] or len(self.running) >= jobs:
                continue
            if lane == "violation" and self.hunted_enough():
                continue
            method, number = self.waiting[lane].pop(0)
            question = replace(
                self.question.only(self.open),
                seconds=min(crowding() * method.rounds[number], ends - time.monotonic()),
                limits=replace(self.question.limits, jobs=1 if self.running or any(self.waiting.values()) else jobs),
            )
            racer = racing.start(method.name, method.work, question, number)
            self.running.append((racer, method, question.seconds))
            begun = any(event.method == method.name for event in self.events)
            self.say("start", method.name, "goes on" if begun else method.words)

    def hunted_enough(self) -> bool:
        """Hunting must not cost a proof much: it keeps to its share while proofs are looked for."""
        proving = self.waiting["proof"] or any(method.lane == "proof" for _, method, _ in self.running)
        spent = self.spent["proof"] + sum(racer.seconds for racer, method, _ in self.running if method.lane == "proof")
        method, number = self.waiting["violation"][0]
        longer = method.rounds[number] if SHORT < method.rounds[number] < HOUR else 0.0
        return bool(proving) and self.spent["violation"] + crowding() * (longer - AHEAD) > SHARE * spent

    def hear(self, racer: racing.Racer, message: racing.Message) -> None:
        if message.kind == "doing":
            self.say("doing", racer.name, message.value)
        elif message.kind == "failed":
            self.reasons[racer.name] = message.value
            self.say("end", racer.name, message.value)
        elif message.kind == "done":
            self.say("end", racer.name, self.reasons.get(racer.name, "") or "done")
        else:
            self.take(racer.name, message.value)

    def take(self, name: str, found: Finding) -> None:
        """Note what a method has found; where that makes others' work useless, they start again or stop."""
        if found.established:
            self.established[name] = found.established
        if found.reason:
            self.reasons[name] = found.reason
        if found.complete:
            self.waiting = {
                lane: [item for item in items if item[0].name != name] for lane, items in self.waiting.items()
            }
        for result in found.suggestions:
            self.suggested.setdefault(result.property, result)
        new = tuple(item for item in found.results if item.property in self.open and self.backed(item, found.proof))
        for result in new:
            reason = result.reason.removeprefix("violated ")
            self.settled[result.property] = replace(result, reason=reason, seconds=time.monotonic() - self.started)
        if found.proof is not None and any(result.verdict == "proved" for result in new):
            self.proofs.append(found.proof)
        if not new:
            return
        self.say("found", name, ", ".join(f"{result.property} {result.verdict}" for result in new), new)
        violated = {result.property for result in new if result.verdict == "violated"}
        if violated and self.open:
            again = [item for item in self.running if item[1].aim == "proof" and item[0].name != name]
            self.stop(again)
            stopped = [method for _, method, _ in again]
            self.line_up([m for m in self.methods if m.aim == "proof" and (m in stopped or not m.apart)])

    def backed(self, result: Result, proof: Proof | None) -> bool:
        """Is there what a verdict needs: a certificate that speaks of the property, or a run of it that replays?"""
        if result.verdict == "proved":
            return proof is not None and result.property in proof.properties
        return result.verdict == "violated" and _replays(self.question.model, result)

    def stop(self, items: list[tuple[racing.Racer, Method, float]]) -> None:
        racing.stop([racer for racer, _, _ in items])
        for racer, method, _ in items:
            self.spent[method.lane] += racer.seconds
            self.running = [item for item in self.running if item[0] is not racer]

    # -- the answer ----------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        results = [self.settled.get(name) or self.left_open(name) for name in self.question.names]
        seconds = time.monotonic() - self.started
        established = tuple(dict.fromkeys(self.established.values()))
        return Answer(tuple(results), tuple(self.proofs), established, tuple(self.events), seconds, self.interrupted)

    def left_open(self, name: str) -> Result:
        """What is said of a property that nothing settled."""
        seconds = time.monotonic() - self.started
        if name in self.suggested:
            return replace(self.suggested[name], seconds=seconds)
        model = self.question.model
        item = next(item for item in (*model.safety, *lively(model)) if item.name == name)
        kind: Literal["safety", "liveness"] = "liveness" if isinstance(item, Liveness) else "safety"
        late = seconds >= self.question.seconds - 1.0
        why = "interrupted" if self.interrupted else f"no answer in {self.question.seconds:g} s" if late else ""
        said = [text for method in self.methods if (text := self.reasons.get(method.name))] if not late else []
        reason = "; ".join(filter(None, [why, *said, *dict.fromkeys(self.established.values())]))
        methods = ", ".join(dict.fromkeys(method.name for method in self.methods))
        verdict: Verdict = "unknown"
        return Result(name, kind, verdict, methods, "", reason or "no method applies", None, item.span, seconds)


def _replays(model: Model, result: Result) -> bool:
    """Does the run behind a violation replay on the plain semantics?"""
    from quorate.proof import process_runs, round_traces, traces

    run = result.evidence
    try:
        if isinstance(model, RelationalModel) and isinstance(run, traces.Trace):
            traces.replay(model, run)
            return run.kind == "run" and run.violated == result.property
        if isinstance(model, ProcessModel) and isinstance(run, process_runs.ProcessRun):
            process_runs.replay(model, run)
            return run.violated == result.property
        if isinstance(model, RoundModel) and result.rounds is not None:
            round_traces.replay(model, result.rounds)
            return result.rounds.kind == "run" and result.rounds.violated == result.property
    except (traces.ReplayError, round_traces.RoundReplayError):
        pass
    return False


def _theorems(question: Question) -> list[Result]:
    """Theorems follow from the axioms: both solvers have to say so."""
    if not isinstance(question.model, RelationalModel) or not question.model.theorems:
        return []
    from quorate.proof.checker import check_theorems

    started = time.monotonic()
    limits = question.limits
    results = []
    outcomes = check_theorems(question.model, limits.timeout, limits.memory_mb, limits.jobs)
    for item, outcome in zip(question.model.theorems, outcomes, strict=True):
        verdict: Verdict = "proved" if outcome.accepted else "violated" if outcome.refuted else "unknown"
        reasons: dict[Verdict, str] = {"proved": "both solvers", "violated": "it does not follow from the axioms"}
        seconds = time.monotonic() - started
        reason = reasons.get(verdict, "a solver gave no answer")
        results.append(
            Result(item.name, "theorem", verdict, "axioms", question.model.all_sizes, reason, None, item.span, seconds)
        )
    return results
