"""Lines and indentation of Mercury texts: where layout and reading could differ, that is an error.

A reader takes what is indented below an `if` to be its body, so that is its body.  Whatever could be taken in two ways is
refused: lines indented by neither as much as the body nor as the `if`, a second statement beside `if (c) a`, an `else`
that could belong to two `if`s.  Braces always decide.  Two indentations are compared character by character, so that tabs
and spaces are never weighed against each other.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from quorate.lang.diagnostics import Diagnostic, Sink
from quorate.lang.reader import Parser, Token

Statement = TypeVar("Statement")

STATEMENT_STARTS = ("name", "if", "goto", "rend", "sendrz", "broadcast", "sendbr")
TAB_WIDTHS = (2, 4, 8)
BRACE_OR_MOVE = "put the body into braces, or indent each line by as much as the one that it belongs to"


class LayoutParser(Parser, Generic[Statement]):
    """A parser of blocks of statements that looks at the indentation of their lines."""

    def __init__(self, tokens: list[Token], sink: Sink) -> None:
        super().__init__(tokens, sink)
        self.waiting: list[str] = []
        """The indentations of the `if`s around this place that may still get an `else`; braces hide those outside of them."""

    @abstractmethod
    def statement(self) -> Statement:
        """One statement."""

    # -- lines -----------------------------------------------------------------------------------------------------

    def indentation(self, token: Token) -> str:
        """The blanks at the beginning of the line on which a token stands."""
        line = token.span.source.line(token.span.line)
        return line[: len(line) - len(line.lstrip())]

    def begins_line(self) -> bool:
        """Is this token the first one of its line?"""
        if self.index == 0:
            return True
        before = self.tokens[self.index - 1].span
        return before.source.position(before.end - 1)[0] < self.token.span.line

    def unclear(self, message: str, owner: Token, fix: str = BRACE_OR_MOVE) -> None:
        related = ((owner.span, f"the `{owner.text}`"),)
        self.sink.report(Diagnostic("Q0409", message, self.token.span, related=related, fix=fix))

    # -- blocks ----------------------------------------------------------------------------------------------------

    def block(self, owner: Token | None = None) -> tuple[Statement, ...]:
        """Statements up to something else.  A line of a handler's body is indented deeper than the line of its `owner`.

        A handler's body that is not indented at all is read too, as it can belong to nothing else.
        """
        found: list[Statement] = []
        flat = owner is not None and owner.kind == "on" and not self.below(owner)
        while True:
            self.skip_semicolons()
            if not self.at(*STATEMENT_STARTS, "{"):
                return tuple(found)
            if owner is not None and not flat and not self.below(owner):
                message = f"this belongs to `{owner.text}`, but it is not indented deeper than that line"
                self.unclear(message, owner, f"indent it deeper than `{owner.text}`")
            self.item(found)

    def below(self, owner: Token) -> bool:
        """Does this token stand on the line of its owner, or on one that is indented deeper, whatever tabs are?"""
        if not self.begins_line():
            return True
        here, home = self.indentation(self.token), self.indentation(owner)
        return any(len(here.expandtabs(tab)) > len(home.expandtabs(tab)) for tab in TAB_WIDTHS)

    def item(self, found: list[Statement]) -> None:
        """The next statement, or the statements in braces."""
        if self.at("{"):
            found += self.braced()
        else:
            found.append(self.statement())

    def braced(self) -> tuple[Statement, ...]:
        self.expect("{")
        around, self.waiting = self.waiting, []
        body = self.block()
        self.waiting = around
        self.expect("}", "to close the block")
        return body

    def skip_semicolons(self) -> None:
        while self.accept(";"):
            pass

    # -- conditionals ----------------------------------------------------------------------------------------------

    def branches(self, start: Token) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """What an `if` does, after its condition, and what its `else` does."""
        self.waiting.append(self.indentation(start))
        then = self.branch(start)
        self.skip_semicolons()
        mine = self.at("else") and self.takes_else(start)
        self.waiting.pop()
        return then, self.branch(self.advance()) if mine else ()

    def branch(self, owner: Token) -> tuple[Statement, ...]:
        """What is in braces, or one statement on the same line, or the lines that are indented below."""
        if self.at("{"):
            return self.braced()
        if not self.at(*STATEMENT_STARTS):
            self.fail("expected a statement")
        home, inner = self.indentation(owner), self.indentation(self.token)
        if not self.begins_line():
            return self._beside(owner, home)
        if inner == home or not inner.startswith(home):
            self.unclear(f"the body of `{owner.text}` is neither indented deeper nor in braces", owner)
            return (self.statement(),)
        found: list[Statement] = []
        while True:
            self.item(found)
            self.skip_semicolons()
            if not self.at(*STATEMENT_STARTS, "{"):
                return tuple(found)
            here = self.indentation(self.token)
            if self.begins_line() and here != inner:
                if not home.startswith(here):
                    text = f"this line is indented neither as the body of `{owner.text}` nor as the line with `{owner.text}`"
                    self.unclear(text, owner)
                return tuple(found)

    def _beside(self, owner: Token, home: str) -> tuple[Statement, ...]:
        """One statement beside `if (c)` or `else`; nothing after it may look as if it belonged to it."""
        body = (self.statement(),)
        self.skip_semicolons()
        if self.at(*STATEMENT_STARTS, "{"):
            if not self.begins_line():
                self.unclear(f"does this belong to the body of `{owner.text}`?  It stands on the same line", owner)
            elif not home.startswith(self.indentation(self.token)):
                text = f"this is indented deeper than the line with `{owner.text}`, whose body has ended"
                self.unclear(text, owner)
        return body

    def takes_else(self, start: Token) -> bool:
        """Does an `else` belong to the innermost `if`?  Where there are several, to the one on a line indented like its own."""
        if len(self.waiting) == 1:
            return True
        here = self.indentation(self.token)
        alike = [place for place, indentation in enumerate(self.waiting) if indentation == here]
        if len(alike) != 1:
            text = "this `else` could belong to more than one `if`" if alike else "no `if` is indented like this `else`"
            self.unclear(text, start, "put the inner `if` into braces")
            return True
        return alike == [len(self.waiting) - 1]
