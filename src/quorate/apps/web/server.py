"""`quorate ui`: the page, live.  A small server for one person on one machine.

It listens on the loopback address only.  Every request has to name this host and carry the token that was printed when the server
started; a request that another site makes is refused.  It reads and writes protocols of one folder, and reads the library;
texts are data: they are parsed here, and everything else happens in processes of their own (`work`).
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from quorate import __version__
from quorate.apps.cli.library import library_folder
from quorate.apps.cli.reports import diagnostic_json
from quorate.apps.web.page import SHARED, html, policy
from quorate.files import write_atomically
from quorate.isolation import command
from quorate.lang import detect, parse_model
from quorate.lang.diagnostics import Diagnostic, LanguageError
from quorate.models.source import Source
from quorate.strategy import methods_for

SUFFIXES = (".ivy", ".pyv", ".mercury", ".rounds")
MOST_BYTES, MOST_TEXT, MOST_FILES = 4_000_000, 500_000, 2_000
LONGEST_ANSWER = 20.0
"""How long a walk may take over one answer, in seconds."""
MOST_JOBS, MOST_WALKS = 16, 4

Document = dict[str, Any]


class Refused(Exception):
    """A request that is not granted, with the status that says so."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


# -- files -----------------------------------------------------------------------------------------------------------------


class Shelf:
    """The protocols of a folder, or of the library; nothing outside of them is read or written."""

    def __init__(self, folder: Path, library: Path | None) -> None:
        self.places = {"folder": folder.resolve()} | ({"library": library.resolve()} if library else {})

    def find(self, place: str, name: str) -> Path:
        """The file of a name, if it is one of those that may be seen: no way up, nothing hidden, no link that leads outside."""
        root = self.places.get(place)
        if root is None or not name or not name.isprintable():
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such file")
        if os.path.isabs(name) or "\\" in name or any(part.startswith(".") for part in name.split("/")):
            raise Refused(HTTPStatus.FORBIDDEN, "this file is not in the folder")
        path = (root / name).resolve()
        if not path.is_relative_to(root) or path == root:
            raise Refused(HTTPStatus.FORBIDDEN, "this file is not in the folder")
        if path.suffix not in SUFFIXES:
            raise Refused(HTTPStatus.FORBIDDEN, f"only protocols can be opened ({', '.join(SUFFIXES)})")
        return path

    def listing(self) -> Document:
        found: Document = {}
        for place, root in self.places.items():
            names = []
            for path in root.rglob("*"):
                hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
                if path.suffix in SUFFIXES and not hidden and path.resolve().is_relative_to(root) and path.is_file():
                    names.append(str(path.relative_to(root)))
                if len(names) >= MOST_FILES:
                    break
            found[place] = sorted(names)
        return found

    def read(self, place: str, name: str) -> Document:
        path = self.find(place, name)
        try:
            if not path.is_file():
                raise Refused(HTTPStatus.NOT_FOUND, "there is no such file")
            if path.stat().st_size > MOST_TEXT:
                raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "this file is too large for the page")
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Refused(HTTPStatus.NOT_FOUND, "this file cannot be read") from None
        return {"place": place, "name": name, "text": text}

    def write(self, name: str, text: str) -> Document:
        path = self.find("folder", name)
        try:
            if not path.parent.is_dir():
                raise Refused(HTTPStatus.NOT_FOUND, "there is no such folder")
            write_atomically(path, text)
        except OSError as problem:
            raise Refused(HTTPStatus.FORBIDDEN, f"cannot write: {problem.strerror}") from None
        return {"saved": name}


# -- work in other processes -----------------------------------------------------------------------------------------------


class Worker:
    """A process that does a piece of work and tells about it line by line."""

    def __init__(self, request: Document) -> None:
        self.process = subprocess.Popen(
            command("quorate.apps.web.work"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self.lines: list[Document] = []
        self.ended = False
        self.news = threading.Condition()
        self.ask(request)
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, request: Document) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise Refused(HTTPStatus.GONE, "this is over; start again") from None

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                document = json.loads(line)
            except ValueError:
                continue
            with self.news:
                if document.get("event") == "doing" and self.lines and self.lines[-1].get("event") == "doing":
                    self.lines[-1] = document
                else:
                    self.lines.append(document)
                self.news.notify_all()
        self.process.wait()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def wait_for(self, count: int, seconds: float) -> list[Document]:
        """All lines from that one on, as soon as there are some."""
        with self.news:
            self.news.wait_for(lambda: len(self.lines) > count or self.ended, seconds)
            return self.lines[count:]

    def answer(self, request: Document) -> Document:
        """The one line that answers a request."""
        count = len(self.lines)
        self.ask(request)
        found = self.wait_for(count, LONGEST_ANSWER)
        if not found:
            self.stop()
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, "this takes too long; take smaller sizes")
        return found[-1]

    def stop(self) -> None:
        """End it: first so that it can say what is established, then for good."""
        for number, patience in ((signal.SIGINT, 5.0), (signal.SIGKILL, 5.0)):
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):
                return
            with self.news:
                if self.news.wait_for(lambda: self.ended, patience):
                    return


class Workers:
    """The workers at work, by number; of those that are too many the oldest ends."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.known: OrderedDict[str, Worker] = OrderedDict()
        self.lock = threading.Lock()

    def add(self, worker: Worker) -> str:
        with self.lock:
            name = secrets.token_hex(8)
            self.known[name] = worker
            old = [self.known.popitem(last=False)[1] for _ in range(len(self.known) - self.most)]
        for item in old:
            item.stop()
        return name

    def get(self, name: Any) -> Worker:
        with self.lock:
            if not isinstance(name, str) or name not in self.known:
                raise Refused(HTTPStatus.NOT_FOUND, "this is over; start again")
            return self.known[name]

    def stop(self) -> None:
        with self.lock:
            found = list(self.known.values())
        for item in found:
            item.stop()


# -- what can be asked -----------------------------------------------------------------------------------------------------


class Desk:
    """Everything that the page can ask for."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.jobs, self.walks = Workers(MOST_JOBS), Workers(MOST_WALKS)
        self.asked: dict[str, Callable[[Document], Document]] = {
            "files": lambda request: self.shelf.listing(),
            "read": lambda request: self.shelf.read(_text(request, "place", 20), _text(request, "name", 500)),
            "write": lambda request: self.shelf.write(_text(request, "name", 500), _text(request, "text")),
            "parse": self.parse,
            "verify": self.verify,
            "news": self.news,
            "cancel": self.cancel,
            "walk": self.walk,
            "state": self.state,
            "share": self.share,
            "trace": self.trace,
        }

    def parse(self, request: Document) -> Document:
        """Diagnostics of a text, with offsets for underlining, and what can be done with it."""
        source = Source(_name(request), _text(request, "text"))
        try:
            loaded = parse_model(source)
        except LanguageError as problem:
            return {"language": detect(source), "diagnostics": [_diagnostic(item) for item in problem.diagnostics]}
        except RecursionError:
            whole = {
                "code": "Q0103",
                "severity": "error",
                "message": "this is nested too deeply",
                "line": 1,
                "column": 1,
            }
            return {"language": detect(source), "diagnostics": [{**whole, "start": 0, "end": 0}]}
        model = loaded.model
        sorts = [s.name for s in model.sorts if s.uninterpreted] if hasattr(model, "sorts") else []
        return {
            "language": detect(source),
            "diagnostics": [_diagnostic(item) for item in loaded.warnings],
            "methods": [{"name": method.name, "words": method.words} for method in methods_for(model)],
            "sorts": sorts or (["process"] if hasattr(model, "locations") else []),
            "safety": [item.name for item in model.safety],
        }

    def verify(self, request: Document) -> Document:
        methods = request.get("methods") or []
        if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
            raise Refused(HTTPStatus.BAD_REQUEST, "methods are a list of names")
        work = {"work": "verify", "path": _name(request), "text": _text(request, "text"), "methods": methods}
        return {"job": self.jobs.add(Worker({**work, "seconds": _number(request, "seconds", 1, 3600)}))}

    def news(self, request: Document) -> Document:
        """What has happened since the last question; waits a little if nothing has."""
        worker = self.jobs.get(request.get("job"))
        return {"news": worker.wait_for(_whole(request, "from"), 10.0), "ended": worker.ended}

    def cancel(self, request: Document) -> Document:
        self.jobs.get(request.get("job")).stop()
        return {"cancelled": True}

    def walk(self, request: Document) -> Document:
        sizes = request.get("sizes") or {}
        if not isinstance(sizes, dict) or not all(type(n) is int and 0 < n < 10 for n in sizes.values()):
            raise Refused(HTTPStatus.BAD_REQUEST, "sizes are numbers from 1 to 9")
        work = {"work": "walk", "path": _name(request), "text": _text(request, "text"), "sizes": sizes}
        worker = Worker({**work, "trace": request.get("trace")})
        found = worker.wait_for(0, LONGEST_ANSWER)
        if not found:
            worker.stop()
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, "this instance takes too long to build; take smaller sizes")
        return {**found[0], "walk": self.walks.add(worker)}

    def state(self, request: Document) -> Document:
        ask = {"ask": "state", "state": _whole(request, "state")}
        return self.walks.get(request.get("walk")).answer(ask)

    def share(self, request: Document) -> Document:
        """The steps of a walk as a trace that can be saved."""
        path, steps = request.get("path"), request.get("steps")
        for row in (path, steps):
            if not isinstance(row, list) or not all(type(n) is int and n >= 0 for n in row):
                raise Refused(HTTPStatus.BAD_REQUEST, "path and steps are lists of numbers")
        return self.walks.get(request.get("walk")).answer({"ask": "trace", "path": path, "steps": steps})

    def trace(self, request: Document) -> Document:
        if not isinstance(request.get("trace"), dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "a trace is an object")
        work = {"work": "trace", "path": _name(request), "text": _text(request, "text"), "trace": request["trace"]}
        worker = Worker(work)
        found = worker.wait_for(0, LONGEST_ANSWER)
        worker.stop()
        return found[0] if found else {"error": "reading the trace takes too long"}

    def close(self) -> None:
        self.jobs.stop()
        self.walks.stop()


def _text(request: Document, name: str, most: int = MOST_TEXT) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is missing")
    if len(value) > most:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{name} is too large")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is not text") from None
    return value


def _name(request: Document) -> str:
    """The name under which a text is read: only its ending matters."""
    return Path(_text(request, "name", 500).replace("\x00", "")).name


def _number(request: Document, name: str, least: int, most: int) -> Any:
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is a number from {least} to {most}")
    return value


def _whole(request: Document, name: str) -> int:
    return int(_number(request, name, 0, 10**9))


def _diagnostic(item: Diagnostic) -> Document:
    return {**diagnostic_json(item), "start": item.span.start, "end": item.span.end}


# -- the server ------------------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """One page, one folder, one token."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.desk = Desk(Shelf(folder, library_folder()))
        scripts = (*SHARED, "ui.js")
        self.page, self.policy = html({"version": __version__}, scripts, "Quorate", live=True), policy(scripts, True)
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def hosts(self) -> set[str]:
        return {f"{name}:{self.server_address[1]}" for name in ("127.0.0.1", "localhost")}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off concerns nobody."""

    def server_close(self) -> None:
        self.desk.close()
        super().server_close()


class Handler(BaseHTTPRequestHandler):
    """Grants or refuses one request."""

    server: Server
    server_version, sys_version = "quorate", ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        self._grant(self._page)

    def do_POST(self) -> None:
        self._grant(self._answer)

    def _grant(self, work: Callable[[], None]) -> None:
        try:
            self._check_origin()
            work()
        except Refused as refused:
            self.close_connection = True
            self._send(refused.status, json.dumps({"error": refused.reason}), "application/json")
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except Exception as problem:
            self.close_connection = True
            print(f"quorate ui: internal error: {type(problem).__name__}: {problem}", file=sys.stderr)
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, '{"error": "internal error"}', "application/json")

    def _check_origin(self) -> None:
        host = self.headers.get_all("Host", [])
        if len(host) != 1 or host[0] not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own address only")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in self.server.hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "requests from other sites are refused")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refused(HTTPStatus.FORBIDDEN, "requests from other sites are refused")

    def _check_token(self, token: str) -> None:
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(
                HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the address that `quorate ui` printed"
            )

    def _page(self) -> None:
        address = urlsplit(self.path)
        self._check_token(parse_qs(address.query).get("token", [""])[0])
        if address.path != "/":
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        self._send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8", self.server.policy)

    def _answer(self) -> None:
        self._check_token(self.headers.get("X-Quorate-Token", ""))
        question = self.server.desk.asked.get(urlsplit(self.path).path.removeprefix("/api/"))
        if question is None or not self.path.startswith("/api/"):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such question")
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "requests are JSON")
        lengths = self.headers.get_all("Content-Length", [])
        length = lengths[0] if len(lengths) == 1 and "Transfer-Encoding" not in self.headers else ""
        if not length.isascii() or not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the request does not say how long it is")
        if len(length) > 20 or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        try:
            request = json.loads(self.rfile.read(int(length)).decode("utf-8"))
        except (ValueError, RecursionError):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
        if not isinstance(request, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not an object")
        self._send(HTTPStatus.OK, json.dumps(question(request), ensure_ascii=False), "application/json")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What cannot even be read as a request is refused like the rest."""
        self.close_connection = True
        self._send(HTTPStatus(code), '{"error": "this is not a request of the page"}', "application/json")

    def _send(self, status: HTTPStatus, text: str, kind: str, policy: str = "default-src 'none'") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: their addresses carry the token."""


def serve(folder: Path, port: int, open_browser: bool) -> int:
    """Serve until interrupted."""
    sys.setrecursionlimit(20_000)
    try:
        server = Server(folder, port)
    except OSError as problem:
        print(f"quorate ui: cannot listen on port {port}: {problem.strerror}", file=sys.stderr)
        return 2
    print(f"quorate ui: {server.url}\nfolder: {folder.resolve()}\nCtrl-C ends it", flush=True)
    if open_browser:
        import webbrowser

        threading.Timer(0.3, webbrowser.open, (server.url,)).start()
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0
