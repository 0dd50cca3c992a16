"""The form for every n means what the text means: properties between rounds, names, sets that may not exist, odd bounds."""

from __future__ import annotations

from random import Random

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import parse_rounds
from quorate.logic.transform import symbols_of
from quorate.methods.heardof.check import check
from quorate.methods.heardof.prove import prove
from quorate.methods.heardof.single import single
from quorate.models.evaluation import RoundsError
from quorate.models.forms import NoForm, relational_form
from quorate.models.quorums import Translation, relational
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from quorate.proof.twins.choices import every
from quorate.proof.twins.rounds import RoundTwin
from round_comparison import compare_form, layers

LIMITS = Limits(timeout=2.0)
STATE = "state\n  x: value = proposal\n  y: bool = true\n"
UNIVALENT = "univalent v: forall p. x(p) = v\n"
SEND = "  send <x> to all\n"


def read(text: str) -> RoundModel:
    return parse_rounds(Source("small.rounds", f"algorithm Small\n{text}")).model


def proved(text: str) -> set[str]:
    """What is proved for every n."""
    try:
        proof = prove(read(text), LIMITS)
    except RoundsError:
        return set()
    return {item.name for item in proof.relational.safety if item in proof.proved}


def violated(text: str, n: int) -> set[str]:
    return {result.property for result in check(read(text), n, {}).results if result.verdict == "violated"}


MIDDLE = (
    f"{STATE}round\n{SEND}  if #<_> > {{bound}}: y := false\nround\n{SEND}  y := true\nsafety [mine] forall p. y(p)\n"
    f"{UNIVALENT}"
)


def test_a_property_holds_between_rounds_too() -> None:
    assert violated(MIDDLE.format(bound=2), 3) == {"mine"}
    assert proved(MIDDLE.format(bound=2)) == set()
    assert proved(MIDDLE.format(bound=2).replace("false\nround", "true\nround")) == {"mine"}


def test_single_phases_look_between_rounds() -> None:
    text = MIDDLE + "property agreement\n"
    decides = text.replace("  y := true\n", "  y := true\n  if all received are <v> and #<_> = n: decide v\n")
    for bound, verdict in (("2", "violated"), ("n", "proved")):
        found = single(read(decides.format(bound=bound)), 3, None, LIMITS)
        assert {result.property: result.verdict for result in found.results}["mine"] == verdict


@pytest.mark.parametrize(
    "decision", ["decide one v of <v>", "decide ?", "if #<_> > 1: decide x\n  if #<_> > 1: decide ?"]
)
def test_violations_of_decisions_stay(decision: str) -> None:
    """Agreement, validity and irrevocability need no memory: what was decided in the middle of a phase is seen at its end."""
    text = f"{STATE}round\n{SEND}  {decision}\nround\n{SEND}  y := true\nproperty agreement, validity, irrevocability\n"
    twin = RoundTwin(read(text), 2, 2, {})
    for before in [state for layer in list(layers(twin, 3))[1::2] for state in layer]:
        for _, after in every(lambda choices, at=before: twin.step(at, choices)):
            assert set(twin.falsified(before)) <= set(twin.falsified(after))


def test_names_do_not_capture() -> None:
    """`p1` and a 0, `p` and a 10: two variables, not one."""
    names = "a, b, c, d, e, f, g, h, i"
    text = f"{STATE}round\n{SEND}safety [same] forall p1. exists {names}. forall p. x(p) = x(p1)\n{UNIVALENT}"
    assert violated(text, 4) == {"same"} and proved(text) == set()


@pytest.mark.parametrize(
    "formula, holds",
    [
        ("forall p. exists p. x(p) = x(p)", True),
        ("forall p. (exists q. x(q) = x(p)) and forall q. exists p. x(p) = x(q)", True),
        ("exists p. forall q, r. x(q) = x(p)", False),
        ("forall Q. #{P : forall Q. x(P) = x(Q) or x(P) != x(Q)} >= n", True),
        ("forall Q. #{P : x(P) = x(Q)} >= n", False),
        ("forall P, M, N, V. x(P) = x(M) or x(N) = x(N)", True),
        ("forall q, q_1. exists q. x(q) != x(q_1)", False),
        ("forall q, q_1. exists q. x(q) = x(q_1)", True),
    ],
)
def test_names_that_hide_others(formula: str, holds: bool) -> None:
    text = f"{STATE}round\n{SEND}safety [mine] {formula}\n{UNIVALENT}"
    assert (violated(text, 2) == set()) == holds
    assert proved(text) == ({"mine"} if holds else set())


@pytest.mark.parametrize("name", ["univalence", "decisions_stay", "x_value", "y_true", "mine"])
def test_properties_named_like_lemmas(name: str) -> None:
    text = f"{STATE}round\n{SEND}property agreement\nsafety [{name}] forall p. y(p)\n{UNIVALENT}"
    model = read(text)
    names = [item.name for item in relational(model)[0].properties]
    assert len(names) == len(set(names)) and proved(text) == {"agreement", name}


@pytest.mark.parametrize("bound", ["n", "n + 1", "2*n", "0 - 1", "n/3 + 1/2", "5*n/7", "max(1, n - 2)", "n - 3"])
@pytest.mark.parametrize("operator", [">", ">=", "<", "<=", "=", "!="])
def test_bounds_that_no_set_reaches(operator: str, bound: str) -> None:
    """Whatever the bound, every phase of the algorithm is one of its form, with one process and with three."""
    text = f"{STATE}round\n{SEND}  if #<x> {operator} {bound}: x := smallest most frequent v of <v>\n"
    text += f"  if #<_> {operator} {bound}: decide x\nproperty agreement\nsafety [some] #{{q : y(q)}} > n/2\n"
    model = read(text)
    for n in (1, 2, 3):
        compare_form(model, n, 2, {}, Random(n), 2)


def test_a_phase_that_safe_stops_half_way() -> None:
    """A run may end in the middle of a phase; the form has whole phases only, so that `safe` must let them end."""
    body = f"{STATE}round\n{SEND}  decide one v of <v>\nround\n{SEND}  y := true\n"
    for predicate, whole in (
        ("forall p. #HO(p, 2) > n", False),
        ("forall p. HO(p, 1) = HO(p, 2)", False),
        ("forall p. #HO(p, 1) > n", True),
        ("forall p, q. HO(p, 2) meets HO(q, 2) and #HO(p, 2) > n/2", True),
        ("forall p. #HO(p, 2) <= 1", True),
        ("forall p. #HO(p, 2) <= 1 and p in HO(p, 2)", False),
        ("forall p. HO(p, 1) <= HO(p, 2)", True),
        ("not exists p. #HO(p, 2) <= n/2", True),
    ):
        model = read(f"{body}safe {predicate}\nproperty agreement\n")
        if whole:
            relational_form(model)
        else:
            with pytest.raises(NoForm):
                relational_form(model)


def test_flags_only_where_phases_have_several_rounds() -> None:
    assert Translation(read(f"{STATE}round\n{SEND}safety [mine] forall p. y(p)\n")).broken == {}
    form = relational_form(read(MIDDLE.format(bound=2)))
    assert [symbol.name for symbol in symbols_of(form.safety[0].formula) if not symbol.arguments] == ["mine.broken"]
