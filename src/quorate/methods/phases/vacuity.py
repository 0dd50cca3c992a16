"""What a Mercury program never does: locations where no process ever is, whatever the others do; programs that never move.

A location may need many processes (four winners and a fifth, say), so that it says little if nobody is there among three.
Only what not even one process with the most helpful company could reach is remarked on.
"""

from __future__ import annotations

from quorate.engines.explicit.processes import ProcessInstance
from quorate.engines.explicit.reference import FINISHED, RUNNING, Reference, ReferenceSearch
from quorate.engines.explicit.worlds import InstanceError
from quorate.engines.smt.workers import guarded
from quorate.methods.phases.locals import LocalStates, TooManyLocalStates
from quorate.models.process import ProcessModel
from quorate.models.process_counting import AllSizes, CountingError
from quorate.proof.vacuity import Remark

NUMBERS = (1, 2, 3)
"""With how many processes it is looked whether anything happens."""
FEW = 1_000
"""How many states are looked at."""
OVERDUE = 1.0
"""Seconds after which nothing is said."""


def remarks(model: ProcessModel) -> tuple[Remark, ...]:
    """What never happens, as far as a moment tells."""
    found = guarded(_remarks, model, timeout=OVERDUE, memory_mb=2048)
    return found or ()


def _remarks(model: ProcessModel) -> tuple[Remark, ...]:
    found = []
    try:
        local = LocalStates(AllSizes(model))
        reached = {point.location for point in local.steps.points if local.reached(point)}
        found = [
            Remark("location", item.name, True, span=item.span) for item in model.locations if item.name not in reached
        ]
    except (CountingError, TooManyLocalStates):
        pass
    return (*_still(model), *found)


def _still(model: ProcessModel) -> tuple[Remark, ...]:
    """Does nothing but a crash ever happen with few processes?"""
    states = covered = 0
    for processes in NUMBERS:
        try:
            instance = ProcessInstance(model, processes)
        except InstanceError:
            break
        search = ReferenceSearch(Reference(instance.system), instance.system.symmetry is not None)
        search.begin()
        while search.status == RUNNING and search.found.states < FEW:
            search.run(0.0)
            if any(count for name, count in search.found.fired.items() if name != "crash"):
                return ()
        if search.status != FINISHED:
            break
        states, covered = states + search.found.states, processes
    if covered != NUMBERS[-1]:
        return ()
    return (Remark("transitions", "all", False, f"up to {covered} processes", states),)
