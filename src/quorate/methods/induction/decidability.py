"""Which queries of an induction proof are decidable, and if not, which formulas are to blame."""

from __future__ import annotations

from quorate.logic.fragment import Fragment, fragment
from quorate.methods.induction.induct import all_obligations
from quorate.methods.induction.obligations import goal_formula, hypotheses, is_trivial
from quorate.models.relational import RelationalModel


def decidability(model: RelationalModel) -> list[tuple[str, Fragment]]:
    """The alternation graph of every obligation, by name."""
    found = []
    properties = model.properties
    shared = {t: [(h.name, h.formula) for h in hypotheses(model, t, properties)] for t in (None, *model.transitions)}
    for obligation in all_obligations(model, properties):
        if not is_trivial(model, obligation):
            goal = (f"the negation of {obligation.claim.name}", goal_formula(model, obligation))
            found.append((obligation.name, fragment([*shared[obligation.transition], goal])))
    return found
