"""What a certificate speaks of: a relational protocol itself, or a model's relational form for every number of processes."""

from __future__ import annotations

from quorate.models.evaluation import RoundsError
from quorate.models.process import ProcessModel
from quorate.models.process_counting import CountingError
from quorate.models.relational import NameClash, RelationalModel
from quorate.models.rounds import RoundModel

Model = RelationalModel | ProcessModel | RoundModel


class NoForm(Exception):
    """The model cannot be said for every number of processes at once; the message says why."""


def relational_form(model: Model) -> RelationalModel:
    """The relational protocol that stands for a model."""
    try:
        if isinstance(model, RoundModel):
            from quorate.models import quorums

            return quorums.relational(model)[0]
        if isinstance(model, ProcessModel):
            from quorate.models import process_relational

            return process_relational.relational(model)
    except (RoundsError, CountingError, NameClash) as problem:
        raise NoForm(f"there is no form for every number of processes: {problem}") from None
    return model
