"""From the protocol alone to a certificate that the independent checker accepts; and never for a wrong protocol."""

from itertools import islice
from pathlib import Path

import pytest

from quorate.engines.smt.session import Limits
from quorate.lang import load, parse
from quorate.logic.printing import show
from quorate.logic.transform import symbols_of
from quorate.methods.inference.badness import by_constants, origins, violations, with_origins
from quorate.methods.inference.infer import Options, infer
from quorate.methods.inference.questions import Grounds
from quorate.methods.inference.shapes import light_shapes, shapes
from quorate.methods.inference.task import least_sizes
from quorate.models.source import Source
from quorate.proof.checker import recheck
from quorate.proof.traces import replay

LIBRARY = Path(__file__).parents[3] / "protocols" / "relational"
LIMITS = Limits(timeout=60, jobs=1)

LOST_KEYS = """\
sort key
sort node
mutable relation owns(node, key)
mutable relation sent(node, key)
init forall K. exists N. owns(N, K)
init !sent(N, K)
transition send(n: node, m: node, k: key)
  modifies owns, sent
  & owns(n, k)
  & (owns'(N, K) <-> owns(N, K) & !(N = n & K = k))
  & (sent'(N, K) <-> sent(N, K) | N = m & K = k)
transition receive(n: node, k: key)
  modifies owns, sent
  & sent(n, k)
  & (sent'(N, K) <-> sent(N, K) & !(N = n & K = k))
  & (owns'(N, K) <-> owns(N, K) | N = n & K = k)
safety [not_lost] (exists N, K. sent(N, K)) | (forall K. exists N. owns(N, K))
"""


def proved(model, seconds=600.0):
    found = infer(model.with_invariants(()), LIMITS, Options(seconds))
    assert {result.verdict for result in found.results} == {"proved"}, found.attempts
    assert all(outcome.accepted for outcome in recheck(model, found.certificate, 60.0, 2048, 1))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "client_server_db_ae.ivy",
        "decentralized_lock.ivy",
        "lock_server_async.ivy",
        "toy_consensus_epr.ivy",
        "two_phase_commit.ivy",
        pytest.param("consensus_epr.pyv", marks=pytest.mark.slow),
        pytest.param("consensus_forall.pyv", marks=pytest.mark.slow),
        pytest.param("distributed_lock.pyv", marks=pytest.mark.slow),
        pytest.param("ring_leader_election.pyv", marks=pytest.mark.slow),
        pytest.param("sharded_kv.pyv", marks=pytest.mark.slow),
        pytest.param("ticket_lock.pyv", marks=pytest.mark.slow),
    ],
)
def test_library_protocols_are_proved(name):
    found = proved(load(LIBRARY / name).model)
    assert found.certificate is not None and not found.interrupted


def test_a_property_with_an_existential_is_proved_backwards():
    found = proved(parse(Source("keys.pyv", LOST_KEYS)).model)
    assert [step.direction for r in found.certificate.refutations for step in r.steps if step.formulas] == ["backward"]


@pytest.mark.parametrize(
    "name",
    [
        "toy_consensus_forall_votes_twice.pyv",
        "lock_server_async_lock_kept.ivy",
        "two_phase_commit_missing_votes_count.ivy",
    ],
)
def test_violations_are_found_first(name):
    model = load(LIBRARY / "broken" / name).model
    found = infer(model.with_invariants(()), LIMITS, Options(600.0))
    broken = [result for result in found.results if result.verdict == "violated"]
    assert broken and found.certificate is None
    for result in broken:
        replay(model, result.evidence)


def test_the_same_seed_gives_the_same_proof():
    model = load(LIBRARY / "lock_server_sync.pyv").model
    first, second = (proved(model) for _ in range(2))
    assert first.invariants == second.invariants and first.queries == second.queries


def test_without_time_nothing_is_claimed():
    model = load(LIBRARY / "ticket_lock.pyv").model
    found = infer(model.with_invariants(()), LIMITS, Options(0.0))
    assert {result.verdict for result in found.results} == {"unknown"} and found.certificate is None


def test_what_a_guard_leaves_behind():
    model = load(LIBRARY / "toy_consensus_epr.ivy").model
    found = origins(Grounds(model, {}), dict.fromkeys(model.sorts, 2), ())
    (lemma,) = [show(origin.lemma) for origin in found if origin.relation.name == "decided"]
    assert "exists" in lemma and "member" in lemma
    (bad,) = violations(model)
    (case,) = with_origins(model, bad, found)
    assert len(case.constants) == len(bad.constants) + 2


def test_shapes_grow_by_one():
    model = load(LIBRARY / "toy_consensus_epr.ivy").model
    listed = [shape for shape, _ in zip(shapes(model), range(40), strict=False)]
    sizes = [shape.literals + shape.total + sum(shape.variables.values()) for shape in listed]
    assert sizes == sorted(sizes) and len({str(shape) for shape in listed}) == 40


def test_light_shapes_have_few_literals_or_few_variables():
    model = load(LIBRARY / "toy_consensus_epr.ivy").model
    listed = list(islice(light_shapes(model), 40))
    ranks = [shape.weight + 2 * max(shape.variables.values()) for shape in listed]
    assert ranks == sorted(ranks) and len({str(shape) for shape in listed}) == 40
    assert all(max(shape.literals, shape.total) <= shape.weight - 2 for shape in listed)
    assert {0} == {shape.variables[sort] for shape in listed for sort in model.sorts if sort.name == "quorum"}


TWO_WAYS = """\
sort node
sort value
immutable constant special: value
mutable relation asked(node, value)
mutable relation granted(node, value)
mutable relation chosen(value)
init !asked(N, V)
init !granted(N, V)
init !chosen(V)
transition ask(n: node, v: value)
  modifies asked
  & (forall M, V. !asked(M, V) | V = v)
  & (asked'(N, V) <-> asked(N, V) | N = n & V = v)
transition grant(n: node, v: value)
  modifies granted
  & asked(n, v)
  & (granted'(N, V) <-> granted(N, V) | N = n & V = v)
transition choose_asked(n: node, v: value)
  modifies chosen
  & asked(n, v)
  & (chosen'(V) <-> chosen(V) | V = v)
transition choose_granted(n: node, v: value)
  modifies chosen
  & granted(n, v)
  & (chosen'(V) <-> chosen(V) | V = v)
safety [one] chosen(V1) & chosen(V2) -> V1 = V2
"""


def test_each_way_that_a_violation_comes_about_is_a_case():
    model = parse(Source("ways.pyv", TWO_WAYS)).model
    found = origins(Grounds(model, {}), dict.fromkeys(model.sorts, 2), ())
    (chosen,) = [origin for origin in found if origin.relation.name == "chosen"]
    assert [show(way.formula) for way in chosen.ways] == ["asked(n, V)", "granted(n, V)"]
    (bad,) = violations(model)
    cases = with_origins(model, bad, found)
    assert len(cases) == 4 and {len(case.constants) for case in cases} == {4}
    named = [case for bad in cases for case in by_constants(model, bad)]
    assert len(named) == 12 and {len(case.constants) for case in named} == {3, 4}
    proved(model)


def test_too_many_cases_are_not_split():
    model = parse(Source("ways.pyv", TWO_WAYS.replace("chosen(V1) & chosen(V2)", " & ".join(
        f"chosen(V{i})" for i in range(1, 6)
    )))).model  # fmt: skip
    (bad,) = violations(model)
    found = origins(Grounds(model, {}), dict.fromkeys(model.sorts, 2), ())
    assert len(with_origins(model, bad, found)) == 8


@pytest.mark.parametrize(
    "offers, kept",
    [
        (["asked(N1, V1) & asked(N2, V2) -> V1 = V2", "granted(N, V) -> asked(N, V)", "chosen(V) -> exists N. asked(N, V)"], 3),
        (["asked(N1, V1) & asked(N2, V2) -> V1 = V2", "!granted(N, V)"], 1),
        (["chosen(V) -> granted(N, V)", "!asked(N, V)"], 0),
    ],
)  # fmt: skip
def test_invariants_of_the_file_are_offers(offers, kept):
    text = TWO_WAYS + "".join(f"invariant [offer{i}] {offer}\n" for i, offer in enumerate(offers))
    model = parse(Source("offers.pyv", text)).model
    found = infer(model, LIMITS, Options(600.0))
    assert {result.verdict for result in found.results} == {"proved"}
    assert all(outcome.accepted for outcome in recheck(model, found.certificate, 60.0, 2048, 1))
    assert sum(item in model.invariants for item in found.invariants) <= kept
    if kept == len(offers):
        assert set(found.invariants) <= set(model.invariants) and not found.queries


COUNTED = """\
sort node
mutable relation seen(node)
mutable relation full
init !seen(N)
init !full
transition see(n: node)
  modifies seen
  & (seen'(N) <-> seen(N) | N = n)
transition fill(a: node, b: node, c: node)
  modifies full
  & a != b & b != c & a != c
  & seen(a) & seen(b) & seen(c)
  & full'
safety [never] !full
"""


def test_a_violation_that_only_random_runs_see(monkeypatch):
    monkeypatch.setattr("quorate.methods.inference.samples.HEAVY", 0)
    model = parse(Source("counted.pyv", COUNTED)).model
    found = infer(model, LIMITS, Options(600.0))
    (result,) = found.results
    assert result.verdict == "violated" and len(result.evidence.steps) == 4
    replay(model, result.evidence)


MAPS = """\
sort map
sort key
immutable relation on(map, key)
mutable relation lit(key)
mutable relation both
init !lit(K)
init !both
transition light(m: map)
  modifies lit
  & (lit'(K) <-> on(m, K))
transition look(a: key, b: key)
  modifies both
  & a != b & lit(a) & lit(b)
  & both'
safety [dark] !both
"""


def test_a_violation_over_tables_that_were_abstracted():
    model = parse(Source("maps.pyv", MAPS)).model
    found = infer(model, LIMITS, Options(600.0))
    (result,) = found.results
    assert result.verdict == "violated"
    replay(model, result.evidence)


def test_a_proof_over_tables_that_were_abstracted():
    proved(parse(Source("maps.pyv", MAPS.replace("on(m, K))", "on(m, K) & (forall J. on(m, J) -> J = K))"))).model)


def test_a_quorum_is_behind_a_leader_as_long_as_it_leads():
    """The votes are for the current term, which changes; but then the node no longer leads."""
    model = load(LIBRARY / "raft_leader_election.pyv").model
    sizes = dict.fromkeys(model.sorts, 3)
    found = {origin.relation.name: origin for origin in origins(Grounds(model, {}), sizes, [])}
    [way] = found["leader"].ways
    assert [witness.sort.name for witness in way.witnesses] == ["quorum"]
    assert "granted" in show(way.formula) and "candidate" not in show(way.formula)


NOTHING_HAPPENS = """\
sort node
mutable relation idle(node)
mutable relation busy(node)
init idle(N)
{init}
safety [rest] idle(N) & !busy(N)
"""


def test_a_protocol_in_which_nothing_happens():
    proved(parse(Source("still.pyv", NOTHING_HAPPENS.format(init="init !busy(N)"))).model)
    model = parse(Source("still.pyv", NOTHING_HAPPENS.format(init=""))).model
    [result] = infer(model, LIMITS, Options(10.0)).results
    assert result.verdict == "violated"


PHASES = """
sort phase
sort node
immutable constant red: phase
immutable constant amber: phase
immutable constant green: phase
immutable constant blue: phase
axiom distinct(red, amber, green, blue)
mutable constant now: phase
mutable relation started(node)
mutable relation done(node)
init now = red & !started(N) & !done(N)
transition start(n: node)
  modifies started
  & now = red
  & (started'(N) <-> started(N) | N = n)
transition turn()
  modifies now
  & ((now = red & now' = amber) | (now = amber & now' = green) | (now = green & now' = blue))
transition finish(n: node)
  modifies done
  & now = blue & started(n)
  & (done'(N) <-> done(N) | N = n)
safety done(N) -> started(N) & now = blue
"""


def test_sorts_have_the_elements_that_axioms_ask_for():
    model = parse(Source("phases.pyv", PHASES)).model
    assert {s.name: n for s, n in least_sizes(Grounds(model, {})).items()} == {"phase": 4, "node": 2}
    proved(model)


def test_axioms_that_ask_for_very_many_elements_are_left_to_others():
    model = parse(
        Source("two.pyv", "sort node\naxiom exists A: node, B. A != B\naxiom forall A: node, B. A = B\nsafety true\n")
    ).model
    assert list(least_sizes(Grounds(model, {})).values()) == [2]


MARKS = """
sort node
immutable constant last: node
mutable constant first: node
mutable relation next(node, node)
mutable relation even(node)
init first = last & !next(X, Y) & (even(X) <-> X = last)
transition grow(a: node, b: node)
  modifies first, next, even
  & a != b & a != last & b != last & a != first & b != first
  & !next(a, X) & !next(X, a) & !next(b, X) & !next(X, b)
  & first' = a
  & (next'(X, Y) <-> next(X, Y) | X = a & Y = b | X = b & Y = first)
  & (even'(X) <-> (even(X) & X != b) | X = a)
transition shrink(a: node, b: node)
  modifies first, next
  & next(first, a) & next(a, b)
  & first' = b
  & (next'(X, Y) <-> next(X, Y) & X != first & X != a)
safety !next(first, last)
"""


def test_what_is_only_kept_for_the_proof_is_used():
    """How long the list is cannot be said without the marks, on which nothing depends."""
    model = parse(Source("marks.pyv", MARKS)).model
    found = proved(model)
    assert any(symbol.name == "even" for item in found.invariants for symbol in symbols_of(item.formula))


ELECTION = """
sort node
immutable relation le(node, node)
axiom le(X, X)
axiom le(X, Y) & le(Y, Z) -> le(X, Z)
axiom le(X, Y) & le(Y, X) -> X = Y
axiom le(X, Y) | le(Y, X)
axiom exists N. forall M. le(M, N)
mutable relation asked(node)
mutable relation proposed(node)
mutable relation leads(node)
init !asked(N) & !proposed(N) & !leads(N)
transition ask(n: node)
  modifies asked, proposed
  & (asked'(N) <-> asked(N) | N = n)
  & (proposed'(N) <-> proposed(N) | N = n)
transition decline(n: node, m: node)
  modifies proposed
  & proposed(n) & le(n, m) & n != m
  & (proposed'(N) <-> proposed(N) & N != n)
transition lead(n: node)
  modifies leads, proposed
  & proposed(n)
  & (leads'(N) <-> leads(N) | N = n)
  & (proposed'(N) <-> proposed(N) & N != n)
safety [alive] (exists N. leads(N)) | (exists N. proposed(N)) | (exists N. !asked(N))
"""


def test_what_an_axiom_says_to_exist_has_a_name():
    """The largest node is never declined; no violation names it."""
    model = parse(Source("election.pyv", ELECTION)).model
    [bad] = violations(model)
    assert len(bad.constants) == 1
    proved(model)


def test_integers_that_need_no_invariant():
    model = parse(
        Source(
            "account.pyv",
            "mutable constant saved: int\ninit saved = 0\n"
            "transition add(n: int)\n  modifies saved\n  & n > 0 & saved' = saved + n\nsafety saved >= 0\n",
        )
    ).model
    proved(model)
