"""Racers: functions that run in processes of their own, tell what they are doing, and are stopped with all they have started.

A racer is a generator; what it yields and what it says meanwhile is sent to the caller.  It leads a process group, so that the
solvers it has started end with it; and it ends by itself when the process that started it is gone.  Read `strategy` next.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from quorate.isolation import process_context

Tell = Callable[[str], None]
Work = Callable[..., Iterator[Any]]

GRACE_SECONDS = 0.5
"""How long a racer may take to put its things in order when it is stopped."""
BETWEEN_WORDS = 0.1


@dataclass(frozen=True)
class Message:
    """Something a racer says: a word on what it is doing, something found, that it is done, or why it failed."""

    kind: Literal["doing", "found", "done", "failed"]
    value: Any = None


@dataclass
class Racer:
    """A process at work."""

    name: str
    process: BaseProcess
    connection: Connection
    lifeline: Connection
    started: float
    doing: str = ""
    over: bool = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def start(name: str, work: Work, *arguments: Any) -> Racer:
    """Start a racer; `work` gets the arguments and a function to say what it is doing."""
    context = process_context()
    ours, theirs = context.Pipe(duplex=False)
    lifeline, held = context.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    process = context.Process(target=_live, args=(theirs, lifeline, held, ours, work, arguments))
    process.start()
    theirs.close()
    lifeline.close()
    return Racer(name, process, ours, held, time.monotonic())


def _live(
    connection: Connection, lifeline: Connection, held: Connection, other: Connection, work: Work, arguments: Any
) -> None:
    """The life of a racer."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said_at, working = 0.0, True

    def interrupt(number: int, frame: object) -> None:
        """What was half made when a racer is stopped cannot be cleared up properly: nobody needs to hear of that."""
        sys.unraisablehook = lambda problem: None
        if working:
            raise KeyboardInterrupt

    def tell(text: str) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= BETWEEN_WORDS:
            said_at = time.monotonic()
            connection.send(Message("doing", text))

    try:
        signal.signal(signal.SIGTERM, interrupt)
        held.close()
        other.close()
        threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
        for found in work(*arguments, tell):
            connection.send(Message("found", found))
        connection.send(Message("done"))
        working = False
    except (KeyboardInterrupt, BrokenPipeError):
        working = False
    except MemoryError:
        connection.send(Message("failed", "it ran out of memory"))
    except Exception as problem:
        if os.environ.get("QUORATE_DEBUG"):
            raise
        connection.send(Message("failed", f"{type(problem).__name__}: {problem}"))
    finally:
        with contextlib.suppress(OSError):
            connection.close()


def _end_with_parent(lifeline: Connection) -> None:
    """End the whole group once the other end of the lifeline is closed, be it because its process was killed."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv()
    os.killpg(0, signal.SIGKILL)


def listen(racers: list[Racer], seconds: float) -> Iterator[tuple[Racer, Message]]:
    """What the racers say within that time, at least one message each if they have any; the end of a racer is a message too."""
    ready = wait([racer.connection for racer in racers if not racer.over], max(0.0, seconds))
    for racer in racers:
        if racer.connection not in ready or racer.over:
            continue
        try:
            message: Message = racer.connection.recv()
        except (EOFError, OSError):
            message = Message("failed", "its process ended without an answer (memory limit or crash)")
        if message.kind == "doing":
            racer.doing = message.value
        racer.over = message.kind in ("done", "failed")
        yield racer, message


def stop(racers: list[Racer]) -> None:
    """End racers and all that they have started."""
    for racer in racers:
        if racer.process.is_alive() and not racer.over:
            racer.process.terminate()
    ends = time.monotonic() + GRACE_SECONDS
    for racer in racers:
        racer.connection.close()
        racer.process.join(max(0.0, ends - time.monotonic()))
        assert racer.process.pid is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(racer.process.pid, signal.SIGKILL)
        racer.process.join()
        racer.lifeline.close()
        racer.over = True
