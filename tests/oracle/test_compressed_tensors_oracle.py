"""Packed weights of compressed-tensors against the library that defines them."""

import pytest
import torch

from engine.quant.packed_words import decode_compressed

pytestmark = pytest.mark.oracle

ROWS, COLUMNS = 24, 96


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group_size", [32, 96, None])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_pack_quantised(bits: int, group_size: int | None, is_symmetric: bool) -> None:
    compressors = pytest.importorskip("compressed_tensors.compressors")
    quantization = pytest.importorskip("compressed_tensors.quantization")
    args = quantization.QuantizationArgs(
        num_bits=bits,
        type="int",
        symmetric=is_symmetric,
        strategy="channel" if group_size is None else "group",
        group_size=group_size,
    )
    scheme = quantization.QuantizationScheme(targets=["Linear"], weights=args)
    draw = torch.Generator().manual_seed(bits)
    groups = 1 if group_size is None else COLUMNS // group_size
    half = 1 << (bits - 1)
    state = {
        "weight": torch.randn(ROWS, COLUMNS, generator=draw),
        "weight_scale": torch.rand(ROWS, groups, generator=draw) / half * 3 + 0.01,
    }
    if not is_symmetric:
        zeros = torch.randint(-half, half, (ROWS, groups), generator=draw)
        state["weight_zero_point"] = zeros.to(torch.int8)
    packer = compressors.PackedQuantizationCompressor
    packed = packer.compress(state, scheme)
    expected = packer.decompress(packed, scheme)["weight"]
    assert tuple(packed["weight_shape"].tolist()) == (ROWS, COLUMNS)
    weight = decode_compressed(
        packed["weight_packed"],
        packed["weight_scale"],
        packed.get("weight_zero_point"),
        None,
        bits,
        COLUMNS,
    )
    torch.testing.assert_close(weight.dequantize(), expected.float(), rtol=1e-5, atol=1e-6)
