"""The one door to *proved*: what has to happen before a certificate is accepted.

Something has to satisfy the axioms and the initial conditions (`vacuity`).  Then come the checker's obligations, each by both
solvers (`checker`), and the plain reading of the text is asked (`second_opinion`).  `verify`, `recheck`, `live` and resumed
runs all come through here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quorate.models.forms import Model, NoForm, relational_form
from quorate.models.relational import RelationalModel
from quorate.proof import checker, liveness
from quorate.proof.certificates import Certificate, CertificateError
from quorate.proof.checker import Outcome, Section
from quorate.proof.liveness import LivenessCertificate
from quorate.proof.second_opinion import Opinion, second_opinion
from quorate.proof.vacuity import Contradiction, foundation

AnyCertificate = Certificate | LivenessCertificate


@dataclass(frozen=True)
class Examination:
    """How a certificate fared: every obligation, and the second opinion, which is asked only if all of them hold."""

    outcomes: tuple[Outcome, ...]
    opinion: Opinion | None

    @property
    def open(self) -> tuple[Outcome, ...]:
        """The obligations that were not discharged by both solvers."""
        return tuple(outcome for outcome in self.outcomes if not outcome.accepted)

    @property
    def accepted(self) -> bool:
        return not self.open and self.opinion is not None and self.opinion.objection is None

    @property
    def why_not(self) -> str:
        """The first thing that stands in the way."""
        if self.open:
            return self.open[0].obligation.name
        return str(self.opinion)


def form_of(model: Model) -> RelationalModel:
    """What certificates of a model speak of; raises `CertificateError` if there is no such form."""
    try:
        return relational_form(model)
    except NoForm as problem:
        raise CertificateError(str(problem)) from None


def sections_of(form: RelationalModel, certificate: AnyCertificate) -> list[Section]:
    """Everything that the solvers have to show; raises `CertificateError`."""
    if isinstance(certificate, LivenessCertificate):
        return liveness.sections(form, certificate)
    return checker.sections(form, certificate)


def examine(
    model: Model,
    certificate: AnyCertificate,
    timeout: float,
    memory_mb: int,
    jobs: int,
    hear: Callable[[Outcome], bool] = lambda outcome: outcome.accepted,
    proofs: bool = False,
) -> Examination:
    """Put a certificate through the door; raises `CertificateError` if it is not one for this model.

    `hear` is told how each obligation fared, and says whether to go on.
    """
    form = form_of(model)
    nothing = foundation(form)
    if isinstance(nothing, Contradiction):
        raise CertificateError(str(nothing))
    outcomes: list[Outcome] = []
    for outcome in checker.discharge(sections_of(form, certificate), timeout, memory_mb, jobs, proofs):
        outcomes.append(outcome)
        if not hear(outcome):
            break
    proved = all(outcome.accepted for outcome in outcomes)
    return Examination(tuple(outcomes), second_opinion(model, form, certificate) if proved else None)
