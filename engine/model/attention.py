"""Causal attention of a flat batch over the paged cache, one request after the other.

Prepared once a step (masks, block tables), then run in every layer. Queries arrive rotated and
already multiplied by the attention scale. Knows no weights.

A layer sees all tokens so far, or a window of the last ones. Everything here counts keys from the
last one backwards, so that a window only leaves out blocks in front.

The query heads that share a K/V head ("group") are kept together, so that K and V are read once
and never repeated for each head::

    queries [T, kv_heads * group, head_dim]   keys, values [kv_heads, context + T, head_dim]

A quantised cache is made again span by span, and the softmax kept up to date meanwhile: what is
held beside the cache does not grow with the context.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.kv.storage import KVReader, PagedStorage, SpanReader
from engine.model.batch import ForwardBatch, Segment

# Rows computed at once: wide enough for the products, and half the work of a long chunk's
# upper triangle is left out.
_ROW_BLOCK = 128
# Finite: the difference of two masked scores is a number.
_MASKED = -1e30


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
        rows = queries.view(shape).permute(1, 2, 0, 3)
        mixed = queries.new_empty(shape)
        context = keys.shape[1] - self.length
        for first in range(0, self.length, _ROW_BLOCK):
            last = min(first + _ROW_BLOCK, self.length)
            seen = context + last
            oldest = max(0, context + first - self.window + 1)
            block = _attend(
                rows[:, :, first:last],
                keys[:, oldest:seen],
                values[:, oldest:seen],
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
    """Rows [kv_heads, group, R, head_dim] over keys and values [kv_heads, N, head_dim]."""
    if not softcap:
        # K/V heads play the batch and the group the heads: expanded, never copied.
        group = rows.shape[1]
        return torch.nn.functional.scaled_dot_product_attention(
            rows,
            keys.unsqueeze(1).expand(-1, group, -1, -1),
            values.unsqueeze(1).expand(-1, group, -1, -1),
            attn_mask=mask,
            scale=1.0,
        )
    scores = _softcap_(_fold(rows, keys.transpose(1, 2)), softcap)
    return _fold(scores.add_(mask).softmax(-1), values)


def _fold(rows: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Rows [kv_heads, group, R, n] times ``by`` [kv_heads, n, m]: the group among the rows."""
    return torch.bmm(rows.flatten(1, 2), by).view(*rows.shape[:3], by.shape[2])


def _softcap_(scores: torch.Tensor, cap: float) -> torch.Tensor:
    return scores.div_(cap).tanh_().mul_(cap)


@dataclass(frozen=True, slots=True, eq=False)
class _SpanAttention:
    """One request's part of the batch over a quantised cache, for the layers of one window.

    ``context``: keys of ``reader`` that come before the first row.
    """

    start: int
    length: int
    window: int
    reader: SpanReader
    context: int

    def __call__(self, layer: int, queries: torch.Tensor, heads: HeadLayout) -> torch.Tensor:
        """Queries [length, num_heads, head_dim] -> [length, num_heads * head_dim]."""
        rotation = self.reader.rotation.to(queries.dtype)
        shape = (self.length, heads.num_kv_heads, heads.group, heads.head_dim)
        factors = self.reader.query_factors(layer).to(queries.dtype)
        rows = (queries.view(shape) * factors @ rotation).permute(1, 2, 0, 3)
        softmax = _OnlineSoftmax(rows, heads.softcap)
        first = 0
        for keys, values in self.reader.spans(layer):
            end = first + keys.shape[1]
            # rows that see any of these keys
            top = max(0, first - self.context)
            bottom = min(self.length, end - 1 + self.window - self.context)
            for row in range(top, bottom, _ROW_BLOCK):
                some = slice(row, min(row + _ROW_BLOCK, bottom))
                softmax.add(some, keys, values, self._unseen(some, first, end, keys.device))
            first = end
        mixed = softmax.result() @ rotation.T
        return mixed.permute(2, 0, 1, 3).reshape(self.length, -1)

    def _unseen(
        self, rows: slice, first: int, end: int, device: torch.device
    ) -> torch.Tensor | None:
        """True where a row [R, 1] does not see a key [1, n]; None where all see all."""
        oldest, newest = self.context + rows.start, self.context + rows.stop - 1
        if end - 1 <= oldest and first > newest - self.window:
            return None
        row = torch.arange(oldest, newest + 1, device=device).unsqueeze(1)
        key = torch.arange(first, end, device=device)
        return (key > row) | (key <= row - self.window)


class _OnlineSoftmax:
    """Softmax over keys that come span by span, and the values mixed by it.

    Sums and maxima are float32.
    """

    def __init__(self, rows: torch.Tensor, softcap: float) -> None:
        """Rows: [kv_heads, group, T, head_dim], multiplied by the attention scale."""
        self._rows = rows
        self._softcap = softcap
        self._mixed = torch.zeros(rows.shape, dtype=torch.float32, device=rows.device)
        self._sums = self._mixed.new_zeros(*rows.shape[:3], 1)
        self._maxima = torch.full_like(self._sums, _MASKED)

    def add(
        self, some: slice, keys: torch.Tensor, values: torch.Tensor, unseen: torch.Tensor | None
    ) -> None:
        """Let rows ``some`` see keys and values [kv_heads, n, head_dim], but those ``unseen``."""
        scores = _fold(self._rows[:, :, some], keys.transpose(1, 2)).float()
        if self._softcap:
            scores = _softcap_(scores, self._softcap)
        if unseen is not None:
            scores.masked_fill_(unseen, _MASKED)
        maxima = self._maxima[:, :, some]
        newest = torch.maximum(maxima, scores.amax(-1, keepdim=True))
        weights = scores.sub_(newest).exp_()
        old = maxima.sub_(newest).exp_()
        self._sums[:, :, some].mul_(old).add_(weights.sum(-1, keepdim=True))
        self._mixed[:, :, some].mul_(old).add_(_fold(weights.to(values.dtype), values))
        maxima.copy_(newest)

    def result(self) -> torch.Tensor:
        """What was mixed, [kv_heads, group, T, head_dim] in the rows' dtype."""
        return self._mixed.div_(self._sums).to(self._rows.dtype)


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
        groups = [storage.geometry.group_of(window) for window in windows]
        self._segments: Sequence[Sequence[_SegmentAttention | _SpanAttention]] = [
            [_prepare(segment, storage, dtype, window, group) for segment in batch.segments]
            for window, group in zip(windows, groups, strict=True)
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


def slots_by_window(
    batch: ForwardBatch, storage: PagedStorage, windows: Sequence[int]
) -> list[torch.Tensor]:
    """Where layers that see the last ``windows[i]`` tokens keep the K and V of each token."""
    return [batch.slots_of(storage.geometry.group_of(window)) for window in windows]


def _prepare(
    segment: Segment, storage: PagedStorage, dtype: torch.dtype, window: int, group: int
) -> _SegmentAttention | _SpanAttention:
    total = segment.context + segment.length
    window = min(window or total, total)
    size = storage.geometry.block_size
    # blocks that lie before the window of the first row are not read
    unseen = max(0, segment.context - window + 1) // size
    blocks = segment.table(group)[unseen:]
    reader = storage.layer_reader(group, blocks, total - unseen * size, dtype)
    if isinstance(reader, SpanReader):
        context = segment.context - unseen * size
        return _SpanAttention(segment.start, segment.length, window, reader, context)
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
