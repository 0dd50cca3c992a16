"""Solver processes: limits that hold even when a solver hangs, several cores, and races between solvers.

Each task runs in a process of its own that is killed when it overruns; a solver that crashes or hangs costs an answer,
never the run.  Read `session` next for the interface in terms of formulas.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from quorate.engines.smt.backends import Reply, Task, open_backend
from quorate.isolation import process_context

Result = TypeVar("Result")

GRACE_SECONDS = 2.0
"""How long a solver may overrun its own time limit before its process is killed."""


@dataclass
class _Running:
    """A worker at work on the questions of a task, which start at question `offset` of the task first given."""

    number: int
    task: Task
    offset: int
    process: BaseProcess
    connection: Connection
    asked_at: float
    answered: int = 0

    @property
    def deadline(self) -> float:
        return self.asked_at + self.task.wall_seconds + GRACE_SECONDS


def _serve(task: Task, connection: Connection) -> None:
    """The life of a worker: answer each question in order, then end."""
    try:
        _limit_memory(task.memory_mb)
        backend = open_backend(task)
        for question in task.questions:
            if task.processor_time:
                _limit_processor(task.timeout)
            connection.send(backend.ask(question))
    except (MemoryError, KeyboardInterrupt, BrokenPipeError):
        pass
    except Exception as problem:
        if os.environ.get("QUORATE_DEBUG"):
            raise
        said = f"internal error in {task.backend}: {type(problem).__name__}: {problem}"[:500]
        connection.send(Reply("unknown", said, backend=task.backend))
    finally:
        connection.close()


def _limit_memory(megabytes: int) -> None:
    """Let this process grow by no more than that; what it shares with its parent does not count."""
    try:
        import resource
    except ImportError:
        return
    size = (megabytes + 1024) * 2**20 + _address_space()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or size < hard:
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))


def _limit_processor(seconds: float) -> None:
    """End this process once it has computed for so long, where the system can; by the clock it ends in any case."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _address_space() -> int:
    """Bytes of address space in use, where the system tells."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _preload(tasks: Iterable[Task]) -> None:
    """Import the solvers before forking, so that every worker starts with them loaded."""
    for name in {task.backend for task in tasks}:
        __import__(name)


def _start(number: int, task: Task, offset: int = 0) -> _Running:
    context = process_context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(task, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Running(number, task, offset, process, ours, time.monotonic())


def _stop(running: _Running) -> None:
    running.connection.close()
    running.process.kill()
    running.process.join()


def run(tasks: Sequence[Task], jobs: int) -> Generator[tuple[int, int, Reply]]:
    """Run tasks on up to `jobs` processes; yields (task, question, reply) as answers come, each question once."""
    _preload(tasks)
    waiting = deque((number, task, 0) for number, task in enumerate(tasks) if task.questions)
    active: list[_Running] = []
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.append(_start(*waiting.popleft()))
            for running in _ready(active):
                reply = _receive(running)
                number = running.offset + running.answered
                yield running.number, number, reply or _lost(running)
                running.answered += 1
                running.asked_at = time.monotonic()
                rest = running.task.questions[running.answered :]
                if reply is None or not rest:
                    active.remove(running)
                    _stop(running)
                    if rest:
                        waiting.appendleft((running.number, replace(running.task, questions=rest), number + 1))
    finally:
        for running in active:
            _stop(running)


def race(tasks: Sequence[Task], jobs: int) -> tuple[int, Reply]:
    """Ask the first question of each task, `jobs` at a time in the order given; the first that decides it wins."""
    answers = run([replace(task, questions=task.questions[:1]) for task in tasks], jobs)
    last = (0, Reply("unknown", "no solver was asked"))
    for number, _, reply in answers:
        last = (number, reply)
        if reply.status != "unknown":
            break
    answers.close()
    return last


def _ready(active: list[_Running]) -> list[_Running]:
    """Wait for answers; the workers that have one, have ended, or have overrun."""
    timeout = max(0.0, min(running.deadline for running in active) - time.monotonic())
    answered = wait([running.connection for running in active], timeout)
    now = time.monotonic()
    return [running for running in active if running.connection in answered or running.deadline <= now]


def _receive(running: _Running) -> Reply | None:
    """The worker's answer, or None if it overran or died."""
    try:
        if running.connection.poll():
            reply: Reply = running.connection.recv()
            return reply
    except (EOFError, OSError):
        pass
    return None


def _lost(running: _Running) -> Reply:
    running.process.join(GRACE_SECONDS if running.deadline > time.monotonic() else 0)
    overran = running.deadline <= time.monotonic() or running.process.exitcode == -getattr(signal, "SIGPROF", 0)
    reason = "timeout" if overran else "the solver process ended without an answer (memory limit or crash)"
    return Reply("unknown", reason, backend=running.task.backend)


def guarded(function: Callable[..., Result], *args: Any, timeout: float, memory_mb: int) -> Result | None:
    """Call a function in a process of its own; None if it overruns the time or memory limit, or crashes."""
    context = process_context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(theirs, memory_mb, function, args), daemon=True)
    process.start()
    theirs.close()
    try:
        if ours.poll(timeout):
            outcome, value = ours.recv()
            if outcome == "error":
                raise value
            result: Result = value
            return result
    except EOFError:
        pass
    finally:
        ours.close()
        process.kill()
        process.join()
    return None


def _call(connection: Connection, memory_mb: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        _limit_memory(memory_mb)
        connection.send(("value", function(*args)))
    except (MemoryError, KeyboardInterrupt, BrokenPipeError):
        pass
    except Exception as problem:
        connection.send(("error", problem))
    finally:
        connection.close()
