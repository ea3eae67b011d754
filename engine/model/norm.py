"""Root-mean-square normalisation."""

import torch


class RMSNorm:
    """x [T, N] -> x / sqrt(mean(x * x) + eps) * weight, in x's dtype."""

    __slots__ = ("_eps", "_shape", "_single", "_zeros", "weight")

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        """Keep ``weight`` [N] in the compute dtype."""
        self.weight = weight
        self._eps = eps
        self._shape = (weight.shape[0],)
        # torch composes rms_norm of many small operations on the CPU; for the one row of a decode
        # step a dot product and one scaled product take a third of the time.
        self._single = weight.device.type == "cpu" and weight.dtype == torch.float32
        self._zeros = torch.zeros(1, weight.shape[0], dtype=weight.dtype, device=weight.device)

    @property
    def nbytes(self) -> int:
        """Bytes of the weight."""
        return self.weight.numel() * self.weight.element_size()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise each row of x [T, N]; T may be 0."""
        if self._single and x.shape[0] == 1:
            row = x.view(-1)
            mean_square = float(torch.dot(row, row)) / self._shape[0]
            scale = (mean_square + self._eps) ** -0.5
            return torch.addcmul(self._zeros, x, self.weight, value=scale)
        return torch.nn.functional.rms_norm(x, self._shape, self.weight, self._eps)
