"""Compiles C with whatever compiler the machine has, and keeps what it has compiled.

The compiler is looked for at run time: `$QUORATE_CC`, then `cc`, `gcc` and `clang`, then the `ziglang` package.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FLAGS = ("-std=c11", "-fPIC", "-shared", "-pthread", "-w")
OPTIMISED, QUICK = "-O2", "-O0"
FOR_THIS_MACHINE = "-march=native"


class CompilerError(Exception):
    """There is no C compiler, or it failed; the message says what to do."""


@cache
def find_compiler() -> tuple[str, ...] | None:
    """The command that compiles C here, if any."""
    chosen = os.environ.get("QUORATE_CC")
    if chosen is not None:
        return tuple(shlex.split(chosen)) or None
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return (found,)
    return (sys.executable, "-m", "ziglang", "cc") if find_spec("ziglang") else None


def cache_folder() -> Path:
    """Where compiled engines are kept: `$XDG_CACHE_HOME/quorate`, or a folder for this process if that cannot be written."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quorate"
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    except (OSError, RuntimeError):
        pass
    return _own_folder()


@cache
def _own_folder() -> Path:
    import atexit

    folder = tempfile.mkdtemp(prefix="quorate-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def load_library(text: str, level: str = OPTIMISED) -> ctypes.CDLL:
    """The compiled form of a C text, from the cache if it is there; `QUICK` where compiling takes longer than running."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilerError("no C compiler was found; install gcc or clang, or `pip install quorate[compiler]`")
    key = hashlib.sha256("\0".join((text, _processor(), *compiler, level, *FLAGS)).encode()).hexdigest()[:40]
    target = cache_folder() / f"{key}.so"
    if not target.exists():
        _compile(compiler, text, target, level)
    return ctypes.CDLL(str(target))


@cache
def _processor() -> str:
    """What tells processors apart that cannot run each other's code."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return f"{platform.machine()} {platform.processor()}"


def _compile(compiler: tuple[str, ...], text: str, target: Path, level: str) -> None:
    """Compile beside the target, then rename: a half-written library is never seen."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        source, built = Path(folder) / "engine.c", Path(folder) / "engine.so"
        source.write_text(text)
        for extra in ((FOR_THIS_MACHINE,), ()) if level == OPTIMISED else ((),):
            command = [*compiler, level, *FLAGS, *extra, "-o", str(built), str(source)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as problem:
                raise CompilerError(f"the C compiler {compiler[0]} cannot be run: {problem.strerror}") from None
            if done.returncode == 0:
                os.replace(built, target)
                return
        lines = done.stderr.strip().splitlines()
        said = next((line for line in lines if "error" in line), lines[0] if lines else "without a message")
        raise CompilerError(f"the C compiler {compiler[0]} failed: {said}")
