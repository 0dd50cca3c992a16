"""The strongest inductive set of a language, against brute force over all states of an instance."""

from itertools import combinations, product

import numpy
import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.explicit.reference import Reference
from quorate.lang import parse
from quorate.logic.terms import Var, neg
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.houdini import Layer, Search
from quorate.methods.inference.language import Block, Language, standard_atoms
from quorate.methods.inference.questions import Grounds, Question
from quorate.methods.inference.states import from_instance
from quorate.models.source import Source

TOKEN = """\
sort node
mutable relation has(node)
mutable relation sent(node)
init has(N) & has(M) -> N = M
init !sent(N)
transition send(n: node, m: node)
  modifies has, sent
  & has(n)
  & (has'(N) <-> has(N) & N != n)
  & (sent'(N) <-> sent(N) | N = m)
transition receive(n: node)
  modifies has, sent
  & sent(n)
  & (sent'(N) <-> sent(N) & N != n)
  & (has'(N) <-> has(N) | N = n)
safety has(N) & has(M) -> N = M
"""

FLAGS = """\
sort thread
mutable relation wants(thread)
mutable relation inside(thread)
mutable constant turn: thread
init !wants(T) & !inside(T)
transition ask(t: thread)
  modifies wants, turn
  & (wants'(T) <-> wants(T) | T = t)
  & turn' != t
transition enter(t: thread)
  modifies inside
  & wants(t) & (turn = t | forall T. T != t -> !wants(T))
  & (inside'(T) <-> inside(T) | T = t)
transition leave(t: thread)
  modifies wants, inside
  & inside(t)
  & (inside'(T) <-> inside(T) & T != t)
  & (wants'(T) <-> wants(T) & T != t)
safety inside(T) & inside(S) -> T = S
"""


def _states(system):
    return [(values, 0) for values in product(*(range(size) for size in system.fields))]


def _rows(instance, language, state):
    """The literals that are false, for every assignment."""
    array = numpy.array([[*state[0], 0]], numpy.uint8)
    found = language.rows(from_instance(instance, array), {})
    return [
        {literal for literal in range(language.literals) if int(row[literal // 64]) >> literal % 64 & 1}
        for row in found
    ]


def brute_force(instance, language, backwards, start):
    """The clauses of the greatest set that holds in the states to start from and survives every step."""
    system = instance.system
    reference = Reference(system)
    states = _states(system)
    rows = {state: _rows(instance, language, state) for state in states}
    steps = [(state, after) for state in states for after, _, _ in reference.successors(state)]
    if backwards:
        steps = [(after, before) for before, after in steps]
    clauses = {
        frozenset(chosen)
        for size in range(1, language.size + 1)
        for chosen in combinations(range(language.literals), size)
        if len({literal // 2 for literal in chosen}) == size
    }

    def fails(clause, state):
        return any(clause <= row for row in rows[state])

    clauses = {clause for clause in clauses if not any(fails(clause, state) for state in start(reference, states))}
    while True:
        allowed = {state for state in states if not any(fails(clause, state) for clause in clauses)}
        wrong = {c for c in clauses for before, after in steps if before in allowed and fails(c, after)}
        if not wrong:
            return clauses
        clauses -= wrong


class Small:
    """A protocol over two elements, with all that a search in a small language is about."""

    def __init__(self, text, backwards=False):
        self.model = parse(Source("small.pyv", text)).model
        sort = self.model.sorts[0]
        sizes = {sort: 2}
        self.instance, self.backwards = Instance(self.model, sizes), backwards
        blocks = [Block(sort, (Var("X1", sort), Var("X2", sort)))]
        self.language = Language(blocks, (), standard_atoms(self.model, blocks, ()), 2)
        grounds = Grounds(self.model, {})
        self.bad = Question(grounds(sizes), [neg(self.model.safety[0].formula)])
        initial = Question(grounds(sizes), [item.formula for item in self.model.initial])
        self.questions = [self.bad if backwards else initial]
        self.questions += [Question(grounds(sizes, transition)) for transition in self.model.transitions]

    def candidates(self):
        begin, candidates = self.questions[0], Candidates(self.language)
        assert begin.solve(1)
        candidates.keep(self.language.rows(*begin.read(False)))
        candidates.enumerate()
        return candidates

    def expected(self):
        def start(reference, states):
            if self.backwards:
                return [state for state in states if reference.violated(state)]
            return list(reference.initial())

        return brute_force(self.instance, self.language, self.backwards, start)

    def with_swapped(self, clauses):
        swapped = dict(_swap(self.language))
        return {*clauses, *(frozenset(swapped[literal] for literal in clause) for clause in clauses)}


@pytest.mark.parametrize("text", [TOKEN, FLAGS])
@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_left_is_the_strongest_inductive_set(text, backwards):
    small = Small(text, backwards)
    candidates = small.candidates()
    search = Search(small.language, [], layers=[Layer(candidates, small.questions, backwards)])
    search.saturate()
    kept = small.with_swapped([frozenset(candidates.clause(int(number))) for number in candidates.alive()])
    expected = small.expected()
    assert kept <= expected
    assert all(any(clause <= weaker for clause in kept) for weaker in expected)


@pytest.mark.parametrize(
    ("text", "provable"),
    [
        (TOKEN.replace("(sent'(N) <-> sent(N) & N != n)", "(sent'(N) <-> sent(N))"), False),
        (TOKEN, True),
        (FLAGS, False),
        (FLAGS.replace("(turn = t | forall T. T != t -> !wants(T))", "(forall T. T != t -> !wants(T) & !inside(T))"), True),
    ],
)  # fmt: skip
def test_there_is_a_proof_if_and_only_if_the_strongest_inductive_set_is_one(text, provable):
    """Only what a goal leans on is established; nothing is missed by that."""
    small = Small(text)
    candidates = small.candidates()
    search = Search(small.language, [small.bad], layers=[Layer(candidates, small.questions)])
    found = search.prove()
    assert (found is not None) == provable
    expected = small.expected()
    assert small.with_swapped([frozenset(candidates.clause(number)) for _, number in found or ()]) <= expected
    reference, system = Reference(small.instance.system), small.instance.system
    bad = [state for state in _states(system) if reference.violated(state)]
    assert bad
    excluded = all(
        any(clause <= row for clause in expected for row in _rows(small.instance, small.language, state))
        for state in bad
    )
    assert excluded == provable


def _swap(language):
    """The literals with both variables exchanged."""
    domains, images = language.maps
    whole = [image for bits, image in zip(domains, images, strict=True) if bits == 3]
    (exchange,) = [image for image in whole if list(image) != list(range(language.literals))]
    return enumerate(int(literal) for literal in exchange)
