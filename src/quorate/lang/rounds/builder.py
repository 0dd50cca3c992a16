"""Round-based algorithms built in Python: for families of algorithms, generated variants, notebooks.

An `Algorithm` collects declarations and rounds and writes them in the language of `*.rounds` files; `model` reads that text, so
what is built here is checked and understood exactly like a file.  Expressions are Python expressions over `Text`.

    a = Algorithm("OneThirdRule")
    x = a.variable("x", "value", "proposal")
    with a.round() as heard:
        a.send(x)
        with a.when(heard.count("_") > 2 * a.n / 3):
            a.assign(x, heard.pick("smallest most frequent", "v", "v"))
            with a.when(heard.count(x) > 2 * a.n / 3):
                a.decide(x)
    a.declare("property agreement, validity")
    model = a.model()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from quorate.lang import parse_rounds
from quorate.models.rounds import RoundModel
from quorate.models.source import Source


@dataclass(frozen=True, eq=False)
class Text:
    """Part of a definition; comparing, adding and combining gives larger parts."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _with(self, operator: str, other: object) -> Text:
        return Text(f"({self} {operator} {other})")

    def __eq__(self, other: object) -> Text:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> Text:  # type: ignore[override]
        return self._with("!=", other)

    def __lt__(self, other: object) -> Text:
        return self._with("<", other)

    def __le__(self, other: object) -> Text:
        return self._with("<=", other)

    def __gt__(self, other: object) -> Text:
        return self._with(">", other)

    def __ge__(self, other: object) -> Text:
        return self._with(">=", other)

    def __add__(self, other: object) -> Text:
        return self._with("+", other)

    def __sub__(self, other: object) -> Text:
        return self._with("-", other)

    def __mul__(self, other: object) -> Text:
        return self._with("*", other)

    def __rmul__(self, other: object) -> Text:
        return Text(f"({other} * {self})")

    def __truediv__(self, other: object) -> Text:
        return self._with("/", other)

    def __and__(self, other: object) -> Text:
        return self._with("and", other)

    def __or__(self, other: object) -> Text:
        return self._with("or", other)

    def __invert__(self) -> Text:
        return Text(f"(not {self})")


def _message(parts: tuple[object, ...]) -> str:
    return f"<{', '.join(map(str, parts))}>"


class Heard:
    """What a process hears in a round."""

    def count(self, *parts: object) -> Text:
        """How many messages match; `"_"` is anything."""
        return Text(f"#{_message(parts)}")

    def received(self, *parts: object, where: object = "true", from_coordinator: bool = False) -> Text:
        """There is a message that matches; new names in it are known in what follows."""
        sender = " from coordinator" if from_coordinator else ""
        condition = "" if str(where) == "true" else f" with {where}"
        return Text(f"{_message(parts)} received{sender}{condition}")

    def all_are(self, *parts: object) -> Text:
        return Text(f"all received are {_message(parts)}")

    def pick(self, what: str, name: str, *parts: object, largest: str = "", where: object = "true") -> Text:
        """A part of the messages that match: `one`, `smallest`, `most frequent`, .."""
        best = f" with largest {largest}" if largest else ""
        condition = "" if str(where) == "true" else f" where {where}"
        return Text(f"{what} {name} of {_message(parts)}{best}{condition}")


class Algorithm:
    """An algorithm under construction."""

    n, phase, coordinator, me, nothing = Text("n"), Text("phase"), Text("coordinator"), Text("self"), Text("?")

    def __init__(self, name: str) -> None:
        self._head = [f"algorithm {name}"]
        self._state: list[str] = []
        self._body: list[str] = []
        self._tail: list[str] = []
        self._depth = 1

    def parameter(self, name: str, default: object = None, constraint: object = "true") -> Text:
        given = "" if default is None else f" = {default}"
        self._head.append(f"parameter {name}{given}" + ("" if str(constraint) == "true" else f" with {constraint}"))
        return Text(name)

    def tag(self, name: str) -> Text:
        self._head.append(f"tag {name}")
        return Text(name)

    def variable(self, name: str, kind: str, initial: object) -> Text:
        """A variable of every process, of a kind as in `*.rounds` files."""
        self._state.append(f"  {name}: {kind} = {initial}")
        return Text(name)

    @contextmanager
    def round(self, name: str = "") -> Iterator[Heard]:
        self._body.append(f"round {name}".rstrip())
        yield Heard()

    def send(self, *parts: object, to: str = "all", condition: object = "true") -> None:
        guard = "" if str(condition) == "true" else f"if {condition}: "
        self._line(f"{guard}send {_message(parts)} to {to}")

    @contextmanager
    def when(self, condition: object) -> Iterator[None]:
        self._line(f"if {condition}:")
        yield from self._deeper()

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        self._line("else:")
        yield from self._deeper()

    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def assign(self, variable: object, value: object) -> None:
        self._line(f"{variable} := {value}")

    def decide(self, value: object) -> None:
        self._line(f"decide {value}")

    def declare(self, line: str) -> None:
        """Any other declaration, as in a file: `safe ..`, `sync ..`, `faults ..`, `property ..`, `univalent v: ..`."""
        self._tail.append(line)

    def _line(self, text: str) -> None:
        self._body.append("  " * self._depth + text)

    def text(self) -> str:
        """The algorithm as a `*.rounds` file."""
        return "\n".join([*self._head, "state", *self._state, *self._body, *self._tail]) + "\n"

    def model(self) -> RoundModel:
        """The model.  Raises `LanguageError` with all diagnostics if it is not well formed."""
        return parse_rounds(Source("built.rounds", self.text())).model
