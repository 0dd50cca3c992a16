"""What `parse` says of a text that leaves nothing to prove, or parts of which play no role: the same as beside verdicts."""

from __future__ import annotations

from quorate.engines.smt.session import Limits
from quorate.lang.diagnostics import Diagnostic
from quorate.methods.vacuity import examine, unfounded
from quorate.models.forms import Model
from quorate.models.source import Span
from quorate.proof.vacuity import Contradiction


def diagnostics(model: Model) -> tuple[Diagnostic, ...]:
    """Warnings about a text as a whole."""
    limits = Limits()
    assert model.source is not None
    start = Span(model.source, 0, 0)
    found = unfounded(model, limits)
    if isinstance(found, Contradiction):
        spans = [part.span for part in found.parts if part.span is not None]
        related = tuple((span, "this is part of it") for span in spans[1:])
        return (Diagnostic(found.code, str(found), spans[0] if spans else start, "warning", related),)
    remarks = [*([found] if found else []), *examine(model, (), limits)]
    return tuple(Diagnostic(remark.code, remark.message, remark.span or start, "warning") for remark in remarks)
