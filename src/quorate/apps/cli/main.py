"""The command line: `quorate VERB FILE… [options]`.

This module only reads arguments, so that `quorate --help` costs next to nothing; the verbs live in `commands`, what they
print in `reports`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any, NoReturn, TextIO, cast

from quorate import __version__
from quorate.apps.cli.terminal import Visible, visible
from quorate.isolation import started_as_program

EPILOG = """\
exit codes: 0 every property has its expected verdict; 1 some property does not; 2 usage, parse, type or internal error;
3 inconclusive; 130 interrupted.  `quorate VERB --help` lists the options of a verb."""


class _Parser(argparse.ArgumentParser):
    """Options are written in full, and a mistake is told in one line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n`{self.prog} --help` lists what it understands\n")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="quorate",
        description="Proves distributed protocols correct for any number of nodes, or shows exactly how they break.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quorate {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    parse = verbs.add_parser("parse", help="syntax, types, and whether every query is decidable")
    _files(parse)
    parse.add_argument(
        "--to",
        choices=("ivy", "pyv", "mercury", "rounds", "json", "promela", "smt2"),
        help="print the protocol in another language",
    )
    parse.add_argument("--n", type=_positive, metavar="N", help="with --to promela or smt2: the number of processes")
    _rounds(parse)
    parse.add_argument(
        "--phases", action="store_true", help="of a Mercury program: its phases, and what does not fit them"
    )
    _output(parse)

    induct = verbs.add_parser("induct", help="are the safety property and the invariants in the file inductive?")
    _files(induct)
    induct.add_argument("--certificate", metavar="FILE", help="write a certificate if all safety properties are proved")
    induct.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    induct.add_argument(
        "--search-depth",
        type=_natural,
        default=12,
        metavar="K",
        help="steps to look for a real violation (default: 12)",
    )
    _output(induct)
    _limits(induct)

    infer = verbs.add_parser("infer", help="find an inductive invariant that proves the safety properties")
    _files(infer)
    infer.add_argument(
        "--time", type=_seconds, default=600.0, metavar="SECONDS", help="for the whole search, per file (default: 600)"
    )
    infer.add_argument(
        "--ignore-invariants",
        action="store_true",
        help="do without the invariants of the file, which are otherwise offers",
    )
    infer.add_argument("--write", metavar="FILE", help="write the protocol with the invariants that were found")
    infer.add_argument("--certificate", metavar="FILE", help="write a certificate if all safety properties are proved")
    infer.add_argument(
        "--resume", metavar="FILE", help="keep which languages were tried in vain, and go on with the others"
    )
    infer.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    _output(infer)
    _limits(infer, seed="random seed of the samples and the solvers")

    cutoff = verbs.add_parser("cutoff", help="find a small instance that stands for all sizes, prove it, and verify it")
    _files(cutoff)
    cutoff.add_argument(
        "--time", type=_seconds, default=60.0, metavar="SECONDS", help="for all of it, per file (default: 60)"
    )
    cutoff.add_argument("--certificate", metavar="FILE", help="write a certificate if all safety properties are proved")
    cutoff.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    _output(cutoff)
    _limits(cutoff, timeout=1.5)

    check = verbs.add_parser("check", help="search one finite instance exhaustively, or all runs of k steps")
    _files(check)
    check.add_argument(
        "--size", metavar="SORT=N,…", help="sizes of the sorts (default: 2 each; with --depth: all sizes)"
    )
    check.add_argument("--n", type=_positive, metavar="N", help="of a round-based algorithm: the number of processes")
    _rounds(check)
    check.add_argument("--depth", type=_natural, metavar="K", help="bounded model checking: look at runs of K steps")
    check.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    check.add_argument(
        "--no-queries", action="store_true", help="with --depth: leave out the file's own `sat trace` queries"
    )
    check.add_argument("--where", metavar="EXPR", help="restrict the rigid symbols of the instance by a formula")
    check.add_argument("--deadlock", action="store_true", help="also look for states that no transition leaves")
    check.add_argument("--liveness", action="store_true", help="look for fair runs that violate a liveness property")
    check.add_argument("--keep-going", action="store_true", help="search on after the first violation")
    check.add_argument("--no-symmetry", action="store_true", help="tell states apart that differ in names only")
    check.add_argument(
        "--engine",
        choices=("auto", "native", "reference", "gpu"),
        default="auto",
        help="native: compiled C; reference: plain Python; gpu: CUDA (default: native where there is a C compiler)",
    )
    check.add_argument("--checkpoint", metavar="DIR", help="save the search there now and then, and go on from it")
    check.add_argument(
        "--save-every", type=_seconds, default=30.0, metavar="S", help="seconds between two saves (default: 30)"
    )
    check.add_argument("--processes", type=_positive, metavar="N", help="of a Mercury program (default: 2)")
    _output(check)
    _limits(check, timeout=None)

    simulate = verbs.add_parser("simulate", help="random runs of one finite instance")
    _files(simulate)
    simulate.add_argument("--size", metavar="SORT=N,…", help="sizes of the sorts (default: 2 each)")
    simulate.add_argument("--where", metavar="EXPR", help="restrict the rigid symbols of the instance by a formula")
    simulate.add_argument("--runs", type=_positive, default=100_000, metavar="N", help="how many (default: 100000)")
    simulate.add_argument("--depth", type=_positive, default=50, metavar="K", help="longest run (default: 50 steps)")
    simulate.add_argument("--seed", type=_natural, default=0, metavar="N", help="random seed (default: 0)")
    simulate.add_argument("--timeout", type=_seconds, metavar="S", help="wall-clock seconds (default: no limit)")
    simulate.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    _output(simulate)

    live = verbs.add_parser("live", help="prove the liveness properties, or show a fair run that violates one")
    _files(live)
    live.add_argument(
        "--time", type=_seconds, default=600.0, metavar="SECONDS", help="for each property (default: 600)"
    )
    live.add_argument("--certificate", metavar="FILE", help="write a certificate of the properties that are proved")
    live.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    _output(live)
    _limits(live, seed="random seed of the samples and the solvers")

    verify = verbs.add_parser("verify", help="is it right?  chooses and races the methods; a line per property")
    verify.add_argument(
        "files", metavar="FILE", nargs="+", help="protocols, folders of them, or patterns like 'a/**/*.ivy'"
    )
    verify.add_argument("--lang", choices=("ivy", "pyv", "mercury"), help="the language (default: from the extension)")
    verify.add_argument(
        "--time", type=_seconds, default=120.0, metavar="SECONDS", help="for the answer, per file (default: 120)"
    )
    verify.add_argument(
        "--method",
        action="append",
        choices=(
            "bounded",
            "instances",
            "simulate",
            "induct",
            "cutoff",
            "infer",
            "live",
            "phases",
            "quorums",
            "heardof",
        ),
        help="use this method only; may be given several times (default: all that apply); heardof: single phases of a"
        " round-based algorithm with exactly N processes",
    )
    verify.add_argument(
        "--set", metavar="NAME=N,…", help="with --method heardof: values of the parameters (default: all)"
    )
    verify.add_argument("--explain", action="store_true", help="tell which methods ran, and how each of them fared")
    verify.add_argument("--certificate", metavar="FILE", help="write the certificate of what is proved")
    verify.add_argument("--trace", metavar="FILE", help="save the first counterexample as ITF (*.itf.json)")
    verify.add_argument("--report", metavar="FILE", help="write a page that opens offline in a browser (*.html)")
    verify.add_argument("--resume", metavar="FILE", help="keep what is settled there, and go on from it")
    verify.add_argument(
        "--n",
        type=_positive,
        default=5,
        metavar="N",
        help="of a round-based algorithm: look for violations with up to N processes (default: 5)",
    )
    verify.add_argument(
        "--progress",
        choices=("auto", "live", "lines", "events", "none"),
        default="auto",
        help="on standard error; events: a line of JSON each (default: live on a terminal, lines in CI)",
    )
    _output(verify)
    _limits(verify)

    recheck = verbs.add_parser("recheck", help="re-establish a certificate with the independent checker, both solvers")
    recheck.add_argument("certificate", metavar="CERTIFICATE")
    recheck.add_argument("protocol", metavar="FILE", nargs="?", help="the protocol (default: beside the certificate)")
    recheck.add_argument("--proofs", metavar="DIR", help="store cvc5's proof of every obligation in this folder")
    _output(recheck, ("text", "json"))
    _limits(recheck)

    trace = verbs.add_parser(
        "trace", help="show, replay, minimise, evaluate an expression over, or convert a saved trace"
    )
    trace.add_argument("action", choices=("show", "replay", "minimise", "eval", "sequence"))
    trace.add_argument("trace", metavar="TRACE", help="an ITF file (*.itf.json)")
    trace.add_argument("protocol", metavar="FILE", help="the protocol it belongs to")
    trace.add_argument("expression", metavar="EXPR", nargs="?", help="with `eval`: a formula or term over a state")
    trace.add_argument("--lane", metavar="SORT", help="with `sequence`: the sort that stands for nodes")
    trace.add_argument("--output", metavar="FILE", help="with `minimise`: where to save the result")

    ui = verbs.add_parser("ui", help="the same in a browser: edit, verify, step by hand")
    ui.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="the protocols to work on (default: here)")
    ui.add_argument("--port", type=_natural, default=0, metavar="N", help="(default: any that is free)")
    ui.add_argument("--no-browser", action="store_true", help="only print the address")

    new = verbs.add_parser("new", help="write a starter protocol")
    new.add_argument("name", metavar="NAME", help="the file to write, like lock.pyv")
    new.add_argument(
        "--family", choices=("ivy", "pyv", "mercury", "rounds"), help="its language (default: by the name, else pyv)"
    )

    library = verbs.add_parser("library", help="the protocols that come with Quorate")
    library.add_argument("words", metavar="WORD", nargs="*", help="only those with these words in their names")
    library.add_argument("--show", action="store_true", help="print the one that matches")
    library.add_argument("--copy", metavar="FILE", help="copy the one that matches to a file or folder")

    explain = verbs.add_parser("explain", help="what a diagnostic code means")
    explain.add_argument("code", metavar="CODE", nargs="?", help="like Q0201 (default: list all of them)")
    return parser


def _rounds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", metavar="NAME=N,…", help="of a round-based algorithm: values of its parameters")
    parser.add_argument(
        "--faults", type=_natural, metavar="F", help="of a round-based algorithm: how many faults at most"
    )


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a protocol (.ivy, .pyv, .mercury, .rounds)")
    parser.add_argument(
        "--lang", choices=("ivy", "pyv", "mercury"), help="the language (default: from the extension or first line)"
    )


def _output(
    parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json", "junit", "sarif", "github")
) -> None:
    parser.add_argument("--output-format", choices=formats, default="text", help="how to report (default: text)")
    parser.add_argument(
        "--json", action="store_const", const="json", dest="output_format", help="short for --output-format json"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _limits(
    parser: argparse.ArgumentParser, timeout: float | None = 60.0, seed: str = "random seed of the solvers"
) -> None:
    usual = f"{timeout:g}" if timeout else "60; an exhaustive search has no limit"
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=timeout,
        metavar="S",
        help=f"wall-clock seconds per query (default: {usual})",
    )
    parser.add_argument(
        "--memory", type=_positive, default=4096, metavar="MB", help="memory per process (default: 4096)"
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at once (default: all cores)",
    )
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help=f"{seed} (default: 0)")
    parser.add_argument("--dump-smt", metavar="DIR", help="write every query as an SMT-LIB file into this folder")


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return int(text)


def _positive(text: str) -> int:
    if _natural(text) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = build_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.prog += f" {arguments.verb}"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    sys.setrecursionlimit(20_000)
    if started_as_program():
        _show_warnings_in_a_line()
    try:
        from quorate.apps.cli import commands

        with redirect_stdout(cast(TextIO, Visible(sys.stdout))):
            return commands.run(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as problem:
        if os.environ.get("QUORATE_DEBUG"):
            raise
        print(visible(_bug_report(problem)), file=sys.stderr)
        return 2


def _show_warnings_in_a_line() -> None:
    import warnings

    warnings.formatwarning = lambda message, *others: f"warning: {message}\n"


def _bug_report(problem: Exception) -> str:
    import platform

    return (
        f"internal error: {type(problem).__name__}: {problem}\n"
        f"  This is a bug in Quorate. Please report it with the protocol and this line:\n"
        f"  quorate {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"  Set QUORATE_DEBUG=1 to see where it happened."
    )


if __name__ == "__main__":
    raise SystemExit(main())
