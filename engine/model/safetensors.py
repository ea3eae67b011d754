"""Safetensors files: one, or several under an index, with every offset checked before use.

::

    header length (u64) | JSON: name -> {dtype, shape, data_offsets} | tensor data

Knows the container only. Nothing in such a file is code.
"""

import json
import math
import mmap
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import torch

from engine.errors import ModelUnsupportedError
from engine.model.config import corrupt
from engine.model.mapping import map_file

_MAX_HEADER_BYTES = 100_000_000
_MAX_DIMS = 8
_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_ITEM_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E5M2": 1,
    "F8_E4M3": 1,
    "F8_E8M0": 1,
    "I16": 2,
    "U16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "I64": 8,
    "U64": 8,
    "F64": 8,
}
_TORCH_TYPES = {
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F64": torch.float64,
}
# scaled by a neighbour, so that they are read as they are stored only
_SCALED = {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E8M0": torch.float8_e8m0fnu,
}
_INTEGERS = {
    "U8": torch.uint8,
    "I8": torch.int8,
    "I32": torch.int32,
    "I64": torch.int64,
}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One entry of a header. ``offset`` counts bytes from the file's start."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


class _BadHeaderError(Exception):
    """The header breaks the format's rules; the message is the reason."""


class SafetensorsFile:
    """An open, validated file. It stays mapped until ``close``."""

    def __init__(self, path: Path, data: mmap.mmap, tensors: dict[str, StoredTensor]) -> None:
        self.path = path
        self.file_bytes = len(data)
        self.tensors: Mapping[str, StoredTensor] = MappingProxyType(tensors)
        self._data = data

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Map and check a file; raises ModelMissingError or ModelCorruptError."""
        path = Path(path)
        data = map_file(path)
        try:
            return cls(path, data, _parse(data))
        except _BadHeaderError as error:
            data.close()
            raise corrupt(str(path), str(error)) from error

    def tensor(self, name: str, first: int = 0, rows: int | None = None) -> torch.Tensor:
        """A copy of a floating-point tensor, in the type it is stored in.

        ``rows``: only so many rows from ``first`` on; those of a stack [E, N, K] are E * N.
        """
        info = self.tensors[name]
        dtype = _TORCH_TYPES.get(info.dtype)
        if dtype is None:
            raise ModelUnsupportedError(
                f"{self.path.name} keeps weights as {info.dtype}, which this version cannot read.",
                path=str(self.path),
                feature=info.dtype,
            )
        if not info.nbytes:
            return torch.empty(info.shape, dtype=dtype)
        if rows is None:
            raw = np.frombuffer(self._data, np.uint8, info.nbytes, info.offset).copy()
            return torch.from_numpy(raw).view(dtype).view(info.shape)
        columns = info.shape[-1:] if len(info.shape) > 1 else ()
        row_bytes = math.prod(columns) * dtype.itemsize
        at = info.offset + first * row_bytes
        raw = np.frombuffer(self._data, np.uint8, rows * row_bytes, at).copy()
        return torch.from_numpy(raw).view(dtype).view(rows, *columns)

    def stored(self, name: str) -> torch.Tensor:
        """A copy of a whole tensor in the type it is stored in, integers and 8-bit floats included."""
        info = self.tensors[name]
        dtype = (_TORCH_TYPES | _INTEGERS | _SCALED).get(info.dtype)
        if dtype is None:
            raise corrupt(str(self.path), f"the tensor {name[:64]} is of type {info.dtype}")
        if not info.nbytes:
            return torch.empty(info.shape, dtype=dtype)
        raw = np.frombuffer(self._data, np.uint8, info.nbytes, info.offset).copy()
        return torch.from_numpy(raw).view(dtype).view(info.shape)

    def close(self) -> None:
        """Unmap the file."""
        self._data.close()


def open_folder(folder: Path) -> list[SafetensorsFile]:
    """Open model.safetensors, or every shard that the index names.

    Raises ModelMissingError (no such file) or ModelCorruptError (a bad file, an index that leads
    outside the folder, or a tensor that two shards hold).
    """
    index = folder / _INDEX
    names = _shard_names(index) if index.is_file() else [_SINGLE]
    with ExitStack() as opened:
        files = [opened.enter_context(closing(SafetensorsFile.open(folder / n))) for n in names]
        owners = Counter(tensor for file in files for tensor in file.tensors)
        twice = [tensor for tensor, count in owners.items() if count > 1]
        if twice:
            raise corrupt(str(folder), f"two files hold the tensor {twice[0][:64]!a}")
        opened.pop_all()  # all is well: the files stay open
    return files


def read_json(path: Path, limit: int = _MAX_HEADER_BYTES) -> dict[str, Any]:
    """Read a small JSON object; raises ModelMissingError or ModelCorruptError."""
    with map_file(path) as data:
        if len(data) > limit:
            raise corrupt(str(path), f"it has {len(data)} bytes")
        try:
            return _json_object(data[:])
        except _BadHeaderError as error:
            raise corrupt(str(path), str(error)) from error


def _shard_names(index: Path) -> list[str]:
    table = read_json(index).get("weight_map")
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise corrupt(str(index), "its weight_map is not a table of file names")
    names = sorted(set(table.values()))
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise corrupt(str(index), f"it names the file {name[:64]!a}")
    return names


def _parse(data: mmap.mmap) -> dict[str, StoredTensor]:
    if len(data) < 8:
        raise _BadHeaderError("it ends inside the header")
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(len(data) - 8, _MAX_HEADER_BYTES):
        raise _BadHeaderError(f"its header of {length} bytes does not fit")
    header = _json_object(data[8 : 8 + length])
    header.pop("__metadata__", None)
    start = 8 + length
    tensors = {name: _entry(name, entry, start, len(data)) for name, entry in header.items()}
    _check_overlap(tensors)
    return tensors


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw, object_pairs_hook=_unique_pairs)
    except (ValueError, RecursionError) as error:
        raise _BadHeaderError("it holds no valid JSON") from error
    if not isinstance(value, dict):
        raise _BadHeaderError("its JSON is not an object")
    return value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise _BadHeaderError("a name appears twice in its JSON")
    return table


def _entry(name: str, entry: Any, start: int, file_bytes: int) -> StoredTensor:
    what = f"the entry {name[:64]!a}"
    if not isinstance(entry, dict):
        raise _BadHeaderError(f"{what} is not a table")
    dtype = entry.get("dtype")
    shape = _sizes(entry.get("shape"))
    offsets = _sizes(entry.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in _ITEM_BYTES:
        raise _BadHeaderError(f"{what} has no known dtype")
    if shape is None or len(shape) > _MAX_DIMS:
        raise _BadHeaderError(f"{what} has no valid shape")
    if offsets is None or len(offsets) != 2:
        raise _BadHeaderError(f"{what} has no valid offsets")
    first, last = offsets
    nbytes = math.prod(shape) * _ITEM_BYTES[dtype]
    if last - first != nbytes or start + last > file_bytes:
        raise _BadHeaderError(f"{what} does not fit its bytes")
    return StoredTensor(name, dtype, tuple(shape), start + first, nbytes)


def _sizes(value: Any) -> list[int] | None:
    """``value`` if it is a list of sizes, else None; a bool is not a size."""
    if not isinstance(value, list):
        return None
    return value if all(type(v) is int and 0 <= v < 1 << 62 for v in value) else None


def _offset_of(tensor: StoredTensor) -> int:
    return tensor.offset


def _check_overlap(tensors: Mapping[str, StoredTensor]) -> None:
    end = 0
    for tensor in sorted(tensors.values(), key=_offset_of):
        if tensor.nbytes and tensor.offset < end:
            raise _BadHeaderError(f"the entry {tensor.name[:64]!a} overlaps another one")
        end = max(end, tensor.offset + tensor.nbytes)
