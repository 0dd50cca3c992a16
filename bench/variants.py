"""The same protocol with every identifier renamed at random and all declarations in another order.

    python bench/variants.py FILE OUTPUT.pyv [--seed N]

A method that hangs on names or on the order of lines shows it on such variants.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeVar

from quorate.lang import load
from quorate.lang.pyv.printer import print_model
from quorate.models.relational import RelationalModel

Item = TypeVar("Item")


def variant(model: RelationalModel, seed: int) -> str:
    """The text of the variant, in mypyvy's language."""
    random = Random(seed)

    def shuffled(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(random.sample(items, len(items)))

    mixed = replace(
        model,
        sorts=shuffled(model.sorts),
        symbols=shuffled(model.symbols),
        axioms=shuffled(model.axioms),
        initial=shuffled(model.initial),
        transitions=shuffled(model.transitions),
        invariants=(),
        expectations=(),
    )
    declared = [sort.name for sort in model.sorts] + [name for sort in model.sorts for name in sort.elements]
    declared += [symbol.name for symbol in model.symbols] + [item.name for item in model.transitions]
    names = {
        name: f"{random.choice('abcdefghijk')}{random.getrandbits(32):08x}"
        for name in sorted({name.replace(".", "_") for name in declared})
    }
    return re.sub(r"[A-Za-z_][A-Za-z_0-9]*", lambda found: names.get(found[0], found[0]), print_model(mixed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("output")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    Path(arguments.output).write_text(variant(load(arguments.file).model, arguments.seed), encoding="utf-8")


if __name__ == "__main__":
    main()
