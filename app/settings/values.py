"""The settings in force. Owned by the GUI thread; a snapshot of them goes to the disk.

Knows the declared fields, which of them are secrets and so lie in a file of their own, and what
the engine wants to hear; no Qt.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.settings.declared import FIELDS, INT4_CALIBRATED, NO_DRAFT, problem_with
from app.settings.file import read_values, write_values
from engine.api import KVPrecision, ModelOptions, Precision, SamplingParams
from ui.settings.fields import SettingValue

MIB = 1 << 20
MAX_RECENT_MODELS = 8
SECRETS = frozenset(key for key, field in FIELDS.items() if field.is_secret)
logger = logging.getLogger(__name__)


def write_settings(path: Path, secrets: Path, values: Mapping[str, Any]) -> None:
    """Put a snapshot on disk: secrets into their own file, which only its owner may read.

    Raises OSError. Secrets come first: a token that is being moved is in one file or in both.
    """
    kept = {key: values[key] for key in sorted(SECRETS) if values.get(key)}
    if not kept:
        secrets.unlink(missing_ok=True)
    elif read_values(secrets) != kept:
        write_values(secrets, kept)
    write_values(path, {key: value for key, value in values.items() if key not in SECRETS})


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
                shown = "(a secret)" if key in SECRETS else repr(value)
                logger.warning("Setting %s: %s %s; the default is used", key, shown, problem)

    @classmethod
    def load(cls, path: Path, secrets: Path | None = None) -> "Settings":
        """Read the files; a missing or damaged one gives the defaults.

        Secrets that an earlier version left among the settings move into ``secrets``.
        """
        stored = read_values(path)
        if secrets is None:
            return cls(stored)
        values = {**stored, **read_values(secrets)}
        if any(stored.get(key) for key in SECRETS):
            try:
                write_settings(path, secrets, values)
            except OSError as error:
                logger.warning("Secrets stay among the settings: %s", error)
        return cls(values)

    def __getitem__(self, key: str) -> SettingValue:
        return self._values[key]

    def set(self, key: str, value: SettingValue) -> None:
        """Change one setting. Raises KeyError or ValueError for what is not declared so."""
        if (problem := problem_with(FIELDS[key], value)) is not None:
            shown = "(a secret)" if key in SECRETS else repr(value)
            message = f"{key}: {shown} {problem}"
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

    def _mebibytes(self, key: str) -> int | None:
        size = self.whole(key)
        return None if size is None else size * MIB

    def model_options(self, path: str) -> ModelOptions:
        """How to load the model at ``path``."""
        is_calibrated = self.text("weights") == INT4_CALIBRATED
        draft = self.text("draft")
        return ModelOptions(
            path=path,
            weights=Precision.INT4 if is_calibrated else Precision(self.text("weights")),
            context_length=self.whole("context_length"),
            threads=self.whole("threads"),
            kv_budget_bytes=self._mebibytes("kv_budget_mib"),
            kv_cache=self.flag("kv_cache"),
            prefix_cache=self.flag("prefix_cache"),
            max_streams=self.whole("max_streams") or 1,
            gpu_budget_bytes=self._mebibytes("gpu_budget_mib"),
            calibrated=is_calibrated,
            kv=KVPrecision(self.text("kv")),
            draft=None if draft == NO_DRAFT else draft,
        )

    def sampling_params(self) -> SamplingParams:
        """How the next answer's tokens are chosen."""
        return SamplingParams(
            temperature=self.number("temperature"),
            top_k=self.whole("top_k") or 0,
            top_p=self.number("top_p"),
            min_p=self.number("min_p"),
            typical_p=self.number("typical_p"),
            repetition_penalty=self.number("repetition_penalty"),
            presence_penalty=self.number("presence_penalty"),
            frequency_penalty=self.number("frequency_penalty"),
            seed=self.whole("seed"),
            max_tokens=self.whole("max_tokens"),
            stop=tuple(line for line in self.text("stop").splitlines() if line),
            json_schema=self.text("json_schema") if self.text("json_schema").strip() else None,
        )

    def recent_models(self) -> list[str]:
        """Paths of models that were loaded, latest first."""
        return [entry.partition("\t")[0] for entry in self.recent_entries()]

    def recent_entries(self) -> list[str]:
        """The same; behind a tab stands the name of a model whose file has none."""
        return self.text("recent_models").splitlines()

    def remember_model(self, path: str, name: str = "") -> None:
        """Put a model first among the recent ones. ``name``: of one whose file has none."""
        words = " ".join(name.split())  # a name from a file may have line breaks
        entry = f"{path}\t{words}" if words else path
        others = [known for known in self.recent_entries() if known.partition("\t")[0] != path]
        self._values["recent_models"] = "\n".join([entry, *others][:MAX_RECENT_MODELS])
