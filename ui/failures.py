"""A failure as one translated sentence.

The engine sends a code, an English sentence and the values in it. Codes that have a sentence
here are told in the reader's language; any other, or one whose values are missing, falls back to
the engine's English sentence. Knows no widget.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePath

from PySide6.QtCore import QLocale

from engine.api import Failure
from ui.i18n import tr

_Details = Mapping[str, str | int]


def sentence(failure: Failure) -> str:
    """What happened, what was kept and what to do, in the reader's language."""
    tell = _SENTENCES.get(failure.code)
    if tell is None:
        return failure.message
    try:
        return tell(failure.details)
    except (KeyError, ValueError):
        return failure.message


def _file_name(details: _Details) -> str:
    return PurePath(str(details["path"])).name or str(details["path"])


def _count(details: _Details, key: str) -> str:
    return f"{int(details[key]):,}"


def _size(details: _Details, key: str) -> str:
    return QLocale.c().formattedDataSize(int(details[key]), 1)


def _model_missing(details: _Details) -> str:
    if "part" in details:
        return tr(
            "The model is in {count} files and {part} is missing. Nothing was changed; put all of them in one folder.",
            count=details["count"],
            part=details["part"],
        )
    return tr(
        "There is no model at {path}. Nothing was changed; choose another file.",
        path=details["path"],
    )


def _model_corrupt(details: _Details) -> str:
    return tr(
        "{name} is damaged or incomplete ({reason}). Nothing was changed; get the file again or choose another.",
        name=_file_name(details),
        reason=details["reason"],
    )


def _model_unsupported(details: _Details) -> str:
    return tr(
        "{name} uses {feature}, which this version cannot run. Nothing was changed; choose another model.",
        name=_file_name(details),
        feature=details["feature"],
    )


def _template_failed(details: _Details) -> str:
    return tr(
        "The model's chat template could not be applied ({reason}). Your message is kept.",
        reason=details["reason"],
    )


def _prompt_too_long(details: _Details) -> str:
    return tr(
        "This prompt needs {needed} tokens; the model reads {limit}. Nothing was sent.",
        needed=_count(details, "needed"),
        limit=_count(details, "limit"),
    )


def _out_of_memory(details: _Details) -> str:
    return tr(
        "This needs {needed} of memory and {available} is free. Choose a shorter context, a smaller precision or a smaller model.",
        needed=_size(details, "needed"),
        available=_size(details, "available"),
    )


def _invalid_request(details: _Details) -> str:
    return tr(
        "One of the settings cannot be used ({reason}). Your message is kept.",
        reason=details["reason"],
    )


def _load_cancelled(_details: _Details) -> str:
    return tr("Loading was cancelled.")


def _model_not_loaded(_details: _Details) -> str:
    return tr("No model is loaded. Choose one above; your message is kept.")


def _engine_fault(_details: _Details) -> str:
    return tr(
        "The engine met a fault of its own; the text so far is kept. Try again; if it fails again, load the model again or with another weight precision."
    )


_SENTENCES: Mapping[str, Callable[[_Details], str]] = {
    "model_missing": _model_missing,
    "model_corrupt": _model_corrupt,
    "model_unsupported": _model_unsupported,
    "template_failed": _template_failed,
    "prompt_too_long": _prompt_too_long,
    "out_of_memory": _out_of_memory,
    "invalid_request": _invalid_request,
    "load_cancelled": _load_cancelled,
    "model_not_loaded": _model_not_loaded,
    "engine_fault": _engine_fault,
}
