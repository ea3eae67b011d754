"""GPTQ, AWQ and compressed-tensors against slow packers and decoders written from the formats."""

import itertools

import pytest
import torch

from engine.quant.layout import (
    ChannelInt8Weight,
    DenseWeight,
    GroupedInt4Weight,
    GroupedInt8Weight,
)
from engine.quant.packed_words import (
    PackingError,
    decode_awq,
    decode_compressed,
    decode_gptq,
    groups_in_order,
    unpack_words,
)

ROWS, COLUMNS = 8, 128
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def as_int32(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word


def pack_rows(values: torch.Tensor, bits: int, order: tuple[int, ...] | None = None):
    """Pack [R, C] along C, one word after the other; ``order`` names the column of each place."""
    per_word = 32 // bits
    order = order or tuple(range(per_word))
    packed = torch.zeros(values.shape[0], -(-values.shape[1] // per_word), dtype=torch.int32)
    for row, word in itertools.product(range(packed.shape[0]), range(packed.shape[1])):
        total = 0
        for place, column in enumerate(order):
            at = word * per_word + column
            if at < values.shape[1]:
                total |= int(values[row, at]) << (place * bits)
        packed[row, word] = as_int32(total)
    return packed


def draw(bits: int, num_groups: int):
    top = 1 << bits
    quants = torch.randint(0, top, (ROWS, COLUMNS))
    scales = torch.rand(ROWS, num_groups).half() / 8 + 0.01
    zeros = torch.randint(1, top, (ROWS, num_groups))
    return quants, scales, zeros


def values_of(quants, scales, zeros, g_idx) -> torch.Tensor:
    """(q - zero) * scale, a value at a time."""
    out = torch.empty(ROWS, COLUMNS)
    for n, k in itertools.product(range(ROWS), range(COLUMNS)):
        g = int(g_idx[k])
        out[n, k] = (int(quants[n, k]) - int(zeros[n, g])) * float(scales[n, g])
    return out


def in_order(num_groups: int) -> torch.Tensor:
    return torch.arange(COLUMNS, dtype=torch.int32) // (COLUMNS // num_groups)


@pytest.mark.parametrize("num_groups", [1, 2, 4, 8])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zero_shift", [0, 1])
def test_gptq(bits, num_groups, zero_shift):
    quants, scales, zeros = draw(bits, num_groups)
    weight = decode_gptq(
        pack_rows(quants, bits).t(),
        pack_rows((zeros - zero_shift).t(), bits),
        scales.t(),
        None,
        bits,
        zero_shift,
    )
    expected = values_of(quants, scales, zeros, in_order(num_groups))
    assert isinstance(weight, GroupedInt4Weight if bits == 4 else GroupedInt8Weight)
    torch.testing.assert_close(weight.dequantize(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [4, 8])
def test_gptq_act_order(bits):
    quants, scales, zeros = draw(bits, 4)
    g_idx = in_order(4)[torch.randperm(COLUMNS)]
    weight = decode_gptq(
        pack_rows(quants, bits).t(), pack_rows((zeros - 1).t(), bits), scales.t(), g_idx, bits
    )
    assert isinstance(weight, DenseWeight)
    torch.testing.assert_close(
        weight.dequantize(), values_of(quants, scales, zeros, g_idx), rtol=1e-5, atol=1e-5
    )


def test_a_group_index_in_order_keeps_the_groups():
    quants, scales, zeros = draw(4, 4)
    weight = decode_gptq(
        pack_rows(quants, 4).t(), pack_rows((zeros - 1).t(), 4), scales.t(), in_order(4), 4
    )
    assert isinstance(weight, GroupedInt4Weight)
    assert weight.group_size == 32


def test_symmetric_eight_bits_a_row():
    quants, scales, _ = draw(8, 1)
    middle = torch.full((1, ROWS), 127)
    weight = decode_gptq(pack_rows(quants, 8).t(), pack_rows(middle, 8), scales.t(), None, 8)
    assert isinstance(weight, ChannelInt8Weight)
    torch.testing.assert_close(weight.dequantize(), (quants - 128) * scales.float())


@pytest.mark.parametrize("num_groups", [2, 8])
def test_awq(num_groups):
    quants, scales, zeros = draw(4, num_groups)
    weight = decode_awq(
        pack_rows(quants.t(), 4, AWQ_ORDER), pack_rows(zeros.t(), 4, AWQ_ORDER), scales.t()
    )
    assert isinstance(weight, GroupedInt4Weight)
    expected = values_of(quants, scales, zeros, in_order(num_groups))
    torch.testing.assert_close(weight.dequantize(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("num_groups", [1, 4])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_compressed(bits, num_groups, is_symmetric):
    quants, scales, zeros = draw(bits, num_groups)
    if is_symmetric:
        zeros = torch.full_like(zeros, 1 << bits - 1)
    stored = None if is_symmetric else pack_rows(zeros.t(), bits).t()
    no_order = torch.full((COLUMNS,), -1, dtype=torch.int32)
    weight = decode_compressed(pack_rows(quants, bits), scales, stored, no_order, bits, COLUMNS)
    expected = values_of(quants, scales, zeros, in_order(num_groups))
    assert not isinstance(weight, DenseWeight)
    torch.testing.assert_close(weight.dequantize(), expected, rtol=1e-5, atol=1e-5)


def test_compressed_act_order_and_padding():
    quants, scales, zeros = draw(4, 4)
    g_idx = in_order(4).flip(0)
    weight = decode_compressed(
        pack_rows(quants, 4), scales, pack_rows(zeros.t(), 4).t(), g_idx, 4, COLUMNS
    )
    torch.testing.assert_close(
        weight.dequantize(), values_of(quants, scales, zeros, g_idx), rtol=1e-5, atol=1e-5
    )
    odd = decode_compressed(pack_rows(quants[:, :99], 4), scales[:, :1], None, None, 4, 99)
    torch.testing.assert_close(odd.dequantize(), (quants[:, :99] - 8) * scales[:, :1].float())


def test_unpack_every_bit():
    words = torch.tensor([[0x76543210, as_int32(0xFEDCBA98)]], dtype=torch.int32)
    assert unpack_words(words, 4).flatten().tolist() == list(range(16))
    assert unpack_words(words, 8)[0, 0].tolist() == [0x10, 0x32, 0x54, 0x76]


def test_groups_in_order():
    assert groups_in_order(in_order(4), 4)
    assert not groups_in_order(in_order(4).flip(0), 4)
    assert not groups_in_order(in_order(4), 3)


@pytest.mark.parametrize(
    "change",
    [
        {"qweight": torch.zeros(16, ROWS)},
        {"qweight": torch.zeros(16, ROWS + 8, dtype=torch.int32)},
        {"qzeros": torch.zeros(3, ROWS // 8, dtype=torch.int32)},
        {"scales": torch.ones(4, ROWS - 1)},
        {"scales": torch.ones(4 * ROWS)},
        {"g_idx": torch.full((COLUMNS,), 4, dtype=torch.int32)},
        {"g_idx": torch.zeros(COLUMNS - 1, dtype=torch.int32)},
        {"g_idx": torch.zeros(COLUMNS)},
    ],
    ids=lambda c: next(iter(c)),
)
def test_parts_that_do_not_fit(change):
    parts = {
        "qweight": torch.zeros(16, ROWS, dtype=torch.int32),
        "qzeros": torch.zeros(4, ROWS // 8, dtype=torch.int32),
        "scales": torch.ones(4, ROWS),
        "g_idx": None,
    }
    decode_gptq(**parts, bits=4)
    with pytest.raises(PackingError):
        decode_gptq(**(parts | change), bits=4)


def test_columns_that_do_not_fit():
    packed = torch.zeros(ROWS, 4, dtype=torch.int32)
    for columns in (24, 33):
        with pytest.raises(PackingError):
            decode_compressed(packed, torch.ones(ROWS, 1), None, None, 4, columns)
