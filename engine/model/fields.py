"""Typed reads from a checkpoint's key-value header, with errors that name the key."""

import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.config import corrupt


class Fields:
    """A view of ``values`` for the checkpoint at ``path``.

    ``names``: what the header calls a key, where that differs from what callers ask for.
    """

    def __init__(
        self, values: Mapping[str, Any], path: str, names: Mapping[str, str] | None = None
    ) -> None:
        self._values = values
        self._names = names or {}
        self.path = path

    def __contains__(self, key: str) -> bool:
        return self._value(key) is not None

    @overload
    def whole(self, key: str) -> int: ...
    @overload
    def whole(self, key: str, default: int) -> int: ...

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; one a layer is accepted if all are the same."""
        value = self._get(key, default)
        if isinstance(value, np.ndarray | list):
            distinct = set(np.asarray(value).reshape(-1).tolist())
            if len(distinct) != 1:
                raise self.unsupported(f"a {key} that differs between layers")
            value = distinct.pop()
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, "a whole number")
        return value

    def real(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, "a number")
        if not math.isfinite(value):
            raise self._wrong(key, "a finite number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def reals(self, key: str) -> tuple[float, ...]:
        """A list of finite numbers; empty where the key is absent."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list | np.ndarray):
            raise self._wrong(key, "a list of numbers")
        numbers = [item for item in value if isinstance(item, int | float | np.floating)]
        if len(numbers) != len(value) or not all(math.isfinite(item) for item in numbers):
            raise self._wrong(key, "a list of numbers")
        return tuple(float(item) for item in numbers)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where the key is absent."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def names(self) -> tuple[str, ...]:
        """All keys, in the order of the file."""
        return tuple(self._values)

    def sizes(self, key: str) -> list[int]:
        """A list of whole numbers."""
        value = self._get(key, None)
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self._wrong(key, "a list of whole numbers")
        return value

    def section(self, key: str) -> "Fields | None":
        """A nested table, or None where there is none."""
        value = self._value(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(key, "a table")
        return Fields(value, self.path)

    def ids(self, key: str) -> tuple[int, ...]:
        """One token id, or a list of them; empty where the key is absent."""
        value = self._value(key)
        if value is None:
            return ()
        ids = value if isinstance(value, list) else [value]
        if not all(isinstance(item, int) and not isinstance(item, bool) for item in ids):
            raise self._wrong(key, "a token id")
        return tuple(ids)

    def unsupported(self, feature: str) -> ModelUnsupportedError:
        """The error for a sound checkpoint that needs ``feature``."""
        return ModelUnsupportedError(
            f"The model at {self.path} needs {feature}, which this version cannot run.",
            path=self.path,
            feature=feature,
        )

    def _get(self, key: str, default: Any) -> Any:
        value = self._value(key)
        if value is not None:
            return value
        if default is None:
            raise corrupt(self.path, f"it does not say its {self._names.get(key, key)}")
        return default

    def _value(self, key: str) -> Any:
        return self._values.get(self._names.get(key, key))

    def _wrong(self, key: str, expected: str) -> ModelCorruptError:
        return corrupt(self.path, f"its {self._names.get(key, key)} is not {expected}")
