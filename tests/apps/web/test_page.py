"""The report is one inert file with everything in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quorate.apps.cli.reports import expected_verdict
from quorate.apps.web.page import file_document, html
from quorate.engines.smt.session import Limits
from quorate.lang import load_model, parse_model
from quorate.models.source import Source
from quorate.strategy import Question, verify

PROTOCOLS = Path(__file__).parents[3] / "protocols"

NASTY = """
sort node
# </script><script>window.pwned = 1</script><img src=x onerror="window.pwned=1">
mutable relation held(node)
init !held(N)
transition take(n: node)
  modifies held
  & (forall N. new(held(N)) <-> held(N) | N = n)
safety [mutex] held(N) & held(M) -> N = M
"""


def document(path: str) -> dict[str, object]:
    model = load_model(PROTOCOLS / path).model
    answer = verify(Question(model, 60.0, Limits(jobs=1)))
    return file_document(model, answer, [expected_verdict(model, "verify", r) for r in answer.results])


def embedded(page: str) -> dict[str, object]:
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found: dict[str, object] = json.loads(data)
    return found


def test_text_of_a_protocol_stays_text() -> None:
    model = parse_model(Source("</title><script>.pyv", NASTY)).model
    answer = verify(Question(model, 30.0, Limits(jobs=1)), ("bounded",))
    data = {"version": "0", "files": [file_document(model, answer, ["proved"])]}
    page = html(data)
    assert page.count("<script") == 2 and "<img" not in page
    assert embedded(page) == json.loads(json.dumps(data))
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "innerHTML" not in page.replace("there is no innerHTML anywhere", "")
    assert not re.search(r"\beval\(|new Function|document\.write", page)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("relational/broken/toy_consensus_epr_no_intersection.ivy", 4),
        ("mercury/broken/lonely_losers.mercury", 1),
        ("rounds/broken/flood_set_too_short.rounds", 1),
    ],
)
def test_traces_of_every_family_have_one_form(path: str, steps: int) -> None:
    found = document(path)
    results = found["results"]
    assert isinstance(results, list)
    trace = next(item["trace"] for item in results if item["trace"] and item["trace"]["steps"])
    assert len(trace["steps"]) == steps and len(trace["states"]) == steps + 1
    names = {symbol["name"] for symbol in trace["symbols"]}
    elements = {element for sort in trace["universe"] for element in sort["elements"]}
    for state in trace["states"]:
        assert set(state) == names
        for symbol in trace["symbols"]:
            for row in state[symbol["name"]]:
                assert len(row) == len(symbol["arguments"]) + (not symbol["relation"])
                assert set(row[: len(symbol["arguments"])]) <= elements
    assert trace["lane"] in {sort["name"] for sort in trace["universe"]}
    assert all({place[1] for place in step["places"]} <= elements for step in trace["steps"])
