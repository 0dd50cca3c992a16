"""Certificates that refute violations, backwards: what the checker must accept, and what it must not."""

from dataclasses import replace

import pytest

from quorate.lang import parse
from quorate.models.source import Source
from quorate.proof.certificates import CertificateError, Refutation, Step, certify, from_json
from quorate.proof.checker import recheck, sections

TOKEN = """\
sort node
mutable relation has(node)
mutable relation message(node)
mutable relation ready(node)
init exists N. has(N)
init !message(N)
init !ready(N)
transition send(n: node, m: node)
  modifies has, message
  & has(n)
  & (has'(N) <-> has(N) & N != n)
  & (message'(N) <-> message(N) | N = m)
transition receive(n: node)
  modifies has, message
  & message(n)
  & (message'(N) <-> message(N) & N != n)
  & (has'(N) <-> has(N) | N = n)
transition prepare(n: node)
  modifies ready
  & has(n)
  & (ready'(N) <-> ready(N) | N = n)
safety [not_lost] (exists N. has(N)) | (exists N. message(N))
"""

LOST = "(and (forall ((N node)) (not (has N))) (forall ((N node)) (not (message N))))"
NOBODY = ("nobody", "(forall ((N node)) (not (has N)))")
NOTHING = ("nothing", "(forall ((N node)) (not (message N)))")
PROOF = Refutation("not_lost", (), LOST, (Step("backward", (NOBODY, NOTHING)),), "initial")


def model_of(text):
    return parse(Source("token.pyv", text)).model


def accepted(text, *refutations):
    model = model_of(text)
    certificate = from_json(certify(model, model.safety, (), {}, refutations).to_json())
    return all(outcome.accepted for outcome in recheck(model, certificate, 5.0, 1024, 1))


def test_a_refutation_is_accepted():
    assert accepted(TOKEN, PROOF)


def test_steps_build_on_each_other():
    """The token is never ready with nobody, backwards; then forwards nobody is ever ready: superfluous, but right."""
    none_ready = ("none_ready", "(forall ((N node)) (not (ready N)))")
    both = (Step("backward", (NOBODY, NOTHING)), Step("forward", (none_ready,)))
    assert accepted(TOKEN, replace(PROOF, steps=both))
    assert not accepted(TOKEN, replace(PROOF, steps=both[::-1]))


@pytest.mark.parametrize(
    "wrong",
    [
        replace(PROOF, steps=(Step("backward", (NOBODY,)),)),
        replace(PROOF, steps=(Step("backward", (NOTHING,)),)),
        replace(PROOF, steps=(Step("backward", (NOBODY,)), Step("backward", (NOTHING,)))),
        replace(PROOF, steps=(Step("forward", (NOBODY, NOTHING)),)),
        replace(PROOF, steps=()),
        replace(PROOF, end="violation"),
        replace(PROOF, bad=f"(and {LOST} (forall ((N node)) (ready N)))"),
        replace(PROOF, bad="(or)"),
        replace(PROOF, constants=(("n", "node"),), bad=f"(and {LOST} (ready n))"),
    ],
)
def test_what_does_not_follow_is_rejected(wrong):
    assert not accepted(TOKEN, wrong)


def test_several_refutations_may_share_the_violations():
    ready = replace(PROOF, constants=(("n", "node"),), bad=f"(and {LOST} (ready n))")
    others = replace(PROOF, bad=f"(and {LOST} (forall ((N node)) (not (ready N))))")
    assert accepted(TOKEN, ready, others)
    assert not accepted(TOKEN, others)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("has'(N) <-> has(N) | N = n)", "has'(N) <-> has(N))"),
        ("message'(N) <-> message(N) | N = m)", "message'(N) <-> message(N))"),
        ("init exists N. has(N)", "init has(N) -> has(N)"),
    ],
)
def test_a_protocol_that_loses_the_token_is_not_proved(old, new):
    assert old in TOKEN
    assert not accepted(TOKEN.replace(old, new), PROOF)


@pytest.mark.parametrize(
    "malformed",
    [
        replace(PROOF, constants=(("has", "node"),)),
        replace(PROOF, constants=(("@n", "node"),)),
        replace(PROOF, constants=(("n", "node"), ("n", "node"))),
        replace(PROOF, constants=(("n", "nowhere"),)),
        replace(PROOF, property="another"),
        replace(PROOF, bad="(lost)"),
        replace(PROOF, bad="(has N)"),
        replace(PROOF, steps=(Step("backward", (NOBODY, NOBODY)),)),
        replace(PROOF, steps=(Step("backward", (("nobody'", NOBODY[1]),)),)),
        replace(PROOF, steps=(Step("backward", (("not_lost", NOBODY[1]),)),)),
    ],
)
def test_malformed_refutations_are_refused(malformed):
    model = model_of(TOKEN)
    with pytest.raises(CertificateError):
        sections(model, certify(model, model.safety, (), {}, (malformed,)))


def test_a_constant_cannot_be_what_a_step_leaves_open():
    """A step that chooses a node: a constant of that name would choose for it."""
    open_step = TOKEN + "transition forget()\n  modifies ready\n  & exists M. has(M) & (ready'(N) <-> N = M)\n"
    model = model_of(open_step)
    choices = [choice for transition in model.transitions for choice in transition.choices]
    assert choices
    for choice in choices:
        clash = replace(PROOF, constants=((choice.name, "node"),))
        with pytest.raises(CertificateError):
            sections(model, certify(model, model.safety, (), {}, (clash,)))


@pytest.mark.parametrize("field", ["property", "constants", "bad", "steps", "end"])
@pytest.mark.parametrize("value", [None, 7, "sideways", [1], [["n"]], [{"direction": "sideways", "formulas": []}]])
def test_documents_with_other_content_are_refused(field, value):
    from quorate.proof.certificates import digest

    model = model_of(TOKEN)
    document = certify(model, model.safety, (), {}, (PROOF,)).to_json()
    document["refutations"][0][field] = value
    document["digest"] = digest({key: part for key, part in document.items() if key != "digest"})
    with pytest.raises(CertificateError):
        sections(model, from_json(document))
