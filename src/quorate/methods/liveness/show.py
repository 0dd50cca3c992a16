"""A proof of liveness in words: why it comes about."""

from __future__ import annotations

from quorate.logic.terms import Var
from quorate.methods.liveness.claims import Support
from quorate.models.relational import RelationalModel
from quorate.proof.liveness import Proved, assumptions


def explanation(model: RelationalModel, proved: Proved, support: Support) -> str:
    """Why the property holds, stage by stage, in the protocol's own language."""
    argument = proved.argument
    item = next(item for item in model.liveness if item.name == argument.property)
    lines = [f"{argument.property}: why it comes about"]
    if argument.monitored:
        lines.append("  a monitor remembers the trigger until the goal is reached")
    lines.append(f"  suppose that {item.trigger} and never {item.goal}")
    for number, stage in enumerate(argument.stages, 1):
        names = ", ".join(f"{variable.name}:{variable.sort}" for variable in stage.variables)
        if stage.order is not None:
            variable = stage.variables[0]
            earlier = Var(f"{variable.name}'", variable.sort)
            what = (
                f"where {stage.formula} becomes true of some {names}, it ends for one that comes before it "
                f"({earlier} before {variable}: {stage.before(earlier, variable)}), which cannot go on forever"
            )
        elif stage.kind == "rank":
            what = (
                f"the number of {names} with {stage.formula} only goes down"
                if names
                else f"{stage.formula} ends at most once"
            )
        else:
            what = (
                f"{stage.fairness} would happen if ever, for some {names}, {stage.formula}"
                if names
                else (f"{stage.fairness} would happen if ever {stage.formula}")
            )
        lines.append(f"  {number}. {what}")
    lines.append("  so no step is left that could go on forever")
    for assumption in assumptions(model, argument):
        lines.append(f"  assuming that {assumption}")
    known = [*support.claims, *support.invariants]
    if known:
        lines.append(f"  with {len(known)} inferred invariants")
        lines += [f"    [{item.name}] {item.formula}" for item in known]
    return "\n".join(lines)
