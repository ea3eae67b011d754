"""The engine's own evaluation as a program of its own: how it is started, what it says.

It runs outside this process, so that it can be stopped at any moment and slows no answer: see
``python -m engine eval --help``.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.api import Failure

# the frozen app is one program; with this word first it is the engine, see app/__main__.py
ENGINE_WORD = "--engine"


def engine_command() -> list[str]:
    """What starts the engine's command line with this interpreter, or with this frozen app."""
    if getattr(sys, "frozen", False):
        return [sys.executable, ENGINE_WORD]
    return [sys.executable, "-m", "engine"]


def engine_folder() -> Path:
    """Where it is started: the folder in which the package ``engine`` lies."""
    return Path(__file__).resolve().parents[2]


def evaluation_arguments(path: str, weights: str) -> list[str]:
    """Measure the model at ``path`` with these weights, over the built-in texts."""
    return ["eval", "--model", path, "--weights", weights, "--json", "--progress"]


def progress_in(lines: Sequence[str]) -> float | None:
    """The last part (0 to 1) that these lines tell as done; None where none does."""
    for line in reversed(lines):
        told = _object(line).get("progress")
        if isinstance(told, int | float) and not isinstance(told, bool):
            return min(1.0, max(0.0, float(told)))
    return None


def sentence_in(lines: Sequence[str]) -> str:
    """The last line that is words, for a person: why the program ended."""
    words = (line.strip() for line in reversed(lines) if not _object(line))
    return next((line for line in words if line), "")


def failure_in(lines: Sequence[str]) -> Failure | None:
    """The failure that these lines tell with its figures; None where none does."""
    for line in reversed(lines):
        told = _object(line).get("failure")
        if isinstance(told, dict) and {"code", "message"} <= told.keys():
            details = told.get("details")
            known = details if isinstance(details, dict) else {}
            return Failure(str(told["code"]), str(told["message"]), known)
    return None


def result_in(text: str) -> dict[str, Any]:
    """The object that was printed; empty where there is none."""
    return _object(text)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
