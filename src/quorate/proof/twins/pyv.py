"""The twin of mypyvy: two-state formulas executed by choosing the new values that they read.

The text is read declaration by declaration.  A transition's formula is made true over the state before, which is known,
and a state after in which the symbols that it modifies are open.  A derived relation is open in every state, and its
formula is made true before it is first read.  In the old dialect a bare symbol in a transition is read in the state after,
`old(e)` in the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorate.lang.diagnostics import Sink
from quorate.lang.pyv.grammar import (
    Automaton,
    Declaration,
    FormulaDeclaration,
    SortDeclaration,
    SymbolDeclaration,
    parse,
)
from quorate.lang.pyv.grammar import Definition as DefinitionDeclaration
from quorate.lang.reader import Conditional, Expression, Let, Operation, Quantifier, Reference, Shift
from quorate.models.relational import RelationalModel
from quorate.models.source import Span
from quorate.proof.twins import Move, State, TwinError
from quorate.proof.twins.choices import Choices
from quorate.proof.twins.expressions import (
    OPERATORS,
    Application,
    Call,
    Computed,
    Constant,
    Definition,
    Junction,
    Mention,
    Node,
    Run,
    World,
    effort,
)
from quorate.proof.twins.expressions import Shift as ShiftNode
from quorate.proof.twins.names import Names, Reader, Typed
from quorate.proof.twins.relational import RelationalTwin, Snapshot, all_sizes
from quorate.proof.twins.states import BOOL, INT, Function, Hole, Kind, Table, unify

NOTHING: Names = {}


def twins(model: RelationalModel) -> Iterator[PyvTwin]:
    """The small instances of a mypyvy file."""
    program = Program(model)
    for sizes in all_sizes(program.sorts):
        yield PyvTwin(model, program, sizes)


@dataclass(eq=False)
class Transition:
    definition: Definition
    modified: frozenset[Function]
    begins: int
    """The state in which its formula reads bare symbols."""


@dataclass
class _Text:
    """A definition, a transition or a named formula, with how many states it speaks of.

    `safety` stands for several formulas, each with variables of its own.
    """

    definition: Definition
    expressions: tuple[Expression, ...]
    states: int
    begins: int
    """How far behind its first state bare symbols are read."""


class Program(Reader):
    """A mypyvy file: what is declared, ready to be executed."""

    def __init__(self, model: RelationalModel) -> None:
        super().__init__()
        if model.source is None:
            raise TwinError("the model has no text")
        parsed = parse(model.source, Sink())
        if parsed is None:
            raise TwinError("the text cannot be read")
        declarations = parsed[0]
        self.old_dialect = _is_old_dialect(declarations)
        self.reading_old = False
        """Are two states spoken of in the old dialect?"""
        self.sorts = list(dict.fromkeys(d.name for d in declarations if isinstance(d, SortDeclaration)))
        self.texts: dict[str, _Text] = {}
        self.rules: dict[Function, Node] = {}
        self.axioms: list[Node] = []
        self.initial: list[Node] = []
        self.transitions: list[Transition] = []
        self.claims: dict[tuple[int, int], Node] = {}
        """The properties by where they stand."""
        self._collect(declarations)
        for declaration in declarations:
            self._execute(declaration)
        self.finish()
        self.axioms.sort(key=effort)
        self.initial.sort(key=effort)
        self.safety = [(item.name, self._claim(item.name, item.span)) for item in model.safety]

    def _claim(self, name: str, span: Span | None) -> Node:
        found = None if span is None else self.claims.get((span.start, span.end))
        if found is None:
            raise TwinError(f"the property {name} is not found in the text")
        return found

    # -- declarations ----------------------------------------------------------------------------------------------

    def _collect(self, declarations: Sequence[Declaration]) -> None:
        """Find out what names mean; their order does not matter."""
        for item in declarations:
            if isinstance(item, SymbolDeclaration):
                arguments = tuple(self.sort(name, NOTHING) for name, _ in item.arguments)
                result = BOOL if item.result is None else self.sort(item.result[0], NOTHING)
                self.functions[item.name] = Function(item.name, arguments, result, item.mutable)
        for item in declarations:
            if isinstance(item, DefinitionDeclaration):
                made = Definition(item.name, tuple(self.bind(item.parameters, NOTHING)), Hole())
                if item.transition or item.modifies is not None:
                    made.result = BOOL
                behind = int(self.old_dialect and item.states == 2 and not item.imperative)
                self.texts[item.name] = _Text(made, (item.body,), item.states, behind)
        for item in declarations:
            if isinstance(item, FormulaDeclaration) and item.label and item.label not in self.functions:
                behind = int(self.old_dialect and item.states == 2)
                text = _Text(Definition(item.label, (), BOOL), (item.formula,), item.states, behind)
                self.texts.setdefault(item.label, text)
        safety = [d.formula for d in declarations if isinstance(d, FormulaDeclaration) and d.kind == "safety"]
        self.texts["safety"] = _Text(Definition("safety", (), BOOL), tuple(safety), 1, 0)
        for text in self.texts.values():
            self._define(text)

    def _define(self, text: _Text) -> None:
        names = {parameter.name: parameter for parameter in text.definition.parameters}
        nodes = []
        self.reading_old = text.begins == 1
        for expression in text.expressions:
            node, kind = self._body(expression, names)
            unify(kind, text.definition.result, text.definition.name)
            nodes.append(node)
        self.reading_old = False
        text.definition.body = nodes[0] if len(nodes) == 1 else Junction(True, nodes)

    def _body(self, expression: Expression, names: Names) -> Typed:
        """What a definition stands for; a formula is closed over the variables that nothing introduces."""
        saved, self.closure = self.closure, {}
        node, kind = self.read(expression, names)
        binders, self.closure = list(self.closure.values()), saved
        return self.quantification(True, binders, node), kind

    def _execute(self, item: Declaration) -> None:
        match item:
            case FormulaDeclaration(kind="axiom", formula=formula):
                self.axioms.append(self.closed(formula, NOTHING))
            case FormulaDeclaration(kind="init", formula=formula):
                self.initial.append(self.closed(formula, NOTHING))
            case FormulaDeclaration(kind="safety" | "invariant", formula=formula, span=span):
                self.claims[span.start, span.end] = self.closed(formula, NOTHING)
            case Automaton(phases, span):
                cases = [Junction(True, [self.closed(d.formula, NOTHING) for d in phase]) for phase in phases]
                self.claims[span.start, span.end] = Junction(False, cases)
            case SymbolDeclaration(name=name, formula=formula, span=span) if formula is not None:
                rule = self.rules[self.functions[name]] = self.closed(formula, NOTHING)
                self.claims[span.start, span.end] = rule
            case DefinitionDeclaration(name=name, modifies=modifies, transition=True):
                modified = frozenset(self.functions[symbol] for symbol, _ in modifies or ())
                text = self.texts[name]
                self.transitions.append(Transition(text.definition, modified, text.begins))

    # -- expressions -----------------------------------------------------------------------------------------------

    def sort(self, name: str, names: Names) -> str:
        if name not in (BOOL, INT) and name not in self.sorts:
            raise TwinError(f"there is no sort {name}")
        return name

    def number(self, value: int) -> Typed:
        return Constant(value), INT

    def arithmetic(self, operator: str, left: Typed, right: Typed) -> Typed:
        unify(left[1], INT, f"an operand of {operator}")
        return Computed(OPERATORS[operator], (left[0], right[0])), INT if operator in "+-*" else BOOL

    def reference(self, expression: Reference, names: Names) -> Typed:
        name, given, primes = expression.name, expression.arguments or (), expression.primes
        if name in names:
            return Mention(names[name]), names[name].kind
        if name in self.functions:
            function = self.functions[name]
            arguments = self.arguments(expression, given, function.arguments, names)
            return Application(function, arguments, primes if function.mutable else 0), function.result
        if name in self.texts:
            return self._call(expression, self.texts[name], names)
        if self.reading_old and name == "old" and len(given) == 1:
            node, kind = self.read(given[0], names)
            return ShiftNode(-1, node), kind
        if expression.arguments is None and name.isupper():
            return self.implicit(name)
        raise TwinError(f"the name {name} is not known")

    def _call(self, expression: Reference, text: _Text, names: Names) -> Typed:
        """A definition speaks of the state in which it is mentioned; in the old dialect one of two states ends there."""
        kinds: list[Kind] = self.parameters_of(text.definition)
        arguments = self.arguments(expression, expression.arguments or (), kinds, names)
        by = expression.primes + text.begins
        if self.reading_old and text.states == 2:
            by -= 1
        return Call(text.definition, arguments, by), text.definition.result


class _TwoStates(Run):
    """A run in which derived relations get their values when they are first read."""

    def __init__(self, program: Program, twin: PyvTwin, choices: Choices, worlds: list[World]) -> None:
        super().__init__(twin.domains, choices, worlds)
        self.rules = program.rules
        self.settled: set[tuple[int, Function]] = set()

    def table(self, function: Function, primes: int) -> Table:
        if function in self.rules:
            self.derive(function, self.now + primes)
        return self.worlds[self.now + primes][function]

    def derive(self, function: Function, state: int) -> None:
        """Let the formula of a derived relation be true in a state."""
        if (state, function) in self.settled:
            return
        self.settled.add((state, function))
        saved = self.frame, self.now, self.limit
        self.frame, self.now, self.limit = {}, state, None
        self.rules[function].make(self, True)
        self.frame, self.now, self.limit = saved

    def derive_all(self, state: int) -> None:
        for function in self.rules:
            self.derive(function, state)


class PyvTwin(RelationalTwin):
    """An instance of a mypyvy file."""

    def __init__(self, model: RelationalModel, program: Program, sizes: Mapping[str, int]) -> None:
        super().__init__(model, list(program.functions.values()), sizes)
        self.program = program

    def run(self, choices: Choices, worlds: list[World]) -> _TwoStates:
        return _TwoStates(self.program, self, choices, worlds)

    def begin(self, run: Run) -> None:
        assert isinstance(run, _TwoStates)
        run.assume(self.program.axioms)
        run.assume(self.program.initial)
        run.derive_all(0)

    def step(self, state: State, choices: Choices) -> tuple[Move, Snapshot]:
        assert isinstance(state, Snapshot)
        transition = self.program.transitions[choices.choose(len(self.program.transitions))]
        before = self.world(state, choices)
        after = {
            function: self.table(function, choices) if self._is_new(function, transition) else table
            for function, table in before.items()
        }
        run = self.run(choices, [before, after])
        run.settled.update((0, function) for function in self.program.rules)
        parameters = transition.definition.parameters
        values = [run.choose(parameter.sort) for parameter in parameters]
        run.frame = dict(zip(parameters, values, strict=True))
        run.now = transition.begins
        transition.definition.body.make(run, True)
        run.derive_all(1)
        named = {parameter.name: value for parameter, value in zip(parameters, values, strict=True)}
        return Move(transition.definition.name, named), self.packed(after, state)

    def _is_new(self, function: Function, transition: Transition) -> bool:
        return function in transition.modified or function in self.program.rules

    def falsified(self, state: State) -> tuple[str, ...]:
        run = self.known(state)
        return tuple(name for name, claim in self.program.safety if not claim.value(run))


def _is_old_dialect(declarations: Sequence[Declaration]) -> bool:
    """Does the file say `old(e)` and never `new(e)` or a prime?  What was made from statements says `new` in either dialect."""
    roots: list[Expression] = []
    for item in declarations:
        match item:
            case FormulaDeclaration(formula=formula):
                roots.append(formula)
            case DefinitionDeclaration(body=body, imperative=False):
                roots.append(body)
            case SymbolDeclaration(formula=formula) if formula is not None:
                roots.append(formula)
    if any(isinstance(d, SymbolDeclaration | DefinitionDeclaration) and d.name == "old" for d in declarations):
        return False
    old = new = False
    while roots:
        match roots.pop():
            case Reference(_, name, primes, arguments):
                old = old or (name == "old" and arguments is not None)
                new = new or primes > 0
                roots += arguments or ()
            case Shift():
                new = True
            case Operation(_, _, operands):
                roots += operands
            case Quantifier(_, _, _, body):
                roots.append(body)
            case Conditional(_, condition, then, otherwise):
                roots += (condition, then, otherwise)
            case Let(_, _, value, body):
                roots += (value, body)
    return old and not new
