"""NF4 as bitsandbytes rounds it, on the CPU: what those weights are worth, without a GPU."""

import torch

from engine.errors import ModelUnsupportedError
from engine.quant.layout import DenseWeight, Weight

BLOCK_SIZE = 64


def round_to_nf4(weight: Weight) -> tuple[DenseWeight, int]:
    """Quantise and dequantise ``weight``: float32 values, and the bytes of the packed form.

    Packed: half a byte a value, and a float32 maximum for each 64. Raises ModelUnsupportedError
    where bitsandbytes is not installed.
    """
    try:
        from bitsandbytes import functional
    except ImportError as error:
        raise ModelUnsupportedError(
            "NF4 needs the package bitsandbytes, which is not installed.",
            path="",
            feature="NF4",
        ) from error
    values = weight.dequantize().contiguous()
    packed, state = functional.quantize_4bit(values, blocksize=BLOCK_SIZE, quant_type="nf4")
    rounded: torch.Tensor = functional.dequantize_4bit(packed, state)
    return DenseWeight(rounded.view(values.shape)), int(packed.nbytes) + int(state.absmax.nbytes)
