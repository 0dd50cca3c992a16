"""Expectations that a file states about itself, in comment lines that begin with `#` or `//`.

# expect: safety proved                 every safety property, whatever the method
# expect: liveness proved               every liveness property
# expect: [mutex] violated              one property
# expect: induct not-inductive          for one verb only; it outweighs the general line
# expect: check node=3 states=1234      read by `check`
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quorate.lang.diagnostics import Sink
from quorate.models.relational import Expectation, RelationalModel
from quorate.models.source import Source, Span

if TYPE_CHECKING:
    from quorate.models.process import ProcessModel

VERDICTS = ("proved", "violated", "not-inductive", "unknown")
VERBS = ("induct", "check", "simulate", "infer", "cutoff", "live", "verify")
_LINE = re.compile(r"^[ \t]*(?:#|//)[ \t]*expect:[ \t]*([^\n]*?)[ \t]*\r?$", re.MULTILINE)


def expectations(source: Source, sink: Sink) -> tuple[Expectation, ...]:
    """All expectations of a file, in order; lines that are not understood are warned about."""
    found = []
    for match in _LINE.finditer(source.text):
        span = Span(source, match.start(1), match.end(1))
        words = match.group(1).split()
        verb = words.pop(0) if words and words[0] in VERBS else None
        if verb == "check" and words and re.fullmatch("states=[0-9]+", words[-1]):
            found.append(Expectation(verb, " ".join(words[:-1]), words[-1], span))
            continue
        if len(words) == 1:
            words.insert(0, "safety")
        target = words[0].strip("[]") if words else ""
        if len(words) != 2 or words[1] not in VERDICTS:
            fix = f"write `safety` or the name of a property, then one of {', '.join(VERDICTS)}"
            sink.warning("Q0216", "this expectation is not understood", span, fix=fix)
            continue
        found.append(Expectation(verb, target, words[1], span))
    return tuple(found)


def check_targets(model: RelationalModel | ProcessModel, sink: Sink) -> None:
    """Warn about expectations of properties that the file does not have: they would never be compared with anything."""
    names = {item.name for item in model.safety}
    if isinstance(model, RelationalModel):
        names |= {item.name for item in model.invariants}
        names |= {item.name for item in model.theorems} | {item.name for item in model.traces}
        names |= {item.name for item in model.liveness}
    check_names(model.expectations, names, sink)


def check_names(found: tuple[Expectation, ...], names: set[str], sink: Sink) -> None:
    """Warn about expectations of properties with other names than these."""
    for item in found:
        sized = item.verdict.startswith("states=")
        if (
            not sized
            and item.target not in ("safety", "liveness")
            and item.target not in names
            and item.span is not None
        ):
            sink.warning("Q0216", f"there is no property `{item.target}`", item.span)
