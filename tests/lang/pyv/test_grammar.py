"""The grammar of mypyvy files: how expressions group, what declarations look like, and how reading goes on after errors.

The precedences are those of mypyvy's own parser.
"""

from __future__ import annotations

import pytest

from lang.reading import HEADER, codes, model, problems, shape, source
from quorate.lang.diagnostics import LanguageError, Sink
from quorate.lang.pyv.grammar import (
    KEYWORDS,
    Declaration,
    Definition,
    FormulaDeclaration,
    SortDeclaration,
    SymbolDeclaration,
    TraceDeclaration,
    parse,
)
from quorate.logic.printing import show

LEVELS = [
    (("<->",), "none"),
    (("->",), "right"),
    (("|",), "left"),
    (("&",), "left"),
    (("=", "!=", "<", "<=", ">", ">="), "none"),
    (("+", "-"), "left"),
    (("*",), "left"),
]
"""Binary operators, loosest first, with the side to which equal ones group."""

OPERATORS = [(operator, level, side) for level, (group, side) in enumerate(LEVELS) for operator in group]


@pytest.mark.parametrize("first", OPERATORS, ids=lambda item: item[0])
@pytest.mark.parametrize("second", OPERATORS, ids=lambda item: item[0])
def test_every_pair_of_operators(first: tuple[str, int, str], second: tuple[str, int, str]) -> None:
    text = f"a {first[0]} b {second[0]} c"
    if first[1] == second[1] and first[2] == "none":
        with pytest.raises(LanguageError, match="cannot be chained"):
            shape(text)
    elif first[0] == second[0] and first[0] in "&|":
        assert shape(text) == f"(a {first[0]} b {first[0]} c)"
    elif first[1] > second[1] or (first[1] == second[1] and first[2] == "left"):
        assert shape(text) == f"((a {first[0]} b) {second[0]} c)"
    else:
        assert shape(text) == f"(a {first[0]} (b {second[0]} c))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a & forall X. b | c", "(a & (forall X. (b | c)))"),
        ("!x = y", "((!x) = y)"),
        ("& a & b -> c & d", "((a & b) -> (c & d))"),
        ("a & if b then c else d | e", "(a & (if b then c else (d | e)))"),
        ("a -> b <-> c", "((a -> b) <-> c)"),
        ("forall X. a <-> b", "(forall X. (a <-> b))"),
        ("exists X, Y:t. a -> b", "(exists X, Y:t. (a -> b))"),
        ("a -> let x = b in c <-> d", "(a -> (let x = b in (c <-> d)))"),
        ("let x = a = b in x", "(let x = (a = b) in x)"),
        ("if a -> b then c else d <-> e", "(if (a -> b) then c else (d <-> e))"),
        ("!forall X. a & b", "(!(forall X. (a & b)))"),
        ("!a & b", "((!a) & b)"),
        ("! & a & b", "((!a) & b)"),
        ("!!a", "(!(!a))"),
        ("~a ~= b", "((!a) != b)"),
        ("| a | | b", "(a | b)"),
        ("a = & b & c", "((a = b) & c)"),
        ("a -> | b | c", "(a -> (b | c))"),
        ("a | b & c | d", "(a | (b & c) | d)"),
        ("a -> b -> c -> d", "(a -> (b -> (c -> d)))"),
        ("a - b - c + d", "(((a - b) - c) + d)"),
        ("a + b * c < d", "((a + (b * c)) < d)"),
        ("a & (b & c) & d", "(a & (b & c) & d)"),
        ("!f'(x)", "(!f'(x))"),
        ("f''(x') = y'", "(f''(x') = y')"),
        ("new(a & b)", "new((a & b))"),
        ("new(f)(x)", None),
        ("distinct(a, b | c)", "distinct(a, (b | c))"),
        ("safety' & safety", "(safety' & safety)"),
        ("r()", "r()"),
        ("a <-> b <-> c", None),
        ("a = b = c", None),
        ("a < b <= c", None),
        ("-x", None),
        ("a &", None),
        ("forall X a", None),
        ("if a then b", None),
        ("let x in a", None),
        ("distinct()", None),
        ("(a", None),
        ("f(a,)", None),
        ("(a)'", None),
        ("new a", None),
    ],
)
def test_grouping(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(LanguageError):
            shape(text)
    else:
        assert shape(text) == expected


def declarations(text: str) -> list[Declaration]:
    sink = Sink()
    found = parse(source(text), sink)
    assert not sink.found, [item.render() for item in sink.sorted()]
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sort s", SortDeclaration),
        ("sort s @no_minimize @printed_by(set_printer, a, b)", SortDeclaration),
        ("mutable relation r", SymbolDeclaration),
        ("mutable relation r()", SymbolDeclaration),
        ("immutable relation r(s, t) @no_print", SymbolDeclaration),
        ("mutable constant c: bool", SymbolDeclaration),
        ("immutable function f(s): int @no-print_2", SymbolDeclaration),
        ("derived relation d(s) @x: d(X) <-> r", SymbolDeclaration),
        ("axiom a", FormulaDeclaration),
        ("axiom [name] a", FormulaDeclaration),
        ("init [name] a", FormulaDeclaration),
        ("safety a", FormulaDeclaration),
        ("invariant [name] a", FormulaDeclaration),
        ("theorem a", FormulaDeclaration),
        ("zerostate theorem [name] a", FormulaDeclaration),
        ("onestate theorem a", FormulaDeclaration),
        ("twostate theorem a", FormulaDeclaration),
        ("definition d() = a", Definition),
        ("zerostate definition d(x, y: s) = a", Definition),
        ("twostate definition d() modifies a, b new(a)", Definition),
        ("transition t() = a", Definition),
        ("transition t(x: s, y) modifies a & b", Definition),
        ("sketch invariant [name] a", FormulaDeclaration),
        ("transition t(x: s) { assume (a); b := c; r(x) := true; }", Definition),
        ("transition t() {}", Definition),
        ("twostate definition d() { a := true; }", Definition),
        ("sat trace {}", TraceDeclaration),
        ("unsat trace { assert init assert a any transition t t() t(*, x) t | u(*) }", TraceDeclaration),
    ],
)
def test_declarations(text: str, kind: type) -> None:
    [found] = declarations(text)
    assert isinstance(found, kind)


def test_the_parts_of_declarations() -> None:
    found = declarations(
        "immutable function f(s, int): bool twostate theorem [a] b transition t(x, y: int) modifies r, s c"
    )
    function, theorem, definition = found
    assert isinstance(function, SymbolDeclaration)
    assert isinstance(theorem, FormulaDeclaration)
    assert isinstance(definition, Definition)
    assert ([name for name, _ in function.arguments], function.result and function.result[0]) == (["s", "int"], "bool")
    assert (theorem.kind, theorem.label, theorem.states) == ("theorem", "a", 2)
    assert [(b.name, b.sort) for b in definition.parameters] == [("x", None), ("y", "int")]
    assert [name for name, _ in definition.modifies or ()] == ["r", "s"]
    assert definition.transition and definition.states == 2


def test_the_parts_of_traces() -> None:
    [trace] = declarations("unsat trace { assert init any transition t(*, x) | u assert a }")
    assert isinstance(trace, TraceDeclaration) and not trace.satisfiable
    first, anything, calls, claim = trace.components
    assert first.initial and anything.any_transition and claim.assertion is not None
    assert [name for name, _, _ in calls.calls] == ["t", "u"]
    (_, with_arguments, _), (_, without, _) = calls.calls
    assert with_arguments is not None and with_arguments[0] is None and len(with_arguments) == 2
    assert without is None


def test_layout_does_not_matter() -> None:
    text = "sort s # a comment with safety ( in it\r\n\t axiom\n\n[a]#\nforall X:s.X=X"
    assert [type(item) for item in declarations(text)] == [SortDeclaration, FormulaDeclaration]


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_reserved_words_are_no_names(word: str) -> None:
    assert "Q0101" in codes(f"mutable relation {word}(node)")


@pytest.mark.parametrize("word", ["forward", "backward", "proph_select", "proph_default", "old", "automaton"])
def test_contextual_words_are_names(word: str) -> None:
    assert codes(f"mutable relation {word}(node)\nsafety {word}(X)") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sort", "expected a name of the sort, found the end of the file"),
        ("node", "expected a declaration, found `node`"),
        ("mutable sort a", "expected `relation`, `constant` or `function`, found `sort`"),
        ("derived function f(node): node", "expected `relation` after `derived`, found `function`"),
        ("onestate transition t() = flag", "expected `definition` or `theorem` after `onestate`, found `transition`"),
        ("mutable function f: node", None),
        ("mutable relation r(node,)", "expected a name of a sort, found `)`"),
        ("mutable constant c", "expected `:` before the result sort, found the end of the file"),
        ("transition t modifies p new(p(X))", "expected `(` before the parameters, found `modifies`"),
        ("transition t() flag", "expected `=` or `modifies` before the body, found `flag`"),
        ("definition d() modifies p p(X)", "expected `=` before the body, found `modifies`"),
        ("safety [a b] flag", "expected `]` after the name, found `b`"),
        ("safety flag)", "expected a declaration, found `)`"),
        ("safety p(zero", "expected `)` to close the arguments, found the end of the file"),
        ("safety (flag", "expected `)` to close the parenthesis, found the end of the file"),
        ("sat trace { flag = flag }", "expected `assert`, `any transition`, a transition or `}`, found `=`"),
        ("sat trace { any p }", "expected `transition` after `any`, found `p`"),
        (
            "sat trace { assert flag",
            "expected `assert`, `any transition`, a transition or `}`, found the end of the file",
        ),
        ("fbii { forward {", "expected `}` to close the block, found the end of the file"),
    ],
)
def test_syntax_errors_say_what_is_missing(text: str, message: str | None) -> None:
    if message is None:
        assert codes(text) == []
    else:
        [problem] = problems(text)
        assert (problem.code, problem.message) == ("Q0101", message)


def test_reading_goes_on_at_the_next_declaration() -> None:
    found = problems("safety p(\ninvariant p(X) &\ninit q(X)\nsort 3\naxiom forall . p\n")
    assert [(item.code, item.span.line) for item in found] == [
        ("Q0101", 13), ("Q0101", 14), ("Q0202", 14), ("Q0101", 15), ("Q0101", 16)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "sat trace { assert ) any transition assert init }\nsafety flag",
        "safety (flag & & ) & safety & flag\nsafety flag",
        "transition t() = ) flag & safety -> safety\nsafety flag",
        "safety flag ) sort other mutable relation r(other)\nsafety r(X)",
    ],
)
def test_one_mistake_is_told_once(text: str) -> None:
    assert codes(text) == ["Q0101"]


def test_names_of_faulty_declarations_are_not_unknown() -> None:
    text = """
mutable relation broken(node
definition half( = flag
safety [open] (flag
transition stuck(n: node modifies p new(p(X))
safety broken(X) & half & open -> stuck(X)
sat trace { stuck }
"""
    assert [item.code for item in problems(text)] == ["Q0101"] * 4


def test_reading_gives_up_after_many_errors() -> None:
    assert codes("safety )\n" * 1000 + "safety unknown") == ["Q0101"] * 50


def test_proof_scripts_are_warned_about() -> None:
    text = "fbii { forward [a] { invariant flag } backward prophecy x: node { } by { proph_select p(x) } }\nsafety flag"
    [warning] = problems(text)
    assert (warning.code, warning.severity, warning.span.line, warning.span.column) == ("Q0104", "warning", 12, 1)


AUTOMATON = """\
transition t(n: node) modifies p new(p(N)) <-> p(N) | N = n
invariant [empty] !p(N)
automaton {
  safety empty
  init phase first
  global
    safety [kept] p(N) | flag
    transition t -> self assume !p(n)
    sketch invariant flag | leader = zero
  phase first
    transition t -> phase second
    transition t assume p(n) | !flag -> phase second
    invariant !flag
    sketch invariant !p(N)
  phase second
    SECOND
}
"""


def test_phase_automata_keep_their_properties() -> None:
    text = AUTOMATON.replace("SECOND", "invariant p(N)")
    [warning] = problems(text)
    assert (warning.code, warning.severity, warning.span.line) == ("Q0104", "warning", 14)
    found = model(text)
    assert [(item.name, show(item.formula)) for item in found.safety] == [
        ("safety_1", "forall N:node. !p(N)"),
        ("kept", "forall N:node. p(N) | flag"),
    ]
    assert [(item.name, show(item.formula)) for item in found.invariants[1:]] == [
        ("invariant_2", "flag | leader = zero"),
        ("automaton", "!flag & (forall N:node. !p(N)) | (forall N:node. p(N))"),
    ]


@pytest.mark.parametrize("second", ["", "transition t -> self"])
def test_a_phase_that_says_nothing_allows_every_state(second: str) -> None:
    assert [item.name for item in model(AUTOMATON.replace("SECOND", second)).invariants] == ["empty", "invariant_2"]


def test_faults_in_a_phase_are_found() -> None:
    assert [item.code for item in problems(AUTOMATON.replace("SECOND", "invariant p(flag)"))] == ["Q0104", "Q0203"]


def test_an_invariant_may_be_a_sketch() -> None:
    assert model("sketch invariant [s] flag\n") == model("invariant [s] flag\n")
    assert codes("mutable relation sketch\nsafety sketch") == []
    assert codes("sketch safety flag") == ["Q0101"]


def test_a_bare_trace_is_to_be_satisfiable() -> None:
    text = "transition t(n: node) = p(n)\n"
    bare, explicit = model(text + "trace { t(zero) assert flag }"), model(text + "sat trace { t(zero) assert flag }")
    assert bare.traces == explicit.traces


STATEMENTS = """\
transition t(n: node, v: value) {
  assume p(n) & !q(N, v);
  flag := p(zero);
  q(n, v) := flag;
  owner(v) := n;
}
"""

FORMULA = """\
transition t(n: node, v: value)
  modifies flag, q, owner
  & p(n) & !q(N, v)
  & new(flag) = p(zero)
  & (forall X0, X1. new(q(X0, X1)) <-> if X0 = n & X1 = v then flag else q(X0, X1))
  & (forall X0. new(owner(X0)) = if X0 = v then n else owner(X0))
"""


def test_statements_are_what_their_formula_is() -> None:
    assert model(STATEMENTS).transitions == model(FORMULA).transitions
    old = "transition u() modifies p p(X) <-> old(p(X)) & flag\n"
    new = "transition u() modifies p p'(X) <-> p(X) & flag\n"
    assert model(old + STATEMENTS).transitions == model(new + FORMULA).transitions


def test_variables_of_statements_are_new_names() -> None:
    found = model("immutable constant X0: node\ntransition t(n: node) { assume n = X0; p(n) := flag; }")
    [update] = found.transitions[0].updates
    assert (update.variables[0].name, show(update.value)) == ("X0_1", "if X0_1 = n then flag else p(X0_1)")


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("flag := forall N. p(N);", []),
        ("p(n) := true", ["Q0101"]),
        ("p(N) := true;", ["Q0104"]),
        ("p(next(N)) := true;", ["Q0104"]),
        ("flag := p(N);", ["Q0104"]),
        ("p(n) := true; p(zero) := false;", ["Q0104"]),
        ("p(n, n) := true;", ["Q0202"]),
        ("zero := n;", ["Q0209"]),
        ("unknown := n;", ["Q0201"]),
        ("flag;", ["Q0101"]),
        ("owner(n) := n;", ["Q0203"]),
    ],
)
def test_statements_that_are_refused(statements: str, expected: list[str]) -> None:
    assert codes(f"transition t(n: node) {{ {statements} }}") == expected


def test_a_parameter_is_no_variable_of_a_statement() -> None:
    assert codes("transition t(N: node) { p(N) := true; }") == []


def test_statements_are_for_two_states() -> None:
    assert codes("definition d() { flag := true; }") == ["Q0101"]


def test_a_safety_property_of_one_phase_is_refused() -> None:
    found = problems("automaton { init phase a phase a safety flag }")
    assert [(item.code, item.severity) for item in found] == [("Q0104", "warning"), ("Q0104", "error")]


NESTED = {
    "leading operators": ("& " * 3000 + "flag", None),
    "leading operators mixed": ("& | " * 3000 + "flag", None),
    "parentheses": ("(" * 5000 + "flag" + ")" * 5000, "Q0103"),
    "open parentheses": ("(" * 5000, "Q0103"),
    "implications": (" -> ".join(["flag"] * 5000), "Q0103"),
    "sums": (" + ".join(["count"] * 5000) + " = 0", "Q0103"),
    "differences on the right": ("0 = " + " - ".join(["count"] * 5000), "Q0103"),
    "negations": ("!" * 5000 + "flag", "Q0103"),
    "applications": ("p(" + "next(" * 5000 + "zero" + ")" * 5001, "Q0103"),
    "quantifiers": ("forall X:node. exists Y:node. " * 2500 + "p(X) & p(Y)", "Q0103"),
    "conditionals": ("if flag then flag else " * 5000 + "flag", "Q0103"),
    "conditions": ("if " * 5000 + "flag", "Q0103"),
    "lets": ("let x = flag in " * 5000 + "x", "Q0103"),
    "new": ("new(" * 5000 + "flag" + ")" * 5000, "Q0103"),
    "distinct": ("distinct(" * 5000 + "flag" + ")" * 5000, "Q0103"),
    "conjunctions": (" & ".join(["flag"] * 5000), None),
    "disjunctions of equalities": (" | ".join(f"count = {n}" for n in range(5000)), None),
    "braces": ("flag fbii " + "{" * 5000 + "}" * 5000, "Q0104"),
    "brackets": ("[" * 5000, "Q0101"),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_read_or_refused(name: str) -> None:
    text, code = NESTED[name]
    assert codes(f"safety {text}") == ([] if code is None else [code])


def test_what_nests_just_deep_enough_is_read() -> None:
    for text in ("(" * 190 + "flag" + ")" * 190, " -> ".join(["flag", "p(zero)"] * 45)):
        assert codes(f"safety {text}") == []


def test_recursion_stays_within_python_s_own_limit() -> None:
    """Deep in some program's stack there is still room for the deepest text that is read."""

    def called_from(frames: int) -> list[str]:
        return called_from(frames - 1) if frames else codes("safety p(" + "next(" * 90 + "zero" + ")" * 91)

    assert called_from(200) == []


def test_header_reads_cleanly() -> None:
    assert codes("", HEADER) == []
