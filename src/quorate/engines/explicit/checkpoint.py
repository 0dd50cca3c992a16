"""Saving a search and going on with it later.

A folder holds a file per shard, to which states are only ever added, and a manifest that says how much of each file
counts.  The manifest is replaced last and in one step, so a process may be killed at any moment.
"""

from __future__ import annotations

import ctypes
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate.engines.explicit.native import Search
from quorate.files import write_atomically

FORMAT = 2


class CheckpointError(Exception):
    """The folder does not hold a checkpoint of this search; the message says why."""


class Checkpoint:
    """A folder in which one search is saved.  `identity` is what the search must have in common with the saved one."""

    def __init__(self, folder: str | Path, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.identity = dict(identity)
        self.saved: list[int] = []
        self.sums: list[int] = []

    @property
    def manifest_path(self) -> Path:
        return self.folder / "manifest.json"

    def exists(self) -> bool:
        return self.manifest_path.exists()

    def _shard(self, number: int) -> Path:
        return self.folder / f"states-{number}.bin"

    def save(self, search: Search) -> None:
        """Add what is new to the files, then say so in the manifest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        counts, size = search.counts(), 8 * search.engine.words
        if len(self.saved) != len(counts):
            self.saved, self.sums = [0] * len(counts), [0] * len(counts)
        for number, count in enumerate(counts):
            start, length = self.saved[number] * size, (count - self.saved[number]) * size
            with open(self._shard(number), "r+b" if start else "wb") as file:
                file.truncate(start)
                file.seek(start)
                if length:
                    address = ctypes.addressof(search.log(number).contents) + start
                    content = (ctypes.c_char * length).from_address(address)
                    file.write(content)
                    self.sums[number] = zlib.crc32(content, self.sums[number])
                file.flush()
                os.fsync(file.fileno())
        self.saved = counts
        document = {
            "format": FORMAT,
            "identity": self.identity,
            "status": search.status,
            "words": search.engine.words,
            "counts": counts,
            "sums": self.sums,
            "search": search.progress(),
        }
        write_atomically(self.manifest_path, json.dumps(document, indent=1))

    def load(self) -> dict[str, Any]:
        """The manifest, if it belongs to this search."""
        try:
            document = json.loads(self.manifest_path.read_text(encoding="utf-8"))
            known = document["identity"]
            if document["format"] != FORMAT:
                raise CheckpointError(f"{self.folder} was saved by another version")
        except OSError as problem:
            raise CheckpointError(f"{self.manifest_path} cannot be read: {problem.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{self.manifest_path} is not a checkpoint's manifest") from None
        different = [name for name in self.identity if known.get(name) != self.identity[name]]
        if different:
            different = [name for name in different if name != "system"] or different
            listed = ", ".join(f"{n}: {known.get(n)!r} there, {self.identity[n]!r} here" for n in different)
            raise CheckpointError(f"{self.folder} holds another search ({listed})")
        return dict(document)

    def restore(self, search: Search, document: Mapping[str, Any]) -> None:
        """Bring a search that has not begun to where the saved one was."""
        size = 8 * search.engine.words
        if len(document["counts"]) != search.shards or document["words"] != search.engine.words:
            raise CheckpointError(f"{self.manifest_path} is not complete")
        for number, count in enumerate(document["counts"]):
            try:
                with open(self._shard(number), "rb") as file:
                    content = file.read(count * size)
            except OSError as problem:
                raise CheckpointError(f"{self._shard(number)} cannot be read: {problem.strerror}") from None
            if len(content) != count * size or zlib.crc32(content) != document["sums"][number]:
                raise CheckpointError(f"{self._shard(number)} is damaged")
            search.load(number, content, count)
        self.saved, self.sums = list(document["counts"]), list(document["sums"])
        search.resume(document["search"])
