"""Block tables: which blocks hold the tokens of each request. Plain Python, no tensors.

Joins the pool (who owns a block) and the prefix index (what a block holds). A shortage is a value
that the scheduler must handle, never an exception.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.kv.block_pool import BlockPool
from engine.kv.prefix import PrefixIndex, Tail

# Fewer tokens than these are computed rather than copied: most texts begin with the same two.
LEAST_COPIED: Final = 4
# Reclaimed at once, so that the next owner's blocks lie side by side for a while.
_RECLAIMED: Final = 16


def ignore_blocks(_blocks: Sequence[int]) -> None:
    """Nobody needs to hear of blocks that were given back."""


@dataclass(slots=True)
class _Table:
    """One request's blocks in token order.

    ``keys`` are the content keys of its computed full blocks, from the first block on; ``tail``
    the computed tokens after these; a private table has neither. ``copy`` (source, target): the target, its last block, is to
    begin with what the source holds; until that is done the source is held, too.
    """

    blocks: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    tail: tuple[int, ...] = ()
    num_computed: int = 0
    copy: tuple[int, int] | None = None
    is_private: bool = False

    @property
    def parent(self) -> bytes | None:
        """The key of its last full block."""
        return self.keys[-1] if self.keys else None


class KVManager:
    """Blocks of ``block_size`` tokens for any number of requests.

    ``copies_tails``: texts that part inside a block share its beginning, too, by a copy that the
    runner makes. ``max_cached_blocks`` are kept for prefix hits at most (None: all there is).
    ``on_free`` hears of the blocks of each table that is closed.
    """

    def __init__(
        self,
        *,
        num_blocks: int,
        block_size: int,
        prefix_cache: bool,
        copies_tails: bool = False,
        max_cached_blocks: int | None = None,
        on_free: Callable[[Sequence[int]], None] = ignore_blocks,
    ) -> None:
        self._pool = BlockPool(num_blocks)
        self._prefix = PrefixIndex(block_size) if prefix_cache else None
        self._block_size = block_size
        self._copies_tails = copies_tails
        self._max_cached = num_blocks if max_cached_blocks is None else max_cached_blocks
        self._on_free = on_free
        self._tables: dict[str, _Table] = {}

    @property
    def has_prefix_cache(self) -> bool:
        """Whether texts are found again."""
        return self._prefix is not None

    @property
    def block_size(self) -> int:
        """Tokens a block."""
        return self._block_size

    @property
    def capacity(self) -> int:
        """Tokens that fit when one request owns every block."""
        return self._pool.num_blocks * self._block_size

    @property
    def num_blocks(self) -> int:
        """All blocks."""
        return self._pool.num_blocks

    @property
    def num_live_blocks(self) -> int:
        """Blocks some request refers to, shared ones counted once."""
        return self._pool.num_live

    @property
    def num_cached_blocks(self) -> int:
        """Blocks nobody refers to that are kept for prefix hits."""
        return self._pool.num_cached

    @property
    def num_available(self) -> int:
        """Blocks that nobody refers to."""
        return self._pool.num_available

    @property
    def num_live_tokens(self) -> int:
        """Computed tokens in live blocks, shared ones counted once."""
        filled: dict[int, int] = {}
        for table in self._tables.values():
            left = table.num_computed
            for block in table.blocks:
                if left <= 0:
                    break
                filled[block] = max(filled.get(block, 0), min(left, self._block_size))
                left -= self._block_size
        return sum(filled.values())

    def num_reusable(self, num_shared: int) -> int:
        """How many of ``num_shared`` tokens, computed before, a request could find at best."""
        return (
            num_shared if self._copies_tails else num_shared // self._block_size * self._block_size
        )

    def can_allocate(
        self,
        token_ids: Sequence[int],
        *,
        num_tokens: int,
        spare: int,
        without: Collection[str] = (),
    ) -> bool:
        """Whether a new request of ``token_ids`` could own blocks for ``num_tokens`` tokens now.

        ``spare`` blocks must stay available for the growth of the requests already running.
        ``without``: requests whose tables would be closed before.
        """
        given_back = self._only_owned_by(without)
        matched, _keys, tail = self._find(token_ids)
        held = {*matched, tail.block} if tail is not None and not tail.is_whole else set(matched)
        revived = sum(not self._pool.references(b) or b in given_back for b in held)
        needed = self.num_blocks_for(num_tokens) - len(matched)
        return needed + revived + spare <= self._pool.num_available + len(given_back)

    def find_blocks(self, token_ids: Sequence[int]) -> list[int]:
        """The full blocks, one after the other, that hold the beginning of ``token_ids``.

        Valid until the next change of any table.
        """
        return [] if self._prefix is None else self._prefix.match([*token_ids, 0])[0]

    def allocate(
        self, request_id: str, token_ids: Sequence[int], *, takes_tail: bool = True
    ) -> int:
        """Open a table that shares what is cached of ``token_ids``.

        Returns the number of cached tokens: they are computed, at least one token is not.
        ``takes_tail`` False: full blocks only.
        """
        assert request_id not in self._tables, "the request has a table"
        blocks, keys, tail = self._find(token_ids)
        for block in blocks:
            self._pool.share(block)
        table = _Table(blocks, keys, num_computed=len(blocks) * self._block_size)
        self._tables[request_id] = table
        if tail is not None and takes_tail:
            self._take_tail(request_id, table, tail, token_ids)
        return table.num_computed

    def allocate_private(self, request_id: str) -> int:
        """Open a table that shares nothing and that nobody finds; returns 0 cached tokens."""
        assert request_id not in self._tables, "the request has a table"
        self._tables[request_id] = _Table(is_private=True)
        return 0

    def append(self, request_id: str, num_tokens: int, *, room: int = 1) -> tuple[int, ...] | None:
        """Grow the table to ``num_tokens`` tokens and return its blocks.

        None, with nothing changed, when too few blocks are available. ``room`` is the number of
        tokens the request is known to need, so that its blocks are given a place of that size.
        """
        table = self._tables[request_id]
        missing = self.num_blocks_for(num_tokens) - len(table.blocks)
        if missing > self._pool.num_available:
            return None
        if missing > self._pool.num_blank:
            self._reclaim(max(missing - self._pool.num_blank, _RECLAIMED))
        for _ in range(missing):
            last = table.blocks[-1] if table.blocks else None
            block = self._pool.take(last, self.num_blocks_for(room) - len(table.blocks))
            assert block is not None, "enough blank blocks were counted"
            table.blocks.append(block)
        return tuple(table.blocks)

    def num_blocks_for(self, num_tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-num_tokens // self._block_size)

    def num_missing(self, request_id: str, num_tokens: int) -> int:
        """Blocks that the request would still need for ``num_tokens`` tokens."""
        return max(0, self.num_blocks_for(num_tokens) - len(self._tables[request_id].blocks))

    def pending_copy(self, request_id: str) -> tuple[int, int] | None:
        """Source and target block of the copy that the request's next step has to begin with."""
        return self._tables[request_id].copy

    def commit(self, request_id: str, known_ids: Sequence[int], num_computed: int) -> None:
        """Note that the first ``num_computed`` of ``known_ids`` are in the cache.

        Blocks that became full can be found by their content from now on. A copy that was
        pending has been made.
        """
        table = self._tables[request_id]
        self._end_copy(table)
        table.num_computed = num_computed
        if self._prefix is None or table.is_private:
            return
        size = self._block_size
        while (len(table.keys) + 1) * size <= num_computed:
            index = len(table.keys)
            tokens = known_ids[index * size : (index + 1) * size]
            key = self._prefix.key(table.parent, tokens)
            self._prefix.add(key, table.blocks[index], table.parent, tokens)
            table.keys.append(key)
        table.tail = tuple(known_ids[len(table.keys) * size : num_computed])

    def free(self, request_id: str) -> None:
        """Close the table. What was computed stays findable until its place is needed."""
        table = self._tables.pop(request_id, None)
        if table is None:
            return
        is_filled = table.copy is None  # else the tail's tokens never came
        self._end_copy(table)
        if self._prefix is not None and self._copies_tails and table.tail and is_filled:
            self._prefix.add_tail(table.blocks[len(table.keys)], table.parent, table.tail)
        self._release(table.blocks)
        self._on_free(table.blocks)

    def blocks(self, request_id: str) -> tuple[int, ...]:
        """The block table of one request, in token order."""
        return tuple(self._tables[request_id].blocks)

    def check_integrity(self) -> None:
        """Assert that the tables account for every reference and the index for every kept block."""
        self._pool.check_integrity()
        owners: dict[int, int] = {}
        for table in self._tables.values():
            assert len(set(table.blocks)) == len(table.blocks), "a block twice in one table"
            assert table.num_computed <= len(table.blocks) * self._block_size
            sources = () if table.copy is None else table.copy[:1]
            for block in (*table.blocks, *sources):
                owners[block] = owners.get(block, 0) + 1
        for block in range(self._pool.num_blocks):
            assert self._pool.references(block) == owners.get(block, 0)
            if owners.get(block, 0) > 1:
                assert self._prefix is not None, "shared without a prefix cache"
                assert block in self._prefix, "shared without being findable"
        kept = 0
        if self._prefix is not None:
            self._prefix.check_integrity()
            kept = len(self._prefix)
        assert self._pool.num_cached <= kept <= self._pool.num_cached + self._pool.num_live
        assert self._pool.num_cached <= self._max_cached

    def _find(self, token_ids: Sequence[int]) -> tuple[list[int], list[bytes], Tail | None]:
        if self._prefix is None:
            return [], [], None
        blocks, keys = self._prefix.match(token_ids)
        tail = None
        if self._copies_tails:
            rest = token_ids[len(blocks) * self._block_size :][: self._block_size]
            tail = self._prefix.match_tail(keys[-1] if keys else None, rest)
        if tail is not None and self._pool.references(tail.block):
            tail = Tail(tail.block, tail.num_tokens, is_whole=False)  # it is someone's already
        if tail is not None and tail.num_tokens < LEAST_COPIED and not tail.is_whole:
            tail = None
        return blocks, keys, tail

    def _take_tail(
        self, request_id: str, table: _Table, tail: Tail, token_ids: Sequence[int]
    ) -> None:
        """Go on in a block that nobody has, or get one that begins as it does."""
        assert self._prefix is not None
        start, end = table.num_computed, table.num_computed + tail.num_tokens
        self._pool.share(tail.block)
        if tail.is_whole:
            self._prefix.drop(tail.block)
            table.blocks.append(tail.block)
        elif self.append(request_id, end, room=len(token_ids)) is None:
            self._release([tail.block])
            return
        else:
            table.copy = (tail.block, table.blocks[-1])
        table.num_computed = end
        table.tail = tuple(token_ids[start:end])

    def _end_copy(self, table: _Table) -> None:
        if table.copy is not None:
            source, _target = table.copy
            table.copy = None
            self._release([source])

    def _only_owned_by(self, request_ids: Collection[str]) -> set[int]:
        """Blocks that nobody else refers to."""
        counts: dict[int, int] = {}
        for request_id in request_ids:
            table = self._tables[request_id]
            sources = () if table.copy is None else table.copy[:1]
            for block in (*table.blocks, *sources):
                counts[block] = counts.get(block, 0) + 1
        return {block for block, n in counts.items() if n == self._pool.references(block)}

    def _release(self, blocks: Sequence[int]) -> None:
        """Take one owner away from each block; keep what can be found again, within the budget."""
        self._pool.release(blocks, () if self._prefix is None else self._prefix)
        if self._pool.num_cached > self._max_cached:
            self._reclaim(self._pool.num_cached - self._max_cached)

    def _reclaim(self, num_blocks: int) -> None:
        for block in self._pool.reclaim(num_blocks):
            if self._prefix is not None:
                self._prefix.drop(block)
