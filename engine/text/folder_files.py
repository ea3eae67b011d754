"""Reads the small files of a model folder: size-limited, and every failure one sentence."""

import json
from pathlib import Path
from typing import Any, Final

from engine.errors import ModelMissingError
from engine.text.vocabulary import corrupt_tokenizer

MAX_FILE_BYTES: Final = 256 << 20
MAX_CONFIG_BYTES: Final = 16 << 20


def read_bytes(file: Path, limit: int) -> bytes | None:
    """What is in the file; None when there is no such file.

    Raises ModelCorruptError (over ``limit`` bytes) or ModelMissingError (it cannot be read).
    """
    path = str(file.parent)
    try:
        if file.stat().st_size > limit:
            raise corrupt_tokenizer(f"{file.name} is too large", path)
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ModelMissingError(
            f"{file.name} could not be read ({reason}); check the model folder.", path=path
        ) from None


def read_text(file: Path, limit: int) -> str | None:
    """The file's text; None when there is no such file. Raises what ``read_bytes`` raises."""
    data = read_bytes(file, limit)
    if data is None:
        return None
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise corrupt_tokenizer(f"{file.name} is not UTF-8", str(file.parent)) from None


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """A small JSON file; empty when absent."""
    text = read_text(folder / name, MAX_CONFIG_BYTES)
    return {} if text is None else parse_object(text, str(folder))


def parse_object(text: str, path: str) -> dict[str, Any]:
    """A JSON object. Raises ModelCorruptError for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise corrupt_tokenizer("it is not JSON", path) from None
    if not isinstance(value, dict):
        raise corrupt_tokenizer("it is not a JSON object", path)
    return value


def token_name(value: Any) -> str:
    """The content of a token written as text or as a table; empty for anything else."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def answer_ends(folder: Path, vocab_size: int) -> list[int]:
    """The ids in the vocabulary that generation_config.json lets an answer end with."""
    value = read_config(folder, "generation_config.json").get("eos_token_id")
    values = value if isinstance(value, list) else [value]
    return [i for i in values if type(i) is int and 0 <= i < vocab_size]
