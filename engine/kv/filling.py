"""Blocks of a text that are filled from elsewhere: taken, held meanwhile, and kept when all is done.

Of each group of layers only what the query behind the text looks back on. Plain Python, no tensors.
"""

from collections.abc import Sequence

from engine.kv.group import BlockGroup


class TextBlocks:
    """The full blocks of a text in one group; held from now on until ``close``."""

    def __init__(self, group: BlockGroup, keys: Sequence[bytes], block_size: int) -> None:
        """``keys`` of all full blocks, of which those before ``first`` are not wanted."""
        assert group.prefix is not None, "nothing is kept without a prefix cache"
        self._group = group
        self._prefix = group.prefix
        self._keys = keys
        self._size = block_size
        self.first = min(len(keys), group.first_seen(len(keys) * block_size))
        self._blocks = {
            index: block
            for index in range(self.first, len(keys))
            if (block := group.prefix.find(keys[index])) is not None
        }
        for block in self._blocks.values():
            group.pool.share(block)

    @property
    def missing(self) -> list[int]:
        """Indices of the blocks that are still to be filled."""
        return [index for index in range(self.first, len(self._keys)) if self.wants(index)]

    def wants(self, index: int) -> bool:
        """Whether block ``index`` is still to be filled."""
        return index >= self.first and index not in self._blocks

    def take(self, index: int, token_ids: Sequence[int]) -> int | None:
        """A block to be filled with the text's block ``index``, whose tokens are given.

        It counts as filled from now on. None where there is no room.
        """
        pool = self._group.pool
        if not pool.num_available:
            return None
        if not pool.num_blank:
            self._group.reclaim(1)
        block = pool.take(self._blocks.get(index - 1), len(self._keys) - index)
        assert block is not None, "one is blank"
        self._blocks[index] = block
        parent = self._keys[index - 1] if index else None
        self._prefix.add(self._keys[index], block, parent, token_ids)
        return block

    def close(self) -> None:
        """Let go of all blocks; they stay findable until their place is needed."""
        self._group.release([self._blocks[index] for index in sorted(self._blocks)])
