"""Liveness properties and fairness assumptions, which Ivy and mypyvy files write alike: text to declarations to model.

    liveness [served] forall C. waiting(C) ~> critical(C)
      hint rank forall D. waiting(D)
    fairness [moves] weak forall C. enter(C) when p(C)

Both also say how many elements a sort may have: `finite sort node`, `unbounded type message`.  Read docs/liveness.md for the
syntax, `models/temporal` for what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from quorate.lang.diagnostics import Sink
from quorate.lang.elaborate import Elaborator, Failed, argument_count, free_references, subexpressions
from quorate.lang.reader import Binder, Expression, Operation, Parser, Quantifier, Reference
from quorate.lang.reader import Literal as Constant
from quorate.logic.terms import BOOL, TRUE, Forall, Sort, Term, Var, forall
from quorate.models.relational import Fairness, Hint, Liveness, RelationalModel
from quorate.models.source import Span

WORDS = ("liveness", "fairness")
"""They begin a declaration; elsewhere they are names like any other."""
EXTENTS = ("finite", "unbounded")
"""They stand before the declaration of a sort; elsewhere they are names like any other."""


@dataclass(frozen=True)
class HintDeclaration:
    """`hint rank forall X. formula` or `hint invariant formula`, after a liveness property."""

    kind: Literal["rank", "invariant"]
    formula: Expression
    span: Span


@dataclass(frozen=True)
class LivenessDeclaration:
    """`liveness [name] forall X. trigger ~> goal`; `assuming` is what this property alone assumes."""

    label: str | None
    binders: tuple[Binder, ...]
    trigger: Expression
    goal: Expression
    span: Span
    assuming: tuple[FairnessDeclaration, ...] = ()
    hints: tuple[HintDeclaration, ...] = ()
    kind: str = "liveness"


@dataclass(frozen=True)
class FairnessDeclaration:
    """`fairness [name] weak forall X. target when condition`; the target is a transition or a formula.

    `strength` is None where the text has no word for it: what is asked for happens infinitely often, come what may.
    """

    label: str | None
    strength: str | None
    binders: tuple[Binder, ...]
    target: Expression
    when: Expression | None
    span: Span
    kind: str = "fairness"


class TemporalParser(Parser):
    """Adds the two declarations to a parser; `wildcards` says whether `*` may stand for any argument."""

    wildcards = False

    def at_temporal(self) -> bool:
        """Does a liveness property or a fairness assumption start here?"""
        return self.at("name") and self.token.text in WORDS

    def temporal(self, label: Callable[[], str | None]) -> LivenessDeclaration | FairnessDeclaration:
        start = self.advance()
        name = label()
        if start.text == "liveness":
            binders = self.universal()
            trigger = self.expression()
            self.expect("~>", "between what is waited from and what is waited for")
            goal = self.expression()
            span = self.since(start.span)
            return LivenessDeclaration(name, binders, trigger, goal, span, hints=tuple(self.hints()))
        strength = self.advance().text if self.token.text in ("weak", "strong") else None
        binders = self.universal()
        self.wildcards = True
        try:
            target = self.expression()
        finally:
            self.wildcards = False
        when = None
        if self.token.text == "when":
            self.advance()
            when = self.expression()
        return FairnessDeclaration(name, strength, binders, target, when, self.since(start.span))

    def hints(self) -> Iterator[HintDeclaration]:
        """What is said about the proof of the property before it."""
        while self.at("name") and self.token.text == "hint":
            start = self.advance()
            match self.advance().text:
                case "rank" | "invariant" as kind:
                    yield HintDeclaration(kind, self.expression(), self.since(start.span))
                case _:
                    self.fail("expected `rank` or `invariant` after `hint`", "write `hint rank forall X. p(X)`")

    def universal(self) -> tuple[Binder, ...]:
        """`forall X, Y.` in front, if it is there."""
        if not self.accept("forall"):
            return ()
        binders = self.separated(self.binder)
        self.expect(".", "after the quantified variables")
        return tuple(binders)

    def primary(self) -> Expression:
        if self.wildcards and self.at("*"):
            return Reference(self.advance().span, "*")
        return super().primary()


def extent(model: RelationalModel, sort: Sort) -> str:
    """What the declaration of a sort begins with."""
    return "finite " if sort in model.finite else "unbounded " if sort in model.unbounded else ""


def printed(
    model: RelationalModel,
    show: Callable[[Term], str],
    binder: Callable[[Var], str],
    step: Callable[[str], str],
    label: Callable[[str], str],
) -> list[str]:
    """The liveness properties and fairness assumptions of a model as text; what one property alone assumes is not written."""

    def quantified(variables: Sequence[Var]) -> str:
        return f"forall {', '.join(map(binder, variables))}. " if variables else ""

    lines = []
    for item in model.fairness:
        strength = "strong " if item.strong else "weak "
        if item.transition is None:
            assert item.happens is not None
            target = f"({show(item.happens)})"
        else:
            arguments = ", ".join("*" if term is None else show(term) for term in item.arguments)
            target = f"{step(item.transition)}({arguments})" if item.arguments else step(item.transition)
        when = f" when ({show(item.when)})" if item.when is not TRUE else ""
        lines.append(f"fairness [{label(item.name)}] {strength}{quantified(item.variables)}{target}{when}")
    for live in model.liveness:
        body = f"({show(live.trigger)}) ~> ({show(live.goal)})"
        hints = [f"\n  hint {hint.kind} {quantified(hint.variables)}({show(hint.formula)})" for hint in live.hints]
        lines.append(f"liveness [{label(live.name)}] {quantified(live.variables)}{body}{''.join(hints)}")
    return lines


def terms_of(model: RelationalModel) -> list[Term]:
    """The terms that liveness properties and fairness assumptions are made of."""
    found: list[Term] = []
    for live in model.liveness:
        found += [live.trigger, live.goal, *live.variables]
        found += [term for hint in live.hints for term in (hint.formula, *hint.variables)]
    for item in (*model.fairness, *(item for live in model.liveness for item in live.assuming)):
        found += [item.when, *item.variables, *(term for term in item.arguments if term is not None)]
        found += [item.happens] if item.happens is not None else []
    return found


def decoded(kind: str, label: str | None, formula: Expression) -> LivenessDeclaration | FairnessDeclaration | None:
    """A declaration from a formula: one that stands for `liveness` or `fairness`, or Ivy's temporal property.

    None if a temporal property has another shape than `(forall X. globally eventually p) & .. -> forall X. globally (p ->
    eventually q)`; the assumptions, and the trigger, may be missing.
    """
    span = formula.span
    assuming: list[FairnessDeclaration] = []
    if kind == "temporal" and isinstance(formula, Operation) and formula.operator == "->":
        parts = formula.operands[0]
        for part in parts.operands if isinstance(parts, Operation) and parts.operator == "&" else (parts,):
            made = _always_again(part)
            if made is None:
                return None
            assuming.append(FairnessDeclaration(None, None, made[0], made[1], None, part.span))
        formula = formula.operands[1]
    binders: tuple[Binder, ...] = ()
    body = formula
    if isinstance(body, Quantifier) and body.universal:
        binders, body = body.binders, body.body
    if not isinstance(body, Operation):
        return None
    if kind == "liveness":
        trigger, goal, *hinted = body.operands
        hints = tuple(
            HintDeclaration("rank" if item.operator == "rank" else "invariant", item.operands[0], item.span)
            for item in hinted
            if isinstance(item, Operation)
        )
        return LivenessDeclaration(label, binders, trigger, goal, span, hints=hints)
    if kind.startswith("fairness"):
        return FairnessDeclaration(label, kind[9:] or None, binders, body.operands[0], body.operands[1], span)
    again = _always_again(formula)
    if again is not None:
        return LivenessDeclaration(label, binders, Constant(span, True), again[1], span, tuple(assuming))
    inner = body.operands[0]
    if body.operator == "globally" and isinstance(inner, Operation) and inner.operator == "->":
        trigger, goal = inner.operands
        if isinstance(goal, Operation) and goal.operator == "eventually" and not _timed(trigger, *goal.operands):
            return LivenessDeclaration(label, binders, trigger, goal.operands[0], span, tuple(assuming))
    return None


def _always_again(formula: Expression) -> tuple[tuple[Binder, ...], Expression] | None:
    """The variables and the formula of `forall X. globally eventually p`."""
    binders: tuple[Binder, ...] = ()
    if isinstance(formula, Quantifier) and formula.universal:
        binders, formula = formula.binders, formula.body
    match formula:
        case Operation(_, "globally", (Operation(_, "eventually", (inner,)),)) if not _timed(inner):
            return binders, inner
    return None


def _timed(*roots: Expression) -> bool:
    """Is there an operator of time inside?"""
    return any(isinstance(e, Operation) and e.operator in ("globally", "eventually") for e in subexpressions(*roots))


def _variables(elaborator: Elaborator, binders: tuple[Binder, ...], *expressions: Expression) -> list[Var]:
    """The quantified variables, and those that the text leaves implicit, once the expressions have settled their sorts."""
    known = {binder.name for binder in binders}
    implicit: dict[str, Binder] = {}
    for item in sorted(free_references(known, *expressions), key=lambda item: item.span.start):
        if elaborator.implicit(item.name) and item.name not in elaborator.scope.symbols and item.arguments is None:
            implicit.setdefault(item.name, Binder(item.name, None, item.span))
    locals = elaborator.parameters([*binders, *implicit.values()])
    for expression in expressions:
        elaborator.infer(expression)
    elaborator.settle()
    if elaborator.failed:
        raise Failed
    return [local.variable() for local in locals]


def liveness(
    elaborator: Elaborator, declaration: LivenessDeclaration, name: str, assuming: tuple[Fairness, ...] = ()
) -> list[Liveness]:
    """The property, or nothing if it has errors, which are reported."""
    hinted = [hint.formula for hint in declaration.hints]
    try:
        variables = _variables(elaborator, declaration.binders, declaration.trigger, declaration.goal, *hinted)
        trigger = elaborator.term(declaration.trigger, BOOL)
        goal = elaborator.term(declaration.goal, BOOL)
        formulas = [elaborator.term(formula, BOOL) for formula in hinted]
    except Failed:
        return []
    used = tuple(variable for variable in variables if variable in trigger.free | goal.free)
    hints = []
    for item, formula in zip(declaration.hints, formulas, strict=True):
        own: tuple[Var, ...] = ()
        if item.kind == "invariant":
            formula = forall([variable for variable in variables if variable in formula.free], formula)
        elif isinstance(formula, Forall):
            own, formula = formula.variables, formula.body
        unknown = formula.free.difference(used, own)
        if unknown:
            message = f"{min(variable.name for variable in unknown)} is not a variable of the property"
            elaborator.sink.error("Q0704", message, item.span, fix="quantify it: `hint rank forall X. p(X)`")
        hints.append(Hint(item.kind, own, formula, item.span))
    return [Liveness(name, used, trigger, goal, assuming, declaration.span, tuple(hints))]


def fairness(
    elaborator: Elaborator,
    declaration: FairnessDeclaration,
    name: str,
    parameters_of: Callable[[str], tuple[Var, ...] | None],
) -> list[Fairness]:
    """The assumption, or nothing if it has errors, which are reported."""
    target, span = declaration.target, declaration.span
    called = isinstance(target, Reference) and not target.primes
    parameters = parameters_of(target.name) if isinstance(target, Reference) and called else None
    if parameters is None and any(item.name == "*" for item in free_references((), target)):
        elaborator.sink.error("Q0701", "`*` stands for any argument of a transition, and this is none", target.span)
        return []
    try:
        if parameters is None:
            return [_of_states(elaborator, declaration, name)]
        assert isinstance(target, Reference)
        return [_of_transition(elaborator, declaration, name, target, parameters)]
    except Failed:
        return []
    finally:
        if parameters is not None and declaration.strength is None:
            _require_strength(elaborator.sink, span)


def _require_strength(sink: Sink, span: Span) -> None:
    fix = (
        "write `fairness weak` (if it can always be taken from some moment on) or `fairness strong` (infinitely often)"
    )
    sink.error("Q0702", "it is not said when the transition must be taken", span, fix=fix)


def _of_states(elaborator: Elaborator, declaration: FairnessDeclaration, name: str) -> Fairness:
    when = declaration.when
    expressions = [declaration.target, *([when] if when is not None else [])]
    variables = _variables(elaborator, declaration.binders, *expressions)
    happens = elaborator.term(declaration.target, BOOL)
    condition = TRUE if when is None else elaborator.term(when, BOOL)
    used = tuple(variable for variable in variables if variable in happens.free | condition.free)
    strong = declaration.strength == "strong"
    return Fairness(name, strong, used, condition, None, (), happens, declaration.span)


def _of_transition(
    elaborator: Elaborator,
    declaration: FairnessDeclaration,
    name: str,
    target: Reference,
    parameters: tuple[Var, ...],
) -> Fairness:
    given = target.arguments
    if given is not None and len(given) != len(parameters):
        message = f"`{target.name}` takes {argument_count(len(parameters))}, {len(given)} given"
        elaborator.error("Q0202", message, target.span)
        raise Failed
    arguments: list[Expression | None] = [
        None if isinstance(item, Reference) and item.name == "*" else item for item in given or ()
    ]
    if given is None:
        arguments = [None] * len(parameters)
    when = declaration.when
    stated = [item for item in arguments if item is not None]
    # The sorts of variables that occur as arguments are those of the parameters.
    known = {binder.name: binder for binder in declaration.binders}
    for argument, parameter in zip(arguments, parameters, strict=True):
        if isinstance(argument, Reference) and argument.arguments is None and elaborator.implicit(argument.name):
            binder = known.get(argument.name)
            if argument.name not in elaborator.scope.symbols and (binder is None or binder.sort is None):
                known[argument.name] = Binder(argument.name, parameter.sort.name, argument.span)
        elif isinstance(argument, Reference) and argument.name in known and known[argument.name].sort is None:
            known[argument.name] = Binder(argument.name, parameter.sort.name, argument.span)
    expressions = [*stated, *([when] if when is not None else [])]
    variables = _variables(elaborator, tuple(known.values()), *expressions)
    values: list[Term | None] = []
    for argument, parameter in zip(arguments, parameters, strict=True):
        values.append(None if argument is None else elaborator.term(argument, parameter.sort))
    condition = TRUE if when is None else elaborator.term(when, BOOL)
    free = condition.free.union(*(value.free for value in values if value is not None))
    used = tuple(variable for variable in variables if variable in free)
    strong = declaration.strength == "strong"
    return Fairness(name, strong, used, condition, target.name, tuple(values), None, declaration.span)
