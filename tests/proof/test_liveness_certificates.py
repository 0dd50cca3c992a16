"""Certificates of liveness: what is altered is not accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic import sexpr
from quorate.logic.terms import TRUE, Forall, Var, conj, forall
from quorate.methods.liveness.live import Options, live
from quorate.models.relational import Named, RelationalModel
from quorate.models.source import Source
from quorate.proof import certificates, checker, liveness
from quorate.proof.counting import Counting
from quorate.proof.readings import readings

LIBRARY = Path(__file__).parents[2] / "protocols" / "liveness"


@pytest.fixture(scope="module")
def proof() -> tuple[RelationalModel, dict[str, Any]]:
    model = load(LIBRARY / "lease_lock.pyv").model
    outcome = live(model, Limits(jobs=1), Options(seconds=120))
    assert [result.verdict for result in outcome.results] == ["proved"], outcome.results
    assert "client is finite" in outcome.results[0].reason
    certificate = liveness.certify(model, [proved for proved, _ in outcome.proved])
    return model, json.loads(liveness.write(model, certificate))


def accepted(model: RelationalModel, document: dict[str, Any]) -> bool:
    """What `recheck` says of a certificate whose digest has been adapted."""
    body = {key: value for key, value in document.items() if key != "digest"}
    for item in body["properties"]:
        if item["proof"]:
            inner = {key: value for key, value in item["proof"].items() if key != "digest"}
            item["proof"] = {**inner, "digest": certificates.digest(inner)}
    try:
        found = liveness.read(model, {**body, "digest": certificates.digest(body)})
        return all(outcome.accepted for outcome in checker.discharge(liveness.sections(model, found), 10, 2048, 1))
    except certificates.CertificateError:
        return False


def test_certificate_is_accepted(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    assert accepted(model, json.loads(json.dumps(document)))


@pytest.mark.parametrize("number", range(6))
def test_altered_certificates_are_not(proof: tuple[RelationalModel, dict[str, Any]], number: int) -> None:
    model, document = proof
    document = json.loads(json.dumps(document))
    item = document["properties"][0]
    match number:
        case 0:
            item["stages"].pop()
        case 1:
            item["stages"].clear()
        case 2:
            item["claims"] = []
            item["proof"] = None
        case 3:
            item["claims"].append({"name": "easy", "formula": "(forall ((C client)) (not (waits C)))"})
        case 4:
            item["stages"][-1]["fairness"] = "grants"
        case 5:
            inserted = {"kind": "rank", "variables": 1, "formula": "(forall ((C client) (X client)) (waits X))"}
            item["stages"].insert(0, {**inserted, "fairness": None, "order": None})
    assert not accepted(model, document)


def test_certificates_belong_to_a_text_and_have_a_digest(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    with pytest.raises(certificates.CertificateError, match="digest"):
        liveness.read(model, {**document, "sha256": "0"})
    assert model.source is not None
    other = parse(Source(model.source.path, model.source.text + "\n# another line\n")).model
    with pytest.raises(certificates.CertificateError, match="another version"):
        liveness.read(other, document)


@pytest.mark.parametrize(
    "changed",
    [
        ("fairness [grants] strong", "fairness [grants] weak"),
        ("fairness [expires] weak forall C. expire(C)\n", ""),
    ],
)
def test_the_argument_does_not_prove_a_broken_protocol(
    proof: tuple[RelationalModel, dict[str, Any]], changed: tuple[str, str]
) -> None:
    model, document = proof
    assert model.source is not None and changed[0] in model.source.text
    broken = parse(Source(model.source.path, model.source.text.replace(*changed))).model
    assert broken.source is not None
    document = json.loads(json.dumps(document))
    document["sha256"] = broken.source.sha256
    for item in document["properties"]:
        item["proof"]["sha256"] = broken.source.sha256
    assert not accepted(broken, document)


# -- certificates that were made to deceive ------------------------------------------------------------------------------


def accepts(text: str, stages: list[dict[str, Any]], **fields: Any) -> bool:
    """Whether stages are accepted as a proof of the only liveness property of a protocol."""
    model = parse(Source("wrong.pyv", text)).model
    assert model.source is not None
    item = {"property": model.liveness[0].name, "monitored": False, "stages": stages, "claims": [], "proof": None}
    body = {
        "format": liveness.FORMAT,
        "version": liveness.VERSION,
        "protocol": "wrong.pyv",
        "sha256": model.source.sha256,
        "verdict": "proved",
        "properties": [{**item, **fields}],
    }
    return accepted(model, body)


def stage(kind: str, formula: str, fairness: str | None = None, order: str | None = None) -> dict[str, Any]:
    """A stage whose variables are those that the formula quantifies in front."""
    binders = formula.removeprefix("(forall (").split("))")[0] if formula.startswith("(forall") else ""
    return {"kind": kind, "variables": binders.count("("), "formula": formula, "fairness": fairness, "order": order}


COUNTER = """
mutable constant n: int
mutable relation good
init n = 0
init !good
transition tick()
  modifies n
  & new(n) = n + 1
"""


def test_integers_are_not_finitely_many() -> None:
    """The set of the integers above n shrinks forever."""
    assert not accepts(COUNTER + "liveness true ~> good\n", [stage("rank", "(forall ((x int)) (>= x n))")])
    strong = COUNTER + "fairness [f] strong forall X:int. good when X = n\nliveness true ~> good\n"
    assert not accepts(strong, [stage("fair", "(forall ((X int)) (not good))", "f")])


TOKEN = """
sort node
mutable relation at(node)
mutable relation good
init at(N)
init !good
transition move(n: node)
  modifies at
  & (new(at(N)) <-> N = n)
"""


@pytest.mark.parametrize(
    "formula",
    [
        "(forall ((x node)) (exists ((n node)) (and (at n) (= n x))))",
        "(forall ((x node)) (exists ((n_1 node)) (and (at n_1) (= n_1 x))))",
        "(forall ((n node)) (at n))",
        "(exists ((n node)) (not (at n)))",
        "(forall ((x node)) (forall ((n node)) (-> (at n) (= n x))))",
    ],
)
def test_variables_of_steps_are_not_captured(formula: str) -> None:
    """`move` has a parameter n; a formula that binds n, or has it as its own variable, means another n."""
    assert not accepts(TOKEN + "liveness true ~> good\n", [stage("rank", formula)])


def test_what_a_relation_that_changes_bounds_is_not_finite() -> None:
    model = parse(Source("bound.pyv", TOKEN + "mutable relation below(node, node)\nliveness true ~> good\n")).model
    node = model.sorts[0]
    x, y = Var("x", node), Var("y", node)
    (below,) = (symbol for symbol in model.symbols if symbol.name == "below")
    at = next(symbol for symbol in model.symbols if symbol.name == "at")
    for formula, variables in ((conj(below(x, y), at(y)), (x, y)), (below(x, x), (x,))):
        argument = liveness.Argument("liveness1", False, (liveness.Stage("rank", variables, formula),))
        argument = replace(argument, property=model.liveness[0].name)
        assert liveness.assumptions(model, argument) == ["node is finite"]


WAITS = TOKEN + "fairness [f] weak forall N. move(N) when at(N)\nliveness [p] true ~> good\n"


@pytest.mark.parametrize(
    "stages",
    [
        [],
        [stage("fair", "(forall ((N node)) (at N))", "f")],
        [stage("fair", "(forall ((N node)) true)", "f")],
        [stage("fair", "(forall ((N node)) false)", "f")],
        [stage("rank", "false"), stage("rank", "true")],
        [stage("rank", "(forall ((x node)) (not (at x)))"), stage("rank", "(forall ((x node)) (at x))")],
        [stage("fair", "(forall ((N node)) (at N))", "g")],
        [stage("fair", "(at missing)", "f")],
        [stage("fair", "(forall ((N node) (M node)) (and (at N) (at M)))", "f")],
    ],
)
def test_false_properties_are_not_accepted(stages: list[dict[str, Any]]) -> None:
    assert not accepts(WAITS, stages)
    assert not accepts(WAITS, stages, monitored=True)


def proof_of(text: str, safety: list[str], invariants: list[tuple[str, str]], **fields: Any) -> dict[str, Any]:
    sha256 = Source("wrong.pyv", text).sha256
    proof = certificates.Certificate("wrong.pyv", sha256, tuple(safety), tuple(invariants), {})
    return {**proof.to_json(), **fields}


@pytest.mark.parametrize("number", range(7))
def test_claims_need_a_proof_of_just_these(number: int) -> None:
    false, true = {"name": "a", "formula": "false"}, {"name": "a", "formula": "true"}
    match number:
        case 0:  # the proof is about another formula of the same name
            claims, proof = [false], proof_of(WAITS, ["a"], [("a", "true")])
        case 1:  # two claims share a name, and one of them is true
            claims, proof = [true, false], proof_of(WAITS, ["a"], [("a", "true")])
        case 2:
            claims, proof = [false, true], proof_of(WAITS, ["a"], [("a", "true")])
        case 3:  # an invariant that nothing keeps
            claims, proof = [true], proof_of(WAITS, ["a"], [("a", "true"), ("b", "(forall ((x node)) (at x))")])
        case 4:  # the claim is not closed
            claims, proof = [{"name": "a", "formula": "(at N)"}], proof_of(WAITS, ["a"], [("a", "true")])
        case 5:  # what holds in a small instance only
            claims, proof = [true], proof_of(WAITS, ["a"], [("a", "true")], cutoffs=[{"sort": "node"}])
        case _:
            claims, proof = [{"name": "a", "formula": "missing"}], proof_of(WAITS, ["a"], [("a", "true")])
    assert not accepts(WAITS, [stage("fair", "(forall ((N node)) (at N))", "f")], claims=claims, proof=proof)


def test_cutoffs_do_not_carry_invariants_over() -> None:
    """A proof by a cutoff has invariants of a small instance, which others need not have."""
    model = parse(Source("wrong.pyv", WAITS)).model
    argument = liveness.Argument("p", False, ())
    assert model.source is not None
    proof = certificates.Certificate("wrong.pyv", model.source.sha256, ("a",), (), {}, (), ({"sort": "node"},))
    certificate = liveness.certify(model, [liveness.Proved(argument, (Named("a", TRUE),), proof)])
    with pytest.raises(certificates.CertificateError, match="small instance"):
        liveness.sections(model, certificate)


def test_a_proof_under_strong_fairness_is_none_under_weak(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    assert model.source is not None
    weak = parse(Source(model.source.path, model.source.text.replace("] strong", "] weak"))).model
    assert weak.source is not None
    changed = json.loads(json.dumps(document).replace(model.source.sha256, weak.source.sha256))
    assert not accepted(weak, changed)


def test_quantified_formulas_are_read_as_they_were_written() -> None:
    """A closed rank that begins with a quantifier has no variables."""
    model = parse(Source("closed.pyv", TOKEN + "liveness [p] true ~> good\n")).model
    at = next(symbol for symbol in model.symbols if symbol.name == "at")
    x = Var("x", model.sorts[0])
    stages = (liveness.Stage("rank", (), forall((x,), at(x))), liveness.Stage("rank", (x,), at(x)))
    certificate = liveness.certify(model, [liveness.Proved(liveness.Argument("p", False, stages), (), None)])
    again = liveness.read(model, json.loads(liveness.write(model, certificate)))
    assert again.proved[0].argument.stages == stages


PASSED = """
finite sort node
immutable relation below(node, node)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom !below(X, X)
axiom X = Y | below(X, Y) | below(Y, X)
immutable constant a: node
immutable constant b: node
axiom a != b
mutable relation at(node)
init at(X) <-> X = a
transition pass(m: node, n: node)
  modifies at
  & at(m) & !at(n)WHERE
  & (new(at(X)) <-> at(X) & X != m | X = n)
transition drop(m: node)
  modifies at
  & at(m)
  & (new(at(X)) <-> at(X) & X != m)
liveness true ~> forall N. !at(N)
"""
AT = "(forall ((X node)) (at X))"
UP = "(forall ((X node) (Y node)) (below X Y))"


@pytest.mark.parametrize(
    "order",
    [
        None,
        UP,
        "(forall ((X node) (Y node)) (below Y X))",
        "(forall ((X node) (Y node)) (not (= X Y)))",
        "(forall ((X node) (Y node)) (or (below X Y) (= Y a)))",
        "(forall ((X node) (Y node)) true)",
        "(forall ((X node) (Y node)) (and (at X) (not (at Y))))",
        "(forall ((X node)) (below X X))",
        "(below a b)",
    ],
)
def test_what_is_no_order_proves_nothing(order: str | None) -> None:
    """A token that can be passed to anybody: it never has to be dropped."""
    text = PASSED.replace("WHERE", "")
    assert not accepts(text, [stage("rank", AT, None, order)])


def test_a_rank_along_an_order() -> None:
    """A token that is only passed upwards is dropped in the end; without the order this does not follow, nor downwards."""
    text = PASSED.replace("WHERE", " & below(m, n)")
    assert accepts(text, [stage("rank", AT, None, UP)])
    assert not accepts(text, [stage("rank", AT)])
    assert not accepts(text, [stage("rank", AT, None, "(forall ((X node) (Y node)) (below Y X))")])
    assert not accepts(text, [stage("rank", "(forall ((X node) (Y node)) (at X))", None, UP)])
    assert not accepts(text.replace("at(m) & !at(n)", "!at(n)"), [stage("rank", AT, None, UP)])


DOWN = "(forall ((X node) (Y node)) (below Y X))"
BELOW_A = "(forall ((X node)) (and (at X) (not (below a X))))"
BELOW_CAP = "(forall ((X node)) (and (at X) (not (below cap X))))"


def bounded(by: str, direction: str) -> str:
    """Tokens below an element are passed on, one way, or dropped, as long as there are any; there may be ever more nodes."""
    passed = PASSED.replace("finite sort", "sort").replace("liveness true ~> forall N. !at(N)", "")
    passed = passed.replace("at(m)", f"at(m) & !below({by}, m)").replace("WHERE", f" & {direction} & !below({by}, n)")
    return f"{passed}mutable constant cap: node\nliveness true ~> forall N. !at(N) | below({by}, N)\n"


@pytest.mark.parametrize(
    ("by", "direction", "formula", "order", "right"),
    [
        ("a", "below(m, n)", BELOW_A, UP, True),
        ("a", "below(n, m)", BELOW_A, DOWN, True),
        ("cap", "below(n, m)", BELOW_CAP, DOWN, True),
        ("cap", "below(m, n)", BELOW_CAP, UP, False),
        ("a", "below(m, n)", BELOW_A, DOWN, False),
    ],
)
def test_along_an_order_that_does_not_end(by: str, direction: str, formula: str, order: str, right: bool) -> None:
    """Below what never changes, tokens may go up; below something else, which nobody says is fixed, only down."""
    assert accepts(bounded(by, direction), [stage("rank", formula, None, order)]) is right


@pytest.mark.parametrize("formula", [AT, "(forall ((X node)) (and (at X) (not (below X a))))", DOWN])
def test_what_is_not_bounded_is_not_counted_along_an_order(formula: str) -> None:
    text = PASSED.replace("finite sort", "sort").replace("WHERE", " & below(m, n)")
    assert not accepts(text, [stage("rank", formula, None, UP)])


def test_other_versions_are_refused(proof: tuple[RelationalModel, dict[str, Any]]) -> None:
    model, document = proof
    with pytest.raises(certificates.CertificateError, match="version 3, not 4; prove the property again"):
        liveness.read(model, {**document, "version": 3})


NUMBERED = """
sort number
immutable relation below(number, number)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom !below(X, X)
axiom X = Y | below(X, Y) | below(Y, X)
mutable constant top: number
mutable relation used(number)
init !used(N)
transition use(n: number)
  modifies used
  & !used(n)
  & (new(used(N)) <-> used(N) | N = n)
fairness [uses] strong forall N. use(N)
liveness [all] true ~> forall N. used(N)
"""
UNUSED = "(forall ((x number)) (not (used x)))"


@pytest.mark.parametrize(("word", "right"), [("finite sort", True), ("sort", False), ("unbounded sort", False)])
def test_a_fresh_number_can_always_be_had(word: str, right: bool) -> None:
    """That fewer and fewer numbers are unused comes to an end only if there are finitely many."""
    assert accepts(NUMBERED.replace("sort", word, 1), [stage("rank", UNUSED)]) is right


@pytest.mark.parametrize(
    ("formula", "right"),
    [
        ("(not (used N))", False),
        ("(and (not (used N)) (not (below top N)))", False),
        ("(and (not (used N)) (= N top))", True),
    ],
)
def test_strong_fairness_of_infinitely_many(formula: str, right: bool) -> None:
    """Each of them is enabled finitely often only, and yet one of them always may be."""
    model = parse(Source("numbered.pyv", NUMBERED)).model
    read = sexpr.read(f"(forall ((N number)) {formula})", model.sorts, model.symbols)
    assert isinstance(read, Forall)
    made = liveness.Stage("fair", read.variables, read.body, "uses")
    counting = Counting(readings(model))
    assert (liveness.miscounted(model, made, True, counting) is None) is right
    assert liveness.miscounted(model, made, False, counting) is None


def test_integers_go_down_forever() -> None:
    falling = COUNTER.replace("n + 1", "n - 1") + "liveness true ~> good\n"
    order = "(forall ((X int) (Y int)) (< Y X))"
    assert not accepts(falling, [stage("rank", "(forall ((X int)) (= X n))", None, order)])


FALLING = """
SORT
immutable relation below(number, number)
axiom below(X, Y) & below(Y, Z) -> below(X, Z)
axiom !below(X, X)
axiom X = Y | below(X, Y) | below(Y, X)
mutable constant top: number
mutable relation good
init !good
transition fall(n: number)
  modifies top
  & below(n, top) & new(top) = n
transition win()
  modifies good
  & (forall N. !below(N, top)) & new(good)
liveness [p] true ~> good
"""
DESCENT = [
    stage("rank", "(forall ((X number)) (= X top))", None, "(forall ((X number) (Y number)) (below Y X))"),
    stage("rank", "(not good)"),
]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (FALLING.replace("SORT", "sort number"), True),
        (FALLING.replace("SORT", "sort number").replace("axiom X = Y |", "axiom X = X | X = Y |"), True),
        (FALLING.replace("SORT", "unbounded sort number").replace("axiom X = Y |", "axiom X = X | X = Y |"), False),
        (FALLING.replace("SORT", "sort number\nimmutable constant last: number\naxiom !below(last, X)"), False),
    ],
)
def test_one_number_that_goes_down(text: str, right: bool) -> None:
    """Nothing goes down forever in an order like that of the natural numbers; nor in any order of finitely many elements."""
    assert accepts(text, DESCENT) is right
    if right:
        model = parse(Source("falling.pyv", text)).model
        read = tuple(liveness._read_stage(model, model.liveness[0], item) for item in DESCENT)
        assumed = liveness.assumptions(model, liveness.Argument("p", False, read))
        assert assumed == ["number is finite" if "X = X" in text else "below each number there are finitely many"]
