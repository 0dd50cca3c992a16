"""What `parse` says of a text that leaves nothing to prove, or parts of which play no role: the same as beside verdicts."""

from __future__ import annotations

from quorate.lang.diagnostics import Diagnostic
from quorate.methods.vacuity import examine, spoiled, unfounded
from quorate.models.forms import Model
from quorate.models.process import ProcessModel
from quorate.models.source import Span
from quorate.proof.vacuity import Contradiction
from quorate.strategy import lively


def diagnostics(model: Model) -> tuple[Diagnostic, ...]:
    """Warnings about a text as a whole."""
    assert model.source is not None
    start = Span(model.source, 0, 0)
    found = unfounded(model)
    if isinstance(found, Contradiction):
        spans = [part.span for part in found.parts if part.span is not None]
        related = tuple((span, "this is part of it") for span in spans[1:])
        return (Diagnostic(found.code, str(found), spans[0] if spans else start, "warning", related),)
    remarks = (found,) if found else examine(model)
    promises = [*lively(model), *model.safety] if not isinstance(model, ProcessModel) else []
    spoilt = [(why, item.span) for item in promises if (why := spoiled(model, item.name)) is not None]
    unfair = tuple(Diagnostic(why.code, str(why), span or start, "warning") for why, span in spoilt)
    return unfair + tuple(
        Diagnostic(remark.code, remark.message, remark.span or start, "warning") for remark in remarks
    )
