"""Reports of answers as compressed JSON and back. Runs no statement.

Fields are written by their names and read by their types. What a later version added is ignored;
what is damaged, or lacks a field that has no default, is no report.
"""

import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from engine.api import AnswerReport

# a report of 100,000 tokens is a few MB; whoever wrote more did not mean to
MAX_BYTES = 64 << 20
logger = logging.getLogger(__name__)


def encode_report(report: AnswerReport) -> bytes:
    """What is stored of a report."""
    text = json.dumps(_plain(report), separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(text.encode("utf-8"), 6)


def decode_report(stored: bytes) -> AnswerReport | None:
    """Read what ``encode_report`` gave; None for anything else."""
    try:
        expander = zlib.decompressobj()
        text = expander.decompress(stored, MAX_BYTES)
        report = _typed(AnswerReport, json.loads(text))
    except (ValueError, TypeError, KeyError, LookupError, RecursionError, zlib.error) as error:
        logger.info("A stored report cannot be read: %s", error)
        return None
    assert isinstance(report, AnswerReport)
    return report


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        # times and ids of many thousand tokens
        is_flat = bool(value) and isinstance(value[0], int)
        return list(value) if is_flat else [_plain(item) for item in value]
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any) -> Any:
    """``value`` as what ``kind`` annotates. Raises TypeError, ValueError or KeyError."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        return _any_of(get_args(kind), value)
    if origin is tuple:
        return _tuple_of(get_args(kind), value)
    if not (origin is None or isinstance(value, dict)):
        raise TypeError(f"{value!r} is no mapping")
    if origin is not None:
        inner = get_args(kind)[1]
        return {str(key): _typed(inner, item) for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        known = _hints(kind)
        return kind(**{name: _typed(known[name], value[name]) for name in known if name in value})
    if issubclass(kind, Enum):
        return kind(value)
    return _scalar(kind, value)


def _any_of(kinds: Sequence[Any], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    wanted = [kind for kind in kinds if kind is not type(None)]
    if len(wanted) == 1:
        return _typed(wanted[0], value)
    if type(value) not in wanted:
        raise TypeError(f"{value!r} is none of {wanted}")
    return value


def _tuple_of(kinds: Sequence[Any], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    if kinds[-1] is not Ellipsis:
        return tuple(_typed(kind, item) for kind, item in zip(kinds, value, strict=True))
    if kinds[0] is int and all(type(item) is int for item in value):
        return tuple(value)
    return tuple(_typed(kinds[0], item) for item in value)


def _scalar(kind: type, value: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
