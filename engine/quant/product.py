"""What every weight product promises, whatever its weights are kept as."""

from typing import Protocol

import torch


class Linear(Protocol):
    """A matrix W [N, K] ready to be multiplied by."""

    @property
    def in_features(self) -> int:
        """K."""
        ...

    @property
    def out_features(self) -> int:
        """N."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the weights, packing and scales included."""
        ...

    @property
    def kernel(self) -> str:
        """Which product runs, in words for the model sheet."""
        ...

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply: x [M, K] -> x @ W.T [M, N], in x's dtype."""
        ...
