"""The plain product: float weights, torch's own matrix multiplication."""

import torch
from torch.nn import functional
from typing_extensions import override

from engine.quant.layout import Weight
from engine.quant.product import Linear


class DenseLinear(Linear):
    """x @ W.T on values kept in the compute dtype."""

    def __init__(self, weight: Weight, compute_dtype: torch.dtype, device: torch.device) -> None:
        self._values = weight.dequantize().to(device=device, dtype=compute_dtype)

    @property
    @override
    def in_features(self) -> int:
        return self._values.shape[1]

    @property
    @override
    def out_features(self) -> int:
        return self._values.shape[0]

    @property
    @override
    def nbytes(self) -> int:
        return self._values.numel() * self._values.element_size()

    @property
    @override
    def kernel(self) -> str:
        names = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
        return f"{names[self._values.dtype]} matrix product"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x.to(self._values.dtype), self._values).to(x.dtype)
