"""The twin of round-based algorithms: n processes do what the text says, round by round, or step by step.

A state stands between two rounds.  A step is one round: at the start of a phase every process gets a coordinator; then every
process sends, hears of some processes, and carries out the statements.  All of that is chosen, within what `safe` and `faults`
allow.  The state also remembers what the form for every n speaks of at the end of a phase (`round_form`): what was proposed,
how much of `sync` has just been kept to, and which properties did not hold in the middle of a phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from quorate.logic.structures import Structure
from quorate.models import rounds as r
from quorate.models.forms import NoForm
from quorate.models.rounds import Node, RoundModel
from quorate.proof.twins import Move, Twin, TwinError
from quorate.proof.twins.choices import Choices, Impossible
from quorate.proof.twins.round_form import FormOf
from quorate.proof.twins.round_text import Language, Message, NoSuchMessage, Process, Situation, Text, Value

INSTANCES = ((1, 1, 3), (2, 2, 2), (3, 2, 2), (4, 2, None), (3, 3, None))
"""Numbers of processes, of values proposed, and of phases looked at (None: any), in the order in which they are visited."""

Heard = tuple[frozenset[int], ...]
"""For each process; nothing if it does not matter any more."""
Kept = tuple[tuple[Message | None, ...], ...]


@dataclass(frozen=True)
class RoundState:
    """All processes between two rounds or steps.

    `phase` is that of the next round, which is number `round` of it, from 0; `coordinators` and `heard` are those of the phase so
    far, where they still matter.  `lossy` rounds and `budget` faults are left (None: without limit).
    """

    processes: tuple[Process, ...]
    proposals: tuple[int, ...]
    phase: int = 1
    round: int = 0
    shared: tuple[Value, ...] = ()
    done: tuple[int, ...] = ()
    """How many steps each process has taken."""
    coordinators: tuple[int, ...] = ()
    heard: tuple[Heard, ...] = ()
    kept: tuple[Kept, ...] = ()
    """By round of the phase, receiver and sender: the last message received."""
    lossy: int | None = None
    budget: int | None = None
    progress: frozenset[tuple[int, tuple[int, ...]]] = frozenset()
    """(k, w): the last k phases were as the first k phases of `sync` with w as what it says exists.

    In the middle of a phase: this may still come true when it is over.
    """
    seen: bool = False
    """`sync` has been kept to, to its end."""
    broken: frozenset[str] = frozenset()
    """The properties that did not hold in the middle of some phase."""


class RoundTwin(Twin):
    """An algorithm with n processes that propose some values."""

    def __init__(
        self, model: RoundModel, n: int, values: int, parameters: Mapping[str, int], last_phase: int | None = None
    ) -> None:
        if model.source is None:
            raise TwinError("the algorithm has no text")
        self.n, self.values, self.last_phase = n, values, last_phase
        self.text = Text.of(model.source)
        self.language = Language(self.text, n, parameters)
        self.rounds, self.steps = self.text.acting("round"), self.text.acting("step")
        self.variables, self.shared = self.text.variables("state"), self.text.variables("shared")
        self.claims = self.text.properties()
        self.properties = tuple(name for name, _ in self.claims)
        limit = [] if last_phase is None else [f"{last_phase} phases"]
        named = [f"{name}={value}" for name, value in parameters.items()]
        self.size = ", ".join([f"n={n}", *named, f"{values} value{'s' * (values != 1)}", *limit])
        self.predicate = list(conjuncts(self.text.one("safe")))
        self.sync = _Sync.of(self.text, n)
        joint = [*self.predicate, *(self.sync.parts if self.sync else ())]
        self.remembered = {
            (i - 1) % len(self.rounds) for part in joint if len(rounds_of(part)) > 1 for i in rounds_of(part)
        }
        """The rounds of a phase that conditions on several rounds speak of."""
        self.coordinated = any(_looks_at_coordinators(node) for node in self.text.nodes())
        self.keeps = any(isinstance(node, r.Pattern) and node.kept for node in self.text.nodes())
        self.phases = self._number(self.text.one("phases"))
        self.faults = next(iter(self.text.each("faults")), None)
        try:
            self.form: FormOf | None = FormOf(model, n, values, parameters)
        except NoForm:
            self.form = None

    def _number(self, node: Node | None) -> int | None:
        """A number that is fixed, as a whole one; less than none is none."""
        return None if node is None else max(0, int(self.language.value(node, Situation(), {})))

    # -- runs ------------------------------------------------------------------------------------------------------

    def start(self, choices: Choices) -> RoundState:
        proposals = tuple(1 + choices.choose(self.values) for _ in range(self.n))
        processes = tuple(
            Process(tuple(_initial(item.initial, proposal) for item in self.variables)) for proposal in proposals
        )
        nothing: Kept = ((None,) * self.n,) * self.n
        lossy = budget = None
        if self.faults is not None:
            budget, lossy = (self._number(part) for part in self.faults.parts)
        return RoundState(
            processes,
            proposals,
            shared=tuple(_initial(item.initial, 0) for item in self.shared),
            done=(0,) * self.n if self.steps else (),
            kept=(nothing,) * len(self.rounds) if self.keeps else (),
            lossy=lossy,
            budget=budget,
        )

    def step(self, state: object, choices: Choices) -> tuple[Move, RoundState]:
        assert isinstance(state, RoundState)
        if self.steps:
            return self._step(state, choices)
        last = self.last_phase if self.phases is None else self.phases
        if last is not None and state.phase > last:
            raise Impossible
        return self._round(state, choices)

    def _step(self, state: RoundState, choices: Choices) -> tuple[Move, RoundState]:
        """One process takes its next step."""
        able = [p for p in range(self.n) if state.done[p] < len(self.steps)]
        if not able:
            raise Impossible
        p = able[choices.choose(len(able))]
        shared = dict(zip((item.name for item in self.shared), state.shared, strict=True))
        about = Situation(me=p, own=self._own(state.processes[p]), shared=shared, choices=choices)
        process = self._execute(self.steps[state.done[p]].body, about, state.processes[p])
        after = replace(
            state,
            processes=_with(state.processes, p, process),
            shared=tuple(about.shared.values()),
            done=_with(state.done, p, state.done[p] + 1),
        )
        return Move("step", {"process": f"p{p + 1}"}), after

    def _round(self, state: RoundState, choices: Choices) -> tuple[Move, RoundState]:
        coordinators = state.coordinators
        if state.round == 0:
            coordinators = tuple(choices.choose(self.n) if self.coordinated else 0 for _ in range(self.n))
            self._require(coordinators, {}, 0)
        crashing, heard, lost = self._hearing(state, choices)
        rows = (*state.heard, heard)
        self._require(coordinators, dict(enumerate(rows, 1)), len(rows))
        begun = replace(state, coordinators=coordinators, heard=rows)
        if self.sync:
            begun = replace(begun, progress=self.sync.kept_to(self.language, begun))
        if state.round not in self.remembered:
            begun = replace(begun, heard=(*state.heard, ()))
        sent = [self._message(begun, q) for q in range(self.n)]
        received = [
            {q: message for q in sorted(heard[p]) if (message := self._arriving(begun, p, q, sent)) is not None}
            for p in range(self.n)
        ]
        kept = self._kept(state, received)
        processes = []
        for p, process in enumerate(state.processes):
            if process.crashed or p in crashing:
                processes.append(replace(process, values=(None,) * len(self.variables), crashed=True))
                continue
            mine = [message for message in kept[state.round][p] if message is not None] if kept else []
            about = replace(self._acting(begun, p, choices), received=received[p], kept=mine)
            processes.append(self._execute(self.rounds[state.round].body, about, process))
        after = replace(begun, processes=tuple(processes), kept=kept, round=state.round + 1)
        after = self._spend(after, len(crashing) + lost)
        arguments: dict[str, object] = {f"p{p + 1} hears of": _people(group) for p, group in enumerate(heard)}
        if self.coordinated:
            arguments["coordinators"] = ", ".join(f"p{c + 1}" for c in coordinators)
        if crashing:
            arguments["crashing"] = _people(crashing)
        name = f"phase {state.phase}, round {state.round + 1}"
        return Move(name, arguments), self._settled(after)

    def _settled(self, state: RoundState) -> RoundState:
        """A state after a round: the next phase begins where this was the last one."""
        if state.round < len(self.rounds):
            return replace(state, broken=state.broken | set(self._false_formulas(state)))
        whole = self.sync is not None and any(k == self.sync.count for k, _ in state.progress)
        return replace(state, phase=state.phase + 1, round=0, coordinators=(), heard=(), seen=state.seen or whole)

    def _require(self, coordinators: Sequence[int], heard: Mapping[int, Heard], number: int) -> None:
        """What `safe` says, as soon as the rounds that it speaks of are over; conditions on coordinators at the start."""
        about = Situation(coordinators=coordinators, heard=heard)
        for part in self.predicate:
            if max(rounds_of(part), default=0) == number and not self.language.value(part, about, {}):
                raise Impossible

    # -- one round of one process ------------------------------------------------------------------------------------

    def _own(self, process: Process) -> dict[str, Value]:
        return dict(zip((item.name for item in self.variables), process.values, strict=True))

    def _acting(self, state: RoundState, p: int, choices: Choices | None) -> Situation:
        return Situation(p, self._own(state.processes[p]), {}, state.phase, state.coordinators, choices=choices)

    def _message(self, state: RoundState, q: int) -> Message | None:
        """What a process sends in the round."""
        send = self.rounds[state.round].send
        if send is None or state.processes[q].crashed:
            return None
        about = self._acting(state, q, None)
        if not self.language.value(send.condition, about, {}):
            return None
        return tuple(self.language.value(item, about, {}) for item in send.items)

    def _arriving(self, state: RoundState, p: int, q: int, sent: Sequence[Message | None]) -> Message | None:
        """The message of q to p, if p hears of q."""
        send = self.rounds[state.round].send
        addressed = send is not None and (send.to == "all" or state.coordinators[q] == p)
        return sent[q] if addressed else None

    def _kept(self, state: RoundState, received: Sequence[Mapping[int, Message]]) -> tuple[Kept, ...]:
        if not self.keeps:
            return ()
        before = state.kept[state.round]
        rows = tuple(tuple(received[p].get(q, before[p][q]) for q in range(self.n)) for p in range(self.n))
        return _with(state.kept, state.round, rows)

    def _execute(self, statements: Sequence[Node], about: Situation, process: Process) -> Process:
        """The process after some statements; `about` holds its variables, which change."""
        process = self._block(statements, about, {}, process)
        return replace(process, values=tuple(about.own[item.name] for item in self.variables))

    def _block(
        self, statements: Sequence[Node], about: Situation, bound: Mapping[str, Value], process: Process
    ) -> Process:
        assert about.choices is not None
        for statement in statements:
            match statement:
                case r.If(condition, then, otherwise):
                    ways = self.language.ways(condition, about, bound)
                    if ways:
                        process = self._block(then, about, ways[about.choices.choose(len(ways))], process)
                    else:
                        process = self._block(otherwise, about, bound, process)
                case r.Assign(name, expression):
                    try:
                        value = self.language.value(expression, about, bound)
                    except NoSuchMessage:
                        continue
                    (about.shared if name in about.shared else about.own)[name] = value
                case r.Decide(expression):
                    try:
                        process = decided(process, self.language.value(expression, about, bound))
                    except NoSuchMessage:
                        continue
        return process

    # -- faults ----------------------------------------------------------------------------------------------------

    def _hearing(self, state: RoundState, choices: Choices) -> tuple[frozenset[int], Heard, int]:
        """Who crashes in the round, whom every process hears of, and how many messages are lost."""
        everyone = range(self.n)
        if self.faults is None:
            return frozenset(), tuple(_subset(everyone, choices) for _ in everyone), 0
        if self.faults.name == "crashes":
            running = [p for p in everyone if not state.processes[p].crashed]
            crashing = _subset(running, choices)
            if state.budget is not None and len(crashing) > state.budget:
                raise Impossible
            sure = frozenset(running) - crashing
            last_words = [_subset(sorted(crashing), choices) if p in sure else frozenset() for p in everyone]
            return crashing, tuple(sure | heard for heard in last_words), 0
        if state.lossy == 0:
            return frozenset(), (frozenset(everyone),) * self.n, 0
        rows = tuple(_subset([q for q in everyone if q != p], choices) | {p} for p in everyone)
        lost = sum(self.n - len(row) for row in rows)
        if state.budget is not None and lost > state.budget:
            raise Impossible
        return frozenset(), rows, lost

    def _spend(self, state: RoundState, faults: int) -> RoundState:
        """What is left of the faults after a round with so many of them."""
        lossy = None if state.lossy is None else max(0, state.lossy - 1)
        budget = None if state.budget is None else state.budget - faults
        if lossy == 0 and self.faults is not None and self.faults.name == "omissions":
            budget = 0
        return replace(state, lossy=lossy, budget=budget)

    # -- properties ------------------------------------------------------------------------------------------------

    def falsified(self, state: object) -> tuple[str, ...]:
        assert isinstance(state, RoundState)
        wrong = set(self._false_formulas(state))
        return tuple(
            name
            for name, formula in self.claims
            if (name in wrong if formula is not None else not self._built_in(name, state))
        )

    def _false_formulas(self, state: RoundState) -> Iterator[str]:
        shared = dict(zip((item.name for item in self.shared), state.shared, strict=True))
        about = Situation(shared=shared, phase=state.phase, processes=state.processes)
        for name, formula in self.claims:
            if formula is not None and not self.language.value(formula, about, {}):
                yield name

    def _built_in(self, name: str, state: RoundState) -> bool:
        processes = state.processes
        revoked = any(process.revoked for process in processes)
        match name:
            case "agreement":
                return len({process.decision for process in processes} - {None}) <= 1 and not revoked
            case "irrevocability":
                return not revoked
            case "validity":
                return not any(process.empty for process in processes)
            case "termination":
                over = state.phase > self.phases if self.phases is not None else state.seen
                return not over or all(process.crashed or process.decision is not None for process in processes)
        raise AssertionError(name)

    # -- showing ---------------------------------------------------------------------------------------------------

    def structure(self, state: object) -> Structure | None:
        assert isinstance(state, RoundState)
        if self.form is None or state.round:
            return None
        columns = {
            item.name: [process.values[i] for process in state.processes] for i, item in enumerate(self.variables)
        }
        return self.form.structure(
            columns,
            state.processes,
            state.proposals,
            state.phase,
            passed={k for k, _ in state.progress},
            seen=state.seen,
            broken=state.broken,
        )

    def show(self, state: object) -> str:
        assert isinstance(state, RoundState)
        lines = [f"phase {state.phase}, before round {state.round + 1}"] if self.rounds else []
        for item, value in zip(self.shared, state.shared, strict=True):
            lines.append(f"{item.name} = {_shown(value)}")
        for p, process in enumerate(state.processes):
            parts = [f"{item.name} = {_shown(v)}" for item, v in zip(self.variables, process.values, strict=True)]
            parts.append(f"decision = {_shown(process.decision)}")
            parts += ["decided otherwise before"] * process.revoked + ["decided ?"] * process.empty
            lines.append(f"p{p + 1}: {'crashed' if process.crashed else ', '.join(parts)}")
        return "\n".join(lines)


def twins(model: RoundModel) -> Iterator[Twin]:
    """Small instances, each for all values of the parameters up to n."""
    for n, values, last in INSTANCES:
        for parameters in settings(model, n):
            yield RoundTwin(model, n, values, parameters, last)


def settings(model: RoundModel, n: int) -> Iterator[dict[str, int]]:
    """The values of the parameters that the text allows for n processes, each up to n."""
    if model.source is None:
        raise TwinError("the algorithm has no text")
    text = Text.of(model.source)
    declared = text.each("parameter")
    for values in product(range(n + 1), repeat=len(declared)):
        parameters = dict(zip((item.name for item in declared), values, strict=True))
        language = Language(text, n, parameters)
        if all(language.value(item.parts[1] or r.Truth(True), Situation(), {}) for item in declared):
            yield parameters


# -- predicates ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sync:
    """`sync` for `count` phases in a row, taken apart into conditions, each about one of these phases or about coordinators."""

    names: tuple[str, ...]
    """What it says exists."""
    parts: tuple[Node, ...]
    size: int
    count: int
    n: int

    @staticmethod
    def of(text: Text, n: int) -> _Sync | None:
        """None if there is no termination to be shown, or if a condition ties phases together."""
        node = text.one("sync")
        if node is None or not any(name == "termination" and formula is None for name, formula in text.properties()):
            return None
        names: tuple[str, ...] = ()
        while isinstance(node, r.Quantified) and not node.universal:
            names, node = (*names, *node.names), node.body
        size = len(text.acting("round"))
        parts = tuple(conjuncts(node))
        rounds = [number for part in parts for number in rounds_of(part)]
        if any(len({(number - 1) // size for number in rounds_of(part)}) > 1 for part in parts):
            return None
        return _Sync(names, parts, size, -(-max(rounds, default=1) // size), n)

    def kept_to(self, language: Language, state: RoundState) -> frozenset[tuple[int, tuple[int, ...]]]:
        """How far `sync` has been kept to, or may be when the phase is over; the last row of `heard` is new."""
        options = set(state.progress)
        if len(state.heard) == 1:
            everybody = product(range(self.n), repeat=len(self.names))
            options = {(1, witness) for witness in everybody}
            options |= {(k + 1, witness) for k, witness in state.progress if k < self.count}
        return frozenset(item for item in options if self._holds(language, state, *item))

    def _holds(self, language: Language, state: RoundState, k: int, witness: tuple[int, ...]) -> bool:
        """Was the round that is over as in the k-th phase of `sync`?  In the first round, the coordinators too."""
        first = (k - 1) * self.size
        number = first + len(state.heard)
        about = Situation(coordinators=state.coordinators, heard=dict(enumerate(state.heard, first + 1)))
        bound = dict(zip(self.names, witness, strict=True))
        due = {number, 0} if len(state.heard) == 1 else {number}
        return all(language.value(part, about, bound) for part in self.parts if max(rounds_of(part), default=0) in due)


def conjuncts(node: Node | None) -> Iterator[Node]:
    """The conditions that a predicate consists of, those below `forall` one by one."""
    match node:
        case None:
            return
        case r.Operation("and", operands):
            for operand in operands:
                yield from conjuncts(operand)
        case r.Quantified(True, names, body):
            for part in conjuncts(body):
                yield r.Quantified(True, names, part)
        case _:
            yield node


def rounds_of(node: Node) -> set[int]:
    return {item.round for item in node.walk() if isinstance(item, r.HeardOf)}


def _looks_at_coordinators(node: Node) -> bool:
    return (
        isinstance(node, r.Coordinator)
        or (isinstance(node, r.Send) and node.to == "coordinator")
        or (isinstance(node, r.Received) and node.from_coordinator)
    )


# -- small things ----------------------------------------------------------------------------------------------------------


def decided(process: Process, value: Value) -> Process:
    """A process after a decision."""
    if value is None:
        return replace(process, empty=True)
    if process.decision is None:
        return replace(process, decision=value)
    return replace(process, revoked=process.revoked or value != process.decision)


def _initial(node: Node, proposal: int) -> Value:
    match node:
        case r.Proposal():
            return proposal
        case r.Operation("singleton"):
            return frozenset([proposal])
        case r.Truth(value) | r.Number(value):
            return value
    return None


def _subset(members: Sequence[int], choices: Choices) -> frozenset[int]:
    """Any of them."""
    return frozenset(q for q in members if choices.choose(2) == 0)


def _with(row: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*row[:place], value, *row[place + 1 :])


def _people(group: frozenset[int]) -> str:
    return "{" + ", ".join(f"p{p + 1}" for p in sorted(group)) + "}"


def _shown(value: Value) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool):
        return str(value).lower()
    return "{" + ", ".join(map(str, sorted(value))) + "}" if isinstance(value, frozenset) else str(value)
