from quorate.lang import parse
from quorate.methods.induction.decidability import decidability
from quorate.models.source import Source


def pyv(text):
    return parse(Source("sample.pyv", text)).model


def cycles(model):
    """Each obligation with the cycle of its alternation graph, as text."""
    return {
        name: " ".join(f"{edge.source}>{edge.target}:{','.join(edge.causes)}" for edge in found.cycle)
        for name, found in decidability(model)
    }


VOTES = """
sort node
sort quorum
immutable relation member(node, quorum)
axiom [meet] forall Q, R. exists N. member(N, Q) & member(N, R)
mutable relation voted(node)
mutable relation chosen
init !voted(N)
init !chosen
transition vote(n: node)
  modifies voted
  & (voted'(N) <-> voted(N) | N = n)
transition choose(q: quorum)
  modifies chosen
  & (forall N. member(N, q) -> voted(N))
  & chosen'
"""


def test_every_obligation_is_looked_at_except_trivial_ones():
    model = pyv(VOTES + "safety [someone] chosen -> exists N. voted(N)\ninvariant [once] voted(N) -> voted(N)\n")
    assert set(cycles(model)) == {
        "initially someone",
        "vote preserves someone",
        "choose preserves someone",
        "initially once",
        "vote preserves once",
    }


def test_stratified_queries_are_decidable():
    model = pyv(VOTES + "safety [someone] chosen -> exists N. voted(N)\n")
    assert set(cycles(model).values()) == {""}
    assert all(found.decidable for _, found in decidability(model))
    [edge] = next(found for name, found in decidability(model) if name == "initially someone").edges
    assert (edge.source.name, edge.target.name, edge.causes) == ("quorum", "node", ("meet",))


def test_an_invariant_can_close_the_cycle_as_hypothesis():
    model = pyv(VOTES + "safety [quorum] chosen -> exists Q. forall N. member(N, Q) -> voted(N)\n"
                        "invariant [joined] forall N. exists Q. member(N, Q) | !chosen\n")  # fmt: skip
    found = cycles(model)
    assert found["initially joined"] == "", "negated it is harmless"
    assert found["choose preserves joined"] == "quorum>node:meet node>quorum:joined"
    assert found["choose preserves quorum"] == "quorum>node:meet,the negation of quorum node>quorum:joined"
    assert found["initially quorum"] == ""


def test_a_function_onto_its_own_sort_is_never_decidable():
    model = pyv("""
        sort node
        immutable function next(node): node
        mutable relation p(node)
        init !p(N)
        transition t(n: node)
          modifies p
          & p(next(n))
          & (p'(N) <-> p(N) | N = n)
        safety [s] !p(N)
        """)
    assert cycles(model) == {"initially s": "", "t preserves s": "node>node:function next"}


def test_a_quantifier_in_a_conditional_term_counts():
    model = pyv("""
        sort node
        sort tint
        immutable constant dark: tint
        immutable constant pale: tint
        immutable relation edge(node, node)
        mutable function look(node): tint
        mutable relation p
        init !p
        transition t()
          modifies p
          & (forall N. look(N) = (if exists M. edge(N, M) then dark else pale))
          & p'
        safety [s] !p
        """)
    assert cycles(model) == {"initially s": "", "t preserves s": "node>node:guard of t"}


def test_integers():
    model = pyv("mutable constant x: int\ninit x = 0\ntransition t()\n modifies x\n & x' = x + 1\nsafety [s] x >= 0\n")
    assert [found.describe() for _, found in decidability(model)] == [
        "uses integer arithmetic under quantifiers: not known to be decidable"
    ] * 2
