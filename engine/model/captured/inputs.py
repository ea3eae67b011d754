"""What changes from one captured step to the next, in memory that stays where it is.

A step of n rows runs as one of the next power of two. Rows that fill it up compute the first token
of an empty text and are dropped; the K and V that they keep are those of row 0, at row 0's place,
so that they need no place of their own in the cache and change nothing in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.model.batch import ForwardBatch

MOST_ROWS = 32


@dataclass(frozen=True, slots=True, eq=False)
class StepInputs:
    """Views of the first rows of the static memory.

    ``token_ids``, ``positions``, ``sources`` (whose K and V a row keeps): int64 [rows]. For each
    group of layers: ``slots``, int64 [rows], where they are kept, and ``tables``, int32 [rows,
    blocks], the blocks that a row looks back through, as far as its position reaches.
    """

    token_ids: torch.Tensor
    positions: torch.Tensor
    sources: torch.Tensor
    slots: tuple[torch.Tensor, ...]
    tables: tuple[torch.Tensor, ...]


class StaticInputs:
    """The memory that captured steps read, for up to ``MOST_ROWS`` rows."""

    def __init__(self, num_groups: int, most_blocks: int, device: torch.device) -> None:
        """``most_blocks``: of one row in one group of layers."""
        self.most_blocks = most_blocks
        self._numbers = torch.zeros(3 + num_groups, MOST_ROWS, dtype=torch.int64, device=device)
        shape = (num_groups, MOST_ROWS, most_blocks)
        self._tables = torch.zeros(shape, dtype=torch.int32, device=device)
        self._order = torch.arange(MOST_ROWS, device=device)
        self._filled = (0, 0)  # rows of the last step, and with those that fill it up
        # as last written; a row's blocks change once in a block's tokens
        self._written: list[list[tuple[int, ...]]] = [[()] * MOST_ROWS for _ in range(num_groups)]

    def views(self, rows: int, blocks: int) -> StepInputs:
        """The first ``rows``, with tables of ``blocks``: always the same memory."""
        token_ids, positions, sources, *slots = self._numbers[:, :rows].unbind(0)
        tables = self._tables[:, :rows, :blocks].unbind(0)
        return StepInputs(token_ids, positions, sources, tuple(slots), tables)

    def fill(self, batch: ForwardBatch, rows: int) -> None:
        """Write the step's rows, one a segment, and what fills them up to ``rows``."""
        count = len(batch.segments)
        inputs = self.views(rows, self.most_blocks)
        inputs.token_ids[:count].copy_(batch.token_ids)
        inputs.positions[:count].copy_(batch.positions)
        if (count, rows) != self._filled:
            inputs.token_ids[count:].zero_()
            inputs.positions[count:].zero_()
            inputs.sources.copy_(self._order[:rows])
            inputs.sources[count:].zero_()
            self._filled = count, rows
        for group, slots in enumerate(inputs.slots):
            own = batch.slots_of(group)
            slots[:count].copy_(own)
            slots[count:].copy_(own[:1])
            tables = [segment.table(group) for segment in batch.segments]
            self._write_tables(group, tables)

    def _write_tables(self, group: int, tables: Sequence[tuple[int, ...]]) -> None:
        written = self._written[group]
        for row, table in enumerate(tables):
            if table != written[row]:
                blocks = torch.tensor(table, dtype=torch.int32)
                self._tables[group, row, : len(table)].copy_(blocks)
                written[row] = table
