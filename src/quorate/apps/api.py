"""Quorate from Python and in notebooks: `load`, `verify`, and results that show themselves.

    protocol = quorate.load("relational/paxos.pyv")   # a file, or an entry of the library
    answer = protocol.verify()
    answer.verdict                                    # "proved"
    answer["agreement"].certificate.save("paxos.cert.json")

In a notebook the last line of a cell shows a table or the whole report; elsewhere `print` gives what the command line prints.
"""

from __future__ import annotations

import html as markup
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.apps.cli import reports
from quorate.apps.cli.library import library_folder
from quorate.apps.cli.reports import FileReport
from quorate.apps.cli.verifying import evidence
from quorate.apps.web.page import file_document, html
from quorate.engines.smt.session import Limits
from quorate.files import write_atomically
from quorate.lang import Loaded, LoadedProcess, LoadedRounds, load_model, parse_model
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.forms import Model
from quorate.models.source import Source
from quorate.proof.verdicts import Result, Verdict, worst
from quorate.strategy import Answer, Lemma, Proof, Question, lively, methods_for
from quorate.strategy import verify as decide

COLOURS: dict[str, str] = {"proved": "#14804a", "violated": "#c02b3c", "not-inductive": "#96650a", "unknown": "#96650a"}


class ProtocolError(Exception):
    """The text cannot be read; the message shows where, and what to do."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n\n".join(item.render() for item in diagnostics))
        self.diagnostics = tuple(diagnostics)


@dataclass(frozen=True)
class Protocol:
    """A protocol of any family."""

    model: Model
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def path(self) -> str:
        assert self.model.source is not None
        return self.model.source.path

    @property
    def text(self) -> str:
        assert self.model.source is not None
        return self.model.source.text

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of the properties, those of safety first."""
        return tuple(item.name for item in (*self.model.safety, *lively(self.model)))

    @property
    def methods(self) -> dict[str, str]:
        """The methods that apply, and what each does."""
        return {method.name: method.words for method in methods_for(self.model)}

    def verify(self, seconds: float = 120.0, methods: Sequence[str] = (), jobs: int = 2, seed: int = 0) -> Verification:
        """Is it right?  Chooses and races the methods, or uses those that are named."""
        unknown = [name for name in methods if name not in self.methods]
        if unknown:
            raise ValueError(
                f"there is no method {unknown[0]!r} for this protocol; there are {', '.join(self.methods)}"
            )
        question = Question(self.model, seconds, Limits(jobs=jobs, seed=seed))
        return Verification(self, decide(question, methods))

    def __repr__(self) -> str:
        return f"<Protocol {self.path}: {', '.join(self.properties) or 'no property'}>"

    def _repr_html_(self) -> str:
        names = ", ".join(f"<code>{markup.escape(name)}</code>" for name in self.properties)
        return f"<b>{markup.escape(self.path)}</b>: {names or 'no property'}"


@dataclass(frozen=True)
class PropertyAnswer:
    """The answer about one property."""

    result: Result
    certificate: CertificateView | None
    model: Model

    @property
    def verdict(self) -> Verdict:
        return self.result.verdict

    @property
    def reason(self) -> str:
        return self.result.reason

    @property
    def trace(self) -> Any:
        """The run, or the counterexample to induction, behind the verdict."""
        return self.result.evidence or self.result.rounds

    def __repr__(self) -> str:
        return f"<{self.result.property}: {self.verdict}>"

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.result.property}: {self.verdict} ({self.reason})", *evidence(self.model, [self.result])]
        )


@dataclass(frozen=True)
class CertificateView:
    """A certificate that the independent checker has accepted."""

    proof: Proof
    model: Model

    def save(self, path: str | Path) -> None:
        """Write it to a file; `quorate recheck` re-establishes it."""
        write_atomically(path, json.dumps(self.proof.document(self.model), indent=1) + "\n")

    def __repr__(self) -> str:
        names, count = ", ".join(self.proof.properties), self.proof.obligations
        return f"<certificate for {names}: {count} obligations, two solvers>"


@dataclass(frozen=True)
class Verification:
    """The answer about a protocol: one for each property."""

    protocol: Protocol
    answer: Answer

    @property
    def verdict(self) -> Verdict:
        """The gravest of all."""
        return worst([result.verdict for result in self.answer.results])

    @property
    def expected(self) -> tuple[Verdict, ...]:
        return tuple(reports.expected_verdict(self.protocol.model, "verify", result) for result in self.answer.results)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the verdicts say less than they seem to, in words."""
        return tuple(remark.text for remark in self.answer.remarks)

    @property
    def as_expected(self) -> bool:
        """Has every property the verdict that the file expects?"""
        return all(reports.fits(r.verdict, e) for r, e in zip(self.answer.results, self.expected, strict=True))

    @property
    def invariants(self) -> tuple[Lemma, ...]:
        """The invariants of the proofs, as the protocol's language writes them."""
        return tuple(lemma for proof in self.answer.proofs for lemma in proof.lemmas)

    def __getitem__(self, name: str) -> PropertyAnswer:
        for item in self:
            if item.result.property == name:
                return item
        raise KeyError(name)

    def __iter__(self) -> Iterator[PropertyAnswer]:
        for result in self.answer.results:
            proof = next((p for p in self.answer.proofs if result.property in p.properties), None)
            proved = proof is not None and result.verdict == "proved"
            view = CertificateView(proof, self.protocol.model) if proof and proved else None
            yield PropertyAnswer(result, view, self.protocol.model)

    def report(self, path: str | Path | None = None) -> Page:
        """The page with traces, invariants and certificates; also written to a file if one is named."""
        document = file_document(self.protocol.model, self.answer, self.expected)
        page = Page(html({"version": reports.tool()["version"], "files": [document]}))
        if path is not None:
            write_atomically(path, page.text)
        return page

    def __repr__(self) -> str:
        return f"<Verification of {self.protocol.path}: {self.verdict}>"

    def __str__(self) -> str:
        source = self.protocol.model.source
        assert source is not None
        report = FileReport(source.path, source.sha256, self.answer.results, self.expected, remarks=self.answer.remarks)
        return "\n".join(reports.file_rows(report, True))

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{COLOURS[r.verdict]};font-weight:600">{r.verdict}</td>'
            f"<td><code>{markup.escape(r.property)}</code></td><td>{markup.escape(r.method)}</td>"
            f"<td>{markup.escape(r.scope)}</td><td>{markup.escape(r.reason)}</td><td>{r.seconds:.1f} s</td></tr>"
            for r in self.answer.results
        )
        lemmas = "".join(
            f"<li><code>{markup.escape(lemma.name)}</code> <code>{markup.escape(lemma.formula)}</code></li>"
            for proof in self.answer.proofs
            if proof.found
            for lemma in proof.lemmas
        )
        warnings = "".join(f"<p>! {markup.escape(text)}</p>" for text in self.warnings)
        return f"<table>{rows}</table>{warnings}" + (f"<p>with the invariants</p><ul>{lemmas}</ul>" if lemmas else "")


@dataclass(frozen=True)
class Page:
    """A self-contained page; in a notebook it shows itself in a frame that can reach nothing outside."""

    text: str

    def _repr_html_(self) -> str:
        inner = markup.escape(self.text, quote=True)
        return f'<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" srcdoc="{inner}"></iframe>'

    def __repr__(self) -> str:
        return f"<Page of {len(self.text):,} characters>"


def load(path: str | Path) -> Protocol:
    """The protocol in a file, of whatever family; or, by its name, one of the library."""
    folder = library_folder()
    if not Path(path).exists() and folder is not None and (folder / path).is_file():
        path = folder / path
    return _read(lambda: load_model(path))


def parse(text: str, name: str = "protocol.pyv") -> Protocol:
    """The protocol in a text."""
    return _read(lambda: parse_model(Source(name, text)))


def _read(read: Any) -> Protocol:
    try:
        loaded: Loaded | LoadedProcess | LoadedRounds = read()
    except LanguageError as problem:
        raise ProtocolError(problem.diagnostics) from None
    return Protocol(loaded.model, loaded.warnings)
