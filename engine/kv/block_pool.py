"""Who owns which block of the KV cache: numbers only, no tensors and no requests.

A block is in exactly one of three states::

    blank  --take-->  live (reference count >= 1)  --release, content worth keeping-->  cached
      ^                 |            ^                                                    |  |
      +-----release-----+            +----------------------share-------------------------+  |
      +---------------------------------reclaim----------------------------------------------+

A cached block belongs to nobody but still holds the keys and values of known tokens.
"""

import re
from collections.abc import Container, Sequence

_BLANK, _LIVE, _CACHED = 0, 1, 2
_BLANK_RUNS = re.compile(rb"\x00+")


class BlockPool:
    """``num_blocks`` blocks with reference counts.

    Blocks taken one after the other lie side by side where possible, because a request whose
    blocks are contiguous is read as a view of the cache and any other is gathered at every step.
    """

    def __init__(self, num_blocks: int) -> None:
        self._states = bytearray(num_blocks)
        self._references = [0] * num_blocks
        self._num_live = 0
        # Blocks released together (one request's) are one generation, oldest generation first.
        self._generations: dict[int, list[int]] = {}
        self._generation_of: dict[int, int] = {}
        self._next_generation = 0

    @property
    def num_blocks(self) -> int:
        """All blocks."""
        return len(self._states)

    @property
    def num_live(self) -> int:
        """Blocks some request refers to, shared ones counted once."""
        return self._num_live

    @property
    def num_cached(self) -> int:
        """Blocks nobody refers to whose content is kept."""
        return len(self._generation_of)

    @property
    def num_available(self) -> int:
        """Blocks that can be taken, blank ones and (after reclaiming) cached ones."""
        return self.num_blocks - self._num_live

    @property
    def num_blank(self) -> int:
        """Blocks that can be taken at once."""
        return self.num_available - self.num_cached

    def references(self, block: int) -> int:
        """How many owners ``block`` has."""
        return self._references[block]

    def take(self, after: int | None, room: int = 1) -> int | None:
        """Give a blank block its first owner; None when none is blank.

        ``after`` is the owner's present last block: its right neighbour is taken if it is blank.
        Otherwise the owner moves to the longest blank run: to its middle, so that the owner on
        its left can still grow too, or to its start where half a run has no ``room`` (blocks).
        """
        if after is not None and after + 1 < self.num_blocks and not self._states[after + 1]:
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

    def release(self, blocks: Sequence[int], keep: Container[int] = ()) -> None:
        """Take one owner away from each block; those in ``keep`` stay cached when it was the last."""
        generation: list[int] = []
        for block in blocks:
            assert self._references[block] > 0, "released more often than owned"
            self._references[block] -= 1
            if self._references[block]:
                continue
            self._num_live -= 1
            if block in keep:
                self._states[block] = _CACHED
                self._generation_of[block] = self._next_generation
                generation.append(block)
            else:
                self._states[block] = _BLANK
        if generation:
            self._generations[self._next_generation] = generation
            self._next_generation += 1

    def reclaim(self, num_blocks: int) -> list[int]:
        """Blank ``num_blocks`` cached blocks and return them; all that are cached if these are fewer.

        Those released longest ago go first, and of one release the last: a text without its
        beginning is worth nothing, one without its end nearly as much as before.
        """
        reclaimed: list[int] = []
        while self._generations and len(reclaimed) < num_blocks:
            generation, blocks = next(iter(self._generations.items()))
            keep = max(0, len(blocks) - (num_blocks - len(reclaimed)))
            for block in blocks[keep:]:
                del self._generation_of[block]
                self._states[block] = _BLANK
            reclaimed += blocks[keep:]
            del blocks[keep:]
            if not blocks:
                del self._generations[generation]
        return reclaimed

    def check_integrity(self) -> None:
        """Assert that states, counts and generations tell the same story."""
        live = [b for b, count in enumerate(self._references) if count > 0]
        assert all(count >= 0 for count in self._references)
        assert len(live) == self._num_live
        assert all(self._states[block] == _LIVE for block in live)
        cached = [b for b, state in enumerate(self._states) if state == _CACHED]
        assert sorted(self._generation_of) == cached
        listed = sorted(block for blocks in self._generations.values() for block in blocks)
        assert listed == cached
        assert all(blocks for blocks in self._generations.values())
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
        return start + half if start and length - half >= room else start

    def _leave_generation(self, block: int) -> None:
        generation = self._generation_of.pop(block)
        self._generations[generation].remove(block)
        if not self._generations[generation]:
            del self._generations[generation]
