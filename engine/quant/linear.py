"""Choose the product for a matrix: x @ W.T, whatever the weights are kept as.

Each kernel lives in its own file. Biases are the decoder's business.
"""

import torch

from engine.api import Precision
from engine.quant.bitsandbytes import make_cuda_linear
from engine.quant.dense import DenseLinear, WidenedLinear
from engine.quant.int4_cpu import GROUP_SIZES, Int4Linear, can_pack, has_fast_int4
from engine.quant.int8_cpu import Int8Linear, has_fast_int8
from engine.quant.layout import GroupedInt4Weight, Weight
from engine.quant.native_cpu import make_native
from engine.quant.product import Linear
from engine.quant.quantize import split_groups, to_channel_int8, to_grouped_int4

__all__ = ["Linear", "make_dense", "make_linear"]

_GROUP_SIZE = 32


def make_linear(
    weight: Weight, precision: Precision, compute_dtype: torch.dtype, device: torch.device
) -> Linear:
    """Pack ``weight`` for ``device``.

    AUTO keeps each matrix at the bits its file gives it: groups of 4 bits as INT4, everything
    else as INT8. A matrix that no fast kernel can take falls back to the next wider kind.
    """
    if precision is Precision.AUTO:
        is_four_bit = isinstance(weight, GroupedInt4Weight)
        precision = Precision.INT4 if is_four_bit else Precision.INT8
    if precision in {Precision.FP32, Precision.BF16}:
        return make_dense(weight, precision, compute_dtype, device)
    if device.type == "cuda":
        return make_cuda_linear(weight, precision, compute_dtype, device)
    native = make_native(weight, precision)
    if native is not None:
        return native
    if precision is Precision.INT4 and weight.shape[1] % _GROUP_SIZE == 0 and has_fast_int4():
        if isinstance(weight, GroupedInt4Weight):
            weight = split_groups(weight, GROUP_SIZES)
        if not isinstance(weight, GroupedInt4Weight) or not can_pack(weight):
            weight = to_grouped_int4(weight, _GROUP_SIZE)
        return Int4Linear(weight)
    if has_fast_int8():
        return Int8Linear(to_channel_int8(weight))
    return DenseLinear(weight, compute_dtype, device)


def make_dense(
    weight: Weight, precision: Precision, compute_dtype: torch.dtype, device: torch.device
) -> DenseLinear:
    """Keep ``weight`` as floats: FP32, or 16 bits (BF16, or what the GPU computes in)."""
    if precision is Precision.FP32:
        return DenseLinear(weight, torch.float32, device)
    if device.type == "cpu" and compute_dtype != torch.bfloat16:
        return WidenedLinear(weight)
    return DenseLinear(weight, compute_dtype, device)
