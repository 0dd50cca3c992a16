"""Atoms that say the same: those about rigid symbols that the axioms make equal to another one, or to its negation.

On a ring, `between(A, B, C)` is `between(B, C, A)`; a clause in one of them has a twin in the other, and a clause of four
literals up to 81.  Equality is decided over small sizes: at worst, a language says less than it could.  Read `language` next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from random import Random

from quorate.logic.terms import Equal, Sort, Symbol, Term, Var
from quorate.logic.transform import symbols_of
from quorate.methods.inference.language import Aliases, Block
from quorate.methods.inference.questions import Grounded, Question
from quorate.models.relational import RelationalModel

LOOKS = 16
"""How many structures are looked at before a solver is asked."""
MOST_SIZE = 6


def aliases(
    model: RelationalModel,
    blocks: Sequence[Block],
    constants: Sequence[Var],
    orders: Mapping[Sort, Symbol],
    atoms: Sequence[Term],
) -> Aliases:
    """Which atoms can be done without: for each the one that stands for it, and whether negated; None if it is settled."""
    symbols = frozenset(s for s in model.symbols if not s.mutable and s not in model.derived_symbols)
    wanted = [atom for atom in atoms if symbols_of(atom) <= symbols]
    if len(wanted) < 2:
        return {}
    question = _question(model, symbols, blocks, constants, orders)
    if question is None:
        return {}
    ground = question.grounder
    literals = {atom: ground.formula(atom, question.before, question.constants) for atom in wanted}
    looks: dict[Term, int] = dict.fromkeys(wanted, 0)
    random = Random(0)
    for _ in range(LOOKS):
        question.shuffle(random)
        question.solve(1)
        values = question.solver.get_model() or []
        for atom, literal in literals.items():
            looks[atom] = 2 * looks[atom] + ((values[abs(literal) - 1] > 0) == (literal > 0))
    everywhere = 2**LOOKS - 1
    found: dict[Term, tuple[Term, bool] | None] = {}
    standing: dict[int, list[Term]] = {}
    for atom in sorted(wanted, key=lambda atom: (len(atom.free), not isinstance(atom, Equal))):
        seen, literal = looks[atom], literals[atom]
        if (seen == 0 and not question.solve(literal)) or (seen == everywhere and not question.solve(-literal)):
            found[atom] = None
            continue
        for other in standing.setdefault(min(seen, everywhere - seen), []):
            negated = looks[other] != seen
            same = question.circuit.iff(literals[other], -literal if negated else literal)
            if not question.solve(-same):
                found[atom] = other, negated
                break
        else:
            standing[min(seen, everywhere - seen)].append(atom)
    return found


def _question(
    model: RelationalModel,
    symbols: frozenset[Symbol],
    blocks: Sequence[Block],
    constants: Sequence[Var],
    orders: Mapping[Sort, Symbol],
) -> Question | None:
    """What rigid symbols can look like, over sizes with room for all variables and constants; None if that is not possible."""
    rigid = replace(
        model,
        symbols=tuple(symbol for symbol in model.symbols if symbol in symbols),
        axioms=tuple(item for item in model.axioms if symbols_of(item.formula) <= symbols),
        derived=(), initial=(), transitions=(), safety=(), invariants=(),
    )  # fmt: skip
    variables = tuple(chain.from_iterable(block.variables for block in blocks))
    known = [*variables, *constants, *(symbol() for symbol in symbols if not symbol.arguments)]
    sizes = {sort: 1 + sum(term.sort is sort for term in known) for sort in model.sorts if sort.uninterpreted}
    conditions = [condition for block in blocks for condition in block.condition(block.variables)]
    largest = max(sizes.values(), default=0)
    for least in range(1, largest + 1) if largest <= MOST_SIZE else ():
        enough = {sort: max(size, least) for sort, size in sizes.items()}
        question = Question(Grounded(rigid, enough, orders), conditions, (*variables, *constants))
        _number(question, [sort for sort in enough if sort not in orders])
        if question.solve(1):
            return question
    return None


def _number(question: Question, sorts: Sequence[Sort]) -> None:
    """The first of the variables and constants of a sort is its first element, the second one of the first two, and so on:
    elements have no names of their own, so they can be numbered like that."""
    for sort in sorts:
        values = [value for variable, value in question.constants.items() if variable.sort is sort]
        for place, value in enumerate(values, 1):
            question.circuit.require(question.circuit.disj(value[:place]))
