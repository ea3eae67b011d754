"""Causal attention of a flat batch over the paged cache, one request after the other.

Prepared once a step (masks, block tables), then run in every layer. Queries arrive rotated and
already multiplied by the attention scale. Knows no weights.

A layer sees all tokens so far, or a window of the last ones. Everything here counts keys from the
last one backwards, so that a window only leaves out blocks in front.

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
    """How the columns of the fused qkv product divide: query heads, then K, then V heads.

    ``softcap`` c: scores s become c tanh(s / c) before the softmax (0: as they are).
    """

    num_heads: int
    num_kv_heads: int
    head_dim: int
    softcap: float = 0.0

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.num_heads // self.num_kv_heads


@dataclass(frozen=True, slots=True, eq=False)
class _SegmentAttention:
    """One request's part of the batch, for the layers of one window.

    ``reader`` gives the last keys that any row sees; ``mask`` as made by ``_causal_mask``, None for
    one row; ``window``: keys a row sees, its own included.
    """

    start: int
    length: int
    window: int
    reader: KVReader
    mask: torch.Tensor | None

    def __call__(self, layer: int, queries: torch.Tensor, heads: HeadLayout) -> torch.Tensor:
        """Queries [length, num_heads, head_dim] -> [length, num_heads * head_dim]."""
        keys, values = self.reader.read(layer)
        if self.mask is None:
            # Two small products: torch's fused attention is several times slower for one row.
            rows = queries.view(heads.num_kv_heads, heads.group, heads.head_dim)
            if keys.shape[1] > self.window:
                keys, values = keys[:, -self.window :], values[:, -self.window :]
            scores = torch.bmm(rows, keys.transpose(1, 2))
            if heads.softcap:
                scores = _softcap_(scores, heads.softcap)
            return torch.bmm(scores.softmax(-1), values).view(1, -1)
        return self._attend_rows(queries, keys, values, self.mask, heads)

    def _attend_rows(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor,
        heads: HeadLayout,
    ) -> torch.Tensor:
        """Attend in blocks of rows, each with no more keys than its rows see."""
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
            oldest = max(0, context + first - self.window + 1)
            block = _attend(
                rows[:, :, first:last],
                keys[:, :, oldest:seen],
                values[:, :, oldest:seen],
                mask[first - last :, mask.shape[1] - (seen - oldest) :],
                heads.softcap,
            )
            mixed[first:last] = block.permute(2, 0, 1, 3)
        return mixed.view(self.length, -1)


def _attend(
    rows: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor,
    softcap: float,
) -> torch.Tensor:
    """Rows [kv_heads, group, R, head_dim] over keys and values [kv_heads, group, N, head_dim]."""
    if not softcap:
        return torch.nn.functional.scaled_dot_product_attention(
            rows, keys, values, attn_mask=mask, scale=1.0
        )
    scores = _softcap_(torch.matmul(rows, keys.transpose(-1, -2)), softcap)
    return torch.matmul(scores.add_(mask).softmax(-1), values)


def _softcap_(scores: torch.Tensor, cap: float) -> torch.Tensor:
    return scores.div_(cap).tanh_().mul_(cap)


class StepAttention:
    """Attention for the segments of one step."""

    def __init__(
        self,
        batch: ForwardBatch,
        storage: PagedStorage,
        heads: HeadLayout,
        dtype: torch.dtype,
        windows: Sequence[int] = (0,),
    ) -> None:
        """Prepare for layers that see the last ``windows[i]`` tokens (0: all of them)."""
        self._heads = heads
        self._segments: Sequence[Sequence[_SegmentAttention]] = [
            [_prepare(segment, storage, dtype, window) for segment in batch.segments]
            for window in windows
        ]

    def __call__(self, layer: int, queries: torch.Tensor, window: int = 0) -> torch.Tensor:
        """Attend with queries [T, num_heads, head_dim]; returns [T, num_heads * head_dim].

        K and V of this step must have been appended to ``layer`` before. ``window``: which of the
        prepared ones, by index.
        """
        segments = self._segments[window]
        if len(segments) == 1:
            return segments[0](layer, queries, self._heads)
        return torch.cat(
            [
                segment(layer, queries.narrow(0, segment.start, segment.length), self._heads)
                for segment in segments
            ]
        )


def _prepare(
    segment: Segment, storage: PagedStorage, dtype: torch.dtype, window: int
) -> _SegmentAttention:
    total = segment.context + segment.length
    window = min(window or total, total)
    size = storage.geometry.block_size
    # blocks that lie before the window of the first row are not read
    unseen = max(0, segment.context - window + 1) // size
    reader = storage.reader(segment.block_ids[unseen:], total - unseen * size, dtype)
    mask = _causal_mask(segment, window, dtype, storage.device)
    return _SegmentAttention(segment.start, segment.length, window, reader, mask)


def _causal_mask(
    segment: Segment, window: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor | None:
    """Additive mask of one block of rows over the keys they see; None for a single row.

    The last row sees every column, the row above one less, and so on; a window leaves out columns
    on the left in the same way: cut to its own rows and columns from the lower right, it is the
    mask of any block of the segment::

        0 0 0 0 -    -: -inf
        - 0 0 0 0
    """
    if segment.length == 1:
        return None
    rows = min(segment.length, _ROW_BLOCK)
    columns = min(segment.context + segment.length, window + rows - 1)
    mask = torch.full((rows, columns), float("-inf"), dtype=dtype, device=device)
    mask.triu_(columns - rows + 1)
    if columns > window:
        unseen = torch.full_like(mask, float("-inf")).tril_(columns - rows - window)
        mask += unseen
    return mask
