"""What a header says of a matrix is what decoding it then gives."""

import numpy as np
import pytest

from engine.quant.ggml import can_decode, decode, is_four_bit
from engine.quant.ggml_types import GgmlType
from engine.quant.layout import GroupedInt4Weight
from engine.quant.stored import kernel_group, stored_as, stored_floats, stored_in_groups

DECODED = [kind for kind in GgmlType if can_decode(kind)]


@pytest.mark.parametrize("kind", DECODED)
def test_four_bits_and_their_groups(kind):
    stored = stored_as(kind)
    assert stored.is_four_bit == is_four_bit(kind)
    if not stored.is_four_bit:
        return
    nbytes = 2 * 256 // kind.block.values * kind.block.nbytes
    weight = decode(np.zeros(nbytes, np.uint8), kind, (2, 256))
    assert isinstance(weight, GroupedInt4Weight)
    assert weight.group_size == stored.group


def test_floats_by_their_width():
    assert stored_floats("F32").table_form == "32 bits"
    assert stored_floats("BF16").table_form == stored_floats("F16").table_form == "16 bits"


@pytest.mark.parametrize(("size", "group"), [(32, 32), (64, 64), (96, 32), (4_096, 256), (48, 32)])
def test_the_largest_group_a_kernel_takes(size, group):
    assert kernel_group(size) == group


def test_groups_as_published():
    assert stored_in_groups(4_096, 32).group == 128
    assert stored_in_groups(4_096, 1).group == 256
    assert stored_in_groups(64, 0).is_four_bit
