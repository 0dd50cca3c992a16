"""Broken inputs by the thousand: does anything end in a traceback, or never end?

    python bench/broken_inputs.py [--count N] [--seed N] [--jobs N] [--output FILE]      -> bench/broken-inputs.md

Protocols of the four families, certificates, traces and saved runs are damaged: words dropped, doubled and swapped, bits
flipped, ends cut off, bombs of brackets, huge numbers, odd characters.  They go through the commands that read them; a protocol
that can still be read is also searched for a moment, and brought into the form that certificates speak of.  Every answer is an
exit code with a message; a traceback, an internal error or more than 5 s of processor time (40 s to search) is a failure.

An input belongs to its kind and number: `--only KIND NUMBER` repeats one, and leaves it in a file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from lang.fuzz import SECONDS, WORD, TooSlow, mutant, protocols, time_limit  # noqa: E402
from quorate.apps.cli import main as command_line  # noqa: E402
from quorate.apps.cli.commands import UsageError  # noqa: E402
from quorate.apps.cli.resuming import entry, known  # noqa: E402
from quorate.apps.cli.state import load_state, save_state  # noqa: E402
from quorate.engines.smt.session import Limits  # noqa: E402
from quorate.lang import load_model, parse_model  # noqa: E402
from quorate.lang.diagnostics import LanguageError  # noqa: E402
from quorate.models.forms import NoForm, relational_form  # noqa: E402
from quorate.models.source import Source  # noqa: E402
from quorate.proof.certificates import digest  # noqa: E402
from quorate.strategy import Question, verify  # noqa: E402

FAMILIES = ("pyv", "ivy", "mercury", "rounds")
SHARES = {**dict.fromkeys(FAMILIES, 40), "certificate": 20, "liveness": 8, "trace": 8, "saved": 4}
"""How many of 200 inputs are of each kind."""
LIMITS = Limits(timeout=1.0, jobs=1)
SEARCHING = 40.0
"""Processor seconds for a search: before it begins, up to two million interpretations of the rigid symbols are tried."""

LOCK = """\
sort node
mutable relation held(node)
mutable relation free
init !held(N)
init free
transition take(n: node)
  modifies held, free
  & free & !new(free)
  & (forall N. new(held(N)) <-> held(N) | N = n)
transition give(n: node)
  modifies held, free
  & held(n) & new(free)
  & (forall N. new(held(N)) <-> held(N) & N != n)
safety [mutex] held(N) & held(M) -> N = M
invariant [handed] held(N) -> !free
fairness [returns] weak forall N. give(N)
liveness [frees] true ~> free
"""
"""A protocol with a certificate of safety, one of liveness, and, without its guard, a run to a violation."""


# -- inputs -------------------------------------------------------------------------------------------------------------------


def odd_bytes(choice: Random, data: bytes) -> bytes:
    """What text editors, downloads and bad luck do to a file."""
    place = choice.randrange(len(data) + 1)
    kinds: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.replace(b"\n", choice.choice([b"\r\n", b"\r", b"\x0b", b"\xe2\x80\xa8"])),
        lambda: data.decode("utf-8", "replace").encode(choice.choice(["utf-16", "utf-32", "latin-1"]), "replace"),
        lambda: data[:place] + bytes(choice.randrange(256) for _ in range(choice.choice([1, 5, 300]))) + data[place:],
        lambda: (
            data[:place] + choice.choice([b"\x00", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x1b[31m"]) + data[place:]
        ),
        lambda: data[:place],
        lambda: data * choice.choice([2, 3]),
        lambda: re.sub(rb"\b[0-9]+\b", lambda m: choice.choice([b"9" * 5000, b"-1", b"1e999", m[0]]), data),
        lambda: re.sub(rb"\b[a-z]\w+\b", lambda m: m[0] * choice.choice([1] * 30 + [3000]), data),
        lambda: data[:place] + choice.choice(["é", "𝕏", "‮", "∀", "́", "٣", "ﬀ"]).encode() + data[place:],
        lambda: bytes(choice.randrange(256) for _ in range(choice.choice([0, 1, 100, 5000]))),
    ]
    return choice.choice(kinds)()


def mixed_up(choice: Random, text: str) -> str:
    """Words in each other's places, names for names, numbers for numbers and operators for operators: much of it can be read."""
    words = WORD.findall(text)
    classes = [re.compile(pattern) for pattern in (r"[A-Za-z_]\w*", r"\d+", r"<->|->|[&|=<>+-]|~=|!=|<=|>=|:=")]
    for _ in range(choice.choice([1, 1, 2, 3])):
        wanted = choice.choice(classes)
        alike = [i for i, word in enumerate(words) if wanted.fullmatch(word)]
        if alike:
            words[choice.choice(alike)] = words[choice.choice(alike)]
    return "".join(words)


def damaged_protocol(kind: str, number: int) -> bytes:
    choice = Random(f"bytes {kind} {number}")
    if choice.random() < 0.5:
        return mixed_up(choice, choice.choice(protocols(f".{kind}"))[1]).encode()
    data = mutant(number, protocols(f".{kind}")).text.encode("utf-8", "surrogatepass")
    return odd_bytes(choice, data) if choice.random() < 0.4 else data


def damaged_document(kind: str, number: int) -> bytes:
    """A JSON document with its words or its values damaged; the sum of a certificate is put right where that can be done."""
    choice = Random(f"document {kind} {number}")
    text = choice.choice(originals()[kind])
    if choice.random() < 0.5:
        text = mutant(number, [(f"a.{kind}", text)]).text
    else:
        document = json.loads(text)
        for _ in range(choice.choice([1, 1, 2, 4])):
            damage(choice, document)
        if "digest" in document:
            document["digest"] = digest({key: value for key, value in document.items() if key != "digest"})
        text = json.dumps(document)
    data = text.encode("utf-8", "surrogatepass")
    return odd_bytes(choice, data) if choice.random() < 0.15 else data


def damage(choice: Random, document: Any) -> None:
    """Replace, delete or double one value somewhere."""
    part, parent, key = document, None, None
    while isinstance(part, (dict, list)) and part and (parent is None or choice.random() < 0.8):
        parent, key = part, choice.choice(list(part) if isinstance(part, dict) else range(len(part)))
        part = parent[key]
    if parent is None:
        return
    values: list[Any] = [
        None,
        True,
        -1,
        0,
        10**30,
        0.5,
        float("inf"),
        "",
        "x",
        "\x00",
        "\ud800",
        "9" * 5000,
        [],
        {},
        [[]],
    ]
    values += ["(" * 600, "(not " * 490 + "true" + ")" * 490, "(forall () false)", {"#bigint": "9" * 5000}, {"#set": 3}]
    values += [
        {"#bigint": "1_0"},
        {"#map": [[1]]},
        {"#tup": []},
        [part],
        {"a": part},
        "(forall ((X node) (X node)) (held X))",
    ]
    kind = choice.choice(["set", "set", "set", "delete", "add"])
    if kind == "delete":
        del parent[key]
    elif kind == "add" and isinstance(parent, list):
        parent.append(choice.choice([*values, part]))
    elif kind == "add":
        parent["more"] = choice.choice(values)
    else:
        parent[key] = choice.choice(values)


@cache
def originals() -> dict[str, list[str]]:
    """Documents of each kind as they should be."""
    broken = LOCK.replace("& free & !new(free)", "& free & new(free)")
    lock = parse_model(Source("lock.pyv", LOCK)).model
    answer = verify(Question(lock, 30.0, LIMITS))
    wrong = parse_model(Source("broken.pyv", broken)).model
    found = verify(Question(wrong, 30.0, LIMITS), ("bounded",))
    with tempfile.TemporaryDirectory() as folder:
        save_state(f"{folder}/a", "verify", {lock.source.sha256: entry(lock, answer)})  # type: ignore[union-attr]
        save_state(f"{folder}/b", "verify", {lock.source.sha256: entry(wrong, found)})  # type: ignore[union-attr]
        saved = [Path(folder, name).read_text(encoding="utf-8") for name in "ab"]
    documents = [proof.document(lock) for proof in answer.proofs]
    return {
        "certificate": [json.dumps(item) for item in documents if "safety" in item],
        "liveness": [json.dumps(item) for item in documents if "safety" not in item],
        "trace": [json.dumps(run["itf"]) for run in entry(wrong, found)["runs"]],
        "saved": saved,
    }


# -- what comes of them --------------------------------------------------------------------------------------------------------


def examine(kind: str, number: int, folder: Path) -> str:
    """`read` or `refused`; raises an exception otherwise."""
    if kind in FAMILIES:
        path = folder / f"input.{kind}"
        path.write_bytes(damaged_protocol(kind, number))
        with time_limit(SECONDS):
            if command("parse", str(path)) == 2:
                return "refused"
        if number % 3 == 0:
            with time_limit(SEARCHING):
                command("check", str(path), "--engine", "reference", "--timeout", "0.3", "--quiet", "--jobs", "1")
            with contextlib.suppress(NoForm), time_limit(SECONDS):
                relational_form(load_model(path).model)
        return "read"
    path, protocol = folder / f"input.{'itf.' * (kind == 'trace')}json", folder / "lock.pyv"
    path.write_bytes(damaged_document(kind, number))
    protocol.write_text(LOCK)
    if kind == "saved":
        with time_limit(SECONDS):
            return resumed(path, protocol)
    arguments = ["recheck", str(path), str(protocol), "--timeout", "1", "--jobs", "1"]
    if kind == "trace":
        protocol.write_text(LOCK.replace("& free & !new(free)", "& free & new(free)"))
        arguments = ["trace", ("show", "replay", "minimise")[number % 3], str(path), str(protocol)]
    with time_limit(SECONDS):
        return "read" if command(*arguments) == 0 else "refused"


def resumed(path: Path, protocol: Path) -> str:
    """What of a saved run still counts."""
    model = load_model(protocol).model
    assert model.source is not None
    try:
        saved = load_state(str(path), "verify").get(model.source.sha256)
    except UsageError:
        return "refused"
    return "read" if saved and known(Question(model, 5.0, LIMITS), saved) else "refused"


def command(*arguments: str) -> int:
    """The exit code of a command, which may not end in a bug report."""
    shown, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(told):
        code = command_line.main(arguments)
    said = told.getvalue()
    if "internal error" in said or "Traceback" in said or code not in (0, 1, 2, 3):
        raise AssertionError(f"exit code {code}: {said[-600:]}")
    if code == 2 and not (said.strip() or shown.getvalue().strip()):
        raise AssertionError("refused without a word")
    return code


@dataclass(frozen=True)
class Examined:
    kind: str
    number: int
    answer: str
    why: str = ""


def _one(item: tuple[str, int]) -> Examined:
    kind, number = item
    sys.setrecursionlimit(20_000)
    os.environ["QUORATE_DEBUG"] = "1"
    try:
        with tempfile.TemporaryDirectory() as folder:
            return Examined(kind, number, examine(kind, number, Path(folder)))
    except TooSlow as problem:
        return Examined(kind, number, "too slow", str(problem))
    except LanguageError as problem:
        return Examined(kind, number, "traceback", f"LanguageError: {problem.diagnostics[0].message}")
    except BaseException as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Examined(kind, number, "traceback", f"{type(problem).__name__}: {str(problem)[:300]} ({where})")


def inputs(count: int, seed: int) -> list[tuple[str, int]]:
    """Which inputs are made: the kinds by their shares, numbers from the seed on."""
    kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
    return [(kinds[index * 83 % len(kinds)], seed * 1_000_000 + index) for index in range(count)]


def campaign(listed: Sequence[tuple[str, int]], jobs: int = 1) -> Iterator[Examined]:
    """All of them, examined."""
    originals()
    if jobs == 1:
        yield from map(_one, listed)
        return
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        yield from pool.map(_one, listed, chunksize=16)


def table(found: Sequence[Examined], arguments: argparse.Namespace, seconds: float) -> str:
    heads = ("read", "refused", "traceback", "too slow")
    lines = [
        "# Broken inputs",
        "",
        f"Generated by `python bench/broken_inputs.py --count {arguments.count} --seed {arguments.seed}`, {seconds:.0f} s.",
        "Refused: an exit code and a message that says why. Too slow: more than 5 s of processor time to read, 40 s to search.",
        "",
        "| kind | inputs | " + " | ".join(heads) + " |",
        "| --- |" + " --- |" * (len(heads) + 1),
    ]
    for kind in (*SHARES, "**all**"):
        counts = Counter(item.answer for item in found if kind in (item.kind, "**all**"))
        lines.append(f"| {kind} | {sum(counts.values())} | " + " | ".join(str(counts[head]) for head in heads) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--only", nargs=2, metavar=("KIND", "NUMBER"), help="repeat this one, and leave it in `broken-input`"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "broken-inputs.md")
    arguments = parser.parse_args()
    if arguments.only:
        kind, number = arguments.only[0], int(arguments.only[1])
        made = damaged_protocol(kind, number) if kind in FAMILIES else damaged_document(kind, number)
        Path(f"broken-input.{kind}").write_bytes(made)
        print(_one((kind, number)))
        return 0
    began, found = time.monotonic(), []
    for item in campaign(inputs(arguments.count, arguments.seed), arguments.jobs):
        found.append(item)
        if item.answer not in ("read", "refused"):
            print(item, flush=True)
    text = table(found, arguments, time.monotonic() - began)
    arguments.output.write_text(text, encoding="utf-8")
    print(text)
    return int(any(item.answer not in ("read", "refused") for item in found))


if __name__ == "__main__":
    raise SystemExit(main())
