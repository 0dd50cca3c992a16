"""`verify`: one question, one answer.  Which methods to run on a model, in what order, racing what, and when to stop.

Methods that look for violations and methods that look for proofs run side by side, in processes of their own.  A proof counts
once the independent checker has accepted its certificate, a violation once its run has been replayed; what is settled is not
asked again, and when all is settled everything stops.  Read `racing` for the processes; a further method is an entry of
`methods_for`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from quorate import racing
from quorate.engines.smt.session import Limits
from quorate.logic.terms import Sort
from quorate.models.forms import Model, NoForm, relational_form
from quorate.models.process import ProcessModel
from quorate.models.relational import Liveness, RelationalModel
from quorate.models.rounds import RoundModel
from quorate.proof import liveness
from quorate.proof.certificates import Certificate, CertificateError
from quorate.proof.liveness import LivenessCertificate
from quorate.proof.verdicts import Result, Verdict

Tell = Callable[[str], None]

CHECKERS = 2
"""How many solvers the checker asks at once: what one does not answer, another may at once."""
AHEAD, SHARE = 0.5, 0.35
"""Where proofs are looked for too, violations get that many seconds more than that share of the seconds spent on proofs."""
SHORT = 3.0
"""Rounds of at most that many seconds begin whenever there is some time for violations; longer ones, once there is enough."""
HOUR = 3600.0
SEARCHING = 1.4
"""Processor seconds for a first look for cutoffs."""


@dataclass(frozen=True)
class Question:
    """What is asked: a model, how long the answer may take, and what the solvers may use."""

    model: Model
    seconds: float = 120.0
    limits: Limits = field(default_factory=Limits)
    largest: int = 5
    """Of a round-based algorithm: violations are looked for with up to that many processes."""
    whole: Model | None = None
    """The model with all its properties, where the question is about some of them: certificates are checked against it."""

    @property
    def names(self) -> list[str]:
        return [item.name for item in (*self.model.safety, *lively(self.model))]

    def only(self, names: Iterable[str]) -> Question:
        """The same question about some of the properties."""
        wanted = set(names)
        part: Any = replace(self.model, safety=tuple(item for item in self.model.safety if item.name in wanted))  # type: ignore[arg-type]
        if isinstance(part, RelationalModel):
            part = replace(part, liveness=tuple(item for item in part.liveness if item.name in wanted))
        return replace(self, model=part, whole=self.whole or self.model)


def lively(model: Model) -> tuple[Liveness, ...]:
    """The liveness properties of a model."""
    return model.liveness if isinstance(model, RelationalModel) else ()


@dataclass(frozen=True)
class Lemma:
    """An invariant of a proof as the protocol's language writes it, and the transitions that need it."""

    name: str
    formula: str
    needed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proof:
    """A certificate that the independent checker has accepted: so many obligations, each by both solvers."""

    certificate: Certificate | LivenessCertificate
    obligations: int
    lemmas: tuple[Lemma, ...] = ()
    found: bool = True
    """Were the lemmas found, and are they for people to read?  Otherwise the file gives them, or they are very many."""
    words: tuple[str, ...] = ()
    """Why it holds, for people to read, where lemmas do not tell: the stages of a ranking, the map of a cutoff."""

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of what is proved."""
        if isinstance(self.certificate, LivenessCertificate):
            return tuple(proved.argument.property for proved in self.certificate.proved)
        return self.certificate.safety

    def document(self, model: Model) -> dict[str, Any]:
        """The certificate as data, for a file."""
        if isinstance(self.certificate, LivenessCertificate):
            assert isinstance(model, RelationalModel)
            found: dict[str, Any] = json.loads(liveness.write(model, self.certificate))
            return found
        return self.certificate.to_json()


@dataclass(frozen=True)
class Finding:
    """What a method has found so far: properties settled, a proof, and what it established besides."""

    results: tuple[Result, ...] = ()
    proof: Proof | None = None
    established: str = ""
    reason: str = ""
    """Why the method has no more to say."""
    suggestions: tuple[Result, ...] = ()
    """What can be said of properties that stay open, if nothing settles them."""
    complete: bool = False
    """Would further rounds of the method find nothing new?"""


Work = Callable[[Question, int, Tell], Iterator[Finding]]


@dataclass(frozen=True)
class Method:
    """A method: what it aims at, in words what it does, and its work in the rounds that it gets, longer each time."""

    name: str
    aim: Literal["violation", "proof"]
    words: str
    work: Work
    rounds: tuple[float, ...]
    """Seconds for each round."""
    apart: bool = True
    """Does it answer each property by itself?  Otherwise it starts again when a property turns out to be violated."""
    kind: Literal["safety", "liveness"] = "safety"
    """What properties it speaks of."""


@dataclass(frozen=True)
class Event:
    """Something that happened while a question was being answered."""

    kind: Literal["start", "doing", "found", "end", "stop"]
    method: str
    text: str
    seconds: float
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A result per property, the proofs behind what is proved, and the story of how it was found."""

    results: tuple[Result, ...]
    proofs: tuple[Proof, ...] = ()
    established: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False

    def joined(self, later: Answer) -> Answer:
        """This answer and a later one about other properties."""
        return Answer(
            self.results + later.results,
            self.proofs + later.proofs,
            self.established + later.established,
            self.events + later.events,
            self.seconds + later.seconds,
            later.interrupted,
        )


# -- the race --------------------------------------------------------------------------------------------------------------


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
    theorems = [] if answer.interrupted else _theorems(question)
    return replace(answer, results=(*answer.results, *theorems))


def crowding() -> float:
    """How many processes share a core: rounds are longer by that much, so that they do as much on a busy machine."""
    try:
        return min(8.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    except OSError:
        return 1.0


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
        most = max([len(method.rounds) for method in methods], default=0)
        order = [(method, number) for number in range(most) for method in methods if number < len(method.rounds)]
        order.sort(key=lambda item: item[0].rounds[item[1]] if item[0].aim == "violation" else item[1])
        self.waiting = {aim: [item for item in order if item[0].aim == aim] for aim in ("violation", "proof")}
        self.running: list[tuple[racing.Racer, Method, float]] = []
        self.spent = {"violation": 0.0, "proof": 0.0}

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
        racer, _, seconds = item
        return racer.seconds > seconds + 1.0

    def fill(self, ends: float) -> None:
        """Start what is due: hunts and proofs side by side where there are two cores, hunts first where there is one."""
        busy = {method.aim for _, method, _ in self.running}
        for aim in ("violation", "proof"):
            if aim in busy or not self.waiting[aim] or len(self.running) >= max(1, self.question.limits.jobs):
                continue
            if aim == "violation" and self.hunted_enough():
                continue
            method, number = self.waiting[aim].pop(0)
            question = replace(
                self.question.only(self.open),
                seconds=min(crowding() * method.rounds[number], ends - time.monotonic()),
                limits=replace(self.question.limits, jobs=1),
            )
            racer = racing.start(method.name, method.work, question, number)
            self.running.append((racer, method, question.seconds))
            self.say("start", method.name, method.words if number == 0 else f"goes on, round {number + 1}")

    def hunted_enough(self) -> bool:
        """Hunting must not cost a proof much: it keeps to its share while proofs are looked for."""
        proving = self.waiting["proof"] or any(method.aim == "proof" for _, method, _ in self.running)
        spent = self.spent["proof"] + sum(racer.seconds for racer, method, _ in self.running if method.aim == "proof")
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
                aim: [item for item in items if item[0].name != name] for aim, items in self.waiting.items()
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
            done = {method.name for method, _ in self.waiting["proof"]}
            joint = [(m, 0) for m in self.methods if m.aim == "proof" and not m.apart and m.name not in done]
            self.waiting["proof"] = list(dict.fromkeys([(m, 0) for _, m, _ in again] + self.waiting["proof"] + joint))

    def backed(self, result: Result, proof: Proof | None) -> bool:
        """Is there what a verdict needs: a certificate that speaks of the property, or a run of it that replays?"""
        if result.verdict == "proved":
            return proof is not None and result.property in proof.properties
        return result.verdict == "violated" and _replays(self.question.model, result)

    def stop(self, items: list[tuple[racing.Racer, Method, float]]) -> None:
        racing.stop([racer for racer, _, _ in items])
        for racer, method, _ in items:
            self.spent[method.aim] += racer.seconds
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
        results.append(Result(item.name, "theorem", verdict, "axioms", "all sizes", reason, None, item.span, seconds))
    return results


# -- what counts as a proof ------------------------------------------------------------------------------------------------


def accepted(question: Question, certificate: Certificate | LivenessCertificate, tell: Tell) -> int | str:
    """How many obligations the independent checker discharged, all of them; or why it does not accept the certificate."""
    from quorate.proof import checker

    limits, count = question.limits, 0
    try:
        form = relational_form(question.whole or question.model)
        if isinstance(certificate, LivenessCertificate):
            listed = liveness.sections(form, certificate)
        else:
            listed = checker.sections(form, certificate)
        for outcome in checker.discharge(listed, limits.timeout, limits.memory_mb, max(CHECKERS, limits.jobs)):
            if not outcome.accepted:
                return f"the checker does not accept the proof that was found: {outcome.obligation.name}"
            count += 1
            tell(f"re-checking the certificate: {count} obligations")
    except (CertificateError, NoForm) as problem:
        return f"the checker does not accept the proof that was found: {problem}"
    return count


def _proved(
    question: Question,
    certificate: Certificate,
    method: str,
    scope: str,
    lemmas: Sequence[Lemma],
    tell: Tell,
    found: bool = True,
    words: Sequence[str] = (),
) -> Finding:
    """The finding that a certificate proves what it speaks of, if the checker accepts it."""
    count = accepted(question, certificate, tell)
    if isinstance(count, str):
        return Finding(reason=count)
    reason = f"certificate re-checked: {count} obligation{'s' * (count != 1)}, two solvers"
    results = [
        Result(item.name, "safety", "proved", method, scope, reason, None, item.span)
        for item in question.model.safety
        if item.name in certificate.safety
    ]
    return Finding(tuple(results), Proof(certificate, count, tuple(lemmas), found, tuple(words)))


def _needed_by(certificate: Certificate, transitions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each invariant, the transitions for which it is a hypothesis of some other claim."""
    needed: dict[str, dict[str, None]] = {}
    names = list(transitions)
    for obligation, used in certificate.hints.items():
        transition, found, claim = obligation.partition(" preserves ")
        if found and transition in names:
            for name in used:
                if name != claim:
                    needed.setdefault(name, {})[transition] = None
    return {name: tuple(found) for name, found in needed.items()}


def borrowed(question: Question, lender: RelationalModel, proof: Proof, tell: Tell) -> Finding:
    """What a proof of the same protocol, told with other lemmas or in another file, proves here: if the checker agrees."""
    model = _relational(question)
    same = replace(lender, safety=model.safety, invariants=(), expectations=()) == replace(
        model, invariants=(), expectations=()
    )
    named = {item.name for item in model.safety} <= {item.name for item in lender.safety}
    if not same or not named or model.source is None or not isinstance(proof.certificate, Certificate):
        return Finding()
    certificate = replace(proof.certificate, protocol=Path(model.source.path).name, sha256=model.source.sha256)
    found = _proved(question, certificate, "induction", "all sizes", proof.lemmas, tell, found=False)
    assert lender.source is not None
    origin = f"with the invariants of {lender.source.path}; " if proof.lemmas else ""
    return replace(found, results=tuple(replace(r, reason=origin + r.reason) for r in found.results))


# -- methods for relational protocols --------------------------------------------------------------------------------------


def _relational(question: Question) -> RelationalModel:
    assert isinstance(question.model, RelationalModel)
    return question.model


def _sizes_to_try(model: RelationalModel) -> list[dict[Sort, int]]:
    """What the properties name, then two of everything, three of one sort, three of everything, four of one sort, and so on.

    Sorts that the axioms order come first: they are ballots, epochs and the like, and it takes some of them to go wrong, one
    more than the properties name for a start.
    """
    from quorate.logic.terms import Forall
    from quorate.methods.inference.language import total_orders

    ordered = total_orders(model)
    sorts = sorted((sort for sort in model.sorts if sort.uninterpreted), key=lambda sort: sort not in ordered)
    prefixes = [item.formula.variables for item in model.safety if isinstance(item.formula, Forall)]
    named = {sort: max([1, *([v.sort for v in prefix].count(sort) for prefix in prefixes)]) for sort in sorts}
    found: list[dict[Sort, int]] = [{sort: min(4, named[sort] + (sort in ordered)) for sort in sorts}]
    for size in (2, 3, 4):
        base = dict.fromkeys(sorts, max(2, size - 1))
        found += [{**base, sort: size} for sort in sorts if size > 2]
        found.append(dict.fromkeys(sorts, size))
    return [sizes for number, sizes in enumerate(found) if sizes not in found[:number]]


def _shown_sizes(sizes: Mapping[Sort, int]) -> str:
    return ", ".join(f"{sort}={size}" for sort, size in sizes.items()) or "the only size"


def bounded(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Runs of bounded length at small sizes, by SAT; of protocols with integers, at all sizes, by the solvers."""
    from quorate.methods.induction.bounded import METHOD, finite_search, symbolic_search, uses_integers

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    open_properties = list(model.safety)
    depth = (12, 12, 16, 16, 24, 32)[number]

    def violated(trace: Any, scope: str) -> Finding:
        item = next(item for item in open_properties if item.name == trace.violated)
        open_properties.remove(item)
        steps = len(trace.steps)
        reason = f"after {steps} step{'s' * (steps != 1)}"
        return Finding((Result(item.name, "safety", "violated", METHOD, scope, reason, trace, item.span),))

    if uses_integers(model):
        quick = replace(question.limits, timeout=min(question.limits.timeout, question.seconds / 4))
        length = 0
        while open_properties and length <= depth and time.monotonic() < ends:
            tell(f"all runs of {length} steps, at all sizes")
            status, trace, _ = symbolic_search(model, open_properties, length, quick)
            if trace is not None:
                yield violated(trace, "all sizes")
            elif status == "unsat":
                yield Finding(established=f"no violation within {length} step{'s' * (length != 1)}, at any size")
                length += 1
            else:
                return
        return
    listed = _sizes_to_try(model)
    for place, sizes in enumerate(listed):
        while open_properties:
            left = ends - time.monotonic()
            if left <= 0.05:
                return
            each = 0.7 * left if place == 0 else max(question.seconds / 6, left / (len(listed) - place))
            tell(f"runs of up to {depth} steps, {_shown_sizes(sizes)}")
            found = finite_search(model, open_properties, sizes, depth, question.limits, min(left, each))
            if found is not None and found.trace is not None:
                yield violated(found.trace, _shown_sizes(sizes))
                continue
            if found is not None and found.depth == depth:
                yield Finding(established=f"no violation within {depth} steps with {_shown_sizes(sizes)}")
            break


def instances(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """All states of small instances."""
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.explicit.check import Options, check

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    open_properties = list(model.safety)
    finished = 0
    for size in (2, 3, 4):
        while open_properties and time.monotonic() < ends:
            part = replace(model, safety=tuple(open_properties))
            sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
            tell(f"all states with {_shown_sizes(sizes)}")
            left = ends - time.monotonic()
            options = Options(jobs=1, memory_mb=question.limits.memory_mb, timeout=left, fleeting=True)
            try:
                outcome = check(Instance(part, sizes), options, tell)
            except InstanceError as problem:
                yield Finding(reason=str(problem))
                return
            bad = [result for result in outcome.results if result.verdict == "violated" and result.kind == "safety"]
            shown = _shown_sizes(sizes)
            yield Finding(tuple(replace(result, scope=shown) for result in bad))
            open_properties = [item for item in open_properties if item.name not in {r.property for r in bad}]
            if not bad:
                if outcome.found.states and all(r.verdict == "proved" for r in outcome.results if r.kind == "safety"):
                    states = f"{outcome.found.unreduced:,} states"
                    yield Finding(established=f"no violation in all {states} with {shown}")
                    finished += 1
                break
    yield Finding(complete=finished == 3)


def simulate(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Random runs of instances with three and four elements of each sort."""
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.explicit.simulate import simulate as run

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    for size in (3, 4):
        left = ends - time.monotonic()
        if left <= 0:
            return
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        tell(f"random runs with {_shown_sizes(sizes)}")
        try:
            done = run(Instance(model, sizes), 100_000, 50, question.limits.seed + number, left / 2, tell)
        except InstanceError as problem:
            yield Finding(reason=str(problem))
            return
        bad = tuple(result for result in done.results if result.verdict == "violated")
        yield Finding(bad)
        if bad:
            return


def induct(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Are the safety properties, with the invariants of the file, inductive?"""
    from quorate.lang.extend import print_formulas
    from quorate.methods.induction.induct import Search, certificate_of_some, prove
    from quorate.methods.induction.induct import induct as explain

    model = _relational(question)
    outcome = prove(model, question.limits, tell)
    certificate = certificate_of_some(outcome)
    if certificate is not None:
        needed = _needed_by(certificate, (transition.name for transition in model.transitions))
        used = [item for item in model.invariants if item in outcome.proved]
        texts = print_formulas(model, [item.formula for item in used])
        lemmas = [Lemma(item.name, text, needed.get(item.name, ())) for item, text in zip(used, texts, strict=True)]
        yield _proved(question, certificate, "induction", "all sizes", lemmas, tell, found=False)
    failing = [item for item in model.properties if item not in outcome.proved]
    if not failing:
        return
    if not model.invariants:
        yield Finding(reason=f"{', '.join(item.name for item in failing)} not inductive")
        return
    tell("looking for the smallest counterexample to induction")
    full = explain(model, question.limits, Search(depth=0, seconds=2.0), tell).results
    open_results = [result for result in full if result.verdict != "proved"]
    names = ", ".join(result.property for result in open_results)
    suggestions = [result for result in open_results if result.kind == "safety"]
    lemma = next((result for result in open_results if result.kind == "invariant"), None)
    if lemma is not None and len(suggestions) < len(model.safety):
        suggestions += [
            replace(
                lemma, property=item.name, kind="safety", span=item.span, reason=f"{lemma.property}: {lemma.reason}"
            )
            for item in model.safety
            if item.name not in {result.property for result in suggestions}
        ]
    yield Finding(reason=f"not inductive with the file's invariants: {names}", suggestions=tuple(suggestions))


def infer(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Find the invariants."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.lang.extend import print_formulas
    from quorate.logic.structures import EvaluationError
    from quorate.methods.inference.infer import Options
    from quorate.methods.inference.infer import infer as search
    from quorate.methods.inference.plain import plain_invariants

    model = _relational(question)
    options = Options(question.seconds, question.limits.seed)
    try:
        outcome = search(model.with_invariants(()), question.limits, options, tell)
    except (CompilerError, InstanceError, EvaluationError) as problem:
        yield Finding(reason=f"inference cannot handle this protocol: {problem}")
        return
    if outcome.certificate is None:
        bad = [result for result in outcome.results if result.verdict == "violated"]
        yield Finding(tuple(bad), reason="" if bad else "inference found no inductive invariant")
        return
    found = outcome.invariants + plain_invariants(outcome.model, outcome.certificate)
    texts = print_formulas(outcome.model, [item.formula for item in found])
    lemmas = [
        Lemma(item.name, text, outcome.needed.get(item.name, ())) for item, text in zip(found, texts, strict=True)
    ]
    yield _proved(question, outcome.certificate, "inference", "all sizes", lemmas, tell)


def cutoff(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """A small instance that shows every violation, and is safe; or a violation of it."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.cutoff.cutoff import METHOD, Options
    from quorate.methods.cutoff.cutoff import cutoff as search
    from quorate.methods.cutoff.show import explained, small_instance

    model = _relational(question)
    try:
        short = Options(question.seconds / 15, processor=SEARCHING, longer=question.seconds, alone=False)
        outcome = search(model, question.limits, short if number == 0 else Options(question.seconds), tell)
    except (CompilerError, InstanceError) as problem:
        yield Finding(reason=f"cutoffs cannot be looked for: {problem}")
        return
    if outcome.certificate is None:
        bad = tuple(result for result in outcome.results if result.verdict == "violated")
        why = next((result.reason for result in outcome.results if result.verdict == "unknown"), "")
        hopeless = not outcome.found and not any(failed.cut_short for failed in outcome.failed)
        yield Finding(bad, reason=why, complete=hopeless)
        return
    sizes = ", ".join(f"{found.sort}={found.cutoff.size}" for found in outcome.found if found.cutoff)
    words = [*(line for found in outcome.found for line in explained(found)), *small_instance(outcome)]
    yield _proved(question, outcome.certificate, METHOD, f"all sizes, cutoff {sizes}", (), tell, words=words)


def live(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Fair runs that violate a liveness property, then rankings that exclude them."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.methods.liveness.live import Options
    from quorate.methods.liveness.live import live as search
    from quorate.methods.liveness.show import explanation

    model = _relational(question)
    each = question.seconds / len(model.liveness)
    try:
        outcome = search(model, question.limits, Options(each, question.limits.seed), tell)
    except CompilerError as problem:
        yield Finding(reason=f"liveness cannot be looked at: {problem}")
        return
    whole = question.whole or question.model
    assert isinstance(whole, RelationalModel)
    proofs = {proved.argument.property: (proved, support) for proved, support in outcome.proved}
    for result in outcome.results:
        if result.verdict == "violated":
            yield Finding((result,))
        elif result.verdict == "proved":
            proved, support = proofs[result.property]
            certificate = liveness.certify(whole, [proved])
            count = sum(len(section.obligations) for section in liveness.sections(whole, certificate))
            words = tuple(explanation(whole, proved, support).splitlines())
            reason = f"{result.reason}; certificate checked: {count} obligations, two solvers"
            yield Finding((replace(result, reason=reason),), Proof(certificate, count, words=words))
        else:
            yield Finding(suggestions=(result,))


# -- methods for Mercury programs and round-based algorithms ---------------------------------------------------------------


def phases(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Violations with few processes, then backward search over all numbers of them."""
    from quorate.logic.printing import show
    from quorate.methods.phases.verify import EVERY, METHOD
    from quorate.methods.phases.verify import verify as decide

    assert isinstance(question.model, ProcessModel)
    outcome = decide(question.model, question.seconds, tell)
    bad = tuple(
        replace(result, reason=result.reason.rpartition(", ")[2])
        for result in outcome.results
        if result.verdict == "violated"
    )
    searched = max(outcome.searched, default=0)
    established = f"no violation with up to {searched} processes" if searched else ""
    yield Finding(bad, established="" if bad else established)
    if outcome.certificate is not None:
        form = relational_form(question.model)
        needed = _needed_by(outcome.certificate, (transition.name for transition in form.transitions))
        terms = outcome.certificate.invariant_terms(form)
        lemmas = [Lemma(name, show(term), needed.get(name, ())) for name, term in terms]
        scope = f"{EVERY}, cutoff {max(outcome.cutoffs.values(), default=1)}"
        yield _proved(question, outcome.certificate, METHOD, scope, lemmas, tell, found=False)
    yield Finding(suggestions=tuple(result for result in outcome.results if result.verdict == "unknown"))


def quorums(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Proofs for every n, with lemmas that are given or found; if not of everything, of what needs the fewest of them."""
    from quorate.methods.heardof.prove import needs_univalence

    assert isinstance(question.model, RoundModel)
    found = list(_quorums(question, tell))
    yield from found
    easy = [item for item in question.model.safety if not needs_univalence(replace(question.model, safety=(item,)))]
    if easy and len(easy) < len(question.model.safety) and not any(finding.results for finding in found):
        part = question.only(item.name for item in easy)
        yield from (replace(finding, suggestions=()) for finding in _quorums(part, tell) if finding.results)


def _quorums(question: Question, tell: Tell) -> Iterator[Finding]:
    from quorate.lang.rounds.printer import show
    from quorate.methods.heardof.hunt import nobody_decides
    from quorate.methods.heardof.prove import METHOD, prove
    from quorate.models.evaluation import RoundsError

    assert isinstance(question.model, RoundModel)
    try:
        proof = prove(question.model, question.limits, tell)
        if proof.open and question.model.univalent is not None:
            other = prove(replace(question.model, univalent=None), question.limits, tell)
            proof = other if len(other.open) < len(proof.open) else proof
        if not proof.open and nobody_decides(question.model, question.limits.timeout):
            yield Finding(established="vacuously: with 2, 3 and 4 processes nobody decides in the first phases")
    except RoundsError as problem:
        yield Finding(reason=str(problem))
        return
    if proof.certificate is not None:
        names = {item.name for item in proof.proved}
        lemmas = [Lemma(name, show(formula)) for name, formula in proof.invariants if name in names]
        if proof.univalent is not None and "univalence" in names:
            lemmas.append(Lemma(f"univalent {proof.univalent[0]}", show(proof.univalent[1])))
        yield _proved(question, proof.certificate, METHOD, "every n", lemmas, tell)
    left = "; ".join(f"left open in the proof: {text}" for text in proof.left_open)
    suggestions = []
    for item in proof.open:
        why, refuted = proof.why(item)
        verdict: Verdict = "not-inductive" if refuted else "unknown"
        span = next((named.span for named in question.model.safety if named.name == item.name), None)
        suggestions.append(Result(item.name, "safety", verdict, METHOD, "every n", why, None, span))
    yield Finding(reason=left, suggestions=tuple(suggestions))


def some_processes(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """All runs with two, three, .. processes."""
    from quorate.methods.heardof.hunt import hunt
    from quorate.models.evaluation import RoundsError

    assert isinstance(question.model, RoundModel)
    patience = (0.3,) if number == 0 else (1.0, 4.0, 20.0, question.seconds)
    longer = [crowding() * seconds for seconds in patience]
    try:
        for found in hunt(question.model, question.largest, longer, tell):
            if found.violated is not None:
                yield Finding((found.violated,))
            else:
                established = f"no violation in any run with up to {found.covered} processes"
                yield Finding(established=established, complete=found.covered == question.largest)
    except RoundsError as problem:
        yield Finding(reason=str(problem), complete=True)


BOUNDED = Method(
    "bounded", "violation", "runs of bounded length at small sizes, by SAT", bounded, (1.3, 4.0, 12.0, 30.0, 60.0, HOUR)
)
INSTANCES = Method("instances", "violation", "all states of small instances", instances, (1.8, 10.0, 40.0, 120.0))
SIMULATE = Method("simulate", "violation", "random runs of larger instances", simulate, (2.0, 8.0, 40.0))
INDUCT = Method("induct", "proof", "induction with the file's own invariants", induct, (HOUR,))
INFER = Method("infer", "proof", "finding the invariants", infer, (8.0, HOUR), apart=False)
CUTOFF = Method("cutoff", "proof", "a small instance that stands for all sizes", cutoff, (30.0, HOUR), apart=False)
LIVE = Method("live", "proof", "rankings, or a fair run that starves", live, (HOUR,), kind="liveness")
PHASES = Method("phases", "proof", "backward search over all numbers of processes", phases, (HOUR,))
QUORUMS = Method("quorums", "proof", "induction over quorums, for every n", quorums, (HOUR,))
PROCESSES = Method("instances", "violation", "all runs with few processes", some_processes, (1.0, HOUR))


def methods_for(model: Model) -> tuple[Method, ...]:
    """The methods that apply to a model, in the order in which they begin; further ones join here."""
    if isinstance(model, ProcessModel):
        return (PHASES,)
    if isinstance(model, RoundModel):
        return (PROCESSES, QUORUMS)
    proofs = (INDUCT, INFER, CUTOFF) if model.invariants else (INFER, CUTOFF, INDUCT)
    safety = (BOUNDED, INSTANCES, SIMULATE, *proofs) if model.safety else ()
    return (*safety, LIVE) if model.liveness else safety
