"""Which methods apply to a model, and how long each of their rounds is; a further method is an entry of `methods_for`."""

from __future__ import annotations

from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.rounds import RoundModel
from quorate.strategy.families import phases, quorums, some_processes
from quorate.strategy.question import Method
from quorate.strategy.relational import LONGER, bounded, cutoff, induct, infer, instances, live, simulate

HOUR = 3600.0

BOUNDED = Method(
    "bounded", "violation", "runs of bounded length at small sizes, by SAT", bounded, (1.3, 4.0, 12.0, 30.0, 60.0, HOUR)
)
INSTANCES = Method("instances", "violation", "all states of small instances", instances, (1.8, 10.0, 40.0, 120.0))
SIMULATE = Method("simulate", "violation", "random runs of larger instances", simulate, (2.0, 8.0, 40.0))
INDUCT = Method("induct", "proof", "induction with the file's own invariants", induct, (HOUR,))
UNAIDED = Method("induct", "proof", "induction on the properties alone", induct, (3.0, HOUR), aside=True)
INFER = Method("infer", "proof", "finding the invariants", infer, (8.0, HOUR), apart=False)
CUTOFF = Method(
    "cutoff",
    "proof",
    "a small instance that stands for all sizes",
    cutoff,
    (1.9, HOUR),
    apart=False,
    aside=True,
    longer=LONGER,
)
LIVE = Method("live", "proof", "rankings, or a fair run that starves", live, (HOUR,), kind="liveness")
PHASES = Method("phases", "proof", "backward search over all numbers of processes", phases, (HOUR,))
QUORUMS = Method("quorums", "proof", "induction over quorums, for every n", quorums, (HOUR,))
PROCESSES = Method("instances", "violation", "all runs with few processes", some_processes, (1.0, 4.0, HOUR))


def methods_for(model: Model) -> tuple[Method, ...]:
    """The methods that apply to a model, in the order in which they begin; further ones join here."""
    if isinstance(model, ProcessModel):
        return (PHASES,)
    if isinstance(model, RoundModel):
        return (PROCESSES, QUORUMS)
    proofs = (INDUCT, INFER, CUTOFF) if model.invariants else (INFER, CUTOFF, UNAIDED)
    safety = (BOUNDED, INSTANCES, SIMULATE, *proofs) if model.safety else ()
    return (*safety, LIVE) if model.liveness else safety
