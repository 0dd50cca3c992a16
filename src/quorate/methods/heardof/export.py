"""A round-based algorithm as SMT-LIB, so that any solver can be asked what Quorate asks.

Without a number of processes: the obligations of the proof for every n, with the lemmas of the file; what is satisfiable needs
more lemmas.  With one: for each property, whether a run of some phases violates it, as propositional logic over `phase.Runs`.
"""

from __future__ import annotations

from collections.abc import Mapping

from quorate.engines.smt.smtlib import Vocabulary
from quorate.methods.heardof.phase import Runs
from quorate.methods.induction.obligations import Obligation, goal_formula, hypotheses, is_trivial
from quorate.models.quorums import relational
from quorate.models.rounds import RoundModel


def smtlib(model: RoundModel) -> str:
    """Initiation and consecution of every property and lemma, one script after the other; `unsat` each, if it is inductive."""
    found, _ = relational(model)
    obligations = [Obligation(item, None) for item in found.properties]
    obligations += [Obligation(item, step) for step in found.transitions for item in found.properties]
    scripts = []
    for obligation in obligations:
        if not is_trivial(found, obligation):
            known = [item.formula for item in hypotheses(found, obligation.transition, found.properties)]
            scripts.append(Vocabulary().script([*known, goal_formula(found, obligation)], obligation.name))
    return "\n(reset)\n".join(script.replace("(exit)\n", "").rstrip() for script in scripts) + "\n"


def smtlib_runs(
    model: RoundModel, n: int, parameters: Mapping[str, int], phases: int, faults: int | None = None
) -> str:
    """Is a property violated within so many phases?  `sat` if it is."""
    runs = Runs(model, n, parameters, phases, faults)
    s = runs.symbolic
    goals = {
        item.name: s.disj(*(runs.violated(item, rounds) for rounds in range(len(runs.states))))
        for item in model.safety
        if item.name != "termination"
    }
    lines = [f"; {model.name}, n = {n}, {phases} phases", "(set-logic QF_UF)"]
    lines += [f"(declare-const b{number} Bool)" for number in range(1, s.circuit.count + 1)]
    lines += [f"(assert (or {' '.join(map(_literal, clause))}))" for clause in s.circuit.clauses]
    for name, goal in goals.items():
        lines += [f"; is {name} violated?", "(push 1)", f"(assert {_literal(goal)})", "(check-sat)", "(pop 1)"]
    return "\n".join(lines) + "\n"


def _literal(literal: int) -> str:
    return f"b{literal}" if literal > 0 else f"(not b{-literal})"
