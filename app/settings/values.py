"""The settings in force. Owned by the GUI thread; a snapshot of them goes to the disk.

Knows the declared fields and what the engine wants to hear; no Qt.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.settings.declared import FIELDS, problem_with
from app.settings.file import read_values
from engine.api import ModelOptions, Precision, SamplingParams
from ui.settings.fields import SettingValue

MIB = 1 << 20
MAX_RECENT_MODELS = 8
logger = logging.getLogger(__name__)


class Settings:
    """Values by key: every declared one is there and valid, unknown ones are kept as found."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, SettingValue] = {key: f.default for key, f in FIELDS.items()}
        self._unknown: dict[str, Any] = {}
        for key, value in (stored or {}).items():
            if key not in FIELDS:
                self._unknown[key] = value
            elif (problem := problem_with(FIELDS[key], value)) is None:
                self._values[key] = value
            else:
                logger.warning("Setting %s: %r %s; the default is used", key, value, problem)

    @classmethod
    def load(cls, path: Path) -> "Settings":
        """Read the file; a missing or damaged one gives the defaults."""
        return cls(read_values(path))

    def __getitem__(self, key: str) -> SettingValue:
        return self._values[key]

    def set(self, key: str, value: SettingValue) -> None:
        """Change one setting. Raises KeyError or ValueError for what is not declared so."""
        if (problem := problem_with(FIELDS[key], value)) is not None:
            message = f"{key}: {value!r} {problem}"
            raise ValueError(message)
        self._values[key] = value

    def values(self) -> Mapping[str, SettingValue]:
        """A copy of the declared values, by key."""
        return dict(self._values)

    def snapshot(self) -> Mapping[str, Any]:
        """What is written to the file: a copy, with the unknown keys."""
        return {**self._unknown, **self._values}

    # ------------------------------------------------------------------ what they mean

    def text(self, key: str) -> str:
        """A setting that is text; an empty string for None."""
        value = self._values[key]
        return "" if value is None else str(value)

    def whole(self, key: str) -> int | None:
        """A setting that is a whole number, or None for automatic."""
        value = self._values[key]
        return None if value is None else int(value)

    def number(self, key: str) -> float:
        """A setting that is a number."""
        value = self._values[key]
        assert value is not None
        return float(value)

    def flag(self, key: str) -> bool:
        """A setting that is on or off."""
        return bool(self._values[key])

    def model_options(self, path: str) -> ModelOptions:
        """How to load the model at ``path``."""
        budget = self.whole("kv_budget_mib")
        return ModelOptions(
            path=path,
            weights=Precision(self.text("weights")),
            context_length=self.whole("context_length"),
            threads=self.whole("threads"),
            kv_budget_bytes=None if budget is None else budget * MIB,
            kv_cache=self.flag("kv_cache"),
        )

    def sampling_params(self) -> SamplingParams:
        """How the next answer's tokens are chosen."""
        return SamplingParams(
            temperature=self.number("temperature"),
            top_k=self.whole("top_k") or 0,
            top_p=self.number("top_p"),
            min_p=self.number("min_p"),
            repetition_penalty=self.number("repetition_penalty"),
            seed=self.whole("seed"),
            max_tokens=self.whole("max_tokens"),
            stop=tuple(line for line in self.text("stop").splitlines() if line),
        )

    def recent_models(self) -> list[str]:
        """Paths of models that were loaded, latest first."""
        return self.text("recent_models").splitlines()

    def remember_model(self, path: str) -> None:
        """Put a model first among the recent ones."""
        others = [known for known in self.recent_models() if known != path]
        self._values["recent_models"] = "\n".join([path, *others][:MAX_RECENT_MODELS])
