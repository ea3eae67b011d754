"""Brings torch's shared libraries into the process without holding the other threads up.

``import torch`` maps and relocates some hundred megabytes with Python's lock held, so that a window
cannot paint meanwhile. The system's own call for that, through ctypes, lets go of the lock; the
import then finds its libraries loaded. On Windows torch itself loads them in that way.
"""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# in torch's own order, and as it opens them
_LIBRARIES = (("libtorch_global_deps", "RTLD_GLOBAL"), ("libtorch_cpu", "RTLD_LOCAL"))


def preload_torch() -> list[str]:
    """Load what can be loaded; the names of that. A failure is left for the import to report."""
    spec = None if "torch" in sys.modules else importlib.util.find_spec("torch")
    if spec is None or spec.origin is None or sys.platform == "win32":
        return []
    return load_libraries(Path(spec.origin).parent / "lib")


def load_libraries(folder: Path) -> list[str]:
    """Load those of ``_LIBRARIES`` that lie in ``folder``; the names of what was loaded."""
    try:
        load = ctypes.CDLL(None).dlopen
    except (AttributeError, OSError):
        return []
    load.restype = ctypes.c_void_p
    load.argtypes = [ctypes.c_char_p, ctypes.c_int]
    loaded = []
    for name, scope in _LIBRARIES:
        path = folder / (name + _SUFFIX)
        if path.exists() and load(os.fsencode(path), os.RTLD_LAZY | getattr(os, scope)):
            loaded.append(name)
    return loaded
