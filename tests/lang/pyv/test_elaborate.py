"""The static rules of mypyvy, one by one, and what declarations mean.  `HEADER` of `reading` declares the symbols."""

from __future__ import annotations

import pytest

from lang.reading import codes, formula, model, problems, transition
from quorate.logic.printing import show
from quorate.logic.terms import TRUE
from quorate.logic.transform import conjuncts
from quorate.models.relational import RelationalModel


def errors(text: str) -> list[tuple[str, str]]:
    return [(item.code, item.message) for item in problems(text) if item.severity == "error"]


def shown(model: RelationalModel, name: str) -> str:
    """The formula of this name."""
    named = (*model.axioms, *model.initial, *model.properties)
    formulas = {item.name: item.formula for item in named} | {item.name: item.formula for item in model.theorems}
    return show(formulas[name])


def body(text: str) -> str:
    """The guard of a transition."""
    return show(transition(text).guard)


# -- implicit closure --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(N)", "forall N:node. p(N)"),
        ("p(N1) -> exists X. q(N1, X)", "forall N1:node. p(N1) -> (exists X:value. q(N1, X))"),
        ("p(MAX_R)", "forall MAX_R:node. p(MAX_R)"),
        ("(p(N) | flag) & (flag -> p(M))", "forall N:node, M:node. (p(N) | flag) & (flag -> p(M))"),
        ("!p(N)", "forall N:node. !p(N)"),
        ("exists N. p(N) & le(N, M)", "forall M:node. exists N:node. p(N) & le(N, M)"),
        ("forall N. p(N)", "forall N:node. p(N)"),
    ],
)
def test_free_upper_case_names_are_universal_around_the_whole_formula(text: str, expected: str) -> None:
    assert show(formula(text)) == expected


@pytest.mark.parametrize("name", ["Src", "n", "nN", "_"])
def test_other_free_names_are_unknown(name: str) -> None:
    assert codes(f"safety p({name})") == ["Q0201"]


def test_declared_upper_case_names_are_themselves() -> None:
    assert show(model("immutable constant N: node\nsafety p(N)").safety[0].formula) == "p(N)"


@pytest.mark.parametrize(
    "text",
    [
        "axiom [it] le(X, X)",
        "init [it] p(X)",
        "safety [it] p(X)",
        "invariant [it] p(X)",
        "theorem [it] p(X)",
        "zerostate theorem [it] le(X, X)",
        "twostate theorem [it] new(p(X))",
    ],
)
def test_every_declaration_is_closed(text: str) -> None:
    assert shown(model(text), "it").startswith("forall X:node. ")


def test_definitions_derived_relations_traces_and_transitions_are_closed() -> None:
    found = model(
        """
definition all(v) = q(X, v)
derived relation known(value): known(V) <-> exists N. q(N, V)
safety [use] all(V)
transition t(n: node) modifies p p(n) & (new(p(N)) <-> le(N, n)) & le(M, n)
sat trace { assert p(N) }
"""
    )
    assert shown(found, "use") == "forall V:value, X:node. q(X, V)"
    assert show(found.derived[0].formula).startswith("forall V:value. ")
    assert show(found.transitions[0].guard) == "p(n) & (forall M:node. le(M, n))"
    assert [step.assertion and show(step.assertion) for step in found.traces[0].steps] == ["forall N:node. p(N)"]


def test_the_closure_of_a_transition_is_inside_its_parameters() -> None:
    found = transition("transition t(n: node) = p(n) | le(N, n)")
    assert [parameter.name for parameter in found.parameters] == ["n"]
    assert show(found.guard) == "forall N:node. p(n) | le(N, n)"


# -- names -------------------------------------------------------------------------------------------------------------


def test_order_does_not_matter() -> None:
    text = "safety d(X) & r(Y)\ndefinition d(x) = e(x)\ndefinition e(y) = p(y)\nmutable relation r(late)\nsort late"
    assert codes(text) == []


def test_derived_relations_see_only_what_stands_before_them() -> None:
    early = "derived relation d(node): d(X) <-> r(X)\nmutable relation r(node)\n"
    assert errors(early) == [("Q0201", "`r` is declared below")]
    late = "mutable relation r(node)\nderived relation d(node): d(X) <-> r(X)\n"
    assert errors(late) == []
    through = "definition m(x) = r(x)\nderived relation d(node): d(X) <-> m(X)\nmutable relation r(node)\n"
    assert errors(through) == [("Q0201", "`m` speaks of `r`, which is declared below")]
    mutual = "derived relation a: a <-> b\nderived relation b: b <-> a\n"
    assert errors(mutual) == [("Q0201", "`b` is declared below")]
    hidden = "derived relation d: d <-> (exists r. p(r)) & (let r = leader in p(r))\nmutable relation r(node)\n"
    assert errors(hidden) == []


def test_binders_may_hide_binders() -> None:
    text = "forall x:node. p(x) & (exists x. q(leader, x)) & le(x, x)"
    assert show(formula(text)) == "forall x:node. p(x) & (exists x:value. q(leader, x)) & le(x, x)"


@pytest.mark.parametrize(
    "text",
    [
        "safety forall leader. p(leader)",
        "safety forall flag:node. p(flag)",
        "safety let zero = leader in p(zero)",
        "transition t(zero: node) = p(zero)",
        "definition d(owner: node) = p(owner)",
        "definition d() = flag\nsafety forall d. p(d)",
        "safety [named] flag\nsafety forall named. p(named)",
        "transition t() = flag\nsafety exists t. p(t)",
        "definition d(d: node) = p(d)",
        "safety [named] let named = flag in named",
    ],
)
def test_binders_that_hide_what_is_declared_are_warned_about(text: str) -> None:
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0205", "warning")]


def test_a_variable_that_hides_a_symbol_is_the_variable() -> None:
    assert str(formula("forall zero. p(zero)")) == "forall zero:node. p(zero)"


@pytest.mark.parametrize(
    "text", ["safety forall x, x. p(x)", "transition t(x: node, x: value) = flag", "definition d(x, x) = p(x)"]
)
def test_variables_that_stand_together_have_different_names(text: str) -> None:
    assert codes(text) == ["Q0205"]


@pytest.mark.parametrize(
    "text",
    [
        "mutable relation p",
        "immutable constant flag: node",
        "definition p() = flag",
        "transition leader() = flag",
        "definition d() = flag\ndefinition d() = flag",
        "transition t() = flag\ntransition t() = flag",
        "sort node",
        "derived relation p(node): p(X) <-> flag",
    ],
)
def test_names_are_declared_once(text: str) -> None:
    [problem] = problems(text)
    assert (problem.code, problem.severity, len(problem.related)) == ("Q0205", "error", 1)


def test_sorts_have_their_own_names() -> None:
    found = model("mutable relation node(node)\nsafety node(X)")
    assert shown(found, "safety_1") == "forall X:node. node(X)"


@pytest.mark.parametrize(
    ("stated", "safety", "invariants"),
    [
        ("invariant [a] !p(N)\ninvariant [b] true", ["a", "b"], []),
        ("safety [s] !p(N)\ninvariant [a] !p(N)", ["s"], ["a"]),
        ("invariant [a] !p(N)\nliveness [l] true ~> p(N)", [], ["a"]),
    ],
)
def test_where_nothing_is_called_safety_invariants_are_the_properties(
    stated: str, safety: list[str], invariants: list[str]
) -> None:
    found = model(stated)
    assert [item.name for item in found.safety] == safety
    assert [item.name for item in found.invariants] == invariants


def test_two_properties_of_one_name_are_told_apart() -> None:
    text = "safety [a] flag\ninvariant [a] p(X)\ninvariant [a_1] p(X)"
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0205", "warning")]
    found = model(text)
    assert [item.name for item in found.properties] == ["a", "a_2", "a_1"]


def test_a_property_may_be_called_like_a_symbol() -> None:
    text = "safety [flag] flag & p(X)\ninvariant flag -> p(X)"
    assert [(item.code, item.severity) for item in problems(text)] == [("Q0205", "warning")]
    assert shown(model(text), "invariant_1") == "forall X:node. flag -> p(X)"


def test_unlabelled_properties_are_numbered() -> None:
    found = model("axiom le(X, X)\ninit flag\nsafety flag\nsafety [s] p(X)\nsafety p(X)\ninvariant flag\ntheorem p(X)")
    named = (*found.axioms, *found.initial, *found.properties, *found.theorems)
    assert [item.name for item in named] == [  # type: ignore[attr-defined]
        "axiom_1", "init_1", "safety_1", "s", "safety_3", "invariant_1", "theorem_1"
    ]  # fmt: skip


def test_numbers_avoid_names_in_use() -> None:
    found = model("mutable relation safety_1\nsafety flag\nsafety [safety_1_1] flag")
    assert [item.name for item in found.safety] == ["safety_1_2", "safety_1_1"]


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["axiom p(X)", "axiom flag", "zerostate theorem p(X)", "zerostate definition d() = flag"]
)
def test_zero_states_have_no_mutable_symbols(text: str) -> None:
    assert codes(text) == ["Q0208"]


@pytest.mark.parametrize(
    "word",
    ["init", "safety", "invariant", "theorem", "onestate theorem", "definition d() =", "onestate definition d() ="],
)
@pytest.mark.parametrize("claim", ["new(flag)", "flag'"])
def test_one_state_has_no_new_values(word: str, claim: str) -> None:
    assert codes(f"{word} {claim}") == ["Q0207"]


@pytest.mark.parametrize(
    "text", ["derived relation d: d <-> flag'", "sat trace { assert flag' }", "axiom new(le(X, X))"]
)
def test_nor_have_derived_relations_traces_and_axioms(text: str) -> None:
    assert codes(text) == ["Q0207"]


@pytest.mark.parametrize(
    "text",
    [
        "transition t() modifies flag flag'",
        "twostate definition d() = flag'",
        "twostate theorem flag' -> new(flag)",
    ],
)
def test_two_states_have_new_values(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize("claim", ["flag''", "new(flag')", "new(new(flag))"])
def test_there_is_no_third_state(claim: str) -> None:
    assert codes(f"twostate theorem {claim}") == ["Q0207"]


@pytest.mark.parametrize("claim", ["le'(X, X)", "p(zero')", "forall x. p(x')", "p(X')"])
def test_what_never_changes_has_no_new_value(claim: str) -> None:
    assert codes(f"twostate theorem {claim}") == ["Q0207"]


def test_new_shifts_everything_a_prime_one_symbol() -> None:
    found = model("twostate theorem [a] new(q(leader, V))\ntwostate theorem [b] q'(leader, V)")
    assert shown(found, "a") == "forall V:value. q'(leader', V)"
    assert shown(found, "b") == "forall V:value. q'(leader, V)"


def test_new_of_something_rigid_is_itself() -> None:
    assert shown(model("twostate theorem [a] new(le(X, zero) & flag)"), "a") == "forall X:node. le(X, zero) & flag'"


@pytest.mark.parametrize(
    ("definition", "use", "expected"),
    [
        ("zerostate definition d(x) = le(x, x)", "axiom d(X)", []),
        ("zerostate definition d(x) = le(x, x)", "twostate theorem new(d(X)) & flag", []),
        ("zerostate definition d(x) = le(x, x)", "twostate theorem d'(X)", ["Q0207"]),
        ("definition d(x) = p(x)", "axiom d(X)", ["Q0208"]),
        ("definition d(x) = p(x)", "safety d(X)", []),
        ("definition d(x) = p(x)", "twostate theorem d'(X) & new(d(X)) & d(X)", []),
        ("definition d(x) = p(x)", "twostate theorem new(d'(X))", ["Q0207"]),
        ("twostate definition d(x) = p'(x)", "safety d(X)", ["Q0207"]),
        ("twostate definition d(x) = p'(x)", "twostate theorem d(X)", []),
        ("twostate definition d(x) = p'(x)", "twostate theorem d'(X)", ["Q0207"]),
        ("twostate definition d(x) = p'(x)", "twostate theorem new(d(X))", ["Q0207"]),
        ("axiom [d] le(Y, Y)", "zerostate theorem d", []),
        ("safety [d] p(X)", "twostate theorem d -> d'", []),
        ("safety [d] p(X)", "axiom d", ["Q0208"]),
        ("twostate theorem [d] p(X) -> p'(X)", "invariant d", ["Q0207"]),
    ],
)
def test_definitions_are_used_within_the_states_at_hand(definition: str, use: str, expected: list[str]) -> None:
    assert codes(f"{definition}\n{use}") == expected


# -- definitions -------------------------------------------------------------------------------------------------------


def test_definitions_are_expanded() -> None:
    found = model("definition both(x, y) = p(x) & p(y)\nsafety [a] both(X, leader) -> flag")
    assert shown(found, "a") == "forall X:node. p(X) & p(leader) -> flag"


def test_definitions_keep_their_primes() -> None:
    """mypyvy loses them (wilcoxjay/mypyvy, `subst` drops `n_new`), so that false theorems are reported as proved."""
    found = model(
        """
definition none() = !p(X)
twostate definition set_next(n) = p(n) & p'(n)
twostate theorem [a] none'
twostate theorem [b] new(none)
twostate theorem [c] set_next(leader)
twostate theorem [d] none & set_next(X) -> none'
"""
    )
    assert shown(found, "a") == shown(found, "b") == "forall X:node. !p'(X)"
    assert shown(found, "c") == "p(leader) & p'(leader)"
    expected = "forall X:node. (forall X:node. !p(X)) & p(X) & p'(X) -> (forall X:node. !p'(X))"
    assert shown(found, "d") == expected


def test_primed_definitions_in_transitions_are_not_lost() -> None:
    text = "twostate definition set() = p'(X)\ntransition t() modifies p set"
    [update] = transition(text).updates
    assert (show(update.value), update.symbol.name) == ("true", "p")


def test_arguments_of_a_primed_definition_are_of_the_old_state() -> None:
    found = model("definition d(x) = p(x)\ntwostate theorem [a] d'(leader)\ntwostate theorem [b] new(d(leader))")
    assert (shown(found, "a"), shown(found, "b")) == ("p'(leader)", "p'(leader')")


def test_named_formulas_are_definitions() -> None:
    text = "axiom [refl] le(X, X)\ninit [start] !p(X)\ninvariant [lemma] flag\ntheorem [t] refl & start -> lemma"
    assert shown(model(text), "t") == "(forall X:node. le(X, X)) & (forall X:node. !p(X)) -> flag"


def test_safety_is_the_conjunction_of_all_safety_properties() -> None:
    found = model("safety p(X)\nsafety flag\ntwostate theorem [t] safety -> safety'\ninvariant [i] !safety")
    assert shown(found, "t") == "(forall X:node. p(X)) & flag -> (forall X:node. p'(X)) & flag'"
    assert shown(model("theorem [t] safety & flag"), "t") == "flag"


def test_a_transition_as_a_definition_has_no_frame() -> None:
    found = model(
        """
transition t(n: node) modifies p
  p(n) & (new(p(X)) <-> p(X) & X != n)
twostate theorem [a] t(leader) -> flag
"""
    )
    assert shown(found, "a") == "(forall X:node. p(leader) & (p'(X) <-> p(X) & X != leader)) -> flag"


def test_definitions_without_arguments_have_no_parentheses() -> None:
    assert codes("definition cut() = flag\nsafety cut") == []
    assert codes("definition cut() = flag\nsafety cut()") == ["Q0202"]
    assert codes("safety flag()") == ["Q0202"]
    assert codes("safety p() & q()") == ["Q0202", "Q0202"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("definition d() = d", 18),
        ("definition a() = b\ndefinition b() = flag & a", 25),
        ("safety [s] s | flag", 12),
        ("safety safety | flag", 8),
        ("safety [s] t\ndefinition t() = safety", 12),
        ("transition t() = flag -> t", 26),
        ("definition d() = let d = d in d", 26),
        ("definition d() = (forall d. p(d)) & d", 37),
    ],
)
def test_definitions_are_not_circular(text: str, column: int) -> None:
    [problem] = problems(text)
    assert (problem.code, problem.span.column) == ("Q0210", column)


def test_a_circle_is_spelled_out() -> None:
    [problem] = problems("definition a() = b\ndefinition b() = c\ndefinition c() = flag -> b")
    assert problem.notes == ("the circle is b → c → b",)


def test_long_chains_of_definitions_are_fine() -> None:
    chain = "\n".join(f"definition d{i}() = d{i + 1}" for i in range(3000))
    assert shown(model(f"safety [a] d0\n{chain}\ndefinition d3000() = flag"), "a") == "flag"
    circle = "\n".join(f"definition d{i}() = d{(i + 1) % 3000}" for i in range(3000))
    assert codes(circle) == ["Q0210"]


def test_definitions_of_other_sorts() -> None:
    found = model("definition after(x) = next(next(x))\nsafety [a] p(after(X))")
    assert shown(found, "a") == "forall X:node. p(next(next(X)))"
    assert codes("definition some() = next(X)") == ["Q0221"]


# -- sorts -------------------------------------------------------------------------------------------------------------


def test_parameters_without_sorts() -> None:
    found = transition("transition t(n, v) = q(n, v)")
    assert [(item.name, item.sort.name) for item in found.parameters] == [("n", "node"), ("v", "value")]
    assert codes("transition t(n) = flag") == ["Q0204"]


@pytest.mark.parametrize("sort", ["bool", "int"])
def test_truth_values_and_integers_are_no_arguments(sort: str) -> None:
    assert codes(f"mutable relation r({sort})\nsafety r(X)") == ["Q0217"]
    assert codes(f"mutable function g(node, {sort}): node") == ["Q0217"]
    assert codes(f"derived relation r({sort}): r(X) <-> flag") == ["Q0217"]


def test_truth_values_and_integers_everywhere_else() -> None:
    text = """
immutable constant yes: bool
mutable constant total: int
mutable function weight(node): int
mutable function marked(node): bool
definition heavy(n, limit: int) = weight(n) > limit
transition t(n: node, i: int, b: bool) = heavy(n, i) & (b <-> marked(n)) & yes
safety forall i:int. exists b:bool. let c = (b -> i + 1 <= total * 2 - 3) in c
"""
    assert codes(text) == []


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_comparisons_are_of_integers(operator: str) -> None:
    assert show(formula(f"X {operator} Y")) == f"forall X:int, Y:int. X {operator} Y"
    assert codes(f"safety leader {operator} leader") == ["Q0203", "Q0203"]


def test_integer_arithmetic() -> None:
    assert show(formula("count + 2 * 3 - 4 != 10 & count < 5")) == "count + 2 * 3 - 4 != 10 & count < 5"
    assert codes("safety flag + 1 = 2") == ["Q0203"]


def test_let_distinct_and_conditionals() -> None:
    assert show(formula("let x = next(leader) in p(x) & p(next(x))")) == "p(next(leader)) & p(next(next(leader)))"
    assert show(formula("distinct(X, Y, zero)")) == "forall X:node, Y:node. X != Y & X != zero & Y != zero"
    assert show(formula("distinct(flag, p(leader))")) == "!(flag <-> p(leader))"
    assert show(formula("p(if flag then leader else zero)")) == "p(if flag then leader else zero)"
    assert show(formula("if flag then p(X) else !p(X)")) == "forall X:node. if flag then p(X) else !p(X)"


def test_a_let_value_is_of_the_state_around_it() -> None:
    found = model("twostate theorem [a] let x = leader in new(p(x))")
    assert shown(found, "a") == "p'(leader)"


def test_annotations_are_ignored() -> None:
    plain = "sort s\nmutable relation r(s)\nimmutable function g(s): s\nderived relation d(s): d(X) <-> r(X)\n"
    marked = (
        "sort s @no_minimize\nmutable relation r(s) @no_print @printed_by(set_printer, s)\n"
        "immutable function g(s): s @x-y\nderived relation d(s) @no_print: d(X) <-> r(X)\n"
    )
    assert model(plain, "") == model(marked, "")


# -- frames ------------------------------------------------------------------------------------------------------------


def test_what_is_mentioned_must_be_modified() -> None:
    [error] = problems("transition t(n: node) modifies flag new(p(n)) & flag' & q'(owner'(V), V)")
    assert (error.code, error.message) == (
        "Q0209",
        "transition `t` mentions the new value of `owner`, `p`, `q` but does not modify them",
    )
    assert error.fix == "add `owner`, `p`, `q` to `modifies`"
    assert codes("transition t() = flag'") == ["Q0209"]


def test_also_through_definitions() -> None:
    assert codes("twostate definition set() = p'(X)\ntransition t() = set") == ["Q0209"]
    assert codes("definition all() = p(X)\ntransition t() = new(all)") == ["Q0209"]
    assert codes("definition all() = p(X)\ntransition t() modifies p new(all)") == []


def test_what_is_modified_must_be_mentioned() -> None:
    [warning] = problems("transition t() modifies flag, p flag'")
    assert (warning.code, warning.severity) == ("Q0209", "warning")
    assert warning.message == "transition `t` modifies `p` but says nothing about its new value"
    assert (warning.span.line, warning.span.column) == (12, 31)
    assert codes("transition t() modifies flag, p flag' & (new(p(X)) <-> new(p(X)))") == []


@pytest.mark.parametrize("name", ["le", "d", "nothing", "t"])
def test_only_mutable_symbols_are_modified(name: str) -> None:
    text = f"derived relation d: d <-> flag\ntransition t() modifies {name} flag"
    assert [item.code for item in problems(text) if item.severity == "error"] == ["Q0209"]


def test_two_state_definitions_with_frames_are_checked_too() -> None:
    assert codes("twostate definition d() modifies p p'(X)") == []
    assert codes("twostate definition d() modifies p flag'") == ["Q0209", "Q0209"]


def test_without_modifies_nothing_changes() -> None:
    assert transition("transition t() = flag").updates == ()


# -- derived relations -------------------------------------------------------------------------------------------------


def test_derived_relations_that_are_definitions() -> None:
    found = model("derived relation known(value): known(V) <-> exists N. q(N, V)\nsafety known(V)")
    [item] = found.derived
    assert item.definition is not None
    assert [symbol.name for symbol in found.derived_symbols] == ["known"]
    assert "known" not in {symbol.name for symbol in found.state_symbols}


def test_new_values_of_derived_relations() -> None:
    text = """
derived relation some: some <-> exists N. p(N)
transition changes(n: node) modifies p
  new(p(X)) <-> p(X) | X = n
transition needs(n: node) modifies p
  new(some) & (new(p(X)) <-> p(X) & X != n)
transition stays() modifies flag
  new(some) & flag'
"""
    _, needs, stays = model(text).transitions
    assert show(needs.guard) == "exists N:node. p(N) & N != n"
    assert show(stays.guard) == "exists N:node. p(N)"


IMPLICIT = """
derived relation reach(node, node): reach(X, X) & (reach(X, Y) -> reach(X, next(Y)))
transition t(n: node) modifies p
  new(p(X)) <-> p(X) & !reach(n, X)
transition u() = flag
safety p(X) -> reach(X, X)
"""


def test_derived_relations_that_are_no_definitions() -> None:
    found = model(IMPLICIT)
    law = "forall X:node, Y:node. reach(X, X) & (reach(X, Y) -> reach(X, next(Y)))"
    assert found.derived == ()
    assert (shown(found, "reach_initially"), shown(found, "reach_defined")) == (law, law)
    for step in found.transitions:
        [choice] = step.choices
        assert choice.name == "reach'"
        parts = [show(part) for part in conjuncts(step.guard)]
        assert parts[-2:] == [
            "forall X:node. reach'(X, X)",
            "forall X:node, Y:node. reach'(X, Y) -> reach'(X, next(Y))",
        ]


def test_their_law_follows_what_it_is_built_on() -> None:
    text = """
derived relation some(node): some(X) <-> p(X)
derived relation least(node): least(X) -> some(X)
transition t(n: node) modifies p
  new(p(X)) <-> X = n
transition u() = flag
"""
    first, second = model(text).transitions
    assert show(first.guard) == "forall X:node. least'(X) -> X = n"
    assert show(second.guard) == "flag & (forall X:node. least'(X) -> p(X))"


def test_their_law_holds_in_theorems_and_traces() -> None:
    text = "derived relation some: some -> flag\nonestate theorem [a] some -> p(X)\nsat trace { assert some }"
    found = model(text)
    assert shown(found, "a") == "(some -> flag) -> (forall X:node. some -> p(X))"
    assert [show(step.assertion) for step in found.traces[0].steps if step.assertion] == ["some -> flag", "some"]


# -- traces ------------------------------------------------------------------------------------------------------------

TRANSITION = "transition t(n: node, v: value) = q(n, v)\n"


def test_traces() -> None:
    text = TRANSITION + "unsat trace { t any transition t(*, *) | t(leader, *) assert q(N, V) }"
    [query] = model(text).traces
    assert (query.name, query.satisfiable, len(query.steps)) == ("trace_1", False, 4)
    assert query.steps[0].calls == (("t", (None, None)),)
    [first, second] = query.steps[2].calls
    assert first == ("t", (None, None)) and show(second[1][0]) == "leader"  # type: ignore[arg-type]


def test_an_initial_state_is_told_first() -> None:
    [query] = model(TRANSITION + "sat trace { assert flag assert init t }").traces
    assert [step.initial for step in query.steps] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("t assert init", "Q0218"),
        ("any transition assert flag assert init", "Q0218"),
        ("p", "Q0213"),
        ("unknown", "Q0213"),
        ("t(leader)", "Q0202"),
        ("t(leader, leader)", "Q0203"),
        ("t(*, N)", "Q0201"),
        ("assert p(nothing)", "Q0201"),
        ("assert next(leader)", "Q0212"),
    ],
)
def test_faulty_traces(body: str, expected: str) -> None:
    assert codes(TRANSITION + f"sat trace {{ {body} }}") == [expected]


# -- properties that say little ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["safety", "invariant", "init"])
def test_properties_about_no_state_are_warned_about(word: str) -> None:
    [warning] = problems(f"{word} le(X, X)")
    assert (warning.code, warning.severity) == ("Q0215", "warning")


# -- the old dialect ---------------------------------------------------------------------------------------------------

OLD = """
init !p(X)
transition t(n: node) modifies p, leader
  old(!p(n)) & (p(X) <-> old(p(X)) | X = n) & leader = n & le(old(leader), n) & flag
twostate theorem [a] old(p(X)) -> p(X)
invariant p(leader)
"""


def test_the_old_dialect_reads_like_the_new_one() -> None:
    new = """
init !p(X)
transition t(n: node) modifies p, leader
  !p(n) & (new(p(X)) <-> p(X) | X = n) & leader' = n & le(leader, n) & flag
twostate theorem [a] p(X) -> p'(X)
invariant p(leader)
"""
    assert model(OLD) == model(new)


def test_two_state_definitions_in_the_old_dialect() -> None:
    text = "twostate definition grew(x) = !old(p(x)) & p(x)\ntransition t(n: node) modifies p, leader\n"
    old = text + "  grew(leader) & leader = n & (X != n -> p(X) = old(p(X)))"
    new = "twostate definition grew(x) = !p(x) & p'(x)\ntransition t(n: node) modifies p, leader\n"
    new += "  grew(leader') & leader' = n & (X != n -> p'(X) = p(X))"
    assert model(old).transitions == model(new).transitions


def test_old_is_a_plain_name_where_it_is_declared_or_new_is_used() -> None:
    assert codes("mutable relation old(node)\ntransition t() modifies old new(old(X)) <-> old(X)") == []
    assert codes("definition old(x) = p(x)\nsafety old(X)") == []
    assert codes("transition t() modifies p new(p(X)) <-> old(p(X))") == ["Q0201"]


def test_old_in_one_state_is_refused() -> None:
    assert codes("safety old(p(X)) -> p(X)") == ["Q0201"]


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_what_expands_too_far_is_refused() -> None:
    chain = "\n".join(f"definition d{i + 1}() = (d{i} -> count = {i}) <-> (flag -> d{i})" for i in range(40))
    assert codes(f"definition d0() = flag\n{chain}") == ["Q0222"]
    lets = "".join(f"let x{i + 1} = ((x{i} -> count = {i}) <-> x{i}) in " for i in range(40))
    assert codes(f"safety let x0 = flag in {lets} x40") == ["Q0222"]
    derived = "\n".join(
        f"derived relation r{i + 1}(node): r{i + 1}(X) <-> (r{i}(X) & p(X)) | (exists Y. r{i}(Y) & le(X, Y))"
        for i in range(20)
    )
    assert codes(f"derived relation r0(node): r0(X) <-> p(X)\n{derived}\nsafety r20(X)") == ["Q0222"]
    terms = ", ".join(["zero"] * 400)
    assert codes(f"axiom distinct({terms})") == ["Q0222"]


def test_an_empty_file_is_an_empty_model() -> None:
    found = model("", "")
    assert (found.sorts, found.symbols, found.transitions, found.properties) == ((), (), (), ())
    assert model("# only a comment", "") == found


def test_true_bodies() -> None:
    found = transition("transition t() = true")
    assert found.guard is TRUE and found.updates == ()
