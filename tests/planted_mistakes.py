"""Mistakes to plant into the trusted code, one at a time: every one of them has to make its test fail.

`python bench/planted.py` plants them and runs the tests; a test that passes all the same is a gap.  Each mistake is a single line
of the front ends, the translations or the checker, changed the way people get it wrong: an update lost, a quantifier
flipped, an order reversed, a name captured.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    Mistake(
        "models/process_semantics.py",
        "location, body = target, ()\n",
        "location = target\n",
        "tests/proof/twins/test_mercury.py::test_statements_in_order_and_conditions",
    ),
    Mistake(
        "models/process_semantics.py",
        "body = (then if self.value(condition, values, me, alive) else otherwise) + body",
        "body = body + (then if self.value(condition, values, me, alive) else otherwise)",
        "tests/proof/twins/test_mercury.py::test_the_else_of_a_condition",
    ),
    Mistake(
        "models/process_semantics.py",
        "values[place] &= ~who\n",
        "values[place] &= who\n",
        "tests/proof/twins/test_mercury.py::test_who_crashes_is_in_no_set_and_holds_up_nobody",
    ),
    Mistake(
        "models/process_semantics.py",
        "if len(chosen) > 2 * len(lost):",
        "if len(chosen) >= 2 * len(lost):",
        "tests/proof/twins/test_mercury.py::test_participants_of_a_consensus_may_crash_as_long_as_more_than_half_go_on",
    ),
    Mistake(
        "models/process_semantics.py",
        "if other != me and target in (None, other):",
        "if other != me:",
        "tests/proof/twins/test_mercury.py::test_nobody_receives_nothing",
    ),
    Mistake(
        "models/process_semantics.py",
        "waits = i != sender and alive >> i & 1\n",
        "waits = i != sender\n",
        "tests/proof/twins/test_mercury.py::test_who_crashes_is_in_no_set_and_holds_up_nobody",
    ),
    Mistake(
        "models/process_semantics.py",
        "combinations(chosen, min(number, len(chosen)))",
        "combinations(chosen, min(1, len(chosen)))",
        "tests/proof/twins/test_mercury.py::test_a_partition_among_exactly_those_who_wait_for_it",
    ),
    Mistake(
        "models/process_steps.py",
        "for branch, holds in ((then, test), (otherwise, negation(test))):",
        "for branch, holds in ((then, negation(test)), (otherwise, test)):",
        "tests/proof/twins/test_mercury.py::test_statements_in_order_and_conditions",
    ),
    Mistake(
        "models/process_steps.py",
        "return Arithmetic(operator, substitute(left, values), substitute(right, values))",
        "return Arithmetic(operator, substitute(right, values), substitute(left, values))",
        "tests/proof/twins/test_mercury.py::test_statements_in_order_and_conditions",
    ),
    Mistake(
        "models/process_steps.py",
        "base = values.get(name, Read(name))\n",
        "base: Term = Read(name)\n",
        "tests/proof/twins/test_mercury.py::test_sets_and_identities",
    ),
    Mistake(
        "models/process_relational.py",
        "Symbol(self.names[effect.target], (), self.point_sort)(), value)",
        "Symbol(self.names[effects[0].target], (), self.point_sort)(), value)",
        "tests/proof/twins/test_mercury.py::test_a_broadcast_reaches_everyone_or_waits",
    ),
    Mistake(
        "models/process_relational.py",
        'if operation == "add" else conj(before, neg(changed))',
        'if operation == "add" else conj(before, changed)',
        "tests/proof/twins/test_mercury.py::test_sets_and_identities",
    ),
    Mistake(
        "models/process_relational.py",
        "disj(equal(who, p), self.point(who, None), *(c for c, _ in received))",
        "disj(equal(who, p), *(c for c, _ in received))",
        "tests/proof/twins/test_mercury.py::test_random_programs",
    ),
    Mistake(
        "models/process_relational.py",
        "gone = disj(gone, fails(other))",
        "gone = disj(gone)",
        "tests/proof/twins/test_mercury.py::test_random_programs",
    ),
    Mistake(
        "models/process_relational.py",
        "number = item.number + 1 if item.most else item.number\n",
        "number = item.number\n",
        "tests/proof/twins/test_mercury.py::test_properties_by_their_names",
    ),
    Mistake(
        "models/process_relational.py",
        "return neg(many) if item.most else many",
        "return neg(many)",
        "tests/proof/twins/test_mercury.py::test_properties_by_their_names",
    ),
    Mistake(
        "models/process_relational.py",
        '{"decided": self.values(p, Read(event.proposal), {})}',
        '{"decided": self.values(who, Read(event.proposal), {})}',
        "tests/proof/twins/test_mercury.py::test_everyone_decides_what_one_of_them_proposes",
    ),
    Mistake(
        "models/process_relational.py",
        '{"winners": wins, "losers": loses}',
        '{"winners": loses, "losers": wins}',
        "tests/proof/twins/test_mercury.py::test_a_partition_among_exactly_those_who_wait_for_it",
    ),
    Mistake(
        "models/process_relational.py",
        "enough = disj(distinct(winners), forall((who,), implies(member, wins(who))))",
        "enough = distinct(winners)",
        "tests/proof/twins/test_mercury.py::test_a_partition_among_exactly_those_who_wait_for_it",
    ),
    Mistake(
        "models/process_relational.py",
        "return forall((other,), disj(equal(other, process), inside))",
        "return forall((other,), inside)",
        "tests/proof/twins/test_mercury.py::test_a_counter_is_shown_as_the_set_of_those_whom_it_has_counted",
    ),
    Mistake(
        "models/process_counting.py",
        "{counted(name): NoProcesses(), lost(name): Number(0)}",
        "{lost(name): Number(0)}",
        "tests/proof/twins/test_mercury.py::test_a_counter_that_is_set_to_zero_has_counted_nobody",
    ),
    Mistake(
        "models/process_counting.py",
        "distance = right.number - left.number + (name in added)",
        "distance = right.number - left.number + 1 + (name in added)",
        "tests/proof/twins/test_mercury.py::test_a_counter_is_shown_as_the_set_of_those_whom_it_has_counted",
    ),
    Mistake(
        "models/process_counting.py",
        "first = Number(0 if self._starts_empty(variable) else 1)",
        "first = Number(0)",
        "tests/proof/twins/test_mercury.py::test_first_values_and_bounds_that_depend_on_the_number_of_processes",
    ),
    Mistake(
        "models/process.py",
        'if "." in name and name.split(".")[0] != own}',
        'if "." in name and name.split(".")[0] == own}',
        "tests/proof/twins/test_mercury.py::test_a_broadcast_reaches_everyone_or_waits",
    ),
    Mistake(
        "lang/mercury/elaborate.py",
        "return If(condition, self._block(item.then, event), self._block(item.otherwise, event), item.span)",
        "return If(condition, self._block(item.then, event), (), item.span)",
        "tests/proof/twins/test_mercury.py::test_the_else_of_a_condition",
    ),
    Mistake(
        "lang/mercury/elaborate.py",
        '= "add" if item.operation.startswith("add") else "remove"',
        '= "add"',
        "tests/proof/twins/test_mercury.py::test_sets_and_identities",
    ),
    Mistake(
        "lang/mercury/elaborate.py",
        "initial = low if item.initial is None else self._bound(item.initial)",
        "initial = low",
        "tests/proof/twins/test_mercury.py::test_first_values_and_bounds_that_depend_on_the_number_of_processes",
    ),
    Mistake(
        "lang/mercury/elaborate.py",
        "return Count(surface.most, surface.number, tuple(descriptors))",
        "return Count(surface.most, surface.number, tuple(descriptors[:1]))",
        "tests/proof/twins/test_mercury.py::test_properties_by_their_names",
    ),
    Mistake(
        "lang/mercury/layout.py",
        "if self.begins_line() and here != inner:",
        "if self.begins_line():",
        "tests/proof/twins/test_mercury.py::test_statements_in_order_and_conditions",
    ),
    Mistake(
        "lang/mercury/layout.py",
        "return alike == [len(self.waiting) - 1]",
        "return True",
        "tests/lang/mercury/test_layout.py::test_what_is_indented_is_the_body",
    ),
    Mistake(
        "engines/explicit/processes.py",
        "tests = guard if target is None else [*guard, target[other]]",
        "tests = guard",
        "tests/proof/twins/test_mercury.py::test_nobody_receives_nothing",
    ),
    Mistake(
        "engines/explicit/processes.py",
        "payloads = [{value: TRUE} for value in range(low, high + 1)]",
        "payloads = [{value: TRUE} for value in range(low, high)]",
        "tests/proof/twins/test_mercury.py::test_the_environment_sends_everything_and_receives_everything",
    ),
    Mistake(
        "engines/explicit/processes.py",
        "p.source.location in crashing and p.target.location not in crashing]",
        "p.source.location not in crashing and p.target.location in crashing]",
        "tests/proof/twins/test_mercury.py::test_what_was_proposed_by_who_crashes_meanwhile_may_be_decided",
    ),
    Mistake(
        "models/evaluation.py",
        "most = max(counts.values())",
        "most = min(counts.values())",
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "models/evaluation.py",
        "            return values\n\n        return choose",
        "            return values[:1]\n\n        return choose",
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "models/evaluation.py",
        "elif before != value:",
        "elif before == value:",
        "tests/proof/twins/test_rounds.py::test_library_against_the_reference[one_third_rule]",
    ),
    Mistake(
        "models/evaluation.py",
        "                if not bounds or bounds[0] is None or",
        "                if bounds and bounds[0] is None or",
        "tests/proof/twins/test_rounds.py::test_random_algorithms",
    ),
    Mistake(
        "models/evaluation.py",
        '"singleton": lambda c: 1 << first(c) - 1 if first(c) else 0,',
        '"singleton": lambda c: 1 << first(c) if first(c) else 0,',
        "tests/proof/twins/test_rounds.py::test_random_algorithms",
    ),
    Mistake(
        "models/evaluation.py",
        '            "<=": lambda c: first(c) <= second(c),',
        '            "<=": lambda c: first(c) < second(c),',
        "tests/proof/twins/test_rounds.py::test_random_algorithms",
    ),
    Mistake(
        "models/evaluation.py",
        'best = (max if extreme[0] == "largest" else min)',
        'best = (min if extreme[0] == "largest" else max)',
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "lang/rounds/elaborate.py",
        "otherwise=self.statements(otherwise, scope),",
        "otherwise=self.statements(then, scope),",
        "tests/proof/twins/test_rounds.py::test_random_algorithms",
    ),
    Mistake(
        "lang/rounds/elaborate.py",
        'return replace(node, operator="union", operands=tuple(item for item, _ in pairs)), "set"',
        'return self.rebuilt(node, [item for item, _ in pairs]), "set"',
        "tests/methods/heardof/test_check_rounds.py::test_unions_of_sets_that_messages_bring",
    ),
    Mistake(
        "lang/rounds/elaborate.py",
        "called = fresh_name(name, taken.__contains__)",
        "called = name",
        "tests/lang/rounds/test_elaborate.py::test_an_inner_name_hides_the_outer_one",
    ),
    Mistake(
        "models/quorum_formulas.py",
        "scope = {variable for term in bound.values() for variable in term.free}",
        "scope: set[Var] = set()",
        "tests/proof/twins/test_rounds.py::test_univalence_with_a_name_that_the_form_uses",
    ),
    Mistake(
        "models/quorum_formulas.py",
        "return forall(variables, inner) if universal else exists(variables, inner)",
        "return exists(variables, inner) if universal else forall(variables, inner)",
        "tests/proof/twins/test_rounds.py::test_random_formulas",
    ),
    Mistake(
        "models/quorum_formulas.py",
        'strict = operator in (">", "<=")',
        "strict = False",
        "tests/methods/heardof/test_prove.py::test_a_property_about_sets_that_may_not_exist",
    ),
    Mistake(
        "models/quorums.py",
        "for state in self.states[:-1]:",
        "for state in self.states[:-2]:",
        "tests/models/test_quorums.py::test_a_property_holds_between_rounds_too",
    ),
    Mistake(
        "models/quorums.py",
        "if number > 1 and not sure:",
        "if number > 2 and not sure:",
        "tests/models/test_quorums.py::test_a_phase_that_safe_stops_half_way",
    ),
    Mistake(
        "models/quorums.py",
        "updates.append(Update(SEEN, (), disj(SEEN(), passed[-1])))",
        "updates.append(Update(SEEN, (), passed[-1]))",
        "tests/proof/twins/test_rounds.py::test_every_phase_of_one_process_is_in_the_form",
    ),
    Mistake(
        "models/quorum_rounds.py",
        "self.block(otherwise, conj(path, neg(holds)), bound)",
        "self.block(otherwise, path, bound)",
        "tests/proof/twins/test_rounds.py::test_library_against_the_form",
    ),
    Mistake(
        "models/quorum_rounds.py",
        'low, high = (other, best) if node.extreme[0] == "largest" else (best, other)',
        'low, high = (best, other) if node.extreme[0] == "largest" else (other, best)',
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "models/quorum_rounds.py",
        'addressed = equal(self.coordinator(sender), ME) if send.to == "coordinator" else TRUE',
        'addressed = equal(self.coordinator(ME), sender) if send.to == "coordinator" else TRUE',
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "models/quorum_rounds.py",
        "operator if factor > 0 else FLIPPED[operator], rest * (-1 / factor)",
        "operator, rest * (-1 / factor)",
        "tests/proof/twins/test_rounds.py::test_small_algorithms_against_the_reference_and_the_form",
    ),
    Mistake(
        "models/quorum_sets.py",
        'neg(counted), self.kind(Linear.name("n") - bound, not strict))',
        'neg(counted), self.kind(Linear.name("n") - bound, strict))',
        "tests/models/test_quorums.py::test_bounds_that_no_set_reaches",
    ),
    Mistake(
        "models/quorum_sets.py",
        'total = Linear.name("n") * (1 - len(kinds))',
        'total = Linear.name("n") * (2 - len(kinds))',
        "tests/proof/twins/test_rounds.py::test_library_against_the_form",
    ),
    Mistake(
        "models/linear.py",
        "rows.add(AtLeast(low.form * (1 / a) + high.form * (1 / b), low.strict or high.strict))",
        "rows.add(AtLeast(low.form * (1 / a) + high.form * (1 / b), True))",
        "tests/models/test_linear.py",
    ),
    Mistake(
        "engines/rounds/naive.py",
        "0 if last else before.round + 1,",
        "0 if last else before.round,",
        "tests/proof/twins/test_rounds.py::test_library_against_the_reference[last_voting]",
    ),
    Mistake(
        "engines/rounds/naive.py",
        'addressed = send is not None and (send.to == "all" or before.coordinators[q] == p)',
        'addressed = send is not None and (send.to == "all" or before.coordinators[p] == q)',
        "tests/proof/twins/test_rounds.py::test_library_against_the_reference[last_voting]",
    ),
    Mistake(
        "engines/rounds/communication.py",
        'return lossy, 0 if self.kind == "omissions" and lossy == 0 else budget',
        "return lossy, budget",
        "tests/proof/twins/test_rounds.py::test_random_algorithms",
    ),
    Mistake(
        "engines/rounds/communication.py",
        "return UNLIMITED if node is None else max(0, int(machine.function(node)(world)))",
        "return UNLIMITED if node is None else int(machine.function(node)(world))",
        "tests/methods/heardof/test_check_rounds.py::test_less_than_none_is_none",
    ),
    Mistake(
        "engines/rounds/symmetry.py",
        "for node in (*machine.model.nodes(), *said):",
        "for node in machine.model.nodes():",
        "tests/methods/heardof/test_check_rounds.py::test_phases_that_a_property_tells_apart",
    ),
    Mistake(
        "engines/rounds/search.py",
        "if total <= state.budget and total < extended",
        "if total < state.budget and total < extended",
        "tests/engines/rounds/test_search.py",
    ),
    Mistake(
        "models/rounds.py",
        "for node in (*self.nodes(), *predicates)",
        "for node in self.nodes()",
        "tests/methods/heardof/test_check_rounds.py::test_coordinators_that_only_safe_speaks_of",
    ),
)
