"""The words of Ivy: tokens, keywords, where declarations start, and what lies outside the subset.

Words that only some versions reserve are keywords where a declaration starts and plain names elsewhere.  Read
`statements` and `grammar` for how the words are put together.
"""

from __future__ import annotations

import re

from quorate.lang.reader import Lexicon

KEYWORDS = frozenset(
    [
        "type",
        "relation",
        "individual",
        "function",
        "module",
        "object",
        "isolate",
        "instantiate",
        "instance",
        "axiom",
        "property",
        "conjecture",
        "invariant",
        "definition",
        "derived",
        "init",
        "action",
        "before",
        "after",
        "implement",
        "export",
        "import",
        "include",
        "interpret",
        "macro",
        "private",
        "with",
        "returns",
        "specification",
        "implementation",
        "trusted",
        "ghost",
        "attribute",
        "extract",
        "delegate",
        "proof",
        "named",
        "alias",
        "temporal",
        "assume",
        "assert",
        "require",
        "ensure",
        "if",
        "else",
        "local",
        "let",
        "call",
        "var",
        "while",
        "some",
        "forall",
        "exists",
        "true",
        "false",
        "this",
        "old",
    ]
)

_WORDS = (
    r"(?P<skip>\s+|\#[^\n]*)|(?P<string>\"[^\"\n]*\")|(?P<name>[0-9]*[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)"
    r"|(?P<mark><->|->|~>|:=|~=|<=|>=|\*>|\.\.\.|\.\.|[()\[\]{}.:,;&|~=<>+\-*/$])"
)
LEXICON = Lexicon(re.compile(r"(?P<native><<<[\s\S]*?>>>)|" + _WORDS), KEYWORDS)
LEXICON_WITHOUT_QUOTES = Lexicon(re.compile(_WORDS), KEYWORDS)
"""For texts in which native code is quoted but the quotes are not closed."""

STARTS = frozenset(
    [
        "type",
        "relation",
        "individual",
        "function",
        "module",
        "object",
        "isolate",
        "instantiate",
        "instance",
        "axiom",
        "property",
        "conjecture",
        "invariant",
        "definition",
        "derived",
        "init",
        "action",
        "before",
        "after",
        "around",
        "implement",
        "export",
        "import",
        "include",
        "interpret",
        "macro",
        "private",
        "specification",
        "implementation",
        "trusted",
        "ghost",
        "attribute",
        "extract",
        "delegate",
        "proof",
        "alias",
        "destructor",
        "variant",
        "temporal",
    ]
)

CONTEXTUAL = frozenset(
    [
        "safety",
        "template",
        "parameter",
        "constant",
        "common",
        "finite",
        "unbounded",
        "explicit",
        "process",
        "global",
        "mixin",
        "concept",
        "destructor",
        "liveness",
        "fairness",
    ]
)

SCHEMATA = ("deduction", "mc_schemata")
"""Standard files that hold nothing but schemata, which only tactics use."""

UNUSED = ("collections",)
"""Standard files that hold nothing but modules, so that including them says nothing by itself."""

UNSUPPORTED = {
    "constructor": "struct constructors (`constructor`)",
    "field": "struct fields (`field`)",
    "variant": "variant types (`variant`)",
    "subclass": "subclasses (`subclass`)",
    "around": "`around` monitors",
    "theorem": "theorem schemata (`theorem`)",
    "schema": "schemata (`schema`)",
    "tactic": "tactics (`tactic`)",
    "progress": "progress properties (`progress`)",
    "rely": "`rely` declarations",
    "mixord": "`mixord` declarations",
    "scenario": "scenarios (`scenario`)",
    "unprovable": "`unprovable` declarations",
    "process": "processes (`process`)",
    "method": "methods (`method`)",
    "state": "`state` declarations",
    "update": "`update` declarations",
    "native": "quoted native code",
}

UNSUPPORTED_STATEMENTS = {
    "while": "`while` loops",
    "for": "`for` loops",
    "thunk": "thunks",
    "debug": "`debug` statements",
}

UNSUPPORTED_OPERATORS = {
    "/": "division (`/`)",
    "*>": "variant types (`*>`)",
    "isa": "variant types (`isa`)",
    "$": "sections (`$`)",
}

TEMPORAL = ("globally", "eventually")

RESERVED = KEYWORDS | CONTEXTUAL | {*UNSUPPORTED, *UNSUPPORTED_STATEMENTS, *TEMPORAL, "bool", "int", "isa"}
"""What a symbol should not be called."""
