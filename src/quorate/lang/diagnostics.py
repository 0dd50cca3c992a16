"""Diagnostics: one value for everything a front end has to say, and the catalogue of their codes.

All problems of a file are collected in a `Sink` and shown together, in source order.  Rendering to a terminal, JSON,
SARIF or GitHub annotations lives with the applications; `render` here is the plain text that all of them share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from quorate.models.source import Span

Severity = Literal["error", "warning"]

MAX_EXCERPT = 160
"""Longer lines are shown around the marked place only."""


@dataclass(frozen=True)
class Diagnostic:
    """A problem at a place: what is wrong, what else belongs to it, and what to do."""

    code: str
    message: str
    span: Span
    severity: Severity = "error"
    related: tuple[tuple[Span, str], ...] = ()
    notes: tuple[str, ...] = ()
    fix: str | None = None

    def render(self) -> str:
        """The message with the source line and a marker under it."""
        lines = [f"{self.span}: {self.severity}[{self.code}]: {self.message}"]
        lines += _excerpt(self.span)
        for span, label in self.related:
            lines.append(f"  {span}: {label}")
            lines += _excerpt(span)
        lines += [f"  note: {note}" for note in self.notes]
        if self.fix:
            lines.append(f"  help: {self.fix}")
        return "\n".join(lines)


def _excerpt(span: Span) -> list[str]:
    if not span.source.text:
        return []
    number, column = span.line, span.column
    text = span.source.line(number)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    before, marked, after = text[: column - 1], text[column - 1 : column - 1 + width], text[column - 1 + width :]
    if len(text) > MAX_EXCERPT:
        before = "…" + before[-40:] if len(before) > 40 else before
        marked, width = (marked[:40], 40) if width > 40 else (marked, width)
        after = after[:40] + "…"
    before, marked, after = map(_printable, (before, marked, after))
    blank = "".join("\t" if character == "\t" else " " for character in before)
    gutter = f"{number:>5}"
    return [f"{gutter} | {before}{marked}{after}".rstrip(), f"{' ' * len(gutter)} | {blank}{'^' * width}"]


def _printable(text: str) -> str:
    """Nothing that a terminal would obey."""
    return "".join(character if character.isprintable() or character == "\t" else "�" for character in text)


class LanguageError(Exception):
    """A text that cannot be read; carries every diagnostic of the file, warnings included."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(diagnostic.render() for diagnostic in self.diagnostics)


@dataclass
class Sink:
    """Collects diagnostics; one per place and code, so that one mistake is told once, and an error before a warning."""

    found: dict[tuple[int, str], Diagnostic] = field(default_factory=dict)

    def report(self, diagnostic: Diagnostic) -> None:
        assert diagnostic.code in CATALOGUE, diagnostic.code
        known = self.found.setdefault((diagnostic.span.start, diagnostic.code), diagnostic)
        if diagnostic.severity == "error" and known.severity == "warning":
            self.found[diagnostic.span.start, diagnostic.code] = diagnostic

    def error(self, code: str, message: str, span: Span, *notes: str, fix: str | None = None) -> None:
        self.report(Diagnostic(code, message, span, "error", (), notes, fix))

    def warning(self, code: str, message: str, span: Span, *notes: str, fix: str | None = None) -> None:
        self.report(Diagnostic(code, message, span, "warning", (), notes, fix))

    @property
    def failed(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self.found.values())

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.found.values(), key=lambda diagnostic: (diagnostic.span.start, diagnostic.code)))


CATALOGUE: dict[str, tuple[str, str]] = {
    "Q0001": (
        "unknown language",
        "The format of a file is found from its extension (.ivy, .pyv, .mercury, .ch, .rounds) or its first line (#lang ivy1.7,"
        " or `process NAME` and `machine NAME` for Mercury). Rename the file or pass --lang.",
    ),
    "Q0002": ("cannot read the file", "The file does not exist, is not a regular text file, or is not UTF-8."),
    "Q0003": (
        "verb does not read this language",
        "Mercury programs and round-based algorithms (.rounds) are read by `parse`, `check`, `verify` and `recheck`; the other"
        " verbs are about relational protocols (Ivy, mypyvy).",
    ),
    "Q0101": (
        "syntax error",
        "The text at the mark cannot continue what stands before it. The message says what would have been possible there."
        " After an error reading goes on at the next declaration, so later errors are real ones.",
    ),
    "Q0102": ("unknown character", "The character does not occur in this language outside comments."),
    "Q0103": (
        "nested too deeply",
        "Expressions may be nested up to 200 levels, counting operators, parentheses and lists of arguments, and up to 96 levels"
        " of operators once definitions are expanded.",
    ),
    "Q0104": (
        "construct outside the supported subset",
        "The construct belongs to the language but Quorate does not read it. docs/supported-subset.md lists what is read.",
    ),
    "Q0105": ("unsupported language version", "Quorate reads Ivy from #lang ivy1 to ivy1.8."),
    "Q0201": ("unknown name", "No symbol, definition or variable of this name is in scope here."),
    "Q0202": ("wrong number of arguments", "The symbol was declared with another number of arguments."),
    "Q0203": ("sort mismatch", "The term has another sort than its place requires."),
    "Q0204": (
        "sort cannot be inferred",
        "Nothing determines the sort of this variable. Annotate it, as in `forall X:node. ...`.",
    ),
    "Q0205": ("name declared twice", "All names other than sorts share one namespace; each may be declared once."),
    "Q0206": ("unknown sort", "No sort of this name is declared."),
    "Q0207": (
        "new value not available here",
        "A formula about one state cannot speak of the next one; only transitions and two-state definitions and theorems"
        " can use new(...) or primes.",
    ),
    "Q0208": (
        "mutable symbol where only rigid ones may stand",
        "Axioms and zero-state formulas hold for the whole run, so they may use immutable symbols only.",
    ),
    "Q0209": (
        "frame mismatch",
        "A symbol whose new value is mentioned must be listed in `modifies`, and a listed symbol's new value must be mentioned:"
        " otherwise the transition would silently leave it unchanged or arbitrary.",
    ),
    "Q0210": ("definition depends on itself", "Definitions are expanded, so they cannot be recursive."),
    "Q0211": (
        "axiom over mutable state",
        "An axiom about a symbol that some code assigns would assume what should be proved. Ivy refuses it from version 1.7 on,"
        " and so does Quorate: state an invariant, or say `assume` in the actions. Earlier versions assume the axiom of every"
        " state, so it is part of the initial conditions and of the guards: a step to a state in which it fails is not taken, and"
        " what is proved holds of the other runs only.",
    ),
    "Q0212": ("not a formula", "A truth value is needed here."),
    "Q0213": ("not callable here", "Only transitions can be used as steps of a trace."),
    "Q0214": ("cannot be assigned", "Only declared symbols that are not constants of the protocol can be assigned."),
    "Q0215": ("property about no state", "An invariant that mentions no mutable symbol is a theorem about the axioms."),
    "Q0216": (
        "expectation not understood",
        "Write `# expect: TARGET VERDICT`, as in `# expect: safety proved` or `# expect: [mutex] violated`. A verb in front, as"
        " in `# expect: induct not-inductive`, makes the line count for that verb only. The target is `safety` or the name of"
        " a property; the verdicts are proved, violated, not-inductive and unknown.",
    ),
    "Q0217": (
        "truth values and integers cannot be arguments",
        "Arguments of relations and functions have declared sorts. `bool` and `int` can be the sorts of constants, of results"
        " of functions, and of variables.",
    ),
    "Q0218": (
        "initial state in the middle of a trace",
        "`assert init` says that the trace starts in an initial state, so it has to stand before the first step.",
    ),
    "Q0221": (
        "variable not bound here",
        "A name that starts with an upper-case letter is a logical variable. Free ones are read as `forall` in axioms,"
        " properties, `require` and `assume`; elsewhere they have to be quantified, or to occur on the left side of the"
        " assignment.",
    ),
    "Q0222": (
        "too large when expanded",
        "Definitions are expanded, modules are instantiated and calls are inlined. What results here is too large to work with;"
        " split it.",
    ),
    "Q0223": (
        "action calls itself",
        "Calls are inlined, so actions cannot be recursive, neither directly nor through others.",
    ),
    "Q0224": ("not an action", "Only actions can be called, exported, imported, implemented or given monitors."),
    "Q0225": (
        "wrong case of the first letter",
        "Logical variables start with an upper-case letter; sorts, symbols, actions, parameters and local variables do not.",
    ),
    "Q0226": (
        "trusted, not proved",
        "What a trusted isolate states about symbols that never change, and what it or an action without a body ensures about"
        " results that it leaves open, is assumed, as the file asks, and the verdicts rest on it. What is said about the"
        " state, or after code of its own, is proved. An instance of a standard module, and an isolate whose implementation"
        " interprets a sort by numbers that Quorate does not have, is taken to be anything that satisfies its specification,"
        " as the other isolates of an Ivy file take it: a violation may need something that the implementation rules out.",
    ),
    "Q0227": (
        "chained implication",
        "From Ivy 1.7 on `a -> b -> c` means `(a -> b) -> c`; in earlier versions it means `a -> (b -> c)`. Parentheses make"
        " clear which one is meant.",
    ),
    "Q0301": (
        "cannot be printed in this language",
        "The target language has no way to say this, so the protocol cannot be converted without changing its meaning.",
    ),
    "Q0401": (
        "unknown action or agreement",
        "Actions are declared under `actions`; an agreement is declared by its handlers, as in `on Partition<elect>(All, 1)`.",
    ),
    "Q0402": (
        "unknown location",
        "A `goto`, a specification or `crash locations` names a location that the program does not have, or the program has no"
        " initial location, or more than one.",
    ),
    "Q0403": (
        "location cannot be reached",
        "No sequence of `goto` leads from the initial location to this one, so no process is ever there.",
    ),
    "Q0404": (
        "value out of range",
        "Integers have a fixed range. A number that is written down must lie in it; a computed value that leaves it counts on"
        " from the other end.",
    ),
    "Q0405": (
        "message does not fit its action",
        "An action says whether it is a broadcast (`br`) or a rendezvous (`rz`), whether the environment takes part (`env`),"
        " and which integers it carries, if any. Whoever sends or receives it has to agree with that.",
    ),
    "Q0406": (
        "handlers of an agreement do not fit together",
        "All handlers of an agreement are of one kind and choose the same number of winners; a location has at most one handler"
        " for it, and only `_` and `recv` can have a condition (`where`) or, for `recv`, a `reply`. Variables that are"
        " proposed to one consensus have one range, or ranges that do not depend on `N`.",
    ),
    "Q0407": (
        "event that never takes place",
        "An action is received but never sent, or sent as a rendezvous but never received, or nobody proposes a value in a"
        " consensus.",
    ),
    "Q0408": ("never reached", "`goto` ends the handler, so what stands after it in the same block is never executed."),
    "Q0409": (
        "layout and reading differ",
        "The body of an `if` or `else` is what stands in braces, one statement on the same line, or the lines below that are all"
        " indented by the same tabs and spaces, deeper than the line of the `if` or `else`; what follows is indented no deeper"
        " than that line. An `else` belongs to the `if` on a line that is indented like its own. What handlers, winners and"
        " losers do is indented deeper than `on`, `win` and `lose`; the actions below an `env` on a line of its own are all"
        " indented alike. Anything else could be read in two ways.",
    ),
    "Q0501": (
        "message of another shape",
        "All messages of a round have the parts that its `send` gives them, in that order. A pattern like <v, _> has to have as"
        " many; `_` stands for a part that does not matter, and a new name for one that is used later.",
    ),
    "Q0502": (
        "more than a process can know, or than can be checked",
        "A process knows its variables, its coordinator, the phase and the messages it has received. Bounds are linear, and"
        " times are only compared, with each other, with `phase` and with 0: that keeps runs of any length checkable."
        " docs/rounds.md says what can stand where.",
    ),
    "Q0503": (
        "parts that do not fit together",
        "An algorithm has rounds, or steps on shared variables, but not both; crashes settle who hears whom, so `safe` does not"
        " go with them; `termination` needs to know under which conditions processes have to decide.",
    ),
    "Q0701": (
        "not a transition",
        "In a fairness assumption, `*` stands for any argument of a transition: `fairness weak forall N. deliver(N, *)`. Formulas"
        " have no such place; quantify instead.",
    ),
    "Q0702": (
        "weak or strong",
        "Fairness of a transition needs a condition. `fairness weak t(X)`: if from some moment on t(X) can always be taken, it is"
        " taken infinitely often. `fairness strong t(X)`: it is enough that it can be taken infinitely often.",
    ),
    "Q0703": (
        "temporal formula of another shape",
        "Of Ivy's temporal properties those are read that say `globally (p -> eventually q)` or `globally eventually q`, perhaps"
        " for all values of variables and perhaps under assumptions of the form `globally eventually p` (see docs/liveness.md).",
    ),
    "Q0704": (
        "variable of a hint",
        "A hint for the proof of a liveness property may speak of the property's variables. Variables of its own are quantified"
        " in front: `hint rank forall X. waiting(X) & before(X, C)` counts the X for which the formula holds.",
    ),
    "Q0705": (
        "how many elements a sort has",
        "`finite type t` and `unbounded type t` (in mypyvy files `finite sort t`, `unbounded sort t`) say what a proof of"
        " liveness may count. Integers are never finite, and an enumeration always is, so the other word is a mistake there.",
    ),
    "Q0801": (
        "axioms without a model",
        "Nothing satisfies these axioms together, at any size: both solvers say so, and none of them can be left out. From a"
        " contradiction everything follows, so nothing is said to be proved.",
    ),
    "Q0802": (
        "no initial state",
        "The initial conditions contradict each other or the axioms, at any size; or no run of a round-based algorithm is as"
        " `safe` and the constraints on its parameters demand. There is no run, so nothing is said to be proved.",
    ),
    "Q0803": (
        "fairness that no run has",
        "A fairness assumption, or `sync`, asks for what never happens. No infinite run is fair, so a liveness property would"
        " hold for want of runs. It is not said to be proved.",
    ),
    "Q0804": (
        "no model found",
        "No small structure satisfies the axioms and the initial conditions, and the solvers do not say whether any does. If"
        " none does, the verdicts say nothing.",
    ),
    "Q0805": (
        "never fires",
        "A transition cannot be taken, or no process is ever at a location: because the axioms and the invariants exclude it,"
        " or as far as all states of small instances show; the message says which. The verdicts hold, but this part of the"
        " text plays no role in them.",
    ),
    "Q0806": (
        "premise never holds",
        "The premise of an implication is never true, so that the property holds whatever its conclusion says; likewise"
        " properties of decisions where nobody decides.",
    ),
}


def explain(code: str) -> str | None:
    """The catalogue entry of a code, as text."""
    entry = CATALOGUE.get(code.upper())
    return f"{code.upper()}: {entry[0]}\n\n{entry[1]}" if entry else None
