"""A round-based algorithm for every n at once: a relational model in which sets of processes stand for numbers of them.

"More than n/2 messages" becomes "a set of more than n/2 processes, each of whose messages ...": for every bound there is a
sort of all sets of that size, and what such sets must have in common follows from the bounds by linear arithmetic
(`linear`), never from names.  A condition that fails gives such a set too: at most n/2 means that at least n - n/2 processes
do not.  The only transition is one whole phase; heard-of sets, coordinators and what is picked are its choices, and so is
whether the phase is a good one, in which `sync` holds.  So termination is a safety property: after enough good phases in a
row everybody has decided.

Every run, for any n, is a run of this model: take as quorums of a kind all sets of its size, or the set of all processes
where there are none.  So what is proved of the model holds of the algorithm.  What cannot be said is left open, never
assumed; `Translation.left_open` lists it.  This module and those it is made of (`quorum_sets`, `quorum_formulas`,
`quorum_rounds`, `linear`) are trusted like a parser; `tests/models` compares them with the plain semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.logic.terms import (
    BOOL,
    FALSE,
    TRUE,
    Arith,
    Number,
    Symbol,
    Term,
    conj,
    disj,
    equal,
    forall,
    implies,
    neg,
)
from quorate.logic.transform import fresh_name, replace_symbols
from quorate.models import rounds as r
from quorate.models.quorum_formulas import Certain, Claim, Lemma, Predicate
from quorate.models.quorum_rounds import RoundOf
from quorate.models.quorum_sets import (
    BELOW,
    DECISION,
    EMPTY,
    ME,
    NODE,
    NONE,
    OTHER,
    PHASE,
    PROPOSAL,
    REVOKED,
    SEEN,
    VALUE,
    Quorums,
    Unsaid,
)
from quorate.models.relational import Named, RelationalModel, Transition, Update
from quorate.models.rounds import Node, RoundModel


@dataclass
class Translation(Quorums):
    """Builds the relational model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known = {**self.symbols, "decision": DECISION, "decision.revoked": REVOKED, "decision.empty": EMPTY}
        """The state of a process, by name."""
        self.stages = self._stages()
        self.broken = broken_flags(self.model)
        self.claims: dict[str, Term] = {}
        self.states: list[dict[str, Term]] = []
        """What the variables of ME are after each round of the phase, as terms over the state before it."""
        self._can_go_on()

    def _can_go_on(self) -> None:
        """A phase that has begun can be brought to its end, so that a run may be cut into whole phases.

        It is enough that what `safe` says of a round holds if everybody hears everybody then, or if nobody hears anybody,
        whatever was heard before.
        """
        parts: dict[int, list[Node]] = {}
        for part in _split(self.model.safe):
            last = max((item.round for item in part.walk() if isinstance(item, r.HeardOf)), default=1)
            parts.setdefault(last, []).append(part)
        for number, said in parts.items():
            sure = any(all(Certain(self, number, heard).holds(part) for part in said) for heard in ("all", "none"))
            if number > 1 and not sure:
                raise Unsaid(f"a `safe` that may leave nothing to hear in round {number}")

    def _stages(self) -> list[Symbol]:
        """For each good phase that termination needs in a row: so many have just passed; for the last: they once have."""
        sync = self.model.sync
        if sync is None or not any(item.name == "termination" for item in self.model.safety):
            return []
        last = max([item.round for item in sync.walk() if isinstance(item, r.HeardOf)], default=1)
        count = -(-last // len(self.model.rounds))
        return [Symbol(f"sync.passed{number}", (), BOOL, True) for number in range(1, count)] + [SEEN]

    # -- one phase -------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Term]:
        """What the variables are after a phase, as terms over the state before; fills in choices and guard."""
        state: dict[str, Term] = {name: symbol(ME) for name, symbol in self.known.items()}
        self.coordinator = self.choice("coordinator", (NODE,), NODE)
        heard: list[Symbol] = []
        for item in self.model.rounds:
            hears = self.choice("hears", (NODE, NODE), BOOL)
            heard.append(hears)
            state = RoundOf(self, item, state, hears).after()
            self.states.append(state)
        self.predicate(self.model.safe, 0, heard, TRUE)
        self.good = [self.choice("good", (), BOOL)() for _ in self.stages]
        """Chosen last: the other choices have the same names whether termination is asked for or not."""
        if self.good:
            assert self.model.sync is not None
            for number, good in enumerate(self.good):
                self.predicate(self.model.sync, number, heard, good)
        return state

    def predicate(self, node: Node, phase: int, heard: Sequence[Symbol], when: Term) -> None:
        """Assume what a communication predicate says about the coordinators and about a phase, as far as it can be said."""
        size = len(self.model.rounds)
        first = phase * size
        for part in self._parts(node, when):
            mentioned = {item.round for item in part.walk() if isinstance(item, r.HeardOf)}
            if mentioned and not all(first < number <= first + size for number in mentioned):
                if any(first < number <= first + size for number in mentioned):
                    self.left_open.append("a condition on several phases at once")
                continue
            before = len(self.choices), len(self.guard)
            try:
                formula = Predicate(self, heard, first).formula(part, self.existing, True)
                self.assume(implies(when, formula))
            except Unsaid as problem:
                del self.choices[before[0] :], self.guard[before[1] :]
                self.left_open.append(str(problem))

    def _parts(self, node: Node, when: Term) -> Iterator[Node]:
        """The conjuncts of a predicate; what it says exists is chosen first."""
        self.existing: dict[str, Term] = {}
        while isinstance(node, r.Quantified) and not node.universal:
            self.existing |= {name: self.choice(name, (), NODE)() for name in node.names}
            node = node.body
        yield from _split(node)

    def transition(self) -> Transition:
        """A phase."""
        self.choices, self.guard, self.sent, self.decisions, self.states = [], [], [], [], []
        state = self.run()
        updates = [
            Update(symbol, (ME,), state[item]) for item, symbol in self.known.items() if state[item] != symbol(ME)
        ]
        updates += [Update(flag, (), disj(flag(), *self.violations(name))) for name, flag in self.broken.items()]
        updates.append(Update(PHASE, (), Arith("+", PHASE(), Number(1))))
        passed: list[Term] = []
        for number, good in enumerate(self.good):
            passed.append(conj(good, self.stages[number - 1]()) if number else good)
        updates += [Update(stage, (), value) for stage, value in zip(self.stages[:-1], passed, strict=False)]
        if passed:
            updates.append(Update(SEEN, (), disj(SEEN(), passed[-1])))
        span = self.model.rounds[0].span
        return Transition("phase", (), tuple(self.choices), conj(*self.guard), tuple(updates), span)

    def initial(self) -> list[Named]:
        found = [Named("proposals", forall((ME,), neg(equal(PROPOSAL(ME), NONE))))]
        for item in self.model.variables:
            value: Term
            match item.initial:
                case r.Proposal():
                    value = PROPOSAL(ME)
                case r.Truth(truth):
                    value = TRUE if truth else FALSE
                case r.Number(number):
                    value = Number(number)
                case _:
                    value = NONE
            found.append(
                Named(f"initial {item.name}", forall((ME,), equal(self.symbols[item.name](ME), value)), item.span)
            )
        found.append(Named("nothing is decided", forall((ME,), equal(DECISION(ME), NONE))))
        found.append(Named("nothing is revoked", forall((ME,), conj(neg(REVOKED(ME)), neg(EMPTY(ME))))))
        found.append(Named("first phase", equal(PHASE(), Number(1))))
        found.append(Named("no good phase yet", conj(*(neg(stage()) for stage in self.stages))))
        found += [Named(f"{name} is not broken", neg(flag())) for name, flag in self.broken.items()]
        return found

    def violations(self, name: str) -> list[Term]:
        """A property does not hold after a round of the phase that is not the last one."""
        found = []
        for state in self.states[:-1]:
            values = {symbol: ((ME,), state[item]) for item, symbol in self.known.items()}
            found.append(neg(replace_symbols(self.claims[name], values)))
        return found

    def properties(self) -> list[Named]:
        built_in: dict[str, Term] = {
            "agreement": forall(
                (ME, OTHER),
                conj(
                    disj(equal(DECISION(ME), NONE), equal(DECISION(OTHER), NONE), equal(DECISION(ME), DECISION(OTHER))),
                    neg(REVOKED(ME)),
                ),
            ),
            "validity": forall((ME,), neg(EMPTY(ME))),
            "irrevocability": forall((ME,), neg(REVOKED(ME))),
            "termination": implies(SEEN(), forall((ME,), neg(equal(DECISION(ME), NONE)))),
        }
        found = []
        for item in self.model.safety:
            if item.formula is None:
                formula = built_in[item.name]
            else:
                formula = self.claims[item.name] = Claim(self).formula(item.formula, {})
                if item.name in self.broken:
                    formula = conj(formula, neg(self.broken[item.name]()))
            found.append(Named(item.name, formula, item.span))
        return found

    def formula(self, node: Node, bound: Mapping[str, Term] | None = None) -> Term:
        """A property or lemma, as a formula about one state."""
        return Lemma(self).formula(node, dict(bound or {}))

    def naturals(self) -> list[Named]:
        """Times are numbers from 0 up, where the file compares them with numbers at all."""
        times = {item.name for item in self.model.variables if item.kind == "time"}
        nodes = [*self.model.nodes(), *(self.model.univalent[1].walk() if self.model.univalent else ())]
        told = any(
            any(isinstance(part, r.Number) for part in node.items)
            if isinstance(node, r.Pattern)
            else isinstance(node, r.Operation)
            and any(isinstance(side, r.Local | r.VariableOf) and side.name in times for side in node.operands)
            and any(isinstance(side, r.Number) for side in node.operands)
            for node in nodes
        )
        return [
            Named(f"{name}_natural", forall((ME,), Arith(">=", self.symbols[name](ME), Number(0))))
            for name in sorted(times)
            if told
        ]

    def univalence(self, name: str, node: Node) -> Term:
        """Whoever has decided a value, it is one that no other can follow."""
        decided = neg(equal(DECISION(ME), NONE))
        return forall((ME,), implies(decided, self.formula(node, {name: DECISION(ME)})))


def relational(
    model: RoundModel, invariants: Sequence[Callable[[Translation], Named]] = ()
) -> tuple[RelationalModel, Translation]:
    """The relational model of an algorithm, with invariants that are built once the quorums are known."""
    translation = Translation(model)
    safety = translation.properties()
    lemmas = [
        Named(item.name, translation.formula(item.formula), item.span) for item in model.invariants if item.formula
    ]
    made = [Named("univalence", translation.univalence(*model.univalent))] if model.univalent is not None else []
    made += [build(translation) for build in invariants]
    made += translation.naturals()
    made.append(Named("decisions_stay", forall((ME,), neg(REVOKED(ME)))))
    made += [Named(f"{name} within phases", neg(flag())) for name, flag in translation.broken.items()]
    for item in made:
        taken = {known.name for known in (*safety, *lemmas)}
        lemmas.append(replace(item, name=fresh_name(item.name, taken.__contains__)))
    transition = translation.transition()
    symbols: list[Symbol] = [NONE.symbol, PROPOSAL, *(BELOW,) * translation.ordered]
    symbols += translation.parameters.values()
    symbols += [kind.member for kind in translation.kinds.values()]
    symbols += [*translation.symbols.values(), DECISION, REVOKED, EMPTY, PHASE, *translation.stages]
    symbols += translation.broken.values()
    found = RelationalModel(
        name=model.name,
        language="pyv",
        sorts=(NODE, VALUE, *(kind.sort for kind in translation.kinds.values())),
        symbols=tuple(symbols),
        derived=(),
        axioms=tuple(translation.axioms()),
        initial=tuple(translation.initial()),
        transitions=(transition,),
        safety=tuple(safety),
        invariants=tuple(lemmas),
        expectations=model.expectations,
        source=model.source,
    )
    return found, translation


def broken_flags(model: RoundModel) -> dict[str, Symbol]:
    """For each property with a formula, where phases have several rounds: it did not hold in the middle of some phase.

    Whole phases are the steps of the model, but a property is about every state.  So what a phase passes through is remembered.
    """
    several = len(model.rounds) > 1
    named = [item.name for item in model.safety if item.formula is not None and several]
    return {name: Symbol(f"{name}.broken", (), BOOL, True) for name in named}


def _split(node: Node) -> Iterator[Node]:
    """Conjuncts, quantifiers moved inwards over conjunctions."""
    for part in r.conjuncts(node):
        if isinstance(part, r.Quantified) and part.universal:
            for body in _split(part.body):
                yield replace(part, body=body)
        else:
            yield part
