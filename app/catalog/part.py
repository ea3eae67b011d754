"""A file that has not arrived whole yet: ``name.HASH.part`` beside its place.

The hash in the name ties the part to one content, so that it can be continued on any later day
and is never mixed with another version. Only a part whose checksum is right gets the final name.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from app.catalog import errors
from app.catalog.remote import RemoteFile

_BLOCK = 1 << 20


class Part:
    """The bytes of ``file`` that are here. Open between ``check`` and ``close``; raises OSError.

    ``num_bytes`` of them are there and counted into the checksum: SHA-256, git's own where that
    is all the hub tells, and only the count where it tells neither.
    """

    def __init__(self, file: RemoteFile, place: Path) -> None:
        self.num_bytes = 0
        self._file = file
        self._place = place
        key = (file.sha256 or file.blob_id or str(file.num_bytes))[:12]
        self._path = place.with_name(f"{place.name}.{key}.part")
        self._target: BinaryIO | None = None
        self._start_count()

    @property
    def is_placed(self) -> bool:
        """Whether the whole file is in its place already."""
        return self._place.is_file() and self._place.stat().st_size == self._file.num_bytes

    @property
    def missing_bytes(self) -> int:
        """Bytes that still have to come."""
        if self.is_placed:
            return 0
        here = self._path.stat().st_size if self._path.is_file() else 0
        return max(0, self._file.num_bytes - here)

    def check(self) -> Iterator[int]:
        """Open the part and read through what is there; yields the bytes of each block."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.is_file() and self._path.stat().st_size > self._file.num_bytes:
            self._path.unlink()
        self._target = self._path.open("a+b")
        self._target.seek(0)
        while block := self._target.read(_BLOCK):
            self._count(block)
            yield len(block)

    def write(self, block: bytes) -> None:
        """Add a block. Raises DamagedError when that is more than was announced."""
        assert self._target is not None
        if self.num_bytes + len(block) > self._file.num_bytes:
            self.discard()
            raise errors.damaged(self._file.name)
        self._target.write(block)
        self._count(block)

    def start_over(self) -> None:
        """Forget what is there: the server begins with the first byte again."""
        assert self._target is not None
        self._target.truncate(0)
        self.num_bytes = 0
        self._start_count()

    def finish(self) -> None:
        """Give the file its name, if it is right. Raises DamagedError; then the part is gone."""
        assert self._target is not None
        self._target.flush()
        os.fsync(self._target.fileno())
        self.close()
        digest = self._hash.hexdigest()
        wanted = self._file.sha256 or self._file.blob_id or digest
        if self.num_bytes != self._file.num_bytes or digest != wanted:
            self.discard()
            raise errors.damaged(self._file.name)
        self._path.replace(self._place)

    def close(self) -> None:
        """Close the part, which stays."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def discard(self) -> None:
        """Delete the part."""
        self.close()
        self._path.unlink(missing_ok=True)

    def _start_count(self) -> None:
        if self._file.blob_id and not self._file.sha256:
            head = b"blob %d\0" % self._file.num_bytes
            self._hash = hashlib.sha1(head, usedforsecurity=False)
        else:
            self._hash = hashlib.sha256()

    def _count(self, block: bytes) -> None:
        self._hash.update(block)
        self.num_bytes += len(block)
