"""Attention in blocks of rows against softmax written out, and grouped heads kept together."""

import math
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import SPAN, make_storage
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


def _batch(length: int, context: int, blocks: torch.Tensor) -> ForwardBatch:
    positions = torch.arange(context, context + length)
    return ForwardBatch(
        token_ids=positions,
        positions=positions,
        slots=positions,
        segments=(Segment(0, length, context, tuple(blocks.tolist())),),
        logit_rows=positions[:0],
    )


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
    batch = _batch(length, context, blocks)
    heads = replace(HEADS, softcap=cap)
    windows = (0, 1, 2, 16, 33, 1000)
    attention = StepAttention(batch, storage, heads, torch.float32, windows)
    for index, window in enumerate(windows):
        mixed = attention(0, queries, index)
        expected = _written_out(queries, rows, context, window, cap)
        torch.testing.assert_close(mixed, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kept", [KVFormat.INT8, KVFormat.INT4])
@pytest.mark.parametrize("cap", [0.0, 0.4], ids=["plain", "soft-capped"])
@pytest.mark.parametrize(
    ("context", "length"), [(0, 1), (37, 1), (1500, 1), (0, 5), (70, 300), (900, 200)]
)
def test_quantised_spans_equal_softmax_over_what_is_kept(
    context: int, length: int, cap: float, kept: KVFormat
) -> None:
    draw = torch.Generator().manual_seed(context + length)
    total = context + length
    count = -(-total // 16)
    blocks = torch.randperm(count, generator=draw)
    storage = make_storage(KVGeometry(1, 2, 8, 16, count, kept), CPU)
    tokens = torch.arange(total)
    rows = torch.randn(total, 4, 8, generator=draw)
    storage.append(0, blocks[tokens // 16] * 16 + tokens % 16, rows)
    reader = storage.reader(blocks.tolist(), total, torch.float32)
    kept_rows = torch.cat(reader.read(0)).transpose(0, 1)
    queries = torch.randn(length, 6, 8, generator=draw) / math.sqrt(8)
    windows = (0, 1, 16, 33, 700)
    batch = _batch(length, context, blocks)
    attention = StepAttention(batch, storage, replace(HEADS, softcap=cap), torch.float32, windows)
    for index, window in enumerate(windows):
        expected = _written_out(queries, kept_rows, context, window, cap)
        torch.testing.assert_close(attention(0, queries, index), expected, atol=1e-5, rtol=1e-4)


class _Largest(TorchDispatchMode):
    """Notes the most bytes that any operation allocated for one result."""

    def __init__(self, storage: PagedStorage) -> None:
        super().__init__()
        self.nbytes = 0
        self._known = {t.untyped_storage().data_ptr() for t in storage.block_tensors(0)}

    @override
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, torch.Tensor):
                memory = value.untyped_storage()
                if memory.data_ptr() not in self._known:
                    self.nbytes = max(self.nbytes, memory.nbytes())
        return result


WIDE = HeadLayout(num_heads=16, num_kv_heads=2, head_dim=64)


def _largest(kept: KVFormat, length: int, cap: float = 0.0) -> int:
    """Bytes of the largest temporary tensor, with 8,192 tokens in scattered blocks."""
    blocks = torch.randperm(512)
    storage = make_storage(KVGeometry(1, 2, 64, 16, 512, kept), CPU)
    batch = _batch(length, 8192 - length, blocks)
    attention = StepAttention(batch, storage, replace(WIDE, softcap=cap), torch.float32)
    queries = torch.randn(length, 16, 64)
    with _Largest(storage) as largest:
        attention(0, queries)
    return largest.nbytes


@pytest.mark.parametrize("length", [1, 48])
@pytest.mark.parametrize("kept", [KVFormat.INT8, KVFormat.INT4])
def test_a_long_quantised_context_is_never_made_again_as_a_whole(
    kept: KVFormat, length: int
) -> None:
    span, scores = 4 * 2 * 2 * SPAN * 64, 4 * 16 * length * SPAN
    assert 0 < _largest(kept, length) <= max(span, scores)


@pytest.mark.parametrize("cap", [0.0, 0.4], ids=["plain", "soft-capped"])
@pytest.mark.parametrize("length", [1, 48])
@pytest.mark.parametrize("kept", KVFormat)
def test_shared_heads_are_never_expanded(kept: KVFormat, length: int, cap: float) -> None:
    expanded = 4 * WIDE.num_heads * 8192 * WIDE.head_dim
    assert 0 < _largest(kept, length, cap) < expanded
