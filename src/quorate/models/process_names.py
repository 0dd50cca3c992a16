"""The names in the relational form of a Mercury program: one table for the translation and for whoever reads its states.

What the text names keeps its name: variables (`x`), and what an event leaves behind (`vote.payld`, `elect.winS`).  These
consist of letters, digits, `_` and `.`.  Every name that is made up here has a `~`, which no text can write, so the two
never meet:

    at~                       where a process is, a point of the sort point~
    at~Leader, at~Leader~2    the point of the location Leader; the second place in it where a process waits to send
    crashed~                  the point of a process that has crashed
    int~1~5, 3~of~1~to~5      the integers from 1 to 5, and 3 among them
    x~counted, x~lost         who was counted by a counter x, and whether that may differ from its value
    takes~0, fails~           what a step leaves open: who takes the first of several handlers, who crashes meanwhile
    vote~2                    the second transition of an event, a location or an agreement

The sort of processes is called `process`, which is a keyword of the language.
"""

from __future__ import annotations

PROCESSES = "process"
POINTS = "point~"
WHERE = "at~"
CRASHED = "crashed~"
FAILS = "fails~"


def point_name(location: str, waiting: int = 0) -> str:
    """The point of a location, or of the so-many-th place in it where a process waits to send."""
    return f"at~{location}" + (f"~{waiting}" if waiting else "")


def range_name(low: int, high: int) -> str:
    """The sort of the integers of a range."""
    return f"int~{low}~{high}"


def number_name(value: int, low: int, high: int) -> str:
    """An integer of a range."""
    return f"{value}~of~{low}~to~{high}"


def counted(name: str) -> str:
    """The set of the processes that a counter has counted."""
    return f"{name}~counted"


def lost(name: str) -> str:
    """The flag that says that a counter may differ from the size of its set."""
    return f"{name}~lost"


def takes_name(alternative: int) -> str:
    """The processes that take this alternative, if they take none before it."""
    return f"takes~{alternative}"


def transition_name(event: str, number: int) -> str:
    """The so-many-th transition of an event, from 1."""
    return event if number == 1 else f"{event}~{number}"
