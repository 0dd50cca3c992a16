"""A counterexample to a candidate, side by side: a step of the protocol, and what the small instance made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from quorate.logic.structures import EvaluationError, Structure, Table, Value, argument_tuples
from quorate.logic.terms import Apply, Equal, If, Symbol, Term, Var
from quorate.logic.transform import Lambda
from quorate.methods.cutoff.cutoff import Outcome
from quorate.methods.cutoff.prove import Failure
from quorate.methods.cutoff.search import Search
from quorate.models.semantics import Step, state_of, successor
from quorate.proof.cutoffs import Case, Obligations, Pair
from quorate.proof.naming import Names, element_names, is_element, value_name

WIDTH = 46


def side_by_side(pair: Pair, failure: Failure) -> list[str]:
    """The two states and the step, in two columns; nothing if the solver gave no finite pair of states."""
    if failure.structure is None or failure.case is None:
        return []
    try:
        return _Picture(pair, failure.case, failure.structure).lines(failure)
    except (EvaluationError, KeyError):
        return []


class _Picture:
    def __init__(self, pair: Pair, case: Case, structure: Structure) -> None:
        self.pair, self.case, self.structure = pair, case, structure
        self.obligations = Obligations(pair)
        self.large = state_of(pair.large, structure)
        self.small = {s: structure.tables[s] for s in pair.twin.symbols if s.mutable}
        self.names: Names = {**element_names(pair.large, self.large.sizes), pair.twin_sort: pair.twin_sort.elements}

    def lines(self, failure: Failure) -> list[str]:
        named = [
            f"{symbol.name} = {value_name(self.structure.value(symbol, ()), symbol.sort, self.names)}"
            for symbol in self.case.violators
        ]
        sizes = [f"{sort} = {{{', '.join(self.names[sort])}}}" for sort in self.large.sizes]
        small = f"{self.pair.sort} = {{{', '.join(self.pair.target.elements)}}}"
        rows = [*_columns(["any size", *sizes], ["small instance", small])]
        rows += [f"  the violation names {', '.join(named)}"] * bool(named)
        rows += [f"  {', '.join(self._images())}"]
        rigid = [s for s in self.pair.large.symbols if not s.mutable and not is_element(s)]
        rows += _columns(self._facts(rigid, self.large.tables), [])
        mutable = [s for s in self.pair.large.symbols if s.mutable]
        rows += _columns(
            ["before", *self._facts(mutable, self.large.tables)], ["before", *self._facts(self.small, self.small)]
        )
        if failure.transition:
            rows += self._step(failure.transition, mutable)
        return rows

    def _step(self, name: str, mutable: Sequence[Symbol]) -> list[str]:
        transition = self.pair.large.transition(name)
        bindings: dict[str, Value] = {}
        shown = []
        for parameter in transition.parameters:
            value = self.structure.value(Symbol(f"@{parameter.name}", (), parameter.sort), ())
            bindings[parameter.name] = value
            shown.append(f"{parameter.name} = {value_name(value, parameter.sort, self.names)}")
        choices = {choice.name: self.structure.tables[choice] for choice in transition.choices}
        after = successor(self.pair.large, self.large, Step(name, bindings, choices))
        if isinstance(after, str):
            raise EvaluationError(after)
        changed = self.obligations.after(self.case, transition)
        small = {symbol: self._table(symbol, changed[symbol]) for symbol in self.small if symbol in changed}
        right = self._changes(small, self.small, small)
        return _columns(
            [f"{name}({', '.join(shown)})", *self._changes(mutable, self.large.tables, after.tables)],
            ["answers", *(right or ["does not move"])],
        )

    def _table(self, symbol: Symbol, definition: Lambda) -> Table:
        variables, body = definition
        term = self.obligations.express(self.case, body)
        return {
            args: self._value(term, variables, args) for args in argument_tuples(symbol.arguments, self.structure.sizes)
        }

    def _value(self, term: Term, variables: Sequence[Var], args: Sequence[Value]) -> Value:
        return self.structure.evaluate(term, dict(zip(variables, args, strict=True)))

    def _images(self) -> list[str]:
        variables, body = self.case.image
        shown = []
        for element, name in enumerate(self.names[self.pair.sort]):
            value = self.structure.evaluate(body, {variables[0]: element})
            shown.append(f"{name} -> {value_name(value, self.pair.twin_sort, self.names)}")
        return shown

    def _facts(self, symbols: Iterable[Symbol], tables: Mapping[Symbol, Table]) -> list[str]:
        found = []
        for symbol in symbols:
            for key in sorted(tables[symbol]):
                value = tables[symbol][key]
                if symbol.is_relation and value:
                    found.append(f"  {self._applied(symbol, key)}")
                elif not symbol.is_relation:
                    found.append(f"  {self._applied(symbol, key)} = {value_name(value, symbol.sort, self.names)}")
        return found

    def _changes(
        self, symbols: Iterable[Symbol], before: Mapping[Symbol, Table], after: Mapping[Symbol, Table]
    ) -> list[str]:
        found = []
        for symbol in symbols:
            for key in sorted(after[symbol]):
                old, new = before[symbol][key], after[symbol][key]
                if old != new:
                    sign = ("+" if new else "-") if symbol.is_relation else "~"
                    value = "" if symbol.is_relation else f" = {value_name(new, symbol.sort, self.names)}"
                    found.append(f"  {sign} {self._applied(symbol, key)}{value}")
        return found

    def _applied(self, symbol: Symbol, key: Sequence[Value]) -> str:
        arguments = [value_name(v, sort, self.names) for v, sort in zip(key, symbol.arguments, strict=True)]
        name = symbol.name.removeprefix("small ")
        return f"{name}({', '.join(arguments)})" if arguments else name


def _columns(left: Sequence[str], right: Sequence[str]) -> list[str]:
    rows = zip_longest(left, right, fillvalue="")
    return [f"  {first:<{WIDTH}}{'| ' + second if second else ''}".rstrip() for first, second in rows]


def _explained_case(pair: Pair, case: Case) -> list[str]:
    """A proved case in words: the map, the relation and the lockstep."""
    variables, body = case.image
    lines = [f"  map: {_map(body, variables[0])}"]
    lines += _folded("  kept: ", clauses(case))
    lines += [f"  with the fact {fact}" for fact in facts(case)]
    moves = [name for name, _ in case.moves]
    idle = [transition.name for transition in pair.large.transitions if transition.name not in moves]
    lines += _folded("  lockstep: ", moves or ["nothing"])
    lines += _folded("  not answered: ", idle) if idle else []
    return lines


def explained(found: Search) -> list[str]:
    """A cutoff in words, case by case."""
    assert found.pair is not None and found.cutoff is not None
    size = found.cutoff.size
    lines = [f"{found.sort}: {size} element{' shows' if size == 1 else 's show'} every violation"]
    for number, proof in enumerate(found.proofs, 1):
        lines += [f"  violation {number}: {proof.case.bad}"] if len(found.proofs) > 1 else []
        lines += _explained_case(found.pair, proof.case)
    return lines


def small_instance(outcome: Outcome) -> list[str]:
    """What became of the small instance, and which transitions nothing is shown about."""
    lines = []
    if outcome.vacuous:
        lines.append(f"never taken, so that nothing is shown about it: {', '.join(outcome.vacuous)}")
    if outcome.found and outcome.verification is not None:
        kept = ", ".join(map(str, outcome.unbounded))
        lines.append(f"{outcome.verification.words}{f'; unbounded in it: {kept}' if kept else ''}")
    return lines


def clauses(case: Case) -> list[str]:
    """What the relation keeps, without facts about the protocol alone; `=` where it holds in both directions."""
    names = [item.name for item in case.relation if not item.name.startswith("fact ")]
    listed = set(names)
    both = {name for name in names if f"~{name}" in listed}
    return [
        f"={name}" if name in both else name for name in names if name.removeprefix("~") not in both or name in both
    ]


def facts(case: Case) -> list[str]:
    """The facts about the protocol that were proved along with the relation."""
    return [item.name.removeprefix("fact ") for item in case.relation if item.name.startswith("fact ")]


def _map(body: Term, variable: Var) -> str:
    parts = []
    while isinstance(body, If):
        condition = body.condition
        if isinstance(condition, Equal) and variable in (condition.left, condition.right):
            other = condition.right if condition.left is variable else condition.left
            parts.append(f"{other} -> {body.then}")
        else:
            parts.append(f"where {condition} -> {body.then}")
        body = body.otherwise
    assert isinstance(body, Apply)
    return ", ".join([*parts, f"all others -> {body}" if parts else f"all -> {body}"])


def _folded(lead: str, items: Sequence[str]) -> list[str]:
    lines, line = [], lead
    for number, item in enumerate(items):
        piece = item + (";" if number < len(items) - 1 else "")
        if len(line) + len(piece) > 110 and line.strip():
            lines.append(line.rstrip())
            line = " " * len(lead)
        line += piece + " "
    return [*lines, line.rstrip()]
