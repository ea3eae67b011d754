"""Runs on disk: a JSON file each, so that this machine's past stays comparable.

A file that is damaged, or of a version this program does not know, is left where it is and left
out of what is read.
"""

import json
import logging
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from app.experiments.runs import Run, Setting
from app.experiments.trials import Reading

VERSION = 1
_VERSION_KEY = "version"
_MOST_BYTES = 4 << 20
_MOST_RUNS = 400
logger = logging.getLogger(__name__)


class Unreadable(ValueError):  # noqa: N818 - says what the file is
    """A file that holds no run; the reason is the text."""


def write_run(folder: Path, run: Run) -> None:
    """Put a run on disk, whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({_VERSION_KEY: VERSION, **asdict(run)}, ensure_ascii=False)
    handle, name = tempfile.mkstemp(dir=folder, prefix=f"{run.run_id}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(folder / f"{run.run_id}.json")
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_runs(folder: Path) -> list[Run]:
    """All runs that can be read, the latest first, at most some hundreds."""
    try:
        files = sorted(folder.glob("*.json"), reverse=True)[:_MOST_RUNS]
    except OSError as error:
        logger.warning("Kept experiments cannot be listed: %s", error)
        return []
    runs = []
    for file in files:
        try:
            runs.append(_read(file))
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("A kept experiment cannot be read: %s: %s", file.name, error)
    return runs


def remove_run(folder: Path, run_id: str) -> None:
    """Take a run off the disk; nothing where there is none. Raises OSError."""
    (folder / f"{run_id}.json").unlink(missing_ok=True)


def _read(file: Path) -> Run:
    if file.stat().st_size > _MOST_BYTES:
        raise Unreadable("larger than any run")
    document: Any = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.pop(_VERSION_KEY, None) != VERSION:
        raise Unreadable("not of a known version")
    run = run_from(document)
    if run.run_id != file.stem:
        raise Unreadable("named as another run")
    return run


def run_from(values: Mapping[str, Any]) -> Run:
    """The run that ``asdict`` gave. Raises Unreadable."""
    try:
        readings = tuple(_reading(each) for each in values["readings"])
        setting = Setting(**values["setting"])
        failures = tuple(values["failures"])
        run = Run(**{**values, "readings": readings, "setting": setting, "failures": failures})
    except (KeyError, TypeError) as error:
        raise Unreadable(f"not a run: {error}") from error
    _check_types(setting)
    _check_types(run)
    for name in ("other_cores", "seconds", "cost"):
        if not _is_number(getattr(run, name)):
            raise Unreadable(f"{name} is no number")
    if not all(isinstance(text, str) for text in failures):
        raise Unreadable("a failure is no text")
    return run


def _check_types(value: Run | Setting) -> None:
    kinds = {"str": str, "int": int, "bool": bool}
    for field in fields(value):
        wanted = kinds.get(getattr(field.type, "__name__", str(field.type)))
        given = getattr(value, field.name)
        is_wrong = wanted is not None and not isinstance(given, wanted)
        if is_wrong or (wanted is int and isinstance(given, bool)):
            raise Unreadable(f"{field.name} is {type(given).__name__}")


def _reading(values: Mapping[str, Any]) -> Reading:
    numbers = values["values"]
    if not isinstance(numbers, dict) or not all(map(_is_number, [values["x"], *numbers.values()])):
        raise Unreadable("a reading is no number")
    if not all(isinstance(values[name], str) for name in ("series", "label")):
        raise Unreadable("a reading has no name")
    return Reading(values["series"], float(values["x"]), numbers, values["label"])


def _is_number(value: object) -> bool:
    # JSON as Python reads it may say NaN
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
