"""Writing files so that none is lost or half-written: beside the target first, then renamed."""

from __future__ import annotations

import secrets
from pathlib import Path


def write_atomically(path: str | Path, text: str) -> None:
    """Replace a file's contents in one step: all of it, or nothing.

    The file beside it is new, under a name that nobody can guess: a link that lies there leads nowhere else.
    """
    target = Path(path)
    content = text.encode("utf-8")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(content)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
