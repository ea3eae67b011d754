"""Attention in blocks of rows against softmax written out, and grouped heads kept together."""

import math

import pytest
import torch

from engine.config import KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.attention import HeadLayout, StepAttention
from engine.model.batch import ForwardBatch, Segment

CPU = torch.device("cpu")
HEADS = HeadLayout(num_heads=6, num_kv_heads=2, head_dim=8)


def _written_out(queries: torch.Tensor, rows: torch.Tensor, context: int) -> torch.Tensor:
    """Attention of [T, 6, 8] over the request's K and V [context + T, 4, 8], head by head."""
    out = torch.zeros_like(queries)
    for token in range(queries.shape[0]):
        seen = rows[: context + token + 1]
        for head in range(HEADS.num_heads):
            keys, values = seen[:, head // HEADS.group], seen[:, 2 + head // HEADS.group]
            out[token, head] = (keys @ queries[token, head]).softmax(0) @ values
    return out.flatten(1)


@pytest.mark.parametrize(
    ("context", "length"), [(0, 1), (37, 1), (0, 5), (3, 2), (0, 128), (0, 129), (70, 300)]
)
def test_equals_softmax_written_out(context: int, length: int) -> None:
    draw = torch.Generator().manual_seed(context + length)
    total = context + length
    blocks = -(-total // 16)
    geometry = KVGeometry(1, 2, 8, block_size=16, num_blocks=blocks, dtype_bytes=4)
    storage = PagedStorage(geometry, torch.float32, CPU)
    rows = torch.randn(total, 4, 8, generator=draw)
    storage.append(0, torch.arange(total), rows)
    queries = torch.randn(length, 6, 8, generator=draw) / math.sqrt(8)
    positions = torch.arange(context, total)
    batch = ForwardBatch(
        token_ids=positions,
        positions=positions,
        slots=positions,
        segments=(Segment(0, length, context, tuple(range(blocks))),),
        logit_rows=positions[:0],
    )
    mixed = StepAttention(batch, storage, HEADS, torch.float32)(0, queries)
    torch.testing.assert_close(mixed, _written_out(queries, rows, context), atol=1e-5, rtol=1e-4)
