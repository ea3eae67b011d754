"""Paged attention against its slow twin: every kind of cache, odd lengths, windows, any heads."""

import pytest
import torch

from engine.config import KVFormat
from engine.kernels.gpu.attention import Sight, attend, num_parts
from engine.kv.quantized import QuantizedStorage
from engine.model.attention import HeadLayout, StepAttention
from engine.model.captured.kernel_rows import layer_cache
from tests.helpers.paged_texts import LAYER, write_texts
from tests.helpers.triton_device import kernel_device

DEVICE = kernel_device()
LENGTHS = (1, 67, 130)
# width of a head, heads of K, query heads to each of them, tokens of a block, window, softcap, parts
SHAPES = [
    (64, 2, 1, 16, 0, 0.0, 4),
    (32, 1, 3, 16, 0, 0.0, 2),
    (64, 1, 8, 16, 0, 0.0, 1),
    (80, 2, 3, 16, 21, 0.0, 3),
    (32, 3, 2, 5, 64, 0.0, 8),
    (48, 2, 3, 8, 0, 15.0, 2),
    (256, 1, 4, 16, 40, 0.0, 2),
]


def _both(
    kept: KVFormat, shape: tuple[int, int, int, int, int, float, int], dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the kernels make of it, and what their twin does."""
    head_dim, kv_heads, group, block_size, window, softcap, parts = shape
    texts = write_texts(kept, (kv_heads, head_dim), block_size, LENGTHS, DEVICE)
    heads = HeadLayout(kv_heads * group, kv_heads, head_dim, softcap)
    # a view, as of the product that makes q, k and v
    width = heads.num_heads + 2 * kv_heads
    rows = torch.randn(len(LENGTHS), width, head_dim, device=DEVICE, dtype=dtype)
    queries = rows[:, : heads.num_heads].mul_(2 * head_dim**-0.5)
    twin = StepAttention(texts.batch, texts.storage, heads, dtype, (window,))
    mixed = attend(
        layer_cache(texts.storage, LAYER, dtype),
        queries,
        texts.tables.to(DEVICE),
        torch.tensor(LENGTHS, dtype=torch.int32, device=DEVICE),
        Sight(window, softcap),
        parts,
    )
    assert mixed.dtype == dtype
    return mixed, twin(LAYER, queries, 0)


@pytest.mark.parametrize(
    ("kept", "shape"),
    [
        *zip(KVFormat, SHAPES[2:], strict=True),
        *((kept, SHAPES[1]) for kept in KVFormat),
        *((kept, shape) for kept in (KVFormat.INT8, KVFormat.INT4) for shape in SHAPES[2:5]),
    ],
)
def test_agrees_with_attention_row_by_row(
    kept: KVFormat, shape: tuple[int, int, int, int, int, float, int]
) -> None:
    torch.testing.assert_close(*_both(kept, shape, torch.float32), atol=3e-5, rtol=1e-3)


@pytest.mark.parametrize(
    ("kept", "dtype"),
    [
        (KVFormat.FLOAT16, torch.float16),
        (KVFormat.BFLOAT16, torch.bfloat16),
        (KVFormat.INT8, torch.bfloat16),
        (KVFormat.INT4, torch.float16),
    ],
)
def test_agrees_in_sixteen_bits(kept: KVFormat, dtype: torch.dtype) -> None:
    ours, twin = _both(kept, SHAPES[0], dtype)
    assert (ours - twin).float().norm() <= 2e-2 * twin.float().norm()


@pytest.mark.parametrize("kept", [KVFormat.FLOAT16, KVFormat.INT8, KVFormat.INT4])
def test_many_small_weights_of_small_values_count_in_half_precision(kept: KVFormat) -> None:
    """One token outweighs each of the others exp(10) times, and its value is nothing."""
    length, width = 400, 32
    texts = write_texts(kept, (1, width), 16, (length,), DEVICE)
    rows = torch.zeros(length, 2, width, device=DEVICE)
    rows[0, 0] = 1.0
    rows[1:, 1] = 0.02 + 0.002 * torch.randn(length - 1, width, device=DEVICE)
    if isinstance(texts.storage, QuantizedStorage):
        texts.storage.balance(LAYER, torch.ones(1, width), torch.zeros(1, width))
    texts.storage.append(LAYER, texts.slots(0), rows)
    queries = torch.full((1, 1, width), 10.0 / width, device=DEVICE)
    heads, lengths = HeadLayout(1, 1, width, 0.0), torch.tensor([length], device=DEVICE).int()
    mixed = attend(
        layer_cache(texts.storage, LAYER, torch.float16),
        queries.half(),
        texts.tables.to(DEVICE),
        lengths,
        Sight(),
        2,
    )
    twin = StepAttention(texts.batch, texts.storage, heads, torch.float32, (0,))
    expected = twin(LAYER, queries, 0)
    assert (mixed - expected).norm() <= 2e-2 * expected.norm()


def test_parts_employ_the_card() -> None:
    assert num_parts(1, 8, 8_192, 132) == 64
    assert num_parts(8, 8, 8_192, 132) == 8
    assert num_parts(32, 8, 8_192, 132) == 2
    assert num_parts(32, 32, 8_192, 20) == 1
    assert num_parts(1, 3, 1_000, 20) == 8
    assert num_parts(1, 1, 100, 132) == 1
