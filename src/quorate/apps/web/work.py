"""What `quorate ui` has others do: a process that reads requests and writes answers, a line of JSON each.

The server starts one for every verification and one for every walk, and ends it when it takes too long: whatever a text leads to
happens here, and not in the server.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from quorate.apps.cli.reports import expected_verdict
from quorate.apps.web.page import file_document
from quorate.apps.web.stepping import RelationalStepper, open_stepper
from quorate.apps.web.traces import relational_trace
from quorate.engines.smt.session import Limits
from quorate.lang import parse_model
from quorate.lang.diagnostics import LanguageError
from quorate.models.forms import Model
from quorate.models.relational import RelationalModel
from quorate.models.source import Source
from quorate.proof.itf import TraceFormatError, from_itf, to_itf
from quorate.proof.traces import ReplayError, Trace, replay
from quorate.strategy import Event, Question, verify

Document = dict[str, Any]


def send(document: Document) -> None:
    """One answer."""
    print(json.dumps(document, ensure_ascii=False), flush=True)


def read_model(request: Document) -> Model:
    """The model of the text that a request brings."""
    return parse_model(Source(request["path"], request["text"])).model


def run_verify(request: Document) -> None:
    """Verify a text; events while it lasts, then everything that the page shows about it."""

    def see(event: Event) -> None:
        results = [{"property": result.property, "verdict": result.verdict} for result in event.results]
        send({"event": event.kind, "method": event.method, "text": event.text, "results": results})

    model = read_model(request)
    answer = verify(Question(model, request["seconds"], Limits(timeout=30.0)), tuple(request["methods"]), see)
    expected = [expected_verdict(model, "verify", result) for result in answer.results]
    send({"event": "answer", "file": file_document(model, answer, expected), "interrupted": answer.interrupted})


def read_run(model: Model, document: Any) -> tuple[Trace | None, str]:
    """A saved trace that replays; or why it does not count."""
    if not isinstance(model, RelationalModel):
        return None, "only traces of relational protocols can be opened"
    try:
        trace = from_itf(model, document)
        replay(model, trace)
    except TraceFormatError as problem:
        return None, f"this is no trace of this protocol: {problem}"
    except ReplayError as problem:
        return None, f"the trace does not replay: {problem}"
    return trace, ""


def run_trace(request: Document) -> None:
    """A saved trace, replayed, as the page shows it."""
    model = read_model(request)
    trace, problem = read_run(model, request["trace"])
    if trace is None or not isinstance(model, RelationalModel):
        send({"error": problem})
    else:
        send({"trace": relational_trace(model, trace)})


def run_walk(request: Document) -> None:
    """Answer questions about an instance until there are no more."""
    model = read_model(request)
    run: Trace | None = None
    if request["trace"] is not None:
        run, problem = read_run(model, request["trace"])
        if run is None:
            send({"error": problem})
            return
    stepper = open_stepper(model, request["sizes"], run)
    starts = stepper.starts()
    begun = stepper.follow(run) if run and isinstance(stepper, RelationalStepper) else {}
    send({"head": stepper.head(), "starts": starts, **begun})
    for line in sys.stdin:
        question = json.loads(line)
        if question["ask"] == "state":
            send({**stepper.look(question["state"]), **stepper.options(question["state"])})
        elif question["ask"] == "trace" and isinstance(stepper, RelationalStepper):
            trace = stepper.trace(question["path"], question["steps"])
            replay(stepper.model, trace)
            send({"itf": to_itf(stepper.model, trace), "trace": relational_trace(stepper.model, trace)})
        else:
            send({"error": "this cannot be answered"})


def main() -> None:
    """One piece of work, as the first line asks.

    It can be interrupted even if the server was started, like a job in the background, such that it cannot.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setrecursionlimit(20_000)
    request = json.loads(sys.stdin.readline())
    works = {"verify": run_verify, "walk": run_walk, "trace": run_trace}
    try:
        works[request["work"]](request)
    except LanguageError as problem:
        send({"error": f"{problem.diagnostics[0].message} (line {problem.diagnostics[0].span.line})"})
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except RecursionError:
        send({"error": "the text is nested too deeply"})
    except Exception as problem:
        send({"error": f"{type(problem).__name__}: {problem}"})


if __name__ == "__main__":
    main()
