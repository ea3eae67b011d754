"""Which blocks hold which beginnings of texts, found by content.

A full block is known by the hash of its tokens and of everything before them, so that equal keys
mean equal keys and values in the cache. A block that is not full, or of which only a beginning
fits, is found by looking at what follows the same full blocks. Knows nothing of owners or requests.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat

_ROOT = b""
_FEW = 8  # blocks that are compared one by one


@dataclass(frozen=True, slots=True)
class _Entry:
    """What one block holds. ``key`` None: it is not full, and can only be copied or gone on with."""

    parent: bytes
    tokens: tuple[int, ...]
    key: bytes | None


@dataclass(frozen=True, slots=True)
class Tail:
    """A block whose first ``num_tokens`` tokens are what is wanted next.

    ``is_whole``: it holds nothing else, and is not full; whoever gets it can go on in its place.
    """

    block: int
    num_tokens: int
    is_whole: bool


class PrefixIndex:
    """Chained content hash of a full block -> block; and the blocks that follow each hash."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._block_of: dict[bytes, int] = {}
        self._entries: dict[int, _Entry] = {}
        self._followers: dict[bytes, list[int]] = {}

    def __contains__(self, block: object) -> bool:
        """Whether ``block`` can be found by its content."""
        return block in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def key(self, parent: bytes | None, token_ids: Sequence[int]) -> bytes:
        """The key of a full block of ``token_ids`` that follows the block ``parent``."""
        return blake2b(
            (parent or _ROOT) + array("q", token_ids).tobytes(), digest_size=16
        ).digest()

    def keys(self, token_ids: Sequence[int]) -> Iterator[bytes]:
        """The keys of all full blocks of a text, one after the other."""
        size, parent = self._block_size, None
        for start in range(0, len(token_ids) - size + 1, size):
            parent = self.key(parent, token_ids[start : start + size])
            yield parent

    def find(self, key: bytes) -> int | None:
        """The full block with this key."""
        return self._block_of.get(key)

    def find_all(self, keys: Iterable[bytes]) -> list[int]:
        """As ``find``, for many; -1 where there is none."""
        return list(map(self._block_of.get, keys, repeat(-1)))

    def match(self, token_ids: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """The blocks that hold the longest known beginning of ``token_ids``, and their keys.

        The last token is never covered: at least one token has to be computed for its logits.
        """
        size = self._block_size
        blocks: list[int] = []
        keys: list[bytes] = []
        parent = _ROOT
        for start in range(0, len(token_ids) - size, size):
            found = self._follower(parent, token_ids[start : start + size])
            if found is None:
                break
            block, parent = found
            blocks.append(block)
            keys.append(parent)
        return blocks, keys

    def match_tail(self, parent: bytes | None, token_ids: Sequence[int]) -> Tail | None:
        """The block after ``parent`` with the longest beginning in common with ``token_ids``.

        These are what follows the matched full blocks; the last of them is never covered.
        """
        best: Tail | None = None
        for block in self._followers.get(parent or _ROOT, ()):
            entry = self._entries[block]
            length = _common(entry.tokens, token_ids[:-1])
            if length > (0 if best is None else best.num_tokens):
                best = Tail(block, length, entry.key is None and length == len(entry.tokens))
        return best

    def add(self, key: bytes, block: int, parent: bytes | None, token_ids: Sequence[int]) -> None:
        """Make a full block findable, unless another block already holds the same content."""
        if key not in self._block_of:
            self._block_of[key] = block
            self._enter(block, _Entry(parent or _ROOT, tuple(token_ids), key))

    def add_tail(self, block: int, parent: bytes | None, token_ids: Sequence[int]) -> None:
        """Make a block that is not full findable, unless another one holds as much."""
        tokens = tuple(token_ids)
        others = (self._entries[other] for other in self._followers.get(parent or _ROOT, ()))
        if tokens and not any(entry.tokens[: len(tokens)] == tokens for entry in others):
            self._enter(block, _Entry(parent or _ROOT, tokens, None))

    def drop(self, block: int) -> None:
        """Forget ``block``: its content is about to be overwritten."""
        entry = self._entries.pop(block, None)
        if entry is None:
            return
        if entry.key is not None:
            del self._block_of[entry.key]
        followers = self._followers[entry.parent]
        followers.remove(block)
        if not followers:
            del self._followers[entry.parent]

    def check_integrity(self) -> None:
        """Assert that the three tables tell the same story."""
        full = {e.key: block for block, e in self._entries.items() if e.key is not None}
        assert full == self._block_of
        listed = sorted(block for blocks in self._followers.values() for block in blocks)
        assert listed == sorted(self._entries)
        for block, entry in self._entries.items():
            assert block in self._followers[entry.parent]
            assert (len(entry.tokens) == self._block_size) == (entry.key is not None)

    def _follower(self, parent: bytes, token_ids: Sequence[int]) -> tuple[int, bytes] | None:
        """The full block of ``token_ids`` after ``parent``, and its key.

        Few blocks follow the same text: to look at them costs less than to make the key.
        """
        followers = self._followers.get(parent, ())
        if len(followers) > _FEW:
            key = self.key(parent, token_ids)
            block = self._block_of.get(key)
            return None if block is None else (block, key)
        tokens = tuple(token_ids)
        for block in followers:
            entry = self._entries[block]
            if entry.tokens == tokens and entry.key is not None:
                return block, entry.key
        return None

    def _enter(self, block: int, entry: _Entry) -> None:
        assert block not in self._entries, "a block holds one content"
        self._entries[block] = entry
        self._followers.setdefault(entry.parent, []).append(block)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest beginning that both have."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))
