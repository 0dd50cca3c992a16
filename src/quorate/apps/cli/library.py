"""`quorate new` and `quorate library`: a protocol to start from, and the protocols that come with Quorate."""

from __future__ import annotations

import argparse
import re
import sysconfig
from pathlib import Path

from quorate.apps.cli.commands import UsageError, writing
from quorate.files import write_atomically
from quorate.lang import load_model

SUFFIXES = (".ivy", ".pyv", ".mercury", ".rounds")
STARTERS = Path(__file__).parent / "starters"
FAMILIES = {"ivy": ".ivy", "pyv": ".pyv", "mercury": ".mercury", "rounds": ".rounds"}


def library_folder() -> Path | None:
    """Where the protocols are: beside the source, or where they were installed."""
    beside = Path(__file__).parents[4] / "protocols"
    installed = Path(sysconfig.get_path("data")) / "share" / "quorate" / "protocols"
    return next((folder for folder in (beside, installed) if folder.is_dir()), None)


def entries(words: str = "") -> list[Path]:
    """The files of the library whose path has all these words in it."""
    folder = library_folder()
    if folder is None:
        raise UsageError("the library was not installed; it is the folder `protocols` of the source")
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    wanted = words.lower().split()
    return [path for path in files if all(word in str(path.relative_to(folder)).lower() for word in wanted)]


def title(path: Path) -> str:
    """The first words of a file's opening comment."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip().lstrip("#/ ").strip()
        if text and not line.startswith("#lang") and not text.startswith("expect:"):
            return re.split(r"(?<=[a-z)])[.:;](?:\s|$)", text)[0].rstrip(".")
    return ""


def run_library(arguments: argparse.Namespace) -> int:
    """List the library, show one file, or copy it."""
    folder = library_folder()
    found = entries(" ".join(arguments.words))
    assert folder is not None
    if arguments.copy is None and not arguments.show:
        width = max((len(str(path.relative_to(folder))) for path in found), default=0)
        for path in found:
            print(f"{path.relative_to(folder)!s:<{width}}  {title(path)}")
        print(f"\n{len(found)} protocols; `quorate library NAME --show` prints one, `--copy FILE` copies it")
        return 0 if found else 1
    exact = [path for path in found if path.stem == " ".join(arguments.words) or str(path).endswith(arguments.words[0])]
    chosen = (
        found if len(found) == 1 else [path for path in exact if path.parent.name not in ("broken", "proofs")] or exact
    )
    if len(chosen) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in (chosen or found)[:8])
        raise UsageError(f"{len(chosen or found)} protocols match: {names or 'none'}; name one")
    text = chosen[0].read_text(encoding="utf-8")
    if arguments.show:
        print(text, end="")
        return 0
    target = Path(arguments.copy)
    if target.is_dir():
        target = target / chosen[0].name
    return _write(target, text)


def run_new(arguments: argparse.Namespace) -> int:
    """Write a starter protocol."""
    name = Path(arguments.name)
    family = arguments.family or next((f for f, suffix in FAMILIES.items() if suffix == name.suffix), "pyv")
    if name.suffix not in SUFFIXES:
        name = name.with_name(name.name + FAMILIES[family])
    if FAMILIES[family] != name.suffix:
        raise UsageError(f"a protocol of the family {family} is called *{FAMILIES[family]}")
    label = re.sub(r"\W+", "_", name.stem).strip("_") or "protocol"
    starter = (STARTERS / f"starter{FAMILIES[family]}").read_text(encoding="utf-8")
    words = "".join(part.capitalize() for part in label.split("_"))
    return _write(name, starter.replace("STARTER_TITLE", label.replace("_", " ")).replace("Starter", words))


def _write(target: Path, text: str) -> int:
    if target.exists():
        raise UsageError(f"{target} exists already; it is left as it is")
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {target}: there is no folder {target.parent}")
    writing(str(target), lambda: write_atomically(target, text))
    load_model(target)
    print(f"{target} written; `quorate verify {target}` verifies it")
    return 0


def run_ui(arguments: argparse.Namespace) -> int:
    """Serve the page for a folder."""
    from quorate.apps.web.server import serve

    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    return serve(folder, arguments.port, not arguments.no_browser)
