"""Open a model file for reading, as memory; every failure is one sentence."""

import mmap
import stat
from pathlib import Path

from engine.errors import ModelCorruptError, ModelMissingError


def map_file(path: Path) -> mmap.mmap:
    """Map a regular file read-only.

    Raises ModelMissingError (no file there, a folder, no permission) or ModelCorruptError (empty).
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelMissingError(f"{path} is not a model file.", path=str(path))
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError as error:  # mmap refuses an empty file; stat refuses a NUL in a path
        raise ModelCorruptError(
            f"{path.name} is empty. Download it again.", path=str(path), reason="it is empty"
        ) from error
    except FileNotFoundError as error:
        raise ModelMissingError(f"There is no model at {path}.", path=str(path)) from error
    except OSError as error:
        raise ModelMissingError(
            f"The model at {path} cannot be read ({error.strerror}).", path=str(path)
        ) from error
