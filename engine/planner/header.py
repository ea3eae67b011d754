"""Typed reads for a plan: what ``engine.model.fields`` reads, lists of words and flags as well.

A configuration may come from anywhere. Values that no model has (lists of lists, numbers of a
million digits, tables nested without end) are errors that name the file, never a crash.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.model.config import corrupt
from engine.model.fields import Fields
from engine.model.mapping import map_file

_MAX_CONFIG_BYTES = 10_000_000


class HeaderFields(Fields):
    """The values of a configuration or of a file's header."""

    def __init__(self, values: Mapping[str, Any], path: str) -> None:
        """Take ``values``; lists that hold more than plain values count as absent."""
        super().__init__({k: v for k, v in values.items() if not _is_nested(v)}, path)

    def words(self, key: str) -> list[str]:
        """A list of strings; empty where the key is absent."""
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise corrupt(self.path, f"its {key} is not a list of words")
        return value

    def flags(self, key: str) -> list[bool]:
        """A list of true and false; empty where the key is absent or holds something else."""
        value = self._values.get(key)
        if isinstance(value, np.ndarray) and value.dtype == np.bool_:
            return [bool(item) for item in value.reshape(-1)]
        return []


def _is_nested(value: Any) -> bool:
    plain = str | int | float | None
    return isinstance(value, list) and not all(isinstance(item, plain) for item in value)


def read_config_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises ModelMissingError or ModelCorruptError."""
    with map_file(path) as data:
        if len(data) > _MAX_CONFIG_BYTES:
            raise corrupt(str(path), f"it has {len(data)} bytes")
        raw = data[:]
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), "it is not JSON") from error
    if not isinstance(values, dict):
        raise corrupt(str(path), "it is not a table")
    return values
