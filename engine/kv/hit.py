"""How much of a text is in the cache of every kind of layers, and in which blocks.

Layers that look back over everything need all blocks of a beginning; those with a window only what
the query after it looks back on. The longest beginning on which all agree is a hit::

    full     0 1 2 3 4 5 6      blocks 0 to 6 are there
    window           5 6 7      a window of two blocks: nothing before 5 is needed
                         ^      7 is known here alone, so that the hit ends behind 6

What is behind its last full block (its tail) is shared by a copy, see ``engine.kv.prefix``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.kv.block_pool import NULL
from engine.kv.group import SLACK, BlockGroup, Room
from engine.kv.prefix import Tail

# Fewer tokens than these are computed rather than copied: most texts begin with the same two.
LEAST_COPIED: Final = 4


@dataclass(frozen=True, slots=True)
class Hit:
    """``keys``: of its full blocks. ``blocks``: of each group, null where no query looks back.

    ``firsts``: how many of these are null. ``tails``: of each group, or none at all; they hold the
    same tokens. It covers ``num_tokens``.
    """

    keys: list[bytes]
    blocks: tuple[list[int], ...]
    firsts: tuple[int, ...]
    tails: tuple[Tail, ...] = ()
    num_tokens: int = 0

    def held(self, group: int) -> list[int]:
        """Blocks of a group that a table of this beginning would own or hold, tails included."""
        own = self.blocks[group][self.firsts[group] :]
        return [*own, self.tails[group].block] if self.tails else own

    def num_own(self, group: int) -> int:
        """Of these the ones that would be in its table."""
        has_whole = bool(self.tails) and self.tails[group].is_whole
        return len(self.blocks[group]) - self.firsts[group] + has_whole


def has_place(
    groups: Sequence[BlockGroup], hit: Hit, num_tokens: int, rooms: Sequence[Room]
) -> bool:
    """Whether ``rooms``, one a group, hold ``num_tokens`` tokens that begin with ``hit``."""
    for index, (group, room) in enumerate(zip(groups, rooms, strict=True)):
        pool = group.pool
        revived = sum(
            not pool.references(block) or block in room.given_back for block in hit.held(index)
        )
        needed = group.most_blocks(num_tokens, hit.firsts[index]) - hit.num_own(index)
        if needed + revived > room.num_blocks:
            return False
    return True


def find_hit(
    groups: Sequence[BlockGroup], token_ids: Sequence[int], block_size: int, *, copies_tails: bool
) -> Hit:
    """The longest beginning of a text that is cached; at least its last token is not covered."""
    search = _Search(groups, token_ids, block_size, copies_tails=copies_tails)
    return search.longest()


class _Search:
    def __init__(
        self,
        groups: Sequence[BlockGroup],
        token_ids: Sequence[int],
        block_size: int,
        *,
        copies_tails: bool,
    ) -> None:
        self._groups = groups
        self._ids = token_ids
        self._size = block_size
        self._copies_tails = copies_tails
        self._keys: list[bytes] = []
        self._found: list[list[int | None]] = []

    def longest(self) -> Hit:
        groups = self._groups
        if groups[0].prefix is None:
            return self._nothing()
        if len(groups) == 1 and not groups[0].window:
            blocks, self._keys = groups[0].prefix.match(self._ids)
            self._found = [list(blocks)]
            return self._hit(len(blocks), self._tails(len(blocks)))
        self._look()
        for count in range(len(self._keys), 0, -1):
            if not self._is_seen(count, count * self._size + self._size - 1):
                continue  # a tail would make it no better
            tails = self._tails(count)
            if tails and self._is_seen(count, count * self._size + tails[0].num_tokens):
                return self._hit(count, tails)
            if self._is_seen(count, count * self._size):
                return self._hit(count, ())
        return self._hit(0, self._tails(0))

    def _nothing(self) -> Hit:
        return Hit([], tuple([] for _ in self._groups), (0,) * len(self._groups))

    def _look(self) -> None:
        """Find each block of the text in each group, up to where a full group has no more."""
        first = self._groups[0]
        assert first.prefix is not None
        if first.window:
            self._keys = list(first.prefix.keys(self._ids[:-1]))
        else:
            self._keys = first.prefix.match(self._ids)[1]
        for group in self._groups:
            assert group.prefix is not None
            self._found.append([group.prefix.find(key) for key in self._keys])
        self._runs: list[list[int]] = []
        for found in self._found:
            runs = [0]
            for block in found:
                runs.append(0 if block is None else runs[-1] + 1)
            self._runs.append(runs)

    def _is_seen(self, count: int, position: int) -> bool:
        """Whether all that a query at ``position`` looks back on is in the first ``count`` blocks."""
        return all(
            runs[count] >= count - group.first_seen(position)
            for group, runs in zip(self._groups, self._runs, strict=True)
        )

    def _tails(self, count: int) -> tuple[Tail, ...]:
        """What every group knows of the text behind its first ``count`` blocks."""
        if not self._copies_tails:
            return ()
        parent = self._keys[count - 1] if count else None
        rest = self._ids[count * self._size :][: self._size]
        tails: list[Tail] = []
        for group in self._groups:
            assert group.prefix is not None
            tail = group.prefix.match_tail(parent, rest)
            if tail is None:
                return ()
            tails.append(tail)
        length = min(tail.num_tokens for tail in tails)
        agreed = tuple(
            # one that is someone's already cannot be gone on with
            Tail(
                tail.block,
                length,
                tail.is_whole
                and tail.num_tokens == length
                and not group.pool.references(tail.block),
            )
            for group, tail in zip(self._groups, tails, strict=True)
        )
        is_worth_it = length >= LEAST_COPIED or all(tail.is_whole for tail in agreed)
        return agreed if is_worth_it else ()

    def _hit(self, count: int, tails: tuple[Tail, ...]) -> Hit:
        num_tokens = count * self._size + (tails[0].num_tokens if tails else 0)
        tables, firsts = [], []
        for group, found in zip(self._groups, self._found, strict=True):
            first = min(count, group.first_seen(num_tokens))
            if first and found[first - 1] is not None:
                first -= SLACK
            own = [block for block in found[first:count] if block is not None]
            assert len(own) == count - first, "all that is looked back on is there"
            tables.append([NULL] * first + own)
            firsts.append(first)
        return Hit(self._keys[:count], tuple(tables), tuple(firsts), tails, num_tokens)
