"""Block tables: which blocks hold the tokens of each request. Plain Python, no tensors.

Joins the groups of layers (see ``engine.kv.group``): a request has a table in each of them, and a
beginning of a text is cached as far as all of them have it. A shortage is a value that the
scheduler must handle, never an exception.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from engine.config import LayerGroup
from engine.kv.group import BlockGroup, BlockTable, GroupUse, Room, WindowTable
from engine.kv.hit import Hit, find_hit, has_place


def ignore_blocks(_blocks: Sequence[int]) -> None:
    """Nobody needs to hear of blocks that were given back."""


@dataclass(slots=True)
class _Sequence:
    """One request's tables, and what is in them.

    ``keys`` are the content keys of its computed full blocks, from the first block on; ``tail``
    the computed tokens after these; a private one has neither.
    """

    tables: tuple[BlockTable, ...]
    keys: list[bytes]
    tail: tuple[int, ...] = ()
    num_computed: int = 0
    is_private: bool = False
    has_copies: bool = False

    @property
    def parent(self) -> bytes | None:
        """The key of its last full block."""
        return self.keys[-1] if self.keys else None


class KVManager:
    """Blocks of ``block_size`` tokens for any number of requests.

    ``num_blocks``: of the one kind of layers there is, or of each kind. ``copies_tails``: texts
    that part inside a block share its beginning, too, by a copy that the runner makes.
    ``max_cached_blocks`` are kept for prefix hits at most, or as many bytes in all groups as so
    many blocks of the first group have (None: all there is). ``on_free`` hears of the blocks of
    each table that is closed.
    """

    def __init__(
        self,
        *,
        num_blocks: int | Sequence[LayerGroup],
        block_size: int,
        prefix_cache: bool,
        copies_tails: bool = False,
        max_cached_blocks: int | None = None,
        on_free: Callable[[Sequence[int]], None] = ignore_blocks,
    ) -> None:
        sizes = [LayerGroup((0,), num_blocks)] if isinstance(num_blocks, int) else num_blocks
        ages = itertools.count()
        self.groups = tuple(
            BlockGroup(size, block_size, ages, has_prefix=prefix_cache) for size in sizes
        )
        self._first, *more = self.groups
        self._more = tuple(more)
        self._windowed = tuple(i for i, group in enumerate(self.groups) if group.window)
        self._block_size = block_size
        self._copies_tails = copies_tails
        self._max_cached = (
            None if max_cached_blocks is None else max_cached_blocks * self._first.num_layers
        )
        self._on_free = on_free
        self._sequences: dict[str, _Sequence] = {}
        self._num_live_tokens: int | None = 0  # None: tables have changed since they were counted

    @property
    def has_prefix_cache(self) -> bool:
        """Whether texts are found again."""
        return self._first.prefix is not None

    @property
    def block_size(self) -> int:
        """Tokens a block."""
        return self._block_size

    @property
    def capacity(self) -> int:
        """Tokens that fit when one request owns every block."""
        return min(group.capacity for group in self.groups)

    @property
    def num_blocks(self) -> int:
        """All blocks of the first group."""
        return self._first.pool.num_blocks

    @property
    def num_live_blocks(self) -> int:
        """Blocks of the first group that some request refers to, shared ones counted once."""
        return self._first.pool.num_live

    @property
    def num_cached_blocks(self) -> int:
        """Blocks of the first group nobody refers to that are kept for prefix hits."""
        return self._first.pool.num_cached

    @property
    def uses(self) -> tuple[GroupUse, ...]:
        """How the blocks of each group are used."""
        return tuple(group.use for group in self.groups)

    @property
    def num_live_tokens(self) -> int:
        """Computed tokens in live blocks of the first group, shared ones counted once."""
        if self._num_live_tokens is None:
            self._num_live_tokens = self._count_live_tokens()
        return self._num_live_tokens

    def num_reusable(self, num_shared: int) -> int:
        """How many of ``num_shared`` tokens, computed before, a request could find at best."""
        return (
            num_shared if self._copies_tails else num_shared // self._block_size * self._block_size
        )

    def find_text(self, token_ids: Sequence[int]) -> Hit:
        """The full blocks that hold the beginning of ``token_ids``, even all of it.

        Valid until the next change of any table.
        """
        return self._find([*token_ids, 0], with_tail=False)

    def find_blocks(self, token_ids: Sequence[int]) -> list[int]:
        """The same blocks, of the first group."""
        return self.find_text(token_ids).blocks[0]

    # ------------------------------------------------------------------ what would fit

    def find_place(
        self,
        token_ids: Sequence[int],
        *,
        num_tokens: int,
        spare: int,
        growing: Iterable[tuple[str, int]] = (),
        before: Iterable[int] = (),
        without: Collection[str] = (),
    ) -> Hit | None:
        """What is cached of ``token_ids``, for a new request of ``num_tokens`` tokens.

        None where it could not own blocks for them now. There must stay available, in each group:
        ``spare`` blocks, what each of the ``growing`` requests needs for its tokens, and what
        requests of ``before`` tokens need. ``without``: requests whose tables would be closed
        before. Valid until the next change of any table.
        """
        growing, before = list(growing), list(before)
        rooms: list[Room] = []
        for index, group in enumerate(self.groups):
            tables = [(self._sequences[name].tables[index], count) for name, count in growing]
            closed = [self._sequences[name].tables[index] for name in without]
            rooms.append(group.room(spare, tables, before, closed))
        hit = self._find(token_ids)
        if has_place(self.groups, hit, num_tokens, rooms):
            return hit
        if not hit.tails:
            return None
        # the source of a copy need not be held where none is made
        hit = self._find(token_ids, with_tail=False)
        return hit if has_place(self.groups, hit, num_tokens, rooms) else None

    def can_append(
        self, request_id: str, num_tokens: int, others: Iterable[tuple[str, int]]
    ) -> bool:
        """Whether a table may grow and leave what the ``others`` need for so many tokens."""
        others = list(others)
        for index, group in enumerate(self.groups):
            missing = group.num_missing(self._sequences[request_id].tables[index], num_tokens)
            if not missing:
                continue
            missing += sum(
                group.num_missing(self._sequences[other].tables[index], count)
                for other, count in others
            )
            if missing > group.pool.num_available:
                return False
        return True

    def num_blocks_for(self, num_tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-num_tokens // self._block_size)

    # ------------------------------------------------------------------ the life of a table

    def allocate(
        self,
        request_id: str,
        token_ids: Sequence[int],
        *,
        hit: Hit | None = None,
        takes_tail: bool = True,
    ) -> int:
        """Open a table that shares what is cached of ``token_ids``: ``hit``, where it is known.

        Returns the number of cached tokens: they are computed, at least one token is not.
        ``takes_tail`` False: full blocks only.
        """
        assert request_id not in self._sequences, "the request has a table"
        if hit is None and takes_tail:
            hit = self.find_place(token_ids, num_tokens=len(token_ids), spare=0)
        if hit is None:
            hit = self._find(token_ids, with_tail=False)
        tables = tuple(map(BlockTable, hit.blocks, hit.firsts))
        sequence = _Sequence(tables, hit.keys, num_computed=len(hit.keys) * self._block_size)
        self._sequences[request_id] = sequence
        self._num_live_tokens = None
        for index, group in enumerate(self.groups):
            for block in hit.held(index):
                group.pool.share(block)
        if hit.tails:
            self._take_tail(sequence, hit, token_ids)
        return sequence.num_computed

    def allocate_private(self, request_id: str) -> int:
        """Open a table that shares nothing and that nobody finds; returns 0 cached tokens."""
        assert request_id not in self._sequences, "the request has a table"
        tables = tuple(BlockTable() for _ in self.groups)
        self._sequences[request_id] = _Sequence(tables, [], is_private=True)
        return 0

    def append(self, request_id: str, num_tokens: int, *, room: int = 1) -> tuple[int, ...] | None:
        """Grow the table to ``num_tokens`` tokens and return its blocks in the first group.

        None, with nothing changed, when too few blocks are available. ``room`` is the number of
        tokens the request is known to need, so that its blocks are given a place of that size.
        """
        tables = self._sequences[request_id].tables
        if self._more and not self._grow_more(tables, num_tokens, room):
            return None
        return tuple(tables[0].blocks) if self._first.grow(tables[0], num_tokens, room) else None

    def blocks(self, request_id: str) -> tuple[int, ...]:
        """The block table of one request in the first group, in token order."""
        return tuple(self._sequences[request_id].tables[0].blocks)

    def windows(self, request_id: str) -> tuple[WindowTable, ...]:
        """The request's tables in the other groups; none where all layers are of one kind."""
        if not self._more:
            return ()
        tables = self._sequences[request_id].tables[1:]
        return tuple(WindowTable(tuple(table.blocks), table.copy) for table in tables)

    def pending_copy(self, request_id: str) -> tuple[int, int] | None:
        """Source and target block of the copy that the request's next step has to begin with."""
        return self._sequences[request_id].tables[0].copy

    def commit(self, request_id: str, known_ids: Sequence[int], num_computed: int) -> None:
        """Note that the first ``num_computed`` of ``known_ids`` are in the cache.

        Blocks that became full can be found by their content from now on, and those that no query
        looks back on any more are given back. A copy that was pending has been made. Only a
        private table goes back, and only to the start.
        """
        sequence = self._sequences[request_id]
        if sequence.has_copies:
            self._end_copies(sequence)
        if self._windowed and num_computed < sequence.num_computed:
            assert not num_computed, "what a window has left behind may be gone"
            self._start_again(sequence)
        if self._num_live_tokens is not None:  # nobody shares the block that is being filled
            self._num_live_tokens += num_computed - sequence.num_computed
        sequence.num_computed = num_computed
        if self._first.prefix is not None and not sequence.is_private:
            self._note(sequence, known_ids)
        for index in self._windowed:
            group = self.groups[index]
            passed = group.pass_by(sequence.tables[index], num_computed)
            if passed:
                self._num_live_tokens = None
                group.release(passed, is_passed=True)
                self.trim()

    def free(self, request_id: str) -> None:
        """Close the table. What was computed stays findable until its place is needed."""
        sequence = self._sequences.pop(request_id, None)
        if sequence is None:
            return
        self._num_live_tokens = None
        tail = sequence.tail if self._copies_tails else ()
        for group, table in zip(self.groups, sequence.tables, strict=True):
            is_filled = table.copy is None  # else the tail's tokens never came
            if tail and is_filled and group.prefix is not None:
                block = table.blocks[len(sequence.keys)]
                group.prefix.add_tail(block, sequence.parent, tail)
        self._end_copies(sequence)
        for group, table in zip(self.groups, sequence.tables, strict=True):
            group.release(table.blocks[table.first :])
        self.trim()
        self._on_free(sequence.tables[0].blocks)

    def check_integrity(self) -> None:
        """Assert that the tables account for every reference and the index for every kept block."""
        for index, group in enumerate(self.groups):
            group.check_integrity([s.tables[index] for s in self._sequences.values()])
            for sequence in self._sequences.values():
                table = sequence.tables[index]
                assert sequence.num_computed <= len(table.blocks) * self._block_size
                assert table.first <= group.first_seen(sequence.num_computed)
        assert self._max_cached is None or self._cached_layers() <= self._max_cached
        assert self._num_live_tokens in {None, self._count_live_tokens()}

    # ------------------------------------------------------------------ finding and noting

    def _find(self, token_ids: Sequence[int], *, with_tail: bool = True) -> Hit:
        copies_tails = self._copies_tails and with_tail
        return find_hit(self.groups, token_ids, self._block_size, copies_tails=copies_tails)

    def _grow_more(self, tables: Sequence[BlockTable], num_tokens: int, room: int) -> bool:
        """Grow the tables of the other groups, if there are blocks enough in all groups."""
        for group, table in zip(self.groups, tables, strict=True):
            if group.num_missing(table, num_tokens) > group.pool.num_available:
                return False
        for group, table in zip(self._more, tables[1:], strict=True):
            group.grow(table, num_tokens, room)
        return True

    def _note(self, sequence: _Sequence, known_ids: Sequence[int]) -> None:
        """Make the blocks findable that became full."""
        size, keys, num_computed = self._block_size, sequence.keys, sequence.num_computed
        while (len(keys) + 1) * size <= num_computed:
            index = len(keys)
            tokens = known_ids[index * size : (index + 1) * size]
            assert self._first.prefix is not None
            parent = sequence.parent
            key = self._first.prefix.key(parent, tokens)
            for group, table in zip(self.groups, sequence.tables, strict=True):
                if group.prefix is not None and index >= table.first:
                    group.prefix.add(key, table.blocks[index], parent, tokens)
            keys.append(key)
        sequence.tail = tuple(known_ids[len(keys) * size : num_computed])

    # ------------------------------------------------------------------ tails and their copies

    def _take_tail(self, sequence: _Sequence, hit: Hit, token_ids: Sequence[int]) -> None:
        """Go on in blocks that nobody has, or get some that begin as those of the tail do."""
        for group, table, tail in zip(self.groups, sequence.tables, hit.tails, strict=True):
            if tail.is_whole:
                assert group.prefix is not None
                group.prefix.drop(tail.block)
                table.blocks.append(tail.block)
            else:
                has_grown = group.grow(table, hit.num_tokens, len(token_ids))
                assert has_grown, "there is room for the whole text"
                table.copy = (tail.block, table.blocks[-1])
                sequence.has_copies = True
        sequence.tail = tuple(token_ids[sequence.num_computed : hit.num_tokens])
        sequence.num_computed = hit.num_tokens

    def _end_copies(self, sequence: _Sequence) -> None:
        sequence.has_copies = False
        for group, table in zip(self.groups, sequence.tables, strict=True):
            if table.copy is not None:
                source, _target = table.copy
                table.copy = None
                group.release([source])
                self.trim()

    # ------------------------------------------------------------------ giving back

    def _start_again(self, sequence: _Sequence) -> None:
        """Let go of all blocks of windows: the tokens are computed anew from the first one on."""
        for index in self._windowed:
            table = sequence.tables[index]
            self.groups[index].release(table.blocks[table.first :])
            table.blocks.clear()
            table.first = 0
        self._num_live_tokens = None

    def _count_live_tokens(self) -> int:
        return self._first.num_filled(
            (s.tables[0], s.num_computed) for s in self._sequences.values()
        )

    def _cached_layers(self) -> int:
        """Blocks kept for prefix hits, each counted as often as it has layers."""
        return sum(group.pool.num_cached * group.num_layers for group in self.groups)

    def trim(self) -> None:
        """Hold what is cached to its budget: the oldest goes first, whichever group has it.

        To be called by whoever gives blocks back by itself.
        """
        if self._max_cached is None:
            return
        while (excess := self._cached_layers() - self._max_cached) > 0:
            kept = [(oldest, g) for g in self.groups if (oldest := g.pool.oldest) is not None]
            _age, group = min(kept, key=lambda one: one[0])
            group.reclaim_oldest(-(-excess // group.num_layers))
