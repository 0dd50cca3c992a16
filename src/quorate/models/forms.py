"""What a certificate speaks of: a relational protocol itself, or a model's relational form for every number of processes.

The families are imported when one of their models is asked about: what is not loaded need not be trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from quorate.models.relational import NameClash, RelationalModel

if TYPE_CHECKING:
    from quorate.models.process import ProcessModel
    from quorate.models.rounds import RoundModel

Model: TypeAlias = "RelationalModel | ProcessModel | RoundModel"


class NoForm(Exception):
    """The model cannot be said for every number of processes at once; the message says why."""


def relational_form(model: Model) -> RelationalModel:
    """The relational protocol that stands for a model; raises `NoForm`."""
    if isinstance(model, RelationalModel):
        return model
    from quorate.models.process import ProcessModel

    return _of_processes(model) if isinstance(model, ProcessModel) else _of_rounds(model)


def _of_processes(model: ProcessModel) -> RelationalModel:
    from quorate.models.process_counting import CountingError
    from quorate.models.process_relational import relational

    try:
        return relational(model)
    except (CountingError, NameClash) as problem:
        raise _no_form(problem) from None


def _of_rounds(model: RoundModel) -> RelationalModel:
    from quorate.models.evaluation import RoundsError
    from quorate.models.quorums import relational

    try:
        return relational(model)[0]
    except (RoundsError, NameClash) as problem:
        raise _no_form(problem) from None


def _no_form(problem: Exception) -> NoForm:
    return NoForm(f"there is no form for every number of processes: {problem}")
