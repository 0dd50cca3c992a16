"""What the checker relies on in a model, whatever front end made it: checked before a single obligation is built.

An obligation speaks of the state after a step by putting new values in for the symbols that change (`checker`).  That is right
only if every symbol is what it claims to be: a derived one is its definition and nothing else, a rigid one never changes, and
no name stands for two things.  A model that is otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from quorate.logic.terms import BOOL, Symbol, Term, Var
from quorate.logic.transform import symbols_of
from quorate.models.relational import Named, RelationalModel, Transition
from quorate.proof.certificates import CertificateError


def require_wellformed(model: RelationalModel) -> None:
    """Raises `CertificateError` if the model is not one that obligations can be built from."""
    _Check(model).everything()


def expanded(model: RelationalModel, formula: Term) -> Term:
    """The formula with every derived symbol replaced by its definition; raises `CertificateError` if one is left."""
    formula = model.expand(formula)
    left = symbols_of(formula) & model.derived_symbols
    if left:
        names = ", ".join(sorted(symbol.name for symbol in left))
        raise CertificateError(f"derived symbols are left after definitions were put in: {names}")
    return formula


class _Check:
    def __init__(self, model: RelationalModel) -> None:
        self.model = model
        self.elements = {Symbol(name, (), sort) for sort in model.sorts for name in sort.elements}
        self.known = {*model.symbols, *self.elements}

    def everything(self) -> None:
        model = self.model
        self.require_distinct("symbols", [symbol.name for symbol in self.known])
        self.require_distinct("sorts", [sort.name for sort in (BOOL, *model.sorts)])
        self.require_distinct("transitions", [transition.name for transition in model.transitions])
        properties = [item.name for item in model.safety] + [item.name for item in model.liveness]
        self.require_distinct("properties", properties)
        if any(symbol.primes or symbol.name.startswith("@") for symbol in model.symbols):
            self.refuse("a symbol has a name that is kept for something else")
        self.definitions()
        self.formulas("axiom", model.axioms)
        for axiom in model.axioms:
            if any(symbol.mutable for symbol in symbols_of(expanded(model, axiom.formula))):
                self.refuse(f"the axiom {axiom.name} speaks of what can change")
        self.formulas("initial condition", model.initial)
        self.formulas("property", model.safety)
        for transition in model.transitions:
            self.transition(transition)

    def refuse(self, problem: str) -> None:
        raise CertificateError(f"the protocol cannot be checked: {problem}")

    def require_distinct(self, what: str, names: Iterable[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.refuse(f"two {what} are called {name}")
            seen.add(name)

    def definitions(self) -> None:
        for item in self.model.derived:
            if item.definition is None:
                self.refuse(f"{item.symbol.name} has no explicit definition")
            if item.symbol not in self.model.symbols:
                self.refuse(f"{item.symbol.name} is defined but not declared")
            variables, value = item.definition or ((), item.formula)
            self.term(f"the definition of {item.symbol.name}", value, variables, ())
            if not item.symbol.mutable and any(s.mutable for s in symbols_of(expanded(self.model, value))):
                self.refuse(f"{item.symbol.name} is defined by what can change, but it cannot change")

    def formulas(self, what: str, items: Iterable[Named]) -> None:
        for item in items:
            self.term(f"the {what} {item.name}", item.formula, (), ())
            if item.formula.sort is not BOOL:
                self.refuse(f"the {what} {item.name} is not a formula")

    def transition(self, transition: Transition) -> None:
        name, choices = f"the transition {transition.name}", transition.choices
        self.require_distinct("parameters", [parameter.name for parameter in transition.parameters])
        self.require_distinct("choices", [choice.name for choice in choices])
        names = {symbol.name for symbol in self.known}
        if any(choice.name in names or choice.mutable or choice.name.startswith("@") for choice in choices):
            self.refuse(f"{name} chooses something under the name of something else")
        self.term(f"the guard of {transition.name}", transition.guard, transition.parameters, choices)
        state = self.model.state_symbols
        if len(transition.modified) != len(transition.updates):
            self.refuse(f"{name} changes a symbol twice")
        for update in transition.updates:
            if update.symbol not in state:
                self.refuse(f"{name} changes {update.symbol.name}, which cannot change by itself")
            places = tuple(variable.sort for variable in update.variables)
            fits = places == update.symbol.arguments and update.value.sort is update.symbol.sort
            if not fits or not {*update.variables}.isdisjoint(transition.parameters):
                self.refuse(f"{name} gives {update.symbol.name} a value of another kind")
            self.require_distinct("places", [variable.name for variable in update.variables])
            self.term(name, update.value, (*update.variables, *transition.parameters), choices)

    def term(self, where: str, term: Term, free: Iterable[Var], more: Iterable[Symbol]) -> None:
        """The term speaks of known symbols in one state, and of no variables but these."""
        if not term.free <= set(free):
            self.refuse(f"{where} has a variable that nothing binds")
        unknown = symbols_of(term) - self.known - set(more)
        if unknown:
            self.refuse(f"{where} speaks of {', '.join(sorted(map(str, unknown)))}")
