"""What the checker refuses before it asks anything: models in which a symbol is not what it claims to be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.session import Limits
from quorate.lang import parse
from quorate.logic.terms import BOOL, TRUE, Iff, Symbol, Var, conj, neg
from quorate.methods.explicit.check import Options, check
from quorate.methods.induction.induct import certificate, induct
from quorate.models.relational import CyclicDefinitions, Derived, Named, RelationalModel, Transition, Update
from quorate.models.semantics import with_derived
from quorate.models.source import Source
from quorate.proof.certificates import Certificate, CertificateError, certify
from quorate.proof.checker import recheck, sections
from quorate.proof.wellformed import expanded

BASE, MID, TOP = (Symbol(name, (), BOOL, mutable=True) for name in ("base", "mid", "top"))
SET = Transition("t", (), (), TRUE, (Update(BASE, (), TRUE),))
MODEL = RelationalModel(
    name="model",
    language="ivy",
    sorts=(),
    symbols=(BASE, MID, TOP),
    derived=(Derived(TOP, Iff(TOP(), MID())), Derived(MID, Iff(MID(), BASE()))),
    axioms=(),
    initial=(Named("init", neg(BASE())),),
    transitions=(SET,),
    safety=(Named("safe", neg(TOP())),),
    invariants=(),
    source=Source("model.ivy", ""),
)


def proof(model: RelationalModel) -> Certificate:
    """The certificate that the safety properties are inductive, whether they are or not."""
    return certify(model, model.safety, model.safety, {})


def test_definitions_are_kept_in_the_order_of_their_use() -> None:
    assert [item.symbol for item in MODEL.derived] == [MID, TOP]
    assert MODEL.expand(conj(TOP(), MID())) is BASE()


def test_a_definition_of_a_definition_is_not_taken_for_untouched() -> None:
    names = [obligation.name for section in sections(MODEL, proof(MODEL)) for obligation in section.obligations]
    assert "t preserves safe" in names
    outcomes = list(recheck(MODEL, proof(MODEL), 5.0, 1024, 1))
    assert [outcome.obligation.name for outcome in outcomes if not outcome.accepted] == ["t preserves safe"]
    (result,) = check(Instance(MODEL, {}), Options(engine="reference")).results
    assert result.verdict == "violated"
    (result,) = induct(MODEL, Limits(timeout=5.0, jobs=1)).results
    assert result.verdict == "violated"


def test_values_of_derived_symbols_are_ready_when_they_are_needed() -> None:
    from quorate.logic.structures import Structure

    state = with_derived(MODEL, Structure({}, {BASE: {(): True}}))
    assert state.tables[TOP] == {(): True}


def test_definitions_in_a_circle_are_refused() -> None:
    circle = (Derived(TOP, Iff(TOP(), MID())), Derived(MID, Iff(MID(), TOP())))
    with pytest.raises(CyclicDefinitions, match="mid, top"):
        replace(MODEL, derived=circle)
    with pytest.raises(CyclicDefinitions, match="two definitions"):
        replace(MODEL, derived=(*MODEL.derived, MODEL.derived[0]))


def test_a_derived_symbol_that_is_left_is_refused() -> None:
    vague = replace(MODEL, derived=(Derived(MID, neg(conj(MID(), BASE()))), MODEL.derived[1]))
    with pytest.raises(CertificateError, match="left after"):
        expanded(vague, TOP())
    with pytest.raises(CertificateError, match="no explicit definition"):
        sections(vague, proof(vague))


NODE = parse(Source("p.pyv", "sort node\n")).model.sorts[0]
X = Var("X", NODE)
RIGID = Symbol("rigid", (), BOOL)
BROKEN = {
    "changes mid, which cannot change": replace(MODEL, transitions=(replace(SET, updates=(Update(MID, (), TRUE),)),)),
    "changes a symbol twice": replace(MODEL, transitions=(replace(SET, updates=SET.updates * 2),)),
    "two properties are called safe": replace(MODEL, safety=MODEL.safety * 2),
    "two symbols are called mid": replace(MODEL, symbols=(*MODEL.symbols, Symbol("mid", (NODE,), BOOL))),
    "the axiom wrong speaks of what can change": replace(MODEL, axioms=(Named("wrong", neg(TOP())),)),
    "speaks of rigid": replace(MODEL, transitions=(replace(SET, guard=RIGID()),)),
    "under the name of something else": replace(
        MODEL, transitions=(replace(SET, choices=(Symbol("mid", (NODE,), BOOL),)),)
    ),
    "a value of another kind": replace(MODEL, transitions=(replace(SET, updates=(Update(BASE, (X,), TRUE),)),)),
    "rigid is defined by what can change": replace(
        MODEL, symbols=(*MODEL.symbols, RIGID), derived=(*MODEL.derived, Derived(RIGID, Iff(RIGID(), BASE())))
    ),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_models_that_are_refused(problem: str) -> None:
    with pytest.raises(CertificateError, match=problem):
        sections(BROKEN[problem], proof(BROKEN[problem]))


IMPLICIT = """sort node
mutable relation held(node)
derived relation marked(node): marked(N) -> held(N)
derived relation some: some <-> exists N. marked(N)
init !held(N)
transition take(n: node)
  modifies held
  held'(N) <-> held(N) | N = n
transition drop()
  modifies held
  !held'(N)
safety [within] marked(N) -> held(N)
safety [never] !some
"""


def test_a_relation_that_a_formula_only_restricts_is_chosen_anew_in_each_step() -> None:
    model = parse(Source("implicit.pyv", IMPLICIT)).model
    assert all("marked" in {symbol.name for symbol in item.modified} for item in model.transitions)
    results = check(Instance(model, {model.sorts[0]: 2}), Options(engine="reference", keep_going=True)).results
    assert {result.property: result.verdict for result in results} == {"within": "proved", "never": "violated"}
    safe = replace(model, safety=model.safety[:1])
    found = certificate(induct(safe, Limits(timeout=5.0, jobs=1)))
    assert found is not None and all(outcome.accepted for outcome in recheck(safe, found, 5.0, 1024, 1))
