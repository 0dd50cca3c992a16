"""Every construct of the languages that is read, or refused, with a smallest example of each.

`tests/lang/test_constructs.py` reads every example; `docs/generate.py` makes the page of supported constructs from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Construct:
    """`refused` is the diagnostic code of a construct outside the subset, None for what is read."""

    language: Literal["pyv", "ivy"]
    name: str
    example: str
    refused: str | None = None
    note: str = ""
    """What the example does not say by itself, for people."""


def pyv(name: str, example: str, refused: str | None = None) -> Construct:
    return Construct("pyv", name, example, refused)


def ivy(name: str, example: str, refused: str | None = None, note: str = "") -> Construct:
    return Construct("ivy", name, example, refused, note)


NODE = "sort node\n"
HELD = "sort node\nmutable relation held(node)\n"
TAKE = HELD + "transition take(n: node)\n  modifies held\n  new(held(N)) <-> held(N) | N = n\n"
TYPE = "#lang ivy1.7\ntype node\n"
STATE = TYPE + "relation held(N:node)\nafter init { held(N) := false }\n"

CONSTRUCTS = (
    pyv("sorts", "sort node"),
    pyv(
        "relations, constants, functions; mutable and immutable",
        NODE + "immutable constant root: node\nmutable function next(node): node",
    ),
    pyv("annotations (read and ignored)", "sort node\nimmutable relation le(node, node) @no_minimize"),
    pyv(
        "axioms, initial conditions, labels",
        HELD + "immutable relation root(node)\naxiom [some] exists N. root(N)\ninit !held(N)",
    ),
    pyv("implicit universal variables", HELD + "safety held(N) & held(M) -> N = M"),
    pyv("transitions with `modifies` and `new(..)`", TAKE),
    pyv("primes", HELD + "transition take(n: node)\n  modifies held\n  forall N. held'(N) <-> held(N) | N = n"),
    pyv("transitions that change nothing", HELD + "transition idle(n: node) = held(n)"),
    pyv("nondeterministic updates", HELD + "transition shake()\n  modifies held\n  forall N. new(held(N)) -> held(N)"),
    pyv(
        "the old dialect, `old(..)`",
        HELD + "transition take(n: node)\n  modifies held\n  held(N) <-> old(held(N)) | N = n",
    ),
    pyv(
        "parameters without a sort",
        HELD
        + "transition take(n)\n  modifies held\n  held(n) & !new(held(n)) & (N != n -> (new(held(N)) <-> held(N)))",
    ),
    pyv(
        "derived relations",
        HELD + "derived relation any_held: any_held <-> exists N. held(N)\nsafety any_held -> exists N. held(N)",
    ),
    pyv(
        "derived relations by any formula",
        HELD + "derived relation marked(node): marked(N) -> held(N)\nsafety marked(N) -> held(N)",
    ),
    pyv(
        "definitions",
        HELD + "definition alone(n: node) = held(n) & (forall M. held(M) -> M = n)\nsafety held(N) -> alone(N)",
    ),
    pyv(
        "two-state definitions",
        HELD + "twostate definition kept(n: node) = held(n) <-> held'(n)\ntransition idle() modifies held (kept(N))",
    ),
    pyv("theorems over zero, one or two states", TAKE + "twostate theorem take(N) -> held'(N)"),
    pyv("named properties as definitions", TAKE + "init [empty] !held(N)\ntheorem empty -> !held(N)"),
    pyv(
        "`sat trace` and `unsat trace`",
        TAKE
        + "init !held(N)\nsat trace {\n  take\n  any transition\n  assert exists N. held(N)\n}\nunsat trace {\n  take\n  assert !held(N)\n}",
    ),
    pyv(
        "trace calls with arguments, alternatives",
        TAKE + "immutable constant root: node\nsat trace {\n  take(root) | take(*)\n}",
    ),
    pyv("if-then-else and let", HELD + "safety let x = (exists N. held(N)) in if x then x else true"),
    pyv("distinct", "sort node\nimmutable constant a: node\nimmutable constant b: node\naxiom distinct(a, b)"),
    pyv(
        "integers: literals, + - *, comparisons",
        "mutable constant x: int\ninit x = 0\ntransition up() modifies x new(x) = x + 1\nsafety x * x >= 0",
    ),
    pyv(
        "forward-backward scripts, `fbii` (skipped with a warning)", HELD + "fbii {\n  forward { invariant held(N) }\n}"
    ),
    pyv(
        "phase automata (their properties, not their transitions)",
        TAKE
        + "automaton {\n  init phase start\n  global\n    transition take -> self\n    safety held(N) | !held(N)\n  phase start\n    invariant !held(N)\n}",
    ),
    pyv(
        "older files: imperative transitions",
        HELD + "transition take(n: node) {\n  assume !held(n);\n  held(n) := true;\n}",
    ),
    pyv("invariants without a safety property: they are the properties", HELD + "init !held(N)\ninvariant !held(N)"),
    pyv("older files: `sketch invariant`, a bare `trace`", TAKE + "sketch invariant held(N)\ntrace {\n  take\n}"),
    pyv("relations without arguments", "mutable relation on\ninit !on\ntransition press() modifies on new(on) <-> !on"),
    pyv(
        "`bool` as the sort of constants, results and variables",
        NODE
        + "mutable constant on: bool\nimmutable function up(node): bool\nsafety forall b:bool. on | up(N) | !b | b",
    ),
    pyv("leading `&` and `|`, `~` for `!`", HELD + "safety\n  & (held(N) | ~held(N))\n  & (| held(N) | N ~= N | true)"),
    pyv("`safety` as a formula", HELD + "safety !held(N)\ntwostate theorem safety' -> !new(held(N))"),
    pyv("zero-state definitions", NODE + "zerostate definition one() = forall N, M:node. N = M\naxiom one -> one"),
    pyv(
        "two-state definitions with `modifies`",
        HELD + "twostate definition drop(n) modifies held !held'(n)\ntransition lose(n) modifies held drop(n)",
    ),
    pyv("`assert init` in traces", TAKE + "init !held(N)\nsat trace {\n  assert init\n  assert !held(N)\n  take\n}"),
    pyv("variables that hide variables", HELD + "safety forall x. held(x) -> exists x. held(x)"),
    pyv("integers as arguments of symbols", "mutable relation seen(int)", "Q0217"),
    pyv("truth values as arguments of symbols", "mutable relation seen(bool)", "Q0217"),
    pyv("assignments for all values of a variable", HELD + "transition take() {\n  held(N) := true;\n}", "Q0104"),
    pyv("unary minus", "mutable constant x: int\nsafety x = -1", "Q0101"),
    pyv("chains of comparisons or equivalences", "mutable relation a\nsafety a <-> a <-> a", "Q0101"),
    pyv("parentheses without arguments", "mutable relation on\nsafety on()", "Q0202"),
    pyv("new values that are not in `modifies`", HELD + "transition take(n: node) = new(held(n))", "Q0209"),
    pyv("new values in one-state formulas", HELD + "safety new(held(N))", "Q0207"),
    pyv("mutable symbols in axioms", HELD + "axiom held(N)", "Q0208"),
    pyv("recursive definitions", HELD + "definition d() = d", "Q0210"),
    pyv(
        "derived relations that use what is declared below them",
        "derived relation a: a <-> b\nmutable relation b",
        "Q0201",
    ),
    pyv(
        "safety properties of a single phase",
        HELD + "automaton {\n  init phase start\n  phase start\n    safety !held(N)\n}",
        "Q0104",
    ),
    ivy("`#lang ivy1` and `ivy1.0` to `ivy1.8`", "#lang ivy1.5\ntype node"),
    ivy(
        "the first versions (up to 1.2): one sort left out, members with a colon, `x.f := y`, `concept` (not used)",
        "#lang ivy1.1\nrelation next(X, Y)\nindividual a, b\naction link = { a.next := b }\nconcept c(X) = next(X, X)",
    ),
    ivy("other versions", "#lang ivy2.0\ntype node", "Q0105"),
    ivy("types, enumerated types", "#lang ivy1.7\ntype color = {red, green}\nindividual c : color"),
    ivy(
        "relations, functions, individuals", TYPE + "relation r(X:node)\nfunction f(X:node) : node\nindividual c : node"
    ),
    ivy("`interpret` as a finite range or enumeration", TYPE + "interpret node -> {0..3}"),
    ivy(
        "`interpret` as `bv[1]` to `bv[4]`, with arithmetic that wraps around",
        TYPE + "interpret node -> bv[2]\naxiom X:node + 1 ~= X",
        note="What is proved then holds for a sort of this size, and every verdict says so: `all sizes; node is bv[2]: 4 elements`."
        " Where the interpretation stands in the `implementation` of an isolate, Ivy uses it for that isolate alone; Quorate reads"
        " a file as one program, as it will run, and uses it everywhere.",
    ),
    ivy("`interpret` as wider bit vectors", TYPE + "interpret node -> bv[32]", "Q0104"),
    ivy(
        "`interpret` as int",
        "#lang ivy1.7\ntype t\nindividual x : t\ninterpret t -> int\nafter init { x := 0 }\nsafety x = 0",
    ),
    ivy("`interpret` as nat", "#lang ivy1.7\ntype t\ninterpret t -> nat", "Q0104"),
    ivy(
        "structs, their fields, `x.f` and `x.f := e`",
        TYPE
        + "type msg = struct {\n  src : node,\n  seen(N:node) : bool\n}\nrelation sent(M:msg)\naction send(n:node) = {\n"
        "  var m : msg;\n  m.src := n;\n  m.seen(N) := N = n;\n  sent(m) := true\n}\nexport send\nsafety sent(M) -> M.seen(M.src)",
        note="Structs with the same fields are the same, as Ivy has it. That there is a struct for all values of fields is not"
        " assumed; a step that assigns a field is taken where the struct that results exists.",
    ),
    ivy("variant types", TYPE + "variant leader of node", "Q0104"),
    ivy("defined relations", STATE + "relation idle(N:node) = ~held(N)\nsafety idle(N) | held(N)"),
    ivy("`definition`", STATE + "relation idle(N:node)\ndefinition idle(N) = ~held(N)\nsafety idle(N) | held(N)"),
    ivy(
        "definitions in any order",
        STATE + "relation busy = ~idle\nrelation idle = forall N. ~held(N)\nsafety busy | idle",
    ),
    ivy("free variables in definitions", STATE + "relation idle(N:node) = ~held(M)", "Q0221"),
    ivy(
        "definitions whose parameters are symbols",
        STATE + "individual c : node\nrelation idle(N:node)\ndefinition idle(c) = ~held(c)",
        "Q0205",
    ),
    ivy("axioms and properties", TYPE + "relation le(X:node, Y:node)\naxiom le(X, X)\nproperty le(X, X)"),
    ivy(
        "axioms about what changes, up to version 1.6",
        "#lang ivy1.6\ntype node\nrelation held(N:node)\naxiom ~held(N)\ninit ~held(N)\naction take(n:node) = { held(n) := true }",
        note="They are assumed of every state: a step to a state in which one fails is not taken.",
    ),
    ivy("axioms about what changes, from version 1.7 on", STATE + "axiom ~held(N)", "Q0211"),
    ivy(
        "modules and `instantiate`",
        "#lang ivy1.7\nmodule order(r) = {\n  axiom r(X, X)\n}\ntype node\nrelation le(X:node, Y:node)\ninstantiate order(le)",
    ),
    ivy(
        "named instances",
        "#lang ivy1.7\nmodule ring(t) = {\n  relation btw(X:t, Y:t, Z:t)\n}\ntype node\ninstantiate ring : ring(node)\naxiom ring.btw(X, Y, Z) -> X ~= Y",
    ),
    ivy(
        "objects",
        "#lang ivy1.7\nobject server = {\n  relation up\n  after init { up := true }\n  action stop = { up := false }\n}\nexport server.stop",
    ),
    ivy(
        "parameterized objects and instances (one for each index)",
        TYPE
        + "object client(me:node) = {\n  relation idle\n  after init { idle := true }\n  action work = { idle := false }\n}\n"
        "export client.work\nsafety client(N).idle | ~client.idle(N)",
    ),
    ivy("isolates", "#lang ivy1.7\nisolate server = {\n  relation up\n  after init { up := true }\n}"),
    ivy(
        "isolates implemented by other numbers (the specification is trusted instead)",
        "#lang ivy1.7\nisolate id = {\n  type this\n  specification { property X:this < Y -> ~(Y < X) }\n"
        "  implementation { interpret this -> bv[64] }\n}",
    ),
    ivy("`include order`", "#lang ivy1.7\ninclude order"),
    ivy(
        "`unbounded_sequence` of `order` (its specification is assumed)",
        "#lang ivy1.7\ninclude order\ninstance round : unbounded_sequence\nindividual r : round\n"
        "after init { r := 0 }\naction go = { r := round.next(r) }\nexport go\nsafety r >= 0",
    ),
    ivy("`include collections`, as long as none of its modules is used", "#lang ivy1.7\ninclude collections"),
    ivy("other includes", "#lang ivy1.7\ninclude udp", "Q0104"),
    ivy(
        "actions with parameters; `require`, `assume`",
        STATE + "action take(n:node) = {\n  require ~held(n);\n  held(n) := true\n}\nexport take",
    ),
    ivy(
        "`ensure`, `assert` (must be proved)",
        STATE + "action take(n:node) = {\n  held(n) := true;\n  ensure held(n)\n}\nexport take",
    ),
    ivy(
        "returns and calls",
        STATE
        + "action pick returns (n:node) = { assume held(n) }\naction drop = {\n  var m := pick;\n  held(m) := false\n}\nexport drop",
    ),
    ivy(
        "`if`, `else`",
        STATE + "action flip(n:node) = {\n  if held(n) { held(n) := false } else { held(n) := true }\n}\nexport flip",
    ),
    ivy("`if some`", STATE + "action drop = {\n  if some n:node. held(n) { held(n) := false }\n}\nexport drop"),
    ivy(
        "local variables",
        STATE + "action drop = {\n  local n:node {\n    require held(n);\n    held(n) := false\n  }\n}\nexport drop",
    ),
    ivy("simultaneous assignment", STATE + "action clear = { held(N) := false }\nexport clear"),
    ivy("havoc, `:= *`", STATE + "action shake(n:node) = { held(n) := *; held(N) := * }\nexport shake"),
    ivy(
        "conditional terms, `a if c else b`",
        STATE + "action take(n:node) = { held(N) := true if N = n else held(N) }\nexport take",
    ),
    ivy(
        "`after init`, `init`",
        "#lang ivy1.6\ntype node\nrelation held(N:node)\ninit ~held(N)\naction take(n:node) = { held(n) := true }",
    ),
    ivy(
        "`before` and `after` of an action",
        STATE + "action take(n:node) = { held(n) := true }\nbefore take { require ~held(n) }\nexport take",
    ),
    ivy(
        "`mixin`",
        STATE
        + "action take(n:node) = { held(n) := true }\naction free(n:node) = { assert ~held(n) }\nmixin free before take\nexport take",
    ),
    ivy(
        "`old` in the code of actions",
        STATE + "action take(n:node) = {\n  held(n) := true;\n  ensure old held(N) -> held(N)\n}\nexport take",
    ),
    ivy("`old` elsewhere", STATE + "invariant old held(N)", "Q0104"),
    ivy(
        "invariants, conjectures, safety, labels",
        STATE + "invariant [a] held(N) -> held(N)\nconjecture [b] true | held(N)\nsafety [c] held(N) | ~held(N)",
    ),
    ivy("loops", STATE + "action clear = { while exists N. held(N) { held(N) := false } }\nexport clear", "Q0104"),
    ivy("temporal properties of other shapes", STATE + "temporal property globally held(N)", "Q0703"),
    ivy(
        "`finite type`, `unbounded type`: what a proof of liveness may count",
        STATE + "finite type value\nunbounded type message\nrelation sent(V:value, M:message)",
    ),
    ivy(
        "`finite` of the integers, `unbounded` of an enumeration",
        STATE + "finite type number\ninterpret number -> int\nunbounded type bit = {zero, one}",
        "Q0705",
    ),
    ivy("recursion", STATE + "action a = { call a }\nexport a", "Q0223"),
)
