"""Hostile code in every place that something could be loaded from; none of it may ever run."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorate import isolation
from quorate.apps.cli.main import main
from quorate.apps.web.server import Server
from quorate.engines.explicit.compile import find_compiler
from quorate.engines.explicit.emit import fill
from quorate.engines.explicit.instance import Instance
from quorate.engines.smt.smtlib import Vocabulary
from quorate.lang import parse
from quorate.logic.terms import BOOL, Sort, Symbol, Var, forall
from quorate.models.source import Source

LOCK = """
sort node
mutable relation held(node)
mutable relation free()
init forall N. !held(N)
init free
transition take(n: node)
  modifies held, free
  & free
  & !new(free)
  & (forall N. new(held(N)) <-> held(N) | N = n)
transition give(n: node)
  modifies held, free
  & held(n)
  & new(free)
  & (forall N. new(held(N)) <-> held(N) & N != n)
safety [mutex] held(N) & held(M) -> N = M
"""
BROKEN = LOCK.replace("& !new(free)", "& (new(free) <-> free)")
PACKAGES = (
    "z3",
    "cvc5",
    "numpy",
    "pysat",
    "cupy",
    "ziglang",
    "hypothesis",
    "sitecustomize",
    "usercustomize",
    "conftest",
)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """A file that hostile code makes."""
    path = tmp_path / "mark"
    yield path
    assert not path.exists(), f"hostile code was run: {path.read_text()}"


@pytest.fixture
def folder(tmp_path: Path, mark: Path) -> Path:
    """Protocols in a folder with a hostile module of every name that anybody could import."""
    made = tmp_path / "work"
    for place in (made, made / "protocols"):
        place.mkdir()
        (place / "lock.pyv").write_text(LOCK)
        (place / "broken.pyv").write_text(BROKEN)
        plant(place, mark)
    return made


def plant(place: Path, mark: Path) -> None:
    for name in (*sys.stdlib_module_names, *PACKAGES):
        (place / f"{name}.py").write_text(hostile(mark, name))
    (place / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")
    for name in ("cc", "gcc", "clang", "as", "ld", "collect2", "cc1", "xdg-open"):
        (place / name).write_text(f"#!/bin/sh\necho {name} >> '{mark}'\nexit 1\n")
        (place / name).chmod(0o755)
    for name in ("stdint.h", "stdlib.h", "stdio.h", "pthread.h"):
        (place / name).write_text("#error hostile\n")


def hostile(mark: Path, name: str) -> str:
    return f"with open({str(mark)!r}, 'a') as file:\n    file.write({name + ' '!r})\nraise ImportError({name!r})\n"


def environment(tmp_path: Path, path: str = "") -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{path}:{os.environ['PATH']}"}


def script(tmp_path: Path) -> list[str]:
    """What pip makes of an entry point."""
    path = tmp_path / "bin" / "quorate"
    path.parent.mkdir(exist_ok=True)
    path.write_text("import sys\nfrom quorate.apps.cli.main import main\nsys.exit(main())\n")
    return [sys.executable, str(path)]


def run(start: list[str], arguments: list[str], folder: Path, tmp_path: Path, path: str = "") -> str:
    found = subprocess.run(
        [*start, *arguments], cwd=folder, env=environment(tmp_path, path), capture_output=True, text=True, timeout=300
    )
    assert found.returncode in (0, 1) and "Traceback" not in found.stderr and "warning" not in found.stderr, found
    return found.stdout


def test_every_verb_in_a_hostile_folder(folder: Path, tmp_path: Path) -> None:
    start = script(tmp_path)

    def quorate(*arguments: str) -> str:
        return run(start, list(arguments), folder, tmp_path, path=".")

    assert "proved" in quorate("verify", "lock.pyv", "--certificate", "lock.json", "--resume", "resume.json")
    assert "accepted" in quorate("recheck", "lock.json")
    assert "proved" in quorate("verify", "lock.pyv", "--resume", "resume.json")
    assert "mutex" in quorate("check", "lock.pyv", "--size", "node=3", "--engine", "native")
    assert "mutex" in quorate("infer", "protocols/lock.pyv")
    assert "violated" in quorate("check", "broken.pyv", "--size", "node=2", "--trace", "run.itf.json")
    assert "take" in quorate("trace", "show", "run.itf.json", "broken.pyv")
    assert "node" in quorate("parse", "lock.pyv")


def test_started_with_m(folder: Path, tmp_path: Path) -> None:
    """What Python itself imports from the current folder then, nobody can prevent; all the rest comes from elsewhere."""
    text = "import sys, runpy; print(*{name.partition('.')[0] for name in sys.modules})"
    own = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, check=True).stdout.split()
    for name in own:
        (folder / f"{name}.py").unlink(missing_ok=True)
    start = [sys.executable, "-m", "quorate"]
    assert "proved" in run(start, ["verify", "lock.pyv"], folder, tmp_path, path=".")


def test_the_installed_program_beside_a_package_of_the_same_name(folder: Path, tmp_path: Path, mark: Path) -> None:
    (folder / "quorate").mkdir()
    (folder / "quorate" / "__init__.py").write_text(hostile(mark, "quorate"))
    assert "proved" in run(script(tmp_path), ["verify", "lock.pyv"], folder, tmp_path, path=str(folder))


def test_the_current_folder_is_forgotten_wherever_it_came_from(
    folder: Path, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python itself has looked there for what starts it, before anybody can forget it: only later imports are at stake."""
    for name in sys.stdlib_module_names:
        if name not in ("json", "decimal", "fractions", "uuid", "bisect"):
            (folder / f"{name}.py").unlink()
    (folder / "sitecustomize.py").unlink()
    (folder / "usercustomize.py").unlink()
    for entry in (".", "", str(folder)):
        monkeypatch.setenv("PYTHONPATH", entry + os.pathsep)
        assert "mutex" in run(script(tmp_path), ["check", "lock.pyv", "--size", "node=1"], folder, tmp_path)


# -- texts are data ----------------------------------------------------------------------------------------------------------


def test_no_name_of_a_protocol_is_in_generated_text() -> None:
    text = LOCK
    for name in ("node", "held", "free", "take", "give", "mutex", "n"):
        text = re.sub(rf"\b{name}\b", f"evil_{name}", text)
    model = parse(Source("evil.pyv", text)).model
    emitted = fill("search.c", Instance(model, dict.fromkeys(model.sorts, 2)).system)
    assert "evil" not in emitted and "mutex" not in emitted


def test_names_cannot_leave_their_place_in_smt_lib() -> None:
    vocabulary = Vocabulary()
    for name in ("x) (exit) (", "|", "a\nb", '"', ";", "$x", "é", "\\"):
        sort = Sort(name)
        variable = Var(name, sort)
        written = vocabulary.text(forall([variable], Symbol(name, (sort,), BOOL)(variable)))
        assert re.fullmatch(r"\(forall \(\(\S+ \S+\)\) \(\S+ \S+\)\)", written)
    for line in vocabulary.declarations:
        assert re.fullmatch(r"\(declare-\w+ [$A-Za-z0-9_~.!]+ [^|\";]*\)", line)


@pytest.mark.parametrize("text", ["__import__('os').system('{}')", "$({})", "`{}`", "';{};'", '");system("{}");("'])
def test_texts_are_never_run(text: str, folder: Path, tmp_path: Path, mark: Path, capsys: Any) -> None:
    evil = text.format(f"touch {mark}")
    (folder / f"{evil.replace('/', '_')}.pyv").write_text(LOCK)
    names = [f"{evil.replace('/', '_')}.pyv"]
    for suffix in ("ivy", "pyv", "mercury", "rounds"):
        for number, line in enumerate((evil, f"sort {evil}", f"#lang {evil}", f"protocol {evil}\nmachine {evil}")):
            names.append(f"evil{number}.{suffix}")
            (folder / names[-1]).write_text(f"{line}\n{LOCK if suffix == 'pyv' else ''}")
    for name in names:
        main(["parse", str(folder / name)])
    main(["check", str(folder / names[0]), "--size", "node=1", "--engine", "native"])
    for name, document in {
        "a.json": {"format": evil, "protocol": evil, "sha256": evil},
        "b.json": {"format": "quorate-certificate", "protocol": "lock.pyv", "safety": [evil], "invariants": evil},
        "c.json": {"format": "quorate-liveness-certificate", "protocol": "lock.pyv", "properties": [evil]},
    }.items():
        (folder / name).write_text(json.dumps(document))
        assert main(["recheck", str(folder / name), str(folder / "lock.pyv")]) in (1, 2)
    itf = {"#meta": {"format": "ITF", "format-description": evil}, "vars": [evil], "states": [{evil: evil}]}
    (folder / "run.itf.json").write_text(json.dumps(itf))
    assert main(["trace", "show", str(folder / "run.itf.json"), str(folder / "lock.pyv")]) in (1, 2)
    assert "internal error" not in capsys.readouterr().err


# -- the page ----------------------------------------------------------------------------------------------------------------


def ask(port: int, token: str, what: str, request: Any) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "X-Quorate-Token": token}
    connection.request("POST", f"/api/{what}", json.dumps(request).encode(), headers)
    reply = connection.getresponse()
    found = json.loads(reply.read())
    connection.close()
    assert reply.status == 200, found
    return found


def verified(port: int, token: str) -> str:
    job = ask(port, token, "verify", {"name": "lock.pyv", "text": LOCK, "seconds": 60})["job"]
    events: list[Any] = []
    while True:
        found = ask(port, token, "news", {"job": job, "from": len(events)})
        events += found["news"]
        if found["ended"]:
            return str(events[-1]["file"]["results"][0]["verdict"])


def test_the_page_in_a_hostile_folder(folder: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*script(tmp_path), "ui", ".", "--no-browser", "--port", "0"],
        cwd=folder,
        env=environment(tmp_path, "."),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)", process.stdout.readline())
        assert found is not None
        assert verified(int(found[1]), found[2]) == "proved"
    finally:
        process.kill()
        process.communicate()


def test_workers_do_not_look_at_the_environment(
    folder: Path, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PYTHONSTARTUP", str(folder / "json.py"))
    monkeypatch.setenv("PYTHONINSPECT", "1")
    monkeypatch.setenv("PYTHONBREAKPOINT", "conftest.run")
    server = Server(folder)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        port = int(server.server_address[1])
        assert verified(port, server.token) == "proved"
        walk = ask(port, server.token, "walk", {"name": "lock.pyv", "text": LOCK, "sizes": {"node": 2}})
        assert len(walk["starts"]) == 1
    finally:
        server.shutdown()
        server.server_close()


# -- the parts ---------------------------------------------------------------------------------------------------------------


def test_other_pythons_find_what_this_one_finds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", str(folder), "protocols", *sys.path])
    for name in ("json", "this"):
        subprocess.run(isolation.command(name, "--help"), capture_output=True, check=False)
    found = subprocess.run(isolation.command("quorate", "--version"), capture_output=True, text=True, check=True)
    assert found.stdout.startswith("quorate ")


def test_arguments_arrive_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shows.py").write_text("import sys\nprint(sys.argv[1:])\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = subprocess.run(isolation.command("shows", "-c", "", "a b"), capture_output=True, text=True, check=True)
    assert found.stdout == "['-c', '', 'a b']\n"


def test_which_places_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("here")
    monkeypatch.chdir(tmp_path / "here")
    below, link = str(tmp_path / "here" / "below"), str(tmp_path / "link")
    assert isolation.trusted(["", ".", "below", str(tmp_path / "here"), link, below, "/usr/bin"]) == [below, "/usr/bin"]
    monkeypatch.chdir(isolation.own_folder())
    assert isolation.trusted(["", isolation.own_folder()]) == [isolation.own_folder()]


def test_a_package_that_is_imported_leaves_the_path_alone(folder: Path, tmp_path: Path) -> None:
    """A notebook's own modules stay where they are."""
    text = "import sys, quorate; print(sys.path[0] == '')"
    found = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_compilers_of_the_folder_are_not_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("QUORATE_CC", raising=False)
    for entry in ("", ".", "protocols", str(folder)):
        monkeypatch.setenv("PATH", entry)
        find_compiler.cache_clear()
        found = find_compiler()
        assert found is None or found[0] == sys.executable
    find_compiler.cache_clear()
