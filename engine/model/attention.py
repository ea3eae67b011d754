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
    """One request's part of the batch. ``mask``: additive [length, context + length] or None."""

    start: int
    length: int
    reader: KVReader
    mask: torch.Tensor | None

    def __call__(self, layer: int, queries: torch.Tensor, heads: HeadLayout) -> torch.Tensor:
        """Queries [length, num_heads, head_dim] -> [length, num_heads * head_dim]."""
        keys, values = self.reader.read(layer)
        if self.length == 1:
            # Two small products: torch's fused attention is several times slower for one row.
            rows = queries.view(heads.num_kv_heads, heads.group, heads.head_dim)
            weights = torch.bmm(rows, keys.transpose(1, 2)).softmax(-1)
            return torch.bmm(weights, values).view(1, -1)
        # K/V heads play the batch and the group the heads: expanded, never copied.
        shape = (self.length, heads.num_kv_heads, heads.group, heads.head_dim)
        mixed = torch.nn.functional.scaled_dot_product_attention(
            queries.view(shape).permute(1, 2, 0, 3),
            keys.unsqueeze(1).expand(-1, heads.group, -1, -1),
            values.unsqueeze(1).expand(-1, heads.group, -1, -1),
            attn_mask=self.mask,
            is_causal=self.mask is None,
            scale=1.0,
        )
        return mixed.permute(2, 0, 1, 3).reshape(self.length, -1)


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
    """Row r sees columns up to context + r. None where the kernel's own causal mask is right."""
    if segment.length == 1 or segment.context == 0:
        return None
    shape = (segment.length, segment.context + segment.length)
    mask = torch.full(shape, float("-inf"), dtype=dtype, device=device)
    return mask.triu_(segment.context + 1)
