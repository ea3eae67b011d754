"""Our block decoders against the reference Python package for GGUF."""

import gguf
import numpy as np
import pytest
import torch

from engine.quant.ggml import can_decode, decode, decode_vector, is_four_bit
from engine.quant.ggml_types import GgmlType
from engine.quant.layout import GroupedInt4Weight

BLOCKED = [k for k in GgmlType if can_decode(k) and k.block.values > 1]
FLOATS = [GgmlType.F32, GgmlType.F16, GgmlType.BF16]
# byte offsets of the float16 fields in a block: random bytes there could be inf or nan
HALVES = {
    GgmlType.Q4_0: (0,),
    GgmlType.Q4_1: (0, 2),
    GgmlType.Q5_0: (0,),
    GgmlType.Q5_1: (0, 2),
    GgmlType.Q8_0: (0,),
    GgmlType.Q4_K: (0, 2),
    GgmlType.Q5_K: (0, 2),
    GgmlType.Q6_K: (208,),
    GgmlType.Q2_K: (80, 82),
    GgmlType.Q3_K: (108,),
    GgmlType.IQ4_NL: (0,),
    GgmlType.IQ4_XS: (0,),
    GgmlType.MXFP4: (),
}


def random_blocks(kind: GgmlType, num_values: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    num_blocks = num_values // kind.block.values
    blocks = rng.integers(0, 256, (num_blocks, kind.block.nbytes), np.uint8)
    for start in HALVES[kind]:
        halves = rng.normal(size=(num_blocks, 1)).astype(np.float16)
        blocks[:, start : start + 2] = halves.view(np.uint8)
    if kind is GgmlType.MXFP4:  # a bare exponent: keep it where float32 is normal
        blocks[:, 0] = blocks[:, 0] % 64 + 96
    return blocks.reshape(-1)


def reference(raw: np.ndarray, kind: GgmlType) -> np.ndarray:
    return gguf.dequantize(raw, gguf.GGMLQuantizationType(kind))


@pytest.mark.parametrize("kind", BLOCKED, ids=lambda k: k.name)
@pytest.mark.parametrize("shape", [(1, 256), (3, 512), (65, 256)])
def test_values_equal_the_reference(kind, shape):
    raw = random_blocks(kind, shape[0] * shape[1])
    weight = decode(raw, kind, shape)
    assert weight.shape == shape
    expected = reference(raw, kind).reshape(shape)
    np.testing.assert_allclose(weight.dequantize().numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", BLOCKED, ids=lambda k: k.name)
def test_four_bit_types_stay_four_bits(kind):
    weight = decode(random_blocks(kind, 512), kind, (2, 256))
    assert isinstance(weight, GroupedInt4Weight) == is_four_bit(kind)


@pytest.mark.parametrize("exponent", [0, 1, 2, 127, 128, 250])
def test_every_mxfp4_exponent(exponent):
    raw = np.full(17, 0x7F, np.uint8)
    raw[0] = exponent
    values = decode(raw, GgmlType.MXFP4, (1, 32)).dequantize().numpy()
    np.testing.assert_array_equal(values.reshape(-1), reference(raw, GgmlType.MXFP4).reshape(-1))


def test_every_supported_type_is_tested():
    names = {k.name for k in BLOCKED}
    assert names == {
        *("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"),
        *("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"),
        *("IQ4_NL", "IQ4_XS", "MXFP4"),
    }


@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_floats_keep_their_bits(kind):
    values = torch.randn(4, 6)
    stored = {
        GgmlType.F32: values,
        GgmlType.F16: values.half(),
        GgmlType.BF16: values.bfloat16(),
    }[kind]
    raw = stored.view(torch.uint8).numpy().reshape(-1)
    assert torch.equal(decode(raw, kind, (4, 6)).dequantize(), stored.float())
    assert torch.equal(decode_vector(raw, kind), stored.float().view(-1))


def test_blocked_vector():
    raw = random_blocks(GgmlType.Q8_0, 64)
    np.testing.assert_allclose(
        decode_vector(raw, GgmlType.Q8_0).numpy(), reference(raw, GgmlType.Q8_0), rtol=1e-6
    )


def test_block_sizes_match_the_reference():
    for kind in GgmlType:
        values, nbytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)]
        assert (kind.block.values, kind.block.nbytes) == (values, nbytes), kind
