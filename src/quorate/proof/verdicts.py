"""Verdicts: the closed set of answers, and the evidence behind each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quorate.models.source import Span

if TYPE_CHECKING:
    from quorate.proof.process_runs import ProcessRun
    from quorate.proof.round_traces import RoundTrace
    from quorate.proof.traces import Trace

Verdict = Literal["proved", "violated", "not-inductive", "unknown"]

SEVERITY: dict[Verdict, int] = {"proved": 0, "unknown": 1, "not-inductive": 2, "violated": 3}


def worst(verdicts: list[Verdict]) -> Verdict:
    """The gravest of several verdicts; nothing checked is `unknown`."""
    return max(verdicts, key=SEVERITY.__getitem__, default="unknown")


@dataclass(frozen=True)
class Result:
    """The answer about one property.

    `evidence` is the run or the counterexample to induction that backs `violated` and `not-inductive`, `rounds` the same of
    a round-based algorithm; `reason` says why something is unknown, or what the evidence means.  `scope` says for which
    sizes the verdict holds, `states` how many states were looked at.
    """

    property: str
    kind: Literal["safety", "invariant", "theorem", "trace", "deadlock", "count", "liveness"]
    verdict: Verdict
    method: str
    scope: str
    reason: str = ""
    evidence: Trace | ProcessRun | None = None
    span: Span | None = None
    seconds: float = 0.0
    states: int | None = None
    rounds: RoundTrace | None = None
