"""Racers end when they are told to, with all that they have started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from quorate import racing


def count(most: int, tell: racing.Tell) -> Iterator[int]:
    for number in range(most):
        tell(f"at {number}")
        yield number


def fail(tell: racing.Tell) -> Iterator[int]:
    yield 1
    raise ValueError("no more")


def die(tell: racing.Tell) -> Iterator[int]:
    yield 1
    os._exit(3)


def with_a_child(tell: racing.Tell) -> Iterator[int]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield child.pid
    time.sleep(600)


def hear(racer: racing.Racer) -> list[tuple[str, object]]:
    said: list[tuple[str, object]] = []
    while not racer.over:
        said += [(message.kind, message.value) for _, message in racing.listen([racer], 60.0)]
    return said


def gone(pid: int) -> bool:
    """Has the process ended?  One that nobody has asked after yet is a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_what_a_racer_says() -> None:
    racer = racing.start("counter", count, 3)
    said = hear(racer)
    assert [item for item in said if item[0] != "doing"] == [("found", 0), ("found", 1), ("found", 2), ("done", None)]
    assert said[0] == ("doing", "at 0")
    racing.stop([racer])


def test_a_racer_that_fails_or_dies_says_so() -> None:
    racers = [racing.start("fails", fail), racing.start("dies", die)]
    assert hear(racers[0]) == [("found", 1), ("failed", "ValueError: no more")]
    kind, reason = hear(racers[1])[-1]
    assert kind == "failed" and "ended without an answer" in str(reason)
    racing.stop(racers)


def test_what_a_racer_has_started_ends_with_it() -> None:
    racer = racing.start("parent", with_a_child)
    [(_, message)] = list(racing.listen([racer], 60.0))
    assert not gone(message.value)
    racing.stop([racer])
    ends = time.monotonic() + 30
    while not gone(message.value) and time.monotonic() < ends:
        pass
    assert gone(message.value)


def test_a_racer_ends_with_the_process_that_started_it() -> None:
    script = (
        "import sys, os; sys.path.insert(0, 'tests')\n"
        "from quorate import racing; from test_racing import with_a_child\n"
        "racer = racing.start('parent', with_a_child)\n"
        "[(_, message)] = list(racing.listen([racer], 60.0))\n"
        "print(racer.process.pid, message.value, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    ends = time.monotonic() + 30
    while not all(map(gone, pids)) and time.monotonic() < ends:
        pass
    assert all(map(gone, pids))


def deaf(tell: racing.Tell) -> Iterator[int]:
    class Thing:
        def __del__(self) -> None:
            time.sleep(600)

    yield 1
    Thing()


def test_an_interrupt_that_cannot_be_raised_is_not_spoken_of(capfd) -> None:
    racer = racing.start("deaf", deaf)
    list(racing.listen([racer], 60.0))
    racing.stop([racer])
    assert capfd.readouterr() == ("", "")
