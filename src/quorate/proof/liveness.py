"""Liveness as safety: what has to hold in every reachable state for a liveness property to be true.

A proof is a list of stages.  Suppose that a fair run violates `trigger(V) ~> goal(V)`.  It cannot end (`no deadlock`), so it
is infinite, and from some moment on it stays in Φ = trigger ∧ ¬goal (`stays`; or in what a monitor remembers, see
`monitored`).  Each stage says something more about the states and steps that go on forever; E are the steps that may:

    rank φ(x)      no step of E makes φ true of an x of which it was false.  So the set {x : φ(x)} only shrinks, and, being
                   finite, shrinks finitely often: from now on, E has only steps that keep φ true of every x.
    rank φ(x) along <      where a step of E makes φ true of an x, it makes it false of some y < x.  This is the order of finite
                   multisets (Dershowitz and Manna), in which nothing goes down forever: from now on, the set stays as it is.
                   If the sort of x is not finite, x has to come from a set that is, or to go down in the order of its sort.
    fair f c(X)    no step of E makes c(X) false, and none is what the assumption f waits for, where c(X) holds.  Weak f:
                   where c(X) holds, f is enabled; so c(X) can never hold, else f would be enabled forever without ever
                   happening.  Strong f: where c(X) holds, f is enabled finitely often only; so from now on it never is,
                   for any of the finitely many X.

At the end no step is left (`ends`).  This contradicts that the run is infinite.  It is lexicographic ranking with implicit
rankings (Lotan and Shoham, arXiv 2412.13996) and the rule of helpful transitions (Manna and Pnueli), stage by stage; in
the terms of the thesis on LVR, a stage is a tier.  Every goal is a closed formula about one state, so the rest is a proof of
safety.  Fairness has its plain meaning: nothing bounds how long a run may wait.  What is finite is not believed: `readings` says
how sorts are read, and `counting` which sets are finite then; a stage that counts anything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from quorate.files import write_atomically
from quorate.logic import sexpr
from quorate.logic.terms import (
    BOOL,
    INT,
    And,
    Forall,
    Sort,
    Symbol,
    Term,
    Var,
    conj,
    disj,
    equal,
    exists,
    forall,
    implies,
    neg,
)
from quorate.logic.transform import Lambda, fresh_name, fresh_variables, substitute, symbols_of
from quorate.models.relational import Fairness, Liveness, Named, RelationalModel, Transition, Update
from quorate.models.temporal import (
    StepFormula,
    TemporalError,
    all_fairness,
    can_step,
    enabled,
    happens_by_step,
    happens_in_state,
    pending,
    renamed,
    step,
)
from quorate.proof import certificates, checker
from quorate.proof.certificates import MALFORMED, Certificate, CertificateError, as_count, as_list, as_text
from quorate.proof.counting import Counting
from quorate.proof.readings import contradiction, readings
from quorate.proof.wellformed import require_wellformed

FORMAT = "quorate-liveness-certificate"
VERSION = 4


@dataclass(frozen=True)
class Stage:
    """One step of the argument; the formula is over `variables` and the variables of the property.

    The variables of a fair stage stand for those of the assumption named `fairness`.  A rank along an order has one variable,
    and `order` says of two elements, without looking at the state, that the first comes before the second.
    """

    kind: Literal["rank", "fair"]
    variables: tuple[Var, ...]
    formula: Term
    fairness: str | None = None
    order: Lambda | None = None

    def before(self, first: Term, second: Term) -> Term:
        """The first element comes before the second in the order of the stage."""
        assert self.order is not None
        variables, formula = self.order
        return substitute(formula, dict(zip(variables, (first, second), strict=True)))


@dataclass(frozen=True)
class Goal:
    """`hypotheses` imply `conclusion`, for all values of the variables, in every reachable state."""

    name: str
    variables: tuple[Var, ...]
    hypotheses: tuple[Term, ...]
    conclusion: Term

    @property
    def formula(self) -> Term:
        return forall(self.variables, implies(conj(*self.hypotheses), self.conclusion))


@dataclass(frozen=True)
class Argument:
    """The property, whether a monitor remembers its trigger, and the stages."""

    property: str
    monitored: bool
    stages: tuple[Stage, ...]


def monitored(model: RelationalModel, item: Liveness) -> tuple[RelationalModel, Liveness]:
    """The protocol with a relation that holds from a trigger on until the goal, and the property with it as trigger.

    The relation watches and changes nothing else, so both have the same runs, and the properties mean the same.
    """
    taken = {symbol.name for symbol in model.symbols} | {choice.name for t in model.transitions for choice in t.choices}
    taken |= {element for sort in model.sorts for element in sort.elements}
    symbol = Symbol(
        fresh_name(f"waits_{item.name}", taken.__contains__), [v.sort for v in item.variables], BOOL, mutable=True
    )
    waits = symbol(*item.variables)
    begins = Named(f"{symbol.name} at first", forall(item.variables, equal(waits, pending(item))))
    transitions = tuple(_watching(model, transition, symbol, item) for transition in model.transitions)
    watched = replace(
        model, symbols=(*model.symbols, symbol), initial=(*model.initial, begins), transitions=transitions
    )
    return watched, replace(item, trigger=waits)


def _watching(model: RelationalModel, transition: Transition, symbol: Symbol, item: Liveness) -> Transition:
    places = fresh_variables(item.variables, transition.parameters)
    values = dict(zip(item.variables, places, strict=True))
    trigger, goal = (transition.after(substitute(model.expand(term), values)) for term in (item.trigger, item.goal))
    value = conj(neg(goal), disj(symbol(*places), trigger))
    return replace(transition, updates=(*transition.updates, Update(symbol, tuple(places), value)))


def reduced(model: RelationalModel, argument: Argument) -> tuple[RelationalModel, tuple[Goal, ...]]:
    """The protocol, perhaps monitored, and all that has to hold in its reachable states; raises `CertificateError`."""
    item = next((item for item in model.liveness if item.name == argument.property), None)
    if item is None:
        raise CertificateError(f"there is no liveness property {argument.property}")
    if any(derived.definition is None for derived in model.derived):
        raise CertificateError("a derived symbol has no explicit definition")
    counting = Counting(readings(model))
    wrong = contradiction(model) if _counted(model, item, argument, counting) else None
    if wrong is not None:
        raise CertificateError(wrong)
    if argument.monitored:
        model, item = monitored(model, item)
    try:
        return model, tuple(_Reduction(model, item, argument.stages, counting).goals(argument.monitored))
    except TemporalError as problem:
        raise CertificateError(str(problem)) from None


class _Reduction:
    def __init__(self, model: RelationalModel, item: Liveness, stages: Sequence[Stage], counting: Counting) -> None:
        self.model, self.item, self.stages, self.counting = model, item, stages, counting
        self.fairness = {fairness.name: fairness for fairness in all_fairness(model, item)}
        self.check_stages()
        avoid = [*item.variables, *(variable for stage in stages for variable in stage.variables)]
        self.steps = [step(transition, avoid) for transition in model.transitions]

    def check_stages(self) -> None:
        own = set(self.item.variables)
        names = {variable.name for variable in own}
        for number, stage in enumerate(self.stages, 1):
            fairness_is_strong = False
            if stage.kind == "fair":
                fairness = self.fairness.get(stage.fairness or "")
                fairness_is_strong = fairness is not None and fairness.strong
                if fairness is None or [v.sort for v in stage.variables] != [v.sort for v in fairness.variables]:
                    raise CertificateError(f"stage {number} is not about an assumption of this property")
            if len({v.name for v in stage.variables}) != len(stage.variables):
                raise CertificateError(f"stage {number} has two variables of the same name")
            if names & {variable.name for variable in stage.variables}:
                raise CertificateError(f"stage {number} uses a variable of the property for something else")
            symbols = symbols_of(stage.formula)
            if stage.formula.sort is not BOOL:
                raise CertificateError(f"stage {number} is not a formula")
            if not stage.formula.free <= own | set(stage.variables) or any(symbol.primes for symbol in symbols):
                raise CertificateError(f"stage {number} is not about one state and its variables")
            if stage.order is not None:
                self.check_order(number, stage, stage.order)
            wrong = miscounted(self.model, stage, fairness_is_strong, self.counting)
            if wrong is not None:
                raise CertificateError(f"stage {number} {wrong}")

    def check_order(self, number: int, stage: Stage, order: Lambda) -> None:
        variables, formula = order
        if stage.kind != "rank" or len(stage.variables) != 1:
            raise CertificateError(f"stage {number} has an order, but is not a rank of one variable")
        if [v.sort for v in variables] != [stage.variables[0].sort] * 2 or len({v.name for v in variables}) != 2:
            raise CertificateError(f"the order of stage {number} is not about two elements of its sort")
        if formula.sort is not BOOL or not formula.free <= set(variables):
            raise CertificateError(f"the order of stage {number} is not a formula about two elements")
        if any(symbol.mutable or symbol.primes for symbol in symbols_of(self.model.expand(formula))):
            raise CertificateError(f"the order of stage {number} is not the same in all states")
        sort = stage.variables[0].sort
        if not self.counting.is_finite(sort) and (sort is INT or self.counting.readings[sort].kind != "ordered"):
            raise CertificateError(f"stage {number} goes along an order of {sort}, in which it may go on forever")

    def goals(self, is_monitored: bool) -> Iterator[Goal]:
        item, model = self.item, self.model
        own = item.variables
        waiting = pending(item)
        for sort in _counted(model, item, Argument(item.name, is_monitored, tuple(self.stages)), self.counting):
            for name, formula in self.counting.readings[sort].goals(sort):
                yield Goal(name, (), (), formula)
        yield Goal("no deadlock", own, (waiting,), can_step(model, own))
        if not is_monitored:
            for made in self.steps:
                later = disj(made.after(model, item.trigger), made.after(model, item.goal))
                yield from _goal(f"{made.transition.name} stays", (*own, *made.variables), (waiting, made.guard), later)
        states: list[Term] = [waiting]
        shrunk: list[Stage] = []
        for number, stage in enumerate(self.stages, 1):
            title = f"stage {number}"
            if stage.kind == "fair":
                yield from self.fair_goals(title, stage, states, shrunk)
                states.append(forall(stage.variables, neg(self.excluded(stage))))
                continue
            if stage.order is not None:
                yield _is_order(f"{title}: order", stage)
                if not self.counting.is_steady(stage.variables[0], model.expand(stage.formula)):
                    yield self.goes_down(f"{title}: order goes down", stage)
            for made in self.steps:
                after = made.after(model, stage.formula)
                hypotheses = (*self.edge(made, states, shrunk), after)
                variables = (*own, *made.variables, *stage.variables)
                kept = stage.formula if stage.order is None else disj(stage.formula, self.lost_before(made, stage))
                yield from _goal(f"{title}: {made.transition.name}", variables, hypotheses, kept)
            shrunk.append(stage)
        for made in self.steps:
            yield from _goal(
                f"{made.transition.name} ends", (*own, *made.variables), self.edge(made, states, shrunk), disj()
            )

    def edge(self, made: StepFormula, states: Sequence[Term], shrunk: Sequence[Stage]) -> list[Term]:
        """A step between states that may go on forever, which shrinks none of the sets any more."""
        found = [*states, made.guard, *(made.after(self.model, formula) for formula in states)]
        for stage in shrunk:
            after = made.after(self.model, stage.formula)
            if after is not self.model.expand(stage.formula):
                found.append(forall(stage.variables, implies(stage.formula, after)))
        return found

    def lost_before(self, made: StepFormula, stage: Stage) -> Term:
        """The step makes the formula of a rank along an order false of something that comes before its variable."""
        (variable,) = stage.variables
        (earlier,) = fresh_variables([variable], [*stage.formula.free, *self.item.variables, *made.variables])
        holds = substitute(stage.formula, {variable: earlier})
        return exists((earlier,), conj(stage.before(earlier, variable), holds, neg(made.after(self.model, holds))))

    def goes_down(self, name: str, stage: Stage) -> Goal:
        """What comes later in the order of the stage is lower in the order of the sort."""
        variables = tuple(Var(name, stage.variables[0].sort) for name in "XY")
        earlier, later = variables
        order = self.counting.readings[earlier.sort].orders[0]
        return Goal(name, variables, (stage.before(earlier, later),), order.below(later, earlier))

    def assumption(self, stage: Stage) -> Fairness:
        return renamed(self.fairness[stage.fairness or ""], stage.variables)

    def excluded(self, stage: Stage) -> Term:
        """Where the run can no longer be."""
        fairness = self.assumption(stage)
        return conj(stage.formula, enabled(self.model, fairness)) if fairness.strong else stage.formula

    def fair_goals(self, title: str, stage: Stage, states: Sequence[Term], shrunk: Sequence[Stage]) -> Iterator[Goal]:
        fairness = self.assumption(stage)
        variables = (*self.item.variables, *stage.variables)
        due = neg(happens_in_state(fairness))
        if not fairness.strong:
            due = conj(enabled(self.model, fairness), due)
        yield from _goal(f"{title}: {fairness.name} is due", variables, (*states, stage.formula), due)
        for made in self.steps:
            kept = conj(made.after(self.model, stage.formula), neg(happens_by_step(fairness, made)))
            hypotheses = (*self.edge(made, states, shrunk), stage.formula)
            yield from _goal(f"{title}: {made.transition.name}", (*variables, *made.variables), hypotheses, kept)


def _goal(name: str, variables: tuple[Var, ...], hypotheses: Sequence[Term], conclusion: Term) -> Iterator[Goal]:
    """The goal, unless it is one of its own hypotheses."""
    parts = conclusion.args if isinstance(conclusion, And) else (conclusion,)
    if not all(part in hypotheses for part in parts):
        yield Goal(name, variables, tuple(hypotheses), conclusion)


def _is_order(name: str, stage: Stage) -> Goal:
    """What the stage takes for an order is irreflexive and transitive."""
    variables = tuple(Var(name, stage.variables[0].sort) for name in "XYZ")
    x, y, z = variables
    steps = conj(stage.before(x, y), stage.before(y, z))
    return Goal(name, variables, (), conj(neg(stage.before(x, x)), implies(steps, stage.before(x, z))))


def miscounted(model: RelationalModel, stage: Stage, strong: bool, counting: Counting) -> str | None:
    """What a stage counts that need not be finite, in words, for a stage of strong fairness or a rank."""
    formula = model.expand(stage.formula)
    if stage.kind == "rank":
        listed = counting.unbounded(stage.variables, formula)
    else:
        listed = counting.unsteady(stage.variables, formula) if strong else []
    if not listed:
        return None
    sort = listed[0].sort
    if sort is INT:
        return "counts integers, of which there are infinitely many"
    reading = counting.readings[sort]
    if reading.kind == "open":
        return f"counts elements of {sort}, which need not be finitely many: {reading.reason}"
    fixed = "what lies below one that does not change" if stage.kind == "fair" else "what lies below one"
    return f"counts all elements of {sort}, which is ordered, so that only {fixed} is finite"


def _counted(model: RelationalModel, item: Liveness, argument: Argument, counting: Counting) -> list[Sort]:
    """The sorts of which the argument uses that they, or what lies below their elements, are finite."""
    strong = {fairness.name for fairness in all_fairness(model, item) if fairness.strong}
    found: dict[Sort, None] = {}
    for stage in argument.stages:
        if stage.kind == "rank" or stage.fairness in strong:
            found |= dict.fromkeys(counting.used(stage.variables, model.expand(stage.formula)))
            if stage.order is not None:
                found |= {variable.sort: None for variable in stage.variables if variable.sort.uninterpreted}
    return list(found)


def assumptions(model: RelationalModel, argument: Argument) -> list[str]:
    """What the argument takes to be finite: sorts, of whatever size, or what lies below each element of an ordered sort."""
    item = next(item for item in model.liveness if item.name == argument.property)
    counting = Counting(readings(model))
    found = []
    for sort in _counted(model, item, argument, counting):
        reading = counting.readings[sort]
        side = "below" if reading.kind == "finite" or reading.orders[0].rising else "above"
        found.append(f"{sort} is finite" if reading.kind == "finite" else f"{side} each {sort} there are finitely many")
    return found


# -- certificates ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proved:
    """An argument, claims that its goals follow from, and the proof that these hold in every reachable state."""

    argument: Argument
    claims: tuple[Named, ...]
    proof: Certificate | None


@dataclass(frozen=True)
class LivenessCertificate:
    """The claim that liveness properties hold in every fair run, if the sorts are as they are read."""

    protocol: str
    sha256: str
    proved: tuple[Proved, ...]


def certify(model: RelationalModel, proved: Sequence[Proved]) -> LivenessCertificate:
    """The certificate of some liveness properties of a model."""
    assert model.source is not None
    return LivenessCertificate(Path(model.source.path).name, model.source.sha256, tuple(proved))


def write(model: RelationalModel, certificate: LivenessCertificate) -> str:
    """The certificate as JSON text; the formula of a stage is closed over the property's variables and its own."""
    own = {item.name: item.variables for item in model.liveness}
    properties = []
    for item in certificate.proved:
        variables = own[item.argument.property]
        stages = [
            {
                "kind": stage.kind,
                "variables": len(stage.variables),
                "formula": sexpr.write(_closed((*variables, *stage.variables), stage.formula)),
                "fairness": stage.fairness,
                "order": sexpr.write(Forall(*stage.order)) if stage.order is not None else None,
            }
            for stage in item.argument.stages
        ]
        properties.append(
            {
                "property": item.argument.property,
                "monitored": item.argument.monitored,
                "stages": stages,
                "claims": [{"name": claim.name, "formula": sexpr.write(claim.formula)} for claim in item.claims],
                "proof": item.proof.to_json() if item.proof is not None else None,
            }
        )
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "protocol": certificate.protocol,
        "sha256": certificate.sha256,
        "verdict": "proved",
        "properties": properties,
    }
    return json.dumps({**body, "digest": certificates.digest(body)}, indent=1) + "\n"


def _closed(variables: tuple[Var, ...], formula: Term) -> Term:
    return Forall(variables, formula) if variables else formula


def save(path: str | Path, model: RelationalModel, certificate: LivenessCertificate) -> None:
    """Write beside the target, then rename: no half-written file is left behind."""
    write_atomically(path, write(model, certificate))


def is_certificate(document: Any) -> bool:
    """Is this parsed JSON of this kind?"""
    return isinstance(document, dict) and document.get("format") == FORMAT


def read(model: RelationalModel, document: Any) -> LivenessCertificate:
    """A certificate from parsed JSON; every field is checked, and the digest must match."""
    if not is_certificate(document):
        raise CertificateError("this is not a certificate of liveness")
    body = {key: value for key, value in document.items() if key != "digest"}
    expected = {"format", "version", "protocol", "sha256", "verdict", "properties"}
    if body.get("version") != VERSION:
        raise CertificateError(
            f"the certificate has version {body.get('version')!r}, not {VERSION}; prove the property again"
        )
    if set(body) != expected or body["verdict"] != "proved":
        raise CertificateError("the certificate has unknown or missing fields")
    certificates.require_digest(document, body)
    if model.source is None or body["sha256"] != model.source.sha256:
        raise CertificateError("the certificate belongs to another version of the protocol text (sha256 differs)")
    try:
        proved = tuple(_read_proved(model, item) for item in as_list(body["properties"]))
    except MALFORMED:
        raise CertificateError("the certificate is malformed") from None
    if not proved or len({item.argument.property for item in proved}) != len(proved):
        raise CertificateError("the certificate does not speak of properties, of each once")
    return LivenessCertificate(str(body["protocol"]), body["sha256"], proved)


def _read_proved(model: RelationalModel, document: Any) -> Proved:
    if set(document) != {"property", "monitored", "stages", "claims", "proof"}:
        raise KeyError
    item = next((item for item in model.liveness if item.name == document["property"]), None)
    if item is None:
        raise CertificateError("the certificate speaks of a liveness property that the protocol does not have")
    if not isinstance(document["monitored"], bool):
        raise TypeError
    base = monitored(model, item)[0] if document["monitored"] else model
    stages = tuple(_read_stage(base, item, stage) for stage in as_list(document["stages"]))
    claims = tuple(
        Named(as_text(claim["name"]), sexpr.read(claim["formula"], base.sorts, base.symbols))
        for claim in as_list(document["claims"])
    )
    proof = certificates.from_json(document["proof"]) if document["proof"] is not None else None
    return Proved(Argument(item.name, document["monitored"], stages), claims, proof)


def _read_stage(model: RelationalModel, item: Liveness, document: Any) -> Stage:
    expected = {"kind", "variables", "formula", "fairness", "order"}
    if set(document) != expected or document["kind"] not in ("rank", "fair"):
        raise KeyError
    formula = sexpr.read(document["formula"], model.sorts, model.symbols)
    own, count = item.variables, as_count(document["variables"])
    variables: tuple[Var, ...] = ()
    if own or count:
        if not isinstance(formula, Forall) or formula.variables[: len(own)] != own:
            raise CertificateError("a stage is not about the variables of its property")
        variables, formula = formula.variables[len(own) :], formula.body
    if len(variables) != count:
        raise CertificateError("a stage does not have as many variables as it says")
    fairness = None if document["fairness"] is None else as_text(document["fairness"])
    return Stage(document["kind"], variables, formula, fairness, _read_order(model, document["order"]))


def _read_order(model: RelationalModel, text: str | None) -> Lambda | None:
    if text is None:
        return None
    order = sexpr.read(text, model.sorts, model.symbols)
    if not isinstance(order, Forall):
        raise CertificateError("the order of a stage is not about two elements")
    return order.variables, order.body


def sections(model: RelationalModel, certificate: LivenessCertificate) -> list[checker.Section]:
    """Everything that has to hold for the certificate to be right."""
    require_wellformed(model)
    found: list[checker.Section] = []
    for item in certificate.proved:
        base, goals = reduced(model, item.argument)
        known: list[Named] = []
        if item.claims:
            if item.proof is None:
                raise CertificateError("the claims have no proof")
            for claim in item.claims:
                if claim.formula.free or any(symbol.primes for symbol in symbols_of(claim.formula)):
                    raise CertificateError(f"{claim.name} is not a closed formula about one state")
                if claim.formula.sort is not BOOL:
                    raise CertificateError(f"{claim.name} is not a formula")
            if set(item.proof.safety) != {claim.name for claim in item.claims}:
                raise CertificateError("the proof does not speak of exactly the claims")
            if item.proof.cutoffs:
                raise CertificateError(
                    "the claims are shown for a small instance only: invariants of it do not hold for all"
                )
            claimed = replace(base, safety=item.claims, invariants=())
            found += checker.sections(claimed, item.proof)
            invariants = [Named(name, formula) for name, formula in item.proof.invariant_terms(base)]
            known = [*invariants, *(claim for claim in item.claims if claim.name not in {i.name for i in invariants})]
        obligations = tuple(
            checker.Obligation(f"{item.argument.property}: {goal.name}", neg(goal.formula), None) for goal in goals
        )
        found.append(checker.Section((*base.background(), *known), obligations))
    return found
