"""Which blocks hold which beginnings of texts, found by content.

A full block is known by the hash of its tokens and of everything before them, so that equal keys
mean equal keys and values in the cache. Knows nothing of owners or requests.
"""

from array import array
from collections.abc import Sequence
from hashlib import blake2b

_ROOT = b""


class PrefixIndex:
    """Chained content hash of a full block -> block."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._block_of: dict[bytes, int] = {}
        self._key_of: dict[int, bytes] = {}

    def __contains__(self, block: object) -> bool:
        """Whether ``block`` can be found by its content."""
        return block in self._key_of

    def __len__(self) -> int:
        return len(self._key_of)

    def key(self, parent: bytes | None, token_ids: Sequence[int]) -> bytes:
        """The key of a full block of ``token_ids`` that follows the block ``parent``."""
        return blake2b(
            (parent or _ROOT) + array("q", token_ids).tobytes(), digest_size=16
        ).digest()

    def match(self, token_ids: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """The blocks that hold the longest known beginning of ``token_ids``, and their keys.

        The last token is never covered: at least one token has to be computed for its logits.
        """
        size = self._block_size
        blocks: list[int] = []
        keys: list[bytes] = []
        parent: bytes | None = None
        for start in range(0, len(token_ids) - size, size):
            parent = self.key(parent, token_ids[start : start + size])
            block = self._block_of.get(parent)
            if block is None:
                break
            blocks.append(block)
            keys.append(parent)
        return blocks, keys

    def add(self, key: bytes, block: int) -> None:
        """Make ``block`` findable, unless another block already holds the same content."""
        if key not in self._block_of:
            assert block not in self._key_of, "a block holds one content"
            self._block_of[key] = block
            self._key_of[block] = key

    def drop(self, block: int) -> None:
        """Forget ``block``: its content is about to be overwritten."""
        key = self._key_of.pop(block, None)
        if key is not None:
            del self._block_of[key]
