"""The settings file: JSON with a version, replaced as a whole or not at all.

Knows nothing of single settings beside how older files named them.
"""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VERSION = 1
VERSION_KEY = "version"
# VERSIONS[n] turns the values of version n + 1 into those of the next
MIGRATIONS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = ()
logger = logging.getLogger(__name__)


def read_values(path: Path) -> dict[str, Any]:
    """The stored values by key, at the present version; empty for no file or an unreadable one.

    A damaged file is moved aside, so that nothing a person wrote is lost.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        logger.warning("Settings cannot be read: %s", error)
        return {}
    except ValueError as error:  # not JSON, or not UTF-8
        _move_aside(path, str(error))
        return {}
    if not isinstance(document, dict):
        _move_aside(path, "not an object")
        return {}
    values: dict[str, Any] = document
    version = values.pop(VERSION_KEY, 1)
    first = version - 1 if isinstance(version, int) and version >= 1 else 0
    for migrate in MIGRATIONS[first:]:
        values = migrate(values)
    return values


def write_values(path: Path, values: Mapping[str, Any]) -> None:
    """Put the values on disk. A reader sees the old file or the new one; raises OSError."""
    text = json.dumps(
        {VERSION_KEY: VERSION, **values}, ensure_ascii=False, indent=2, sort_keys=True
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _move_aside(path: Path, reason: str) -> None:
    moved = path.with_name(f"{path.stem}-damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.json")
    logger.warning("The settings file is damaged (%s); kept as %s", reason, moved)
    try:
        path.replace(moved)
    except OSError as error:
        logger.warning("It could not be moved: %s", error)
