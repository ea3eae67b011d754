"""The plain product: float weights, torch's own matrix multiplication."""

import torch
from torch.nn import functional
from typing_extensions import override

from engine.quant.layout import Weight
from engine.quant.product import Linear

_NAMES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
_FEW_ROWS = 4  # up to here a bfloat16 product is bound by reading the weights
_WIDEN_VALUES = 1 << 19  # weights widened at a time: they stay in the cache


class DenseLinear(Linear):
    """x @ W.T on values of ``dtype``, each product running in that type."""

    def __init__(self, weight: Weight, dtype: torch.dtype, device: torch.device) -> None:
        self._values = weight.dequantize().to(device=device, dtype=dtype)

    @property
    def values(self) -> torch.Tensor:
        """W, [N, K]; shared, not to be written to."""
        return self._values

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
        return f"{_NAMES[self._values.dtype]} product"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x.to(self._values.dtype), self._values).to(x.dtype)


class WidenedLinear(DenseLinear):
    """BF16 weights on a CPU without BF16 arithmetic.

    One row reads the weights once and is as fast in BF16; many rows would be far slower than
    FP32, so the weights are widened some outputs at a time.
    """

    def __init__(self, weight: Weight) -> None:
        super().__init__(weight, torch.bfloat16, torch.device("cpu"))

    @property
    @override
    def kernel(self) -> str:
        return f"BF16 product; widened to FP32 from {_FEW_ROWS} rows on"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] < _FEW_ROWS:
            return super().__call__(x)
        rows = x.float()
        step = max(1, _WIDEN_VALUES // self.in_features)
        parts = [functional.linear(rows, part.float()) for part in torch.split(self._values, step)]
        return torch.cat(parts, dim=1).to(x.dtype)
