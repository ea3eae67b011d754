"""Block tables: which blocks hold the tokens of each request. Plain Python, no tensors.

Joins the pool (who owns a block) and the prefix index (what a block holds). A shortage is a value
that the scheduler must handle, never an exception.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.kv.block_pool import BlockPool
from engine.kv.prefix import PrefixIndex


@dataclass(slots=True)
class _Table:
    """One request's blocks in token order.

    ``keys`` are the content keys of its computed full blocks, from the first block on.
    """

    blocks: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    num_computed: int = 0


class KVManager:
    """Blocks of ``block_size`` tokens for any number of requests."""

    def __init__(self, *, num_blocks: int, block_size: int, prefix_cache: bool) -> None:
        self._pool = BlockPool(num_blocks)
        self._prefix = PrefixIndex(block_size) if prefix_cache else None
        self._block_size = block_size
        self._tables: dict[str, _Table] = {}

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

    def can_allocate(self, token_ids: Sequence[int], *, num_tokens: int, spare: int) -> bool:
        """Whether a new request of ``token_ids`` could own blocks for ``num_tokens`` tokens now.

        ``spare`` blocks must stay available for the growth of the requests already running.
        """
        matched = self._prefix.match(token_ids)[0] if self._prefix else []
        revived = sum(1 for block in matched if not self._pool.references(block))
        needed = self._blocks_for(num_tokens) - len(matched)
        return needed + revived + spare <= self._pool.num_available

    def allocate(self, request_id: str, token_ids: Sequence[int]) -> int:
        """Open a table that shares what is cached of ``token_ids``.

        Returns the number of cached tokens: they are computed, at least one token is not.
        """
        assert request_id not in self._tables, "the request has a table"
        table = _Table()
        if self._prefix:
            table.blocks, table.keys = self._prefix.match(token_ids)
            for block in table.blocks:
                self._pool.share(block)
        table.num_computed = len(table.blocks) * self._block_size
        self._tables[request_id] = table
        return table.num_computed

    def append(self, request_id: str, num_tokens: int, *, room: int = 1) -> tuple[int, ...] | None:
        """Grow the table to ``num_tokens`` tokens and return its blocks.

        None, with nothing changed, when too few blocks are available. ``room`` is the number of
        tokens the request is known to need, so that its blocks are given a place of that size.
        """
        table = self._tables[request_id]
        missing = self._blocks_for(num_tokens) - len(table.blocks)
        if missing > self._pool.num_available:
            return None
        while missing > self._pool.num_blank:
            self._reclaim()
        for _ in range(missing):
            last = table.blocks[-1] if table.blocks else None
            block = self._pool.take(last, self._blocks_for(room) - len(table.blocks))
            assert block is not None, "enough blank blocks were counted"
            table.blocks.append(block)
        return tuple(table.blocks)

    def commit(self, request_id: str, known_ids: Sequence[int], num_computed: int) -> None:
        """Note that the first ``num_computed`` of ``known_ids`` are in the cache.

        Blocks that became full can be found by their content from now on.
        """
        table = self._tables[request_id]
        table.num_computed = num_computed
        if self._prefix is None:
            return
        size = self._block_size
        while (len(table.keys) + 1) * size <= num_computed:
            index = len(table.keys)
            parent = table.keys[-1] if table.keys else None
            key = self._prefix.key(parent, known_ids[index * size : (index + 1) * size])
            table.keys.append(key)
            self._prefix.add(key, table.blocks[index])

    def free(self, request_id: str) -> None:
        """Close the table. Full blocks stay findable until their place is needed."""
        table = self._tables.pop(request_id, None)
        if table is not None:
            self._pool.release(table.blocks, self._prefix if self._prefix is not None else ())

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
            for block in table.blocks:
                owners[block] = owners.get(block, 0) + 1
        for block in range(self._pool.num_blocks):
            assert self._pool.references(block) == owners.get(block, 0)
            if owners.get(block, 0) > 1:
                assert self._prefix is not None, "shared without a prefix cache"
                assert block in self._prefix, "shared without being findable"
        kept = len(self._prefix) if self._prefix is not None else 0
        assert self._pool.num_cached <= kept <= self._pool.num_cached + self._pool.num_live

    def _blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self._block_size)

    def _reclaim(self) -> None:
        for block in self._pool.reclaim_oldest():
            if self._prefix is not None:
                self._prefix.drop(block)
