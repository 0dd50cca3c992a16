"""Compiles C with whatever compiler the machine has, and keeps what it has compiled.

The compiler is looked for at run time: `$QUORATE_CC`, then `cc`, `gcc` and `clang` in those folders of `PATH` that are written in
full, then the `ziglang` package.  It works in a folder of its own, and `$CC` is not read.

What is compiled is run, so it is kept where only its user can write, and looked at before it is loaded: who owns it, and
whether it is what was put there.  Where anything is amiss it is compiled anew in a private folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from quorate.isolation import command, search_path

FLAGS = ("-std=c11", "-fPIC", "-shared", "-pthread", "-w")
OPTIMISED, QUICK = "-O2", "-O0"
FOR_THIS_MACHINE = "-march=native"


class CompilerError(Exception):
    """There is no C compiler, or it failed; the message says what to do."""


class CacheWarning(UserWarning):
    """What is kept of earlier runs cannot be trusted, and is not used."""


@cache
def find_compiler() -> tuple[str, ...] | None:
    """The command that compiles C here, if any."""
    chosen = os.environ.get("QUORATE_CC")
    if chosen is not None:
        program, *options = shlex.split(chosen) or [""]
        if os.path.dirname(program):
            program = os.path.abspath(program)
        return (shutil.which(program, path=search_path()) or program, *options) if program else None
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name, path=search_path())
        if found:
            return (found,)
    return tuple(command("ziglang", "cc")) if find_spec("ziglang") else None


# -- what is kept ----------------------------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Where compiled engines are kept: `$XDG_CACHE_HOME/quorate`; None if others than the user could write there."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = base.resolve() / "quorate"
        folder.mkdir(mode=0o700, exist_ok=True)
        problem = _distrusted(folder)
        if problem is None:
            folder.chmod(0o700)
            return folder if os.access(folder, os.W_OK) else None
    except (OSError, RuntimeError):
        return None
    warnings.warn(f"compiled engines are not kept: {problem}", CacheWarning, stacklevel=2)
    return None


def _distrusted(folder: Path) -> str | None:
    """Why somebody else could put something into a folder, or put another folder in its place."""
    if not hasattr(os, "geteuid"):
        return None
    for place in (folder, *folder.parents):
        found = place.lstat()
        owners = (os.geteuid(),) if place == folder else (os.geteuid(), 0)
        others = stat.S_IWOTH if found.st_gid in (os.getegid(), 0) else stat.S_IWOTH | stat.S_IWGRP
        if not stat.S_ISDIR(found.st_mode):
            return f"{place} is not a folder"
        if found.st_uid not in owners:
            return f"{place} belongs to somebody else"
        if found.st_mode & others and place != folder and not found.st_mode & stat.S_ISVTX:
            return f"{place} can be written by others"
    return None


def _kept(folder: Path, key: str) -> Path | None:
    """What was compiled before under this key; raises `CompilerError` if there is something that we have not put there."""
    for path in sorted(folder.glob(f"{key}-*.so")):
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            owned = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not owned:
                raise CompilerError(f"{path} can be written by others")
            if path.name != f"{key}-{_sum(key, file.read())}.so":
                raise CompilerError(f"{path} is not what was put there")
        return path
    return None


def _sum(key: str, content: bytes) -> str:
    """What a library is and what it was compiled from, in short."""
    return hashlib.sha256(key.encode() + content).hexdigest()


def load_library(text: str, level: str = OPTIMISED) -> ctypes.CDLL:
    """The compiled form of a C text, from the cache if it is there; `QUICK` where compiling takes longer than running."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilerError("no C compiler was found; install gcc or clang, or `pip install quorate[compiler]`")
    parts = (text, _processor(), *compiler, _identity(compiler[0]), level, *FLAGS)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
    folder = cache_folder()
    if folder is not None:
        try:
            kept = _kept(folder, key)
            if kept is not None:
                return _load(kept)
        except (OSError, CompilerError) as problem:
            advice = f"delete {folder} to have engines kept again"
            warnings.warn(f"a compiled engine is not used: {problem}; {advice}", CacheWarning, stacklevel=2)
            folder = None
    with tempfile.TemporaryDirectory(prefix="quorate-", dir=folder, ignore_cleanup_errors=True) as work:
        built = _compile(compiler, text, Path(work), level)
        if folder is not None:
            built = built.replace(folder / f"{key}-{_sum(key, built.read_bytes())}.so")
        return _load(built)


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as problem:
        raise CompilerError(f"what was compiled cannot be loaded: {problem}") from None


def _identity(program: str) -> str:
    """What changes when a program is replaced."""
    try:
        found = os.stat(os.path.realpath(program))
    except OSError:
        return ""
    return f"{os.path.realpath(program)} {found.st_size} {found.st_mtime_ns}"


@cache
def _processor() -> str:
    """What tells processors apart that cannot run each other's code."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return f"{platform.machine()} {platform.processor()}"


def _compile(compiler: tuple[str, ...], text: str, folder: Path, level: str) -> Path:
    """Compile in a folder, which is where the compiler looks for whatever it is told to look for nearby."""
    source, built = folder / "engine.c", folder / "engine.so"
    source.write_text(text)
    for extra in ((FOR_THIS_MACHINE,), ()) if level == OPTIMISED else ((),):
        order = [*compiler, level, *FLAGS, *extra, "-o", str(built), str(source)]
        environment = {**os.environ, "PATH": search_path()}
        try:
            done = subprocess.run(order, capture_output=True, text=True, check=False, cwd=folder, env=environment)
        except OSError as problem:
            raise CompilerError(f"the C compiler {compiler[0]} cannot be run: {problem.strerror}") from None
        if done.returncode == 0:
            built.chmod(0o700)
            return built
    lines = done.stderr.strip().splitlines()
    said = next((line for line in lines if "error" in line), lines[0] if lines else "without a message")
    raise CompilerError(f"the C compiler {compiler[0]} failed: {said}")
