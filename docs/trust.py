"""Makes docs/trust.md: what a result rests on, and, per family, the modules that have to be right for a *proved* to be right.

The modules are those that are loaded on the way from a text and a certificate to the questions that solvers get.  The guard
against contradictions and the second opinion are not among them: they can refuse a certificate but not make one accepted.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from planted_mistakes import MISTAKES  # noqa: E402

SAMPLES = {
    "Ivy": "protocols/relational/two_phase_commit.ivy",
    "mypyvy": "protocols/relational/proofs/paxos.pyv",
    "Mercury": "protocols/mercury/lock_service.mercury",
    "Rounds": "protocols/rounds/one_third_rule.rounds",
    "Liveness": "protocols/liveness/token_ring.pyv",
}
LOADING = """
import json, sys
sys.path.insert(0, sys.argv[1])
from quorate.lang import load_model
from quorate.models.forms import relational_form
from quorate.proof.certificates import certify
from quorate.proof.checker import _Prepared, sections
form = relational_form(load_model(sys.argv[2]).model)
if form.liveness:
    from quorate.proof.liveness import Argument, LivenessCertificate, Proved, sections
    proved = [Proved(Argument(item.name, True, ()), (), None) for item in form.liveness]
    certificate = LivenessCertificate("", "", tuple(proved))
else:
    certificate = certify(form, form.safety, form.properties, {})
for section in sections(form, certificate):
    _Prepared(section, 1024, False)
print(json.dumps(sorted(name for name in sys.modules if name.startswith("quorate."))))
"""
PARSER = "none: the twins use it too"
TWINS = {
    **{f"lang.ivy.{name}": PARSER for name in ("grammar", "statements", "syntax", "vocabulary")},
    **{f"lang.{name}.grammar": PARSER for name in ("pyv", "mercury", "rounds")},
    "lang.mercury.layout": PARSER,
    "lang.reader": PARSER,
    "lang.ivy": "twin `ivy`",
    "lang.pyv": "twin `pyv`",
    "lang.mercury": "twin `mercury`",
    "lang.rounds": "twin `rounds`",
    "models.process": "twin `mercury`",
    "models.quorum": "twin `rounds`",
    "models.linear": "twin `rounds`",
    "models.evaluation": "twin `rounds`",
    "models.rounds": "twin `rounds`",
    "lang.elaborate": "twins `ivy` and `pyv`",
    "lang.temporal": "twins `ivy` and `pyv`, fair runs",
    "models.temporal": "fair runs of the twins",
    "proof.liveness": "fair runs of the twins",
    "proof.checker": "states of all twins; forged certificates",
    "proof.certificates": "forged certificates",
    "proof.cutoffs": "states of all twins; forged certificates",
    "logic.sexpr": "forged certificates",
    "engines.smt": "two solvers",
}
"""By the beginning of a module's name: what is independent of it and would notice that it is wrong."""


def modules(sample: str) -> list[str]:
    """The modules loaded for a file, without `quorate.`."""
    command = [sys.executable, "-I", "-c", LOADING, str(ROOT / "src"), str(ROOT / sample)]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    names = [name.removeprefix("quorate.") for name in listed]
    return [name for name in names if lines(name)]


def path(name: str) -> Path:
    folder = ROOT / "src" / "quorate" / Path(*name.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def lines(name: str) -> int:
    """Lines that are not blank, rounded up to tens: so that this page does not change with every small change."""
    count = sum(bool(line.strip()) for line in path(name).read_text(encoding="utf-8").splitlines())
    return -(-count // 10) * 10


def holds(name: str) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path(name).read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(".") if text else ""


def twin(name: str) -> str:
    found = [prefix for prefix in TWINS if name.startswith(prefix)]
    return TWINS[max(found, key=len)] if found else ""


def tests(name: str) -> str:
    """The test file that stands where the module does."""
    package, _, module = name.rpartition(".")
    file = Path("tests", *package.split("."), f"test_{module}.py")
    return f"[{file.name}](../{file})" if (ROOT / file).exists() else ""


def table(names: list[str]) -> str:
    text = "| module | lines | holds | second opinion | own tests | planted mistakes |\n| --- | ---: | --- | --- | --- | ---: |\n"
    for name in names:
        planted = sum(mistake.path == str(path(name).relative_to(ROOT / "src" / "quorate")) for mistake in MISTAKES)
        text += f"| `{name}` | {lines(name)} | {holds(name)} | {twin(name)} | {tests(name)} | {planted or ''} |\n"
    return text


def page() -> str:
    """The whole page."""
    listed = {family: modules(sample) for family, sample in SAMPLES.items()}
    shared = sorted(set.intersection(*map(set, listed.values())))
    text = (ROOT / "docs" / "trust.in.md").read_text(encoding="utf-8")
    text += f"\n### Always ({sum(map(lines, shared)):,} lines)\n\n{table(shared)}"
    for family, names in listed.items():
        own = [name for name in names if name not in shared]
        total = sum(map(lines, names))
        text += f"\n### {family} ({sum(map(lines, own)):,} lines more, {total:,} in all)\n\n{table(own)}"
    return text
