"""Attention of one request over its window and its compressed entries, keys being values too.

One key-value row serves all heads. Each head has a sink, a score of its own that takes part in
the softmax and brings no value. Knows no weights; queries come rotated and scaled.
"""

from dataclasses import dataclass

import torch

from engine.kv.compressed import Entries, RequestStep, Tail

_DENSE_ROWS = 64  # queries computed at once over entries that all of them see
_CHOSEN_VALUES = 1 << 22  # values of entries gathered at once, where each query has its own


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Which entries a request's queries see beside the window, and how many of them each may.

    ``seen``: int64 [T], the last of them ``count``. ``chosen``: int64 [T, k], each query's own;
    None: all that it may see.
    """

    kind: Entries
    layer: int
    count: int
    seen: torch.Tensor
    chosen: torch.Tensor | None = None


class SegmentAttention:
    """One layer's attention for the rows of one request."""

    def __init__(self, step: RequestStep, window: int, sinks: torch.Tensor) -> None:
        """``window``: tokens a query sees, its own included; ``sinks``: float32 [heads]."""
        self._step = step
        self._window = window
        self._sinks = sinks

    def __call__(
        self,
        layer: int,
        queries: torch.Tensor,
        keys: torch.Tensor,
        compressed: Compressed | None,
    ) -> torch.Tensor:
        """Queries [T, heads, D] and the step's keys [T, D] -> [T, heads, D].

        Stages the keys as those of ``layer``.
        """
        step = self._step
        step.stage(Tail.WINDOW, layer, keys)
        oldest = max(0, step.context - self._window + 1)
        recent = torch.cat([*step.tail(Tail.WINDOW, layer, oldest), keys])
        entries = self._shared_entries(compressed, queries.dtype)
        parts = []
        rows_at_once = self._rows_at_once(compressed, queries.shape[-1])
        for first in range(0, step.length, rows_at_once):
            last = min(first + rows_at_once, step.length)
            # keys before the first row's window are seen by none of these rows
            start = max(0, step.context + first - self._window + 1) - oldest
            near = recent[start : step.context + last - oldest]
            bias = self._window_bias(last - first, near)
            rows = queries[first:last]
            far, far_bias = self._far(compressed, entries, slice(first, last), queries.dtype)
            parts.append(self._attend(rows, near, bias, far, far_bias))
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _rows_at_once(self, compressed: Compressed | None, width: int) -> int:
        if compressed is None or compressed.chosen is None:
            return _DENSE_ROWS
        return max(1, min(_DENSE_ROWS, _CHOSEN_VALUES // (compressed.chosen.shape[1] * width)))

    def _shared_entries(
        self, compressed: Compressed | None, dtype: torch.dtype
    ) -> torch.Tensor | None:
        """Entries that all rows read, [n, D]; None where there are none, or each has its own."""
        if compressed is None or compressed.chosen is not None or not compressed.count:
            return None
        kind, layer = compressed.kind, compressed.layer
        return self._step.read(kind, layer, 0, compressed.count, dtype)

    def _far(
        self,
        compressed: Compressed | None,
        entries: torch.Tensor | None,
        rows: slice,
        dtype: torch.dtype,
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Entries for these rows, [n, D] or [R, n, D], and their bias [R, n] (None: see all)."""
        if compressed is None:
            return None, None
        seen = compressed.seen[rows].unsqueeze(1)
        if compressed.chosen is not None:
            chosen = compressed.chosen[rows]
            far = self._step.gather(compressed.kind, compressed.layer, chosen, dtype)
            return far, _hidden(chosen >= seen, dtype)
        if entries is None:
            return None, None
        if rows.stop == rows.start + 1:  # the last row, which sees them all
            return entries, None
        numbers = torch.arange(entries.shape[0], device=entries.device)
        return entries, _hidden(numbers >= seen, dtype)

    def _window_bias(self, num_rows: int, near: torch.Tensor) -> torch.Tensor | None:
        """Bias [R, n] of rows that end with the last of the keys ``near`` [n, D]."""
        if num_rows == 1:
            return None
        count = near.shape[0]
        ends = torch.arange(count - num_rows, count, device=near.device).unsqueeze(1)
        places = torch.arange(count, device=near.device)
        return _hidden((places > ends) | (places <= ends - self._window), near.dtype)

    def _attend(
        self,
        rows: torch.Tensor,
        near: torch.Tensor,
        bias: torch.Tensor | None,
        far: torch.Tensor | None,
        far_bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """Rows [R, heads, D] over keys [n, D] and entries [m, D] or [R, m, D]."""
        scores = [_biased(_scores(rows, near), bias)]
        if far is not None:
            scores.append(_biased(_scores(rows, far), far_bias))
        sinks = self._sinks.to(rows.dtype).view(1, -1, 1).expand(rows.shape[0], -1, -1)
        shares = torch.cat((*scores, sinks), -1).softmax(-1)
        count = near.shape[0]
        out = torch.matmul(shares[..., :count], near)
        if far is not None:
            out += torch.matmul(shares[..., count:-1], far)
        return out


def _scores(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.matmul(rows, keys.transpose(-1, -2))


def _biased(scores: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return scores if bias is None else scores.add_(bias.unsqueeze(1))


def _hidden(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """0 where the mask is false and -inf where it is true."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(
        mask, float("-inf")
    )
