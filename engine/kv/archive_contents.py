"""What a record of a kept cache holds of one block: the contents in each group of layers.

Where all layers look back over everything: the contents of the block. Else a byte that tells which
groups are there (bit g: group g), then the contents of each, zeros where they are not there.
"""

from collections.abc import Sequence

from engine.kv.archive_file import ArchiveFile
from engine.kv.storage import PagedStorage
from engine.kv.transfer import BlockStorage, block_bytes, block_nbytes, fill_block


def parts_of(storage: BlockStorage) -> Sequence[BlockStorage]:
    """The storage of each group of layers."""
    return storage.parts if isinstance(storage, PagedStorage) else (storage,)


class BlockContents:
    """Packs the blocks of several storages into bytes of one length."""

    def __init__(self, parts: Sequence[BlockStorage], *, has_windows: bool) -> None:
        self._parts = parts
        self._sizes = [block_nbytes(part) for part in parts]
        self._has_marks = has_windows

    @property
    def nbytes(self) -> int:
        """Length of a record's contents."""
        return sum(self._sizes) + self._has_marks

    def kept(self, file: ArchiveFile, index: int) -> list[bool]:
        """Which groups have contents in a record."""
        marks = file.contents_start(index, 1)[0] if self._has_marks else 1
        return [bool(marks >> group & 1) for group in range(len(self._parts))]

    def are_in(self, file: ArchiveFile, index: int, blocks: Sequence[int | None]) -> bool:
        """Whether a record has what it would have if it was written now."""
        pairs = zip(blocks, self.kept(file, index), strict=True)
        return all(is_kept or block is None for block, is_kept in pairs)

    def pack(self, blocks: Sequence[int | None]) -> bytes:
        """The contents of a block in each group; None: it is not there."""
        marks = sum(1 << group for group, block in enumerate(blocks) if block is not None)
        contents = [
            bytes(size) if block is None else block_bytes(part, block)
            for part, size, block in zip(self._parts, self._sizes, blocks, strict=True)
        ]
        return b"".join([bytes([marks]) if self._has_marks else b"", *contents])

    def unpack(self, group: int, data: bytes, block: int) -> None:
        """Put back what a record holds of a group."""
        start = self._has_marks + sum(self._sizes[:group])
        fill_block(self._parts[group], block, data[start : start + self._sizes[group]])
