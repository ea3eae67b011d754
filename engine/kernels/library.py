"""Finds and opens the native core, and owns its teams of threads.

The core is an optional part of the installation: ``open_core()`` is None without it, and callers
then take their slower way. Calls let go of the interpreter while they run.
"""

import ctypes
import functools
import logging
import threading
import weakref
from pathlib import Path

from engine.kernels import abi

_LOG = logging.getLogger(__name__)
_PATTERNS = ("_native*.so", "_native*.pyd", "_native*.dylib")


class NativeCore:
    """The library, running on one instruction set."""

    def __init__(self, library: ctypes.CDLL, instruction_set: str) -> None:
        """Take an opened library; ``instruction_set`` is one of ``instruction_sets(library)``."""
        self.library = library
        self.instruction_set = instruction_set
        self._teams: dict[int, int] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _free_teams, library, self._teams)

    def team(self, threads: int) -> int:
        """A handle of a team of ``threads``, the caller's included; kept for the next call."""
        found = self._teams.get(threads)
        if found is not None:
            return found
        with self._lock:
            if threads not in self._teams:
                handle = self.library.tt_team_new(self.instruction_set.encode(), threads)
                if not handle:
                    raise MemoryError("not enough memory for a team of threads")
                self._teams[threads] = handle
            return self._teams[threads]


def _free_teams(library: ctypes.CDLL, teams: dict[int, int]) -> None:
    for handle in teams.values():
        library.tt_team_free(handle)
    teams.clear()


@functools.cache
def open_library() -> ctypes.CDLL | None:
    """The shared library beside this file, or None where none was built or it does not load."""
    folder = Path(__file__).parent
    for path in sorted(path for pattern in _PATTERNS for path in folder.glob(pattern)):
        try:
            return abi.declare(ctypes.CDLL(str(path)))
        except (OSError, AttributeError) as error:
            _LOG.info("The native core %s was left aside: %s", path.name, error)
    return None


def instruction_sets() -> tuple[str, ...]:
    """What the library holds and this machine runs, best first; empty without a library."""
    library = open_library()
    if library is None:
        return ()
    names: bytes = library.tt_instruction_sets()
    return tuple(names.decode().split())


@functools.cache
def open_core(instruction_set: str | None = None) -> NativeCore | None:
    """The core on ``instruction_set``, by default the best one here; None where it is missing.

    Raises ValueError for an instruction set that this machine or library does not have.
    """
    library = open_library()
    if library is None:
        return None
    names = instruction_sets()
    name = names[0] if instruction_set is None else instruction_set
    if name not in names:
        raise ValueError(f"{name} is not one of {', '.join(names)}")
    return NativeCore(library, name)
