"""NF4 and INT8 products on CUDA through bitsandbytes, imported only when one is built."""

import torch
from typing_extensions import override

from engine.api import Precision
from engine.quant.dense import DenseLinear
from engine.quant.layout import Weight
from engine.quant.product import Linear

_BLOCK_SIZE = 64
_OUTLIER_THRESHOLD = 6.0


def make_cuda_linear(
    weight: Weight, precision: Precision, compute_dtype: torch.dtype, device: torch.device
) -> Linear:
    """Pack ``weight`` as NF4 (INT4) or INT8; dense where bitsandbytes is not usable."""
    try:
        if precision is Precision.INT4:
            return Nf4Linear(weight, compute_dtype, device)
        return CudaInt8Linear(weight, compute_dtype, device)
    except ImportError:
        return DenseLinear(weight, compute_dtype, device)


class Nf4Linear(Linear):
    """x @ W.T on 4-bit normal-float weights, absolute maxima a block of 64."""

    def __init__(self, weight: Weight, compute_dtype: torch.dtype, device: torch.device) -> None:
        from bitsandbytes import functional
        from bitsandbytes.autograd._functions import matmul_4bit

        self._shape = weight.shape
        self._compute_dtype = compute_dtype
        self._multiply = matmul_4bit
        values = weight.dequantize().to(device=device, dtype=compute_dtype)
        self._packed, self._state = functional.quantize_4bit(
            values, blocksize=_BLOCK_SIZE, quant_type="nf4"
        )

    @property
    @override
    def in_features(self) -> int:
        return self._shape[1]

    @property
    @override
    def out_features(self) -> int:
        return self._shape[0]

    @property
    @override
    def nbytes(self) -> int:
        absmax = self._state.absmax
        return int(self._packed.nbytes) + int(absmax.nbytes)

    @property
    @override
    def kernel(self) -> str:
        return "NF4 product (bitsandbytes)"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.to(self._compute_dtype)
        y: torch.Tensor = self._multiply(rows, self._packed.t(), quant_state=self._state)
        return y.to(x.dtype)


class CudaInt8Linear(Linear):
    """x @ W.T on INT8 weights, outlier columns of x in half precision."""

    def __init__(self, weight: Weight, compute_dtype: torch.dtype, device: torch.device) -> None:
        from bitsandbytes.nn.modules import Int8Params, Linear8bitLt

        out_features, in_features = weight.shape
        self._module = Linear8bitLt(
            in_features,
            out_features,
            bias=False,
            has_fp16_weights=False,
            threshold=_OUTLIER_THRESHOLD,
        )
        values = weight.dequantize().to(compute_dtype)
        self._module.weight = Int8Params(values, has_fp16_weights=False, requires_grad=False)
        torch.nn.Module.to(self._module, device)
        self._shape = weight.shape

    @property
    @override
    def in_features(self) -> int:
        return self._shape[1]

    @property
    @override
    def out_features(self) -> int:
        return self._shape[0]

    @property
    @override
    def nbytes(self) -> int:
        return self._shape[0] * (self._shape[1] + 4)

    @property
    @override
    def kernel(self) -> str:
        return "INT8 product with half-precision outliers (bitsandbytes)"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self._module(x)
        return y.to(x.dtype)
