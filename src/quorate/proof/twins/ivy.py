"""The twin of Ivy: actions executed from their text.

A step is a call of an exported action by the environment.  An assertion that depends on the state before the action alone is a
property of that state, as in the model: it is false where some call makes it fail.  Where the model has a step that raises
a flag instead, a failing assertion is such a step here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from math import prod

from quorate.logic.terms import Symbol
from quorate.models.relational import RelationalModel
from quorate.proof.twins import Move, State, TwinError
from quorate.proof.twins.choices import Choices, Impossible, every
from quorate.proof.twins.expressions import OPERATORS, Node, Run, World, effort
from quorate.proof.twins.ivy_code import Action, CodeRun, Condition, Failure, Path, assertions
from quorate.proof.twins.ivy_program import Program
from quorate.proof.twins.ivy_text import wrapped
from quorate.proof.twins.relational import RelationalTwin, Snapshot, all_sizes
from quorate.proof.twins.states import INT, Arguments, Function, Value

MAX_STRUCTS = 8
"""How many elements a struct has at most, if all combinations of its fields would be more."""


def twins(model: RelationalModel) -> Iterator[IvyTwin]:
    """The small instances of an Ivy file."""
    if model.source is None:
        raise TwinError("the model has no text")
    program = Program(model.source)
    claims = Claims(model, program)
    structs = {field.sorts[0]: fields for field, fields in program.fields.items()}
    for sizes in all_sizes([sort for sort in program.sorts.open if sort not in structs]):
        yield IvyTwin(model, program, claims, _with_structs({**sizes, **program.sorts.sizes}, structs))


def _with_structs(sizes: dict[str, int], structs: Mapping[str, list[Function]]) -> dict[str, int]:
    """Sizes for the structs too: as many as there are combinations of their fields."""
    while missing := [sort for sort in structs if sort not in sizes]:
        ready = [sort for sort in missing if all(_is_sized(field, sizes) for field in structs[sort])]
        for sort in ready:
            sizes[sort] = min(prod(_combinations(field, sizes) for field in structs[sort]), MAX_STRUCTS)
        if not ready:
            sizes.update(dict.fromkeys(missing, 2))
    return sizes


def _is_sized(field: Function, sizes: Mapping[str, int]) -> bool:
    return all(sort in sizes or sort in ("bool", "int") for sort in (*field.sorts[1:], str(field.result)))


def _combinations(field: Function, sizes: Mapping[str, int]) -> int:
    results = {"bool": 2, "int": MAX_STRUCTS, **sizes}[str(field.result)]
    return min(int(results ** prod(sizes[sort] for sort in field.sorts[1:])), MAX_STRUCTS)


class Claims:
    """The properties of a model, as the text states them."""

    def __init__(self, model: RelationalModel, program: Program) -> None:
        self.model = model
        self.formulas: list[tuple[str, Node]] = []
        self.assertions: dict[tuple[Action, Path], str] = {}
        """What the model calls an assertion: the name of a property, or of a step that raises the flag."""
        self.flags: set[str] = set()
        self.failure: tuple[str, str] | None = None
        """The flag that is raised where an assertion fails, and the property that it is not."""
        names = {*program.functions, *program.definitions}
        stated = [formula for formula in program.formulas if is_claim(formula.kind, program.changes(formula.touched))]
        at: dict[tuple[int, int], list[Node]] = {}
        for formula in stated:
            span = formula.declaration.span
            at.setdefault((span.start, span.end), []).append(formula.node)
        pool: dict[tuple[int, int], list[str]] = {}
        for item in model.safety:
            if item.span is None:
                flag = next(s.name for s in reversed(model.symbols) if s.mutable and s.name not in names)
                self.failure = flag, item.name
                continue
            where = item.span.start, item.span.end
            if at.get(where):
                self.formulas.append((item.name, at[where].pop(0)))
            else:
                pool.setdefault(where, []).append(item.name)
        for transition in model.transitions:
            if transition.name not in program.actions and transition.span is not None:
                self.flags.add(transition.name)
                pool.setdefault((transition.span.start, transition.span.end), []).append(transition.name)
        for action in program.steps:
            for number, (path, condition) in enumerate(assertions(action), 1):
                self.assertions[action, path] = self._name(action, number, condition, pool)
        unknown = [name for names in pool.values() for name in names if name not in self.assertions.values()]
        if unknown:
            raise TwinError(f"the property {unknown[0]} is not found in the text")

    def _name(self, action: Action, number: int, condition: Condition, pool: dict[tuple[int, int], list[str]]) -> str:
        """The name that the model gave to an assertion; one that it saw through has none, and keeps its own."""
        wanted = condition.label or f"{action.name}_assert_{number}"
        here = pool.get((condition.span.start, condition.span.end), [])
        exact = [name for name in here if name == wanted]
        near = [name for name in here if name.startswith(f"{wanted}_")] if condition.label else []
        for name in (*exact, *near):
            if name not in self.assertions.values():
                return name
        return wanted


def is_claim(kind: str, changes: bool) -> bool:
    """Is a formula a property of states, or something that is taken for granted or proved once and for all?"""
    return kind not in ("init", "axiom") and (changes or kind not in ("trusted", "property"))


class IvyTwin(RelationalTwin):
    """An instance of an Ivy file."""

    canonical = True
    """Whether structs with all combinations of their fields are numbered in one order only; the others are the same renamed."""

    def __init__(self, model: RelationalModel, program: Program, claims: Claims, sizes: Mapping[str, int]) -> None:
        super().__init__(model, list(program.functions.values()), sizes)
        self.program = program
        self.claims = claims
        self.actions = program.steps
        named = {action for (action, _), name in claims.assertions.items() if name not in claims.flags}
        self.asserting = [action for action in self.actions if action in named]
        assumed = [formula for formula in program.formulas if formula.kind in ("axiom", "trusted")]
        rigid = [formula.node for formula in assumed if not program.changes(formula.touched)]
        self.axioms = sorted(rigid, key=effort)
        self.standing = [
            formula.node for formula in assumed if formula.kind == "axiom" and program.changes(formula.touched)
        ]
        """Axioms about what changes: states in which they are false do not occur."""

    def run(self, choices: Choices, worlds: list[World]) -> CodeRun:
        return CodeRun(self.domains, choices, worlds[0])

    # -- initial states --------------------------------------------------------------------------------------------

    def begin(self, run: Run) -> None:
        assert isinstance(run, CodeRun)
        self._distinguish_structs(run)
        run.assume(self.axioms)
        run.assume([formula.node for formula in self.program.formulas if formula.kind == "init"])
        for code, indices in self.program.initializations:
            for values in product(*(self.domains.values(index.sort) for index in indices)):
                run.frame = dict(zip(indices, values, strict=True))
                try:
                    code.execute(run)
                except Failure:
                    raise TwinError("an assertion fails in the initialization") from None
        self._stand(run)

    def _stand(self, run: Run) -> None:
        for node in self.standing:
            node.make(run, True)

    def _distinguish_structs(self, run: Run) -> None:
        """Two structs with the same fields are the same."""
        for fields in {id(fields): fields for fields in self.program.fields.values()}.values():
            struct = fields[0].sorts[0]
            places = [(field, place) for field in fields for place in self.domains.places(field.sorts[1:])]
            count = self.domains.sizes[struct]
            if self.canonical and "int" not in (field.result for field in fields):
                options = [self.domains.values(str(field.result)) for field, _ in places]
                if prod(map(len, options)) == count:
                    for number, row in enumerate(product(*options)):
                        for (field, place), value in zip(places, row, strict=True):
                            run.worlds[0][field].make((number, *place), value)
            for one, other in product(range(count), repeat=2):
                if one < other and all(self._agree(run, field, place, one, other) for field, place in places):
                    raise Impossible

    def _agree(self, run: Run, field: Function, place: Arguments, one: Value, other: Value) -> bool:
        table = run.worlds[0][field]
        return table.read((one, *place)) == table.read((other, *place))

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, state: State, choices: Choices) -> tuple[Move, Snapshot]:
        assert isinstance(state, Snapshot)
        action = self.actions[choices.choose(len(self.actions))]
        run = self.run(choices, [self.world(state, choices)])
        self._stand(run)
        values = [run.choose(cell.sort) for cell in action.parameters]
        try:
            action.perform(run, values)
            self._stand(run)
        except Failure as failure:
            name = self.claims.assertions[action, failure.path]
            if name not in self.claims.flags:
                raise Impossible from None
            return self._move(action, name, values), state._replace(failed=True)
        return self._move(action, action.name, values), self.packed(run.worlds[0], state, state.failed)

    def _move(self, action: Action, name: str, values: list[Value]) -> Move:
        """A step as the model names it, with the parameters that the text declares."""
        whole = [parameter.name for parameter in self.model.transition(action.name).parameters]
        known = {parameter.name for parameter in self.model.transition(name).parameters}
        pairs = zip(whole[: len(values)], values, strict=True)
        return Move(name, {parameter: value for parameter, value in pairs if parameter in known})

    # -- properties ------------------------------------------------------------------------------------------------

    def falsified(self, state: State) -> tuple[str, ...]:
        assert isinstance(state, Snapshot)
        run = self.known(state)
        found = {name for name, claim in self.claims.formulas if not claim.value(run)}
        if state.failed and self.claims.failure is not None:
            found.add(self.claims.failure[1])
        for action in self.asserting:
            found |= set(every(partial(self._failing, state, action)))
        return tuple(name for name in (*self.properties, *sorted(found.difference(self.properties))) if name in found)

    def _failing(self, state: Snapshot, action: Action, choices: Choices) -> str:
        """The assertion that fails when the action is called."""
        run = self.run(choices, [self.world(state, choices)])
        self._stand(run)
        try:
            action.perform(run, [run.choose(cell.sort) for cell in action.parameters])
        except Failure as failure:
            name = self.claims.assertions[action, failure.path]
            if name not in self.claims.flags:
                return name
        raise Impossible

    # -- the model's vocabulary ------------------------------------------------------------------------------------

    def table_of(self, symbol: Symbol, state: Snapshot, run: Run) -> dict[Arguments, Value] | None:
        definition = self.program.definitions.get(symbol.name)
        sort, _, operator = symbol.name.rpartition(".")
        numbers = self.program.sorts.numbers.get(sort)
        if numbers is not None and operator in OPERATORS:
            compute = OPERATORS[operator] if operator == "<" else wrapped(OPERATORS[operator], numbers.count)
            return {place: compute(*place) for place in self.domains.places((sort, sort))}
        if definition is not None:
            sorts = tuple(parameter.sort for parameter in definition.parameters)
            if INT in sorts:
                return None
            table: dict[Arguments, Value] = {}
            for place in self.domains.places(sorts):
                run.frame = dict(zip(definition.parameters, place, strict=True))
                table[place] = definition.body.value(run)
            return table
        if self.claims.failure is not None and symbol.name == self.claims.failure[0]:
            return {(): state.failed}
        return super().table_of(symbol, state, run)
