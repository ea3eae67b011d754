"""The blocks of one kind of layers: their pool, what they hold, and one request's table of them.

Layers of one kind look equally far back: over everything, or over a window of the last tokens. In
the table of a window, blocks that no query can look back on any more are the null block::

    tokens   [0 ................. num_computed) the next query
    table    null | null | 9 | 7 | 8 | 3
                              [ the window of the next query

Knows no request; ``engine.kv.manager`` asks all groups together.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.api import KVPool
from engine.config import KVGeometry, LayerGroup
from engine.kv.block_pool import NULL, BlockPool
from engine.kv.prefix import PrefixIndex

# Blocks that stay in a table though its own query looks back on none of them: another text that
# parts from this one shortly before its end can then go on from there.
SLACK: Final = 1
# Reclaimed at once, so that the next owner's blocks lie side by side for a while.
_RECLAIMED: Final = 16
_UNLIMITED: Final = 1 << 62


@dataclass(slots=True)
class BlockTable:
    """One request's blocks of one group, in token order; those before ``first`` are null.

    ``copy`` (source, target): the target, its last block, is to begin with what the source holds;
    until that is done the source is held, too.
    """

    blocks: list[int] = field(default_factory=list)
    first: int = 0
    copy: tuple[int, int] | None = None

    @property
    def held(self) -> list[int]:
        """All blocks that it is an owner of."""
        held = self.blocks[self.first :]
        return held if self.copy is None else [*held, self.copy[0]]


def most_blocks_of(group: LayerGroup, block_size: int) -> int | None:
    """Blocks that one request's table holds at most; None where it holds all of its tokens."""
    if not (group.window and group.chunk):
        return None
    return -(-(group.window - 1 + group.chunk) // block_size) + 1 + SLACK


def pools_of(geometry: KVGeometry) -> tuple[KVPool, ...]:
    """What each kind of layers has, without the null block."""
    groups = geometry.groups or (LayerGroup((), geometry.num_blocks),)
    return tuple(
        KVPool(group.num_blocks - (group.window > 0), most_blocks_of(group, geometry.block_size))
        for group in groups
    )


def lone_tables(geometry: KVGeometry, num_tokens: int) -> list[tuple[int, ...]]:
    """Tables of one text that has all pools to itself: blocks in order, windows round and round.

    For steps that take no more tokens than the pools are laid out for.
    """
    count = -(-num_tokens // geometry.block_size)
    tables = []
    for group, part in zip(geometry.groups or (None,), geometry.parts, strict=True):
        first = int(group is not None and group.window > 0)
        tables.append(tuple(first + i % (part.num_blocks - first) for i in range(count)))
    return tables


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A request's blocks in a further group of layers, in token order; null where out of sight.

    ``copy``: as ``BlockTable.copy``, in this group.
    """

    block_ids: tuple[int, ...]
    copy: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class GroupUse:
    """Blocks of one group of ``num_layers`` layers that see ``window`` tokens (0: all)."""

    num_layers: int
    window: int
    num_live: int
    num_cached: int
    num_blocks: int


@dataclass(frozen=True, slots=True)
class Room:
    """Blocks of a group that may be taken, ``given_back`` (their owners close before) included."""

    num_blocks: int
    given_back: Collection[int] = ()


class BlockGroup:
    """One pool, and its index where ``has_prefix``. Blocks are counted without the null block."""

    def __init__(
        self, size: LayerGroup, block_size: int, ages: Iterator[int], *, has_prefix: bool
    ) -> None:
        self.window = size.window
        self.num_layers = len(size.layers)
        self.pool = BlockPool(size.num_blocks, has_null=size.window > 0, ages=ages)
        self.prefix = PrefixIndex(block_size) if has_prefix else None
        self._size = block_size
        most = most_blocks_of(size, block_size)
        self._most = _UNLIMITED if most is None else most

    @property
    def capacity(self) -> int:
        """Tokens that a request can have which owns every block."""
        if self.pool.num_blocks >= self._most:
            return _UNLIMITED
        return self.pool.num_blocks * self._size

    @property
    def use(self) -> GroupUse:
        """How its blocks are used."""
        pool = self.pool
        return GroupUse(
            self.num_layers, self.window, pool.num_live, pool.num_cached, pool.num_blocks
        )

    def num_filled(self, tables: Iterable[tuple[BlockTable, int]]) -> int:
        """Computed tokens in blocks of ``tables`` (each with how many it has), each block once."""
        filled: dict[int, int] = {}
        for table, num_computed in tables:
            left = num_computed - table.first * self._size
            for block in table.blocks[table.first :]:
                if left <= 0:
                    break
                filled[block] = max(filled.get(block, 0), min(left, self._size))
                left -= self._size
        return sum(filled.values())

    def first_seen(self, position: int) -> int:
        """Index of the first block that a query at ``position``, or after it, looks back on."""
        return max(0, position - self.window + 1) // self._size if self.window else 0

    def most_blocks(self, num_tokens: int, first: int = 0) -> int:
        """Blocks that a request of so many tokens holds at most, from block ``first`` on."""
        return min(-(-num_tokens // self._size) - first, self._most)

    def num_missing(self, table: BlockTable, num_tokens: int) -> int:
        """Blocks to be taken at once for ``num_tokens`` tokens."""
        return max(0, -(-num_tokens // self._size) - len(table.blocks))

    def num_wanted(self, table: BlockTable, num_tokens: int) -> int:
        """Blocks it will hold beside those it has, step by step up to ``num_tokens`` tokens."""
        missing = self.num_missing(table, num_tokens)
        return min(missing, max(0, self._most - (len(table.blocks) - table.first)))

    def room(
        self,
        spare: int,
        growing: Iterable[tuple[BlockTable, int]],
        before: Iterable[int],
        without: Sequence[BlockTable],
    ) -> Room:
        """What is left for a new table, see ``KVManager.find_place``."""
        taken = spare + sum(map(self.most_blocks, before))
        taken += sum(self.num_wanted(table, count) for table, count in growing)
        given_back = self.only_owned_by(without)
        return Room(self.pool.num_available + len(given_back) - taken, given_back)

    def grow(self, table: BlockTable, num_tokens: int, room: int) -> bool:
        """Take the blocks that are missing; False, with nothing changed, when there are too few.

        ``room``: tokens that the table is known to need.
        """
        missing = -(-num_tokens // self._size) - len(table.blocks)
        if missing <= 0:
            return True
        pool = self.pool
        if missing > pool.num_available:
            return False
        if missing > pool.num_blank:
            # of a window no more than is needed, or of no use: its ends are few and dear
            ahead = min(_RECLAIMED, pool.num_passed) if self.window else _RECLAIMED
            self.reclaim(max(missing - pool.num_blank, ahead))
        for _ in range(missing):
            last = table.blocks[-1] if table.blocks else None
            block = pool.take(last, self.most_blocks(room) - len(table.blocks))
            assert block is not None, "enough blank blocks were counted"
            table.blocks.append(block)
        return True

    def pass_by(self, table: BlockTable, num_computed: int) -> Sequence[int]:
        """Drop from the table what no query from ``num_computed`` on looks back on; returns it.

        All but the last ``SLACK`` blocks of that.
        """
        first = self.first_seen(num_computed) - SLACK
        if first <= table.first:
            return ()
        passed = table.blocks[table.first : first]
        table.blocks[table.first : first] = [NULL] * len(passed)
        table.first = first
        return passed

    def release(self, blocks: Sequence[int], *, is_passed: bool = False) -> None:
        """Take one owner away from each block; what can be found again is kept."""
        keep = () if self.prefix is None else self.prefix
        self.pool.release(blocks, keep, is_passed=is_passed)

    def reclaim(self, num_blocks: int) -> None:
        """Blank so many cached blocks, the oldest first."""
        self._forget(self.pool.reclaim(num_blocks))

    def reclaim_oldest(self, num_blocks: int) -> None:
        """The same, of those that were released together alone."""
        self._forget(self.pool.reclaim_oldest(num_blocks))

    def only_owned_by(self, tables: Sequence[BlockTable]) -> set[int]:
        """Blocks that nobody but these tables refers to."""
        counts: dict[int, int] = {}
        for table in tables:
            for block in table.held:
                counts[block] = counts.get(block, 0) + 1
        return {block for block, n in counts.items() if n == self.pool.references(block)}

    def check_integrity(self, tables: Sequence[BlockTable]) -> None:
        """Assert that the tables account for every reference, and the index for every kept block."""
        self.pool.check_integrity()
        owners: dict[int, int] = {}
        for table in tables:
            own = table.blocks[table.first :]
            assert len(set(own)) == len(own), "a block twice in one table"
            assert all(block == NULL for block in table.blocks[: table.first])
            assert not self.window or NULL not in own, "a block that belongs to nobody"
            for block in table.held:
                owners[block] = owners.get(block, 0) + 1
        for block in range(self.pool.num_blocks + (self.window > 0)):
            count = owners.get(block, 0)
            assert self.pool.references(block) == count
            if count > 1:
                assert self.prefix is not None, "shared without a prefix cache"
                assert block in self.prefix, "shared without being findable"
        kept = 0
        if self.prefix is not None:
            self.prefix.check_integrity()
            kept = len(self.prefix)
        assert self.pool.num_cached <= kept <= self.pool.num_cached + self.pool.num_live

    def _forget(self, blocks: Sequence[int]) -> None:
        if self.prefix is not None:
            for block in blocks:
                self.prefix.drop(block)
