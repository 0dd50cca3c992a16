"""Initial states: what the initialization code of an Ivy file leaves behind, as formulas over the state.

The code runs from an arbitrary state.  An assigned symbol equals its final value; an assumption about symbols that are
not assigned afterwards is kept as it stands.  Where an earlier value of an assigned symbol matters, or something is
left open, a fresh rigid symbol stands for it, which is the same since a run has one initial state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Failed, normal
from quorate.lang.ivy import syntax
from quorate.lang.ivy.actions import Names, Run
from quorate.lang.ivy.signature import Signature
from quorate.lang.ivy.states import State
from quorate.logic.terms import And, Apply, If, Or, Symbol, Term, Var, conj, disj, equal, forall, implies, neg
from quorate.logic.transform import Lambda, rename_symbols, replace_symbols, substitute, symbols_of
from quorate.models.source import Span


@dataclass(frozen=True)
class Piece:
    """Something that holds initially.  `direct` speaks of the state after the code, `earlier` of the one before."""

    span: Span
    label: str | None = None
    direct: Term | None = None
    earlier: Term | None = None
    assigned: Symbol | None = None

    @property
    def term(self) -> Term:
        assert self.earlier is not None
        return self.earlier


@dataclass
class Initial:
    """The formulas, with their labels, and the fresh rigid symbols they use."""

    formulas: list[tuple[str | None, Term, Span]] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)


def initial_states(signature: Signature, conditions: Iterable[syntax.FormulaDeclaration], sink: Sink) -> Initial:
    """The initial states of a program: its `init` formulas, then its `after init` blocks in order."""
    code = _Code(signature, sink)
    for item in conditions:
        code.statement(syntax.Condition(item.span, "assume", item.label, item.formula), {})
    for block in signature.program.initializations:
        code.block(block, {})
    return Initial() if code.run.failed else code.result()


class _Code:
    def __init__(self, signature: Signature, sink: Sink) -> None:
        self.signature = signature
        self.run = Run(signature, sink, initialization=True)
        self.state = State()
        self.assumed: list[tuple[syntax.Condition, Term, Term, dict[Symbol, Lambda | None], int]] = []
        self.general: list[tuple[Term, Span, int]] = []
        self.changed: dict[Symbol, tuple[int, Span]] = {}
        self.time = 0

    # -- running ---------------------------------------------------------------------------------------------------

    def block(self, block: syntax.Block, names: Names) -> None:
        names = dict(names)
        for statement in block.statements:
            if isinstance(statement, syntax.Block):
                self.block(statement, names)
            else:
                self.statement(statement, names)

    def statement(self, statement: syntax.Statement, names: Names) -> None:
        self.time += 1
        before, count = dict(self.state.values), len(self.state.assumptions)
        if isinstance(statement, syntax.Condition) and statement.kind in ("assume", "require"):
            try:
                self.assume(statement, names)
            except Failed:
                self.run.failed = True
            return
        self.run.step(statement, names, self.state)
        self.general += [(term, statement.span, self.time) for term in self.state.assumptions[count:]]
        for symbol, value in self.state.values.items():
            if symbol not in self.run.variables and before.get(symbol) != value:
                self.changed[symbol] = (self.time, statement.span)

    def assume(self, statement: syntax.Condition, names: Names) -> None:
        count = len(self.state.assumptions)
        term = self.run.formula(statement.formula, names, self.state)
        self.general += [(extra, statement.span, self.time) for extra in self.state.assumptions[count:]]
        earlier = self.run.current(term, self.state, statement.span)
        snapshot = {symbol: self.state.values.get(symbol) for symbol in self.bases(term)}
        self.assumed.append((statement, term, earlier, snapshot, self.time))

    def bases(self, *terms: Term) -> set[Symbol]:
        """The symbols that terms depend on, through definitions too."""
        used = symbols_of(*terms)
        return used.union(*(self.signature.reads.get(symbol, frozenset()) for symbol in used))

    # -- the result ------------------------------------------------------------------------------------------------

    def result(self) -> Initial:
        final = self.state.values
        assigned = {s for s in self.changed if final[s][1] is not s(*final[s][0])}
        timed: list[tuple[int, Piece]] = []
        for statement, term, earlier, snapshot, time in self.assumed:
            kept = all(s not in self.run.variables and final.get(s) == value for s, value in snapshot.items())
            piece = Piece(statement.span, statement.label, direct=term) if kept else None
            timed.append((time, piece or Piece(statement.span, statement.label, earlier=earlier)))
        timed += [(time, Piece(span, earlier=term)) for term, span, time in self.general]
        for symbol in self.signature.symbols:
            if symbol in assigned:
                time, span = self.changed[symbol]
                timed.append((time, Piece(span, earlier=final[symbol][1], assigned=symbol)))
        pieces = [self.opened(piece, assigned) for _, piece in sorted(timed, key=lambda entry: entry[0])]
        return self.assemble(pieces, assigned)

    def opened(self, piece: Piece, assigned: set[Symbol]) -> Piece:
        """Definitions opened where they depend on an earlier value of an assigned symbol."""
        term = piece.earlier
        if term is None:
            return piece
        definitions, reads = self.signature.definitions, self.signature.reads
        while stale := {s for s in symbols_of(term) if s in definitions and not reads[s].isdisjoint(assigned)}:
            term = replace_symbols(term, {symbol: definitions[symbol] for symbol in stale})
        return Piece(piece.span, piece.label, earlier=term, assigned=piece.assigned)

    def assemble(self, pieces: list[Piece], assigned: set[Symbol]) -> Initial:
        readers: dict[Symbol, list[Symbol | None]] = {symbol: [] for symbol in assigned}
        for piece in pieces:
            for symbol in symbols_of(piece.earlier) & assigned if piece.earlier is not None else ():
                readers[symbol].append(piece.assigned)
        stand_in: dict[Symbol, Symbol] = {}
        formulas: list[tuple[Piece, Term]] = []
        for piece in pieces:
            if piece.direct is not None:
                formula = piece.direct
            elif piece.assigned is None:
                formula = self.before(piece.term, assigned, stand_in)
            else:
                symbol = piece.assigned
                own = symbol(*self.run.places(symbol))
                partly = _partly(own, piece.term, assigned) if readers[symbol] == [symbol] else None
                fact = partly or equal(own, self.before(piece.term, assigned, stand_in))
                formula = forall(self.run.places(symbol), fact)
            formulas.append((piece, formula))
        return self.finish(formulas, stand_in)

    def before(self, term: Term, assigned: set[Symbol], stand_in: dict[Symbol, Symbol]) -> Term:
        """The term with rigid symbols for the earlier values of assigned ones."""
        for symbol in sorted(symbols_of(term) & assigned, key=lambda symbol: symbol.name):
            if symbol not in stand_in:
                name = self.run.fresh(f"{symbol.name}_before")
                stand_in[symbol] = Symbol(name, symbol.arguments, symbol.sort)
        return rename_symbols(term, lambda symbol: stand_in.get(symbol, symbol))

    def finish(self, formulas: list[tuple[Piece, Term]], stand_in: dict[Symbol, Symbol]) -> Initial:
        """Drop what says nothing, and turn what was left open into rigid constants."""
        result = Initial()
        kept: list[tuple[Piece, Term]] = []
        for index, (piece, formula) in enumerate(formulas):
            others = [other for i, (_, other) in enumerate(formulas) if i != index]
            if piece.assigned is None or not self.is_havoc(piece, others):
                kept.append((piece, formula))
        free = frozenset[Var]().union(*(formula.free for _, formula in kept))
        used = symbols_of(*(formula for _, formula in kept))
        constants: dict[Var, Term] = {}
        for variable in self.run.parameters:
            if variable in free:
                result.symbols.append(Symbol(self.run.fresh(f"initial_{variable.name}"), (), variable.sort))
                constants[variable] = result.symbols[-1]()
        choices: dict[Symbol, Symbol] = {}
        for choice in self.run.choices:
            if choice in used:
                name = self.run.fresh(f"initial_{choice.name.removeprefix('new_')}")
                choices[choice] = Symbol(name, choice.arguments, choice.sort)
        result.symbols += [*choices.values(), *(symbol for symbol in stand_in.values() if symbol in used)]
        for piece, formula in kept:
            formula = rename_symbols(substitute(formula, constants), lambda symbol: choices.get(symbol, symbol))
            result.formulas.append((piece.label, normal(formula), piece.span))
        return result

    def is_havoc(self, piece: Piece, others: list[Term]) -> bool:
        """Does an assignment give a symbol just any value, one that nothing else speaks of?"""
        assert piece.assigned is not None
        places = self.run.places(piece.assigned)
        match piece.earlier:
            case Var():
                return not places and all(piece.earlier not in other.free for other in others)
            case Apply(symbol, args) if symbol in self.run.choices:
                return set(args) == set(places) and symbol not in symbols_of(*others)
        return False


def _partly(own: Apply, value: Term, assigned: set[Symbol]) -> Term | None:
    """What an assignment to some places only says, if nothing else depends on the values at the others."""

    def clean(*terms: Term) -> bool:
        return symbols_of(*terms).isdisjoint(assigned)

    match value:
        case Or(args) if own in args:
            rest = disj(*(arg for arg in args if arg is not own))
            return implies(rest, own) if clean(rest) else None
        case And(args) if own in args:
            rest = conj(*(arg for arg in args if arg is not own))
            return implies(own, rest) if clean(rest) else None
        case If(condition, then, otherwise) if otherwise is own and clean(condition, then):
            return implies(condition, equal(own, then))
        case If(condition, then, otherwise) if then is own and clean(condition, otherwise):
            return implies(neg(condition), equal(own, otherwise))
    return None
