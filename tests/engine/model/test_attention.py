"""Attention in blocks of rows against softmax written out, and grouped heads kept together."""

import math
from dataclasses import replace

import pytest
import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.attention import HeadLayout, StepAttention
from engine.model.batch import ForwardBatch, Segment

CPU = torch.device("cpu")
HEADS = HeadLayout(num_heads=6, num_kv_heads=2, head_dim=8)


def _written_out(
    queries: torch.Tensor, rows: torch.Tensor, context: int, window: int, cap: float
) -> torch.Tensor:
    """Attention of [T, 6, 8] over the request's K and V [context + T, 4, 8], head by head."""
    out = torch.zeros_like(queries)
    for token in range(queries.shape[0]):
        seen = rows[: context + token + 1]
        seen = seen[-window:] if window else seen
        for head in range(HEADS.num_heads):
            keys, values = seen[:, head // HEADS.group], seen[:, 2 + head // HEADS.group]
            scores = keys @ queries[token, head]
            scores = cap * torch.tanh(scores / cap) if cap else scores
            out[token, head] = scores.softmax(0) @ values
    return out.flatten(1)


@pytest.mark.parametrize("cap", [0.0, 0.4], ids=["plain", "soft-capped"])
@pytest.mark.parametrize("is_scattered", [False, True], ids=["run", "scattered"])
@pytest.mark.parametrize(
    ("context", "length"),
    [(0, 1), (37, 1), (0, 5), (3, 2), (0, 128), (0, 129), (70, 300), (15, 17)],
)
def test_equals_softmax_written_out(
    context: int, length: int, is_scattered: bool, cap: float
) -> None:
    draw = torch.Generator().manual_seed(context + length)
    total = context + length
    count = -(-total // 16)
    blocks = torch.randperm(count, generator=draw) if is_scattered else torch.arange(count)
    geometry = KVGeometry(1, 2, 8, block_size=16, num_blocks=count, format=KVFormat.FLOAT32)
    storage = PagedStorage(geometry, CPU)
    rows = torch.randn(total, 4, 8, generator=draw)
    tokens = torch.arange(total)
    storage.append(0, blocks[tokens // 16] * 16 + tokens % 16, rows)
    queries = torch.randn(length, 6, 8, generator=draw) / math.sqrt(8)
    positions = tokens[context:]
    batch = ForwardBatch(
        token_ids=positions,
        positions=positions,
        slots=positions,
        segments=(Segment(0, length, context, tuple(blocks.tolist())),),
        logit_rows=positions[:0],
    )
    heads = replace(HEADS, softcap=cap)
    windows = (0, 1, 2, 16, 33, 1000)
    attention = StepAttention(batch, storage, heads, torch.float32, windows)
    for index, window in enumerate(windows):
        mixed = attention(0, queries, index)
        expected = _written_out(queries, rows, context, window, cap)
        torch.testing.assert_close(mixed, expected, atol=1e-5, rtol=1e-4)
