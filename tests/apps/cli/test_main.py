"""The command line: arguments, exit codes, what happens on interrupts and on bugs, and how little `--help` costs."""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from quorate import __version__
from quorate.apps.cli import commands
from quorate.apps.cli.main import build_parser, main
from quorate.engines.explicit.compile import CompilerError
from quorate.engines.explicit.worlds import InstanceError
from quorate.logic.structures import EvaluationError

LOCK = """\
sort client
mutable relation holds(client)
init !holds(C)
transition take(c: client)
  modifies holds
  & !holds(C)
  & (new(holds(C)) <-> C = c)
safety [mutex] holds(A) & holds(B) -> A = B
"""
BROKEN = LOCK.replace("& !holds(C)", "& true").replace("<-> C = c", "<-> holds(C) | C = c")

INTERRUPTED = """\
lock.pyv
  ✓ mutex  proved

proved for all sizes with 0 inferred invariants
  8 samples, …

broken.pyv
  ? mutex  unknown  (interrupted)

2 properties in 2 files: 1 proved, 1 unknown (… s)
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with `lock.pyv` and `broken.pyv`: exit code, standard output, standard error."""
    (tmp_path / "lock.pyv").write_text(LOCK)
    (tmp_path / "broken.pyv").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "setrecursionlimit", lambda limit: None)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else -1
        output, errors = capsys.readouterr()
        return code, output, errors

    return run


# -- arguments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "quorate: the following arguments are required: VERB"),
        (("prove", "a.pyv"), "quorate: argument VERB: invalid choice: 'prove'"),
        (("induct",), "quorate induct: the following arguments are required: FILE"),
        (("induct", "a.pyv", "--timeout", "0"), "argument --timeout: '0' is not a number of seconds"),
        (("induct", "a.pyv", "--timeout", "nan"), "argument --timeout: 'nan' is not a number of seconds"),
        (("induct", "a.pyv", "--timeout", "1e9"), "argument --timeout: '1e9' is not a number of seconds"),
        (("induct", "a.pyv", "--memory", "0"), "argument --memory: it must be at least 1"),
        (("induct", "a.pyv", "--jobs", "-2"), "argument --jobs: '-2' is not a number from 0 up"),
        (("induct", "a.pyv", "--jobs", "²"), "argument --jobs: '²' is not a number from 0 up"),
        (("induct", "a.pyv", "--seed", "x"), "argument --seed: 'x' is not a number from 0 up"),
        (("induct", "a.pyv", "--output-format", "xml"), "argument --output-format: invalid choice: 'xml'"),
        (("induct", "a.pyv", "--time", "3"), "quorate induct: unrecognized arguments: --time 3"),
        (("check",), "quorate check: the following arguments are required: FILE"),
        (("check", "a.pyv", "--depth", "1.5"), "argument --depth: '1.5' is not a number from 0 up"),
        (("recheck", "c.json", "--output-format", "junit"), "argument --output-format: invalid choice: 'junit'"),
        (("trace", "draw", "t", "a.pyv"), "argument action: invalid choice: 'draw'"),
        (("trace", "show", "t", "a.pyv", "--json"), "quorate trace: unrecognized arguments: --json"),
    ],
)
def test_usage_errors(run: Run, arguments: Sequence[str], message: str) -> None:
    code, output, errors = run(*arguments)
    assert (code, output) == (2, "")
    assert message in errors
    assert errors.rstrip().endswith("--help` lists what it understands")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("server=1", "--size: there is no sort 'server'; the sorts are client"),
        ("client", "--size: 'client' is not of the form SORT=N with N from 1 up"),
        ("client=0", "--size: 'client=0' is not of the form SORT=N with N from 1 up"),
        ("client=-1", "--size: 'client=-1' is not of the form SORT=N with N from 1 up"),
        ("", "--size: no size is given for client"),
    ],
)
def test_sizes(run: Run, size: str, message: str) -> None:
    assert run("check", "lock.pyv", "--depth", "1", "--size", size) == (2, "", f"quorate check: {message}\n")


def test_every_sort_needs_a_size(run: Run) -> None:
    Path("two.pyv").write_text("sort other\n" + LOCK)
    code, _, errors = run("check", "two.pyv", "--depth", "1", "--size", "client=2")
    assert (code, errors) == (2, "quorate check: --size: no size is given for other\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("induct", "lock.pyv", "--certificate", "no/c.json"), "cannot write no/c.json: there is no folder no"),
        (("induct", "lock.pyv", "--trace", "."), "cannot write .: it is a folder"),
        (
            ("check", "lock.pyv", "--depth", "1", "--trace", "no/t.json"),
            "cannot write no/t.json: there is no folder no",
        ),
        (("induct", "lock.pyv", "--dump-smt", "lock.pyv"), "cannot write into lock.pyv: it is a file, not a folder"),
        (("induct", "lock.pyv", "--dump-smt", "lock.pyv/x"), "cannot write lock.pyv/x: Not a directory"),
        (("recheck", "lock.pyv", "--proofs", "lock.pyv"), "cannot write into lock.pyv: it is a file, not a folder"),
        (("induct", "lock.pyv", "broken.pyv", "--trace", "t.json"), "--trace needs a single FILE"),
        (("induct", "lock.pyv", "broken.pyv", "--certificate", "c.json"), "--certificate needs a single FILE"),
        (("infer", "lock.pyv", "--write", "no/p.pyv"), "cannot write no/p.pyv: there is no folder no"),
        (("infer", "lock.pyv", "broken.pyv", "--write", "p.pyv"), "--write needs a single FILE"),
        (
            ("infer", "lock.pyv", "--write", "./lock.pyv"),
            "--write ./lock.pyv would overwrite the protocol; name another file",
        ),
        (("recheck", "no.json"), "there is no file no.json"),
        (("trace", "show", "no.json", "lock.pyv"), "no.json: cannot read the file: No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_told_before_the_work(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], message: str
) -> None:
    monkeypatch.setattr("quorate.methods.induction.induct.induct", None)
    code, output, errors = run(*arguments)
    assert (code, output, errors) == (2, "", f"quorate {arguments[0]}: {message}\n")


def test_defaults_are_the_same_for_every_verb() -> None:
    parser = build_parser()
    for words in (["induct", "a"], ["infer", "a"], ["check", "a", "--depth", "1"], ["recheck", "a"]):
        arguments = parser.parse_args(words)
        assert (arguments.memory, arguments.seed, arguments.dump_smt) == (4096, 0, None)
        assert arguments.timeout == (None if words[0] == "check" else 60.0)
        assert arguments.jobs >= 1 and arguments.output_format == "text" and not arguments.quiet


def test_json_is_short_for_its_format() -> None:
    assert build_parser().parse_args(["induct", "a", "--json"]).output_format == "json"


# -- exit codes ----------------------------------------------------------------------------------------------------------


def test_exit_codes(run: Run) -> None:
    assert run("induct", "lock.pyv", "--jobs", "1")[0] == 0
    assert run("induct", "broken.pyv", "--jobs", "1")[0] == 1
    assert run("check", "lock.pyv", "--depth", "1", "--size", "client=1")[0] == 3
    assert run("parse", "lock.pyv")[0] == 0
    assert run("parse", "missing.pyv")[0] == 2
    assert run("explain", "Q0201")[0] == 0
    assert run("explain", "nothing")[0] == 2
    assert run("--version") == (0, f"quorate {__version__}\n", "")


def test_errors_go_to_standard_error_and_results_to_standard_output(run: Run) -> None:
    code, output, errors = run("parse", "missing.pyv")
    assert (code, output) == (2, "") and "Q0002" in errors
    code, output, errors = run("parse", "missing.pyv", "--json")
    assert code == 2 and errors == "" and json.loads(output)["diagnostics"][0]["code"] == "Q0002"


def test_an_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "parse", interrupted)
    assert run("parse", "lock.pyv") == (130, "", "interrupted\n")


def test_an_interrupt_of_a_search(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found about earlier files is told."""
    from quorate.apps.cli import inferring

    search = inferring.search

    def interrupted(model: Any, limits: Any, options: Any, progress: Callable[[str], None]) -> Any:
        if model.source.path == "lock.pyv":
            return search(model, limits, options, progress)
        progress("collecting samples")
        raise KeyboardInterrupt

    monkeypatch.setattr(inferring, "search", interrupted)
    code, output, errors = run("infer", "lock.pyv", "broken.pyv", "lock.pyv", "--jobs", "1")
    assert (code, errors) == (130, "")
    assert re.sub(r"(?<=samples, ).*|[\d.]+(?= s\))", "…", output) == INTERRUPTED


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (CompilerError("no C compiler was found"), 2, "quorate infer: lock.pyv: no C compiler was found\n"),
        (InstanceError("too large"), 3, "  ? mutex  unknown  (the search cannot handle this protocol: too large)"),
        (EvaluationError("no value"), 3, "  ? mutex  unknown  (the search cannot handle this protocol: no value)"),
    ],
)
def test_what_infer_cannot_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, problem: Exception, code: int, message: str
) -> None:
    def failing(*arguments: Any) -> Any:
        raise problem

    monkeypatch.setattr("quorate.apps.cli.inferring.search", failing)
    found, output, errors = run("infer", "lock.pyv")
    assert (found, message in output + errors) == (code, True)


def test_a_bug_of_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(arguments: argparse.Namespace) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.delenv("QUORATE_DEBUG", raising=False)
    monkeypatch.setattr(commands, "parse", faulty)
    code, output, errors = run("parse", "lock.pyv")
    assert (code, output) == (2, "")
    first, second, third, fourth = errors.splitlines()
    assert first == "internal error: ZeroDivisionError: division by zero"
    assert "This is a bug in Quorate." in second and __version__ in third and "QUORATE_DEBUG=1" in fourth


def test_a_bug_can_be_looked_at(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(arguments: argparse.Namespace) -> int:
        raise ZeroDivisionError

    monkeypatch.setenv("QUORATE_DEBUG", "1")
    monkeypatch.setattr(commands, "parse", faulty)
    with pytest.raises(ZeroDivisionError):
        main(["parse", "lock.pyv"])


# -- verbs ---------------------------------------------------------------------------------------------------------------


def test_parse_prints_one_document_in_every_format(run: Run) -> None:
    assert len(json.loads(run("parse", "lock.pyv", "broken.pyv", "--json")[1])) == 2
    assert json.loads(run("parse", "lock.pyv", "--to", "json")[1])["name"] == "lock"
    assert json.loads(run("parse", "lock.pyv", "broken.pyv", "--output-format", "sarif")[1])["version"] == "2.1.0"
    assert run("parse", "lock.pyv", "--output-format", "junit")[1].count("<testcase") == 1
    assert run("parse", "lock.pyv", "--output-format", "github") == (0, "", "")


def test_printed_protocols_are_read_again(run: Run) -> None:
    for language in ("pyv", "ivy"):
        _, text, _ = run("parse", "lock.pyv", "--to", language)
        assert text.endswith("\n") and not text.endswith("\n\n")
        Path(f"again.{language}").write_text(text)
        assert run("induct", f"again.{language}", "--jobs", "1")[0] == 0


def test_a_trace_is_saved_and_used(run: Run) -> None:
    code, output, _ = run("check", "broken.pyv", "--depth", "3", "--size", "client=2", "--trace", "t.itf.json")
    assert code == 1 and "trace saved to t.itf.json" in output
    assert run("trace", "replay", "t.itf.json", "broken.pyv")[1] == (
        "t.itf.json: the run of 2 steps replays; the last state violates mutex\n"
    )
    assert run("trace", "replay", "t.itf.json", "lock.pyv")[0] == 1
    assert run("trace", "minimise", "t.itf.json", "broken.pyv", "--output", "small.itf.json")[0] == 0
    assert Path("small.itf.json").exists()


def test_a_counterexample_to_induction_is_not_a_run(run: Run) -> None:
    Path("bare.pyv").write_text(LOCK.replace("& !holds(C)", "& !holds(c)").replace("<-> C = c", "<-> holds(C) | C = c"))
    code, _, _ = run("induct", "bare.pyv", "--search-depth", "0", "--trace", "cti.itf.json", "--jobs", "1")
    assert code == 1
    _, output, _ = run("trace", "replay", "cti.itf.json", "bare.pyv")
    assert output.startswith("cti.itf.json: the counterexample to induction of 1 step replays")
    assert run("trace", "minimise", "cti.itf.json", "bare.pyv")[0] == 2


def test_the_catalogue_is_listed(run: Run) -> None:
    code, output, _ = run("explain")
    assert code == 0 and output.startswith("Q0001  unknown language\n")


# -- cost ----------------------------------------------------------------------------------------------------------------

PROBE = """
import sys
from quorate.apps.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
loaded = sorted({name.partition(".")[0] for name in sys.modules} & {"z3", "cvc5", "quorate"})
print(loaded, [name for name in sys.modules if name.startswith("quorate.") and "apps" not in name], file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["induct", "--help"], ["--version"], ["nonsense"]])
def test_help_loads_no_solver(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "['quorate'] ['quorate.isolation']"


def test_explaining_loads_no_solver() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, "explain", "Q0201"], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("['quorate']")


def test_help_is_quick() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = []
    for _ in range(3):
        subprocess.run([sys.executable, "-m", "quorate", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        before = after
    assert min(times) < 0.15
