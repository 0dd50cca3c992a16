"""What the axioms make equal: one atom stands for all that say the same."""

from pathlib import Path

from quorate.lang import load
from quorate.logic.terms import Var
from quorate.methods.inference.aliases import aliases
from quorate.methods.inference.clauses import Candidates
from quorate.methods.inference.language import Block, Language, standard_atoms
from quorate.methods.inference.samples import sample

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"


def ring():
    model = load(LIBRARY / "ring_leader_election.pyv").model
    (node,) = [sort for sort in model.sorts if sort.name == "node"]
    (between,) = [symbol for symbol in model.symbols if len(symbol.arguments) == 3 and not symbol.mutable]
    return model, node, between


def test_rotations_of_a_ring_are_one_atom_and_reflections_its_negation():
    model, node, between = ring()
    x, y, z = (Var(name, node) for name in "XYZ")
    atoms = [between(x, y, z), between(y, z, x), between(z, y, x), between(x, x, y)]
    found = aliases(model, [Block(node, (x, y, z))], (), {}, atoms)
    assert found == {between(y, z, x): (atoms[0], False), between(z, y, x): (atoms[0], True), between(x, x, y): None}


def test_what_changes_has_no_alias():
    model, node, _ = ring()
    blocks = [Block(node, (Var("X", node), Var("Y", node)))]
    atoms = standard_atoms(model, blocks, ())
    mutable = {atom for atom in atoms if hasattr(atom, "symbol") and atom.symbol.mutable}
    assert mutable and mutable.isdisjoint(aliases(model, blocks, (), {}, atoms))


def test_no_clause_is_lost():
    """Every minimal clause of the whole language is implied by one that is left."""
    model, node, _ = ring()
    blocks = [Block(node, tuple(Var(name, node) for name in "XYZ"))]
    atoms = standard_atoms(model, blocks, ())
    same = aliases(model, blocks, (), {}, atoms)
    states = sample(model, dict.fromkeys(model.sorts, 3), {}, 0).states
    found = []
    for language in (Language(blocks, (), atoms, 3), Language(blocks, (), atoms, 3, aliases=same)):
        candidates = Candidates(language)
        candidates.keep(language.rows(states, {}))
        candidates.enumerate()
        found.append((language, candidates))
    (whole, all_clauses), (less, fewer) = found
    assert len(fewer.alive()) < len(all_clauses.alive())
    kept = {image for i in fewer.alive() for image in images(less, fewer.clause(i))}
    for number in all_clauses.alive():
        literals = [(whole.atoms[n // 2], bool(n % 2)) for n in all_clauses.clause(number)]
        if any(atom in same and same[atom] is None for atom, _ in literals):
            continue
        standing = [(same[a][0], s != same[a][1]) if a in same else (a, s) for a, s in literals]
        numbers = {2 * less.atoms.index(atom) + negated for atom, negated in standing}
        if any(n ^ 1 in numbers for n in numbers):
            continue
        assert any(clause <= numbers for clause in kept), literals


def images(language, clause):
    """The clause under all renamings of its variables."""
    yield frozenset(clause)
    for row in language.maps[1]:
        image = [int(row[n]) for n in clause]
        if min(image, default=0) >= 0:
            yield frozenset(image)
