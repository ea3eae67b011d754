"""The file that keeps the cache of one conversation: its format, nothing of tables or tensors.

::

    magic | length of the header | header: JSON | record 0 | record 1 | ...
    record: token ids, 4 bytes each | contents of the block | digest

All records are of one size. A digest covers its record and the digest before it (of the first
record: the header), so that a record counts only behind all those before it, undamaged. A file is
added to in place; what a crash leaves half written is not read.
"""

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, Self

_MAGIC: Final = b"kvcache2"
_LENGTH: Final = struct.Struct("<I")
_MAX_HEADER: Final = 1 << 16
_DIGEST_BYTES: Final = 16


class ArchiveError(Exception):
    """The file cannot be used. The message says why, for the log."""


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """What the contents depend on. ``block_bytes``: length of one block's contents."""

    model: str
    precision: str
    block_size: int
    block_bytes: int

    def encoded(self) -> bytes:
        """The beginning of a file with this header."""
        text = json.dumps(asdict(self), sort_keys=True).encode()
        return _MAGIC + _LENGTH.pack(len(text)) + text


class ArchiveFile:
    """An open file of one header; use it as a context manager."""

    def __init__(self, path: Path, header: ArchiveHeader, *, is_writable: bool) -> None:
        """Open the file, for writing also a new one. Raises OSError or ArchiveError."""
        self._start = header.encoded()
        self._token_bytes = 4 * header.block_size
        self._block_bytes = header.block_bytes
        self._record_bytes = self._token_bytes + header.block_bytes + _DIGEST_BYTES
        self._file = self._open(path, header, is_writable=is_writable)
        size = os.fstat(self._file.fileno()).st_size
        self.num_records = (size - len(self._start)) // self._record_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    def token_ids(self, index: int) -> list[int]:
        """The token ids of a record, its digest not checked."""
        self._file.seek(self._offset(index))
        return _unpack(self._file.read(self._token_bytes))

    def contents_start(self, index: int, length: int) -> bytes:
        """The first ``length`` bytes of a record's contents, its digest not checked."""
        self._file.seek(self._offset(index) + self._token_bytes)
        return self._file.read(length)

    def read(self, index: int) -> tuple[list[int], bytes]:
        """A record's token ids and contents. Raises ArchiveError where it is damaged."""
        before = self._digest_before(index)
        self._file.seek(self._offset(index))
        record = self._file.read(self._record_bytes)
        body, digest = record[:-_DIGEST_BYTES], record[-_DIGEST_BYTES:]
        if len(record) != self._record_bytes or _digest(before, body) != digest:
            raise ArchiveError(f"record {index} is damaged")
        return _unpack(body[: self._token_bytes]), body[self._token_bytes :]

    def write(self, index: int, token_ids: Sequence[int], contents: bytes) -> None:
        """Put a record in place, behind all those before it; later ones are dropped."""
        assert len(contents) == self._block_bytes, "one block's contents"
        body = _pack(token_ids) + contents
        digest = _digest(self._digest_before(index), body)
        self._file.seek(self._offset(index))
        self._file.truncate()
        self._file.write(body + digest)
        self.num_records = index + 1

    def _open(self, path: Path, header: ArchiveHeader, *, is_writable: bool) -> IO[bytes]:
        if is_writable and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._begin(path)
        file = path.open("r+b" if is_writable else "rb")
        try:
            problem = self._problem(file, header)
        except BaseException:
            file.close()
            raise
        if problem is None:
            return file
        file.close()
        if not is_writable:
            raise ArchiveError(problem)
        return self._begin(path)

    def _begin(self, path: Path) -> IO[bytes]:
        file = path.open("w+b")
        file.write(self._start)
        file.flush()
        return file

    def _problem(self, file: IO[bytes], header: ArchiveHeader) -> str | None:
        magic = file.read(len(_MAGIC))
        length = file.read(_LENGTH.size)
        if magic != _MAGIC or len(length) != _LENGTH.size:
            return "it is not a kept cache"
        (num_bytes,) = _LENGTH.unpack(length)
        if num_bytes > _MAX_HEADER:
            return "its header is too long"
        try:
            found = json.loads(file.read(num_bytes))
        except ValueError:
            return "its header is damaged"
        wanted = asdict(header)
        if not isinstance(found, dict) or found.keys() != wanted.keys():
            return "its header is damaged"
        other = [name for name, value in wanted.items() if found[name] != value]
        return f"it was made with another {' and '.join(other)}" if other else None

    def _digest_before(self, index: int) -> bytes:
        assert 0 <= index <= self.num_records, "records follow one another"
        if index == 0:
            return self._start
        self._file.seek(self._offset(index) - _DIGEST_BYTES)
        return self._file.read(_DIGEST_BYTES)

    def _offset(self, index: int) -> int:
        return len(self._start) + index * self._record_bytes


def _digest(before: bytes, body: bytes) -> bytes:
    digest = blake2b(before, digest_size=_DIGEST_BYTES)
    digest.update(body)
    return digest.digest()


def _pack(token_ids: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(token_ids)}I", *token_ids)


def _unpack(data: bytes) -> list[int]:
    if len(data) % 4:
        raise ArchiveError("a record is cut off")
    return list(struct.unpack(f"<{len(data) // 4}I", data))
