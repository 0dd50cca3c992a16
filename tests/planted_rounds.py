"""Mistakes to plant into the code for round-based algorithms: path below src/quorate, old text, new text, test that must fail."""

from __future__ import annotations

TWIN = "tests/proof/twins/test_rounds.py::"
FORM = "tests/models/test_quorums.py::"
CHECK = "tests/methods/heardof/test_check_rounds.py::"

ROUNDS: tuple[tuple[str, str, str, str], ...] = (
    (
        "models/evaluation.py",
        "most = max(counts.values())",
        "most = min(counts.values())",
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "models/evaluation.py",
        "            return values\n\n        return choose",
        "            return values[:1]\n\n        return choose",
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "models/evaluation.py",
        "elif before != value:",
        "elif before == value:",
        TWIN + "test_library_against_the_reference[one_third_rule]",
    ),
    (
        "models/evaluation.py",
        "                if not bounds or bounds[0] is None or",
        "                if bounds and bounds[0] is None or",
        TWIN + "test_random_algorithms",
    ),
    (
        "models/evaluation.py",
        '"singleton": lambda c: 1 << first(c) - 1 if first(c) else 0,',
        '"singleton": lambda c: 1 << first(c) if first(c) else 0,',
        TWIN + "test_random_algorithms",
    ),
    (
        "models/evaluation.py",
        '            "<=": lambda c: first(c) <= second(c),',
        '            "<=": lambda c: first(c) < second(c),',
        TWIN + "test_random_algorithms",
    ),
    (
        "models/evaluation.py",
        'best = (max if extreme[0] == "largest" else min)',
        'best = (min if extreme[0] == "largest" else max)',
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "lang/rounds/elaborate.py",
        "otherwise=self.statements(otherwise, scope),",
        "otherwise=self.statements(then, scope),",
        TWIN + "test_random_algorithms",
    ),
    (
        "lang/rounds/elaborate.py",
        'return replace(node, operator="union", operands=tuple(item for item, _ in pairs)), "set"',
        'return self.rebuilt(node, [item for item, _ in pairs]), "set"',
        CHECK + "test_unions_of_sets_that_messages_bring",
    ),
    (
        "lang/rounds/elaborate.py",
        "called = fresh_name(name, taken.__contains__)",
        "called = name",
        "tests/lang/rounds/test_elaborate.py::test_an_inner_name_hides_the_outer_one",
    ),
    (
        "models/quorum_formulas.py",
        "scope = {variable for term in bound.values() for variable in term.free}",
        "scope: set[Var] = set()",
        TWIN + "test_univalence_with_a_name_that_the_form_uses",
    ),
    (
        "models/quorum_formulas.py",
        "return forall(variables, inner) if universal else exists(variables, inner)",
        "return exists(variables, inner) if universal else forall(variables, inner)",
        TWIN + "test_random_formulas",
    ),
    (
        "models/quorum_formulas.py",
        'strict = operator in (">", "<=")',
        "strict = False",
        "tests/methods/heardof/test_prove.py::test_a_property_about_sets_that_may_not_exist",
    ),
    (
        "models/quorums.py",
        "for state in self.states[:-1]:",
        "for state in self.states[:-2]:",
        FORM + "test_a_property_holds_between_rounds_too",
    ),
    (
        "models/quorums.py",
        "if number > 1 and not sure:",
        "if number > 2 and not sure:",
        FORM + "test_a_phase_that_safe_stops_half_way",
    ),
    (
        "models/quorums.py",
        "updates.append(Update(SEEN, (), disj(SEEN(), passed[-1])))",
        "updates.append(Update(SEEN, (), passed[-1]))",
        TWIN + "test_every_phase_of_one_process_is_in_the_form",
    ),
    (
        "models/quorum_rounds.py",
        "self.block(otherwise, conj(path, neg(holds)), bound)",
        "self.block(otherwise, path, bound)",
        TWIN + "test_library_against_the_form",
    ),
    (
        "models/quorum_rounds.py",
        'low, high = (other, best) if node.extreme[0] == "largest" else (best, other)',
        'low, high = (best, other) if node.extreme[0] == "largest" else (other, best)',
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "models/quorum_rounds.py",
        'addressed = equal(self.coordinator(sender), ME) if send.to == "coordinator" else TRUE',
        'addressed = equal(self.coordinator(ME), sender) if send.to == "coordinator" else TRUE',
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "models/quorum_rounds.py",
        "operator if factor > 0 else FLIPPED[operator], rest * (-1 / factor)",
        "operator, rest * (-1 / factor)",
        TWIN + "test_small_algorithms_against_the_reference_and_the_form",
    ),
    (
        "models/quorum_sets.py",
        'neg(counted), self.kind(Linear.name("n") - bound, not strict))',
        'neg(counted), self.kind(Linear.name("n") - bound, strict))',
        FORM + "test_bounds_that_no_set_reaches",
    ),
    (
        "models/quorum_sets.py",
        'total = Linear.name("n") * (1 - len(kinds))',
        'total = Linear.name("n") * (2 - len(kinds))',
        TWIN + "test_library_against_the_form",
    ),
    (
        "models/linear.py",
        "rows.add(AtLeast(low.form * (1 / a) + high.form * (1 / b), low.strict or high.strict))",
        "rows.add(AtLeast(low.form * (1 / a) + high.form * (1 / b), True))",
        "tests/models/test_linear.py",
    ),
    (
        "engines/rounds/naive.py",
        "0 if last else before.round + 1,",
        "0 if last else before.round,",
        TWIN + "test_library_against_the_reference[last_voting]",
    ),
    (
        "engines/rounds/naive.py",
        'addressed = send is not None and (send.to == "all" or before.coordinators[q] == p)',
        'addressed = send is not None and (send.to == "all" or before.coordinators[p] == q)',
        TWIN + "test_library_against_the_reference[last_voting]",
    ),
    (
        "engines/rounds/communication.py",
        'return lossy, 0 if self.kind == "omissions" and lossy == 0 else budget',
        "return lossy, budget",
        TWIN + "test_random_algorithms",
    ),
    (
        "engines/rounds/communication.py",
        "return UNLIMITED if node is None else max(0, int(machine.function(node)(world)))",
        "return UNLIMITED if node is None else int(machine.function(node)(world))",
        CHECK + "test_less_than_none_is_none",
    ),
    (
        "engines/rounds/symmetry.py",
        "for node in (*machine.model.nodes(), *said):",
        "for node in machine.model.nodes():",
        CHECK + "test_phases_that_a_property_tells_apart",
    ),
    (
        "engines/rounds/search.py",
        "if total <= state.budget and total < extended",
        "if total < state.budget and total < extended",
        "tests/engines/rounds/test_search.py",
    ),
    (
        "models/rounds.py",
        "for node in (*self.nodes(), *predicates)",
        "for node in self.nodes()",
        CHECK + "test_coordinators_that_only_safe_speaks_of",
    ),
)
