"""One protocol whose invariants are looked for: what all attempts share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement, product

from quorate.engines.smt.session import Limits
from quorate.logic.structures import Structure, cases
from quorate.logic.terms import BOOL, Apply, Exists, Sort, Symbol, Term, Var, conj
from quorate.logic.transform import conjuncts, nnf, subterms
from quorate.methods.induction.obligations import step_of
from quorate.methods.inference.aliases import aliases
from quorate.methods.inference.badness import Origin, origins
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.facts import lasting
from quorate.methods.inference.houdini import Deadline
from quorate.methods.inference.language import Aliases, Block, Language, standard_atoms, total_orders
from quorate.methods.inference.questions import Grounds, Question
from quorate.methods.inference.samples import Sample, samples
from quorate.methods.inference.shapes import Shape, shapes
from quorate.methods.inference.states import States, with_derived
from quorate.methods.inference.walks import walks
from quorate.models.relational import Derived, Named, RelationalModel, Transition
from quorate.models.semantics import state_of, successor
from quorate.models.slicing import slice_for_safety
from quorate.proof.certificates import Certificate

Progress = Callable[[str], None]

LARGEST = 4
"""Questions are asked about sorts of at most that size at first, ordered ones being one larger."""
SEVERAL, MUCH_MORE = 4, 11
"""If axioms want more elements than two of each sort: how many more, together, several sorts may have; and one of them has fewer
than so many more."""
MOST_ENTRIES, AT_MOST = 1500, 4000
"""Questions are asked about states with at most that many entries, at first and later."""
MOST_ROWS = 150_000
MOST_CASES = 20_000
"""Lemmas with more cases would make every question too large."""
WALKED, STEPS = ((3, 3), (4, 7)), 40
"""The sizes, of ordered sorts the second ones, over which random runs are taken, and how many steps these have."""


@dataclass
class Found:
    """The proof, once there is one, and what it took."""

    model: RelationalModel
    invariants: tuple[Named, ...] = ()
    certificate: Certificate | None = None
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For every invariant, the transitions that would break something else without it."""
    queries: int = 0
    counterexamples: int = 0


class Task:
    """One protocol, with what all attempts share.  Its invariants have been established: they are used wherever they help."""

    assumes_safety = True
    """Whether a step starts from a state in which the safety properties hold, since they are shown to be inductive."""

    def __init__(
        self,
        model: RelationalModel,
        limits: Limits,
        seed: int,
        until: Deadline,
        progress: Progress,
        states: Sequence[States] | None = None,
        ghosts: bool = False,
    ) -> None:
        """`states`: reachable ones, where they are known; otherwise small instances are searched and random runs taken.

        `ghosts`: whether also that is looked at which safety does not depend on.
        """
        self.protocol, self.limits, self.seed, self.until, self.progress = model, limits, seed, until, progress
        self.model = model = model if ghosts else slice_for_safety(model)
        """The part of the protocol that is looked at."""
        self.orders = total_orders(model)
        self.grounds = Grounds(model, self.orders)
        self.least = least_sizes(self.grounds)
        exist = [t for axiom in model.axioms for t in subterms(nnf(axiom.formula)) if isinstance(t, Exists)]
        self.found = {variable.sort for term in exist for variable in term.variables}
        """The sorts in which axioms say that there is an element."""
        self._aliases: dict[tuple[tuple[tuple[Sort, int], ...], tuple[Var, ...]], Aliases] = {}
        """By the variables and constants of a language."""
        self.samples: list[Sample] = []
        self.walked: list[States] = []
        if states is None:
            progress("collecting samples")
            self.samples = list(samples(model, self.least, self.orders, seed))
            self.walked = list(self.walks(WALKED, STEPS, seed))
        self.states = [*(states or ()), *(item.states for item in self.samples), *self.walked]
        self.first_sizes = self.sizes(next(shapes(model)))
        self.safe = {item.name: conj(*conjuncts(item.formula)) for item in model.safety}
        """The safety properties, with quantifiers where they belong: over small parts."""
        self.origins, self.facts = self._behind()

    def _behind(self) -> tuple[list[Origin], list[Term]]:
        """Where relations come from; and what transitions leave behind, if more is known about the former by that."""
        assumed = list(self.safe.values()) if self.assumes_safety else []
        said = [item.formula for item in self.model.invariants]
        assumed += [formula for formula in said if cases(formula, self.first_sizes) <= MOST_CASES]

        def found(known: Sequence[Term], together: bool) -> list[Origin]:
            listed = origins(self.grounds, self.first_sizes, known, together)
            return [origin for origin in listed if cases(origin.lemma, self.first_sizes) <= MOST_CASES]

        plain = found(assumed, False)
        facts = lasting(self.grounds, self.first_sizes, assumed, MOST_CASES) if plain else []
        if facts:
            more = found([*assumed, *facts], True)
            known = {part for origin in plain for part in origin.parts}
            if any(part not in known for origin in more for part in origin.parts):
                known |= {part for origin in found(assumed, True) for part in origin.parts}
                if any(part not in known for origin in more for part in origin.parts):
                    return more, facts
        return plain, []

    @cached_property
    def with_ghosts(self) -> Task:
        """The same task about all of the protocol."""
        return Task(self.protocol, self.limits, self.seed, self.until, self.progress, ghosts=True)

    def walks(self, walked: Sequence[tuple[int, int]], steps: int, seed: int) -> Iterator[States]:
        """States of random runs of larger instances, of ordered sorts the second sizes."""
        sorts = [sort for sort in self.model.sorts if sort.uninterpreted]
        for size, ordered in walked:
            sizes = {sort: max(self.least[sort], ordered if sort in self.orders else size) for sort in sorts}
            found = walks(self.grounds, sizes, steps, seed)
            if found is not None:
                yield found

    @property
    def known(self) -> tuple[Named, ...]:
        """What holds in all reachable states of the protocol: its invariants, and where relations come from."""
        return self.protocol.invariants + self.named(self.behind)

    @property
    def behind(self) -> list[Term]:
        """Where relations come from, and what transitions leave behind."""
        return list(dict.fromkeys([*(origin.lemma for origin in self.origins), *self.facts]))

    @property
    def lemmas(self) -> dict[str, Term]:
        """What is known and can be used over small sizes."""
        said = [item for item in self.model.invariants if cases(item.formula, self.first_sizes) <= MOST_CASES]
        return {item.name: item.formula for item in self.known if item in said or item not in self.protocol.invariants}

    def named(self, formulas: Sequence[Term]) -> tuple[Named, ...]:
        """Formulas with names that no property of the protocol has."""
        taken = {item.name for item in self.protocol.properties}
        names = [name for i in range(1, len(formulas) + len(taken) + 1) if (name := f"inferred{i}") not in taken]
        return tuple(Named(name, formula) for name, formula in zip(names, formulas, strict=False))

    def forget(self, formulas: Set[Term]) -> bool:
        """Of what was known, no longer rely on these; True if that changed something."""
        invariants = tuple(item for item in self.protocol.invariants if item.formula not in formulas)
        origins = [origin for origin in self.origins if origin.lemma not in formulas]
        facts = [fact for fact in self.facts if fact not in formulas]
        if not formulas & {item.formula for item in self.known}:
            return False
        self.protocol = self.protocol.with_invariants(invariants)
        kept = tuple(item for item in self.model.invariants if item in invariants)
        self.model = self.model.with_invariants(kept)
        self.origins, self.facts = origins, facts
        return True

    def states_of(self, transition: Transition | None, structure: Structure) -> tuple[Structure, Structure | None]:
        """The state that a counterexample of the protocol describes, and the one after its step, of the part looked at."""
        before = state_of(self.protocol, structure)
        if transition is None:
            return state_of(self.model, before), None
        step = step_of(self.protocol.transition(transition.name), structure)
        after = successor(self.protocol, before, step)
        assert isinstance(after, Structure), after
        return state_of(self.model, before), state_of(self.model, after)

    def language(
        self, shape: Shape, constants: Sequence[Var] = (), unspoken: Collection[Symbol] = (), brief: bool = False
    ) -> Language:
        """The language of a shape over constants; some symbols can be left out.

        If `brief`, constants of the protocol that change are only spoken of by relations with one argument, and in orders.
        """
        blocks = []
        for sort, count in shape.variables.items():
            names = [Var(f"{sort.name.upper()}{i + 1}", sort) for i in range(count)]
            blocks.append(Block(sort, tuple(names), self.orders.get(sort)))
        model = replace(self.model, symbols=tuple(s for s in self.model.symbols if s not in unspoken))
        atoms = [a for a in standard_atoms(model, blocks, constants) if not brief or self._is_brief(a)]
        key = tuple(shape.variables.items()), tuple(constants)
        if key not in self._aliases:
            self._aliases[key] = aliases(model, blocks, constants, self.orders, atoms)
        return Language(blocks, constants, atoms, shape.literals, shape.total, self._aliases[key], shape.weight)

    def _is_brief(self, atom: Term) -> bool:
        if not isinstance(atom, Apply) or len(atom.args) == 1 or atom.symbol in self.orders.values():
            return True
        return not any(isinstance(arg, Apply) and not arg.args and arg.symbol.mutable for arg in atom.args)

    def extended(self, derived: Sequence[Derived]) -> Task:
        """The same task with more derived symbols to speak of."""
        part = copy(self)
        part.protocol, part.model = (
            replace(model, symbols=(*model.symbols, *(d.symbol for d in derived)), derived=(*model.derived, *derived))
            for model in (self.protocol, self.model)
        )
        part.grounds, part._aliases = Grounds(part.model, self.orders), {}
        part.states = [with_derived(part.model, states) for states in self.states]
        return part

    def candidates(self, language: Language) -> Candidates:
        """What has to be enumerated for a language: rows of the samples."""
        found = Candidates(language)
        for states in self.states:
            each = sum(group.count for group in language.groups(states.sizes))
            count = min(states.count, max(1, MOST_ROWS // max(1, each)))
            for start in range(0, count, 2000):
                found.keep(language.rows(states.part(start, min(start + 2000, count)), {}))
        return found

    def sizes(self, shape: Shape, constants: Sequence[Var] = ()) -> dict[Sort, int]:
        """Sizes for questions: room for the variables of a clause, the parameters of a step and the constants, if feasible."""
        wanted: dict[Sort, int] = {}
        for sort, count in shape.variables.items():
            count += sum(constant.sort is sort for constant in constants)
            steps = [sum(p.sort is sort for p in t.parameters) for t in self.model.transitions]
            most = LARGEST + (sort in self.orders)
            wanted[sort] = max(self.least[sort], min(most, count + max([0, *steps]) + (sort in self.found)))
        while entries(self.model, wanted) > MOST_ENTRIES:
            smaller = [sort for sort in wanted if wanted[sort] > self.least[sort]]
            if not smaller:
                break
            wanted[max(smaller, key=lambda sort: (wanted[sort], -shape.variables[sort]))] -= 1
        for changes in sorted(product((0, 1, -1), repeat=len(wanted)), key=lambda c: (sum(map(abs, c)), -sum(c))):
            sizes = {s: n + d for (s, n), d in zip(wanted.items(), changes, strict=True)}
            if min(sizes.values(), default=1) > 0 and Question(self.grounds(sizes)).solve(1):
                return sizes
        return wanted


def least_sizes(grounds: Grounds) -> dict[Sort, int]:
    """The smallest sizes, two or more, of which there are initial states; twos, if there are none a little larger."""
    model = grounds.model
    sorts = [sort for sort in model.sorts if sort.uninterpreted]
    initial = [item.formula for item in model.initial]
    for more in range(MUCH_MORE):
        of_one_sort = ((sort,) * more for sort in sorts)
        for larger in combinations_with_replacement(sorts, more) if more <= SEVERAL else of_one_sort:
            sizes = {sort: 2 + larger.count(sort) for sort in sorts}
            if Question(grounds(sizes), initial).solve(1):
                return sizes
    return dict.fromkeys(sorts, 2)


def grown(sizes: Mapping[Sort, int], model: Structure | None) -> dict[Sort, int]:
    """Sizes larger by one, at least where a model that is a counterexample has more elements."""
    return {sort: size + (model is None or model.sizes[sort] > size) for sort, size in sizes.items()}


def entries(model: RelationalModel, sizes: Mapping[Sort, int]) -> int:
    total = 0
    for symbol in model.symbols:
        entries = 1 if symbol.sort is BOOL else sizes.get(symbol.sort, len(symbol.sort.elements) or 1)
        for argument in symbol.arguments:
            entries *= 2 if argument is BOOL else sizes.get(argument, len(argument.elements) or 1)
        total += entries
    return total
