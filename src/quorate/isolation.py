"""No code from the current folder: where Python and the system may look for modules and programs.

Protocols come from others, in folders that hold other things too.  Python looks for modules in the current folder when a program
starts with `-m` or `-c`, and some people's `PATH` and `PYTHONPATH` name it as well: a `json.py` beside a protocol would be run.
`quorate` forgets these places as it starts (`forget_folder`), and starts other Pythons so that they never have them (`command`).

This module comes before all others, so it imports nothing but what every Python has loaded when it starts.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BOOTSTRAP = (
    "import sys; name, count, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3:]; sys.argv[1:] = rest[count:]; "
    "sys.path += [place for place in rest[:count] if place not in sys.path]; "
    "import runpy; runpy.run_module(name, run_name='__main__', alter_sys=True)"
)
"""A program for `python -c`: run the module named first, which is in the standard library or else in the folders listed."""


def own_folder() -> str:
    """The folder, or archive, that holds the package `quorate`."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def trusted(places: list[str]) -> list[str]:
    """The places that are written in full and are not the current folder, unless the package itself is there."""
    own = own_folder()
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    return [p for p in places if os.path.isabs(p) and (os.path.realpath(p) != here or here == own)]


def search_path() -> str:
    """`PATH`, as far as it can be trusted."""
    return os.pathsep.join(trusted(os.environ.get("PATH", os.defpath).split(os.pathsep)))


def forget_folder() -> None:
    """Look for modules and programs in the current folder no more, neither here nor in processes started from here."""
    sys.path[:] = trusted(sys.path)
    os.environ["PATH"] = search_path()
    os.environ["PYTHONSAFEPATH"] = "1"


def started_as_program() -> bool:
    """Is this process `quorate` or `python -m quorate`, rather than a program or notebook that imports the package?"""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return name == "-m" or os.path.splitext(name)[0] in ("quorate", "quorate-script")


def command(module: str, *arguments: str) -> list[str]:
    """What starts a module as a program of its own, without the current folder, the user's start-up files or `PYTHON*` variables.

    It finds what this process finds, in the same places, but never anything in the place of the standard library.  The places
    are arguments, not variables: processes started by that one do not inherit them.
    """
    places = list(dict.fromkeys([*trusted(sys.path), own_folder()]))
    return [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, module, str(len(places)), *places, *arguments]


def process_context() -> "Any":
    """How processes are started: as copies of this one where that is safe, else afresh."""
    import multiprocessing

    if sys.platform.startswith("linux"):
        return multiprocessing.get_context("fork")
    os.environ["PYTHONSAFEPATH"] = "1"
    return multiprocessing.get_context("spawn")
