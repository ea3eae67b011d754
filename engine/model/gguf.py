"""GGUF files: header, metadata and tensor table, every number checked before it is used.

Knows the container, not what the values mean: ``engine.quant.ggml`` decodes blocks,
``engine.model.config`` reads the metadata. A file may come from anywhere, so a count is refused
when what it announces cannot fit in the bytes that are left: no header can make the reader hang
or allocate more than the file's own size.

::

    magic version tensor_count metadata_count | key type value ... | name dims type offset ... |
    padding to general.alignment | tensor data
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.mapping import map_file
from engine.quant.ggml_types import GgmlType

MetadataValue = str | int | float | bool | list[str] | npt.NDArray[Any] | list[Any]

_MAGIC = b"GGUF"
_LFS_POINTER = b"version https://git-lfs"
_MAX_KEY_BYTES = 65_535
_MAX_NAME_BYTES = 1_024
_MAX_DIMS = 4
_MAX_NESTING = 3
_MAX_ALIGNMENT = 1 << 20
_MAX_ELEMENTS = 1 << 62
_MIN_PAIR_BYTES = 8 + 4 + 1  # key length, type, the smallest value
_MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8  # name length, dims, one dim, type, offset


class _ValueType(IntEnum):
    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_SCALARS = {
    _ValueType.UINT8: "<u1",
    _ValueType.INT8: "<i1",
    _ValueType.UINT16: "<u2",
    _ValueType.INT16: "<i2",
    _ValueType.UINT32: "<u4",
    _ValueType.INT32: "<i4",
    _ValueType.FLOAT32: "<f4",
    _ValueType.BOOL: "|u1",
    _ValueType.UINT64: "<u8",
    _ValueType.INT64: "<i8",
    _ValueType.FLOAT64: "<f8",
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of the table.

    ``shape`` is in torch order, outermost first; ``offset`` counts bytes from the file's start.
    """

    name: str
    shape: tuple[int, ...]
    type: GgmlType
    offset: int
    nbytes: int


class _BadFileError(Exception):
    """The file breaks the format's rules; the message is the reason."""


class _UnknownFeatureError(Exception):
    """The file uses something this reader does not know; the message names it."""


class _Cursor:
    """Reads forward through the file and never past its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._end = len(data)
        self.position = 0

    def _take(self, num_bytes: int, what: str) -> int:
        start = self.position
        if num_bytes > self._end - start:
            raise _BadFileError(f"it ends inside {what}")
        self.position = start + num_bytes
        return start

    def u32(self, what: str) -> int:
        start = self._take(4, what)
        return int.from_bytes(self._data[start : start + 4], "little")

    def u64(self, what: str) -> int:
        start = self._take(8, what)
        return int.from_bytes(self._data[start : start + 8], "little")

    def count(self, min_bytes: int, what: str) -> int:
        """A count of things that take at least ``min_bytes`` each."""
        count = self.u64(what)
        if count * min_bytes > self._end - self.position:
            raise _BadFileError(f"{what} is {count}, more than the file can hold")
        return count

    def text(self, limit: int, what: str) -> str:
        length = self.count(1, f"the length of {what}")
        if length > limit:
            raise _BadFileError(f"the length of {what} is {length}, over {limit}")
        start = self._take(length, what)
        return self._decode(self._data[start : start + length], what)

    def texts(self, what: str) -> list[str]:
        """An array of strings: one tight loop, because vocabularies have 300,000 of them."""
        count = self.count(8, f"the number of strings in {what}")
        data, position, end = self._data, self.position, self._end
        raw: list[bytes] = []
        for _ in range(count):
            start = position + 8
            length = int.from_bytes(data[position:start], "little")
            position = start + length
            if position > end or start > end:
                raise _BadFileError(f"it ends inside a string of {what}")
            raw.append(data[start:position])
        self.position = position
        try:
            return [item.decode() for item in raw]
        except UnicodeDecodeError as error:
            raise _BadFileError(f"{what} holds a string that is not UTF-8") from error

    def numbers(self, dtype: str, what: str) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        count = self.count(kind.itemsize, f"the number of values in {what}")
        start = self._take(count * kind.itemsize, what)
        return np.frombuffer(self._data, kind, count, start).copy()

    def scalar(self, dtype: str, what: str) -> int | float:
        kind = np.dtype(dtype)
        start = self._take(kind.itemsize, what)
        value: int | float = np.frombuffer(self._data, kind, 1, start)[0].item()
        return value

    @staticmethod
    def _decode(raw: bytes, what: str) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise _BadFileError(f"{what} is not UTF-8") from error


def _value_type(cursor: _Cursor, what: str) -> _ValueType:
    number = cursor.u32(f"the type of {what}")
    try:
        return _ValueType(number)
    except ValueError:
        raise _BadFileError(f"{what} has the unknown value type {number}") from None


def _read_value(cursor: _Cursor, kind: _ValueType, what: str, depth: int = 0) -> MetadataValue:
    if kind is _ValueType.STRING:
        return cursor.text(_MAX_ELEMENTS, what)
    if kind is _ValueType.ARRAY:
        return _read_array(cursor, what, depth + 1)
    value = cursor.scalar(_SCALARS[kind], what)
    return bool(value) if kind is _ValueType.BOOL else value


def _read_array(cursor: _Cursor, what: str, depth: int) -> MetadataValue:
    if depth > _MAX_NESTING:
        raise _BadFileError(f"{what} nests arrays more than {_MAX_NESTING} deep")
    kind = _value_type(cursor, what)
    if kind is _ValueType.STRING:
        return cursor.texts(what)
    if kind is _ValueType.ARRAY:
        count = cursor.count(12, f"the number of arrays in {what}")
        return [_read_array(cursor, what, depth + 1) for _ in range(count)]
    values = cursor.numbers(_SCALARS[kind], what)
    return values.astype(np.bool_) if kind is _ValueType.BOOL else values


def _read_metadata(cursor: _Cursor, count: int) -> dict[str, MetadataValue]:
    metadata: dict[str, MetadataValue] = {}
    for _ in range(count):
        key = cursor.text(_MAX_KEY_BYTES, "a metadata key")
        if key in metadata:
            raise _BadFileError(f"the metadata key {_shown(key)} appears twice")
        what = f"the metadata value {_shown(key)}"
        metadata[key] = _read_value(cursor, _value_type(cursor, what), what)
    return metadata


def _read_tensor(cursor: _Cursor) -> TensorInfo:
    """One row of the tensor table; its offset still counts from the start of the data."""
    name = cursor.text(_MAX_NAME_BYTES, "a tensor's name")
    what = f"tensor {_shown(name)}"
    num_dims = cursor.u32(f"the dimensions of {what}")
    if not 1 <= num_dims <= _MAX_DIMS:
        raise _BadFileError(f"{what} has {num_dims} dimensions")
    dims = [cursor.u64(f"the dimensions of {what}") for _ in range(num_dims)]
    number = cursor.u32(f"the type of {what}")
    offset = cursor.u64(f"the offset of {what}")
    try:
        kind = GgmlType(number)
    except ValueError:
        raise _UnknownFeatureError(f"tensor type {number}") from None
    elements = 1
    for dim in dims:
        elements *= dim
        if not 0 < elements < _MAX_ELEMENTS:
            raise _BadFileError(f"{what} has the impossible shape {dims}")
    if dims[0] % kind.block.values:
        raise _BadFileError(f"{what} has rows of {dims[0]} values, not whole {kind.name} blocks")
    nbytes = elements // kind.block.values * kind.block.nbytes
    return TensorInfo(name, tuple(reversed(dims)), kind, offset, nbytes)


def _read_tensors(cursor: _Cursor, count: int) -> dict[str, TensorInfo]:
    tensors: dict[str, TensorInfo] = {}
    for _ in range(count):
        info = _read_tensor(cursor)
        if info.name in tensors:
            raise _BadFileError(f"tensor {_shown(info.name)} appears twice")
        tensors[info.name] = info
    return tensors


def _place_tensors(
    tensors: dict[str, TensorInfo], data_start: int, file_bytes: int, alignment: int
) -> dict[str, TensorInfo]:
    """Turn offsets into file positions, and check that each tensor has bytes of its own."""
    placed: dict[str, TensorInfo] = {}
    for info in tensors.values():
        start = data_start + info.offset
        if info.offset % alignment:
            raise _BadFileError(f"tensor {_shown(info.name)} is not aligned to {alignment} bytes")
        if start + info.nbytes > file_bytes:
            raise _BadFileError(f"tensor {_shown(info.name)} lies past the end of the file")
        placed[info.name] = TensorInfo(info.name, info.shape, info.type, start, info.nbytes)
    previous_end = data_start
    for info in sorted(placed.values(), key=_start_of):
        if info.offset < previous_end:
            raise _BadFileError(f"tensor {_shown(info.name)} overlaps another one")
        previous_end = info.offset + info.nbytes
    return placed


def _start_of(info: TensorInfo) -> int:
    return info.offset


def _alignment(metadata: Mapping[str, MetadataValue]) -> int:
    value = metadata.get("general.alignment", 32)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _BadFileError("general.alignment is not a whole number")
    if not 1 <= value <= _MAX_ALIGNMENT or value & (value - 1):
        raise _BadFileError(f"general.alignment is {value}, not a power of two")
    return value


def _shown(name: str) -> str:
    """A name from the file, short and printable."""
    text = name if len(name) <= 64 else name[:61] + "..."
    return ascii(text)


class GgufFile:
    """An open, validated GGUF file. The file stays mapped until ``close``."""

    def __init__(
        self,
        path: Path,
        data: mmap.mmap,
        metadata: dict[str, MetadataValue],
        tensors: dict[str, TensorInfo],
    ) -> None:
        self.path = path
        self.file_bytes = len(data)
        self.metadata: Mapping[str, MetadataValue] = MappingProxyType(metadata)
        self.tensors: Mapping[str, TensorInfo] = MappingProxyType(tensors)
        self._data = data

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Map and check a file.

        Raises ModelMissingError (nothing readable there), ModelCorruptError (breaks the format)
        or ModelUnsupportedError (a version or tensor type this reader does not know).
        """
        path = Path(path)
        data = map_file(path)
        try:
            metadata, tensors = _parse(data)
        except _BadFileError as error:
            data.close()
            raise ModelCorruptError(
                f"{path.name} is not a sound GGUF file: {error}. Download it again.",
                path=str(path),
                reason=str(error),
            ) from error
        except _UnknownFeatureError as error:
            data.close()
            raise ModelUnsupportedError(
                f"{path.name} uses {error}, which this version cannot read.",
                path=str(path),
                feature=str(error),
            ) from error
        return cls(path, data, metadata, tensors)

    def raw(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of tensor ``name``, a read-only view of the file. KeyError if absent."""
        info = self.tensors[name]
        return np.frombuffer(self._data, np.uint8, info.nbytes, info.offset)

    def close(self) -> None:
        """Unmap the file; while views of it are alive, the last of them does it instead."""
        try:
            self._data.close()
        except BufferError:
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _parse(data: mmap.mmap) -> tuple[dict[str, MetadataValue], dict[str, TensorInfo]]:
    if data[: len(_LFS_POINTER)] == _LFS_POINTER:
        raise _BadFileError("it is a Git LFS pointer, not the model itself")
    if data[:4] != _MAGIC:
        raise _BadFileError("it does not begin with GGUF")
    cursor = _Cursor(data)
    cursor.position = 4
    version = cursor.u32("the version")
    if version not in {2, 3}:
        swapped = struct.unpack(">I", struct.pack("<I", version))[0]
        is_big_endian = swapped in {2, 3}
        raise _UnknownFeatureError(
            "big-endian numbers" if is_big_endian else f"GGUF version {version}"
        )
    num_tensors = cursor.count(_MIN_TENSOR_BYTES, "the number of tensors")
    num_pairs = cursor.count(_MIN_PAIR_BYTES, "the number of metadata entries")
    metadata = _read_metadata(cursor, num_pairs)
    alignment = _alignment(metadata)
    tensors = _read_tensors(cursor, num_tensors)
    data_start = -(-cursor.position // alignment) * alignment
    return metadata, _place_tensors(tensors, data_start, len(data), alignment)
