"""bitsandbytes' stored weights against bitsandbytes itself, on the CPU."""

import pytest
import torch

from engine.quant.packed_words import PackingError
from engine.quant.table_blocks import Maxima, decode_int8_rows, decode_table_blocks

functional = pytest.importorskip("bitsandbytes.functional")
SHAPE = (48, 128)


def quantised(kind: str, block_size: int, *, is_nested: bool):
    values = torch.randn(SHAPE, generator=torch.Generator().manual_seed(1)) / 4
    packed, state = functional.quantize_4bit(
        values, blocksize=block_size, compress_statistics=is_nested, quant_type=kind
    )
    return packed, state, functional.dequantize_4bit(packed, state)


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
@pytest.mark.parametrize("block_size", [64, 128])
@pytest.mark.parametrize("is_nested", [False, True])
def test_four_bits(kind, block_size, is_nested):
    packed, state, expected = quantised(kind, block_size, is_nested=is_nested)
    if is_nested:
        inner = state.state2
        offset = float(state.offset)
        maxima = Maxima(state.absmax, inner.code, inner.absmax, inner.blocksize, offset)
    else:
        maxima = Maxima(state.absmax)
    weight = decode_table_blocks(packed, state.code, maxima, block_size, SHAPE)
    torch.testing.assert_close(weight.dequantize(), expected, rtol=1e-6, atol=1e-7)


def test_an_odd_number_of_values():
    table = torch.linspace(-1, 1, 16)
    packed = torch.tensor([0x0F, 0xF0, 0x70], dtype=torch.uint8)
    weight = decode_table_blocks(packed, table, Maxima(torch.tensor([2.0])), 64, (1, 5))
    expected = torch.stack([table[i] for i in (0, 15, 15, 0, 7)]) * 2
    assert torch.equal(weight.dequantize(), expected.unsqueeze(0))


def test_int8_rows():
    values = torch.randn(SHAPE)
    quants, maxima, _ = functional.int8_vectorwise_quant(values.half())
    weight = decode_int8_rows(quants, maxima)
    expected = functional.int8_vectorwise_dequant(quants, maxima)
    torch.testing.assert_close(weight.dequantize(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("packed", "table", "maxima", "block_size"),
    [
        (torch.zeros(7, dtype=torch.uint8), torch.ones(16), torch.ones(1), 64),
        (torch.zeros(8, dtype=torch.int8), torch.ones(16), torch.ones(1), 64),
        (torch.zeros(8, dtype=torch.uint8), torch.ones(15), torch.ones(1), 64),
        (torch.zeros(8, dtype=torch.uint8), torch.ones(16), torch.ones(2), 64),
        (torch.zeros(8, dtype=torch.uint8), torch.ones(16), torch.ones(1), 0),
        (torch.zeros(8, dtype=torch.uint8), torch.ones(16), torch.ones(1).byte(), 64),
    ],
)
def test_parts_that_do_not_fit(packed, table, maxima, block_size):
    with pytest.raises(PackingError):
        decode_table_blocks(packed, table, Maxima(maxima), block_size, (2, 8))


def test_rows_without_a_scale():
    with pytest.raises(PackingError):
        decode_int8_rows(torch.zeros(4, 4, dtype=torch.int8), torch.ones(3))
