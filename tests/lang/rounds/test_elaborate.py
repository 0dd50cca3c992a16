"""Reading `*.rounds` files: what is refused, with which code and where; printing and reading back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from quorate.lang import load_rounds, parse_rounds
from quorate.lang.diagnostics import LanguageError
from quorate.lang.rounds.printer import print_model, show
from quorate.models.source import Source
from random_rounds import Generator, Wide

ROOT = Path(__file__).parents[3]
LIBRARY = sorted((ROOT / "protocols" / "rounds").rglob("*.rounds"))

HEAD = "algorithm A\nstate\n  x: value = proposal\n  t: time = 0\n  b: bool = false\n"
ROUND = "round\n  send <x, t> to all\n"


def codes(text: str) -> list[tuple[str, int]]:
    with pytest.raises(LanguageError) as caught:
        parse_rounds(Source("a.rounds", text))
    return [(item.code, item.span.line) for item in caught.value.diagnostics]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_library_is_read_and_printed(path: Path) -> None:
    model = load_rounds(path).model
    assert parse_rounds(Source(str(path), print_model(model))).model == model


@pytest.mark.parametrize("seed", range(50))
def test_random_algorithms_are_printed(seed: int) -> None:
    model = parse_rounds(Source("random.rounds", Generator(Random(seed), coordinators=seed % 2 == 0).text())).model
    assert parse_rounds(Source("random.rounds", print_model(model))).model == model


@pytest.mark.parametrize("seed", range(60))
def test_random_algorithms_with_every_construct_are_printed(seed: int) -> None:
    family = ("rounds", "coordinators", "crashes", "omissions", "steps")[seed % 5]
    model = parse_rounds(Source("random.rounds", Wide(Random(seed), family).text())).model
    assert parse_rounds(Source("random.rounds", print_model(model))).model == model


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  x := y\n", [("Q0201", 8)]),
        ("  x := b\n", [("Q0203", 8)]),
        ("  if #<v, _> > n/2: x := x\n", [("Q0201", 8)]),
        ("  if #<_> > n/2: x := x\n", [("Q0501", 8)]),
        ("  if <v, v> received: x := v\n", [("Q0205", 8)]),
        ("  if t = 3: x := x\n", [("Q0502", 8)]),
        ("  if t + 1 > 2: x := x\n", [("Q0203", 8)]),
        ("  if n*n > 2: x := x\n", [("Q0502", 8)]),
        ("  if n/n > 2: x := x\n", [("Q0502", 8)]),
        ("  if (one v of <v, _>) = x: b := true\n", [("Q0502", 8)]),
        ("  if x(p) = x: b := true\n", [("Q0502", 8)]),
        ("  if coordinator(self) = self: b := true\n", [("Q0502", 8)]),
        ("  b := <v, _> received with (one w of <w, _>) = v\n", [("Q0502", 8)]),
        ("  b := #<one w of <w, _>, _> > 1\n", [("Q0502", 8)]),
        ("  if forall p. x(p) = x: b := true\n", [("Q0502", 8)]),
        ("  send <x> to all\n", [("Q0101", 8)]),
        ("  x := smallest v of <_, v>\n", [("Q0203", 8)]),
        ("  x := one v of <v, t>\n", []),
        ("  if b:\n  x := x\n", [("Q0101", 9)]),
        ("  if b < b: x := x\n", [("Q0203", 8)]),
        ("  x := proposal\n", [("Q0203", 8)]),
        ("  x := v\n  b := w\n", [("Q0201", 8), ("Q0201", 9)]),
    ],
)
def test_faulty_rounds(body: str, expected: list[tuple[str, int]]) -> None:
    text = HEAD + ROUND + body
    if expected:
        assert codes(text) == expected
    else:
        parse_rounds(Source("a.rounds", text))


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        ("safe forall p. #HO(p, 2) > n/2\n", "Q0502"),
        ("property agreemnt\n", "Q0201"),
        ("property termination\n", "Q0503"),
        ("safety [s] x = x\n", "Q0201"),
        ("safety [s] forall p. coordinator = p\n", "Q0201"),
        ("safe true\nsafe true\n", "Q0205"),
        ("step\n  b := true\n", "Q0503"),
        ("faults crashes 1\nsafe forall p. p in HO(p, 1)\n", "Q0503"),
        ("shared\n  y: value = proposal\n", "Q0203"),
        ("nonsense\n", "Q0101"),
    ],
)
def test_faulty_declarations(tail: str, code: str) -> None:
    assert [found for found, _ in codes(HEAD + ROUND + "  x := x\n" + tail)] == [code]


def test_an_algorithm_needs_a_round() -> None:
    assert codes(HEAD) == [("Q0503", 1)]


def test_all_errors_at_once() -> None:
    text = HEAD.replace("bool = false", "bool = 0") + ROUND + "  x := z\nproperty nothing\n"
    assert codes(text) == [("Q0203", 5), ("Q0201", 8), ("Q0201", 9)]


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        ("safe forall p. x(p) = ?\n", "Q0502"),
        ("safe phase > 1 or forall p. #HO(p, 1) > n/2\n", "Q0502"),
        ("sync exists p. decision(p) = ?\n", "Q0502"),
        ("safety [a] forall p. coordinator(p) = p\n", "Q0502"),
        ("safe forall p, p. HO(p, 1) = HO(p, 1)\n", "Q0205"),
        ("safety [a] true\nsafety [a] false\n", "Q0205"),
        ("property agreement\nsafety [agreement] true\n", "Q0205"),
        ("safety true\ninvariant [safety1] true\n", "Q0205"),
        ("parameter f with phase > f\n", "Q0502"),
        ("shared\n  r: value or ? = ?\n", "Q0503"),
    ],
)
def test_what_would_say_nothing_or_something_else(tail: str, code: str) -> None:
    """States where there are none, names that stand for two things, declarations that belong to another kind of algorithm."""
    assert [found for found, _ in codes(HEAD + ROUND + "  x := x\n" + tail)] == [code]


@pytest.mark.parametrize(
    "tail",
    ["faults crashes 1\n", "phases 2\n", "safe true\n", "sync true\n", "univalent v: forall p. x(p) = v\n"],
)
def test_steps_have_no_rounds(tail: str) -> None:
    text = "algorithm A\nstate\n  x: value = proposal\nshared\n  r: value or ? = ?\nstep\n  r := x\n"
    assert [found for found, _ in codes(text + tail)] == ["Q0503"]
    assert [found for found, _ in codes(text.replace("r := x", "if coordinator = self: r := x"))] == ["Q0503"]


def test_an_inner_name_hides_the_outer_one() -> None:
    text = HEAD + ROUND + "  x := x\nsafety [a] forall p. x(p) = ? or #{p : forall q, p_1. x(p) = x(q)} > 0 or b(p)\n"
    formula = parse_rounds(Source("a.rounds", text)).model.safety[0].formula
    assert formula is not None
    assert show(formula) == "forall p. x(p) = ? or #{p_1 : forall q, p_1_1. x(p_1) = x(q)} > 0 or b(p)"
