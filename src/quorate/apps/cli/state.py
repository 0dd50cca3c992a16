"""`--resume FILE`: what a command keeps from one run to the next, by the digest of each protocol's text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quorate.apps.cli.commands import UsageError, writing
from quorate.files import write_atomically

VERSION = 2

State = dict[str, dict[str, Any]]
"""What is known, by the digest of a protocol's text."""


def load_state(path: str, verb: str) -> State:
    """What an earlier run has saved; nothing if there was none."""
    if not Path(path).exists():
        return {}
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["format"] != _format(verb) or document["version"] != VERSION:
            raise ValueError
        found: State = document["protocols"]
        if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
            raise ValueError
        return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--resume: {path} was not written by `quorate {verb} --resume`; name another file") from None


def save_state(path: str, verb: str, state: State) -> None:
    document = {"format": _format(verb), "version": VERSION, "protocols": state}
    writing(path, lambda: write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n"))


def _format(verb: str) -> str:
    return f"quorate-{verb}-state"
