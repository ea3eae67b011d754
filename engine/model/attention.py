"""Causal attention of a flat batch over the paged cache, one request after the other.

Prepared once a step (masks, block tables), then run in every layer. Queries arrive rotated and
already multiplied by the attention scale. Knows no weights.

The query heads that share a K/V head ("group") are kept together, so that K and V are read once::

    queries [T, kv_heads * group, head_dim]   keys, values [kv_heads, context + T, head_dim]
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.kv.storage import KVReader, PagedStorage
from engine.model.batch import ForwardBatch, Segment

# Rows computed at once: wide enough for the products, and half the work of a long chunk's
# upper triangle is left out.
_ROW_BLOCK = 128


@dataclass(frozen=True, slots=True)
class HeadLayout:
    """How the columns of the fused qkv product divide: query heads, then K, then V heads."""

    num_heads: int
    num_kv_heads: int
    head_dim: int

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.num_heads // self.num_kv_heads


@dataclass(frozen=True, slots=True, eq=False)
class _SegmentAttention:
    """One request's part of the batch; ``mask`` as made by ``_causal_mask``, None for one row."""

    start: int
    length: int
    reader: KVReader
    mask: torch.Tensor | None

    def __call__(self, layer: int, queries: torch.Tensor, heads: HeadLayout) -> torch.Tensor:
        """Queries [length, num_heads, head_dim] -> [length, num_heads * head_dim]."""
        keys, values = self.reader.read(layer)
        if self.mask is None:
            # Two small products: torch's fused attention is several times slower for one row.
            rows = queries.view(heads.num_kv_heads, heads.group, heads.head_dim)
            weights = torch.bmm(rows, keys.transpose(1, 2)).softmax(-1)
            return torch.bmm(weights, values).view(1, -1)
        return self._attend_rows(queries, keys, values, self.mask, heads)

    def _attend_rows(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor,
        heads: HeadLayout,
    ) -> torch.Tensor:
        """Attend in blocks of rows, each with no more keys than its last row sees."""
        shape = (self.length, heads.num_kv_heads, heads.group, heads.head_dim)
        # K/V heads play the batch and the group the heads: expanded, never copied.
        rows = queries.view(shape).permute(1, 2, 0, 3)
        keys = keys.unsqueeze(1).expand(-1, heads.group, -1, -1)
        values = values.unsqueeze(1).expand(-1, heads.group, -1, -1)
        mixed = queries.new_empty(shape)
        context = keys.shape[2] - self.length
        for first in range(0, self.length, _ROW_BLOCK):
            last = min(first + _ROW_BLOCK, self.length)
            seen = context + last
            block = torch.nn.functional.scaled_dot_product_attention(
                rows[:, :, first:last],
                keys[:, :, :seen],
                values[:, :, :seen],
                attn_mask=mask[first - last :, mask.shape[1] - seen :],
                scale=1.0,
            )
            mixed[first:last] = block.permute(2, 0, 1, 3)
        return mixed.view(self.length, -1)


class StepAttention:
    """Attention for the segments of one step."""

    def __init__(
        self, batch: ForwardBatch, storage: PagedStorage, heads: HeadLayout, dtype: torch.dtype
    ) -> None:
        self._heads = heads
        self._segments: Sequence[_SegmentAttention] = [
            _SegmentAttention(
                segment.start,
                segment.length,
                storage.reader(segment.block_ids, segment.context + segment.length, dtype),
                _causal_mask(segment, dtype, storage.device),
            )
            for segment in batch.segments
        ]

    def __call__(self, layer: int, queries: torch.Tensor) -> torch.Tensor:
        """Attend with queries [T, num_heads, head_dim]; returns [T, num_heads * head_dim].

        K and V of this step must have been appended to ``layer`` before.
        """
        if len(self._segments) == 1:
            return self._segments[0](layer, queries, self._heads)
        return torch.cat(
            [
                segment(layer, queries.narrow(0, segment.start, segment.length), self._heads)
                for segment in self._segments
            ]
        )


def _causal_mask(
    segment: Segment, dtype: torch.dtype, device: torch.device
) -> torch.Tensor | None:
    """Additive mask of one block of rows, [rows, context + length]; None for a single row.

    The last row sees every column, the row above one less, and so on: cut to its own rows and
    columns from the lower right, it is the mask of any block of the segment::

        0 0 0 0 -    -: -inf
        0 0 0 0 0
    """
    if segment.length == 1:
        return None
    rows, columns = min(segment.length, _ROW_BLOCK), segment.context + segment.length
    mask = torch.full((rows, columns), float("-inf"), dtype=dtype, device=device)
    return mask.triu_(columns - rows + 1)
