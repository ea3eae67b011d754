"""Token embeddings: rows of [vocab_size, hidden], dequantised only when asked for."""

import torch

from engine.quant.layout import Weight


class Embedding:
    """ids int64 [T] -> rows [T, hidden] in the compute dtype."""

    def __init__(self, weight: Weight, compute_dtype: torch.dtype, device: torch.device) -> None:
        self._weight = weight
        self._compute_dtype = compute_dtype
        self._device = device

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the table."""
        return self._weight.nbytes

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Look up ``ids``."""
        return self._weight.rows(ids).dequantize().to(self._compute_dtype)
