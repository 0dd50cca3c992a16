"""Small random changes to the text of a protocol, of whatever language: what people get wrong.

    operators      & for |, = for ~=, forall for exists, -> for <->, true for false, > for >=
    negations      one left out
    lines          one left out, or two neighbours exchanged
    names          one name put in the place of another
    numbers        one more or one less

Many of the results are not legal; the others differ from the protocol in one place.
"""

from __future__ import annotations

import re
from random import Random

SWAPS = {
    "&": "|",
    "|": "&",
    "=": "!=",
    "!=": "=",
    "~=": "=",
    "->": "<->",
    "<->": "->",
    "forall": "exists",
    "exists": "forall",
    "true": "false",
    "false": "true",
    ">": ">=",
    ">=": ">",
    "<": "<=",
    "<=": "<",
    "and": "or",
    "or": "and",
    "weak": "strong",
    "add": "remove",
}
OPERATOR = re.compile(r"<->|->|:=|!=|~=|>=|<=|[&|=<>]|\b(?:forall|exists|true|false|and|or|weak|strong|add|remove)\b")
NEGATION = re.compile(r"[!~](?!=)|\bnot\b")
NAME = re.compile(r"\b[A-Za-z_][A-Za-z_0-9]*\b")
NUMBER = re.compile(r"\b\d+\b")


def code_lines(text: str) -> list[int]:
    """The numbers of the lines that are more than comments."""
    lines = text.splitlines()
    return [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(("#", "//", "/*"))]


def mutated(text: str, random: Random) -> str:
    """The text with one random change; the same text if there was nothing to change."""
    lines = text.splitlines()
    candidates = code_lines(text)
    kind = random.choice(("operator", "operator", "negation", "drop", "exchange", "name", "name", "number"))
    if len(candidates) < 2:
        return text
    if kind == "drop":
        del lines[random.choice(candidates)]
    elif kind == "exchange":
        place = random.randrange(len(candidates) - 1)
        first, second = candidates[place], candidates[place + 1]
        lines[first], lines[second] = lines[second], lines[first]
    else:
        pattern = {"operator": OPERATOR, "negation": NEGATION, "name": NAME, "number": NUMBER}[kind]
        found = [(i, match) for i in candidates for match in pattern.finditer(lines[i])]
        if not found:
            return text
        number, match = random.choice(found)
        lines[number] = (
            lines[number][: match.start()] + _other(kind, match, found, random) + lines[number][match.end() :]
        )
    return "\n".join(lines) + "\n"


def _other(kind: str, match: re.Match[str], found: list[tuple[int, re.Match[str]]], random: Random) -> str:
    word = match.group()
    if kind == "operator":
        return SWAPS.get(word, word)
    if kind == "negation":
        return ""
    if kind == "number":
        return str(max(0, int(word) + random.choice((-1, 1))))
    return random.choice([other.group() for _, other in found])
