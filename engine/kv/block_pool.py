"""Who owns which block of the KV cache: numbers only, no tensors and no requests.

A block is in exactly one of three states::

    blank  --take-->  live (reference count >= 1)  --release, content worth keeping-->  cached
      ^                 |            ^                                                    |  |
      +-----release-----+            +----------------------share-------------------------+  |
      +---------------------------------reclaim----------------------------------------------+

A cached block belongs to nobody but still holds the keys and values of known tokens.
"""

import itertools
import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

NULL: Final = 0  # of a pool that has a null block: it belongs to nobody, and nothing is in it
_BLANK, _LIVE, _CACHED, _RESERVED = 0, 1, 2, 3
_BLANK_RUNS = re.compile(rb"\x00+")


class BlockPool:
    """``num_blocks`` blocks with reference counts.

    Blocks taken one after the other lie side by side where possible, because a request whose
    blocks are contiguous is read as a view of the cache and any other is gathered at every step.
    """

    def __init__(
        self, num_blocks: int, *, has_null: bool = False, ages: Iterator[int] | None = None
    ) -> None:
        """``has_null``: the first block is the null block. ``ages`` count releases.

        Pools that share ``ages`` can tell which of them keeps the oldest blocks.
        """
        self._states = bytearray(num_blocks)
        self._references = [0] * num_blocks
        self._num_null = int(has_null)
        self._states[: self._num_null] = bytes([_RESERVED] * self._num_null)
        self._num_live = 0
        self._ages = itertools.count() if ages is None else ages
        # Blocks released together (one request's) are one generation, oldest generation first;
        # those that a window has left behind apart.
        self._generations: dict[int, list[int]] = {}
        self._passed: dict[int, list[int]] = {}
        self._generation_of: dict[int, int] = {}

    @property
    def num_blocks(self) -> int:
        """All blocks but the null block."""
        return len(self._states) - self._num_null

    @property
    def num_live(self) -> int:
        """Blocks some request refers to, shared ones counted once."""
        return self._num_live

    @property
    def num_cached(self) -> int:
        """Blocks nobody refers to whose content is kept."""
        return len(self._generation_of)

    @property
    def num_passed(self) -> int:
        """Those of them that a window has left behind."""
        return sum(map(len, self._passed.values()))

    @property
    def num_available(self) -> int:
        """Blocks that can be taken, blank ones and (after reclaiming) cached ones."""
        return self.num_blocks - self._num_live

    @property
    def num_blank(self) -> int:
        """Blocks that can be taken at once."""
        return self.num_available - self.num_cached

    @property
    def states(self) -> bytes:
        """What each block is, the null block included: 0 blank, 1 live, 2 cached, 3 reserved."""
        return bytes(self._states)

    def references(self, block: int) -> int:
        """How many owners ``block`` has."""
        return self._references[block]

    @property
    def oldest(self) -> tuple[int, int] | None:
        """Sorts pools by which block is to be reclaimed first; None where none is cached."""
        if self._passed:
            return (0, next(iter(self._passed)))
        return (1, next(iter(self._generations))) if self._generations else None

    def take(self, after: int | None, room: int = 1) -> int | None:
        """Give a blank block its first owner; None when none is blank.

        ``after`` is the owner's present last block: its right neighbour is taken if it is blank.
        Otherwise the owner moves to the longest blank run: to its middle, so that the owner on
        its left can still grow too, or to its start where half a run has no ``room`` (blocks).
        """
        if after is not None and after + 1 < len(self._states) and not self._states[after + 1]:
            block = after + 1
        else:
            found = self._find_place(room)
            if found is None:
                return None
            block = found
        self._states[block] = _LIVE
        self._references[block] = 1
        self._num_live += 1
        return block

    def share(self, block: int) -> None:
        """Add an owner to a live or cached block."""
        assert self._states[block] != _BLANK, "a blank block has no content to share"
        if self._states[block] == _CACHED:
            self._leave_generation(block)
            self._states[block] = _LIVE
            self._num_live += 1
        self._references[block] += 1

    def release(
        self, blocks: Sequence[int], keep: Container[int] = (), *, is_passed: bool = False
    ) -> None:
        """Take one owner away from each block; those in ``keep`` stay cached when it was the last.

        ``is_passed``: its text goes on without them; of use only to another that ends there.
        """
        generation: list[int] = []
        age = next(self._ages)
        for block in blocks:
            assert self._references[block] > 0, "released more often than owned"
            self._references[block] -= 1
            if self._references[block]:
                continue
            self._num_live -= 1
            if block in keep:
                self._states[block] = _CACHED
                self._generation_of[block] = age
                generation.append(block)
            else:
                self._states[block] = _BLANK
        if generation and is_passed:
            self._passed[age] = generation[::-1]
        elif generation:
            self._generations[age] = generation

    def reclaim(self, num_blocks: int) -> list[int]:
        """Blank ``num_blocks`` cached blocks and return them; all that are cached if these are fewer.

        Those that windows have left behind go first, from the beginning of their text on: a long
        prompt must not drive out the ends of other texts. Then those released longest ago, and of
        one release the last: a text without its beginning is worth nothing, one without its end
        nearly as much as before.
        """
        reclaimed: list[int] = []
        while self._generation_of and len(reclaimed) < num_blocks:
            reclaimed += self.reclaim_oldest(num_blocks - len(reclaimed))
        return reclaimed

    def reclaim_oldest(self, num_blocks: int) -> list[int]:
        """As ``reclaim``, of the blocks that were released together alone."""
        generations = self._passed or self._generations
        if not generations:
            return []
        age, blocks = next(iter(generations.items()))
        keep = max(0, len(blocks) - num_blocks)
        reclaimed = blocks[keep:]
        for block in reclaimed:
            del self._generation_of[block]
            self._states[block] = _BLANK
        del blocks[keep:]
        if not blocks:
            del generations[age]
        return reclaimed

    def check_integrity(self) -> None:
        """Assert that states, counts and generations tell the same story."""
        live = [b for b, count in enumerate(self._references) if count > 0]
        assert all(count >= 0 for count in self._references)
        assert len(live) == self._num_live
        assert all(self._states[block] == _LIVE for block in live)
        cached = [b for b, state in enumerate(self._states) if state == _CACHED]
        assert sorted(self._generation_of) == cached
        kept = [*self._generations.values(), *self._passed.values()]
        assert sorted(block for blocks in kept for block in blocks) == cached
        assert all(kept)
        assert not self._generations.keys() & self._passed.keys()
        assert self._states.count(_RESERVED) == self._num_null
        assert not any(self._references[: self._num_null])
        assert self._states.count(_BLANK) == self.num_blank
        assert self.num_blank + self.num_cached + self.num_live == self.num_blocks

    def _find_place(self, room: int) -> int | None:
        start, length = 0, 0
        for run in _BLANK_RUNS.finditer(self._states):
            if run.end() - run.start() > length:
                start, length = run.start(), run.end() - run.start()
        if not length:
            return None
        half = length // 2
        has_neighbour = start > self._num_null
        return start + half if has_neighbour and length - half >= room else start

    def _leave_generation(self, block: int) -> None:
        age = self._generation_of.pop(block)
        generations = self._generations if age in self._generations else self._passed
        generations[age].remove(block)
        if not generations[age]:
            del generations[age]
