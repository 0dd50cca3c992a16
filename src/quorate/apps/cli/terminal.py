"""Text that may come from anywhere, on its way to a terminal: nothing in it is obeyed.

Names, labels, certificates and saved runs come from files that others wrote.  A control character in one of them could move the
cursor, colour a verdict or worse; it is shown as `\\u001b` instead, which is also how JSON writes it.
"""

from __future__ import annotations

from typing import Any


def visible(text: str) -> str:
    """The text with every character that cannot be printed written as its code; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or character.isprintable() else _code(character) for character in text
    )


def _code(character: str) -> str:
    number = ord(character)
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


class Visible:
    """A stream that shows what is written to it, as `visible` does."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
