"""Quorate proves distributed protocols correct for any number of nodes, or shows exactly how they break.

    import quorate
    quorate.load("lock.pyv").verify()

Read `apps/api.py` for what these give, ARCHITECTURE.md for the rest.
"""

from quorate import isolation

if isolation.started_as_program():
    isolation.forget_folder()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quorate.apps.api import Protocol

__version__ = "0.1.0"


def load(path: str) -> "Protocol":
    """The protocol in a file, of whatever family; or, by its name, one of the library."""
    from quorate.apps.api import load as read

    return read(path)


def parse(text: str, name: str = "protocol.pyv") -> "Protocol":
    """The protocol in a text; the ending of the name says in which language it is."""
    from quorate.apps.api import parse as read

    return read(text, name)
