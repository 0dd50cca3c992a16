"""The server grants what its page asks for and refuses everything else."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorate.apps.web.server import MOST_BYTES, MOST_TEXT, Server
from quorate.files import write_atomically

LOCK = """
sort node
mutable relation held(node)
init !held(N)
transition take(n: node)
  modifies held
  & (forall N. !held(N))
  & (forall N. new(held(N)) <-> N = n)
safety [mutex] held(N) & held(M) -> N = M
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "lock.pyv").write_text(LOCK)
    (tmp_path / "work" / "notes.txt").write_text("not a protocol")
    (tmp_path / "secret.pyv").write_text("# secret")
    (tmp_path / "work" / "link.pyv").symlink_to(tmp_path / "secret.pyv")
    return tmp_path / "work"


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def send(
    server: Server, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request(method, path, body, headers or {})
    reply = connection.getresponse()
    found = reply.status, reply.read(), dict(reply.getheaders())
    connection.close()
    return found


def ask(server: Server, what: str, request: Any, **headers: str) -> tuple[int, Any]:
    sent = {"Content-Type": "application/json", "X-Quorate-Token": server.token}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    status, body, _ = send(server, "POST", f"/api/{what}", json.dumps(request).encode(), sent)
    return status, json.loads(body)


def test_the_page_needs_the_token(server: Server) -> None:
    status, body, headers = send(server, "GET", f"/?token={server.token}")
    assert status == 200 and b"<!doctype html>" in body
    assert headers["X-Frame-Options"] == "DENY" and headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    policy = headers["Content-Security-Policy"].removesuffix("; frame-ancestors 'none'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and policy.encode() in body
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert not any(name.lower().startswith("access-control") for name in headers)
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={server.token[:-1]}"):
        assert send(server, "GET", path)[0] == 403
    assert send(server, "GET", f"/etc/passwd?token={server.token}")[0] == 404


def test_questions_need_the_token(server: Server) -> None:
    assert ask(server, "files", {})[0] == 200
    assert ask(server, "files", {}, X_Quorate_Token="")[0] == 403
    assert ask(server, "files", {}, X_Quorate_Token="x" * 40)[0] == 403
    assert ask(server, "files", {}, X_Quorate_Token="é")[0] == 403


def test_other_origins_and_hosts_are_refused(server: Server) -> None:
    port = server.server_address[1]
    assert ask(server, "files", {}, Origin=f"http://127.0.0.1:{port}")[0] == 200
    for origin in ("http://evil.example", "null", "https://127.0.0.1", f"http://127.0.0.1:{port + 1}"):
        assert ask(server, "files", {}, Origin=origin)[0] == 403
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
        assert ask(server, "files", {}, Host=host)[0] == 403
        assert send(server, "GET", f"/?token={server.token}", headers={"Host": host})[0] == 403
    for site in ("cross-site", "same-site"):
        assert ask(server, "files", {}, Sec_Fetch_Site=site)[0] == 403


def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_only_protocols_of_the_folder_are_seen(server: Server, folder: Path) -> None:
    status, found = ask(server, "files", {})
    assert status == 200 and found["folder"] == ["lock.pyv"]
    assert "relational/paxos.pyv" in found["library"]
    assert ask(server, "read", {"place": "folder", "name": "lock.pyv"})[1]["text"] == LOCK
    bad = ["../secret.pyv", "link.pyv", str(folder.parent / "secret.pyv"), "notes.txt", "", ".", "..", "a\x00.pyv"]
    os.mkfifo(folder / "pipe.pyv")
    (folder / "folder.pyv").mkdir()
    bad += [
        "pipe.pyv",
        "folder.pyv",
        ".git/a.pyv",
        "a/../lock.pyv",
        "C:\\lock.pyv",
        "a\ud800.pyv",
        "a\n.pyv",
        "x" * 400 + ".pyv",
    ]
    for name in (*bad, "../work/../secret.pyv", "%2e%2e/secret.pyv", "..\\secret.pyv", "missing.pyv"):
        status, answer = ask(server, "read", {"place": "folder", "name": name})
        assert status in (400, 403, 404), name
        assert "secret" not in json.dumps(answer)
    assert ask(server, "read", {"place": "/etc", "name": "passwd"})[0] == 404
    assert ask(server, "read", {"place": "library", "name": "../README.md"})[0] == 403


def test_only_protocols_of_the_folder_are_written(server: Server, folder: Path) -> None:
    assert ask(server, "write", {"name": "new.pyv", "text": "sort node\n"})[0] == 200
    assert (folder / "new.pyv").read_text() == "sort node\n"
    for name in ("../secret.pyv", "link.pyv", "evil.py", "evil.html", ".bashrc", "no/such/folder.pyv", "/tmp/evil.pyv"):
        assert ask(server, "write", {"name": name, "text": "x"})[0] in (403, 404), name
    assert (folder.parent / "secret.pyv").read_text() == "# secret"
    assert ask(server, "write", {"name": "new.pyv"})[0] == 400
    assert ask(server, "write", {"name": "new.pyv", "text": "x" * (MOST_TEXT + 1)})[0] == 413


def test_huge_and_malformed_requests_are_refused(server: Server) -> None:
    token = {"X-Quorate-Token": server.token}
    kind = {**token, "Content-Type": "application/json"}
    assert send(server, "POST", "/api/files", b"{}", {**token, "Content-Type": "text/plain"})[0] == 415
    assert send(server, "POST", "/api/files", b"{", kind)[0] == 400
    assert send(server, "POST", "/api/files", b"[1]", kind)[0] == 400
    assert send(server, "POST", "/api/files", b"\xff\xfe", kind)[0] == 400
    assert send(server, "POST", "/api/files", b"[" * 100_000, kind)[0] == 400
    assert send(server, "POST", "/api/nothing", b"{}", kind)[0] == 404
    assert send(server, "POST", "/api/files", None, {**kind, "Content-Length": str(MOST_BYTES + 1)})[0] == 413
    assert send(server, "POST", "/api/files", None, {**kind, "Content-Length": "9" * 5000})[0] == 413
    assert send(server, "POST", "/api/files", b"{}", {**kind, "Transfer-Encoding": "chunked"})[0] == 411
    for method in ("PUT", "HEAD", "OPTIONS", "DELETE", "TRACE"):
        status, body, headers = send(server, method, "/api/files", b"{}", kind)
        assert status == 501 and headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["Content-Type"] == "application/json" and (
            b"Traceback" not in body and method.encode() not in body
        )
    assert ask(server, "news", {"job": "no", "from": 0})[0] == 404
    assert ask(server, "parse", {"name": "a.pyv", "text": "\ud800"})[0] == 400
    assert ask(server, "walk", {"name": "a.pyv", "text": LOCK, "sizes": {"node": 10**9}})[0] == 400


def test_a_request_with_two_hosts_is_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as connection:
        host = f"127.0.0.1:{server.server_address[1]}"
        lines = [f"GET /?token={server.token} HTTP/1.1", f"Host: {host}", "Host: evil.example", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 403")


def test_what_goes_wrong_inside_stays_inside(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(request: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("a secret path")

    server.desk.asked["files"] = fail
    assert ask(server, "files", {}) == (500, {"error": "internal error"})
    assert capsys.readouterr().err == "quorate ui: internal error: ZeroDivisionError: a secret path\n"


def test_links_beside_a_file_lead_nowhere(folder: Path) -> None:
    """A file is written beside its target first; nobody can lay a link there that is followed."""
    victim = folder.parent / "victim"
    for name in (".new.pyv.part", f".new.pyv.{os.getpid()}.part"):
        (folder / name).symlink_to(victim)
    (folder / "new.pyv").symlink_to(victim)
    write_atomically(folder / "new.pyv", "sort node\n")
    assert not victim.exists() and not (folder / "new.pyv").is_symlink()


def test_texts_are_parsed_and_never_more(server: Server) -> None:
    status, found = ask(server, "parse", {"name": "a.pyv", "text": LOCK})
    assert status == 200 and found["diagnostics"] == [] and found["sorts"] == ["node"]
    status, found = ask(server, "parse", {"name": "a.pyv", "text": LOCK.replace("held(node)", "held(nude)")})
    assert status == 200 and found["diagnostics"][0]["line"] == 3 and "methods" not in found
    deep = "axiom " + "(" * 50_000 + "true" + ")" * 50_000
    for text in (deep, "\x00" * 1000, "}{" * 1000, "<script>alert(1)</script>", "import os", "𝕏" * 1000):
        for name in ("a.pyv", "a.ivy", "a.mercury", "a.rounds", "a"):
            status, found = ask(server, "parse", {"name": name, "text": text})
            assert status == 200 and found["diagnostics"], (name, text[:20])


def follow(server: Server, job: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while True:
        status, found = ask(server, "news", {"job": job, "from": len(events)})
        assert status == 200
        events += found["news"]
        if found["ended"]:
            return events


def test_a_verification_from_beginning_to_end(server: Server) -> None:
    status, found = ask(server, "verify", {"name": "a.pyv", "text": LOCK, "seconds": 60})
    assert status == 200
    answer = follow(server, found["job"])[-1]
    assert answer["event"] == "answer" and not answer["interrupted"]
    assert [(r["property"], r["verdict"]) for r in answer["file"]["results"]] == [("mutex", "proved")]


def test_a_verification_is_cancelled(server: Server) -> None:
    text = (Path(__file__).parents[3] / "protocols" / "relational" / "vertical_paxos.ivy").read_text()
    _, found = ask(server, "verify", {"name": "a.ivy", "text": text, "seconds": 600, "methods": ["infer"]})
    while not ask(server, "news", {"job": found["job"], "from": 0})[1]["news"]:
        pass
    assert ask(server, "cancel", {"job": found["job"]}) == (200, {"cancelled": True})
    answer = follow(server, found["job"])[-1]
    assert answer["interrupted"] and answer["file"]["results"][0]["verdict"] == "unknown"


def test_a_walk(server: Server) -> None:
    status, begun = ask(server, "walk", {"name": "a.pyv", "text": LOCK, "sizes": {"node": 2}})
    assert status == 200 and len(begun["starts"]) == 1
    walk, start = begun["walk"], begun["starts"][0]
    _, first = ask(server, "state", {"walk": walk, "state": start})
    assert [step["label"] for step in first["enabled"]] == ["take(n = node0)", "take(n = node1)"]
    assert first["blocked"] == [] and first["violated"] == [] and first["table"] == {"held": []}
    _, second = ask(server, "state", {"walk": walk, "state": first["enabled"][1]["to"]})
    assert second["table"] == {"held": [["node1"]]} and second["enabled"] == []
    assert second["blocked"] == [
        {"name": "take", "line": 5, "closest": "n = node0", "failing": ["forall N:node. !held(N)"]}
    ]
    path = [start, first["enabled"][1]["to"]]
    status, shared = ask(server, "share", {"walk": walk, "path": path, "steps": [1]})
    assert status == 200 and shared["itf"]["states"][1]["held"] == {"#set": [{"#tup": ["node1"]}]}
    request = {"name": "a.pyv", "text": LOCK, "trace": shared["itf"]}
    assert ask(server, "trace", request)[1]["trace"]["steps"][0]["label"] == "take(n = node1)"
    shared["itf"]["states"][1]["held"] = {"#set": [{"#tup": ["node0"]}]}
    assert "does not replay" in ask(server, "trace", request)[1]["error"]
    assert ask(server, "trace", {**request, "trace": {"#meta": 1}})[1]["error"].startswith("this is no trace")


def test_a_walk_through_a_mercury_program(server: Server) -> None:
    text = (Path(__file__).parents[3] / "protocols" / "mercury" / "lock_service.mercury").read_text()
    _, begun = ask(server, "walk", {"name": "a.mercury", "text": text, "sizes": {"process": 2}})
    _, first = ask(server, "state", {"walk": begun["walk"], "state": begun["starts"][0]})
    assert "elect: P0 wins, P1 loses" in [step["label"] for step in first["enabled"]]
    assert first["table"]["at"] == [["P0", "Candidate"], ["P1", "Candidate"]]
