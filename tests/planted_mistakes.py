"""Mistakes to plant into the trusted code, one at a time: every one of them has to make its test fail.

`python bench/planted.py` plants them and runs the tests; a test that passes all the same is a gap.  Each mistake is a single line
of the front ends, the translations or the checker, changed the way people get it wrong: an update lost, a quantifier
flipped, an order reversed, a name captured.
"""

from __future__ import annotations

from dataclasses import dataclass

from planted_rounds import ROUNDS


@dataclass(frozen=True)
class Mistake:
    """In `path`, below src/quorate, the text `old`, which occurs once, becomes `new`; then `test` must fail."""

    path: str
    old: str
    new: str
    test: str


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "lang/ivy/actions.py",
        "        state.values[symbol] = (self.places(symbol), self.check_size(value, span))",
        "        state.values.setdefault(symbol, (self.places(symbol), self.check_size(value, span)))",
        "tests/lang/ivy/test_traps.py::test_traps[guards after an assignment see it]",
    ),
    Mistake(
        "lang/ivy/actions.py",
        "        self.branch(condition, statement.then, statement.otherwise, names, names, state)",
        "        self.branch(neg(condition), statement.then, statement.otherwise, names, names, state)",
        "tests/lang/ivy/test_traps.py::test_traps[branches write the same symbol at different places]",
    ),
    Mistake(
        "lang/ivy/actions.py",
        '        elif kind in ("ensure", "assert") or (kind == "require" and len(self.callers) > 1):',
        '        elif kind in ("ensure", "assert"):',
        "tests/lang/ivy/test_traps.py::test_traps[what a callee requires its caller has to show]",
    ),
    Mistake(
        "lang/ivy/actions.py",
        "        nothing = forall(variables, neg(self.current(term, general, span)))",
        "        nothing = forall(variables, self.current(term, general, span))",
        "tests/lang/ivy/test_traps.py::test_traps[the witness of `if some` is not in scope in the other branch]",
    ),
    Mistake(
        "lang/ivy/actions.py",
        "        settled = [self.hoist(argument, names, state) for argument in arguments]",
        "        settled = list(arguments)",
        "tests/lang/ivy/test_traps.py::test_traps[arguments are read after the calls among them]",
    ),
    Mistake(
        "lang/ivy/actions.py",
        "            bound[body.name] = place",
        "            bound.setdefault(body.name, places[0])",
        "tests/lang/ivy/test_traps.py::test_traps[an assignment to all places is simultaneous]",
    ),
    Mistake(
        "lang/ivy/elaborate.py",
        "        guard = normal(conj(*standing, *state.assumptions, *later))",
        "        guard = normal(conj(*standing, *later))",
        "tests/lang/ivy/test_traps.py::test_traps[guards after an assignment see it]",
    ),
    Mistake(
        "lang/ivy/elaborate.py",
        "            return action.name in self.program.exports",
        "            return True",
        "tests/lang/ivy/test_traps.py::test_traps[an action that is not exported is no step]",
    ),
    Mistake(
        "lang/ivy/elaborate.py",
        "        first += self.signature.standing",
        "        first += []",
        "tests/lang/ivy/test_properties.py::test_in_earlier_versions_an_axiom_about_what_changes_is_assumed_of_every_state",
    ),
    Mistake(
        "lang/ivy/signature.py",
        "forall((one, other), implies(conj(*same), equal(one, other)))",
        "forall((one, other), implies(disj(*same), equal(one, other)))",
        "tests/lang/ivy/test_traps.py::test_traps[structs with equal fields are equal]",
    ),
    Mistake(
        "lang/ivy/initial.py",
        "                fact = partly or equal(own, self.before(piece.term, assigned, stand_in))",
        "                fact = partly or equal(own, piece.term)",
        "tests/lang/ivy/test_properties.py::test_earlier_values_become_rigid_symbols",
    ),
    Mistake(
        "lang/elaborate.py",
        "            return forall([local.variable() for local in self.closure.values()], body)",
        "            return exists([local.variable() for local in self.closure.values()], body)",
        "tests/lang/ivy/test_traps.py::test_traps[a value is drawn anew]",
    ),
    Mistake(
        "lang/pyv/elaborate.py",
        "        modified += [item.symbol for item in self.implicit]",
        "        modified += []",
        "tests/proof/test_wellformed.py::test_a_relation_that_a_formula_only_restricts_is_chosen_anew_in_each_step",
    ),
    Mistake(
        "models/relational.py",
        "        ready = [item for item in waiting if item.reads.isdisjoint(pending)]",
        "        ready = list(waiting)",
        "tests/proof/test_wellformed.py::test_definitions_are_kept_in_the_order_of_their_use",
    ),
    Mistake(
        "models/relational.py",
        "        for item in reversed(self.derived):",
        "        for item in self.derived:",
        "tests/proof/test_wellformed.py::test_definitions_are_kept_in_the_order_of_their_use",
    ),
    Mistake(
        "models/relational.py",
        "        return replace_symbols(formula, self.substitution)",
        "        return formula",
        "tests/proof/test_wellformed.py::test_a_definition_of_a_definition_is_not_taken_for_untouched",
    ),
    Mistake(
        "models/semantics.py",
        "    if not before.holds(transition.guard, bindings):",
        "    if before.holds(transition.guard, bindings):",
        "tests/models/test_semantics.py::test_a_step_changes_what_it_updates_and_nothing_else",
    ),
    Mistake(
        "models/semantics.py",
        "        tables[update.symbol] = _tabulate(before, update.symbol, update.variables, update.value, bindings)",
        "        tables.setdefault(update.symbol, _tabulate(before, update.symbol, update.variables, update.value, bindings))",
        "tests/models/test_semantics.py::test_a_step_changes_what_it_updates_and_nothing_else",
    ),
    Mistake(
        "proof/checker.py",
        "    formula = expanded(model, formula)\n",
        "    formula = expanded(model, formula) if model.derived == () else formula\n",
        "tests/proof/test_wellformed.py::test_a_definition_of_a_definition_is_not_taken_for_untouched",
    ),
    Mistake(
        "proof/checker.py",
        "    for transition in model.transitions:\n        constants, guard = _instance(transition)\n        preserved",
        "    for transition in model.transitions[1:]:\n        constants, guard = _instance(transition)\n        preserved",
        "tests/proof/test_wellformed.py::test_a_definition_of_a_definition_is_not_taken_for_untouched",
    ),
    Mistake(
        "proof/checker.py",
        "            found = [(item, after[item.name]) for item in items]",
        "            found = [(item, item.formula) for item in items]",
        "tests/proof/test_refutations.py",
    ),
    Mistake(
        "proof/checker.py",
        "        missed: list[Term] = [neg(self.item.formula)]",
        "        missed: list[Term] = [self.item.formula]",
        "tests/proof/test_refutations.py::test_a_refutation_is_accepted",
    ),
    Mistake(
        "logic/transform.py",
        "    captured = set(incoming).union(*(value.free for value in inner.values()))",
        "    captured = set(incoming)",
        "tests/logic/test_transform.py::test_a_binder_inside_a_definition_does_not_capture_arguments",
    ),
    Mistake(
        "logic/transform.py",
        "            return [part for arg in args for part in conjuncts(neg(arg))]",
        "            return [part for arg in args for part in conjuncts(arg)]",
        "tests/logic/test_transform.py::test_conjuncts_by_hand",
    ),
    Mistake(
        "logic/transform.py",
        "                build = conj if isinstance(formula, And) == positive else disj",
        "                build = conj if isinstance(formula, And) else disj",
        "tests/logic/test_transform.py::test_negation_normal_form_means_the_same",
    ),
    Mistake(
        "logic/sexpr.py",
        '        return (Forall if head == "forall" else Exists)',
        '        return (Exists if head == "forall" else Forall)',
        "tests/logic/test_sexpr.py::test_writing_and_reading_is_the_identity",
    ),
    Mistake(
        "logic/sexpr.py",
        "            return env[word] if word in env else self.apply(word, ())",
        "            return self.apply(word, ()) if word in self.symbols else env[word]",
        "tests/logic/test_sexpr.py::test_any_name_can_be_quoted",
    ),
    Mistake(
        "engines/smt/smtlib.py",
        '                word = "forall" if isinstance(term, Forall) else "exists"',
        '                word = "exists" if isinstance(term, Forall) else "forall"',
        "tests/engines/smt/test_smtlib.py::test_the_text_of_each_kind_of_term",
    ),
    Mistake(
        "engines/smt/smtlib.py",
        "                variables, body = _distinct(term)",
        "                variables, body = term.variables, term.body",
        "tests/engines/smt/test_smtlib.py::test_variables_of_one_name_and_different_sorts_do_not_hide_each_other",
    ),
    Mistake(
        "proof/cutoffs.py",
        "            enabled = replace_symbols(substitute(taken.guard, values), small)",
        "            enabled = TRUE",
        "tests/proof/test_cutoffs.py",
    ),
    Mistake(
        "proof/cutoffs.py",
        "            missed = [neg(item.formula)]",
        "            missed = [FALSE]",
        "tests/proof/test_cutoffs.py",
    ),
    Mistake(
        "proof/liveness.py",
        "                hypotheses = (*self.edge(made, states, shrunk), after)",
        "                hypotheses = (*self.edge(made, states, shrunk), after, stage.formula)",
        "tests/proof/test_liveness_certificates.py",
    ),
    *(Mistake(*row) for row in ROUNDS),
)
